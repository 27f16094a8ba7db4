// Search, as in seqlearn/decoding.py and seqlearn/beams.py, for one sentence: read them side by side. Both searches take the
// state before the first token. `prefix` holds ids that the translation begins with; a token of the prefix keeps the
// log-probability that the model gives it. Log-probabilities and their sums are rounded to float32, as in Python.

/** One candidate translation: ids without <bos> and <eos>, and the log-probability of each, that of <eos> too. */
class Hypothesis {
  constructor(ids, logProbs, eos, penalty = 1) {
    this.finished = ids.at(-1) === eos;
    this.tokens = this.finished ? ids.slice(0, -1) : ids;
    [this.logProbs, this.penalty] = [logProbs, penalty];
  }

  get logProb() {
    return this.logProbs.reduce((sum, logProb) => sum + logProb, 0);
  }

  get score() {
    return this.logProb / this.penalty;
  }
}

const noPenalty = () => 1;
const average = (length) => length;
const gnmt = (alpha = 0.6) => (length) => ((5 + length) / 6) ** alpha;

/** How many tokens a translation may have. */
const defaultMaxLength = (sourceLength) => 2 * sourceLength + 10;

/** The limit for one search; a prefix may be longer than other translations. */
function limitOf(sourceLength, { minLength = 0, maxLength = null, prefix = [] }) {
  return Math.max(maxLength ?? Math.max(defaultMaxLength(sourceLength), minLength), prefix.length);
}

/** At index i the largest penalty of a length above i. */
function largestPenalties(lengthPenalty, limit) {
  const largest = Array.from({ length: limit }, (_, i) => lengthPenalty(i + 1));
  for (let i = limit - 2; i >= 0; i--) largest[i] = Math.max(largest[i], largest[i + 1]);
  return largest;
}

/** The `number` largest numbers in logits[start] ... logits[start + count - 1]: their places, the largest first. */
function largestOf(logits, start, count, number) {
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

/** log sum e^z over a row of logits. */
function logSumExp(logits, start, count) {
  let [largest, total] = [-Infinity, 0];
  for (let id = 0; id < count; id++) if (logits[start + id] > largest) largest = logits[start + id];
  for (let id = 0; id < count; id++) total += Math.exp(logits[start + id] - largest);
  return largest + Math.log(total);
}

/** The likeliest tokens of one row that are not forbidden: [{ id, logProb }, ...], or the one token that is forced. */
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

/** Chooses the likeliest next token, again and again, until <eos>. */
function greedySearch(decoder, state, sourceLength, { bos, eos, forbidden = [], minLength = 0, maxLength = null, prefix = [] }) {
  const limit = limitOf(sourceLength, { minLength, maxLength, prefix });
  const [ids, logProbs] = [[], []];
  while (ids.length < limit && ids.at(-1) !== eos) {
    const logits = decoder.forward([ids.at(-1) ?? bos], state);
    const banned = ids.length < minLength ? [...forbidden, eos] : forbidden;
    const [{ id, logProb }] = bestTokens(logits, 0, logits.length, 1, banned, prefix[ids.length]);
    ids.push(id);
    logProbs.push(logProb);
  }
  return new Hypothesis(ids, logProbs, eos);
}

/** Extends each of the `width` hypotheses by every token, keeps the `width` best of all extensions, and so on. Gives the
 * `nBest` best complete hypotheses, the best first. */
function beamSearch(decoder, state, sourceLength, options) {
  const { bos, eos, width = 4, nBest = 1, lengthPenalty = noPenalty, forbidden = [], minLength = 0, prefix = [] } = options;
  const limit = limitOf(sourceLength, options);
  const largest = largestPenalties(lengthPenalty, limit);
  const best = [];
  const canWin = ({ total }, step) => total / largest[step] > (best.length === nBest ? best.at(-1).score : -Infinity);
  let beams = [{ ids: [], logProbs: [], total: 0 }];
  for (let step = 1; step <= limit; step++) {
    const logits = decoder.forward(beams.map(({ ids }) => ids.at(-1) ?? bos), state);
    const banned = step <= minLength ? [...forbidden, eos] : forbidden;
    const extensions = extend(beams, logits, width, banned, prefix[step - 1]);
    const isComplete = ({ ids }) => step === limit || ids.at(-1) === eos;
    best.push(...extensions.filter(isComplete).map(({ ids, logProbs }) => new Hypothesis(ids, logProbs, eos, lengthPenalty(step))));
    best.sort((one, other) => other.score - one.score);
    best.length = Math.min(best.length, nBest);
    const kept = extensions.filter((one) => !isComplete(one));
    if (!kept.length || !canWin(kept[0], step)) break;
    beams = stay(kept);
    state = state.select(beams.map(({ parent }) => parent));
  }
  return best;
}

/** The best of all extensions, the best first. Of equal ones, the one of the earlier beam or the earlier token wins. */
function extend(beams, logits, width, forbidden, forced) {
  const vocabSize = logits.length / beams.length;
  const all = beams.flatMap(({ ids, logProbs, total }, parent) =>
    bestTokens(logits, parent, vocabSize, width, forbidden, forced).map(({ id, logProb }) =>
      ({ ids: [...ids, id], logProbs: [...logProbs, logProb], total: Math.fround(total + logProb), parent })));
  return all.filter(({ total }) => total > -Infinity).sort((one, other) => other.total - one.total).slice(0, width);
}

/** An order in which the first child of parent p gets the index p, and the other children get the free indices. */
function stay(kept) {
  const order = kept.map(() => null);
  const others = kept.filter((child) => {
    const isElder = child.parent < order.length && order[child.parent] === null;
    if (isElder) order[child.parent] = child;
    return !isElder;
  });
  return order.map((child) => child ?? others.shift());
}
