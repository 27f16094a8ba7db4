"""The checks of lesson 01: right answers of other kinds than the stored one, and typical wrong ones."""

import functools
import hashlib
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from answers import all_right, judged, variants
from seqlearn.data.corpus import fra_eng
from seqlearn.data.download import SHA256
from seqlearn.exercises import lesson01

NUMBERS = Path(__file__).parents[2] / "assets/experiments/fra-eng/numbers.json"


def padded(sentences, pad_id, steps, *, cut=True, wide=None):
    """The solution of 1.1, or other widths."""
    rows = [sentence[:steps] if cut else sentence for sentence in sentences]
    wide = steps if wide is None else wide
    rows = [[*row, *[pad_id] * (wide - len(row))] for row in rows]
    return torch.tensor(rows), torch.tensor([min(len(sentence), steps) for sentence in sentences])


def longest(sentences):
    return max(map(len, sentences))


def filled_in_place(sentences, pad_id, steps):
    for sentence in sentences:
        sentence += [pad_id] * (steps - len(sentence))
    return padded(sentences, pad_id, steps)


def cut_in_place(sentences, pad_id, steps):
    answer = padded(sentences, pad_id, steps)
    for sentence in sentences:
        del sentence[steps:]
    return answer


def uncut(sentences, pad_id, steps):
    ids = torch.full((len(sentences), steps), pad_id)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = torch.tensor(sentence)
    return ids, torch.tensor([*map(len, sentences)])


WRONG_PADS = [
    (lambda s, p, n: padded(s, p, n, cut=False, wide=max(n, longest(s))), "your rows are 6 wide: cut longer sentences"),
    (lambda s, p, n: padded(s, p, n, wide=longest(s)), "`steps` is the width, not the longest"),
    (
        lambda s, p, n: (padded(s, p, n)[0], torch.tensor([[2], [2], [2]])),
        "should have shape (3,); yours: (3, 1)",
    ),
    (lambda s, p, n: padded(s, p, n)[0], "return two things"),
    (lambda s, p, n: (*padded(s, p, n), n), "return two things"),
    (lambda s, p, n: tuple(part.tolist() for part in padded(s, p, n)), "of type list: this should be the ids"),
    (lambda s, p, n: (padded(s, p, n)[0], [*map(len, s)]), "of type list: this should be the valid lengths"),
    (lambda s, p, n: (padded(s, p, n)[0].float(), padded(s, p, n)[1]), "should be whole numbers"),
    (lambda s, p, n: (padded(s, p, n)[0].T, padded(s, p, n)[1]), "should have shape (3, 4); yours: (4, 3)"),
    (
        lambda s, p, n: (padded(s, p, n)[0].flip(1), padded(s, p, n)[1]),
        "The ids of pad_batch([[5, 6, 7, 2], [8, 2], [9, 4, 2]], 0, 4) should be [[5, 6, 7, 2], [8, 2,",
    ),
    (lambda s, p, n: (torch.tensor(s), torch.tensor([n] * 3)), "a tensor needs rows that are equally long"),
    (uncut, "the place on the left of `=` has another size"),
    (filled_in_place, "`sentences` has changed"),
    (lambda s, p, n: (padded(s, p, n)[0], padded(s, p, n)[1] * 2), "should be [4, 2, 3]; yours: [8, 4, 6]"),
    (cut_in_place, "`sentences` has changed"),
    (lambda s, p, n: padded(s, p, n)[::-1], "return the ids first, then the valid lengths"),
    (lambda s, p, n: padded(s, p, 4 if n == 4 else 6), "your rows are 6 wide"),
]


test_wrong_pads = judged(lesson01.check_pad_batch, "1.1", WRONG_PADS)


def into_a_full_tensor(sentences, pad_id, steps):
    ids = torch.full((len(sentences), steps), pad_id, dtype=torch.int32)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = torch.tensor(sentence[:steps])
    return [ids, torch.tensor([min(len(sentence), steps) for sentence in sentences], dtype=torch.int32)]


def by_pad_sequence(sentences, pad_id, steps):
    rows = [torch.tensor([*sentence, *[pad_id] * steps][:steps]) for sentence in sentences]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)
    return ids, (ids != pad_id).sum(1)


