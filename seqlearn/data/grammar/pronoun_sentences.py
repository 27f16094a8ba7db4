"""Sentences of the built-in corpus whose pronoun has to be understood: what is "it"?

`object_pronoun` and `because` each write one sentence into a draft and return its punctuation mark. A sentence names
two nouns that "it" might stand for. Dice decide which noun is meant and whether the French genders differ, so
that neither the nearest noun nor the gender gives the answer away.
"""

from __future__ import annotations

from typing import NamedTuple

from .clauses import SPOKEN, choose_subject, dress, overlap, say_goal, say_place
from .compound_sentences import say_opinion
from .draft import THIRD, Draft, Phrase
from .lexicon import ADJECTIVES, KINDS, NAMES, OBJECTS, PREDICATES, VERBS, Noun, Verb, rows
from .phrases import describe, pronoun, speaker, verb_group

# first verb | what may follow: "finds the apple and eats it"
_SEQUELS = """
find | eat drink read take hide wash open carry sell
buy | eat drink read hide wash break open lose sell
take | eat drink read hide wash break open carry lose
see | take follow watch buy
look-for | find
wash | eat sell break
lose | look-for find
open | read take hide
prepare | eat drink
write | read sell lose hide
hide | look-for lose
watch | follow
carry | sell break open
"""

# Who does what to what, and why. "The goat eats the pear because it is hungry" (the goat) or "is ripe" (the pear):
# kind of doer | verb | + or - (negated) | kind of object or place | reasons of the doer | reasons in the object
_REASONS = """
animal | eat | + | fruit | hungry | ripe sweet delicious
animal | eat | - | fruit | tired sick afraid not-hungry | rotten sour not-ripe
animal | eat | + | dish | hungry | fresh delicious
animal | eat | - | dish | tired sick afraid not-hungry | rotten not-fresh
animal | drink | + | plain | thirsty | fresh delicious
animal | drink | - | plain | tired sick afraid not-thirsty | not-fresh
animal | take | + | fruit | hungry | ripe sweet delicious
animal | look-for | + | fruit | hungry | ripe sweet delicious
pet | break | + | fragile | afraid | fragile
strong | carry | + | load | not-tired | light not-heavy
strong | carry | - | load | tired sick afraid | heavy
little | sleep | + | container | tired sick | empty
pet | go | - | gate | tired sick afraid | closed
"""


class _Reason(NamedTuple):
    """A row of `_REASONS` for one noun. Only reasons that may be said of this noun are left."""

    doer: str
    verb: Verb
    negation: str
    noun: Noun
    doer_whys: tuple[str, ...]
    noun_whys: tuple[str, ...]


class _Rivals(NamedTuple):
    """Two phrases that "it" may stand for, and the reasons that fit each of them."""

    one: Phrase
    other: Phrase
    one_whys: tuple[str, ...]
    other_whys: tuple[str, ...]


def _verb(word: str) -> Verb:
    return VERBS[word.replace("-", " ")]


def _reasons() -> list[_Reason]:
    reasons = []
    for (doer,), (verb,), (sign,), (kind,), doer_whys, noun_whys in rows(_REASONS):
        for noun in KINDS[kind, ""]:
            said = [adjective.english for adjective in PREDICATES[noun]]
            whys = tuple(why for why in noun_whys if why.removeprefix("not-") in said)
            if whys:
                reasons.append(_Reason(doer, _verb(verb), "not" if sign == "-" else "", noun, doer_whys, whys))
    return reasons


