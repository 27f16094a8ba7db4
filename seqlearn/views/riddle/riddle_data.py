"""The data of `RiddleView`: sentences, and what becomes of each translation when one head is ablated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from ...translator.translator import Translator
from ...translator.whatif import Ablate, what_if
from ..answers.ablations import ablation_map
from ..answers.translations import rounded
from ..shared.arguments import as_text
from ..shared.types import Data

LESSON = "11-reading-attention"
"""The lesson that explains what the heads look at."""


@dataclass(frozen=True)
class Riddle:
    """A sentence, and the word of its translation that depends on one head.

    Args:
        sentence: the source.
        before, after: a token of the translation, and what stands there when the head is found.
        asks: the question, above the heads.
        solved: what the other word means, when the head is found.
        word: a word of the source. What does the head that is found look at in the row of this word?
    """

    sentence: str
    before: str
    after: str
    asks: str
    solved: str
    word: str = "it"


RIDDLES = (
    Riddle(
        "The cat eats the green apple because it is hungry.",
        "il",
        "elle",
        "Who is hungry? “Il” is the cat, “elle” would be the apple. A small Transformer wrote the French. It has 24 "
        "attention heads, which look from each word at other words. Switch the right one off (ablate it), and the "
        "apple is hungry. A clue: in this head, “it” looks almost only at the word that says what an apple cannot be.",
        "Now the apple is hungry: le chat is “il”, and la pomme is “elle”.",
    ),
    Riddle(
        "The old bird ate the orange because it was sweet.",
        "elle",
        "il",
        "What was sweet? “Elle” is the orange, “il” would be the bird. Another head decides here: switch it off, and "
        "the bird was sweet. A clue: in this head, “it” looks almost only at what was sweet.",
        "Now the bird was sweet: l'oiseau is “il”, and l'orange is “elle”.",
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
    return {"riddles": [_asked(translator, riddle) for riddle in riddles], "lesson": LESSON}


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
    why = {"word": as_text(riddle.word), "why": [_why(translator, riddle, Ablate(*head)) for head in solutions]}
    return texts | why | {"at": at, "map": found, "solutions": solutions, "looks": _looks(translator, riddle, at)}


def _looks(translator: Translator, riddle: Riddle, at: int) -> Data:
    """Where each head looks from the word that matters, with all heads there: a reason for a guess.

    Returns:
        For each kind of heads the word in whose row it stands, and for each layer and head its key with the largest
        weight, and this weight. The word is that of the riddle; for the decoder the French one before the word in
        question, since the model looks from it while it chooses the next.
    """
    found: Data = {}
    for kind in translator.attention_kinds:
        asked = translator.attend(riddle.sentence, kind=kind)
        queries, keys = (list(map(as_text, tokens)) for tokens in (asked.query_tokens, asked.key_tokens))
        if kind == "encoder" and riddle.word not in queries:
            continue
        row = queries.index(riddle.word) if kind == "encoder" else at
        largest, columns = asked.weights[:, :, row].max(-1)
        pairs = zip(columns.tolist(), largest.tolist(), strict=True)
        heads = [[[keys[i], rounded(weight)] for i, weight in zip(*layer, strict=True)] for layer in pairs]
        found[kind] = {"word": queries[row], "heads": heads}
    return found


def _why(translator: Translator, riddle: Riddle, found: Ablate) -> list | None:
    """In which other head of the encoder the row of the riddle's word changes most when a head is ablated.

    Returns:
        Its name, and its key with the largest weight, with this weight, before and after. None if in no head another
        key gets the largest weight, if the found head is none of the encoder, or the word is none of the sentence.
    """
    if found.kind != "encoder":
        return None
    asked = translator, what_if(translator, edits=[found])
    before, after = (each.attend(riddle.sentence, kind="encoder") for each in asked)
    keys = list(map(as_text, before.key_tokens))
    if riddle.word not in keys:
        return None
    row = keys.index(riddle.word)
    both = [each.weights[:, :, row] for each in (before, after)]
    moved = (both[0] - both[1]).abs().sum(-1) * (both[0].argmax(-1) != both[1].argmax(-1))
    moved[found.layer, found.head] = 0
    if not moved.max() > 0:
        return None
    layer, head = divmod(int(moved.argmax()), moved.shape[1])

    def looks(weights: Tensor) -> list:
        return [keys[int(weights.argmax())], rounded(float(weights.max()))]

    return [f"encoder {layer}.{head}", *(looks(each[layer, head]) for each in both)]
