"""The data of `KernelView`: predictions and weights of kernel regression for every kernel and every width."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Real
from torch import Tensor

from ...nn.kernels import KernelRegression
from ..shared.arguments import finite, offered
from ..shared.constants import LARGEST
from ..shared.packing import pack, unpack
from ..shared.types import Data

DEFAULT_WIDTHS = 30  # on the slider
MOST_BYTES = 8_000_000
CURVE = 401  # points of the smooth curve, and the queries
MOST_POINTS = 1_000_000  # of the curves of all kernels and widths
Readings = list[list[float]]  # [[key, value], ...], sorted by key


def kernel_data(
    keys: Real[Tensor, "..."],
    values: Real[Tensor, "..."],
    queries: Real[Tensor, "..."],
    kernels: Sequence[str],
    width: float,
    truth: Real[Tensor, "..."] | None = None,
    widths: Sequence[float] | None = None,
) -> Data:
    """All that `KernelView` draws, for every kernel and every width; the class explains the arguments."""
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
    if widths is None:
        spread = float(keys[-1] - keys[0]) or 1.0
        widths = [spread * float(share) for share in np.geomspace(0.01, 1, DEFAULT_WIDTHS)]
    grid = offered(float, lambda one: 0 < one < math.inf, "a width is above 0 and finite", width, widths)
    size = 2 * len(kernels) * len(grid) * len(queries) * len(keys)
    if size > MOST_BYTES:
        raise ValueError(
            f"{len(kernels)} kernels x {len(grid)} widths x {len(queries)} queries x {len(keys)} keys are "
            f"{size / 1e6:.0f} MB of weights, and {MOST_BYTES / 1e6:.0f} MB is the most: give fewer of them"
        )
    values = values[order]
    predictions, weights = computed(keys, values, queries, kernels, grid)
    line = curve_points(queries, len(kernels) * len(grid))
    curves = [[curve(name, width, keys, values, line) for width in grid] for name in kernels]
    tops = weights.amax((-2, -1))  # (kernels, widths), the largest weight of each
    shares = weights / tops.clamp(min=1e-30)[..., None, None]
    return {
        "kernels": list(kernels),
        "widths": grid,
        "keys": pack(keys),
        "values": pack(values),
        "queries": pack(queries),
        "truth": None if truth is None else pack(truth[query_order]),
        "line": pack(line),
        "curves": pack(torch.stack([torch.stack(row) for row in curves])),
        "predictions": pack(predictions),
        "tops": pack(tops),
        "weights": pack((shares * LARGEST).round(), "uint16"),
    }


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


def curve_points(queries: Float[Tensor, "queries"], curves: int) -> Float[Tensor, "points"]:
    """The x of a smooth curve: the queries, and points between them; fewer of them for very many curves."""
    count = max(2, min(CURVE, MOST_POINTS // curves))
    between = torch.linspace(float(queries[0]), float(queries[-1]), count, dtype=queries.dtype)
    return torch.cat([queries, between]).unique()


def curve(
    kernel: str, width: float, keys: Float[Tensor, "keys"], values: Float[Tensor, "keys"], x: Float[Tensor, "points"]
) -> Float[Tensor, "points"]:
    """The prediction at each point; NaN where no key is within reach, so that the line has a gap there."""
    with torch.no_grad():
        weights = KernelRegression(kernel, width).double().weights(x.double(), keys.double())
    return (weights @ values.double()).masked_fill(weights.sum(-1) == 0, math.nan)


def readings_of(data: Data) -> Readings:
    """The keys and values that the view was given."""
    return [list(pair) for pair in zip(*(unpack(data[name]).tolist() for name in ("keys", "values")), strict=True)]


def answered(data: Data, kernel: str, width: float, readings: Readings) -> Data:
    """What is drawn where readings were moved, for one kernel and one width."""
    keys, values = torch.tensor(readings, dtype=torch.float64).T
    predictions, weights = computed(keys, values, unpack(data["queries"]), [kernel], [width])
    return {
        "predictions": pack(predictions[0, 0]),
        "weights": pack(weights[0, 0]),
        "curve": pack(curve(kernel, width, keys, values, unpack(data["line"]))),
        "of": [kernel, width, readings],
    }
