"""Sentences of the built-in corpus with one clause: statements, questions, comparisons, gifts.

Each public function writes one sentence into a draft and returns its punctuation mark.
"""

from __future__ import annotations

from .clauses import (
    FEW,
    INTRANSITIVE,
    PEOPLE,
    TRANSITIVE,
    choose_adjectives,
    choose_object,
    choose_subject,
    choose_trait,
    choose_verb,
    dress,
    say_clause,
    say_deed,
    say_move,
    say_place,
    say_state,
)
from .draft import THIRD, Draft, Phrase
from .lexicon import ATTRIBUTES, GRADABLE, KINDS, NAMES, NOUNS, NUMBERS, PREDICATES, VERBS
from .phrases import ask, be, compare, copula, describe, do, noun_phrase, pronoun, speaker, verb_group

_NOT_ME = ("you", "we", "he", "he")  # whom one asks about; "he" is he or she
_PRAISE = ("beautiful", "good", "big", "long", "small")
_PRAISED = tuple((noun, one) for noun, fitting in ATTRIBUTES.items() for one in fitting if one.english in _PRAISE)
_DESCRIBED = tuple(noun for noun in NOUNS if PREDICATES[noun])
LYING = tuple(noun for noun in NOUNS if {"handy", "warm"} & set(noun.kinds) and "fragile" not in noun.kinds)
_OWNED = tuple(
    noun
    for kind in ("thing", "given", "pet", "vehicle", "family")
    for noun in KINDS[kind, ""]
    if "elder" not in noun.kinds
)
WHERE_LYING = (("on", "sur"), ("on", "sur"), ("under", "sous"), ("near", "près de"))
_AGES = {  # the numbers that fit the age of a kind of noun
    "child": tuple(NUMBERS)[2:15],
    "pet": tuple(NUMBERS)[:14],
    "grown": tuple(NUMBERS)[15:],
    "any": tuple(NUMBERS),
    "grandmother": tuple(NUMBERS)[-2:],
}
_COMPARED = (  # nouns of one group are compared with each other
    NAMES,
    NAMES + KINDS["family", ""],
    *(
        KINDS[kind, ""]
        for kind in ("grown", "little", "strong", "fruit", "worn", "vessel", "building", "load", "readable")
    ),
)
_GIFTS = {  # a verb, and the kinds of nouns that are given with it
    VERBS["give"]: ("food", "thing", "given", "pet"),
    VERBS["show"]: ("thing", "given", "animal", "vehicle"),
    VERBS["bring"]: ("food", "drink", "thing", "given"),
    VERBS["sell"]: ("thing", "pet", "vehicle"),
    VERBS["read"]: ("tale", "readable"),
}
_ASKED = tuple(VERBS[lemma] for lemma in "eat drink see buy sell read write wash take prepare find hide".split())


def simple(draft: Draft) -> str:
    """The dog eats the apple. Marie is tired. What a beautiful bird!"""
    roll, past = draft.roll(), draft.chance(0.5)
    if roll < 0.06:
        noun, adjective = draft.pick(_PRAISED)
        draft.put(noun_phrase(draft, noun, "what", not noun.single and draft.chance(0.3), [adjective]))
        return "!"
    if roll < 0.15:
        _possession(draft)
    elif roll < 0.26:
        subject = draft.put(dress(draft, draft.pick(_DESCRIBED), definite=True, adjectives="none"))
        say_state(draft, subject, past, draft.chance(0.2))
    elif roll < 0.31:
        subject = draft.put(choose_subject(draft, definite=True))
        negation = "not" if draft.chance(0.2) else ""
        loved = choose_object(draft, subject, VERBS["love"])
        verb_group(draft, subject, VERBS["love"], negation=negation)
        draft.put(loved)
    elif roll < 0.37:
        subject = draft.put(choose_subject(draft))
        (say_deed if draft.chance(0.5) else say_move)(draft, subject, past, "never")
    else:
        say_clause(draft, past, 0.2, more=True, pronouns=("I", "you", "we", "he", "he"))
    return "."


