// Which token looks at which: two columns of tokens joined by lines, and the heat map of the same weights.

import { HIDDEN_BELOW } from "./constants.js";
import { draw, legendOf, lockNote, make, maskedSign, number, token } from "./elements.js";
import { dragging, fit, heatMap, longestOf, rowLabels } from "./heatmap.js";

/** @import { Dragging, HeatMap, MapOptions, Mark } from "./heatmap.js" */
/** @import { Cell, Child, Numbers, Target } from "./types.js" */

/** @typedef {Extract<Target, [what: "pair", ...number[]]>} Pair */
/** @typedef {[side: "query" | "key", index: number]} Place */
/** @typedef {{ query: string, key: string, arrow: string }} Verbs */
/** @typedef {(row: number, column: number) => number} WeightAt */
/** @typedef {(row: number, column: number) => boolean} IsMasked */

/** What to do with a target: see `attentionPanel`.
 * @typedef {{
 *   point: (target: Target | null) => void,
 *   lock: (target: Target | null) => void,
 *   enter?: ((target: Target) => void) | null,
 * }} Doing
 */

/** The tokens of one attention, and what to do with a target: see `attentionPanel`.
 * @typedef {{
 *   queries: string[],
 *   keys: string[],
 *   names: { query: string, key: string },
 *   isMasked?: IsMasked,
 *   full?: number,
 * } & Doing} Tokens
 */

/** The weight that a line is dragged to.
 * @typedef {{ pair: Pair, weight: number }} Pulled
 */

/** Dragging of lines: see `attentionPanel`.
 * @typedef {{ may: () => unknown, move: (pulled: Pulled | null) => void, done: (pulled: Pulled) => void }} Pull
 */

/** A line from a query to a key. tone: the colour of a head; shift: how far it is moved down, in pixels.
 * @typedef {{ i: number, j: number, weight: number, tone?: number, shift?: number }} Line
 */

/** What the sentences need to know.
 * @typedef {{ queries: string[], keys: string[], isMasked: IsMasked, at: WeightAt, verbs: () => Verbs }} Words
 */

/** @typedef {ReturnType<typeof attentionPanel>} AttentionPanel */
/** @typedef {ReturnType<typeof overlayPanel>} OverlayPanel */

const MOST_LINES = 6000; // an SVG with more takes too long
const MOST_WORDS = 5; // tokens that a sentence names with their weights
/** @type {Verbs} */
const LOOKS = { query: "looks at", key: "is looked at by", arrow: " → " };
/** @type {Verbs} */
const MADE = { query: "is made of", key: "is a part of", arrow: " ← " }; // of a rollout
const TONE_GAP = 4; // pixels between the lines of two heads from one token to another
const LINE = { thin: 0.6, thick: 7, faint: 0.15, gap: 5 }; // pixels, and the opacity of a weight near 0
const PULL = { start: 4, whole: 160 }; // pixels: a line is dragged, and not clicked; from weight 0 to weight 1
const LEAST_LINES = 64; // pixels: the width of the lines beside a heat map
const WEIGHT = { cell: 28, most: 24 }; // pixels of a cell; the longest sentence with numbers

/** The columns and the heat map of one attention. The panel keeps no choices: `show` and `mark` say what to draw.
 *
 * queries, keys: the texts of the rows and of the columns. names: { query, key }, the names of the two columns.
 * isMasked(i, j): whether a cell is masked; such a cell is hatched and has no line. full: the weight of the thickest
 * line and of the brightest cell. room: the width for the panel, in pixels. point(target): called with what is under
 * the mouse or the arrow keys, or null. lock(target): called after a click or Enter; null frees. enter(target): called
 * after Enter on what is locked, or a double click; without it Enter frees.
 * A target is ["query", i], ["key", j] or ["pair", i, j].
 * beside: the width for columns and heat map side by side, in place of `room`, the width for one of them. cell: the
 * size of a cell; cells: its width, if that is less. Inside an element of class "resting", marks fade nothing.
 * pull: { may(), move({ pair, weight } or null), done({ pair, weight }) }, whether a line can be dragged now, what to
 * do while it is dragged, null: nothing comes of it, and what to do at the end; without `pull`, lines stay.
 *
 * Gives { nodes, legend, show, mark, says, focus, preview }.
 * nodes: the columns, the heat map and the tooltip, all for one `.panels.side`. legend: the node below them.
 * show(weights, { title, threshold, made }): draws a flat list of queries x keys weights, with lines from the threshold
 *   on, and returns a text with the number of lines. made: whether this is a rollout, where tokens are made of tokens.
 * mark(target, locked): emphasises the target and fades the rest; null removes the emphasis. locked: whether the target
 *   stays.
 * says(target, locked): the sentences about the target, as a list of texts and elements.
 * focus(which): gives the focus to the columns, 0, or to the heat map, 1.
 * preview({ pair, weight } or null): the row of the pair is drawn, marked and told as it were with this weight.
 * @param {Tokens & Partial<Sizes> & { cells?: number, pull?: Pull | null }} options
 */
