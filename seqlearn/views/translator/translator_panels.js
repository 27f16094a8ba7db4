// The parts of a TranslatorView: the translation, the list of all translations, and the candidates of a step.

import { choice, inPixels, make, oneLine, roving, token } from "../shared/elements.js";
import { pointing } from "../shared/heatmap.js";
import { chance, differences, fresh } from "../shared/changes.js";
import { headName } from "./translator_choice.js";
import { isGold } from "./translator_words.js";

/** @import { Cell, Child, Target } from "../shared/types.js" */
/** @import { Gold, Heads, Result, Translation } from "./translator_choice.js" */

/** The translation, with a span for each token: gives { node, mark(step, locked, lookers) }. `forced`: the steps whose
 * token a person chose; `before`: the tokens before a change: what is new is marked.
 * @param {Translation} translation
 * @param {{
 *   language: string,
 *   start: number,
 *   forced: number[],
 *   before?: string[],
 *   point: (target: Target | null) => void,
 *   lock: (target: Target | null) => void,
 * }} options
 */
export function written({ text, tokens, pieces }, { language, start, forced, before, point, lock }) {
  const changed = before ? differences(before, tokens)[1] : [];
  const nodes = tokens.map((name, i) => {
    const piece = (pieces[i] ?? name).trim();
    const marks = [i in pieces ? "piece" : "piece end", changed[i] ? "new" : "", forced.includes(i) ? "forced" : ""];
    return make(
      "span",
      {
        class: marks.filter(Boolean).join(" "),
        title: `${name}: ${forced.includes(i) ? "forced by you; " : ""}click to keep it`,
      },
      piece || name.replace(/^▁$/u, "␣") || "␣",
    );
  });
  const node = make(
    "div",
    {
      class: "written",
      role: "application",
      tabindex: 0,
      dir: "auto",
      lang: language || null,
      "aria-label": `${text} The translation, ${tokens.length} tokens. Left and right move, Enter keeps.`,
    },
    ...nodes.flatMap((piece, i) => [i && (pieces[i] ?? " ").startsWith(" ") ? " " : "", piece]),
  );
  const cellAt = (/** @type {Event} */ event) => {
    const piece = /** @type {Element} */ (event.target).closest(".piece");
    const column = nodes.indexOf(/** @type {HTMLSpanElement} */ (piece));
    return column < 0 ? null : { row: 0, column };
  };
  /** @type {(cell: Cell | null) => Target | null} */
  const query = (cell) => cell && ["query", cell.column];
  const target = pointing(node, cellAt, 1, tokens.length, {
    start: { row: 0, column: start },
    point: (cell) => point(query(cell)),
    lock: (cell) => lock(query(cell)),
  });
  return {
    node,
    /** @type {(step: number, stays: Target | null, lookers: number[]) => void} */
    mark(step, stays, lookers) {
      nodes.forEach((piece, i) => {
        piece.classList.toggle("on", i === step);
        piece.classList.toggle("looks-there", lookers.includes(i));
      });
      target(stays?.[0] === "query" ? { row: 0, column: stays[1] } : null, { row: 0, column: step });
    },
  };
}

/** The list of all translations, to choose one: gives { node, mark(chosen) }; null for a single translation.
 * @param {Result} result
 * @param {(chosen: number) => void} pick
 */
export function ranking({ best, languages }, pick) {
  /** A text, with the tokens that the first translation does not have marked.
   * @type {(translation: Translation) => Child[]} */
  const text = ({ tokens, pieces }) => {
    const others = differences(best[0].tokens, tokens)[1];
    return pieces.flatMap((piece, i) =>
      others[i] ? [/^\s/.test(piece) ? " " : "", make("span", { class: "other" }, piece.trim())] : piece,
    );
  };
  if (best.length < 2) return null;
  const id = fresh();
  let now = 0;
  const ranks = best.map(() => make("span", { class: "rank" }));
  const options = best.map((one, i) =>
    make(
      "div",
      { class: "option", role: "option", id: id + i, onclick: () => pick(i) },
      ranks[i],
      make("bdi", { lang: languages[1] || null }, ...text(one)),
      make(
        "span",
        { class: "scores" },
        `${one.score
          .toFixed(2)
          .replace(/^-0.00$/, "0.00")
          .replace("-", "−")}`,
        make("span", {}, chance(one.probability)),
      ),
    ),
  );
  const node = make(
    "div",
    { class: "ranking", role: "listbox", tabindex: 0, "aria-label": "translations found, the best first" },
    ...options,
  );
  node.addEventListener("keydown", (event) => {
    /** @type {Record<string, number>} */
    const moves = { ArrowUp: now - 1, ArrowDown: now + 1, Home: 0, End: best.length - 1 };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (to in best) pick(to);
  });
  return {
    node,
    mark(/** @type {number} */ chosen) {
      now = chosen;
      options.forEach((option, i) => {
        option.setAttribute("aria-selected", `${i === chosen}`);
        ranks[i].textContent = `${i === chosen ? "▶" : ""} ${i + 1}.`;
      });
      node.setAttribute("aria-activedescendant", id + chosen);
    },
  };
}

