"""The data of `RiddleView`: sentences, and what becomes of each translation when one head is ablated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...translator.translator import Translator
from ..shared.arguments import as_text
from ..shared.types import Data
from ..translator.ablation_map import ablation_map


@dataclass(frozen=True)
class Riddle:
    """A sentence, and the word of its translation that depends on one head.

    Args:
        sentence: the source.
        before, after: a token of the translation, and what stands there when the head is found.
        asks: the question, above the heads.
        solved: what the other word means, when the head is found.
    """

    sentence: str
    before: str
    after: str
    asks: str
    solved: str


RIDDLES = (
    Riddle(
        "The cat eats the green apple because it is hungry.",
        "il",
        "elle",
        "Who is hungry? In French, il is the cat, and elle would be the apple. A small Transformer wrote the French. "
        "Ablate one of its 24 attention heads (switch it off), and the apple is hungry. Which one?",
        "Now the apple is hungry: le chat is il, and la pomme is elle.",
    ),
    Riddle(
        "The old bird ate the orange because it was sweet.",
        "elle",
        "il",
        "Who was sweet? In French, elle is the orange, and il would be the bird. Another head decides here. Which one?",
        "Now the bird was sweet: l'oiseau is il, and l'orange is elle.",
    ),
)


def riddle_data(translator: Translator, riddles: Sequence[Riddle]) -> Data:
    """What `RiddleView` draws: each riddle with its ablation map.

    Raises:
        TypeError: `translator` is no `Translator`.
        ValueError: there is no riddle, a translation lacks the word `before`, or no head brings the word `after`.
    """
    if not isinstance(translator, Translator):
        raise TypeError(f"RiddleView asks a Translator, not a {type(translator).__name__}")
    if not riddles:
        raise ValueError("a RiddleView has at least one riddle")
    return {"riddles": [_asked(translator, riddle) for riddle in riddles]}


def _asked(translator: Translator, riddle: Riddle) -> Data:
    found = ablation_map(translator, riddle.sentence)
    tokens = found["base"]["tokens"]
    if riddle.before not in tokens:
        raise ValueError(f"the translation of {riddle.sentence!r} has no token {riddle.before!r}: {' '.join(tokens)}")
    at = tokens.index(riddle.before)
    solutions = [head[:3] for head in found["heads"] if head[3]["tokens"][at : at + 1] == [riddle.after]]
    if not solutions:
        raise ValueError(f"no head brings {riddle.after!r} into the translation of {riddle.sentence!r}")
    texts = {name: as_text(getattr(riddle, name)) for name in ("sentence", "asks", "solved")}
    return texts | {"at": at, "map": found, "solutions": solutions}
