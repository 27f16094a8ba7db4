// The panels of an AttentionView: small maps of all heads, one or two readings of a head, the arithmetic of one cell.

import { isSame } from "../shared/asking.js";
import { attentionPanel, commonCell, overlayPanel } from "../shared/attention.js";
import { byFinger, focusIn, legendOf, lockNote, make, number, pointHint, roomIn, tell } from "../shared/elements.js";
import { cellArithmetic } from "../shared/cell.js";
import { headOverview, unbroken, weightsOf } from "../shared/head_maps.js";
import { ablated, differences, editsInWords, partners, sameQuestion, unknownSign } from "../shared/changes.js";
import { SHOWS } from "./attention_choice.js";

/** @import { AnyKind, Child, Edit, Layers, MapData, Numbers, Show, Target } from "../shared/types.js" */
/** @import { Pulled } from "../shared/attention.js" */
/** @import { Echo } from "../shared/echo.js" */
/** @import { WhatIf } from "./attention_changes.js" */
/** @import { Answer, Cell, Choice, Level, Place, Result } from "./attention_choice.js" */

/**
 * @typedef {ReturnType<Choice["chosen"]>} Chosen
 * @typedef {(target: Target | null) => Target | null} Move
 * @typedef {ReturnType<typeof attentionPanel> | ReturnType<typeof overlayPanel>} Panel
 *
 * @typedef {{ title: string, threshold: number, made: boolean }} Look
 *
 * @typedef {object} Drawn a map, how a target moves into it, its panel, and how weights are drawn there
 * @property {MapData} map
 * @property {Move} here
 * @property {Panel} panel
 * @property {boolean} isOff whether what is drawn is ablated
 * @property {(now: Chosen, look: Look) => string} show
 *
 * @typedef {ReturnType<typeof headOverview> & { width: number, isSided: boolean }} Overview
 * @typedef {ReturnType<typeof cellArithmetic> & { key: string, answer: Answer }} Arithmetic
 */

const WIDE = 860; // pixels from which the small maps stand beside the large one
const TALL = 590; // pixels for the small maps of all kinds
const LEAST_READING = 310; // pixels from which two readings stand beside each other
const LARGE = { cell: 36, wide: 33, heads: 28 }; // pixels of a cell: alone; beside the small maps, with room or without
const ROOM = 1020; // pixels for the large map, from which its cells are wide

/** What stands on the page. */
export class Stage {
  /** panels: where it stands. whatIf: null where nobody reads again. redraw, explain: draw the view, or only its texts.
   * @param {HTMLElement} root
   * @param {HTMLElement} panels
   * @param {Choice} choice
   * @param {WhatIf | null} whatIf
   * @param {Echo} echo
   * @param {{ redraw: () => void, explain: () => void }} all
   */
  constructor(root, panels, choice, whatIf, echo, { redraw, explain }) {
    this.root = root;
    this.panels = panels;
    this.choice = choice;
    this.whatIf = whatIf;
    this.echo = echo;
    this.redraw = redraw;
    this.explainAll = explain;
    this.node = make("div", { class: "stage" });
    this.foot = make("div");
    this.said = make("div");
    this.told = make("div");
    /** @type {(Target | null)[]} */
    this.hovered = []; // a target for each reading
    /** @type {string | null} */
    this.key = null; // of what was built: level, kind, room, ...
    /** @type {{ level: Level, place: Place } | null} */
    this.drawn = null;
    /** @type {Overview | null} */
    this.overview = null;
    /** @type {Drawn[]} */
    this.readings = [];
    /** @type {Arithmetic | null} */
    this.cell = null;
    /** @type {HTMLElement | null} */
    this.waiting = null; // what stands in the place of the cell until there is an answer
  }

