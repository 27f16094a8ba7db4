// RiddleView: which head decides a word of the translation? Every answer is in the data.

import { toBook } from "../shared/book.js";
import { chance, differences } from "../shared/changes.js";
import { KINDS } from "../shared/constants.js";
import { change } from "../shared/life.js";
import { effectOf, fallScale } from "../shared/switches.js";
import { byFinger, layOut, legendOf, make, pointHint, tell, token } from "../shared/elements.js";

/** @import { AblationMap } from "../shared/changes.js" */
/** @import { AnyKind, Child, Model, Traits } from "../shared/types.js" */
/** @import { Ablated } from "../live/ablation.js" */

/** @typedef {{ sentence: string, asks: string, solved: string, at: number, map: AblationMap,
 *   word: string, why: (Why | null)[], looks: Partial<Record<string, { word: string, heads: Looks[][] }>>,
 *   solutions: [kind: string, layer: number, head: number][] }} Riddle
 * `at`: the step of the word in question; `why`: what each solution changes in the row of `word`; `looks`: where each
 * head looks from which word */
/** @typedef {[key: string, weight: number]} Looks */
/** @typedef {[name: string, before: Looks, after: Looks]} Why the row of another head that changes most */
/** @typedef {{ riddles: Riddle[], lesson: string }} Data */
/** @typedef {Model<Traits & { riddle: number, tried: string[] }>} RiddleModel */

/** What the kinds of heads look at.
 * @type {Partial<Record<AnyKind, string>>} */
const LOOKS = {
  encoder: "English looks at English",
  causal: "French looks at French",
  cross: "French looks at English",
};

const MORE_AFTER = 2; // heads that did not decide

/** @type {Record<string, [across: number, down: number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** @param {RiddleModel} model @param {HTMLElement} root @param {Data} data */
export function build(model, root, data) {
  const english = make("p", { class: "english", lang: "en" });
  const french = make("p", { class: "french", lang: "fr", "aria-live": "polite" });
  const asks = make("p", { class: "asks" });
  const board = make("div", { class: "heads" });
  const said = make("div", { class: "found" });
  const reason = make("p", { class: "reason", "aria-live": "polite" });
  const control = (/** @type {string} */ name, /** @type {() => void} */ onclick) =>
    make("button", { type: "button", "aria-label": name, onclick }, name);
  const toHeads = () => board.querySelector("button")?.focus({ preventScroll: true });
  const next = control("The next riddle", () => {
    go(model, data);
    toHeads();
  });
  next.classList.add("primary");
  const again = control("Start again", () => {
    change(model, { tried: [], riddle: 0 });
    toHeads();
  });
  const legend = legendOf(
    [make("span", { class: "tried-sign", "aria-hidden": "true" }), "tried"],
    [fallScale(), "how much of the first translation's probability is lost without this head"],
  );
  layOut(root, "a riddle", {
    controls: {},
    intro: [make("div", { class: "riddle" }, english, french, asks)],
    panels: make("div", { class: "panels riddle" }, board, reason),
    legend,
    says: [said, next, again],
    above: true,
  });

  /** @type {string | null} */
  let pointed = null;
  let isLifted = false; // the last head was pressed once more, and is on again
  const state = () => {
    const riddle = data.riddles[model.get("riddle")];
    const tried = model.get("tried");
    const off = isLifted ? "" : (tried.at(-1) ?? "");
    return { riddle, tried, off, now: headsIn(riddle).get(off) ?? riddle.map.base };
  };
  const say = () => {
    const { riddle, tried, off, now } = state();
    const isLast = model.get("riddle") === data.riddles.length - 1;
    const isFound = off && solutionAt(riddle, off) >= 0; // which stays to be read
    if (pointed && pointed !== off && !isFound) return tell(said, ...looksFrom(riddle, pointed));
    return tell(said, ...told(riddle, off, now), ...more(riddle, tried, isLast));
  };
  pointedHead(board, (key) => {
    pointed = key;
    say();
  });
  const press = (/** @type {string} */ key) => {
    const tried = model.get("tried");
    isLifted = !isLifted && tried.at(-1) === key;
    if (tried.at(-1) === key) redraw();
    else change(model, { tried: [...tried.filter((one) => one !== key), key] });
  };

  const redraw = () => {
    const { riddle, tried, off, now } = state();
    const solved = isSolved(riddle, tried);
    tell(english, riddle.sentence);
    tell(french, ...marked(now, riddle));
    tell(asks, riddle.asks);
    say();
    tell(reason, ...why(riddle, off, data.lesson));
    const isColoured = drawBoard(board, riddle, tried, off, press);
    legend.children[0].classList.toggle("unseen", !tried.length);
    legend.children[1].classList.toggle("unseen", !isColoured);
    const isNew = next.hidden;
    next.hidden = !solved || model.get("riddle") === data.riddles.length - 1;
    // The button stands before the heads, where the Tab key does not come by.
    if (isNew && !next.hidden && board.querySelector(":focus-visible")) next.focus({ preventScroll: true });
    again.hidden = model.get("riddle") === 0;
  };
  const redrawAnew = () => {
    isLifted = false;
    redraw();
  };
  return { riddle: redrawAnew, tried: redrawAnew };
}

