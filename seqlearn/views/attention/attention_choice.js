// What is chosen in an AttentionView, and what is asked: the traits, limited to what the maps have.

import { MOST_TONES } from "../shared/constants.js";
import { answerOf, isSame, questionOf } from "../shared/asking.js";
import { weightsOf } from "../shared/head_maps.js";
import { change, unpack } from "../shared/life.js";
import { changes, sameQuestion } from "../shared/changes.js";

/** @import { AnyKind, Edit, Layers, MapData, Model, Show, StepsData, Target, Traits } from "../shared/types.js" */

/**
 * @typedef {{ maps: MapData[], asks: boolean, layers: Layers, vocab: string[] }} Data
 *
 * @typedef {object} Result one reading: a sentence and its translation
 * @property {Question} [asked]
 * @property {string} problem
 * @property {string} sentence
 * @property {Edit[]} edits
 * @property {[source: string, target: string]} languages
 * @property {string[]} source
 * @property {boolean[]} unknown
 * @property {string} text
 * @property {string[]} tokens
 * @property {string[]} pieces
 * @property {number} probability
 *
 * @typedef {Result & { maps: MapData[] }} Reading
 * @typedef {StepsData & { asked: Place, problem: string }} Answer
 * @typedef {{ kind: AnyKind, layer: number, head: number }} Place
 * @typedef {{ sentence: string, edits: Edit[] }} Question
 * @typedef {[sentence: string, edits: Edit[]]} Asked
 * @typedef {"heads" | "head" | "cell"} Level
 * @typedef {[row: number, column: number]} Cell
 *
 * @typedef {object} Choices
 * @property {Show} show
 * @property {number} threshold
 * @property {Target | null} locked
 * @property {Level} zoom
 * @property {[layer: number, head: number][]} overlay
 * @property {Partial<Answer>} steps
 * @property {Result} result
 * @property {[] | Asked} against
 * @property {Partial<Reading>} other its `asked`: the question
 *
 * @typedef {Traits & Place & Question & Choices} AttentionTraits
 */

/** @type {Record<Show, string>} */
export const SHOWS = { head: "one head", layer: "mean of the layer", all: "mean of all heads", rollout: "rollout" };

/** The choices of a view; every other part reads them here, and changes them with `pick`. */
export class Choice {
  /**
   * @param {Model<AttentionTraits>} model
   * @param {Data} data
   */
  constructor(model, { maps, layers, vocab, asks }) {
    this.model = model;
    this.maps = maps;
    this.layers = layers;
    this.vocab = vocab;
    this.asks = asks;
    this.several = maps.some(({ weights }) => weights.shape[0] * weights.shape[1] > 1);
    /** @type {Place | null} */
    this.preview = null; // the small map that is pointed at
    /** @type {{ raw: unknown, reading: Reading } | null} */
    this.unpacked = null; // of the trait `other`
    /** @type {Answer | null} */
    this.answer = null; // the trait `steps`, unpacked
    this.history = changes({
      kept: model,
      get: () => this.question(),
      set: (values) => this.pick(values),
      result: () => model.get("result"),
    });
    this.readAnswer();
  }

  readAnswer() {
    /** @type {Answer} */
    const answer = unpack(this.model.get("steps"));
    this.answer = answer.asked ? answer : null;
  }

  /** What is shown: the choice, limited to what the maps have, or the small map that is pointed at. */
  chosen(peek = this.preview) {
    const { model, maps } = this;
    const at = peek ?? { kind: model.get("kind"), layer: model.get("layer"), head: model.get("head") };
    const map = maps.find(({ kind }) => kind === at.kind) ?? maps[0];
    const [layers, heads] = map.weights.shape;
    /** @type {Show} */
    const show = peek || (model.get("show") === "rollout" && !map.rollout) ? "head" : model.get("show");
    const overlay = peek ? [] : model.get("overlay").filter(([layer, head]) => layer < layers && head < heads);
    return { map, kind: map.kind, show, layer: within(at.layer, layers), head: within(at.head, heads), overlay };
  }

  /** The chosen kind, layer (null: all) and head (null: all), as an edit of attention names them.
   * @returns {[kind: AnyKind, layer: number | null, head: number | null]}
   */
  scope() {
    const { kind, show, layer, head } = this.chosen(null);
    return [kind, show === "all" ? null : layer, show === "head" ? head : null];
  }

  locked() {
    const target = this.model.get("locked");
    const isHere = !this.preview || this.preview.kind === this.model.get("kind");
    return target && fits(this.chosen().map, target) && isHere ? target : null;
  }

  // ---- Zoom ---------------------------------------------------------------------------------------------------------

  /** @returns {Level[]} */
  levels() {
    const { map, layer, head } = this.chosen(null);
    const { answer } = this;
    const isStored = answer !== null && isSame(answer.asked, { kind: map.kind, layer, head }) && !answer.problem;
    /** @type {Level[]} */
    const levels = this.several ? ["heads", "head"] : ["head"];
    return this.asks || isStored ? [...levels, "cell"] : levels;
  }

  zoom() {
    const [levels, wanted] = [this.levels(), this.model.get("zoom")];
    if (levels.includes(wanted)) return wanted;
    return wanted === "heads" ? "head" : levels[levels.length - 1];
  }

