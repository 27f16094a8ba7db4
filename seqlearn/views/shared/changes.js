// What if? Parts for views in which a person changes what a model does: what was changed, before and after, back again.

import { KINDS } from "./constants.js";
import { focusIn, make, number, oneLine, roving, tell } from "./elements.js";

/** @import { AnyKind, Child, Edit, Layers, Question, Target } from "./types.js" */
/** @import { Ablated } from "../live/ablation.js" */

/** What each head does to a translation: `ablation_map` in answers/ablations.py.
 * @typedef {{ asked: object, base: Ablated, heads: [kind: AnyKind, layer: number, head: number, Ablated][] }}
 *   AblationMap
 */

/** A kind, a layer and a head; null is every layer, or every head.
 * @typedef {[kind: AnyKind, layer: number | null, head: number | null]} Place
 */

/** A question that can be changed.
 * @typedef {Pick<Question, "sentence" | "edits"> & Partial<Question>} Changeable
 */

/** What was asked, and answered, since the last question that is no change of the one before.
 * @template Q, R
 * @typedef {{ stack: Q[], first: { question: Q, result: R } | null, own: Q }} Past
 */

/** Of the views that are built anew.
 * @type {WeakMap<object, Past<unknown, unknown>>} */
const CHANGES = new WeakMap();
// Why there is no answer yet: a page with a model in it has no Python.
export const whyNot = () =>
  document.getElementById("model")
    ? "the model in this page is at work"
    : "Python is busy, not running, or failed (see its log)";
export const fresh = () => `whatif-${Math.random().toString(36).slice(2)}-`; // for ids
export const sameQuestion = (/** @type {unknown} */ a, /** @type {unknown} */ b) =>
  JSON.stringify(a) === JSON.stringify(b);

/** The changes of a question, so that each can be undone.
 *
 * get(): the current question, an object of traits. set(values): asks another one. result(): the answer that is shown.
 * kept: a model that keeps the changes, for a view that is built anew by each answer.
 * Gives { ask(values), begin(values), undo(), reset(), follow(), count(), first(), forced() }. ask: one more change.
 * begin: a question that is no change of the one before. follow(then): to be called when a trait has changed, perhaps
 * by somebody else. first(): what stood there before the first change, { question, result }, or null. forced(): the
 * steps whose token was chosen by a person.
 * @template {Changeable} Q
 * @template R
 * @param {{ get: () => Q, set: (values: Partial<Q>) => void, result: () => R, kept?: object | null }} options
 */
export function changes({ get, set, result, kept = null }) {
  const before = /** @type {Past<Q, R> | undefined} */ (kept ? CHANGES.get(kept) : undefined);
  /** @type {Past<Q, R>} */
  const past = before ? { ...before } : { stack: [], first: null, own: get() };
  let [busy, due] = [false, false];
  const keep = () => kept && CHANGES.set(kept, { ...past });
  const become = (/** @type {Partial<Q>} */ values) => {
    busy = true;
    past.own = { ...get(), ...values };
    keep();
    set(values);
    busy = false;
  };
  const clear = () => {
    past.stack = [];
    past.first = null;
  };
  return {
    ask(/** @type {Partial<Q>} */ values) {
      if (sameQuestion(get(), { ...get(), ...values })) return;
      past.first ??= { question: get(), result: result() };
      past.stack.push(get());
      become(values);
    },
    begin(/** @type {Partial<Q>} */ values) {
      clear();
      become(values);
    },
    undo() {
      const question = past.stack.pop();
      if (!question) return;
      if (!past.stack.length) past.first = null;
      become(question);
    },
    reset() {
      const [question] = [...past.stack, get()];
      clear();
      become({ ...question, ...("prefix" in question && { prefix: [] }), edits: [] });
    },
    follow(/** @type {() => void} */ then) {
      if (busy || due) return;
      due = true;
      const shown = result();
      queueMicrotask(() => {
        // when all traits of the question are there
        due = false;
        const now = get();
        if (sameQuestion(now, past.own)) return;
        if (now.beam === past.own.beam && isSwap(past.own.sentence, now.sentence)) {
          past.first ??= { question: past.own, result: shown };
          past.stack.push(past.own);
        } else clear();
        past.own = now;
        keep();
        then();
      });
    },
    count: () => past.stack.length,
    now: get,
    first: () => past.first,
    forced: () =>
      [...past.stack, get()]
        .map(({ prefix = [] }) => prefix)
        .filter((prefix) => prefix.length && sameQuestion(prefix, get().prefix?.slice(0, prefix.length)))
        .map(({ length }) => length - 1),
  };
}

