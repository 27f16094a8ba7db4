"""The built-in corpus: a grammar that writes English sentences together with their French translations.

`lexicon` has the words, `draft` the sentence while it grows, `phrases` the rules of both languages, `clauses` who does
what, `sentences` and `compound` the plain kinds of sentence. Here are those whose "it" has to be understood, and
`write_pairs`.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from ..pairs import Pair
from . import compound_sentences, simple_sentences
from .clauses import SPOKEN, choose_subject, dress, overlap, say_goal, say_place
from .draft import THIRD, Draft, Phrase
from .lexicon import ADJECTIVES, KINDS, NAMES, OBJECTS, PREDICATES, VERBS, Noun, Verb
from .phrases import describe, pronoun, speaker, verb_group

MOST = 100_000  # pairs that one call may ask for
LONGEST = 24  # tokens of a sentence, on either side

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

# doer | verb | negated or not | object or place | why the doer | why the other: "The goat eats the pear because it ..."
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


def _rows(table: str) -> list[list[tuple[str, ...]]]:
    """The cells of a table as words; look-for is one verb."""
    return [
        [tuple(word.replace("look-", "look ") for word in cell.split()) for cell in line.split(" | ")]
        for line in table.strip().splitlines()
    ]


def _reasons() -> list[tuple[str, Verb, str, Noun, tuple[str, ...], tuple[str, ...]]]:
    found = []
    for (doer,), (verb,), (sign,), (kind,), doer_whys, other_whys in _rows(_REASONS):
        for noun in KINDS[kind, ""]:
            said = [adjective.english for adjective in PREDICATES[noun]]
            whys = tuple(why for why in other_whys if why.removeprefix("not-") in said)
            if whys:
                found.append((doer, VERBS[verb], _NEGATION[sign], noun, doer_whys, whys))
    return found


_NEGATION = {"+": "", "-": "not"}
_REASON_ROWS = _reasons()  # (kind of doer, verb, negation, noun, why the doer, why the noun)
_GIFT_WHYS = ("hungry", "thirsty", "not-hungry", "not-thirsty", "sick")
_GIFT_ROWS = [
    (negation, noun, tuple(why for why in whys if why in _GIFT_WHYS), other_whys)
    for _, verb, negation, noun, whys, other_whys in _REASON_ROWS
    if verb.lemma in ("eat", "drink")
]
_HIDING_WHYS = [ADJECTIVES[why] for why in ("ripe", "sweet", "delicious", "rotten", "interesting")]
_HIDING_ROWS = [
    (noun, [one.english for one in PREDICATES[noun] if one in _HIDING_WHYS])
    for noun in OBJECTS["person", "hide"]
    if not set(_HIDING_WHYS).isdisjoint(PREDICATES[noun])
]
# (first verb, second verb, noun) by who does the first and who the second.
_SEQUEL_ROWS = {
    (one, two): [
        (VERBS[first], VERBS[then], noun)
        for (first,), thens in _rows(_SEQUELS)
        for then in thens
        for noun in OBJECTS[one, first]
        if noun in OBJECTS[two, then]
    ]
    for one in ("person", "animal")
    for two in ("person", "animal")
}
_REFUSED = ("eat", "drink", "read", "take", "find", "open", "buy", "wash")  # what one may well not do next
_MEETINGS = [("see", "follow"), ("see", "watch"), ("watch", "follow"), ("wait for", "see"), ("follow", "watch")]


def _rival(draft: Draft, kind: str, noun: Noun) -> Noun:
    """Another noun that "it" might stand for; in half of the cases its French gender differs from that of `noun`."""
    other = noun
    while other is noun:
        gender = noun.gender if draft.chance(0.5) else "mf".replace(noun.gender, "")
        other = draft.pick(KINDS[kind, gender])
    return other


def _rival_place(draft: Draft, doer: str, noun: Noun) -> None:
    """Append a place that "it" might stand for too."""
    inside = ("in", "dans", "wild" if doer == "animal" else "inside")
    english, french, kind = draft.pick((inside, inside, ("near", "près de", "place")))
    draft.join(english, french, dress(draft, _rival(draft, kind, noun), definite=True))


# ---- Him, her, it, them ----


def _object_pronoun(draft: Draft) -> str:
    """The dog finds the apple and eats it. Marie buys the cake but Tom doesn't eat it."""
    if draft.chance(0.12):
        return _meeting(draft)
    past, alone = draft.chance(0.5), draft.chance(0.75)
    if alone and draft.chance(0.16):
        compound_sentences.say_opinion(draft)
    doer = "person" if draft.chance(0.5) else "animal"
    other = doer if alone else "person" if draft.chance(0.6) else "animal"
    first, then, noun = draft.pick(_SEQUEL_ROWS[doer, other])
    subject = draft.put(_finder(draft, doer, noun, (first, then) if alone else (first,), ("he",)))
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
    one = subject
    while not alone and (subject is one or overlap(one, subject) or subject.involves(noun)):
        subject = _finder(draft, other, noun, (then,))
    if not alone:
        draft.put(subject)
    elif subject.noun is None:
        subject = draft.put(speaker(draft, subject.english[0][0]))
    it = pronoun(draft, thing, "object")
    draft.combine(first, thing)
    draft.combine(then, thing)
    verb_group(draft, subject, then, past, negation, it, agreeing=it)
    if not placed and then.lemma not in ("take", "carry") and draft.chance(0.2):
        say_place(draft, subject, beings=False)
    return "."


