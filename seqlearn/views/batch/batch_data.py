"""The data of `BatchView`: the lengths of the sentences, and for each order and size the sentences of each batch."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from ...runtime.values import as_int
from ..shared.arguments import as_text
from ..shared.types import Data

ORDERS = ("random", "sorted", "bucketed")
MOST = 256  # sentences: each has a row


def batch_data(sentences: Iterable[int | Sequence[str]], seed: int) -> Data:
    """What `BatchView` draws; the class explains the arguments."""
    given = list(sentences)
    tokens = [list(map(as_text, one)) for one in given if isinstance(one, (list, tuple))]
    if tokens and len(tokens) < len(given):
        raise TypeError("either all sentences are lists of tokens, or all are lengths")
    numbers = [as_int("a length", length) for length in (map(len, tokens) if tokens else given)]
    if not 1 <= len(numbers) <= MOST:
        raise ValueError(f"from 1 to {MOST} sentences are shown, not {len(numbers)}")
    sizes = [size for size in (2**i for i in range(MOST.bit_length())) if size < len(numbers)]
    sizes.append(len(numbers))
    plans = {order: [plan_of(numbers, order, size, seed) for size in sizes] for order in ORDERS}
    return {"lengths": numbers, "sizes": sizes, "plans": plans, **({"tokens": tokens} if tokens else {})}


def plan_of(lengths: Sequence[int], order: str, size: int, seed: int) -> list[list[int]]:
    """The sentences of each batch, by their numbers. Of `Random`, only random() is the same in every Python.

    Random: shuffle the sentences, and cut. Sorted: sort them by length before the cut. Bucketed: shuffle the sorted
    batches, too.
    """
    dice = random.Random(seed)
    sentences = _shuffled(list(range(len(lengths))), dice)
    if order != "random":
        sentences.sort(key=lengths.__getitem__)
    batches = [sentences[start : start + size] for start in range(0, len(sentences), size)]
    return _shuffled(batches, dice) if order == "bucketed" else batches


def _shuffled(things: list, dice: random.Random) -> list:
    keys = [dice.random() for _ in things]
    return [things[i] for i in sorted(range(len(things)), key=keys.__getitem__)]


def widths_of(lengths: Sequence[int], plan: Sequence[Sequence[int]]) -> list[int]:
    """The width of each batch: its longest sentence."""
    return [max(lengths[sentence] for sentence in batch) for batch in plan]


def padding_of(lengths: Sequence[int], plan: Sequence[Sequence[int]]) -> float:
    """The share of all cells that is padding."""
    cells = sum(width * len(batch) for width, batch in zip(widths_of(lengths, plan), plan, strict=True))
    return 1 - sum(lengths) / cells
