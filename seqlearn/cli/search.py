"""The options of search, which `translate` and `evaluate` share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

if TYPE_CHECKING:
    from ..search.hypotheses import LengthPenalty

SEARCH = "Search"  # the heading in the help
DEFAULT_PENALTY, MOST_ALPHA = "0.6", 10.0  # the default is that of `seqlearn.search.lengths.gnmt`
COLUMNS = "The columns with source and target, such as 2,3,"  # the beginning of a help
MAX_SOURCE = 1000
MOST_CHARACTERS = 100  # for each token that --max-source allows: longer texts are not even tokenized

Beam = Annotated[int, typer.Option(min=1, help="Width of the beam; 1 is greedy search.", rich_help_panel=SEARCH)]
Penalty = Annotated[
    str | None,
    typer.Option(
        help="How a beam compares hypotheses of different lengths: alpha of GNMT's penalty ((5 + length) / 6)^alpha "
        "(0: no penalty), or the word average, for the mean log-probability of a token.",
        show_default=DEFAULT_PENALTY,
        rich_help_panel=SEARCH,
    ),
]
MaxLength = Annotated[
    int | None,
    typer.Option(
        min=1, help="The most tokens of a translation.", show_default="twice the source + 10", rich_help_panel=SEARCH
    ),
]
MaxSource = Annotated[
    int,
    typer.Option(
        min=1, help="Refuse lines with more tokens: a translator is made for sentences.", rich_help_panel=SEARCH
    ),
]
BatchSize = Annotated[int, typer.Option(min=1, help="Sentences in a batch.", rich_help_panel=SEARCH)]


class SearchOptions(TypedDict):
    """Options of `Translator.search`."""

    beam: int
    length_penalty: LengthPenalty | None
    max_length: int | None


def search_options(beam: int, length_penalty: str | None, max_length: int | None) -> SearchOptions:
    """The options of `Translator.search` that these options of the command line name.

    Raises:
        ValueError: there is no such length penalty, or no beam for it.
    """
    if length_penalty is not None and beam == 1:
        raise ValueError("--length-penalty needs a beam: greedy search has one hypothesis only; add --beam 4")
    return {"beam": beam, "length_penalty": _penalty(length_penalty), "max_length": max_length}


def _penalty(word: str | None) -> LengthPenalty | None:
    if word is None:
        return None
    try:
        alpha = math.nan if word == "average" else float(word)
    except ValueError:
        alpha = math.inf
    if word != "average" and not 0 <= alpha <= MOST_ALPHA:
        raise ValueError(f"--length-penalty is a number from 0 to {MOST_ALPHA:g}, or average, not {word!r}")
    from ..search.lengths import gnmt, length_average

    return length_average if word == "average" else gnmt(alpha)


def check_characters(text: str, where: str, max_source: int) -> None:
    """Refuse a text that is far too long even before it is split into tokens.

    Args:
        where: the text stands: its file and line, for the error.
        max_source: the most tokens that a source may have.

    Raises:
        ValueError: the text has more than `MOST_CHARACTERS` for each of these tokens.
    """
    if len(text) > MOST_CHARACTERS * max_source:
        raise ValueError(
            f"{where}: {len(text):,} characters, and --max-source {max_source} allows {MOST_CHARACTERS} for each "
            "token; split the text into sentences"
        )


def check_tokens(count: int, where: str, max_source: int) -> None:
    """Refuse a source that has too many tokens. Args: see `check_characters`.

    Raises:
        ValueError: it has more than `max_source` tokens.
    """
    if count > max_source:
        raise ValueError(
            f"{where}: {count:,} tokens, more than --max-source {max_source}; split the text into sentences, or give "
            "a larger --max-source and be patient"
        )