  draw() {
    const { choice, drawn, root } = this;
    const now = choice.chosen();
    const [level, room] = [choice.zoom(), roomIn(root)];
    const isOut = level === "heads" && drawn?.level === "head";
    const active = /** @type {HTMLElement | null} */ (focusIn(root));
    const focus = isOut && this.focus() ? "overview" : this.focus();
    const before = drawn && drawn.level !== level ? this.boxes(drawn) : null;
    const key = JSON.stringify([level, now.kind, room, now.overlay.length > 0, choice.other()?.asked]);
    if (level !== "cell" && key !== this.key) this.build(now, level, room);
    this.key = key;
    const after = { level, place: now };
    this.drawn = after;
    if (level === "heads") {
      const off = ablated(choice.model.get("edits"), choice.layers);
      this.overview?.mark({ ...choice.chosen(null), tones: choice.model.get("overlay"), ablated: off });
    }
    if (level === "cell") this.cell = null;
    else this.drawReadings(now);
    this.explainAll();
    if (before) this.zoomFrom(before, after);
    if (!focus || this.panels.contains(focusIn(root))) return;
    if (active && this.node.contains(active))
      active.focus(); // the slider of a weight, which stays
    else this.refocus(focus, after);
  }

  /** The parts on the page; what stands there already is not touched, so that it keeps the focus of the keyboard.
   * @param {...Node} nodes
   */
  stand(...nodes) {
    const { children } = this.panels;
    const isSame = nodes.length === children.length && nodes.every((node, i) => node === children[i]);
    if (!isSame) this.panels.replaceChildren(...nodes);
  }

  /** The targets that are pointed at, one for each reading; null: the reading has no such place.
   * @param {(Target | null)[]} targets
   */
  point(targets) {
    const now = targets.some(Boolean) ? targets : [];
    if (sameQuestion(now, this.hovered)) return;
    this.hovered = now;
    this.explainAll();
  }

  /** The same for a token of the source; causal attention does not look at it.
   * @param {Target | null} target
   */
  pointSource(target) {
    if (this.choice.chosen().kind !== "causal") this.point(this.readings.map(({ here }) => here(target)));
  }

  // ---- Heads --------------------------------------------------------------------------------------------------------

  /** The large part: one head or a mean, or several heads; beside another reading of it, if there is one.
   * @param {Chosen} now
   * @param {Level} level
   * @param {number} room
   */
  build(now, level, room) {
    const { choice } = this;
    this.hovered = [];
    const overview = level === "heads" ? this.overviewFor(room) : null;
    const left = overview?.isSided ? room - overview.room - 24 : room;
    const second = choice.other();
    const other = second?.maps.find(({ kind }) => kind === now.kind);
    const both = other ? [other, now.map] : [now.map];
    const each = other && left >= 2 * LEAST_READING + 24 ? Math.floor((left - 24) / 2) : left;
    const isAbreast = each < left;
    const cell = LARGE[level === "head" && each >= LEAST_READING * 2 ? "cell" : each >= ROOM ? "wide" : "heads"];
    const sizes = { room: each, beside: isAbreast ? each - 12 : each, cell };
    const common = { ...sizes, full: Math.max(...both.map(({ full }) => full)), cells: commonCell(both, sizes) };
    this.readings = both.map((one, at) => this.readingOf(one, at, now, { ...common, maps: level === "head" }));
    this.cell = null;
    const result = choice.model.get("result");
    const panels = this.readings.map(({ panel }) => panel);
    const nodes = second && other ? this.beside([second, result], now.kind, panels) : panels[0].nodes;
    this.node.replaceChildren(...nodes, ...(this.whatIf ? [this.whatIf.weigh.node] : []));
    this.node.classList.toggle("twofold", other !== undefined);
    this.node.classList.toggle("abreast", isAbreast);
    this.stand(...(overview ? [overview.node] : []), this.node);
    const notes = [this.whatIf && unknownSign(result.unknown), ...(overview ? rolesInWords(choice.maps) : [])];
    this.foot.replaceChildren(panels[0].legend, ...(notes.some(Boolean) ? [legendOf(...notes)] : []));
  }

