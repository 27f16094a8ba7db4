"""The corpus that the options of `seqlearn train` name, and a description from which `seqlearn evaluate` loads it."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

from ..data import corpus as corpora
from ..data.corpus import Corpus, Split
from ..pairs import Pair


class Description(TypedDict):
    """A corpus and its split, as JSON in the configuration of a translator. Paths are absolute."""

    corpus: str
    source: str
    target: str
    data: str
    languages: list[str]
    skip_malformed: bool
    reverse: bool
    pairs: int
    limit: int | None
    held_out: float
    seed: int
    valid: NotRequired[list[str]]  # the user's own files for this part: one TSV file, or a source and a target file
    test: NotRequired[list[str]]
    sha256: NotRequired[dict[str, str]]  # the checksum of each file of the user, by its path


def describe(
    *,
    corpus: str,
    source: str,
    target: str,
    data: str,
    languages: str,
    skip_malformed: bool,
    reverse: bool,
    pairs: int,
    limit: int | None,
    held_out: float,
    seed: int,
    valid: Sequence[str] = ("", "", ""),
    test: Sequence[str] = ("", "", ""),
) -> Description:
    """Describe the corpus that these options of `seqlearn train` name.

    Args:
        valid, test: --valid, --valid-source and --valid-target; and those of the test part.

    Raises:
        ValueError: the options contradict each other.
    """
    if bool(source) != bool(target):
        raise ValueError("--source and --target go together")
    if not re.fullmatch("[A-Za-z]{2,8}-[A-Za-z]{2,8}", languages):
        raise ValueError(f"--languages is two codes with a hyphen, such as en-fr, not {languages!r}")
    if not corpus:
        raise ValueError("--corpus is empty: builtin, fra-eng, or a file")
    return {
        "corpus": corpus if corpus in ("builtin", "fra-eng") else _absolute(corpus),
        "source": _absolute(source),
        "target": _absolute(target),
        "data": _absolute(data),
        "languages": languages.split("-"),
        "skip_malformed": skip_malformed,
        "reverse": reverse,
        "pairs": pairs,
        "limit": limit,
        "held_out": held_out,
        "seed": seed,
        "valid": _own_files("valid", *valid),
        "test": _own_files("test", *test),
    }


def _own_files(part: str, tsv: str, source: str, target: str) -> list[str]:
    if tsv and (source or target):
        raise ValueError(f"--{part} holds both sides: leave out --{part}-source and --{part}-target")
    if bool(source) != bool(target):
        raise ValueError(f"--{part}-source and --{part}-target go together")
    return [_absolute(path) for path in (tsv, source, target) if path]


def _absolute(path: str) -> str:
    return path and os.path.abspath(path)  # links stay: `resolve` gives a pipe (/dev/fd/63) a name that nobody can open


def with_checksums(description: Description) -> Description:
    """The description, with the checksum of each file of the user."""
    names = [description["source"], description["target"]] if description["source"] else [description["corpus"]]
    names = [name for name in names if Path(name).is_file()]
    names += description.get("valid", []) + description.get("test", [])
    checksums = {name: _sha256(name) for name in names}
    return {**description, "sha256": checksums}


def corpus_and_split(description: Description) -> tuple[Corpus, Split]:
    """The corpus and its three parts. A description gives the same parts in training and in `seqlearn evaluate`.

    A part that the user has files for is not drawn from the corpus. Pairs of the corpus that share a source sentence
    with these files are left out, and so are pairs of the user's valid part that share one with the user's test part.
    A warning counts them.

    Raises:
        ValueError: a file has changed since it was described, or a part of the corpus is empty.
    """
    valid, test = _own_part(description, "valid"), _own_part(description, "test")
    corpus = _corpus(description)
    if valid is not None and test is not None:
        valid = _without(valid, test)
    for own in (valid, test):
        corpus = corpus if own is None else _without(corpus, own)
    shares = [description["held_out"] if own is None else 0 for own in (valid, test)]
    drawn = corpus.split(shares[0], shares[1], description["seed"])
    own_parts = {part: own.pairs for part, own in (("valid", valid), ("test", test)) if own is not None}
    split = drawn._replace(**own_parts)
    if not all(split):
        sources = len(corpora.distinct_sources(corpus.pairs, corpus.languages[0]))
        raise ValueError(
            f"{len(corpus):,} pairs with {sources:,} distinct source sentences, each in one part only, leave "
            f"{len(split.train):,} to train on, {len(split.valid):,} to choose with and {len(split.test):,} to score: "
            "give more pairs with other source sentences, or a larger --held-out"
        )
    return corpus, split


def pairs_to_score(description: Description) -> tuple[str, Sequence[Pair]]:
    """The name and the pairs of the test part. Of a test part in files of its own, the corpus is not read.

    Raises:
        ValueError: a file has changed since it was described.
    """
    own = _own_part(description, "test")
    if own is not None:
        return own.name, own.pairs
    corpus, split = corpus_and_split(description)
    return corpus.name, split.test


def _own_part(description: Description, part: Literal["valid", "test"]) -> Corpus | None:
    """The held-out part that the user has files for; None: it is drawn from the corpus."""
    files = description.get(part, [])
    if not files:
        return None
    _check_unchanged(description, files, f"so it is not the {part} part that was kept out of training")
    source_language, target_language = description["languages"]
    options = (source_language, target_language), description["skip_malformed"]
    own = corpora.from_tsv(files[0], *options) if len(files) == 1 else corpora.from_files(files[0], files[1], *options)
    return own.reversed() if description["reverse"] else own


def _without(corpus: Corpus, held_out: Corpus) -> Corpus:
    rest = corpus.without(held_out)
    if left_out := len(corpus) - len(rest):
        warnings.warn(
            f"{left_out:,} of {len(corpus):,} pairs of {corpus.name} are left out, because {held_out.name} has their "
            "source sentences, too",
            stacklevel=3,
        )
    return rest


def _check_unchanged(description: Description, paths: Sequence[str], so: str) -> None:
    for path, checksum in description.get("sha256", {}).items():
        if path in paths and _sha256(path) != checksum:
            raise ValueError(f"{path} has changed since the translator was trained, {so}")


def _corpus(description: Description) -> Corpus:
    paths = [description["source"], description["target"], description["corpus"]]
    _check_unchanged(description, paths, "so the test part may hold training pairs")
    name, skip = description["corpus"], description.get("skip_malformed", False)
    source_language, target_language = description["languages"]
    languages = source_language, target_language
    if description["source"]:
        corpus = corpora.from_files(description["source"], description["target"], languages, skip)
    elif name == "builtin":
        corpus = corpora.builtin(description["pairs"])
    elif name == "fra-eng":
        corpus = corpora.fra_eng(description["data"] or None)
    else:
        corpus = corpora.from_tsv(name, languages, skip)
    if description["limit"]:
        corpus = corpus.limited(description["limit"])
    return corpus.reversed() if description["reverse"] else corpus


def _sha256(path: str) -> str:
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
