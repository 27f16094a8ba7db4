// What a press has changed, said beside the press where the place that says so is off the screen.

import { inPixels, make, tell } from "./elements.js";

/** @import { Child } from "./types.js" */

/** low: the echo is rather below, as above a drawing are the names of its columns.
 * @typedef {Pick<DOMRect, "left" | "top" | "bottom"> & { low?: boolean }} Place */

const [GAP, WIDEST] = [6, 440]; // pixels
const SETTLED = 100; // milliseconds after a press: it may end in a click, which also has an answer
const PARTS = ".candidates, .board, .chips, .ranking"; // the echo covers none of the other buttons of a part
const [DRAWN, FINGER] = ["[role='application'], [role='tree']", 24]; // of a drawing only the spot is a place
const READ = `${DRAWN}, [role='option']`; // whoever presses these wants to read

export class Echo {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.node = make("div", { class: "echo", role: "status", hidden: true });
    /** @type {(() => Place) | null} */
    this.place = null; // of the last press, below the top left corner of the root
    /** @type {Element | null} */
    this.pressed = null; // until something answers
    /** @type {IntersectionObserver | null} */
    this.sight = null;
    /** @type {Child[]} */
    this.words = [];
    /** @type {DOMRectReadOnly | null} */
    this.seen = null; // what is visible of the root, while the echo is shown
    this.held = false; // a pointer or a key is down: what it drags is answered again and again
    this.answered = false; // meanwhile
    this.waits = false;
    const release = () => {
      this.held = false;
      const { place } = this;
      setTimeout(() => this.answered && this.place === place && this.done(), SETTLED);
    };
    const press = (/** @type {Event} */ event) => this.press(event);
    const point = (/** @type {PointerEvent} */ event) => {
      // A finger comes into being above a node, and that may already change what the view says.
      const isTouch = event.pointerType === "touch";
      if (event.type === (isTouch ? "pointerover" : "pointerdown")) this.press(event);
    };
    for (const name of /** @type {const} */ (["pointerover", "pointerdown"])) {
      root.addEventListener(name, point, { capture: true });
    }
    for (const name of ["keydown", "click", "change"]) root.addEventListener(name, press, { capture: true });
    for (const name of ["pointerup", "pointercancel", "keyup"]) root.addEventListener(name, release, { capture: true });
  }

  /** Whether a question is asked: what the view says before its answer is no answer, and a screen reader waits. */
  get waits() {
    return this.root.getAttribute("aria-busy") === "true";
  }

  set waits(isAsked) {
    this.root.setAttribute("aria-busy", String(isAsked));
  }

  /** Something is pressed: the answer to an earlier press is read.
   * @param {Event} event
   */
  press(event) {
    const isPointer = event.type.startsWith("pointer");
    const isBegin = isPointer || event.type === "keydown";
    if (this.answered && !isBegin) return; // the end of a press that has its answer
    this.answered = false;
    this.held = isBegin;
    this.hide();
    const target = /** @type {Element} */ (event.target);
    this.pressed = target;
    const spot = event instanceof MouseEvent && event.detail + Number(isPointer) > 0 && target.closest(DRAWN);
    const part = target.closest(PARTS) ?? target;
    const low = (!spot && target.matches(DRAWN)) || target.closest(".answers-below") !== null;
    const corner = () => this.root.getBoundingClientRect();
    const below = (/** @type {Place} */ { left, top, bottom }) => {
      const { left: x, top: y } = corner();
      return { left: left - x, top: top - y, bottom: bottom - y, low };
    };
    const { clientX: x, clientY: y } = /** @type {MouseEvent} */ (event);
    const before = below(spot ? { left: x, top: y - FINGER, bottom: y + FINGER } : part.getBoundingClientRect());
    // The answer may draw the part anew.
    this.place = () => (spot || !part.isConnected ? before : below(part.getBoundingClientRect()));
  }

  /** The press has its answer. */
  done() {
    this.place = null;
    this.pressed = null;
    this.answered = false;
  }

  /** The answer is drawn: it stands beside the press, until the element that says the same is on the screen.
   * @param {Element | null | undefined} says
   * @param {Child[]} words
   */
  answer(says, words) {
    const { place } = this;
    if (!place || !says) return;
    if (this.held) this.answered = true;
    this.words = words;
    this.node.setAttribute("aria-hidden", String(Boolean(says.closest("[aria-live]")))); // nothing is heard twice
    if (this.answered && this.seen) return this.show(place(), this.seen);
    if (!this.answered) this.done();
    this.hide();
    // Such an observer knows what the frames and the boxes around the view leave visible.
    this.sight = new IntersectionObserver(
      (entries) => {
        const at = (/** @type {Element} */ node) => entries.findLast((entry) => entry.target === node);
        if ((at(says)?.intersectionRatio ?? 0) > 0.9) return this.hide();
        const seen = at(this.root)?.intersectionRect;
        if (this.node.hidden && seen?.height) this.show(place(), seen);
      },
      { threshold: [0, 0.95] },
    );
    for (const node of [this.root, says]) this.sight.observe(node);
  }

  /** @param {Place} place @param {DOMRectReadOnly} seen what is visible of the root */
  show(place, seen) {
    const { node, root, words } = this;
    this.seen = seen;
    const corner = root.getBoundingClientRect();
    const [top, bottom] = [seen.top - corner.top + GAP, seen.bottom - corner.top - GAP];
    const width = Math.min(seen.width - 2 * GAP, WIDEST);
    tell(node, ...words);
    node.hidden = false;
    Object.assign(node.style, inPixels({ maxWidth: width }));
    const height = node.offsetHeight;
    const [above, below] = [place.top - GAP - height, place.bottom + GAP];
    const isLow = place.top + place.bottom > top + bottom; // the far end of what is visible covers no press
    const far = isLow ? top : bottom - height;
    const isFree = below + height <= bottom;
    const isAbove = above >= top && !(place.low && isFree);
    const y = isAbove ? Math.min(above, bottom - height) : isFree ? Math.max(below, top) : far;
    const most = Math.max(seen.right - corner.left - GAP - node.offsetWidth, GAP);
    Object.assign(node.style, inPixels({ left: Math.min(place.left, most), top: y }));
  }

  hide() {
    this.sight?.disconnect();
    this.sight = null;
    this.seen = null;
    this.node.hidden = true;
  }
}

