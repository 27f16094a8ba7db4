"""Recurrent encoder and attention decoder, against nn.GRU and a plain loop over the formulas."""

import pytest
import torch
from torch import nn

from seqlearn.nn.attention import record_attention
from seqlearn.nn.seq2seq import Seq2SeqAttentionDecoder, Seq2SeqEncoder, bahdanau, gru_cell


@pytest.fixture
def model():
    torch.manual_seed(0)
    return bahdanau(11, 13, embed_size=4, num_hiddens=5, num_layers=2).double().eval()


SOURCE = torch.tensor([[4, 5, 6, 2, 0, 0], [7, 8, 9, 10, 4, 2], [2, 0, 0, 0, 0, 0]])
LENGTHS = torch.tensor([4, 6, 1])
TARGET = torch.tensor([[1, 4, 5, 6], [1, 7, 8, 12], [1, 9, 4, 5]])


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
def test_encoder_equals_nn_gru_on_each_sentence_alone(bidirectional, layers):
    torch.manual_seed(0)
    encoder = Seq2SeqEncoder(11, 4, 5, layers, bidirectional=bidirectional).double().eval()
    alone = nn.GRU(4, 5, layers, batch_first=True, bidirectional=bidirectional).double()
    alone.load_state_dict(encoder.rnn.state_dict())
    memory = encoder(SOURCE, LENGTHS)
    assert memory.outputs.shape == (3, 6, encoder.output_size)
    for row, length in enumerate(LENGTHS):
        outputs, hidden = alone(encoder.embedding(SOURCE[row : row + 1, :length]))
        torch.testing.assert_close(memory.outputs[row, :length], outputs[0], atol=1e-10, rtol=0)
        if bidirectional:
            hidden = torch.cat([hidden[0::2], hidden[1::2]], -1)
        torch.testing.assert_close(memory.hidden[:, row], hidden[:, 0], atol=1e-10, rtol=0)
        assert memory.mask[row, 0].tolist() == [step < length for step in range(6)]


def test_gru_cell_equals_torch():
    torch.manual_seed(0)
    cell = nn.GRUCell(4, 5).double()
    x, h = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 5, dtype=torch.float64)
    gates = x @ cell.weight_ih.T + cell.bias_ih
    recurrent = h @ cell.weight_hh.T + cell.bias_hh
    torch.testing.assert_close(gru_cell(gates, recurrent, h), cell(x, h))


def plain_decoder(decoder: Seq2SeqAttentionDecoder, memory, row: int, length: int, tokens):
    """One sentence, one step, one key at a time; only `nn.GRU` itself is taken as given."""
    attention, keys = decoder.attention, memory.outputs[row, :length]
    hidden = torch.tanh(decoder.bridge(memory.hidden[:, row]))  # layers, hiddens
    logits = []
    for token in tokens:
        scores = torch.stack(
            [
                attention.w_v.weight[0] @ torch.tanh(attention.W_q.weight @ hidden[-1] + attention.W_k.weight @ key)
                for key in keys
            ]
        )
        weights = scores.exp() / scores.exp().sum()
        context = sum(weight * key for weight, key in zip(weights, keys, strict=True))
        step = torch.cat([decoder.embedding.weight[token], context]).reshape(1, 1, -1)
        output, hidden = decoder.rnn(step, hidden.unsqueeze(1))
        hidden = hidden.squeeze(1)
        logits.append(decoder.dense(output[0, 0]))
    return torch.stack(logits)


def test_decoder_equals_a_plain_loop(model):
    memory = model.encoder(SOURCE, LENGTHS)
    logits, state = model.decoder(TARGET, model.decoder.init_state(memory))
    assert logits.shape == (3, 4, 13) and state.length == 4
    for row in range(3):
        expected = plain_decoder(model.decoder, memory, row, int(LENGTHS[row]), TARGET[row])
        torch.testing.assert_close(logits[row], expected, atol=1e-10, rtol=0)


