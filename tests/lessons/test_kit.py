"""The kit that the checks of all lessons are made of: calls, forms, numbers, crashes."""

import functools
import linecache
import math
import os

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from answers import said_by
from seqlearn.exercises import checking, crashes, lesson03, lesson04, lesson07, lesson10, plain
from seqlearn.exercises.checking import (
    NotTried,
    Wrong,
    avoids,
    called,
    check,
    has_dtype,
    has_parts,
    has_shape,
    matches,
    number,
    passes,
)
from seqlearn.nn import masked_softmax


def diagnosis(function, *args, **options):
    with pytest.raises(Wrong) as said:
        function(*args, **options)
    return str(said.value)


# ---- calls ----


def test_a_call_gives_the_answer_and_none_is_not_tried():
    assert called(lambda x: x + 1, 2) == 3
    with pytest.raises(NotTried):
        called(lambda x: None, 2)


def add_to(scores):
    scores += 1
    return scores


@pytest.mark.parametrize(
    ("function", "argument", "said"),
    [
        (add_to, torch.ones(2), "`scores` has changed: work on a new tensor (`scores = scores + ...`"),
        (lambda x: x.resize_(4), torch.ones(2), "`x` has changed"),
        (lambda *args: add_to(*args), torch.ones(2), "argument 1 has changed: work on a new tensor (`x = x + ...`"),
        (lambda pairs: pairs.sort() or 1, [2, 1], "`pairs` has changed: build a new one"),
        (lambda rows: rows[0].append(1) or 1, [[2], [1]], "`rows` has changed"),
        (lambda table: table.pop("a"), {"a": 1}, "`table` has changed"),
    ],
)
def test_a_changed_argument_is_named_as_the_learner_names_it(function, argument, said):
    assert diagnosis(called, function, argument).startswith(said)


def test_a_nan_that_stays_is_no_change():
    assert called(lambda x: 1, torch.tensor([math.nan])) == 1


def test_gradients_reach_the_arguments():
    x = torch.ones(2, requires_grad=True)
    called(lambda x: x.sum(), x).backward()
    assert x.grad is not None


@pytest.mark.parametrize(
    "forbidden",
    [
        lambda x: [F.softmax(y, 0) for y in x],
        lambda x: functools.partial(torch.softmax, dim=-1)(x),
        lambda x: (lambda soft: soft(x, -1))(torch.softmax),
        lambda x: torch.nn.Softmax(-1)(x),
        lambda x: torch.ops.aten.softmax.int(x, -1),
        lambda x: F.softmin(-x, -1),
        lambda x: masked_softmax(x),
    ],
)
def test_what_the_task_forbids_is_found_under_any_name(forbidden):
    assert diagnosis(avoids, forbidden, {"softmax": "without it."}, torch.ones(2, 3)) == "without it."


def test_what_is_only_called_like_something_forbidden_is_not_found():
    def softmax(x):
        return x

    avoids(lambda x: softmax(x) if x is not None else x.softmax(0), {"softmax": "another one."}, torch.ones(2))
    avoids(len, {"softmax": "a built-in function."}, [1])


def softmaxed(scores, may, fill):
    return scores.masked_fill(~may, fill).softmax(-1)


def attention(queries, keys, values, mask, fill):
    weights = softmaxed(queries @ keys.mT / queries.shape[-1] ** 0.5, mask, fill).masked_fill(~mask, 0.0)
    return weights, weights @ values


def causal(x, W_q, W_k, W_v, W_o, heads, fill):
    q, k, v = ((x @ W.T).view(len(x), heads, -1).transpose(0, 1) for W in (W_q, W_k, W_v))
    weights = softmaxed(q @ k.mT / q.shape[-1] ** 0.5, torch.ones(len(x), len(x)).tril() > 0, fill)
    return weights, (weights @ v).transpose(0, 1).flatten(1) @ W_o.T


