// W x + b, where a page spends most of its time. In blocks of two rows and four outputs the eight sums do not wait for
// each other, and a number that is read serves two or four of them. Each sum has the order of the plain loop, so that
// the results are the same, bit by bit.

/** W x + b for each row x, as `torch.nn.functional.linear`.
 * @param {Float32Array} x @param {number} rows
 * @param {Float32Array} weight row after row, one for each output
 * @param {Float32Array} bias */
export function linear(x, rows, weight, bias) {
  const [inSize, outSize] = [x.length / rows, bias.length];
  const y = new Float32Array(rows * outSize);
  const [pairs, fours] = [rows - (rows % 2), outSize - (outSize % 4)];
  for (let out = 0; out < fours; out += 4) {
    for (let row = 0; row < pairs; row += 2) twoRows(y, x, weight, bias, row, out, inSize);
    if (pairs < rows) oneRow(y, x, weight, bias, pairs, out, inSize);
  }
  for (let out = fours; out < outSize; out++) {
    for (let row = 0; row < rows; row++) {
      let sum = bias[out];
      for (let i = 0; i < inSize; i++) sum += x[row * inSize + i] * weight[out * inSize + i];
      y[row * outSize + out] = sum;
    }
  }
  return y;
}

/** Two rows and four outputs, from `row` and `out` on.
 * @type {(y: Float32Array, x: Float32Array, weight: Float32Array, bias: Float32Array,
 *   row: number, out: number, inSize: number) => void} */
function twoRows(y, x, weight, bias, row, out, inSize) {
  let [a, b, c, d] = [bias[out], bias[out + 1], bias[out + 2], bias[out + 3]];
  let [e, f, g, h] = [a, b, c, d];
  const [first, next] = [row * inSize, (row + 1) * inSize];
  for (let i = 0, at = out * inSize; i < inSize; i++, at++) {
    const one = x[first + i];
    const other = x[next + i];
    const w0 = weight[at];
    const w1 = weight[at + inSize];
    const w2 = weight[at + 2 * inSize];
    const w3 = weight[at + 3 * inSize];
    a += one * w0;
    b += one * w1;
    c += one * w2;
    d += one * w3;
    e += other * w0;
    f += other * w1;
    g += other * w2;
    h += other * w3;
  }
  put(y, row * bias.length + out, a, b, c, d);
  put(y, (row + 1) * bias.length + out, e, f, g, h);
}

/** One row and four outputs.
 * @type {(y: Float32Array, x: Float32Array, weight: Float32Array, bias: Float32Array,
 *   row: number, out: number, inSize: number) => void} */
function oneRow(y, x, weight, bias, row, out, inSize) {
  let [a, b, c, d] = [bias[out], bias[out + 1], bias[out + 2], bias[out + 3]];
  for (let i = 0, at = out * inSize; i < inSize; i++, at++) {
    const value = x[row * inSize + i];
    a += value * weight[at];
    b += value * weight[at + inSize];
    c += value * weight[at + 2 * inSize];
    d += value * weight[at + 3 * inSize];
  }
  put(y, row * bias.length + out, a, b, c, d);
}

/** @type {(y: Float32Array, at: number, a: number, b: number, c: number, d: number) => void} */
function put(y, at, a, b, c, d) {
  y[at] = a;
  y[at + 1] = b;
  y[at + 2] = c;
  y[at + 3] = d;
}
