// What all views share. Texts of the learner get into the page as text nodes only, never as HTML.

// ---- The life of a view ---------------------------------------------------------------------------------------------

/** The render function for anywidget. `build(model, root, data)` draws all of `data` below `root` and returns a function
 * for each trait that may change: { step: () => ..., locked: () => ... }. Each function is called once at first, and
 * after every change. `resized` is no trait: this function is called when `root` gets another width (a view that is not
 * yet in the page has no width). */
function life(build) {
  return ({ model, el }) => {
    const root = make("div", { class: "seqlearn" });
    root.addEventListener("keydown", (event) => {
      // Without Ctrl, Alt or Command a key belongs to the view: in a notebook "b" makes a cell and "dd" deletes one.
      if (!event.ctrlKey && !event.altKey && !event.metaKey) event.stopPropagation();
    });
    let react = {};
    const changed = (name) => () => react[name] && react[name]();
    let late = false; // new data came while a word was being typed: nobody takes the word away
    const rebuild = () => {
      if ((late = Boolean(root.querySelector("input.chip")))) return;
      react = {};
      const focus = focusOf(root);
      root.style.minHeight = `${root.offsetHeight}px`; // so that the page does not scroll meanwhile
      root.replaceChildren();
      const reactions = build(model, root, unpack(model.get("data")));
      for (const name of Object.keys(reactions)) {
        if (!listened.has(name)) listen(name, changed(name));
      }
      react = { ...reactions, told: () => drawTold(model, root) };
      if (!listened.has("told")) listen("told", changed("told"));
      Object.values(react).forEach((reaction) => reaction());
      focus();
      root.style.minHeight = "";
    };
    const listened = new Map();
    const listen = (name, callback) => {
      listened.set(name, callback);
      model.on("change:" + name, callback);
    };
    let width = 0;
    const observer = new ResizeObserver(() => {
      if (root.clientWidth && root.clientWidth !== width) changed("resized")();
      width = root.clientWidth;
    });
    root.addEventListener("typed", () => late && rebuild());
    el.append(root);
    listen("data", rebuild);
    rebuild();
    observer.observe(root);
    return () => {
      observer.disconnect();
      listened.forEach((callback, name) => model.off("change:" + name, callback));
    };
  };
}

/** Change traits here and in Python. */
function change(model, values) {
  for (const [name, value] of Object.entries(values)) model.set(name, value);
  model.save_changes();
}

/** A function that gives the focus of the keyboard to the control of the same name, after the view was built anew; or to
 * the one in its place, if the control has another name now. */
function focusOf(root) {
  const controls = () => [...root.querySelectorAll("button, input, select, summary, [tabindex]")];
  const name = (node) => node.getAttribute("aria-label") ?? node.textContent;
  const active = root.getRootNode().activeElement;
  if (!active || !root.contains(active)) return () => {};
  const [before, place] = [name(active), controls().indexOf(active)];
  return () => {
    const there = controls()[place];
    const same = there && name(there) === before ? there : controls().find((node) => name(node) === before);
    (same ?? there)?.focus({ focusVisible: true });
  };
}

/** The text above a view; a click on some of its words sets traits. */
function drawTold(model, root) {
  root.querySelector(".told")?.remove();
  const pieces = model.get("told") ?? [];
  if (!pieces.length) return;
  root.prepend(make("p", { class: "told" }, ...pieces.map(([text, traits]) =>
    (traits ? make("button", { type: "button", class: "word", onclick: () => ask(model, traits) }, text) : text))));
}

/** Sets traits. If they ask a new question, the marks among them are set when the answer is there: they may not fit before. */
function ask(model, traits) {
  const same = (name) => JSON.stringify(model.get(name)) === JSON.stringify(traits[name]);
  const question = Object.keys(traits).filter((name) => QUESTION.includes(name));
  if (!model.get("result")?.asked || question.every(same)) return change(model, traits);
  const marks = Object.fromEntries(Object.entries(traits).filter(([name]) => name === "step" || name === "locked"));
  const answered = () => {
    model.off("change:result", answered);
    queueMicrotask(() => question.every(same) && change(model, marks)); // unless another question was asked meanwhile
  };
  model.on("change:result", answered);
  change(model, Object.fromEntries(Object.entries(traits).filter(([name]) => !(name in marks))));
}

const QUESTION = ["sentence", "beam", "prefix", "edits"];
const LARGEST = 65535; // the whole number that stands for the largest weight, where weights are sent as whole numbers

