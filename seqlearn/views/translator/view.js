// TranslatorView: a sentence, its translation, the attention, and the other candidates at each step. Python translates.

const MOST_SEEN = 3; // source tokens that the sentence about a step names, each with its weight
const THRESHOLD = 0.05; // smaller weights are not named, and get no line
const searchName = (beam) => (beam === 1 ? "greedy" : `beam ${beam}`);
const fresh = () => `translator-${Math.random().toString(36).slice(2)}-`; // for ids

function build(model, root, { beams, live }) {
  let [shown, hovered, heads] = [null, null, ["all", 0, 0]]; // shown: what was drawn last, and from what
  const best = () => shown.result.best[shown.chosen];
  const last = () => best().tokens.length - 1;
  const rowOf = (target) => (target && target[0] !== "key" ? target[1] : null);

  const id = `${fresh()}note`;
  const note = make("div", { class: "note", id, "aria-live": "polite" });
  const box = make("input", { type: "text", "aria-label": "sentence to translate", "aria-describedby": id, readonly: !live, autocomplete: "off", spellcheck: "false" });
  const ask = (values) => live && change(model, { sentence: box.value, ...values });
  const search = choice({ label: "search", texts: beams.map(searchName), choose: (text) => ask({ beam: beams.find((beam) => searchName(beam) === text) }) });
  const form = make("form", { class: "asking", onsubmit: (event) => {
    event.preventDefault();
    ask({});
  } }, box, make("button", { type: "submit", disabled: !live }, "Translate"), live ? search.node : null);

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

  const [which, pairing, panels, foot] = [make("span", { class: "control" }), make("div", { class: "pairing" }), make("div", { class: "panels side" }), make("div")];
  const [said, told, rest] = [make("div"), make("div"), make("div")];
  layOut(root, "translate a sentence", {
    controls: { sentence: [form], steps: [...walk.nodes, which] },
    intro: [pairing],
    panels,
    legend: foot,
    says: [said, told, rest],
  });
  root.querySelector(".controls").after(note);

  const locked = () => {
    const [what, first, second = 0] = model.get("locked") ?? [];
    const [queries, keys] = [last() + 1, shown.result.source.length + 1];
    return what && (what === "key" ? first < keys : first < queries && second < keys) ? model.get("locked") : null;
  };
  const explain = () => {
    const stays = locked();
    const target = stays ?? hovered;
    const step = rowOf(target) ?? Math.min(model.get("step"), last());
    panels.classList.toggle("resting", target === null);
    shown.panel?.mark(target ?? ["query", step], stays !== null);
    shown.line.mark(step, stays);
    shown.candidates.replaceWith((shown.candidates = candidates(best(), step, shown.result.words)));
    tell(said, ...stepWords(best(), step, shown.weights), rowOf(stays) === null ? null : lockNote(true));
    const more = target && target[0] !== "query" && shown.panel;
    tell(told, ...(more ? [...shown.panel.says(target, false), lockNote(stays !== null)].filter(Boolean) : []));
    tell(rest, ...(target ? [] : [pointHint("a token, a line or a cell", "read its step and its weights", { steps: true })]));
  };
  const attend = () => {
    const { attention } = best();
    if (!attention) return;
    shown.weights = weightsOf(attention, ...heads);
    const { shape } = attention.weights;
    shown.panel.show(shown.weights, { title: shape[0] * shape[1] > 1 ? headName(heads) : "attention weights", threshold: THRESHOLD });
  };
  const redrawStep = () => {
    walk.set(Math.min(model.get("step"), last()), best().tokens.map((text, i) => `${i + 1} of ${last() + 1}: ${shortened(text, 14)}`));
    explain();
  };
  /** Another translation, or another width. */
  const rebuild = (raw, chosen, room) => {
    const result = shown?.raw === raw ? shown.result : unpack(raw);
    const active = root.getRootNode().activeElement;
    const place = [pairing, panels].find((part) => part.contains(active));
    const list = shown?.raw === raw ? shown.list : ranking(result, pick);
    shown = { raw, result, chosen, room, list, candidates: make("table") };
    const { attention } = best();
    hovered = null;
    shown.line = written(best(), result.languages[1], Math.min(model.get("step"), last()), point, lock);
    const named = (name, node) => [make("span", { class: "faint" }, name), node];
    pairing.replaceChildren(...named("source", chips(result)), ...named("translation", shown.line.node),
      ...(list ? named(`${result.best.length} found`, list.node) : []));
    list?.mark(chosen);
    if (attention) {
      const { shape } = attention.weights;
      if (heads[1] >= shape[0] || heads[2] >= shape[1]) heads = ["all", 0, 0];
      shown.panel = attentionPanel({ ...attention, room: Math.min(room - 12, 520), point, lock });
      which.replaceChildren(...(shape[0] * shape[1] > 1 ? [headChoice(shape, heads, (of) => {
        heads = of;
        attend();
        explain();
      })] : []));
      const [lines, ...others] = shown.panel.nodes;
      panels.replaceChildren(lines, shown.candidates, ...others);
    } else {
      which.replaceChildren();
      panels.replaceChildren(make("p", { class: "blind" }, "This model has no attention to look at: it reads the whole source " +
        "into a few numbers before it writes the first token, and never looks at the source again."), shown.candidates);
    }
    foot.replaceChildren(...(shown.panel ? [shown.panel.legend] : []), meaning(result));
    attend();
    if (place) (place.contains(active) ? active : place.querySelector("[tabindex]"))?.focus({ focusVisible: true });
  };
  const redraw = () => {
    const raw = model.get("result");
    const chosen = Math.min(model.get("chosen"), raw.best.length - 1);
    const room = roomIn(root);
    if (!shown || raw !== shown.raw || chosen !== shown.chosen || room !== shown.room) rebuild(raw, chosen, room);
    search.set(searchName(model.get("beam")));
    const waits = raw.asked[0] !== model.get("sentence") || raw.asked[1] !== model.get("beam");
    [pairing, panels].forEach((part) => part.classList.toggle("former", waits || raw.problem !== ""));
    const problem = !waits && raw.problem !== "";
    box.setAttribute("aria-invalid", problem);
    note.classList.toggle("wrong", problem);
    const below = " Below is the former translation.";
    if (waits) tell(note, "“", token(model.get("sentence")), `” (${searchName(model.get("beam"))}) is not translated yet: Python is busy, not running, or failed (see its log).${below}`);
    else if (problem) tell(note, raw.problem + below);
    else tell(note, ...(live ? [] : ["Another sentence needs Python: run the notebook. "]), ...unknownWords(raw, live));
    redrawStep();
  };
  const retype = () => box.value === model.get("sentence") || (box.value = model.get("sentence"));
  return { sentence: () => (retype(), redraw()), beam: redraw, result: redraw, chosen: redraw, step: redrawStep, locked: explain, resized: redraw };
}

