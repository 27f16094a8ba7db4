// What if? The sentence, the heads and the weights that a person changes in an AttentionView; before and after.

import { tokenAt } from "../shared/attention.js";
import { byFinger, make, number, shortened } from "../shared/elements.js";
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

/** @typedef {[what: "pair", row: number, column: number]} Pair */

/** @param {string} verb */
const toWeigh = (verb) => `To change a weight, drag a line, or ${verb} a cell and move this:`;

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
      "aria-label": "side by side: the other reading and this one",
      "aria-pressed": "false",
      onclick: () => choice.pick({ against: model.get("against").length ? [] : choice.comparable() }),
    },
    "side by side",
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
    /** @type {{ pair: Pair, weight: number, asked: boolean } | null} */
    this.pulled = null; // the weight that a line was dragged to, until the answer is here
    this.age = ageing(panels);
    this.weigh = weightEditor((weight) => {
      const pair = model.get("locked");
      if (pair?.[0] === "pair") this.weighCell(pair, weight);
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
    this.bar = changesBar(history, this.ablate, this.alone);
    /** @type {(index: number, word: string) => void} */
    const swap = (index, word) => this.swap(index, word);
    this.words = chips(model.get("result"), { point, swap, vocab: choice.vocab, id: fresh() });
    this.names = [make("span", { class: "faint" }), make("span", { class: "faint" })];
    this.texts = [make("div", { class: "before" }), make("div", { class: "before" })];
    this.rewritten = make(
      "div",
      { class: "pairing rewritten" },
      make("span", { class: "faint" }, "source"),
      this.words.node,
      ...this.names.flatMap((name, at) => [name, this.texts[at]]),
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

  /**
   * @param {Pair} pair
   * @param {number} weight
   */
  weighCell([, row, column], weight) {
    this.edit((edits) => withWeight(edits, ["weight", ...this.choice.scope(), row, column, weight]));
  }

  /** A line was dragged to another weight.
   * @param {Pair} pair
   * @param {number} weight
   */
  pull(pair, weight) {
    this.pulled = { pair, weight, asked: true };
    this.choice.pick({ locked: pair });
    this.weighCell(pair, weight);
  }

  /** The keys + and − change the weight of a locked cell; the model reads when the key is let go.
   * @param {number} by
   */
  press(by) {
    const pair = this.choice.locked();
    if (pair?.[0] !== "pair" || !this.mayPull()) return false;
    const now = this.pulled && sameQuestion(this.pulled.pair, pair) ? this.pulled.weight : this.weightOf(pair);
    this.pulled = { pair, weight: Math.round(100 * Math.min(Math.max(now + by, 0), 1)) / 100, asked: false };
    this.explain();
    return true;
  }

  release() {
    if (!this.pulled || this.pulled.asked) return;
    this.pulled.asked = true;
    this.weighCell(this.pulled.pair, this.pulled.weight);
    this.explain();
  }

  /** Forgets the pulled weight when its answer is here. */
  settle() {
    const { model } = this.choice;
    const isHere = sameQuestion(model.get("result").asked, this.choice.asked());
    if (this.pulled?.asked && isHere) this.pulled = null;
  }

  /** What a person has changed in a row of the chosen head, in words.
   * @param {number} row
   * @param {number} column
   */
  editOf(row, column) {
    const { choice } = this;
    const { kind, layer, head } = choice.chosen(null);
    const edits = choice.model.get("edits");
    if (ablated(edits, choice.layers).has(`${kind} ${layer} ${head}`))
      return "this head is ablated: it passes on nothing";
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
    this.age(Boolean(this.waiting() || problem), Boolean(problem));
    this.drawHeads();
    this.drawTexts();
    this.drawBar();
  }

  /** The question, [sentence, edits], whose answer is not there yet; or null.
   * @returns {Asked | null}
   */
  waiting() {
    const { model } = this.choice;
    const [asked, against] = [this.choice.asked(), model.get("against")];
    if (!sameQuestion(model.get("result").asked, asked)) return asked;
    return against.length && !sameQuestion(model.get("other").asked, against) ? against : null;
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
    choice.names().forEach((name, at) => {
      this.names[at].textContent = name;
    });
    const isChanged = Boolean(before) || choice.model.get("edits").length > 0;
    for (const part of [this.names[0], this.texts[0]]) part.hidden = !isChanged;
    const hint = make("span", { class: "faint" }, "The model is changed: Reset.");
    this.texts[0].replaceChildren(...(before ? crossedOut(before, now) : [hint]));
    const isNew = before ? differences(before.tokens, now.tokens)[1] : [];
    const pieces = now.pieces.flatMap((piece, i) => [
      /^\s/.test(piece) ? " " : "",
      make("span", { class: isNew[i] ? "piece new" : null }, piece.trim()),
    ]);
    this.texts[1].replaceChildren(make("bdi", {}, ...pieces), certainty(now));
    this.words.changed(before ? differences(before.source, now.source)[1] : []);
  }

  drawBar() {
    const { layers, maps, model } = this.choice;
    const [{ problem }, { sentence, edits }, waits] = [model.get("result"), this.choice.question(), this.waiting()];
    let text = "What if? Click a word of the source to swap it, ablate a head, or drag a line.";
    if (waits) text = `“${shortened(waits[0], 60)}” is not read yet: ${whyNot()}.`;
    else if (problem) text = `⚠ ${problem} Below is the former sentence.`;
    else if (edits.length) text = editsInWords(edits, layers, tokensOf(maps)).join("; ");
    this.bar.set(text, pythonCode({ sentence, beam: 1, prefix: [], edits }));
  }

  /** The slider of the cell that is kept. Before, it shows the weight that is pointed at, and says what a click does.
   * @param {Target | null} pointed
   */
  drawWeight(pointed) {
    const { choice } = this;
    const locked = choice.locked();
    if (choice.zoom() === "cell" || !this.isPossible() || !this.weights) return this.weigh.show(null);
    const pair = locked ?? pointed;
    if (pair?.[0] !== "pair") return this.weigh.show(null, [toWeigh(byFinger() ? "tap" : "click")], false);
    const { keys, queries } = choice.chosen().map;
    const [, row, column] = pair;
    const named = ["weight of ", ...tokenAt(keys, column), " for ", ...tokenAt(queries, row)];
    if (!locked)
      return this.weigh.show(
        this.weightOf(pair),
        [...named, byFinger() ? "; tap it to change it:" : "; click to change it:"],
        false,
      );
    const weight = this.pulled?.weight ?? this.weightOf(pair);
    return this.weigh.show(weight, [...named, byFinger() ? ":" : ", also by the keys + and −:"]);
  }
}

/** For each kind, the tokens of the rows and of the columns.
 * @param {MapData[]} maps
 */
const tokensOf = (maps) => Object.fromEntries(maps.map(({ kind, queries, keys }) => [kind, [queries, keys]]));