  /** The cell whose arithmetic is shown: the locked one, or the largest weight of the locked row, column, or of all.
   * @returns {Cell}
   */
  cellOfZoom() {
    const { map, layer, head } = this.chosen(null);
    const target = this.model.get("locked");
    const [what, first, second] = target && fits(map, target) ? target : [];
    if (what === "pair" && second !== undefined) return [first, second];
    const weights = weightsOf(map, "head", layer, head);
    /** @type {Cell[]} */
    const cells = map.queries.flatMap((_, i) => map.keys.map((_, j) => /** @type {Cell} */ ([i, j])));
    const open = cells.filter(([i, j]) => !what || (what === "query" ? i : j) === first);
    const weight = (/** @type {Cell} */ [i, j]) => weights[i * map.keys.length + j];
    return open.reduce((best, cell) => (weight(cell) > weight(best) ? cell : best));
  }

  /** @param {Level} level */
  goTo(level) {
    this.preview = null;
    if (level === "cell") this.pick({ show: "head", overlay: [], locked: ["pair", ...this.cellOfZoom()], zoom: level });
    else this.pick({ zoom: level });
  }

  /** One level in or out, if there is one.
   * @param {number} by
   */
  go(by) {
    const to = this.levels()[this.levels().indexOf(this.zoom()) + by];
    if (to) this.goTo(to);
    return Boolean(to);
  }

  /** @param {Target} target */
  enter(target) {
    this.pick({ locked: target });
    if (this.levels().includes("cell")) this.goTo("cell");
    else this.pick({ locked: null });
  }

  // ---- Another choice -----------------------------------------------------------------------------------------------

  /** @param {Partial<AttentionTraits>} values */
  pick(values) {
    change(this.model, values);
  }

  /** A head was chosen; arrow keys go past the others, and add none of them to those that are compared.
   * @param {AnyKind} kind
   * @param {number | null} layer null: a kind was chosen
   * @param {number | null} head
   */
  choose(kind, layer, head, passing = false) {
    this.preview = null;
    const isOther = kind !== this.model.get("kind");
    const { overlay } = this.chosen();
    const there = this.fitting(kind);
    /** @type {AttentionTraits["overlay"]} */
    const compared = overlay.length ? [[there.layer, there.head]] : []; // with heads of the other kind
    /** @type {Partial<AttentionTraits>} */
    const other = isOther ? { ...there, kind, locked: null, overlay: compared } : {};
    if (layer === null || head === null) this.pick(other);
    else if (!overlay.length) this.pick({ ...other, show: "head", layer, head });
    else if (isOther) this.pick({ ...other, show: "head", layer, head, overlay: [[layer, head]] });
    else this.pick({ overlay: passing ? overlay : toggled(overlay, [layer, head]), layer, head, show: "head" });
  }

  /** Layer, head and show for another kind, which may have fewer of them.
   * @param {AnyKind} kind
   */
  fitting(kind) {
    const { model } = this;
    const map = this.maps.find((one) => one.kind === kind) ?? this.maps[0];
    const [layers, heads] = map.weights.shape;
    /** @type {Show} */
    const show = model.get("show") === "rollout" && !map.rollout ? "head" : model.get("show");
    return { layer: Math.min(model.get("layer"), layers - 1), head: Math.min(model.get("head"), heads - 1), show };
  }

  // ---- Readings -----------------------------------------------------------------------------------------------------

  /** @returns {Question} */
  question() {
    return { sentence: this.model.get("sentence"), edits: this.model.get("edits") };
  }

  isChanged() {
    return this.history.count() > 0 || this.model.get("edits").length > 0;
  }

  /** The other reading, where it stands beside the present one; or null. */
  other() {
    const { model } = this;
    const [asked, raw] = [questionOf(model, "other"), answerOf(model, "other")];
    const { sentence, edits } = model.get("result");
    if (!raw || raw.problem || isSame(asked, { sentence, edits })) return null;
    if (raw === this.unpacked?.raw) return this.unpacked.reading;
    /** @type {Reading} */
    const reading = unpack(raw);
    this.unpacked = { raw, reading };
    return reading;
  }

  /** The names of the other reading and of the present one. */
  names() {
    const [first, isOther] = [this.history.first(), this.other() !== null];
    if (first && (!isOther || isSame(questionOf(this.model, "other"), first.question))) return ["before", "now"];
    return isOther ? ["other reading", "this reading"] : ["before", "translation"];
  }

  /** What the present reading can be compared with: what was asked before the first change, or compared before.
   * @returns {AttentionTraits["against"]}
   */
  comparable() {
    const first = this.history.first();
    const { sentence, edits } = this.model.get("result");
    const asked = first?.question ?? this.model.get("other").asked;
    return !asked || isSame(asked, { sentence, edits }) ? [] : [asked.sentence, asked.edits];
  }
}

/**
 * @param {number} x
 * @param {number} count
 */
export const within = (x, count) => Math.min(Math.max(x, 0), count - 1);

/** The list with this head, or without it if it was there; at most MOST_TONES.
 * @param {[layer: number, head: number][]} list
 * @param {[layer: number, head: number]} head
 */
function toggled(list, head) {
  const rest = list.filter((one) => !sameQuestion(one, head));
  return rest.length < list.length ? rest : [...list, head].slice(-MOST_TONES);
}

/** Whether a map has this place.
 * @param {MapData} map
 * @param {Target} target
 */
function fits({ queries, keys }, [what, first, second = 0]) {
  return what === "key" ? first < keys.length : first < queries.length && second < keys.length;
}
