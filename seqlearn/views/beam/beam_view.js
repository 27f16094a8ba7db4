// BeamView: the tree of a beam search, step by step. Python searches and lays the tree out; here it is drawn.

import { answerOf, isWaiting } from "../shared/asking.js";
import { SIGNS } from "../shared/constants.js";
import { draw, focusIn, inPixels, layOut, legendOf, lockNote, make, number, oneLine } from "../shared/elements.js";
import { pointHint, roomIn, slider, stepper, tell, token, unknownText } from "../shared/elements.js";
import { chance, whyNot } from "../shared/changes.js";
import { change, freeing } from "../shared/life.js";

/** @import { Echo } from "../shared/echo.js" */
/** @import { Child, Model, Traits } from "../shared/types.js" */

/** @typedef {"kept" | "complete" | "beaten" | "pruned"} Fate */

/** What `tree_data` of beam_data.py returns of a node, and its name, which is its tokens. parent: an index.
 * @typedef {{
 *   token: number,
 *   text: string,
 *   parent: number,
 *   step: number,
 *   row: number,
 *   bend: number,
 *   fate: Fate,
 *   log_prob: number,
 *   total: number,
 *   score: number,
 *   name: string,
 * }} TreeNode
 */

/** @typedef {{ penalty: number, omitted: number } & Record<Fate, number>} Step */

/** A tree. best, greedy: the indices of the nodes of the best sentence, and of those that greedy search chooses. pitch:
 * pixels from a step to the next.
 * @typedef {{ nodes: TreeNode[], steps: Step[], rows: number, best: number[], greedy: number[], pitch: number }} Tree
 */

/** What is searched.
 * @typedef {{ sentence: string | null, width: number, alpha: number }} Question */

/** A tree as Python sends it, with a list for each property of the nodes. unknown: the words that the model never saw.
 * @typedef {Omit<Tree, "nodes" | "pitch"> & Question & {
 *   unknown?: string[],
 *   nodes: { [Name in Exclude<keyof TreeNode, "name">]: TreeNode[Name][] },
 * }} Found
 */

/** Why there is no tree.
 * @typedef {Question & { problem: string }} Refused */

/** typed: whether somebody answers who types another sentence.
 * @typedef {{ widths: number[], alphas: number[], typed: boolean }} Data */

/** locked: the tokens of a node.
 * @typedef {Model<Traits & {
 *   trees: (Found | Refused)[],
 *   sentence: string | null,
 *   probabilities: boolean,
 *   width: number,
 *   alpha: number,
 *   step: number,
 *   locked: number[] | null,
 * }>} BeamModel
 */

/** @typedef {{ found: Found, tree: Tree, forest: ReturnType<typeof forest> }} Shown */

/** Which numbers are drawn: log-probabilities, which are added, or probabilities, which are multiplied.
 * @typedef {"log-probabilities" | "probabilities"} Numbers */

/** What the view shows now. hovered: the index of a node. rows: of the largest tree that was shown, so that a smaller
 * one moves nothing.
 * @typedef {{ shown: Shown | null, hovered: number | null, rows: number }} State */

const BOX = { width: 102, start: 52, height: 40, down: 52, top: 28, left: 4 };
// The least scale of a tree that fits without scrolling, and the border and padding around it, in pixels.
const [LEAST, FRAME] = [0.85, 8];
// Pixels of a line, of probability 0 and 1, and at least so many on the path to a node. Between two steps there is room
// where the lines turn, and then room for the numbers, whose letters have so many pixels.
const EDGE = { thin: 1, thick: 5, lit: 3, turns: 24, gap: 76, letter: 5.8 };
const FAINTEST = 0.65; // opacity of a line: of the faint colour, too, enough to be seen in both themes
/** @type {Record<Fate, string>} */
const FATES = {
  kept: "among the best of its step, so the search extends this sentence", // not "kept": so is a node that is clicked
  complete: "complete: the sentence ends here and is set aside",
  beaten: "beaten: among the best, but no continuation could win any more",
  pruned: "pruned: not among the best of its step, and dropped",
};

/**
 * @param {BeamModel} model
 * @param {HTMLElement} root
 * @param {Data} data
 * @param {Echo} echo
 */
