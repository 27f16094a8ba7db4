// Search, as in seqlearn/search/beam.py, hypotheses.py and lengths.py, for one sentence: read them side by side. Both
// searches take the state before the first token. `prefix` holds ids that the translation begins with; a token of the
// prefix keeps the log-probability that the model gives it. Log-probabilities and their sums are rounded to float32, as
// in Python.

import { Problem } from "./nn.js";

/** @import { TransformerDecoder, TransformerState } from "./nn.js" */
/** @import { Node } from "./tree.js" */

/** Takes the length of a hypothesis; gives the number that divides its log-probability.
 * @typedef {(length: number) => number} LengthPenalty */
/** @typedef {{ minLength?: number, maxLength?: number | null, prefix?: number[] }} Lengths */
/** @typedef {Lengths & { bos: number, eos: number, forbidden?: number[] }} Options */
/** trace: a list that gets the nodes of each step.
 * @typedef {Options & { width?: number, nBest?: number, lengthPenalty?: LengthPenalty, trace?: Node[][] }}
 *   BeamOptions */
/** A hypothesis that is being written; `total` is the sum of its log-probabilities.
 * @typedef {{ ids: number[], logProbs: number[], total: number }} Beam */
/** @typedef {Beam & { parent: number }} Extension `parent`: the index of the beam that was extended */

/** One candidate translation: ids without <bos> and <eos>, and the log-probability of each, that of <eos> too. */
export class Hypothesis {
  /** @param {number[]} ids @param {number[]} logProbs @param {number} eos @param {number} penalty */
  constructor(ids, logProbs, eos, penalty = 1) {
    this.finished = ids.at(-1) === eos;
    this.tokens = this.finished ? ids.slice(0, -1) : ids;
    this.logProbs = logProbs;
    this.penalty = penalty;
  }

  get logProb() {
    return this.logProbs.reduce((sum, logProb) => sum + logProb, 0);
  }

  get score() {
    return this.logProb / this.penalty;
  }
}

export const noPenalty = () => 1;
/** @type {LengthPenalty} */
export const average = (length) => length;
/** @type {(alpha?: number) => LengthPenalty} */
export const gnmt =
  (alpha = 0.6) =>
  (length) =>
    ((5 + length) / 6) ** alpha;

/** How many tokens a translation may have.
 * @param {number} sourceLength */
const defaultMaxLength = (sourceLength) => 2 * sourceLength + 10;

/** The limit for one search; a prefix may be longer than other translations.
 * @param {number} sourceLength
 * @param {Lengths} lengths */
export function limitOf(sourceLength, { minLength = 0, maxLength = null, prefix = [] }) {
  return Math.max(maxLength ?? Math.max(defaultMaxLength(sourceLength), minLength), prefix.length);
}

/** At index i the largest penalty of a length above i.
 * @param {LengthPenalty} lengthPenalty
 * @param {number} limit */
function largestPenalties(lengthPenalty, limit) {
  const largest = Array.from({ length: limit }, (_, i) => lengthPenalty(i + 1));
  for (let i = limit - 2; i >= 0; i--) largest[i] = Math.max(largest[i], largest[i + 1]);
  return largest;
}

/** The `number` largest numbers in logits[start] ... logits[start + count - 1]: their places, the largest first.
 * @type {(logits: Float32Array, start: number, count: number, number: number) => number[]} */
export function largestOf(logits, start, count, number) {
  /** @type {number[]} */
  const best = [];
  for (let id = 0; id < count; id++) {
    const logit = logits[start + id];
    if (best.length === number && !(logit > logits[start + best[number - 1]])) continue;
    let place = best.length < number ? best.length : number - 1;
    while (place > 0 && logit > logits[start + best[place - 1]]) place--;
    best.splice(place, 0, id);
    best.length = Math.min(best.length, number);
  }
  return best;
}

/** log sum e^z over a row of logits.
 * @type {(logits: Float32Array, start: number, count: number) => number} */
export function logSumExp(logits, start, count) {
  let [largest, total] = [-Infinity, 0];
  for (let id = 0; id < count; id++) if (logits[start + id] > largest) largest = logits[start + id];
  for (let id = 0; id < count; id++) total += Math.exp(logits[start + id] - largest);
  return largest + Math.log(total);
}

/** The likeliest tokens of one row that are not forbidden, or the one token that is forced.
 * @param {Float32Array} logits
 * @param {number} row
 * @param {number} vocabSize
 * @param {number} number how many tokens are wanted
 * @param {number[]} forbidden
 * @param {number} [forced] */
function bestTokens(logits, row, vocabSize, number, forbidden, forced) {
  const start = row * vocabSize;
  const total = logSumExp(logits, start, vocabSize);
  const ids = forced === undefined ? largestOf(logits, start, vocabSize, number + forbidden.length) : [forced];
  const allowed = forced === undefined ? ids.filter((id) => !forbidden.includes(id)).slice(0, number) : ids;
  const found = allowed.map((id) => ({ id, logProb: Math.fround(logits[start + id] - total) }));
  if (found.some(({ logProb }) => Number.isNaN(logProb))) {
    throw new Problem("The model gives NaN or infinity: the search has found no translation.");
  }
  return found;
}

