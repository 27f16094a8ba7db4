"""The checks of lesson 03: right answers in other forms, and typical wrong ones, each with its own diagnosis."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
import torch

from answers import all_right, judged, said_by
from seqlearn.exercises import lesson03
from seqlearn.nn.masking import masked_softmax

matplotlib.use("agg")
LESSON = Path(__file__).parents[2] / "notebooks" / "03-kernel-regression.ipynb"
INF = float("inf")


test_wrong_readings_of_the_picture = judged(
    lesson03.check_held_out_error,
    "3.1",
    [
        (0.7, "looks like a width"),
        (2, "2 is the width, on the lower axis"),
        (2.4, "2.4 is on the dashed curve"),
        (3.4, "3.4 is on the orange curve"),
        (4.25, "the lowest point of the green curve"),
        (5.3, "but at 0.2 hours"),
        (7.6, "but at 3 hours"),
        (5, "5 is too low"),
        (0, "0 is too low"),
        (6.8, "6.8 is too high"),
        (-1, "-1 is not on the left axis"),
        (59, "59 is not on the left axis"),
        (float("nan"), "give a number; yours is nan"),
        ("5.9", "of type str"),
        (True, "of type bool"),
    ],
)


test_right_reading_of_the_picture = all_right(
    lesson03.check_held_out_error, "3.1", [5.5, 5.88, 6, 6.3, torch.tensor(5.9), np.float32(5.9)]
)


@pytest.mark.slow
def test_the_picture_of_the_lesson_is_as_the_check_says():
    """Runs the lesson up to the picture, and asks the numbers behind it."""
    namespace = {}
    for cell in nbformat.read(LESSON, as_version=4).cells:
        if cell.cell_type == "code":
            exec(cell.source, namespace)
        if "curves" in namespace:
            break
    low, high = plt.gca().get_ylim()
    widths, (training, held, true) = torch.tensor(namespace["widths"]), namespace["curves"].values()

    def at(errors, hours):  # between two points, along the straight line that is drawn (the axis is logarithmic)
        place = int((widths < hours).sum())
        share = (hours / widths[place - 1]).log() / (widths[place] / widths[place - 1]).log()
        return float(torch.lerp(torch.tensor(errors[place - 1]), torch.tensor(errors[place]), share))

    assert (low, high) == (0, 10)
    assert at(held, 2) == pytest.approx(sum(lesson03.HELD_OUT) / 2, abs=0.1)
    shown = (float(widths[held.index(min(held))]), at(true, 2), at(training, 2), min(held), at(held, 0.2), at(held, 3))
    for number, (start, end, diagnosis) in zip(shown, lesson03.MISREAD, strict=True):
        assert start < number < end, diagnosis


def gaussian(queries, keys, width):
    """The solution of 3.2."""
    return (-(((queries[:, None] - keys) / width) ** 2) / 2).softmax(-1)


def counts(queries, keys, width):
    return (-(((queries[:, None] - keys) / width) ** 2) / 2).exp()


def by_counts(*args):
    return counts(*args) / counts(*args).sum(-1, keepdim=True)


def nearest_if_all_are_far(queries, keys, width):
    powers, nearest = counts(queries, keys, width), (queries[:, None] - keys).abs().argmin(1)
    total = powers.sum(1, keepdim=True)
    return torch.where(total > 0, powers / total, torch.eye(len(keys))[nearest])


def in_place(queries, keys, width):
    queries /= width
    return gaussian(queries, keys / width, 1.0)


WRONG_WEIGHTS = [
    (by_counts, "the query 100 gives nan: so far from all keys"),
    (lambda q, k, h: gaussian(k, q, h), "a row for each *query*"),
    (lambda q, k, h: gaussian(q, k, h)[0], "should have shape (3, 4); yours: (4,)"),
    (lambda q, k, h: gaussian(q, k, h).tolist(), "of type list"),
    (lambda q, k, h: (q - k) / h, "your code stopped with RuntimeError"),
    (lambda q, k, h: torch.full((len(q), len(k)), 1 / len(k)), "row 0 should be [0.345"),
    (lambda q, k, h: gaussian(q, k, h) / 0 * 0, "though no query is far from the keys"),
    (nearest_if_all_are_far, "row 1 should be [0.5"),
    (in_place, "`queries` has changed"),
]


test_wrong_weights = judged(lesson03.check_kernel_weights, "3.2", WRONG_WEIGHTS)


def test_right_weights(capsys):
    def by_products(queries, keys, width):
        """The part q^2 is the same for all keys; the largest score is subtracted by hand."""
        scores = (queries[:, None] * keys - keys**2 / 2) / width**2
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        return powers / powers.sum(-1, keepdim=True)

    for answer in (gaussian, by_products, lambda q, k, h: gaussian(q.double(), k.double(), h)):
        assert said_by(lesson03.check_kernel_weights, answer, capsys) == "Exercise 3.2: right!\n"


def by_others(keys, values, width, *, hidden=-INF, empty=True):
    """The solution of 3.3; with other hidden scores, or without the zeros of a reading that has no others."""
    itself = torch.eye(keys.shape[1], dtype=torch.bool)
    scores = -(((keys[:, :, None] - keys[:, None, :]) / width) ** 2) / 2
    weights = scores.masked_fill(itself, hidden).softmax(-1)
    weights = weights.masked_fill(itself, 0.0) if empty else weights
    return torch.bmm(weights, values[:, :, None])[:, :, 0]


def writes(keys, values, width):
    answer = by_others(keys, values, width)
    values *= 0
    return answer


def divides_again(keys, values, width):
    """Right on paper; of a far neighbour nothing is left."""
    weights = (-(((keys[:, :, None] - keys[:, None, :]) / width) ** 2) / 2).softmax(-1)
    weights = weights * ~torch.eye(keys.shape[1], dtype=torch.bool)
    return torch.bmm(weights / weights.sum(-1, keepdim=True), values[:, :, None])[:, :, 0]


def exp_by_hand(keys, values, width):
    counts = (-(((keys[:, :, None] - keys[:, None, :]) / width) ** 2) / 2).exp()
    counts = counts.masked_fill(torch.eye(keys.shape[1], dtype=torch.bool), 0)
    return torch.bmm(counts / counts.sum(-1, keepdim=True), values[:, :, None])[:, :, 0]


WRONG_OTHERS = [
    (divides_again, "60 widths apart"),
    (exp_by_hand, "60 widths apart"),
    (lambda k, v, h: by_others(k, v, h) / (len(k) != 3) * (len(k) != 3), "there is a nan, though each"),
    (lambda *args: by_others(*args, empty=False), "nobody else to look at: predict 0, not nan"),
    (lambda *args: by_others(*args, hidden=-1e9, empty=False), "nobody else to look at: predict 0, not 3"),
    (lambda *args: by_others(*args)[:, :, None], "an axis too many"),
    (lambda k, v, h: by_others(k, v, h)[:, None].expand(-1, k.shape[1], -1), "that of the weights"),
    (lambda *args: by_others(*args).mean(-1), "should have shape (2, 4); yours: (2,)"),
    (lambda *args: by_others(*args).tolist(), "of type list"),
    (lambda *args: by_others(*args) + 1, "day 0 should be ["),
    (lambda *args: by_others(*args) / 0 * 0, "there is a nan, though each"),
    (lambda k, v, h: torch.bmm(k, v), "your code stopped with RuntimeError"),
    (writes, "`values` has changed"),
]


test_wrong_predictions_by_others = judged(lesson03.check_predict_by_others, "3.3", WRONG_OTHERS)


def test_right_predictions_by_others(capsys):
    def day_by_day(keys, values, width):
        others = ~torch.eye(keys.shape[1], dtype=torch.bool)
        pairs = zip(keys, values, strict=True)
        return torch.stack([masked_softmax(-(((k[:, None] - k) / width) ** 2) / 2, others) @ v for k, v in pairs])

    def without_itself(keys, values, width):
        answer = torch.zeros_like(values)
        for day, times in enumerate(keys):
            for i in range(len(times) if len(times) > 1 else 0):
                rest = [j for j in range(len(times)) if j != i]
                weights = (-(((times[i] - times[rest]) / width) ** 2) / 2).softmax(0)
                answer[day, i] = weights @ values[day, rest]
        return answer

    for answer in (by_others, day_by_day, without_itself):
        assert said_by(lesson03.check_predict_by_others, answer, capsys) == "Exercise 3.3: right!\n"
