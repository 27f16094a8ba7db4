"""The command line, from training to a picture."""

import json
import os
import re
import signal
import sys
import warnings
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import seqlearn
from seqlearn.cli import app
from seqlearn.cli.corpora import warn_of_few
from seqlearn.data.corpus import Split, distinct_sources, from_tsv
from seqlearn.data.pairs import Pair
from seqlearn.training import loop
from seqlearn.training.storage import read_file, write_file
from seqlearn.translator.models import MODELS
from seqlearn.translator.saving import MODEL
from seqlearn.translator.translator import Translator

run = CliRunner().invoke
WORDS = "red green blue one two three four".split()
LINES = [f"{a} {b}" for a in WORDS for b in WORDS]
SMALL = ["--epochs", "2", "--embed-size", "8", "--hidden", "8", "--batch-size", "16", "--held-out", "0.1"]


def works(arguments):
    result = run(app, arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(message, arguments):
    """The command ends with this sentence."""
    result = run(app, arguments)
    assert result.exit_code == 1 and message in " ".join(result.stderr.split()), result.output


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    tsv = folder / "pairs.tsv"
    tsv.write_text("".join(f"{line}\t{line} !\n" for line in LINES), encoding="utf-8")
    result = works(["train", "--corpus", str(tsv), "--out", str(folder / "model"), *SMALL])
    return folder / "model", result.output


def changed(folder, new, change):
    """A copy of a translator's folder, with other texts in its file."""
    stored = read_file(folder / MODEL)
    write_file(new / MODEL, stored.tensors, change(stored.texts))


def with_config(folder, new, change):
    """A copy of a translator's folder, with a configuration that differs."""
    changed(folder, new, lambda texts: texts | {"config": json.dumps(json.loads(texts["config"]) | change)})


@pytest.mark.slow
def test_train_says_what_it_does(trained):
    folder, output = trained
    assert "epoch 2: loss" in output and "tokens/s" in output and str(folder) in output
    assert sorted(path.name for path in folder.iterdir()) == [
        ".lock",
        "config.json",
        "log.jsonl",
        "loss.svg",
        "model.safetensors",
        "run.toml",
    ]
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["model"] == "bahdanau" and config["sizes"]["embed_size"] == 8


def test_evaluate_scores_the_test_part_alone(trained, monkeypatch):
    scored = []
    evaluate = Translator.evaluate
    monkeypatch.setattr(
        Translator,
        "evaluate",
        lambda self, pairs, *args, **options: scored.extend(pairs) or evaluate(self, pairs, *args, **options),
    )
    result = run(app, ["evaluate", str(trained[0])])
    parts = from_tsv(trained[0].parent / "pairs.tsv", ("en", "fr")).split(0.1, 0.1, seed=0)
    assert scored == list(parts.test)
    for said in (f"{len(scored)} held-out pairs", "BLEU = ", "nrefs:1|case:lc", "chrF = ", "perplexity = "):
        assert said in result.output
    assert "alignment error rate" not in result.output, "there are no gold links here"
    assert not distinct_sources(scored) & distinct_sources([*parts.train, *parts.valid])


@pytest.mark.slow
def test_view_writes_a_page_with_the_translation_and_every_kind_of_attention(tmp_path, monkeypatch):
    folder = Path(__file__).parents[2] / "seqlearn" / "pretrained"
    monkeypatch.chdir(tmp_path)
    for name, kinds in (("transformer", ["cross", "encoder", "causal"]), (str(folder / "bahdanau"), None)):
        model = Path(name).name  # one of the course's own is found by its name
        out = tmp_path / f"{model}.html"
        works(["view", name, "The zebra eats <unk>.", "-o", str(out)])
        page = out.read_text("utf-8")
        first, *more = (json.loads(state) for state in re.findall(r'id="state\d">(.*)</script>', page))
        assert first["sentence"] == "The zebra eats <unk>." and first["data"]["live"] == (model == "transformer")
        assert ('id="model"' in page) == (model == "transformer"), "the model answers in the page"
        assert "<title>“The zebra eats &lt;unk&gt;.” → “" in page
        assert [[one["kind"] for one in view["data"]["maps"]] for view in more] == ([kinds] if kinds else [])


@pytest.mark.slow
def test_a_decoder_only_model_from_training_to_its_picture(trained, tmp_path):
    """It is trained, saved, loaded and searched; its one map, over source and target, is in both files."""
    folder, tsv = str(tmp_path / "model"), str(trained[0].parent / "pairs.tsv")
    sizes = ["--width", "16", "--ffn", "16", "--layers", "1", "--kv-heads", "2", "--norm-kind", "rms", "--ffn-kind"]
    command = ["train", "--corpus", tsv, "--out", folder, "--held-out", "0.1", "--batch-size", "4", "--epochs", "8"]
    result = works([*command, "--lr", "0.02", "--model", "decoder", *sizes, "swiglu", "--prefix"])
    translator = Translator.load(folder, "cpu")
    assert translator.model.decoder.config.prefix and translator.config["sizes"]["num_kv_heads"] == 2
    result = run(app, ["translate", folder, "red four", "--beam", "2"])
    assert result.exit_code == 0 and result.stdout == translator.translate("red four", beam=2) + "\n"
    result = run(app, ["evaluate", folder])
    assert result.exit_code == 0 and "BLEU = " in result.output, result.output
    for ending in ("png", "html"):
        result = works(["view", folder, "red four", "-o", str(tmp_path / f"map.{ending}")])
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "map.html").read_text("utf-8")
    first, second = (json.loads(state) for state in re.findall(r'id="state\d">(.*)</script>', page))
    sequence = ["red", "four", "<eos>", "<bos>", *translator.translate("red four").split()]
    assert first["result"]["best"][0]["attention"]["keys"] == second["data"]["maps"][0]["keys"] == sequence
    refused("a decoder model has no cross attention to look at", ["translate", folder, "red four", "--alignments"])


