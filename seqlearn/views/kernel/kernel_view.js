// KernelView: kernel regression with a slider for the width, and readings that can be moved. Python sends predictions
// and weights of all widths; for moved readings Python computes anew, and in a page of its own the browser.

import { HIDDEN_BELOW, LARGEST } from "../shared/constants.js";
import {
  byFinger,
  choice,
  dotSign,
  draw,
  extent,
  fill,
  focusIn,
  frameSign,
  layOut,
  legendOf,
  lineSign,
  lockNote,
  make,
  number,
  oneLine,
  pointHint,
  roomIn,
  slider,
  tell,
} from "../shared/elements.js";
import { CELL, MOST_NUMBERS, heatMap, longestOf } from "../shared/heatmap.js";
import { kernel as likeness, kernelRegression } from "../shared/kernels.js";
import { change, freeing, unpack } from "../shared/life.js";
import { path, plane, spread } from "../shared/plot.js";

/** @import { Echo } from "../shared/echo.js" */
/** @import { HeatMap, MapOptions } from "../shared/heatmap.js" */
/** @import { Kernel } from "../shared/kernels.js" */
/** @import { Cell, Child, Model, Numbers, Tensor, Traits } from "../shared/types.js" */

/** @typedef {[x: number, y: number]} Place */
/** @typedef {Place} Reading a key and its value */

/** What `kernel_data` of kernel_data.py returns, with the names of the axes.
 * @typedef {{
 *   kernels: Kernel[],
 *   widths: number[],
 *   keys: Tensor,
 *   values: Tensor,
 *   queries: Tensor,
 *   truth: Tensor | null,
 *   line: Tensor,
 *   curves: Tensor,
 *   predictions: Tensor,
 *   tops: Tensor,
 *   weights: Tensor,
 *   xlabel: string,
 *   ylabel: string,
 *   clock: boolean,
 * }} Data
 */

/** @typedef {Model<Traits & {
 *   kernel: Kernel,
 *   width: number,
 *   locked: number[],
 *   readings: Reading[],
 *   answer: { of?: [kernel: Kernel, width: number, readings: Reading[]] },
 *   alone?: boolean,
 * }>} KernelModel
 */

/** What is drawn. weights: one row for each query. curve: NaN where no key is within reach.
 * @typedef {{ readings: Reading[], weights: Numbers, predictions: Numbers, curve: Numbers, kernel: Kernel,
 *   width: number }} Shown
 */

/** What is on the screen. before: what was drawn before readings were moved, or null. hovered: the query. moved: the
 * reading that was told last. labels: those of the keys, joined.
 * @typedef {{
 *   shown: Shown,
 *   before: Shown | null,
 *   hovered: number | null,
 *   moved: number,
 *   chart: Chart,
 *   map: HeatMap,
 *   labels: string,
 * }} Screen
 */

/** @typedef {ReturnType<typeof plot>} Chart */
/** @typedef {ReturnType<typeof textsOf>} Texts */

// The size of the plot in a room of ROOM pixels.
const SIZE = { width: 520, height: 320, left: 40, right: 10, top: 8, bottom: 34 };
const ROOM = 1000;
const LARGER = 1.4; // at most, in a larger room
const [WIDE, APART] = [900, 24]; // pixels: a room for the map beside the plot, and the gap between both
const REACH = { mouse: 11, touch: 22 }; // pixels from a reading within which it is taken hold of
const STILL = 3; // pixels by which a click may move
const [LEAST, MOST, LEAST_HELD] = [3, 10.5, 6]; // pixels: the radius of a reading, also of one that is held
const BELL = 0.3; // of the height of the plot
const LETTER = 7; // pixels
const NUDGE = 1 / 40; // of the axis, by which a key moves a reading
const PATIENCE = 400; // milliseconds until a view that waits for Python says so

/**
 * @param {KernelModel} model
 * @param {HTMLElement} root
 * @param {Data} data
 * @param {Echo} echo
 */
