// A frame tells its height, and is told the theme of the page: see frame.js of the views.
const frames = [...document.querySelectorAll(".view iframe")];
const tell = (frame) => frame.contentWindow.postMessage({ seqlearn: { theme: document.body.dataset.theme } }, "*");
addEventListener("message", ({ data, source }) => {
  const frame = frames.find((one) => one.contentWindow === source);
  if (frame && data?.seqlearn?.height) frame.style.height = `${data.seqlearn.height}px`;
});
for (const frame of frames) frame.addEventListener("load", () => tell(frame));
new MutationObserver(() => frames.forEach(tell)).observe(document.body, { attributeFilter: ["data-theme"] });

// A box that scrolls can be reached with the Tab key, and then scrolled with the arrows.
const boxes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth;
    for (const [name, value] of [["tabindex", 0], ["role", "group"], ["aria-label", "scrolls sideways"]]) {
      if (scrolls) target.setAttribute(name, value);
      else target.removeAttribute(name);
    }
  }
});
document.querySelectorAll("article :is(pre, .output, .table-wrapper, .math-wrapper, div.math)").forEach((box) => boxes.observe(box));

// Paper has no folds.
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details:not([open])")];
  for (const fold of unfolded) fold.open = true;
});
addEventListener("afterprint", () => unfolded.forEach((fold) => (fold.open = false)));
