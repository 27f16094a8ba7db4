// The model in the page, in a worker where that is possible, so that the page never waits for it.

/** @import { Answering, LiveModel, Reply } from "./translator.js" */

/** The function around translator.js and all that it imports, which gives `serve` (see `live_engine` in weights.py): a
 * worker gets its source text.
 * @typedef {() => (post: (reply: Reply) => void) => (message: object) => void} LiveEngine */
/** A question, who asked it, and where its answer goes.
 * @typedef {{ kind: string, question: object, asker: unknown,
 *   resolve: (answer: unknown) => void, reject: (error: Error) => void }} Asked */
/** Asks a method of `Translator` in the page; null if a newer question of the same kind and of the same asker (a view)
 * came before there was time.
 * @typedef {<Kind extends keyof Answering>(kind: Kind, question: Parameters<Answering[Kind]>[0], asker?: unknown) =>
 *   Promise<ReturnType<Answering[Kind]> | null>} Ask */

/** The Transformer in the page.
 * @typedef {{ ask: Ask }} Live */

/** Makes a model of the packed data. `ready` is a promise; `inWorker()` says whether a worker answers.
 * @param {LiveEngine} liveEngine
 * @param {LiveModel} data
 * @returns {Live & { ready: Promise<void>, inWorker: () => boolean }} */
export function liveModel(liveEngine, data, { worker = true } = {}) {
  /** @type {Asked[]} */
  const waiting = []; // the newest question of each kind and asker
  /** @type {Asked | null} */
  let running = null;
  /** @type {Worker | null} */
  let thread = null;
  /** @type {(message: object) => void} */
  let send = () => {};
  /** @type {{ resolve: () => void, reject: (error: Error) => void }} */
  let loaded = { resolve: () => {}, reject: () => {} };
  /** @type {Promise<void>} */
  const ready = new Promise((resolve, reject) => {
    loaded = { resolve, reject };
  });
  ready.catch(() => {}); // whoever asks gets the error, too

  const next = () => {
    const asked = running ? null : waiting.shift();
    if (!asked) return;
    running = asked;
    send({ kind: asked.kind, question: asked.question });
  };
  const receive = (/** @type {Reply} */ { answer, error, isReady }) => {
    if (isReady) return loaded.resolve();
    const asked = running;
    running = null;
    if (error === undefined) asked?.resolve(answer);
    else (asked ?? loaded).reject(new Error(error));
    return next();
  };
  const onThisThread = () => {
    const serve = liveEngine()(receive);
    thread = null;
    send = (message) => setTimeout(() => serve(message)); // the page is drawn before
    send({ data });
    if (running) send({ kind: running.kind, question: running.question });
  };
  const inWorker = () => {
    const source = `"use strict"; const serve = (${liveEngine})()(postMessage); onmessage = ({ data }) => serve(data);`;
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const made = new Worker(url);
    made.onmessage = (event) => receive(event.data);
    made.onerror = (event) => {
      // a policy or a browser that allows no such worker
      event.preventDefault();
      made.terminate();
      onThisThread();
    };
    thread = made;
    send = (message) => made.postMessage(message);
    send({ data });
    ready.finally(() => URL.revokeObjectURL(url)).catch(() => {});
  };
  try {
    if (worker) inWorker();
    else onThisThread();
  } catch {
    onThisThread();
  }
  return {
    ready,
    inWorker: () => thread !== null,
    ask: (kind, question, asker) =>
      new Promise((resolve, reject) => {
        const older = waiting.findIndex((one) => one.kind === kind && one.asker === asker);
        const asked = { kind, question, asker, resolve: /** @type {Asked["resolve"]} */ (resolve), reject };
        if (older < 0) waiting.push(asked);
        else waiting.splice(older, 1, asked)[0].resolve(null);
        next();
      }),
  };
}

/** The model whose weights stand in the page; all views of a page share it.
 * @param {LiveEngine} liveEngine */
export function pageModel(liveEngine) {
  const live = liveModel(liveEngine, JSON.parse(document.getElementById("model")?.textContent ?? ""));
  window.live = live;
  return live;
}

/** The model in the file model.js, which is read when somebody asks the first question: { ask }, as that of
 * `liveModel`.
 * @param {LiveEngine} liveEngine
 * @returns {Live}
 */
export function laterModel(liveEngine) {
  /** @type {Promise<Live> | null} */
  let model = null;
  /** @type {() => Promise<Live>} */
  const read = () =>
    new Promise((resolve, reject) => {
      const onload = () => resolve(liveModel(liveEngine, window.courseModel));
      const onerror = () => reject(new Error("model.js cannot be read"));
      const script = Object.assign(document.createElement("script"), { src: "model.js", onload, onerror });
      document.head.append(script);
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
      const problem = "The model could not be read. Are you offline?";
      const refusal = /** @type {unknown} */ ({ asked: question, problem });
      return /** @type {ReturnType<Answering[Kind]>} */ (refusal);
    }
  };
  return { ask };
}