export function build(model, root, data, echo) {
  /** @type {State} */
  const state = { shown: null, hovered: null, rows: 0 };
  const numbers = () => /** @type {Numbers} */ (model.get("probabilities") ? "probabilities" : "log-probabilities");
  const last = () => state.shown?.tree.steps.length ?? 0;
  const at = () => Math.min(Math.max(model.get("step"), 0), last());
  const walk = stepper(root, {
    texts: [""],
    slides: true,
    choose: (step) => {
      change(model, { step });
      state.shown?.forest.reveal(at());
    },
  });
  root.onkeydown = freeing(model, null, root.onkeydown);
  const asking = askingFor(model, data);
  const again = searches(model, data);
  const multiplied = numbersSwitch(model);
  const panels = make("div", { class: "panels" });
  const [legend, told, story] = [make("div"), make("div"), narrator()];
  layOut(root, "beam search, step by step", {
    controls: {
      sentence: [asking.form],
      search: again.nodes,
      steps: [...walk.nodes, make("label", { class: "control" }, multiplied, "probabilities")],
    },
    intro: [asking.note, story.node],
    panels,
    legend,
    says: [told],
  });

  const explain = () => {
    if (!state.shown) return;
    const { tree, forest } = state.shown;
    const seen = (/** @type {number | null} */ index) =>
      index !== null && tree.nodes[index].step <= at() ? index : null;
    const locked = seen(indexOf(tree, model.get("locked")));
    const index = locked ?? seen(state.hovered);
    forest.mark(index, locked);
    tell(told, ...(index === null ? [hint()] : sentence(tree, index, numbers(), locked !== null)));
  };
  const grow = () => {
    if (!state.shown) return;
    const steps = Array.from({ length: last() + 1 }, (_, i) => `${i} of ${last()}`);
    walk.set(at(), steps);
    state.shown.forest.grow(at());
    story.show(state.shown.tree, at(), numbers());
    explain();
  };
  const count = () => {
    legend.replaceChildren(meaning(numbers(), data.alphas.length > 0));
    state.shown?.forest.write(numbers());
    grow();
  };
  const plant = (/** @type {Found} */ found) => {
    const all = state.shown !== null && at() === last();
    state.shown = planted(model, state, found, panels, { explain, at, room: () => roomIn(root) });
    if (all || model.get("step") > last()) change(model, { step: last() }); // a page without Python
  };
  const redraw = () => {
    const found = /** @type {Found | Refused | undefined} */ (answerOf(model, "trees"));
    const other = otherStory(model);
    again.set(model.get("width"), model.get("alpha"));
    multiplied.checked = model.get("probabilities");
    asking.set(found, other);
    root.classList.toggle("other-story", other !== null);
    panels.classList.toggle("waiting", !found);
    echo.waits = !found;
    if (found && "problem" in found) return story.say("The tree is that of the former sentence.");
    if (!found) return story.say(waitText(model.get("width"), model.get("alpha")));
    if (found !== state.shown?.found) plant(found);
    return count();
  };
  const step = () => {
    if (isWaiting(model, "trees")) return;
    grow();
    state.shown?.forest.reveal(at());
  };
  const resized = () => state.shown?.forest.resized(roomIn(root));
  const probabilities = redraw;
  return {
    trees: redraw,
    sentence: redraw,
    width: redraw,
    alpha: redraw,
    probabilities,
    step,
    locked: explain,
    resized,
  };
}

/** The sentence of the text above the view, whose words ask for it; null if it is the one that is searched.
 * @param {BeamModel} model
 */
function otherStory(model) {
  const asked = (model.get("told") ?? [])
    .map(([, traits]) => traits?.sentence)
    .filter((one) => typeof one === "string");
  return asked.includes(model.get("sentence") ?? "") ? null : (asked[0] ?? null);
}

/** Draws a tree in place of the former one, and keeps the place where the learner looks.
 * @param {BeamModel} model
 * @param {State} state
 * @param {Found} found
 * @param {HTMLElement} panels
 * @param {{ explain: () => void, at: () => number, room: () => number }} deeds
 * @returns {Shown}
 */
function planted(model, state, found, panels, { explain, at, room }) {
  const focused = panels.contains(focusIn(panels));
  const nodes = nodesOf(found.nodes);
  const tree = { ...found, nodes, pitch: pitchOf(nodes) };
  const before = state.shown?.forest.place();
  const point = (/** @type {number | null} */ index) => {
    if (index === state.hovered) return;
    state.hovered = index;
    explain();
  };
  const lock = (/** @type {number | null} */ index) =>
    change(model, { locked: index === null ? null : pathOf(tree, index).map((i) => tree.nodes[i].token) });
  const isGuided = focusIn(panels)?.closest(".told"); // and not a slider, below which nothing may move
  state.rows = Math.max(isGuided ? 0 : state.rows, tree.rows);
  const grown = forest(tree, { point, lock, at }, state.rows);
  state.hovered = null;
  panels.replaceChildren(grown.node);
  grown.resized(room());
  if (before) grown.stay(before);
  if (focused) grown.node.focus({ focusVisible: true });
  return { found, tree, forest: grown };
}

/** The source sentence: a box for another one, where somebody answers, and a note; otherwise a text, or nothing.
 * @param {BeamModel} model
 * @param {Data} data
 */
