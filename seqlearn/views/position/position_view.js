// PositionView: a table of positions, two of them, and the rotation between the two. Python computes all numbers.

import { BLUE_RED } from "../shared/colours.js";
import {
  dotSign,
  draw,
  extent,
  fill,
  focusIn,
  frameSign,
  inPixels,
  layOut,
  legendOf,
  lineSign,
  make,
  number,
  pointHint,
  relation,
  roomIn,
  shortened,
  slider,
  tell,
} from "../shared/elements.js";
import { CELL, heatMap, longestOf, widthOf } from "../shared/heatmap.js";
import { change } from "../shared/life.js";
import { path, plane, spread } from "../shared/plot.js";

/** @import { Mark, Pointing } from "../shared/heatmap.js" */
/** @import { Cell, Model, Tensor, Traits } from "../shared/types.js" */

/** What `position_data` of position_data.py returns. note: why no rotation is shown; then there are no `turns`.
 * tokens: the words at the first positions.
 * @typedef {{
 *   table: Tensor,
 *   limit: number,
 *   start: number,
 *   tokens?: string[],
 *   note: string,
 *   frequencies: number[],
 *   turns: Tensor | null,
 *   products: Tensor,
 * }} Data
 */

/** @typedef {Model<Traits & { position: number, offset: number, pair: number }>} PositionModel */

/** The current choice: the rows i and j = i + k of the table, and the pair m.
 * @typedef {{ i: number, j: number, k: number, m: number }} Choice
 */

/** What a distance k says; a press chooses it.
 * @typedef {(k: number | null, isPress?: boolean) => void} Measure
 */

/** A part of the view that shows a choice.
 * @typedef {{ node: Element, update: (choice: Choice) => void }} Part
 */

/** @typedef {[x: number, y: number]} Place */
/** @typedef {"i" | "j"} Hand */

const CLOCK = { width: 290, height: 236, x: 145, y: 118, radius: 82 };
const BEAT = 500; // milliseconds from position to position while the view plays
const [TALL, LOW, PHONE] = [380, 240, 480]; // pixels: the map, also on a phone, which shows the clock with it
const TAG = 14; // pixels: the height of the names i and j beside the map
const [LINE, SHORT] = [14, 8]; // pixels and letters of a word beside a hand: at the left there is no more room
const [LABEL, MOST_WORDS] = [14, 30]; // pixels: the height of a row's label; and rows that all have one
const LABELS = [1, 2, 5, 10, 20, 50, 100]; // one label for so many rows or columns

/**
 * @param {PositionModel} model
 * @param {HTMLElement} root
 * @param {Data} data
 */