export function build(model, root, data, echo) {
  const { queries } = data;
  const text = textsOf(data);
  const given = givenOf(data);
  const parts = partsOf(model, root, data, () => {
    change(model, { readings: given });
    screen.chart.node.focus({ preventScroll: true }); // the button is off now, and would lose the focus
  });
  const waits = waiting(model, parts, echo);
  const settingsBefore = earlier(parts.width);
  const point = (/** @type {{ row: number } | null} */ cell) => {
    screen.hovered = cell?.row ?? null;
    explain();
  };
  const lock = (/** @type {{ row: number } | null} */ cell) => change(model, { locked: cell ? [cell.row] : [] });
  root.onkeydown = freeing(model, [], null);
  const say = (/** @type {number} */ index) => sayMove(parts.moved, data, text, screen, index);
  const newChart = () =>
    plot(data, text, sizeIn(roomIn(root)), given, {
      point,
      say,
      move: (index, place) => moveReading(model, index, place),
      lock: (row) => lock(model.get("locked")[0] === row ? null : { row }),
      readings: () => model.get("readings"),
    });
  const newMap = (/** @type {string[]} */ columns, /** @type {number | null} */ hovered) => {
    const start = hovered === null ? null : { row: hovered, column: 0 };
    return weightMap(Array.from(queries.values, text.short), columns, { room: roomIn(root), start, point, lock });
  };
  const namesOf = (/** @type {Shown} */ { readings }) => readings.map(([key]) => text.short(key));

  const explain = () => {
    const { shown, hovered, map, chart } = screen;
    const locked = model.get("locked")[0];
    const query = locked ?? hovered;
    map.target(locked === undefined ? null : { row: locked, column: 0 });
    map.mark(query === null ? [] : [{ row: query }]); // a thin frame: rows may have 3 pixels
    chart.point(query, shown);
    tell(parts.told, ...(query === null ? [hint()] : sentence(data, text, shown, query, locked !== undefined)));
  };
  /** The map with the labels of the keys, which change where a reading moves sideways. */
  const relabel = () => {
    const columns = namesOf(screen.shown);
    if (columns.join() === screen.labels) return;
    const before = screen.map.node;
    const focused = before.contains(focusIn(root)); // the new map then gets the focus of the keyboard
    screen.labels = columns.join();
    screen.map = newMap(columns, screen.hovered);
    before.replaceWith(screen.map.node);
    if (focused) screen.map.focus();
  };
  const redraw = () => {
    const now = settingsOf(model, data);
    const isGiven = areSame(now.readings, given);
    parts.show(now, isGiven);
    screen.shown = shownOf(model, data, now, isGiven);
    relabel();
    const { shown, map, chart } = screen;
    map.show(shown.weights, [0, extent(shown.weights)[1]]);
    const before = settingsBefore(now, isGiven);
    const former = isGiven ? before : now;
    const drawn = former && shownOf(model, data, { ...former, readings: given }, true);
    screen.before = isGiven ? null : drawn;
    chart.curve(shown, drawn?.curve ?? null);
    explain();
    if (screen.before && !parts.panels.matches(".waiting")) say(screen.moved);
    waits(now, isGiven);
  };
  const rebuild = () => {
    const active = focusIn(root);
    const held = parts.panels.contains(active) && active?.className;
    screen.chart = newChart();
    screen.map = newMap(namesOf(screen.shown), screen.hovered);
    redraw();
    parts.panels.replaceChildren(screen.chart.node, screen.map.node);
    if (held) (held === "handles" ? screen.chart : screen.map).focus();
  };
  const shown = shownOf(model, data, { k: 0, w: 0, readings: given }, true);
  /** @type {Screen} */
  const screen = {
    shown,
    before: null,
    hovered: null,
    moved: 0,
    chart: newChart(),
    map: newMap(namesOf(shown), null),
    labels: namesOf(shown).join(),
  };
  parts.panels.replaceChildren(screen.chart.node, screen.map.node);
  return { width: redraw, kernel: redraw, readings: redraw, answer: redraw, locked: explain, resized: rebuild };
}

/** Says which reading the keys move, and where it is; and what the move does to the prediction at the nearest query.
 * @param {HTMLElement} node
 * @param {Data} data
 * @param {Texts} text
 * @param {Screen} screen
 * @param {number} index
 */
function sayMove(node, data, text, screen, index) {
  const { shown, before } = screen;
  const { readings } = shown;
  screen.moved = index;
  const where = `Reading ${index + 1} of ${readings.length}: ${text.reading(readings[index])}. `;
  const query = closest(data.queries.values, readings[index][0]);
  tell(node, where, before ? changeText(data, text, shown, before, query) : dragHint());
}

/** Moves a reading. The readings stay sorted by their keys: gives the new index of the reading.
 * @param {KernelModel} model
 * @param {number} index
 * @param {Reading} place
 */
function moveReading(model, index, place) {
  const readings = model.get("readings").with(index, place);
  readings.sort((a, b) => a[0] - b[0]);
  change(model, { readings });
  return readings.indexOf(place);
}

/** @param {Reading[]} some @param {Reading[]} others */
const areSame = (some, others) => JSON.stringify(some) === JSON.stringify(others);

/** @param {Data} data */
const givenOf = ({ keys, values }) =>
  Array.from(keys.values, (key, i) => /** @type {Reading} */ ([key, values.values[i]]));

/** The index of the number that is nearest to another one.
 * @param {Numbers} numbers
 * @param {number} at
 */
function closest(numbers, at) {
  const far = Array.from(numbers, (x) => Math.abs(x - at));
  return far.indexOf(Math.min(...far));
}

/** @typedef {ReturnType<typeof settingsOf>} Settings */

