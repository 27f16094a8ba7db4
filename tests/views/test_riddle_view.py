"""RiddleView in Python: its riddles have an answer, and only one; what fits no riddle is refused."""

from pathlib import Path

import pytest
import traitlets

from seqlearn.translator.whatif import Ablate, what_if
from seqlearn.views import RiddleView
from seqlearn.views.riddle.riddle_data import RIDDLES, Riddle, riddle_data

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def first(transformer):
    return RiddleView(transformer)


@pytest.fixture
def view(first, monkeypatch, transformer):
    """A view as after its start; what it computes of the riddles is computed once."""

    def computed(model, riddles):
        return first.data if riddles is RIDDLES else riddle_data(model, riddles)

    monkeypatch.setattr("seqlearn.views.riddle.riddle_view.riddle_data", computed)
    return RiddleView(transformer)


@pytest.mark.parametrize("number", range(len(RIDDLES)))
def test_one_head_alone_solves_each_riddle(view, transformer, number):
    riddle, data = RIDDLES[number], view.data["riddles"][number]
    ((kind, layer, head),) = data["solutions"]
    assert riddle.before in transformer.translate(riddle.sentence)
    words = what_if(transformer, edits=[Ablate(kind, layer, head)]).translate(riddle.sentence).replace("'", " ").split()
    assert riddle.after in words and riddle.before not in words
    assert data["map"]["base"]["tokens"][data["at"]] == riddle.before


@pytest.mark.parametrize("number", range(len(RIDDLES)))
def test_why_a_head_decides_is_measured(view, transformer, number):
    """The largest weights in the row of "it" of the head that the loss of the found head changes most."""
    data, sentence = view.data["riddles"][number], RIDDLES[number].sentence
    ((kind, layer, head),), (why,) = data["solutions"], data["why"]
    maps = [
        each.attend(sentence, kind=kind)
        for each in (transformer, what_if(transformer, edits=[Ablate(kind, layer, head)]))
    ]
    row = maps[0].query_tokens.index("it")

    def largest(one, *place):
        weight, column = one.weights[*place, row].max(-1)
        return [one.key_tokens[column], pytest.approx(float(weight), rel=1e-4)]

    right = ["encoder 1.3", *(largest(one, 1, 3) for one in maps)]
    assert why == (right if number == 0 else None)


def test_the_lesson_that_explains_is_there(view):
    assert (Path(__file__).parents[2] / "notebooks" / f"{view.data['lesson']}.ipynb").is_file()


def test_no_reason_is_given_where_none_is_measured(transformer):
    """The head is none of the encoder, or the word is none of the sentence."""
    (one,) = RiddleView(transformer, [Riddle(RIDDLES[0].sentence, "il", "elle", "?", "!", word="dog")]).data["riddles"]
    assert one["why"] == [None]


def test_another_riddle_wants_another_head(view):
    (first,), (second,) = (riddle["solutions"] for riddle in view.data["riddles"])
    assert first != second


def test_traits_that_do_not_fit(view):
    with pytest.raises(traitlets.TraitError, match="riddle is 0 to 1, not 2"):
        view.riddle = 2
    with pytest.raises(traitlets.TraitError, match="there is no head 'encoder 9 9'"):
        view.tried = ["encoder 9 9"]


def test_riddles_without_an_answer(transformer, as_a_user):
    given = {"asks": "?", "solved": "!"}
    with pytest.raises(ValueError, match=r"the translation of 'The girl sleeps\.' has no token 'il': la fille dort"):
        RiddleView(transformer, [Riddle("The girl sleeps.", "il", "elle", **given)])
    with pytest.raises(ValueError, match=r"no head brings 'pomme' into the translation of 'The girl sleeps\.'"):
        RiddleView(transformer, [Riddle("The girl sleeps.", "fille", "pomme", **given)])
    with pytest.raises(ValueError, match="at least one riddle"):
        RiddleView(transformer, [])
    with pytest.raises(TypeError, match="RiddleView asks a Translator, not a str"):
        RiddleView("transformer")
