// The answers of the Transformer in the page to an AttentionView, as AttentionView in view.py gives them in Python.

function answers(model, live) {
  onQuestion(model, ["edits"], async () => {
    const [[sentence, before], edits] = [model.get("result").asked, model.get("edits")];
    if (sameQuestion(before, edits)) return;
    const found = await live.ask("translated", { sentence, beam: 1, prefix: [], edits });
    if (found === null || !sameQuestion(edits, model.get("edits"))) return; // another question came meanwhile
    const { text, tokens, pieces, probability } = found.best[0];
    const maps = await live.ask("maps", { source: sentence, target: tokens, edits });
    if (maps === null || !sameQuestion(edits, model.get("edits"))) return;
    const data = model.get("data");
    const parts = data.maps.map(({ kind, roles }) => ({ ...maps[kind], roles }));
    change(model, { steps: {}, result: { asked: [sentence, edits], text, tokens, pieces, probability }, data: { ...data, maps: parts } });
  });
  onQuestion(model, ["zoom", "kind", "layer", "head", "data"], async () => {
    const asked = ["kind", "layer", "head"].map((name) => model.get(name));
    if (model.get("zoom") !== "cell" || sameQuestion(model.get("steps").asked, asked)) return;
    const [[sentence, edits], { tokens }] = [model.get("result").asked, model.get("result")];
    const [kind, layer, head] = asked;
    const steps = await live.ask("steps", { source: sentence, target: tokens, edits, kind, layer, head });
    if (steps !== null) change(model, { steps: { ...steps, asked } });
  });
}
