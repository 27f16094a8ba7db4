// What if? The sentence, the heads and the weights that a person changes in an AttentionView; before and after.

import { isWaiting, questionOf } from "../shared/asking.js";
import { tokenAt } from "../shared/attention.js";
import { byFinger, focusIn, make, number, shortened } from "../shared/elements.js";
import { echoWords } from "../shared/switches.js";
import {
  ablated,
  ageing,
  certainty,
  changesBar,
  chips,
  crossedOut,
  differences,
  editsInWords,
  flipped,
  fresh,
  headsOf,
  keptAlone,
  pythonCode,
  sameQuestion,
  swapped,
  weightEditor,
  whyNot,
  withWeight,
} from "../shared/changes.js";

/** @import { Edit, Layers, MapData, Numbers, Target } from "../shared/types.js" */
/** @import { Asked, Choice } from "./attention_choice.js" */

/** @import { Pair, Pulled } from "../shared/attention.js" */

const PRESS = "Press a cell to change its weight, or drag a line: up is more, down is less.";
const TAP = "Tap a cell to change its weight, or drag a line: to the right is more."; // up and down, a finger scrolls
const WHAT_IF = "What if? Press a word to swap it, ablate a head, or change a weight.";

/** @typedef {(edits: Edit[], scope: ReturnType<Choice["scope"]>, layers: Layers) => Edit[]} MakeEdits */

/** The button that draws the other reading beside this one: gives { node, draw }.
 * @param {Choice} choice
 */
export function besideButton(choice) {
  const { model } = choice;
  const node = make(
    "button",
    {
      type: "button",
      class: "together",
      "aria-label": "before and after: the other reading beside this one",
      "aria-pressed": "false",
      onclick: () => choice.pick({ against: model.get("against").length ? [] : choice.comparable() }),
    },
    "before and after",
  );
  const draw = () => {
    const isOn = model.get("against").length > 0;
    node.setAttribute("aria-pressed", `${isOn}`);
    node.disabled = choice.zoom() === "cell" || (!isOn && !choice.comparable().length);
  };
  return { node, draw };
}

/** All that changes the reading; only where somebody reads the sentence again. */
export class WhatIf {
  /** panels: what is marked as old until an answer comes. point(target): of the source. explain: draws the texts anew.
   * @param {Choice} choice
   * @param {{ panels: HTMLElement, point: (target: Target | null) => void, explain: () => void }} options
   */
  constructor(choice, { panels, point, explain }) {
    const { model, history, layers } = choice;
    this.choice = choice;
    this.explain = explain;
    /** @type {Numbers | null} */
    this.weights = null; // of the head, or the mean, that is drawn; null: of several heads
    /** @type {(Pulled & { asked: boolean }) | null} */
    this.pulled = null; // the weight that something is dragged to, until the answer is here
    this.age = ageing(panels);
    this.weigh = weightEditor((weight) => {
      const pair = choice.locked();
      if (pair?.[0] === "pair") this.pull({ pair, weight });
    });
    this.outcome = make("span", { class: "outcome", "aria-hidden": "true" }); // where the translation is off the screen
    this.weigh.node.append(this.outcome);
    this.weigh.node.addEventListener("input", ({ target }) => {
      const { type, valueAsNumber: weight } = /** @type {HTMLInputElement} */ (target);
      const pair = choice.locked();
      if (type === "range" && pair?.[0] === "pair") this.preview({ pair, weight });
    });
    /** @type {(makeEdits: MakeEdits, text: string) => HTMLButtonElement} */
    const button = (makeEdits, text) =>
      make(
        "button",
        { type: "button", onclick: () => this.edit((edits) => makeEdits(edits, choice.scope(), layers)) },
        text,
      );
    this.ablate = button(flipped, "");
    this.alone = button(keptAlone, "only this head");
    this.bar = changesBar(history);
    /** @type {(index: number, word: string) => void} */
    const swap = (index, word) => this.swap(index, word);
    this.words = chips(model.get("result"), { point, swap, vocab: choice.vocab, id: fresh() });
    this.names = { now: make("span", { class: "faint" }), before: make("span", { class: "faint" }) };
    this.now = make("div", { class: "present" });
    this.before = make("span", { class: "former-text" });
    this.place = make("span", { class: "former-text" }); // of the hint, and after a change of the bar
    this.hint = make("span", { class: "faint" }, WHAT_IF);
    this.rewritten = make(
      "div",
      { class: "pairing rewritten" },
      make("span", { class: "faint" }, "source"),
      this.words.node,
      this.names.now,
      this.now,
      this.names.before,
      make("div", { class: "before" }, this.before, this.place),
    );
  }

