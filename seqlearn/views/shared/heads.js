// A small map of every head of every layer, to choose one.

/** The weights that are shown, as a flat list; very many weights are sent as whole numbers up to LARGEST. */
function weightsOf({ weights, means, average, rollout }, show, layer, head) {
  const [, heads, rows, columns] = weights.shape;
  const [{ values }, index] = { head: [weights, layer * heads + head], layer: [means, layer], all: [average, 0], rollout: [rollout, 0] }[show];
  const part = values.subarray(index * rows * columns, (index + 1) * rows * columns);
  return values instanceof Uint16Array ? Float32Array.from(part, (x) => x / LARGEST) : part;
}

const SMALLEST = { side: 14, named: 44 }; // pixels of a small map; from `named` on, each map has its name below it
const MOST_SIDE = 96;

/** A small map of every head, a row for each layer.
 *
 * room: the width for all of them. choose(layer, head): called after a click or an arrow key.
 * side: of a small map, in pixels; default: the largest that fits. title: the text above. name: the kind of attention, for the label. roles: [layer][head], what a head was measured to do, or "".
 * preview([layer, head] or null): called with the map under the mouse (the arrow keys choose at once). enter(): called after Enter, or a double
 * click.
 * Gives { node, focus(), mark(show, layer, head, tones), canvasOf(layer, head) }. mark: frames what is shown; show null frames
 * nothing; tones: [[layer, head], ...], the heads that are overlaid, in the order of their colours.
 */
function headGrid({ thumbs, roles = null }, room, choose, { title = "every head: click one", side = sideOf(thumbs.shape[1], room), name = "", preview = null, enter = null } = {}) {
  const [layers, heads, rows, columns] = thumbs.shape;
  const named = side >= SMALLEST.named;
  const count = layers * heads;
  const placeOf = (at) => [Math.floor(at / heads), at % heads];
  const small = Array.from({ length: count }, (_, at) => {
    const [layer, head] = placeOf(at);
    const role = roles?.[layer][head];
    const canvas = make("canvas", { width: columns, height: rows });
    paintSmall(canvas, thumbs.values.subarray(at * rows * columns, (at + 1) * rows * columns));
    const caption = make("span", { class: "caption" }, make("strong", {}, `${layer}.${head}`), role ? ` ${role}` : null);
    return make("div", { class: "small", title: `layer ${layer}, head ${head}${role ? `: ${role}` : ""}` }, canvas, named ? caption : null);
  });
  const body = make("div", { class: "body", role: "slider", tabindex: 0, "aria-label": `${name}${name && ": "}layer and head`, "aria-valuemin": 0,
    "aria-valuemax": count - 1 }, ...small);
  body.style.setProperty("--side", `${side}px`);
  body.style.gridTemplateColumns = `repeat(${heads}, ${named ? pitchOf(side, heads, room) : side + 6}px)`;
  const [above, beside] = named ? [] : [columnLabels(Array.from({ length: heads }, (_, i) => `${i}`), side + 6), rowLabels(Array.from({ length: layers }, (_, i) => `layer ${i}`), side + 6)];
  const node = make("figure", { class: named ? "map heads named" : "map heads" }, title === null ? null : make("figcaption", {}, title), above?.node ?? null, beside?.node ?? null, body);
  let cursor = [0, 0];
  const within = (at, length) => Math.min(Math.max(at, 0), length - 1);
  const go = (layer, head) => choose(within(layer, layers), within(head, heads));
  const headAt = (event) => {
    const at = small.indexOf(event.target.closest(".small"));
    return at < 0 ? null : placeOf(at);
  };
  const show = (place) => preview && preview(place);
  body.addEventListener("click", (event) => headAt(event) && go(...headAt(event)));
  body.addEventListener("dblclick", (event) => enter && headAt(event) && enter());
  body.addEventListener("pointermove", (event) => event.pointerType !== "touch" && show(headAt(event)));
  body.addEventListener("pointerleave", () => show(null));
  body.addEventListener("keydown", (event) => {
    const [layer, head] = cursor;
    const moves = { ArrowUp: [layer - 1, head], ArrowDown: [layer + 1, head], ArrowLeft: [layer, head - 1], ArrowRight: [layer, head + 1],
      PageUp: [layer - 1, head], PageDown: [layer + 1, head], Home: [layer, 0], End: [layer, heads - 1], Enter: cursor, " ": cursor };
    if (!(event.key in moves)) return;
    go(...moves[event.key]);
    if (event.key === "Enter" && enter) enter();
    event.preventDefault();
  });
  const box = make("div", { class: "scrolls every" }, node);
  return {
    node: box,
    hide(hidden) {
      box.hidden = hidden;
      body.tabIndex = hidden ? -1 : 0;
    },
    focus: () => body.focus({ focusVisible: true }),
    canvasOf: (layer, head) => small[layer * heads + head].firstChild,
    mark(show, layer, head, tones = []) {
      cursor = [layer, head];
      const role = roles?.[layer][head];
      fill(body, { "aria-valuenow": layer * heads + head, "aria-valuetext": `layer ${layer}, head ${head}${role ? `: ${role}` : ""}` }, []);
      small.forEach((node, at) => {
        const [l, h] = placeOf(at);
        const tone = tones.findIndex((one) => one[0] === l && one[1] === h);
        const on = { head: l === layer && h === head, layer: l === layer, all: true, rollout: true }[show] ?? false;
        node.className = `small${on ? " on" : ""}${tone < 0 ? "" : ` tone tone${tone}`}`;
      });
      above?.mark(show === "head" ? [head] : []);
      beside?.mark(show === "head" || show === "layer" ? [layer] : []);
    },
  };
}

