// The part of an address after #, as view=BeamView&width=2&step=1&link=1: the traits of a view that differ from those
// of its page. What is read there is data of a stranger: `STATES` in link_states.js checks it.

import { questionsOf } from "./asking.js";
import { MOST_TEXT, STATES } from "./link_states.js";

/** @import { AnyModel } from "./life.js" */
/** @import { Get, States } from "./link_states.js" */

/** view: the name of the class. id: the name of this view in its page, which stays. live: whether somebody answers
 * questions.
 * @typedef {{ view: string, id: string, live: boolean }} Named */
/** @typedef {Record<string, unknown>} Values of traits */

const VERSION = "1";
const MOST = 8000; // characters of a link
const AS_IT_IS = ", so the page opens as it is.";
export const DAMAGED = `This link is damaged${AS_IT_IS}`;
const OTHER_VERSION = `This link is from another version of the page${AS_IT_IS}`;

export const same = (/** @type {unknown} */ a, /** @type {unknown} */ b) => JSON.stringify(a) === JSON.stringify(b);

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

/** What is shown, as a text, and back. */
export class Address {
  /** @param {Pick<AnyModel, "get">} model @param {Named} named */
  constructor(model, { view, id, live }) {
    /** @type {Get} */
    this.get = (name) => model.get(name);
    this.id = id;
    /** @type {States} */
    this.states = Object.hasOwn(STATES, view) ? STATES[view] : { checks: {} };
    const { hears = "", checks } = this.states;
    const asks = questionsOf(model)[hears]?.parts ?? [];
    const { needs = asks } = this.states;
    const here = Object.keys(checks).filter((name) => model.get(name) !== undefined);
    this.names = here.filter((name) => live || !needs.includes(name));
    this.asks = live ? asks.filter((name) => this.names.includes(name)) : [];
    /** @type {Values} */
    this.start = this.now();
  }

  /** @returns {Values} */
  now(names = this.names) {
    return Object.fromEntries(names.map((name) => [name, this.get(name)]));
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
}