function askingFor(model, { typed }) {
  const note = make("div", { class: typed ? "note" : "source", "aria-live": "polite" });
  const box = make("input", {
    type: "text",
    "aria-label": "sentence to search",
    autocomplete: "off",
    spellcheck: "false",
  });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    change(model, { sentence: box.value });
  };
  const search = make("button", { type: "submit" }, "Search");
  const form = typed ? make("form", { class: "searched", onsubmit: submit }, box, search) : null;
  const set = (/** @type {Found | Refused | undefined} */ found, /** @type {string | null} */ story) => {
    const sentence = model.get("sentence");
    const problem = found && "problem" in found ? found.problem : "";
    const unknown = (found && "unknown" in found && found.unknown) || [];
    if (box.value !== sentence) box.value = sentence ?? "";
    box.setAttribute("aria-invalid", String(problem !== ""));
    note.classList.toggle("wrong", problem !== "" || unknown.length > 0);
    note.hidden = !typed && sentence === null;
    if (!typed) tell(note, "Source: ", token(sentence ?? ""));
    else if (problem) tell(note, `${problem} Below is the tree of the former sentence.`);
    else if (unknown.length) tell(note, ...unknownText(unknown));
    else if (story) tell(note, "The text above is about “", token(story), "”.");
    else tell(note, make("span", { class: "faint" }, "Type a sentence, and press Enter."));
  };
  return { form, note, set };
}

/** The switch between log-probabilities and probabilities.
 * @param {BeamModel} model
 */
function numbersSwitch(model) {
  const box = make("input", { type: "checkbox", "aria-label": "show probabilities" });
  box.addEventListener("change", () => change(model, { probabilities: box.checked }));
  return box;
}

/** The sliders for another search: the nodes of those with a choice, and set(width, alpha).
 * @param {BeamModel} model
 * @param {Data} data
 */
function searches(model, { widths, alphas }) {
  const width = slider({
    label: "beam width",
    texts: widths.map(String),
    choose: (i) => change(model, { width: widths[i] }),
  });
  const alpha = slider({
    label: "length penalty α",
    texts: alphas.map(number),
    choose: (i) => change(model, { alpha: alphas[i] }),
  });
  for (const [node, { length }] of /** @type {[HTMLElement, unknown[]][]} */ ([
    [width.node, widths],
    [alpha.node, alphas],
  ])) {
    node.classList.add("few-stops");
    node.style.setProperty("--stops", String(length));
  }
  return {
    nodes: [widths.length > 1 && width.node, alphas.length > 1 && alpha.node],
    set(/** @type {number} */ chosenWidth, /** @type {number} */ chosenAlpha) {
      if (widths.length) width.set(widths.indexOf(chosenWidth));
      if (alphas.length) alpha.set(alphas.indexOf(chosenAlpha));
    },
  };
}

/**
 * @param {number} width
 * @param {number} alpha
 */
const waitText = (width, alpha) =>
  `Width ${width} with α = ${number(alpha)} is not searched yet: ${whyNot()}. The tree is that of the former search.`;

const hint = () => pointHint("a node", "read its sentence", { steps: true });

/** Two decimals in the tree; in the explanation, more digits of a small number, and no power of ten.
 * @param {number} x
 */
const fixed = (x) =>
  x
    .toFixed(2)
    .replace(/^-0.00$/, "0.00")
    .replace("-", "−");
/** @param {number} x */
function exact(x) {
  const size = Math.abs(x);
  if (size >= 0.1) return number(x);
  if (size > 5e-5) return String(Number(x.toFixed(4))).replace("-", "−");
  return size < 1e-6 ? "0" : x.toFixed(6).replace("-", "−");
}
/** The number at a line, and that in a box: the score, or the probability of the sentence so far.
 * @type {Record<Numbers, { line: (node: TreeNode) => string, box: (node: TreeNode) => string }>} */
const WRITTEN = {
  "log-probabilities": { line: ({ log_prob }) => fixed(log_prob), box: ({ score }) => fixed(score) },
  probabilities: { line: ({ log_prob }) => chance(Math.exp(log_prob)), box: ({ total }) => chance(Math.exp(total)) },
};
/** @param {number[]} list */
const equals = (list) =>
  list.every((x) => Math.abs(Number(exact(x).replaceAll("−", "-")) - x) <= 1e-6 * Math.abs(x)) ? "=" : "≈";

/** The nodes as a list; a node comes after its parent.
 * @param {Found["nodes"]} columns
 */
function nodesOf(columns) {
  /** @type {TreeNode[]} */
  const nodes = [];
  for (const i of columns.token.keys()) {
    const values = Object.entries(columns).map(([name, column]) => [name, column[i]]);
    const node = /** @type {TreeNode} */ (Object.fromEntries(values));
    node.name = i ? [nodes[node.parent].name, node.token].filter((part) => part !== "").join() : "";
    nodes.push(node);
  }
  return nodes;
}

