"""One attention, step by step: Q Kᵀ, scale, mask, softmax, weighted sum of V, with the learner's own tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import traitlets
from jaxtyping import Bool, Float, Real
from matplotlib.figure import Figure
from torch import Tensor

from ..nn.masking import Mask, as_mask, masked_softmax
from .base import View, finite, pack, token_texts, unpack
from .pictures import steps_picture
from .steps import MATRICES, steps_of


class AttentionSteps(View, static="attention_steps"):
    """One attention that can be stepped through; each number of a result shows the row and column that made it.

    Args:
        queries, keys, values: `(queries, size)`, `(keys, size)`, `(keys, value_size)`.
        mask: bool `(queries, keys)`, True = may be attended, or what broadcasts to it; or integer valid lengths, one
            for all queries or `(queries,)`.
        query_tokens, key_tokens: the names of the rows; default: q0, q1 ... and k0, k1 ...
        scale: what the products are multiplied with; default: 1 / sqrt(size).
        value_names: what each column of the values stands for; default: 0, 1 ...

    Traits, synced with the browser: `step` from 0 (products) to 4 (weighted sum); `locked`, the `[row, column]` of the
    result that stays marked, or `[]`.

    Raises:
        ValueError: shapes do not fit, or hold NaN or infinity.
        TypeError: the mask is neither bool nor integer.
    """

    step = traitlets.Int(0, min=0, max=4).tag(sync=True)
    locked = traitlets.List(traitlets.Int(min=0)).tag(sync=True)

    def __init__(
        self,
        queries: Real[Tensor, "..."],
        keys: Real[Tensor, "..."],
        values: Real[Tensor, "..."],
        mask: Mask | None = None,
        query_tokens: Sequence[Any] | None = None,
        key_tokens: Sequence[Any] | None = None,
        scale: float | None = None,
        value_names: Sequence[Any] | None = None,
    ):
        record = attention_record(queries, keys, values, mask, query_tokens, key_tokens, scale, value_names)
        super().__init__(record=record)

    def update(self, *tensors: Any, **named: Any) -> None:
        """Show another attention in the same place, at the same step. The arguments are those of the view."""
        record = attention_record(*tensors, **named)
        with self.hold_sync():
            self.locked, self.record = [], record

    @traitlets.validate("locked")
    def _fits(self, proposal: dict[str, Any]) -> list[int]:
        locked, axes = proposal["value"], self.record["axes"]
        most = (len(axes["query"]), max(len(axes["key"]), len(axes["value"])))
        if locked and not (len(locked) == 2 and locked[0] < most[0] and locked[1] < most[1]):
            raise traitlets.TraitError(f"locked is [] or [row, column] below {list(most)}, not {locked}")
        return locked

    def tensor(self, name: str) -> Float[Tensor, "rows columns"]:
        """What is shown under this name, as it was sent: one of `MATRICES`; `keys` are the transposed ones."""
        return unpack(self.record["matrices"][name]["numbers"])

    def summary(self) -> str:
        """The shapes."""
        (queries, size), (keys, value_size) = self.tensor("queries").shape, self.tensor("values").shape
        return f"{queries} queries, {keys} keys, size {size}, value size {value_size}"

    def figure(self) -> Figure:
        """The results of all five steps, side by side; an arrow marks the present one."""
        return steps_picture(self.record, self.step)


def attention_record(
    queries: Real[Tensor, "..."],
    keys: Real[Tensor, "..."],
    values: Real[Tensor, "..."],
    mask: Mask | None = None,
    query_tokens: Sequence[Any] | None = None,
    key_tokens: Sequence[Any] | None = None,
    scale: float | None = None,
    value_names: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Every number and every sentence that `AttentionSteps` draws; the arguments are explained there."""
    queries, keys, values = (
        finite(name, tensor, 2)
        for name, tensor in zip(("queries", "keys", "values"), (queries, keys, values), strict=True)
    )
    (count, size), (key_count, key_size), value_size = queries.shape, keys.shape, values.shape[1]
    if size != key_size:
        raise ValueError(f"queries {tuple(queries.shape)} and keys {tuple(keys.shape)} differ in size")
    if key_count != len(values):
        raise ValueError(f"{key_count} keys {tuple(keys.shape)} do not fit {len(values)} values {tuple(values.shape)}")
    factor = size**-0.5 if scale is None else float(scale)
    if not math.isfinite(factor):
        raise ValueError(f"a scale is a finite number, not {scale}")
    dtype = torch.promote_types(torch.promote_types(queries.dtype, keys.dtype), values.dtype)
    queries, keys, values = queries.to(dtype), keys.to(dtype), values.to(dtype)
    scores = queries @ keys.T
    allowed = full_mask(mask, scores)
    scaled = scores * factor
    weights = masked_softmax(scaled, allowed)
    tensors = {"queries": queries, "keys": keys.T, "scores": scores, "scaled": scaled, "mask": allowed}
    tensors |= {"masked": scaled.masked_fill(~allowed, -math.inf), "weights": weights}
    tensors |= {"values": values, "context": weights @ values}
    matrices = {
        name: {"title": title, "rows": rows, "columns": columns, "masked": masked, "numbers": pack(tensors[name])}
        for name, (title, rows, columns, masked) in MATRICES.items()
    }
    return {
        "axes": {
            "query": token_texts("query tokens", query_tokens, count, "q"),
            "key": token_texts("key tokens", key_tokens, key_count, "k"),
            "size": [str(index) for index in range(size)],
            "value": token_texts("value names", value_names, value_size, ""),
        },
        "matrices": matrices,
        "allowed": pack(allowed, "uint8"),
        "empty": (~allowed.any(-1)).nonzero().flatten().tolist(),
        "scale": factor,
        "steps": steps_of(count, size, key_count, value_size, scale, mask is not None, tensors),
    }


def full_mask(mask: Mask | None, scores: Float[Tensor, "queries keys"]) -> Bool[Tensor, "queries keys"]:
    """The mask of one attention, for each query and key; lengths may be one number, or one for each query."""
    if mask is None:
        return torch.ones(scores.shape, dtype=torch.bool)
    mask = mask.detach().cpu()
    while mask.dim() > 2 and mask.shape[0] == 1:
        mask = mask.squeeze(0)
    try:
        return as_mask(mask.unsqueeze(0), scores.unsqueeze(0)).expand(1, *scores.shape).squeeze(0)
    except ValueError:
        raise ValueError(
            f"mask {tuple(mask.shape)} does not fit scores {tuple(scores.shape)} (queries, keys)"
        ) from None
