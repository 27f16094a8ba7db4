"""Text to tokens to ids, and back: tokenizers, and `Language`, which joins one and a vocabulary (`vocab.py`)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import regex

from ..runtime.ownership import write
from ..runtime.values import as_texts, check_items
from .spelling import CLOSE_UP, ELISION, NO_BREAK, OPENING, STAND_OFF, normalize
from .unigram import Unigram
from .vocab import BOS, EOS, PAD, SPECIALS, UNK, Vocab

if TYPE_CHECKING:
    import tokenizers

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "SPECIALS",
    "TOKENS",
    "UNK",
    "BPETokenizer",
    "Language",
    "UnigramTokenizer",
    "Vocab",
    "WordTokenizer",
    "normalize",
]

TOKENS = ("word", "bpe")  # the kinds of tokens that `Language.learn` knows
MOST_TOKENS = 1_000_000  # of a vocabulary: `tokenizers` aborts the process where memory for all of them cannot be had
# BPE learns from a longer word in pieces, because one merge in a word takes quadratic time.
_LONG_WORD = regex.compile(r"(\S{1000})(?=\S)")

# A word starts with a letter; digits and accents may follow (mp3). A number may end in letters (19th, 12-year).
_WORD = r"\p{L}[\p{L}\p{M}\p{N}\u200c\u200d]*"
_NUMBER = r"\p{N}+(?:[.,:]\p{N}+)*[\p{L}\p{M}\p{N}]*(?:-[\p{L}\p{N}]+)*"
_ABBREVIATION = r"(?:\p{L}\.){2,}"
_PRONOUN = r"(?:je|tu|ils?|elles?|on|nous|vous|ce|moi|toi|les?|la|lui|leur|y|en|ci|là)\b"
# donne-le-moi, but not sur-le-champ. The pattern looks at no more than two further pronouns, because looking to the end
# of a long le-le-le-... would take hours (quadratic time).
_CLITIC = rf"(?<=[\p{{L}}\p{{M}}])-(?:t-)?{_PRONOUN}(?=(?:-{_PRONOUN}){{0,2}}(?!-\p{{L}}))"
_ENDING = r"'(?:s|ll|re|ve|d|m)\b"
_OTHERS = rf"{_NUMBER}|\S"

# For pages, views/shared/constants.py passes these on; views/live/text.js translates \p, \b, \d, \s and \S, no other
# escapes. tests/javascript/test_live_model.py compares the tokens of both.
PATTERNS = {
    # dog's -> dog 's. But don't stays whole, because do + n't are not two words.
    "en": rf"{_ENDING}|{_ABBREVIATION}|{_WORD}(?:(?:(?!{_ENDING})'|-){_WORD})*|{_OTHERS}",
    # l'homme -> l' homme; mange-t-il -> mange -t-il; grand-mère and aujourd'hui stay whole.
    "fr": rf"{ELISION}(?=\p{{L}})|{_CLITIC}|{_ABBREVIATION}|{_WORD}(?:(?:'|(?!{_CLITIC})-){_WORD})*|{_OTHERS}",
    "": rf"{_ABBREVIATION}|{_WORD}(?:['-]{_WORD})*|{_OTHERS}",
}
CODE = regex.compile(r">>.*?<<", regex.DOTALL)  # of the language to write
_COMPILED = {language: regex.compile(pattern) for language, pattern in PATTERNS.items()}


class WordTokenizer:
    """Words and punctuation marks as tokens.

    Args:
        language: "en" splits off 's, 'll and the like. "fr" splits elided words (l', d', qu') and inverted pronouns
            (-t-il, -ce). In any other language, letters joined by hyphens and apostrophes are one word. A language
            that is written without spaces (Chinese, Thai) needs `BPETokenizer`.

    >>> WordTokenizer("fr").tokenize("L'homme mange-t-il ?")
    ["l'", 'homme', 'mange', '-t-il', '?']
    """

    kind = "word"
    cased = False

    def __init__(self, language: str = ""):
        self.language = language
        self._pattern = _COMPILED.get(language, _COMPILED[""])
        self._close_up = set(CLOSE_UP.get(language, CLOSE_UP[""]))
        self._stand_off = set(STAND_OFF.get(language, ""))
        self._opening = set(OPENING.get(language, "("))

    def normalize(self, text: str) -> str:
        """The spelling that the tokens have (see `normalize`)."""
        return normalize(text, self.language)

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, lower-cased (see `normalize`)."""
        return self._pattern.findall(self.normalize(text))

    def detokenize(self, tokens: Iterable[str]) -> str:
        """The text of the tokens, with spaces where the language has them.

        Special tokens are left out, except <unk>.
        """
        text, glue, open_quote, last = "", True, False, ""  # glue: no space before the next token
        for token in check_items("tokens", tokens):
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
        """Whether no space stands between a token and the token before it, because of the later one."""
        if token in self._close_up or (token in self._stand_off and last in self._stand_off):
            return True
        if self.language == "en":
            return token[0] == "'" and (len(token) > 1 or last.endswith("s"))  # dog's, dogs'
        return self.language == "fr" and len(token) > 1 and token[0] == "-"

    def _joins_right(self, token: str) -> bool:
        """Whether no space follows a token."""
        return token in self._opening or (self.language == "fr" and len(token) > 1 and token.endswith("'"))

    def state(self) -> dict:
        """What has to be stored to make an equal tokenizer later. It fits into JSON."""
        return {"tokens": self.kind, "language": self.language}

    @classmethod
    def from_state(cls, state: dict) -> WordTokenizer:
        """The tokenizer whose `state` was stored."""
        return cls(state["language"])


class BPETokenizer:
    """Byte-pair encoding: pieces of words as tokens, so that every word of every script can be written.

    Training starts from single characters. Again and again it merges the two neighbouring pieces that are most frequent
    in the training text (Sennrich, Haddow and Birch 2016, section 3.2; Hugging Face `tokenizers` does the work). "▁" at
    the beginning of a piece stands for a space. The pieces of a text, joined, give the normalized text back, space for
    space.

    Make one with `learn`.
    """

    kind = "bpe"

    def __init__(self, backend: tokenizers.Tokenizer, language: str = "", cased: bool = False):
        self.language = language
        self.cased = cased
        self._backend = backend

    @classmethod
    def learn(cls, lines: Iterable[str], size: int = 8000, language: str = "", cased: bool = False) -> BPETokenizer:
        """Learn pieces from lines of training text. A character that is not in these lines will become <unk>.

        Args:
            size: the most tokens that the vocabulary may have, special tokens included.
            cased: whether the text keeps capital letters, quotes and spaces as they are typed (see `normalize`).

        Raises:
            ValueError: the size is too small even for the single characters, or larger than `MOST_TOKENS`.
        """
        return cls(
            _learn_pieces((normalize(line, language, cased) for line in check_items("lines", lines)), size),
            language,
            cased,
        )

    def for_language(self, language: str) -> BPETokenizer:
        """A tokenizer with the same pieces, for text in the spelling of another language."""
        return BPETokenizer(self._backend, language, self.cased)

    @property
    def tokens(self) -> list[str]:
        """All pieces, the single characters first."""
        ids = self._backend.get_vocab()
        return sorted(ids.keys() - {UNK}, key=ids.__getitem__)

    def normalize(self, text: str) -> str:
        """The spelling that the pieces have (see `normalize`)."""
        return normalize(text, self.language, self.cased)

    @property
    def merges(self) -> list[str]:
        """The merges, the first one first: two pieces with a space between them."""
        return [" ".join(merge) for merge in self.state()["backend"]["model"]["merges"]]

    def is_learned(self) -> bool:
        """Whether texts are split as by a tokenizer that `learn` made, and not by one of another making."""
        ours, other = (json.loads(each.to_str()) for each in (_untrained_pieces(), self._backend))
        for stored in (ours, other):
            stored["model"] |= {"vocab": {}, "merges": []}
        return ours == other

    def tokenize(self, text: str) -> list[str]:
        """The pieces of a text in its one spelling. An unknown character is a piece by itself."""
        text = self.normalize(text)
        encoding = self._backend.encode(text)
        pieces = zip(encoding.tokens, encoding.offsets, strict=True)
        return [text[start:end] if token == UNK else token for token, (start, end) in pieces]

    def detokenize(self, tokens: Iterable[str]) -> str:
        """The text of the pieces. Special tokens are left out, except <unk>."""
        return _joined(tokens)

    def state(self) -> dict:
        """What has to be stored to make an equal tokenizer later. It fits into JSON."""
        stored = {"tokens": self.kind, "language": self.language, "backend": json.loads(self._backend.to_str())}
        return stored | {"cased": True} if self.cased else stored

    @classmethod
    def from_state(cls, state: dict) -> BPETokenizer:
        """The tokenizer whose `state` was stored."""
        from tokenizers import Tokenizer

        return cls(Tokenizer.from_str(json.dumps(state["backend"])), state["language"], state.get("cased", False))


class UnigramTokenizer:
    """The pieces of a `.spm` file of SentencePiece, which somebody else has learned (see `Unigram`); cased.

    A text may begin with the code of a language, as ">>fra<<": models with several target languages need one.

    Args:
        pieces: what `Unigram.read` found in the file.
    """

    kind = "unigram"
    cased = True

    def __init__(self, pieces: Unigram, language: str = ""):
        self.language = language
        self._pieces = pieces

    def normalize(self, text: str) -> str:
        """The spelling that the pieces have."""
        return self._pieces.normalize(text)

    def tokenize(self, text: str) -> list[str]:
        """The pieces of a text. A run of unknown characters is a piece by itself."""
        code = CODE.match(text)
        pieces = self._pieces.split(text[code.end() :] if code else text)
        return [*([code[0]] if code else []), *(UNK if piece in SPECIALS else piece for piece in pieces)]

    def detokenize(self, tokens: Iterable[str]) -> str:
        """The text of the pieces. Special tokens are left out, except <unk>."""
        return _joined(tokens)

    def state(self) -> dict:
        """What has to be stored to make an equal tokenizer later. It fits into JSON."""
        characters = base64.b64encode(self._pieces.characters).decode()
        return {"tokens": self.kind, "language": self.language, "pieces": self._pieces.pieces, "characters": characters}

    @classmethod
    def from_state(cls, state: dict) -> UnigramTokenizer:
        """The tokenizer whose `state` was stored."""
        pieces = [(str(piece), float(score)) for piece, score in state["pieces"]]
        return cls(Unigram(pieces, base64.b64decode(state["characters"])), state["language"])


def _joined(pieces: Iterable[str]) -> str:
    text = "".join(piece for piece in check_items("pieces", pieces) if piece not in (PAD, BOS, EOS))
    return text.replace("▁", " ").removeprefix(" ")


def _learn_pieces(texts: Iterable[str], size: int) -> tokenizers.Tokenizer:
    """Learn the pieces of normalized texts. See `BPETokenizer.learn`."""
    if size > MOST_TOKENS:
        raise ValueError(f"a vocabulary has at most {MOST_TOKENS:,} tokens, not {size:,}")
    from tokenizers import Tokenizer, trainers

    backend = _untrained_pieces()
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(SPECIALS) + 1,
        min_frequency=2,
        special_tokens=[UNK],
        initial_alphabet=["▁"],
        show_progress=False,
    )
    backend.train_from_iterator((_LONG_WORD.sub(r"\1 ", text) for text in texts), trainer)
    characters = backend.get_vocab_size() - 1  # without <unk>
    if characters + len(SPECIALS) > size:
        raise ValueError(
            f"a vocabulary of {size} is too small for {characters} characters and {len(SPECIALS)} special tokens"
        )
    # The model needs <unk>. But as an added token it would also be found in the text of a user who types "<unk>".
    stored = json.loads(backend.to_str()) | {"added_tokens": []}
    return Tokenizer.from_str(json.dumps(stored))


