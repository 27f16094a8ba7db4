"""How a model is trained: the options of a training, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..runtime.values import as_int, check_number
from .schedules import Schedule, constant, linear_decay


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the weights are changed, and for how long.

    Args:
        epochs: how many times training goes through its data.
        lr: the peak learning rate.
        schedule: maps the share of training done (0 to 1) to a factor of the peak learning rate.
        clip: the largest norm that a gradient may have (Pascanu et al., 2013).
        teacher_forcing: maps the share of training done to the probability that the decoder reads the true last token
            and not its own guess (scheduled sampling).
        label_smoothing: see `token_loss`. The validation loss is never smoothed.
        accumulate: batches per update. The gradient equals that of one large batch.
        precision: "bf16": training multiplies in bfloat16 (CPU and CUDA), which is faster for large models on chips
            with bfloat16 units. Weights and validation stay in float32.
        patience: end after this many epochs in a row without a better validation loss. The learning rate changes as if
            all `epochs` would come.
        average_last: validate, and keep when best, the mean of the weights at the ends of this many last epochs (of all
            epochs, as long as there are fewer). Training goes on with its own weights. Vaswani et al. (2017), section
            6.1, average the last checkpoints.

    Raises:
        ValueError: an option is out of its bounds.
        TypeError: an option is of another type.
    """

    epochs: int
    lr: float
    schedule: Schedule = linear_decay
    clip: float = 1.0
    teacher_forcing: Schedule = constant
    label_smoothing: float = 0.0
    accumulate: int = 1
    precision: str | None = None
    patience: int | None = None
    average_last: int = 1

    def __post_init__(self):
        for name, least in {"epochs": 0, "accumulate": 1, "patience": 1, "average_last": 1}.items():
            if (number := getattr(self, name)) is not None:
                object.__setattr__(self, name, as_int(name, number, least))
        for name in ("lr", "clip", "label_smoothing"):
            check_number(name, getattr(self, name))
        for name in ("schedule", "teacher_forcing"):
            if not callable(getattr(self, name)):
                raise TypeError(f"{name} is a function, see seqlearn.training.schedules, not {getattr(self, name)!r}")
        if not 0 <= self.lr < math.inf:
            raise ValueError(f"lr is at least 0 and finite, not {self.lr}")
        if not self.clip > 0:
            raise ValueError(f"clip is above 0, not {self.clip}: a negative norm would turn the gradient around")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing is from 0 to below 1, not {self.label_smoothing}")
        if self.precision not in (None, "bf16"):
            raise ValueError(f'precision is None or "bf16", not {self.precision!r}')

    def rate(self, done: float) -> float:
        """The learning rate after this share of training.

        Raises:
            ValueError: the schedule gives no such factor.
        """
        factor = self.schedule(done)
        if not 0 <= factor < math.inf:
            raise ValueError(f"a schedule gives factors of at least 0, not {factor} after {done:.1%} of training")
        return self.lr * factor

    def forcing(self, done: float) -> float:
        """The probability of teacher forcing after this share of training.

        Raises:
            ValueError: it is not a probability.
        """
        probability = self.teacher_forcing(done)
        if not 0 <= probability <= 1:
            raise ValueError(
                f"teacher_forcing gives probabilities, from 0 to 1, not {probability} after {done:.1%} of training"
            )
        return probability

    def as_json(self) -> dict[str, object]:
        """The options as values of JSON, so that two recipes can be compared: of a schedule its values at 17 points."""
        points = [point / 16 for point in range(17)]
        sampled = {name: [each(point) for point in points] for name, each in vars(self).items() if callable(each)}
        return {**vars(self), **sampled}
