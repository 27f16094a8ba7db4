// A labelled heat map for mouse and keyboard. The colours VIRIDIS, BLUE_RED, OPEN and MASKED come from colours.py.

/** Red, green and blue of a share of the colour bar, from 0 to 1: one of the colours of the ramp, as in matplotlib. */
function colour(share, ramp) {
  return ramp[Math.min(Math.floor(Math.max(share || 0, 0) * ramp.length), ramp.length - 1)];
}

/** Whether black is easier to read on a colour than white: its relative luminance (WCAG 2.2) is above 0.18. */
function isLight(rgb) {
  const [red, green, blue] = rgb.map((part) => (part <= 10 ? part / 3295 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18;
}

const MOST_NUMBERS = 12; // rows or columns of a map with numbers in its cells
const CELL = { width: 38, height: 24 }; // with room for a number
const SMALL = "11px system-ui, sans-serif";
const FONTS = [14, 13, 12, 11, 10, 9]; // pixels: the sizes of a number in a cell, the largest that fits
const VEIL = 0.55; // the share of the ground in a faded cell; attention.css has the same
const pen = document.createElement("canvas").getContext("2d");

function widthOf(text) {
  pen.font = SMALL;
  return Math.ceil(pen.measureText(text).width);
}

/** The width of the widest label. */
const longestOf = (texts) => Math.min(110, Math.max(0, ...texts.map(widthOf)));

/** A labelled heat map.
 *
 * title: the text above. rows, columns: the labels. isMasked(i, j): whether a cell is masked (hatched).
 * word(value, i, j): the text in a cell; null for its number. tint: one colour for all cells. ramp: the colours of the
 * numbers. bar: false for no colour bar.
 * point({ row, column } or null): called with the cell under the mouse or the arrow keys. lock({ row, column } or null):
 * called after a click or Enter; `enters` says what Enter does. Without `point` the map ignores mouse and keyboard.
 * start: the cell where the arrow keys begin.
 * width, height: of a cell, in pixels. room: the width for all columns and the labels beside them, if no width is given.
 * every: { rows, columns }, one label for so many of them.
 * A map of at most `most` rows and columns has its numbers in it, if the widest of them fits into a cell. least: the numbers
 * are weights; smaller ones than this are not written, and the others as .82; `mark` may fade the cells around them.
 * Gives { node, focus(), show(values, limits), mark(marks, faded), target(locked cell) }.
 */
function heatMap(options) {
  const { title, rows, columns, isMasked = () => false, word = null, tint = null, ramp = VIRIDIS, bar = true } = options;
  const { point = null, enters = "Enter locks", every = {}, most = MOST_NUMBERS, least = null } = options;
  const few = rows.length <= most && columns.length <= most;
  const space = (options.room ?? 1e4) - 25 - longestOf(rows) - 0.6 * longestOf(columns);
  const roomy = few && columns.length * CELL.width <= space;
  const width = options.width ?? (roomy ? CELL.width :
    few ? Math.max(12, fit(columns.length, CELL.width - 1, space)) : fit(columns.length, CELL.width, Math.min(320, space)));
  const height = options.height ?? (rows.length <= MOST_NUMBERS ? CELL.height : fit(rows.length, CELL.height, 320));
  const canvas = make("canvas", { "aria-hidden": "true" });
  const ink = least === null ? null : make("canvas", { class: "ink", "aria-hidden": "true" }); // the numbers of weights, above what fades the cells
  const marks = make("div", { class: "marks", "aria-hidden": "true" });
  const body = make("div", { class: "body" }, canvas, marks, ink);
  const [low, high, scale] = [make("span"), make("span"), make("canvas", { class: "bar", width: 64, height: 1 })];
  const head = columnLabels(columns, width, every.columns);
  const side = rowLabels(rows, height, every.rows);
  const foot = make("div", { class: "foot" }, ...(bar ? [low, scale, high] : []));
  const node = make("figure", { class: "map" }, make("figcaption", {}, title), head.node, side.node, body, foot);
  const spoken = `${title}: ${rows.length} rows, ${columns.length} columns`;
  fill(body, point ? { role: "application", tabindex: 0, "aria-label": `${spoken}. Arrow keys move, ${enters}.` } :
    { role: "img", "aria-label": spoken }, []);
  const [context, pencil] = [canvas, ink].map((node) => node && scaled(node, width * columns.length, height * rows.length));
  const strip = scale.getContext("2d");
  for (let x = 0; x < 64; x++) {
    strip.fillStyle = `rgb(${colour(x / 63, ramp)})`;
    strip.fillRect(x, 0, 1, 1);
  }
  const cellAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const [column, row] = [Math.floor((event.clientX - box.left) / width), Math.floor((event.clientY - box.top) / height)];
    return row in rows && column in columns ? { row, column } : null;
  };
  const target = point ? pointing(body, cellAt, rows.length, columns.length, options) : () => {};
  let drawn = [];
  let cells = null; // what `paint` and `write` draw
  const write = (isFaded = () => false) => {
    pencil?.clearRect(0, 0, width * columns.length, height * rows.length);
    if (few) writeNumbers(pencil ?? context, cells, isFaded, groundOf(node));
  };
  const tip = ({ row, column }) => `${rows[row]}, ${columns[column]}: ${number(drawn[row * columns.length + column])}`;
  if (!point) body.addEventListener("pointermove", (event) => (body.title = cellAt(event) ? tip(cellAt(event)) : ""));
  return {
    node,
    target,
    focus: () => body.focus({ focusVisible: true }),
    show(values, limits = extent(values)) {
      drawn = values;
      cells = { values, limits, isMasked, word, tint, ramp, least, width, height, rows: rows.length, columns: columns.length };
      paint(context, cells);
      write();
      [low.textContent, high.textContent] = limits.map(number);
    },
    /** Frames around cells: [{ row, column, strong, span, tag }]. Without a column the frame is around the whole row,
     * without a row around the whole column, or around `span` columns. The tag stands beside the frame. faded: whether all
     * cells outside of the first frame are faded; their numbers get a colour that stays readable. */
    mark(list, faded = false) {
      const [first] = list;
      if (cells && ink) write(faded && first ? (i, j) => ![first.row ?? i, first.column ?? j].every((at, axis) => at === [i, j][axis]) : undefined);
      marks.replaceChildren(...list.map(({ row, column, strong, span = 1, tag = null }, place) => {
        const frame = make("div", { class: `frame${strong ? " strong" : ""}${faded && place === 0 ? " veil" : ""}` }, tag);
        Object.assign(frame.style, inPixels({
          left: (column ?? 0) * width,
          top: (row ?? 0) * height,
          width: column === undefined ? width * columns.length : width * span,
          height: row === undefined ? height * rows.length : height,
        }));
        return frame;
      }));
      head.mark(list.map(({ column }) => column));
      side.mark(list.map(({ row }) => row));
    },
  };
}

/** The width of a cell if `count` cells share this room. */
const fit = (count, most, room) => Math.max(2, Math.min(most, Math.floor(room / count)));

/** A canvas that is sharp on every screen. */
function scaled(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  Object.assign(canvas.style, inPixels({ width, height }));
  const context = canvas.getContext("2d");
  context.scale(canvas.width / width, canvas.height / height);
  return context;
}

/** The colour of the view's ground, as red, green and blue. */
function groundOf(node) {
  const root = node.closest(".seqlearn");
  return (root && getComputedStyle(root).backgroundColor.match(/\d+/g)?.slice(0, 3).map(Number)) ?? [255, 255, 255];
}

const shadeOf = ({ values, limits, ramp, columns }, row, column) =>
  colour((values[row * columns + column] - limits[0]) / (limits[1] - limits[0] || 1), ramp);

/** Draws the cells: a colour, or hatching if masked. The grey differs from white, black and viridis. */
function paint(context, cells) {
  const { isMasked, tint, width, height, rows, columns } = cells;
  context.clearRect(0, 0, width * columns, height * rows);
  const gap = width > 6 && height > 6 ? 1 : 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const [x, y] = [column * width, row * height];
      if (isMasked(row, column)) hatch(context, x, y, width - gap, height - gap);
      else {
        context.fillStyle = tint ?? `rgb(${shadeOf(cells, row, column)})`;
        context.fillRect(x, y, width - gap, height - gap);
      }
    }
  }
}

