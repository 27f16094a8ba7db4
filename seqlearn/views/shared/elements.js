// What all views share. Texts of the learner get into the page as text nodes only, never as HTML.

/** @import { Attributes, Child, Extent } from "./types.js" */

// ---- Elements and texts ---------------------------------------------------------------------------------------------

/** An element: make("p", { class: "note", onclick: f }, "text", otherElement).
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} attributes
 * @param {...Child} children
 */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} attributes
 * @param {...Child} children
 */
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/**
 * @template {Element} E
 * @param {E} node
 * @param {Attributes} attributes
 * @param {Child[]} children
 */
export function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Sizes for a style: inPixels({ width: 5 }) gives { width: "5px" }.
 * @param {Record<string, number>} sizes
 */
export const inPixels = (sizes) => Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, `${size}px`]));

/** A text of the learner inside a sentence; a script that runs from right to left does not reorder the sentence.
 * @param {string} text
 */
export const token = (text) => make("bdi", { class: "token" }, text);

/** A text in one line.
 * @param {string} text
 */
export const oneLine = (text) => text.replaceAll("\n", "⏎").replaceAll("\t", "⇥");

/** The first letters of a text.
 * @param {string} text
 * @param {number} most
 */
export const shortened = (text, most) =>
  [...oneLine(text)].map((letter, i) => (i < most ? letter : i === most ? "…" : "")).join("");

/** Replaces a text; a screen reader does not repeat the same text.
 * @param {Element} node
 * @param {...Child} children
 */
export function tell(node, ...children) {
  const fresh = make("div", {}, ...children);
  if (node.textContent !== fresh.textContent) node.replaceChildren(fresh);
}

/** Whether a finger points, as on a phone: then no hint speaks of keys. */
export const byFinger = () => window.matchMedia("(pointer: coarse)").matches;

/** The hint in `.says` while the learner points at nothing. enter: what a click or Enter does; null: nothing.
 * @param {string} at
 * @param {string} purpose
 * @param {{ enter?: string | null, steps?: boolean }} options
 */
export function pointHint(at, purpose, { enter = "keeps it", steps = false } = {}) {
  const more = (enter ? `; click or Enter ${enter}.` : ".") + (steps ? " PageUp and PageDown change the step." : "");
  const text = byFinger()
    ? `Tap ${at} to ${purpose}.`
    : `Point at ${at}, or press Tab and the arrow keys, to ${purpose}${more}`;
  return make("span", { class: "faint" }, text);
}

/** The note beside a locked target; null if nothing is locked.
 * @param {boolean} isLocked
 */
export const lockNote = (isLocked) =>
  isLocked
    ? make("span", { class: "faint" }, byFinger() ? " (kept: a tap frees it)" : " (kept: Escape or a click frees it)")
    : null;

/** A number as a text: at most 2 decimals, a true minus sign; a very large or small number as 1.2e−7.
 * @param {number} x
 */
export function number(x) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "NaN" : x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  const plain = size === 0 || (size >= 0.005 && size < 1e5);
  return (plain ? String(Number(x.toFixed(2))) : x.toExponential(1)).replaceAll("-", "−").replace("e+", "e");
}

/** "=" if `number` writes every number in full, "≈" if one is rounded.
 * @param {number[]} numbers
 */
export function relation(numbers) {
  const inFull = (/** @type {number} */ x) =>
    Math.abs(Number(number(x).replaceAll("−", "-").replace("∞", "Infinity")) - x) <= 1e-6 * Math.abs(x);
  return numbers.every((x) => !Number.isFinite(x) || inFull(x)) ? "=" : "≈";
}

/** The smallest and the largest finite number.
 * @param {...Iterable<number>} lists
 * @returns {Extent}
 */
export function extent(...lists) {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists) {
    for (const x of list) {
      if (x < low && x !== -Infinity) low = x;
      if (x > high && x !== Infinity) high = x;
    }
  }
  return low <= high ? [low, high] : [0, 1];
}

/** Round numbers for an axis.
 * @param {number} low
 * @param {number} high
 */
export function ticks(low, high, count = 6) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= raw) ?? 10);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, i) => (first + i) * step);
}

// ---- The parts of a view --------------------------------------------------------------------------------------------

/** The width for the panels, in pixels; before root is in the page, a wide page is assumed.
 * @param {Element} root
 */
export const roomIn = (root) => Math.max((root.clientWidth || 900) - 20, 200);

