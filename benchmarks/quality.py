"""How good the small models of the course are: BLEU on the held-out test part of the built-in corpus.

The models in assets/ translate it here. The weights of the decoder-only runs (lesson 13) are not stored; their row has
what `experiments.py` stored when it had trained them.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path

from table import LeftOut, Row

from seqlearn.data import corpus
from seqlearn.translator.translator import Translator

STORED = Path(__file__).parents[1] / "assets" / "experiments" / "decoder"
MODELS = {"transformer": "Transformer, encoder and decoder", "bahdanau": "Bahdanau"}


def rows(quick: bool) -> Iterator[Row | LeftOut]:
    """The rows of `bench.py`. The scores are the same in each run, so `quick` changes nothing."""
    test = corpus.builtin().split().test
    for name, title in MODELS.items():
        translator = Translator.pretrained(name, "cpu")
        weights = sum(each.numel() for each in translator.model.parameters())
        scores = translator.evaluate(test, batch_size=256)
        found = f"one training, scored here; {right(scores.exact, scores.pairs)}"
        yield Row.alone(f"quality-{name}", f"{title}, {weights:,} weights", "BLEU", [scores.bleu.score], found)
    runs = [json.loads(path.read_text("utf-8")) for path in sorted(STORED.glob("decoder-only-[0-9].json"))]
    if not runs:
        yield LeftOut(
            "No run of the decoder-only model is stored: `python benchmarks/experiments.py decoder` trains it."
        )
        return
    exact = statistics.median(run["exact"] for run in runs)
    scores = [run["all"]["bleu"] for run in runs]
    found = f"{len(runs)} trainings with the scores {', '.join(f'{score:.1f}' for score in scores)}, stored by them"
    found += f"; {right(exact, runs[0]['all']['pairs'])}"
    title = f"Transformer, decoder only, {runs[0]['parameters']:,} weights"
    yield Row.alone("quality-decoder-only", title, "BLEU", [statistics.median(scores)], found)


def right(exact: float, pairs: int) -> str:
    """The share of sentences that are right word for word."""
    return f"{exact:.1%} of {pairs:,} sentences word for word"