export function build(model, root, data) {
  const { frequencies, note } = data;
  /** @type {Cell | null} */
  let hovered = null;
  let stopped = "";
  /** Moves i or k. The move stops where j would leave the table; the other one of i and k stays. */
  const move = (/** @type {"i" | "k"} */ name, /** @type {number} */ wanted) => {
    const now = chosen(model, data);
    const [low, high] = reach(data, now, name);
    const value = within(wanted, low, high);
    stopped = value === wanted ? "" : stopText(data, now, name, value);
    if (value === now[name])
      redraw(); // the slider goes back
    else change(model, name === "i" ? { position: data.start + value } : { offset: value });
  };
  const sliders = slidersOf(model, data, move);
  const given = { position: model.get("position"), offset: model.get("offset"), pair: model.get("pair") };
  const onclick = () => {
    play.stop();
    change(model, given);
  };
  const back = make("button", { type: "button", "aria-label": "reset: i, k and pair", onclick }, "Reset");
  const panels = make("div", { class: "panels side answers-below" }); // the clock is above: no echo covers it
  const [pointed, said, hint] = [make("div", { class: "of-cell" }), make("div", { class: "of-pair" }), make("div")];
  const play = player(model, data, said);
  layOut(root, "a table of positions", {
    controls: { settings: [...sliders.nodes, make("span", { class: "control" }, play.button, back)] },
    panels,
    legend: legendOf(
      note ? null : [lineSign("hand i"), "i"],
      note ? null : [lineSign("hand j"), "j = i + k"],
      [dotSign("spot"), "j in the plot"],
      [frameSign(), note ? "the rows of i and j" : "the rows of i and j, the columns of the pair"],
    ),
    says: [make("div", {}, pointed, said), hint],
  });
  play.stop();

  const explain = () => {
    tell(pointed, hovered && cellText(data, hovered));
    const more = note ? "" : make("span", { class: "faint" }, " Drag the hand j: it sets k.");
    tell(hint, ...(hovered ? [] : [pointHint("the map", "read its numbers", { enter: "moves i there" }), more]));
  };
  const point = (/** @type {Cell | null} */ cell) => {
    hovered = cell;
    explain();
  };
  /** What the plot says at a distance, where a mouse points; a press moves j there. */
  const measure = (/** @type {number | null} */ k, isPress = false) => {
    explain();
    if (k !== null) tell(pointed, productText(data, chosen(model, data).i, k));
    if (k !== null) tell(hint);
    if (isPress && k !== null) move("k", k);
  };
  const lock = (/** @type {Cell | null} */ cell) => {
    if (!cell) return;
    const pair = Math.floor(cell.column / 2);
    if (pair < frequencies.length) change(model, { pair });
    move("i", cell.row);
  };
  const turn = (/** @type {number} */ k) => move("k", k);
  let shown = partsIn(data, roomIn(root), { start: hovered, point, lock }, { measure, turn });
  const redraw = () => {
    const now = chosen(model, data);
    sliders.set(now);
    for (const part of shown.parts) part.update(now);
    const [first, last] = reach(data, now, "i");
    play.button.setAttribute("aria-disabled", String(first === last));
    const isGiven = now.i === given.position - data.start && now.k === given.offset && now.m === given.pair;
    back.setAttribute("aria-disabled", String(isGiven));
    tell(said, stopped || (first === last ? stopText(data, now, "i", first) : ""), pairText(data, now));
    stopped = "";
  };
  const rebuild = () => {
    const focused = panels.contains(focusIn(root)); // the new map then gets the focus of the keyboard
    shown = partsIn(data, roomIn(root), { start: hovered, point, lock }, { measure, turn });
    panels.replaceChildren(...shown.parts.map(({ node }) => node));
    explain();
    redraw();
    if (focused) shown.focus();
  };
  rebuild();
  return { position: redraw, offset: redraw, pair: redraw, resized: rebuild };
}

/**
 * @param {number} x
 * @param {number} low
 * @param {number} high
 */
const within = (x, low, high) => Math.min(Math.max(x, low), high);

/** The number of positions.
 * @param {Data} data
 */
const countOf = ({ table }) => table.shape[0];

/** The choice of the traits.
 * @param {PositionModel} model
 * @param {Data} data
 * @returns {Choice}
 */
function chosen(model, data) {
  const last = countOf(data) - 1;
  const i = within(model.get("position") - data.start, 0, last);
  const k = within(model.get("offset"), -i, last - i);
  return { i, k, j: i + k, m: within(model.get("pair"), 0, Math.max(data.frequencies.length - 1, 0)) };
}

/** From where to where i, or k, can move.
 * @param {Data} data
 * @param {Choice} choice
 * @param {"i" | "k"} name
 */
function reach(data, { i, k }, name) {
  const last = countOf(data) - 1;
  return name === "i" ? [Math.max(0, -k), last - Math.max(0, k)] : [-i, last - i];
}

/** Why i, or k, cannot move on.
 * @param {Data} data
 * @param {Choice} now
 * @param {"i" | "k"} name
 * @param {number} value
 */
function stopText({ start }, now, name, value) {
  const verb = value === now[name] ? "stays" : "stops";
  const [where, other] =
    name === "i" ? [start + value, `k = ${number(now.k)}`] : [number(value), `i = ${start + now.i}`];
  return `${name} ${verb} at ${where}: with ${other}, j = i + k would leave the table. `;
}

