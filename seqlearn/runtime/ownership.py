"""The one owner of files: which files are ours, and how a file is replaced or removed. No other module does either.

A file is ours if its content says so. Whatever its name is, a file whose content does not say so is somebody else's:
no command changes or removes the file, and a command that would have to do so ends before any work, with a sentence.
New content is written beside the old file and takes its place in one step, so that a crash at any moment leaves the
whole old file or the whole new one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import struct
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

WEIGHTS, TRANSLATOR, CHECKPOINT = "weights", "a translator", "a checkpoint"  # kinds; these are safetensors
CONFIG, LOG, DRAWING = "the configuration of a translator", "the log of a training", "a page or picture"
LOSSES = "the loss curve of a training"
IDS, OPTIONS = "the description of stored ids", "the options of a training"
MARK = "made-by-seqlearn"  # stands in each page and picture that a command writes
LOSSES_MARK = f"{MARK}: losses"  # ... and in each loss curve
MARKED = {  # how such a file starts, and how it holds the mark ...
    b"<!doctype html>": b'<meta name="generator" content="%b">',
    b"<?xml": b"<dc:title>%b</dc:title>",
    b"\x89PNG": b"Software\0%b",
    b"%PDF": b"/Creator (%b)",
}
SIGNED = re.compile(
    rb"(?:#|%|<!--) sha256 ([0-9a-f]{64})(?: -->)?\n$"
)  # ends what nobody has changed since it was made
OPTIONS_MARK = f"# {MARK}: the options of a training"  # how such a file starts
NEAR = 1 << 16  # ... within so many bytes of its start or its end
HEADER, LONGEST = 100_000_000, 1 << 26  # bytes that are read: of a header, as safetensors does; of any other text
SETTINGS = {"format": int, "model": str, "sizes": dict}  # what a configuration has
STORED = {"sources", "targets", "left_out"}  # what the description of stored ids has
RECORD = {"epoch", "train_loss", "valid_loss", "seconds", "tokens"}  # what each line of a log has
HALF = re.compile(r"\.\d+-[0-9a-f]{8}\.new$")  # the end of the name of a file that is being written
TENSORS = b'{"__metadata__":{'  # the header of a safetensors file with texts begins so
ABANDONED = 3600.0  # seconds: a half-written file that nobody has touched for so long was left by a killed process
WRONG = (LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError)  # what wrong names and types raise
LONG = 220  # bytes of a name: a longer one is shortened beside the file
PATIENCE = 10.0  # seconds to wait for a reader: Windows does not replace a file that is open


def signed(content: bytes) -> bytes:
    """A page, a picture or the options of a training with its checksum at its end: `kind_of` sees whether it holds."""
    form = {b"#": b"# sha256 %b\n", b"%": b"%% sha256 %b\n"}.get(content[:1], b"<!-- sha256 %b -->\n")
    content += b"" if content.endswith(b"\n") else b"\n"
    return content + form % hashlib.sha256(content).hexdigest().encode()


def _is_changed(content: bytes) -> bool:
    """Whether somebody has changed what `signed` made."""
    found = SIGNED.search(content[-100:])
    size = len(content) - len(found[0]) if found else 0
    return found is None or hashlib.sha256(memoryview(content)[:size]).hexdigest().encode() != found[1]


def kind_of(path: Path, changed: bool = False) -> str | None:
    """The kind of a file of ours, by what is in it. None: there is no such file, or the file is somebody else's.

    Args:
        changed: whether a page, a picture or options count as ours even if somebody has changed them.
    """
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length <= HEADER and len(header := file.read(length)) == length and header.startswith(TENSORS):
                return _kind_of_tensors(json.loads(header)["__metadata__"])
            size = file.seek(0, os.SEEK_END)
            start, end = _part(file, 0), _part(file, max(size - NEAR, 0))
            file.seek(0)
            content = file.read() if size <= LONGEST else b""
            for kind, mark in ((DRAWING, MARK), (LOSSES, LOSSES_MARK)):
                marks = [form % mark.encode() for beginning, form in MARKED.items() if start.startswith(beginning)]
                if any(mark in part for mark in marks for part in (start, end)):
                    return kind if changed or not _is_changed(content) else None
            if content.startswith(OPTIONS_MARK.encode()):
                return OPTIONS if changed or not _is_changed(content) else None
            return _kind_of_text(content)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return None


def _part(file: BinaryIO, start: int) -> bytes:
    file.seek(start)
    return file.read(NEAR)


def _kind_of_tensors(texts: Mapping[str, str]) -> str | None:
    """The kind of a safetensors file that holds these texts."""
    if texts.keys() >= {"config", "source", "target"}:
        return TRANSLATOR
    state = json.loads(texts.get("state", "{}"))
    if "format" in state and ("updates" in state or "sha256" in texts):
        return CHECKPOINT
    return WEIGHTS if "sha256" in texts else None


def _kind_of_text(content: bytes) -> str | None:
    with suppress(ValueError):
        stored = json.loads(content)
        if all(isinstance(stored.get(name), type_) for name, type_ in SETTINGS.items()):
            return CONFIG
        if stored.keys() == STORED:
            return IDS
    return LOG if all(json.loads(line).keys() == RECORD for line in content.splitlines() or [b"{}"]) else None


@contextmanager
def naming(name: str | Path) -> Iterator[None]:
    """Name the file in an error of the system: one that comes while an open file is read or written does not."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(name)
        raise


