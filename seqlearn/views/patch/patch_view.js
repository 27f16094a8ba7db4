// PatchView: two sentences, A and B, maps of how far each vector of B would move a decision of A, and what becomes of A
// when some of these vectors are used. Python computes, or the model in the page.

import { BLUE_RED } from "../shared/colours.js";
import { ageing, chance, differences, fresh, sameQuestion, whyNot } from "../shared/changes.js";
import {
  byFinger,
  focusIn,
  frameSign,
  layOut,
  legendOf,
  make,
  pointHint,
  roomIn,
  tell,
  token,
} from "../shared/elements.js";
import { heatMap, longestOf } from "../shared/heatmap.js";
import { change } from "../shared/life.js";

/** @import { HeatMap } from "../shared/heatmap.js" */
/** @import { Cell, Child, Model, Traits } from "../shared/types.js" */
/** @import { Patched } from "../live/translator.js" */

/** @typedef {"encoder" | "decoder"} Side */
/** @typedef {[place: string, row: number]} Patch */
/** @typedef {{ live: boolean, places: Record<Side, [place: string, words: string][]> }} Data */
/** @typedef {Patched & { asked: unknown[] }} Result */
/** @typedef {Traits & { sentence: string, other: string, patches: Patch[], decision: number | null, result: Result,
 *   data: Data }} PatchTraits */
/** @typedef {Cell & { side: Side }} Pointed */

/** @type {Side[]} */
const SIDES = ["encoder", "decoder"];
const CELL = { width: 34, height: 24 };
const LEAST = { beside: 24, finger: 24, mouse: 12 }; // pixels: the width of a cell; of a mouse, only in a narrow window
const GAP = 24; // pixels between the maps
const NUMBER_FROM = 0.05; // smaller numbers are not written: the colour says enough
const PATIENCE = 300; // milliseconds: an answer that comes sooner is not waited for

/**
 * @param {Model<PatchTraits>} model
 * @param {HTMLElement} root
 * @param {Data} data
 */
export function build(model, root, data) {
  const view = new PatchStage(model, root, data);
  const redraw = () => view.draw();
  return {
    sentence: () => view.retype(),
    other: () => view.retype(),
    decision: redraw,
    patches: redraw,
    result: redraw,
    resized: () => view.rebuild(),
  };
}

class PatchStage {
  /** @param {Model<PatchTraits>} model @param {HTMLElement} root @param {Data} data */
  constructor(model, root, data) {
    this.model = model;
    this.root = root;
    this.data = data;
    this.note = make("div", { class: "note", id: `${fresh()}note`, "aria-live": "polite" });
    this.boxes = ["sentence A", "sentence B"].map((label) => this.boxOf(label));
    this.lines = make("div", { class: "readings" });
    this.question = make("p", { class: "asked" });
    this.panels = make("div", { class: "panels side" });
    this.said = make("div");
    /** @type {{ side: Side, map: HeatMap }[]} */
    this.maps = [];
    this.shown = ""; // the question whose maps are drawn
    /** @type {Pointed | null} */
    this.pointed = null;
    this.timer = 0;
    const clear = { type: "button", onclick: () => change(model, { patches: [] }), disabled: !data.live };
    this.clear = make("button", clear, "Remove all");
    this.now = make("div", { class: "readings" });
    this.bar = make("div", { class: "patched" }, this.now, this.clear);
    const sign = frameSign(true);
    sign.classList.add("moved");
    layOut(root, "patch vectors of another sentence", {
      controls: { sentences: [this.formOf()] },
      intro: [this.note, this.lines, this.bar, this.question],
      panels: this.panels,
      legend: legendOf(
        [sign, "patched: this vector comes from B"],
        [null, "red: toward the word of B, 1 is all the way; blue: away from it"],
        [null, "causal, cross: heads of the decoder that look at French, and at English"],
      ),
      says: [this.said],
      above: true,
    });
    this.age = ageing(this.lines, this.question, this.panels);
    this.ageNow = ageing(this.now);
  }

  /** @param {string} label */
  boxOf(label) {
    const readonly = !this.data.live;
    const more = { autocomplete: "off", spellcheck: "false", "aria-describedby": this.note.id };
    return make("input", { type: "text", "aria-label": label, readonly, ...more });
  }

