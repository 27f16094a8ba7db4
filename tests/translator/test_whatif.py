"""A translator whose attention is edited, or whose translations begin with given words, against slow loops."""

import math
from dataclasses import replace
from unittest import mock

import pytest
import torch

from seqlearn.analysis.edits import ablate, in_heads, reweighted
from seqlearn.analysis.measures import mean_of_heads, mean_over_heads
from seqlearn.nn.patching import places
from seqlearn.nn.recording import attention_layers, edit_attention, record_attention
from seqlearn.translator import whatif
from seqlearn.translator.translator import Translator
from seqlearn.translator.whatif import Ablate, Patch, SetWeight, change_of, named_edits, what_if

APPLE = "The girl washes the red apple and eats it."
PAIRS = ["The mouse takes the delicious carrot and eats it.", "The cat sleeps.", "The boy washes a dirty glass."]


@pytest.fixture(scope="module", params=["transformer", "bahdanau"])
def either(request):
    return Translator.pretrained(request.param, "cpu")


@pytest.fixture(scope="module")
def transformer():
    return Translator.pretrained("transformer", "cpu")


def step_by_step(translator, sentence, prefix, rewrite):
    """A greedy search without any cache: the whole model reads the whole beginning for each token."""
    vocab, written = translator.target.vocab, []
    source = torch.tensor([translator.source.encode(sentence)])
    log_prob = 0.0
    while len(written) < 40:
        tokens = torch.tensor([[vocab.bos, *written]])
        with torch.inference_mode(), edit_attention(translator.model.eval(), rewrite()):
            logits = translator.model(source, torch.tensor([source.shape[1]]), tokens)[0, -1]
        probs = logits.double().softmax(-1)
        probs[[vocab.pad, vocab.bos]] = 0
        token = vocab.ids[prefix[len(written)]] if len(written) < len(prefix) else int(probs.argmax())
        log_prob += math.log(probs[token])
        if token == vocab.eos:
            break
        written.append(token)
    return vocab.decode(written), log_prob


def by_hand(row, column, weight):
    """The edit of one row of all heads, with loops. It serves one reading."""
    seen = [0]

    def edit(weights, may):
        weights = weights.clone()
        for query in range(weights.shape[-2]):
            if seen[0] + query == row and column < weights.shape[-1]:
                for numbers in weights[..., query, :].reshape(-1, weights.shape[-1]):
                    rest = sum(float(x) for j, x in enumerate(numbers) if j != column)
                    for j in range(len(numbers)):
                        numbers[j] = weight if j == column else (1 - weight) * numbers[j] / rest
        seen[0] += weights.shape[-2]
        return weights

    return edit


@pytest.mark.slow
def test_without_changes_nothing_changes(either):
    for beam in (1, 4):
        plain = either.search([APPLE, *PAIRS], beam=beam, n_best=beam)
        changed = what_if(either).search([APPLE, *PAIRS], beam=beam, n_best=beam)
        for before, after in zip(plain, changed, strict=True):
            assert [one.tokens for one in before] == [one.tokens for one in after]
            assert [one.score for one in before] == pytest.approx([one.score for one in after], abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prefix", "edits"),
    [
        (["le"], []),
        ("la fille lave la pomme verte".split(), []),
        (["la", "<eos>"], []),
        ([], [Ablate("cross")]),
        ([], [Ablate("cross", 0, 0)]),
        ([], [SetWeight("cross", None, None, 7, 1, 0.9)]),
        (["le"], [SetWeight("cross", None, None, 4, 8, 0.75), Ablate("cross", 0, 3)]),
    ],
)
def test_a_search_with_changes_is_the_slow_search(either, prefix, edits):
    layers = list(attention_layers(either.model, "cross"))
    is_flat = len(layers) == 1  # one attention without heads

    def rewrite():
        rewrites = {}
        for place, name in enumerate(layers):
            steps = []
            for edit in edits:
                what, _, layer, head, *rest = edit.as_list()
                if layer in (None, place) and (not is_flat or head in (None, 0)):
                    one = ablate if what == "ablate" else by_hand(*rest)
                    steps.append(one if head is None or is_flat else in_heads(one, head))

            def in_turn(weights, may, steps=tuple(steps)):
                for one in steps:
                    weights = one(weights, may)
                return weights

            rewrites[name] = in_turn
        return rewrites

    changed = what_if(either, prefix, edits)
    ((found,),) = changed.search([APPLE])
    tokens, log_prob = step_by_step(either, APPLE, prefix, rewrite)
    assert either.target.vocab.decode(found.tokens) == tokens
    assert tokens[: len(prefix)] == [token for token in prefix if token != "<eos>"]
    assert sum(found.log_probs) == pytest.approx(log_prob, abs=1e-3), "a forced token keeps its own probability"
    (best,) = changed.search([APPLE], beam=4, n_best=4)
    assert all(either.target.vocab.decode(one.tokens)[: len(prefix)] == tokens[: len(prefix)] for one in best)
    whole = either.target.vocab.decode(best[0].tokens) + ["<eos>"] * best[0].finished
    if len(whole) <= 40:
        _, log_prob = step_by_step(either, APPLE, whole, rewrite)
        assert not best[0].finished or sum(best[0].log_probs) == pytest.approx(log_prob, abs=1e-3)
    again = changed.translate_all([*PAIRS, APPLE])  # in one batch, of several lengths
    assert again[-1] == changed.translate(APPLE)


