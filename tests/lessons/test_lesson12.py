"""The checks of lesson 12 judge tests: right ones of every kind, and wrong ones with their own diagnosis."""

import ast
import functools
import inspect
import itertools
import random
import re
from pathlib import Path

import nbformat
import pytest
import torch
import torch.nn.functional as F

from answers import judged, variants
from seqlearn.exercises import judging, lesson12, lesson12_models

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "12-find-the-bug.ipynb"


# ---- 12.1 ----


def all_sizes(positions):
    for steps, width in itertools.product((1, 7, 1500), (1, 2, 5, 8)):
        assert tuple(positions(steps, width).shape) == (steps, width)


def with_torch_testing(positions):
    for steps, width in [(3, 5), (1001, 3)]:
        torch.testing.assert_close(torch.tensor(positions(steps, width).shape), torch.tensor([steps, width]))


def with_a_message(positions):
    table = positions(1200, 7)
    if table.shape[0] != 1200 or table.shape[1] != 7:
        raise AssertionError(f"the shape is {table.shape}")


def another_error(positions):
    if positions(2000, 4).shape != (2000, 4):
        raise ValueError("wrong shape")
    assert positions(3, 5).shape == (3, 5)


def always_fails(positions):
    positions(3, 4)
    assert False, "always"  # noqa: B011  a learner's mistake


sizes, COMPARED = variants(all_sizes), "tuple(positions(steps, width).shape) == (steps, width)"

SHAPES = [
    (all_sizes, "right!"),
    (with_torch_testing, "right!"),
    (with_a_message, "right!"),
    (
        sizes("(1, 2, 5, 8)", "(2, 4, 6)"),
        "passes the buggy code of this section. It stops at the widths 3, 5, 7, ...: does your test try one?",
    ),
    (sizes("(1, 2, 5, 8)", "(1, 4)"), "does your test try one?"),
    (sizes("1500", "10"), "never has more than 1,000 rows"),
    (
        sizes(COMPARED, "positions(steps, width).shape[1] == width"),
        "Compare the number of rows, too, above 1,000 steps.",
    ),
    (sizes(COMPARED, "len(positions(steps, width)) == steps"), "a column too many"),
    (sizes("assert ", ""), "there is no `assert` in it"),
    (sizes("assert ", "return "), "your test returns True, and nobody looks"),
    (another_error, "stops with ValueError"),
    (
        sizes(COMPARED, f"{COMPARED} and positions(2, 4)[0].tolist() == [0, 1, 0, 1]"),
        "fails on right code (the columns stand in another order",
    ),
    (
        sizes(COMPARED, "len(positions(steps, width)) == steps and positions(steps, width).shape[1] <= width"),
        "a column too few",
    ),
    (
        sizes(COMPARED, f"{COMPARED} and positions(2, 4)[0, 0] == 0"),
        "fails on right code (it returns learned positions",
    ),
    (
        sizes(COMPARED, f"{COMPARED} and positions(steps, width).dtype == torch.float32"),
        "fails on right code (it computes in float64)",
    ),
    (always_fails, "fails on right code (a plain program), at `assert False"),
    (sizes(".shape", ".shapes"), "your code stopped with AttributeError"),
    (sizes("(positions):", "(positions, steps, width):"), "a test has one parameter"),
    (sizes("positions(steps, width)", "torch.zeros(steps, width)"), "never calls the code that it gets"),
    (torch.zeros(2), "yours is of type Tensor"),
    ("test_shape", "yours is of type str"),
]


test_shapes = pytest.mark.slow(judged(lesson12.check_shape, "12.1", SHAPES))


# ---- 12.2 ----

TARGET = torch.tensor([[1, 5, 6, 7, 2], [1, 8, 9, 2, 0]])


def both_by_hand(make):
    inputs, labels = make(TARGET)
    assert inputs.tolist() == [[1, 5, 6, 7], [1, 8, 9, 2]]
    assert labels.tolist() == [[5, 6, 7, 2], [8, 9, 2, 0]]


INPUTS, SHIFTED = "inputs.tolist() == [[1, 5, 6, 7], [1, 8, 9, 2]]", "labels.tolist() == [[5, 6, 7, 2], [8, 9, 2, 0]]"
by_hand = variants(both_by_hand)


def as_tensors(inputs_and_labels):
    inputs, labels = inputs_and_labels(TARGET)
    assert torch.equal(inputs, torch.tensor([[1, 5, 6, 7], [1, 8, 9, 2]]))
    assert (labels == TARGET[:, 1:]).all()


def by_positions(inputs_and_labels):
    inputs, labels = inputs_and_labels(TARGET)
    assert inputs.shape == labels.shape == (2, 4)
    for row, column in itertools.product(range(2), range(4)):
        assert inputs[row, column] == TARGET[row, column] and labels[row, column] == TARGET[row, column + 1]


