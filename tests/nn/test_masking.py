"""Masks and the masked softmax: shape, hand example, properties, parity with a slow loop and with torch's kernels."""

import math
from contextlib import nullcontext

import pytest
import torch
from hypothesis import given, strategies as st
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from seqlearn.nn.attention import AdditiveAttention, BilinearAttention, DotProductAttention, MultiHeadAttention
from seqlearn.nn.masking import as_mask, causal_mask, masked_softmax, padding_mask, sequence_mask
from seqlearn.nn.recording import record_attention

TRUE, FALSE = True, False
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64]
WEIGHT_ERROR = {torch.float16: 1e-3, torch.bfloat16: 8e-3, torch.float32: 1e-6, torch.float64: 1e-12}
GRADIENT_ERROR = {torch.float16: 6e-3, torch.bfloat16: 5e-2, torch.float32: 5e-6, torch.float64: 1e-12}


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


def slow_gradient(weights, arrived):
    """What arrives at the weights, brought back to the scores: w_k (g_k - sum_j w_j g_j)."""
    return weights * (arrived - (weights * arrived).sum(-1, keepdim=True))


FORMS = {  # name -> (make a mask or lengths, whether key k of query q in sentence b, seen by head h, may be attended)
    "full": (lambda b, h, q, k: torch.rand(b, q, k) < 0.5, lambda mask, b, h, q, k: mask[b, q, k]),
    "keys": (lambda b, h, q, k: torch.rand(b, 1, k) < 0.5, lambda mask, b, h, q, k: mask[b, 0, k]),
    "heads": (lambda b, h, q, k: torch.rand(b, h, q, k) < 0.5, lambda mask, b, h, q, k: mask[b, h, q, k]),
    "over heads": (lambda b, h, q, k: torch.rand(b, 1, 1, k) < 0.5, lambda mask, b, h, q, k: mask[b, 0, 0, k]),
    "causal": (lambda b, h, q, k: causal_mask(max(q, k))[None, :q, :k], lambda mask, b, h, q, k: k <= q),
    "strictly causal": (
        lambda b, h, q, k: torch.ones(1, q, k, dtype=torch.bool).tril(-1),
        lambda mask, b, h, q, k: k < q,
    ),
    "causal and keys": (
        lambda b, h, q, k: (torch.rand(b, 1, k) < 0.5) & torch.ones(q, k, dtype=torch.bool).tril(),
        lambda mask, b, h, q, k: mask[b, q, k] and k <= q,
    ),
    "lengths": (lambda b, h, q, k: torch.randint(0, k + 1, (b,)), lambda lens, b, h, q, k: k < lens[b]),
    "lengths of queries": (
        lambda b, h, q, k: torch.cat([torch.full((b, 1), k), torch.randint(0, k + 1, (b, q - 1))], 1),  # not all 0 or 1
        lambda lens, b, h, q, k: k < lens[b, q],
    ),
    "nothing": (lambda b, h, q, k: torch.zeros(b, 1, k, dtype=torch.bool), lambda *_: False),
}


def make(form, batch, heads, queries, keys, integer=torch.int64):
    """A mask of this form, and which keys it allows, as `(batch, heads, queries, keys)`, entry by entry."""
    mask, is_allowed = FORMS[form]
    mask = mask(batch, heads, queries, keys)
    allowed = torch.zeros(batch, heads, queries, keys, dtype=torch.bool)
    for b, h, q, k in torch.cartesian_prod(*map(torch.arange, allowed.shape)).reshape(-1, 4).tolist():
        allowed[b, h, q, k] = bool(is_allowed(mask, b, h, q, k))
    return mask if mask.dtype == torch.bool else mask.to(integer), allowed


@pytest.mark.parametrize("form", FORMS)
@given(
    batch=st.integers(1, 3),
    heads=st.integers(0, 3),
    queries=st.integers(1, 4),
    keys=st.integers(1, 5),
    dtype=st.sampled_from(FLOATS),
    integer=st.sampled_from(INTEGERS),
    seed=st.integers(0, 10**6),
)
def test_equals_the_slow_loop_forward_and_backward(form, batch, heads, queries, keys, dtype, integer, seed):
    torch.manual_seed(seed)
    if "heads" in form:
        heads = max(heads, 1)
    mask, allowed = make(form, batch, max(heads, 1), queries, keys, integer)
    allowed = allowed if heads else allowed[:, 0]
    scores = (5 * torch.randn(allowed.shape)).to(dtype).requires_grad_()
    arrived = torch.randn(allowed.shape).to(dtype)
    before = scores.detach().clone(), mask.clone()
    weights = masked_softmax(scores, mask)
    weights.backward(arrived)
    right = slow_masked_softmax(scores.detach().double(), allowed)
    assert weights.dtype == dtype and weights.shape == scores.shape
    torch.testing.assert_close(weights.detach().double(), right, atol=WEIGHT_ERROR[dtype], rtol=0)
    right = slow_gradient(right, arrived.double())
    torch.testing.assert_close(scores.grad.double(), right, atol=GRADIENT_ERROR[dtype], rtol=0)
    assert (weights[~allowed] == 0).all() and (scores.grad[~allowed] == 0).all(), "what is masked gets exactly 0"
    assert torch.equal(scores.detach(), before[0]) and torch.equal(mask, before[1]), "an argument was written to"


