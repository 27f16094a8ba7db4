// The answers of the Transformer in the page to a TranslatorView, as translator_view.py gives them in Python.

import { change, onQuestion } from "../shared/life.js";
import { headsOf, sameQuestion } from "../shared/changes.js";
import { KINDS } from "../shared/constants.js";

/** @import { AblationMap, Place } from "../shared/changes.js" */
/** @import { Edit, Layers, Model, Question, Target, Traits } from "../shared/types.js" */
/** @import { Live } from "../live/engine.js" */
/** @import { Refusal, Translated } from "../live/translator.js" */

/** @typedef {Translated & { gold?: unknown }} Result what is drawn; `gold`: what is known of the sentence, or null */
/** @typedef {Traits & Question & { data: { golds: Record<string, unknown>, layers: Layers }, links: boolean,
 *   chosen: number, step: number, locked: Target | null, result: Result, mapped: [string, string[], Edit[]] | [],
 *   ablations: AblationMap | object }} TranslatorTraits */

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
  onQuestion(model, ["mapped"], async () => {
    const ablations = await ablationMap(model, live);
    if (ablations) change(model, { ablations });
  });
}

/** What each head does to the translation, one question after the other, so that a translation never waits for more
 * than one of them; null if another map is wanted meanwhile, or the sentence cannot be translated.
 * @param {Model<TranslatorTraits>} model @param {Live} live */
async function ablationMap(model, live) {
  const asked = model.get("mapped");
  const { layers } = model.get("data");
  if (!asked.length) return null;
  const [sentence, prefix, edits] = asked;
  /** @type {(head: Place | null, written: string[] | null) => ReturnType<typeof live.ask<"ablated">>} */
  const ask = (head, written) => live.ask("ablated", { sentence, prefix, edits, head, written }, model);
  const base = await ask(null, null);
  if (!base || "problem" in base) return null;
  /** @type {AblationMap["heads"]} */
  const heads = [];
  for (const key of KINDS.flatMap((kind) => headsOf([kind, null, null], layers))) {
    const [kind, layer, head] = key.split(" ");
    const place = /** @type {[Place[0], number, number]} */ ([kind, Number(layer), Number(head)]);
    const found = await ask(place, base.tokens);
    if (!found || "problem" in found || !sameQuestion(asked, model.get("mapped"))) return null;
    heads.push([...place, found]);
  }
  return { asked, base, heads };
}

/** The step and the lock after another answer: the lock stays if the translation is the same, that of a cell up to the
 * first token that is another, and the step as far as it says the same.
 * @param {Model<TranslatorTraits>} model @param {Result} before @param {Result} after */
function marks(model, before, after) {
  const shown = before.best[model.get("chosen")] ?? before.best[0];
  const { tokens } = after.best[0];
  const isSource = sameQuestion(before.source, after.source);
  if (isSource && sameQuestion(shown.tokens, tokens)) return {};
  const isForced = after.prefix.length && !sameQuestion(before.prefix, after.prefix);
  const split = tokens.findIndex((token, i) => token !== shown.tokens[i]); // the first token that is another
  const locked = model.get("locked");
  if (isSource && !isForced && locked?.[0] === "pair" && locked[1] <= (split < 0 ? tokens.length - 1 : split))
    return {};
  const step = isForced ? after.prefix.length - 1 : Math.min(model.get("step"), split < 0 ? tokens.length : split);
  return { locked: null, step: Math.min(step, tokens.length - 1) };
}