/** Writes the number or the word of each cell, in the largest font in which the widest of them fits; in none, if it does not
 * fit at all. */
function writeNumbers(context, cells, isFaded, ground) {
  const { values, isMasked, word, tint, least, width, height, rows, columns } = cells;
  const digits = decimals(values);
  const plain = (value) => (least === null ? inCell(value, digits) : value < least ? "" : value.toFixed(2).replace(/^0|\.00$/g, ""));
  const texts = Array.from({ length: rows * columns }, (_, at) => (word && word(values[at], Math.floor(at / columns), at % columns)) ?? plain(values[at]));
  const widest = Math.max(0, ...[...new Set(texts)].map(widthOf));
  const font = FONTS.find((size) => (widest * size) / 11 <= width - 2 && size <= Math.min(height - 3, Math.max(11, 0.44 * height)));
  if (!font) return;
  Object.assign(context, { font: SMALL.replace("11", font), textAlign: "center", textBaseline: "middle" });
  texts.forEach((text, at) => {
    if (!text) return;
    const [row, column] = [Math.floor(at / columns), at % columns];
    const shade = isMasked(row, column) || tint ? [160, 160, 160] : shadeOf(cells, row, column);
    const seen = isFaded(row, column) ? shade.map((part, i) => VEIL * ground[i] + (1 - VEIL) * part) : shade;
    context.fillStyle = isLight(seen) ? "#000" : "#fff";
    context.fillText(text, (column + 0.5) * width, (row + 0.5) * height);
  });
}

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

