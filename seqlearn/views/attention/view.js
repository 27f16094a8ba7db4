// AttentionView: small maps of all heads; one head, a mean or several heads, large; the arithmetic of one cell. Python computes.

const SHOWS = { head: "one head", layer: "mean of the layer", all: "mean of all heads", rollout: "rollout" };
const HUNDREDTHS = Array.from({ length: 101 }, (_, at) => number(at / 100));
const WIDE = 860; // pixels from which the small maps stand beside the large one
const TALL = 590; // pixels for the small maps of all kinds
const LARGE = { cell: 36, heads: 28 }; // pixels of a cell of one head that stands alone, and beside the small maps

function build(model, root, data) {
  const { maps, layers, vocab } = data;
  const several = maps.some(({ weights }) => weights.shape[0] * weights.shape[1] > 1);
  let [preview, hovered, answer] = [null, null, null]; // preview: { kind, layer, head }, the small map that is pointed at
  let drawn = {}; // what stands on the page: { key, what, zoom, room, now, overview, panel, cell }

  /** What is shown: the choice, limited to what the maps have, or the small map that is pointed at. */
  const chosen = (peek = preview) => {
    const at = peek ?? { kind: model.get("kind"), layer: model.get("layer"), head: model.get("head") };
    const map = maps.find(({ kind }) => kind === at.kind) ?? maps[0];
    const [layers, heads] = map.weights.shape;
    const show = peek || (model.get("show") === "rollout" && !map.rollout) ? "head" : model.get("show");
    const overlay = peek ? [] : model.get("overlay").filter(([layer, head]) => layer < layers && head < heads);
    return { map, kind: map.kind, show, layer: within(at.layer, layers), head: within(at.head, heads), overlay };
  };
  const levels = () => {
    const { map, layer, head } = chosen(null);
    const stored = String(answer?.asked) === String([map.kind, layer, head]) && !answer.problem;
    return [several && "heads", "head", (data.asks || stored) && "cell"].filter(Boolean);
  };
  const zoom = () => (levels().includes(model.get("zoom")) ? model.get("zoom") : model.get("zoom") === "heads" ? "head" : levels().at(-1));
  const locked = () => {
    const target = model.get("locked");
    return target && fits(chosen().map, target) && (!preview || preview.kind === model.get("kind")) ? target : null;
  };
  /** The cell whose arithmetic is shown: the locked one, or the largest weight of the locked row, column, or of all. */
  const cellOfZoom = () => {
    const { map, layer, head } = chosen(null);
    const target = model.get("locked");
    const [what, ...at] = target && fits(map, target) ? target : [];
    const cells = map.queries.flatMap((_, i) => map.keys.map((_, j) => [i, j]));
    const open = cells.filter(([i, j]) => (what === "pair" ? i === at[0] && j === at[1] : what === "query" ? i === at[0] : what === "key" ? j === at[0] : true));
    const weights = weightsOf(map, "head", layer, head);
    const weight = ([i, j]) => weights[i * map.keys.length + j];
    return open.reduce((best, cell) => (weight(cell) > weight(best) ? cell : best));
  };

  const pick = (values) => change(model, values);
  const goTo = (level) => {
    preview = null;
    if (level === "cell") pick({ show: "head", overlay: [], locked: ["pair", ...cellOfZoom()], zoom: level });
    else pick({ zoom: level });
  };
  /** One level in or out, if there is one. */
  const go = (by) => {
    const to = levels()[levels().indexOf(zoom()) + by];
    if (to) goTo(to);
    return Boolean(to);
  };
  const enter = (target) => {
    pick({ locked: target });
    if (levels().includes("cell")) goTo("cell");
    else pick({ locked: null });
  };
  const choose = (kind, layer, head) => {
    preview = null;
    const other = kind === model.get("kind") ? {} : { ...fitting(maps, model, kind), kind, locked: null, overlay: [] };
    const { overlay } = chosen();
    if (layer === null) pick(other);
    else if (overlay.length && !other.kind) pick({ overlay: toggled(overlay, [layer, head]), layer, head, show: "head" });
    else pick({ ...other, show: "head", layer, head });
  };

  const choices = {
    show: choice({ label: "show", texts: Object.values(SHOWS), choose: (text) => pick({ overlay: [], show: Object.keys(SHOWS).find((show) => SHOWS[show] === text) }) }),
    lines: slider({ label: "lines from weight", texts: HUNDREDTHS, choose: (at) => pick({ threshold: at / 100 }) }),
  };
  const together = make("button", { type: "button", class: "together", "aria-label": "compare heads", "aria-pressed": false, onclick: () => {
    const { overlay, layer, head } = chosen();
    pick(overlay.length ? { overlay: [] } : { overlay: [[layer, head]], show: "head", zoom: "heads" });
  } }, "compare heads");
  // What if? Only where somebody reads the sentence again.
  const canChange = Object.keys(layers).length > 0;
  const question = () => ({ sentence: model.get("sentence"), edits: model.get("edits") });
  const history = changes({ kept: model, get: question, set: pick, result: () => model.get("result") });
  const edit = (makeEdits) => history.ask({ edits: makeEdits(model.get("edits")) });
  const scope = () => {
    const { kind, show, layer, head } = chosen(null);
    return [kind, show === "all" ? null : layer, show === "head" ? head : null];
  };
  const silence = make("button", { type: "button", onclick: () => edit((edits) => flipped(edits, scope(), layers)) });
  const alone = make("button", { type: "button", onclick: () => edit((edits) => keptAlone(edits, scope(), layers)) }, "only this head");
  const weigh = weightEditor((weight) => edit((edits) => withWeight(edits, ["weight", ...scope(), ...model.get("locked").slice(1), weight])));
  const swap = (index, word) => history.ask({ sentence: swapped(model.get("sentence"), model.get("result").source, index, word),
    edits: model.get("edits").filter(([what]) => what === "silence") }); // rows and columns are now other ones
  const bar = changesBar(history, silence, alone);
  const words = canChange ? chips(model.get("result"), { point: (target) => chosen().kind !== "causal" && point(target), swap, vocab, id: fresh() }) : null;
  const lines = { before: make("div", { class: "before" }), name: make("span", { class: "faint" }), now: make("div", { class: "before" }) };
  const rewritten = make("div", { class: "pairing rewritten" }, make("span", { class: "faint" }, "source"), words?.node ?? "",
    make("span", { class: "faint" }, "before"), lines.before, lines.name, lines.now);
  const drawChanges = () => {
    if (!canChange) return;
    const [now, first, { sentence, edits }] = [model.get("result"), history.first(), question()];
    const waits = !sameQuestion(now.asked, [sentence, edits]);
    panels.classList.toggle("former", waits || now.problem !== "");
    const [kind, layer, head] = scope();
    const { show, overlay } = chosen(null);
    const possible = show !== "rollout" && !overlay.length;
    const mine = headsOf([kind, layer, head], layers);
    const silent = silenced(edits, layers);
    silence.textContent = `${mine.every((one) => silent.has(one)) ? "let" : "silence"} ${head === null ? (layer === null ? `all of ${kind}` : `${kind} layer ${layer}`) : `${kind} ${layer}.${head}`}${mine.every((one) => silent.has(one)) ? " speak" : ""}`;
    [silence.disabled, alone.disabled] = [!possible, !possible || head === null];
    const isNew = first ? differences(first.result.tokens, now.tokens)[1] : [];
    const text = make("bdi", {}, ...now.pieces.map((piece, i) => make("span", { class: isNew[i] ? "piece new" : null }, piece)));
    lines.before.replaceChildren(...(first ? former(first.result, now) : [make("span", { class: "faint" }, "Nothing is changed yet.")]));
    lines.name.textContent = first ? "now" : "translation";
    lines.now.replaceChildren(text, certainty(now));
    words.changed(first ? differences(first.result.source, now.source)[1] : []);
    bar.set(waits ? `“${shortened(sentence, 60)}” is not read yet: ${whyNot()}.` : now.problem ? `⚠ ${now.problem} Below is the former sentence.` :
      edits.length ? editsInWords(edits).join("; ") : "What if? Click a word of the source to swap it, silence a head, or keep a cell and change its weight.",
      pythonCode({ sentence, beam: 1, prefix: [], edits }, layers));
    const target = locked();
    const pair = target?.[0] === "pair" && zoom() !== "cell" && possible && drawn.weights;
    weigh.show(pair ? drawn.weights[target[1] * chosen().map.keys.length + target[2]] : null,
      pair ? ["weight of ", ...tokenAt(chosen().map.keys, target[2]), " for ", ...tokenAt(chosen().map.queries, target[1]), ":"] : []);
  };

  const trail = make("nav", { class: "trail", "aria-label": "zoom" });
  const stage = make("div", { class: "stage" });
  const panels = make("div", { class: "panels looking" });
  const [foot, said, told] = [make("div"), make("div"), make("div")];
  layOut(root, "attention: who looks at whom", {
    controls: { settings: [choices.show.node, choices.lines.node, several && together] },
    intro: [...(canChange ? [rewritten, bar.node] : []), trail],
    panels,
    legend: foot,
    says: [said, told, ...(canChange ? [weigh.node] : [])],
  });

  const explain = () => {
    drawTrail();
    drawChanges();
    if (zoom() === "cell") return drawCell();
    const target = locked() ?? hovered;
    drawn.panel.mark(target, locked() !== null);
    words?.mark(target && target[0] !== "query" && chosen().kind !== "causal" ? target.at(-1) : null);
    tell(told, ...(target ? drawn.panel.says(target, locked() !== null) : [hint(levels())]));
  };
  const point = (target) => {
    if (String(target) === String(hovered)) return;
    hovered = target;
    explain();
  };
  const drawTrail = () => {
    const { map, show, layer, head, overlay } = chosen(null);
    const cell = model.get("locked") || zoom() === "cell" ? cellOfZoom() : null;
    const names = {
      heads: () => ["all heads"],
      head: () => [`${map.kind}: ${overlay.length > 1 ? `${overlay.length} heads` : titleOf(show, layer, head)}`],
      cell: () => (cell && show === "head" ? [...tokenAt(map.queries, cell[0]), " → ", ...tokenAt(map.keys, cell[1])] : ["one cell"]),
    };
    const now = levels();
    if (now.join() !== trail.dataset.levels) {
      trail.dataset.levels = now.join();
      trail.replaceChildren(...(now.length > 1 ? [make("ol", {}, ...now.map((level) => make("li", {}, make("button", { type: "button", "data-level": level, onclick: () => goTo(level) }))))] : []));
    }
    trail.querySelectorAll("button").forEach((button) => {
      const { level } = button.dataset;
      button.replaceChildren(...names[level]());
      fill(button, { "aria-label": `zoom to ${button.textContent}`, "aria-current": level === zoom() ? "step" : "false" }, []);
    });
  };

  /** The parts on the page; what stands there already is not touched, so that it keeps the focus of the keyboard. */
  const standing = (...nodes) => {
    const same = nodes.length === panels.children.length && nodes.every((node, i) => node === panels.children[i]);
    if (!same) panels.replaceChildren(...nodes);
  };

  /** The large part: one head or a mean, several heads, or the arithmetic of a cell. */
  const rebuild = ({ map, overlay }, level, room) => {
    hovered = null;
    const beside = level === "heads" && room >= WIDE;
    const width = beside ? Math.min(400, 0.31 * room) : room;
    if (level === "heads" && (drawn.overview?.width !== width || drawn.overview?.beside !== beside)) {
      drawn.overview = { ...headOverview(maps, width, beside ? TALL : 0, { choose, enter: () => go(1),
        preview: (place) => {
          if (String(Object.values(place ?? {})) === String(Object.values(preview ?? {}))) return;
          preview = place;
          redraw();
        } }), width, beside };
    }
    const left = beside ? room - drawn.overview.room - 24 : room;
    const masked = (i, j) => map.mask !== null && !map.mask.at(i, j) && !(i === j && chosen().show === "rollout");
    const options = { ...map, isMasked: masked, room: left, beside: left, cell: level === "head" ? LARGE.cell : LARGE.heads, point, enter, lock: (target) => pick({ locked: target }) };
    drawn.panel = overlay.length ? overlayPanel({ ...options, maps: level === "head" }) : attentionPanel(options);
    drawn.cell = null;
    stage.replaceChildren(...drawn.panel.nodes);
    standing(...(level === "heads" ? [drawn.overview.node] : []), stage);
    foot.replaceChildren(drawn.panel.legend, ...(canChange ? [legendOf(unknownSign(model.get("result").unknown))] : []));
  };
  const drawCell = () => {
    const { map, layer, head } = chosen();
    const ready = String(answer?.asked) === String([map.kind, layer, head]);
    tell(said, `${map.kind} attention, layer ${layer}, head ${head}: the arithmetic of one cell.`);
    if (!ready || answer.problem) {
      drawn.cell = { node: make("p", { class: "faint" }, answer && ready ? answer.problem : "The vectors of this head are being computed.") };
      stage.replaceChildren(drawn.cell.node);
      standing(stage);
      return tell(told, hint(levels()));
    }
    const [row, column] = cellOfZoom();
    const key = [row, column, roomIn(root)].join();
    if (drawn.cell?.key !== key || drawn.cell.answer !== answer) {
      const focused = stage.contains(root.getRootNode().activeElement);
      drawn.cell = { key, answer, ...cellArithmetic(answer, { row, column, room: roomIn(root), lock: (cell) => pick({ locked: ["pair", ...cell] }) }) };
      stage.replaceChildren(drawn.cell.node);
      standing(stage);
      foot.replaceChildren(drawn.cell.legend);
      if (focused) drawn.cell.focus();
    }
    return tell(told, ...drawn.cell.says);
  };
  const redraw = () => {
    const now = chosen();
    const { map, show, layer, head, overlay } = now;
    const [level, room, threshold] = [zoom(), roomIn(root), model.get("threshold")];
    const out = level === "heads" && drawn.level === "head";
    const focus = out && focusIn(root, panels, drawn) ? "overview" : focusIn(root, panels, drawn);
    const before = drawn.level && drawn.level !== level ? boxesOf(drawn, stage) : null;
    choices.show.set(SHOWS[show]);
    choices.show.node.querySelector("option:last-child").disabled = !map.rollout;
    choices.lines.set(Math.round(100 * threshold));
    together.setAttribute("aria-pressed", overlay.length > 0);
    const key = [level, map.kind, room, overlay.length > 0].join();
    if (level !== "cell" && key !== drawn.key) rebuild(now, level, room);
    Object.assign(drawn, { key, level, place: [map.kind, layer, head] });
    if (level === "heads") drawn.overview.mark({ ...chosen(null), tones: model.get("overlay") });
    if (level !== "cell") {
      const role = show === "head" ? map.roles?.[layer][head] : "";
      const title = `${titleOf(show, layer, head)}${role ? ` · ${role}` : ""}`;
      const weights = overlay.length ? overlay.map(([layer, head]) => ({ name: `${layer}.${head}`, role: map.roles?.[layer][head], weights: weightsOf(map, "head", layer, head) })) :
        weightsOf(map, show, layer, head);
      drawn.weights = overlay.length ? null : weights;
      const lines = drawn.panel.show(weights, { title, threshold, made: show === "rollout" });
      tell(said, `${map.kind} attention, ${overlay.length ? `${overlay.length} head${overlay.length > 1 ? "s" : ""}` : title}: ${lines}`);
    } else drawn.cell = null;
    explain();
    if (before) showZoom(before, drawn, stage);
    if (focus && !panels.contains(root.getRootNode().activeElement)) refocus(focus, drawn, map.kind);
  };
  const ask = () => {
    answer = unpack(model.get("steps"));
    if (!answer.asked) answer = null;
    drawn.key = null;
    redraw();
  };
  panels.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || (locked() && zoom() !== "cell")) return;
    go(-1); // before the parts of the panels hear of the key
    event.preventDefault();
    event.stopPropagation();
  }, true);
  root.onkeydown = (event) => {
    if (event.target.matches("input, select") && event.key !== "Escape") return;
    if (event.key === "Escape" && !event.defaultPrevented) return locked() ? pick({ locked: null }) : go(-1);
    if (event.key === "Backspace") return go(-1) && event.preventDefault();
    const by = { PageUp: -1, PageDown: 1 }[event.key];
    if (!by || event.target.matches(".heads *")) return;
    const { map, show, layer, head } = chosen();
    pick({ layer: within(layer + by, map.weights.shape[0]), head, show: show === "layer" ? show : "head" });
    event.preventDefault();
  };
  answer = unpack(model.get("steps"));
  redraw();
  const follow = () => (history.follow(), explain());
  return { sentence: follow, edits: follow, result: drawChanges, kind: redraw, layer: redraw, head: redraw, show: redraw, threshold: redraw, zoom: redraw, overlay: redraw, steps: ask, locked: explain, resized: redraw };
}

