"""The decoder written out for one token, beside the decoder's own modules."""

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from seqlearn.nn import stepping
from seqlearn.nn.attention import MultiHeadAttention, edit_attention, record_attention
from seqlearn.nn.transformer import TransformerDecoder, TransformerDecoderBlock, transformer

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
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = 0.1
    return model


@torch.no_grad()
def started(model, lengths=(5, 3), source=SOURCE):
    return model.decoder.init_state(model.encoder(source[: len(lengths)], torch.tensor(lengths)))


@torch.no_grad()
def compare(model, state, tokens=((1,), (1,)), atol=1e-12):
    """The fast way, if it is taken, beside the modules."""
    tokens = torch.tensor(tokens)
    fast, slow = (model.decoder(tokens, each)[0] for each in (state, replace(state, step=None)))
    torch.testing.assert_close(fast, slow, rtol=0, atol=atol)
    return fast


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
            (y, ours), (z, theirs) = model.decoder(tokens, ours), model.decoder(tokens, theirs)
            assert ours.step is not None and theirs.step is None
            torch.testing.assert_close(y, z, rtol=0, atol=1e-12)
            assert ours.length == theirs.length == length + 1
            for past, other in zip(ours.past, theirs.past, strict=True):
                torch.testing.assert_close(past.keys[:, :, : length + 1], other.keys[:, :, : length + 1])
            if length in (0, 4):  # beams for each sentence, then in another order
                chosen = rows if length == 0 else torch.arange(len(rows)).view(-1, beams).flip(1).flatten()
                ours, theirs = ours.select(chosen), theirs.select(chosen)


@pytest.mark.parametrize("source, taken", [(7, True), (8, False)])
def test_a_sentence_absorbs_the_matrices_while_it_is_smaller_than_they_are(source, taken, monkeypatch):
    calls = []
    absorb = stepping._absorb
    monkeypatch.setattr(stepping, "_absorb", lambda *given: (calls.append(given), absorb(*given))[1])
    model, ids = make(), torch.full((1, source), 3)
    state = started(model, (source,), ids)
    assert bool(calls) is taken, "3 heads, 24 features"
    compare(model, state, [[1]])


@pytest.mark.parametrize("lengths", [(5, 3), (5,)])
@torch.no_grad()
def test_no_rows_are_left(lengths):
    model = make()
    _, state = model.decoder(torch.ones(len(lengths), 1, dtype=torch.long), started(model, lengths))
    logits, _ = model.decoder(torch.ones(0, 1, dtype=torch.long), state.select(torch.tensor([], dtype=torch.long)))
    assert logits.shape == (0, 1, 11)


def test_several_sentences_or_padding_absorb_nothing(monkeypatch):
    calls = []
    monkeypatch.setattr(stepping, "_absorb", lambda *given: (calls.append(given), given[:2])[1])
    for lengths in ((5, 5), (3,)):
        started(make(), lengths)
        assert calls == []
    started(make(), (5,))
    assert len(calls) == 2, "one for each block"


def test_a_part_with_a_hook_or_in_training_is_left_to_the_modules():
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
    assert started(model).step is not None


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


OTHERS = {
    "ln": nn.Identity(),
    "dense": Doubled(24, 11),
    "blks.block0.ffn": nn.Identity(),
    "blks.block0.attention2": MultiHeadAttention(24, 3, rotary=True),
    "blks.block0.attention2.W_q": Doubled(24, 24),
    "blks.block1.attention2.W_o": nn.Identity(),
    "blks.block1.addnorm2.ln": nn.RMSNorm(24),
}


@pytest.mark.parametrize("path, other", OTHERS.items(), ids=OTHERS)
def test_a_part_that_was_replaced_is_left_to_the_modules(path, other):
    model = make()
    before = compare(model, started(model))
    model.decoder.set_submodule(path, other.double().eval())
    state = started(model)
    assert state.step is None
    assert not torch.equal(before, compare(model, state))


def test_a_decoder_of_ones_own_is_left_to_itself():
    class Own(TransformerDecoder):
        def features(self, tokens, state):
            features, state = super().features(tokens, state)
            return 2 * features, state

    model = make()
    before = compare(model, started(model))
    model.decoder.__class__ = Own
    assert not torch.equal(before, compare(model, started(model)))


def test_a_copy_has_a_step_of_its_own():
    model = make()
    other = copy.deepcopy(model)
    nn.init.zeros_(other.decoder.dense.weight)
    assert started(other).step is not None
    compare(other, started(model))
    compare(other, started(other))


def test_there_may_be_no_blocks_and_norms_of_both_kinds():
    none, mixed = transformer(9, 11, 24, 20, 3, 0).double().eval(), make()
    compare(none, started(none, (5,)), [[1]])
    mixed.decoder.blks["block1"].addnorm2.norm_first = False
    state = started(mixed)
    assert state.step is not None
    compare(mixed, state)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("lengths", [(5, 3), (5,)])
def test_under_autocast_too_the_sums_keep_their_precision(first, lengths):
    model = make(norm_first=first).float()
    with torch.autocast("cpu", torch.bfloat16):
        state = started(model, lengths)
        assert state.step is not None
        compare(model, state, [[1]] * len(lengths), atol=0 if len(lengths) > 1 else 0.2)


def test_attention_is_recorded_or_edited_whenever_that_begins():
    model, tokens = make(), torch.tensor([[1], [1]])
    with torch.no_grad():
        _, state = model.decoder(tokens, started(model))
        with record_attention(model.decoder) as record:
            logits, after = model.decoder(tokens, state)
        assert {name: [tuple(weights.shape) for weights in rows] for name, rows in record.items()} == {
            f"blks.block{i}.attention{kind}": [(2, 3, 1, steps)] for i in (0, 1) for kind, steps in ((1, 2), (2, 5))
        }
        torch.testing.assert_close(logits, model.decoder(tokens, state)[0])
        model.decoder(tokens, after)
        for name in record:
            with edit_attention(model.decoder, {name: lambda weights, may: weights * 0}):
                edited = compare(model, state)
            assert not torch.equal(edited, logits), name


def test_a_decoder_that_is_put_into_training_has_dropout_at_once_and_its_hook_runs_once():
    model, tokens, calls = make(), torch.tensor([[1], [1]]), []
    model.decoder.register_forward_hook(lambda *_: calls.append(1))
    with torch.no_grad():
        _, state = model.decoder(tokens, started(model))
        model.train()
        first, second = (model.decoder(tokens, state)[0] for _ in range(2))
    assert not torch.equal(first, second) and len(calls) == 3


@pytest.mark.parametrize("lengths", [(5, 3), (5,)])
def test_gradients_are_the_modules_whenever_they_are_turned_on(lengths):
    model = make(bias=True)
    tokens = torch.ones(len(lengths), 1, dtype=torch.long)
    with torch.no_grad():
        _, state = model.decoder(tokens, started(model, lengths))
    assert state.step is not None
    names, parameters = zip(*model.decoder.named_parameters(), strict=True)
    both = [
        torch.autograd.grad(model.decoder(tokens, each)[0].logsumexp(-1).sum(), parameters, allow_unused=True)
        for each in (state, replace(state, step=None))
    ]
    for name, ours, theirs in zip(names, *both, strict=True):
        assert (ours is None) == (theirs is None) and (ours is None or torch.equal(ours, theirs)), name
    assert both[0][names.index("blks.block0.attention2.W_q.weight")] is not None
    state = model.decoder.init_state(model.encoder(SOURCE[: len(lengths)], torch.tensor(lengths)))
    assert state.step is None


@torch.no_grad()
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
