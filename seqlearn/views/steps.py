"""What the five steps of an attention are: their matrices, their formulas, and a sentence for each."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

MATRICES = {  # name: title, what its rows and its columns are, whether masked cells are drawn as masked
    "queries": ("Q", "query", "size", False),
    "keys": ("Kᵀ", "size", "key", False),
    "scores": ("products", "query", "key", False),
    "scaled": ("scores", "query", "key", False),
    "mask": ("mask", "query", "key", True),
    "masked": ("masked", "query", "key", True),
    "weights": ("weights", "query", "key", True),
    "values": ("V", "key", "value", False),
    "context": ("context", "query", "value", False),
}


def steps_of(
    queries: int, size: int, keys: int, value_size: int, scale: float | None, masks: bool, tensors: dict[str, Tensor]
) -> list[dict[str, Any]]:
    """Name, formula and sentence of each step, its inputs and result, and what of the inputs makes a cell of it."""
    factor = f"1/√{size}" if scale is None else f"{scale:.4g}"
    low, high = (float(number) for number in torch.aminmax(torch.cat([tensors["scores"], tensors["scaled"]])))
    same, scaled = [low, high], [float(number) for number in torch.aminmax(tensors["scaled"])]
    steps = [
        ("products", f"products = Q Kᵀ: ({queries} × {size}) · ({size} × {keys}) = ({queries} × {keys})",
         "Each is the dot product of a query and a key: how well the two agree.",
         ["queries", "keys"], "scores", ["row", "column"], ["·", "="], {}, ""),
        ("scale", f"scores = products · {factor}",
         "The scale keeps scores of long vectors in the range where softmax does not pick a single key.",
         ["scores"], "scaled", ["same"], ["→"], {"scores": same, "scaled": same}, ""),
        ("mask", "masked = scores where the mask allows, −∞ elsewhere",
         "What may not be attended gets −∞." if masks else "No mask was given: every key may be attended.",
         ["scaled", "mask"], "masked", ["same", "same"], ["and", "→"], {"scaled": scaled, "masked": scaled},
         "The whole row is −∞."),
        ("softmax", "weights = e^masked / sum of e^masked over the row",
         "Each row becomes positive numbers that sum to 1.",
         ["masked"], "weights", ["row"], ["→"], {"masked": scaled, "weights": [0.0, 1.0]}, "The weights are all 0."),
        ("weighted sum",
         f"context = weights V: ({queries} × {keys}) · ({keys} × {value_size}) = ({queries} × {value_size})",
         "Each query takes the average of the values, by its weights.",
         ["weights", "values"], "context", ["row", "column"], ["·", "="], {"weights": [0.0, 1.0]},
         "The context is 0."),
    ]  # fmt: skip
    fields = ("name", "formula", "sentence", "inputs", "result", "made", "signs", "limits", "empty")
    return [dict(zip(fields, step, strict=True)) for step in steps]
