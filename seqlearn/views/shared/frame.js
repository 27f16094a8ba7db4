// A view in a frame of another page, such as a page of the book. The frame is a document of its own, without a heading.
// It tells its parent { seqlearn: { height } }, at first, whenever the height changes, and as the answer to each
// message: a parent that began to listen late asks with { seqlearn: {} }. It listens to { seqlearn: { theme } }:
// "light", "dark", or "auto", which is what the reader's system says. The first theme may stand in the address:
// view.html#dark.

import { liveModel } from "../live/engine.js";
import { make } from "./elements.js";
import { elementOf, openPage } from "./page.js";

/** @import { Live, LiveEngine } from "../live/engine.js" */
/** @import { Answering } from "../live/translator.js" */
/** @import { Answers, Build, Question } from "./types.js" */

/** The media of dark.css.
 * @type {Record<string, string>}
 */
const THEMES = { light: "not all", dark: "screen", auto: "screen and (prefers-color-scheme: dark)" };

/** Draws the view of this document: views[name] has its functions `build` and `answers`. liveEngine: see `liveModel`.
 * @param {Record<string, { build: Build, answers?: Answers }>} views
 * @param {LiveEngine} liveEngine
 */
export function openFrame(views, liveEngine) {
  const view = elementOf("view");
  const { build, answers = null } = views[view.dataset.view ?? ""];
  const page = document.documentElement;
  follow(page, window.location.hash.slice(1));
  const live = "live" in view.dataset;
  if (live) window.live = laterModel(liveEngine);
  openPage(build, "", live ? answers : null, window.live ?? null);
  if (window.parent !== window) talk(page, view);
}

/** Tells the page around the frame how high the view is, and listens to it.
 * @param {HTMLElement} page
 * @param {HTMLElement} view
 */
function talk(page, view) {
  page.style.overflow = "hidden"; // the wheel scrolls the page around the frame
  const say = () =>
    window.parent.postMessage({ seqlearn: { height: Math.ceil(view.getBoundingClientRect().height) } }, "*");
  say(); // a browser draws no frame that is far from the screen, and observes nothing in it
  new ResizeObserver(say).observe(view);
  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || typeof data?.seqlearn !== "object") return;
    follow(page, data.seqlearn?.theme);
    say();
  });
}

/** Shows the view in this theme; what is none changes nothing.
 * @param {HTMLElement} page
 * @param {unknown} theme
 */
function follow(page, theme) {
  if (typeof theme !== "string" || !Object.hasOwn(THEMES, theme)) return;
  /** @type {HTMLLinkElement} */ (elementOf("dark")).media = THEMES[theme];
  page.style.colorScheme = theme === "auto" ? "" : theme;
}

/** The model in the file model.js, which is read when somebody asks the first question: { ask }, as that of
 * `liveModel`.
 * @param {LiveEngine} liveEngine
 * @returns {Live}
 */
function laterModel(liveEngine) {
  /** @type {Promise<Live> | null} */
  let model = null;
  /** @type {() => Promise<Live>} */
  const read = () =>
    new Promise((resolve, reject) => {
      const onload = () => resolve(liveModel(liveEngine, window.courseModel));
      const onerror = () => reject(new Error("model.js cannot be read"));
      document.head.append(make("script", { src: "model.js", onload, onerror }));
    });
  /**
   * @template {keyof Answering} Kind
   * @param {Kind} kind
   * @param {Parameters<Answering[Kind]>[0]} question
   */
  const ask = async (kind, question) => {
    try {
      model ??= read();
      return (await model).ask(kind, question);
    } catch {
      model = null; // the next question tries again
      const { sentence, beam, prefix, edits } = /** @type {Partial<Question>} */ (question);
      const problem = "The model could not be read. Are you offline?";
      const refusal = /** @type {unknown} */ ({ asked: [sentence, beam, prefix, edits], problem });
      return /** @type {ReturnType<Answering[Kind]>} */ (refusal);
    }
  };
  return { ask };
}