/** The index of the node with these tokens, or null.
 * @param {Tree} tree
 * @param {number[] | null} tokens
 */
function indexOf({ nodes }, tokens) {
  const index = tokens ? nodes.findIndex((node) => node.name === tokens.join()) : -1;
  return index < 0 ? null : index;
}

/** The nodes from the first token to this one.
 * @param {Tree} tree
 * @param {number} index
 * @returns {number[]}
 */
function pathOf(tree, index) {
  return index ? [...pathOf(tree, tree.nodes[index].parent), index] : [];
}

/**
 * @param {Tree} tree
 * @param {number[]} path
 */
const words = ({ nodes }, path) => path.flatMap((i, place) => [place ? " " : "", token(nodes[i].text)]);

/** What is said of a step, above the tree. */
function narrator() {
  const said = make("div", { "aria-live": "polite" });
  const longest = make("div", { "aria-hidden": "true" }); // keeps the height of what the last step says
  return {
    node: make("div", { class: "narration" }, said, longest),
    say: (/** @type {string} */ text) => tell(said, text),
    show(/** @type {Tree} */ tree, /** @type {number} */ step, /** @type {Numbers} */ numbers) {
      tell(said, ...narration(tree, step, numbers));
      tell(longest, ...narration(tree, tree.steps.length, numbers));
    },
  };
}

/** A step in words; after the last step, the best sentence, and whether greedy search finds the same one.
 * @param {Tree} tree
 * @param {number} step
 * @param {Numbers} numbers
 * @returns {Child[]}
 */
function narration(tree, step, numbers) {
  const { steps, nodes, best, greedy } = tree;
  const others = steps.length - step > 1 ? `steps ${step + 1} to ${steps.length}` : `step ${steps.length}`;
  const later = step < steps.length ? ` The faint boxes are ${others}, still to come.` : "";
  if (step === 0) return [`Step 0: one empty sentence, from which all others grow.${later}`];
  const fates = /** @type {Fate[]} */ (Object.keys(FATES)).filter((fate) => steps[step - 1][fate]);
  const counts = fates.map((fate) => `${steps[step - 1][fate]} ${fate}`).join(", ");
  /** @type {Child[]} */
  const parts = [
    `Step ${step}: each kept sentence gets one more token. The likeliest extensions: ${counts}.${later || " "}`,
  ];
  if (later || !best.length) return parts;
  const [bestEnd, end] = [best[best.length - 1], greedy[greedy.length - 1]];
  const scored = (/** @type {number} */ i) => {
    const score = `score ${fixed(nodes[i].score)}`;
    if (numbers === "log-probabilities") return score;
    const isSame = steps[nodes[i].step - 1].penalty === 1;
    return `probability ${WRITTEN[numbers].box(nodes[i])}${isSame ? "" : ` (${score})`}`;
  };
  parts.push("Best sentence ★: ", ...words(tree, best), `, ${scored(bestEnd)}. `);
  if (end === bestEnd) return [...parts, "Greedy search (G) finds the same."];
  if (nodes[end].fate === "complete")
    return [...parts, "Greedy search (G) finds ", ...words(tree, greedy), `, ${scored(end)}.`];
  return [
    ...parts,
    "Greedy search (G) begins with ",
    ...words(tree, greedy),
    `, which is ${nodes[end].fate} at step ${nodes[end].step}.`,
  ];
}

/** The sentence of a node, and its arithmetic.
 * @param {Tree} tree
 * @param {number} index
 * @param {Numbers} numbers
 * @param {boolean} isLocked
 * @returns {Child[]}
 */
function sentence(tree, index, numbers, isLocked) {
  const lock = lockNote(isLocked);
  const start = numbers === "probabilities" ? "the probability is 1" : "the total is 0";
  if (!index) return [make("div", {}, `The start: nothing is written yet, and ${start}.`, lock)];
  const { fate } = tree.nodes[index];
  return [
    make("div", {}, ...words(tree, pathOf(tree, index)), ` – ${FATES[fate]}.`, lock),
    make("div", {}, ...(numbers === "probabilities" ? productText(tree, index) : sumText(tree, index))),
  ];
}

/** How the score of a node is added up.
 * @param {Tree} tree
 * @param {number} index
 * @returns {Child[]}
 */