  /** The small maps, for a width of the whole view.
   * @param {number} room
   * @returns {Overview}
   */
  overviewFor(room) {
    const { choice } = this;
    const isSided = room >= WIDE;
    const width = isSided ? Math.min(400, 0.335 * room) : room;
    if (this.overview?.width === width && this.overview.isSided === isSided) return this.overview;
    const preview = (/** @type {Place | null} */ place) => {
      if (sameQuestion(Object.values(place ?? {}), Object.values(choice.preview ?? {}))) return;
      choice.preview = place;
      this.redraw();
    };
    const overview = headOverview(choice.maps, width, isSided ? TALL : 0, {
      choose: (kind, layer, head, passing) => choice.choose(kind, layer, head, passing),
      enter: () => !choice.chosen(null).overlay.length && choice.go(1),
      preview,
    });
    this.overview = { ...overview, width, isSided };
    return this.overview;
  }

  /** The panel of a reading, and how a target moves into its map, `here`.
   * @param {MapData} map
   * @param {number} at
   * @param {Chosen} now
   * @param {{ room: number, beside: number, cell: number, cells: number, full: number, maps: boolean }} sizes
   * @returns {Drawn}
   */
  readingOf(map, at, now, sizes) {
    const { choice, whatIf } = this;
    const [here, present] = [moving(now.map, map), moving(map, now.map)];
    /** @type {(then: (target: Target) => void) => (target: Target | null) => void} */
    const moved = (then) => (target) => {
      const there = present(target);
      if (there) then(there);
    };
    const lock = moved((target) => choice.pick({ locked: target }));
    const options = {
      ...map,
      ...sizes,
      isMasked: (/** @type {number} */ i, /** @type {number} */ j) =>
        map.mask !== null && !map.mask.at(i, j) && !(i === j && choice.chosen().show === "rollout"),
      point: (/** @type {Target | null} */ target) =>
        this.point(this.readings.map((reading, i) => (i === at ? target : reading.here(present(target))))),
      lock: (/** @type {Target | null} */ target) => (target ? lock(target) : choice.pick({ locked: null })),
      enter: moved((target) => choice.enter(target)),
    };
    if (now.overlay.length) {
      const panel = overlayPanel(options);
      return { map, here, panel, isOff: false, show: (now, look) => panel.show(headsIn(map, now), look) };
    }
    const pull = {
      may: () => whatIf?.mayPull(),
      move: (/** @type {Pulled | null} */ pulled) => whatIf?.preview(pulled),
      done: (/** @type {Pulled} */ pulled) => whatIf?.pull(pulled),
    };
    const panel = attentionPanel({ ...options, pull: whatIf && map === now.map ? pull : null });
    const show = (/** @type {Chosen} */ now, /** @type {Look} */ look) =>
      panel.show(weightsOf(map, now.show, now.layer, now.head), look);
    return { map, here, panel, isOff: false, show };
  }

  /** Two readings, one beside the other.
   * @param {[Result, Result]} both
   * @param {AnyKind} kind
   * @param {Panel[]} panels
   */
  beside([first, second], kind, panels) {
    const { layers } = this.choice;
    const [before, now] = this.choice.names();
    return [
      besideOther(before, first, second, kind, panels[0].nodes, layers),
      besideOther(now, second, first, kind, panels[1].nodes, layers),
    ];
  }

  /** @param {Chosen} now */
  drawReadings(now) {
    const { choice, whatIf } = this;
    const { map, show, layer, head, overlay } = now;
    const threshold = choice.model.get("threshold");
    const role = show === "head" ? map.roles?.[layer][head] : "";
    if (whatIf) whatIf.weights = overlay.length ? null : weightsOf(map, show, layer, head);
    let title = "";
    const lines = this.readings.map((reading) => {
      const edits = reading.map === map ? choice.model.get("result").edits : choice.other()?.edits;
      const isOff = !overlay.length && isAblated(weightsOf(reading.map, show, layer, head), edits ?? []);
      title = titleOf(show, layer, head) + (isOff ? " · ablated" : role ? ` · ${unbroken(role)}` : "");
      if (!overlay.length) reading.panel.nodes[1].classList.toggle("off", isOff);
      reading.isOff = isOff;
      return reading.show(now, { title, threshold, made: show === "rollout" });
    });
    const names = choice.names();
    const counted = lines.map((text, at) => `${names[at]}, ${text.split(";")[0]}`).join("; ");
    const heads = overlay.length ? `${overlay.length} head${overlay.length > 1 ? "s" : ""}` : title;
    const one = this.readings[0].isOff ? "" : lines[0];
    const all = lines.length > 1 ? `${counted}. A weight below ${number(threshold)} has no line.` : one;
    const kind = map.kind[0].toUpperCase() + map.kind.slice(1);
    tell(this.said, `${kind} attention, ${heads}. ${all}`);
  }

