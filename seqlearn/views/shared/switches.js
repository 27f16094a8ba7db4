// A switch for every head; each shows what the head alone does to the translation.

import { ablated, certainty, chance, differences, flipped, keptAlone } from "./changes.js";
import { KINDS } from "./constants.js";
import { make, roving, tell } from "./elements.js";

/** @import { AblationMap, Place } from "./changes.js" */
/** @import { Child, Edit, Layers } from "./types.js" */
/** @import { Ablated } from "../live/ablation.js" */

export const CHANGES = "●"; // the sign that a word changes: on the switch of a head, on a cell of a PatchView

/** @typedef {{ tokens: string[], pieces: string[], probability: number }} Reading */

/** A switch: its button, the sign on the button that a word changes, and what its head does, if that is known.
 * @typedef {{ button: HTMLElement, word: HTMLElement, place: Place, effect: Effect | null }} Switch */
/** `fall`: from 0 to 1, how much of the probability of the translation is lost; `word`: the first word that changes,
 * before and after; `after`: the new one alone.
 * @typedef {{ fall: number, word: string, after: string, told: Child[], spoken: string }} Effect */

/** A switch for every head and every layer: gives { node, set(edits), paint(map) }. layers: { kind: [[name, heads],
 * ...] }. choose(edits => otherEdits): called with a function when a switch is used. paint: colours each switch by what
 * its head does; null: that is not known.
 * @param {Layers} layers
 * @param {(become: (edits: Edit[]) => Edit[]) => void} choose
 */
export function headSwitches(layers, choose) {
  /** @type {Map<string, Switch>} */
  const switches = new Map();
  const mode = make("input", { type: "checkbox" });
  const preview = make("div", { class: "preview faint" });
  /** @type {Child[]} */
  let summary = [];
  /** @type {(place: Place) => HTMLElement} */
  const headAt = (place) => {
    const word = make("span", { class: "word" });
    const point = () => tell(preview, ...(made.effect?.told ?? summary));
    const rest = () => tell(preview, ...summary);
    const onclick = () => choose((edits) => (mode.checked ? keptAlone : flipped)(edits, place, layers));
    const events = { onclick, onpointerenter: point, onpointerleave: rest, onfocus: point, onblur: rest };
    const button = make("button", { type: "button", class: "head", ...events }, `${place[2]}`, word);
    /** @type {Switch} */
    const made = { button, word, place, effect: null };
    switches.set(place.join(" "), made);
    return button;
  };
  const rows = KINDS.flatMap((kind) => (layers[kind] ? [kindOf(layers, kind, headAt, choose)] : []));
  for (const group of rows) roving(group, [...group.querySelectorAll("button")]);
  const node = make(
    "div",
    { class: "board", role: "group", "aria-label": "ablate heads" },
    make(
      "div",
      { class: "controls" },
      make("span", { class: "head-line" }, "ablate a head, or a layer"),
      make("label", { class: "control" }, mode, "solo: ablate the others of its kind"),
    ),
    make("div", { class: "kinds" }, ...rows),
    preview,
  );
  /** @type {Set<string>} */
  let off = new Set();
  const name = () => {
    for (const [key, { button, place, effect }] of switches) {
      const [kind, layer, head] = place;
      const pressed = off.has(key);
      const said = pressed || !effect ? "" : `. ${effect.spoken}`;
      button.setAttribute("aria-pressed", String(pressed));
      button.setAttribute(
        "aria-label",
        `${head}, head of ${kind} layer ${layer}: ${pressed ? "ablated" : "not ablated"}${said}`,
      );
      button.title = `${kind}, layer ${layer}, head ${head}: click to ${pressed ? "restore" : "ablate"} it`;
    }
  };
  return {
    node,
    set(/** @type {Edit[]} */ edits) {
      off = ablated(edits, layers);
      name();
    },
    paint(/** @type {AblationMap | null} */ map) {
      const effects = new Map(map?.heads.map(([...place]) => effectOf(place, map.base)));
      for (const [key, one] of switches) {
        one.effect = off.has(key) ? null : (effects.get(key) ?? null);
        one.word.textContent = one.effect?.word ? CHANGES : "";
        one.button.style.setProperty("--fall", `${Math.round(100 * (one.effect?.fall ?? 0))}%`);
      }
      summary = map ? summaryOf([...switches.values()], off.size > 0) : [];
      tell(preview, ...summary);
      name();
    },
  };
}