/** Chooses the likeliest next token, again and again, until <eos>.
 * @template State
 * @param {{ forward: (tokens: number[], state: State) => Float32Array }} decoder
 * @param {State} state
 * @param {number} sourceLength
 * @param {Options} options */
export function greedySearch(decoder, state, sourceLength, options) {
  const { bos, eos, forbidden = [], minLength = 0, prefix = [] } = options;
  const limit = limitOf(sourceLength, options);
  /** @type {number[]} */
  const ids = [];
  /** @type {number[]} */
  const logProbs = [];
  while (ids.length < limit && ids.at(-1) !== eos) {
    const logits = decoder.forward([ids.at(-1) ?? bos], state);
    const banned = ids.length < minLength ? [...forbidden, eos] : forbidden;
    const [{ id, logProb }] = bestTokens(logits, 0, logits.length, 1, banned, prefix[ids.length]);
    ids.push(id);
    logProbs.push(logProb);
  }
  return new Hypothesis(ids, logProbs, eos);
}

/** Extends each of the `width` hypotheses by every token, keeps the `width` best of all extensions, and so on. Gives
 * the `nBest` best complete hypotheses, the best first.
 * @param {TransformerDecoder} decoder
 * @param {TransformerState} state
 * @param {number} sourceLength
 * @param {BeamOptions} options */
export function beamSearch(decoder, state, sourceLength, options) {
  const { bos, eos, width = 4, nBest = 1, lengthPenalty = noPenalty, trace } = options;
  const { forbidden = [], minLength = 0, prefix = [] } = options;
  const limit = limitOf(sourceLength, options);
  const largest = largestPenalties(lengthPenalty, limit);
  /** @type {Hypothesis[]} */
  const best = [];
  const canWin = (/** @type {Beam} */ { total }, /** @type {number} */ step) =>
    total / largest[step] > (best.length === nBest ? best[nBest - 1].score : -Infinity);
  /** @type {Beam[]} */
  let beams = [{ ids: [], logProbs: [], total: 0 }];
  for (let step = 1; step <= limit; step++) {
    const newest = beams.map(({ ids }) => ids.at(-1) ?? bos);
    const logits = decoder.forward(newest, state);
    const banned = step <= minLength ? [...forbidden, eos] : forbidden;
    const number = trace ? Math.max(width, 2) : width; // a tree also has who is pruned
    const considered = extend(beams, logits, number, banned, prefix[step - 1]);
    const extensions = considered.slice(0, width);
    const complete = extensions.filter(({ ids }) => step === limit || ids.at(-1) === eos);
    best.push(...complete.map(({ ids, logProbs }) => new Hypothesis(ids, logProbs, eos, lengthPenalty(step))));
    best.sort((one, other) => other.score - one.score);
    best.length = Math.min(best.length, nBest);
    const others = extensions.filter((one) => !complete.includes(one));
    const isOver = !others.length || !canWin(others[0], step);
    trace?.push(nodesOf(considered, complete, others, isOver, lengthPenalty(step)));
    if (isOver) break;
    const kept = stay(others);
    beams = kept;
    state = state.select(kept.map(({ parent }) => parent));
  }
  return best;
}

/** The extensions that a step considered, as nodes of the search tree.
 * @param {Extension[]} considered @param {Extension[]} complete @param {Extension[]} others @param {boolean} isOver
 * @param {number} penalty
 * @returns {Node[]} */
function nodesOf(considered, complete, others, isOver, penalty) {
  return considered.map((one) => {
    const { ids, logProbs, total } = one;
    const live = others.includes(one) ? (isOver ? "beaten" : "kept") : "pruned";
    const fate = complete.includes(one) ? "complete" : live;
    return { ids, logProb: logProbs[logProbs.length - 1], total, score: total / penalty, fate };
  });
}

/** All extensions by one of the `number` likeliest tokens, the best first. Of equal ones, the one of the earlier
 * beam or the earlier token wins.
 * @param {Beam[]} beams
 * @param {Float32Array} logits a row for each beam
 * @param {number} number
 * @param {number[]} forbidden
 * @param {number} [forced]
 * @returns {Extension[]} */
function extend(beams, logits, number, forbidden, forced) {
  const vocabSize = logits.length / beams.length;
  const all = beams.flatMap(({ ids, logProbs, total }, parent) =>
    bestTokens(logits, parent, vocabSize, number, forbidden, forced).map(({ id, logProb }) => ({
      ids: [...ids, id],
      logProbs: [...logProbs, logProb],
      total: Math.fround(total + logProb),
      parent,
    })),
  );
  return all.filter(({ total }) => total > -Infinity).sort((one, other) => other.total - one.total);
}

/** An order in which the first child of parent p gets the index p, and the other children get the free indices.
 * @template {{ parent: number }} Child
 * @param {Child[]} kept
 * @returns {Child[]} */
export function stay(kept) {
  /** @type {(Child | null)[]} */
  const order = kept.map(() => null);
  const others = kept.filter((child) => {
    const isElder = child.parent < order.length && order[child.parent] === null;
    if (isElder) order[child.parent] = child;
    return !isElder;
  });
  let next = 0;
  return order.map((child) => child ?? others[next++]);
}
