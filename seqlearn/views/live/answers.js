// The model in the page answers the questions of a view, as Python does with the room `answers`.

import { answerOf, isSame, questionOf, questionsOf } from "../shared/asking.js";
import { headsOf } from "../shared/changes.js";
import { KINDS } from "../shared/constants.js";
import { change, onQuestion } from "../shared/life.js";

/** @import { AnyModel } from "../shared/life.js" */
/** @import { Answer, Readable } from "../shared/asking.js" */
/** @import { Answering } from "./translator.js" */
/** @import { Live } from "./engine.js" */

const MOST = 100; // answers that a list keeps: a question is not asked twice, and a page does not grow for ever

/** @typedef {Record<string, any>} Patches what `patched` gives */
/** Asks the model one thing; null if a newer question of the same kind came before there was time.
 * @typedef {(kind: string, question: any) => Promise<any>} Ask */

/** The traits of a view, its former answer, and what stood there first; and whether the question still stands.
 * @typedef {Readable & { former: any, first: { result: any, maps: any[] }, stands: () => boolean }} Given */

/** How a question becomes one of the model, or several; a kind that is not here is a method of `Translator`.
 * @type {Record<string, (ask: Ask, question: any, given: Given) => Promise<any>>} */
const ANSWERS = {
  tree: async (ask, { sentence, ...search }) => {
    const found = await ask("tree", { sentence: sentence ?? "", ...search });
    return found && (found.tree ?? { sentence, ...search, problem: found.problem });
  },
  ablations: ablationMap,
  reading,
  other: reading,
  steps: (ask, place, { get }) => {
    const { sentence, edits, tokens } = get("result");
    return ask("steps", { source: sentence, target: tokens, edits, ...place });
  },
  patched: async (ask, question, { former }) => joined(former, await ask("patched", question)),
  sampled: (ask, question, { get }) => ask("sampled", { sentence: get("data").source ?? "", ...question }),
};

/** The traits that change with an answer, by kind.
 * @type {Record<string, (model: Readable, before: any, after: any) => object>} */
const ALSO = {
  reading: (model, _, { maps, ...result }) => {
    const data = model.get("data");
    const parts = data.maps.map((/** @type {{ roles: unknown }} */ { roles }, /** @type {number} */ i) => ({
      ...maps[i],
      roles,
    }));
    return { steps: {}, result, data: { ...data, maps: parts } };
  },
  translated: (model, before, after) => ({ ...marks(model, before, after), chosen: 0 }),
};

/** @param {AnyModel} model @param {Live} live */
export function answers(model, live) {
  const get = (/** @type {string} */ name) => /** @type {any} */ (model.get(name));
  const first = { result: get("result"), maps: get("data").maps };
  for (const [trait, { kind, parts, of, when, blank }] of Object.entries(questionsOf(model))) {
    const asker = {}; // of two answers, neither waits for the other
    /** @type {Ask} */
    const ask = (kind, question) => live.ask(/** @type {keyof Answering} */ (kind), question, asker);
    const heard = [...(of ? [of] : parts), ...when.map((name) => name.split("=")[0]), "data"];
    onQuestion(model, heard, async () => {
      const question = questionOf(model, trait);
      if (!question || answerOf(model, trait)) return;
      const former = /** @type {Answer | Answer[]} */ (model.get(trait));
      const stands = () => isSame(question, questionOf(model, trait));
      /** @type {Answer | null} */
      const found = await (ANSWERS[kind]?.(ask, question, { get, former, first, stands }) ?? ask(kind, question));
      if (!found || !stands()) return; // another question came meanwhile
      const stays = found.problem ? (blank ?? former) : {};
      const several = Array.isArray(former) && [...former.filter((one) => !one.problem).slice(-MOST), found];
      const answer = { ...stays, ...found, asked: question };
      change(model, { [trait]: several || answer, ...(found.problem ? {} : ALSO[kind]?.(model, former, answer)) });
    });
  }
}

/** The translation of a sentence under these edits, and all maps of this reading. The first answer of a page is kept,
 * so that Reset shows what was shown.
 * @param {Ask} ask @param {any} question @param {Given} given */
async function reading(ask, question, { get, first, stands }) {
  if (isSame(question, first.result.asked)) return { ...first.result, maps: first.maps };
  const { sentence, edits } = question;
  const answer = await ask("translated", { sentence, beam: 1, prefix: [], edits });
  if (!answer || !stands()) return null;
  if (answer.problem) return { problem: answer.problem };
  const { text, tokens, pieces, probability } = answer.best[0];
  const maps = await ask("maps", { source: sentence, target: tokens, edits });
  if (!maps) return null;
  if (maps.problem) return { problem: maps.problem };
  const { languages, source, unknown } = answer;
  const result = { problem: "", sentence, edits, languages, source, unknown, text, tokens, pieces, probability };
  return { ...result, maps: get("data").maps.map((/** @type {{ kind: string }} */ { kind }) => maps[kind]) };
}

/** What each head does to the translation, one question after the other, so that a translation never waits for more
 * than one of them; null if another map is wanted meanwhile, or the sentence cannot be translated.
 * @param {Ask} ask @param {any} question @param {Given} given */
async function ablationMap(ask, question, { get, stands }) {
  const base = await ask("ablated", { ...question, head: null, written: null });
  if (!base || "problem" in base) return null;
  const heads = [];
  for (const key of KINDS.flatMap((kind) => headsOf([kind, null, null], get("data").layers))) {
    const [kind, layer, head] = key.split(" ");
    const place = [kind, Number(layer), Number(head)];
    const found = await ask("ablated", { ...question, head: place, written: base.tokens });
    if (!found || "problem" in found || !stands()) return null;
    heads.push([...place, found]);
  }
  return { problem: "", base, heads };
}

/** The step and the lock after another translation: the lock stays if the translation is the same, that of a cell up to
 * the first token that is another, and the step as far as it says the same.
 * @param {Readable} model @param {any} before @param {any} after */
function marks(model, before, after) {
  const shown = before.best[model.get("chosen")] ?? before.best[0];
  /** @type {{ tokens: string[] }} */
  const { tokens } = after.best[0];
  const isSource = same(before.source, after.source);
  if (isSource && same(shown.tokens, tokens)) return {};
  const isForced = after.prefix.length && !same(before.prefix, after.prefix);
  const split = tokens.findIndex((token, i) => token !== shown.tokens[i]); // the first token that is another
  const locked = model.get("locked");
  if (isSource && !isForced && locked?.[0] === "pair" && locked[1] <= (split < 0 ? tokens.length - 1 : split))
    return {};
  const step = isForced ? after.prefix.length - 1 : Math.min(model.get("step"), split < 0 ? tokens.length : split);
  return { locked: null, step: Math.min(step, tokens.length - 1) };
}

/** The answer after the one before. Of the same sentences and the same decision, only what patches change is new: the
 * first answer of a page is Python's, and its numbers stay.
 * @param {Patches} before @param {Patches | null} after */
function joined(before, after) {
  if (!after || after.problem || !["source", "twin", "decision"].every((name) => same(before[name], after[name])))
    return after;
  const [own, other] = before.probs;
  return { ...after, maps: before.maps, probs: [own, other, after.patches.length ? after.probs[2] : own] };
}

const same = (/** @type {unknown} */ a, /** @type {unknown} */ b) => JSON.stringify(a) === JSON.stringify(b);
