// PiecesView: byte pair encoding, one join after the other. All joins are sent at once: the browser carries them out.

import {
  byFinger,
  focusIn,
  layOut,
  legendOf,
  make,
  maskedSign,
  pointHint,
  roving,
  shortened,
  stepper,
  tell,
  token,
} from "../shared/elements.js";
import { change } from "../shared/life.js";
import { pointedRow } from "../shared/rows.js";

/** @import { Attributes, Child, Model, Traits } from "../shared/types.js" */

/** @import { Echo } from "../shared/echo.js" */
/** @typedef {Model<Traits & { joins: number, word: string }>} PiecesModel */
/** @typedef {[left: string, right: string]} Merge */
/** @typedef {{ words: string[], merges: Merge[] }} Data */

/** What is drawn now. cut: the pieces of each word. pair: what is joined next. newest: what was joined last.
 * @typedef {{ cut: string[][], known: string[], pair: Merge | null, newest: string | null }} Now
 */

const MARK = "▁"; // where a word begins
const MOST = 30; // letters of a piece that are drawn
const MOST_KNOWN = 60; // pieces of the vocabulary that are written
const MOST_TYPED = 40;
const MOST_SAID = 40; // letters of the pieces of a word, in the sentence about it
const MOST_TIES = 3; // pairs as frequent as the next one that are named

/**
 * @param {PiecesModel} model
 * @param {HTMLElement} root
 * @param {Data} data
 * @param {Echo} echo
 */
export function build(model, root, data, echo) {
  const { words, merges } = data;
  const steps = stepper(root, {
    texts: Array.from({ length: merges.length + 1 }, (_, k) => `${k} of ${merges.length} joins`),
    choose: (joins) => change(model, { joins }),
    slides: true,
  });
  const pointed = pointedRow(() => explain());
  const rows = words.map((word, i) => rowOf(word, pointed.listeners(i)));
  const list = make("div", { class: "words", role: "listbox", "aria-label": "words" }, ...rows.map(({ node }) => node));
  const typed = typing(model, pointed.listeners(words.length));
  const [counts, next] = [make("p", { class: "totals", role: "status" }), make("p", { class: "next-pair" })];
  const known = vocabulary((i) => pointed.listeners(words.length + 1 + i)); // after the words and the learner's word
  const told = make("div", { class: "pieces-told" });
  layOut(root, "byte pair encoding, join by join", {
    controls: { joins: steps.nodes },
    intro: [counts, next],
    panels: make("div", { class: "panels pieces" }, typed.node, list, known.node),
    legend: legendOf(
      [token(MARK), "a word begins here"],
      [make("span", { class: "join-sign next", "aria-hidden": "true" }), "joined next"],
      [make("span", { class: "join-sign made", "aria-hidden": "true" }), "joined last"],
      [maskedSign(), "a letter that no word here has"],
    ),
    says: [told],
    above: true,
  });

  let now = nowOf(data, model.get("joins"));
  let isAsked = false; // the text above the view asked for the word
  roving(
    list,
    rows.map(({ node }) => node),
  );
  const ownCut = () => {
    const own = model.get("word").split(" ").filter(Boolean); // a space begins a new word
    return own.flatMap((word) => after(word, merges.slice(0, model.get("joins"))));
  };
  const explain = () => {
    const at = pointed.at();
    for (const [i, { node }] of rows.entries()) node.setAttribute("aria-selected", String(i === at));
    const [own, piece] = [model.get("word"), at === null ? undefined : now.known[at - words.length - 1]];
    /** @type {NodeListOf<HTMLElement>} */
    const pieces = root.querySelectorAll(".joint");
    for (const box of pieces) box.classList.toggle("sought", piece !== undefined && box.dataset.piece === piece);
    if (piece !== undefined) tell(told, token(piece), pieceText(piece, now.cut));
    else if (at !== null && at < words.length)
      tell(told, token(shortened(words[at], MOST)), ...wordText(now.cut[at], now.pair));
    else if (own && (at === words.length || (at === null && isAsked)))
      tell(told, token(own), ...wordText(ownCut(), now.pair));
    else tell(told, pointHint("a word or a piece", "see its pieces or its words", { enter: null }));
  };
  const redraw = () => {
    const joins = model.get("joins");
    isAsked = Boolean(echo.pressed?.closest(".told"));
    now = nowOf(data, joins);
    steps.set(joins);
    for (const [i, row] of rows.entries()) row.show(now.cut[i], now);
    typed.show(ownCut(), now);
    counts.textContent = countsText(now, joins);
    next.replaceChildren(...nextText(now));
    known.show(now);
    explain();
  };
  return { joins: redraw, word: redraw };
}