function sumText({ nodes, steps }, index) {
  const { parent, step, log_prob, total, score, text } = nodes[index];
  const { penalty } = steps[step - 1];
  const before = nodes[parent].total;
  const added = log_prob < 0 ? `(${exact(log_prob)})` : 0;
  const p = Math.exp(log_prob);
  const share = `${equals([log_prob])} ${exact(log_prob)}, a probability of ${p < 0.005 ? chance(p) : percent(p)}.`;
  const sum = `${exact(before)} + ${added} ${equals([before, log_prob, total])} ${exact(total)}`;
  const quotient = `${exact(total)} / ${exact(penalty)} ${equals([total, penalty, score])} ${exact(score)}`;
  return ["log p(", token(text), `) ${share} Total: ${sum}. Score: total / penalty of length ${step} = ${quotient}.`];
}

/** The same with probabilities, which multiply: their logarithms add up.
 * @param {Tree} tree
 * @param {number} index
 * @returns {Child[]}
 */
function productText({ nodes, steps }, index) {
  const { parent, step, log_prob, total, score, text } = nodes[index];
  const { penalty } = steps[step - 1];
  const [before, p, product] = [nodes[parent].total, log_prob, total].map(Math.exp);
  const made = `${digits(before)} · ${digits(p)} ≈ ${digitsOf(product)}`;
  const divided =
    penalty === 1
      ? ""
      : ` Its logarithm, divided by the penalty of length ${step}, is the score: ` +
        `${exact(total)} / ${exact(penalty)} ≈ ${exact(score)}.`;
  return ["p(", token(text), `) ≈ ${digitsOf(p)}. Probability of the sentence so far: ${made}.${divided}`];
}

const percent = (/** @type {number} */ p) => `${number(100 * p)} %`;

/** A probability with 3 digits: products can be checked.
 * @param {number} p
 */
const digits = (p) => (p >= 1e-6 ? String(Number(p.toPrecision(3))) : chance(p));

/** The same, and a small one as the tree writes it. */
const digitsOf = (/** @type {number} */ p) => (p < 0.005 && p >= 1e-6 ? `${digits(p)} (${chance(p)})` : digits(p));

/** The width of a line, in pixels.
 * @param {number} probability
 */
const thickness = (probability) => EDGE.thin + (EDGE.thick - EDGE.thin) * probability;

/** The legend.
 * @param {Numbers} numbers
 * @param {boolean} hasPenalty whether the search divides by a length penalty with an α
 */
function meaning(numbers, hasPenalty) {
  const isLog = numbers === "log-probabilities";
  const sign = (/** @type {string} */ name, /** @type {string} */ text) =>
    make("span", { class: name, "aria-hidden": "true" }, text);
  const fate = (/** @type {Fate | "best"} */ name) => sign(`fate ${name}`, name === "best" ? "★" : SIGNS[name]);
  const wide = [0, 0.5, 1].map((share, i) => draw("path", { d: `M${16 * i} 6h14`, "stroke-width": thickness(share) }));
  return legendOf(
    [fate("kept"), "kept"],
    [fate("complete"), "complete"],
    [fate("beaten"), "beaten: cannot win any more"],
    [fate("pruned"), "pruned"],
    [fate("best"), "best"],
    [sign("greedy", "G"), "greedy's choice: the likeliest token"],
    [
      draw("svg", { class: "probable", width: 46, height: 12, "aria-hidden": "true" }, ...wide),
      `width of a line: probability of the token, 0, ½ and 1; its number: the ${isLog ? "log-" : ""}probability; ` +
        "faint: a score far from the best",
    ],
    ["", `in a box: ${isLog ? "score" : "probability"} of the sentence so far`],
    hasPenalty && ["", "score: the log-probability divided by ((5 + length) / 6)^α"],
  );
}

// ---- The drawing ----------------------------------------------------------------------------------------------------

/** What the learner does in the tree, and the current step.
 *
 * point: called with the node under the mouse or the arrow keys, or null. lock: called after a click or Enter.
 * @typedef {{ point: (index: number | null) => void, lock: (index: number | null) => void, at: () => number }} Deeds
 */

/** The drawn tree. cursor: the node of the keys. held: the one that is locked. follows: whether the current step is in
 * sight, and has to stay in sight. scale: how large the tree is drawn.
 * @typedef {Deeds & {
 *   tree: Tree,
 *   boxes: HTMLElement[],
 *   node: HTMLElement,
 *   cursor: number,
 *   held: number | null,
 *   follows: boolean,
 *   scale: number,
 * }} Forest
 */

const wideAt = (/** @type {number} */ step) => (step ? BOX.width : BOX.start);
const across = (/** @type {Tree} */ { pitch }, /** @type {number} */ step) =>
  BOX.left + (step && BOX.start - BOX.width + step * pitch);
/** As wide as the longest number at a line needs it, of either kind: a tick moves nothing.
 * @param {TreeNode[]} nodes */
function pitchOf(nodes) {
  const letters = Math.max(...nodes.map((node) => WRITTEN.probabilities.line(node).length));
  return BOX.width + Math.max(EDGE.gap, EDGE.turns + EDGE.letter * letters + 8);
}
const down = (/** @type {number} */ row) => BOX.top + row * BOX.down;
const heightOf = (/** @type {number} */ rows) => down(rows) + 14;

