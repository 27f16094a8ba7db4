"""Sentences of different length, side by side in one tensor."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from .pairs import Pair
from .text import Language


def pad(
    sentences: Sequence[Sequence[int]], pad_id: int, steps: int | None = None
) -> tuple[Int[Tensor, "batch steps"], Int[Tensor, "batch"]]:
    """Sentences as one tensor, filled up on the right with `pad_id`, and their valid lengths.

    Args:
        sentences: ids; not all empty.
        steps: the width; longer sentences are cut. Default: the longest sentence.
    """
    steps = max(map(len, sentences)) if steps is None else steps
    rows = [[*sentence[:steps], *[pad_id] * (steps - len(sentence))] for sentence in sentences]
    return torch.tensor(rows, dtype=torch.long), torch.tensor([min(len(sentence), steps) for sentence in sentences])


class Batch(NamedTuple):
    """Pairs as padded ids. Sources end with <eos>; targets start with <bos> and end with <eos>."""

    source: Int[Tensor, "batch source"]
    source_lens: Int[Tensor, "batch"]
    target: Int[Tensor, "batch target"]
    target_lens: Int[Tensor, "batch"]

    @property
    def tokens(self) -> int:
        """How many tokens the model has to predict: all real target tokens but <bos>."""
        return int(self.target_lens.sum()) - len(self.target_lens)

    def to(self, device: torch.device | str) -> Batch:
        """The batch on a device; the lengths of the sources stay where packing needs them, on the CPU."""
        return Batch(self.source.to(device), self.source_lens, self.target.to(device), self.target_lens)


class Batches:
    """Pairs in batches of similar length. Their order is a pure function of (seed, epoch).

    Args:
        pairs, source, target: the text, and the languages that turn it into ids.
        batch_size: pairs in a batch; the last one may be smaller.
        seed: of the order.
    """

    POOL = 50  # batches that are sorted by length together: more waste less padding, fewer mix more

    def __init__(self, pairs: Iterable[Pair], source: Language, target: Language, batch_size: int = 64, seed: int = 0):
        self.batch_size = batch_size
        self.seed = seed
        self.pad = target.vocab.pad
        self.source_pad = source.vocab.pad
        bos = target.vocab.bos
        self.examples = [(source.encode(pair.source), [bos, *target.encode(pair.target)]) for pair in pairs]
        if not self.examples:
            raise ValueError("no pairs to make batches of")

    def __len__(self) -> int:
        return -(-len(self.examples) // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        """All pairs once, shortest first: for validation, where order means nothing and padding costs time."""
        order = sorted(range(len(self.examples)), key=self._lengths)
        return (self._batch(order[start : start + self.batch_size]) for start in self._starts(len(order)))

    def epoch(self, number: int) -> Iterator[Batch]:
        """All pairs once, in the order of this epoch: shuffled, then grouped by length, then the groups shuffled."""
        rng = random.Random(f"{self.seed} {number}")
        order = _shuffled(range(len(self.examples)), rng)
        pool = self.POOL * self.batch_size
        groups = []
        for start in range(0, len(order), pool):
            near = sorted(order[start : start + pool], key=self._lengths)
            groups += [near[first : first + self.batch_size] for first in self._starts(len(near))]
        return (self._batch(group) for group in _shuffled(groups, rng))

    def _starts(self, count: int) -> range:
        return range(0, count, self.batch_size)

    def _lengths(self, index: int) -> tuple[int, int]:
        source, target = self.examples[index]
        return len(target), len(source)

    def _batch(self, indices: Sequence[int]) -> Batch:
        sources, targets = zip(*(self.examples[index] for index in indices), strict=True)
        return Batch(*pad(sources, self.source_pad), *pad(targets, self.pad))


def _shuffled(items: Sequence, rng: random.Random) -> list:
    # Sorting by random() rather than shuffle(): Python promises the sequence of random() alone.
    keys = [rng.random() for _ in items]
    return [items[index] for index in sorted(range(len(items)), key=keys.__getitem__)]
