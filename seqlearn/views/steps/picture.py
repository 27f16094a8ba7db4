"""The picture of `AttentionSteps`: the results of all steps."""

from __future__ import annotations

import itertools
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..shared.axes import COLUMN, label_axis, signed, stripe_masked
from ..shared.colours import CMAP
from ..shared.fonts import any_script
from ..shared.packing import unpack
from ..shared.types import Data

MOST_NUMBERS = 8  # rows or columns of a matrix with numbers in its cells; numbers take most of the drawing time


@any_script
def steps_picture(data: Data, step: int) -> Figure:
    """The results of all five steps of an attention, side by side; an arrow marks the current step."""
    steps = data["steps"]
    queries, keys, value_size = (len(data["axes"][name]) for name in ("query", "key", "value"))
    shares = [min(max(columns, 3, 0.45 * keys), 12) for columns in (keys, keys, keys, keys, value_size)]
    size = (min(1.5 + 0.42 * sum(shares), COLUMN), 1.6 + 0.3 * min(queries, 12))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(steps), width_ratios=shares, sharey=True)
    for index, (one, ax) in enumerate(zip(steps, panels, strict=True)):
        _matrix(ax, data, one["result"])
        name = f"{index + 1}. {one['name']}" + (" ◀" if index == step else "")
        ax.set_title(
            "\n".join(wrap(name, int(size[0] * shares[index] / sum(shares) / 0.1), break_long_words=False)), fontsize=10
        )
    panels[0].set_ylabel("query")
    return figure


def _matrix(ax: Axes, data: Data, name: str) -> None:
    """One result as a heat map; masked cells are striped."""
    matrix, axes = data["matrices"][name], data["axes"]
    numbers, allowed = unpack(matrix["numbers"]).numpy(), unpack(data["allowed"]).bool().numpy()
    masked = ~allowed if matrix["masked"] else np.zeros(numbers.shape, dtype=bool)
    rows, columns = numbers.shape
    shown = np.ma.masked_array(numbers, masked)
    stripe_masked(ax, masked)
    image = ax.imshow(shown, cmap=CMAP, aspect="auto", interpolation="nearest", extent=(0, columns, rows, 0))
    ax.grid(False)
    label_axis(ax.xaxis, axes[matrix["columns"]], rotation=90, most=16)
    label_axis(ax.yaxis, axes[matrix["rows"]], rotation=0, most=16)
    ax.tick_params(labelsize=8)
    if max(rows, columns) > MOST_NUMBERS:
        return
    light = masked | (np.asarray(image.norm(numbers)) > 0.6)
    for row, column in itertools.product(range(rows), range(columns)):
        hole = "−∞" if name == "masked" else "–"
        text = hole if masked[row, column] else signed(f"{numbers[row, column]:.2f}")
        color = "black" if light[row, column] else "white"
        ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7, color=color)
