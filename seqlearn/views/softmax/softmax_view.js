// SoftmaxView: a slider for each score, a switch for each key, and the attention weights. The browser computes the
// weights: any score may be chosen, so that Python cannot send all of them.

import {
  byFinger,
  layOut,
  legendOf,
  make,
  maskedSign,
  number,
  pointHint,
  radios,
  relation,
  tell,
  token,
} from "../shared/elements.js";
import { change } from "../shared/life.js";
import { pointedRow } from "../shared/rows.js";

/** @import { Attributes, Child, Model, Traits } from "../shared/types.js" */

/** @typedef {Model<Traits & { scores: number[], mask: boolean[], masking: string }>} SoftmaxModel */

/** maskings: three ways to mask, of which the first is right. end: the sliders go from -end to end.
 * @typedef {{ tokens: string[], maskings: string[], end: number }} Data
 */

/** The traits as they are now, and what follows from them. way: the index of the masking.
 * @typedef {{ scores: number[], mask: boolean[], way: number, shares: number[], weights: number[] }} Reading
 */

const [ZERO_FIRST, ZERO_LAST] = [1, 2]; // the wrong ways: the score becomes 0, or the weight after the softmax
const MOST_POWERS = 6; // of a sum that is written out in full
const SLIDER_THUMB = 16; // pixels; softmax_view.css has the same

/**
 * @param {SoftmaxModel} model
 * @param {HTMLElement} root
 * @param {Data} data
 */
export function build(model, root, data) {
  const { tokens, maskings, end } = data;
  const masking = radios({
    label: "how to mask",
    texts: maskings,
    names: maskings.map((name, i) => (i ? `${name} (wrong)` : name)),
    choose: (text) => change(model, { masking: text }),
  });
  masking.node.classList.add("maskings");
  masking.node.prepend("how to mask");
  const own = { scores: model.get("scores"), mask: model.get("mask") };
  const onclick = () => change(model, own);
  const attributes = { type: "button", "aria-label": "put all back: scores and ticks", onclick };
  const back = make("button", attributes, "Put all back");
  const pointed = pointedRow(() => explain());
  const rows = tokens.map((_, i) => rowOf(model, data, i, pointed.listeners(i)));
  const total = make("p", { class: "total", role: "status" });
  const told = make("div");
  layOut(root, "softmax with a mask", {
    controls: { settings: [masking.node, back] },
    panels: make("div", { class: "panels softmax" }, titles(end), ...rows.map((row) => row.node), total),
    legend: legendOf(
      [make("span", { class: "weight sign", "aria-hidden": "true" }), "attention weight"],
      [maskedSign(), "masked: no tick before the word"],
    ),
    says: [told],
  });

  const explain = () => {
    const at = pointed.at();
    for (const [i, { node }] of rows.entries()) node.classList.toggle("on", i === at);
    if (at === null) tell(told, hint());
    else tell(told, ...explanation(readingOf(model, data), at, token(tokens[at])));
  };
  const redraw = () => {
    const reading = readingOf(model, data);
    masking.set(model.get("masking"));
    const isOwn = rows.every((_, i) => reading.scores[i] === own.scores[i] && reading.mask[i] === own.mask[i]);
    back.setAttribute("aria-disabled", String(isOwn));
    const used = usedScores(reading);
    const top = Math.max(...used);
    for (const [i, row] of rows.entries())
      row.show(reading.scores[i], used[i], reading.mask[i], reading.weights[i], top);
    total.replaceChildren(...totalText(reading));
    explain();
  };
  return { scores: redraw, mask: redraw, masking: redraw };
}

function hint() {
  const purpose = "read how its attention weight is computed";
  const keys = byFinger() ? "" : "; the arrow keys change its score, and Tab goes on";
  return pointHint("a row", `${purpose}${keys}`, { enter: null });
}

/** The titles of the columns, with the ends of the sliders.
 * @param {number} end
 */
function titles(end) {
  const ends = make("span", { class: "ends" }, ...[-end, 0, end].map((x) => make("span", {}, number(x))));
  return make(
    "div",
    { class: "row titles faint", "aria-hidden": "true" },
    make("span", {}, "ticked: attended"),
    make("span", {}, make("span", {}, "score"), ends),
    make("span", {}, "attention weight"),
    make("span", { class: "power" }, "e^score"),
  );
}

