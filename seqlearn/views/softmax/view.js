// SoftmaxView: a slider for each score, a switch for each key, and the attention weights. The browser computes the
// weights: any score may be chosen, so that Python cannot send all of them.

const MOST_POWERS = 6; // of a sum that is written out in full
const SLIDER_THUMB = 16; // pixels; view.css has the same

function build(model, root, { tokens, maskings, end }) {
  const [, zeroFirst, zeroLast] = maskings;
  let [hovered, focused] = [null, null];
  const replaced = (list, i, value) => list.map((old, place) => (place === i ? value : old));
  const names = maskings.map((name, i) => (i ? `${name} (wrong)` : name));
  const masking = choice({ label: "how to mask", texts: maskings, names, choose: (text) => change(model, { masking: text }) });
  const total = make("p", { class: "total", role: "status" });
  const rows = tokens.map((text, i) => {
    const score = make("input", { type: "range", min: -end, max: end, step: 0.1, "aria-label": `score of ${text}` });
    const open = make("input", { type: "checkbox", "aria-label": `${text} may be attended` });
    const written = make("output", {});
    const bar = make("span", { class: "weight" });
    const weight = make("span", { class: "number" });
    score.addEventListener("input", () => change(model, { scores: replaced(model.get("scores"), i, Number(score.value)) }));
    open.addEventListener("change", () => change(model, { mask: replaced(model.get("mask"), i, open.checked) }));
    const node = make("div", {
      class: "row",
      onpointerenter: () => explain((hovered = i)),
      onpointerleave: (event) => event.pointerType !== "touch" && explain((hovered = null)), // a finger leaves after every tap
      onfocusin: () => explain(([hovered, focused] = [null, i])),
      onfocusout: () => explain((focused = null)),
    }, make("label", { class: "control" }, open, token(text)), make("label", { class: "control" }, score, written),
      make("span", { class: "track" }, bar), weight);
    return { node, score, open, written, bar, weight };
  });
  const ends = make("span", { class: "ends" }, ...[-end, 0, end].map((x) => make("span", {}, number(x))));
  const heads = ["ticked: attended", make("span", {}, "score"), "attention weight"].map((text) => make("span", {}, text));
  heads[1].append(ends);
  const panels = make("div", { class: "panels softmax" }, make("div", { class: "row titles faint", "aria-hidden": "true" }, ...heads), ...rows.map((row) => row.node), total);
  const told = make("div");
  layOut(root, "softmax with a mask", {
    controls: { settings: [masking.node] },
    panels,
    legend: legendOf([make("span", { class: "weight sign", "aria-hidden": "true" }), "attention weight"],
      [maskedSign(), "masked: no tick before the word"]),
    says: [told],
  });

  const explain = () => {
    const pointed = hovered ?? focused;
    rows.forEach(({ node }, i) => node.classList.toggle("on", i === pointed));
    if (pointed === null) {
      tell(told, pointHint("a row", "read how its attention weight is computed", { enter: null }));
      return;
    }
    const [scores, mask, way] = [model.get("scores"), model.get("mask"), model.get("masking")];
    const [open, { shares, weights }] = [mask[pointed], weightsOf(scores, mask, maskings.indexOf(way))];
    const of = (share) => quotient(scores, mask, maskings.indexOf(way), pointed, share);
    if (open || way === zeroFirst) {
      const more = open ? "." : ". A score of 0 hides nothing: e^0 is 1.";
      tell(told, "weight of ", token(tokens[pointed]), `: ${of(weights[pointed])}${more}`);
    } else if (way === zeroLast) {
      tell(told, token(tokens[pointed]), ` got ${of(shares[pointed])} from the softmax; then this weight was set to 0, and no other word got it.`);
    } else if (mask.some(Boolean)) {
      tell(told, token(tokens[pointed]), " is masked: its score counts as −∞, e^−∞ is 0, and so is its weight.");
    } else {
      tell(told, token(tokens[pointed]), " is masked, and so is every key: each power e^−∞ is 0, and the softmax would be 0 / 0, which is no number. So the weights are set to 0.");
    }
  };
  const redraw = () => {
    const [scores, mask] = [model.get("scores"), model.get("mask")];
    const { weights } = weightsOf(scores, mask, maskings.indexOf(model.get("masking")));
    masking.set(model.get("masking"));
    rows.forEach((row, i) => {
      const place = (x) => `calc(${SLIDER_THUMB / 2}px + (100% - ${SLIDER_THUMB}px) * ${(x + end) / (2 * end)})`;
      row.score.value = scores[i];
      row.score.style.setProperty("--from", place(Math.min(scores[i], 0)));
      row.score.style.setProperty("--to", place(Math.max(scores[i], 0)));
      row.score.setAttribute("aria-valuetext", scoreText(scores[i]));
      row.written.textContent = scoreText(scores[i]);
      row.open.checked = mask[i];
      row.node.classList.toggle("masked", !mask[i]);
      row.node.classList.toggle("wrong", !mask[i] && weights[i] > 0);
      row.bar.style.width = `${100 * weights[i]}%`;
      row.weight.textContent = weightText(weights[i]);
    });
    const [sum, hidden] = [weights, weights.map((weight, i) => (mask[i] ? 0 : weight))].map((list) => list.reduce((before, weight) => before + weight, 0));
    const wrong = hidden > 0 ? `Wrong: masked keys get ${weightText(hidden)}.` : sum && sum < 0.9995 ? `Wrong: not 1, so ${fixed(1 - sum)} of the attention is lost.` : "";
    const nothing = !mask.some(Boolean) && sum === 0 ? " Nothing may be attended: every weight is 0." : " ";
    total.replaceChildren(`The weights sum to ${fixed(sum)}.${nothing}`, ...(wrong ? [make("strong", { class: "wrong" }, `✗ ${wrong}`)] : []));
    explain();
  };
  return { scores: redraw, mask: redraw, masking: redraw };
}

