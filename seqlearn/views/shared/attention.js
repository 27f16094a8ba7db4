// Which token looks at which: two columns of tokens joined by lines, and the heat map of the same weights.

const MOST_LINES = 6000; // an SVG with more takes too long
const MOST_WORDS = 5; // tokens that a sentence names with their weights
const LOOKS = { query: "looks at", key: "is looked at by", arrow: " → " };
const MADE = { query: "is made of", key: "is a part of", arrow: " ← " }; // of a rollout
const MOST_TONES = 8; // heads that are drawn over each other: four colours, each as a solid and as a dashed line
const TONE_GAP = 4; // pixels between the lines of two heads from one token to another
const LINE = { thin: 0.6, thick: 7, faint: 0.15, gap: 5 }; // pixels, and the opacity of a weight near 0
const PULL = { start: 4, whole: 160 }; // pixels: a line is dragged, and not clicked; from weight 0 to weight 1
const LEAST_LINES = 64; // pixels: the width of the lines beside a heat map
const WEIGHT = { cell: 28, least: 0.05, most: 24 }; // pixels of a cell; the smallest weight and the longest sentence with numbers

/** The columns and the heat map of one attention. The panel keeps no choices: `show` and `mark` say what to draw.
 *
 * queries, keys: the texts of the rows and of the columns. names: { query, key }, the names of the two columns.
 * isMasked(i, j): whether a cell is masked; such a cell is hatched and has no line. full: the weight of the thickest line
 * and of the brightest cell. room: the width for the panel, in pixels. point(target): called with what is under the
 * mouse or the arrow keys, or null. lock(target): called after a click or Enter; null frees. enter(target): called after
 * Enter on what is locked, or a double click; without it Enter frees.
 * A target is ["query", i], ["key", j] or ["pair", i, j].
 * beside: the width for columns and heat map side by side, in place of `room`, the width for one of them. cell: the size of
 * a cell; cells: its width, if that is less. Inside an element of class "resting", marks fade nothing.
 * pull: { may(), done(pair, weight) }, whether a line can be dragged now, and what to do after it; null: lines stay.
 *
 * Gives { nodes, legend, show, mark, says, focus, preview }.
 * nodes: the columns, the heat map and the tooltip, all for one `.panels.side`. legend: the node below them.
 * show(weights, { title, threshold, made }): draws a flat list of queries x keys weights, with lines from the threshold
 *   on, and returns a text with the number of lines. made: whether this is a rollout, where tokens are made of tokens.
 * mark(target, locked): emphasises the target and fades the rest; null removes the emphasis. locked: whether the target
 *   stays.
 * says(target, locked): the sentences about the target, as a list of texts and elements.
 * focus(which): gives the focus to the columns, 0, or to the heat map, 1.
 * preview(pair, weight): draws the row of the pair as it were with this weight, until the next `mark`.
 */
