import { certainty } from "../shared/changes.js";
import { layOut, legendOf, make, number, pointHint, relation, roving } from "../shared/elements.js";
import { shortened, slider, tell, token } from "../shared/elements.js";
import { isWaiting } from "../shared/asking.js";
import { change } from "../shared/life.js";
import { pointedRow } from "../shared/rows.js";
import { drawnBy, nextDistribution, sumOf } from "../live/sampling.js";

/** @import { Echo } from "../shared/echo.js" */
/** @import { Attributes, Child, Model, Numbers, Tensor, Traits } from "../shared/types.js" */
/** @import { Distribution } from "../live/sampling.js" */

/** @typedef {{ temperature: number, top_k: number | null, top_p: number | null }} Settings null: all tokens */
/** @typedef {{ asked?: Settings, problem?: string, sentences?: [text: string, probability: number][] }} Written */
/** shown: the ids with a bar of their own. source: the sentence that is translated, or null. writes: whether somebody
 * answers who draws sentences.
 * @typedef {{ logits: Tensor, tokens: string[], shown: number[], source: string | null, writes: boolean }} Data */
/** @typedef {Model<Traits & Settings & { data: { source: string | null }, seed: number | null, written: Written }>}
 *   SamplingModel */
/** dice: a number from 0 to 1 for each token that was drawn. isTold: whether a screen reader is told of the tokens.
 * @typedef {{ now: Distribution, dice: number[], isTold: boolean }} State */
/** @typedef {ReturnType<typeof rowOf>} Row */

const MANY = 20; // draws, at a click
const BRICKS = 150; // with more draws than that, the bricks of a pile have no gaps
const TEMPERATURES = Array.from({ length: 39 }, (_, i) => (i + 2) / 10); // 0.2 to 4
const TOP_KS = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000]; // and all: null
const TOP_PS = [...Array.from({ length: 19 }, (_, i) => (i + 1) / 20), null]; // 0.05 to 0.95, and all
const NOTHING_CHANGED = { temperature: 1, top_k: null, top_p: null };

/**
 * @param {SamplingModel} model
 * @param {HTMLElement} root
 * @param {Data} data
 * @param {Echo} echo
 */
export function build(model, root, data, echo) {
  const { tokens, source } = data;
  const logits = data.logits.values;
  /** @type {State} */
  const state = { now: nextDistribution(logits, 1, null, null), dice: [], isTold: true };
  const before = state.now.probs;
  const table = tableOf(data, before, () => explain());
  const sentences = writing(model, data, echo);
  const draws = drawing(model, state, tokens, sentences.button, () => table.show(state));
  const knobs = knobsOf(model, tokens.length);
  const reset = resetOf(model);
  const left = make("p", { class: "left", role: "status" });
  const told = make("div");
  layOut(root, "temperature, top-k and top-p", {
    controls: { settings: [make("div", { class: "knobs" }, ...knobs.map(({ node }) => node)), reset] },
    intro: [source ? make("p", { class: "source" }, "Source: ", token(source)) : null, left],
    panels: make(
      "div",
      { class: "panels sampling" },
      make("div", { class: "both" }, table.node, make("div", {}, draws.node, sentences.node)),
    ),
    legend: legendOf(
      [make("span", { class: "sampled", "aria-hidden": "true" }), "probability"],
      [make("span", { class: "unsampled", "aria-hidden": "true" }), "probability at temperature 1, nothing removed"],
      [make("span", { class: "brick", "aria-hidden": "true" }), `a draw; from ${MANY} draws on, a pile is their share`],
    ),
    says: [told],
  });

  const explain = () => tell(told, ...rowText(table, state, data, before, settingsOf(model)));
  const redraw = () => {
    const { temperature, top_k, top_p } = settingsOf(model);
    state.now = nextDistribution(logits, temperature, top_k, top_p);
    state.isTold = false; // a screen reader does not read 20 tokens at each move of a slider
    for (const { show } of knobs) show();
    reset.setAttribute("aria-disabled", String(temperature === 1 && top_k === null && top_p === null));
    left.replaceChildren(...leftText(state.now, tokens));
    draws.show();
    sentences.show();
    explain();
    for (const part of [root, table.list]) // a page that gets shorter would move the slider under the mouse
      part.style.minHeight = `${part.getBoundingClientRect().height}px`;
  };
  const resized = () => {
    for (const part of [root, table.list]) part.style.minHeight = "";
  };
  const { show } = sentences;
  return { temperature: redraw, top_k: redraw, top_p: redraw, seed: show, written: show, resized };
}

