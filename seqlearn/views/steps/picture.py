"""The picture of `AttentionSteps`: the results of all steps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..shared.axes import COLUMN, label_axis, signed, stripe_masked
from ..shared.colours import BLUE_RED, CMAP
from ..shared.fonts import any_script
from ..shared.packing import unpack
from ..shared.types import Data, Style

MOST_NUMBERS = 8  # rows or columns of a matrix with numbers in its cells; numbers take most of the drawing time

HIDDEN_BELOW = 0.05  # a smaller weight has no number in its cell, as in the live view


@any_script
def steps_picture(data: Data, step: int) -> Figure:
    """The results of all five steps of an attention, side by side, in the colours of the live view.

    An arrow marks the current step.
    """
    steps = data["steps"]
    queries, keys, value_size = (len(data["axes"][name]) for name in ("query", "key", "value"))
    shares = [min(max(columns, 3, 0.45 * keys), 12) for columns in (keys, keys, keys, keys, value_size)]
    size = (min(1.5 + 0.42 * sum(shares), COLUMN), 1.9 + 0.3 * min(queries, 12))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(steps), width_ratios=shares, sharey=True)
    for index, (one, ax) in enumerate(zip(steps, panels, strict=True)):
        _matrix(ax, data, one["result"], one["limits"].get(one["result"]))
        name = f"{index + 1}. {one['name']}" + (" ◀" if index == step else "")
        ax.set_title(
            "\n".join(wrap(name, int(size[0] * shares[index] / sum(shares) / 0.1), break_long_words=False)), fontsize=10
        )
    panels[0].set_ylabel("query")
    figure.suptitle("From products to the context, in five steps", x=0.01, ha="left", fontsize=11)
    return figure


def _matrix(ax: Axes, data: Data, name: str, limits: Sequence[float] | None) -> None:
    """One result as a heat map; masked cells are striped.

    Args:
        limits: the numbers at both ends of the colours; default: of the result. The context has blue below 0 and red
            above, as all vectors have.
    """
    matrix, axes = data["matrices"][name], data["axes"]
    numbers, allowed = unpack(matrix["numbers"]).numpy(), unpack(data["allowed"]).bool().numpy()
    masked = ~allowed if matrix["masked"] else np.zeros(numbers.shape, dtype=bool)
    rows, columns = numbers.shape
    shown = np.ma.masked_array(numbers, masked)
    stripe_masked(ax, masked)
    most = float(np.abs(numbers).max()) or 1.0
    cmap, (low, high) = (BLUE_RED, (-most, most)) if name == "context" else (CMAP, limits or (None, None))
    how: Style = {"cmap": cmap, "vmin": low, "vmax": high, "aspect": "auto", "interpolation": "nearest"}
    image = ax.imshow(shown, extent=(0, columns, rows, 0), **how)
    ax.grid(False)
    label_axis(ax.xaxis, axes[matrix["columns"]], rotation=90, most=16)
    label_axis(ax.yaxis, axes[matrix["rows"]], rotation=0, most=16)
    ax.tick_params(labelsize=8)
    if max(rows, columns) > MOST_NUMBERS:
        return
    shares = np.asarray(image.norm(numbers))
    light = masked | ((np.abs(shares - 0.5) < 0.3) if name == "context" else (shares > 0.6))
    for row, column in itertools.product(range(rows), range(columns)):
        hole = "−∞" if name == "masked" else "–"
        small = name == "weights" and numbers[row, column] < HIDDEN_BELOW
        text = hole if masked[row, column] else "" if small else signed(f"{numbers[row, column]:z.2f}")
        color = "black" if light[row, column] else "white"
        ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7, color=color)
