"""The checks of lesson 08: right answers in other forms, typical wrong ones, and what its stored experiment shows."""

import json
import math
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from answers import all_right, judged, variants
from seqlearn.exercises import checking, lesson08
from seqlearn.nn.positions import NoPositions, PositionalEncoding, RotaryPositions, rotation, sinusoids
from seqlearn.views import PositionView

ROOT = Path(__file__).parents[2]
LESSON = ROOT / "notebooks" / "08-positional-encoding.ipynb"
STORED = sorted((ROOT / "assets" / "experiments" / "positions").glob("*.json"))


test_wrong_readings_of_the_clock = judged(
    lesson08.check_full_turn,
    "8.1",
    [
        (6, "6 is too slow as a pair (it makes 0.18 turns). Or did you give a dimension?"),
        (7, "7 is too slow as a pair (it makes 0.10 turns). Or did you give a dimension?"),
        (5, "pair 5 is too slow: in 35 steps it makes 0.31 turns"),
        (2, "pair 2 is too fast: in 35 steps it makes 1.76 turns"),
        (1, "pair 1 is too fast: in 35 steps it makes 3.13 turns"),
        (0, "pair 0 is too fast: in 35 steps it makes 5.57 turns"),
        (4, "pair 4 is too slow: in 35 steps it makes 0.56 turns"),
        (14, "pair 14 has hardly moved in 35 steps: that is why"),
        (35, "35 is the offset"),
        (357, "the angle of one full turn"),
        (6.22, "the angle of one full turn"),
        (16, "there is no pair 16"),
        (-1, "there is no pair -1"),
        (2.5, "there is no pair 2.5"),
        (math.nan, "give the number of the pair; yours is nan"),
        ("3", "of type str"),
        (True, "of type bool"),
    ],
)


test_right_readings_of_the_clock = all_right(lesson08.check_full_turn, "8.1", [3, 3.0, np.int64(3), torch.tensor(3.0)])