/** Whether two sentences differ in one word at most.
 * @param {string} before
 * @param {string} now
 */
function isSwap(before, now) {
  const [one, other] = [before, now].map((text) => text.split(/\s+/));
  return one.length === other.length && one.filter((word, i) => word !== other[i]).length <= 1;
}

/** Marks the parts of a view as an older answer: gives set(isOld, atOnce). A question that is answered quickly makes no
 * flicker.
 * @param {...Element} parts
 */
export function ageing(...parts) {
  let timer = 0;
  const toggle = (/** @type {string} */ name, /** @type {boolean} */ isOn) => {
    for (const part of parts) part.classList.toggle(name, isOn);
  };
  const late = (/** @type {boolean} */ isLate) => toggle("late", isLate);
  return (/** @type {boolean} */ isOld, atOnce = false) => {
    clearTimeout(timer);
    toggle("former", isOld);
    if (!isOld || atOnce) late(isOld);
    else timer = setTimeout(late, 200, true);
  };
}

/** Switches a button off or on. A button that has the focus of the keyboard keeps it: after the last Undo, a person
 * goes on from there.
 * @param {HTMLElement} button
 * @param {boolean} isOff
 */
function off(button, isOff) {
  button.setAttribute("aria-disabled", String(isOff));
  button.tabIndex = isOff ? -1 : 0;
}

/** The buttons for changes, and what was changed: gives { node, python, set(words, program) }. python: the fold with
 * the program, a part of the node, which may stand elsewhere.
 * @param {{ undo: () => void, reset: () => void, now: () => Changeable, count: () => number }} history
 * @param {...(Node | null | false)} extra
 */
export function changesBar(history, ...extra) {
  const undo = make("button", { type: "button", onclick: history.undo }, "Undo");
  const reset = make("button", { type: "button", onclick: history.reset }, "Reset");
  const code = make("pre", { tabindex: 0, "aria-label": "the same in Python" });
  const done = make("span", { class: "faint", "aria-live": "polite" });
  const python = make("details", { class: "python" }, make("summary", {}, "in Python"), code);
  const node = make(
    "div",
    { class: "controls whatif", role: "group", "aria-label": "what if?" },
    undo,
    reset,
    python,
    ...extra.filter((node) => !!node),
    done,
  );
  return {
    node,
    python,
    set(/** @type {Child} */ words, /** @type {string} */ program) {
      const { prefix = [], edits } = history.now(); // they may come from elsewhere
      off(undo, !history.count());
      off(reset, !history.count() && !prefix.length && !edits.length);
      code.textContent = program;
      tell(done, words);
    },
  };
}

/** A translation before the first change, as a list of nodes; what is no longer there is crossed out, and words that
 * stayed the same are not repeated.
 * @param {{ tokens: string[], pieces: string[], probability: number }} before
 * @param {{ tokens: string[] }} now
 * @param {string | null} [language]
 */
export function crossedOut({ tokens, pieces, probability }, now, language) {
  if (sameQuestion(tokens, now.tokens)) return [make("span", {}, "the same words"), certainty({ probability })];
  const [gone] = differences(tokens, now.tokens);
  /** @type {(piece: string, i: number) => Child[]} */
  const drawn = (piece, i) =>
    gone[i] ? [/^\s/.test(piece) ? " " : "", make("del", {}, piece.trim())] : [make("span", {}, piece)];
  return [make("bdi", { lang: language || null }, ...pieces.flatMap(drawn)), certainty({ probability })];
}

/** A probability with its letter: "p = 0.87", "p: 1 in 2,100".
 * @param {{ probability: number }} reading
 */
export const certainty = ({ probability: p }) =>
  make("span", { class: "certainty" }, p >= 0.005 ? `p = ${chance(p)}` : `p: ${chance(p)}`);

