"""`seqlearn train --config`: what each training writes as `run.toml`, and what a file is refused for."""

import json
import os
import tomllib

import pytest
from typer.testing import CliRunner

from seqlearn.cli import app
from seqlearn.cli.config import ONLY_GIVEN, as_toml
from seqlearn.cli.options import checked, parameters
from seqlearn.training.storage import read_file
from seqlearn.translator.models import MODELS
from seqlearn.translator.saving import MODEL

pytestmark = pytest.mark.slow

WORDS = "red green blue one two three four".split()
SMALL = ["--epochs", "2", "--embed-size", "8", "--hidden", "8", "--batch-size", "16", "--held-out", "0.1"]
DEFAULTS = {each.name: each.default for each in parameters()}


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "1000", "SEQLEARN_DEVICE": "cpu"})


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with `pairs.tsv`, and a translator in `m` that was trained there."""
    folder = tmp_path_factory.mktemp("config")
    (folder / "pairs.tsv").write_text("".join(f"{a} {b}\t{b} {a}\n" for a in WORDS for b in WORDS), encoding="utf-8")
    before = os.getcwd()
    os.chdir(folder)
    try:
        result = run("train", "--corpus", "pairs.tsv", *SMALL, "--lr", "0.01", "--reverse", "--out", "m")
    finally:
        os.chdir(before)
    assert result.exit_code == 0, result.output
    return folder


def test_what_a_training_writes_trains_the_same_translator_again_in_any_folder(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = trained / "m" / "run.toml"
    result = run("train", "--config", written, "--out", "again")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "again" / "run.toml").read_bytes() == written.read_bytes()
    one, other = read_file(trained / "m" / MODEL), read_file(tmp_path / "again" / MODEL)
    assert one.texts == other.texts and all(one.tensors[name].equal(other.tensors[name]) for name in one.tensors)


def test_the_file_has_each_option_with_its_value_and_none_without_effect(trained):
    text = (trained / "m" / "run.toml").read_text("utf-8")
    found = tomllib.loads(text)
    assert found == found | {
        "corpus": str(trained / "pairs.tsv"), "reverse": True, "held-out": 0.1, "model": "bahdanau", "hidden": 8,
        "score": "additive", "dropout": 0.1, "min-freq": 2, "epochs": 2, "lr": 0.01, "warmup": 0.0, "seed": 0,
    }  # fmt: skip
    assert not found.keys() & {"pairs", "data", "vocab-size", "patience", "width", "size", "device", "out", "config"}
    assert text.index("# Data") < text.index("# Held-out data") < text.index("# Tokens") < text.index("# Training")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"tokens": "bpe", "shared_vocab": True, "tie": True},
        {"source": 'a "b" \\ \t\x7fé', "target": "b", "lr": 1e-9},
    ],
    ids=["defaults", "shared", "texts"],
)
def test_a_file_gives_the_options_that_were_written(tmp_path, model, more):
    if "tie" in more and model in ("bahdanau", "seq2seq"):
        pytest.skip("these have no such option")
    options = checked({**DEFAULTS, "model": model, **more})
    found = {key.replace("-", "_"): value for key, value in tomllib.loads(as_toml(options)).items()}
    again = checked(DEFAULTS | found)
    assert again.settings == options.settings and as_toml(again) == as_toml(options)
    assert (again.training, again.model) == (options.training, options.model)
    assert again.data.anywhere() == options.data.anywhere()


def test_the_command_line_wins_over_the_file(trained, tmp_path, asked):
    config = trained / "m" / "run.toml"
    result = run("train", "--config", config, "--out", tmp_path / "a", "--epochs", "3", "--hidden", "6")
    assert "that is enough" in result.stderr, result.output
    sizes = asked[0]["translator"].config["sizes"]
    assert (asked[0]["epochs"], asked[0]["lr"]) == (3, 0.01)
    assert (sizes["num_hiddens"], sizes["embed_size"]) == (6, 8)


def test_an_option_of_the_file_that_the_command_line_makes_useless_is_left_out(tmp_path, asked):
    (tmp_path / "a.toml").write_text(
        'pairs = 300\ntokens = "bpe"\nvocab-size = 50\nepochs = 9\npatience = 2\n', "utf-8"
    )
    (tmp_path / "p.tsv").write_text("".join(f"{a} {b}\t{b}\n" for a in WORDS for b in WORDS), encoding="utf-8")
    more = ["--corpus", tmp_path / "p.tsv", "--tokens", "word", "--epochs", "1", "--held-out", "0.1"]
    result = run("train", "--config", tmp_path / "a.toml", "--out", tmp_path / "m", *more)
    assert "that is enough" in result.stderr, result.output
    assert asked[0]["patience"] is None and asked[0]["epochs"] == 1


def test_a_size_on_the_command_line_is_not_hidden_by_the_sizes_of_the_file(tmp_path, asked):
    (tmp_path / "a.toml").write_text(as_toml(checked({**DEFAULTS, "model": "transformer", "pairs": 300})), "utf-8")
    assert 'size = "tiny"' in (tmp_path / "a.toml").read_text("utf-8")
    result = run("train", "--config", tmp_path / "a.toml", "--out", tmp_path / "m", "--size", "small")
    assert "that is enough" in result.stderr, result.output
    assert asked[0]["translator"].config["sizes"]["num_hiddens"] == 256


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epoch = 2", "a.toml: there is no option epoch; do you mean epochs?"),
        ("batch_size = 2", "a.toml: there is no option batch_size; do you mean batch-size?"),
        ("[data]\ncorpus = 'x'", """a.toml: data is a text, such as "word", not {'corpus': 'x'}"""),
        ("out = 'm'", "a.toml: there is no option out"),
        ("epochs = 'two'", "a.toml: epochs is a whole number, not 'two'"),
        ("epochs = 2.5", "a.toml: epochs is a whole number, not 2.5"),
        ("epochs = true", "a.toml: epochs is a whole number, not True"),
        ("lr = '1e-3'", "a.toml: lr is a number, not '1e-3'"),
        ("lr = [1]", "a.toml: lr is a number, not [1]"),
        ("reverse = 1", "a.toml: reverse is true or false, not 1"),
        ("corpus = 3", 'a.toml: corpus is a text, such as "word", not 3'),
        ("epochs = 0", "a.toml: epochs is at least 1, not 0"),
        ("layers = 101", "a.toml: layers is from 1 to 100, not 101"),
        ("label-smoothing = nan", "a.toml: label-smoothing is from 0 to 0.99, not nan"),
        ("epochs = 2\nlr =\n", "a.toml is not a TOML file: Invalid value (at line 2, column 5)"),
        ("epochs = 2\nepochs = 3\n", "a.toml is not a TOML file: Cannot overwrite a value (at line 2, column 11)"),
        (b"corpus = '\xff'", "a.toml is not a TOML file: 'utf-8' codec can't decode byte 0xff"),
        ("tokens = 'letters'", "a.toml: --tokens is one of word, bpe, not 'letters'"),
        ("model = 'noam'", "a.toml: there is no model 'noam'"),
        ("schedule = 'noam'", "a.toml: there is no schedule 'noam'"),
        ("score = 'cosine'", "a.toml: --score is one of additive, dot, bilinear, not 'cosine'"),
        ("width = 4", "a.toml: bahdanau has no --width"),
        ("source = 'a'", "a.toml: --source and --target go together"),
        ("vocab-size = 50", "a.toml: --vocab-size is for --tokens bpe: leave it out"),
    ],
)
def test_a_fault_in_the_file_is_one_sentence(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    result = run("train", "--config", "a.toml", "--out", "m")
    assert result.exit_code == 1 and f"seqlearn: {message}" in result.stderr, result.output
    assert result.stderr.count("\n") == 1 and not (tmp_path / "m").exists()


def test_a_file_cannot_be_read_or_does_not_go_with_a_restart(tmp_path):
    assert "none.toml: No such file" in run("train", "--config", tmp_path / "none.toml", "--out", tmp_path / "m").stderr
    assert "Is a directory" in run("train", "--config", tmp_path, "--out", tmp_path / "m").stderr
    result = run("train", "--config", tmp_path / "none.toml", "--resume", tmp_path)
    assert result.exit_code == 1 and "leave out --config" in result.stderr


def test_a_restart_writes_the_options_of_the_whole_training(trained, tmp_path, monkeypatch):
    """They come from the checkpoint. A value that was left open at the start may be given, if it is the same."""
    from seqlearn.training.loop import Training

    calls, update = [], Training.update

    def dies(*args):
        calls.append(1)
        if len(calls) == 4:
            raise ValueError("an error")
        return update(*args)

    monkeypatch.setattr(Training, "update", dies)
    assert run("train", "--config", trained / "m" / "run.toml", "--out", tmp_path / "m").exit_code == 1
    monkeypatch.undo()
    result = run("train", "--resume", tmp_path / "m", "--warmup", "0")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "m" / "run.toml").read_bytes() == (trained / "m" / "run.toml").read_bytes()
    assert not json.loads((tmp_path / "m" / "config.json").read_text("utf-8")).keys() & ONLY_GIVEN


def test_a_value_of_ten_megabytes_is_not_repeated(tmp_path):
    (tmp_path / "run.toml").write_text(f'epochs = "{"x" * 10_000_000}"\n', "utf-8")
    result = CliRunner().invoke(app, ["train", "--config", str(tmp_path / "run.toml"), "--out", str(tmp_path / "m")])
    assert result.exit_code == 1 and "epochs is a whole number, not 'xxx" in result.stderr and len(result.stderr) < 1000
    result = CliRunner().invoke(app, ["translate", "x" * 10_000_000, "red"])
    assert result.exit_code == 1 and len(result.stderr) < 3000
