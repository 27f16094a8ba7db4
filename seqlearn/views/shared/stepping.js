// One attention in five steps, drawn from the data of `steps_data`. Python computes all numbers; here they are drawn and
// put into words. No function here knows a model, so that any view can show the steps: `steppingPanel` is told what to draw.

const MOST_TERMS = 6; // of a sum that is written out in full
const LARGEST_TERMS = 3; // of a longer sum
const BETWEEN = 48; // pixels for the sign between two matrices
const LARGE = { width: 46, height: 30, from: 1300 }; // of a cell, in a room of at least so many pixels
const SMALL_RESULT = { width: 104, height: 46 }; // of the strip, at most

/** The five steps of one attention.
 *
 * data: of `steps_data`, unpacked. choose(step): called when a small result of the strip is clicked. lock(cell or null):
 * called with { row, column } of the result after a click or Enter; null frees.
 *
 * Gives { strip, intro, panels, legend, says, show, mark }.
 * strip: the results of all steps, small, a button each. intro: the formula and the sentence of the step, a list of nodes.
 * panels: the matrices of the step. legend, says: the meaning of the frames, and the text about a cell.
 * show(step, locked, room): draws a step in a room of so many pixels; locked: the `[row, column]` of the result, or [].
 * mark(locked): marks another cell of the step that is shown.
 */
function steppingPanel(data, { choose, lock }) {
  const { axes, matrices, steps, empty, allowed } = data;
  const strip = stepStrip(data, choose);
  const [formula, note] = [make("p", { class: "formula" }), make("p", { class: "faint" })];
  const [panels, told] = [make("div", { class: "panels" }), make("div")];
  let [shown, hovered, kept] = [null, null, []]; // shown: { step, inputs: maps, result: map }

  const mark = (locked = kept) => {
    kept = locked;
    const [rows, columns] = matrices[shown.step.result].numbers.shape;
    const isLocked = kept[0] < rows && kept[1] < columns; // false where there is none
    const cell = isLocked ? { row: kept[0], column: kept[1] } : hovered;
    shown.result.target(isLocked ? cell : null);
    shown.result.mark(cell ? [{ ...cell, strong: true }] : []);
    shown.inputs.forEach((map, i) => map.mark(cell ? [madeBy(shown.step.made[i], cell)] : []));
    strip.mark(shown.step, cell);
    tell(told, ...(cell ? stepSentence(data, shown.step, cell, isLocked) : [pointHint("a cell of the result", "see what made it", { steps: true })]));
  };
  const show = (index, locked, room) => {
    const step = steps[index];
    const focused = panels.contains(panels.getRootNode().activeElement); // the map then gets the focus of the keyboard again
    const start = hovered;
    hovered = null;
    strip.set(index);
    formula.textContent = step.formula;
    note.replaceChildren(...stepNote(step, empty, axes.query));
    const widths = stepWidths(room, [...step.inputs, step.result].map((name) => matrices[name]), axes);
    const result = stepMatrix(data, step.result, step.limits, {
      width: widths.at(-1),
      room: room - BETWEEN,
      start,
      point: (cell) => {
        hovered = cell;
        mark();
      },
      lock,
    });
    const inputs = step.inputs.map((name, i) => stepMatrix(data, name, step.limits, { width: widths[i], room: room - BETWEEN }));
    shown = { step, inputs, result };
    const sign = (text) => make("span", { class: text.length > 1 ? "sign word-sign" : "sign", "aria-hidden": "true" }, text);
    panels.replaceChildren(...[...inputs, result].map(({ node }, i) =>
      make("div", { class: "signed" }, i ? sign(step.signs[i - 1]) : null, node)));
    const long = step.made.includes("column") && matrices[step.inputs[0]].numbers.shape[1] > MOST_TERMS;
    told.classList.toggle("long", long); // what stands below keeps its place while the mouse moves
    mark(locked);
    if (focused) result.focus();
  };
  const legend = legendOf([frameSign(true), "the number that is explained"], [frameSign(), "what made it"],
    allowed.values.includes(0) ? [maskedSign(), "masked"] : null);
  return { strip: strip.node, intro: [formula, note], panels, legend, says: told, show, mark };
}

