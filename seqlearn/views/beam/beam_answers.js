// The answers of the Transformer in the page to a BeamView, as beam_view.py gives them in Python.

import { change, onQuestion } from "../shared/life.js";
import { isFor } from "./beam_view.js";

/** @import { Live } from "../live/engine.js" */
/** @import { BeamModel } from "./beam_view.js" */

const MOST = 100; // trees that are kept: a question is not asked twice, and a page does not grow for ever

/** @param {BeamModel} model @param {Live} live */
export function answers(model, live) {
  const question = () => ({
    sentence: model.get("sentence") ?? "",
    width: model.get("width"),
    alpha: model.get("alpha"),
  });
  onQuestion(model, ["sentence", "width", "alpha"], async () => {
    const asked = question();
    if (model.get("trees").some(isFor(asked))) return;
    const answer = await live.ask("tree", asked, model);
    if (answer === null || !isFor(asked)(question())) return; // another question came meanwhile
    const found = "tree" in answer ? answer.tree : { ...asked, problem: answer.problem };
    const trees = model.get("trees").filter((one) => !("problem" in one));
    change(model, { trees: [...trees.slice(-MOST), found] });
  });
}