def _finder(draft: Draft, doer: str, noun: Noun, verbs: tuple[Verb, ...], he: tuple[str, ...] = ()) -> Phrase:
    """Who does it; an animal may be taken for "it", so its gender is balanced against that of the noun."""
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
    draft.combine(first, someone)
    draft.say("and", "et")
    if subject.doer == "person" and draft.chance(0.4):
        verb = VERBS[draft.pick(("give", "show"))]
        verb_group(draft, subject, verb, past, "", pronoun(draft, someone, "receiver"))
        draft.combine(verb, draft.put(dress(draft, draft.pick(KINDS["thing", ""]), subject)))
    else:
        them = pronoun(draft, someone, "object")
        draft.combine(then, someone)
        verb_group(draft, subject, then, past, "", them, agreeing=them)
    return "."


# ---- It was ripe, it was tired ----


def _because(draft: Draft) -> str:
    """The goat didn't eat the pear because it was rotten, or because it was tired."""
    roll, past = draft.random(), draft.chance(0.6)
    if draft.chance(0.15):
        compound_sentences.say_opinion(draft)
    shape = _deed if roll < 0.6 else _gift if roll < 0.85 else _hiding
    one, other, one_whys, other_whys = shape(draft, past)
    meant, whys = (other, other_whys) if draft.chance(0.52) else (one, one_whys)
    draft.say("because", "parce que")
    why = draft.pick(whys)
    very = why in ("tired", "sick", "heavy", "light", "ripe", "sweet", "fragile") and draft.chance(0.25)
    it, trait = draft.put(pronoun(draft, meant, "subject")), why.removeprefix("not-")
    describe(draft, it, trait, past, trait != why, ("very", "très") if very else None)
    return "."


def _deed(draft: Draft, past: bool) -> tuple:
    """Append the goat eats the pear: who, what, and why either."""
    kind, verb, negation, noun, doer_whys, thing_whys = draft.pick(_REASON_ROWS)
    doer = draft.put(dress(draft, _rival(draft, kind, noun), definite=True, adjectives="neutral"))
    verb_group(draft, doer, verb, past, negation)
    if verb.lemma == "go":
        draft.combine(verb, doer, subject=True)
        thing = say_goal(draft, noun, "to", "à")
    elif verb.lemma == "sleep":
        draft.combine(verb, doer, subject=True)
        thing = dress(draft, noun, definite=True, adjectives="neutral", single=True)
        draft.join("in", "dans", thing)
    else:
        definite = bool(negation) or draft.chance(0.6)
        thing = dress(draft, noun, doer, definite=definite, adjectives="neutral")
        draft.combine(verb, draft.put(thing))
        if draft.chance(0.08) and verb.lemma in ("eat", "drink", "break"):
            _rival_place(draft, "animal", noun)
    return doer, thing, doer_whys, thing_whys


