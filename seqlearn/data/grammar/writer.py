"""Writes the built-in corpus: draws a kind of sentence, calls the function that writes one, and keeps new pairs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from ..pairs import Pair
from . import compound_sentences, pronoun_sentences, simple_sentences
from .draft import Draft

PAIRS, MOST = 30_000, 100_000  # pairs of the built-in corpus, and those that one call may ask for
LONGEST = 24  # tokens of a sentence, on either side


class Construction(NamedTuple):
    """A kind of sentence: its name, its share of the corpus in percent, and the function that writes one.

    The function appends a sentence to a draft, all but the punctuation mark, and returns the mark.
    """

    name: str
    share: int
    write: Callable[[Draft], str]


CONSTRUCTIONS = (
    Construction("simple", 17, simple_sentences.simple),
    Construction("question", 9, simple_sentences.question),
    Construction("object-pronoun", 20, pronoun_sentences.object_pronoun),
    Construction("because", 20, pronoun_sentences.because),
    Construction("mood", 4, compound_sentences.mood),
    Construction("two-clauses", 7, compound_sentences.two_clauses),
    Construction("relative", 6, compound_sentences.relative),
    Construction("there-is", 5, simple_sentences.there_is),
    Construction("age", 2, simple_sentences.age),
    Construction("comparison", 4, simple_sentences.comparison),
    Construction("giving", 6, simple_sentences.giving),
)
_WHEEL = [construction for construction in CONSTRUCTIONS for _ in range(construction.share)]  # one for each percent


def write_pair(draft: Draft) -> Pair:
    """Write one sentence, of a construction that the dice of the draft choose."""
    construction = draft.pick(_WHEEL)
    return draft.finish(construction.write(draft), construction.name)


def write_pairs(count: int = PAIRS, seed: int = 0, ambiguous: bool = False) -> list[Pair]:
    """Write English-French pairs, all different, with gold links and the antecedents of their pronouns.

    The same arguments give the same pairs on every platform and with every Python.

    Args:
        count: how many pairs, 1 to 100,000.
        seed: another seed writes other pairs.
        ambiguous: whether French may choose where English does not: "you" is tu or vous (60 : 40), a question uses
            est-ce que or inversion (60 : 40). Then one source may come with several targets. Without it, all sources
            are different, too.

    Raises:
        ValueError: `count` is out of range.
    """
    if not 1 <= count <= MOST:
        raise ValueError(f"count must be between 1 and {MOST}, not {count}")
    roll = random.Random(seed).random
    pairs: dict[tuple[str, str], Pair] = {}
    while len(pairs) < count:
        draft = Draft(roll, ambiguous)
        pair = write_pair(draft)
        if draft.sensible and max(pair.alignment[-1]) < LONGEST:  # the last link is that of the punctuation mark
            pairs.setdefault((pair.source, pair.target if ambiguous else ""), pair)
    return list(pairs.values())
