"""A table of positions: what each dimension does, and the rotation that carries one position onto another."""

from __future__ import annotations

import math
from typing import Any

import torch
import traitlets
from jaxtyping import Float, Real
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from torch import Tensor

from ..nn.positions import BASE, frequencies, sinusoids
from .base import View, finite, pack, unpack
from .plots import TRAIN, VALID

CMAP = "RdBu_r"  # white at 0; its blue and red are apart for colour-blind eyes
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
        note = self.record["note"]
        shares = (1.2, 1.1) if note else (1.2, 0.85, 1.1)
        figure = Figure(figsize=(4 * sum(shares), 4.4), layout="constrained")
        panels = figure.subplots(1, len(shares), width_ratios=shares)
        self._draw_map(panels[0])
        self._draw_products(panels[-1])
        if note:
            figure.supxlabel(note, fontsize=10)
        else:
            self._draw_turn(panels[1])
        return figure

    def _draw_map(self, ax: Axes) -> None:
        table, start, limit = unpack(self.record["table"]), self.record["start"], self.record["limit"]
        positions, size = table.shape
        edges = (-0.5, size - 0.5, start + positions - 0.5, start - 0.5)
        how = {"aspect": "auto", "interpolation": "nearest", "vmin": -limit, "vmax": limit, "extent": edges}
        image = ax.imshow(table.numpy(), cmap=CMAP, **how)
        ax.figure.colorbar(image, ax=ax, pad=0.06)
        places = {self.position: "i"} | ({self.position + self.offset: "j"} if self.offset else {})
        for place, name in places.items():
            ax.axhline(place, color="black", linewidth=1)
            ax.annotate(name, (1.01, place), xycoords=("axes fraction", "data"), va="center", annotation_clip=False)
        if not self.record["note"]:
            ax.axvspan(2 * self.pair - 0.5, 2 * self.pair + 1.5, fill=False, linewidth=1.5)
        ax.set(xlabel="dimension", ylabel="position", title=f"table ({positions} × {size})")

    def _draw_turn(self, ax: Axes) -> None:
        table, start, first = unpack(self.record["table"]), self.record["start"], 2 * self.pair
        ax.add_patch(Circle((0, 0), 1, fill=False, color="#8a8a8a"))
        for name, place, color, line in (
            ("i", self.position, TRAIN, "-"),
            ("j", self.position + self.offset, VALID, "--"),
        ):
            sine, cosine = table[place - start, first : first + 2].tolist()
            ax.plot([0, sine], [0, cosine], line, color=color, linewidth=2.5, label=f"{name} = {place}")
            ax.plot([sine], [cosine], "o", color=color)
        angle = self.offset * self.record["frequencies"][self.pair]
        rows = "\n".join("   ".join(f"{number:.3f}".replace("-", "−") for number in row) for row in self.rotation())
        ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", title=f"pair {self.pair}", xticks=[], yticks=[])
        ax.set_xlabel(
            f"dimension {first}: sine\n\nk = {self.offset} turns by {angle:.3g} rad = {math.degrees(angle):.0f}°,\n"
            f"the same for every i. Its matrix:\n{rows}".replace("-", "−")
        )
        ax.set_ylabel(f"dimension {first + 1}: cosine")
        ax.legend(frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.0), fontsize=9)

    def _draw_products(self, ax: Axes) -> None:
        products, first = self.products(), self.record["start"] - self.position
        ax.plot(range(first, first + len(products)), products, color=TRAIN)
        ax.plot([self.offset], [float(products[self.offset - first])], "o", color=VALID, label=f"k = {self.offset}")
        ax.set(xlabel="distance j − i", ylabel="P[i] · P[j]", title=f"dot products with P[{self.position}]")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)


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
