// A labelled heat map for mouse and keyboard. The colours come from colours.py.

import { BLUE_RED, BLUE_RED_DARK, MASKED, VIRIDIS } from "./colours.js";
import { extent, inPixels, make, number, oneLine } from "./elements.js";
import { isDark } from "./theme.js";

/** @import { Colours } from "./colours.js" */
/** @import { Cell, Child, Extent, Numbers, Tone } from "./types.js" */

/** Frames around cells of a map. Without a column the frame is around the whole row, without a row around the whole
 * column, or around `span` columns. The tag stands beside the frame.
 * @typedef {{ row?: number, column?: number, strong?: boolean, span?: number, tag?: Child }} Mark
 */

/** What happens to the cell under the mouse or the arrow keys.
 * @typedef {{
 *   point: (cell: Cell | null) => void,
 *   lock: (cell: Cell | null) => void,
 *   start?: Cell | null,
 *   enter?: ((cell: Cell) => void) | null,
 * }} Pointing
 */

/** What a map is: see `heatMap`.
 * @typedef {{
 *   title: string,
 *   rows: string[],
 *   columns: string[],
 *   isMasked?: (row: number, column: number) => boolean,
 *   word?: ((value: number, row: number, column: number) => string | null) | null,
 *   tint?: string | null,
 *   ramp?: Colours,
 *   bar?: boolean,
 *   enters?: string,
 *   every?: { rows?: number, columns?: number },
 *   most?: number,
 *   least?: number | null,
 *   width?: number,
 *   height?: number,
 *   room?: number,
 *   adjust?: Adjusting | null,
 * } & Partial<Pointing>} MapOptions
 */

/** Numbers that a person changes: see `adjusting`.
 * @typedef {{
 *   step: number,
 *   change: (cell: Cell, value: number) => void,
 *   point: (cell: Cell | null) => void,
 *   start?: Cell | null,
 * }} Adjusting
 */

/** What is drawn: the numbers of a map, and how.
 * @typedef {Required<Pick<MapOptions, "isMasked" | "word" | "tint" | "ramp" | "least" | "width" | "height">> & {
 *   rows: number,
 *   columns: number,
 *   values: Numbers,
 *   limits: Extent,
 * }} Drawing
 */

/** @typedef {ReturnType<typeof heatMap>} HeatMap */

/** Red, green and blue of a share of the colour bar, from 0 to 1: one of the colours of the ramp, as in matplotlib.
 * @param {number} share
 * @param {Colours} ramp
 */
export const colour = (share, ramp) => pick(share, themed(ramp));

/** @param {number} share @param {Colours} ramp */
const pick = (share, ramp) => ramp[Math.min(Math.floor(Math.max(share || 0, 0) * ramp.length), ramp.length - 1)];

/** On a dark page BLUE_RED is dark at 0.
 * @param {Colours} ramp
 */
const themed = (ramp) => (ramp === BLUE_RED && isDark() ? BLUE_RED_DARK : ramp);

/** Whether black is easier to read on a colour than white: its relative luminance (WCAG 2.2) is above 0.18.
 * @param {readonly number[]} rgb
 */
