// One attention in five steps, drawn from the data of `steps_data`. Python computes all numbers; here they are drawn
// and put into words. No function here knows a model, so that any view can show the steps: `steppingPanel` is told what
// to draw.

import { BLUE_RED, MASKED, OPEN, VIRIDIS } from "./colours.js";
import { CELL_NAMES, FEW_NUMBERS, HIDDEN_BELOW } from "./constants.js";
import {
  byFinger,
  extent,
  focusIn,
  frameSign,
  legendOf,
  lockNote,
  make,
  maskedSign,
  number,
  oneLine,
  pointHint,
  relation,
  tell,
  token,
} from "./elements.js";
import { CELL, MOST_NUMBERS, colour, fit, heatMap, longestOf, scaled, widthOf, writeNumbers } from "./heatmap.js";

/** @import { Colours } from "./colours.js" */
/** @import { MatrixName, Part, ResultName } from "./constants.js" */
/** @import { HeatMap, MapOptions, Mark } from "./heatmap.js" */
/** @import { Cell, Extent, Step, StepMatrix, StepsData } from "./types.js" */

const MOST_TERMS = 6; // of a sum that is written out in full
const LARGEST_TERMS = 3; // of a longer sum
const TWO_LINES = 34; // pixels: the height of a cell with room for a second number
const BETWEEN = 48; // pixels for the sign between two matrices
const LARGE = { width: 112, height: 52, share: 0.62, tall: 320 }; // of a cell, at most; height by width; of all rows
const SMALL_RESULT = { width: 144, height: 48, cell: { width: 48, height: 22 } }; // of the strip, at most
/** @type {MatrixName[]} */
const INPUTS = ["queries", "keys", "values"]; // the numbers that a person may change

/** What to do: see `steppingPanel`.
 * @typedef {{
 *   choose: (step: number) => void,
 *   lock: (cell: Cell | null) => void,
 *   adjust?: ((name: MatrixName, cell: Cell, value: number) => void) | null,
 * }} Doing
 */

/** A number of an input that was changed.
 * @typedef {[name: MatrixName, row: number, column: number, value: number]} Change
 */

/** The five steps of one attention.
 *
 * data: of `steps_data`, unpacked. choose(step): called when a small result of the strip is clicked. lock(cell or
 * null): called with { row, column } of the result after a click or Enter; null frees. adjust(name, cell, value):
 * called when a number of Q, K or V is dragged or changed with keys; null: they stay. Large matrices always stay.
 *
 * Gives { strip, intro, panels, legend, says, show, mark, renew }.
 * strip: the results of all steps, small, a button each. intro: the formula and the sentence of the step, a list of
 * nodes. panels: the matrices of the step. legend, says: the meaning of the frames, and the text about a cell.
 * show(step, locked, room): draws a step in a room of so many pixels; locked: the `[row, column]` of the result, or [].
 * mark(locked): marks another cell of the step that is shown.
 * renew(data, last): draws other numbers of the same attention. last: the change that was made last; what is explained
 * where nothing is pointed at follows from it.
 * @param {StepsData} data
 * @param {Doing} doing
 */
export function steppingPanel(data, doing) {
  const panel = new Stepping(data, doing);
  const legend = legendOf(
    [frameSign(true), doing.adjust ? "the number that is explained or changed" : "the number that is explained"],
    [frameSign(), doing.adjust ? "what made it, or what follows from it" : "what made it"],
    data.allowed.values.includes(0) ? [maskedSign(), "masked"] : null,
  );
  return {
    strip: panel.strip.node,
    intro: [panel.formula, panel.note],
    panels: panel.panels,
    legend,
    says: panel.told,
    show: (/** @type {number} */ index, /** @type {number[]} */ locked, /** @type {number} */ room) =>
      panel.show(index, locked, room),
    mark: (/** @type {number[]} */ locked) => panel.mark(locked),
    renew: (/** @type {StepsData} */ other, /** @type {Change | undefined} */ last) => panel.renew(other, last),
  };
}

