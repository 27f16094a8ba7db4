"""Folders that hold files with our names and the bytes of somebody else: no command changes or removes any of them."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import tempfile
import warnings
from pathlib import Path

import pytest
import torch
from hypothesis import strategies as st
from safetensors.torch import save
from typer.testing import CliRunner

from seqlearn.cli import app
from seqlearn.training.checkpoints import Checkpoints
from tools import handout

MODEL, CHECKPOINT = "model.safetensors", "checkpoints/checkpoint-0000000004.safetensors"
WORDS = "red green blue one two three".split()
PAIRS = "".join(f"{a} {b}\t{b} {a} !\n" for a in WORDS for b in WORDS)
SMALL = ["--hidden", "4", "--embed-size", "4", "--held-out", "0.1", "--epochs", "1", "--batch-size", "16"]
FOREIGN = {  # what somebody else may have written, under any name
    "text": b"precious", "eight bytes": b"12345678", "short": b"x", "zeros": bytes(64), "lines": b"a\tb\nc\td\n",
    "empty object": b"{}", "a format": b'{"format": 2}', "bert": b'{"architectures": ["BertModel"], "format": 1}',
    "a list": b"[1, 2]", "deep": b"[" * 9999, "a log": b'{"epoch": 1, "loss": 2.5}\n{"epoch": 2, "loss": 1.5}\n',
    "half a log": b'{"epoch": 1, "train_loss": 2, "valid_loss": 2, "seconds": 1, "tokens": 1}\nmy notes\n',
    "svg": b"<svg><title>seqlearn</title></svg>", "page": b"<!doctype html><title>made by seqlearn</title>",
    "weights": save({"a": torch.ones(2)}), "hugging face": save({"a": torch.ones(2)}, {"format": "pt"}),
    "a state": save({"a": torch.ones(2)}, {"state": "precious"}), "pickle": b"\x80\x04\x95precious.",
    "a config": save({"a": torch.ones(2)}, {"config": "{}"}), "a header cut": save({"a": torch.ones(2)})[:30],
    "toml": b"epochs = 3\n", "marked toml": b"epochs = 3\n# made-by-seqlearn: the options of a training\n",
}  # fmt: skip
NAMES = [
    MODEL, "config.json", "log.jsonl", "loss.svg", "run.toml", ".lock", "checkpoints", CHECKPOINT,
    f"{MODEL}.index.json",
    "checkpoints/checkpoint-0000000002.safetensors", "checkpoints/epoch=3.ckpt", f"{MODEL}.12-0123abcd.new",
    f"{CHECKPOINT}.12-0123abcd.new", "config.json.12-0123abcd.new", "source.json", "thesis.txt", "page.html",
    "gallery.html", "page.svg", "page.png", "hyp.txt", "pairs.tsv", "checkpoints/notes/mine.txt",
]  # fmt: skip
OURS = ["translator", "checkpoint", "config", "log", "run", "drawing", "page", "half"]
EDITED = ["edited run", "edited drawing", "edited page"]  # a person has added notes to them
FILES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([*FOREIGN, *FOREIGN, *OURS, *EDITED]), max_size=5)
LINKS = st.sampled_from([None, None, None, ("hyp.txt", "pairs.tsv"), ("page.html", MODEL), (MODEL, "../pairs.tsv")])
OUTPUTS = st.sampled_from(["page.html", "page.svg", "page.png", "hyp.txt", *NAMES[:9], "pairs.tsv", "thesis.txt"])
MORE = st.sampled_from([[], [], ["--overwrite"]])
COMMANDS = st.one_of(
    st.builds(lambda more: ["train", "--corpus", "../pairs.tsv", "--out", ".", *SMALL, *more], MORE),
    st.builds(lambda more: ["train", "--corpus", "../pairs.tsv", "--out", "new/deep", *SMALL, *more], MORE),
    st.just(["train", "--resume", "."]),
    st.builds(lambda more: ["train", "--config", "run.toml", "--out", ".", *more], MORE),
    st.builds(lambda lr: ["train", "--corpus", "../pairs.tsv", "--out", ".", *SMALL, "--lr", lr], st.just("3e38")),
    st.builds(
        lambda model, out, tsv, more: ["evaluate", model, "--tsv", tsv, "--hypotheses", out, *more],
        st.sampled_from(["../model", "."]), OUTPUTS, st.sampled_from(["../pairs.tsv", "pairs.tsv"]), MORE,
    ),
    st.builds(
        lambda model, out, more: ["view", model, "red blue", "-o", out, *more],
        st.sampled_from(["../model", "."]), OUTPUTS, MORE,
    ),
    st.builds(lambda out, more: ["gallery", "-o", out, *more], OUTPUTS, MORE),
    st.builds(
        lambda model, text, out, more: ["translate", model, *text, "-o", out, *more],
        st.sampled_from(["../model", "."]), st.sampled_from([["red blue"], ["--file", "pairs.tsv"]]), OUTPUTS, MORE,
    ),
    st.just(["train", "--corpus", "../pairs.tsv", "--out", "new", *SMALL, "--cache", "."]),
    st.sampled_from([["handout", ".", "02"], ["book", "."]]),
)  # fmt: skip
CASES = st.tuples(FILES, LINKS, COMMANDS)
OUT = ["train", "--corpus", "../pairs.tsv", "--out", ".", *SMALL]
NAMED = ["--hypotheses", "hyp.txt", "--overwrite"]
MODEL_FOR_OUTPUT = ["evaluate", "../model", "--tsv", "../pairs.tsv", "--hypotheses", "../model/model.safetensors"]
FIRST = [  # what once destroyed something
    ({MODEL: "text", "config.json": "bert", "checkpoints/epoch=3.ckpt": "text"}, None, ["train", "--resume", "."]),
    ({"checkpoints/epoch=3.ckpt": "text"}, None, OUT),
    ({}, None, MODEL_FOR_OUTPUT),
    ({}, None, [*MODEL_FOR_OUTPUT, "--overwrite"]),
    ({"pairs.tsv": "lines"}, ("hyp.txt", "pairs.tsv"), ["evaluate", "../model", "--tsv", "pairs.tsv", *NAMED]),
    ({"config.json": "a format", "log.jsonl": "text"}, None, OUT),
    ({f"{MODEL}.index.json": "empty object", "config.json": "bert"}, None, OUT),
    ({MODEL: "weights", "config.json": "a format"}, None, OUT),
    ({MODEL: "translator"}, None, OUT),
    ({"run.toml": "toml"}, None, OUT),
    *(
        ({name: f"edited {kind}"}, None, [*OUT, *more])
        for name, kind in (("run.toml", "run"), ("loss.svg", "drawing"))
        for more in ([], ["--overwrite"])
    ),
    ({"page.html": "edited page"}, None, ["view", "../model", "red", "-o", "page.html"]),
    ({"loss.svg": "drawing"}, None, ["view", "../model", "red", "-o", "loss.svg", "--overwrite"]),
    ({"page.html": "page"}, None, ["translate", "../model", "red blue", "-o", "page.html"]),
    ({}, None, ["translate", "../model", "red blue", "-o", "../model/model.safetensors", "--overwrite"]),
    ({"thesis.txt": "text"}, None, ["handout", ".", "02"]),
    ({"thesis.txt": "text"}, None, ["book", "."]),
]


@functools.cache
def ours():
    """The bytes of files that a training has written."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pairs.tsv").write_text(PAIRS, encoding="utf-8")
        clear = Checkpoints.clear
        Checkpoints.clear = lambda self: None
        try:
            command = ["train", "--corpus", f"{folder}/pairs.tsv", "--out", f"{folder}/m", *SMALL]
            result = CliRunner().invoke(app, command)
        finally:
            Checkpoints.clear = clear
        assert result.exit_code == 0, result.output
        out = Path(folder, "m")
        found["translator"], found["config"] = (out / MODEL).read_bytes(), (out / "config.json").read_bytes()
        found["log"], found["drawing"] = (out / "log.jsonl").read_bytes(), (out / "loss.svg").read_bytes()
        found["run"] = (out / "run.toml").read_bytes()
        found["checkpoint"] = Checkpoints(out / "checkpoints").files[-1].read_bytes()
        found["half"] = found["checkpoint"][:1000]
        CliRunner().invoke(app, ["view", str(out), "red", "-o", f"{folder}/page.html"])
        found["page"] = Path(folder, "page.html").read_bytes()
        found |= {name: found[name.removeprefix("edited ")] + b"# my notes\n" for name in EDITED}
    return found


