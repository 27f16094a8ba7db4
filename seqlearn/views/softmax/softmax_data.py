"""The data of `SoftmaxView`: tokens, the range of the sliders, and the first scores and mask."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from jaxtyping import Bool, Real
from torch import Tensor

from ...runtime.arguments import as_tensor
from ..shared.arguments import finite, token_texts
from ..shared.types import Data

RANGE = 5.0  # the sliders go at least from minus this score to plus this score


def softmax_data(
    scores: Real[Tensor, "..."], tokens: Iterable[object] | None, mask: Bool[Tensor, "..."] | None
) -> tuple[Data, Data]:
    """What `SoftmaxView` draws, and its first scores and mask; the class explains the arguments."""
    numbers = finite("scores", scores, 1)
    mask = None if mask is None else as_tensor("mask", mask)
    if mask is not None and (mask.dtype != torch.bool or mask.shape != numbers.shape):
        given = f"{mask.dtype} {tuple(mask.shape)}"
        raise ValueError(f"the mask of {len(numbers)} scores is bool {(len(numbers),)}, not {given}")
    end = float(max(RANGE, math.ceil(numbers.abs().max())))
    data = {"tokens": token_texts("tokens", tokens, len(numbers), "k"), "end": end}
    state = {
        "scores": [round(number, 6) for number in numbers.tolist()],
        "mask": [True] * len(numbers) if mask is None else mask.tolist(),
    }
    return data, state
