// The forward pass of the Transformer, as in seqlearn/nn/transformer.py, attention.py and positions.py: read them side
// by side. There is one sentence. `rows` counts the rows of a matrix. Heads are not split off: head h has the columns
// from h * headSize on.

import { linear } from "./linear.js";

/** @import { Kind } from "../shared/constants.js" */

/** Its numbers, row after row.
 * @typedef {Float32Array} Matrix */
/** The parameters of the model, by name.
 * @typedef {Map<string, { shape: number[], values: Float32Array }>} Weights */
/** The arguments of encoder or decoder in Python.
 * @typedef {{
 *   num_hiddens: number, num_heads: number, num_layers: number, norm_first: boolean, positions: string
 * }} Sizes */
/** Keys and values of `count` tokens.
 * @typedef {{ keys: Matrix, values: Matrix, count: number }} Projected */
/** What an attention layer recorded of one call, with `steps` queries and `count` keys; the weights are (heads, steps,
 * count).
 * @typedef {Projected & { weights: Float32Array, queries: Matrix, steps: number }} Recording */
/** Ablates a head, or gives a weight: null is every head.
 * @typedef {[head: number | null] | [head: number | null, row: number, column: number, weight: number]} LayerEdit */

/** Sees the vectors at a point, rows of `batch` groups with the positions start, start + 1, ..., and may change them.
 * @typedef {(x: Matrix, batch: number, start: number) => void} Tap */

/** A point that vectors pass: as the hooks of seqlearn/nn/patching.py. */
export class Point {
  /** @type {Tap | null} */
  tap = null;

  /** @param {Matrix} x @param {number} batch @param {number} start */
  pass(x, batch = 1, start = 0) {
    this.tap?.(x, batch, start);
    return x;
  }
}

/** What is wrong with a question, in one sentence for the person who asked (in Python: a ValueError). */
export class Problem extends Error {}

/** The parameter of this name, which the model has.
 * @param {Weights} weights @param {string} name */
function parameter(weights, name) {
  const found = weights.get(name);
  if (!found) throw new Error(`the parameter ${name} is undefined`);
  return found;
}

// ---- Layers of torch ------------------------------------------------------------------------------------------------

/** W x + b, for each row x. */
class Linear {
  /** @param {Weights} weights @param {string} name */
  constructor(weights, name) {
    const { shape, values } = parameter(weights, `${name}.weight`);
    this.outSize = shape[0];
    this.weight = values;
    this.bias = weights.get(`${name}.bias`)?.values ?? new Float32Array(this.outSize);
  }

  /** @param {Matrix} x @param {number} rows */
  forward(x, rows) {
    return linear(x, rows, this.weight, this.bias);
  }
}

const EPS = 1e-5; // of torch.nn.LayerNorm

/** Each row with mean 0 and variance 1, then times a weight, plus a bias. */
class LayerNorm {
  /** @param {Weights} weights @param {string} name */
  constructor(weights, name) {
    this.weight = parameter(weights, `${name}.weight`).values;
    this.bias = parameter(weights, `${name}.bias`).values;
  }

  /** @param {Matrix} x */
  forward(x) {
    const { weight, bias } = this;
    const size = weight.length;
    const y = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += size) {
      let [mean, variance] = [0, 0];
      for (let i = 0; i < size; i++) mean += x[start + i];
      mean /= size;
      for (let i = 0; i < size; i++) variance += (x[start + i] - mean) ** 2;
      const scale = 1 / Math.sqrt(variance / size + EPS);
      for (let i = 0; i < size; i++) y[start + i] = (x[start + i] - mean) * scale * weight[i] + bias[i];
    }
    return y;
  }
}

/** The vector of each token, times sqrt(size). */
class Embedding {
  /** @param {Weights} weights @param {string} name */
  constructor(weights, name) {
    const { shape, values } = parameter(weights, `${name}.weight`);
    this.weight = values;
    this.size = shape[1];
  }

  /** @param {number[]} tokens */
  forward(tokens) {
    const { weight, size } = this;
    const x = new Float32Array(tokens.length * size);
    const scale = Math.sqrt(size);
    tokens.forEach((token, row) => {
      for (let i = 0; i < size; i++) x[row * size + i] = weight[token * size + i] * scale;
    });
    return x;
  }
}

