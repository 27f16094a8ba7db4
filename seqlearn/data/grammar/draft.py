"""A sentence under construction, in English and French at once, and the phrases that go into it.

How links come about: whoever adds a word says which concepts the word carries. A concept is a number that stands for
one unit of meaning, such as this apple, this "the" or this negation. A token is a word with its concepts: in "du chien"
(of the dog), `("du", 4, 7)` carries the "of" and the "the". In the finished sentence, an English token and a French
token are linked if they share a concept. So word order, contractions (de + le = du) and negations in two parts
(ne ... pas) need no further bookkeeping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from ..pairs import Antecedent, Pair
from .lexicon import Noun, starts_with_vowel

Token = tuple[str, *tuple[int, ...]]  # a word, then the concepts that it carries
Item = TypeVar("Item")

FIRST, SECOND, THIRD, WE, FORMAL, THEY = range(6)  # je, tu, elle, nous, vous, elles: the order of the tables of verbs

_CONTRACTED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}
_ELIDED = {"je": "j'", "ne": "n'", "le": "l'", "la": "l'", "de": "d'", "que": "qu'", "me": "m'", "te": "t'"}


class Phrase(NamedTuple):
    """A noun phrase or a pronoun in both languages, and what other words have to agree with.

    `noun` is the entry in the lexicon; I, you, we and who have none. `head` is the concept of the noun or pronoun,
    `determiner` the concept of the word in front of the noun. `partner` is the second name of "Tom and Marie", or the
    owner in "Tom's dog".
    """

    english: Sequence[Token]
    french: Sequence[Token]
    person: int
    gender: str
    noun: Noun | None
    head: int
    determiner: int | None = None
    partner: Noun | None = None

    @property
    def plural(self) -> bool:
        """Whether adjectives and participles that agree with this phrase are plural. The polite vous is one person."""
        return self.person in (WE, THEY)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the noun; none without a noun."""
        return self.noun.kinds if self.noun else ()

    @property
    def doer(self) -> str:
        """Who acts: "animal" or "person"."""
        return "animal" if "animal" in self.kinds else "person"

    @property
    def known_noun(self) -> Noun:
        """The noun, for phrases that have one.

        Raises:
            ValueError: this is a pronoun without a noun: I, you, we or who.
        """
        if self.noun is None:
            raise ValueError(f"a pronoun has no noun: {self.english}")
        return self.noun

    def involves(self, noun: Noun | None) -> bool:
        """Whether the phrase mentions this noun, as the head or as the partner."""
        return noun is not None and noun in (self.noun, self.partner)

    def says(self, *words: str) -> bool:
        """Whether one of these English words is in the phrase."""
        return any(word in words for word, *_ in self.english)


class Draft:
    """A sentence under construction: dice to choose with, the tokens so far, and the nouns and pronouns among them.

    `add` appends tokens, `put` a phrase, `say` words, and `join` a preposition with its phrase. `finish` makes a pair.
    `sensible` turns False when the sentence contradicts or repeats itself: `write_pairs` leaves such a pair out.

    Args:
        roll: draws a number in [0, 1). All choices come from it, so that equal numbers give equal sentences.
        ambiguous: whether "you" may be vous, and whether a question may be asked by inversion.
    """

    def __init__(self, roll: Callable[[], float], ambiguous: bool = False):
        self.roll = roll
        self.formal = ambiguous and self.chance(0.4)
        self.inverted = ambiguous and self.chance(0.4)
        self.english: list[Token] = []
        self.french: list[Token] = []
        self.heads: dict[int, Noun] = {}  # the nouns made for this sentence by their concepts, said or not
        self.pronouns: list[tuple[int, Phrase]] = []  # the concept of a pronoun, and the phrase that it stands for
        self.sensible = True
        self._concepts = 0

    def concept(self) -> int:
        """A new concept."""
        self._concepts += 1
        return self._concepts

    def chance(self, share: float) -> bool:
        """True in this share of the cases."""
        return self.roll() < share

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items, each as likely as the others."""
        return items[int(self.roll() * len(items))]

    def add(self, english: Iterable[Token], french: Iterable[Token]) -> None:
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

    def finish(self, mark: str, construction: str) -> Pair:
        """Close the sentence with a punctuation mark and make it a pair."""
        self.say(mark, mark)
        english, french = _positions(self.english), _positions(self.french)
        said = [noun for head, noun in self.heads.items() if head in english]
        self.sensible &= len(said) == len(set(said))  # Olga thinks that Olga is tired
        links = {(i, j) for concept, positions in french.items() for j in positions for i in english.get(concept, ())}
        antecedents = (
            self._antecedent(pronoun, phrase, english, french)
            for pronoun, phrase in self.pronouns
            if phrase.head in self.heads and phrase.head in english  # the noun itself was said
        )
        return Pair(
            _english_text([token[0] for token in self.english]),
            _french_text([token[0] for token in self.french]),
            tuple(sorted(links)),
            tuple(antecedents),
            construction,
        )

    def _antecedent(
        self, pronoun: int, phrase: Phrase, english: dict[int, list[int]], french: dict[int, list[int]]
    ) -> Antecedent:
        """The positions of a pronoun and of the phrase that it stands for, from the positions of all concepts."""
        start, noun, target_noun = english[pronoun][0], english[phrase.head][0], french[phrase.head][0]
        before = [english[head][0] for head in self.heads if head in english and english[head][0] < start]
        articles = None, None
        if phrase.determiner:
            # Of "de la soupe" it is the "la", which shows the gender. In "le chat de Marie" the "de" comes too late.
            article = max(position for position in french[phrase.determiner] if position < target_noun)
            articles = english[phrase.determiner][0], article
        return Antecedent(start, noun, french[pronoun][0], target_noun, *articles, nearest=noun == max(before))


def _positions(tokens: Sequence[Token]) -> dict[int, list[int]]:
    """For each concept the positions of the tokens that carry it."""
    positions: dict[int, list[int]] = {}
    for position, (_, *concepts) in enumerate(tokens):
        for concept in concepts:
            positions.setdefault(concept, []).append(position)
    return positions


def _english_text(words: list[str]) -> str:
    text = " ".join(words)
    for spaced in (" 's", " ,", " .", " ?", " !"):
        text = text.replace(spaced, spaced[1:])
    return text[0].upper() + text[1:]


def _french_text(words: list[str]) -> str:
    """A question or exclamation mark keeps its space in French."""
    text = " ".join(elide(words)).replace("' ", "'")
    for spaced in (" -", " ,", " ."):
        text = text.replace(spaced, spaced[1:])
    return text[0].upper() + text[1:]


def elide(words: Sequence[str]) -> list[str]:
    """The French words with le, ne, que ... cut before a vowel: l', n', qu'. The word si is cut before il and ils."""
    elided = list(words)
    for index, (word, following) in enumerate(pairwise(words)):
        if word in _ELIDED and starts_with_vowel(following):
            elided[index] = _ELIDED[word]
        elif word == "si" and following in ("il", "ils"):
            elided[index] = "s'"
    return elided


def contract(preposition: str, concept: int, french: Sequence[Token]) -> list[Token]:
    """A preposition before a phrase: à + le = au, de + les = des. Before a vowel both words stay: à l'homme."""
    word, *concepts = french[0]
    short = _CONTRACTED.get((preposition, word))
    if short is None or (word == "le" and starts_with_vowel(french[1][0])):
        return [(preposition, concept), *french]
    return [(short, concept, *concepts), *french[1:]]
