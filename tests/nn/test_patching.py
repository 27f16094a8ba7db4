"""Vectors recorded, and patched from another sentence: against plain hooks, and by properties to the last bit."""

import pytest
import torch
from torch import nn

from seqlearn.nn.attention import MultiHeadAttention
from seqlearn.nn.decoder_only import DecoderOnlyConfig, decoder_only
from seqlearn.nn.patching import heads, patch, patch_cells, places, record_cells, record_stream
from seqlearn.nn.recording import record_attention, record_vectors
from seqlearn.nn.transformer import TransformerConfig, transformer
from seqlearn.search.fast_step import fast_step

A, B = torch.tensor([[4, 5, 6, 7, 8, 3]]), torch.tensor([[4, 9, 6, 7, 5, 3]])
TARGET = torch.tensor([[1, 5, 8, 4]])


def a_transformer(**options):
    torch.manual_seed(0)
    config = TransformerConfig(num_hiddens=16, ffn_num_hiddens=24, num_heads=4, num_layers=2, dropout=0.0, **options)
    return transformer(12, 12, config).eval()


def a_decoder_only():
    torch.manual_seed(0)
    return decoder_only(
        12, 12, DecoderOnlyConfig(16, 24, num_heads=4, num_kv_heads=2, num_layers=2, dropout=0.0, prefix=True)
    ).eval()


MODELS = {"pre": a_transformer, "post": lambda: a_transformer(norm_first=False, bias=True), "one": a_decoder_only}


@pytest.fixture(params=MODELS)
def model(request):
    with torch.no_grad():
        yield MODELS[request.param]()


def logits(model, source, target=TARGET):
    lens = torch.full((len(source),), source.shape[1])
    return model.decoder(target, model.decoder.init_state(model.encoder(source, lens)))[0]


def recorded(model, source, target=TARGET):
    with record_stream(model) as stream:
        logits(model, source, target)
    return stream


def hooks(model):
    parts = list(model.modules())
    return sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in parts)


def exposed(model):
    return [getattr(part, name, None) for part in model.modules() for name in ("record", "edit", "vectors")]


def test_places_by_name_and_the_shapes_of_their_vectors():
    model = a_transformer()
    stream = ["pos_encoding", "blocks.0", "blocks.1", "norm"]
    kinds = [
        f"{kind} {layer}.{head}" for kind in ("encoder", "causal", "cross") for layer in (0, 1) for head in range(4)
    ]
    assert places(model) == [f"{stack}.{each}" for stack in ("encoder", "decoder") for each in stream] + kinds
    record = recorded(model, A)
    assert {place: [tuple(call.shape) for call in calls] for place, calls in record.items()} == {
        place: [(1, 6 if place.startswith("encoder") else 4, 4 if " " in place else 16)] for place in places(model)
    }
    assert places(nn.Linear(2, 2)) == []
    one = a_decoder_only()
    assert places(one)[:4] == ["decoder.dropout", "decoder.blocks.0", "decoder.blocks.1", "decoder.norm"]
    assert [tuple(call.shape) for call in recorded(one, A)["decoder.blocks.0"]] == [(1, 6, 16), (1, 4, 16)]


def test_a_head_by_hand():
    """Keys [1, 0] and [0, 1], values [10, 0] and [0, 20], a query that looks at both alike: 5 and 10."""
    layer = MultiHeadAttention(2, 1)
    layer.kind = "encoder"
    for matrix in (layer.W_q, layer.W_k, layer.W_o):
        nn.init.eye_(matrix.weight)
    layer.W_v.weight.data = torch.tensor([[10.0, 0.0], [0.0, 20.0]])
    keys = torch.eye(2)[None]
    with torch.no_grad(), record_cells(layer) as cells, record_stream(layer) as stream:
        layer(torch.zeros(1, 1, 2), keys, keys)
    assert cells["encoder 0.0"][0].tolist() == [[[[5.0, 0.0], [0.0, 10.0]]]]
    assert stream["encoder 0.0"][0].tolist() == [[[5.0, 10.0]]]
    other = torch.tensor([[[[7.0, 7.0], [1.0, 2.0]]]])
    with torch.no_grad(), patch_cells(layer, {"encoder 0.0": other}, [(0, 1)]):
        assert layer(torch.zeros(1, 1, 2), keys, keys).tolist() == [[[6.0, 2.0]]]
    with torch.no_grad(), patch(layer, {"encoder 0.0": torch.tensor([3.0, 4.0])}):
        assert layer(torch.zeros(1, 1, 2), keys, keys).tolist() == [[[3.0, 4.0]]]


