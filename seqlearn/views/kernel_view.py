"""Kernel regression with a slider for the width: data, prediction and the weights behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import traitlets
from jaxtyping import Float, Real
from matplotlib.figure import Figure
from torch import Tensor

from .base import View, as_text, unpack
from .curves import kernel_record
from .pictures import kernel_picture


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
        record |= {"xlabel": as_text(xlabel), "ylabel": as_text(ylabel)}
        super().__init__(record=record, kernel=kernels[0], width=float(width))

    def update(
        self,
        keys: Real[Tensor, "..."],
        values: Real[Tensor, "..."],
        queries: Real[Tensor, "..."],
        kernels: Sequence[str] | None = None,
        width: float | None = None,
        *more: Any,
        **named: Any,
    ) -> None:
        """Show other keys, values and queries in the same place; by default with the same kernels and width."""
        kernels = kernels or self.record["kernels"]
        width = self.width if width is None else width
        record = kernel_record(keys, values, queries, kernels, width, *more, **named)
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
        title = f"{self.kernel} kernel, width {self.width:.3g}"
        return kernel_picture(self.record, title, self.prediction(), self.weights())
