// BeamView: the tree of a beam search, step by step. Python searches and lays the tree out; here it is drawn.

const BOX = { width: 96, height: 40, across: 172, down: 52, top: 28, left: 4 };
const EDGE = { thin: 1, thick: 5, turns: 16 }; // pixels: of probability 0 and 1; lines turn in this room, so that numbers stay clear
const FATES = {
  kept: "kept: among the best of its step, so the search extends this sentence",
  complete: "complete: the sentence ends here and is set aside",
  beaten: "beaten: among the best, but no continuation could win any more",
  pruned: "pruned: not among the best of its step, and dropped",
};
const SIGNS = { kept: "", complete: "✓", beaten: "≤", pruned: "×" };

function build(model, root, data) {
  const { widths, alphas, source } = data;
  let [shown, hovered] = [null, null]; // { found: one of the trees, tree, forest }; the index of a node
  const current = () => model.get("trees").find(({ width, alpha }) => width === model.get("width") && alpha === model.get("alpha"));
  const last = () => shown.tree.steps.length;
  const at = () => Math.min(Math.max(model.get("step"), 0), last());
  const walk = stepper(root, { texts: [""], slides: true, choose: (step) => {
    change(model, { step });
    shown.forest.reveal(at());
  } });
  /** Another search. A page without Python has all trees; if all steps were shown, all steps stay shown. */
  const pick = (values) => {
    const all = at() === last();
    change(model, values);
    if (current() === shown.found && (all || model.get("step") > last())) change(model, { step: last() });
  };
  const again = {
    width: slider({ label: "beam width", texts: widths.map(String), choose: (i) => pick({ width: widths[i] }) }),
    alpha: slider({ label: "length penalty α", texts: alphas.map(number), choose: (i) => pick({ alpha: alphas[i] }) }),
  };
  const panels = make("div", { class: "panels" });
  const [said, told] = [make("div"), make("div")];
  layOut(root, "beam search, step by step", {
    intro: source === null ? [] : [make("p", { class: "source" }, "Source: ", token(source))],
    controls: { search: [widths.length > 1 && again.width.node, alphas.length > 1 && again.alpha.node], steps: walk.nodes },
    panels,
    legend: meaning(),
    says: [said, told],
  });

  const locked = () => {
    const path = model.get("locked");
    const index = path ? shown.tree.nodes.findIndex((node) => node.name === path.join()) : -1;
    return index >= 0 && shown.tree.nodes[index].step <= at() ? index : null;
  };
  const explain = () => {
    const index = locked() ?? (hovered !== null && shown.tree.nodes[hovered].step <= at() ? hovered : null);
    shown.forest.mark(index, locked());
    tell(told, ...(index === null ? [hint()] : sentence(shown.tree, index, locked() !== null)));
  };
  const grow = () => {
    const step = at();
    walk.set(step, Array.from({ length: last() + 1 }, (_, i) => `${i} of ${last()}`));
    shown.forest.grow(step);
    tell(said, ...narration(shown.tree, step));
    explain();
  };
  const redraw = () => {
    const found = current();
    if (widths.length) again.width.set(widths.indexOf(model.get("width")));
    if (alphas.length) again.alpha.set(alphas.indexOf(model.get("alpha")));
    panels.classList.toggle("waiting", !found);
    if (!found) {
      tell(said, `Width ${model.get("width")} with α = ${number(model.get("alpha"))} is not searched yet: Python is busy, not running, ` +
        "or its search failed (then its log says why). The tree below is that of the former search.");
      return;
    }
    if (!shown || found !== shown.found) {
      const focused = panels.contains(root.getRootNode().activeElement);
      const tree = { ...found, nodes: nodesOf(found.nodes) };
      const point = (index) => {
        if (index === hovered) return;
        hovered = index;
        explain();
      };
      const lock = (index) => change(model, { locked: index === null ? null : pathOf(tree, index).map((i) => tree.nodes[i].token) });
      const before = shown && shown.forest.place();
      shown = { found, tree, forest: forest(tree, point, lock, at) };
      hovered = null;
      panels.replaceChildren(shown.forest.node);
      if (before) shown.forest.stay(before);
      if (focused) shown.forest.node.focus({ focusVisible: true });
    }
    grow();
  };
  return { trees: redraw, width: redraw, alpha: redraw, step: () => current() && (grow(), shown.forest.reveal(at())), locked: explain, resized: () => shown && shown.forest.resized() };
}