def test_gallery_writes_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr("seqlearn.views.gallery.all_views", list)
    works(["gallery", "-o", str(tmp_path / "views.html")])
    assert (tmp_path / "views.html").read_text("utf-8").startswith("<!doctype html>")
    assert run(app, ["gallery", "-o", str(tmp_path / "no" / "views.html")]).exit_code == 1


@pytest.mark.slow
def test_two_files_reversed(tmp_path):
    (tmp_path / "a.en").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    (tmp_path / "a.fr").write_text("\n".join(line.replace("red", "rouge") for line in LINES) + "\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "a.en"), "--target", str(tmp_path / "a.fr"), "--reverse"]
    works(["train", *files, "--out", str(tmp_path / "model"), *SMALL])
    assert "rouge" in Translator.load(tmp_path / "model").source.vocab


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [["--model", "seq2seq", "--cell", "lstm"], ["--model", "bahdanau", "--score", "bilinear"]]
)
def test_other_models(trained, tmp_path, model):
    pairs = trained[0].parent / "pairs.tsv"
    result = works(["train", "--corpus", str(pairs), *model, "--out", str(tmp_path / "model"), *SMALL])
    assert json.loads((tmp_path / "model" / "config.json").read_text("utf-8"))["sizes"][model[2][2:]] == model[3]
    works(["evaluate", str(tmp_path / "model")])
    result = run(app, ["view", str(tmp_path / "model"), "red blue", "-o", str(tmp_path / "map.png")])
    if "seq2seq" in model:
        assert result.exit_code == 1 and "seq2seq model has no attention to look at" in result.stderr
    else:
        assert result.exit_code == 0


TRAINING = {
    "--schedule": "inverse-sqrt", "--warmup": "0.25", "--label-smoothing": "0.1", "--accumulate": "2",
    "--precision": "bf16", "--lr": "0.001", "--epochs": "1", "--batch-size": "16", "--held-out": "0.1",
}  # fmt: skip


