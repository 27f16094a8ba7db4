// RiddleView: which head decides a word of the translation? Every answer is in the data.

import { chance, differences } from "../shared/changes.js";
import { KINDS } from "../shared/constants.js";
import { change } from "../shared/life.js";
import { effectOf, fallScale } from "../shared/switches.js";
import { layOut, legendOf, make, pointHint, roving, tell } from "../shared/elements.js";

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
  layOut(root, "a riddle", {
    controls: { riddles: [again, next] },
    panels: make("div", { class: "panels riddle" }, english, french, asks, board),
    legend: legendOf([fallScale(), "how much of the first translation's probability is lost without this head"]),
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
    tell(said, ...told(riddle, last, now));
    drawBoard(board, model, riddle);
    next.setAttribute("aria-disabled", String(!solved || model.get("riddle") === data.riddles.length - 1));
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

/** The buttons: a colour for each head that was tried, and for all of them when the riddle is solved.
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
  roving(board, [...buttons.values()]);
  if (focus) buttons.get(focus)?.focus({ focusVisible: true });
}

/** The heads that were tried, after another press: a second press of the same head gives it back.
 * @param {string[]} tried @param {string} key */
const press = (tried, key) =>
  tried.at(-1) === key ? tried.slice(0, -1) : [...tried.filter((one) => one !== key), key];
