"""The folder that `seqlearn train` writes to: checked and locked before any work, and left clean."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from filelock import Timeout

from ..runtime.ownership import (
    CHECKPOINT,
    LOG,
    LOSSES,
    OPTIONS,
    foreign_in,
    kind_of,
    lock_at,
    remove_halves,
    remove_if_empty,
    remove_lock,
)
from ..training.checkpoints import Checkpoints
from ..translator.saving import MODEL, MODEL_FILES

CHECKPOINTS, LOCK, RUN, RECORDS, CURVE = "checkpoints", ".lock", "run.toml", "log.jsonl", "loss.svg"
FILES = {**MODEL_FILES, RUN: OPTIONS, RECORDS: LOG, CURVE: LOSSES}  # that a training writes, and their kinds


@contextmanager
def claimed(folder: Path, resume: bool = False, overwrite: bool = False) -> Iterator[None]:
    """Make the folder and hold its lock, or refuse the folder before any work.

    A new folder that stays empty is removed at the end, with its new parents.

    Args:
        resume: whether a training goes on in the folder. Other files may then be there.
        overwrite: whether a finished translator may be replaced.

    Raises:
        ValueError: the folder is a file, holds something that is not ours, an unfinished training or a translator; or
            another process writes to it.
        OSError: the folder cannot be written.
    """
    _check(folder, resume, overwrite)
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    held = True
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lock_at(folder / LOCK, timeout=0):
            _check(folder, resume, overwrite)  # again: another process may have finished in it meanwhile
            for name in FILES:
                remove_halves(folder / name, age=0)
            yield
    except Timeout:
        held = False
        raise ValueError(f"another process is writing to {folder}") from None
    finally:
        if held:
            _tidy(folder, made)


def _tidy(folder: Path, made: list[Path]) -> None:
    """Remove folders that have stayed empty."""
    remove_if_empty(folder / CHECKPOINTS)
    if made and folder.is_dir() and {path.name for path in folder.iterdir()} <= {LOCK}:
        remove_lock(folder / LOCK)
    for each in made:
        remove_if_empty(each)


def _check(folder: Path, resume: bool, overwrite: bool) -> None:
    """Refuse a folder in which something would be lost."""
    if folder.is_symlink() and not folder.exists():
        raise ValueError(f"{folder} is a link that leads nowhere")
    if folder.is_file():
        raise ValueError(f"{folder} is a file, not a folder")
    checkpoints = Checkpoints(folder / CHECKPOINTS)
    foreign = foreign_in(folder, {LOCK: None, CHECKPOINTS: None, **FILES}, changed=overwrite)
    foreign += [checkpoints.folder] if checkpoints.folder.is_file() else []
    if resume:
        foreign = [path for path in foreign if path.name in FILES or path == checkpoints.folder]
    else:
        foreign += foreign_in(checkpoints.folder, {path.name: CHECKPOINT for path in checkpoints.files})
    if foreign:
        advice = "move it away" if resume else "choose another folder"
        name = foreign[0].relative_to(folder)
        if kind_of(foreign[0]) is None and FILES.get(foreign[0].name, "") == kind_of(foreign[0], changed=True):
            raise ValueError(f"{foreign[0]} was changed, and would be replaced: move it away, or add --overwrite")
        raise ValueError(f"{folder} holds something other than a translator ({name}): {advice}")
    if resume:
        return
    if checkpoints.files:
        raise ValueError(
            f"{folder} holds an unfinished training: go on with --resume {folder}, or remove {checkpoints.folder}"
        )
    if (folder / MODEL).exists() and not overwrite:
        raise ValueError(f"{folder} holds a finished translator: choose another folder, or add --overwrite")


def check_apart(folder: Path, inputs: Iterable[Path], folders: Iterable[Path | str | None]) -> None:
    """Refuse a training whose own input would be replaced, or whose other folders would be in that of its translator.

    Raises:
        ValueError: it is such a training.
    """
    own = [folder / name for name in FILES if (folder / name).exists()]
    for path in inputs:
        if path.exists() and any(path.samefile(each) for each in own):
            raise ValueError(
                f"{path} would be overwritten, and it is an input: copy it to another folder, and give that"
            )
    for other in folders:
        if other and Path(os.path.realpath(other)).is_relative_to(os.path.realpath(folder)):
            raise ValueError(
                f"{other} is in {folder}, which holds a translator and nothing else: choose another folder"
            )


def check_record(path: Path, overwrite: bool = False) -> None:
    """Refuse to replace a file that somebody has put into the folder, or changed, while training ran.

    Args:
        overwrite: whether a changed one may be replaced.

    Raises:
        ValueError: it is not of this kind.
    """
    if path.exists() and kind_of(path, overwrite) != FILES[path.name]:
        raise ValueError(
            f"{path} is not of this training, or was changed: move it away, and go on with --resume {path.parent}"
        )


@contextmanager
def silence() -> Iterator[None]:
    """Say nothing but errors: for a process whose work another process reports."""
    with warnings.catch_warnings(), open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        warnings.simplefilter("ignore")
        yield
