// AttentionSteps: one attention in five steps. The drawing is in `shared/stepping.js`, for other views, too.

import { layOut, roomIn, stepper } from "../shared/elements.js";
import { change } from "../shared/life.js";
import { steppingPanel } from "../shared/stepping.js";

/** @import { Cell, Model, StepsData, Traits } from "../shared/types.js" */

/**
 * @param {Model<Traits & { step: number, locked: number[] }>} model
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
  const drawing = steppingPanel(data, {
    choose,
    lock: (/** @type {Cell | null} */ cell) => change(model, { locked: cell ? [cell.row, cell.column] : [] }),
  });
  layOut(root, "attention, step by step", {
    controls: { steps: walk.nodes, "the results of all steps": [drawing.strip] },
    intro: drawing.intro,
    panels: drawing.panels,
    legend: drawing.legend,
    says: [drawing.says],
  });
  const redraw = () => {
    walk.set(at());
    drawing.show(at(), model.get("locked"), roomIn(root));
  };
  return { step: redraw, locked: () => drawing.mark(model.get("locked")), resized: redraw };
}