class Stepping {
  /** @param {StepsData} data @param {Doing} doing */
  constructor(data, { choose, lock, adjust = null }) {
    this.given = data;
    this.data = data;
    this.lock = lock;
    this.adjust = adjust;
    this.strip = stepStrip(data, choose);
    /** @type {HTMLElement} */
    this.former = make("div", { "aria-hidden": "true" }); // the numbers of the result before the change
    this.formula = make("p", { class: "formula" });
    this.note = make("p", { class: "faint" });
    this.panels = make("div", { class: "panels" });
    this.told = make("div", { class: "step-made" });
    /** @type {{ step: Step, inputs: HeatMap[], result: HeatMap } | null} */
    this.shown = null;
    /** @type {Cell | null} */
    this.hovered = null; // of the result
    this.example = exampleIn(data);
    /** @type {{ name: MatrixName, cell: Cell } | null} */
    this.chosen = null; // the number of an input that is pointed at
    /** @type {Partial<Record<MatrixName, Cell>>} */
    this.turned = {}; // the number of each input that was pointed at last
    /** @type {number[]} */
    this.kept = [];
    this.room = 0;
    /** @type {{ wanted: MatrixName | null, given: MatrixName | null }} */
    this.keys = { wanted: null, given: null }; // the matrix that the keyboard was in, and what a step gave in its place
  }

  /** @param {number[]} locked */
  mark(locked = this.kept) {
    this.kept = locked;
    if (!this.shown) return;
    const { data, strip, told, hovered, chosen } = this;
    const { step, inputs, result } = this.shown;
    const [rows, columns] = data.matrices[step.result].numbers.shape;
    const fits = locked[0] < rows && locked[1] < columns; // false where there is none
    const kept = fits ? { row: locked[0], column: locked[1] } : null;
    const pointed = hovered ?? kept;
    const rest = this.example[step.result === "context" ? "context" : "weight"];
    const cell = pointed ?? (chosen ? null : rest); // where nothing is pointed at, an example
    const isLocked = fits && cell?.row === locked[0] && cell?.column === locked[1];
    result.target(kept, hovered ?? rest);
    /** @type {Mark[]} */
    const follows = chosen
      ? [chosen.name === "queries" ? { row: chosen.cell.row } : { column: chosen.cell.column }]
      : [];
    result.mark([...(cell ? [{ ...cell, strong: true }] : []), ...follows]);
    for (const [i, map] of inputs.entries()) {
      const mine = chosen?.name === step.inputs[i] ? [{ ...chosen.cell, strong: true }] : [];
      map.mark([...mine, ...(cell ? [madeBy(step.made[i], cell)] : [])]);
    }
    strip.mark(step, cell ?? (chosen && this.followsFrom(chosen)), this.given);
    const hint = () => pointHint("another cell of the result", "see what made it", { steps: true });
    if (chosen) tell(told, ...inputSentence(data, chosen.name, chosen.cell));
    else if (cell) tell(told, ...stepSentence(data, step, cell, isLocked, this.given), pointed ? null : hint());
  }

  /** A number of the result that is shown, in which a number of an input counts.
   * @param {{ name: MatrixName, cell: Cell }} chosen
   */
  followsFrom({ name, cell: { row, column } }) {
    const { weight, context } = exampleIn(this.data, [name, row, column, 0]);
    return this.shown?.step.result === "context" ? context : weight;
  }