def _gift(draft: Draft, past: bool) -> tuple:
    """Append Marie gives the apple to the goat."""
    negation, noun, animal_whys, thing_whys = draft.pick(_GIFT_ROWS)
    subject, verb = draft.put(choose_subject(draft, ("person",))), VERBS[draft.pick(("give", "give", "bring"))]
    verb_group(draft, subject, verb, past, negation)
    definite = bool(negation) or draft.chance(0.6)
    thing = draft.put(dress(draft, noun, subject, definite=definite, adjectives="neutral"))
    draft.combine(verb, thing)
    animal = dress(draft, _rival(draft, "animal", noun), subject, definite=True, adjectives="neutral")
    draft.join("to", "à", animal)
    return animal, thing, animal_whys, thing_whys


def _hiding(draft: Draft, past: bool) -> tuple:
    """Append Tom hides the letter in the box."""
    noun, thing_whys = draft.pick(_HIDING_ROWS)
    subject, verb = draft.put(choose_subject(draft, ("person",))), VERBS["hide"]
    verb_group(draft, subject, verb, past)
    thing = draft.put(dress(draft, noun, subject, definite=draft.chance(0.7), adjectives="neutral"))
    draft.combine(verb, thing)
    box = dress(draft, _rival(draft, "container", noun), definite=True, adjectives="neutral", single=True)
    draft.join("in", "dans", box)
    return box, thing, ("empty",), thing_whys


# ---- The corpus ----

_CONSTRUCTIONS = (  # name, share in percent, who writes it
    ("simple", 17, simple_sentences.simple),
    ("question", 9, simple_sentences.question),
    ("object-pronoun", 20, _object_pronoun),
    ("because", 20, _because),
    ("mood", 4, compound_sentences.mood),
    ("two-clauses", 7, compound_sentences.two_clauses),
    ("relative", 6, compound_sentences.relative),
    ("there-is", 5, simple_sentences.there_is),
    ("age", 2, simple_sentences.age),
    ("comparison", 4, simple_sentences.comparison),
    ("giving", 6, simple_sentences.giving),
)
_WHEEL = [(name, write) for name, share, write in _CONSTRUCTIONS for _ in range(share)]


def _write(dice: Callable[[], float], ambiguous: bool = False) -> Pair:
    draft = Draft(dice, ambiguous)
    name, write = draft.pick(_WHEEL)
    return draft.finish(write(draft), name)


def write_pairs(count: int = 30_000, seed: int = 0, ambiguous: bool = False) -> list[Pair]:
    """Write English-French pairs, all different, with gold links and the antecedents of their pronouns.

    The same arguments give the same pairs on every platform and every Python.

    Args:
        count: how many, 1 to 100,000.
        seed: another seed writes other pairs.
        ambiguous: leave choices that English does not settle, so that one source may come with several targets: "you"
            is tu or vous (60 : 40), a question uses est-ce que or inversion (60 : 40). Without it sources differ too.

    Raises:
        ValueError: if `count` is out of range.
    """
    if not 1 <= count <= MOST:
        raise ValueError(f"count must be between 1 and {MOST}, not {count}")
    dice = random.Random(seed).random
    pairs: dict[tuple[str, str], Pair] = {}
    while len(pairs) < count:
        pair = _write(dice, ambiguous)
        if max(pair.alignment[-1]) < LONGEST:  # The last link is that of the punctuation mark.
            pairs.setdefault((pair.source, pair.target if ambiguous else ""), pair)
    return list(pairs.values())
