"""Type a sentence: its translation, where the model looks at each step, and what else it could have written."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import traitlets

from ...translator import DEFAULT_BEAM
from ...translator.translator import Translator
from ...translator.whatif import change_of
from ..answers.ablations import ablation_map
from ..answers.known import about, glosses, gold_of, golds, opening
from ..answers.translations import translated
from ..live.weights import in_page, live_model
from ..shared.arguments import as_text, offered
from ..shared.asking import Ask
from ..shared.traits import Whole
from ..shared.types import Data, Lock, Proposal
from ..view import View
from .translator_data import wrong_choice

BEAMS = (1, 2, 4, 8)
MOST_BEAMS = 16


class TranslatorView(View, folder=Path(__file__).parent):
    """A text box, the translation, the attention of each of its tokens, and the likeliest next tokens at each step.

    Args:
        translator: the model with its two languages; the kernel translates every sentence that is sent.
        sentence: the first sentence. Default: that of the course if the translator knows its words, else frequent words
            of the source language.
        beam: the width of the search, 1 for greedy search; the view also offers 1, 2, 4 and 8.
        chosen, step, locked: the first values of the traits.
        simple: for a first look: no heads to ablate, and an English word for each French word of the built-in corpus.

    Traits, synced with the browser:
        sentence, beam: another value of either starts a new search.
        prefix, edits: what if the translation began with these tokens, and the attention were edited? See
            `seqlearn.translator.whatif.what_if`. Another value of either starts a new search.
        links: whether the true links are shown, for a sentence of the built-in corpus.
        chosen: which of the translations, from 0, the best.
        step: the target token that is explained, from 0.
        locked: what stays marked: ["query", i], a target token (then `step` is i); ["key", j], a source token (the last
            one is <eos>); ["pair", i, j]; or None.
        mapped: [sentence, prefix, edits], for which the browser wants to know what each head does, or empty; and
            ablations: what `ablation_map` returned.
        result: what `translations.translated` returned. Its `problem` says what is wrong with the
            sentence, or is empty.

    A sentence that cannot be translated (empty, or over 100 tokens) raises an error in the constructor.
    Typed, or set as a trait, the sentence raises none: the former translation stays, and the view says what is wrong.

    Raises:
        TypeError: `translator` is no `Translator`.
        ValueError: the sentence cannot be translated, or the beam is no whole number from 1 to 16.
    """

    caption = "Type a sentence, and see where its translation comes from"
    questions: ClassVar = {
        "result": Ask("translated", ("sentence", "beam", "prefix", "edits")),
        "ablations": Ask("ablations", ("sentence", "prefix", "edits"), of="mapped"),
    }

    sentence = traitlets.Unicode().tag(sync=True)
    beam = Whole(DEFAULT_BEAM).tag(sync=True)
    prefix = traitlets.List(traitlets.Unicode()).tag(sync=True)
    edits = traitlets.List().tag(sync=True)
    links = traitlets.Bool(False).tag(sync=True)
    chosen = Whole(min=0).tag(sync=True)
    step = Whole(min=0).tag(sync=True)
    locked = traitlets.List(allow_none=True, default_value=None).tag(sync=True)
    mapped = traitlets.List().tag(sync=True)
    ablations = traitlets.Dict().tag(sync=True)
    result = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        translator: Translator,
        sentence: str | None = None,
        beam: int = DEFAULT_BEAM,
        chosen: int = 0,
        step: int = 0,
        locked: Lock | None = None,
        simple: bool = False,
    ):
        rule = f"a beam is a whole number from 1 to {MOST_BEAMS}"
        beams = offered(int, lambda one: int(one) == one and 1 <= one <= MOST_BEAMS, rule, beam, BEAMS)
        beam = int(beam)
        sentence = opening(translator) if sentence is None else sentence
        result = translated(translator, sentence, beam)
        self.translator = translator
        data = {"beams": beams, **about(translator)} | ({"gloss": glosses(translator)} if simple else {})
        asked = {name: result[name] for name in self.questions["result"].parts}
        super().__init__(data=data, result=result | {"asked": asked}, sentence=sentence, beam=beam, chosen=chosen)
        self.step = step
        self.locked = locked

    @property
    def translation(self) -> str:
        """The translation that is shown."""
        return self.result["best"][self.chosen]["text"]

    def answer_to(self, trait: str, **question: Any) -> Data:  # the parts of the question
        """Search; or ablate each head alone."""
        if trait == "ablations":
            return ablation_map(self.translator, **question)
        return translated(self.translator, **question, links=self.links)

    def refuse(self, trait: str, question: Data, error: Exception) -> None:
        """Nothing is said of a map: what is wrong with its sentence is said of the translation."""
        if trait == "result" or not isinstance(error, ValueError):
            super().refuse(trait, question, error)

    @traitlets.observe("links")
    def _look_up(self, change: object) -> None:
        """Look up what is known of the sentence."""
        if self.links and "gold" not in self.result:
            known: Data = {"gold": gold_of(self.translator, self.result["sentence"])}
            self.result = self.result | known

    def take(self, trait: str, answer: Data) -> None:
        """Show the best translation. The marks stay if it was shown before, and the step as far as it says the same; a
        cell that is kept stays up to the first token that is another.
        """
        if trait != "result":
            return super().take(trait, answer)
        before, after = self.result["best"][self.chosen]["tokens"], answer["best"][0]["tokens"]
        same = self.result["source"] == answer["source"] and before == after
        forced = self.result["prefix"] != answer["prefix"] and len(answer["prefix"])
        split = next((i for i, pair in enumerate(zip(before, after, strict=False)) if len(set(pair)) > 1), len(after))
        step = forced - 1 if forced else min(self.step, split)
        if self.locked and self.locked[0] == "pair" and self.result["source"] == answer["source"] and not forced:
            wrong = wrong_choice(answer, self.data["beams"], 0, locked=self.locked)
            same = same or (self.locked[1] <= split and not wrong)
        with self.hold_sync(), self.hold_trait_notifications():
            self.result, self.chosen = answer, 0
            if not same:
                self.step, self.locked = min(step, len(after) - 1), None

    @traitlets.observe("chosen")
    def _fit(self, change: object) -> None:
        """Adapt the step to a translation that may have fewer tokens."""
        last = len(self.result["best"][self.chosen]["tokens"]) - 1
        with self.hold_sync(), self.hold_trait_notifications():
            if self.step > last:
                self.step, self.locked = last, None
            elif wrong_choice(self.result, self.data["beams"], self.chosen, self.beam, locked=self.locked):
                self.locked = None  # another translation of a decoder-only model has other columns

    @traitlets.observe("step")
    def _follow(self, change: object) -> None:
        """A locked target token moves with the step."""
        if self.locked and self.locked[0] != "key" and self.locked[1] != self.step:
            self.locked = [self.locked[0], self.step, *self.locked[2:]]

    @traitlets.observe("locked")
    def _lead(self, change: object) -> None:
        """The step moves with a locked target token."""
        if self.locked and self.locked[0] != "key":
            self.step = self.locked[1]

    @traitlets.validate("sentence")
    def _text(self, proposal: Proposal) -> str:
        return as_text(proposal["value"])

    @traitlets.validate("edits")
    def _changes(self, proposal: Proposal) -> list[list]:
        return [change_of(each).as_list() for each in proposal["value"]]

    @traitlets.validate("beam", "chosen", "step", "locked")
    def _fits(self, proposal: Proposal) -> object:
        name, value = proposal["trait"].name, proposal["value"]
        if wrong := wrong_choice(self.result, self.data["beams"], **{"chosen": self.chosen, name: value}):
            raise traitlets.TraitError(wrong)
        return value

    def page_model(self) -> Data | None:
        """The Transformer, as it is now; other models do not run in a page."""
        return live_model(self.translator)

    def page_state(self, live: bool = False) -> Data:
        """A page shows what was translated last; without a model in it, its text box is read-only. With one, the answer
        is that of the same weights, unless these translate otherwise.

        A page has the true links of the examples; and those of the whole valid part, if the view shows links.
        """
        known = golds(self.translator, self.links) if live else {}
        data = self.data | {"live": live, "links": bool(known)} | ({"golds": known} if known else {})
        last = self._last()
        if live:
            own = translated(in_page(self.translator), **last["result"]["asked"], links="gold" in last["result"])
            texts = [[one["tokens"] for one in each["best"]] for each in (own, last["result"])]
            if texts[0] == texts[1]:
                last["result"] = own | {"asked": last["result"]["asked"]}
        return super().page_state(live) | last | {"data": data}

    def title(self) -> str:
        """The sentence and its translation."""
        return f"“{self.result['sentence']}” → “{self.translation}”"

    def _last(self) -> Data:
        """The traits of the question that was answered last."""
        asked = {name: self.result[name] for name in self.questions["result"].parts}
        return asked | {"result": self.result | {"asked": asked, "problem": ""}}

    def summary(self) -> str:
        """The sentence and its translation."""
        texts = (text if len(text) <= 60 else text[:59] + "…" for text in (self.result["sentence"], self.translation))
        return " -> ".join(map(repr, texts))
