"""The grammar of both languages: builds noun phrases, pronouns and verb groups of the built-in corpus.

Nothing here is left to chance; `clauses` and the modules of sentences choose what to build.
"""

from __future__ import annotations

from collections.abc import Sequence

from .draft import FIRST, FORMAL, SECOND, THEY, THIRD, WE, Draft, Phrase, Token, contract
from .lexicon import (
    ADJECTIVES,
    BEFORE_VOWEL,
    DETERMINERS,
    IMPERFECT,
    NUMBERS,
    PRESENT,
    RIVALS,
    STATES,
    WHAT,
    Adjective,
    Noun,
    Verb,
    agree,
    starts_with_vowel,
)

# The concept of the English helper that has been said, and the pronoun that inversion attaches to the French verb.
Question = tuple[int, Token | None]

_DO = ("do", "do", "does", "do", "do", "do")
_BE = (("am", "are", "is", "are", "are", "are"), ("was", "were", "was", "were", "were", "were"))
_SPEAKERS = {"I": (FIRST, "je", "me"), "you": (SECOND, "tu", "te"), "we": (WE, "nous", "nous")}
_OBJECTS = {"I": "me", "you": "you", "we": "us"}
_CLITICS = ("je", "tu", "il", "elle", "nous", "vous", "ils", "elles")
_THIRD = {  # English he, she, it, they; French masculine, feminine, and both in the plural
    "subject": (("he", "she", "it", "they"), ("il", "elle", "ils", "elles")),
    "object": (("him", "her", "it", "them"), ("le", "la", "les", "les")),
    "receiver": (("him", "her", "it", "them"), ("lui", "lui", "leur", "leur")),
}


def _determiner(name: str, noun: Noun, plural: bool, english: str, french: str) -> tuple[str, str]:
    """The determiner in both languages; `english` and `french` are the words that follow it."""
    if name in NUMBERS:
        return name, NUMBERS[name]
    if name == "any":
        return "any", "de"
    article = "an" if english[0] in "aeiou" else "a"
    if name == "not a":
        return article, "de"
    if name == "what":
        return "what" if plural or noun.mass else f"what {article}", WHAT[2 * plural + (noun.gender == "f")]
    if name == "a" and noun.mass:
        return "some", "du" if noun.gender == "m" else "de la"
    word = DETERMINERS[name][2 if plural else noun.gender == "f"]
    if not plural and starts_with_vowel(french):
        word = BEFORE_VOWEL.get(word, word)
    if name == "a":
        name = "some" if plural else article
    elif name == "this" and plural:
        name = "these"
    return name.removesuffix(" (formal)"), word


def inflect(adjective: Adjective, gender: str, plural: bool, following: str = "") -> str:
    """The French form of an adjective. `following` is the next word, if the adjective precedes the noun: bel arbre."""
    if following and gender == "m" and not plural and len(adjective.french) == 5 and starts_with_vowel(following):
        return adjective.french[4]
    return adjective.french[2 * plural + (gender == "f")]


def noun_phrase(
    draft: Draft,
    noun: Noun,
    determiner: str = "the",
    plural: bool = False,
    adjectives: Sequence[Adjective] = (),
    owner: Phrase | None = None,
) -> Phrase:
    """A noun with its determiner and adjectives. An owner replaces the determiner: the dog's bone, l'os du chien."""
    head = draft.concept()
    draft.heads[head] = noun
    person = THEY if plural else THIRD
    if "name" in noun.kinds:
        token = ((noun.english[0], head),)
        return Phrase(token, token, person, noun.gender, noun, head)
    article = draft.concept()
    english: list[Token] = [(noun.english[plural], head)]
    french: list[Token] = [(noun.french[plural], head)]
    for adjective in reversed(adjectives):
        concept = draft.concept()
        english.insert(0, (adjective.english, concept))
        form = inflect(adjective, noun.gender, plural, french[0][0] if adjective.before else "")
        french.insert(0 if adjective.before else len(french), (form, concept))
    english_words, french_words = _determiner(determiner, noun, plural, english[0][0], french[0][0])
    french[:0] = [(word, article) for word in french_words.split()]
    if owner:
        english[:0] = [*owner.english, ("'s", article)]
        french += contract("de", article, owner.french)
    else:
        english[:0] = [(word, article) for word in english_words.split()]
    return Phrase(english, french, person, noun.gender, noun, head, article, owner.noun if owner else None)


