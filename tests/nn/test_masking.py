"""Masks and the masked softmax: shape, hand example, properties, parity with a slow loop."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqlearn.nn.masking import as_mask, causal_mask, masked_softmax, padding_mask, sequence_mask

TRUE, FALSE = True, False


def slow_masked_softmax(scores, allowed):
    """Entry by entry, from the formula."""
    out = torch.zeros_like(scores)
    for place in torch.cartesian_prod(*[torch.arange(size) for size in scores.shape[:-1]]).reshape(
        -1, scores.dim() - 1
    ):
        row = tuple(place.tolist())
        keys = [key for key in range(scores.shape[-1]) if allowed[row][key]]
        if keys:
            top = max(float(scores[row][key]) for key in keys)
            total = sum(math.exp(float(scores[row][key]) - top) for key in keys)
            for key in keys:
                out[row][key] = math.exp(float(scores[row][key]) - top) / total
    return out


def test_sequence_and_padding_mask_by_hand():
    assert sequence_mask(torch.tensor([0, 2, 3]), 3).tolist() == [
        [FALSE, FALSE, FALSE],
        [TRUE, TRUE, FALSE],
        [TRUE, TRUE, TRUE],
    ]
    ids = torch.tensor([[5, 7, 0], [9, 0, 0]])
    assert padding_mask(ids, pad=0).tolist() == [[[TRUE, TRUE, FALSE]], [[TRUE, FALSE, FALSE]]]


def test_causal_mask_by_hand():
    assert causal_mask(3).tolist() == [[TRUE, FALSE, FALSE], [TRUE, TRUE, FALSE], [TRUE, TRUE, TRUE]]
    assert causal_mask(2, past=1).tolist() == [[TRUE, TRUE, FALSE], [TRUE, TRUE, TRUE]]


def test_softmax_by_hand():
    scores = torch.log(torch.tensor([[[1.0, 2.0, 5.0], [1.0, 1.0, 2.0]]]))
    weights = masked_softmax(scores, torch.tensor([2]))
    torch.testing.assert_close(weights, torch.tensor([[[1 / 3, 2 / 3, 0.0], [1 / 2, 1 / 2, 0.0]]]))
    weights = masked_softmax(scores, torch.tensor([[1, 3]]))
    torch.testing.assert_close(weights, torch.tensor([[[1.0, 0.0, 0.0], [1 / 4, 1 / 4, 1 / 2]]]))


@given(
    batch=st.integers(1, 3),
    heads=st.integers(0, 2),
    queries=st.integers(1, 4),
    keys=st.integers(1, 5),
    form=st.sampled_from(["full", "keys", "lengths", "lengths2", "causal"]),
    seed=st.integers(0, 10**6),
)
def test_equals_the_slow_loop_for_every_form_of_mask(batch, heads, queries, keys, form, seed):
    torch.manual_seed(seed)
    shape = (batch, heads, queries, keys) if heads else (batch, queries, keys)
    scores = 5 * torch.randn(shape, dtype=torch.float64)
    before = scores.clone()
    lengths2 = torch.randint(0, keys + 1, (batch, queries))
    forms = {
        "full": torch.rand(batch, queries, keys) < 0.5,
        "keys": torch.rand(batch, 1, keys) < 0.5,
        "lengths": torch.randint(0, keys + 1, (batch,)),
        "lengths2": lengths2,
        "causal": torch.ones(queries, keys, dtype=torch.bool).tril(),
    }
    mask = forms[form]
    allowed = torch.zeros(batch, queries, keys, dtype=torch.bool)
    for b in range(batch):
        for q in range(queries):
            for k in range(keys):
                allowed[b, q, k] = {
                    "full": lambda b, q, k: mask[b, q, k],
                    "keys": lambda b, q, k: mask[b, 0, k],
                    "lengths": lambda b, q, k: k < mask[b],
                    "lengths2": lambda b, q, k: k < mask[b, q],
                    "causal": lambda b, q, k: k <= q,
                }[form](b, q, k)
    if heads:
        allowed = allowed.unsqueeze(1).expand(shape)
    torch.testing.assert_close(masked_softmax(scores, mask), slow_masked_softmax(scores, allowed))
    assert torch.equal(scores, before), "the caller's scores were written to"


def test_lengths_keep_queries_apart_from_batch_where_sizes_agree():
    """(batch, queries) lengths with batch == queries == keys == heads: nothing may be taken for something else."""
    lengths = torch.tensor([[1, 2], [2, 1]])
    mask = as_mask(lengths, torch.zeros(2, 2, 2, 2))
    assert mask.shape == (2, 1, 2, 2)
    assert mask[:, 0].tolist() == [[[TRUE, FALSE], [TRUE, TRUE]], [[TRUE, TRUE], [TRUE, FALSE]]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_row_with_nothing_to_attend_to_is_zero_forward_and_backward(dtype):
    scores = torch.randn(2, 3, 4).to(dtype).requires_grad_()
    weights = masked_softmax(scores, torch.tensor([0, 2]))
    assert weights.dtype == dtype
    assert (weights[0] == 0).all() and (weights[1, :, 2:] == 0).all()
    torch.testing.assert_close(weights[1].sum(-1).float(), torch.ones(3), atol=1e-2, rtol=0)
    (weights * torch.randn(2, 3, 4).to(dtype)).sum().backward()
    assert scores.grad is not None and scores.grad.isfinite().all()
    assert (scores.grad[0] == 0).all() and (scores.grad[1, :, :2] != 0).any()


@pytest.mark.parametrize("extreme", [1e4, -1e4, float("inf"), float("nan")])
def test_what_stands_on_padding_never_matters(extreme):
    scores = torch.zeros(1, 1, 3)
    scores[..., 2] = extreme
    torch.testing.assert_close(masked_softmax(scores, torch.tensor([2])), torch.tensor([[[0.5, 0.5, 0.0]]]))


def test_very_low_scores_are_still_compared():
    """A constant such as -1e6 in place of -inf would win against these."""
    scores = torch.tensor([[[-3e6, -3e6, 0.0]]])
    torch.testing.assert_close(masked_softmax(scores, torch.tensor([2])), torch.tensor([[[0.5, 0.5, 0.0]]]))


@pytest.mark.parametrize("mask", [torch.ones(1, 1, 2), torch.ones(1, 1, 2, dtype=torch.complex64)])
def test_a_mask_of_numbers_is_refused(mask, as_a_user):
    with pytest.raises(TypeError, match="bool"):
        as_mask(mask, torch.zeros(1, 1, 2))


@pytest.mark.parametrize("mask", [torch.ones(1, 1, 3, dtype=torch.bool), torch.tensor([1, 2]), torch.tensor([[[1]]])])
def test_a_mask_that_does_not_fit_is_refused(mask, as_a_user):
    with pytest.raises(ValueError, match=r"\(1, 1, 2\)"):
        masked_softmax(torch.zeros(1, 1, 2), mask)