/** The traits, with the indices k and w of kernel and width.
 * @param {KernelModel} model
 * @param {Data} data
 */
function settingsOf(model, { kernels, widths }) {
  const w = closest(widths, model.get("width"));
  return { k: kernels.indexOf(model.get("kernel")), w, readings: model.get("readings") };
}

/** @typedef {ReturnType<typeof partsOf>} Parts */

/** The controls, and the places of the panels and the texts.
 * @param {KernelModel} model
 * @param {HTMLElement} root
 * @param {Data} data
 * @param {() => void} onclick puts the readings back
 */
function partsOf(model, root, { kernels, widths, truth }, onclick) {
  const width = slider({
    label: "width",
    texts: widths.map(number),
    choose: (i) => change(model, { width: widths[i] }),
  });
  const which = choice({ label: "kernel", texts: kernels, choose: (kernel) => change(model, { kernel }) });
  const attributes = { type: "button", "aria-label": "put the readings back", onclick };
  const undo = make("button", attributes, "Put the readings back");
  const panels = make("div", { class: "panels side" });
  const [told, moved] = [make("div", { class: "query-told" }), make("div", { class: "moved-told" })];
  layOut(root, "kernel regression", {
    controls: { settings: [width.node, which.node, undo] },
    panels,
    legend: legendOf(
      [dotSign("datum"), "reading; size: its weight, relative to the largest"],
      [lineSign("line prediction"), "prediction"],
      [lineSign("line as-given"), "prediction before the change"],
      [bellSign(), "the kernel around a query"],
      truth && [lineSign("truth"), "truth"],
      kernels.some((name) => !ENDLESS.includes(name)) && [dotSign("lost"), "no prediction: no key within reach"],
      [frameSign(), "the weights of a query"],
    ),
    says: [told, moved],
    above: true, // on a phone the map is as far from the plot as a screen is high
  });
  const show = (/** @type {Settings} */ { k, w }, /** @type {boolean} */ isGiven) => {
    width.set(w);
    which.set(kernels[k]);
    undo.disabled = isGiven;
    if (isGiven) tell(moved, dragHint());
  };
  return { panels, told, moved, show, width: width.node };
}

/** A function that gives the settings before the last change of width or kernel; while the slider is dragged, those
 * before the drag. They are null before the first change, and again after readings were moved.
 * @param {HTMLElement} slider
 * @returns {(now: Settings, isGiven: boolean) => Settings | null}
 */
function earlier(slider) {
  let isDragged = false;
  /** @type {Settings | null} */
  let shown = null;
  /** @type {Settings | null} */
  let before = null;
  for (const [name, drags] of /** @type {const} */ ([
    ["input", true],
    ["change", false],
  ]))
    slider.addEventListener(name, () => {
      isDragged = drags; // after the view has followed the slider
    });
  return (now, isGiven) => {
    if (!isGiven) before = null;
    else if (shown && !isDragged && (shown.k !== now.k || shown.w !== now.w)) before = shown;
    shown = isGiven ? now : null;
    return before;
  };
}

/** A function that says, after a while, that Python has not answered yet.
 * @param {KernelModel} model
 * @param {Parts} parts
 * @param {Echo} echo
 */
function waiting(model, { panels, moved }, echo) {
  let timer = 0;
  return (/** @type {Settings} */ { readings }, /** @type {boolean} */ isGiven) => {
    const wanted = JSON.stringify([model.get("kernel"), model.get("width"), readings]);
    panels.classList.remove("waiting");
    clearTimeout(timer);
    echo.waits = !isGiven && !model.get("alone") && JSON.stringify(model.get("answer").of ?? null) !== wanted;
    if (!echo.waits) return;
    timer = window.setTimeout(() => {
      panels.classList.add("waiting");
      tell(moved, "The curve and the weights are those of the former readings: Python is busy, or not running.");
    }, PATIENCE);
  };
}

const bellSign = () =>
  draw(
    "svg",
    { class: "plot", width: 26, height: 12, "aria-hidden": "true" },
    draw("path", { class: "bell", d: "M0 12C8 12 9 1 13 1S18 12 26 12Z" }),
  );
const ENDLESS = ["gaussian", "constant"]; // kernels within whose reach every key is

const hint = () => pointHint("the plot or a row of the heat map", "see what a query looks at");
const dragHint = () =>
  make(
    "span",
    { class: "faint" },
    "Drag a reading, and the curve follows" +
      (byFinger()
        ? "."
        : "; with the keys: left and right choose one, up and down move it, Shift + arrow keys move it in any " +
          "direction."),
  );

/** By how much plot and map are larger in a large room, and the size of the plot.
 * @param {number} room
 */
const growth = (room) => Math.min(Math.max(room / ROOM, 1), LARGER);

/** @typedef {typeof SIZE & { font: number }} Size */

