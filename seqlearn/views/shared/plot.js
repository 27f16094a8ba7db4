// The plane of a plot: its axes, its labels, its lines.

import { draw, number, oneLine, ticks } from "./elements.js";
import { widthOf } from "./heatmap.js";

/** @import { Attributes, Extent } from "./types.js" */

/** The plane of a plot: { x(at), y(at), marks }, the pixels of a number and the axes with round numbers. across: other
 * numbers for the x axis, and how they are written.
 * @param {{ width: number, height: number, left: number, right: number, top: number, bottom: number }} sizes
 * @param {Extent} xs
 * @param {Extent} ys
 * @param {string} xlabel
 * @param {string} ylabel
 * @param {{ at: number[], write: (at: number) => string }} across
 */
export function plane(
  { width, height, left, right, top, bottom },
  [x0, x1],
  [y0, y1],
  xlabel,
  ylabel,
  across = { at: ticks(x0, x1), write: number },
) {
  const x = (/** @type {number} */ at) => left + ((at - x0) / (x1 - x0)) * (width - left - right);
  const y = (/** @type {number} */ at) => height - bottom - ((at - y0) / (y1 - y0)) * (height - top - bottom);
  const marks = [
    ...across.at.map((at) =>
      draw("text", { x: x(at), y: height - bottom + 16, "text-anchor": "middle" }, across.write(at)),
    ),
    ...ticks(y0, y1).map((at) => draw("text", { x: left - 6, y: y(at) + 4, "text-anchor": "end" }, number(at))),
    axisName({ x: (width + left) / 2, y: height - 2, "text-anchor": "middle" }, xlabel, width - left),
    axisName({ x: left + 8, y: top + 8 }, ylabel, width - left - 8),
    draw("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
  ];
  return { x, y, marks };
}

/** The name of an axis, cut if it is too long; the tooltip has the whole name.
 * @param {Attributes} attributes
 * @param {string} text
 * @param {number} room
 */
function axisName(attributes, text, room) {
  let letters = [...oneLine(text)].slice(0, 120);
  while (letters.length && widthOf(letters.join("")) > room) letters = letters.slice(0, -1);
  const short = letters.join("");
  return draw("text", attributes, short === oneLine(text) ? short : `${short.slice(0, -1)}…`, draw("title", {}, text));
}

/** The interval, made a little wider at both ends.
 * @type {(interval: Extent) => Extent}
 */
export const spread = ([low, high]) => [low - 0.04 * (high - low || 1), high + 0.04 * (high - low || 1)];

/** An SVG path through places; null breaks it.
 * @param {([x: number, y: number] | null)[]} places
 */
export function path(places) {
  return places
    .map((place, i) => place && `${places[i - 1] ? "L" : "M"}${place[0].toFixed(1)} ${place[1].toFixed(1)}`)
    .filter(Boolean)
    .join("");
}
