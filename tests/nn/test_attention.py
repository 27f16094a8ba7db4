"""The three attentions, recording, and the map of one sentence."""

import math
import re
from contextlib import nullcontext

import pytest
import torch
from hypothesis import given, strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel

from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.nn.attention import (
    AdditiveAttention,
    BilinearAttention,
    DotProductAttention,
    MultiHeadAttention,
    dot_product_attend,
)
from seqlearn.nn.masking import causal_mask, masked_softmax
from seqlearn.nn.recording import edit_attention, record_attention
from seqlearn.nn.seq2seq import BahdanauConfig, bahdanau
from seqlearn.nn.transformer import TransformerConfig, transformer
from seqlearn.runtime.d2l_compat import d2l

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
        "causal": causal_mask(5),
    }[form]
    plain = masked_softmax(queries @ keys.mT / 2, mask) @ values
    torch.testing.assert_close(DotProductAttention()(queries, keys, values, mask), plain)


@pytest.mark.parametrize("heads", [(), (3,)])
@pytest.mark.parametrize("past", [0, 2])
@pytest.mark.parametrize("lengths", [None, torch.tensor([3, 4])])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("recorded", [False, True])
def test_one_product_serves_all_layers(heads, past, lengths, causal, recorded):
    """With any scale, with heads or without, and causal after any past."""
    steps, keys, layer = 4, 4 + past, DotProductAttention()
    q, k, v = (torch.randn(2, *heads, n, d, dtype=torch.float64) for n, d in ((steps, 6), (keys, 6), (keys, 5)))
    may = torch.ones(2, *heads, steps, keys, dtype=torch.bool)
    for row in range(steps if causal else 0):
        may[..., row, past + row + 1 :] = False
    for sentence, length in enumerate([] if lengths is None else lengths.tolist()):
        may[sentence, ..., length:] = False
    exps = (0.3 * q @ k.mT).exp() * may
    with record_attention(layer) if recorded else nullcontext():
        found = dot_product_attend(layer, q, k, v, lengths, 0.3, causal)
    torch.testing.assert_close(found, exps / exps.sum(-1, keepdim=True) @ v)


@pytest.mark.parametrize("shape", [(2, 4, 6), (2, 3, 4, 6)])
@pytest.mark.parametrize("mask", [None, torch.tensor([3, 4]), torch.ones(2, 4, 4, dtype=torch.bool).tril()])
def test_the_fused_kernel_runs_without_an_axis_of_heads_too(shape, mask):
    x, layer = torch.randn(shape), DotProductAttention()
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # any other kernel is an error in this block
        fused = layer(x, x, x, mask)
    torch.testing.assert_close(fused, masked_softmax(x @ x.mT / 6**0.5, mask) @ x)


@every_score
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("bad", [1e15, math.inf, math.nan])
@pytest.mark.parametrize("side", ["key", "value"])
def test_what_is_under_the_mask_gives_the_same_number_or_nan(score, recorded, bad, side):
    """Finite numbers change nothing. NaN and infinity may spoil a context, but no context is a wrong number."""
    layer, queries, keys, values = make(score)
    lengths = torch.tensor([2, 5])
    expected = layer(queries, keys, values, lengths)
    (keys if side == "key" else values)[0, 3] = bad
    with record_attention(layer) if recorded else nullcontext():
        found = layer(queries, keys, values, lengths)
    torch.testing.assert_close(found[1], expected[1])
    finite = found[0].isfinite()
    torch.testing.assert_close(found[0][finite], expected[0][finite])
    assert finite.all() or not math.isfinite(bad)


@every_score
def test_dropout_is_for_training_alone(score):
    layer, queries, keys, values = make(score, dropout=0.5)
    assert torch.equal(layer(queries, keys, values), layer(queries, keys, values))
    each_key = torch.eye(6, dtype=torch.float64).expand(2, 6, 6)  # so the context is the weights
    weights = layer(queries, keys, each_key)
    layer.train()
    assert not torch.equal(layer(queries, keys, values), layer(queries, keys, values))
    dropped = layer(queries, keys, each_key)
    assert ((dropped == 0) | torch.isclose(dropped, 2 * weights)).all(), "a weight is dropped, not a score"


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
        ([[2.0, -1.0]], "cross", None, "attention weights are not negative; the smallest is -1"),
        ([[0.5, 0.5]], "cross", [[True, False]], "where the mask is False, weights are 0; the largest is 0.5"),
    ],
)
def test_map_names_what_is_wrong(weights, kind, mask, message, as_a_user):
    with pytest.raises(ValueError, match=message):
        AttentionMap(torch.tensor(weights), ["q"], ["a", "b"], kind, None if mask is None else torch.tensor(mask))


