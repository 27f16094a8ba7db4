"""How the next token is drawn: temperature, top-k and top-p, and the distribution that they leave."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import traitlets
from jaxtyping import Float, Real
from torch import Tensor

from ...search.sampling import next_distribution
from ...translator.translator import Translator
from ..answers.samples import Write, drawn_sentences, first_logits
from ..live.weights import live_model
from ..shared.arguments import as_text
from ..shared.asking import Ask
from ..shared.packing import unpack
from ..shared.traits import Finite, Whole
from ..shared.types import Data, Proposal
from ..view import View
from .sampling_data import check_setting, sampling_data


class SamplingView(View, folder=Path(__file__).parent):
    """The distribution from which the next token is drawn, with sliders for temperature, top-k and top-p.

    The likeliest tokens have a bar each, and all others have one bar together. An outline stays where the probability
    was at temperature 1, before any token was removed. Buttons draw tokens: each is a brick in the pile below the bar
    of its token, so that the shares of many draws can be compared with the probabilities.

    `SamplingView.of(translator, sentence)` also draws five whole sentences, one token after the other. The kernel draws
    them; in a page the model does, if it is a Transformer of this package. In a page with another model there are the
    sentences that Python drew last, with the settings that they were drawn with.

    The browser computes the distribution of the next token itself, so that this part also works without Python.
    `probabilities()` gives the same numbers: those of `next_distribution`. A slider that moves changes what is drawn
    from the same random numbers.

    Args:
        logits: `(vocabulary,)`, the logits of the next token.
        tokens: the name of each token of the vocabulary.
        temperature, top_k, top_p: see `next_distribution`.
        shown: how many tokens have a bar of their own.
        write: the function that draws sentences, of a seed, the temperature, top-k and top-p; it returns tuples of a
            text and a probability. None: the view draws single tokens alone.
        seed: the first value of the trait.

    Traits, synced with the browser:
        temperature: above 0 and finite.
        top_k: at least 1, or None: all.
        top_p: above 0, at most 1, or None: all.
        seed: the random numbers of the sentences; None: no sentence is drawn.
        written: the sentences that were drawn last, with what was `asked`. Its
            `problem` says why none could be drawn, or is empty.

    Raises:
        ValueError: shapes that do not fit, NaN or infinity, or `shown` is below 1.
        traitlets.TraitError: temperature, top_k or top_p is out of its bounds.
    """

    caption = "How the next token is drawn"
    questions: ClassVar = {
        "written": Ask(
            "sampled", ("seed", "temperature", "top_k", "top_p"), when=("writes", "seed"), blank={"sentences": []}
        )
    }

    temperature = Finite(1.0).tag(sync=True)
    top_k = Whole(None, allow_none=True).tag(sync=True)
    top_p = Finite(None, allow_none=True).tag(sync=True)
    seed = Whole(None, allow_none=True, min=0).tag(sync=True)
    written = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        logits: Real[Tensor, "..."],
        tokens: Iterable[object],
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        shown: int = 8,
        write: Write | None = None,
        seed: int | None = None,
    ):
        self._write, self._translator = write, None
        data = sampling_data(logits, tokens, shown) | {"source": None, "writes": write is not None}
        super().__init__(data=data, temperature=temperature, top_k=top_k, top_p=top_p)
        self.seed = seed

    @classmethod
    def of(
        cls,
        translator: Translator,
        sentence: str,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        shown: int = 8,
        seed: int | None = None,
    ) -> SamplingView:
        """The first token of a sentence's translation, and whole translations that are drawn. The sentence may be
        empty: a model that was trained so then writes what it likes.
        """
        logits, tokens = first_logits(translator, sentence), translator.target.vocab.tokens
        write = partial(drawn_sentences, translator, sentence)
        settings: Data = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "shown": shown, "seed": seed}
        view = cls(logits, tokens, write=write, **settings)
        view._translator, view.data = translator, view.data | {"source": as_text(sentence)}
        return view

    def answer_to(self, trait: str, **question: Any) -> Data:  # the parts of the question
        """Sentences that are drawn."""
        assert self._write is not None  # see `questions`
        drawn = self._write(*question.values())
        return {"sentences": [[as_text(text), float(f"{probability:.5g}")] for text, probability in drawn]}

    @traitlets.validate("temperature", "top_k", "top_p")
    def _allowed(self, proposal: Proposal) -> float | None:
        try:
            check_setting(proposal["trait"].name, proposal["value"])
        except ValueError as wrong:
            raise traitlets.TraitError(str(wrong)) from None
        return proposal["value"]

    def page_model(self) -> Data | None:
        """The Transformer that draws sentences in a page; None for other models, and without a translator."""
        return None if self._translator is None else live_model(self._translator)

    def page_state(self, live: bool = False) -> Data:
        """Without a model in it, a page has the sentences that Python drew last."""
        return super().page_state(live) | {"data": self.data | {"writes": live}}

    def probabilities(self) -> Float[Tensor, "vocab"]:
        """The distribution that is shown: the probability of each token of the vocabulary."""
        return next_distribution(unpack(self.data["logits"]), self.temperature, self.top_k, self.top_p)

    def summary(self) -> str:
        """The number of tokens, and what the sliders say."""
        return f"{len(self.data['tokens'])} tokens, {self._settings()}"

    def _settings(self) -> str:
        cuts = {"top-k": self.top_k, "top-p": self.top_p}
        named = [f"{name} {value:g}" for name, value in cuts.items() if value is not None]
        return ", ".join([f"temperature {self.temperature:g}", *named])