/** The switches of a kind, a line for each layer.
 * @param {Layers} layers @param {keyof Layers} kind @param {(place: Place) => HTMLElement} headAt
 * @param {(become: (edits: Edit[]) => Edit[]) => void} choose */
function kindOf(layers, kind, headAt, choose) {
  const lines = (layers[kind] ?? []).map(([, count], layer) => {
    const onclick = () => choose((edits) => flipped(edits, [kind, layer, null], layers));
    const label = { "aria-label": `${kind} ${layer}: ablate the layer`, title: "click to ablate the layer", onclick };
    const whole = make("button", { type: "button", class: "layer", ...label }, `${kind} ${layer}`);
    const heads = Array.from({ length: count }, (_, head) => headAt([kind, layer, head]));
    const name = { role: "group", "aria-label": `heads of ${kind} layer ${layer}` };
    return make("div", { class: "switches", ...name }, whole, ...heads);
  });
  return make("div", { class: "kind" }, ...lines);
}

/** What a head does, with the key of its switch.
 * @param {AblationMap["heads"][number]} head @param {Ablated} base
 * @returns {[key: string, Effect]} */
export function effectOf([kind, layer, head, one], base) {
  const { isOther, word, after, words, p } = compared(base, one);
  const without = `Without ${kind} ${layer}.${head}: `;
  return [
    `${kind} ${layer} ${head}`,
    {
      fall: Math.min(1, Math.max(0, 1 - one.probability / base.probability)),
      after,
      word,
      told: [without, words, ` (${p})`],
      spoken: isOther ? `Without it: ${one.text}` : `Without it the words stay; ${p}`,
    },
  ];
}

/** Two translations. `word`: the first word that changes, before and after; `after`: the new one alone; `words`: the
 * new translation with what is new in it; `p`: the probabilities.
 * @param {Reading} base @param {Reading} one */
export function compared(base, one) {
  const [gone, fresh] = differences(base.tokens, one.tokens);
  const before = base.tokens.filter((_, i) => gone[i]);
  const after = one.tokens.filter((_, i) => fresh[i]);
  const isOther = before.length + after.length > 0;
  const more = Math.max(before.length, after.length) > 1 ? "…" : "";
  const pieces = one.pieces.map((text, i) => (fresh[i] ? make("strong", {}, text) : text));
  return {
    isOther,
    word: isOther ? `${before[0] ?? ""}→${after[0] ?? ""}${more}` : "",
    after: after[0] ?? "",
    words: isOther ? make("bdi", {}, ...pieces) : "the same words",
    p: `p ${chance(base.probability)} → ${chance(one.probability)}`,
  };
}

/** What has become of a translation, for a line beside the press; before: the one that stood there, null for another
 * sentence.
 * @param {Reading | null} before
 * @param {Reading & { text: string }} now
 * @param {string} language
 * @returns {Child[]}
 */
export function echoWords(before, now, language) {
  if (!before) return [make("bdi", { lang: language || null }, now.text), " ", certainty(now)];
  const { isOther, word, words, p } = compared(before, now);
  return isOther ? [make("strong", { class: "word" }, word), " ", words, ` (${p})`] : [words, ` (${p})`];
}

/** For a legend: from nothing to all of the probability. */
export const fallScale = () => make("span", { class: "fall-scale", "aria-hidden": "true" });

/** What the colours mean, and how many heads change a word. `isMore`: other heads are ablated already.
 * @param {Switch[]} switches @param {boolean} isMore
 * @returns {Child[]} */
function summaryOf(switches, isMore) {
  const count = switches.filter(({ effect }) => effect?.word).length;
  const heads = `${count || "None"} of ${switches.filter(({ effect }) => effect).length} heads`;
  const what = isMore ? "when this head is ablated, too" : "when this head alone is ablated";
  return [
    fallScale(),
    ` how far the probability of this translation falls, from 0 to all of it, ${what}. `,
    count ? make("span", { class: "sign", "aria-hidden": "true" }, `${CHANGES} `) : "",
    `${heads} `,
    count === 1 ? "changes a word." : count ? "change a word each, or more." : "changes a word.",
  ];
}