  /** @param {number} index @param {number[]} locked @param {number} room */
  show(index, locked, room) {
    const { data, panels, strip } = this;
    const step = data.steps[index];
    const focused = this.focused();
    const start = this.hovered;
    this.hovered = null;
    this.chosen = null;
    strip.draw(data, room);
    this.room = room;
    strip.set(index);
    this.formula.textContent = step.formula;
    const turns = step.inputs.filter((name) => this.mayAdjust(name)).map((name) => data.matrices[name].title);
    const later = index < data.steps.length - 1 ? ": all later steps follow" : "";
    const drag = turns.length ? ` Drag a number of ${turns.join(" or ")} up or down${later}.` : "";
    this.note.replaceChildren(step.sentence, drag, ...emptyNote(step, data.empty, data.axes.query));
    const widths = stepWidths(
      room,
      [...step.inputs, step.result].map((name) => data.matrices[name]),
      data,
    );
    const result = stepMatrix(data, step.result, step.limits, {
      width: widths.at(-1),
      room: room - BETWEEN,
      start,
      point: (cell) => {
        this.hovered = cell;
        if (cell) this.chosen = null;
        this.mark();
      },
      lock: (cell) => {
        this.chosen = null;
        this.lock(cell);
      },
    });
    const inputs = step.inputs.map((name, i) =>
      stepMatrix(data, name, step.limits, { width: widths[i], room: room - BETWEEN, adjust: this.adjusting(name) }),
    );
    this.shown = { step, inputs, result };
    result.node.querySelector(".body")?.append(this.former);
    this.remember();
    panels.replaceChildren(...signed([...inputs, result], step.signs));
    const { height } = result.node.getBoundingClientRect();
    panels.style.minHeight = `${height + this.rowsBelow(step, room)}px`; // that of the tallest step
    const long = step.made.includes("column") && data.matrices[step.inputs[0]].numbers.shape[1] > MOST_TERMS;
    this.told.classList.toggle("long", long); // what stands below keeps its place while the mouse moves
    this.mark(locked);
    if (focused) this.refocus(focused);
  }

  /** The matrices of the step that is shown, by name.
   * @returns {[name: MatrixName, map: HeatMap][]}
   */
  maps() {
    if (!this.shown) return [];
    const { step, inputs, result } = this.shown;
    return [...step.inputs, step.result].map((name, i) => [name, [...inputs, result][i]]);
  }

  /** The matrix with the focus of the keyboard. */
  focused() {
    const active = focusIn(this.panels);
    return this.maps().find(([, { node }]) => node.contains(active))?.[0];
  }

  /** The matrix gets the focus again; in a step without it the result does, until a step has the matrix.
   * @param {MatrixName} was
   */
  refocus(was) {
    const { keys } = this;
    if (was !== keys.given) keys.wanted = was;
    const maps = this.maps();
    const [name, map] = maps.find(([name]) => name === keys.wanted && this.mayAdjust(name)) ?? maps[maps.length - 1];
    keys.given = name;
    map.focus();
  }

  /** @param {StepsData} data @param {Change} [last] */
  renew(data, last) {
    if (data === this.data) return;
    this.data = data;
    this.example = exampleIn(data, last);
    if (!this.shown) return;
    const { inputs, result } = this.shown;
    const step = data.steps[this.given.steps.findIndex(({ name }) => name === this.shown?.step.name)];
    this.shown.step = step;
    for (const [i, map] of [...inputs, result].entries()) {
      const name = [...step.inputs, step.result][i];
      map.show(data.matrices[name].numbers.values, stepColours(data.matrices[name], step.limits[name]).limits);
    }
    this.remember();
    this.strip.draw(data, this.room);
    this.mark();
  }

  /** Writes into each cell of the result that was changed its number before; small cells have no room for it. */
  remember() {
    const { data, given, former, shown } = this;
    const name = shown?.step.result ?? "scores";
    const { numbers } = data.matrices[name];
    const [rows, columns] = numbers.shape;
    const isLarge = isSmall(data.matrices[name]) && cellIn(this.room, data).height >= TWO_LINES;
    const places = isLarge ? numbers.values.keys() : [];
    const spots = Array.from(places, (at) => {
      const [row, column] = [Math.floor(at / columns), at % columns];
      const before = beforeOf(given, data, name, { row, column });
      if (before === null) return null;
      const sizes = { left: column / columns, top: row / rows, width: 1 / columns, height: 1 / rows };
      const spot = make("span", { class: "former-number" }, make("del", {}, number(before)));
      for (const [side, share] of Object.entries(sizes)) spot.style.setProperty(side, `${100 * share}%`);
      return spot;
    });
    former.replaceChildren(...spots.filter((spot) => spot !== null));
  }

  /** Pixels of the rows that another step has more than the result of this one; of large matrices, none.
   * @param {Step} step @param {number} room
   */
  rowsBelow(step, room) {
    const { matrices } = this.data;
    const most = Math.max(...Object.values(matrices).map(({ numbers }) => numbers.shape[0]));
    if (most > MOST_NUMBERS) return 0;
    return (most - matrices[step.result].numbers.shape[0]) * cellIn(room, this.data).height;
  }

