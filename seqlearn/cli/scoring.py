"""What `seqlearn evaluate` scores, and how it reports the scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.download import fra_eng_file
from ..data.pairs import Pair
from ..runtime.ownership import write
from .corpora import Description, describe, pairs_to_score
from .lines import on_one_line
from .options import DataOptions, columns_of
from .search import DEFAULT_PENALTY, check_characters, check_tokens

if TYPE_CHECKING:
    from ..translator.scores import Scores
    from ..translator.translator import Translator

ADVICE = "give --source and --target, or --tsv"


@dataclass(frozen=True)
class ToScore:
    """Pairs to score.

    Args:
        name: of their corpus.
        pairs: with references as targets.
        what: "pairs" or "held-out pairs".
        where: the beginning of "file, line n", for errors.
        files: of the user, that were read.
    """

    name: str
    pairs: Sequence[Pair]
    what: str
    where: str
    files: Sequence[Path] = ()


def check_files(source: Path | None, target: Path | None, tsv: Path | None, columns: str = "") -> None:
    """Refuse options that contradict each other, before any work.

    Raises:
        ValueError: --source without --target, or --tsv together with them, or --columns without --tsv.
    """
    if (source is None) != (target is None):
        raise ValueError("--source and --target go together")
    if source and tsv:
        raise ValueError("--tsv holds both sides: leave out --source and --target")
    if columns_of(columns) and not tsv:
        raise ValueError("--columns is for --tsv: leave it out")


def to_score(
    translator: Translator, folder: Path, source: Path | None, target: Path | None, tsv: Path | None, columns: str = ""
) -> ToScore:
    """The pairs of the user's files, or the test part of the corpus that the translator was trained on.

    Raises:
        ValueError: a file is malformed; or there are no files, and the configuration describes no corpus.
        FileNotFoundError: there is no such file.
    """
    from ..data import corpus as corpora

    languages = translator.source.tokenizer.language, translator.target.tokenizer.language
    if source and target:
        own = corpora.from_files(source, target, languages)
    elif tsv:
        own = corpora.from_tsv(tsv, languages, columns=columns_of(columns))
    else:
        return _held_out(translator.config, folder)
    return ToScore(own.name, own.pairs, "pairs", f"{source or tsv}, line")


def _held_out(config: dict, folder: Path) -> ToScore:
    from ..data.corpus import TATOEBA, tatoeba_test

    if config.get("corpus") == "tatoeba":
        return ToScore("tatoeba", tatoeba_test().pairs, "held-out pairs", f"{TATOEBA}, line", [TATOEBA])
    try:
        description = _description(config, folder)
        corpus, pairs = pairs_to_score(description)
        files = [Path(name) for name in description.get("sha256", {})]
        if description["corpus"] == "fra-eng" and not description["source"]:
            files.append(fra_eng_file(description["data"] or None))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the configuration in {folder} does not describe a corpus ({error!r}): {ADVICE}") from None
    return ToScore(corpus, pairs, "held-out pairs", f"the test part of {corpus}, pair", files)


def _description(config: dict, folder: Path) -> Description:
    """The description in the configuration. The course's own models only say `corpus: builtin`, split as by default."""
    if "data" in config:
        if len(config["data"]["languages"]) != 2:
            raise TypeError("languages are two codes")
        return config["data"]
    if config.get("corpus") != "builtin":
        raise ValueError(f"{folder} does not say what it was trained on: {ADVICE}")
    return describe(DataOptions())


def refuse_long_lines(translator: Translator, chosen: ToScore, max_source: int) -> None:
    """Refuse pairs with a source of more than `max_source` tokens.

    Raises:
        ValueError: there is such a pair. The message names its line.
    """
    for number, pair in enumerate(chosen.pairs, 1):
        where = f"{chosen.where} {number}"
        check_characters(pair.source, where, max_source)
        check_tokens(len(translator.source.tokenizer.tokenize(pair.source)), where, max_source)


def write_lines(path: Path, texts: Iterable[str], check: Callable[[], None]) -> None:
    """Write texts to a UTF-8 file, one a line. `check`: see `seqlearn.runtime.ownership.replacing`."""
    write(path, "".join(on_one_line(text) + "\n" for text in texts), check)


def as_json(scores: Scores, chosen: ToScore, beam: int, length_penalty: str | None) -> str:
    """The scores as one JSON object, with the names that `scores.json` of the course's models has.

    Greedy search has no length penalty: it is null then.
    """
    shown = {
        "corpus": chosen.name,
        "pairs": scores.pairs,
        "beam": beam,
        "length_penalty": None if beam == 1 else length_penalty or DEFAULT_PENALTY,
        "bleu": scores.bleu.score,
        "bleu_signature": scores.bleu.signature,
        "chrf": scores.chrf.score,
        "chrf_signature": scores.chrf.signature,
        "perplexity": scores.perplexity,
        "exact": scores.exact,
        "aer": scores.aer,
    }
    return json.dumps(shown, indent=2, ensure_ascii=False, allow_nan=False)
