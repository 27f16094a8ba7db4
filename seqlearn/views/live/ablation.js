// What each head does to a translation, as `ablation_map` in seqlearn/views/answers/ablations.py: each is ablated
// alone.

import { logSumExp } from "./decoding.js";

/** @import { Edit } from "../shared/types.js" */
/** @import { Place } from "../shared/changes.js" */
/** @import { Translator } from "./translator.js" */

/** `head`: the one that is ablated, beside the edits; null: none. `written`: the tokens of the translation without this
 * ablation; null: it is not known yet.
 * @typedef {{ sentence: string, prefix: string[], edits: Edit[], head: Place | null, written: string[] | null }}
 *   OneAblation */
/** What greedy search writes; `probability`: of `written`, if it is given, and else of these tokens.
 * @typedef {{ text: string, tokens: string[], pieces: string[], probability: number }} Ablated */

/** A translation with one head ablated.
 * @param {Translator} translator @param {string[]} read @param {OneAblation} question
 * @returns {Ablated} */
export function ablated(translator, read, { prefix, edits, head, written }) {
  const { vocab } = translator.target;
  /** @type {Edit[]} */
  const all = head ? [...edits, ["ablate", ...head]] : edits;
  translator.edit(all);
  const start = translator.startAgain(read, all);
  const forced = vocab.encode(prefix);
  const search = () => {
    const [found] = translator.search(start, read.length + 1, 1, forced);
    return [...found.tokens, vocab.eos].slice(0, found.logProbs.length);
  };
  const known = written && vocab.encode(written);
  const tokens = known ?? search();
  const logits = translator.model.decoder.forward([vocab.bos, ...tokens.slice(0, -1)], start.restart());
  const { probability, isLikeliest } = forcedBy(logits, tokens, vocab, forced.length);
  const ids = known && !isLikeliest ? search() : tokens;
  const words = ids.at(-1) === vocab.eos ? ids.slice(0, -1) : ids;
  return {
    text: translator.target.decode(words),
    tokens: vocab.decode(ids),
    pieces: translator.pieces(words),
    probability,
  };
}

/** How likely these tokens are, and whether greedy search writes them: then no search is needed.
 * @param {Float32Array} logits @param {number[]} tokens
 * @param {{ tokens: string[], pad: number, bos: number }} vocab @param {number} given how many tokens are forced */
function forcedBy(logits, tokens, { tokens: { length: size }, pad, bos }, given) {
  let [logProb, isLikeliest] = [0, true];
  for (const [step, token] of tokens.entries()) {
    const row = logits.subarray(step * size, (step + 1) * size);
    logProb += row[token] - logSumExp(row, 0, size);
    if (step < given) continue;
    isLikeliest &&= row.every((logit, id) => logit <= row[token] || id === pad || id === bos);
  }
  return { probability: Number(Math.exp(logProb).toPrecision(5)), isLikeliest };
}