  /** Whether a person may change the numbers of this matrix: they have to be seen.
   * @param {MatrixName} name
   */
  mayAdjust(name) {
    return this.adjust !== null && INPUTS.includes(name) && isSmall(this.given.matrices[name]);
  }

  /** @param {MatrixName} name */
  adjusting(name) {
    const { adjust } = this;
    if (!adjust || !this.mayAdjust(name)) return null;
    const most = Math.max(...extent(this.given.matrices[name].numbers.values).map(Math.abs)) || 1;
    return {
      step: 10 ** (Math.floor(Math.log10(most) + 1e-9) - 1),
      start: this.turned[name],
      change: (/** @type {Cell} */ cell, /** @type {number} */ value) => {
        this.chosen = { name, cell };
        adjust(name, cell, value);
      },
      point: (/** @type {Cell | null} */ cell) => {
        this.chosen = cell && { name, cell };
        if (cell) this.turned[name] = cell;
        this.mark();
      },
    };
  }
}

/** What is explained where nothing is pointed at: the first of the largest weights, of all or of those that follow from
 * a change, and a number of the context.
 * @param {StepsData} data
 * @param {Change} [last]
 * @returns {{ weight: Cell, context: Cell }}
 */
function exampleIn({ matrices }, [name, row, column] = ["weights", 0, 0, 0]) {
  const { shape, values } = matrices.weights.numbers;
  let most = -1;
  for (const [at, value] of values.entries()) {
    const [i, j] = [Math.floor(at / shape[1]), at % shape[1]];
    const follows = name === "queries" ? i === row : name !== "keys" || j === column;
    if (follows && !(value <= values[most])) most = at;
  }
  const weight = { row: Math.floor(most / shape[1]), column: most % shape[1] };
  return { weight, context: { row: weight.row, column: name === "values" ? column : 0 } };
}

/** The number of a cell before it was changed; null where it reads the same.
 * @param {StepsData} given
 * @param {StepsData} data
 * @param {MatrixName} name
 * @param {Cell} cell
 */
function beforeOf(given, data, name, { row, column }) {
  const [before, now] = [given, data].map(({ matrices }) => matrices[name].numbers.at(row, column));
  return number(before) === number(now) ? null : before;
}

/** Whether a matrix has room for its numbers.
 * @param {StepMatrix} matrix
 */
const isSmall = ({ numbers }) => Math.max(...numbers.shape) <= MOST_NUMBERS;

/** The matrices of a step, with the signs between them.
 * @param {HeatMap[]} maps
 * @param {string[]} signs
 */
function signed(maps, signs) {
  const sign = (/** @type {string} */ text) =>
    make("span", { class: text.length > 1 ? "sign word-sign" : "sign", "aria-hidden": "true" }, text);
  return maps.map(({ node }, i) => make("div", { class: "signed" }, i ? sign(signs[i - 1]) : null, node));
}

/** A number of Q, K or V in words, and what can be done with it.
 * @param {StepsData} data
 * @param {MatrixName} name
 * @param {Cell} cell
 */
function inputSentence({ axes, matrices }, name, { row, column }) {
  const { rows, columns, title, numbers } = matrices[name];
  const [line, place] = name === "keys" ? [axes[columns][column], row] : [axes[rows][row], axes[columns][column]];
  const keys = byFinger() ? "" : " Keys: left and right choose a number, up and down change it.";
  return [
    make(
      "div",
      {},
      `${title[0]} of `,
      token(line),
      ", column ",
      token(String(place)),
      `: ${number(numbers.at(row, column))}`,
    ),
    make("div", { class: "faint" }, `Drag it up or to the right for more: the framed results follow.${keys}`),
  ];
}

/** The results of all steps, small, each a button with its name and the number of the cell that is explained.
 * @param {StepsData} data
 * @param {(step: number) => void} choose
 */
