"""Corpora: pairs with a name, from the built-in grammar, from Tatoeba, or from your own files."""

from __future__ import annotations

import hashlib
import heapq
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ..grammar import write_pairs
from ..pairs import Pair
from .download import fra_eng_file
from .files import Chosen, Lines, ParallelPairs, Reversed, TSVPairs, checked
from .text import WordTokenizer


class Split(NamedTuple):
    """Three disjoint parts: learn from `train`, choose with `valid`, score once with `test`."""

    train: Sequence[Pair]
    valid: Sequence[Pair]
    test: Sequence[Pair]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Pairs of sentences, and the languages ("en", "fr", ...) of their two sides.

    Pairs of a file stay in their file: each is read when it is asked for. A corpus of a million lines takes 8 MB, and
    16 more when it is split (`benchmarks/memory.py`).
    """

    name: str
    languages: tuple[str, str]
    pairs: Sequence[Pair]

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def __repr__(self) -> str:
        return f"Corpus({self.name}, {' -> '.join(self.languages)}, {len(self.pairs):,} pairs)"

    def reversed(self) -> Corpus:
        """The corpus in the other direction."""
        listed = isinstance(self.pairs, list)
        pairs = [pair.reversed() for pair in self.pairs] if listed else Reversed(self.pairs)
        return replace(self, languages=self.languages[::-1], pairs=pairs)

    def limited(self, count: int, seed: int = 0) -> Corpus:
        """At most `count` pairs, drawn at random (seeded), in their old order."""
        if count >= len(self.pairs):
            return self
        drawn = heapq.nsmallest(count, ((share, place) for place, share in enumerate(self._shares(f"limit {seed}"))))
        return replace(self, pairs=self._choose(array("q", sorted(place for _, place in drawn))))

    def split(self, valid: float = 1 / 30, test: float = 1 / 30, seed: int = 0) -> Split:
        """Train, valid and test, by distinct source sentence: all translations of a sentence land in the same part.

        Where a sentence goes depends on its tokens and the seed alone. A corpus that grows or is sorted anew never
        moves a sentence from held out to trained on.

        Args:
            valid, test: the shares of the source sentences to hold out.
        """
        if min(valid, test) < 0 or valid + test >= 1:
            raise ValueError(f"valid and test are shares that leave something to train on, not {valid} and {test}")
        parts = Split(array("q"), array("q"), array("q"))
        for place, share in enumerate(self._shares(f"split {seed}")):
            (parts.test if share < test else parts.valid if share < test + valid else parts.train).append(place)
        return Split(*map(self._choose, parts))

    def split_combinations(self, share: float = 0.05, seed: int = 0) -> tuple[list[Pair], list[Pair]]:
        """The pairs without and with the held-out noun-verb combinations (built-in corpus): a test of composition."""
        seen, held_out = [], []
        for pair in self.pairs:
            unseen = any(_share(f"combination {seed}", text) < share for text in pair.combinations)
            (held_out if unseen else seen).append(pair)
        return seen, held_out

    def _choose(self, places: Sequence[int]) -> Sequence[Pair]:
        if isinstance(self.pairs, list):
            return [self.pairs[place] for place in places]
        return Chosen(self.pairs, places)

    def _shares(self, salt: str) -> Iterator[float]:
        tokenizer = WordTokenizer(self.languages[0])
        return (_share(salt, " ".join(tokenizer.tokenize(pair.source))) for pair in self.pairs)


def _share(salt: str, text: str) -> float:
    """A number in [0, 1) that depends on the text alone: evenly spread, the same on every machine."""
    digest = hashlib.blake2b(f"{salt}\t{text}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def builtin(count: int = 30_000, seed: int = 0, ambiguous: bool = False) -> Corpus:
    """The corpus that the package writes itself (`seqlearn.grammar`), with gold alignments; needs no network."""
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
    return replace(from_tsv(fra_eng_file(folder), ("en", "fr")), name="fra-eng")


def local_fra_eng() -> Corpus | None:
    """`fra_eng` where it is on this machine already (`SEQLEARN_DATA` or an earlier download), else None."""
    path = fra_eng_file(None, download=False)
    return None if path is None else replace(from_tsv(path, ("en", "fr")), name="fra-eng")


def from_tsv(path: str | Path, languages: tuple[str, str] = ("", ""), skip_malformed: bool = False) -> Corpus:
    """A file with `source<TAB>target` on each line; a third column (attribution) may follow. UTF-8, plain or gzip.

    Args:
        skip_malformed: leave malformed lines out, with a warning that names the first and counts them.

    Raises:
        ValueError: a line is malformed (and may not be skipped), or the file is no such file; it names file and line.
    """
    path = Path(path)
    return Corpus(path.name, languages, checked(TSVPairs(Lines(path)), skip_malformed))


def from_files(
    source: str | Path, target: str | Path, languages: tuple[str, str] = ("", ""), skip_malformed: bool = False
) -> Corpus:
    """Two parallel files, one sentence a line: line n of one translates line n of the other. UTF-8, plain or gzip.

    Args:
        skip_malformed: leave out pairs with an empty or malformed side, with a warning that counts them.

    Raises:
        ValueError: the files differ in length, or a line is empty or malformed (and may not be skipped).
    """
    sources, targets = Lines(source), Lines(target)
    if len(sources) != len(targets):
        raise ValueError(
            f"{source} has {len(sources):,} lines and {target} has {len(targets):,}: they must be parallel"
        )
    return Corpus(Path(source).name, languages, checked(ParallelPairs(sources, targets), skip_malformed))


def distinct_sources(pairs: Iterable[Pair], language: str = "") -> set[str]:
    """The source sentences, as their tokens: what must not be shared between training and held-out data."""
    tokenizer = WordTokenizer(language)
    return {" ".join(tokenizer.tokenize(pair.source)) for pair in pairs}
