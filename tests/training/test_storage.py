"""Weights to a file and back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

from seqlearn.runtime.ownership import remove_halves
from seqlearn.training import storage
from seqlearn.training.storage import load_weights, save_weights

posix = pytest.mark.skipif(os.name == "nt", reason="files of Unix")


def test_round_trip(tmp_path):
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    save_weights(model, tmp_path / "deep" / "model.safetensors")
    load_weights(other, tmp_path / "deep" / "model.safetensors")
    assert torch.equal(model.weight, other.weight)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["model.safetensors"]


def test_tied_weights_are_stored_once_and_come_back_tied(tmp_path):
    def tied():
        model = nn.ModuleDict({"embedding": nn.Embedding(4, 3), "dense": nn.Linear(3, 4)})
        model["dense"].weight = model["embedding"].weight
        return model

    model, other = tied(), tied()
    save_weights(model, tmp_path / "model.safetensors")
    assert (tmp_path / "model.safetensors").stat().st_size < 1.5 * 4 * (12 + 4) + 300  # the names, and the checksum
    load_weights(other, tmp_path / "model.safetensors")
    assert torch.equal(other["dense"].weight, model["embedding"].weight)
    assert other["dense"].weight is other["embedding"].weight
    untied = nn.ModuleDict({"embedding": nn.Embedding(4, 3), "dense": nn.Linear(3, 4)})
    with pytest.raises(ValueError, match=r"embedding\.weight is missing there|dense\.weight is missing there"):
        load_weights(untied, tmp_path / "model.safetensors")
    save_weights(untied, tmp_path / "untied.safetensors")
    with pytest.raises(ValueError, match=r"embedding\.weight is a weight of its own there, and shared here"):
        load_weights(other, tmp_path / "untied.safetensors")
    assert torch.equal(other["dense"].weight, model["embedding"].weight), "it stays as it was"


def test_the_file_is_one_that_the_library_reads(tmp_path):
    """Each type of numbers, no numbers at all, and one number; numbers are aligned."""
    types = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16]
    types += [torch.int8, torch.uint8, torch.bool, torch.complex64]
    tensors = {f"{each}": torch.arange(6).reshape(2, 3).to(each) for each in types}
    tensors |= {"empty": torch.ones(0, 3), "one": torch.tensor(2.5), "turned": torch.arange(6.0).reshape(2, 3).T}
    storage.write_file(tmp_path / "a.safetensors", tensors, {"text": 'été "quoted"'})
    found = safetensors.torch.load_file(tmp_path / "a.safetensors")
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensors[name]) and found[name].dtype == tensors[name].dtype for name in found)
    with safetensors.safe_open(tmp_path / "a.safetensors", "pt") as file:
        assert file.metadata()["text"] == 'été "quoted"'
    content = (tmp_path / "a.safetensors").read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    starts = {name: each["data_offsets"][0] for name, each in header.items() if name != "__metadata__"}
    assert all(start % tensors[name].element_size() == 0 for name, start in starts.items())
    assert int.from_bytes(content[:8], "little") % 8 == 0


@posix
@pytest.mark.slow
def test_a_kill_while_tensors_are_written_leaves_a_file_that_we_know(tmp_path):
    """The next save removes it."""
    program = """
import os, sys, torch
from pathlib import Path
from seqlearn.training import storage

def killed(path, content):
    with open(path, "wb", buffering=0) as file:
        file.write(content[:200])
        os.kill(os.getpid(), 9)

Path.write_bytes = killed
storage.write_file(sys.argv[1], {"a": torch.ones(5)}, {"long": "b" * 100_000})
"""
    path = tmp_path / "model.safetensors"
    done = subprocess.run([sys.executable, "-c", program, path], cwd=Path(storage.__file__).parents[2])
    (half,) = tmp_path.iterdir()
    assert done.returncode == -9 and half.name.startswith("model.safetensors.") and half.stat().st_size > 0
    remove_halves(path, age=0)
    assert list(tmp_path.iterdir()) == []


def test_a_crash_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    model = nn.Linear(3, 2)
    save_weights(model, tmp_path / "model.safetensors")
    before = (tmp_path / "model.safetensors").read_bytes()

    def crash(path, content):
        with open(path, "wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_bytes", crash)
    with pytest.raises(OSError, match="disk full"):
        save_weights(nn.Linear(3, 2), tmp_path / "model.safetensors")
    assert (tmp_path / "model.safetensors").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1, "something half-written was left behind"


@posix
def test_who_reads_the_old_file_goes_on_reading_it(tmp_path):
    """The new file takes its name, and writes nothing into it."""
    path = tmp_path / "model.safetensors"
    save_weights(nn.Linear(3, 2), path)
    before = path.read_bytes()
    with path.open("rb") as reader:
        save_weights(nn.Linear(3, 2), path)
        assert reader.read() == before != path.read_bytes()


def test_two_writers_have_a_file_each(tmp_path, monkeypatch):
    written, write = [], Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", lambda path, content: written.append(path) or write(path, content))
    for _ in range(2):
        save_weights(nn.Linear(3, 2), tmp_path / "model.safetensors")
    assert len(set(written)) == 2


@posix
def test_the_content_is_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    """And the name before `write_file` ends: a machine that loses its power has one of both files."""
    done, sync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: done.append(os.fstat(file).st_ino) or sync(file))
    monkeypatch.setattr(os, "replace", lambda *names: done.append("renamed") or replace(*names))
    save_weights(nn.Linear(3, 2), tmp_path / "model.safetensors")
    assert done == [(tmp_path / "model.safetensors").stat().st_ino, "renamed", tmp_path.stat().st_ino]


@posix
def test_others_may_read_it_as_they_may_read_any_new_file(tmp_path):
    save_weights(nn.Linear(3, 2), tmp_path / "model.safetensors")
    (tmp_path / "other").touch()
    assert (tmp_path / "model.safetensors").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_damaged_missing_and_foreign_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.safetensors"):
        load_weights(nn.Linear(3, 2), tmp_path / "none.safetensors")
    path = tmp_path / "model.safetensors"
    save_weights(nn.Linear(3, 2), path)
    with pytest.raises(ValueError, match=r"bias is \(2,\) there and \(4,\) here \(2 such weights\)"):
        load_weights(nn.Linear(3, 4), path)
    with pytest.raises(ValueError, match=r"0\.bias is missing there and \(2,\) here"):
        load_weights(nn.Sequential(nn.Linear(3, 2)), path)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ValueError, match="not a whole safetensors file"):
        load_weights(nn.Linear(3, 2), path)


@pytest.mark.parametrize(("left_out", "added"), [("bias", None), ("0.weight", None), (None, "scale")])
def test_one_name_too_few_or_too_many_is_said_and_nothing_is_loaded(tmp_path, left_out, added):
    """All the others fit."""
    from safetensors.torch import save_file

    class Scaled(nn.Sequential):
        """A layer with a weight of its own beside it."""

        def __init__(self):
            super().__init__(nn.Linear(3, 2))
            self.bias = nn.Parameter(torch.zeros(2))

    weights = {name: tensor + 1 for name, tensor in Scaled().state_dict().items() if name != left_out}
    save_file(weights | ({added: torch.ones(2)} if added else {}), tmp_path / "model.safetensors")
    model = Scaled()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    message = f"{added} is \\(2,\\) there and missing here" if added else f"{left_out} is missing there"
    with pytest.raises(ValueError, match=message + r".*\(1 such weights\)"):
        load_weights(model, tmp_path / "model.safetensors")
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
