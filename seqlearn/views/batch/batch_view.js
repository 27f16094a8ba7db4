// BatchView: sentences as bars in batches. Python sends the batches of every order and size; here they are drawn.

import {
  focusIn,
  layOut,
  legendOf,
  lockNote,
  make,
  maskedSign,
  pointHint,
  radios,
  roving,
  slider,
  tell,
  token,
} from "../shared/elements.js";
import { change } from "../shared/life.js";
import { pointedRow } from "../shared/rows.js";

/** @import { Child, Model, Traits } from "../shared/types.js" */

/** @typedef {"random" | "sorted" | "bucketed"} Order */
/** @typedef {Model<Traits & { order: Order, batch_size: number }>} BatchModel */

/** plans: for each order and each size, the sentences of each batch, by their numbers. tokens: of each sentence, where
 * they are known.
 * @typedef {{ lengths: number[], tokens?: string[][], sizes: number[], plans: Record<Order, number[][][]> }} Data
 */

/** sentences: their lengths; numbers: of the sentences. cells: with the padding.
 * @typedef {{ sentences: number[], numbers: number[], width: number, cells: number, padding: number }} Batch
 */

const ROW = 5; // pixels; batch_view.css has the same
const ALL_GAPS = 70; // pixels between the batches, at most
const MOST_LENGTHS = 8; // of a batch, that are written one by one
/** @type {Order[]} */
const ORDERS = ["random", "sorted", "bucketed"];
/** @type {Record<Order, string>} */
const WHY = {
  random: "Random: short and long sentences share a batch.",
  sorted: "Sorted: sentences of like length share a batch, but a training would begin with short sentences only.",
  bucketed: "Bucketed: the sorted batches in random order, so that no training begins with short sentences only.",
};

/** What a batch size costs, at both ends: there the order makes no difference to the padding.
 * @param {number} size
 * @param {number} all
 */
function ends(size, all) {
  if (size === 1) return `One sentence in each batch: no padding, but as many steps as sentences, ${all}.`;
  if (size === all) return "All sentences in one batch: it is as wide as the longest one, in every order.";
  return null;
}

/**
 * @param {BatchModel} model
 * @param {HTMLElement} root
 * @param {Data} data
 */