def test_the_source_is_encoded_again_only_for_other_rows(transformer):
    changed = what_if(transformer, edits=[Ablate("cross", 0, 0)])
    calls, read = [], type(changed.model.encoder).read
    with mock.patch.object(type(changed.model.encoder), "read", lambda *args: calls.append(args) or read(*args)):
        ((found,),) = changed.search([APPLE], beam=4)
    assert len(found.tokens) > 8 and len(calls) == 2, "once for the sentence, once for its four beams"


def test_encoder_and_causal_attention_are_edited_in_the_encoder_and_the_decoder(transformer):
    plain = {kind: transformer.attend(APPLE, "la fille", kind).weights for kind in ("encoder", "causal", "cross")}
    for kind, edit in [("encoder", SetWeight("encoder", 0, 1, 8, 5, 0.5)), ("causal", Ablate("causal", 1, 3))]:
        changed = what_if(transformer, edits=[edit])
        after = {other: changed.attend(APPLE, "la fille", other).weights for other in plain}
        head = (edit.layer, edit.head)
        if kind == "encoder":
            assert float(after[kind][0, 1, 8, 5]) == pytest.approx(0.5)
            torch.testing.assert_close(after[kind].sum(-1), torch.ones_like(after[kind][..., 0]))
            assert torch.equal(after[kind][0, [0, 2, 3]], plain[kind][0, [0, 2, 3]])
            assert torch.equal(after[kind][0, 1, :8], plain[kind][0, 1, :8])
        else:
            assert (after[kind][head] == 0).all() and torch.equal(after["encoder"], plain["encoder"])
        assert not torch.equal(after["cross"], plain["cross"]), "what comes later sees the change"
    assert torch.equal(transformer.attend(APPLE, "la fille", "encoder").weights, plain["encoder"]), "not for ever"


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 4])
def test_an_edit_of_the_encoder_holds_until_the_end(transformer, beam):
    """Also once beams have changed places, and once a sentence has left the batch: the sources are encoded again."""
    name = list(attention_layers(transformer.model, "encoder"))[1]
    sentences = ["The old bird ate the orange because it was sweet.", *PAIRS]
    changed = what_if(transformer, edits=[Ablate("encoder", 1, 3)])
    for sentence, (found,) in zip(sentences, changed.search(sentences, beam=beam), strict=True):
        tokens = [*transformer.target.vocab.decode(found.tokens), "<eos>"]
        _, log_prob = step_by_step(transformer, sentence, tokens, lambda: {name: in_heads(ablate, 3)})
        assert sum(found.log_probs) == pytest.approx(log_prob, abs=1e-3), sentence
    assert changed.translate(sentences[0], beam=beam).endswith("parce qu'il était sucré.")


@pytest.mark.slow
def test_places_that_do_not_exist_are_left_out(either):
    edits = [Ablate("cross", 9, 0), Ablate("cross", 0, 9), SetWeight("cross", None, None, 99, 0, 1.0)]
    edits += [SetWeight("cross", None, None, 0, 99, 1.0), SetWeight("causal", 0, 0, 0, 3, 0.9)]
    assert what_if(either, edits=edits).translate(APPLE, beam=2) == either.translate(APPLE, beam=2)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"prefix": ["zebra"]}, "a translation cannot contain the token 'zebra': the model never writes it"),
        ({"prefix": ["la", "<pad>"]}, "the token '<pad>'"),
    ],
)
def test_one_sentence_for_what_is_wrong(transformer, given, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        what_if(transformer, **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["mute", "cross", 0, 0], "an edit is .* not .'mute'"),
        ([], "an edit is "),
        ("ablate", "an edit is "),
        (["ablate", "cross", 0], "an edit is "),
        (["ablate", "self", 0, 0], "an edit is of cross, encoder, causal attention"),
        (["ablate", "cross", -1, 0], "counts from 0"),
        (["ablate", "cross", 0, True], "counts from 0"),
        (["weight", "cross", 0, 0, None, 1, 0.5], "counts from 0"),
        (["weight", "cross", 0, 0, 1, 1.0, 0.5], "counts from 0"),
        (["weight", "cross", 0, 0, 1, 1, 1.5], "a weight is from 0 to 1, not 1.5"),
        (["weight", "cross", 0, 0, 1, 1, "much"], "a weight is from 0 to 1, not 'much'"),
    ],
)
def test_a_list_that_says_no_change(given, sentence, as_a_user):
    with pytest.raises(ValueError, match=sentence) as caught:
        change_of(given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "listed", [["ablate", "cross", None, None], ["ablate", "encoder", 1, 0], ["weight", "causal", None, 3, 0, 2, 0.25]]
)
def test_a_change_and_its_list(transformer, listed, as_a_user):
    change = change_of(listed)
    assert change.as_list() == listed and change_of(change) is change and change == change_of(tuple(listed))
    with pytest.raises(TypeError, match=r"an edit is Ablate\(kind, layer, head\), SetWeight"):
        what_if(transformer, edits=[listed])


