// A link that keeps the state of a view: the traits that differ from those of the page stand in its address, after #,
// as view=BeamView&width=2&step=1&link=1. What is read there is data of a stranger: `STATES` in link_states.js checks
// it.

import { make } from "./elements.js";
import { change } from "./life.js";
import { MOST_TEXT, STATES, answerIn } from "./link_states.js";
import { pngOf, save, svgOf } from "./picture.js";

/** @import { AnyModel } from "./life.js" */
/** @import { Get, States } from "./link_states.js" */

/** view: the name of the class. id: the name of this view in its page, which stays. live: whether somebody answers
 * questions. css: the styles of the page.
 * @typedef {{ view: string, id: string, live: boolean, css: string }} Named */
/** @typedef {Record<string, unknown>} Values of traits */

const VERSION = "1";
const MOST = 8000; // characters of a link
const CHANGES = ["prefix", "edits", "patches"]; // of a question: what stood there without them is compared with them
const AS_IT_IS = ", so the page opens as it is.";
const DAMAGED = `This link is damaged${AS_IT_IS}`;
const OTHER_VERSION = `This link is from another version of the page${AS_IT_IS}`;

const same = (/** @type {unknown} */ a, /** @type {unknown} */ b) => JSON.stringify(a) === JSON.stringify(b);

/** What is written in JSON; undefined if it is none.
 * @param {string} written
 * @returns {unknown} */
function parsed(written) {
  try {
    return JSON.parse(written);
  } catch {
    return undefined;
  }
}

/** A list whose length is still that of its start is written with null for each part that is as it was.
 * @param {unknown} value @param {unknown} start @param {(now: unknown, before: unknown) => unknown} join */
const paired = (value, start, join) =>
  Array.isArray(value) && Array.isArray(start) && value.length === start.length
    ? value.map((now, i) => join(now, start[i]))
    : value;
const onlyNew = (/** @type {unknown} */ now, /** @type {unknown} */ before) => (same(now, before) ? null : now);
const orOld = (/** @type {unknown} */ now, /** @type {unknown} */ before) => now ?? before;

/** The link of one view, and what the view shows of it: a line at its top if a link could not be opened, and the
 * buttons at its end. */
export class Link {
  /** @param {AnyModel} model @param {Named} named */
  constructor(model, { view, id, live, css }) {
    this.model = model;
    /** @type {Get} */
    this.get = (name) => model.get(name);
    this.id = id;
    this.css = css;
    /** @type {States} */
    this.states = Object.hasOwn(STATES, view) ? STATES[view] : { checks: {} };
    const { asks = [], needs = asks, checks } = this.states;
    const here = Object.keys(checks).filter((name) => model.get(name) !== undefined);
    this.names = here.filter((name) => live || !needs.includes(name));
    this.asks = live ? asks.filter((name) => this.names.includes(name)) : [];
    /** @type {Values} */
    this.start = this.now();
    this.turn = 0; // counts the links that were opened
    /** Where the link is kept: gives the whole address. A frame has it in the page around it.
     * @type {(link: string) => string} */
    this.keep = keepHere;
    this.top = make("p", { class: "linked", "aria-live": "polite", hidden: true });
    this.end = buttons(this);
  }

  /** @returns {Values} */
  now(names = this.names) {
    return Object.fromEntries(names.map((name) => [name, this.model.get(name)]));
  }

  /** The link to what is shown now. */
  write() {
    const params = new URLSearchParams({ view: this.id });
    for (const [name, value] of Object.entries(this.now())) {
      const isText = typeof this.start[name] === "string";
      if (!same(value, this.start[name]) || (isText && this.asks.includes(name)))
        params.set(name, isText ? String(value) : JSON.stringify(paired(value, this.start[name], onlyNew)));
    }
    params.set("link", VERSION); // at the end: a link that was cut has none
    return params.toString();
  }

  /** The values of a link, as far as it has any; or why it cannot be opened.
   * @param {string} link
   * @returns {{ values: Values, problem: string }} */
  read(link) {
    const values = { ...this.start };
    if (link.length > MOST) return { values, problem: `This link is too long${AS_IT_IS}` };
    const params = new URLSearchParams(link);
    const version = params.get("link") ?? "";
    if (version !== VERSION) return { values, problem: /^\d{1,9}$/.test(version) ? OTHER_VERSION : DAMAGED };
    if (params.get("view") !== this.id) return { values, problem: DAMAGED };
    for (const name of this.names) {
      const written = params.get(name);
      const start = this.start[name];
      if (written !== null) values[name] = typeof start === "string" ? written : paired(parsed(written), start, orOld);
    }
    return { values, problem: this.wrong(values, this.asks) };
  }

  /** What is wrong with some of the values; empty if nothing is.
   * @param {Values} values @param {string[]} names */
  wrong(values, names) {
    /** @type {Get} */
    const get = (name) => (Object.hasOwn(values, name) ? values[name] : this.get(name));
    const { checks } = this.states;
    const wrong = names.find((name) => !same(values[name], this.start[name]) && !checks[name](get)(values[name]));
    if (wrong === undefined) return "";
    const value = values[wrong];
    return typeof value === "string" && value.length > MOST_TEXT
      ? `The ${wrong} in this link has ${value.length} characters, and ${MOST_TEXT} is the most${AS_IT_IS}`
      : DAMAGED;
  }

