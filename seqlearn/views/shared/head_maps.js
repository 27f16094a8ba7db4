// A small map of every head of every layer, to choose one.

import { VIRIDIS } from "./colours.js";
import { LARGEST } from "./constants.js";
import { make } from "./elements.js";
import { colour, columnLabels, contextOf, rowLabels } from "./heatmap.js";

/** @import { AnyKind, MapData, Numbers, Show, Tensor, TypedArray } from "./types.js" */

/** @typedef {[layer: number, head: number]} Place */

/** The weights that are shown, as a flat list; very many weights are sent as whole numbers up to LARGEST.
 * @param {Pick<MapData, "weights" | "means" | "average" | "rollout">} map
 * @param {Show} show
 * @param {number} layer
 * @param {number} head
 * @returns {Numbers}
 */
export function weightsOf({ weights, means, average, rollout }, show, layer, head) {
  const [, heads, rows, columns] = weights.shape;
  const index = { head: layer * heads + head, layer, all: 0, rollout: 0 }[show];
  const { values } = { head: weights, layer: means, all: average, rollout: /** @type {Tensor} */ (rollout) }[show];
  const part = values.subarray(index * rows * columns, (index + 1) * rows * columns);
  return values instanceof Uint16Array ? Float32Array.from(part, (x) => x / LARGEST) : part;
}

const SMALLEST = { side: 14, named: 44 }; // pixels of a small map; from `named` on, each map has its name below it
const MOST_SIDE = 96;
const GROUP_GAP = 12; // pixels between groups that stand beside each other; head_maps.css has the same

/** A small map of every head, a row for each layer.
 *
 * room: the width for all of them. choose(layer, head, passing): called after a click, Enter, Space, or (passing)
 * another key. side: of a small map, in pixels; default: the largest that fits. kind: of attention, for the label.
 * roles: [layer][head], what a head was measured to do, or "".
 * preview([layer, head] or null): called with the map under the mouse (the arrow keys choose at once). enter(): called
 * after Enter, or a double click.
 * Gives { node, focus(), hide(hidden), mark(show, layer, head, tones, isAblated), canvasOf(layer, head) }. mark: frames
 * what is shown; show null frames nothing; tones: [[layer, head], ...], the heads that are overlaid, in the order of
 * their colours; isAblated(layer, head): whether the head is ablated.
 * @param {MapData} map
 * @param {number} room
 * @param {{ side: number } & Choosing} options
 */
function headGrid({ thumbs, roles = null, kind }, room, { side, ...choosing }) {
  const [layers, heads] = thumbs.shape;
  const named = side >= SMALLEST.named;
  const roleOf = (/** @type {Place} */ [layer, head]) => roles?.[layer][head] ?? "";
  const placeOf = (/** @type {number} */ at) => /** @type {Place} */ ([Math.floor(at / heads), at % heads]);
  const small = Array.from({ length: layers * heads }, (_, at) => {
    const place = placeOf(at);
    return smallMap(thumbs, at, place, roleOf(place), named);
  });
  const values = { "aria-valuemin": 0, "aria-valuemax": layers * heads - 1 };
  const label = { role: "slider", tabindex: 0, "aria-label": `${kind}: layer and head`, ...values };
  const body = make("div", { class: "body", ...label }, ...small.map(({ node }) => node));
  body.style.setProperty("--side", `${side}px`);
  body.style.gridTemplateColumns = `repeat(${heads}, ${named ? pitchOf(side, heads, room) : side + 6}px)`;
  const numbers = (/** @type {number} */ count, before = "") =>
    Array.from({ length: count }, (_, i) => `${before}${i}`);
  const above = named ? null : columnLabels(numbers(heads), side + 6);
  const beside = named ? null : rowLabels(numbers(layers, "layer "), side + 6);
  const labels = [above?.node ?? null, beside?.node ?? null];
  const node = make("figure", { class: named ? "map heads named" : "map heads" }, ...labels, body);
  const headAt = (/** @type {Event} */ { target }) => {
    const found = /** @type {Element} */ (target).closest(".small");
    const at = small.findIndex((one) => one.node === found);
    return at < 0 ? null : placeOf(at);
  };
  const keep = gridKeys(body, headAt, [layers, heads], choosing);
  const box = make("div", { class: "scrolls every" }, node);
  return {
    node: box,
    hide(/** @type {boolean} */ hidden) {
      box.hidden = hidden;
      body.tabIndex = hidden ? -1 : 0;
    },
    focus: () => body.focus({ focusVisible: true }),
    canvasOf: (/** @type {number} */ layer, /** @type {number} */ head) => small[layer * heads + head].canvas,
    /** @type {(show: Show | null, layer: number, head: number, tones: Place[], isAblated: IsAblated) => void} */
    mark(show, layer, head, tones, isAblated) {
      keep([layer, head]);
      body.setAttribute("aria-valuenow", String(layer * heads + head));
      body.setAttribute("aria-valuetext", headName(layer, head, roleOf([layer, head])));
      for (const [at, { node }] of small.entries()) {
        const [l, h] = placeOf(at);
        const tone = tones.findIndex((one) => one[0] === l && one[1] === h);
        const on = show && { head: l === layer && h === head, layer: l === layer, all: true, rollout: true }[show];
        const states = `${on ? " on" : ""}${isAblated(l, h) ? " ablated" : ""}`;
        node.className = `small${states}${tone < 0 ? "" : ` tone tone${tone}`}`;
      }
      above?.mark(show === "head" ? [head] : []);
      beside?.mark(show === "head" || show === "layer" ? [layer] : []);
    },
  };
}