/** The tree.
 * @param {Tree} tree
 * @param {Deeds} deeds
 * @param {number} rows for which there is room, at least those of the tree
 */
function forest(tree, deeds, rows) {
  const { nodes, steps } = tree;
  const { at } = deeds;
  const id = `beam${Math.random().toString(36).slice(2)}-`;
  const drawn = nodes.map((_, i) => boxOf(tree, i, id + i));
  const boxes = drawn.map(({ box }) => box);
  const edges = edgesOf(tree);
  const { inner, size, heads, feet, coming, lit } = groundOf(tree, boxes, edges);
  const node = make(
    "div",
    {
      class: "tree",
      role: "tree",
      tabindex: 0,
      "aria-label": "the search tree. Left: parent, right: child, up and down: same step, Enter keeps.",
    },
    inner,
  );
  /** @type {Forest} */
  const it = { ...deeds, tree, boxes, node, cursor: 0, held: null, follows: false, scale: 1 };
  listen(it);
  return {
    node,
    reveal(/** @type {number} */ step) {
      reveal(it, step);
      const isLeft = edgesAt(it, nodes[it.cursor].step)[0] < node.scrollLeft; // the keys go on where the person looks
      if (isLeft && it.held === null && focusIn(node) === node) move(it, column(it, step)[0]);
    },
    /** Where the learner looks, for another tree in the same place. */
    place: () => ({ left: node.scrollLeft, follows: isInSight(it) }),
    stay(/** @type {{ left: number, follows: boolean }} */ before) {
      node.scrollLeft = before.left;
      if (before.follows) reveal(it, at());
      it.follows = before.follows;
    },
    /** A tree that nearly fits is drawn a little smaller, and nothing of it is cut off. */
    resized(/** @type {number} */ room) {
      const fitting = (room - FRAME) / size.width;
      it.scale = fitting < LEAST ? 1 : Math.min(fitting, 1);
      Object.assign(inner.style, { zoom: String(it.scale), ...inPixels({ minHeight: heightOf(rows) / it.scale }) });
      if (it.follows) reveal(it, at());
      it.follows = isInSight(it);
    },
    write(/** @type {Numbers} */ numbers) {
      for (const { write } of drawn) write(WRITTEN[numbers]);
      for (const [i, edge] of edges.entries()) {
        const text = edge.querySelector("text");
        if (text) text.textContent = WRITTEN[numbers].line(nodes[i]);
      }
    },
    /** Show the nodes of the first steps; the best path is marked only after the last step. */
    grow(/** @type {number} */ step) {
      for (const part of [boxes, edges])
        for (const [i, one] of part.entries()) one.classList.toggle("later", !isOpen(it, i));
      for (const [i, rect] of coming.entries()) rect.classList.toggle("later", isOpen(it, i));
      for (const [i, foot] of feet.entries()) foot.classList.toggle("later", i >= step);
      for (const [i, head] of heads.entries()) head.classList.toggle("now", i + 1 === step);
      inner.classList.toggle("done", step === steps.length);
      while (!isOpen(it, it.cursor)) it.cursor = nodes[it.cursor].parent;
    },
    mark(/** @type {number | null} */ index, /** @type {number | null} */ held) {
      mark(it, edges, index, held);
      lit.replaceChildren(...edges.filter((edge) => edge.matches(".on")).flatMap(litOf)); // over all other lines
    },
  };
}

/** What boxes stand on: the lines with their numbers, the numbers of the steps, and faint boxes for what is to come.
 * @param {Tree} tree
 * @param {HTMLElement[]} boxes
 * @param {SVGElement[]} edges
 */
function groundOf(tree, boxes, edges) {
  const { nodes, steps, rows } = tree;
  const note = (
    /** @type {string} */ name,
    /** @type {number} */ i,
    /** @type {number} */ y,
    /** @type {string} */ text,
  ) => draw("text", { class: name, x: across(tree, i + 1) + BOX.width / 2, y, "text-anchor": "middle" }, text);
  const heads = steps.map((_, i) => note("number", i, 16, String(i + 1)));
  const feet = steps.map(({ omitted }, i) => note("foot", i, down(rows) + 6, omitted ? `… ${omitted} more ×` : ""));
  const coming = nodes.map(({ step, row }) => {
    const place = {
      x: across(tree, step) + 0.5,
      y: down(row) + 0.5,
      width: wideAt(step) - 1,
      height: BOX.height - 1,
      rx: 3,
    };
    return draw("rect", { class: "coming", ...place });
  });
  const size = { width: across(tree, steps.length) + BOX.width + 6, height: heightOf(rows) };
  const lit = draw("g", { class: "lit" });
  const lines = [...inLayers(tree, edges), lit];
  const svg = draw("svg", { ...size, "aria-hidden": "true" }, ...coming, ...lines, ...heads, ...feet);
  const inner = make("div", { class: "inner", role: "none" }, svg, ...boxes);
  Object.assign(inner.style, inPixels(size));
  return { inner, size, heads, feet, coming, lit };
}

