// The five steps for other numbers of Q, K and V. Python computes what AttentionSteps shows; while a number is dragged,
// nobody else can answer at once. The names are those of `steps_data`, and a test compares the numbers.

import { extent } from "../shared/elements.js";

/** @import { MatrixName } from "../shared/constants.js" */
/** @import { Change } from "../shared/stepping.js" */
/** @import { Step, StepsData, Tensor } from "../shared/types.js" */

/** @type {MatrixName[]} */
const SCORES = ["scores", "scaled", "masked"]; // they share the ends of their colours

/** The same attention with other numbers.
 * @param {StepsData} data
 * @param {Change[]} changes
 * @returns {StepsData}
 */
export function changed(data, changes) {
  if (!changes.length) return data;
  const { matrices, allowed, scale } = data;
  const given = (/** @type {MatrixName} */ name) => {
    const { numbers } = matrices[name];
    const values = Float64Array.from(numbers.values);
    for (const [of, row, column, value] of changes) if (of === name) values[row * numbers.shape[1] + column] = value;
    return tensor(numbers.shape, values);
  };
  const [queries, keys, values] = [given("queries"), given("keys"), given("values")];
  const scores = product(queries, keys);
  const scaled = tensor(
    scores.shape,
    scores.values.map((x) => x * scale),
  );
  const masked = tensor(
    scores.shape,
    scaled.values.map((x, at) => (allowed.values[at] ? x : -Infinity)),
  );
  const weights = softmax(masked);
  /** @type {Partial<Record<MatrixName, Tensor>>} */
  const found = { queries, keys, values, scores, scaled, masked, weights, context: product(weights, values) };
  return {
    ...data,
    matrices: /** @type {StepsData["matrices"]} */ (
      Object.fromEntries(
        Object.entries(matrices).map(([name, matrix]) => [
          name,
          { ...matrix, numbers: found[/** @type {MatrixName} */ (name)] ?? matrix.numbers },
        ]),
      )
    ),
    steps: data.steps.map((step) => ({ ...step, limits: limitsOf(data, step, found) })),
  };
}

/** The ends of the colours: those of the given numbers, so that where nothing changed, no colour changes; or of the
 * numbers now, if these go further. The scores of the steps 1 to 3 have the same ends.
 * @param {StepsData} data
 * @param {Step} step
 * @param {Partial<Record<MatrixName, Tensor>>} found
 */
function limitsOf({ matrices }, step, found) {
  const now = (/** @type {MatrixName} */ name) => (found[name] ?? matrices[name].numbers).values;
  const own = (/** @type {MatrixName} */ name) =>
    extent(
      step.limits[name] ?? matrices[name].numbers.values,
      ...(SCORES.includes(name) ? [now("scores"), now("scaled")] : [now(name)]),
    );
  return Object.fromEntries([...step.inputs, step.result].map((name) => [name, own(name)]));
}

/** @type {(shape: number[], values: Float64Array) => Tensor<Float64Array>} */
const tensor = (shape, values) => ({ shape, values, at: (row, column) => values[row * shape[1] + column] });

/** The matrix product.
 * @param {Tensor} left
 * @param {Tensor} right
 */
function product(left, right) {
  const [rows, inner] = left.shape;
  const columns = right.shape[1];
  const values = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++)
      for (let k = 0; k < inner; k++) values[i * columns + j] += left.at(i, k) * right.at(k, j);
  return tensor([rows, columns], values);
}

/** Each row as weights that sum to 1; zeros where all of it is masked.
 * @param {Tensor} masked
 */
function softmax({ shape, values }) {
  const [rows, columns] = shape;
  const weights = new Float64Array(values.length);
  for (let i = 0; i < rows; i++) {
    const row = [...values.slice(i * columns, (i + 1) * columns)];
    const most = Math.max(...row);
    if (most === -Infinity) continue;
    const powers = row.map((x) => Math.exp(x - most));
    const sum = powers.reduce((total, x) => total + x, 0);
    weights.set(
      powers.map((x) => x / sum),
      i * columns,
    );
  }
  return tensor(shape, weights);
}
