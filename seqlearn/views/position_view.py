"""A table of positions: what each dimension does, and the rotation that carries one position onto another."""

from __future__ import annotations

import math
from typing import Any

import torch
import traitlets
from jaxtyping import Float, Real
from matplotlib.figure import Figure
from torch import Tensor

from ..nn.positions import BASE, frequencies, sinusoids
from .base import View, finite, pack, unpack
from .pictures import position_picture

MOST = 512  # positions, or dimensions
SAME = 0.01  # how far from the formula a table may be: half precision is


class PositionView(View, static="position_view"):
    """The table as a map, two positions i and j = i + k in it and, for sinusoids, the turn from one to the other.

    A pair of dimensions (sine, cosine) is drawn as the hand of a clock. The hand of j stands k w further than that of
    i, with w the frequency of the pair, whatever i is: `seqlearn.nn.positions.rotation(k, size)` carries P[i] onto
    P[i + k]. Vaswani et al. (2017), section 3.5.

    Args:
        table: `(positions, size)`, one row for each position. Where it differs from the sinusoids of
            `seqlearn.nn.positions`, a learned table for instance, map and dot products are shown, and no rotation.
        start: the position of the first row.
        position, offset, pair: what to show first; default: the first position, 2 further, the fastest pair.
        base: of the frequencies.

    Traits, synced with the browser: `position`, the i; `offset`, the k, which may be negative; `pair`: dimensions
    2 pair and 2 pair + 1. To change two of them at once, do it in `with view.hold_trait_notifications():`.

    Raises:
        ValueError: the table is not two-dimensional, holds NaN or infinity or is larger than 512 x 512; or it has no
            such position, i + k or pair.
    """

    position = traitlets.Int().tag(sync=True)
    offset = traitlets.Int().tag(sync=True)
    pair = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        table: Real[Tensor, "..."],
        start: int = 0,
        position: int | None = None,
        offset: int | None = None,
        pair: int = 0,
        base: float = BASE,
    ):
        record = position_record(table, start, base)
        chosen = defaults(record) | {"pair": pair}
        chosen |= {name: value for name, value in (("position", position), ("offset", offset)) if value is not None}
        if wrong := misplaced(record, **chosen):
            raise ValueError(wrong)
        super().__init__(record=record, **chosen)

    def update(self, table: Real[Tensor, "..."], start: int = 0, base: float = BASE) -> None:
        """Show another table in the same place, at the same positions and pair if it has them."""
        record = position_record(table, start, base)
        chosen = {"position": self.position, "offset": self.offset, "pair": self.pair}
        if misplaced(record, **chosen):
            chosen = defaults(record)
        with self.hold_sync(), self.hold_trait_notifications():
            for name, value in ({"record": record} | chosen).items():
                setattr(self, name, value)

    @traitlets.validate("position", "offset", "pair")
    def _fits(self, proposal: dict[str, Any]) -> int:
        chosen = {"position": self.position, "offset": self.offset, "pair": self.pair}
        if wrong := misplaced(self.record, **chosen | {proposal["trait"].name: proposal["value"]}):
            raise traitlets.TraitError(wrong)
        return proposal["value"]

    def rotation(self) -> Float[Tensor, "2 2"] | None:
        """What carries the chosen pair of P[i] onto that of P[i + k]; None where the table is not sinusoidal."""
        if self.record["note"]:
            return None
        turns = unpack(self.record["turns"])  # offsets, pairs, 2
        cosine, sine = turns[self.offset + len(turns) // 2, self.pair].tolist()
        return torch.tensor([[cosine, sine], [-sine, cosine]])

    def products(self) -> Float[Tensor, "positions"]:
        """The dot products of P[i] with the row of every position."""
        return unpack(self.record["products"])[self.position - self.record["start"]]

    def summary(self) -> str:
        """The shape, and whether the table is that of the formula."""
        positions, size = self.record["table"]["shape"]
        return f"{positions} positions, size {size}, {'not sinusoidal' if self.record['note'] else 'sinusoidal'}"

    def figure(self) -> Figure:
        """The map, the turn and the dot products, side by side."""
        rotation, products = self.rotation(), self.products()
        return position_picture(self.record, self.position, self.offset, self.pair, rotation, products)


def position_record(table: Real[Tensor, "..."], start: int, base: float) -> dict[str, Any]:
    """All that `PositionView` draws, for every position, offset and pair; the arguments are explained there."""
    table = finite("the rows of a table", table, 2).double()
    positions, size = table.shape
    if max(positions, size) > MOST:
        raise ValueError(
            f"a table of {positions} positions x {size} dimensions is too large to be seen, {MOST} x {MOST} is the "
            f"most: give a part of it, such as table[:{MOST}, :{MOST}]"
        )
    if start < 0:
        raise ValueError(f"start is the position of the first row, from 0, not {start}")
    if not 1 < base < math.inf:
        raise ValueError(f"the base of the frequencies is above 1 and finite, not {base}")
    gap = float((table - sinusoids(positions, size, start, base, torch.float64)).abs().max())
    note = "" if gap <= SAME else f"No rotation is shown: this table differs from the sinusoids by up to {gap:.2g}."
    if size == 1:
        note = "No rotation is shown: a table with one dimension has no pair to turn."
    speeds = torch.empty(0) if note else frequencies(size, base)[: size // 2]  # the last of an odd size is alone
    angles = torch.arange(1 - positions, positions).unsqueeze(1) * speeds  # offsets, pairs
    return {
        "table": pack(table),
        "limit": float(table.abs().max()) or 1.0,
        "start": start,
        "note": note,
        "frequencies": speeds.tolist(),
        "turns": None if note else pack(torch.stack([angles.cos(), angles.sin()], dim=-1)),
        "products": pack(table @ table.T),
    }


def defaults(record: dict[str, Any]) -> dict[str, int]:
    """What a view shows first."""
    return {"position": record["start"], "offset": min(2, record["table"]["shape"][0] - 1), "pair": 0}


def misplaced(record: dict[str, Any], position: int, offset: int, pair: int) -> str:
    """What is wrong with these, in one sentence; nothing where the table has them."""
    start, pairs = record["start"], max(1, len(record["frequencies"]))
    last = start + record["table"]["shape"][0] - 1
    if not start <= position <= last:
        return f"there is no position {position}: the table has {start} to {last}"
    if not start <= position + offset <= last:
        return f"offset {offset} leads from position {position} out of the table, which has {start} to {last}"
    return "" if 0 <= pair < pairs else f"there is no pair {pair}: the table has {pairs}, counted from 0"
