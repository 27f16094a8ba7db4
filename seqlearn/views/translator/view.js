// TranslatorView: a sentence, its translation, the attention, and the other candidates at each step. Python translates,
// or the model in the page. Whoever answers: a question is asked by the traits sentence, beam, prefix and edits, and the
// answer comes as the trait result.

const MOST_SEEN = 3; // source tokens that the sentence about a step names, each with its weight
const THRESHOLD = 0.05; // smaller weights are not named, and get no line
const CANDIDATES = 280; // pixels for the candidates; view.css has the same
const MUCH_LONGER = 1.5; // times the longest sentence in training
const UNLIKELY = 0.05; // the probability of a translation below which a doubt is told
const PAUSE = 120; // milliseconds that the pointer rests before the candidates follow: so they can be reached, and clicked
const searchName = (beam) => (beam === 1 ? "greedy" : `beam ${beam}`);

function build(model, root, { beams, live, layers, vocab, examples, longest, links }) {
  let [shown, hovered, heads, pause, submitted] = [null, null, ["all", 0, 0], 0, false]; // shown: what was drawn last, and from what
  const best = () => shown.result.best[shown.chosen];
  const last = () => best().tokens.length - 1;
  const rowOf = (target) => (target && target[0] !== "key" ? target[1] : null);
  const question = () => ({ sentence: model.get("sentence"), beam: model.get("beam"), prefix: model.get("prefix"), edits: model.get("edits") });
  const asked = () => Object.values(question());
  const history = changes({ get: question, set: (values) => change(model, values), result: () => shown && { ...shown.result, best: [best()] } });

  // The sentence and the search.
  const id = fresh();
  const note = make("div", { class: "note", id: `${id}note`, "aria-live": "polite" });
  const box = make("input", { type: "text", "aria-label": "sentence to translate", "aria-describedby": `${id}note`, readonly: !live, autocomplete: "off", spellcheck: "false" });
  const silences = () => model.get("edits").filter(([what]) => what === "silence"); // a weight belongs to one sentence
  const begin = () => live && history.begin({ sentence: box.value, prefix: [], edits: silences() });
  const isChanged = () => model.get("prefix").length + model.get("edits").length > 0;
  const widen = (beam) => (isChanged() ? history.ask({ beam }) : history.begin({ sentence: box.value, beam }));
  const search = choice({ label: "search", texts: beams.map(searchName), choose: (text) => widen(beams.find((beam) => searchName(beam) === text)) });
  const example = make("select", { "aria-label": "example" }, make("option", { value: "", disabled: true }, "examples"), ...examples.map((text) => make("option", { value: text }, text)));
  example.addEventListener("change", () => {
    box.value = example.value;
    begin();
  });
  const form = make("form", { class: "asking", onsubmit: (event) => {
    event.preventDefault();
    submitted = true;
    begin();
    redraw(); // the same sentence again
  } }, box, make("button", { type: "submit", disabled: !live }, "Translate"), live && examples.length ? example : null, live ? search.node : null);

  /** Go to a step; a locked target token moves with it. */
  const go = (step) => {
    hovered = null;
    const target = model.get("locked");
    change(model, { step, locked: rowOf(target) === null ? target : [target[0], step, ...target.slice(2)] });
  };
  const walk = stepper(root, { texts: [""], slides: true, choose: go });
  walk.nodes.at(-1).querySelector("output").style.minWidth = "10em"; // so that the controls beside it do not move
  const point = (target) => {
    if (String(target) === String(hovered)) return;
    hovered = target;
    explain();
  };
  const lock = (target) => change(model, rowOf(target) === null ? { locked: target } : { locked: target, step: target[1] });
  const pick = (chosen) => {
    const tokens = shown.result.best[chosen].tokens.length;
    change(model, model.get("step") < tokens ? { chosen } : { chosen, step: tokens - 1, locked: null });
  };

  // What if?
  const force = (step, text) => history.ask({ prefix: [...best().tokens.slice(0, step), text] });
  const edit = (makeEdits) => history.ask({ edits: makeEdits(model.get("edits")) });
  const swap = (index, word) => history.ask({ sentence: swapped(model.get("sentence"), shown.result.source, index, word), prefix: [], edits: silences() });
  const board = live && Object.keys(layers).length ? headSwitches(layers, edit) : null;
  const weigh = weightEditor((weight) => {
    const [, row, column] = locked();
    const [show, layer, head] = heads;
    const [kind, prompt] = best().attention.prompt ? ["causal", best().attention.prompt] : ["cross", 0]; // the rows of a decoder-only model begin with the source
    edit((edits) => withWeight(edits, ["weight", kind, show === "all" ? null : layer, show === "head" ? head : null, prompt + row, column, weight]));
  });
  const trueLinks = make("input", { type: "checkbox", onchange: () => change(model, { links: trueLinks.checked }) });
  const gold = links && live ? make("label", { class: "control" }, trueLinks, make("span", { class: "true-link", "aria-hidden": "true" }), "true links") : null;
  const bar = changesBar(history, gold);

  const which = make("span", { class: "control" });
  const [pairing, panels, foot, below] = [make("div", { class: "pairing" }), make("div", { class: "panels side" }), make("div", { class: "feet" }), make("div", { class: "panels side listing" })];
  const [said, told, rest, scored] = [make("div"), make("div"), make("div"), make("div")];
  layOut(root, "translate a sentence", {
    controls: { sentence: [form], steps: [...walk.nodes, which] },
    intro: [pairing],
    panels,
    legend: foot,
    says: [said, told, rest, scored, weigh.node],
    above: true,
  });
  root.querySelector(".controls").after(note);
  foot.before(below);

  const columns = () => best().attention?.keys.length ?? shown.result.source.length + 1;
  const age = ageing(pairing, panels);
  const locked = () => {
    const [what, first, second = 0] = model.get("locked") ?? [];
    const [queries, keys] = [last() + 1, columns()];
    return what && (what === "key" ? first < keys : first < queries && second < keys) ? model.get("locked") : null;
  };
  const explain = () => {
    const stays = locked();
    const target = stays ?? hovered;
    const step = rowOf(target) ?? Math.min(model.get("step"), last());
    panels.classList.toggle("resting", target === null);
    walk.set(step, shown.steps);
    shown.panel?.mark(target ?? ["query", step], stays !== null);
    shown.line.mark(step, stays, target?.[0] === "key" ? lookers(target[1]) : []);
    shown.chips.mark(target && target[0] !== "query" ? target.at(-1) : null);
    clearTimeout(pause);
    if (hovered === null || stays !== null) listCandidates(step);
    else pause = setTimeout(() => listCandidates(step), PAUSE);
    tell(said, ...stepWords(best(), step, shown.weights), stays === null ? null : lockNote(true));
    const more = target && target[0] !== "query" && shown.panel;
    tell(told, ...(more ? (target[0] === "pair" ? cellWords(best(), target, shown.weights) : shown.panel.says(target, false)) : []));
    tell(rest, ...(target ? [] : [pointHint("a word, a line or a cell", "read its weights")]));
    tell(scored, ...(model.get("links") && shown.result.gold !== undefined ? scoreWords(shown.result, best(), shown.weights, headName(heads)) : []));
    const pair = stays?.[0] === "pair" && live && shown.weights;
    weigh.show(pair ? shown.weights[stays[1] * columns() + stays[2]] : null,
      pair ? ["weight of ", token(best().attention.keys[stays[2]]), " for ", token(best().tokens[stays[1]]), ":"] : []);
  };
  /** The candidates of a step. */
  const listCandidates = (step) => {
    if (shown.listed === step) return;
    shown.listed = step;
    const table = candidates(best(), step, shown.result.words, live ? (text) => force(step, text) : null);
    const spot = stops(shown.candidates).indexOf(root.getRootNode().activeElement);
    shown.candidates.replaceWith((shown.candidates = table));
    if (spot >= 0) focusNear(table, spot);
  };
  /** The target tokens that look at a source token more than at any other. */
  const lookers = (key) => {
    const { keys } = best().attention ?? { keys: [] };
    const row = (i) => shown.weights.slice(i * keys.length, (i + 1) * keys.length);
    return shown.weights ? best().tokens.map((_, i) => i).filter((i) => row(i).indexOf(Math.max(...row(i))) === key) : [];
  };
  const attend = () => {
    const { attention } = best();
    if (!attention) return;
    shown.weights = weightsOf(attention, ...heads);
    const { shape } = attention.weights;
    shown.panel.show(shown.weights, { title: shape[0] * shape[1] > 1 ? headName(heads) : "attention weights", threshold: THRESHOLD });
    goldDots(shown.panel.nodes[1], model.get("links") ? shown.result.gold : null, best().tokens, attention.keys.length);
  };
  const redrawStep = () => explain();
  /** The source, and the translation before and now. */
  const rewrite = (result, first, typing) => {
    const forced = first ? history.forced() : [result.prefix.length - 1];
    shown.chips = typing ?? chips(result, { point, swap: live ? swap : null, vocab, id });
    if (first) shown.chips.changed(differences(first.result.source, result.source)[1]);
    shown.line = written(best(), { language: result.languages[1], start: Math.min(model.get("step"), last()), forced, before: first?.result.best[0].tokens, point, lock });
    const named = (name, node) => [make("span", { class: "faint" }, name), node];
    const before = make("div", { class: "before" }, ...(first ? crossedOut(first.result.best[0], best(), result.languages[1]) : [make("span", { class: "faint" }, isChanged() ? "The model is changed: Reset." : "What if? Nothing is changed yet.")]), bar.node);
    const others = [...(live ? named("before", before) : []), ...named(first ? "now" : "translation", make("div", { class: "present" }, shown.line.node, certainty(best())))];
    if (!typing) return pairing.replaceChildren(...named("source", shown.chips.node), ...others);
    [...pairing.children].slice(2).forEach((node) => node.remove());
    return pairing.append(...others);
  };
  /** Another translation, or another width. */
  const rebuild = (raw, chosen, room) => {
    const result = shown?.raw === raw ? shown.result : unpack(raw);
    const active = root.getRootNode().activeElement;
    const place = [pairing, panels, below].find((part) => part.contains(active));
    const spot = place && stops(place).indexOf(active);
    const list = shown?.raw === raw ? shown.list : ranking(result, pick);
    const again = shown?.raw === raw && shown.chosen === chosen; // only the width is another: a word that is being typed stays
    // An answer that comes while a word of the same source is being typed does not take the text box away.
    const typing = active?.matches("input.chip") && pairing.contains(active) && sameQuestion(shown.result.source, result.source) ? shown.chips : null;
    shown = { ...(again && { chips: shown.chips, line: shown.line }), raw, result, chosen, room, list, candidates: make("table") };
    shown.steps = best().tokens.map((text, i) => `${i + 1} of ${last() + 1}: ${shortened(text, 14)}`);
    const { attention } = best();
    const column = make("div", { class: "beside" }, shown.candidates, board?.node ?? "");
    const first = history.first();
    hovered = null; // before the parts go that have the focus
    if (!again) rewrite(result, first, typing);
    list?.mark(chosen);
    if (attention) {
      const { shape } = attention.weights;
      if (heads[1] >= shape[0] || heads[2] >= shape[1]) heads = ["all", 0, 0];
      const beside = room >= 860 ? Math.min(room - CANDIDATES - 48, 760) : null; // all three panels in a row
      shown.panel = attentionPanel({ ...attention, room: Math.min(room - 12, 520), beside, cell: 26, point, lock });
      which.replaceChildren(...(shape[0] * shape[1] > 1 ? [headChoice(shape, heads, (of) => {
        heads = of;
        attend();
        explain();
      })] : []));
      const [lines, ...others] = shown.panel.nodes;
      panels.replaceChildren(lines, ...others, column);
    } else {
      which.replaceChildren();
      panels.replaceChildren(make("p", { class: "blind" }, "This model has no attention to look at: it reads the whole source " +
        "into a few numbers before it writes the first token, and never looks at the source again."), column);
    }
    const found = list && make("div", { class: "found" }, make("div", { class: "head-line" }, `${result.best.length} translations found, with score and probability`), list.node);
    below.replaceChildren(...[found].filter(Boolean));
    foot.replaceChildren(...(shown.panel ? [shown.panel.legend] : []), meaning(result, first !== null));
    attend();
    if (!place) return;
    explain(); // the candidates are there again
    if (place.contains(active)) active.focus({ focusVisible: true });
    else focusNear(place, spot);
  };
  const redraw = () => {
    const raw = model.get("result");
    const chosen = Math.min(model.get("chosen"), raw.best.length - 1);
    const room = roomIn(root);
    if (!shown || raw !== shown.raw || chosen !== shown.chosen || room !== shown.room) rebuild(raw, chosen, room);
    search.set(searchName(model.get("beam")));
    const waits = !sameQuestion(raw.asked, asked());
    age(waits || raw.problem !== "", raw.problem !== "");
    const problem = !waits && raw.problem !== "";
    box.setAttribute("aria-invalid", problem);
    const warning = !waits && !problem && doubts(raw, longest, model.get("prefix").length > 0);
    note.classList.toggle("wrong", Boolean(problem || warning));
    example.value = examples.includes(model.get("sentence")) ? model.get("sentence") : "";
    const end = " Below is the former translation.";
    if (waits) tell(note, "“", token(model.get("sentence")), `” (${searchName(model.get("beam"))}) is not translated yet: ${whyNot()}.${end}`);
    else if (problem) tell(note, raw.problem + end);
    else tell(note, ...(live ? [] : ["Another sentence needs Python: run the notebook. "]), ...(warning || []), ...unknownWords(raw, live && !warning));
    board?.set(model.get("edits"));
    trueLinks.checked = model.get("links");
    const made = [...swapWords(history.first()?.result.source, raw.source), ...prefixWords(model.get("prefix")),
      ...editsInWords(model.get("edits"), layers, { cross: [best().tokens, best().attention?.keys ?? []] })];
    bar.set(made.length ? made.join("; ") : live ? "Click a candidate, a source word or a head; or lock a cell and change its weight." : "", pythonCode(question(), layers));
    redrawStep();
    pin(room);
    if (submitted && !waits && !problem && room < 480) shown.line.node.scrollIntoView({ block: "nearest" }); // it may be below the screen
    submitted &&= waits;
  };
  /** On a phone the translation stays in sight, above what changes it. */
  const pin = (room) => {
    pairing.classList.toggle("pinned", room < 480);
    pairing.style.top = `${4 - pairing.lastElementChild.offsetTop}px`;
  };
  const afresh = () => {
    shown.raw = null; // before and now are others
    redraw();
  };
  const follow = () => (history.follow(afresh), redraw());
  const retype = () => box.value === model.get("sentence") || (box.value = model.get("sentence"));
  return { sentence: () => (retype(), follow()), beam: follow, prefix: follow, edits: follow, links: () => shown && (attend(), redraw()), result: redraw, chosen: redraw,
    step: redrawStep, locked: explain, resized: redraw };
}