/** x + y, written into y.
 * @param {Matrix} x @param {Matrix} y */
function add(x, y) {
  for (let i = 0; i < x.length; i++) y[i] += x[i];
  return y;
}

// ---- positions.py ---------------------------------------------------------------------------------------------------

const BASE = 10000;

/** How fast each pair of dimensions turns, in radians per position.
 * @param {number} size */
const frequencies = (size) =>
  Float64Array.from({ length: Math.ceil(size / 2) }, (_, pair) => BASE ** ((-2 * pair) / size));

/** The sinusoids of positions 0, 1, ...: sine in the even dimensions, cosine in the odd ones.
 * @param {number} steps @param {number} size */
function sinusoids(steps, size) {
  const speeds = frequencies(size);
  return Float32Array.from({ length: steps * size }, (_, at) => {
    const angle = Math.floor(at / size) * speeds[(at % size) >> 1];
    return (at % size) % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

/** Adds a row of the table P to each embedding. The tokens have the positions start, start + 1, ... in each of `rows`.
 * @type {(x: Matrix, P: Matrix, size: number, rows: number, start: number) => Matrix} */
function addPositions(x, P, size, rows, start) {
  const length = x.length / rows;
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < length; i++) x[row * length + i] += P[start * size + i];
  }
  return x;
}

/** The sinusoids; the table grows when a longer sequence comes. */
class PositionalEncoding {
  /** @param {number} size */
  constructor(size) {
    this.size = size;
    this.P = sinusoids(64, size);
  }

  /** The table, with a row for each of these positions. @param {number} start @param {number} steps */
  rows(start, steps) {
    const known = this.P.length / this.size;
    if (start + steps > known) this.P = sinusoids(Math.max(start + steps, 2 * known), this.size);
    return this.P;
  }

  /** @param {Matrix} x @param {number} rows @param {number} start */
  forward(x, rows, start) {
    return addPositions(x, this.rows(start, x.length / rows / this.size), this.size, rows, start);
  }
}

/** A learned vector for each position. */
class LearnedPositions {
  /** @param {Weights} weights @param {string} name */
  constructor(weights, name) {
    const { shape, values } = parameter(weights, `${name}.P`);
    this.P = values;
    this.known = shape[1];
    this.size = shape[2];
  }

  /** @param {Matrix} x @param {number} rows @param {number} start */
  forward(x, rows, start) {
    const last = start + x.length / rows / this.size - 1;
    if (last >= this.known) throw new Problem(`there is no position ${last}: ${this.known} were learned, from 0`);
    return addPositions(x, this.P, this.size, rows, start);
  }
}

/** Turns each pair of dimensions of each head by position times frequency. */
class RotaryPositions {
  /** @param {number} headSize */
  constructor(headSize) {
    this.angles = new PositionalEncoding(headSize);
  }

  /** Rows at positions start, start + 1, ..., and again from `start` after every `steps` rows.
   * @param {Matrix} x @param {number} steps @param {number} start @param {number} hiddens */
  forward(x, steps, start, hiddens) {
    const size = this.angles.size;
    const table = this.angles.rows(start, steps);
    for (let at = 0; at < x.length; at += 2) {
      const angle = (start + (Math.floor(at / hiddens) % steps)) * size + (at % size);
      const [first, second, sine, cosine] = [x[at], x[at + 1], table[angle], table[angle + 1]];
      x[at] = first * cosine - second * sine;
      x[at + 1] = first * sine + second * cosine;
    }
    return x;
  }
}

/** Adds nothing. */
class NoPositions {
  /** @param {Matrix} x */
  forward(x) {
    return x;
  }
}

// ---- attention.py, with what recording.py does ----------------------------------------------------------------------

/** Several attentions side by side, each in its own subspace.
 *
 * `edits` change the weights after the softmax (see `edited`). While `record` is a list, each call of `attend` adds to
 * it. The contexts of all heads, before W_o, pass a point. */
export class MultiHeadAttention {
  /** @param {Weights} weights @param {string} name @param {Sizes} sizes @param {Kind} kind @param {boolean} rotary */
  constructor(weights, name, { num_heads }, kind, rotary = false) {
    this.W_q = new Linear(weights, `${name}.W_q`);
    this.W_k = new Linear(weights, `${name}.W_k`);
    this.W_v = new Linear(weights, `${name}.W_v`);
    this.W_o = new Linear(weights, `${name}.W_o`);
    this.kind = kind;
    this.numHeads = num_heads;
    this.hiddens = this.W_q.outSize;
    this.headSize = this.hiddens / num_heads;
    this.rotary = rotary ? new RotaryPositions(this.headSize) : null;
    /** @type {LayerEdit[]} */
    this.edits = [];
    /** @type {Recording[] | null} */
    this.record = null;
    this.contexts = new Point();
  }

  /** W_k x and W_v x of each row, in `batch` groups of rows. `start`: the position of the first key of each group.
   * @param {Matrix} x @param {number} rows @returns {Projected} */
  project(x, rows, batch = 1, start = 0) {
    const keys = this.W_k.forward(x, rows);
    if (this.rotary) this.rotary.forward(keys, rows / batch, start, this.hiddens);
    return { keys, values: this.W_v.forward(x, rows), count: rows };
  }

  /** The context of each query. `projected` has keys and values for each group of `steps` queries. The first query of
   * each group is number `start` (its position and its row). With `causal`, no query looks at a later key.
   * @param {Matrix} x @param {Projected[]} projected @param {number} steps */
  attend(x, projected, steps, start = 0, causal = false) {
    const rows = projected.length * steps;
    const queries = this.W_q.forward(x, rows);
    if (this.rotary) this.rotary.forward(queries, steps, start, this.hiddens);
    const context = new Float32Array(rows * this.hiddens);
    projected.forEach((past, group) => {
      this.dotProductAttend(context, queries, past, group * steps, steps, start, causal);
    });
    return this.W_o.forward(this.contexts.pass(context, projected.length, start), rows);
  }

  /** softmax(q . k / sqrt(d)) v of each head, for the queries in the rows `from`, `from` + 1, ...
   * @type {(context: Matrix, queries: Matrix, projected: Projected,
   *   from: number, steps: number, start: number, causal: boolean) => void} */
  dotProductAttend(context, queries, { keys, values, count }, from, steps, start, causal) {
    const { numHeads, headSize, hiddens } = this;
    const all = this.record && new Float32Array(numHeads * steps * count);
    const weights = new Float32Array(count);
    for (let step = 0; step < steps; step++) {
      const allowed = causal ? start + step + 1 : count;
      for (let head = 0; head < numHeads; head++) {
        const at = (from + step) * hiddens + head * headSize;
        scoresOf(weights, queries, at, keys, head * headSize, hiddens, headSize, allowed);
        softmax(weights, allowed);
        if (this.edits.length) edited(weights, this.edits, head, start + step, allowed);
        all?.set(weights.subarray(0, allowed), (head * steps + step) * count);
        addValues(context, at, weights, values, head * headSize, hiddens, headSize, allowed);
      }
    }
    if (all) this.record?.push({ weights: all, steps, count, queries, keys, values });
  }
}

/** The scores q . k / sqrt(d) of one query and the first `allowed` keys. A head has `size` columns from `column` on.
 * @type {(scores: Float32Array, queries: Matrix, query: number, keys: Matrix,
 *   column: number, hiddens: number, size: number, allowed: number) => void} */
function scoresOf(scores, queries, query, keys, column, hiddens, size, allowed) {
  const scale = 1 / Math.sqrt(size);
  for (let key = 0; key < allowed; key++) {
    const start = key * hiddens + column;
    let sum = 0;
    for (let i = 0; i < size; i++) sum += queries[query + i] * keys[start + i];
    scores[key] = sum * scale;
  }
}

/** The softmax of the first `count` numbers, in their place.
 * @param {Float32Array} numbers @param {number} count */
export function softmax(numbers, count) {
  let [largest, total] = [-Infinity, 0];
  for (let i = 0; i < count; i++) if (numbers[i] > largest) largest = numbers[i];
  for (let i = 0; i < count; i++) {
    const power = Math.exp(numbers[i] - largest);
    numbers[i] = power;
    total += power;
  }
  for (let i = 0; i < count; i++) numbers[i] /= total;
}

/** Adds the values, times the weights, to the context of one query.
 * @type {(context: Matrix, at: number, weights: Float32Array, values: Matrix,
 *   column: number, hiddens: number, size: number, allowed: number) => void} */
function addValues(context, at, weights, values, column, hiddens, size, allowed) {
  for (let key = 0; key < allowed; key++) {
    const weight = weights[key];
    const start = key * hiddens + column;
    for (let i = 0; i < size; i++) context[at + i] += weight * values[start + i];
  }
}

/** Applies the edits of one layer to the weights of one head in one row: an ablation sets all of them to 0; a weight is
 * given to a column, while the others share the rest as before.
 * @type {(weights: Float32Array, edits: LayerEdit[], head: number, row: number, allowed: number) => void} */
function edited(weights, edits, head, row, allowed) {
  for (const edit of edits) {
    if (edit[0] !== null && edit[0] !== head) continue;
    if (edit.length === 1) weights.fill(0, 0, allowed);
    else if (edit[1] === row && edit[2] < allowed) giveWeight(weights, edit[2], edit[3], allowed);
  }
}

/** As `reweighted` in seqlearn/analysis/measures.py: the only key keeps all the weight.
 * @type {(weights: Float32Array, column: number, weight: number, allowed: number) => void} */
function giveWeight(weights, column, weight, allowed) {
  const given = allowed > 1 ? weight : 1;
  let rest = 0;
  for (let key = 0; key < allowed; key++) if (key !== column) rest += weights[key];
  for (let key = 0; key < allowed; key++) {
    const share = rest > 0 ? weights[key] / rest : 1 / (allowed - 1);
    weights[key] = key === column ? given : share * (1 - given);
  }
}

// ---- transformer.py -------------------------------------------------------------------------------------------------

/** W_2 relu(W_1 x + b_1) + b_2 at every position. */
class PositionWiseFFN {
  /** @param {Weights} weights @param {string} name */
  constructor(weights, name) {
    this.dense1 = new Linear(weights, `${name}.dense1`);
    this.dense2 = new Linear(weights, `${name}.dense2`);
  }

  /** @param {Matrix} x @param {number} rows */
  forward(x, rows) {
    const inner = this.dense1.forward(x, rows);
    for (let i = 0; i < inner.length; i++) if (inner[i] < 0) inner[i] = 0;
    return this.dense2.forward(inner, rows);
  }
}

/** Self-attention, then the feed-forward network. */
class TransformerEncoderBlock {
  /** @param {Weights} weights @param {string} name @param {Sizes} sizes */
  constructor(weights, name, sizes) {
    const rotary = sizes.positions === "rotary";
    this.normFirst = sizes.norm_first;
    this.self_attention = new MultiHeadAttention(weights, `${name}.self_attention`, sizes, "encoder", rotary);
    this.norm1 = new LayerNorm(weights, `${name}.norm1`);
    this.ffn = new PositionWiseFFN(weights, `${name}.ffn`);
    this.norm2 = new LayerNorm(weights, `${name}.norm2`);
  }

  /** @param {Matrix} x @param {number} rows */
  forward(x, rows) {
    let y = this.normFirst ? this.norm1.forward(x) : x;
    x = add(x, this.self_attention.attend(y, [this.self_attention.project(y, rows)], rows));
    x = this.normFirst ? x : this.norm1.forward(x);

    y = this.normFirst ? this.norm2.forward(x) : x;
    x = add(x, this.ffn.forward(y, rows));
    return this.normFirst ? x : this.norm2.forward(x);
  }
}

/** Embeddings with positions, through a stack of blocks. `sizes`: the arguments of the Python class. */
class TransformerEncoder {
  /** @param {Weights} weights @param {string} name @param {Sizes} sizes */
  constructor(weights, name, sizes) {
    this.embedding = new Embedding(weights, `${name}.embedding`);
    this.pos_encoding = makePositions(weights, `${name}.pos_encoding`, sizes);
    this.blocks = Array.from(
      { length: sizes.num_layers },
      (_, i) => new TransformerEncoderBlock(weights, `${name}.blocks.${i}`, sizes),
    );
    this.norm = sizes.norm_first ? new LayerNorm(weights, `${name}.norm`) : null;
    this.points = pointsOf(this.blocks.length);
  }

  /** A vector for each source token.
   * @param {number[]} source */
  forward(source) {
    let x = this.points[0].pass(this.pos_encoding.forward(this.embedding.forward(source), 1, 0));
    for (const [i, block] of this.blocks.entries()) x = this.points[i + 1].pass(block.forward(x, source.length));
    return this.points[this.blocks.length + 1].pass(this.norm ? this.norm.forward(x) : x);
  }
}

/** Self-attention to the tokens so far, attention to the source, then the feed-forward network. */
class TransformerDecoderBlock {
  /** @param {Weights} weights @param {string} name @param {Sizes} sizes */
  constructor(weights, name, sizes) {
    const rotary = sizes.positions === "rotary";
    this.normFirst = sizes.norm_first;
    this.self_attention = new MultiHeadAttention(weights, `${name}.self_attention`, sizes, "causal", rotary);
    this.norm1 = new LayerNorm(weights, `${name}.norm1`);
    this.cross_attention = new MultiHeadAttention(weights, `${name}.cross_attention`, sizes, "cross");
    this.norm2 = new LayerNorm(weights, `${name}.norm2`);
    this.ffn = new PositionWiseFFN(weights, `${name}.ffn`);
    this.norm3 = new LayerNorm(weights, `${name}.norm3`);
  }

  /** New tokens look at the `length` tokens before them, at themselves and at the source. `past`: one for each beam.
   * @param {Matrix} x @param {Projected} memory @param {Past[]} past @param {number} length */
  forward(x, memory, past, length) {
    const rows = x.length / this.self_attention.hiddens;
    const steps = rows / past.length;
    let y = this.normFirst ? this.norm1.forward(x) : x;
    const made = this.self_attention.project(y, rows, past.length, length);
    past.forEach((one, beam) => {
      one.append(made, beam * steps, steps);
    });
    x = add(x, this.self_attention.attend(y, past, steps, length, true));
    x = this.normFirst ? x : this.norm1.forward(x);

    y = this.normFirst ? this.norm2.forward(x) : x;
    const memories = past.map(() => memory);
    x = add(x, this.cross_attention.attend(y, memories, steps, length));
    x = this.normFirst ? x : this.norm2.forward(x);

    y = this.normFirst ? this.norm3.forward(x) : x;
    x = add(x, this.ffn.forward(y, rows));
    return this.normFirst ? x : this.norm3.forward(x);
  }
}

/** The keys and values of the tokens so far, of one beam in one layer, in storage that has room for more. */
class Past {
  /** @param {number} hiddens @param {number} room */
  constructor(hiddens, room = 16) {
    this.hiddens = hiddens;
    this.count = 0;
    this.keys = new Float32Array(room * hiddens);
    this.values = new Float32Array(room * hiddens);
  }

  /** Adds `steps` keys and values, those from row `from` on.
   * @param {Projected} projected @param {number} from @param {number} steps */
  append({ keys, values }, from, steps) {
    const { hiddens, count } = this;
    if ((count + steps) * hiddens > this.keys.length) this.grow(2 * (count + steps));
    this.keys.set(keys.subarray(from * hiddens, (from + steps) * hiddens), count * hiddens);
    this.values.set(values.subarray(from * hiddens, (from + steps) * hiddens), count * hiddens);
    this.count += steps;
  }

  /** @param {number} room */
  grow(room) {
    const { keys, values } = this;
    this.keys = new Float32Array(room * this.hiddens);
    this.values = new Float32Array(room * this.hiddens);
    this.keys.set(keys);
    this.values.set(values);
  }

  copy() {
    const copy = new Past(this.hiddens, this.keys.length / this.hiddens);
    copy.append(this, 0, this.count);
    return copy;
  }
}

/** What the decoder remembers between calls: the source's keys and values, and for each layer the past of each beam. */
export class TransformerState {
  /** @param {Projected[]} memory @param {Past[][]} past @param {number} length */
  constructor(memory, past, length = 0) {
    this.memory = memory;
    this.past = past;
    this.length = length;
  }

  /** The state before the first token, again. */
  restart() {
    const empty = this.past.map(([{ hiddens }]) => [new Past(hiddens)]);
    return new TransformerState(this.memory, empty);
  }

  /** The state of these beams, repeated, reordered or dropped. The old state may not be used again.
   * @param {number[]} beams */
  select(beams) {
    const isFirst = beams.map((beam, i) => beams.indexOf(beam) === i); // a beam is copied for its second child on
    const copies = this.past.map((layer) => beams.map((beam, i) => (isFirst[i] ? layer[beam] : layer[beam].copy())));
    return new TransformerState(this.memory, copies, this.length);
  }
}

/** Embeddings with positions, a stack of blocks that look back and at the source, and an output layer: logits. */
export class TransformerDecoder {
  /** @param {Weights} weights @param {string} name @param {Sizes} sizes */
  constructor(weights, name, sizes) {
    this.embedding = new Embedding(weights, `${name}.embedding`);
    this.pos_encoding = makePositions(weights, `${name}.pos_encoding`, sizes);
    this.blocks = Array.from(
      { length: sizes.num_layers },
      (_, i) => new TransformerDecoderBlock(weights, `${name}.blocks.${i}`, sizes),
    );
    this.norm = sizes.norm_first ? new LayerNorm(weights, `${name}.norm`) : null;
    this.dense = new Linear(weights, `${name}.dense`);
    this.points = pointsOf(this.blocks.length);
  }

  /** The state before the first token. The source's keys and values are projected here, once for each sentence.
   * @param {Matrix} outputs of the encoder */
  initState(outputs) {
    const { size } = this.embedding;
    const memory = this.blocks.map((block) => block.cross_attention.project(outputs, outputs.length / size));
    const empty = this.blocks.map(() => [new Past(size)]);
    return new TransformerState(memory, empty);
  }

  /** The logits after each of these tokens, beam after beam. The state then has read them.
   * @param {number[]} tokens @param {TransformerState} state */
  forward(tokens, state) {
    return this.dense.forward(this.features(tokens, state), tokens.length);
  }

  /** @param {number[]} tokens @param {TransformerState} state */
  features(tokens, state) {
    const { past, length } = state;
    const batch = past[0].length;
    let x = this.pos_encoding.forward(this.embedding.forward(tokens), batch, length);
    this.points[0].pass(x, batch, length);
    for (const [i, block] of this.blocks.entries()) {
      x = this.points[i + 1].pass(block.forward(x, state.memory[i], past[i], length), batch, length);
    }
    state.length += tokens.length / batch;
    return this.points[this.blocks.length + 1].pass(this.norm ? this.norm.forward(x) : x, batch, length);
  }
}

/** The points of the residual stream: before the blocks, after each, and after the last norm.
 * @param {number} blocks */
const pointsOf = (blocks) => Array.from({ length: blocks + 2 }, () => new Point());

/** The module between embeddings and blocks, for positions of this kind.
 * @param {Weights} weights @param {string} name @param {Sizes} sizes */
function makePositions(weights, name, { positions, num_hiddens }) {
  if (positions === "sinusoidal") return new PositionalEncoding(num_hiddens);
  return positions === "learned" ? new LearnedPositions(weights, name) : new NoPositions();
}

/** An encoder and a decoder. `sizes`: of each side, see `seqlearn.views.live.weights`. */
export class EncoderDecoder {
  /** @param {Weights} weights @param {{ encoder: Sizes, decoder: Sizes }} sizes */
  constructor(weights, sizes) {
    this.encoder = new TransformerEncoder(weights, "encoder", sizes.encoder);
    this.decoder = new TransformerDecoder(weights, "decoder", sizes.decoder);
  }

  /** The attention layers of one kind, from the lowest to the highest.
   * @param {Kind} kind */
  attention(kind) {
    if (kind === "encoder") return this.encoder.blocks.map((block) => block.self_attention);
    return this.decoder.blocks.map((block) => (kind === "causal" ? block.self_attention : block.cross_attention));
  }
}