/** The results of all steps, small, each a button with its name and the number of the cell that is explained. */
function stepStrip(data, choose) {
  const { matrices, steps, allowed } = data;
  const buttons = steps.map(({ name, result }, i) => {
    const { numbers, masked } = matrices[result];
    const [rows, columns] = numbers.shape;
    const [width, height] = [Math.min(16, SMALL_RESULT.width / columns), Math.min(12, SMALL_RESULT.height / rows)];
    const canvas = make("canvas");
    const context = scaled(canvas, width * columns, height * rows);
    const { limits, ramp } = stepColours(matrices[result], steps[i].limits[result]);
    const [down, right] = [Math.ceil(1 / height), Math.ceil(1 / width)]; // of cells below a pixel, only some are drawn
    for (let row = 0; row < rows; row += down) {
      for (let column = 0; column < columns; column += right) {
        const share = (numbers.at(row, column) - limits[0]) / (limits[1] - limits[0] || 1);
        context.fillStyle = masked && !allowed.at(row, column) ? MASKED.ground : `rgb(${colour(share, ramp)})`;
        context.fillRect(column * width, row * height, right * width + 0.5, down * height + 0.5);
      }
    }
    canvas.style.width = "100%"; // narrower in a narrow page
    const [spot, value] = [make("span", { class: "traced", hidden: true }), make("span", { class: "value" })];
    const thumb = make("span", { class: "thumb" }, canvas, spot);
    thumb.style.width = `${width * columns}px`;
    const label = `${i + 1} ${name}`;
    const node = make("button", { type: "button", class: "result", onclick: () => choose(i) }, make("span", {}, label), thumb, " ", value); // the space: as in its aria-label
    return { node, spot, value, label, result };
  });
  return {
    node: make("div", { class: "five" }, ...buttons.map(({ node }) => node)),
    set: (index) => buttons.forEach(({ node }, i) => (i === index ? node.setAttribute("aria-current", "step") : node.removeAttribute("aria-current"))),
    /** Mark the place of this cell in all results with the same columns, and write the numbers there. In the others mark its
     * row: a context is made by a row of weights, and a weight is a part of a row of contexts. */
    mark(step, cell) {
      for (const { node, spot, value, label, result } of buttons) {
        const [rows, columns] = matrices[result].numbers.shape;
        const here = cell && matrices[result].columns === matrices[step.result].columns;
        spot.hidden = !cell;
        value.textContent = here ? number(matrices[result].numbers.at(cell.row, cell.column)) : "";
        node.setAttribute("aria-label", `${label} ${value.textContent}`.trim());
        if (!cell) continue;
        const shares = { left: here ? cell.column / columns : 0, top: cell.row / rows, width: here ? 1 / columns : 1, height: 1 / rows };
        for (const [side, share] of Object.entries(shares)) spot.style[side] = `${100 * share}%`;
      }
    },
  };
}

/** The colours of a matrix: blue to red, white at 0, for the numbers of vectors; the ramp of weights for all others. */
function stepColours({ rows, columns, numbers }, limits) {
  if (columns === "key" && rows === "query") return { limits: limits ?? extent(numbers.values), ramp: VIRIDIS };
  const most = Math.max(...extent(numbers.values).map(Math.abs)) || 1;
  return { limits: [-most, most], ramp: BLUE_RED };
}

/** The width of a cell in each matrix. The result has one size in all steps, wide enough for numbers if the room allows. The
 * inputs stand beside the result where they have 10 pixels a cell, otherwise above; undefined: each below the other. */