@contextmanager
def reading(name: object) -> Iterator[None]:
    """Call what is read in the block damaged, where names, types or shapes are wrong: anybody may have written it.

    Raises:
        ValueError: the block raised an error of Python or torch, which the sentence quotes, or a ValueError itself.
    """
    try:
        yield
    except (*WRONG, struct.error, json.JSONDecodeError, UnicodeDecodeError) as error:
        first, *_ = [*str(error).splitlines(), ""]  # PyTorch may list the frames of C++
        raise ValueError(f"{name} is damaged ({type(error).__name__}: {first})") from None


@contextmanager
def replacing(path: str | Path, check: Callable[[], None] | None = None) -> Iterator[Path]:
    """A file beside `path`, to be written in the block. At its end the new file takes the place of the old one.

    Args:
        check: called right before the new file takes its place. It raises an error if the file that is there now may
            not be replaced: a command looks at its beginning, too, but much may happen until its end.

    If the block raises an error, the old file stays and the new one is removed. If `path` is a link, the file that it
    names is replaced. A device or a pipe is not a file: the block gets the device itself. What a killed process has
    left while it wrote the same file is removed after an hour, or named where its content does not say that it is ours.

    Raises:
        OSError: the file cannot be written.
    """
    path = Path(path)
    if path.exists() and not path.is_file():  # before links are followed: that of a pipe leads to no name
        with naming(path):
            yield path
        return
    path = Path(os.path.realpath(path))
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    for left in remove_halves(path):
        warnings.warn(f"{left} was left by a process that was killed while it wrote: look, and remove it", stacklevel=4)
    name = path.name if len(os.fsencode(path.name)) < LONG else path.name[:50]
    beside = path.with_name(f"{name}.{os.getpid()}-{uuid.uuid4().hex[:8]}.new")
    try:
        with naming(path):
            beside.touch()
            mode = (path if path.exists() else beside).stat().st_mode
            yield beside
            beside.chmod(mode)
            _sync(beside)
        if check:
            check()
        _replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    _sync(path.parent)


def write(path: str | Path, content: str | bytes, check: Callable[[], None] | None = None) -> None:
    """Write a file in one step; a text as UTF-8. Args and Raises: see `replacing`."""
    with replacing(path, check) as new:
        new.write_bytes(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)


def remove(path: Path, kind: str) -> None:
    """Remove a file if it is of this kind. Anything else stays."""
    if kind_of(path) == kind:
        path.unlink(missing_ok=True)


def remove_halves(path: Path, age: float = ABANDONED) -> list[Path]:
    """Remove what killed processes have left of writing the file `path`, or files whose paths begin so.

    Args:
        age: leave files alone that somebody has touched in the last `age` seconds; 0 where nobody else can be writing.

    Returns:
        Files with such names that stay, because their content does not say whose they are: half a text.
    """
    left: list[Path] = []
    for half in path.parent.glob("*.new"):
        is_named = half.name.startswith(path.name) and HALF.search(half.name)
        with suppress(FileNotFoundError):  # its writer lives, and has finished
            if is_named and time.time() - half.stat().st_mtime >= age:
                if _is_half(half):
                    half.unlink()
                else:
                    left.append(half)
    return left


