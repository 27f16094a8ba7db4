"""A given target, read: logits, and the attention of each layer, found by its kind."""

import pytest
import torch
from torch import nn

from seqlearn.nn.decoder_only import DecoderOnlyConfig, decoder_only
from seqlearn.nn.recording import AttentionLayer, attention_layers
from seqlearn.nn.seq2seq import BahdanauConfig, Seq2SeqConfig, bahdanau, seq2seq
from seqlearn.nn.transformer import TransformerConfig, transformer
from seqlearn.search.forced_decoding import forced_decoding

SOURCE, LENS = torch.tensor([[3, 4, 5, 6], [7, 3, 0, 0]]), torch.tensor([4, 2])
TOKENS = torch.tensor([[1, 5, 6], [1, 7, 8]])


def test_a_transformer_has_three_kinds():
    model = transformer(9, 11, TransformerConfig(8, 12, 2, 3, dropout=0.5))
    forced = forced_decoding(model, SOURCE, LENS, TOKENS)
    assert model.training and all(part.training for part in model.modules())
    torch.testing.assert_close(forced.logits, model.eval()(SOURCE, LENS, TOKENS))
    shapes = {"cross": (2, 3, 2, 3, 4), "encoder": (2, 3, 2, 4, 4), "causal": (2, 3, 2, 3, 3)}
    for kind, shape in shapes.items():
        weights = forced.attention(kind)
        assert weights.shape == shape and not weights.is_inference()
        names = list(attention_layers(model, kind))
        assert len(names) == 3
        for layer, name in enumerate(names):
            assert torch.equal(weights[:, layer], forced.weights[name])
    assert not any(weights.is_inference() for weights in forced.weights.values()), "they can be learned from"
    assert forced.attention("kernel") is None
    assert torch.equal(forced.attention("causal").triu(1), torch.zeros(2, 3, 2, 3, 3)), "no look at the future"
    assert not forced.attention("cross")[1, ..., 2:].any(), "nor at padding"


@pytest.mark.parametrize("score", ["additive", "dot", "bilinear"])
def test_rows_that_were_recorded_one_by_one_are_joined(score):
    model = bahdanau(9, 11, BahdanauConfig(4, 5, score=score))
    forced = forced_decoding(model, SOURCE, LENS, TOKENS)
    weights = forced.attention("cross")
    assert weights.shape == (2, 1, 1, 3, 4) and list(forced.weights) == ["decoder.attention"]
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 1, 1, 3))
    for steps in (1, 2):  # a prefix gives the same rows
        shorter = forced_decoding(model, SOURCE, LENS, TOKENS[:, :steps]).attention("cross")
        torch.testing.assert_close(shorter, weights[..., :steps, :])


def test_a_decoder_only_model_has_one_map_over_source_and_target():
    model = decoder_only(9, 11, DecoderOnlyConfig(8, 12, 2, num_layers=3, dropout=0.5))
    forced = forced_decoding(model, SOURCE, LENS, TOKENS)
    assert set(forced.kinds.values()) == {"causal"} and forced.attention("cross") is forced.attention("encoder") is None
    weights = forced.attention("causal")
    assert weights.shape == (2, 3, 2, 4 + 3, 4 + 3) and not weights.triu(1).any()
    torch.testing.assert_close(weights[0].sum(-1), torch.ones(3, 2, 7))
    assert not weights[1, ..., :2].any(), "the padding of the source, which is on the left"
    torch.testing.assert_close(weights[1, :, :, 2:].sum(-1), torch.ones(3, 2, 5))
    alone = forced_decoding(model, SOURCE[1:, :2], LENS[1:], TOKENS[1:]).attention("causal")
    torch.testing.assert_close(weights[1:, ..., 2:, 2:], alone)


def test_a_model_without_attention_has_none():
    forced = forced_decoding(seq2seq(9, 11, Seq2SeqConfig(4, 5)), SOURCE, LENS, TOKENS)
    assert forced.weights == {} and forced.attention("cross") is None


def test_a_layer_of_ones_own_is_found_by_its_kind_whatever_its_name():
    model = bahdanau(9, 11, BahdanauConfig(4, 5))
    model.decoder.somewhere_else, model.decoder.attention = model.decoder.attention, nn.Identity()
    assert list(attention_layers(model)) == ["decoder.somewhere_else"] == list(attention_layers(model, "cross"))

    class Plain(nn.Module):
        record = None

    model.decoder.plain = Plain()
    assert set(attention_layers(model)) == {"decoder.plain", "decoder.somewhere_else"}
    assert list(attention_layers(model, "cross")) == ["decoder.somewhere_else"]
    assert AttentionLayer().kind is None
