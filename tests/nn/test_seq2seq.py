"""Recurrent encoders and decoders, against nn.GRU, nn.LSTM, d2l, and a plain loop over the formulas."""

import pytest
import torch
from torch import nn

from seqlearn.nn.attention import SCORES, make_attention
from seqlearn.nn.recording import record_attention
from seqlearn.nn.seq2seq import (
    RNNS,
    AttentionState,
    BahdanauConfig,
    RNNConfig,
    Seq2SeqAttentionDecoder,
    Seq2SeqConfig,
    Seq2SeqEncoder,
    bahdanau,
    seq2seq,
)
from seqlearn.runtime.d2l_compat import d2l

SIZES = {"embed_size": 4, "num_hiddens": 5, "num_layers": 2}
MODELS = {score: lambda score=score: bahdanau(11, 13, BahdanauConfig(**SIZES, score=score)) for score in SCORES} | {
    f"{cell}, {'two directions' if both else 'one direction'}": lambda cell=cell, both=both: seq2seq(
        11, 13, Seq2SeqConfig(**SIZES, cell=cell, bidirectional=both)
    )
    for cell in RNNS
    for both in (False, True)
}


def make(name):
    torch.manual_seed(0)
    return MODELS[name]().double().eval()


@pytest.fixture(params=MODELS)
def model(request):
    """Every model; each test of the contract holds for all."""
    return make(request.param)


@pytest.fixture(params=SCORES)
def attentive(request):
    """The models with attention."""
    return make(request.param)


SOURCE = torch.tensor([[4, 5, 6, 2, 0, 0], [7, 8, 9, 10, 4, 2], [2, 0, 0, 0, 0, 0]])
LENGTHS = torch.tensor([4, 6, 1])
TARGET = torch.tensor([[1, 4, 5, 6], [1, 7, 8, 12], [1, 9, 4, 5]])


@pytest.mark.parametrize("cell", RNNS)
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
def test_encoder_equals_torch_on_each_sentence_alone(bidirectional, layers, cell):
    torch.manual_seed(0)
    encoder = Seq2SeqEncoder(11, RNNConfig(4, 5, layers, 0.0), bidirectional, cell).double().eval()
    alone = {"gru": nn.GRU, "lstm": nn.LSTM}[cell](4, 5, layers, batch_first=True, bidirectional=bidirectional).double()
    alone.load_state_dict(encoder.rnn.state_dict())
    memory = encoder(SOURCE, LENGTHS)
    assert memory.outputs.shape == (3, 6, encoder.output_size)
    for row, length in enumerate(LENGTHS):
        outputs, last = alone(encoder.embedding(SOURCE[row : row + 1, :length]))
        torch.testing.assert_close(memory.outputs[row, :length], outputs[0], atol=1e-10, rtol=0)
        for ours, theirs in zip((memory.hidden, memory.cell), last if cell == "lstm" else (last, None), strict=True):
            if theirs is None:
                assert ours is None
                continue
            theirs = torch.cat([theirs[0::2], theirs[1::2]], -1) if bidirectional else theirs
            torch.testing.assert_close(ours[:, row], theirs[:, 0], atol=1e-10, rtol=0)
        assert memory.mask[row, 0].tolist() == [step < length for step in range(6)]


def test_encoder_equals_d2ls_without_padding():
    """d2l's encoder reads padding, too: with it, its last state is another (a known flaw). Without, they agree."""
    torch.manual_seed(0)
    encoder = Seq2SeqEncoder(11, RNNConfig(4, 5, 2, 0.0), bidirectional=False).eval()
    theirs = d2l.Seq2SeqEncoder(11, 4, 5, 2).eval()
    theirs.load_state_dict(encoder.state_dict())  # the keys are d2l's
    outputs, hidden = theirs(SOURCE[1:2])
    memory = encoder(SOURCE[1:2], LENGTHS[1:2])
    torch.testing.assert_close(memory.outputs, outputs.transpose(0, 1))
    torch.testing.assert_close(memory.hidden, hidden)
    padded = torch.cat([SOURCE[1:2], torch.zeros(1, 3, dtype=torch.long)], 1)
    assert not torch.allclose(theirs(padded)[1], hidden)
    torch.testing.assert_close(encoder(padded, LENGTHS[1:2]).hidden, memory.hidden)