@pytest.mark.slow
def test_a_transformer_from_training_to_a_picture(trained, tmp_path, monkeypatch):
    """All that was asked for reaches the model and the training, and is written down."""
    asked, fit = {}, Translator.fit
    monkeypatch.setattr(
        Translator, "fit", lambda self, split, **options: asked.update(options) or fit(self, split, **options)
    )
    pairs, folder = trained[0].parent / "pairs.tsv", tmp_path / "model"
    sizes = "--size tiny --width 16 --ffn 24 --heads 2 --norm post --positions rotary --tie".split()
    command = ["train", "--corpus", str(pairs), "--model", "transformer", *sizes, "--layers", "1", "--dropout", "0"]
    works([*command, *(text for both in TRAINING.items() for text in both), "--out", str(folder)])
    config = json.loads((folder / "config.json").read_text("utf-8"))
    assert config["model"] == "transformer" and config["sizes"] == {
        "num_hiddens": 16, "ffn_num_hiddens": 24, "num_heads": 2, "num_layers": 1, "dropout": 0.0,
        "norm_first": False, "positions": "rotary", "bias": False, "max_steps": 1024, "tie": True, "tie_source": False,
        "activation": "relu",
    }  # fmt: skip
    recorded = {"label_smoothing": 0.1, "accumulate": 2, "precision": "bf16", "lr": 0.001, "epochs": 1}
    assert {name: config[name] for name in recorded} == recorded
    assert config["schedule"] == "inverse-sqrt" and config["warmup"] == 0.25
    assert {name: asked[name] for name in recorded} == recorded
    assert [asked["schedule"](share) for share in (0.125, 0.25, 1.0)] == [0.5, 1.0, 0.5]
    works(["evaluate", str(folder)])
    works(["view", str(folder), "red blue", "-o", str(tmp_path / "map.png")])


@pytest.mark.parametrize("model", MODELS)
def test_what_is_not_asked_for_is_written_down_too(trained, tmp_path, asked, model):
    pairs = ["--corpus", str(trained[0].parent / "pairs.tsv"), "--held-out", "0.1"]
    assert "that is enough" in run(app, ["train", *pairs, "--model", model, "--out", str(tmp_path / "m")]).stderr
    sizes = {"embed_size": 128, "num_hiddens": 128, "num_layers": 1, "dropout": 0.1}
    expected = {
        "bahdanau": {**sizes, "score": "additive"},
        "seq2seq": {**sizes, "cell": "gru", "bidirectional": False},
        "transformer": {
            "num_hiddens": 128,
            "ffn_num_hiddens": 256,
            "num_heads": 4,
            "num_layers": 2,
            "dropout": 0.1,
            "norm_first": True,
            "positions": "sinusoidal",
            "bias": False,
            "max_steps": 1024,
            "tie": False,
            "tie_source": False,
            "activation": "relu",
        },
        "decoder": {
            "num_hiddens": 128,
            "ffn_num_hiddens": 256,
            "num_heads": 4,
            "num_kv_heads": 0,
            "num_layers": 4,
            "dropout": 0.1,
            "norm": "layer",
            "ffn": "relu",
            "prefix": False,
            "tie": True,
            "tie_source": False,
        },
    }
    (asked,) = asked
    assert asked["translator"].config["sizes"] == expected[model]
    rates = [0.002, 0.0, 1.0, 0.0] if model in ("transformer", "decoder") else [0.003, 1.0, 0.9, 0.0]
    assert [asked["lr"], *(asked["schedule"](share) for share in (0.0, 0.1, 1.0))] == pytest.approx(rates)
    assert asked["label_smoothing"] == 0.0 and asked["accumulate"] == 1 and asked["precision"] is None


@pytest.mark.parametrize(
    "option",
    [("--layers", "0"), ("--layers", "101"), ("--dropout", "-0.1"), ("--dropout", "1"), ("--seed", "9" * 20)],
    ids=" ".join,
)
def test_a_number_out_of_bounds_is_refused(trained, tmp_path, option):
    pairs = ["--corpus", str(trained[0].parent / "pairs.tsv"), "--epochs", "1", "--held-out", "0.1"]
    result = run(app, ["train", *pairs, "--out", str(tmp_path / "m"), *option], env={"COLUMNS": "200"})
    assert result.exit_code == 2 and option[0] in result.stderr and not (tmp_path / "m").exists()


def test_the_seed_reaches_the_weights_and_the_order(trained, tmp_path, asked):
    pairs = ["--corpus", str(trained[0].parent / "pairs.tsv"), "--out", str(tmp_path / "m"), *SMALL]
    for seed in ("5", "5", "6"):
        run(app, ["train", *pairs, "--seed", seed])
    one, same, other = (each["translator"].model.decoder.dense.weight for each in asked)
    assert [each["seed"] for each in asked] == [5, 5, 6] and one.equal(same)
    assert one.shape != other.shape or not one.equal(other)


