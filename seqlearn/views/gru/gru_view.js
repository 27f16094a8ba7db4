// GruView: the state and the gates of one unit at each word, and one step in full. The browser computes the step
// itself: any gate may be chosen, so that Python cannot send all of them.

import { BLUE_RED } from "../shared/colours.js";
import {
  byFinger,
  layOut,
  legendOf,
  make,
  pointHint,
  roomIn,
  roving,
  shortened,
  slider,
  tell,
  token,
} from "../shared/elements.js";
import { colour, dragging, fit, heatMap, longestOf } from "../shared/heatmap.js";
import { change } from "../shared/life.js";
import { pointedRow } from "../shared/rows.js";

/** @import { Attributes, Child, Model, Tensor, Traits } from "../shared/types.js" */

/** z, r: the gates that the learner chose; null: as the network has them.
 * @typedef {Model<Traits & { unit: number, word: number, z: number | null, r: number | null }>} GruModel
 */

/** For each word (row) and each unit (column) the gates, and the parts of the new value; states: one row more, the
 * first, before any word.
 * @typedef {Record<"states" | "updates" | "resets" | "from_word" | "from_state", Tensor> & { tokens: string[] }} Data
 */

/** @import { Echo } from "../shared/echo.js" */
/** @import { HeatMap } from "../shared/heatmap.js" */
/** @typedef {ReturnType<typeof gruStep>} Step */
/** @typedef {ReturnType<typeof numbersAt>} Numbers */

const MOST_WIDE = 1100; // pixels; gru_view.css has the same
const FREE = { z: null, r: null };
const [KEEPS, TAKES] = [0.8, 0.2]; // a larger gate keeps the old state, a smaller one takes the new value

/**
 * @param {GruModel} model
 * @param {HTMLElement} root
 * @param {Data} data
 * @param {Echo} echo
 */
export function build(model, root, data, echo) {
  const { tokens } = data;
  const units = data.updates.shape[1];
  const pointed = pointedRow(() => redraw());
  const choose = {
    word: (/** @type {number} */ word) => word !== model.get("word") && change(model, { word, ...FREE }),
    unit: (/** @type {number} */ to) => to !== model.get("unit") && change(model, { unit: to, ...FREE }),
  };
  const words = tokens.map((text, i) => wordOf(text, pointed.listeners(i), () => choose.word(i), model));
  const list = listOf(words.map(({ node }) => node));
  const unit = slider({
    label: "unit",
    texts: Array.from({ length: units }, (_, i) => `${i} of ${units}`),
    choose: choose.unit,
  });
  unit.node.classList.add("gru-unit");
  const machine = machineOf(model);
  const state = make("div", { class: "gru-state" });
  const [name, heading] = [make("p", { class: "gru-at" }), make("p", { class: "gru-at" })];
  const told = make("div");
  const free = { "aria-label": "Put the gates back: those of the network", onclick: () => change(model, FREE) };
  const back = make("button", { type: "button", ...free }, "Put the gates back");
  /** @type {number | null} */
  let hovered = null; // a unit
  /** @type {HeatMap | null} */
  let all = null;
  const point = (/** @type {number | null} */ to) => {
    hovered = to;
    redraw();
  };
  const hint = make("div");
  layOut(root, "a unit of a GRU", {
    controls: { settings: [units > 1 && unit.node, back] },
    intro: [make("div", { class: "panels gru" }, state, name, list)],
    panels: make("div", { class: "panels gru" }, heading, machine.node),
    legend: legend(),
    says: [told, hint],
    above: true, // the answer stands between the words and the step
  });

  const redraw = () => {
    const at = pointed.at() ?? model.get("word");
    const column = hovered ?? model.get("unit");
    const own = numbersAt(data, at, column);
    const chosen = model.get("word");
    const gates = { z: model.get("z"), r: model.get("r") };
    const isSet = gates.z !== null || gates.r !== null;
    const isChanged = isSet && column === model.get("unit");
    const steps = stepsOf(data, column, isChanged ? chosen : Infinity, gates);
    const step = steps[at];
    if (units > 1) unit.set(column);
    showState(all, data, at, column, step.after);
    for (const [i, word] of words.entries()) {
      const { after } = numbersAt(data, i, column);
      word.show(steps[i], {
        isShown: i === at,
        isChosen: i === chosen,
        before: isChanged && i >= chosen ? after : null,
      });
    }
    back.setAttribute("aria-disabled", String(!isSet));
    name.replaceChildren(
      units > 1 ? `Unit ${column} at each word` : "The unit at each word",
      make("span", { class: "gru-later faint" }, isChanged ? " (dotted: as it was)" : ""),
    );
    heading.replaceChildren("The step at the word “", token(shortened(tokens[at], 40)), "”");
    machine.show(step);
    tell(hint, pointHint(units > 1 ? "a word or a unit" : "a word", "see its numbers"), isSet ? null : dragHint());
    tell(told, ...explanation(step, gruStep(own), tokens[at], column, isChanged ? at - chosen : NaN));
  };
  const layout = () => {
    if (units > 1) {
      all = stateOf(units, Math.min(roomIn(root), MOST_WIDE), point, choose.unit);
      state.replaceChildren(all.node);
    }
    const narrow = (roomIn(root) - 70) / tokens.length < longestOf(tokens) + 12;
    list.classList.toggle("upright", narrow);
  };
  const resized = () => {
    layout();
    redraw();
  };
  const changed = () => {
    redraw();
    if (echo.pressed?.closest(".told")) told.parentElement?.scrollIntoView({ block: "nearest" });
  };
  return { resized, unit: changed, word: changed, z: changed, r: changed };
}