def fill(root, files, link):
    """Write the files of a case. Returns the folder in which the command runs."""
    (root / "here").mkdir()
    (root / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    (root / "model").mkdir()
    (root / "model" / MODEL).write_bytes(ours()["translator"])
    for name, content in files.items():
        path = root / "here" / name
        with contextlib.suppress(FileExistsError, NotADirectoryError):  # "checkpoints" is a file
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_bytes(FOREIGN.get(content) or ours().get(content, b""))
    if link and not (root / "here" / link[0]).exists() and (root / "here" / link[1]).is_file():
        (os.link if link[0] == "hyp.txt" else os.symlink)(root / "here" / link[1], root / "here" / link[0])
    return root / "here"


def run(command):
    """Run a command in the current folder. Returns what it said, and whether it ended as commands end."""
    if command[0] in TOOLS:
        return TOOLS[command[0]](command[1:]), True
    with warnings.catch_warnings():
        result = CliRunner().invoke(app, command)
    return (result.output, result.exception), "Traceback" not in result.output and result.exit_code in (0, 1, 2)


def give_out(arguments):
    """`course.py handout`, in folders that hold something: writing lessons takes seconds."""
    try:
        return handout.main(arguments) if os.listdir(arguments[0]) else None
    except SystemExit as end:
        return end.code


def put_a_book(arguments):
    """The end of `course.py book`: a site takes the place of a folder. Building a real one takes minutes."""
    build = pytest.importorskip("tools.book.build", reason="the book needs Sphinx")
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site")
        site.mkdir()
        (site / "index.html").write_text("a book", encoding="utf-8")
        return build.put_in_place(site, Path(*arguments).resolve(), Path(folder, "old"))


TOOLS = {"handout": give_out, "book": put_a_book}  # of the course, which are no commands of `seqlearn`


def contents(root):
    """All files below a folder, and what is in them; links are named."""
    return {
        str(path.relative_to(root)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in root.rglob("*")
        if path.is_symlink() or path.is_file()
    }


WRITTEN = {
    MODEL: ["translator"],
    "config.json": ["config"],
    "log.jsonl": ["log"],
    "run.toml": ["run"],
    "loss.svg": ["drawing"],
}


def may_change(name, command, files, link):
    """Whether the command may replace or remove this file, by what the case says of both."""
    if link and link[0] in command and link[0] != "hyp.txt" and name == os.path.normpath(f"here/{link[1]}"):
        name = f"here/{link[0]}"  # who writes to a link writes to the file that it names
    if command[0] in TOOLS:
        return False
    name, kind = name.removeprefix("here/"), files.get(name.removeprefix("here/"))
    if command[0] == "train":
        if re.fullmatch(r"checkpoints/checkpoint-\d{10}\.safetensors", name):
            return kind == "checkpoint"
        if name.endswith(".new"):
            return kind in OURS
        asked = name != MODEL or "--overwrite" in command or "--resume" in command
        may = WRITTEN.get(name, []) + [f"edited {kind}" for kind in WRITTEN.get(name, [])] * ("--overwrite" in command)
        return kind in may and asked and "new/deep" not in command
    named = command[command.index("--hypotheses" if command[0] == "evaluate" else "-o") + 1]
    if name != named or kind in ("translator", "checkpoint", "config", "log", "run") or named in command[3:4]:
        return False
    return "--overwrite" in command or (kind == "page" and command[0] in ("view", "gallery"))


def keep(case):
    """A command changes and removes nothing of others, and leaves nothing half-written."""
    files, link, command = case
    home, device = Path.cwd(), os.environ.get("SEQLEARN_DEVICE")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        here = fill(root, files, link)
        before = contents(root)
        os.chdir(here)
        os.environ["SEQLEARN_DEVICE"] = "cpu"
        try:
            said, is_fair = run(command)
        finally:
            os.chdir(home)
            os.environ.pop("SEQLEARN_DEVICE")
            if device is not None:
                os.environ["SEQLEARN_DEVICE"] = device
        after = contents(root)
        assert is_fair, said
        changed = [name for name, content in before.items() if after.get(name) != content]
        lost = [name for name in changed if not may_change(name, command, files, link)]
        assert not lost, f"{lost} after {said}"
        assert not [name for name in after.keys() - before.keys() if name.endswith(".new")], "something half-written"
