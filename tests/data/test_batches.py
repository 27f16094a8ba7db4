"""Padding and batching."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqlearn.data.batches import Batches, pad
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language


def make(count=100, batch_size=8, seed=0):
    pairs = [
        Pair(" ".join("abcdefg"[: 1 + i % 7]) + f" {i}", " ".join("tuvwxyz"[: 1 + i % 5]) + f" {i}")
        for i in range(count)
    ]
    source, target = (Language.learn("", texts) for texts in ([p.source for p in pairs], [p.target for p in pairs]))
    return Batches(pairs, source, target, batch_size, seed), pairs, source, target


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


@pytest.mark.parametrize("count", [1, 8, 100, 850])
def test_each_pair_exactly_once(count):
    batches, pairs, source, target = make(count)
    expected = Counter((pair.source, pair.target) for pair in pairs)
    assert Counter(texts(batches, source, target)) == expected
    assert Counter(texts(batches.epoch(3), source, target)) == expected
    assert len(list(batches.epoch(0))) == len(batches) == -(-count // 8)


def test_order_is_a_function_of_seed_and_epoch():
    def order(seed, epoch):
        return torch.cat([batch.source[:, -1] for batch in make(seed=seed)[0].epoch(epoch)]).tolist()

    batches = make()[0]
    list(batches.epoch(0))  # what ran before must not matter
    assert order(0, 1) == torch.cat([batch.source[:, -1] for batch in batches.epoch(1)]).tolist()
    assert order(0, 0) != order(0, 1) and order(0, 0) != order(1, 0)


def test_similar_lengths_share_a_batch():
    batches, *_ = make(800)
    real = sum(int(batch.target_lens.sum()) for batch in batches.epoch(0))
    places = sum(batch.target.numel() for batch in batches.epoch(0))
    at_random = 800 * int(batches.targets.lengths.max())
    assert 1 - real / places < 0.02 < 1 - real / at_random


def test_tokens_counts_what_is_predicted():
    batches, *_ = make(2, batch_size=2)
    (batch,) = batches
    assert batch.tokens == int((batch.target[:, 1:] != batches.pad).sum())


def test_no_pairs_is_an_error():
    _, _, source, target = make()
    with pytest.raises(ValueError, match="no pairs"):
        Batches([], source, target)