@given(heads=st.lists(st.integers(1, 3), max_size=2), form=st.sampled_from([form for form in FORMS if form != "heads"]))
def test_every_head_gets_what_it_would_get_alone(heads, form):
    """Of any number of head axes, and where their sizes equal the batch: a mask is never taken for one of heads."""
    batch, queries, keys = 2, 3, 4
    mask, allowed = make(form, batch, 1, queries, keys)
    if mask.dim() == 4 and len(heads) != 1:
        mask = mask[:, 0]
    scores = torch.randn(batch, *heads, queries, keys)
    together = masked_softmax(scores, mask)
    apart = scores.reshape(batch, -1, queries, keys).unbind(1)
    alone = torch.stack([masked_softmax(head, allowed[:, 0]) for head in apart], dim=1)
    torch.testing.assert_close(together, alone.reshape(scores.shape))


def test_lengths_keep_queries_apart_from_batch_where_sizes_agree():
    """(batch, queries) lengths with batch == queries == keys == heads: nothing may be taken for something else."""
    lengths = torch.tensor([[1, 2], [2, 1]])
    mask = as_mask(lengths, (2, 2, 2, 2))
    assert mask.shape == (2, 1, 2, 2)
    assert mask[:, 0].tolist() == [[[TRUE, FALSE], [TRUE, TRUE]], [[TRUE, TRUE], [TRUE, FALSE]]]


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_row_with_nothing_to_attend_to_is_zero_forward_and_backward(dtype):
    scores = torch.randn(2, 3, 4).to(dtype).requires_grad_()
    weights = masked_softmax(scores, torch.tensor([0, 2]))
    assert weights.dtype == dtype
    assert (weights[0] == 0).all() and (weights[1, :, 2:] == 0).all()
    torch.testing.assert_close(weights[1].sum(-1).float(), torch.ones(3), atol=1e-2, rtol=0)
    (weights * torch.randn(2, 3, 4).to(dtype)).sum().backward()
    assert scores.grad is not None and scores.grad.isfinite().all()
    assert (scores.grad[0] == 0).all() and (scores.grad[1, :, :2] != 0).any()


def test_no_nan_arises_on_the_way():
    """So autograd's anomaly mode, with which one looks for NaNs, does not stop at an empty row."""
    scores = torch.randn(2, 3, 4, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        masked_softmax(scores, torch.tensor([0, 2])).sum().backward()


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
        as_mask(mask, (1, 1, 2))


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(2, 1, 3, dtype=torch.bool), r"mask \(2, 1, 3\) does not fit scores \(2, 1, 2\)"),
        (torch.tensor([1]), r"valid lengths are .*; got \(1,\) for scores \(2, 1, 2\)"),  # never one for all sentences
        (torch.tensor([1, 2, 1]), r"valid lengths are .*; got \(3,\) for scores \(2, 1, 2\)"),
        (torch.tensor([[[1]], [[2]]]), r"valid lengths are .*; got \(2, 1, 1\) for scores \(2, 1, 2\)"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(mask, message, as_a_user):
    with pytest.raises(ValueError, match=message):
        masked_softmax(torch.zeros(2, 1, 2), mask)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(2, 4).bool(), r"for 2 sentences could mean two things: write mask\[:, None\] .* and mask\[None\]"),
        (causal_mask(4).clone(), r"mask \(4, 4\) for 2 sentences could mean two things"),
        (torch.ones(2, 4, 1).bool(), r"mask \(2, 4, 1\) has one value for 4 keys"),
        (torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]), r"write mask.bool\(\)\[:, None\] if 1 means .* sequence_mask"),
    ],
)
def test_what_could_mean_two_things_is_refused_everywhere(mask, message, as_a_user):
    x = torch.randn(2, 4, 8)
    for layer in (MultiHeadAttention(8, 2), DotProductAttention(), AdditiveAttention(8, 8, 3)):
        for recorded in (False, True):
            with pytest.raises(ValueError, match=message), record_attention(layer) if recorded else nullcontext():
                layer(x, x, x, mask)


