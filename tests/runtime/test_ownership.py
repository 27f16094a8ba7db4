"""Which files are ours, by their content; and one owner, who alone replaces and removes them."""

import ast
import io
import json
import os
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from matplotlib import figure
from PIL import Image
from safetensors.torch import save

from fuzzing import others
from seqlearn.runtime import ownership
from seqlearn.runtime.ownership import check_output, foreign_in, kind_of, remove_halves, replacing, write
from seqlearn.training.storage import save_weights, write_file

PACKAGE = Path(str(ownership.__file__)).parents[1]
KINDS = {
    "translator": ownership.TRANSLATOR, "checkpoint": ownership.CHECKPOINT, "config": ownership.CONFIG,
    "log": ownership.LOG, "run": ownership.OPTIONS, "drawing": ownership.LOSSES, "page": ownership.DRAWING,
    "edited run": None, "edited page": None, "edited drawing": None,
}  # fmt: skip
REMOVE = {"unlink", "rmdir", "rmtree", "removedirs", "rename", "renames", "touch", "move", "truncate"}


@pytest.mark.parametrize("name", KINDS)
def test_the_kind_of_a_file_is_in_its_content(tmp_path, name):
    (tmp_path / "any name").write_bytes(others.ours()[name])
    assert kind_of(tmp_path / "any name") == KINDS[name]
    assert kind_of(tmp_path / "any name", changed=True) == KINDS[name.removeprefix("edited ")]


@pytest.mark.parametrize("name", others.FOREIGN)
def test_what_others_wrote_has_no_kind(tmp_path, name):
    (tmp_path / "model.safetensors").write_bytes(others.FOREIGN[name])
    assert kind_of(tmp_path / "model.safetensors") is None


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"<!doctype html><p>my report</p><svg><dc:title>made-by-seqlearn</dc:title></svg>", None),
        (b'My notes: <meta name="generator" content="made-by-seqlearn">', None),
        (b'{"format": "A4", "model": "T-shirt", "sizes": ["S"]}', None),
        (b'{"format": 2, "model": "x", "sizes": {}, "data": "made-by-seqlearn"}', ownership.CONFIG),
        (save({"a": torch.ones(2)}, {"state": '{"format": "hf"}'}), None),
        (b'{"sources": 1, "targets": 2, "left_out": 3, "mine": 4}', None),
    ],
)
def test_what_only_looks_like_ours(tmp_path, content, kind):
    (tmp_path / "config.json").write_bytes(content)
    assert kind_of(tmp_path / "config.json") == kind


def test_a_translator_with_a_long_header_is_ours(tmp_path):
    write_file(tmp_path / "a", {"a": torch.ones(1)}, {"config": "{}", "source": "x" * 70_000_000, "target": "{}"})
    assert kind_of(tmp_path / "a") == ownership.TRANSLATOR


def test_a_file_that_appears_meanwhile_stays(tmp_path):
    path = tmp_path / "out.txt"
    with pytest.raises(ValueError, match=r"out\.txt exists"), replacing(path, lambda: check_output(path)) as new:
        new.write_text("translations")
        path.write_text("precious")
    assert path.read_text() == "precious" and os.listdir(tmp_path) == ["out.txt"]


def test_a_link_to_a_file_of_ours_is_not_of_this_folder(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "config.json").write_bytes(others.ours()["config"])
    (tmp_path / "m" / "config.json").symlink_to("../config.json")
    assert [path.name for path in foreign_in(tmp_path / "m", {"config.json": ownership.CONFIG})] == ["config.json"]