def _possession(draft: Draft) -> None:
    """Append: Marie has two cats. Or: Tom doesn't have a car."""
    subject, negative, noun = draft.put(choose_subject(draft, ("person",))), draft.chance(0.3), draft.pick(_OWNED)
    determiner = "not a" if negative else draft.pick(("a", draft.pick(FEW)))
    adjectives = choose_adjectives(draft, noun) if draft.chance(0.3) and "family" not in noun.kinds else ()
    verb_group(draft, subject, VERBS["have"], negation="not" if negative else "")
    draft.put(noun_phrase(draft, noun, determiner, determiner in NUMBERS, adjectives))


# ---- Questions ----


def question(draft: Draft) -> str:
    """Does the dog eat the apple? Where is Tom?"""
    roll, past = draft.roll(), draft.chance(0.4)
    if roll < 0.3:
        _does(draft, past)
    elif roll < 0.5:
        draft.say(*draft.pick((("where", "où"), ("why", "pourquoi"))))
        _does(draft, past, short=True)
    elif roll < 0.64:
        _what(draft, past)
    elif roll < 0.74:
        draft.say("who", "qui")
        someone = Phrase((), (), THIRD, "m", None, 0)
        (say_deed if draft.chance(0.7) else say_move)(draft, someone, past)
    elif roll < 0.84:
        subject = dress(draft, draft.pick((*_DESCRIBED, *NAMES)), definite=True, adjectives="none")
        describe(
            draft,
            subject,
            choose_trait(draft, subject.known_noun),
            past,
            question=ask(draft, be(subject, past), subject),
        )
    elif roll < 0.92:
        subject = dress(draft, draft.pick((*LYING, *KINDS["animal", ""], *PEOPLE, *NAMES)), definite=True)
        draft.say("where", "où")
        copula(draft, subject, past)
        draft.put(subject)
    elif roll < 0.96:
        there_is(draft, asked=True)
    else:
        _how_old(draft)
    return "?"


def _does(draft: Draft, past: bool, short: bool = False) -> None:
    """Append: does she eat the apple. With `short`, the object may be missing."""
    subject = choose_subject(draft, pronouns=_NOT_ME, definite=True)
    acts = not short or draft.chance(0.4)
    verb = choose_verb(draft, (*TRANSITIVE, VERBS["love"]) if acts else INTRANSITIVE, subject, past, affirmed=False)
    thing = choose_object(draft, subject, verb, definite=True) if acts else None
    verb_group(draft, subject, verb, past, question=ask(draft, do(subject, past), subject))
    if thing:
        draft.put(thing)


def _what(draft: Draft, past: bool) -> None:
    """Append: what does she eat. In French: qu'est-ce qu'elle mange, or que mange-t-elle, or que mange Marie."""
    subject = choose_subject(draft, pronouns=_NOT_ME, definite=True)
    verb = choose_verb(draft, _ASKED, subject, past, affirmed=False)
    draft.say("what", "que")
    start = len(draft.french)
    asked, clitic = ask(draft, do(subject, past), subject)
    moved = draft.french[start:] if clitic else []  # in an inverted question a noun moves behind the verb
    if moved:
        del draft.french[start:]
        clitic = None
    verb_group(draft, subject, verb, past, question=(asked, clitic))
    draft.french += moved


def _how_old(draft: Draft) -> None:
    """Append: how old is Tom. In French: quel âge a Tom."""
    subject = dress(draft, draft.pick((*NAMES, *KINDS["person", ""], *KINDS["pet", ""])), definite=True)
    how, old = draft.concept(), draft.concept()
    draft.add([("how", how), ("old", old)], [("quel", how), ("âge", old)])
    copula(draft, subject, auxiliary="avoir")
    draft.put(subject)


# ---- Age, existence, comparison ----


def age(draft: Draft) -> str:
    """Marie is eight years old. In French: Marie a huit ans."""
    kind = draft.pick(("name", "name", "child", "grown", "pet", "family"))
    noun = draft.pick(NAMES if kind == "name" else KINDS[kind, ""])
    subject = draft.put(dress(draft, noun, definite=True))
    sort = "grown" if "elder" in noun.kinds else kind if kind in _AGES else "any"
    number = draft.pick(_AGES.get(noun.english[0], _AGES[sort]))
    draft.sensible &= not subject.says("old", "young")  # the number says so, or says the contrary
    copula(draft, subject, draft.chance(0.3), draft.chance(0.15), "avoir")
    draft.say(number, NUMBERS[number])
    draft.say("years old", "ans")
    return "."


