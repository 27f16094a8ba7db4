// AttentionSteps: one attention in five steps. Python computes all numbers; here they are drawn and put into words.

const MOST_TERMS = 6; // of a sum that is written out in full
const SIGN = 32; // pixels for the sign between two matrices

function build(model, root, data) {
  const { axes, matrices, steps, empty, allowed } = data;
  const at = () => Math.min(Math.max(model.get("step"), 0), steps.length - 1);
  const texts = steps.map(({ name }, i) => `step ${i + 1} of ${steps.length}: ${name}`);
  const walk = stepper(root, { texts, choose: (step) => change(model, { step }) });
  const formula = make("p", { class: "formula" });
  const note = make("p", { class: "faint" });
  const panels = make("div", { class: "panels" });
  const told = make("div");
  layOut(root, "attention, step by step", {
    controls: { steps: walk.nodes },
    intro: [formula, note],
    panels,
    legend: legendOf([frameSign(true), "the number that is explained"], [frameSign(), "what made it"],
      allowed.values.includes(0) ? [maskedSign(), "masked"] : null),
    says: [told],
  });
  let shown; // { step, inputs: maps, result: map }
  let hovered = null;

  const explain = () => {
    const { row, column } = hovered ?? {};
    const [lockedRow, lockedColumn] = model.get("locked");
    const [rows, columns] = matrices[shown.step.result].numbers.shape;
    const isLocked = lockedRow < rows && lockedColumn < columns; // false where there is none
    const cell = isLocked ? { row: lockedRow, column: lockedColumn } : hovered && { row, column };
    shown.result.target(isLocked ? cell : null);
    shown.result.mark(cell ? [{ ...cell, strong: true }] : []);
    shown.inputs.forEach((map, i) => map.mark(cell ? [made(shown.step.made[i], cell)] : []));
    tell(told, ...(cell ? sentence(data, shown.step, cell, isLocked) : [hint()]));
  };
  const redraw = () => {
    const step = steps[at()];
    const focused = panels.contains(root.getRootNode().activeElement); // the map then gets the focus of the keyboard again
    const start = hovered;
    hovered = null;
    walk.set(at());
    formula.textContent = step.formula;
    note.replaceChildren(...noteOf(step, empty, axes.query));
    const names = [...step.inputs, step.result];
    const room = roomIn(root);
    const widths = cellWidths(room, names.map((name) => matrices[name]), axes);
    const result = panel(data, step.result, step.limits, {
      width: widths.at(-1),
      room: room - SIGN,
      start,
      point: (cell) => {
        hovered = cell;
        explain();
      },
      lock: (cell) => change(model, { locked: cell ? [cell.row, cell.column] : [] }),
    });
    shown = { step, inputs: step.inputs.map((name, i) => panel(data, name, step.limits, { width: widths[i], room: room - SIGN })), result };
    const sign = (text) => make("span", { class: "sign", "aria-hidden": "true" }, text);
    panels.replaceChildren(...[...shown.inputs, result].map(({ node }, i) =>
      make("div", { class: "signed" }, i ? sign(step.signs[i - 1]) : null, node)));
    explain();
    if (focused) result.focus();
  };
  return { step: redraw, locked: explain, resized: redraw };
}

const hint = () => pointHint("a cell of the result", "see what made it", { steps: true });

/** The width of a cell in each matrix, so that all matrices stand side by side: wide enough for numbers in all of them,
 * or in the result only, or in none. Where even that is too wide, the widths are undefined and the matrices stand below
 * each other. */
function cellWidths(room, matrices, axes) {
  const count = matrices.map(({ numbers }) => numbers.shape[1]);
  const total = (list) => list.reduce((sum, x) => sum + x, 0);
  const left = room - total(matrices.map(({ rows, columns }) => longestOf(axes[rows]) + 0.6 * longestOf(axes[columns]) + 18 + SIGN));
  if (total(count) * CELL.width <= left) return count.map(() => CELL.width);
  if (room < 500) return []; // below each other in any case
  const inputs = fit(total(count.slice(0, -1)), CELL.width - 1, left - count.at(-1) * CELL.width);
  if (inputs >= 10) return [...count.slice(0, -1).map(() => inputs), CELL.width];
  const all = fit(total(count), CELL.width - 1, left);
  return count.map(() => (all >= 8 ? all : undefined));
}

