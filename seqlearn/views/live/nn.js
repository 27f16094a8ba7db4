// The forward pass of the Transformer, as in seqlearn/nn/transformer.py, attention.py and positions.py: read them side by
// side. There is one sentence. A matrix is a Float32Array, row after row; `rows` counts its rows. Heads are not split off:
// head h has the columns from h * headSize on.

/** What is wrong with a question, in one sentence for the person who asked (in Python: a ValueError). */
class Problem extends Error {}

// ---- Layers of torch ------------------------------------------------------------------------------------------------

/** W x + b, for each row x. */
class Linear {
  constructor(weights, name) {
    const { shape, values } = weights.get(`${name}.weight`);
    [this.outSize, this.inSize] = shape;
    this.weight = values;
    this.bias = weights.get(`${name}.bias`)?.values ?? new Float32Array(this.outSize);
  }

  /** Four rows of the matrix at a time: four sums do not wait for each other, and x is read a quarter as often. */
  forward(x, rows) {
    const { weight, bias, inSize, outSize } = this;
    const y = new Float32Array(rows * outSize);
    let out = 0;
    for (; out + 4 <= outSize; out += 4) {
      const [first, second, third, fourth] = [out * inSize, (out + 1) * inSize, (out + 2) * inSize, (out + 3) * inSize];
      for (let row = 0; row < rows; row++) {
        const start = row * inSize;
        let [a, b, c, d] = [bias[out], bias[out + 1], bias[out + 2], bias[out + 3]];
        for (let i = 0; i < inSize; i++) {
          const value = x[start + i];
          a += value * weight[first + i];
          b += value * weight[second + i];
          c += value * weight[third + i];
          d += value * weight[fourth + i];
        }
        const at = row * outSize + out;
        y[at] = a;
        y[at + 1] = b;
        y[at + 2] = c;
        y[at + 3] = d;
      }
    }
    for (; out < outSize; out++) {
      for (let row = 0; row < rows; row++) {
        let sum = bias[out];
        for (let i = 0; i < inSize; i++) sum += x[row * inSize + i] * weight[out * inSize + i];
        y[row * outSize + out] = sum;
      }
    }
    return y;
  }
}

const EPS = 1e-5; // of torch.nn.LayerNorm

