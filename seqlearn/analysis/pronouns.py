"""Who does a pronoun mean, and does a model write its gender? The sentences, guessers and batches of lesson 11."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ..data.batches import pad
from ..data.grammar import noun_phrases as noun_phrases, write_pairs as write_pairs
from ..data.grammar.lexicon import NAMES, NOUNS
from ..data.pairs import Pair
from ..data.text import Language, WordTokenizer
from .roles import has_pronoun

_FORMS = [forms.split() for forms in "le la,un une,ce cette,mon ma,ton ta,son sa,il elle,ils elles".split(",")]
OTHER_GENDER = {one: two for forms in _FORMS for one, two in (forms, forms[::-1])}
"""A French article or pronoun -> the same word in the other gender."""

_KNOWN = {form.lower(): (noun, plural) for noun in (*NOUNS, *NAMES) for plural, form in enumerate(noun.english)}


def with_pronoun(pairs: Iterable[Pair], construction: str) -> list[Pair]:
    """The pairs of a construction whose noted pronoun is *it*, *they* or *them*."""
    return [pair for pair in pairs if has_pronoun(pair, construction)]


def gendered_articles(pair: Pair) -> list[tuple[int, int, int]]:
    """For each French article with two genders: its position, and those of the English article and its noun."""
    words = WordTokenizer("fr").tokenize(pair.target)
    phrases = noun_phrases(WordTokenizer("en").tokenize(pair.source))
    owner = {p.article: p.noun for p in phrases if p.article is not None}
    return [(j, i, owner[i]) for i, j in pair.alignment if i in owner and words[j] in OTHER_GENDER]


def gendered_pronouns(pairs: Iterable[Pair]) -> list[tuple[Pair, int]]:
    """The pairs whose noted French pronoun shows its gender, each with the position of this pronoun."""
    asked = [(pair, pair.antecedents[0].target) for pair in pairs]
    return [(pair, step) for pair, step in asked if WordTokenizer("fr").tokenize(pair.target)[step] in OTHER_GENDER]


def _nouns_before(pair: Pair) -> tuple[str, list[str], int]:
    """The pronoun, the nouns before it, and the index of the antecedent among them."""
    words, fact = WordTokenizer("en").tokenize(pair.source), pair.antecedents[0]
    positions = [p.noun for p in noun_phrases(words) if p.noun < fact.source]
    return words[fact.source], [words[position] for position in positions], positions.index(fact.source_noun)


def _fits(pronoun: str, word: str) -> bool:
    """Singular for it, plural for they and them; no person for it, and never a place."""
    noun, plural = _KNOWN[word]
    person = "person" in noun.kinds or "name" in noun.kinds
    return plural == (pronoun != "it") and not (person and pronoun == "it") and "place" not in noun.kinds


def has_choice(pairs: Iterable[Pair]) -> Bool[Tensor, "pairs"]:
    """Whether two nouns or more before the pronoun fit it."""
    asked = [_nouns_before(pair) for pair in pairs]
    return torch.tensor([sum(_fits(pronoun, noun) for noun in nouns) > 1 for pronoun, nouns, _ in asked])


class Guessers:
    """Three guessers of the antecedent, who read the pronoun and the nouns before it, and nothing else.

    Args:
        train: the pairs in which the third one counts how often each noun before a pronoun is its antecedent.
    """

    def __init__(self, train: Iterable[Pair]):
        before, meant = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for pronoun, nouns, right in map(_nouns_before, train):
            before.update((pronoun, noun) for noun in nouns)
            meant[pronoun, nouns[right]] += 1
        self._share = {key: meant[key] / times for key, times in before.items()}

    def __call__(self, pairs: Iterable[Pair]) -> dict[str, Bool[Tensor, "pairs"]]:
        """For each guesser: is it right about each pair?"""
        right: dict[str, list[bool]] = {"nearest noun": [], "nearest noun that fits": [], "usual antecedent": []}
        for pronoun, nouns, wanted in map(_nouns_before, pairs):
            last = len(nouns) - 1
            fitting = [number for number, noun in enumerate(nouns) if _fits(pronoun, noun)]
            shares = [(self._share.get((pronoun, noun), 0.0), number) for number, noun in enumerate(nouns)]
            for marks, guess in zip(right.values(), (last, max(fitting, default=last), max(shares)[1]), strict=True):
                marks.append(guess == wanted)
        return {name: torch.tensor(marks) for name, marks in right.items()}


class GenderBatch(NamedTuple):
    """French words that have a form for the other gender, with the right French words before them.

    `right` and `wrong` are the indices (pairs, steps, words) of the two forms in the logits; `labels` is the next word
    of each step, and `others` the steps that write all other words.
    """

    source: tuple[Int[Tensor, "pairs source"], Int[Tensor, "pairs"]]
    target: Int[Tensor, "pairs steps"]
    right: tuple[list[int], list[int], list[int]]
    wrong: tuple[list[int], list[int], list[int]]
    labels: Int[Tensor, "pairs steps"]
    others: Bool[Tensor, "pairs steps"]


def gender_batch(source: Language, target: Language, asked: Sequence[tuple[Pair, int]]) -> GenderBatch:
    """Make one batch of pairs, each with the position of a French word with two genders.

    Raises:
        KeyError: the word at a position has no form for the other gender.
    """
    vocab, rows = target.vocab, list(range(len(asked)))
    read = pad([source.encode(pair.source) for pair, _ in asked], source.vocab.pad)
    written, _ = pad([[vocab.bos, *target.encode(pair.target)] for pair, _ in asked], vocab.pad)
    labels, steps = written[:, 1:], [step for _, step in asked]
    right = labels[rows, steps].tolist()
    wrong = vocab.encode([OTHER_GENDER[word] for word in vocab.decode(right)])
    others = labels != vocab.pad
    others[rows, steps] = False
    return GenderBatch(read, written[:, :-1], (rows, steps, right), (rows, steps, wrong), labels, others)