def _is_half(path: Path) -> bool:
    """Whether a file with such a name is empty, of ours, or cut in the header of its tensors."""
    if not path.is_file() or path.is_symlink():
        return False
    with path.open("rb") as file:
        start = file.read(8 + len(TENSORS))
    is_cut = len(start) >= 8 and path.stat().st_size - 8 < int.from_bytes(start[:8], "little") <= LONGEST
    return kind_of(path) is not None or (is_cut and TENSORS.startswith(start[8:])) or not start


def remove_ids(folder: Path, about: str, names: Iterable[str]) -> None:
    """Remove stored ids with their folder, if the folder holds a description of ids. Files of other names stay.

    Args:
        about: the name of the description, which goes last.
        names: of the files with the ids.
    """
    if kind_of(folder / about) == IDS:
        for name in (*names, about):
            (folder / name).unlink(missing_ok=True)
    remove_if_empty(folder)


def put_in_place(new: Path, place: Path) -> None:
    """Give a finished folder its name, which nothing has."""
    os.rename(new, place)


def remove_if_empty(folder: Path) -> None:
    """Remove a folder that holds nothing."""
    with suppress(OSError):
        folder.rmdir()


def foreign_in(folder: Path, kinds: Mapping[str, str | None], changed: bool = False) -> list[Path]:
    """The files in a folder that are not ours, sorted. A link to a file belongs to whom the file belongs to.

    Args:
        kinds: the names that files of ours have there, each with its kind.
        changed: see `kind_of`.
    """
    return [
        path
        for path in sorted(folder.iterdir() if folder.is_dir() else [])
        if not (path.name in kinds and kinds[path.name] == kind_of(path, changed) and not _is_link_to_a_file(path))
        and not (HALF.search(path.name) and _is_half(path))
    ]


def _is_link_to_a_file(path: Path) -> bool:
    return path.is_symlink() and path.is_file()


def remove_lock(path: Path) -> None:
    """Remove a lock file, which holds nothing."""
    if path.is_file() and path.stat().st_size == 0:
        path.unlink()


def check_output(
    path: Path, inputs: Iterable[Path | None] = (), kind: str | None = None, overwrite: bool = False
) -> None:
    """Refuse to write a file where something would be lost, before any work.

    Args:
        inputs: files that are read; None: no file.
        kind: a file of this kind that nobody has changed may be replaced: a command may repeat what it wrote.
        overwrite: whether the user has asked to replace any other file.

    Raises:
        ValueError: `path` is an input, belongs to a translator or a training, or is somebody else's file.
        OSError: `path` is a folder, or in a folder that does not exist.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {path.parent}")
    if not path.is_file():
        return
    if any(each is not None and each.exists() and path.samefile(each) for each in inputs):
        raise ValueError(f"{path} would be overwritten, and it is an input: choose another file to write")
    if (found := kind_of(path)) in (TRANSLATOR, CHECKPOINT, CONFIG, LOG, OPTIONS, LOSSES):
        raise ValueError(f"{path} is {found}, and is not overwritten: choose another file to write")
    if not (overwrite or (found and found == kind)):
        changed = " and is not as it was written" if kind_of(path, changed=True) else ""
        raise ValueError(f"{path} exists{changed}: choose another file to write, or add --overwrite")


def lock_at(path: Path, timeout: float = -1) -> FileLock:
    """The lock file at `path`.

    Raises:
        ValueError: there is a file with content. (A lock is empty, and locking would empty the file.)
    """
    if path.is_file() and path.stat().st_size:
        raise ValueError(f"{path} has content, so it is not our lock: move it away")
    return FileLock(path, timeout=timeout)


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. (Windows cannot sync a folder.)"""
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace(new: Path, old: Path) -> None:
    """Rename `new` to `old`, in one step. On Windows, wait for whoever reads `old` at the moment."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return os.replace(new, old)
        except PermissionError:
            if os.name != "nt" or time.monotonic() > end:
                raise
            time.sleep(0.05)
