// What if? The heads, the weights and the words that a person changes; the source, and the translation before and now.

import { isSame } from "../shared/asking.js";
import { make, token } from "../shared/elements.js";
import {
  certainty,
  changesBar,
  chips,
  crossedOut,
  differences,
  editsInWords,
  pythonCode,
  weightEditor,
  withWeight,
} from "../shared/changes.js";
import { headSwitches } from "../shared/switches.js";
import { change } from "../shared/life.js";
import { sameQuestion } from "../shared/changes.js";
import { written } from "./translator_panels.js";
import { glossed } from "./translator_words.js";

/** @import { Target } from "../shared/types.js" */
/** @import { Choice, Result } from "./translator_choice.js" */

const TRUE_LINKS =
  "The true word alignment of the sentence: which target token translates which source token. The grammar that made " +
  "the corpus knows the alignment, so this works for its sentences only.";
const REST = 150; // milliseconds without another question, before the effect of every head is asked for

export class Changes {
  /**
   * @param {Choice} choice
   * @param {string} id
   * @param {(target: Target | null) => void} point
   */
  constructor(choice, id, point) {
    const { live, layers, links, gloss } = choice.data;
    const { model } = choice;
    this.choice = choice;
    this.id = id;
    this.point = point;
    const hasBoard = live && !gloss && Object.keys(layers).length > 0;
    this.board = hasBoard ? headSwitches(layers, (edit) => choice.edit(edit)) : null;
    this.weigh = weightEditor((weight) => this.setWeight(weight));
    this.trueLinks = make("input", {
      type: "checkbox",
      onchange: () => {
        model.set("links", this.trueLinks.checked);
        model.save_changes();
      },
    });
    const sign = make("span", { class: "true-link", "aria-hidden": "true" });
    const gold =
      links && live ? make("label", { class: "control", title: TRUE_LINKS }, this.trueLinks, sign, "true links") : null;
    this.bar = changesBar({ ...choice.history, reset: () => choice.reset() });
    this.more = [gold, this.bar.python]; // stand elsewhere
    this.node = make("div", { class: "pairing" });
    this.timer = 0; // of the next question about all heads
    this.swapped = -1; // the word of the source that was swapped last
    /** @type {ReturnType<typeof chips> | null} */
    this.chips = null;
    /** @type {ReturnType<typeof written> | null} */
    this.line = null;
  }

  /** The edit that sets the weight of the cell that is kept, but for the weight; null if no cell is kept. */
  place() {
    const { choice } = this;
    const target = choice.locked();
    const { attention } = choice.best();
    if (target?.[0] !== "pair" || !attention) return null;
    const [, row, column] = target;
    const [show, layer, head] = choice.heads;
    const prompt = attention.prompt ?? 0; // the rows of a decoder-only model begin with the source
    const kind = prompt ? "causal" : "cross";
    const [inLayer, inHead] = [show === "all" ? null : layer, show === "head" ? head : null];
    return /** @type {const} */ (["weight", kind, inLayer, inHead, prompt + row, column]);
  }

  /** @param {number} weight */
  setWeight(weight) {
    const place = this.place();
    if (place) this.choice.edit((edits) => withWeight(edits, [...place, weight]));
  }

  /** Changes the weight of the cell that is kept, from the last one that was set.
   * @param {number} by
   */
  nudge(by) {
    const { choice } = this;
    const [place, locked] = [this.place(), choice.locked()];
    if (!place || !locked || !choice.weights || !choice.data.live) return;
    const set = choice.question().edits.find((edit) => sameQuestion(edit.slice(0, 6), place))?.[6];
    const weight = Number(set ?? choice.weights[locked[1] * choice.columns() + (locked[2] ?? 0)]);
    this.setWeight(Math.min(1, Math.max(0, Math.round(100 * (weight + by)) / 100)));
  }

  /** @param {Result} result */
  sourceOf(result) {
    const { vocab, live } = this.choice.data;
    /** @type {(index: number, word: string) => void} */
    const swap = (index, word) => {
      this.swapped = index;
      this.choice.swap(index, word);
    };
    return chips(result, { point: this.point, swap: live ? swap : null, vocab, id: this.id });
  }

  translationOf() {
    const { choice } = this;
    const { history, result } = choice;
    const first = history.first();
    return written(choice.best(), {
      language: result.languages[1],
      start: Math.min(choice.model.get("step"), choice.last()),
      forced: first ? history.forced() : [result.prefix.length - 1],
      before: first?.result.best[0].tokens,
      point: this.point,
      lock: (target) => choice.lock(target),
    });
  }

