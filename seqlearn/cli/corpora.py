"""The corpus that the options of `seqlearn train` name, and a description from which `seqlearn evaluate` loads it."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

from ..data import corpus as corpora
from ..data.corpus import Corpus, Split
from ..data.pairs import Pair
from ..runtime.ownership import naming
from .options import DataOptions, columns_of

FEW = 50  # pairs in a held-out part, below which a warning comes


class Description(TypedDict):
    """A corpus and its split, as JSON in the configuration of a translator. Paths are absolute."""

    corpus: str
    source: str
    target: str
    data: str
    languages: list[str]
    columns: NotRequired[str]  # of the TSV files; empty: the first two
    skip_malformed: bool
    reverse: bool
    pairs: int
    limit: int | None
    held_out: float
    seed: int
    valid: NotRequired[list[str]]  # the user's own files for this part: one TSV file, or a source and a target file
    test: NotRequired[list[str]]
    sha256: NotRequired[dict[str, str]]  # the checksum of each file of the user, by its path


def describe(data: DataOptions, seed: int = 0) -> Description:
    """Describe the corpus that these options of `seqlearn train` name."""
    data = data.anywhere()
    return {
        "corpus": data.corpus,
        "source": data.source,
        "target": data.target,
        "data": data.data,
        "languages": data.languages.split("-"),
        "columns": data.columns,
        "skip_malformed": data.skip_malformed,
        "reverse": data.reverse,
        "pairs": data.pairs,
        "limit": data.limit,
        "held_out": data.held_out,
        "seed": seed,
        "valid": [path for path in (data.valid, data.valid_source, data.valid_target) if path],
        "test": [path for path in (data.test, data.test_source, data.test_target) if path],
    }


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


def warn_of_few(split: Split) -> None:
    """Warn if a held-out part is so small that its loss or its scores say little."""
    for part, count, so in (
        ("valid", len(split.valid), "chance has a say in which epoch is the best"),
        ("test", len(split.test), "the scores of `seqlearn evaluate` will say little"),
    ):
        if count < FEW:
            warnings.warn(
                f"the {part} part has {count} pair{'s' * (count != 1)}, fewer than {FEW}, so {so}: give more pairs, a "
                f"larger --held-out, or a file of your own with --{part}",
                stacklevel=2,
            )


def pairs_to_score(description: Description) -> tuple[str, Sequence[Pair]]:
    """The name and the pairs of the test part. If the test part has files of its own, the corpus is not read.

    Raises:
        ValueError: a file has changed since it was described, or is a pipe, which can be read only once.
    """
    named = [description["corpus"], description["source"], description["target"]]
    for path in [*named, *description.get("valid", []), *description.get("test", [])]:
        if path not in ("", "builtin", "fra-eng") and Path(path).exists() and not Path(path).is_file():
            raise ValueError(
                f"{path}, with which the translator was trained, is not a file: the test part cannot be read"
            )
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
    if len(files) > 2:
        raise ValueError(f"a {part} part is in one file or in two, not in {len(files)}: {', '.join(files)}")
    _check_unchanged(description, files, f"so it is not the {part} part that was kept out of training")
    source_language, target_language = description["languages"]
    options = (source_language, target_language), description["skip_malformed"]
    if len(files) == 1:
        own = corpora.from_tsv(files[0], *options, columns_of(description.get("columns")))
    else:
        own = corpora.from_files(files[0], files[1], *options)
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
        corpus = corpora.from_tsv(name, languages, skip, columns_of(description.get("columns")))
    if description["limit"]:
        corpus = corpus.limited(description["limit"])
    return corpus.reversed() if description["reverse"] else corpus


def _sha256(path: str) -> str:
    if Path(path).exists() and not Path(path).is_file():
        raise ValueError(f"{path} is not a plain file: what is held out is read more than once, so save it in a file")
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    with naming(path), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