@pytest.mark.slow
def test_a_relative_path_is_found_from_another_folder(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(trained[0].parent)
    works(["train", "--corpus", "pairs.tsv", "--out", str(tmp_path / "model"), *SMALL])
    monkeypatch.chdir(tmp_path)
    works(["evaluate", str(tmp_path / "model")])


def test_help_tells_the_defaults():
    output = run(app, ["train", "--help"], env={"COLUMNS": "400"}).output
    assert "seq2seq: 1; transformer: by --size" in output and "the best there is" in output
    assert "bahdanau: 0.003; seq2seq: 0.003; transformer: 0.002" in output
    for spec in MODELS.values():
        assert spec.help in output and all(setting.flag in output for setting in spec.settings)


def test_a_corpus_that_changed_is_not_scored(tmp_path):
    tsv = tmp_path / "pairs.tsv"
    tsv.write_text("".join(f"{line}\t{line} !\n" for line in LINES), encoding="utf-8")
    command = ["train", "--corpus", str(tsv), "--out", str(tmp_path / "model"), *SMALL, "--epochs", "1"]
    assert run(app, command).exit_code == 0
    works(["evaluate", str(tmp_path / "model")])
    tsv.write_text(tsv.read_text(encoding="utf-8").replace("!", "?"), encoding="utf-8")
    refused("pairs.tsv has changed since the translator was trained", ["evaluate", str(tmp_path / "model")])


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["a.en", "a.fr"])
def test_of_two_files_each_is_checked(tmp_path, changed):
    for name in ("a.en", "a.fr"):
        (tmp_path / name).write_text("\n".join(LINES) + "\n", encoding="utf-8")
    command = ["train", "--source", str(tmp_path / "a.en"), "--target", str(tmp_path / "a.fr"), "--limit", "40"]
    result = run(app, [*command, "--out", str(tmp_path / "model"), *SMALL, "--epochs", "1"])
    assert result.exit_code == 0 and "pairs 35 train, 3 valid, 2 test" in result.output, result.output
    (tmp_path / changed).write_text("\n".join(LINES[::-1]) + "\n", encoding="utf-8")
    refused(f"{changed} has changed since", ["evaluate", str(tmp_path / "model")])


@pytest.mark.slow
def test_half_a_character_and_many_unknown_words(trained, tmp_path):
    result = run(app, ["view", str(trained[0]), "red \ud800", "-o", str(tmp_path / "map.png")])
    assert result.exit_code == 0 and (tmp_path / "map.png").exists(), result.output
    result = run(app, ["translate", str(trained[0]), "x x " + " ".join(f"w{number}" for number in range(50))])
    assert result.exit_code == 0 and "<unk>: x, w0, w1" in result.stderr and "w8, ..." in result.stderr


@pytest.mark.parametrize("name", ["config", "source", "model"])
@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": 1', '{"format": 1}', '{"tokens": "bpe"}', "\0", "[" * 200_000], ids=repr
)
def test_a_damaged_translator_is_said(trained, tmp_path, name, content):
    if name == "model":
        (tmp_path / "model").mkdir()
        (tmp_path / "model" / MODEL).write_text(content, encoding="utf-8")
    else:
        changed(trained[0], tmp_path / "model", lambda texts: texts | {name: content})
    result = run(app, ["translate", str(tmp_path / "model"), "red"])
    assert result.exit_code == 1 and result.stderr.startswith("seqlearn: ") and "model" in result.stderr, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": {"wings": 2}}, "bahdanau has no setting 'wings'"),
        ({"sizes": {"num_hiddens": "eight"}}, "num_hiddens is int, not 'eight'"),
        ({"sizes": {"num_hiddens": True}}, "num_hiddens is int, not True"),
        ({"sizes": {"num_hiddens": -8}}, "num_hiddens is from 1 to inf, not -8"),
        ({"sizes": {"num_hiddens": 0}}, "num_hiddens is from 1 to inf, not 0"),
        ({"sizes": {"dropout": float("nan")}}, "dropout is from 0 to 0.99, not nan"),
        ({"sizes": {"score": "cosine"}}, "there is no score 'cosine'"),
        ({"sizes": None}, "is damaged"),
        ({"model": "mamba"}, "there is no model 'mamba'"),
        ({"sizes": {"num_hiddens": 10**9}}, "a model of these sizes cannot be built"),
        ({"sizes": {"num_hiddens": 10**6}}, "describes a model of [0-9,]{10,} numbers, and [0-9,]+ are stored"),
        ({"sizes": {"num_layers": 10**6}}, "num_layers is from 1 to 100, not 1000000"),
        ({"sizes": {"num_layers": 90}}, "num_layers is 90, and only [0-9]+ weights are stored"),
    ],
)
def test_a_configuration_that_does_not_fit_is_said_with_its_file(trained, tmp_path, change, message):
    with_config(trained[0], tmp_path / "model", change)
    with pytest.raises(ValueError, match=message) as raised:
        Translator.load(tmp_path / "model", "cpu")
    assert str(raised.value).startswith(f"the configuration in {tmp_path / 'model'}")