  /** Marks what is locked or pointed at, and says it. */
  explain() {
    const { choice, readings, whatIf } = this;
    whatIf?.drawWeight();
    if (choice.zoom() === "cell") return this.drawCell();
    const locked = whatIf ? whatIf.held() : choice.locked();
    const stays = locked !== null;
    const targets = readings.map(({ here }, at) => (stays ? here(locked) : (this.hovered[at] ?? null)));
    const [last, target] = [readings.length - 1, targets[readings.length - 1]];
    const { panel } = readings[last];
    if (whatIf && "preview" in panel) panel.preview(whatIf.pulledTo(target));
    for (const [at, { panel }] of readings.entries()) panel.mark(targets[at], stays);
    const isSource = target && target[0] !== "query" && choice.chosen().kind !== "causal";
    whatIf?.words.mark(isSource ? (target[2] ?? target[1]) : null);
    if (!targets.some(Boolean)) return tell(this.told, ...this.hints());
    const sentences = readings.map(({ panel, isOff }, at) => {
      const [one, isLocked] = [targets[at], stays && at === last && locked === choice.locked()];
      if (one && isOff) return ["ablated: no weight is left.", lockNote(isLocked)];
      return one ? panel.says(one, isLocked) : ["it has no such place."];
    });
    if (sentences.length === 1) return tell(this.told, ...sentences[0]);
    const names = choice.names();
    const named = sentences.map((text, at) => make("div", {}, make("strong", {}, `${names[at]}: `), ...text));
    return tell(this.told, ...named);
  }

  /** While nothing is pointed at: what the text below a small map means, and what to do next. Of an ablated head, what
   * its role was.
   * @returns {Child[]}
   */
  hints() {
    const { map, show, layer, head, overlay } = this.choice.chosen();
    if (overlay.length && this.choice.zoom() === "heads") return [make("span", { class: "faint" }, MORE_HEADS())];
    const role = (show === "head" && !overlay.length && map.roles?.[layer][head]) || "";
    if (this.readings.at(-1)?.isOff) {
      const heads = show === "head" ? "This head is" : "These heads are";
      const former = role && ` Its role was ${unbroken(role)}.`;
      return [`${heads} ablated now: all weights are 0, so nothing is passed on.${former}`];
    }
    const meaning = meaningOf(role);
    return [...(meaning ? [`${meaning}. `] : []), hint(this.choice.levels())];
  }

  // ---- One cell -----------------------------------------------------------------------------------------------------

  drawCell() {
    const { choice, root, node } = this;
    const { answer } = choice;
    const { map, layer, head } = choice.chosen();
    const say = (/** @type {Child[]} */ words) => {
      this.echo.waits = false;
      tell(this.said, `${map.kind} attention, layer ${layer}, head ${head}: the arithmetic of one cell.`);
      tell(this.told, ...words);
    };
    if (!answer || !isSame(answer.asked, { kind: map.kind, layer, head }))
      return this.waitForCell("The vectors of this head are being computed.");
    if (answer.problem) return this.waitForCell(answer.problem, false);
    const [row, column] = choice.cellOfZoom();
    const room = roomIn(root);
    const key = [row, column, room].join();
    if (this.cell?.key === key && this.cell.answer === answer) return say(this.cell.says);
    const hadFocus = node.contains(focusIn(root));
    const edited = this.whatIf?.editOf(row, column) ?? "";
    const lock = (/** @type {Cell} */ cell) => choice.pick({ locked: ["pair", ...cell] });
    const cell = { key, answer, ...cellArithmetic(answer, { row, column, room, edited, lock }) };
    this.cell = cell;
    node.replaceChildren(cell.node);
    this.stand(node);
    this.foot.replaceChildren(cell.legend);
    if (hadFocus) cell.focus();
    say(cell.says);
    return this.echo.answer(this.told, [/** @type {Node} */ (this.told.lastChild).cloneNode(true)]);
  }