/** The sliders of i, k and m; without a rotation there is none of m.
 * @param {PositionModel} model
 * @param {Data} data
 * @param {(name: "i" | "k", wanted: number) => void} move
 */
function slidersOf(model, data, move) {
  const { frequencies, note } = data;
  const count = countOf(data);
  const positions = Array.from({ length: count }, (_, row) => String(data.start + row));
  const offsets = Array.from({ length: 2 * count - 1 }, (_, at) => at + 1 - count);
  const i = slider({ label: "position i", texts: positions, choose: (row) => move("i", row) });
  const k = slider({ label: "offset k", texts: offsets.map(number), choose: (at) => move("k", offsets[at]) });
  const pairs = frequencies.map((_, pair) => `${pair}: dimensions ${2 * pair} and ${2 * pair + 1}`);
  const m = note ? null : slider({ label: "pair", texts: pairs, choose: (pair) => change(model, { pair }) });
  const output = m?.node.querySelector("output");
  const widest = (widthOf(pairs.at(-1) ?? "") * 13) / 11; // no text takes anything from the slider
  if (output) Object.assign(output.style, inPixels({ minWidth: widest }));
  const set = (/** @type {Choice} */ choice) => {
    i.set(choice.i);
    k.set(choice.k + count - 1);
    m?.set(choice.m);
  };
  return { nodes: [i.node, k.node, m?.node], set };
}

/** The button that lets i walk through the table; where the learner wants no motion, it takes one step.
 * @param {PositionModel} model
 * @param {Data} data
 * @param {Element} said the text about the choice
 */
function player(model, data, said) {
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  let timer = 0;
  /** The next i; after the last one the first, from where j = i + k is in the table. Gives whether one is left. */
  const walk = () => {
    const now = chosen(model, data);
    const [first, last] = reach(data, now, "i");
    const next = now.i < last ? now.i + 1 : first;
    change(model, { position: data.start + next });
    return next < last;
  };
  const name = () => {
    const waiting = still.matches ? ["i + 1: next position", "i + 1 ▶"] : ["play: move i", "▶ Play"];
    const [label, text] = timer ? ["stop", "■ Stop"] : waiting;
    button.setAttribute("aria-label", label);
    button.textContent = text;
    const isLive = timer ? "off" : "polite"; // else a screen reader reads every position
    said.closest(".says")?.setAttribute("aria-live", isLive);
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    name();
  };
  const run = () => {
    timer = window.setInterval(() => {
      if (!button.isConnected || !walk()) stop();
    }, BEAT);
    name();
    if (!walk()) stop();
  };
  const onclick = () => {
    if (timer) stop();
    else if (still.matches) walk();
    else run();
  };
  const button = make("button", { type: "button", onclick });
  still.onchange = () => stop();
  return { button, stop };
}

/** The map, the clock and the curve, in a room of so many pixels.
 * @param {Data} data
 * @param {number} room
 * @param {Pointing} pointing
 * @param {{ measure: Measure, turn: (k: number) => void }} deeds
 */
function partsIn(data, room, pointing, { measure, turn }) {
  const { note, turns } = data;
  const map = mapOf(data, room, pointing);
  const larger = growth(room);
  const dial = turns ? clock(data, turns, larger, turn) : remark(note);
  const beside = room - map.width - CLOCK.width * larger - 60; // room for the curve in the same line
  const plot = curve(data, Math.min(beside < 200 ? room : beside, 400 * larger), larger, measure);
  return { parts: [map, dial, plot], focus: map.focus };
}

/** By how much all is larger in a large room.
 * @param {number} room
 */
const growth = (room) => Math.min(Math.max(room / 1000, 1), 1.4);

/** The position of a row, with its word.
 * @param {Pick<Data, "start" | "tokens">} data
 * @param {number} row
 */
const nameOf = ({ start, tokens = [] }, row) =>
  `${start + row}${row in tokens ? ` (${shortened(tokens[row], 24)})` : ""}`;