export function attentionPanel(options) {
  const { queries, keys, full = 1, room = 900, beside = null, cell = WEIGHT.cell, cells = cell, pull = null } = options;
  const isMasked = options.isMasked ?? (() => false);
  const pitch = cellOf(Math.max(queries.length, keys.length), cell, 500);
  const { forLines, forMap } = roomFor({ queries, keys, beside, room, cell: cells });
  let shown = { weights: /** @type {Numbers} */ ([]), verbs: LOOKS };
  /** The row that is previewed.
   * @type {{ i: number, weights: number[] } | null} */
  let other = null;
  const at = (/** @type {number} */ i, /** @type {number} */ j) =>
    other?.i === i ? other.weights[j] : shown.weights[i * keys.length + j];
  const columns = tokenColumns({ ...options, full, pitch, room: forLines, pull: pull && { ...pull, at } });
  const map = weightMap(options, {
    title: "attention",
    height: pitch,
    width: cellOf(keys.length, cells, forMap),
  });
  const boxes = [columns.node, make("div", { class: "scrolls" }, map.node)];
  // The rows of the map stand beside the queries.
  if (room > 700 || beside) boxes[1].style.marginBottom = `${pitch * Math.max(0, keys.length - queries.length)}px`;
  const tip = tooltip(boxes);
  const words = { queries, keys, isMasked, at, verbs: () => shown.verbs };
  const anyMasked = queries.some((_, i) => keys.some((_, j) => isMasked(i, j)));
  return {
    nodes: [...boxes, tip.node],
    preview(/** @type {Pulled | null} */ pulled) {
      if (!pulled && !other) return;
      other = null;
      if (pulled) {
        const [[, i, j], open] = [pulled.pair, (/** @type {number} */ k) => !isMasked(pulled.pair[1], k)];
        const row = keys.map((_, k) => at(i, k));
        other = { i, weights: rowWith(row, j, pulled.weight, open) };
      }
      map.show(
        Float64Array.from(shown.weights, (_, k) => at(Math.floor(k / keys.length), k % keys.length)),
        [0, full],
      );
    },
    legend: attentionLegend(full, anyMasked),
    focus: (/** @type {number} */ which) => [columns, map][which].focus(),
    show(/** @type {Numbers} */ weights, { title = "attention", threshold = 0, made = false } = {}) {
      shown = { weights, verbs: made ? MADE : LOOKS };
      other = null;
      map.show(weights, [0, full]);
      map.caption.textContent = title;
      const lines = linesFrom(queries.length, keys.length, isMasked, at, threshold);
      columns.show(lines.drawn, shown.verbs);
      return linesText(lines, threshold);
    },
    mark(/** @type {Target | null} */ target, locked = false) {
      columns.mark(target, locked, other?.weights);
      markMap(map, target, locked, target !== null && !map.node.closest(".resting"));
      tip.show(target && (other || !locked) ? () => tipText(words, target) : null);
    },
    says: (/** @type {Target} */ target, locked = false) => attentionWords(words, target, locked),
  };
}

/** The heat map of one attention.
 * @param {Tokens} tokens
 * @param {Pick<MapOptions, "title" | "width" | "height" | "bar">} more
 */
function weightMap({ queries, keys, isMasked = () => false, point, lock, enter }, more) {
  return heatMap({
    rows: queries,
    columns: keys,
    isMasked,
    word: (_weight, i, j) => (isMasked(i, j) ? "" : null),
    most: WEIGHT.most,
    least: HIDDEN_BELOW,
    point: (cell) => point(cell && pairOf(cell)),
    lock: (cell) => lock(cell && pairOf(cell)),
    enter: enter && ((cell) => enter(pairOf(cell))),
    ...more,
  });
}

/** @type {(cell: Cell) => Pair} */
const pairOf = ({ row, column }) => ["pair", row, column];

/** Emphasises a target in the heat map of an attention.
 * @param {HeatMap} map
 * @param {Target | null} target
 * @param {boolean} locked
 * @param {boolean} fades
 */
