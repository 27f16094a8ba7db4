// SoftmaxView: a slider for each score, a switch for each key, and the attention weights. The browser computes the
// weights: any score may be chosen, so that Python cannot send all of them.

function build(model, root, { tokens, maskings, end }) {
  const [, zeroFirst, zeroLast] = maskings;
  let pointed = null;
  const replaced = (list, i, value) => list.map((old, place) => (place === i ? value : old));
  const masking = choice({ label: "how to mask", texts: maskings, choose: (text) => change(model, { masking: text }) });
  const total = make("p", { class: "total", role: "status" });
  const rows = tokens.map((text, i) => {
    const score = make("input", { type: "range", min: -end, max: end, step: 0.1, "aria-label": `score of ${text}` });
    const open = make("input", { type: "checkbox", "aria-label": `${text} may be attended` });
    const written = make("output", {});
    const bar = make("span", { class: "weight" });
    const weight = make("span", { class: "number" });
    const point = (to) => () => {
      pointed = to;
      explain();
    };
    score.addEventListener("input", () => change(model, { scores: replaced(model.get("scores"), i, Number(score.value)) }));
    open.addEventListener("change", () => change(model, { mask: replaced(model.get("mask"), i, open.checked) }));
    const node = make("div", { class: "row", onpointerenter: point(i), onpointerleave: point(null), onfocusin: point(i), onfocusout: point(null) },
      make("label", { class: "control" }, open, token(text)), make("label", { class: "control" }, score, written),
      make("span", { class: "track" }, bar), weight);
    return { node, score, open, written, bar, weight };
  });
  const heads = ["ticked: attended", "score", "attention weight"].map((text) => make("span", {}, text));
  const panels = make("div", { class: "panels softmax" }, make("div", { class: "row titles faint", "aria-hidden": "true" }, ...heads), ...rows.map((row) => row.node), total);
  const told = make("div");
  layOut(root, "softmax with a mask", {
    controls: { settings: [masking.node] },
    panels,
    legend: legendOf([make("span", { class: "weight sign", "aria-hidden": "true" }), "attention weight"],
      [maskedSign(), "masked: no tick before the word"]),
    says: [told],
  });

  const now = () => weightsOf(model.get("scores"), model.get("mask"), maskings.indexOf(model.get("masking")));
  const explain = () => {
    const { powers, sum, weights } = now();
    if (pointed === null) {
      tell(told, make("span", { class: "faint" }, "Point at a row, or press Tab and the arrow keys, to read how its attention weight is computed."));
      return;
    }
    const [score, open, way] = [model.get("scores")[pointed], model.get("mask")[pointed], model.get("masking")];
    if (!open && way !== zeroFirst) {
      tell(told, token(tokens[pointed]), way === zeroLast
        ? ` got ${weightText(powers[pointed] / sum)} from the softmax; then this weight was set to 0, and no other word got it.`
        : " is masked: its score counts as −∞, e to the −∞ is 0, and so is its weight.");
      return;
    }
    const used = open ? fixed(score, 1) : "0";
    tell(told, "weight of ", token(tokens[pointed]), `: e to the ${used}, divided by the sum of all such powers, is ${weightText(weights[pointed])}`,
      open ? "" : ". A score of 0 hides nothing: e to the 0 is 1", ".");
  };
  const redraw = () => {
    const [scores, mask, { weights }] = [model.get("scores"), model.get("mask"), now()];
    masking.set(model.get("masking"));
    rows.forEach((row, i) => {
      row.score.value = scores[i];
      row.score.setAttribute("aria-valuetext", fixed(scores[i], 1));
      row.written.textContent = fixed(scores[i], 1);
      row.open.checked = mask[i];
      row.node.classList.toggle("masked", !mask[i]);
      row.bar.style.width = `${100 * weights[i]}%`;
      row.weight.textContent = weightText(weights[i]);
    });
    const sum = weights.reduce((before, weight) => before + weight, 0);
    total.textContent = `The weights sum to ${fixed(sum)}.${!mask.some(Boolean) && sum === 0 ? " Nothing may be attended: every weight is 0." : ""}`;
    explain();
  };
  return { scores: redraw, mask: redraw, masking: redraw };
}

/** The powers that are divided by their sum, and the weights. The largest score is subtracted first: no power overflows. */
function weightsOf(scores, mask, way) {
  const used = scores.map((score, i) => (mask[i] || way === 2 ? score : way === 1 ? 0 : -Infinity));
  const top = Math.max(...used);
  const powers = used.map((score) => (top === -Infinity ? 0 : Math.exp(score - top)));
  const sum = powers.reduce((before, power) => before + power, 0);
  return { powers, sum, weights: powers.map((power, i) => (sum && (mask[i] || way === 1) ? power / sum : 0)) };
}

/** A weight with 3 decimals; a small one is not written as 0. */
const weightText = (x) => (x > 0 && x < 0.0005 ? "<0.001" : fixed(x));

const fixed = (x, digits = 3) => x.toFixed(digits).replace(/^-(0(?:\.0*)?)$/, "$1").replace("-", "−");
