// RiddleView: which head decides a word of the translation? Every answer is in the data.

import { chance, differences } from "../shared/changes.js";
import { KINDS } from "../shared/constants.js";
import { change } from "../shared/life.js";
import { effectOf, fallScale } from "../shared/switches.js";
import { layOut, legendOf, make, pointHint, tell } from "../shared/elements.js";

/** @import { AblationMap } from "../shared/changes.js" */
/** @import { AnyKind, Child, Model, Traits } from "../shared/types.js" */
/** @import { Ablated } from "../live/ablation.js" */

/** @typedef {{ sentence: string, asks: string, solved: string, at: number, map: AblationMap,
 *   solutions: [kind: string, layer: number, head: number][] }} Riddle `at`: the step of the word in question */
/** @typedef {{ riddles: Riddle[] }} Data */
/** @typedef {Model<Traits & { riddle: number, tried: string[] }>} RiddleModel */

/** What the kinds of heads look at.
 * @type {Partial<Record<AnyKind, string>>} */
const LOOKS = {
  encoder: "English looks at English",
  causal: "French looks at French",
  cross: "French looks at English",
};

const HINT_AFTER = 4; // heads that did not decide

/** @type {Record<string, [across: number, down: number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** @param {RiddleModel} model @param {HTMLElement} root @param {Data} data */
export function build(model, root, data) {
  const english = make("p", { class: "english", lang: "en" });
  const french = make("p", { class: "french", lang: "fr", "aria-live": "polite" });
  const asks = make("p", { class: "asks" });
  const board = make("div", { class: "heads" });
  const said = make("div", { class: "found" });
  const control = (/** @type {string} */ name, /** @type {() => void} */ onclick) =>
    make("button", { type: "button", "aria-label": name, onclick }, name);
  const next = control("The next riddle", () => go(model, data));
  const again = control("Start again", () => change(model, { tried: [] }));
  const legend = legendOf(
    [make("span", { class: "tried-sign", "aria-hidden": "true" }), "tried"],
    [fallScale(), "how much of the first translation's probability is lost without this head"],
  );
  layOut(root, "a riddle", {
    controls: { riddles: [again, next] },
    panels: make("div", { class: "panels riddle" }, english, french, asks, board),
    legend,
    says: [said],
  });

  const redraw = () => {
    const riddle = data.riddles[model.get("riddle")];
    const tried = model.get("tried");
    const last = tried.at(-1);
    const solved = isSolved(riddle, tried);
    const now = headsIn(riddle).get(last ?? "") ?? riddle.map.base;
    tell(english, riddle.sentence);
    tell(french, ...marked(now, riddle));
    tell(asks, riddle.asks);
    const isLast = model.get("riddle") === data.riddles.length - 1;
    tell(said, ...told(riddle, last, now), ...more(riddle, tried, isLast));
    const isColoured = drawBoard(board, model, riddle);
    legend.children[0].classList.toggle("unseen", !tried.length);
    legend.children[1].classList.toggle("unseen", !isColoured);
    next.setAttribute("aria-disabled", String(!solved || isLast));
    again.setAttribute("aria-disabled", String(!tried.length));
  };
  return { riddle: redraw, tried: redraw };
}

/** @param {RiddleModel} model @param {Data} data */
function go(model, data) {
  if (!isSolved(data.riddles[model.get("riddle")], model.get("tried"))) return;
  change(model, { tried: [] });
  change(model, { riddle: Math.min(model.get("riddle") + 1, data.riddles.length - 1) });
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

/** What the last press has shown.
 * @param {Riddle} riddle @param {string | undefined} last @param {Ablated} now
 * @returns {Child[]} */
function told({ map, solutions, solved }, last, now) {
  if (last === undefined) return [pointHint("a number", "choose a head", { enter: "ablates it" })];
  const [kind, layer, head] = last.split(" ");
  const [before, after] = [map.base, now].map(({ probability }) => chance(probability));
  const name = `${kind} ${layer}.${head}`;
  const isOne = solutions.some((place) => place.join(" ") === last);
  if (isOne)
    return [
      make("strong", {}, "Found. "),
      `You have ablated ${name}. ${solved} The colours show what each of the `,
      `${map.heads.length} heads does alone.`,
    ];
  const isSame = now.tokens.join(" ") === map.base.tokens.join(" ");
  const what = isSame ? "the same words" : "other words";
  return [`Without ${name}: ${what}; the first translation had p = ${before}, and has ${after} now.`];
}

/** A hint after some misses, and the end of the last riddle.
 * @param {Riddle} riddle @param {string[]} tried @param {boolean} isLast
 * @returns {Child[]} */
function more(riddle, tried, isLast) {
  if (isSolved(riddle, tried)) return isLast ? [" That was the last riddle. Now try sentences of your own."] : [];
  const [kind] = riddle.solutions[0];
  const looks = LOOKS[/** @type {AnyKind} */ (kind)];
  return tried.length < HINT_AFTER ? [] : [make("strong", {}, " A hint: "), `${looks} in the head that decides.`];
}

/** The buttons: a colour for each head that was tried, and for all of them when the riddle is solved. Gives whether
 * there is any colour.
 * @param {HTMLElement} board @param {RiddleModel} model @param {Riddle} riddle */
function drawBoard(board, model, riddle) {
  const tried = model.get("tried");
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
          "aria-pressed": String(tried.at(-1) === key),
          "aria-label": `head ${key}${isKnown ? `. ${effect.spoken}` : ""}`,
          onclick: () => change(model, { tried: press(tried, key) }),
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
  if (focus) buttons.get(focus)?.focus({ focusVisible: true });
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

/** The heads that were tried, after another press: a second press of the same head gives it back.
 * @param {string[]} tried @param {string} key */
const press = (tried, key) =>
  tried.at(-1) === key ? tried.slice(0, -1) : [...tried.filter((one) => one !== key), key];
