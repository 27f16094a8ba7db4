"""Finds the fra-eng corpus on this machine, or downloads it into a cache. A refused download leaves nothing behind."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
from pathlib import Path, PurePosixPath, PureWindowsPath

MEMBER = "fra-eng/fra.txt"


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
    """The file with the pairs in the folder `SEQLEARN_DATA` or in the cache; None if it is in neither."""
    named = os.environ.get("SEQLEARN_DATA")
    for folder in [*([Path(named)] if named else []), cache_folder()]:
        if (folder / MEMBER).is_file():
            return folder / MEMBER
    return None


def cache_folder() -> Path:
    """Where files are kept that can be made again: the folder `SEQLEARN_CACHE`, or one in the system's cache folder."""
    from platformdirs import user_cache_path

    named = os.environ.get("SEQLEARN_CACHE")
    return Path(named) if named else user_cache_path("seqlearn")


def hub_entry() -> tuple[str, str]:
    """The address at which d2l keeps the archive, and the archive's sha1."""
    from ..d2l_compat import d2l

    return d2l.DATA_HUB["fra-eng"]


def _download(cache: Path) -> Path:
    """Fetch d2l's archive, check it, unpack its one file, and move the file into the cache in a single step."""
    url, sha1 = hub_entry()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        archive, unpacked = Path(scratch) / "fra-eng.zip", Path(scratch) / "fra.txt"
        digest = _fetch(url, archive)
        if digest != sha1:
            raise ConnectionError(f"{url} sent a file with sha1 {digest}, not {sha1}: not used; try again")
        _unpack(archive, unpacked, url)
        target = cache / MEMBER
        target.parent.mkdir(exist_ok=True)
        os.replace(unpacked, target)
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

    digest = hashlib.sha1()
    try:
        with requests.get(url, stream=True, timeout=30) as answer, path.open("wb") as file:
            answer.raise_for_status()
            size = int(answer.headers.get("content-length", 0)) or None
            with tqdm(total=size, unit="B", unit_scale=True, desc="fra-eng.zip", leave=False) as bar:
                for block in answer.iter_content(1 << 16):
                    file.write(block)
                    digest.update(block)
                    bar.update(len(block))
    except requests.RequestException as error:
        status = getattr(error.response, "status_code", None)
        raise ConnectionError(
            f"fra-eng could not be downloaded from {url} ({type(error).__name__}{f' {status}' if status else ''}). "
            "The built-in corpus needs no network (--corpus builtin); or set SEQLEARN_DATA to a folder that holds "
            + MEMBER
        ) from None
    return digest.hexdigest()
