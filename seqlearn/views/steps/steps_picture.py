"""The picture of `AttentionSteps`: the results of all steps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..shared.axes import COLUMN, frame, label_axis, signed, stripe_masked
from ..shared.colours import BLUE_RED, CMAP, GROUND
from ..shared.constants import CELL_NAMES, FEW_NUMBERS, HIDDEN_BELOW
from ..shared.fonts import any_script, short_label
from ..shared.packing import unpack
from ..shared.types import Data, Style

MOST_NUMBERS = 8  # rows or columns of a matrix with numbers in its cells; numbers take most of the drawing time


@any_script
def steps_picture(data: Data, step: int, locked: Sequence[int]) -> Figure:
    """The results of all five steps of an attention, side by side, in the colours of the live view.

    An arrow marks the current step; frames mark the locked `[row, column]` of its result, as in the live view.
    """
    steps = data["steps"]
    queries, keys, value_size = (len(data["axes"][name]) for name in ("query", "key", "value"))
    shares = [min(max(columns, 3, 0.45 * keys), 12) for columns in (keys, keys, keys, keys, value_size)]
    size = (min(1.5 + 0.42 * sum(shares), COLUMN), 1.9 + 0.3 * min(queries, 12))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(steps), width_ratios=shares, sharey=True)
    columns = data["matrices"][steps[step]["result"]]["columns"]
    marked = locked if locked and locked[0] < queries and locked[1] < len(data["axes"][columns]) else []
    for index, (one, ax) in enumerate(zip(steps, panels, strict=True)):
        matrix = data["matrices"][one["result"]]
        _matrix(ax, data, one["result"], one["limits"].get(one["result"]))
        if marked:  # the cell, or its row where the columns have another meaning
            same = matrix["columns"] == columns
            frame(ax, (marked[1] if same else 0, marked[0], 1 if same else len(data["axes"][matrix["columns"]]), 1))
        name = f"{index + 1}. {one['name']}" + ("\u00a0◀" if index == step else "")  # no line begins with the arrow
        most = int(size[0] * shares[index] / sum(shares) / 0.1)
        ax.set_title("\n".join(wrap(name, most, break_long_words=False)), fontsize=10)
    panels[0].set_ylabel("query")
    title = wrap(message_of(data, step, marked), int(size[0] / 0.075))
    figure.suptitle("\n".join(title), x=0.01, ha="left", fontsize=10)
    return figure


def message_of(data: Data, step: int, marked: Sequence[int]) -> str:
    """What the live view says: the name of the number that is marked, and the number; without one the step."""
    one = data["steps"][step]
    if not marked:
        return f"Step {step + 1} of {len(data['steps'])}, {one['name']}: {one['sentence']}"
    (row, column), matrix = marked, data["matrices"][one["result"]]
    names = (short_label(data["axes"][matrix[axis]][index], 24) for axis, index in (("rows", row), ("columns", column)))
    before, between = CELL_NAMES[one["result"]]
    number = float(unpack(matrix["numbers"])[row, column])
    return f"{before}{between.join(names)}: {signed(f'{number:.2f}').replace('inf', '∞')}"


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
    most = float(np.abs(limits or numbers).max()) or 1.0
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
        small = name == "weights" and numbers[row, column] < (HIDDEN_BELOW if numbers.size > FEW_NUMBERS else 0.005)
        text = hole if masked[row, column] else "" if small else signed(f"{numbers[row, column]:z.2f}")
        color = "black" if light[row, column] else "white"
        letters: Style = {"ha": "center", "va": "center", "fontsize": 8}
        if masked[row, column]:  # no stripes behind the text
            letters |= {"fontsize": 10, "bbox": {"facecolor": GROUND, "linewidth": 0, "pad": 1.5}}
        ax.text(column + 0.5, row + 0.5, text, color=color, **letters)
