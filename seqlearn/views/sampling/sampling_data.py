"""The data of `SamplingView`: the logits, the name of each token, and the tokens that get a bar of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from jaxtyping import Real
from torch import Tensor

from ...search.sampling import next_distribution
from ..shared.arguments import as_text, finite
from ..shared.packing import pack
from ..shared.types import Data


def sampling_data(logits: Real[Tensor, "..."], tokens: Iterable[object], shown: int) -> Data:
    """What `SamplingView` draws; the class explains the arguments. `shown` becomes the ids, the likeliest first."""
    numbers, names = finite("logits", logits, 1), list(map(as_text, tokens))
    if len(names) != len(numbers):
        raise ValueError(f"{len(names)} tokens do not fit {len(numbers)} logits: each token has one")
    if shown < 1:
        raise ValueError(f"at least 1 token is shown, not {shown}")
    likeliest = numbers.sort(descending=True, stable=True).indices[:shown]
    exact = "float64" if numbers.dtype == torch.float64 else "float32"
    return {"logits": pack(numbers, exact), "tokens": names, "shown": likeliest.tolist()}


def check_setting(name: str, value: float | None) -> None:
    """Raise a ValueError if `next_distribution` does not take this temperature, top_k or top_p, or JSON does not."""
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{name} is finite, not {value}")
    setting: Data = {name: value}
    next_distribution(torch.zeros(1), **setting)
