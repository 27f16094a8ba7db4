"""A training that is stopped at any moment goes on, and ends as if nothing had happened."""

import json
from unittest import mock

import pytest
import torch
from safetensors.torch import save_file

from seqlearn.data.batches import Batches
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language
from seqlearn.nn.seq2seq import BahdanauConfig, bahdanau
from seqlearn.nn.transformer import TransformerConfig, transformer
from seqlearn.training import Checkpoints, Stopped, constant, fit, loop
from seqlearn.training.loop import Training
from seqlearn.training.storage import read_file, write_file

pytestmark = pytest.mark.slow

LINES = [" ".join("abcdef"[(i + j) % 6] for j in range(1 + i % 4)) for i in range(48)]
LANGUAGE = Language.learn("", LINES)
PAIRS = [Pair(line, line[::-1]) for line in LINES]
TRAIN, VALID = Batches(PAIRS, LANGUAGE, LANGUAGE, 7), Batches(PAIRS[:9], LANGUAGE, LANGUAGE, 9)
UPDATES = 4  # of an epoch: 7 batches, two for each update
KINDS = {
    "bahdanau": lambda size: bahdanau(size, size, BahdanauConfig(embed_size=8, num_hiddens=8, dropout=0.3)),
    "tied": lambda size: transformer(
        size, size, TransformerConfig(num_hiddens=8, ffn_num_hiddens=8, num_heads=2, tie=True, dropout=0.3)
    ),
}


class Killed(Exception):
    """Stands for a crash."""


def train(checkpoints=None, kind="bahdanau", seed=0, lr=0.02, data=TRAIN, valid=VALID, dies_after=None, **options):
    """A training of three epochs with dropout and scheduled sampling, which dies after this many updates."""
    torch.manual_seed(seed)
    model, calls, update = KINDS[kind](len(LANGUAGE.vocab)), [], Training.update

    def mortal(*args):
        if len(calls) == dies_after:
            raise Killed
        calls.append(args)
        return update(*args)

    options = {"epochs": 3, "accumulate": 2, "teacher_forcing": lambda done: 1 - done / 2, **options}
    with mock.patch.object(Training, "update", mortal):
        history = fit(model, data, valid, lr=lr, checkpoints=checkpoints, progress=False, **options)
    return model.state_dict(), history, torch.rand(3)


def same(one, other):
    (weights, history, drawn), (others, other_history, others_drawn) = one, other
    assert weights.keys() == others.keys() and all(torch.equal(weights[name], others[name]) for name in weights)
    for name in ("batch_losses", "train_losses", "valid_losses", "tokens", "interrupted"):
        assert getattr(history, name) == getattr(other_history, name), name
    assert torch.equal(drawn, others_drawn), "the random generator stands elsewhere"


@pytest.fixture(scope="module", params=KINDS)
def whole(request):
    """A training that nothing stops, and its kind."""
    return train(kind=request.param), request.param


@pytest.mark.parametrize("dies_after", [3, 11, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 1, 4, 5, 7, 8))])
def test_a_training_that_dies_goes_on_to_the_same_end(whole, tmp_path, dies_after):
    """Also after an update that no checkpoint holds, and after another death."""
    expected, kind = whole
    checkpoints = Checkpoints(tmp_path, every_updates=2)
    with pytest.raises(Killed):
        train(checkpoints, kind, dies_after=dies_after)
    with pytest.raises(Killed):
        train(Checkpoints(tmp_path, every_updates=2), kind, seed=7, dies_after=1)  # other weights: they are not used
    same(train(Checkpoints(tmp_path, every_updates=2), kind, seed=8), expected)
    assert len(checkpoints.files) == 2, "older checkpoints are removed"


@pytest.mark.parametrize("dies_after", [6, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 9))])
@pytest.mark.parametrize("kind", KINDS)
def test_a_training_with_averaged_weights_goes_on_to_the_same_end(tmp_path, kind, dies_after):
    expected = train(kind=kind, average_last=3)
    with pytest.raises(Killed):
        train(Checkpoints(tmp_path, every_updates=2), kind, dies_after=dies_after, average_last=3)
    same(train(Checkpoints(tmp_path), kind, seed=8, average_last=3), expected)
    with pytest.raises(ValueError, match="another value of average_last"):
        train(Checkpoints(tmp_path), kind)


