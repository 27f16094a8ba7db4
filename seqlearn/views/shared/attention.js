// Which token looks at which: two columns of tokens joined by lines, and the heat map of the same weights.

const MOST_LINES = 6000; // an SVG with more takes too long
const MOST_WORDS = 5; // tokens that a sentence names with their weights
const LOOKS = { query: "looks at", key: "is looked at by", arrow: " → " };
const MADE = { query: "is made of", key: "is a part of", arrow: " ← " }; // of a rollout
const LINE = { thin: 0.6, thick: 7, faint: 0.15, gap: 5 }; // pixels, and the opacity of a weight near 0

/** The columns and the heat map of one attention. The panel keeps no choices: `show` and `mark` say what to draw.
 *
 * queries, keys: the texts of the rows and of the columns. names: { query, key }, the names of the two columns.
 * isMasked(i, j): whether a cell is masked; such a cell is hatched and has no line. full: the weight of the thickest line
 * and of the brightest cell. room: the width for the panel, in pixels. point(target): called with what is under the
 * mouse or the arrow keys, or null. lock(target): called after a click or Enter; null frees.
 * A target is ["query", i], ["key", j] or ["pair", i, j].
 *
 * Gives { nodes, legend, show, mark, says, focus }.
 * nodes: the columns, the heat map and the tooltip, all for one `.panels.side`. legend: the node below them.
 * show(weights, { title, threshold, made }): draws a flat list of queries x keys weights, with lines from the threshold
 *   on, and returns a text with the number of lines. made: whether this is a rollout, where tokens are made of tokens.
 * mark(target, locked): emphasises the target and fades the rest; null removes the emphasis. locked: whether the target
 *   stays.
 * says(target, locked): the sentences about the target, as a list of texts and elements.
 * focus(which): gives the focus to the columns, 0, or to the heat map, 1.
 */
function attentionPanel({ queries, keys, names, isMasked = () => false, full = 1, room = 900, point, lock }) {
  const cell = (count, most, space) => [fit(count, most, space)].map((size) => (size > 6 && size < 9 ? 6 : size))[0]; // cells up to 6 pixels have no gaps
  const pitch = cell(Math.max(queries.length, keys.length), CELL.height, 500);
  const columns = tokenColumns({ queries, keys, names, full, pitch, room, point, lock });
  const pairOf = (cell) => cell && ["pair", cell.row, cell.column];
  const map = heatMap({
    title: "attention", rows: queries, columns: keys, isMasked, word: (weight, i, j) => (isMasked(i, j) ? "" : null),
    height: pitch, width: cell(keys.length, CELL.width, Math.min(480, Math.max(100, room - longestOf(queries) - 60))),
    point: (cell) => point(pairOf(cell)), lock: (cell) => lock(pairOf(cell)),
  });
  const boxes = [columns.node, make("div", { class: "scrolls" }, map.node)];
  if (room > 700) boxes[1].style.marginBottom = `${pitch * Math.max(0, keys.length - queries.length)}px`; // rows beside queries
  const tip = make("div", { class: "tip", "aria-hidden": "true", hidden: true });
  let mouse = null; // where a tooltip would stand
  for (const box of boxes) {
    box.addEventListener("pointermove", (event) => (mouse = event), true); // before `point` is called
    box.addEventListener("keydown", () => (mouse = null), true);
  }
  let shown; // { weights, verbs }
  const at = (i, j) => shown.weights[i * keys.length + j];
  const words = { queries, keys, isMasked, at, verbs: () => shown.verbs };
  return {
    nodes: [...boxes, tip],
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
      map.mark(frames[what] ?? []);
      map.target(locked && what === "pair" ? { row: first, column: second } : null);
      tip.hidden = !target || locked || !mouse;
      if (!tip.hidden) putTip(tip, mouse, tipText(words, target));
    },
    says: (target, locked = false) => attentionWords(words, target, locked),
  };
}

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
function tokenColumns({ queries, keys, names, full, pitch, room, point, lock }) {
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
      const away = Math.abs(y - middle(line.i) - ((middle(line.j) - middle(line.i)) * x) / width);
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
  const keep = columnKeys(body, targetAt, { query: queries.length, key: keys.length }, { point, lock });
  const lineOf = ({ i, j, weight }, strong = false) => draw("line", {
    class: strong && "strong", x1: 0, y1: middle(i), x2: width, y2: middle(j), "stroke-width": thick(weight).toFixed(2),
    "stroke-opacity": (LINE.faint + (1 - LINE.faint) * Math.min(weight / full, 1)).toFixed(2),
  });
  return {
    node,
    focus: () => body.focus({ focusVisible: true }),
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
      const numbers = pitch < 11 ? [] : mine.map(({ i, j, weight }) => (what === "key" ?
        draw("text", { x: 1, y: middle(i) + 4 }, weightText(weight)) :
        draw("text", { x: width - 1, y: middle(j) + 4, "text-anchor": "end" }, weightText(weight))));
      lit.replaceChildren(...mine.map((line) => lineOf(line, what === "pair" && line.j === second)), ...numbers);
    },
  };
}

/** Mouse and keyboard on the columns. The arrow keys go up and down, left to the queries, right to the attention keys.
 * Returns a function that sets the target. */
function columnKeys(body, targetAt, counts, { point, lock }) {
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
  body.addEventListener("keydown", (event) => {
    if (event.key in moves) {
      cursor = moves[event.key](cursor);
      if (locked) lock(cursor); // the lock follows the arrow keys
      point(cursor);
    } else if (event.key === "Enter" || event.key === " ") toggle(cursor);
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