def test_a_weight_and_the_others_of_its_row():
    weights, may = torch.tensor([[[[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]]]]), torch.ones(1, 1, 2, 3, dtype=torch.bool)
    assert reweighted(0, 0, 0.75)(weights, may)[0, 0, 0].tolist() == pytest.approx([0.75, 0.15, 0.1])
    assert reweighted(1, 0, 0.5)(weights, may)[0, 0, 1].tolist() == pytest.approx([0.5, 0.25, 0.25]), "equal shares"
    may[0, 0, 1, 2] = False
    assert reweighted(1, 0, 0.5)(weights, may)[0, 0, 1].tolist() == pytest.approx([0.5, 0.5, 0.0])
    assert torch.equal(reweighted(1, 2, 0.5)(weights, may), weights), "a masked weight stays 0"
    may[0, 0, 1, 1:] = False
    assert reweighted(1, 0, 0.2)(weights, may)[0, 0, 1].tolist() == [1.0, 0.0, 0.0], "no other key to share with"
    row_by_row = reweighted(1, 1, 1.0)
    assert torch.equal(row_by_row(weights[..., :1, :], may[..., :1, :]), weights[..., :1, :])
    assert row_by_row(weights[..., :1, :], may[..., :1, :])[0, 0, 0].tolist() == [0.0, 1.0, 0.0]


def test_the_mean_leaves_silent_heads_out(transformer):
    silent = what_if(transformer, edits=[Ablate("cross", 0, 1), Ablate("cross", 1)])
    attention = silent.attend(APPLE, "la fille lave")
    expected = attention.weights[0, [0, 2, 3]].mean(0)
    torch.testing.assert_close(mean_over_heads(attention).weights[0, 0], expected)
    assert (mean_of_heads(attention.weights)[1] == 0).all()


def test_two_edits_of_one_layer_come_in_their_order(transformer):
    names = named_edits(transformer.model, [Ablate("cross", 0, 2), SetWeight("cross", None, None, 0, 1, 0.25)])
    weights, may = torch.full((1, 4, 1, 4), 0.25), torch.ones(1, 4, 1, 4, dtype=torch.bool)
    first, second = (make()(weights, may) for make in names.values())
    assert first[0, 2, 0].tolist() == pytest.approx([0.25] * 4), "ablated first, then weighed again"
    assert torch.equal(second, weights)


LEMON = "The girl washes the red lemon and eats it."


def by_hooks(translator, sentence, other, tokens, place, row):
    """The next token after these, with one vector of the other sentence; hooks of torch, one forward pass each."""
    model, vocab = translator.model.eval(), translator.target.vocab
    inputs = torch.tensor([[vocab.bos, *tokens]])
    kind, _, which = place.partition(" ")
    if which:
        layer, head = map(int, which.split("."))
        part = dict(model.named_modules())[f"{list(attention_layers(model, kind))[layer]}.W_o"]
        size = part.in_features // 4
        columns = slice(head * size, (head + 1) * size)
    else:
        part, columns = model.get_submodule(place), slice(None)
    taken = []

    def take(module, inputs, output=None):
        vectors = inputs if output is None else output  # a block of the decoder returns its state, too
        taken.append((vectors if isinstance(vectors, torch.Tensor) else vectors[0])[:, row, columns].clone())

    def give(module, inputs, output=None):
        vectors = inputs if output is None else output
        if isinstance(vectors, torch.Tensor):
            vectors = vectors.clone()
            vectors[:, row, columns] = taken[0]
            return vectors
        changed = vectors[0].clone()
        changed[:, row, columns] = taken[0]
        return (changed, *vectors[1:])

    def run(text, hook):
        ids = torch.tensor([translator.source.encode(text)])
        register = part.register_forward_pre_hook if which else part.register_forward_hook
        handle = register(hook)
        try:
            with torch.inference_mode():
                logits = model(ids, torch.tensor([ids.shape[1]]), inputs)
        finally:
            handle.remove()
        return logits[0, -1].softmax(-1)

    run(other, take)
    return run(sentence, give)