def test_a_device_that_is_not_there_is_no_fault_of_the_folder(trained, monkeypatch):
    monkeypatch.setenv("SEQLEARN_DEVICE", "toaster")
    with pytest.raises(ValueError, match="toaster") as raised:
        Translator.load(trained[0])
    assert "configuration" not in str(raised.value)


WHOLE = {
    "corpus": "builtin", "source": "", "target": "", "data": "", "languages": ["en", "fr"], "skip_malformed": False,
    "reverse": False, "pairs": 300, "limit": None, "held_out": 0.1, "seed": 0,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        None, [], {}, {"corpus": "builtin"}, WHOLE | {"languages": ["en"]}, WHOLE | {"languages": None},
        WHOLE | {"held_out": "many"}, WHOLE | {"sha256": ["x"]}, WHOLE | {"limit": "x"}, WHOLE | {"pairs": "x"},
    ],
)  # fmt: skip
def test_a_corpus_that_is_not_described_is_said_with_the_file(trained, tmp_path, data):
    with_config(trained[0], tmp_path / "model", {"data": data})
    works(["translate", str(tmp_path / "model"), "red"])
    refused("does not describe a corpus", ["evaluate", str(tmp_path / "model")])


@pytest.mark.slow
def test_pieces_of_words_in_any_script(tmp_path):
    words = "红 绿 蓝 一 二 三 四".split()
    chinese = ["".join([a, b, c]) for a in words for b in words for c in words[:2]]
    text = "".join(f"{line}\t{line}!\n" for line in chinese)
    (tmp_path / "pairs.tsv").write_text(text, encoding="utf-8")
    own = ["--corpus", str(tmp_path / "pairs.tsv"), "--languages", "zh-zh", "--tokens", "bpe", "--vocab-size", "30"]
    result = run(app, ["train", *own, "--out", str(tmp_path / "model"), *SMALL])
    assert result.exit_code == 0 and "30 and 30 tokens" in result.output, result.output
    stored = Translator.load(tmp_path / "model").source
    assert stored.tokenizer.kind == "bpe" and "红" in stored.vocab
    result = run(app, ["translate", str(tmp_path / "model"), "红绿猫"])
    assert result.exit_code == 0 and "read as <unk>: 猫" in result.stderr and result.stdout.strip()
    works(["evaluate", str(tmp_path / "model")])


