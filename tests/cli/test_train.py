"""`seqlearn train` on machines that vanish: stopped, killed, resumed, in folders that are in use or not its own."""

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from filelock import FileLock
from safetensors.torch import save, save_file
from typer.testing import CliRunner

from seqlearn.cli import app, output, train as commands
from seqlearn.training import Stopped, loop
from seqlearn.training.storage import read_file, write_file
from seqlearn.translator.saving import MODEL
from seqlearn.translator.translator import Translator
from tests.training import together

pytestmark = pytest.mark.slow

LINES = [" ".join(random.Random(i).choices("red blue one three".split(), k=i % 4 + 1)) + f" w{i}" for i in range(60)]
SMALL = ["--embed-size", "8", "--hidden", "8", "--batch-size", "4", "--epochs", "3", "--held-out", "0.1"]
FILES = [".lock", "config.json", "log.jsonl", "loss.svg", MODEL, "run.toml"]
posix = pytest.mark.skipif(os.name == "nt", reason="signals of Unix")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    path.write_text("".join(f"{line}\t{line} !\n" for line in LINES), encoding="utf-8")
    return path


def options(pairs, out, *more):
    return ["train", "--corpus", str(pairs), "--out", str(out), *SMALL, *more]


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def refused(message, *arguments):
    """The command ends with this sentence."""
    result = run(*arguments)
    assert result.exit_code == 1 and message in " ".join(result.stderr.split()), result.output


def healed(monkeypatch):
    """Nothing is wrong any more."""
    monkeypatch.undo()
    monkeypatch.setenv("SEQLEARN_DEVICE", "cpu")


@pytest.fixture(scope="module")
def whole(pairs, tmp_path_factory):
    """What a training that nothing stops writes."""
    out = tmp_path_factory.mktemp("whole") / "model"
    result = run(*options(pairs, out))
    assert result.exit_code == 0, result.output
    assert not (out / "checkpoints").exists()
    return out


def assert_same(out, whole):
    one, other = read_file(out / MODEL), read_file(whole / MODEL)
    assert one.texts == other.texts
    assert all(torch.equal(one.tensors[name], other.tensors[name]) for name in other.tensors)


def dies(monkeypatch, after, error):
    """The process meets this error at this update."""
    calls, update = [], loop.Training.update

    def mortal(*args):
        calls.append(1)
        if len(calls) == after:
            raise error
        return update(*args)

    monkeypatch.setattr(loop.Training, "update", mortal)


@pytest.fixture
def handled():
    """Each signal has a handler, as in a terminal. Under `nohup`, where a test may run, some are ignored."""

    def outside(number, frame):
        raise AssertionError(f"signal {number} reached the handler outside")

    names = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = {each: signal.signal(each, outside) for each in names}
    yield outside
    for each, handler in before.items():
        signal.signal(each, handler)


@posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_gives_a_checkpoint_and_a_status_of_its_own(pairs, tmp_path, monkeypatch, whole, handled, name):
    out, calls, update = tmp_path / "model", [], loop.Training.update

    def signalled(*args):
        calls.append(1)
        if len(calls) in (17, 18):  # in epoch 2, and once more before the update has ended
            signal.raise_signal(signal.Signals[name])
            signal.raise_signal(signal.Signals[name])
        return update(*args)

    monkeypatch.setattr(loop.Training, "update", signalled)
    result = run(*options(pairs, out))
    assert result.exit_code == 128 + signal.Signals[name], result.output
    said = " ".join(result.stderr.split())
    assert "the best so far, of epoch 1, is in" in said and f"seqlearn train --resume {out}" in said
    assert len(calls) == 17 and Translator.load(out).config["epochs"] == 1
    healed(monkeypatch)
    assert signal.getsignal(signal.Signals[name]) is handled, "the old handler is not back"
    assert run("train", "--resume", out).exit_code == 0
    assert_same(out, whole)


