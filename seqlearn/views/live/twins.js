// A sentence with vectors of its twin: the dictionary of seqlearn/views/answers/patches.py (`patched`), in a browser.

import { BOS, EOS, MOST_TOKENS } from "../shared/constants.js";
import { greedySearch, logSumExp } from "./decoding.js";
import { Problem } from "./nn.js";
import { PairState, PatchedDecoder, patched, placesOf, watched } from "./patching.js";

/** @import { EncoderDecoder, Point, TransformerState } from "./nn.js" */
/** @import { Patch, Place } from "./patching.js" */
/** @import { Language, Vocab } from "./text.js" */

/** @typedef {{ sentence: string, other: string, patches: [place: string, row: number][],
 *   decision: number | null }} Twins */
/** The parts of `Translator` in translator.js.
 * @typedef {{ model: EncoderDecoder, source: Language, target: Language,
 *   pieces: (ids: number[]) => string[] }} Parts */
/** @typedef {{ tokens: string[], moved: number[][] }} Moved for each place, one number a row */
/** What was computed for the last question, which is the same for other patches.
 * @typedef {{ key: string, maps: Record<"encoder" | "decoder", Moved> }} Kept */
/** Two sentences as the model reads them; `after`: the target tokens before the decision, from <bos> on.
 * @typedef {{ model: EncoderDecoder, mine: number[], theirs: number[], starts: TransformerState[], after: number[],
 *   words: number[] }} Reading */

/** @param {number} number @param {number} digits */
const rounded = (number, digits) => Number(number.toPrecision(digits));

/** All that a PatchView draws. `kept`: of the question before, or null.
 * @param {Parts} parts @param {Twins} question @param {Kept | null} kept */
export function twins(parts, question, kept) {
  const { model, source, target } = parts;
  const { sentence, other, patches, decision: asked } = question;
  const [read, twin] = [sentence, other].map((text) => source.tokenizer.tokenize(text));
  checkLengths(read.length, twin.length);
  const { vocab } = target;
  const { bos, eos, pad } = vocab;
  const [mine, theirs] = [read, twin].map((tokens) => [...source.vocab.encode(tokens), source.vocab.eos]);
  const starts = [mine, theirs].map((ids) => model.decoder.initState(model.encoder.forward(ids)));
  const options = { bos, eos, forbidden: [pad, bos] };
  const [first, second] = starts.map((start) => greedySearch(model.decoder, start.restart(), mine.length, options));
  const written = [...first.tokens, eos].slice(0, first.logProbs.length);
  const twinWords = likeliest(model, vocab, [bos, ...written.slice(0, -1)], starts[1].restart());
  const decisions = written.map((_, i) => i).filter((i) => written[i] !== twinWords[i]);
  const step = decisionOf(decisions, asked);
  checkRows(patches, mine.length, written.length);
  const after = [bos, ...written.slice(0, step)];
  const reading = { model, mine, theirs, starts, after, words: [written[step], twinWords[step]] };
  const { decoder, state } = changed(reading, patches);
  const changedState = state();
  const readings = [
    () => model.decoder.forward(after, starts[0].restart()),
    () => model.decoder.forward(after, starts[1].restart()),
    () => decoder.forward(after, changedState),
  ];
  const probs = readings.map((logits) => probabilities(logits(), vocab.tokens.length, reading.words));
  const now = greedySearch(decoder, state(), mine.length, options);
  const key = JSON.stringify([sentence, other, step]);
  const maps = kept?.key === key ? kept.maps : mapsOf(reading, [...read, EOS], [BOS, ...vocab.decode(after.slice(1))]);
  const answer = {
    sentence,
    patches,
    source: read,
    twin,
    pieces: [first, second, now].map(({ tokens }) => parts.pieces(tokens)),
    decisions,
    decision: step,
    words: vocab.decode(reading.words),
    probs,
    maps,
  };
  return { answer, kept: { key, maps } };
}

/** @param {number} mine @param {number} theirs */
function checkLengths(mine, theirs) {
  if (!mine || !theirs) throw new Problem("A sentence is missing: type two, which differ in a word.");
  const longest = Math.max(mine, theirs);
  if (longest > MOST_TOKENS)
    throw new Problem(
      `A sentence has ${longest.toLocaleString("en")} tokens; ${MOST_TOKENS} is the most that is translated here.`,
    );
  if (mine !== theirs)
    throw new Problem(`Both sentences need the same number of tokens: A has ${mine}, and B has ${theirs}.`);
}