  /** @param {string} text @param {boolean} isOpen whether there will be an answer */
  waitForCell(text, isOpen = true) {
    const hadFocus = this.node.contains(focusIn(this.root));
    const node = make("p", { class: "faint", tabindex: -1 }, text); // it gets the focus: the keys still reach the view
    this.cell = null;
    this.waiting = node;
    this.node.replaceChildren(node);
    this.stand(this.node);
    if (hadFocus) node.focus();
    this.echo.waits = isOpen;
  }

  // ---- Focus and zoom -----------------------------------------------------------------------------------------------

  /** Which part has the focus of the keyboard: "overview", the number of a part of the stage, or null. */
  focus() {
    const { panels, overview } = this;
    const active = focusIn(this.root);
    if (!active || !panels.contains(active)) return null;
    if (overview?.node.contains(active)) return "overview";
    return `${Math.max(0, [...panels.querySelectorAll(".stage [tabindex]")].indexOf(active))}`;
  }

  /**
   * @param {string} focus
   * @param {{ level: Level, place: Place }} drawn
   */
  refocus(focus, { level, place }) {
    const { overview, readings } = this;
    const at = Number(focus) || 0; // each reading has two parts
    if (level === "cell") (this.cell ?? this.waiting)?.focus();
    else if (level === "heads" && focus === "overview") overview?.focus(place.kind);
    else if (readings.length > 1) readings[at > 1 ? 1 : 0].panel.focus(at % 2);
    else readings[0].panel.focus(Math.min(at, 1));
  }

  /** @param {Place} place */
  smallMap({ kind, layer, head }) {
    return this.overview?.canvasOf(kind, layer, head);
  }

  /** Where the parts stand that a zoom begins with.
   * @param {{ level: Level, place: Place }} drawn
   */
  boxes({ level, place }) {
    const map = this.node.querySelector(".map .body");
    const parts = {
      heads: this.smallMap(place),
      head: this.node.querySelector(".frame.strong") ?? map,
      cell: this.cell?.node ?? this.waiting,
    };
    const [small, large] = [parts[level], map ?? parts[level]];
    return { from: level, small: small?.getBoundingClientRect(), large: large?.getBoundingClientRect() };
  }

  /** The small map grows to the large one, a cell to its arithmetic, and back.
   * @param {ReturnType<Stage["boxes"]>} before
   * @param {{ level: Level, place: Place }} drawn
   */
  zoomFrom({ from, small, large }, { level, place }) {
    const map = this.node.querySelector(".map .body")?.closest(".scrolls");
    if (level === "heads") grow(this.smallMap(place), large);
    else if (level === "cell") grow(this.node.firstElementChild, small);
    else grow(map, from === "heads" ? small : large);
  }
}

/** A node moves from a box to its own place in 300 ms; not where reduced motion is asked for.
 * @param {Element | null | undefined} node
 * @param {DOMRect | undefined} from
 */