@pytest.mark.slow
@pytest.mark.parametrize(
    "place",
    [
        "encoder.pos_encoding",
        "encoder.blocks.0",
        "encoder.norm",
        "encoder 0.2",
        "encoder 1.3",
        "decoder.blocks.0",
        "decoder.norm",
        "causal 1.0",
        "cross 0.1",
    ],
)
@pytest.mark.parametrize("row", [0, 5, 7])
def test_a_patch_is_a_vector_of_the_other_sentence(transformer, place, row):
    tokens = transformer.target.encode("la fille lave la pomme rouge et")[:-1]
    probs = by_hooks(transformer, APPLE, LEMON, tokens, place, row)
    patched = what_if(transformer, transformer.target.vocab.decode(tokens), [Patch(LEMON, place, row)])
    (found,) = patched.search([APPLE], beam=3)
    next_token = found[0].tokens[len(tokens)]
    assert found[0].log_probs[len(tokens)] == pytest.approx(math.log(probs[next_token]), abs=1e-4)
    greedy = patched.translate(APPLE)
    assert greedy == what_if(
        transformer, transformer.target.vocab.decode(tokens), [Patch(LEMON, place, row)]
    ).translate(APPLE), "a second time, the same"


@pytest.mark.slow
def test_several_patches_from_several_sentences_beside_edits(transformer):
    noun, both = Patch(LEMON, "encoder 1.3", 7), Patch(LEMON, "encoder 1.3", 8)
    assert what_if(transformer, edits=[noun]).translate(APPLE) == "la fille lave la pomme rouge et la mange."
    assert what_if(transformer, edits=[noun, both]).translate(APPLE) == "la fille lave la pomme rouge et le mange."
    everywhere = Patch(LEMON, "encoder.norm")
    assert what_if(transformer, edits=[everywhere]).translate(APPLE) == transformer.translate(LEMON)
    cake = Patch("The girl washes the red cake and eats it.", "encoder.blocks.1", 5)
    french = what_if(transformer, edits=[noun, cake, both, Ablate("causal", 1, 0)]).translate(APPLE)
    assert french == "la fille lave le gâteau rouge et le mange."


def test_a_patch_leaves_nothing_behind_and_no_trace_in_a_record(transformer):
    before = transformer.translate(APPLE)
    patched = what_if(transformer, edits=[Patch(LEMON, "encoder 1.3", 8), Patch(LEMON, "causal 1.0")])
    source = torch.tensor([transformer.source.encode(APPLE)])
    with record_attention(patched.model) as record, torch.inference_mode():
        patched.model(source, torch.tensor([source.shape[1]]), torch.tensor([[2, 5, 6]]))
    assert {len(calls) for calls in record.values()} == {1}
    hooks = [part for part in transformer.model.modules() if part._forward_hooks or part._forward_pre_hooks]
    assert not hooks and transformer.translate(APPLE) == before


def test_a_patch_that_cannot_be(transformer, as_a_user):
    with pytest.raises(
        ValueError, match=r"there is no place 'encoder 9.9' in the model; it has encoder.pos_encoding, "
    ):
        what_if(transformer, edits=[Patch(LEMON, "encoder 9.9")])
    patched = what_if(transformer, edits=[Patch("The cat sleeps.", "encoder 1.3", 8)])
    with pytest.raises(ValueError, match=r"encoder 1.3 is patched in a row beyond the 5 of its vectors"):
        patched.translate(APPLE)
    assert places(transformer.model)[0] == "encoder.pos_encoding"


def test_sources_are_read_again_where_rows_have_other_ones():
    source, lens = torch.tensor([[5, 6], [7, 8]]), torch.tensor([2, 2])
    first = whatif._Written(source, lens, "as before", lambda *_: "read again")
    same, swapped, fewer = (first.select(torch.tensor(rows)) for rows in ([0, 1], [1, 0], [1]))
    assert [each.memory for each in (same, swapped, fewer)] == ["as before", "read again", "read again"]
    assert swapped.source.tolist() == [[7, 8], [5, 6]] and same.tokens is None
    after = replace(first, tokens=torch.tensor([[1], [2]])).select(torch.tensor([1, 0]))
    assert after.tokens.tolist() == [[2], [1]]