export function build(model, root, { lengths, tokens, sizes, plans }) {
  const longest = Math.max(...lengths);
  const order = orders((text) => change(model, { order: text }));
  const size = slider({
    label: "batch size",
    texts: sizes.map(String),
    choose: (at) => change(model, { batch_size: sizes[at] }),
  });
  const { padded, why, told, list } = partsOf(root, longest, [order.node, size.node]);
  list.style.minHeight = `${ROW * lengths.length + ALL_GAPS}px`; // what stands below keeps its place
  /** @type {Batch[]} */
  let batches = [];
  /** @type {HTMLElement[]} */
  let nodes = [];
  /** @type {Map<number, HTMLElement>} */
  let bars = new Map(); // of the sentences, by their numbers
  let row = 0; // of the batch that is pointed at
  let kept = -1; // the number of the sentence that is kept, in every order; -1: none
  const pointed = pointedRow(() => explain());
  const explain = () => {
    const held = batches.findIndex(({ numbers }) => numbers.includes(kept));
    const at = held < 0 ? pointed.at() : held;
    const batch = at === null ? undefined : batches[at];
    const last = (batch?.numbers.length ?? 1) - 1;
    row = held < 0 ? Math.min(Math.max(row, 0), last) : batches[held].numbers.indexOf(kept);
    for (const [i, node] of nodes.entries()) {
      node.setAttribute("aria-selected", String(i === at));
      if (held >= 0) node.tabIndex = i === held ? 0 : -1; // there the keys go on
      for (const [j, bar] of [...node.children].entries()) bar.classList.toggle("on", i === at && j === row);
    }
    if (!batch || at === null) return tell(told, hint());
    const words = rowWords(batch, row, tokens?.[batch.numbers[row]]);
    return tell(told, batchText(batch, at), ". ", lengthsText(batch), ...words, lockNote(held >= 0));
  };
  const keep = (/** @type {number} */ number) => {
    kept = number;
    explain();
  };
  /** The sentence in this row of batch i, or in the nearest one. */
  const numberIn = (/** @type {number} */ i, at = row) =>
    batches[i].numbers[Math.min(Math.max(at, 0), batches[i].numbers.length - 1)];
  const toggle = (/** @type {number} */ number) => keep(number === kept ? -1 : number);
  /** The mouse, and the keys left and right, choose a sentence of a batch.
   * @param {number} i
   */
  const listeners = (i) => {
    const rowAt = (/** @type {MouseEvent} */ { clientY }) =>
      Math.floor((clientY - nodes[i].getBoundingClientRect().top) / ROW);
    const point = (/** @type {PointerEvent} */ event) => {
      row = rowAt(event);
      explain();
    };
    return {
      ...pointed.listeners(i),
      onpointerdown: point,
      onpointermove: point,
      onclick: (/** @type {PointerEvent} */ event) => toggle(numberIn(i, rowAt(event))),
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!by) return;
        row += by;
        keep(kept < 0 ? kept : numberIn(i));
        event.preventDefault();
        event.stopPropagation(); // up and down go from batch to batch
      },
    };
  };
  root.onkeydown = ({ key }) => {
    const i = nodes.indexOf(/** @type {HTMLElement} */ (focusIn(list))); // after the arrow keys
    if (key === "Escape") keep(-1);
    else if (i >= 0 && (key === "Enter" || key === " ")) toggle(numberIn(i));
    else if (i >= 0 && kept >= 0) keep(numberIn(i));
  };
  const redraw = () => {
    const at = sizes.indexOf(model.get("batch_size"));
    const [texts, plan] = [ORDERS.map((one) => shareOf(plans[one][at], lengths)), plans[model.get("order")][at]];
    order.set(model.get("order"), texts);
    why.textContent = ends(sizes[at], lengths.length) ?? WHY[model.get("order")];
    size.set(at);
    batches = plan.map((batch) => batchOf(batch, lengths));
    nodes = batches.map((batch, i) => batchNode(batch, i, longest, listeners(i)));
    const tops = new Map([...bars].map(([number, bar]) => [number, bar.getBoundingClientRect().top]));
    list.replaceChildren(...nodes);
    list.style.gap = `${Math.min(8, ALL_GAPS / (nodes.length - 1 || 1))}px`;
    roving(list, nodes);
    const [cells, padding] = [sumOf(batches.map((batch) => batch.cells)), sumOf(batches.map((batch) => batch.padding))];
    padded.textContent = widthsText(batches, cells, padding);
    explain();
    bars = barsOf(batches, nodes);
    slide(bars, tops);
  };
  return { order: redraw, batch_size: redraw };
}

/** The parts of the view whose texts change, and the list of the batches.
 * @param {HTMLElement} root
 * @param {number} longest
 * @param {Node[]} controls
 */
function partsOf(root, longest, controls) {
  const padded = make("p", { class: "padded", role: "status" });
  const list = make("div", { class: "stack", role: "listbox", "aria-label": "batches" });
  const [why, told] = [make("p", { class: "why faint" }), make("div", { class: "row-told" })];
  layOut(root, "padding of batches", {
    controls: { batches: controls },
    intro: [padded, why],
    panels: make("div", { class: "panels batches" }, endsOf(longest), list),
    legend: legendOf(
      [make("span", { class: "token-sign", "aria-hidden": "true" }), "tokens of a sentence"],
      [maskedSign(), "padding"],
    ),
    says: [told],
    above: true,
  });
  return { padded, why, told, list };
}

/** A button for each order, with its padding: gives { node, set(order, shares) }.
 * @param {(order: Order) => void} choose
 */
