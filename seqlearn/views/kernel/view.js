// KernelView: kernel regression with a slider for the width, and readings that can be moved. Python sends the predictions and
// weights of all widths; for moved readings Python computes anew, and in a page of its own the browser.

const SIZE = { width: 520, height: 320, left: 40, right: 10, top: 8, bottom: 34 }; // of the plot in a room of ROOM pixels
const ROOM = 1000;
const LARGER = 1.4; // at most, in a larger room
const REACH = { mouse: 11, touch: 22 }; // pixels from a reading within which it is taken hold of
const STILL = 3; // pixels by which a click may move
const LEAST_HELD = 6; // pixels: the radius of a reading that is held
const NUDGE = 1 / 40; // of the axis, by which a key moves a reading
const PATIENCE = 400; // milliseconds until a view that waits for Python says so

function build(model, root, data) {
  const { kernels, widths, queries, truth } = data;
  const text = textsOf(data);
  const given = Array.from(data.keys.values, (key, i) => [key, data.values.values[i]]);
  const chosen = () => kernels.indexOf(model.get("kernel"));
  const nearest = () => widths.reduce((best, width, i) =>
    Math.abs(width - model.get("width")) < Math.abs(widths[best] - model.get("width")) ? i : best, 0);
  const width = slider({ label: "width", texts: widths.map(number), choose: (i) => change(model, { width: widths[i] }) });
  const which = choice({ label: "kernel", texts: kernels, choose: (name) => change(model, { kernel: name }) });
  const putBack = () => {
    change(model, { readings: given });
    chart.node.focus({ preventScroll: true }); // the button is off now, and would lose the focus
  };
  const undo = make("button", { type: "button", "aria-label": "put the readings back", onclick: putBack }, "Put the readings back");
  const panels = make("div", { class: "panels side" });
  const [told, moved] = [make("div"), make("div")];
  layOut(root, "kernel regression", {
    controls: { settings: [width.node, which.node, undo] },
    panels,
    legend: legendOf([dotSign("datum"), "data; size: its weight"], [lineSign("line prediction"), "prediction"],
      truth && [lineSign("truth"), "truth"], kernels.some((name) => !ENDLESS.includes(name)) && [dotSign("lost"), "no prediction: no key within reach"],
      [frameSign(), "the weights of a query"]),
    says: [told, moved],
  });
  const lock = (cell) => change(model, { locked: cell ? [cell.row] : [] });
  let [hovered, map, chart, labels, shown] = [null, null, null, "", null]; // shown: { readings, weights, predictions, curve }
  const point = (cell) => {
    hovered = cell && cell.row;
    explain();
  };
  /** Moves a reading. The readings stay sorted by their keys: gives the new index of the reading. */
  const move = (index, place) => {
    const readings = model.get("readings").map((reading, i) => (i === index ? place : reading)).sort((a, b) => a[0] - b[0]);
    change(model, { readings });
    tell(moved, `Reading ${readings.indexOf(place) + 1} of ${readings.length}: ${text.reading(place)}.`);
    return readings.indexOf(place);
  };

  const explain = () => {
    const locked = model.get("locked")[0];
    const query = locked ?? hovered;
    map.target(locked === undefined ? null : { row: locked, column: 0 });
    map.mark(query === null ? [] : [{ row: query }]); // a thin frame: rows may have 3 pixels
    const weights = query === null ? null : rowOf(shown, query);
    const prediction = query === null ? 0 : shown.predictions[query];
    chart.point(query, prediction, weights);
    tell(told, ...(query === null ? hint() : sentence(data, text, shown.readings, query, prediction, weights, locked !== undefined)));
  };
  /** The map with the labels of the keys, which change where a reading moves sideways. */
  const relabel = () => {
    const columns = shown.readings.map(([key]) => text.short(key));
    if (map && columns.join() === labels) return;
    labels = columns.join();
    const before = map && map.node;
    const focused = before && before.contains(root.getRootNode().activeElement); // the map then gets the focus of the keyboard again
    const start = hovered === null ? null : { row: hovered, column: 0 };
    map = weightMap([...queries.values].map(text.short), columns, { room: roomIn(root), start, point, lock });
    if (before) before.replaceWith(map.node);
    if (focused) map.focus();
  };
  const redraw = () => {
    const [k, w, readings] = [chosen(), nearest(), model.get("readings")];
    width.set(w);
    which.set(kernels[k]);
    const isGiven = JSON.stringify(readings) === JSON.stringify(given);
    undo.disabled = isGiven;
    if (isGiven) tell(moved, dragHint());
    const wanted = JSON.stringify([kernels[k], model.get("width"), readings]);
    const answer = isGiven ? stored(data, k, w) : model.get("alone") ? computed(data, kernels[k], widths[w], readings) : answerOf(model, data, k, w);
    shown = { ...answer, readings };
    relabel();
    map.show(shown.weights, [0, data.limit]); // one scale for all kernels and widths: a broad kernel is dim
    if (extent(data.tops.values)[1] > data.limit + 1e-6) map.node.querySelector(".foot").lastChild.textContent = `≥ ${number(data.limit)}`;
    chart.curve(shown.curve, Array.from(queries.values, (_, query) => rowOf(shown, query).every((x) => x === 0)));
    explain();
    panels.classList.remove("waiting");
    clearTimeout(redraw.timer);
    if (isGiven || model.get("alone")) return;
    redraw.timer = setTimeout(() => {
      if (JSON.stringify(model.get("answer").of ?? null) === wanted) return;
      panels.classList.add("waiting");
      tell(moved, "The curve and the weights are those of the former readings: Python is busy, or not running.");
    }, PATIENCE);
  };
  const rebuild = () => {
    const room = roomIn(root);
    const held = panels.contains(root.getRootNode().activeElement) && root.getRootNode().activeElement.className;
    chart = plot(data, text, sizeIn(room), { point, move, lock: (row) => lock(model.get("locked")[0] === row ? null : { row }), readings: () => model.get("readings") });
    map = null;
    redraw();
    panels.replaceChildren(chart.node, map.node);
    if (held) (held === "handles" ? chart : map).focus();
  };
  rebuild();
  return { width: redraw, kernel: redraw, readings: redraw, answer: redraw, locked: explain, resized: rebuild };
}

