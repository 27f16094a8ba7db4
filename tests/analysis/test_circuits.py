"""Means for an ablation, a circuit alone, weight times length, and the logit lens."""

import pytest
import torch

from seqlearn.analysis.circuits import PatchExperiment, keep_only, logit_lens, mean_over_words, value_lengths
from seqlearn.nn.decoder_only import DecoderOnlyConfig, decoder_only
from seqlearn.nn.patching import heads, patch, record_cells, record_stream
from seqlearn.nn.transformer import TransformerConfig, transformer

SOURCE, LENS, TARGET = torch.tensor([[4, 5, 6, 3], [7, 8, 3, 0]]), torch.tensor([4, 3]), torch.tensor([[1, 5], [1, 6]])
REAL = torch.tensor([[True, True, True, True], [True, True, True, False]])


def a_model():
    torch.manual_seed(0)
    return transformer(12, 12, TransformerConfig(num_hiddens=16, ffn_num_hiddens=24, dropout=0.0)).eval()


def logits(model):
    return model.decoder(TARGET, model.decoder.init_state(model.encoder(SOURCE, LENS)))[0]


def test_means_by_hand():
    calls = [torch.tensor([[[1.0]], [[3.0]]]), torch.tensor([[[5.0], [6.0]], [[100.0], [100.0]]])]
    real = torch.tensor([[True, True, False], [True, False, False]])
    assert mean_over_words(calls, real).tolist() == [3.0]


@torch.no_grad()
def test_only_the_heads_that_are_kept_have_their_own_vectors():
    model = a_model()
    with record_stream(model) as own:
        plain = logits(model)
    means = {place: torch.full((4,), float(number)) for number, place in enumerate(heads(model))}
    with patch(model, keep_only(heads(model), means, *heads(model))):
        assert torch.equal(logits(model), plain)
    with patch(model, keep_only(heads(model), means, "encoder 0.1")), record_stream(model) as left:
        logits(model)
    for place, mean in means.items():
        if place == "encoder 0.1":
            assert torch.equal(left[place][0], own[place][0])
        else:
            assert (left[place][0] == mean).all()
    with pytest.raises(ValueError, match=r"no head 'encoder 7.0' to keep; there are encoder 0.0"):
        keep_only(heads(model), means, "encoder 7.0")


@torch.no_grad()
def test_a_patch_of_all_words_goes_all_the_way_and_moves_toward_the_other_sentence_count():
    model, other = a_model(), torch.tensor([[9, 5, 6, 3], [10, 8, 3, 0]])

    def lean(source):
        found = model.decoder(TARGET, model.decoder.init_state(model.encoder(*source, LENS)))[0][:, -1]
        return found[:, 4] - found[:, 5]

    pairs = PatchExperiment(model, (SOURCE,), (other,), lean)
    assert pairs.patched("encoder.pos_encoding")["moved"] == 1
    assert pairs.patched("encoder.pos_encoding", [0])["moved"] == 1, "only the first word differs"
    assert pairs.patched("encoder.pos_encoding", [1, 2])["moved"] == 0
    pairs.before, pairs.after = torch.tensor([9.0, -2.0]), torch.tensor([-9.0, 2.0])
    assert pairs.effect(torch.tensor([0.0, 2.0])) == {"moved": 0.59, "flips": 1.0}, "(9 + 4) / 22; 0 has another sign"
    assert pairs.effect(torch.tensor([9.0, -4.0])) == {"moved": -0.09, "flips": 0.0}, "away from the other sentence"


@torch.no_grad()
def test_lengths_are_those_of_what_the_head_adds():
    model = a_model()
    layer = model.encoder.blocks[0].self_attention
    with record_cells(model, ["encoder 0.2"]) as cells:
        logits(model)
    lengths = value_lengths(model, "encoder 0.2", cells["encoder 0.2"][0])
    alone = torch.zeros(16)
    alone[8:12] = cells["encoder 0.2"][0][1, 2, 0]
    torch.testing.assert_close(lengths[1, 2, 0], layer.W_o(alone).norm())
    assert (lengths[1, :, 3] == 0).all()  # padding brings nothing
    assert lengths.shape == (2, 4, 4)


@torch.no_grad()
def test_the_lens_ends_with_the_models_own_logits():
    torch.manual_seed(0)
    one = decoder_only(12, 12, DecoderOnlyConfig(16, 24, num_layers=2, dropout=0.0)).eval()
    for model, first in ((a_model(), "decoder.pos_encoding"), (one, "decoder.dropout")):
        with record_stream(model) as stream:
            plain = logits(model)
        lens = logit_lens(model, stream)
        assert list(lens) == [first, "decoder.blocks.0", "decoder.blocks.1"]
        torch.testing.assert_close(lens["decoder.blocks.1"][:, -2:], plain)
        assert not torch.allclose(lens[first][:, -2:], plain, atol=1e-3)