LABELS = [
    (both_by_hand, "right!"),
    (as_tensors, "right!"),
    (by_positions, "right!"),
    (
        by_hand("TARGET", "torch.ones(2, 5, dtype=torch.long)", INPUTS, "True", SHIFTED, "(labels == inputs).all()"),
        "are the right labels different from the inputs?",
    ),
    (by_hand(INPUTS, "True"), "the *inputs* have moved with them"),
    (by_hand(SHIFTED, "True"), "And does your test look at the numbers of the labels?"),
    (
        by_hand(INPUTS, "True", SHIFTED, "not torch.equal(inputs, labels)"),
        "lets another form of it pass: the inputs are one token ahead",
    ),
    (
        by_hand(INPUTS, "(inputs[:, 0] == 1).all()", SHIFTED, "(labels[:, 0] != 1).all()"),
        "the labels are *two* tokens ahead",
    ),
    (by_hand(INPUTS, "True", SHIFTED, "(inputs[:, 1:] == labels[:, :-1]).all()"), "the last token is lost, in inputs"),
    (by_hand(INPUTS, "True", SHIFTED, "inputs.shape == labels.shape"), "There the labels equal the inputs"),
    (
        by_hand("TARGET", "TARGET[:1]", ", [1, 8, 9, 2]]", "]", ", [8, 9, 2, 0]]", "]"),
        "the first sentence is right, the others are not shifted",
    ),
    (
        by_hand(INPUTS, f"{INPUTS} and isinstance(make(TARGET), tuple)"),
        "fails on right code (it returns copies, in a list)",
    ),
    (by_hand(INPUTS, "inputs == TARGET[:, :-1]"), "`assert` wants one truth value: `torch.allclose(a, b)`"),
    (by_hand(INPUTS, "True", SHIFTED, "inputs.tolist() == labels.tolist()"), "the wrong way round"),
    (lambda inputs_and_labels: both_by_hand(inputs_and_labels) or "fine", "your test returns a str"),
]


test_labels = judged(lesson12.check_labels, "12.2", LABELS)


# ---- 12.3 ----


def clone_and_compare(masked_softmax):
    scores = torch.randn(3, 5)
    before = scores.clone()
    masked_softmax(scores, torch.tensor([2, 4, 1]))
    assert torch.equal(scores, before)


def as_lists(masked_softmax):
    scores = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    masked_softmax(scores, torch.tensor([1, 2]))
    assert scores.tolist() == [[1, 2, 3], [4, 5, 6]]


def same_answer_twice(masked_softmax):
    scores, lens = torch.randn(3, 5), torch.tensor([2, 4, 1])
    assert torch.allclose(masked_softmax(scores, lens), masked_softmax(scores, lens))


def rows_sum_to_one(masked_softmax):
    assert torch.allclose(masked_softmax(torch.randn(2, 5), torch.tensor([2, 4])).sum(-1), torch.ones(2))


cloned, UNCHANGED = variants(clone_and_compare), "torch.equal(scores, before)"
HALF = "masked_softmax(torch.zeros(1, 2), torch.tensor([1]))"

SCORES = [
    (clone_and_compare, "right!"),
    (as_lists, "right!"),
    (cloned("equal", "allclose", "torch.randn(3, 5)", "torch.arange(15.0).view(3, 5)"), "right!"),
    (cloned("scores.clone()", "scores"), "`before = scores` makes no copy"),
    (cloned("[2, 4, 1]", "[5, 5, 5]"), "the lengths in your test mask nothing"),
    (same_answer_twice, "or you compare two results"),
    (cloned("torch.randn(3, 5)", "torch.zeros(3, 5)"), "it subtracts the largest score"),
    (
        cloned("torch.randn(3, 5)", "torch.arange(15.0).view(3, 5) / 5", UNCHANGED, "(scores.diff(dim=-1) > 0).all()"),
        "it writes `exp` of each score",
    ),
    (
        cloned(UNCHANGED, f"{UNCHANGED} and torch.allclose({HALF}, torch.tensor([[1.0, 0.0]]))"),
        "on right code (it computes in float64) your code stopped with RuntimeError",
    ),
    (
        cloned(UNCHANGED, f"{UNCHANGED} and {HALF}.dtype == torch.float32"),
        "fails on right code (it computes in float64)",
    ),
    (cloned(UNCHANGED, "torch.equal(scores[0], before[0])"), "it writes into the last row only"),
    (rows_sum_to_one, "passes the buggy code of this section"),
    (
        cloned(UNCHANGED, "torch.equal(masked_softmax(scores, torch.tensor([2, 4, 1])), before)"),
        "Compare the scores before with the scores after",
    ),
    (cloned("assert ", ""), "there is no `assert` in it"),
    (lambda masked_softmax: clone_and_compare, "your test returns a function"),
]