function orders(choose) {
  const { node, buttons, set } = radios({ label: "order", texts: ORDERS, choose });
  node.classList.add("orders");
  return {
    node,
    set(/** @type {Order} */ order, /** @type {number[]} */ shares) {
      set(order);
      for (const [i, button] of buttons.entries()) {
        const tally = make("span", { class: "tally", "aria-hidden": "true" }, make("span", { class: "hatched" }));
        tally.style.setProperty("--share", percent(shares[i]));
        const name = make("span", { class: "name" }, ORDERS[i]);
        button.replaceChildren(name, " ", make("strong", {}, percent(shares[i])), " padding", tally);
        button.setAttribute("aria-label", `${ORDERS[i]} ${percent(shares[i])} padding`);
      }
    },
  };
}

/** The bars of all sentences, by the numbers of the sentences.
 * @param {Batch[]} batches
 * @param {HTMLElement[]} nodes
 */
const barsOf = (batches, nodes) =>
  new Map(
    batches.flatMap(({ numbers }, i) =>
      numbers.map((number, j) => [number, /** @type {HTMLElement} */ (nodes[i].children[j])]),
    ),
  );

/** Bars slide from where they were to their new rows in 400 ms; not where reduced motion is asked for.
 * @param {Map<number, HTMLElement>} bars
 * @param {Map<number, number>} tops
 */
function slide(bars, tops) {
  if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const [number, bar] of bars) {
    const by = (tops.get(number) ?? NaN) - bar.getBoundingClientRect().top;
    if (by)
      bar.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: 400, easing: "ease" });
  }
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
 * @param {object} listeners
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

/** The share of the cells of all batches that is padding.
 * @param {number[][]} plan
 * @param {number[]} lengths
 */
function shareOf(plan, lengths) {
  const batches = plan.map((batch) => batchOf(batch, lengths));
  return sumOf(batches.map(({ padding }) => padding)) / sumOf(batches.map(({ cells }) => cells));
}

/** @type {(numbers: number[], lengths: number[]) => Batch} */
function batchOf(numbers, lengths) {
  const sentences = numbers.map((number) => lengths[number]);
  const width = Math.max(...sentences);
  const cells = width * sentences.length;
  return { sentences, numbers, width, cells, padding: cells - sumOf(sentences) };
}

const hint = () => pointHint("a batch", "read its padding and its sentences");

/** A sentence of a batch: its tokens, where they are known, and its padding.
 * @param {Batch} batch
 * @param {number} row
 * @param {string[] | undefined} tokens
 * @returns {Child[]}
 */
function rowWords({ sentences, width }, row, tokens) {
  const rest = width - sentences[row];
  return [
    `Row ${row + 1}: `,
    ...(tokens ? [token(tokens.join(" ")), " "] : []),
    `(${sentences[row]} ${sentences[row] === 1 ? "token" : "tokens"}${rest ? `, then ${rest} × <pad>` : ""})`,
  ];
}

/** @param {Batch} batch */
function lengthsText({ sentences }) {
  if (sentences.length <= MOST_LENGTHS) return `Lengths: ${sentences.join(", ")}. `;
  return `Lengths: ${Math.min(...sentences)} to ${Math.max(...sentences)}. `;
}

/**
 * @param {Batch} batch
 * @param {number} at
 */
const batchText = ({ sentences, width, cells, padding }, at) =>
  `Batch ${at + 1}: ${sentences.length} × ${width} = ${cells.toLocaleString("en")} cells, ` +
  `${padding} of them padding (${percent(padding / cells)})`;

/** The widths of the batches, and all cells.
 * @param {Batch[]} batches
 * @param {number} cells
 * @param {number} padding
 */
function widthsText(batches, cells, padding) {
  const widths = batches.map(({ width }) => width);
  const [low, high] = [Math.min(...widths), Math.max(...widths)];
  const many = batches.length;
  const count = many === 1 ? "1 batch, so 1 step an epoch" : `${many} batches, so ${many} steps an epoch`;
  const width = low === high ? `${low} wide` : `${low} to ${high} wide`;
  return `${count}; ${width}: ${cells.toLocaleString("en")} cells, ${padding.toLocaleString("en")} of them padding`;
}

const percent = (/** @type {number} */ share) => `${(100 * share).toFixed(1)}%`;

const sumOf = (/** @type {number[]} */ numbers) => numbers.reduce((sum, x) => sum + x, 0);