/**
 * @param {number} room
 * @returns {Size}
 */
function sizeIn(room) {
  const grown = (/** @type {number} */ pixels) => Math.round(pixels * growth(room));
  return {
    width: Math.min(grown(SIZE.width), room),
    height: grown(SIZE.height),
    left: grown(SIZE.left),
    right: grown(SIZE.right),
    top: grown(SIZE.top),
    bottom: grown(SIZE.bottom),
    font: grown(11),
  };
}

/** How keys and values are written: short(x) in a label, at(x) and up(y) in a sentence, reading([x, y]).
 * @param {Data} data
 */
function textsOf({ clock, xlabel, ylabel }) {
  const short = clock ? clockTime : number;
  const at = (/** @type {number} */ x) => (clock ? clockTime(x) : `${named(xlabel, "x")} = ${number(x)}`);
  const up = (/** @type {number} */ y) => `${named(ylabel, "y")} = ${number(y)}`;
  return { short, at, up, reading: (/** @type {Reading} */ [x, y]) => `${at(x)}, ${up(y)}` };
}

/** The name of an axis in a sentence; a letter in place of a long one.
 * @param {string} label
 * @param {string} letter
 */
const named = (label, letter) => ([...label].length <= LONGEST_NAME ? oneLine(label) : letter);
const LONGEST_NAME = 24;

/** 6:30 for 6.5 hours.
 * @param {number} hours
 */
function clockTime(hours) {
  const minutes = Math.round(hours * 60);
  return `${Math.floor(minutes / 60)}:${String(minutes - 60 * Math.floor(minutes / 60)).padStart(2, "0")}`;
}

// ---- Predictions and weights ----------------------------------------------------------------------------------------

/** Predictions and weights for these settings: what Python sent; for moved readings what Python or the page computes.
 * @param {KernelModel} model
 * @param {Data} data
 * @param {Settings} settings
 * @param {boolean} isGiven
 * @returns {Shown}
 */
function shownOf(model, data, { k, w, readings }, isGiven) {
  const { kernels, widths } = data;
  const settings = { readings, kernel: kernels[k], width: widths[w] };
  if (isGiven) return { ...stored(data, k, w), ...settings };
  if (model.get("alone")) return { ...computed(data, kernels[k], widths[w], readings), ...settings };
  return { ...(answerOf(model) ?? stored(data, k, w)), ...settings };
}

/** What Python sent for the readings as given: the curve, and of each query prediction and weights.
 * @param {Data} data
 * @param {number} k
 * @param {number} w
 */
function stored({ widths, tops, weights, predictions, curves, keys, queries, line }, k, w) {
  const part = (/** @type {Tensor} */ { values }, /** @type {number} */ size) =>
    values.subarray((k * widths.length + w) * size, (k * widths.length + w + 1) * size);
  const cells = queries.values.length * keys.values.length;
  return {
    weights: Float32Array.from(part(weights, cells), (/** @type {number} */ x) => (x / LARGEST) * tops.at(k, w)),
    predictions: part(predictions, queries.values.length),
    curve: part(curves, line.values.length),
  };
}

/** The same for moved readings, in a page without Python.
 * @param {Data} data
 * @param {Kernel} name
 * @param {number} width
 * @param {Reading[]} readings
 */
function computed({ queries, line }, name, width, readings) {
  const { weights, predictions } = kernelRegression(name, width, [...queries.values], readings);
  const { predictions: curve } = kernelRegression(name, width, [...line.values], readings);
  return { weights: Float32Array.from(weights.flat()), predictions: predictions.map((x) => x || 0), curve };
}

/** The same as Python answered; null before the first answer.
 * @param {KernelModel} model
 */
function answerOf(model) {
  /** @type {{ weights?: Tensor, predictions?: Tensor, curve?: Tensor }} */
  const { weights, predictions, curve } = unpack(model.get("answer"));
  if (!weights || !predictions || !curve) return null;
  return { weights: weights.values, predictions: predictions.values, curve: curve.values };
}

/** The weights of a query.
 * @param {Shown} shown
 * @param {number} query
 */
const rowOf = ({ weights, readings }, query) => [
  ...weights.slice(query * readings.length, (query + 1) * readings.length),
];

// ---- The map and its texts ------------------------------------------------------------------------------------------

/** The heat map of the weights, with as many labels as have room: in a wide room beside the plot, else below.
 * @param {string[]} rows
 * @param {string[]} columns
 * @param {Partial<MapOptions> & { room: number }} options
 */
