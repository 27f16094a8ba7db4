// The data of a TranslatorView; what is chosen in it, and what is asked.

import { questionOf } from "../shared/asking.js";
import { change, unpack } from "../shared/life.js";
import { changes, swapped } from "../shared/changes.js";

/** @import { AblationMap } from "../shared/changes.js" */
/** @import { Edit, Layers, MapData, Model, Numbers, Question, Show, Target, Traits } from "../shared/types.js" */

/**
 * @typedef {{ tokens: string[], probs: number[], ranks: number[], written: number, others: number }} Next
 * The likeliest next tokens; `written` is the index of the token that was written.
 *
 * @typedef {object} Translation
 * @property {string} text
 * @property {string[]} tokens
 * @property {string[]} pieces
 * @property {number} score
 * @property {number} probability
 * @property {Next[]} next
 * @property {MapData & { prompt?: number } | null} attention
 *
 * @typedef {{ tokens: string[], links: [source: number, target: number][], pronouns: number[] }} Gold
 *
 * @typedef {object} Result
 * @property {Question} asked
 * @property {string} problem
 * @property {string} sentence
 * @property {number} beam
 * @property {string[]} prefix
 * @property {Edit[]} edits
 * @property {[source: string, target: string]} languages
 * @property {string[]} source
 * @property {boolean[]} unknown
 * @property {number} known
 * @property {number} words
 * @property {Gold | null} [gold]
 * @property {Translation[]} best
 *
 * @typedef {object} Data
 * @property {number[]} beams
 * @property {boolean} live
 * @property {Layers} layers
 * @property {string[]} vocab
 * @property {string[]} examples
 * @property {[kind: string, words: string[]][]} [kinds]
 * @property {string[]} [sentences]
 * @property {number | null} longest
 * @property {number | null} unlikely
 * @property {number | null} [unsure]
 * @property {number | null} [short]
 * @property {boolean} links
 * @property {Record<string, Gold>} [golds] of a page: what is known, by the tokens of the source
 * @property {Record<string, string>} [gloss] a word in English for each target token; with it, no heads are offered
 *
 * @typedef {{ links: boolean, chosen: number, step: number, locked: Target | null, result: Result,
 *   mapped: [string, string[], Edit[]] | [], ablations?: AblationMap | object }} Shown
 * @typedef {Traits & Question & Shown} TranslatorTraits
 * @typedef {[show: Show, layer: number, head: number]} Heads
 */

/** The traits of a view, limited to what the translation has; every other part reads them here. */
export class Choice {
  /**
   * @param {Model<TranslatorTraits>} model
   * @param {Data} data
   */
  constructor(model, data) {
    this.model = model;
    this.data = data;
    /** @type {Result | null} */
    this.raw = null; // the trait `result` that is drawn; null: nothing, or not yet
    /** @type {Result} */
    this.result = unpack(model.get("result"));
    this.chosen = 0; // of the translations that were found
    /** @type {Target | null} */
    this.hovered = null;
    /** @type {Heads} */
    this.heads = ["all", 0, 0];
    /** @type {Numbers | null} */
    this.weights = null; // of these heads
    /** @type {Pick<Question, "prefix" | "edits"> | null} */
    this.later = null; // changes that are asked for when the translation before them is there
    this.history = changes({
      get: () => this.question(),
      set: (values) => change(model, values),
      result: () => ({ ...this.result, best: [this.best()] }),
    });
  }

  /** The result, and one of its translations, are now those that are shown.
   * @param {Result} raw
   * @param {number} chosen
   */
  read(raw, chosen) {
    if (raw !== this.raw) this.result = unpack(raw);
    this.raw = raw;
    this.chosen = chosen;
    this.weights = null;
    this.hovered = null;
  }

  best() {
    return this.result.best[this.chosen];
  }

  last() {
    return this.best().tokens.length - 1;
  }

  columns() {
    return this.best().attention?.keys.length ?? this.result.source.length + 1;
  }

  /** @returns {Question} */
  question() {
    return /** @type {Question} */ (/** @type {unknown} */ (questionOf(this.model)));
  }

  /** What is known of the sentence, or null; undefined: nobody has looked it up. */
  gold() {
    const [{ gold, source }, { golds }] = [this.result, this.data];
    return gold === undefined && golds ? (golds[source.join(" ")] ?? null) : gold;
  }

