// What a page asks of the model: the dictionaries of seqlearn/views/answers/translations.py (`translated`), of
// seqlearn/views/shared/attention.py (`maps`) and of seqlearn/views/steps/steps_data.py (`steps`), made in the browser.

import { A_MASK, AXIS_NAMES, BOS, CANDIDATES, DEFAULT_BEAM, EOS, EXACT, FULL, LARGEST } from "../shared/constants.js";
import { KINDS, LEVELS, MATRICES, MOST_TOKENS, NO_MASK, PAD, SPECIALS, STEPS, THUMB } from "../shared/constants.js";
import { beamSearch, gnmt, greedySearch, largestOf, logSumExp } from "./decoding.js";
import { EncoderDecoder, Problem, softmax } from "./nn.js";
import { sample } from "./sampling.js";
import { Language } from "./text.js";
import { ablated } from "./ablation.js";
import { treeData } from "./tree.js";
import { twins } from "./twins.js";

/** @import { Kind, MatrixName } from "../shared/constants.js" */
/** @import { Edit, Extent, TypedArray } from "../shared/types.js" */
/** @import { OneAblation } from "./ablation.js" */
/** @import { Hypothesis } from "./decoding.js" */
/** @import { LayerEdit, MultiHeadAttention, Recording, Sizes, TransformerState, Weights } from "./nn.js" */
/** @import { Side, Vocab } from "./text.js" */
/** @import { Luck } from "./sampling.js" */
/** @import { Node } from "./tree.js" */
/** @import { Kept, Twins } from "./twins.js" */

/** What `live_model` in weights.py returns.
 * @typedef {{ sizes: { encoder: Sizes, decoder: Sizes }, source: Side, target: Side,
 *   tensors: [name: string, shape: number[], number: number][],
 *   weights: { bytes: string, halves: string } }} LiveModel */
/** @typedef {{ sentence: string, beam?: number, prefix?: string[], edits?: Edit[] }} Sentence */
/** @typedef {{ source: string, target: string[], edits?: Edit[] }} Reading */
/** @typedef {Reading & { kind: Kind, layer: number, head: number }} ReadingOfHead */
/** @typedef {{ sentence: string, width: number, alpha: number }} Search of a tree */
/** What is wrong with a question.
 * @typedef {{ asked: object, problem: string }} Refusal */
/** A matrix with its shape.
 * @typedef {{ shape: number[], values: Float32Array }} Grid */

/** @param {string} text */
const asText = (text) => text.replace(/\p{Cs}/gu, "\ufffd");
/** @param {number} number */
const rounded = (number) => Number(number.toPrecision(5));
/** @param {number} count */
const withCommas = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");
/** @param {TypedArray} values @param {number[]} shape */
const pack = (values, shape) => ({
  dtype: values.constructor.name.replace("Array", "").toLowerCase(),
  shape,
  data: values,
});
/** Something of each kind.
 * @template Part
 * @param {(kind: Kind) => Part} part
 * @returns {Record<Kind, Part>} */
const ofKinds = (part) => ({ encoder: part("encoder"), causal: part("causal"), cross: part("cross") });

/** A model and its two languages. `data`: see `live_model` in seqlearn/views/live/weights.py. */
export class Translator {
  /** @param {LiveModel} data */
  constructor({ sizes, source, target, tensors, weights }) {
    this.model = new EncoderDecoder(unpacked(tensors, weights), sizes);
    this.source = new Language(source);
    this.target = new Language(target);
    /** @type {Kept | null} */
    this.kept = null;
    /** @type {{ asked: string, start: TransformerState } | null} */
    this.started = null;
  }

