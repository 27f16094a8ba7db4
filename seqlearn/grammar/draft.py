"""A sentence of the built-in corpus while it is written, in both languages at once.

A token is a word followed by the concepts that it carries: `("du", 4, 7)`. Two tokens are linked when they share a
concept, so word order, contraction and negation in two parts need no bookkeeping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..pairs import Antecedent, Pair
from .lexicon import Noun, Verb, starts_with_vowel

FIRST, SECOND, THIRD, WE, FORMAL, THEY = range(6)  # je, tu, elle, nous, vous, elles: the order of the tables of verbs

_CONTRACTED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}
_ELIDED = {"je": "j'", "ne": "n'", "le": "l'", "la": "l'", "de": "d'", "que": "qu'", "me": "m'", "te": "t'"}


class Phrase(NamedTuple):
    """A noun phrase or a pronoun in both languages, and what has to agree with it.

    `head` is the concept of its noun or pronoun, `determiner` that of what stands before the noun;
    `partner` is the second name of "Tom and Marie", or the owner in "Tom's dog".
    """

    english: Sequence[tuple]
    french: Sequence[tuple]
    person: int
    gender: str
    noun: Noun | None
    head: int
    determiner: int | None = None
    partner: Noun | None = None

    @property
    def plural(self) -> bool:
        """Whether what agrees with it stands in the plural; the polite vous is one person."""
        return self.person in (WE, THEY)

    def involves(self, noun: Noun | None) -> bool:
        """Whether it speaks of this noun."""
        return noun is not None and noun in (self.noun, self.partner)

    @property
    def doer(self) -> str:
        """Who acts: "animal" or "person"."""
        return "animal" if self.noun and "animal" in self.noun.kinds else "person"


class Draft:
    """A sentence while it is written: the dice, the tokens so far, the pronouns and the noun-verb pairs in it.

    Args:
        random: numbers in [0, 1).
        ambiguous: whether "you" may be vous, and a question may be put by inversion.
    """

    def __init__(self, random: Callable[[], float], ambiguous: bool = False):
        self.random = random
        self.formal = ambiguous and self.chance(0.4)
        self.inverted = ambiguous and self.chance(0.4)
        self.english: list[tuple] = []
        self.french: list[tuple] = []
        self.heads: list[int] = []
        self.pronouns: list[tuple[int, Phrase]] = []
        self.combinations: list[str] = []
        self._concepts = 0

    def concept(self) -> int:
        """A new concept."""
        self._concepts += 1
        return self._concepts

    def chance(self, share: float) -> bool:
        """True in this share of the cases."""
        return self.random() < share

    def pick(self, items: Sequence) -> Any:
        """One of the items, each as likely as the others."""
        return items[int(self.random() * len(items))]

    def add(self, english: Iterable[tuple], french: Iterable[tuple]) -> None:
        """Append tokens to both sides."""
        self.english += english
        self.french += french

    def put(self, phrase: Phrase) -> Phrase:
        """Append a phrase to both sides, and return it."""
        self.add(phrase.english, phrase.french)
        return phrase

    def say(self, english: str, french: str) -> None:
        """Append words that all carry one new concept."""
        concept = self.concept()
        self.add([(word, concept) for word in english.split()], [(word, concept) for word in french.split()])

    def join(self, english: str, french: str, phrase: Phrase) -> None:
        """Append a preposition (or than, que) and its phrase: to the boy, au garçon."""
        concept = self.concept()
        *words, last = french.split()
        self.add([(word, concept) for word in english.split()], [(word, concept) for word in words])
        self.add(phrase.english, contract(last, concept, phrase.french))

    def combine(self, verb: Verb, phrase: Phrase, subject: bool = False) -> None:
        """Note a noun-verb pair: "eat apple", or "dog sleep" for a verb without object."""
        if phrase.noun and "name" not in phrase.noun.kinds:
            noun = phrase.noun.english[0]
            self.combinations.append(f"{noun} {verb.lemma}" if subject else f"{verb.lemma} {noun}")

    def finish(self, mark: str, construction: str) -> Pair:
        """Close the sentence with a punctuation mark and make it a pair."""
        self.say(mark, mark)
        english, french = [token[0] for token in self.english], [token[0] for token in self.french]
        where, there = _positions(self.english), _positions(self.french)
        links = {(i, j) for concept, found in there.items() for j in found for i in where.get(concept, ())}
        source, target = " ".join(english), " ".join(elide(french))
        for tight in (" 's", " ,", " .", " ?", " !"):
            source = source.replace(tight, tight[1:])
        target = target.replace("' ", "'").replace(" -", "-").replace(" ,", ",").replace(" .", ".")
        return Pair(
            source[0].upper() + source[1:],
            target[0].upper() + target[1:],
            tuple(sorted(links)),
            tuple(
                self._antecedent(pronoun, phrase, where, there)
                for pronoun, phrase in self.pronouns
                if phrase.head in self.heads and phrase.head in where
            ),
            construction,
            tuple(self.combinations),
        )

    def _antecedent(self, pronoun: int, phrase: Phrase, where: dict, there: dict) -> Antecedent:
        start, noun = where[pronoun][0], where[phrase.head][0]
        before = [where[head][0] for head in self.heads if head in where and where[head][0] < start]
        articles = None, None
        if phrase.determiner:
            articles = where[phrase.determiner][0], there[phrase.determiner][0]
        return Antecedent(start, noun, there[pronoun][0], there[phrase.head][0], *articles, nearest=noun == max(before))


def _positions(tokens: list[tuple]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for index, token in enumerate(tokens):
        for concept in token[1:]:
            found.setdefault(concept, []).append(index)
    return found


def elide(words: list[str]) -> list[str]:
    """The words with le, ne, que ... cut before a vowel: l', n', qu'; si only before il and ils."""
    for index, word in enumerate(words[:-1]):
        if word in _ELIDED:
            if starts_with_vowel(words[index + 1]):
                words[index] = _ELIDED[word]
        elif word == "si" and words[index + 1] in ("il", "ils"):
            words[index] = "s'"
    return words


def contract(preposition: str, concept: int, french: Sequence[tuple]) -> list[tuple]:
    """A preposition before a phrase: à + le = au, de + les = des; à l'homme keeps both words."""
    first = french[0]
    short = _CONTRACTED.get((preposition, first[0]))
    if short is None or (first[0] == "le" and starts_with_vowel(french[1][0])):
        return [(preposition, concept), *french]
    return [(short, concept, *first[1:]), *french[1:]]
