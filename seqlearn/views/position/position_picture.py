"""The picture of `PositionView`: the table, the rotation of a pair, and the dot products."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from torch import Tensor

from ..shared.axes import COLUMN, figure_of, signed
from ..shared.colours import BLUE_RED, TRAIN, VALID
from ..shared.fonts import any_script, short_label
from ..shared.packing import unpack
from ..shared.types import Data, Style

EDGE = "#8a8a8a"
MOST_LABELS = 30  # of rows with words
NEAR = 0.05  # of all positions: two names beside the table would collide


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
    i, j = position, position + offset
    _table(panels[0], data, {j: "j", i: "i"} if offset else {i: "i = j"})
    if rotation is None:
        figure.supxlabel(data["note"], fontsize=10)
    else:
        panels[0].axvspan(2 * pair - 0.5, 2 * pair + 1.5, fill=False, linewidth=1.5)
        _turn(panels[1], data, position, offset, pair, rotation)
    first, ax = data["start"] - position, panels[-1]
    product = float(products[offset - first])
    ax.plot(range(first, first + len(products)), products, color=TRAIN)
    ax.plot([offset], [product], "o", color=VALID, label=signed(f"k = {offset}"))
    message = signed(f"P[{i}] · P[{j}] = {product:.2f}") + ("" if rotation is None else ":\nonly the distance counts")
    ax.set(xlabel="distance j − i", ylabel=f"P[{position}] · P[j]", title=message)
    ax.legend()
    return figure


def _table(ax: Axes, data: Data, named: dict[int, str]) -> None:
    """The table as a heat map, with thin lines around the row of each named position."""
    table, start, limit = unpack(data["table"]), data["start"], data["limit"]
    positions, size = table.shape
    how: Style = {"aspect": "auto", "interpolation": "nearest", "vmin": -limit, "vmax": limit}
    how["extent"] = (-0.5, size - 0.5, start + positions - 0.5, start - 0.5)
    image = ax.imshow(table.numpy(), cmap=BLUE_RED, **how)
    ax.grid(False)
    if tokens := data.get("tokens"):
        every = -(-positions // MOST_LABELS)
        words = [short_label(word, 24) + " " for word in tokens] + [""] * (positions - len(tokens))
        ticks = range(0, positions, every)
        ax.set_yticks([start + row for row in ticks], [f"{words[row]}{start + row}" for row in ticks], fontsize=8)
    figure_of(ax).colorbar(image, ax=ax, pad=0.06)
    near = len(named) == 2 and max(named) - min(named) < NEAR * positions
    for position, name in named.items():
        ax.hlines([position - 0.5, position + 0.5], -0.5, size - 0.5, color="black", linewidth=0.8, clip_on=False)
        side = "center_baseline" if not near else "bottom" if position == min(named) else "top"
        how = {"xycoords": ("axes fraction", "data"), "va": side, "annotation_clip": False}
        ax.annotate(name, (1.02, position), **how)
    rows = " and ".join(f"{name} = {position}" for position, name in sorted(named.items(), key=lambda item: item[1]))
    ax.set(xlabel="dimension", ylabel="position", title=f"{rows}, of {positions} positions")


def _turn(ax: Axes, data: Data, position: int, offset: int, pair: int, rotation: Float[Tensor, "2 2"]) -> None:
    """The pair at both positions as hands of a clock, and the matrix that turns one hand into the other."""
    table, start, first = unpack(data["table"]), data["start"], 2 * pair
    ax.add_patch(Circle((0, 0), 1, fill=False, color=EDGE))
    ax.plot(*table[:, first : first + 2].T.numpy(), ".", color=EDGE, markersize=3, zorder=1)  # all positions
    for name, index, color, line in (("i", position, TRAIN, "-"), ("j", position + offset, VALID, "--")):
        sine, cosine = table[index - start, first : first + 2].tolist()
        ax.plot([0, sine], [0, cosine], line, color=color, linewidth=2.5, label=f"{name} = {index}")
        ax.plot([sine], [cosine], "o", color=color)
    angle = offset * data["frequencies"][pair]
    sine, cosine = table[position - start, first : first + 2].tolist()
    _spiral(ax, math.atan2(sine, cosine), angle)
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


def _spiral(ax: Axes, start: float, angle: float) -> None:
    """A spiral with an arrow head from the hand of i to that of j; of many turns the last three are drawn.

    Args:
        start: the angle of the hand of i, from the top, clockwise.
    """
    least = math.copysign(max(0.0, abs(angle) - 6 * math.pi), angle)
    turned = np.linspace(least, angle, max(2, math.ceil(abs(angle - least) / 0.1)))
    radius = 0.3 + 0.1 * np.abs(turned - least) / (2 * math.pi)
    across, up = radius * np.sin(start + turned), radius * np.cos(start + turned)
    ax.plot(across, up, color="black", linewidth=1.2)
    if abs(angle) > 0.3:
        how: Style = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", (across[-1], up[-1]), (across[-2], up[-2]), arrowprops=how)
