// What if? Parts for views in which a person changes what a model does: what was changed, before and after, back again.

const KINDS = ["encoder", "causal", "cross"];
const CHANGES = new WeakMap(); // of the views that are built anew
// Why there is no answer yet: a page with a model in it has no Python.
const whyNot = () => (document.getElementById("model") ? "the model in this page is at work" : "Python is busy, not running, or failed (see its log)");
const fresh = () => `whatif-${Math.random().toString(36).slice(2)}-`; // for ids
const sameQuestion = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The changes of a question, so that each can be undone.
 *
 * get(): the current question, an object of traits. set(values): asks another one. result(): the answer that is shown.
 * kept: a model that keeps the changes, for a view that is built anew by each answer.
 * Gives { ask(values), begin(values), undo(), reset(), follow(), count(), first(), forced() }. ask: one more change. begin: a
 * question that is no change of the one before. follow(then): to be called when a trait has changed, perhaps by somebody else.
 * first(): what stood there before the first change, { question, result }, or null. forced(): the steps whose token was
 * chosen by a person. */
function changes({ get, set, result, kept = null }) {
  let [stack, first, own, busy] = CHANGES.get(kept) ?? [[], null, get(), false];
  let due = false;
  const keep = () => kept && CHANGES.set(kept, [stack, first, own, false]);
  const become = (values) => {
    busy = true;
    own = { ...get(), ...values };
    keep();
    set(values);
    busy = false;
  };
  const clear = () => ([stack, first] = [[], null]);
  return {
    ask(values) {
      if (sameQuestion(get(), { ...get(), ...values })) return;
      first ??= { question: get(), result: result() };
      stack.push(get());
      become(values);
    },
    begin(values) {
      clear();
      become(values);
    },
    undo() {
      if (!stack.length) return;
      const question = stack.pop();
      if (!stack.length) first = null;
      become(question);
    },
    reset() {
      const [question] = [...stack, get()];
      clear();
      become({ ...question, ..."prefix" in question && { prefix: [] }, edits: [] });
    },
    follow(then) {
      if (busy || due) return;
      due = true;
      const shown = result();
      queueMicrotask(() => { // when all traits of the question are there
        due = false;
        const now = get();
        if (sameQuestion(now, own)) return;
        if (now.beam === own.beam && isSwap(own.sentence, now.sentence)) {
          first ??= { question: own, result: shown };
          stack.push(own);
        } else clear();
        own = now;
        keep();
        then();
      });
    },
    count: () => stack.length,
    now: get,
    first: () => first,
    forced: () => [...stack, get()].map(({ prefix }) => prefix).filter((prefix) => prefix.length && sameQuestion(prefix, get().prefix.slice(0, prefix.length))).map(({ length }) => length - 1),
  };
}

/** Whether two sentences differ in one word at most. */
function isSwap(before, now) {
  const [one, other] = [before, now].map((text) => text.split(/\s+/));
  return one.length === other.length && one.filter((word, i) => word !== other[i]).length <= 1;
}

/** Marks the parts of a view as an older answer: gives set(isOld, atOnce). A question that is answered quickly makes no flicker. */
function ageing(...parts) {
  let timer = 0;
  const late = (isLate) => parts.forEach((part) => part.classList.toggle("late", isLate));
  return (isOld, atOnce) => {
    clearTimeout(timer);
    parts.forEach((part) => part.classList.toggle("former", isOld));
    if (!isOld || atOnce) late(isOld);
    else timer = setTimeout(late, 200, true);
  };
}

/** Switches a button off or on. A button that has the focus of the keyboard keeps it: after the last Undo, a person goes on from there. */
function off(button, isOff) {
  button.setAttribute("aria-disabled", isOff);
  button.tabIndex = isOff ? -1 : 0;
}

