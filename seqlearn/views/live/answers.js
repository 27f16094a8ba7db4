// The model in the page answers the questions of a view, as Python does with the room `answers`.

import { answerOf, isSame, questionOf, questionsOf } from "../shared/asking.js";
import { change, onQuestion } from "../shared/life.js";

/** @import { AnyModel } from "../shared/life.js" */
/** @import { Answer } from "../shared/asking.js" */
/** @import { Answering } from "./translator.js" */
/** @import { Live } from "./engine.js" */

const MOST = 100; // answers that a list keeps: a question is not asked twice, and a page does not grow for ever

/** Asks the model one thing; null if a newer question of the same kind came before there was time.
 * @typedef {(kind: string, question: any) => Promise<any>} Ask */

/** How a question becomes one of the model, or several; a kind that is not here is a method of `Translator`.
 * @type {Record<string, (ask: Ask, question: any, data: any) => Promise<any>>} */
const ANSWERS = {
  tree: async (ask, { sentence, ...search }) => {
    const found = await ask("tree", { sentence: sentence ?? "", ...search });
    return found && (found.tree ?? { sentence, ...search, problem: found.problem });
  },
  sampled: (ask, question, { source }) => ask("sampled", { sentence: source ?? "", ...question }),
};

/** @param {AnyModel} model @param {Live} live */
export function answers(model, live) {
  /** @type {Ask} */
  const ask = (kind, question) => live.ask(/** @type {keyof Answering} */ (kind), question, model);
  for (const [trait, { kind, parts, when, blank }] of Object.entries(questionsOf(model))) {
    onQuestion(model, [...parts, ...when], async () => {
      const question = questionOf(model, trait);
      if (!question || answerOf(model, trait)) return;
      /** @type {Answer | null} */
      const found = await (ANSWERS[kind]?.(ask, question, model.get("data")) ?? ask(kind, question));
      if (!found || !isSame(question, questionOf(model, trait))) return; // another question came meanwhile
      const former = /** @type {Answer | Answer[]} */ (model.get(trait));
      const stays = found.problem ? (blank ?? former) : {};
      const several = Array.isArray(former) && [...former.filter((one) => !one.problem).slice(-MOST), found];
      change(model, { [trait]: several || { ...stays, ...found, asked: question } });
    });
  }
}
