// What a view shows, as a picture: the view itself, with its styles, in an SVG; and the SVG, drawn, as a PNG.

import { draw, make } from "./elements.js";

const DARK = "screen and (prefers-color-scheme: dark)";
const LOOKS = [
  "display",
  "width",
  "height",
  "margin",
  "position",
  "inset",
  "grid-area",
  "image-rendering",
  "opacity",
  "filter",
];
const SHARP = 2; // pixels of a PNG for each one of the screen
/** What serves only the person who presses it. All else, such as a head that is ablated, is part of the picture. */
const NO_PICTURE = [
  ".linking, .linked, .echo, .told:has(button), details:not([open]), .examples, .board > .controls .control",
  ".weigh:has(:disabled), .controls button:not([aria-pressed='true'], [role='radio'], .five button)",
  ".question > button:not([aria-pressed])",
].join(", ");

/** The view as an SVG that needs no other file.
 * @param {HTMLElement} root
 * @param {string} css */
export function svgOf(root, css) {
  const { width } = root.getBoundingClientRect();
  const still = stillOf(root, width);
  const height = heightOf(still, root);
  const link = /** @type {HTMLLinkElement | null} */ (document.getElementById("dark")); // in a frame of the book
  const isDark = window.matchMedia(link?.media ?? DARK).matches;
  const style = make("style", {}, css.replaceAll(DARK, isDark ? "all" : "not all"));
  const size = { width, height };
  const svg = draw("svg", { ...size, viewBox: `0 0 ${width} ${height}` });
  svg.style.colorScheme = isDark ? "dark" : "light";
  svg.append(draw("rect", { ...size, fill: getComputedStyle(root).backgroundColor }));
  svg.append(draw("foreignObject", size, style, still));
  return new XMLSerializer().serializeToString(svg);
}

/** A copy of the view as it is now, with what a copy of its elements alone would lack.
 * @param {HTMLElement} root @param {number} width */
function stillOf(root, width) {
  const still = /** @type {HTMLElement} */ (root.cloneNode(true));
  const [nodes, copies] = [root, still].map((node) => [...node.querySelectorAll("*")]);
  for (const [i, node] of nodes.entries()) {
    const copy = /** @type {HTMLElement} */ (copies[i]);
    if (node instanceof HTMLCanvasElement) copy.replaceWith(drawn(node));
    if (node instanceof HTMLInputElement) {
      copy.setAttribute("value", node.value);
      copy.toggleAttribute("checked", node.checked);
    }
    if (node instanceof HTMLTextAreaElement) copy.textContent = node.value;
    if (node instanceof HTMLOptionElement) copy.toggleAttribute("selected", node.selected);
    if (!node.scrollLeft && !node.scrollTop) continue;
    for (const child of /** @type {HTMLCollectionOf<HTMLElement>} */ (copy.children))
      child.style.translate = `${-node.scrollLeft}px ${-node.scrollTop}px`;
  }
  for (const node of still.querySelectorAll(NO_PICTURE)) node.remove();
  for (const node of still.querySelectorAll(".controls:empty")) node.remove();
  still.style.width = `${width}px`;
  return still;
}

/** The height of a copy, which has less in it than the view: that of a moment beside the view.
 * @param {HTMLElement} still @param {HTMLElement} root */
function heightOf(still, root) {
  Object.assign(still.style, { position: "absolute", top: "0" });
  root.after(still);
  const { height } = still.getBoundingClientRect();
  still.remove();
  still.style.position = "static";
  return Math.ceil(height);
}

/** What is drawn on a canvas, as an image in its place.
 * @param {HTMLCanvasElement} canvas */
function drawn(canvas) {
  const image = make("img", { src: canvas.toDataURL(), alt: "" });
  const style = getComputedStyle(canvas); // a rule may name the canvas
  for (const name of LOOKS) image.style.setProperty(name, style.getPropertyValue(name));
  return image;
}

/** The SVG as a PNG.
 * @param {string} svg
 * @returns {Promise<Blob>} */
export async function pngOf(svg) {
  const image = make("img", { src: `data:image/svg+xml,${encodeURIComponent(svg)}` });
  await image.decode();
  const [width, height] = [SHARP * image.naturalWidth, SHARP * image.naturalHeight];
  const canvas = make("canvas", { width, height });
  canvas.getContext("2d")?.drawImage(image, 0, 0, width, height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))));
  });
}

/** Saves a file.
 * @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const href = URL.createObjectURL(blob);
  make("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
