// PatchView: two sentences, A and B, maps of how far each vector of B would move a decision of A, and what becomes of A
// when some of these vectors are used. Python computes, or the model in the page.

import { isSame, isWaiting, questionOf } from "../shared/asking.js";
import { BLUE_RED } from "../shared/colours.js";
import { ageing, chance, differences, fresh, sameQuestion, whyNot } from "../shared/changes.js";
import {
  byFinger,
  focusIn,
  frameSign,
  inPixels,
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
import { CHANGES } from "../shared/switches.js";

/** @import { Echo } from "../shared/echo.js" */
/** @import { HeatMap } from "../shared/heatmap.js" */
/** @import { Cell, Child, Model, Traits } from "../shared/types.js" */
/** @import { Patched } from "../live/translator.js" */

/** @typedef {"encoder" | "decoder"} Side */
/** @typedef {[place: string, row: number]} Patch */
/** @typedef {{ live: boolean, places: Record<Side, [place: string, words: string][]> }} Data */
/** @typedef {Patched & { asked: Question }} Result */
/** @typedef {{ sentence: string, other: string, patches: Patch[], decision: number | null }} Question */
/** @typedef {Traits & Question & { result: Result, data: Data }} PatchTraits */
/** @typedef {Cell & { side: Side }} Pointed */

/** @type {Side[]} */
const SIDES = ["encoder", "decoder"];
const CELL = { width: 34, height: 24 };
const LEAST = { beside: 24, finger: 24, mouse: 12 }; // pixels: the width of a cell; of a mouse, only in a narrow window
const GAP = 24; // pixels between the maps
const NUMBER_FROM = 0.05; // smaller numbers are not written: the colour says enough
const LEAST_P = 1e-45; // as a float of 32 bits
const READERS = { encoder: "the decoder reads", decoder: "the scores come from" }; // the last vector
const NEAR = "200px"; // above and below the screen
const PATIENCE = 300; // milliseconds: an answer that comes sooner is not waited for

/**
 * @param {Model<PatchTraits>} model
 * @param {HTMLElement} root
 * @param {Data} data
 * @param {Echo} echo
 */
export function build(model, root, data, echo) {
  const view = new PatchStage(model, root, data, echo);
  const redraw = () => view.draw();
  return {
    sentence: () => view.retype(),
    other: () => view.retype(),
    decision: redraw,
    patches: () => view.follow(),
    result: redraw,
    resized: () => view.rebuild(),
  };
}

class PatchStage {
  /** @param {Model<PatchTraits>} model @param {HTMLElement} root @param {Data} data @param {Echo} echo */
  constructor(model, root, data, echo) {
    this.model = model;
    this.root = root;
    this.data = data;
    this.echo = echo;
    this.note = make("div", { class: "note", id: `${fresh()}note`, "aria-live": "polite" });
    this.boxes = ["sentence A", "sentence B"].map((label) => this.boxOf(label));
    this.lines = make("div", { class: "readings" });
    this.question = make("p", { class: "asked" });
    this.now = make("div", { class: "readings patched" });
    this.panels = make("div", { class: "panels side" });
    this.said = make("div");
    /** @type {{ side: Side, map: HeatMap }[]} */
    this.maps = [];
    this.shown = ""; // the question whose maps are drawn
    /** @type {Result | null} */
    this.answered = null; // what the echo has said
    /** @type {Pointed | null} */
    this.pointed = null;
    /** @type {Patch[]} */
    this.chosen = model.get("patches"); // by a press on a map
    this.first = this.chosen;
    /** @type {Pointed | null} */
    this.latest = null; // what was patched last since the view was drawn, and is answered
    this.timer = 0;
    const clear = { type: "button", onclick: () => change(model, { patches: [] }), disabled: !data.live };
    this.clear = make("button", clear, "Remove all");
    const sign = frameSign(true);
    sign.classList.add("moved");
    layOut(root, "patch vectors of another sentence", {
      controls: { sentences: [this.formOf()] },
      intro: [this.lines],
      panels: make("div", {}, make("div", { class: "question" }, this.question, this.clear), this.panels),
      legend: legendOf(
        [sign, "patched: this vector comes from B"],
        [signOf("turns"), "changes the word: with this vector alone, that of B is likelier"],
        [null, "red: toward the word of B, 1 is all the way; blue: away from it"],
        [null, "rows: all that is known so far (the residual stream), then each head"],
        [null, "in the decoder, causal heads look at French, cross heads at English"],
      ),
      says: [this.now, this.said],
      above: true,
    });
    this.age = ageing(this.lines, this.question, this.panels);
    this.ageNow = ageing(this.now);
    if (data.live && window.live) this.warm();
  }

  /** The model in the page reads both sentences when the maps come near the screen, before the first press. */
  warm() {
    const near = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        near.disconnect();
        window.live?.ask("patched", /** @type {Question} */ (questionOf(this.model)), this);
      },
      { rootMargin: NEAR },
    );
    near.observe(this.panels);
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
    return make("form", { class: "twins", onsubmit: submit }, ...labelled, compare, this.note);
  }

  retype() {
    const { model, boxes } = this;
    for (const [i, name] of /** @type {const} */ (["sentence", "other"]).entries()) {
      const text = model.get(name);
      if (boxes[i].value !== text) boxes[i].value = text;
    }
    this.draw();
  }

  /** Other patches: if they come from elsewhere, nothing is pointed at, and the last of them is told. */
  follow() {
    if (!sameQuestion(this.model.get("patches"), this.chosen)) this.pointed = null;
    this.draw();
  }

  rebuild() {
    this.shown = "";
    this.draw();
  }

  draw() {
    const { model } = this;
    const result = model.get("result");
    const waits = isWaiting(model);
    const isWrong = !waits && Boolean(result.problem);
    const decision = model.get("decision") ?? result.decisions.at(-1); // the maps are about it
    const question = { ...questionOf(model), patches: null, decision };
    const isOther = !isSame({ ...result.asked, patches: null, decision: result.decision }, question);
    this.age(isWrong || isOther, isWrong);
    this.ageNow(waits || isWrong, isWrong);
    this.echo.waits = waits;
    this.note.classList.toggle("wrong", isWrong);
    for (const box of this.boxes) box.setAttribute("aria-invalid", `${isWrong}`);
    this.tellNote(result, waits, isWrong);
    this.drawLines(result);
    const shown = JSON.stringify([...result.source, ...result.twin, ...result.words, result.decision]);
    if (this.shown !== shown) this.drawMaps(result);
    this.shown = shown;
    this.clear.setAttribute("aria-disabled", `${!model.get("patches").length}`);
    this.mark(isWrong ? result.patches : model.get("patches"));
    if (waits) return; // what a finger has tapped is told with the answer
    this.latest = sameQuestion(model.get("patches"), this.first) ? null : this.lastPatched();
    this.explain();
    if (this.answered !== result) this.repeat(isWrong ? result.problem : "");
    this.answered = result;
  }

  /** Says the answer, or what is wrong, beside the press, where the place that says so is off the screen.
   * @param {string} problem */
  repeat(problem) {
    if (problem) return this.echo.answer(this.note, [problem]);
    const blocks = this.pointed && this.panels.contains(this.echo.pressed) ? [this.now, this.said] : [this.now];
    return this.echo.answer(
      this.now.parentElement,
      blocks.map((block) => block.cloneNode(true)),
    );
  }

  /** @param {Result} result @param {boolean} waits @param {boolean} isWrong */
  tellNote({ problem }, waits, isWrong) {
    clearTimeout(this.timer);
    const late = () => tell(this.note, `There is no answer yet: ${whyNot()}. Below is the former one.`);
    if (waits) this.timer = setTimeout(late, PATIENCE);
    else if (isWrong) tell(this.note, `${problem} Below is the former answer.`);
    else if (!this.data.live) tell(this.note, "Other sentences and patches need Python: run the notebook.");
    else
      tell(
        this.note,
        `Each button is a word where A and B part. ${byFinger() ? "Tap" : "Click"} a cell: A is read with ` +
          "this vector of B.",
      );
  }

  /** A and B, and A with the patches, each with the probabilities of the two words.
   * @param {Result} result */
  drawLines({ pieces, decisions, decision, words, probs, patches }) {
    const buttons = () => [...this.lines.querySelectorAll("button")];
    const focused = buttons().indexOf(/** @type {HTMLButtonElement} */ (focusIn(this.root)));
    const line = (/** @type {string} */ name, /** @type {HTMLElement} */ text, /** @type {number} */ i) => [
      make("span", { class: "whose" }, name),
      make(
        "span",
        { class: "certainty" },
        ...words.flatMap((word, j) => [j ? " · " : "", make("span", {}, token(word), ` ${chance(probs[i][j])}`)]),
      ),
      text,
    ];
    const [a, b, now] = pieces;
    const rows = [line("A", this.tokensOf(a, decisions, decision), 0), line("B", this.marked(b, a), 1)];
    this.lines.replaceChildren(...rows.flat());
    const count = patches.length === 1 ? "1 vector" : `${patches.length} vectors`;
    this.now.replaceChildren(...line(`A with ${count} of B`, this.marked(now, a), 2));
    for (const [i, name] of ["--odds", "--words"].entries()) {
      const tall = Math.max(...rows.map((row) => row[i + 1].offsetHeight)); // as much room as A and B take
      this.now.style.setProperty(name, `${tall}px`);
    }
    buttons()[focused]?.focus({ focusVisible: true });
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
    const shares = SIDES.flatMap((side) => result.maps[side].moved.flat());
    const count = shares.filter((share) => share > turnOf(result)).length;
    const words = ["How far does each vector of B, alone, move “", token(own), "” to “", token(theirs), "”? "];
    const sum = ` ${count || "None"} of ${shares.length} ${count === 1 ? "changes" : "change"} the word.`;
    tell(this.question, ...words, make("span", { class: "faint" }, count ? signOf() : "", sum.slice(count ? 0 : 1)));
    const width = this.widthIn(roomIn(this.root), result);
    const { pointed } = this;
    const focused = this.maps.findIndex(({ map }) => map.node.contains(focusIn(this.root)));
    this.pointed = null;
    this.maps = SIDES.map((side) => ({ side, map: this.mapOf(side, result, width, pointed) }));
    this.panels.replaceChildren(...this.maps.map(({ map }) => map.node));
    this.maps[focused]?.map.focus(); // on the cell where the arrow keys were
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

  /** @param {Side} side @param {Result} result @param {number} width @param {Pointed | null} pointed */
  mapOf(side, result, width, pointed) {
    const { tokens, moved } = result.maps[side];
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
      start: pointed?.side === side ? pointed : null,
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
    const signs = moved.flatMap((row, i) =>
      row.flatMap((share, j) => {
        if (share <= turnOf(result)) return [];
        const sign = signOf("turns");
        Object.assign(sign.style, inPixels({ left: (j + 1) * width, top: i * CELL.height }));
        return [sign];
      }),
    );
    const kinds = this.data.places[side].map(([place]) => place.split(" ").slice(0, -1).join()); // empty: of no head
    const gaps = kinds.flatMap((kind, i) => (i && kind !== kinds[i - 1] ? [gapAbove(i)] : []));
    map.node.querySelector(".body canvas")?.after(...gaps);
    map.node.querySelector(".body")?.append(make("div", { class: "marks", "aria-hidden": "true" }, ...signs));
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
    this.chosen = others.length < patches.length ? others : [...patches, patch];
    change(this.model, { patches: this.chosen });
    return this.draw();
  }

  /** The cell that was patched last, or null. */
  lastPatched() {
    const patch = this.model.get("patches").at(-1);
    /** @type {(side: Side) => Pointed[]} */
    const at = (side) =>
      this.data.places[side].flatMap(([place], row) => (place === patch?.[0] ? [{ side, row, column: patch[1] }] : []));
    return SIDES.flatMap(at)[0] ?? null;
  }

  /** What is pointed at, or was patched last, in words. */
  explain() {
    const pointed = this.pointed ?? this.latest;
    if (!pointed) {
      const purpose = this.data.live ? "see what it moves" : "read it";
      const enter = this.data.live ? "patches it" : null;
      return tell(this.said, pointHint("a cell of a map", purpose, { enter }));
    }
    const result = this.model.get("result");
    const { tokens, moved } = result.maps[pointed.side];
    const [place, name] = this.data.places[pointed.side][pointed.row];
    const patches = this.model.get("patches");
    const isPatched = patches.some((one) => sameQuestion(one, [place, pointed.column]));
    const [count, now] = [result.patches.length, result.probs[2][1]];
    const isAmongSeveral = isPatched && count > 1;
    const share = moved[pointed.row][pointed.column];
    const isTurning = share > turnOf(result);
    const [own, theirs] = result.words;
    return tell(
      this.said,
      `${placeText(pointed.side, name)}, at “`,
      token(tokens[pointed.column]),
      isPatched ? "”, now comes from B" : "”",
      make(
        "span",
        { class: "moves-by" },
        `: ${meaningOf(pointed.side, name)} This vector alone moves the scores (logits) ${percent(share)} of the way `,
        `${share < 0 ? "away from" : "toward"} “`,
        token(theirs),
        ...(isAmongSeveral
          ? [`”. The ${count} vectors together give “`, token(theirs), `” ${chance(now)}.`]
          : isTurning
            ? ["”; ", signOf(), " the word changes."]
            : ["”; “", token(own), "” stays likelier."]),
      ),
    );
  }
}