/** Which elements of two lists are not in their longest common subsequence: [flags of the first, flags of the second].
 * @param {readonly unknown[]} before
 * @param {readonly unknown[]} after
 * @returns {[first: boolean[], second: boolean[]]}
 */
export function differences(before, after) {
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

const SPACE = "▁"; // at the beginning of a piece of a word
const POINT = /^▁?[\p{P}\p{S}\p{Z}]+$/u; // punctuation, as a piece

/** Which tokens are drawn side by side, as one word: pieces up to the next space. Tokens that are words stand alone.
 * @param {string[]} source */
function wordsOf(source) {
  const hasPieces = source.some((text) => text.startsWith(SPACE));
  /** @type {number[][]} */
  const words = [];
  for (const [i, text] of source.entries()) {
    if (words.length && hasPieces && !text.startsWith(SPACE)) words[words.length - 1].push(i);
    else words.push([i]);
  }
  return words;
}

/** From where to where a token's word reaches that a person may swap: its pieces, without punctuation.
 * @param {string[]} source @param {number} index @returns {[from: number, to: number]} */
function swapRange(source, index) {
  const word = wordsOf(source).find((several) => several.includes(index)) ?? [index];
  let [from, to] = [index, index + 1];
  if (POINT.test(source[index])) return [from, to];
  while (from > word[0] && !POINT.test(source[from - 1])) from--;
  while (to <= word[word.length - 1] && !POINT.test(source[to])) to++;
  return [from, to];
}

/** A token without the sign of a space before it.
 * @param {string} text */
const bare = (text) => text.replace(/^▁/u, "") || "␣";

/** The tokens of the source; tokens that the model never saw in training are marked. Pointing at one shows who looks at
 * it; with `swap(index, word)`, a click offers another word. Gives { node, mark(index), changed(flags), again(index) }.
 * again: the box for another word opens with the word in it, if the focus is there.
 * @param {{ source: string[], unknown: boolean[], languages: (string | null)[] }} reading
 * @param {{
 *   point: (target: Target | null) => void,
 *   swap: ((index: number, word: string) => void) | null,
 *   vocab: string[],
 *   id: string,
 * }} options
 */
export function chips({ source, unknown, languages }, { point, swap, vocab, id }) {
  const label = { role: "group", "aria-label": "tokens of the source", lang: languages[0] || null };
  const node = make("div", { class: "chips", ...label });
  const chipAt = (/** @type {number} */ i) => {
    const name = bare(source[i]);
    const spoken = `${name}${unknown[i] ? ", never seen in training" : ""}`;
    const events = {
      onpointermove: () => point(["key", i]),
      onpointerleave: () => point(null),
      onfocus: () => point(["key", i]),
      onblur: () => point(null),
      onclick: () => swap && rewrite(i, swap),
    };
    return make(
      "button",
      {
        type: "button",
        class: `chip${unknown[i] ? " unknown" : ""}${swap ? " swaps" : ""}`,
        title: swap ? `${source[i]}: click to swap it for another word` : source[i],
        "aria-label": swap ? `swap ${spoken}: another word` : spoken,
        ...events,
      },
      make("bdi", {}, oneLine(name)),
      unknown[i] ? make("span", { class: "sign" }, "?") : null,
    );
  };
  const put = (/** @type {number} */ i, /** @type {HTMLElement} */ chip) => {
    const former = all[i];
    all[i] = chip;
    former.replaceWith(chip);
  };
  /** @type {(i: number, swap: (index: number, word: string) => void, isAgain?: boolean) => void} */
  const rewrite = (i, swap, isAgain = false) => {
    const close = (/** @type {string} */ word) => {
      put(i, chipAt(i));
      if (word) swap(i, word);
      // when the focus is where it belongs
      queueMicrotask(() => node.dispatchEvent(new Event("typed", { bubbles: true })));
    };
    const refocus = () => all[i].isConnected && all[i].focus();
    const word = bare(source.slice(...swapRange(source, i)).join(""));
    const input = wordInput(word, `${id}words`, close, refocus);
    put(i, input);
    input.focus();
    if (isAgain) {
      Object.assign(input, { value: word, ariaInvalid: "true" }).setAttribute("aria-describedby", `${id}note`);
      return input.select();
    }
    try {
      input.showPicker?.(); // the words, at once: the chip looks like a menu
    } catch {
      // not after a press: the browser opens no list
    }
  };
  /** @type {HTMLElement[]} */
  const all = source.map((_, i) => chipAt(i));
  node.append(
    ...wordsOf(source).map((word) =>
      word.length > 1 ? make("span", { class: "several" }, ...word.map((i) => all[i])) : all[word[0]],
    ),
  );
  if (swap)
    node.append(make("datalist", { id: `${id}words` }, ...vocab.map((word) => make("option", { value: word }))));
  roving(node, all);
  /** @type {(name: string, isOn: (i: number) => boolean) => void} */
  const toggle = (name, isOn) => {
    for (const [i, chip] of all.entries()) chip.classList.toggle(name, isOn(i));
  };
  return {
    node,
    mark: (/** @type {number | null} */ index) => toggle("on", (i) => i === index),
    changed: (/** @type {boolean[]} */ flags) => toggle("new", (i) => Boolean(flags[i])),
    again(/** @type {number} */ i) {
      const isThere = Boolean(swap) && all[i] === focusIn(node);
      if (swap && isThere) rewrite(i, swap, true);
      return isThere;
    },
  };
}

/** The box for another word. close(word): called once, without a word if there is none. refocus(): called after a key.
 * @param {string} word
 * @param {string} list the id of the words that it offers
 * @param {(word: string) => void} close
 * @param {() => void} refocus
 */
function wordInput(word, list, close, refocus) {
  const label = { "aria-label": `another word for ${word}`, placeholder: word };
  const input = make("input", { class: "chip", list, ...label, autocomplete: "off" });
  input.style.width = `${Math.max(8, word.length + 4)}ch`;
  let open = true;
  const end = (text = "") => {
    if (!open) return; // the browser tells twice that the input has lost the focus
    open = false;
    close(text);
  };
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" && event.key !== "Enter") return;
    end(event.key === "Enter" ? input.value.trim() : "");
    refocus();
    event.preventDefault();
    event.stopPropagation();
  });
  input.addEventListener("change", () => end(input.value.trim())); // a word of the list was clicked
  input.addEventListener("blur", () => end());
  return input;
}

