"""Schedules: functions from the share of training done (0 to 1) to a factor of the peak learning rate, or to the
probability of teacher forcing.

    fit(..., lr=3e-3)                                                     # linear_decay
    fit(..., lr=3e-3, schedule=cosine_decay)
    fit(..., lr=1e-3, schedule=warmup(0.1, then=cosine_decay))
    fit(..., lr=7e-4, schedule=inverse_sqrt(0.04))                        # the Transformer's
"""

from __future__ import annotations

import math
from collections.abc import Callable

Schedule = Callable[[float], float]


def constant(done: float) -> float:
    """1 all the time."""
    return 1.0


def linear_decay(done: float) -> float:
    """From the peak rate down to 0 in a straight line: large steps to learn, small ones to settle."""
    return 1.0 - done


def cosine_decay(done: float) -> float:
    """From the peak rate down to 0 along half a wave of the cosine: slowly at first, then fast, then slowly.

    Loshchilov & Hutter (2017), section 3, with one cycle and no restart.
    """
    return 0.5 * (1.0 + math.cos(math.pi * done))


def warmup(share: float, then: Schedule = linear_decay) -> Schedule:
    """A schedule that rises in a straight line from 0 to the peak over this share of training, then follows `then`.

    The rate of the first update is 0: that update only starts Adam's averages. Vaswani et al. (2017), section 5.3.
    """
    _check(share)

    def schedule(done: float) -> float:
        return done / share if done < share else then((done - share) / (1.0 - share))

    return schedule


def inverse_sqrt(share: float) -> Schedule:
    """A schedule that warms up over this share of training, then falls as 1 / sqrt(updates done).

    The paper's rate is d^-0.5 min(step^-0.5, step warmup^-1.5). Its peak is (d warmup)^-0.5: give this to `fit` as
    `lr`, 7e-4 for width d = 512 and 4,000 updates of warm-up. The schedule is the paper's rate divided by its peak. It
    does not end at 0. Vaswani et al. (2017), section 5.3.
    """
    _check(share)
    return lambda done: done / share if done < share else math.sqrt(share / done)


def _check(share: float) -> None:
    if not 0 < share < 1:
        raise ValueError(f"the warm-up is a share of training between 0 and 1, not {share}")


DECAYS = {"linear": linear_decay, "cosine": cosine_decay, "constant": constant}
SCHEDULES = (*DECAYS, "inverse-sqrt")


def make_schedule(name: str, warmup_share: float = 0.0) -> Schedule:
    """The schedule of this name, after a warm-up if its share is above 0. "inverse-sqrt" needs a warm-up."""
    if name not in SCHEDULES:
        raise ValueError(f"there is no schedule {name!r}; choose from {', '.join(SCHEDULES)}")
    if name == "inverse-sqrt":
        return inverse_sqrt(warmup_share)
    return warmup(warmup_share, then=DECAYS[name]) if warmup_share else DECAYS[name]