/** The data, with a typed array for each tensor: { shape, values, at(i, j, ...) }. */
function unpack(node) {
  if (Array.isArray(node)) return node.map(unpack);
  if (node === null || typeof node !== "object") return node;
  if (!("dtype" in node)) return Object.fromEntries(Object.entries(node).map(([name, part]) => [name, unpack(part)]));
  const view = node.data;
  const types = { float64: Float64Array, float32: Float32Array, uint16: Uint16Array, uint8: Uint8Array };
  const bytes = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength); // aligned
  const values = new types[node.dtype](bytes);
  return { shape: node.shape, values, at: (...at) => values[at.reduce((sum, i, axis) => sum * node.shape[axis] + i, 0)] };
}

/** Draws a view in a page without Python: the traits are stored in the page, and changes stay in the page.
 * answers(model, live): listens to the model, and answers with the Transformer in the page; default: nobody answers. */
function openPage(build, number = "", answers = null) {
  const revive = (name, part) => (part && typeof part.base64 === "string" ? fromBase64(part.base64) : part);
  const state = JSON.parse(document.getElementById(`state${number}`).textContent, revive);
  const callbacks = {};
  const model = {
    get: (name) => state[name],
    set: (name, value) => {
      if (JSON.stringify(state[name]) === JSON.stringify(value)) return;
      state[name] = value;
      (callbacks[name] || []).forEach((callback) => callback());
    },
    save_changes: () => {},
    on: (event, callback) => (callbacks[event.slice(7)] ||= []).push(callback),
    off: (event, callback) => (callbacks[event.slice(7)] = (callbacks[event.slice(7)] ?? []).filter((one) => one !== callback)),
  };
  window.model = model;
  if (answers) answers(model, pageModel());
  const el = document.getElementById(`view${number}`);
  life(build)({ model, el });
  return model;
}

/** The views of a page show the same sentence, and the same edits of the attention: what is asked in one is asked in the others. */
function together(models) {
  for (const name of ["sentence", "edits"]) {
    for (const model of models) model.on(`change:${name}`, () => models.forEach((other) => change(other, { [name]: model.get(name) })));
  }
}

/** The model whose weights stand in the page; all views of a page share it. */
const pageModel = () => (window.live ??= liveModel(JSON.parse(document.getElementById("model").textContent)));

/** Calls `answer` after a change of one of these traits; once, if several change together. */
function onQuestion(model, names, answer) {
  let due = false;
  const later = () => {
    if (!due) queueMicrotask(() => ((due = false), answer()));
    due = true;
  };
  names.forEach((name) => model.on(`change:${name}`, later));
}

const fromBase64 = (text) => new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);

// ---- Elements and texts ---------------------------------------------------------------------------------------------

/** An element: make("p", { class: "note", onclick: f }, "text", otherElement). */
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Sizes for a style: inPixels({ width: 5 }) gives { width: "5px" }. */
const inPixels = (sizes) => Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, `${size}px`]));

/** A text of the learner inside a sentence; a script that runs from right to left does not reorder the sentence. */
const token = (text) => make("bdi", { class: "token" }, text);

/** A text in one line. */
const oneLine = (text) => text.replaceAll("\n", "⏎").replaceAll("\t", "⇥");

/** The first letters of a text. */
const shortened = (text, most) => [...oneLine(text)].map((letter, i) => (i < most ? letter : i === most ? "…" : "")).join("");

/** Replaces a text; a screen reader does not repeat the same text. */
function tell(node, ...children) {
  const fresh = make("div", {}, ...children);
  if (node.textContent !== fresh.textContent) node.replaceChildren(fresh);
}

/** Whether a finger points, as on a phone: then no hint speaks of keys. */
const byFinger = () => window.matchMedia("(pointer: coarse)").matches;

/** The hint in `.says` while the learner points at nothing. enter: what a click or Enter does; null: nothing. */
function pointHint(at, purpose, { enter = "keeps it", steps = false } = {}) {
  const more = (enter ? `; click or Enter ${enter}.` : ".") + (steps ? " PageUp and PageDown change the step." : "");
  const text = byFinger() ? `Tap ${at} to ${purpose}.` : `Point at ${at}, or press Tab and the arrow keys, to ${purpose}${more}`;
  return make("span", { class: "faint" }, text);
}

