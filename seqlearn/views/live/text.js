// Text to tokens to ids, and back, as in seqlearn/data/spelling.py and seqlearn/data/text.py: read them side by side.

import { BOS, CLOSE_UP, EOS, INVISIBLE, JOINER, NO_BREAK, OPENING, PAD, PATTERNS } from "../shared/constants.js";
import { QUOTED, SPACES, SPACING, SPECIALS, SPELLINGS, STAND_OFF, UNUSABLE } from "../shared/constants.js";

// ---- Patterns -------------------------------------------------------------------------------------------------------

const WORD = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]"; // \w of Python's module `regex`
/** @type {Record<string, string>} */
const OF_UNICODE = {
  "\\b": `(?:(?<=${WORD})(?!${WORD})|(?<!${WORD})(?=${WORD}))`,
  "\\d": "\\p{Nd}",
  "\\s": " ",
  "\\S": "[^ ]",
};

/** A pattern of Python. JavaScript knows \b, \d and \s for ASCII only, so those of Unicode are written out; where
 * patterns with \s are used, a text has one kind of space.
 * @param {string} pattern */
const compiled = (pattern) =>
  new RegExp(
    pattern.replace(/\\[bdsS]/g, (name) => OF_UNICODE[name]),
    "gu",
  );

/** What a table of Python has for a language; languages that it does not know share the entry of "".
 * @template Entry
 * @param {Readonly<Record<string, Entry>>} table
 * @param {string} language */
const ofLanguage = (table, language) => table[Object.hasOwn(table, language) ? language : ""];

// ---- spelling.py ----------------------------------------------------------------------------------------------------

const [invisible, joiner, quoted] = [INVISIBLE, JOINER, QUOTED].map(compiled);
const halves = /\p{Cs}/gu; // of characters
const spaces = new RegExp(`[${SPACES}]+`, "gu");
const spellings = new RegExp(`[${Object.keys(SPELLINGS).join("")}]`, "gu");
const unusable = new RegExp(`[${Object.keys(UNUSABLE).join("")}]`, "gu");
const spacing = Object.fromEntries(
  Object.entries(SPACING).map(([language, rules]) => [
    language,
    rules.map(([pattern, replacement]) => ({
      pattern: compiled(pattern),
      replacement: replacement.replace(/\\(\d)/g, "$$$1"),
    })),
  ]),
);

/** One spelling for texts that look the same to a reader; `cased` keeps what people have typed.
 * @param {string} text */
export function normalize(text, language = "", cased = false) {
  if (cased) {
    text = text
      .replace(unusable, (mark) => UNUSABLE[mark])
      .replace(halves, "\ufffd")
      .replace(invisible, "");
    text = text.normalize("NFC").replace(joiner, "").normalize("NFC");
    return trimmed(text).replace(spaces, (some) => (NO_BREAK.includes(some) ? some : " "));
  }
  text = text
    .replace(spellings, (mark) => SPELLINGS[mark])
    .replace(halves, "\ufffd")
    .replace(invisible, "");
  text = text.normalize("NFC").toLowerCase().normalize("NFC").replace(joiner, "").normalize("NFC");
  text = text.toLowerCase().split(spaces).filter(Boolean).join(" ").replace(quoted, '"$1"');
  return ofLanguage(spacing, language).reduce((now, rule) => now.replace(rule.pattern, rule.replacement), text);
}

/** The text without spaces at its ends. (`trim` takes a byte-order mark for one, and not every space of Python.)
 * @param {string} text */
const trimmed = (text) => text.replace(ends, "");
const ends = new RegExp(`^[${SPACES}]+|[${SPACES}]+$`, "gu");

// ---- text.py --------------------------------------------------------------------------------------------------------

/** Words and punctuation marks as tokens. */
export class WordTokenizer {
  constructor(language = "") {
    this.language = language;
    this.pattern = compiled(ofLanguage(PATTERNS, language));
    this.closeUp = new Set(ofLanguage(CLOSE_UP, language));
    this.standOff = new Set(STAND_OFF[language] ?? "");
    this.opening = new Set(OPENING[language] ?? "(");
  }

  /** The tokens of a text, lower-cased.
   * @param {string} text
   * @returns {string[]} */
  tokenize(text) {
    return normalize(text, this.language).match(this.pattern) ?? [];
  }

