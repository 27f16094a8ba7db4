// What all views share. Texts of the learner get into the page as text nodes only, never as HTML.

// ---- Life of a view -------------------------------------------------------------------------------------------------

/** What anywidget calls. `build(model, root, record)` draws everything below root, once for each record, and returns
 * what to do when a trait changes, by its name: { step: () => ..., locked: () => ... }. Each is called once at first.
 * One name is no trait: `resized`, for when root gets another width (at first it may have none). */
function life(build) {
  return ({ model, el }) => {
    const root = make("div", { class: "seqlearn" });
    root.addEventListener("keydown", (event) => {
      // A key without Ctrl, Alt or Command is ours: for a notebook, "b" is a new cell and "dd" deletes one.
      if (!event.ctrlKey && !event.altKey && !event.metaKey) event.stopPropagation();
    });
    let react = {};
    const changed = (name) => () => react[name] && react[name]();
    const rebuild = () => {
      react = {};
      root.replaceChildren();
      const reactions = build(model, root, unpack(model.get("record")));
      for (const name of Object.keys(reactions)) {
        if (!listened.has(name)) listen(name, changed(name));
      }
      react = reactions;
      Object.values(react).forEach((reaction) => reaction());
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
    el.append(root);
    listen("record", rebuild);
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

/** The record with typed arrays in place of bytes: { shape, values, at(i, j, ...) }. */
function unpack(node) {
  if (Array.isArray(node)) return node.map(unpack);
  if (node === null || typeof node !== "object") return node;
  if (!("dtype" in node)) return Object.fromEntries(Object.entries(node).map(([name, part]) => [name, unpack(part)]));
  const view = node.data;
  const types = { float32: Float32Array, uint16: Uint16Array, uint8: Uint8Array };
  const bytes = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength); // aligned
  const values = new types[node.dtype](bytes);
  return { shape: node.shape, values, at: (...at) => values[at.reduce((sum, i, axis) => sum * node.shape[axis] + i, 0)] };
}

/** A page of its own: the record lies in the page, and nobody listens but the page. */
function openPage(build) {
  const revive = (name, part) => (part && typeof part.base64 === "string" ? fromBase64(part.base64) : part);
  const state = JSON.parse(document.getElementById("state").textContent, revive);
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
    off: () => {},
  };
  window.model = model;
  life(build)({ model, el: document.getElementById("view") });
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

/** A text of the learner inside a sentence: whichever way its script runs, the sentence keeps its order. */
const token = (text) => make("bdi", { class: "token" }, text);

/** A number to read: 2 decimals at most, a true minus sign; very large and very small ones as 1.2e−7. */
function number(x) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "NaN" : x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  const plain = size === 0 || (size >= 0.005 && size < 1e5);
  return (plain ? String(Number(x.toFixed(2))) : x.toExponential(1)).replaceAll("-", "−").replace("e+", "e");
}

/** "=" where every number is written in full, "≈" where one was rounded. */
function relation(numbers) {
  const inFull = (x) => Math.abs(Number(number(x).replaceAll("−", "-").replace("∞", "Infinity")) - x) <= 1e-6 * Math.abs(x);
  return numbers.every((x) => !Number.isFinite(x) || inFull(x)) ? "=" : "≈";
}

/** Smallest and largest finite number. */
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

/** The plane of a plot: where x and y stand, and its axes with round numbers, as { x(at), y(at), marks }. */
function plane({ width, height, left, right, top, bottom }, [x0, x1], [y0, y1], xlabel, ylabel) {
  const x = (at) => left + ((at - x0) / (x1 - x0)) * (width - left - right);
  const y = (at) => height - bottom - ((at - y0) / (y1 - y0)) * (height - top - bottom);
  const marks = [
    ...ticks(x0, x1).map((at) => draw("text", { x: x(at), y: height - bottom + 16, "text-anchor": "middle" }, number(at))),
    ...ticks(y0, y1).map((at) => draw("text", { x: left - 6, y: y(at) + 4, "text-anchor": "end" }, number(at))),
    draw("text", { x: (width + left) / 2, y: height - 2, "text-anchor": "middle" }, xlabel),
    draw("text", { x: left + 8, y: top + 8 }, ylabel),
    draw("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
  ];
  return { x, y, marks };
}

/** An interval, a little wider. */
const spread = ([low, high]) => [low - 0.04 * (high - low || 1), high + 0.04 * (high - low || 1)];

/** An SVG path through places; null breaks it. */
function path(places) {
  return places.map((place, i) => place && `${places[i - 1] ? "L" : "M"}${place[0].toFixed(1)} ${place[1].toFixed(1)}`).filter(Boolean).join("");
}

// ---- Controls -------------------------------------------------------------------------------------------------------

/** A slider over a list: slider({ label, texts, at, choose: (index) => ... }) gives { node, set(index) }. */
function slider({ label, texts, choose }) {
  const input = make("input", { type: "range", min: 0, max: texts.length - 1, step: 1, "aria-label": label });
  const output = make("output", {});
  const set = (index) => {
    input.value = index;
    input.setAttribute("aria-valuetext", texts[index]);
    output.textContent = texts[index];
  };
  input.addEventListener("input", () => choose(Number(input.value)));
  return { node: make("label", { class: "control" }, label, input, output), set };
}

/** A choice of one text: gives { node, set(text) }. */
function choice({ label, texts, choose }) {
  const select = make("select", { "aria-label": label }, ...texts.map((text) => make("option", { value: text }, text)));
  select.addEventListener("change", () => choose(select.value));
  return { node: make("label", { class: "control" }, label, select), set: (text) => (select.value = text) };
}
