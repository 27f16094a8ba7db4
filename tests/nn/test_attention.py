"""The three attentions, recording, and the map of one sentence."""

import math
from contextlib import nullcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqlearn.data.d2l_compat import d2l
from seqlearn.nn.attention import (
    AdditiveAttention,
    AttentionMap,
    BilinearAttention,
    DotProductAttention,
    record_attention,
)
from seqlearn.nn.masking import masked_softmax

SCORES = {
    "additive": lambda dropout: AdditiveAttention(query_size=4, key_size=4, num_hiddens=7, dropout=dropout),
    "dot": lambda dropout: DotProductAttention(dropout),
    "bilinear": lambda dropout: BilinearAttention(query_size=4, key_size=4, dropout=dropout),
}


def make(score="additive", dtype=torch.float64, dropout=0.0):
    torch.manual_seed(0)
    layer = SCORES[score](dropout).to(dtype)
    queries, keys, values = (torch.randn(2, n, d, dtype=torch.float64).to(dtype) for n, d in ((4, 4), (6, 4), (6, 2)))
    return layer.eval(), queries, keys, values


def score_by_hand(layer, query, key):
    """One number, from the formula."""
    if isinstance(layer, AdditiveAttention):
        return (layer.w_v.weight[0] @ torch.tanh(layer.W_q.weight @ query + layer.W_k.weight @ key)).item()
    if isinstance(layer, BilinearAttention):
        return sum(
            (query[i] * layer.W.weight[i, j] * key[j]).item() for i in range(len(query)) for j in range(len(key))
        )
    return sum(float(query[i] * key[i]) for i in range(len(query))) / math.sqrt(len(query))


every_score = pytest.mark.parametrize("score", SCORES)


@every_score
def test_shape(score):
    layer, queries, keys, values = make(score)
    assert layer(queries, keys, values, torch.tensor([2, 6])).shape == (2, 4, 2)


def test_queries_and_keys_may_differ_in_size_where_a_matrix_joins_them():
    queries, keys, values = torch.randn(2, 4, 3), torch.randn(2, 6, 5), torch.randn(2, 6, 2)
    for layer in (AdditiveAttention(3, 5, 7), BilinearAttention(3, 5)):
        assert layer(queries, keys, values).shape == (2, 4, 2)


@every_score
@pytest.mark.parametrize("recorded", [False, True])
def test_equals_the_formula_in_a_loop(score, recorded):
    layer, queries, keys, values = make(score)
    lengths = [2, 6]
    with record_attention(layer) if recorded else nullcontext():
        context = layer(queries, keys, values, torch.tensor(lengths))
    for b in range(2):
        for q in range(4):
            scores = [score_by_hand(layer, queries[b, q], keys[b, k]) for k in range(lengths[b])]
            exps = torch.tensor(scores, dtype=torch.float64).exp()
            expected = sum(exps[k] / exps.sum() * values[b, k] for k in range(lengths[b]))
            torch.testing.assert_close(context[b, q], expected)


@every_score
def test_keys_projected_once_serve_every_query(score):
    layer, queries, keys, values = make(score)
    projected = layer.project_keys(keys)
    steps = [layer.attend(queries[:, q : q + 1], projected, values, torch.tensor([2, 6])) for q in range(4)]
    torch.testing.assert_close(torch.cat(steps, 1), layer(queries, keys, values, torch.tensor([2, 6])))


@pytest.mark.parametrize("score", ["additive", "dot"])
def test_equals_d2l_with_the_same_weights(score):
    layer, queries, keys, values = make(score, torch.float32)
    theirs = {
        "additive": lambda: d2l.AdditiveAttention(key_size=4, query_size=4, num_hiddens=7, dropout=0.0),
        "dot": lambda: d2l.DotProductAttention(dropout=0.0),
    }[score]().eval()
    theirs.load_state_dict(layer.state_dict())  # the keys are d2l's, too
    lengths = torch.tensor([2, 6])
    with record_attention(layer) as record:
        ours = layer(queries, keys, values, lengths)
    torch.testing.assert_close(ours, theirs(queries, keys, values, lengths))
    torch.testing.assert_close(layer(queries, keys, values, lengths), ours)
    torch.testing.assert_close(record[""][0], theirs.attention_weights)


def test_bilinear_scores_equal_torchs():
    layer, queries, keys, values = make("bilinear")
    pairs = queries.unsqueeze(2).expand(2, 4, 6, 4), keys.unsqueeze(1).expand(2, 4, 6, 4)
    scores = torch.nn.functional.bilinear(*(side.contiguous() for side in pairs), layer.W.weight.unsqueeze(0))
    torch.testing.assert_close(layer(queries, keys, values), scores.squeeze(-1).softmax(-1) @ values)


@every_score
def test_padding_and_batch_order_do_not_matter(score):
    layer, queries, keys, values = make(score)
    lengths = torch.tensor([3, 5])
    context = layer(queries, keys, values, lengths)
    longer_keys = torch.cat([keys, torch.full((2, 4, 4), 1e3, dtype=torch.float64)], 1)
    longer_values = torch.cat([values, torch.full((2, 4, 2), 1e3, dtype=torch.float64)], 1)
    torch.testing.assert_close(layer(queries, longer_keys, longer_values, lengths), context, atol=1e-10, rtol=0)
    flipped = layer(queries.flip(0), keys.flip(0), values.flip(0), lengths.flip(0)).flip(0)
    torch.testing.assert_close(flipped, context, atol=1e-10, rtol=0)
    alone = layer(queries[1:], keys[1:], values[1:], lengths[1:])
    torch.testing.assert_close(alone, context[1:], atol=1e-10, rtol=0)


