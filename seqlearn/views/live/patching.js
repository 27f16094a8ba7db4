// Vectors of one sentence in the reading of another, as in seqlearn/nn/patching.py and views/answers/patches.py.

/** @import { EncoderDecoder, Matrix, MultiHeadAttention, Point } from "./nn.js" */
/** @import { TransformerDecoder, TransformerState } from "./nn.js" */

/** A part of the vectors that pass a point: `size` numbers from `column` on, of `hiddens` in a row.
 * @typedef {{ point: Point, column: number, size: number, hiddens: number, inEncoder: boolean }} Place */
/** A row of a place.
 * @typedef {{ place: Place, row: number }} Patch */

/** The places of a model by name: `places` in patching.py.
 * @param {EncoderDecoder} model */
export function placesOf({ encoder, decoder }) {
  /** @type {Map<string, Place>} */
  const found = new Map();
  for (const [side, stack] of Object.entries({ encoder, decoder })) {
    const hiddens = stack.embedding.size;
    const names = ["pos_encoding", ...stack.blocks.map((_, i) => `blocks.${i}`), "norm"];
    for (const [i, name] of names.entries())
      found.set(`${side}.${name}`, {
        point: stack.points[i],
        column: 0,
        size: hiddens,
        hiddens,
        inEncoder: stack === encoder,
      });
  }
  const heads = (/** @type {string} */ kind, /** @type {MultiHeadAttention[]} */ layers) => {
    for (const [i, { contexts, numHeads, headSize, hiddens }] of layers.entries()) {
      for (let head = 0; head < numHeads; head++) {
        const inEncoder = kind === "encoder";
        found.set(`${kind} ${i}.${head}`, {
          point: contexts,
          column: head * headSize,
          size: headSize,
          hiddens,
          inEncoder,
        });
      }
    }
  };
  const attentions = (/** @type {"self_attention" | "cross_attention"} */ name) =>
    decoder.blocks.map((block) => block[name]);
  heads(
    "encoder",
    encoder.blocks.map((block) => block.self_attention),
  );
  heads("causal", attentions("self_attention"));
  heads("cross", attentions("cross_attention"));
  return found;
}

/** What `work` gives, and the vectors that passed these points meanwhile, of one call each.
 * @template Made
 * @param {Iterable<Point>} points @param {() => Made} work */
export function watched(points, work) {
  /** @type {Map<Point, Matrix>} */
  const vectors = new Map();
  for (const point of points) {
    point.tap = (x) => {
      vectors.set(point, x.slice());
    };
  }
  try {
    return { made: work(), vectors };
  } finally {
    for (const point of points) point.tap = null;
  }
}

/** What `work` gives if these rows have other vectors.
 * @template Made
 * @param {Patch[]} patches @param {Map<Point, Matrix>} vectors @param {() => Made} work */
export function patched(patches, vectors, work) {
  const points = new Set(patches.map(({ place }) => place.point));
  for (const point of points) {
    const mine = patches.filter(({ place }) => place.point === point);
    const given = /** @type {Matrix} */ (vectors.get(point));
    point.tap = (x, batch, start) => {
      for (const { place, row } of mine) copyRow(x, given, place, batch, row - start);
    };
  }
  try {
    return work();
  } finally {
    for (const point of points) point.tap = null;
  }
}

/** @type {(x: Matrix, given: Matrix, place: Place, batch: number, row: number) => void} */
function copyRow(x, given, { column, size, hiddens }, batch, row) {
  const steps = x.length / hiddens / batch;
  if (row < 0 || row >= steps) return;
  for (let group = 0; group < batch; group++) {
    const at = (group * steps + row) * hiddens + column;
    x.set(given.subarray(at, at + size), at);
  }
}

/** A decoder with patches: before each of its calls, the other sentence reads the same tokens. Its state is a pair. */
export class PatchedDecoder {
  /** @param {TransformerDecoder} inner @param {Patch[]} patches */
  constructor(inner, patches) {
    this.inner = inner;
    this.patches = patches;
    this.points = new Set(patches.map(({ place }) => place.point));
  }

  /** @param {number[]} tokens @param {PairState} state */
  forward(tokens, { own, other }) {
    const { vectors } = watched(this.points, () => this.inner.features(tokens, other));
    return patched(this.patches, vectors, () => this.inner.forward(tokens, own));
  }
}

/** The states of a sentence and of its twin. */
export class PairState {
  /** @param {TransformerState} own @param {TransformerState} other */
  constructor(own, other) {
    this.own = own;
    this.other = other;
  }
}
