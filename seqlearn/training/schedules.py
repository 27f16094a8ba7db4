"""What changes in training: functions from the share of training done (0 to 1) to a factor of the peak learning rate,
or to the probability of teacher forcing.
"""

from __future__ import annotations


def constant(progress: float) -> float:
    """1 all the time."""
    return 1.0


def linear_decay(progress: float) -> float:
    """From the peak rate down to 0, evenly: large steps to learn, small ones to settle."""
    return 1.0 - progress
