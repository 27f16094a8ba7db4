// The kernels of `seqlearn/nn/kernels.py`, with the same names. Python computes what KernelView shows, but for one
// case: in a page of its own, where a reading was moved, nobody else can answer. A test compares these numbers with
// those of PyTorch.

/** @typedef {"gaussian" | "boxcar" | "epanechnikov" | "triangular" | "constant"} Kernel */

/** How alike two points are, given their distance u in units of the width.
 * @type {(name: Kernel, u: number) => number}
 */
export function kernel(name, u) {
  switch (name) {
    case "gaussian":
      return Math.exp(-(u ** 2) / 2);
    case "boxcar":
      return Math.abs(u) < 1 ? 1 : 0;
    case "epanechnikov":
      return Math.max(1 - u ** 2, 0);
    case "triangular":
      return Math.max(1 - Math.abs(u), 0);
    case "constant":
      return 1;
  }
  throw new Error(`there is no kernel ${name}`);
}

/** How much each key counts for one query: the weights sum to 1, or are all 0 where no key is within reach.
 * @type {(name: Kernel, width: number, query: number, keys: number[]) => number[]}
 */
function kernelWeights(name, width, query, keys) {
  const distances = keys.map((key) => (query - key) / width);
  // as in a softmax: no count becomes 0
  const nearest = name === "gaussian" ? Math.min(...distances.map((u) => u ** 2)) : 0;
  const counts = distances.map((u) => (name === "gaussian" ? Math.exp((nearest - u ** 2) / 2) : kernel(name, u)));
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count) => count / (total || 1));
}

/** Kernel regression: the weights and the prediction of each query; the prediction is NaN where no key is within reach.
 * @param {Kernel} name
 * @param {number} width
 * @param {number[]} queries
 * @param {number[][]} readings keys and values
 */
export function kernelRegression(name, width, queries, readings) {
  const keys = readings.map(([key]) => key);
  const weights = queries.map((query) => kernelWeights(name, width, query, keys));
  const predictions = weights.map((row) =>
    row.some((weight) => weight > 0) ? row.reduce((sum, weight, i) => sum + weight * readings[i][1], 0) : NaN,
  );
  return { weights, predictions };
}
