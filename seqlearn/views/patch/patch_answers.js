// The answers of the Transformer in the page to a PatchView, as patch_view.py gives them in Python.

import { change, onQuestion } from "../shared/life.js";
import { sameQuestion } from "../shared/changes.js";

/** @import { Model } from "../shared/types.js" */
/** @import { Live } from "../live/engine.js" */
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
    change(model, { result: { ...model.get("result"), ...result } });
  });
}
