"""What happened in a training."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(repr=False)
class History:
    """What happened in training. Losses are in nats for each real target token."""

    batch_losses: list[float] = field(default_factory=list)  # one for each update; smoothed, if `fit` was asked to
    train_losses: list[float] = field(default_factory=list)  # one for each epoch, as are the lists below
    valid_losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # of the updates, without validation
    tokens: list[int] = field(default_factory=list)  # real target tokens
    interrupted: bool = False  # by Ctrl-C

    def __repr__(self) -> str:
        best = self.best_epoch if any(map(math.isfinite, self.valid_losses)) else None
        said = "" if best is None else f", best {best + 1}: valid {self.valid_losses[best]:.3f}"
        return f"History({self.epochs} epochs{said}{', interrupted' * self.interrupted})"

    @property
    def epochs(self) -> int:
        """How many epochs were finished."""
        return len(self.valid_losses)

    @property
    def epochs_since_best(self) -> int:
        """How many epochs have brought no better validation loss since the best one; 0 before the first epoch ends."""
        return self.epochs - 1 - self.best_epoch if self.epochs else 0

    @property
    def best_epoch(self) -> int:
        """The epoch (from 0) with the lowest validation loss, whose weights the model has after `fit`.

        Raises:
            ValueError: no epoch was finished, or none with a finite validation loss.
        """
        finite = [epoch for epoch, loss in enumerate(self.valid_losses) if math.isfinite(loss)]
        if not finite:
            raise ValueError(f"none of the {self.epochs} finished epochs has a finite validation loss")
        return min(finite, key=self.valid_losses.__getitem__)