const hint = () => pointHint("a node", "read its sentence", { steps: true });

/** Two decimals in the tree; in the explanation, more digits of a small number. */
const fixed = (x) => x.toFixed(2).replace(/^-0.00$/, "0.00").replace("-", "−");
const exact = (x) => (Math.abs(x) < 0.1 && Math.abs(x) > 5e-5 ? String(Number(x.toFixed(4))).replace("-", "−") : number(x));
const equals = (list) => (list.every((x) => Math.abs(Number(exact(x).replaceAll("−", "-")) - x) <= 1e-6 * Math.abs(x)) ? "=" : "≈");

/** The nodes as a list; the name of a node is its tokens. */
function nodesOf(columns) {
  const nodes = columns.token.map((_, i) => Object.fromEntries(Object.keys(columns).map((name) => [name, columns[name][i]])));
  nodes.forEach((node, i) => (node.name = i ? [nodes[node.parent].name, node.token].filter((part) => part !== "").join() : ""));
  return nodes;
}

/** The nodes from the first token to this one. */
function pathOf({ nodes }, index) {
  return index ? [...pathOf({ nodes }, nodes[index].parent), index] : [];
}

const words = ({ nodes }, path) => path.flatMap((i, place) => [place ? " " : "", token(nodes[i].text)]);

/** A step in words; after the last step, the best sentence, and whether greedy search finds the same one. */
function narration(tree, step) {
  if (step === 0) return ["Step 0: one empty sentence, from which all others grow."];
  const { steps, nodes, best, greedy } = tree;
  const counts = Object.keys(FATES).filter((fate) => steps[step - 1][fate]).map((fate) => `${steps[step - 1][fate]} ${fate}`);
  const parts = [`Step ${step}: each kept sentence gets one more token. The likeliest extensions: ${counts.join(", ")}. `];
  if (step < steps.length || !best.length) return parts;
  parts.push("Best sentence ★: ", ...words(tree, best), `, score ${fixed(nodes[best.at(-1)].score)}. `);
  const end = greedy.at(-1);
  if (end === best.at(-1)) return [...parts, "Greedy search (G) finds the same."];
  if (nodes[end].fate === "complete") return [...parts, "Greedy search (G) finds ", ...words(tree, greedy), `, score ${fixed(nodes[end].score)}.`];
  return [...parts, "Greedy search (G) begins with ", ...words(tree, greedy), `, which is ${nodes[end].fate} at step ${nodes[end].step}.`];
}

/** The sentence of a node, and its arithmetic. */
function sentence(tree, index, isLocked) {
  const { nodes, steps } = tree;
  const { parent, step, log_prob, total, score, fate, text } = nodes[index];
  const lock = lockNote(isLocked);
  if (!index) return [make("div", {}, "The start: nothing is written yet, and the total is 0.", lock)];
  const { penalty } = steps[step - 1];
  const before = nodes[parent].total;
  const share = 100 * Math.exp(log_prob);
  return [
    make("div", {}, ...words(tree, pathOf(tree, index)), ` – ${FATES[fate]}.`, lock),
    make("div", {}, "log p(", token(text), `) ${equals([log_prob])} ${exact(log_prob)}, a probability of ${number(share)} %. ` +
      `Total: ${exact(before)} + ${log_prob < 0 ? `(${exact(log_prob)})` : 0} ${equals([before, log_prob, total])} ${exact(total)}. ` +
      `Score: total / penalty of length ${step} = ${exact(total)} / ${exact(penalty)} ${equals([total, penalty, score])} ${exact(score)}.`),
  ];
}

/** The width of a line, in pixels. */
const thickness = (probability) => EDGE.thin + (EDGE.thick - EDGE.thin) * probability;