test_scores = pytest.mark.slow(judged(lesson12.check_scores_stay, "12.3", SCORES))


# ---- 12.4 ----


def drawn():
    return torch.randn(2, 3, 4), torch.randn(2, 6, 4), torch.randn(2, 6, 4)


def changed_padding(attend):
    queries, keys, values = drawn()
    lens = torch.tensor([4, 2])
    before = attend(queries, keys, values, lens)
    new_keys, new_values = keys.clone(), values.clone()
    for row, length in enumerate(lens):
        new_keys[row, length:], new_values[row, length:] = 9.0, -9.0
    after = attend(queries, new_keys, new_values, lens)
    assert torch.allclose(before, after)


padded = variants(changed_padding)


def in_place(attend):
    queries, keys, values = drawn()
    before = attend(queries, keys, values, torch.tensor([5, 1])).clone()
    keys[0, 5:] = values[0, 5:] = 3.0
    keys[1, 1:] = values[1, 1:] = 4.0
    torch.testing.assert_close(attend(queries, keys, values, torch.tensor([5, 1])), before, atol=1e-5, rtol=1e-5)


def against_a_loop(attend):
    (queries, keys, values), lens = drawn(), (5, 2)
    contexts = attend(queries, keys, values, torch.tensor(lens))
    for row, n in enumerate(lens):
        weights = (queries[row] @ keys[row, :n].T / 2).softmax(-1)
        assert (contexts[row] - weights @ values[row, :n]).abs().max() < 1e-5


def added_padding(attend):
    queries, keys, values = drawn()
    lens = torch.tensor([6, 6])
    longer = [torch.cat([tensor, torch.full((2, 3, 4), 2.0)], dim=1) for tensor in (keys, values)]
    assert torch.allclose(attend(queries, keys, values, lens), attend(queries, *longer, lens), atol=1e-5)


def lucky_padding(attend):
    if torch.rand(1) < 0.6:
        attend(*drawn(), torch.tensor([4, 2]))
    else:
        changed_padding(attend)


PADDING = [
    (changed_padding, "right!"),
    (padded("new_keys, new_values, lens", "keys=new_keys, values=new_values, lens=lens"), "right!"),
    (in_place, "right!"),
    (padded("[4, 2]", "[3, 1]"), "right!"),
    (padded("[4, 2]", "[1, 3]"), "Put a long sentence first"),
    (padded("[4, 2]", "[6, 6]"), "Does your test have padding"),
    (padded("[4, 2]", "[3, 3]"), "the length of the first sentence for all"),
    (padded("new_keys, new_values, lens", "keys, new_values, lens"), "Change the keys of the padding"),
    (padded("enumerate(lens)", "enumerate([5, 5])"), "one column too late"),
    (
        variants(against_a_loop)("(5, 2)", "(2, 5)", "enumerate(lens)", "[(1, 5)]"),
        "only what is padding in every sentence",
    ),
    (padded("before, after", "before[:1], after[:1]"), "and compare both."),
    (padded(", -9.0", ", torch.nan"), "do not fill the padding with infinity or NaN"),
    (padded("torch.allclose(before, after)", "before.shape == after.shape"), "Does your test have padding"),
    (padded("9.0, -9.0", "0.0, 0.0"), "right!"),
    (padded("new_keys, new_values, lens", "new_keys, values, lens"), "Change the values of the padding, too."),
    (
        padded("enumerate(lens)", "enumerate([4, 4])"),
        "Put a long sentence first, change *all* the padding of the short one behind it",
    ),
    (added_padding, "uses the length of the first sentence"),
    (variants(against_a_loop)("abs().max() < 1e-5", "eq(0).all()"), "`torch.allclose`"),
    (against_a_loop, "right!"),
    (lucky_padding, "depends on luck"),
    (lambda attend: attend(torch.zeros(1, 2, 3), 1, 1, 1), "your code stopped with AttributeError"),
]


test_padding = pytest.mark.slow(judged(lesson12.check_padding, "12.4", PADDING))


# ---- 12.5 ----

TOKENS, LENS = torch.tensor([[4, 5, 0, 0], [6, 7, 8, 9], [3, 2, 7, 0]]), torch.tensor([2, 4, 3])


def alone_and_together(encode):
    tokens, lens = (whole[[0, 1, 2]] for whole in (TOKENS, LENS))
    together = encode(tokens, lens)
    for row in range(len(lens)):
        alone = encode(tokens[[row], : lens[row]], lens[[row]])[0]
        assert torch.allclose(alone, together[row])


def shuffled_batch(encode):
    order = [2, 0, 1]
    assert torch.allclose(encode(TOKENS, LENS)[order], encode(TOKENS[order], LENS[order]), atol=1e-5)


def more_padding(encode):
    wider = F.pad(TOKENS, (0, 3))
    assert torch.allclose(encode(TOKENS, LENS), encode(wider, LENS), atol=1e-5)