/** Each row with mean 0 and variance 1, then times a weight, plus a bias. */
class LayerNorm {
  constructor(weights, name) {
    this.weight = weights.get(`${name}.weight`).values;
    this.bias = weights.get(`${name}.bias`).values;
  }

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
  constructor(weights, name) {
    const { shape, values } = weights.get(`${name}.weight`);
    [this.weight, this.size] = [values, shape[1]];
  }

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

/** x + y, written into y. */
function add(x, y) {
  for (let i = 0; i < x.length; i++) y[i] += x[i];
  return y;
}

// ---- positions.py ---------------------------------------------------------------------------------------------------

const BASE = 10000;

/** How fast each pair of dimensions turns, in radians per position. */
const frequencies = (size) => Float64Array.from({ length: Math.ceil(size / 2) }, (_, pair) => BASE ** ((-2 * pair) / size));

/** The sinusoids of positions 0, 1, ...: sine in the even dimensions, cosine in the odd ones. */
function sinusoids(steps, size) {
  const speeds = frequencies(size);
  return Float32Array.from({ length: steps * size }, (_, at) => {
    const angle = Math.floor(at / size) * speeds[(at % size) >> 1];
    return (at % size) % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

/** Adds a row of the table P to each embedding. The tokens have the positions start, start + 1, ... in each of `rows`. */
function addPositions(x, P, size, rows, start) {
  const length = x.length / rows;
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < length; i++) x[row * length + i] += P[start * size + i];
  }
  return x;
}

/** The sinusoids; the table grows when a longer sequence comes. */
class PositionalEncoding {
  constructor(size) {
    [this.size, this.P] = [size, sinusoids(64, size)];
  }

  rows(start, steps) {
    const known = this.P.length / this.size;
    if (start + steps > known) this.P = sinusoids(Math.max(start + steps, 2 * known), this.size);
    return this.P;
  }

  forward(x, rows, start) {
    return addPositions(x, this.rows(start, x.length / rows / this.size), this.size, rows, start);
  }
}

/** A learned vector for each position. */
class LearnedPositions {
  constructor(weights, name) {
    const { shape, values } = weights.get(`${name}.P`);
    [this.P, this.known, this.size] = [values, shape[1], shape[2]];
  }

  forward(x, rows, start) {
    const last = start + x.length / rows / this.size - 1;
    if (last >= this.known) throw new Problem(`there is no position ${last}: ${this.known} were learned, from 0`);
    return addPositions(x, this.P, this.size, rows, start);
  }
}

/** Turns each pair of dimensions of each head by position times frequency. */
class RotaryPositions {
  constructor(headSize) {
    this.angles = new PositionalEncoding(headSize);
  }

  /** Rows at positions start, start + 1, ..., and again from `start` after every `steps` rows. */
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
  forward(x) {
    return x;
  }
}

// ---- attention.py, with what recording.py does ----------------------------------------------------------------------

/** Several attentions side by side, each in its own subspace.
 *
 * `edits` change the weights after the softmax (see `edited`). While `record` is a list, each call of `attend` adds
 * { weights, queries, keys, values } to it; the weights are (heads, queries, keys). */
class MultiHeadAttention {
  constructor(weights, name, { num_heads }, kind, rotary = false) {
    [this.W_q, this.W_k, this.W_v, this.W_o] = ["W_q", "W_k", "W_v", "W_o"].map((part) => new Linear(weights, `${name}.${part}`));
    [this.kind, this.numHeads, this.hiddens] = [kind, num_heads, this.W_q.outSize];
    this.headSize = this.hiddens / num_heads;
    this.rotary = rotary ? new RotaryPositions(this.headSize) : null;
    [this.edits, this.record] = [[], null];
  }

  /** W_k x and W_v x of each row, in `batch` groups of rows. `start`: the position of the first key of each group. */
  project(x, rows, batch = 1, start = 0) {
    const keys = this.W_k.forward(x, rows);
    if (this.rotary) this.rotary.forward(keys, rows / batch, start, this.hiddens);
    return { keys, values: this.W_v.forward(x, rows), count: rows };
  }

  /** The context of each query. `projected` has keys and values for each group of `steps` queries. The first query of
   * each group is number `start` (its position and its row). With `causal`, no query looks at a later key. */
  attend(x, projected, steps, start = 0, causal = false) {
    const rows = projected.length * steps;
    const queries = this.W_q.forward(x, rows);
    if (this.rotary) this.rotary.forward(queries, steps, start, this.hiddens);
    const context = new Float32Array(rows * this.hiddens);
    projected.forEach((past, group) => this.dotProductAttend(context, queries, past, group * steps, steps, start, causal));
    return this.W_o.forward(context, rows);
  }

  /** softmax(q . k / sqrt(d)) v of each head, for the queries in the rows `from`, `from` + 1, ... */
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
        if (all) all.set(weights.subarray(0, allowed), (head * steps + step) * count);
        addValues(context, at, weights, values, head * headSize, hiddens, headSize, allowed);
      }
    }
    this.record?.push({ weights: all, steps, count, queries, keys, values });
  }
}

/** The scores q . k / sqrt(d) of one query and the first `allowed` keys. */
function scoresOf(scores, queries, query, keys, column, hiddens, size, allowed) {
  const scale = 1 / Math.sqrt(size);
  for (let key = 0; key < allowed; key++) {
    const start = key * hiddens + column;
    let sum = 0;
    for (let i = 0; i < size; i++) sum += queries[query + i] * keys[start + i];
    scores[key] = sum * scale;
  }
}

/** The softmax of the first `count` numbers, in their place. */
function softmax(numbers, count) {
  let [largest, total] = [-Infinity, 0];
  for (let i = 0; i < count; i++) if (numbers[i] > largest) largest = numbers[i];
  for (let i = 0; i < count; i++) {
    const power = Math.exp(numbers[i] - largest);
    numbers[i] = power;
    total += power;
  }
  for (let i = 0; i < count; i++) numbers[i] /= total;
}

/** Adds the values, times the weights, to the context of one query. */
function addValues(context, at, weights, values, column, hiddens, size, allowed) {
  for (let key = 0; key < allowed; key++) {
    const weight = weights[key];
    const start = key * hiddens + column;
    for (let i = 0; i < size; i++) context[at + i] += weight * values[start + i];
  }
}

/** Applies the edits of one layer to the weights of one head in one row: [head or null] sets all of them to 0, and
 * [head or null, row, column, weight] gives a column this weight, while the others share the rest as before. */
