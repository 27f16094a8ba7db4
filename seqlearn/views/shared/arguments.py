"""The checks of what a view is given; each error is one sentence, with the value that was given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from jaxtyping import Shaped
from torch import Tensor

from ...analysis.attention_map import AttentionMap
from ...runtime.arguments import as_tensor

Number = TypeVar("Number", int, float)


def finite(name: str, tensor: Shaped[Tensor, "..."], dims: int) -> Shaped[Tensor, "..."]:
    """The numbers of a tensor (or an array, or a list), detached and on the CPU: float64 stays, all else is float32.

    Args:
        name: of what the tensor holds, in the plural, for the error.
        dims: the number of axes that the tensor must have.

    Raises:
        TypeError: it is neither a tensor, nor an array or a list of numbers.
        ValueError: another number of axes, an empty axis, NaN or infinity.
    """
    tensor = as_tensor(name, tensor)
    if tensor.dim() != dims or tensor.numel() == 0:
        raise ValueError(f"{name} have {dims} axes, none of them empty; got the shape {tuple(tensor.shape)}")
    numbers = tensor.detach().cpu().to(torch.float64 if tensor.dtype == torch.float64 else torch.float32)
    if not numbers.isfinite().all():
        raise ValueError(f"{name} {tuple(tensor.shape)} hold NaN or infinity")
    return numbers


def need_map(name: str, given: object) -> None:
    """Refuse everything but an attention map.

    Args:
        name: of what draws the map, for the error.

    Raises:
        TypeError: it is not an attention map.
    """
    if not isinstance(given, AttentionMap):
        kind = type(given).__name__
        raise TypeError(f"{name} shows AttentionMap(weights, query_tokens, key_tokens), not a {kind}")


def as_text(token: object) -> str:
    """The text of a token; half a letter (a lone surrogate), which no file can hold, becomes �."""
    return str(token).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def offered(
    kind: Callable[[Any], Number],  # Any: whatever a user gave; `fits` looks at it
    fits: Callable[[Any], bool],  # Any: the same
    rule: str,
    chosen: object,
    others: Iterable[object],
) -> list[Number]:
    """The values of a slider: the chosen one and the others, sorted, each once, converted by `kind`.

    Args:
        kind: `int` or `float`.
        fits: whether a value is allowed.
        rule: which values are allowed, for the error: "a width is above 0 and finite".

    Raises:
        ValueError: a value is not allowed.
    """
    values = [chosen, *others]
    wrong = [value for value in values if not fits(value)]
    if wrong:
        raise ValueError(f"{rule}, not {wrong[0]}")
    return sorted({kind(value) for value in values})


def token_texts(name: str, tokens: Iterable[object] | None, count: int, letter: str) -> list[str]:
    """The tokens as texts; without tokens a letter and a number, from 0: q0, q1 ...

    Raises:
        ValueError: there are too many tokens, or too few.
    """
    texts = [f"{letter}{index}" for index in range(count)] if tokens is None else list(map(as_text, tokens))
    if len(texts) != count:
        raise ValueError(f"{len(texts)} {name} do not fit {count} rows: {texts}")
    return texts
