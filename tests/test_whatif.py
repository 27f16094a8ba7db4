"""A translator whose attention is edited, or whose translations begin with given words, against slow loops."""

import math

import pytest
import torch

from seqlearn.nn.recording import attention_layers, edit_attention
from seqlearn.reading import ablate, average, in_heads, mean_of_heads, reweighted
from seqlearn.translator import Translator
from seqlearn.whatif import named_edits, what_if

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


def test_without_changes_nothing_changes(either):
    for beam in (1, 4):
        plain = either.search([APPLE, *PAIRS], beam=beam, n_best=beam)
        changed = what_if(either).search([APPLE, *PAIRS], beam=beam, n_best=beam)
        for before, after in zip(plain, changed, strict=True):
            assert [one.tokens for one in before] == [one.tokens for one in after]
            assert [one.score for one in before] == pytest.approx([one.score for one in after], abs=1e-4)


@pytest.mark.parametrize(
    ("prefix", "edits"),
    [
        (["le"], []),
        ("la fille lave la pomme verte".split(), []),
        (["la", "<eos>"], []),
        ([], [("silence", "cross", None, None)]),
        ([], [("silence", "cross", 0, 0)]),
        ([], [("weight", "cross", None, None, 7, 1, 0.9)]),
        (["le"], [("weight", "cross", None, None, 4, 8, 0.75), ("silence", "cross", 0, 3)]),
    ],
)
def test_a_search_with_changes_is_the_slow_search(either, prefix, edits):
    layers = list(attention_layers(either.model, "cross"))
    is_flat = len(layers) == 1  # one attention without heads

    def rewrite():
        rewrites = {}
        for place, name in enumerate(layers):
            steps = []
            for what, _, layer, head, *rest in edits:
                if layer in (None, place) and (not is_flat or head in (None, 0)):
                    one = ablate if what == "silence" else by_hand(*rest)
                    steps.append(one if head is None or is_flat else in_heads(one, head))

            def in_turn(weights, may, steps=tuple(steps)):
                for one in steps:
                    weights = one(weights, may)
                return weights

            rewrites[name] = in_turn
        return rewrites

    changed = what_if(either, prefix, edits)
    (found,) = changed.search([APPLE])
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
    again = changed.translate([*PAIRS, APPLE])  # in one batch, of several lengths
    assert again[-1] == changed.translate(APPLE)


def test_encoder_and_causal_attention_are_edited_in_the_encoder_and_the_decoder(transformer):
    plain = {kind: transformer.attend(APPLE, "la fille", kind).weights for kind in ("encoder", "causal", "cross")}
    for kind, edit in [("encoder", ("weight", "encoder", 0, 1, 8, 5, 0.5)), ("causal", ("silence", "causal", 1, 3))]:
        changed = what_if(transformer, edits=[edit])
        after = {other: changed.attend(APPLE, "la fille", other).weights for other in plain}
        head = (edit[2], edit[3])
        if kind == "encoder":
            assert float(after[kind][0, 1, 8, 5]) == pytest.approx(0.5)
            torch.testing.assert_close(after[kind].sum(-1), torch.ones_like(after[kind][..., 0]))
            assert torch.equal(after[kind][0, [0, 2, 3]], plain[kind][0, [0, 2, 3]])
            assert torch.equal(after[kind][0, 1, :8], plain[kind][0, 1, :8])
        else:
            assert (after[kind][head] == 0).all() and torch.equal(after["encoder"], plain["encoder"])
        assert not torch.equal(after["cross"], plain["cross"]), "what comes later sees the change"
    assert torch.equal(transformer.attend(APPLE, "la fille", "encoder").weights, plain["encoder"]), "not for ever"


def test_places_that_do_not_exist_are_left_out(either):
    edits = [("silence", "cross", 9, 0), ("silence", "cross", 0, 9), ("weight", "cross", None, None, 99, 0, 1.0)]
    edits += [("weight", "cross", None, None, 0, 99, 1.0), ("weight", "causal", 0, 0, 0, 3, 0.9)]
    assert what_if(either, edits=edits).translate(APPLE, beam=2) == either.translate(APPLE, beam=2)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"prefix": ["zebra"]}, "a translation cannot contain the token 'zebra': the model never writes it"),
        ({"prefix": ["la", "<pad>"]}, "the token '<pad>'"),
        ({"edits": [("mute", "cross", 0, 0)]}, "an edit is .* not .'mute'"),
        ({"edits": [()]}, "an edit is "),
        ({"edits": [("silence", "cross", 0)]}, "an edit is "),
        ({"edits": [("silence", "self", 0, 0)]}, "an edit is "),
        ({"edits": [("silence", "cross", -1, 0)]}, "an edit is "),
        ({"edits": [("weight", "cross", 0, 0, None, 1, 0.5)]}, "an edit is "),
        ({"edits": [("weight", "cross", 0, 0, 1, 1, 1.5)]}, "a weight is from 0 to 1, not 1.5"),
        ({"edits": [("weight", "cross", 0, 0, 1, 1, "much")]}, "a weight is from 0 to 1, not 'much'"),
    ],
)
def test_one_sentence_for_what_is_wrong(transformer, given, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        what_if(transformer, **given)
    assert "\n" not in str(caught.value)


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
    silent = what_if(transformer, edits=[("silence", "cross", 0, 1), ("silence", "cross", 1, None)])
    attention = silent.attend(APPLE, "la fille lave")
    expected = attention.weights[0, [0, 2, 3]].mean(0)
    torch.testing.assert_close(average(attention).weights[0, 0], expected)
    assert (mean_of_heads(attention.weights)[1] == 0).all()


def test_two_edits_of_one_layer_come_in_their_order(transformer):
    names = named_edits(transformer.model, [("silence", "cross", 0, 2), ("weight", "cross", None, None, 0, 1, 0.25)])
    weights, may = torch.full((1, 4, 1, 4), 0.25), torch.ones(1, 4, 1, 4, dtype=torch.bool)
    first, second = (make()(weights, may) for make in names.values())
    assert first[0, 2, 0].tolist() == pytest.approx([0.25] * 4), "silenced first, then weighed again"
    assert torch.equal(second, weights)