def test_a_patch_from_the_same_sentence_changes_nothing(model):
    plain, stream = logits(model, A), recorded(model, A)
    for place in stream:
        with patch(model, {place: stream[place]} if stream[place] else {}):
            assert torch.equal(logits(model, A), plain)
    for place in heads(model):
        with record_cells(model, [place]) as cells:
            alike = logits(model, A)
        if len(cells[place]) == 1:
            with patch_cells(model, {place: cells[place][0]}, torch.ones(cells[place][0].shape[:3], dtype=torch.bool)):
                assert torch.equal(logits(model, A), alike)
        torch.testing.assert_close(torch.cat([each.sum(2) for each in cells[place]], 1), torch.cat(stream[place], 1))


def test_everything_patched_gives_the_logits_of_the_other_sentence(model):
    other, stream = logits(model, B), recorded(model, B)
    assert not torch.equal(other, logits(model, A))
    for place in [place for place in places(model) if place.split(".")[0] == places(model)[0].split(".")[0]]:
        if " " not in place and (place != "decoder.norm"):
            with patch(model, {place: stream[place]}):
                patched = logits(model, A)
            assert torch.equal(patched, other), place
    with patch(model, {place: stream[place] for place in stream if " " in place}):
        assert torch.equal(logits(model, A), other)  # the target learns of the source through heads alone


def by_hooks(model, part, rows, vectors, before=None):
    """The independent oracle: one plain hook. `before`: the features of a head, at the input of W_o."""
    if before is None:

        def hook(module, inputs, output):
            x = output[0] if isinstance(output, tuple) else output
            for row in rows:
                x[:, row] = vectors[:, row]

        return part.register_forward_hook(hook)

    def pre(module, inputs):
        for row in rows:
            inputs[0][:, row, before] = vectors[:, row]

    return part.register_forward_pre_hook(pre)


@pytest.mark.parametrize(
    ("place", "name", "before"),
    [
        ("encoder.blocks.0", "encoder.blocks.0", None),
        ("decoder.blocks.1", "decoder.blocks.1", None),
        ("encoder.blocks.1.ffn", "encoder.blocks.1.ffn", None),
        ("encoder 1.3", "encoder.blocks.1.self_attention.W_o", slice(12, 16)),
        ("causal 0.1", "decoder.blocks.0.self_attention.W_o", slice(4, 8)),
        ("cross 1.0", "decoder.blocks.1.cross_attention.W_o", slice(0, 4)),
    ],
)
@torch.no_grad()
def test_as_plain_hooks_do_it(place, name, before):
    model = a_transformer()
    with record_stream(model, [place]) as stream:
        logits(model, B, TARGET + 1)
    handle = by_hooks(model, model.get_submodule(name), [1, 3], stream[place][0], before)
    expected = logits(model, A)
    handle.remove()
    several = torch.cat([A, B, A])
    where = torch.zeros(3, 6, dtype=torch.bool)
    where[2, [1, 3]] = True
    with patch(model, {place: stream[place]}, rows=[1, 3]):
        assert torch.equal(logits(model, A), expected)
    with patch(model, {place: stream[place]}, rows=where):
        mixed = logits(model, several, TARGET.expand(3, -1))
    torch.testing.assert_close(mixed[2:], expected)
    torch.testing.assert_close(mixed[:2], logits(model, several, TARGET.expand(3, -1))[:2])
    assert not torch.equal(expected, logits(model, A))