function isLight(rgb) {
  const [red, green, blue] = rgb.map((part) => (part <= 10 ? part / 3295 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18;
}

export const MOST_NUMBERS = 12; // rows or columns of a map with numbers in its cells
export const CELL = { width: 38, height: 24 }; // with room for a number
const LINED = 12; // pixels: the width and the height of a cell from which on there is a line between cells
const PULL = { start: 3, step: 4 }; // pixels: a number is dragged, and not clicked; for one step of the number
const SMALL = "11px system-ui, sans-serif";
const FONTS = [20, 18, 16, 14, 13, 12, 11, 10, 9]; // pixels: the sizes of a number in a cell, the largest that fits
const VEIL = 0.55; // the share of the ground in a faded cell; attention.css has the same
/** @type {CanvasRenderingContext2D | undefined} */
let pen; // that measures texts

/** @param {HTMLCanvasElement} canvas */
export function contextOf(canvas) {
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
}

/** The width of a text in a label, in pixels.
 * @param {string} text
 */
export function widthOf(text) {
  pen ??= contextOf(document.createElement("canvas"));
  pen.font = SMALL;
  return Math.ceil(pen.measureText(text).width);
}

/** The width of the widest label.
 * @param {string[]} texts
 */
export const longestOf = (texts) => Math.min(110, Math.max(0, ...texts.map(widthOf)));

/** A labelled heat map.
 *
 * title: the text above. rows, columns: the labels. isMasked(i, j): whether a cell is masked (hatched).
 * word(value, i, j): the text in a cell; null for its number. tint: one colour for all cells. ramp: the colours of the
 * numbers. bar: false for no colour bar.
 * point({ row, column } or null): called with the cell under the mouse or the arrow keys. lock({ row, column } or
 * null): called after a click or Enter; `enters` says what Enter does. Without `point` the map ignores mouse and
 * keyboard. start: the cell where the arrow keys begin.
 * width, height: of a cell, in pixels. room: the width for all columns and the labels beside them, if no width is
 * given. every: { rows, columns }, one label for so many of them.
 * A map of at most `most` rows and columns has its numbers in it, if the widest of them fits into a cell. least: the
 * numbers are weights; smaller ones than this are not written, and the others as .82; `mark` may fade the cells around
 * them. adjust: the numbers can be dragged, and changed with keys.
 * Gives { node, caption, focus(), show(values, limits), mark(marks, faded), target(locked cell) }.
 * @param {MapOptions} options
 */
export function heatMap(options) {
  const { rows, columns, isMasked = () => false, word = null, tint = null, ramp = VIRIDIS, least = null } = options;
  const { width, height, few } = sizesOf(options);
  const look = { isMasked, word, tint, ramp, least, width, height, rows: rows.length, columns: columns.length };
  const parts = partsOf(options, width, height);
  const { node, caption, body, canvas, ink, marks, head, side } = parts;
  const context = scaled(canvas, width * columns.length, height * rows.length);
  const pencil = ink && scaled(ink, width * columns.length, height * rows.length);
  /** @type {Drawing | null} */
  let drawn = null;
  const write = (isFaded = (/** @type {number} */ _i, /** @type {number} */ _j) => false) => {
    pencil?.clearRect(0, 0, width * columns.length, height * rows.length);
    if (few && drawn) writeNumbers(pencil ?? context, drawn, isFaded, groundOf(node));
  };
  const cellAt = (/** @type {MouseEvent} */ event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / width);
    const row = Math.floor((event.clientY - box.top) / height);
    return row in rows && column in columns ? { row, column } : null;
  };
  const { point, lock = () => {}, start, enter, adjust = null } = options;
  const numberAt = (/** @type {Cell} */ { row, column }) => drawn?.values[row * columns.length + column] ?? 0;
  const nameOf = (/** @type {Cell} */ cell) => `${rows[cell.row]}, ${columns[cell.column]}: ${number(numberAt(cell))}`;
  const say = adjust ? adjusting(body, cellAt, [rows.length, columns.length], { ...adjust, numberAt, nameOf }) : null;
  const target = point
    ? pointing(body, cellAt, rows.length, columns.length, { point, lock, start, enter })
    : (/** @type {Cell | null} */ _cell) => {};
  if (!point && !adjust)
    body.addEventListener("pointermove", (event) => {
      const cell = cellAt(event);
      body.title = cell && drawn ? nameOf(cell) : "";
    });
  return {
    node,
    caption,
    target,
    focus: () => body.focus({ focusVisible: true }),
    /** @type {(values: Numbers, limits?: Extent) => void} */
    show(values, limits = extent(values)) {
      drawn = { ...look, values, limits };
      paint(context, drawn);
      write();
      say?.();
      parts.low.textContent = number(limits[0]);
      parts.high.textContent = number(limits[1]);
    },
    /** Frames around cells. faded: whether all cells outside of the first frame are faded; their numbers get a colour
     * that stays readable.
     * @type {(list: Mark[], faded?: boolean) => void} */
    mark(list, faded = false) {
      const [first] = list;
      if (ink) write(faded && first ? (i, j) => (first.row ?? i) !== i || (first.column ?? j) !== j : undefined);
      marks.replaceChildren(...list.map((mark, place) => frameOf(mark, faded && place === 0, look)));
      head.mark(list.map(({ column }) => column));
      side.mark(list.map(({ row }) => row));
    },
  };
}

/** The size of a cell, and whether the map may have its numbers in it.
 * @param {MapOptions} options
 */
function sizesOf({ rows, columns, most = MOST_NUMBERS, room = 1e4, ...given }) {
  const few = rows.length <= most && columns.length <= most;
  const space = room - 25 - longestOf(rows) - 0.6 * longestOf(columns);
  const roomy = few && columns.length * CELL.width <= space;
  const narrow = () =>
    few
      ? Math.max(12, fit(columns.length, CELL.width - 1, space))
      : fit(columns.length, CELL.width, Math.min(320, space));
  const width = given.width ?? (roomy ? CELL.width : narrow());
  const height = given.height ?? (rows.length <= MOST_NUMBERS ? CELL.height : fit(rows.length, CELL.height, 320));
  return { width, height, few };
}

/** The elements of a map.
 * @param {MapOptions} options
 * @param {number} width
 * @param {number} height
 */
function partsOf({ title, rows, columns, point, ramp = VIRIDIS, bar = true, least = null, ...more }, width, height) {
  const { enters = "Enter keeps", every = {}, adjust = null } = more;
  const canvas = make("canvas", { "aria-hidden": "true" });
  // The numbers of weights stand above what fades the cells.
  const ink = least === null ? null : make("canvas", { class: "ink", "aria-hidden": "true" });
  const marks = make("div", { class: "marks", "aria-hidden": "true" });
  const spoken = `${title}: ${rows.length} rows, ${columns.length} columns`;
  const role = point
    ? { role: "application", tabindex: 0, "aria-label": `${spoken}. Arrow keys move, ${enters}.` }
    : { role: "img", "aria-label": spoken };
  const keys = "Left and right choose a number, up and down change it.";
  const slides = { class: "body adjusts", role: "slider", tabindex: 0, "aria-label": `${spoken}. ${keys}` };
  const body = make("div", adjust ? slides : { class: "body", ...role }, canvas, marks, ink);
  const [low, high] = [make("span"), make("span")];
  const head = columnLabels(columns, width, every.columns);
  const side = rowLabels(rows, height, every.rows);
  const foot = make("div", { class: "foot" }, ...(bar ? [low, barOf(ramp), high] : []));
  const caption = make("figcaption", {}, title);
  const node = make("figure", { class: "map" }, caption, head.node, side.node, body, foot);
  return { node, caption, body, canvas, ink, marks, head, side, low, high };
}

/** The colour bar.
 * @param {Colours} ramp
 */
function barOf(ramp) {
  const scale = make("canvas", { class: "bar", width: 64, height: 1 });
  const strip = contextOf(scale);
  for (let x = 0; x < 64; x++) {
    strip.fillStyle = `rgb(${colour(x / 63, ramp)})`;
    strip.fillRect(x, 0, 1, 1);
  }
  return scale;
}

/** @param {Mark} mark
 * @param {boolean} veils whether it fades what is around it
 * @param {{ width: number, height: number, rows: number, columns: number }} sizes
 */
function frameOf({ row, column, strong = false, span = 1, tag = null }, veils, { width, height, rows, columns }) {
  const frame = make("div", { class: `frame${strong ? " strong" : ""}${veils ? " veil" : ""}` }, tag);
  const sizes = {
    left: (column ?? 0) * width,
    top: (row ?? 0) * height,
    width: column === undefined ? width * columns : width * span,
    height: row === undefined ? height * rows : height,
  };
  Object.assign(frame.style, inPixels(sizes));
  return frame;
}

/** The width of a cell if `count` cells share this room.
 * @type {(count: number, most: number, room: number) => number}
 */
export const fit = (count, most, room) => Math.max(2, Math.min(most, Math.floor(room / count)));

/** A canvas that is sharp on every screen.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function scaled(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  Object.assign(canvas.style, inPixels({ width, height }));
  const context = contextOf(canvas);
  context.scale(canvas.width / width, canvas.height / height);
  return context;
}

/** The colour of the view's ground, as red, green and blue.
 * @param {Element} node
 */
function groundOf(node) {
  const root = node.closest(".seqlearn");
  return (root && getComputedStyle(root).backgroundColor.match(/\d+/g)?.slice(0, 3).map(Number)) ?? [255, 255, 255];
}

/** The colour of each cell.
 * @param {Drawing} drawing
 * @returns {(row: number, column: number) => Tone}
 */
function shadesOf({ values, limits, ramp, columns }) {
  const own = themed(ramp);
  return (row, column) => pick((values[row * columns + column] - limits[0]) / (limits[1] - limits[0] || 1), own);
}

/** Draws the cells: a colour, or hatching if masked. The grey differs from white, black and viridis.
 * @param {CanvasRenderingContext2D} context
 * @param {Drawing} drawing
 */
function paint(context, drawing) {
  const { isMasked, tint, width, height, rows, columns } = drawing;
  context.clearRect(0, 0, width * columns, height * rows);
  const shadeOf = shadesOf(drawing);
  const gap = Math.min(width, height) >= LINED ? 1 : 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const [x, y] = [column * width, row * height];
      if (isMasked(row, column)) hatch(context, x, y, width - gap, height - gap);
      else {
        context.fillStyle = tint ?? `rgb(${shadeOf(row, column)})`;
        context.fillRect(x, y, width - gap, height - gap);
      }
    }
  }
}