def by_others(keys, values, width, fill):
    scores = -(((keys[:, :, None] - keys[:, None]) / width) ** 2) / 2
    alone = torch.eye(keys.shape[1]) > 0
    return (softmaxed(scores, ~alone, fill).masked_fill(alone, 0.0) @ values[..., None])[..., 0]


def beam_step(totals, log_probs, finished, eos, width, fill):
    ended = torch.full_like(log_probs, fill)
    ended[:, eos] = 0.0
    best, flat = (totals[:, None] + torch.where(finished[:, None], ended, log_probs)).flatten().topk(width)
    return best, flat // log_probs.shape[1], flat % log_probs.shape[1]


@pytest.mark.parametrize(
    ("checked", "answer"),
    [
        (lesson03.check_predict_by_others, by_others),
        (lesson04.check_scaled_dot_product, attention),
        (lesson07.check_causal_self_attention, causal),
        (lesson10.check_beam_step, beam_step),
    ],
)
def test_no_number_that_is_only_large_stands_for_infinity(checked, answer):
    for fill, right in ((-20.0, False), (-100.0, False), (-1e4, False), (-1e30, True), (-math.inf, True)):
        assert passes(checked, functools.partial(answer, fill=fill)) == right, fill


def leaves(error):
    def answer(x):
        raise error

    return answer


@pytest.mark.parametrize("error", [SystemExit(), GeneratorExit()])
def test_an_answer_that_leaves_python_is_told_so(error, capsys):
    said = said_by(check("0.0", "none")(lambda f: f(1)), leaves(error), capsys)
    assert said.startswith(f"Exercise 0.0: not yet. Your code stopped with {type(error).__name__}")
    assert not passes(check("0.0", "none")(lambda f: f(1)), leaves(error))


@pytest.mark.parametrize("run", [lambda checked, answer: checked(answer), passes])
def test_whoever_interrupts_a_check_interrupts_it(run):
    with pytest.raises(KeyboardInterrupt):
        run(check("0.0", "none")(lambda f: f(1)), leaves(KeyboardInterrupt()))


def test_no_answer_changes_whether_it_is_graded(monkeypatch):
    monkeypatch.setattr(checking, "GRADING", True)
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(AssertionError, match="no points"):
        check("0.0", "none")(lambda f: f(1))(lambda x: os.environ.pop("NBGRADER_EXECUTION") and 1 / 0)


# ---- forms ----


@pytest.mark.parametrize(
    "answer", [4, 4.0, np.int64(4), np.float32(4), np.array(4), torch.tensor(4), torch.ones(1) * 4]
)
def test_numbers_of_all_types_count(answer):
    assert number(answer) == 4
    whole = number(answer, whole=True)
    assert whole == 4 and type(whole) is int


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("4", "give a number; yours is of type str."),
        (True, "give a number; yours is of type bool."),
        (torch.tensor(True), "give a number; yours is of type bool."),
        (1j, "give a number; yours is of type complex."),
        (torch.ones(2), "give a number; yours has the shape (2,)."),
        (math.nan, "give a number; yours is nan."),
    ],
)
def test_what_is_no_number(answer, said):
    assert diagnosis(number, answer) == said


def test_halves_and_infinity_are_not_whole():
    assert diagnosis(number, 4.5, "return a whole number", whole=True) == "return a whole number; yours is 4.5."
    assert diagnosis(number, math.inf, whole=True) == "give a number; yours is inf."