function stepStrip(data, choose) {
  let { matrices } = data;
  const buttons = data.steps.map(({ name, result }, i) => {
    const spot = make("span", { class: "traced", hidden: true });
    const value = make("span", { class: "value" });
    const thumb = make("span", { class: "thumb" });
    const label = `${i + 1} ${name}`;
    const node = make(
      "button",
      { type: "button", class: "result", onclick: () => choose(i) },
      make("span", {}, label),
      thumb,
      " ",
      value,
    ); // the space: as in its aria-label
    return { node, spot, value, label, result, thumb };
  });
  return {
    node: make("div", { class: "five" }, ...buttons.map(({ node }) => node)),
    draw(/** @type {StepsData} */ other, /** @type {number} */ room) {
      ({ matrices } = other);
      for (const [i, { thumb, spot }] of buttons.entries()) {
        const picture = smallPicture(other, i, Math.min(SMALL_RESULT.width, Math.floor(room / buttons.length) - 16));
        thumb.style.width = `${picture.width}px`;
        thumb.replaceChildren(picture.canvas, spot);
      }
    },
    set(/** @type {number} */ index) {
      for (const { node } of buttons) node.removeAttribute("aria-current");
      buttons[index].node.setAttribute("aria-current", "step");
    },
    /** Mark the place of this cell in all results with the same columns, and write the numbers there. In the others
     * mark its row: a context is made by a row of weights, and a weight is a part of a row of contexts.
     * @type {(step: Step, cell: Cell | null, given: StepsData) => void} */
    mark(step, cell, given) {
      for (const { node, spot, value, label, result } of buttons) {
        const [rows, columns] = matrices[result].numbers.shape;
        const here = matrices[result].columns === matrices[step.result].columns;
        spot.hidden = !cell;
        const before = cell && here ? beforeOf(given, { ...given, matrices }, result, cell) : null;
        const text = cell && here ? number(matrices[result].numbers.at(cell.row, cell.column)) : "";
        value.textContent = before === null ? text : `${number(before)} → ${text}`;
        node.setAttribute("aria-label", `${label} ${value.textContent}`.trim());
        if (!cell) continue;
        const shares = {
          left: here ? cell.column / columns : 0,
          top: cell.row / rows,
          width: here ? 1 / columns : 1,
          height: 1 / rows,
        };
        for (const [side, share] of Object.entries(shares)) spot.style.setProperty(side, `${100 * share}%`);
      }
    },
  };
}

/** The result of one step, a picture of some pixels; with its numbers, if they have room.
 * @param {StepsData} data
 * @param {number} at
 * @param {number} most its width in pixels, at most
 */
function smallPicture({ matrices, steps, allowed }, at, most) {
  const { result, limits: given } = steps[at];
  const { numbers, masked } = matrices[result];
  const [rows, columns] = numbers.shape;
  const { cell } = SMALL_RESULT;
  const [width, height] = [Math.min(cell.width, most / columns), Math.min(cell.height, SMALL_RESULT.height / rows)];
  const { limits, ramp } = stepColours(matrices[result], given[result]);
  const canvas = make("canvas", {});
  const context = scaled(canvas, width * columns, height * rows);
  const isMasked = (/** @type {number} */ i, /** @type {number} */ j) => masked && !allowed.at(i, j);
  const [down, right] = [Math.ceil(1 / height), Math.ceil(1 / width)]; // of cells below a pixel, only some are drawn
  for (let row = 0; row < rows; row += down) {
    for (let column = 0; column < columns; column += right) {
      const share = (numbers.at(row, column) - limits[0]) / (limits[1] - limits[0] || 1);
      context.fillStyle = isMasked(row, column) ? MASKED.ground : `rgb(${colour(share, ramp)})`;
      context.fillRect(column * width, row * height, right * width + 0.5, down * height + 0.5);
    }
  }
  if (isSmall(matrices[result])) {
    const least = result === "weights" ? 0.005 : null; // .92, which fits on a phone
    const words = wordsIn(matrices[result], result, allowed);
    const widest = Math.max(...Array.from(numbers.values, (value) => widthOf(number(value))));
    const isTight = least === null && width < widest + 6; // numbers would touch each other
    const tenths = (/** @type {number} */ value) => (isTight ? number(Math.round(10 * value) / 10) : null);
    const word = /** @type {typeof words} */ ((value, i, j) => words(value, i, j) ?? tenths(value));
    const look = { isMasked, word, tint: null, ramp, least };
    const drawing = { ...look, width, height, rows, columns, values: numbers.values, limits };
    writeNumbers(context, drawing, () => false, [255, 255, 255]);
  }
  canvas.style.width = "100%"; // narrower in a narrow page
  return { canvas, width: width * columns };
}