def score_by_hand(attention, query, key):
    """One score, from the formula."""
    match type(attention).__name__:
        case "AdditiveAttention":
            return attention.w_v.weight[0] @ torch.tanh(attention.W_q.weight @ query + attention.W_k.weight @ key)
        case "BilinearAttention":
            return query @ attention.W.weight @ key
        case "DotProductAttention":
            return query @ key / len(key) ** 0.5


def plain_decoder(decoder, memory, row: int, length: int, tokens):
    """One sentence, one step, one key at a time; only `nn.GRU` and `nn.LSTM` themselves are taken as given."""
    keys = memory.outputs[row, :length]
    state = torch.tanh(decoder.bridge(memory.hidden[:, row : row + 1]))  # layers, 1, hiddens
    if memory.cell is not None:
        state = state, decoder.bridge(memory.cell[:, row : row + 1])
    logits = []
    for token in tokens:
        if hasattr(decoder, "attention"):
            scores = torch.stack([score_by_hand(decoder.attention, state[-1, 0], key) for key in keys])
            weights = scores.exp() / scores.exp().sum()
            context = sum(weight * key for weight, key in zip(weights, keys, strict=True))
        else:
            context = memory.hidden[-1, row]
        step = torch.cat([decoder.embedding.weight[token], context]).unsqueeze(0)
        batch_first = decoder.rnn.batch_first
        output, state = decoder.rnn(step.unsqueeze(0 if batch_first else 1), state)
        logits.append(decoder.dense(output[0, 0]))
    return torch.stack(logits)


def test_decoder_equals_a_plain_loop(model):
    memory = model.encoder(SOURCE, LENGTHS)
    logits, _ = model.decoder(TARGET, model.decoder.init_state(memory))
    assert logits.shape == (3, 4, 13)
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


def test_a_future_token_moves_no_earlier_logit(model):
    changed = TARGET.clone()
    changed[:, 2:] = 3
    before, after = (model(SOURCE, LENGTHS, tokens) for tokens in (TARGET, changed))
    assert torch.equal(before[:, :2], after[:, :2]) and not torch.equal(before[:, 2:], after[:, 2:])


def test_padding_order_and_batch_size_do_not_matter(model):
    with record_attention(model) as record:
        logits = model(SOURCE, LENGTHS, TARGET)
    weights = torch.cat(record["decoder.attention"], 1) if record else None
    for row, length in enumerate(LENGTHS):
        for width in (int(length), 9):  # no padding, and more of it
            source = torch.zeros(1, width, dtype=torch.long)
            source[0, :length] = SOURCE[row, :length]
            with record_attention(model) as alone_record:
                alone = model(source, LENGTHS[row : row + 1], TARGET[row : row + 1])
            torch.testing.assert_close(alone[0], logits[row], atol=1e-10, rtol=0)
            if record:
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


def test_select_twice_and_what_is_shared(attentive):
    model = attentive
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


@pytest.mark.parametrize(("build", "config"), [(seq2seq, Seq2SeqConfig), (bahdanau, BahdanauConfig)])
def test_dropout_falls_on_the_embeddings_and_before_the_output_layer(build, config):
    """With all of it dropped, no token is read and no state is heard."""
    model = build(11, 13, config(**SIZES, dropout=1.0)).double().train()
    memories = [model.encoder(source, LENGTHS).hidden for source in (SOURCE, SOURCE.flip(0))]
    logits, state = model.decoder(TARGET, model.decoder.init_state(model.encoder(SOURCE, LENGTHS)))
    _, other = model.decoder(TARGET.flip(0), model.decoder.init_state(model.encoder(SOURCE, LENGTHS)))
    assert torch.equal(*memories) and torch.equal(state.hidden, other.hidden)
    assert torch.equal(logits, model.decoder.dense.bias.expand_as(logits))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: seq2seq(11, 13, Seq2SeqConfig(cell="rnn")), "no cell 'rnn'; choose from gru, lstm"),
        (
            lambda: bahdanau(11, 13, BahdanauConfig(score="cosine")),
            "no score 'cosine'; choose from additive, dot, bilinear",
        ),
        (lambda: make_attention("dot", 4, 6), "queries and keys of one size, not 4 and 6"),
    ],
)
def test_what_there_is_not_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