def test_the_form_of_an_answer():
    assert has_parts((1, 2), "weights", "context") == (1, 2)
    assert diagnosis(has_parts, 1, "weights", "context") == "return two things: the weights and the context."
    assert "three things: the totals, the parents and the tokens" in diagnosis(
        has_parts, (1,), "totals", "parents", "tokens"
    )
    has_shape(torch.ones(2, 3), (2, 3))
    assert "of type list" in diagnosis(has_shape, [1], (1,), "weights")
    assert "should have shape (2, 3); yours: (3, 2). The axes are in another order." in diagnosis(
        has_shape, torch.ones(3, 2), (2, 3)
    )
    assert "An axis of size 1 is too many" in diagnosis(has_shape, torch.ones(2, 3, 1), (2, 3))
    assert "An axis of size 1 is missing" in diagnosis(has_shape, torch.ones(3), (1, 3))
    assert diagnosis(has_shape, torch.ones(4), (2, 3), "mask", {(4,): "one row."}) == "one row."
    has_dtype(torch.ones(1), torch.float32)
    assert "the mask should be torch.bool; yours: torch.float32" in diagnosis(
        has_dtype, torch.ones(1), torch.bool, "mask"
    )


# ---- numbers ----


def test_closeness():
    assert plain.is_close(torch.tensor([1.0, 2.0]), [1.0, 2.00005])
    assert not plain.is_close(torch.tensor([1.0, 2.0]), [1.0, 2.001])
    assert plain.is_close(torch.tensor([1.0, 2.0]), [1.0, 2.001], within=0.01)
    assert not plain.is_close(torch.ones(2, 1), torch.ones(2))
    assert not plain.is_close(math.nan, math.nan)
    assert plain.is_close(3, torch.tensor(3.0)) and plain.is_close(np.float32(0.5), 0.5)
    assert plain.is_close(torch.tensor([True, False]), [True, False])
    assert plain.is_close(["a", "b"], ["a", "b"]) and not plain.is_close(["a"], ["b"])
    assert not plain.is_close([[1.0], [2.0, 3.0]], [[1.0], [2.0]])
    assert not plain.is_close("one", 1.0) and not plain.is_close(1.0, "one")


def test_plain_numbers():
    assert plain.shown(torch.tensor([0.25, 1.0])) == "[0.250, 1.000]" and plain.shown([[1, True]]) == "[[1, True]]"
    assert plain.shown(list(range(20))).endswith("11, ...]")
    assert plain.softmax([-math.inf, -math.inf]) == [0.0, 0.0]
    scores = torch.tensor([1000.0, 1001.0, -math.inf], dtype=torch.float64)
    assert plain.is_close(plain.softmax(scores.tolist()), scores.softmax(-1), within=1e-9)
    one, other = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(3, 4)
    assert plain.product(one.tolist(), other.tolist()) == (one @ other).tolist()
    assert plain.transposed(one.tolist()) == one.T.tolist()
    assert plain.table((2, 3), lambda row, column: 3 * row + column) == one.tolist()


def test_the_first_mistake_with_the_same_numbers_is_named():
    right, asked = torch.tensor([1.0, 2.0]), []
    mistakes = {"doubled.": lambda: asked.append(1) or 2 * right, "also doubled.": 2 * right, "halved.": right / 2}
    matches(right.clone(), right, mistakes)
    assert not asked, "a right answer is compared with no mistake"
    assert diagnosis(matches, 2 * right, right, mistakes) == "doubled."
    assert diagnosis(matches, right / 2, right, list(mistakes.items())) == "halved."
    assert diagnosis(matches, torch.tensor([5.0, 0.0]), right, mistakes, otherwise="no.") == "no."
    assert diagnosis(matches, torch.tensor([5.0, 0.0]), right, otherwise=lambda: "late.") == "late."


def test_the_first_row_that_is_off_is_shown():
    right = torch.zeros(2, 2, 2)
    answer = right.clone()
    answer[1, 0, 1] = 0.5
    said = diagnosis(matches, answer, right, axes=("sentence", "row"))
    assert said == "sentence 1, row 0 should be [0.000, 0.000]; yours: [0.000, 0.500]."


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda x: x.softmax(0), "Your sums of 1 run along axis 0"),
        (lambda x: x.softmax(-1).T, "Your axes 0 and 1 are exchanged."),
        (lambda x: -x.softmax(-1), "Your signs are the other way round."),
        (lambda x: 3 * x.softmax(-1), "All your numbers are 3 times the right ones."),
        (lambda x: x.softmax(-1) - 2, "All your numbers are off by -2."),
        (lambda x: x.softmax(-1) * math.nan, "There is a NaN in your answer."),
    ],
)
def test_what_all_wrong_numbers_share_is_said(answer, said):
    x = torch.randn(3, 3, generator=torch.Generator().manual_seed(1))
    assert said in diagnosis(matches, answer(x), x.softmax(-1))