def test_a_causal_mask_of_ours_and_one_sentence_need_no_ceremony():
    x, plain = torch.randn(4, 4, 8), torch.ones(4, 4).bool().tril()
    for layer in (MultiHeadAttention(8, 2), DotProductAttention(), BilinearAttention(8, 8)):
        expected = torch.cat([layer(row[None], row[None], row[None], plain) for row in x])
        torch.testing.assert_close(layer(x, x, x, causal_mask(4)), expected)
        torch.testing.assert_close(layer(x, x, x, causal_mask(4).expand(4, 4, 4)), expected)


# The fused kernels that our layers run on have to do what masked_softmax does. CUDA's are tried where there is a GPU.
KERNELS = [
    pytest.param(device, backend, dtype, id=f"{device}-{backend.name}-{dtype}".replace("torch.", ""), marks=marks)
    for device, backends, dtypes, marks in [
        ("cpu", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], FLOATS, []),
        (
            "cuda",
            [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION],
            FLOATS[:3],
            [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA on this machine")],
        ),
    ]
    for backend in backends
    for dtype in dtypes
]


def fused(backend, queries, keys, values, mask):
    """torch's attention by this kernel and no other; a test that asks a CUDA kernel for more than it can is skipped."""
    try:
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    except RuntimeError as error:
        if queries.device.type == "cuda" and "No" in str(error) and "backend" in str(error).lower():
            pytest.skip(f"{backend.name} does not take a mask, or not this dtype")
        raise


def attend_by_hand(queries, keys, values, mask):
    """What the kernel should give."""
    return masked_softmax(queries @ keys.transpose(-1, -2) / queries.shape[-1] ** 0.5, mask) @ values


@pytest.mark.parametrize(("device", "backend", "dtype"), KERNELS)
def test_every_kernel_of_torch_takes_our_masks(device, backend, dtype):
    for form in FORMS:
        mask, allowed = make(form, batch=3, heads=2, queries=5, keys=8)
        if form == "full":
            mask[0, 2], allowed[0, :, 2] = False, False
        inputs = [torch.randn(3, 2, steps, 8).to(device, dtype).requires_grad_() for steps in (5, 8, 8)]
        out = fused(backend, *inputs, as_mask(mask.to(device), (3, 2, 5, 8)))
        arrived = torch.randn(out.shape).to(out)
        found = out, *torch.autograd.grad(out, inputs, arrived)
        exact = [tensor.detach().double().cpu().requires_grad_() for tensor in inputs]
        right = attend_by_hand(*exact, mask)
        right = right, *torch.autograd.grad(right, exact, arrived.double().cpu())
        for name, ours, should in zip(("out", "queries", "keys", "values"), found, right, strict=True):
            off = float((ours.double().cpu() - should).detach().abs().max())  # NaN is not below anything
            assert off < 3 * GRADIENT_ERROR[dtype], f"{form}: {name} is off by {off}"
        empty = ~allowed.any(-1)
        assert empty.any() or form not in ("full", "nothing", "strictly causal"), "no row without a key was tried"
        assert (found[0][empty] == 0).all() and (found[1][empty] == 0).all(), f"{form}: a row without a key gives zeros"


@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
def test_a_kernel_that_works_block_by_block_takes_blocks_without_a_key(backend):
    """A fused kernel takes some hundred keys at a time: here the first blocks of a row, or all, are masked."""
    queries, keys, values = (torch.randn(2, 2, steps, 8, dtype=torch.float64) for steps in (4, 1500, 1500))
    mask = torch.zeros(2, 1, 1500, dtype=torch.bool)
    mask[0, :, 1400:] = True
    out = fused(backend, queries, keys, values, as_mask(mask, (*queries.shape[:-1], keys.shape[-2])))
    torch.testing.assert_close(out, attend_by_hand(queries, keys, values, mask))
    assert (out[1] == 0).all()


def test_the_kernel_that_is_asked_for_is_the_one_that_runs():
    inputs = [torch.randn(1, 1, 3, 8, requires_grad=True) for _ in range(3)]
    names = [
        type(fused(backend, *inputs, None).grad_fn).__name__
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH)
    ]
    assert "FlashAttentionForCpu" in names[0] and "Flash" not in names[1]
    with pytest.raises(RuntimeError, match="backend"):
        fused(SDPBackend.CUDNN_ATTENTION, *inputs, None)
