// AttentionSteps: one attention in five steps. The drawing is in `shared/stepping.js`, for other views, too.

import { layOut, make, roomIn, stepper } from "../shared/elements.js";
import { change } from "../shared/life.js";
import { steppingPanel } from "../shared/stepping.js";
import { changed } from "./steps_numbers.js";

/** @import { MatrixName } from "../shared/constants.js" */
/** @import { Cell, Model, StepsData, Traits } from "../shared/types.js" */
/** @import { Change } from "./steps_numbers.js" */

/** @typedef {Traits & { step: number, locked: number[], changes: Change[] }} StepsTraits */

/**
 * @param {Model<StepsTraits>} model
 * @param {HTMLElement} root
 * @param {StepsData} data
 */
export function build(model, root, data) {
  const { steps } = data;
  const at = () => Math.min(Math.max(model.get("step"), 0), steps.length - 1);
  const choose = (/** @type {number} */ step) => change(model, { step });
  const walk = stepper(root, {
    texts: steps.map(({ name }, i) => `step ${i + 1} of ${steps.length}: ${name}`),
    choose,
  });
  const take = (/** @type {Change[]} */ changes) => change(model, { changes });
  const back = [
    make("button", { type: "button", onclick: () => take(model.get("changes").slice(0, -1)) }, "Undo"),
    make("button", { type: "button", onclick: () => take([]) }, "Reset"),
  ];
  for (const button of back) button.setAttribute("aria-label", `${button.textContent}: the numbers`);
  const drawing = steppingPanel(data, {
    choose,
    lock: (/** @type {Cell | null} */ cell) => change(model, { locked: cell ? [cell.row, cell.column] : [] }),
    adjust: (name, cell, value) => take(withChange(model.get("changes"), [name, cell.row, cell.column, value])),
  });
  layOut(root, "attention, step by step", {
    controls: { steps: [...walk.nodes, ...back], "the results of all steps": [drawing.strip] },
    intro: drawing.intro,
    panels: drawing.panels,
    legend: drawing.legend,
    says: [drawing.says],
  });
  const redraw = () => {
    walk.set(at());
    drawing.show(at(), model.get("locked"), roomIn(root));
  };
  const renew = () => {
    const changes = model.get("changes");
    for (const button of back) {
      button.setAttribute("aria-disabled", `${!changes.length}`); // it keeps the focus of the keyboard
      button.tabIndex = changes.length ? 0 : -1;
    }
    drawing.renew(changed(data, changes));
  };
  return { step: redraw, locked: () => drawing.mark(model.get("locked")), changes: renew, resized: redraw };
}

/** The changes with one more; another value of the same number takes the place of the last one.
 * @param {Change[]} changes
 * @param {Change} next
 */
function withChange(changes, next) {
  const place = (/** @type {Change | undefined} */ one) => one?.slice(0, 3).join();
  return [...(place(changes.at(-1)) === place(next) ? changes.slice(0, -1) : changes), next];
}