function attentionPanel({ queries, keys, names, isMasked = () => false, full = 1, room = 900, beside = null, cell = WEIGHT.cell, cells = cell, point, lock, enter = null, pull = null }) {
  const pitch = cellOf(Math.max(queries.length, keys.length), cell, 500);
  const { forLines, forMap } = roomFor({ queries, keys, beside, room, cell: cells });
  const preview = (pair, weight) => {
    const [, i, j] = pair;
    columns.preview(i, j, rowWith(keys.map((_, k) => at(i, k)), j, weight, (k) => !isMasked(i, k)));
    tip.hidden = !mouse;
    if (mouse) putTip(tip, mouse, [...tokenAt(queries, i), " → ", ...tokenAt(keys, j), ` ${weightText(weight)}`]);
  };
  const dragged = pull && { may: pull.may, weight: ([, i, j]) => at(i, j), move: preview, done: pull.done };
  const columns = tokenColumns({ queries, keys, names, full, pitch, room: forLines, point, lock, enter, pull: dragged });
  const pairOf = (cell) => cell && ["pair", cell.row, cell.column];
  const map = heatMap({
    title: "attention", rows: queries, columns: keys, isMasked, word: (weight, i, j) => (isMasked(i, j) ? "" : null),
    height: pitch, width: cellOf(keys.length, cells, forMap), most: WEIGHT.most, least: WEIGHT.least,
    point: (cell) => point(pairOf(cell)), lock: (cell) => lock(pairOf(cell)), enter: enter && ((cell) => enter(pairOf(cell))),
  });
  const boxes = [columns.node, make("div", { class: "scrolls" }, map.node)];
  if (room > 700 || beside) boxes[1].style.marginBottom = `${pitch * Math.max(0, keys.length - queries.length)}px`; // rows beside queries
  const tip = make("div", { class: "tip", "aria-hidden": "true", hidden: true });
  let mouse = null; // where a tooltip would stand
  for (const box of boxes) {
    box.addEventListener("pointermove", (event) => (mouse = event), true); // before `point` is called
    box.addEventListener("keydown", () => (mouse = null), true);
    box.addEventListener("pointerleave", () => (mouse = null));
  }
  let shown; // { weights, verbs }
  const at = (i, j) => shown.weights[i * keys.length + j];
  const words = { queries, keys, isMasked, at, verbs: () => shown.verbs };
  return {
    nodes: [...boxes, tip],
    preview,
    legend: attentionLegend(full, queries.some((_, i) => keys.some((_, j) => isMasked(i, j)))),
    focus: (which) => [columns, map][which].focus(),
    show(weights, { title = "attention", threshold = 0, made = false } = {}) {
      shown = { weights, verbs: made ? MADE : LOOKS };
      map.show(weights, [0, full]);
      map.node.querySelector("figcaption").textContent = title;
      const lines = linesFrom(queries.length, keys.length, isMasked, at, threshold);
      columns.show(lines.drawn, shown.verbs);
      return linesText(lines, threshold);
    },
    mark(target, locked = false) {
      const [what, first, second] = target ?? [];
      columns.mark(target, locked);
      const frames = { query: [{ row: first }], key: [{ column: first }], pair: [{ row: first }, { row: first, column: second, strong: true }] };
      map.mark(frames[what] ?? [], target !== null && !map.node.closest(".resting"));
      map.target(locked && what === "pair" ? { row: first, column: second } : null);
      tip.hidden = !target || locked || !mouse;
      if (!tip.hidden) putTip(tip, mouse, tipText(words, target));
    },
    says: (target, locked = false) => attentionWords(words, target, locked),
  };
}

/** The size of one of `count` cells that share this room; cells up to 6 pixels have no gaps. */
const cellOf = (count, most, space) => [fit(count, most, space)].map((size) => (size > 6 && size < 9 ? 6 : size))[0];

/** The widths for the columns and for the cells of the heat map. */
const roomFor = ({ queries, keys, beside, room, cell }) =>
  share(queries, keys, beside, cell) ?? { forLines: room, forMap: Math.min(480, Math.max(100, room - longestOf(queries) - 60)) };

/** The same width of a cell for several maps. */
const commonCell = (maps, options) => Math.min(...maps.map(({ queries, keys }) => cellOf(keys.length, options.cell, roomFor({ queries, keys, ...options }).forMap)));

/** The widths for the columns and for the cells of the heat map, side by side in `beside` pixels; null if that is too little
 * for both. */
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
 * maps: whether the heat maps are drawn even where they do not fit beside the lines. The other options are those of `attentionPanel`, which has the same parts:
 * Gives { nodes, legend, show, mark, says, focus }. show takes a list of { name, role, weights } in place of the weights.
 */