def test_map_of_what_is_not_finite_or_no_mask(as_a_user):
    with pytest.raises(ValueError, match="NaN or infinity"):
        AttentionMap(torch.tensor([[math.inf, -math.inf]]), ["q"], ["a", "b"])
    with pytest.raises(TypeError, match=r"the mask of a map is bool, .* not torch[.]int64"):
        AttentionMap(torch.eye(2), ["q", "r"], ["a", "b"], "causal", torch.ones(2, 2).long().tril())


def test_a_map_does_not_share_the_memory_of_what_it_was_made_of():
    weights, mask = torch.eye(2), torch.eye(2).bool()
    attention = AttentionMap(weights, "ab", "ab", mask=mask)
    weights[0], mask[0] = torch.tensor([-5.0, 99.0]), True
    assert torch.equal(attention.weights[0, 0], torch.eye(2)) and torch.equal(attention.mask, torch.eye(2).bool())


def test_map_of_rounded_weights_can_be_worked_with():
    """Rows of a bfloat16 map sum to 1 within 1e-2 only; those of maps made of it, within 1e-3."""
    weights = torch.full((2, 2, 3, 3), 1 / 3, dtype=torch.bfloat16)
    rounded = AttentionMap(weights, "abc", "abc", mask=torch.tensor([[True] * 3, [True] * 3, [True] * 3]))
    assert rounded.weights.sum(-1).sub(1).abs().max() < 1e-6
    AttentionMap(rounded.weights.mean((0, 1)), "abc", "abc")
    hidden = AttentionMap(torch.zeros(1, 2).bfloat16(), ["q"], ["a", "b"], mask=torch.zeros(1, 2, dtype=torch.bool))
    assert hidden.weights.eq(0).all()


def test_map_accepts_a_fully_masked_row():
    hidden = AttentionMap(torch.zeros(1, 2), ["q"], ["a", "b"], mask=torch.zeros(1, 2, dtype=torch.bool))
    assert hidden.weights.tolist() == [[[[0.0, 0.0]]]] and hidden.mask.tolist() == [[False, False]]


# ---- Editing: other weights than the layer's own ----

LENGTHS = torch.tensor([2, 6])


def keep(weights, may):
    return weights


def alike(weights, may):
    return torch.ones_like(weights)  # not normalised, and on padding and the future too


def several_heads(**options):
    torch.manual_seed(0)
    return MultiHeadAttention(12, 3, **options).double().eval(), torch.randn(2, 6, 12, dtype=torch.float64)


@every_score
def test_an_edit_that_keeps_the_weights_changes_nothing(score):
    layer, *inputs = make(score)
    with edit_attention(layer, {"": keep}):
        edited = layer(*inputs, LENGTHS)
    torch.testing.assert_close(edited, layer(*inputs, LENGTHS))


@every_score
def test_the_edited_weights_are_those_that_are_used_recorded_and_masked(score):
    layer, queries, keys, values = make(score)
    with edit_attention(layer, {"": alike}), record_attention(layer) as record:
        context = layer(queries, keys, values, LENGTHS)
    by_hand = torch.stack([values[0, :2].sum(0).expand(4, 2), values[1].sum(0).expand(4, 2)])
    torch.testing.assert_close(context, by_hand)  # the sum of all real values
    assert record[""][0].tolist() == [[[1.0] * 2 + [0.0] * 4] * 4, [[1.0] * 6] * 4]


@pytest.mark.parametrize("steps", [6, 1])  # all tokens at once, and the last one alone, as in search
def test_an_edit_sees_what_may_be_attended_and_no_more_is(steps):
    layer, x = several_heads()
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2]).unsqueeze(1)
    told = []

    def edit(weights, may):
        told.append(may)
        return alike(weights, may)

    with edit_attention(layer, {"": edit}), record_attention(layer) as record:
        layer(x[:, -steps:], x, x, mask, causal=True)
    expected = (mask & torch.ones(6, 6, dtype=torch.bool).tril()[-steps:]).unsqueeze(1).expand(2, 3, steps, 6)
    assert torch.equal(told[0], expected) and torch.equal(record[""][0], expected.double())


def test_an_ablated_head_is_one_whose_columns_of_the_last_matrix_are_zero():
    layer, x = several_heads(bias=True)

    def ablate_head_1(weights, may):
        return weights * torch.tensor([1.0, 0.0, 1.0]).view(3, 1, 1)

    with edit_attention(layer, {"": ablate_head_1}):
        edited = layer(x, x, x, LENGTHS)
    layer.W_o.weight.data[:, 4:8] = 0.0
    torch.testing.assert_close(edited, layer(x, x, x, LENGTHS))


