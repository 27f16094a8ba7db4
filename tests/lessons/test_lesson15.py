"""The checks of lesson 15: right answers of several kinds, and typical wrong ones, each with its own diagnosis."""

import json
import re
from collections import Counter
from pathlib import Path

from answers import judged
from seqlearn import Translator, tatoeba_test
from seqlearn.exercises import lesson15

ROOT = Path(__file__).parents[2]


# ---- 15.2 ----


def right_precision(translation, references):
    counts = Counter(translation)
    right = sum(min(count, max(each.count(word) for each in references)) for word, count in counts.items())
    return right / len(translation) if translation else 0


def one_by_one(translation, references):
    right = 0
    for place, word in enumerate(translation):
        before = translation[:place].count(word)
        right += any(reference.count(word) > before for reference in references)
    return right / max(1, len(translation))


def by_crossing_out(translation, references):
    left, right = [list(each) for each in references], 0
    for word in translation:
        right += any(word in each for each in left)
        left = [each[: each.index(word)] + each[each.index(word) + 1 :] if word in each else each for each in left]
    return right / len(translation) if translation else 0.0


def crashes_on_nothing(translation, references):
    return right_precision(translation, references) if translation else len(translation) / 0


PRECISIONS = [
    (right_precision, "right!"),
    (one_by_one, "right!"),
    (by_crossing_out, "right!"),
    *((rule, why) for why, rule in lesson15._MISTAKES.items()),
    (crashes_on_nothing, "division by zero"),
    (lambda translation, references: right_precision(translation, references) if translation else 1, "empty"),
    (lambda translation, references: 0.9, "yours is 0.900"),
    (
        lambda words, people: right_precision(words, [" ".join(each) for each in people]),
        "('le a chat', ['les chats'",
    ),
    (lambda words, people: right_precision(words, people) * len(words) / max(1, *map(len, [words, *people])), "yours"),
    (lambda words, people: right_precision(*json.loads(json.dumps([words, people]).lower())), "'Le chat dort'"),
]


test_precision = judged(lesson15.check_precision, "15.2", PRECISIONS)


# ---- 15.3 ----


def typos(swap=lambda word: word[0] + word[2] + word[1] + word[3:], long=None, split=" ", join=" ", each=None):
    long = long or (lambda word: sum(letter.isalpha() for letter in word) >= 4)

    def with_typos(text, share, rng):
        found = []
        for word in text.split(split):
            asked = each(rng, share, word) if each else long(word) and rng.random() < share
            found.append(swap(word) if asked and long(word) else word)
        return join.join(found) if join is not None else found

    return with_typos


def swap_letters(word):
    second, third = [place for place, letter in enumerate(word) if letter.isalpha()][1:3]
    letters = list(word)
    letters[second], letters[third] = letters[third], letters[second]
    return "".join(letters)


def with_places(text, share, rng):
    words = text.split(" ")
    for place, word in enumerate(words):
        if len([letter for letter in word if letter.isalpha()]) > 3 and rng.random() < share:
            letters = list(word)
            letters[1:3] = reversed(letters[1:3])
            words[place] = "".join(letters)
    return " ".join(words)


def by_pattern(text, share, rng):
    """Whatever stands between two spaces is a word."""

    def spoiled(word):
        asked = len(re.sub(r"[\W\d_]", "", word[0])) >= 4 and rng.random() < share
        return word[0][0] + word[0][2] + word[0][1] + word[0][3:] if asked else word[0]

    return re.sub("[^ ]+", spoiled, text)


TYPOS = [
    (typos(), "right!"),
    (with_places, "right!"),
    (by_pattern, "right!"),
    (typos(long=lambda word: len(word) >= 4), "a word of three letters stays"),
    *(
        (typos(long=lambda word, count=count: count(word) >= 4), "count by `str.isalpha`")
        for count in (
            lambda word: len(re.findall("[A-Za-z]", word)),
            lambda word: len(re.findall(r"\w", word)),
            lambda word: len(word.strip(".,:'\"")),
        )
    ),
    (typos(swap=lambda word: word.replace(word[1:3], word[2] + word[1])), "bnanaa"),
    (typos(swap=lambda word: word[0] + word[2:0:-1].lower() + word[3:]), "lÉan"),
    (typos(swap=swap_letters), "lÉan"),
    (typos(swap=lambda word: word[1] + word[0] + word[2:]), "the first letter stays"),
    (typos(split=None), "several spaces stay"),
    (typos(each=lambda rng, share, word: rng.random() < share), "other words are spoiled"),
    (typos(each=lambda rng, share, word: True), "with share = 0, nothing changes"),
    (typos(join=None), "return a text"),
]


test_typos = judged(lesson15.check_typos, "15.3", TYPOS)


# ---- 15.4 ----


LABELS = [
    (lesson15.OURS, "right!"),
    ("RRGRRRWWWGGOGRRRWONRRNNRRGGGNN", "right!"),  # another reader
    ("RRWWRGGWWGWWGRRROONRRGNGWWOWNN", "right!"),
    (list(lesson15.OURS), "in quotes"),
    (lesson15.OURS.lower(), "none of the letters"),
    (lesson15.OURS[:-1], "you have 29 letters"),
    ("G" + lesson15.OURS[1:], "translation 1 is what the person wrote"),
    (lesson15.OURS[:28] + "RN", "translation 29 cannot be understood"),
]


test_labels = judged(lesson15.check_labels, "15.4", LABELS)


def test_the_differences_have_reasons():
    assert lesson15.differences(None) == lesson15.differences(lesson15.OURS) == []
    other = "".join("RN"[letter == "R"] for letter in lesson15.OURS)
    rows = lesson15.differences(other)
    assert [row[0] for row in rows] == list(range(1, 31)) and all(why for *_, why in rows)
    assert rows[2] == (3, "R", "W", lesson15.WHY[3]) and "good translation" in rows[0][-1]
    assert set(lesson15.WHY) == {place for place, letter in enumerate(lesson15.OURS, start=1) if letter != "R"}


def test_the_letters_are_those_of_what_the_model_writes():
    """The letters were given to these thirty translations; those that a person wrote letter by letter are right."""
    people = {}
    for pair in tatoeba_test():
        people.setdefault(pair.source, []).append(pair.target)
    sources = list(people)[20::46]
    found = Translator.pretrained("tatoeba", "cpu").translate_all(sources)
    cells = json.loads((ROOT / "notebooks/15-real-sentences.ipynb").read_text("utf-8"))["cells"]
    (listing,) = ["".join(cell["outputs"][0]["text"]) for cell in cells if cell["id"] == "l15-70"]
    assert [f"    model:  {text}\n" in listing for text in found] == [True] * 30 == [True] * len(lesson15.OURS)
    letters = zip(sources, found, lesson15.OURS, strict=True)
    assert {letter for source, text, letter in letters if text in people[source]} == {"R"}