// ---- Parts ----------------------------------------------------------------------------------------------------------

/** Why a translation is not to be trusted, as a list of texts; null if nothing speaks against it. */
function doubts({ source, unknown, best }, longest, isForced) {
  const [strange, words] = [unknown.filter(Boolean).length, source.filter((text) => /\p{L}/u.test(text)).length];
  const why = (text) => [make("strong", {}, `Do not trust this translation: ${text}.`), " "];
  if (longest && source.length > MUCH_LONGER * longest) {
    return why(`the sentence has ${source.length} tokens, the longest in training had ${longest}, and parts of it may be left out`);
  }
  if (strange > 0 && strange >= words / 2) return why(strange < words ? `${strange} of ${words} words are unknown` : words > 1 ? "all its words are unknown" : "its word is unknown");
  const { probability } = best[0];
  return probability < UNLIKELY && !isForced ? why(`the model itself gives it a probability of ${chance(probability)}`) : null;
}

/** The words of the source that were swapped, as a list of texts. */
function swapWords(before, now) {
  if (!before || before.length !== now.length) return before && String(before) !== String(now) ? ["another sentence"] : [];
  return before.flatMap((text, i) => (text === now[i] ? [] : [`“${text}” became “${now[i]}”`]));
}

/** The words that the translation has to begin with, as a list of texts. */
const prefixWords = (prefix) => (prefix.length < 2 ? prefix.map((text) => `“${text}” at step 1`) :
  [`“${prefix.at(-1)}” at step ${prefix.length}, after “${prefix.slice(-4, -1).join(" ")}”`]);

