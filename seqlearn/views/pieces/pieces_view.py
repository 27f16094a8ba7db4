"""Byte pair encoding, one join after the other: a few words as pieces, and a word that is typed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import traitlets

from ..shared.arguments import as_text
from ..shared.traits import Whole
from ..shared.types import Proposal
from ..view import View
from .pieces_data import after, pieces_data, vocabulary


class PiecesView(View, folder=Path(__file__).parent):
    """Byte pair encoding (BPE), one join after the other: words fall into letters, and letters become pieces.

    The two neighbours that are joined next are marked in all words. A slider goes on and back, and the learner may type
    a word, to see into which pieces the word falls. The view learns nothing: a list of merges is given, the first one
    first, such as those of `BPETokenizer`. Browser and Python carry the merges out in the same way.

    Args:
        words: the words that are shown.
        merges: `("e", "a")` or "e a" each; "▁" marks where a word begins.
        joins: how many merges are made at first.
        word: a word of the learner; a space in it begins a new word.

    Traits, synced with the browser:
        joins: from 0 to the number of merges.
        word: a text.

    Raises:
        ValueError: there is no word, or a merge has not two pieces.
        traitlets.TraitError: `joins` is out of its bounds.
    """

    caption = "How letters become pieces"

    joins = Whole(0).tag(sync=True)
    word = traitlets.Unicode("").tag(sync=True)

    def __init__(self, words: Iterable[object], merges: Iterable[object], *, joins: int = 0, word: object = ""):
        super().__init__(data=pieces_data(words, merges), joins=joins, word=as_text(word))

    @traitlets.validate("joins")
    def _possible(self, proposal: Proposal) -> int:
        count = len(self.data["merges"])
        if not 0 <= proposal["value"] <= count:
            raise traitlets.TraitError(f"joins is from 0 to {count}, not {proposal['value']}")
        return proposal["value"]

    def pieces(self, word: str) -> list[str]:
        """The pieces of a word after the joins that are made."""
        return after(word, self.data["merges"][: self.joins])

    def vocabulary(self) -> list[str]:
        """The pieces that are known after these joins: the single letters first."""
        return vocabulary(self.data, self.joins)

    def summary(self) -> str:
        """The number of words and of joins."""
        return f"{len(self.data['words'])} words, {self.joins} of {len(self.data['merges'])} joins"