def alone_with_padding(encode):
    assert torch.allclose(encode(TOKENS[:1], LENS[:1])[0], encode(TOKENS, LENS)[0], atol=1e-5)


def equal_lengths(encode):
    tokens = torch.tensor([[1, 2], [3, 4]])
    together = encode(tokens, torch.tensor([2, 2]))
    assert torch.allclose(encode(tokens[:1], torch.tensor([2])), together[:1], atol=1e-5)


both = variants(alone_and_together)

NEIGHBOURS = [
    (alone_and_together, "right!"),
    (
        both(
            "(whole[[0, 1, 2]] for whole in (TOKENS, LENS))",
            "(F.pad(TOKENS, (0, 1, 0, 1), value=3), torch.tensor([2, 1, 3, 5]))",
            "torch.allclose(alone, together[row])",
            "(alone - together[row]).abs().max() < 1e-4",
        ),
        "right!",
    ),
    (lambda encode: alone_and_together(encode) or shuffled_batch(encode), "right!"),
    (
        both("[0, 1, 2]", "[1, 2, 0]"),
        "it sorts the sentences by length",
    ),
    (both("range(len(lens))", "[1]"), "passes the buggy code of this section"),
    (
        both("[0, 1, 2]", "[1, 0, 2]", "range(len(lens))", "[0]"),
        "Does a short sentence stand beside",
    ),
    (
        both("[0, 1, 2]", "[0, 1]", "range(len(lens))", "[0]"),
        "it takes the step at which the *first*",
    ),
    (both("torch.allclose", "torch.equal"), "`torch.allclose`"),
    (
        both("lens[[row]])[0]", "lens[[row]])", "together[row]", "together"),
        "compare row i with the sentence alone, by `torch.allclose`.",
    ),
    (both("alone, together[row]", "alone[:8], together[row, :8]"), "backwards it begins in the padding"),
    (
        both("together[row])", "together[row]) and together.shape == (3, 8)"),
        "fails on right code (it reads in both directions",
    ),
    (shuffled_batch, "Does a short sentence stand beside"),
    (more_padding, "the *longest* sentence of the batch ends"),
    (equal_lengths, "Does a short sentence stand beside a longer one"),
    (alone_with_padding, "cut to its own length where it stands alone"),
    (lambda encode: encode(TOKENS, LENS).allclose(encode(TOKENS, LENS)), "your test returns True"),
    (lambda encode: print(encode(TOKENS, LENS)), "there is no `assert` in it"),
]


test_neighbours = pytest.mark.slow(judged(lesson12.check_neighbours, "12.5", NEIGHBOURS))


# ---- 12.6 ----


def changed_future(look_back):
    x = torch.randn(2, 5, 4)
    for t in (1, 2, 3, 4):
        changed, seen = x.clone(), slice(0, t)
        changed[:, t:] += 1
        assert torch.allclose(look_back(changed)[:, seen], look_back(x)[:, seen])


future = variants(changed_future)


def by_prefixes(look_back):
    x = torch.randn(3, 6, 8)
    whole = look_back(x)
    for t in range(1, 7):
        torch.testing.assert_close(look_back(x[:, :t]), whole[:, :t], atol=1e-4, rtol=1e-4)


def by_gradients(look_back):
    x = torch.randn(2, 5, 4, requires_grad=True)
    for t in range(5):
        (gradient,) = torch.autograd.grad(look_back(x)[:, t].square().sum(), x)
        assert not gradient[:, t + 1 :].any()


FUTURE = [
    (changed_future, "right!"),
    (by_prefixes, "right!"),
    (by_gradients, "right!"),
    (future("(1, 2, 3, 4)", "(2, 3)"), "right!"),
    (future("slice(0, t)", "slice(0, t - 1)"), "compare the position right"),
    (future("slice(0, t)", "slice(t - 1, t)", "(1, 2, 3, 4)", "(3,)"), "its mask also hides"),
    (future("randn(2", "randn(1"), "the first sentence of the batch only"),
    (future("slice(0, t)", "slice(0, t + 1)"), "may change itself"),
    (future("+= 1", "= torch.nan"), "do not put infinity or NaN"),
    (future("(1, 2, 3, 4)", "(5,)"), "sees one step ahead"),
    (future("look_back(x)[:, seen]", "look_back(x)[:, seen], atol=9"), "sees one step ahead"),
    (
        future("slice(0, t)", "slice(t, None)"),
        "fails on right code (a plain program)",
    ),
    (lambda look_back: look_back(torch.randn(2, 5, 4))[:, 0] == 0, "your test returns a Tensor"),
    (lambda look_back: changed_future(lambda x: torch.zeros(1)), "your code stopped with IndexError"),
]


test_future = pytest.mark.slow(judged(lesson12.check_future, "12.6", FUTURE))


