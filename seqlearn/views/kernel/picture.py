"""The picture of `KernelView`: data, prediction and weights."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from ..shared.axes import COLUMN, signed
from ..shared.colours import CMAP, TRAIN, VALID
from ..shared.fonts import any_script, short_label
from ..shared.packing import unpack
from ..shared.types import Data

TRUTH = "#595959"


HOURS = (1, 2, 3, 6, 12, 24)  # between two ticks of a clock
SHARE = 0.9  # of the weight of a query


@any_script
def kernel_picture(
    data: Data,
    title: str,
    readings: Float[Tensor, "keys two"],
    curve: Float[Tensor, "points"],
    shown: Float[Tensor, "queries keys"],
) -> Figure:
    """Data and prediction of a kernel regression, and the weights beside them.

    Args:
        title: of the data and the prediction.
        readings: keys and values.
        curve, shown: the predictions and the weights to draw.
    """
    queries, line = (unpack(data[name]).numpy() for name in ("queries", "line"))
    keys, values = readings.T.numpy()
    x, y = (short_label(data[name]) for name in ("xlabel", "ylabel"))
    figure = Figure(figsize=(COLUMN, 3.8), layout="constrained")
    plot, weights = figure.subplots(1, 2, width_ratios=(1.3, 1))
    plot.scatter(keys, values, s=22, color=VALID, alpha=0.6, label="data")
    plot.plot(line, curve.numpy(), color=TRAIN, linewidth=2.5, label="prediction")
    if data["truth"] is not None:
        plot.plot(queries, unpack(data["truth"]).numpy(), "--", color=TRUTH, label="truth")
    plot.set(xlabel=x, ylabel=y, title=title)
    if data["clock"]:
        hours = hours_between(*plot.get_xlim())
        plot.set_xticks(hours, list(map(clock_time, hours)))
    plot.legend()
    image = weights.imshow(shown.numpy(), cmap=CMAP, vmin=0, aspect="auto", interpolation="nearest")
    weights.grid(False)
    write: Callable[[float], str] = clock_time if data["clock"] else lambda number: signed(f"{number:.3g}")
    for axis, points in ((weights.xaxis, keys), (weights.yaxis, queries)):
        ticks = np.unique(np.linspace(0, len(points) - 1, min(5, len(points))).round().astype(int))
        axis.set_ticks(ticks.tolist(), [write(float(points[index])) for index in ticks])
    weights.set(xlabel=f"key: {x} of a data point", ylabel=f"query: {x}")
    weights.set_title(message_of(shown), fontsize=10)
    figure.colorbar(image, ax=weights)
    return figure


def message_of(weights: Float[Tensor, "queries keys"]) -> str:
    """How many keys carry nearly all the weight of a query, in the median."""
    reached = weights[weights.sum(-1) > 0]
    if not len(reached):
        return "no key is within reach of a query"
    needed = 1 + (reached.sort(-1, descending=True).values.cumsum(-1) < SHARE - 1e-6).sum(-1)
    return f"{100 * SHARE:.0f} % of a query's weight: on {int(needed.median())} of {weights.shape[1]} keys"


def clock_time(hours: float) -> str:
    """6:30 for 6.5 hours."""
    minutes = round(hours * 60)
    return f"{minutes // 60}:{minutes % 60:02d}"


def hours_between(low: float, high: float) -> list[int]:
    """Full hours for an axis, at most 7 of them."""
    step = next((hours for hours in HOURS if (high - low) / hours <= 6), HOURS[-1])
    return list(range(math.ceil(low / step) * step, math.floor(high) + 1, step))