const within = (x, count) => Math.min(Math.max(x, 0), count - 1);
const titleOf = (show, layer, head) => ({ head: `layer ${layer}, head ${head}`, layer: `mean of layer ${layer}`, all: SHOWS.all, rollout: SHOWS.rollout })[show];
const hint = (levels) => pointHint("a token, a line or a cell", "read its weights",
  { enter: levels.length > 1 ? "keeps it. Enter again or a double click goes in; Escape frees it, then goes back" : "keeps it" });

/** The list with this head, or without it if it was there; at most MOST_TONES. */
function toggled(list, [layer, head]) {
  const rest = list.filter((one) => one[0] !== layer || one[1] !== head);
  return rest.length < list.length ? rest : [...list, [layer, head]].slice(-MOST_TONES);
}

/** Layer, head and show for another kind, which may have fewer of them. */
function fitting(maps, model, kind) {
  const map = maps.find((one) => one.kind === kind);
  const [layers, heads] = map.weights.shape;
  const show = model.get("show") === "rollout" && !map.rollout ? "head" : model.get("show");
  return { layer: Math.min(model.get("layer"), layers - 1), head: Math.min(model.get("head"), heads - 1), show };
}

function fits({ queries, keys }, [what, ...at]) {
  const counts = { query: [queries.length], key: [keys.length], pair: [queries.length, keys.length] }[what];
  return at.every((index, place) => index < counts[place]);
}

