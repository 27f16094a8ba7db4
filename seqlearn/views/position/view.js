// PositionView: a table of positions, two of them, and the rotation between the two. Python computes all numbers.

const CLOCK = { width: 290, height: 236, x: 145, y: 118, radius: 82 };
const BEAT = 500; // milliseconds from position to position while the view plays
const TAG = 14; // pixels: the height of the names i and j beside the map
const LABELS = [1, 2, 5, 10, 20, 50, 100]; // one label for so many rows or columns

function build(model, root, data) {
  const { table, start, frequencies, note } = data;
  const [positions] = table.shape;
  const within = (x, low, high) => Math.min(Math.max(x, low), high);
  /** The current choice: the rows i and j = i + k of the table, and the pair m. */
  const chosen = () => {
    const i = within(model.get("position") - start, 0, positions - 1);
    const k = within(model.get("offset"), -i, positions - 1 - i);
    return { i, k, j: i + k, m: within(model.get("pair"), 0, Math.max(frequencies.length - 1, 0)) };
  };
  let [hovered, stopped, timer] = [null, "", 0];
  /** Move i or k. The move stops where j would leave the table; the other one of i and k stays. */
  const move = (name, wanted) => {
    const { i, k } = chosen();
    const value = name === "i" ? within(wanted, Math.max(0, -k), positions - 1 - Math.max(0, k)) : within(wanted, -i, positions - 1 - i);
    stopped = value === wanted ? "" : `${name} stops here: j = i + k has to be in the table. `;
    if (value === { i, k }[name]) redraw(); // the slider goes back
    else change(model, name === "i" ? { position: start + value } : { offset: value });
  };
  const offsets = Array.from({ length: 2 * positions - 1 }, (_, at) => at + 1 - positions);
  const sliders = {
    i: slider({ label: "position i", texts: rowNames(data), choose: (row) => move("i", row) }),
    k: slider({ label: "offset k", texts: offsets.map(number), choose: (at) => move("k", offsets[at]) }),
    m: note ? null : slider({
      label: "pair",
      texts: frequencies.map((_, pair) => `${pair}: dimensions ${2 * pair} and ${2 * pair + 1}`),
      choose: (pair) => change(model, { pair }),
    }),
  };
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  /** The next i; after the last one the first, from where j = i + k is in the table. Gives whether a later one is left. */
  const walk = () => {
    const { i, k } = chosen();
    const [first, last] = [Math.max(0, -k), positions - 1 - Math.max(0, k)];
    const next = i < last ? i + 1 : first;
    change(model, { position: start + next });
    return next < last;
  };
  const play = make("button", { type: "button", onclick: () => (timer ? stop() : still.matches ? walk() : run()) });
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    named();
  };
  const run = () => {
    timer = setInterval(() => (!play.isConnected || !walk()) && stop(), BEAT);
    named();
    if (!walk()) stop();
  };
  const named = () => {
    const [name, text] = timer ? ["stop", "■ Stop"] : still.matches ? ["next position", "i + 1 ▶"] : ["play: move i", "▶ Play"];
    play.setAttribute("aria-label", name);
    play.textContent = text;
    said.closest(".says").setAttribute("aria-live", timer ? "off" : "polite"); // else a screen reader reads every position
  };
  still.onchange = () => stop();
  const panels = make("div", { class: "panels side" });
  const [pointed, said] = [make("div"), make("div")];
  layOut(root, "a table of positions", {
    controls: { settings: [...Object.values(sliders).map((control) => control && control.node), play] },
    panels,
    legend: legendOf(note ? null : [lineSign("hand i"), "i"], note ? null : [lineSign("hand j"), "j = i + k"],
      [dotSign("spot"), "j in the plot"], [frameSign(), note ? "the rows of i and j" : "the rows of i and j, the columns of the pair"]),
    says: [said, pointed],
  });
  stop();

  let shown; // { map, turn, curve }
  const explain = () => tell(pointed, hovered ? cellText(data, hovered) : hint());
  const redraw = () => {
    const now = chosen();
    sliders.i.set(now.i);
    sliders.k.set(now.k + positions - 1);
    if (!note) sliders.m.set(now.m);
    Object.values(shown).forEach((part) => part.update(now));
    tell(said, stopped + pairText(data, now));
    stopped = "";
  };
  const rebuild = () => {
    const focused = panels.contains(root.getRootNode().activeElement); // the map then gets the focus of the keyboard again
    const room = roomIn(root);
    const map = mapOf(data, room, {
      start: hovered,
      point: (cell) => {
        hovered = cell;
        explain();
      },
      lock: (cell) => {
        if (!cell) return;
        const pair = Math.floor(cell.column / 2);
        if (pair < frequencies.length) change(model, { pair });
        move("i", cell.row);
      },
    });
    const larger = growth(room);
    const beside = room - map.width - CLOCK.width * larger - 60; // room for the curve in the same line
    const turn = note ? remark(note) : clock(data, larger);
    shown = { map, turn, curve: curve(data, Math.min(beside < 220 ? room : beside, 400 * larger), larger) };
    panels.replaceChildren(...Object.values(shown).map(({ node }) => node));
    explain();
    redraw();
    if (focused) map.focus();
  };
  rebuild();
  return { position: redraw, offset: redraw, pair: redraw, resized: rebuild };
}