function unknownWords({ source, unknown, known }, live) {
  const texts = [...new Set(source.filter((_, i) => unknown[i]))];
  const number = known.toLocaleString("en");
  if (!texts.length) return live ? [`Type a sentence and press Enter. The model knows ${number} tokens.`] : [];
  const [was, is] = texts.length > 1 ? ["were", "they are"] : ["was", "it is"];
  const names = texts.flatMap((text, i) => [i ? ", “" : "“", token(text), "”"]);
  return [...names, ` ${was} never seen in training; ${is} read as <unk>. (The model knows ${number} tokens.)`];
}

/** The translation, with a span for each token: gives { node, mark(step, locked, lookers) }. `forced`: the steps whose token
 * a person chose; `before`: the tokens before a change: what is new is marked. */
function written({ text, tokens, pieces }, { language, start, forced, before, point, lock }) {
  const changed = before ? differences(before, tokens)[1] : [];
  const nodes = tokens.map((name, i) => {
    const piece = (pieces[i] ?? name).trim();
    const marks = [i in pieces ? "piece" : "piece end", changed[i] ? "new" : "", forced.includes(i) ? "forced" : ""];
    return make("span", { class: marks.filter(Boolean).join(" "), title: forced.includes(i) ? `${name} (you chose it)` : name }, piece || name || "␣");
  });
  const node = make("div", { class: "written", role: "application", tabindex: 0, dir: "auto", lang: language || null,
    "aria-label": `${text} The translation, ${tokens.length} tokens. Left and right move, Enter locks.` },
    ...nodes.flatMap((piece, i) => [i && (pieces[i] ?? " ").startsWith(" ") ? " " : "", piece]));
  const cellAt = (event) => {
    const column = nodes.indexOf(event.target.closest(".piece"));
    return column < 0 ? null : { row: 0, column };
  };
  const query = (cell) => cell && ["query", cell.column];
  const target = pointing(node, cellAt, 1, tokens.length, { start: { row: 0, column: start },
    point: (cell) => point(query(cell)), lock: (cell) => lock(query(cell)) });
  return {
    node,
    mark(step, stays, lookers) {
      nodes.forEach((piece, i) => {
        piece.classList.toggle("on", i === step);
        piece.classList.toggle("looks-there", lookers.includes(i));
      });
      target(stays?.[0] === "query" ? { row: 0, column: stays[1] } : null, { row: 0, column: step });
    },
  };
}