/** The choice of a head, the mean of a layer, or of all heads.
 * @param {number[]} shape
 * @param {Heads} now
 * @param {(heads: Heads) => void} choose
 */
export function headChoice([layers, count], now, choose) {
  /** @type {Heads[]} */
  const all = [["all", 0, 0]];
  for (let layer = 0; layer < layers; layer++) {
    all.push(["layer", layer, 0]);
    for (let head = 0; head < count; head++) all.push(["head", layer, head]);
  }
  const { node, set } = choice({
    label: "attention",
    texts: all.map(headName),
    choose: (text) => choose(all.find((of) => headName(of) === text) ?? now),
  });
  set(headName(now));
  return node;
}

/** The likeliest next tokens at a step, as bars. With `force(text)`, a click forces another token.
 * @param {Translation} translation
 * @param {number} step
 * @param {number} words the size of the vocabulary
 * @param {((text: string) => void) | null} force
 */
export function candidates({ tokens, next }, step, words, force) {
  const { probs, ranks, written, others, tokens: texts } = next[step];
  const before = tokens.slice(Math.max(0, step - 4), step).flatMap((text) => [" ", token(text)]);
  /** @type {(name: string | null, sign: string, head: Child, prob: number) => Node} */
  const line = (name, sign, head, prob) => {
    const bar = make("div", { class: "bar" });
    bar.style.width = `${(100 * prob).toFixed(1)}%`;
    return make(
      "tr",
      { class: name },
      make("td", { class: "sign" }, sign),
      make("th", { scope: "row" }, head),
      make("td", {}, bar),
      make("td", { class: "value" }, chance(prob)),
    );
  };
  /** @type {(text: string, i: number) => Node} */
  const named = (text, i) =>
    force && i !== written
      ? make(
          "button",
          {
            type: "button",
            title: `click to force ${text} here`,
            "aria-label": `force ${text} at step ${step + 1}, probability ${chance(probs[i])}`,
            onclick: () => force(text),
          },
          make("bdi", {}, oneLine(text)),
        )
      : make("bdi", { title: text }, oneLine(text));
  const table = make(
    "table",
    { class: "candidates" },
    make("caption", {}, `step ${step + 1}: what may come ${step ? "after" : "first"}`, step > 4 ? " …" : "", ...before),
    make(
      "tbody",
      {},
      ...texts.map((text, i) =>
        line(i === written ? "chosen" : null, `${i === written ? "▶ " : ""}${ranks[i]}.`, named(text, i), probs[i]),
      ),
      line("rest", "", `${(words - texts.length).toLocaleString("en")} others`, others),
    ),
  );
  roving(table, [...table.querySelectorAll("button")]);
  return table;
}

/** Dots in the cells of the true links, where the translation is the one of the corpus.
 * @param {Element} box
 * @param {Gold | null | undefined} gold
 * @param {string[]} tokens
 * @param {number} columns
 */
export function goldDots(box, gold, tokens, columns) {
  for (const dot of box.querySelectorAll(".gold")) dot.remove();
  const [body, canvas] = [box.querySelector(".body"), box.querySelector("canvas")];
  if (!gold || !isGold(gold, tokens) || !body || !canvas) return;
  const [width, height] = [parseFloat(canvas.style.width) / columns, parseFloat(canvas.style.height) / tokens.length];
  body.append(
    ...gold.links.map(([source, target]) => {
      const dot = make("span", { class: "gold", "aria-hidden": "true" });
      Object.assign(dot.style, inPixels({ left: (source + 0.5) * width - 3, top: target * height + 1 }));
      return dot;
    }),
  );
}
