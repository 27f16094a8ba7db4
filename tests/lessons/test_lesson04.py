"""The checks of lesson 04: right answers in other forms, and typical wrong ones, each with its own diagnosis."""

import pytest
import torch
import torch.nn.functional as F

from answers import all_right, judged
from seqlearn.exercises import lesson04

INF = float("inf")


test_wrong_readings_of_the_map = judged(
    lesson04.check_eats_looks_at,
    "4.1",
    [
        (["girl", "and"], 'the *rows* that look at "eats"'),
        (["washes", "eats"], 'the rows "girl" and "and"'),
        (["Girl", "red"], '"red" is not among the two brightest'),
        (["the", "it"], '"the" is not among the two brightest'),
        (["girl"], "two different words share the most of this row; yours: 1"),
        (["girl", "Girl"], "yours: 1"),
        (["girl", "apple", "red"], "yours: 3"),
        (["girl", "pomme"], '"pomme" is no column'),
        ("girl, apple", "of type str"),
        ([1, 5], "in quotes"),
        (3, "of type int"),
    ],
)


test_right_readings_of_the_map = all_right(
    lesson04.check_eats_looks_at, "4.1", [["girl", "apple"], ("apple", "girl"), {" Apple", "GIRL"}]
)


def attention(queries, keys, values, mask, *, scale=None, hidden=-INF, axis=-1, empty=0.0):
    """The solution of 4.2, with a switch for each typical mistake."""
    scores = queries @ keys.transpose(-2, -1) * (queries.shape[-1] ** -0.5 if scale is None else scale)
    weights = scores.masked_fill(~mask, hidden).softmax(axis)
    if empty is not None:
        weights = torch.where(mask.any(-1, keepdim=True), weights, empty)
    return weights, weights @ values


def scaled_late(queries, keys, values, mask):
    weights = attention(queries, keys, values, mask, scale=1.0)[0] / queries.shape[-1] ** 0.5
    return weights, weights @ values


def no_softmax(queries, keys, values, mask):
    scores = queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5
    return scores, scores @ values


def hides_in_place(queries, keys, values, mask):
    mask ^= mask
    return attention(queries, keys, values, mask)


def scales_in_place(queries, keys, values, mask):
    answer = attention(queries, keys, values, mask)
    queries /= 2
    return answer


def spread(queries, keys, values, mask):
    weights = torch.full(mask.shape, 1 / mask.shape[-1])
    return weights, weights @ values


WRONG_ATTENTIONS = [
    (lambda *args: attention(*args, axis=1, empty=None), "your columns sum to 1"),
    (no_softmax, "these are the scores"),
    (scaled_late, "sums to 0.50, not to 1: scale and mask *before* the softmax"),
    (lambda q, k, v, m: (attention(q, k, v, m)[0], attention(q, k, k if v.shape[-1] == 6 else v, m)[1]), "a key: the"),
    (lambda q, k, v, m: (attention(q, k, v, m)[0], attention(q, k, v, m)[1].flip(1)), "but the contexts are not"),
    (
        lambda *args: attention(*args, empty=None),
        "query 2 of sentence 1 may attend to nothing and should get zeros, bu",
    ),
    (lambda *args: attention(*args, hidden=-1e9, empty=None), "but gets 0.20 for a masked key"),
    (lambda *args: attention(*args)[0], "return two things"),
    (lambda *args: attention(*args)[::-1], "the wrong way round"),
    (lambda *args: tuple(part.tolist() for part in attention(*args)), "of type list: this should be the weights"),
    (lambda *args: (attention(*args)[0][:, 0], None), "the weights should have shape (2, 3, 5); yours: (2, 5)"),
    (lambda *args: (attention(*args)[0], attention(*args)[1].sum(1)), "contexts should have shape (2, 3, 4); yours: ("),
    (spread, "sentence 0, query 0 should be ["),
    (hides_in_place, "`mask` has changed"),
    (scales_in_place, "`queries` has changed"),
    (lambda q, k, v, m: attention(q, k.transpose(1, 2), v, m), "your code stopped with RuntimeError"),
]


test_wrong_attentions = judged(lesson04.check_scaled_dot_product, "4.2", WRONG_ATTENTIONS)


def by_torch(queries, keys, values, mask):
    identity = torch.eye(keys.shape[1]).expand(len(keys), -1, -1)
    return [F.scaled_dot_product_attention(queries, keys, last, attn_mask=mask) for last in (identity, values)]


def in_double(queries, keys, values, mask):
    return attention(queries.double(), keys.double(), values.double(), mask)


test_right_attentions = all_right(lesson04.check_scaled_dot_product, "4.2", [attention, by_torch, in_double])


def additive(queries, keys, W_q, W_k, w_v, *, join=lambda q, k: (q + k).tanh(), paired=True):
    """The solution of 4.3, with a switch for each typical mistake."""
    q, k = queries @ W_q.T, keys @ W_k.T
    return (join(q.unsqueeze(2), k.unsqueeze(1)) if paired else join(q, k)) @ w_v


def adds_in_place(queries, keys, W_q, W_k, w_v):
    answer = additive(queries, keys, W_q, W_k, w_v)
    w_v += 1
    return answer


WRONG_SCORES = [
    (
        lambda *args: additive(*args, join=lambda q, k: (q + k).cos()),
        "sentence 0, query 0, keys 0 and 1 should have the scores [-0.707, 1.130]; yours: [",
    ),
    (lambda *args: additive(*args, paired=False), "query 0 met key 0 only"),
    (lambda q, k, W_q, W_k, w_v: additive(q, k, W_q, W_k, torch.eye(len(w_v))), "you still have h numbers"),
    (lambda q, k, W_q, W_k, w_v: additive(q, k, W_q, W_k, w_v[:, None]), "`squeeze(-1)` takes it away"),
    (lambda *args: additive(*args)[0], "the scores should have shape (2, 3, 3); yours: (3, 3)"),
    (lambda *args: additive(*args).tolist(), "of type list: this should be the scores"),
    (adds_in_place, "`w_v` has changed"),
    (lambda q, k, W_q, W_k, w_v: q @ w_v[:2], "your code stopped with RuntimeError"),
]


test_wrong_additive_scores = pytest.mark.slow(judged(lesson04.check_additive_scores, "4.3", WRONG_SCORES))


def looped(queries, keys, W_q, W_k, w_v):
    return torch.stack([additive(queries[:, [i]], keys, W_q, W_k, w_v)[:, 0] for i in range(queries.shape[1])], 1)


def by_einsum(queries, keys, W_q, W_k, w_v):
    q, k = torch.einsum("bqi,hi->bqh", queries, W_q), torch.einsum("bki,hi->bkh", keys, W_k)
    return torch.einsum("bqkh,h->bqk", (q[:, :, None] + k[:, None]).tanh(), w_v)


test_right_additive_scores = all_right(lesson04.check_additive_scores, "4.3", [additive, looped, by_einsum])