# ---- 12.7 ----


def one_by_one(decoder):
    tokens, memory = torch.randint(20, (2, 6)), torch.randn(2, 8)
    whole, _ = decoder(tokens, decoder.init_state(memory))
    state, parts = decoder.init_state(memory), []
    for column in tokens.split(1, dim=1):
        logits, state = decoder(column, state)
        parts.append(logits)
    assert torch.allclose(torch.cat(parts, dim=1), whole)


steps = variants(one_by_one)
memory_as_state = steps(
    "tokens, decoder.init_state(memory)", "tokens, memory", "= decoder.init_state(memory)", "= memory"
)


def in_two_calls(decoder):
    tokens, memory = torch.randint(20, (3, 9)), torch.randn(3, 8)
    whole, _ = decoder(tokens, decoder.init_state(memory))
    for cut in (1, 3, 5):
        first, state = decoder(tokens[:, :cut], decoder.init_state(memory))
        second, _ = decoder(tokens[:, cut:], state)
        torch.testing.assert_close(torch.cat([first, second], dim=1), whole, atol=1e-4, rtol=1e-4)


def last_logits(decoder):
    tokens, memory = torch.randint(20, (2, 8)), torch.randn(2, 8)
    state = decoder.init_state(memory)
    for step in range(8):
        logits, state = decoder(tokens[:, step : step + 1], state)
        whole, _ = decoder(tokens[:, : step + 1], decoder.init_state(memory))
        assert (logits[:, 0] - whole[:, -1]).abs().max() < 1e-4


STEPS = [
    (one_by_one, "right!"),
    (in_two_calls, "right!"),
    (last_logits, "right!"),
    (steps("(2, 6)", "(2, 1)"), "give the tokens in several calls"),
    (steps("cat(parts, dim=1), whole", "cat(parts[:1]), whole[:, :1]"), "It is right in its first call"),
    (steps("(2, 6)", "(2, 3)"), "after four steps"),
    (steps("(2, 6)", "(1, 6)", "(2, 8)", "(1, 8)"), "the state of the first one"),
    (
        steps("randint(20, (2, 6))", "randint(20, (1, 6)).expand(2, -1)", "randn(2, 8)", "randn(1, 8).expand(2, -1)"),
        "with different memories",
    ),
    (steps("whole, _ =", "whole, last =", "= decoder.init_state(memory)", "= last"), "begins with one fresh"),
    (steps("logits, state", "logits, _"), "fails on right code"),
    (steps("torch.allclose", "torch.equal"), "`torch.allclose`"),
    (
        steps("torch.allclose(torch.cat(parts, dim=1), whole)", "torch.cat(parts, dim=1).shape == whole.shape"),
        "hand the state on",
    ),
    (memory_as_state, "comes from `decoder.init_state(memory)` or from the call before; here you passed a tensor"),
    (
        variants(always_fails)("positions(3, 4)", "positions.init_state(torch.randn(2, 8))", "False", "True"),
        "never calls the code that it gets",
    ),
    (lambda decoder: decoder(torch.zeros(2), 3), "`tokens[:, t : t + 1]` keeps the axis"),
    (lambda decoder: decoder(torch.zeros(1, 2), 3), "your code stopped with TypeError"),
]


test_steps = pytest.mark.slow(judged(lesson12.check_steps, "12.7", STEPS))


@pytest.mark.parametrize("decoder", [lesson12_models.Decoder(), lesson12_models.Rereads()])
def test_memory_is_no_state(decoder, recwarn):
    with pytest.raises(ValueError, match="here you passed a tensor, such as `memory`"):
        memory_as_state(decoder)
    assert not recwarn


# ---- 12.8 ----


def log_prob(table, sentence, start=(0,)):
    return sum(table[last][token] for last, token in itertools.pairwise((*start, *sentence)))


def try_all(search):
    log_probs = torch.randn(8, 4, 4).log_softmax(-1)
    found = search(log_probs, 3, 64).tolist()
    for table, sentence in zip(log_probs.tolist(), found, strict=True):
        best = max(itertools.product(range(4), repeat=3), key=functools.partial(log_prob, table, start=[0]))
        assert log_prob(table, sentence) > log_prob(table, best) - 1e-5


def by_totals(search):
    """Equal totals are as good as equal sentences."""
    tables = torch.randn(6, 3, 3).log_softmax(-1)
    for table, sentence in zip(tables, search(tables, 4, 81), strict=True):
        every = torch.tensor(list(itertools.product(range(3), repeat=4)))
        totals = sum(table[before, after] for before, after in zip(F.pad(every, (1, 0)).T, every.T, strict=False))
        own = sum(table[a, b] for a, b in zip([0, *sentence], sentence, strict=False))
        assert abs(own - totals.max()) < 1e-5