/** What to do after a choice of a head: see `headGrid`.
 * @typedef {{
 *   choose: (layer: number, head: number, passing?: boolean) => void,
 *   preview: (place: Place | null) => void,
 *   enter: () => void,
 * }} Choosing
 */

/** @typedef {(layer: number, head: number) => boolean} IsAblated */

/** A role with its number and the sign after it in one line.
 * @param {string} role
 */
export const unbroken = (role) => role.replaceAll(" %", "\u00a0%");

/** @type {(layer: number, head: number, role: string) => string} */
const headName = (layer, head, role) => `layer ${layer}, head ${head}${role ? `: ${role}` : ""}`;

/** The small map of one head.
 * @param {Tensor} thumbs
 * @param {number} at
 * @param {Place} place
 * @param {string} role
 * @param {boolean} named whether its name stands below it
 */
function smallMap({ shape, values }, at, [layer, head], role, named) {
  const [, , rows, columns] = shape;
  const canvas = make("canvas", { width: columns, height: rows });
  paintSmall(canvas, values.subarray(at * rows * columns, (at + 1) * rows * columns));
  const name = make("strong", {}, `${layer}.${head}`);
  const caption = named ? make("span", { class: "caption" }, name, role ? ` ${unbroken(role)}` : null) : null;
  return { node: make("div", { class: "small", title: headName(layer, head, role) }, canvas, caption), canvas };
}

/** Mouse and keyboard on a grid of heads. Returns a function that sets the head where the arrow keys begin.
 * @param {HTMLElement} body
 * @param {(event: Event) => Place | null} headAt
 * @param {Place} counts of layers and heads
 * @param {Choosing} options
 */
function gridKeys(body, headAt, [layers, heads], { choose, preview, enter }) {
  /** @type {Place} */
  let cursor = [0, 0];
  const within = (/** @type {number} */ at, /** @type {number} */ length) => Math.min(Math.max(at, 0), length - 1);
  body.addEventListener("click", (event) => {
    const place = headAt(event);
    if (place) choose(...place);
  });
  body.addEventListener("dblclick", (event) => headAt(event) && enter());
  body.addEventListener("pointermove", (event) => event.pointerType !== "touch" && preview(headAt(event)));
  body.addEventListener("pointerleave", () => preview(null));
  body.addEventListener("keydown", (event) => {
    const [layer, head] = cursor;
    /** @type {Record<string, Place>} */
    const moves = {
      ArrowUp: [layer - 1, head],
      ArrowDown: [layer + 1, head],
      ArrowLeft: [layer, head - 1],
      ArrowRight: [layer, head + 1],
      PageUp: [layer - 1, head],
      PageDown: [layer + 1, head],
      Home: [layer, 0],
      End: [layer, heads - 1],
      Enter: cursor,
      " ": cursor,
    };
    if (!(event.key in moves)) return;
    const isChoice = event.key === "Enter" || event.key === " ";
    const [to, on] = moves[event.key];
    choose(within(to, layers), within(on, heads), !isChoice);
    if (event.key === "Enter") enter();
    event.preventDefault();
  });
  return (/** @type {Place} */ place) => {
    cursor = place;
  };
}

/** The side of a small map, if `heads` of them share this room: without a name of its own, a map needs labels at the
 * left.
 * @param {number} heads
 * @param {number} room
 */
function sideOf(heads, room) {
  const alone = Math.floor((room - 8) / heads) - 6;
  return alone >= SMALLEST.named
    ? Math.min(MOST_SIDE, alone)
    : Math.max(SMALLEST.side - 4, Math.min(SMALLEST.named - 1, Math.floor((room - 70) / heads) - 6));
}

/** From one small map to the next: names below the maps get the room that there is.
 * @type {(side: number, heads: number, room: number) => number}
 */
const pitchOf = (side, heads, room) => Math.max(side + 6, Math.min(84, Math.floor((room - 14) / heads)));

/** The largest side with which all small maps of all kinds fit into `tall` pixels; 0 if the maps would be too small.
 * @param {MapData[]} maps
 * @param {number} room
 * @param {number} tall
 */
function sideOfAll(maps, room, tall) {
  const layers = maps.flatMap(({ weights, roles }) =>
    Array.from({ length: weights.shape[0] }, (_, layer) => Boolean(roles?.[layer].some(Boolean))),
  );
  // names, roles, gaps and headings
  const beside = layers.reduce((sum, roles) => sum + (roles ? 49 : 23), 36 * maps.length);
  const side = Math.min(
    Math.floor((tall - beside) / layers.length),
    ...maps.map(({ weights }) => sideOf(weights.shape[1], room)),
  );
  return side >= SMALLEST.named ? side : 0;
}

