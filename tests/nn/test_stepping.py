"""The decoder written out for one token, beside the decoder's own modules."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from seqlearn.nn import stepping
from seqlearn.nn.attention import record_attention
from seqlearn.nn.transformer import TransformerDecoderBlock, transformer

SOURCE = torch.tensor([[3, 4, 5, 6, 7], [7, 3, 2, 0, 0]])
KINDS = [
    {"norm_first": first, "bias": bias, "positions": positions, "tie": bias}
    for first in (False, True)
    for bias, positions in ((False, "sinusoidal"), (True, "rotary"), (True, "learned"), (False, "none"))
]


def make(**options):
    torch.manual_seed(0)
    model = transformer(9, 11, 24, 20, 3, 2, dropout=0.5, **options).double().eval()
    for parameter in model.parameters():  # biases and norms, too
        nn.init.normal_(parameter, std=0.3)
    return model


def started(model, lengths=(5, 3), source=SOURCE):
    return model.decoder.init_state(model.encoder(source[: len(lengths)], torch.tensor(lengths)))


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("lengths", [(5, 3), (5, 5), (5,), (3,)], ids=["padded", "full", "alone", "alone and padded"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_equals_the_modules(kind, lengths, beams):
    model = make(**kind)
    ours = started(model, lengths)
    theirs = replace(started(model, lengths), step=None)
    assert ours.step is not None
    rows = torch.arange(len(lengths)).repeat_interleave(beams)
    with torch.inference_mode():
        for length in range(7):
            tokens = torch.randint(11, (len(rows) if length else len(lengths), 1))
            (y, ours), (z, theirs) = ours.step(tokens, ours), model.decoder(tokens, theirs)
            torch.testing.assert_close(y, z, rtol=0, atol=1e-12)
            assert ours.length == theirs.length == length + 1
            for past, other in zip(ours.past, theirs.past, strict=True):
                torch.testing.assert_close(past.keys[:, :, : length + 1], other.keys[:, :, : length + 1])
            if length in (0, 4):
                chosen = rows if length == 0 else rows.sort(stable=True)[1].flip(0).sort()[0]
                ours, theirs = ours.select(chosen), theirs.select(chosen)


@pytest.mark.parametrize("source, taken", [(7, True), (8, False)])
def test_a_sentence_absorbs_the_matrices_while_it_is_smaller_than_they_are(source, taken, monkeypatch):
    calls = []
    absorb = stepping._absorb
    monkeypatch.setattr(stepping, "_absorb", lambda *given: (calls.append(given), absorb(*given))[1])
    model, ids = make(), torch.full((1, source), 3)
    state = started(model, (source,), ids)
    assert bool(calls) is taken, "3 heads, 24 features"
    tokens = torch.tensor([[1]])
    torch.testing.assert_close(model.decoder(tokens, state)[0], model.decoder(tokens, replace(state, step=None))[0])


@pytest.mark.parametrize("lengths", [(5, 3), (5,)])
def test_no_rows_are_left(lengths):
    model = make()
    _, state = model.decoder(torch.ones(len(lengths), 1, dtype=torch.long), started(model, lengths))
    logits, _ = model.decoder(torch.ones(0, 1, dtype=torch.long), state.select(torch.tensor([], dtype=torch.long)))
    assert logits.shape == (0, 1, 11)


def test_several_sentences_or_padding_absorb_nothing(monkeypatch):
    monkeypatch.setattr(stepping, "_absorb", lambda *given: pytest.fail("absorbed"))
    for lengths in ((5, 5), (3,)):
        started(make(), lengths)


def test_what_is_not_usual_is_left_to_the_modules():
    class Ffn(nn.Module):
        def forward(self, x):
            return x

    model = make()
    assert started(model).step is not None
    for hook in (model.decoder.blks["block1"].ffn.register_forward_hook, model.decoder.dense.register_forward_hook):
        handle = hook(lambda *_: None)
        assert started(model).step is None
        handle.remove()
    handle = model.decoder.embedding.register_forward_pre_hook(lambda *_: None)
    assert started(model).step is None
    handle.remove()
    model.decoder.pos_encoding.train()
    assert started(model).step is None
    model.eval()
    model.decoder.dense.forward = lambda x: x
    assert started(model).step is None
    del model.decoder.dense.forward
    model.decoder.embedding.max_norm = 1.0
    assert started(model).step is None
    model.decoder.embedding.max_norm = None
    block = model.decoder.blks["block0"]
    for part, name, other in (
        (block.addnorm2, "ln", nn.RMSNorm(24)),
        (block, "ffn", Ffn()),
        (block, "addnorm1", Ffn()),
    ):
        usual = getattr(part, name)
        setattr(part, name, other.double().eval())
        assert started(model).step is None
        setattr(part, name, usual)
        assert started(model).step is not None


def test_attention_is_recorded_whenever_that_begins():
    model, tokens = make(), torch.tensor([[1], [1]])
    _, state = model.decoder(tokens, started(model))
    with record_attention(model.decoder) as record:
        logits, after = model.decoder(tokens, state)
    assert {name: [tuple(weights.shape) for weights in rows] for name, rows in record.items()} == {
        f"blks.block{i}.attention{kind}": [(2, 3, 1, steps)] for i in (0, 1) for kind, steps in ((1, 2), (2, 5))
    }
    torch.testing.assert_close(logits, model.decoder(tokens, state)[0])
    model.decoder(tokens, after)


def test_a_decoder_that_is_put_into_training_has_dropout_at_once():
    model, tokens = make(), torch.tensor([[1], [1]])
    _, state = model.decoder(tokens, started(model))
    model.train()
    first, second = (model.decoder(tokens, state)[0] for _ in range(2))
    assert not torch.equal(first, second)


def test_gradients_go_through():
    model, tokens = make(bias=True), torch.tensor([[1]])
    names, parameters = zip(*model.decoder.named_parameters(), strict=True)

    def gradients(**changes):
        loss, state = 0, replace(started(model, (5,)), **changes)
        for token in (1, 4, 6):
            logits, state = model.decoder(tokens * token, state)
            loss = loss + logits.logsumexp(-1).sum()
        return torch.autograd.grad(loss, parameters, allow_unused=True)

    for name, ours, theirs in zip(names, gradients(), gradients(step=None), strict=True):
        torch.testing.assert_close(ours, theirs, msg=name)


def test_the_decoder_steps_this_way_for_one_token_in_eval_mode(monkeypatch):
    model = make()
    one, two, decoder = torch.tensor([[1], [1]]), torch.tensor([[1, 2], [1, 2]]), model.decoder
    calls = []
    monkeypatch.setattr(
        TransformerDecoderBlock, "forward", lambda self, x, *rest: (calls.append(len(rest)), (x, None))[1]
    )
    decoder(one, started(model))
    assert calls == []
    decoder(two, started(model))
    assert len(calls) == 2
    model.train()
    decoder(one, started(model))
    assert len(calls) == 4, "in training: there is dropout"
