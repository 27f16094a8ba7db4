"""Checks of lesson 15. The oracles are loops over plain lists: they import nothing that the lesson is about."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

from .checking import Answer, Wrong, called, check, is_close, number

# ---- 15.2 ----

_TRIALS = [
    ("le chat dort", ["le chat dort"]),
    ("le le le chat", ["le chat et le chien", "un chat"]),
    ("le le le chat", ["le chat", "le chien"]),
    ("le chat dort", ["le chien dort", "un chat dort ici"]),
    ("le chat le chat", ["le chat", "le le chien"]),
    ("je vois", ["il dort"]),
    ("je vois", ["je vois tout ce que je vois", "je"]),
    ("le a chat", ["les chats"]),  # parts of words
    ("Le chat dort", ["le Chat dort bien ici"]),
    ("le le chat", ["un chien", "un chat", "le chien et le chat"]),
]


@check("15.2", section="4. How good is it?")
def check_precision(precision: Callable[[list[str], list[list[str]]], float]) -> None:
    """Try out `precision(translation, references)`."""
    trials = [(text.split(), [each.split() for each in people]) for text, people in _TRIALS]
    answers = [number(called(precision, *trial)) for trial in trials]
    for (text, people), (words, references), answer in zip(_TRIALS, trials, answers, strict=True):
        if abs(answer - (right := _clipped(words, references)) / len(words)) > 1e-6:
            told = f"precision({text!r}, {people!r}), with lists of words, should be {right} of {len(words)}"
            usual = [
                f" ({why})" for why, rule in _MISTAKES.items() if is_close(answers, [rule(*each) for each in trials])
            ]
            raise Wrong(f"{told}: {right / len(words):.3f}; yours is {answer:.3f}{''.join(usual[:1])}.")
    if number(called(precision, [], [["le", "chat"]])) != 0:
        raise Wrong("an empty translation has the precision 0.")


def _clipped(words: list[str], references: list[list[str]]) -> int:
    return sum(min(words.count(word), max(each.count(word) for each in references)) for word in set(words))


def _each(words: list[str], references: list[list[str]]) -> list[float]:
    """The precision by each reference alone."""
    return [_clipped(words, [each]) / len(words) for each in references]


def _found(words: Iterable[str], references: list[list[str]]) -> int:
    return sum(any(word in each for each in references) for word in words)


_MISTAKES: dict[str, Callable[[list[str], list[list[str]]], float]] = {
    "a word counts as often as you like: clip it": lambda words, people: _found(words, people) / len(words),
    "different words are counted, not words": lambda words, people: _found(set(words), people) / len(words),
    "the references are thrown together: take the one that has the word most often, not their sum": (
        lambda words, people: _each(words, [[word for each in people for word in each]])[0]
    ),
    "only the first reference counts": lambda words, people: _each(words, people)[0],
    "only the first two references count": lambda words, people: _clipped(words, people[:2]) / len(words),
    "this is the mean over the references": lambda words, people: sum(_each(words, people)) / len(people),
    "each *word* takes the reference that has it most often": lambda words, people: max(_each(words, people)),
}


# ---- 15.3 ----


@check("15.3", section="8. Where it breaks")
def check_typos(with_typos: Callable[[str, float, random.Random], str]) -> None:
    """Try out `with_typos(text, share, rng)`."""
    text = "I don't love your cat, my dear friend."
    always = called(with_typos, text, 1, random.Random(0))
    if not isinstance(always, str):
        raise Wrong("return a text: join the words with one space.")
    wanted = "I dno't lvoe yuor cat, my daer firend."
    if always != wanted:
        raise Wrong(f"with share = 1, {text!r} should become {wanted!r}; yours is {always!r}{_typo(always)}.")
    if (never := called(with_typos, text, 0, random.Random(0))) != text:
        raise Wrong(f"with share = 0, nothing changes; yours is {never!r}.")
    if (spaces := called(with_typos, "a  big   house", 1, random.Random(0))) != "a  big   huose":
        raise Wrong(f'several spaces stay: split with text.split(" "); "a  big   house" became {spaces!r}.')
    text, wanted = "it's naïve: 1890, \"Élan banana HELLO", "it's nïave: 1890, \"lÉan bnaana HLELO"
    if (other := called(with_typos, text, 1, random.Random(0))) != wanted:
        raise Wrong(f"with share = 1, {text!r} should become {wanted!r}; yours is {other!r}: count by `str.isalpha`.")
    for seed in range(4):
        rng = random.Random(seed)
        words = [word[0] + word[2] + word[1] + word[3:] if rng.random() < 0.5 else word for word in ["stone"] * 12]
        if called(with_typos, " ".join(["stone", "a"] * 12), 0.5, random.Random(seed)) != " ".join(
            f"{word} a" for word in words
        ):
            raise Wrong(
                "with share = 0.5, other words are spoiled than should be: ask rng.random() < share once for each word "
                "of four letters or more, from left to right, and for no other."
            )


def _typo(answer: str) -> str:
    if "cta" in answer.lower():
        return ": a word of three letters stays, and a comma is no letter"
    if answer.startswith("I odn't"):
        return ": the first letter stays; exchange word[1] and word[2]"
    return ""


# ---- 15.4 ----

KINDS = "RWGON"
OURS = "RRWRRRGWWGWWGRRROONRRGNWWGOGNN"
WHY = {
    3: "m'envoyer is “send me”, and not “quote me”",
    7: "te and vous do not fit: te sens-tu, or vous sentez-vous",
    8: "“What have you taken for so long?” asks something else",
    9: "rater is “to miss, to fail”, and not “to lead”",
    10: "il … pleine: a masculine pronoun, a feminine form",
    11: "pas assez is “not enough”; and elle … satisfait: satisfaite",
    12: "se dépêcher is “to hurry”; “get rid of” is se débarrasser",
    13: "French has its years: elle a 40 ans",
    17: "“about” is missing",
    18: "“long” is missing",
    19: "tendi is no French word, and cheese is no cake",
    22: "dormir de sommeil: either dormi assez, or assez de sommeil",
    23: "“A shirt over there was a sauce”",
    24: "voudrais-tu is “would you like to”, and not “would you happen to”",
    25: "a nap is made: faire une sieste; others would call it right",
    26: "a decision to make: à prendre, not pour prendre",
    27: "“these” is missing; and “if” is si: que does not fit",
    28: "the tense: savait que … comprenait",
    29: "“The sea seems that …”: the chief and his authority are gone",
    30: "“As soon as I had to things”: the first half has no meaning",
}
_CLEAR = {1: "R", 2: "R", 5: "R", 23: "N", 29: "N"}  # nobody could doubt these


@check("15.4", section="13. Exercises")
def check_labels(labels: Answer) -> None:
    """Whether `labels` is a text of thirty letters, and agrees with ours where nobody could doubt."""
    if not isinstance(labels, str):
        raise Wrong('write the letters as one text, in quotes: "RRW…".')
    if strange := sorted(set(labels) - set(KINDS)):
        raise Wrong(f"{strange[0]!r} is none of the letters {', '.join(KINDS)} (capital letters, without spaces).")
    if len(labels) != len(OURS):
        raise Wrong(f"there are {len(OURS)} translations, and you have {len(labels)} letters.")
    for place, letter in _CLEAR.items():
        if labels[place - 1] != letter:
            says = "is what the person wrote, letter by letter" if letter == "R" else "cannot be understood"
            raise Wrong(f"translation {place} {says}: read it again.")


def differences(labels: str | None) -> list[tuple[int, str, str, str]]:
    """Where the letters are not ours: number, the learner's letter, ours, and why we took it.

    A label that is missing or too short has no differences.
    """
    pairs: Sequence[tuple[str, str]] = list(zip(labels or "", OURS, strict=False))
    return [
        (place, yours, ours, WHY.get(place, "a good translation, whatever the person wrote"))
        for place, (yours, ours) in enumerate(pairs, start=1)
        if yours != ours
    ]
