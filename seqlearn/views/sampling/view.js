// SamplingView: sliders for temperature, top-k and top-p, and the distribution of the next token that they leave. The
// browser computes it: any setting may be chosen, so that Python cannot send all of them.

const DRAWS = 20;
const TEMPERATURES = Array.from({ length: 39 }, (_, i) => (i + 2) / 10); // 0.2 to 4
const TOP_KS = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000]; // and all: null
const TOP_PS = [...Array.from({ length: 19 }, (_, i) => (i + 1) / 20), null]; // 0.05 to 0.95, and all
const NOTHING_CHANGED = { temperature: 1, top_k: null, top_p: null };

function build(model, root, { logits: { values: logits }, tokens, shown }) {
  const count = tokens.length;
  const own = new Set(shown);
  const rest = tokens.map((_, id) => id).filter((id) => !own.has(id));
  const groups = [...shown.map((id) => [id]), ...(rest.length ? [rest] : [])]; // the ids behind each bar
  const before = nextDistribution(logits, 1, null, null).probs;
  const settings = () => [model.get("temperature"), model.get("top_k"), model.get("top_p")];
  let [hovered, focused, now, dice] = [null, null, null, null];

  const knobs = [
    knob(model, "temperature", "temperature", TEMPERATURES),
    knob(model, "top-k", "top_k", [...TOP_KS.filter((k) => k < count), null]),
    knob(model, "top-p", "top_p", TOP_PS),
  ];
  const reset = make("button", { type: "button", "aria-label": "reset: temperature 1, nothing removed", onclick: () => change(model, NOTHING_CHANGED) }, "Reset");
  const left = make("p", { class: "left", role: "status" });
  const rows = groups.map((ids, i) => {
    const [bar, outline, share] = [make("span", { class: "bar" }), make("span", { class: "outline" }), make("span", { class: "share" })];
    const node = make("div", {
      class: "row",
      role: "option",
      onpointerenter: () => explain((hovered = i)),
      onpointerleave: (event) => event.pointerType !== "touch" && explain((hovered = null)), // a finger leaves after every tap
      onfocusin: () => explain(([hovered, focused] = [null, i])),
      onfocusout: () => explain((focused = null)),
    }, i < shown.length ? token(tokens[ids[0]]) : make("span", { class: "rest" }, restName(ids.length)), " ",
      make("span", { class: "track" }, outline, bar), share);
    return { node, bar, outline, share };
  });
  const list = make("div", { role: "listbox", "aria-label": "probability of the next token" }, ...rows.map(({ node }) => node));
  roving(list, rows.map(({ node }) => node));
  const ends = make("span", { class: "ends" });
  const drawn = make("span", { class: "drawn" });
  const draws = make("button", { type: "button", "aria-label": `draw ${DRAWS} tokens`, onclick: () => {
    dice = Array.from({ length: DRAWS }, Math.random);
    drawn.setAttribute("aria-live", "polite");
    explainDraws();
  } }, `Draw ${DRAWS} tokens`);
  layOut(root, "temperature, top-k and top-p", {
    controls: { settings: [make("div", { class: "knobs" }, ...knobs.map(({ node }) => node)), reset] },
    intro: [left],
    panels: make("div", { class: "panels sampling" },
      make("div", { class: "row titles faint", "aria-hidden": "true" }, make("span", {}, "token"), ends, make("span", {}, "probability")),
      list, make("div", { class: "draws" }, draws, drawn)),
    legend: legendOf([make("span", { class: "sampled", "aria-hidden": "true" }), "probability"],
      [make("span", { class: "unsampled", "aria-hidden": "true" }), "probability at temperature 1, nothing removed"],
      [maskedSign(), "removed: it cannot be drawn"]),
    says: [make("div")],
  });
  const told = root.querySelector(".says").firstChild;

  const explain = () => {
    const pointed = hovered ?? focused;
    rows.forEach(({ node }, i) => {
      node.classList.toggle("on", i === pointed);
      node.setAttribute("aria-selected", i === pointed);
    });
    if (pointed === null) tell(told, pointHint("a row", "read how its probability is computed", { enter: null }));
    else if (pointed < shown.length) tell(told, token(tokens[shown[pointed]]), ": ", tokenText(now, logits, shown[pointed], settings()));
    else tell(told, restText(now, rest, before, settings()));
  };
  const explainDraws = () => dice && tell(drawn, ...dice.flatMap((die, i) =>
    [i ? "\u00a0· " : "", make("bdi", {}, shortened(tokens[drawnBy(die, now)], 24))]));
  const redraw = () => {
    now = nextDistribution(logits, ...settings());
    knobs.forEach(({ show }) => show());
    const sums = groups.map((ids) => [sumOf(now.probs, ids), sumOf(before, ids)]);
    const end = Math.max(...sums.flat()) <= 0.5 ? 0.5 : 1; // of the axis
    rows.forEach(({ node, bar, outline, share }, i) => {
      const [probability, first] = sums[i];
      const removed = groups[i].every((id) => now.removed[id]);
      bar.style.width = `${(100 * probability) / end}%`;
      outline.style.width = `${(100 * first) / end}%`;
      share.textContent = removed ? "removed" : shareText(probability);
      node.classList.toggle("removed", removed);
      node.setAttribute("aria-label", `${i < shown.length ? tokens[shown[i]] : restName(rest.length)} ${share.textContent}`);
    });
    ends.replaceChildren(...[0, end / 2, end].map((x) => make("span", {}, number(x))));
    left.replaceChildren(...leftText(now, tokens));
    drawn.setAttribute("aria-live", "off"); // a screen reader does not read 20 tokens at each move of a slider
    explainDraws();
    explain();
  };
  return { temperature: redraw, top_k: redraw, top_p: redraw };
}

