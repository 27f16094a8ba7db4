"""One spec for each model; a fourth model, registered in one place, from training to a translation."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from seqlearn.cli import app
from seqlearn.nn.config import Setting
from seqlearn.nn.contract import EncoderDecoder
from seqlearn.nn.transformer import SIZES, TransformerConfig
from seqlearn.translator import models
from seqlearn.translator.models import MODELS, ModelSpec, register, spec_of
from seqlearn.translator.translator import Translator

run = CliRunner().invoke
WORDS = "red green blue one two three four".split()


class Counted(nn.Module):
    """The counts of the words of each source."""

    def __init__(self, vocab_size: int):
        super().__init__()
        self.vocab_size = vocab_size

    def forward(self, source, source_lens):
        real = torch.arange(source.shape[1], device=source.device) < source_lens.to(source.device).unsqueeze(1)
        counts = torch.zeros(len(source), self.vocab_size, device=source.device)
        return counts.scatter_add(1, source, real.float())


class Bag:
    """The state: counts, and nothing of what was written."""

    def __init__(self, counts):
        self.counts = counts

    def select(self, rows):
        return Bag(self.counts[rows])


class BagDecoder(nn.Module):
    """A linear layer over the counted words of the source and the last word of the target."""

    def __init__(self, source_vocab_size: int, target_vocab_size: int, width: int):
        super().__init__()
        self.source = nn.Linear(source_vocab_size, width)
        self.last = nn.Embedding(target_vocab_size, width)
        self.dense = nn.Linear(width, target_vocab_size)

    def init_state(self, counts):
        return Bag(self.source(counts))

    def forward(self, tokens, state):
        return self.dense(torch.tanh(state.counts.unsqueeze(1) + self.last(tokens))), state


@dataclass(frozen=True)
class BagConfig:
    width: Annotated[int, Setting("of the bag", "bag-width", least=1)] = 16
    loud: bool = False


def bag_of_words(source_vocab_size: int, target_vocab_size: int, config: BagConfig) -> EncoderDecoder:
    return EncoderDecoder(Counted(source_vocab_size), BagDecoder(source_vocab_size, target_vocab_size, config.width))


@pytest.fixture
def fourth(monkeypatch):
    """A registry with a fourth model."""
    monkeypatch.setattr(models, "MODELS", MODELS)
    monkeypatch.setitem(MODELS, "bag", None)
    del MODELS["bag"]  # monkeypatch takes it out again afterwards
    spec = ModelSpec("bag", "a bag of words", bag_of_words, BagConfig, lr=0.02, warmup=0.1)
    register(spec)
    yield spec
    MODELS.pop("bag", None)


@pytest.mark.slow
def test_a_fourth_model_is_trained_saved_loaded_and_used_through_the_command_line(fourth, tmp_path):
    tsv, folder = tmp_path / "pairs.tsv", str(tmp_path / "model")
    lines = [f"{a} {b}\t{min(a, b)} {max(a, b)} !\n" for a in WORDS for b in WORDS if a != b]  # a bag has no order
    tsv.write_text("".join(lines), encoding="utf-8")
    helped = run(app, ["train", "--help"], env={"COLUMNS": "400"}).output
    assert "--bag-width" in helped and "Of the bag" in helped and "a bag of words" in helped and "bag: 16" in helped
    command = [
        "train",
        "--corpus",
        str(tsv),
        "--held-out",
        "0.1",
        "--batch-size",
        "8",
        "--epochs",
        "30",
        "--out",
        folder,
    ]
    result = run(app, [*command, "--model", "bag", "--bag-width", "24", "--loud"])
    assert result.exit_code == 0, result.output
    translator = Translator.load(folder, "cpu")
    assert translator.config["sizes"] == {"width": 24, "loud": True} and translator.config["lr"] == 0.02
    assert translator.model.decoder.dense.in_features == 24
    result = run(app, ["translate", folder, "red blue"])
    assert result.exit_code == 0 and result.stdout == "blue red !\n" == translator.translate("red blue", beam=3) + "\n"
    assert run(app, ["evaluate", folder]).exit_code == 0
    result = run(app, ["train", "--model", "bag", "--heads", "2", "--out", str(tmp_path / "x")])
    assert result.exit_code == 1 and "bag has no --heads; it has --bag-width, --loud" in result.stderr
    result = run(app, ["train", "--model", "bahdanau", "--bag-width", "2", "--out", str(tmp_path / "x")])
    assert result.exit_code == 1 and "bahdanau has no --bag-width" in result.stderr


def test_a_model_is_registered_once(fourth):
    with pytest.raises(ValueError, match="there is a model 'bag' already"):
        register(fourth)


def test_the_settings_are_the_fields_of_the_configuration(fourth):
    """With a note that says what a field means, and without one."""
    width, loud = fourth.settings
    assert width == Setting("of the bag", "bag-width", None, 1, None, argument="width", default=16)
    assert (width.flag, loud.flag, loud.help, loud.default) == ("--bag-width", "--loud", "loud", False)
    assert fourth.complete({"width": 3}) == {"width": 3, "loud": False}
    for wrong, message in (({"width": 0}, "width is from 1 to inf, not 0"), ({"loud": 1}, "loud is bool, not 1")):
        with pytest.raises(ValueError, match=message):
            fourth.complete(wrong)


@pytest.mark.parametrize("name", MODELS)
def test_what_a_spec_says_is_what_its_factory_takes(name):
    spec = spec_of(name)
    for setting in spec.settings:
        values = list(setting.choices.values()) if setting.choices else [setting.default]
        assert setting.default in values
        for value in values:
            spec.build(9, 9, **spec.complete({setting.argument: value}))
    with pytest.raises(ValueError, match=f"{name} has no setting 'wings'; it has "):
        spec.complete({"wings": 2})
    with pytest.raises(ValueError, match="no model 'mamba'; choose from bahdanau, seq2seq, transformer, decoder"):
        spec_of("mamba")


def test_the_smallest_size_is_the_default():
    assert next(iter(SIZES.values())) == TransformerConfig()
