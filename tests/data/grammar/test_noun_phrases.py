"""Noun phrases found by the words of the lexicon."""

import pytest

from seqlearn.data.grammar import noun_phrases
from seqlearn.data.text import WordTokenizer

WORDS = {"en": WordTokenizer("en"), "fr": WordTokenizer("fr")}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "The girl washes the red apple and eats it.", [(1, 0, ()), (5, 3, (4,))]),
        ("en", "Marie's old grey cat is happy.", [(0, None, ()), (4, 1, (2, 3))]),
        ("en", "They are happy.", []),
        ("fr", "La vieille chèvre blanche boit de l'eau.", [(2, 0, (1,)), (7, 6, ())]),
    ],
)
def test_noun_phrases_by_hand(language, text, expected):
    assert [tuple(phrase) for phrase in noun_phrases(WORDS[language].tokenize(text), language)] == expected


def test_only_languages_of_the_corpus_have_noun_phrases():
    with pytest.raises(ValueError, match="the built-in corpus has en and fr, not 'de'"):
        noun_phrases(["der", "Hund"], "de")


@pytest.mark.slow
def test_the_rule_finds_every_noun_and_article_that_the_grammar_noted(parts):
    """The grammar builds its sentences with concepts; the rule sees words alone."""
    facts = 0
    for pair in parts.train[:8000]:
        source, target = WORDS["en"].tokenize(pair.source), WORDS["fr"].tokenize(pair.target)
        english, french = noun_phrases(source), noun_phrases(target, "fr")
        assert len(english) == len(french), pair
        for fact in pair.antecedents:
            facts += 1
            assert fact.source_article == {each.noun: each.article for each in english}[fact.source_noun], pair
            last = max(each.noun for each in english if each.noun < fact.source)
            assert fact.nearest == (last == fact.source_noun), pair
            assert fact.target_article == {each.noun: each.article for each in french}[fact.target_noun], pair
    assert facts > 3_000