/** The share of the way from which on the word of B is likelier than that of A.
 * @param {Result} result */
function turnOf({ probs }) {
  const [from, to] = probs.map(([own, theirs]) => Math.log(Math.max(theirs, LEAST_P) / Math.max(own, LEAST_P)));
  return -from / (to - from);
}

/** The sign that a word changes, as on the heads of a TranslatorView.
 * @param {string} name */
const signOf = (name = "sign") => make("span", { class: name, "aria-hidden": "true" }, CHANGES);

/** What parts the rows of one kind from those of the next.
 * @param {number} row */
function gapAbove(row) {
  const node = make("div", { class: "parting", "aria-hidden": "true" });
  Object.assign(node.style, inPixels({ top: row * CELL.height }));
  return node;
}

/** A place in a sentence: a head has the name that it has in other views, such as encoder 1.3.
 * @param {Side} side
 * @param {string} name */
function placeText(side, name) {
  const isHead = /\d\.\d/.test(name);
  const text = isHead ? name.replace("head", side) : `${name} of the ${side}`;
  return text[0].toUpperCase() + text.slice(1);
}

/** What the vector at a place is.
 * @param {Side} side
 * @param {string} name
 */
function meaningOf(side, name) {
  if (name === "embedding") return "the word and its position, before it has met another word.";
  if (name === "after the norm") return `the last vector, brought to a common size; ${READERS[side]} it.`;
  return name.startsWith("after") ? "all that is known here so far." : "what this head has gathered from other words.";
}

/** @param {number} share */
function percent(share) {
  const size = Math.round(100 * Math.abs(share));
  return size ? `${size} %` : "less than 1 %";
}