function weightMap(rows, columns, { room, ...options }) {
  const few = rows.length <= MOST_NUMBERS && columns.length <= MOST_NUMBERS;
  const own = room < WIDE ? room : room - sizeIn(room).width - APART;
  const space = Math.min(400 * growth(room), own - longestOf(rows) - 45);
  const width = Math.max(2, Math.min(CELL.width - 1, Math.floor(space / columns.length)));
  const height = Math.max(2, Math.min(CELL.height, Math.floor((320 * growth(room)) / rows.length)));
  const every = {
    rows: roundest(rows, Math.ceil(14 / height)),
    columns: Math.ceil((longestOf(columns) + 10) / width),
  };
  return heatMap({
    title: `weights: ${rows.length} queries down, ${columns.length} keys across`,
    rows,
    columns,
    word: (weight) => (weight < HIDDEN_BELOW ? "" : null),
    ...(few ? { room: own } : { width, height, every }),
    ...options,
  });
}

/** One label for so many rows: at least `least`, and those with the roundest texts, such as full hours.
 * @param {string[]} texts
 * @param {number} least
 */
function roundest(texts, least) {
  const digits = (/** @type {string} */ text) => text.replace(/[:.]?0+$/, "").length;
  const mean = (/** @type {number} */ count) =>
    texts.filter((_, i) => i % count === 0).reduce((sum, one, _, { length }) => sum + digits(one) / length, 0);
  const counts = Array.from({ length: least + 1 }, (_, i) => least + i);
  return counts.reduce((best, count) => (mean(count) < mean(best) ? count : best), least);
}

/** A query in words.
 * @param {Data} data
 * @param {Texts} text
 * @param {Shown} shown
 * @param {number} query
 * @param {boolean} isLocked
 * @returns {Child[]}
 */
function sentence({ queries, truth }, text, shown, query, isLocked) {
  const weights = rowOf(shown, query);
  const isLost = weights.every((weight) => weight === 0);
  const prediction = isLost ? "no prediction (the code gives 0)" : `prediction ${predicted(shown, query)}`;
  const told = truth ? `, truth ${number(truth.values[query])}.` : ".";
  const here = `Query ${text.at(queries.values[query])}: ${prediction}${told}`;
  const looks = isLost ? "No key is within reach: the sum is empty." : looksText(text, shown.readings, weights);
  return [make("div", {}, here, lockNote(isLocked)), make("div", {}, looks)];
}

/** The prediction at a query; "none" where no key is within reach.
 * @param {Shown} shown
 * @param {number} query
 */
const predicted = (shown, query) => (rowOf(shown, query).some(Boolean) ? number(shown.predictions[query]) : "none");

/** What moved readings do to a prediction.
 * @param {Data} data
 * @param {Texts} text
 * @param {Shown} shown
 * @param {Shown} before
 * @param {number} query
 */
const changeText = ({ queries }, text, shown, before, query) =>
  `Prediction at ${text.at(queries.values[query])}: ${predicted(shown, query)}, before ${predicted(before, query)}.`;

/** How many keys a query looks at, and at which one most.
 * @param {Texts} text
 * @param {Reading[]} readings
 * @param {number[]} weights
 */
function looksText(text, readings, weights) {
  const sorted = [...weights].sort((a, b) => b - a);
  let needed = 0;
  for (let sum = 0; needed < sorted.length && sum < 0.9; needed++) sum += sorted[needed];
  const [key, value] = readings[weights.indexOf(sorted[0])];
  const reached = weights.filter(Boolean);
  if (reached.length > 1 && reached.every((weight) => weight === sorted[0]))
    return `${reached.length} of ${weights.length} keys share the weight, all equally: ${number(sorted[0])} each.`;
  return (
    `${needed} of ${weights.length} keys ${needed === 1 ? "carries" : "carry"} 90 % of the weight; ` +
    `the largest, ${number(sorted[0])}, is on the key at ${text.at(key)} (${text.up(value)}).`
  );
}

// ---- The plot -------------------------------------------------------------------------------------------------------

/** What the learner does in the plot. move: gives the new index of the reading.
 * @typedef {{
 *   point: (cell: { row: number } | null) => void,
 *   say: (index: number) => void,
 *   move: (index: number, place: Reading) => number,
 *   lock: (query: number) => void,
 *   readings: () => Reading[],
 * }} Deeds
 */

/** The plot. drawn: the readings. name: says where the reading is that is held. cursor: the reading that the keys move.
 * dragged: the reading that the pointer holds, and wasDragged: whether it moved since. pressed: where, and how far from
 * the reading. shares: of the largest weight, or null.
 * @typedef {Deeds & {
 *   data: Data,
 *   text: Texts,
 *   scale: Scale,
 *   svg: SVGSVGElement,
 *   node: HTMLElement,
 *   dots: SVGElement[],
 *   name: SVGElement,
 *   drawn: Reading[],
 *   cursor: number,
 *   dragged: number | null,
 *   wasDragged: boolean,
 *   pressed: { at: Place, by: Place },
 *   shares: number[] | null,
 * }} Plot
 */

