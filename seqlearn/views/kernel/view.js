// KernelView: kernel regression with a slider for the width. Python sends the predictions and weights of all widths.

const SIZE = { width: 460, height: 300, left: 40, right: 10, top: 8, bottom: 34 }; // at most

function build(model, root, data) {
  const { kernels, widths, keys, values, queries, truth } = data;
  const count = queries.values.length;
  let hovered = null;
  const chosen = () => kernels.indexOf(model.get("kernel"));
  const nearest = () => widths.reduce((best, width, i) =>
    Math.abs(width - model.get("width")) < Math.abs(widths[best] - model.get("width")) ? i : best, 0);
  const width = slider({ label: "width", texts: widths.map(number), choose: (i) => change(model, { width: widths[i] }) });
  const kernel = choice({ label: "kernel", texts: kernels, choose: (name) => change(model, { kernel: name }) });
  const panels = make("div", { class: "panels side" });
  const told = make("div");
  layOut(root, "kernel regression", {
    controls: { settings: [width.node, kernel.node] },
    panels,
    legend: legendOf([dotSign("datum"), "data; size: its weight"], [lineSign("line prediction"), "prediction"],
      truth && [lineSign("truth"), "truth"], [dotSign("lost"), "no key within reach"], [frameSign(true), "the weights of a query"]),
    says: [told],
  });
  const lock = (cell) => change(model, { locked: cell ? [cell.row] : [] });
  const point = (cell) => {
    hovered = cell && cell.row;
    explain();
  };
  let [map, chart] = [null, null];
  const rebuild = () => {
    const focused = panels.contains(root.getRootNode().activeElement); // the map then gets the focus of the keyboard again
    const room = roomIn(root);
    map = heatMap({
      title: `weights (${count} queries × ${keys.values.length} keys)`,
      rows: [...queries.values].map(number),
      columns: [...keys.values].map(number),
      start: hovered === null ? null : { row: hovered, column: 0 },
      room,
      point,
      lock,
    });
    chart = plot(data, Math.min(SIZE.width, room), point, (row) => lock(model.get("locked")[0] === row ? null : { row }));
    panels.replaceChildren(chart.node, map.node);
    redraw();
    if (focused) map.focus();
  };

  const rowOf = (query) => weightsOf(data, chosen(), nearest(), query);
  const explain = () => {
    const locked = model.get("locked")[0];
    const query = locked ?? hovered;
    map.target(locked === undefined ? null : { row: locked, column: 0 });
    map.mark(query === null ? [] : [{ row: query, strong: true }]);
    const prediction = query === null ? 0 : data.predictions.at(chosen(), nearest(), query);
    chart.point(query, prediction, query === null ? null : rowOf(query));
    tell(told, ...(query === null ? [hint()] : sentence(data, query, prediction, rowOf(query), locked !== undefined)));
  };
  const redraw = () => {
    const [k, w] = [chosen(), nearest()];
    width.set(w);
    kernel.set(kernels[k]);
    const top = data.tops.at(k, w);
    const cells = count * keys.values.length;
    const start = (k * widths.length + w) * cells;
    const weights = Float32Array.from(data.weights.values.subarray(start, start + cells), (x) => (x / LARGEST) * top);
    map.show(weights, [0, top || 1]);
    chart.curve(data.predictions.values.subarray((k * widths.length + w) * count, (k * widths.length + w + 1) * count),
      (query) => weights.subarray(query * keys.values.length, (query + 1) * keys.values.length).every((x) => x === 0));
    explain();
  };
  rebuild();
  return { width: redraw, kernel: redraw, locked: explain, resized: rebuild };
}

const hint = () => pointHint("the plot or a row of the heat map", "see what a query looks at");

function weightsOf({ weights, tops, keys }, k, w, query) {
  return Array.from(keys.values, (_, key) => (weights.at(k, w, query, key) / LARGEST) * tops.at(k, w));
}

function sentence({ keys, values, queries, truth }, query, prediction, weights, isLocked) {
  const best = weights.indexOf(Math.max(...weights));
  const sorted = [...weights].sort((a, b) => b - a);
  let [needed, sum] = [0, 0];
  while (needed < sorted.length && sum < 0.9) sum += sorted[needed++];
  const looks = weights[best] === 0 ? "No key is within reach, so the prediction is 0." :
    `${needed} of ${weights.length} keys ${needed === 1 ? "carries" : "carry"} 90 % of the weight; the largest, ${number(weights[best])}, is on the key at ` +
    `x = ${number(keys.values[best])} (y = ${number(values.values[best])}).`;
  const here = `Query x = ${number(queries.values[query])}: prediction ${number(prediction)}`;
  const told = truth ? `, truth ${number(truth.values[query])}.` : ".";
  return [make("div", {}, here + told, lockNote(isLocked)), make("div", {}, looks)];
}

/** The data points, the curves, and the query under the mouse. */
function plot({ keys, values, queries, truth, predictions, xlabel, ylabel }, width, point, lock) {
  const { height, top, bottom } = SIZE;
  const [across, up] = [extent(keys.values, queries.values), extent(values.values, predictions.values, truth ? truth.values : [])];
  const { x, y, marks } = plane({ ...SIZE, width }, spread(across), spread(up), xlabel, ylabel);
  const line = (name) => draw("path", { class: name });
  const [prediction, lost, cursor] = [line("line prediction"), draw("g"), line("cursor")];
  const answer = draw("circle", { class: "answer", r: 0 });
  const dots = Array.from(keys.values, (key, i) => draw("circle", { class: "datum", cx: x(key), cy: y(values.values[i]), r: 3 }));
  const track = truth ? [draw("path", { class: "truth", d: path([...queries.values].map((at, i) => [x(at), y(truth.values[i])])) })] : [];
  const nearest = (event) => {
    const at = event.clientX - node.getBoundingClientRect().left;
    return queries.values.reduce((best, query, i) => (Math.abs(x(query) - at) < Math.abs(x(queries.values[best]) - at) ? i : best), 0);
  };
  const node = draw("svg", {
    class: "plot regression", width, height, role: "img", "aria-label": "data points, prediction and truth",
    onpointermove: (event) => point({ row: nearest(event) }),
    onpointerleave: () => point(null),
    onclick: (event) => lock(nearest(event)),
  }, draw("rect", { width, height, fill: "transparent" }), ...marks, ...track, cursor, ...dots, prediction, lost, answer);
  return {
    node,
    /** A line through all predictions, broken where no key is within reach; there a ring stands for each query. */
    curve(list, isLost) {
      const places = Array.from(list, (value, i) => (isLost(i) ? null : [x(queries.values[i]), y(value)]));
      prediction.setAttribute("d", path(places));
      const rings = places.map((place, i) => place ? null : draw("circle", { class: "lost", cx: x(queries.values[i]), cy: y(0), r: 3 }));
      lost.replaceChildren(...rings.filter(Boolean));
    },
    point(query, value, weights) {
      const most = weights ? Math.max(...weights) : 0;
      dots.forEach((dot, i) => dot.setAttribute("r", most ? 1.5 + 9 * Math.sqrt(weights[i] / most) : 3.5));
      const at = query === null ? 0 : x(queries.values[query]);
      cursor.setAttribute("d", query === null ? "" : `M${at} ${top}V${height - bottom}`);
      fill(answer, { r: query === null ? 0 : 5, cx: at, cy: y(value) }, []);
    },
  };
}
