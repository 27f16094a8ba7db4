"""The decoder's gradient, written out, against autograd on the loop."""

import pytest
import torch
from torch import nn

from seqlearn.nn.attention import AdditiveAttention, record_attention
from seqlearn.nn.recurrence import AdditiveDecoder, AttentionState, unroll

MASK = torch.tensor([[True, True, True, True], [True, True, False, False], [False, False, False, False]])


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def given(layers):
    """Three sentences, the last one empty, and five steps."""
    torch.manual_seed(0)
    attention, rnn = AdditiveAttention(7, 6, 7).double(), nn.GRU(8 + 6, 7, layers).double()
    state = AttentionState(random(3, 4, 7), random(3, 4, 6), MASK.unsqueeze(1), random(layers, 3, 7))
    return attention, rnn, random(5, 3, 21), rnn.weight_ih_l0[:, 8:], state


def both_ways(layers):
    """Outputs and all gradients, written out and by autograd: recording the weights takes the loop."""
    attention, rnn, gates, of_context, state = given(layers)
    wanted = [gates, state.keys, state.values, state.hidden, *attention.parameters(), *rnn.parameters()]
    wanted = [tensor for tensor in wanted if tensor is not rnn.bias_ih_l0 and tensor is not attention.W_k.weight]
    results = []
    for record in (False, True):
        with record_attention(nn.ModuleList([attention] if record else [])):
            outputs, last = unroll(attention, rnn, nn.Dropout(0), gates, of_context, state)
        torch.manual_seed(2)
        loss = (outputs * torch.randn_like(outputs)).sum() + (last * torch.randn_like(last)).sum()
        results.append((outputs, last, *torch.autograd.grad(loss, wanted)))
    return results


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_equals_the_loop_forward_and_backward(layers):
    written_out, loop = both_ways(layers)
    assert "AdditiveDecoder" in type(written_out[1].grad_fn).__name__
    assert "AdditiveDecoder" not in type(loop[1].grad_fn).__name__
    for ours, autograds in zip(written_out, loop, strict=True):
        torch.testing.assert_close(ours, autograds, atol=1e-12, rtol=0)


def test_dropout_between_layers_falls_on_the_way_back_where_it_fell_on_the_way_there():
    attention, rnn, gates, of_context, state = given(2)
    kept = torch.bernoulli(torch.full((1, 5, 3, 7), 0.5, dtype=torch.float64)) * 2
    assert 0 < kept.count_nonzero() < kept.numel()

    class Given(nn.Dropout):
        """Dropout with known masks: all at once, or one for each step."""

        def __init__(self):
            super().__init__(0.5)
            self.steps = iter(kept[0])

        def forward(self, x):
            return kept if x.shape == kept.shape else x * next(self.steps)

    results = []
    for record in (False, True):
        with record_attention(nn.ModuleList([attention] if record else [])):
            outputs, last = unroll(attention, rnn, Given(), gates, of_context, state)
        loss = (outputs**2).sum() + last.sum()
        results.append((outputs, *torch.autograd.grad(loss, [gates, state.values, state.hidden, rnn.weight_ih_l1])))
    for ours, autograds in zip(*results, strict=True):
        torch.testing.assert_close(ours, autograds, atol=1e-12, rtol=0)


def test_gradient_by_finite_differences():
    attention, rnn, gates, of_context, state = given(2)
    (_, W_hh, _, b_hh), higher = rnn.all_weights
    weights = [
        attention.W_q.weight,
        attention.w_v.weight,
        of_context.detach().requires_grad_(),
        W_hh,
        None,
        b_hh,
        *higher,
    ]
    memory = state.keys[:, :3], state.values[:, :3], MASK[:, :3]
    assert torch.autograd.gradcheck(AdditiveDecoder.apply, (gates[:2], *memory, state.hidden, None, *weights))


def test_where_it_does_not_apply_the_loop_runs():
    """No gradient asked for, weights dropped out or several beams: the same function, as a loop."""
    attention, rnn, gates, of_context, state = given(1)
    arguments = rnn, nn.Dropout(), gates, of_context
    expected = unroll(attention, *arguments, state)[0]
    with torch.no_grad():
        torch.testing.assert_close(unroll(attention, *arguments, state)[0], expected)
    beams = AttentionState(state.keys, state.values, state.mask, state.hidden.repeat_interleave(2, dim=1), beams=2)
    twice = unroll(attention, rnn, nn.Dropout(), gates.repeat_interleave(2, dim=1), of_context, beams)[0]
    torch.testing.assert_close(twice[:, ::2], expected)
    attention.dropout.p = 0.9
    assert not torch.allclose(unroll(attention.train(), *arguments, state)[0], expected)
    torch.testing.assert_close(unroll(attention.eval(), *arguments, state)[0], expected)


def test_an_empty_sentence_gives_no_context_and_takes_no_gradient():
    attention, rnn, gates, of_context, state = given(1)
    outputs, _ = unroll(attention, rnn, nn.Dropout(0), gates, of_context, state)
    keys, values = torch.autograd.grad(outputs.sum(), [state.keys, state.values])
    assert keys[2].count_nonzero() == 0 and values[2].count_nonzero() == 0
    assert keys[1, 2:].count_nonzero() == 0 and keys[1, :2].count_nonzero() > 0
