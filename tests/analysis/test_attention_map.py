"""The recipes of the module: the attention of models of PyTorch and of Hugging Face as maps."""

import pytest
import torch
from torch import nn

from seqlearn.analysis import attention_map
from seqlearn.analysis.attention_map import AttentionMap, stack_layers, torch_attention
from seqlearn.views import AttentionView

TOKENS = list("abcde")


@pytest.mark.parametrize("grad", [True, False])
def test_the_attention_of_a_torch_model(grad):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.0)
    model, embedded = nn.TransformerEncoder(layer, 2).eval(), torch.randn(2, 5, 16)
    with torch.set_grad_enabled(grad), torch_attention(model) as record:
        recorded = model(embedded)
        model(embedded)
    assert [len(calls) for calls in record.values()] == [2, 2]
    weights = stack_layers(calls[0] for calls in record.values())
    attention = AttentionMap(weights, TOKENS, TOKENS, "encoder")
    assert attention.weights.shape == (2, 4, 5, 5)
    assert "2 layers, 4 heads, 5 queries, 5 keys" in repr(AttentionView(attention))
    _, expected = model.layers[0].self_attn(embedded, embedded, embedded, average_attn_weights=False)
    torch.testing.assert_close(weights[0], expected[0])
    with torch.no_grad():
        torch.testing.assert_close(model(embedded), recorded, atol=1e-5, rtol=0)
    assert [len(calls) for calls in record.values()] == [2, 2], "nothing is recorded after the block"


def test_the_attention_of_a_hugging_face_model():
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    sizes = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = BertModel._from_config(BertConfig(**sizes, intermediate_size=16), attn_implementation="eager").eval()
    output = model(torch.tensor([[3, 4, 5, 6, 7]]), output_attentions=True)
    weights = stack_layers(output.attentions)
    attention = AttentionMap(weights, TOKENS, TOKENS, "encoder")
    assert "2 layers, 4 heads, 5 queries, 5 keys" in repr(AttentionView(attention))


def decoder_of_torch():
    """A decoder with as many target tokens as source tokens, so that no shape tells cross-attention from the other."""
    torch.manual_seed(0)
    layer = nn.TransformerDecoderLayer(16, 4, 32, batch_first=True, dropout=0.0)
    return nn.TransformerDecoder(layer, 2).eval(), torch.randn(2, 5, 16), torch.randn(2, 5, 16)


def test_the_decoder_of_torch_by_the_names_of_its_layers():
    decoder, target, memory = decoder_of_torch()
    with torch_attention(decoder) as record:
        decoder(target, memory, tgt_mask=nn.Transformer.generate_square_subsequent_mask(5))
    cross = stack_layers(calls[0] for name, calls in record.items() if "multihead_attn" in name)
    causal = stack_layers(calls[0] for name, calls in record.items() if "self_attn" in name)
    assert AttentionMap(cross, TOKENS, "vwxyz", "cross").weights.shape == (2, 4, 5, 5)
    view = AttentionView(AttentionMap(causal, TOKENS, TOKENS, "causal"))
    assert "causal" in repr(view) and "2 layers, 4 heads, 5 queries, 5 keys" in repr(view)
    assert not causal.triu(1).any() and (cross > 0).all(), "only one of them looks at later tokens"
    first = decoder.layers[0]
    mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
    looked = first.self_attn(target, target, target, attn_mask=mask, average_attn_weights=False)
    torch.testing.assert_close(causal[0], looked[1][0])
    query = first.norm1(target + looked[0])
    torch.testing.assert_close(cross[0], first.multihead_attn(query, memory, memory, average_attn_weights=False)[1][0])


def test_layers_with_other_tokens_are_not_stacked():
    decoder, target, memory = decoder_of_torch()
    with torch_attention(decoder) as record:
        decoder(target, memory[:, :3])
    with pytest.raises(ValueError, match=r"shapes \(2, 4, 5, 5\), \(2, 4, 5, 3\): take layers of one kind"):
        stack_layers(calls[0] for calls in record.values())


def test_a_sentence_of_the_batch():
    layers = [torch.rand(3, 2, 4, 4) for _ in range(2)]
    assert torch.equal(stack_layers(iter(layers), 1), torch.stack([layers[0][1], layers[1][1]]))


@pytest.mark.parametrize("without", ["eager", "output_attentions", "both"])
def test_a_hugging_face_model_without_weights_gets_the_advice(without, as_a_user):
    from transformers import BertConfig, BertModel

    sizes = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
    kind = "eager" if without == "output_attentions" else "sdpa"
    model = BertModel._from_config(BertConfig(**sizes, intermediate_size=16), attn_implementation=kind).eval()
    output = model(torch.tensor([[3, 4, 5, 6, 7]]), output_attentions=without == "eager")
    advice = 'no attention weights: load a Hugging Face model with attn_implementation="eager", and call it with output'
    with pytest.raises(ValueError, match=advice):
        stack_layers(output.attentions)
    with pytest.raises(ValueError, match=advice):
        AttentionMap(output.attentions, TOKENS, TOKENS, "encoder")


def test_the_recipes_use_these_names():
    """The page at the top of the module and the tests above say the same."""
    page = attention_map.__doc__
    for line in (
        "weights = stack_layers(output.attentions)",
        "weights = stack_layers(calls[0] for calls in record.values())",
        'cross = stack_layers(calls[0] for name, calls in record.items() if "multihead_attn" in name)',
        'causal = stack_layers(calls[0] for name, calls in record.items() if "self_attn" in name)',
    ):
        assert line in page


def ab(weights, **options):
    return AttentionMap(weights, ["a", "b"], ["x", "y", "z"], **options)


def test_a_row_that_does_not_sum_to_1_is_named():
    weights = torch.full((2, 3, 2, 3), 1 / 3)
    weights[1, 2, 1] = torch.tensor([0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match=r"layer 1, head 2, query 1 \('b'\) sums to 0\.600"):
        ab(weights)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_may_be_off_by_a_hundredth_and_is_put_right(dtype):
    mask = torch.tensor([[True, True, True], [False, False, False]])
    rows = torch.tensor([[0.504, 0.25, 0.25], [0.0, 0.0, 0.0]])
    made = ab(rows.to(dtype), mask=mask)
    assert made.weights.dtype == torch.float32
    assert torch.allclose(made.weights[0, 0].sum(-1), torch.tensor([1.0, 0.0]), atol=1e-6)
    given = rows.to(dtype).float()
    assert torch.allclose(made.weights[0, 0], given / torch.tensor([[given[0].sum()], [1.0]]))
    with pytest.raises(ValueError, match=r"sums to 1\.0"):
        ab(rows, mask=mask)
    with pytest.raises(ValueError, match="sums to"):
        ab((rows * 1.03).to(dtype), mask=mask)


def test_a_mask_is_kept_and_none_stays_none():
    mask = torch.tensor([[True, True, False], [True, True, True]])
    weights = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    assert ab(weights).mask is None and torch.equal(ab(weights, mask=mask).mask, mask)


def test_a_mask_that_is_no_tensor_is_named(as_a_user):
    with pytest.raises(TypeError, match="mask"):
        ab(torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]), mask="no")


@pytest.mark.usefixtures("as_a_user")
def test_what_generate_gives_is_refused_in_a_sentence():
    """A tuple of layers for each new token."""
    step = (torch.rand(1, 2, 3, 3), torch.rand(1, 2, 3, 3))
    with pytest.raises(
        TypeError, match="the weights of a layer are a tensor, not a tuple: call the model once on the whole"
    ):
        stack_layers((step, step))
