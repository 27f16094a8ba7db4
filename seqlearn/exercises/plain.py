"""Plain numbers for the oracles: compare, show, softmax, product. Nested lists stand for tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

Answer: TypeAlias = Any  # whatever a learner writes
Numbers: TypeAlias = Any  # a tensor, a number, or nested lists of numbers

MOST_SHOWN = 12  # numbers of one row in a message


def is_close(answer: Answer, expected: Numbers, within: float = 1e-4) -> bool:
    """Whether two tensors, numbers or nested lists have one shape and differ by at most `within`; NaN equals nothing.

    What holds no numbers, such as a list of words, is compared with `==`.
    """
    one, other = as_numbers(answer), as_numbers(expected)
    if one is None or other is None:
        return one is other and answer == expected
    return one.shape == other.shape and torch.allclose(one, other, rtol=0, atol=within)


def as_numbers(value: Answer) -> Tensor | None:
    """A float64 copy of a tensor, a number or nested lists; None for anything else."""
    try:
        if isinstance(value, list | tuple) and any(isinstance(part, Tensor) for part in value):
            value = [numbers(part) for part in value]
        value = value if isinstance(value, Tensor) else torch.as_tensor(value, dtype=torch.float64)
        return value.detach().to("cpu", torch.float64, copy=True)
    except (TypeError, ValueError, RuntimeError):
        return None


def numbers(answer: Answer) -> Numbers:
    """The entries as Python floats: nested lists for a tensor, one float for a number."""
    found = as_numbers(answer)
    return answer if found is None else found.tolist()


def shown(values: Answer, form: str = ".3f") -> str:
    """Numbers as text, such as `[0.250, 0.750]`; whole numbers and truth values without decimals."""
    values = values.detach().cpu().tolist() if isinstance(values, Tensor) else values
    if isinstance(values, list | tuple):
        texts = [shown(value, form) for value in values[:MOST_SHOWN]]
        return f"[{', '.join(texts + ['...'] * (len(values) > MOST_SHOWN))}]"
    return format(values, form) if isinstance(values, float) else str(values)


def softmax(scores: Sequence[float]) -> list[float]:
    """The softmax of one row. A row of minus infinity gives zeros."""
    top = max(scores)
    if top == -math.inf:
        return [0.0] * len(scores)
    powers = [math.exp(score - top) for score in scores]
    return [power / sum(powers) for power in powers]


def product(rows: Sequence[Sequence[float]], matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """The matrix product `rows @ matrix`."""
    columns = transposed(matrix)
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in rows]


def transposed(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """Rows as columns."""
    return [list(column) for column in zip(*rows, strict=True)]


def table(shape: Sequence[int], rule: Callable[..., object], *index: int) -> Numbers:
    """Nested lists of a shape, entry by entry: `table((2, 3), lambda row, column: column <= row)`."""
    if not shape:
        return rule(*index)
    return [table(shape[1:], rule, *index, i) for i in range(shape[0])]
