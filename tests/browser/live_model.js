// For test_live_model.py: what a page is asked about the files of the model, which stand before this one in its script.

/** The answer to a question of Python as JSON, with lists for typed arrays. */
window.answer = (name, given) => JSON.stringify(TESTS[name](given), (_, part) =>
  ArrayBuffer.isView(part) ? Array.from(part, (one) => (Number.isFinite(one) ? one : String(one))) : part);

const model = () => window.translator.model;
const started = (source) => model().decoder.initState(model().encoder.forward(source));

/** The part of the model with the name that it has in Python. */
function partOf(path) {
  return path.split(".").reduce((owner, name) => {
    if (name.startsWith("block")) return owner[Number(name.slice(5))];
    return owner[name === "pos_encoding" ? "posEncoding" : name];
  }, model());
}

const TESTS = {
  text: (lists) => lists.map(([language, texts]) => {
    const tokenizer = new WordTokenizer(language);
    return texts.map((text) => {
      const tokens = tokenizer.tokenize(text);
      return [normalize(text, language), tokens, tokenizer.detokenize(tokens)];
    });
  }),
  halves: (text) => halves(text),
  load: (data) => void (window.translator = new Translator(data)),
  modules: (calls) => calls.map(([path, kind, x, rows]) => {
    const [part, given] = [partOf(path), Float32Array.from(x)];
    if (kind === "Embedding") return part.forward(x);
    if (kind === "positions") return part.forward(given, 2, 3);
    if (kind === "AddNorm") return part.forward(given, (y) => y.map((one) => 2 * one));
    if (kind !== "MultiHeadAttention") return part.forward(given, rows);
    return part.attend(given, [part.project(given, rows)], rows, 0, part.kind === "causal");
  }),
  encode: (source) => model().encoder.forward(source),
  logits: ({ source, tokens, calls }) => {
    const state = started(source);
    return calls.flatMap((end, i) => [...model().decoder.forward(tokens.slice(calls[i - 1] ?? 0, end), state)]);
  },
  beams: ({ source, steps }) => {
    let state = started(source);
    return steps.map(([rows, tokens]) => model().decoder.forward(tokens, (state = state.select(rows))));
  },
  next: (calls) => calls.map(([logits, written]) => nextTokens(window.translator.target.vocab, Float32Array.from(logits), written)),
  spoil: () => void (model().decoder.dense.weight[50] = NaN),
  ask: ([kind, question]) => window.translator[kind](question),
  asks: (questions) => questions.map(([kind, question]) => window.translator[kind](question)),
  searches: ({ sentences, beam }) => sentences.map((sentence) => {
    const read = window.translator.source.tokenizer.tokenize(sentence);
    return window.translator.search(window.translator.start(read), read.length + 1, beam, []);
  }),
  penalised: ({ sentences, penalty, options }) => sentences.map((sentence) => {
    const source = window.translator.source.encode(sentence);
    const lengthPenalty = { none: noPenalty, average, gnmt: gnmt(1.5) }[penalty];
    return beamSearch(model().decoder, started(source), source.length, { ...options, lengthPenalty });
  }),
};
