// AttentionSteps: one attention in five steps. The drawing is in `shared/stepping.js`, for other views, too.

import { layOut, make, roomIn, stepper } from "../shared/elements.js";
import { change, freeing } from "../shared/life.js";
import { steppingPanel } from "../shared/stepping.js";
import { changed } from "./steps_numbers.js";

/** @import { MatrixName } from "../shared/constants.js" */
/** @import { Cell, Model, StepsData, Traits } from "../shared/types.js" */
/** @import { Change } from "../shared/stepping.js" */

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
  const past = pastOf(model);
  const back = [
    make("button", { type: "button", onclick: past.undo }, "Undo"),
    make("button", { type: "button", onclick: () => change(model, { changes: [] }) }, "Reset"),
  ];
  for (const button of back) button.setAttribute("aria-label", `${button.textContent}: the numbers`);
  const drawing = steppingPanel(data, {
    choose,
    lock: (/** @type {Cell | null} */ cell) => change(model, { locked: cell ? [cell.row, cell.column] : [] }),
    adjust: (name, cell, value) => past.turn([name, cell.row, cell.column, value]),
  });
  layOut(root, "attention, step by step", {
    controls: { steps: [...walk.nodes, ...back], "the results of all steps": [drawing.strip] },
    intro: drawing.intro,
    panels: drawing.panels,
    legend: drawing.legend,
    says: [drawing.says],
  });
  root.onkeydown = freeing(model, [], root.onkeydown);
  const redraw = () => {
    walk.set(at());
    drawing.show(at(), model.get("locked"), roomIn(root));
  };
  const renew = () => {
    const changes = model.get("changes");
    past.follow();
    for (const button of back) {
      button.setAttribute("aria-disabled", `${!changes.length}`); // it keeps the focus of the keyboard
      button.tabIndex = changes.length ? 0 : -1;
    }
    drawing.renew(changed(data, changes), changes.at(-1));
  };
  return { step: redraw, locked: () => drawing.mark(model.get("locked")), changes: renew, resized: redraw };
}

/** What Undo goes back to: the changes before each number that was turned, and before whatever else changed them, as a
 * word of the text does, which may change several numbers at once.
 * @param {Model<StepsTraits>} model
 */
function pastOf(model) {
  /** @type {Change[][]} */
  const stack = [];
  let now = model.get("changes");
  let turned = ""; // the number that is being turned: however far, it is one entry
  const take = (/** @type {Change[]} */ changes) => {
    now = changes;
    change(model, { changes });
  };
  return {
    turn(/** @type {Change} */ next) {
      if (placeOf(next) !== turned) stack.push(now);
      turned = placeOf(next);
      take(withChange(now, next));
    },
    undo() {
      turned = "";
      take(stack.pop() ?? now.slice(0, -1)); // of changes that were there at first, the last one
    },
    follow() {
      const changes = model.get("changes");
      if (JSON.stringify(changes) !== JSON.stringify(now)) {
        stack.push(now);
        turned = "";
      }
      now = changes;
      if (!now.length) stack.length = 0;
    },
  };
}

/** The number that a change is about; empty without one.
 * @type {(change: Change | undefined) => string} */
const placeOf = (change) => (change ? change.slice(0, 3).join() : "");

/** The changes with one more; another value of the same number takes the place of the last one.
 * @param {Change[]} changes
 * @param {Change} next
 */
function withChange(changes, next) {
  return [...(placeOf(changes.at(-1)) === placeOf(next) ? changes.slice(0, -1) : changes), next];
}
