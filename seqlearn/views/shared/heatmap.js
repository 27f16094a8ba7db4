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
 * width, height: of a cell, in pixels; a cell of CELL.width or more has its number in it. room: the width for all columns
 * and the labels beside them, if no width is given. every: { rows, columns }, one label for so many of them.
 * Gives { node, focus(), show(values, limits), mark(marks), target(locked cell) }.
 */
function heatMap(options) {
  const { title, rows, columns, isMasked = () => false, word = null, tint = null, ramp = VIRIDIS, bar = true } = options;
  const { point = null, enters = "Enter locks", every = {} } = options;
  const few = rows.length <= MOST_NUMBERS && columns.length <= MOST_NUMBERS;
  const space = (options.room ?? 1e4) - 25 - longestOf(rows) - 0.6 * longestOf(columns);
  const roomy = few && columns.length * CELL.width <= space;
  const width = options.width ?? (roomy ? CELL.width :
    few ? Math.max(12, fit(columns.length, CELL.width - 1, space)) : fit(columns.length, CELL.width, Math.min(320, space)));
  const height = options.height ?? (rows.length <= MOST_NUMBERS ? CELL.height : fit(rows.length, CELL.height, 320));
  const written = few && width >= CELL.width;
  const canvas = make("canvas", { "aria-hidden": "true" });
  const marks = make("div", { class: "marks", "aria-hidden": "true" });
  const body = make("div", { class: "body" }, canvas, marks);
  const [low, high, scale] = [make("span"), make("span"), make("canvas", { class: "bar", width: 64, height: 1 })];
  const head = columnLabels(columns, width, every.columns);
  const side = rowLabels(rows, height, every.rows);
  const foot = make("div", { class: "foot" }, ...(bar ? [low, scale, high] : []));
  const node = make("figure", { class: "map" }, make("figcaption", {}, title), head.node, side.node, body, foot);
  const spoken = `${title}: ${rows.length} rows, ${columns.length} columns`;
  fill(body, point ? { role: "application", tabindex: 0, "aria-label": `${spoken}. Arrow keys move, ${enters}.` } :
    { role: "img", "aria-label": spoken }, []);
  const context = scaled(canvas, width * columns.length, height * rows.length);
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
  const tip = ({ row, column }) => `${rows[row]}, ${columns[column]}: ${number(drawn[row * columns.length + column])}`;
  if (!point) body.addEventListener("pointermove", (event) => (body.title = cellAt(event) ? tip(cellAt(event)) : ""));
  return {
    node,
    target,
    focus: () => body.focus({ focusVisible: true }),
    show(values, limits = extent(values)) {
      drawn = values;
      paint(context, { values, limits, isMasked, word, tint, ramp, written, width, height, rows: rows.length, columns: columns.length });
      [low.textContent, high.textContent] = limits.map(number);
    },
    /** Frames around cells: [{ row, column, strong, span, tag }]. Without a column the frame is around the whole row,
     * without a row around the whole column, or around `span` columns. The tag stands beside the frame. */
    mark(list) {
      marks.replaceChildren(...list.map(({ row, column, strong, span = 1, tag = null }) => {
        const frame = make("div", { class: strong ? "frame strong" : "frame" }, tag);
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

/** Draws the cells: a colour, or hatching if masked, and a word. The grey differs from white, black and viridis. */
function paint(context, { values, limits, isMasked, word, tint, ramp, written, width, height, rows, columns }) {
  context.clearRect(0, 0, width * columns, height * rows);
  context.font = SMALL;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const gap = width > 6 && height > 6 ? 1 : 0;
  const digits = decimals(values);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const [value, x, y] = [values[row * columns + column], column * width, row * height];
      const masked = isMasked(row, column);
      const rgb = colour((value - limits[0]) / (limits[1] - limits[0] || 1), ramp);
      if (masked) hatch(context, x, y, width - gap, height - gap);
      else {
        context.fillStyle = tint ?? `rgb(${rgb})`;
        context.fillRect(x, y, width - gap, height - gap);
      }
      if (!written) continue;
      context.fillStyle = masked || tint || isLight(rgb) ? "#000" : "#fff";
      context.fillText((word && word(value, row, column)) ?? inCell(value, digits), x + width / 2, y + height / 2, width - 4);
    }
  }
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

/** Mouse and keyboard on a grid: arrow keys, Home and End of a row, Enter, Escape. Returns a function that sets the locked
 * cell and, where nothing is locked, the cell where the arrow keys begin. */
function pointing(body, cellAt, rows, columns, { point, lock, start }) {
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
  body.addEventListener("keydown", (event) => {
    if (event.key in moves) {
      const [down, right] = moves[event.key];
      const next = { row: within(cursor.row + down, rows), column: within(cursor.column + right, columns) };
      cursor = next;
      if (locked) lock(next); // the lock follows the arrow keys
      point(next);
    } else if (event.key === "Enter" || event.key === " ") lock(same(cursor, locked) ? null : cursor);
    else if (event.key === "Escape") lock(null);
    else return;
    event.preventDefault();
  });
  return (cell, resting = null) => {
    locked = cell;
    cursor = cell ?? resting ?? cursor;
  };
}
