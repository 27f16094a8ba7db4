"""The checks of lesson 07: right answers in other forms, typical wrong ones with their diagnoses; and its claims."""

import math
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from answers import all_right, judged, said_by
from seqlearn.exercises import checking, lesson07
from seqlearn.nn.attention import MultiHeadAttention
from seqlearn.nn.recording import record_attention

MORE = Path(__file__).parents[2] / "notebooks" / "more" / "07-heads-and-work.ipynb"


def split(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).flatten(2)


def check_both(functions):
    lesson07.check_heads(*functions)


def reshaped(x, heads):
    return x.reshape(len(x), heads, x.shape[1], -1)


def in_place(x, heads):
    answer = split(x, heads).clone()
    x += 1
    return answer


def late_swap(x):
    """Only the last vector of all is wrong."""
    answer = x.clone().view(-1, x.shape[-1])
    answer[-1] = answer[-1].flip(-1)
    return answer.view_as(x)


WRONG_HEADS = [
    (lambda x, heads: x.unflatten(-1, (heads, -1)), merge, "the heads still stand *behind* the steps"),
    (lambda x, heads: split(x, heads).flatten(0, 1), merge, "batch and heads share one axis"),
    (lambda x, heads: x.unflatten(-1, (heads, -1)).transpose(1, 3), merge, "you exchanged the axes 1 and 3"),
    (lambda x, heads: split(x, heads).flip(2), merge, "`to_heads`: sentence 0, head 0, step 0 should be [0.000, 1.000"),
    (lambda x, heads: torch.stack(x.chunk(heads, -1)), merge, "the heads stand before the batch"),
    (
        lambda x, heads: late_swap(split(x, heads).contiguous()),
        merge,
        "sentence 1, head 3, step 2 should be [115.000, 116.000, 117.000, 118.000, 119.000]; yours: [119.0",
    ),
    (
        lambda x, heads: split(x, heads)[0],
        merge,
        "`to_heads` should have shape (2, 4, 3, 5); yours: (4, 3, 5)",
    ),
    (
        lambda x, heads: x.tolist(),
        merge,
        "yours is of type list: this should be the answer of `to_heads`",
    ),
    (split, lambda x: None, "`from_heads`: it still returns None"),
    (split, lambda x: x.transpose(1, 2), "heads and size are still two axes"),
    (split, lambda x: x.flatten(2), "joined steps and size"),
    (split, lambda x: x.flatten(1, 2), "joined heads and steps"),
    (
        split,
        lambda x: merge(x.flip(1)),
        "is right! `from_heads`: sentence 0, step 0 should be [0.000, 1.000",
    ),
    (split, lambda x: late_swap(merge(x)), "`from_heads`: sentence 1, step 2 should be [100.000, 101.000"),
    (split, lambda x: x.transpose(1, 2).view(len(x), x.shape[2], -1), "your code stopped with RuntimeError"),
    (in_place, merge, "not yet. `x` has changed"),
    (
        lambda x, heads: x.unflatten(-1, (-1, heads)).transpose(1, 2),
        merge,
        "5 heads of 4: `heads` says how many",
    ),
    (lambda x, heads: split(x, 4), merge, "4 heads of 3: `heads` says how many, here 6 of 2"),
    (split, lambda x: x.transpose(1, 2).reshape(2, x.shape[2], -1), "the batch is not always 2"),
    (split, lambda x: merge(x.add_(1)) - 1, "`to_heads` is right! `from_heads`: `x` has changed"),
]


test_wrong_heads = judged(check_both, "7.1", [(functions, told) for *functions, told in WRONG_HEADS])


def by_chunks(x, heads):
    return torch.stack(x.chunk(heads, dim=-1), dim=1)


def by_cat(x):
    return torch.cat(x.unbind(1), dim=-1)


