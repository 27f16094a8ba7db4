// AttentionView: small maps of all heads; one head, a mean or several heads, large; the arithmetic of one cell. Python computes.

const SHOWS = { head: "one head", layer: "mean of the layer", all: "mean of all heads", rollout: "rollout" };
const HUNDREDTHS = Array.from({ length: 101 }, (_, at) => number(at / 100));
const WIDE = 860; // pixels from which the small maps stand beside the large one
const TALL = 590; // pixels for the small maps of all kinds
const LEAST_READING = 310; // pixels from which two readings stand beside each other
const LARGE = { cell: 36, heads: 28 }; // pixels of a cell of one head that stands alone, and beside the small maps

function build(model, root, data) {
  const { maps, layers, vocab } = data;
  const several = maps.some(({ weights }) => weights.shape[0] * weights.shape[1] > 1);
  let [preview, hovered, answer] = [null, [], null]; // preview: { kind, layer, head }, the small map that is pointed at; hovered: a target for each reading
  let pulled = null; // { pair, weight, asked }: the weight that a line was dragged to, until the answer is here
  let drawn = {}; // what stands on the page: { key, level, place, overview, readings, cell, weights }
  let unpacked = {}; // { raw, reading } of the trait `other`

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

  /** The other reading, where it stands beside the present one; or null. */
  const other = () => {
    const [raw, asked, { sentence, edits }] = [model.get("other"), model.get("against"), model.get("result")];
    if (!asked.length || !sameQuestion(raw.asked, asked) || raw.problem || sameQuestion(asked, [sentence, edits])) return null;
    if (raw !== unpacked.raw) unpacked = { raw, reading: unpack(raw) };
    return unpacked.reading;
  };
  /** The names of the other reading and of the present one. */
  const names = () => {
    const first = history.first();
    return first && (!other() || sameQuestion(model.get("against"), Object.values(first.question))) ? ["before", "now"] :
      other() ? ["other reading", "this reading"] : ["before", "translation"];
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
  /** A head was chosen; arrow keys go past the others, and add none of them to those that are compared. */
  const choose = (kind, layer, head, passing = false) => {
    preview = null;
    const other = kind === model.get("kind") ? {} : { ...fitting(maps, model, kind), kind, locked: null, overlay: [] };
    const { overlay } = chosen();
    if (layer === null) pick(other);
    else if (!overlay.length) pick({ ...other, show: "head", layer, head });
    else if (other.kind) pick({ ...other, show: "head", layer, head, overlay: [[layer, head]] });
    else pick({ overlay: passing ? overlay : toggled(overlay, [layer, head]), layer, head, show: "head" });
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
  const weighCell = ([, row, column], weight) => edit((edits) => withWeight(edits, ["weight", ...scope(), row, column, weight]));
  const weigh = weightEditor((weight) => weighCell(model.get("locked"), weight));
  /** Whether the weights that are drawn are those of a head, or of heads, that can be edited. */
  const mayPull = () => canChange && drawn.weights && chosen(null).show !== "rollout" && zoom() !== "cell" && !preview;
  const weightOf = ([, row, column]) => drawn.weights[row * chosen().map.keys.length + column];
  const pull = { may: mayPull, done: (pair, weight) => {
    pulled = { pair, weight, asked: true };
    pick({ locked: pair });
    weighCell(pair, weight);
  } };
  /** The keys + and − change the weight of a locked cell; the model reads when the key is let go. */
  const press = (by) => {
    const pair = locked();
    if (pair?.[0] !== "pair" || !mayPull()) return false;
    const now = pulled && String(pulled.pair) === String(pair) ? pulled.weight : weightOf(pair);
    pulled = { pair, weight: Math.round(100 * Math.min(Math.max(now + by, 0), 1)) / 100, asked: false };
    explain();
    return true;
  };
  const swap = (index, word) => history.ask({ sentence: swapped(model.get("sentence"), model.get("result").source, index, word),
    edits: model.get("edits").filter(([what]) => what === "silence") }); // rows and columns are now other ones
  const bar = changesBar(history, silence, alone);
  /** What the present reading can be compared with: what was asked before the first change, or what was compared before. */
  const comparable = () => {
    const first = history.first();
    const { sentence, edits } = model.get("result");
    const asked = first ? Object.values(first.question) : model.get("other").asked ?? [];
    return sameQuestion(asked, [sentence, edits]) ? [] : asked;
  };
  const beside = make("button", { type: "button", class: "together", "aria-label": "side by side: the other reading and this one", "aria-pressed": false,
    onclick: () => pick({ against: model.get("against").length ? [] : comparable() }) }, "side by side");
  const words = canChange ? chips(model.get("result"), { point: (target) => chosen().kind !== "causal" && point(drawn.readings.map(({ here }) => here(target))), swap, vocab, id: fresh() }) : null;
  const lines = { names: [make("span", { class: "faint" }), make("span", { class: "faint" })], before: make("div", { class: "before" }), now: make("div", { class: "before" }) };
  const rewritten = make("div", { class: "pairing rewritten" }, make("span", { class: "faint" }, "source"), words?.node ?? "",
    lines.names[0], lines.before, lines.names[1], lines.now);
  const drawChanges = () => {
    beside.setAttribute("aria-pressed", model.get("against").length > 0);
    beside.disabled = zoom() === "cell" || (!model.get("against").length && !comparable().length);
    if (!canChange) return;
    const [now, before, { sentence, edits }] = [model.get("result"), other() ?? history.first()?.result, question()];
    const waits = [[now, [sentence, edits]], [model.get("other"), model.get("against")]].find(([{ asked }, wanted]) => wanted.length && !sameQuestion(asked, wanted))?.[1];
    age(Boolean(waits || now.problem), Boolean(now.problem));
    const [kind, layer, head] = scope();
    const { show, overlay } = chosen(null);
    const possible = show !== "rollout" && !overlay.length;
    const mine = headsOf([kind, layer, head], layers);
    const silent = silenced(edits, layers);
    silence.textContent = `${mine.every((one) => silent.has(one)) ? "let" : "silence"} ${head === null ? (layer === null ? `all of ${kind}` : `${kind} layer ${layer}`) : `${kind} ${layer}.${head}`}${mine.every((one) => silent.has(one)) ? " speak" : ""}`;
    [silence.disabled, alone.disabled] = [!possible, !possible || head === null];
    const isNew = before ? differences(before.tokens, now.tokens)[1] : [];
    const text = make("bdi", {}, ...now.pieces.flatMap((piece, i) => [/^\s/.test(piece) ? " " : "", make("span", { class: isNew[i] ? "piece new" : null }, piece.trim())]));
    names().forEach((name, at) => (lines.names[at].textContent = name));
    lines.before.replaceChildren(...(before ? crossedOut(before, now) : [make("span", { class: "faint" }, edits.length ? "The model is changed: Reset." : "Nothing is changed yet.")]));
    lines.now.replaceChildren(text, certainty(now));
    words.changed(before ? differences(before.source, now.source)[1] : []);
    bar.set(waits ? `“${shortened(waits[0], 60)}” is not read yet: ${whyNot()}.` : now.problem ? `⚠ ${now.problem} Below is the former sentence.` :
      edits.length ? editsInWords(edits, layers, tokensOf(maps)).join("; ") : "What if? Click a word of the source to swap it, silence a head, or drag a line.",
      pythonCode({ sentence, beam: 1, prefix: [], edits }, layers));
    const target = locked();
    const pair = target?.[0] === "pair" && zoom() !== "cell" && possible && drawn.weights;
    weigh.show(pair ? pulled?.weight ?? weightOf(target) : null,
      pair ? ["weight of ", ...tokenAt(chosen().map.keys, target[2]), " for ", ...tokenAt(chosen().map.queries, target[1]), ", also by the keys + and −:"] : []);
  };

  const trail = make("nav", { class: "trail", "aria-label": "zoom" });
  const stage = make("div", { class: "stage" });
  const panels = make("div", { class: "panels looking" });
  const age = ageing(panels);
  const [foot, said, told] = [make("div"), make("div"), make("div")];
  layOut(root, "attention: who looks at whom", {
    controls: { settings: [choices.show.node, choices.lines.node, several && together, (canChange || model.get("other").asked) && beside] },
    intro: [...(canChange ? [rewritten, bar.node] : []), trail],
    panels,
    legend: foot,
    says: [said, told, ...(canChange ? [weigh.node] : [])],
  });

  const explain = () => {
    if (pulled?.asked && sameQuestion(model.get("result").asked, Object.values(question()))) pulled = null;
    drawTrail();
    drawChanges();
    if (zoom() === "cell") return drawCell();
    const stays = locked() !== null;
    const targets = drawn.readings.map(({ here }, at) => (stays ? here(locked()) : hovered[at] ?? null));
    drawn.readings.forEach(({ panel }, at) => panel.mark(targets[at], stays));
    if (pulled) drawn.readings.at(-1).panel.preview(pulled.pair, pulled.weight);
    const target = targets.at(-1);
    words?.mark(target && target[0] !== "query" && chosen().kind !== "causal" ? target.at(-1) : null);
    const sentences = drawn.readings.map(({ panel }, at) => (targets[at] ? panel.says(targets[at], stays && at === targets.length - 1) : ["it has no such place."]));
    tell(told, ...(!targets.some(Boolean) ? [hint(levels(), mayPull())] : sentences.length === 1 ? sentences[0] : sentences.map((text, at) => make("div", {}, make("strong", {}, `${names()[at]}: `), ...text))));
  };
  const point = (targets) => {
    const now = targets.some(Boolean) ? targets : [];
    if (JSON.stringify(now) === JSON.stringify(hovered)) return;
    hovered = now;
    explain();
  };
  const drawTrail = () => {
    const { map, show, layer, head, overlay } = chosen(null);
    const cell = model.get("locked") || zoom() === "cell" ? cellOfZoom() : null;
    const crumbs = {
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
      button.replaceChildren(...crumbs[level]());
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
    hovered = [];
    const sided = level === "heads" && room >= WIDE;
    const width = sided ? Math.min(400, 0.31 * room) : room;
    if (level === "heads" && (drawn.overview?.width !== width || drawn.overview?.sided !== sided)) {
      drawn.overview = { ...headOverview(maps, width, sided ? TALL : 0, { choose, enter: () => !chosen(null).overlay.length && go(1),
        preview: (place) => {
          if (String(Object.values(place ?? {})) === String(Object.values(preview ?? {}))) return;
          preview = place;
          redraw();
        } }), width, sided };
    }
    const left = sided ? room - drawn.overview.room - 24 : room;
    const second = other();
    const both = [...(second ? [second.maps.find(({ kind }) => kind === map.kind)] : []), map];
    const each = both.length > 1 && left >= 2 * LEAST_READING + 24 ? Math.floor((left - 24) / 2) : left;
    const full = Math.max(...both.map((one) => one.full));
    const sizes = { room: each, beside: each < left ? each - 12 : each, cell: level === "head" ? LARGE.cell : LARGE.heads };
    const cells = commonCell(both, sizes);
    drawn.readings = both.map((one, at) => {
      const [here, present] = [moving(map, one), moving(one, map)];
      const masked = (i, j) => one.mask !== null && !one.mask.at(i, j) && !(i === j && chosen().show === "rollout");
      const options = { ...one, full, isMasked: masked, ...sizes, cells,
        point: (target) => point(drawn.readings.map((reading, i) => (i === at ? target : reading.here(present(target))))),
        lock: (target) => (target === null || present(target)) && pick({ locked: present(target) }),
        enter: (target) => present(target) && enter(present(target)), pull: canChange && one === map ? pull : null };
      return { map: one, here, present, panel: overlay.length ? overlayPanel({ ...options, maps: level === "head" }) : attentionPanel(options) };
    });
    drawn.cell = null;
    stage.replaceChildren(...(second ? drawn.readings.map(({ panel }, at) => readingOf(names()[at], [second, model.get("result")], at, map.kind, panel.nodes, layers)) :
      drawn.readings[0].panel.nodes));
    stage.classList.toggle("twofold", Boolean(second));
    stage.classList.toggle("abreast", each < left);
    standing(...(level === "heads" ? [drawn.overview.node] : []), stage);
    foot.replaceChildren(drawn.readings[0].panel.legend, ...(canChange ? [legendOf(unknownSign(model.get("result").unknown))] : []));
  };
  /** What a person has changed in a row of the chosen head, in words. */
  const editOf = (row, column) => {
    const { kind, layer, head } = chosen(null);
    if (silenced(model.get("edits"), layers).has(`${kind} ${layer} ${head}`)) return "this head is silenced: it passes on nothing";
    const mine = model.get("edits").filter(([what, ...at]) => what === "weight" && at[0] === kind && (at[1] ?? layer) === layer && (at[2] ?? head) === head && at[3] === row);
    if (!mine.length) return "";
    const own = mine.findLast((edit) => edit[5] === column);
    return own ? `you set this weight to ${number(own[6])}` : "you changed a weight of this row, and the others share the rest";
  };
  const drawCell = () => {
    const { map, layer, head } = chosen();
    const ready = String(answer?.asked) === String([map.kind, layer, head]);
    tell(said, `${map.kind} attention, layer ${layer}, head ${head}: the arithmetic of one cell.`);
    if (!ready || answer.problem) {
      const focused = stage.contains(root.getRootNode().activeElement);
      const text = answer && ready ? answer.problem : "The vectors of this head are being computed.";
      const node = make("p", { class: "faint", tabindex: -1 }, text);
      drawn.cell = { node, focus: () => node.focus() }; // so that the keys still reach the view
      stage.replaceChildren(node);
      standing(stage);
      if (focused) node.focus();
      return tell(told, hint(levels()));
    }
    const [row, column] = cellOfZoom();
    const key = [row, column, roomIn(root)].join();
    if (drawn.cell?.key !== key || drawn.cell.answer !== answer) {
      const focused = stage.contains(root.getRootNode().activeElement);
      drawn.cell = { key, answer, ...cellArithmetic(answer, { row, column, room: roomIn(root), edited: editOf(row, column), lock: (cell) => pick({ locked: ["pair", ...cell] }) }) };
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
    const key = JSON.stringify([level, map.kind, room, overlay.length > 0, other()?.asked]);
    if (level !== "cell" && key !== drawn.key) rebuild(now, level, room);
    Object.assign(drawn, { key, level, place: [map.kind, layer, head] });
    if (level === "heads") drawn.overview.mark({ ...chosen(null), tones: model.get("overlay"), silent: silenced(model.get("edits"), layers) });
    if (level !== "cell") {
      const role = show === "head" ? map.roles?.[layer][head] : "";
      const isSilent = (edits) => show === "head" && silenced(edits, layers).has(`${map.kind} ${layer} ${head}`);
      const titled = (edits) => `${titleOf(show, layer, head)}${isSilent(edits) ? " · silenced" : role ? ` · ${role}` : ""}`;
      const title = titled(model.get("edits"));
      const weights = (one) => (overlay.length ? overlay.map(([layer, head]) => ({ name: `${layer}.${head}`, role: map.roles?.[layer][head], weights: weightsOf(one, "head", layer, head) })) :
        weightsOf(one, show, layer, head));
      drawn.weights = overlay.length ? null : weights(map);
      const lines = drawn.readings.map(({ panel, map: one }) => panel.show(weights(one), { title: one === map ? title : titled(other().edits), threshold, made: show === "rollout" }));
      const counted = lines.length > 1 ? `${lines.map((text, at) => `${names()[at]}, ${text.split(";")[0]}`).join("; ")}. A weight below ${number(threshold)} has no line.` : lines[0];
      tell(said, `${map.kind} attention, ${overlay.length ? `${overlay.length} head${overlay.length > 1 ? "s" : ""}` : title}: ${counted}`);
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
    if (event.key === "Escape" && !event.defaultPrevented) return locked() && zoom() !== "cell" ? pick({ locked: null }) : go(-1);
    if ("+-".includes(event.key) && press({ "+": 0.05, "-": -0.05 }[event.key])) return event.preventDefault();
    if (event.key === "Backspace") return go(-1) && event.preventDefault();
    const by = { PageUp: -1, PageDown: 1 }[event.key];
    if (!by || event.target.matches(".heads *")) return;
    const { map, show, layer, head } = chosen();
    pick({ layer: within(layer + by, map.weights.shape[0]), head, show: show === "layer" ? show : "head" });
    event.preventDefault();
  };
  root.onkeyup = () => {
    if (!pulled || pulled.asked) return;
    pulled.asked = true;
    weighCell(pulled.pair, pulled.weight);
    explain();
  };
  answer = unpack(model.get("steps"));
  redraw();
  const follow = () => (history.follow(explain), explain());
  return { sentence: follow, edits: follow, result: drawChanges, against: redraw, other: redraw, kind: redraw, layer: redraw, head: redraw, show: redraw, threshold: redraw, zoom: redraw, overlay: redraw, steps: ask, locked: explain, resized: redraw };
}

const within = (x, count) => Math.min(Math.max(x, 0), count - 1);
const titleOf = (show, layer, head) => ({ head: `layer ${layer}, head ${head}`, layer: `mean of layer ${layer}`, all: SHOWS.all, rollout: SHOWS.rollout })[show];
const hint = (levels, changes = false) => make("span", {}, pointHint("a token, a line or a cell", "read its weights",
  { enter: levels.length > 1 ? "keeps it. Enter again or a double click goes in; Escape frees it, then goes back" : "keeps it" }),
changes ? make("span", { class: "faint" }, " Drag a line up or to the right for more weight; or keep a cell and press + or −.") : null);

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

// ---- Two readings ---------------------------------------------------------------------------------------------------

/** A function that gives the place of a target in the map of another reading, or null. */
function moving(from, into) {
  const [rows, columns] = from === into ? [] : [partners(from.queries, into.queries), partners(from.keys, into.keys)];
  return (target) => {
    if (!target || from === into) return target;
    const [what, ...at] = target;
    const sides = { query: [rows], key: [columns], pair: [rows, columns] }[what];
    const found = at.map((index, place) => sides[place][index]);
    return found.includes(null) ? null : [what, ...found];
  };
}

/** For each kind, the tokens of the rows and of the columns. */
const tokensOf = (maps) => Object.fromEntries(maps.map(({ kind, queries, keys }) => [kind, [queries, keys]]));

/** One of two readings: its name, its sentence with the changed words marked, and its panel. both: the two readings. */
function readingOf(name, both, at, kind, nodes, layers) {
  const [mine, its] = [both[at], both[1 - at]];
  const marked = (texts, others, glue) => {
    const isNew = differences(others, texts)[1];
    return make("bdi", {}, ...texts.flatMap((text, i) => [i ? glue : "", make("span", { class: isNew[i] ? "piece new" : null }, text)]));
  };
  const source = marked(mine.source, its.source, " ");
  const target = marked(mine.pieces, its.pieces, "");
  const sentence = { encoder: [source], causal: [target] }[kind] ?? [source, " → ", target];
  const edits = sameQuestion(mine.edits, its.edits) ? "" : ` (${editsInWords(mine.edits, layers).join("; ") || "attention as it is"})`;
  return make("div", { class: "reading", role: "group", "aria-label": name },
    make("p", {}, make("strong", {}, `${name}: `), ...sentence, make("span", { class: "faint" }, edits)), make("div", { class: "parts" }, ...nodes));
}

// ---- Zooming --------------------------------------------------------------------------------------------------------

/** Which part of the panels has the focus of the keyboard: "overview", the number of a part of the stage, or null. */
function focusIn(root, panels, { overview }) {
  const active = root.getRootNode().activeElement;
  if (!panels.contains(active)) return null;
  return overview?.node.contains(active) ? "overview" : `${Math.max(0, [...panels.querySelectorAll(".stage [tabindex]")].indexOf(active))}`;
}

function refocus(focus, { level, overview, readings, cell }, kind) {
  const at = Number(focus) || 0; // each reading has two parts
  if (level === "cell") cell.focus?.();
  else if (level === "heads" && focus === "overview") overview.focus(kind);
  else if (readings.length > 1) readings[at > 1 ? 1 : 0].panel.focus(at % 2);
  else readings[0].panel.focus(Math.min(at, 1));
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
