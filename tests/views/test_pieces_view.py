"""PiecesView: its pieces are those of a slow definition and of `BPETokenizer`; wrong input is refused."""

import re
from collections import Counter
from itertools import pairwise

import pytest
from views.refusals import keeps, refuses

from seqlearn.data.grammar import write_pairs
from seqlearn.data.text import BPETokenizer
from seqlearn.views import PiecesView

SEVEN = "wash washes washing washed eat eats eating".split()
MERGES = [tuple(merge.split()) for merge in "▁ w,▁w a,▁wa s,▁was h,▁ e,▁e a,▁ea t,▁wash e,i n,in g".split(",")]


def view(**settings):
    return PiecesView(SEVEN, MERGES, **settings)


def by_definition(word, merges):
    """With one regular expression for each merge: pieces stand between bars."""
    text = "|".join(["|▁", *word, ""])
    for left, right in merges:
        text = re.sub(f"(?<=\\|){re.escape(left)}\\|{re.escape(right)}(?=\\|)", left + right, text)
    return text.strip("|").split("|")


def test_the_merges_of_the_seven_words_are_the_most_frequent_neighbours():
    """As lesson 01 finds them; of equally frequent pairs, the one that was seen first."""
    for joins, merge in enumerate(MERGES):
        shown = view(joins=joins)
        counts = Counter(pair for word in SEVEN for pair in pairwise(shown.pieces(word)))
        assert counts.most_common(1)[0][0] == merge


@pytest.mark.parametrize("word", [*SEVEN, "seating", "banana", "eaeae", "", "kiwi", "inginging"])
def test_the_pieces_are_those_of_the_definition(word):
    for joins in range(len(MERGES) + 1):
        assert view(joins=joins).pieces(word) == by_definition(word, MERGES[:joins]), joins


def test_the_pieces_are_those_of_the_package():
    """Its merges are texts with a space; all words of some sentences, and one that was not learned."""
    lines = [pair.target for pair in write_pairs(200)]
    learned = BPETokenizer.learn(lines, size=200, language="fr")
    words = sorted(set(" ".join(map(learned.normalize, lines)).split()))
    words = [*filter(str.isalpha, words), "lavera"]
    shown = PiecesView(words, learned.merges, joins=len(learned.merges))
    assert len(words) > 100 and len(learned.merges) > 100
    assert [shown.pieces(word) for word in words] == [learned.tokenize(word) for word in words]
    assert set(shown.vocabulary()) <= set(learned.tokens)


def test_the_vocabulary_grows_by_a_piece_with_each_join():
    assert view().vocabulary() == list("▁adeghinstw")
    assert view(joins=2).vocabulary() == [*"▁adeghinstw", "▁w", "▁wa"]
    assert [len(view(joins=joins).vocabulary()) for joins in range(11)] == list(range(11, 22))
    twice = PiecesView(["abc"], ["a b", "ab c", "b c", "a bc"], joins=4)
    assert twice.vocabulary() == ["▁", "a", "b", "c", "ab", "abc", "bc"], "made in two ways, it is one piece"


def test_what_is_said_of_it_is_the_same_in_every_run():
    assert repr(view(joins=4, word="kiwi")) == "PiecesView(7 words, 4 of 10 joins)"
    assert view().title() == "How letters become pieces: 7 words, 0 of 10 joins"


test_a_merge_has_two_pieces = refuses(
    lambda merge: PiecesView(SEVEN, [merge]),
    [
        ({"merge": merge}, re.escape(f'two pieces, as in ("e", "a") or "e a"; got {merge!r}'))
        for merge in ("ab", "a b c", ("a",), ("a", "b", "c"), ("a", ""), " a", 7)
    ],
)


test_as_many_joins_as_there_are_merges = keeps(
    view, [("joins", joins, f"joins is from 0 to 10, not {joins}") for joins in (-1, 11)]
)