/** The side of a small map, if the groups of all kinds stand beside each other; 0 if the maps would be too small.
 * @param {MapData[]} maps
 * @param {number} each the width of a group
 */
function sideAbreast(maps, each) {
  const side = Math.min(...maps.map(({ weights }) => sideOf(weights.shape[1], each)));
  return side >= SMALLEST.named ? side : 0;
}

/** One pixel for each weight, from 0 to 255.
 * @param {HTMLCanvasElement} canvas
 * @param {TypedArray} values
 */
function paintSmall(canvas, values) {
  const context = contextOf(canvas);
  const image = context.createImageData(canvas.width, canvas.height);
  for (const [at, value] of values.entries()) image.data.set([...colour(value / 255, VIRIDIS), 255], 4 * at);
  context.putImageData(image, 0, 0);
}

/** All heads of all kinds of attention: a group for each kind, below its name. The groups stand below each other if
 * they fit into `tall` pixels, and else beside each other; where neither fits, all but that of the shown kind are
 * closed.
 *
 * maps: what `map_data` returned, each with its `roles`. choose(kind, layer, head): called after a click on a small
 * map, or an arrow key; layer and head are null after a click on the name of a kind. preview({ kind, layer, head } or
 * null), enter(): as in `headGrid`.
 * Gives { node, room, focus(kind), mark({ kind, show, layer, head, tones, ablated }), canvasOf(kind, layer, head) }.
 * room: its width.
 * @param {MapData[]} maps
 * @param {number} room
 * @param {number} tall
 * @param {{
 *   choose: (kind: AnyKind, layer: number | null, head: number | null, passing?: boolean) => void,
 *   preview: (place: { kind: AnyKind, layer: number, head: number } | null) => void,
 *   enter: () => void,
 * }} options
 */
export function headOverview(maps, room, tall, { choose, preview, enter }) {
  const each = Math.floor((room - GROUP_GAP * (maps.length - 1)) / maps.length);
  const stacked = sideOfAll(maps, room, tall);
  const isAbreast = !stacked && maps.length > 1 && sideAbreast(maps, each) > 0;
  const side = isAbreast ? sideAbreast(maps, each) : stacked;
  const isFolded = !side && maps.length > 1;
  const groups = maps.map((map) => {
    const { kind, weights } = map;
    const grid = headGrid(map, isAbreast ? each : room, {
      side: side || sideOf(map.thumbs.shape[1], room),
      choose: (...place) => choose(kind, ...place),
      enter,
      preview: (place) => preview(place && { kind, layer: place[0], head: place[1] }),
    });
    const button = make(
      "button",
      {
        type: "button",
        class: "kind",
        "aria-expanded": isFolded ? "false" : null,
        "aria-label": `${kind} attention ${KIND_WORDS[kind]}`,
        onclick: () => choose(kind, null, null),
      },
      make("strong", {}, `${kind} attention`),
      " ",
      make("span", { class: "faint" }, KIND_WORDS[kind]),
    );
    const node = make("div", { class: "group", role: "group", "aria-label": kind }, button, grid.node);
    return { kind, grid, button, node, shape: weights.shape };
  });
  const wide = stacked
    ? Math.max(250, ...groups.map(({ shape }) => shape[1] * pitchOf(side, shape[1], room) + 14))
    : room;
  const of = (/** @type {AnyKind} */ kind) => (groups.find((group) => group.kind === kind) ?? groups[0]).grid;
  const node = make("div", { class: isAbreast ? "overview abreast" : "overview" }, ...groups.map(({ node }) => node));
  node.style.width = `${wide}px`;
  return {
    node,
    room: wide,
    focus: (/** @type {AnyKind} */ kind) => of(kind).focus(),
    canvasOf: (/** @type {AnyKind} */ kind, /** @type {Place} */ ...place) => of(kind).canvasOf(...place),
    mark(/** @type {Marked} */ { kind, show, layer, head, tones, ablated = new Set() }) {
      for (const { kind: own, grid, button, shape } of groups) {
        const mine = own === kind;
        button.setAttribute("aria-pressed", String(mine));
        if (isFolded) button.setAttribute("aria-expanded", String(mine));
        grid.hide(isFolded && !mine);
        const [at, on] = [Math.min(layer, shape[0] - 1), Math.min(head, shape[1] - 1)];
        grid.mark(mine ? show : null, at, on, mine ? tones : [], (l, h) => ablated.has(`${own} ${l} ${h}`));
      }
    },
  };
}

/** What is shown, overlaid and ablated: see `headGrid`.
 * @typedef {{ kind: AnyKind, show: Show, layer: number, head: number, tones: Place[], ablated?: Set<string> }} Marked
 */

/** @type {Record<AnyKind, string>} */
const KIND_WORDS = {
  encoder: "source looks at source",
  causal: "target looks back",
  cross: "target looks at source",
  kernel: "",
};
