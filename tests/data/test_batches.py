"""Padding and batching."""

import random
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from seqlearn.data.batches import BATCHINGS, Batches, Sentences, pad
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language


def make(count=100, batch_size=8, seed=0, **options):
    pairs = [
        Pair(" ".join("abcdefg"[: 1 + i % 7]) + f" {i}", " ".join("tuvwxyz"[: 1 + i % 5]) + f" {i}")
        for i in range(count)
    ]
    source, target = (Language.learn("", texts) for texts in ([p.source for p in pairs], [p.target for p in pairs]))
    return Batches(pairs, source, target, batch_size, seed, **options), pairs, source, target


def test_pad_by_hand():
    ids, lengths = pad([[5, 6, 7], [8]], pad_id=0)
    assert ids.tolist() == [[5, 6, 7], [8, 0, 0]] and lengths.tolist() == [3, 1]
    ids, lengths = pad([[5, 6, 7], [8]], pad_id=9, steps=2)
    assert ids.tolist() == [[5, 6], [8, 9]] and lengths.tolist() == [2, 1]


@given(st.lists(st.lists(st.integers(1, 9), max_size=6), min_size=1, max_size=6).filter(any))
def test_pad_loses_nothing(sentences):
    ids, lengths = pad(sentences, 0)
    assert [row[:length] for row, length in zip(ids.tolist(), lengths.tolist(), strict=True)] == sentences
    assert int((ids != 0).sum()) == sum(map(len, sentences))


def texts(batches, source, target):
    for batch in batches:
        for row in range(len(batch.source)):
            left = batch.source[row, : batch.source_lens[row]].tolist()
            right = batch.target[row, : batch.target_lens[row]].tolist()
            assert left[-1] == source.vocab.eos and right[-1] == target.vocab.eos and right[0] == target.vocab.bos
            assert (batch.source[row, batch.source_lens[row] :] == source.vocab.pad).all()
            assert (batch.target[row, batch.target_lens[row] :] == target.vocab.pad).all()
            yield source.decode(left), target.decode(right)


@pytest.mark.slow
@pytest.mark.parametrize("batching", BATCHINGS)
@pytest.mark.parametrize("count", [1, 8, 100, 850])
def test_each_pair_exactly_once(count, batching):
    batches, pairs, source, target = make(count, batching=batching)
    expected = Counter((pair.source, pair.target) for pair in pairs)
    assert Counter(texts(batches, source, target)) == expected
    assert Counter(texts(batches.epoch(3), source, target)) == expected
    assert len(list(batches.epoch(0))) == len(batches) == -(-count // 8)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.integers(1, 90), st.integers(1, 40), st.sampled_from(BATCHINGS), st.integers(0, 9), st.integers(0, 9))
def test_any_count_and_batch_size(count, batch_size, batching, seed, epoch):
    batches, pairs, source, target = make(count, batch_size, seed, batching=batching)
    made = list(batches.epoch(epoch))
    assert Counter(texts(made, source, target)) == Counter((pair.source, pair.target) for pair in pairs)
    assert [len(batch.source) for batch in made].count(batch_size) >= len(made) - 1
    again = make(count, batch_size, seed, batching=batching)[0]
    assert order(again, epoch) == order(batches, epoch)


def order(batches, epoch):
    """What identifies each pair, in the order of an epoch."""
    rows = [row for batch in batches.epoch(epoch) for row in batch.source.tolist()]
    return [tuple(token for token in row if token != batches.source_pad) for row in rows]


@pytest.mark.parametrize("batching", BATCHINGS)
def test_order_is_a_function_of_seed_and_epoch(batching):
    batches = make(batching=batching)[0]
    list(batches.epoch(0))  # what ran before must not matter
    random.seed(1)
    torch.manual_seed(1)
    assert order(batches, 1) == order(make(batching=batching)[0], 1)
    assert order(batches, 0) != order(batches, 1) != order(make(seed=1, batching=batching)[0], 1)
    assert order(batches, 0) != sorted(order(batches, 0), key=len)  # bucketed batches are shuffled, too


def test_the_order_is_the_same_everywhere():
    """Trained models hang on it: it may not change with a version of anything."""
    places = [int(text.split()[-1]) for text, _ in texts(make(10, batch_size=4)[0].epoch(0), *make(10)[2:])]
    assert places == [7, 2, 3, 8, 9, 4, 0, 5, 6, 1]


def test_the_three_ways_of_batching_by_hand():
    pairs = [Pair("a " * length, "a " * length) for length in (1, 5, 1, 5)]
    language = Language.learn("", ["a"])
    widths = {}
    for batching in BATCHINGS:
        batches = Batches(pairs, language, language, 2, batching=batching)
        made = list(batches.epoch(0))
        widths[batching] = sorted((batch.source.shape[1], batch.target.shape[1]) for batch in made)
        real = sum(int(batch.source_lens.sum() + batch.target_lens.sum()) for batch in made)
        places = sum(batch.source.numel() + batch.target.numel() for batch in made)
        assert batches.padding(0) == pytest.approx(1 - real / places)
    assert widths == {"fixed": [(6, 7), (6, 7)], "dynamic": [(6, 7), (6, 7)], "bucketed": [(2, 3), (6, 7)]}
    # Each row of fixed batches has 13 places; the four pairs have 5, 13, 5 and 13 tokens, <bos> and <eos> among them.
    assert Batches(pairs, language, language, 2, batching="fixed").padding() == pytest.approx(1 - 36 / 52)
    assert Batches(pairs, language, language, 2).padding() == 0


def test_fixed_batches_cut_what_is_longer_and_count_it():
    batches = make(70, batching="fixed", steps=5)[0]
    assert {(batch.source.shape[1], batch.target.shape[1]) for batch in batches.epoch(0)} == {(5, 5)}
    # i has 1 + i % 7 letters, a number and <eos> on the left; on the right 1 + i % 5 letters and <bos>.
    longer = [i for i in range(70) if 3 + i % 7 > 5 or 4 + i % 5 > 5]
    assert batches.cut == len(longer) and 0 < len(longer) < 70
    real = [min(5, 3 + i % 7) + min(5, 4 + i % 5) for i in range(70)]
    assert batches.padding(0) == pytest.approx(1 - sum(real) / 700)
    assert make(70, batching="fixed")[0].cut == make(70)[0].cut == 0
    with pytest.raises(ValueError, match='steps is a width of at least 2, for batching "fixed"; got 1'):
        make(70, batching="fixed", steps=1)  # nothing but <bos>: no token to predict


def test_similar_lengths_share_a_batch():
    shares = {batching: make(800, batching=batching)[0].padding(0) for batching in BATCHINGS}
    assert shares["bucketed"] < 0.15 < shares["dynamic"] < shares["fixed"]


def test_pairs_that_are_too_long_are_left_out_and_counted():
    batches, pairs, source, target = make(70, max_length=5)
    lengths = [(len(pair.source.split()), len(pair.target.split())) for pair in pairs]
    assert {(4, 6), (6, 4)} <= set(lengths), "the target alone is too long, or the source"
    kept = [pair for pair, both in zip(pairs, lengths, strict=True) if max(both) <= 5]
    assert batches.left_out == 70 - len(kept) > 0
    assert Counter(texts(batches.epoch(0), source, target)) == Counter((pair.source, pair.target) for pair in kept)
    with pytest.raises(ValueError, match="no pairs to make batches of: all 70 are longer than 1 tokens"):
        make(70, max_length=1)


@given(st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=5), max_size=8))
def test_sentences_hold_what_they_are_given(rows):
    sentences = Sentences(rows)
    assert [list(sentence) for sentence in sentences] == rows and list(sentences.lengths) == [len(row) for row in rows]
    if rows:
        assert list(sentences[-1]) == rows[-1]
    with pytest.raises(IndexError):
        sentences[len(rows)]