/** For a legend: what a marked token of the source is; false where none is marked.
 * @param {boolean[]} unknown
 * @returns {[Child, string] | false}
 */
export const unknownSign = (unknown) =>
  unknown.includes(true) && [
    make("span", { class: "chip unknown", "aria-hidden": "true" }, make("span", { class: "sign" }, "?")),
    "never seen in training, read as <unk>",
  ];

/** The sentence with another word in place of one token, and the rest as it was typed.
 * @param {string} sentence
 * @param {string[]} source
 * @param {number} index
 * @param {string} word
 */
export function swapped(sentence, source, index, word) {
  if (source[0]?.startsWith(SPACE)) {
    const [from, to] = swapRange(source, index);
    const first = source[from].startsWith(SPACE) ? SPACE : "";
    return [...source.slice(0, from), first + word, ...source.slice(to)].join("").replaceAll(SPACE, " ").trim();
  }
  const small = sentence.toLowerCase();
  let at = 0;
  for (const [i, text] of source.entries()) {
    const found = small.length === sentence.length ? small.indexOf(text, at) : -1;
    if (found < 0) return source.map((one, j) => (j === index ? word : one)).join(" "); // typed in another spelling
    if (i === index) {
      const capital = found === 0 && /^\p{Lu}/u.test(sentence);
      const other = capital ? word[0].toUpperCase() + word.slice(1) : word;
      return sentence.slice(0, found) + other + sentence.slice(found + text.length);
    }
    at = found + text.length;
  }
  return sentence;
}

/** For each element of one list the index of its partner in another, or null: what is in both, and what was replaced,
 * in order.
 * @param {readonly unknown[]} before
 * @param {readonly unknown[]} after
 */
export function partners(before, after) {
  const [gone, fresh] = differences(before, after);
  /** @type {(number | null)[]} */
  const found = before.map(() => null);
  for (let i = 0, j = 0; i < before.length && j < after.length; ) {
    if (gone[i] === fresh[j]) found[i++] = j++;
    else if (gone[i]) i++;
    else j++;
  }
  return found;
}

