"""The steps of the attention decoder, against torch's own GRU."""

import pytest
import torch
from torch import nn

from seqlearn.nn.attention import AdditiveAttention
from seqlearn.nn.recurrence import AttentionState, gru_cell, unroll

MASK = torch.tensor([[True, True, True, True], [True, True, False, False], [False, False, False, False]])


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def given(layers):
    """Three sentences, the last one empty, and five steps of tokens with 8 features."""
    torch.manual_seed(0)
    attention, rnn = AdditiveAttention(7, 6, 7).double(), nn.GRU(8 + 6, 7, layers).double()
    state = AttentionState(random(3, 4, 7), random(3, 4, 6), MASK.unsqueeze(1), random(layers, 3, 7))
    return attention, rnn, random(5, 3, 8), state


def ours(attention, rnn, tokens, state, dropout=0.0):
    of_token, of_context = rnn.weight_ih_l0.split([8, 6], dim=1)
    gates = tokens @ of_token.T + rnn.bias_ih_l0
    return unroll(attention, rnn, nn.Dropout(dropout), gates, of_context, state)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_equals_torchs_gru_fed_with_the_contexts_and_so_do_all_gradients(layers):
    attention, rnn, tokens, state = given(layers)
    outputs, last = ours(attention, rnn, tokens, state)
    hidden, expected = state.hidden, []
    for token in tokens:
        context = attention.attend(hidden[-1].unsqueeze(1), state.keys, state.values, state.mask).squeeze(1)
        output, hidden = rnn(torch.cat([token, context], dim=-1).unsqueeze(0), hidden)
        expected.append(output.squeeze(0))
    torch.testing.assert_close(outputs, torch.stack(expected), atol=1e-12, rtol=0)
    torch.testing.assert_close(last, hidden, atol=1e-12, rtol=0)
    weights = [weight for weight in (*attention.parameters(), *rnn.parameters()) if weight is not attention.W_k.weight]
    wanted = [tokens, state.keys, state.values, state.hidden, *weights]
    both = (torch.autograd.grad((each**2).sum(), wanted) for each in (outputs, torch.stack(expected)))
    for mine, torchs in zip(*both, strict=True):
        torch.testing.assert_close(mine, torchs, atol=1e-12, rtol=0)


def test_the_cell_equals_torchs():
    cell = nn.GRUCell(5, 7).double()
    x, h = random(3, 5), random(3, 7)
    inputs, recurrent = x @ cell.weight_ih.T + cell.bias_ih, h @ cell.weight_hh.T + cell.bias_hh
    torch.testing.assert_close(gru_cell(inputs, recurrent, h), cell(x, h), atol=1e-12, rtol=0)


def test_the_beams_of_a_sentence_share_its_memory():
    attention, rnn, tokens, state = given(1)
    expected, _ = ours(attention, rnn, tokens, state)
    beams = AttentionState(state.keys, state.values, state.mask, state.hidden.repeat_interleave(2, dim=1), beams=2)
    twice, _ = ours(attention, rnn, tokens.repeat_interleave(2, dim=1), beams)
    torch.testing.assert_close(twice[:, ::2], expected)
    torch.testing.assert_close(twice[:, 1::2], expected)


def test_dropout_stands_between_the_layers_and_on_the_weights_in_training():
    attention, rnn, tokens, state = given(2)
    expected, _ = ours(attention, rnn, tokens, state)
    assert not torch.allclose(ours(attention, rnn, tokens, state, dropout=0.5)[0], expected)
    attention.dropout.p = 0.9
    assert not torch.allclose(ours(attention.train(), rnn, tokens, state)[0], expected)
    torch.testing.assert_close(ours(attention.eval(), rnn, tokens, state)[0], expected)


def test_an_empty_sentence_gives_no_context_and_takes_no_gradient():
    attention, rnn, tokens, state = given(1)
    outputs, _ = ours(attention, rnn, tokens, state)
    keys, values = torch.autograd.grad(outputs.sum(), [state.keys, state.values])
    assert keys[2].count_nonzero() == 0 and values[2].count_nonzero() == 0