function meaning() {
  const sign = (name, text) => make("span", { class: name, "aria-hidden": "true" }, text);
  const fate = (name) => sign(`fate ${name}`, SIGNS[name] ?? "★");
  const wide = [0, 0.5, 1].map((share, i) => draw("path", { d: `M${16 * i} 6h14`, "stroke-width": thickness(share) }));
  const lines = draw("svg", { class: "probable", width: 46, height: 12, "aria-hidden": "true" }, ...wide);
  return legendOf([fate("kept"), "kept"], [fate("complete"), "complete"], [fate("beaten"), "beaten: cannot win any more"],
    [fate("pruned"), "pruned"], [fate("best"), "best"], [sign("greedy", "G"), "greedy's choice: the likeliest token"],
    [lines, "width of a line: probability of the token, 0, ½ and 1; its number: the log-probability; faint: a score far from the best"],
    ["", "in a box: score of the sentence so far"]);
}

/** The tree. point(index or null): called with the node under the mouse or the arrow keys; lock(index or null): called
 * after a click or Enter. */
function forest(tree, point, lock, at) {
  const { nodes, steps, rows, best, greedy } = tree;
  const id = `beam${Math.random().toString(36).slice(2)}-`;
  const x = (step) => BOX.left + step * BOX.across;
  const y = (row) => BOX.top + row * BOX.down;
  const looks = nodes.map(({ fate }, i) => (best.includes(i) ? `${fate} best` : fate));
  const boxes = nodes.map(({ text, score, fate, step }, i) => {
    const word = i ? oneLine(text) : "start";
    const [mark, sign] = [greedy.includes(i) ? "G" : "", i === best.at(-1) ? "★" : SIGNS[fate]]; // in the corners below
    const under = make("span", { class: "under" }, make("span", { class: mark && "greedy" }, mark), " ",
      make("span", { class: "score" }, fixed(score)), " ", make("span", { class: "corner" }, sign));
    const seen = (i ? [word, mark, fixed(score), sign] : [word]).filter(Boolean).join(" "); // the label has to begin with the visible text
    const name = [i ? `${seen}: ${fate}` : seen, best.includes(i) && "on the way to the best sentence", mark && "greedy's choice"];
    return make("div", { class: `node ${looks[i]}`, id: id + i, role: "treeitem", "aria-level": step + 1,
      "aria-label": name.filter(Boolean).join(", "), title: text || null }, make("bdi", { class: "text" }, word), " ", i ? under : null);
  });
  boxes.forEach((box, i) => Object.assign(box.style, inPixels({ width: BOX.width, height: BOX.height, left: x(nodes[i].step), top: y(nodes[i].row) })));
  const tops = steps.map((_, step) => Math.max(...nodes.filter((node) => node.step === step + 1).map(({ score }) => score)));
  const clear = (i) => (0.3 + 0.7 * (Math.exp(nodes[i].score - tops[nodes[i].step - 1]) || 0)).toFixed(2); // of a line
  const edges = nodes.map(({ parent, step, row, bend, log_prob }, i) => {
    if (!i) return draw("g");
    const [x0, x1, y0, y1] = [x(step - 1) + BOX.width, x(step), y(nodes[parent].row) + BOX.height / 2, y(row) + BOX.height / 2];
    const wide = thickness(Math.exp(log_prob));
    const [turn, round] = [x0 + 4 + (EDGE.turns - 4) * bend, Math.sign(y1 - y0) * Math.min(6, Math.abs(y1 - y0))];
    const d = y0 === y1 ? `M${x0} ${y0}H${x1}` : `M${x0} ${y0}H${turn}V${y1 - round}Q${turn} ${y1} ${turn + 6} ${y1}H${x1}`;
    return draw("g", { class: `edge ${looks[i]}` }, draw("path", { d, "stroke-width": wide.toFixed(2), opacity: clear(i) }),
      draw("text", { x: x1 - 4, y: y1 - 3 - wide / 2, "text-anchor": "end" }, fixed(log_prob)));
  });
  const note = (name, i, y, text) => draw("text", { class: name, x: x(i + 1) + BOX.width / 2, y, "text-anchor": "middle" }, text);
  const heads = steps.map((_, i) => note("number", i, 16, String(i + 1)));
  const feet = steps.map(({ omitted }, i) => note("foot", i, y(rows) + 6, omitted ? `… ${omitted} more ×` : ""));
  const [width, height] = [x(steps.length) + BOX.width + 6, y(rows) + 14];
  const level = (i) => (best.includes(i) ? 2 : nodes[i].fate === "pruned" ? 0 : 1); // the best path on top
  const lines = edges.map((_, i) => i).sort((i, j) => level(i) - level(j)).map((i) => edges[i]);
  const svg = draw("svg", { width, height, "aria-hidden": "true" }, ...lines, ...heads, ...feet);
  const inner = make("div", { class: "inner", role: "none" }, svg, ...boxes);
  Object.assign(inner.style, inPixels({ width, height }));
  const node = make("div", { class: "tree", role: "tree", tabindex: 0,
    "aria-label": "the search tree. Left: parent, right: child, up and down: same step, Enter locks." }, inner);

  let [cursor, held] = [0, null];
  const within = (step) => x(step) >= node.scrollLeft && x(step) + BOX.width <= node.scrollLeft + node.clientWidth;
  let follows = false; // whether the current step is in sight, and has to stay in sight
  node.addEventListener("scroll", () => (follows = within(at())));
  const see = (step) => { // scrolls sideways only, so that the page does not move
    node.scrollLeft = Math.min(Math.max(node.scrollLeft, x(step) + BOX.width + 12 - node.clientWidth), Math.max(0, x(step - 1)));
  };
  const move = (index) => {
    if (index === undefined) return;
    cursor = index;
    if (held !== null) lock(index); // the lock follows the arrow keys
    point(index);
    see(nodes[index].step);
  };
  const open = (i) => nodes[i].step <= at();
  const column = (step) => nodes.map((_, i) => i).filter((i) => nodes[i].step === step).sort((i, j) => nodes[i].row - nodes[j].row);
  const beside = (by) => column(nodes[cursor].step)[column(nodes[cursor].step).indexOf(cursor) + by];
  const child = () => column(nodes[cursor].step + 1).find((i) => nodes[i].parent === cursor && open(i));
  const moves = {
    ArrowLeft: () => (cursor ? nodes[cursor].parent : undefined), ArrowRight: child, ArrowUp: () => beside(-1), ArrowDown: () => beside(1),
    Home: () => 0, End: () => best.findLast(open) ?? column(at())[0],
  };
  const numberOf = (event) => {
    const index = boxes.indexOf(event.target.closest(".node"));
    return index < 0 ? null : index;
  };
  const listeners = {
    pointermove: (event) => point(numberOf(event)),
    pointerleave: () => point(null),
    focus: () => node.matches(":focus-visible") && point((cursor = held ?? cursor)),
    blur: () => point(null),
    click: (event) => {
      if (numberOf(event) === null) return;
      cursor = numberOf(event);
      lock(cursor === held ? null : cursor);
    },
    keydown: (event) => {
      if (event.key in moves) move(moves[event.key]());
      else if (event.key === "Enter" || event.key === " ") lock(cursor === held ? null : cursor);
      else if (event.key === "Escape") lock(null);
      else return;
      event.preventDefault();
    },
  };
  Object.entries(listeners).forEach(([name, listener]) => node.addEventListener(name, listener));
  return {
    node,
    reveal: see,
    /** Where the learner looks, for another tree in the same place. */
    place: () => ({ left: node.scrollLeft, follows: within(at()) }),
    stay(before) {
      node.scrollLeft = before.left;
      if (before.follows) see(at());
      follows = before.follows;
    },
    resized() {
      if (follows) see(at());
      follows = within(at());
    },
    /** Show the nodes of the first steps; the best path is marked only after the last step. */
    grow(step) {
      nodes.forEach((_, i) => [boxes[i], edges[i]].forEach((part) => part.classList.toggle("later", !open(i))));
      [...heads, ...feet].forEach((part, i) => part.classList.toggle("later", i % steps.length >= step));
      heads.forEach((head, i) => head.classList.toggle("now", i + 1 === step));
      inner.classList.toggle("done", step === steps.length);
      while (!open(cursor)) cursor = nodes[cursor].parent;
    },
    /** Mark the path to a node. */
    mark(index, lockedIndex) {
      held = lockedIndex;
      if (held !== null) cursor = held;
      const path = index === null ? [] : [0, ...pathOf(tree, index)];
      boxes.forEach((box, i) => {
        box.classList.toggle("on", path.includes(i));
        box.classList.toggle("at", i === index);
        box.setAttribute("aria-selected", i === held);
        edges[i].classList.toggle("on", path.includes(i));
      });
      if (index === null) node.removeAttribute("aria-activedescendant");
      else node.setAttribute("aria-activedescendant", id + index);
    },
  };
}
