"""AttentionView sends the weights as they are, with what is made of them, and says what is wrong with its input."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import traitlets
from views.refusals import keeps, refuses

from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.data.text import Language
from seqlearn.nn.recording import attention_layers, record_attention, record_vectors
from seqlearn.translator.translator import Translator
from seqlearn.translator.whatif import change_of, what_if
from seqlearn.views import AttentionView
from seqlearn.views.attention.vectors import head_vectors
from seqlearn.views.shared.packing import unpack

SOURCE, TARGET = ["she", "eats", "it"], ["elle", "la", "mange", "<eos>"]


def attention(kind="cross", layers=2, heads=3, queries=4, keys=3, mask=None, sharp=1.0, tokens=None):
    scores = sharp * torch.randn(layers, heads, queries, keys)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1).nan_to_num(0.0)
    rows, columns = tokens or ([f"q{i}" for i in range(queries)], [f"k{i}" for i in range(keys)])
    return AttentionMap(weights, rows, columns, kind, mask)


def cross(**sizes):
    return attention(tokens=(TARGET, SOURCE), **sizes)


def encoder(**sizes):
    return attention("encoder", queries=3, tokens=(SOURCE, SOURCE), **sizes)


def causal(**sizes):
    inputs, mask = ["<bos>", *TARGET[:-1]], torch.ones(4, 4, dtype=torch.bool).tril()
    return attention("causal", keys=4, mask=mask, tokens=(inputs, inputs), **sizes)


def plain_rollout(weights):
    """Abnar and Zuidema (2020), section 3, by a loop in NumPy."""
    total = np.eye(weights.shape[-1])
    for layer in weights.numpy().astype(float):
        total = (0.5 * layer.mean(0) + 0.5 * np.eye(len(total))) @ total
    return total


def test_the_numbers_are_those_of_the_maps():
    maps = [cross(), encoder(layers=1), causal(heads=5)]
    view = AttentionView(*maps)
    assert [sent["kind"] for sent in view.data["maps"]] == ["cross", "encoder", "causal"]
    for one, sent in zip(maps, view.data["maps"], strict=True):
        assert torch.equal(unpack(sent["weights"]), one.weights)
        assert (sent["queries"], sent["keys"]) == (list(one.query_tokens), list(one.key_tokens))
        weights = one.weights.double()
        torch.testing.assert_close(unpack(sent["means"]).double(), weights.sum(1) / weights.shape[1])
        torch.testing.assert_close(unpack(sent["average"]).double(), weights.sum((0, 1)) / weights[:, :, 0, 0].numel())
    assert view.data["maps"][0]["rollout"] is None
    for one, sent in zip(maps[1:], view.data["maps"][1:], strict=True):
        np.testing.assert_allclose(unpack(sent["rollout"]), plain_rollout(one.weights), atol=1e-6)
    assert [sent["mask"] is None for sent in view.data["maps"]] == [True, True, False]
    assert torch.equal(unpack(view.data["maps"][2]["mask"]).bool(), maps[2].mask)
    assert view.data["maps"][0]["names"] == {"query": "target token (query)", "key": "source token (key)"}


def test_very_many_weights_are_sent_in_two_bytes():
    one = attention(layers=8, heads=9, queries=64, keys=64)
    sent = AttentionView(one).data["maps"][0]
    assert sent["weights"]["dtype"] == "uint16" and sent["means"]["dtype"] == "float32"
    assert float((unpack(sent["weights"]) / 65535 - one.weights).abs().max()) < 8e-6
    small = AttentionView(attention(layers=8, heads=8, queries=64, keys=64)).data["maps"][0]
    assert small["weights"]["dtype"] == "float32" and len(small["weights"]["data"]) == 2**20


@pytest.mark.parametrize(("sharp", "full"), [(20.0, 1.0), (0.5, 0.5), (0.0, 0.1)])
def test_the_brightest_colour_stands_for_a_weight_that_occurs(sharp, full):
    one = attention(queries=12, keys=12, sharp=sharp)
    sent = AttentionView(one).data["maps"][0]
    assert sent["full"] == full and float(one.weights.max()) <= full
    thumbs = unpack(sent["thumbs"]).double()
    torch.testing.assert_close(thumbs / 255, one.weights.double() / full, atol=0.003, rtol=0)


@pytest.mark.parametrize("full", [0.5, 1.0])
def test_a_weight_may_have_the_brightest_colour(full):
    row = AttentionMap(torch.tensor([[full, 1 - full]]), ["q"], ["k0", "k1"])
    assert AttentionView(row).data["maps"][0]["full"] == full


def test_a_small_map_of_a_long_sentence_has_the_largest_of_the_weights():
    one = attention(layers=1, heads=2, queries=64, keys=96, sharp=5.0)
    thumbs = unpack(AttentionView(one).data["maps"][0]["thumbs"])
    assert thumbs.shape == (1, 2, 32, 32)
    blocks = one.weights.reshape(1, 2, 32, 2, 32, 3).amax((3, 5))
    torch.testing.assert_close(thumbs.double() / 255, blocks.double(), atol=0.003, rtol=0)


def test_what_is_shown():
    maps = [cross(), encoder(), causal()]
    view = AttentionView(*maps, kind="encoder", layer=1, head=2)
    assert torch.equal(view.shown.weights[0, 0], maps[1].weights[1, 2])
    view.show = "layer"
    torch.testing.assert_close(view.shown.weights[0, 0], sum(maps[1].weights[1]) / 3)
    view.show = "all"
    torch.testing.assert_close(view.shown.weights[0, 0], sum(sum(maps[1].weights)) / 6)
    view.show = "rollout"
    np.testing.assert_allclose(view.shown.weights[0, 0], plain_rollout(maps[1].weights), atol=1e-6)
    view.kind = "causal"
    assert view.shown.mask is not None and view.show == "rollout"
    view.kind = "cross"
    assert view.show == "head" and torch.equal(view.shown.weights[0, 0], maps[0].weights[1, 2])


def test_another_kind_may_have_less():
    view = AttentionView(
        cross(layers=3), encoder(layers=1, heads=2), layer=2, head=2, locked=["query", 3], overlay=[[2, 0], [0, 1]]
    )
    view.kind = "encoder"
    assert (view.layer, view.head, view.locked) == (0, 1, None), "it has 1 layer, 2 heads and 3 queries"
    assert view.overlay == [[0, 1]]
    view.locked = ["pair", 2, 0]
    view.kind = "cross"
    assert (view.layer, view.head, view.locked) == (0, 1, ["pair", 2, 0]), "what is there stays"


test_what_is_chosen_has_to_be_there = keeps(
    lambda **given: AttentionView(cross(), encoder(), **given),
    [
        ("kind", "causal", "there is no 'causal' attention here, only cross, encoder"),
        ("layer", 2, "there is no layer 2, head 0: cross attention has 2 x 3, counted from 0"),
        ("head", -1, "there is no layer 0, head -1"),
        ("show", "rollout", "show is one of head, layer, all for cross attention, not 'rollout'"),
        ("show", "mean", "not 'mean'"),
        ("threshold", 1.5, "a threshold is from 0 to 1, as weights are, not 1.5"),
        ("threshold", math.nan, "threshold.*not (the float )?nan"),
        ("locked", ["query", 4], "there is no query 4: there are 4 queries and 3 keys"),
        ("locked", ["key", 3], "there is no key 3"),
        ("locked", ["pair", 0, 3], "there is no pair 0, 3"),
        ("locked", ["key", -1], "there is no key -1"),
        ("locked", ["row", 1], r"locked is \['query', i\], \['key', j\], \['pair', i, j\] or None, not \['row', 1\]"),
        ("locked", ["pair", 1], "locked is"),
        ("locked", ["query", "1"], "locked is"),
        ("locked", [["query"], 1], "locked is"),
        ("locked", ["query", True], "locked is"),
        ("locked", [], r"locked is .* not \[\]"),
        ("zoom", "word", "zoom is one of heads, head, cell, not 'word'"),
        ("overlay", [[0, 3]], r"overlay is a list of \[layer, head\] below \[2, 3\]; \[0, 3\] is none"),
        ("overlay", [[-1, 0]], "overlay is a list"),
        ("overlay", [[0]], "overlay is a list"),
        ("overlay", [[0, 1], [0, 1]], "an overlay has at most 8 heads, each once, not 2"),
    ],
)


def test_a_threshold_in_hundredths():
    view = AttentionView(cross(), threshold=0.123)
    assert view.threshold == 0.12
    view.threshold = 1 / 3
    assert view.threshold == 0.33


test_one_sentence_for_what_is_wrong = refuses(
    lambda make: AttentionView(*make()),
    [
        (lambda: [torch.ones(2, 2)], TypeError, r"AttentionView shows AttentionMap\(.*\), not a Tensor"),
        (lambda: [cross(), cross()], ValueError, "two maps have the kind 'cross'"),
        (lambda: [attention(keys=10_000)], ValueError, "a sentence of 10,000 tokens is too long .*, 256 is the most"),
        (lambda: [attention(queries=257)], ValueError, "257 tokens is too long"),
        (lambda: [attention(layers=29, heads=5)], ValueError, "29 layers x 5 heads are more than 144, too many"),
        (
            lambda: [cross(), attention("encoder", queries=3)],
            ValueError,
            "of different sentences: the encoder reads 'k0 k1 k2', and cross-attention looks at 'she eats it'",
        ),
        (
            lambda: [cross(), attention("causal", queries=3)],
            ValueError,
            "of different sentences: causal attention has 3 queries, and cross-attention 4",
        ),
        (
            lambda: [AttentionMap(torch.tensor([[-0.5, 1.5]]), ["a"], ["b", "c"])],
            ValueError,
            "attention weights are not negative; the smallest is -0.5",
        ),
        # What the map itself says
        (lambda: [AttentionMap(torch.ones(1, 1, 0, 3), [], SOURCE)], ValueError, "do not fit 0 query and 3 key tokens"),
        (lambda: [AttentionMap(torch.eye(2), ["a", "b"], ["c"])], ValueError, "do not fit 2 query and 1 key tokens"),
        (lambda: [AttentionMap(torch.full((1, 1), math.nan), ["a"], ["b"])], ValueError, "weights hold NaN"),
        (lambda: [AttentionMap(torch.eye(2) / 2, ["a", "b"], ["c", "d"])], ValueError, r"'a'\) sums to 0.500"),
    ],
)


def test_the_largest_that_is_shown():
    view = AttentionView(attention(layers=12, heads=12, queries=4, keys=256))
    assert repr(view) == "AttentionView(cross, 12 layers, 12 heads, 4 queries, 256 keys)"


def test_self_attention_over_other_tokens_has_no_rollout():
    with pytest.raises(ValueError, match="show is one of head, layer, all for causal attention, not 'rollout'"):
        AttentionView(attention("causal", queries=2), show="rollout")


def test_summary():
    maps = [cross(), encoder(heads=1), causal()]
    view = AttentionView(*maps)
    assert repr(view) == "AttentionView(cross, 2 layers, 3 heads, 4 queries, 3 keys, also encoder and causal)"
    view.kind = "encoder"
    assert repr(view) == "AttentionView(encoder, 2 layers, 1 heads, 3 queries, 3 keys, also cross and causal)"


# ---- The vectors of the heads, and the zoom ----

SENTENCE, FRENCH = "The girl washes the red apple and eats it.", "La fille lave la pomme rouge et la mange."
KINDS = ("encoder", "causal", "cross")


@pytest.fixture(scope="module")
def maps(transformer):
    return {kind: transformer.attend(SENTENCE, FRENCH, kind) for kind in KINDS}


def rotary(transformer):
    torch.manual_seed(3)
    sizes = {"num_hiddens": 16, "ffn_num_hiddens": 8, "num_heads": 2, "num_layers": 2, "positions": "rotary"}
    return Translator.new("transformer", transformer.source, transformer.target, **sizes)


def decoder_only(transformer):
    torch.manual_seed(3)
    sizes = {"num_hiddens": 16, "ffn_num_hiddens": 8, "num_heads": 4, "num_kv_heads": 2, "num_layers": 2}
    return Translator.new("decoder", transformer.source, transformer.target, **sizes)


@pytest.mark.slow
@pytest.mark.parametrize("prefix", [False, True])
def test_a_decoder_only_model(transformer, prefix):
    """One map over source and target; the vectors of both readings give its weights again; heads are switched off."""
    translator = decoder_only(transformer)
    translator.model.decoder.config = replace(translator.model.decoder.config, prefix=prefix)
    view = AttentionView.of(translator, SENTENCE)
    (attention,) = view.maps.values()
    assert attention.kind == "causal" and attention.key_tokens[: 1 + 10] == (
        *"the girl washes the red apple and eats it .".split(),
        "<eos>",
    )
    assert attention.key_tokens[11] == "<bos>" and bool(attention.mask[:11, :11].all()) == prefix
    queries, keys, _ = head_vectors(translator, view.maps)["causal"]
    scores = (queries @ keys.transpose(-2, -1) / 2).masked_fill(~attention.mask, -math.inf)
    torch.testing.assert_close(scores.softmax(-1), attention.weights, atol=1e-5, rtol=0)
    view.edits = [["ablate", "causal", 1, 2]]
    assert not view.maps["causal"].weights[1, 2].any() and view.maps["causal"].weights[1, 1].any()


def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@pytest.mark.parametrize("kinds", [KINDS, ("cross",), ("encoder",), ("encoder", "causal")])
def test_the_vectors_give_the_weights_again(transformer, positions, kinds):
    """With rotary positions applied (Su et al., 2021), no other formula is needed than softmax(q . k / sqrt(d))."""
    translator = transformer if positions == "sinusoidal" else rotary(transformer)
    maps = {kind: translator.attend(SENTENCE, FRENCH, kind) for kind in kinds}
    found = head_vectors(translator, maps)
    assert list(found) == list(kinds)
    for kind, one in maps.items():
        queries, keys, _ = (part.double().numpy() for part in found[kind])
        for layer, head in np.ndindex(*one.weights.shape[:2]):
            scores = queries[layer, head] @ keys[layer, head].T / math.sqrt(queries.shape[-1])
            if one.mask is not None:
                scores[~one.mask.numpy()] = -np.inf
            np.testing.assert_allclose(softmax(scores), one.weights[layer, head], atol=1e-5)


def test_the_values_make_the_output_of_the_layer(transformer, maps):
    """W_o of all contexts side by side is what the layer gives: in the encoder, whose layers are called as a whole."""
    layers, outputs = list(attention_layers(transformer.model, "encoder").values()), []
    hooks = [layer.register_forward_hook(lambda layer, given, output: outputs.append(output[0])) for layer in layers]
    values = head_vectors(transformer, maps)["encoder"][2]
    for hook in hooks:
        hook.remove()
    for layer, output, weights, value in zip(layers, outputs, maps["encoder"].weights, values, strict=True):
        contexts = torch.cat([weight @ part for weight, part in zip(weights, value, strict=True)], -1)
        torch.testing.assert_close(contexts @ layer.W_o.weight.T, output, atol=1e-5, rtol=1e-4)


def test_a_model_keeps_no_vectors(transformer):
    with record_attention(transformer.model) as outer, record_vectors(transformer.model) as record:
        transformer.translate(SENTENCE)
    calls = sum(map(len, outer.values()))
    assert calls > 0 and sum(map(len, record.values())) == calls, "and the record of the weights goes on"
    layers = attention_layers(transformer.model).values()
    assert all(layer.vectors is None and layer.record is None for layer in layers)
    with record_vectors(transformer.model) as record:
        pass
    assert set(record) == set(attention_layers(transformer.model)) and not any(record.values())


@pytest.mark.parametrize(
    ("kinds", "made_by", "sentence"),
    [
        (KINDS, "another", "this translator gives other encoder attention: these maps are not of its model"),
        (("causal",), "itself", "the source of the sentence is not shown by causal attention alone: add a map"),
        (("cross",), "bahdanau", "the model has no MultiHeadAttention of the kind 'cross': there are no q"),
    ],
)  # fmt: skip
def test_vectors_that_there_are_not(as_a_user, transformer, maps, kinds, made_by, sentence):
    others = {"itself": transformer, "another": rotary(transformer)}
    translator = others.get(made_by) or Translator.pretrained(made_by, "cpu")
    shown = [maps[kind] for kind in kinds]
    with pytest.raises(ValueError, match=sentence):
        AttentionView(*shown, translator=translator)
    with pytest.raises(TypeError, match="translator is a Translator, whose model made the maps, not a str"):
        AttentionView(*shown, translator="transformer")


def weights_of_steps(view):
    return unpack(view.steps["matrices"]["weights"]["numbers"])


def test_the_zoom_asks_for_the_arithmetic(transformer, maps):
    view = AttentionView(*maps.values(), layer=1, head=3, translator=transformer)
    assert view.data["asks"] and view.steps == {} and view.zoom == "heads"
    view.zoom = "cell"
    assert view.steps["asked"] == {"kind": "encoder", "layer": 1, "head": 3} and view.steps["problem"] == ""
    torch.testing.assert_close(weights_of_steps(view), maps["encoder"].weights[1, 3], atol=1e-5, rtol=0)
    assert view.steps["axes"]["query"] == list(maps["encoder"].query_tokens)
    with view.hold_trait_notifications():
        view.kind, view.head = "causal", 1
    assert view.steps["asked"] == {"kind": "causal", "layer": 1, "head": 1}
    torch.testing.assert_close(weights_of_steps(view), maps["causal"].weights[1, 1], atol=1e-5, rtol=0)
    assert AttentionView(maps["encoder"], zoom="cell", translator=transformer).steps["asked"]["kind"] == "encoder"
    plain = AttentionView(maps["encoder"], zoom="cell")
    assert plain.steps == {} and not plain.data["asks"]


def test_a_page_stores_the_shown_head(transformer, maps):
    view = AttentionView(*maps.values(), kind="cross", layer=1, head=2, translator=transformer)
    state = view.page_state()
    assert list(state["steps"]["asked"].values()) == ["cross", 1, 2] and not state["data"]["asks"] and view.data["asks"]
    view.show = "all"
    assert view.page_state()["steps"] == {}, "a mean of heads has no vectors"
    assert AttentionView(*maps.values()).page_state()["steps"] == {}


def test_roles_stand_at_their_heads():
    roles = {("encoder", 1, 2): "noun of it: 92 %", ("causal", 7, 7): "of a map that is not shown"}
    view = AttentionView(cross(), encoder(), roles=roles)
    assert [sent["roles"] for sent in view.data["maps"]] == [None, [["", "", ""], ["", "", "noun of it: 92 %"]]]
    view = AttentionView(encoder(layers=3), roles={("encoder", 1, 2): "noun of it: 92 %"})
    assert view.data["maps"][0]["roles"][1:] == [["", "", "noun of it: 92 %"], ["", "", ""]]


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        ({("cross", 2, 0): "x"}, "roles: there is no layer 2, head 0: cross attention has 2 x 3, counted from 0"),
        ({"cross 0.1": "x"}, r"roles has texts by \(kind, layer, head\), .* not by 'cross 0.1'"),
    ],
)
def test_roles_of_heads_that_there_are_not(as_a_user, roles, sentence):
    with pytest.raises(ValueError, match=sentence):
        AttentionView(cross(), roles=roles)


@pytest.mark.slow
def test_a_view_of_a_translator_reads_again():
    translator = Translator.pretrained("transformer", "cpu")
    sentence = "The girl washes the red apple and eats it."
    view = AttentionView.of(translator, sentence, kind="encoder", layer=1)
    assert (view.kind, view.layer, view.result["text"]) == ("encoder", 1, translator.translate(sentence))
    assert set(view.maps) == {"cross", "encoder", "causal"} and view.data["layers"]["cross"][0][1] == 4
    before = view.data["maps"]
    edits = [["ablate", "cross", 0, None], ["weight", "encoder", 0, 0, 8, 5, 1.0]]
    view.set_state({"edits": edits})
    changed = what_if(translator, edits=map(change_of, edits))
    text = changed.translate(sentence)
    assert (
        view.result["text"] == text
        and view.result["asked"] == {"sentence": sentence, "edits": edits}
        and view.sentence == sentence
    )
    for kind, attention in view.maps.items():
        torch.testing.assert_close(attention.weights, changed.attend(sentence, text, kind).weights)
    assert (view.maps["cross"].weights[0] == 0).all() and float(view.maps["encoder"].weights[0, 0, 8, 5]) == 1
    view.zoom = "cell"
    assert list(view.steps["asked"].values()) == ["encoder", 1, 0]
    assert view.page_state(live=True)["data"]["layers"]
    view.kind, view.show = "cross", "layer"
    assert view.shown.weights.shape[:2] == (1, 1)
    with pytest.raises(ValueError, match="an edit is"):
        view.edits = [["mute"]]
    view.edits = []
    assert [bytes(one["weights"]["data"]) for one in view.data["maps"]] == [
        bytes(one["weights"]["data"]) for one in before
    ]
    view = AttentionView(translator.attend(sentence, "la fille"))
    with pytest.raises(traitlets.TraitError, match=r"make the view with AttentionView\.of"):
        view.edits = edits


@pytest.mark.slow
def test_the_translator_reads_another_sentence():
    translator = Translator.pretrained("transformer", "cpu")
    view = AttentionView.of(translator, SENTENCE, zoom="cell")
    assert "boy" in view.data["vocab"] and view.result["source"][1] == "girl" and not any(view.result["unknown"])
    other, edits = SENTENCE.replace("girl", "blorp boy"), [["ablate", "cross", 0, 1]]
    view.set_state({"sentence": other, "edits": edits})
    changed = what_if(translator, edits=map(change_of, edits))
    for kind, attention in view.maps.items():
        torch.testing.assert_close(attention.weights, changed.attend(other, view.result["text"], kind).weights)
    assert view.result["unknown"][:4] == [False, True, False, False]
    assert "blorp" in view.steps["axes"]["key"], "the arithmetic is that of the new sentence"
    shown = view.maps
    view.sentence = "  "
    assert view.result["problem"].startswith("There is nothing to translate") and view.maps is shown
    state = view.page_state(live=True)
    assert (state["sentence"], state["edits"], list(state["result"]["asked"].values())) == (
        other,
        edits,
        [other, edits],
    )
    assert state["result"]["problem"] == "" and view.page_state()["data"]["vocab"] == []


@pytest.mark.slow
def test_another_reading_stands_beside():
    translator, other = Translator.pretrained("transformer", "cpu"), SENTENCE.replace("girl", "boy")
    view = AttentionView.of(translator, SENTENCE, against=other, layer=1)
    assert view.against == list(view.other["asked"].values()) == [other, []] and view.other["problem"] == ""
    for sent, kind in zip(view.other["maps"], view.maps, strict=True):
        expected = translator.attend(other, translator.translate(other), kind).weights
        torch.testing.assert_close(unpack(sent["weights"]), expected)
    edits = [["ablate", "cross", 1, 0]]
    view.set_state({"against": [SENTENCE, edits]})
    assert (unpack(view.other["maps"][0]["weights"])[1, 0] == 0).all()
    view.against = []
    assert view.page_state(live=True)["other"]["edits"] == edits
    view.against = ["", []]
    assert view.other == {
        "asked": {"sentence": "", "edits": []},
        "problem": "There is nothing to translate: type a sentence.",
    }
    with pytest.raises(traitlets.TraitError, match="against is \\[sentence, edits\\], or empty, not \\['a'\\]"):
        view.against = ["a"]
    with pytest.raises(ValueError, match="There is nothing to translate"):
        AttentionView.of(translator, SENTENCE, against=" ")


def test_a_view_of_maps_alone_cannot_be_edited():
    view = AttentionView(AttentionMap(torch.eye(2), ["a", "b"], ["a", "b"], "encoder"))
    assert view.data["layers"] == {} and view.page_model() is None
    with pytest.raises(traitlets.TraitError, match=r"make the view with AttentionView\.of"):
        view.edits = [["ablate", "encoder", 0, 0]]
    with pytest.raises(traitlets.TraitError, match="another sentence needs a model that reads again"):
        view.sentence = "The cat sleeps."
    with pytest.raises(traitlets.TraitError, match="another reading needs a model that reads again"):
        view.against = ["The cat sleeps.", []]
    with pytest.raises(ValueError, match="no attention to look at"):
        AttentionView.of(Translator.new("seq2seq", *languages(), embed_size=8, num_hiddens=8), "the cat sleeps.")


def languages():
    return [Language.learn(language, ["the cat sleeps.", "le chat dort."]) for language in ("en", "fr")]