function edited(weights, edits, head, row, allowed) {
  for (const [which, where, column, weight] of edits) {
    if (which !== null && which !== head) continue;
    if (where === undefined) weights.fill(0, 0, allowed);
    else if (where === row && column < allowed) giveWeight(weights, column, weight, allowed);
  }
}

function giveWeight(weights, column, weight, allowed) {
  let rest = 0;
  for (let key = 0; key < allowed; key++) if (key !== column) rest += weights[key];
  for (let key = 0; key < allowed; key++) {
    const share = rest > 0 ? weights[key] / rest : 1 / (allowed - 1);
    weights[key] = key === column ? weight : share * (1 - weight);
  }
}

// ---- transformer.py -------------------------------------------------------------------------------------------------

/** W_2 relu(W_1 x + b_1) + b_2 at every position. */
class PositionWiseFFN {
  constructor(weights, name) {
    this.dense1 = new Linear(weights, `${name}.dense1`);
    this.dense2 = new Linear(weights, `${name}.dense2`);
  }

  forward(x, rows) {
    const inner = this.dense1.forward(x, rows);
    for (let i = 0; i < inner.length; i++) if (inner[i] < 0) inner[i] = 0;
    return this.dense2.forward(inner, rows);
  }
}

/** A sublayer with a residual connection and layer norm: x + f(LN(x)) with pre-norm, LN(x + f(x)) with post-norm. */
class AddNorm {
  constructor(weights, name, { norm_first }) {
    this.normFirst = norm_first;
    this.ln = new LayerNorm(weights, `${name}.ln`);
  }

  forward(x, sublayer) {
    if (this.normFirst) return add(x, sublayer(this.ln.forward(x)));
    return this.ln.forward(add(x, sublayer(x)));
  }
}

/** Self-attention, then the feed-forward network. */
class TransformerEncoderBlock {
  constructor(weights, name, sizes) {
    this.attention = new MultiHeadAttention(weights, `${name}.attention`, sizes, "encoder", sizes.positions === "rotary");
    this.addnorm1 = new AddNorm(weights, `${name}.addnorm1`, sizes);
    this.ffn = new PositionWiseFFN(weights, `${name}.ffn`);
    this.addnorm2 = new AddNorm(weights, `${name}.addnorm2`, sizes);
  }

  forward(x, rows) {
    x = this.addnorm1.forward(x, (y) => this.attention.attend(y, [this.attention.project(y, rows)], rows));
    return this.addnorm2.forward(x, (y) => this.ffn.forward(y, rows));
  }
}

/** Embeddings with positions, through a stack of blocks. `sizes`: the arguments of the Python class. */
class TransformerEncoder {
  constructor(weights, name, sizes) {
    this.embedding = new Embedding(weights, `${name}.embedding`);
    this.posEncoding = makePositions(weights, `${name}.pos_encoding`, sizes);
    this.blks = Array.from({ length: sizes.num_layers }, (_, i) => new TransformerEncoderBlock(weights, `${name}.blks.block${i}`, sizes));
    this.ln = sizes.norm_first ? new LayerNorm(weights, `${name}.ln`) : null;
  }

  /** A vector for each source token. */
  forward(source) {
    let x = this.posEncoding.forward(this.embedding.forward(source), 1, 0);
    for (const block of this.blks) x = block.forward(x, source.length);
    return this.ln ? this.ln.forward(x) : x;
  }
}

/** Self-attention to the tokens so far, attention to the source, then the feed-forward network. */
class TransformerDecoderBlock {
  constructor(weights, name, sizes) {
    this.attention1 = new MultiHeadAttention(weights, `${name}.attention1`, sizes, "causal", sizes.positions === "rotary");
    this.addnorm1 = new AddNorm(weights, `${name}.addnorm1`, sizes);
    this.attention2 = new MultiHeadAttention(weights, `${name}.attention2`, sizes, "cross");
    this.addnorm2 = new AddNorm(weights, `${name}.addnorm2`, sizes);
    this.ffn = new PositionWiseFFN(weights, `${name}.ffn`);
    this.addnorm3 = new AddNorm(weights, `${name}.addnorm3`, sizes);
  }

  /** New tokens look at the `length` tokens before them, at themselves and at the source. `past`: one for each beam. */
  forward(x, memory, past, length) {
    const rows = x.length / this.attention1.hiddens;
    const steps = rows / past.length;
    x = this.addnorm1.forward(x, (y) => {
      const made = this.attention1.project(y, rows, past.length, length);
      past.forEach((one, beam) => one.append(made, beam * steps, steps));
      return this.attention1.attend(y, past, steps, length, true);
    });
    x = this.addnorm2.forward(x, (y) => this.attention2.attend(y, past.map(() => memory), steps, length));
    return this.addnorm3.forward(x, (y) => this.ffn.forward(y, rows));
  }
}

