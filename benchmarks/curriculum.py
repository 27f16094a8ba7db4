"""Curriculum learning: short sentences first, in stages with a longest sentence and a learning rate each.

Bengio et al. (2009).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import NamedTuple

from seqlearn.data.batches import Batch, Batches
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language


class Stage(NamedTuple):
    """A part of a curriculum.

    Args:
        epochs: how many epochs the stage lasts.
        longest: the most tokens of a sentence, without <bos> and <eos>. Pairs with a longer side wait for a later
            stage. None: all pairs take part.
        rate: a factor of the peak learning rate.
    """

    epochs: int
    longest: int | None = None
    rate: float = 1.0


class Curriculum(Batches):
    """Batches for `fit` whose sentences grow longer from stage to stage.

    Every epoch has as many batches as an epoch over all pairs, so that the same number of epochs means the same number
    of updates with and without a curriculum. A stage with fewer pairs goes through them several times, in a new order
    each time. The order is a pure function of (seed, epoch).

        lessons = Curriculum(split.train, source, target, [Stage(1, longest=6), Stage(1, 12, 0.5), Stage(2, None, 0.2)])
        fit(model, lessons, valid, epochs=lessons.epochs, lr=3e-3, schedule=lessons.rate)

    Args:
        pairs, source, target, batch_size, seed, cache: as for `Batches`.
        stages: from the first to the last.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        source: Language,
        target: Language,
        stages: Sequence[Stage],
        batch_size: int = 64,
        seed: int = 0,
        *,
        cache: str | Path | None = None,
    ):
        if not stages or any(stage.epochs < 1 or stage.rate <= 0 for stage in stages):
            raise ValueError(f"a curriculum has stages of at least one epoch, at a rate above 0, not {list(stages)}")

        super().__init__(pairs, source, target, batch_size, seed, cache=cache)
        self.stages = tuple(stages)
        self.batches = [
            Batches(pairs, source, target, batch_size, seed, max_length=stage.longest, cache=cache) for stage in stages
        ]

    @property
    def epochs(self) -> int:
        """How many epochs all stages have together: the number to give to `fit`."""
        return sum(stage.epochs for stage in self.stages)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """The batches of this epoch (from 0), without the first `start`."""
        if not 0 <= number < self.epochs:
            raise ValueError(f"the curriculum has {self.epochs} epochs; there is no epoch {number + 1}")
        batches = self.batches[self._stage(number / self.epochs)]
        times = math.ceil(len(self) / len(batches))  # passes over the pairs of the stage; the last may be cut short
        passes = (batches.epoch(number * times + time) for time in range(times))
        return islice(chain.from_iterable(passes), start, len(self))

    def fingerprint(self) -> str:
        """The same for a curriculum with the same ids in the same order, and else another one."""
        return " ".join([str(self.stages), *(batches.fingerprint() for batches in self.batches)])

    def rate(self, done: float) -> float:
        """A schedule for `fit`: the factor of the peak learning rate at this share of training."""
        return self.stages[self._stage(done)].rate

    def _stage(self, done: float) -> int:
        """The index of the stage at this share of training."""
        ends = [total / self.epochs for total in accumulate(stage.epochs for stage in self.stages)]
        return next((index for index, end in enumerate(ends) if done < end), len(ends) - 1)