  /** The translations of a sentence, the best first, each with its attention and its next tokens at every step.
   * @param {Sentence} question */
  translated(question) {
    const { beam = DEFAULT_BEAM, prefix = [], edits = [] } = question;
    const sentence = asText(question.sentence);
    return answered(question, () => {
      const read = this.source.tokenizer.tokenize(sentence);
      check(read);
      const stranger = prefix.find((token) => !this.target.vocab.ids.has(token) || token === PAD || token === BOS);
      if (stranger !== undefined)
        throw new Problem(`a translation cannot contain the token '${stranger}': the model never writes it`);
      this.edit(edits);
      const start = this.start(read);
      const best = this.search(start, read.length + 1, beam, this.target.vocab.encode(prefix));
      return {
        sentence,
        beam,
        prefix,
        edits,
        languages: [this.source, this.target].map(({ tokenizer }) => tokenizer.language),
        source: read.map(asText),
        unknown: read.map((token) => !this.source.vocab.ids.has(token)),
        known: this.source.vocab.tokens.length - SPECIALS.length,
        words: this.target.vocab.tokens.length,
        best: best.map((one) => this.translation(read, one, start)),
      };
    });
  }

  /** The maps of all kinds, by kind, while the model reads a source sentence and these target tokens.
   * @param {Reading} question */
  maps(question) {
    return answered(question, () => {
      const { tokens, layers } = this.attend(question);
      return ofKinds((kind) => mapData(kind, ...tokens[kind], layers[kind]));
    });
  }

  /** The five steps of one head, with its own queries, keys and values: what goes into its softmax, before any edit of
   * its own weights.
   * @param {ReadingOfHead} question */
  steps(question) {
    const { kind, layer, head } = question;
    return answered(question, () => {
      const { tokens, layers } = this.attend(question);
      const recording = layers[kind]?.[layer];
      const attention = this.model.attention(kind)[layer];
      if (!recording || !(head >= 0 && head < attention.numHeads))
        throw new Problem(`there is no ${kind} attention in layer ${layer}, head ${head}`);
      const parts = headOf(recording, head, attention.headSize);
      return stepsData(parts, kind === "causal", ...tokens[kind]);
    });
  }

  /** A translation with one head ablated, beside other edits.
   * @param {OneAblation} question */
  ablated(question) {
    return orProblem(() => {
      const read = this.source.tokenizer.tokenize(asText(question.sentence));
      check(read);
      return ablated(this, read, question);
    });
  }

  /** A sentence with vectors of its twin.
   * @param {Twins} question */
  patched(question) {
    const [sentence, other] = [asText(question.sentence), asText(question.other)];
    return answered(question, () => {
      this.edit([]);
      const { answer, kept } = twins(this, { ...question, sentence, other }, this.kept);
      this.kept = kept;
      return answer;
    });
  }

  /** The tree of a beam search: `tree_data` in seqlearn/views/beam/beam_data.py.
   * @param {Search} question */
  tree(question) {
    const { sentence, width, alpha } = question;
    return answered(question, () => {
      const read = this.source.tokenizer.tokenize(asText(sentence));
      check(read);
      this.edit([]);
      /** @type {Node[][]} */
      const trace = [];
      const options = { ...this.ids(), width, lengthPenalty: gnmt(alpha), trace };
      const [best] = beamSearch(this.model.decoder, this.start(read), read.length + 1, options);
      const data = treeData(trace, best, options.eos, (id) => asText(this.target.vocab.tokens[id]));
      const unknown = [...new Set(read.filter((token) => !this.source.vocab.ids.has(token)))].map(asText);
      return { tree: { ...data, sentence, width, alpha, ...(unknown.length ? { unknown } : {}) } };
    });
  }

  /** Sentences that are drawn token by token: `drawn_sentences` in seqlearn/views/answers/samples.py.
   * @param {Luck & { sentence: string }} question */
  sampled(question) {
    const { sentence, ...luck } = question;
    return answered(question, () => {
      const read = this.source.tokenizer.tokenize(asText(sentence));
      this.edit([]);
      const drawn = sample(this.model.decoder, this.start(read), read.length + 1, { ...this.ids(), ...luck });
      /** @type {[text: string, probability: number][]} */
      const sentences = drawn.map(({ tokens, logProb, finished }) => [
        asText(this.target.decode(tokens)) + (finished ? "" : " …"),
        rounded(Math.exp(logProb)),
      ]);
      return { sentences };
    });
  }

