"""Kernel regression with a slider for the width: the data, the prediction, and the weights behind the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import traitlets
from jaxtyping import Float, Real
from torch import Tensor

from ..shared.arguments import as_text
from ..shared.constants import LARGEST
from ..shared.packing import unpack
from ..shared.traits import Finite, Whole
from ..shared.types import Data, Proposal
from ..view import View
from .kernel_data import Readings, answered, kernel_data, readings_of


class KernelView(View, folder=Path(__file__).parent):
    """Nadaraya-Watson regression; its width and its kernel can be changed without Python, and its readings moved.

    Python computes all predictions and weights once, for every kernel and every width, and sends them to the browser.
    A weight takes 2 bytes, so one kernel with 30 widths, 50 keys and 50 queries takes 150 kB. Keys and queries are
    sorted. A reading is a key and its value, a dot in the plot; where a reading was moved, Python computes anew, or in
    a page of its own the browser.

    Args:
        keys, values: `(keys,)`, x and y of the data.
        queries: `(queries,)`, the x of the predictions.
        kernels: names from `seqlearn.nn.kernels.KERNELS`.
        width: the first width.
        truth: `(queries,)`, the true y of each query.
        widths: the widths on the slider, to which `width` is added; default: 30, from a hundredth of the range of the
            keys to the whole range.
        xlabel, ylabel: the meaning of keys and of values.
        clock: whether keys and queries are hours of a day: then 6.5 is written as 6:30.

    Traits, synced with the browser:
        kernel: one of the kernels.
        width: one of the widths; any other number becomes the nearest width.
        locked: `[i]`, the query that stays marked, counted from the smallest; or `[]`.
        readings: `[[key, value], ...]`, as given or as moved; sorted by key.

    Raises:
        ValueError: shapes that do not fit, NaN or infinity, an unknown kernel, a width that is not above 0, or more
            than 8 MB of weights.
    """

    caption = "An average that knows what you ask for"

    kernel = traitlets.Unicode().tag(sync=True)
    width = Finite().tag(sync=True)
    locked = traitlets.List(Whole(min=0)).tag(sync=True)
    readings = traitlets.List(traitlets.List(Finite())).tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)
    """What `answered` returns for moved readings; empty where the readings are those that were given."""

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
        clock: bool = False,
    ):
        data = kernel_data(keys, values, queries, kernels, width, truth, widths)
        data |= {"xlabel": as_text(xlabel), "ylabel": as_text(ylabel), "clock": clock}
        super().__init__(data=data, kernel=kernels[0], width=float(width), readings=readings_of(data))
        self.observe(self._answer, ["kernel", "width", "readings"])

    def _answer(self, change: object = None) -> None:
        """Compute anew for moved readings."""
        moved = self.readings != readings_of(self.data)
        self.answer = answered(self.data, self.kernel, self.width, self.readings) if moved else {}

    @traitlets.validate("kernel")
    def _known(self, proposal: Proposal) -> str:
        if proposal["value"] not in self.data["kernels"]:
            raise traitlets.TraitError(f"kernel is one of {self.data['kernels']}, not {proposal['value']!r}")
        return proposal["value"]

    @traitlets.validate("width")
    def _nearest(self, proposal: Proposal) -> float:
        return min(self.data["widths"], key=lambda width: abs(width - proposal["value"]))

    @traitlets.validate("locked")
    def _fits(self, proposal: Proposal) -> list[int]:
        locked, (queries,) = proposal["value"], self.data["queries"]["shape"]
        if locked and not (len(locked) == 1 and locked[0] < queries):
            raise traitlets.TraitError(f"locked is [] or [query] below {queries}, not {locked}")
        return locked

    @traitlets.validate("readings")
    def _sorted(self, proposal: Proposal) -> Readings:
        readings, (count,) = proposal["value"], self.data["keys"]["shape"]
        if len(readings) != count or any(len(one) != 2 for one in readings):
            raise traitlets.TraitError(f"readings are {count} finite [key, value], not {readings}")
        return sorted(readings, key=lambda one: one[0])

    def page_state(self, live: bool = False) -> Data:
        """A page answers alone where a reading is moved."""
        return super().page_state(live) | {"alone": True}

    def prediction(self) -> Float[Tensor, "queries"]:
        """The prediction that is shown, at each query."""
        if self.answer:
            return unpack(self.answer["predictions"])
        return unpack(self.data["predictions"])[self._index()]

    def weights(self) -> Float[Tensor, "queries keys"]:
        """The weights that are shown, as exact as the browser gets them: to 1/131,070 of the largest weight."""
        if self.answer:
            return unpack(self.answer["weights"])
        index = self._index()
        return unpack(self.data["weights"])[index].float() / LARGEST * unpack(self.data["tops"])[index]

    def _index(self) -> tuple[int, int]:
        """The indices of the chosen kernel and width."""
        return self.data["kernels"].index(self.kernel), self.data["widths"].index(self.width)

    def title(self) -> str:
        """The title of a page: what is predicted from what."""
        return f"{self.caption}: {self.data['ylabel']} from {self.data['xlabel']}"

    def summary(self) -> str:
        """The numbers of points and widths, and the kernels."""
        keys, queries = len(unpack(self.data["keys"])), len(unpack(self.data["queries"]))
        kernels = ", ".join(self.data["kernels"])
        return f"{keys} keys, {queries} queries, {kernels}, {len(self.data['widths'])} widths"
