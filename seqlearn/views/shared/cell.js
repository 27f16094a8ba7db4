// The arithmetic of one attention weight on real vectors: q, k, products, score, mask, softmax, weighted sum.

import { BLUE_RED, VIRIDIS } from "./colours.js";
import { cellOf, weightText } from "./attention.js";
import { byFinger, frameSign, legendOf, make, maskedSign, number, token } from "./elements.js";
import { heatMap, longestOf } from "./heatmap.js";

/** @import { MatrixName } from "./constants.js" */
/** @import { HeatMap, MapOptions } from "./heatmap.js" */
/** @import { Child, Extent, StepsData } from "./types.js" */

/** @typedef {ReturnType<typeof numbersOf>} Numbers the numbers behind one cell */

/** What made one cell of an attention map, on one screen.
 *
 * steps: what `steps_data` returned, unpacked. row, column: the cell. room: the width in pixels. lock([row, column]):
 * called when another key is chosen. edited: what a person has changed in this row, in words: the vectors know nothing
 * of it. Gives { node, legend, focus(), says }. says: the sentences about the cell, as a list of elements.
 * @param {StepsData} steps
 * @param {{
 *   row: number,
 *   column: number,
 *   room: number,
 *   lock: (cell: [row: number, column: number]) => void,
 *   edited?: string,
 * }} options
 */
export function cellArithmetic(steps, { row, column, room, lock, edited = "" }) {
  const cell = numbersOf(steps, row, column);
  const { query, key, score, weight } = cell;
  const names = {
    query: `q of ${query}`,
    key: `k of ${key}`,
    product: "products",
    part: `${weightText(weight)} · v of ${key}`,
    context: `context of ${query}`,
  };
  const left = longestOf([...Object.values(names), "score", "weight"]) + 6;
  const space = room - left;
  const { size, key: keys, value } = steps.axes;
  const [scores, weights] = softmaxMaps(cell, keys, column, space, (at) => lock([row, at]));
  const node = make(
    "div",
    { class: "cell-stages" },
    stageOfCell(
      "1. query and key",
      [": the vectors of ", token(query), " and ", token(key), ` in this head, ${size.length} numbers each`],
      strip([names.query, names.key], size, [...cell.q, ...cell.k], around(cell.q, cell.k), space),
    ),
    stageOfCell(
      "2. product",
      [`: number by number; their sum is q · k = ${number(cell.product)}`],
      strip([names.product], size, cell.products, around(cell.products), space),
    ),
    stageOfCell("3. scale and mask", scaleWords(cell, steps.scale)),
    stageOfCell("4. softmax", softmaxWords(cell), scores, weights),
    stageOfCell(
      "5. weighted sum",
      [
        ": the context of ",
        token(query),
        " is the sum of weight · v over all keys; ",
        edited ? make("strong", {}, `but ${edited}`) : "this head passes it on",
      ],
      strip(
        [names.part, names.context],
        value,
        [...cell.part, ...cell.context],
        around(cell.part, cell.context),
        space,
      ),
    ),
  );
  node.style.setProperty("--left", `${left}px`);
  return {
    node,
    legend: legendOf(
      ["blue: below 0, red: above 0; the largest number of a stage has the strongest colour", ""],
      [frameSign(true), "this key"],
      cell.masked && [maskedSign(), "masked"],
    ),
    focus: () => weights.focus(),
    says: [
      token(query),
      " gives ",
      token(key),
      ` the score ${cell.masked ? "−∞" : number(score)} and the weight ${weightText(weight)}. `,
      edited ? make("strong", {}, `But ${edited}. `) : null,
      make(
        "span",
        { class: "faint" },
        byFinger() ? "Tap another key." : "Click another key, or press Left and Right; Escape goes back.",
      ),
    ],
  };
}

/** Rows of numbers as a heat map, in a room of so many pixels without the labels.
 * @param {string[]} rows
 * @param {string[]} columns
 * @param {number[]} values
 * @param {Extent} limits
 * @param {number} space
 * @param {Partial<MapOptions>} options
 */
function strip(rows, columns, values, limits, space, options = {}) {
  const width = Math.max(2, Math.min(26, Math.floor((space - 30) / columns.length)));
  const map = heatMap({
    title: rows.join(", "),
    rows,
    columns,
    ramp: BLUE_RED,
    width,
    height: 20,
    most: 0,
    bar: false,
    every: { columns: Math.ceil(24 / width) },
    ...options,
  });
  map.show(values, limits);
  return map;
}