def test_numbers_that_share_nothing_are_only_shown():
    assert diagnosis(matches, torch.tensor([1.0, 5.0]), [1.0, 2.0]).endswith("yours: [1.000, 5.000].")


# ---- crashes ----


def crash(source, *arguments):
    """What is said of a function that was written in a notebook cell."""
    source = "import torch\nimport torch.nn.functional as F\n\n" + source
    name = "/tmp/ipykernel_1/cell.py"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace = {}
    exec(compile(source, name, "exec"), namespace)
    with pytest.raises(Exception) as error:
        namespace["f"](*arguments)
    return crashes.explain_crash(error.value)


ONE, OTHER = torch.ones(2, 3), torch.ones(2, 4, 5)
CRASHES = [
    ("return x @ x", [ONE], ["line 5 of your code: `return x @ x`, with x (2, 3)", "is a transpose missing"]),
    ("return scores @ values", [ONE, OTHER], ["with scores (2, 3), values (2, 4, 5)", "is a transpose missing"]),
    ("return scores @ values", [torch.ones(2, 4, 4), torch.ones(2, 4)], ["`values[:, :, None]`"]),
    ("return x^2", [ONE], ["`^` is no power in Python"]),
    ("return scores * values", [torch.ones(2, 3), torch.ones(3, 4)], ["the matrix product is `@`: `scores @ values`"]),
    ("return scores * values", [torch.ones(3), torch.ones(3, 4)], ["`scores @ values`. Or", "`scores.unsqueeze(-1)`"]),
    ("return x / total", [torch.ones(2, 4), torch.ones(2)], ["`total` has the shape of `x` without", "keepdim=True"]),
    ("return x / x.sum(-1)", [ONE], ["takes its axis away: `keepdim=True`"]),
    ("return x + y", [torch.ones(2), torch.ones(3)], ["two shapes do not broadcast"]),
    ("return x[2]", [ONE], ["indices go from 0"]),
    ("return x[2]", [[1, 2]], ["indices go from 0"]),
    ("return x.sum(2)", [ONE], ["this axis does not exist"]),
    ("return x + None", [1], ["a function without `return`"]),
    ("return x.shape", [None], ["a function without `return`"]),
    ("return x @ y", [ONE, ONE.T.double()], ["`x.to(y.dtype)`"]),
    ("return x.softmax(-1)", [torch.ones(3, dtype=torch.long)], ["`.float()`"]),
    ("return x.masked_fill(x > 0, -1e9)", [ONE.half()], ['`float("-inf")` fits']),
    ("x += 1", [torch.ones(2, requires_grad=True)], ["changed in place"]),
    ("return F.cross_entropy(x, y)", [torch.ones(2, 4, 5), torch.ones(2, 4).long()], ["`logits.transpose(1, 2)`"]),
    ("return F.cross_entropy(x, y.flatten())", [OTHER, torch.ones(2, 4).long()], ["`logits.flatten(0, 1)`"]),
    ("return F.cross_entropy(y, x)", [OTHER, torch.ones(2, 4).long()], ["the logits first, and then the labels"]),
    ("return F.cross_entropy(x, y)", [torch.ones(10, 9), torch.ones(6).long()], ["as many labels as rows of logits"]),
    ("return F.cross_entropy(x, y)", [torch.ones(10, 9), torch.ones(9).long()], ["one row of logits has no label"]),
    ("return F.cross_entropy(x, y)", [torch.ones(10, 9), torch.ones(2, 5).long()], ["`labels.flatten()`"]),
    ("return F.cross_entropy(x.transpose(1, 2), y)", [OTHER, torch.ones(2, 3).long()], ["as many labels as rows"]),
    ("return x & y", [torch.ones(4, 4) > 0, torch.ones(2, 1, 1, 5) > 0], ["join masks of the same queries and keys"]),
    ("return x & y", [torch.ones(2, 4) > 0, torch.ones(2) > 0], ["`y` has the shape of `x` without"]),
    ("return 1 if x > 0 else 2", [ONE], ["write `&`, `|`, `~`"]),
    ("assert x == y", [ONE, ONE], ["`assert` wants one truth value", "`(a == b).all()`"]),
    ("return 1 - x", [ONE > 0], ["write `~`"]),
    ("return x @ y.T", [OTHER, OTHER], ["`.T` reverses *all* axes"]),
    ("return x[..., :5] @ y[..., :5].T", [OTHER, OTHER], ["`.T` reverses *all* axes"]),
    ("return x @ y.T", [OTHER, torch.ones(3, 4)], ["is a transpose missing"]),
    ("return x.T.view(6)", [ONE], ["`reshape` can"]),
    ("return x.view(4, 2)", [ONE], ["another number of entries"]),
    ("return float(x)", [ONE], ["one number is wanted here"]),
    ("return 1 / x", [0], ["a count or a length is 0"]),
    ("return keys", [1], ["a misspelt name"]),
    ("return x[x[0, :2] > 0]", [torch.ones(3, 2)], ["`masked_fill(mask, value)` does"]),
]