  /** @returns {Target | null} */
  locked() {
    const target = this.model.get("locked");
    if (!target) return null;
    const [what, first, second = 0] = target;
    const [queries, keys] = [this.last() + 1, this.columns()];
    return (what === "key" ? first < keys : first < queries && second < keys) ? target : null;
  }

  /** The step that is shown. */
  step() {
    return rowOf(this.locked() ?? this.hovered) ?? Math.min(this.model.get("step"), this.last());
  }

  /** Go to a step; a locked target token moves with it.
   * @param {number} step
   */
  go(step) {
    this.hovered = null;
    const target = this.model.get("locked");
    /** @type {Target | null} */
    let locked = target;
    if (target?.[0] === "query") locked = ["query", step];
    if (target?.[0] === "pair") locked = ["pair", step, target[2]];
    change(this.model, { step, locked });
  }

  /** @param {Target | null} target */
  lock(target) {
    const row = rowOf(target);
    change(this.model, row === null ? { locked: target } : { locked: target, step: row });
  }

  /** @param {number} chosen */
  pick(chosen) {
    const { length } = this.result.best[chosen].tokens;
    if (chosen === this.chosen) return;
    const step = Math.min(this.model.get("step"), length - 1);
    const isOther = step < this.model.get("step") || this.model.get("locked")?.[0] === "pair"; // a cell of other tokens
    change(this.model, isOther ? { chosen, step, locked: null } : { chosen });
  }

  // ---- What if? -----------------------------------------------------------------------------------------------------

  isChanged() {
    return this.model.get("prefix").length + this.model.get("edits").length > 0;
  }

  /** The edits that another sentence keeps: a weight belongs to one sentence. */
  ablations() {
    return (this.later?.edits ?? this.model.get("edits")).filter(([what]) => what === "ablate");
  }

  /** @param {string} sentence */
  begin(sentence) {
    if (this.data.live) this.beginChanged({ sentence, prefix: [], edits: this.ablations() });
  }

  /** A question that nothing stands before; if it has changes, it is asked without them first.
   * @param {Pick<Question, "prefix" | "edits"> & Partial<Question>} question
   */
  beginChanged({ prefix, edits, ...others }) {
    this.later = prefix.length + edits.length ? { prefix, edits } : null;
    this.history.begin({ ...others, prefix: [], edits: [] });
  }

  reset() {
    this.later = null;
    this.history.reset();
  }

  /** The translation before the changes is there: now the changes are asked for. */
  goOn() {
    const { later } = this;
    this.later = null;
    if (later && !this.isChanged()) this.history.ask(later);
  }

  /**
   * @param {number} step
   * @param {string} text
   */
  force(step, text) {
    this.history.ask({ prefix: [...this.best().tokens.slice(0, step), text] });
  }

  /** @param {(edits: Edit[]) => Edit[]} makeEdits */
  edit(makeEdits) {
    this.history.ask({ edits: makeEdits(this.model.get("edits")) });
  }

  /**
   * @param {number} index
   * @param {string} word
   */
  swap(index, word) {
    const sentence = swapped(this.model.get("sentence"), this.result.source, index, word);
    this.history.ask({ sentence, prefix: [], edits: this.ablations() });
  }

  /** The target tokens that look at a source token more than at any other.
   * @param {number} key
   */
  lookers(key) {
    const { weights } = this;
    if (!weights) return [];
    const count = this.columns();
    const row = (/** @type {number} */ i) => [...weights.slice(i * count, (i + 1) * count)];
    const steps = this.best().tokens.map((_, i) => i);
    return steps.filter((i) => row(i).indexOf(Math.max(...row(i))) === key);
  }
}

/** The step of a target; null for a source token.
 * @param {Target | null} target
 */
export const rowOf = (target) => (target && target[0] !== "key" ? target[1] : null);

/** @param {number} beam */
export const searchName = (beam) => (beam === 1 ? "greedy" : `beam ${beam}`);

/** @param {Heads} heads */
export const headName = ([show, layer, head]) =>
  ({
    all: "mean of all heads",
    layer: `layer ${layer}, mean`,
    head: `layer ${layer}, head ${head}`,
    rollout: "rollout",
  })[show];
