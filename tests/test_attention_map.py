"""The recipes of the module: the attention of models of PyTorch and of Hugging Face as maps."""

import pytest
import torch
from torch import nn

from seqlearn.attention_map import AttentionMap, torch_attention
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
    weights = torch.stack([calls[0][0] for calls in record.values()])
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
    weights = torch.stack([layer[0] for layer in output.attentions])
    attention = AttentionMap(weights, TOKENS, TOKENS, "encoder")
    assert "2 layers, 4 heads, 5 queries, 5 keys" in repr(AttentionView(attention))
