// BatchView: sentences as bars in batches. Python sends the batches of every order and size; here they are drawn.

import { choice, layOut, legendOf, make, maskedSign, pointHint, roving, slider, tell } from "../shared/elements.js";
import { change } from "../shared/life.js";
import { pointedRow } from "../shared/rows.js";

/** @import { Model, Traits } from "../shared/types.js" */

/** @typedef {"random" | "sorted" | "bucketed"} Order */
/** @typedef {Model<Traits & { order: Order, batch_size: number }>} BatchModel */

/** plans: for each order and each size, the sentences of each batch, by their numbers.
 * @typedef {{ lengths: number[], sizes: number[], plans: Record<Order, number[][][]> }} Data
 */

/** sentences: their lengths. cells: with the padding.
 * @typedef {{ sentences: number[], width: number, cells: number, padding: number }} Batch
 */

const ROW = 5; // pixels; batch_view.css has the same
const ALL_GAPS = 70; // pixels between the batches, at most
/** @type {Order[]} */
const ORDERS = ["random", "sorted", "bucketed"];
const NAMES = ["random", "sorted by length", "bucketed: sorted, then the batches shuffled"];
const WHY = "Bucketed: the sorted batches in random order, so that no training begins with short sentences only.";

/**
 * @param {BatchModel} model
 * @param {HTMLElement} root
 * @param {Data} data
 */
export function build(model, root, { lengths, sizes, plans }) {
  const longest = Math.max(...lengths);
  const order = choice({
    label: "order",
    texts: ORDERS,
    names: NAMES,
    choose: (text) => change(model, { order: text }),
  });
  const size = slider({
    label: "batch size",
    texts: sizes.map(String),
    choose: (at) => change(model, { batch_size: sizes[at] }),
  });
  const [share, widths] = [make("strong", { class: "share" }), make("span")];
  const list = make("div", { class: "stack", role: "listbox", "aria-label": "batches" });
  const told = make("div");
  layOut(root, "padding of batches", {
    controls: { batches: [order.node, size.node] },
    intro: [make("p", { class: "padded", role: "status" }, share, " ", widths), make("p", { class: "faint" }, WHY)],
    panels: make("div", { class: "panels batches" }, endsOf(longest), list),
    legend: legendOf(
      [make("span", { class: "token-sign", "aria-hidden": "true" }), "tokens of a sentence"],
      [maskedSign(), "padding"],
    ),
    says: [told],
  });

  list.style.minHeight = `${ROW * lengths.length + ALL_GAPS}px`; // what stands below keeps its place
  /** @type {Batch[]} */
  let batches = [];
  /** @type {HTMLElement[]} */
  let nodes = [];
  const pointed = pointedRow(() => explain());
  const explain = () => {
    const at = pointed.at();
    for (const [i, node] of nodes.entries()) node.setAttribute("aria-selected", String(i === at));
    tell(told, at !== null && batches[at] ? batchText(batches[at], at) : hint());
  };
  const redraw = () => {
    const at = sizes.indexOf(model.get("batch_size"));
    const plan = plans[model.get("order")][at];
    order.set(model.get("order"));
    size.set(at);
    batches = plan.map((batch) => batchOf(batch.map((sentence) => lengths[sentence])));
    nodes = batches.map((batch, i) => batchNode(batch, i, longest, pointed.listeners(i)));
    list.replaceChildren(...nodes);
    list.style.gap = `${Math.min(8, ALL_GAPS / (nodes.length - 1 || 1))}px`;
    roving(list, nodes);
    const [cells, padding] = [sumOf(batches.map((batch) => batch.cells)), sumOf(batches.map((batch) => batch.padding))];
    share.textContent = `${percent(padding / cells)} padding`;
    widths.textContent = widthsText(batches, cells, padding);
    explain();
  };
  return { order: redraw, batch_size: redraw };
}

/** The ends of the axis.
 * @param {number} longest
 */
const endsOf = (longest) =>
  make(
    "div",
    { class: "ends faint", "aria-hidden": "true" },
    make("span", {}, "position 1"),
    make("span", {}, String(longest)),
  );

/** A batch: a hatched box, with a bar for each sentence.
 * @param {Batch} batch
 * @param {number} at
 * @param {number} longest
 * @param {ReturnType<ReturnType<typeof pointedRow>["listeners"]>} listeners
 */
function batchNode(batch, at, longest, listeners) {
  const bars = batch.sentences.map((length) => {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${(100 * length) / batch.width}%`;
    return bar;
  });
  const node = make(
    "div",
    { class: "batch", role: "option", "aria-label": batchText(batch, at), ...listeners },
    ...bars,
  );
  node.style.width = `${(100 * batch.width) / longest}%`;
  return node;
}

/** @type {(sentences: number[]) => Batch} */
function batchOf(sentences) {
  const width = Math.max(...sentences);
  const cells = width * sentences.length;
  return { sentences, width, cells, padding: cells - sumOf(sentences) };
}

const hint = () => pointHint("a batch", "read its width and its padding", { enter: null });

/**
 * @param {Batch} batch
 * @param {number} at
 */
const batchText = ({ sentences, width, cells, padding }, at) =>
  `Batch ${at + 1}: ${sentences.length} × ${width} = ${cells} cells, ` +
  `${padding} of them padding (${percent(padding / cells)})`;

/** The widths of the batches, and all cells.
 * @param {Batch[]} batches
 * @param {number} cells
 * @param {number} padding
 */
function widthsText(batches, cells, padding) {
  const widths = batches.map(({ width }) => width);
  const [low, high] = [Math.min(...widths), Math.max(...widths)];
  const count = batches.length === 1 ? "1 batch" : `${batches.length} batches`;
  const width = low === high ? `${low} wide` : `${low} to ${high} wide`;
  return `${count}, ${width}: ${cells.toLocaleString("en")} cells, ${padding.toLocaleString("en")} of them padding`;
}

const percent = (/** @type {number} */ share) => `${(100 * share).toFixed(1)}%`;

const sumOf = (/** @type {number[]} */ numbers) => numbers.reduce((sum, x) => sum + x, 0);
