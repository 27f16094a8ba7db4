"""Checks of lesson 01. The oracles are loops over plain lists: they import nothing that the lesson is about."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .checking import Wrong, check

CHANGED = "the list that was handed in has changed: build a new one (no `.append`, `+=` or `.sort()` on an argument)."


@check("1.1", section="5. Padding, truncation, valid length")
def check_pad_batch(pad_batch: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """Try out `pad_batch(sentences, pad_id, steps)` -> (ids, valid lengths)."""
    cases = [
        ([[5, 6, 7, 2], [8, 2], [9, 4, 2]], 0, 4),
        ([[5, 6, 7, 2], [8, 2], [9, 4, 2]], 0, 6),
        ([[5, 6, 7, 8, 9, 2], [8, 2], [9, 4, 7, 2]], 1, 3),
    ]
    for sentences, pad_id, steps in cases:
        given = copy.deepcopy(sentences)
        answer = pad_batch(given, pad_id, steps)
        if given != sentences:
            raise Wrong(CHANGED)
        if not (isinstance(answer, tuple | list) and len(answer) == 2):
            raise Wrong("return two things: the ids and the valid lengths.")
        for name, part in zip(("ids", "valid lengths"), answer, strict=True):
            if not isinstance(part, Tensor):
                raise Wrong(f"the {name} should be a tensor; yours are of type {type(part).__name__}.")
            if part.is_floating_point() or part.dtype == torch.bool:
                raise Wrong(f"the {name} should be whole numbers; yours are {part.dtype}.")
        _examine_ids(answer[0], sentences, pad_id, steps)
        _examine_lengths(answer[1].tolist(), sentences, pad_id, steps)


def _padded(sentences, pad_id: int, steps: int) -> list[list[int]]:
    rows = []
    for sentence in sentences:
        row = [pad_id for _ in range(steps)]
        for place in range(min(steps, len(sentence))):
            row[place] = sentence[place]
        rows.append(row)
    return rows


def _examine_ids(ids: Tensor, sentences, pad_id: int, steps: int) -> None:
    case = f"with sentences of {' and '.join(str(len(sentence)) for sentence in sentences)} ids and steps={steps}"
    longest = max(map(len, sentences))
    if ids.dim() != 2 or len(ids) != len(sentences):
        raise Wrong(f"{case}, the ids should have shape ({len(sentences)}, {steps}); yours: {tuple(ids.shape)}.")
    if ids.shape[1] != steps:
        hint = ""
        if ids.shape[1] == longest:
            hint = " Cut longer sentences." if longest > steps else " `steps` is the width, not the longest sentence."
        raise Wrong(f"{case}, each row should be {steps} wide; yours are {ids.shape[1]} wide.{hint}")
    rows, right = ids.tolist(), _padded(sentences, pad_id, steps)
    if rows == right:
        return
    for other in {0, -1, 1, 2} - {pad_id}:
        if rows == _padded(sentences, other, steps):
            raise Wrong(f"the rows are filled up with {other}, but pad_id is {pad_id}.")
    if rows == [row[::-1] for row in _padded([sentence[::-1] for sentence in sentences], pad_id, steps)]:
        raise Wrong("the padding stands on the left, or the left end is cut off: keep the beginning, pad on the right.")
    if rows == _padded([sentence[-steps:] for sentence in sentences], pad_id, steps):
        raise Wrong(f"of a sentence that is too long you kept the last {steps} ids: keep the first ones.")
    row = next(place for place in range(len(rows)) if rows[place] != right[place])
    raise Wrong(f"{case} and pad_id={pad_id}, row {row} should be {right[row]}; yours: {rows[row]}.")


def _examine_lengths(lengths, sentences, pad_id: int, steps: int) -> None:
    right = [min(steps, len(sentence)) for sentence in sentences]
    if lengths == right:
        return
    if lengths == [len(sentence) for sentence in sentences]:
        raise Wrong(
            f"the ids are right, but a valid length is {max(lengths)} in a row of {steps}: what is cut is gone."
        )
    if lengths == [steps] * len(sentences):
        raise Wrong("the ids are right, but the valid lengths count the padding, too.")
    if lengths == [steps - length for length in right]:
        raise Wrong("the ids are right, but the valid lengths count the padding instead of the rest.")
    if lengths == [length - 1 for length in right]:
        raise Wrong("the ids are right, but each valid length is one too small: <eos> counts, too.")
    raise Wrong(f"the ids are right, but the valid lengths should be {right}; yours: {lengths}.")


@check("1.2", section="8. Pieces of words")
def check_apply_merges(apply_merges: Callable[..., list[str]]) -> None:
    """Try out `apply_merges(word, merges)` -> pieces."""
    cases = [
        ("abca", [("b", "c"), ("a", "b"), ("x", "y")]),
        ("eats", [("▁", "e"), ("▁e", "a"), ("▁ea", "t")]),
        ("banana", [("a", "n"), ("an", "an"), ("▁", "b")]),
        ("baaa", [("a", "a")]),
        ("bcabc", [("b", "c"), ("a", "b")]),
    ]
    for word, merges in cases:
        given = list(merges)
        answer = apply_merges(word, given)
        if given != merges:
            raise Wrong(CHANGED)
        if not isinstance(answer, list | tuple) or not all(isinstance(piece, str) for piece in answer):
            raise Wrong(f"return a list of pieces, such as ['▁', 'a']; yours is of type {type(answer).__name__}.")
        right = _merged(word, merges)
        if list(answer) != right:
            raise Wrong(_diagnose_pieces(list(answer), right, word, merges))


def _merged(word: str, merges, once: bool = False) -> list[str]:
    pieces = ["▁", *word]
    for left, right in merges:
        place = 0
        while place < len(pieces) - 1:
            if (pieces[place], pieces[place + 1]) == (left, right):
                pieces[place : place + 2] = [left + right]
                if once:
                    break
            place += 1
    return pieces


def _diagnose_pieces(answer: list[str], right: list[str], word: str, merges) -> str:
    said = f'"{word}" with the merges {merges} should give {right}; yours: {answer}'
    if "".join(answer) == word:
        return f'{said}. The word has to begin with "▁".'
    if "".join(answer) == "_" + word:
        return f'{said}. It begins with "_", which is the underscore: copy "▁" ("\\u2581").'
    if "".join(answer) != "▁" + word:
        return f'{said}. Joined, the pieces should give "▁{word}": characters were lost or doubled.'
    if answer == ["▁", *word]:
        return f"{said}. Nothing was joined."
    if answer == _merged(word, merges[:1]):
        return f"{said}. Only the first merge was carried out: is there a `return` inside the loop?"
    if answer == _merged(word, merges, once=True):
        return f"{said}. Each merge joins *all* places where its pair stands, not only the first."
    if answer == _merged(word, merges[::-1]):
        return f"{said}. The merges have an order: the first one learned comes first."
    if answer == _replaced(word, merges):
        return f'{said}. A pair is two *whole* pieces: "a" and "b" do not match "a" and "bc".'
    return f"{said}. Take the merges one after the other; for each, walk through the pieces from left to right."


def _replaced(word: str, merges) -> list[str]:
    """Merges as replacements in one text, with spaces between the pieces: these also join parts of pieces."""
    text = " ".join(["▁", *word])
    for left, right in merges:
        text = text.replace(f"{left} {right}", left + right)
    return text.split(" ")


class _Sentence(str):
    """A text that equals itself, but has another place in a set: as after a new start of Python."""

    salt = 0

    def __hash__(self) -> int:
        """As different as the hash of a text is from one start of Python to the next."""
        return hash((_Sentence.salt, str(self)))

    __eq__ = str.__eq__


@check("1.3", section="9. Splitting without a leak")
def check_split_by_source(split_by_source: Callable[..., tuple[list, list]]) -> None:
    """Try out `split_by_source(pairs, share, seed)` -> (train, held out)."""
    pairs = _translations(200)
    given = list(pairs)
    answer = split_by_source(given, 0.2, 1)
    if given != pairs:
        raise Wrong(CHANGED)
    if not (isinstance(answer, tuple | list) and len(answer) == 2 and all(isinstance(part, list) for part in answer)):
        raise Wrong("return two lists of pairs: train and held out.")
    _examine_parts(*answer, pairs)
    held_out = _sources(answer[1])
    if _sources(split_by_source(list(pairs), 0.2, 1)[1]) != held_out:
        raise Wrong("two calls with the same seed give two different splits: make your own random.Random(seed).")
    if all(_sources(split_by_source(list(pairs), 0.2, seed)[1]) == held_out for seed in range(2, 7)):
        raise Wrong("every seed gives the same split: use the seed to choose the sentences at random.")
    if _sources(split_by_source(pairs[::-1], 0.2, 1)[1]) != held_out:
        raise Wrong("with the lines in another order, other sentences are held out: sort the sentences, then shuffle.")
    try:
        splits = []
        for _Sentence.salt in range(1, 5):
            held = split_by_source([(_Sentence(english), french) for english, french in pairs], 0.2, 1)[1]
            splits.append(_sources(held))
    finally:
        _Sentence.salt = 0
    if any(split != splits[0] for split in splits):
        raise Wrong(
            "after a new start of Python the split would be another one: the order of a set of texts, and `hash()` of "
            "a text, change with each start."
        )


def _translations(count: int) -> list[tuple[str, str]]:
    """English sentences with 1 to 5 translations each, shuffled."""
    pairs = [
        (f"Sentence {place}.", f"Phrase {place}, {way}.") for place in range(count) for way in range(1 + place % 5)
    ]
    random.Random(0).shuffle(pairs)
    return pairs


def _sources(pairs) -> list[str]:
    return sorted({str(english) for english, _ in pairs})


def _examine_parts(train: list, held_out: list, pairs: list[tuple[str, str]]) -> None:
    found = Counter(map(tuple, train)) + Counter(map(tuple, held_out))
    if both := sorted(set(_sources(train)) & set(_sources(held_out))):
        raise Wrong(f'"{both[0]}" is in both parts, and {len(both) - 1} other sentences: choose sentences, not lines.')
    if vanished := Counter(pairs) - found:
        example = sorted(vanished)[0]
        raise Wrong(f"{vanished.total()} of {len(pairs)} pairs are in neither part, such as {example}.")
    if found != Counter(pairs):
        raise Wrong("some pairs are there twice, or were not in the list.")
    total, share = len(_sources(pairs)), len(_sources(held_out)) / len(_sources(pairs))
    if 0.7 <= share <= 0.9:
        raise Wrong("the parts are the wrong way round: return train first, then what is held out.")
    if not 0.1 <= share <= 0.3:
        raise Wrong(f"of {total} sentences, about 20 % should be held out; you held out {share:.0%}.")


@check("1.4", section="7. Three ways to make batches")
def check_bucket(bucket: Callable[..., list[list[int]]]) -> None:
    """Try out `bucket(lengths, batch_size, seed)` -> batches, each a list of places."""
    numbers = random.Random(4)
    lengths = [numbers.randrange(3, 25) for _ in range(101)]
    given = list(lengths)
    batches = bucket(given, 8, 1)
    if given != lengths:
        raise Wrong(CHANGED)
    if not isinstance(batches, list) or not all(isinstance(batch, list | tuple) for batch in batches):
        raise Wrong("return a list of batches, each a list of places.")
    places = sorted(place for batch in batches for place in batch)
    if places == sorted(lengths):
        raise Wrong("these are lengths: give the *places* of the sentences, numbers from 0 to len(lengths) - 1.")
    if missing := set(range(len(lengths))) - set(places):
        said = f"{len(missing)} of {len(lengths)} sentences are in no batch"
        raise Wrong(said + _why_missing(len(missing), places, lengths))
    if places != list(range(len(lengths))):
        raise Wrong(
            f"each place from 0 to {len(lengths) - 1} should be there once; some are not in it, or there twice."
        )
    sizes = sorted(map(len, batches))
    if sizes != [5] + 12 * [8]:
        raise Wrong(f"{len(lengths)} sentences in batches of 8 are 12 full ones and one of 5; your sizes: {sizes}.")
    _examine_order(batches, lengths)
    others = [bucket(list(lengths), 8, seed) for seed in (1, 2, 3)]
    if others[0] != batches:
        raise Wrong("two calls with the same seed give two different orders: make your own random.Random(seed).")
    if others[1] == others[2] == batches:
        raise Wrong("every seed gives the same order: use the seed to shuffle the batches.")


def _why_missing(missing: int, places: list[int], lengths: list[int]) -> str:
    found = [lengths[place] for place in set(places) & set(range(len(lengths)))]
    if sorted(found) == sorted(set(lengths)):
        return ": you have one sentence of each length. `.index` finds only the first one, a dictionary keeps the last."
    return "; the last batch may be smaller." if missing < 8 else "."


def _examine_order(batches: list[Sequence[int]], lengths: list[int]) -> None:
    in_order = sorted(range(len(lengths)), key=lengths.__getitem__)
    best = _waste([in_order[start : start + 8] for start in range(0, len(lengths), 8)], lengths)
    wasted = _waste(batches, lengths)
    if wasted > best + 0.05:
        raise Wrong(f"{wasted:.0%} of the places are padding; with sentences of similar length it would be {best:.0%}.")
    longest = [max(lengths[place] for place in batch) for batch in batches]
    if longest in (sorted(longest), sorted(longest, reverse=True)):
        raise Wrong("little is wasted, but the batches still stand in the order of length: shuffle the *batches*.")


def _waste(batches: Sequence[Sequence[int]], lengths: list[int]) -> float:
    real = sum(lengths[place] for batch in batches for place in batch)
    return 1 - real / sum(max(lengths[place] for place in batch) * len(batch) for batch in batches)
