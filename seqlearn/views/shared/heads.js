// A small map of every head of every layer, to choose one.

/** The weights that are shown, as a flat list; very many weights are sent as whole numbers up to LARGEST. */
function weightsOf({ weights, means, average, rollout }, show, layer, head) {
  const [, heads, rows, columns] = weights.shape;
  const [{ values }, index] = { head: [weights, layer * heads + head], layer: [means, layer], all: [average, 0], rollout: [rollout, 0] }[show];
  const part = values.subarray(index * rows * columns, (index + 1) * rows * columns);
  return values instanceof Uint16Array ? Float32Array.from(part, (x) => x / LARGEST) : part;
}

/** A small map of every head, a row for each layer: gives { node, focus(), mark(show, layer, head) }. */
function headGrid({ thumbs }, room, choose) {
  const [layers, heads, rows, columns] = thumbs.shape;
  const size = Math.max(14, Math.min(60, Math.floor(Math.min(room - 70, 352) / heads)));
  const canvas = make("canvas", { "aria-hidden": "true" });
  const context = scaled(canvas, size * heads, size * layers);
  const small = make("canvas", { width: columns, height: rows });
  const cells = small.getContext("2d");
  const ramp = Array.from({ length: 256 }, (_, at) => colour(at / 255, VIRIDIS));
  const image = cells.createImageData(columns, rows);
  context.imageSmoothingEnabled = false;
  for (let at = 0; at < layers * heads; at++) {
    for (let cell = 0; cell < rows * columns; cell++) {
      image.data.set(ramp[thumbs.values[at * rows * columns + cell]], 4 * cell);
      image.data[4 * cell + 3] = 255;
    }
    cells.putImageData(image, 0, 0);
    context.drawImage(small, (at % heads) * size + 2, Math.floor(at / heads) * size + 2, size - 4, size - 4);
  }
  const marks = make("div", { class: "marks", "aria-hidden": "true" });
  const body = make("div", { class: "body", role: "slider", tabindex: 0, "aria-label": "layer and head", "aria-valuemin": 0,
    "aria-valuemax": layers * heads - 1 }, canvas, marks);
  const [above, beside] = [columnLabels(Array.from({ length: heads }, (_, i) => `${i}`), size), rowLabels(Array.from({ length: layers }, (_, i) => `layer ${i}`), size)];
  const node = make("figure", { class: "map heads" }, make("figcaption", {}, "every head: click one"), above.node, beside.node, body);
  let cursor = [0, 0];
  const go = (layer, head) => choose(Math.min(Math.max(layer, 0), layers - 1), Math.min(Math.max(head, 0), heads - 1));
  const headAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return [Math.floor((event.clientY - box.top) / size), Math.floor((event.clientX - box.left) / size)];
  };
  body.addEventListener("click", (event) => go(...headAt(event)));
  body.addEventListener("pointermove", (event) => (body.title = `layer ${headAt(event)[0]}, head ${headAt(event)[1]}`));
  body.addEventListener("keydown", (event) => {
    const [layer, head] = cursor;
    const moves = { ArrowUp: [layer - 1, head], ArrowDown: [layer + 1, head], ArrowLeft: [layer, head - 1], ArrowRight: [layer, head + 1],
      PageUp: [layer - 1, head], PageDown: [layer + 1, head], Home: [layer, 0], End: [layer, heads - 1], Enter: cursor, " ": cursor };
    if (!(event.key in moves)) return;
    go(...moves[event.key]);
    event.preventDefault();
  });
  return {
    node: make("div", { class: "scrolls every" }, node),
    focus: () => body.focus({ focusVisible: true }),
    mark(show, layer, head) {
      cursor = [layer, head];
      fill(body, { "aria-valuenow": layer * heads + head, "aria-valuetext": `layer ${layer}, head ${head}` }, []);
      const frame = make("div", { class: "frame strong" });
      const box = { head: [head, layer, 1, 1], layer: [0, layer, heads, 1] }[show] ?? [0, 0, heads, layers];
      const [left, top, width, height] = box.map((count) => count * size);
      Object.assign(frame.style, inPixels({ left: left + 2, top: top + 2, width: width - 4, height: height - 4 }));
      marks.replaceChildren(frame);
      above.mark(show === "head" ? [head] : []);
      beside.mark(show === "head" || show === "layer" ? [layer] : []);
    },
  };
}