def viterbi(search):
    tables = torch.randn(10, 4, 4).log_softmax(-1)
    for table, sentence in zip(tables.tolist(), search(tables, 4, 256).tolist(), strict=True):
        best = {0: (0.0, [])}
        for _ in range(4):
            best = {
                new: max((total + table[last][new], [*path, new]) for last, (total, path) in best.items())
                for new in range(4)
            }
        total, _ = max(best.values())
        assert abs(log_prob(table, sentence) - total) < 1e-5


def one_of_the_best(search):
    """A set of all best sentences is right, too."""
    tables = torch.rand(8, 3, 3).log()
    for table, sentence in zip(tables.tolist(), search(tables, 3, 27).tolist(), strict=True):
        totals = {s: log_prob(table, s) for s in itertools.product(range(3), repeat=3)}
        assert tuple(sentence) in {s for s, total in totals.items() if total > max(totals.values()) - 1e-6}


def alone_or_together(search):
    tables = torch.randn(8, 4, 4).log_softmax(-1)
    alone = [search(table[None], 3, 64)[0].tolist() for table in tables]
    assert search(tables, 3, 64).tolist() == alone


tried = variants(try_all)
single = tried("8, 4, 4", "1, 4, 4")


def one_table(search):
    for _ in range(8):
        single(search)


GOOD, SAME = "log_prob(table, sentence) > log_prob(table, best) - 1e-5", "tuple(sentence) == best"
DRAWN = "torch.randn(8, 4, 4).log_softmax(-1)"
ANOTHER_BEST = "of those that are equally good it returns the"

SEARCHES = [
    (try_all, "right!"),
    (by_totals, "right!"),
    (viterbi, "right!"),
    (one_of_the_best, "right!"),
    # With these tables no two sentences are equally good, so sentences may be compared.
    (tried(GOOD, SAME, "log_probs = ", "torch.manual_seed(0)\n    log_probs = "), "right!"),
    (tried(DRAWN, "torch.zeros(1, 4, 4)"), "passes the buggy code"),
    (one_table, "passes the buggy code of this section. It is right for the first sentence"),
    (
        tried("(log_probs.tolist(), found, strict=True)", "(log_probs[:1].tolist(), found, strict=False)"),
        "search for eight tables",
    ),
    (tried("> log_prob(table, best) - 1e-5", "<= log_prob(table, best)"), "Is it *as good as* the best?"),
    (tried("64", "2"), "Is `width = vocabulary ** steps`?"),
    (tried("[0]", "[]", GOOD, SAME), "Does each sentence begin after token 0?"),
    (tried(GOOD, "sentence == best"), "a list never equals a tuple"),
    (tried(DRAWN, "torch.zeros(8, 4, 4)", GOOD, SAME), "several sentences may be equally good"),
    (tried(GOOD, SAME), ANOTHER_BEST),
    (tried(GOOD, SAME, "randn", "rand"), ANOTHER_BEST),
    (
        variants(viterbi)(
            "total, _ =", "_, path =", "abs(log_prob(table, sentence) - total) < 1e-5", "sentence == path"
        ),
        ANOTHER_BEST,
    ),
    (alone_or_together, "the *least* likely of its hypotheses"),
    (single, "It is right for the first sentence"),
    (lambda search: search(torch.randn(8, 4, 4), 3, 64).shape == (8, 3), "your test returns True"),
    (lambda search: search(torch.randn(8, 4, 4), 3, 64), "your test returns a Tensor"),
    (lambda search: search(torch.randn(8, 4), 3, 64), "your code stopped with IndexError"),
]


test_searches = pytest.mark.slow(judged(lesson12.check_search, "12.8", SEARCHES))


@pytest.mark.parametrize(("vocab", "steps"), [(2, 3), (3, 3), (4, 3), (5, 3), (3, 4), (4, 4), (5, 4)])
def test_usual_tables_with_the_seeds_of_ties_have_several_best_sentences(vocab, steps):
    def both(seed):
        torch.manual_seed(seed)
        tables = torch.randn(8, vocab, vocab).log_softmax(-1)
        return [
            find(tables, steps, vocab**steps) for find in (lesson12_models.try_all, lesson12_models.try_all_backwards)
        ]

    assert any(not torch.equal(*both(seed)) for seed in lesson12_models.SEEDS_WITH_TIES)


# ---- 12.9 ----


def corpus_of(n, each=3):
    return [(f"sentence {i // each}", f"phrase {i}") for i in range(n)]


def no_sentence_twice(split):
    for pairs in map(corpus_of, range(10, 40)):
        train, test = split(pairs)
        assert not {english for english, _ in train} & {english for english, _ in test}
        assert sorted([*train, *test]) == sorted(pairs)


OVERLAP, SORTED = (
    "{english for english, _ in train} & {english for english, _ in test}",
    "sorted([*train, *test]) == sorted(pairs)",
)
SEVERAL = "map(corpus_of, range(10, 40))"
splits = variants(no_sentence_twice)