/** The row of key i: its tick, its score and its weight.
 * @param {SoftmaxModel} model
 * @param {Data} data
 * @param {number} i
 * @param {Attributes} listeners
 */
function rowOf(model, { tokens, end }, i, listeners) {
  const text = tokens[i];
  const slider = make("input", { type: "range", min: -end, max: end, step: 0.1, "aria-label": `score of ${text}` });
  const open = make("input", { type: "checkbox", "aria-label": `${text} may be attended` });
  const written = make("output", {});
  const bar = make("span", { class: "weight" });
  const share = make("span", { class: "number" });
  const power = make("span", { class: "power" });
  slider.addEventListener("input", () => change(model, { scores: model.get("scores").with(i, Number(slider.value)) }));
  open.addEventListener("change", () => change(model, { mask: model.get("mask").with(i, open.checked) }));
  const node = make(
    "div",
    { class: "row", ...listeners },
    make("label", { class: "control" }, open, token(text)),
    make("label", { class: "control" }, slider, written),
    make("span", { class: "track" }, bar),
    share,
    power,
  );
  /** Where the middle of the thumb stands at this score. */
  const place = (/** @type {number} */ x) =>
    `calc(${SLIDER_THUMB / 2}px + (100% - ${SLIDER_THUMB}px) * ${(x + end) / (2 * end)})`;
  /** @type {(score: number, used: number, isOpen: boolean, weight: number, top: number) => void} */
  const show = (score, used, isOpen, weight, top) => {
    const [chosen, counts] = [scoreText(score), used === 0 ? "0" : scoreText(used)];
    slider.value = String(score);
    slider.style.setProperty("--from", place(Math.min(score, 0)));
    slider.style.setProperty("--to", place(Math.max(score, 0)));
    slider.setAttribute("aria-valuetext", used === score ? chosen : `${chosen}, counts as ${counts}`);
    written.replaceChildren(...(used === score ? [chosen] : [make("del", {}, chosen), " ", `→ ${counts}`]));
    node.classList.toggle("uncounted", used !== score);
    open.checked = isOpen;
    node.classList.toggle("masked", !isOpen);
    node.classList.toggle("wrong", !isOpen && weight > 0);
    bar.style.width = `${100 * weight}%`;
    power.textContent = powerText(used);
    power.style.setProperty("--share", `${top === -Infinity ? 0 : 100 * Math.exp(used - top)}%`);
    share.textContent = weightText(weight);
  };
  return { node, show };
}

/** How the weight of a key is computed, or why it is 0.
 * @param {Reading} reading
 * @param {number} at
 * @param {Node} name
 * @returns {Child[]}
 */
function explanation(reading, at, name) {
  const { mask, way, shares, weights } = reading;
  if (mask[at] || way === ZERO_FIRST) {
    const more = mask[at] ? "." : ". A score of 0 hides nothing: e^0 is 1.";
    return ["weight of ", name, `: ${quotient(reading, at, weights[at])}${more}`];
  }
  if (way === ZERO_LAST) {
    const got = quotient(reading, at, shares[at]);
    return [name, ` got ${got} from the softmax; then this was set to 0, and no other key got it.`];
  }
  if (mask.some(Boolean)) return [name, " is masked: its score counts as −∞, e^−∞ is 0, and so is its weight."];
  return [name, " is masked, and so is every key: the softmax would be 0 / 0. So the weights are set to 0."];
}

/** The sum of the weights, and what is wrong with it.
 * @param {Reading} reading
 */