  /** The text of the tokens, with spaces where the language has them.
   * @param {string[]} tokens */
  detokenize(tokens) {
    let [text, glue, openQuote, last] = ["", true, false, ""]; // glue: no space before the next token
    for (const token of tokens) {
      if ([PAD, BOS, EOS].includes(token)) continue;
      const closingQuote = token === '"' && openQuote;
      if (!(glue || closingQuote || this.joinsLeft(token, last))) text += " ";
      text += token;
      openQuote = openQuote !== (token === '"');
      glue = this.joinsRight(token) || (token === '"' && !closingQuote);
      last = token;
    }
    return text;
  }

  /** @param {string} token @param {string} last the token before it */
  joinsLeft(token, last) {
    if (this.closeUp.has(token) || (this.standOff.has(token) && this.standOff.has(last))) return true;
    // dog's, dogs'
    if (this.language === "en") return token.startsWith("'") && (token.length > 1 || last.endsWith("s"));
    return this.language === "fr" && token.length > 1 && token.startsWith("-");
  }

  /** @param {string} token */
  joinsRight(token) {
    return this.opening.has(token) || (this.language === "fr" && token.length > 1 && token.endsWith("'"));
  }
}

const MARK = "▁"; // stands for a space
const APART = `\\p{P}!-/:-@\\[-\`{-~${NO_BREAK.join("")}`; // marks and symbols, each a part by itself
const PARTS = new RegExp(`[${APART}]|[^${APART}]+`, "gu");

/** Pieces of words as tokens: byte-pair encoding. */
export class BPETokenizer {
  /** @param {{ language: string, cased: boolean, merges: string[] }} data */
  constructor({ language, cased, merges }) {
    this.language = language;
    this.cased = cased;
    this.ranks = new Map(merges.map((merge, rank) => [merge, rank]));
  }

  /** The pieces of a text in its one spelling.
   * @param {string} text
   * @returns {string[]} */
  tokenize(text) {
    const normal = normalize(text, this.language, this.cased);
    if (!normal) return [];
    const words = (MARK + normal.replaceAll(" ", MARK)).match(/▁[^▁]*/gu) ?? [];
    return words.flatMap((word) => (word.match(PARTS) ?? []).flatMap((part) => this.merged([...part])));
  }

  /** The pieces of one part: the merge that was learned first comes first, as often as there is one. A character that
   * was not learned is merged with nothing.
   * @param {string[]} pieces */
  merged(pieces) {
    for (;;) {
      let [best, at] = [Infinity, -1];
      for (let i = 0; i + 1 < pieces.length; i++) {
        const rank = this.ranks.get(`${pieces[i]} ${pieces[i + 1]}`) ?? Infinity;
        if (rank < best) [best, at] = [rank, i];
      }
      if (at < 0) return pieces;
      pieces.splice(at, 2, pieces[at] + pieces[at + 1]);
    }
  }

  /** The text of the pieces.
   * @param {string[]} tokens */
  detokenize(tokens) {
    const text = tokens.filter((token) => ![PAD, BOS, EOS].includes(token)).join("");
    return text.replaceAll(MARK, " ").replace(/^ /, "");
  }
}

/** Tokens to ids and back. Ids 0 to 3 are <pad>, <bos>, <eos>, <unk>. */
export class Vocab {
  /** @param {string[]} tokens */
  constructor(tokens) {
    this.tokens = tokens;
    this.ids = new Map(tokens.map((token, id) => [token, id]));
    const [pad, bos, eos, unk] = SPECIALS.keys();
    this.pad = pad;
    this.bos = bos;
    this.eos = eos;
    this.unk = unk;
  }

  /** @param {string[]} tokens */
  encode(tokens) {
    return tokens.map((token) => this.ids.get(token) ?? this.unk);
  }

  /** @param {number[]} ids */
  decode(ids) {
    return ids.map((id) => this.tokens[id]);
  }
}

/** One side of a translator; `merges` if its tokens are pieces of words.
 * @typedef {{ language: string, tokens: string[], cased?: boolean, merges?: string[] }} Side */

/** The text codec of one language: a tokenizer with a vocabulary. */
export class Language {
  /** @param {Side} data */
  constructor({ language, tokens, cased = false, merges }) {
    this.tokenizer = merges ? new BPETokenizer({ language, cased, merges }) : new WordTokenizer(language);
    this.vocab = new Vocab(tokens);
  }

  /** The ids of a text, with <eos> at the end.
   * @param {string} text */
  encode(text) {
    return [...this.vocab.encode(this.tokenizer.tokenize(text)), this.vocab.eos];
  }

  /** The text of the ids.
   * @param {number[]} ids */
  decode(ids) {
    return this.tokenizer.detokenize(this.vocab.decode(ids));
  }
}