/** By how much all is larger in a large room. */
const growth = (room) => Math.min(Math.max(room / 1000, 1), 1.4);

const hint = () => pointHint("the map", "read its numbers", { enter: "moves i there" });

const rowNames = ({ table, start }) => Array.from({ length: table.shape[0] }, (_, row) => String(start + row));

function cellText({ table, start, frequencies, note }, { row, column }) {
  const [value, place] = [table.at(row, column), start + row];
  const head = `Position ${place}, dimension ${column}: `;
  const omega = frequencies[Math.floor(column / 2)];
  if (note || omega === undefined) return head + number(value);
  return head + `${column % 2 ? "cos" : "sin"}(${place} · ${number(omega)}) ${relation([omega, value])} ${number(value)}`;
}

/** The chosen pair in words: how fast it turns, from where to where. */
function pairText({ start, frequencies, products, note }, { i, j, k, m }) {
  const product = `P[${start + i}] · P[${start + j}] ${relation([products.at(i, j)])} ${number(products.at(i, j))}.`;
  if (note) return `From i = ${start + i} to j = ${start + j}: ${product} At the same distance, another i may have another product.`;
  const [omega, angle] = [frequencies[m], k * frequencies[m]];
  const period = (2 * Math.PI) / omega;
  return `Pair ${m} turns by ω ${relation([omega])} ${number(omega)} rad a position: a full turn takes ` +
    `${number(period >= 100 ? Math.round(period) : period)} positions. From i = ${start + i} to j = ${start + j} it turns by ` +
    `k ω ${relation([angle])} ${number(angle)} rad = ${degrees(angle)}, the same for every i. ${product}`;
}

/** An angle in degrees; whole turns are counted. */
function degrees(angle) {
  const turns = Math.trunc(angle / (2 * Math.PI));
  const rest = ((angle - turns * 2 * Math.PI) * 180) / Math.PI;
  const text = `${number(Math.abs(rest) >= 10 ? Math.round(rest) : rest)}°`;
  return turns ? `${number(turns)} ${Math.abs(turns) === 1 ? "turn" : "turns"} and ${text}` : text;
}

