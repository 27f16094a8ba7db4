import {
  extent,
  layOut,
  legendOf,
  make,
  maskedSign,
  number,
  pointHint,
  relation,
  roving,
  shortened,
  slider,
  tell,
  token,
} from "../shared/elements.js";
import { change } from "../shared/life.js";
import { pointedRow } from "../shared/rows.js";

/** @import { Attributes, Model, Numbers, Tensor, Traits } from "../shared/types.js" */

/** @typedef {{ temperature: number, top_k: number | null, top_p: number | null }} Settings null: all tokens */
/** @typedef {Model<Traits & Settings>} SamplingModel */
/** @typedef {{ logits: Tensor, tokens: string[], shown: number[] }} Data shown: the ids with a bar of their own */
/** @typedef {ReturnType<typeof nextDistribution>} Distribution */

const DRAWS = 20;
const TEMPERATURES = Array.from({ length: 39 }, (_, i) => (i + 2) / 10); // 0.2 to 4
const TOP_KS = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000]; // and all: null
const TOP_PS = [...Array.from({ length: 19 }, (_, i) => (i + 1) / 20), null]; // 0.05 to 0.95, and all
const NOTHING_CHANGED = { temperature: 1, top_k: null, top_p: null };

/**
 * @param {SamplingModel} model
 * @param {HTMLElement} root
 * @param {Data} data
 */
export function build(model, root, { logits: { values: logits }, tokens, shown }) {
  const own = new Set(shown);
  const rest = tokens.map((_, id) => id).filter((id) => !own.has(id));
  let now = nextDistribution(logits, 1, null, null);
  const before = now.probs;
  const pointed = pointedRow(() => explain());
  const rows = shown.map((id, i) => rowOf([id], tokens[id], token(tokens[id]), pointed.listeners(i)));
  if (rest.length) {
    const name = restName(rest.length);
    rows.push(rowOf(rest, name, make("span", { class: "rest" }, name), pointed.listeners(shown.length)));
  }
  const knobs = knobsOf(model, tokens.length);
  const left = make("p", { class: "left", role: "status" });
  const ends = make("span", { class: "ends" });
  const draws = drawing(tokens, () => now);
  const told = make("div");
  layOut(root, "temperature, top-k and top-p", {
    controls: { settings: [make("div", { class: "knobs" }, ...knobs.map(({ node }) => node)), resetOf(model)] },
    intro: [left],
    panels: make("div", { class: "panels sampling" }, titles(ends), listOf(rows.map(({ node }) => node)), draws.node),
    legend: legendOf(
      [make("span", { class: "sampled", "aria-hidden": "true" }), "probability"],
      [make("span", { class: "unsampled", "aria-hidden": "true" }), "probability at temperature 1, nothing removed"],
      [maskedSign(), "removed: it cannot be drawn"],
    ),
    says: [told],
  });

  const explain = () => {
    const at = pointed.at();
    for (const [i, { node }] of rows.entries()) {
      node.classList.toggle("on", i === at);
      node.setAttribute("aria-selected", String(i === at));
    }
    if (at === null) tell(told, pointHint("a row", "read how its probability is computed", { enter: null }));
    else if (at < shown.length)
      tell(told, token(tokens[shown[at]]), ": ", tokenText(now, logits, shown[at], settingsOf(model)));
    else tell(told, restText(now, rest, before, model.get("temperature")));
  };
  const redraw = () => {
    const { temperature, top_k, top_p } = settingsOf(model);
    now = nextDistribution(logits, temperature, top_k, top_p);
    for (const { show } of knobs) show();
    const sums = rows.map(({ ids }) => [sumOf(now.probs, ids), sumOf(before, ids)]);
    const end = Math.max(...sums.flat()) <= 0.5 ? 0.5 : 1; // of the axis
    for (const [i, { ids, show }] of rows.entries()) {
      const isRemoved = ids.every((id) => now.removed[id]);
      show(sums[i][0], sums[i][1], end, isRemoved);
    }
    ends.replaceChildren(...[0, end / 2, end].map((x) => make("span", {}, number(x))));
    left.replaceChildren(...leftText(now, tokens));
    draws.again();
    explain();
  };
  return { temperature: redraw, top_k: redraw, top_p: redraw };
}

/** @param {SamplingModel} model */
const settingsOf = (model) => ({
  temperature: model.get("temperature"),
  top_k: model.get("top_k"),
  top_p: model.get("top_p"),
});

/** The titles of the columns.
 * @param {Node} ends of the axis
 */
const titles = (ends) =>
  make(
    "div",
    { class: "row titles faint", "aria-hidden": "true" },
    make("span", {}, "token"),
    ends,
    make("span", {}, "probability"),
  );

/** The rows, one stop of the Tab key.
 * @param {HTMLElement[]} rows
 */
