"""How a training says how far it is: a bar in a terminal or a notebook, a line a minute in a file, and a log."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tqdm import asyncio as terminal
from tqdm.auto import tqdm

if TYPE_CHECKING:
    ProgressBar = tqdm[NoReturn]  # a bar without an iterable
else:
    ProgressBar = tqdm  # it takes no parameter at run time


class Logged(NamedTuple):
    """What a log tells after some updates.

    Args:
        update: how many updates there were since training began.
        loss: the mean of a real target token since the last time, in nats; smoothed, if training is.
        rate: the learning rate of the last update.
        tokens_per_second: real target tokens in a second of this epoch.
    """

    update: int
    loss: float
    rate: float
    tokens_per_second: float


class Log(NamedTuple):
    """A log: `write` is called after `every` so many updates."""

    every: int
    write: Callable[[Logged], None]


A_LINE = 60.0  # seconds between two lines, where there is no terminal


def progress_bar(updates: int, shown: bool, done: int, where: str) -> ProgressBar:
    """A bar that counts updates.

    Args:
        updates: how many there are in all; `done` is how many there were before.
        where: the device, in words.
    """
    is_off = not shown or bool(os.environ.get("TQDM_DISABLE"))  # tqdm's bar for notebooks ignores the variable
    bar = partial(tqdm, desc=f"on {where}", total=updates, initial=done, unit="update", leave=False, disable=is_off)
    if sys.stderr.isatty() or tqdm is not terminal.tqdm:  # the other one is for notebooks
        return bar()
    form = "{desc}: {n_fmt} of {total_fmt} updates [{elapsed}<{remaining}, {rate_fmt}]"
    return bar(delay=A_LINE, mininterval=A_LINE, maxinterval=A_LINE, bar_format=form, file=_Log())


class _Log:
    """Standard error, with a line for each state of a progress bar, which would write it over the one before."""

    def write(self, text: str) -> None:
        """Write a line, if there is anything to see."""
        if text.strip():
            sys.stderr.write(text.strip() + "\n")

    def flush(self) -> None:
        """Show what was written."""
        sys.stderr.flush()