const dragHint = () =>
  make(
    "span",
    { class: "faint" },
    byFinger()
      ? " Drag the bar of a gate at the chosen word."
      : " Drag the bar of a gate; with the keys: Tab goes on to its slider below, and the arrow keys move it.",
  );

function legend() {
  const sign = (/** @type {string} */ name) => make("span", { class: name, "aria-hidden": "true" });
  return legendOf(
    [sign("gru-sign gru-signed"), "state, new value: from −1 (blue) to 1 (red)"],
    [sign("gru-sign gate"), "gate: from 0 to 1; drag its bar"],
    [sign("gru-tick old"), "old state h"],
    [sign("gru-tick new"), "new value n"],
    [token("x"), "the vector of the word"],
    [token("W, U"), "learned weights"],
    [token("tanh"), "brings a sum between −1 and 1"],
  );
}

// ---- The state ------------------------------------------------------------------------------------------------------

/** The state after a word, a cell for each unit; a unit can be chosen.
 * @param {number} units
 * @param {number} room
 * @param {(unit: number | null) => void} point
 * @param {(unit: number) => void} choose
 */
function stateOf(units, room, point, choose) {
  const columns = Array.from({ length: units }, (_, i) => String(i));
  const width = fit(units, 24, room - 16);
  return heatMap({
    title: `state after the word, ${units} units`,
    rows: [""],
    columns,
    ramp: BLUE_RED,
    bar: false,
    most: 0,
    width,
    height: 22,
    every: { columns: [1, 2, 4, 8, 16, 32, 64].find((every) => every * width >= 28) },
    enters: "Enter chooses the unit",
    point: (cell) => point(cell?.column ?? null),
    lock: (cell) => cell && choose(cell.column),
  });
}

/** The state as the network computed it, but for the unit whose gates were moved.
 * @param {HeatMap | null} map
 * @param {Data} data
 * @param {number} word
 * @param {number} unit
 * @param {number} after
 */
function showState(map, { tokens, states, updates }, word, unit, after) {
  const units = updates.shape[1];
  const row = Array.from({ length: units }, (_, i) => (i === unit ? after : states.at(word + 1, i)));
  const name = token(shortened(tokens[word], 24));
  map?.caption.replaceChildren("The state after the word “", name, `”: ${units} units`);
  map?.show(row, [-1, 1]);
  map?.mark([{ row: 0, column: unit, strong: true }]);
  map?.target(null, { row: 0, column: unit });
}

// ---- The sentence ---------------------------------------------------------------------------------------------------

/** The words from left to right, one stop of the Tab key.
 * @param {HTMLElement[]} words
 */
function listOf(words) {
  const names = [
    ["state", "", "h′"],
    ["update", " gate", "z"],
    ["reset", " gate", "r"],
  ].map(([name, long, short]) => make("span", {}, name, make("span", { class: "gru-long" }, long), ` ${short}`));
  const side = make("div", { class: "gru-names", "aria-hidden": "true" }, make("span"), ...names);
  const options = { class: "gru-words", role: "listbox", "aria-orientation": "horizontal" };
  const group = make("div", { ...options, "aria-label": "words, from left to right" }, ...words);
  roving(group, words);
  return make("div", { class: "gru-sentence" }, side, group);
}

/** One word: its name, and bars for state and gates. A screen reader hears the label alone, where each number has a
 * name; so the numbers below the bars are no text of the page, but come from the style sheet.
 * @param {string} text
 * @param {Attributes} listeners
 * @param {() => void} choose
 * @param {GruModel} model
 */
