"""Held out means held out: the test part has no part in training, nor in the choice of the epoch."""

import re
from collections.abc import Sequence

import pytest
import torch
from typer.testing import CliRunner

from seqlearn.cli import app
from seqlearn.data.batches import Batches
from seqlearn.data.corpus import Split, from_tsv
from seqlearn.data.pairs import Pair
from seqlearn.training.storage import read_file
from seqlearn.translator.translator import Translator

pytestmark = pytest.mark.slow

LINES = [f"{a} {b} {c}" for a in "red green blue one".split() for b in "two three four".split() for c in "xyz"]
PAIRS = [Pair(line, f"{line} !") for line in LINES]
SPLIT = Split(PAIRS[8:], PAIRS[4:8], PAIRS[:4])
SIZES = {"embed_size": 8, "num_hiddens": 8}


class Sealed(Sequence):
    """A test part that nobody may look into."""

    def __getitem__(self, index):
        raise AssertionError("the test part was read")

    def __len__(self):
        raise AssertionError("the test part was counted")


def trained(split):
    """Weights and history of a translator that was trained on this split, its vocabularies included."""
    translator = Translator.untrained("bahdanau", split, ("", ""), **SIZES)
    history = translator.fit(split, epochs=3, lr=0.01, batch_size=8, progress=False)
    return translator.model.state_dict(), history


def same(left, right):
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def test_training_does_not_look_at_the_test_part():
    with pytest.raises(AssertionError, match="was read"):
        Sealed()[0]
    trained(SPLIT._replace(test=Sealed()))


def test_another_test_part_changes_no_bit_and_another_train_or_valid_part_does():
    others = [Pair(pair.source, "red red red red !") for pair in PAIRS]
    weights, history = trained(SPLIT)
    for test in (others[:4], [], PAIRS[4:8]):
        theirs, their_history = trained(SPLIT._replace(test=test))
        assert same(theirs, weights)
        assert (their_history.batch_losses, their_history.valid_losses) == (history.batch_losses, history.valid_losses)
    assert not same(trained(SPLIT._replace(train=PAIRS[8:30] + others[30:]))[0], weights)
    assert trained(SPLIT._replace(valid=others[4:8]))[1].valid_losses != history.valid_losses


def test_each_part_has_its_use(monkeypatch):
    """What becomes batches, and which of these are iterated in order (validation) or epoch by epoch (training)."""
    made, uses = {}, []
    init, epoch, iterate = Batches.__init__, Batches.epoch, Batches.__iter__

    def spy_init(self, pairs, *args, **options):
        made[id(self)] = list(pairs)
        init(self, made[id(self)], *args, **options)

    monkeypatch.setattr(Batches, "__init__", spy_init)
    monkeypatch.setattr(
        Batches,
        "epoch",
        lambda self, *which, **start: uses.append(("train", made[id(self)])) or epoch(self, *which, **start),
    )
    monkeypatch.setattr(Batches, "__iter__", lambda self: uses.append(("valid", made[id(self)])) or iterate(self))
    trained(SPLIT)
    assert uses == [("train", SPLIT.train), ("valid", SPLIT.valid)] * 3


def test_the_command_line_keeps_the_test_part_for_evaluate(tmp_path, monkeypatch):
    """Two files that differ only in the translations of their test part give the same model, byte for byte."""
    monkeypatch.setenv("SEQLEARN_DEVICE", "cpu")

    def train(name, pairs, *options):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), "utf-8")
        files = ["--corpus", str(tmp_path / f"{name}.tsv"), "--out", str(tmp_path / name)]
        small = ["--embed-size", "8", "--hidden", "8", "--batch-size", "8", "--epochs", "2"]
        result = CliRunner().invoke(app, ["train", *files, *small, "--held-out", "0.15", "--min-freq", "1", *options])
        assert result.exit_code == 0, result.output
        stored = read_file(tmp_path / name / "model.safetensors")
        texts = {part: stored.texts[part] for part in ("source", "target")}  # the configuration names the file
        model = {part: tensor.tolist() for part, tensor in stored.tensors.items()} | texts
        return model, re.findall(r"loss [\d.]+, validation [\d.]+", result.output)

    model, losses = train("plain", PAIRS)
    assert len(losses) == 2 and "source" in model and len(model) > 10
    parts = from_tsv(tmp_path / "plain.tsv", ("en", "fr")).split(0.15, 0.15, seed=0)
    test, valid = ({pair.source for pair in part} for part in (parts.test, parts.valid))
    assert len(test) > 2 and len(valid) > 2 and not test & valid

    def changed(sources):
        return [Pair(pair.source, "red unseen !" if pair.source in sources else pair.target) for pair in PAIRS]

    assert train("other-test", changed(test)) == (model, losses)
    assert train("other-valid", changed(valid))[1] != losses
    assert train("other-train", changed({pair.source for pair in parts.train[:3]}))[0] != model