/** The note beside a locked target; null if nothing is locked. */
const lockNote = (isLocked) => (isLocked ? make("span", { class: "faint" }, byFinger() ? " (locked: a tap frees it)" : " (locked: Escape or a click frees it)") : null);

/** A number as a text: at most 2 decimals, a true minus sign; a very large or small number as 1.2e−7. */
function number(x) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "NaN" : x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  const plain = size === 0 || (size >= 0.005 && size < 1e5);
  return (plain ? String(Number(x.toFixed(2))) : x.toExponential(1)).replaceAll("-", "−").replace("e+", "e");
}

/** "=" if `number` writes every number in full, "≈" if one is rounded. */
function relation(numbers) {
  const inFull = (x) => Math.abs(Number(number(x).replaceAll("−", "-").replace("∞", "Infinity")) - x) <= 1e-6 * Math.abs(x);
  return numbers.every((x) => !Number.isFinite(x) || inFull(x)) ? "=" : "≈";
}

/** The smallest and the largest finite number. */
function extent(...lists) {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists) {
    for (const x of list) {
      if (x < low && x !== -Infinity) low = x;
      if (x > high && x !== Infinity) high = x;
    }
  }
  return low <= high ? [low, high] : [0, 1];
}

/** Round numbers for an axis. */
function ticks(low, high, count = 6) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, i) => (first + i) * step);
}

// ---- Plots ----------------------------------------------------------------------------------------------------------

const HIDDEN_BELOW = 0.05; // a smaller weight has no number in its cell: the colour says enough, and pointing tells it

/** The plane of a plot: { x(at), y(at), marks }, the pixels of a number and the axes with round numbers. across: other
 * numbers for the x axis, and how they are written. */
