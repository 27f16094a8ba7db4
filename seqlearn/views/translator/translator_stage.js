// The panels of a TranslatorView, and the texts about what is pointed at.

import { attentionPanel } from "../shared/attention.js";
import { byFinger, focusIn, lockNote, make, pointHint, shortened, stepper, tell } from "../shared/elements.js";
import { THRESHOLD } from "../shared/constants.js";
import { weightsOf } from "../shared/head_maps.js";
import { sameQuestion } from "../shared/changes.js";
import { headName } from "./translator_choice.js";
import { candidates, goldDots, headChoice, ranking } from "./translator_panels.js";
import { cellWords, meaning, scoreWords, stepWords } from "./translator_words.js";

/** @import { Child, MapData, Target } from "../shared/types.js" */
/** @import { Changes } from "./translator_changes.js" */
/** @import { Choice, Heads, Result } from "./translator_choice.js" */

const ROW = 860; // pixels from which lines, heat map and candidates stand in a row
const COLUMN = 600; // pixels from which the candidates stand beside lines and heat map, which is below the lines
const CANDIDATES_WIDTH = 280; // pixels for the candidates; translator_view.css has the same
const STEP = 0.1; // of a weight, for a key
const PAUSE = 120; // milliseconds that the pointer rests before the candidates follow: so they can be reached
const BLIND =
  "This model has no attention to look at: it reads the whole source into a few numbers before it writes the first " +
  "token, and never looks at the source again.";

export class Stage {
  /**
   * @param {HTMLElement} root
   * @param {Choice} choice
   * @param {Changes} changes
   */
  constructor(root, choice, changes) {
    this.root = root;
    this.choice = choice;
    this.changes = changes;
    this.walk = stepper(root, { texts: [""], slides: true, choose: (step) => choice.go(step) });
    this.which = make("span", { class: "control" });
    this.steps = make(
      "div",
      { class: "controls walk", role: "group", "aria-label": "steps" },
      ...this.walk.nodes,
      this.which,
    );
    this.panels = make("div", { class: "panels side" });
    this.foot = make("div", { class: "feet" });
    this.below = make("div", { class: "panels side listing" });
    this.said = make("div");
    this.told = make("div");
    this.rest = make("div");
    this.scored = make("div");
    this.room = 0; // for which it was drawn
    this.timer = 0;
    this.listed = -1; // the step whose candidates are listed
    this.rested = -1; // the step that was chosen when nothing was pointed at
    this.isChoosing = false; // the focus is in the candidates, or on its way there
    root.addEventListener("pointerleave", () => this.explain());
    const leave = (/** @type {FocusEvent} */ { relatedTarget }) => {
      const was = this.isChoosing;
      this.isChoosing = relatedTarget instanceof Node && this.candidates.contains(relatedTarget);
      if (was && !this.isChoosing) this.explain();
    };
    root.addEventListener("blur", leave, true); // before the map hears of it
    this.panels.addEventListener("keydown", (event) => this.nudge(event));
    this.candidates = make("table");
    /** @type {string[]} */
    this.names = []; // of the steps
    /** @type {ReturnType<typeof attentionPanel> | null} */
    this.panel = null;
    /** @type {ReturnType<typeof ranking>} */
    this.list = null;
  }

  /** @param {Target | null} target */
  point(target) {
    if (String(target) === String(this.choice.hovered)) return;
    this.choice.hovered = target;
    this.explain();
  }

  /** On the map, + and − change the weight of the cell that is kept.
   * @param {KeyboardEvent} event
   */
  nudge(event) {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    const by = "+=".includes(key) ? STEP : "-−_".includes(key) ? -STEP : 0;
    const isMap = target instanceof Element && target.matches(".map .body");
    if (!by || !isMap || ctrlKey || metaKey || altKey) return;
    event.preventDefault();
    this.changes.nudge(by);
  }

  // ---- Drawing ------------------------------------------------------------------------------------------------------

  /** Draws another translation, or for another width; what is there already stays.
   * @param {Result} raw
   * @param {number} room
   */
  draw(raw, room) {
    const { choice } = this;
    const chosen = Math.min(choice.model.get("chosen"), raw.best.length - 1);
    const isSame = raw === choice.raw && chosen === choice.chosen;
    if (!isSame || room !== this.room) this.build(raw, chosen, room, isSame);
  }

