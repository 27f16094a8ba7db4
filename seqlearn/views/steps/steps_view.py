"""One attention, step by step: Q Kᵀ, scale, mask, softmax, weighted sum of V, with the learner's own tensors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import traitlets
from jaxtyping import Float, Real
from torch import Tensor

from ...nn.masking import Mask
from ..shared.packing import unpack
from ..shared.traits import Whole
from ..shared.types import Proposal
from ..view import View
from .steps_data import changed, steps_data, wrong_change


class AttentionSteps(View, folder=Path(__file__).parent):
    """One attention in five steps; each number of a result shows the row and the column that made it.

    Args:
        queries, keys, values: `(queries, size)`, `(keys, size)`, `(keys, value_size)`.
        mask: bool `(queries, keys)`, True = may be attended, or a shape that broadcasts to it; or integer valid
            lengths, one for all queries or `(queries,)`.
        query_tokens, key_tokens: the names of the rows; default: q0, q1 ... and k0, k1 ...
        scale: the factor of the products; default: 1 / sqrt(size).
        value_names: the meaning of each column of the values; default: 0, 1 ...

    Traits, synced with the browser:
        step: from 0 (products) to 4 (weighted sum).
        locked: the `[row, column]` of the result that stays marked, or `[]`.
        changes: numbers that were dragged, each as `[matrix, row, column, number]`; the matrices are "queries", "keys"
            (transposed, as it is drawn) and "values".

    Raises:
        ValueError: the shapes do not fit each other, or a tensor holds NaN or infinity.
        TypeError: the mask is neither bool nor integer.
    """

    caption = "One attention, step by step"

    step = Whole(0, min=0, max=4).tag(sync=True)
    locked = traitlets.List(Whole(min=0)).tag(sync=True)
    changes = traitlets.List().tag(sync=True)

    def __init__(
        self,
        queries: Real[Tensor, "..."],
        keys: Real[Tensor, "..."],
        values: Real[Tensor, "..."],
        mask: Mask | None = None,
        query_tokens: Sequence[object] | None = None,
        key_tokens: Sequence[object] | None = None,
        scale: float | None = None,
        value_names: Sequence[object] | None = None,
    ):
        data = steps_data(queries, keys, values, mask, query_tokens, key_tokens, scale, value_names)
        super().__init__(data=data)

    @traitlets.validate("locked")
    def _fits(self, proposal: Proposal) -> list[int]:
        locked, axes = proposal["value"], self.data["axes"]
        most = (len(axes["query"]), max(len(axes["key"]), len(axes["value"])))
        if locked and not (len(locked) == 2 and locked[0] < most[0] and locked[1] < most[1]):
            raise traitlets.TraitError(f"locked is [] or [row, column] below {list(most)}, not {locked}")
        return locked

    @traitlets.validate("changes")
    def _may_change(self, proposal: Proposal) -> list[list]:
        for change in proposal["value"]:
            if wrong := wrong_change(self.data, change):
                raise traitlets.TraitError(wrong)
        return [list(change) for change in proposal["value"]]

    def tensor(self, name: str) -> Float[Tensor, "rows columns"]:
        """The matrix with this name, one of `MATRICES`, as it is drawn; `keys` is transposed."""
        return unpack(changed(self.data, self.changes)["matrices"][name]["numbers"])

    def title(self) -> str:
        """The title of a page: the first queries and keys."""
        axes = self.data["axes"]
        return f"{self.caption}: {' '.join(axes['query'][:8])} → {' '.join(axes['key'][:8])}"

    def summary(self) -> str:
        """The shapes."""
        (queries, size), (keys, value_size) = self.tensor("queries").shape, self.tensor("values").shape
        return f"{queries} queries, {keys} keys, size {size}, value size {value_size}"