const ENDLESS = ["gaussian", "constant"]; // kernels within whose reach every key is

const hint = () => [pointHint("the plot or a row of the heat map", "see what a query looks at")];
const dragHint = () => make("span", { class: "faint" }, "Drag a reading, and the curve follows" +
  (byFinger() ? "." : "; with the keys: arrows left and right choose one, up and down move it, with Shift all four."));

/** By how much plot and map are larger in a large room, and the size of the plot. */
const growth = (room) => Math.min(Math.max(room / ROOM, 1), LARGER);
const sizeIn = (room) => {
  const size = Object.fromEntries(Object.entries(SIZE).map(([name, pixels]) => [name, Math.round(pixels * growth(room))]));
  return { ...size, width: Math.min(size.width, room), font: Math.round(11 * growth(room)) };
};

/** How keys and values are written: short(x) in a label, at(x) and up(y) in a sentence, reading([x, y]). */
function textsOf({ clock, xlabel, ylabel }) {
  const short = clock ? clockTime : number;
  const at = (x) => (clock ? clockTime(x) : `${named(xlabel, "x")} = ${number(x)}`);
  const up = (y) => `${named(ylabel, "y")} = ${number(y)}`;
  return { short, at, up, reading: ([x, y]) => `${at(x)}, ${up(y)}` };
}

/** The name of an axis in a sentence; a letter in place of a long one. */
const named = (label, letter) => ([...label].length <= LONGEST_NAME ? oneLine(label) : letter);
const LONGEST_NAME = 24;

/** 6:30 for 6.5 hours. */
function clockTime(hours) {
  const minutes = Math.round(hours * 60);
  return `${Math.floor(minutes / 60)}:${String(minutes - 60 * Math.floor(minutes / 60)).padStart(2, "0")}`;
}

/** What Python sent for the readings as given: the curve, and of each query prediction and weights. */
function stored({ widths, tops, weights, predictions, curves, keys, queries, line }, k, w) {
  const part = ({ values }, size) => values.subarray((k * widths.length + w) * size, (k * widths.length + w + 1) * size);
  const cells = queries.values.length * keys.values.length;
  return {
    weights: Float32Array.from(part(weights, cells), (x) => (x / LARGEST) * tops.at(k, w)),
    predictions: part(predictions, queries.values.length),
    curve: part(curves, line.values.length),
  };
}

/** The same for moved readings, in a page without Python. */
function computed({ queries, line }, name, width, readings) {
  const { weights, predictions } = kernelRegression(name, width, [...queries.values], readings);
  const { predictions: curve } = kernelRegression(name, width, [...line.values], readings);
  return { weights: Float32Array.from(weights.flat()), predictions: predictions.map((x) => x || 0), curve };
}

/** The same as Python answered; before the first answer, as it was. */
function answerOf(model, data, k, w) {
  const answer = unpack(model.get("answer"));
  if (!answer.curve) return stored(data, k, w);
  return { weights: answer.weights.values, predictions: answer.predictions.values, curve: answer.curve.values };
}

const rowOf = ({ weights, readings }, query) => Array.from(weights.subarray(query * readings.length, (query + 1) * readings.length));