/** Writes the number or the word of each cell, in the largest font in which the widest of them fits; in none, if it
 * does not fit at all.
 * @param {CanvasRenderingContext2D} context
 * @param {Drawing} drawing
 * @param {(row: number, column: number) => boolean} isFaded
 * @param {readonly number[]} ground
 */
export function writeNumbers(context, drawing, isFaded, ground) {
  const { values, isMasked, word, tint, least, width, height, rows, columns } = drawing;
  const [digits, shadeOf] = [decimals(values), shadesOf(drawing)];
  const plain = (/** @type {number} */ value) =>
    least === null ? inCell(value, digits) : value < least ? "" : value.toFixed(2).replace(/^0|\.00$/g, "");
  const texts = Array.from(
    { length: rows * columns },
    (_, at) => word?.(values[at], Math.floor(at / columns), at % columns) ?? plain(values[at]),
  );
  const widest = Math.max(0, ...[...new Set(texts)].map(widthOf));
  const font = FONTS.find(
    (size) => (widest * size) / 11 <= width - 2 && size <= Math.min(height - 3, Math.max(11, 0.44 * height)),
  );
  if (!font) return;
  Object.assign(context, { font: SMALL.replace("11", String(font)), textAlign: "center", textBaseline: "middle" });
  texts.forEach((text, at) => {
    if (!text) return;
    const [row, column] = [Math.floor(at / columns), at % columns];
    const shade = isMasked(row, column) || tint ? [160, 160, 160] : shadeOf(row, column);
    const seen = isFaded(row, column) ? shade.map((part, i) => VEIL * ground[i] + (1 - VEIL) * part) : shade;
    context.fillStyle = isLight(seen) ? "#000" : "#fff";
    context.fillText(text, (column + 0.5) * width, (row + 0.5) * height);
  });
}

