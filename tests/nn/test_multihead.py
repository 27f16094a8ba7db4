"""Multi-head attention: a loop over heads, torch.nn.MultiheadAttention, d2l, and what holds for every attention."""

from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from seqlearn.nn.attention import MultiHeadAttention
from seqlearn.nn.masking import causal_mask
from seqlearn.nn.positions import RotaryPositions
from seqlearn.nn.recording import record_attention
from seqlearn.runtime.d2l_compat import d2l

BATCH, QUERIES, KEYS, HEADS, HIDDENS = 2, 4, 6, 3, 12
SIZES = {"query_size": 5, "key_size": 7, "value_size": 4}
LENGTHS = torch.tensor([2, 6])


def make(dtype=torch.float64, **options):
    """A layer, and queries, keys and values that differ in size."""
    torch.manual_seed(0)
    layer = MultiHeadAttention(HIDDENS, HEADS, **{**SIZES, **options}).to(dtype).eval()
    shapes = (QUERIES, layer.W_q.in_features), (KEYS, layer.W_k.in_features), (KEYS, layer.W_v.in_features)
    return layer, *(torch.randn(BATCH, *shape, dtype=torch.float64).to(dtype) for shape in shapes)


def recorded(on, layer):
    return record_attention(layer) if on else nullcontext()


MASKS = {
    "none": None,
    "lengths": LENGTHS,
    "lengths of queries": torch.tensor([[1, 2, 3, 6], [6, 1, 2, 4]]),
    "keys": torch.tensor([[True, False, True, True, False, True], [True] * 6]).unsqueeze(1),
    "full": torch.rand(BATCH, QUERIES, KEYS, generator=torch.Generator().manual_seed(1)) < 0.6,
    "a mask for each head": torch.rand(BATCH, HEADS, QUERIES, KEYS, generator=torch.Generator().manual_seed(2)) < 0.6,
    "nothing": torch.zeros(BATCH, 1, KEYS, dtype=torch.bool),
}


def allowed(mask, b, h, q, k):
    """Whether query q of sentence b may look at key k in head h."""
    if mask is None:
        return True
    if mask.dtype != torch.bool:
        return k < int(mask[b] if mask.dim() == 1 else mask[b, q])
    full = mask if mask.dim() == 4 else mask.unsqueeze(1)
    return bool(full.expand(BATCH, HEADS, QUERIES, KEYS)[b, h, q, k])


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_equals_one_head_one_query_and_one_key_at_a_time(name, record, bias):
    layer, queries, keys, values = make(bias=bias)
    mask, size = MASKS[name], HIDDENS // HEADS
    with recorded(record, layer):
        found = layer(queries, keys, values, mask)
    assert found.shape == (BATCH, QUERIES, HIDDENS)
    for b in range(BATCH):
        for q in range(QUERIES):
            heads = []
            for h in range(HEADS):
                rows = slice(h * size, (h + 1) * size)
                query = layer.W_q(queries[b, q])[rows]
                seen = [k for k in range(KEYS) if allowed(mask, b, h, q, k)]
                exps = [torch.exp(query @ layer.W_k(keys[b, k])[rows] / size**0.5) for k in seen]
                parts = [exp / sum(exps) * layer.W_v(values[b, k])[rows] for exp, k in zip(exps, seen, strict=True)]
                heads.append(sum(parts, torch.zeros(size, dtype=torch.float64)))
            torch.testing.assert_close(found[b, q], layer.W_o(torch.cat(heads)), atol=1e-12, rtol=0)


def with_the_weights_of(layer):
    """torch's layer with ours in it."""
    sizes = {"kdim": layer.W_k.in_features, "vdim": layer.W_v.in_features}
    theirs = nn.MultiheadAttention(HIDDENS, HEADS, bias=layer.W_q.bias is not None, batch_first=True, **sizes)
    with torch.no_grad():
        if theirs.in_proj_weight is not None:
            theirs.in_proj_weight.copy_(torch.cat([layer.W_q.weight, layer.W_k.weight, layer.W_v.weight]))
        else:
            for name in "qkv":
                getattr(theirs, f"{name}_proj_weight").copy_(getattr(layer, f"W_{name}").weight)
        theirs.out_proj.weight.copy_(layer.W_o.weight)
        if layer.W_q.bias is not None:
            theirs.in_proj_bias.copy_(torch.cat([layer.W_q.bias, layer.W_k.bias, layer.W_v.bias]))
            theirs.out_proj.bias.copy_(layer.W_o.bias)
    return theirs.eval()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("sizes", [{"query_size": None, "key_size": None, "value_size": None}, {"query_size": None}])