/** @param {SamplingModel} model */
const settingsOf = (model) => ({
  temperature: model.get("temperature"),
  top_k: model.get("top_k"),
  top_p: model.get("top_p"),
});

// ---- The rows -------------------------------------------------------------------------------------------------------

/** The rows, one stop of the Tab key; in place of those that are removed stands one line.
 *
 * Gives { node, list, rows, rest, at, show }. list: the rows without their titles. rest: the ids without a row of
 * their own. at(): the row that is pointed at, the number of rows for the line of the removed ones, or null.
 * @param {Data} data
 * @param {number[]} before the probabilities at temperature 1
 * @param {() => void} explain
 */
function tableOf({ tokens, shown }, before, explain) {
  const own = new Set(shown);
  const rest = tokens.map((_, id) => id).filter((id) => !own.has(id));
  const pointed = pointedRow(() => mark());
  const rows = shown.map((id, i) => rowOf([id], tokens[id], token(tokens[id]), pointed.listeners(i)));
  if (rest.length) {
    const name = restName(rest.length);
    rows.push(rowOf(rest, name, make("span", { class: "rest" }, name), pointed.listeners(shown.length)));
  }
  const gone = make("div", { class: "row gone faint", role: "option", ...pointed.listeners(rows.length) });
  const list = make(
    "div",
    { class: "rows", role: "listbox", "aria-label": "probability of the next token" },
    ...rows.map(({ node }) => node),
    gone,
  );
  /** @type {HTMLElement[]} */
  const stops = []; // the rows that are seen
  const [ends, drawn] = [make("span", { class: "ends" }), make("span", { class: "count" })];
  let kept = rows.length; // rows
  roving(list, stops);

  const at = () => {
    const row = pointed.at();
    return row === null ? null : row < kept ? row : rows.length;
  };
  const mark = () => {
    for (const [i, node] of [...rows.map((row) => row.node), gone].entries()) {
      node.classList.toggle("on", i === at());
      node.setAttribute("aria-selected", String(i === at()));
    }
    explain();
  };
  const show = (/** @type {State} */ state) => {
    kept = showRows(rows, state, before, ends);
    drawn.textContent = state.dice.length ? `of ${state.dice.length}` : "draws";
    gone.hidden = kept === rows.length;
    gone.textContent = gone.hidden ? "" : goneText(state.now, tokens, shown.slice(kept), rest.length);
    stops.splice(0, stops.length, ...rows.slice(0, kept).map(({ node }) => node), ...(gone.hidden ? [] : [gone]));
    const stop = stops.find((node) => node.tabIndex === 0) ?? stops[0];
    for (const node of [...rows.map((row) => row.node), gone]) node.tabIndex = node === stop ? 0 : -1;
    mark();
  };
  return { node: make("div", {}, titles(ends, drawn), list), list, rows, rest, at, show };
}

/** Shows the probabilities and the draws; the removed rows are hidden. Gives the number of the others, which stand
 * above.
 * @param {Row[]} rows
 * @param {State} state
 * @param {number[]} before
 * @param {Element} ends
 */
function showRows(rows, { now, dice }, before, ends) {
  const piles = new Map(rows.map((row) => [row, 0]));
  const rowWith = new Map(rows.flatMap((row) => row.ids.map((id) => [id, row])));
  for (const die of dice) {
    const row = /** @type {Row} */ (rowWith.get(drawnBy(die, now)));
    piles.set(row, (piles.get(row) ?? 0) + 1);
  }
  const each = 1 / Math.max(dice.length, MANY); // of a draw, in the pile
  const bars = rows.map((row) => ({
    probability: sumOf(now.probs, row.ids),
    first: sumOf(before, row.ids),
    count: piles.get(row) ?? 0,
  }));
  const isRemoved = rows.map(({ ids }) => ids.every((id) => now.removed[id]));
  const seen = bars.filter((_, i) => !isRemoved[i]);
  const most = Math.max(...seen.flatMap(({ probability, first, count }) => [probability, first, count * each]));
  const end = most <= 0.5 ? 0.5 : 1; // of the axis
  ends.replaceChildren(...[0, end / 2, end].map((x) => make("span", {}, number(x))));
  for (const [i, row] of rows.entries()) row.show({ ...bars[i], isRemoved: isRemoved[i] }, end, dice.length);
  return isRemoved.findLastIndex((one) => !one) + 1;
}