  /** The ids that a search asks for. */
  ids() {
    const { bos, eos, pad } = this.target.vocab;
    return { bos, eos, forbidden: [pad, bos] };
  }

  /** Gives each layer its part of the edits of a question.
   * @param {Edit[]} edits */
  edit(edits) {
    for (const kind of KINDS) {
      this.model.attention(kind).forEach((attention, layer) => {
        const own = edits.filter(([, which, where]) => which === kind && (where === null || where === layer));
        attention.edits = own.map(ofLayer);
      });
    }
  }

  /** The state of the decoder before the first token: the encoder has read the source.
   * @param {string[]} read */
  start(read) {
    const { vocab } = this.source;
    return this.model.decoder.initState(this.model.encoder.forward([...vocab.encode(read), vocab.eos]));
  }

  /** The same for one edit after the other: those of the decoder share it, since the encoder depends on its own alone.
   * @param {string[]} read @param {Edit[]} edits */
  startAgain(read, edits) {
    const asked = JSON.stringify([read, edits.filter(([, kind]) => kind === "encoder")]);
    if (this.started?.asked !== asked) this.started = { asked, start: this.start(read) };
    return this.started.start;
  }

  /** The hypotheses of a search, the best first; greedy search gives one.
   * @param {TransformerState} start @param {number} sourceLength @param {number} beam @param {number[]} prefix */
  search(start, sourceLength, beam, prefix) {
    const options = { ...this.ids(), prefix };
    const { decoder } = this.model;
    if (beam === 1) return [greedySearch(decoder, start.restart(), sourceLength, options)];
    const best = beamSearch(decoder, start.restart(), sourceLength, {
      ...options,
      width: beam,
      nBest: beam,
      lengthPenalty: gnmt(),
    });
    if (!best.length) throw new Problem("The model gives NaN or infinity: the search has found no translation.");
    return best;
  }

  /** All that the view draws of one hypothesis: the model reads it once more, all at once.
   * @param {string[]} read @param {Hypothesis} one @param {TransformerState} start */
  translation(read, one, start) {
    const { vocab } = this.target;
    const written = [...one.tokens, vocab.eos].slice(0, one.logProbs.length);
    const tokens = vocab.decode(written);
    const layers = this.model.attention("cross");
    const { made: logits, recordings } = recorded(layers, () =>
      this.model.decoder.forward([vocab.bos, ...one.tokens].slice(0, written.length), start.restart()),
    );
    const size = vocab.tokens.length;
    return {
      text: asText(this.target.decode(one.tokens)),
      tokens: tokens.map(asText),
      pieces: this.pieces(one.tokens).map(asText),
      score: Number(one.score.toFixed(5)),
      probability: rounded(Math.exp(one.logProb)),
      next: written.map((id, step) => nextTokens(vocab, logits.subarray(step * size, (step + 1) * size), id)),
      attention: mapData("cross", tokens, [...read, EOS], recordings),
    };
  }

  /** The part of the text that each token adds.
   * @param {number[]} ids */
  pieces(ids) {
    const texts = [0, ...ids].map((_, end) => this.target.decode(ids.slice(0, end)));
    return ids.map((_, i) => texts[i + 1].slice(texts[i].length));
  }

  /** Runs the model on a source sentence and target tokens. Gives, by kind, what all layers recorded, and the tokens of
   * rows and columns.
   * @param {Reading} reading */
  attend({ source, target, edits = [] }) {
    const { vocab } = this.target;
    const read = this.source.tokenizer.tokenize(asText(source));
    check(read);
    const written = target.at(-1) === EOS ? target : [...target, EOS];
    const inputs = [BOS, ...written.slice(0, -1)];

    this.edit(edits);
    const attentions = KINDS.flatMap((kind) => this.model.attention(kind));
    const { recordings } = recorded(attentions, () =>
      this.model.decoder.forward(vocab.encode(inputs), this.start(read)),
    );
    const ended = [...read, EOS];
    /** @type {Record<Kind, [queries: string[], keys: string[]]>} */
    const tokens = { cross: [written, ended], encoder: [ended, ended], causal: [inputs, inputs] };
    return { tokens, layers: ofKinds((kind) => recordings.filter((_, i) => attentions[i].kind === kind)) };
  }
}

