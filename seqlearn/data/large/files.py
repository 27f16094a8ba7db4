"""Text files as sequences of lines and of pairs. The text stays on disk; memory holds an index of the lines.

`fault` says what is wrong with a line. `checked` stops with file and line, or leaves such lines out and counts them
(--skip-malformed). A file that is not UTF-8 always stops.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import tempfile
import warnings
import zlib
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from codecs import BOM_UTF8, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import overload

from ...runtime.ownership import naming
from ..pairs import Pair
from ..spelling import BLANK

BLOCK = 1 << 14  # bytes of neighbouring lines that are read together: the index has an entry for each block
LONGEST = 1 << 24  # bytes in a line: a file with a longer line is not a text file, and would fill the memory
NUMBERED = re.compile(r"[+-]?[\d.,]*\d(?:[eE][+-]?\d+)?\t[^\t]*\t[^\t]*$")  # a number, and two columns
GZIP, UTF16 = b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff")  # the first two bytes of such files


def open_bytes(path: Path) -> io.BufferedIOBase:
    """Open a file or a pipe for reading bytes. A gzip file is unpacked; nobody can look ahead in a pipe.

    Raises:
        ValueError: the path is a folder.
        FileNotFoundError: there is no such file.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    file = path.open("rb")
    if not path.is_file():
        return file
    with naming(path):
        packed = file.read(2) == GZIP or path.suffix == ".gz"
    file.seek(0)
    if not packed:
        return file
    file.close()
    return gzip.open(path)


class Lines(Sequence[str]):
    """The lines of a UTF-8 file, plain or gzip. A line ends with a line feed; carriage returns before it are dropped.

    The whole file is read and checked once, when the object is made. Later a line is read from the disk when somebody
    asks for it, together with its neighbours. Memory holds one block of lines, and where each block begins.

    `checksum` is the SHA-256 of the text.

    Raises:
        ValueError: the path is a folder; the file is empty, not UTF-8 or a damaged gzip file; or the file has changed
            since it was checked.
        FileNotFoundError: there is no such file.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._file = open_bytes(self.path)
        self._stamp = _size_and_time(self._file.fileno())
        self._count = 0  # of lines
        self._firsts, self._starts = array("q"), array("q")  # of each block: its first line, the byte where it begins
        self._end = 0  # the byte after the last line
        self._mark = 0  # bytes of the byte-order mark before the first line
        self._block, self._lines = -1, [b""]  # the block that was read last, and its lines
        try:
            with naming(self.path):
                self._check()
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{self.path}: not a whole gzip file ({error})") from None

    def _check(self) -> None:
        """Read the whole file and note where lines begin. Copy a gzip file or a pipe, unpacked, to a temporary file."""
        plain = self.path.is_file() and not isinstance(self._file, gzip.GzipFile)  # a pipe cannot be read twice
        digest = hashlib.sha256()
        with ExitStack() as on_error:
            copy = None if plain else on_error.enter_context(tempfile.TemporaryFile())
            while raw := self._file.readline(LONGEST + 1):
                self._check_line(raw)
                if not self._starts or self._end - self._starts[-1] >= BLOCK:
                    self._firsts.append(self._count)
                    self._starts.append(self._end or self._mark)
                self._count += 1
                self._end += len(raw)
                digest.update(raw)
                if copy:
                    copy.write(raw)
            if self._end == self._mark:
                raise ValueError(f"{self.path} is empty")
            on_error.pop_all()  # no error: the copy stays open as long as this object lives
        self.checksum = digest.hexdigest()
        if copy:
            copy.flush()
            self._file.close()
            self._file, self._stamp = copy, _size_and_time(copy.fileno())

    def _check_line(self, raw: bytes) -> None:
        """Raise a ValueError if the next line is not text. In the first line, note a byte-order mark."""
        number = self._count + 1
        if len(raw) > LONGEST:
            raise ValueError(f"{self.path}, line {number}: longer than {LONGEST:,} bytes; is this a text file?")
        if number == 1:
            if raw.startswith(GZIP) and not self.path.is_file():
                raise ValueError(f"{self.path} is gzip through a pipe: unpack it first")
            if raw.startswith((*UTF16, BOM_UTF32_BE)):
                name = "UTF-32" if raw.startswith((BOM_UTF32_LE, BOM_UTF32_BE)) else "UTF-16"
                raise ValueError(f"{self.path}, line 1: not UTF-8, but {name}; save the file as UTF-8")
            self._mark = len(BOM_UTF8) if raw.startswith(BOM_UTF8) else 0
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.path}, line {number}: not UTF-8 ({error.reason})") from None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]  # counts a negative index from the end, and checks the bounds
        if _size_and_time(self._file.fileno()) != self._stamp:
            raise ValueError(f"{self.path} was changed after it was opened: open it again")
        block = bisect_right(self._firsts, number) - 1
        if block != self._block:
            start = self._starts[block]
            end = self._starts[block + 1] if block + 1 < len(self._starts) else self._end
            self._file.seek(start)
            self._block, self._lines = block, self._file.read(end - start).split(b"\n")
        return self._lines[number - self._firsts[block]].decode("utf-8").rstrip("\r")

    def __del__(self):
        if hasattr(self, "_file"):
            self._file.close()


def _size_and_time(descriptor: int) -> tuple[int, int]:
    """The size of an open file and the time of the last write. If either differs later, the file has changed."""
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns


class PairView(Sequence[Pair], ABC):
    """Pairs that are made when somebody asks for them. A subclass says how many there are, and makes one of them."""

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> list[Pair]: ...
    def __getitem__(self, index: int | slice) -> Pair | list[Pair]:
        if isinstance(index, slice):
            return [self.make(number) for number in range(*index.indices(len(self)))]
        return self.make(range(len(self))[index])

    def __iter__(self) -> Iterator[Pair]:
        return map(self.make, range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} pairs)"

    @abstractmethod
    def make(self, index: int) -> Pair:
        """The pair at an index from 0 to the length."""

    @abstractmethod
    def checksum(self) -> str:
        """The same for the same pairs in the same order: a checksum of the files' contents, and of the choice."""