_REASON_ROWS = _reasons()
# Why an animal is given food or drink, or not: (negation, noun, reasons of the animal, reasons in the food).
_GIFT_WHYS = ("hungry", "thirsty", "not-hungry", "not-thirsty", "sick")
_GIFT_ROWS = [
    (row.negation, row.noun, tuple(why for why in row.doer_whys if why in _GIFT_WHYS), row.noun_whys)
    for row in _REASON_ROWS
    if row.verb.lemma in ("eat", "drink")
]
# What is hidden in a box, and the reasons in it.
_HIDING_WHYS = [ADJECTIVES[why] for why in ("ripe", "sweet", "delicious", "rotten", "interesting")]
_HIDING_ROWS = [
    (noun, tuple(one.english for one in PREDICATES[noun] if one in _HIDING_WHYS))
    for noun in OBJECTS["person", "hide"]
    if not set(_HIDING_WHYS).isdisjoint(PREDICATES[noun])
]
# (first verb, second verb, noun) for (who does the first, who does the second).
_SEQUEL_ROWS = {
    (one, other): [
        (_verb(first), _verb(then), noun)
        for (first,), thens in rows(_SEQUELS)
        for then in thens
        for noun in OBJECTS[one, _verb(first).lemma]
        if noun in OBJECTS[other, _verb(then).lemma]
    ]
    for one in ("person", "animal")
    for other in ("person", "animal")
}
_REFUSED = ("eat", "drink", "read", "take", "find", "open", "buy", "wash")  # verbs that sound natural when negated
_MEETINGS = [("see", "follow"), ("see", "watch"), ("watch", "follow"), ("wait for", "see"), ("follow", "watch")]


def _rival(draft: Draft, kind: str, noun: Noun) -> Noun:
    """Another noun that "it" might stand for. In half of the cases its French gender differs from that of `noun`."""
    other = noun
    while other is noun:
        gender = noun.gender if draft.chance(0.5) else "mf".replace(noun.gender, "")
        other = draft.pick(KINDS[kind, gender])
    return other


def _rival_place(draft: Draft, doer: str, noun: Noun) -> None:
    """Append a place that "it" might stand for, too."""
    inside = ("in", "dans", "wild" if doer == "animal" else "inside")
    english, french, kind = draft.pick((inside, inside, ("near", "près de", "place")))
    draft.join(english, french, dress(draft, _rival(draft, kind, noun), definite=True))


# ---- Him, her, it, them ----


def object_pronoun(draft: Draft) -> str:
    """The dog finds the apple and eats it. Marie buys the cake but Tom doesn't eat it."""
    if draft.chance(0.12):
        return _meeting(draft)
    past, alone = draft.chance(0.5), draft.chance(0.75)
    thought = alone and draft.chance(0.16)
    if thought:
        say_opinion(draft)
    doer = "person" if draft.chance(0.5) else "animal"
    other = doer if alone else "person" if draft.chance(0.6) else "animal"
    first, then, noun = draft.pick(_SEQUEL_ROWS[doer, other])
    one = subject = draft.put(_finder(draft, doer, noun, (first, then) if alone else (first,), ("he",)))
    past = past and (subject.person == THIRD or "read" not in (first.lemma, then.lemma))
    verb_group(draft, subject, first, past)
    thing = draft.put(dress(draft, noun, subject))
    placed = alone and draft.chance(0.36)
    if placed:
        _rival_place(draft, doer, noun)
    negation = "not" if then.lemma in _REFUSED and draft.chance(0.35) else ""
    if negation and not alone:
        draft.say(",", ",")
    draft.say(*(("but", "mais") if negation else ("and", "et")))
    while not alone and (subject is one or overlap(one, subject) or subject.involves(noun)):
        subject = _finder(draft, other, noun, (then,))
    if not alone:
        draft.put(subject)
    elif subject.noun is None:
        if thought:
            draft.say("that", "que")  # Emma thinks that we found the key and that we hid it
        subject = draft.put(speaker(draft, subject.english[0][0]))
    it = pronoun(draft, thing, "object")
    verb_group(draft, subject, then, past, negation, it, agreeing=it)
    if not placed and then.lemma not in ("take", "carry") and draft.chance(0.2):
        say_place(draft, subject, beings=False)
    return "."


def _finder(draft: Draft, doer: str, noun: Noun, verbs: tuple[Verb, ...], he: tuple[str, ...] = ()) -> Phrase:
    """Somebody who can do all these verbs. "It" might stand for an animal too, so the animal is chosen as a rival."""
    if doer == "person":
        spoken = all(verb.lemma in SPOKEN for verb in verbs)
        return choose_subject(draft, ("person",), (("I", "you", "we") if spoken else ()) + he)
    kind = "animal" if all("animal" in verb.doers for verb in verbs) else "strong"
    return dress(draft, _rival(draft, kind, noun), definite=True)