/** @type {(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number) => void} */
function hatch(context, x, y, width, height) {
  context.fillStyle = MASKED.ground;
  context.fillRect(x, y, width, height);
  if (width < 6 || height < 6) return; // too small for stripes
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = MASKED.stripe;
  context.beginPath();
  for (let at = -height; at < width; at += 6) {
    context.moveTo(x + at, y + height);
    context.lineTo(x + at + height, y);
  }
  context.stroke();
  context.restore();
}

/** The fewest decimals that write all numbers in full, at most 2.
 * @param {Numbers} values
 */
function decimals(values) {
  const suffice = (/** @type {number} */ digits) =>
    values.every((x) => !Number.isFinite(x) || Math.abs(x - Number(x.toFixed(digits))) < 1e-6);
  return [0, 1].find(suffice) ?? 2;
}

/** @type {(x: number, digits: number) => string} */
function inCell(x, digits) {
  return Number.isFinite(x) && Math.abs(x) < 1e4 ? x.toFixed(digits).replace("-", "−") : number(x);
}

/** Labels above the columns, slanted where they are wider than a column; with too little room, every second, third ...
 * @param {string[]} texts
 * @param {number} width
 */
export function columnLabels(texts, width, every = Math.ceil(14 / width)) {
  const widths = texts.map((text) => Math.min(widthOf(text) + 4, 110));
  const slanted = widths.some((wide) => wide > width * every);
  const node = make("div", { class: slanted ? "columns slanted" : "columns" });
  node.style.height = `${slanted ? 18 + 0.71 * Math.max(...widths) : 18}px`;
  node.style.width = `${texts.length * width}px`;
  const beyond = widths.map((wide, i) => (i % every ? 0 : (i + 0.5) * width + 0.71 * wide + 8 - texts.length * width));
  node.style.marginRight = `${slanted ? Math.max(0, ...beyond) : 0}px`;
  const labels = place(node, texts, every, (label, i) => {
    label.style.left = `${(i + 0.5 - (slanted ? 0 : every / 2)) * width}px`; // in the middle of its own column
    if (!slanted) label.style.width = `${width * every}px`;
  });
  return { node, mark: (/** @type {(number | undefined)[]} */ list) => underline(labels, list) };
}

