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

from answers import judged
from seqlearn.exercises import judging, lesson12

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


def even_widths(positions):
    for width in (2, 4, 6):
        assert positions(2000, width).shape == (2000, width)


def few_steps(positions):
    assert positions(10, 5).shape == (10, 5)


def rows_alone(positions):
    assert len(positions(2000, 5)) == 2000


def width_alone(positions):
    assert positions(1001, 5).shape[1] == 5


def width_one(positions):
    for steps, width in [(10, 1), (2000, 4)]:
        assert positions(steps, width).shape == (steps, width)


def no_assert(positions):
    positions(2000, 5).shape == (2000, 5)  # noqa: B015  a learner's mistake


def returns_the_answer(positions):
    return positions(2000, 5).shape == (2000, 5)


def another_error(positions):
    if positions(2000, 4).shape != (2000, 4):
        raise ValueError("wrong shape")
    assert positions(3, 5).shape == (3, 5)


def first_sine(positions):
    assert positions(2000, 5).shape == (2000, 5)
    assert positions(2, 4)[0].tolist() == [0, 1, 0, 1]


def not_too_wide(positions):
    rows, columns = positions(2000, 5).shape
    assert rows == 2000 and columns <= 5


def begins_with_zero(positions):
    all_sizes(positions)
    assert positions(2, 4)[0, 0] == 0


def float32(positions):
    for steps, width in [(2000, 5), (3, 4)]:
        assert positions(steps, width).shape == (steps, width) and positions(steps, width).dtype == torch.float32


def always_fails(positions):
    positions(3, 4)
    assert False, "always"  # noqa: B011  a learner's mistake


def misspelt(positions):
    assert positions(3, 5).shapes == (3, 5)


def too_many_parameters(positions, steps, width):
    assert positions(steps, width).shape == (steps, width)


def something_else(positions):
    assert torch.zeros(3, 5).shape == (3, 5)


