"""PatchView: two sentences, and what vectors of one change in the other; against slow loops with hooks."""

import pytest
import torch
import traitlets

from seqlearn.nn.patching import patch, places, record_stream
from seqlearn.translator.translator import Translator
from seqlearn.views import PatchView
from seqlearn.views.answers.patches import name_of, patched, side_places

pytestmark = pytest.mark.slow

APPLE, LEMON = "The girl washes the apple and eats it.", "The girl washes the lemon and eats it."
FRENCH = ["la", "fille", "lave", "la", "pomme", "et"]


@pytest.fixture
def view(transformer):
    return PatchView(transformer, APPLE, LEMON)


def logits_after(transformer, sentence, words):
    """The logits of the next token, in one forward pass."""
    source = torch.tensor([transformer.source.encode(sentence)])
    target = torch.tensor([[transformer.target.vocab.bos, *transformer.target.vocab.encode(words)]])
    with torch.inference_mode():
        return transformer.model.eval()(source, torch.tensor([source.shape[1]]), target)[0, -1]


def test_what_the_sentences_decide(transformer, view):
    result = view.result
    texts = ["".join(pieces) for pieces in result["pieces"]]
    assert texts == [transformer.translate(APPLE), transformer.translate(LEMON), transformer.translate(APPLE)]
    assert (result["decisions"], result["decision"], result["words"]) == ([3, 4, 6], 6, ["la", "le"])
    assert result["source"] == APPLE.lower().replace(".", " .").split() and result["twin"][4] == "lemon"
    ids = transformer.target.vocab.encode(["la", "le"])
    for sentence, probs in ((APPLE, result["probs"][0]), (LEMON, result["probs"][1]), (APPLE, result["probs"][2])):
        right = logits_after(transformer, sentence, FRENCH).softmax(-1)[ids]
        assert probs == pytest.approx(right.tolist(), rel=1e-3, abs=1e-7)
    assert repr(view) == f"PatchView({APPLE!r} -> 'la fille lave la pomme et la mange.', 0 patches)"


@pytest.mark.parametrize("step", [3, 6])
def test_every_number_of_the_maps(transformer, step):
    """One patch, one forward pass, for a third of the places."""
    result = PatchView(transformer, APPLE, LEMON, decision=step).result
    words = FRENCH[:step]
    la, le = transformer.target.vocab.encode(["la", "le"])

    def lean(sentence):
        logits = logits_after(transformer, sentence, words)
        return float(logits[le] - logits[la])

    own, theirs = lean(APPLE), lean(LEMON)
    with record_stream(transformer.model) as vectors:
        lean(LEMON)
    sides = side_places(transformer.model)
    assert [name for side in sides.values() for name, _ in side] == sorted(
        places(transformer.model), key=lambda name: not name.startswith("encoder")
    )
    for side, named in sides.items():
        moved = result["maps"][side]["moved"]
        assert len(moved) == len(named) and {len(row) for row in moved} == {len(result["maps"][side]["tokens"])}
        for (name, _), row in list(zip(named, moved, strict=True))[::3]:
            for column, share in enumerate(row):
                with patch(transformer.model, {name: vectors[name]}, [column]):
                    right = (lean(APPLE) - own) / (theirs - own)
                assert share == pytest.approx(right, rel=1e-3, abs=1e-4), (name, column)
    embedding = result["maps"]["encoder"]["moved"][0]
    assert embedding[4] == pytest.approx(1, abs=0.05) and embedding[:4] == pytest.approx([0] * 4, abs=1e-5)
    assert result["maps"]["encoder"]["tokens"][-1] == "<eos>" and result["maps"]["decoder"]["tokens"][0] == "<bos>"


