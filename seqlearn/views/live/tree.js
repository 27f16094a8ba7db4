// The search tree of a sentence, laid out as `tree_data` in seqlearn/views/beam/beam_data.py does: read them side by
// side.

/** @import { Fate, Found, Step } from "../beam/beam_view.js" */
/** @import { Hypothesis } from "./decoding.js" */

/** One extension that a beam search considered; `ids` may end with <eos>.
 * @typedef {{ ids: number[], logProb: number, total: number, score: number, fate: Fate }} Node */
/** By the name of a node, which is its ids.
 * @typedef {Map<string, number>} Numbered */

/** @type {Fate[]} */
const FATES = ["kept", "complete", "beaten", "pruned"];

/** All that BeamView draws of one tree.
 * @param {Node[][]} steps the nodes of each step, the largest total first
 * @param {Hypothesis | undefined} best
 * @param {number} eos
 * @param {(id: number) => string} text
 * @returns {Omit<Found, "sentence" | "width" | "alpha">} */
export function treeData(steps, best, eos, text) {
  const bestPath = best ? [...best.tokens, ...(best.finished ? [eos] : [])] : [];
  const greedy = greedyPath(steps);
  const most = Math.max(2, ...steps.map((nodes) => nodes.filter(({ fate }) => fate !== "pruned").length));
  const columns = steps.map((nodes) => shownNodes(nodes, most, greedy));
  const rows = rowsOf(columns);
  /** @type {Found["nodes"]} */
  const nodes = {
    ...{ token: [-1], text: [""], parent: [-1], step: [0], row: [0], bend: [0], fate: ["kept"] },
    ...{ log_prob: [0], total: [0], score: [0] },
  };
  /** @type {Numbered} */
  const numbers = new Map([["", 0]]);
  for (const [i, column] of columns.entries()) {
    const bends = bendsOf(column);
    for (const { ids, logProb, total, score, fate } of column) {
      const parent = parentOf(ids);
      numbers.set(ids.join(), nodes.token.length);
      nodes.token.push(ids[i]);
      nodes.text.push(text(ids[i]));
      nodes.parent.push(at(numbers, parent));
      nodes.step.push(i + 1);
      nodes.row.push(at(rows, ids.join()));
      nodes.bend.push(at(bends, parent));
      nodes.fate.push(fate);
      nodes.log_prob.push(short(logProb));
      nodes.total.push(short(total));
      nodes.score.push(short(score));
    }
  }
  const numbered = (/** @type {number[]} */ path) => path.map((_, i) => at(numbers, path.slice(0, i + 1).join()));
  return {
    nodes,
    steps: steps.map((all, i) => stepOf(all, all.length - columns[i].length)),
    rows: Math.max(...columns.map(({ length }) => length)),
    best: numbered(bestPath),
    greedy: numbered(greedy),
  };
}

const parentOf = (/** @type {number[]} */ ids) => ids.slice(0, -1).join();

/** A number that is always there: a node comes after its parent.
 * @param {Numbered} numbers @param {string} name */
const at = (numbers, name) => /** @type {number} */ (numbers.get(name));

/** The number with 6 digits.
 * @param {number} x */
const short = (x) => Number(x.toPrecision(6));

/** The length penalty of a step, how many of its nodes have each fate, and how many are left out.
 * @param {Node[]} nodes @param {number} omitted
 * @returns {Step} */
function stepOf(nodes, omitted) {
  const { total, score } = nodes.reduce((one, other) => (Math.abs(other.total) > Math.abs(one.total) ? other : one));
  const count = (/** @type {Fate} */ name) => nodes.filter(({ fate }) => fate === name).length;
  const [kept, complete, beaten, pruned] = FATES.map(count);
  return { penalty: short(score ? total / score : 1), omitted, kept, complete, beaten, pruned };
}

/** The path of greedy search, as far as this tree contains the path.
 * @param {Node[][]} steps */
function greedyPath(steps) {
  /** @type {number[]} */
  let path = [];
  for (const nodes of steps) {
    const children = nodes.filter(({ ids }) => parentOf(ids) === path.join());
    if (children.length) path = children.reduce((one, other) => (other.logProb > one.logProb ? other : one)).ids;
  }
  return path;
}

/** All nodes that were not pruned, the `most` likeliest pruned ones, and the node that greedy search chooses.
 * @param {Node[]} nodes @param {number} most @param {number[]} greedy */
function shownNodes(nodes, most, greedy) {
  const pruned = nodes.filter(({ fate }) => fate === "pruned").sort((one, other) => other.total - one.total);
  const chosen = greedy.slice(0, nodes[0].ids.length).join();
  const omitted = pruned.slice(most).filter(({ ids }) => ids.join() !== chosen);
  return nodes.filter((node) => !omitted.includes(node));
}

/** The row of each node, such that no two lines cross. Sorts each column.
 * @param {Node[][]} columns */
function rowsOf(columns) {
  const height = Math.max(...columns.map(({ length }) => length));
  /** @type {Numbered} */
  const rows = new Map([["", 0]]);
  for (const column of columns) {
    const above = (/** @type {Node} */ { ids }) => at(rows, parentOf(ids));
    column.sort((one, other) => above(one) - above(other) || other.total - one.total);
    let free = 0;
    for (const [i, node] of column.entries()) {
      const row = Math.max(above(node), free);
      free = row + 1;
      rows.set(node.ids.join(), Math.min(row, height - column.length + i));
    }
  }
  return rows;
}

/** Where the lines from each parent turn: lines from a parent further down turn earlier.
 * @param {Node[]} column
 * @returns {Numbered} */
function bendsOf(column) {
  const parents = [...new Set(column.map(({ ids }) => parentOf(ids)).reverse())];
  return new Map(parents.map((parent, i) => [parent, short((i + 1) / (parents.length + 1))]));
}
