// A link that keeps the state of a view, and its buttons. What stands in the link is written and read in address.js.

import { Address, DAMAGED, same } from "./address.js";
import { answerOf } from "./asking.js";
import { make } from "./elements.js";
import { change } from "./life.js";
import { pngOf, save, svgOf } from "./picture.js";

/** @import { Named as Known, Values } from "./address.js" */
/** @import { AnyModel } from "./life.js" */

/** css: the styles of the page.
 * @typedef {Known & { css: string }} Named */

const REST = 300; // milliseconds: a browser counts how often an address changes
const CHANGES = ["prefix", "edits", "patches"]; // of a question: what stood there without them is compared with them

/** The link of one view, and what the view shows of it: a line at its top if a link could not be opened, and the
 * buttons at its end. */
export class Link extends Address {
  /** @param {AnyModel} model @param {Named} named */
  constructor(model, { css, ...named }) {
    super(model, named);
    this.model = model;
    this.css = css;
    this.turn = 0; // counts the links that were opened
    this.kept = ""; // the link in the address: it follows what is shown
    this.timer = 0;
    /** Where the link is kept: gives the whole address. A frame has it in the page around it.
     * @type {(link: string) => string} */
    this.keep = keepHere;
    this.top = make("p", { class: "linked", "aria-live": "polite", hidden: true });
    this.end = buttons(this);
    for (const name of this.names) model.on(`change:${name}`, () => this.follow());
  }

  /** The address names nothing else than what is shown: a page that is loaded again shows the same. */
  follow() {
    window.clearTimeout(this.timer);
    if (!this.kept) return;
    this.timer = window.setTimeout(() => {
      const link = this.write();
      if (this.kept && this.kept !== link) this.keep(this.read(link).problem ? "" : link);
      this.kept &&= link;
    }, REST);
  }

  /** Shows what a link says: all of it, or nothing.
   * @param {string} link */
  async open(link) {
    this.turn++;
    const { turn } = this;
    this.kept = "";
    await this.show(link);
    if (turn === this.turn) this.kept = link;
  }

  /** @param {string} link */
  async show(link) {
    const { values, problem } = this.read(link);
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
    return !answerOf(this.model, this.states.hears)?.problem; // the view says what it is
  }

  /** Waits until the question is answered, and drawn. */
  answer() {
    const event = `change:${this.states.hears}`;
    return /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        const listen = () => {
          if (!answerOf(this.model, this.states.hears)) return;
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
    for (const one of links) {
      one.say("");
      one.kept = "";
    }
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
    if (!problem) link.kept = written;
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