/** @typedef {ReturnType<typeof scaleOf>} Scale */

/** The readings, which can be moved, the curves, and the query under the mouse.
 * @param {Data} data
 * @param {Texts} text
 * @param {Size} size
 * @param {Reading[]} drawn the readings before any was moved
 * @param {Deeds} deeds
 */
function plot(data, text, size, drawn, deeds) {
  const { queries, truth } = data;
  const { width, height, top, bottom } = size;
  const scale = scaleOf(data, size, deeds.readings());
  const { x, y, marks } = scale;
  const names = ["line prediction", "line as-given", "cursor", "bell"];
  const [prediction, former, cursor, bell] = names.map((name) => draw("path", { class: name }));
  const lost = draw("g");
  const [answer, name] = [draw("circle", { class: "answer", r: 0 }), draw("text", { class: "name" })];
  const dots = deeds.readings().map(() => draw("circle", { class: "datum", r: 3 }));
  const truthAt = truth && Array.from(queries.values, (at, i) => /** @type {Place} */ ([x(at), y(truth.values[i])]));
  const svg = draw(
    "svg",
    { class: "plot regression", width, height, "aria-hidden": "true" },
    draw("rect", { width, height, fill: "transparent" }),
    ...marks,
    bell,
    truthAt && draw("path", { class: "truth", d: path(truthAt) }),
    cursor,
    former,
    prediction,
    ...dots,
    lost,
    answer,
    name,
  );
  svg.style.fontSize = `${size.font}px`;
  const node = make(
    "div",
    {
      class: "handles",
      role: "slider",
      tabindex: 0,
      "aria-valuemin": 1,
      "aria-valuemax": dots.length,
      "aria-label":
        "readings: left and right choose one, up and down move it, Shift and arrow keys move it in any direction, " +
        "Enter keeps the query there",
    },
    svg,
  );
  const held = { cursor: 0, dragged: null, wasDragged: false, shares: null };
  /** @type {Plot} */
  const it = {
    ...deeds,
    data,
    text,
    scale,
    svg,
    node,
    dots,
    name,
    drawn,
    ...held,
    pressed: { at: [0, 0], by: [0, 0] },
  };
  listen(it);
  choose(it, 0);
  return {
    node,
    focus: () => node.focus({ focusVisible: true }),
    /** A line through many points, broken where no key is within reach; there each query has a ring on the axis.
     * before: the line before the change. */
    curve(/** @type {Shown} */ shown, /** @type {Numbers | null} */ before) {
      prediction.setAttribute("d", lineOf(it, shown.curve));
      former.setAttribute("d", before ? lineOf(it, before) : "");
      const unreached = [...queries.values].filter((_, query) => rowOf(shown, query).every((weight) => weight === 0));
      lost.replaceChildren(
        ...unreached.map((at) => draw("circle", { class: "lost", cx: x(at), cy: height - bottom, r: 3 })),
      );
      for (const [i, [key, value]] of it.readings().entries()) fill(dots[i], { cx: x(key), cy: y(value) }, []);
      follow(it);
    },
    /** Shows a query: its weights are the sizes of the dots. */
    point(/** @type {number | null} */ query, /** @type {Shown} */ shown) {
      const weights = query === null ? [] : rowOf(shown, query);
      const most = Math.max(0, ...weights);
      it.shares = most ? weights.map((weight) => weight / most) : null;
      resize(it);
      const at = query === null ? 0 : x(queries.values[query]);
      cursor.setAttribute("d", query === null ? "" : `M${at} ${top}V${height - bottom}`);
      bell.setAttribute("d", query === null ? "" : bellOf(it, size, queries.values[query], shown));
      fill(answer, { r: most ? 5 : 0, cx: at, cy: query !== null && most ? y(shown.predictions[query]) : 0 }, []);
    },
  };
}

/** The line of a prediction; NaN breaks it.
 * @param {Plot} plot
 * @param {Numbers} values
 */
function lineOf({ data, scale: { x, y } }, values) {
  const placeOf = (/** @type {number} */ value, /** @type {number} */ i) =>
    Number.isNaN(value) ? null : /** @type {Place} */ ([x(data.line.values[i]), y(value)]);
  return path(Array.from(values, placeOf));
}

/** The kernel around a query, above the axis: as high as a reading counts that stands there.
 * @param {Plot} plot
 * @param {Size} size
 * @param {number} query
 * @param {Shown} shown
 */
function bellOf({ data, scale }, { height, bottom }, query, { kernel, width }) {
  const floor = height - bottom;
  const { values } = data.line;
  const places = Array.from(values, (at) => {
    const share = likeness(kernel, (query - at) / width);
    return /** @type {Place} */ ([scale.x(at), floor - BELL * scale.high * share]);
  });
  return `${path([[places[0][0], floor], ...places])}V${floor}Z`;
}