/** The map: a row for each position, a column for each dimension; rows i and j and the columns of the pair are framed. */
function mapOf(data, room, options) {
  const { table, limit, note } = data;
  const [positions, size] = table.shape;
  const width = Math.max(1, Math.min(CELL.width, Math.floor(Math.min(room - 90, 330 * growth(room)) / size)));
  const height = Math.max(1, Math.min(CELL.height, Math.floor((380 * growth(room)) / positions)));
  const each = (pixels, least) => LABELS.find((count) => count * pixels >= least) ?? 200;
  const map = heatMap({
    title: `${positions} positions × ${size} dimensions`,
    rows: rowNames(data),
    columns: Array.from({ length: size }, (_, column) => String(column)),
    ramp: BLUE_RED,
    every: { rows: each(height, 14), columns: each(width, 26) },
    enters: "Enter moves i",
    width,
    height,
    ...options,
  });
  map.show(table.values, [-limit, limit]);
  return {
    node: make("div", { class: "table" }, map.node),
    focus: map.focus,
    width: Math.max(width * size, 180) + 80,
    update({ i, j, m }) {
      const tagged = (row, name, where) => ({ row, tag: make("span", { class: `tag ${where}` }, name) });
      const [above, below] = Math.abs(j - i) * height < TAG ? ["above", "below"] : ["", ""]; // apart where both are near
      const rows = i === j ? [tagged(i, "i = j", "")] : [tagged(i, "i", i < j ? above : below), tagged(j, "j", i < j ? below : above)];
      map.mark(note ? rows : [...rows, { column: 2 * m, span: 2 }]);
    },
  };
}

const remark = (text) => ({ node: make("p", { class: "remark" }, text), update: () => {} });

/** The pair as a clock with two hands, and the matrix that turns one hand into the other. */
function clock({ table, start, turns, frequencies }, larger) {
  const { width, height, radius } = CLOCK;
  const place = (angle, r) => [CLOCK.x + r * Math.sin(angle), CLOCK.y - r * Math.cos(angle)]; // from the top, clockwise
  const [title, axes] = [make("figcaption", {}), make("div", { class: "faint" })];
  const dots = draw("g");
  let drawn; // the pair of the dots
  const hands = { i: draw("path", { class: "hand i" }), j: draw("path", { class: "hand j" }) };
  const names = { i: draw("text", { class: "name" }), j: draw("text", { class: "name" }) };
  const [turn, head] = [draw("path", { class: "turn" }), draw("path", { class: "arrow" })];
  const face = draw("svg", { class: "plot", width: width * larger, height: height * larger, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "the pair at i and at j, as hands of a clock" },
    draw("path", { class: "axis", d: `M${CLOCK.x - radius} ${CLOCK.y}h${2 * radius}M${CLOCK.x} ${CLOCK.y - radius}v${2 * radius}` }),
    draw("circle", { class: "axis", cx: CLOCK.x, cy: CLOCK.y, r: radius }), dots, turn, head, hands.j, hands.i, names.i, names.j);
  const equation = make("div", { class: "equation", role: "img" });
  const stays = "The matrix depends on k and the pair, not on i: move i, and the matrix stays the same.";
  const node = make("figure", { class: "clock" }, title, axes, face, equation, make("p", { class: "faint" }, stays));
  node.style.width = `${width * larger}px`;
  return {
    node,
    update({ i, j, k, m }) {
      const hand = (row) => [table.at(row, 2 * m), table.at(row, 2 * m + 1)];
      const [cosine, sine] = [0, 1].map((part) => turns.at(k + table.shape[0] - 1, m, part));
      const angles = { i: Math.atan2(...hand(i)), j: Math.atan2(...hand(j)) };
      title.textContent = `pair ${m} as the hand of a clock`;
      axes.textContent = `across: dimension ${2 * m}, sine; up: ${2 * m + 1}, cosine`;
      if (m !== drawn) {
        const rows = Array.from({ length: table.shape[0] }, (_, row) => hand(row));
        dots.replaceChildren(...rows.map(([x, y]) => draw("circle", { class: "dot", cx: CLOCK.x + radius * x, cy: CLOCK.y - radius * y, r: 2 })));
        drawn = m;
      }
      for (const [name, row] of [["i", i], ["j", j]]) {
        hands[name].setAttribute("d", `M${CLOCK.x} ${CLOCK.y}L${place(angles[name], radius)}`);
        names[name].textContent = name === "j" && i === j ? "" : `${i === j ? "i = j" : name} = ${start + row}`;
      }
      labels(names, angles, k, (angle) => place(angle, radius + 16));
      spiral(turn, head, angles.i, k * frequencies[m], place);
      equation.replaceChildren(matrix([[cosine, sine], [-sine, cosine]], `rotation by k = ${number(k)}`), "·",
        matrix(hand(i).map((x) => [x]), `i = ${start + i}`), "=", matrix(hand(j).map((x) => [x]), `j = ${start + j}`));
      equation.setAttribute("aria-label", `The matrix of k = ${k}, rows ${fixed(cosine)}, ${fixed(sine)} and ${fixed(-sine)}, ` +
        `${fixed(cosine)}, times ${hand(i).map(fixed).join(", ")} is ${hand(j).map(fixed).join(", ")}.`);
    },
  };
}

