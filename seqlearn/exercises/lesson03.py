"""Checks of lesson 03. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import TypeAlias

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_shape, matches, number
from .plain import product, softmax, transposed

Days: TypeAlias = list[list[float]]  # the times, or the readings, of each day
Row: TypeAlias = Callable[[list[float], int, float], list[float]]  # times, a reading, the width -> its weights

HELD_OUT = (5.5, 6.3)  # the held-out error at 2 hours is 5.88

# Other points of the same picture that a learner may have read off: from, to, what to say.
MISREAD = [
    (0.5, 1.1, "looks like a width, that of the lowest point; you want the *error*, on the left axis."),
    (2.1, 2.8, "is on the dashed curve, the error on the truth. You want the green one."),
    (3.1, 3.8, "is on the orange curve: there the *training* readings judge, and each still looks at itself."),
    (3.9, 4.7, "is the lowest point of the green curve, and that is left of 1 hour. You want it at 2 hours."),
    (5.15, 5.4, "is on the green curve, but at 0.2 hours. You want 2 hours."),
    (7.4, 7.9, "is on the green curve, but at 3 hours: the small ticks between 2 and 5 are 3 and 4."),
]


@check("3.1", section="7. The width: how far a key reaches")
def check_held_out_error(held_out_error: object) -> None:
    """The height of the held-out curve of the picture at a width of 2 hours."""
    error = number(held_out_error)
    if HELD_OUT[0] <= error <= HELD_OUT[1]:
        return
    if error == 2:
        raise Wrong("2 is the width, on the lower axis; you want the *error* there, on the left axis.")
    for low, high, diagnosis in MISREAD:
        if low <= error <= high:
            raise Wrong(f"{error:g} {diagnosis}")
    if not 0 <= error <= 10:
        raise Wrong(f"{error:g} is not on the left axis: it goes from 0 to 10.")
    side = "low" if error < HELD_OUT[0] else "high"
    raise Wrong(f"{error:g} is too {side}: go straight up from the 2 to the green curve, then left to the axis.")


@check("3.2", section="6. The Gaussian is a softmax")
def check_kernel_weights(kernel_weights: Callable[..., Tensor]) -> None:
    """Try out `kernel_weights(queries, keys, width)` -> Gaussian weights `(queries, keys)`."""
    for queries, keys, width in (
        ([0.0, 1.0, 4.0], [0.0, 1.0, 2.5, 5.0], 3.0),
        ([2.0, -1.0], [0.5, 3.0, -2.0], 0.5),
        ([7.0, 100.0], [1.0, 4.0, 6.0], 1.0),
        ([3.0, 100.0], [6.0, 1.0, 6.0], 1.0),  # two keys are nearest
    ):
        weights = called(kernel_weights, torch.tensor(queries), torch.tensor(keys), width)
        turned = "a row for each *query*, a column for each key; yours are the other way round."
        has_shape(weights, (len(queries), len(keys)), "weights", {(len(keys), len(queries)): turned})
        if weights.isnan().any() and max(queries) < 50:
            raise Wrong("there is a NaN, though no query is far from the keys: what do you divide by?")
        if weights.isnan().any():
            raise Wrong(
                f"the query {max(queries):g} gives NaN: so far from all keys, `exp` gives 0 everywhere, and 0 / 0 is "
                "NaN. The softmax of the scores subtracts the largest first."
            )
        right = [softmax([_gaussian(q - k, width) for k in keys]) for q in queries]
        matches(weights, right, _wrong_weights(queries, keys, width))


def _wrong_weights(queries: list[float], keys: list[float], width: float) -> dict[str, list[list[float]]]:
    scores = [[_gaussian(q - k, width) for k in keys] for q in queries]
    counts = [[math.exp(score) for score in row] for row in scores]
    return {
        "these are the scores; now take the softmax over the keys.": scores,
        "these are the counts: divide each row by its sum.": counts,
        "your *columns* sum to 1: each query hands out a total of 1, so it is the last axis, -1.": (
            transposed([softmax(column) for column in transposed(scores)])
        ),
        f"the query {max(queries):g} gets no weights: so far from all keys, `exp` gives 0 everywhere, and what you add "
        "to the sum hides that. The softmax of the scores subtracts the largest first.": (
            [[count / (sum(row) + 1e-12) for count in row] for row in counts]
        ),
        **{slip: [softmax([score(q - k, width) for k in keys]) for q in queries] for slip, score in SLIPS.items()},
    }


def _gaussian(distance: float, width: float) -> float:
    """The score of the Gaussian kernel."""
    return -((distance / width) ** 2) / 2


SLIPS: dict[str, Callable[[float, float], float]] = {
    "the half is missing: the score is minus the square, divided by 2.": lambda d, h: -((d / h) ** 2),
    "far keys get the most: the score is *minus* half the square.": lambda d, h: (d / h) ** 2 / 2,
    "you took half the distance; the Gaussian takes half its *square*.": lambda d, h: -abs(d / h) / 2,
    "you took the distance; the Gaussian takes half its *square*.": lambda d, h: -abs(d / h),
    "the width does not enter: divide the distances by it.": lambda d, h: -(d**2) / 2,
    "divide by the width *before* you take the square.": lambda d, h: -(d**2) / h / 2,
    "you multiply by the width: then a large width would listen to *fewer* keys.": lambda d, h: -((d * h) ** 2) / 2,
}


@check("3.3", section="9. Learning the width, and how not to")
def check_predict_by_others(predict_by_others: Callable[..., Tensor]) -> None:
    """Try out `predict_by_others(keys, values, width)` -> `(days, readings)`: no reading looks at itself."""
    for keys, values, width in (
        ([[0.0, 1.0, 3.0, 4.5], [2.0, 2.5, 6.0, 7.0]], [[4.0, 8.0, 1.0, 3.0], [9.0, 2.0, 5.0, -6.0]], 1.5),
        ([[0.0, 0.5], [1.0, 3.0], [0.0, 30.0]], [[1.0, 7.0], [2.0, 4.0], [3.0, 5.0]], 0.5),
        ([[5.0], [6.0]], [[3.0], [-2.0]], 1.0),
        ([[1.0, 1.0, 2.5]], [[4.0, 7.0, -2.0]], 1.5),
        ([[0.0, 900.0]], [[3.0, 5.0]], 0.5),  # scores that are lower than a large negative number
    ):
        answer = called(predict_by_others, torch.tensor(keys), torch.tensor(values), width)
        shape = len(keys), len(keys[0])
        shapes = {
            (*shape, 1): f"the shape {(*shape, 1)} has an axis too many: take its only entry with [:, :, 0].",
            (*shape, shape[1]): (
                f"the shape {(*shape, shape[1])} is that of the weights; now multiply them by the values."
            ),
        }
        has_shape(answer, shape, "predictions", shapes)
        right = _by_others(keys, values, width)
        if shape[1] == 1:
            told = f"a day with a single reading has nobody else to look at: predict 0, not {float(answer[0, 0]):g}."
            matches(answer, right, otherwise=told)
        far = torch.tensor([(max(times) - min(times)) / width > 50 for times in keys])  # there, exp gives 0 to others
        if answer.isnan().any() and not answer[~far].isnan().any():
            raise Wrong(f"a NaN, {FAR} Mask the *scores* before the softmax, and do not divide again after it.")
        if answer.isnan().any():
            raise Wrong("there is a NaN, though each reading has others to look at: what is masked in its row?")
        matches(answer, right, _wrong_predictions(keys, values, width), axes=("day",))


FAR = (
    "where two readings are 60 widths apart: `exp` of such a score is 0, and without its own share a reading is left "
    "with 0 / 0."
)


def _scores(times: list[float], i: int, width: float) -> list[float]:
    return [_gaussian(times[i] - time, width) for time in times]


def _hidden(scores: list[float], hides: Callable[[int], bool]) -> list[float]:
    return softmax([-math.inf if hides(j) else score for j, score in enumerate(scores)])


def _others(times: list[float], i: int, width: float) -> list[float]:
    """The weights of reading `i` over the others of its day; zeros, if there are none."""
    return _hidden(_scores(times, i, width), lambda j: j == i)


def _weights(keys: Days, width: float, row: Row = _others) -> list[Days]:
    """The weights `(days, readings, readings)`, row by row."""
    return [[row(times, i, width) for i in range(len(times))] for times in keys]


def _averages(weights: list[Days], values: Days) -> Days:
    return [product([readings], transposed(rows))[0] for rows, readings in zip(weights, values, strict=True)]


def _by_others(keys: Days, values: Days, width: float) -> Days:
    """The predictions `(days, readings)`."""
    return _averages(_weights(keys, width), values)


def _hidden_late(times: list[float], i: int, width: float) -> list[float]:
    """The mask after the softmax."""
    weights = softmax(_scores(times, i, width))
    return [*weights[:i], 0.0, *weights[i + 1 :]]


def _divided_again(times: list[float], i: int, width: float) -> list[float]:
    weights = _hidden_late(times, i, width)
    return [weight / max(sum(weights), 1e-12) for weight in weights]


def _in_one_day(keys: Days, values: Days, width: float) -> Days:
    """All readings look at each other."""
    (row,), n = _by_others([[*chain(*keys)]], [[*chain(*values)]], width), len(keys[0])
    return [row[start : start + n] for start in range(0, len(row), n)]


ROWS: dict[str, Row] = {
    "each reading still looks at itself: its own score should be minus infinity. (0 would be the *best* score.)": (
        lambda times, i, width: softmax(_scores(times, i, width))
    ),
    "each reading sees *only* itself, so it predicts its own value: the mask is upside down.": (
        lambda times, i, width: [float(j == i) for j in range(len(times))]
    ),
    "two readings at the same time should see each other: mask the diagonal, not the distances of 0.": (
        lambda times, i, width: _hidden(_scores(times, i, width), lambda j: times[j] == times[i])
    ),
    "the weights of the others no longer sum to 1: mask the scores, *before* the softmax.": _hidden_late,
    f"a 0, {FAR} (What you add to the divisor hides that.) Mask the *scores* before the softmax.": _divided_again,
    "each reading sees only the readings before it: that is a causal mask. Only its own score is hidden.": (
        lambda times, i, width: _hidden(_scores(times, i, width), lambda j: j >= i)
    ),
    "each reading sees only the readings after it. Only its own score is hidden.": (
        lambda times, i, width: _hidden(_scores(times, i, width), lambda j: j <= i)
    ),
}


def _wrong_predictions(keys: Days, values: Days, width: float) -> dict[str, Days]:
    weights = _weights(keys, width)
    return {
        **{said: _averages(_weights(keys, width, row), values) for said, row in ROWS.items()},
        "you summed over the wrong axis: the softmax goes over the keys, -1, and so does the product.": (
            _averages([transposed(rows) for rows in weights], values)
        ),
        "these are averages of the *keys*: multiply the weights by the values.": _averages(weights, keys),
        "every day uses the times of day 0: each day has its own keys.": (
            _by_others(keys[:1] * len(keys), values, width)
        ),
        "the width does not enter: divide the distances by it.": _by_others(keys, values, 1.0),
        "the half is missing: the score is minus the square, divided by 2.": (
            _by_others(keys, values, width / math.sqrt(2))
        ),
        "you multiply by the width: then a large width would listen to *fewer* keys. Divide by it.": (
            _by_others(keys, values, 1 / width)
        ),
        "the readings of all days look at each other: each day is by itself, so keep the axis of the days.": (
            _in_one_day(keys, values, width)
        ),
    }
