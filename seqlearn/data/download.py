"""Finds the fra-eng corpus on this machine, or downloads it into a cache.

A refused download leaves nothing behind. The file in the cache is compared with its checksum whenever it is used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import warnings
import zipfile
from pathlib import Path, PurePosixPath, PureWindowsPath

from ..runtime.ownership import lock_at, replacing

MEMBER = "fra-eng/fra.txt"
SHA256 = "0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104"  # of this member
LARGEST, LONGEST = 50_000_000, 1800.0  # bytes and seconds of a download; the archive has 6.7 million bytes


def fra_eng_file(folder: str | Path | None = None) -> Path:
    """The file with the pairs: in `folder` if that is given, else on this machine, else downloaded.

    Raises:
        FileNotFoundError: `folder` is given and holds no such file.
        ConnectionError: the download fails, or delivers something else.
    """
    if folder is None:
        return local_fra_eng_file() or _download(cache_folder())
    for path in (Path(folder) / MEMBER, Path(folder) / "fra.txt"):
        if path.is_file():
            return path
    raise FileNotFoundError(f"{folder} holds neither {MEMBER} nor fra.txt")


def local_fra_eng_file() -> Path | None:
    """The file with the pairs in the folder `SEQLEARN_DATA` or in the cache; None if it is in neither.

    A file in the cache that is not the one that was downloaded does not count, and a warning says so.
    """
    named = os.environ.get("SEQLEARN_DATA")
    if named and (Path(named) / MEMBER).is_file():
        return Path(named) / MEMBER
    found, cached = _checked(cache_folder()), cache_folder() / MEMBER
    if found is None and cached.is_file():
        warnings.warn(f"{cached} is damaged, and is not used", stacklevel=2)
    return found


def _checked(cache: Path) -> Path | None:
    """The file in the cache, if it is whole."""
    cached = cache / MEMBER
    if not cached.is_file():
        return None
    with cached.open("rb") as file:
        return cached if hashlib.file_digest(file, "sha256").hexdigest() == SHA256 else None


def cache_folder() -> Path:
    """Where files are kept that can be made again: the folder `SEQLEARN_CACHE`, or one in the system's cache folder."""
    from platformdirs import user_cache_path

    named = os.environ.get("SEQLEARN_CACHE")
    return Path(named) if named else user_cache_path("seqlearn")


def hub_entry() -> tuple[str, str]:
    """The address at which d2l keeps the archive, and the archive's sha1."""
    from ..runtime.d2l_compat import d2l

    return d2l.DATA_HUB["fra-eng"]


def _download(cache: Path) -> Path:
    """Fetch d2l's archive, check it, unpack its one file, and move the file into the cache in a single step."""
    url, sha1 = hub_entry()
    cache.mkdir(parents=True, exist_ok=True)
    with lock_at(cache / ".lock"), tempfile.TemporaryDirectory() as scratch:
        if found := _checked(cache):  # by a download that this one has waited for
            return found
        target = cache / MEMBER
        if target.exists():
            raise ValueError(f"{target} is damaged, or is another file: move it away, and it is downloaded")
        archive, unpacked = Path(scratch) / "fra-eng.zip", Path(scratch) / "fra.txt"
        digest = _fetch(url, archive)
        if digest != sha1:
            raise ConnectionError(f"{url} sent a file with sha1 {digest}, not {sha1}: not used; try again")
        _unpack(archive, unpacked, url)
        target.parent.mkdir(exist_ok=True)
        with replacing(target) as new:
            shutil.copyfile(unpacked, new)
    return target


def _unpack(archive: Path, target: Path, url: str) -> None:
    try:
        with zipfile.ZipFile(archive) as opened:
            outside = next((name for name in opened.namelist() if _leaves_its_folder(name)), None)
            if outside is not None:
                raise ConnectionError(f"the archive from {url} names a file outside its folder, {outside!r}: not used")
            with opened.open(MEMBER) as packed, target.open("wb") as file:
                shutil.copyfileobj(packed, file)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError) as error:
        raise ConnectionError(f"the archive from {url} holds no readable {MEMBER} ({error}): not used") from None


def _leaves_its_folder(name: str) -> bool:
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    return posix.is_absolute() or bool(windows.anchor) or ".." in windows.parts


def _fetch(url: str, path: Path) -> str:
    """Download to a file, with a progress bar. Returns the sha1."""
    import requests
    from tqdm import tqdm
    from urllib3.exceptions import HTTPError  # what requests itself is made of

    digest, received, end = hashlib.sha1(), 0, time.monotonic() + LONGEST
    try:
        with requests.get(url, stream=True, timeout=30) as answer, path.open("wb") as file:
            answer.raise_for_status()
            size = int(answer.headers.get("content-length", 0)) or None
            with tqdm(total=size, unit="B", unit_scale=True, desc="fra-eng.zip", leave=False) as bar:
                # `read1` returns what has come, so that the time is looked at even if one byte comes a minute.
                while block := answer.raw.read1(1 << 16, decode_content=True):
                    file.write(block)
                    digest.update(block)
                    bar.update(len(block))
                    received += len(block)
                    if received > LARGEST or time.monotonic() > end:
                        raise ConnectionError(
                            f"{url} had sent {received:,} bytes after {LONGEST + time.monotonic() - end:,.0f} seconds, "
                            f"and {LARGEST:,} bytes and {LONGEST:,.0f} seconds are the most: not used"
                        )
    except (requests.RequestException, HTTPError) as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        raise ConnectionError(
            f"fra-eng could not be downloaded from {url} ({type(error).__name__}{f' {status}' if status else ''}). "
            "The built-in corpus needs no network (--corpus builtin); or set SEQLEARN_DATA to a folder that holds "
            + MEMBER
        ) from None
    return digest.hexdigest()