/** The parts of a view, in the same order in all views.
 *
 * controls: for each group its name and its nodes; an empty group is left out. intro: the texts above the panels.
 * says: the texts about what the learner points at; they stand below the panels, or `above` them.
 * @param {HTMLElement} root
 * @param {string} label the name of the region
 * @param {{
 *   controls: Record<string, (Node | null | false | undefined)[]>,
 *   intro?: Child[],
 *   panels: Child,
 *   legend: Child,
 *   says: Child[],
 *   above?: boolean,
 * }} parts
 */
export function layOut(root, label, { controls, intro = [], panels, legend, says, above = false }) {
  const groups = Object.entries(controls)
    .map(([name, nodes]) => ({ name, nodes: nodes.filter((node) => !!node) }))
    .filter(({ nodes }) => nodes.length)
    .map(({ name, nodes }) => make("div", { class: "controls", role: "group", "aria-label": name }, ...nodes));
  const live = make("div", { class: "says", "aria-live": "polite" }, ...says);
  fill(root, { role: "region", "aria-label": label }, [
    ...groups,
    ...intro,
    ...(above ? [live, panels, legend] : [panels, legend, live]),
  ]);
}

/** The meaning of the marks: legendOf([node, "text"], ...); null is left out.
 * @param {...([Child, string] | null | false)} entries
 */
export function legendOf(...entries) {
  return make(
    "div",
    { class: "legend" },
    ...entries.filter((entry) => !!entry).map(([node, text]) => make("span", {}, node, text)),
  );
}

/** Marks for a legend: something of a plot, by its class; masked cells; a frame around cells.
 * @param {string} name
 */
export const dotSign = (name) =>
  draw(
    "svg",
    { class: "plot", width: 14, height: 12, "aria-hidden": "true" },
    draw("circle", { class: name, cx: 7, cy: 6, r: 4 }),
  );
/** @param {string} name */
export const lineSign = (name) =>
  draw(
    "svg",
    { class: "plot", width: 26, height: 12, "aria-hidden": "true" },
    draw("path", { class: name, d: "M0 6H26" }),
  );
export const maskedSign = () => make("span", { class: "hatched", "aria-hidden": "true" });
export const frameSign = (strong = false) =>
  make("span", { class: strong ? "framed strong" : "framed", "aria-hidden": "true" });

// ---- Controls -------------------------------------------------------------------------------------------------------

/** A slider over a list: slider({ label, texts, choose: (index) => ... }) gives { node, set(index, otherTexts) }.
 * @param {{ label: string, texts: string[], choose: (index: number) => void }} options
 */
export function slider({ label, texts, choose }) {
  const input = make("input", { type: "range", min: 0, step: 1, "aria-label": label });
  const output = make("output", {});
  const set = (/** @type {number} */ index, list = texts) => {
    texts = list;
    input.max = String(texts.length - 1);
    input.value = String(index);
    input.setAttribute("aria-valuetext", texts[index]);
    output.textContent = texts[index];
  };
  set(0);
  input.addEventListener("input", () => choose(Number(input.value)));
  return { node: make("label", { class: "control" }, label, input, output), set };
}

/** Controls for steps: two buttons, PageUp and PageDown and, if `slides`, a slider; otherwise the text of the step.
 * stepper(root, { texts, choose: (step) => ..., slides }) gives { nodes, go(step), set(step, otherTexts) }.
 * @param {HTMLElement} root
 * @param {{ texts: string[], choose: (step: number) => void, slides?: boolean }} options
 */
export function stepper(root, { texts, choose, slides = false }) {
  let now = 0;
  const go = (/** @type {number} */ step) => {
    const to = Math.min(Math.max(step, 0), texts.length - 1);
    if (to !== now) choose(to);
  };
  const button = (/** @type {string} */ label, /** @type {string} */ text, /** @type {number} */ by) =>
    make("button", { type: "button", "aria-label": label, onclick: () => go(now + by) }, text);
  const [previous, next] = [button("previous step", "◀ Previous", -1), button("next step", "Next ▶", 1)];
  const track = slides ? slider({ label: "step", texts, choose: go }) : null;
  const where = make("span", { class: "where", role: "status" });
  root.onkeydown = (event) => {
    if (/** @type {Element} */ (event.target).closest(".linking")) return; // below the view: the page scrolls
    const onButton = event.target === previous || event.target === next;
    /** @type {Record<string, number>} */
    const moves = onButton ? { PageDown: 1, PageUp: -1, ArrowRight: 1, ArrowLeft: -1 } : { PageDown: 1, PageUp: -1 };
    const by = moves[event.key];
    if (!by) return;
    go(now + by);
    event.preventDefault();
  };
  return {
    nodes: [previous, next, track ? track.node : where],
    go,
    set(/** @type {number} */ step, list = texts) {
      now = step;
      texts = list;
      for (const [button, end] of /** @type {const} */ ([
        [previous, 0],
        [next, texts.length - 1],
      ])) {
        button.setAttribute("aria-disabled", `${step === end}`); // it keeps the focus of the keyboard
        button.tabIndex = step === end ? -1 : 0;
      }
      if (track) track.set(step, texts);
      else where.textContent = texts[step];
    },
  };
}

