"""Kernel regression with a slider for the width: data, prediction and the weights behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import traitlets
from jaxtyping import Float, Real
from matplotlib.figure import Figure
from torch import Tensor

from ..nn.kernels import KernelRegression
from .base import View, finite, pack, unpack
from .plots import CMAP, TRAIN, VALID

STEPS = 30  # widths on the slider
MOST_BYTES = 8_000_000


class KernelView(View, static="kernel_view"):
    """Nadaraya-Watson regression whose width, and kernel, can be changed without Python.

    All predictions and weights are computed once, for every kernel and width, and sent: 2 bytes for each weight, so
    kernels x widths x queries x keys x 2 bytes, 150 kB for one kernel and 50 x 50 points.

    Args:
        keys, values: `(keys,)`, x and y of the data.
        queries: `(queries,)`, where to predict.
        kernels: names out of `seqlearn.nn.kernels.KERNELS`.
        width: the one to start with.
        truth: `(queries,)`, the true curve at the queries.
        widths: those on the slider; default: 30 from a hundredth of the spread of the keys to all of it. `width` is
            added to them.
        xlabel, ylabel: what keys and values are.

    Keys and queries are sorted. Traits, synced with the browser: `kernel`; `width`, which is moved to the nearest one
    on the slider; `locked`, `[i]` for the i-th query, counted from the smallest, or `[]`.

    Raises:
        ValueError: shapes do not fit, NaN, no such kernel, a width not above 0, or more than 8 MB of weights.
    """

    kernel = traitlets.Unicode().tag(sync=True)
    width = traitlets.Float().tag(sync=True)
    locked = traitlets.List(traitlets.Int(min=0)).tag(sync=True)

    def __init__(
        self,
        keys: Real[Tensor, "..."],
        values: Real[Tensor, "..."],
        queries: Real[Tensor, "..."],
        kernels: Sequence[str] = ("gaussian",),
        width: float = 1.0,
        truth: Real[Tensor, "..."] | None = None,
        widths: Sequence[float] | None = None,
        xlabel: str = "x",
        ylabel: str = "y",
    ):
        record = kernel_record(keys, values, queries, kernels, width, truth, widths)
        record |= {"xlabel": str(xlabel), "ylabel": str(ylabel)}
        super().__init__(record=record, kernel=kernels[0], width=float(width))

    def update(
        self,
        keys: Real[Tensor, "..."],
        values: Real[Tensor, "..."],
        queries: Real[Tensor, "..."],
        kernels: Sequence[str] | None = None,
        width: float | None = None,
        truth: Real[Tensor, "..."] | None = None,
        widths: Sequence[float] | None = None,
    ) -> None:
        """Show other data in the same place; by default with the same kernels and width."""
        kernels = kernels or self.record["kernels"]
        width = self.width if width is None else width
        record = kernel_record(keys, values, queries, kernels, width, truth, widths)
        record |= {name: self.record[name] for name in ("xlabel", "ylabel")}
        with self.hold_sync():
            self.locked, self.record = [], record
            self.kernel = self.kernel if self.kernel in kernels else kernels[0]
            self.width = float(width)

    @traitlets.validate("kernel")
    def _known(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in self.record["kernels"]:
            raise traitlets.TraitError(f"kernel is one of {self.record['kernels']}, not {proposal['value']!r}")
        return proposal["value"]

    @traitlets.validate("width")
    def _nearest(self, proposal: dict[str, Any]) -> float:
        return min(self.record["widths"], key=lambda width: abs(width - proposal["value"]))

    @traitlets.validate("locked")
    def _fits(self, proposal: dict[str, Any]) -> list[int]:
        locked, (queries,) = proposal["value"], self.record["queries"]["shape"]
        if locked and not (len(locked) == 1 and locked[0] < queries):
            raise traitlets.TraitError(f"locked is [] or [query] below {queries}, not {locked}")
        return locked

    def prediction(self) -> Float[Tensor, "queries"]:
        """The curve that is shown."""
        return unpack(self.record["predictions"])[self._place()]

    def weights(self) -> Float[Tensor, "queries keys"]:
        """The weights that are shown, as exact as they were sent: to 1/131070 of the largest."""
        place = self._place()
        return unpack(self.record["weights"])[place].float() / 65535 * unpack(self.record["tops"])[place]

    def _place(self) -> tuple[int, int]:
        return self.record["kernels"].index(self.kernel), self.record["widths"].index(self.width)

    def summary(self) -> str:
        """How many points, kernels and widths."""
        keys, queries = len(unpack(self.record["keys"])), len(unpack(self.record["queries"]))
        kernels = ", ".join(self.record["kernels"])
        return f"{keys} keys, {queries} queries, {kernels}, {len(self.record['widths'])} widths"

    def figure(self) -> Figure:
        """Data and prediction at the present width, and the weights beside them."""
        keys, values, queries = (unpack(self.record[name]).numpy() for name in ("keys", "values", "queries"))
        figure = Figure(figsize=(10, 3.8), layout="constrained")
        curve, weights = figure.subplots(1, 2, width_ratios=(1.3, 1))
        curve.scatter(keys, values, s=22, color=VALID, alpha=0.6, label="data")
        curve.plot(queries, self.prediction().numpy(), color=TRAIN, linewidth=2.5, label="prediction")
        if self.record["truth"] is not None:
            curve.plot(queries, unpack(self.record["truth"]).numpy(), "--", color="#595959", label="truth")
        curve.set(
            xlabel=self.record["xlabel"],
            ylabel=self.record["ylabel"],
            title=f"{self.kernel} kernel, width {self.width:.3g}",
        )
        curve.legend(frameon=False)
        image = weights.imshow(self.weights().numpy(), cmap=CMAP, vmin=0, aspect="auto", interpolation="nearest")
        for axis, points in ((weights.xaxis, keys), (weights.yaxis, queries)):
            places = np.unique(np.linspace(0, len(points) - 1, min(6, len(points))).round().astype(int))
            axis.set_ticks(places, [f"{points[place]:.3g}" for place in places])
        x = self.record["xlabel"]
        weights.set(xlabel=f"key: {x} of a data point", ylabel=f"query: {x}", title="weights")
        figure.colorbar(image, ax=weights)
        return figure


def kernel_record(
    keys: Real[Tensor, "..."],
    values: Real[Tensor, "..."],
    queries: Real[Tensor, "..."],
    kernels: Sequence[str],
    width: float,
    truth: Real[Tensor, "..."] | None,
    widths: Sequence[float] | None,
) -> dict[str, Any]:
    """All that `KernelView` draws, for every kernel and width; the arguments are explained there."""
    keys, order = finite("keys", keys, 1).sort(stable=True)
    queries, query_order = finite("queries", queries, 1).sort(stable=True)
    values = finite("values", values, 1)
    truth = None if truth is None else finite("truth", truth, 1)
    if len(values) != len(keys):
        raise ValueError(f"{len(keys)} keys do not fit {len(values)} values")
    if truth is not None and len(truth) != len(queries):
        raise ValueError(f"{len(queries)} queries do not fit a truth of {len(truth)} numbers")
    if not kernels:
        raise ValueError("a kernel view needs at least one kernel")
    grid = slider_widths(width, widths, float(keys[-1] - keys[0]))
    size = 2 * len(kernels) * len(grid) * len(queries) * len(keys)
    if size > MOST_BYTES:
        raise ValueError(
            f"{len(kernels)} kernels x {len(grid)} widths x {len(queries)} queries x {len(keys)} keys are "
            f"{size / 1e6:.0f} MB of weights, and {MOST_BYTES / 1e6:.0f} MB is the most: give fewer of them"
        )
    predictions, weights = computed(keys, values[order], queries, kernels, grid)
    tops = weights.amax((-2, -1))  # kernels, widths
    shares = weights / tops.clamp(min=1e-30)[..., None, None]
    return {
        "kernels": list(kernels),
        "widths": grid,
        "keys": pack(keys),
        "values": pack(values[order]),
        "queries": pack(queries),
        "truth": None if truth is None else pack(truth[query_order]),
        "predictions": pack(predictions),
        "tops": pack(tops),
        "weights": pack((shares * 65535).round(), "uint16"),
    }


def slider_widths(width: float, widths: Sequence[float] | None, spread: float) -> list[float]:
    """The widths on the slider, in order, `width` among them."""
    if widths is None:
        widths = (
            np.geomspace(0.01, 1, STEPS).tolist() if spread == 0 else (spread * np.geomspace(0.01, 1, STEPS)).tolist()
        )
    wrong = [value for value in (width, *widths) if not 0 < value < math.inf]
    if wrong:
        raise ValueError(f"a width is above 0 and finite, not {wrong[0]}")
    return sorted({float(value) for value in (width, *widths)})


def computed(
    keys: Float[Tensor, "keys"],
    values: Float[Tensor, "keys"],
    queries: Float[Tensor, "queries"],
    kernels: Sequence[str],
    widths: Sequence[float],
) -> tuple[Float[Tensor, "kernels widths queries"], Float[Tensor, "kernels widths queries keys"]]:
    """Predictions and weights of `KernelRegression` for every kernel and width."""
    keys, values, queries = keys.double(), values.double(), queries.double()
    rows = [[KernelRegression(name, width).double() for width in widths] for name in kernels]
    with torch.no_grad():
        weights = torch.stack([torch.stack([model.weights(queries, keys) for model in row]) for row in rows])
    return weights @ values, weights
