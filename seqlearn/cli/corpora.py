"""The corpus that the options of `seqlearn train` name, and a description from which `seqlearn evaluate` loads it."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import NotRequired, TypedDict

from ..data import corpus as corpora
from ..data.corpus import Corpus, Split


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
) -> Description:
    """Describe the corpus that these options of `seqlearn train` name.

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
    }


def _absolute(path: str) -> str:
    return path and os.path.abspath(path)  # links stay: `resolve` gives a pipe (/dev/fd/63) a name that nobody can open


def with_checksums(description: Description) -> Description:
    """The description, with the checksum of each file of the user."""
    names = [description["source"], description["target"]] if description["source"] else [description["corpus"]]
    checksums = {name: _sha256(name) for name in names if Path(name).is_file()}
    return {**description, "sha256": checksums}


def corpus_and_split(description: Description) -> tuple[Corpus, Split]:
    """The corpus and its three parts. A description gives the same parts in training and in `seqlearn evaluate`.

    Raises:
        ValueError: a file has changed since it was described, or a part of the corpus is empty.
    """
    corpus = _corpus(description)
    split = corpus.split(description["held_out"], description["held_out"], description["seed"])
    if not all(split):
        sources = len(corpora.distinct_sources(corpus.pairs, corpus.languages[0]))
        raise ValueError(
            f"{len(corpus):,} pairs with {sources:,} distinct source sentences, each in one part only, leave "
            f"{len(split.train):,} to train on, {len(split.valid):,} to choose with and {len(split.test):,} to score: "
            "give more pairs with other source sentences, or a larger --held-out"
        )
    return corpus, split


def _corpus(description: Description) -> Corpus:
    for path, checksum in description.get("sha256", {}).items():
        if _sha256(path) != checksum:
            raise ValueError(
                f"{path} has changed since the translator was trained, so the test part may hold training pairs"
            )
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
