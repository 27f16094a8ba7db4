"""Learning rates over time: functions from the share of training done (0 to 1) to a factor of the peak rate."""

from __future__ import annotations


def constant(progress: float) -> float:
    """The peak rate all the time."""
    return 1.0


def linear_decay(progress: float) -> float:
    """From the peak rate down to 0, evenly: large steps to learn, small ones to settle."""
    return 1.0 - progress