@given(st.lists(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5), min_size=1, max_size=8), st.data())
def test_sentences_are_padded_as_by_pad(rows, data):
    numbers = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=9))
    pad_id, steps = data.draw(st.integers(0, 9)), data.draw(st.none() | st.integers(1, 7))
    made = Sentences(rows).padded(np.array(numbers), pad_id, steps)
    for tensor, expected in zip(made, pad([rows[number] for number in numbers], pad_id, steps), strict=True):
        assert torch.equal(tensor, expected) and tensor.dtype == expected.dtype


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batching": "random"}, "'random'"),
        ({"steps": 5}, "5 for 'bucketed'"),
        ({"batching": "fixed", "steps": 0}, "0"),
    ],
)
def test_unknown_ways_of_batching_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make(8, **options)


def test_tokens_counts_what_is_predicted():
    batches, *_ = make(2, batch_size=2)
    (batch,) = batches
    assert batch.tokens == int((batch.target[:, 1:] != batches.pad).sum())


def test_on_a_device_the_source_lengths_stay_on_the_cpu():
    batches, *_ = make(2, batch_size=2)
    (batch,) = batches
    moved = batch.to("meta")
    assert [tensor.device.type for tensor in moved] == ["meta", "cpu", "meta", "cpu"]
    assert [tensor.shape for tensor in moved] == [tensor.shape for tensor in batch]
    assert torch.equal(moved.source_lens, batch.source_lens) and torch.equal(moved.target_lens, batch.target_lens)


def test_no_pairs_is_an_error():
    _, _, source, target = make()
    with pytest.raises(ValueError, match="no pairs"):
        Batches([], source, target)


def test_where_the_next_target_length_begins_the_sources_are_alike():
    """Sorted up and down in turn: a batch across the border has sources of like length, not longest and shortest."""
    language = Language.learn("", ["a"])
    pairs = [Pair("a " * source, "a " * target) for target in (3, 4, 5) for source in range(1, 10)]
    batches = Batches(pairs, language, language, 6)  # 9 sources for each target: borders fall within batches
    spreads = [int(batch.source_lens.max() - batch.source_lens.min()) for batch in batches]
    assert max(spreads) <= 5, spreads


def test_the_fingerprint_is_that_of_ids_and_order():
    """Whatever a training depends on changes it, and nothing else does."""
    _, pairs, source, target = make(30)

    def fingerprint(pairs=pairs, languages=(source, target), batch_size=8, seed=0, **options):
        return Batches(pairs, *languages, batch_size, seed, **options).fingerprint()

    other_source = [Pair(pairs[1].source, pairs[0].target), *pairs[1:]]
    other_target = [Pair(pairs[0].source, pairs[1].target), *pairs[1:]]
    moved = [pairs[1], pairs[0], *pairs[2:]]
    kinds = [{"batching": name} for name in BATCHINGS if name != "bucketed"]
    changes = [
        {}, {"pairs": other_source}, {"pairs": other_target}, {"pairs": moved}, {"pairs": pairs[:-1]},
        {"batch_size": 7}, {"seed": 1}, *kinds, {"batching": "fixed", "steps": 9}, {"max_length": 4},
    ]  # fmt: skip
    prints = [fingerprint(**change) for change in changes]
    assert len(set(prints)) == len(changes)
    assert fingerprint() == prints[0] == fingerprint(max_length=100)