/** The colours of a matrix: blue to red, white at 0, for the numbers of vectors; the ramp of weights for all others.
 * @param {StepMatrix} matrix
 * @param {Extent | undefined} limits
 * @returns {{ limits: Extent, ramp: Colours }}
 */
function stepColours({ rows, columns, numbers }, limits) {
  if (columns === "key" && rows === "query") return { limits: limits ?? extent(numbers.values), ramp: VIRIDIS };
  const most = Math.max(...(limits ?? extent(numbers.values)).map(Math.abs)) || 1;
  return { limits: [-most, most], ramp: BLUE_RED };
}

/** The width of a cell in each matrix. The result has one size in all steps, wide enough for numbers if the room
 * allows. The inputs stand beside the result where they have 10 pixels a cell, otherwise above; undefined: each below
 * the other.
 * @param {number} room
 * @param {StepMatrix[]} list
 * @param {StepsData} data
 */
function stepWidths(room, list, data) {
  const count = list.map(({ numbers }) => numbers.shape[1]);
  const labels = list.map((matrix) => besideCells(matrix, data.axes));
  const last = list.length - 1; // the result
  const own = room - labels[last];
  const wide = cellIn(room, data).width;
  const result = count[last] * wide <= own ? wide : Math.max(4, fit(count[last], wide - 1, own));
  const inputs = count.slice(0, -1);
  for (const left of [room - total(labels) - count[last] * result, room - total(labels.slice(0, -1))]) {
    const each = total(inputs) * wide <= left ? wide : fit(total(inputs), wide - 1, left);
    if (each === wide || (each >= 10 && room >= 500)) return [...inputs.map(() => each), result];
  }
  return [...inputs.map(() => undefined), result];
}

const total = (/** @type {number[]} */ numbers) => numbers.reduce((sum, x) => sum + x, 0);

/** The width of the labels of a matrix, and of the sign before it.
 * @param {StepMatrix} matrix
 * @param {StepsData["axes"]} axes
 */
const besideCells = ({ rows, columns }, axes) => longestOf(axes[rows]) + 0.6 * longestOf(axes[columns]) + 18 + BETWEEN;

/** The size of a cell, the same in all steps: the largest with which the matrices of each step stand in a row.
 * @param {number} room
 * @param {StepsData} data
 */
function cellIn(room, { steps, matrices, axes }) {
  const shares = steps.map(({ inputs, result }) => {
    const list = [...inputs, result].map((name) => matrices[name]);
    const left = room - total(list.map((matrix) => besideCells(matrix, axes)));
    return left / total(list.map(({ numbers }) => numbers.shape[1]));
  });
  const width = Math.min(Math.max(Math.floor(Math.min(...shares)), CELL.width), LARGE.width);
  const rows = Math.max(...Object.values(matrices).map(({ numbers }) => numbers.shape[0]));
  const height = Math.min(LARGE.height, LARGE.share * width, LARGE.tall / rows);
  return { width, height: Math.max(CELL.height, Math.floor(height)) };
}

/** The part of an input that made a cell of the result: the row, the column, or the same cell.
 * @type {(how: Part, cell: Cell) => Mark}
 */
function madeBy(how, { row, column }) {
  return { row: { row }, column: { column }, same: { row, column } }[how];
}

/** One matrix of a step as a heat map.
 * @param {StepsData} data
 * @param {MatrixName} name
 * @param {Step["limits"]} given
 * @param {Partial<MapOptions> & { room: number }} options
 */
