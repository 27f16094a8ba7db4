"""Ctrl-C and the signals that end a process: training stops after the running update, with a checkpoint."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ..training.checkpoints import Checkpoints

SIGNALS = [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
NAMES = {"SIGINT": "Ctrl-C", "SIGTERM": "a signal to end (SIGTERM)", "SIGHUP": "the end of the terminal (SIGHUP)"}


@contextmanager
def stopping(checkpoints: Checkpoints) -> Iterator[list[signal.Signals]]:
    """While the block runs, a signal asks for a stop. A second one changes nothing. Gives a list of what came.

    A signal that is ignored stays ignored: under `nohup` training outlives the terminal.
    """
    came: list[signal.Signals] = []

    def stop(number: int, frame: FrameType | None) -> None:
        came.append(signal.Signals(number))
        checkpoints.stop = True

    heard = [each for each in SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, stop) for each in heard}
    try:
        yield came
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
