// What a page asks of the model: the dictionaries of seqlearn/views/translator/data.py (`translated`), of
// seqlearn/views/shared/attention.py (`maps`) and of seqlearn/views/steps/data.py (`steps`), made in the browser.

const MOST_TOKENS = 100; // of a source
const CANDIDATES = 6; // next tokens with their probabilities
const FULL = [0.02, 0.05, 0.1, 0.2, 0.5]; // see seqlearn/views/shared/attention.py
const EXACT = 2 ** 18;
const LARGEST_WEIGHT = 65535;
const THUMB = 32;
const AXIS_NAMES = {
  cross: { query: "target token (query)", key: "source token (key)" },
  encoder: { query: "token that looks (query)", key: "token looked at (key)" },
  causal: { query: "token that looks (query)", key: "token looked at (key)" },
};

const asText = (text) => (text.toWellFormed ? text.toWellFormed() : text.replace(/\p{Cs}/gu, "\ufffd"));
const rounded = (number) => Number(number.toPrecision(5));
const withCommas = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");
const pack = (values, shape) => ({ dtype: { Float32Array: "float32", Uint16Array: "uint16", Uint8Array: "uint8" }[values.constructor.name], shape, data: values });

/** A model and its two languages. `data`: see `live_model` in seqlearn/views/live/weights.py. */
class Translator {
  constructor({ sizes, source, target, tensors, weights }) {
    const numbers = halves(weights);
    const named = tensors.map(([name, shape, start]) => {
      const count = shape.reduce((product, size) => product * size, 1);
      return [name, { shape, values: numbers.subarray(start, start + count) }];
    });
    this.model = new EncoderDecoder(new Map(named), sizes);
    [this.source, this.target] = [new Language(source), new Language(target)];
  }

