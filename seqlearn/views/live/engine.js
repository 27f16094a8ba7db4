// The model in the page, in a worker where that is possible, so that the page never waits for it. `liveEngine` is the
// function around text.js, nn.js, decoding.js and translator.js: a worker gets its source text.

/** Makes a model of the packed `data` (see `live_model` in seqlearn/views/live/weights.py). Gives { ready, ask, inWorker }:
 * `ready` is a promise; `ask("translated", question)` promises the answer of this method of `Translator`, or null if a newer
 * question of the same kind came before the model had time; `inWorker()` says whether a worker answers. */
function liveModel(data, { worker = true } = {}) {
  const waiting = new Map(); // the newest question of each kind
  let [running, send, thread] = [null, null, null];
  const loaded = {};
  const ready = new Promise((resolve, reject) => Object.assign(loaded, { resolve, reject }));
  ready.catch(() => {}); // whoever asks gets the error, too

  const next = () => {
    if (running || !waiting.size) return;
    const [kind, asked] = waiting.entries().next().value;
    waiting.delete(kind);
    running = asked;
    send({ kind, question: asked.question });
  };
  const receive = ({ answer, error, isReady }) => {
    if (isReady) return loaded.resolve();
    const asked = running;
    running = null;
    if (error === undefined) asked?.resolve(answer);
    else (asked?.reject ?? loaded.reject)(new Error(error));
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
    thread = new Worker(url);
    thread.onmessage = (event) => receive(event.data);
    thread.onerror = (event) => { // a policy or a browser that allows no such worker
      event.preventDefault();
      thread.terminate();
      onThisThread();
    };
    send = (message) => thread.postMessage(message);
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
    ask: (kind, question) => new Promise((resolve, reject) => {
      waiting.get(kind)?.resolve(null);
      waiting.set(kind, { kind, question, resolve, reject });
      next();
    }),
  };
}
