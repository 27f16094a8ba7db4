// The life of a view: it is drawn from its data, follows its traits, and asks questions.

import { questionOf, questionsOf } from "./asking.js";
import { Echo, echoing } from "./echo.js";
import { focusIn, make } from "./elements.js";
import { onTheme } from "./theme.js";

/** @import { Build, Model, Reactions, Tensor, Traits } from "./types.js" */

/** @typedef {Model<Record<string, unknown>>} AnyModel whatever its traits are */

/** The render function for anywidget. `build(model, root, data)` draws all of `data` below `root` and returns a
 * function for each trait that may change: { step: () => ..., locked: () => ... }. Each function is called once at
 * first, and after every change: once, if it serves several traits that change together. `resized` is no trait: this
 * function is called when `root` gets another width (a view that is not yet in the page has no width), or the page
 * another theme. echo: see echo.js; while `echo.waits`, the view is `aria-busy`. frame: what stands at the top and at
 * the end of a view in a page.
 * @template {Traits} T
 * @template D
 * @param {Build<T, D>} build
 * @param {{ top: Node, end: Node } | null} frame
 */
export function life(build, frame = null) {
  return (/** @type {{ model: Model<T>, el: HTMLElement }} */ { model, el }) => {
    const root = make("div", { class: "seqlearn" });
    root.addEventListener("keydown", (event) => {
      // Without Ctrl, Alt or Command a key belongs to the view: in a notebook "b" makes a cell and "dd" deletes one.
      if (!event.ctrlKey && !event.altKey && !event.metaKey) event.stopPropagation();
    });
    /** @type {Reactions} */
    let react = {};
    const resized = () => react.resized?.();
    const echo = new Echo(root);
    const echoAnew = echoing(root, echo);
    let late = false; // new data came while a word was being typed: nobody takes the word away
    const rebuild = () => {
      late = Boolean(root.querySelector("input.chip"));
      if (late) return false;
      react = {};
      const focus = focusOf(root);
      root.style.minHeight = `${root.offsetHeight}px`; // so that the page does not scroll meanwhile
      root.replaceChildren();
      react = {
        ...build(model, root, unpack(model.get("data")), echo),
        told: () => drawTold(/** @type {AnyModel} */ (model), root),
      };
      for (const name of Object.keys(react)) {
        if (!listened.has(name)) listen(name);
      }
      for (const reaction of new Set(Object.values(react))) reaction();
      if (frame) root.prepend(frame.top);
      if (frame) root.append(frame.end);
      echoAnew();
      focus();
      root.style.minHeight = "";
      return true;
    };
    /** @type {Set<string>} */
    const changed = new Set(); // traits, since the view was drawn
    const draw = () => {
      const names = [...changed];
      changed.clear();
      if (names.includes("data") && rebuild()) return;
      for (const reaction of new Set(names.map((name) => react[name]))) reaction?.();
    };
    /** @type {Map<string, () => void>} */
    const listened = new Map();
    const listen = (/** @type {string} */ name) => {
      const callback = () => {
        changed.add(name);
        drawSoon(model, draw);
      };
      listened.set(name, callback);
      model.on(`change:${name}`, callback);
    };
    let width = 0;
    const observer = new ResizeObserver(() => {
      if (root.clientWidth && root.clientWidth !== width) resized();
      width = root.clientWidth;
    });
    root.addEventListener("typed", () => late && rebuild());
    el.append(root);
    listen("data");
    rebuild();
    observer.observe(root);
    const endTheme = onTheme(resized);
    return () => {
      changed.clear();
      observer.disconnect();
      endTheme();
      for (const [name, callback] of listened) model.off(`change:${name}`, callback);
    };
  };
}

/** What draws the views of a model whose traits have changed.
 * @type {WeakMap<object, Set<() => void>>} */
const DUE = new WeakMap();

/** Draws a view at the end of `change`; after what changed elsewhere, as in Python, before anything else happens.
 * @param {object} model
 * @param {() => void} draw
 */
function drawSoon(model, draw) {
  const due = DUE.get(model) ?? new Set();
  DUE.set(model, due.add(draw));
  queueMicrotask(() => drawDue(model));
}

/** @param {object} model */
function drawDue(model) {
  const due = DUE.get(model) ?? new Set();
  for (const draw of due) {
    due.delete(draw);
    draw();
  }
}

/** Change traits here and in Python. What changes together is drawn once.
 * @template T
 * @param {Model<T>} model
 * @param {Partial<T>} values
 */
export function change(model, values) {
  for (const name of /** @type {(string & keyof T)[]} */ (Object.keys(values))) {
    model.set(name, /** @type {T[typeof name]} */ (values[name]));
  }
  drawDue(model);
  model.save_changes();
}

/** Keys of a view: Escape frees what is kept, wherever the focus is, but in a box that is typed in.
 * @template {null | never[]} N
 * @param {Model<Traits & { locked: unknown[] | N }>} model
 * @param {N} none what `locked` is then
 * @param {((event: KeyboardEvent) => unknown) | null} others what the view does with other keys
 * @returns {(event: KeyboardEvent) => void}
 */
