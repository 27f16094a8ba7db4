"""The ids of many sentences end to end: two numbers say where each begins and ends, whether in memory or in a file."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from typing import Protocol, overload, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ..pairs import Pair, pairs_in
from ..text import Language

CHUNK = 1 << 20  # numbers that are turned into bytes at once


class Sentences(Sequence[Sequence[int]]):
    """The ids of many sentences, end to end in one array: four bytes for an id, and eight for a sentence."""

    def __init__(self, sentences: Iterable[Sequence[int]] = ()):
        self._ids: array | np.ndarray = array("i")
        self._ends: array | np.ndarray = array("q", [0])
        for sentence in sentences:
            self.append(sentence)

    def append(self, ids: Sequence[int]) -> None:
        """Add a sentence."""
        assert isinstance(self._ids, array) and isinstance(self._ends, array), "a file does not grow"
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
        return self._ids[self._ends[number] : self._ends[number + 1]].tolist()

    @property
    def ids(self) -> np.ndarray:
        """The ids of all sentences, end to end."""
        return np.asarray(self._ids)

    @property
    def ends(self) -> np.ndarray:
        """Zero, and where each sentence ends: one more number than there are sentences."""
        return np.asarray(self._ends)

    @property
    def lengths(self) -> np.ndarray:
        """The number of ids of each sentence."""
        return np.diff(self.ends)

    def lengths_of(self, numbers: np.ndarray) -> np.ndarray:
        """The number of ids of each of these sentences."""
        return self.ends[numbers + 1] - self.ends[numbers]

    def padded(
        self, numbers: np.ndarray, pad_id: int, steps: int | None = None
    ) -> tuple[Int[Tensor, "batch steps"], Int[Tensor, "batch"]]:
        """These sentences as one tensor, and their lengths: what `pad` gives, without a list for each sentence."""
        lengths = self.lengths_of(numbers)
        steps = int(lengths.max()) if steps is None else steps
        lengths, places = lengths.clip(max=steps), np.arange(steps)
        real = places < lengths[:, None]
        rows = np.full(real.shape, pad_id, np.int64)
        rows[real] = self.ids[(self.ends[numbers, None] + places)[real]]
        return torch.from_numpy(rows), torch.from_numpy(lengths)

    def checksum(self) -> str:
        """The same for the same sentences, whether they are in memory or in a file."""
        digest = Checksum()
        for start in range(0, len(self.ids), CHUNK):
            digest.ids(self.ids[start : start + CHUNK])
            self.forget()
        for start in range(0, len(self.ends), CHUNK):
            digest.ends(self.ends[start : start + CHUNK])
            self.forget()
        return digest.result()

    def forget(self) -> None:
        """Give memory back that can be read from a file again; nothing, if the ids are in memory only."""


class Checksum:
    """SHA-256 over sentences, part by part. How many parts there are does not matter."""

    def __init__(self):
        self._ids, self._ends = hashlib.sha256(), hashlib.sha256()

    def ids(self, ids: np.ndarray) -> None:
        """Add the next ids."""
        self._ids.update(ids.astype("<i4", copy=False).data)

    def ends(self, ends: np.ndarray) -> None:
        """Add the next ends; the first of all is 0."""
        self._ends.update(ends.astype("<i8", copy=False).data)

    def result(self) -> str:
        """The checksum of all that was added."""
        return hashlib.sha256(f"{self._ids.hexdigest()} {self._ends.hexdigest()}".encode()).hexdigest()


@runtime_checkable
class Growing(Protocol):
    """Something to which sentences are added, one after the other."""

    def append(self, ids: Sequence[int]) -> None:
        """Add a sentence."""


def encode(
    pairs: Iterable[Pair],
    source: Language,
    target: Language,
    max_length: int | None,
    sources: Growing,
    targets: Growing,
) -> int:
    """Add the ids of each pair to `sources` and `targets`. Sources end with <eos>; targets also start with <bos>.

    Args:
        max_length: leave out pairs with more tokens on a side, not counting <bos> and <eos>.

    Returns:
        How many pairs were left out.

    Raises:
        TypeError: something is not a pair.
        ValueError: no pair is left.
    """
    kept, left_out, bos = 0, 0, target.vocab.bos
    for pair in pairs_in(pairs):
        ids = source.encode(pair.source), target.encode(pair.target)
        if max_length is not None and max(map(len, ids)) > max_length + 1:
            left_out += 1
            continue
        kept += 1
        sources.append(ids[0])
        targets.append([bos, *ids[1]])
    if not kept:
        reason = f": all {left_out} are longer than {max_length} tokens" if left_out else ""
        raise ValueError(f"no pairs to make batches of{reason}")
    return left_out
