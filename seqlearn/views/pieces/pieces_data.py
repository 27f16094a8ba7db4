"""The data of `PiecesView`: words and joins; and what becomes of a word when the joins are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ..shared.arguments import as_text
from ..shared.types import Data

MARK = "▁"  # where a word begins
Merge = Sequence[str]  # the left piece and the right one


def pieces_data(words: Iterable[object], merges: Iterable[object]) -> Data:
    """What `PiecesView` draws; the class explains the arguments."""
    texts, pairs = list(map(as_text, words)), list(map(_pair, merges))
    if not texts:
        raise ValueError("at least 1 word is shown")
    return {"words": texts, "merges": pairs}


def _pair(merge: object) -> list[str]:
    """The two pieces of a merge, from a pair or from a text with a space between them."""
    pieces = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(pieces, Iterable) or len(pair := list(map(as_text, pieces))) != 2 or not all(pair):
        raise ValueError(f'a merge has two pieces, as in ("e", "a") or "e a"; got {merge!r}')
    return pair


def after(word: str, merges: Iterable[Merge]) -> list[str]:
    """The pieces of a word after these merges; each joins its pair everywhere, from left to right."""
    pieces = [MARK, *word]
    for left, right in merges:
        joined: list[str] = []
        for piece in pieces:
            if joined and joined[-1] == left and piece == right:
                joined[-1] += piece
            else:
                joined.append(piece)
        pieces = joined
    return pieces


def vocabulary(data: Data, joins: int) -> list[str]:
    """The pieces that are known after so many merges: "▁" and the letters in order, then what each merge made."""
    words, made = data["words"], list(map("".join, data["merges"]))
    letters = {letter for text in (*words, *made) for letter in text}
    return list(dict.fromkeys([MARK, *sorted(letters), *made[:joins]]))


def neighbours(cut: Iterable[Sequence[str]]) -> Counter[tuple[str, str]]:
    """How often two pieces stand side by side in words that were cut."""
    return Counter(pair for pieces in cut for pair in pairwise(pieces))