function stepMatrix(data, name, given, options) {
  const { axes, matrices, allowed } = data;
  const { title, rows, columns, numbers, masked } = matrices[name];
  const [count, size] = numbers.shape;
  const isMask = name === "mask";
  const { limits, ramp } = stepColours(matrices[name], given[name]);
  const each = (/** @type {string[]} */ texts) =>
    texts.length > MOST_NUMBERS && texts.every((text) => /^\d+$/.test(text)) ? 4 : undefined;
  const map = heatMap({
    title: `${title} (${count} × ${size})`,
    rows: axes[rows],
    columns: axes[columns],
    isMasked: masked ? (i, j) => !allowed.at(i, j) : undefined,
    word: wordsIn(matrices[name], name, allowed),
    tint: isMask ? OPEN : null,
    ramp,
    every: { rows: each(axes[rows]), columns: each(axes[columns]) },
    bar: !isMask,
    height: count <= MOST_NUMBERS ? cellIn(options.room + BETWEEN, data).height : undefined,
    ...options,
  });
  map.show(numbers.values, limits);
  return map;
}

/** The word in a cell, where it is not its number.
 * @param {StepMatrix} matrix
 * @param {MatrixName} name
 * @param {StepsData["allowed"]} allowed
 * @returns {NonNullable<MapOptions["word"]>}
 */
function wordsIn({ numbers, masked }, name, allowed) {
  const [count, size] = numbers.shape;
  const least = count * size > FEW_NUMBERS ? HIDDEN_BELOW : 0.005; // in a small example, every number counts
  const plain = (/** @type {number} */ value) => (name === "weights" && value < least ? "" : null);
  return (value, i, j) =>
    name === "mask" && value ? "✓" : value === -Infinity ? "−∞" : !masked || allowed.at(i, j) ? plain(value) : "–";
}

/** The queries with nothing to attend to.
 * @param {Step} step
 * @param {number[]} empty
 * @param {string[]} queries
 */
function emptyNote(step, empty, queries) {
  const names = empty.slice(0, 8).flatMap((i, place) => [place ? ", " : "", token(queries[i])]);
  const more = empty.length > 8 ? ` and ${empty.length - 8} more` : "";
  return step.empty && empty.length ? [" Nothing to attend to: ", ...names, more, `. ${step.empty}`] : [];
}

/** A cell of the result, and the arithmetic behind it.
 * @param {StepsData} data
 * @param {Step} step
 * @param {Cell} cell
 * @param {boolean} isLocked
 * @param {StepsData} given
 */
function stepSentence(data, step, { row, column }, isLocked, given) {
  const was = beforeOf(given, data, step.result, { row, column });
  const { axes, matrices } = data;
  const { rows, columns, numbers } = matrices[step.result];
  const [before, between] = CELL_NAMES[step.result];
  const head = make(
    "div",
    {},
    before,
    token(axes[rows][row]),
    between,
    token(axes[columns][column]),
    was === null ? null : ` (before the change: ${number(was)})`,
    lockNote(isLocked),
  );
  const { text, terms } = STEP_WORDS[step.result](data, row, column, numbers.at(row, column));
  return [head, make("div", { class: "formula" }, text), ...(terms ? [termMap(data, step, row, column, terms)] : [])];
}

/** How a number was made; `terms` of a long sum: left, right, product.
 * @typedef {{ text: string, terms?: number[][] }} Made
 */