// ---- Parts ----------------------------------------------------------------------------------------------------------

/** The tokens of the source; tokens that the model never saw in training are marked. */
function chips({ source, unknown, languages }) {
  return make("ul", { class: "chips", "aria-label": "tokens of the source", lang: languages[0] || null }, ...source.map((text, i) =>
    make("li", { class: unknown[i] ? "chip unknown" : "chip", title: text }, make("bdi", {}, oneLine(text)),
      unknown[i] ? make("span", { class: "sign" }, "?") : null)));
}

function unknownWords({ source, unknown, known }, live) {
  const texts = [...new Set(source.filter((_, i) => unknown[i]))];
  const number = known.toLocaleString("en");
  if (!texts.length) return live ? [`Type a sentence and press Enter. The model knows ${number} tokens.`] : [];
  const [was, is] = texts.length > 1 ? ["were", "they are"] : ["was", "it is"];
  const names = texts.flatMap((text, i) => [i ? ", “" : "“", token(text), "”"]);
  return [...names, ` ${was} never seen in training; ${is} read as <unk>. (The model knows ${number} tokens.)`];
}

/** The translation, with a span for each token: gives { node, mark(step, locked) }. */
function written({ text, tokens, pieces }, language, start, point, lock) {
  const nodes = tokens.map((name, i) => {
    const piece = (pieces[i] ?? name).trim();
    return make("span", { class: i in pieces ? "piece" : "piece end", title: name }, piece || name || "␣");
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
    mark(step, stays) {
      nodes.forEach((piece, i) => piece.classList.toggle("on", i === step));
      target(stays?.[0] === "query" ? { row: 0, column: stays[1] } : null);
    },
  };
}

/** The list of all translations, to choose one: gives { node, mark(chosen) }; null for a single translation. */
function ranking({ best, languages }, pick) {
  if (best.length < 2) return null;
  const id = fresh();
  let now = 0;
  const options = best.map(({ text, score, probability }, i) => make("div", { class: "option", role: "option", id: id + i, onclick: () => pick(i) },
    make("span", { class: "rank" }), make("bdi", { lang: languages[1] || null }, text),
    make("span", { class: "scores" }, `score ${score.toFixed(2).replace(/^-0.00$/, "0.00").replace("-", "−")}`,
      make("span", {}, `p = ${weightText(probability)}`.replace("= <", "< ")))));
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

const shortened = (text, most) => [...oneLine(text)].map((letter, i) => (i < most ? letter : i === most ? "…" : "")).join("");
const headName = ([show, layer, head]) => ({ all: "mean of all heads", layer: `layer ${layer}, mean`, head: `layer ${layer}, head ${head}` })[show];

function headChoice([layers, count], now, choose) {
  const each = (length, of) => Array.from({ length }, (_, i) => of(i));
  const all = [["all", 0, 0], ...each(layers, (layer) => [["layer", layer, 0], ...each(count, (head) => ["head", layer, head])]).flat()];
  const { node, set } = choice({ label: "attention", texts: all.map(headName), choose: (text) => choose(all.find((of) => headName(of) === text)) });
  set(headName(now));
  return node;
}

/** The likeliest next tokens at a step, as bars. */
function candidates({ tokens, next }, step, words) {
  const { probs, ranks, written, others, tokens: texts } = next[step];
  const before = tokens.slice(Math.max(0, step - 4), step).flatMap((text) => [" ", token(text)]);
  const line = (name, sign, head, prob) => make("tr", { class: name }, make("td", { class: "sign" }, sign), make("th", { scope: "row" }, head),
    make("td", {}, Object.assign(make("div", { class: "bar" }), { style: `width: ${(100 * prob).toFixed(1)}%` })), make("td", { class: "value" }, weightText(prob)));
  return make("table", { class: "candidates" },
    make("caption", {}, `step ${step + 1}: what may come ${step ? "after" : "first"}`, step > 4 ? " …" : "", ...before),
    make("tbody", {}, ...texts.map((text, i) => line(i === written ? "chosen" : null, `${i === written ? "▶ " : ""}${ranks[i]}.`,
      make("bdi", { title: text }, oneLine(text)), probs[i])),
    line("rest", "", `${(words - texts.length).toLocaleString("en")} others`, others)));
}

// ---- In words -------------------------------------------------------------------------------------------------------

/** A step in words: the token that the model writes, and the tokens that it looks at. */
function stepWords({ tokens, next, attention }, step, weights) {
  const { tokens: texts, probs, written } = next[step];
  const words = [`At step ${step + 1} the model writes `, token(tokens[step]), ` (${weightText(probs[written])})`];
  if (written > 0) words.push(", though ", token(texts[0]), ` (${weightText(probs[0])}) is likelier here,`);
  if (!attention) return [...words, "."];
  const { keys } = attention;
  const row = keys.map((_, j) => weights[step * keys.length + j]);
  const order = keys.map((_, j) => j).sort((i, j) => row[j] - row[i]);
  const seen = order.slice(0, MOST_SEEN).filter((j, place) => place === 0 || row[j] >= THRESHOLD);
  return [...words, " and looks at ", ...seen.flatMap((j, place) => [place ? ", " : "", ...tokenAt(keys, j), ` (${weightText(row[j])})`]), "."];
}

function meaning({ best, unknown }) {
  const sign = (name, text) => make("span", { class: name, "aria-hidden": "true" }, text);
  return legendOf(best[0].attention && ["", `no line: below ${THRESHOLD}`], [sign("sign", "▶"), "the token that was written; bars: probability of the next token"],
    unknown.includes(true) && [make("span", { class: "chip unknown", "aria-hidden": "true" }, sign("sign", "?")), "never seen in training, read as <unk>"],
    best.length > 1 && ["", "score: log p / length penalty; p: probability of the whole sentence"]);
}
