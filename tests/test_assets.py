"""The small models that come with the course: they load, and they are as good as is written beside them."""

import json
from pathlib import Path

import pytest
import safetensors

from seqlearn.translator.translator import Translator

pytestmark = pytest.mark.slow

PRETRAINED = Path(__file__).parents[1] / "seqlearn" / "pretrained"
MODELS = sorted(path.parent.name for path in PRETRAINED.glob("*/config.json"))
OF_GRAMMAR = [name for name in MODELS if name != "tatoeba"]  # `test_tatoeba.py` scores the other one


def test_there_is_a_model():
    assert "bahdanau" in MODELS


@pytest.mark.parametrize("name", OF_GRAMMAR)
def test_its_scores_are_those_on_held_out_pairs(name, parts, as_a_user):
    stored = json.loads((PRETRAINED / name / "scores.json").read_text(encoding="utf-8"))
    translator = Translator.pretrained(name, "cpu")
    scores = translator.evaluate(parts.test, batch_size=256)
    assert scores.pairs == stored["pairs"] == len(parts.test)
    assert scores.bleu.score == pytest.approx(stored["bleu"], abs=0.3) and scores.bleu.score > 90
    assert scores.aer == pytest.approx(stored["aer"], abs=0.003) and scores.aer < 0.18
    assert scores.chrf.score == pytest.approx(stored["chrf"], abs=0.3)
    assert scores.exact == pytest.approx(stored["exact"], abs=0.01)
    assert scores.bleu.signature.split("|version")[0] == stored["bleu_signature"].split("|version")[0]


@pytest.mark.parametrize("name", MODELS)
def test_its_file_holds_the_weights_once_and_no_more(name):
    stored = json.loads((PRETRAINED / name / "scores.json").read_text(encoding="utf-8"))
    with safetensors.safe_open(PRETRAINED / name / "model.safetensors", "pt") as file:
        assert sum(file.get_tensor(key).numel() for key in file.keys()) == stored["parameters"]  # noqa: SIM118


def test_no_such_model_is_said():
    with pytest.raises(FileNotFoundError, match=r"no trained model 'gpt': .*pretrained has .*bahdanau.*, transformer"):
        Translator.pretrained("gpt")
