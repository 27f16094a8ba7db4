"""KernelView computes what KernelRegression computes, for every kernel and width, and says what is wrong."""

import math

import pytest
import torch
from views.refusals import keeps, refuses

from seqlearn.nn.kernels import KERNELS, KernelRegression
from seqlearn.views import KernelView
from seqlearn.views.shared.packing import unpack


def data(keys=7, queries=5):
    return torch.rand(keys) * 5, torch.randn(keys), torch.rand(queries) * 5


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("width", [0.05, 0.5, 5.0])
def test_predictions_and_weights_are_those_of_the_package(kernel, width):
    keys, values, queries = data()
    view = KernelView(keys, values, queries, KERNELS, 1.0, widths=[0.05, 0.5, 5.0])
    view.kernel, view.width = kernel, width
    model = KernelRegression(kernel, width)
    (keys, order), queries = keys.sort(), queries.sort()[0]
    torch.testing.assert_close(view.prediction(), model(queries, keys, values[order]), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(view.weights(), model.weights(queries, keys), atol=1e-5, rtol=0)


def test_points_are_sorted_together():
    view = KernelView(
        torch.tensor([3.0, 1.0, 2.0]), torch.tensor([30.0, 10.0, 20.0]), torch.tensor([2.0, 1.0]),
        truth=torch.tensor([200.0, 100.0]),
    )  # fmt: skip
    lists = {name: unpack(view.data[name]).tolist() for name in ("keys", "values", "queries", "truth")}
    assert lists == {"keys": [1, 2, 3], "values": [10, 20, 30], "queries": [1, 2], "truth": [100, 200]}


def test_no_key_within_reach():
    view = KernelView(torch.tensor([0.0, 1.0]), torch.ones(2), torch.tensor([0.0, 9.0]), ("boxcar",), 0.5)
    assert view.weights().tolist() == [[1, 0], [0, 0]] and view.prediction().tolist() == [1, 0]


def test_the_slider():
    view = KernelView(*data(), width=0.321)
    widths = view.data["widths"]
    assert widths == sorted(widths) and len(widths) == 31 and view.width == 0.321 in widths
    view.width = 0.33
    assert view.width == min(widths, key=lambda width: abs(width - 0.33))
    view.width = 1e9
    assert view.width == widths[-1]


def test_the_weights_take_two_bytes_each():
    view = KernelView(*data(50, 50))
    assert len(view.data["weights"]["data"]) == 2 * 31 * 50 * 50


GIVEN = {"keys": torch.arange(3.0), "values": torch.arange(3.0), "queries": torch.arange(2.0)}
test_one_sentence_for_what_is_wrong = refuses(
    lambda **changed: KernelView(**GIVEN | changed),
    [
        ({"values": torch.ones(2)}, "3 keys do not fit 2 values"),
        ({"truth": torch.ones(3)}, "2 queries do not fit a truth of 3 numbers"),
        ({"keys": torch.ones(3, 1)}, r"keys have 1 axes, none of them empty; got the shape \(3, 1\)"),
        ({"queries": torch.ones(0)}, r"queries have 1 axes, none of them empty"),
        ({"values": torch.tensor([1, math.nan, 1])}, r"values \(3,\) hold NaN or infinity"),
        ({"kernels": ["gauss"]}, "there is no kernel 'gauss'"),
        ({"kernels": []}, "at least one kernel"),
        ({"width": 0.0}, r"a width is above 0 and finite, not 0.0"),
        ({"widths": [1.0, -1.0]}, r"a width is above 0 and finite, not -1.0"),
        ({"keys": torch.ones(500), "values": torch.ones(500), "queries": torch.ones(500)}, "8 MB is the most"),
    ],
)


test_what_cannot_be_chosen = keeps(
    lambda: KernelView(*GIVEN.values(), ("gaussian", "boxcar")),
    [
        ("kernel", "triangular", "kernel"),
        ("locked", [2], "locked"),
        *[("readings", readings, "readings are 3 finite") for readings in ([[0, 1]], [[0], [1], [2]], [])],
        ("readings", [[0, 1], [1, math.nan], [2, 0]], "readings.* a finite number, not the float nan"),
    ],
)


def test_the_curve_is_smooth_and_has_gaps():
    """A prediction at each of many points, by the package; a gap where no key is within reach."""
    keys, values, queries = torch.tensor([0.0, 1.0, 9.0]), torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.0, 9.0])
    view = KernelView(keys, values, queries, ("gaussian", "triangular"), 0.7, widths=[0.7, 2.0])
    line, curves = unpack(view.data["line"]), unpack(view.data["curves"])
    assert curves.shape == (2, 2, len(line)) and float(line.diff().max()) < 9 / 390
    for k, kernel in enumerate(("gaussian", "triangular")):
        for w, width in enumerate((0.7, 2.0)):
            package = KernelRegression(kernel, width)
            there = ~curves[k, w].isnan()
            assert torch.equal(there, package.weights(line, keys).sum(-1) > 0)
            torch.testing.assert_close(curves[k, w][there], package(line, keys, values)[there], atol=1e-5, rtol=1e-5)
    assert curves[1, 0].isnan().any() and not curves[0].isnan().any()


def test_moved_readings_are_answered():
    """Sorted by key; with every width and kernel; put back, what was sent at first holds again."""
    keys, values, queries = torch.arange(5.0), torch.randn(5), torch.linspace(0.03, 4.1, 9)
    view = KernelView(keys, values, queries, ("gaussian", "boxcar"), 0.5, widths=[0.5, 2.0])
    given, before = view.readings, view.prediction()
    assert given == [[float(key), float(value)] for key, value in zip(keys, values, strict=True)] and view.answer == {}
    view.readings = [[3.25, 7.0], *given[1:]]
    assert [key for key, _ in view.readings] == [1, 2, 3, 3.25, 4]
    for kernel, width in (("gaussian", 0.5), ("boxcar", 0.5), ("boxcar", 2.0)):
        view.kernel, view.width = kernel, width
        package, (x, y) = KernelRegression(kernel, width), torch.tensor(view.readings).T
        torch.testing.assert_close(view.prediction(), package(queries, x, y), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(view.weights(), package.weights(queries, x), atol=1e-5, rtol=1e-5)
        assert view.answer["of"] == [kernel, width, view.readings]
    view.kernel, view.width, view.readings = "gaussian", 0.5, given
    assert view.answer == {} and torch.equal(view.prediction(), before)
