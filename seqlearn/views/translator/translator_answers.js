// The answers of the Transformer in the page to a TranslatorView, as translator_view.py gives them in Python.

import { change, onQuestion } from "../shared/life.js";
import { sameQuestion } from "../shared/changes.js";

/** @import { Model, Question, Target, Traits } from "../shared/types.js" */
/** @import { Live } from "../live/engine.js" */
/** @import { Refusal, Translated } from "../live/translator.js" */

/** @typedef {Translated & { gold?: unknown }} Result what is drawn; `gold`: what is known of the sentence, or null */
/** @typedef {Traits & Question & { data: { golds: Record<string, unknown> }, links: boolean, chosen: number,
 *   step: number, locked: Target | null, result: Result }} TranslatorTraits */

/** @param {Model<TranslatorTraits>} model @param {Live} live */
export function answers(model, live) {
  const question = () => ({
    sentence: model.get("sentence"),
    beam: model.get("beam"),
    prefix: model.get("prefix"),
    edits: model.get("edits"),
  });
  const withGold = (/** @type {Result} */ result) =>
    model.get("links") ? { ...result, gold: model.get("data").golds[result.source.join(" ")] ?? null } : result;
  const isAsked = (/** @type {Result | Refusal} */ result) => sameQuestion(result.asked, Object.values(question()));
  onQuestion(model, ["links"], () => change(model, { result: withGold(model.get("result")) }));
  onQuestion(model, ["sentence", "beam", "prefix", "edits"], async () => {
    const before = model.get("result");
    if (isAsked(before)) return;
    const result = await live.ask("translated", question(), model);
    if (result === null || !isAsked(result)) return; // another question came meanwhile
    if (!("best" in result)) return change(model, { result: { ...before, ...result } });
    change(model, { ...marks(model, before, result), chosen: 0, result: withGold(result) });
  });
}

/** The step and the lock after another answer: the lock stays if the translation is the same, and the step as far as it
 * says the same.
 * @param {Model<TranslatorTraits>} model @param {Result} before @param {Result} after */
function marks(model, before, after) {
  const shown = before.best[model.get("chosen")] ?? before.best[0];
  const { tokens } = after.best[0];
  if (sameQuestion(before.source, after.source) && sameQuestion(shown.tokens, tokens)) return {};
  const isForced = after.prefix.length && !sameQuestion(before.prefix, after.prefix);
  const split = tokens.findIndex((token, i) => token !== shown.tokens[i]); // the first token that is another
  const step = isForced ? after.prefix.length - 1 : Math.min(model.get("step"), split < 0 ? tokens.length : split);
  return { locked: null, step: Math.min(step, tokens.length - 1) };
}