function stepWidths(room, list, axes) {
  const count = list.map(({ numbers }) => numbers.shape[1]);
  const total = (numbers) => numbers.reduce((sum, x) => sum + x, 0);
  const labels = list.map(({ rows, columns }) => longestOf(axes[rows]) + 0.6 * longestOf(axes[columns]) + 18 + BETWEEN);
  const own = room - labels.at(-1);
  const wide = cellIn(room).width;
  const result = count.at(-1) * wide <= own ? wide : Math.max(4, fit(count.at(-1), wide - 1, own));
  const inputs = count.slice(0, -1);
  for (const left of [room - total(labels) - count.at(-1) * result, room - total(labels.slice(0, -1))]) {
    const each = total(inputs) * wide <= left ? wide : fit(total(inputs), wide - 1, left);
    if (each === wide || (each >= 10 && room >= 500)) return [...inputs.map(() => each), result];
  }
  return [...inputs.map(() => undefined), result];
}

/** The size of a cell, larger where there is much room. */
const cellIn = (room) => (room >= LARGE.from ? LARGE : CELL);

/** The part of an input that made a cell of the result: the row, the column, or the same cell. */
function madeBy(how, { row, column }) {
  return { row: { row }, column: { column }, same: { row, column } }[how];
}

const FEW = 36; // numbers of a matrix in which small ones are written, too

/** One matrix of a step as a heat map. */
function stepMatrix({ axes, matrices, allowed }, name, given, options) {
  const { title, rows, columns, numbers, masked } = matrices[name];
  const [count, size] = numbers.shape;
  const isMask = name === "mask";
  const { limits, ramp } = stepColours(matrices[name], given[name]);
  const least = count * size > FEW ? HIDDEN_BELOW : 0.005; // in a small example, every number counts
  const plain = (value) => (name === "weights" && value < least ? "" : null);
  const each = (texts) => (texts.length > MOST_NUMBERS && texts.every((text) => /^\d+$/.test(text)) ? 4 : undefined);
  const map = heatMap({
    title: `${title} (${count} × ${size})`,
    rows: axes[rows],
    columns: axes[columns],
    isMasked: masked ? (i, j) => !allowed.at(i, j) : undefined,
    word: (value, i, j) => (isMask && value ? "✓" : value === -Infinity ? "−∞" : !masked || allowed.at(i, j) ? plain(value) : "–"),
    tint: isMask ? OPEN : null,
    ramp,
    every: { rows: each(axes[rows]), columns: each(axes[columns]) },
    bar: !isMask,
    height: count <= MOST_NUMBERS ? cellIn(options.room).height : undefined,
    ...options,
  });
  map.show(numbers.values, limits);
  return map;
}

/** The step in words, and the queries with nothing to attend to. */
function stepNote(step, empty, queries) {
  const names = empty.slice(0, 8).flatMap((i, place) => [place ? ", " : "", token(queries[i])]);
  const more = empty.length > 8 ? ` and ${empty.length - 8} more` : "";
  const parts = step.empty && empty.length ? [" Nothing to attend to: ", ...names, more, ". " + step.empty] : [];
  return [step.sentence, ...parts];
}

const CELL_NAMES = { // of a cell of a result: before the row, between row and column
  scores: ["product of ", " and "],
  scaled: ["score of ", " for "],
  masked: ["masked score of ", " for "],
  weights: ["weight of ", " for "],
  context: ["context of ", ", column "],
};

/** A cell of the result, and the arithmetic behind it. */
function stepSentence(data, step, { row, column }, isLocked) {
  const { axes, matrices } = data;
  const { rows, columns, numbers } = matrices[step.result];
  const [before, between] = CELL_NAMES[step.result];
  const head = make("div", {}, before, token(axes[rows][row]), between, token(axes[columns][column]), lockNote(isLocked));
  const { text, terms } = STEP_WORDS[step.result](data, row, column, numbers.at(row, column));
  return [head, make("div", { class: "formula" }, text), ...(terms ? [termMap(data, step, row, column, terms)] : [])];
}

