"""Sentences of different lengths, side by side in one tensor: padding and batches."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ..runtime.arguments import as_tensor
from ..runtime.values import as_int, check_items, shown
from .large.cache import cached
from .large.sentences import Sentences, encode
from .pairs import Pair
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

    Raises:
        TypeError: something other than lists of whole numbers is given.
        ValueError: there is no sentence.
    """
    if not len(sentences):
        raise ValueError("pad needs at least one sentence: the list is empty")
    sentences = [
        list(check_items("ids", sentence, "whole numbers")) for sentence in check_items("sentences", sentences, "lists")
    ]
    steps = max(map(len, sentences)) if steps is None else steps
    rows = [[*sentence[:steps], *[pad_id] * (steps - len(sentence))] for sentence in sentences]
    ids = as_tensor("the ids of a batch", rows) if steps else torch.empty(len(rows), 0, dtype=torch.long)
    if ids.is_floating_point() or ids.dim() != 2:
        raise TypeError(f"ids are whole numbers, and each sentence is a list of them, not {shown(sentences[0])}")
    return ids.long(), torch.tensor([min(len(sentence), steps) for sentence in sentences])


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


BATCHINGS = ("fixed", "dynamic", "bucketed")


class Batches:
    """Pairs in batches. Their order is a pure function of (seed, epoch).

    Up to a million pairs (`SECTION`) are shuffled all together. A larger corpus is shuffled in sections of at most a
    million pairs, so that the memory for the order does not grow with the corpus. A section is made of blocks of 16,384
    neighbouring pairs, drawn at random from the whole corpus in each epoch; its pairs are shuffled all together.

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
        max_tokens: about how many tokens a batch has, in place of `batch_size`, for "bucketed": pairs are counted by
            their longer side, without padding. A batch may be larger by one longest pair.
        cache: a folder. The ids are written to files there, unless an earlier call has done so, and are read from the
            files when they are needed (see `seqlearn.data.large.cache`). Default: memory holds the ids. The batches are
            the same.

    Raises:
        TypeError: the batch size is not a whole number.
        ValueError: an option is out of range, or there are no pairs.
        OSError: the cache cannot be written.
    """

    POOL = 100  # batches that are sorted by length together: a larger pool has less padding, a smaller one mixes better
    BLOCK = 1 << 14  # neighbouring pairs that share a section; rounded down to a multiple of the batch size
    SECTION = 1 << 20  # pairs that are shuffled together, or a block more

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
        max_tokens: int | None = None,
        cache: str | Path | None = None,
    ):
        if batching not in BATCHINGS:
            raise ValueError(f"batching is one of {', '.join(BATCHINGS)}, not {batching!r}")
        if (steps is not None) and (batching != "fixed" or as_int("steps", steps, 0) < 2):
            raise ValueError(f'steps is a width of at least 2, for batching "fixed"; got {steps} for {batching!r}')
        if max_tokens is not None and batching != "bucketed":
            raise ValueError(f'max_tokens is for batching "bucketed", not for {batching!r}')
        self.batch_size = as_int("batch_size", batch_size)
        self.seed = seed
        self.batching = batching
        self.pad = target.vocab.pad
        self.source_pad = source.vocab.pad
        if cache is None:
            self.sources, self.targets = Sentences(), Sentences()
            self.left_out = encode(pairs, source, target, max_length, self.sources, self.targets)
        else:
            pairs = pairs if isinstance(pairs, Sequence) else list(pairs)  # they are read twice
            self.sources, self.targets, self.left_out = cached(cache, pairs, source, target, max_length)
        self._widths: tuple[int | None, int | None] = (None, None)  # of source and target; None: the longest in a batch
        if batching == "fixed":
            longest = int(self.sources.lengths.max()), int(self.targets.lengths.max())
            self._widths = longest if steps is None else (steps, steps)
        self._count = math.ceil(len(self.sources) / self.batch_size)
        self.max_tokens = None if max_tokens is None else as_int("max_tokens", max_tokens)
        if self.max_tokens is not None and len(self.sources):
            longer = np.maximum(self.sources.lengths, self.targets.lengths)
            if 2 * int(longer.max()) > self.max_tokens:
                raise ValueError(
                    f"max_tokens is {self.max_tokens:,}, and a batch needs room for two of the longest sentence, "
                    f"which has {int(longer.max()):,} tokens with <bos> and <eos>"
                )
            self._count = math.ceil(int(longer.sum()) / self.max_tokens)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Batch]:
        """All pairs once, shortest first: for validation, where the order does not matter and padding costs time."""
        return map(self._batch, self._groups(self._by_length(np.arange(len(self.sources))), len(self)))

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """All pairs once, in the order of this epoch; without the first `start` batches."""
        return map(self._batch, self._plan(number, start))

    def fingerprint(self) -> str:
        """The same for batches with the same ids in the same order, and else another one."""
        digest = hashlib.sha256(f"{self.batch_size} {self.seed} {self.batching} {self._widths}".encode())
        if self.max_tokens is not None:
            digest.update(f"{self.max_tokens}".encode())
        digest.update(f"{self.sources.checksum()} {self.targets.checksum()}".encode())
        return digest.hexdigest()

    def padding(self, epoch: int = 0) -> float:
        """The share of padding among all positions of an epoch's batches, sources and targets together."""
        tokens = positions = 0
        for group in self._plan(epoch):
            for lengths, fixed in zip(self._lengths(group), self._widths, strict=True):
                width = int(lengths.max()) if fixed is None else fixed
                tokens += int(lengths.clip(max=width).sum())
                positions += width * len(group)
        return 1 - tokens / positions

    @property
    def cut(self) -> int:
        """The number of pairs that "fixed" batches cut on at least one side."""
        if self.batching != "fixed":
            return 0
        lengths = np.stack([self.sources.lengths, self.targets.lengths])  # 2, pairs
        return int((lengths > np.array(self._widths)[:, None]).any(0).sum())

    def _plan(self, epoch: int, start: int = 0) -> Iterator[np.ndarray]:
        """The pairs of each batch, by their numbers; without the first `start` batches."""
        for pairs, rng, count in self._sections(epoch):
            if start < count:
                yield from self._section_plan(pairs, rng, count)[start:]
                for sentences in (self.sources, self.targets):
                    sentences.forget()
            start = max(0, start - count)

    def _sections(self, epoch: int) -> Iterator[tuple[np.ndarray, random.Random, int]]:
        """The pairs of each section, by their numbers; the random numbers that shuffle it; how many batches it has."""
        total, size = len(self.sources), self.batch_size * max(1, self.BLOCK // self.batch_size)
        rng = random.Random(f"{self.seed} {epoch}")
        if total <= self.SECTION:
            yield np.arange(total), rng, len(self)
            return
        blocks, parts = _shuffled(math.ceil(total / size), rng), math.ceil(total / self.SECTION)
        for number, section in enumerate(np.array_split(blocks, parts)):
            pairs = (section[:, None] * size + np.arange(size)).ravel()
            pairs = pairs[pairs < total]
            count = math.ceil(len(pairs) / self.batch_size)
            if self.max_tokens is not None:  # the same in every epoch
                count = len(self) * (number + 1) // parts - len(self) * number // parts
            yield pairs, random.Random(f"{self.seed} {epoch} {number}"), count

    def _section_plan(self, pairs: np.ndarray, rng: random.Random, count: int) -> list[np.ndarray]:
        """The batches of a section.

        Bucketed: shuffle the pairs, sort each pool of them by length, cut the pools into batches, shuffle the batches.
        """
        order = pairs[_shuffled(len(pairs), rng)]
        if self.batching != "bucketed":
            return self._groups(order, count)
        if self.max_tokens is not None:
            groups = self._groups(self._by_length(order), count)
        else:
            pool = self.POOL * self.batch_size
            pools = (order[start : start + pool] for start in range(0, len(order), pool))
            groups = [group for each in pools for group in self._groups(self._by_length(each), count)]
        return [groups[index] for index in _shuffled(len(groups), rng)]

    def _groups(self, order: np.ndarray, count: int) -> list[np.ndarray]:
        """Cut pairs into batches: of `batch_size` pairs each, or into `count` batches with equally many tokens."""
        if self.max_tokens is None:
            return [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        ends = np.maximum(*self._lengths(order)).cumsum()
        return np.split(order, np.searchsorted(ends, ends[-1] * np.arange(1, count) / count))

    def _lengths(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The lengths of sources and targets."""
        return self.sources.lengths_of(pairs), self.targets.lengths_of(pairs)

    def _by_length(self, pairs: np.ndarray) -> np.ndarray:
        """Sort by target length, then by source length.

        Source lengths rise and fall in turn, so that neighbours stay similar where the target length changes.
        """
        source, target = self._lengths(pairs)
        return pairs[np.lexsort((np.where(target % 2, -source, source), target))]

    def _batch(self, group: np.ndarray) -> Batch:
        source, source_lens = self.sources.padded(group, self.source_pad, self._widths[0])
        target, target_lens = self.targets.padded(group, self.pad, self._widths[1])
        return Batch(source, source_lens, target, target_lens)


def _shuffled(count: int, rng: random.Random) -> np.ndarray:
    """The numbers below `count` in random order. Of `Random`, only random() gives the same numbers in every Python."""
    return np.argsort(np.fromiter((rng.random() for _ in range(count)), float, count), kind="stable")