/** The edit, for the layer that it names.
 * @type {(edit: Edit) => LayerEdit} */
const ofLayer = (edit) => (edit[0] === "ablate" ? [edit[3]] : [edit[3], edit[4], edit[5], edit[6]]);

/** @param {string[]} read */
function check(read) {
  if (!read.length) throw new Problem("There is nothing to translate: type a sentence.");
  if (read.length > MOST_TOKENS) {
    throw new Problem(
      `This sentence has ${withCommas(read.length)} tokens; ${MOST_TOKENS} is the most that is translated here.`,
    );
  }
}

/** The answer, with the question; or what is wrong with it.
 * @template {object} Question, Answer
 * @param {Question} asked
 * @param {() => Answer} answer */
const answered = (asked, answer) => ({ asked, ...orProblem(() => ({ problem: "", ...answer() })) });

/** The answer; or what is wrong with the question.
 * @template Answer
 * @param {() => Answer} answer
 * @returns {Answer | { problem: string }} */
function orProblem(answer) {
  try {
    return answer();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { problem: error.message };
  }
}

/** What `work` gives and what each of these layers recorded meanwhile, once.
 * @template Made
 * @param {MultiHeadAttention[]} layers
 * @param {() => Made} work */
function recorded(layers, work) {
  /** @type {Recording[][]} */
  const records = layers.map(() => []);
  for (const [i, layer] of layers.entries()) layer.record = records[i];
  try {
    return { made: work(), recordings: records.map(([first]) => first) };
  } finally {
    for (const layer of layers) layer.record = null;
  }
}

/** The parameters by name: `_packed` in weights.py.
 * @param {LiveModel["tensors"]} tensors @param {LiveModel["weights"]} weights */
function unpacked(tensors, weights) {
  const [levels, numbers] = [new Int8Array(bytesOf(weights.bytes).buffer), halves(weights.halves)];
  /** @type {Float32Array[]} */
  const parts = [];
  let [level, next] = [0, 0];
  for (const [, shape, number] of tensors) {
    if (number < parts.length) continue; // another name of a part
    const count = shape.reduce((product, size) => product * size, 1);
    const columns = shape[shape.length - 1];
    const rows = shape.length > 1 ? count / columns : count;
    let values = numbers.subarray(next, next + rows);
    next += rows;
    if (shape.length > 1) {
      const scales = values.map((largest) => largest / LEVELS);
      values = Float32Array.from({ length: count }, (_, i) => levels[level + i] * scales[Math.floor(i / columns)]);
      level += count;
    }
    parts.push(values);
  }
  return new Map(tensors.map(([name, shape, number]) => [name, { shape, values: parts[number] }]));
}

/** Half-precision numbers in base64, as float32. The bits move to their places in a float32, where the exponent counts
 * from another zero: a product with 2^112 corrects it, in small (subnormal) numbers too.
 * @param {string} base64 */
export function halves(base64) {
  const short = new Uint16Array(bytesOf(base64).buffer);
  const bits = new Uint32Array(short.length);
  const numbers = new Float32Array(bits.buffer);
  for (let i = 0; i < short.length; i++) {
    bits[i] = ((short[i] & 0x8000) << 16) | ((short[i] & 0x7fff) << 13);
    numbers[i] *= 2 ** 112;
  }
  return numbers;
}