function totalText(reading) {
  const { weights, mask } = reading;
  const divisor = sumOf(usedScores(reading).map(Math.exp));
  const sum = sumOf(weights);
  const hidden = sumOf(weights.map((weight, i) => (mask[i] ? 0 : weight)));
  const wrong =
    hidden > 0
      ? `Wrong: masked keys get ${weightText(hidden)}.`
      : sum && sum < 0.9995
        ? `Wrong: not 1, so ${fixed(1 - sum)} of the attention is lost.`
        : "";
  const nothing = !mask.some(Boolean) && sum === 0 ? " Nothing may be attended: every weight is 0." : " ";
  return [
    make("span", { class: "power" }, Number.isFinite(divisor) ? `The column e^score sums to ${number(divisor)}. ` : ""),
    `The weights sum to ${fixed(sum)}.${nothing}`,
    ...(wrong ? [make("strong", { class: "wrong" }, `✗ ${wrong}`)] : []),
  ];
}

const sumOf = (/** @type {number[]} */ numbers) => numbers.reduce((sum, x) => sum + x, 0);

/** The scores that the softmax gets.
 * @param {Pick<Reading, "scores" | "mask" | "way">} reading
 */
const usedScores = ({ scores, mask, way }) =>
  scores.map((score, i) => (mask[i] || way === ZERO_LAST ? score : way === ZERO_FIRST ? 0 : -Infinity));

/** The shares that come out of the softmax, and the weights. The largest score is subtracted first: no power overflows.
 * @param {SoftmaxModel} model
 * @param {Data} data
 * @returns {Reading}
 */
function readingOf(model, { maskings }) {
  const [scores, mask, way] = [model.get("scores"), model.get("mask"), maskings.indexOf(model.get("masking"))];
  const used = usedScores({ scores, mask, way });
  const top = Math.max(...used);
  const powers = used.map((score) => (top === -Infinity ? 0 : Math.exp(score - top)));
  const sum = sumOf(powers);
  const shares = powers.map((power) => (sum ? power / sum : 0));
  const weights = shares.map((share, i) => (mask[i] || way === ZERO_FIRST ? share : 0));
  return { scores, mask, way, shares, weights };
}

/** How the softmax computes the share of key i: e^2.0 / (e^2.0 + e^1.0) ≈ 7.39 / 10.11 ≈ 0.731.
 * @param {Reading} reading
 * @param {number} i
 * @param {number} share
 */
function quotient(reading, i, share) {
  const used = usedScores(reading);
  const power = (/** @type {number} */ score) =>
    `e^${score < 0 && score > -Infinity ? `(${scoreText(score)})` : scoreText(score)}`;
  const below =
    used.length > MOST_POWERS
      ? `the sum of all ${used.length} such powers`
      : used.length > 1
        ? `(${used.map(power).join(" + ")})`
        : power(used[0]);
  const [above, sum] = [Math.exp(used[i]), sumOf(used.map(Math.exp))];
  const written = (/** @type {number} */ x) => (x < 1 && x >= 0.001 ? x.toPrecision(2) : number(x));
  const overflows = !(above > 0 && Number.isFinite(sum));
  const middle = overflows ? "" : ` ${relation([above, sum])} ${written(above)} / ${written(sum)}`;
  return `${power(used[i])} / ${below}${middle} ${shareText(share)}`;
}

/** A share with 3 decimals, after the sign that fits it.
 * @param {number} share
 */
function shareText(share) {
  if (share > 0 && share < 0.0005) return "< 0.001";
  return `${Math.abs(share - Number(share.toFixed(3))) < 1e-9 ? "=" : "≈"} ${fixed(share)}`;
}

/** The power of a score that counts; one that no number holds is not computed. */
const powerText = (/** @type {number} */ score) =>
  Number.isFinite(Math.exp(score)) ? number(Math.exp(score)) : `e^${scoreText(score)}`;

/** A weight with 3 decimals; a small one is not written as 0. */
const weightText = (/** @type {number} */ x) => (x > 0 && x < 0.0005 ? "<0.001" : fixed(x));

/** A score with one decimal, as the sliders give it, or with two. */
const scoreText = (/** @type {number} */ x) =>
  x === -Infinity ? "−∞" : fixed(x, Math.abs(10 * x - Math.round(10 * x)) < 1e-6 ? 1 : 2);

const fixed = (/** @type {number} */ x, digits = 3) =>
  x
    .toFixed(digits)
    .replace(/^-(0(?:\.0*)?)$/, "$1")
    .replace("-", "−");
