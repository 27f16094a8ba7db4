"""AttentionSteps computes what the package's attention computes, and says what is wrong with its input."""

import math

import pytest
import torch
from views.refusals import keeps, refuses

from seqlearn.views import AttentionSteps
from seqlearn.views.shared.constants import MATRICES
from seqlearn.views.shared.packing import unpack
from seqlearn.views.steps.steps_data import changed

SHAPE = (3, 4, 2, 5)  # queries, keys, size, value size
MASK = torch.tensor([[True, False, True, True], [True] * 4, [False] * 4])


def tensors(dtype=torch.float32):
    queries, keys, size, value_size = SHAPE
    return (
        torch.randn(queries, size).to(dtype),
        torch.randn(keys, size).to(dtype),
        torch.randn(keys, value_size).to(dtype),
    )


def test_each_step_against_a_plain_loop():
    queries, keys, values = tensors()
    view = AttentionSteps(queries, keys, values, MASK)
    for i in range(3):
        scores = [sum(float(queries[i, d] * keys[j, d]) for d in range(2)) for j in range(4)]
        assert view.tensor("scores")[i].tolist() == pytest.approx(scores)
        scaled = [score / math.sqrt(2) for score in scores]
        assert view.tensor("scaled")[i].tolist() == pytest.approx(scaled)
        masked = [score if MASK[i, j] else -math.inf for j, score in enumerate(scaled)]
        assert view.tensor("masked")[i].tolist() == pytest.approx(masked)
        total = sum(math.exp(score) for score in masked)
        weights = [math.exp(score) / total if total else 0.0 for score in masked]
        assert view.tensor("weights")[i].tolist() == pytest.approx(weights)
        context = [sum(weights[j] * float(values[j, d]) for j in range(4)) for d in range(5)]
        assert view.tensor("context")[i].tolist() == pytest.approx(context, abs=1e-6)
    assert view.data["empty"] == [2]


def test_the_inputs_are_sent_as_they_are():
    queries, keys, values = tensors()
    view = AttentionSteps(queries, keys, values, MASK, scale=3.0)
    assert torch.equal(view.tensor("queries"), queries) and torch.equal(view.tensor("keys"), keys.T)
    assert torch.equal(view.tensor("values"), values) and torch.equal(view.tensor("mask").bool(), MASK)
    assert torch.equal(view.tensor("scaled"), view.tensor("scores") * 3)
    assert view.data["scale"] == 3.0 and view.data["steps"][1]["formula"] == "scores = products · 3"
    assert set(view.data["matrices"]) == set(MATRICES)


def test_nothing_is_written_into_the_arguments():
    given = (*tensors(), MASK.clone())
    before = [tensor.clone() for tensor in given]
    AttentionSteps(*given)
    assert all(map(torch.equal, given, before))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64])
def test_other_number_types(dtype):
    view = AttentionSteps(*tensors(dtype))
    assert view.tensor("weights").sum(-1).tolist() == pytest.approx([1, 1, 1])