def _untrained_pieces() -> tokenizers.Tokenizer:
    """Words that begin with "▁", and each no-break space and punctuation mark by itself, before pieces are merged."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    backend = Tokenizer(models.BPE(unk_token=UNK))
    words = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    apart = [pre_tokenizers.Split(space, "isolated") for space in NO_BREAK]
    backend.pre_tokenizer = pre_tokenizers.Sequence([words, *apart, pre_tokenizers.Punctuation("isolated")])
    return backend


class Language:
    """The text codec of one language: a tokenizer with a vocabulary. It encodes text as ids and decodes ids as text.

    A translator has two: one for the source language and one for the target language.

    Args:
        tokenizer: splits text into tokens, and joins tokens into text.
        vocab: gives each token its id.
    """

    def __init__(self, tokenizer: WordTokenizer | BPETokenizer | UnigramTokenizer, vocab: Vocab):
        self.tokenizer = tokenizer
        self.vocab = vocab

    def __repr__(self) -> str:
        kind = "words" if self.tokenizer.kind == "word" else "pieces"
        return f"Language({self.tokenizer.language or '?'}, {len(self.vocab):,} {kind})"

    @classmethod
    def learn(
        cls,
        language: str,
        lines: Iterable[str],
        min_freq: int = 1,
        tokens: str = "word",
        size: int = 8000,
        cased: bool = False,
    ) -> Language:
        """Make the codec of a language from lines of training text.

        Args:
            language: "en", "fr", ...: it chooses the rules for spelling and words. "" has general rules.
            lines: training text only: a vocabulary made of held-out text leaks that text.
            min_freq: for "word": words that occur less often become <unk>.
            tokens: "word" or "bpe" (see `WordTokenizer`, `BPETokenizer`).
            size: for "bpe": the most tokens that the vocabulary may have.
            cased: for "bpe": keep the text as it is typed (see `normalize`).

        Raises:
            TypeError: `lines` is one text.
            ValueError: `tokens` is neither, `size` is too small or too large, or words are to be cased.
        """
        if tokens == "bpe":
            pieces = BPETokenizer.learn(lines, size, language, cased)
            return cls(pieces, Vocab.of(pieces.tokens))
        if cased:
            raise ValueError(f'text is cased with tokens "bpe", not with {tokens!r}')
        if tokens not in TOKENS:
            raise ValueError(f"tokens are one of {', '.join(TOKENS)}, not {tokens!r}")
        words = WordTokenizer(language)
        return cls(words, Vocab((words.tokenize(line) for line in check_items("lines", lines)), min_freq))

    @classmethod
    def learn_shared(
        cls,
        languages: tuple[str, str],
        sources: Iterable[str],
        targets: Iterable[str],
        size: int = 8000,
        cased: bool = False,
    ) -> tuple[Language, Language]:
        """Make the codecs of two languages that share their pieces of words and their vocabulary.

        The same piece then has the same id on both sides, as names and numbers often do, and a model may share one
        embedding matrix (Sennrich, Haddow and Birch 2016, section 3.2: joint BPE).

        Args:
            languages: of source and target; each side keeps its own rules for spelling.
            sources, targets: lines of training text.
            size: the most tokens of the one vocabulary.
            cased: keep the text as it is typed (see `normalize`).

        Raises:
            ValueError: the size is too small.
        """
        source, target = as_texts(languages, "languages", 2)
        sides = zip((source, target), (sources, targets), strict=True)
        spelled = (normalize(line, code, cased) for code, lines in sides for line in check_items("lines", lines))
        pieces = BPETokenizer(_learn_pieces(spelled, size), cased=cased)
        vocab = Vocab.of(pieces.tokens)
        return cls(pieces.for_language(source), vocab), cls(pieces.for_language(target), vocab)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, with <eos> at the end, so that even an empty text has one token."""
        return [*self.vocab.encode(self.tokenizer.tokenize(text)), self.vocab.eos]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids."""
        return self.tokenizer.detokenize(self.vocab.decode(ids))

    def to_json(self) -> str:
        """The tokenizer and the vocabulary as JSON text."""
        stored = self.tokenizer.state() | {"vocab": self.vocab.tokens[len(SPECIALS) :]}
        return json.dumps(stored, ensure_ascii=False, indent=0)

    @classmethod
    def from_json(cls, text: str | bytes, name: str = "the text") -> Language:
        """Read what `to_json` wrote.

        Args:
            name: of the text or its file, for the error.

        Raises:
            ValueError: the text is damaged.
        """
        try:
            stored = json.loads(text)
            makers = {one.kind: one.from_state for one in (WordTokenizer, BPETokenizer, UnigramTokenizer)}
            if stored["tokens"] not in makers or not isinstance(stored["language"], str):
                raise ValueError(f"its tokens are {stored['tokens']!r}, and its language is {stored['language']!r}")
            tokenizer = makers[stored["tokens"]](stored)
            tokens = stored["vocab"]
            fits = isinstance(tokens, list) and all(isinstance(token, str) for token in tokens)
            if not fits or len(set(tokens)) < len(tokens):
                raise ValueError("the vocabulary is not a list of texts, or holds a token twice")
            return cls(tokenizer, Vocab.of(tokens))
        except Exception as error:  # the tokenizers library raises nothing narrower
            raise ValueError(f"{name} is damaged ({type(error).__name__}: {error})") from None

    def save(self, path: str | Path) -> None:
        """Write the tokenizer and the vocabulary to a JSON file."""
        write(path, self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Language:
        """Read a file that `save` wrote.

        Raises:
            ValueError: the file is damaged.
            OSError: the file cannot be read.
        """
        return cls.from_json(Path(path).read_bytes(), str(path))
