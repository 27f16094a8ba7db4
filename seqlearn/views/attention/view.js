// AttentionView: a small map of every head of every layer, and one head, or a mean of heads, large. Python computes.

const SHOWS = { head: "one head", layer: "mean of the layer", all: "mean of all heads", rollout: "rollout" };
const HUNDREDTHS = Array.from({ length: 101 }, (_, at) => number(at / 100));

function build(model, root, data) {
  const { maps } = data;
  const within = (x, count) => Math.min(Math.max(x, 0), count - 1);
  /** The current choice, limited to what the maps have. */
  const chosen = () => {
    const map = maps.find(({ kind }) => kind === model.get("kind")) ?? maps[0];
    const [layers, heads] = map.weights.shape;
    const show = model.get("show") === "rollout" && !map.rollout ? "head" : model.get("show");
    return { map, show, layer: within(model.get("layer"), layers), head: within(model.get("head"), heads) };
  };
  const pick = (values) => change(model, values);
  const choices = {
    kind: choice({ label: "attention", texts: maps.map(({ kind }) => kind), choose: (kind) => pick({ ...fitting(maps, model, kind), kind, locked: null }) }),
    show: choice({ label: "show", texts: Object.values(SHOWS), choose: (text) => pick({ show: Object.keys(SHOWS).find((show) => SHOWS[show] === text) }) }),
    lines: slider({ label: "lines from weight", texts: HUNDREDTHS, choose: (at) => pick({ threshold: at / 100 }) }),
  };
  const panels = make("div", { class: "panels looking" });
  const [foot, said, told] = [make("div"), make("div"), make("div")];
  layOut(root, "attention: who looks at whom", {
    controls: { settings: [maps.length > 1 && choices.kind.node, choices.show.node, choices.lines.node] },
    panels,
    legend: foot,
    says: [said, told],
  });

  let [hovered, drawn] = [null, {}]; // drawn: { map, room, panel, heads, what }, the parts on the page
  const locked = () => {
    const target = model.get("locked");
    return target && fits(chosen().map, target) ? target : null;
  };
  const explain = () => {
    const target = locked() ?? hovered;
    drawn.panel.mark(target, locked() !== null);
    tell(told, ...(target ? drawn.panel.says(target, locked() !== null) : [pointHint("a token, a line or a cell", "read its weights")]));
  };
  const point = (target) => {
    if (String(target) === String(hovered)) return;
    hovered = target;
    explain();
  };
  const rebuild = (map, room) => {
    hovered = null;
    const masked = (i, j) => map.mask !== null && !map.mask.at(i, j) && !(i === j && chosen().show === "rollout");
    const panel = attentionPanel({ ...map, isMasked: masked, room, point, lock: (target) => pick({ locked: target }) });
    const several = map.weights.shape[0] * map.weights.shape[1] > 1;
    const heads = several && headGrid(map, room, (layer, head) => pick({ show: "head", layer, head }));
    drawn = { map, room, panel, heads };
    panels.replaceChildren(...panel.nodes, ...(heads ? [heads.node] : []));
    foot.replaceChildren(panel.legend);
  };
  const redraw = () => {
    const { map, show, layer, head } = chosen();
    const room = roomIn(root);
    const focused = [...panels.children].findIndex((node) => node.contains(root.getRootNode().activeElement));
    if (map !== drawn.map || room !== drawn.room) rebuild(map, room);
    const threshold = model.get("threshold");
    const what = [show, layer, head, threshold].join();
    if (what === drawn.what) return;
    drawn.what = what;
    choices.kind.set(map.kind);
    choices.show.set(SHOWS[show]);
    choices.show.node.querySelector("option:last-child").disabled = !map.rollout;
    choices.lines.set(Math.round(100 * threshold));
    const title = { head: `layer ${layer}, head ${head}`, layer: `mean of layer ${layer}`, all: SHOWS.all, rollout: SHOWS.rollout }[show];
    const lines = drawn.panel.show(weightsOf(map, show, layer, head), { title, threshold, made: show === "rollout" });
    if (drawn.heads) drawn.heads.mark(show, layer, head);
    tell(said, `${map.kind} attention, ${title}: ${lines}`);
    explain();
    if (focused >= 0 && !panels.contains(root.getRootNode().activeElement)) {
      if (focused < 2) drawn.panel.focus(focused); // the focus of the keyboard stays on the same part
      else drawn.heads?.focus();
    }
  };
  root.onkeydown = (event) => {
    if (event.key === "Escape") pick({ locked: null });
    const by = { PageUp: -1, PageDown: 1 }[event.key];
    if (!by || event.target.matches("input, select, .heads *")) return;
    const { map, show, layer, head } = chosen();
    pick({ layer: within(layer + by, map.weights.shape[0]), head, show: show === "layer" ? show : "head" });
    event.preventDefault();
  };
  redraw();
  return { kind: redraw, layer: redraw, head: redraw, show: redraw, threshold: redraw, locked: explain, resized: redraw };
}

/** Layer, head and show for another kind, which may have fewer of them. */
function fitting(maps, model, kind) {
  const map = maps.find((one) => one.kind === kind);
  const [layers, heads] = map.weights.shape;
  const show = model.get("show") === "rollout" && !map.rollout ? "head" : model.get("show");
  return { layer: Math.min(model.get("layer"), layers - 1), head: Math.min(model.get("head"), heads - 1), show };
}

function fits({ queries, keys }, [what, ...at]) {
  const counts = { query: [queries.length], key: [keys.length], pair: [queries.length, keys.length] }[what];
  return at.every((index, place) => index < counts[place]);
}
