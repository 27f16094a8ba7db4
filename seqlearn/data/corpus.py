"""Corpora: named pairs of sentences, from the built-in grammar, from Tatoeba, or from your own files."""

from __future__ import annotations

import hashlib
import heapq
import itertools
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ..runtime.values import as_int, as_texts, check_items
from .download import fra_eng_file, local_fra_eng_file
from .grammar import PAIRS, write_pairs
from .large.files import ChosenPairs, Lines, ParallelPairs, ReversedPairs, TSVPairs, checked
from .pairs import Pair, pairs_in
from .text import WordTokenizer

TATOEBA = Path(__file__).parents[1] / "pretrained" / "tatoeba" / "test.tsv"


class Split(NamedTuple):
    """Three disjoint parts of a corpus: learn from `train`, choose with `valid`, score once with `test`."""

    train: Sequence[Pair]
    valid: Sequence[Pair]
    test: Sequence[Pair]

    def __repr__(self) -> str:
        return f"Split({', '.join(f'{len(part):,} {name}' for name, part in zip(self._fields, self, strict=True))})"


@dataclass(frozen=True, eq=False)
class Corpus:
    """Pairs of sentences, and the languages ("en", "fr", ...) of their two sides.

    The pairs of a file stay in the file; each is read when somebody asks for it. A corpus of a million lines takes 4 MB
    of memory when it is split (`benchmarks/memory.py`).
    """

    name: str
    languages: tuple[str, str]
    pairs: Sequence[Pair]

    def __post_init__(self):
        as_texts(self.languages, "languages", 2)
        check_items("pairs", self.pairs, "Pair")

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def __repr__(self) -> str:
        return f"Corpus({self.name}, {' -> '.join(self.languages)}, {len(self.pairs):,} pairs)"

    def reversed(self) -> Corpus:
        """The corpus in the other direction."""
        listed = isinstance(self.pairs, list)
        pairs = [pair.reversed() for pair in self.pairs] if listed else ReversedPairs(self.pairs)
        return replace(self, languages=self.languages[::-1], pairs=pairs)

    def limited(self, count: int, seed: int = 0) -> Corpus:
        """At most `count` pairs, drawn at random (seeded). They keep their order.

        The draw has nothing to do with `split`: the pairs drawn come from all parts of a split alike.
        """
        if as_int("count", count, 0) >= len(self.pairs):
            return self
        drawn = heapq.nsmallest(count, zip(self._draws(f"limit {seed}"), itertools.count()))
        return replace(self, pairs=self._choose(array("I", sorted(index for _, index in drawn))))

    def without(self, held_out: Iterable[Pair]) -> Corpus:
        """The corpus without the pairs whose source sentence is the source of one of these pairs, too.

        Sentences are compared by their tokens, so case and spaces make no difference.
        """
        language = self.languages[0]
        seen, tokenizer = distinct_sources(held_out, language), WordTokenizer(language)
        kept = (" ".join(tokenizer.tokenize(pair.source)) not in seen for pair in self.pairs)
        return replace(self, pairs=self._choose(array("I", itertools.compress(itertools.count(), kept))))

    def split(self, valid: float = 1 / 30, test: float = 1 / 30, seed: int = 0) -> Split:
        """Split by distinct source sentence: all translations of a sentence go to the same part.

        Which part that is depends only on the tokens of the sentence and on the seed. So a sentence that was held out
        stays held out when the corpus grows or is sorted in another order.

        Args:
            valid, test: the shares of the source sentences to hold out.

        Raises:
            ValueError: a share is negative, or nothing is left to train on.
        """
        if not (valid >= 0 and test >= 0 and valid + test < 1):  # refuses NaN, too
            raise ValueError(f"valid and test are shares that leave something to train on, not {valid} and {test}")
        to_train, to_valid, to_test = array("I"), array("I"), array("I")
        for index, draw in enumerate(self._draws(f"split {seed}")):
            part = to_test if draw < test else to_valid if draw < test + valid else to_train
            part.append(index)
        return Split(self._choose(to_train), self._choose(to_valid), self._choose(to_test))

    def _choose(self, indices: array) -> Sequence[Pair]:
        if isinstance(self.pairs, list):
            return [self.pairs[index] for index in indices]
        return ChosenPairs(self.pairs, indices)

    def _draws(self, salt: str) -> Iterator[float]:
        """For each pair a number in [0, 1), evenly spread. It depends only on the salt and the source's tokens."""
        tokenizer = WordTokenizer(self.languages[0])
        return (_draw(salt, " ".join(tokenizer.tokenize(pair.source))) for pair in pairs_in(self.pairs))