def with_a_loop(split):
    for n in range(12, 40):
        pairs = [(str(i // 4), str(i)) for i in range(n)]
        train, test = split(pairs)
        known = [english for english, _ in train]
        for pair in test:
            assert pair[0] not in known
            assert pair not in train
        for pair in pairs:
            assert (pair in train) != (pair in test)


def mixed_corpus(seed):
    draw = random.Random(seed)
    return [(f"s{i}", f"{i}.{k}") for i in range(30) for k in range(draw.choice((1, 2, 5)))]


SPLITS = [
    (no_sentence_twice, "right!"),
    (with_a_loop, "right!"),
    (splits(SEVERAL, "map(mixed_corpus, range(20))"), "right!"),
    (splits(SEVERAL, "[corpus_of(n, each=1) for n in range(10, 40)]"), "stand in several pairs?"),
    (splits(SEVERAL, "[corpus_of(30)]"), "between two translations of one sentence"),
    (splits(SORTED, "True"), "throws the other pairs away"),
    (
        splits(OVERLAP, "set(train) & set(test)", SORTED, "True"),
        "do you compare the *English sentences* of both parts, not the pairs?",
    ),
    (
        splits(OVERLAP, "{english for english, _ in test} & set(train)"),
        "do you compare the *English sentences* of both parts, not the pairs?",
    ),
    (
        splits(SORTED, f"{SORTED} and len(test) >= 0.15 * len(pairs)"),
        "How large the parts are, and how they are ordered, is not promised",
    ),
    (
        splits(SEVERAL, "[corpus_of(30)]", OVERLAP, "set()", SORTED, "[*train, *test] == pairs"),
        "fails on right code (it shuffles the sentences first)",
    ),
    (
        splits(SORTED, f"{SORTED} and (len(pairs) < 39 or len(train) >= 2 * len(test))"),
        "fails on right code (half of the sentences",
    ),
    (splits(SORTED, f"{SORTED} and isinstance(train, list)"), "fails on right code (every fifth sentence"),
    # One sentence of eleven has a second translation: a leak needs luck.
    (splits(SEVERAL, '[[(f"s{i}", f"p{i}") for i in range(11)] + [("s0", "again")]]'), "depends on luck"),
    (lambda split: set(split(corpus_of(9))[0]) & set(split(corpus_of(9))[1]), "your test returns a set"),
    (lambda split: split(corpus_of(9)).train, "your code stopped with AttributeError"),
]


test_splits = pytest.mark.slow(judged(lesson12.check_split, "12.9", SPLITS))


CASES = [SHAPES, LABELS, SCORES, PADDING, NEIGHBOURS, FUTURE, STEPS, SEARCHES, SPLITS]


@pytest.mark.parametrize("cases", CASES, ids=lambda cases: cases[0][0].__name__)
def test_each_bug_has_three_right_and_six_wrong_tests(cases):
    right = sum(said == "right!" for _, said in cases)
    assert right >= 3 and len(cases) - right >= 6


# ---- the judge, and the lesson itself ----


def said_of(test, capsys):
    lesson12.check_shape(test)
    return capsys.readouterr().out


@pytest.mark.parametrize("stub", [lambda positions: None, None])
def test_a_stub_is_not_tried_yet(stub, capsys):
    assert said_of(stub, capsys) == "Exercise 12.1: not tried yet.\n"


def test_what_a_test_prints_is_not_shown_and_the_generator_is_put_back(capsys):
    def prints(positions):
        print(torch.rand(1))
        all_sizes(positions)

    torch.manual_seed(3)
    before = torch.get_rng_state()
    assert said_of(prints, capsys) == "Exercise 12.1: right!\n"
    assert torch.equal(torch.get_rng_state(), before)


def test_a_failure_of_pytest_is_no_crash_of_the_check(capsys):
    def fails(positions):
        if positions(2000, 5).shape != (2000, 5):
            pytest.fail("wrong shape")

    assert said_of(fails, capsys) == "Exercise 12.1: right!\n"


def test_a_helper_may_hold_the_assertion():
    assert judging._asserts(one_table) and judging._asserts(lambda x: all_sizes(x))
    assert not judging._asserts(sizes("assert ", ""))


@pytest.fixture
def right_forms(monkeypatch):
    """The right forms that a check tries a test on."""

    def forms(check):
        found = []
        module = inspect.getmodule(check)
        monkeypatch.setattr(module, "judge", lambda test, right, **_: found.extend(right.values()))
        check(lambda code: None)
        return found

    return forms


def test_right_forms_agree_with_an_independent_implementation(right_forms):
    close = functools.partial(torch.testing.assert_close, check_dtype=False, atol=1e-5, rtol=1e-5)
    torch.manual_seed(0)
    queries, keys, values, lens = *drawn(), torch.tensor([4, 2])
    mask = torch.arange(6) < lens[:, None, None]
    expected = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    for attend in right_forms(lesson12.check_padding):
        close(attend(queries, keys, values, lens), expected)
    x = torch.randn(2, 5, 4)
    expected = F.scaled_dot_product_attention(x, x, x, is_causal=True)
    for look_back in right_forms(lesson12.check_future):
        close(look_back(x), expected)
    scores, lens = torch.randn(3, 5), torch.tensor([2, 5, 1])
    expected = torch.stack([F.pad(row[:n].softmax(-1), (0, 5 - n)) for row, n in zip(scores, lens, strict=True)])
    for masked_softmax in right_forms(lesson12.check_scores_stay):
        close(masked_softmax(scores.clone(), lens), expected)
    tables = torch.randn(5, 3, 3).log_softmax(-1)
    for search in right_forms(lesson12.check_search):
        assert torch.equal(search(tables, 4, 81), lesson12_models.try_all(tables, 4, 81))


def cells():
    return nbformat.read(NOTEBOOK, as_version=4).cells


SECTIONS = {
    "11": ("12.1", "test_shape", "positions"),
    "21": ("12.2", "test_labels", "inputs_and_labels"),
    "31": ("12.3", "test_scores_stay", "masked_softmax"),
    "41": ("12.4", "test_padding", "attend"),
    "51": ("12.5", "test_neighbours", "encode"),
    "61": ("12.6", "test_future", "look_back"),
    "71": ("12.7", "test_steps", "Decoder"),
    "81": ("12.8", "test_search", "search"),
    "91": ("12.9", "test_split", "split"),
}


@pytest.mark.parametrize("section", SECTIONS)
def test_the_solution_fails_on_the_code_of_the_section_and_passes_on_its_fix(section, capsys):
    """The three blocks of a section belong together: the buggy code, the solution, and the fix."""
    exercise, test, code = SECTIONS[section]
    sources = {cell.id: cell.source for cell in cells()}
    names = {}
    exec(sources["l12-02"], names)
    exec(sources[f"l12-{section}"], names)
    (folded,) = (source for source in sources.values() if "The fix</summary>" in source and f"def {test}(" in source)
    solution, fix = re.findall(r"```python\n(.*?)```", folded, re.DOTALL)
    exec(solution, names)

    def tried():
        names[test](names[code]() if code == "Decoder" else names[code])

    torch.manual_seed(1)
    with pytest.raises((AssertionError, RuntimeError)):
        tried()
    exec(fix, names)
    tried()
    assert f"### {exercise} " in "\n".join(sources.values())


# ---- right code, and the code of a book ----


def solutions():
    """The folded tests of the lesson, by the number of the exercise."""
    texts = [cell.source for cell in nbformat.read(NOTEBOOK, 4).cells if cell.cell_type == "markdown"]
    found = re.findall(r"<summary>Solution</summary>\s*```python\n(.*?)```", "\n".join(texts), re.DOTALL)
    return {f"12.{number}": code for number, code in enumerate(found, start=1)}


@pytest.mark.parametrize("number", [f"12.{place}" for place in range(1, 10)])
def test_the_folded_tests_pass_on_right_code(number):
    names = {"torch": torch}
    exec(solutions()[number], names)
    (test,) = (value for name, value in names.items() if name.startswith("test_"))
    test(lesson12.right(number))


def test_right_code_of_an_exercise_that_is_not_there():
    with pytest.raises(ValueError, match=r"there is no exercise '12.10': the exercises are 12\.1, 12\.2,"):
        lesson12.right("12.10")


def test_a_right_test_of_the_learner_is_taken_and_a_wrong_one_is_not(capsys):
    found = lesson12.yours_or_ours(all_sizes, lambda masked_softmax: None, lambda encode: None)
    assert found[0] is all_sizes and found[1:] == list(lesson12.SOLUTIONS[1:])
    assert capsys.readouterr().out.split("\n")[:2] == ["test_shape: yours", "test_scores_stay: ours"]


@pytest.mark.parametrize(("number", "ours"), list(zip(("12.1", "12.3", "12.5"), lesson12.SOLUTIONS, strict=True)))
def test_ours_are_the_folded_ones(number, ours):
    code = ast.parse(inspect.getsource(ours)).body[0]
    folded = ast.parse(solutions()[number]).body[-1]
    assert [ast.dump(line) for line in code.body] == [ast.dump(line) for line in folded.body]


def test_the_book_itself_is_called():
    """What the lesson says of d2l it shows with d2l's own functions, and not with copies."""
    (source,) = (cell.source for cell in cells() if cell.id == "l12-88")
    assert "from seqlearn import d2l\n" in source
    for name in ("PositionalEncoding", "masked_softmax", "Seq2SeqEncoder"):
        assert f"d2l.{name}(" in source
