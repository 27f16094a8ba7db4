"""The circuits of several trainings: what is stored of the first one is found again, and no run is repeated."""

import json
from pathlib import Path

import pytest

from seqlearn.data import builtin
from seqlearn.translator.translator import Translator

pytestmark = pytest.mark.slow
STORED = Path(__file__).parents[1] / "assets" / "experiments" / "circuits"


@pytest.fixture
def circuits(import_benchmark, as_a_user):
    return import_benchmark("circuits")


def test_the_stored_model_is_measured_again(circuits, parts):
    stored = json.loads((STORED / "seed-0.json").read_text("utf-8"))
    found = circuits.measure(Translator.pretrained("transformer", "cpu"), parts)
    assert (found["finder"], found["enough"], found["pairs"]) == ("encoder 1.3", stored["enough"], 192)
    for name in ("right", "right without the finder", "right with the first heads kept"):
        assert found[name] == pytest.approx(stored[name], abs=0.01), name
    for head, effect in stored["heads"].items():
        assert found["heads"][head] == pytest.approx(effect, abs=0.01), head
    for place, row in stored["stream"].items():
        assert found["stream"][place] == pytest.approx(row, abs=0.005), place


def test_minimal_pairs_differ_in_a_noun_and_are_new(circuits, parts):
    pairs, known = circuits.minimal_pairs(parts), {pair.source for pair in parts.train}
    assert len(pairs) == len(set(pairs)) == 192 and all((two, one) in pairs for one, two in pairs)
    for (one, _), (two, _) in pairs:
        assert [a != b for a, b in zip(one.split(), two.split(), strict=True)] == [i == 4 for i in range(8)]
        assert not known & {one, two}


def test_a_short_run_is_stored_once(circuits, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(circuits, "FOLDER", tmp_path)
    monkeypatch.setitem(circuits.RECIPES, "transformer", circuits.RECIPES["transformer"] | {"epochs": 1})
    monkeypatch.setattr(circuits.corpus, "builtin", lambda: builtin(900))
    monkeypatch.setattr(circuits, "measure", lambda translator, split: {"finder": "encoder 0.0", "enough": 1,
                                                                        "heads": {"encoder 0.0": {}}})  # fmt: skip
    circuits.run([7])
    stored = json.loads((tmp_path / "circuits" / "seed-7.json").read_text(encoding="utf-8"))
    assert stored["seed"] == 7 and stored["epochs"] == 1 and "seed 7 " in capsys.readouterr().out
    circuits.run([7])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("path", sorted(STORED.glob("*.json")), ids=lambda path: path.stem)
def test_what_is_stored_fits_together(path):
    stored = json.loads(path.read_text("utf-8"))
    assert path.stem == f"seed-{stored['seed']}" and stored["label"] == f"seed {stored['seed']}"
    encoder = {head: effect["moved"] for head, effect in stored["heads"].items() if head.startswith("encoder")}
    assert stored["finder"] == max(encoder, key=encoder.get) and len(stored["heads"]) == len(stored["order"]) == 24
    shares = stored["right with the first heads kept"]
    assert shares[stored["enough"]] >= 0.9 > max(shares[: stored["enough"]])