def couple(one: Phrase, two: Phrase, conjunction: int) -> Phrase:
    """Two people as one plural phrase: Tom and Marie. It is masculine unless both are feminine."""
    gender = "f" if one.gender == two.gender == "f" else "m"
    return Phrase(
        [*one.english, ("and", conjunction), *two.english],
        [*one.french, ("et", conjunction), *two.french],
        THEY,
        gender,
        one.noun,
        conjunction,
        partner=two.noun,
    )


def speaker(draft: Draft, word: str, as_object: bool = False) -> Phrase:
    """The pronoun I, you or we, or as an object me, you or us. Its gender is unknown."""
    person, subject, other = _SPEAKERS[word]
    if person == SECOND and draft.formal:
        person, subject, other = FORMAL, "vous", "vous"
    concept = draft.concept()
    english, french = (_OBJECTS[word], other) if as_object else (word, subject)
    return Phrase(((english, concept),), ((french, concept),), person, "", None, concept)


def pronoun(draft: Draft, phrase: Phrase, role: str) -> Phrase:
    """The pronoun for a phrase. The draft notes the phrase as the antecedent of the pronoun.

    Args:
        role: "subject", "object" or "receiver" (the indirect object).
    """
    english, french = _THIRD[role]
    feminine = phrase.gender == "f"
    form = 3 if phrase.plural else feminine if "person" in phrase.kinds else 2
    concept = draft.concept()
    draft.pronouns.append((concept, phrase))
    target = french[2 * phrase.plural + feminine]
    return Phrase(((english[form], concept),), ((target, concept),), phrase.person, phrase.gender, phrase.noun, concept)


def ask(draft: Draft, helper: str, subject: Phrase) -> Question:
    """Append the beginning of a question: the English helper, est-ce que unless French inverts, and the subject.

    Returns what the verb has to know: the concept of the helper, and the pronoun that inversion attaches to the French
    verb (elle in mange-t-elle), or None.
    """
    asked = draft.concept()
    draft.add([(helper, asked), *subject.english], ())
    if not draft.inverted:
        draft.french += [("est", asked), ("-ce", asked), ("que", asked), *subject.french]
        return asked, None
    if subject.french[0][0] in _CLITICS:
        return asked, subject.french[0]
    draft.french += subject.french
    return asked, (_THIRD["subject"][1][2 * subject.plural + (subject.gender == "f")], asked)


def _finite(form: str, concept: int, clitic: Token | None) -> list[Token]:
    """A conjugated French verb, with the pronoun that inversion attaches to it: a, a-t-il."""
    if clitic is None:
        return [(form, concept)]
    word, *concepts = clitic
    hyphen = "-t-" if form[-1] in "ae" and word[0] in "ie" else "-"
    return [(form, concept), (hyphen + word, *concepts)]


def do(subject: Phrase, past: bool) -> str:
    """The English helper of a question or a negation."""
    return "did" if past else _DO[subject.person]