/** The heat map of the weights, with as many labels as have room. */
function weightMap(rows, columns, { room, ...options }) {
  const few = rows.length <= MOST_NUMBERS && columns.length <= MOST_NUMBERS;
  const wide = Math.max(2, Math.min(CELL.width - 1, Math.floor(Math.min(400 * growth(room), room - longestOf(rows) - 45) / columns.length)));
  const high = Math.max(2, Math.min(CELL.height, Math.floor((320 * growth(room)) / rows.length)));
  /** One label for so many: at least as many as have room, and those with the roundest texts, such as full hours. */
  const digits = (text) => text.replace(/[:.]?0+$/, "").length;
  const every = (texts, least) => {
    const mean = (count) => texts.filter((_, i) => i % count === 0).reduce((sum, one, _, { length }) => sum + digits(one) / length, 0);
    return Array.from({ length: least + 1 }, (_, i) => least + i).reduce((best, count) => (mean(count) < mean(best) ? count : best), least);
  };
  const sizes = few ? { room } : { width: wide, height: high,
    every: { rows: every(rows, Math.ceil(14 / high)), columns: Math.ceil((longestOf(columns) + 10) / wide) } };
  return heatMap({
    title: `weights (${rows.length} queries × ${columns.length} keys)`,
    rows, columns, word: (weight) => (weight < HIDDEN_BELOW ? "" : null), ...sizes, ...options,
  });
}

function sentence({ queries, truth }, text, readings, query, prediction, weights, isLocked) {
  const best = weights.indexOf(Math.max(...weights));
  const sorted = [...weights].sort((a, b) => b - a);
  let [needed, sum] = [0, 0];
  while (needed < sorted.length && sum < 0.9) sum += sorted[needed++];
  const isLost = weights[best] === 0;
  const looks = isLost ? "No key is within reach: the sum is empty." :
    `${needed} of ${weights.length} keys ${needed === 1 ? "carries" : "carry"} 90 % of the weight; the largest, ${number(weights[best])}, is on the key at ` +
    `${text.at(readings[best][0])} (${text.up(readings[best][1])}).`;
  const here = `Query ${text.at(queries.values[query])}: ${isLost ? "no prediction (the code gives 0)" : `prediction ${number(prediction)}`}`;
  const told = truth ? `, truth ${number(truth.values[query])}.` : ".";
  return [make("div", {}, here + told, lockNote(isLocked)), make("div", {}, looks)];
}

