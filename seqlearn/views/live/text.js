// Text to tokens to ids, and back, as in seqlearn/data/spelling.py and seqlearn/data/text.py: read them side by side.
// The patterns are those of Python, with \w and \b of Unicode written out, as JavaScript knows them for ASCII only.

const [PAD, BOS, EOS, UNK] = ["<pad>", "<bos>", "<eos>", "<unk>"];
const SPECIALS = [PAD, BOS, EOS, UNK];

// ---- spelling.py ----------------------------------------------------------------------------------------------------

const WORD_CHARACTER = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]"; // \w of Python's module `regex`
const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u; // of Python's split()
const INVISIBLE = /[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu;
const JOINED = "[\\u0590-\\u167f\\u1681-\\u1cff\\u2190-\\u2fff\\u3001-\\u{10ffff}]";
const JOINER = new RegExp(`(?<!${JOINED})[\\u200c\\u200d]|[\\u200c\\u200d](?!${JOINED})`, "gu");
const SPELLINGS = [[/[\u2018\u2019\u201a\u201b\u02bc]/gu, "'"], [/[\u201c\u201d\u201e\u201f«»‹›]/gu, '"'], [/\u2581/gu, "_"], [/\p{Cs}/gu, "\ufffd"]];

const ELISION = `(?<!${WORD_CHARACTER})(?:jusqu|lorsqu|puisqu|quoiqu|qu|[cdjlmnst])'`;
const CLOSE_UP = new Map([["fr", ".,)…"], ["", ".,:;!?)…%"]]);
const STAND_OFF = new Map([["fr", "?!;:"]]);
const OPENING = new Map([["en", "($£€"]]);

const QUOTED = /" *([^"]*?) *"/gu;
const END = `(?=[ "'.,;:!?…)]|$)`;

/** The rules for spaces around punctuation marks: a pattern, and what replaces it. */
function spacing(language) {
  const rules = [
    ["\\( ", "("],
    [` (?=[${CLOSE_UP.get(language) ?? CLOSE_UP.get("")}]+${END})`, ""],
  ];
  if (language === "fr") {
    rules.push(
      ["(?<=[?!;:]) (?=[?!;:])", ""],
      [`(?<=[^ ?!;:(]) ?(?=[?!;:]+${END})`, " "],
      ["(?<=\\p{Nd}) ?(?=%)", " "],
      [`(${ELISION}) (?=\\p{L})`, "$1"],
    );
  }
  return rules.map(([pattern, replacement]) => [new RegExp(pattern, "gu"), replacement]);
}

const SPACING = new Map(["", "fr"].map((language) => [language, spacing(language)]));
const replaced = (text, rules) => rules.reduce((now, [pattern, replacement]) => now.replace(pattern, replacement), text);

/** One spelling for texts that look the same to a reader. */
function normalize(text, language = "") {
  text = replaced(text, SPELLINGS).replace(INVISIBLE, "");
  text = text.normalize("NFC").toLowerCase().normalize("NFC").replace(JOINER, "").normalize("NFC");
  text = text.toLowerCase().split(SPACES).filter(Boolean).join(" ").replace(QUOTED, '"$1"');
  return replaced(text, SPACING.get(language) ?? SPACING.get(""));
}

// ---- text.py --------------------------------------------------------------------------------------------------------

const WORD = "\\p{L}[\\p{L}\\p{M}\\p{N}\\u200c\\u200d]*";
const NUMBER = "\\p{N}+(?:[.,:]\\p{N}+)*[\\p{L}\\p{M}\\p{N}]*(?:-[\\p{L}\\p{N}]+)*";
const ABBREVIATION = "(?:\\p{L}\\.){2,}";
const PRONOUN = `(?:je|tu|ils?|elles?|on|nous|vous|ce|moi|toi|les?|la|lui|leur|y|en|ci|là)(?!${WORD_CHARACTER})`;
const CLITIC = `(?<=[\\p{L}\\p{M}])-(?:t-)?${PRONOUN}(?=(?:-${PRONOUN}){0,2}(?!-\\p{L}))`;
const ENDING = `'(?:s|ll|re|ve|d|m)(?!${WORD_CHARACTER})`;
const OTHERS = `${NUMBER}|[^ ]`;

const PATTERNS = new Map([
  ["en", `${ENDING}|${ABBREVIATION}|${WORD}(?:(?:(?!${ENDING})'|-)${WORD})*|${OTHERS}`],
  ["fr", `${ELISION}(?=\\p{L})|${CLITIC}|${ABBREVIATION}|${WORD}(?:(?:'|(?!${CLITIC})-)${WORD})*|${OTHERS}`],
  ["", `${ABBREVIATION}|${WORD}(?:['-]${WORD})*|${OTHERS}`],
]);

/** Words and punctuation marks as tokens. */
class WordTokenizer {
  constructor(language = "") {
    this.language = language;
    this.pattern = new RegExp(PATTERNS.get(language) ?? PATTERNS.get(""), "gu");
    this.closeUp = new Set(CLOSE_UP.get(language) ?? CLOSE_UP.get(""));
    this.standOff = new Set(STAND_OFF.get(language) ?? "");
    this.opening = new Set(OPENING.get(language) ?? "(");
  }

  /** The tokens of a text, lower-cased. */
  tokenize(text) {
    return normalize(text, this.language).match(this.pattern) ?? [];
  }

  /** The text of the tokens, with spaces where the language has them. */
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

  joinsLeft(token, last) {
    if (this.closeUp.has(token) || (this.standOff.has(token) && this.standOff.has(last))) return true;
    if (this.language === "en") return token.startsWith("'") && (token.length > 1 || last.endsWith("s")); // dog's, dogs'
    return this.language === "fr" && token.length > 1 && token.startsWith("-");
  }

  joinsRight(token) {
    return this.opening.has(token) || (this.language === "fr" && token.length > 1 && token.endsWith("'"));
  }
}

/** Tokens to ids and back. Ids 0 to 3 are <pad>, <bos>, <eos>, <unk>. */
class Vocab {
  constructor(tokens) {
    this.tokens = tokens;
    this.ids = new Map(tokens.map((token, id) => [token, id]));
    [this.pad, this.bos, this.eos, this.unk] = SPECIALS.keys();
  }

  encode(tokens) {
    return tokens.map((token) => this.ids.get(token) ?? this.unk);
  }

  decode(ids) {
    return ids.map((id) => this.tokens[id]);
  }
}

/** The text codec of one language: a tokenizer with a vocabulary. */
class Language {
  constructor({ language, tokens }) {
    this.tokenizer = new WordTokenizer(language);
    this.vocab = new Vocab(tokens);
  }

  /** The ids of a text, with <eos> at the end. */
  encode(text) {
    return [...this.vocab.encode(this.tokenizer.tokenize(text)), this.vocab.eos];
  }

  /** The text of the ids. */
  decode(ids) {
    return this.tokenizer.detokenize(this.vocab.decode(ids));
  }
}
