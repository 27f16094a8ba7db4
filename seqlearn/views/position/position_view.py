"""A table of position vectors: its dimensions, and the rotation that turns one position into another."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
import traitlets
from jaxtyping import Float, Real
from torch import Tensor

from ...nn.positions import BASE
from ..shared.packing import unpack
from ..shared.traits import Whole
from ..shared.types import Proposal
from ..view import View
from .position_data import defaults, position_data, wrong_choice


class PositionView(View, folder=Path(__file__).parent):
    """The table as a heat map, two of its positions, i and j = i + k, and the rotation from i to j.

    A pair of dimensions (sine, cosine) is drawn as the hand of a clock. The hand of j is the hand of i, turned by the
    angle k ω, where ω is the frequency of the pair; the angle is the same for every i. So the matrix
    `seqlearn.nn.positions.rotation(k, size)` turns P[i] into P[i + k]. Vaswani et al. (2017), section 3.5.

    Args:
        table: `(positions, size)`, one row for each position. For a table that differs from the sinusoids of
            `seqlearn.nn.positions`, such as a learned one, the view shows the heat map and the dot products, and no
            rotation.
        start: the position of the first row.
        position, offset, pair: the first values of the traits; default: the first position, offset 2, the fastest pair.
        base: the base of the frequencies.
        tokens: the words at the first positions; default: the rows have only their numbers.

    Traits, synced with the browser:
        position: the i.
        offset: the k, which may be negative.
        pair: the dimensions 2 pair and 2 pair + 1.
    Change several traits at once inside `with view.hold_trait_notifications():`.

    Raises:
        ValueError: the table is not two-dimensional, holds NaN or infinity, or is larger than 512 x 512; or it lacks
            the chosen position, i + k or pair, or is too short for the tokens.
    """

    caption = "Positions as waves"

    position = Whole().tag(sync=True)
    offset = Whole().tag(sync=True)
    pair = Whole().tag(sync=True)

    def __init__(
        self,
        table: Real[Tensor, "..."],
        start: int = 0,
        position: int | None = None,
        offset: int | None = None,
        pair: int = 0,
        base: float = BASE,
        tokens: Iterable[object] | None = None,
    ):
        data = position_data(table, start, base, tokens)
        chosen = defaults(data) | {"pair": pair}
        chosen |= {name: value for name, value in (("position", position), ("offset", offset)) if value is not None}
        if wrong := wrong_choice(data, **chosen):
            raise ValueError(wrong)
        super().__init__(data=data, **chosen)

    @traitlets.validate("position", "offset", "pair")
    def _fits(self, proposal: Proposal) -> int:
        chosen = {"position": self.position, "offset": self.offset, "pair": self.pair}
        if wrong := wrong_choice(self.data, **chosen | {proposal["trait"].name: proposal["value"]}):
            raise traitlets.TraitError(wrong)
        return proposal["value"]

    def rotation(self) -> Float[Tensor, "2 2"] | None:
        """The matrix that turns the chosen pair of P[i] into that of P[i + k]; None if the table is not sinusoidal."""
        if self.data["note"]:
            return None
        turns = unpack(self.data["turns"])  # offsets, pairs, 2
        cosine, sine = turns[self.offset + len(turns) // 2, self.pair].tolist()
        return torch.tensor([[cosine, sine], [-sine, cosine]])

    def products(self) -> Float[Tensor, "positions"]:
        """The dot products of P[i] with the row of every position."""
        return unpack(self.data["products"])[self.position - self.data["start"]]

    def title(self) -> str:
        """The title of a page: the positions, and whether they are sinusoids."""
        start, (positions, size) = self.data["start"], self.data["table"]["shape"]
        kind = "vectors" if self.data["note"] else "sinusoids"
        return f"{self.caption}: positions {start} to {start + positions - 1}, {kind} of size {size}"

    def summary(self) -> str:
        """The shape, and whether the table is sinusoidal."""
        positions, size = self.data["table"]["shape"]
        return f"{positions} positions, size {size}, {'not sinusoidal' if self.data['note'] else 'sinusoidal'}"
