// What a TranslatorView shows, in words.

import { tokenAt, weightText } from "../shared/attention.js";
import { legendOf, make, token } from "../shared/elements.js";
import { MOST_SEEN, THRESHOLD } from "../shared/constants.js";
import { chance, unknownSign } from "../shared/changes.js";

/** @import { Child, Numbers } from "../shared/types.js" */
/** @import { Gold, Result, Translation } from "./translator_choice.js" */

/** A step in words: the token that the model writes, and the tokens that it looks at.
 * @param {Translation} translation
 * @param {number} step
 * @param {Numbers | null} weights
 * @returns {Child[]}
 */
export function stepWords({ tokens, next, attention }, step, weights) {
  const { tokens: texts, probs, written } = next[step];
  /** @type {Child[]} */
  const words = [`At step ${step + 1} the model writes `, token(tokens[step]), ` (${chance(probs[written])})`];
  if (written > 0) words.push(", though ", token(texts[0]), ` (${chance(probs[0])}) is likelier here`);
  if (!attention || !weights) return [...words, "."];
  const { keys } = attention;
  const row = keys.map((_, j) => weights[step * keys.length + j]);
  const order = keys.map((_, j) => j).sort((i, j) => row[j] - row[i]);
  if (!(row[order[0]] > 0)) return [...words, ". The attention that is shown is ablated here."];
  if (written > 0) words.push(",");
  const seen = order.slice(0, MOST_SEEN).filter((j, place) => place === 0 || row[j] >= THRESHOLD);
  return [
    ...words,
    " and looks at ",
    ...seen.flatMap((j, place) => [place ? ", " : "", ...tokenAt(keys, j), ` (${weightText(row[j])})`]),
    ".",
  ];
}

/** A cell in words.
 * @param {string[]} tokens
 * @param {string[]} keys
 * @param {[what: "pair", row: number, column: number]} cell
 * @param {Numbers} weights
 */
export const cellWords = (tokens, keys, [, row, column], weights) => [
  "The weight of ",
  ...tokenAt(keys, column),
  " for ",
  ...tokenAt(tokens, row),
  ` is ${weightText(weights[row * keys.length + column])}.`,
];

/** How well the shown attention agrees with the true links, and whether the pronouns are right.
 * @param {Result} result
 * @param {Gold | null} gold
 * @param {Translation} translation
 * @param {Numbers | null} weights
 * @param {string} name
 * @returns {Child[]}
 */
export function scoreWords({ source }, gold, { tokens, attention }, weights, name) {
  if (gold === null) {
    const which = document.getElementById("model") ? "some" : "the";
    return [
      `The true links are known for ${which} sentences of the built-in corpus only, such as the examples; `,
      "this one is not among them.",
    ];
  }
  const same = isGold(gold, tokens);
  const pronouns = gold.pronouns.map((at) =>
    tokens[at] === gold.tokens[at]
      ? [token(gold.tokens[at]), " is right. "]
      : [token(tokens[at] ?? "nothing"), " stands where the corpus has ", token(gold.tokens[at]), ". "],
  );
  const said = [
    ...(gold.pronouns.length ? ["The pronoun ", ...pronouns.flat()] : []),
    same ? "The translation is that of the corpus. " : "The translation is not that of the corpus. ",
  ];
  if (!same || !weights || !attention) return said;
  const columns = attention.keys.length;
  const found = tokens
    .slice(0, -1)
    .map((_, i) => [...weights.slice(i * columns, i * columns + source.length)])
    .map((row) => row.indexOf(Math.max(...row)));
  const hits = gold.links.filter(([from, to]) => found[to] === from).length;
  const error = 1 - (2 * hits) / (found.length + gold.links.length);
  return [
    ...said,
    `Alignment error rate of the ${name}: ${error.toFixed(2)} (${hits} of ${gold.links.length} true links found).`,
  ];
}

/** Whether the translation is the one of the corpus, word for word.
 * @param {Gold} gold
 * @param {string[]} tokens
 */
export const isGold = (gold, tokens) =>
  gold.tokens.length === tokens.length - 1 && gold.tokens.every((text, i) => text === tokens[i]);

/** The meaning of the marks. isChanged: whether something was changed.
 * @param {Result} result
 * @param {boolean} isChanged
 */
export function meaning({ best, unknown }, isChanged) {
  return legendOf(
    best[0].attention && ["", `no line: below ${THRESHOLD}`],
    [make("span", { class: "sign", "aria-hidden": "true" }, "▶"), "the token that was written; bars: probability"],
    isChanged && [make("span", { class: "piece new", "aria-hidden": "true" }, "new"), "changed"],
    unknownSign(unknown),
    best.length > 1 && ["", "score: log p / length penalty; p: probability of the whole sentence"],
  );
}

/** The translation word by word, or nothing; a word that has no gloss, and a mark, stay as they are.
 * @param {string[]} tokens
 * @param {Record<string, string>} [gloss]
 */
export function glossed(tokens, gloss = {}) {
  if (!Object.keys(gloss).length) return "";
  const words = tokens
    .filter((text) => text !== "<eos>")
    .map((text) => (Object.hasOwn(gloss, text) ? gloss[text] : text));
  return words.join(" ");
}
