// TranslatorView: a sentence, its translation, the attention, and the other candidates at each step. Python translates,
// or the model in the page. Whoever answers: a question is asked by the traits sentence, beam, prefix and edits, and
// the answer comes as the trait result. The form, the changes, the panels and the words are files of their own.

import { Stage } from "./translator_stage.js";
import { layOut, roomIn } from "../shared/elements.js";
import { ageing, fresh, sameQuestion } from "../shared/changes.js";
import { Asking } from "./translator_asking.js";
import { Changes } from "./translator_changes.js";
import { Choice } from "./translator_choice.js";

/** @import { Model } from "../shared/types.js" */
/** @import { Data, TranslatorTraits } from "./translator_choice.js" */

const PHONE = 480; // pixels: a narrower view is on a phone

/**
 * @param {Model<TranslatorTraits>} model
 * @param {HTMLElement} root
 * @param {Data} data
 */
export function build(model, root, data) {
  const choice = new Choice(model, data);
  const id = fresh();
  const asking = new Asking(choice, id, () => redraw());
  const changes = new Changes(choice, id, (target) => stage.point(target));
  const stage = new Stage(root, choice, changes);
  layOut(root, "translate a sentence", {
    controls: { sentence: [asking.form], steps: [...stage.walk.nodes, stage.which] },
    intro: [changes.node],
    panels: stage.panels,
    legend: stage.foot,
    says: [stage.said, stage.told, stage.rest, stage.scored, changes.weigh.node],
    above: true,
  });
  root.querySelector(".controls")?.after(asking.note);
  stage.foot.before(stage.below);
  const age = ageing(changes.node, stage.panels);
  const redraw = () => {
    const raw = model.get("result");
    const room = roomIn(root);
    stage.draw(raw, room);
    const isWaiting = !sameQuestion(raw.asked, Object.values(choice.question()));
    const isWrong = raw.problem !== "";
    age(isWaiting || isWrong, isWrong);
    asking.draw(raw, isWaiting);
    changes.draw(raw);
    changes.paint(!isWaiting && !isWrong);
    stage.explain();
    stage.pin(room < PHONE, asking.submitted && !isWaiting && !isWrong);
    asking.submitted &&= isWaiting;
  };
  const afresh = () => {
    choice.raw = null; // before and now are others
    redraw();
  };
  const follow = () => {
    choice.history.follow(afresh);
    redraw();
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
    result: redraw,
    ablations: () => changes.paint(sameQuestion(model.get("result").asked, Object.values(choice.question()))),
    chosen: redraw,
    step: explain,
    locked: explain,
    resized: redraw,
  };
}
