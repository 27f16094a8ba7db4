"""Sentences of different lengths, side by side in one tensor: padding and batches."""

from __future__ import annotations

import hashlib
import random
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ..pairs import Pair
from .text import Language


def pad(
    sentences: Sequence[Sequence[int]], pad_id: int, steps: int | None = None
) -> tuple[Int[Tensor, "batch steps"], Int[Tensor, "batch"]]:
    """Sentences as one tensor, filled up on the right with `pad_id`.

    Args:
        sentences: token ids; at least one sentence.
        steps: the width of the tensor; longer sentences are cut. Default: the longest sentence.

    Returns:
        The ids `(batch, steps)`, and the valid length of each sentence `(batch,)`.
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
        """The number of tokens that a model has to predict: all target tokens but <bos> and padding."""
        return int(self.target_lens.sum()) - len(self.target_lens)

    def to(self, device: torch.device | str) -> Batch:
        """The batch on a device. The source lengths stay on the CPU, where `pack_padded_sequence` needs them."""
        return Batch(self.source.to(device), self.source_lens, self.target.to(device), self.target_lens)


class Sentences(Sequence[Sequence[int]]):
    """The ids of many sentences, end to end in one array: four bytes for an id, and eight for a sentence."""

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

    @overload
    def __getitem__(self, index: int) -> Sequence[int]: ...
    @overload
    def __getitem__(self, index: slice) -> list[Sequence[int]]: ...
    def __getitem__(self, index: int | slice) -> Sequence[int] | list[Sequence[int]]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]  # counts a negative index from the end, and checks the bounds
        return self._ids[self._ends[number] : self._ends[number + 1]]

    @property
    def ids(self) -> np.ndarray:
        """The ids of all sentences, end to end."""
        return np.frombuffer(self._ids, dtype=np.int32)

    @property
    def lengths(self) -> np.ndarray:
        """The number of ids of each sentence."""
        return np.diff(np.frombuffer(self._ends, dtype=np.int64))


BATCHINGS = ("fixed", "dynamic", "bucketed")


class Batches:
    """Pairs in batches. Their order is a pure function of (seed, epoch).

    Args:
        pairs: the sentences.
        source, target: the languages that turn the sentences into ids.
        batch_size: pairs in a batch; the last batch may be smaller.
        seed: the seed of the order.
        batching: which pairs share a batch. "bucketed": pairs of similar length. "dynamic": any pairs; each batch is as
            wide as its longest sentence. "fixed": any pairs; all batches are `steps` wide.
        steps: the width of "fixed" batches. Longer sentences are cut and lose their <eos>. Default: the longest.
        max_length: leave out pairs that have more tokens on a side (not counting <bos> and <eos>). `left_out` says how
            many were left out.

    Raises:
        ValueError: an option is out of range, or there are no pairs.
    """

    POOL = 100  # batches that are sorted by length together: a larger pool has less padding, a smaller one mixes better

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
        self._lengths = np.stack([self.sources.lengths, self.targets.lengths])  # 2 (source, target), pairs
        self._widths: tuple[int | None, int | None] = (None, None)  # of source and target; None: the longest in a batch
        if batching == "fixed":
            longest_source, longest_target = self._lengths.max(1).tolist()
            self._widths = (longest_source, longest_target) if steps is None else (steps, steps)

    def __len__(self) -> int:
        return -(-len(self.sources) // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        """All pairs once, shortest first: for validation, where the order does not matter and padding costs time."""
        return map(self._batch, self._groups(self._by_length(np.arange(len(self.sources)))))

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """All pairs once, in the order of this epoch; without the first `start` batches."""
        return map(self._batch, self._plan(number)[start:])

    def fingerprint(self) -> str:
        """The same for batches with the same ids in the same order, and else another one."""
        digest = hashlib.sha256(f"{self.batch_size} {self.seed} {self.batching} {self._widths}".encode())
        for sentences in (self.sources, self.targets):
            digest.update(sentences.lengths.tobytes() + sentences.ids.tobytes())
        return digest.hexdigest()

    def padding(self, epoch: int = 0) -> float:
        """The share of padding among all positions of an epoch's batches, sources and targets together."""
        tokens = positions = 0
        for group in self._plan(epoch):
            for lengths, fixed in zip(self._lengths[:, group], self._widths, strict=True):
                width = int(lengths.max()) if fixed is None else fixed
                tokens += int(lengths.clip(max=width).sum())
                positions += width * len(group)
        return 1 - tokens / positions

    @property
    def cut(self) -> int:
        """The number of pairs that "fixed" batches cut on at least one side."""
        if self.batching != "fixed":
            return 0
        return int((self._lengths > np.array(self._widths)[:, None]).any(0).sum())

    def _plan(self, epoch: int) -> list[np.ndarray]:
        """The pairs of each batch, by their numbers.

        Bucketed: shuffle the pairs, sort each pool of them by length, cut the pools into batches, shuffle the batches.
        """
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
        """Sort by target length, then by source length.

        Source lengths rise and fall in turn, so that neighbours stay similar where the target length changes.
        """
        source, target = self._lengths[:, pairs]
        return pairs[np.lexsort((np.where(target % 2, -source, source), target))]

    def _batch(self, group: np.ndarray) -> Batch:
        pairs, (source_width, target_width) = group.tolist(), self._widths
        source, source_lens = pad([self.sources[pair] for pair in pairs], self.source_pad, source_width)
        target, target_lens = pad([self.targets[pair] for pair in pairs], self.pad, target_width)
        return Batch(source, source_lens, target, target_lens)


def _shuffled(count: int, rng: random.Random) -> np.ndarray:
    """The numbers below `count` in random order. Of `Random`, only random() gives the same numbers in every Python."""
    return np.argsort(np.fromiter((rng.random() for _ in range(count)), float, count), kind="stable")
