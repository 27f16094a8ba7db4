// The words that a translator knows: a drawer of all of them, and the nearest one to a word that it never saw.

import { make, roving } from "../shared/elements.js";

/** @import { Data } from "./translator_choice.js" */

/** A fold of the words by kind, and their list, which stands below the folds; it is drawn when the fold is opened.
 * @param {Data} data
 * @param {(word: string) => void} insert called with the word that is clicked
 */
export function knownWords({ kinds, vocab }, insert) {
  const list = make("div", { class: "kinds-of-words" });
  const button = (/** @type {string} */ word) =>
    make("button", { type: "button", "aria-label": `insert ${word}`, onclick: () => insert(word) }, word);
  const fold = make("details", { class: "known" }, make("summary", {}, "words it knows"));
  fold.addEventListener("toggle", () => {
    if (!fold.open || list.children.length) return;
    for (const [kind, words] of kinds?.length ? kinds : [["words", vocab]]) {
      const buttons = /** @type {string[]} */ (words).map(button);
      const group = make("div", { role: "group", "aria-label": `${kind}` }, make("b", {}, `${kind} `), ...buttons);
      roving(group, buttons);
      list.append(group);
    }
  });
  return [fold, list];
}

/** Whether no mark ends a sentence.
 * @param {string[]} source
 */
export const isOpen = (source) => !/^[.?!]$/.test(source.at(-1) ?? "");

/** The known word that is nearest in spelling, at a third of the letters or less; null if there is none. A word that
 * nobody knows is no article, pronoun or number; after an article or an adjective it is no verb, but a noun, or an
 * adjective if one of the two comes next.
 * @param {string[]} source
 * @param {number} at
 * @param {Data} data
 */
export function nearest(source, at, { kinds, vocab }) {
  const text = source[at];
  const all = new Map(kinds?.map(([kind, words]) => [kind, words]));
  const [nouns, adjectives] = [all.get("nouns") ?? [], all.get("adjectives") ?? []];
  const before = source[at - 1] ?? "";
  all.delete("others");
  let words = all.size ? [...all.values()].flat() : vocab;
  if (all.size && (/^(the|an?)$/.test(before) || adjectives.includes(before)))
    words = [nouns, adjectives].some((some) => some.includes(source[at + 1])) ? [...nouns, ...adjectives] : nouns;
  let [best, least] = [/** @type {string | null} */ (null), Math.ceil(text.length / 3) + 1];
  for (const word of words) {
    if (Math.abs(word.length - text.length) >= least || !/\p{L}/u.test(word)) continue;
    const away = distance(text, word);
    if (away < least) [best, least] = [word, away];
  }
  return best;
}

/** How many letters have to be inserted, removed or replaced (Levenshtein).
 * @param {string} one
 * @param {string} other
 */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, j) => j);
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j++)
      next.push(Math.min(row[j] + Number(one[i] !== other[j]), row[j + 1] + 1, next[j] + 1));
    row = next;
  }
  return row[other.length];
}