  /** The source, and the translation before and now. isTyping: whether a word of this source is being typed; then the
   * source stays as it is.
   * @param {boolean} isTyping
   */
  rewrite(isTyping) {
    const { choice, node } = this;
    const { data, history, result } = choice;
    const first = history.first();
    const source = isTyping && this.chips ? this.chips : this.sourceOf(result);
    const line = this.translationOf();
    this.chips = source;
    this.line = line;
    if (first) source.changed(differences(first.result.source, result.source)[1]);
    /** @type {(name: string, part: Node) => Node[]} */
    const named = (name, part) => [make("span", { class: "faint" }, name), part];
    const isOther = first !== null && !sameQuestion(first.question, choice.question());
    const before = isOther ? crossedOut(first.result.best[0], choice.best(), result.languages[1]) : [];
    const isChanged = first !== null || choice.isChanged();
    const bar = isChanged ? this.bar.node : make("span", { class: "faint" }, this.hint());
    const english = glossed(choice.best().tokens, data.gloss);
    const now = make("div", { class: "present" }, line.node, certainty(choice.best()));
    const others = [
      ...named(isOther ? "now" : "translation", now),
      ...(english ? named("word by word", make("div", { class: "gloss" }, english)) : []),
      ...(data.live ? named(isOther ? "before" : "", make("div", { class: "before" }, ...before, bar)) : []),
    ];
    if (!isTyping) return node.replaceChildren(...named("source", source.node), ...others);
    for (const part of [...node.children].slice(2)) part.remove();
    return node.append(...others);
  }

  /** A word that the model does not know can be swapped at once again. Whether the box for it is open. */
  again() {
    const [at, { unknown }] = [this.swapped, this.choice.result];
    this.swapped = -1;
    return Boolean(unknown[at] && this.chips?.again(at));
  }

  /** What can be changed. */
  hint() {
    const weights = this.choice.best().attention ? ", or keep a cell and set its weight" : "";
    const heads = this.board ? ", ablate a head" : "";
    return `What if? Swap a word of the source, force a candidate${heads}${weights}.`;
  }

  /** What was changed, in words, and as a program.
   * @param {Result} raw
   */
  draw(raw) {
    const { data, history, model } = this.choice;
    const { tokens, attention } = this.choice.best();
    const made = [
      ...swapWords(history.first()?.result.source, raw.source),
      ...prefixWords(model.get("prefix")),
      ...editsInWords(model.get("edits"), data.layers, { cross: [tokens, attention?.keys ?? []] }),
    ];
    this.board?.set(model.get("edits"));
    this.trueLinks.checked = model.get("links");
    this.bar.set(made.join("; "), pythonCode(this.choice.question()));
  }

  /** Paints each head by what it does to this translation, if that is known. isReady: whether the question of the view
   * has its answer.
   * @param {boolean} isReady
   */
  paint(isReady) {
    const { model } = this.choice;
    const { beam, ...question } = this.choice.question();
    const map = model.get("ablations");
    const isThere = map && "base" in map && isSame(map.asked, question);
    this.board?.paint(isThere && isReady ? map : null);
    this.board?.node.setAttribute("aria-busy", String(!isThere && isReady));
    if (!isReady) clearTimeout(this.timer);
    return Boolean(isThere);
  }

  /** Asks what each head does to this translation, when nobody asks anything else for a while. */
  ask() {
    const { model } = this.choice;
    const { sentence, prefix, edits } = this.choice.question();
    clearTimeout(this.timer);
    if (this.board && !this.paint(true))
      this.timer = setTimeout(change, REST, model, { mapped: [sentence, prefix, edits] });
  }

  /** Marks the tokens of what is pointed at or locked, and shows the weight of a locked cell. */
  mark() {
    const { choice } = this;
    const locked = choice.locked();
    const target = locked ?? choice.hovered;
    this.line?.mark(choice.step(), locked, target?.[0] === "key" ? choice.lookers(target[1]) : []);
    this.chips?.mark(target && target[0] !== "query" ? (target[2] ?? target[1]) : null);
    const { weights } = choice;
    const { tokens, attention } = choice.best();
    if (locked?.[0] !== "pair" || !choice.data.live || !weights || !attention) return this.weigh.show(null);
    const [, row, column] = locked;
    const names = ["weight of ", token(attention.keys[column]), " for ", token(tokens[row]), ":"];
    return this.weigh.show(weights[row * choice.columns() + column], names);
  }
}

/** The words of the source that were swapped, as a list of texts.
 * @param {string[] | undefined} before
 * @param {string[]} now
 */
function swapWords(before, now) {
  if (!before) return [];
  if (before.length !== now.length) return ["another sentence"];
  return before.flatMap((text, i) => (text === now[i] ? [] : [`“${text}” became “${now[i]}”`]));
}

/** The words that the translation has to begin with, as a list of texts.
 * @param {string[]} prefix
 */
const prefixWords = (prefix) =>
  prefix.length < 2
    ? prefix.map((text) => `“${text}” at step 1`)
    : [`“${prefix.at(-1)}” at step ${prefix.length}, after “${prefix.slice(-4, -1).join(" ")}”`];