const STEP_WORDS = {
  scores: ({ matrices, axes }, i, j, value) => products(across(matrices.queries, i), down(matrices.keys, j), value, axes.size),
  scaled: ({ matrices, scale }, i, j, value) => {
    const score = matrices.scores.numbers.at(i, j);
    return { text: `${inProduct(score)}·${inProduct(scale)} ${relation([score, scale, value])} ${number(value)}` };
  },
  masked: ({ matrices, allowed }, i, j) => {
    const score = number(matrices.scaled.numbers.at(i, j));
    return { text: allowed.at(i, j) ? `may be attended: ${score} stays` : `masked: ${score} becomes −∞, and e^−∞ = 0` };
  },
  weights: ({ matrices, empty }, i, j, value) => {
    if (empty.includes(i)) return { text: "every key is masked: nothing to attend to, so the weight is 0" };
    const scores = across(matrices.masked, i);
    const power = (score) => `e^${score < 0 && score !== -Infinity ? `(${number(score)})` : number(score)}`;
    const all = scores.length <= MOST_TERMS;
    const below = all ? scores.map(power).join(" + ") : `Σ of ${scores.length} such powers = ${number(scores.reduce((sum, score) => sum + Math.exp(score), 0))}`;
    return { text: `${power(scores[j])} / (${below}) ${relation([...scores, value])} ${number(value)}` };
  },
  context: ({ matrices, axes }, i, j, value) => products(across(matrices.weights, i), down(matrices.values, j), value, axes.key),
};

const across = ({ numbers }, i) => Array.from({ length: numbers.shape[1] }, (_, j) => numbers.at(i, j));
const down = ({ numbers }, j) => Array.from({ length: numbers.shape[0] }, (_, i) => numbers.at(i, j));
const inProduct = (x) => (x < 0 ? `(${number(x)})` : number(x));

/** A dot product in words. A long one names its largest terms, and gives all of them as `terms`: left, right, product. */
function products(left, right, value, names) {
  const written = (k) => `${inProduct(left[k])}·${inProduct(right[k])}`;
  const end = `${relation([...left, ...right, value])} ${number(value)}`;
  if (left.length <= MOST_TERMS) return { text: `${left.map((_, k) => written(k)).join(" + ")} ${end}` };
  const terms = left.map((x, k) => x * right[k]);
  const order = terms.map((_, k) => k).sort((a, b) => Math.abs(terms[b]) - Math.abs(terms[a])).slice(0, LARGEST_TERMS);
  const named = order.map((k) => `${written(k)} ${relation([left[k], right[k], terms[k]])} ${number(terms[k])} (at ${oneLine(names[k])})`);
  const rest = value - order.reduce((sum, k) => sum + terms[k], 0);
  const others = `the other ${left.length - order.length} ${relation([rest])} ${number(rest)}`;
  return { text: `Σ of ${left.length} products ${relation([value])} ${number(value)}; the largest: ${named.join(", ")}; ${others}`, terms: [left, right, terms] };
}

/** A long dot product as three rows of colours: both vectors, and their products term by term. */
function termMap({ axes }, step, row, column, terms) {
  const isContext = step.result === "context";
  const names = isContext ? axes.key : axes.size;
  const rows = [axes.query[row], isContext ? `V ${axes.value[column]}` : axes.key[column], "product"];
  const most = (list) => Math.max(...list.map(Math.abs)) || 1;
  const shares = terms.flatMap((list) => list.map((x) => x / most(list))); // each row has its own largest colour
  const map = heatMap({
    title: "term by term: blue is below 0, red above", rows, columns: names, ramp: BLUE_RED, bar: false, word: () => "",
    width: Math.max(4, Math.min(18, Math.floor(260 / names.length))), height: 14, every: { columns: isContext ? undefined : 4 },
  });
  map.show(shares, [-1, 1]);
  return make("div", { class: "terms" }, map.node);
}