/** @param {Twins["patches"]} patches @param {number} source @param {number} target how many rows each side has */
function checkRows(patches, source, target) {
  for (const [place, row] of patches) {
    const [side, rows] = place.startsWith("encoder") ? ["source", source] : ["target", target];
    if (row >= rows)
      throw new Problem(`${place} has rows 0 to ${rows - 1}, for the ${side} tokens that it reads, not ${row}.`);
  }
}

/** @param {number[]} decisions @param {number | null} asked */
function decisionOf(decisions, asked) {
  const step = asked ?? decisions.at(-1);
  if (step === undefined)
    throw new Problem("The model would write the same for both sentences: there is nothing to move.");
  if (!decisions.includes(step))
    throw new Problem(`Both sentences have the same token at step ${step}; they differ at ${decisions.join(", ")}.`);
  return step;
}

/** The likeliest next token after each of these tokens.
 * @param {EncoderDecoder} model @param {Vocab} vocab @param {number[]} tokens @param {TransformerState} state */
function likeliest(model, { tokens: { length }, pad, bos }, tokens, state) {
  const logits = model.decoder.forward(tokens, state);
  return tokens.map((_, row) => {
    let best = -1;
    for (let id = 0; id < length; id++) {
      if (id !== pad && id !== bos && (best < 0 || logits[row * length + id] > logits[row * length + best])) best = id;
    }
    return best;
  });
}

/** The probabilities of these words in the last row.
 * @param {Float32Array} logits @param {number} size @param {number[]} words */
function probabilities(logits, size, words) {
  const start = logits.length - size;
  const total = logSumExp(logits, start, size);
  return words.map((word) => rounded(Math.exp(logits[start + word] - total), 5));
}

/** A decoder, and a function that gives its first state, which read the sentence with vectors of the twin.
 * @param {Reading} reading @param {Twins["patches"]} asked */
function changed({ model, mine, theirs, starts }, asked) {
  const places = placesOf(model);
  const patches = asked.map(([name, row]) => {
    const place = places.get(name);
    if (!place) throw new Problem(`there is no place '${name}' in the model; it has ${[...places.keys()].join(", ")}`);
    return { place, row };
  });
  const [inEncoder, inDecoder] = [true, false].map((side) => patches.filter(({ place }) => place.inEncoder === side));
  const { vectors } = watched(pointsOf(inEncoder.map(({ place }) => place)), () => model.encoder.forward(theirs));
  const start = model.decoder.initState(patched(inEncoder, vectors, () => model.encoder.forward(mine)));
  return {
    decoder: new PatchedDecoder(model.decoder, inDecoder),
    state: () => new PairState(start.restart(), starts[1].restart()),
  };
}

/** @param {Place[]} places @returns {Set<Point>} */
const pointsOf = (places) => new Set(places.map(({ point }) => point));

/** For both sides the tokens of the rows, and how far each vector alone moves the decision: `moved` in patches.py.
 * @param {Reading} reading @param {string[]} read @param {string[]} before */
function mapsOf({ model, mine, theirs, starts, after, words }, read, before) {
  const { encoder, decoder } = model;
  const decision = (/** @type {TransformerState} */ state) => {
    const last = decoder.features(after, state).subarray(-decoder.embedding.size);
    const logits = decoder.dense.forward(last, 1);
    return logits[words[1]] - logits[words[0]];
  };
  const [from, to] = starts.map((start) => decision(start.restart()));
  const every = [...placesOf(model).values()];
  const side = (/** @type {boolean} */ inEncoder, /** @type {string[]} */ tokens) => {
    const places = every.filter((place) => place.inEncoder === inEncoder);
    const { vectors } = watched(pointsOf(places), () =>
      inEncoder ? encoder.forward(theirs) : decoder.features(after, starts[1].restart()),
    );
    const reached = (/** @type {Patch[]} */ patches) =>
      inEncoder
        ? decision(decoder.initState(patched(patches, vectors, () => encoder.forward(mine))))
        : patched(patches, vectors, () => decision(starts[0].restart()));
    return {
      tokens,
      moved: places.map((place) =>
        tokens.map((_, row) => rounded((reached([{ place, row }]) - from) / (to - from), 4)),
      ),
    };
  };
  return { encoder: side(true, read), decoder: side(false, before) };
}