@pytest.mark.parametrize("form", ["none", "keys", "attention", "both"])
def test_equals_torchs_layer(bias, sizes, form):
    layer, queries, keys, values = make(torch.float32, bias=bias, **sizes)
    for name in ("W_q", "W_k", "W_v", "W_o"):
        if bias:
            nn.init.normal_(getattr(layer, name).bias)
    real = torch.arange(KEYS) < LENGTHS.unsqueeze(1)  # batch, keys
    free = torch.rand(QUERIES, KEYS) < 0.6
    free[:, 0] = True  # nn.MultiheadAttention gives NaN where there is nothing to attend to
    ours = {"none": None, "keys": LENGTHS, "attention": free[None], "both": real.unsqueeze(1) & free}[form]
    theirs, weights = with_the_weights_of(layer)(
        queries, keys, values, need_weights=True, average_attn_weights=False,
        key_padding_mask=~real if form in ("keys", "both") else None,
        attn_mask=~free if form in ("attention", "both") else None,
    )  # fmt: skip
    with record_attention(layer) as record:
        slow = layer(queries, keys, values, ours)
    torch.testing.assert_close(slow, theirs, atol=1e-5, rtol=0)
    torch.testing.assert_close(layer(queries, keys, values, ours), theirs, atol=1e-5, rtol=0)
    torch.testing.assert_close(record[""][0], weights, atol=1e-5, rtol=0)


@pytest.mark.parametrize("lengths", [LENGTHS, MASKS["lengths of queries"]])
def test_equals_d2ls_layer(lengths):
    layer, queries, keys, values = make(torch.float32)
    theirs = d2l.MultiHeadAttention(7, 5, 4, HIDDENS, HEADS, dropout=0.0).eval()
    theirs.load_state_dict(layer.state_dict())  # the keys are d2l's
    torch.testing.assert_close(layer(queries, keys, values, lengths), theirs(queries, keys, values, lengths))


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("mask", [None, "lengths"])
@pytest.mark.parametrize(("steps", "keys"), [(5, 5), (1, 5), (3, 5), (5, 3)])
def test_causal_equals_the_mask_that_says_so(record, mask, steps, keys):
    """The queries are the last of the keys. Where there are more queries than keys, the first see nothing."""
    layer = MultiHeadAttention(8, 2).double()
    x, y = torch.randn(2, steps, 8, dtype=torch.float64), torch.randn(2, keys, 8, dtype=torch.float64)
    lengths = torch.tensor([1, keys]) if mask else torch.tensor([keys, keys])
    full = torch.zeros(2, 1, steps, keys, dtype=torch.bool)
    for b in range(2):
        for q in range(steps):
            full[b, 0, q, : max(0, keys - steps + q + 1)] = True
            full[b, 0, q, int(lengths[b]) :] = False
    size = (2, -1, 2, 4)
    heads = [W(z).view(size).transpose(1, 2) for W, z in ((layer.W_q, x), (layer.W_k, y), (layer.W_v, y))]
    expected = F.scaled_dot_product_attention(*heads, full).transpose(1, 2).flatten(2)
    with recorded(record, layer):
        found = layer(x, y, y, lengths if mask else None, causal=True)
    torch.testing.assert_close(found, layer.W_o(expected), atol=1e-12, rtol=0)


@pytest.mark.parametrize("form", ["none", "lengths", "causal"])
def test_the_fused_kernel_runs_unless_somebody_records(form):
    layer, queries, *_ = make(query_size=None, key_size=None, value_size=None)

    def run():
        return layer(queries, queries, queries, torch.tensor([2, 4]) if form == "lengths" else None, form == "causal")

    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # any other kernel is an error in this block
        fused = run()
        layer.train()  # with dropout 0, in training as well
        run().sum().backward()
    with record_attention(layer) as record:
        torch.testing.assert_close(run(), fused)
    assert record[""][0].shape == (BATCH, HEADS, QUERIES, QUERIES)