/** A slider over these values of a trait; null stands for all tokens. A value that Python chose in between is added. */
function knob(model, label, trait, values) {
  let offered = values;
  const write = (value) => (value === null ? "all" : number(value));
  const control = slider({ label, texts: values.map(write), choose: (at) => change(model, { [trait]: offered[at] }) });
  const show = () => {
    const now = model.get(trait);
    offered = values.includes(now) ? values : [...values, now].sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
    control.set(offered.indexOf(now), offered.map(write));
  };
  return { node: control.node, show };
}

// ---- The distribution -----------------------------------------------------------------------------------------------

/** `next_distribution` of `seqlearn/decoding.py`, with what it computes on the way; topK and topP may be null.
 * shares: the softmax. ranking: the ids, the likeliest first; of equal ones, the smaller id. likelier: the probability of
 * all tokens that are likelier, after top-k. removed: "top-k" or "top-p", where a token was removed. */
function nextDistribution(logits, temperature, topK, topP) {
  const top = extent(logits)[1];
  const powers = Array.from(logits, (logit) => Math.exp((logit - top) / temperature));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const shares = powers.map((power) => power / total);
  const ranking = shares.map((_, id) => id).sort((a, b) => shares[b] - shares[a]); // equal ones stay in order
  const kept = ranking.slice(0, topK ?? ranking.length);
  const ofTopK = topK === null ? 1 : sumOf(shares, kept);
  const [likelier, removed, rank] = [{}, {}, {}];
  let sum = 0;
  ranking.forEach((id, place) => {
    const share = place < kept.length ? shares[id] / ofTopK : 0;
    sum += share;
    [likelier[id], rank[id]] = [sum - share, place];
    if (place >= kept.length) removed[id] = "top-k";
    else if (topP !== null && likelier[id] >= topP) removed[id] = "top-p";
  });
  const left = ranking.filter((id) => !removed[id]);
  const ofLeft = sumOf(shares, left);
  const probs = shares.map((share, id) => (removed[id] ? 0 : share / ofLeft));
  return { shares, ranking, rank, likelier, removed, left, ofLeft, probs };
}

