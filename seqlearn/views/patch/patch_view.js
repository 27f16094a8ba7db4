// PatchView: two sentences, maps of how far each vector of the second would move a decision of the first, and what
// becomes of the translation when some of these vectors are used. Python computes, or the model in the page.

import { BLUE_RED } from "../shared/colours.js";
import { ageing, chance, differences, fresh, sameQuestion, whyNot } from "../shared/changes.js";
import { frameSign, layOut, legendOf, make, number, pointHint, roomIn, tell, token } from "../shared/elements.js";
import { heatMap } from "../shared/heatmap.js";
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

/** @type {Side[]} */
const SIDES = ["encoder", "decoder"];
const CELL = { width: 34, height: 18 };
const NUMBER_FROM = 0.05; // smaller numbers are not written: the colour says enough

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
    this.boxes = ["sentence", "other sentence"].map((label) => this.boxOf(label));
    this.form = this.formOf();
    this.lines = make("div", { class: "readings" });
    this.question = make("p", { class: "asked" });
    this.panels = make("div", { class: "panels side" });
    this.said = make("div");
    /** @type {{ side: Side, map: HeatMap }[]} */
    this.maps = [];
    this.shown = ""; // the question whose maps are drawn
    const clear = { type: "button", onclick: () => change(model, { patches: [] }), disabled: !data.live };
    this.clear = make("button", clear, "Remove all patches");
    layOut(root, "patch vectors of another sentence", {
      controls: { sentences: [this.form], patches: [this.clear] },
      intro: [this.note, this.lines, this.question],
      panels: this.panels,
      legend: legendOf(
        [frameSign(true), "patched: this vector comes from the other sentence"],
        [null, "1: alone it moves the decision all the way, 0: not at all"],
      ),
      says: [this.said],
    });
    this.age = ageing(this.lines, this.question, this.panels);
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
    return make("form", { class: "twins", onsubmit: submit }, ...boxes, compare);
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
    const result = this.model.get("result");
    const { model } = this;
    const asked = ["sentence", "other", "patches", "decision"].map((name) =>
      model.get(/** @type {"sentence"} */ (name)),
    );
    const isWaiting = !sameQuestion(result.asked, asked);
    const isWrong = !isWaiting && Boolean(result.problem);
    this.age(isWaiting || isWrong, isWrong);
    this.note.classList.toggle("wrong", isWrong);
    for (const box of this.boxes) box.setAttribute("aria-invalid", `${isWrong}`);
    this.tellNote(result, isWaiting, isWrong);
    this.drawLines(result);
    const question = JSON.stringify([...result.source, ...result.twin, ...result.words, result.decision]);
    if (this.shown !== question) this.drawMaps(result);
    this.shown = question;
    const patches = model.get("patches");
    this.clear.setAttribute("aria-disabled", `${!patches.length}`);
    for (const { side, map } of this.maps) map.mark(this.marksOf(side, patches));
    this.explain(null);
  }

  /** @param {Result} result @param {boolean} isWaiting @param {boolean} isWrong */
  tellNote({ problem }, isWaiting, isWrong) {
    if (isWaiting) tell(this.note, `There is no answer yet: ${whyNot()}. Below is the former one.`);
    else if (isWrong) tell(this.note, `${problem} Below is the former answer.`);
    else if (!this.data.live) tell(this.note, "Other sentences and patches need Python: run the notebook.");
    else tell(this.note, "A click on a cell of a map takes its vector from the other sentence, or gives it back.");
  }

  /** The three readings, each with the probabilities of the two words.
   * @param {Result} result */
  drawLines({ pieces, decisions, decision, words, probs, asked }) {
    const count = /** @type {Patch[]} */ (asked[2]).length;
    const names = ["as it is", "other sentence", `with ${count === 1 ? "1 patch" : `${count} patches`}`];
    const lines = names.flatMap((name, i) => {
      const text = i ? this.marked(pieces[i], pieces[0]) : this.tokensOf(pieces[0], decisions, decision);
      const chances = words.flatMap((word, j) => [j ? " · " : "", token(word), ` ${chance(probs[i][j])}`]);
      const now = i === 2 ? " now" : "";
      text.className = now;
      return [
        make("span", { class: `faint${now}` }, name),
        text,
        make("span", { class: `certainty${now}` }, ...chances),
      ];
    });
    this.lines.replaceChildren(...lines);
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
    tell(this.question, "How far does each vector, alone, move “", token(own), "” to “", token(theirs), "”?");
    const room = roomIn(this.root);
    this.maps = SIDES.map((side) => ({ side, map: this.mapOf(side, result, room) }));
    this.panels.replaceChildren(...this.maps.map(({ map }) => map.node));
  }

  /** @param {Side} side @param {Result} result @param {number} room */
  mapOf(side, { maps }, room) {
    const { tokens, moved } = maps[side];
    const labels = 110;
    const width = Math.max(12, Math.min(CELL.width, Math.floor((room - labels - 40) / tokens.length)));
    const map = heatMap({
      title: side,
      rows: this.data.places[side].map(([, words]) => words),
      columns: tokens,
      ramp: BLUE_RED,
      most: Number.POSITIVE_INFINITY,
      word: (value) => (Math.abs(value) < NUMBER_FROM ? "" : value.toFixed(2).replace("-", "−")),
      width,
      height: CELL.height,
      room,
      enters: this.data.live ? "Enter patches" : "Enter locks",
      point: (cell) => this.explain(cell && { side, ...cell }),
      lock: (cell) => cell && this.toggle(side, cell),
    });
    map.show(Float32Array.from(moved.flat()), [-1, 1]);
    return map;
  }

  /** @param {Side} side @param {Patch[]} patches */
  marksOf(side, patches) {
    const places = this.data.places[side].map(([place]) => place);
    return patches
      .map(([place, column]) => ({ row: places.indexOf(place), column, strong: true }))
      .filter(({ row }) => row >= 0);
  }

  /** Patches a vector, or no longer.
   * @param {Side} side @param {Cell} cell */
  toggle(side, { row, column }) {
    if (!this.data.live) return;
    /** @type {Patch} */
    const patch = [this.data.places[side][row][0], column];
    const patches = this.model.get("patches");
    const others = patches.filter((one) => !sameQuestion(one, patch));
    change(this.model, { patches: others.length < patches.length ? others : [...patches, patch] });
    this.draw();
  }

  /** What is pointed at, in words.
   * @param {Cell & { side: Side } | null} cell */
  explain(cell) {
    if (!cell) {
      const purpose = this.data.live ? "see what it moves" : "read it";
      const enter = this.data.live ? "patches it" : null;
      return tell(this.said, pointHint("a cell of a map", purpose, { enter }));
    }
    const { maps, words } = this.model.get("result");
    const { tokens, moved } = maps[cell.side];
    const [place, name] = this.data.places[cell.side][cell.row];
    const isPatched = this.model.get("patches").some((one) => sameQuestion(one, [place, cell.column]));
    const share = moved[cell.row][cell.column];
    return tell(
      this.said,
      `${name} of the ${cell.side}, row “`,
      token(tokens[cell.column]),
      `”: this vector alone moves the decision by ${number(share)} of the way from “`,
      token(words[0]),
      "” to “",
      token(words[1]),
      isPatched ? "”. It is patched." : "”.",
    );
  }
}
