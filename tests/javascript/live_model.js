// For test_live_model.py: what Node.js is asked about the modules of the model.

import { average, beamSearch, gnmt, noPenalty, stay } from "../../seqlearn/views/live/decoding.js";
import { linear } from "../../seqlearn/views/live/linear.js";
import { BPETokenizer, normalize, WordTokenizer } from "../../seqlearn/views/live/text.js";
import { halves, nextTokens, Translator } from "../../seqlearn/views/live/translator.js";

let translator;

const model = () => translator.model;
const started = (source) => model().decoder.initState(model().encoder.forward(source));

/** The part of the model with the name that it has in Python. */
const partOf = (path) => path.split(".").reduce((owner, name) => owner[name], model());

export const TESTS = {
  text: (lists) =>
    lists.map(([language, texts]) => {
      const tokenizer = new WordTokenizer(language);
      return texts.map((text) => {
        const tokens = tokenizer.tokenize(text);
        return [normalize(text, language), tokens, tokenizer.detokenize(tokens)];
      });
    }),
  pieces: ([side, texts]) => {
    const tokenizer = new BPETokenizer(side);
    return texts.map((text) => {
      const tokens = tokenizer.tokenize(text);
      return [normalize(text, side.language, side.cased), tokens, tokenizer.detokenize(tokens)];
    });
  },
  join: (lists) => lists.map(([language, tokens]) => new WordTokenizer(language).detokenize(tokens)),
  halves: (text) => halves(text),
  load: (data) => {
    translator = new Translator(data);
  },
  modules: (calls) =>
    calls.map(([path, kind, x, rows]) => {
      const [part, given] = [partOf(path), Float32Array.from(x)];
      if (kind === "Embedding") return part.forward(x);
      if (kind === "positions") return part.forward(given, 2, 3);
      if (kind !== "MultiHeadAttention") return part.forward(given, rows);
      return part.attend(given, [part.project(given, rows)], rows, 0, part.kind === "causal");
    }),
  linear: ([x, rows, weight, bias]) =>
    linear(Float32Array.from(x), rows, Float32Array.from(weight), Float32Array.from(bias)),
  encode: (source) => model().encoder.forward(source),
  logits: ({ source, tokens, calls }) => {
    const state = started(source);
    return calls.flatMap((end, i) => [...model().decoder.forward(tokens.slice(calls[i - 1] ?? 0, end), state)]);
  },
  beams: ({ source, steps }) => {
    let state = started(source);
    return steps.map(([rows, tokens]) => {
      state = state.select(rows);
      return model().decoder.forward(tokens, state);
    });
  },
  next: (calls) =>
    calls.map(([logits, written]) => nextTokens(translator.target.vocab, Float32Array.from(logits), written)),
  stay: (calls) =>
    calls.map((parents) => stay(parents.map((parent, place) => ({ parent, place }))).map(({ place }) => place)),
  spoil: () => {
    model().decoder.dense.weight[50] = NaN;
  },
  ask: ([kind, question]) => translator[kind](question),
  asks: (questions) => questions.map(([kind, question]) => translator[kind](question)),
  searches: ({ sentences, beam }) =>
    sentences.map((sentence) => {
      const read = translator.source.tokenizer.tokenize(sentence);
      return translator.search(translator.start(read), read.length + 1, beam, []);
    }),
  penalised: ({ sentences, penalty, options }) =>
    sentences.map((sentence) => {
      const source = translator.source.encode(sentence);
      const lengthPenalty = { none: noPenalty, average, gnmt: gnmt(1.5) }[penalty];
      return beamSearch(model().decoder, started(source), source.length, { ...options, lengthPenalty });
    }),
};
