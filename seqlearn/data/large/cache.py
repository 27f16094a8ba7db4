"""The ids of a large corpus in files, which all processes of a machine share: memory holds only what is being read.

The cache has a folder for each list of pairs and way of encoding them. Its name is a checksum of all that the ids
depend on: the sentences, both languages with their vocabularies, the longest sentence, and the code. So when a file or
a vocabulary changes, the old ids are not found, and new ones are written. A token takes two bytes on the disk (four, if
the vocabulary has more than 65,536 tokens), and a pair another 16. The folder may be removed at any time: ids that are
needed again are written again.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import sys
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np
from filelock import Timeout
from tqdm import tqdm

from ...runtime.ownership import lock_at, put_in_place, remove_ids
from .. import spelling, text
from ..pairs import Pair
from ..text import Language
from .files import checksum_of
from .sentences import Checksum, Sentences, encode

FORMAT = "1"
ABOUT = "about.json"  # type and checksum of the numbers of each side, and how many pairs were left out
SIDES = ("sources", "targets")
NAMES = [f"{side}.{end}" for side in SIDES for end in ("ids", "ends")]  # of the files beside it
UNFINISHED = {**dict.fromkeys(SIDES), "left_out": None}  # the description while the ids are being written
BUFFER = 10_000  # sentences that are written at once
LARGE = 500_000  # pairs to train on: from here on `seqlearn train` uses the cache. In memory they take 100 MB


class StoredSentences(Sentences):
    """Sentences in two files that `Writer` wrote, mapped into memory: the system reads what is asked for."""

    def __init__(self, stem: Path, dtype: str, checksum: str):
        self._maps = [_mapped(path) for path in _files(stem)]
        self._ids, self._ends = np.frombuffer(self._maps[0], dtype), np.frombuffer(self._maps[1], "<i8")
        self._checksum = checksum

    def checksum(self) -> str:
        """The checksum that was written with the sentences."""
        return self._checksum

    def damaged(self) -> bool:
        """Whether the files hold something other than what was written."""
        return super().checksum() != self._checksum

    def forget(self) -> None:
        """Give the memory of what was read back to the system, where it can be asked (not on Windows)."""
        for each in self._maps:
            if hasattr(mmap, "MADV_DONTNEED"):
                each.madvise(mmap.MADV_DONTNEED)


class Writer:
    """Writes sentences to two files: their ids end to end, and where each one ends."""

    def __init__(self, stem: Path, dtype: str):
        self._dtype, self._count, self._digest, self._buffer = dtype, 0, Checksum(), Sentences()
        self._files = [path.open("wb") for path in _files(stem)]
        self._write(np.array([], np.int32), np.array([0]))

    def append(self, ids: Sequence[int]) -> None:
        """Add a sentence."""
        self._buffer.append(ids)
        if len(self._buffer) == BUFFER:
            self._flush()

    def finish(self) -> str:
        """Write what is left, and wait until the disk has it. Returns the checksum."""
        self._flush()
        for file in self._files:
            file.flush()
            os.fsync(file.fileno())
        return self._digest.result()

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()

    def _flush(self) -> None:
        self._write(self._buffer.ids, self._buffer.ends[1:] + self._count)
        self._buffer = Sentences()

    def _write(self, ids: np.ndarray, ends: np.ndarray) -> None:
        self._digest.ids(ids)
        self._digest.ends(ends)
        self._count += len(ids)
        for file, numbers, dtype in zip(self._files, (ids, ends), (self._dtype, "<i8"), strict=True):
            file.write(numbers.astype(dtype).tobytes())


def cached(
    folder: str | Path, pairs: Sequence[Pair], source: Language, target: Language, max_length: int | None
) -> tuple[Sentences, Sentences, int]:
    """The ids of sources and targets, and how many pairs were left out, as `encode` makes them, from the cache.

    The first call writes the ids, with a progress bar; other processes wait for the ids. Damaged ids are written again.

    Args:
        folder: of the cache.
        max_length: leave out pairs with more tokens on a side, not counting <bos> and <eos>.

    Raises:
        ValueError: no pair is left.
        OSError: the ids cannot be written.
    """
    folder = Path(folder)
    place = folder / _key(pairs, source, target, max_length)
    if found := _read(place):  # without the lock: it needs a folder in which one may write
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(place):
            if not (found := _read(place)):
                _build(place, pairs, source, target, max_length)
                found = _read(place)
    except OSError as error:
        raise OSError(f"the ids of {len(pairs):,} pairs cannot be written to {folder}: {error}") from error
    if not found:
        raise OSError(f"{place} is damaged again, right after it was written: choose a folder on another disk")
    return found


def _key(pairs: Sequence[Pair], source: Language, target: Language, max_length: int | None) -> str:
    """A checksum of all that the ids depend on."""
    code = [Path(str(module.__file__)).read_text("utf-8") for module in (spelling, text)]
    versions = [FORMAT, version("regex"), version("tokenizers"), unicodedata.unidata_version]
    parts = [*versions, *code, checksum_of(pairs), source.to_json(), target.to_json(), str(max_length)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _files(stem: Path) -> tuple[Path, Path]:
    return stem.with_suffix(".ids"), stem.with_suffix(".ends")


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _read(place: Path) -> tuple[Sentences, Sentences, int] | None:
    """What `_build` wrote; None if there is nothing, or something damaged, with a warning."""
    if not place.exists():
        return None
    try:
        about = json.loads((place / ABOUT).read_bytes())
        sources, targets = [StoredSentences(place / side, *about[side]) for side in SIDES]
        if not (sources.damaged() or targets.damaged()):
            return sources, targets, about["left_out"]
    except (OSError, ValueError, TypeError, KeyError):
        pass
    warnings.warn(f"the ids in {place} are damaged: they are written again", stacklevel=4)
    return None


def _build(place: Path, pairs: Sequence[Pair], source: Language, target: Language, max_length: int | None) -> None:
    """Write the ids beside their place, and rename their folder when all of them are on the disk."""
    new = place.with_name(f"{place.name}.new")
    for folder in (new, place):  # left by a process that was killed; damaged
        remove_ids(folder, ABOUT, NAMES)
        if folder.exists():
            raise OSError(f"{folder} is damaged, or is not ours: move it away")
    new.mkdir()
    dtypes = ["<u2" if len(language.vocab) <= 1 << 16 else "<i4" for language in (source, target)]
    try:
        (new / ABOUT).write_text(json.dumps(UNFINISHED), encoding="utf-8")
        with ExitStack() as stack:
            writers = [Writer(new / side, dtype) for side, dtype in zip(SIDES, dtypes, strict=True)]
            for writer in writers:
                stack.callback(writer.close)
            bar = stack.enter_context(tqdm(pairs, "writing ids", unit=" pairs", unit_scale=True, leave=False))
            left_out = encode(bar, source, target, max_length, *writers)
            checksums = [writer.finish() for writer in writers]
        about: dict[str, object] = dict(zip(SIDES, zip(dtypes, checksums, strict=True), strict=True))
        (new / ABOUT).write_text(json.dumps({**about, "left_out": left_out}), encoding="utf-8")
        put_in_place(new, place)
    finally:
        remove_ids(new, ABOUT, NAMES)


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """While the block runs, no other process writes these ids. Waits for a process that does, and says so."""
    lock = lock_at(place.with_name(f"{place.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        tqdm.write(f"another process writes the ids to {place}: waiting for it", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