/** The part of an input that made a cell of the result: the row, the column, or the same cell. */
function made(how, { row, column }) {
  return { row: { row }, column: { column }, same: { row, column } }[how];
}

function panel({ axes, matrices, allowed }, name, limits, options) {
  const { title, rows, columns, numbers, masked } = matrices[name];
  const [count, size] = numbers.shape;
  const isMask = name === "mask";
  const map = heatMap({
    title: `${title} (${count} × ${size})`,
    rows: axes[rows],
    columns: axes[columns],
    isMasked: masked ? (i, j) => !allowed.at(i, j) : undefined,
    word: masked ? (value, i, j) => (isMask && value ? "✓" : value === -Infinity ? "−∞" : allowed.at(i, j) ? null : "–") : null,
    tint: isMask ? OPEN : null,
    bar: !isMask,
    ...options,
  });
  map.show(numbers.values, limits[name]);
  return map;
}

/** The step in words, and the queries with nothing to attend to. */
function noteOf(step, empty, queries) {
  const names = empty.slice(0, 8).flatMap((i, place) => [place ? ", " : "", token(queries[i])]);
  const more = empty.length > 8 ? ` and ${empty.length - 8} more` : "";
  const parts = step.empty && empty.length ? [" Nothing to attend to: ", ...names, more, ". " + step.empty] : [];
  return [step.sentence, ...parts];
}

/** A cell of the result, and the arithmetic behind it. */
function sentence(data, step, { row, column }, isLocked) {
  const { axes, matrices } = data;
  const { rows, columns, numbers } = matrices[step.result];
  const names = [token(axes[rows][row]), columns === "key" ? " looks at " : ", column ", token(axes[columns][column])];
  const words = WORDS[step.result](data, row, column, numbers.at(row, column));
  return [make("div", {}, ...names, lockNote(isLocked)), make("div", { class: "formula" }, words)];
}

const WORDS = {
  scores: ({ matrices }, i, j, value) => products(across(matrices.queries, i), down(matrices.keys, j), value),
  scaled: ({ matrices, scale }, i, j, value) => {
    const score = matrices.scores.numbers.at(i, j);
    return `${inProduct(score)}·${inProduct(scale)} ${relation([score, scale, value])} ${number(value)}`;
  },
  masked: ({ matrices, allowed }, i, j) => {
    const score = number(matrices.scaled.numbers.at(i, j));
    return allowed.at(i, j) ? `may be attended: ${score} stays` : `masked: ${score} becomes −∞, and e^−∞ = 0`;
  },
  weights: ({ matrices, empty }, i, j, value) => {
    if (empty.includes(i)) return "every key is masked: nothing to attend to, so the weight is 0";
    const scores = across(matrices.masked, i);
    const power = (score) => `e^${score < 0 && score !== -Infinity ? `(${number(score)})` : number(score)}`;
    return `${power(scores[j])} / (${sum(scores, (k) => power(scores[k]))}) ${relation([...scores, value])} ${number(value)}`;
  },
  context: ({ matrices }, i, j, value) => products(across(matrices.weights, i), down(matrices.values, j), value),
};

const across = ({ numbers }, i) => Array.from({ length: numbers.shape[1] }, (_, j) => numbers.at(i, j));
const down = ({ numbers }, j) => Array.from({ length: numbers.shape[0] }, (_, i) => numbers.at(i, j));
const inProduct = (x) => (x < 0 ? `(${number(x)})` : number(x));

function products(left, right, value) {
  const terms = sum(left, (k) => `${inProduct(left[k])}·${inProduct(right[k])}`);
  return `${terms} ${relation([...left, ...right, value])} ${number(value)}`;
}

/** The terms with plus signs between them; of a long sum only the first terms and the last one. */
function sum(list, term) {
  const all = list.length <= MOST_TERMS;
  const first = Array.from({ length: all ? list.length : MOST_TERMS - 2 }, (_, k) => term(k));
  return (all ? first : [...first, "…", term(list.length - 1)]).join(" + ") + (all ? "" : ` [${list.length} terms]`);
}
