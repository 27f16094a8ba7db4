"""Folders of translators that were damaged, or edited by somebody who also made the checksum anew."""

from __future__ import annotations

import functools
import json
import tempfile
import warnings
from pathlib import Path

import safetensors.torch
import torch
from hypothesis import strategies as st

from seqlearn.data.corpus import Split
from seqlearn.data.pairs import Pair
from seqlearn.training.storage import read_file, write_file
from seqlearn.translator.saving import MODEL
from seqlearn.translator.translator import Translator

from .texts import JSON

LINES = [f"{a} {b}" for a in "red green blue".split() for b in "one two three".split()]
PAIRS = [Pair(line, f"{line} !") for line in LINES]
SIZES = {"num_hiddens": 4, "num_layers": 1, "dropout": 0.0}
KINDS = {
    "bahdanau": ("bahdanau", "word", {**SIZES, "embed_size": 4}),
    "seq2seq": ("seq2seq", "bpe", {**SIZES, "embed_size": 4}),
    "transformer": ("transformer", "word", {**SIZES, "ffn_num_hiddens": 4, "num_heads": 2, "tie": True}),
}


@functools.cache
def original(kind):
    """The bytes of a translator's file, its tensors and texts, and what it translates."""
    model, tokens, sizes = KINDS[kind]
    split = Split(PAIRS, PAIRS[:2], PAIRS[:2])
    translator = Translator.untrained(model, split, ("en", "fr"), tokens=tokens, vocab_size=60, **sizes)
    with tempfile.TemporaryDirectory() as folder:
        translator.save(folder)
        stored = read_file(Path(folder) / MODEL)
        return (Path(folder) / MODEL).read_bytes(), stored, translator.translate_all(LINES, max_length=5)


PLACES = st.floats(0, 1, exclude_max=True)  # in the file; most of a small file is its header
RAW = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), PLACES, st.integers(0, 7)),
        st.tuples(st.just("cut"), PLACES, st.just(0)),
        st.tuples(st.just("insert"), PLACES, st.binary(min_size=1, max_size=9)),
        st.tuples(st.just("zero"), PLACES, st.integers(1, 40)),
        st.tuples(st.just("swap"), PLACES, PLACES),
    ),
    min_size=1,
    max_size=3,
)
NUMBERS = st.sampled_from([0, -1, 1, 2, 3, 8, 10**6, 10**9, 2**63, 10**30, 0.5, 1e308, True])
SETTINGS = ["num_hiddens", "num_layers", "embed_size", "dropout", "num_heads", "ffn_num_hiddens", "max_steps"]
WORDS = ["score", "positions", "cell", "norm_first", "bidirectional", "tie", "bias", "wings"]
EDITS = st.one_of(
    st.tuples(st.just("setting"), st.sampled_from(SETTINGS), NUMBERS | JSON),
    st.tuples(st.just("setting"), st.sampled_from(WORDS), st.sampled_from(["dot", "rotary", "learned", "lstm"]) | JSON),
    st.tuples(st.just("config"), st.sampled_from(["model", "sizes", "format", "data"]), JSON),
    st.tuples(st.just("text"), st.sampled_from(["config", "source", "target"]), JSON.map(json.dumps) | st.text()),
    st.tuples(st.just("deep"), st.sampled_from(["config", "source", "target"]), st.sampled_from([900, 200_000])),
    st.tuples(st.just("shuffle"), st.sampled_from(["source", "target"]), st.integers(0, 9)),
    st.tuples(
        st.just("tensor"),
        PLACES,
        st.sampled_from(["drop", "int8", "bool", "complex64", "float64", "half", "nan", "flat"]),
    ),
)  # fmt: skip
CASES = st.tuples(
    st.sampled_from(list(KINDS)),
    st.one_of(
        st.tuples(st.just("damaged"), RAW),
        st.tuples(st.sampled_from(["edited", "kept checksum", "no checksum"]), st.lists(EDITS, min_size=1, max_size=2)),
    ),
)


def damage(content, edits):
    """The bytes after these edits."""
    for what, place, more in edits:
        at = int(place * len(content))
        if what == "flip" and content:
            content = content[:at] + bytes([content[at] ^ 1 << more]) + content[at + 1 :]
        elif what == "cut":
            content = content[:at]
        elif what == "insert":
            content = content[:at] + more + content[at:]
        elif what == "zero":
            content = content[:at] + bytes(len(content[at : at + more])) + content[at + more :]
        elif what == "swap":
            other = int(more * len(content))
            content = content[other:] + content[:other]
    return content


def edit(tensors, texts, edits):
    """Tensors and texts after these edits."""
    tensors, texts = dict(tensors), dict(texts)
    for what, name, value in edits:
        if what in ("setting", "config"):
            try:
                config = json.loads(texts["config"])
                (config["sizes"] if what == "setting" else config)[name] = value
                texts["config"] = json.dumps(config)
            except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
                continue  # an edit before has left no such thing
        elif what == "text":
            texts[name] = value.encode("utf-8", "replace").decode()
        elif what == "deep":
            texts[name] = "[" * value + "]" * value
        elif what == "shuffle":
            texts[name] = texts[name].replace('"one"', '"two', 1) if value else texts[name][::-1]
        else:
            chosen = sorted(tensors)[int(name * len(tensors))] if tensors else ""
            change_tensor(tensors, chosen, value)
    return tensors, texts


def change_tensor(tensors, name, how):
    """Drop one of the tensors, or give it another type, shape or content."""
    if how == "drop":
        tensors.pop(name, None)
    elif name in tensors:
        tensor = tensors[name]
        tensors[name] = {
            "nan": lambda: torch.full_like(tensor, float("nan")),
            "flat": lambda: tensor.flatten()[1:].contiguous(),
        }.get(how, lambda: tensor.to(getattr(torch, how)))()


def write(folder, kind, how, edits):
    """Write the damaged file. Returns whether nobody but its author can tell that it was edited."""
    content, stored, _ = original(kind)
    path = Path(folder) / MODEL
    if how == "damaged":
        path.write_bytes(damage(content, edits))
        return False
    tensors, texts = edit(stored.tensors, stored.texts, edits)
    if how == "edited":
        try:
            write_file(path, tensors, texts)
        except ValueError:  # of NaN
            safetensors.torch.save_file(tensors, path, texts)
        return True
    if how == "kept checksum":
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        safetensors.torch.save_file(tensors, path, {**texts, "sha256": header["__metadata__"]["sha256"]})
        return False
    safetensors.torch.save_file(tensors, path, texts)
    return False


def load(case):
    """A damaged folder is refused in one sentence that names it, or is loaded as it was written."""
    kind, (how, edits) = case
    _, stored, expected = original(kind)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        edited = write(folder, kind, how, edits)
        try:
            found = Translator.load(folder, "cpu")
        except (ValueError, OSError) as error:
            assert folder in str(error) and len(str(error)) < 3000 and not isinstance(error, UnicodeError), error
            return
        if not edited:
            weights = found.model.state_dict()
            assert all(torch.equal(weights[name], tensor) for name, tensor in stored.tensors.items()), "other weights"
            assert found.translate_all(LINES, max_length=5) == expected, "loaded, and translates something else"
        else:
            found.translate_all(LINES, max_length=5)