/** The readings, which can be moved, the curves, and the query under the mouse. */
function plot({ keys, values, queries, truth, line, xlabel, ylabel, clock }, text, size, { point, move, lock, readings }) {
  const { width, height, left, right, top, bottom } = size;
  const start = readings();
  const across = spread(extent(keys.values, queries.values, start.map(([x]) => x)));
  const up = spread(spread(extent(values.values, truth ? truth.values : [], start.map(([, y]) => y)))); // with room to move
  const hours = [1, 2, 3, 6, 12, 24].find((count) => (across[1] - across[0]) / count <= 6) ?? 24;
  const times = { at: Array.from({ length: 8 }, (_, i) => (Math.ceil(across[0] / hours) + i) * hours).filter((x) => x <= across[1]), write: clockTime };
  const { x, y, marks } = plane(size, across, up, xlabel, ylabel, clock ? times : undefined);
  const back = ([px, py]) => [ // the reading at this pixel, within the axes
    across[0] + ((px - left) / (width - left - right)) * (across[1] - across[0]),
    up[1] - ((py - top) / (height - top - bottom)) * (up[1] - up[0]),
  ].map((at, axis) => Math.min(Math.max(at, [across, up][axis][0]), [across, up][axis][1]));
  const draft = (name) => draw("path", { class: name });
  const [prediction, lost, cursor] = [draft("line prediction"), draw("g"), draft("cursor")];
  const answer = draw("circle", { class: "answer", r: 0 });
  const dots = start.map(() => draw("circle", { class: "datum", r: 3 }));
  const track = truth ? [draw("path", { class: "truth", d: path([...queries.values].map((at, i) => [x(at), y(truth.values[i])])) })] : [];
  const svg = draw("svg", { class: "plot regression", width, height, "aria-hidden": "true" },
    draw("rect", { width, height, fill: "transparent" }), ...marks, ...track, cursor, prediction, ...dots, lost, answer);
  svg.style.fontSize = `${size.font}px`;
  const node = make("div", { class: "handles", role: "slider", tabindex: 0, "aria-valuemin": 1, "aria-valuemax": dots.length,
    "aria-label": "readings: left and right choose one, up and down move it, with Shift all four move it" }, svg);
  let [cursorAt, dragged, wasDragged, pressed, shares] = [0, null, false, null, null]; // shares: of the largest weight, or null
  const pixels = (event) => [event.clientX - svg.getBoundingClientRect().left, event.clientY - svg.getBoundingClientRect().top];
  const nearest = (event) => {
    const [at] = pixels(event);
    return queries.values.reduce((best, query, i) => (Math.abs(x(query) - at) < Math.abs(x(queries.values[best]) - at) ? i : best), 0);
  };
  const readingAt = (event) => {
    const [px, py] = pixels(event);
    const far = readings().map(([key, value]) => Math.hypot(x(key) - px, y(value) - py));
    const least = Math.min(...far);
    return least <= (REACH[event.pointerType] ?? REACH.mouse) ? far.indexOf(least) : null;
  };
  /** The size of a dot is the weight of the reading; the one that is held stays large enough to be seen. */
  const resize = () => dots.forEach((dot, i) => {
    const least = i === cursorAt && (dragged !== null || node.matches(":focus")) ? LEAST_HELD : 0;
    dot.setAttribute("r", Math.max(least, shares ? 1.5 + 9 * Math.sqrt(shares[i]) : 3.5));
  });
  const choose = (index) => {
    cursorAt = index;
    fill(node, { "aria-valuenow": index + 1, "aria-valuetext": `reading ${index + 1} of ${dots.length}: ${text.reading(readings()[index])}` }, []);
    dots.forEach((dot, i) => dot.classList.toggle("held", i === index));
    resize();
  };
  const hold = (index) => {
    dragged = index;
    svg.classList.toggle("grabbing", index !== null);
    resize();
  };
  const listeners = {
    pointerdown(event) {
      wasDragged = false;
      const [index, [px, py]] = [readingAt(event), pixels(event)];
      hold(index);
      if (index === null) return;
      const [key, value] = readings()[index];
      pressed = { at: [px, py], by: [x(key) - px, y(value) - py] }; // the reading keeps its distance from the finger
      svg.setPointerCapture(event.pointerId);
      choose(index);
    },
    touchstart: (event) => dragged !== null && event.preventDefault(), // the finger moves a reading, and not the page
    pointermove(event) {
      if (dragged === null) {
        svg.classList.toggle("grab", readingAt(event) !== null);
        return point({ row: nearest(event) });
      }
      const now = pixels(event);
      wasDragged ||= Math.hypot(now[0] - pressed.at[0], now[1] - pressed.at[1]) > STILL;
      if (!wasDragged) return;
      choose((dragged = move(dragged, back(now.map((pixel, axis) => pixel + pressed.by[axis])))));
      point({ row: nearest(event) });
    },
    pointerup(event) {
      if (event.pointerType === "touch" && dragged !== null && !wasDragged) lock(nearest(event)); // after touchstart there is no click
      hold(null);
    },
    pointercancel: () => hold(null),
    pointerleave: (event) => event.pointerType !== "touch" && point(null), // a finger leaves after every tap
    click: (event) => wasDragged || lock(nearest(event)),
  };
  Object.entries(listeners).forEach(([name, listener]) => svg.addEventListener(name, listener, { passive: false }));
  ["focus", "blur"].forEach((name) => node.addEventListener(name, resize));
  node.addEventListener("keydown", (event) => {
    const [right, up_] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [0, 0];
    const ends = { Home: 0, End: dots.length - 1 }[event.key];
    if (ends !== undefined) choose(ends);
    else if (right && !event.shiftKey) choose(Math.min(Math.max(cursorAt + right, 0), dots.length - 1));
    else if (right || up_) {
      const [key, value] = readings()[cursorAt];
      const steps = [right * NUDGE * (width - left - right), up_ * NUDGE * (height - top - bottom)];
      const place = back([x(key) + steps[0], y(value) - steps[1]]);
      choose(move(cursorAt, right ? [place[0], value] : [key, place[1]])); // the other number stays exactly as it was
    } else return;
    event.preventDefault();
  });
  choose(0);
  return {
    node,
    focus: () => node.focus({ focusVisible: true }),
    /** A line through many points, broken where no key is within reach; there a ring stands on the axis for each query. */
    curve(list, isLost) {
      prediction.setAttribute("d", path(Array.from(list, (value, i) => (Number.isNaN(value) ? null : [x(line.values[i]), y(value)]))));
      lost.replaceChildren(...isLost.flatMap((none, i) => (none ? [draw("circle", { class: "lost", cx: x(queries.values[i]), cy: height - bottom, r: 3 })] : [])));
      readings().forEach(([key, value], i) => fill(dots[i], { cx: x(key), cy: y(value) }, []));
      choose(cursorAt);
    },
    point(query, value, weights) {
      const most = weights ? Math.max(...weights) : 0;
      shares = most ? Array.from(weights, (weight) => weight / most) : null;
      resize();
      const at = query === null ? 0 : x(queries.values[query]);
      cursor.setAttribute("d", query === null ? "" : `M${at} ${top}V${height - bottom}`);
      fill(answer, { r: most ? 5 : 0, cx: at, cy: most ? y(value) : 0 }, []);
    },
  };
}
