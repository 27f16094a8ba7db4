// The questions of a view, as asking.py declares them in `data`: which trait is the answer to which question. Python
// answers in a notebook, and the model in a page (live/answers.js); a view draws the answer, or says that it waits.

/** What `Ask` of asking.py says.
 * @typedef {{ kind: string, parts: string[], when: string[], blank: object | null }} Ask */
/** The parts of a question, by name.
 * @typedef {Record<string, unknown>} Asked */
/** A trait that is an answer, or one of a list of answers, each of which has the parts of its question in itself.
 * @typedef {{ asked?: Asked, problem?: string }} Answer */
/** What has traits.
 * @typedef {{ get: (name: any) => any }} Readable */

/** @param {Readable} model
 * @returns {Record<string, Ask>} the question of each trait that is an answer */
export const questionsOf = (model) => model.get("data").questions ?? {};

/** Whether two questions are the same: all their parts are.
 * @param {object | null | undefined} one @param {object | null | undefined} other */
export function isSame(one, other) {
  if (!one || !other) return false;
  const [a, b] = [/** @type {Asked} */ (one), /** @type {Asked} */ (other)];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every(
    (name) => JSON.stringify(a[name]) === JSON.stringify(b[name]),
  );
}

/** The question as it stands; null if nothing is asked.
 * @param {Readable} model
 * @returns {Asked | null} */
export function questionOf(model, trait = "result") {
  const { parts = [], when = [] } = questionsOf(model)[trait] ?? {};
  if (!parts.length || !when.every((name) => isSet(model.get(name) ?? model.get("data")[name]))) return null;
  return Object.fromEntries(parts.map((name) => [name, model.get(name)]));
}

const isSet = (/** @type {unknown} */ value) =>
  ![undefined, null, false, ""].includes(/** @type {null} */ (value)) && !(Array.isArray(value) && !value.length);

/** The answer to the question as it stands, which may be a problem; undefined while there is none.
 * @param {Readable} model
 * @returns {Answer | undefined} */
export function answerOf(model, trait = "result") {
  const question = questionOf(model, trait);
  const { parts = [] } = questionsOf(model)[trait] ?? {};
  const asked = (/** @type {any} */ answer) => Object.fromEntries(parts.map((name) => [name, answer?.[name]]));
  return [model.get(trait)].flat().find((one) => isSame(one?.asked ?? asked(one), question));
}

/** Whether something is asked and not answered.
 * @param {Readable} model */
export const isWaiting = (model, trait = "result") => questionOf(model, trait) !== null && !answerOf(model, trait);
