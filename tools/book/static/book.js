// A frame tells its height, and is told the theme and the address of the page: see frame.js of the views. A link to a
// view is told to the frame that it names, when this frame speaks for the first time.
/** @type {NodeListOf<HTMLIFrameElement>} */
const views = document.querySelectorAll(".view iframe");
const tell = (/** @type {HTMLIFrameElement} */ frame, /** @type {{ link?: string }} */ more = {}) => {
  const [address] = location.href.split("#");
  frame.contentWindow?.postMessage({ seqlearn: { theme: document.body.dataset.theme, address, ...more } }, "*");
};
const tellAll = () => {
  for (const frame of views) tell(frame);
};
/** @type {{ frame: HTMLIFrameElement, link: string | null } | null} */
let linked = null; // link: what its frame was not told yet. Until somebody does something, this frame stays in sight.
const findLink = () => {
  const link = location.hash.slice(1);
  const id = new URLSearchParams(link).get("view");
  if (id === null || !views.length) return;
  const frame = [...views].find((one) => one.src.endsWith(`/${id}.html`)) ?? views[0]; // which says what is wrong
  linked = { frame, link };
  frame.scrollIntoView(); // it may be read only now
  tell(frame); // and answers
};
addEventListener("message", ({ data, source }) => {
  const frame = [...views].find((one) => one.contentWindow === source);
  if (!frame || typeof data?.seqlearn !== "object") return;
  const { height, link } = data.seqlearn ?? {};
  if (height) frame.style.height = `${height}px`;
  if (typeof link === "string") history.replaceState(null, "", `#${link}`);
  if (linked?.link && linked.frame === frame) {
    tell(frame, { link: linked.link });
    linked.link = null;
  }
  linked?.frame.scrollIntoView(); // frames above it may have grown
});
for (const deed of ["wheel", "touchstart", "keydown", "pointerdown", "blur"])
  addEventListener(deed, () => {
    if (!linked?.link) linked = null;
  });
for (const frame of views) frame.addEventListener("load", () => tell(frame));
new MutationObserver(tellAll).observe(document.body, { attributeFilter: ["data-theme"] });
addEventListener("hashchange", findLink);
findLink();

// A link of a frame to a place of this page takes the Tab key along.
addEventListener("hashchange", () => {
  const place = document.getElementById(location.hash.slice(1));
  if (!place || document.activeElement?.tagName !== "IFRAME") return;
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
});

// On a phone, the rows of a table that is too wide, or whose first column is a thin one, become cards: see book.css.
const phone = matchMedia("(max-width: 46em)");
for (const table of document.querySelectorAll("table.docutils")) {
  const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent);
  /** @type {NodeListOf<HTMLTableRowElement>} */
  const rows = table.querySelectorAll("tbody tr");
  for (const row of rows) {
    for (const [at, cell] of [...row.cells].entries()) cell.dataset.head = heads[at] ?? "";
  }
}

// A box that scrolls can be reached with the Tab key, and then scrolled with the arrows. Its edge fades while there is
// more.
const fade = (/** @type {Element} */ box) =>
  box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
const isThin = (/** @type {HTMLTableRowElement} */ { cells: [first] }) =>
  first?.offsetHeight > 5 * Number.parseFloat(getComputedStyle(first).lineHeight);
const fit = (/** @type {Element} */ box) => {
  /** @type {HTMLTableElement | null} */
  const table = box.querySelector(":scope > table.docutils");
  const isWide = box.scrollWidth > box.clientWidth;
  if (phone.matches && table && (isWide || [...table.rows].some(isThin))) table.classList.add("cards");
  const scrolls = box.scrollWidth > box.clientWidth;
  for (const [name, value] of [
    ["tabindex", "0"],
    ["role", "group"],
    ["aria-label", "scrolls sideways"],
  ]) {
    if (scrolls) box.setAttribute(name, value);
    else box.removeAttribute(name);
  }
  fade(box);
};
const boxes = [...document.querySelectorAll("article :is(pre, .output, .table-wrapper, .math-wrapper, div.math)")];
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) fit(target);
});
for (const box of boxes) {
  sizes.observe(box);
  box.addEventListener("scroll", () => fade(box), { passive: true });
}
// A formula is wider than its TeX.
window.MathJax?.startup?.promise.then(() => {
  for (const box of boxes) fit(box);
});

// A picture that is too small to read on a phone gets its own size at a touch, and scrolls.
for (const picture of document.querySelectorAll("img.picture"))
  picture.addEventListener("click", () => picture.classList.toggle("large"));

// Paper has no folds.
/** @type {HTMLDetailsElement[]} */
let unfolded = [];
const unfold = (/** @type {boolean} */ open) => {
  for (const fold of unfolded) fold.open = open;
};
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details")].filter((fold) => !fold.open);
  unfold(true);
});
addEventListener("afterprint", () => unfold(false));

// What a reader predicts is kept in this browser, letter by letter, and nowhere else. A browser may refuse to keep
// anything, or have no room: then the page says so.
/** @type {NodeListOf<HTMLInputElement>} */
const predictions = document.querySelectorAll("input[data-prediction]");
for (const line of predictions) {
  const key = `seqlearn ${line.dataset.prediction}`;
  const note = document.createElement("small");
  note.setAttribute("role", "status");
  line.closest(".prediction")?.append(note);
  try {
    line.value = localStorage.getItem(key) ?? "";
  } catch {}
  line.addEventListener("input", () => {
    note.textContent = "";
    try {
      localStorage.setItem(key, line.value);
    } catch {
      note.textContent = line.dataset.lost ?? "";
    }
  });
}