/** @param {RiddleModel} model @param {Data} data */
function go(model, data) {
  const riddle = model.get("riddle") + 1;
  if (riddle === data.riddles.length || !isSolved(data.riddles[riddle - 1], model.get("tried"))) return;
  change(model, { tried: [] });
  change(model, { riddle });
}

/** Tells which head is pointed at, or has the focus of the keyboard.
 * @param {HTMLElement} board @param {(key: string | null) => void} point */
function pointedHead(board, point) {
  const at = (/** @type {Event} */ { target }) =>
    /** @type {Element} */ (target).closest("[data-head]")?.getAttribute("data-head") ?? null;
  board.addEventListener("pointerover", (event) => event.pointerType !== "touch" && point(at(event)));
  board.addEventListener("pointerleave", () => point(null));
  board.addEventListener("focusin", (event) => {
    const { target } = event;
    if (/** @type {Element} */ (target).matches(":focus-visible")) point(at(event)); // and not after a click elsewhere
  });
  board.addEventListener("focusout", () => point(null));
}

/** Where a head looks from the word that matters.
 * @param {Riddle} riddle @param {string} key
 * @returns {Child[]} */
function looksFrom({ looks }, key) {
  const [kind, layer, head] = key.split(" ");
  const from = looks[kind];
  if (!from) return [];
  const [to, weight] = from.heads[Number(layer)][Number(head)];
  const name = `In ${kind} ${layer}.${head}, “`;
  return [name, token(from.word), "” looks at “", token(to), `” (attention weight ${chance(weight)}).`];
}

/** What is written without each head, by its key.
 * @param {Riddle} riddle
 * @returns {Map<string, Ablated>} */
const headsIn = ({ map }) => new Map(map.heads.map(([kind, layer, head, one]) => [`${kind} ${layer} ${head}`, one]));

/** @param {Riddle} riddle @param {string[]} tried */
const isSolved = ({ solutions }, tried) => solutions.some((place) => tried.includes(place.join(" ")));

/** The translation; the word in question, and words that have changed, stand out.
 * @param {Ablated} now @param {Riddle} riddle
 * @returns {Child[]} */
function marked(now, { at, map }) {
  const fresh = differences(map.base.tokens, now.tokens)[1];
  return now.pieces.map((text, i) => {
    const space = /^\s/.test(text) ? " " : "";
    if (fresh[i]) return make("span", {}, space, make("mark", { class: "new" }, text.trim()));
    return i === at ? make("span", {}, space, make("mark", {}, text.trim())) : text;
  });
}

/** What pointing at a head shows, and what a press does. */
const startHint = () =>
  byFinger()
    ? make("span", { class: "faint" }, "Tap a number: this head is switched off, and you read where it looked.")
    : pointHint("a number", "read where this head looks", { enter: "switches it off" });

/** What the last press has shown. off: the head that is ablated; "": none.
 * @param {Riddle} riddle @param {string} off @param {Ablated} now
 * @returns {Child[]} */
function told(riddle, off, now) {
  const { map, solved } = riddle;
  if (!off) return [startHint()];
  if (solutionAt(riddle, off) >= 0) return [make("strong", {}, "Found. "), ...looksFrom(riddle, off), ` ${solved}`];
  const [before, after] = [map.base, now].map(({ probability }) => chance(probability));
  const isSame = now.tokens.join(" ") === map.base.tokens.join(" ");
  const words = isSame ? "the same words, with" : "other words; the first ones have";
  const isNothing = isSame && before === after;
  const effect = isNothing ? " nothing changes" : `: ${words} a probability of ${after}, and not ${before}`;
  return [...looksFrom(riddle, off), ` Without this head${effect}.`];
}

/** Which of the solutions a head is; -1: none.
 * @param {Riddle} riddle @param {string} head */
const solutionAt = ({ solutions }, head) => solutions.findIndex((place) => place.join(" ") === head);

/** Why the head that is found decides: the row of another head that changes most without it.
 * @param {Riddle} riddle @param {string} off @param {string} lesson
 * @returns {Child[]} */
function why(riddle, off, lesson) {
  const found = solutionAt(riddle, off);
  if (found < 0) return [];
  const at = (/** @type {Looks} */ [key, weight]) => ["“", token(key), `” (${chance(weight)})`];
  const number = toBook(`notebooks/${lesson}.html`, `Lesson ${Number.parseInt(lesson, 10)}`);
  const colours = `The colours show what is lost without each of the ${riddle.map.heads.length} heads.`;
  const end = [...number, ` shows how to read such weights. ${colours}`];
  const change = riddle.why[found];
  if (!change) return end;
  const [other, before, after] = change;
  const word = ["“", token(riddle.word), "”"];
  return [
    "Without this head, ",
    ...word,
    ` in ${other} looks at `,
    ...at(after),
    ", no longer at ",
    ...at(before),
    ". ",
    ...end,
  ];
}

