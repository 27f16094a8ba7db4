"""The long runs of real sentences: what is drawn, what differs between runs, and what a short run stores."""

import json
import math
from collections import Counter
from itertools import pairwise

import pytest

from seqlearn.data.corpus import builtin
from seqlearn.data.pairs import Pair
from seqlearn.translator.translator import Translator

ONE = {"tokens": {}, "sizes": {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_heads": 1, "num_layers": 1}, "recipe": {}}


@pytest.fixture
def real(import_benchmark):
    return import_benchmark("real")


@pytest.fixture
def small(real, tmp_path, monkeypatch):
    """The experiments with a small corpus, a small model and few pieces; results in a folder of the test."""
    monkeypatch.setattr(real, "FOLDER", tmp_path)
    monkeypatch.setattr(real.tatoeba, "corpus", lambda: builtin(900))
    monkeypatch.setattr(real.tatoeba, "HELD_OUT", 0.1)
    monkeypatch.setattr(real, "TEST", 12)
    monkeypatch.setattr(real, "pieces", lambda pairs: 150)
    monkeypatch.setattr(real, "epochs", lambda pairs: 2)
    monkeypatch.setattr(real, "SETTINGS", {part: real.SETTINGS[part] | ONE[part] for part in ONE})
    return real


def stored(folder):
    return {path.name: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))}


def test_smaller_draws_are_parts_of_larger_ones_and_have_whole_sources(real):
    train = [Pair(f"Number {n} .", f"{n}, {again}") for n in range(400) for again in range(1 + n % 4)]
    draws = [real.draw(train, count, 3) for count in (50, 200, 700, None)]
    assert [len(drawn) for drawn in draws] == [50, 200, 700, len(train)]
    for smaller, larger in pairwise(map(set, draws)):
        assert smaller < larger
    every = Counter(pair.source for pair in train)
    for drawn in draws:
        cut = [source for source, count in Counter(pair.source for pair in drawn).items() if count < every[source]]
        assert len(cut) <= 1, "only the last source may have pairs that do not fit in"
    numbers = sorted(int(pair.source.split()[1]) for pair in draws[1])
    assert numbers[0] < 40 and numbers[-1] > 360, "drawn from everywhere"
    assert set(real.draw(train, 50, 4)) != set(draws[0])


@pytest.mark.slow
def test_a_short_curve_stores_its_runs_once(small, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(small, "COUNTS", (60, 120, None))
    monkeypatch.setattr(small, "CHEAP", 60)
    small.curve([5, 6])
    runs = stored(tmp_path / "curve")
    assert list(runs) == ["120-pairs-5.json", "60-pairs-5.json", "60-pairs-6.json", "all-pairs-5.json"]
    first = runs["60-pairs-5.json"]
    assert first["pairs"] == 60 and first["seed"] == 5 and len(first["valid losses"]) == 2 and first["threads"] == 1
    assert first["nearest training sentence"] != runs["all-pairs-5.json"]["nearest training sentence"]
    assert {run["test sources"] for run in runs.values()} == {12}, "all are scored on the same sources"
    every = {f"{case}, {which}" for case in ("as typed", "lower case") for which in ("all references", "one reference")}
    for beam in ("beam 1", "beam 4"):
        assert set(first[beam]) == {"search seconds"} | every
        signatures = {name: first[beam][name]["bleu signature"] for name in every}
        assert all(("case:lc" in signature) == name.startswith("lower") for name, signature in signatures.items())
    assert "60 pairs, seed 6: BLEU " in capsys.readouterr().out
    monkeypatch.setattr(small, "parts", lambda: pytest.fail("a run whose file exists is repeated"))
    small.curve([5, 6])
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_a_short_run_of_each_trick_does_what_its_label_says(small, monkeypatch, tmp_path):
    monkeypatch.setattr(small, "CHEAP", 60)
    made, given, fit = [], [], Translator.fit

    def watched(translator, split, **options):
        made.append(translator)
        given.append(options)
        return fit(translator, split, **options)

    monkeypatch.setattr(Translator, "fit", watched)
    small.tricks([1])
    runs = {run["label"]: run for run in stored(tmp_path / "tricks").values()}
    assert set(runs) == set(small.TRICKS) and {run["pairs"] for run in runs.values()} == {60}
    translators, options = (dict(zip(small.TRICKS, each, strict=True)) for each in (made, given))
    one_vocabulary = {
        label: each.source.vocab.tokens == each.target.vocab.tokens for label, each in translators.items()
    }
    assert {label for label, shared in one_vocabulary.items() if not shared} == {"words", "pieces apart"}
    assert {label for label, each in translators.items() if not each.target.tokenizer.cased} == {"words", "lower case"}
    assert {label for label, each in translators.items() if each.target.tokenizer.kind == "word"} == {"words"}
    assert {label for label, each in options.items() if each["label_smoothing"] == 0} == {"no label smoothing"}
    assert {label for label, each in options.items() if each["average_last"] == 3} == {"mean of the last 3 epochs"}
    assert {label for label, each in options.items() if each["schedule"](0.9) == 1} == {"constant learning rate"}
    assert all(math.isclose(each["schedule"](0.02), 0.5) for each in options.values()), "all warm up alike"
    assert {label for label, run in runs.items() if run["sizes"]["dropout"] == 0} == {"no dropout"}
    assert runs["untied embeddings"]["parameters"] > runs["no dropout"]["parameters"]


@pytest.mark.slow
def test_what_stays_the_same_with_the_real_corpus(real, data_folder):
    train, valid, test = real.parts()
    sources = [{pair.source.lower() for pair in part} for part in (train, valid, test)]
    assert not sources[0] & (sources[1] | sources[2]) and not sources[1] & sources[2]
    assert 155_000 < len(train) < 163_000 and len(valid) > real.VALID and len(test) > real.TEST
    assert len(sources[2]) <= real.TEST and not any(map(real.tatoeba.unfit, test))