/** @param {string} base64 */
function bytesOf(base64) {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** The likeliest next tokens and, among them, the token that was written: `next_tokens` in translations.py.
 * @param {Vocab} vocab @param {Float32Array} logits @param {number} written */
export function nextTokens(vocab, logits, written) {
  const total = logSumExp(logits, 0, logits.length);
  const ids = largestOf(logits, 0, logits.length, Math.min(CANDIDATES, logits.length));
  const ranks = ids.map((_, i) => i + 1);
  if (!ids.includes(written)) {
    ids[ids.length - 1] = written;
    ranks[ids.length - 1] = 1 + logits.filter((logit) => logit > logits[written]).length;
  }
  const probs = ids.map((id) => Math.fround(Math.exp(logits[id] - total)));
  return {
    tokens: vocab.decode(ids).map(asText),
    probs: probs.map(rounded),
    ranks,
    written: ids.indexOf(written),
    others: rounded(Math.max(0, 1 - probs.reduce((sum, one) => sum + one, 0))),
  };
}

// ---- Maps, as `map_data` makes them ---------------------------------------------------------------------------------

/** All that is drawn of the attention of one kind: weights, means, rollout, and a small map of every head.
 * @param {Kind} kind @param {string[]} queryTokens @param {string[]} keyTokens @param {Recording[]} layers */
function mapData(kind, queryTokens, keyTokens, layers) {
  const [queries, keys] = [queryTokens.length, keyTokens.length];
  const area = queries * keys;
  const heads = layers[0].weights.length / area;
  const weights = new Float32Array(layers.length * heads * area);
  for (const [i, layer] of layers.entries()) weights.set(layer.weights, i * heads * area);
  for (let i = 0; i < weights.length; i++) weights[i] = Math.min(Math.max(weights[i], 0), 1);
  const means = meansOf(weights, heads, area);
  const flow = kind === "cross" ? null : rollout(means, queries);
  const [, peak] = extremes(weights, ...(flow ? [flow] : []));
  const full = FULL.find((limit) => peak > 0 && peak <= limit) ?? 1;
  const allowed = Uint8Array.from({ length: area }, (_, at) => Number(at % keys <= Math.floor(at / keys)));
  return {
    kind,
    queries: queryTokens.map(asText),
    keys: keyTokens.map(asText),
    names: { query: AXIS_NAMES[kind][1], key: AXIS_NAMES[kind][0] },
    mask: kind === "causal" ? pack(allowed, [queries, keys]) : null,
    full,
    weights: packWeights(weights, [layers.length, heads, queries, keys]),
    means: packWeights(means, [layers.length, queries, keys]),
    average: packWeights(meansOf(weights, layers.length * heads, area), [queries, keys]),
    rollout: flow && packWeights(flow, [queries, keys]),
    thumbs: thumbs(weights, [layers.length, heads, queries, keys], full),
  };
}

/** The mean of each group of `count` maps; heads that were ablated, all of whose weights are 0, are left out.
 * @param {Float32Array} weights @param {number} count @param {number} area of a map */
function meansOf(weights, count, area) {
  const isWhole = Array.from({ length: weights.length / area }, (_, head) =>
    weights.subarray(head * area, (head + 1) * area).some((weight) => weight > 0),
  );
  const whole = Array.from(
    { length: isWhole.length / count },
    (_, group) => isWhole.slice(group * count, (group + 1) * count).filter(Boolean).length,
  );
  return Float32Array.from({ length: weights.length / count }, (_, at) => {
    const start = Math.floor(at / area) * count * area + (at % area);
    let sum = 0;
    for (let i = 0; i < count; i++) sum += weights[start + i * area];
    return sum / Math.max(whole[Math.floor(at / area)], 1);
  });
}

/** How much of each input token is in each output: A_L ... A_1 with A = (mean + I) / 2, as in
 * seqlearn/analysis/measures.py.
 * @param {Float32Array} means @param {number} size */
function rollout(means, size) {
  /** @type {(row: number, column: number) => number} */
  const at = (row, column) => row * size + column;
  let total = Float64Array.from({ length: size * size }, (_, i) => Number(i % (size + 1) === 0));
  for (let start = 0; start < means.length; start += size * size) {
    const next = new Float64Array(size * size);
    for (let row = 0; row < size; row++) {
      const mixed = Array.from(
        { length: size },
        (_, column) => means[start + at(row, column)] + Number(row === column),
      );
      const sum = mixed.reduce((one, other) => one + other, 0);
      mixed.forEach((share, middle) => {
        for (let column = 0; column < size; column++)
          next[at(row, column)] += (share / sum) * total[at(middle, column)];
      });
    }
    total = next;
  }
  return Float32Array.from(total);
}

/** @param {Float32Array} weights @param {number[]} shape */
function packWeights(weights, shape) {
  const isExact = weights.length <= EXACT;
  return pack(isExact ? weights : Uint16Array.from(weights, (weight) => toEven(LARGEST * weight)), shape);
}

/** A small map of every head; in a longer sentence each pixel is the largest of its weights.
 * @param {Float32Array} weights @param {number[]} shape @param {number} full */
function thumbs(weights, [layers, heads, queries, keys], full) {
  const [rows, columns] = [Math.min(THUMB, queries), Math.min(THUMB, keys)];
  const made = new Uint8Array(layers * heads * rows * columns);
  /** @type {(i: number, count: number, size: number) => [start: number, end: number]} */
  const ends = (i, count, size) => [Math.floor((i * size) / count), Math.ceil(((i + 1) * size) / count)];
  let at = 0;
  for (let map = 0; map < layers * heads; map++) {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        let largest = 0;
        const [[top, bottom], [left, right]] = [ends(row, rows, queries), ends(column, columns, keys)];
        for (let i = top; i < bottom; i++) {
          for (let j = left; j < right; j++) largest = Math.max(largest, weights[(map * queries + i) * keys + j]);
        }
        made[at++] = toEven(255 * Math.min(largest / full, 1));
      }
    }
  }
  return pack(made, [layers, heads, rows, columns]);
}