/** The axes: x(at) and y(at) in pixels, their marks, and back(pixels), the place within the axes.
 * @param {Data} data
 * @param {Size} size
 * @param {Reading[]} readings
 */
function scaleOf({ keys, values, queries, truth, xlabel, ylabel, clock }, size, readings) {
  const { left, top } = size;
  const [wide, high] = [size.width - left - size.right, size.height - top - size.bottom];
  const [atKeys, atValues] = [readings.map(([key]) => key), readings.map(([, value]) => value)];
  const across = spread(extent(keys.values, queries.values, atKeys));
  const up = spread(spread(extent(values.values, truth ? truth.values : [], atValues))); // with room to move
  const within = (/** @type {number} */ at, /** @type {readonly number[]} */ [low, high]) =>
    Math.min(Math.max(at, low), high);
  const back = (/** @type {number} */ px, /** @type {number} */ py) =>
    /** @type {Place} */ ([
      within(across[0] + ((px - left) / wide) * (across[1] - across[0]), across),
      within(up[1] - ((py - top) / high) * (up[1] - up[0]), up),
    ]);
  return { ...plane(size, across, up, xlabel, ylabel, clock ? hoursIn(across) : undefined), back, wide, high };
}

/** Full hours for an axis.
 * @param {readonly [number, number]} interval
 */
function hoursIn([low, high]) {
  const hours = [1, 2, 3, 6, 12, 24].find((count) => (high - low) / count <= 6) ?? 24;
  const at = Array.from({ length: 8 }, (_, i) => (Math.ceil(low / hours) + i) * hours);
  return { at: at.filter((x) => x <= high), write: clockTime };
}

/** Sizes the dots: by the weight of the reading; the one that is held stays large enough to be seen, and has its place
 * beside it.
 * @param {Plot} plot
 */
function resize({ dots, cursor, dragged, node, shares, name, readings, text, scale }) {
  for (const [i, dot] of dots.entries()) {
    const least = i === cursor && (dragged !== null || node.matches(":focus")) ? LEAST_HELD : 0;
    dot.setAttribute("r", String(Math.max(least, shares ? LEAST + (MOST - LEAST) * Math.sqrt(shares[i]) : 3.5)));
  }
  const [at, value] = readings()[cursor];
  const [x, y] = [scale.x(at), scale.y(value)];
  const written = `${text.short(at)}, ${number(value)}`;
  name.textContent = dragged !== null || node.matches(":focus-visible") ? written : "";
  const places = readings().map((one) => /** @type {Place} */ ([scale.x(one[0]) - x, scale.y(one[1]) - y]));
  const [right, below] = clearest(places, LETTER * written.length, x > scale.wide / 2, y > scale.high / 2);
  fill(name, { x, y: y + below, "text-anchor": right < 0 ? "end" : "start" }, []);
}

/** Beside a reading, where its name covers the fewest others: to the right or to the left, and how far below.
 * @param {Place[]} others how far right and below they are
 * @param {number} wide
 * @param {boolean} isRight
 * @param {boolean} isLow
 */
function clearest(others, wide, isRight, isLow) {
  const [inward, up] = [isRight ? -1 : 1, isLow ? -16 : 24];
  const covered = (/** @type {Place} */ [right, below]) =>
    others.filter(([x, y]) => x * right > -4 && x * right < wide && y > below - 16 && y < below + 8).length;
  const free = /** @type {Place[]} */ ([
    [inward, up],
    [inward, 8 - up],
    [inward, 3 * up - 16],
  ]);
  return free.reduce((best, one) => (covered(one) < covered(best) ? one : best));
}

/** After a change of the readings the keys move the one that was moved.
 * @param {Plot} plot
 */
function follow(plot) {
  const [before, readings] = [new Set(plot.drawn.map(String)), plot.readings()];
  const moved = readings.findIndex((reading) => !before.has(String(reading)));
  plot.drawn = readings;
  choose(plot, moved < 0 ? plot.cursor : moved);
  if (moved >= 0) plot.say(moved);
}

/** Chooses the reading that the keys move.
 * @param {Plot} plot
 * @param {number} index
 */
function choose(plot, index) {
  const { node, dots, text, readings } = plot;
  plot.cursor = index;
  const spoken = `reading ${index + 1} of ${dots.length}: ${text.reading(readings()[index])}`;
  fill(node, { "aria-valuenow": index + 1, "aria-valuetext": spoken }, []);
  for (const [i, dot] of dots.entries()) dot.classList.toggle("held", i === index);
  resize(plot);
}

/** Takes hold of a reading, or lets it go.
 * @param {Plot} plot
 * @param {number | null} index
 */
function hold(plot, index) {
  plot.dragged = index;
  plot.svg.classList.toggle("grabbing", index !== null);
  resize(plot);
}

