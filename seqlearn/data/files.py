"""Text files as sequences. What is asked for is read from the disk; memory holds only where each line begins."""

from __future__ import annotations

import gzip
import io
import os
import tempfile
import warnings
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import overload

from ..pairs import Pair
from .spelling import BLANK

LONGEST = 1 << 24  # bytes in a line; more is no text, and would fill the memory
GZIP, UTF16 = b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff")


class Lines(Sequence[str]):
    """The lines of a UTF-8 file, plain or gzip. Only a line feed ends a line, with or without a carriage return.

    The whole file is read once, and checked, before the first line is given out.

    Raises:
        ValueError: the file is empty, a folder, not UTF-8, not a whole gzip file, or was changed later.
        FileNotFoundError: there is none.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._file = self._open()
        self._stamp = self._state(self._file)
        self._starts = array("q", [0])
        self._first = 0  # bytes of a byte-order mark
        try:
            self._check()
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{self.path}: not a whole gzip file ({error})") from None

    def _open(self) -> io.BufferedIOBase:
        if self.path.is_dir():
            raise ValueError(f"{self.path} is a folder, not a file")
        if not self.path.exists():
            raise FileNotFoundError(f"there is no file {self.path}")
        file = self.path.open("rb")
        if not self.path.is_file():
            return file  # a pipe: it can be neither peeked into nor read twice, and is copied
        packed = file.read(2) == GZIP or self.path.suffix == ".gz"
        file.seek(0)
        if not packed:
            return file
        file.close()
        return gzip.open(self.path)

    @staticmethod
    def _state(file) -> tuple[int, int]:
        found = os.fstat(file.fileno())
        return found.st_size, found.st_mtime_ns

    def _check(self) -> None:
        """Read all, note where lines begin, and copy to a temporary file what cannot be read at any place."""
        plain = self.path.is_file() and not isinstance(self._file, gzip.GzipFile)
        with ExitStack() as on_error:
            copy = None if plain else on_error.enter_context(tempfile.TemporaryFile())
            while raw := self._file.readline(LONGEST + 1):
                self._check_line(raw)
                self._starts.append(self._starts[-1] + len(raw))
                if copy:
                    copy.write(raw)
            if self._starts[-1] == self._first:
                raise ValueError(f"{self.path} is empty")
            on_error.pop_all()  # the copy lives as long as the lines
        if copy:
            copy.flush()
            self._file.close()
            self._file, self._stamp = copy, self._state(copy)

    def _check_line(self, raw: bytes) -> None:
        """Raise a ValueError if the next line is no text; note a byte-order mark in the first."""
        number = len(self._starts)
        if len(raw) > LONGEST:
            raise ValueError(f"{self.path}, line {number}: longer than {LONGEST:,} bytes; is this a text file?")
        if number == 1:
            if raw.startswith(GZIP) and not self.path.is_file():
                raise ValueError(f"{self.path} is gzip through a pipe: unpack it first")
            if raw.startswith(UTF16):
                raise ValueError(f"{self.path}, line 1: not UTF-8, but UTF-16; save the file as UTF-8")
            self._first = 3 * raw.startswith(b"\xef\xbb\xbf")
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.path}, line {number}: not UTF-8 ({error.reason})") from None

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        if self._state(self._file) != self._stamp:
            raise ValueError(f"{self.path} was changed after it was opened: open it again")
        self._file.seek(self._starts[place] or self._first)
        raw = self._file.read(self._starts[place + 1] - self._file.tell())
        return raw.decode("utf-8").removesuffix("\n").rstrip("\r")

    def __del__(self):
        if hasattr(self, "_file"):
            self._file.close()


class PairView(Sequence):
    """Pairs that are made when they are asked for. Subclasses say how many there are, and make one."""

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> list[Pair]: ...
    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self.make(place) for place in range(*index.indices(len(self)))]
        return self.make(range(len(self))[index])

    def __iter__(self) -> Iterator[Pair]:
        return map(self.make, range(len(self)))

    def make(self, place: int) -> Pair:
        """The pair at a place from 0 to the length."""
        raise NotImplementedError


class TSVPairs(PairView):
    """The pairs of a file with `source<TAB>target` on each line."""

    def __init__(self, lines: Lines):
        self.lines = lines

    def __len__(self) -> int:
        return len(self.lines)

    def make(self, place: int) -> Pair:
        """The pair on line `place + 1`."""
        return Pair(*[*self.lines[place].split("\t"), ""][:2])  # a malformed line too: type checkers look at some

    def fault(self, place: int) -> str:
        """What is wrong with a line; nothing where it is a pair."""
        line = self.lines[place]
        columns = line.split("\t")
        if len(columns) not in (2, 3):
            return f"{len(columns)} column{'s' * (len(columns) > 1)} instead of source<TAB>target (a third may follow)"
        return _fault("line", line) or _fault("source", columns[0]) or _fault("target", columns[1])

    def where(self, place: int) -> str:
        """File and line, for messages."""
        return f"{self.lines.path}, line {place + 1}"


class ParallelPairs(PairView):
    """The pairs of two files: line n of one translates line n of the other."""

    def __init__(self, sources: Lines, targets: Lines):
        self.sources, self.targets = sources, targets

    def __len__(self) -> int:
        return len(self.sources)

    def make(self, place: int) -> Pair:
        """The pair on line `place + 1` of both files."""
        return Pair(self.sources[place], self.targets[place])

    def fault(self, place: int) -> str:
        """What is wrong with a line; nothing where it is a pair."""
        return _fault("source", self.sources[place]) or _fault("target", self.targets[place])

    def where(self, place: int) -> str:
        """File and line, for messages."""
        bad = self.targets if not _fault("source", self.sources[place]) else self.sources
        return f"{bad.path}, line {place + 1}"


def _fault(side: str, text: str) -> str:
    """What makes a text unfit to be one side of a pair; nothing if it is fit."""
    if not text.strip(BLANK):
        return f"the {side} is empty"
    for character, name in (("\0", "NUL character"), ("\r", "carriage return")):
        if character in text:
            return f"the {side} has a {name} in it"
    return ""


class Chosen(PairView):
    """Some pairs of a sequence, by their places."""

    def __init__(self, pairs: Sequence[Pair], places: Sequence[int]):
        self.pairs, self.places = pairs, places

    def __len__(self) -> int:
        return len(self.places)

    def make(self, place: int) -> Pair:
        """The pair at the chosen place."""
        return self.pairs[self.places[place]]


class Reversed(PairView):
    """The pairs of a sequence in the other direction."""

    def __init__(self, pairs: Sequence[Pair]):
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    def make(self, place: int) -> Pair:
        """The reversed pair."""
        return self.pairs[place].reversed()


def checked(pairs: TSVPairs | ParallelPairs, skip_malformed: bool) -> PairView:
    """The pairs, if no line is malformed; with `skip_malformed` those that are not, and a warning that counts the rest.

    Raises:
        ValueError: names file and line of the first malformed line and counts them all.
    """
    bad = array("q", (place for place in range(len(pairs)) if pairs.fault(place)))
    if not bad:
        return pairs
    numbers = ", ".join(str(place + 1) for place in bad[:5]) + (", ..." if len(bad) > 5 else "")
    found = f"{pairs.where(bad[0])}: {pairs.fault(bad[0])}"
    counted = "the only malformed line" if len(bad) == 1 else f"{len(bad):,} malformed lines in all ({numbers})"
    if not skip_malformed or len(bad) == len(pairs):
        raise ValueError(f"{found}; {counted}")
    warnings.warn(f"{found}; {counted}; left out, {len(pairs) - len(bad):,} pairs remain", stacklevel=3)
    left_out = set(bad)
    return Chosen(pairs, array("q", (place for place in range(len(pairs)) if place not in left_out)))