def test_what_is_no_file_has_no_kind(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    assert kind_of(tmp_path) is kind_of(tmp_path / "none") is kind_of(tmp_path / "loop") is None


def test_only_weights_with_a_checksum_are_ours(tmp_path):
    save_weights(torch.nn.Linear(2, 1), tmp_path / "ours")
    (tmp_path / "other").write_bytes(save({"weight": torch.ones(2)}, {"format": "pt"}))
    assert kind_of(tmp_path / "ours") == ownership.WEIGHTS and kind_of(tmp_path / "other") is None


def test_a_block_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    write(path, "old")
    with pytest.raises(KeyError), replacing(path) as new:
        new.write_text("half")
        raise KeyError
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]
    write(path, "né\udcff".encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
    assert path.read_text("utf-8").startswith("né")


@pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
def test_a_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "a.txt"
    write(path, "old")
    path.chmod(0o600)
    write(path, "new")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_may_not_be_written_stays(tmp_path, monkeypatch):
    write(tmp_path / "a.txt", "old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anything
    with pytest.raises(PermissionError, match=r"a\.txt"):
        write(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "old"


def test_halves_are_removed_only_if_ours_and_abandoned(tmp_path):
    """Whole, cut anywhere, or empty. Under the lock of a training, at once."""
    write_file(tmp_path / "model.safetensors", {"a": torch.ones(9)}, {"config": "{}"})
    content = (tmp_path / "model.safetensors").read_bytes()
    halves = {f"model.safetensors.{cut}-0123abcd.new": content[:cut] for cut in (0, 8, 9, 40, len(content))}
    mine = {
        f"model.safetensors.{number}-0123abcd.new": each for number, each in enumerate(others.FOREIGN.values(), 1000)
    }
    mine |= {"model.safetensors.1-0123abcd.new.txt": content, "other.1-0123abcd.new": content, "a.new": b""}
    del mine["model.safetensors.1019-0123abcd.new"]  # a safetensors file cut in its header: nobody can tell
    for name, each in {**halves, **mine}.items():
        (tmp_path / name).write_bytes(each)
    remove_halves(tmp_path / "model.safetensors")
    assert len(os.listdir(tmp_path)) == 1 + len(halves) + len(mine), "they are new, and may be in work"
    old = f"model.safetensors.{len(content)}-0123abcd.new"
    os.utime(tmp_path / old, (time.time() - 3700,) * 2)
    remove_halves(tmp_path / "model.safetensors")
    assert not (tmp_path / old).exists() and len(os.listdir(tmp_path)) == len(halves) + len(mine)
    remove_halves(tmp_path / "model.safetensors", age=0)
    assert set(os.listdir(tmp_path)) == {"model.safetensors", *mine}


def test_what_is_foreign_in_a_folder_is_named(tmp_path):
    (tmp_path / "config.json").write_bytes(others.ours()["config"])
    (tmp_path / "log.jsonl").write_text("mine")
    (tmp_path / "sub").mkdir()
    found = foreign_in(tmp_path, {"config.json": ownership.CONFIG, "log.jsonl": ownership.LOG})
    assert [path.name for path in found] == ["log.jsonl", "sub"]
    assert foreign_in(tmp_path / "none", {}) == []


def test_an_input_is_never_an_output_by_whatever_name(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    for overwrite in (False, True):
        with pytest.raises(ValueError, match="b would be overwritten, and it is an input"):
            check_output(tmp_path / "b", [None, tmp_path / "none", tmp_path / "a"], overwrite=overwrite)


def removals(source):
    """What a module calls that replaces or removes files."""
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    named = {call.attr for call in calls if isinstance(call, ast.Attribute)} & REMOVE
    of_os = {f"os.{call.attr}" for call in calls if ast.unparse(call).startswith("os.")} & {"os.replace", "os.remove"}
    return sorted(named | of_os)


def test_no_other_module_replaces_or_removes():
    others = [path for path in PACKAGE.rglob("*.py") if path.name != "ownership.py"]
    found = {str(path.relative_to(PACKAGE)): removals(path.read_text("utf-8")) for path in others}
    assert len(found) > 100 and {name: calls for name, calls in found.items() if calls} == {}


def test_a_removal_is_found():
    assert removals("shutil.rmtree(a); path.unlink(); os.replace(a, b); 'a'.replace('b', 'c')") == [
        "os.replace", "rmtree", "unlink",
    ]  # fmt: skip


def test_the_log_of_many_epochs_is_a_log(tmp_path):
    line = {"epoch": 1, "train_loss": 2.0, "valid_loss": 2.0, "seconds": 1.0, "tokens": 9}
    (tmp_path / "log").write_text((json.dumps(line) + "\n") * 3000)
    assert kind_of(tmp_path / "log") == ownership.LOG
    with (tmp_path / "log").open("a") as file:
        file.write("my own notes\n")
    assert kind_of(tmp_path / "log") is None


@pytest.mark.skipif(os.name == "nt", reason="pipes of Unix")
def test_a_pipe_without_a_name_and_a_full_device_are_written_and_named(tmp_path):
    """`-o /dev/stdout | cat`, `-o >(gzip)`, `-o /dev/full`."""
    end, start = os.pipe()
    check_output(Path(f"/dev/fd/{start}"))
    write(f"/dev/fd/{start}", "né\n")
    assert os.read(end, 99).decode() == "né\n"
    if Path("/dev/full").exists():
        with pytest.raises(OSError, match="/dev/full"), replacing("/dev/full") as new, new.open("w") as file:
            file.write("x" * 99999)


def test_a_name_as_long_as_a_name_may_be_is_written(tmp_path):
    write(tmp_path / ("x" * 255), "né")
    assert os.listdir(tmp_path) == ["x" * 255]


def test_half_a_text_that_a_kill_left_is_named_later(tmp_path, recwarn):
    """Nobody can tell whose it is. Half a page of ours is not removed either: its checksum is missing."""
    half = tmp_path / "hyp.txt.4711-df21fc08.new"
    half.write_text("le chat")
    write(tmp_path / "hyp.txt", "new")
    assert not recwarn.list, "it may be in work"
    os.utime(half, (time.time() - 3700,) * 2)
    with pytest.warns(UserWarning, match=r"hyp.txt.4711-df21fc08.new was left by a process that was killed"):
        write(tmp_path / "hyp.txt", "newer")
    assert half.read_text() == "le chat" and (tmp_path / "hyp.txt").read_text() == "newer"


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_a_picture_with_its_checksum_can_be_read(form):
    picture = io.BytesIO()
    figure.Figure().savefig(picture, format=form)
    content = ownership.signed(picture.getvalue())
    if form == "svg":
        assert ElementTree.fromstring(content).tag.endswith("svg")
    if form == "png":
        with Image.open(io.BytesIO(picture.getvalue())) as before, Image.open(io.BytesIO(content)) as after:
            assert before.convert("RGB").tobytes() == after.convert("RGB").tobytes()
    assert form != "pdf" or b"%%EOF" in content[-1024:]