@pytest.mark.filterwarnings("ignore:The use of `x.T`")
@pytest.mark.parametrize(("body", "arguments", "told"), CRASHES)
def test_a_crash_names_the_line_the_shapes_and_the_slip(body, arguments, told):
    names = "scores, values" if "scores" in body else ", ".join("x y".split()[: len(arguments)])
    names = "x, total" if "total" in body else names
    said = crash(f"def f({names}):\n    {body}\n", *arguments)
    assert said.startswith("your code stopped with ") and "\n  line 5 of your code: `" in said
    assert said.count("\n") <= 2 and all(text in said for text in told), said


def test_the_learners_innermost_line_counts():
    said = crash("def g(y):\n    return y.sum(7)\n\n\ndef f(x):\n    return g(x)\n", ONE)
    assert "line 5 of your code: `return y.sum(7)`, with y (2, 3)" in said


def test_code_without_its_text_is_told_by_the_number_of_its_line():
    namespace = {}
    exec("def f(x, y):\n    return x @ y", namespace)
    with pytest.raises(RuntimeError) as error:
        namespace["f"](ONE, OTHER)
    assert "\n  line 2 of your code, with x (2, 3), y (2, 4, 5)\n" in crashes.explain_crash(error.value)


def test_the_report_never_raises_and_runs_nothing_again(capsys):
    class Strange(Exception):
        def __str__(self):
            raise RuntimeError

    calls = []

    def crashes_once(x):
        calls.append(x)
        raise Strange

    assert said_by(check("0.0", "none")(lambda f: f(1)), crashes_once, capsys).endswith("stopped with Strange.\n")
    assert calls == [1]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda: 1, "Perhaps: keep the parameters of the function as the exercise gives them"),
        (lambda x: x, "the check could not use your answer, and stopped with TypeError"),
    ],
)
def test_a_crash_outside_the_learners_code(answer, told, capsys, monkeypatch):
    monkeypatch.setattr(crashes, "LIBRARIES", (*crashes.LIBRARIES, __file__))  # this file stands for the check's
    said = said_by(check("0.0", "none")(lambda f: len(f(1))), answer, capsys)
    assert told.lower() in said.lower()