test_right_pads = all_right(lesson01.check_pad_batch, "1.1", [padded, into_a_full_tensor, by_pad_sequence])


def merged(word, merges, *, begin="▁"):
    """A solution of 1.2 unlike the stored one."""
    pieces = [*begin, *word]
    for pair in merges:
        joined = []
        for piece in pieces:
            if joined and (joined[-1], piece) == pair:
                joined[-1] += piece
            else:
                joined.append(piece)
        pieces = joined
    return pieces


def consumed(word, merges):
    answer = merged(word, merges)
    merges.clear()
    return answer


def from_the_right(word, merges):
    pieces = ["▁", *word]
    for pair in merges:
        for index in range(len(pieces) - 2, -1, -1):
            if tuple(pieces[index : index + 2]) == pair:
                pieces[index : index + 2] = ["".join(pair)]
    return pieces


def by_text(word, merges):
    """As in the code of Sennrich and others (2016)."""
    text = " ".join("▁" + word)
    for a, b in merges:
        text = re.sub(rf"(?<!\S){re.escape(a)} {re.escape(b)}(?!\S)", a + b, text)
    return text.split()


def by_recursion(word, merges):
    def joined(pieces, pair):
        if len(pieces) < 2:
            return pieces
        if tuple(pieces[:2]) == pair:
            return ["".join(pair), *joined(pieces[2:], pair)]
        return [pieces[0], *joined(pieces[1:], pair)]

    return tuple(functools.reduce(joined, merges, ["▁", *word]))


test_right_merges = all_right(lesson01.check_apply_merges, "1.2", [merged, by_text, by_recursion])


test_wrong_merges = judged(
    lesson01.check_apply_merges,
    "1.2",
    [
        (lambda *args: merged(*args, begin=""), 'The word has to begin with "▁"'),
        (lambda *args: merged(*args)[:-1], "characters were lost or doubled"),
        (lambda *args: " ".join(merged(*args)), "yours is of type str"),
        (lambda *args: merged(*args, begin="_"), 'the underscore: copy "▁" ("\\u2581")'),
        (from_the_right, "one after the other"),
        (consumed, "`merges` has changed"),
        (lambda word, merges: merges[9], "your code stopped with IndexError"),
    ],
)


def parts(pairs, held):
    return [pair for pair in pairs if pair[0] not in held], [pair for pair in pairs if pair[0] in held]


def by_source(pairs, share, seed):
    sources = sorted({english: None for english, _ in pairs})
    random.Random(seed).shuffle(sources)
    return parts(pairs, set(sources[: round(share * len(sources))]))


split, SOURCES = variants(by_source), "sorted({english: None for english, _ in pairs})"


def by_line(pairs, share, seed):
    order = list(pairs)
    random.Random(seed).shuffle(order)
    cut = round(share * len(order))
    return order[cut:], order[:cut]


def by_french(pairs, share, seed):
    turned = by_source([pair[::-1] for pair in pairs], share, seed)
    return tuple([pair[::-1] for pair in part] for part in turned)


def by_distinct_line(pairs, share, seed):
    _, held = by_line(sorted(set(pairs)), share, seed)
    return [pair for pair in pairs if pair not in held], [pair for pair in pairs if pair in held]


def one_translation_each(pairs, share, seed):
    train, held = by_source(pairs, share, seed)
    return list(dict(train).items()), list(dict(held).items())


def shuffled_in_place(pairs, share, seed):
    answer = by_source(pairs, share, seed)
    pairs.sort()
    return answer


def until_the_lines_suffice(pairs, share, seed):
    sources, held, lines = sorted({english for english, _ in pairs}), set(), 0
    random.Random(seed).shuffle(sources)
    while lines < share * len(pairs):
        held.add(sources[-1])
        lines += sum(english == sources[-1] for english, _ in pairs)
        sources.pop()
    return parts(pairs, held)


def by_digest(pairs, share, seed):
    def number(text):
        return int.from_bytes(hashlib.blake2b(f"{seed} {text}".encode(), digest_size=4).digest(), "big")

    return parts(pairs, {english for english, _ in pairs if number(english) < share * 2**32})