/** The row of a word: its pieces.
 * @param {string} word
 * @param {Attributes} listeners
 */
function rowOf(word, listeners) {
  const node = make("div", { class: "row", role: "option", ...listeners });
  return {
    node,
    show(/** @type {string[]} */ pieces, /** @type {Now} */ now) {
      node.setAttribute("aria-label", `${word}: ${pieces.join(" ")}`);
      node.replaceChildren(...boxes(pieces, now));
    },
  };
}

/** The field for a word of the learner, and the pieces of this word.
 * @param {PiecesModel} model
 * @param {Attributes} listeners
 */
function typing(model, listeners) {
  const input = make("input", {
    type: "text",
    class: "typed",
    maxlength: MOST_TYPED,
    spellcheck: "false",
    "aria-label": "a word of yours",
  });
  const pieces = make("div", { class: "row" });
  input.addEventListener("input", () => change(model, { word: input.value.trim() }));
  const label = make("label", { class: "control" }, "a word of yours:", input);
  return {
    node: make("div", { class: "yours", ...listeners }, label, pieces),
    show(/** @type {string[]} */ cut, /** @type {Now} */ now) {
      const word = model.get("word");
      if (input.value.trim() !== word) input.value = word;
      pieces.replaceChildren(...(word ? boxes(cut, now) : [make("span", { class: "faint" }, "type one")]));
    },
  };
}

/** The vocabulary; of a long one, the end. Its pieces are one stop of the Tab key, and stay the same elements.
 * @param {(i: number) => Attributes} listeners of the piece with this number
 */
function vocabulary(listeners) {
  /** @type {[HTMLElement[], HTMLElement[]]} */
  const [nodes, shown] = [[], []];
  const more = make("span", {}, "vocabulary: ");
  const list = make("span", { class: "vocabulary", role: "listbox", "aria-label": "vocabulary" });
  roving(list, shown);
  const nodeOf = (/** @type {string} */ piece, /** @type {number} */ i) => {
    const named = { "aria-label": piece, "data-piece": piece };
    nodes[i] ??= make(
      "bdi",
      { class: "joint", role: "option", tabindex: -1, ...named, ...listeners(i) },
      shortened(piece, MOST),
    );
    return nodes[i];
  };
  return {
    node: make("p", { class: "known" }, more, list),
    show(/** @type {Now} */ { known, newest }) {
      const focused = focusIn(list);
      const hadFocus = list.contains(focused);
      shown.splice(0, Infinity, ...known.map(nodeOf).slice(-MOST_KNOWN));
      more.textContent = known.length > MOST_KNOWN ? "vocabulary: … " : "vocabulary: ";
      list.replaceChildren(...shown);
      for (const node of shown) node.classList.toggle("made", node.dataset.piece === newest);
      const stop = shown.find((node) => (hadFocus ? node === focused : node.tabIndex === 0)) ?? shown.at(-1);
      for (const node of shown) node.tabIndex = node === stop ? 0 : -1;
      const isGone = stop !== focused; // a finger that drags the slider has not asked for another piece
      if (hadFocus && !(isGone && byFinger())) stop?.focus({ focusVisible: true, preventScroll: true });
    },
  };
}

/** The pieces of a word as boxes; the pair that is joined next has a frame.
 * @param {string[]} pieces
 * @param {Now} now
 */
function boxes(pieces, { known, pair, newest }) {
  const learned = new Set(known);
  const box = (/** @type {string} */ piece) => {
    const kind = piece === newest ? " made" : learned.has(piece) ? "" : " hatched unknown";
    return make("bdi", { class: `joint${kind}`, "data-piece": piece }, make("span", {}, shortened(piece, MOST)));
  };
  return grouped(pieces, pair).map((group) =>
    group.length === 1 ? box(group[0]) : make("span", { class: "joined" }, ...group.map(box)),
  );
}

/** The pieces alone, or two together where the pair stands.
 * @param {string[]} pieces
 * @param {Merge | null} pair
 */
function grouped(pieces, pair) {
  const groups = [];
  for (let i = 0; i < pieces.length; i++) {
    const isPair = pair !== null && pieces[i] === pair[0] && pieces[i + 1] === pair[1];
    groups.push(isPair ? [pieces[i], pieces[++i]] : [pieces[i]]);
  }
  return groups;
}

