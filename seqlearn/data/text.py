"""Text to tokens to ids, and back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import regex

from .spelling import CLOSE_UP, ELISION, OPENING, STAND_OFF, normalize

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
SPECIALS = (PAD, BOS, EOS, UNK)
TOKENS = ("word", "bpe")

# A word starts with a letter; digits and accents may follow (mp3). A number may end in letters (19th, 12-year).
_WORD = r"\p{L}[\p{L}\p{M}\p{N}\u200c\u200d]*"
_NUMBER = r"\p{N}+(?:[.,:]\p{N}+)*[\p{L}\p{M}\p{N}]*(?:-[\p{L}\p{N}]+)*"
_ABBREVIATION = r"(?:\p{L}\.){2,}"
_PRONOUN = r"(?:je|tu|ils?|elles?|on|nous|vous|ce|moi|toi|les?|la|lui|leur|y|en|ci|là)\b"
# donne-le-moi, but not sur-le-champ. At most two more may follow: looking on to the end of le-le-le-... takes hours.
_CLITIC = rf"(?<=[\p{{L}}\p{{M}}])-(?:t-)?{_PRONOUN}(?=(?:-{_PRONOUN}){{0,2}}(?!-\p{{L}}))"
_ENDING = r"'(?:s|ll|re|ve|d|m)\b"
_OTHERS = rf"{_NUMBER}|\S"

_TOKENS = {
    # dog's -> dog 's; don't stays whole: its two halves are no words of their own.
    "en": rf"{_ENDING}|{_ABBREVIATION}|{_WORD}(?:(?:(?!{_ENDING})'|-){_WORD})*|{_OTHERS}",
    # l'homme -> l' homme; mange-t-il -> mange -t-il; grand-mère and aujourd'hui stay whole.
    "fr": rf"{ELISION}(?=\p{{L}})|{_CLITIC}|{_ABBREVIATION}|{_WORD}(?:(?:'|(?!{_CLITIC})-){_WORD})*|{_OTHERS}",
    "": rf"{_ABBREVIATION}|{_WORD}(?:['-]{_WORD})*|{_OTHERS}",
}
_TOKENS = {language: regex.compile(pattern) for language, pattern in _TOKENS.items()}


class WordTokenizer:
    """Words and punctuation marks as tokens.

    Args:
        language: "en" splits off 's, 'll and the like; "fr" splits elided words (l', d', qu') and inverted pronouns
            (-t-il, -ce); any other language keeps what letters, hyphens and apostrophes join. A language that is
            written without spaces (Chinese, Thai) needs `BPETokenizer`.

    >>> WordTokenizer("fr").tokenize("L'homme mange-t-il ?")
    ["l'", 'homme', 'mange', '-t-il', '?']
    """

    kind = "word"

    def __init__(self, language: str = ""):
        self.language = language
        self._pattern = _TOKENS.get(language, _TOKENS[""])
        self._close_up = set(CLOSE_UP.get(language, CLOSE_UP[""]))
        self._stand_off = set(STAND_OFF.get(language, ""))
        self._opening = set(OPENING.get(language, "("))

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, lower-cased (see `normalize`)."""
        return self._pattern.findall(normalize(text, self.language))

    def detokenize(self, tokens: Iterable[str]) -> str:
        """The text of the tokens, spaced as the language is written. Special tokens other than <unk> are left out."""
        text, glue, open_quote, last = "", True, False, ""
        for token in tokens:
            if token in (PAD, BOS, EOS):
                continue
            closing_quote = token == '"' and open_quote
            if not (glue or closing_quote or self._joins_left(token, last)):
                text += " "
            text += token
            open_quote = open_quote != (token == '"')
            glue = self._joins_right(token) or (token == '"' and not closing_quote)
            last = token
        return text

    def _joins_left(self, token: str, last: str) -> bool:
        if token in self._close_up or (token in self._stand_off and last in self._stand_off):
            return True
        if self.language == "en":
            return token[0] == "'" and (len(token) > 1 or last.endswith("s"))  # dog's, dogs'
        return self.language == "fr" and len(token) > 1 and token[0] == "-"

    def _joins_right(self, token: str) -> bool:
        return token in self._opening or (self.language == "fr" and len(token) > 1 and token.endswith("'"))

    def state(self) -> dict:
        """What a file has to hold to make this tokenizer again."""
        return {"tokens": self.kind, "language": self.language}


class BPETokenizer:
    """Pieces of words as tokens, so that every word of any script has some: byte-pair encoding.

    It starts from single characters and joins, again and again, the pair of neighbours that is most frequent in the
    training text (Sennrich, Haddow and Birch 2016, section 3.2; the work is done by Hugging Face `tokenizers`). A
    piece that begins a word begins with "▁". Pieces joined give the normalized text back, space for space.

    Make one with `learn`.
    """

    kind = "bpe"

    def __init__(self, backend, language: str = ""):
        self.language = language
        self._backend = backend

    @classmethod
    def learn(cls, lines: Iterable[str], size: int = 8000, language: str = "") -> BPETokenizer:
        """Learn pieces from (training) lines. A character that they lack will be <unk>.

        Args:
            size: the most tokens that the vocabulary may have, special tokens included.

        Raises:
            ValueError: there is not even room for the characters.
        """
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers

        backend = Tokenizer(models.BPE(unk_token=UNK))
        words = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
        backend.pre_tokenizer = pre_tokenizers.Sequence([words, pre_tokenizers.Punctuation("isolated")])
        trainer = trainers.BpeTrainer(
            vocab_size=size - len(SPECIALS) + 1,
            min_frequency=2,
            special_tokens=[UNK],
            initial_alphabet=["▁"],
            show_progress=False,
        )
        backend.train_from_iterator((normalize(line, language) for line in lines), trainer)
        characters = backend.get_vocab_size() - 1  # but for <unk>
        if characters + len(SPECIALS) > size:
            raise ValueError(
                f"a vocabulary of {size} is too small for {characters} characters and {len(SPECIALS)} special tokens"
            )
        # As a special token, <unk> would be found in the text of a user who types it. The model needs it, no more.
        stored = json.loads(backend.to_str()) | {"added_tokens": []}
        return cls(Tokenizer.from_str(json.dumps(stored)), language)

    @property
    def tokens(self) -> list[str]:
        """All pieces, the single characters first."""
        ids = self._backend.get_vocab()
        return sorted(ids.keys() - {UNK}, key=ids.__getitem__)

    def tokenize(self, text: str) -> list[str]:
        """The pieces of a text, lower-cased (see `normalize`); a character never seen is a piece by itself."""
        text = normalize(text, self.language)
        found = self._backend.encode(text)
        pieces = zip(found.tokens, found.offsets, strict=True)
        return [text[slice(*place)] if token == UNK else token for token, place in pieces]

    def detokenize(self, tokens: Iterable[str]) -> str:
        """The text of the pieces. Special tokens other than <unk> are left out."""
        text = "".join(token for token in tokens if token not in (PAD, BOS, EOS))
        return text.replace("▁", " ").removeprefix(" ")

    def state(self) -> dict:
        """What a file has to hold to make this tokenizer again."""
        return {"tokens": self.kind, "language": self.language, "backend": json.loads(self._backend.to_str())}

    @classmethod
    def from_state(cls, state: dict) -> BPETokenizer:
        """The tokenizer that `state` describes."""
        from tokenizers import Tokenizer

        return cls(Tokenizer.from_str(json.dumps(state["backend"])), state["language"])


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
        tokenizer: how text is split, and put together again.
        vocab: the ids of its tokens.
    """

    def __init__(self, tokenizer: WordTokenizer | BPETokenizer, vocab: Vocab):
        self.tokenizer = tokenizer
        self.vocab = vocab

    @classmethod
    def learn(
        cls, language: str, lines: Iterable[str], min_freq: int = 1, tokens: str = "word", size: int = 8000
    ) -> Language:
        """Tokens and vocabulary of these (training) lines.

        Args:
            min_freq: rarer words become <unk> (tokens "word").
            tokens: "word" or "bpe".
            size: of the vocabulary, at most (tokens "bpe").
        """
        if tokens == "bpe":
            pieces = BPETokenizer.learn(lines, size, language)
            return cls(pieces, Vocab.of(pieces.tokens))
        if tokens not in TOKENS:
            raise ValueError(f"tokens are one of {', '.join(TOKENS)}, not {tokens!r}")
        words = WordTokenizer(language)
        return cls(words, Vocab((words.tokenize(line) for line in lines), min_freq))

    def encode(self, text: str) -> list[int]:
        """The ids of a text, <eos> at the end, so that even an empty text has one token."""
        return [*self.vocab.encode(self.tokenizer.tokenize(text)), self.vocab.eos]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids."""
        return self.tokenizer.detokenize(self.vocab.decode(ids))

    def save(self, path: str | Path) -> None:
        """Write tokenizer and vocabulary to a JSON file."""
        stored = self.tokenizer.state() | {"vocab": self.vocab.tokens[len(SPECIALS) :]}
        text = json.dumps(stored, ensure_ascii=False, indent=0)
        Path(path).write_text(text + "\n", encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: str | Path) -> Language:
        """Read what `save` wrote.

        Raises:
            ValueError: the file is damaged.
        """
        try:
            stored = json.loads(Path(path).read_text(encoding="utf-8"))
            bpe = stored["tokens"] == BPETokenizer.kind
            tokenizer = BPETokenizer.from_state(stored) if bpe else WordTokenizer(stored["language"])
            return cls(tokenizer, Vocab.of(stored["vocab"]))
        except OSError:
            raise
        except Exception as error:  # the tokenizers library raises nothing narrower
            raise ValueError(f"{path} is damaged ({type(error).__name__}: {error})") from None
