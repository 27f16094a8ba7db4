"""Fetch the fra-eng corpus: into a cache, checked, in one step; what is refused leaves nothing behind."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
from pathlib import Path, PurePosixPath, PureWindowsPath

MEMBER = "fra-eng/fra.txt"


def fra_eng_file(folder: str | Path | None, download: bool = True) -> Path | None:
    """The file with the pairs: in `folder`, in the folder `SEQLEARN_DATA`, in the cache, or downloaded.

    None where it is not on this machine and may not be downloaded.

    Raises:
        FileNotFoundError: `folder` is given and holds no such file.
        ConnectionError: the download fails, or brings something else.
    """
    if folder is not None:
        places = [Path(folder) / MEMBER, Path(folder) / "fra.txt"]
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise FileNotFoundError(f"{folder} holds neither {MEMBER} nor fra.txt")
        return found
    from platformdirs import user_cache_path

    cache = user_cache_path("seqlearn")
    folders = [Path(os.environ["SEQLEARN_DATA"])] if os.environ.get("SEQLEARN_DATA") else []
    for place in [*folders, cache]:
        if (place / MEMBER).is_file():
            return place / MEMBER
    return _download(cache) if download else None


def hub_entry() -> tuple[str, str]:
    """Where d2l keeps the archive, and its sha1."""
    from ..d2l_compat import d2l

    return d2l.DATA_HUB["fra-eng"]


def _download(cache: Path) -> Path:
    """Fetch d2l's archive, check it, unpack the one file, and put it in place in a single step."""
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
    """Download to a file, with a progress bar; returns the sha1."""
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
