"""The long runs of real sentences whose results lesson 15 plots: python benchmarks/real.py NAME [SEED ...]

Each result is a JSON file in assets/experiments/NAME/, with settings, seeds and versions. A run whose file exists is
not repeated. Settings were fixed before the first run on the test part. The pairs are those of `tools/tatoeba.py`,
from Tatoeba: SEQLEARN_DATA names their folder. A stored result holds no sentence.

    curve     how good a small translator is that was trained on 1,000 pairs, on 4,000, ... on all
    tricks    what each trick of the recipe brings: one change at a time, beside the run of 16,000 pairs of `curve`

Estimated from 40 updates of each model, one thread, nothing else on the machine: `curve` takes about 70 minutes (each
run of 1,000 pairs 1, of 4,000 pairs 3, of 16,000 pairs 6; that of 64,000 pairs 14, that of all 24), `tricks` 50 (each
run 6). On a busy machine they take half as long again. Without seeds, `curve` takes 0, 1 and 2, above 16,000 pairs the
first of them alone, and `tricks` takes 0.

A run of n thousand pairs has 500 sqrt(n) pieces, 4,000 at most, and goes through its pairs 48 / sqrt(n) times, 20 at
most, in batches of about 1,000 tokens: that makes 380, 1,300, 2,800, 5,000 and 8,300 updates. (With 40 times instead of
20 the valid loss of 1,000 pairs was lowest after 12, and BLEU of the valid part was lower, 1.6 and not 2.5.) The
smaller training sets of a seed are parts of its larger ones, and each has all pairs of its source sentences (of the
last source, as many as fit in). The epoch is chosen by 500 sources of the valid part; all runs are scored on the same
1,000 sources of the test part.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from experiments import FOLDER, load, made_with, store

from seqlearn.data.corpus import Corpus, Split, distinct_sources
from seqlearn.data.pairs import Pair
from seqlearn.data.text import WordTokenizer
from seqlearn.training import make_schedule
from seqlearn.translator.translator import Translator

sys.path.append(str(Path(__file__).parents[1]))  # for tools, which is not installed
from tools import tatoeba

COUNTS = (1_000, 4_000, 16_000, 64_000, None)  # pairs to train on; None: all
CHEAP = 16_000  # pairs: up to here each seed has a run, above it only the first
VALID, TEST = 500, 1_000  # source sentences of both held-out parts
BEAMS = (1, 4)

SETTINGS: dict[str, dict[str, Any]] = {  # options of `Translator.untrained`, settings of its model, options of `fit`
    "tokens": {"tokens": "bpe", "shared_vocab": True, "cased": True},
    "sizes": {
        "num_hiddens": 128, "ffn_num_hiddens": 256, "num_heads": 4, "num_layers": 2, "dropout": 0.1, "tie": True,
        "tie_source": True,
    },
    "recipe": {
        "lr": 2e-3, "schedule": "linear", "warmup": 0.04, "max_tokens": 1000, "label_smoothing": 0.1, "average_last": 1,
    },
}  # fmt: skip
TRICKS: dict[str, dict[str, dict[str, Any]]] = {  # what differs from the settings
    "words": {  # which are lower-cased, and two languages share none: compare with "lower case" and "pieces apart"
        "tokens": {"tokens": "word", "min_freq": 2, "shared_vocab": False, "cased": False},
        "sizes": {"tie_source": False},
    },
    "lower case": {"tokens": {"cased": False}},
    "pieces apart": {"tokens": {"shared_vocab": False}, "sizes": {"tie_source": False}},  # each side as many
    "untied embeddings": {"sizes": {"tie": False, "tie_source": False}},
    "no dropout": {"sizes": {"dropout": 0.0}},
    "no label smoothing": {"recipe": {"label_smoothing": 0.0}},
    "constant learning rate": {"recipe": {"schedule": "constant"}},
    "mean of the last 3 epochs": {"recipe": {"average_last": 3}},
}  # fmt: skip


def pieces(pairs: int) -> int:
    """The size of a vocabulary for so many pairs."""
    return min(4000, round(500 * math.sqrt(pairs / 1000)))


def epochs(pairs: int) -> int:
    """How many times training goes through so many pairs."""
    return min(20, round(48 / math.sqrt(pairs / 1000)))


def parts() -> Split:
    """All pairs to train on, and the sources that choose and score."""
    train, valid, test = tatoeba.corpus().split(tatoeba.HELD_OUT, tatoeba.HELD_OUT)
    return Split(list(train), sample(valid, VALID), sample(test, TEST))


def sample(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """All pairs of so many source sentences, evenly spread over the pairs: the corpus is sorted by length."""
    tokenizer, by_source = WordTokenizer("en"), defaultdict(list)
    for pair in pairs:
        by_source[" ".join(tokenizer.tokenize(pair.source))].append(pair)
    groups, count = list(by_source.values()), min(count, len(by_source))
    return [pair for number in range(count) for pair in groups[number * len(groups) // count]]


def draw(train: Sequence[Pair], count: int | None, seed: int) -> list[Pair]:
    """So many pairs to train on. A larger draw of the same seed holds all of a smaller one."""
    return list(Corpus("train", ("en", "fr"), train).limited(len(train) if count is None else count, seed))


def run(label: str, split: Split, seed: int, change: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """Train on `split.train` with the settings and what differs from them, and score on `split.test`."""
    change, count = change or {}, len(split.train)
    how = {part: settings | dict(change.get(part, {})) for part, settings in SETTINGS.items()}
    if how["tokens"]["tokens"] == "bpe":
        how["tokens"]["vocab_size"] = pieces(count)
    translator = Translator.untrained("transformer", split, ("en", "fr"), seed=seed, **how["tokens"], **how["sizes"])
    options: dict[str, Any] = how["recipe"] | {"epochs": epochs(count)}
    options["schedule"] = make_schedule(options["schedule"], options.pop("warmup"))
    history = translator.fit(split, seed=seed, progress=False, **options)
    return {
        "label": label, "pairs": count, "sources": len(distinct_sources(split.train, "en")), "seed": seed, **how,
        "epochs": epochs(count), "updates": len(history.batch_losses), "target tokens": sum(history.tokens),
        "vocabularies": [len(translator.source.vocab), len(translator.target.vocab)],
        "parameters": sum(weight.numel() for weight in translator.model.parameters()),
        "train losses": [round(loss, 4) for loss in history.train_losses],
        "valid losses": [round(loss, 4) for loss in history.valid_losses], "best epoch": history.best_epoch + 1,
        **made_with(sum(history.seconds)), "part": "test", "test pairs": len(split.test),
        "test sources": len(distinct_sources(split.test, "en")), **scores(translator, split.test),
    }  # fmt: skip


def scores(translator: Translator, pairs: Sequence[Pair]) -> dict[str, Any]:
    """The scores of each beam: with all references and with one, of text as typed and of lower case.

    What writes lower case loses each capital letter of text as typed: compare it with others by its lower case.
    """
    sources = list(dict.fromkeys(pair.source for pair in pairs))
    found: dict[str, dict[str, Any]] = {}
    for beam in BEAMS:
        start = time.perf_counter()
        texts = dict(zip(sources, translator.translate_all(sources, beam=beam, progress=False), strict=True))
        one: dict[str, Any] = {"search seconds": round(time.perf_counter() - start, 1)}
        found[f"beam {beam}"] = one
        for case, lowercase in {"as typed": False, "lower case": True}.items():
            for references, several in {"all references": True, "one reference": False}.items():
                score = translator.evaluate(
                    pairs, translations=[texts[pair.source] for pair in pairs], lowercase=lowercase,
                    all_references=several,
                )  # fmt: skip
                one[f"{case}, {references}"] = {
                    "bleu": round(score.bleu.score, 2), "chrf": round(score.chrf.score, 2),
                    "exact": round(score.exact, 4), "bleu signature": score.bleu.signature,
                }  # fmt: skip
    return found


def curve(seeds: Sequence[int]) -> None:
    """How much do more pairs help? Beside it, what copying the nearest training sentence is worth."""
    every: Split | None = None
    for count in COUNTS:
        for seed in seeds if count is not None and count <= CHEAP else seeds[:1]:
            label = "all pairs" if count is None else f"{count:,} pairs"
            path = FOLDER / "curve" / f"{slug(label)}-{seed}.json"
            if path.exists():
                continue
            every = every or parts()
            split = every._replace(train=draw(every.train, count, seed))
            result = run(label, split, seed)
            result["nearest training sentence"] = tatoeba.of_nearest(split)  # as typed, all references
            finish(path, result)


def tricks(seeds: Sequence[int]) -> None:
    """What does each trick bring? All runs of a seed have the same 16,000 pairs, those of `curve`."""
    every: Split | None = None
    for seed in seeds:
        for label, change in TRICKS.items():
            path = FOLDER / "tricks" / f"{slug(label)}-{seed}.json"
            if path.exists():
                continue
            every = every or parts()
            finish(path, run(label, every._replace(train=draw(every.train, CHEAP, seed)), seed, change))


def slug(label: str) -> str:
    """The label as a part of a file's name."""
    return label.replace(",", "").replace(" ", "-")


def finish(path: Path, result: dict[str, Any]) -> None:
    """Store a result, and say what it is."""
    store(path, result)
    print(f"{result['label']}, seed {result['seed']}: BLEU {headline(result)}, {result['seconds']} s", flush=True)


def headline(result: dict[str, Any]) -> float:
    """The one number that is printed for a run: words and lower case can be compared with the others by it."""
    return result["beam 1"]["lower case, all references"]["bleu"]


EXPERIMENTS = {"curve": (curve, (0, 1, 2)), "tricks": (tricks, (0,))}  # and the seeds, unless others are given

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in EXPERIMENTS:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    experiment, usual = EXPERIMENTS[sys.argv[1]]
    experiment([int(text) for text in sys.argv[2:]] or usual)
    for label, runs in load(sys.argv[1]).items():
        found = [headline(result) for result in runs]
        print(f"{label}: BLEU {statistics.mean(found):.1f} ({min(found):.1f} to {max(found):.1f})")