/** The element with the focus of the keyboard, in the document, or the shadow root, of a node.
 * @param {Node} node
 */
export const focusIn = (node) => /** @type {Document | ShadowRoot} */ (node.getRootNode()).activeElement;

/** Makes buttons one stop of the Tab key: the arrow keys, Home and End go from one to the next.
 * @param {HTMLElement} group
 * @param {HTMLElement[]} buttons
 */
export function roving(group, buttons) {
  const go = (/** @type {number} */ index) => {
    const at = Math.min(Math.max(index, 0), buttons.length - 1);
    for (const [i, button] of buttons.entries()) button.tabIndex = i === at ? 0 : -1;
    return buttons[at];
  };
  const indexOf = (/** @type {Event} */ { target }) => buttons.indexOf(/** @type {HTMLElement} */ (target));
  if (buttons.length) go(0);
  group.addEventListener("focusin", (event) => indexOf(event) >= 0 && go(indexOf(event)));
  group.addEventListener("keydown", (event) => {
    const now = indexOf(event);
    if (event.target instanceof HTMLInputElement) return; // the keys belong to what is typed
    if (event.key === " " && buttons[now]?.getAttribute("role") === "option") event.preventDefault(); // no scrolling
    /** @type {Record<string, number>} */
    const moves = {
      ArrowLeft: now - 1,
      ArrowUp: now - 1,
      ArrowRight: now + 1,
      ArrowDown: now + 1,
      Home: 0,
      End: buttons.length - 1,
    };
    const to = moves[event.key];
    if (now < 0 || to === undefined) return;
    go(to).focus();
    event.preventDefault();
  });
}

/** A choice of one text: gives { node, set(text) }. names: what the learner reads for each text.
 * @template {string} T
 * @param {{ label: string, texts: T[], names?: string[], choose: (text: T) => void }} options
 */
export function choice({ label, texts, names = texts, choose }) {
  const select = make(
    "select",
    { "aria-label": label },
    ...texts.map((text, i) => make("option", { value: text }, names[i])),
  );
  select.addEventListener("change", () => choose(texts[select.selectedIndex]));
  const set = (/** @type {string} */ text) => {
    select.value = text;
  };
  return { node: make("label", { class: "control" }, label, select), set };
}

/** Buttons of which one is chosen: gives { node, buttons, set(text) }. They are one stop of the Tab key, and the arrow
 * keys choose.
 * @template {string} T
 * @param {{ label: string, texts: T[], names?: string[], choose: (text: T) => void }} options
 */
export function radios({ label, texts, names = texts, choose }) {
  const buttons = texts.map((text, i) => {
    const pick = () => choose(text);
    const named = { "aria-label": names[i], role: "radio" };
    return make("button", { type: "button", ...named, onclick: pick, onfocus: pick }, names[i]);
  });
  const node = make("div", { role: "radiogroup", "aria-label": label }, ...buttons);
  roving(node, buttons);
  const set = (/** @type {string} */ chosen) => {
    for (const [i, button] of buttons.entries()) {
      button.setAttribute("aria-checked", String(texts[i] === chosen));
      button.tabIndex = texts[i] === chosen ? 0 : -1;
    }
  };
  return { node, buttons, set };
}

/** Names the words that a model never saw.
 * @param {string[]} unknown
 * @returns {Child[]}
 */
export function unknownText(unknown) {
  const [was, is] = unknown.length > 1 ? ["were", "they are"] : ["was", "it is"];
  const names = unknown.flatMap((text, i) => [i ? ", “" : "“", token(text), "”"]);
  return [...names, ` ${was} never seen in training; ${is} read as <unk>.`];
}