function markMap(map, target, locked, fades) {
  map.mark(target ? framesOf(target) : [], fades);
  if (!target) return map.target(null);
  if (!locked) return map.target(null, target[0] === "query" ? { row: target[1], column: 0 } : null);
  const cell = {
    row: target[0] === "key" ? 0 : target[1],
    column: target[0] === "query" ? 0 : (target[2] ?? target[1]),
  };
  return target[0] === "pair" ? map.target(cell) : map.target(null, cell, true);
}

/** @type {(target: Target) => Mark[]} */
function framesOf(target) {
  if (target[0] === "query") return [{ row: target[1] }];
  if (target[0] === "key") return [{ column: target[1] }];
  return [{ row: target[1] }, { row: target[1], column: target[2], strong: true }];
}

/** The size of one of `count` cells that share this room; cells up to 6 pixels have no gaps.
 * @type {(count: number, most: number, space: number) => number}
 */
export const cellOf = (count, most, space) =>
  [fit(count, most, space)].map((size) => (size > 6 && size < 9 ? 6 : size))[0];

/** The room of a panel, and the width of a cell at most: see `attentionPanel`.
 * @typedef {{ beside: number | null, room: number, cell: number }} Sizes
 */

/** The widths for the columns and for the cells of the heat map.
 * @param {{ queries: string[], keys: string[] } & Sizes} options
 */
const roomFor = ({ queries, keys, beside, room, cell }) =>
  share(queries, keys, beside, cell) ?? {
    forLines: room,
    forMap: Math.min(480, Math.max(100, room - longestOf(queries) - 60)),
  };

/** The same width of a cell for several maps.
 * @param {{ queries: string[], keys: string[] }[]} maps
 * @param {Sizes} options
 */
export const commonCell = (maps, options) =>
  Math.min(
    ...maps.map(({ queries, keys }) =>
      cellOf(keys.length, options.cell, roomFor({ queries, keys, ...options }).forMap),
    ),
  );

/** The widths for the columns and for the cells of the heat map, side by side in `beside` pixels; null if that is too
 * little for both.
 * @param {string[]} queries
 * @param {string[]} keys
 * @param {number | null} beside
 * @param {number} cell
 */
function share(queries, keys, beside, cell) {
  if (beside === null) return null;
  const labels = longestOf(queries) + longestOf(keys) + 30;
  const aside = longestOf(queries) + 0.71 * longestOf(keys) + 50; // beside the cells
  const [least, left] = [labels + LEAST_LINES, beside - labels - aside];
  const forMap = Math.min(keys.length * cell, 480, left - LEAST_LINES);
  const enough = keys.length * (keys.length > WEIGHT.most ? 6 : 15); // with room for a number
  return forMap < Math.min(enough, 320) ? null : { forLines: Math.max(least, beside - aside - forMap), forMap };
}

/** Several heads of one kind: their lines over each other, a colour for each head, and their heat maps side by side.
 *
 * maps: whether the heat maps are drawn even where they do not fit beside the lines. The other options are those of
 * `attentionPanel`, which has the same parts:
 * Gives { nodes, legend, show, mark, says, focus }. show takes a list of { name, role, weights } in place of the
 * weights.
 * @param {Tokens & Sizes & { maps: boolean }} options
 */