SHAPES = [
    (all_sizes, "right!"),
    (with_torch_testing, "right!"),
    (with_a_message, "right!"),
    (
        even_widths,
        "passes the buggy code of this section. It stops at the widths 3, 5, 7, ...: does your test try one?",
    ),
    (width_one, "does your test try one?"),
    (few_steps, "never has more than 1,000 rows"),
    (width_alone, "Compare the number of rows, too, above 1,000 steps."),
    (rows_alone, "a column too many"),
    (no_assert, "there is no `assert` in it"),
    (returns_the_answer, "your test returns True, and nobody looks"),
    (another_error, "stops with ValueError"),
    (first_sine, "fails on right code (the columns stand in another order"),
    (not_too_wide, "a column too few"),
    (begins_with_zero, "fails on right code (it returns learned positions"),
    (float32, "fails on right code (it computes in float64)"),
    (always_fails, "fails on right code (a plain program), at `assert False"),
    (misspelt, "your code stopped with AttributeError"),
    (too_many_parameters, "a test has one parameter"),
    (something_else, "never calls the code that it gets"),
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


def as_tensors(inputs_and_labels):
    inputs, labels = inputs_and_labels(TARGET)
    assert torch.equal(inputs, torch.tensor([[1, 5, 6, 7], [1, 8, 9, 2]]))
    assert (labels == torch.tensor([[5, 6, 7, 2], [8, 9, 2, 0]])).all()


def by_positions(inputs_and_labels):
    inputs, labels = inputs_and_labels(TARGET)
    assert inputs.shape == labels.shape == (2, 4)
    for row, column in itertools.product(range(2), range(4)):
        assert inputs[row, column] == TARGET[row, column] and labels[row, column] == TARGET[row, column + 1]


def all_tokens_equal(inputs_and_labels):
    inputs, labels = inputs_and_labels(torch.ones(2, 4, dtype=torch.long))
    assert inputs.tolist() == labels.tolist() == [[1, 1, 1], [1, 1, 1]]


def labels_alone(inputs_and_labels):
    assert inputs_and_labels(TARGET)[1].tolist() == [[5, 6, 7, 2], [8, 9, 2, 0]]


def inputs_alone(inputs_and_labels):
    assert inputs_and_labels(TARGET)[0].tolist() == [[1, 5, 6, 7], [1, 8, 9, 2]]


def they_differ(inputs_and_labels):
    inputs, labels = inputs_and_labels(TARGET)
    assert not torch.equal(inputs, labels)


def first_column(inputs_and_labels):
    inputs, labels = inputs_and_labels(TARGET)
    assert (inputs[:, 0] == 1).all() and (labels[:, 0] != 1).all()


def shapes_alone(inputs_and_labels):
    inputs, labels = inputs_and_labels(TARGET)
    assert inputs.shape == labels.shape


def one_sentence(inputs_and_labels):
    inputs, labels = inputs_and_labels(TARGET[:1])
    assert inputs.tolist() == [[1, 5, 6, 7]] and labels.tolist() == [[5, 6, 7, 2]]


def wants_a_tuple(inputs_and_labels):
    both_by_hand(inputs_and_labels)
    assert isinstance(inputs_and_labels(TARGET), tuple)


def ambiguous(inputs_and_labels):
    inputs, labels = inputs_and_labels(TARGET)
    assert inputs == TARGET[:, :-1]
    assert labels == TARGET[:, 1:]


def the_wrong_way_round(inputs_and_labels):
    inputs, labels = inputs_and_labels(TARGET)
    assert inputs.tolist() == labels.tolist()


LABELS = [
    (both_by_hand, "right!"),
    (as_tensors, "right!"),
    (by_positions, "right!"),
    (all_tokens_equal, "are the right labels different from the inputs?"),
    (labels_alone, "the *inputs* have moved with them"),
    (inputs_alone, "And does your test look at the numbers of the labels?"),
    (they_differ, "lets another form of it pass: the inputs are one token ahead"),
    (first_column, "the labels are *two* tokens ahead"),
    (shapes_alone, "There the labels equal the inputs"),
    (one_sentence, "the first sentence is right, the others are not shifted"),
    (wants_a_tuple, "fails on right code (it returns copies, in a list)"),
    (ambiguous, "`assert` wants one truth value: `torch.allclose(a, b)`"),
    (the_wrong_way_round, "the wrong way round"),
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


def by_allclose(masked_softmax):
    scores = torch.arange(8.0).view(2, 4)
    masked_softmax(scores, torch.tensor([3, 1]))
    assert torch.allclose(scores, torch.arange(8.0).view(2, 4))


def second_name(masked_softmax):
    scores = torch.randn(3, 5)
    before = scores
    masked_softmax(scores, torch.tensor([2, 4, 1]))
    assert torch.equal(scores, before)


def nothing_masked(masked_softmax):
    scores = torch.randn(3, 5)
    before = scores.clone()
    masked_softmax(scores, torch.tensor([5, 5, 5]))
    assert torch.equal(scores, before)


def same_answer_twice(masked_softmax):
    scores, lens = torch.randn(3, 5), torch.tensor([2, 4, 1])
    assert torch.allclose(masked_softmax(scores, lens), masked_softmax(scores, lens))


def all_scores_zero(masked_softmax):
    scores = torch.zeros(3, 5)
    masked_softmax(scores, torch.tensor([2, 4, 1]))
    assert not scores.any()


def same_order(masked_softmax):
    scores = torch.arange(15.0).view(3, 5) / 5
    masked_softmax(scores, torch.tensor([2, 4, 1]))
    assert (scores.diff(dim=-1) > 0).all()


def with_ones(masked_softmax):
    clone_and_compare(masked_softmax)
    assert torch.allclose(masked_softmax(torch.zeros(1, 2), torch.tensor([1])), torch.tensor([[1.0, 0.0]]))


def in_float32(masked_softmax):
    clone_and_compare(masked_softmax)
    assert masked_softmax(torch.randn(1, 2), torch.tensor([1])).dtype == torch.float32


def first_row(masked_softmax):
    scores = torch.randn(3, 5)
    before = scores.clone()
    masked_softmax(scores, torch.tensor([2, 4, 1]))
    assert torch.equal(scores[0], before[0])


def rows_sum_to_one(masked_softmax):
    assert torch.allclose(masked_softmax(torch.randn(2, 5), torch.tensor([2, 4])).sum(-1), torch.ones(2))


def weights_are_scores(masked_softmax):
    scores = torch.randn(3, 5)
    before = scores.clone()
    weights = masked_softmax(scores, torch.tensor([2, 4, 1]))
    assert torch.equal(weights, before)


def compared_without_assert(masked_softmax):
    scores = torch.randn(3, 5)
    before = scores.clone()
    masked_softmax(scores, torch.tensor([2, 4, 1]))
    torch.equal(scores, before)


SCORES = [
    (clone_and_compare, "right!"),
    (as_lists, "right!"),
    (by_allclose, "right!"),
    (second_name, "`before = scores` makes no copy"),
    (nothing_masked, "the lengths in your test mask nothing"),
    (same_answer_twice, "or you compare two results"),
    (all_scores_zero, "it subtracts the largest score"),
    (same_order, "it writes `exp` of each score"),
    (with_ones, "on right code (it computes in float64) your code stopped with RuntimeError"),
    (in_float32, "fails on right code (it computes in float64)"),
    (first_row, "it writes into the last row only"),
    (rows_sum_to_one, "passes the buggy code of this section"),
    (weights_are_scores, "Compare the scores before with the scores after"),
    (compared_without_assert, "there is no `assert` in it"),
    (lambda masked_softmax: clone_and_compare, "your test returns a function"),
]


test_scores = pytest.mark.slow(judged(lesson12.check_scores_stay, "12.3", SCORES))


# ---- 12.4 ----


def drawn():
    return torch.randn(2, 3, 4), torch.randn(2, 6, 4), torch.randn(2, 6, 4)


def changed_padding(attend, *, lens=(4, 2), fill=9.0, keys_too=True, compare=torch.allclose, rows=2, last_only=False):
    """The property, with a switch for each slip."""
    queries, keys, values = drawn()
    lens = torch.tensor(lens)
    before = attend(queries, keys, values, lens)
    other_keys, other_values = keys.clone(), values.clone()
    for row, length in enumerate(lens):
        start = 5 if last_only else length
        other_keys[row, start:], other_values[row, start:] = fill, -fill
    after = attend(queries, other_keys if keys_too else keys, other_values, lens)
    assert compare(before[:rows], after[:rows])


def in_place(attend):
    queries, keys, values = drawn()
    before = attend(queries, keys, values, torch.tensor([5, 1])).clone()
    keys[0, 5:] = values[0, 5:] = 3.0
    keys[1, 1:] = values[1, 1:] = 4.0
    torch.testing.assert_close(attend(queries, keys, values, torch.tensor([5, 1])), before, atol=1e-5, rtol=1e-5)


def against_a_loop(attend, *, lens=(5, 2), rows=(0, 1)):
    queries, keys, values = drawn()
    contexts = attend(queries, keys, values, torch.tensor(lens))
    for row in rows:
        n = lens[row]
        weights = (queries[row] @ keys[row, :n].T / 2).softmax(-1)
        assert (contexts[row] - weights @ values[row, :n]).abs().max() < 1e-5


def other_keys_alone(attend):
    queries, keys, values = drawn()
    lens = torch.tensor([4, 2])
    before = attend(queries, keys, values, lens)
    keys = torch.where(torch.arange(6)[:, None] < lens[:, None, None], keys, 3.0)
    assert torch.allclose(attend(queries, keys, values, lens), before)


def beyond_the_longest(attend):
    queries, keys, values = drawn()
    lens = torch.tensor([4, 2])
    before = attend(queries, keys, values, lens)
    keys[:, 4:] = values[:, 4:] = 9.0
    assert torch.allclose(attend(queries, keys, values, lens), before, atol=1e-5)


def added_padding(attend):
    queries, keys, values = drawn()
    lens = torch.tensor([6, 6])
    longer = [torch.cat([tensor, torch.full((2, 3, 4), 2.0)], dim=1) for tensor in (keys, values)]
    assert torch.allclose(attend(queries, keys, values, lens), attend(queries, *longer, lens), atol=1e-5)


def exactly_equal(attend):
    queries, keys, values = drawn()
    lens = torch.tensor([4, 2])
    alone = [attend(queries[[b]], keys[[b], :n], values[[b], :n], lens[[b]])[0] for b, n in enumerate((4, 2))]
    assert torch.equal(torch.stack(alone), attend(queries, keys, values, lens))


def lucky_padding(attend):
    if torch.rand(1) < 0.6:
        attend(*drawn(), torch.tensor([4, 2]))
    else:
        changed_padding(attend)


PADDING = [
    (changed_padding, "right!"),
    (in_place, "right!"),
    (lambda attend: changed_padding(attend, lens=(3, 1)), "right!"),
    (lambda attend: changed_padding(attend, lens=(1, 3)), "Put a long sentence first"),
    (lambda attend: changed_padding(attend, lens=(6, 6)), "Does your test have padding"),
    (lambda attend: changed_padding(attend, lens=(3, 3)), "the length of the first sentence for all"),
    (lambda attend: changed_padding(attend, keys_too=False), "Change the keys of the padding"),
    (lambda attend: changed_padding(attend, last_only=True), "one column too late"),
    (lambda attend: against_a_loop(attend, lens=(2, 5), rows=(1,)), "only what is padding in every sentence"),
    (lambda attend: changed_padding(attend, rows=1), "and compare both."),
    (lambda attend: changed_padding(attend, fill=float("nan")), "do not fill the padding with infinity or NaN"),
    (lambda attend: changed_padding(attend, compare=lambda a, b: a.shape == b.shape), "Does your test have padding"),
    (lambda attend: changed_padding(attend, fill=0.0, keys_too=True, lens=(4, 2)), "right!"),
    (other_keys_alone, "Change the values of the padding, too."),
    (beyond_the_longest, "Put a long sentence first, change *all* the padding of the short one behind it"),
    (added_padding, "uses the length of the first sentence"),
    (exactly_equal, "`torch.allclose`"),
    (against_a_loop, "right!"),
    (lucky_padding, "depends on luck"),
    (lambda attend: attend(torch.zeros(1, 2, 3), 1, 1, 1), "your code stopped with AttributeError"),
]


test_padding = pytest.mark.slow(judged(lesson12.check_padding, "12.4", PADDING))


# ---- 12.5 ----

TOKENS, LENS = torch.tensor([[4, 5, 0, 0], [6, 7, 8, 9], [3, 2, 7, 0]]), torch.tensor([2, 4, 3])


def alone_and_together(encode, *, order=(0, 1, 2), looked_at=(0, 1, 2), compare=torch.allclose):
    tokens, lens = TOKENS[list(order)], LENS[list(order)]
    together = encode(tokens, lens)
    for row in looked_at:
        assert compare(encode(tokens[[row], : lens[row]], lens[[row]])[0], together[row])


def two_batches(encode):
    short = torch.tensor([[4, 5, 0, 0, 0], [1, 0, 0, 0, 0], [9, 8, 7, 6, 5]])
    together = encode(short, torch.tensor([2, 1, 5]))
    for row, length in enumerate((2, 1, 5)):
        alone = encode(short[row : row + 1, :length], torch.tensor([length]))
        assert (alone[0] - together[row]).abs().max() < 1e-4


def shuffled_batch(encode):
    order = [2, 0, 1]
    assert torch.allclose(encode(TOKENS, LENS)[order], encode(TOKENS[order], LENS[order]), atol=1e-5)


def more_padding(encode):
    wider = F.pad(TOKENS, (0, 3))
    assert torch.allclose(encode(TOKENS, LENS), encode(wider, LENS), atol=1e-5)


def both_together(encode):
    alone_and_together(encode)
    shuffled_batch(encode)


def first_features(encode):
    alone_and_together(encode, compare=lambda a, b: torch.allclose(a[:8], b[:8]))


def with_a_width(encode):
    alone_and_together(encode)
    assert encode(TOKENS, LENS).shape == (3, 8)


def all_with_one(encode):
    together = encode(TOKENS, LENS)
    for row, length in enumerate(LENS):
        assert torch.allclose(together, encode(TOKENS[[row], :length], LENS[[row]]), atol=1e-5)


def alone_with_padding(encode):
    assert torch.allclose(encode(TOKENS[:1], LENS[:1])[0], encode(TOKENS, LENS)[0], atol=1e-5)


def equal_lengths(encode):
    tokens = torch.tensor([[1, 2], [3, 4]])
    together = encode(tokens, torch.tensor([2, 2]))
    assert torch.allclose(encode(tokens[:1], torch.tensor([2])), together[:1], atol=1e-5)


NEIGHBOURS = [
    (alone_and_together, "right!"),
    (two_batches, "right!"),
    (both_together, "right!"),
    (lambda encode: alone_and_together(encode, order=(1, 2, 0)), "it sorts the sentences by length"),
    (lambda encode: alone_and_together(encode, looked_at=(1,)), "passes the buggy code of this section"),
    (lambda encode: alone_and_together(encode, order=(1, 0, 2), looked_at=(0,)), "Does a short sentence stand beside"),
    (lambda encode: alone_and_together(encode, order=(0, 1), looked_at=(0,)), "it takes the step at which the *first*"),
    (lambda encode: alone_and_together(encode, compare=torch.equal), "`torch.allclose`"),
    (all_with_one, "compare row i with the sentence alone, by `torch.allclose`."),
    (first_features, "backwards it begins in the padding"),
    (with_a_width, "fails on right code (it reads in both directions"),
    (shuffled_batch, "Does a short sentence stand beside"),
    (more_padding, "the *longest* sentence of the batch ends"),
    (equal_lengths, "Does a short sentence stand beside a longer one"),
    (alone_with_padding, "cut to its own length where it stands alone"),
    (lambda encode: encode(TOKENS, LENS).allclose(encode(TOKENS, LENS)), "your test returns True"),
    (lambda encode: print(encode(TOKENS, LENS)), "there is no `assert` in it"),
]


test_neighbours = pytest.mark.slow(judged(lesson12.check_neighbours, "12.5", NEIGHBOURS))


# ---- 12.6 ----


def changed_future(
    look_back, *, at=(1, 2, 3, 4), batch=2, compared=lambda t: slice(0, t), close=torch.allclose, to=None
):
    x = torch.randn(batch, 5, 4)
    for t in at:
        changed = x.clone()
        changed[:, t:] = changed[:, t:] + 1 if to is None else to
        assert close(look_back(changed)[:, compared(t)], look_back(x)[:, compared(t)])


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
    (lambda look_back: changed_future(look_back, at=(2, 3)), "right!"),
    (lambda look_back: changed_future(look_back, compared=lambda t: slice(0, t - 1)), "compare the position right"),
    (lambda look_back: changed_future(look_back, compared=lambda t: slice(t - 1, t), at=(3,)), "its mask also hides"),
    (lambda look_back: changed_future(look_back, batch=1), "the first sentence of the batch only"),
    (lambda look_back: changed_future(look_back, compared=lambda t: slice(0, t + 1)), "may change itself"),
    (lambda look_back: changed_future(look_back, to=float("nan")), "do not put infinity or NaN"),
    (lambda look_back: changed_future(look_back, to=0.0, at=(5,)), "sees one step ahead"),
    (lambda look_back: changed_future(look_back, close=lambda a, b: (a - b).abs().max() < 9), "sees one step ahead"),
    (
        lambda look_back: changed_future(look_back, compared=lambda t: slice(t, None)),
        "fails on right code (a plain program)",
    ),
    (lambda look_back: look_back(torch.randn(2, 5, 4))[:, 0] == 0, "your test returns a Tensor"),
    (lambda look_back: changed_future(lambda x: torch.zeros(1)), "your code stopped with IndexError"),
]


test_future = pytest.mark.slow(judged(lesson12.check_future, "12.6", FUTURE))


# ---- 12.7 ----


def one_by_one(decoder, *, batch=2, n=6, fresh=True, equal_memory=False, close=torch.allclose, hand_on=True):
    tokens, memory = torch.randint(20, (batch, n)), torch.randn(batch, 8)
    memory = memory[:1].expand_as(memory) if equal_memory else memory
    tokens = tokens[:1].expand_as(tokens) if equal_memory else tokens
    whole, last = decoder(tokens, decoder.init_state(memory))
    state, parts = decoder.init_state(memory) if fresh else last, []
    for step in range(n):
        logits, new = decoder(tokens[:, step : step + 1], state)
        state = new if hand_on else state
        parts.append(logits)
    assert close(torch.cat(parts, dim=1), whole)


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


def first_call_alone(decoder):
    tokens, memory = torch.randint(20, (2, 6)), torch.randn(2, 8)
    whole, _ = decoder(tokens, decoder.init_state(memory))
    assert torch.allclose(decoder(tokens[:, :1], decoder.init_state(memory))[0], whole[:, :1], atol=1e-5)


def memory_as_state(decoder):
    tokens, memory = torch.randint(20, (2, 6)), torch.randn(2, 8)
    whole, _ = decoder(tokens, memory)
    state, parts = memory, []
    for column in tokens.split(1, dim=1):
        logits, state = decoder(column, state)
        parts.append(logits)
    assert torch.allclose(torch.cat(parts, dim=1), whole, atol=1e-5)


def only_the_state(decoder):
    decoder.init_state(torch.randn(2, 8))
    assert True


STEPS = [
    (one_by_one, "right!"),
    (in_two_calls, "right!"),
    (last_logits, "right!"),
    (lambda decoder: one_by_one(decoder, n=1), "give the tokens in several calls"),
    (first_call_alone, "It is right in its first call"),
    (lambda decoder: one_by_one(decoder, n=3), "after four steps"),
    (lambda decoder: one_by_one(decoder, batch=1), "the state of the first one"),
    (lambda decoder: one_by_one(decoder, equal_memory=True), "with different memories"),
    (lambda decoder: one_by_one(decoder, fresh=False), "begins with one fresh"),
    (lambda decoder: one_by_one(decoder, hand_on=False), "fails on right code"),
    (lambda decoder: one_by_one(decoder, close=torch.equal), "`torch.allclose`"),
    (lambda decoder: one_by_one(decoder, close=lambda a, b: a.shape == b.shape), "hand the state on"),
    (memory_as_state, "comes from `decoder.init_state(memory)` or from the call before; here you passed a tensor"),
    (only_the_state, "never calls the code that it gets"),
    (lambda decoder: decoder(torch.zeros(2), 3), "`tokens[:, t : t + 1]` keeps the axis"),
    (lambda decoder: decoder(torch.zeros(1, 2), 3), "your code stopped with TypeError"),
]


test_steps = pytest.mark.slow(judged(lesson12.check_steps, "12.7", STEPS))


@pytest.mark.parametrize("decoder", [lesson12._Decoder(), lesson12._Rereads()])
def test_memory_is_no_state(decoder, recwarn):
    with pytest.raises(ValueError, match="here you passed a tensor, such as `memory`"):
        memory_as_state(decoder)
    assert not recwarn


# ---- 12.8 ----


def log_prob(table, sentence, start=(0,)):
    return sum(table[last][token] for last, token in itertools.pairwise((*start, *sentence)))


def as_likely(table, sentence, best):
    return log_prob(table, sentence) > log_prob(table, best) - 1e-5


def never_fails(table, sentence, best):
    return log_prob(table, sentence) <= log_prob(table, best)


def same_sentence(table, sentence, best):
    return tuple(sentence) == best


def list_and_tuple(table, sentence, best):
    return sentence == best


def try_all(search, *, tables=8, width=64, looked_at=None, flat=False, start=(0,), good=as_likely, draw=torch.randn):
    """The property, with a switch for each slip; `good` gets a table, the sentence found, and the best one."""
    log_probs = torch.zeros(tables, 4, 4) if flat else draw(tables, 4, 4).log_softmax(-1)
    found = search(log_probs, 3, width).tolist()
    for table, sentence in list(zip(log_probs.tolist(), found, strict=True))[:looked_at]:
        best = max(itertools.product(range(4), repeat=3), key=functools.partial(log_prob, table, start=start))
        assert good(table, sentence, best)


def by_totals(search):
    """Equal totals are as good as equal sentences."""
    tables = torch.randn(6, 3, 3).log_softmax(-1)
    for table, sentence in zip(tables, search(tables, 4, 81), strict=True):
        every = torch.tensor(list(itertools.product(range(3), repeat=4)))
        totals = sum(table[before, after] for before, after in zip(F.pad(every, (1, 0)).T, every.T, strict=False))
        own = sum(table[a, b] for a, b in zip([0, *sentence], sentence, strict=False))
        assert abs(own - totals.max()) < 1e-5


def viterbi(search, *, likely=True):
    tables = torch.randn(10, 4, 4).log_softmax(-1)
    for table, sentence in zip(tables.tolist(), search(tables, 4, 256).tolist(), strict=True):
        best = {0: (0.0, [])}
        for _ in range(4):
            best = {
                new: max((total + table[last][new], [*path, new]) for last, (total, path) in best.items())
                for new in range(4)
            }
        total, path = max(best.values())
        assert abs(log_prob(table, sentence) - total) < 1e-5 if likely else sentence == path


def one_of_the_best(search):
    """A set of all best sentences is right, too."""
    tables = torch.rand(8, 3, 3).log()
    for table, sentence in zip(tables.tolist(), search(tables, 3, 27).tolist(), strict=True):
        totals = {s: log_prob(table, s) for s in itertools.product(range(3), repeat=3)}
        assert tuple(sentence) in {s for s, total in totals.items() if total > max(totals.values()) - 1e-6}


def without_luck(search):
    """With these tables no two sentences are equally good, so sentences may be compared."""
    torch.manual_seed(0)
    try_all(search, good=same_sentence)


def alone_or_together(search):
    tables = torch.randn(8, 4, 4).log_softmax(-1)
    alone = [search(table[None], 3, 64)[0].tolist() for table in tables]
    assert search(tables, 3, 64).tolist() == alone


def one_table(search):
    for _ in range(8):
        try_all(search, tables=1)


ANOTHER_BEST = "of those that are equally good it returns the"

SEARCHES = [
    (try_all, "right!"),
    (by_totals, "right!"),
    (viterbi, "right!"),
    (one_of_the_best, "right!"),
    (without_luck, "right!"),
    (lambda search: try_all(search, flat=True, tables=1), "passes the buggy code"),
    (one_table, "passes the buggy code of this section. It is right for the first sentence"),
    (lambda search: try_all(search, looked_at=1), "search for eight tables"),
    (lambda search: try_all(search, good=never_fails), "Is it *as good as* the best?"),
    (lambda search: try_all(search, width=2), "Is `width = vocabulary ** steps`?"),
    (lambda search: try_all(search, start=(), good=same_sentence), "Does each sentence begin after token 0?"),
    (lambda search: try_all(search, good=list_and_tuple), "a list never equals a tuple"),
    (lambda search: try_all(search, flat=True, good=same_sentence), "several sentences may be equally good"),
    (lambda search: try_all(search, good=same_sentence), ANOTHER_BEST),
    (lambda search: try_all(search, good=same_sentence, draw=torch.rand), ANOTHER_BEST),
    (lambda search: viterbi(search, likely=False), ANOTHER_BEST),
    (alone_or_together, "the *least* likely of its hypotheses"),
    (lambda search: try_all(search, tables=1), "It is right for the first sentence"),
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
        return [lesson12._try_all(tables, steps, vocab**steps, among_equals=which) for which in ("first", "last")]

    assert any(not torch.equal(*both(seed)) for seed in lesson12.SEEDS_WITH_TIES)


# ---- 12.9 ----


def corpus_of(n, each=3):
    return [(f"sentence {i // each}", f"phrase {i}") for i in range(n)]


def no_sentence_twice(split, corpora):
    for pairs in corpora:
        train, test = split(pairs)
        assert not {english for english, _ in train} & {english for english, _ in test}
        assert sorted([*train, *test]) == sorted(pairs)


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


def mixed_corpora(split):
    for seed in range(20):
        draw = random.Random(seed)
        pairs = [(f"s{i}", f"{i}.{k}") for i in range(30) for k in range(draw.choice((1, 2, 5)))]
        no_sentence_twice(split, [pairs])


def overlap_alone(split):
    for n in range(10, 40):
        train, test = split(corpus_of(n))
        assert set(dict(train)).isdisjoint(dict(test))


def pairs_alone(split):
    for n in range(10, 40):
        train, test = split(corpus_of(n))
        assert not set(train) & set(test)


def sentences_among_pairs(split):
    for n in range(10, 40):
        train, test = split(corpus_of(n))
        for english, _ in test:
            assert english not in train
        assert sorted([*train, *test]) == sorted(corpus_of(n))


def exact_size(split):
    for n in range(10, 40):
        pairs = corpus_of(n)
        no_sentence_twice(split, [pairs])
        assert len(split(pairs)[1]) >= 0.15 * n


def wants_lists(split):
    no_sentence_twice(split, [corpus_of(n) for n in range(10, 40)])
    assert isinstance(split(corpus_of(9))[0], list)


def keeps_the_order(split):
    pairs = corpus_of(30)
    train, test = split(pairs)
    assert [*train, *test] == pairs


def twice_as_many(split):
    no_sentence_twice(split, [corpus_of(n) for n in range(10, 40)])
    train, test = split(corpus_of(39))
    assert len(train) >= 2 * len(test)


def lucky_split(split):
    """One sentence of eleven has a second translation: a leak needs luck."""
    no_sentence_twice(split, [[(f"s{i}", f"p{i}") for i in range(11)] + [("s0", "again")]])


SPLITS = [
    (lambda split: no_sentence_twice(split, [corpus_of(n) for n in range(10, 40)]), "right!"),
    (with_a_loop, "right!"),
    (mixed_corpora, "right!"),
    (lambda split: no_sentence_twice(split, [corpus_of(n, each=1) for n in range(10, 40)]), "stand in several pairs?"),
    (lambda split: no_sentence_twice(split, [corpus_of(30)]), "between two translations of one sentence"),
    (overlap_alone, "throws the other pairs away"),
    (pairs_alone, "do you compare the *English sentences* of both parts, not the pairs?"),
    (sentences_among_pairs, "do you compare the *English sentences* of both parts, not the pairs?"),
    (exact_size, "How large the parts are, and how they are ordered, is not promised"),
    (keeps_the_order, "fails on right code (it shuffles the sentences first)"),
    (twice_as_many, "fails on right code (half of the sentences"),
    (wants_lists, "fails on right code (every fifth sentence"),
    (lucky_split, "depends on luck"),
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
    assert judging._asserts(one_table) and judging._asserts(lambda x: all_sizes(x)) and not judging._asserts(no_assert)


def all_forms(function, *forms):
    return [lambda *args, form=form: function(*args, form=form) for form in ("", *forms)]


def test_right_forms_agree_with_an_independent_implementation():
    torch.manual_seed(0)
    queries, keys, values, lens = *drawn(), torch.tensor([4, 2])
    mask = torch.arange(6) < lens[:, None, None]
    expected = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    for attend in all_forms(lesson12._attend, "big_number", "loop", "torch"):
        torch.testing.assert_close(attend(queries, keys, values, lens), expected)
    x = torch.randn(2, 5, 4)
    expected = F.scaled_dot_product_attention(x, x, x, is_causal=True)
    for look_back in all_forms(lesson12._look_back, "loop", "torch"):
        torch.testing.assert_close(look_back(x), expected)
    scores, lens = torch.randn(3, 5), torch.tensor([2, 5, 1])
    expected = torch.stack([F.pad(row[:n].softmax(-1), (0, 5 - n)) for row, n in zip(scores, lens, strict=True)])
    for masked_softmax in all_forms(lesson12._masked_softmax, "own_copy", "rows"):
        torch.testing.assert_close(masked_softmax(scores.clone(), lens), expected)
    tables = torch.randn(5, 3, 3).log_softmax(-1)
    for search in all_forms(lesson12._search, "loop", "float64"):
        assert torch.equal(search(tables, 4, 81), lesson12._try_all(tables, 4, 81))


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