  /** isSame: only the width is another; a word that is being typed stays.
   * @param {Result} raw
   * @param {number} chosen
   * @param {number} room
   * @param {boolean} isSame
   */
  build(raw, chosen, room, isSame) {
    const { choice, changes } = this;
    const active = focusIn(this.root);
    const place = [changes.node, this.panels, this.below].find((part) => part.contains(active));
    const spot = place ? stops(place).indexOf(/** @type {HTMLElement} */ (active)) : -1;
    const focusVisible = Boolean(active?.matches(":focus-visible")); // not after a tap
    const before = choice.result.source;
    const isOther = raw !== choice.raw;
    choice.read(raw, chosen);
    // An answer that comes while a word of the same source is being typed does not take the text box away.
    const isTyped = Boolean(active?.matches("input.chip")) && changes.node.contains(active);
    const isTyping = isTyped && sameQuestion(before, choice.result.source);
    if (isOther) this.list = ranking(choice.result, (at) => choice.pick(at));
    this.room = room;
    this.listed = this.rested = -1;
    this.candidates = make("table");
    const { tokens } = choice.best();
    this.names = tokens.map((text, i) => `${i + 1} of ${tokens.length}: ${shortened(text, 14)}`);
    if (!isSame) changes.rewrite(isTyping);
    this.list?.mark(chosen);
    this.buildPanels();
    this.buildBelow();
    this.attend();
    if (!place) return;
    this.explain(); // the candidates are there again
    if (active instanceof HTMLElement && place.contains(active)) active.focus({ focusVisible });
    else focusNear(place, spot, focusVisible);
  }

  buildPanels() {
    const { attention } = this.choice.best();
    const column = make("div", { class: "beside" }, this.candidates, this.changes.board?.node ?? "");
    const isColumn = attention !== null && this.room >= COLUMN && this.room < ROW;
    this.panels.classList.toggle("two", isColumn);
    if (attention) {
      this.panel = this.panelOf(attention, isColumn);
      const [lines, ...map] = this.panel.nodes;
      const { node } = this.changes.weigh; // on a phone below the map, else among the texts
      this.panels.replaceChildren(...(this.room < ROW ? [lines, column, ...map] : [lines, ...map, column]));
      if (this.room < COLUMN) this.panels.append(node);
      else this.scored.after(node);
    } else {
      this.panel = null;
      this.which.replaceChildren();
      this.panels.replaceChildren(make("p", { class: "blind" }, BLIND), column);
    }
  }

  /** @param {MapData} attention @param {boolean} isColumn whether something stands beside */
  panelOf(attention, isColumn) {
    const { choice } = this;
    const room = this.room - (isColumn ? CANDIDATES_WIDTH + 24 : 0);
    const { shape } = attention.weights;
    const [layers, heads] = shape;
    if (choice.heads[1] >= layers || choice.heads[2] >= heads) choice.heads = ["all", 0, 0];
    const choose = (/** @type {Heads} */ of) => {
      choice.heads = of;
      this.attend();
      this.explain();
    };
    this.which.replaceChildren(...(layers * heads > 1 ? [headChoice(shape, choice.heads, choose)] : []));
    return attentionPanel({
      ...attention,
      room: Math.min(room - 12, 520),
      beside: this.room >= ROW ? Math.min(room - CANDIDATES_WIDTH - 48, 760) : null,
      cell: 26,
      point: (target) => this.point(target),
      lock: (target) => choice.lock(target),
    });
  }

  buildBelow() {
    const { result, history } = this.choice;
    const count = `${result.best.length} translations found, with score and probability`;
    const found =
      this.list && make("div", { class: "found" }, make("div", { class: "head-line" }, count), this.list.node);
    this.below.replaceChildren(...(found ? [found] : []));
    const legends = this.panel ? [this.panel.legend] : [];
    this.foot.replaceChildren(...legends, meaning(result, history.first() !== null));
  }