  /** The translations of a sentence, the best first, each with its attention and its next tokens at every step. */
  translated({ sentence, beam = 1, prefix = [], edits = [] }) {
    sentence = asText(sentence);
    const asked = [sentence, beam, prefix, edits];
    return orProblem(asked, () => {
      const read = this.source.tokenizer.tokenize(sentence);
      check(read);
      const stranger = prefix.find((token) => !this.target.vocab.ids.has(token) || token === PAD || token === BOS);
      if (stranger !== undefined) throw new Problem(`a translation cannot contain the token '${stranger}': the model never writes it`);
      this.edit(edits);
      const start = this.start(read);
      const best = this.search(start, read.length + 1, beam, this.target.vocab.encode(prefix));
      return {
        asked,
        problem: "",
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

  /** The maps of all kinds, by kind, while the model reads a source sentence and these target tokens. */
  maps({ source, target, edits = [] }) {
    return orProblem([source, target, edits], () => {
      const { tokens, layers } = this.attend(source, target, edits);
      const kinds = ["cross", "encoder", "causal"].map((kind) => [kind, mapData(kind, ...tokens[kind], layers[kind])]);
      return { asked: [source, target, edits], problem: "", ...Object.fromEntries(kinds) };
    });
  }

  /** The five steps of one head, with its own queries, keys and values: what goes into its softmax, before any edit of
   * its own weights. */
  steps({ source, target, edits = [], kind, layer, head }) {
    const asked = [source, target, edits, kind, layer, head];
    return orProblem(asked, () => {
      const { tokens, layers } = this.attend(source, target, edits);
      const { numHeads, headSize } = layers[kind]?.[layer] ? this.model.attention(kind)[layer] : { numHeads: 0 };
      if (!(head >= 0 && head < numHeads)) throw new Problem(`there is no ${kind} attention in layer ${layer}, head ${head}`);
      const parts = headOf(layers[kind][layer], head, headSize);
      return { asked, problem: "", ...stepsData(...parts, kind === "causal", ...tokens[kind]) };
    });
  }

  /** Gives each layer its part of the edits of a question. */
  edit(edits) {
    for (const kind of ["cross", "encoder", "causal"]) {
      this.model.attention(kind).forEach((attention, layer) => {
        const own = edits.filter(([, which, where]) => which === kind && (where === null || where === layer));
        attention.edits = own.map(([what, , , head, row, column, weight]) => (what === "silence" ? [head] : [head, row, column, weight]));
      });
    }
  }

  /** The state of the decoder before the first token: the encoder has read the source. */
  start(read) {
    const { vocab } = this.source;
    return this.model.decoder.initState(this.model.encoder.forward([...vocab.encode(read), vocab.eos]));
  }

  /** The hypotheses of a search, the best first; greedy search gives one. */
  search(start, sourceLength, beam, prefix) {
    const { bos, eos, pad } = this.target.vocab;
    const options = { bos, eos, forbidden: [pad, bos], prefix };
    const { decoder } = this.model;
    if (beam === 1) return [greedySearch(decoder, start.restart(), sourceLength, options)];
    const best = beamSearch(decoder, start.restart(), sourceLength, { ...options, width: beam, nBest: beam, lengthPenalty: gnmt() });
    if (!best.length) throw new Problem("The model gives NaN or infinity: the search has found no translation.");
    return best;
  }

  /** All that the view draws of one hypothesis: the model reads it once more, all at once. */
  translation(read, one, start) {
    const { vocab } = this.target;
    const written = [...one.tokens, vocab.eos].slice(0, one.logProbs.length);
    const tokens = vocab.decode(written);
    const layers = this.model.attention("cross");
    const { made: logits, records } = recorded(layers, () =>
      this.model.decoder.forward([vocab.bos, ...one.tokens].slice(0, written.length), start.restart()));
    const size = vocab.tokens.length;
    return {
      text: asText(this.target.decode(one.tokens)),
      tokens: tokens.map(asText),
      pieces: this.pieces(one.tokens).map(asText),
      score: Number(one.score.toFixed(5)),
      probability: rounded(Math.exp(one.logProb)),
      next: written.map((id, step) => nextTokens(vocab, logits.subarray(step * size, (step + 1) * size), id)),
      attention: mapData("cross", tokens, [...read, EOS], records),
    };
  }

  /** The part of the text that each token adds. */
  pieces(ids) {
    const texts = [...ids, null].map((_, end) => this.target.decode(ids.slice(0, end)));
    return ids.map((_, i) => texts[i + 1].slice(texts[i].length));
  }

  /** Runs the model on a source sentence and target tokens. Gives, by kind, what all layers recorded, and the tokens of
   * rows and columns. */
  attend(source, target, edits) {
    const { vocab } = this.target;
    const read = this.source.tokenizer.tokenize(asText(source));
    check(read);
    const written = target.at(-1) === EOS ? target : [...target, EOS];
    const inputs = [BOS, ...written.slice(0, -1)];
    const kinds = ["cross", "encoder", "causal"];
    this.edit(edits);
    const { records } = recorded(kinds.flatMap((kind) => this.model.attention(kind)), () =>
      this.model.decoder.forward(vocab.encode(inputs), this.start(read)));
    const layers = kinds.map((kind) => [kind, this.model.attention(kind).map(() => records.shift())]);
    const ended = [...read, EOS];
    return { layers: Object.fromEntries(layers), tokens: { cross: [written, ended], encoder: [ended, ended], causal: [inputs, inputs] } };
  }
}

function check(read) {
  if (!read.length) throw new Problem("There is nothing to translate: type a sentence.");
  if (read.length > MOST_TOKENS) {
    throw new Problem(`This sentence has ${withCommas(read.length)} tokens; ${MOST_TOKENS} is the most that is translated here.`);
  }
}

/** The answer; or what is wrong with the question. */
function orProblem(asked, answer) {
  try {
    return answer();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { asked, problem: error.message };
  }
}

/** What `work` gives and what each of these layers recorded meanwhile, one record for each layer. */
function recorded(layers, work) {
  layers.forEach((layer) => (layer.record = []));
  try {
    const made = work();
    return { made, records: layers.map(({ record }) => record[0]) };
  } finally {
    layers.forEach((layer) => (layer.record = null));
  }
}

/** Half-precision numbers in base64, as float32. The bits move to their places in a float32, where the exponent counts
 * from another zero: a product with 2^112 corrects it, in small (subnormal) numbers too. */
function halves(base64) {
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(base64) : fromLetters(atob(base64));
  const short = new Uint16Array(bytes.buffer);
  const bits = new Uint32Array(short.length);
  const numbers = new Float32Array(bits.buffer);
  for (let i = 0; i < short.length; i++) {
    bits[i] = ((short[i] & 0x8000) << 16) | ((short[i] & 0x7fff) << 13);
    numbers[i] *= 2 ** 112;
  }
  return numbers;
}

function fromLetters(letters) {
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** The likeliest next tokens and, among them, the token that was written: see `next_tokens` in translator/data.py. */
function nextTokens(vocab, logits, written) {
  const total = logSumExp(logits, 0, logits.length);
  const probability = (id) => Math.fround(Math.exp(logits[id] - total));
  const ids = largestOf(logits, 0, logits.length, Math.min(CANDIDATES, logits.length));
  const ranks = ids.map((_, i) => i + 1);
  if (!ids.includes(written)) {
    ids[ids.length - 1] = written;
    ranks[ids.length - 1] = 1 + logits.reduce((count, logit) => count + (logit > logits[written]), 0);
  }
  const probs = ids.map(probability);
  return {
    tokens: vocab.decode(ids).map(asText),
    probs: probs.map(rounded),
    ranks,
    written: ids.indexOf(written),
    others: rounded(Math.max(0, 1 - probs.reduce((sum, one) => sum + one, 0))),
  };
}

// ---- Maps, as `map_data` makes them ---------------------------------------------------------------------------------

/** All that is drawn of the attention of one kind: weights, means, rollout, and a small map of every head. */
function mapData(kind, queryTokens, keyTokens, layers) {
  const [queries, keys] = [queryTokens.length, keyTokens.length];
  const area = queries * keys;
  const heads = layers[0].weights.length / area;
  const weights = new Float32Array(layers.length * heads * area);
  layers.forEach((layer, i) => weights.set(layer.weights, i * heads * area));
  for (let i = 0; i < weights.length; i++) weights[i] = Math.min(Math.max(weights[i], 0), 1);
  const means = meansOf(weights, heads, area);
  const flow = kind === "cross" ? null : rollout(means, queries);
  const peak = [weights, flow ?? []].reduce((most, list) => list.reduce((one, other) => Math.max(one, other), most), 0);
  const full = FULL.find((limit) => peak > 0 && peak <= limit) ?? 1;
  const allowed = Uint8Array.from({ length: area }, (_, at) => at % keys <= Math.floor(at / keys));
  return {
    kind,
    queries: queryTokens.map(asText),
    keys: keyTokens.map(asText),
    names: AXIS_NAMES[kind],
    mask: kind === "causal" ? pack(allowed, [queries, keys]) : null,
    full,
    weights: packWeights(weights, [layers.length, heads, queries, keys]),
    means: packWeights(means, [layers.length, queries, keys]),
    average: packWeights(meansOf(weights, layers.length * heads, area), [queries, keys]),
    rollout: flow && packWeights(flow, [queries, keys]),
    thumbs: thumbs(weights, [layers.length, heads, queries, keys], full),
  };
}

/** The mean of each group of `count` maps; heads that were silenced, all of whose weights are 0, are left out. */
function meansOf(weights, count, area) {
  const speaks = Array.from({ length: weights.length / area }, (_, head) => weights.subarray(head * area, (head + 1) * area).some((weight) => weight > 0));
  const speaking = Array.from({ length: speaks.length / count }, (_, group) => speaks.slice(group * count, (group + 1) * count).filter(Boolean).length);
  return Float32Array.from({ length: weights.length / count }, (_, at) => {
    const start = Math.floor(at / area) * count * area + (at % area);
    let sum = 0;
    for (let i = 0; i < count; i++) sum += weights[start + i * area];
    return sum / Math.max(speaking[Math.floor(at / area)], 1);
  });
}

/** How much of each input token is in each output: A_L ... A_1 with A = (mean + I) / 2, as in seqlearn/reading.py. */
function rollout(means, size) {
  const at = (row, column) => row * size + column;
  let total = Float64Array.from({ length: size * size }, (_, i) => Number(i % (size + 1) === 0));
  for (let start = 0; start < means.length; start += size * size) {
    const next = new Float64Array(size * size);
    for (let row = 0; row < size; row++) {
      const mixed = Array.from({ length: size }, (_, column) => means[start + at(row, column)] + Number(row === column));
      const sum = mixed.reduce((one, other) => one + other, 0);
      mixed.forEach((share, middle) => {
        for (let column = 0; column < size; column++) next[at(row, column)] += (share / sum) * total[at(middle, column)];
      });
    }
    total = next;
  }
  return Float32Array.from(total);
}

function packWeights(weights, shape) {
  if (weights.length <= EXACT) return pack(weights, shape);
  return pack(Uint16Array.from(weights, (weight) => toEven(LARGEST_WEIGHT * weight)), shape);
}

/** A small map of every head; in a longer sentence each pixel is the largest of its weights. */
function thumbs(weights, [layers, heads, queries, keys], full) {
  const [rows, columns] = [Math.min(THUMB, queries), Math.min(THUMB, keys)];
  const made = new Uint8Array(layers * heads * rows * columns);
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

/** The nearest whole number; of two, the even one, as in torch. */
function toEven(x) {
  const near = Math.round(x);
  return near - x === 0.5 && near % 2 ? near - 1 : near;
}

// ---- Steps, as `steps_data` makes them ------------------------------------------------------------------------------

/** Queries, keys and values of one head, each { values, shape }. */
function headOf({ queries, keys, values, steps, count }, head, size) {
  const hiddens = queries.length / steps;
  const part = (all, rows) => ({
    shape: [rows, size],
    values: Float32Array.from({ length: rows * size }, (_, at) => all[Math.floor(at / size) * hiddens + head * size + (at % size)]),
  });
  return [part(queries, steps), part(keys, count), part(values, count)];
}

/** All that `AttentionSteps` draws of one attention. */
function stepsData(queries, keys, values, causal, queryTokens, keyTokens) {
  const [[count, size], keyCount] = [queries.shape, keys.shape[0]];
  const scale = 1 / Math.sqrt(size);
  const grid = (rows, columns, number) => ({
    shape: [rows, columns],
    values: Float32Array.from({ length: rows * columns }, (_, at) => number(Math.floor(at / columns), at % columns)),
  });
  const turned = grid(size, keyCount, (i, j) => keys.values[j * size + i]);
  const scores = product(queries, turned);
  const scaled = grid(count, keyCount, (i, j) => scores.values[i * keyCount + j] * scale);
  const allowed = grid(count, keyCount, (i, j) => Number(!causal || j <= i));
  const masked = grid(count, keyCount, (i, j) => (allowed.values[i * keyCount + j] ? scaled.values[i * keyCount + j] : -Infinity));
  const weights = { shape: masked.shape, values: masked.values.slice() };
  for (let row = 0; row < count; row++) softmax(weights.values.subarray(row * keyCount, (row + 1) * keyCount), keyCount);
  const tensors = { queries, keys: turned, scores, scaled, mask: allowed, masked, weights, values, context: product(weights, values) };
  const matrices = Object.entries(MATRICES).map(([name, [title, rows, columns, isMasked]]) =>
    [name, { title, rows, columns, masked: isMasked, numbers: pack(tensors[name].values, tensors[name].shape) }]);
  const numbers = (length) => Array.from({ length }, (_, i) => String(i));
  return {
    axes: { query: queryTokens.map(asText), key: keyTokens.map(asText), size: numbers(size), value: numbers(size) },
    matrices: Object.fromEntries(matrices),
    allowed: pack(Uint8Array.from(allowed.values), allowed.shape),
    empty: [],
    scale,
    steps: stepsOf(count, size, keyCount, causal, extremes(scores.values, scaled.values)),
  };
}

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

/** The smallest and the largest number. */
function extremes(...lists) {
  const [low, high] = [Math.min, Math.max].map((choose) => lists.map((list) => list.reduce((one, other) => choose(one, other))));
  return [Math.min(...low), Math.max(...high)];
}

const MATRICES = { // name: title, axis of the rows, axis of the columns, whether masked cells are drawn as masked
  queries: ["Q", "query", "size", false],
  keys: ["Kᵀ", "size", "key", false],
  scores: ["products", "query", "key", false],
  scaled: ["scores", "query", "key", false],
  mask: ["mask", "query", "key", true],
  masked: ["masked", "query", "key", true],
  weights: ["weights", "query", "key", true],
  values: ["V", "key", "value", false],
  context: ["context", "query", "value", false],
};

/** Each step: name, formula and sentence, its inputs and its result, and which cells of the inputs make a cell. */
function stepsOf(queries, size, keys, masks, same) {
  const step = (name, formula, sentence, inputs, result, made, signs, limits, empty) =>
    ({ name, formula, sentence, inputs, result, made, signs, limits, empty });
  return [
    step("products", `products = Q Kᵀ: (${queries} × ${size}) · (${size} × ${keys}) = (${queries} × ${keys})`,
      "Each is the dot product of a query and a key: how well the two agree.",
      ["queries", "keys"], "scores", ["row", "column"], ["×", "="], { scores: same }, ""),
    step("scale", `scores = products · 1/√${size}`,
      "The scale keeps scores of long vectors in the range where softmax does not pick a single key.",
      ["scores"], "scaled", ["same"], ["→"], { scores: same, scaled: same }, ""),
    step("mask", "masked = scores where the mask allows, −∞ elsewhere",
      masks ? "What may not be attended gets −∞." : "No mask was given: every key may be attended.",
      ["scaled", "mask"], "masked", ["same", "same"], ["and", "→"], { scaled: same, masked: same }, "The whole row is −∞."),
    step("softmax", "weights = e^masked / sum of e^masked over the row",
      "Each row becomes positive numbers that sum to 1.",
      ["masked"], "weights", ["row"], ["→"], { masked: same, weights: [0, 1] }, "The weights are all 0."),
    step("weighted sum", `context = weights V: (${queries} × ${keys}) · (${keys} × ${size}) = (${queries} × ${size})`,
      "Each query takes the average of the values, by its weights.",
      ["weights", "values"], "context", ["row", "column"], ["×", "="], { weights: [0, 1] }, "The context is 0."),
  ];
}

// ---- Questions and answers as messages ------------------------------------------------------------------------------

/** Takes messages: first { data }, the packed model, then { kind, question }. Posts { isReady }, { answer } or { error }. */
function serve(post) {
  let translator = null;
  return ({ data, kind, question }) => {
    try {
      if (data) translator = new Translator(data);
      post(data ? { isReady: true } : { answer: translator[kind](question) });
    } catch (error) {
      post({ error: String(error) });
    }
  };
}