/** The buttons for changes, and what was changed: gives { node, set(words, program, extra) }. */
function changesBar(history, ...extra) {
  const undo = make("button", { type: "button", onclick: history.undo }, "Undo");
  const reset = make("button", { type: "button", onclick: history.reset }, "Reset");
  const code = make("pre", { tabindex: 0, "aria-label": "the same in Python" });
  const done = make("span", { class: "faint", "aria-live": "polite" });
  const node = make("div", { class: "controls whatif", role: "group", "aria-label": "what if?" }, undo, reset,
    make("details", { class: "python" }, make("summary", {}, "in Python"), code), ...extra.filter(Boolean), done);
  return {
    node,
    set(words, program) {
      const { prefix = [], edits } = history.now(); // they may come from elsewhere
      off(undo, !history.count());
      off(reset, !history.count() && !prefix.length && !edits.length);
      code.textContent = program;
      tell(done, words);
    },
  };
}

/** A translation before the first change, as a list of nodes; what is no longer there is crossed out. */
function crossedOut({ tokens, pieces, probability }, now, language) {
  const [gone] = differences(tokens, now.tokens);
  const parts = pieces.flatMap((piece, i) => (gone[i] ? [/^\s/.test(piece) ? " " : "", make("del", {}, piece.trim())] : [make("span", {}, piece)]));
  return [make("bdi", { lang: language || null }, ...parts), certainty({ probability })];
}

/** A probability with its letter: "p = 0.87", "p: 1 in 2,100". */
const certainty = ({ probability: p }) => make("span", { class: "certainty" }, p >= 0.005 ? `p = ${chance(p)}` : `p: ${chance(p)}`);

/** Which elements of two lists are not in their longest common subsequence: [flags of the first, flags of the second]. */
function differences(before, after) {
  const [n, m] = [before.length, after.length];
  const best = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      best[i][j] = before[i] === after[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
    }
  }
  const [left, right] = [before.map(() => true), after.map(() => true)];
  for (let i = 0, j = 0; i < n && j < m; ) {
    if (before[i] === after[j]) [left[i++], right[j++]] = [false, false];
    else if (best[i + 1][j] >= best[i][j + 1]) i++;
    else j++;
  }
  return [left, right];
}

/** The tokens of the source; tokens that the model never saw in training are marked. Pointing at one shows who looks at it;
 * with `swap(index, word)`, a click offers another word. Gives { node, mark(index), changed(flags) }. */
function chips({ source, unknown, languages }, { point, swap, vocab, id }) {
  const node = make("div", { class: "chips", role: "group", "aria-label": "tokens of the source", lang: languages[0] || null });
  const list = swap ? make("datalist", { id: `${id}words` }, ...vocab.map((word) => make("option", { value: word }))) : null;
  const chipAt = (i) => {
    const parts = [make("bdi", {}, oneLine(source[i])), unknown[i] ? make("span", { class: "sign" }, "?") : null];
    const events = { onpointermove: () => point(["key", i]), onpointerleave: () => point(null), onfocus: () => point(["key", i]), onblur: () => point(null) };
    const label = `${source[i]}${unknown[i] ? ", never seen in training" : ""}${swap ? ": another word" : ""}`;
    return make("button", { type: "button", class: unknown[i] ? "chip unknown" : "chip", title: source[i], "aria-label": label,
      ...events, onclick: () => swap && rewrite(i) }, ...parts);
  };
  const rewrite = (i) => {
    const input = make("input", { class: "chip", list: `${id}words`, "aria-label": `another word for ${source[i]}`, placeholder: source[i], autocomplete: "off" });
    input.style.width = `${Math.max(8, source[i].length + 4)}ch`;
    let open = true;
    const close = (word = "") => {
      if (!open) return; // the browser tells twice that the input has lost the focus
      open = false;
      input.replaceWith((all[i] = chipAt(i)));
      if (word) swap(i, word);
      queueMicrotask(() => node.dispatchEvent(new Event("typed", { bubbles: true }))); // when the focus is where it belongs
    };
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" && event.key !== "Enter") return;
      close(event.key === "Enter" ? input.value.trim() : "");
      if (all[i].isConnected) all[i].focus();
      event.preventDefault();
      event.stopPropagation();
    });
    input.addEventListener("change", () => close(input.value.trim())); // a word of the list was clicked
    input.addEventListener("blur", () => close());
    all[i].replaceWith((all[i] = input));
    input.focus();
  };
  const all = source.map((_, i) => chipAt(i));
  node.append(...all, ...(list ? [list] : []));
  roving(node, all);
  const toggle = (name, isOn) => all.forEach((chip, i) => chip.classList.toggle(name, isOn(i)));
  return { node, mark: (index) => toggle("on", (i) => i === index), changed: (flags) => toggle("new", (i) => Boolean(flags[i])) };
}