/** Labels beside the rows.
 * @param {string[]} texts
 * @param {number} height
 */
export function rowLabels(texts, height, every = Math.ceil(14 / height)) {
  const node = make("div", { class: "rows" });
  const labels = place(node, texts, every, (label, i) => {
    if ((texts.length - i) * height < 14) label.textContent = ""; // too little room for the last one
    const shared = Math.min(every, texts.length - i);
    label.style.height = `${height * shared}px`;
    label.style.lineHeight = `${height * shared}px`;
    label.style.top = `${(-height * (shared - 1)) / 2}px`; // beside its own row
  });
  return { node, mark: (/** @type {(number | undefined)[]} */ list) => underline(labels, list) };
}

/** @type {(node: Element, texts: string[], every: number, put: (label: HTMLElement, at: number) => void) => Labels} */
function place(node, texts, every, put) {
  return texts.map((text, i) => {
    if (i % every) return null;
    const label = make("span", { class: "label", dir: "auto", title: text }, oneLine(text));
    put(label, i);
    node.append(label);
    return label;
  });
}

/** @typedef {(HTMLElement | null)[]} Labels */

/** @type {(labels: Labels, list: (number | undefined)[]) => void} */
function underline(labels, list) {
  for (const [i, label] of labels.entries()) label?.classList.toggle("on", list.includes(i));
}

/** Mouse and keyboard on a grid: arrow keys, Home and End of a row, Enter, Escape. enter(cell): called after Enter on
 * the locked cell, or a double click; without it Enter frees the cell. Returns a function that sets the locked cell
 * and, where no cell is locked, the cell where the arrow keys begin, and whether something else is locked: the lock
 * follows the arrow keys.
 * @param {HTMLElement} body
 * @param {(event: MouseEvent) => Cell | null} cellAt
 * @param {number} rows
 * @param {number} columns
 * @param {Pointing} options
 * @returns {(cell: Cell | null, resting?: Cell | null, elsewhere?: boolean) => void}
 */
export function pointing(body, cellAt, rows, columns, { point, lock, start, enter = null }) {
  const within = (/** @type {number} */ at, /** @type {number} */ count) => Math.min(Math.max(at, 0), count - 1);
  let cursor = { row: within(start?.row ?? 0, rows), column: within(start?.column ?? 0, columns) };
  /** @type {Cell | null} */
  let locked = null;
  let follows = false;
  const isLocked = (/** @type {Cell} */ { row, column }) => locked?.row === row && locked.column === column;
  /** @type {Record<string, [down: number, right: number]>} */
  const moves = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    Home: [0, -columns],
    End: [0, columns],
  };
  body.addEventListener("pointermove", (event) => point(cellAt(event)));
  body.addEventListener("pointerleave", () => point(null));
  body.addEventListener("focus", () => {
    if (!body.matches(":focus-visible")) return;
    cursor = locked ?? cursor;
    point(cursor);
  });
  body.addEventListener("blur", () => point(null));
  body.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (!cell) return;
    cursor = cell;
    lock(isLocked(cell) ? null : cell);
  });
  body.addEventListener("dblclick", (event) => {
    const cell = enter && cellAt(event);
    if (cell) enter(cell);
  });
  body.addEventListener("keydown", (event) => {
    if (event.key in moves) {
      const [down, right] = moves[event.key];
      const next = { row: within(cursor.row + down, rows), column: within(cursor.column + right, columns) };
      cursor = next;
      if (follows) lock(next); // the lock follows the arrow keys
      point(next);
    } else if (event.key === "Enter" && enter && isLocked(cursor)) enter(cursor);
    else if (event.key === "Enter" || event.key === " ") lock(isLocked(cursor) ? null : cursor);
    else if (event.key === "Escape") lock(null);
    else return;
    event.preventDefault();
  });
  return (cell, resting = null, elsewhere = false) => {
    locked = cell;
    follows = cell !== null || elsewhere;
    cursor = cell ?? resting ?? cursor;
  };
}

