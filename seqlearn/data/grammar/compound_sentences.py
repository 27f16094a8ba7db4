"""Sentences of the built-in corpus with two clauses: and, but, when, because, if, that, who.

Each public function writes one sentence into a draft and returns its punctuation mark; `say_opinion` only begins one.
"""

from __future__ import annotations

from .clauses import (
    INTRANSITIVE,
    PEOPLE,
    SPOKEN,
    TRANSITIVE,
    choose_adjectives,
    choose_object,
    choose_subject,
    choose_verb,
    dress,
    overlap,
    say_clause,
    say_deed,
    say_move,
    say_place,
    say_state,
)
from .draft import Draft, Phrase
from .lexicon import ADJECTIVES, KINDS, OBJECTS, PREDICATES, VERBS, Noun, Verb
from .phrases import copula, describe, noun_phrase, pronoun, speaker, verb_group
from .simple_sentences import LYING, WHERE_LYING

_LYING = tuple(noun for noun in LYING if PREDICATES[noun] and "drink" not in noun.kinds)
_FEELINGS = ("hungry", "thirsty", "afraid", "tired", "sick", "sad", "happy")
_HUNTED = tuple(VERBS[lemma] for lemma in ("look for", "find", "sell"))
_WATCHED = tuple(VERBS[lemma] for lemma in ("see", "follow", "watch"))
# What makes people happy or sad: "Anne is sad because Tom left".
_NEWS = (
    ("sad", tuple(VERBS[lemma] for lemma in ("leave", "fall", "cry", "lose", "break"))),
    ("happy", tuple(VERBS[lemma] for lemma in ("arrive", "come back", "stay", "sing", "find"))),
)
# Why somebody does something: Tom sings because he is happy.
_MOODS = [
    (VERBS[verb], negation, why)
    for verb, negation, whys in (
        ("eat", "", "hungry"),
        ("drink", "", "thirsty"),
        ("sleep", "", "tired sick"),
        ("stay", "", "tired sick sad"),
        ("cry", "", "sad tired afraid hungry"),
        ("sing", "", "happy"),
        ("dance", "", "happy"),
        ("run", "", "afraid"),
        ("work", "not", "sick tired rich"),
        ("dance", "not", "sick tired sad"),
        ("sing", "not", "sick tired sad"),
        ("sleep", "not", "afraid hungry thirsty sick"),
    )
    for why in whys.split()
]


def two_clauses(draft: Draft) -> str:
    """Marie sings and Tom dances. When ..., ... Tom thinks that ... Anne is sad because Tom left."""
    roll, past = draft.roll(), draft.chance(0.5)
    if roll < 0.25:
        one = say_clause(draft, past, 0, states=0, more=True)
        draft.say("and", "et")
        say_clause(draft, past, 0, states=0, besides=one, more=True)
    elif roll < 0.45:
        _contrast(draft, past)
    elif roll < 0.62:
        when = draft.chance(0.5)
        draft.say(*(("when", "quand") if when else ("while", "pendant que")))
        if when and draft.chance(0.4):
            one = draft.put(choose_subject(draft, ("person",), (), "none", True))
            describe(draft, one, draft.pick(_FEELINGS))
        else:
            one = say_clause(draft, False, 0, states=0)
        draft.say(",", ",")
        say_clause(draft, False, 0, states=0, besides=one, more=True)
        draft.sensible &= draft.english[-1][0] not in ("today", "day")  # the first clause has said when
    elif roll < 0.84:
        say_clause(draft, past, besides=say_opinion(draft), more=True)
    else:
        _news(draft)
    return "."


def say_opinion(draft: Draft) -> Phrase:
    """Append: Tom thinks that. Return who thinks."""
    subject = draft.put(choose_subject(draft, ("person",), ("he",)))
    verb_group(draft, subject, VERBS[draft.pick(("say", "think"))])
    draft.say("that", "que")
    return subject


def _contrast(draft: Draft, past: bool) -> None:
    """Append: Tom is tired, but Marie isn't tired. Or: Tom washes the cup, but Marie washes the plate."""
    one = two = choose_subject(draft, ("person",), (), "none", True)
    while overlap(one, two):
        two = choose_subject(draft, ("person",), (), "none", True)
    traits = [trait for trait in PREDICATES[one.known_noun] if trait in PREDICATES[two.known_noun]]
    first = draft.chance(0.5)
    trait = draft.pick(traits).english if draft.chance(0.5) else None
    verb = choose_verb(draft, [verb for verb in TRANSITIVE if verb.english[0] != "read"], one, past)
    if trait:
        describe(draft, draft.put(one), trait, past, first)
        _say_but(draft)
        describe(draft, draft.put(two), trait, past, not first)
        return
    draft.put(one)
    thing = other = choose_object(draft, one, verb)
    verb_group(draft, one, verb, past)
    draft.put(thing)
    _say_but(draft)
    draft.put(two)
    while overlap(other, thing) or one.involves(other.noun):
        other = choose_object(draft, two, verb)
    verb_group(draft, two, verb, past)
    draft.put(other)


def _say_but(draft: Draft) -> None:
    draft.say(",", ",")
    draft.say("but", "mais")