/** The scores of a query and its weights, one below the other; another key can be chosen in the weights.
 * @param {Numbers} cell
 * @param {string[]} keys
 * @param {number} column
 * @param {number} space
 * @param {(column: number) => void} choose
 */
function softmaxMaps({ query, scores, weights, isMasked }, keys, column, space, choose) {
  const wide = { width: cellOf(keys.length, 48, space - 60), height: 24, most: 24, every: {}, isMasked };
  const above = strip(["score"], keys, scores, around(scores), space, {
    ...wide,
    word: (_value, i, j) => (isMasked(i, j) ? "−∞" : null),
  });
  const unnamed = keys.map(() => "");
  const below = strip(["weight"], unnamed, weights, [0, 1], space, {
    ...wide,
    ramp: VIRIDIS,
    least: 0.005,
    word: (_value, i, j) => (isMasked(i, j) ? "0" : null),
    title: `weights of ${query}`,
    start: { row: 0, column },
    point: () => {},
    lock: (at) => choose(at ? at.column : column),
    enters: "the weight of another key is explained",
  });
  below.target({ row: 0, column });
  for (const map of [above, below]) map.mark([{ row: 0, column, strong: true }]);
  return [above, below];
}

/** @type {(cell: Numbers, scale: number) => string[]} */
function scaleWords({ q, product, score, masked }, scale) {
  const factor = Math.abs(scale - q.length ** -0.5) < 1e-9 ? ` / √${q.length}` : ` · ${number(scale)}`;
  return [
    `: score = ${inBrackets(product)}${factor} = ${number(score)}; `,
    masked ? "the key is masked, so the score becomes −∞" : "the key may be attended, so the score stays",
  ];
}

/** @type {(cell: Numbers) => string[]} */
function softmaxWords({ score, weight, weights, isMasked, masked }) {
  if (masked) return [": e^−∞ = 0, so the weight is 0"];
  const open = weights.filter((_, j) => !isMasked(0, j)).length;
  const sum = `the sum of e^score over ${open} key${open > 1 ? "s" : ""}`;
  return [`: weight = e^${inBrackets(score)} / (${sum}) = ${weightText(weight)}`];
}

/** The numbers behind one cell; the rest of the row is needed for the softmax.
 * @param {StepsData} steps
 * @param {number} row
 * @param {number} column
 */
function numbersOf({ axes, matrices, allowed }, row, column) {
  /** @type {(name: MatrixName, i: number, j: number) => number} */
  const at = (name, i, j) => matrices[name].numbers.at(i, j);
  const q = axes.size.map((_, s) => at("queries", row, s));
  const k = axes.size.map((_, s) => at("keys", s, column));
  const scores = axes.key.map((_, j) => at("scaled", row, j));
  const weights = axes.key.map((_, j) => at("weights", row, j));
  const isMasked = (/** @type {number} */ _i, /** @type {number} */ j) => !allowed.at(row, j);
  return {
    query: axes.query[row],
    key: axes.key[column],
    q,
    k,
    products: q.map((x, s) => x * k[s]),
    product: at("scores", row, column),
    scores,
    weights,
    score: scores[column],
    weight: weights[column],
    isMasked,
    masked: isMasked(0, column),
    part: axes.value.map((_, c) => at("weights", row, column) * at("values", column, c)),
    context: axes.value.map((_, c) => at("context", row, c)),
  };
}

/** @type {(name: string, words: Child[], ...maps: HeatMap[]) => HTMLElement} */
const stageOfCell = (name, words, ...maps) =>
  make(
    "div",
    { class: "stage-of-cell" },
    make("p", {}, make("strong", {}, name), ...words),
    ...(maps.length
      ? [make("div", { class: maps.length > 1 ? "scrolls" : "strip" }, ...maps.map((map) => map.node))]
      : []),
  );
/** @type {(...lists: number[][]) => Extent} */
const around = (...lists) => {
  const most = Math.max(...lists.flat().map(Math.abs), 1e-9);
  return [-most, most];
};
const inBrackets = (/** @type {number} */ x) => (x < 0 ? `(${number(x)})` : number(x));