function overlayPanel({ queries, keys, names, isMasked = () => false, full = 1, room, beside, cell, maps, point, lock, enter = null }) {
  const pitch = cellOf(Math.max(queries.length, keys.length), WEIGHT.cell, 500);
  const space = beside ?? room;
  const aside = longestOf(queries) + 0.71 * longestOf(keys) + 46; // beside the cells of a map
  const lines = longestOf(queries) + longestOf(keys) + 30 + 170;
  const columns = tokenColumns({ queries, keys, names, full, pitch, room: Math.min(space, lines), point, lock, enter });
  const pictures = make("div", { class: "pictures" });
  const legend = make("div");
  let drawn = []; // { name, role, weights, map }
  const at = ({ weights }) => (i, j) => weights[i * keys.length + j];
  const pairOf = (cell) => cell && ["pair", cell.row, cell.column];
  const sidedFor = (count) => (space - lines - 24) / count - aside; // the width of the cells of a map beside the lines
  const mapOf = (one, tone, count) => {
    const sided = sidedFor(count);
    const width = cellOf(keys.length, Math.min(cell, WEIGHT.cell), sided >= 10 * keys.length ? sided : Math.min(320, space - aside));
    const map = heatMap({ title: one.name, rows: queries, columns: keys, isMasked, word: (weight, i, j) => (isMasked(i, j) ? "" : null),
      width, height: Math.min(width, pitch), most: WEIGHT.most, least: WEIGHT.least, bar: false,
      point: (cell) => point(pairOf(cell)), lock: (cell) => lock(pairOf(cell)), enter: enter && ((cell) => enter(pairOf(cell))) });
    map.show(one.weights, [0, full]);
    map.node.querySelector("figcaption").replaceChildren(toneSign(tone), ` head ${one.name}${one.role ? ` · ${one.role}` : ""}`);
    return map;
  };
  return {
    nodes: [columns.node, pictures],
    legend,
    focus: () => columns.focus(),
    show(list, { threshold = 0 } = {}) {
      const mapped = maps || sidedFor(list.length) >= 10 * keys.length;
      drawn = list.map((one, tone) => ({ ...one, map: mapped ? mapOf(one, tone, list.length) : null }));
      pictures.replaceChildren(...drawn.filter(({ map }) => map).map(({ map }) => make("div", { class: "scrolls" }, map.node)));
      const parts = drawn.map((one) => linesFrom(queries.length, keys.length, isMasked, at(one), threshold));
      const lines = parts.flatMap(({ drawn: some }, tone) => some.map((line) => ({ ...line, tone, shift: (tone - (list.length - 1) / 2) * Math.min(TONE_GAP, pitch / list.length) })));
      columns.show(lines.sort((a, b) => a.weight - b.weight).slice(-MOST_LINES), LOOKS);
      legend.replaceChildren(legendOf(["each head has its colour:", ""], ...drawn.map(({ name, role }, tone) => [toneSign(tone), `head ${name}${role ? `: ${role}` : ""}`]),
        [maps ? "" : "click a small map to add a head or to take one away; zoom in for large maps", ""]));
      return linesText({ drawn: lines, total: lines.length, open: parts.reduce((sum, { open }) => sum + open, 0) }, threshold);
    },
    mark(target, locked = false) {
      const [what, first, second] = target ?? [];
      columns.mark(target, locked);
      const frames = { query: [{ row: first }], key: [{ column: first }], pair: [{ row: first }, { row: first, column: second, strong: true }] };
      drawn.forEach(({ map }) => {
        map?.mark(frames[what] ?? [], target !== null);
        map?.target(locked && what === "pair" ? { row: first, column: second } : null);
      });
    },
    says: (target, locked = false) => drawn.map((one, tone) => make("div", {}, toneSign(tone), ` ${one.name}: `,
      ...attentionWords({ queries, keys, isMasked, at: at(one), verbs: () => LOOKS }, target, locked && tone === 0))),
  };
}

const toneSign = (tone) => draw("svg", { class: `sample tone${tone}`, width: 22, height: 10, "aria-hidden": "true" }, draw("line", { x1: 1, x2: 21, y1: 5, y2: 5, "stroke-width": 4 }));

/** A line for each weight from the threshold on, the heaviest last. Of more than MOST_LINES the heaviest are drawn; `total`
 * counts all of them, `open` all weights that are not masked. */