/** The titles of the columns.
 * @param {Node} ends of the axis
 * @param {Node} drawn
 */
const titles = (ends, drawn) =>
  make(
    "div",
    { class: "row titles faint", "aria-hidden": "true" },
    make("span", {}, "token"),
    ends,
    make("span", {}, "probability"),
    drawn,
  );

/** The row of one token, or of all the others: its name, its bar, the bar at temperature 1, and the pile of its draws.
 * @param {number[]} ids
 * @param {string} name
 * @param {Node} written the name, as it is seen
 * @param {Attributes} listeners
 */
function rowOf(ids, name, written, listeners) {
  const bar = make("span", { class: "bar" });
  const outline = make("span", { class: "outline" });
  const pile = make("span", { class: "pile" });
  const [share, drawn] = [make("span", { class: "share" }), make("span", { class: "count" })];
  const track = make("span", { class: "track" }, outline, bar, pile);
  const node = make("div", { class: "row", role: "option", ...listeners }, written, " ", track, share, " ", drawn);
  /**
   * @param {{ probability: number, first: number, count: number, isRemoved: boolean }} row first: at temperature 1
   * @param {number} end of the axis
   * @param {number} draws of all rows
   */
  const show = ({ probability, first, count, isRemoved }, end, draws) => {
    const width = (/** @type {number} */ x) => `${(100 * x) / end}%`;
    bar.style.width = width(probability);
    outline.style.width = width(first);
    pile.style.width = width(count / Math.max(draws, MANY));
    pile.style.setProperty("--brick", `${100 / Math.max(count, 1)}%`);
    pile.style.setProperty("--gap", draws > BRICKS ? "0px" : "1px");
    share.textContent = shareText(probability);
    drawn.textContent = draws ? String(count) : "";
    node.hidden = isRemoved;
    const seen = `${name} ${share.textContent}`;
    node.setAttribute("aria-label", draws ? `${seen} ${count} of ${draws} draws` : seen);
  };
  return { ids, node, show };
}

/** The line in place of the rows that are removed.
 * @param {Distribution} now
 * @param {string[]} tokens
 * @param {number[]} ids those of them with a row
 * @param {number} rest the number of tokens without a row
 */
function goneText({ left }, tokens, ids, rest) {
  const names = [
    ...ids.map((id) => shortened(tokens[id], 12)),
    ...(rest ? [restName(rest).replace(" together", "")] : []),
  ];
  return `${tokens.length - left.length} removed: ${names.join(" · ")}`;
}

// ---- What is drawn --------------------------------------------------------------------------------------------------

/** The buttons that draw tokens, and the tokens that were drawn last.
 * @param {SamplingModel} model
 * @param {State} state
 * @param {string[]} tokens
 * @param {Node | null} other a button that draws something else
 * @param {() => void} pile shows all draws in the rows
 */
function drawing(model, state, tokens, other, pile) {
  const drawn = make("span", { class: "drawn" });
  const show = () => {
    const { dice, now } = state;
    clear.setAttribute("aria-disabled", String(!dice.length));
    drawn.setAttribute("aria-live", state.isTold ? "polite" : "off");
    const last = dice.slice(-MANY).map((die) => make("bdi", {}, shortened(tokens[drawnBy(die, now)], 24)));
    const names = last.flatMap((name, i) => [i ? "\u00a0· " : "", name]);
    const read = `The same random numbers, read at ${settingsText(settingsOf(model))}: `;
    const which = dice.length > MANY ? `The last ${MANY} of ${dice.length}: ` : "";
    tell(drawn, dice.length && !state.isTold ? make("span", { class: "read" }, read) : "", which, ...names);
    pile();
  };
  const draw = (/** @type {number} */ count) => {
    state.dice = count ? [...state.dice, ...Array.from({ length: count }, Math.random)] : [];
    state.isTold = true;
    show();
  };
  const button = (/** @type {string} */ label, /** @type {string} */ text, /** @type {number} */ count) =>
    make("button", { type: "button", "aria-label": label, onclick: () => draw(count) }, text);
  const clear = button("clear the draws", "Clear", 0);
  const buttons = [
    button("draw a token", "Draw a token", 1),
    button(`draw ${MANY} tokens`, `Draw ${MANY}`, MANY),
    clear,
    other,
  ];
  return { node: make("div", { class: "draws" }, make("div", { class: "buttons" }, ...buttons), drawn), show };
}

/** The button that draws sentences, and the sentences that were drawn last; empty where there is neither.
 * @param {SamplingModel} model
 * @param {Data} data
 * @param {Echo} echo
 */