def test_a_training_that_has_run_out_of_patience_does_not_go_on(tmp_path):
    losses = iter([3.0, 2.0, 2.0, 2.5])
    with mock.patch.object(loop, "mean_loss", lambda *args: next(losses)):
        expected = train(Checkpoints(tmp_path), epochs=9, patience=2)
    assert expected[1].valid_losses == [3.0, 2.0, 2.0, 2.5]
    same(train(Checkpoints(tmp_path), seed=8, epochs=9, patience=2, dies_after=0), expected)


def test_after_its_end_a_training_is_only_loaded(whole, tmp_path):
    expected, kind = whole
    train(Checkpoints(tmp_path), kind)
    same(train(Checkpoints(tmp_path), kind, seed=8, dies_after=0), expected)  # it would die at the first update


def test_checkpoints_change_nothing(whole, tmp_path):
    expected, kind = whole
    same(train(Checkpoints(tmp_path, every_updates=1), kind), expected)


def test_who_asks_it_to_stop_gets_a_checkpoint(whole, tmp_path):
    expected, kind = whole
    checkpoints, update = Checkpoints(tmp_path), Training.update

    def ask(training, batches):
        checkpoints.stop = training.done > 0.4  # in the update that begins then
        return update(training, batches)

    with mock.patch.object(Training, "update", ask), pytest.raises(Stopped):
        train(checkpoints, kind)
    assert json.loads(read_file(checkpoints.files[-1]).texts["state"])["updates"] == 6  # 5 of 12 is the first above 0.4
    same(train(Checkpoints(tmp_path), kind), expected)


def test_who_asks_it_to_stop_after_the_last_update_of_an_epoch_is_heard_after_the_hooks(tmp_path):
    checkpoints, seen = Checkpoints(tmp_path), []

    def ask(model, history):
        seen.append(history.epochs)
        checkpoints.stop = history.epochs == 2

    with pytest.raises(Stopped):
        train(checkpoints, after_epoch=[ask])
    assert seen == [1, 2] and checkpoints.files[-1].stem == f"checkpoint-{2 * UPDATES:010}", "not one update more"
    same(train(Checkpoints(tmp_path)), train())


def test_the_checkpoint_of_an_epoch_is_written_before_its_hooks(tmp_path):
    def crash(model, history):
        raise Killed

    with pytest.raises(Killed):
        train(Checkpoints(tmp_path), after_epoch=[crash])
    assert json.loads(read_file(Checkpoints(tmp_path).files[-1]).texts["state"])["epoch"] == 1


def test_the_best_epoch_may_be_one_before_the_death(tmp_path, monkeypatch):
    """The validation losses are 1, 2 and 3, so the weights of epoch 1 are the best."""
    losses, first = iter([1.0, 2.0, 3.0]), {}
    monkeypatch.setattr(loop, "mean_loss", lambda *args: next(losses))

    def keep(model, history):
        for name, weight in model.state_dict().items():
            first.setdefault(name, weight.clone())

    with pytest.raises(Killed):
        train(Checkpoints(tmp_path), after_epoch=[keep], dies_after=2 * UPDATES)
    weights, history, _ = train(Checkpoints(tmp_path))
    assert history.valid_losses == [1.0, 2.0, 3.0]
    assert first and all(torch.equal(weights[name], first[name]) for name in first)


CHANGES = {
    "lr": {"lr": 0.03},
    "epochs": {"epochs": 4},
    "accumulate": {"accumulate": 1},
    "clip": {"clip": 2.0},
    "label_smoothing": {"label_smoothing": 0.1},
    "teacher_forcing": {"teacher_forcing": constant},
    "train": {"data": Batches(PAIRS, LANGUAGE, LANGUAGE, 7, seed=1)},
    "valid": {"valid": Batches(PAIRS[:8], LANGUAGE, LANGUAGE, 9)},
}


@pytest.mark.parametrize("name", CHANGES)
def test_other_arguments_are_refused_by_name(tmp_path, name):
    with pytest.raises(Killed):
        train(Checkpoints(tmp_path), dies_after=2)
    with pytest.raises(ValueError, match=f"was started with another value of {name}: give the same arguments"):
        train(Checkpoints(tmp_path), **CHANGES[name])
    with pytest.raises(ValueError, match="does not fit the model"):
        train(Checkpoints(tmp_path), kind="tied")


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_taken(tmp_path):
    expected = train()
    with pytest.raises(Killed):
        train(Checkpoints(tmp_path, every_updates=1), dies_after=6)
    newest = Checkpoints(tmp_path).files[-1]
    newest.write_bytes(newest.read_bytes()[:-9])
    with pytest.warns(UserWarning, match=f"{newest.name} is not a whole .*; going on from the checkpoint before it"):
        same(train(Checkpoints(tmp_path)), expected)
    for file in Checkpoints(tmp_path).files:
        file.write_bytes(file.read_bytes()[:-9])
    with pytest.warns(UserWarning), pytest.raises(ValueError, match=r"none of the checkpoints in .* can be read"):
        train(Checkpoints(tmp_path))