/** A line once more, for the path to a node; the start has none.
 * @param {SVGElement} edge
 */
function litOf(edge) {
  const [d, wide] = ["d", "stroke-width"].map((name) => edge.querySelector("path")?.getAttribute(name));
  return d ? [draw("path", { d, "stroke-width": Math.max(EDGE.lit, Number(wide)) })] : [];
}

/** Marks the path to a node.
 * @param {Forest} forest
 * @param {SVGElement[]} edges
 * @param {number | null} index
 * @param {number | null} held
 */
function mark(forest, edges, index, held) {
  const { tree, boxes, node } = forest;
  forest.held = held;
  if (held !== null) forest.cursor = held;
  const path = index === null ? [] : [0, ...pathOf(tree, index)];
  for (const [i, box] of boxes.entries()) {
    box.classList.toggle("on", path.includes(i));
    box.classList.toggle("at", i === index);
    box.setAttribute("aria-selected", String(i === held));
    edges[i].classList.toggle("on", path.includes(i));
  }
  if (index === null) node.removeAttribute("aria-activedescendant");
  else node.setAttribute("aria-activedescendant", boxes[index].id);
}

/** How a node looks, as classes.
 * @param {Tree} tree
 * @param {number} i
 */
const looksOf = ({ nodes, best }, i) => (best.includes(i) ? `${nodes[i].fate} best` : nodes[i].fate);

/** The box of a node, and write(written), which writes its number.
 * @param {Tree} tree
 * @param {number} i
 * @param {string} id
 */
function boxOf(tree, i, id) {
  const { nodes, best, greedy } = tree;
  const { text, fate, step, row } = nodes[i];
  const word = i ? oneLine(text) : "start";
  const [mark, sign] = [greedy.includes(i) ? "G" : "", i === best.at(-1) ? "★" : SIGNS[fate]]; // in the corners below
  const score = make("span", { class: "score" });
  const under = make(
    "span",
    { class: "under" },
    make("span", { class: mark && "greedy" }, mark),
    " ",
    score,
    " ",
    make("span", { class: "corner" }, sign),
  );
  const box = make(
    "div",
    { class: `node ${looksOf(tree, i)}`, id, role: "treeitem", "aria-level": step + 1, title: text || null },
    make("bdi", { class: "text" }, word),
    " ",
    i ? under : null,
  );
  Object.assign(
    box.style,
    inPixels({ width: wideAt(step), height: BOX.height, left: across(tree, step), top: down(row) }),
  );
  const write = (/** @type {typeof WRITTEN[Numbers]} */ written) => {
    score.textContent = written.box(nodes[i]);
    const seen = (i ? [word, mark, score.textContent, sign] : [word]).filter(Boolean).join(" ");
    const name = [
      i ? `${seen}: ${fate}` : seen, // the label has to begin with the visible text
      best.includes(i) && "on the way to the best sentence",
      mark && "greedy's choice",
    ];
    box.setAttribute("aria-label", name.filter(Boolean).join(", "));
  };
  return { box, write };
}

/** The lines from the parents to the nodes, with their numbers; the start has an empty one.
 * @param {Tree} tree
 */
function edgesOf(tree) {
  const { nodes, steps } = tree;
  const tops = steps.map((_, i) => Math.max(...nodes.filter(({ step }) => step === i + 1).map(({ score }) => score)));
  return nodes.map(({ parent, step, row, bend, score, log_prob }, i) => {
    if (!i) return draw("g");
    const [x0, x1] = [across(tree, step - 1) + wideAt(step - 1), across(tree, step)];
    const [y0, y1] = [nodes[parent].row, row].map((place) => down(place) + BOX.height / 2);
    const wide = thickness(Math.exp(log_prob));
    const clear = FAINTEST + (1 - FAINTEST) * (Math.exp(score - tops[step - 1]) || 0);
    const [turn, round] = [x0 + 4 + (EDGE.turns - 4) * bend, Math.sign(y1 - y0) * Math.min(6, Math.abs(y1 - y0))];
    const d =
      y0 === y1 ? `M${x0} ${y0}H${x1}` : `M${x0} ${y0}H${turn}V${y1 - round}Q${turn} ${y1} ${turn + 6} ${y1}H${x1}`;
    return draw(
      "g",
      { class: `edge ${looksOf(tree, i)}` },
      draw("path", { d, "stroke-width": wide.toFixed(2), opacity: clear.toFixed(2) }),
      draw("text", { x: x1 - 4, y: y1 - 3 - wide / 2, "text-anchor": "end" }),
    );
  });
}