/** Echoes what `.says` says anew after a press on what is read there: a map, a tree, a row; and on a word of the text
 * above a view without a translation whose sentences stand above its panels. Gives a function for a view that was built
 * anew.
 * @param {HTMLElement} root
 * @param {Echo} echo
 */
export function echoing(root, echo) {
  /** @type {Element | null} */
  let says = null;
  /** @type {(string | null)[]} */
  let before = [];
  let read = READ;
  /** @type {Element | undefined} */
  let last; // the block of `.says` that changed last
  const texts = () => [...(says?.children ?? [])].map((block) => block.textContent);
  const repeat = () => {
    const isGuided = echo.pressed?.closest(".told") && root.querySelector(".pairing"); // the translation answers
    if (last?.isConnected && echo.pressed?.closest(read) && !isGuided && !echo.waits) {
      echo.answer(last, [/** @type {Element} */ (last.cloneNode(true))]);
    }
  };
  const changed = new MutationObserver(() => {
    const [old, now] = [before, texts()];
    before = now;
    last = says?.children[now.findIndex((text, i) => text && text !== old[i])];
    repeat();
  });
  root.addEventListener("click", () => setTimeout(repeat)); // a mouse that pointed had the answer before
  return () => {
    changed.disconnect();
    root.append(echo.node);
    says = root.querySelector(":scope > .says");
    if (!says) return;
    read = root.querySelector(":scope > .says ~ .panels") ? `${READ}, .told` : READ;
    before = texts();
    changed.observe(says, { childList: true, characterData: true, subtree: true });
  };
}