function writing(model, { writes }, echo) {
  const heading = make("p", { class: "drawn-with", "aria-live": "polite" });
  const list = make("ol", { class: "sentences" });
  let isAsked = false; // by a press, which is answered where it is seen
  const draw = () => {
    isAsked = true;
    change(model, { seed: Math.floor(Math.random() * 2 ** 31) });
  };
  const attributes = { type: "button", "aria-label": "draw five sentences", onclick: draw };
  const button = writes ? make("button", attributes, "Draw five sentences") : null;
  const node = make("div", { class: "writing" }, heading, list);
  const show = () => {
    const { asked, problem, sentences = [] } = model.get("written");
    node.hidden = !writes && !sentences.length;
    const waits = isWaiting(model, "written");
    echo.waits = waits;
    node.classList.toggle("waiting", waits);
    tell(heading, problem || (asked && sentences.length ? withText(asked) : ""));
    list.replaceChildren(
      ...sentences.map(([text, probability]) =>
        make("li", { title: text }, make("bdi", {}, text), certainty({ probability })),
      ),
    );
    if (isAsked && !waits) {
      isAsked = false;
      node.scrollIntoView({ block: "nearest" });
    }
  };
  return { node, button, show };
}

/** What sentences were drawn with.
 * @param {Settings} settings
 */
const withText = (settings) => `Drawn with ${settingsText(settings)}; p: the probability at temperature 1.`;

/** @param {Settings} settings */
function settingsText({ temperature, top_k, top_p }) {
  const cuts = [top_k === null ? "" : `, top-k ${top_k}`, top_p === null ? "" : `, top-p ${top_p}`];
  return `temperature ${temperature}${cuts.join("")}`;
}

// ---- The controls ---------------------------------------------------------------------------------------------------

/** @param {SamplingModel} model */
function resetOf(model) {
  const onclick = () => change(model, NOTHING_CHANGED);
  return make("button", { type: "button", "aria-label": "reset: temperature 1, nothing removed", onclick }, "Reset");
}

/** The sliders. A value that Python chose in between is added to the values of a slider.
 * @param {SamplingModel} model
 * @param {number} count of the tokens
 */
const knobsOf = (model, count) => [
  knob(
    "temperature",
    TEMPERATURES,
    () => model.get("temperature"),
    (temperature) => change(model, { temperature }),
  ),
  knob(
    "top-k",
    [...TOP_KS.filter((k) => k < count), null],
    () => model.get("top_k"),
    (top_k) => change(model, { top_k }),
  ),
  knob(
    "top-p",
    TOP_PS,
    () => model.get("top_p"),
    (top_p) => change(model, { top_p }),
  ),
];

/** A slider over these values; null stands for all tokens.
 * @template {number | null} V
 * @param {string} label
 * @param {V[]} values
 * @param {() => V} get
 * @param {(value: V) => void} choose
 */
function knob(label, values, get, choose) {
  let offered = values;
  const write = (/** @type {V} */ value) => (value === null ? "all" : number(value));
  const control = slider({ label, texts: values.map(write), choose: (at) => choose(offered[at]) });
  const show = () => {
    const now = get();
    offered = values.includes(now) ? values : [...values, now].sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
    control.set(offered.indexOf(now), offered.map(write));
  };
  return { node: control.node, show };
}

// ---- Texts ----------------------------------------------------------------------------------------------------------

/** How many tokens are left, and which one is the likeliest.
 * @param {Distribution} now
 * @param {string[]} tokens
 */
function leftText({ probs, ranking }, tokens) {
  const [left, most] = [probs.filter((x) => x > 0).length, shareText(probs[ranking[0]])];
  const best = make("bdi", {}, shortened(tokens[ranking[0]], 24));
  return left === 1
    ? [`1 of ${tokens.length} tokens is left: “`, best, `”, with ${most}`]
    : [`${left} of ${tokens.length} tokens are left; the likeliest, “`, best, `”, has ${most}`];
}

/** The text about the row that is pointed at, or about the line of the removed ones.
 * @param {ReturnType<typeof tableOf>} table
 * @param {State} state
 * @param {Data} data
 * @param {number[]} before
 * @param {Settings} settings
 * @returns {Child[]}
 */
