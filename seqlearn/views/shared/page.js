// Views in a page of their own, where no Python runs.

import { change, life } from "./life.js";
import { Link, followAddress } from "./link.js";

/** @import { Live } from "../live/engine.js" */
/** @import { AnyModel } from "./life.js" */
/** @import { Answers, Build, Model, Question, Traits } from "./types.js" */

/** Draws a view in a page without Python: the traits are stored in the page, and changes stay in the page.
 * named: the view and its name in links. answers(model, live): listens to the model, and answers with `live`, the
 * Transformer in the page; null: nobody answers.
 * @template {Traits} T
 * @template D
 * @param {Build<T, D>} build
 * @param {string} number
 * @param {{ view: string, id: string, css?: string }} named
 * @param {Answers<T> | null} answers
 * @param {Live | null} live
 */
export function openPage(build, number, named, answers = null, live = null) {
  /** @type {(name: string, part: { base64?: unknown } | null) => unknown} */
  const revive = (_name, part) => (typeof part?.base64 === "string" ? fromBase64(part.base64) : part);
  /** @type {T} */
  const state = JSON.parse(elementOf(`state${number}`).textContent, revive);
  /** @type {Record<string, (() => void)[]>} */
  const callbacks = {};
  /** @type {Model<T>} */
  const model = {
    get: (name) => state[name],
    set: (name, value) => {
      if (JSON.stringify(state[name]) === JSON.stringify(value)) return;
      state[name] = value;
      for (const callback of [...(callbacks[name] ?? [])]) callback();
    },
    save_changes: () => {},
    on: (event, callback) => {
      callbacks[event.slice(7)] ??= [];
      callbacks[event.slice(7)].push(callback);
    },
    off: (event, callback) => {
      callbacks[event.slice(7)] = (callbacks[event.slice(7)] ?? []).filter((one) => one !== callback);
    },
  };
  window.model = model;
  if (answers && live) answers(model, live);
  const css = document.querySelector("style")?.textContent ?? "";
  const link = new Link(/** @type {AnyModel} */ (model), { css, ...named, live: Boolean(answers && live) });
  life(build, link)({ model, el: elementOf(`view${number}`) });
  return { model, link };
}

/** Opens the link in the address of the page.
 * @param {{ link: Link }[]} views
 */
export const followLinks = (views) => followAddress(views.map(({ link }) => link));

/** The views of a page show the same sentence, and the same edits of the attention: what is asked in one is asked in
 * the others.
 * @param {{ model: Model<Pick<Question, "sentence" | "edits">> }[]} views
 */
export function together(views) {
  const models = views.map(({ model }) => model);
  for (const name of /** @type {const} */ (["sentence", "edits"])) {
    for (const model of models)
      model.on(`change:${name}`, () => {
        for (const other of models) change(other, { [name]: model.get(name) });
      });
  }
}

/** An element that is in every page of ours.
 * @param {string} id
 */
export const elementOf = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

const fromBase64 = (/** @type {string} */ text) =>
  new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