/** For a legend: what a marked token of the source is; false where none is marked. */
const unknownSign = (unknown) => unknown.includes(true) && [make("span", { class: "chip unknown", "aria-hidden": "true" }, make("span", { class: "sign" }, "?")), "never seen in training, read as <unk>"];

/** The sentence with another word in place of one token, and the rest as it was typed. */
function swapped(sentence, source, index, word) {
  let at = 0;
  for (const [i, text] of source.entries()) {
    const found = sentence.toLowerCase().indexOf(text, at);
    if (found < 0) return source.map((one, j) => (j === index ? word : one)).join(" "); // it was typed in another spelling
    if (i === index) return sentence.slice(0, found) + (found === 0 && /^\p{Lu}/u.test(sentence) ? word[0].toUpperCase() + word.slice(1) : word) + sentence.slice(found + text.length);
    at = found + text.length;
  }
  return sentence;
}

/** For each element of one list the index of its partner in another, or null: what is in both, and what was replaced, in order. */
function partners(before, after) {
  const [gone, fresh] = differences(before, after);
  const found = before.map(() => null);
  for (let i = 0, j = 0; i < before.length && j < after.length; ) {
    if (gone[i] === fresh[j]) found[i++] = j++;
    else if (gone[i]) i++;
    else j++;
  }
  return found;
}

/** The silenced heads of a list of edits, each as "kind layer head"; layers: { kind: [[name, heads], ...] }. */
function silenced(edits, layers) {
  const found = new Set();
  for (const [what, kind, layer, head] of edits) {
    if (what !== "silence") continue;
    (layers[kind] ?? []).forEach(([, heads], at) => {
      for (let i = 0; i < heads; i++) if ((layer ?? at) === at && (head ?? i) === i) found.add(`${kind} ${at} ${i}`);
    });
  }
  return found;
}

/** The edits with exactly these silenced heads; a layer that is silent as a whole is one edit. Other edits stay. */
function withSilence(edits, silent, layers) {
  const others = edits.filter(([what]) => what !== "silence");
  for (const kind of KINDS) {
    (layers[kind] ?? []).forEach(([, count], layer) => {
      const heads = Array.from({ length: count }, (_, i) => i).filter((head) => silent.has(`${kind} ${layer} ${head}`));
      if (heads.length === count) others.push(["silence", kind, layer, null]);
      else heads.forEach((head) => others.push(["silence", kind, layer, head]));
    });
  }
  return others;
}

/** The heads of a kind, a layer (null: all) and a head (null: all), each as "kind layer head". */
function headsOf([kind, layer, head], layers) {
  return (layers[kind] ?? []).flatMap(([, count], at) => Array.from({ length: count }, (_, i) => i)
    .filter((i) => (layer ?? at) === at && (head ?? i) === i).map((i) => `${kind} ${at} ${i}`));
}

/** The edits with these heads silenced; or speaking again, if all of them were silent. */
function flipped(edits, place, layers) {
  const [silent, keys] = [silenced(edits, layers), headsOf(place, layers)];
  const off = keys.every((key) => silent.has(key));
  keys.forEach((key) => (off ? silent.delete(key) : silent.add(key)));
  return withSilence(edits, silent, layers);
}

/** The edits with all heads of the kind silenced but these. */
function keptAlone(edits, place, layers) {
  const [silent, mine] = [silenced(edits, layers), headsOf(place, layers)];
  headsOf([place[0], null, null], layers).forEach((key) => (mine.includes(key) ? silent.delete(key) : silent.add(key)));
  return withSilence(edits, silent, layers);
}