/** The lines in the order in which they are drawn: the pruned ones first, the best path on top.
 * @param {Tree} tree
 * @param {SVGElement[]} edges
 */
function inLayers({ nodes, best }, edges) {
  const level = (/** @type {number} */ i) => (best.includes(i) ? 2 : nodes[i].fate === "pruned" ? 0 : 1);
  return [0, 1, 2].flatMap((layer) => edges.filter((_, i) => level(i) === layer));
}

/** Whether the node is there at the current step.
 * @param {Forest} forest
 * @param {number} i
 */
const isOpen = ({ tree, at }, i) => tree.nodes[i].step <= at();

/** Where a step begins and ends, in pixels of the screen.
 * @param {Forest} forest
 * @param {number} step
 */
const edgesAt = ({ tree, scale }, step) =>
  [across(tree, step), across(tree, step) + wideAt(step)].map((x) => x * scale);

/** Whether the current step is in sight.
 * @param {Forest} forest
 */
function isInSight(forest) {
  const { node, at } = forest;
  const [left, right] = edgesAt(forest, at());
  return left >= node.scrollLeft && right <= node.scrollLeft + node.clientWidth;
}

/** Scrolls to a step, sideways only, so that the page does not move.
 * @param {Forest} forest
 * @param {number} step
 */
function reveal(forest, step) {
  const { node } = forest;
  const least = edgesAt(forest, step)[1] + 12 - node.clientWidth;
  node.scrollLeft = Math.min(Math.max(node.scrollLeft, least), step && edgesAt(forest, step - 1)[0]);
}

/** Follows the mouse and the keys.
 * @param {Forest} forest
 */
function listen(forest) {
  const { node, boxes, point, lock } = forest;
  const indexAt = (/** @type {MouseEvent} */ { target }) => {
    const box = /** @type {Element} */ (target).closest(".node");
    const index = boxes.indexOf(/** @type {HTMLElement} */ (box));
    return index < 0 ? null : index;
  };
  const toggle = () => lock(forest.cursor === forest.held ? null : forest.cursor);
  node.addEventListener("scroll", () => {
    forest.follows = isInSight(forest);
  });
  node.addEventListener("pointermove", (event) => point(indexAt(event)));
  node.addEventListener("pointerleave", () => point(null));
  node.addEventListener("focus", () => {
    if (!node.matches(":focus-visible")) return;
    forest.cursor = forest.held ?? forest.cursor;
    point(forest.cursor);
  });
  node.addEventListener("blur", () => point(null));
  node.addEventListener("click", (event) => {
    const index = indexAt(event);
    if (index === null) return;
    forest.cursor = index;
    toggle();
  });
  node.addEventListener("keydown", (event) => {
    if (event.key in MOVES) move(forest, MOVES[event.key](forest));
    else if (event.key === "Enter" || event.key === " ") toggle();
    else return;
    event.preventDefault();
  });
}

/** Moves the cursor of the keys; the lock follows.
 * @param {Forest} forest
 * @param {number | undefined} index
 */
function move(forest, index) {
  if (index === undefined) return;
  forest.cursor = index;
  if (forest.held !== null) forest.lock(index);
  forest.point(index);
  reveal(forest, forest.tree.nodes[index].step);
}

/** The nodes of a step, from top to bottom.
 * @param {Forest} forest
 * @param {number} step
 */
const column = ({ tree: { nodes } }, step) =>
  [...nodes.keys()].filter((i) => nodes[i].step === step).sort((i, j) => nodes[i].row - nodes[j].row);

/** The node above or below the cursor.
 * @param {Forest} forest
 * @param {number} by
 */
function beside(forest, by) {
  const same = column(forest, forest.tree.nodes[forest.cursor].step);
  return same[same.indexOf(forest.cursor) + by];
}

/** Where the keys lead.
 * @type {Record<string, (forest: Forest) => number | undefined>}
 */
const MOVES = {
  ArrowLeft: ({ tree, cursor }) => (cursor ? tree.nodes[cursor].parent : undefined),
  ArrowRight: (forest) => {
    const { nodes } = forest.tree;
    const next = column(forest, nodes[forest.cursor].step + 1);
    return next.find((i) => nodes[i].parent === forest.cursor && isOpen(forest, i));
  },
  ArrowUp: (forest) => beside(forest, -1),
  ArrowDown: (forest) => beside(forest, 1),
  Home: () => 0,
  End: (forest) => forest.tree.best.findLast((i) => isOpen(forest, i)) ?? column(forest, forest.at())[0],
};
