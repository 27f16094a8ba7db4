"""The curriculum of the long runs: its four ways differ in the sentences and in the rates, and in nothing else.

The decoder-only models have about as many weights; a short run stores what lesson 13 plots.
"""

import json

import pytest

from seqlearn.data.corpus import builtin
from seqlearn.data.text import WordTokenizer
from seqlearn.training import warmup
from seqlearn.translator.translator import Translator


@pytest.fixture
def experiments(import_benchmark):
    return import_benchmark("experiments")


@pytest.fixture(scope="module")
def split():
    return builtin(900).split()


@pytest.fixture(scope="module")
def translator(split):
    return Translator.untrained("transformer", split, ("en", "fr"), num_hiddens=8, ffn_num_hiddens=8, num_heads=1)


@pytest.mark.slow
def test_only_the_sentences_differ_and_no_stage_loses_an_update(experiments, split, translator):
    short, everything = (experiments.lessons(split, translator, first, 0) for first in (True, False))
    assert len(short) == len(everything) and short.epochs == everything.epochs == len(experiments.LENGTHS_BY_STAGE)
    assert [stage.rate for stage in short.stages] == [stage.rate for stage in everything.stages]
    words = WordTokenizer("en"), WordTokenizer("fr")
    longest = max(
        len(side.tokenize(text))
        for pair in split.train
        for side, text in zip(words, (pair.source, pair.target), strict=True)
    )
    for number, most in enumerate(experiments.LENGTHS_BY_STAGE):
        # Sources end with <eos>, and targets start with <bos> as well.
        seen = [max(batch.source.shape[1] - 1, batch.target.shape[1] - 2) for batch in short.epoch(number)]
        assert len(seen) == len(short) and max(seen) == (most or longest), number
        assert max(batch.source.shape[1] for batch in everything.epoch(number)) - 1 > 16, number


@pytest.mark.slow
def test_both_rates_warm_up_alike_and_then_fall(experiments, split, translator):
    in_a_line = warmup(experiments.WARM_UP)
    by_stage = experiments.falls_by_stage(experiments.lessons(split, translator, True, 0))
    for progress in (0.0, 0.03, 0.07):
        assert by_stage(progress) == pytest.approx(in_a_line(progress))
    assert tuple(by_stage(progress) for progress in (0.2, 0.3, 0.6, 0.9)) == experiments.RATES_BY_STAGE
    assert list(experiments.RATES_BY_STAGE) == sorted(experiments.RATES_BY_STAGE, reverse=True)


@pytest.mark.slow
def test_the_decoders_have_about_as_many_weights_and_smaller_caches(experiments, split):
    models = {
        label: Translator.untrained("decoder", split, ("en", "fr"), **sizes)
        for label, sizes in experiments.DECODERS.items()
    }
    counts = {
        label: sum(weight.numel() for weight in translator.model.decoder.blocks.parameters())
        for label, translator in models.items()
    }
    plain = counts["decoder-only"]
    for label, count in counts.items():
        assert 0.7 * plain < count <= plain if "keys and values" in label else abs(count / plain - 1) < 0.01, label
    caches = {label: experiments.cache_bytes(translator) for label, translator in models.items()}
    whole = 2 * 4 * 128 * 4  # keys and values, 4 layers, 128 numbers of 4 bytes
    for label, size in caches.items():
        assert size == whole * {"2": 0.5, "1": 0.25}.get(
            label.partition(" heads ")[0][-1] if " heads " in label else label[0], 1
        ), label


@pytest.mark.slow
def test_a_short_run_of_the_decoders(experiments, split, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    monkeypatch.setattr(experiments, "SCHEDULE", {"epochs": 1, "lr": 2e-3})
    monkeypatch.setattr(experiments, "DECODERS", {"a, b": {"num_layers": 2, "num_hiddens": 8, "num_heads": 2}})
    monkeypatch.setattr(experiments.corpus, "builtin", lambda: builtin(900))
    experiments.decoder([5])
    stored = json.loads((tmp_path / "decoder" / "a-b-5.json").read_text(encoding="utf-8"))
    assert stored["label"] == "a, b" and stored["seed"] == 5 and len(stored["valid losses"]) == 1
    assert len(stored["valid link errors of each head"]) == 2 and len(stored["thirds"]) == 3
    assert list(experiments.load("decoder")) == ["a, b"] and "a, b, seed 5: " in capsys.readouterr().out
    experiments.decoder([5])
    assert capsys.readouterr().out == "", "a run whose file exists is not repeated"