@torch.no_grad()
def test_a_cell_as_weights_and_values_say():
    """Cells of (row 2, key 4) in head 1: the oracle adds the difference of weight times value at the input of W_o."""
    model, name, place = a_transformer(), "encoder.blocks.0.self_attention", "encoder 0.1"
    given = {}
    for letter, source in (("a", A), ("b", B)):
        with record_vectors(model) as vectors, record_attention(model) as weights:
            logits(model, source)
        given[letter] = weights[name][0][0, 1, 2, 4] * vectors[name][0][2][0, 1, 4]
    with record_cells(model, [place]) as cells:
        logits(model, B)
    assert torch.equal(cells[place][0][0, 2, 4], given["b"])
    difference = given["b"] - given["a"]

    def pre(module, inputs):
        inputs[0][0, 2, 4:8] += difference

    handle = model.get_submodule(name).W_o.register_forward_pre_hook(pre)
    expected = logits(model, A)
    handle.remove()
    with patch_cells(model, {place: cells[place][0]}, [(2, 4)]):
        torch.testing.assert_close(logits(model, A), expected)
    assert (expected - logits(model, A)).abs().max() > 1e-5


def test_nothing_is_left_behind_and_nothing_changed_outside(model):
    plain, stream, before = logits(model, A), recorded(model, B), exposed(model)
    place = next(iter(heads(model)))
    with record_cells(model, [place]) as cells:
        logits(model, B)
    one = {place: cells[place][0]}
    for block in (
        lambda: record_stream(model),
        lambda: patch(model, stream and {place: stream[place]}),
        lambda: record_cells(model),
        lambda: patch_cells(model, one, [(0, 0)]),
    ):
        with pytest.raises(KeyError), block():
            raise KeyError
        assert hooks(model) == 0
        assert exposed(model) == before
        assert torch.equal(logits(model, A), plain)


@torch.no_grad()
def test_the_fast_step_steps_aside_exactly_inside():
    model = a_transformer()
    stream = recorded(model, A)
    state = model.decoder.init_state(model.encoder(A, torch.tensor([6])))
    for place in [place for place in places(model) if not place.startswith("encoder")]:
        for block in (record_stream(model, [place]), patch(model, {place: stream[place]})):
            with block:
                assert fast_step(model.decoder, state) is None
            assert fast_step(model.decoder, state) is not None
    with patch(model, {"encoder 1.3": stream["encoder 1.3"]}):  # the decoder itself is as it was
        assert fast_step(model.decoder, state) is not None


@torch.no_grad()
def test_one_token_at_a_time_and_the_outer_patch_counts():
    model, vectors = a_transformer(), torch.randn(1, 4, 16, generator=torch.Generator().manual_seed(1))
    with patch(model, {"decoder.blocks.0": vectors}, rows=[2]):
        whole = logits(model, A)
    steps, state = [], model.decoder.init_state(model.encoder(A, torch.tensor([6])))
    with patch(model, {"decoder.blocks.0": vectors}, rows=[2]):
        for token in TARGET.T:
            step, state = model.decoder(token[None], state)
            steps.append(step)
    torch.testing.assert_close(torch.cat(steps, 1), whole)
    with record_stream(model, ["decoder.blocks.0"]) as stream:  # it began first, and still sees what is patched
        with patch(model, {"decoder.blocks.0": vectors}), patch(model, {"decoder.blocks.0": torch.zeros(16)}, rows=[1]):
            logits(model, A)
    assert torch.equal(stream["decoder.blocks.0"][0], vectors)


@torch.no_grad()
def test_what_does_not_fit_is_said():
    model, vectors = a_transformer(), torch.zeros(1, 3, 16)
    with pytest.raises(ValueError, match=r"no place 'encoder.blocks.7' in the model; it has encoder.pos_encoding"):
        patch(model, {"encoder.blocks.7": vectors}).__enter__()
    with pytest.raises(ValueError, match=r"no head 'encoder 9.9' in the model; it has encoder 0.0"):
        record_cells(model, ["encoder 9.9"]).__enter__()
    with pytest.raises(ValueError, match=r"in a row beyond the 3"), patch(model, {"encoder.blocks.0": vectors}):
        logits(model, A)
    with pytest.raises(ValueError, match=r"has vectors \(1, 6, 16\); those to use are \(8,\)"):
        with patch(model, {"encoder.blocks.0": torch.zeros(8)}):
            logits(model, A)
    with pytest.raises(ValueError, match=r"has cells \(1, 6, 6, 4\), not \(1, 6, 5, 4\)"):
        with patch_cells(model, {"encoder 0.0": torch.zeros(1, 6, 5, 4)}, [(0, 0)]):
            logits(model, A)
    assert hooks(model) == 0