function plane({ width, height, left, right, top, bottom }, [x0, x1], [y0, y1], xlabel, ylabel, across = { at: ticks(x0, x1), write: number }) {
  const x = (at) => left + ((at - x0) / (x1 - x0)) * (width - left - right);
  const y = (at) => height - bottom - ((at - y0) / (y1 - y0)) * (height - top - bottom);
  const marks = [
    ...across.at.map((at) => draw("text", { x: x(at), y: height - bottom + 16, "text-anchor": "middle" }, across.write(at))),
    ...ticks(y0, y1).map((at) => draw("text", { x: left - 6, y: y(at) + 4, "text-anchor": "end" }, number(at))),
    axisName({ x: (width + left) / 2, y: height - 2, "text-anchor": "middle" }, xlabel, width - left),
    axisName({ x: left + 8, y: top + 8 }, ylabel, width - left - 8),
    draw("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
  ];
  return { x, y, marks };
}

/** The name of an axis, cut if it is too long; the tooltip has the whole name. */
function axisName(attributes, text, room) {
  let letters = [...oneLine(text)].slice(0, 120);
  while (letters.length && widthOf(letters.join("")) > room) letters = letters.slice(0, -1);
  const short = letters.join("");
  return draw("text", attributes, short === oneLine(text) ? short : `${short.slice(0, -1)}…`, draw("title", {}, text));
}

/** The interval, made a little wider at both ends. */
const spread = ([low, high]) => [low - 0.04 * (high - low || 1), high + 0.04 * (high - low || 1)];

/** An SVG path through places; null breaks it. */
function path(places) {
  return places.map((place, i) => place && `${places[i - 1] ? "L" : "M"}${place[0].toFixed(1)} ${place[1].toFixed(1)}`).filter(Boolean).join("");
}

// ---- The parts of a view --------------------------------------------------------------------------------------------

/** The width for the panels, in pixels; before root is in the page, a wide page is assumed. */
const roomIn = (root) => Math.max((root.clientWidth || 900) - 20, 200);

/** The parts of a view, in the same order in all views. label: the name of the region. controls: for each group its name
 * and its nodes; an empty group is left out. intro: the texts above the panels. says: the texts about what the learner
 * points at; they stand below the panels, or `above` them. */
function layOut(root, label, { controls, intro = [], panels, legend, says, above = false }) {
  const rows = Object.entries(controls).map(([name, nodes]) => [name, nodes.filter(Boolean)]);
  const groups = rows.filter(([, nodes]) => nodes.length).map(([name, nodes]) =>
    make("div", { class: "controls", role: "group", "aria-label": name }, ...nodes));
  const live = make("div", { class: "says", "aria-live": "polite" }, ...says);
  fill(root, { role: "region", "aria-label": label }, [...groups, ...intro, ...(above ? [live, panels, legend] : [panels, legend, live])]);
}

/** The meaning of the marks: legendOf([node, "text"], ...); null is left out. */
function legendOf(...entries) {
  return make("div", { class: "legend" }, ...entries.filter(Boolean).map(([node, text]) => make("span", {}, node, text)));
}

/** Marks for a legend: something of a plot, by its class; masked cells; a frame around cells. */
const dotSign = (name) => draw("svg", { class: "plot", width: 14, height: 12, "aria-hidden": "true" }, draw("circle", { class: name, cx: 7, cy: 6, r: 4 }));
const lineSign = (name) => draw("svg", { class: "plot", width: 26, height: 12, "aria-hidden": "true" }, draw("path", { class: name, d: "M0 6H26" }));
const maskedSign = () => make("span", { class: "hatched", "aria-hidden": "true" });
const frameSign = (strong) => make("span", { class: strong ? "framed strong" : "framed", "aria-hidden": "true" });

// ---- Controls -------------------------------------------------------------------------------------------------------

/** A slider over a list: slider({ label, texts, choose: (index) => ... }) gives { node, set(index, otherTexts) }. */
function slider({ label, texts, choose }) {
  const input = make("input", { type: "range", min: 0, step: 1, "aria-label": label });
  const output = make("output", {});
  const set = (index, list = texts) => {
    texts = list;
    input.max = texts.length - 1;
    input.value = index;
    input.setAttribute("aria-valuetext", texts[index]);
    output.textContent = texts[index];
  };
  set(0);
  input.addEventListener("input", () => choose(Number(input.value)));
  return { node: make("label", { class: "control" }, label, input, output), set };
}

/** Controls for steps: two buttons, PageUp and PageDown and, if `slides`, a slider; otherwise the text of the step.
 * stepper(root, { texts, choose: (step) => ..., slides }) gives { nodes, go(step), set(step, otherTexts) }. */
function stepper(root, { texts, choose, slides = false }) {
  let now = 0;
  const go = (step) => choose(Math.min(Math.max(step, 0), texts.length - 1));
  const button = (label, text, by) => make("button", { type: "button", "aria-label": label, onclick: () => go(now + by) }, text);
  const [previous, next] = [button("previous step", "◀ Previous", -1), button("next step", "Next ▶", 1)];
  const track = slides ? slider({ label: "step", texts, choose: go }) : null;
  const where = make("span", { class: "where", role: "status" });
  root.onkeydown = (event) => {
    const arrows = event.target === previous || event.target === next ? { ArrowRight: 1, ArrowLeft: -1 } : {};
    const by = { PageDown: 1, PageUp: -1, ...arrows }[event.key];
    if (!by) return;
    go(now + by);
    event.preventDefault();
  };
  return {
    nodes: [previous, next, track ? track.node : where],
    go,
    set(step, list = texts) {
      [now, texts] = [step, list];
      const ends = [step === 0, step === texts.length - 1];
      const focused = [previous, next].indexOf(root.getRootNode().activeElement);
      if (ends[focused] && !ends[1 - focused]) [next, previous][focused].focus(); // a disabled button gets no keys
      [previous.disabled, next.disabled] = ends;
      if (track) track.set(step, texts);
      else where.textContent = texts[step];
    },
  };
}

/** Makes buttons one stop of the Tab key: the arrow keys, Home and End go from one to the next. */
function roving(group, buttons) {
  const go = (index) => {
    const at = Math.min(Math.max(index, 0), buttons.length - 1);
    buttons.forEach((button, i) => (button.tabIndex = i === at ? 0 : -1));
    return buttons[at];
  };
  if (buttons.length) go(0);
  group.addEventListener("focusin", (event) => buttons.includes(event.target) && go(buttons.indexOf(event.target)));
  group.addEventListener("keydown", (event) => {
    const now = buttons.indexOf(event.target);
    const to = { ArrowLeft: now - 1, ArrowUp: now - 1, ArrowRight: now + 1, ArrowDown: now + 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (now < 0 || to === undefined) return;
    go(to).focus();
    event.preventDefault();
  });
}

/** A choice of one text: gives { node, set(text) }. names: what the learner reads for each text. */
function choice({ label, texts, names = texts, choose }) {
  const select = make("select", { "aria-label": label }, ...texts.map((text, i) => make("option", { value: text }, names[i])));
  select.addEventListener("change", () => choose(select.value));
  return { node: make("label", { class: "control" }, label, select), set: (text) => (select.value = text) };
}
