// The questions of a view, as asking.py declares them in `data`: which trait is the answer to which question. Python
// answers in a notebook, and the model in a page (live/answers.js); a view draws the answer, or says that it waits.

/** What `Ask` of asking.py says.
 * @typedef {{ kind: string, parts: string[], of: string | null, when: string[], blank: object | null }} Ask */
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
  const { parts = [], of, when = [] } = questionsOf(model)[trait] ?? {};
  const values = of ? model.get(of) : parts.map((name) => model.get(name));
  if (!values.length || !when.every((name) => holds(model, name))) return null;
  return Object.fromEntries(parts.map((name, i) => [name, values[i]]));
}

/** Whether a trait, or a part of `data`, is set; or, as in "zoom=cell", whether it is this one.
 * @param {Readable} model @param {string} condition */
function holds(model, condition) {
  const [name, wanted] = condition.split("=");
  const value = model.get(name) ?? model.get("data")[name] ?? null;
  if (wanted) return value === wanted;
  return ![null, false, ""].includes(value) && !(typeof value === "object" && !Object.keys(value).length);
}

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