/** A hint after a miss, a second one after a miss of the right kind or after some more, and the end of the last riddle.
 * @param {Riddle} riddle @param {string[]} tried @param {boolean} isLast
 * @returns {Child[]} */
function more(riddle, tried, isLast) {
  if (isSolved(riddle, tried)) {
    const words = "try sentences of your own";
    /** @type {HTMLElement | null} */
    const box = document.querySelector(".asking input"); // of a translator on the same page
    const lead = (/** @type {HTMLElement} */ there) =>
      make("button", { type: "button", class: "lead", onclick: () => there.focus() }, words);
    const own = box ? [lead(box)] : toBook("index.html#try-it", words);
    return isLast ? [" That was the last riddle. Now ", ...own, "."] : [];
  }
  if (!tried.length) return [];
  const [kind, layer] = riddle.solutions[0];
  const isNear = tried.length >= MORE_AFTER || tried.some((head) => head.startsWith(`${kind} `));
  const looks = `In the head that decides, ${LOOKS[/** @type {AnyKind} */ (kind)]}.`;
  const row = `The head that decides stands in the row ${kind} ${layer}.`;
  return [make("strong", {}, " A hint: "), isNear ? row : looks];
}

/** The buttons: a colour for each head that was tried, and for all of them when the riddle is solved. Gives whether
 * there is any colour.
 * @param {HTMLElement} board @param {Riddle} riddle @param {string[]} tried @param {string} off
 * @param {(key: string) => void} press */
function drawBoard(board, riddle, tried, off, press) {
  const solved = isSolved(riddle, tried);
  const focus = board.querySelector(":focus")?.getAttribute("data-head");
  const kinds = KINDS.filter((kind) => riddle.map.heads.some(([one]) => one === kind));
  const buttons = new Map(
    riddle.map.heads.map((one) => {
      const [key, effect] = effectOf(one, riddle.map.base);
      const isKnown = solved || tried.includes(key);
      const button = make(
        "button",
        {
          type: "button",
          class: "head",
          "data-head": key,
          "aria-pressed": String(off === key),
          "aria-label": `head ${key}${isKnown ? `. ${effect.spoken}` : ""}`,
          onclick: () => press(key),
        },
        `${one[2]}`,
        make("span", { class: "word" }, isKnown ? effect.after : ""),
      );
      button.style.setProperty("--fall", `${isKnown ? Math.round(100 * effect.fall) : 0}%`);
      button.classList.toggle("tried", tried.includes(key));
      return [key, button];
    }),
  );
  board.replaceChildren(
    ...kinds.map((kind) => {
      const layers = [...new Set(riddle.map.heads.filter(([one]) => one === kind).map(([, layer]) => layer))];
      const lines = layers.map((layer) => {
        const mine = [...buttons].filter(([key]) => key.startsWith(`${kind} ${layer} `)).map(([, button]) => button);
        return make("div", { class: "switches" }, make("span", { class: "faint" }, `${kind} ${layer}`), ...mine);
      });
      const name = make("div", { class: "head-line" }, LOOKS[kind] ?? kind);
      return make("div", { class: "kind", role: "group", "aria-label": `${kind} heads` }, name, ...lines);
    }),
  );
  walkable([...board.querySelectorAll("button")]);
  if (focus) buttons.get(focus)?.focus({ focusVisible: true, preventScroll: true });
  return [...buttons.values()].some((button) => button.style.getPropertyValue("--fall") !== "0%");
}

/** Makes the heads one stop of the Tab key: an arrow key goes to the nearest head in its direction, as they are drawn.
 * @param {HTMLElement[]} heads in the order in which they are drawn */
function walkable(heads) {
  const stop = (/** @type {HTMLElement} */ at) => {
    for (const head of heads) head.tabIndex = head === at ? 0 : -1;
  };
  for (const head of heads) {
    head.addEventListener("focus", () => stop(head));
    head.addEventListener("keydown", (event) => {
      if (!(event.key in ARROWS || event.key === "Home" || event.key === "End")) return;
      event.preventDefault();
      if (event.key in ARROWS) nearest(head, heads, ARROWS[event.key])?.focus();
      else heads.at(event.key === "Home" ? 0 : -1)?.focus();
    });
  }
  stop(heads[0]);
}

/** The next head in a row, or the nearest one in the next row.
 * @param {HTMLElement} from @param {HTMLElement[]} heads @param {[across: number, down: number]} direction */
function nearest(from, heads, [across, down]) {
  const there = heads.map((head) => ({
    head,
    dx: head.offsetLeft - from.offsetLeft,
    dy: head.offsetTop - from.offsetTop,
  }));
  const [first] = there
    .filter(({ dx, dy }) => (across ? dy === 0 && dx * across > 0 : dy * down > 0))
    .sort((a, b) => Math.abs(a.dy) - Math.abs(b.dy) || Math.abs(a.dx) - Math.abs(b.dx));
  return first?.head;
}
