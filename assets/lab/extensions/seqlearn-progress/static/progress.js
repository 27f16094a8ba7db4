// How much of each lesson was run, beside its name in JupyterLab's list of files: an extension that needs no build.

/** @typedef {{ cell_type: string, source: string | string[], execution_count?: number | null }} Cell */
/** @typedef {{ path: string, type: string, content?: any }} Entry a file, or a folder with the files in it */
/** @typedef {{ type: string, newValue: Entry | null }} Change of a file */
/** What is used of JupyterLab's ContentsManager.
 * @typedef {{ get: (path: string, options?: { content: boolean }) => Promise<Entry>,
 *   fileChanged: { connect: (slot: (sender: unknown, change: Change) => void) => void }
 * }} Contents */

const COPY = /^my-lessons[^/]*\/\d\d-[a-z-]+\.ipynb$/;

/** The part of a lesson's cells of code that were run, in words; "": none was.
 * @param {Cell[]} cells */
function howMuch(cells) {
  const code = cells.filter((cell) => cell.cell_type === "code" && [cell.source].flat().join("").trim());
  const run = code.filter((cell) => cell.execution_count).length;
  if (run === code.length) return "✓";
  return run ? `${Math.floor((100 * run) / code.length)} %` : "";
}

/** Writes behind a name in the list, whose tooltip has lines such as "Name: ..." and "Path: ...".
 * @param {[path: string, text: string]} lesson */
function rule([path, text]) {
  const isInTitle = path.split("/").map((part) => `[title*=": ${part}\\a "]`);
  const name = `.jp-DirListing-item${isInTitle.join("")} .jp-DirListing-itemName`;
  return `${name}::after { content: "${text}"; flex: none; margin-left: auto; padding-left: 6px; }`;
}

/** @param {{ restored: Promise<void>, serviceManager: { contents: Contents } }} app */
function activate({ restored, serviceManager: { contents } }) {
  /** @type {Map<string, string>} */
  const done = new Map();
  const style = document.head.appendChild(document.createElement("style"));
  const look = async (/** @type {string} */ path) => {
    if (!COPY.test(path)) return;
    const file = await contents.get(path, { content: true });
    done.set(path, howMuch(file.content.cells));
    style.textContent = [...done].map(rule).join("\n");
  };
  const lookAtAll = async () => {
    for (const { path, type } of (await contents.get("")).content) {
      if (type !== "directory" || !path.startsWith("my-lessons")) continue;
      for (const file of (await contents.get(path)).content) await look(file.path).catch(() => {});
    }
  };
  contents.fileChanged.connect((_, { type, newValue }) => {
    if (type === "save" && newValue) look(newValue.path).catch(() => {}); // what cannot be read is not marked
  });
  restored.then(lookAtAll).catch(() => {}); // JupyterLab waits for no mark
}

const plugin = { id: "seqlearn-progress:plugin", autoStart: true, activate };
const page = /** @type {any} */ (window);
page._JUPYTERLAB ??= {};
page._JUPYTERLAB["seqlearn-progress"] = {
  init: () => {},
  get: async () => () => ({ __esModule: true, default: plugin }),
};
