"""The translator of real sentences that comes with the course: what it says, and that its scores are those stored."""

import json

import pytest
from typer.testing import CliRunner

from seqlearn.cli import app
from seqlearn.data.corpus import tatoeba_test
from seqlearn.translator.translator import Translator
from seqlearn.views.answers.known import REAL, about
from seqlearn.views.live.weights import MOST_WEIGHTS, live_model
from tools.tatoeba import FOLDER, UNFIT, unfit


@pytest.fixture(scope="module")
def translator():
    return Translator.pretrained("tatoeba", "cpu")


@pytest.fixture(scope="module")
def scores():
    return json.loads((FOLDER / "scores.json").read_text("utf-8"))


def test_it_is_small_enough_for_a_page_and_its_text_is_cased(translator):
    weights = sum(weight.numel() for weight in translator.model.parameters())
    assert weights <= MOST_WEIGHTS == 5_000_000
    assert (FOLDER / "model.safetensors").stat().st_size < 2.1 * weights, "in half precision"
    model = live_model(translator)
    assert model is not None and len(json.dumps(model)) < 8e6
    assert translator.source.tokenizer.cased and translator.source.vocab.tokens == translator.target.vocab.tokens
    assert about(translator)["examples"] == list(REAL)


def test_the_excerpt_has_whole_sources_and_says_where_it_comes_from(scores):
    pairs = list(tatoeba_test())
    assert scores["excerpt"]["pairs"] == len(pairs) and 1900 <= len(pairs) <= 2200
    assert scores["excerpt"]["sources"] == len({pair.source for pair in pairs}) < len(pairs)
    assert not any(map(unfit, pairs)), "a sentence for no class room"
    said = (FOLDER / "ATTRIBUTION.md").read_text("utf-8")
    assert all(name in said for name in ("Tatoeba", "manythings.org/anki", "CC BY 2.0 FR"))


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 4])
def test_evaluate_prints_the_stored_scores(scores, beam, as_a_user):
    result = CliRunner().invoke(app, ["evaluate", "tatoeba", "--beam", str(beam), "--all-references", "--json"])
    assert result.exit_code == 0, result.output
    found, stored = json.loads(result.stdout), scores["excerpt"][f"beam {beam}"]["all references"]
    assert found["pairs"] == scores["excerpt"]["sources"] and found["corpus"] == "tatoeba"
    assert found["bleu"] == pytest.approx(stored["bleu"], abs=0.1)
    assert found["chrf"] == pytest.approx(stored["chrf"], abs=0.1)
    assert found["exact"] == pytest.approx(stored["exact"], abs=0.003)
    assert found["perplexity"] == pytest.approx(stored["perplexity"], abs=0.01)
    assert "nrefs:var|case:mixed" in stored["bleu_signature"]


def test_it_is_better_than_copying_the_nearest_sentence_and_says_nothing_unfit(scores):
    best = scores["test"]["beam 4"]["all references"]["bleu"]
    assert best >= 45 and best > 1.5 * scores["nearest training sentence"]["bleu"]
    assert [scores["test"][f"beam {beam}"]["unfit"] for beam in (1, 4)] == [0, 0]


def test_the_first_page_has_these_scores(scores):
    said = " ".join((FOLDER.parents[2] / "README.md").read_text("utf-8").split())
    every, one = (scores["test"]["beam 4"][name]["bleu"] for name in ("all references", "one reference"))
    nearest = scores["nearest training sentence"]["bleu"]
    assert f"On {scores['test']['sources']:,} unseen sentences its BLEU is {every:.1f} with all references" in said
    assert f"and {one:.1f} with one (beam 4)" in said and f"nearest training sentence gets {nearest:.1f}." in said


def test_the_rule_for_class_rooms():
    assert all(UNFIT.search(text) for text in ("He killed him.", "Quel IDIOT !", "shut up", "C'est de la merde."))
    harmless = ("The class is farther.", "Tu es là.", "un crapaud", "hello", "Les nuages")
    assert not any(map(UNFIT.search, harmless))