# The attention decoder, step by step

MASK = torch.tensor([[True, True, True, True], [True, True, False, False], [False, False, False, False]])
WRITTEN = torch.tensor([[1, 4, 5, 6, 7], [1, 7, 8, 12, 3], [1, 9, 4, 5, 6]])


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def attention_decoder(layers, dropout=0.0):
    """A decoder and its first state: three sentences, the last one empty."""
    torch.manual_seed(0)
    decoder = Seq2SeqAttentionDecoder(13, BahdanauConfig(8, 7, layers, dropout), 6).double()
    return decoder, AttentionState(random(3, 4, 7), random(3, 4, 6), MASK.unsqueeze(1), random(layers, 3, 7))


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_equals_torchs_gru_cells_fed_with_the_contexts_and_so_do_all_gradients(layers):
    decoder, state = attention_decoder(layers)
    outputs, last = decoder.features(WRITTEN, state)
    cells = [nn.GRUCell(8 + 6 if layer == 0 else 7, 7).double() for layer in range(layers)]
    for cell, weights in zip(cells, decoder.rnn.all_weights, strict=True):
        for (name, _), weight in zip([*cell.named_parameters()], weights, strict=True):
            delattr(cell, name)
            setattr(cell, name, weight)
    hidden, expected = list(state.hidden), []
    for token in decoder.embedding(WRITTEN).unbind(1):
        query = hidden[-1].unsqueeze(1)
        context = decoder.attention.attend(query, state.keys, state.values, state.mask).squeeze(1)
        x = torch.cat([token, context], dim=-1)
        for layer, cell in enumerate(cells):
            x = hidden[layer] = cell(x, hidden[layer])
        expected.append(x)
    expected = torch.stack(expected, 1)
    torch.testing.assert_close(outputs, expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(last.hidden, torch.stack(hidden), atol=1e-12, rtol=0)
    wanted = [state.keys, state.values, state.hidden, decoder.embedding.weight, *decoder.rnn.parameters()]
    both = (torch.autograd.grad((each**2).sum(), wanted) for each in (outputs, expected))
    for mine, torchs in zip(*both, strict=True):
        torch.testing.assert_close(mine, torchs, atol=1e-12, rtol=0)


def test_the_beams_of_a_sentence_share_its_memory():
    decoder, state = attention_decoder(1)
    expected, _ = decoder.features(WRITTEN, state)
    beams = AttentionState(state.keys, state.values, state.mask, state.hidden.repeat_interleave(2, dim=1), beams=2)
    twice, _ = decoder.features(WRITTEN.repeat_interleave(2, dim=0), beams)
    torch.testing.assert_close(twice[::2], expected)
    torch.testing.assert_close(twice[1::2], expected)


def test_dropout_stands_between_the_layers_and_on_the_weights_in_training():
    decoder, state = attention_decoder(2, dropout=0.5)
    expected, _ = decoder.eval().features(WRITTEN, state)
    torch.testing.assert_close(decoder.features(WRITTEN, state)[0], expected)
    for part in (decoder.rnn, decoder.attention):
        decoder.attention.dropout.p = 0.9
        part.train()
        assert not torch.allclose(decoder.features(WRITTEN, state)[0], expected)
        decoder.eval()


def test_an_empty_sentence_gives_no_context_and_takes_no_gradient():
    decoder, state = attention_decoder(1)
    outputs, _ = decoder.features(WRITTEN, state)
    keys, values = torch.autograd.grad(outputs.sum(), [state.keys, state.values])
    assert keys[2].count_nonzero() == 0 and values[2].count_nonzero() == 0