function grow(node, from) {
  const to = node?.getBoundingClientRect();
  if (!node || !from?.width || !to?.width || window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const scale = `scale(${from.width / to.width}, ${from.height / to.height})`;
  const start = `translate(${from.left - to.left}px, ${from.top - to.top}px) ${scale}`;
  node.animate(
    [
      { transformOrigin: "0 0", transform: start, opacity: 0.4 },
      { transformOrigin: "0 0", transform: "none", opacity: 1 },
    ],
    { duration: 300, easing: "ease-out" },
  );
}

// ---- Two readings ---------------------------------------------------------------------------------------------------

/** A function that gives the place of a target in the map of another reading, or null.
 * @param {MapData} from
 * @param {MapData} into
 * @returns {Move}
 */
function moving(from, into) {
  if (from === into) return (target) => target;
  const [rows, columns] = [partners(from.queries, into.queries), partners(from.keys, into.keys)];
  return (target) => {
    if (!target) return null;
    const row = target[0] === "key" ? 0 : rows[target[1]];
    const column = target[0] === "query" ? 0 : columns[target[0] === "key" ? target[1] : target[2]];
    if (row === null || column === null) return null;
    if (target[0] === "pair") return ["pair", row, column];
    return target[0] === "query" ? ["query", row] : ["key", column];
  };
}

/** The weights of the heads that are compared, in one reading.
 * @param {MapData} map
 * @param {Chosen} now
 */
const headsIn = (map, now) =>
  now.overlay.map(([layer, head]) => ({
    name: `${layer}.${head}`,
    role: now.map.roles?.[layer][head] ?? "",
    weights: weightsOf(map, "head", layer, head),
  }));

/** One of two readings: its name, its sentence with the words marked that the other one lacks, and its panel.
 * @param {string} name
 * @param {Result} mine
 * @param {Result} its
 * @param {AnyKind} kind
 * @param {Node[]} nodes
 * @param {Layers} layers
 */
function besideOther(name, mine, its, kind, nodes, layers) {
  /** @type {(texts: string[], others: string[], glue: string) => HTMLElement} */
  const marked = (texts, others, glue) => {
    const isNew = differences(others, texts)[1];
    const spans = texts.map((text, i) => make("span", { class: isNew[i] ? "piece new" : null }, text));
    return make("bdi", {}, ...spans.flatMap((span, i) => [i ? glue : "", span]));
  };
  const source = marked(mine.source, its.source, " ");
  const target = marked(mine.pieces, its.pieces, "");
  const sentence = kind === "encoder" ? [source] : kind === "causal" ? [target] : [source, " → ", target];
  const edits = sameQuestion(mine.edits, its.edits)
    ? ""
    : ` (${editsInWords(mine.edits, layers).join("; ") || "attention as it is"})`;
  return make(
    "div",
    { class: "reading", role: "group", "aria-label": name },
    make("p", {}, make("strong", {}, `${name}: `), ...sentence, make("span", { class: "faint" }, edits)),
    make("div", { class: "parts" }, ...nodes),
  );
}

/** Whether what is drawn is ablated: no weight is left.
 * @param {Numbers} weights
 * @param {Edit[]} edits
 */
export const isAblated = (weights, edits) =>
  edits.some(([what]) => what === "ablate") && weights.every((/** @type {number} */ weight) => weight === 0);

// ---- In words -------------------------------------------------------------------------------------------------------

/**
 * @param {Show} show
 * @param {number} layer
 * @param {number} head
 */
export const titleOf = (show, layer, head) =>
  ({ head: `layer ${layer}, head ${head}`, layer: `mean of layer ${layer}`, all: SHOWS.all, rollout: SHOWS.rollout })[
    show
  ];

/** What the texts below small maps mean: see `role_shares` in seqlearn/analysis/roles.py.
 * @param {MapData[]} maps
 * @returns {[name: string, meaning: string][]}
 */
function rolesInWords(maps) {
  const meanings = maps.flatMap((map) => map.roles?.flat() ?? []).map(meaningOf);
  return [...new Set(meanings)].flatMap((text) => (text ? [[text, ""]] : []));
}

/** @param {string} role */
const meaningOf = (role) => ROLES.find(([name]) => role.includes(name))?.[1];

const NOUN_OF_IT = "noun of it: how often “it” looks more at its noun than at others before it";
/** The first part that a role has says what it means.
 * @type {[part: string, text: string][]} */
const ROLES = [
  [
    "AER",
    "AER, the alignment error rate, when each word is linked to the word it looks at most: 0 is best, 1 is worst",
  ],
  ["(because)", `${NOUN_OF_IT}, in sentences with “because”`],
  ["(object)", `${NOUN_OF_IT}, in sentences with an object “it”`],
  ["noun of it", NOUN_OF_IT],
  ["article's noun", "article's noun: how often an article looks most at its noun"],
];

const MORE_HEADS = () =>
  `Press more small maps${byFinger() ? "." : "; by keys, arrows go past and Enter adds a head."}`;

/** @param {Level[]} levels */
function hint(levels) {
  const keeps = levels.length > 1 ? "keeps it. A second Enter or a double click goes in, Escape goes back" : "keeps it";
  return pointHint("a token, a line or a cell", "read its weights", { enter: keeps });
}
