"""Sentences of different length, side by side in one tensor."""

from __future__ import annotations

import itertools
import random
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ..pairs import Pair
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


class Sentences(Sequence[Sequence[int]]):
    """Ids of many sentences, end to end in one array: four bytes for an id, and eight for a sentence."""

    def __init__(self, sentences: Iterable[Sequence[int]] = ()):
        self._ids = array("i")
        self._ends = array("q", [0])
        for sentence in sentences:
            self.append(sentence)

    def append(self, ids: Sequence[int]) -> None:
        """Add a sentence."""
        self._ids.extend(ids)
        self._ends.append(len(self._ids))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, index: int) -> Sequence[int]:
        place = range(len(self))[index]
        return self._ids[self._ends[place] : self._ends[place + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """How many ids each sentence has."""
        return np.diff(np.frombuffer(self._ends, dtype=np.int64))


BATCHINGS = ("fixed", "dynamic", "bucketed")


class Batches:
    """Pairs in batches. Their order is a pure function of (seed, epoch).

    Args:
        pairs, source, target: the text, and the languages that turn it into ids.
        batch_size: pairs in a batch; the last one may be smaller.
        seed: of the order.
        batching: "bucketed": pairs of similar length share a batch; "dynamic": any pairs do, and each batch is as wide
            as its longest sentence; "fixed": any pairs do, and all batches are `steps` wide.
        steps: the width of "fixed" batches; longer sentences are cut, and lose their <eos>. Default: the longest.
        max_length: pairs with more tokens on a side, <bos> and <eos> not counted, are left out; `left_out` counts them.
    """

    POOL = 100  # batches that are sorted by length together: more waste less padding, fewer mix more

    def __init__(
        self,
        pairs: Iterable[Pair],
        source: Language,
        target: Language,
        batch_size: int = 64,
        seed: int = 0,
        *,
        batching: str = "bucketed",
        steps: int | None = None,
        max_length: int | None = None,
    ):
        if batching not in BATCHINGS:
            raise ValueError(f"batching is one of {', '.join(BATCHINGS)}, not {batching!r}")
        if (steps is not None) and (batching != "fixed" or steps < 1):
            raise ValueError(f'steps is a width of at least 1, for batching "fixed"; got {steps} for {batching!r}')
        self.batch_size = batch_size
        self.seed = seed
        self.batching = batching
        self.pad = target.vocab.pad
        self.source_pad = source.vocab.pad
        self.sources, self.targets = Sentences(), Sentences()
        self.left_out = 0
        bos = target.vocab.bos
        for pair in pairs:
            ids = source.encode(pair.source), target.encode(pair.target)
            if max_length is not None and max(map(len, ids)) > max_length + 1:
                self.left_out += 1
                continue
            self.sources.append(ids[0])
            self.targets.append([bos, *ids[1]])
        if not self.sources:
            left_out = f": all {self.left_out} are longer than {max_length} tokens" if self.left_out else ""
            raise ValueError(f"no pairs to make batches of{left_out}")
        self._lengths = np.stack([self.sources.lengths, self.targets.lengths])  # side, pair
        self._steps = (None, None)
        if batching == "fixed":
            self._steps = tuple(int(longest) if steps is None else steps for longest in self._lengths.max(1))

    def __len__(self) -> int:
        return -(-len(self.sources) // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        """All pairs once, shortest first: for validation, where order means nothing and padding costs time."""
        return map(self._batch, self._groups(self._by_length(np.arange(len(self.sources)))))

    def epoch(self, number: int) -> Iterator[Batch]:
        """All pairs once, in the order of this epoch."""
        return map(self._batch, self._plan(number))

    def padding(self, epoch: int = 0) -> float:
        """The share of an epoch's places, on both sides, that hold padding and not a token."""
        real = places = 0
        for group in self._plan(epoch):
            for lengths, steps in zip(self._lengths[:, group], self._steps, strict=True):
                width = int(lengths.max()) if steps is None else steps
                real += int(lengths.clip(max=width).sum())
                places += width * len(group)
        return 1 - real / places

    @property
    def cut(self) -> int:
        """How many pairs "fixed" batches cut on at least one side."""
        if self.batching != "fixed":
            return 0
        return int((self._lengths > np.array(self._steps)[:, None]).any(0).sum())

    def _plan(self, epoch: int) -> list[np.ndarray]:
        """The pairs of each batch. Bucketed: shuffled, sorted by length within a pool, and the batches shuffled."""
        rng = random.Random(f"{self.seed} {epoch}")
        order = _shuffled(len(self.sources), rng)
        if self.batching != "bucketed":
            return self._groups(order)
        pool = self.POOL * self.batch_size
        groups = []
        for start in range(0, len(order), pool):
            groups += self._groups(self._by_length(order[start : start + pool]))
        return [groups[index] for index in _shuffled(len(groups), rng)]

    def _groups(self, order: np.ndarray) -> list[np.ndarray]:
        return [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]

    def _by_length(self, pairs: np.ndarray) -> np.ndarray:
        """By target, then by source: up and down in turn, so that neighbours are alike where the next target begins."""
        source, target = self._lengths[:, pairs]
        return pairs[np.lexsort((np.where(target % 2, -source, source), target))]

    def _batch(self, group: np.ndarray) -> Batch:
        sides = zip((self.sources, self.targets), (self.source_pad, self.pad), self._steps, strict=True)
        padded = (pad([side[pair] for pair in group.tolist()], fill, steps) for side, fill, steps in sides)
        return Batch(*itertools.chain(*padded))


def _shuffled(count: int, rng: random.Random) -> np.ndarray:
    # Sorting by random() rather than shuffle(): Python promises the sequence of random() alone.
    return np.argsort(np.fromiter((rng.random() for _ in range(count)), float, count), kind="stable")