def test_patches_are_made_and_taken_back(view, transformer):
    before = view.result["maps"]
    view.patches = [["encoder 1.3", 7], ["encoder 1.3", 6]]
    assert view.translation == "la fille lave la pomme et le mange." and view.result["maps"] is before
    assert view.result["probs"][2][1] > 0.9 > 0.01 > view.result["probs"][0][1] and "2 patches" in repr(view)
    view.patches = [["encoder 1.3", 7]]
    assert "1 patch)" in repr(view)
    view.patches = []
    assert view.translation == transformer.translate(APPLE) and view.result["probs"][2] == view.result["probs"][0]
    view.decision = 3
    assert view.result["decision"] == 3 and view.result["maps"] is not before


def test_a_question_that_cannot_be_answered_leaves_the_former_answer(view, as_a_user):
    text, shown = view.translation, repr(view)
    for change, said in [
        ({"other": "The girl sleeps."}, "Both sentences need the same number of tokens: A has 9, and B has 4."),
        ({"other": ""}, "A sentence is missing: type two, which differ in a word."),
        ({"other": APPLE}, "The model would write the same for both sentences: there is nothing to move."),
        ({"other": LEMON, "decision": 2}, "Both sentences have the same token at step 2; they differ at 3, 4, 6."),
    ]:
        with view.hold_trait_notifications():
            for name, value in change.items():
                setattr(view, name, value)
        assert view.result["problem"] == said and view.translation == text
        assert repr(view) == shown, "the answer never stands beside another question"
    view.decision = None
    assert view.result["problem"] == ""
    view.patches = [["encoder 7.7", 1]]
    assert view.result["problem"].startswith("there is no place 'encoder 7.7' in the model; it has encoder.pos_")
    with pytest.raises(traitlets.TraitError, match=r"a patch is a place and a row, such as \['encoder 1.3', 8\], not"):
        view.patches = [["encoder 1.3", -1]]
    view.patches = [["encoder 1.3", 7], ["encoder 1.3", 7]]
    assert view.patches == [["encoder 1.3", 7]], "once is enough"
    assert "former" not in str(view.page_state()["result"]) and view.page_state()["other"] == LEMON


def test_maps_are_those_of_the_sentences_after_a_wrong_question_too(view, transformer):
    """Decision 6 was answered for the lemon, then refused at step 2 for the cake, and is asked for the cake."""
    cake = "The girl washes the cake and eats it."
    view.decision = 6
    with view.hold_trait_notifications():
        view.other, view.decision = cake, 2
    assert view.result["problem"]
    view.decision = 6
    assert view.result["problem"] == "" and view.result["maps"] == PatchView(transformer, APPLE, cake).result["maps"]
    assert view.result["maps"] != PatchView(transformer, APPLE, LEMON).result["maps"]


def test_what_no_view_shows(transformer, as_a_user):
    for sentence, other in (("", LEMON), (APPLE, "The girl sleeps."), (APPLE, APPLE), ("the " * 101, "a " * 101)):
        with pytest.raises(ValueError, match="\\."):
            PatchView(transformer, sentence, other)
    with pytest.raises(TypeError, match="PatchView shows a Translator, not a str"):
        patched("model", APPLE, LEMON)
    with pytest.raises(ValueError, match="A patch needs a Transformer with an encoder and a decoder"):
        PatchView(Translator.pretrained("bahdanau", "cpu"), APPLE, LEMON)


def test_only_a_small_model_is_in_a_page(view, monkeypatch):
    assert view.page_model() is not None and view.page_state(live=True)["data"]["live"]
    monkeypatch.setattr("seqlearn.views.patch.patch_view.MOST_WEIGHTS_IN_A_PAGE", 1000)
    assert view.page_model() is None and not view.page_state()["data"]["live"]


def test_the_model_itself_is_not_touched(transformer):
    model = transformer.model.train()
    view = PatchView(transformer, APPLE, LEMON)
    view.patches = [["cross 0.2", 6]]
    assert model.training and not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())
    model.eval()


def test_places_in_words():
    names = ["encoder.pos_encoding", "decoder.blocks.1", "encoder.norm", "encoder 1.3", "causal 0.1", "cross 1.0"]
    words = ["embedding", "after block 1", "after the norm", "head 1.3", "causal 0.1", "cross 1.0"]
    assert list(map(name_of, names)) == words