  /** @param {(edits: Edit[]) => Edit[]} makeEdits */
  edit(makeEdits) {
    this.choice.history.ask({ edits: makeEdits(this.choice.model.get("edits")) });
  }

  /**
   * @param {number} index
   * @param {string} word
   */
  swap(index, word) {
    const { model, history } = this.choice;
    history.ask({
      sentence: swapped(model.get("sentence"), model.get("result").source, index, word),
      edits: model.get("edits").filter(([what]) => what === "ablate"), // rows and columns are now other ones
    });
  }

  // ---- One weight ---------------------------------------------------------------------------------------------------

  /** Whether the weights that are drawn are those of a head, or of heads, that can be edited. */
  mayPull() {
    const { choice } = this;
    return this.weights !== null && this.isPossible() && choice.zoom() !== "cell" && !choice.preview;
  }

  isPossible() {
    const { show, overlay } = this.choice.chosen(null);
    return show !== "rollout" && !overlay.length;
  }

  /** @param {Pair} pair */
  weightOf([, row, column]) {
    return (this.weights ?? [])[row * this.choice.chosen().map.keys.length + column];
  }

  /** The pair whose weight is dragged now; else what is locked. */
  held() {
    return this.pulled && !this.pulled.asked ? this.pulled.pair : this.choice.locked();
  }

  /** What this target is dragged to, or null.
   * @param {Target | null} target
   */
  pulledTo(target) {
    return this.pulled && sameQuestion(this.pulled.pair, target) ? this.pulled : null;
  }

  /** All that is drawn follows a line, the slider or a key at once; the model reads when it is let go: see `pull`.
   * @param {Pulled | null} pulled null: nothing comes of it
   */
  preview(pulled) {
    this.pulled = pulled && { ...pulled, asked: false };
    this.explain();
  }

  /** The model reads with this weight.
   * @param {Pulled} pulled
   */
  pull({ pair, weight }) {
    const [, row, column] = pair;
    this.pulled = { pair, weight, asked: true };
    this.choice.pick({ locked: pair });
    this.edit((edits) => withWeight(edits, ["weight", ...this.choice.scope(), row, column, weight]));
  }

  /** The keys + and − change the weight of a locked cell.
   * @param {number} by
   */
  press(by) {
    const pair = this.choice.locked();
    if (pair?.[0] !== "pair" || !this.mayPull()) return false;
    const now = this.pulledTo(pair)?.weight ?? this.weightOf(pair);
    this.preview({ pair, weight: Math.round(100 * Math.min(Math.max(now + by, 0), 1)) / 100 });
    return true;
  }

  release() {
    if (this.pulled && !this.pulled.asked) this.pull(this.pulled);
  }

  /** Forgets the pulled weight when its answer is here. */
  settle() {
    const { model } = this.choice;
    if (this.pulled?.asked && !isWaiting(model)) this.pulled = null;
  }

  /** Whether the head that is drawn is ablated: the chosen one, or that of the small map that is pointed at. */
  isAblated() {
    const { kind, layer, head } = this.choice.chosen();
    return ablated(this.choice.model.get("edits"), this.choice.layers).has(`${kind} ${layer} ${head}`);
  }

  /** What a person has changed in a row of the chosen head, in words.
   * @param {number} row
   * @param {number} column
   */
  editOf(row, column) {
    const { choice } = this;
    const { kind, layer, head } = choice.chosen(null);
    const edits = choice.model.get("edits");
    if (this.isAblated()) return "this head is ablated: it passes on nothing";
    const isMine = (/** @type {Edit} */ edit) =>
      edit[1] === kind && (edit[2] ?? layer) === layer && (edit[3] ?? head) === head;
    const mine = edits.filter((edit) => edit[0] === "weight").filter((edit) => isMine(edit) && edit[4] === row);
    if (!mine.length) return "";
    const own = mine.findLast((edit) => edit[5] === column);
    return own
      ? `you set this weight to ${number(own[6])}`
      : "you changed a weight of this row, and the others share the rest";
  }

  // ---- Drawing ------------------------------------------------------------------------------------------------------

  draw() {
    const { problem } = this.choice.model.get("result");
    this.age(this.waiting() !== null || Boolean(problem), Boolean(problem));
    this.drawHeads();
    this.drawTexts();
    this.drawBar();
  }

