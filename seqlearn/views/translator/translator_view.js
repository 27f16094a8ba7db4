// TranslatorView: a sentence, its translation, the attention, and the other candidates at each step. Python translates,
// or the model in the page. Whoever answers: a question is asked by the traits sentence, beam, prefix and edits, and
// the answer comes as the trait result. The form, the changes, the panels and the words are files of their own.

import { layOut, roomIn } from "../shared/elements.js";
import { isWaiting } from "../shared/asking.js";
import { freeing } from "../shared/life.js";
import { ageing, fresh, sameQuestion } from "../shared/changes.js";
import { Asking } from "./translator_asking.js";
import { Changes } from "./translator_changes.js";
import { Choice } from "./translator_choice.js";
import { Stage } from "./translator_stage.js";
import { echoWords } from "../shared/switches.js";

/** @import { Echo } from "../shared/echo.js" */
/** @import { Model } from "../shared/types.js" */
/** @import { Data, TranslatorTraits } from "./translator_choice.js" */

/**
 * @param {Model<TranslatorTraits>} model
 * @param {HTMLElement} root
 * @param {Data} data
 * @param {Echo} echo
 */
export function build(model, root, data, echo) {
  const choice = new Choice(model, data);
  const id = fresh();
  const changes = new Changes(choice, id, (target) => stage.point(target));
  const asking = new Asking(choice, id, () => goOn(), changes.more);
  const stage = new Stage(root, choice, changes);
  layOut(root, "translate a sentence", {
    controls: { sentence: [asking.form] },
    intro: [changes.node],
    panels: stage.panels,
    legend: stage.foot,
    says: [stage.said, stage.told, stage.rest, stage.scored, changes.weigh.node],
    above: true,
  });
  root.querySelector(".controls")?.after(asking.note);
  stage.panels.before(stage.steps);
  stage.foot.before(stage.below);
  root.onkeydown = freeing(model, null, root.onkeydown);
  const age = ageing(changes.node, stage.panels);
  const redraw = () => {
    const raw = model.get("result");
    const [isNew, before, source] = [choice.raw !== null && raw !== choice.raw, choice.best(), choice.result.source];
    stage.draw(raw, roomIn(root));
    const waits = isWaiting(model);
    const isWrong = raw.problem !== "";
    echo.waits = waits;
    age(waits || isWrong, isWrong);
    asking.draw(raw, waits);
    changes.draw(raw);
    changes.paint(!waits && !isWrong);
    stage.explain();
    if (isNew && !waits && (isWrong || !choice.later)) {
      const isChange = choice.history.count() > 0 || sameQuestion(source, raw.source);
      const words = isWrong ? [raw.problem] : echoWords(isChange ? before : null, choice.best(), raw.languages[1]);
      if (!isWrong && changes.again()) asking.note.scrollIntoView({ block: "nearest" });
      echo.answer(changes.line?.node, words);
    }
  };
  /** Draws after a question or an answer, and asks what waits for the answer. */
  const goOn = () => {
    redraw();
    if (isWaiting(model) || model.get("result").problem) return;
    changes.ask();
    if (choice.later) queueMicrotask(() => choice.goOn());
  };
  const afresh = () => {
    choice.raw = null; // before and now are others
    if (data.live && choice.isChanged() && !choice.history.first()) choice.beginChanged(choice.question());
    goOn();
  };
  const follow = () => {
    choice.history.follow(afresh);
    goOn();
  };
  const explain = () => stage.explain();
  return {
    sentence: () => {
      asking.retype();
      follow();
    },
    beam: follow,
    prefix: follow,
    edits: follow,
    links: () => {
      stage.attend();
      redraw();
    },
    result: goOn,
    ablations: () => changes.paint(!isWaiting(model)),
    chosen: redraw,
    step: explain,
    locked: explain,
    resized: redraw,
  };
}
