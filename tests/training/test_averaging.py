"""The mean of the weights at the ends of the last epochs."""

import copy
import math

import pytest
import torch

from seqlearn.data.batches import Batches
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language
from seqlearn.nn.seq2seq import BahdanauConfig, bahdanau
from seqlearn.nn.transformer import TransformerConfig, transformer
from seqlearn.training import fit, mean_loss
from seqlearn.training.averaging import mean_of, using_weights

LINES = [" ".join("abcdef"[(i + j) % 6] for j in range(1 + i % 4)) for i in range(48)]
LANGUAGE = Language.learn("", LINES)
SIZE = len(LANGUAGE.vocab)
PAIRS = [Pair(line, line[::-1]) for line in LINES]
TRAIN, VALID = Batches(PAIRS, LANGUAGE, LANGUAGE, 8), Batches(PAIRS[:9], LANGUAGE, LANGUAGE, 9)
KINDS = {
    "bahdanau": lambda: bahdanau(SIZE, SIZE, BahdanauConfig(embed_size=8, num_hiddens=8, dropout=0.3)),
    "tied": lambda: transformer(
        SIZE, SIZE, TransformerConfig(num_hiddens=8, ffn_num_hiddens=8, num_heads=2, tie=True, dropout=0.3)
    ),
}


def train(kind, **options):
    """A model, its history, and its weights as the hooks saw them after each of five epochs."""
    torch.manual_seed(0)
    model, seen = KINDS[kind](), []

    def see(model, history):
        seen.append({name: tensor.double() for name, tensor in copy.deepcopy(model.state_dict()).items()})

    history = fit(model, TRAIN, VALID, epochs=5, lr=0.1, after_epoch=[see], progress=False, **options)
    return model, history, seen


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("average", [2, 3, 9])
def test_each_epoch_is_the_mean_of_the_last_ones_and_training_goes_on_with_its_own_weights(kind, average):
    """The oracle: a training without averages, whose epochs are averaged afterwards, in a loop and in float64."""
    _, plain, ends = train(kind)
    model, history, seen = train(kind, average_last=average)
    assert history.batch_losses == plain.batch_losses and history.train_losses == plain.train_losses
    probe = KINDS[kind]()
    for epoch, weights in enumerate(seen):
        for name, tensor in weights.items():
            expected = torch.zeros_like(tensor)
            last = ends[max(0, epoch + 1 - average) : epoch + 1]
            for end in last:
                expected += end[name] / len(last)
            torch.testing.assert_close(tensor, expected, atol=1e-6, rtol=0, msg=f"{name}, epoch {epoch + 1}")
        probe.load_state_dict(weights)
        assert history.valid_losses[epoch] == mean_loss(probe, VALID)
    assert history.valid_losses[0] == plain.valid_losses[0] and history.valid_losses[2:] != plain.valid_losses[2:]
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor.double(), seen[history.best_epoch][name])
    if kind == "tied":
        assert model.decoder.dense.weight is model.decoder.embedding.weight


@pytest.mark.slow
def test_the_average_of_one_epoch_changes_no_bit():
    (plain, history, _), (model, same, _) = train("bahdanau"), train("bahdanau", average_last=1)
    assert (history.batch_losses, history.valid_losses) == (same.batch_losses, same.valid_losses)
    assert all(torch.equal(one, other) for one, other in zip(plain.parameters(), model.parameters(), strict=True))


def test_counts_are_those_of_the_last_epoch_and_half_precision_does_not_overflow():
    half, brain = torch.tensor([60000.0], dtype=torch.float16), torch.tensor([256.0, 1.0], dtype=torch.bfloat16)
    ends = [
        {"half": half, "brain": brain, "count": torch.tensor(number), "flag": torch.tensor(number > 5)}
        for number in (9, 1, 2)
    ]
    mean = mean_of(ends)
    assert torch.equal(mean["half"], half) and mean["half"].dtype == torch.float16, "the sum is beyond float16"
    assert torch.equal(mean["brain"], brain) and mean["brain"].dtype == torch.bfloat16
    assert mean["count"] == 2 and mean["count"].dtype == torch.int64 and mean["flag"].item() is False
    many = [{"a": torch.tensor([math.pi])}] * 3
    torch.testing.assert_close(mean_of(many)["a"], torch.tensor([math.pi]))
    assert mean_of(many[:1])["a"] is many[0]["a"]


def test_a_model_uses_other_weights_and_gets_its_own_back_also_after_an_error():
    """Tied weights stay one tensor. Batch norm has counts, which are no parameters."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 3, bias=False))
    model[2].weight = model[0].weight
    own, others = copy.deepcopy(model.state_dict()), copy.deepcopy(model).apply(lambda part: None)
    for tensor in others.state_dict().values():
        tensor.add_(1)
    with pytest.raises(KeyboardInterrupt), using_weights(model, dict(others.state_dict())):
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, others.state_dict()[name])
        raise KeyboardInterrupt
    assert all(torch.equal(tensor, own[name]) for name, tensor in model.state_dict().items())
    assert model[2].weight is model[0].weight
    with using_weights(model, None):
        assert all(torch.equal(tensor, own[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("options", [{"average_last": 0}, {"patience": 0}])
def test_numbers_out_of_range_are_said(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} is at least 1, not 0"):
        train("bahdanau", **options)
