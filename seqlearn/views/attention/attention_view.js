// AttentionView: small maps of all heads; one head, a mean or several heads, large; the arithmetic of one cell. Python
// computes. What is chosen, what a person changes, and what is drawn are files of their own.

import { tokenAt } from "../shared/attention.js";
import { choice as choiceOf, fill, layOut, make, number, slider } from "../shared/elements.js";
import { Stage, titleOf } from "./attention_stage.js";
import { besideButton, WhatIf } from "./attention_changes.js";
import { Choice, SHOWS, within } from "./attention_choice.js";

const HUNDREDTHS = Array.from({ length: 101 }, (_, at) => number(at / 100));
/** @type {Record<string, number>} */
const BY = { "+": 0.05, "-": -0.05 }; // of a weight
/** The models of the views whose fold is open: an answer builds a view anew.
 * @type {WeakSet<object>} */
const OPEN = new WeakSet();

/** @import { Echo } from "../shared/echo.js" */
/** @import { Model, Show } from "../shared/types.js" */
/** @import { AttentionTraits, Data, Level } from "./attention_choice.js" */

/**
 * @param {Model<AttentionTraits>} model
 * @param {HTMLElement} root
 * @param {Data} data
 * @param {Echo} echo
 */
export function build(model, root, data, echo) {
  const choice = new Choice(model, data);
  const trail = trailOf(choice);
  const controls = controlsOf(choice);
  const beside = besideButton(choice);
  const panels = make("div", { class: "panels looking" });
  const drawChanges = () => {
    beside.draw();
    whatIf?.draw();
  };
  const answered = () => {
    echo.waits = (whatIf?.waiting() ?? null) !== null;
    drawChanges();
  };
  const explain = () => {
    echo.waits = (whatIf?.waiting() ?? null) !== null;
    whatIf?.settle();
    trail.draw();
    drawChanges();
    stage.explain();
  };
  const redraw = () => {
    root.style.setProperty("--heads", `${choice.chosen(null).overlay.length}`); // lines of text
    controls.draw();
    stage.draw();
  };
  const canChange = Object.keys(data.layers).length > 0; // where somebody reads the sentence again
  const whatIf = canChange
    ? new WhatIf(choice, { panels, point: (target) => stage.pointSource(target), explain })
    : null;
  const stage = new Stage(root, panels, choice, whatIf, echo, { redraw, explain });
  const settings = [...controls.nodes, ...(canChange || model.get("other").asked ? [beside.node] : [])];
  layOut(root, "attention: who looks at whom", {
    controls: {},
    intro: [...(whatIf ? [whatIf.rewritten] : []), rowOf(choice, trail.node, settings, whatIf)],
    panels,
    legend: stage.foot,
    says: [stage.said, stage.told],
    above: true,
  });
  listen(root, panels, choice, whatIf);
  redraw();
  if (whatIf && !echo.waits) echo.answer(whatIf.seen(echo.pressed), whatIf.outcomeWords());
  const follow = () => {
    choice.history.follow(explain);
    explain();
  };
  const steps = () => {
    choice.readAnswer();
    stage.key = null;
    redraw();
  };
  return {
    sentence: follow,
    edits: follow,
    result: answered,
    against: redraw,
    other: redraw,
    kind: redraw,
    layer: redraw,
    head: redraw,
    show: redraw,
    threshold: redraw,
    zoom: redraw,
    overlay: redraw,
    steps,
    locked: explain,
    resized: redraw,
  };
}

/** The row above the texts: the zoom, what changes a head, and a fold with the settings; where nothing can be changed,
 * there is room for the settings.
 * @param {Choice} choice
 * @param {Node} trail
 * @param {Node[]} settings
 * @param {WhatIf | null} whatIf
 */
function rowOf({ model }, trail, settings, whatIf) {
  const label = { class: "controls zooming", role: "group", "aria-label": "settings" };
  if (!whatIf) return make("div", label, trail, ...settings);
  const fold = make("details", { class: "fold", open: OPEN.has(model) }, make("summary", {}, "more"));
  fold.addEventListener("toggle", () => (fold.open ? OPEN.add(model) : OPEN.delete(model)));
  const folded = make("div", { class: "folded" }, ...settings, whatIf.bar.python);
  return make("div", label, trail, whatIf.ablate, whatIf.alone, fold, folded);
}

/** What of a head is shown, and from which weight on there are lines: gives { nodes, draw }.
 * @param {Choice} choice
 */