/** The scores that the softmax gets. */
const usedScores = (scores, mask, way) => scores.map((score, i) => (mask[i] || way === 2 ? score : way === 1 ? 0 : -Infinity));

/** The shares that come out of the softmax, and the weights. The largest score is subtracted first: no power overflows. */
function weightsOf(scores, mask, way) {
  const used = usedScores(scores, mask, way);
  const top = Math.max(...used);
  const powers = used.map((score) => (top === -Infinity ? 0 : Math.exp(score - top)));
  const sum = powers.reduce((before, power) => before + power, 0);
  const shares = powers.map((power) => (sum ? power / sum : 0));
  return { shares, weights: shares.map((share, i) => (mask[i] || way === 1 ? share : 0)) };
}

/** How the softmax computes the share of key i: e^2.0 / (e^2.0 + e^1.0) ≈ 7.39 / 10.11 ≈ 0.731. */
function quotient(scores, mask, way, i, share) {
  const used = usedScores(scores, mask, way);
  const power = (score) => `e^${score === -Infinity ? "−∞" : score < 0 ? `(${scoreText(score)})` : scoreText(score)}`;
  const below = used.length > MOST_POWERS ? `the sum of all ${used.length} such powers` : used.length > 1 ? `(${used.map(power).join(" + ")})` : power(used[0]);
  const [above, sum] = [Math.exp(used[i]), used.reduce((before, score) => before + Math.exp(score), 0)];
  const written = (x) => (x < 1 && x >= 0.001 ? x.toPrecision(2) : number(x));
  const middle = above > 0 && Number.isFinite(sum) ? ` ${relation([above, sum])} ${written(above)} / ${written(sum)}` : ""; // not where a power overflows
  return `${power(used[i])} / ${below}${middle} ${share > 0 && share < 0.0005 ? "< 0.001" : `${Math.abs(share - share.toFixed(3)) < 1e-9 ? "=" : "≈"} ${fixed(share)}`}`;
}

/** A weight with 3 decimals; a small one is not written as 0. */
const weightText = (x) => (x > 0 && x < 0.0005 ? "<0.001" : fixed(x));

/** A score with one decimal, as the sliders give it, or with two. */
const scoreText = (x) => fixed(x, Math.abs(10 * x - Math.round(10 * x)) < 1e-6 ? 1 : 2);

const fixed = (x, digits = 3) => x.toFixed(digits).replace(/^-(0(?:\.0*)?)$/, "$1").replace("-", "−");