  /** Shows what a link says: all of it, or nothing.
   * @param {string} link */
  async open(link) {
    const { values, problem } = this.read(link);
    this.turn++;
    this.say(problem);
    if (problem) return;
    const before = this.now();
    try {
      const isAnswered = await this.ask(values, this.turn);
      if (!isAnswered) return;
      const marks = this.names.filter((name) => !this.asks.includes(name));
      const late = this.wrong(values, marks);
      this.say(late);
      change(this.model, late ? before : Object.fromEntries(marks.map((name) => [name, values[name]])));
    } catch {
      this.say(DAMAGED);
      change(this.model, before);
    }
  }

  /** Asks the question of a link, if it is another one than now: first without changes, for then the view says what
   * they change. Gives whether this question is answered.
   * @param {Values} values @param {number} turn */
  async ask(values, turn) {
    const question = Object.fromEntries(this.asks.map((name) => [name, values[name]]));
    if (same(question, this.now(this.asks))) return true;
    const plain = Object.fromEntries(this.asks.map((name) => [name, CHANGES.includes(name) ? [] : values[name]]));
    for (const asked of [plain, question]) {
      change(this.model, asked);
      await this.answer();
      if (this.turn !== turn || !same(asked, this.now(this.asks))) return false; // somebody asked another question
    }
    return !answerIn(this.states, this.get)?.problem; // the view says what it is
  }

  /** Waits until the question is answered, and drawn. */
  answer() {
    const event = `change:${this.states.hears ?? "result"}`;
    return /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        const listen = () => {
          if (!answerIn(this.states, this.get)) return;
          this.model.off(event, listen);
          queueMicrotask(resolve);
        };
        this.model.on(event, listen);
        listen();
      })
    );
  }

  /** @param {string} problem */
  say(problem) {
    this.top.textContent = problem;
    this.top.hidden = !problem;
  }
}

/** Opens the link in the address of a page with these views, now and whenever there is another one.
 * @param {Link[]} links */
export function followAddress(links) {
  const open = () => {
    const link = window.location.hash.slice(1);
    if (!link.includes("=")) return; // the name of a part of the page
    const id = new URLSearchParams(link).get("view");
    const named = links.find((one) => one.id === id) ?? null;
    for (const one of links) one.say("");
    if (named) named.open(link);
    else links[0].say(DAMAGED);
    const { top } = named ?? links[0];
    const part = top.closest("section") ?? top.parentElement;
    if (links.length === 1 || !part) return;
    part.tabIndex = -1;
    part.focus({ preventScroll: true, focusVisible: false }); // the Tab key goes on from here
    part.scrollIntoView();
  };
  window.addEventListener("hashchange", open);
  open();
}

/** @param {string} link */
function keepHere(link) {
  window.history.replaceState(null, "", `#${link}`);
  return window.location.href;
}

/** The buttons at the end of a view.
 * @param {Link} link */
function buttons(link) {
  const said = make("span", { class: "faint", "aria-live": "polite" });
  const field = make("input", { readonly: true, hidden: true, "aria-label": "the link" });
  const forget = () => {
    field.hidden = true;
    said.textContent = "";
  };
  for (const name of link.names) link.model.on(`change:${name}`, forget); // what was copied or saved is no longer shown
  const copyLink = async () => {
    const written = link.write();
    const { problem } = link.read(written);
    field.value = problem ? "" : link.keep(written);
    if (!problem) link.say("");
    field.hidden = true;
    said.textContent = problem ? "What is shown is too long for a link." : "";
    if (problem) return;
    const isCopied = await copied(field);
    if (isCopied) /** @type {HTMLElement} */ (link.end.firstElementChild).focus();
    field.hidden = isCopied;
    said.textContent = isCopied ? "The link is copied." : "Copy this link:";
  };
  const picture = async (/** @type {boolean} */ isPng) => {
    const root = /** @type {HTMLElement} */ (link.end.parentElement);
    const svg = svgOf(root, link.css);
    const blob = isPng ? await pngOf(svg) : new Blob([svg], { type: "image/svg+xml" });
    const name = `${link.id}.${isPng ? "png" : "svg"}`;
    save(blob, name);
    said.textContent = `Saved as ${name}.`;
  };
  const button = (/** @type {string} */ name, /** @type {string} */ text, /** @type {() => void} */ onclick) =>
    make("button", { type: "button", "aria-label": name, onclick }, text);
  return make(
    "div",
    { class: "linking", role: "group", "aria-label": "keep what is shown" },
    button("copy link", "copy link", copyLink),
    button("save picture", "save picture", () => picture(true)),
    button("save picture as SVG", "as SVG", () => picture(false)),
    said,
    field,
  );
}

/** Copies the text of a field. Where no way is allowed, the field stays there, to copy from it by hand.
 * @param {HTMLInputElement} field */
async function copied(field) {
  field.hidden = false;
  field.focus();
  field.select();
  if (field.ownerDocument.execCommand("copy")) return true; // also in a frame, and in a page from a file
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    return false;
  }
}
