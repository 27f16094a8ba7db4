// What of a view may stand in an address: which traits, and which values of each. An address may come from anybody, so
// this is the one place that decides. Traits that are not here are never written into an address, and never read.

import { answerOf } from "./asking.js";
import { KINDS, MOST_TONES, MOST_TOKENS } from "./constants.js";
import { extent } from "./elements.js";
import { unpack } from "./life.js";

/** @import { AnyKind, Layers, Tensor } from "./types.js" */

/** Whether a value, which may be anything that JSON can say, is one of the trait.
 * @typedef {(value: unknown) => boolean} Check */
/** The value of a trait, as the address wants it or else as it is: `data`, `result` and the choices.
 * @typedef {(name: string) => any} Get */
/** hears: the trait with the answer to a question, after which the traits that are no part of it may have other values.
 * needs: the traits that change only where somebody answers, if they are not these parts. checks: in an order in which
 * each needs only the ones before it.
 * @typedef {{ hears?: string, needs?: string[], checks: Record<string, (get: Get) => Check> }} States */

export const MOST_TEXT = 500; // characters of a sentence
const MOST_PIECE = 100; // characters of a token, or of a word
const MOST_ROWS = 2 * MOST_TOKENS + 10; // of a map
const MOST_CHANGES = 200; // edits, patches, or tokens of a prefix

// ---- Kinds of values ------------------------------------------------------------------------------------------------

/** @type {Check} */
const isFlag = (value) => typeof value === "boolean";
/** @type {(low: number, high: number) => Check} */
const real = (low, high) => (value) => typeof value === "number" && low <= value && value <= high;
/** @type {(low: number, high: number) => Check} */
const whole = (low, high) => (value) => Number.isInteger(value) && real(low, high)(value);
/** An index of something with so many parts.
 * @param {number} count */
const below = (count) => whole(0, count - 1);
/** @type {(most: number) => Check} */
const text = (most) => (value) => typeof value === "string" && value.length <= most;
/** @type {(values: readonly unknown[]) => Check} */
const oneOf = (values) => (value) => values.includes(value);
/** @type {(...checks: Check[]) => Check} */
const either =
  (...checks) =>
  (value) =>
    checks.some((check) => check(value));
/** @param {Check} check */
const orNull = (check) => either(oneOf([null]), check);
/** @type {(check: Check, most: number, least?: number) => Check} */
const listOf =
  (check, most, least = 0) =>
  (value) =>
    Array.isArray(value) && least <= value.length && value.length <= most && value.every(check);
/** A list with one value for each check.
 * @type {(...checks: Check[]) => Check} */
const row =
  (...checks) =>
  (value) =>
    Array.isArray(value) && value.length === checks.length && checks.every((check, i) => check(value[i]));
const none = row();

/** What is locked in a map.
 * @type {(rows: number, columns: number) => Check} */
const lock = (rows, columns) =>
  orNull(
    either(
      row(oneOf(["query"]), below(rows)),
      row(oneOf(["key"]), below(columns)),
      row(oneOf(["pair"]), below(rows), below(columns)),
    ),
  );

/** Edits of attention weights, of heads that the model has.
 * @type {(layers: Layers) => Check} */
const edits = (layers) => {
  /** @type {Check} */
  const edit = (value) => {
    const [kind, layer] = Array.isArray(value) ? value.slice(1) : [];
    const own = KINDS.includes(kind) ? (layers[/** @type {AnyKind} */ (kind)] ?? []) : [];
    const heads = Number.isInteger(layer) ? (own[layer]?.[1] ?? 0) : Math.max(0, ...own.map(([, count]) => count));
    const head = [oneOf(Object.keys(layers)), orNull(below(own.length)), orNull(below(heads))];
    const cell = [below(MOST_ROWS), below(MOST_ROWS), real(0, 1)];
    return either(row(oneOf(["ablate"]), ...head), row(oneOf(["weight"]), ...head, ...cell))(value);
  };
  return listOf(edit, MOST_CHANGES);
};

