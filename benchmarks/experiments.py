"""The long runs whose results lessons plot: python benchmarks/experiments.py NAME [SEED ...]

Each result is a JSON file in assets/experiments/, with settings, seeds and versions. A run that is there already is not
made again. Settings were fixed before the first run on the test part.

    bottleneck    with and without attention, by length of the sentence (lessons 05 and 06)
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
import time
from pathlib import Path

import torch

from seqlearn.data import corpus
from seqlearn.data.pairs import Pair
from seqlearn.data.text import WordTokenizer, normalize
from seqlearn.metrics import bleu
from seqlearn.translator import Translator

FOLDER = Path(__file__).parents[1] / "assets" / "experiments"
BINS = [(3, 6), (7, 9), (10, 12), (13, 15), (16, 18), (19, 24)]  # tokens of the source, both ends included


def train(name: str, split: corpus.Split, seed: int, epochs: int, **sizes) -> tuple[Translator, float]:
    """A trained translator, and the seconds that its training took."""
    translator = Translator.untrained(name, split, ("en", "fr"), seed=seed, **sizes)
    start = time.perf_counter()
    translator.fit(split, epochs=epochs, lr=3e-3, seed=seed, progress=False)
    return translator, time.perf_counter() - start


def by_length(translator: Translator, pairs: list[Pair]) -> dict:
    """BLEU of all pairs, of each third by length of the source, and of each bin; and how many pairs each has."""
    words = WordTokenizer("en")
    ordered = sorted(pairs, key=lambda pair: len(words.tokenize(pair.source)))
    lengths = [len(words.tokenize(pair.source)) for pair in ordered]
    hypotheses = translator.translate([pair.source for pair in ordered])
    references = [normalize(pair.target, "fr") for pair in ordered]

    def score(places: list[int]) -> dict:
        found = bleu([hypotheses[place] for place in places], [references[place] for place in places])
        shortest, longest = lengths[places[0]], lengths[places[-1]]
        return {"from": shortest, "to": longest, "pairs": len(places), "bleu": round(found.score, 2)}

    everything = list(range(len(ordered)))
    third = len(ordered) // 3
    thirds = [everything[:third], everything[third : 2 * third], everything[2 * third :]]
    bins = [[place for place in everything if low <= lengths[place] <= high] for low, high in BINS]
    return {
        "all": score(everything),
        "thirds": [score(places) for places in thirds],
        "bins": [score(places) for places in bins if places],
    }


def bottleneck(seeds: list[int]) -> None:
    """Does attention help with long sentences, or does it only learn faster? A plain model gets four times as long."""
    ways = {
        "additive attention": ("bahdanau", 4, {}),
        "bilinear attention": ("bahdanau", 4, {"score": "bilinear"}),
        "no attention": ("seq2seq", 4, {"num_hiddens": 256}),
        "no attention, 4 times as long": ("seq2seq", 16, {"num_hiddens": 256}),
    }
    split = corpus.builtin().split()
    for seed in seeds:
        for label, (name, epochs, sizes) in ways.items():
            path = FOLDER / "bottleneck" / f"{label.replace(',', '').replace(' ', '-')}-{seed}.json"
            if path.exists():
                continue
            translator, seconds = train(name, split, seed, epochs, **sizes)
            result = {
                "label": label, "model": name, "sizes": sizes, "epochs": epochs, "lr": 3e-3, "seed": seed,
                "parameters": sum(weight.numel() for weight in translator.model.parameters()),
                "seconds": round(seconds), "threads": torch.get_num_threads(), "torch": torch.__version__.split("+")[0],
                "machine": platform.machine(), "part": "test", **by_length(translator, list(split.test)),
            }  # fmt: skip
            store(path, result)
            print(f"{label}, seed {seed}: BLEU {result['all']['bleu']}, longest third {result['thirds'][2]['bleu']}")


def store(path: Path, result: dict) -> None:
    """Write a result, readable and the same on every system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def load(name: str) -> dict[str, list[dict]]:
    """The stored runs of an experiment, a list for each label."""
    found: dict[str, list[dict]] = {}
    for path in sorted((FOLDER / name).glob("*.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        found.setdefault(run["label"], []).append(run)
    return found


EXPERIMENTS = {"bottleneck": bottleneck}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in EXPERIMENTS:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    EXPERIMENTS[sys.argv[1]]([int(text) for text in sys.argv[2:]] or [0, 1, 2])
    for label, runs in load(sys.argv[1]).items():
        longest = [run["thirds"][2]["bleu"] for run in runs]
        print(f"{label}: longest third {statistics.mean(longest):.1f} ({min(longest):.1f} to {max(longest):.1f})")