function controlsOf(choice) {
  const { model } = choice;
  const shows = /** @type {Show[]} */ (Object.keys(SHOWS));
  const show = choiceOf({
    label: "show",
    texts: Object.values(SHOWS),
    choose: (text) => choice.pick({ overlay: [], show: shows.find((name) => SHOWS[name] === text) }),
  });
  const lines = slider({
    label: "lines from weight",
    texts: HUNDREDTHS,
    choose: (at) => choice.pick({ threshold: at / 100 }),
  });
  const compare = () => {
    const { overlay, layer, head } = choice.chosen();
    choice.pick(overlay.length ? { overlay: [] } : { overlay: [[layer, head]], show: "head", zoom: "heads" });
  };
  const together = make(
    "button",
    { type: "button", class: "together", "aria-label": "compare heads", "aria-pressed": "false", onclick: compare },
    "compare heads",
  );
  const draw = () => {
    const { map, show: shown, overlay } = choice.chosen();
    show.set(SHOWS[shown]);
    show.node.querySelector("option:last-child")?.toggleAttribute("disabled", !map.rollout);
    lines.set(Math.round(100 * model.get("threshold")));
    together.setAttribute("aria-pressed", `${overlay.length > 0}`);
  };
  return { nodes: [show.node, lines.node, ...(choice.several ? [together] : [])], draw };
}

/** The levels of zoom, a button each: gives { node, draw }.
 * @param {Choice} choice
 */
function trailOf(choice) {
  const node = make("nav", { class: "trail", "aria-label": "zoom" });
  const crumb = (/** @type {Level} */ level) => {
    const { map, show, layer, head, overlay } = choice.chosen(null);
    if (level === "heads") return ["all heads"];
    const [of, at] = overlay[0] ?? [layer, head];
    const one = show === "head" ? `${map.kind} ${of}.${at}` : `${map.kind}: ${titleOf(show, of, at)}`;
    if (level === "head") return [overlay.length > 1 ? `${map.kind}: ${overlay.length} heads` : one];
    if (show !== "head" || (!choice.model.get("locked") && choice.zoom() !== "cell")) return ["one cell"];
    const [row, column] = choice.cellOfZoom();
    return [...tokenAt(map.queries, row), " → ", ...tokenAt(map.keys, column)];
  };
  /** @type {Map<Level, HTMLButtonElement>} */
  const buttons = new Map();
  let drawn = "";
  const draw = () => {
    const levels = choice.levels();
    if (levels.join() !== drawn) {
      drawn = levels.join();
      buttons.clear();
      for (const level of levels.length > 1 ? levels : [])
        buttons.set(level, make("button", { type: "button", "data-level": level, onclick: () => choice.goTo(level) }));
      const items = [...buttons.values()].map((button) => make("li", {}, button));
      node.replaceChildren(...(items.length ? [make("ol", {}, ...items)] : []));
    }
    for (const [level, button] of buttons) {
      button.replaceChildren(...crumb(level));
      const now = level === choice.zoom() ? "step" : "false";
      fill(button, { "aria-label": `zoom to ${button.textContent}`, "aria-current": now }, []);
    }
  };
  return { node, draw };
}

/** The keys of the view.
 * @param {HTMLElement} root
 * @param {HTMLElement} panels
 * @param {Choice} choice
 * @param {WhatIf | null} whatIf
 */
function listen(root, panels, choice, whatIf) {
  const isFree = () => !choice.locked() || choice.zoom() === "cell";
  panels.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || !isFree()) return;
      choice.go(-1); // before the parts of the panels hear of the key
      event.preventDefault();
      event.stopPropagation();
    },
    true,
  );
  root.onkeydown = (event) => {
    const target = /** @type {Element} */ (event.target);
    if (target.matches("input, select") && event.key !== "Escape") return;
    if (event.key === "Escape" && !event.defaultPrevented) {
      if (isFree()) choice.go(-1);
      else choice.pick({ locked: null });
    } else if (event.key in BY && whatIf?.press(BY[event.key])) event.preventDefault();
    else if (event.key === "Backspace" && choice.go(-1)) event.preventDefault();
    else if (!target.matches(".heads *") && passLayer(choice, event.key)) event.preventDefault();
  };
  root.onkeyup = () => whatIf?.release();
}

/** PageUp and PageDown go to another layer; gives whether the key was one of them.
 * @param {Choice} choice
 * @param {string} key
 */
function passLayer(choice, key) {
  if (key !== "PageUp" && key !== "PageDown") return false;
  const { map, show, layer, head } = choice.chosen();
  const to = within(layer + (key === "PageUp" ? -1 : 1), map.weights.shape[0]);
  choice.pick({ layer: to, head, show: show === "layer" ? show : "head" });
  return true;
}