const sentence = () => text(MOST_TEXT);
const layersIn = (/** @type {Get} */ get) => get("data").layers ?? {};

// ---- The views ------------------------------------------------------------------------------------------------------

/** The chosen map of an AttentionView.
 * @param {Get} get */
const mapIn = (get) =>
  get("data").maps.find((/** @type {{ kind: string }} */ { kind }) => kind === get("kind")) ?? get("data").maps[0];
/** The chosen translation of a TranslatorView. @param {Get} get */
const bestIn = (get) => get("result").best[get("chosen")] ?? get("result").best[0];
/** The tree that a BeamView asks for, or why there is none. @param {Get} get @returns {any} */
const treeIn = (get) => answerOf({ get }, "trees");
/** The tokens on the way to a node of a tree, whose first node is the start.
 * @type {(tree?: { nodes: { token: unknown[], parent: unknown[] } }) => Check} */
const nodeOf = (tree) => (value) => {
  if (!tree?.nodes || !listOf(whole(0, 1e9), MOST_ROWS)(value)) return false;
  const { token, parent } = tree.nodes;
  const step = (/** @type {number} */ at, /** @type {unknown} */ one) =>
    token.findIndex((text, i) => i > 0 && text === one && parent[i] === at);
  return /** @type {unknown[]} */ (value).reduce((/** @type {number} */ at, one) => step(at, one), 0) >= 0;
};
/** The lengths of a tensor that is still packed. @type {(packed: { shape: number[] }) => number[]} */
const shapeOf = ({ shape }) => shape;

/** The room of numbers: as much again on both sides.
 * @param {...unknown} packed */
const around = (...packed) => {
  const [low, high] = extent(...packed.map((one) => /** @type {Tensor} */ (unpack(one)).values));
  return real(low - (high - low), high + (high - low));
};