def verb_group(
    draft: Draft,
    subject: Phrase,
    verb: Verb,
    past: bool = False,
    negation: str = "",
    pronoun: Phrase | None = None,
    agreeing: Phrase | None = None,
    habit: tuple[str, str] | None = None,
    question: Question | None = None,
) -> None:
    """Append a verb with its auxiliary, negation, object pronoun and adverb.

    Args:
        negation: "", "not" or "never".
        pronoun: an object pronoun. It follows the verb in English and precedes it in French.
        agreeing: the object, if it precedes a French participle: then the participle agrees with it.
        habit: an adverb in both languages. It precedes the verb in English and follows it in French.
        question: what `ask` returned, if `ask` has begun a question.
    """
    core, no, person = draft.concept(), draft.concept(), subject.person
    base, third, past_form = verb.english
    english: list[Token] = [(past_form if past else third if person == THIRD else base, core)]
    helper, clitic = question or (core, None)
    if negation == "not":
        helper, english = no, [(do(subject, past) + "n't", no), (base, core)]
    elif negation:
        english.insert(0, (negation, no))
    elif question:
        english = [(base, core)]
    french = _finite((PRESENT[verb.auxiliary] if past else verb.present)[person], helper if past else core, clitic)
    if pronoun:
        french[:0] = pronoun.french
    if negation:
        french = [("ne", no), *french, ("pas" if negation == "not" else "jamais", no)]
    if habit:
        adverb = draft.concept()
        english.insert(0, (habit[0], adverb))
        french.append((habit[1], adverb))
    if past:
        by = subject if verb.auxiliary == "être" else agreeing
        french.append((agree(verb.participle, by.gender, by.plural) if by else verb.participle, core))
    if verb.particle:
        english.append((verb.particle, core))
    draft.add([*english, *(pronoun.english if pronoun else ())], french)


def be(subject: Phrase, past: bool) -> str:
    """The English form of be."""
    return _BE[past][subject.person]


def copula(
    draft: Draft,
    subject: Phrase,
    past: bool = False,
    negative: bool = False,
    auxiliary: str = "être",
    question: Question | None = None,
    there: int | None = None,
) -> None:
    """Append a form of be, and of être, or of avoir: English is hungry, French has hunger.

    Args:
        auxiliary: "être" or "avoir".
        question: what `ask` returned, if `ask` has begun a question (with the English verb).
        there: the concept of "there" in "there is". The French il y a does not agree with the noun.
    """
    concept, clitic = question or (draft.concept(), None)
    french = _finite((IMPERFECT if past else PRESENT)[auxiliary][THIRD if there else subject.person], concept, clitic)
    english: list[Token] = [] if question else [(be(subject, past), concept)]
    if there:
        french.insert(0, ("y", there))
    if negative:
        no = draft.concept()
        english = [("am", concept), ("not", no)] if english[0][0] == "am" else [(english[0][0] + "n't", concept, no)]
        french = [("ne", no), *french, ("pas", no)]
    draft.add(english, french)


def describe(
    draft: Draft,
    subject: Phrase,
    trait: str,
    past: bool = False,
    negative: bool = False,
    degree: tuple[str, str] | None = None,
    question: Question | None = None,
) -> None:
    """Append be and an adjective: is tired, est fatiguée. Or a state: is hungry, in French a faim (has hunger)."""
    meant = next((phrase for concept, phrase in draft.pronouns if concept == subject.head), subject)
    draft.sensible &= not meant.says(*RIVALS.get(trait, ()))  # a sad hero who sings because he is happy
    state = STATES.get(trait)
    copula(draft, subject, past, negative, "avoir" if state else "être", question)
    if degree:
        draft.say(*degree)
    draft.say(trait, state or inflect(ADJECTIVES[trait], subject.gender, subject.plural))


def compare(draft: Draft, subject: Phrase, adjective: Adjective, manner: str, other: Phrase) -> None:
    """Append a comparison, after a form of be: taller than Tom, plus grande que Tom.

    Args:
        manner: "more", "less" or "as" (as tall as, aussi grand que).
    """
    form = inflect(adjective, subject.gender, subject.plural)
    if manner == "as":
        draft.say("as", "aussi")
        draft.say(adjective.english, form)
        draft.join("as", "que", other)
        return
    if adjective.english == "good":
        draft.say("better", agree("meilleur", subject.gender, subject.plural))
    elif manner == "more" and adjective.comparative != "more":
        draft.say(adjective.comparative, f"plus {form}")
    else:
        draft.say(manner, "plus" if manner == "more" else "moins")
        draft.say(adjective.english, form)
    draft.join("than", "que", other)
