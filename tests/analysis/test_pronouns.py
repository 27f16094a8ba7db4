"""The guessers and the batches of lesson 11, on sentences that one can count by hand."""

import pytest
import torch

from seqlearn.analysis.pronouns import (
    Guessers,
    gender_batch,
    gendered_articles,
    gendered_pronouns,
    has_choice,
    with_pronoun,
)
from seqlearn.data.pairs import Antecedent, Pair
from seqlearn.translator.translator import Translator


def because(english, french, noun, construction="because"):
    """ "the NOUN took the NOUN because it ...": the antecedent is the noun at this position."""
    fact = Antecedent(source=6, source_noun=noun, target=7, target_noun=noun)
    links = tuple((place, place) for place in range(5))
    return Pair(english, french, alignment=links, antecedents=(fact,), construction=construction)


CAT = because("The cat took the pear because it was hungry.", "Le chat prend la poire parce qu'il a faim.", 1)
PEAR = because("The cat took the pear because it was ripe.", "Le chat prend la poire parce qu'elle est mûre.", 4)
GIRL = because("The girl took the pear because it was ripe.", "La fille prend la poire parce qu'elle est mûre.", 4)
SHE = because("The girl took the pear because she was hungry.", "La fille prend la poire parce qu'elle a faim.", 1)


def test_pronouns_and_choices():
    assert with_pronoun([CAT, SHE, PEAR], "because") == [CAT, PEAR] and with_pronoun([CAT], "object-pronoun") == []
    assert has_choice([CAT, PEAR, GIRL]).tolist() == [True, True, False], "a girl is never 'it'"


def test_pronouns_that_show_their_gender():
    facts = (Antecedent(source=8, source_noun=5, target=7, target_noun=4),)
    one = Pair("The girl washes the red apple and eats it.", "La fille lave la pomme rouge et la mange.", (), facts)
    two = Pair(
        "The girl washes the red apples and eats them.", "La fille lave les pommes rouges et les mange.", (), facts
    )
    assert gendered_pronouns([one, two]) == [(one, 7)], "les has no gender to see"


def test_the_guessers():
    marks = Guessers([CAT, CAT, PEAR, GIRL])([CAT, PEAR, GIRL])
    assert marks["nearest noun"].tolist() == marks["nearest noun that fits"].tolist() == [False, True, True]
    assert marks["usual antecedent"].tolist() == [True, False, True], "cat: 2 of 3, pear: 2 of 4"


def test_articles_with_two_genders():
    assert gendered_articles(CAT) == [(0, 0, 1), (3, 3, 4)]


def test_a_batch_of_genders():
    translator = Translator.pretrained("transformer", "cpu")
    languages = translator.source, translator.target
    batch = gender_batch(*languages, [(CAT, 3), (GIRL, 0)])
    decode = translator.target.vocab.decode
    assert decode(batch.right[2]) == ["la", "la"] and decode(batch.wrong[2]) == ["le", "le"]
    assert batch.right[:2] == ([0, 1], [3, 0]) and torch.equal(batch.target[:, 1:], batch.labels[:, :-1])
    left_out = (batch.labels != translator.target.vocab.pad) & ~batch.others
    assert left_out.nonzero().tolist() == [[0, 3], [1, 0]]
    with pytest.raises(KeyError, match="chat"):
        gender_batch(*languages, [(CAT, 1)])
