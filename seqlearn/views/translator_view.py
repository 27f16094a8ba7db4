"""Type a sentence: its translation, where the model looks while it writes, and what else it could have said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import traitlets
from matplotlib.figure import Figure

from ..translator import Translator
from .base import View, as_text, offered
from .translations import misplaced, translated, translation_picture

BEAMS = (1, 2, 4, 8)
MOST_BEAMS = 16


class TranslatorView(View, static="attention heads translator_view"):
    """A text box, the translation, the attention of each of its tokens, and the likeliest next tokens at each step.

    Args:
        translator: the model with its two languages; it translates whenever a sentence is sent, in the kernel.
        sentence: the one to start with.
        beam: width of the search, 1 for greedy; the view offers 1, 2, 4 and 8, too.
        chosen, step, locked: what to show first.

    Traits, synced with the browser: `sentence` and `beam`, which translate again; `chosen`, which of the translations
    found, from 0, the best; `step`, the target token that is looked at, from 0; `locked`, what stays marked:
    ["query", i], a target token, whose number is then `step`; ["key", j], a source token, the last of which is <eos>;
    ["pair", i, j]; or None. `result` is what `seqlearn.views.translations.translated` gave, with `problem`: what is
    wrong with the last sentence, or nothing.

    A sentence that cannot be translated (empty, over 100 tokens), typed or set, is no error: the former translation
    stays, and the view says why. To give it to `update` or to make a view of it is one.

    Raises:
        TypeError: there is no `Translator`.
        ValueError: the sentence cannot be translated, or a beam is no whole number from 1 to 16.
    """

    sentence = traitlets.Unicode().tag(sync=True)
    beam = traitlets.Int(1).tag(sync=True)
    chosen = traitlets.Int(min=0).tag(sync=True)
    step = traitlets.Int(min=0).tag(sync=True)
    locked = traitlets.List(allow_none=True, default_value=None).tag(sync=True)
    result = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        translator: Translator,
        sentence: str = "The girl washes the red apple and eats it.",
        beam: int = 1,
        chosen: int = 0,
        step: int = 0,
        locked: Sequence[Any] | None = None,
    ):
        rule = f"a beam is a whole number from 1 to {MOST_BEAMS}"
        beams = offered(int, lambda one: int(one) == one and 1 <= one <= MOST_BEAMS, rule, beam, BEAMS)
        beam = int(beam)
        result = translated(translator, sentence, beam)
        self.translator = translator
        super().__init__(
            record={"beams": beams, "live": True}, result=result, sentence=sentence, beam=beam, chosen=chosen
        )
        self.step = step
        self.locked = locked
        self.observe(self._translate, ["sentence", "beam"])

    def update(self, translator: Translator | None = None, sentence: str | None = None) -> None:
        """Show another translator, another sentence, or both, in the same place."""
        translator = self.translator if translator is None else translator
        sentence = self.result["sentence"] if sentence is None else sentence
        result = translated(translator, sentence, self.beam)
        with self.hold_sync(), self.hold_trait_notifications():
            self.translator, self.sentence = translator, result["sentence"]
            self._show(result)

    @property
    def translation(self) -> str:
        """The translation that is shown."""
        return self.result["best"][self.chosen]["text"]

    def _translate(self, change: object = None) -> None:
        """One search for a message that changes both sentence and beam."""
        if self.result["asked"] == [self.sentence, self.beam]:
            return
        try:
            self._show(translated(self.translator, self.sentence, self.beam))
        except ValueError as error:
            self.result = self.result | {"asked": [self.sentence, self.beam], "problem": str(error)}

    def _show(self, result: dict[str, Any]) -> None:
        """The best translation. If it is the one that was shown, what is marked in it stays."""
        one, other = self.result, result
        same = one["source"] == other["source"] and one["best"][self.chosen]["tokens"] == other["best"][0]["tokens"]
        with self.hold_sync(), self.hold_trait_notifications():
            self.result, self.chosen = result, 0
            if not same:
                self.step, self.locked = 0, None

    @traitlets.observe("chosen")
    def _fit(self, change: object) -> None:
        """Another translation may have fewer tokens."""
        last = len(self.result["best"][self.chosen]["tokens"]) - 1
        with self.hold_sync(), self.hold_trait_notifications():
            if self.step > last:
                self.step, self.locked = last, None

    @traitlets.observe("step")
    def _follow(self, change: object) -> None:
        """What is locked moves with the step,"""
        if self.locked and self.locked[0] != "key" and self.locked[1] != self.step:
            self.locked = [self.locked[0], self.step, *self.locked[2:]]

    @traitlets.observe("locked")
    def _lead(self, change: object) -> None:
        """and the step with what is locked."""
        if self.locked and self.locked[0] != "key":
            self.step = self.locked[1]

    @traitlets.validate("sentence")
    def _text(self, proposal: dict[str, Any]) -> str:
        return as_text(proposal["value"])

    @traitlets.validate("beam", "chosen", "step", "locked")
    def _fits(self, proposal: dict[str, Any]) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        if wrong := misplaced(self.result, self.record["beams"], **{"chosen": self.chosen, name: value}):
            raise traitlets.TraitError(wrong)
        return value

    def page_state(self) -> dict[str, Any]:
        """In a page there is no Python: its text box is only to be read, and shows what was translated last."""
        last = [self.result["sentence"], self.result["beam"]]
        result = self.result | {"asked": last, "problem": ""}
        shown = {"sentence": last[0], "beam": last[1], "result": result, "record": self.record | {"live": False}}
        return super().page_state() | shown

    def summary(self) -> str:
        """The sentence and its translation."""
        texts = (text if len(text) <= 60 else text[:59] + "…" for text in (self.result["sentence"], self.translation))
        return " -> ".join(map(repr, texts))

    def figure(self) -> Figure:
        """The sentence and its translation, the attention (mean of all heads), and the next tokens at this step."""
        return translation_picture(self.result, self.chosen, self.step)