def test_a_checkpoint_without_its_checksum_is_damaged(tmp_path):
    with pytest.raises(Killed):
        train(Checkpoints(tmp_path, keep=1), dies_after=1)
    (file,) = Checkpoints(tmp_path).files
    stored = read_file(file)
    save_file(stored.tensors, file, stored.texts)
    with pytest.warns(UserWarning, match="it has no checksum"), pytest.raises(ValueError, match="can be read"):
        train(Checkpoints(tmp_path))


def test_a_damaged_checkpoint_does_not_outlive_the_good_one(tmp_path):
    """Where only one is kept: the numbers of the next checkpoints are lower than that of the damaged one."""
    expected = train()
    with pytest.raises(Killed):
        train(Checkpoints(tmp_path, every_updates=1, keep=2), dies_after=6)
    damaged = Checkpoints(tmp_path).files[-1]
    damaged.write_bytes(damaged.read_bytes()[:-9])
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="another value of lr"):
        train(Checkpoints(tmp_path, keep=1), lr=0.03)
    assert damaged.exists(), "nothing was restored, so nothing may be removed"
    with pytest.warns(UserWarning), pytest.raises(Killed):
        train(Checkpoints(tmp_path, every_updates=1, keep=1), dies_after=0)
    with pytest.raises(Killed):  # without a warning, so the damaged one is gone
        train(Checkpoints(tmp_path, every_updates=1, keep=1), dies_after=1)
    same(train(Checkpoints(tmp_path, keep=1)), expected)


def test_what_a_kill_left_half_written_is_removed(tmp_path):
    train(Checkpoints(tmp_path / "whole"))
    content = Checkpoints(tmp_path / "whole").files[-1].read_bytes()
    for number, part in enumerate([b"", content[:8], content[:20], content[:300], content[:-1], content]):
        (tmp_path / f"checkpoint-0000000003.safetensors.{number}-0123abcd.new").write_bytes(part)
    mine = [
        "notes.new",
        "checkpoint-0000000003.safetensors.9-0123abcd.new",
        "checkpoint-3.safetensors.9-0123abcd.new.new",
    ]
    for name in mine:
        (tmp_path / name).write_text("somebody else's", "utf-8")
    train(Checkpoints(tmp_path))
    assert {path.name for path in tmp_path.glob("*.new")} == set(mine)


def test_a_folder_of_checkpoints_keeps_what_is_somebody_elses(tmp_path):
    mine = ["epoch=3.ckpt", "checkpoint-best.safetensors", "checkpoint-0000000001.safetensors.index.json"]
    for name in mine:
        (tmp_path / name).write_bytes(b"precious")
    train(Checkpoints(tmp_path, every_updates=1, keep=1))
    Checkpoints(tmp_path).clear()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(mine, b"precious")
    (tmp_path / "checkpoint-0000000001.safetensors").write_bytes(b"precious")
    with pytest.raises(
        ValueError, match=r"checkpoint-0000000001.safetensors is damaged, or is not a checkpoint of seqlearn"
    ):
        train(Checkpoints(tmp_path))
    Checkpoints(tmp_path).clear()
    assert (tmp_path / "checkpoint-0000000001.safetensors").read_bytes() == b"precious"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"every_minutes": 2.5}, [0, 3, 6, 7, 10, 13, 14]),
        ({"every_updates": 2}, [0, 2, 4, 6, 7, 8, 10, 12, 14, 14]),
        ({}, [0, 7, 14]),
    ],
)
def test_a_checkpoint_is_written_after_some_minutes_or_updates_and_each_epoch_of_7(
    tmp_path, monkeypatch, options, expected
):
    """Each update takes a minute by this clock, and each checkpoint half a minute, which does not count.

    After update 14 one is written before the validation, and one after it.
    """
    now, written, update, write = [0.0], [], Training.update, Checkpoints.write

    def slow_update(*args):
        now[0] += 60
        return update(*args)

    def slow_write(self, updates, *args):
        now[0] += 30
        written.append(updates)
        write(self, updates, *args)

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(Training, "update", slow_update)
    monkeypatch.setattr(Checkpoints, "write", slow_write)
    train(Checkpoints(tmp_path, **options), epochs=2, accumulate=1)
    assert written == expected