/** The keys and values of the tokens so far, of one beam in one layer, in storage that has room for more. */
class Past {
  constructor(hiddens, room = 16) {
    [this.hiddens, this.count] = [hiddens, 0];
    [this.keys, this.values] = [new Float32Array(room * hiddens), new Float32Array(room * hiddens)];
  }

  /** Adds `steps` keys and values, those from row `from` on. */
  append({ keys, values }, from, steps) {
    const { hiddens, count } = this;
    if ((count + steps) * hiddens > this.keys.length) this.grow(2 * (count + steps));
    this.keys.set(keys.subarray(from * hiddens, (from + steps) * hiddens), count * hiddens);
    this.values.set(values.subarray(from * hiddens, (from + steps) * hiddens), count * hiddens);
    this.count += steps;
  }

  grow(room) {
    const [keys, values] = [this.keys, this.values];
    [this.keys, this.values] = [new Float32Array(room * this.hiddens), new Float32Array(room * this.hiddens)];
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
class TransformerState {
  constructor(memory, past, length = 0) {
    [this.memory, this.past, this.length] = [memory, past, length];
  }

  /** The state before the first token, again. */
  restart() {
    return new TransformerState(this.memory, this.past.map(([{ hiddens }]) => [new Past(hiddens)]));
  }

  /** The state of these beams, repeated, reordered or dropped. The old state may not be used again. */
  select(beams) {
    const isFirst = beams.map((beam, i) => beams.indexOf(beam) === i); // a beam is copied for its second child on
    const copies = this.past.map((layer) => beams.map((beam, i) => (isFirst[i] ? layer[beam] : layer[beam].copy())));
    return new TransformerState(this.memory, copies, this.length);
  }
}

/** Embeddings with positions, a stack of blocks that look back and at the source, and an output layer: logits. */
class TransformerDecoder {
  constructor(weights, name, sizes) {
    this.embedding = new Embedding(weights, `${name}.embedding`);
    this.posEncoding = makePositions(weights, `${name}.pos_encoding`, sizes);
    this.blks = Array.from({ length: sizes.num_layers }, (_, i) => new TransformerDecoderBlock(weights, `${name}.blks.block${i}`, sizes));
    this.ln = sizes.norm_first ? new LayerNorm(weights, `${name}.ln`) : null;
    this.dense = new Linear(weights, `${name}.dense`);
  }

  /** The state before the first token. The source's keys and values are projected here, once for each sentence. */
  initState(outputs) {
    const { size } = this.embedding;
    const memory = this.blks.map((block) => block.attention2.project(outputs, outputs.length / size));
    return new TransformerState(memory, this.blks.map(() => [new Past(size)]));
  }

  /** The logits after each of these tokens, beam after beam. The state then has read them. */
  forward(tokens, state) {
    return this.dense.forward(this.features(tokens, state), tokens.length);
  }

  features(tokens, state) {
    let x = this.posEncoding.forward(this.embedding.forward(tokens), state.past[0].length, state.length);
    const steps = tokens.length / state.past[0].length;
    this.blks.forEach((block, i) => (x = block.forward(x, state.memory[i], state.past[i], state.length)));
    state.length += steps;
    return this.ln ? this.ln.forward(x) : x;
  }
}

/** The module between embeddings and blocks, for positions of this kind. */
function makePositions(weights, name, { positions, num_hiddens }) {
  if (positions === "sinusoidal") return new PositionalEncoding(num_hiddens);
  return positions === "learned" ? new LearnedPositions(weights, name) : new NoPositions();
}

/** An encoder and a decoder. `sizes`: of each side, see `seqlearn.views.live.weights`. */
class EncoderDecoder {
  constructor(weights, sizes) {
    this.encoder = new TransformerEncoder(weights, "encoder", sizes.encoder);
    this.decoder = new TransformerDecoder(weights, "decoder", sizes.decoder);
  }

  /** The attention layers of one kind, from the lowest to the highest. */
  attention(kind) {
    if (kind === "encoder") return this.encoder.blks.map((block) => block.attention);
    return this.decoder.blks.map((block) => (kind === "causal" ? block.attention1 : block.attention2));
  }
}