class FilePairs(PairView):
    """Pairs of a file, one for each line. `fault` says what is wrong with a malformed line."""

    @abstractmethod
    def fault(self, index: int) -> str:
        """What is wrong with line `index + 1`; an empty string if nothing is."""

    @abstractmethod
    def where(self, index: int) -> str:
        """The file and the number of the line, for messages."""


class TSVPairs(FilePairs):
    """The pairs of a file with `source<TAB>target` on each line.

    Args:
        columns: that hold source and target, counted from 1; None: the first and the second, and a third may follow.

    Raises:
        ValueError: no columns are given, and the first of three holds numbers (of lines, or some measure).
    """

    def __init__(self, lines: Lines, columns: tuple[int, int] | None = None):
        self.lines, self.columns = lines, columns
        others = (line for line in lines if not NUMBERED.match(line))
        if columns is None and next(islice(others, len(lines) // 10, None), None) is None:  # one in ten may differ
            raise ValueError(
                f"{lines.path}: the first of its three columns holds numbers; if the sentences are in the second and "
                "third, take these with --columns 2,3 (in Python columns=(2, 3)), and else with --columns 1,2"
            )

    def __len__(self) -> int:
        return len(self.lines)

    def make(self, index: int) -> Pair:
        """The pair on line `index + 1`.

        Also yields a Pair for malformed lines, because runtime type checkers index into sequences.
        """
        source, target = self.columns or (1, 2)
        cells = self.lines[index].split("\t") + [""] * max(source, target)
        return Pair(cells[source - 1], cells[target - 1])

    def checksum(self) -> str:
        """The checksum of the file, and how the file is read."""
        return f"tsv {self.lines.checksum}" if self.columns is None else f"tsv {self.columns} {self.lines.checksum}"

    def fault(self, index: int) -> str:
        """What is wrong with line `index + 1`; an empty string if nothing is."""
        line = self.lines[index]
        count = 1 + line.count("\t")
        named = f"{count} column{'s' * (count > 1)}"
        if self.columns is None and count not in (2, 3):
            return f"{named} instead of source<TAB>target (a third may follow)"
        if self.columns is not None and count < max(self.columns):
            return f"{named}, and the sentences should be in columns {self.columns[0]} and {self.columns[1]}"
        pair = self.make(index)
        return _fault("line", line.replace("\t", " ")) or _fault("source", pair.source) or _fault("target", pair.target)

    def where(self, index: int) -> str:
        """The file and the number of the line, for messages."""
        return f"{self.lines.path}, line {index + 1}"


class ParallelPairs(FilePairs):
    """The pairs of two files: line n of one file translates line n of the other."""

    def __init__(self, sources: Lines, targets: Lines):
        self.sources, self.targets = sources, targets

    def __len__(self) -> int:
        return len(self.sources)

    def make(self, index: int) -> Pair:
        """The pair on line `index + 1` of both files."""
        return Pair(self.sources[index], self.targets[index])

    def checksum(self) -> str:
        """The checksums of the two files."""
        return f"parallel {self.sources.checksum} {self.targets.checksum}"

    def fault(self, index: int) -> str:
        """What is wrong with line `index + 1` of either file; an empty string if nothing is."""
        return _fault("source", self.sources[index]) or _fault("target", self.targets[index])

    def where(self, index: int) -> str:
        """The file at fault and the number of the line, for messages."""
        bad = self.sources if _fault("source", self.sources[index]) else self.targets
        return f"{bad.path}, line {index + 1}"


def _fault(side: str, text: str) -> str:
    """What makes a text unfit for one side of a pair; an empty string if the text is fit."""
    if not text.strip(BLANK):
        return f"the {side} is empty"
    for character, name in (("\0", "NUL character"), ("\r", "carriage return"), ("\t", "tab")):
        if character in text:
            return f"the {side} has a {name} in it"
    return ""


class ChosenPairs(PairView):
    """Some pairs of a sequence, chosen by their indices."""

    def __init__(self, pairs: Sequence[Pair], indices: array):
        self.pairs, self.indices = pairs, indices

    def __len__(self) -> int:
        return len(self.indices)

    def make(self, index: int) -> Pair:
        """The pair at an index among those chosen."""
        return self.pairs[self.indices[index]]

    def checksum(self) -> str:
        """The checksum of all pairs, and of the choice."""
        return f"{hashlib.sha256(self.indices).hexdigest()} of ({checksum_of(self.pairs)})"


class ReversedPairs(PairView):
    """The pairs of a sequence in the other direction."""

    def __init__(self, pairs: Sequence[Pair]):
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    def make(self, index: int) -> Pair:
        """The pair at an index, reversed."""
        return self.pairs[index].reversed()

    def checksum(self) -> str:
        """The checksum of the pairs, with a word for their direction."""
        return f"reversed ({checksum_of(self.pairs)})"


def checksum_of(pairs: Sequence[Pair]) -> str:
    """The same for the same sentences in the same order: of pairs in files without reading them again."""
    if isinstance(pairs, PairView):
        return pairs.checksum()
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update(repr((pair.source, pair.target)).encode())
    return f"list {digest.hexdigest()}"


def checked(pairs: FilePairs, skip_malformed: bool) -> PairView:
    """The well-formed pairs of a file.

    Args:
        skip_malformed: leave malformed lines out, with a warning that counts them. Without it they are an error.

    Raises:
        ValueError: there are malformed lines (and may not be skipped), or all lines are malformed. The message names
            the file and the first malformed line, and counts all of them.
    """
    bad = array("I", (index for index in range(len(pairs)) if pairs.fault(index)))
    if not bad:
        return pairs
    numbers = ", ".join(str(index + 1) for index in bad[:5]) + (", ..." if len(bad) > 5 else "")
    first = f"{pairs.where(bad[0])}: {pairs.fault(bad[0])}"
    counted = "the only malformed line" if len(bad) == 1 else f"{len(bad):,} malformed lines in all ({numbers})"
    if not skip_malformed or len(bad) == len(pairs):
        raise ValueError(f"{first}; {counted}")
    warnings.warn(f"{first}; {counted}; left out, {len(pairs) - len(bad):,} pairs remain", stacklevel=3)
    left_out = set(bad)
    return ChosenPairs(pairs, array("I", (index for index in range(len(pairs)) if index not in left_out)))