/** The fewest decimals that write all numbers in full, at most 2. */
function decimals(values) {
  return [0, 1].find((digits) => values.every((x) => !Number.isFinite(x) || Math.abs(x - x.toFixed(digits)) < 1e-6)) ?? 2;
}

function inCell(x, digits) {
  return Number.isFinite(x) && Math.abs(x) < 1e4 ? x.toFixed(digits).replace("-", "−") : number(x);
}

/** Labels above the columns, slanted where they are wider than a column; with too little room, every second, third ... */
function columnLabels(texts, width, every = Math.ceil(14 / width)) {
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
  return { node, mark: (list) => underline(labels, list) };
}

function rowLabels(texts, height, every = Math.ceil(14 / height)) {
  const node = make("div", { class: "rows" });
  const labels = place(node, texts, every, (label, i) => {
    if ((texts.length - i) * height < 14) label.textContent = ""; // too little room for the last one
    const shared = Math.min(every, texts.length - i);
    label.style.height = label.style.lineHeight = `${height * shared}px`;
    label.style.top = `${(-height * (shared - 1)) / 2}px`; // beside its own row
  });
  return { node, mark: (list) => underline(labels, list) };
}

function place(node, texts, every, put) {
  return texts.map((text, i) => {
    if (i % every) return null;
    const label = make("span", { class: "label", dir: "auto", title: text }, oneLine(text));
    put(label, i);
    node.append(label);
    return label;
  });
}

function underline(labels, list) {
  labels.forEach((label, i) => label && label.classList.toggle("on", list.includes(i)));
}

/** Mouse and keyboard on a grid: arrow keys, Home and End of a row, Enter, Escape. enter(cell): called after Enter on the
 * locked cell, or a double click; without it Enter frees the cell. Returns a function that sets the locked cell and,
 * where nothing is locked, the cell where the arrow keys begin. */
function pointing(body, cellAt, rows, columns, { point, lock, start, enter = null }) {
  const within = (at, count) => Math.min(Math.max(at, 0), count - 1);
  let [locked, cursor] = [null, { row: within(start?.row ?? 0, rows), column: within(start?.column ?? 0, columns) }];
  const same = (a, b) => a && b && a.row === b.row && a.column === b.column;
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -columns], End: [0, columns] };
  body.addEventListener("pointermove", (event) => point(cellAt(event)));
  body.addEventListener("pointerleave", () => point(null));
  body.addEventListener("focus", () => body.matches(":focus-visible") && point((cursor = locked ?? cursor)));
  body.addEventListener("blur", () => point(null));
  body.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (!cell) return;
    cursor = cell;
    lock(same(cell, locked) ? null : cell);
  });
  body.addEventListener("dblclick", (event) => enter && cellAt(event) && enter(cellAt(event)));
  body.addEventListener("keydown", (event) => {
    if (event.key in moves) {
      const [down, right] = moves[event.key];
      const next = { row: within(cursor.row + down, rows), column: within(cursor.column + right, columns) };
      cursor = next;
      if (locked) lock(next); // the lock follows the arrow keys
      point(next);
    } else if (event.key === "Enter" && enter && same(cursor, locked)) enter(cursor);
    else if (event.key === "Enter" || event.key === " ") lock(same(cursor, locked) ? null : cursor);
    else if (event.key === "Escape") lock(null);
    else return;
    event.preventDefault();
  });
  return (cell, resting = null) => {
    locked = cell;
    cursor = cell ?? resting ?? cursor;
  };
}
