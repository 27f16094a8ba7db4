"""Finds the noun phrases in a sentence of the built-in corpus, by looking its tokens up in the lexicon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .lexicon import ADJECTIVES, BEFORE_VOWEL, DETERMINERS, NAMES, NOUNS, NUMBERS


class NounPhrase(NamedTuple):
    """The positions of the words of a noun phrase among the tokens of a sentence, counted from 0.

    `article` is the article, or the number, possessive or "'s" in its place; a name has None. `adjectives` are those
    before the noun.
    """

    noun: int
    article: int | None
    adjectives: tuple[int, ...]


class _Words(NamedTuple):
    """The words of one language. `articles` holds all that may open a noun phrase."""

    nouns: set[str]
    adjectives: set[str]
    articles: set[str]


_WORDS = {
    "en": _Words(
        nouns={form.lower() for noun in (*NOUNS, *NAMES) for form in noun.english} - {"-"},
        adjectives=set(ADJECTIVES),
        articles={"some", "any", "a", "an", "'s", "these", "what", *DETERMINERS, *NUMBERS},
    ),
    "fr": _Words(
        nouns={form.lower() for noun in (*NOUNS, *NAMES) for form in noun.french} - {"-"},
        adjectives={form for adjective in ADJECTIVES.values() for form in adjective.french},
        articles={
            *(form for forms in DETERMINERS.values() for form in forms),
            *BEFORE_VOWEL.values(),
            *NUMBERS.values(),
            *"l' d' de du des au aux quel quelle quels quelles".split(),
        },
    ),
}


def noun_phrases(tokens: Sequence[str], language: str = "en") -> list[NounPhrase]:
    """The noun phrases of a sentence of the built-in corpus, in reading order.

    An article belongs to the next noun if only adjectives stand between the two. Of "de la" the "la" counts as the
    article.

    Args:
        tokens: lower-case tokens, as `WordTokenizer` gives them.
        language: "en" or "fr".

    Raises:
        ValueError: the built-in corpus does not have this language.
    """
    if language not in _WORDS:
        raise ValueError(f"the built-in corpus has {' and '.join(_WORDS)}, not {language!r}")
    words = _WORDS[language]
    phrases = []
    for position, token in enumerate(tokens):
        if token not in words.nouns:
            continue
        first = position  # the first adjective, or the noun itself
        while first > 0 and tokens[first - 1] in words.adjectives:
            first -= 1
        article = first - 1 if first > 0 and tokens[first - 1] in words.articles else None
        phrases.append(NounPhrase(position, article, tuple(range(first, position))))
    return phrases