/** The names of the hands at their ends; the names of two close hands are pushed apart. */
function labels(names, angles, k, place) {
  const between = Math.atan2(Math.sin(angles.j - angles.i), Math.cos(angles.j - angles.i));
  const push = k && Math.abs(between) < 0.5 ? ((0.5 - Math.abs(between)) / 2) * (between < 0 ? -1 : 1) : 0;
  for (const [name, angle] of [["i", angles.i - push], ["j", angles.j + push]]) {
    const [x, y] = place(angle);
    const side = Math.sin(angle);
    fill(names[name], { x, y: y + 4, "text-anchor": side > 0.3 ? "start" : side < -0.3 ? "end" : "middle" }, []);
  }
}

/** A spiral from hand i to hand j, with an arrow head; of many turns the last three are drawn. */
function spiral(turn, head, from, angle, place) {
  const start = Math.sign(angle) * Math.max(0, Math.abs(angle) - 6 * Math.PI);
  const steps = Math.max(2, Math.ceil(Math.abs(angle - start) / 0.1));
  const at = (share) => place(from + start + share * (angle - start), 26 + (8 * share * Math.abs(angle - start)) / (2 * Math.PI));
  turn.setAttribute("d", path(Array.from({ length: steps + 1 }, (_, step) => at(step / steps))));
  const [x, y] = at(1);
  const way = from + angle + (Math.sign(angle) * Math.PI) / 2; // at a right angle to the hand
  const corner = (by) => [x - 9 * Math.sin(way + by), y + 9 * Math.cos(way + by)];
  head.setAttribute("d", Math.abs(angle) > 0.3 ? `M${x} ${y}L${corner(0.4)}L${corner(-0.4)}Z` : "");
}

const fixed = (x) => (Math.abs(x) < 0.0005 ? "0.000" : x.toFixed(3).replace("-", "−"));

function matrix(rows, name) {
  const cells = rows.flat().map((x) => make("span", {}, fixed(x)));
  const body = make("div", { class: rows[0].length > 1 ? "matrix wide" : "matrix" }, ...cells);
  return make("div", { class: "named" }, body, make("div", { class: "faint" }, name));
}

/** The dot product of P[i] with the row of every position, by distance. */
function curve({ products }, width, larger) {
  const count = products.shape[0];
  const box = { width, height: 250 * larger, left: 40 * larger, right: 10, top: 12, bottom: 34 * larger };
  const { x, y, marks } = plane(box, [1 - count, count - 1 || 1], spread(extent(products.values)), "distance j − i", "P[i] · P[j]");
  const [line, dot] = [draw("path", { class: "line" }), draw("circle", { class: "spot", r: 5 })];
  const title = make("figcaption", {}, "dot product of P[i] with every P[j]");
  const node = draw("svg", { class: "plot", width, height: box.height, role: "img", "aria-label": "dot product against distance" },
    ...marks, line, dot);
  node.style.fontSize = `${Math.round(11 * larger)}px`;
  return {
    node: make("figure", { class: "curve" }, title, node),
    update({ i, j, k }) {
      line.setAttribute("d", path(Array.from({ length: count }, (_, row) => [x(row - i), y(products.at(i, row))])));
      fill(dot, { cx: x(k), cy: y(products.at(i, j)) }, []);
    },
  };
}
