"""A riddle: which of the attention heads decides a word of a translation?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import traitlets

from ...translator.translator import Translator
from ..shared.traits import Whole
from ..shared.types import Proposal
from ..view import View
from .riddle_data import RIDDLES, Riddle, riddle_data


class RiddleView(View, folder=Path(__file__).parent):
    """A sentence, its translation, and a button for each head: a press shows the translation without this head.

    All translations are computed when the view is made, so that a page needs neither Python nor a model.

    Args:
        translator: of a model with attention. Default: the Transformer that comes with the course.
        riddles: one after the other.

    Traits, synced with the browser:
        riddle: which one is asked, from 0.
        tried: the heads that were pressed, each as "kind layer head", the last one at the end.

    Raises:
        TypeError: `translator` is no `Translator`.
        ValueError: there is no riddle, or one has no answer (`riddle_data`).
    """

    caption = "Which head decides?"

    riddle = Whole(0).tag(sync=True)
    tried = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, translator: Translator | None = None, riddles: Sequence[Riddle] = RIDDLES):
        asked = Translator.pretrained("transformer", "cpu") if translator is None else translator
        super().__init__(data=riddle_data(asked, riddles))

    @traitlets.validate("riddle")
    def _there(self, proposal: Proposal) -> int:
        count = len(self.data["riddles"])
        if not 0 <= proposal["value"] < count:
            raise traitlets.TraitError(f"riddle is 0 to {count - 1}, not {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("tried")
    def _heads(self, proposal: Proposal) -> list[str]:
        heads = {f"{kind} {layer} {head}" for kind, layer, head, _ in self.data["riddles"][0]["map"]["heads"]}
        if unknown := [name for name in proposal["value"] if name not in heads]:
            raise traitlets.TraitError(f"there is no head {unknown[0]!r}")
        return proposal["value"]

    def summary(self) -> str:
        """The sentence."""
        return repr(self.data["riddles"][self.riddle]["sentence"])