/** The list of all translations, to choose one: gives { node, mark(chosen) }; null for a single translation. */
function ranking({ best, languages }, pick) {
  /** A text, with the tokens that the first translation does not have marked. */
  const text = ({ tokens, pieces }) => {
    const others = differences(best[0].tokens, tokens)[1];
    return pieces.flatMap((piece, i) => (others[i] ? [/^\s/.test(piece) ? " " : "", make("span", { class: "other" }, piece.trim())] : piece));
  };
  if (best.length < 2) return null;
  const id = fresh();
  let now = 0;
  const options = best.map((one, i) => make("div", { class: "option", role: "option", id: id + i, onclick: () => pick(i) },
    make("span", { class: "rank" }), make("bdi", { lang: languages[1] || null }, ...text(one)),
    make("span", { class: "scores" }, `${one.score.toFixed(2).replace(/^-0.00$/, "0.00").replace("-", "−")}`,
      make("span", {}, chance(one.probability)))));
  const node = make("div", { class: "ranking", role: "listbox", tabindex: 0, "aria-label": "translations found, the best first" }, ...options);
  node.addEventListener("keydown", (event) => {
    const to = { ArrowUp: now - 1, ArrowDown: now + 1, Home: 0, End: best.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (to in best) pick(to);
  });
  return {
    node,
    mark(chosen) {
      now = chosen;
      options.forEach((option, i) => {
        option.setAttribute("aria-selected", i === chosen);
        option.firstChild.textContent = `${i === chosen ? "▶" : ""} ${i + 1}.`;
      });
      node.setAttribute("aria-activedescendant", id + chosen);
    },
  };
}

const headName = ([show, layer, head]) => ({ all: "mean of all heads", layer: `layer ${layer}, mean`, head: `layer ${layer}, head ${head}` })[show];

function headChoice([layers, count], now, choose) {
  const each = (length, of) => Array.from({ length }, (_, i) => of(i));
  const all = [["all", 0, 0], ...each(layers, (layer) => [["layer", layer, 0], ...each(count, (head) => ["head", layer, head])]).flat()];
  const { node, set } = choice({ label: "attention", texts: all.map(headName), choose: (text) => choose(all.find((of) => headName(of) === text)) });
  set(headName(now));
  return node;
}

/** The likeliest next tokens at a step, as bars on a logarithmic scale. With `force(text)`, a click writes another token. */
function candidates({ tokens, next }, step, words, force) {
  const { probs, ranks, written, others, tokens: texts } = next[step];
  const before = tokens.slice(Math.max(0, step - 4), step).flatMap((text) => [" ", token(text)]);
  const line = (name, sign, head, prob) => make("tr", { class: name }, make("td", { class: "sign" }, sign), make("th", { scope: "row" }, head),
    make("td", {}, Object.assign(make("div", { class: "bar" }), { style: `width: ${(100 * onLogScale(prob)).toFixed(1)}%` })), make("td", { class: "value" }, chance(prob)));
  const named = (text, i) => (force && i !== written ?
    make("button", { type: "button", title: `write ${text} here`, "aria-label": `write ${text} at step ${step + 1}, probability ${chance(probs[i])}`, onclick: () => force(text) }, make("bdi", {}, oneLine(text))) :
    make("bdi", { title: text }, oneLine(text)));
  const table = make("table", { class: "candidates" },
    make("caption", {}, `step ${step + 1}: what may come ${step ? "after" : "first"}`, step > 4 ? " …" : "", ...before),
    make("tbody", {}, ...texts.map((text, i) => line(i === written ? "chosen" : null, `${i === written ? "▶ " : ""}${ranks[i]}.`, named(text, i), probs[i])),
    line("rest", "", `${(words - texts.length).toLocaleString("en")} others`, others)));
  roving(table, [...table.querySelectorAll("button")]);
  return table;
}

/** What the keyboard can reach in a part of the view; the part may be drawn anew, and the focus goes to the same place. */
const stops = (part) => [...part.querySelectorAll("button, input, summary, [tabindex]")];
const focusNear = (part, spot) => stops(part).slice(0, spot + 1).at(-1)?.focus({ focusVisible: true });

/** Dots in the cells of the true links, where the translation is the one of the corpus. */
function goldDots(box, gold, tokens, columns) {
  box.querySelectorAll(".gold").forEach((dot) => dot.remove());
  if (!gold || !isGold(gold, tokens)) return;
  const [body, canvas] = [box.querySelector(".body"), box.querySelector("canvas")];
  const [width, height] = [parseFloat(canvas.style.width) / columns, parseFloat(canvas.style.height) / tokens.length];
  body.append(...gold.links.map(([source, target]) => {
    const dot = make("span", { class: "gold", "aria-hidden": "true" });
    Object.assign(dot.style, inPixels({ left: (source + 0.5) * width - 3, top: target * height + 1 }));
    return dot;
  }));
}

/** Whether the translation is the one of the corpus, word for word. */
const isGold = (gold, tokens) => gold.tokens.length === tokens.length - 1 && gold.tokens.every((text, i) => text === tokens[i]);

// ---- In words -------------------------------------------------------------------------------------------------------

/** A step in words: the token that the model writes, and the tokens that it looks at. */
function stepWords({ tokens, next, attention }, step, weights) {
  const { tokens: texts, probs, written } = next[step];
  const words = [`At step ${step + 1} the model writes `, token(tokens[step]), ` (${chance(probs[written])})`];
  if (written > 0) words.push(", though ", token(texts[0]), ` (${chance(probs[0])}) is likelier here,`);
  if (!attention) return [...words, "."];
  const { keys } = attention;
  const row = keys.map((_, j) => weights[step * keys.length + j]);
  const order = keys.map((_, j) => j).sort((i, j) => row[j] - row[i]);
  if (!(row[order[0]] > 0)) return [...words, ". The attention that is shown is silent here."];
  const seen = order.slice(0, MOST_SEEN).filter((j, place) => place === 0 || row[j] >= THRESHOLD);
  return [...words, " and looks at ", ...seen.flatMap((j, place) => [place ? ", " : "", ...tokenAt(keys, j), ` (${weightText(row[j])})`]), "."];
}

/** A cell in words. */
const cellWords = ({ tokens, attention: { keys } }, [, row, column], weights) =>
  ["The weight of ", ...tokenAt(keys, column), " for ", ...tokenAt(tokens, row), ` is ${weightText(weights[row * keys.length + column])}.`];

/** How well the shown attention agrees with the true links, and whether the pronouns are right. */
function scoreWords({ source, gold }, { tokens, attention }, weights, name) {
  if (gold === null) return [`The true links are known for ${document.getElementById("model") ? "some" : "the"} sentences of the built-in corpus only, such as the examples; this one is not among them.`];
  const same = isGold(gold, tokens);
  const pronouns = gold.pronouns.map((at) => (tokens[at] === gold.tokens[at] ? [token(gold.tokens[at]), " is right. "] :
    [token(tokens[at] ?? "nothing"), " stands where the corpus has ", token(gold.tokens[at]), ". "]));
  const said = [...(gold.pronouns.length ? ["The pronoun ", ...pronouns.flat()] : []), same ? "The translation is that of the corpus. " : "The translation is not that of the corpus. "];
  if (!same || !weights) return said;
  const columns = attention.keys.length;
  const found = tokens.slice(0, -1).map((_, i) => [...weights.slice(i * columns, i * columns + source.length)]).map((row) => row.indexOf(Math.max(...row)));
  const hits = gold.links.filter(([from, to]) => found[to] === from).length;
  const error = 1 - (2 * hits) / (found.length + gold.links.length);
  return [...said, `Alignment error rate of the ${name}: ${error.toFixed(2)} (${hits} of ${gold.links.length} true links found).`];
}

function meaning({ best, unknown }, compared) {
  const sign = (name, text) => make("span", { class: name, "aria-hidden": "true" }, text);
  return legendOf(best[0].attention && ["", `no line: below ${THRESHOLD}`], [sign("sign", "▶"), "the token that was written; bars: probability, on a logarithmic scale"],
    compared && [sign("piece new", "new"), "changed"],
    unknownSign(unknown),
    best.length > 1 && ["", "score: log p / length penalty; p: probability of the whole sentence"]);
}
