"""Chooses who does what, where and when: builds clauses of the built-in corpus from words that fit each other.

A function called `choose_...` returns what the dice chose; one called `say_...` appends it to the draft. All choices
are made by the dice of the draft, in the order of the code: one more roll, or one less, changes all later sentences.
"""

from __future__ import annotations

from collections.abc import Sequence

from .draft import THIRD, Draft, Phrase
from .lexicon import (
    ATTRIBUTES,
    GRADABLE,
    KINDS,
    NAMES,
    NOUNS,
    NUMBERS,
    OBJECTS,
    PREDICATES,
    STATES,
    VERBS,
    Adjective,
    Noun,
    Verb,
)
from .phrases import couple, describe, noun_phrase, pronoun, speaker, verb_group

TRANSITIVE = tuple(verb for lemma, verb in VERBS.items() if OBJECTS["person", lemma] and lemma != "love")
INTRANSITIVE = tuple(VERBS[lemma] for lemma in "sleep run sing dance cry work".split())
MOVING = tuple(VERBS[lemma] for lemma in ("stay", "go", "come back", "arrive", "leave", "fall"))
PEOPLE = tuple(noun for noun in KINDS["person", ""] if "family" not in noun.kinds)
FEW = tuple(NUMBERS)[:5]

_DOG, _BONE = (next(noun for noun in NOUNS if noun.english[0] == word) for word in ("dog", "bone"))
_BELONGINGS = {"handy", "thing", "pet", "vehicle"}
# The verbs that follow I, you and we. They are few, because each needs three more forms, and without suivre, because
# "je suis" means both "I follow" and "I am".
SPOKEN = "eat drink see look-for find buy read write wash take hide watch love sleep run sing dance work go give bring"
SPOKEN = tuple(lemma.replace("-", " ") for lemma in SPOKEN.split())
_COLOURS = "red white black green blue grey yellow".split()
_NEUTRAL = ("big", "small", "old", "young", *_COLOURS)
# The traits that may be "very", and those that may be "too": very tired, too heavy.
_VERY = (*GRADABLE, *"tired sick sad kind dirty hot cold sour ripe fresh long".split())
_TOO = "big small old young hot cold heavy expensive long sweet sour tired fragile".split()
_HABITS = (("often", "souvent"), ("always", "toujours"))
_WILD = KINDS["wild", ""]  # Animals do not go to school.
_PLACES = {  # by who is there: (English preposition, French preposition, nouns)
    doer: (
        ("in", "dans", inside),
        ("in", "dans", inside),
        ("near", "près de", KINDS["place", ""]),
        ("behind", "derrière", KINDS["building", ""]),
        ("in front of", "devant", KINDS["building", ""]),
        ("under", "sous", covers),
    )
    for doer, inside, covers in (
        ("person", KINDS["inside", ""], KINDS["cover", "m"]),
        ("animal", _WILD, KINDS["cover", ""]),
    )
}
_BEINGS = (*PEOPLE, *KINDS["strong", ""])
_GOALS = {"person": KINDS["goal", ""], "animal": tuple(noun for noun in KINDS["goal", ""] if noun in _WILD)}


# ---- Noun phrases ----


def _own(subject: Phrase | None, noun: Noun) -> str:
    """The possessive (her, our, ...) if the subject may own the noun, else "". Animals own only food and bones."""
    kinds = noun.kinds
    if subject is None or "place" in kinds or ("person" in kinds and "family" not in kinds):
        return ""
    if subject.doer == "animal":
        possessive = "their" if subject.plural else "its"
        return possessive if "food" in kinds or (noun is _BONE and subject.noun is _DOG) else ""
    if subject.noun:
        return "their" if subject.plural else "her" if subject.gender == "f" else "his"
    return ("my", "your", "", "our", "your (formal)")[subject.person]


def _owner(draft: Draft, noun: Noun, subject: Phrase | None) -> Phrase:
    """Somebody other than the subject who may own the noun."""
    if noun is _BONE:
        return noun_phrase(draft, _DOG)
    owner = draft.pick(NAMES if draft.chance(0.5) else KINDS["person", ""])
    if subject and subject.involves(owner):
        return _owner(draft, noun, subject)
    return noun_phrase(draft, owner, draft.pick(("my", "his", "her")) if "family" in owner.kinds else "the")


def choose_adjectives(draft: Draft, noun: Noun, before: bool = True, neutral: bool = False) -> list[Adjective]:
    """An adjective that fits the noun. Or two, around the noun in French: small red car, petite voiture rouge.

    Args:
        before: whether adjectives may be chosen that precede the noun in French.
        neutral: choose only size, age or colour: they give no reason for anything.
    """
    fitting = [adjective for adjective in ATTRIBUTES[noun] if before or not adjective.before]
    if neutral:
        fitting = [adjective for adjective in fitting if adjective.english in _NEUTRAL]
    if not fitting:
        return []
    one = draft.pick(fitting)
    first = [adjective for adjective in fitting if adjective.english in ("big", "small", "old")]
    return [draft.pick(first), one] if first and one.english in _COLOURS and draft.chance(0.4) else [one]