/** The edits with this weight; an older edit of the same cell is replaced. */
function withWeight(edits, change) {
  const place = (edit) => JSON.stringify(edit.slice(0, 6));
  return [...edits.filter((edit) => place(edit) !== place(change)), change].sort((a, b) => (a[0] === "silence") - (b[0] === "silence"));
}

/** A switch for every head and every layer: gives { node, set(edits) }. layers: { kind: [[name, heads], ...] }.
 * choose(edits => otherEdits): called with a function when a switch is used. */
function headSwitches(layers, choose) {
  const [switches, rows] = [new Map(), []];
  let only = false;
  for (const kind of KINDS.filter((name) => layers[name])) {
    const group = make("div", { class: "kind" });
    rows.push(group);
    layers[kind].forEach(([, count], layer) => {
      const keys = Array.from({ length: count }, (_, head) => `${kind} ${layer} ${head}`);
      const heads = keys.map((key, head) => {
        const button = make("button", { type: "button", class: "head", onclick: () => choose((edits) => (only ? keptAlone : flipped)(edits, [kind, layer, head], layers)) }, `${head}`);
        switches.set(key, button);
        return button;
      });
      const whole = make("button", { type: "button", class: "layer", "aria-label": `${kind} ${layer}: silence the layer`, onclick: () => choose((edits) => flipped(edits, [kind, layer, null], layers)) }, `${kind} ${layer}`);
      group.append(make("div", { class: "switches", role: "group", "aria-label": `heads of ${kind} layer ${layer}` }, whole, ...heads));
    });
  }
  rows.forEach((group) => roving(group, [...group.querySelectorAll("button")]));
  const mode = make("input", { type: "checkbox", onchange: () => (only = mode.checked) });
  const node = make("div", { class: "board", role: "group", "aria-label": "silence heads" },
    make("div", { class: "controls" }, make("span", { class: "head-line" }, "silence a head, or a layer"),
      make("label", { class: "control" }, mode, "or keep only the head that I click, of its kind")),
    make("div", { class: "kinds" }, ...rows));
  return {
    node,
    set(edits) {
      const silent = silenced(edits, layers);
      for (const [key, button] of switches) {
        const [kind, layer, head] = key.split(" ");
        const off = silent.has(key);
        button.setAttribute("aria-pressed", off);
        button.setAttribute("aria-label", `${head}, head of ${kind} layer ${layer}: ${off ? "silent" : "not silent"}`);
        button.title = `${kind}, layer ${layer}, head ${head}`;
      }
    },
  };
}

/** A slider and a number for one weight: gives { node, show(weight, children) }. choose(weight): called at the end. */
function weightEditor(choose) {
  const settings = { min: 0, max: 1, step: 0.01 };
  const range = make("input", { type: "range", ...settings, "aria-label": "weight" });
  const typed = make("input", { type: "number", ...settings, "aria-label": "weight as a number" });
  const name = make("span");
  for (const input of [range, typed]) {
    input.addEventListener("input", () => ([range, typed].forEach((other) => other !== input && (other.value = input.value))));
    input.addEventListener("change", () => Number.isFinite(input.valueAsNumber) && choose(Math.min(Math.max(input.valueAsNumber, 0), 1)));
  }
  const node = make("div", { class: "control weigh", hidden: true }, name, range, typed);
  return {
    node,
    show(weight, children = []) {
      node.hidden = weight === null;
      if (weight === null) return;
      name.replaceChildren(...children);
      const rounded = (Math.round(100 * weight) / 100).toFixed(2);
      for (const input of [range, typed]) if (input !== node.getRootNode().activeElement || Number(input.value) !== Number(rounded)) input.value = rounded;
    },
  };
}

