"""How the next token is drawn: temperature, top-k and top-p, and the distribution that they leave."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import traitlets
from jaxtyping import Float, Real
from matplotlib.figure import Figure
from torch import Tensor

from ...search.sampling import next_distribution
from ..shared.packing import unpack
from ..shared.types import Proposal
from ..shared.view import View
from .sampling_data import check_setting, sampling_data
from .sampling_picture import sampling_picture


class SamplingView(View, folder=Path(__file__).parent):
    """The distribution from which the next token is drawn, with sliders for temperature, top-k and top-p.

    The likeliest tokens have a bar each, and all others have one bar together. An outline stays where the probability
    was at temperature 1, before any token was removed. A button draws 20 tokens.

    The browser computes the distribution itself, so that the view also works without Python. `probabilities()` gives
    the same numbers: those of `next_distribution`.

    Args:
        logits: `(vocabulary,)`, the logits of the next token.
        tokens: the name of each token of the vocabulary.
        temperature, top_k, top_p: see `next_distribution`.
        shown: how many tokens have a bar of their own.

    Traits, synced with the browser:
        temperature: above 0 and finite.
        top_k: at least 1, or None: all.
        top_p: above 0, at most 1, or None: all.

    Raises:
        ValueError: shapes that do not fit, NaN or infinity, or `shown` is below 1.
        traitlets.TraitError: temperature, top_k or top_p is out of its bounds.
    """

    caption = "How the next token is drawn"

    temperature = traitlets.Float(1.0).tag(sync=True)
    top_k = traitlets.Int(None, allow_none=True).tag(sync=True)
    top_p = traitlets.Float(None, allow_none=True).tag(sync=True)

    def __init__(
        self,
        logits: Real[Tensor, "..."],
        tokens: Iterable[object],
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        shown: int = 15,
    ):
        data = sampling_data(logits, tokens, shown)
        super().__init__(data=data, temperature=temperature, top_k=top_k, top_p=top_p)

    def update(self, logits: Real[Tensor, "..."], tokens: Iterable[object], shown: int = 15) -> None:
        """Show other logits in the same view, with the same temperature, top-k and top-p."""
        self.data = sampling_data(logits, tokens, shown)

    @traitlets.validate("temperature", "top_k", "top_p")
    def _allowed(self, proposal: Proposal) -> float | None:
        try:
            check_setting(proposal["trait"].name, proposal["value"])
        except ValueError as wrong:
            raise traitlets.TraitError(str(wrong)) from None
        return proposal["value"]

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

    def figure(self) -> Figure:
        """The probabilities as bars, with an outline of those at temperature 1."""
        before = next_distribution(unpack(self.data["logits"]))
        tokens, shown = self.data["tokens"], self.data["shown"]
        return sampling_picture(tokens, shown, self.probabilities(), before, self._settings())