export function overlayPanel(options) {
  const { queries, keys, isMasked = () => false, full = 1, room, beside, maps } = options;
  const pitch = cellOf(Math.max(queries.length, keys.length), WEIGHT.cell, 500);
  const space = beside ?? room;
  const aside = longestOf(queries) + 0.71 * longestOf(keys) + 46; // beside the cells of a map
  const widest = longestOf(queries) + longestOf(keys) + 30 + 170; // of the lines
  const columns = tokenColumns({ ...options, full, pitch, room: Math.min(space, widest), pull: null });
  const pictures = make("div", { class: "pictures" });
  const legend = make("div");
  /** @type {(Overlaid & { map: HeatMap | null })[]} */
  let drawn = [];
  /** @type {(one: Overlaid) => WeightAt} */
  const at = (one) => (i, j) => one.weights[i * keys.length + j];
  /** @type {(count: number) => number} */
  const sidedFor = (count) => (space - widest - 24) / count - aside; // the width of the cells of a map beside the lines
  /** @type {(one: Overlaid, tone: number, across: number) => HeatMap} */
  const mapOf = (one, tone, across) => {
    const most = across ? sidedFor(across) : Math.min(320, space - aside);
    const width = cellOf(keys.length, Math.min(options.cell, WEIGHT.cell), most);
    const map = weightMap(options, { title: one.name, width, height: Math.min(width, pitch), bar: false });
    map.show(one.weights, [0, full]);
    map.caption.replaceChildren(toneSign(tone), ` head ${one.name}${one.role ? ` · ${one.role}` : ""}`);
    return map;
  };
  return {
    nodes: [columns.node, pictures],
    legend,
    focus: () => columns.focus(),
    show(/** @type {Overlaid[]} */ list, { threshold = 0 } = {}) {
      const rows = [1, 2].map((count) => Math.ceil(list.length / count));
      const across = rows.find((count) => sidedFor(count) >= 10 * keys.length) ?? 0; // maps beside each other
      pictures.style.maxWidth = across ? `${space - widest - 24}px` : ""; // the others stand below these
      columns.node.style.alignSelf = across && across < list.length ? "flex-start" : "";
      drawn = list.map((one, tone) => ({ ...one, map: maps || across ? mapOf(one, tone, across) : null }));
      pictures.replaceChildren(
        ...drawn.flatMap(({ map }) => (map ? [make("div", { class: "scrolls" }, map.node)] : [])),
      );
      legend.replaceChildren(overlayLegend(drawn, maps));
      const parts = drawn.map((one) => linesFrom(queries.length, keys.length, isMasked, at(one), threshold));
      const lines = sideBySide(
        parts.map((part) => part.drawn),
        pitch,
      );
      columns.show(lines.slice(-MOST_LINES), LOOKS);
      const open = parts.reduce((sum, part) => sum + part.open, 0);
      return linesText({ drawn: lines, total: lines.length, open }, threshold);
    },
    mark(/** @type {Target | null} */ target, locked = false) {
      columns.mark(target, locked);
      for (const { map } of drawn) if (map) markMap(map, target, locked, target !== null);
    },
    says: (/** @type {Target} */ target, locked = false) =>
      drawn.map((one, tone) => {
        const words = { queries, keys, isMasked, at: at(one), verbs: () => LOOKS };
        const says = attentionWords(words, target, locked && tone === 0);
        return make("div", {}, toneSign(tone), ` ${one.name}: `, ...says);
      }),
  };
}

/** A head that is drawn over others.
 * @typedef {{ name: string, role: string, weights: Numbers }} Overlaid
 */

/** The lines of all heads, each head a little below the one before, the heaviest last.
 * @param {Line[][]} heads
 * @param {number} pitch
 * @returns {Line[]}
 */
function sideBySide(heads, pitch) {
  const gap = Math.min(TONE_GAP, pitch / heads.length);
  const shift = (/** @type {number} */ tone) => (tone - (heads.length - 1) / 2) * gap;
  const lines = heads.flatMap((some, tone) => some.map((line) => ({ ...line, tone, shift: shift(tone) })));
  return lines.sort((a, b) => a.weight - b.weight);
}

/** @type {(heads: Overlaid[], maps: boolean) => HTMLElement} */
const overlayLegend = (heads, maps) =>
  legendOf(
    ["each head has its colour:", ""],
    ...heads.map(({ name, role }, tone) => toneEntry(tone, `head ${name}${role ? `: ${role}` : ""}`)),
    !maps && ["zoom in for large maps", ""],
  );

/** @type {(tone: number, text: string) => [Child, string]} */
const toneEntry = (tone, text) => [toneSign(tone), text];

const toneSign = (/** @type {number} */ tone) =>
  draw(
    "svg",
    { class: `sample tone${tone}`, width: 22, height: 10, "aria-hidden": "true" },
    draw("line", { x1: 1, x2: 21, y1: 5, y2: 5, "stroke-width": 4 }),
  );

/** A line for each weight from the threshold on, the heaviest last. Of more than MOST_LINES the heaviest are drawn;
 * `total` counts all of them, `open` all weights that are not masked.
 * @param {number} rows
 * @param {number} columns
 * @param {IsMasked} isMasked
 * @param {WeightAt} at
 * @param {number} threshold
 */
function linesFrom(rows, columns, isMasked, at, threshold) {
  /** @type {Line[]} */
  const lines = [];
  let open = 0;
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      if (isMasked(i, j)) continue;
      open++;
      const weight = at(i, j);
      if (weight > 0 && weight >= threshold - 1e-6) lines.push({ i, j, weight }); // 1/5 in float32 counts as 0.2
    }
  }
  lines.sort((a, b) => a.weight - b.weight);
  return { drawn: lines.slice(-MOST_LINES), total: lines.length, open };
}

/** How many lines there are, and how many weights have none.
 * @param {{ drawn: Line[], total: number, open: number }} lines
 * @param {number} threshold
 */