function wordOf(text, { onfocusin, ...listeners }, choose, model) {
  const state = signedBar("tall");
  const [update, reset] = /** @type {const} */ (["z", "r"]).map((gate) => gateBar(model, gate, choose));
  const focused = (/** @type {FocusEvent} */ event) => {
    /** @type {(event: FocusEvent) => void} */ (onfocusin)(event);
    choose();
  };
  const node = make(
    "div",
    { class: "gru-word", role: "option", ...listeners, onfocusin: focused, onclick: choose },
    make("bdi", { class: "name token", title: text }, shortened(text, 24)),
    state.node,
    update.node,
    reset.node,
  );
  /** before: the state as the network has it, if a gate was set at this word or before.
   * @param {Step} step
   * @param {{ isShown: boolean, isChosen: boolean, before: number | null }} how
   */
  const show = ({ after, z, r }, { isShown, isChosen, before }) => {
    state.show(after, before);
    update.show(z);
    reset.show(r);
    node.classList.toggle("on", isShown);
    node.setAttribute("aria-selected", String(isChosen));
    node.tabIndex = isChosen ? 0 : -1;
    const own = before === null ? "" : ` (in the network ${fixed(before)})`;
    const spoken = `${text}: state ${fixed(after)}${own}, update gate ${fixed(z)}, reset gate ${fixed(r)}`;
    node.setAttribute("aria-label", spoken);
  };
  return { node, show };
}

/** A bar that stands on 0, or hangs from 0, with its number below. It may have a line where it was before. */
function signedBar(/** @type {string} */ name) {
  const fill = make("span", { class: "fill" });
  const line = make("span", { class: "gru-before" });
  const written = make("span", { class: "gru-number" });
  const node = make(
    "span",
    { class: `up ${name}`, "aria-hidden": "true" },
    make("span", { class: "well" }, fill, line),
    written,
  );
  const show = (/** @type {number} */ x, /** @type {number | null} */ before) => {
    line.hidden = before === null;
    line.style.top = `${50 - 50 * (before ?? 0)}%`;
    fill.style.top = `${50 - 50 * Math.max(x, 0)}%`;
    fill.style.bottom = `${50 + 50 * Math.min(x, 0)}%`;
    fill.style.background = colourOf(x);
    written.dataset.number = fixed(x);
  };
  return { node, show };
}

/** A bar from 0 to 1, with its number below. Its end can be dragged; the keys have the sliders of the step.
 * @param {GruModel} model
 * @param {"z" | "r"} gate
 * @param {() => void} choose the word
 */
function gateBar(model, gate, choose) {
  const fill = make("span", { class: "fill" });
  const written = make("span", { class: "gru-number" });
  const well = make("span", { class: "well gate" }, fill);
  const node = make("span", { class: "up", "aria-hidden": "true" }, well, written);
  well.onpointerdown = (down) => {
    if (down.button) return;
    const [before, pull] = [model.get(gate), dragging(down, 3)];
    well.setPointerCapture(down.pointerId);
    well.onpointermove = (event) => {
      if (pull(event) === null) return; // it may be a click
      const { top, height } = well.getBoundingClientRect();
      choose();
      change(model, { [gate]: Math.round(100 * Math.min(Math.max(1 - (event.clientY - top) / height, 0), 1)) / 100 });
    };
    well.onpointercancel = () => change(model, { [gate]: before });
    well.onlostpointercapture = () => {
      well.onpointermove = well.onpointercancel = null;
    };
  };
  const show = (/** @type {number} */ x) => {
    fill.style.top = `${100 - 100 * x}%`;
    written.dataset.number = fixed(x);
  };
  return { node, show };
}

// ---- One step in full -----------------------------------------------------------------------------------------------

/** The five numbers of a step, in the order in which they are computed.
 * @param {GruModel} model
 */
function machineOf(model) {
  const old = numberRow("old state h");
  const reset = gateRow("reset gate r", (r) => change(model, { r }));
  const fresh = numberRow("new value n");
  const update = gateRow("update gate z", (z) => change(model, { z }));
  const state = numberRow("new state h′", true);
  const parts = [old, reset, fresh, update, state].map(({ node }) => node);
  return {
    node: make("div", { class: "gru-machine", role: "group", "aria-label": "one step in full" }, ...parts),
    show(/** @type {Step} */ { before, r, n, z, after }) {
      old.show(before);
      reset.show(r);
      fresh.show(n);
      update.show(z);
      state.show(after, [before, n]);
    },
  };
}

/** A number from -1 to 1. ends: whether its bar has marks for the two numbers between which it lies.
 * @param {string} name
 */
function numberRow(name, ends = false) {
  const fill = make("span", { class: "gru-bar" });
  const [between, ...ticks] = ["between", "gru-tick old", "gru-tick new"].map((part) => make("span", { class: part }));
  const marks = ends ? [between, fill, ...ticks] : [fill];
  const written = make("output", {});
  const node = make("div", { class: "row" }, name, make("span", { class: "track" }, ...marks), written);
  const place = (/** @type {number} */ x) => `${50 + 50 * x}%`;
  const show = (/** @type {number} */ x, /** @type {number[]} */ [low, high] = [0, 0]) => {
    fill.style.left = place(Math.min(x, 0));
    fill.style.right = `${50 - 50 * Math.max(x, 0)}%`;
    fill.style.background = colourOf(x);
    between.style.left = place(Math.min(low, high));
    between.style.right = `${50 - 50 * Math.max(low, high)}%`;
    ticks.forEach((tick, i) => {
      tick.style.left = place([low, high][i]);
    });
    written.textContent = fixed(x);
  };
  return { node, show };
}

