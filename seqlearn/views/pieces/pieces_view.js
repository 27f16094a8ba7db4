// PiecesView: byte pair encoding, one join after the other. All joins are sent at once: the browser carries them out.

import {
  layOut,
  legendOf,
  make,
  maskedSign,
  oneLine,
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

/**
 * @param {PiecesModel} model
 * @param {HTMLElement} root
 * @param {Data} data
 */
export function build(model, root, data) {
  const { words, merges } = data;
  const steps = stepper(root, {
    texts: Array.from({ length: merges.length + 1 }, (_, k) => `${k} of ${merges.length} joins`),
    choose: (joins) => change(model, { joins }),
    slides: true,
  });
  const pointed = pointedRow(() => explain());
  const rows = words.map((word, i) => rowOf(word, pointed.listeners(i)));
  const list = make("div", { class: "words", role: "listbox", "aria-label": "words" }, ...rows.map(({ node }) => node));
  const typed = typing(model);
  const [counts, next, known] = [
    make("p", { class: "totals", role: "status" }),
    make("p"),
    make("p", { class: "known" }),
  ];
  const told = make("div");
  layOut(root, "byte pair encoding, join by join", {
    controls: { joins: steps.nodes },
    intro: [counts, next],
    panels: make("div", { class: "panels pieces" }, list, make("div", {}, typed.node, known)),
    legend: legendOf(
      [make("span", { class: "join-sign next", "aria-hidden": "true" }), "joined next"],
      [make("span", { class: "join-sign made", "aria-hidden": "true" }), "joined last"],
      [maskedSign(), "a letter that no word here has"],
    ),
    says: [told],
  });

  let now = nowOf(data, model.get("joins"));
  roving(
    list,
    rows.map(({ node }) => node),
  );
  const explain = () => {
    const at = pointed.at();
    for (const [i, { node }] of rows.entries()) node.setAttribute("aria-selected", String(i === at));
    if (at === null) tell(told, pointHint("a word", "count its pieces", { enter: null }));
    else tell(told, token(words[at]), ...wordText(now.cut[at], now.pair));
  };
  const redraw = () => {
    const joins = model.get("joins");
    now = nowOf(data, joins);
    steps.set(joins);
    for (const [i, row] of rows.entries()) row.show(now.cut[i], now);
    typed.show(after(model.get("word"), merges.slice(0, joins)), now);
    counts.textContent = countsText(now, joins);
    next.replaceChildren(...nextText(now));
    known.replaceChildren("vocabulary: ", make("bdi", {}, knownText(now.known)));
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
 */
function typing(model) {
  const input = make("input", {
    type: "text",
    class: "typed",
    maxlength: MOST_TYPED,
    spellcheck: "false",
    "aria-label": "a word of yours",
  });
  const pieces = make("div", { class: "row", role: "status" });
  input.addEventListener("input", () => change(model, { word: input.value.trim() }));
  return {
    node: make("div", { class: "yours" }, make("label", { class: "control" }, "a word of yours:", input), pieces),
    show(/** @type {string[]} */ cut, /** @type {Now} */ now) {
      const word = model.get("word");
      if (input.value.trim() !== word) input.value = word;
      pieces.replaceChildren(...(word ? boxes(cut, now) : [make("span", { class: "faint" }, "type one")]));
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
    return make("bdi", { class: `joint${kind}` }, make("span", {}, shortened(piece, MOST)));
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
  return `After ${plural(joins, "join")}: ${pieces} pieces in ${cut.length} words; the vocabulary has ${known.length}`;
}

/** The pair that is joined next, and how often it stands in the words.
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
  const name = count === Math.max(0, ...counts.values()) ? "Most frequent neighbours" : "Next";
  const [left, right] = pair.map((piece) => token(shortened(piece, MOST)));
  return [`${name}: `, left, " + ", right, `, ${plural(count, "time")}`];
}

/** How many pieces a word has, and what the next join does to it.
 * @param {string[]} pieces
 * @param {Merge | null} pair
 * @returns {Child[]}
 */
function wordText(pieces, pair) {
  const left = grouped(pieces, pair).length;
  const then =
    left < pieces.length ? ` The next join leaves ${left}.` : pair ? " The next join changes nothing here." : "";
  return [` has ${plural(pieces.length, "piece")}.${then}`];
}

/** The vocabulary in one line; of a long one, the end.
 * @param {string[]} known
 */
function knownText(known) {
  const shown = known.slice(-MOST_KNOWN).map((piece) => shortened(piece, MOST));
  return oneLine(`${known.length > MOST_KNOWN ? "… " : ""}${shown.join("  ")}`);
}

const plural = (/** @type {number} */ count, /** @type {string} */ name) => `${count} ${name}${count === 1 ? "" : "s"}`;
