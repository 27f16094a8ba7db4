"""Checks of lesson 03. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, check

HELD_OUT = (5.5, 6.3)  # the held-out error at 2 hours is 5.88

# Other places of the same picture that a learner may have read off: from, to, what to say.
MISREAD = [
    (0.5, 1.1, "looks like a width, that of the lowest point; you want the *error*, on the left axis."),
    (2.1, 2.8, "is on the dashed curve, the error on the truth. You want the green one."),
    (3.1, 3.8, "is on the orange curve: there the *training* readings judge, and each still looks at itself."),
    (3.9, 4.7, "is the lowest point of the green curve, and that is left of 1 hour. You want it at 2 hours."),
    (5.15, 5.4, "is on the green curve, but at 0.2 hours. You want 2 hours."),
    (7.4, 7.9, "is on the green curve, but at 3 hours: the small ticks between 2 and 5 are 3 and 4."),
]


@check("3.1", section="7. The width: how far to listen")
def check_held_out_error(held_out_error: object) -> None:
    """The height of the held-out curve of the picture at a width of 2 hours."""
    if isinstance(held_out_error, bool) or not isinstance(held_out_error, int | float):
        raise Wrong(f"give a number; yours is of type {type(held_out_error).__name__}.")
    if HELD_OUT[0] <= held_out_error <= HELD_OUT[1]:
        return
    if held_out_error == 2:
        raise Wrong("2 is the width, on the lower axis; you want the *error* there, on the left axis.")
    for low, high, diagnosis in MISREAD:
        if low <= held_out_error <= high:
            raise Wrong(f"{held_out_error:g} {diagnosis}")
    if not 0 <= held_out_error <= 10:
        raise Wrong(f"{held_out_error:g} is not on the left axis: it goes from 0 to 10.")
    side = "low" if held_out_error < HELD_OUT[0] else "high"
    raise Wrong(
        f"{held_out_error:g} is too {side}: go straight up from the 2 to the green curve, then left to the axis."
    )


@check("3.2", section="6. The Gaussian is a softmax")
def check_kernel_weights(kernel_weights: Callable[..., Tensor]) -> None:
    """Try out `kernel_weights(queries, keys, width)` -> Gaussian weights `(queries, keys)`."""
    for asked, known, width in (
        ([0.0, 1.0, 4.0], [0.0, 1.0, 2.5, 5.0], 3.0),
        ([2.0, -1.0], [0.5, 3.0, -2.0], 0.5),
        ([7.0, 100.0], [1.0, 4.0, 6.0], 1.0),
    ):
        queries, keys = torch.tensor(asked), torch.tensor(known)
        weights = kernel_weights(queries, keys, width)
        _examine_unchanged((queries, asked), (keys, known))
        if isinstance(weights, Tensor) and tuple(weights.shape) == (len(known), len(asked)):
            raise Wrong("a row for each *query*, a column for each key; yours are the other way round.")
        _examine_form(weights, (len(asked), len(known)), "weights")
        if not _close(weights, _shares(asked, known, _halved, width)):
            raise Wrong(_diagnose_weights(weights, asked, known, width))


def _examine_unchanged(*given: tuple[Tensor, list]) -> None:
    if not all(torch.allclose(one, torch.tensor(before), rtol=0, atol=0, equal_nan=True) for one, before in given):
        raise Wrong("the caller's tensors have changed: work on new ones.")


def _examine_form(answer: object, shape: tuple[int, ...], name: str) -> None:
    if not isinstance(answer, Tensor):
        raise Wrong(f"return a tensor; yours is of type {type(answer).__name__}.")
    if tuple(answer.shape) != shape:
        raise Wrong(f"the {name} should have shape {shape}; yours: {tuple(answer.shape)}.")


def _halved(distance: float, width: float) -> float:
    """The score of the Gaussian kernel."""
    return -((distance / width) ** 2) / 2


# Scores by which a learner may have gone astray, and what to say about them.
MISTAKEN = [
    (lambda d, h: -((d / h) ** 2), "the half is missing: the score is minus the square, divided by 2."),
    (lambda d, h: (d / h) ** 2 / 2, "far keys get the most: the score is *minus* half the square."),
    (lambda d, h: -abs(d / h) / 2, "you took half the distance; the Gaussian takes half its *square*."),
    (lambda d, h: -abs(d / h), "you took the distance; the Gaussian takes half its *square*."),
    (lambda d, h: -(d**2) / 2, "the width does not enter: divide the distances by it."),
    (lambda d, h: -(d**2) / h / 2, "divide by the width *before* you take the square."),
    (lambda d, h: -((d * h) ** 2) / 2, "you multiply by the width: then a large width would listen to *fewer* keys."),
]


def _diagnose_weights(weights: Tensor, asked: list[float], known: list[float], width: float) -> str:
    """What is wrong with weights that are not right."""
    scores = [[_halved(q - k, width) for k in known] for q in asked]
    powers = [[math.exp(score) for score in row] for row in scores]
    if weights.isnan().any() and max(asked) < 50:
        return "there is a nan, though no query is far from the keys: what do you divide by?"
    if weights.isnan().any():
        return (
            f"the query {max(asked):g} gives nan: so far from all keys, `exp` gives 0 everywhere, and 0 / 0 is nan. "
            "The softmax of the scores subtracts the largest first."
        )
    if _close(weights, scores):
        return "these are the scores; now take the softmax over the keys."
    if _close(weights, powers):
        return "these are the counts: divide each row by its sum."
    totals = [sum(column) for column in zip(*powers, strict=True)]
    if _close(weights, [[power / total for power, total in zip(row, totals, strict=True)] for row in powers]):
        return "your *columns* sum to 1: each query hands out a total of 1, so it is the last axis, -1."
    for score, diagnosis in MISTAKEN:
        if _close(weights, _shares(asked, known, score, width)):
            return diagnosis
    right = _shares(asked, known, _halved, width)
    row = next(i for i, expected in enumerate(right) if not _close(weights[i], expected))
    return f"for the query {asked[row]:g} the weights should be {_shown(right[row])}; yours: {_shown(weights[row])}."


def _shares(asked: list[float], known: list[float], score: Callable[[float, float], float], width: float) -> list:
    """Softmax weights, a row for each query."""
    return [_softmax([score(q - k, width) for k in known]) for q in asked]


def _softmax(scores: list[float]) -> list[float]:
    exps = [math.exp(score - max(scores)) for score in scores]
    return [value / sum(exps) for value in exps]


def _close(tensor: Tensor, numbers: list) -> bool:
    right = torch.tensor(numbers, dtype=torch.float64)
    return torch.allclose(tensor.detach().double().cpu(), right, rtol=0, atol=1e-4)


def _shown(row: Tensor | list[float]) -> str:
    return "[" + ", ".join(f"{float(number):.3f}" for number in row) + "]"


@check("3.3", section="9. Learning the width, and how not to")
def check_predict_by_others(predict_by_others: Callable[..., Tensor]) -> None:
    """Try out `predict_by_others(keys, values, width)` -> `(days, readings)`: no reading looks at itself."""
    for known, read, width in (
        ([[0.0, 1.0, 3.0, 4.5], [2.0, 2.5, 6.0, 7.0]], [[4.0, 8.0, 1.0, 3.0], [9.0, 2.0, 5.0, -6.0]], 1.5),
        ([[0.0, 0.5], [1.0, 3.0], [0.0, 30.0]], [[1.0, 7.0], [2.0, 4.0], [3.0, 5.0]], 0.5),
        ([[5.0], [6.0]], [[3.0], [-2.0]], 1.0),
    ):
        keys, values = torch.tensor(known), torch.tensor(read)
        answer = predict_by_others(keys, values, width)
        _examine_unchanged((keys, known), (values, read))
        days, readings = keys.shape
        if isinstance(answer, Tensor) and tuple(answer.shape) == (days, readings, 1):
            raise Wrong(f"the shape {tuple(answer.shape)} has an axis too many: take its only entry with [:, :, 0].")
        if isinstance(answer, Tensor) and tuple(answer.shape) == (days, readings, readings):
            raise Wrong(f"the shape {tuple(answer.shape)} is that of the weights; now multiply them by the values.")
        _examine_form(answer, (days, readings), "predictions")
        if not _close(answer, _by_rule("right", known, read, width)):
            raise Wrong(_diagnose_by_others(answer, known, read, width))


RULES = {
    "self": "each reading still looks at itself: its own score is to be minus infinity. (0 would be the *best* score.)",
    "only self": "each reading sees *only* itself, so it predicts its own value: the mask is upside down.",
    "after": "the weights of the others no longer sum to 1: mask the scores, *before* the softmax.",
    "columns": "you summed over the wrong axis: the softmax goes over the keys, -1, and so does the product.",
    "first day": "every day uses the times of day 0: each day has its own keys.",
    "no width": "the width does not enter: divide the distances by it.",
    "no half": "the half is missing: the score is minus the square, divided by 2.",
}


def _diagnose_by_others(answer: Tensor, known: list, read: list, width: float) -> str:
    """What is wrong with the predictions that are not right."""
    days, readings = answer.shape
    if readings == 1:
        return f"a day with a single reading has nobody else to look at: predict 0, not {float(answer[0, 0]):g}."
    far = torch.tensor([(max(keys) - min(keys)) / width > 50 for keys in known])  # there, exp gives 0 to the others
    if answer[far].isnan().any() and not answer[~far].isnan().any():
        return (
            "a nan, where two readings are 60 widths apart: `exp` of such a score is 0, and without its own share a "
            "reading is left with 0 / 0. Mask the *scores* before the softmax, and do not divide again after it."
        )
    if answer.isnan().any():
        return "there is a nan, though each reading has others to look at: what is masked in its row?"
    for rule, diagnosis in RULES.items():
        if _close(answer, _by_rule(rule, known, read, width)):
            return diagnosis
    right = _by_rule("right", known, read, width)
    day = next(i for i in range(days) if not _close(answer[i], right[i]))
    return f"day {day} should be {_shown(right[day])}; yours: {_shown(answer[day])}."


def _by_rule(rule: str, known: list, read: list, width: float) -> list:
    """The right predictions, or those of a typical mistake; days, readings."""
    predictions = []
    for keys, values in zip(known, read, strict=True):
        places = range(len(values))
        rows = [_row(rule, known[0] if rule == "first day" else keys, i, width) for i in places]
        if rule == "columns":
            rows = [[rows[j][i] for j in places] for i in places]
        predictions.append([sum(w * v for w, v in zip(row, values, strict=True)) for row in rows])
    return predictions


def _row(rule: str, keys: list[float], i: int, width: float) -> list[float]:
    """The weights of reading `i` over the readings of its day."""
    if len(keys) == 1:
        return [0.0]
    if rule == "only self":
        return [1.0 if j == i else 0.0 for j in range(len(keys))]
    half, h = 1 if rule == "no half" else 2, 1.0 if rule == "no width" else width
    scores = [-(((keys[i] - key) / h) ** 2) / half for key in keys]
    if rule not in ("self", "after"):
        scores[i] = -math.inf
    weights = _softmax(scores)
    return [0.0 if rule == "after" and j == i else weight for j, weight in enumerate(weights)]


@check("3.4", section="5. Five kernels")
def check_boxcar_predict(boxcar_predict: Callable[..., Tensor]) -> None:
    """Try out `boxcar_predict(queries, keys, values, width)` -> means of the values within reach, or 0."""
    known, read, width = [0.0, 1.0, 1.5, 6.0], [4.0, 8.0, -3.0, 10.0], 1.25
    asked = [0.5, 3.5, 6.8, 1.0, -9.0]
    answer = _boxcar_answer(boxcar_predict, asked, known, read, width)
    if not _close(answer, _boxcar(asked, known, read, width)):
        raise Wrong(_diagnose_boxcar(answer, asked, known, read, width))
    edge = _boxcar_answer(boxcar_predict, [2.0], [0.0, 1.0], [6.0, 2.0], 2.0)
    if not _close(edge, [2.0]):
        raise Wrong("a key at a distance of exactly the width is not *closer* than it: `<`, not `<=`.")
    broken = _boxcar_answer(boxcar_predict, [0.0, 9.0], [0.0, 9.0], [math.nan, math.nan], 1.0)
    if not broken.isnan().all():
        raise Wrong("a nan in a value within reach has become an innocent number: do not hide it (`nan_to_num` does).")


def _boxcar_answer(boxcar_predict: Callable[..., Tensor], asked: list, known: list, read: list, width: float) -> Tensor:
    queries, keys, values = torch.tensor(asked), torch.tensor(known), torch.tensor(read)
    answer = boxcar_predict(queries, keys, values, width)
    _examine_unchanged((queries, asked), (keys, known), (values, read))
    _examine_form(answer, (len(asked),), "predictions")
    return answer


def _boxcar(
    asked: list, known: list, read: list, width: float, near: Callable[[float], bool] | None = None, how: str = "mean"
) -> list[float]:
    """Mean (or sum, or share of all keys) of the values whose difference query - key is `near`."""
    predictions = []
    for q in asked:
        chosen = [v for k, v in zip(known, read, strict=True) if (near(q - k) if near else abs(q - k) < width)]
        over = {"mean": max(len(chosen), 1), "sum": 1, "all": len(known)}[how]
        predictions.append(sum(chosen) / over)
    return predictions


def _diagnose_boxcar(answer: Tensor, asked: list, known: list, read: list, width: float) -> str:
    """What is wrong with predictions of the boxcar that are not right."""
    right = _boxcar(asked, known, read, width)
    empty = [i for i, q in enumerate(asked) if all(abs(q - k) >= width for k in known)]
    if answer[empty].isnan().all():
        return f"for the query {asked[empty[0]]:g} nobody is within reach, and 0 / 0 is nan: it should be 0."
    for how, diagnosis in (
        ("sum", "these are sums: divide by the number of neighbours."),
        ("all", "you divided by the number of *all* keys; divide by the number of those within reach."),
    ):
        if _close(answer, _boxcar(asked, known, read, width, how=how)):
            return diagnosis
    for near, diagnosis in (
        (lambda d: d < width, "keys far *after* the query count, too: take the distance without its sign, `abs`."),
        (lambda d: -d < width, "keys far *before* the query count, too: take the distance without its sign, `abs`."),
        (lambda d: abs(d) >= width, "the *far* keys count: the mask is upside down."),
        (lambda d: abs(d) < width / 2, "your box is half as wide: the width reaches to *each* side."),
        (lambda d: abs(d) < 1, "the width does not enter: compare the distance with it."),
    ):
        if _close(answer, _boxcar(asked, known, read, width, near)):
            return diagnosis
    if all(abs(float(answer[i]) - right[i]) < 1e-4 for i in range(len(asked)) if i not in empty):
        return f"for the query {asked[empty[0]]:g} nobody is within reach: give 0, not {float(answer[empty[0]]):g}."
    i = next(i for i, expected in enumerate(right) if not abs(float(answer[i]) - expected) < 1e-4)
    return f"the query {asked[i]:g} should give {right[i]:.3f}; yours: {float(answer[i]):.3f}."
