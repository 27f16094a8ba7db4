"""The picture of `KernelView`: data, prediction and weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from ..shared.axes import COLUMN, signed
from ..shared.colours import CMAP, TRAIN, VALID
from ..shared.fonts import any_script, short_label
from ..shared.packing import unpack
from ..shared.types import Data, Style

TRUTH = "#595959"

HOURS = (1, 2, 3, 6, 12, 24)  # between two ticks of a clock
SHARE = 0.9  # of the weight of a query


class Shown(NamedTuple):
    """What is drawn: readings (keys and values), the curve, and for each query prediction and weights."""

    readings: Float[Tensor, "keys two"]
    curve: Float[Tensor, "points"]
    predictions: Float[Tensor, "queries"]
    weights: Float[Tensor, "queries keys"]


@any_script
def kernel_picture(data: Data, name: str, shown: Shown, locked: int | None) -> Figure:
    """Data and prediction of a kernel regression, and the weights beside them, as the live view shows them.

    Args:
        name: of the kernel, with its width.
        locked: the query that is marked, or None.
    """
    figure = Figure(figsize=(COLUMN, 3.8), layout="constrained")
    plot, weights = figure.subplots(1, 2, width_ratios=(1.3, 1))
    write: Callable[[float], str] = clock_time if data["clock"] else lambda number: signed(f"{round(number, 2):g}")
    _plot(plot, data, shown, locked)
    plot.set_title(title_of(data, name, shown, locked, write), fontsize=10)
    image = weights.imshow(
        shown.weights.numpy(),
        cmap=CMAP,
        vmin=0,
        vmax=float(shown.weights.max()) or 1.0,
        aspect="auto",
        interpolation="nearest",
    )
    weights.grid(False)
    for axis, points in ((weights.xaxis, shown.readings[:, 0]), (weights.yaxis, unpack(data["queries"]))):
        ticks = np.unique(np.linspace(0, len(points) - 1, min(5, len(points))).round().astype(int))
        axis.set_ticks(ticks.tolist(), [write(float(points[index])) for index in ticks])
    x = short_label(data["xlabel"])
    weights.set(xlabel=f"key: {x} of a data point", ylabel=f"query: {x}")
    weights.set_title(message_of(shown.weights if locked is None else shown.weights[[locked]]), fontsize=10)
    if locked is not None:
        for edge in (locked - 0.5, locked + 0.5):  # thin lines: a row may have 3 pixels
            weights.axhline(edge, color="white", linewidth=0.8)
        weights.annotate("◀", (1.01, locked), xycoords=("axes fraction", "data"), va="center", fontsize=9)
    figure.colorbar(image, ax=weights)
    return figure


def _plot(ax: Axes, data: Data, shown: Shown, locked: int | None) -> None:
    """Data, prediction and truth; with a query the sizes of the data are its weights."""
    queries, line = (unpack(data[name]) for name in ("queries", "line"))
    most = 0.0 if locked is None else float(shown.weights[locked].max())
    shares = shown.weights[locked] / most if locked is not None and most else None
    sizes = 22 if shares is None else (4 + 200 * shares).tolist()
    ax.scatter(*shown.readings.T.numpy(), s=sizes, color=VALID, alpha=0.6, label="data")
    ax.plot(line.numpy(), shown.curve.numpy(), color=TRAIN, linewidth=2.5, label="prediction")
    if data["truth"] is not None:
        ax.plot(queries.numpy(), unpack(data["truth"]).numpy(), "--", color=TRUTH, label="truth")
    lost = queries[shown.weights.sum(-1) == 0]
    if len(lost):
        ax.set_ylim(low := ax.get_ylim()[0], None)
        how: Style = {"facecolors": "white", "edgecolors": TRAIN, "clip_on": False, "zorder": 3}
        ax.scatter(lost.tolist(), [low] * len(lost), s=14, label="no prediction", **how)
    if locked is not None:
        ax.axvline(float(queries[locked]), color="black", linewidth=1)
        if shares is not None:
            ax.plot(
                float(queries[locked]),
                float(shown.predictions[locked]),
                "o",
                color=TRAIN,
                markeredgecolor="white",
                zorder=4,
            )
    ax.set(xlabel=short_label(data["xlabel"]), ylabel=short_label(data["ylabel"]))
    if data["clock"]:
        hours = hours_between(*ax.get_xlim())
        ax.set_xticks(hours, list(map(clock_time, hours)))
    ax.legend()


def title_of(data: Data, name: str, shown: Shown, locked: int | None, write: Callable[[float], str]) -> str:
    """What the live view says of the query that is marked; without one, where there is no prediction."""
    lost = shown.weights.sum(-1) == 0
    if locked is None:
        return name if not lost.any() else f"{name}: no prediction for {int(lost.sum())} of {len(lost)} queries"
    place = "" if data["clock"] else f"{short_label(data['xlabel'], 24)} = "
    found = "no prediction" if lost[locked] else f"prediction {shown.predictions[locked]:.2f}"
    real = "" if data["truth"] is None else f", truth {unpack(data['truth'])[locked]:.2f}"
    return f"{name}\nquery {place}{write(float(unpack(data['queries'])[locked]))}: {signed(found + real)}"


def message_of(weights: Float[Tensor, "queries keys"]) -> str:
    """How many keys carry nearly all the weight of a query, in the median."""
    reached = weights[weights.sum(-1) > 0]
    if not len(reached):
        return "no key is within reach of " + ("this query" if len(weights) == 1 else "a query")
    needed = 1 + (reached.sort(-1, descending=True).values.cumsum(-1) < SHARE - 1e-6).sum(-1)
    whose = "this query's" if len(weights) == 1 else "a query's"
    return f"{100 * SHARE:.0f} % of {whose} weight: on {int(needed.median())} of {weights.shape[1]} keys"


def clock_time(hours: float) -> str:
    """6:30 for 6.5 hours."""
    minutes = round(hours * 60)
    return f"{minutes // 60}:{minutes % 60:02d}"


def hours_between(low: float, high: float) -> list[int]:
    """Full hours for an axis, at most 7 of them."""
    step = next((hours for hours in HOURS if (high - low) / hours <= 6), HOURS[-1])
    return list(range(math.ceil(low / step) * step, math.floor(high) + 1, step))
