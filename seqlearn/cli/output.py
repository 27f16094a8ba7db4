"""The folder that `seqlearn train` writes to: checked and locked before any work, and left clean."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open

from ..saving import MODEL

CHECKPOINTS, LOCK, LOG, CURVE = "checkpoints", ".lock", "log.jsonl", "loss.svg"
OURS = {MODEL, CHECKPOINTS, LOCK, LOG, CURVE, "config.json", "source.json", "target.json"}


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Make the folder and hold its lock. A new folder that stays empty is removed at the end, with its new parents.

    Raises:
        ValueError: the folder is a file, holds something that is not ours, or another process writes to it.
        OSError: the folder cannot be written.
    """
    if folder.is_file():
        raise ValueError(f"{folder} is a file, not a folder")
    if (foreign := _foreign(folder)) is not None:
        raise ValueError(f"{folder} holds something else than a translator ({foreign}): choose another folder")
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        with lock:
            for half in folder.glob(f"{MODEL}.*.new"):  # left by a process that was killed
                half.unlink(missing_ok=True)
            yield
    except Timeout:
        raise ValueError(f"another process is writing to {folder}") from None
    finally:
        if made and {path.name for path in folder.iterdir()} <= {LOCK}:
            (folder / LOCK).unlink(missing_ok=True)
            for each in made:
                each.rmdir()


@contextmanager
def silence() -> Iterator[None]:
    """Say nothing but errors: for a process whose work another process reports."""
    with warnings.catch_warnings(), open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        warnings.simplefilter("ignore")
        yield


def _foreign(folder: Path) -> str | None:
    """The name of something in the folder that no `seqlearn train` wrote; None if there is no such thing."""
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if foreign := next((name for name in names if name not in OURS and not name.startswith(f"{MODEL}.")), None):
        return foreign
    return MODEL if MODEL in names and not _is_ours(folder) else None


def _is_ours(folder: Path) -> bool:
    """Whether the model in the folder is a translator of ours, of this format or of the first."""
    try:
        with safe_open(folder / MODEL, "pt") as file:
            if "config" in (file.metadata() or {}):
                return True
    except (SafetensorError, OSError):
        return False
    try:
        return "format" in json.loads((folder / "config.json").read_bytes())
    except (ValueError, OSError, RecursionError):
        return False
