"""The picture of `PositionView`: the table, the rotation of a pair, and the dot products."""

from __future__ import annotations

import math

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from torch import Tensor

from ..shared.axes import COLUMN, figure_of, signed
from ..shared.colours import BLUE_RED, TRAIN, VALID
from ..shared.fonts import any_script
from ..shared.packing import unpack
from ..shared.types import Data, Style

EDGE = "#8a8a8a"


@any_script
def position_picture(
    data: Data,
    position: int,
    offset: int,
    pair: int,
    rotation: Float[Tensor, "2 2"] | None,
    products: Float[Tensor, "positions"],
) -> Figure:
    """The table as a heat map, the rotation of a pair (if there is one) and the dot products, side by side."""
    shares = (1.2, 1.1) if rotation is None else (1.2, 0.85, 1.1)
    figure = Figure(figsize=(COLUMN if len(shares) > 2 else 8, 4.2), layout="constrained")
    panels = figure.subplots(1, len(shares), width_ratios=shares)
    _table(panels[0], data, {position + offset: "j"} | {position: "i"} if offset else {position: "i = j"})
    if rotation is None:
        figure.supxlabel(data["note"], fontsize=10)
    else:
        panels[0].axvspan(2 * pair - 0.5, 2 * pair + 1.5, fill=False, linewidth=1.5)
        _turn(panels[1], data, position, offset, pair, rotation)
    first, ax = data["start"] - position, panels[-1]
    ax.plot(range(first, first + len(products)), products, color=TRAIN)
    ax.plot([offset], [float(products[offset - first])], "o", color=VALID, label=signed(f"k = {offset}"))
    title = f"dot products with P[{position}]" if rotation is None else "only the distance counts"
    ax.set(xlabel="distance j − i", ylabel=f"P[{position}] · P[j]", title=title)
    ax.legend()
    return figure


def _table(ax: Axes, data: Data, named: dict[int, str]) -> None:
    """The table as a heat map, with a line through each named position."""
    table, start, limit = unpack(data["table"]), data["start"], data["limit"]
    positions, size = table.shape
    how: Style = {"aspect": "auto", "interpolation": "nearest", "vmin": -limit, "vmax": limit}
    how["extent"] = (-0.5, size - 0.5, start + positions - 0.5, start - 0.5)
    image = ax.imshow(table.numpy(), cmap=BLUE_RED, **how)
    ax.grid(False)
    figure_of(ax).colorbar(image, ax=ax, pad=0.06)
    for position, name in sorted(named.items(), key=lambda item: item[1]):
        ax.axhline(position, color="black", linewidth=1)
        side = (
            "center" if len(named) == 1 else "bottom" if position == min(named) else "top"
        )  # apart where both are near
        how = {"xycoords": ("axes fraction", "data"), "va": side, "annotation_clip": False}
        ax.annotate(name, (1.02, position), **how)
    ax.set(xlabel="dimension", ylabel="position", title=f"table ({positions} × {size})")


def _turn(ax: Axes, data: Data, position: int, offset: int, pair: int, rotation: Float[Tensor, "2 2"]) -> None:
    """The pair at both positions as hands of a clock, and the matrix that turns one hand into the other."""
    table, start, first = unpack(data["table"]), data["start"], 2 * pair
    ax.add_patch(Circle((0, 0), 1, fill=False, color=EDGE))
    for name, index, color, line in (("i", position, TRAIN, "-"), ("j", position + offset, VALID, "--")):
        sine, cosine = table[index - start, first : first + 2].tolist()
        ax.plot([0, sine], [0, cosine], line, color=color, linewidth=2.5, label=f"{name} = {index}")
        ax.plot([sine], [cosine], "o", color=color)
    angle = offset * data["frequencies"][pair]
    rows = "\n".join("   ".join(f"{number:.3f}" for number in row) for row in rotation.tolist())
    title = signed(f"pair {pair} turns by {math.degrees(angle):.0f}°")
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", title=title, xticks=[], yticks=[])
    words = (
        f"dimension {first}: sine\n\nk = {offset} turns by\nk ω = {angle:.3g} rad = {math.degrees(angle):.0f}°,\n"
        f"the same for every i. Its matrix:\n{rows}"
    )
    ax.set_xlabel(signed(words))
    ax.set_ylabel(f"dimension {first + 1}: cosine")
    ax.legend(frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.0), fontsize=9)
