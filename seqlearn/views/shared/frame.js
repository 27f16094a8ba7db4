// A view in a frame of another page, such as a page of the book. The frame is a document of its own, without a heading.
// It tells its parent { seqlearn: { height } }, at first, whenever the height changes, and as the answer to each message:
// a parent that began to listen late asks with { seqlearn: {} }. It listens to { seqlearn: { theme } }: "light", "dark", or
// "auto", which is what the reader's system says. The first theme may stand in the address: view.html#dark.

const THEMES = { light: "not all", dark: "screen", auto: "screen and (prefers-color-scheme: dark)" }; // media of dark.css

/** Draws the view of this document: views[name] has its functions `build` and `answers`. */
function openFrame(views) {
  const view = document.getElementById("view");
  const { build, answers } = views[view.dataset.view];
  const page = document.documentElement;
  follow(page, window.location.hash.slice(1));
  const live = "live" in view.dataset;
  if (live) window.live = laterModel();
  openPage(build, "", live ? answers : null);
  if (window.parent !== window) talk(page, view);
}

/** Tells the page around the frame how high the view is, and listens to it. */
function talk(page, view) {
  page.style.overflow = "hidden"; // the wheel scrolls the page around the frame
  const say = () => window.parent.postMessage({ seqlearn: { height: Math.ceil(view.getBoundingClientRect().height) } }, "*");
  say(); // a browser draws no frame that is far from the screen, and observes nothing in it
  new ResizeObserver(say).observe(view);
  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || typeof data?.seqlearn !== "object") return;
    follow(page, data.seqlearn?.theme);
    say();
  });
}

/** Shows the view in this theme; what is none changes nothing. */
function follow(page, theme) {
  if (!Object.hasOwn(THEMES, theme)) return;
  document.getElementById("dark").media = THEMES[theme];
  page.style.colorScheme = theme === "auto" ? "" : theme;
}

/** The model in the file model.js, which is read when somebody asks the first question: { ask }, as that of `liveModel`. */
function laterModel() {
  let model = null;
  const read = () => new Promise((resolve, reject) => {
    const [onload, onerror] = [() => resolve(liveModel(window.courseModel)), () => reject(new Error("model.js cannot be read"))];
    document.head.append(make("script", { src: "model.js", onload, onerror }));
  });
  const ask = async (kind, question) => {
    try {
      return (await (model ??= read())).ask(kind, question);
    } catch {
      model = null; // the next question tries again
      const { sentence, beam, prefix, edits } = question;
      return { asked: [sentence, beam, prefix, edits], problem: "The model could not be read. Are you offline?" };
    }
  };
  return { ask };
}
