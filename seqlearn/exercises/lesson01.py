"""Checks of lesson 01. The oracles are loops over plain lists: they import nothing that the lesson is about."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_parts, has_shape, matches
from .plain import Answer

Pair: TypeAlias = tuple[str, str]

NEAR = 0.08  # how far the held-out share of 400 sentences may be off: dice stay within 0.075 in 99.7 % of all cases


@check("1.1", section="5. Padding, truncation, valid length")
def check_pad_batch(pad_batch: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """Try out `pad_batch(sentences, pad_id, steps)` -> (ids, valid lengths)."""
    for sentences, pad_id, steps in (
        ([[5, 6, 7, 2], [8, 2], [9, 4, 2]], 0, 4),
        ([[5, 6, 7, 2], [8, 2], [9, 4, 2]], 0, 6),
        ([[5, 6, 7, 8, 9, 2], [8, 2], [9, 4, 7, 2]], 1, 3),
        ([[8, 2], [9, 4, 7, 8, 2], [5, 6, 2], [9, 2], [7, 7, 7, 7, 7, 7, 2]], 3, 5),
    ):
        ids, lengths = has_parts(called(pad_batch, sentences, pad_id, steps), "ids", "valid lengths")
        count, longest = len(sentences), max(map(len, sentences))
        hint = "cut longer sentences." if longest > steps else "`steps` is the width, not the longest sentence."
        shapes = {
            (count, longest): f"with steps={steps}, your rows are {longest} wide: {hint}",
            (count,): "the parts are the wrong way round: return the ids first, then the valid lengths.",
        }
        has_shape(ids, (count, steps), "ids", shapes)
        has_shape(lengths, (count,), "valid lengths")
        for name, part in (("ids", ids), ("valid lengths", lengths)):
            if part.is_floating_point() or part.dtype == torch.bool:
                raise Wrong(f"the {name} should be whole numbers; yours are {part.dtype}.")
        call, right = f"pad_batch({sentences}, {pad_id}, {steps})", _padded(sentences, pad_id, steps)
        slips = _wrong_ids(sentences, pad_id, steps)
        matches(ids, right, slips, otherwise=f"the ids of {call} should be {right}; yours: {ids.tolist()}.")
        valid = [min(steps, len(sentence)) for sentence in sentences]
        told = "the ids are right, but"
        whole, padding = [len(sentence) for sentence in sentences], [steps - length for length in valid]
        slips = {
            f"{told} a valid length is {longest} in a row of {steps}: what is cut off does not count.": whole,
            f"{told} the valid lengths count the padding, too.": [steps] * count,
            f"{told} the valid lengths count the padding instead of the rest.": padding,
            f"{told} each valid length is one too small: <eos> counts, too.": [length - 1 for length in valid],
        }
        otherwise = f"{told} the valid lengths of {call} should be {valid}; yours: {lengths.tolist()}."
        matches(lengths, valid, slips, otherwise=otherwise)


def _padded(sentences: list[list[int]], pad_id: int, steps: int) -> list[list[int]]:
    return [[*sentence, *[pad_id] * steps][:steps] for sentence in sentences]


def _wrong_ids(sentences: list[list[int]], pad_id: int, steps: int) -> dict[str, list[list[int]]]:
    def padded(cut: Callable[[list[int]], list[int]]) -> list[list[int]]:
        return _padded([cut(sentence) for sentence in sentences], pad_id, steps)

    on_the_left = [row[::-1] for row in padded(lambda sentence: sentence[::-1])]
    by_length = sorted(sentences, key=len)
    longest_first = sorted(sentences, key=len, reverse=True)
    filled = "the rows are filled up with {}, but pad_id is {}."
    return {
        **{filled.format(other, pad_id): _padded(sentences, other, steps) for other in (0, -1, 1, 2)},
        "the padding is on the left, or the left end is cut off: keep the beginning, pad on the right.": on_the_left,
        f"of a sentence that is too long you kept the last {steps} ids: keep the first ones.": (
            padded(lambda sentence: sentence[-steps:])
        ),
        f"you cut the middle out and kept <eos>: keep the first {steps} ids, whatever comes after them.": (
            padded(lambda sentence: sentence[: steps - 1] + sentence[max(steps, len(sentence)) - 1 :])
        ),
        "you keep one id too few of a long sentence: `sentence[:steps]` has `steps` ids.": (
            padded(lambda sentence: sentence[: steps - 1])
        ),
        "the rows are sorted by length: keep the order of the sentences.": _padded(by_length, pad_id, steps),
        "the rows are sorted by length, the longest first: keep the order of the sentences.": (
            _padded(longest_first, pad_id, steps)
        ),
    }


@check("1.2", section="8. Pieces of words")
def check_apply_merges(apply_merges: Callable[..., list[str]]) -> None:
    """Try out `apply_merges(word, merges)` -> pieces."""
    for word, merges in (
        ("abca", [("b", "c"), ("a", "b"), ("x", "y")]),
        ("eats", [("▁", "e"), ("▁e", "a"), ("▁ea", "t")]),
        ("banana", [("a", "n"), ("an", "an"), ("▁", "b")]),
        ("baaa", [("a", "a")]),
        ("bcabc", [("b", "c"), ("a", "b")]),
        ("abc", [("b", "c"), ("ab", "c")]),
        ("abc", [("ab", "c"), ("a", "b")]),
    ):
        answer = called(apply_merges, word, merges)
        if not isinstance(answer, list | tuple) or not all(isinstance(piece, str) for piece in answer):
            raise Wrong(f"return a list of pieces, such as ['▁', 'a']; yours is of type {type(answer).__name__}.")
        pieces, joined, right = list(answer), "".join(answer), _merged(word, merges)
        said = f'"{word}" with the merges {merges} should give {right}; yours: {pieces}.'
        if joined == word:
            raise Wrong(f'{said} The word has to begin with "▁".')
        if joined == "_" + word:
            raise Wrong(f'{said} It begins with "_", which is the underscore: copy "▁" ("\\u2581").')
        if joined != "▁" + word:
            raise Wrong(f'{said} Joined, the pieces should give "▁{word}": characters were lost or doubled.')
        slips = {f"{said} {slip}": wrong for slip, wrong in _wrong_pieces(word, merges).items()}
        advice = "Take the merges one after the other; for each, walk through the pieces from left to right."
        matches(pieces, right, slips, otherwise=f"{said} {advice}")


def _fits(a: str, b: str, pair: Pair) -> bool:
    return (a, b) == pair


def _joined(pieces: list[str], pair: Pair, fits: Callable[[str, str, Pair], bool] = _fits) -> list[str]:
    """The pieces after one merge; `fits` decides which two it joins."""
    pieces, index = list(pieces), 0
    while index < len(pieces) - 1:
        a, b = pieces[index : index + 2]
        if fits(a, b, pair):
            pieces[index : index + 2] = [a + b]
        index += 1
    return pieces


def _joined_once(pieces: list[str], pair: Pair) -> list[str]:
    for place, both in enumerate(pairwise(pieces)):
        if both == pair:
            return [*pieces[:place], "".join(pair), *pieces[place + 2 :]]
    return pieces


def _joined_again(pieces: list[str], pair: Pair) -> list[str]:
    """A merge that goes on with the piece that it has just made."""
    found = pieces[:1]
    for piece in pieces[1:]:
        if found[-1].endswith(pair[0]) and piece == pair[1]:
            found[-1] += piece
        else:
            found.append(piece)
    return found


def _merged(word: str, merges: list[Pair], joined: Callable[[list[str], Pair], list[str]] = _joined) -> list[str]:
    return functools.reduce(joined, merges, ["▁", *word])


def _wrong_pieces(word: str, merges: list[Pair]) -> dict[str, list[str]]:
    def by(fits: Callable[[str, str, Pair], bool]) -> list[str]:
        return _merged(word, merges, functools.partial(_joined, fits=fits))

    return {
        "Nothing was joined.": ["▁", *word],
        "Only the first merge was carried out: is there a `return` inside the loop?": _merged(word, merges[:1]),
        "Each merge joins its pair *everywhere* in the word, not only where the pair comes first.": (
            _merged(word, merges, _joined_once)
        ),
        "Each merge has one turn, in the order of the list: an earlier one does not come again after a later one.": (
            _merged(word, merges * len(word))
        ),
        "The merges have an order: the first one learned comes first.": _merged(word, merges[::-1]),
        'A pair is two *whole* pieces: "a" and "b" do not match "a" and "bc".': (
            by(lambda a, b, pair: a.endswith(pair[0]) and b.startswith(pair[1]))
        ),
        'A pair is these two pieces: "ab" and "c" do not match "a" and "bc", although both give "abc".': (
            by(lambda a, b, pair: a + b == "".join(pair))
        ),
        'A join makes *another* piece: "aa" and "a" are not the pair ("a", "a").': (
            _merged(word, merges, _joined_again)
        ),
    }


@check("1.3", section="9. Splitting without a leak")
def check_split_by_source(split_by_source: Callable[..., tuple[list, list]]) -> None:
    """Try out `split_by_source(pairs, share, seed)` -> (train, held out)."""

    def split(pairs: list[Pair], share: float = 0.2, seed: int = 1) -> Sequence[Answer]:
        parts = has_parts(called(split_by_source, pairs, share, seed), "train pairs", "held-out pairs")
        for part in parts:
            for pair in part:
                if isinstance(pair, str) or [isinstance(text, str) for text in pair] != [True, True]:
                    raise Wrong(f"each part should be a list of pairs (english, french); yours holds {pair!r}.")
        return parts

    def held_out(pairs: list[Pair], seed: int = 1) -> list[str]:
        return _sources(split(pairs, seed=seed)[1])

    # 400 English sentences with 1 to 5 translations each, shuffled; every tenth pair is there twice, and most French
    # sentences translate two English ones
    pairs = [(f"Sentence {i}.", f"Phrase {i // 2}, {way}.") for i in range(400) for way in range(1 + i % 5)]
    pairs += pairs[::10]
    random.Random(0).shuffle(pairs)
    for share in (0.2, 0.4):
        train, held = split(pairs, share)
        _examine_parts(train, held, pairs, share)
    first = held_out(pairs)
    if held_out(pairs) != first:
        raise Wrong("two calls with the same seed give two different splits: make your own random.Random(seed).")
    if all(held_out(pairs, seed) == first for seed in range(2, 7)):
        raise Wrong("every seed gives the same split: use the seed to choose the sentences at random.")
    if held_out(pairs[::-1]) != first:
        raise Wrong("with the lines in another order, other sentences are held out: sort the sentences, then shuffle.")
    places = [place for place, english in enumerate(_sources(pairs)) if english in first]
    if sum(after - before > 1 for before, after in pairwise(places)) < 2:
        raise Wrong("you held out neighbours of the alphabet: choose at random, `random.Random(seed).shuffle(...)`.")
    often = [("Often.", f"Phrase {i}.") for i in range(900)] + [(f"Once {i}.", "Phrase.") for i in range(300)]
    train, test = split(often, 0.1)
    _examine_parts(train, test, often, 0.1)
    rehashed = held_out([(_Rehashed(english), french) for english, french in pairs])
    if rehashed and rehashed != first:  # empty: the texts were copied, as NumPy does, and then not found again
        raise Wrong(
            "after a new start of Python the split would be another one: the order of a set of texts, and `hash()` of "
            "a text, change with each start."
        )


class _Rehashed(str):
    """A text that equals itself, but has another hash, and so another position in a set."""

    __eq__ = str.__eq__

    def __hash__(self) -> int:
        """Another one than that of the text, as after a new start of Python."""
        return hash(("a new start", str(self)))


def _sources(pairs: Iterable) -> list[str]:
    return sorted({str(english) for english, _ in pairs})


def _examine_parts(train: Iterable, held_out: Iterable, pairs: list[Pair], share: float) -> None:
    given, found = Counter(pairs), Counter(map(tuple, [*train, *held_out]))
    sources, held = _sources(pairs), _sources(held_out)
    both = sorted(set(_sources(train)) & set(held))
    if both and not {french for _, french in train} & {french for _, french in held_out}:
        raise Wrong(
            f'"{both[0]}" is in both parts: you chose French sentences; choose English ones, each with all its '
            "translations."
        )
    if both:
        raise Wrong(f'"{both[0]}" is in both parts, and {len(both) - 1} other sentences: choose sentences, not lines.')
    if missing := sorted(set(given) - set(found)):
        raise Wrong(f"{(given - found).total()} of {len(pairs)} pairs are in neither part, such as {missing[0]}.")
    if given - found:
        raise Wrong("a pair that is in the list twice has to stay twice: a set or a dictionary keeps only one of them.")
    if found - given:
        raise Wrong("some pairs are there more often than in the list, or were not in the list.")
    kept = len(held) / len(sources)
    if abs(kept - (1 - share)) <= NEAR:
        raise Wrong("the parts are the wrong way round: return train first, then what is held out.")
    if abs(kept - share) > NEAR:
        told = (
            f"with share={share}, about {share:.0%} of the {len(sources)} sentences, not of the lines, should be held"
        )
        raise Wrong(f"{told} out; you held out {kept:.0%}.")