def dress(
    draft: Draft,
    noun: Noun,
    subject: Phrase | None = None,
    negated: bool = False,
    definite: bool = False,
    adjectives: str = "any",
    single: bool = False,
) -> Phrase:
    """A noun phrase around a noun. Dice choose its number, determiner, adjectives and owner.

    Args:
        subject: the subject of the clause, who may own the noun (her apple).
        negated: whether an indefinite object needs "any": any apples, pas de pommes.
        definite: choose neither a, nor some, nor a number.
        adjectives: "any", "neutral" (see `choose_adjectives`) or "none".
        single: choose no plural.
    """
    if "name" in noun.kinds:
        return noun_phrase(draft, noun)
    own = _own(subject, noun)
    plural = not noun.single and not single and draft.chance(0.18)
    if "family" in noun.kinds:
        return noun_phrase(draft, noun, own or draft.pick(("my", "his", "her", "our")), plural)
    determiner, owner, roll = "the", None, draft.roll()
    if roll < 0.28 and not definite:
        determiner, plural = ("any", not noun.single) if negated else ("a", plural)
    elif roll < 0.36:
        determiner = "this"
    elif roll < 0.42 and not (definite or noun.single or negated or single):
        determiner, plural = draft.pick(FEW), True
    elif roll < 0.52 and own:
        determiner = own
    elif roll < 0.62 and not _BELONGINGS.isdisjoint(noun.kinds):
        owner = _owner(draft, noun, subject)
    chosen = ()
    if adjectives != "none" and draft.chance(0.3):
        chosen = choose_adjectives(draft, noun, not (plural and determiner == "a"), adjectives == "neutral")
    return noun_phrase(draft, noun, determiner, plural, chosen, owner)


def choose_subject(
    draft: Draft,
    doers: Sequence[str] = ("person", "animal"),
    pronouns: Sequence[str] = ("I", "you", "we", "he", "he"),
    adjectives: str = "any",
    definite: bool = False,
) -> Phrase:
    """A subject: a name, two names, a noun, or one of the pronouns. Here "he" means he or she."""
    roll = draft.roll()
    if "animal" in doers and roll < 0.3:
        return dress(
            draft, draft.pick(KINDS["animal", ""]), definite=definite or draft.chance(0.8), adjectives=adjectives
        )
    if roll < 0.55:
        noun = draft.pick(KINDS["person", ""])
        return dress(draft, noun, definite=definite or draft.chance(0.7), adjectives=adjectives)
    one = noun_phrase(draft, draft.pick(NAMES))
    if roll < 0.78 or not pronouns:
        two = noun_phrase(draft, draft.pick(NAMES))
        return couple(one, two, draft.concept()) if roll < 0.61 and two.noun is not one.noun else one
    word = draft.pick(pronouns)
    return pronoun(draft, one, "subject") if word == "he" else speaker(draft, word)


# ---- Predicates ----


def choose_verb(draft: Draft, verbs: Sequence[Verb], subject: Phrase, past: bool, affirmed: bool = True) -> Verb:
    """A verb that fits the subject, in a form with one meaning only."""
    kinds = (*subject.noun.kinds, *subject.noun.english) if subject.noun else ("person",)
    while True:
        verb = draft.pick(verbs)
        base, _, past_form = verb.english
        unclear = base == past_form and affirmed and subject.person != THIRD  # they read: present or past?
        rare = subject.noun is None and subject.person != THIRD and verb.lemma not in SPOKEN
        if not (unclear or rare or (past and past_form == "-")) and any(kind in verb.doers for kind in kinds):
            return verb


def overlap(one: Phrase, two: Phrase) -> bool:
    """Whether two phrases share a noun or a name, or are the same pronoun."""
    return (
        one.involves(two.noun)
        or one.involves(two.partner)
        or one.french[0][0] == two.french[0][0] in ("je", "tu", "nous", "vous")
    )


def choose_object(draft: Draft, subject: Phrase, verb: Verb, negated: bool = False, definite: bool = False) -> Phrase:
    """An object that fits the subject and the verb, other than the subject itself."""
    noun = None
    while noun is None or subject.involves(noun):
        noun = draft.pick(OBJECTS[subject.doer, verb.lemma])
        if "person" in noun.kinds and draft.chance(0.5):
            noun = draft.pick(NAMES)
    return dress(draft, noun, subject, negated, definite or verb.lemma == "love")


def say_place(draft: Draft, subject: Phrase, beings: bool = True) -> None:
    """Append a place: near the garden, près du jardin. With `beings`, sometimes near somebody: près des chevaux."""
    english, french, nouns = draft.pick(_PLACES[subject.doer])
    if beings and draft.chance(0.12):
        english, french, nouns = "near", "près de", _BEINGS
    noun = None
    while noun is None or subject.involves(noun):
        noun = draft.pick(nouns)
    draft.join(english, french, dress(draft, noun, definite=True))