const sumOf = (numbers, ids) => ids.reduce((sum, id) => sum + numbers[id], 0);

/** The token that a random number from 0 to 1 draws. */
function drawnBy(die, { left, probs }) {
  let sum = 0;
  return left.find((id) => (sum += probs[id]) > die) ?? left.at(-1);
}

// ---- Texts ----------------------------------------------------------------------------------------------------------

/** How many tokens are left, and which one is the likeliest. */
function leftText({ probs, ranking }, tokens) {
  const [left, most] = [probs.filter((x) => x > 0).length, shareText(probs[ranking[0]])];
  const best = make("bdi", {}, shortened(tokens[ranking[0]], 24));
  return left === 1
    ? [`1 of ${tokens.length} tokens is left: “`, best, `”, with ${most}`]
    : [`${left} of ${tokens.length} tokens are left; the likeliest, “`, best, `”, has ${most}`];
}

/** How the probability of a token is computed. */
function tokenText(now, logits, id, [temperature, topK, topP]) {
  const [logit, share, place, likelier] = [logits[id], now.shares[id], now.rank[id], now.likelier[id]];
  const divided = temperature === 1 ? "" : ` / ${number(temperature)} ${relation([logit / temperature])} ${number(logit / temperature)}`;
  const softmax = `logit ${number(logit)}${divided}, and the softmax over all ${logits.length} tokens gives ${exactText(share)}.`;
  const likelierOnes = (sum) => `${place === 1 ? `The likelier token has ${sum}` : `The ${place} likelier tokens have ${sum} together`}${topK === null ? "" : " (after top-k)"}`;
  if (now.removed[id] === "top-k") return `${softmax} It is number ${place + 1}, and top-k keeps ${topK}: removed.`;
  if (now.removed[id] === "top-p") return `${softmax} ${likelierOnes(shareText(likelier))}, at least ${number(topP)}: top-p removes this one.`;
  const below = (Math.floor(1000 * likelier) / 1000).toFixed(3); // never rounded up to p
  const kept = topP === null ? "" : place ? ` ${likelierOnes(below)}, less than ${number(topP)}: top-p keeps this one.` : " Top-p always keeps the likeliest.";
  return `${softmax}${kept}${quotientText(now, share, now.probs[id])}`;
}

/** The same for all tokens without a bar of their own. */
function restText(now, rest, before, [temperature]) {
  const left = rest.filter((id) => !now.removed[id]);
  const first = temperature === 1 ? "" : `, where temperature 1 gives ${exactText(sumOf(before, rest))}`;
  const softmax = `${rest.length === 1 ? "The other token" : `The other ${rest.length} tokens`}: the softmax gives ${exactText(sumOf(now.shares, rest))}${rest.length === 1 ? "" : " together"}${first}.`;
  if (!left.length) return `${softmax} ${rest.length === 1 ? "It is" : "All of them are"} removed.`;
  const some = left.length < rest.length ? ` Only ${left.length} of them ${left.length === 1 ? "is" : "are"} left.` : "";
  return `${softmax}${some}${quotientText(now, sumOf(now.shares, left), sumOf(now.probs, left))}`;
}

/** The last division; nothing where no token was removed. */
function quotientText({ left, ofLeft, ranking }, share, probability) {
  if (left.length === ranking.length) return "";
  return ` Divided by the sum of what is left: ${exactText(share)} / ${exactText(ofLeft)} ≈ ${exactText(probability)}.`;
}

const restName = (count) => (count === 1 ? "the other token" : `the other ${count} together`);

/** A probability with 3 decimals; a small one is not written as 0. */
const shareText = (x) => (x > 0 && x < 0.0005 ? "<0.001" : x.toFixed(3));

/** A probability with 3 decimals, or with 2 digits if it is small. */
const exactText = (x) => (x === 0 || x >= 0.01 ? x.toFixed(3) : x >= 1e-4 ? x.toPrecision(2) : number(x));
