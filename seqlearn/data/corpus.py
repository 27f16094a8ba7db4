"""Corpora: lists of pairs with a name, from the built-in grammar, from Tatoeba, or from your own files."""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from .grammar import write_pairs
from .pairs import Pair
from .text import WordTokenizer


class Split(NamedTuple):
    """Three disjoint parts: learn from `train`, choose with `valid`, score once with `test`."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Pairs of sentences, and the languages ("en", "fr", ...) of their two sides."""

    name: str
    languages: tuple[str, str]
    pairs: list[Pair]

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"Corpus({self.name}, {' -> '.join(self.languages)}, {len(self.pairs):,} pairs)"

    def reversed(self) -> Corpus:
        """The corpus in the other direction."""
        return replace(self, languages=self.languages[::-1], pairs=[pair.reversed() for pair in self.pairs])

    def limited(self, count: int, seed: int = 0) -> Corpus:
        """At most `count` pairs, drawn at random (seeded), in their old order."""
        if count >= len(self.pairs):
            return self
        shares = self._shares(f"limit {seed}")
        kept = sorted(sorted(range(len(self.pairs)), key=lambda index: (shares[index], index))[:count])
        return replace(self, pairs=[self.pairs[index] for index in kept])

    def split(self, valid: float = 1 / 30, test: float = 1 / 30, seed: int = 0) -> Split:
        """Train, valid and test, by distinct source sentence: all translations of a sentence land in the same part.

        Where a sentence goes depends on its tokens and the seed alone. A corpus that grows or is sorted anew never
        moves a sentence from held out to trained on.

        Args:
            valid, test: the shares of the source sentences to hold out.
        """
        if min(valid, test) < 0 or valid + test >= 1:
            raise ValueError(f"valid and test are shares that leave something to train on, not {valid} and {test}")
        parts = Split([], [], [])
        for pair, share in zip(self.pairs, self._shares(f"split {seed}"), strict=True):
            (parts.test if share < test else parts.valid if share < test + valid else parts.train).append(pair)
        return parts

    def split_combinations(self, share: float = 0.05, seed: int = 0) -> tuple[list[Pair], list[Pair]]:
        """The pairs without and with the held-out noun-verb combinations (built-in corpus): a test of composition."""
        seen, held_out = [], []
        for pair in self.pairs:
            unseen = any(_share(f"combination {seed}", text) < share for text in pair.combinations)
            (held_out if unseen else seen).append(pair)
        return seen, held_out

    def _shares(self, salt: str) -> list[float]:
        tokenizer = WordTokenizer(self.languages[0])
        return [_share(salt, " ".join(tokenizer.tokenize(pair.source))) for pair in self.pairs]