@pytest.mark.slow
def test_malformed_and_long_lines_are_left_out_on_request_and_counted(tmp_path):
    text = "".join(f"{line}\t{line} !\n" for line in LINES) + "no tab\n" + "red " * 30 + "\tred !\n"
    (tmp_path / "pairs.tsv").write_text(text, encoding="utf-8")
    command = ["train", "--corpus", str(tmp_path / "pairs.tsv"), "--out", str(tmp_path / "model"), *SMALL]
    result = run(app, command)
    assert result.exit_code == 1 and "pairs.tsv, line 50: 1 column" in result.stderr
    assert not (tmp_path / "model").exists()
    result = works([*command, "--skip-malformed", "--max-length", "20"])
    said = result.stderr.replace("\n", " ")
    assert "line 50: 1 column" in said and "left out, 50 pairs remain" in said
    assert re.search(r"1 of \d\d pairs have more than 20 tokens and are left out", said)
    assert "UserWarning" not in said and run(app, ["evaluate", str(tmp_path / "model")]).exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--corpus", "nowhere.tsv", "--out", "x"], "there is no file"),
        (["train", "--source", "a", "--out", "x"], "go together"),
        (["train", "--corpus", "x.tsv", "--languages", "english", "--out", "x"], "english"),
        (["train", "--device", "toaster", "--out", "x"], "toaster"),
        (["train", "--corpus", "builtin", "--pairs", "3", "--out", "x"], "give more pairs"),
        (["train", "--model", "mamba", "--out", "x"], "mamba"),
        (["train", "--score", "cosine", "--pairs", "900", "--out", "x"], "cosine"),
        (
            ["train", "--cell", "lstm", "--heads", "2", "--out", "x"],
            "bahdanau has no --cell, --heads; it has --embed-size, --hidden, --layers, --dropout, --score",
        ),
        (["train", "--model", "transformer", "--embed-size", "8", "--out", "x"], "transformer has no --embed-size"),
        (["train", "--model", "transformer", "--size", "huge", "--out", "x"], "tiny, small, base, not 'huge'"),
        (["train", "--model", "transformer", "--norm", "none", "--out", "x"], "--norm is one of pre, post, not 'none'"),
        (["train", "--model", "transformer", "--heads", "3", "--pairs", "900", "--out", "x"], "128"),
        (["train", "--model", "transformer", "--positions", "gps", "--pairs", "900", "--out", "x"], "gps"),
        (["train", "--hidden", "1000000", "--pairs", "900", "--out", "x"], "the weights of this model take 80,0"),
        (["train", "--hidden", "1000000000000", "--pairs", "900", "--out", "x"], "of these sizes cannot be built"),
        (
            ["train", "--tokens", "bpe", "--vocab-size", "5000000000", "--pairs", "900", "--out", "x"],
            "a vocabulary has at most 1,000,000 tokens, not 5,000,000,000",
        ),
        (["train", "--device", "meta", "--out", "x"], "--device 'meta' names no device of this machine"),
        (["train", "--schedule", "noam", "--out", "x"], "noam"),
        (["train", "--schedule", "inverse-sqrt", "--out", "x"], "warm-up is a share of training between 0 and 1"),
        (["train", "--warmup", "4000", "--out", "x"], "not 4000"),
        (["train", "--precision", "fp16", "--corpus", "nowhere.tsv", "--out", "x"], "--precision is bf16, or left out"),
        (["train", "--corpus", "x.tsv", "--languages", "en-f/r", "--out", "x"], "en-f/r"),
        (["train", "--corpus", "", "--out", "x"], "--corpus is empty"),
        (["train", "--pairs", "900", "--max-length", "1", "--out", "x"], "longer than 1 tokens"),
        (["train", "--tokens", "letters", "--out", "x"], "letters"),
        (
            ["train", "--pairs", "900", "--tokens", "bpe", "--vocab-size", "20", "--out", "x"],
            "vocabulary of 20 is too small",
        ),
        (["translate", "nowhere", "hello"], "there is no folder nowhere: give one that `seqlearn train` wrote, or tra"),
        (["evaluate", "nowhere"], "there is no folder nowhere"),
        (["view", "nowhere", "hello", "-o", "page.xyz"], "page.xyz: the ending .html gives a page; .png, .svg or .pdf"),
        (["view", "nowhere", "hello", "-o", "page"], "page: the ending .html gives a page"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(app, arguments)
    assert result.exit_code == 1 and message in result.stderr
    assert result.stderr.startswith("seqlearn: ") and "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == [], "something was written all the same"


def test_a_small_held_out_part_gets_a_warning():
    pairs = [Pair(str(number), str(number)) for number in range(60)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_few(Split(pairs, pairs[:50], pairs[:50]))
    with pytest.warns(UserWarning) as said:
        warn_of_few(Split(pairs, pairs[:1], pairs[:49]))
    assert [str(each.message).split(": give")[0] for each in said] == [
        "the valid part has 1 pair, fewer than 50, so chance has a say in which epoch is the best",
        "the test part has 49 pairs, fewer than 50, so the scores of `seqlearn evaluate` will say little",
    ]


def test_training_warns_of_a_small_held_out_part_and_evaluation_does_not(trained):
    assert "seqlearn: the valid part has 3 pairs, fewer than 50" in " ".join(trained[1].split())
    assert "fewer than" not in run(app, ["evaluate", str(trained[0])]).output


@pytest.mark.slow
def test_the_learning_rate_has_two_names(trained, tmp_path):
    command = ["train", "--corpus", str(trained[0].parent / "pairs.tsv"), "--out", str(tmp_path / "model"), *SMALL]
    works([*command, "--learning-rate", "0.004"])
    assert Translator.load(tmp_path / "model").config["lr"] == 0.004


def test_the_versions_are_said():
    result = run(app, ["--version"])
    python = ".".join(map(str, sys.version_info[:3]))
    assert result.exit_code == 0
    assert result.stdout == f"seqlearn {seqlearn.__version__} with PyTorch {torch.__version__}, Python {python}\n"


@pytest.mark.slow
def test_a_training_without_a_translator_yet_is_to_be_resumed_first(trained, tmp_path, monkeypatch):
    update, out = loop.Training.update, str(tmp_path / "model")
    monkeypatch.setattr(loop.Training, "update", lambda *args: signal.raise_signal(signal.SIGINT) or update(*args))
    assert run(app, ["train", "--corpus", str(trained[0].parent / "pairs.tsv"), "--out", out, *SMALL]).exit_code == 130
    refused(f"go on with `seqlearn train --resume {out}` first", ["translate", out, "red"])


def test_one_sentence_again_and_again_gets_the_right_advice(tmp_path):
    (tmp_path / "same.tsv").write_text("hello\tbonjour\n" * 500, encoding="utf-8")
    command = ["train", "--corpus", str(tmp_path / "same.tsv"), "--out", str(tmp_path / "model"), *SMALL]
    for said in ("500 pairs with 1 distinct source sentences", "other source sentences"):
        refused(said, command)
    assert not (tmp_path / "model").exists()


@pytest.mark.skipif(os.name == "nt", reason="links and pipes of Unix")
def test_a_link_to_itself_is_said_and_a_pipe_is_read(tmp_path, trained):
    (tmp_path / "loop").symlink_to("loop")
    command = ["train", "--out", str(tmp_path / "model"), *SMALL, "--epochs", "1", "--corpus"]
    result = run(app, [*command, str(tmp_path / "loop")])
    assert result.exit_code == 1 and result.stderr == f"seqlearn: there is no file {tmp_path / 'loop'}\n"
    refused(
        f"{tmp_path / 'loop'} is a link that leads nowhere",
        [*command[:2], str(tmp_path / "loop"), *command[3:], str(trained[0].parent / "pairs.tsv")],
    )
    os.mkfifo(tmp_path / "pipe")
    refused(
        "pipe is not a plain file: what is held out is read more than once",
        [*command, str(trained[0].parent / "pairs.tsv"), "--valid", str(tmp_path / "pipe")],
    )
    reader, writer = os.pipe()  # as bash writes it: --corpus <(zcat pairs.tsv.gz)
    os.write(writer, (trained[0].parent / "pairs.tsv").read_bytes())
    os.close(writer)
    works([*command, f"/dev/fd/{reader}"])
    os.close(reader)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file of Linux that nobody can read")
@pytest.mark.parametrize("options", [["translate", "--file"], ["train", "--out", "model", "--corpus"]])
def test_a_file_that_cannot_be_read_is_named(trained, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    folder = [str(trained[0])] if options[0] == "translate" else []
    result = run(app, [*options[:1], *folder, *options[1:], "/proc/self/mem"])
    assert result.exit_code == 1 and result.stderr == "seqlearn: /proc/self/mem: Input/output error\n"


def test_no_escape_code_of_a_file_reaches_the_terminal(tmp_path, capfd):
    """Neither in its name nor in its lines; our own colours do."""
    evil, name = "\x1b]0;evil\x07", tmp_path / "\x1b]0;evil\x07.tsv"
    lines = [f"{line} {evil}\t{line} !\n" for line in LINES]
    name.write_text("".join([*lines, "no tab\n"]), encoding="utf-8")
    command = ["train", "--corpus", str(name), "--out", str(tmp_path / "model"), *SMALL, "--epochs", "1"]
    for more in ([], ["--skip-malformed"]):
        result = run(app, [*command, *more], color=True)
        assert result.exit_code == (0 if more else 1), result.output
        said = result.output + "".join(capfd.readouterr())
        assert "evil" in said and "\x07" not in said and "\x1b]" not in said
    result = run(app, ["evaluate", str(tmp_path / "model"), "--tsv", str(name)], color=True)
    assert result.exit_code == 1 and "\x07" not in result.output


def test_a_folder_that_cannot_be_made_is_found_before_training(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(Translator, "fit", lambda *args, **options: pytest.fail("trained for nothing"))
    result = run(app, ["train", "--pairs", "300", "--out", str(tmp_path / "file" / "model"), *SMALL])
    assert result.exit_code == 1 and result.stderr.startswith("seqlearn: ") and "file" in result.stderr