def _draw(salt: str, text: str) -> float:
    """A number in [0, 1) made from the bytes of salt and text, so that every machine draws the same."""
    digest = hashlib.blake2b(f"{salt}\t{text}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def builtin(count: int = PAIRS, seed: int = 0, ambiguous: bool = False) -> Corpus:
    """The corpus that `seqlearn.data.grammar` writes, with gold alignments. It needs no network.

    Args:
        count, seed, ambiguous: see `seqlearn.data.grammar.write_pairs`.
    """
    return Corpus("builtin", ("en", "fr"), write_pairs(count, seed, ambiguous))


def fra_eng(folder: str | Path | None = None) -> Corpus:
    """English-French pairs of the Tatoeba project, as used by d2l: 167,130 pairs, CC BY 2.0 (France).

    Attribution: manythings.org/anki and tatoeba.org.

    Args:
        folder: a folder that holds `fra-eng/fra.txt` or `fra.txt`. Default: the folder that `SEQLEARN_DATA` names, then
            the cache of an earlier download, then a download.

    Raises:
        FileNotFoundError: `folder` is given and holds no such file.
        ConnectionError: the download fails.
    """
    return _fra_eng(fra_eng_file(folder))


def local_fra_eng() -> Corpus | None:
    """`fra_eng` if its file is on this machine already (`SEQLEARN_DATA` or an earlier download), else None."""
    path = local_fra_eng_file()
    return None if path is None else _fra_eng(path)


def _fra_eng(path: Path) -> Corpus:
    return replace(from_tsv(path, ("en", "fr")), name="fra-eng")


def tatoeba_test() -> Corpus:
    """About 2,000 English-French pairs that come with the package: an excerpt of the test part of Tatoeba's sentences.

    The translator "tatoeba" never saw these English sentences in training. Attribution and licence (CC BY 2.0 France)
    stand in `seqlearn/pretrained/tatoeba/ATTRIBUTION.md`.
    """
    return replace(from_tsv(TATOEBA, ("en", "fr")), name="tatoeba")


def from_tsv(
    path: str | Path,
    languages: tuple[str, str] = ("", ""),
    skip_malformed: bool = False,
    columns: tuple[int, int] | None = None,
) -> Corpus:
    """A corpus from a file with `source<TAB>target` on each line. A third column (attribution) may follow.

    Args:
        path: a UTF-8 file, plain or gzip.
        languages: of the two columns; they choose the rules for spelling and tokens.
        skip_malformed: leave malformed lines out, with a warning that names the first and counts them.
        columns: that hold source and target, counted from 1; default: the first two.

    Raises:
        ValueError: the file is not such a file, or a line is malformed (and may not be skipped): the message names the
            file and the line. Or the first of three columns holds numbers, and `columns` does not say which to take.
        FileNotFoundError: there is no such file.
    """
    path = Path(path)
    if columns is not None and len({as_int("a column", column) for column in columns}) != 2:
        raise ValueError(f"columns are two different numbers, such as (2, 3), not {columns}")
    return Corpus(path.name, languages, checked(TSVPairs(Lines(path), columns), skip_malformed))


def from_files(
    source: str | Path, target: str | Path, languages: tuple[str, str] = ("", ""), skip_malformed: bool = False
) -> Corpus:
    """A corpus from two parallel files, one sentence a line: line n of one file translates line n of the other.

    Args:
        source, target: UTF-8 files, plain or gzip.
        languages: of the two files; they choose the rules for spelling and tokens.
        skip_malformed: leave out pairs with an empty or malformed side, with a warning that counts them.

    Raises:
        ValueError: the files differ in length, or a line is empty or malformed (and may not be skipped).
        FileNotFoundError: there is no such file.
    """
    sources, targets = Lines(source), Lines(target)
    if len(sources) != len(targets):
        raise ValueError(
            f"{source} has {len(sources):,} lines and {target} has {len(targets):,}: they must be parallel"
        )
    return Corpus(Path(source).name, languages, checked(ParallelPairs(sources, targets), skip_malformed))


def distinct_sources(pairs: Iterable[Pair], language: str = "") -> set[str]:
    """The distinct source sentences, as tokens joined by spaces. Training and held-out data must not share any."""
    tokenizer = WordTokenizer(language)
    return {" ".join(tokenizer.tokenize(pair.source)) for pair in pairs_in(pairs)}