function linesText({ drawn, total, open }, threshold) {
  const many = (/** @type {number} */ count, /** @type {string} */ word) =>
    `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  const lines =
    total > drawn.length
      ? `the ${many(drawn.length, "line")} of the largest weights, out of ${many(total, "line")}`
      : many(total, "line");
  const below = open - total;
  const limit = threshold ? `below ${number(threshold)}` : "of 0";
  return `${lines}; not drawn: ${below ? `${many(below, "weight")} ${limit}` : "none"}.`;
}

/** Where lines are drawn. pitch: from a token to the next; width: of all lines; full: the weight of the thickest one.
 * @typedef {{ pitch: number, width: number, full: number }} Plane
 */

/** Queries at the left, keys at the right, lines between them: gives { node, focus, show(lines), mark(target, locked,
 * row) }. row: the weights of the target's row where it is previewed.
 * @param {Tokens & { full: number, pitch: number, room: number, pull: (Pull & { at: WeightAt }) | null }} options
 */
function tokenColumns({ queries, keys, names, full, pitch, room, point, lock, enter, pull }) {
  const most = room < 420 ? 78 : 110;
  const [left, right] = [rowLabels(queries, pitch), rowLabels(keys, pitch)];
  right.node.classList.add("keys");
  const taken = [queries, keys].map((texts) => Math.min(most, longestOf(texts)) + 12);
  const width = Math.max(60, Math.min(Math.max(220, 8 * pitch), room - taken[0] - taken[1]));
  const plane = { pitch, width, full };
  const [all, lit] = [draw("g", { class: "all" }), draw("g", { class: "lit" })];
  const height = pitch * Math.max(queries.length, keys.length);
  const svg = draw("svg", { width, height, "aria-hidden": "true" }, all, lit);
  const spoken = `${names.query}, ${queries.length}, and ${names.key}, ${keys.length}`;
  const label = { role: "application", tabindex: 0, "aria-label": `${spoken}. Arrow keys move, Enter keeps.` };
  const body = make("div", { class: "body", ...label }, left.node, svg, right.node);
  const verb = make("span", { class: "faint" });
  const head = make("figcaption", {}, make("span", {}, names.query), verb, make("span", {}, names.key));
  const node = make("figure", { class: "looks" }, head, body);
  node.style.setProperty("--most", `${most}px`);
  /** @type {Line[]} */
  let lines = [];
  /** @type {(event: MouseEvent) => Target | null} */
  const targetAt = (event) => {
    const box = svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (x >= 0 && x <= width) return lineAt(plane, lines, x, y);
    const index = Math.floor(y / pitch);
    if (index < 0 || index >= (x < 0 ? queries : keys).length) return null;
    return x < 0 ? ["query", index] : ["key", index];
  };
  if (pull) dragLines(svg, targetAt, pull);
  const keep = columnKeys(body, targetAt, { query: queries.length, key: keys.length }, { point, lock, enter });
  return {
    node,
    focus: () => body.focus({ focusVisible: true }),
    show(/** @type {Line[]} */ list, /** @type {Verbs} */ verbs) {
      lines = list;
      verb.textContent = `${verbs.query} →`;
      all.replaceChildren(...lines.map((line) => lineOf(plane, line)));
    },
    mark(/** @type {Target | null} */ target, /** @type {boolean} */ locked, /** @type {number[]} */ row = []) {
      keep(target, locked);
      svg.classList.toggle("pointed", target !== null);
      const other = row
        .map((weight, j) => ({ i: target?.[1] ?? 0, j, weight }))
        .filter(({ j, weight }) => j === target?.[2] || weight >= 0.005);
      const known = target ? lines.filter(({ i, j }) => (target[0] === "key" ? j : i) === target[1]) : [];
      const mine = row.length ? other : known;
      left.mark(target?.[0] === "key" ? mine.map(({ i }) => i) : [target?.[1]]);
      right.mark(target?.[0] === "query" ? mine.map(({ j }) => j) : [target?.[0] === "pair" ? target[2] : target?.[1]]);
      light(plane, lit, mine, target);
    },
  };
}

/** @type {(plane: Plane, token: number) => number} */
const middle = ({ pitch }, i) => (i + 0.5) * pitch;

/** @type {(plane: Plane, weight: number) => number} */
const thick = ({ full }, weight) => LINE.thin + (LINE.thick - LINE.thin) * Math.min(weight / full, 1);

/** The line at this place; of two lines, the heavier one.
 * @param {Plane} plane
 * @param {Line[]} lines
 * @param {number} x
 * @param {number} y
 * @returns {Pair | null}
 */
function lineAt(plane, lines, x, y) {
  let least = LINE.gap;
  /** @type {Pair | null} */
  let best = null;
  for (const { i, j, weight, shift = 0 } of lines) {
    const [from, to] = [middle(plane, i), middle(plane, j)];
    const away = Math.abs(y - shift - from - ((to - from) * x) / plane.width);
    const gap = Math.max(0, away - thick(plane, weight) / 2);
    if (gap > least) continue;
    best = ["pair", i, j];
    least = gap;
  }
  return best;
}

/** @param {Plane} plane
 * @param {Line} line
 * @param {boolean} strong
 */
function lineOf(plane, { i, j, weight, tone, shift = 0 }, strong = false) {
  return draw("line", {
    class: tone === undefined ? strong && "strong" : `tone${tone}`,
    x1: 0,
    y1: middle(plane, i) + shift,
    x2: plane.width,
    y2: middle(plane, j) + shift,
    "stroke-width": thick(plane, weight).toFixed(2),
    "stroke-opacity": (LINE.faint + (1 - LINE.faint) * Math.min(weight / plane.full, 1)).toFixed(2),
  });
}

/** Draws the lines of a row or a column, with their numbers, above all others.
 * @param {Plane} plane
 * @param {SVGElement} lit
 * @param {Line[]} mine
 * @param {Target | null} target
 */
function light(plane, lit, mine, target) {
  const isNumbered = (/** @type {Line} */ { tone }) => plane.pitch >= 11 && tone === undefined;
  const numbers = mine
    .filter(isNumbered)
    .map(({ i, j, weight }) =>
      target?.[0] === "key"
        ? draw("text", { x: 1, y: middle(plane, i) + 4 }, weightText(weight))
        : draw("text", { x: plane.width + 1, y: middle(plane, j) + 4, "text-anchor": "end" }, weightText(weight)),
    );
  const lines = mine.map((line) => lineOf(plane, line, target?.[0] === "pair" && line.j === target[2]));
  lit.replaceChildren(...lines, ...numbers);
}

/** A row whose weight in column j is another one; the other weights share the rest, as after `reweighted` in
 * edits.py.
 * @param {number[]} row
 * @param {number} j
 * @param {number} weight
 * @param {(column: number) => boolean} isOpen
 */
function rowWith(row, j, weight, isOpen) {
  const others = row.reduce((sum, one, k) => (k === j ? sum : sum + one), 0);
  const open = row.filter((_, k) => k !== j && isOpen(k)).length;
  return row.map((one, k) =>
    k === j ? (open ? weight : 1) : !isOpen(k) ? 0 : others > 0 ? (one * (1 - weight)) / others : (1 - weight) / open,
  );
}

/** Dragging of lines: up or to the right is more weight. Escape, or a finger that scrolls, takes it back. The options
 * are those of `pull` in `attentionPanel`, and `at`, the weights.
 * @param {SVGElement} svg
 * @param {(event: MouseEvent) => Target | null} targetAt
 * @param {Pull & { at: WeightAt }} options
 */
function dragLines(svg, targetAt, { may, move, done, at }) {
  /** A line, where it was touched, and its weight before, and now, null before it moves.
   * @type {{ pair: Pair, pull: Dragging, from: number, now: number | null } | null} */
  let held = null;
  let justDragged = false;
  svg.classList.add("pulls");
  const release = (keeps = false) => {
    if (!held) return;
    const { pair, from, now } = held;
    held = null;
    window.removeEventListener("keydown", cancel, true);
    if (now === null) return;
    justDragged = true;
    if (keeps && now !== Math.round(100 * from) / 100) done({ pair, weight: now });
    else move(null);
  };
  const cancel = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    release();
  };
  svg.addEventListener("pointerdown", (event) => {
    justDragged = false;
    const pair = event.button === 0 && may() ? targetAt(event) : null;
    if (pair?.[0] !== "pair" || held) return;
    held = { pair, pull: dragging(event, PULL.start), from: at(pair[1], pair[2]), now: null };
    window.addEventListener("keydown", cancel, true);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held) return;
    event.stopPropagation(); // nothing else is pointed at meanwhile
    const by = held.pull(event);
    if (by === null) return;
    if (held.now === null) svg.setPointerCapture(event.pointerId);
    held.now = Math.round(100 * Math.min(Math.max(held.from + by / PULL.whole, 0), 1)) / 100;
    move({ pair: held.pair, weight: held.now });
  });
  svg.addEventListener("pointerup", () => release(true));
  svg.addEventListener("pointercancel", () => release());
  svg.addEventListener("click", (event) => {
    if (justDragged) event.stopPropagation(); // the end of a drag is no click
    justDragged = false;
  });
}

/** Mouse and keyboard on the columns. The arrow keys go up and down, left to the queries, right to the attention keys.
 * Returns a function that sets the target.
 * @param {HTMLElement} body
 * @param {(event: MouseEvent) => Target | null} targetAt
 * @param {{ query: number, key: number }} counts
 * @param {Doing} doing
 */
function columnKeys(body, targetAt, counts, { point, lock, enter = null }) {
  /** @type {Target | null} */
  let locked = null;
  /** @type {Place} */
  let cursor = ["query", 0];
  const isLocked = (/** @type {Target} */ target) => locked?.join() === target.join();
  const toggle = (/** @type {Target} */ target) => lock(isLocked(target) ? null : target);
  /** @type {(side: Place[0], index: number) => Place} */
  const place = (side, index) => [side, Math.min(Math.max(index, 0), counts[side] - 1)];
  /** @type {Record<string, (from: Place) => Place>} */
  const moves = {
    ArrowUp: ([side, index]) => place(side, index - 1),
    ArrowDown: ([side, index]) => place(side, index + 1),
    ArrowLeft: ([, index]) => place("query", index),
    ArrowRight: ([, index]) => place("key", index),
    Home: ([side]) => place(side, 0),
    End: ([side]) => place(side, counts[side] - 1),
  };
  body.addEventListener("pointermove", (event) => point(targetAt(event)));
  body.addEventListener("pointerleave", () => point(null));
  body.addEventListener("blur", () => point(null));
  body.addEventListener("focus", () => body.matches(":focus-visible") && point(cursor));
  body.addEventListener("click", (event) => {
    const target = targetAt(event);
    if (target) toggle(target);
  });
  body.addEventListener("dblclick", (event) => {
    const target = enter && targetAt(event);
    if (target) enter(target);
  });
  body.addEventListener("keydown", (event) => {
    if (event.key in moves) {
      cursor = moves[event.key](cursor);
      if (locked) lock(cursor); // the lock follows the arrow keys
      point(cursor);
    } else if (event.key === "Enter" && enter && isLocked(cursor)) enter(cursor);
    else if (event.key === "Enter" || event.key === " ") toggle(cursor);
    else if (event.key === "Escape") lock(null);
    else return;
    event.preventDefault();
  });
  return (/** @type {Target | null} */ target, /** @type {boolean} */ stays) => {
    locked = stays ? target : null;
    if (target && target[0] !== "pair") cursor = target;
    else if (locked) cursor = ["query", locked[1]];
  };
}

// ---- In words -------------------------------------------------------------------------------------------------------

/** A weight as a text; a small weight is not written as 0.
 * @param {number} x
 */
export const weightText = (x) => (x > 0 && x < 0.005 ? "<0.005" : x.toFixed(2));

/** A token of a sentence; with its number among equal ones, "la (3rd)", and with its place if the text is invisible.
 * @param {string[]} texts
 * @param {number} i
 * @returns {(HTMLElement | string)[]}
 */
export function tokenAt(texts, i) {
  if (texts[i].trim() === "") return [token(texts[i]), ` (token ${i + 1})`];
  if (texts.indexOf(texts[i]) === texts.lastIndexOf(texts[i])) return [token(texts[i])];
  return [token(texts[i]), ` (${ordinal(texts.slice(0, i + 1).filter((text) => text === texts[i]).length)})`];
}

/** 1st, 2nd, 3rd, 4th ... 11th, 12th, 13th ... 21st
 * @param {number} n
 */
const ordinal = (n) => `${n}${(n % 100 > 10 && n % 100 < 14 ? "" : ["", "st", "nd", "rd"][n % 10]) || "th"}`;

/** @type {(words: Words, target: Target) => (Node | string)[]} */
function tipText({ queries, keys, isMasked, at, verbs }, target) {
  const what = target[0];
  const pair = (/** @type {number} */ i, /** @type {number} */ j) => {
    const weight = what === "pair" && isMasked(i, j) ? "masked" : weightText(at(i, j));
    return [...tokenAt(queries, i), verbs().arrow, ...tokenAt(keys, j), ` ${weight}`];
  };
  if (what === "pair") return pair(target[1], target[2]);
  const others = (what === "query" ? keys : queries).map((_, i) => i);
  const weight = (/** @type {number} */ i) => (what === "query" ? at(target[1], i) : at(i, target[1]));
  const best = others.reduce((a, b) => (weight(b) > weight(a) ? b : a));
  return what === "query" ? pair(target[1], best) : pair(best, target[1]);
}

/** The tooltip of some boxes: gives { node, show(words) }. It is shown where the mouse is; without words, and after a
 * key anywhere in the view, it is hidden. A finger has none: it would cover what comes next.
 * @param {HTMLElement[]} boxes
 */
function tooltip(boxes) {
  const node = make("div", { class: "tip", "aria-hidden": "true", hidden: true });
  /** @type {MouseEvent | null} */
  let mouse = null;
  const leave = () => {
    mouse = null;
    node.hidden = true;
  };
  const move = (/** @type {PointerEvent} */ event) => {
    mouse = event.pointerType === "touch" ? null : event;
    node.closest(".seqlearn")?.addEventListener("keydown", leave, { capture: true, once: true });
  };
  for (const box of boxes) {
    box.addEventListener("pointermove", move, true); // before `point` is called
    box.addEventListener("pointerleave", leave);
  }
  const show = (/** @type {(() => (Node | string)[]) | null} */ words) => {
    node.hidden = !words || !mouse;
    if (words && mouse) putTip(node, mouse, words());
  };
  return { node, show };
}

/** The tooltip beside the mouse, within the view.
 * @param {HTMLElement} tip
 * @param {MouseEvent} mouse
 * @param {(Node | string)[]} children
 */
function putTip(tip, { clientX, clientY }, children) {
  tip.replaceChildren(...children);
  const view = tip.offsetParent?.getBoundingClientRect() ?? new DOMRect();
  tip.style.left = `${Math.max(4, Math.min(clientX - view.left + 14, view.width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${clientY - view.top + 16}px`;
}

/** @type {(words: Words, target: Target, locked: boolean) => Child[]} */
function attentionWords({ queries, keys, isMasked, at, verbs }, target, locked) {
  const first = target[1];
  const end = locked ? [lockNote(locked)] : [];
  if (target[0] === "key") {
    const open = queries.map((_, i) => i).filter((i) => !isMasked(i, first));
    return [...tokenAt(keys, first), " ", ...listed(verbs().key, queries, open, (i) => at(i, first)), ...end];
  }
  const open = keys.map((_, j) => j).filter((j) => !isMasked(first, j));
  const row = [...tokenAt(queries, first), " ", ...listed(verbs().query, keys, open, (j) => at(first, j)), ...end];
  if (target[0] === "query") return row;
  const second = target[2];
  const weight = isMasked(first, second) ? "masked: it may not be attended. " : `${weightText(at(first, second))}. `;
  return [...tokenAt(queries, first), ` ${verbs().arrow.trim()} `, ...tokenAt(keys, second), `: ${weight}`, ...row];
}

/** looks at A 0.91, B 0.05, and 8 others 0.04 together.
 * @param {string} verb
 * @param {string[]} texts
 * @param {number[]} open
 * @param {(i: number) => number} weight
 */
function listed(verb, texts, open, weight) {
  if (!open.length) return ["has nothing: all is masked."];
  const order = [...open].sort((a, b) => weight(b) - weight(a));
  const named = order.slice(0, MOST_WORDS).filter((i, place) => place === 0 || weight(i) >= 0.005);
  const rest = order.slice(named.length);
  const together = weightText(rest.reduce((sum, i) => sum + weight(i), 0));
  const more = rest.length
    ? `, and ${rest.length} other${rest.length === 1 ? "" : "s"} ${together}${rest.length === 1 ? "" : " together"}`
    : "";
  return [
    `${verb} `,
    ...named.flatMap((i, place) => [place ? ", " : "", ...tokenAt(texts, i), ` ${weightText(weight(i))}`]),
    `${more}.`,
  ];
}

/** @type {(full: number, masked: boolean) => HTMLElement} */
function attentionLegend(full, masked) {
  /** @type {(share: number) => [Child, string]} */
  const sample = (share) => [
    draw(
      "svg",
      { class: "sample", width: 24, height: 12, "aria-hidden": "true" },
      draw("line", {
        x1: 1,
        x2: 23,
        y1: 6,
        y2: 6,
        "stroke-width": LINE.thin + (LINE.thick - LINE.thin) * share,
        "stroke-opacity": LINE.faint + (1 - LINE.faint) * share,
      }),
    ),
    number(share * full),
  ];
  return legendOf(
    ["thickness of a line, and colour of a cell, are the weight:", ""],
    ...[0.1, 0.5, 1].map(sample),
    masked && [maskedSign(), "masked: may not be attended, no line"],
  );
}