def test_keys_and_values_projected_once_serve_every_query():
    layer, queries, keys, values = make()
    projected = layer.project(keys, values)
    assert projected[0].shape == projected[1].shape == (BATCH, HEADS, KEYS, HIDDENS // HEADS)
    assert not any(each.is_contiguous() for each in projected), "heads are a view of the projection, not a copy"
    steps = [layer.attend(queries[:, q : q + 1], *projected, LENGTHS) for q in range(QUERIES)]
    torch.testing.assert_close(torch.cat(steps, 1), layer(queries, keys, values, LENGTHS))
    torch.testing.assert_close(layer.attend(queries, *projected, LENGTHS), layer(queries, keys, values, LENGTHS))


def test_padding_and_batch_order_do_not_matter():
    layer, queries, keys, values = make()
    found = layer(queries, keys, values, LENGTHS)
    longer = (torch.cat([x, torch.full((BATCH, 3, x.shape[2]), 1e3, dtype=torch.float64)], 1) for x in (keys, values))
    torch.testing.assert_close(layer(queries, *longer, LENGTHS), found, atol=1e-10, rtol=0)
    flipped = layer(queries.flip(0), keys.flip(0), values.flip(0), LENGTHS.flip(0)).flip(0)
    torch.testing.assert_close(flipped, found, atol=1e-10, rtol=0)
    torch.testing.assert_close(layer(queries[:1], keys[:1], values[:1], LENGTHS[:1]), found[:1], atol=1e-10, rtol=0)


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_gradients_arguments_and_rows_without_a_key(record, bias):
    layer, *tensors = make(bias=bias)
    queries, keys, values = (tensor.requires_grad_() for tensor in tensors)
    copies = [tensor.detach().clone() for tensor in tensors]
    mask = torch.tensor([[True] * 5 + [False], [False] * 6]).unsqueeze(1)  # the second sentence has nothing to see
    mask_copy = mask.clone()
    with recorded(record, layer):
        assert torch.autograd.gradcheck(lambda *args: layer(*args, mask), tensors)
        found = layer(queries, keys, values, mask)
    assert all(torch.equal(tensor, copy) for tensor, copy in zip([*tensors, mask], [*copies, mask_copy], strict=True))
    empty = layer.W_o.bias.expand(QUERIES, -1) if bias else torch.zeros(QUERIES, HIDDENS, dtype=torch.float64)
    assert torch.equal(found[1], empty)
    found.sum().backward()
    for tensor in (queries, keys, values):
        assert (tensor.grad[1] == 0).all() and (tensor.grad[0, :5] != 0).any()
    assert (keys.grad[0, 5] == 0).all() and (values.grad[0, 5] == 0).all()


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize(("dtype", "error"), [(torch.float16, 5e-3), (torch.bfloat16, 4e-2)])
@pytest.mark.parametrize("causal", [False, True])
def test_half_precision(record, dtype, error, causal):
    sizes = {"query_size": 8, "key_size": 8, "value_size": 8, "rotary": causal}
    layer, _, keys, _ = make(dtype, **sizes)
    with recorded(record, layer):
        found = layer(keys, keys, keys, torch.tensor([0, 4]), causal)
    exact = make(**sizes)[0](keys.double(), keys.double(), keys.double(), torch.tensor([0, 4]), causal)
    assert found.dtype == dtype and (found[0] == 0).all()
    torch.testing.assert_close(found.double(), exact, atol=error, rtol=error)


def test_dropout_is_for_training_alone_and_recorded_is_what_was_before_it():
    layer, queries, keys, values = make(dropout=0.5)
    assert torch.equal(layer(queries, keys, values), layer(queries, keys, values))
    layer.train()
    assert not torch.equal(layer(queries, keys, values), layer(queries, keys, values))
    with record_attention(layer) as record:
        layer(queries, keys, values)
    torch.testing.assert_close(record[""][0].sum(-1), torch.ones(BATCH, HEADS, QUERIES, dtype=torch.float64))
    assert layer.record is None


@pytest.mark.parametrize("record", [False, True])
def test_rotary_equals_rotating_queries_and_keys_before(record):
    layer, *_ = make(query_size=None, key_size=None, value_size=None, rotary=True)
    x = torch.randn(2, 5, HIDDENS, dtype=torch.float64)
    rotary = RotaryPositions(HIDDENS // HEADS).double()
    q, k, v = (W(x).view(2, 5, HEADS, -1).transpose(1, 2) for W in (layer.W_q, layer.W_k, layer.W_v))
    context = F.scaled_dot_product_attention(rotary(q), rotary(k), v, causal_mask(5))
    expected = layer.W_o(context.transpose(1, 2).flatten(2))
    with recorded(record, layer):
        torch.testing.assert_close(layer(x, x, x, causal=True), expected)
    # The same with the last two tokens given later: their keys start at position 3.
    first, last = layer.project(x[:, :3], x[:, :3]), layer.project(x[:, 3:], x[:, 3:], start=3)
    keys, values = (torch.cat(pair, 2) for pair in zip(first, last, strict=True))
    torch.testing.assert_close(layer.attend(x[:, 3:], keys, values, causal=True), expected[:, 3:])


def test_one_head_has_the_whole_width():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(HIDDENS, 1).eval(), torch.randn(BATCH, KEYS, HIDDENS)
    weights = (layer.W_q(x) @ layer.W_k(x).mT / HIDDENS**0.5).softmax(-1)
    torch.testing.assert_close(layer(x, x, x), layer.W_o(weights @ layer.W_v(x)))


@pytest.mark.parametrize("heads", [0, 5, 24])
def test_heads_that_cannot_share_evenly_are_refused(heads):
    with pytest.raises(ValueError, match=f"{heads} heads cannot share 12 features"):
        MultiHeadAttention(12, heads)


def test_a_mask_that_does_not_fit_is_named(as_a_user):
    layer, queries, keys, values = make()
    with pytest.raises(ValueError, match=r"mask \(2, 1, 5\) does not fit scores \(2, 3, 4, 6\)"):
        layer(queries, keys, values, torch.ones(2, 1, 5, dtype=torch.bool))
