// A frame tells its height, and is told the theme of the page: see frame.js of the views.
const frames = [...document.querySelectorAll(".view iframe")];
const tell = (frame) => frame.contentWindow.postMessage({ seqlearn: { theme: document.body.dataset.theme } }, "*");
addEventListener("message", ({ data, source }) => {
  const frame = frames.find((one) => one.contentWindow === source);
  if (frame && data?.seqlearn?.height) frame.style.height = `${data.seqlearn.height}px`;
});
for (const frame of frames) frame.addEventListener("load", () => tell(frame));
new MutationObserver(() => frames.forEach(tell)).observe(document.body, { attributeFilter: ["data-theme"] });

// On a phone, the rows of a table that is too wide become cards: see book.css.
const phone = matchMedia("(max-width: 46em)");
for (const table of document.querySelectorAll("table.docutils")) {
  const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent);
  for (const row of table.querySelectorAll("tbody tr")) [...row.cells].forEach((cell, at) => (cell.dataset.head = heads[at] ?? ""));
}

// A box that scrolls can be reached with the Tab key, and then scrolled with the arrows. Its edge fades while there is more.
const fade = (box) => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
const fit = (box) => {
  if (phone.matches && box.scrollWidth > box.clientWidth) box.querySelector(":scope > table")?.classList.add("cards");
  const scrolls = box.scrollWidth > box.clientWidth;
  for (const [name, value] of [["tabindex", 0], ["role", "group"], ["aria-label", "scrolls sideways"]]) {
    if (scrolls) box.setAttribute(name, value);
    else box.removeAttribute(name);
  }
  fade(box);
};
const boxes = [...document.querySelectorAll("article :is(pre, .output, .table-wrapper, .math-wrapper, div.math)")];
const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => fit(target)));
for (const box of boxes) {
  sizes.observe(box);
  box.addEventListener("scroll", () => fade(box), { passive: true });
}
window.MathJax?.startup?.promise.then(() => boxes.forEach(fit)); // a formula is wider than its TeX

// A picture that is too small to read on a phone gets its own size at a touch, and scrolls.
document.querySelectorAll("img.picture").forEach((picture) => picture.addEventListener("click", () => picture.classList.toggle("large")));

// Paper has no folds.
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details:not([open])")];
  for (const fold of unfolded) fold.open = true;
});
addEventListener("afterprint", () => unfolded.forEach((fold) => (fold.open = false)));