def test_a_loss_that_is_no_number_is_met_at_its_update_and_the_checkpoint_is_whole(tmp_path):
    """Update 6 is the second of epoch 2. The weights of NaN reach no checkpoint."""
    update = Training.update

    def spoil(training, batches):
        loss, norm = update(training, batches)
        return loss * (float("nan") if training.done > 0.6 else 1.0), norm

    torch.manual_seed(0)
    model = KINDS["bahdanau"](len(LANGUAGE.vocab))
    checkpoints = Checkpoints(tmp_path, every_updates=1)
    message = r"the training loss of epoch 2 is nan at update 2 of 4, with learning rate 0\.00375: try a lower"
    with mock.patch.object(Training, "update", spoil), pytest.raises(ValueError, match=message):
        fit(model, TRAIN, VALID, epochs=2, lr=0.01, accumulate=2, checkpoints=checkpoints, progress=False)
    assert all(weight.isfinite().all() for weight in model.state_dict().values())
    assert all(tensor.isfinite().all() for tensor in read_file(checkpoints.files[-1]).tensors.values())


def test_a_checkpoint_of_another_version_is_refused(tmp_path):
    texts = {"state": json.dumps({"format": "99"})}
    write_file(tmp_path / "checkpoint-0000000001.safetensors", {"weight a": torch.ones(1)}, texts)
    with pytest.raises(ValueError, match=r"checkpoint-0000000001.* was written by another version of seqlearn"):
        train(Checkpoints(tmp_path))


def changed_state(**changes):
    return lambda tensors, state: state.update(changes)


def changed_moment(change):
    return lambda tensors, state: change(tensors, next(key for key in sorted(tensors) if key.endswith("exp_avg")))


def of_kind(kind, change):
    return lambda tensors, state: [change(tensors, key) for key in list(tensors) if key.startswith(kind)]


SPOILED = {  # what a checkpoint holds in a message: how it came there
    "the moment 0 exp_avg of Adam is missing": changed_moment(lambda all, key: all.update({key: torch.zeros(3)})),
    "moment 0 exp_avg of": changed_moment(lambda all, key: all.update({key: all[key].long()})),
    "the moment 0 .* is missing": of_kind("moment", lambda all, key: all.pop(key)),
    "the moment 0 exp_avg.* of another kind": changed_moment(lambda all, key: all.update({key + "_": all.pop(key)})),
    "the moment x": changed_moment(lambda all, key: all.update({"moment x": all[key] + 1})),
    "is damaged .*KeyError.*epoch": lambda tensors, state: state.pop("epoch"),
    "the numbers of its history": changed_state(epoch="1"),
    "numbers of its history": changed_state(epoch=2),
    "its history do not fit": changed_state(tokens=[3]),
    "history do not fit together": changed_state(seconds="9"),
    "is damaged .*unexpected keyword argument": changed_state(history={"loss": []}),
    "is damaged .*must be a mapping": changed_state(history=[]),
    r"is damaged \((Type|Attribute)": changed_state(options=3),
    "is damaged .*RuntimeError": of_kind("random cpu", lambda all, key: all.update({key: all[key][:9]})),
    "is damaged .*KeyError.*weight": of_kind("weight", lambda all, key: all.pop(key)),
    "does not fit the model: decoder.* missing": of_kind("best", lambda all, key: all.pop(key)),
    "does not fit the model: decoder.* is missing there": of_kind(
        "best", lambda all, key: all.update({key + "_": all.pop(key)})
    ),
    r"does not fit the model: .* is \(1,\) there": of_kind("end0", lambda all, key: all.update({key: torch.ones(1)})),
}


@pytest.mark.parametrize("message", SPOILED)
def test_a_checkpoint_that_no_training_writes_is_refused(tmp_path, message):
    """Its checksum is right. Adam would read outside its memory, or begin anew without a word."""
    with pytest.raises(Killed):
        train(Checkpoints(tmp_path, keep=1, every_updates=1), dies_after=6, average_last=2)
    (path,) = Checkpoints(tmp_path).files
    stored = read_file(path)
    tensors, state = dict(stored.tensors), json.loads(stored.texts["state"])
    SPOILED[message](tensors, state)
    write_file(path, tensors, stored.texts | {"state": json.dumps(state)})
    with pytest.raises(ValueError, match=message):
        train(Checkpoints(tmp_path), average_last=2)


@pytest.mark.parametrize("options", [{"keep": 0}, {"every_minutes": 0}, {"every_updates": 0}])
def test_arguments_out_of_range(tmp_path, options):
    with pytest.raises(ValueError, match="keep and every_updates are at least 1"):
        Checkpoints(tmp_path, **options)