def there_is(draft: Draft, asked: bool = False) -> str:
    """There is a cat in the garden. In French: il y a un chat, or il n'y a pas de chat."""
    noun = draft.pick((*LYING, *KINDS["animal", ""], *PEOPLE))
    past, negative = draft.chance(0.3), not asked and draft.chance(0.3)
    determiner, plural = "a", False
    if negative:
        plural = not noun.single and draft.chance(0.5)
        determiner = "any" if plural or noun.mass else "not a"
    elif not noun.single and draft.chance(0.5):
        determiner, plural = draft.pick(("a", *FEW)) if not asked else draft.pick(FEW), True
    adjectives = choose_adjectives(draft, noun, not (plural and determiner == "a")) if draft.chance(0.25) else ()
    phrase = noun_phrase(draft, noun, determiner, plural, adjectives)
    there = draft.concept()
    subject = phrase._replace(english=[("there", there)], french=[("il", there)])
    asking = ask(draft, be(subject, past), subject) if asked else None
    if not asked:
        draft.put(subject)
    copula(draft, subject, past, negative, "avoir", asking, there)
    draft.put(phrase)
    if not {"animal", "person"}.isdisjoint(noun.kinds):
        say_place(draft, phrase)
        return "."
    lying = draft.chance(0.5) or "warm" in noun.kinds
    english, french = draft.pick(WHERE_LYING) if lying else ("in", "dans")
    kind = "surface" if lying else "container"
    if "drink" in noun.kinds:
        english, french, kind = "in", "dans", "vessel"
    draft.join(english, french, dress(draft, draft.pick(KINDS[kind, ""]), definite=True, single=True))
    return "."


def comparison(draft: Draft) -> str:
    """Marie is taller than Tom. The cheese is better than the bread."""
    nouns = draft.pick(_COMPARED)
    one, two = draft.pick(nouns), draft.pick(nouns)
    shared = [word for word in PREDICATES[one] if word in PREDICATES[two] and word.english in GRADABLE]
    if one is two or not shared:
        return comparison(draft)
    subject = draft.put(dress(draft, one, definite=True, adjectives="none"))
    other = dress(draft, two, definite=True, adjectives="none")
    adjective, negative = draft.pick(shared), draft.chance(0.15)
    less = "less" if adjective.comparative == "more" else "more"
    copula(draft, subject, draft.chance(0.25), negative)
    compare(draft, subject, adjective, "as" if negative else draft.pick(("more", "more", less, "as")), other)
    return "."


# ---- Giving ----


def giving(draft: Draft) -> str:
    """Marie gives an apple to the boy. Tom shows her the flower."""
    past, negation = draft.chance(0.5), "not" if draft.chance(0.15) else ""
    subject = draft.put(choose_subject(draft, ("person",)))
    verb = choose_verb(draft, tuple(_GIFTS), subject, past, not negation)
    thing = dress(draft, draft.pick(KINDS[draft.pick(_GIFTS[verb]), ""]), subject, bool(negation))
    if draft.chance(0.25) and verb.lemma not in ("sell", "read"):
        if subject.noun and draft.chance(0.5):
            receiver = speaker(draft, draft.pick(("I", "you", "we")), as_object=True)
        else:
            receiver = pronoun(draft, noun_phrase(draft, draft.pick(NAMES)), "receiver")
        verb_group(draft, subject, verb, past, negation, receiver)
        draft.put(thing)
        return "."
    verb_group(draft, subject, verb, past, negation)
    draft.put(thing)
    kinds = ("person", "pet") if "food" in thing.kinds else ("person",)
    noun = None
    while noun is None or subject.involves(noun):
        noun = draft.pick(NAMES if draft.chance(0.25) else KINDS[draft.pick(kinds), ""])
    draft.join("to", "à", dress(draft, noun, subject, definite=True))
    return "."