/** The labels of the rows, with the numbers below each other.
 * @param {Data} data
 */
const rowNames = ({ table, start, tokens = [] }) =>
  Array.from({ length: table.shape[0] }, (_, row) => [...tokens.slice(row, row + 1), start + row].join(" "));

/** A cell of the table in words.
 * @param {Data} data
 * @param {Cell} cell
 */
function cellText({ table, start, tokens, frequencies, note }, { row, column }) {
  const [value, place] = [table.at(row, column), start + row];
  const head = `Position ${nameOf({ start, tokens }, row)}, dimension ${column}: `;
  const omega = frequencies[Math.floor(column / 2)];
  if (note || omega === undefined) return head + number(value);
  const wave = column % 2 ? "cos" : "sin";
  return `${head}${wave}(${place} · ${radians(omega)}) ${relation([omega, value])} ${number(value)}`;
}

/** The dot product at a distance in words.
 * @param {Data} data
 * @param {number} i
 * @param {number} k
 */
function productText({ start, products }, i, k) {
  const product = products.at(i, i + k);
  return `Distance ${number(k)}: P[${start + i}] · P[${start + i + k}] ${relation([product])} ${number(product)}.`;
}

/** A number of radians; a small one in full.
 * @param {number} x
 */
const radians = (x) => (x && Math.abs(x) < 0.01 ? String(Number(x.toPrecision(2))).replaceAll("-", "−") : number(x));

/** The chosen pair in words: how fast it turns, from where to where.
 * @param {Data} data
 * @param {Choice} choice
 */
function pairText({ start, tokens, frequencies, products, note }, { i, j, k, m }) {
  const names = { start, tokens };
  const product = `P[${start + i}] · P[${start + j}] ${relation([products.at(i, j)])} ${number(products.at(i, j))}.`;
  const fromTo = `From i = ${nameOf(names, i)} to j = ${nameOf(names, j)}`;
  if (note) return `${fromTo}: ${product} At the same distance, another i may have another product.`;
  const [omega, angle] = [frequencies[m], k * frequencies[m]];
  const period = (2 * Math.PI) / omega;
  const full = number(period >= 100 ? Math.round(period) : period);
  return (
    `Pair ${m} turns by ω ${relation([omega])} ${radians(omega)} rad a position: a full turn takes ${full} ` +
    `positions. ${fromTo} it turns by k ω ${relation([angle])} ${radians(angle)} rad = ${degrees(angle)}, ` +
    `the same for every i. ${product}`
  );
}

/** What the clock has to do with the dot product: each pair adds the cosine of the angle between its hands.
 * @param {Data} data
 * @param {Choice} choice
 */
function sumText({ table, frequencies, products, note }, { i, j, k, m }) {
  if (note) return "";
  const [size, angle, count] = [table.shape[1], k * frequencies[m], frequencies.length];
  const rest = size % 2 ? " and the last dimension" : "";
  const pairs = `${count === 1 ? "The one pair" : `All ${count} pairs`}${rest}`;
  return (
    `Each pair is such a clock, and adds the cosine of the angle between its hands. Pair ${m} adds ` +
    `cos(${degrees(angle % (2 * Math.PI))})\u00a0${angle ? "≈" : "="} ${number(Math.cos(angle))}. ` +
    `${pairs} together: ${number(products.at(i, j))}.`
  );
}

/** An angle in degrees; whole turns are counted.
 * @param {number} angle
 */
function degrees(angle) {
  const turns = Math.trunc(angle / (2 * Math.PI));
  const rest = ((angle - turns * 2 * Math.PI) * 180) / Math.PI;
  const text = `${number(Math.abs(rest) >= 10 ? Math.round(rest) : rest)}°`;
  return turns ? `${number(turns)} ${Math.abs(turns) === 1 ? "turn" : "turns"} and ${text}` : text;
}

// ---- The map --------------------------------------------------------------------------------------------------------

