"""Additive attention, recording, and the map of one sentence."""

import pytest
import torch

from seqlearn.data.d2l_compat import d2l
from seqlearn.nn.attention import AdditiveAttention, AttentionMap, record_attention


def make(dtype=torch.float64, dropout=0.0):
    torch.manual_seed(0)
    layer = AdditiveAttention(query_size=3, key_size=5, num_hiddens=7, dropout=dropout).to(dtype)
    queries, keys, values = (torch.randn(2, n, d, dtype=torch.float64).to(dtype) for n, d in ((4, 3), (6, 5), (6, 2)))
    return layer.eval(), queries, keys, values


def test_shape():
    layer, queries, keys, values = make()
    assert layer(queries, keys, values, torch.tensor([2, 6])).shape == (2, 4, 2)


def test_equals_the_formula_in_a_loop():
    layer, queries, keys, values = make()
    lengths = [2, 6]
    context = layer(queries, keys, values, torch.tensor(lengths))
    for b in range(2):
        for q in range(4):
            scores = [
                (
                    layer.w_v.weight[0] @ torch.tanh(layer.W_q.weight @ queries[b, q] + layer.W_k.weight @ keys[b, k])
                ).item()
                for k in range(lengths[b])
            ]
            exps = torch.tensor(scores, dtype=torch.float64).exp()
            expected = sum(exps[k] / exps.sum() * values[b, k] for k in range(lengths[b]))
            torch.testing.assert_close(context[b, q], expected)


def test_equals_d2l_with_the_same_weights():
    layer, queries, keys, values = make(torch.float32)
    theirs = d2l.AdditiveAttention(key_size=5, query_size=3, num_hiddens=7, dropout=0.0).eval()
    theirs.load_state_dict(layer.state_dict())  # the keys are d2l's, too
    lengths = torch.tensor([2, 6])
    with record_attention(layer) as record:
        ours = layer(queries, keys, values, lengths)
    torch.testing.assert_close(ours, theirs(queries, keys, values, lengths))
    torch.testing.assert_close(record[""][0], theirs.attention_weights)


def test_padding_and_batch_order_do_not_matter():
    layer, queries, keys, values = make()
    lengths = torch.tensor([3, 5])
    context = layer(queries, keys, values, lengths)
    longer_keys = torch.cat([keys, torch.full((2, 4, 5), 1e3, dtype=torch.float64)], 1)
    longer_values = torch.cat([values, torch.full((2, 4, 2), 1e3, dtype=torch.float64)], 1)
    torch.testing.assert_close(layer(queries, longer_keys, longer_values, lengths), context, atol=1e-10, rtol=0)
    flipped = layer(queries.flip(0), keys.flip(0), values.flip(0), lengths.flip(0)).flip(0)
    torch.testing.assert_close(flipped, context, atol=1e-10, rtol=0)


def test_gradients_and_arguments():
    layer, queries, keys, values = make()
    tensors = [tensor.requires_grad_() for tensor in (queries, keys, values)]
    copies = [tensor.detach().clone() for tensor in tensors]
    mask = torch.tensor([[True] * 6, [False] * 6]).unsqueeze(1)  # the second sentence has nothing to attend to
    assert torch.autograd.gradcheck(lambda *args: layer(*args, mask), tensors)
    assert all(torch.equal(tensor, copy) for tensor, copy in zip(tensors, copies, strict=True))
    assert (layer(*tensors, mask)[1] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    layer, queries, keys, values = make(dtype)
    context = layer(queries, keys, values, torch.tensor([0, 4]))
    assert context.dtype == dtype and context.isfinite().all() and (context[0] == 0).all()


def test_recording_is_before_dropout_and_leaves_nothing_behind():
    layer, queries, keys, values = make(dropout=0.5)
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