def _meeting(draft: Draft) -> str:
    """Tom sees Marie and follows her. Anne waits for the boy and gives him an apple."""
    first, then = (VERBS[lemma] for lemma in draft.pick(_MEETINGS))
    past, subject = draft.chance(0.5), draft.put(choose_subject(draft, pronouns=("he",)))
    verb_group(draft, subject, first, past)
    noun = None
    while noun is None or subject.involves(noun):
        noun = draft.pick(OBJECTS["person", "wait for"] if draft.chance(0.5) else NAMES)
    someone = draft.put(dress(draft, noun, subject))
    draft.say("and", "et")
    if subject.doer == "person" and draft.chance(0.4):
        verb = VERBS[draft.pick(("give", "show"))]
        verb_group(draft, subject, verb, past, "", pronoun(draft, someone, "receiver"))
        draft.put(dress(draft, draft.pick(KINDS["thing", ""]), subject))
    else:
        them = pronoun(draft, someone, "object")
        verb_group(draft, subject, then, past, "", them, agreeing=them)
    return "."


# ---- It was ripe, or it was tired ----


def because(draft: Draft) -> str:
    """The goat didn't eat the pear because it was rotten, or because it was tired."""
    roll, past = draft.roll(), draft.chance(0.6)
    if draft.chance(0.15):
        say_opinion(draft)
    shape = _deed if roll < 0.6 else _gift if roll < 0.85 else _hiding
    rivals = shape(draft, past)
    meant, whys = (rivals.other, rivals.other_whys) if draft.chance(0.52) else (rivals.one, rivals.one_whys)
    draft.say("because", "parce que")
    why = draft.pick(whys)
    very = why in ("tired", "sick", "heavy", "light", "ripe", "sweet", "fragile") and draft.chance(0.25)
    it, trait = draft.put(pronoun(draft, meant, "subject")), why.removeprefix("not-")
    describe(draft, it, trait, past, trait != why, ("very", "très") if very else None)
    return "."


def _deed(draft: Draft, past: bool) -> _Rivals:
    """Append: the goat eats the pear. Either may be the reason."""
    kind, verb, negation, noun, doer_whys, thing_whys = draft.pick(_REASON_ROWS)
    doer = draft.put(dress(draft, _rival(draft, kind, noun), definite=True, adjectives="neutral"))
    verb_group(draft, doer, verb, past, negation)
    if verb.lemma == "go":
        thing = say_goal(draft, noun, "to", "à")
    elif verb.lemma == "sleep":
        thing = dress(draft, noun, definite=True, adjectives="neutral", single=True)
        draft.join("in", "dans", thing)
    else:
        definite = bool(negation) or draft.chance(0.6)
        thing = dress(draft, noun, doer, definite=definite, adjectives="neutral")
        draft.put(thing)
        if draft.chance(0.08) and verb.lemma in ("eat", "drink", "break"):
            _rival_place(draft, "animal", noun)
    return _Rivals(doer, thing, doer_whys, thing_whys)


def _gift(draft: Draft, past: bool) -> _Rivals:
    """Append: Marie gives the apple to the goat."""
    negation, noun, animal_whys, thing_whys = draft.pick(_GIFT_ROWS)
    subject, verb = draft.put(choose_subject(draft, ("person",))), VERBS[draft.pick(("give", "give", "bring"))]
    verb_group(draft, subject, verb, past, negation)
    definite = bool(negation) or draft.chance(0.6)
    thing = draft.put(dress(draft, noun, subject, definite=definite, adjectives="neutral"))
    animal = dress(draft, _rival(draft, "animal", noun), subject, definite=True, adjectives="neutral")
    draft.join("to", "à", animal)
    return _Rivals(animal, thing, animal_whys, thing_whys)


def _hiding(draft: Draft, past: bool) -> _Rivals:
    """Append: Tom hides the letter in the box."""
    noun, thing_whys = draft.pick(_HIDING_ROWS)
    subject, verb = draft.put(choose_subject(draft, ("person",))), VERBS["hide"]
    verb_group(draft, subject, verb, past)
    thing = draft.put(dress(draft, noun, subject, definite=draft.chance(0.7), adjectives="neutral"))
    box = dress(draft, _rival(draft, "container", noun), definite=True, adjectives="neutral", single=True)
    draft.join("in", "dans", box)
    return _Rivals(box, thing, ("empty",), thing_whys)