/** The map: a row for each position, a column for each dimension. Rows i and j, the columns of the pair, and the cell
 * that is pointed at are framed.
 * @param {Data} data
 * @param {number} room
 * @param {Pointing} pointing
 */
function mapOf(data, room, pointing) {
  const { table, limit, note, tokens } = data;
  const [positions, size] = table.shape;
  const rows = rowNames(data);
  const words = tokens ? longestOf(rows) : 0;
  const width = Math.max(1, Math.min(CELL.width, Math.floor((Math.min(room - 90, 330 * growth(room)) - words) / size)));
  const tall = room < PHONE ? LOW : TALL * growth(room);
  const least = tokens && positions <= MOST_WORDS ? LABEL : 1; // each word can be read
  const height = Math.max(least, Math.min(CELL.height, Math.floor(tall / positions)));
  const each = (/** @type {number} */ pixels, /** @type {number} */ least) =>
    LABELS.find((count) => count * pixels >= least) ?? 200;
  /** @type {Mark[]} */
  let marks = [];
  let read = pointing.start;
  const frame = () => map.mark(read ? [...marks, { ...read, strong: true }] : marks);
  const point = (/** @type {Cell | null} */ cell) => {
    read = cell;
    frame();
    pointing.point(cell);
  };
  const map = heatMap({
    title: `${positions} positions × ${size} dimensions`,
    rows,
    columns: Array.from({ length: size }, (_, column) => String(column)),
    ramp: BLUE_RED,
    every: { rows: each(height, LABEL), columns: each(width, 26) },
    enters: "Enter moves i",
    width,
    height,
    ...pointing,
    point,
    lock: (cell) => {
      if (cell) point(cell); // a finger that taps has not pointed before
      pointing.lock(cell);
    },
  });
  map.show(table.values, [-limit, limit]);
  return {
    node: make("div", { class: "table" }, map.node),
    focus: map.focus,
    width: Math.max(width * size, 180) + 80 + words,
    update(/** @type {Choice} */ { i, j, m }) {
      if (!read) map.target(null, { row: i, column: 2 * m }); // there the arrow keys begin
      const isNear = Math.abs(j - i) * height < TAG;
      const named =
        i === j ? [tagged(i, "i = j")] : [tagged(i, "i", isNear ? j - i : 0), tagged(j, "j", isNear ? i - j : 0)];
      marks = note ? named : [...named, { column: 2 * m, span: 2 }];
      frame();
    },
  };
}

/** The frame around a row, with its name beside it; the names of two near rows stand apart.
 * @param {number} row
 * @param {string} name
 * @param {number} other how far below the near row is; 0: there is none
 */
function tagged(row, name, other = 0) {
  const where = other > 0 ? "above" : other < 0 ? "below" : "";
  return { row, tag: make("span", { class: `tag ${where}` }, name) };
}

/** @param {string} text */
const remark = (text) => ({ node: make("p", { class: "remark" }, text), update: () => {} });

// ---- The clock ------------------------------------------------------------------------------------------------------

/** The pair as a clock with two hands, and the matrix that turns one hand into the other.
 * @param {Data} data
 * @param {Tensor} turns
 * @param {number} larger
 * @param {(k: number) => void} turn what a drag of the hand j does
 */