function linesFrom(rows, columns, isMasked, at, threshold) {
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

function linesText({ drawn, total, open }, threshold) {
  const many = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  const lines = total > drawn.length ? `the ${many(drawn.length, "line")} of the largest weights, out of ${many(total, "line")}` : many(total, "line");
  const below = open - total;
  return `${lines}; not drawn: ${below ? `${many(below, "weight")} ${threshold ? `below ${number(threshold)}` : "of 0"}` : "none"}.`;
}

/** Queries at the left, keys at the right, lines between them: gives { node, focus, show(lines), mark(target, locked) }. */
function tokenColumns({ queries, keys, names, full, pitch, room, point, lock, enter, pull = null }) {
  const most = room < 420 ? 78 : 110;
  const [left, right] = [rowLabels(queries, pitch), rowLabels(keys, pitch)];
  right.node.classList.add("keys");
  const taken = [queries, keys].map((texts) => Math.min(most, longestOf(texts)) + 12);
  const width = Math.max(60, Math.min(220, room - taken[0] - taken[1]));
  const [all, lit] = [draw("g", { class: "all" }), draw("g", { class: "lit" })];
  const svg = draw("svg", { width, height: pitch * Math.max(queries.length, keys.length), "aria-hidden": "true" }, all, lit);
  const spoken = `${names.query}, ${queries.length}, and ${names.key}, ${keys.length}`;
  const body = make("div", { class: "body", role: "application", tabindex: 0, "aria-label": `${spoken}. Arrow keys move, Enter locks.` },
    left.node, svg, right.node);
  const verb = make("span", { class: "faint" });
  const head = make("figcaption", {}, make("span", {}, names.query), verb, make("span", {}, names.key));
  const node = make("figure", { class: "looks" }, head, body);
  node.style.setProperty("--most", `${most}px`);
  const middle = (i) => (i + 0.5) * pitch;
  const thick = (weight) => LINE.thin + (LINE.thick - LINE.thin) * Math.min(weight / full, 1);
  let lines = [];
  const lineAt = (x, y) => {
    let [best, least] = [null, LINE.gap];
    for (const line of lines) {
      const away = Math.abs(y - (line.shift ?? 0) - middle(line.i) - ((middle(line.j) - middle(line.i)) * x) / width);
      const gap = Math.max(0, away - thick(line.weight) / 2);
      if (gap <= least) [best, least] = [line, gap]; // of two lines, the heavier one
    }
    return best && ["pair", best.i, best.j];
  };
  const targetAt = (event) => {
    const box = svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (x >= 0 && x <= width) return lineAt(x, y);
    const [side, index, count] = [x < 0 ? "query" : "key", Math.floor(y / pitch), (x < 0 ? queries : keys).length];
    return index >= 0 && index < count ? [side, index] : null;
  };
  if (pull) dragLines(svg, targetAt, { ...pull, back: () => point(null) });
  const keep = columnKeys(body, targetAt, { query: queries.length, key: keys.length }, { point, lock, enter });
  const lineOf = ({ i, j, weight, tone, shift = 0 }, strong = false) => draw("line", {
    class: tone === undefined ? strong && "strong" : `tone${tone}`, x1: 0, y1: middle(i) + shift, x2: width, y2: middle(j) + shift, "stroke-width": thick(weight).toFixed(2),
    "stroke-opacity": (LINE.faint + (1 - LINE.faint) * Math.min(weight / full, 1)).toFixed(2),
  });
  /** The lines of a row or a column, with their numbers, above all others. */
  const light = (mine, what, second) => {
    const numbers = pitch < 11 ? [] : mine.filter(({ tone }) => tone === undefined).map(({ i, j, weight }) => (what === "key" ?
      draw("text", { x: 1, y: middle(i) + 4 }, weightText(weight)) :
      draw("text", { x: width - 1, y: middle(j) + 4, "text-anchor": "end" }, weightText(weight))));
    lit.replaceChildren(...mine.map((line) => lineOf(line, what === "pair" && line.j === second)), ...numbers);
  };
  return {
    node,
    focus: () => body.focus({ focusVisible: true }),
    preview(i, j, row) {
      svg.classList.add("pointed");
      left.mark([i]);
      right.mark([j]);
      light(row.map((weight, k) => ({ i, j: k, weight })).filter(({ j: k, weight }) => k === j || weight >= 0.005), "pair", j);
    },
    show(list, verbs) {
      lines = list;
      verb.textContent = `${verbs.query} →`;
      all.replaceChildren(...lines.map((line) => lineOf(line)));
    },
    mark(target, locked) {
      const [what, first, second] = target ?? [];
      keep(target, locked);
      svg.classList.toggle("pointed", target !== null);
      const mine = target ? lines.filter(({ i, j }) => (what === "key" ? j : i) === first) : [];
      left.mark(what === "key" ? mine.map(({ i }) => i) : [first]);
      right.mark(what === "key" ? [first] : what === "pair" ? [second] : mine.map(({ j }) => j));
      light(mine, what, second);
    },
  };
}

/** A row whose weight in column j is another one; the other weights share the rest, as after `reweighted` in reading.py. */
function rowWith(row, j, weight, isOpen) {
  const others = row.reduce((sum, one, k) => (k === j ? sum : sum + one), 0);
  const open = row.filter((_, k) => k !== j && isOpen(k)).length;
  return row.map((one, k) => (k === j ? (open ? weight : 1) : !isOpen(k) ? 0 : others > 0 ? (one * (1 - weight)) / others : (1 - weight) / open));
}

/** Dragging of lines: up or to the right is more weight. Escape, or a finger that scrolls, takes it back.
 *
 * may(): whether lines can be dragged now. weight(pair): of a line. move(pair, weight): called while one drags. done(pair,
 * weight): called at the end. back(): called instead, if nothing comes of it. */
function dragLines(svg, targetAt, { may, weight, move, done, back }) {
  let held = null; // { pair, x, y, now }: a line, where it was touched, and its weight; now is null before it moves
  let justDragged = false;
  svg.classList.add("pulls");
  const release = (values = null) => {
    const { pair, now } = held;
    held = null;
    window.removeEventListener("keydown", escape, true);
    if (now === null) return;
    justDragged = true;
    if (values && now !== Math.round(100 * weight(pair)) / 100) done(pair, now);
    else back();
  };
  const escape = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    release();
  };
  svg.addEventListener("pointerdown", (event) => {
    justDragged = false;
    const pair = event.button === 0 && may() ? targetAt(event) : null;
    if (pair?.[0] !== "pair" || held) return;
    held = { pair, x: event.clientX, y: event.clientY, now: null };
    window.addEventListener("keydown", escape, true);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held) return;
    event.stopPropagation(); // nothing else is pointed at meanwhile
    const [right, up] = [event.clientX - held.x, held.y - event.clientY];
    const by = Math.abs(right) > Math.abs(up) ? right : up;
    if (held.now === null && Math.abs(by) < PULL.start) return;
    if (held.now === null) svg.setPointerCapture(event.pointerId);
    held.now = Math.round(100 * Math.min(Math.max(weight(held.pair) + by / PULL.whole, 0), 1)) / 100;
    move(held.pair, held.now);
  });
  svg.addEventListener("pointerup", () => held && release(true));
  svg.addEventListener("pointercancel", () => held && release());
  svg.addEventListener("click", (event) => {
    if (justDragged) event.stopPropagation(); // the end of a drag is no click
    justDragged = false;
  });
}