/** The ablated heads of a list of edits, each as "kind layer head"; layers: { kind: [[name, heads], ...] }.
 * @param {Edit[]} edits
 * @param {Layers} layers
 */
export function ablated(edits, layers) {
  /** @type {Set<string>} */
  const found = new Set();
  for (const [what, kind, layer, head] of edits) {
    if (what !== "ablate") continue;
    (layers[kind] ?? []).forEach(([, heads], at) => {
      for (let i = 0; i < heads; i++) if ((layer ?? at) === at && (head ?? i) === i) found.add(`${kind} ${at} ${i}`);
    });
  }
  return found;
}

/** The edits with exactly these ablated heads; a layer that is ablated as a whole is one edit. Other edits stay.
 * @param {Edit[]} edits
 * @param {Set<string>} off
 * @param {Layers} layers
 * @returns {Edit[]}
 */
function withAblated(edits, off, layers) {
  const others = edits.filter(([what]) => what !== "ablate");
  for (const kind of KINDS) {
    (layers[kind] ?? []).forEach(([, count], layer) => {
      const heads = Array.from({ length: count }, (_, i) => i).filter((head) => off.has(`${kind} ${layer} ${head}`));
      if (heads.length === count) others.push(["ablate", kind, layer, null]);
      else for (const head of heads) others.push(["ablate", kind, layer, head]);
    });
  }
  return others;
}

/** The heads of a kind, a layer (null: all) and a head (null: all), each as "kind layer head".
 * @param {Place} place
 * @param {Layers} layers
 */
export function headsOf([kind, layer, head], layers) {
  return (layers[kind] ?? []).flatMap(([, count], at) =>
    Array.from({ length: count }, (_, i) => i)
      .filter((i) => (layer ?? at) === at && (head ?? i) === i)
      .map((i) => `${kind} ${at} ${i}`),
  );
}

/** The edits with these heads ablated; or restored, if all of them were ablated.
 * @param {Edit[]} edits
 * @param {Place} place
 * @param {Layers} layers
 */
export function flipped(edits, place, layers) {
  const [off, keys] = [ablated(edits, layers), headsOf(place, layers)];
  const all = keys.every((key) => off.has(key));
  for (const key of keys) all ? off.delete(key) : off.add(key);
  return withAblated(edits, off, layers);
}

/** The edits with all heads of the kind ablated but these.
 * @param {Edit[]} edits
 * @param {Place} place
 * @param {Layers} layers
 */
export function keptAlone(edits, place, layers) {
  const [off, mine] = [ablated(edits, layers), headsOf(place, layers)];
  for (const key of headsOf([place[0], null, null], layers)) mine.includes(key) ? off.delete(key) : off.add(key);
  return withAblated(edits, off, layers);
}

/** The edits with this weight; an older edit of the same cell is replaced.
 * @param {Edit[]} edits
 * @param {Edit} change
 * @returns {Edit[]}
 */
export function withWeight(edits, change) {
  const place = (/** @type {Edit} */ edit) => JSON.stringify(edit.slice(0, 6));
  return [...edits.filter((edit) => place(edit) !== place(change)), change].sort(
    (a, b) => Number(a[0] === "ablate") - Number(b[0] === "ablate"),
  );
}

/** A slider and a number for one weight: gives { node, show(weight, children) }. choose(weight): called at the end.
 * Without a weight there is the text alone.
 * @param {(weight: number) => void} choose
 */
export function weightEditor(choose) {
  const settings = { min: 0, max: 1, step: 0.01 };
  const range = make("input", { type: "range", ...settings, "aria-label": "weight" });
  const typed = make("input", { type: "number", ...settings, "aria-label": "weight as a number" });
  const name = make("span");
  for (const [input, other] of [
    [range, typed],
    [typed, range],
  ]) {
    input.addEventListener("input", () => {
      other.value = input.value;
    });
    input.addEventListener("change", () => {
      if (Number.isFinite(input.valueAsNumber)) choose(Math.min(Math.max(input.valueAsNumber, 0), 1));
    });
  }
  const node = make("div", { class: "control weigh", hidden: true }, name, range, typed);
  return {
    node,
    show(/** @type {number | null} */ weight, /** @type {(Node | string)[]} */ children = []) {
      node.hidden = !children.length;
      name.replaceChildren(...children);
      range.hidden = typed.hidden = weight === null;
      if (weight === null) return;
      const rounded = (Math.round(100 * weight) / 100).toFixed(2);
      for (const input of [range, typed])
        if (input !== focusIn(node) || Number(input.value) !== Number(rounded)) input.value = rounded;
    },
  };
}