@every_score
@pytest.mark.parametrize("recorded", [False, True])
def test_gradients_and_arguments(score, recorded):
    layer, queries, keys, values = make(score)
    tensors = [tensor.requires_grad_() for tensor in (queries, keys, values)]
    copies = [tensor.detach().clone() for tensor in tensors]
    mask = torch.tensor([[True] * 6, [False] * 6]).unsqueeze(1)  # the second sentence has nothing to attend to
    with record_attention(layer) if recorded else nullcontext():
        assert torch.autograd.gradcheck(lambda *args: layer(*args, mask), tensors)
        context = layer(*tensors, mask)
    assert all(torch.equal(tensor, copy) for tensor, copy in zip(tensors, copies, strict=True))
    assert (context[1] == 0).all()
    context.sum().backward()
    assert (queries.grad[1] == 0).all() and (values.grad[1] == 0).all() and (values.grad[0] != 0).any()


@every_score
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(score, dtype):
    layer, queries, keys, values = make(score, dtype)
    context = layer(queries, keys, values, torch.tensor([0, 4]))
    assert context.dtype == dtype and context.isfinite().all() and (context[0] == 0).all()
    exact = make(score)[0](*make(score)[1:], torch.tensor([0, 4]))
    torch.testing.assert_close(context.double(), exact, atol=0.05, rtol=0.05)


@given(heads=st.integers(0, 3), form=st.sampled_from(["none", "lengths", "lengths2", "keys", "full", "causal"]))
def test_dot_product_with_any_heads_and_masks_equals_the_plain_way(heads, form):
    shape = (2, heads) if heads else (2,)
    queries, keys, values = (torch.randn(*shape, 5, d, dtype=torch.float64) for d in (4, 4, 3))
    mask = {
        "none": None,
        "lengths": torch.tensor([0, 3]),
        "lengths2": torch.randint(0, 6, (2, 5)),
        "keys": torch.rand(2, 1, 5) < 0.6,
        "full": torch.rand(2, 5, 5) < 0.5,
        "causal": torch.ones(5, 5, dtype=torch.bool).tril(),
    }[form]
    plain = masked_softmax(queries @ keys.mT / 2, mask) @ values
    torch.testing.assert_close(DotProductAttention()(queries, keys, values, mask), plain)


@every_score
def test_dropout_is_for_training_alone(score):
    layer, queries, keys, values = make(score, dropout=0.5)
    assert torch.equal(layer(queries, keys, values), layer(queries, keys, values))
    layer.train()
    assert not torch.equal(layer(queries, keys, values), layer(queries, keys, values))


@every_score
def test_recording_is_before_dropout_and_leaves_nothing_behind(score):
    layer, queries, keys, values = make(score, dropout=0.5)
    layer.train()
    with record_attention(layer) as outer:
        with record_attention(layer) as record:
            layer(queries, keys, values)
            layer(queries, keys, values)
        layer(queries, keys, values)
    layer(queries, keys, values)
    assert [len(record[""]), len(outer[""])] == [2, 1]
    torch.testing.assert_close(record[""][0].sum(-1), torch.ones(2, 4, dtype=torch.float64))
    assert layer.record is None and not record[""][0].requires_grad


def test_recording_ends_with_an_error_too():
    layer, *_ = make()
    with pytest.raises(ZeroDivisionError), record_attention(layer):
        1 / 0  # noqa: B018
    assert layer.record is None


def test_map_fills_in_layers_and_heads():
    attention = AttentionMap(torch.tensor([[0.25, 0.75]]), ["q"], ["a", "b"])
    assert attention.weights.shape == (1, 1, 1, 2)
    assert repr(attention) == "AttentionMap(cross, 1 layers, 1 heads, 1 queries, 2 keys)"


@pytest.mark.parametrize(
    ("weights", "kind", "mask", "message"),
    [
        ([[0.5, 0.5]], "sideways", None, "sideways"),
        ([[0.5, 0.25, 0.25]], "cross", None, r"\(1, 1, 1, 3\) do not fit 1 query and 2 key"),
        ([[float("nan"), 0.5]], "cross", None, "NaN"),
        ([[0.5, 0.4]], "cross", None, "query 0 \\('q'\\) sums to 0.900"),
        ([[0.5, 0.5]], "cross", [[False, False]], "sums to 1.000"),
        ([[0.5, 0.5]], "cross", [[True]], "mask"),
    ],
)
def test_map_names_what_is_wrong(weights, kind, mask, message, as_a_user):
    with pytest.raises(ValueError, match=message):
        AttentionMap(torch.tensor(weights), ["q"], ["a", "b"], kind, None if mask is None else torch.tensor(mask))


def test_map_accepts_a_fully_masked_row():
    hidden = AttentionMap(torch.zeros(1, 2), ["q"], ["a", "b"], mask=torch.zeros(1, 2, dtype=torch.bool))
    assert hidden.weights.tolist() == [[[[0.0, 0.0]]]] and hidden.mask.tolist() == [[False, False]]