@pytest.mark.parametrize(
    ("mask", "same"),
    [
        (torch.tensor([1, 4, 0]), [[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]),
        (torch.tensor(2), [[1, 1, 0, 0]] * 3),
        (torch.tensor([True, False, True, True]), [[1, 0, 1, 1]] * 3),
        (torch.tensor([[[True, False, True, True]]]), [[1, 0, 1, 1]] * 3),
        (MASK.unsqueeze(0), MASK.int().tolist()),
    ],
)
def test_all_forms_of_a_mask(mask, same):
    assert AttentionSteps(*tensors(), mask).tensor("mask").tolist() == same


GIVEN = {"queries": torch.ones(3, 2), "keys": torch.ones(4, 2), "values": torch.ones(4, 5)}
test_one_sentence_for_what_is_wrong = refuses(
    lambda **changed: AttentionSteps(**GIVEN | changed),
    [
        ({"queries": torch.ones(3, 3)}, r"queries \(3, 3\) and keys \(4, 2\) differ in size"),
        ({"values": torch.ones(5, 2)}, r"4 keys \(4, 2\) do not fit 5 values \(5, 2\)"),
        ({"queries": torch.ones(2)}, r"queries have 2 axes, none of them empty; got the shape \(2,\)"),
        ({"keys": torch.ones(1, 4, 2)}, r"keys have 2 axes, none of them empty; got the shape \(1, 4, 2\)"),
        ({"keys": torch.ones(0, 2)}, r"keys have 2 axes, none of them empty; got the shape \(0, 2\)"),
        ({"keys": torch.tensor([[1.0, math.nan]] * 4)}, r"keys \(4, 2\) hold NaN or infinity"),
        ({"values": torch.full((4, 2), math.inf)}, r"values \(4, 2\) hold NaN or infinity"),
        ({"mask": torch.ones(4, 3).bool()}, r"mask \(4, 3\) does not fit scores \(3, 4\) \(queries, keys\)"),
        ({"mask": torch.ones(2, 3, 4).bool()}, r"mask \(2, 3, 4\) does not fit scores \(3, 4\)"),
        ({"mask": torch.tensor([5])}, "valid lengths over the keys are from 0 to 4, not 5"),
        ({"mask": torch.tensor([1, -2, 3])}, "valid lengths over the keys are from 0 to 4, not -2"),
        ({"query_tokens": ["a"]}, r"1 query tokens do not fit 3 rows"),
        ({"key_tokens": list("abcde")}, r"5 key tokens do not fit 4 rows"),
        ({"scale": math.nan}, "a scale is a finite number, not nan"),
        ({"mask": torch.ones(3, 4)}, TypeError, "a mask is bool"),
        ({"keys": "no"}, TypeError, r"keys is a tensor, an array or a list of numbers, not 'no' \(str\)"),
        ({"value_names": ["red"]}, "value names"),
    ],
)


@pytest.mark.parametrize("convert", [torch.Tensor.numpy, torch.Tensor.tolist])
def test_arrays_and_lists_are_as_good_as_tensors(convert, as_a_user):
    queries, keys, values = tensors()
    mask = torch.ones(len(queries), len(keys), dtype=torch.bool).tril()
    same = AttentionSteps(*map(convert, (queries, keys, values)), convert(mask))
    expected = AttentionSteps(queries, keys, values, mask)
    assert torch.equal(same.tensor("context"), expected.tensor("context"))


def test_step_and_lock():
    view = AttentionSteps(*tensors())
    assert (view.step, view.locked) == (0, [])
    view.step, view.locked = 4, [2, 4]
    assert (view.step, view.locked) == (4, [2, 4])


def test_changed_numbers():
    queries, keys, values = tensors()
    view = AttentionSteps(queries, keys, values, MASK, list("abc"), list("wxyz"))
    given = view.tensor("context")
    view.step, view.locked = 4, [1, 0]
    view.changes = [("queries", 0, 1, 2.5), ["keys", 1, 3, -1], ["values", 2, 4, 0.5], ["queries", 0, 1, 3]]
    queries[0, 1], keys[3, 1], values[2, 4] = 3, -1, 0.5
    same = AttentionSteps(queries, keys, values, MASK, list("abc"), list("wxyz"))
    for name in MATRICES:
        torch.testing.assert_close(view.tensor(name), same.tensor(name))
    view.changes = []
    assert torch.equal(view.tensor("context"), given), "the given numbers are still there"
    assert "every key may be" in changed(AttentionSteps(*tensors()).data, [["keys", 0, 0, 1]])["steps"][2]["sentence"]


CHANGE = r"a change is a matrix \(queries, keys, values\), row, column"
BAD = [3, [], ["scores", 0, 0, 1], ["queries", 3, 0, 1], ["keys", 2, 0, 1], ["values", 0, -1, 1], ["values", 0, 0, "1"]]
test_what_cannot_be_chosen = keeps(
    lambda: AttentionSteps(*tensors()),
    [
        *[("step", step, "step") for step in (-1, 5)],
        *[("locked", locked, "locked") for locked in ([1], [3, 0], [0, 5], [-1, 0], [0, 0, 0])],
        *[("changes", [["queries", 0, 0, 1], change], CHANGE) for change in [*BAD, ["queries", 0, 0, math.nan]]],
    ],
)


def test_one_scale_of_colours_up_to_the_mask():
    """A number keeps its colour from the products to the masked scores, whatever is masked."""
    data = AttentionSteps(*tensors(), MASK).data
    limits = [scale for step in data["steps"] for name, scale in step["limits"].items() if name != "weights"]
    both = torch.cat([unpack(data["matrices"][name]["numbers"]) for name in ("scores", "scaled")])
    assert len(limits) == 6 and all(scale == [float(both.min()), float(both.max())] for scale in limits)


def test_a_change_leaves_the_colours_of_all_other_numbers_until_one_is_beyond_the_scale():
    view = AttentionSteps(*tensors(), MASK)

    def ends():
        scored = changed(view.data, view.changes)["steps"][:4]
        return [tuple(step["limits"][step["result"]]) for step in scored]

    before = ends()
    view.changes = [["queries", 0, 0, 0.01], ["values", 1, 1, 0.01]]
    assert ends() == before
    view.changes = [["queries", 0, 0, 30.0], ["values", 1, 1, -50.0]]
    both = torch.cat([view.tensor("scores"), view.tensor("scaled")]).aminmax()
    low, high = before[0]
    shared = (min(low, float(both.min)), max(high, float(both.max)))
    assert ends() == [shared, shared, shared, before[3]] and ends() != before


def test_values_may_have_names():
    tensors = torch.eye(2), torch.eye(2), torch.ones(2, 3)
    assert AttentionSteps(*tensors).data["axes"]["value"] == ["0", "1", "2"]
    assert AttentionSteps(*tensors, value_names=["red", "<b>", 5]).data["axes"]["value"] == ["red", "<b>", "5"]