function clock(data, turns, larger, turn) {
  const [title, axes] = [make("figcaption"), make("div", { class: "faint" })];
  const face = faceOf(data, larger, turn);
  const equation = make("div", { class: "equation", role: "img" });
  const stays = "The matrix depends on k and the pair, not on i: move i, and the matrix stays the same.";
  const note = make("p", { class: "faint" }, stays);
  const node = make("figure", { class: "clock" }, title, axes, face.node, equation, note);
  node.style.width = `${CLOCK.width * larger}px`;
  return {
    node,
    update(/** @type {Choice} */ choice) {
      const { i, j, k, m } = choice;
      title.textContent = `pair ${m} as the hand of a clock`;
      axes.textContent = `across: dimension ${2 * m}, sine; up: ${2 * m + 1}, cosine`;
      face.update(choice);
      const [cosine, sine] = [0, 1].map((part) => turns.at(k + countOf(data) - 1, m, part));
      const [before, after] = [handOf(data, i, m), handOf(data, j, m)];
      equation.replaceChildren(
        matrix(`rotation by k = ${number(k)}`, [
          [cosine, sine],
          [-sine, cosine],
        ]),
        "·",
        matrix(
          `i = ${data.start + i}`,
          before.map((x) => [x]),
        ),
        "=",
        matrix(
          `j = ${data.start + j}`,
          after.map((x) => [x]),
        ),
      );
      equation.setAttribute(
        "aria-label",
        `The matrix of k = ${k}, rows ${fixed(cosine)}, ${fixed(sine)} and ${fixed(-sine)}, ` +
          `${fixed(cosine)}, times ${before.map(fixed).join(", ")} is ${after.map(fixed).join(", ")}.`,
      );
    },
  };
}

/** The pair m of a row: sine and cosine.
 * @param {Data} data
 * @param {number} row
 * @param {number} m
 * @returns {Place}
 */
const handOf = ({ table }, row, m) => [table.at(row, 2 * m), table.at(row, 2 * m + 1)];

/** The place at an angle, from the top, clockwise.
 * @param {number} angle
 * @param {number} r
 * @returns {Place}
 */
const placeAt = (angle, r) => [CLOCK.x + r * Math.sin(angle), CLOCK.y - r * Math.cos(angle)];

/** The face of the clock: a dot for every position, the hands, and the way from i to j.
 * @param {Data} data
 * @param {number} larger
 * @param {(k: number) => void} set
 */
function faceOf(data, larger, set) {
  const { width, height, radius, x, y } = CLOCK;
  /** @type {number | null} */
  let drawn = null; // the pair of the dots
  const dots = draw("g");
  const hands = { i: draw("path", { class: "hand i" }), j: draw("path", { class: "hand j" }) };
  const names = { i: draw("text", { class: "name" }), j: draw("text", { class: "name" }) };
  const [turn, head] = [draw("path", { class: "turn" }), draw("path", { class: "arrow" })];
  const [knob, grip] = [draw("circle", { class: "knob", r: 6 }), draw("path", { class: "grip" })];
  const node = draw(
    "svg",
    {
      class: "plot",
      width: width * larger,
      height: height * larger,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": "the pair at i and at j, as hands of a clock",
    },
    draw("path", { class: "axis", d: `M${x - radius} ${y}h${2 * radius}M${x} ${y - radius}v${2 * radius}` }),
    draw("circle", { class: "axis", cx: x, cy: y, r: radius }),
    dots,
    turn,
    head,
    hands.j,
    hands.i,
    names.i,
    names.j,
    knob,
    grip,
  );
  /** @type {Choice} */
  let now = { i: 0, j: 0, k: 0, m: 0 };
  turning(node, grip, () => ({ k: now.k, omega: data.frequencies[now.m] }), set);
  return {
    node,
    update(/** @type {Choice} */ choice) {
      const { i, j, k, m } = choice;
      now = choice;
      const angles = { i: Math.atan2(...handOf(data, i, m)), j: Math.atan2(...handOf(data, j, m)) };
      if (m !== drawn) dots.replaceChildren(...dotsOf(data, m));
      drawn = m;
      hands.i.setAttribute("d", `M${x} ${y}L${placeAt(angles.i, radius)}`);
      hands.j.setAttribute("d", `M${x} ${y}L${placeAt(angles.j, radius)}`);
      grip.setAttribute("d", `M${placeAt(angles.j, radius / 4)}L${placeAt(angles.j, radius + 9)}`);
      const [cx, cy] = placeAt(angles.j, radius);
      fill(knob, { cx, cy }, []);
      names.i.replaceChildren(...nameLines(data, i === j ? "i = j" : "i", i));
      names.j.replaceChildren(...(i === j ? [] : nameLines(data, "j", j)));
      labels(names, angles, k);
      spiral(turn, head, angles.i, k * data.frequencies[m]);
    },
  };
}