// ---- Zooming --------------------------------------------------------------------------------------------------------

/** Which part of the panels has the focus of the keyboard: "overview", the number of a part of the stage, or null. */
function focusIn(root, panels, { overview }) {
  const active = root.getRootNode().activeElement;
  if (!panels.contains(active)) return null;
  return overview?.node.contains(active) ? "overview" : `${Math.max(0, [...panels.querySelectorAll(".stage [tabindex]")].indexOf(active))}`;
}

function refocus(focus, { level, overview, panel, cell }, kind) {
  if (level === "cell") cell.focus?.();
  else if (level === "heads" && focus === "overview") overview.focus(kind);
  else panel.focus(Math.min(Number(focus) || 0, 1));
}

/** Where the parts stand that a zoom begins with. */
function boxesOf({ level, overview, place, cell }, stage) {
  const frame = stage.querySelector(".frame.strong") ?? stage.querySelector(".map .body");
  const node = { heads: overview?.canvasOf(...(place ?? [])), head: frame, cell: cell?.node }[level];
  return { from: level, small: node?.getBoundingClientRect(), large: (stage.querySelector(".map .body") ?? node)?.getBoundingClientRect() };
}

/** The small map grows to the large one, a cell to its arithmetic, and back. */
function showZoom({ from, small, large }, { level, overview, place }, stage) {
  const map = stage.querySelector(".map .body")?.closest(".scrolls");
  if (level === "heads") grow(overview.canvasOf(...place), large);
  else if (level === "cell") grow(stage.firstElementChild, small);
  else grow(map, from === "heads" ? small : large);
}

/** A node moves from a box to its own place in 300 ms; not where reduced motion is asked for. */
function grow(node, from) {
  const to = node?.getBoundingClientRect();
  if (!from?.width || !to?.width || window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const start = `translate(${from.left - to.left}px, ${from.top - to.top}px) scale(${from.width / to.width}, ${from.height / to.height})`;
  node.animate([{ transformOrigin: "0 0", transform: start, opacity: 0.4 }, { transformOrigin: "0 0", transform: "none", opacity: 1 }], { duration: 300, easing: "ease-out" });
}
