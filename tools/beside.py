"""What the tools share: a folder is made beside its place, and an error becomes a sentence."""

from __future__ import annotations

import functools
import glob
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

from seqlearn.runtime.ownership import write

__all__ = ["OLD", "beside", "of_caller", "sentence_for_errors", "write"]
P = ParamSpec("P")
R = TypeVar("R")
MARK = "made-by-seqlearn"  # a file in each folder that is being made
OLD = "old"  # in it, what stood in the place before
ABANDONED = 3600.0  # seconds, after which a folder with the mark was left by a killed process


def sentence_for_errors(function: Callable[P, R]) -> Callable[P, R]:
    """End the program with one sentence where the system refuses something, or links lead in a circle."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        """Run the tool."""
        try:
            return function(*args, **kwargs)
        except OSError as error:
            sys.exit(f"{error.filename2 or error.filename or 'The system'}: {error.strerror or error}")
        except RuntimeError as error:  # of `Path.resolve`, before Python 3.13
            if not str(error).startswith("Symlink loop"):
                raise
            sys.exit(f"{error}: give another path.")

    return run


def of_caller(path: Path) -> Path:
    """The whole path of what was named in the folder where somebody called course.py, which runs tools in its own."""
    return Path(os.environ.get("SEQLEARN_CALLER", ""), path).resolve()


@contextmanager
def beside(place: Path) -> Iterator[Path]:
    """A folder beside `place` to make something in, removed at the end of the block.

    What a killed call has left is removed an hour later; an older `place` in it, which had lost its name, gets it back.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    for mark in place.parent.glob(f".{glob.escape(place.name)}.*.half/{MARK}"):
        if (old := mark.parent / OLD).exists() and not place.exists():
            old.rename(place)
        if time.time() - mark.stat().st_mtime > ABANDONED:
            shutil.rmtree(mark.parent)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.", suffix=".half") as folder:
        Path(folder, MARK).touch()
        yield Path(folder)
