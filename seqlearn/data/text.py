"""Text to tokens to ids, and back."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
SPECIALS = (PAD, BOS, EOS, UNK)

# Zero-width characters, soft hyphens and byte-order marks: invisible, and they split one word into two spellings.
_INVISIBLE = re.compile("[\u00ad\u200b\u200c\u200d\u2060\ufeff]")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "«": '"', "»": '"'})

_NUMBER = r"\d+(?:[.,]\d+)*"
_LETTERS = r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f])*"
_WORD = rf"{_LETTERS}(?:['-]{_LETTERS})*"
_CLITIC = r"-(?:t-)?(?:je|tu|ils?|elles?|on|nous|vous|ce|moi|toi|les?|la|lui|leur|y|en|ci|là)\b"
_ELISION = r"\b(?:jusqu|lorsqu|puisqu|quoiqu|qu|[cdjlmnst])'(?=[^\W\d_])"

_PATTERNS = {
    # dog's -> dog 's; don't stays whole: its two halves are no words of their own.
    "en": re.compile(rf"'(?:s|ll|re|ve|d|m)\b|{_LETTERS}(?:(?:'(?!(?:s|ll|re|ve|d|m)\b)|-){_LETTERS})*|{_NUMBER}|\S"),
    # l'homme -> l' homme; mange-t-il -> mange -t-il; grand-mère and aujourd'hui stay whole.
    "fr": re.compile(rf"{_ELISION}|{_CLITIC}|{_LETTERS}(?:(?:'|(?!{_CLITIC})-){_LETTERS})*|{_NUMBER}|\S"),
    "": re.compile(rf"{_WORD}|{_NUMBER}|\S"),
}
_CLOSE_UP = {"en": set(".,;:!?)…%"), "fr": set(".,)…"), "": set(".,;:!?)…%")}


def normalize(text: str) -> str:
    """One spelling for what a reader takes to be the same text: composed characters, plain spaces, lower case.

    Every kind of space becomes one plain space, invisible characters vanish, curly quotes become straight.
    """
    text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text)).translate(_QUOTES)
    return " ".join(text.lower().split())


class WordTokenizer:
    """Words and punctuation marks as tokens.

    Args:
        language: "en" splits off 's, 'll and the like; "fr" splits elided words (l', d', qu') and inverted pronouns
            (-t-il, -ce); any other language keeps what letters, hyphens and apostrophes join.

    >>> WordTokenizer("fr").tokenize("L'homme mange-t-il ?")
    ["l'", 'homme', 'mange', '-t-il', '?']
    """

    def __init__(self, language: str = ""):
        self.language = language
        self._pattern = _PATTERNS.get(language, _PATTERNS[""])
        self._close_up = _CLOSE_UP.get(language, _CLOSE_UP[""])

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, lower-cased (see `normalize`)."""
        return self._pattern.findall(normalize(text))

    def detokenize(self, tokens: Iterable[str]) -> str:
        """The text of the tokens, spaced as the language is written. Special tokens other than <unk> are left out."""
        text, glue, open_quote = "", True, False
        for token in tokens:
            if token in (PAD, BOS, EOS):
                continue
            closing_quote = token == '"' and open_quote
            if not (glue or closing_quote or self._joins_left(token)):
                text += " "
            text += token
            open_quote = open_quote != (token == '"')
            glue = self._joins_right(token) or (token == '"' and not closing_quote)
        return text

    def _joins_left(self, token: str) -> bool:
        if token in self._close_up:
            return True
        return len(token) > 1 and token[0] == {"en": "'", "fr": "-"}.get(self.language)

    def _joins_right(self, token: str) -> bool:
        return token == "(" or (self.language == "fr" and len(token) > 1 and token.endswith("'"))


class Vocab:
    """Tokens to ids and back. Ids 0 to 3 are <pad>, <bos>, <eos>, <unk>; the rest go by frequency, then by token.

    Args:
        sentences: token lists, of the training data only: a vocabulary that has seen held-out text leaks it.
        min_freq: tokens seen less often become <unk>.
    """

    def __init__(self, sentences: Iterable[Sequence[str]] = (), min_freq: int = 1):
        counts = Counter(token for sentence in sentences for token in sentence)
        kept = sorted(
            (token for token in counts if counts[token] >= min_freq), key=lambda token: (-counts[token], token)
        )
        self._set(kept)

    def _set(self, tokens: Iterable[str]) -> None:
        self.tokens = [*SPECIALS, *(token for token in tokens if token not in SPECIALS)]
        self.ids = {token: index for index, token in enumerate(self.tokens)}
        self.pad, self.bos, self.eos, self.unk = range(len(SPECIALS))

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self.ids

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The ids of the tokens; <unk> for those that the vocabulary lacks."""
        return [self.ids.get(token, self.unk) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The tokens of the ids, special tokens included."""
        return [self.tokens[index] for index in ids]

    @classmethod
    def of(cls, tokens: Iterable[str]) -> Vocab:
        """A vocabulary with these tokens, in this order, after the special ones."""
        vocab = cls()
        vocab._set(tokens)
        return vocab


class Language:
    """One side of a translator: how its text becomes ids, and ids become text.

    Args:
        tokenizer: anything with `tokenize`, `detokenize` and a `language`.
        vocab: the ids of its tokens.
    """

    def __init__(self, tokenizer: WordTokenizer, vocab: Vocab):
        self.tokenizer = tokenizer
        self.vocab = vocab

    @classmethod
    def learn(cls, language: str, lines: Iterable[str], min_freq: int = 1) -> Language:
        """Word tokens, and the vocabulary of these (training) lines."""
        tokenizer = WordTokenizer(language)
        return cls(tokenizer, Vocab((tokenizer.tokenize(line) for line in lines), min_freq))

    def encode(self, text: str) -> list[int]:
        """The ids of a text, <eos> at the end, so that even an empty text has one token."""
        return [*self.vocab.encode(self.tokenizer.tokenize(text)), self.vocab.eos]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids."""
        return self.tokenizer.detokenize(self.vocab.decode(ids))

    def save(self, path: str | Path) -> None:
        """Write tokenizer and vocabulary to a JSON file."""
        stored = {"tokens": "word", "language": self.tokenizer.language, "vocab": self.vocab.tokens[len(SPECIALS) :]}
        text = json.dumps(stored, ensure_ascii=False, indent=0)
        Path(path).write_text(text + "\n", encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: str | Path) -> Language:
        """Read what `save` wrote."""
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
        return cls(WordTokenizer(stored["language"]), Vocab.of(stored["vocab"]))
