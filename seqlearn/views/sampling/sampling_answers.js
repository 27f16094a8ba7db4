// The answers of the Transformer in the page to a SamplingView, as sampling_view.py gives them in Python.

import { change, onQuestion } from "../shared/life.js";
import { sameQuestion } from "../shared/changes.js";

/** @import { Live } from "../live/engine.js" */
/** @import { SamplingModel } from "./sampling_view.js" */

/** @param {SamplingModel} model @param {Live} live */
export function answers(model, live) {
  const settings = () => ({
    temperature: model.get("temperature"),
    top_k: model.get("top_k"),
    top_p: model.get("top_p"),
  });
  onQuestion(model, ["seed", "temperature", "top_k", "top_p"], async () => {
    const [seed, given] = [model.get("seed"), settings()];
    const asked = [seed, ...Object.values(given)];
    if (seed === null || sameQuestion(model.get("written").asked, asked)) return;
    const sentence = model.get("data").source ?? "";
    const written = await live.ask("sampled", { sentence, seed, ...given }, model);
    if (written === null || !sameQuestion([model.get("seed"), ...Object.values(settings())], asked)) return;
    change(model, { written: "sentences" in written ? written : { ...written, sentences: [] } });
  });
}
