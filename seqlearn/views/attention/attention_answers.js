// The answers of the Transformer in the page to an AttentionView, as attention_view.py gives them in Python.

import { change, onQuestion } from "../shared/life.js";
import { sameQuestion } from "../shared/changes.js";

/** @import { Live } from "../live/engine.js" */
/** @import { Refusal, Translated } from "../live/translator.js" */
/** @import { Kind } from "../shared/constants.js" */
/** @import { Edit, Model, Traits } from "../shared/types.js" */

/** @typedef {[sentence: string, edits: Edit[]]} Asked */
/** @typedef {ReturnType<typeof reader>} Reader */
/** @typedef {Record<Kind, KindMap>} Readings */
/** What is shown of a translation; after a refusal, of the last one, with the problem.
 * @typedef {Pick<Translated, "sentence" | "edits" | "languages" | "source" | "unknown">} Read
 * @typedef {Pick<Translated["best"][number], "text" | "tokens" | "pieces" | "probability">} Written
 * @typedef {Refusal & Read & Written} Result */
/** What `map_data` makes of a kind, with the roles of its heads.
 * @typedef {{ kind: Kind, roles?: string[][] | null }} KindMap */
/** `other` and `steps`: another reading and the steps of one head, or nothing.
 * @typedef {Traits & { data: { maps: KindMap[] }, sentence: string, edits: Edit[], result: Result,
 *   against: Asked | [], other: Partial<Refusal>, steps: Partial<Refusal>,
 *   zoom: string, kind: Kind, layer: number, head: number }} AttentionTraits */

/** @param {Model<AttentionTraits>} model @param {Live} live */
export function answers(model, live) {
  let turn = Promise.resolve(); // one reading after the other
  const read = reader(model, live);
  const inTurn = (/** @type {typeof readAgain} */ work) => () => {
    turn = turn.catch(() => {}).then(() => work(model, read));
    return turn;
  };
  onQuestion(model, ["sentence", "edits"], inTurn(readAgain));
  onQuestion(model, ["against"], inTurn(readOther));
  onQuestion(model, ["zoom", "kind", "layer", "head", "data"], () => answerSteps(model, live));
}

/** @param {Model<AttentionTraits>} model @param {Reader} read */
async function readAgain(model, read) {
  /** @type {() => Asked} */
  const question = () => [model.get("sentence"), model.get("edits")];
  const [asked, before] = [question(), model.get("result")];
  if (sameQuestion(before.asked, asked)) return;
  const reading = await read(asked);
  if (reading === null || !sameQuestion(asked, question())) return; // another question came meanwhile
  const { result, maps } = reading;
  if (maps === null) return change(model, { result: { ...before, ...result } });
  const data = model.get("data");
  const parts = data.maps.map(({ kind, roles }) => ({ ...maps[kind], roles }));
  change(model, { steps: {}, result, data: { ...data, maps: parts } });
}

/** @param {Model<AttentionTraits>} model @param {Reader} read */
async function readOther(model, read) {
  const asked = model.get("against");
  if (!asked.length || sameQuestion(model.get("other").asked, asked)) return;
  const reading = await read(asked);
  if (reading === null || !sameQuestion(asked, model.get("against"))) return;
  const { result, maps } = reading;
  const other = maps === null ? result : { ...result, maps: model.get("data").maps.map(({ kind }) => maps[kind]) };
  change(model, { other });
}

/** Reads a question. The first one was answered by Python, with the weights of the page: its answer is kept, so that
 * Reset shows what was shown.
 * @param {Model<AttentionTraits>} model @param {Live} live */
function reader(model, live) {
  const [result, { maps }] = [model.get("result"), model.get("data")];
  const first = { result, maps: /** @type {Readings} */ (Object.fromEntries(maps.map((map) => [map.kind, map]))) };
  return async (/** @type {Asked} */ asked) =>
    sameQuestion(asked, result.asked) ? first : readLive(model, live, asked);
}

/** The translation of a sentence under these edits, and all maps of this reading.
 * @param {Model<AttentionTraits>} model @param {Live} live @param {Asked} asked */
async function readLive(model, live, asked) {
  const [sentence, edits] = asked;
  const answer = await live.ask("translated", { sentence, beam: 1, prefix: [], edits }, model);
  if (answer === null) return null;
  if (!("best" in answer)) return { result: { asked, problem: answer.problem }, maps: null };
  const { text, tokens, pieces, probability } = answer.best[0];
  const maps = await live.ask("maps", { source: sentence, target: tokens, edits }, model);
  if (maps === null) return null;
  if (!("cross" in maps)) return { result: { asked, problem: maps.problem }, maps: null };
  const { languages, source, unknown } = answer;
  const result = { asked, problem: "", sentence, edits, languages, source, unknown, text, tokens, pieces, probability };
  return { result, maps };
}

/** The five steps of the chosen head, if the zoom shows them.
 * @param {Model<AttentionTraits>} model @param {Live} live */
async function answerSteps(model, live) {
  const [kind, layer, head] = [model.get("kind"), model.get("layer"), model.get("head")];
  const asked = [kind, layer, head];
  if (model.get("zoom") !== "cell" || sameQuestion(model.get("steps").asked, asked)) return;
  const { sentence, edits, tokens } = model.get("result");
  const steps = await live.ask("steps", { source: sentence, target: tokens, edits, kind, layer, head }, model);
  if (steps !== null) change(model, { steps: { ...steps, asked } });
}