/** Mouse and keyboard on the columns. The arrow keys go up and down, left to the queries, right to the attention keys.
 * Returns a function that sets the target. */
function columnKeys(body, targetAt, counts, { point, lock, enter = null }) {
  let [locked, cursor] = [null, ["query", 0]];
  const toggle = (target) => lock(locked && locked.join() === target.join() ? null : target);
  const place = (side, index) => [side, Math.min(Math.max(index, 0), counts[side] - 1)];
  const moves = {
    ArrowUp: ([side, index]) => place(side, index - 1), ArrowDown: ([side, index]) => place(side, index + 1),
    ArrowLeft: ([, index]) => place("query", index), ArrowRight: ([, index]) => place("key", index),
    Home: ([side]) => place(side, 0), End: ([side]) => place(side, counts[side] - 1),
  };
  body.addEventListener("pointermove", (event) => point(targetAt(event)));
  body.addEventListener("pointerleave", () => point(null));
  body.addEventListener("blur", () => point(null));
  body.addEventListener("focus", () => body.matches(":focus-visible") && point(cursor));
  body.addEventListener("click", (event) => targetAt(event) && toggle(targetAt(event)));
  body.addEventListener("dblclick", (event) => enter && targetAt(event) && enter(targetAt(event)));
  body.addEventListener("keydown", (event) => {
    if (event.key in moves) {
      cursor = moves[event.key](cursor);
      if (locked) lock(cursor); // the lock follows the arrow keys
      point(cursor);
    } else if (event.key === "Enter" && enter && locked?.join() === cursor.join()) enter(cursor);
    else if (event.key === "Enter" || event.key === " ") toggle(cursor);
    else if (event.key === "Escape") lock(null);
    else return;
    event.preventDefault();
  });
  return (target, stays) => {
    locked = stays ? target : null;
    if (target && target[0] !== "pair") cursor = target;
  };
}

