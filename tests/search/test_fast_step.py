"""The decoder written out for one token, beside the decoder's own modules."""

import copy
import re

import pytest
import torch
from torch import nn

from seqlearn.nn.attention import MultiHeadAttention
from seqlearn.nn.recording import attention_layers, edit_attention, record_attention
from seqlearn.nn.transformer import TransformerConfig, TransformerDecoder, TransformerDecoderBlock, transformer
from seqlearn.search import fast_step as fast
from seqlearn.search.beam import beam_search
from seqlearn.search.fast_step import fast_step
from seqlearn.search.sampling import greedy_search

SOURCE = torch.tensor([[3, 4, 5, 6, 7], [7, 3, 2, 0, 0]])
KINDS = [
    {"norm_first": first, "bias": bias, "positions": positions, "tie": bias}
    for first in (False, True)
    for bias, positions in ((False, "sinusoidal"), (True, "rotary"), (True, "learned"), (False, "none"))
]
KINDS += [{"activation": activation} for activation in ("swish", "gelu")]


def make(**options):
    torch.manual_seed(0)
    model = transformer(9, 11, TransformerConfig(24, 20, 3, 2, dropout=0.5, **options)).double().eval()
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
def step_of(model, lengths=(5, 3), source=SOURCE):
    return fast_step(model.decoder, started(model, lengths, source))


