"""Random calls of the command line: each works, or ends with one sentence, and nothing is left half-written."""

from __future__ import annotations

import functools
import os
import re
import tempfile
import warnings
from pathlib import Path

from hypothesis import strategies as st
from typer.testing import CliRunner

from seqlearn.cli import app
from seqlearn.translator.translator import Translator

from . import files

WORDS = "red green blue one two three four".split()
PAIRS = [f"{a} {b}\t{b} {a} !" for a in WORDS for b in WORDS]
NUMBERS = ["0", "1", "2", "3", "-1", "0.5", "nan", "inf", "1e400", "x", "", "99999999999999999999", "1000000"]
NAMES = ["pairs.tsv", "bad.tsv", "a.en", "a.fr", "none", ".", "loop", "empty", "model", "half", "\x1b[31m.tsv"]
SMALL = ["--epochs", "1", "--hidden", "4", "--embed-size", "4", "--held-out", "0.1"]
TINY = ["--model", "transformer", "--width", "4", "--ffn", "4", "--heads", "2", "--layers", "1", "--epochs", "1"]


def option(name, *values):
    """The option with one of these values."""
    return st.sampled_from(values).map(lambda value: [name, value])


def options(*strategies, most):
    """Some of these options."""
    return st.lists(st.one_of(*strategies), max_size=most).map(lambda parts: [word for part in parts for word in part])


SEARCH = [
    option("--beam", "1", "2", "5", *NUMBERS), option("--length-penalty", "0.6", "average", *NUMBERS),
    option("--max-length", "1", "9", *NUMBERS[:7]), option("--max-source", "5", *NUMBERS),
    option("--batch-size", "7", *NUMBERS),
]  # fmt: skip
TRAIN = [
    *[option(name, *NUMBERS) for name in ["--lr", "--warmup", "--label-smoothing", "--dropout", "--held-out"]],
    *[option(name, *NUMBERS) for name in ["--batch-size", "--accumulate", "--seed", "--min-freq", "--max-length"]],
    *[option(name, *NUMBERS) for name in ["--hidden", "--embed-size", "--layers", "--vocab-size", "--max-steps"]],
    *[option(name, *NUMBERS) for name in ["--limit", "--heads", "--checkpoint-minutes", "--checkpoint-updates"]],
    option("--corpus", *NAMES), option("--source", *NAMES), option("--target", *NAMES), option("--resume", *NAMES),
    option("--tokens", "word", "bpe", "letters"), option("--vocab-size", "40"), option("--languages", "en-fr", "x"),
    option("--schedule", "constant", "inverse-sqrt", "noam"), option("--score", "dot", "cosine"),
    option("--positions", "rotary", "learned", "gps"), option("--precision", "bf16", "fp16"),
    option("--device", "cpu", "meta", "cuda:1", "toaster", ""), option("--out", *NAMES, "new/deep"),
    st.sampled_from([["--reverse"], ["--skip-malformed"], ["--tie"], ["--no-tie"], ["--nonsense"]]),
]  # fmt: skip
TRANSLATE = [
    *SEARCH, option("--n-best", *NUMBERS), option("--file", *NAMES), option("--device", "cpu", "meta"),
    st.sampled_from([["--scores"], ["--alignments"], ["--show-tokens"], ["--nonsense"]]),
]  # fmt: skip
EVALUATE = [
    *SEARCH, option("--source", *NAMES), option("--target", *NAMES), option("--tsv", *NAMES),
    option("--hypotheses", "out.txt", *NAMES), st.sampled_from([["--json"], ["--no-lowercase"]]),
]  # fmt: skip
FOLDERS = st.sampled_from(["model", "model", "model", "half", "none", "loop", ".", "pairs.tsv"])
SENTENCES = st.one_of(st.sampled_from(["red blue", "", "-", "x " * 30]), st.text(max_size=12))
CASES = st.one_of(
    st.builds(
        lambda size, own, more: ["train", "--corpus", "pairs.tsv", "--out", own, *size, *more],
        st.sampled_from([SMALL, TINY]), st.sampled_from(["new", "new", "model", "half", "pairs.tsv"]),
        options(*TRAIN, most=3),
    ),
    st.builds(
        lambda folder, text, more: ["translate", folder, *more, "--", *([] if text == "-" else [text])],
        FOLDERS, SENTENCES, options(*TRANSLATE, most=4),
    ),
    st.builds(lambda folder, more: ["evaluate", folder, *more], FOLDERS, options(*EVALUATE, most=4)),
    st.builds(
        lambda folder, text, out: ["view", folder, "-o", out, "--", text],
        FOLDERS, SENTENCES, st.sampled_from(["a.html", "a.html", "a.svg", "a", "a.xyz", "none/a.png", "loop", "."]),
    ),
)  # fmt: skip