  formOf() {
    const { model, boxes } = this;
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      const [sentence, other] = boxes.map((box) => box.value);
      change(model, { sentence, other, decision: null, patches: [] });
      this.draw();
    };
    const compare = make("button", { type: "submit", disabled: !this.data.live }, "Compare");
    const labelled = boxes.map((box, i) => make("label", { class: "twin" }, "AB"[i], box));
    return make("form", { class: "twins", onsubmit: submit }, ...labelled, compare);
  }

  retype() {
    const { model, boxes } = this;
    for (const [i, name] of /** @type {const} */ (["sentence", "other"]).entries()) {
      const text = model.get(name);
      if (boxes[i].value !== text) boxes[i].value = text;
    }
    this.draw();
  }

  rebuild() {
    this.shown = "";
    this.draw();
  }

  draw() {
    const { model } = this;
    const result = model.get("result");
    const [sentence, other, patches, decision] = /** @type {const} */ ([
      "sentence",
      "other",
      "patches",
      "decision",
    ]).map((name) => model.get(name));
    const isWaiting = !sameQuestion(result.asked, [sentence, other, patches, decision]);
    const isWrong = !isWaiting && Boolean(result.problem);
    const [mine, theirs, , step] = result.asked;
    this.age(isWrong || !sameQuestion([mine, theirs, step], [sentence, other, decision]), isWrong);
    this.ageNow(isWaiting || isWrong, isWrong);
    this.note.classList.toggle("wrong", isWrong);
    for (const box of this.boxes) box.setAttribute("aria-invalid", `${isWrong}`);
    this.tellNote(result, isWaiting, isWrong);
    this.drawLines(result);
    const question = JSON.stringify([...result.source, ...result.twin, ...result.words, result.decision]);
    if (this.shown !== question) this.drawMaps(result);
    this.shown = question;
    this.clear.setAttribute("aria-disabled", `${!model.get("patches").length}`);
    this.mark(isWrong ? result.patches : model.get("patches"));
    this.explain();
  }

  /** @param {Result} result @param {boolean} isWaiting @param {boolean} isWrong */
  tellNote({ problem }, isWaiting, isWrong) {
    clearTimeout(this.timer);
    const late = () => tell(this.note, `There is no answer yet: ${whyNot()}. Below is the former one.`);
    if (isWaiting) this.timer = setTimeout(late, PATIENCE);
    else if (isWrong) tell(this.note, `${problem} Below is the former answer.`);
    else if (!this.data.live) tell(this.note, "Other sentences and patches need Python: run the notebook.");
    else
      tell(
        this.note,
        "Each button is a word where A and B part. Click a cell: the model reads A with this vector of B.",
      );
  }

  /** A and B, and A with the patches, each with the probabilities of the two words.
   * @param {Result} result */
  drawLines({ pieces, decisions, decision, words, probs, patches }) {
    const hadFocus = this.lines.contains(focusIn(this.root));
    const line = (/** @type {string} */ name, /** @type {Node} */ text, /** @type {number} */ i) => [
      make("span", { class: "faint" }, name),
      make(
        "span",
        { class: "certainty" },
        ...words.flatMap((word, j) => [j ? " · " : "", token(word), ` ${chance(probs[i][j])}`]),
      ),
      text,
    ];
    const [a, b, now] = pieces;
    this.lines.replaceChildren(
      ...line("A", this.tokensOf(a, decisions, decision), 0),
      ...line("B", this.marked(b, a), 1),
    );
    const count = patches.length === 1 ? "1 vector" : `${patches.length} vectors`;
    this.now.replaceChildren(...line(`A with ${count} of B`, this.marked(now, a), 2));
    /** @type {HTMLElement | null} */
    const pressed = this.lines.querySelector("[aria-pressed=true]");
    if (hadFocus) pressed?.focus({ focusVisible: true });
  }

  /** A translation; the pieces that the own one does not have are marked.
   * @param {string[]} pieces @param {string[]} own */
  marked(pieces, own) {
    const [, isNew] = differences(own, pieces);
    /** @type {(piece: string, i: number) => Child[]} */
    const drawn = (piece, i) => {
      if (!isNew[i]) return [make("span", {}, piece)];
      return [/^\s/.test(piece) ? " " : "", make("span", { class: "piece new" }, piece.trim())];
    };
    return make("bdi", {}, ...pieces.flatMap(drawn));
  }

  /** The own translation, in which each decision is a button.
   * @param {string[]} pieces @param {number[]} decisions @param {number} decision */
  tokensOf(pieces, decisions, decision) {
    const parts = decisions.includes(pieces.length) ? [...pieces, " <eos>"] : pieces;
    /** @type {(piece: string, i: number) => Child[]} */
    const drawn = (piece, i) => {
      if (!decisions.includes(i)) return [make("span", {}, piece)];
      const text = piece.trim();
      const choose = () => change(this.model, { decision: i });
      const state = {
        "aria-pressed": `${i === decision}`,
        "aria-label": `decision: ${text}`,
        disabled: !this.data.live,
      };
      const button = make("button", { type: "button", class: "decision", onclick: choose, ...state }, text);
      return /^\s/.test(piece) ? [" ", button] : [button];
    };
    return make("bdi", {}, ...parts.flatMap(drawn));
  }

  // ---- Maps ---------------------------------------------------------------------------------------------------------

  /** @param {Result} result */
  drawMaps(result) {
    const [own, theirs] = result.words;
    tell(this.question, "How far does each vector of B, alone, move “", token(own), "” to “", token(theirs), "”?");
    const width = this.widthIn(roomIn(this.root), result);
    this.pointed = null;
    this.maps = SIDES.map((side) => ({ side, map: this.mapOf(side, result, width) }));
    this.panels.replaceChildren(...this.maps.map(({ map }) => map.node));
  }

  /** The width of a cell, the same in both maps: they stand beside each other if they can.
   * @param {number} room @param {Result} result */
  widthIn(room, { maps }) {
    const sides = SIDES.map((side) => {
      const { tokens } = maps[side];
      const names = longestOf(this.data.places[side].map(([, words]) => words)) + 28;
      return { count: tokens.length, names, labels: names + 0.6 * longestOf(tokens) };
    });
    const sum = (/** @type {number[]} */ list) => list.reduce((total, x) => total + x, 0);
    const free = room - GAP - sum(sides.map(({ labels }) => labels));
    const beside = Math.floor(free / sum(sides.map(({ count }) => count)));
    if (beside >= LEAST.beside) return Math.min(CELL.width, beside);
    const fitting = Math.min(...sides.map(({ count, names }) => Math.floor((room - names) / count)));
    return Math.max(byFinger() ? LEAST.finger : LEAST.mouse, Math.min(CELL.width, fitting));
  }

  /** @param {Side} side @param {Result} result @param {number} width */
  mapOf(side, { maps }, width) {
    const { tokens, moved } = maps[side];
    const rows = this.data.places[side].map(([, words]) => words);
    const map = heatMap({
      title: side,
      rows,
      columns: tokens,
      ramp: BLUE_RED,
      most: Number.POSITIVE_INFINITY,
      word: (value) => (Math.abs(value) < NUMBER_FROM ? "" : value.toFixed(2).replace("-", "−")),
      width,
      height: CELL.height,
      enters: this.data.live ? "Enter patches" : "Enter keeps",
      point: (cell) => {
        if (!cell && byFinger()) return; // what was tapped stays explained
        this.pointed = cell && { side, ...cell };
        this.mark(this.model.get("patches"));
        this.explain();
      },
      lock: (cell) => cell && this.toggle({ side, ...cell }),
    });
    map.show(Float32Array.from(moved.flat()), [-1, 1]);
    map.node.classList.add("moves");
    return map;
  }

  /** Frames around what is patched, and around what is pointed at.
   * @param {Patch[]} patches */
  mark(patches) {
    for (const { side, map } of this.maps) {
      const places = this.data.places[side].map(([place]) => place);
      const marks = patches
        .map(([place, column]) => ({ row: places.indexOf(place), column, strong: true }))
        .filter(({ row }) => row >= 0);
      const { pointed } = this;
      map.mark(pointed?.side === side ? [...marks, { row: pointed.row, column: pointed.column }] : marks);
    }
  }

  /** Patches a vector, or no longer.
   * @param {Pointed} cell */
  toggle(cell) {
    this.pointed = cell;
    if (!this.data.live) return this.explain();
    /** @type {Patch} */
    const patch = [this.data.places[cell.side][cell.row][0], cell.column];
    const patches = this.model.get("patches");
    const others = patches.filter((one) => !sameQuestion(one, patch));
    change(this.model, { patches: others.length < patches.length ? others : [...patches, patch] });
    return this.draw();
  }

  /** What is pointed at, in words. */
  explain() {
    const { pointed } = this;
    if (!pointed) {
      const purpose = this.data.live ? "see what it moves" : "read it";
      const enter = this.data.live ? "patches it" : null;
      return tell(this.said, pointHint("a cell of a map", purpose, { enter }));
    }
    const { maps, words } = this.model.get("result");
    const { tokens, moved } = maps[pointed.side];
    const [place, name] = this.data.places[pointed.side][pointed.row];
    const isPatched = this.model.get("patches").some((one) => sameQuestion(one, [place, pointed.column]));
    const share = moved[pointed.row][pointed.column];
    return tell(
      this.said,
      `${name[0].toUpperCase()}${name.slice(1)} of the ${pointed.side}, at “`,
      token(tokens[pointed.column]),
      `”: this vector alone moves the logits ${percent(share)} of the way ${share < 0 ? "away from" : "toward"} “`,
      token(words[1]),
      isPatched ? "”. It is patched." : "”.",
    );
  }
}

/** @param {number} share */
function percent(share) {
  const size = Math.round(100 * Math.abs(share));
  return size ? `${size} %` : "less than 1 %";
}