def say_goal(draft: Draft, noun: Noun, english: str, french: str) -> Phrase:
    """Append where to or from: to the market, au marché. Never "this", as "à ce parc" is not good French."""
    adjectives = choose_adjectives(draft, noun, neutral=True) if draft.chance(0.2) else ()
    goal = noun_phrase(draft, noun, adjectives=adjectives)
    draft.join(english, french, goal)
    return goal


def _say_time(draft: Draft, past: bool, repeated: bool) -> None:
    """Append yesterday, this morning, today, or every day if the deed can be repeated."""
    if past and draft.chance(0.5):
        draft.say("yesterday", "hier")
    elif past:
        draft.say("this", "ce")
        draft.say("morning", "matin")
    elif repeated and draft.chance(0.5):
        draft.say("every", "tous les")
        draft.say("day", "jours")
    else:
        draft.say("today", "aujourd'hui")


def say_deed(draft: Draft, subject: Phrase, past: bool, negation: str = "", more: bool = False) -> None:
    """Append a verb and its object. With `more`, sometimes append an adverb, a place or a time, too."""
    verb = choose_verb(draft, TRANSITIVE, subject, past, negation != "not")
    thing = choose_object(draft, subject, verb, bool(negation))
    again = thing.english[0][0] in ("a", "an", "some") or not {"person", "animal"}.isdisjoint(thing.kinds)
    habit = draft.pick(_HABITS) if more and again and not (past or negation) and draft.chance(0.15) else None
    verb_group(draft, subject, verb, past, negation, habit=habit)
    draft.put(thing)
    if more and draft.chance(0.25):
        say_place(draft, subject)
    if more and not habit and negation != "never" and draft.chance(0.15):
        _say_time(draft, past, again)


def say_move(draft: Draft, subject: Phrase, past: bool, negation: str = "", more: bool = True) -> None:
    """Append a verb without object. With `more`, sometimes append an adverb, a place or a time, too."""
    # A verb with être shows the gender of the subject in the past, and that of I is unknown: je suis allé, or allée?
    still = draft.chance(0.55) or (past and not subject.gender)
    verb = choose_verb(draft, INTRANSITIVE if still else MOVING, subject, past, negation != "not")
    sudden = verb.lemma in ("arrive", "leave", "fall")
    habit = draft.pick(_HABITS) if more and not (past or negation or sudden) and draft.chance(0.15) else None
    verb_group(draft, subject, verb, past, negation, habit=habit)
    if verb.lemma in ("go", "come back"):
        say_goal(draft, draft.pick(_GOALS[subject.doer]), *(("to", "à") if verb.lemma == "go" else ("from", "de")))
    elif verb.lemma == "stay" or (more and verb.lemma not in ("go", "arrive", "leave") and draft.chance(0.45)):
        say_place(draft, subject)
    if more and not habit and negation != "never" and draft.chance(0.25):
        _say_time(draft, past, still)


def choose_trait(draft: Draft, noun: Noun) -> str:
    """What may be said of a noun: tired, hungry, ripe."""
    if not {"person", "animal"}.isdisjoint(noun.kinds) and draft.chance(0.2):
        return draft.pick(tuple(STATES))
    return draft.pick(PREDICATES[noun]).english


def say_state(draft: Draft, subject: Phrase, past: bool, negative: bool = False) -> None:
    """Append what the subject is like: is very tired."""
    trait, degree = choose_trait(draft, subject.known_noun), None
    if draft.chance(0.3):
        degree = (
            ("too", "trop") if trait in _TOO and draft.chance(0.4) else ("very", "très") if trait in _VERY else None
        )
    describe(draft, subject, trait, past, negative, degree)


def say_clause(
    draft: Draft,
    past: bool,
    negative: float = 0.15,
    more: bool = False,
    pronouns: Sequence[str] = ("I", "you", "we"),
    states: float = 0.15,
    besides: Phrase | None = None,
) -> Phrase:
    """Append a whole clause, and return its subject.

    Args:
        negative: the share of clauses that are negated.
        more: whether adverbs, places and times may be added.
        pronouns: the pronouns that may be the subject.
        states: the share of clauses that say what somebody is like, rather than what somebody does.
        besides: the subject of an earlier clause, which may not return here.
    """
    negation = "not" if draft.chance(negative) else ""
    state = draft.chance(states)
    while True:
        subject = choose_subject(
            draft, pronouns=() if state else pronouns, adjectives="none" if state else "any", definite=state
        )
        if besides is None or not overlap(subject, besides):
            break
    draft.put(subject)
    if state:
        say_state(draft, subject, past, bool(negation))
    elif draft.chance(0.65):
        say_deed(draft, subject, past, negation, more)
    else:
        say_move(draft, subject, past, negation, more)
    return subject