/** A gate, as a slider.
 * @param {string} name
 * @param {(value: number) => void} choose
 */
function gateRow(name, choose) {
  const input = make("input", { type: "range", min: 0, max: 1, step: 0.01, "aria-label": name });
  input.addEventListener("input", () => choose(Number(input.value)));
  const written = make("output", {});
  const node = make("label", { class: "row gate" }, name, input, written);
  const show = (/** @type {number} */ x) => {
    input.value = String(x);
    input.setAttribute("aria-valuetext", fixed(x));
    written.textContent = fixed(x);
  };
  return { node, show };
}

// ---- Numbers and texts ----------------------------------------------------------------------------------------------

/** What the network computed at a word for one unit. before, after: its state.
 * @param {Data} data
 * @param {number} word
 * @param {number} unit
 */
const numbersAt = (data, word, unit) => ({
  before: data.states.at(word, unit),
  after: data.states.at(word + 1, unit),
  z: data.updates.at(word, unit),
  r: data.resets.at(word, unit),
  fromWord: data.from_word.at(word, unit),
  fromState: data.from_state.at(word, unit),
});

/** One step of a unit: n = tanh(W x + r · U h), h′ = (1 − z) n + z h, as `gru_steps` in gru_data.py.
 * @param {Omit<Numbers, "after">} numbers
 */
export function gruStep({ before, z, r, fromWord, fromState }) {
  const n = Math.tanh(fromWord + r * fromState);
  return { before, z, r, fromWord, fromState, n, after: (1 - z) * n + z * before };
}

/** One unit at every word: from the word whose gates are set, its new state is carried on. All other numbers stay.
 * @param {Data} data
 * @param {number} unit
 * @param {number} chosen this word; Infinity: none
 * @param {{ z: number | null, r: number | null }} gates
 */
function stepsOf(data, unit, chosen, { z, r }) {
  /** @type {Step[]} */
  const steps = [];
  for (const word of data.tokens.keys()) {
    const own = numbersAt(data, word, unit);
    const set = word === chosen ? { z: z ?? own.z, r: r ?? own.r } : {};
    steps.push(gruStep({ ...own, before: word > chosen ? steps[word - 1].after : own.before, ...set }));
  }
  return steps;
}

/** The step with its numbers, and what the network itself computed if the learner moved a gate.
 * @param {Step} step
 * @param {Step} own
 * @param {string} text
 * @param {number} unit
 * @param {number} later how many words after the one whose gates are set; NaN: none are set
 * @returns {Child[]}
 */
function explanation(step, own, text, unit, later) {
  const { before, z, r, fromWord, fromState, n, after } = step;
  const products = `(1 − ${fixed(z)}) · ${inProduct(n)} + ${fixed(z)} · ${inProduct(before)}`;
  const gates = later ? `h = ${fixed(own.before)}` : `z = ${fixed(own.z)}, r = ${fixed(own.r)}`;
  const moved =
    `The network itself has ${gates}, and h′ = ${fixed(own.after)}. Only this number is changed; the network is not ` +
    "run again. Later words keep their own gates and n.";
  return [
    make("div", {}, `unit ${unit} at `, token(text), `: ${deed(z)}.`),
    make("div", {}, `h′ = (1 − z) · n + z · h = ${products} ≈ ${fixed(after)}`),
    make(
      "div",
      { class: "gru-new" },
      `n = tanh(Wx + r · Uh) = tanh(${fixed(fromWord)} + ${fixed(r)} · ${inProduct(fromState)}) ≈ ${fixed(n)}`,
    ),
    make("div", { class: "gru-moved" }, later >= 0 ? moved : ""),
  ];
}

/** What a unit does with this update gate.
 * @param {number} z
 */
const deed = (z) => (z >= KEEPS ? "it keeps its old state" : z <= TAKES ? "it takes the new value" : "it mixes both");

/** @param {number} x */
const colourOf = (x) => `rgb(${colour((x + 1) / 2, BLUE_RED).join(" ")})`;

/** A number with 2 decimals and a true minus sign.
 * @param {number} x
 */
const fixed = (x) =>
  x
    .toFixed(2)
    .replace(/^-(0\.00)$/, "$1")
    .replace("-", "−");

/** @param {number} x */
const inProduct = (x) => (fixed(x).startsWith("−") ? `(${fixed(x)})` : fixed(x));
