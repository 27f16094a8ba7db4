// The arithmetic of one attention weight on real vectors: q, k, products, score, mask, softmax, weighted sum.

/** What made one cell of an attention map, on one screen.
 *
 * steps: what `steps_data` returned, unpacked. row, column: the cell. room: the width in pixels. lock([row, column]): called
 * when another key is chosen. edited: what a person has changed in this row, in words: the vectors know nothing of it.
 * Gives { node, legend, focus(), says }. says: the sentences about the cell, as a list of elements.
 */
function cellArithmetic(steps, { row, column, room, lock, edited = "" }) {
  const cell = numbersOf(steps, row, column);
  const { query, key, score, weight, product, isMasked, scores, weights } = cell;
  const { axes, scale } = steps;
  const size = axes.size.length;
  const masked = isMasked(0, column);
  const names = [`q of ${query}`, `k of ${key}`, "q · k", "score", "weight", `${weightText(weight)} · v of ${key}`, `context of ${query}`];
  const left = longestOf(names) + 6;
  const strip = (rows, columns, values, limits, options = {}) => {
    const width = Math.max(2, Math.min(26, Math.floor((room - left - 30) / columns.length)));
    const map = heatMap({ title: rows.join(", "), rows, columns, ramp: BLUE_RED, width, height: 20, most: 0, bar: false, every: { columns: Math.ceil(24 / width) }, ...options });
    map.show(values, limits);
    return map;
  };
  const wide = { width: cellOf(axes.key.length, 48, room - left - 60), height: 24, most: 24, every: {}, isMasked };
  const hidden = (value, i, j) => (isMasked(i, j) ? "−∞" : null);
  const scored = strip(["score"], axes.key, scores, around(scores), { ...wide, word: hidden });
  const softmax = strip(["weight"], axes.key.map(() => ""), weights, [0, 1], { ...wide, ramp: VIRIDIS, least: 0.005, word: (value, i, j) => (isMasked(i, j) ? "0" : null),
    title: `weights of ${query}`, start: { row: 0, column }, point: () => {}, lock: (at) => lock([row, at ? at.column : column]), enters: "the weight of another key is explained" });
  softmax.target({ row: 0, column });
  [scored, softmax].forEach((map) => map.mark([{ row: 0, column, strong: true }]));
  const factor = Math.abs(scale - size ** -0.5) < 1e-9 ? ` / √${size}` : ` · ${number(scale)}`;
  const open = weights.filter((_, j) => !isMasked(0, j)).length;
  const node = make("div", { class: "cell-stages" },
    stageOfCell("1. query and key", [": the vectors of ", token(query), " and ", token(key), ` in this head, ${size} numbers each`],
      strip([names[0], names[1]], axes.size, [...cell.q, ...cell.k], around(cell.q, cell.k))),
    stageOfCell("2. product", [`: number by number; their sum is q · k = ${number(product)}`], strip([names[2]], axes.size, cell.products, around(cell.products))),
    stageOfCell("3. scale and mask", [`: score = ${inBrackets(product)}${factor} = ${number(score)}; `, masked ? "the key is masked, so the score becomes −∞" : "the key may be attended, so the score stays"]),
    stageOfCell("4. softmax", [masked ? ": e^−∞ = 0, so the weight is 0" : `: weight = e^${inBrackets(score)} / (the sum of e^score over ${open} key${open > 1 ? "s" : ""}) = ${weightText(weight)}`], scored, softmax),
    stageOfCell("5. weighted sum", [": the context of ", token(query), " is the sum of weight · v over all keys; ", ...(edited ? [make("strong", {}, `but ${edited}`)] : ["this head passes it on"])],
      strip([names[5], names[6]], axes.value, [...cell.part, ...cell.context], around(cell.part, cell.context))));
  node.style.setProperty("--left", `${left}px`);
  return {
    node,
    legend: legendOf(["blue: below 0, red: above 0, white: 0; the largest number of a stage has the darkest colour", ""], [frameSign(true), "this key"], masked && [maskedSign(), "masked"]),
    focus: () => softmax.focus(),
    says: [token(query), " gives ", token(key), ` the score ${masked ? "−∞" : number(score)} and the weight ${weightText(weight)}. `,
      ...(edited ? [make("strong", {}, `But ${edited}. `)] : []),
      make("span", { class: "faint" }, byFinger() ? "Tap another key." : "Click another key, or press Left and Right; Escape goes back.")],
  };
}

/** The numbers behind one cell; the rest of the row is needed for the softmax. */
function numbersOf({ axes, matrices, allowed }, row, column) {
  const at = (name, i, j) => matrices[name].numbers.at(i, j);
  const list = (texts, value) => texts.map((_, i) => value(i));
  const [q, k] = [list(axes.size, (s) => at("queries", row, s)), list(axes.size, (s) => at("keys", s, column))];
  const [scores, weights] = ["scaled", "weights"].map((name) => list(axes.key, (j) => at(name, row, j)));
  return {
    query: axes.query[row], key: axes.key[column], q, k, products: q.map((x, s) => x * k[s]), product: at("scores", row, column),
    scores, weights, score: scores[column], weight: weights[column], isMasked: (i, j) => !allowed.at(row, j),
    part: list(axes.value, (c) => at("weights", row, column) * at("values", column, c)), context: list(axes.value, (c) => at("context", row, c)),
  };
}

const stageOfCell = (name, words, ...maps) => make("div", { class: "stage-of-cell" }, make("p", {}, make("strong", {}, name), ...words),
  ...(maps.length ? [make("div", { class: maps.length > 1 ? "scrolls" : "strip" }, ...maps.map((map) => map.node))] : []));
const around = (...lists) => [-1, 1].map((sign) => sign * Math.max(...lists.flat().map(Math.abs), 1e-9));
const inBrackets = (x) => (x < 0 ? `(${number(x)})` : number(x));
