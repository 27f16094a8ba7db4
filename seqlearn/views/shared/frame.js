// A view in a frame of another page, such as a page of the book. The frame is a document of its own, without a heading.
// It tells its parent { seqlearn: { height } }, at first, whenever the height changes, and as the answer to each
// message: a parent that began to listen late asks with { seqlearn: {} }. It listens to { seqlearn: { theme } }:
// "light", "dark", or "auto", which is what the reader's system says. The first theme may stand in the address:
// view.html#dark. A link to the view is that of the page around: { seqlearn: { address, link } } tells the address of
// this page without a link, and the link to open, if any (see link.js); for a link that is copied, the frame tells
// { seqlearn: { link } }, which the parent puts into its address.

import { elementOf, followLinks, openPage } from "./page.js";

/** @import { Live } from "../live/engine.js" */
/** @import { Link } from "./link.js" */
/** @import { Answers, Build } from "./types.js" */

/** The media of dark.css.
 * @type {Record<string, string>}
 */
const THEMES = { light: "not all", dark: "screen", auto: "screen and (prefers-color-scheme: dark)" };

/** Draws the view of this document: views[name] is its function `build`. answers: see `openPage`. live(): the model, in
 * a document that asks. css: the styles of all views. The name of the view in links is that of its file.
 * @param {Record<string, Build>} views
 * @param {Answers} answers
 * @param {() => Live} live
 * @param {string} css
 */
export function openFrame(views, answers, live, css) {
  const view = elementOf("view");
  const name = view.dataset.view ?? "";
  const page = document.documentElement;
  follow(page, window.location.hash.slice(1));
  const isLive = "live" in view.dataset;
  if (isLive) window.live = live();
  const id =
    window.location.pathname
      .split("/")
      .at(-1)
      ?.replace(/\.html$/, "") ?? "";
  const opened = openPage(views[name], "", { view: name, id, css }, isLive ? answers : null, window.live ?? null);
  followLinks([opened]);
  if (window.parent !== window) talk(page, view, opened.link);
}

/** Tells the page around the frame how high the view is, and listens to it.
 * @param {HTMLElement} page
 * @param {HTMLElement} view
 * @param {Link} link
 */
function talk(page, view, link) {
  page.style.overflow = "hidden"; // the wheel scrolls the page around the frame
  const say = () =>
    window.parent.postMessage({ seqlearn: { height: Math.ceil(view.getBoundingClientRect().height) } }, "*");
  say(); // a browser draws no frame that is far from the screen, and observes nothing in it
  new ResizeObserver(say).observe(view);
  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || typeof data?.seqlearn !== "object") return;
    follow(page, data.seqlearn?.theme);
    if (typeof data.seqlearn?.link === "string") link.open(data.seqlearn.link);
    if (typeof data.seqlearn?.address === "string") link.keep = keepAround(data.seqlearn.address);
    say();
  });
}

/** Keeps a link in the address of the page around the frame.
 * @param {string} address of this page, without a link
 */
const keepAround = (address) => (/** @type {string} */ link) => {
  window.parent.postMessage({ seqlearn: { link } }, "*");
  return `${address}#${link}`;
};

/** Shows the view in this theme; what is none changes nothing.
 * @param {HTMLElement} page
 * @param {unknown} theme
 */
function follow(page, theme) {
  if (typeof theme !== "string" || !Object.hasOwn(THEMES, theme)) return;
  /** @type {HTMLLinkElement} */ (elementOf("dark")).media = THEMES[theme];
  page.style.colorScheme = theme === "auto" ? "" : theme;
}
