"""Two sentences that differ in a word: click a vector, and it comes from the other sentence. What becomes of it?"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import traitlets

from ...translator.translator import Translator
from ..answers.patches import patched, side_places
from ..live.weights import in_page, live_model
from ..shared.arguments import as_text
from ..shared.asking import Ask
from ..shared.traits import Whole
from ..shared.types import Data, Proposal
from ..view import View

MOST_WEIGHTS_IN_A_PAGE = 1_000_000  # of a larger model, a map would take minutes in a page


class PatchView(View, folder=Path(__file__).parent):
    """A sentence and its twin, maps of how far each vector of the twin would move a decision, and what patches do.

    Args:
        translator: the model with its two languages.
        sentence, other: they have as many tokens, and the model would write another token for the other sentence at
            some step: a decision.
        decision: the step that the maps are about; default: the last one that is a decision.

    Traits, synced with the browser:
        sentence, other, decision: another value of one of them asks a new question; `decision` may be None.
        patches: the vectors that come from the other sentence, each a place (see `seqlearn.nn.patching.places`) and a
            row, `["encoder 1.3", 8]`.
        result: what `patches.patched` returned. Its `problem` says what is wrong with the question, or is empty.

    Sentences that are typed, or set as traits, and fit no question raise no error: the former answer stays, and the
    view says what is wrong.

    Raises:
        TypeError: `translator` is no `Translator`.
        ValueError: see `patches.patched`.
    """

    caption = "Which vector decides? Swap vectors between two sentences"
    questions: ClassVar = {"result": Ask("patched", ("sentence", "other", "patches", "decision"))}

    sentence = traitlets.Unicode().tag(sync=True)
    other = traitlets.Unicode().tag(sync=True)
    decision = Whole(None, allow_none=True).tag(sync=True)
    patches = traitlets.List().tag(sync=True)
    result = traitlets.Dict().tag(sync=True)

    def __init__(self, translator: Translator, sentence: str, other: str, *, decision: int | None = None):
        result = patched(translator, sentence, other, decision=decision)
        self.translator = translator
        asked = {"sentence": as_text(sentence), "other": as_text(other), "patches": [], "decision": decision}
        super().__init__(data=_about(translator), result=result | {"asked": asked}, **asked)

    def answer_to(self, trait: str, **question: Any) -> Data:  # the parts of the question
        """What the patches change."""
        return patched(self.translator, **question, before=self.result)

    @traitlets.validate("sentence", "other")
    def _text(self, proposal: Proposal) -> str:
        return as_text(proposal["value"])

    @traitlets.validate("patches")
    def _pairs(self, proposal: Proposal) -> list[list]:
        """Each once, as a place and a row from 0."""
        pairs = [list(each) for each in proposal["value"]]
        for each in pairs:
            if not (len(each) == 2 and isinstance(each[0], str) and type(each[1]) is int and each[1] >= 0):
                raise traitlets.TraitError(f"a patch is a place and a row, such as ['encoder 1.3', 8], not {each}")
        return [each for i, each in enumerate(pairs) if each not in pairs[:i]]

    @property
    def translation(self) -> str:
        """The translation with the patches."""
        return "".join(self.result["pieces"][2])

    def page_model(self) -> Data | None:
        """The Transformer, as it is now, if it is small: a map needs hundreds of readings."""
        small = sum(weight.numel() for weight in self.translator.model.parameters()) <= MOST_WEIGHTS_IN_A_PAGE
        return live_model(self.translator) if small else None

    def page_state(self, live: bool = False) -> Data:
        """A page shows what was answered last; without a model in it, nothing can be asked.

        With one, the answer is that of the same weights, unless these translate otherwise.
        """
        result = self.result
        asked = result["asked"]
        if live and not result["problem"]:
            own = patched(in_page(self.translator), **asked) | {"asked": asked}
            result = own if all(own[name] == result[name] for name in ("pieces", "decisions", "words")) else result
        return super().page_state(live) | asked | {"data": self.data | {"live": live}, "result": result}

    def summary(self) -> str:
        """The sentence that was answered last, its translation with the patches, and how many there are."""
        count = len(self.result["patches"])
        patches = "1 patch" if count == 1 else f"{count} patches"
        return f"{self.result['sentence']!r} -> {self.translation!r}, {patches}"


def _about(translator: Translator) -> Data:
    return {"live": True, "places": side_places(translator.model)}