/** The side of a small map, if `heads` of them share this room: without a name of its own, a map needs labels at the left. */
function sideOf(heads, room) {
  const alone = Math.floor((room - 8) / heads) - 6;
  return alone >= SMALLEST.named ? Math.min(MOST_SIDE, alone) : Math.max(SMALLEST.side - 4, Math.min(SMALLEST.named - 1, Math.floor((room - 70) / heads) - 6));
}

/** From one small map to the next: names below the maps get the room that there is. */
const pitchOf = (side, heads, room) => Math.max(side + 6, Math.min(84, Math.floor((room - 14) / heads)));

/** The largest side with which all small maps of all kinds fit into `tall` pixels; 0 if the maps would be too small. */
function sideOfAll(maps, room, tall) {
  const layers = maps.flatMap(({ weights, roles }) => Array.from({ length: weights.shape[0] }, (_, layer) => Boolean(roles?.[layer].some(Boolean))));
  const beside = layers.reduce((sum, roles) => sum + (roles ? 49 : 23), 36 * maps.length); // names, roles, gaps and headings
  const side = Math.min(Math.floor((tall - beside) / layers.length), ...maps.map(({ weights }) => sideOf(weights.shape[1], room)));
  return side >= SMALLEST.named ? side : 0;
}

/** One pixel for each weight, from 0 to 255. */
function paintSmall(canvas, values) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  values.forEach((value, at) => image.data.set([...colour(value / 255, VIRIDIS), 255], 4 * at));
  context.putImageData(image, 0, 0);
}

/** All heads of all kinds of attention: a group for each kind, below its name. Groups that do not fit into `tall` pixels are
 * closed, all but that of the shown kind.
 *
 * maps: what `map_data` returned, each with its `roles`. choose(kind, layer, head): called after a click on a small map, or an
 * arrow key; layer and head are null after a click on the name of a kind. preview({ kind, layer, head } or null), enter(): as
 * in `headGrid`.
 * Gives { node, room, focus(kind), mark({ kind, show, layer, head, tones }), canvasOf(kind, layer, head) }. room: its
 * width.
 */
function headOverview(maps, room, tall, { choose, preview, enter }) {
  const side = sideOfAll(maps, room, tall);
  const groups = maps.map((map) => {
    const { kind } = map;
    const grid = headGrid(map, room, (layer, head) => choose(kind, layer, head), { title: null, side: side || undefined, name: kind, enter,
      preview: (place) => preview(place && { kind, layer: place[0], head: place[1] }) });
    const button = make("button", { type: "button", class: "kind", "aria-label": `${kind} attention ${KIND_WORDS[kind]}`, onclick: () => choose(kind, null, null) },
      make("strong", {}, `${kind} attention`), " ", make("span", { class: "faint" }, KIND_WORDS[kind]));
    return { kind, grid, button, node: make("div", { class: "group", role: "group", "aria-label": kind }, button, grid.node) };
  });
  const wide = side ? Math.max(250, ...maps.map(({ weights }) => weights.shape[1] * pitchOf(side, weights.shape[1], room) + 14)) : room;
  const of = (kind) => groups.find((group) => group.kind === kind).grid;
  const node = make("div", { class: "overview" }, ...groups.map(({ node }) => node));
  node.style.width = `${wide}px`;
  return {
    node,
    room: wide,
    focus: (kind) => of(kind).focus(),
    canvasOf: (kind, ...place) => of(kind).canvasOf(...place),
    mark({ kind, show, layer, head, tones }) {
      groups.forEach((group, at) => {
        const mine = group.kind === kind;
        group.button.setAttribute("aria-pressed", mine);
        group.grid.hide(!side && !mine);
        const { shape } = maps[at].weights;
        group.grid.mark(mine ? show : null, Math.min(layer, shape[0] - 1), Math.min(head, shape[1] - 1), mine ? tones : []);
      });
    },
  };
}

const KIND_WORDS = { encoder: "source looks at source", causal: "target looks back", cross: "target looks at source", kernel: "" };