/** Where a pointer is in the plot.
 * @param {Plot} plot
 * @param {MouseEvent} event
 * @returns {Place}
 */
function pixels({ svg }, event) {
  const { left, top } = svg.getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
}

/** The query under a pointer.
 * @param {Plot} plot
 * @param {MouseEvent} event
 */
const queryAt = (plot, event) => queryNear(plot, pixels(plot, event)[0]);

/** The query that is nearest to so many pixels from the left.
 * @param {Plot} plot
 * @param {number} at
 */
const queryNear = ({ data, scale }, at) => closest(Array.from(data.queries.values, scale.x), at);

/** The reading under a pointer, or null.
 * @param {Plot} plot
 * @param {PointerEvent} event
 */
function readingAt(plot, event) {
  const [px, py] = pixels(plot, event);
  const { x, y } = plot.scale;
  const far = plot.readings().map(([key, value]) => Math.hypot(x(key) - px, y(value) - py));
  const least = Math.min(...far);
  return least <= (event.pointerType === "touch" ? REACH.touch : REACH.mouse) ? far.indexOf(least) : null;
}

/** Follows the mouse, the finger and the keys.
 * @param {Plot} plot
 */
function listen(plot) {
  const { svg, node, lock, point } = plot;
  const letGo = () => hold(plot, null);
  svg.addEventListener("pointerdown", (event) => press(plot, event));
  svg.addEventListener(
    "touchstart",
    (event) => {
      // The finger moves a reading, and not the page; a page that still glides asks nobody.
      if (plot.dragged !== null && event.cancelable) event.preventDefault();
    },
    { passive: false },
  );
  svg.addEventListener("pointermove", (event) => drag(plot, event));
  svg.addEventListener("pointerup", (event) => {
    const isTap = event.pointerType === "touch" && plot.dragged !== null && !plot.wasDragged;
    if (isTap) lock(queryAt(plot, event)); // after touchstart there is no click
    letGo();
  });
  svg.addEventListener("pointercancel", letGo);
  svg.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") point(null); // a finger leaves after every tap
  });
  svg.addEventListener("click", (event) => {
    if (!plot.wasDragged) lock(queryAt(plot, event));
  });
  for (const name of ["focus", "blur"]) node.addEventListener(name, () => resize(plot));
  node.addEventListener("keydown", (event) => {
    if (nudge(plot, event)) event.preventDefault();
  });
}

/**
 * @param {Plot} plot
 * @param {PointerEvent} event
 */
function press(plot, event) {
  plot.wasDragged = false;
  const [index, [px, py]] = [readingAt(plot, event), pixels(plot, event)];
  hold(plot, index);
  if (index === null) return;
  const [key, value] = plot.readings()[index];
  const { x, y } = plot.scale;
  plot.pressed = { at: [px, py], by: [x(key) - px, y(value) - py] }; // the reading keeps its distance from the finger
  plot.svg.setPointerCapture(event.pointerId);
  choose(plot, index);
}

/**
 * @param {Plot} plot
 * @param {PointerEvent} event
 */
function drag(plot, event) {
  const { svg, dragged, pressed, scale, move, point } = plot;
  if (dragged === null) {
    svg.classList.toggle("grab", readingAt(plot, event) !== null);
    point({ row: queryAt(plot, event) });
    return;
  }
  const [px, py] = pixels(plot, event);
  plot.wasDragged ||= Math.hypot(px - pressed.at[0], py - pressed.at[1]) > STILL;
  if (!plot.wasDragged) return;
  plot.dragged = move(dragged, scale.back(px + pressed.by[0], py + pressed.by[1]));
  choose(plot, plot.dragged);
  point({ row: queryAt(plot, event) });
}

/** What a key does: gives whether it does anything.
 * @param {Plot} plot
 * @param {KeyboardEvent} event
 */
function nudge(plot, { key, shiftKey }) {
  const { dots, cursor, scale, move, readings, lock, say } = plot;
  const { x, y, back, wide, high } = scale;
  /** @type {Record<string, Place>} */
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const [right, up] = arrows[key] ?? [0, 0];
  const [at, value] = readings()[cursor];
  /** @type {Record<string, number>} */
  const chosen = {
    Home: 0,
    End: dots.length - 1,
    ...(shiftKey ? {} : { ArrowLeft: cursor - 1, ArrowRight: cursor + 1 }),
  };
  if (key === "Enter" || key === " ") lock(queryNear(plot, x(at)));
  else if (key in chosen) {
    choose(plot, Math.min(Math.max(chosen[key], 0), dots.length - 1));
    say(plot.cursor);
  } else if (right || up) {
    const place = back(x(at) + right * NUDGE * wide, y(value) - up * NUDGE * high);
    choose(plot, move(cursor, right ? [place[0], value] : [at, place[1]])); // the other number stays exactly as it was
  } else return false;
  return true;
}
