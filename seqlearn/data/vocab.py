"""Tokens to ids, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..runtime.values import as_int, check_items

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
SPECIALS = (PAD, BOS, EOS, UNK)


class Vocab:
    """Tokens to ids and back. Ids 0 to 3 are <pad>, <bos>, <eos>, <unk>; the others go by frequency, then by token.

    Args:
        sentences: lists of tokens, from the training data only. A vocabulary made of held-out text leaks that text.
        min_freq: tokens that occur less often become <unk>.
    """

    def __init__(self, sentences: Iterable[Sequence[str]] = (), min_freq: int = 1):
        lists = check_items("sentences", sentences, "lists of tokens")
        counts = Counter(token for sentence in lists for token in check_items("the tokens of a sentence", sentence))
        kept = sorted(
            (token for token in counts if counts[token] >= min_freq), key=lambda token: (-counts[token], token)
        )
        self._set(kept)

    def _set(self, tokens: Iterable[str]) -> None:
        self.tokens = [*SPECIALS, *(token for token in check_items("tokens", tokens) if token not in SPECIALS)]
        self.ids = {token: index for index, token in enumerate(self.tokens)}
        self.pad, self.bos, self.eos, self.unk = range(len(SPECIALS))

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"Vocab({len(self):,} tokens)"

    def __contains__(self, token: str) -> bool:
        return token in self.ids

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The ids of the tokens; <unk> for tokens that are not in the vocabulary."""
        return [self.ids.get(token, self.unk) for token in check_items("tokens", tokens)]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The tokens of the ids, special tokens included.

        Raises:
            TypeError: an id is not a whole number.
            ValueError: an id is below 0 or beyond the vocabulary.
        """
        numbers = [as_int("an id", index, 0) for index in check_items("ids", ids, "whole numbers")]
        if max(numbers, default=0) >= len(self):
            raise ValueError(f"the ids of a vocabulary of {len(self)} tokens are below {len(self)}, not {max(numbers)}")
        return [self.tokens[index] for index in numbers]

    @classmethod
    def of(cls, tokens: Iterable[str]) -> Vocab:
        """A vocabulary with these tokens, in this order, after the special ones."""
        vocab = cls()
        vocab._set(tokens)
        return vocab