def test_the_view_of_the_lesson_shows_what_the_check_asks():
    source = next(cell.source for cell in nbformat.read(LESSON, 4).cells if "view = PositionView(" in cell.source)
    namespace = {}
    exec(source, namespace)
    view = namespace["view"]
    view.offset = lesson08.OFFSET
    near = []
    for pair in range(lesson08.SIZE // 2):
        view.pair = pair
        angle = view.offset * view.data["frequencies"][pair]
        assert view.rotation()[0, 0] == pytest.approx(math.cos(angle), abs=1e-5)
        if view.rotation()[0, 0] > 0.99 and angle > 3:
            near.append((pair, round(angle / (2 * math.pi))))
    assert isinstance(view, PositionView) and near == [(lesson08.PAIR, 1)], (
        "one pair is back after a turn, and only one"
    )


def table(steps, size):
    """The solution of 8.2 and 8.4."""
    pairs = torch.arange((size + 1) // 2, dtype=torch.float64)
    angles = torch.arange(steps)[:, None] * 10000.0 ** (-2 * pairs / size)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :size]


def by_loops_over_angles(steps, size):
    """Entry by entry, with the sines of NumPy."""
    waves = (np.sin, np.cos)
    entries = [[waves[c % 2](i / 10000 ** (c // 2 * 2 / size)) for c in range(size)] for i in range(steps)]
    return torch.tensor(np.array(entries))


def renamed_table(steps, size, ours=sinusoids):
    return ours(steps, size)


def from_the_layer(steps, size):
    return PositionalEncoding(size).P[0, :steps]


WRONG_TABLES = [
    (sinusoids, "that is the package's or the lesson's table"),
    (renamed_table, "that is the package's or the lesson's table"),
    (from_the_layer, "that is the package's or the lesson's table"),
    (variants(by_loops_over_angles)("* 2 / size", "* 2 // size"), "did `//` round the exponent to 0"),
    (lambda n, d: table(n, d).T, "your table is transposed"),
    (lambda n, d: table(n, d)[None], "should have shape (5, 8); yours: (1, 5, 8)"),
    (lambda n, d: table(n, d).tolist(), "of type list"),
    (lambda n, d: table(n, d).half(), "torch.float16 has three digits at most"),
    (lambda n, d: -table(n, d), "for 5 steps and size 8, position 0 should be [0.000, 1.000"),
    (lambda n, d: table(n, d) * math.nan, "there is a NaN in your answer"),
    (lambda n, d: table(n, d) @ torch.eye(3), "for 5 steps and size 8, your code stopped with RuntimeError"),
]


test_wrong_tables = pytest.mark.slow(judged(lesson08.check_table, "8.2", WRONG_TABLES))


test_right_tables = all_right(
    lesson08.check_table, "8.2", [table, by_loops_over_angles, lambda n, d: table(n, d).float()]
)


def with_last(column):
    """A table that is right but for its last column, where the size is odd."""

    def answer(steps, size):
        right = table(steps, size)
        if size % 2:
            right[:, -1] = column(torch.arange(steps, dtype=torch.float64), size)
        return right

    return answer


def filled(steps, size, cosines):
    """As many libraries fill their table, with these of the cosines."""
    angles = torch.arange(steps)[:, None] / 10000.0 ** (torch.arange(0, size, 2) / size)
    answer = torch.zeros(steps, size)
    answer[:, 0::2] = angles.sin()
    answer[:, 1::2] = angles.cos()[:, cosines]
    return answer


def fails_at_1(steps, size):
    table(steps, size)[0, 1]
    return table(steps, size)


WRONG_ANY_TABLES = [
    (sinusoids, "that is the package's or the lesson's table"),
    (from_the_layer, "that is the package's or the lesson's table"),
    (lambda n, d: table(n, d - d % 2), "for size 5 your table has 4 columns"),
    (lambda n, d: table(n, d + d % 2), "for size 5 your table has 6 columns"),
    (lambda n, d: torch.cat([table(n, d - d % 2), torch.zeros(n, d % 2)], 1), "the last column is all zeros"),
    (lambda n, d: filled(n, d, slice(0, -1)), "for 5 steps and size 8, your code stopped with RuntimeError"),
    (fails_at_1, "for 4 steps and size 1, your code stopped with IndexError"),
    (with_last(lambda i, d: 0 * i), "for size 5 the last column is all zeros"),
    (with_last(lambda i, d: i), "for size 5 the last column should be the sine of the last hand; yours is something"),
    (lambda n, d: table(n, d).T, "your table is transposed"),
]


test_wrong_tables_of_any_size = judged(lesson08.check_any_table, "8.4", WRONG_ANY_TABLES)


test_right_tables_of_any_size = all_right(
    lesson08.check_any_table, "8.4", [table, by_loops_over_angles, lambda n, d: filled(n, d, slice(d // 2))]
)


def rows_turned(x, *, order=lambda both: torch.stack(both, -1).flatten(1)):
    """The solution of 8.5, with another order of the numbers."""
    steps, size = x.shape
    angles = torch.arange(steps)[:, None] * 10000.0 ** (-2 * torch.arange(size // 2, dtype=torch.float64) / size)
    first, second = x.unflatten(1, (-1, 2)).unbind(-1)
    cosine, sine = angles.cos(), angles.sin()
    return order((first * cosine - second * sine, first * sine + second * cosine)).float()


def in_its_own_argument(x):
    x[:] = rows_turned(x)
    return x


def renamed(x, turn=rotation):
    return torch.stack([turn(-i, x.shape[1]) @ row for i, row in enumerate(x)])


def by_the_package(x):
    return RotaryPositions(x.shape[1])(x[None, None])[0, 0]


def by_matrices(x):
    return torch.stack([rotation(-i, x.shape[1]) @ row for i, row in enumerate(x)])


def only_sixes(x):
    return rows_turned(x.reshape(-1, 6))


WRONG_ROWS = [
    (lambda x: rows_turned(x, order=lambda both: both[0]), "one number of each: give both numbers of all pairs"),
    (lambda x: rows_turned(x, order=lambda both: torch.stack(both, -1)), "into one row: `.flatten(1)`"),
    (lambda x: rows_turned(x).T, "should have shape (4, 6); yours: (6, 4)"),
    (lambda x: rows_turned(x).tolist(), "of type list"),
    (lambda x: rows_turned(x) * math.nan, "there is a NaN"),
    (in_its_own_argument, "`x` has changed: work on a new tensor"),
    (by_the_package, "write the turn of a pair yourself"),
    (lambda x: renamed(x), "write the turn of a pair yourself"),
    (by_matrices, "write the turn of a pair yourself"),
    (only_sixes, "for 7 rows of size 4"),
]


test_wrong_rotary_rows = judged(lesson08.check_turn_all, "8.5", WRONG_ROWS)


def by_complex_numbers(x):
    steps, size = x.shape
    angles = torch.arange(steps)[:, None] / 10000 ** (torch.arange(0, size, 2) / size)
    numbers = torch.view_as_complex(x.reshape(steps, -1, 2))
    return torch.view_as_real(numbers * torch.polar(torch.ones_like(angles), angles)).flatten(1)


def by_loops(x):
    answer = x.clone()
    for i, row in enumerate(x.tolist()):
        for m in range(len(row) // 2):
            (one, other), theta = row[2 * m : 2 * m + 2], i / 10000 ** (2 * m / len(row))
            answer[i, 2 * m] = one * math.cos(theta) - other * math.sin(theta)
            answer[i, 2 * m + 1] = one * math.sin(theta) + other * math.cos(theta)
    return answer


test_right_rotary_rows = all_right(lesson08.check_turn_all, "8.5", [rows_turned, by_complex_numbers, by_loops])


def test_the_rows_of_the_exercise_are_those_of_the_package():
    x = torch.randn(9, 8)
    torch.testing.assert_close(torch.tensor(lesson08._turned(x.tolist())), by_the_package(x), atol=1e-5, rtol=0)


def test_after_three_wrong_tables_the_clocks_are_named(capsys):
    for _ in range(checking.TRIES_BEFORE_HINT):
        lesson08.check_table(lambda steps, size: torch.zeros(steps, size))
    assert '"3. Clocks"' in capsys.readouterr().out


def test_the_table_of_d2l_is_compared_in_the_lesson():
    """d2l is the book that the course goes with: its layer is called, and its distance is measured."""
    cell = next(cell for cell in nbformat.read(LESSON, 4).cells if "d2l.PositionalEncoding" in cell.source)
    shown = cell.outputs[0].data["text/plain"]
    assert cell.cell_type == "code" and 0 <= float(re.search(r"d2l +([\d.]+)", shown)[1]) < 1e-5


@pytest.fixture
def experiments(import_benchmark):
    """benchmarks/experiments.py, which is no part of the package."""
    return import_benchmark("experiments")


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary", "none"])
def test_the_experiment_trained_the_model_of_the_lesson(kind, experiments):
    cells = [cell.source for cell in nbformat.read(LESSON, 4).cells if cell.cell_type == "code"]
    namespace = {}
    for needed in ("from seqlearn.exercises", "class Reader"):
        exec(next(source for source in cells if needed in source), namespace)
    positions = PositionalEncoding(64) if kind == "sinusoidal" else NoPositions()
    ours, theirs = namespace["Reader"](20, positions, rotary=kind == "rotary"), experiments.Reader(20, kind)
    ours.load_state_dict(theirs.state_dict())
    ids = torch.randint(20, (3, 12))
    torch.testing.assert_close(ours(ids), theirs(ids))
    moved = theirs(ids, start=40)
    assert torch.allclose(moved, theirs(ids), atol=1e-4) == (kind != "sinusoidal")


def test_the_tasks_of_the_experiment_are_those_of_the_text(experiments):
    ids = torch.arange(10, 18)[None]
    back, first = experiments.TASKS["three back"]
    assert first == 3 and back(ids)[0, first:].tolist() == [10, 11, 12, 13, 14]
    third, first = experiments.TASKS["the third"]
    assert first == 0 and third(ids)[0].tolist() == [12] * 8


def test_the_relative_biases_of_the_experiment_are_those_of_the_papers(experiments):
    """The slopes of Press et al. (2022), section 3; the logarithmic buckets of Raffel et al. (2020), section 2.1."""
    alibi = experiments.BiasedReader(20, "alibi", 4).bias(4)
    assert alibi[:, 3, 1].tolist() == [-2 / 4, -2 / 16, -2 / 64, -2 / 256] == alibi[:, 1, 3].tolist()
    clipped, buckets = (experiments.BiasedReader(20, kind) for kind in ("relative", "relative, buckets"))
    for model in (clipped, buckets):
        model.biases.data = torch.arange(-16.0, 17)[None]  # each bias is the signed number of its bucket
    assert clipped.bias(40)[0, 20].tolist() == [max(-16, min(16, place - 20)) for place in range(40)]
    found = buckets.bias(300)[0, 150].tolist()
    for place in range(300):
        far = abs(place - 150)
        bucket = far if far < 8 else min(15, 8 + int(math.log(far / 8) / math.log(128 / 8) * 8))
        assert found[place] == (bucket if place > 150 else -bucket), place


def test_a_reader_with_no_bias_is_the_reader_without_positions(experiments):
    plain, biased = experiments.Reader(20, "none", 4), experiments.BiasedReader(20, "relative", 4)
    biased.load_state_dict(plain.state_dict(), strict=False)
    ids, near = torch.randint(20, (3, 12)), ((torch.arange(12)[:, None] - torch.arange(12)).abs() < 3)[None]
    torch.testing.assert_close(biased(ids), plain(ids))
    torch.testing.assert_close(biased(ids, mask=near), plain(ids, mask=near))
    causal = experiments.BiasedReader(20, "alibi, causal", 4)
    assert torch.equal(causal(ids)[:, :5], causal(torch.cat([ids[:, :5], ids[:, :7]], 1))[:, :5])


def test_what_the_text_says_of_the_stored_runs(experiments):
    runs = {}
    for path in STORED:
        run = json.loads(path.read_text(encoding="utf-8"))
        assert run["longest"] == 20 and run["updates"] == 1000 and run["lengths"] == [10, 20, 30, 40, 80, 160]
        runs.setdefault((run["task"], run["positions"]), {})[run["seed"]] = run
    assert len(runs) == 2 * len(experiments.READERS) == 20 and all(set(seeds) == {0, 1, 2} for seeds in runs.values())

    def shares(task, kind, length, what="right"):
        return [run[what][run["lengths"].index(length)] for run in runs[task, kind].values()]

    for kind in ("learned", "sinusoidal", "sinusoidal, random starts", "rotary", "rotary, 4 heads"):
        assert min(shares("three back", kind, 20)) > 0.99
        assert (max(shares("the third", kind, 20)) < 0.4) == (kind.startswith("rotary") or "random" in kind), kind
    for kind in ("learned", "sinusoidal"):
        assert max(shares("three back", kind, 80)) < 0.4 < 0.9 < min(shares("the third", kind, 80))
    assert max(shares("three back", "learned", 160, "right in a window")) < 0.25, "its rows never learned"
    windowed, free = (shares("three back", "sinusoidal", 160, what) for what in ("right in a window", "right"))
    assert max(free) < 0.3 < 0.45 < min(windowed) and max(windowed) < 0.6, "it gains a lot, and stays wrong"
    assert all(0.2 < share < 0.3 for share in shares("the third", "rotary", 20)), "it cannot, at any length"
    assert min(shares("three back", "rotary", 160)) > 0.95
    assert max(shares("three back", "rotary, 4 heads", 160)) < 0.5
    assert min(shares("three back", "sinusoidal, random starts", 40)) > 0.95
    for kind in ("rotary", "rotary, 4 heads", "sinusoidal, random starts"):
        assert min(shares("three back", kind, 160, "right in a window")) > 0.99
    for kind in {kind for _, kind in runs}:
        near = shares("three back", kind, 20, "right in a window")
        assert near == pytest.approx(shares("three back", kind, 20), abs=1e-3), "no key is further away"
    assert min(shares("the third", "sinusoidal", 160)) < 0.6, "one seed of three fell to half"
    assert all(max(shares(task, "none", 20)) < 0.25 for task in ("three back", "the third"))
    biases = ("relative bias", "relative bias, T5's buckets", "ALiBi, 4 heads", "ALiBi, causal, 4 heads")
    for kind in biases:
        assert min(shares("three back", kind, 20)) > 0.99 or kind.startswith("ALiBi"), kind
        assert max(shares("the third", kind, 20)) < 0.3, "a bias knows distances only"
    for kind in biases[:2]:
        assert (
            max(shares("three back", kind, 160)) < 0.4 < 0.9 < min(shares("three back", kind, 160, "right in a window"))
        )
    for kind in biases[2:]:
        short, far = (shares("three back", kind, length) for length in (20, 160))
        assert max(short) < 0.3 and min(short) - max(far) < 0.05, "no solution, and hardly a fall"
