// The answers of the Transformer in the page to a TranslatorView, as TranslatorView in view.py gives them in Python.

function answers(model, live) {
  const question = () => Object.fromEntries(["sentence", "beam", "prefix", "edits"].map((name) => [name, model.get(name)]));
  const withGold = (result) => (model.get("links") ? { ...result, gold: model.get("data").golds[result.source.join(" ")] ?? null } : result);
  onQuestion(model, ["links"], () => change(model, { result: withGold(model.get("result")) }));
  const isAsked = (result) => sameQuestion(result.asked, Object.values(question()));
  onQuestion(model, ["sentence", "beam", "prefix", "edits"], async () => {
    const before = model.get("result");
    if (isAsked(before)) return;
    const result = await live.ask("translated", question());
    if (result === null || !isAsked(result)) return; // another question came meanwhile
    if (result.problem) return change(model, { result: { ...before, asked: result.asked, problem: result.problem } });
    const shown = before.best[model.get("chosen")] ?? before.best[0];
    const { tokens } = result.best[0];
    const same = sameQuestion(before.source, result.source) && sameQuestion(shown.tokens, tokens);
    const isForced = result.prefix.length && !sameQuestion(before.prefix, result.prefix);
    const split = tokens.findIndex((token, i) => token !== shown.tokens[i]); // the first token that is another
    const step = isForced ? result.prefix.length - 1 : Math.min(model.get("step"), split < 0 ? tokens.length : split);
    change(model, { ...(same ? {} : { locked: null, step: Math.min(step, tokens.length - 1) }), chosen: 0, result: withGold(result) });
  });
}
