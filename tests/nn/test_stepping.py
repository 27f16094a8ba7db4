"""A decoder block written out for one token, beside the block itself."""

import pytest
import torch
from torch import nn

from seqlearn.nn.attention import record_attention
from seqlearn.nn.masking import sequence_mask
from seqlearn.nn.stepping import written_out
from seqlearn.nn.transformer import TransformerDecoderBlock, transformer


@pytest.fixture
def block(request):
    torch.manual_seed(0)
    block = TransformerDecoderBlock(12, 20, 3, dropout=0.5, **request.param).double().eval()
    for parameter in block.parameters():  # biases and norms, too
        nn.init.normal_(parameter, std=0.5)
    return block


KINDS = [{"norm_first": first, "bias": bias, "rotary": bias} for first in (False, True) for bias in (False, True)]


@pytest.mark.parametrize("block", KINDS, indirect=True, ids=str)
@pytest.mark.parametrize("beams", [1, 3])
def test_equals_the_block(block, beams):
    step, (ours, theirs) = written_out(block), (None, None)
    assert step is not block
    memory = block.attention2.project(*[torch.randn(2, 5, 12).double()] * 2)
    mask = sequence_mask(torch.tensor([5, 2]), 5).unsqueeze(1)
    with torch.inference_mode():
        for length in range(7):
            x = torch.randn(2 * beams, 1, 12).double()
            y, ours = step(x, memory, mask, ours, length)
            z, theirs = block(x, memory, mask, theirs, length)
            torch.testing.assert_close(y, z, rtol=0, atol=1e-12)
            torch.testing.assert_close(ours.keys[:, :, : length + 1], theirs.keys[:, :, : length + 1])


@pytest.mark.parametrize("block", KINDS[:1], indirect=True)
def test_what_is_not_usual_is_left_to_the_block(block):
    class Ffn(nn.Module):
        def forward(self, x):
            return x

    given = torch.randn(1, 1, 12).double(), block.attention2.project(*[torch.randn(1, 4, 12).double()] * 2), None, None
    step = written_out(block)
    with record_attention(block) as record:
        step(*given, 0)
    assert [len(weights) for weights in record.values()] == [1, 1]
    handle = block.ffn.register_forward_hook(lambda *_: None)
    assert written_out(block) is block
    handle.remove()
    assert written_out(block) is not block
    block.train()
    assert written_out(block) is block
    block.eval()
    for name, part in (("ln", nn.RMSNorm(12)), ("ln", nn.Identity()), ("ffn", Ffn())):
        where = block.addnorm2 if name == "ln" else block
        usual = getattr(where, name)
        setattr(where, name, part)
        assert written_out(block) is block
        setattr(where, name, usual)
    assert written_out(block) is not block


def test_the_decoder_steps_this_way_for_one_token_in_eval_mode(monkeypatch):
    model = transformer(9, 9, num_hiddens=8, ffn_num_hiddens=8, num_heads=2, num_layers=1)
    memory = model.encoder(torch.tensor([[3, 4]]), torch.tensor([2]))
    one, two, decoder = torch.tensor([[1]]), torch.tensor([[1, 2]]), model.decoder
    calls = []
    monkeypatch.setattr(
        TransformerDecoderBlock, "forward", lambda self, x, *rest: (calls.append(len(rest)), (x, None))[1]
    )
    decoder(one, decoder.init_state(memory))
    assert len(calls) == 1, "in training: there is dropout"
    model.eval()
    decoder(two, decoder.init_state(memory))
    assert len(calls) == 2
    decoder(one, decoder.init_state(memory))
    assert len(calls) == 2
