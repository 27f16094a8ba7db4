"""What each head does to a translation: beside a slow loop of whole translations, one with each head ablated."""

import math

import pytest
import torch
from views.samples import untrained

from seqlearn.search.forced_decoding import forced_decoding
from seqlearn.translator.translator import Translator
from seqlearn.translator.whatif import Ablate, SetWeight, what_if
from seqlearn.views import TranslatorView
from seqlearn.views.answers.ablations import ablation_map

pytestmark = pytest.mark.slow

SENTENCE = "The old bird ate the orange because it was sweet."
PLAIN = ["the", "black", "cat", "sleeps", "."]


def slowly(translator, sentence, prefix, edits, head=None):
    """The whole translation; a full search, whether a head matters or not."""
    edits = [*edits, Ablate(*head)] if head else edits
    text = what_if(translator, prefix, edits).translate(sentence)
    return what_if(translator, (), edits), text


def probability(changed, sentence, tokens):
    """Of these target tokens, one row of logits at a time."""
    vocab = changed.target.vocab
    ids, source = vocab.encode(tokens), torch.tensor([changed.source.encode(sentence)])
    logits = forced_decoding(changed.model, source, torch.tensor([source.shape[1]]), torch.tensor([[1, *ids[:-1]]]))
    rows = logits.logits[0].double()
    return math.exp(sum((row[token] - row.exp().sum().log()).item() for row, token in zip(rows, ids, strict=True)))


@pytest.mark.parametrize(
    ("sentence", "prefix", "edits"),
    [
        (SENTENCE, [], []),
        (SENTENCE, ["la"], []),
        (SENTENCE, [], [Ablate("encoder", 1, 3)]),
        ("The girl washes the red apple and eats it.", [], [SetWeight("cross", 1, 0, 3, 2, 0.9)]),
        ("Zork.", [], []),
    ],
)
def test_each_head_is_ablated_alone(transformer, sentence, prefix, edits):
    found = ablation_map(transformer, sentence, prefix, edits)
    base = found["base"]["tokens"]
    assert len(found["heads"]) == 24
    for head, one in [(None, found["base"]), *((tuple(place), one) for *place, one in found["heads"])]:
        changed, text = slowly(transformer, sentence, prefix, edits, head)
        assert one["text"] == text
        assert one["probability"] == pytest.approx(probability(changed, sentence, base), rel=1e-3, abs=1e-9)
        assert "".join(one["pieces"]) == text and len(one["tokens"]) - len(one["pieces"]) in (0, 1)


def test_one_head_of_24_decides_what_was_sweet(transformer):
    found = ablation_map(transformer, SENTENCE)
    others = [place for *place, one in found["heads"] if one["text"] != found["base"]["text"]]
    assert others == [["encoder", 1, 3]]


def test_a_model_with_other_heads():
    """Two layers of attention of two heads each, and a recurrent model with one head."""
    assert len(ablation_map(untrained(PLAIN), "the black cat")["heads"]) == 6
    bahdanau = Translator.pretrained("bahdanau", "cpu")
    ((kind, layer, head, one),) = ablation_map(bahdanau, SENTENCE)["heads"]
    assert (kind, layer, head) == ("cross", 0, 0)
    assert one["text"] == what_if(bahdanau, edits=[Ablate("cross", 0, 0)]).translate(SENTENCE)


def test_a_token_that_the_model_never_writes(transformer):
    with pytest.raises(ValueError, match="a translation cannot contain the token 'zork'"):
        ablation_map(transformer, SENTENCE, ["zork"])


def test_the_view_answers_when_a_browser_asks(transformer):
    view = TranslatorView(transformer, SENTENCE)
    assert view.ablations == {} and view.mapped == []
    view.mapped = [SENTENCE, [], []]
    asked = {"sentence": SENTENCE, "prefix": [], "edits": []}
    assert view.ablations == ablation_map(transformer, SENTENCE) | {"asked": asked, "problem": ""}
    answer = view.ablations
    view.mapped = ["", [], []]  # a question that has no answer changes nothing
    assert view.ablations == answer