// ---- Joins ----------------------------------------------------------------------------------------------------------

/** The pieces of a word after these merges, as `after` in pieces_data.py.
 * @param {string} word
 * @param {Merge[]} merges
 */
export function after(word, merges) {
  let pieces = [MARK, ...word];
  for (const [left, right] of merges) {
    /** @type {string[]} */
    const joined = [];
    for (const piece of pieces) {
      if (joined.at(-1) === left && piece === right) joined.push(joined.pop() + piece);
      else joined.push(piece);
    }
    pieces = joined;
  }
  return pieces;
}

/**
 * @param {Data} data
 * @param {number} joins
 * @returns {Now}
 */
function nowOf({ words, merges }, joins) {
  const made = merges.map((pair) => pair.join(""));
  const cut = words.map((word) => after(word, merges.slice(0, joins)));
  const letters = [...new Set([...words, ...made].flatMap((text) => [...text]))].sort(byCode);
  const known = [...new Set([MARK, ...letters, ...made.slice(0, joins)])];
  return { cut, known, pair: merges[joins] ?? null, newest: joins ? made[joins - 1] : null };
}

/** By the numbers of the letters, as Python sorts.
 * @param {string} a
 * @param {string} b
 */
const byCode = (a, b) => (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0);

// ---- Texts ----------------------------------------------------------------------------------------------------------

/** How many pieces there are, and how large the vocabulary is.
 * @param {Now} now
 * @param {number} joins
 */
function countsText({ cut, known }, joins) {
  const pieces = cut.reduce((sum, word) => sum + word.length, 0);
  const after = `After ${plural(joins, "join")}: ${pieces} pieces in ${cut.length} words`;
  return `${after}, ${known.length} in the vocabulary`;
}

/** The pair that is joined next, how often it stands in the words, and which other pairs do so as often.
 * @param {Now} now
 * @returns {(Node | string)[]}
 */
function nextText({ cut, pair }) {
  if (!pair) return ["All joins are made."];
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const pieces of cut) {
    for (let i = 0; i + 1 < pieces.length; i++) {
      const both = JSON.stringify(pieces.slice(i, i + 2));
      counts.set(both, (counts.get(both) ?? 0) + 1);
    }
  }
  const count = counts.get(JSON.stringify(pair)) ?? 0;
  const isMost = count === Math.max(0, ...counts.values());
  const name = isMost ? "Most frequent neighbours" : "Next";
  const [left, right] = pair.map((piece) => token(shortened(piece, MOST)));
  return [`${name}: `, left, " + ", right, `, ${plural(count, "time")}`, ...(isMost ? tiesText(counts, pair) : [])];
}

/** The pairs that are as frequent as this one, and whether they all stand later in the words.
 * @param {Map<string, number>} counts in the order of the words
 * @param {Merge} pair
 * @returns {(Node | string)[]}
 */
function tiesText(counts, pair) {
  const own = JSON.stringify(pair);
  const ties = [...counts].filter(([, count]) => count === counts.get(own)).map(([both]) => both);
  const others = ties.filter((both) => both !== own);
  if (!others.length) return [];
  const named = others.slice(0, MOST_TIES).flatMap((both, i) => {
    const [left, right] = /** @type {Merge} */ (JSON.parse(both)).map((piece) => token(shortened(piece, MOST)));
    return [i ? ", " : "", left, " + ", right];
  });
  const later = ties[0] === own ? ", but later in the words" : "";
  return [`. As often${later}: `, ...named, others.length > MOST_TIES ? ", …" : ""];
}

/** In how many words a piece stands.
 * @param {string} piece
 * @param {string[][]} cut
 */
function pieceText(piece, cut) {
  const count = cut.filter((pieces) => pieces.includes(piece)).length;
  return count ? ` stands in ${count} of ${plural(cut.length, "word")}.` : " stands alone in no word now.";
}

/** The pieces of a word, and what the next join does to it.
 * @param {string[]} pieces
 * @param {Merge | null} pair
 * @returns {Child[]}
 */
function wordText(pieces, pair) {
  const left = grouped(pieces, pair).length;
  const then =
    left < pieces.length ? ` The next join leaves ${left}.` : pair ? " The next join changes nothing here." : "";
  return [` has ${plural(pieces.length, "piece")}: `, token(shortened(pieces.join(" "), MOST_SAID)), `.${then}`];
}

const plural = (/** @type {number} */ count, /** @type {string} */ name) => `${count} ${name}${count === 1 ? "" : "s"}`;