@functools.cache
def model_file():
    """The bytes of a small translator's file."""
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), b"")
        result = CliRunner().invoke(app, ["train", "--corpus", f"{folder}/pairs.tsv", "--out", f"{folder}/new", *SMALL])
        assert result.exit_code == 0, result.output
        return (Path(folder) / "new" / "model.safetensors").read_bytes()


def fill(folder, model):
    """Files, good and bad, that the options name."""
    (folder / "pairs.tsv").write_text("\n".join(PAIRS) + "\n", encoding="utf-8")
    (folder / "bad.tsv").write_bytes(b"\n".join(files.GOOD[:4] + files.MALFORMED[:3] + files.NOT_UTF8[:1]))
    (folder / "\x1b[31m.tsv").write_bytes(b"\n".join(files.MALFORMED))
    (folder / "a.en").write_text("".join(f"{line}\n" for line in WORDS * 5), encoding="utf-8")
    (folder / "a.fr").write_text("".join(f"{line}\n" for line in WORDS * 5), encoding="utf-8")
    (folder / "empty").touch()
    (folder / "loop").symlink_to("loop")
    for name, content in (("model", model), ("half", model[:-9])):
        (folder / name).mkdir()
        (folder / name / "model.safetensors").write_bytes(content)


def call(arguments):
    """A call in a folder with files, good and bad."""
    model, home, device = model_file(), Path.cwd(), os.environ.get("SEQLEARN_DEVICE")
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), model)
        os.chdir(folder)
        os.environ["SEQLEARN_DEVICE"] = "cpu"
        try:
            with warnings.catch_warnings():
                result = CliRunner().invoke(app, arguments, input="red blue\n\nfour\n", color=True)
            judge(result, Path(folder), model)
        finally:
            os.chdir(home)
            os.environ.pop("SEQLEARN_DEVICE")
            if device is not None:
                os.environ["SEQLEARN_DEVICE"] = device


COLOURS = re.compile("\x1b\\[[0-9;]*m")


def judge(result, folder, model):
    """Whether a call ended as it should: with a result, a sentence, or a hint at the usage."""
    assert "Traceback" not in result.output and "\x1b[31m.tsv" not in result.output, result.output
    said = COLOURS.sub("", result.stderr)
    if result.exit_code == 1:
        assert isinstance(result.exception, SystemExit), repr(result.exception)
        last = said.rstrip("\n").splitlines()[-1]
        assert last.startswith(("seqlearn: ", "not in the vocabulary")) and last.isprintable(), said
        assert any(line.startswith("seqlearn: ") for line in said.splitlines()), said
    else:
        assert result.exit_code in (0, 2), f"exit status {result.exit_code}: {result.exception!r}"
    assert not list(folder.rglob("*.new")), "a file that was only half written"
    assert (folder / "pairs.tsv").read_text("utf-8").splitlines() == PAIRS, "the corpus was overwritten"
    for path in folder.rglob("model.safetensors"):
        if path.parent.name != "half" or path.read_bytes() != model[:-9]:
            with warnings.catch_warnings():
                Translator.load(path.parent, "cpu")