def test_editing_leaves_nothing_behind_and_gradients_pass():
    layer, *inputs = make()
    tensors = [tensor.requires_grad_() for tensor in inputs]
    before = dict(vars(layer))
    with pytest.raises(ZeroDivisionError), record_attention(layer) as record, edit_attention(layer, {"": keep}):
        assert torch.autograd.gradcheck(layer, tensors)
        1 / 0  # noqa: B018
    assert record[""] and layer.record is None and layer.edit is None
    with edit_attention(layer, {"": alike}), edit_attention(layer, {"": keep}):  # the inner one counts
        inside = layer(*tensors)
    torch.testing.assert_close(inside, layer(*tensors))
    assert vars(layer).keys() - before.keys() <= {"record", "edit"} and layer.state_dict().keys() == set(
        dict(layer.named_parameters())
    )


def test_an_edit_may_be_a_module():
    class Nothing(torch.nn.Module):
        def forward(self, weights, may):
            return weights * 0

    layer, *inputs = make("dot")
    with edit_attention(layer, {"": Nothing()}):
        assert (layer(*inputs) == 0).all()
    assert list(layer.children()) == [layer.dropout]


def test_only_the_named_layers_are_edited_and_others_are_not_watched():
    layers = torch.nn.ModuleDict({"one": DotProductAttention(), "two": DotProductAttention()}).double()
    _, *inputs = make("dot")
    with edit_attention(layers, {"two": alike}):
        assert layers["one"].record is None and layers["one"].edit is None
        assert torch.equal(layers["one"](*inputs), DotProductAttention()(*inputs))
        torch.testing.assert_close(layers["two"](*inputs), inputs[2].sum(1, keepdim=True).expand(2, 4, 2))


def test_edits_say_what_is_wrong():
    layers = torch.nn.ModuleDict({"one": DotProductAttention()})
    with (
        pytest.raises(ValueError, match="no attention 'three' in the model; it has one"),
        edit_attention(layers, {"three": keep}),
    ):
        pass
    with edit_attention(layers, {"one": lambda weights, may: weights[..., :1]}):
        with pytest.raises(ValueError, match=r"weights \(2, 4, 6\) were edited to \(2, 4, 1\)"):
            layers["one"](*(tensor.float() for tensor in make("dot")[1:]))


def test_nothing_that_was_not_asked_for_is_kept():
    layer, *inputs = make("dot")
    with edit_attention(layer, {"": keep}):
        layer(*inputs)
        assert len(layer.record) == 0


@pytest.mark.parametrize("name", ["transformer", "bahdanau"])
def test_the_fast_paths_of_training_and_search_step_aside(name):
    """Silent cross-attention: what is written cannot depend on the source, whichever way the model is run."""
    torch.manual_seed(0)
    small = TransformerConfig(num_hiddens=8, num_heads=2, ffn_num_hiddens=16)
    model = transformer(9, 11, small) if name == "transformer" else bahdanau(9, 11, BahdanauConfig())
    model = model.double().eval()
    model.encoder.requires_grad_(False)
    layers = [
        key
        for key, module in model.named_modules()
        if re.fullmatch(r"decoder\.(attention|blocks\.\w+\.cross_attention)", key)
    ]
    source, target = torch.tensor([[4, 5, 6, 7], [7, 7, 4, 8]]), torch.tensor([[1, 4, 5, 6]]).expand(2, 4)
    lens = torch.tensor([4, 4])

    def run(how):
        memory = model.encoder(source, lens)
        if name == "bahdanau":  # the decoder's first state knows the source, too
            memory = memory._replace(hidden=torch.zeros_like(memory.hidden))
        state, found = model.decoder.init_state(memory), []
        for part in how:
            logits, state = model.decoder(part, state)
            found.append(logits)
        return torch.cat(found, 1)

    steps = [target[:, place : place + 1] for place in range(4)]
    for how in ([target], steps):
        with torch.enable_grad():
            assert not torch.allclose(*run(how))
            with edit_attention(model, {layer: lambda weights, may: weights * 0 for layer in layers}):
                torch.testing.assert_close(*run(how), atol=1e-12, rtol=0)
            with torch.no_grad(), edit_attention(model, {layer: lambda weights, may: weights * 0 for layer in layers}):
                torch.testing.assert_close(*run(how), atol=1e-12, rtol=0)