@torch.no_grad()
def compare(model, lengths=(5, 3), source=SOURCE, atol=1e-12):
    """The fast step, if there is one, beside the modules."""
    tokens = torch.ones(len(lengths), 1, dtype=torch.long)
    fast, slow = step_of(model, lengths, source) or model.decoder, model.decoder
    one, two = (decoder(tokens, started(model, lengths, source))[0] for decoder in (fast, slow))
    torch.testing.assert_close(one, two, rtol=0, atol=atol)
    return one


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("lengths", [(5, 3), (5, 5), (5,), (3,)], ids=["padded", "full", "alone", "alone and padded"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
@torch.inference_mode()
def test_equals_the_modules(kind, lengths, beams):
    model = make(**kind)
    ours, theirs = started(model, lengths), started(model, lengths)
    step = fast_step(model.decoder, ours)
    assert step is not None
    rows = torch.arange(len(lengths)).repeat_interleave(beams)
    for length in range(7):
        tokens = torch.randint(11, (len(rows) if length else len(lengths), 1))
        (y, ours), (z, theirs) = step(tokens, ours), model.decoder(tokens, theirs)
        torch.testing.assert_close(y, z, rtol=0, atol=1e-12)
        assert ours.length == theirs.length == length + 1
        for past, other in zip(ours.past, theirs.past, strict=True):
            torch.testing.assert_close(past.keys[:, :, : length + 1], other.keys[:, :, : length + 1])
        if length in (0, 4):  # beams for each sentence, then in another order
            chosen = rows if length == 0 else torch.arange(len(rows)).view(-1, beams).flip(1).flatten()
            ours, theirs = ours.select(chosen), theirs.select(chosen)


@pytest.fixture
def absorbed(monkeypatch):
    """What `absorb` was called with."""
    calls, absorb = [], fast.absorb
    monkeypatch.setattr(fast, "absorb", lambda *given: (calls.append(given), absorb(*given))[1])
    return calls


@pytest.mark.parametrize("source, taken", [(7, True), (8, False)])
def test_a_sentence_absorbs_the_matrices_while_it_is_smaller_than_they_are(source, taken, absorbed):
    compare(make(), (source,), torch.full((1, source), 3))
    assert bool(absorbed) is taken, "3 heads, 24 features"


def test_several_sentences_or_padding_absorb_nothing(absorbed):
    for lengths in ((5, 5), (3,)):
        assert step_of(make(), lengths) is not None
        assert absorbed == []
    step_of(make(), (5,))
    assert len(absorbed) == 2, "one for each block"


@pytest.mark.parametrize("lengths", [(5, 3), (5,)])
@torch.no_grad()
def test_no_rows_are_left(lengths):
    model = make()
    state = started(model, lengths)
    step = fast_step(model.decoder, state)
    _, state = step(torch.ones(len(lengths), 1, dtype=torch.long), state)
    logits, _ = step(torch.ones(0, 1, dtype=torch.long), state.select(torch.tensor([], dtype=torch.long)))
    assert logits.shape == (0, 1, 11)


@pytest.mark.slow
def test_a_part_with_a_hook_or_in_training_is_left_to_the_modules():
    model = make()
    assert step_of(model) is not None
    for name, part in model.decoder.named_modules():
        if name == "blocks" or re.search(r"cross_attention\.W_[kv]$", name):
            continue  # nobody calls the list of blocks; keys and values of the source are projected by init_state
        for register in (part.register_forward_hook, part.register_forward_pre_hook):
            handle = register(lambda *_: None)
            assert step_of(model) is None, name
            handle.remove()
            assert step_of(model) is not None
    model.decoder.pos_encoding.train()
    assert step_of(model) is None
    model.eval()
    model.decoder.dense.forward = lambda x: x
    assert step_of(model) is None
    del model.decoder.dense.forward
    assert step_of(model) is not None


@pytest.mark.parametrize(
    "path, name", [("", "features"), ("pos_encoding", "rows"), ("blocks.1.cross_attention", "attend")]
)
def test_a_method_that_was_replaced_is_left_to_the_modules(path, name):
    """Also one that is not `forward`: the modules would call it."""
    model = make()
    part = model.decoder.get_submodule(path)
    setattr(part, name, getattr(part, name))
    assert step_of(model) is None
    delattr(part, name)
    assert step_of(model) is not None


def test_a_compiled_decoder_is_what_a_search_calls():
    model = make()
    model.decoder.compile(backend="eager")
    assert step_of(model) is None


@pytest.mark.parametrize("when", ["", "pre_"])
def test_a_hook_of_all_modules_is_left_to_the_modules(when):
    model = make()
    with getattr(nn.modules.module, f"register_module_forward_{when}hook")(lambda *_: None):
        assert step_of(model) is None
    assert step_of(model) is not None


def test_looking_for_hooks_leaves_none():
    model, calls = make(), []
    model.decoder.dense.register_forward_hook(lambda *_: calls.append(1))
    step_of(model), step_of(model)
    with torch.no_grad():
        model.decoder(torch.ones(2, 1, dtype=torch.long), started(model))
    assert calls == [1]
    for part in make().modules():
        with part.register_forward_hook(print) as handle:
            assert len(handle.hooks_dict_ref()) == 1


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


OTHERS = {
    "norm": nn.Identity(),
    "dense": Doubled(24, 11),
    "blocks.0.ffn": nn.Identity(),
    "blocks.0.cross_attention": MultiHeadAttention(24, 3, rotary=True),
    "blocks.0.cross_attention.W_q": Doubled(24, 24),
    "blocks.1.cross_attention.W_o": nn.Identity(),
    "blocks.1.norm2": nn.RMSNorm(24),
}


@pytest.mark.parametrize("path, other", OTHERS.items(), ids=OTHERS)
def test_a_part_that_was_replaced_is_left_to_the_modules_or_used(path, other):
    """No step, or a step with the new part: never the old one."""
    model = make()
    before = compare(model)
    model.decoder.set_submodule(path, other.double().eval())
    assert (step_of(model) is None) == (path != "norm"), "a last norm may be missing, as with post-norm"
    assert not torch.equal(before, compare(model))


def test_a_decoder_of_ones_own_is_left_to_itself():
    class Own(TransformerDecoder):
        def features(self, tokens, state):
            features, state = super().features(tokens, state)
            return 2 * features, state

    model = make()
    before = compare(model)
    model.decoder.__class__ = Own
    assert step_of(model) is None
    assert not torch.equal(before, compare(model))


def test_a_copy_has_a_step_of_its_own():
    model = make()
    other = copy.deepcopy(model)
    nn.init.zeros_(other.decoder.dense.weight)
    assert step_of(other) is not None
    compare(model)
    compare(other)


def test_there_may_be_no_blocks_and_norms_of_both_kinds():
    none, mixed = transformer(9, 11, TransformerConfig(24, 20, 3, 0)).double().eval(), make()
    assert step_of(none, (5,)) is not None
    compare(none, (5,))
    mixed.decoder.blocks[1].norm_first = False
    assert step_of(mixed) is not None
    compare(mixed)


def test_a_token_that_is_rescaled_when_it_is_looked_up_is_left_to_the_modules():
    model = make()
    model.decoder.embedding.max_norm = 1.0
    assert step_of(model) is None


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("lengths", [(5, 3), (5,)])
def test_under_autocast_too_the_sums_keep_their_precision(first, lengths):
    model = make(norm_first=first).float()
    with torch.autocast("cpu", torch.bfloat16):
        assert step_of(model, lengths) is not None
        compare(model, lengths, atol=0 if len(lengths) > 1 else 0.2)


@pytest.mark.parametrize("lengths", [(5, 3), (5,)])
def test_a_model_in_half_precision_stays_in_it(lengths):
    """The table of the sinusoids is float32 even there."""
    model = make().bfloat16()
    assert step_of(model, lengths) is not None
    assert compare(model, lengths, atol=0 if len(lengths) > 1 else 0.2).dtype == torch.bfloat16


IDS = {"bos": 1, "eos": 2}


def scores_of(found):
    return [one.score for best in found for one in (best if isinstance(best, list) else [best])]


def tokens_of(found):
    return [[one.tokens for one in (best if isinstance(best, list) else [best])] for best in found]


@pytest.mark.parametrize("search", [greedy_search, beam_search])
def test_attention_can_be_recorded_or_edited_around_a_search(search):
    model, lens = make(), torch.tensor([5, 3])
    before = search(model, SOURCE, lens, **IDS)
    with record_attention(model) as record:
        found = search(model, SOURCE, lens, **IDS)
    assert tokens_of(found) == tokens_of(before) and all(record.values())
    nothing = {name: lambda weights, may: weights * 0 for name in record}
    with edit_attention(model, nothing):
        assert scores_of(search(model, SOURCE, lens, **IDS)) != pytest.approx(scores_of(before))


@pytest.mark.parametrize("layer", attention_layers(make().decoder))
def test_a_single_layer_that_is_recorded_or_edited_is_enough(layer):
    """An edit of one layer gives a record to that layer alone."""
    model, seen = make(), []
    with edit_attention(model, {f"decoder.{layer}": lambda weights, may: (seen.append(1), weights)[1]}):
        assert step_of(model) is None
        greedy_search(model, SOURCE, torch.tensor([5, 3]), max_length=3, min_length=3, **IDS)
    assert len(seen) == 3
    with record_attention(model.decoder.get_submodule(layer)):
        assert step_of(model) is None
    assert step_of(model) is not None


@pytest.mark.parametrize("search", [greedy_search, beam_search])
def test_a_search_takes_the_fast_step_and_has_a_hook_called_at_every_step(search, monkeypatch):
    model, calls = make(), []
    forward = TransformerDecoderBlock.forward
    monkeypatch.setattr(TransformerDecoderBlock, "forward", lambda *given: (calls.append(1), forward(*given))[1])
    found = search(model, SOURCE, torch.tensor([5, 3]), max_length=4, min_length=4, **IDS)
    assert calls == [], "no module was called"
    hooked = []
    model.decoder.register_forward_hook(lambda *_: hooked.append(1))
    again = search(model, SOURCE, torch.tensor([5, 3]), max_length=4, min_length=4, **IDS)
    assert tokens_of(again) == tokens_of(found)
    assert len(hooked) == 4 and len(calls) == 2 * 4