/** A hand that is dragged by its grip, as often around as one likes.
 * @param {Element} face
 * @param {SVGElement} grip
 * @param {() => { k: number, omega: number }} read
 * @param {(k: number) => void} set
 */
function turning(face, grip, read, set) {
  /** @type {{ k: number, turned: number, last: number } | null} */
  let held = null;
  const angleAt = (/** @type {MouseEvent} */ { clientX, clientY }) => {
    const { left, top, width } = face.getBoundingClientRect();
    const scale = width / CLOCK.width;
    return Math.atan2(clientX - left - CLOCK.x * scale, top + CLOCK.y * scale - clientY);
  };
  grip.addEventListener("pointerdown", (event) => {
    held = { k: read().k, turned: 0, last: angleAt(event) };
    grip.setPointerCapture(event.pointerId);
  });
  // The finger turns the hand, and does not scroll the page: touch-action does not work within a drawing.
  grip.addEventListener("touchstart", (event) => event.cancelable && event.preventDefault(), { passive: false });
  grip.addEventListener("pointermove", (event) => {
    if (!held) return;
    const angle = angleAt(event);
    const by = angle - held.last;
    held.turned += Math.atan2(Math.sin(by), Math.cos(by));
    held.last = angle;
    const k = held.k + Math.round(held.turned / read().omega);
    if (k !== read().k) set(k);
  });
  for (const name of ["pointerup", "pointercancel"])
    grip.addEventListener(name, () => {
      held = null;
    });
}

/** The ends of all hands of a pair.
 * @param {Data} data
 * @param {number} m
 */
const dotsOf = (data, m) =>
  Array.from({ length: countOf(data) }, (_, row) => {
    const [sine, cosine] = handOf(data, row, m);
    const place = { cx: CLOCK.x + CLOCK.radius * sine, cy: CLOCK.y - CLOCK.radius * cosine };
    return draw("circle", { class: "dot", ...place, r: 2 });
  });

/** The name of a hand, with its word below.
 * @param {Data} data
 * @param {string} name
 * @param {number} row
 */
const nameLines = ({ start, tokens = [] }, name, row) =>
  [`${name} = ${start + row}`, ...tokens.slice(row, row + 1).map((word) => shortened(word, SHORT))].map((text, i) =>
    draw("tspan", { dy: LINE * i }, text),
  );

/** The names of the hands at their ends; the names of two close hands are pushed apart.
 * @param {Record<Hand, SVGElement>} names
 * @param {Record<Hand, number>} angles
 * @param {number} k
 */
function labels(names, angles, k) {
  const between = Math.atan2(Math.sin(angles.j - angles.i), Math.cos(angles.j - angles.i));
  const isTall = [names.i, names.j].some((name) => name.childElementCount > 1);
  const apart = isTall ? 0.8 : 0.5; // words are wider than numbers
  const push = k && Math.abs(between) < apart ? ((apart - Math.abs(between)) / 2) * (between < 0 ? -1 : 1) : 0;
  const put = (/** @type {SVGElement} */ name, /** @type {number} */ angle) => {
    const [x, y] = placeAt(angle, CLOCK.radius + 16);
    const side = Math.sin(angle);
    const up = name.childElementCount > 1 ? (LINE * (1 + Math.cos(angle))) / 2 : 0; // of two lines, the middle
    fill(name, { x, y: y + 4 - up, "text-anchor": side > 0.3 ? "start" : side < -0.3 ? "end" : "middle" }, []);
    for (const line of name.children) line.setAttribute("x", String(x));
  };
  put(names.i, angles.i - push);
  put(names.j, angles.j + push);
}

/** A spiral from hand i to hand j, with an arrow head; of many turns the last three are drawn.
 * @param {SVGElement} turn
 * @param {SVGElement} head
 * @param {number} from
 * @param {number} angle
 */