  /** The sentence whose reading is not there yet; or null. */
  waiting() {
    const { model } = this.choice;
    const open = ["result", "other"].find((trait) => isWaiting(model, trait));
    return open ? String(questionOf(model, open)?.sentence) : null;
  }

  drawHeads() {
    const { choice } = this;
    const scope = choice.scope();
    const [kind, layer, head] = scope;
    const heads =
      layer === null ? `all of ${kind}` : head === null ? `${kind} layer ${layer}` : `${kind} ${layer}.${head}`;
    const off = ablated(choice.model.get("edits"), choice.layers);
    const isOff = headsOf(scope, choice.layers).every((one) => off.has(one));
    this.ablate.textContent = isOff ? `restore ${heads}` : `ablate ${heads}`;
    this.ablate.disabled = !this.isPossible();
    this.alone.disabled = !this.isPossible() || head === null;
  }

  drawTexts() {
    const { choice } = this;
    const now = choice.model.get("result");
    const before = choice.other() ?? choice.history.first()?.result;
    const [former, name] = choice.names();
    const isChanged = Boolean(before) || choice.isChanged();
    this.names.now.textContent = name;
    this.names.before.textContent = before ? former : ""; // its row stays, so that a change moves nothing
    this.before.replaceChildren(...(before ? crossedOut(before, now) : []));
    const isBusy = isChanged || this.waiting() !== null || now.problem !== "";
    const part = isBusy ? this.bar.node : this.hint;
    if (part !== this.place.firstChild) {
      const hadFocus = this.place.contains(focusIn(this.place));
      this.place.replaceChildren(part);
      if (hadFocus) this.ablate.focus({ preventScroll: true }); // Undo is gone
    }
    this.outcome.textContent = isChanged ? `${name}: ${now.text} ${certainty(now).textContent}` : "";
    const isNew = before ? differences(before.tokens, now.tokens)[1] : [];
    const pieces = now.pieces.flatMap((piece, i) => [
      /^\s/.test(piece) ? " " : "",
      make("span", { class: isNew[i] ? "piece new" : null }, piece.trim()),
    ]);
    this.now.replaceChildren(make("bdi", {}, ...pieces), certainty(now));
    this.words.changed(before ? differences(before.source, now.source)[1] : []);
  }

  /** What has become of the translation: for an echo beside a press. */
  outcomeWords() {
    const { model, history } = this.choice;
    const now = model.get("result");
    return echoWords(history.first()?.result ?? null, now, now.languages[1]);
  }

  /** What says the same: for a weight on a phone, a line beside its slider.
   * @param {Element | null} pressed
   */
  seen(pressed) {
    return pressed?.closest(".weigh") && this.outcome.offsetParent ? this.outcome : this.now;
  }

  drawBar() {
    const { layers, maps, model } = this.choice;
    const [{ problem }, { sentence, edits }, waits] = [model.get("result"), this.choice.question(), this.waiting()];
    let text = "";
    if (waits !== null) text = `“${shortened(waits, 60)}” is not read yet: ${whyNot()}.`;
    else if (problem) text = `⚠ ${problem} Below is the former sentence.`;
    else if (edits.length) text = editsInWords(edits, layers, tokensOf(maps)).join("; ");
    this.bar.set(text, pythonCode({ sentence, beam: 1, prefix: [], edits }));
  }

  /** The slider of the cell that is kept; before, a line that says what a press does. */
  drawWeight() {
    const { choice } = this;
    const pair = this.held();
    if (choice.zoom() === "cell" || !this.isPossible() || !this.weights) return this.weigh.show(null);
    if (this.isAblated()) return this.weigh.show(null, ["This head is ablated: restore it to change a weight."]);
    if (pair?.[0] !== "pair") return this.weigh.show(null, [byFinger() ? TAP : PRESS]);
    const { keys, queries } = choice.chosen().map;
    const [, row, column] = pair;
    const named = ["weight of ", ...tokenAt(keys, column), " for ", ...tokenAt(queries, row)];
    const weight = this.pulledTo(pair)?.weight ?? this.weightOf(pair);
    return this.weigh.show(weight, [...named, byFinger() ? "" : " (keys: + and −)"]);
  }
}

/** For each kind, the tokens of the rows and of the columns.
 * @param {MapData[]} maps
 */
const tokensOf = (maps) => Object.fromEntries(maps.map(({ kind, queries, keys }) => [kind, [queries, keys]]));