function listOf(rows) {
  const list = make("div", { role: "listbox", "aria-label": "probability of the next token" }, ...rows);
  roving(list, rows);
  return list;
}

/** The row of one token, or of all the others: its name, its bar, and the bar at temperature 1.
 * @param {number[]} ids
 * @param {string} name
 * @param {Node} written the name, as it is seen
 * @param {Attributes} listeners
 */
function rowOf(ids, name, written, listeners) {
  const bar = make("span", { class: "bar" });
  const outline = make("span", { class: "outline" });
  const share = make("span", { class: "share" });
  const node = make(
    "div",
    { class: "row", role: "option", ...listeners },
    written,
    " ",
    make("span", { class: "track" }, outline, bar),
    share,
  );
  /**
   * @param {number} probability
   * @param {number} first the probability at temperature 1, nothing removed
   * @param {number} end of the axis
   * @param {boolean} isRemoved
   */
  const show = (probability, first, end, isRemoved) => {
    bar.style.width = `${(100 * probability) / end}%`;
    outline.style.width = `${(100 * first) / end}%`;
    share.textContent = isRemoved ? "removed" : shareText(probability);
    node.classList.toggle("removed", isRemoved);
    node.setAttribute("aria-label", `${name} ${share.textContent}`);
  };
  return { ids, node, show };
}

/** The button that draws tokens, and the tokens that it drew.
 * @param {string[]} tokens
 * @param {() => Distribution} now
 */
function drawing(tokens, now) {
  /** @type {number[]} */
  let dice = []; // for each token that is drawn, a number from 0 to 1
  const drawn = make("span", { class: "drawn" });
  const show = () => {
    const names = dice.map((die) => make("bdi", {}, shortened(tokens[drawnBy(die, now())], 24)));
    if (dice.length) tell(drawn, ...names.flatMap((name, i) => [i ? "\u00a0· " : "", name]));
  };
  const draw = () => {
    dice = Array.from({ length: DRAWS }, Math.random);
    drawn.setAttribute("aria-live", "polite");
    show();
  };
  const again = () => {
    drawn.setAttribute("aria-live", "off"); // a screen reader does not read 20 tokens at each move of a slider
    show();
  };
  const attributes = { type: "button", "aria-label": `draw ${DRAWS} tokens`, onclick: draw };
  return { node: make("div", { class: "draws" }, make("button", attributes, `Draw ${DRAWS} tokens`), drawn), again };
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

// ---- The distribution -----------------------------------------------------------------------------------------------

/** `next_distribution` of `seqlearn/search/sampling.py`, with what it computes on the way.
 *
 * shares: the softmax. ranking: the ids, the likeliest first; of equal ones, the smaller id. likelier: the probability
 * of all tokens that are likelier, after top-k. removed: "top-k" or "top-p", where a token was removed.
 * @param {Numbers} logits
 * @param {number} temperature
 * @param {number | null} topK
 * @param {number | null} topP
 */
export function nextDistribution(logits, temperature, topK, topP) {
  const top = extent(logits)[1];
  const powers = Array.from(logits, (logit) => Math.exp((logit - top) / temperature));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const shares = powers.map((power) => power / total);
  const ranking = shares.map((_, id) => id).sort((a, b) => shares[b] - shares[a]); // equal ones stay in order
  const kept = ranking.slice(0, topK ?? ranking.length);
  const ofTopK = topK === null ? 1 : sumOf(shares, kept);
  /** @type {Record<number, number>} */
  const likelier = {};
  /** @type {Record<number, "top-k" | "top-p">} */
  const removed = {};
  /** @type {Record<number, number>} */
  const rank = {};
  let sum = 0;
  for (const [place, id] of ranking.entries()) {
    const share = place < kept.length ? shares[id] / ofTopK : 0;
    sum += share;
    likelier[id] = sum - share;
    rank[id] = place;
    if (place >= kept.length) removed[id] = "top-k";
    else if (topP !== null && likelier[id] >= topP) removed[id] = "top-p";
  }
  const left = ranking.filter((id) => !removed[id]);
  const ofLeft = sumOf(shares, left);
  const probs = shares.map((share, id) => (removed[id] ? 0 : share / ofLeft));
  return { shares, ranking, rank, likelier, removed, left, ofLeft, probs };
}

/**
 * @param {number[]} numbers
 * @param {number[]} ids
 */
const sumOf = (numbers, ids) => ids.reduce((sum, id) => sum + numbers[id], 0);

/** The token that a random number from 0 to 1 draws.
 * @param {number} die
 * @param {Distribution} now
 */
function drawnBy(die, { left, probs }) {
  let sum = 0;
  for (const id of left) {
    sum += probs[id];
    if (sum > die) return id;
  }
  return left[left.length - 1];
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