def by_view(x, heads):
    return x.view(*x.shape[:2], heads, x.shape[2] // heads).permute(0, 2, 1, 3)


def one_head_beside_the_other(x):
    answer = torch.zeros(len(x), x.shape[2], 0)
    for head in range(x.shape[1]):
        answer = torch.cat([answer, x[:, head]], dim=2)
    return answer


RIGHT_HEADS = [(split, merge), (by_chunks, by_cat), (by_view, one_head_beside_the_other)]
test_right_heads = all_right(check_both, "7.1", RIGHT_HEADS)


def layer(x, W_q, W_k, W_v, W_o, heads, *, scale=None, mask="back", over=-1, low=-math.inf):
    """The solution of 7.2; the options take another scale, another mask, another axis of the softmax."""
    steps, d = x.shape
    q, k, v = (split((x @ W.T)[None], heads)[0] for W in (W_q, W_k, W_v))
    scores = q @ k.transpose(1, 2) * (scale or (d // heads) ** -0.5)
    back = torch.ones(steps, steps, dtype=torch.bool).tril()
    may = {"back": back, "strict": back.tril(-1), "inverted": ~back, "one ahead": back | back.T.tril(1)}
    may["not 0"] = scores * back != 0
    weights = scores.masked_fill(~may[mask], low).softmax(over)
    return weights, merge((weights @ v)[None])[0] @ W_o.T


def strict_with_zeros(*args):
    weights, outputs = layer(*args, mask="strict")
    return weights.nan_to_num(0.0), outputs


def doubles_the_first_row(*args):
    weights, outputs = layer(*args)
    return torch.cat([2 * weights[:, :1], weights[:, 1:]], dim=1), outputs


def scales_in_place(x, *rest):
    answer = layer(x, *rest)
    x /= 2
    return answer


WRONG_LAYERS = [
    (lambda *args: layer(*args, mask="not 0"), "the first word sees nothing"),
    (lambda *args: layer(*args, mask="strict"), "the first word sees nothing: a word may look at itself, too"),
    (lambda *args: layer(*args, mask="inverted"), "the last word sees nothing: the mask is inverted"),
    (lambda *args: layer(*args, over=0), "several rows are NaN: softmax over the *last* axis"),
    (lambda *args: layer(*args, over=1), "not to 1: softmax over the last axis"),
    (strict_with_zeros, "a word does not see itself"),
    (doubles_the_first_row, "a row of your weights sums to 2.00, not to 1"),
    (lambda *args: layer(*args, mask="one ahead"), "lies on a word that comes later than its query"),
    (lambda *args: layer(*args, low=-1e4), "your large negative number is not low enough"),
    (lambda *args: (layer(*args)[0].mean(0), layer(*args)[1]), "or a mean over the heads"),
    (lambda *args: (layer(*args)[0].transpose(1, 2), layer(*args)[1]), "not to 1: softmax over the last axis"),
    (lambda *args: layer(*args, scale=0.1), "head 0, word 1 should be ["),
    (lambda *args: (layer(*args)[0], layer(*args)[1] * 2), "the outputs are not"),
    (lambda *args: (layer(*args)[0], split(layer(*args)[1][None], args[-1])[0]), "the heads are not joined yet"),
    (lambda *args: layer(*args)[::-1], "the wrong way round"),
    (lambda *args: layer(*args)[1], "return two things"),
    (lambda *args: (layer(*args)[0][0], layer(*args)[1]), "the weights of one head"),
    (lambda *args: (layer(*args)[0][None], layer(*args)[1]), "no batch"),
    (
        lambda *args: (layer(*args)[0].tolist(), layer(*args)[1]),
        "of type list: this should be the weights",
    ),
    (scales_in_place, "`x` has changed"),
    (lambda x, *rest: x @ x, "your code stopped with RuntimeError"),
]


test_wrong_layers = judged(lesson07.check_causal_self_attention, "7.2", WRONG_LAYERS)


def by_torch(x, W_q, W_k, W_v, W_o, heads):
    theirs = nn.MultiheadAttention(x.shape[1], heads, bias=False, batch_first=True)
    theirs.load_state_dict({"in_proj_weight": torch.cat([W_q, W_k, W_v]), "out_proj.weight": W_o})
    hidden = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    outputs, weights = theirs(x, x, x, attn_mask=hidden, average_attn_weights=False)
    return weights, outputs


test_right_layers = all_right(
    lesson07.check_causal_self_attention,
    "7.2",
    [layer, by_torch, lambda *args: [part.double() for part in layer(*args)]],
)


RIGHT_JOBS = {"previous": 3, "next": 0, "first": 2, "reverse": 1}


test_wrong_jobs = judged(
    lesson07.check_jobs,
    "7.3",
    [
        (RIGHT_JOBS | {"previous": 0, "next": 3}, '"previous" and "next" are exchanged'),
        (RIGHT_JOBS | {"previous": 1, "reverse": 3}, 'head 3 has a line right beside the diagonal: that is not "reve'),
        (RIGHT_JOBS | {"first": 1, "reverse": 2}, "head 1 has a line from the upper right to the lower left: that is"),
        (RIGHT_JOBS | {"first": 3, "previous": 2}, 'head 3 has a line right beside the diagonal: that is not "first"'),
        (RIGHT_JOBS | {"next": 2, "first": 0}, 'head 0 has a line right beside the diagonal: that is not "first"'),
        ({job: head + 1 for job, head in RIGHT_JOBS.items()}, "you counted from 1"),
        (RIGHT_JOBS | {"next": 7}, "there is no head 7"),
        (RIGHT_JOBS | {"next": 3}, "two jobs to one head"),
        (RIGHT_JOBS | {"next": "0"}, 'the head for "next" should be a number, such as 0; yours is of type str'),
        (RIGHT_JOBS | {"last": 0}, '"last" is none of the jobs'),
        ({"previous": 3}, 'there is no head for "next"'),
        ({head: job for job, head in RIGHT_JOBS.items()}, "the job comes first, then its head"),
        (RIGHT_JOBS | {"next": 0.5}, 'the head for "next" should be a number, such as 0; yours is 0.5'),
        ([3, 0, 2, 1], "yours is of type list"),
    ],
)


def test_right_jobs_and_the_maps_they_are_read_from(capsys):
    for kind in (int, float, torch.tensor, np.int64):
        jobs = {job: kind(head) for job, head in RIGHT_JOBS.items()}
        assert said_by(lesson07.check_jobs, jobs, capsys) == "Exercise 7.3: right!\n"
    brightest = lesson07.mystery_heads().argmax(-1)
    assert torch.allclose(lesson07.mystery_heads().sum(-1), torch.ones(4, 10))
    assert brightest[3, 1:].tolist() == list(range(9)) and brightest[0, :9].tolist() == list(range(1, 10))
    assert brightest[2].tolist() == [0] * 10 and brightest[1].tolist() == list(range(9, -1, -1))


def test_two_heads_by_hand_find_the_girl_and_the_apple():
    tokens = "the girl washes the red apple and eats it .".split()
    facts, matrices = lesson07.two_heads(tokens)
    layer = MultiHeadAttention(6, 2)
    layer.load_state_dict(matrices)
    with torch.no_grad(), record_attention(layer) as record:
        output = layer(facts, facts, facts)[0]
    weights = record[""][0][0]
    assert [(head, row) for head, row, key in (weights > 0.9).nonzero().tolist()] == [(0, 2), (0, 7), (1, 4), (1, 8)]
    assert (weights > 0.9).nonzero()[:, 2].tolist() == [1, 1, 5, 5], "girl, girl, apple, apple"
    assert output[8, 3:].tolist() == pytest.approx([0, 0.97, 0.97], abs=0.01), "it: a thing, and food"


def needed(n, k):
    return math.ceil((n - 1) / (k // 2))


test_wrong_layers_needed = judged(
    lesson07.check_layers_needed,
    "7.4",
    [
        (lambda n, k: (n - 1) / (k // 2), "return a whole number (for n = 2 and k = 5); yours is 0.5"),
        (lambda n, k: needed(n, 3) if k == 3 else n // 3, "you are right for a window of 3, and for no wider one"),
        (lambda n, k: "2", "return a whole number (for n = 2 and k = 3); yours is of type str"),
        (lambda n, k: 5, "for n = 2 words and a window of 3 it takes 1; yours: 5"),
        (lambda n, k: n / 0, "your code stopped with ZeroDivisionError"),
    ],
)


def by_counting(n, k):
    known, layers = torch.arange(n) == 0, 0
    while not known[-1]:
        known, layers = F.max_pool1d(known[None].float(), k, stride=1, padding=k // 2)[0] > 0, layers + 1
    return layers


test_right_layers_needed = all_right(
    lesson07.check_layers_needed,
    "7.4",
    [needed, by_counting, lambda n, k: -(-(n - 1) // (k // 2)), lambda n, k: np.ceil((n - 1) / (k // 2))],
)


def test_the_section_is_named_after_three_wrong_tries(capsys):
    for _ in range(checking.TRIES_BEFORE_HINT):
        lesson07.check_heads(reshaped, merge)
    assert '"3. One product, then a reshape"' in capsys.readouterr().out


# What the lesson says, for other seeds and sizes than its own.


@pytest.fixture(scope="module")
def lesson():
    """What the cells of more/07 define that count paths and work."""
    cells = [cell.source for cell in nbformat.read(MORE, as_version=4).cells if cell.cell_type == "code"]
    names, wanted = {}, ("ones = torch.ones(1, 1, 3", "def multiplications")
    exec(cells[0], names)
    for start in wanted:
        found = [cell for cell in cells if cell.startswith(start)]
        assert len(found) == 1, start
        exec(found[0], names)
    return names


def test_rounds_grow_as_the_table_says(lesson):
    rounds, steps = lesson["rounds"], lesson["steps"]
    for n in (3, 9, 27, 81, 243):
        assert rounds(n, steps["self-attention"]) == 1
        assert rounds(n, steps["convolution"]) == rounds(n, steps["GRU"]) == n - 1
        assert rounds(n, steps["dilated convolution"]) == round(math.log(n, 3))
    assert rounds(10, steps["dilated convolution"]) == 3, "one word more takes one layer more"


@pytest.mark.slow
def test_heads_share_the_work_and_multiply_the_weights(lesson):
    counted = {}
    for heads in (1, 3, 12):
        wide, words = MultiHeadAttention(24, heads), torch.randn(2, 17, 24)
        counted[heads] = lesson["multiplications"](lesson["openly"](wide), words)
        assert lesson["openly"](wide)(words).numel() == 2 * heads * 17**2
    assert set(counted.values()) == {2 * (4 * 17 * 24**2 + 2 * 17**2 * 24)}


def test_equal_weights_cannot_tell_two_words_apart():
    torch.manual_seed(0)
    layer = MultiHeadAttention(8, 1, query_size=8).double()
    nn.init.zeros_(layer.W_q.weight)  # all scores 0, so all weights equal
    x = torch.randn(1, 2, 8, dtype=torch.float64)
    with record_attention(layer) as record:
        one, other = layer(x, x, x), layer(x, x.flip(1), x.flip(1))
    assert torch.equal(record[""][0], torch.full((1, 1, 2, 2), 0.5).double()) and torch.allclose(one, other)


def test_heads_that_share_the_channels_cannot_be_a_convolution():
    kernel = torch.randn(6, 6, 3, dtype=torch.float64)  # 3 heads of size 2 share 6 channels
    shared = MultiHeadAttention(6, 3).double()
    for head in range(3):
        rows = slice(2 * head, 2 * head + 2)
        own = shared.W_o.weight[:, rows] @ shared.W_v.weight[rows]
        assert torch.linalg.matrix_rank(own) == 2 < torch.linalg.matrix_rank(kernel[:, :, head])


def test_one_causal_layer_knows_a_bag_of_earlier_words_and_two_know_more():
    torch.manual_seed(0)
    layers = [MultiHeadAttention(8, 2).double() for _ in range(2)]
    one = torch.randn(1, 4, 8, dtype=torch.float64)
    other = one[:, [2, 1, 0, 3]]  # the full stop stays the last
    with torch.no_grad():
        for count, alike in ((1, True), (2, False)):
            ends = []
            for x in (one, other):
                for layer_ in layers[:count]:
                    x = layer_(x, x, x, causal=True)
                ends.append(x[:, -1])
            assert torch.allclose(*ends) == alike


def test_what_usually_goes_wrong_goes_wrong_as_the_lesson_says():
    keys, ours = torch.randn(1, 1, 5, 4), MultiHeadAttention(8, 2)
    newest = F.scaled_dot_product_attention(keys[:, :, -1:], keys, keys, is_causal=True)
    assert torch.allclose(newest[0, 0, 0], keys[0, 0, 0])
    x = torch.randn(2, 5, 8)
    with torch.no_grad():
        assert torch.allclose(ours(x[:, -1:], x, x, causal=True)[:, 0], ours(x, x, x, causal=True)[:, -1], atol=1e-6)
        theirs = nn.MultiheadAttention(8, 2, bias=False, batch_first=True)
        own = (ours.W_q.weight, ours.W_k.weight, ours.W_v.weight)
        theirs.load_state_dict({"in_proj_weight": torch.cat(own), "out_proj.weight": ours.W_o.weight})
        with record_attention(ours) as record:
            ours(x, x, x)
        assert torch.allclose(theirs(x, x, x)[1], record[""][0].mean(1), atol=1e-6)
    with pytest.raises(ValueError, match="3 heads cannot share 8"):
        MultiHeadAttention(8, num_heads=3)
