"""Softmax with a mask: a slider for each score, a switch for each key, and the attention weights as bars."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
import traitlets
from jaxtyping import Bool, Float, Real
from torch import Tensor

from ...nn.masking import masked_softmax
from ..shared.traits import Finite
from ..shared.types import Proposal
from ..view import View
from .softmax_data import softmax_data

MASKINGS = ("score −∞, then softmax", "score 0, then softmax", "softmax, then weight 0")


class SoftmaxView(View, folder=Path(__file__).parent):
    """The attention weights of one query: each key has a slider for its score, and a switch: may the key be attended?

    The browser computes the weights itself, so that the view also works without Python. `weights()` gives the same
    weights; the right ones are those of `masked_softmax`. The two wrong ways to mask can be chosen, too.

    Args:
        scores: `(keys,)`, the score of each key.
        tokens: what stands beside the sliders; default: k0, k1 ...
        mask: `(keys,)`, True where a key may be attended; default: everywhere.
        masking: one of `MASKINGS`; the first one is right.

    Traits, synced with the browser:
        scores: a list of numbers.
        mask: a list of bools.
        masking: one of `MASKINGS`.

    Raises:
        ValueError: shapes that do not fit, NaN or infinity.
    """

    caption = "Scores become attention weights"

    scores = traitlets.List(Finite()).tag(sync=True)
    mask = traitlets.List(traitlets.Bool()).tag(sync=True)
    masking = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        scores: Real[Tensor, "..."],
        tokens: Iterable[object] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        masking: str = MASKINGS[0],
    ):
        data, state = softmax_data(scores, tokens, mask)
        super().__init__(data=data | {"maskings": list(MASKINGS)}, masking=masking, **state)

    @traitlets.validate("masking")
    def _known(self, proposal: Proposal) -> str:
        if proposal["value"] not in MASKINGS:
            raise traitlets.TraitError(f"masking is one of {MASKINGS}, not {proposal['value']!r}")
        return proposal["value"]

    @traitlets.validate("scores", "mask")
    def _fits(self, proposal: Proposal) -> list[float] | list[bool]:
        count, value = len(self.data["tokens"]), proposal["value"]
        if len(value) != count:
            raise traitlets.TraitError(f"{proposal['trait'].name} has {count} values, not {len(value)}")
        return value

    def weights(self) -> Float[Tensor, "keys"]:
        """The attention weights that are shown."""
        scores, mask = torch.tensor(self.scores, dtype=torch.float64), torch.tensor(self.mask)
        if self.masking == MASKINGS[1]:
            return (scores * mask).softmax(0)
        if self.masking == MASKINGS[2]:
            return scores.softmax(0) * mask
        return masked_softmax(scores[None], mask[None])[0]

    def title(self) -> str:
        """The title of a page: the first keys."""
        return f"{self.caption}: {' '.join(self.data['tokens'][:8])}"

    def summary(self) -> str:
        """The number of keys, of those that are masked, and the way of masking."""
        return f"{len(self.mask)} keys, {self.mask.count(False)} masked, {self.masking}"
