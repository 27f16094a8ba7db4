// Sampling, as in seqlearn/search/sampling.py: read them side by side. A page has random numbers of its own.

import { Hypothesis, limitOf, logSumExp } from "./decoding.js";
import { Problem } from "./nn.js";

/** @import { Numbers } from "../shared/types.js" */
/** @import { Options } from "./decoding.js" */
/** @import { TransformerDecoder, TransformerState } from "./nn.js" */

/** null: all tokens. seed: the same one gives the same random numbers.
 * @typedef {{ seed: number, temperature: number, top_k: number | null, top_p: number | null }} Luck */
/** @typedef {ReturnType<typeof nextDistribution>} Distribution */

export const SENTENCES = 5; // that are drawn together

/** `next_distribution`, with what it computes on the way.
 *
 * shares: the softmax. ranking: the ids, the likeliest first; of equal ones, the smaller id. likelier: the probability
 * of all tokens that are likelier, after top-k. removed: "top-k" or "top-p", where a token was removed.
 * @param {Numbers} logits
 * @param {number} temperature
 * @param {number | null} topK
 * @param {number | null} topP
 */
export function nextDistribution(logits, temperature, topK, topP) {
  const top = logits.reduce((most, logit) => Math.max(most, logit), -Infinity);
  const powers = Array.from(logits, (logit) => Math.exp((logit - top) / temperature));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const shares = powers.map((power) => power / total);
  const ranking = shares.map((_, id) => id).sort((a, b) => shares[b] - shares[a]); // equal ones stay in order
  const kept = ranking.slice(0, topK ?? ranking.length);
  const ofTopK = topK === null ? 1 : sumOf(shares, kept);
  /** @type {Record<number, number>} */
  const likelier = {};
  /** @type {Record<number, "top-k" | "top-p">} */
  const removed = {};
  /** @type {Record<number, number>} */
  const rank = {};
  let sum = 0;
  for (const [place, id] of ranking.entries()) {
    const share = place < kept.length ? shares[id] / ofTopK : 0;
    sum += share;
    likelier[id] = sum - share;
    rank[id] = place;
    if (place >= kept.length) removed[id] = "top-k";
    else if (topP !== null && likelier[id] >= topP) removed[id] = "top-p";
  }
  const left = ranking.filter((id) => !removed[id]);
  const ofLeft = sumOf(shares, left);
  const probs = shares.map((share, id) => (removed[id] ? 0 : share / ofLeft));
  return { shares, ranking, rank, likelier, removed, left, ofLeft, probs };
}

/**
 * @param {number[]} numbers
 * @param {number[]} ids
 */
export const sumOf = (numbers, ids) => ids.reduce((sum, id) => sum + numbers[id], 0);

/** The token that a random number from 0 to 1 draws; rounding never draws a token of probability 0.
 * @param {number} die
 * @param {Pick<Distribution, "left" | "probs">} now
 */
export function drawnBy(die, { left, probs }) {
  let [sum, last] = [0, left[0]];
  for (const id of left) {
    if (probs[id] > 0) last = id;
    sum += probs[id];
    if (sum > die) break;
  }
  return last;
}

/** Random numbers from 0 to 1, always the same ones for a seed: the generator mulberry32.
 * @param {number} seed
 */
export function randomNumbers(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Five sentences, token by token. Each has random numbers of its own, so that another setting changes it no further
 * than it has to. Log-probabilities are the model's own: temperature 1, nothing removed.
 * @param {TransformerDecoder} decoder
 * @param {TransformerState} start
 * @param {number} sourceLength
 * @param {Options & Luck} options
 */
export function sample(decoder, start, sourceLength, options) {
  const { bos, eos, forbidden = [], seed, temperature, top_k, top_p } = options;
  const limit = limitOf(sourceLength, options);
  const seeds = randomNumbers(seed);
  return Array.from({ length: SENTENCES }, () => {
    const [dice, state] = [randomNumbers(seeds() * 2 ** 32), start.restart()];
    /** @type {{ ids: number[], logProbs: number[] }} */
    const { ids, logProbs } = { ids: [], logProbs: [] };
    while (ids.length < limit && ids.at(-1) !== eos) {
      const logits = decoder.forward([ids.at(-1) ?? bos], state);
      const total = logSumExp(logits, 0, logits.length);
      if (!Number.isFinite(total)) throw new Problem("The model gives NaN or infinity: there is no token to draw.");
      const allowed = logits.map((logit, id) => (forbidden.includes(id) ? -Infinity : logit));
      const id = drawnBy(dice(), nextDistribution(allowed, temperature, top_k, top_p));
      ids.push(id);
      logProbs.push(Math.fround(logits[id] - total));
    }
    return new Hypothesis(ids, logProbs, eos);
  });
}