/** The nearest whole number; of two, the even one, as in torch.
 * @param {number} x */
function toEven(x) {
  const near = Math.round(x);
  return near - x === 0.5 && near % 2 ? near - 1 : near;
}

// ---- Steps, as `steps_data` makes them ------------------------------------------------------------------------------

/** Queries, keys and values of one head.
 * @param {Recording} recording @param {number} head @param {number} size */
function headOf({ queries, keys, values, steps, count }, head, size) {
  const hiddens = queries.length / steps;
  const part = (/** @type {Float32Array} */ all, /** @type {number} */ rows) =>
    grid(rows, size, (row, column) => all[row * hiddens + head * size + column]);
  return { queries: part(queries, steps), keys: part(keys, count), values: part(values, count) };
}

/** @type {(rows: number, columns: number, number: (row: number, column: number) => number) => Grid} */
const grid = (rows, columns, number) => ({
  shape: [rows, columns],
  values: Float32Array.from({ length: rows * columns }, (_, at) => number(Math.floor(at / columns), at % columns)),
});

/** All that `AttentionSteps` draws of one attention.
 * @param {ReturnType<typeof headOf>} parts
 * @param {boolean} causal @param {string[]} queryTokens @param {string[]} keyTokens */
function stepsData({ queries, keys, values }, causal, queryTokens, keyTokens) {
  const [[count, size], keyCount] = [queries.shape, keys.shape[0]];
  const scale = 1 / Math.sqrt(size);
  const turned = grid(size, keyCount, (i, j) => keys.values[j * size + i]);
  const scores = product(queries, turned);
  const scaled = grid(count, keyCount, (i, j) => scores.values[i * keyCount + j] * scale);
  const mask = grid(count, keyCount, (i, j) => Number(!causal || j <= i));
  const masked = grid(count, keyCount, (i, j) =>
    mask.values[i * keyCount + j] ? scaled.values[i * keyCount + j] : -Infinity,
  );
  const weights = { shape: masked.shape, values: masked.values.slice() };
  for (let row = 0; row < count; row++)
    softmax(weights.values.subarray(row * keyCount, (row + 1) * keyCount), keyCount);
  const context = product(weights, values);
  /** @type {Record<string, Grid>} */
  const grids = { queries, keys: turned, scores, scaled, mask, masked, weights, values, context };
  const matrices = Object.entries(MATRICES).map(([name, [title, rows, columns, isMasked]]) => [
    name,
    { title, rows, columns, masked: isMasked, numbers: pack(grids[name].values, grids[name].shape) },
  ]);
  const numbers = (/** @type {number} */ length) => Array.from({ length }, (_, i) => String(i));
  return {
    axes: { query: queryTokens.map(asText), key: keyTokens.map(asText), size: numbers(size), value: numbers(size) },
    matrices: Object.fromEntries(matrices),
    allowed: pack(Uint8Array.from(mask.values), mask.shape),
    empty: [],
    scale,
    steps: stepsOf(count, size, keyCount, causal, extremes(scores.values, scaled.values)),
  };
}

