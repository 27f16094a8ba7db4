"""The picture of `KernelView`: data, prediction and weights."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from ..shared.axes import COLUMN
from ..shared.colours import CMAP, TRAIN, VALID
from ..shared.fonts import any_script, short_label
from ..shared.packing import unpack
from ..shared.types import Data

TRUTH = "#595959"


@any_script
def kernel_picture(
    data: Data,
    title: str,
    prediction: Float[Tensor, "queries"],
    shown: Float[Tensor, "queries keys"],
) -> Figure:
    """Data and prediction of a kernel regression, and the weights beside them.

    Args:
        title: of the data and the prediction.
        prediction, shown: the predictions and the weights to draw.
    """
    keys, values, queries = (unpack(data[name]).numpy() for name in ("keys", "values", "queries"))
    x, y = (short_label(data[name]) for name in ("xlabel", "ylabel"))
    figure = Figure(figsize=(COLUMN, 3.8), layout="constrained")
    curve, weights = figure.subplots(1, 2, width_ratios=(1.3, 1))
    curve.scatter(keys, values, s=22, color=VALID, alpha=0.6, label="data")
    curve.plot(queries, prediction.numpy(), color=TRAIN, linewidth=2.5, label="prediction")
    if data["truth"] is not None:
        curve.plot(queries, unpack(data["truth"]).numpy(), "--", color=TRUTH, label="truth")
    curve.set(xlabel=x, ylabel=y, title=title)
    curve.legend()
    image = weights.imshow(shown.numpy(), cmap=CMAP, vmin=0, aspect="auto", interpolation="nearest")
    weights.grid(False)
    for axis, points in ((weights.xaxis, keys), (weights.yaxis, queries)):
        ticks = np.unique(np.linspace(0, len(points) - 1, min(6, len(points))).round().astype(int))
        axis.set_ticks(ticks.tolist(), [f"{points[index]:.2g}" for index in ticks])
    weights.set(xlabel=f"key: {x} of a data point", ylabel=f"query: {x}", title="weights")
    figure.colorbar(image, ax=weights)
    return figure
