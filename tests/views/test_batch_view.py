"""BatchView: its batches are what their names say, and its padding is that of `Batches`; wrong input is refused."""

import random

import pytest
from views.refusals import keeps, refuses

from seqlearn.data.batches import pad
from seqlearn.data.corpus import builtin
from seqlearn.translator.translator import Translator
from seqlearn.views import BatchView

LENGTHS = [random.Random(number).randint(3, 20) for number in range(50)]
ORDERS = ("random", "sorted", "bucketed")


def lengths_in(shown, order):
    return [[LENGTHS[sentence] for sentence in batch] for batch in shown.batches(order)]


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32, 50])
@pytest.mark.parametrize("order", ORDERS)
def test_each_sentence_is_in_one_batch_and_the_padding_is_that_of_the_package(order, size):
    shown = BatchView(LENGTHS, order, size)
    assert sorted(sentence for batch in shown.batches() for sentence in batch) == list(range(50))
    assert sorted(len(batch) for batch in shown.batches())[1:] == [size] * (-(-50 // size) - 1)
    tensors = [pad([[1] * length for length in batch], 0)[0] for batch in lengths_in(shown, order)]
    cells = sum(ids.numel() for ids in tensors)
    assert shown.padding() == pytest.approx(sum(int((ids == 0).sum()) for ids in tensors) / cells)


def test_the_orders_are_what_their_names_say():
    shown = BatchView(LENGTHS)
    flat = [length for batch in lengths_in(shown, "sorted") for length in batch]
    assert flat == sorted(LENGTHS)
    assert sorted(shown.batches("bucketed")) == sorted(shown.batches("sorted"))
    assert shown.batches("bucketed") != shown.batches("sorted")
    drawn = [sentence for batch in shown.batches("random") for sentence in batch]
    assert drawn != list(range(50)) and [LENGTHS[sentence] for sentence in drawn] != flat
    assert shown.padding("sorted") == shown.padding("bucketed") < shown.padding("random")


@pytest.mark.slow
def test_the_padding_that_the_gallery_names():
    """Nearly a third in random order; sorted by length, 8%."""
    french = Translator.pretrained("transformer", "cpu").target
    shown = BatchView([len(french.encode(pair.target)) for pair in builtin(64).pairs])
    assert [f"{shown.padding(order):.0%}" for order in ORDERS] == ["32%", "8%", "8%"]


def test_the_size_of_a_batch_is_one_that_is_offered():
    assert [BatchView([3] * count).batch_size for count in (1, 5, 8, 9, 50)] == [1, 5, 8, 8, 8]


def test_the_seed_decides():
    one, same, other = (BatchView(LENGTHS, seed=seed).data["plans"] for seed in (0, 0, 1))
    assert one == same and all(one[order] != other[order] for order in ("random", "bucketed"))


def test_a_seed_gives_the_same_order_on_every_machine():
    plans = BatchView([5, 9, 4, 7, 2, 8], batch_size=2).data["plans"]
    assert [plans[order][1] for order in ORDERS] == [
        [[3, 5], [2, 4], [1, 0]],
        [[4, 2], [0, 3], [5, 1]],
        [[0, 3], [5, 1], [4, 2]],
    ]


def test_sentences_are_lengths_or_tokens():
    tokens = [["le", "chat", "<eos>"], ["oui", "<eos>"]]
    shown = BatchView(tokens, batch_size=2)
    assert (shown.data["lengths"], shown.data["tokens"]) == ([3, 2], tokens)
    assert "tokens" not in BatchView([4, 2]).data


def test_what_is_said_of_it_is_the_same_in_every_run():
    assert repr(BatchView(LENGTHS, "bucketed", 16)) == "BatchView(50 sentences, batches of 16, bucketed)"
    assert BatchView(LENGTHS).title() == "How much of a batch is padding: 50 sentences, batches of 8, random"


test_one_sentence_for_what_is_wrong = refuses(
    BatchView,
    [
        ([], "from 1 to 256 sentences are shown, not 0"),
        ([1] * 257, "not 257"),
        ([3, 0], "a length is at least 1, not 0"),
        ([3, 1.5], TypeError, "a length is a whole number"),
        (["le chat"], TypeError, "a length is a whole number"),
        ([3, ["le", "chat"]], TypeError, "all sentences are lists of tokens, or all are lengths"),
        ([["oui"], []], "a length is at least 1, not 0"),
    ],
)


test_what_cannot_be_chosen = keeps(
    lambda **given: BatchView(LENGTHS, **given),
    [
        ("order", "fixed", "order is one of .+, not 'fixed'"),
        ("batch_size", 3, "batch_size is one of .+, not 3"),
        ("batch_size", 64, "batch_size is one of .+, not 64"),
    ],
)