function rowText({ rows, rest, at }, { now }, { logits, tokens, shown }, before, settings) {
  const row = at();
  if (row === null) return [pointHint("a row", "read how its probability is computed", { enter: null })];
  if (row < shown.length) {
    const id = shown[row];
    return [token(tokens[id]), ": ", tokenText(now, logits.values, id, settings)];
  }
  if (row < rows.length) return [restText(now, rest, before, settings.temperature)];
  const first = now.ranking[now.left.length];
  const lost = exactText(1 - now.ofLeft);
  return [
    `The softmax gives ${lost} to what is removed, and the others share it. The likeliest of these, `,
    token(tokens[first]),
    `: ${tokenText(now, logits.values, first, settings)}`,
  ];
}

/** How the probability of a token is computed.
 * @param {Distribution} now
 * @param {Numbers} logits
 * @param {number} id
 * @param {Settings} settings
 */
function tokenText(now, logits, id, { temperature, top_k, top_p }) {
  const [share, place, likelier] = [now.shares[id], now.rank[id], now.likelier[id]];
  const softmax = softmaxText(logits, id, temperature, share);
  const afterTopK = top_k === null ? "" : " (after top-k)";
  const likelierOnes = (/** @type {string} */ sum) =>
    place === 1
      ? `The likelier token has ${sum}${afterTopK}`
      : `The ${place} likelier tokens have ${sum} together${afterTopK}`;
  if (now.removed[id] === "top-k") return `${softmax} It is number ${place + 1}, and top-k keeps ${top_k}: removed.`;
  if (top_p === null) return `${softmax}${quotientText(now, share, now.probs[id])}`;
  if (now.removed[id] === "top-p")
    return `${softmax} ${likelierOnes(shareText(likelier))}, at least ${number(top_p)}: top-p removes this one.`;
  const below = (Math.floor(1000 * likelier) / 1000).toFixed(3); // never rounded up to p
  const kept = place
    ? ` ${likelierOnes(below)}, less than ${number(top_p)}: top-p keeps this one.`
    : " Top-p always keeps the likeliest.";
  return `${softmax}${kept}${quotientText(now, share, now.probs[id])}`;
}

/** The softmax of a token in words.
 * @param {Numbers} logits
 * @param {number} id
 * @param {number} temperature
 * @param {number} share
 */
function softmaxText(logits, id, temperature, share) {
  const quotient = logits[id] / temperature;
  const divided = temperature === 1 ? "" : ` / ${number(temperature)} ${relation([quotient])} ${number(quotient)}`;
  const given = `the softmax over all ${logits.length} tokens gives ${exactText(share)}`;
  return `logit ${number(logits[id])}${divided}, and ${given}.`;
}

/** The same for all tokens without a bar of their own.
 * @param {Distribution} now
 * @param {number[]} rest
 * @param {number[]} before
 * @param {number} temperature
 */
function restText(now, rest, before, temperature) {
  const left = rest.filter((id) => !now.removed[id]);
  const isOne = rest.length === 1;
  const name = isOne ? "The other token" : `The other ${rest.length} tokens`;
  const first = temperature === 1 ? "" : `, where temperature 1 gives ${exactText(sumOf(before, rest))}`;
  const given = `${exactText(sumOf(now.shares, rest))}${isOne ? "" : " together"}`;
  const softmax = `${name}: the softmax gives ${given}${first}.`;
  if (!left.length) return `${softmax} ${isOne ? "It is" : "All of them are"} removed.`;
  const some =
    left.length < rest.length ? ` Only ${left.length} of them ${left.length === 1 ? "is" : "are"} left.` : "";
  return `${softmax}${some}${quotientText(now, sumOf(now.shares, left), sumOf(now.probs, left))}`;
}

/** The last division; nothing where no token was removed.
 * @param {Distribution} now
 * @param {number} share
 * @param {number} probability
 */
function quotientText({ left, ofLeft, ranking }, share, probability) {
  if (left.length === ranking.length) return "";
  return ` Divided by the sum of what is left: ${exactText(share)} / ${exactText(ofLeft)} ≈ ${exactText(probability)}.`;
}

const restName = (/** @type {number} */ count) => (count === 1 ? "the other token" : `the other ${count} together`);

/** A probability with 3 decimals; a small one is not written as 0. */
const shareText = (/** @type {number} */ x) => (x > 0 && x < 0.0005 ? "<0.001" : x.toFixed(3));

/** A probability with 3 decimals, or with 2 digits if it is small. */
const exactText = (/** @type {number} */ x) =>
  x === 0 || x >= 0.01 ? x.toFixed(3) : x >= 1e-4 ? x.toPrecision(2) : number(x);