/** @type {Record<string, States>} */
export const STATES = {
  AttentionSteps: {
    checks: {
      step: (get) => below(get("data").steps.length),
      locked: (get) => {
        const { query, key, value } = get("data").axes;
        return either(none, row(below(query.length), below(Math.max(key.length, value.length))));
      },
      changes: (get) => {
        const { matrices } = get("data");
        const changeOf = (/** @type {string} */ name) => {
          const [rows, columns] = shapeOf(matrices[name].numbers);
          return row(oneOf([name]), below(rows), below(columns), real(-1e6, 1e6));
        };
        return listOf(either(...["queries", "keys", "values"].map(changeOf)), MOST_CHANGES);
      },
    },
  },
  AttentionView: {
    hears: "result",
    needs: ["sentence", "edits", "against"],
    checks: {
      sentence,
      edits: (get) => edits(layersIn(get)),
      against: (get) => either(none, row(text(MOST_TEXT), edits(layersIn(get)))),
      kind: (get) => oneOf(get("data").maps.map((/** @type {{ kind: string }} */ { kind }) => kind)),
      layer: (get) => below(shapeOf(mapIn(get).weights)[0]),
      head: (get) => below(shapeOf(mapIn(get).weights)[1]),
      show: (get) => oneOf(["head", "layer", "all", ...(mapIn(get).rollout ? ["rollout"] : [])]),
      threshold: () => real(0, 1),
      zoom: () => oneOf(["heads", "head", "cell"]),
      overlay: (get) => {
        const [layers, heads] = shapeOf(mapIn(get).weights);
        const places = listOf(row(below(layers), below(heads)), MOST_TONES);
        return (value) => places(value) && new Set(/** @type {[]} */ (value).map(String)).size === Object(value).length;
      },
      locked: (get) => lock(mapIn(get).queries.length, mapIn(get).keys.length),
    },
  },
  BatchView: {
    checks: {
      order: (get) => oneOf(Object.keys(get("data").plans)),
      batch_size: (get) => oneOf(get("data").sizes),
    },
  },
  BeamView: {
    hears: "trees",
    needs: ["sentence"],
    checks: {
      sentence,
      width: (get) => oneOf(get("data").widths),
      alpha: (get) => oneOf(get("data").alphas),
      step: (get) => whole(0, treeIn(get)?.steps?.length ?? 0),
      locked: (get) => orNull(nodeOf(treeIn(get))),
      probabilities: () => isFlag,
    },
  },
  GruView: {
    checks: {
      unit: (get) => below(shapeOf(get("data").updates)[1]),
      word: (get) => below(shapeOf(get("data").updates)[0]),
      z: () => orNull(real(0, 1)),
      r: () => orNull(real(0, 1)),
    },
  },
  KernelView: {
    checks: {
      kernel: (get) => oneOf(get("data").kernels),
      width: (get) => oneOf(get("data").widths),
      locked: (get) => either(none, row(below(shapeOf(get("data").queries)[0]))),
      readings: (get) => {
        const { keys, queries, values } = get("data");
        const [count] = shapeOf(keys);
        const readings = listOf(row(around(keys, queries), around(values)), count, count);
        const isSorted = (/** @type {number[][]} */ list) => list.every(([x], i) => i === 0 || list[i - 1][0] <= x);
        return (value) => readings(value) && isSorted(/** @type {number[][]} */ (value));
      },
    },
  },
  PatchView: {
    hears: "result",
    checks: {
      sentence,
      other: sentence,
      decision: () => orNull(below(MOST_ROWS)),
      patches: (get) => {
        const { encoder, decoder } = get("data").places;
        const places = [...encoder, ...decoder].map(([place]) => place);
        return listOf(row(oneOf(places), below(MOST_ROWS)), MOST_CHANGES);
      },
    },
  },
  PiecesView: {
    checks: {
      joins: (get) => whole(0, get("data").merges.length),
      word: () => text(MOST_PIECE),
    },
  },
  PositionView: {
    checks: {
      position: (get) => {
        const { start, table } = get("data");
        const [offset, end] = [get("offset"), start + shapeOf(table)[0] - 1];
        return whole(Math.max(start, start - offset), Math.min(end, end - offset)); // position + offset is there, too
      },
      offset: (get) => {
        const i = get("position") - get("data").start;
        return whole(-i, shapeOf(get("data").table)[0] - 1 - i);
      },
      pair: (get) => whole(0, Math.max(get("data").frequencies.length - 1, 0)),
    },
  },
  RiddleView: {
    checks: {
      riddle: (get) => below(get("data").riddles.length),
      tried: (get) => {
        /** @type {[string, number, number][]} */
        const heads = get("data").riddles[0].map.heads;
        return listOf(oneOf(heads.map(([kind, layer, head]) => `${kind} ${layer} ${head}`)), heads.length);
      },
    },
  },
  SamplingView: {
    needs: ["seed"],
    checks: {
      seed: () => orNull(whole(0, 2 ** 32)),
      temperature: () => real(0.01, 100),
      top_k: (get) => orNull(whole(1, get("data").tokens.length)),
      top_p: () => orNull(real(0.0001, 1)),
    },
  },
  SoftmaxView: {
    checks: {
      scores: (get) => {
        const { tokens, end } = get("data");
        return listOf(real(-end, end), tokens.length, tokens.length);
      },
      mask: (get) => listOf(isFlag, get("data").tokens.length, get("data").tokens.length),
      masking: (get) => oneOf(get("data").maskings),
    },
  },
  TranslatorView: {
    hears: "result",
    checks: {
      sentence,
      beam: (get) => oneOf(get("data").beams),
      prefix: () => listOf(text(MOST_PIECE), MOST_CHANGES),
      edits: (get) => edits(layersIn(get)),
      links: (get) => either(oneOf([false]), oneOf([Boolean(get("data").links)])),
      chosen: (get) => below(get("result").best.length),
      step: (get) => below(bestIn(get).tokens.length),
      locked: (get) => {
        const { tokens, attention } = bestIn(get);
        return lock(tokens.length, attention?.keys.length ?? get("result").source.length + 1);
      },
    },
  },
};