def _share(salt: str, text: str) -> float:
    """A number in [0, 1) that depends on the text alone: evenly spread, the same on every machine."""
    digest = hashlib.blake2b(f"{salt}\t{text}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def builtin(count: int = 30_000, seed: int = 0, ambiguous: bool = False) -> Corpus:
    """The corpus that the package writes itself (`seqlearn.data.grammar`), with gold alignments; needs no network."""
    return Corpus("builtin", ("en", "fr"), write_pairs(count, seed, ambiguous))


def fra_eng(folder: str | Path | None = None) -> Corpus:
    """English-French pairs of the Tatoeba project, as used by d2l: 167,130 pairs, CC BY 2.0 (France).

    Attribution: manythings.org/anki and tatoeba.org.

    Args:
        folder: holds `fra-eng/fra.txt` (or `fra.txt`). Default: the folder that `SEQLEARN_DATA` names, then the cache
            of an earlier download, then a download.

    Raises:
        FileNotFoundError: `folder` is given and holds no such file.
        ConnectionError: the download fails.
    """
    return replace(from_tsv(_find_fra_eng(folder), ("en", "fr")), name="fra-eng")


def _find_fra_eng(folder: str | Path | None) -> Path:
    if folder is not None:
        places = [Path(folder) / "fra-eng" / "fra.txt", Path(folder) / "fra.txt"]
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise FileNotFoundError(f"{folder} holds neither fra-eng/fra.txt nor fra.txt")
        return found
    from platformdirs import user_cache_path

    cache = user_cache_path("seqlearn")
    folders = [Path(os.environ["SEQLEARN_DATA"])] if os.environ.get("SEQLEARN_DATA") else []
    for place in [*folders, cache]:
        if (place / "fra-eng" / "fra.txt").is_file():
            return place / "fra-eng" / "fra.txt"
    return _download_fra_eng(cache)


def _hub_entry() -> tuple[str, str]:
    """Where d2l keeps the archive, and its sha1."""
    from .d2l_compat import d2l

    return d2l.DATA_HUB["fra-eng"]


def _download_fra_eng(cache: Path) -> Path:
    """Fetch d2l's archive, check it, unpack the one file, and put it in place in a single step."""
    url, sha1 = _hub_entry()
    target = cache / "fra-eng" / "fra.txt"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        archive = Path(scratch) / "fra-eng.zip"
        digest = _fetch(url, archive)
        if digest != sha1:
            raise ConnectionError(f"{url} sent a file with sha1 {digest}, not {sha1}: not used; try again")
        with zipfile.ZipFile(archive) as opened, opened.open("fra-eng/fra.txt") as packed:
            unpacked = Path(scratch) / "fra.txt"
            unpacked.write_bytes(packed.read())
        os.replace(unpacked, target)
    return target


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
        raise ConnectionError(
            f"fra-eng could not be downloaded from {url} ({type(error).__name__}). The built-in corpus needs no "
            "network (--corpus builtin); or set SEQLEARN_DATA to a folder that holds fra-eng/fra.txt"
        ) from None
    return digest.hexdigest()


def from_tsv(path: str | Path, languages: tuple[str, str] = ("", "")) -> Corpus:
    """A file with `source<TAB>target` on each line; a third (attribution) may follow. UTF-8, plain or gzip.

    Raises:
        ValueError: a line is malformed; nothing is dropped silently. It names the file and the line.
    """
    path = Path(path)
    pairs, bad = [], []
    for number, line in enumerate(_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) in (2, 3) and columns[0].strip() and columns[1].strip():
            pairs.append(Pair(columns[0], columns[1]))
        else:
            bad.append(number)
    if bad:
        raise ValueError(
            f"{path}, line {bad[0]}: expected source<TAB>target (a third column may follow), both not empty; "
            f"{len(bad)} such line{'s' * (len(bad) > 1)} in all"
        )
    return _corpus(path, languages, pairs)


def from_files(source: str | Path, target: str | Path, languages: tuple[str, str] = ("", "")) -> Corpus:
    """Two parallel files, one sentence a line: line n of one translates line n of the other. UTF-8, plain or gzip.

    Raises:
        ValueError: the files differ in length, or a line is empty on one side only.
    """
    sources, targets = list(_lines(Path(source))), list(_lines(Path(target)))
    if len(sources) != len(targets):
        raise ValueError(f"{source} has {len(sources)} lines and {target} has {len(targets)}: they must be parallel")
    for number, (left, right) in enumerate(zip(sources, targets, strict=True), start=1):
        if not left.strip() or not right.strip():
            raise ValueError(f"{source if not left.strip() else target}, line {number}: the line is empty")
    return _corpus(Path(source), languages, [Pair(*both) for both in zip(sources, targets, strict=True)])


def _corpus(path: Path, languages: tuple[str, str], pairs: list[Pair]) -> Corpus:
    if not pairs:
        raise ValueError(f"{path} is empty")
    return Corpus(path.name, languages, pairs)


def _lines(path: Path) -> Iterator[str]:
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    opener = gzip.open if path.suffix == ".gz" else open
    number = 0  # lines read so far: a message about the next one has to name it
    try:
        # newline="\n": only a line feed ends a line, so that odd characters inside a sentence cannot split it.
        with opener(path, "rt", encoding="utf-8-sig", newline="\n") as file:
            for line in file:
                number += 1
                yield line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}, after line {number}: not UTF-8 ({error.reason})") from None
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{path}: not a whole gzip file ({error})") from None


def distinct_sources(pairs: Iterable[Pair], language: str = "") -> set[str]:
    """The source sentences, as their tokens: what must not be shared between training and held-out data."""
    tokenizer = WordTokenizer(language)
    return {" ".join(tokenizer.tokenize(pair.source)) for pair in pairs}