def by_numpy(pairs, share, seed):
    """The sentences are NumPy's texts, the parts are tuples, and the pairs are lists."""
    sources = np.unique([english for english, _ in pairs])
    held = set(np.random.default_rng(seed).permutation(sources)[: int(share * len(sources))])
    return tuple(tuple(map(list, part)) for part in parts(pairs, held))


test_right_splits = all_right(lesson01.check_split_by_source, "1.3", [by_source, by_digest, by_numpy])


test_wrong_splits = judged(
    lesson01.check_split_by_source,
    "1.3",
    [
        (by_line, "choose sentences, not lines"),
        (by_distinct_line, "choose sentences, not lines"),
        (by_french, "is in both parts: you chose French sentences; choose English ones"),
        (one_translation_each, "pairs are in neither part, such as ("),
        (lambda *args: tuple(part * 2 for part in by_source(*args)), "more often than in the list"),
        (lambda *args: by_source(*args)[::-1], "the wrong way round"),
        (lambda pairs, share, seed: by_source(pairs, share / 4, seed), "you held out 5%"),
        (lambda pairs, share, seed: (list(pairs), []), "you held out 0%"),
        (lambda *args: [[english for english, _ in part] for part in by_source(*args)], "yours holds 'Sentence "),
        (lambda *args: [[part] for part in by_source(*args)], "should be a list of pairs (english, french); yours"),
        (lambda *args: tuple(map(dict, by_source(*args))), "should be a list of pairs (english, french); yours"),
        (split("random.Random(seed)", "random"), "two calls with the same seed"),
        (split("random.Random(seed).shuffle(sources)", "sources.reverse()"), "every seed gives the same split"),
        (
            split("random.Random(seed).shuffle(sources)", "sources = sources[seed:] + sources[:seed]"),
            "neighbours of the alphabet",
        ),
        (until_the_lines_suffice, "about 10% of the 301 sentences, not of the lines, should be held out; you held out"),
        (split("sorted", "list"), "with the lines in another order"),
        (split(SOURCES, "list({english for english, _ in pairs})"), "order"),
        (split(SOURCES, "list(set(sorted(english for english, _ in pairs)))"), "order"),
        (
            split("random.Random(seed).shuffle(sources)", "sources.sort(key=lambda english: hash((english, seed)))"),
            "after a new start of Python the split would be another one: the order of a set of texts, and `hash()`",
        ),
        (lambda *args: by_source(*args)[1], "return two things: the train pairs and the held-out pairs"),
        (lambda *args: tuple(map(set, by_source(*args))), "a pair that is in the list twice has to stay twice"),
        (lambda pairs, *rest: by_source(list(dict.fromkeys(pairs)), *rest), "has to stay twice"),
        (lambda pairs, share, seed: by_source(pairs, 0.2, seed), "with share=0.4, about 40% of the 400 sentences"),
        (lambda pairs, share, seed: by_source(pairs, 0.3, seed), "with share=0.2, about 20% of the 400 sentences"),
        (shuffled_in_place, "`pairs` has changed"),
    ],
)


def test_the_stored_numbers_of_fra_eng_fit_together_and_say_whose_sentences_they_count():
    stored = json.loads(NUMBERS.read_text("utf-8"))
    assert stored["sha256"] == SHA256 and NUMBERS.stat().st_size < 20_000 and len(stored["excerpt"]) < 10
    assert all(name in stored["attribution"] for name in ("tatoeba.org", "manythings.org/anki", "CC BY 2.0 FR"))
    sample = -(-stored["leaks"]["lines"] // 16)
    for counted in stored["lengths"].values():
        assert sum(sentences for _, sentences in counted) == sample
    words = sum((length - 1) * sentences for length, sentences in stored["lengths"]["English"])  # without <eos>
    assert sum(count * tokens for count, tokens in stored["token counts"]["counts"]) == words
    odd = dict(stored["odd characters"]["odd"])
    at_least_one = odd.pop("at least one of these")
    assert max(odd.values()) <= at_least_one <= sum(odd.values())


@pytest.mark.slow
def test_the_stored_numbers_are_those_of_the_corpus(data_folder, import_benchmark):
    """Counted anew, where the corpus is at hand."""
    stored = json.loads(NUMBERS.read_text("utf-8"))
    found = import_benchmark("fra_eng").numbers(list(fra_eng(data_folder)))
    assert found == {name: stored[name] for name in found}