def test_all_tokens_at_once_equal_one_by_one(model):
    memory = model.encoder(SOURCE, LENGTHS)
    at_once, _ = model.decoder(TARGET, model.decoder.init_state(memory))
    state, steps = model.decoder.init_state(memory), []
    for step in range(4):
        logits, state = model.decoder(TARGET[:, step : step + 1], state)
        steps.append(logits)
    torch.testing.assert_close(torch.cat(steps, 1), at_once, atol=1e-12, rtol=0)
    assert state.length == 4


def test_a_future_token_moves_no_earlier_logit(model):
    changed = TARGET.clone()
    changed[:, 2:] = 3
    before, after = (model(SOURCE, LENGTHS, tokens) for tokens in (TARGET, changed))
    assert torch.equal(before[:, :2], after[:, :2]) and not torch.equal(before[:, 2:], after[:, 2:])


def test_padding_order_and_batch_size_do_not_matter(model):
    with record_attention(model) as record:
        logits = model(SOURCE, LENGTHS, TARGET)
    weights = torch.cat(record["decoder.attention"], 1)
    for row, length in enumerate(LENGTHS):
        for width in (int(length), 9):  # no padding, and more of it
            source = torch.zeros(1, width, dtype=torch.long)
            source[0, :length] = SOURCE[row, :length]
            with record_attention(model) as alone_record:
                alone = model(source, LENGTHS[row : row + 1], TARGET[row : row + 1])
            torch.testing.assert_close(alone[0], logits[row], atol=1e-10, rtol=0)
            alone_weights = torch.cat(alone_record["decoder.attention"], 1)[0, :, :length]
            torch.testing.assert_close(alone_weights, weights[row, :, :length], atol=1e-10, rtol=0)
    flipped = model(SOURCE.flip(0), LENGTHS.flip(0), TARGET.flip(0)).flip(0)
    torch.testing.assert_close(flipped, logits, atol=1e-10, rtol=0)


@pytest.mark.parametrize("rows", [[0, 0, 1, 1, 2, 2], [1, 1], [2, 0, 1], [0, 0, 0, 2], [1, 1, 1, 0, 0, 0], [1], []])
def test_select_equals_starting_from_those_rows(model, rows):
    memory = model.encoder(SOURCE, LENGTHS)
    _, state = model.decoder(TARGET, model.decoder.init_state(memory))
    more = torch.tensor([[3], [4], [5]])
    expected, _ = model.decoder(more, state)
    chosen = torch.tensor(rows, dtype=torch.long)
    logits, _ = model.decoder(more[chosen], state.select(chosen))
    torch.testing.assert_close(logits, expected[chosen], atol=1e-12, rtol=0)


def test_select_twice_and_what_is_shared(model):
    state = model.decoder.init_state(model.encoder(SOURCE, LENGTHS))
    beams = state.select(torch.tensor([0, 0, 1, 1, 2, 2]))
    assert beams.keys is state.keys and beams.values is state.values and beams.beams == 2
    reordered = beams.select(torch.tensor([1, 1, 2, 3, 5, 4]))
    assert reordered.keys is state.keys and reordered.beams == 2
    fewer = reordered.select(torch.tensor([2, 3]))  # sentences 0 and 2 are finished
    assert fewer.keys.shape[0] == 1 and torch.equal(fewer.keys[0], state.keys[1])
    uneven = beams.select(torch.tensor([0, 2, 3]))
    assert uneven.beams == 1 and torch.equal(uneven.keys, state.keys[torch.tensor([0, 1, 1])])


def test_gradients_reach_every_weight_and_none_comes_from_padding(model):
    model.train()
    logits = model(SOURCE, LENGTHS, TARGET)
    logits.square().sum().backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0, name
    assert (model.encoder.embedding.weight.grad[0] == 0).all()  # id 0 only ever stands on padding