/** @type {Record<ResultName, (data: StepsData, i: number, j: number, value: number) => Made>} */
const STEP_WORDS = {
  scores: ({ matrices, axes }, i, j, value) =>
    products(across(matrices.queries, i), down(matrices.keys, j), value, axes.size),
  scaled: ({ axes, matrices, scale }, i, j, value) => {
    const [score, { length }] = [matrices.scores.numbers.at(i, j), axes.size];
    const isRoot = Math.abs(scale - length ** -0.5) < 1e-9;
    const left = isRoot ? `${number(score)} / √${length}` : `${inProduct(score)}·${inProduct(scale)}`;
    return { text: `${left} ${relation([score, isRoot ? 1 : scale, value])} ${number(value)}` };
  },
  masked: ({ matrices, allowed }, i, j) => {
    const score = number(matrices.scaled.numbers.at(i, j));
    return { text: allowed.at(i, j) ? `may be attended: ${score} stays` : `masked: ${score} becomes −∞, and e^−∞ = 0` };
  },
  weights: ({ matrices, empty }, i, j, value) => {
    if (empty.includes(i)) return { text: "every key is masked: nothing to attend to, so the weight is 0" };
    const scores = across(matrices.masked, i);
    const power = (/** @type {number} */ score) =>
      `e^${score < 0 && score !== -Infinity ? `(${number(score)})` : number(score)}`;
    const all = scores.length <= MOST_TERMS;
    const below = all
      ? scores.map(power).join(" + ")
      : `Σ of ${scores.length} such powers = ${number(scores.reduce((sum, score) => sum + Math.exp(score), 0))}`;
    const sign = relation(scores[j] === -Infinity ? [value] : [...scores, value]); // e^−∞ is exactly 0
    return { text: `${power(scores[j])} / (${below}) ${sign} ${number(value)}` };
  },
  context: ({ matrices, axes }, i, j, value) =>
    products(across(matrices.weights, i), down(matrices.values, j), value, axes.key),
};

/** @type {(matrix: StepMatrix, i: number) => number[]} */
const across = ({ numbers }, i) => Array.from({ length: numbers.shape[1] }, (_, j) => numbers.at(i, j));
/** @type {(matrix: StepMatrix, j: number) => number[]} */
const down = ({ numbers }, j) => Array.from({ length: numbers.shape[0] }, (_, i) => numbers.at(i, j));
const inProduct = (/** @type {number} */ x) => (x < 0 ? `(${number(x)})` : number(x));

/** A dot product in words. A long one names its largest terms, and gives all of them as `terms`: left, right, product.
 * @param {number[]} left
 * @param {number[]} right
 * @param {number} value
 * @param {string[]} names
 * @returns {Made}
 */
function products(left, right, value, names) {
  const written = (/** @type {number} */ k) => `${inProduct(left[k])}·${inProduct(right[k])}`;
  const end = `${relation([...left, ...right, value])} ${number(value)}`;
  if (left.length <= MOST_TERMS) return { text: `${left.map((_, k) => written(k)).join(" + ")} ${end}` };
  const terms = left.map((x, k) => x * right[k]);
  const order = terms
    .map((_, k) => k)
    .sort((a, b) => Math.abs(terms[b]) - Math.abs(terms[a]))
    .slice(0, LARGEST_TERMS);
  const named = order.map(
    (k) => `${written(k)} ${relation([left[k], right[k], terms[k]])} ${number(terms[k])} (at ${oneLine(names[k])})`,
  );
  const rest = value - order.reduce((sum, k) => sum + terms[k], 0);
  const others = `the other ${left.length - order.length} ${relation([rest])} ${number(rest)}`;
  const sum = `Σ of ${left.length} products ${relation([value])} ${number(value)}`;
  return {
    text: `${sum}; the largest: ${named.join(", ")}; ${others}`,
    terms: [left, right, terms],
  };
}

/** A long dot product as three rows of colours: both vectors, and their products term by term.
 * @param {StepsData} data
 * @param {Step} step
 * @param {number} row
 * @param {number} column
 * @param {number[][]} terms
 */
function termMap({ axes }, step, row, column, terms) {
  const isContext = step.result === "context";
  const names = isContext ? axes.key : axes.size;
  const rows = [axes.query[row], isContext ? `V ${axes.value[column]}` : axes.key[column], "product"];
  const most = (/** @type {number[]} */ list) => Math.max(...list.map(Math.abs)) || 1;
  const shares = terms.flatMap((list) => list.map((x) => x / most(list))); // each row has its own largest colour
  const map = heatMap({
    title: "term by term: blue is below 0, red above",
    rows,
    columns: names,
    ramp: BLUE_RED,
    bar: false,
    word: () => "",
    width: Math.max(4, Math.min(18, Math.floor(260 / names.length))),
    height: 14,
    every: { columns: isContext ? undefined : 4 },
  });
  map.show(shares, [-1, 1]);
  return make("div", { class: "terms" }, map.node);
}