/** @typedef {ReturnType<typeof dragging>} Dragging */

/** How far a pointer that is down here is dragged, in pixels: up or to the right, as the drag began; null below `start`
 * pixels, where it may be a click.
 * @param {MouseEvent} down
 * @param {number} start
 */
export function dragging({ clientX, clientY }, start) {
  /** @type {"x" | "y" | null} */
  let way = null;
  return (/** @type {MouseEvent} */ event) => {
    const by = { x: event.clientX - clientX, y: clientY - event.clientY };
    if (Math.hypot(by.x, by.y) >= start) way ??= Math.abs(by.x) > Math.abs(by.y) ? "x" : "y";
    return way && by[way];
  };
}

/** Numbers that are dragged: up, or to the right, is more. Keys: left and right choose a number, up and down change it
 * by a step, with Shift by ten.
 *
 * step: of the numbers, which are rounded to it. change(cell, value): called after each key, and while one drags; where
 * the browser takes the pointer away, with the number as it was. point(cell or null): called with the number
 * under the mouse, or with the one that is chosen. start: the number that is chosen at first.
 * Returns a function that says the chosen number anew.
 * @param {HTMLElement} body
 * @param {(event: MouseEvent) => Cell | null} cellAt
 * @param {[rows: number, columns: number]} counts
 * @param {Adjusting & { numberAt: (cell: Cell) => number, nameOf: (cell: Cell) => string }} options
 */
function adjusting(body, cellAt, [rows, columns], { step, change, point, start = null, numberAt, nameOf }) {
  let chosen = start ?? { row: 0, column: 0 };
  /** @type {{ cell: Cell, pull: Dragging, from: number, moved: boolean } | null} */
  let held = null;
  let stays = false; // what was dragged stays chosen until something else is pointed at
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  const rounded = (/** @type {number} */ x) => Number((Math.round(x / step) * step).toFixed(digits));
  const say = () => {
    const values = { "aria-valuenow": chosen.row * columns + chosen.column + 1, "aria-valuetext": nameOf(chosen) };
    for (const [name, value] of Object.entries(values)) body.setAttribute(name, String(value));
  };
  const choose = (/** @type {Cell} */ cell) => {
    chosen = cell;
    say();
    point(cell);
  };
  body.setAttribute("aria-valuemin", "1");
  body.setAttribute("aria-valuemax", String(rows * columns));
  body.addEventListener("pointerdown", (event) => {
    const cell = event.button === 0 ? cellAt(event) : null;
    if (!cell) return;
    held = { cell, pull: dragging(event, PULL.start), from: numberAt(cell), moved: false };
    body.setPointerCapture(event.pointerId);
    choose(cell);
  });
  body.addEventListener("pointermove", (event) => {
    if (!held) {
      stays = false;
      return point(cellAt(event));
    }
    const by = held.pull(event);
    if (by === null) return;
    held.moved = true;
    const value = rounded(held.from + (by / PULL.step) * step);
    if (value !== numberAt(held.cell)) change(held.cell, value);
  });
  body.addEventListener("pointerup", ({ pointerType }) => {
    stays = held?.moved || pointerType === "touch"; // a finger leaves with the tap
    held = null;
  });
  body.addEventListener("pointercancel", () => {
    if (held?.moved) change(held.cell, held.from);
    held = null;
  });
  body.addEventListener("pointerleave", () => held || stays || point(null));
  body.addEventListener("focus", () => body.matches(":focus-visible") && point(chosen));
  body.addEventListener("blur", () => point(null));
  body.addEventListener("keydown", (event) => {
    const at = chosen.row * columns + chosen.column;
    /** @type {Record<string, number>} */
    const moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: rows * columns - 1 };
    /** @type {Record<string, number>} */
    const turns = { ArrowUp: 1, ArrowDown: -1 };
    const to = Math.min(Math.max(moves[event.key] ?? at, 0), rows * columns - 1);
    if (event.key in moves) choose({ row: Math.floor(to / columns), column: to % columns });
    else if (event.key in turns)
      change(chosen, rounded(numberAt(chosen) + turns[event.key] * step * (event.shiftKey ? 10 : 1)));
    else return;
    event.preventDefault();
  });
  return say;
}