@posix
def test_under_nohup_a_training_outlives_its_terminal(pairs, tmp_path, monkeypatch, whole, handled):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    update = loop.Training.update
    monkeypatch.setattr(loop.Training, "update", lambda *args: signal.raise_signal(signal.SIGHUP) or update(*args))
    assert run(*options(pairs, tmp_path / "model")).exit_code == 0
    assert_same(tmp_path / "model", whole)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@posix
def test_a_training_that_is_killed_again_and_again_ends_as_if_nothing_had_happened(pairs, tmp_path, whole):
    """SIGKILL at random moments, also inside a checkpoint: one is written at each update."""
    out, rng, kills = tmp_path / "model", random.Random(0), 0
    often = ["--checkpoint-updates", "1"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for _ in range(12):
        started = (out / "checkpoints").exists() and any((out / "checkpoints").glob("*.safetensors"))
        if not started and (out / MODEL).exists():
            break  # it was killed after its end, while its checkpoints were removed
        arguments = ["train", "--resume", str(out), *often] if started else options(pairs, out, *often)
        process = subprocess.Popen(
            [sys.executable, "-m", "seqlearn", *arguments], env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        before = newest(out)
        while process.poll() is None and newest(out) == before:
            time.sleep(0.005)  # training goes on now
        time.sleep(rng.random() * 0.08)
        process.kill()
        _, said = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), said
        kills += process.returncode != 0
        if not process.returncode:
            break
    assert kills >= 3
    if process.returncode:  # it may have been killed after the training had ended
        result = run("train", "--resume", out)
        assert result.exit_code == 0 or "a finished translator" in " ".join(result.stderr.split()), result.output
    assert_same(out, whole)
    assert sorted(path.name for path in out.rglob("*") if path.is_file()) == FILES


def test_two_processes_train_together_and_the_survivor_of_a_kill_says_so(pairs, tmp_path):
    """One process then goes on, and the translator is that of one process, but for dropout and rounding."""
    out, pipes = tmp_path / "model", {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = ["-m", "seqlearn", *options(pairs, out, "--checkpoint-updates", "1", "--epochs", "40")]
    first, second = together.start(2, *command, **pipes)
    while first.poll() is None and newest(out) < "checkpoint-0000000020":
        time.sleep(0.01)
    second.kill()
    told, said = first.communicate(timeout=600)
    assert first.returncode == 1 and second.communicate() == ("", ""), said
    assert "on cpu, 1 thread, in 2 processes" in told and "epoch 1: loss" in told
    assert "another process of this training has ended, or does not answer; the best so far" in " ".join(said.split())
    result = run("train", "--resume", out)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert len((out / "log.jsonl").read_text().splitlines()) == 40


@posix
def test_a_signal_to_another_process_is_not_given_a_name(pairs, tmp_path, monkeypatch):
    def stopped(*args, **options):
        raise Stopped

    monkeypatch.setattr(Translator, "fit", stopped)
    result = run(*options(pairs, tmp_path / "model"))
    assert result.exit_code == 143 and "stopped by a signal to another process of this training; no" in result.stderr


HASTY = """
from datetime import timedelta
from seqlearn.cli import app
from seqlearn.training import processes
processes.SILENCE = processes.POLL = timedelta(seconds=0.5)
app()
"""


@posix
@pytest.mark.parametrize(("stopped", "name"), [(0, "SIGINT"), (1, "SIGTERM")])
def test_a_process_that_waits_for_a_stopped_one_says_so_and_hears_a_signal(pairs, tmp_path, stopped, name):
    out, pipes = tmp_path / "model", {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = options(pairs, out, "--checkpoint-updates", "1", "--epochs", "1000")
    group = together.start(2, "-c", HASTY, *command, **pipes)
    other, waits = group[stopped], group[1 - stopped]
    try:
        while waits.poll() is None and newest(out) < "checkpoint-0000000002":
            time.sleep(0.01)
        other.send_signal(signal.SIGSTOP)
        said = next(line for line in waits.stderr if "has waited" in line)
        assert said.startswith(f"seqlearn: process {2 - stopped} of 2 has waited 1 seconds for another process"), said
        kept = newest(out)
        waits.send_signal(signal.Signals[name])
        _, said = waits.communicate(timeout=60)
        assert waits.returncode == 1 and "another process of this training does not answer" in " ".join(said.split())
        for each in (signal.Signals[name], signal.SIGCONT):  # Ctrl-C in a terminal comes to both
            other.send_signal(each)
        _, said = other.communicate(timeout=60)
        assert other.returncode == 1 and "seqlearn: another process of this training" in " ".join(said.split())
        assert newest(out) >= kept, "what was there is still there"
    finally:
        for process in group:
            process.kill()


def test_what_the_first_process_refuses_ends_the_other_too(pairs, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    group = together.start(2, "-m", "seqlearn", *options(pairs, tmp_path), stderr=subprocess.PIPE, text=True)
    (_, first), (_, second) = (process.communicate(timeout=600) for process in group)
    assert [process.returncode for process in group] == [1, 1]
    assert "holds something other than a translator (thesis.txt)" in " ".join(first.split())
    assert "another process of this training has ended" in " ".join(second.split())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def newest(out):
    return max((path.name for path in (out / "checkpoints").glob("*.safetensors")), default="")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("the loss is nan"), "the loss is nan"),
        (RuntimeError("CUDA out of memory"), "RuntimeError: CUDA out of memory"),
        (torch.OutOfMemoryError("CUDA out of memory"), "OutOfMemoryError: CUDA out of memory"),
        (MemoryError(), "there is not enough memory"),
        (OSError(28, "No space left on device", "model"), "model: No space left on device"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "in position 0: invalid start byte"),
    ],
)
def test_after_an_error_the_best_so_far_is_there(pairs, tmp_path, monkeypatch, error, sentence):
    dies(monkeypatch, 30, error)
    result = run(*options(pairs, tmp_path / "model"))
    assert result.exit_code == 1
    said = " ".join(result.stderr.split())
    assert f"{sentence}; the best so far, of epoch 2, is in" in said
    assert Translator.load(tmp_path / "model").config["epochs"] == 2
    dies(monkeypatch, 2, ValueError("another error"))
    result = run("train", "--resume", tmp_path / "model")
    assert "another error; the best of the epochs before is in" in " ".join(result.stderr.split())


def test_a_translator_that_cannot_be_written_is_not_announced(pairs, tmp_path, monkeypatch):
    save, saved = Translator.save, []

    def full(self, folder):
        saved.append(folder)
        if len(saved) == 2:
            raise OSError(28, "No space left on device")
        save(self, folder)

    monkeypatch.setattr(Translator, "save", full)
    result = run(*options(pairs, tmp_path / "model"))
    assert "No space left on device; the best so far, of epoch 1, is in" in " ".join(result.stderr.split())
    assert Translator.load(tmp_path / "model").config["epochs"] == 1


def test_other_options_are_refused_by_name(pairs, tmp_path, monkeypatch):
    dies(monkeypatch, 20, ValueError("an error"))
    out = tmp_path / "model"
    assert run(*options(pairs, out, "--lr", "0.01")).exit_code == 1
    for more, message in [
        (["--lr", "0.02"], "--lr was 0.01 when the training"),
        (["--hidden", "9"], "--hidden was 8 when"),
        (["--epochs", "9"], "--epochs was 3 when"),
        (["--corpus", "builtin"], "--corpus was"),
    ]:
        result = run("train", "--resume", out, *more)
        assert result.exit_code == 1 and message in " ".join(result.stderr.split()), result.output
    refused("holds an unfinished training: go on with --resume", *options(pairs, out))
    healed(monkeypatch)
    changed = pairs.read_text(encoding="utf-8")
    try:
        pairs.write_text(changed + "red\tred\n", encoding="utf-8")
        refused("has changed since", "train", "--resume", out)
    finally:
        pairs.write_text(changed, encoding="utf-8")
    assert run("train", "--resume", out, "--lr", "0.01", "--checkpoint-minutes", "1").exit_code == 0
    refused("holds a finished translator: nothing to resume", "train", "--resume", out)
    refused("holds no checkpoint", "train", "--resume", tmp_path / "nowhere")


def test_a_kill_while_the_checkpoints_are_removed_leaves_a_finished_translator(pairs, tmp_path, whole):
    out = tmp_path / "model"
    shutil.copytree(whole, out)
    (out / "checkpoints").mkdir()
    (out / "checkpoints" / "checkpoint-0000000009.safetensors.7-0123abcd.new").touch()
    refused("holds a finished translator: nothing to resume", "train", "--resume", out)
    assert_same(out, whole)
    assert run(*options(pairs, out, "--overwrite")).exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == FILES


def test_a_moved_folder_goes_on(pairs, tmp_path, monkeypatch, whole):
    dies(monkeypatch, 20, ValueError("an error"))
    assert run(*options(pairs, tmp_path / "model")).exit_code == 1
    healed(monkeypatch)
    shutil.move(tmp_path / "model", tmp_path / "moved")
    assert run("train", "--resume", tmp_path / "moved").exit_code == 0
    assert_same(tmp_path / "moved", whole)


def test_a_folder_of_somebody_else_is_left_alone(pairs, tmp_path):
    """A model of another library, any other file, and a file in place of the folder."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "readme").touch()  # comes after the model
    save_file({"weight": torch.ones(2)}, foreign / MODEL)
    before = (foreign / MODEL).read_bytes()
    result = run(*options(pairs, foreign))
    assert result.exit_code == 1 and f"holds something other than a translator ({MODEL})" in " ".join(
        result.stderr.split()
    )
    assert (foreign / MODEL).read_bytes() == before and len(list(foreign.iterdir())) == 2
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work", encoding="utf-8")
    refused("(thesis.txt)", *options(pairs, other))
    assert [path.name for path in other.iterdir()] == ["thesis.txt"]
    assert run(*options(pairs, pairs)).exit_code == 1


def test_two_trainings_do_not_share_a_folder(pairs, tmp_path, whole):
    shutil.copytree(whole, tmp_path / "model")
    with FileLock(tmp_path / "model" / ".lock"):
        result = run(*options(pairs, tmp_path / "model", "--overwrite"))
    assert result.exit_code == 1 and "another process is writing to" in result.stderr
    assert_same(tmp_path / "model", whole)


def test_a_lock_with_content_is_somebody_elses(pairs, tmp_path):
    (tmp_path / ".lock").write_text("precious", encoding="utf-8")
    refused("so it is not our lock: move it away", *options(pairs, tmp_path))
    assert (tmp_path / ".lock").read_text("utf-8") == "precious" and len(list(tmp_path.iterdir())) == 1


def test_a_failed_start_leaves_no_folders(tmp_path):
    result = run(*options(tmp_path / "none.tsv", tmp_path / "a" / "b"))
    assert result.exit_code == 1 and not (tmp_path / "a").exists()


def test_where_to_write_must_be_said():
    refused("Give --out FOLDER", "train", "--epochs", "1")


def test_a_finished_translator_is_replaced_only_if_asked_and_its_halves_are_removed(pairs, tmp_path, whole):
    out = tmp_path / "model"
    shutil.copytree(whole, out)
    content = (out / MODEL).read_bytes()
    (out / f"{MODEL}.123-0123abcd.new").write_bytes(content[:1000])
    result = run(*options(pairs, out, "--seed", "1"))
    said = " ".join(result.stderr.split())
    assert result.exit_code == 1 and "holds a finished translator: choose another folder, or add --overwrite" in said
    assert (out / MODEL).read_bytes() == content and (out / f"{MODEL}.123-0123abcd.new").exists()
    assert run(*options(pairs, out, "--seed", "1", "--overwrite")).exit_code == 0
    assert Translator.load(out).config["seed"] == 1
    assert sorted(path.name for path in out.iterdir()) == FILES


def test_an_old_translator_stays_until_the_first_epoch_of_the_new_one(pairs, tmp_path, monkeypatch, whole):
    out = tmp_path / "model"
    shutil.copytree(whole, out)
    dies(monkeypatch, 5, ValueError("an error"))
    refused("an error; no epoch was finished", *options(pairs, out, "--seed", "1", "--overwrite"))
    assert_same(out, whole)
    dies(monkeypatch, 5, ValueError("another error"))
    result = run("train", "--resume", out)
    assert "another error; no epoch was finished" in " ".join(result.stderr.split()), (
        "the old one is not of this training"
    )
    refused("holds an unfinished training: go on with", *options(pairs, out, "--overwrite"))
    healed(monkeypatch)
    assert run("train", "--resume", out).exit_code == 0 and Translator.load(out).config["seed"] == 1


def test_a_training_that_fails_before_its_first_epoch_does_not_block_the_next(pairs, tmp_path):
    """The advice of the sentence can be followed as it is written, in a new folder and in one with a translator."""
    out = tmp_path / "model"
    result = run(*options(pairs, out, "--lr", "3e38"))
    said = " ".join(result.stderr.split())
    assert result.exit_code == 1 and "of epoch 1 is" in said and "try a lower learning rate" in said
    assert "no epoch was finished" in said and not out.exists()
    assert run(*options(pairs, out, "--lr", "1e-3")).exit_code == 0
    before = (out / MODEL).read_bytes()
    assert run(*options(pairs, out, "--lr", "3e38", "--overwrite")).exit_code == 1
    assert sorted(path.name for path in out.iterdir()) == FILES and (out / MODEL).read_bytes() == before


def test_a_training_that_fails_later_keeps_its_checkpoints(pairs, tmp_path, monkeypatch):
    """The fault may lie in the machine: to go on is worth a try."""
    dies(monkeypatch, 20, loop.Diverged("the loss is nan"))
    result = run(*options(pairs, tmp_path / "model"))
    assert "the loss is nan; the best so far, of epoch 1, is in" in " ".join(result.stderr.split())
    assert len(list((tmp_path / "model" / "checkpoints").iterdir())) == 2


PRECIOUS = {  # what stands in a folder, and the sentence that refuses it
    "checkpoints of another library": ({"checkpoints/epoch=3.ckpt": b"precious"}, r"(checkpoints/epoch=3.ckpt)"),
    "its name, too": ({"checkpoints/checkpoint-0000000003.safetensors": b"precious"}, "0000000003.safetensors)"),
    "a file for the folder": ({"checkpoints": b"precious"}, "(checkpoints)"),
    "a configuration": ({"config.json": b'{"mine": 1}'}, "(config.json)"),
    "a configuration with a format": ({"config.json": b'{"format": 1}'}, "(config.json)"),
    "a log": ({"log.jsonl": b"precious log"}, "(log.jsonl)"),
    "a log of JSON": ({"log.jsonl": b'{"epoch": 1, "loss": 2.0}\n'}, "(log.jsonl)"),
    "options": ({"run.toml": b"epochs = 3\n"}, "(run.toml)"),
    "a drawing": ({"loss.svg": b"<svg><title>seqlearn</title></svg>"}, "(loss.svg)"),
    "a sharded model": ({f"{MODEL}.index.json": b"{}", "config.json": b'{"architectures": 1}'}, "(config.json)"),
    "its index alone": ({f"{MODEL}.index.json": b"{}"}, f"({MODEL}.index.json)"),
    "something half written": ({f"{MODEL}.12-0123abcd.new": b"precious"}, f"({MODEL}.12-0123abcd.new)"),
    "a model": ({MODEL: save({"a": torch.ones(2)}, {"format": "pt"})}, f"({MODEL})"),
    "a model and a format": (
        {MODEL: save({"a": torch.ones(2)}), "config.json": b'{"format": 2, "model": "x", "sizes": {}}'},
        f"({MODEL})",
    ),
}


def content_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", PRECIOUS)
@pytest.mark.parametrize("more", [[], ["--overwrite"]], ids=["", "overwrite"])
def test_files_with_our_names_and_the_bytes_of_somebody_else_stay(pairs, tmp_path, name, more):
    files, message = PRECIOUS[name]
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    result = run(*options(pairs, tmp_path, *more))
    assert result.exit_code == 1 and message in " ".join(result.stderr.split()), result.output
    assert content_of(tmp_path) == files


def test_nothing_is_removed_where_there_is_nothing_to_resume(tmp_path):
    files = {"config.json": b"{}", MODEL: b"precious", "checkpoints/epoch1.pt": b"precious"}
    (tmp_path / "checkpoints").mkdir()
    for path, content in files.items():
        (tmp_path / path).write_bytes(content)
    refused("holds no checkpoint: nothing to resume", "train", "--resume", tmp_path)
    assert content_of(tmp_path) == files


def test_a_training_goes_on_beside_files_of_others_but_not_over_them(pairs, tmp_path, monkeypatch, whole):
    out, mine = tmp_path / "model", {"notes.txt": b"precious", "checkpoints/keep.ckpt": b"precious"}
    dies(monkeypatch, 5, ValueError("an error"))
    assert run(*options(pairs, out)).exit_code == 1
    healed(monkeypatch)
    for path, content in {**mine, "log.jsonl": b"precious"}.items():
        (out / path).write_bytes(content)
    before = content_of(out)
    refused("(log.jsonl): move it away", "train", "--resume", out)
    assert content_of(out) == before
    (out / "log.jsonl").unlink()
    assert run("train", "--resume", out).exit_code == 0
    assert_same(out, whole)
    assert {path: content_of(out)[path] for path in mine} == mine


def test_a_record_that_somebody_puts_there_meanwhile_stays(pairs, tmp_path, monkeypatch):
    out, update = tmp_path / "model", loop.Training.update

    def and_notes(*args):
        if (out / MODEL).exists() and not (out / "notes").exists():
            (out / "notes").touch()
            (out / "loss.svg").write_text("precious", encoding="utf-8")
        return update(*args)

    monkeypatch.setattr(loop.Training, "update", and_notes)
    refused("loss.svg is not of this training, or was changed: move it away", *options(pairs, out))
    assert (out / "loss.svg").read_text("utf-8") == "precious"
    (out / "loss.svg").unlink()
    assert run("train", "--resume", out).exit_code == 0


def test_links_to_another_translator_are_not_followed(pairs, tmp_path, whole):
    (tmp_path / "best").mkdir()
    for name in ("log.jsonl", "loss.svg", "run.toml", "config.json"):
        (tmp_path / "best" / name).symlink_to(whole / name)
    before = content_of(whole)
    refused("(config.json): choose another folder", *options(pairs, tmp_path / "best"))
    assert content_of(whole) == before


def test_who_comes_second_removes_nothing_of_the_first(tmp_path, monkeypatch):
    """Both found no folder; the second finds the lock held."""
    real = output.lock_at

    def slow(path, timeout):
        with monkeypatch.context() as context:
            context.setattr(output, "lock_at", real)
            first = output.claimed(tmp_path / "new")
            first.__enter__()
            request.append(first)
        return real(path, timeout)

    request = []
    monkeypatch.setattr(output, "lock_at", slow)
    with pytest.raises(ValueError, match="another process is writing"), output.claimed(tmp_path / "new"):
        pass
    assert (tmp_path / "new" / ".lock").exists()
    request[0].__exit__(None, None, None)


def test_a_folder_that_is_a_link_to_nothing(pairs, tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("link", "loop"):
        refused(f"{name} is a link that leads nowhere", *options(pairs, tmp_path / name))


def test_a_full_disk_at_the_first_checkpoint_leaves_no_folders(pairs, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("seqlearn.training.storage.save", full)
    refused("No space left on device", *options(pairs, tmp_path / "a" / "b"))
    assert not (tmp_path / "a").exists()


def test_the_folder_has_a_log_and_a_curve_and_the_screen_has_samples(pairs, tmp_path, monkeypatch):
    """After a restart the log has each epoch once."""
    dies(monkeypatch, 20, ValueError("an error"))
    out = tmp_path / "model"
    result = run(*options(pairs, out))
    assert result.output.count("  ->  ") == 2
    healed(monkeypatch)
    assert len((out / "log.jsonl").read_text("utf-8").splitlines()) == 1
    result = run("train", "--resume", out)
    log = [json.loads(line) for line in (out / "log.jsonl").read_text("utf-8").splitlines()]
    assert [line["epoch"] for line in log] == [1, 2, 3]
    said = f"epoch 3: loss {log[2]['train_loss']:.3f}, validation {log[2]['valid_loss']:.3f}"
    assert said in result.output and log[2]["tokens"] > 100
    assert "<svg" in (out / "loss.svg").read_text("utf-8")


def test_a_crash_before_the_last_line_of_the_log(pairs, tmp_path, monkeypatch):
    """All epochs are over, so training that goes on calls no hook again."""
    out, keep = tmp_path / "model", commands._write_records

    def crash(model, history, out, options):
        if history.epochs == 3:
            raise OSError("crash")
        keep(model, history, out, options)

    monkeypatch.setattr(commands, "_write_records", crash)
    assert run(*options(pairs, out)).exit_code == 1 and len((out / "log.jsonl").read_text("utf-8").splitlines()) == 2
    monkeypatch.setattr(commands, "_write_records", keep)
    assert run("train", "--resume", out).exit_code == 0
    assert len((out / "log.jsonl").read_text("utf-8").splitlines()) == 3


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--pairs", "100"], "--pairs is for the built-in corpus"),
        (["--data", "folder"], "--data is for --corpus fra-eng"),
        (["--vocab-size", "100"], "--vocab-size is for --tokens bpe"),
        (["--tokens", "bpe", "--min-freq", "2"], "--min-freq is for --tokens word"),
        (["--source", "a", "--target", "b"], "--corpus cannot be used with --source and --target"),
        (["--corpus", "builtin", "--languages", "en-de"], "--languages is for files of yours"),
        (["--corpus", "builtin", "--skip-malformed"], "--skip-malformed is for files of yours"),
        (["--min-freq", "1000"], "--min-freq 1000 leaves no word in a vocabulary"),
        (["--corpus", "builtin", "--columns", "2,3"], "--columns is for files of yours"),
        *(
            (["--columns", text], "--columns is two different numbers with a comma")
            for text in ("2", "2,2", "0,1", "a,b")
        ),
        (["--cache", "{out}"], "which holds a translator and nothing else: choose another folder"),
        (["--cache", "{out}/checkpoints"], "which holds a translator and nothing else"),
        (["--tensorboard", "{out}/board"], "which holds a translator and nothing else"),
    ],
)
def test_an_option_without_effect_is_refused(pairs, tmp_path, more, message):
    more = [word.format(out=tmp_path / "model") for word in more]
    result = run(*options(pairs, tmp_path / "model", *more))
    assert result.exit_code == 1 and message in " ".join(result.stderr.split()), result.output
    assert not (tmp_path / "model").exists()


def test_the_cache_changes_no_weight_and_may_be_another_one_on_resume(pairs, whole, tmp_path, monkeypatch):
    cache, other, out = tmp_path / "cache", tmp_path / "other", tmp_path / "model"
    dies(monkeypatch, 20, RuntimeError("the power is off"))
    assert run(*options(pairs, out, "--cache", cache)).exit_code == 1
    healed(monkeypatch)
    assert len([path for path in cache.iterdir() if path.is_dir()]) == 2  # train and valid
    result = run("train", "--resume", out, "--cache", other)
    assert result.exit_code == 0 and f"the ids are in {other}, not in memory" in result.output
    assert_same(out, whole)


def test_a_large_corpus_is_cached_without_being_asked(pairs, whole, tmp_path, monkeypatch):
    monkeypatch.setenv("SEQLEARN_CACHE", str(tmp_path / "here"))
    monkeypatch.setattr("seqlearn.cli.train.LARGE", 40)
    monkeypatch.setattr("seqlearn.data.batches.encode", None)  # nothing may be encoded into memory
    out = tmp_path / "model"
    assert run(*options(pairs, out)).exit_code == 0 and len(list((tmp_path / "here" / "ids").glob("*/about.json"))) == 2
    assert_same(out, whole)
    healed(monkeypatch)
    monkeypatch.setattr("seqlearn.cli.train.LARGE", 61)
    monkeypatch.setenv("SEQLEARN_CACHE", str(tmp_path / "elsewhere"))
    assert run(*options(pairs, tmp_path / "other")).exit_code == 0 and not (tmp_path / "elsewhere").exists()


def test_what_a_person_added_to_the_records_is_kept(pairs, whole, tmp_path):
    """Its own run.toml is an input, also with --overwrite; notes in it stay until --overwrite says else."""
    out = shutil.copytree(whole, tmp_path / "model")
    for name in ("run.toml", "loss.svg"):
        (out / name).write_bytes((out / name).read_bytes() + b"<!-- tried lr 0.1: diverged -->\n")
        refused(f"{name} was changed, and would be replaced: move it away, or add --overwrite", *options(pairs, out))
        assert b"diverged" in (out / name).read_bytes()
        (out / name).write_bytes((whole / name).read_bytes())
    (out / "run.toml").write_text((out / "run.toml").read_text("utf-8") + "# diverged\n", "utf-8")
    refused("run.toml would be overwritten, and it is an input", "train", "--config", out / "run.toml", "--out", out,
            "--overwrite")  # fmt: skip
    refused("is the loss curve of a training", "view", out, "red", "-o", out / "loss.svg", "--overwrite")
    assert (
        run(*options(pairs, out, "--overwrite")).exit_code == 0 and b"diverged" not in (out / "run.toml").read_bytes()
    )


@pytest.fixture(scope="module")
def checkpoint(pairs, tmp_path_factory):
    """A training that was stopped."""
    out = tmp_path_factory.mktemp("stopped") / "model"
    with pytest.MonkeyPatch.context() as patch:
        dies(patch, 5, BrokenPipeError(errno.EPIPE, "Broken pipe", "standard output"))
        result = run(*options(pairs, out, "--checkpoint-updates", "1"))
    assert result.exit_code == 1 and "standard output: Broken pipe; no epoch was finished" in result.stderr
    assert f"Go on with: seqlearn train --resume {out}" in " ".join(result.stderr.split()), "`train | head` says it"
    return out


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("options", None, "holds a training that was begun in Python: go on with the same call of `fit` there"),
        ("options", "[]", "is damaged (AttributeError"),
        ("options", "{", "is damaged (JSONDecodeError"),
        ("options", '{"epochs": "3"}', "is damaged (TypeError: epochs is a whole number, not '3')"),
        ("options", '{"corpus": 3}', "is damaged (TypeError: corpus is a text"),
        ("data", "[]", "the description of the corpus in"),
        ("data", '{"corpus": "builtin"}', "is damaged (KeyError"),
    ],
)
def test_texts_of_a_checkpoint_that_no_training_writes(checkpoint, tmp_path, name, value, message):
    out = shutil.copytree(checkpoint, tmp_path / "model")
    for path in (out / "checkpoints").iterdir():
        stored = read_file(path)
        texts = {**stored.texts, name: value}
        write_file(path, stored.tensors, {key: text for key, text in texts.items() if text is not None})
    refused(message, "train", "--resume", out)