/** The same question as a Python program.
 * @param {Question} question
 */
export function pythonCode({ sentence, beam, prefix, edits }) {
  const call = `translate(${text(sentence)}${beam > 1 ? `, beam=${beam}` : ""})`;
  if (!edits.length && !prefix.length) return `print(translator.${call})`;
  const names = [...new Set(edits.map(([what]) => CLASSES[what])), "what_if"];
  const given = [
    ...(prefix.length ? [`prefix=[${prefix.map((token) => text(token)).join(", ")}]`] : []),
    ...(edits.length ? ["edits=edits"] : []),
  ];
  return [
    `from seqlearn import ${names.sort().join(", ")}`,
    "",
    ...(edits.length ? ["edits = [", ...edits.map((edit) => `    ${inPython(edit)},`), "]"] : []),
    `changed = what_if(translator, ${given.join(", ")})`,
    `print(changed.${call})`,
  ].join("\n");
}

const CLASSES = { ablate: "Ablate", weight: "SetWeight" };

/** An edit as Python writes it.
 * @param {Edit} edit
 */
function inPython([what, ...places]) {
  const values = places.map((x) => (x === null ? "None" : typeof x === "string" ? text(x) : String(x)));
  while (what === "ablate" && values.at(-1) === "None") values.pop();
  return `${CLASSES[what]}(${values.join(", ")})`;
}

/** A text in JSON is a text in Python, too.
 * @param {string} x
 */
const text = (x) => JSON.stringify(x);

/** The edits in words, as texts: "encoder 0.2 ablated", "encoder: only 1.3 is left". layers: see `headSwitches`; names:
 * for a kind, the tokens of its rows and of its columns, where the edits are about this sentence.
 * @param {Edit[]} edits
 * @param {Layers} layers
 * @param {Partial<Record<AnyKind, [rows: string[], columns: string[]]>>} names
 */
export function editsInWords(edits, layers, names = {}) {
  const off = ablated(edits, layers);
  /** @type {string[]} */
  const found = [];
  for (const kind of KINDS) {
    const left = headsOf([kind, null, null], layers).filter((key) => !off.has(key));
    if (left.length === 1 && off.size) found.push(`${kind}: only ${left[0].split(" ").slice(1).join(".")} is left`);
    else
      (layers[kind] ?? []).forEach(([, count], layer) => {
        const mine = Array.from({ length: count }, (_, head) => head).filter((head) =>
          off.has(`${kind} ${layer} ${head}`),
        );
        if (mine.length === count) found.push(`${kind} layer ${layer} ablated`);
        else found.push(...mine.map((head) => `${kind} ${layer}.${head} ablated`));
      });
  }
  for (const edit of edits) {
    if (edit[0] !== "weight") continue;
    const [, kind, layer, head, row, column, weight] = edit;
    const where = layer === null ? "all heads" : head === null ? `layer ${layer}` : `${layer}.${head}`;
    const [rows, columns] = names[kind] ?? [[], []];
    /** @type {(tokens: string[], i: number, name: string) => string} */
    const at = (tokens, i, name) => (i in tokens ? `“${tokens[i]}”` : `${name} ${i + 1}`);
    found.push(
      `${kind}, ${where}: ${at(rows, row, "row")} gives ${at(columns, column, "column")} a weight of ${number(weight)}`,
    );
  }
  return found;
}

/** A probability as a text: 0.87, or "1 in 20,000" where two decimals would be none.
 * @param {number} p
 */
export function chance(p) {
  if (p >= 0.005) return p.toFixed(2);
  if (!(p > 1e-9)) return "about 0";
  const odds = 1 / p;
  const unit = 10 ** (Math.floor(Math.log10(odds)) - 1);
  const rounded = Math.round(odds / unit) * unit;
  return rounded < 1e6
    ? `1 in ${rounded.toLocaleString("en")}`
    : `1 in ${(rounded / 1e6).toLocaleString("en")} million`;
}