def _news(draft: Draft) -> None:
    """Append: Anne is sad because Tom left."""
    subject, (feeling, verbs) = draft.put(choose_subject(draft, ("person",), (), "none", True)), draft.pick(_NEWS)
    describe(draft, subject, feeling)
    draft.say("because", "parce que")
    other = subject
    while overlap(other, subject):
        other = choose_subject(draft, pronouns=())
    draft.put(other)
    verb = choose_verb(draft, verbs, other, True)
    verb_group(draft, other, verb, True)
    if OBJECTS["person", verb.lemma]:
        draft.put(choose_object(draft, other, verb))


def mood(draft: Draft) -> str:
    """Tom sleeps because he is tired. I eat the bread if I am hungry."""
    subject, past = draft.put(choose_subject(draft, pronouns=("I", "we", "you"))), draft.chance(0.5)
    while True:
        verb, negation, why = draft.pick(_MOODS)
        forms = ADJECTIVES[why].french if why in ADJECTIVES else ("", "")
        agrees = subject.gender or (forms[0] == forms[1] and verb.lemma in SPOKEN)
        ambiguous = subject.doer == "animal" and OBJECTS["animal", verb.lemma]  # which "it"? `because` writes these
        if agrees and subject.doer in verb.doers and not ambiguous:
            break
    thing = choose_object(draft, subject, verb) if OBJECTS[subject.doer, verb.lemma] else None
    verb_group(draft, subject, verb, past, negation)
    if thing:
        draft.put(thing)
    elif verb.lemma == "stay" or (not negation and draft.chance(0.3)):
        say_place(draft, subject, beings=False)
    draft.say(*(("if", "si") if not past and draft.chance(0.4) else ("because", "parce que")))
    again = pronoun(draft, subject, "subject") if subject.noun else speaker(draft, subject.english[0][0])
    describe(draft, draft.put(again), why, past)
    return "."


# ---- Relative clauses ----


def relative(draft: Draft) -> str:
    """The girl who sings is happy. The apple that Tom eats is ripe."""
    roll, past = draft.roll(), draft.chance(0.5)
    if roll < 0.35:
        head, deed = draft.put(_head(draft, draft.pick((*PEOPLE, *KINDS["animal", ""])))), draft.chance(0.6)
        _who_does(draft, head, past, deed)
        if deed and draft.chance(0.6):
            verb = choose_verb(draft, INTRANSITIVE, head, past)
            verb_group(draft, head, verb, past)
        else:
            say_state(draft, head, False)
    elif roll < 0.6:
        say_state(draft, _that_somebody(draft, past), past)
    elif roll < 0.75:
        head = draft.put(_head(draft, draft.pick(_LYING)))
        draft.say("that", "qui")
        copula(draft, head)
        draft.join(*draft.pick(WHERE_LYING), dress(draft, draft.pick(KINDS["surface", ""]), definite=True))
        say_state(draft, head, False)
    elif roll < 0.9:
        subject, head = draft.put(choose_subject(draft)), None
        while head is None or subject.involves(head.noun):
            head = _head(draft, draft.pick((*PEOPLE, *KINDS["animal", ""])))
        verb = choose_verb(draft, _WATCHED, subject, past)
        verb_group(draft, subject, verb, past)
        _who_does(draft, draft.put(head), past, draft.chance(0.6))
    else:
        subject = draft.put(choose_subject(draft, ("person",), ("he",)))
        verb = draft.pick(_HUNTED)
        verb_group(draft, subject, verb, past)
        _that_somebody(draft, past, verb)
    return "."


def _head(draft: Draft, noun: Noun) -> Phrase:
    """A noun phrase that a relative clause may follow: with the or this, rarely with an adjective."""
    plural = not noun.single and draft.chance(0.2)
    adjectives = choose_adjectives(draft, noun, neutral=True) if draft.chance(0.15) else ()
    return noun_phrase(draft, noun, draft.pick(("the", "the", "the", "this")), plural, adjectives)


def _who_does(draft: Draft, head: Phrase, past: bool, deed: bool) -> None:
    """Append a relative clause whose subject is the head: who eats the apple, or who sings."""
    draft.say("who" if head.doer == "person" else "that", "qui")
    (say_deed if deed else say_move)(draft, head, past)


def _that_somebody(draft: Draft, past: bool, taker: Verb | None = None) -> Phrase:
    """Append: the apple that Tom eats. The participle agrees with the object: la pomme que Tom a mangée.

    Args:
        taker: a verb that the object has to fit, too.
    """
    one = choose_subject(draft, definite=True)
    while True:
        verb = choose_verb(draft, TRANSITIVE, one, past)
        noun = draft.pick(OBJECTS[one.doer, verb.lemma])
        fits = taker is None or (taker is not verb and noun in OBJECTS["person", taker.lemma])
        if "person" not in noun.kinds and noun is not one.noun and PREDICATES[noun] and fits:
            break
    head = draft.put(_head(draft, noun))
    draft.say("that", "que")
    verb_group(draft, draft.put(one), verb, past, agreeing=head)
    return head