// ---- In words -------------------------------------------------------------------------------------------------------

/** A weight as a text; a small weight is not written as 0. */
const weightText = (x) => (x > 0 && x < 0.005 ? "<0.005" : x.toFixed(2));

/** A token of a sentence; with its index if the sentence has the same text twice, or if the text is invisible. */
function tokenAt(texts, i) {
  const alone = texts[i].trim() !== "" && texts.indexOf(texts[i]) === texts.lastIndexOf(texts[i]);
  return alone ? [token(texts[i])] : [token(texts[i]), ` [${i}]`];
}

function tipText({ queries, keys, isMasked, at, verbs }, [what, first, second]) {
  const [from, to] = [(i) => tokenAt(queries, i), (j) => tokenAt(keys, j)];
  if (what === "pair") return [...from(first), verbs().arrow, ...to(second), isMasked(first, second) ? " masked" : ` ${weightText(at(first, second))}`];
  const others = (what === "query" ? keys : queries).map((_, i) => i);
  const weight = what === "query" ? (j) => at(first, j) : (i) => at(i, first);
  const best = others.reduce((a, b) => (weight(b) > weight(a) ? b : a));
  const ends = what === "query" ? [from(first), to(best)] : [from(best), to(first)];
  return [...ends[0], verbs().arrow, ...ends[1], ` ${weightText(weight(best))}`];
}

/** The tooltip beside the mouse, within the view. */
function putTip(tip, { clientX, clientY }, children) {
  tip.replaceChildren(...children);
  const view = tip.offsetParent.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(clientX - view.left + 14, view.width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${clientY - view.top + 16}px`;
}

function attentionWords(words, target, locked) {
  const { queries, keys, isMasked, at, verbs } = words;
  const [what, first, second] = target;
  const end = locked ? [lockNote(locked)] : [];
  if (what === "key") {
    const open = queries.map((_, i) => i).filter((i) => !isMasked(i, first));
    return [...tokenAt(keys, first), " ", ...listed(verbs().key, queries, open, (i) => at(i, first)), ...end];
  }
  const open = keys.map((_, j) => j).filter((j) => !isMasked(first, j));
  const row = [...tokenAt(queries, first), " ", ...listed(verbs().query, keys, open, (j) => at(first, j)), ...end];
  if (what === "query") return row;
  const weight = isMasked(first, second) ? "masked: it may not be attended. " : `${weightText(at(first, second))}. `;
  return [...tokenAt(queries, first), ` ${verbs().arrow.trim()} `, ...tokenAt(keys, second), `: ${weight}`, ...row];
}

/** looks at A 0.91, B 0.05, and 8 others 0.04 together. */
function listed(verb, texts, open, weight) {
  if (!open.length) return ["has nothing: all is masked."];
  const order = [...open].sort((a, b) => weight(b) - weight(a));
  const named = order.slice(0, MOST_WORDS).filter((i, place) => place === 0 || weight(i) >= 0.005);
  const rest = order.slice(named.length);
  const together = weightText(rest.reduce((sum, i) => sum + weight(i), 0));
  const more = rest.length ? `, and ${rest.length} other${rest.length === 1 ? "" : "s"} ${together}${rest.length === 1 ? "" : " together"}` : "";
  return [`${verb} `, ...named.flatMap((i, place) => [place ? ", " : "", ...tokenAt(texts, i), ` ${weightText(weight(i))}`]), `${more}.`];
}

function attentionLegend(full, masked) {
  const sample = (share) => [draw("svg", { class: "sample", width: 24, height: 12, "aria-hidden": "true" }, draw("line", {
    x1: 1, x2: 23, y1: 6, y2: 6, "stroke-width": LINE.thin + (LINE.thick - LINE.thin) * share,
    "stroke-opacity": LINE.faint + (1 - LINE.faint) * share,
  })), number(share * full)];
  return legendOf(["thickness of a line, and colour of a cell, are the weight:", ""], ...[0.1, 0.5, 1].map(sample),
    masked && [maskedSign(), "masked: may not be attended, no line"]);
}
