"""Batches by tokens."""

import numpy as np
import pytest
import torch

from seqlearn.data.batches import Batches
from seqlearn.data.corpus import builtin
from seqlearn.data.text import Language

pytestmark = pytest.mark.slow

PAIRS = builtin(1000).pairs
SOURCE = Language.learn("en", [pair.source for pair in PAIRS])
TARGET = Language.learn("fr", [pair.target for pair in PAIRS])


def batches(pairs=PAIRS, max_tokens=400, **options):
    return Batches(pairs, SOURCE, TARGET, max_tokens=max_tokens, **options)


def rows(found):
    return sorted(tuple(row.tolist()) for batch in found for row in batch.target[:, :4])


def longer(batch):
    return torch.maximum(batch.source_lens, batch.target_lens)


def test_each_batch_has_about_so_many_tokens_and_each_pair_comes_once():
    found = batches()
    several = list(found.epoch(0))
    assert len(several) == len(found) == len(list(found))
    tokens = np.array([int(longer(batch).sum()) for batch in several])
    longest = max(int(longer(batch).max()) for batch in several)
    assert abs(tokens - 400).max() <= longest + 400 / len(found)
    assert len({len(batch.source) for batch in several}) > 5, "short pairs share a batch with more others"
    assert rows(several) == rows(found) == rows(Batches(PAIRS, SOURCE, TARGET))
    assert found.padding() < 0.6 * Batches(PAIRS, SOURCE, TARGET, batching="dynamic").padding()


def test_the_pairs_of_a_section_are_sorted_all_together(monkeypatch):
    """Pools of `batch_size` pairs are for batches of so many pairs."""
    monkeypatch.setattr(Batches, "POOL", 1)
    found = batches()
    assert len(list(found.epoch(0))) == len(found)


def test_the_order_is_a_pure_function_of_seed_and_epoch_from_any_batch_on():
    one, two = batches(seed=3), batches(seed=3)
    assert all(torch.equal(a.target, b.target) for a, b in zip(one.epoch(2), two.epoch(2), strict=True))
    assert not all(torch.equal(a.target[:1], b.target[:1]) for a, b in zip(one.epoch(2), two.epoch(1), strict=True))
    rest = list(one.epoch(2))[7:]
    assert all(torch.equal(a.target, b.target) for a, b in zip(rest, one.epoch(2, start=7), strict=True))
    assert one.fingerprint() == two.fingerprint() != batches(seed=3, max_tokens=401).fingerprint()
    assert batches(seed=3).fingerprint() != Batches(PAIRS, SOURCE, TARGET, seed=3).fingerprint()


def test_a_corpus_in_sections_has_as_many_batches_in_every_epoch(monkeypatch):
    monkeypatch.setattr(Batches, "SECTION", 700)
    monkeypatch.setattr(Batches, "BLOCK", 64)
    found = batches()
    for epoch in range(5):
        assert len(list(found.epoch(epoch))) == len(found)
        assert [len(each.target) for each in list(found.epoch(epoch))[9:]] == [
            len(each.target) for each in found.epoch(epoch, start=9)
        ]
    assert rows(found.epoch(4)) == rows(found)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("max_tokens", [60, 61, 100, 10_000])
def test_no_batch_is_empty(count, max_tokens):
    found = batches(PAIRS[:count], max_tokens)
    assert all(len(batch.target) for batch in found.epoch(0))
    assert len(list(found.epoch(0))) == len(found)


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"max_tokens is 10, and .* room for two of the longest .* has"):
        batches(max_tokens=10)
    with pytest.raises(ValueError, match="max_tokens is for batching \"bucketed\", not for 'dynamic'"):
        batches(batching="dynamic")
    with pytest.raises(TypeError, match="max_tokens"):
        batches(max_tokens=400.5)