function spiral(turn, head, from, angle) {
  const start = Math.sign(angle) * Math.max(0, Math.abs(angle) - 6 * Math.PI);
  const steps = Math.max(2, Math.ceil(Math.abs(angle - start) / 0.1));
  const at = (/** @type {number} */ share) =>
    placeAt(from + start + share * (angle - start), 26 + (8 * share * Math.abs(angle - start)) / (2 * Math.PI));
  turn.setAttribute("d", path(Array.from({ length: steps + 1 }, (_, step) => at(step / steps))));
  const [x, y] = at(1);
  const way = from + angle + (Math.sign(angle) * Math.PI) / 2; // at a right angle to the hand
  const corner = (/** @type {number} */ by) => [x - 9 * Math.sin(way + by), y + 9 * Math.cos(way + by)];
  head.setAttribute("d", Math.abs(angle) > 0.3 ? `M${x} ${y}L${corner(0.4)}L${corner(-0.4)}Z` : "");
}

/** @param {number} x */
const fixed = (x) => (Math.abs(x) < 0.0005 ? "0.000" : x.toFixed(3).replace("-", "−"));

/** A matrix of these rows, with its name below.
 * @param {string} name
 * @param {number[][]} rows
 */
function matrix(name, rows) {
  const cells = rows.flat().map((x) => make("span", {}, fixed(x)));
  const body = make("div", { class: rows[0].length > 1 ? "matrix wide" : "matrix" }, ...cells);
  return make("div", { class: "named" }, body, make("div", { class: "faint" }, name));
}

// ---- The curve ------------------------------------------------------------------------------------------------------

/** The dot product of P[i] with the row of every position, by distance.
 * @param {Data} data
 * @param {number} width
 * @param {number} larger
 * @param {Measure} measure
 */
function curve(data, width, larger, measure) {
  const { products } = data;
  const count = products.shape[0];
  const box = { width, height: 250 * larger, left: 40 * larger, right: 10, top: 12, bottom: 34 * larger };
  const { x, y, marks } = plane(
    box,
    [1 - count, count - 1 || 1],
    spread(extent(products.values)),
    "distance j − i",
    "P[i] · P[j]",
  );
  const [line, dot] = [draw("path", { class: "line" }), draw("circle", { class: "spot", r: 5 })];
  const ring = draw("circle", { class: "ring", r: 0 }); // where a mouse points
  let now = { i: 0 };
  const title = make("figcaption", {}, "dot product of P[i] with every P[j]");
  const words = make("p", { class: "faint" });
  const node = draw(
    "svg",
    { class: "plot", width, height: box.height, role: "img", "aria-label": "dot product against distance" },
    draw("rect", { width, height: box.height, fill: "transparent" }),
    ...marks,
    line,
    dot,
    ring,
  );
  const distanceAt = (/** @type {MouseEvent} */ { clientX }) => {
    const share = (clientX - node.getBoundingClientRect().left - x(0)) / (x(1) - x(0));
    return within(Math.round(share), -now.i, count - 1 - now.i);
  };
  node.addEventListener("pointermove", (event) => {
    const k = distanceAt(event);
    fill(ring, { r: 5, cx: x(k), cy: y(products.at(now.i, now.i + k)) }, []);
    measure(k);
  });
  node.addEventListener("pointerleave", () => {
    ring.setAttribute("r", "0");
    measure(null);
  });
  node.addEventListener("click", (event) => measure(distanceAt(event), true));
  node.style.fontSize = `${Math.round(11 * larger)}px`;
  const figure = make("figure", { class: "curve" }, title, node, words);
  figure.style.width = `${width}px`;
  return {
    node: figure,
    update(/** @type {Choice} */ choice) {
      const { i, j, k } = choice;
      now = choice;
      words.textContent = sumText(data, choice);
      const places = Array.from(
        { length: count },
        (_, row) => /** @type {Place} */ ([x(row - i), y(products.at(i, row))]),
      );
      line.setAttribute("d", path(places));
      fill(dot, { cx: x(k), cy: y(products.at(i, j)) }, []);
    },
  };
}