export const freeing = (model, none, others) => (event) => {
  others?.(event);
  const isTyped = /** @type {Element} */ (event.target).matches(TYPED);
  if (event.key !== "Escape" || event.defaultPrevented || isTyped || !model.get("locked")?.length) return;
  event.preventDefault();
  change(model, /** @type {{ locked: unknown[] | N }} */ ({ locked: none }));
};

const TYPED = "input:not([type='checkbox'], [type='range']), textarea";

/** A function that gives the focus of the keyboard to the control of the same name, after the view was built anew; or
 * to the one in its place, if the control has another name now.
 * @param {HTMLElement} root
 */
function focusOf(root) {
  const controls = () => {
    /** @type {NodeListOf<HTMLElement>} */
    const found = root.querySelectorAll("button, input, select, summary, [tabindex]");
    return [...found];
  };
  const name = (/** @type {Element} */ node) => node.getAttribute("aria-label") ?? node.textContent;
  const active = focusIn(root);
  if (!active || !root.contains(active)) return () => {};
  const [before, place] = [name(active), controls().indexOf(/** @type {HTMLElement} */ (active))];
  const focusVisible = active.matches(":focus-visible"); // not after a tap
  return () => {
    const there = controls()[place];
    const same = there && name(there) === before ? there : controls().find((node) => name(node) === before);
    (same ?? there)?.focus({ focusVisible });
  };
}

/** The text above a view; a click on some of its words sets traits.
 * @param {AnyModel} model
 * @param {HTMLElement} root
 */
function drawTold(model, root) {
  root.querySelector(".told")?.remove();
  const pieces = /** @type {Traits["told"] | undefined} */ (model.get("told")) ?? [];
  if (!pieces.length) return;
  const seen = () => {
    const [word, mark] = [".told", ".panels .looks .on, .panels .frame"].map((name) => root.querySelector(name));
    if (!word || !mark) return;
    const height = mark.getBoundingClientRect().bottom - word.getBoundingClientRect().top;
    const fits = height < Math.min(window.innerHeight, window.screen.height); // a frame may be higher than the screen
    if (fits) mark.scrollIntoView({ block: "nearest" });
  };
  root.prepend(
    make(
      "p",
      { class: "told" },
      ...pieces.map(([text, traits]) =>
        traits
          ? make("button", { type: "button", class: "word", onclick: () => ask(model, traits, seen) }, text)
          : text,
      ),
    ),
  );
}

/** Sets traits. If they ask a new question, the marks among them are set when the answer is there: they may not fit
 * before.
 * @param {AnyModel} model
 * @param {Record<string, unknown>} traits
 * @param {() => void} seen brings what is marked onto the screen
 */
function ask(model, traits, seen) {
  const same = (/** @type {string} */ name) => JSON.stringify(model.get(name)) === JSON.stringify(traits[name]);
  const question = (questionsOf(model).result?.parts ?? []).filter((name) => name in traits);
  const mark = (/** @type {Record<string, unknown>} */ values) => {
    change(model, values);
    if (values.locked || values.patches) seen();
  };
  if (!questionOf(model) || question.every(same)) return mark(traits);
  const marks = Object.fromEntries(Object.entries(traits).filter(([name]) => name === "step" || name === "locked"));
  const answered = () => {
    model.off("change:result", answered);
    queueMicrotask(() => question.every(same) && mark(marks)); // unless another question was asked meanwhile
  };
  model.on("change:result", answered);
  mark(Object.fromEntries(Object.entries(traits).filter(([name]) => !(name in marks))));
}

const TYPES = { float64: Float64Array, float32: Float32Array, uint16: Uint16Array, uint8: Uint8Array };

/** The data, with a typed array for each tensor: { shape, values, at(i, j, ...) }.
 * @template T what the data are then
 * @param {unknown} node
 * @returns {T}
 */
export function unpack(node) {
  return /** @type {T} */ (unpacked(node));
}

/** @type {(node: unknown) => unknown} */
function unpacked(node) {
  if (Array.isArray(node)) return node.map(unpacked);
  if (node === null || typeof node !== "object") return node;
  if ("dtype" in node) return tensorOf(/** @type {Packed} */ (node));
  return Object.fromEntries(Object.entries(node).map(([name, part]) => [name, unpacked(part)]));
}

/** What `pack` in packing.py makes of a tensor.
 * @typedef {{ dtype: keyof typeof TYPES, shape: number[], data: DataView<ArrayBuffer> }} Packed
 */

/** @type {(packed: Packed) => Tensor} */
function tensorOf({ dtype, shape, data }) {
  const values = new TYPES[dtype](data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength)); // aligned
  return { shape, values, at: (...at) => values[at.reduce((sum, i, axis) => sum * shape[axis] + i, 0)] };
}

/** Calls `answer` after a change of one of these traits; once, if several change together.
 * @template T
 * @param {Model<T>} model
 * @param {string[]} names
 * @param {() => void} answer
 */
export function onQuestion(model, names, answer) {
  let due = false;
  const later = () => {
    if (due) return;
    due = true;
    queueMicrotask(() => {
      due = false;
      answer();
    });
  };
  for (const name of names) model.on(`change:${name}`, later);
}