  /** The weights of the chosen heads. */
  attend() {
    const { choice, panel } = this;
    const { attention, tokens } = choice.best();
    if (!attention || !panel) return;
    const [layers, heads] = attention.weights.shape;
    choice.weights = weightsOf(attention, ...choice.heads);
    const isOff = choice.result.edits.some(([what]) => what === "ablate") && choice.weights.every((one) => one === 0);
    const title = (layers * heads > 1 ? headName(choice.heads) : "attention weights") + (isOff ? " · ablated" : "");
    panel.nodes[1].classList.toggle("off", isOff);
    panel.show(choice.weights, { title, threshold: THRESHOLD });
    const gold = choice.model.get("links") ? choice.gold() : null;
    goldDots(panel.nodes[1], gold, tokens, attention.keys.length);
  }

  // ---- What is pointed at -------------------------------------------------------------------------------------------

  explain() {
    const { choice, panel } = this;
    const locked = choice.locked();
    const target = locked ?? choice.hovered;
    const step = choice.step();
    this.panels.classList.toggle("resting", target === null);
    this.walk.set(step, this.names);
    panel?.mark(target ?? ["query", step], locked !== null);
    this.changes.mark();
    clearTimeout(this.timer);
    // On the way from a word to one of its candidates, the list stays as it is.
    const isNear = this.isChoosing || this.root.matches(":hover");
    const isOnTheWay = choice.hovered === null && step === this.rested && isNear;
    if (choice.hovered === null) this.rested = step;
    if (locked !== null || (choice.hovered === null && !isOnTheWay)) this.listCandidates(step);
    else if (choice.hovered !== null) this.timer = setTimeout(() => this.listCandidates(step), PAUSE);
    this.say(target, step, locked !== null);
  }

  /** The candidates of a step.
   * @param {number} step
   */
  listCandidates(step) {
    if (this.listed === step) return;
    this.listed = step;
    const { choice } = this;
    const force = choice.data.live ? (/** @type {string} */ text) => choice.force(step, text) : null;
    const table = candidates(choice.best(), step, choice.result.words, force);
    const spot = stops(this.candidates).indexOf(/** @type {HTMLElement} */ (focusIn(this.root)));
    this.candidates.replaceWith(table);
    this.candidates = table;
    if (spot >= 0) focusNear(table, spot, true);
  }

  /** What is pointed at, or locked, in words.
   * @param {Target | null} target
   * @param {number} step
   * @param {boolean} stays
   */
  say(target, step, stays) {
    const { choice, panel } = this;
    const { weights, result } = choice;
    const { attention, tokens } = choice.best();
    tell(this.said, ...stepWords(choice.best(), step, weights), target?.[0] === "pair" ? null : lockNote(stays));
    /** @type {Child[]} */
    let words = [];
    if (attention && weights && target?.[0] === "pair") words = cellWords(tokens, attention.keys, target, weights);
    if (words.length && choice.data.live && !(stays && byFinger()))
      words.push(
        stays ? " On the map, the keys + and − change it." : ` Keep the cell, ${keeping()}, to set this weight.`,
      );
    if (target?.[0] === "pair") words.push(lockNote(stays));
    if (panel && target?.[0] === "key") words = panel.says(target, false);
    tell(this.told, ...words);
    tell(this.rest, ...(target ? [] : [pointHint("a word, a line or a cell", "read its weights")]));
    const gold = choice.gold();
    const isScored = choice.model.get("links") && gold !== undefined;
    tell(this.scored, ...(isScored ? scoreWords(result, gold, choice.best(), weights, headName(choice.heads)) : []));
  }
}

const keeping = () => (byFinger() ? "with a tap" : "with a click or Enter");

/** What the keyboard can reach in a part of the view; the part may be drawn anew, and the focus goes to the same place.
 * @param {Element} part
 */
function stops(part) {
  /** @type {NodeListOf<HTMLElement>} */
  const found = part.querySelectorAll("button, input, summary, [tabindex]");
  return [...found];
}

/**
 * @param {Element} part
 * @param {number} spot
 * @param {boolean} focusVisible
 */
function focusNear(part, spot, focusVisible) {
  const found = stops(part).slice(0, spot + 1);
  found.at(-1)?.focus({ focusVisible });
}
