"""What `seqlearn train` tells while it trains: a line after some updates, and files for TensorBoard."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

from tqdm import tqdm

from ..training.history import History
from ..training.progress import Log, Logged

EVERY = 100  # updates between two points in TensorBoard, if nothing else was asked for


@runtime_checkable
class Board(Protocol):
    """What is used of TensorBoard's writer."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None:
        """Write a number."""

    def flush(self) -> None:
        """Write to the disk what is waiting."""


def board_in(folder: Path) -> Board:
    """A writer of TensorBoard's files. Each writes a new file into the folder, and touches no other.

    Raises:
        ValueError: TensorBoard is not installed, or this is not a folder.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is not a folder: --tensorboard writes its files into one")
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ValueError(f"--tensorboard needs the package tensorboard: pip install tensorboard ({error})") from None
    return SummaryWriter(folder)


def log_of(every: int | None, board: Board | None) -> Log | None:
    """The log for a line after `every` updates, and for the points of TensorBoard; None: neither is wanted."""
    if every is None and board is None:
        return None

    def write(now: Logged) -> None:
        if every is not None:
            speed = f"{now.tokens_per_second:,.0f} tokens/s"
            tqdm.write(f"update {now.update:,}: loss {now.loss:.3f}, rate {now.rate:.3g}, {speed}")
            sys.stdout.flush()  # somebody may read along in a file
        if board is not None:
            board.add_scalar("loss/train", now.loss, now.update)
            board.add_scalar("rate", now.rate, now.update)
            board.add_scalar("tokens a second", now.tokens_per_second, now.update)
            board.flush()

    return Log(EVERY if every is None else every, write)


def after_epoch(board: Board) -> Callable[[object, History], None]:
    """Write the losses of each epoch to TensorBoard."""

    def write(model: object, history: History) -> None:
        updates = len(history.batch_losses)
        board.add_scalar("loss/epoch", history.train_losses[-1], updates)
        board.add_scalar("loss/valid", history.valid_losses[-1], updates)
        board.flush()

    return write
