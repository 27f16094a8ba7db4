// What a press has changed, said beside the press where the translation is off the screen.

import { certainty } from "../shared/changes.js";
import { inPixels, make, tell } from "../shared/elements.js";
import { compared } from "../shared/switches.js";

/** @import { Child } from "../shared/types.js" */
/** @import { Translation } from "./translator_choice.js" */

/** @typedef {Pick<DOMRect, "left" | "top" | "bottom">} Place */

const [GAP, WIDEST] = [6, 440]; // pixels
const PARTS = ".candidates, .board, .chips, .ranking"; // the echo covers none of the other buttons of a part

export class Echo {
  /**
   * @param {HTMLElement} root
   * @param {() => Element | null} translation where the translation is drawn
   */
  constructor(root, translation) {
    this.root = root;
    this.translation = translation;
    this.node = make("div", { class: "echo", role: "status", hidden: true });
    /** @type {(() => Place) | null} */
    this.place = null; // of the last press, below the top left corner of the root
    /** @type {IntersectionObserver | null} */
    this.sight = null;
    const press = (/** @type {Event} */ { target }) => this.press(/** @type {Element} */ (target));
    for (const name of ["click", "change"]) root.addEventListener(name, press, { capture: true });
  }

  /** Something is pressed: the answer to an earlier press is read.
   * @param {Element} target
   */
  press(target) {
    this.hide();
    const part = target.closest(PARTS) ?? target;
    const where = () => {
      const [{ left, top, bottom }, corner] = [part.getBoundingClientRect(), this.root.getBoundingClientRect()];
      return { left: left - corner.left, top: top - corner.top, bottom: bottom - corner.top };
    };
    const before = where();
    this.place = () => (part.isConnected ? where() : before); // the answer may draw the part anew
  }

  /** The answer is drawn: it stands beside the press, until the translation is on the screen.
   * @param {Child[]} words
   */
  answer(words) {
    const { place } = this;
    const translation = this.translation();
    this.place = null;
    if (!place || !translation) return;
    this.hide();
    // Such an observer knows what the frames and the boxes around the view leave visible.
    this.sight = new IntersectionObserver(
      (entries) => {
        const at = (/** @type {Element} */ node) => entries.findLast((entry) => entry.target === node);
        if ((at(translation)?.intersectionRatio ?? 0) > 0.9) return this.hide();
        const seen = at(this.root)?.intersectionRect;
        if (this.node.hidden && seen?.height) this.show(words, place(), seen);
      },
      { threshold: [0, 0.95] },
    );
    for (const node of [this.root, translation]) this.sight.observe(node);
  }

  /** @param {Child[]} words @param {Place} place @param {DOMRectReadOnly} seen what is visible of the root */
  show(words, place, seen) {
    const { node, root } = this;
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
    const y = above >= top ? Math.min(above, bottom - height) : below + height <= bottom ? Math.max(below, top) : far;
    const most = Math.max(seen.right - corner.left - GAP - node.offsetWidth, GAP);
    Object.assign(node.style, inPixels({ left: Math.min(place.left, most), top: y }));
  }

  hide() {
    this.sight?.disconnect();
    this.sight = null;
    this.node.hidden = true;
  }
}

/** What has become of a translation; before: the one that stood there, null for another sentence.
 * @param {Translation | null} before
 * @param {Translation} now
 * @param {string} language
 * @returns {Child[]}
 */
export function echoWords(before, now, language) {
  if (!before) return [make("bdi", { lang: language || null }, now.text), " ", certainty(now)];
  const { isOther, word, words, p } = compared(before, now);
  return isOther ? [make("strong", { class: "word" }, word), " ", words, ` (${p})`] : [words, ` (${p})`];
}
