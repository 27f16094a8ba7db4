// The answers of the Transformer in the page to an AttentionView, as AttentionView in view.py gives them in Python.

function answers(model, live) {
  /** The translation of a sentence under these edits, and all maps of this reading. */
  const read = async ([sentence, edits]) => {
    const answer = await live.ask("translated", { sentence, beam: 1, prefix: [], edits });
    if (answer.problem) return { result: { asked: [sentence, edits], problem: answer.problem } };
    const { text, tokens, pieces, probability } = answer.best[0];
    const { languages, source, unknown } = answer;
    const maps = await live.ask("maps", { source: sentence, target: tokens, edits });
    return { result: { asked: [sentence, edits], problem: "", sentence, edits, languages, source, unknown, text, tokens, pieces, probability }, maps };
  };
  let turn = Promise.resolve(); // one reading after the other
  const inTurn = (work) => () => (turn = turn.catch(() => {}).then(work));

  const question = () => [model.get("sentence"), model.get("edits")];
  onQuestion(model, ["sentence", "edits"], inTurn(async () => {
    const [asked, before] = [question(), model.get("result")];
    if (sameQuestion(before.asked, asked)) return;
    const { result, maps } = await read(asked);
    if (!sameQuestion(asked, question())) return; // another question came meanwhile
    if (result.problem) return change(model, { result: { ...before, ...result } });
    const data = model.get("data");
    const parts = data.maps.map(({ kind, roles }) => ({ ...maps[kind], roles }));
    change(model, { steps: {}, result, data: { ...data, maps: parts } });
  }));
  onQuestion(model, ["against"], inTurn(async () => {
    const asked = model.get("against");
    if (!asked.length || sameQuestion(model.get("other").asked, asked)) return;
    const { result, maps } = await read(asked);
    if (!sameQuestion(asked, model.get("against"))) return;
    change(model, { other: maps ? { ...result, maps: model.get("data").maps.map(({ kind }) => maps[kind]) } : result });
  }));
  onQuestion(model, ["zoom", "kind", "layer", "head", "data"], async () => {
    const asked = ["kind", "layer", "head"].map((name) => model.get(name));
    if (model.get("zoom") !== "cell" || sameQuestion(model.get("steps").asked, asked)) return;
    const { sentence, edits, tokens } = model.get("result");
    const [kind, layer, head] = asked;
    const steps = await live.ask("steps", { source: sentence, target: tokens, edits, kind, layer, head });
    if (steps !== null) change(model, { steps: { ...steps, asked } });
  });
}