/** The same question as a Python program. layers: see `headSwitches`. */
function pythonCode({ sentence, beam, prefix, edits }, layers) {
  const text = JSON.stringify; // a text in JSON is a text in Python, too
  const value = (x) => (x === null ? "None" : typeof x === "string" ? text(x) : String(x));
  const search = beam > 1 ? `, beam=${beam}` : "";
  if (edits.length && !prefix.length && edits.every(([what]) => what === "silence")) {
    const silent = silenced(edits, layers);
    const lines = Object.entries(layers).flatMap(([kind, list]) => list.flatMap(([name, count], layer) => {
      const heads = Array.from({ length: count }, (_, i) => i).filter((i) => silent.has(`${kind} ${layer} ${i}`));
      if (!heads.length) return [];
      return [`    ${text(name)}: ${heads.length === count ? "ablate" : `in_heads(ablate, ${heads.join(", ")})`},`];
    }));
    return ["from seqlearn import edit_attention", "from seqlearn.reading import ablate, in_heads", "", "edits = {", ...lines, "}",
      "with edit_attention(translator.model, edits):", `    print(translator.translate(${text(sentence)}${search}))`].join("\n");
  }
  if (!edits.length && !prefix.length) return `print(translator.translate(${text(sentence)}${search}))`;
  const changed = edits.map((edit) => `    (${edit.map(value).join(", ")}),`);
  const arguments_ = [prefix.length ? `prefix=[${prefix.map(text).join(", ")}]` : "", edits.length ? "edits=edits" : ""].filter(Boolean).join(", ");
  return ["from seqlearn.whatif import what_if", "", ...(edits.length ? ["edits = [", ...changed, "]"] : []),
    `changed = what_if(translator, ${arguments_})`, `print(changed.translate(${text(sentence)}${search}))`].join("\n");
}

/** The edits in words, as texts: "encoder 0.2 silent", "encoder: only 1.3 speaks". layers: see `headSwitches`; names: for a
 * kind, the tokens of its rows and of its columns, where the edits are about this sentence. */
function editsInWords(edits, layers, names = {}) {
  const silent = silenced(edits, layers);
  const found = [];
  for (const kind of KINDS) {
    const speaking = headsOf([kind, null, null], layers).filter((key) => !silent.has(key));
    if (speaking.length === 1 && silent.size) found.push(`${kind}: only ${speaking[0].split(" ").slice(1).join(".")} speaks`);
    else (layers[kind] ?? []).forEach(([, count], layer) => {
      const mine = Array.from({ length: count }, (_, head) => head).filter((head) => silent.has(`${kind} ${layer} ${head}`));
      if (mine.length === count) found.push(`${kind} layer ${layer} silent`);
      else found.push(...mine.map((head) => `${kind} ${layer}.${head} silent`));
    });
  }
  for (const [what, kind, layer, head, row, column, weight] of edits) {
    if (what !== "weight") continue;
    const where = layer === null ? "all heads" : head === null ? `layer ${layer}` : `${layer}.${head}`;
    const [rows, columns] = names[kind] ?? [[], []];
    const at = (tokens, i, name) => (i in tokens ? `“${tokens[i]}”` : `${name} ${i + 1}`);
    found.push(`${kind}, ${where}: ${at(rows, row, "row")} gives ${at(columns, column, "column")} a weight of ${number(weight)}`);
  }
  return found;
}

/** A probability as a text: 0.87, or "1 in 20,000" where two decimals would be none. */
function chance(p) {
  if (p >= 0.005) return p.toFixed(2);
  if (!(p > 1e-9)) return "about 0";
  const odds = 1 / p;
  const unit = 10 ** (Math.floor(Math.log10(odds)) - 1);
  const rounded = Math.round(odds / unit) * unit;
  return rounded < 1e6 ? `1 in ${rounded.toLocaleString("en")}` : `1 in ${(rounded / 1e6).toLocaleString("en")} million`;
}

/** The share of a bar for a probability, on a logarithmic scale: 1 is full, one in a million is empty. */
const onLogScale = (p) => (p > 0 ? Math.max(0, 1 + Math.log10(p) / 6) : 0);