/** The matrix product.
 * @param {Grid} left @param {Grid} right
 * @returns {Grid} */
function product({ values: left, shape: [rows, inner] }, { values: right, shape: [, columns] }) {
  const made = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let sum = 0;
      for (let i = 0; i < inner; i++) sum += left[row * inner + i] * right[i * columns + column];
      made[row * columns + column] = sum;
    }
  }
  return { values: made, shape: [rows, columns] };
}

/** The smallest and the largest number.
 * @param {Float32Array[]} lists
 * @returns {Extent} */
function extremes(...lists) {
  const [low, high] = [Math.min, Math.max].map((choose) =>
    lists.map((list) => list.reduce((one, other) => choose(one, other))),
  );
  return [Math.min(...low), Math.max(...high)];
}

/** The steps with their numbers: formula, sentence, and the limits of the colours of each matrix.
 * @type {(queries: number, size: number, keys: number, masks: boolean, same: Extent) => object[]} */
function stepsOf(queries, size, keys, masks, same) {
  /** @type {Record<string, string | number>} */
  const values = { queries, size, keys, value_size: size, factor: `1/√${size}`, mask: masks ? A_MASK : NO_MASK };
  const filled = (/** @type {string} */ text) => text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
  /** @type {[name: MatrixName, limits: Extent][]} */
  const limits = [
    ["scores", same],
    ["scaled", same],
    ["masked", same],
    ["weights", [0, 1]],
  ];
  return STEPS.map((step) => ({
    ...step,
    formula: filled(step.formula),
    sentence: filled(step.sentence),
    limits: Object.fromEntries(limits.filter(([name]) => step.inputs.includes(name) || step.result === name)),
  }));
}

// ---- Questions and answers as messages ------------------------------------------------------------------------------

/** The questions that a page may ask.
 * @typedef {Pick<Translator, "ablated" | "translated" | "maps" | "patched" | "sampled" | "steps" | "tree">}
 *   Answering */
/** All that a question may hold.
 * @typedef {Sentence & ReadingOfHead & Twins & OneAblation & Luck & Search} Question */
/** The answers to those that are no refusals.
 * @typedef {Extract<ReturnType<Translator["translated"]>, { best: unknown }>} Translated
 * @typedef {Extract<ReturnType<Translator["maps"]>, Record<Kind, unknown>>} Maps
 * @typedef {Extract<ReturnType<Translator["patched"]>, { maps: unknown }>} Patched */
/** First the packed model, then questions.
 * @typedef {{ data: LiveModel, kind?: undefined, question?: undefined }
 *   | { data?: undefined, kind: keyof Answering, question: Question }} Message */
/** @typedef {{ isReady?: boolean, answer?: unknown, error?: string }} Reply */

/** Takes messages, and posts a reply to each.
 * @param {(reply: Reply) => void} post
 * @returns {(message: Message) => void} */
export function serve(post) {
  /** @type {Translator | null} */
  let translator = null;
  return ({ data, kind, question }) => {
    try {
      if (data) {
        translator = new Translator(data);
        post({ isReady: true });
      } else if (translator) post({ answer: translator[kind](question) });
      else throw new Error("the model in the page could not be read");
    } catch (error) {
      post({ error: String(error) });
    }
  };
}
