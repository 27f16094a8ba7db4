// The answers of the Transformer in the page to a PatchView, as patch_view.py gives them in Python.

import { change, onQuestion } from "../shared/life.js";
import { sameQuestion } from "../shared/changes.js";

/** @import { Model } from "../shared/types.js" */
/** @import { Live } from "../live/engine.js" */
/** @import { Answering } from "../live/translator.js" */
/** @import { PatchTraits } from "./patch_view.js" */

/** @param {Model<PatchTraits>} model @param {Live} live */
export function answers(model, live) {
  const question = () => ({
    sentence: model.get("sentence"),
    other: model.get("other"),
    patches: model.get("patches"),
    decision: model.get("decision"),
  });
  const isAsked = (/** @type {{ asked: unknown }} */ { asked }) => sameQuestion(asked, Object.values(question()));
  onQuestion(model, Object.keys(question()), async () => {
    if (isAsked(model.get("result"))) return;
    const result = await live.ask("patched", question(), model);
    if (result === null || !isAsked(result)) return; // another question came meanwhile
    change(model, { result: joined(model.get("result"), result) });
  });
}

/** The answer after the one before. Of the same sentences and the same decision, only what patches change is new: the
 * first answer of a page is Python's, whose weights are not rounded, and its numbers stay.
 * @param {PatchTraits["result"]} before @param {ReturnType<Answering["patched"]>} after
 * @returns {PatchTraits["result"]} */
function joined(before, after) {
  if (!("maps" in after)) return { ...before, ...after };
  const parts = (/** @type {typeof after} */ { source, twin, decision }) => [source, twin, decision];
  if (!sameQuestion(parts(before), parts(after))) return after;
  const [own, other] = before.probs;
  return { ...after, maps: before.maps, probs: [own, other, after.patches.length ? after.probs[2] : own] };
}
