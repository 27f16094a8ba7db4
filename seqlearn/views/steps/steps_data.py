"""The data of `AttentionSteps`: every number of the five steps, and a formula and a sentence for each step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Real
from torch import Tensor

from ...nn.masking import Mask, as_mask, masked_softmax
from ...runtime.arguments import as_tensor, check_lengths
from ..shared.arguments import finite, token_texts
from ..shared.constants import A_MASK, MATRICES, NO_MASK, STEPS
from ..shared.packing import pack, unpack
from ..shared.types import Data

INPUTS = ("queries", "keys", "values")  # the numbers that a person may change


def steps_data(
    queries: Real[Tensor, "..."],
    keys: Real[Tensor, "..."],
    values: Real[Tensor, "..."],
    mask: Mask | None = None,
    query_tokens: Sequence[object] | None = None,
    key_tokens: Sequence[object] | None = None,
    scale: float | None = None,
    value_names: Sequence[object] | None = None,
) -> Data:
    """All that `AttentionSteps` draws; the class explains the arguments."""
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


def changed(data: Data, changes: Sequence[Sequence[Any]]) -> Data:  # Any: a text and three numbers
    """The same attention with other numbers of Q, K and V, as `changed` in steps_numbers.js computes it.

    Args:
        data: what `steps_data` returned.
        changes: the matrix, the row and the column of each number, and the new number; of one number, the last counts.
    """
    if not changes:
        return data
    given = {name: unpack(data["matrices"][name]["numbers"]) for name in INPUTS}
    for name, row, column, number in changes:
        given[name][row, column] = number
    mask, scale = unpack(data["allowed"]).bool(), data["scale"]
    now = steps_data(given["queries"], given["keys"].T, given["values"], mask, scale=scale)
    context = torch.cat([unpack(one["matrices"]["context"]["numbers"]) for one in (data, now)])
    ends = {"context": [float(end) for end in context.aminmax()]}
    steps = []
    for before, after in zip(data["steps"], now["steps"], strict=True):  # the colours of the given numbers, or further
        both = ((name, [*limits, *after["limits"][name]]) for name, limits in before["limits"].items())
        steps.append(before | {"limits": {name: [min(four), max(four)] for name, four in both} | ends})
    return data | {"matrices": now["matrices"], "steps": steps}


def wrong_change(data: Data, change: object) -> str:
    """What is wrong with a change, in one sentence; empty if it fits."""
    match change:
        case [str(name), int(row), int(column), int() | float() as number] if name in INPUTS:
            rows, columns = data["matrices"][name]["numbers"]["shape"]
            if 0 <= row < rows and 0 <= column < columns and math.isfinite(number):
                return ""
    return f"a change is a matrix ({', '.join(INPUTS)}), row, column and number, not {change}"


def full_mask(mask: Mask | None, scores: Float[Tensor, "queries keys"]) -> Bool[Tensor, "queries keys"]:
    """The mask of one attention, for each query and key; valid lengths may be one number, or one for each query."""
    if mask is None:
        return torch.ones(scores.shape, dtype=torch.bool)
    mask = as_tensor("mask", mask).detach().cpu()
    if mask.dtype != torch.bool and not mask.is_floating_point():
        check_lengths("valid lengths over the keys", mask, scores.shape[-1])
    while mask.dim() > 2 and mask.shape[0] == 1:
        mask = mask.squeeze(0)
    try:
        return as_mask(mask.unsqueeze(0), (1, *scores.shape)).expand(1, *scores.shape).squeeze(0)
    except ValueError as error:
        if "does not fit" not in str(error):
            raise
        raise ValueError(
            f"mask {tuple(mask.shape)} does not fit scores {tuple(scores.shape)} (queries, keys)"
        ) from None


def steps_of(
    queries: int, size: int, keys: int, value_size: int, scale: float | None, masks: bool, tensors: dict[str, Tensor]
) -> list[Data]:
    """Each step: name, formula and sentence, its inputs and its result, and which cells of the inputs make a cell."""
    values = {"queries": queries, "size": size, "keys": keys, "value_size": value_size}
    values |= {"factor": f"1/√{size}" if scale is None else f"{scale:.4g}", "mask": A_MASK if masks else NO_MASK}
    low, high = (float(number) for number in torch.aminmax(torch.cat([tensors["scores"], tensors["scaled"]])))
    same = [low, high]  # one scale for the steps 1 to 3: no step but the scale makes a number lighter or darker
    limits = {"scores": same, "scaled": same, "masked": same, "weights": [0.0, 1.0]}
    return [
        {
            **step,
            "formula": step["formula"].format(**values),
            "sentence": step["sentence"].format(**values),
            "limits": {name: limits[name] for name in (*step["inputs"], step["result"]) if name in limits},
        }
        for step in STEPS
    ]
