"""Trains and scores the translator of real sentences that comes with the course, from Tatoeba's English-French pairs.

    python -m tools.tatoeba train FOLDER             an hour and a half; a second call goes on where the first stopped
    python -m tools.tatoeba train FOLDER bahdanau    the recurrent model of equal size that it is compared with
    python -m tools.tatoeba store FOLDER             write the translator to `seqlearn/pretrained/tatoeba/`
    python -m tools.tatoeba score [BAHDANAU]         score what is stored there, and what it is compared with

The pairs are those of `--corpus fra-eng` without sentences that do not belong into a class room: see `UNFIT`.

The stored translator was trained by this recipe, with one difference: its first 2,606 of 5,548 updates had the learning
rates of a training of five epochs.
"""

from __future__ import annotations

import json
import math
import platform
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from seqlearn.analysis.metrics import bleu, chrf
from seqlearn.data.corpus import Corpus, Split, fra_eng
from seqlearn.data.pairs import Pair
from seqlearn.data.text import WordTokenizer
from seqlearn.runtime.ownership import write
from seqlearn.training import Checkpoints, make_schedule
from seqlearn.translator.scores import Scores
from seqlearn.translator.translator import Translator
from seqlearn.views.shared.constants import LEVELS

FOLDER = Path(__file__).parents[1] / "seqlearn" / "pretrained" / "tatoeba"
SIZES: dict[str, dict[str, Any]] = {  # settings of each model
    "transformer": {
        "num_hiddens": 256, "ffn_num_hiddens": 512, "num_heads": 4, "num_layers": 3, "dropout": 0.1, "tie": True,
        "tie_source": True,
    },
    "bahdanau": {"embed_size": 224, "num_hiddens": 272, "num_layers": 1, "dropout": 0.1},
}  # fmt: skip
TOKENS: dict[str, Any] = {  # options of `Translator.untrained`
    "tokens": "bpe", "vocab_size": 4000, "shared_vocab": True, "cased": True,
}  # fmt: skip
RECIPE: dict[str, Any] = {  # options of `fit`
    "epochs": 4, "lr": 1.5e-3, "max_tokens": 1500, "label_smoothing": 0.1, "seed": 0,
}  # fmt: skip
WARMUP, HELD_OUT = 0.04, 0.02
EXCERPT = 2000  # pairs of the test part that come with the course, at least

WORDS = (Path(__file__).parent / "unfit.txt").read_text("utf-8").split("\n")[:-1]
UNFIT = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
"""A pair is left out if a word of `unfit.txt` stands on either side: violence, sex, drugs, insults."""


def corpus() -> Corpus:
    """The pairs that belong into a class room."""
    return Corpus("tatoeba", ("en", "fr"), [pair for pair in fra_eng() if not unfit(pair)])


def unfit(pair: Pair) -> bool:
    """Whether the pair does not belong into a class room."""
    return bool(UNFIT.search(pair.source) or UNFIT.search(pair.target))


def train(folder: Path, model: str = "transformer") -> None:
    """Train by the recipe; checkpoints are in the folder, and so is the best translator at the end."""
    split = corpus().split(HELD_OUT, HELD_OUT)
    translator = Translator.untrained(model, split, ("en", "fr"), **TOKENS, **SIZES[model])
    translator.fit(
        split,
        **RECIPE,
        schedule=make_schedule("linear", WARMUP),
        checkpoints=Checkpoints(folder / "checkpoints"),
        after_epoch=[lambda model, history: print(history, flush=True)],
    )
    translator.save(folder)


def store(folder: Path) -> None:
    """Store the translator, with the weights that its page has but for rounding; and the excerpt of the test part."""
    translator = Translator.load(folder, "cpu")
    config = translator.config
    _round(translator.model)
    translator.model.half()
    translator.config = {
        "model": "transformer", "sizes": config["sizes"], "longest": config["longest"], "corpus": "tatoeba",
        "training": RECIPE | {"warmup": WARMUP, "held_out": HELD_OUT, **TOKENS},
    }  # fmt: skip
    translator.save(FOLDER)
    lines = "".join(f"{pair.source}\t{pair.target}\n" for pair in _excerpt(corpus().split(HELD_OUT, HELD_OUT).test))
    write(FOLDER / "test.tsv", lines)


@torch.no_grad()
def _round(model: nn.Module) -> None:
    """Round each row of a matrix to 8 bits, as a page does (`seqlearn/views/live/weights.py`)."""
    for weight in model.parameters():
        if weight.ndim > 1:
            level = weight.abs().amax(-1, keepdim=True).half().double() / LEVELS
            weight.copy_((weight.double() / level.clamp(min=1e-30)).round() * level)


def score(bahdanau: Path | None = None) -> None:
    """Score the stored translator once on the test part and on its excerpt, and beside it the simplest others."""
    split = corpus().split(HELD_OUT, HELD_OUT)
    translator = Translator.load(FOLDER, "cpu")  # float32 again, with the numbers that were stored
    found: dict[str, Any] = {}  # JSON
    found["parameters"] = sum(weight.numel() for weight in translator.model.parameters())
    for name, pairs in {"test": split.test, "excerpt": list(_excerpt(split.test))}.items():
        found[name] = {"pairs": len(pairs), "sources": len({pair.source for pair in pairs}), **_of(translator, pairs)}
    found["nearest training sentence"] = of_nearest(split)
    found["the grammar's model"] = _of(Translator.pretrained("transformer", "cpu"), split.test, lowercase=True)
    if bahdanau is not None:
        other = Translator.load(bahdanau, "cpu")
        found["bahdanau"] = {"parameters": sum(weight.numel() for weight in other.model.parameters())}
        found["bahdanau"] |= _of(other, split.test)
    found["made_with"] = f"torch {torch.__version__.partition('+')[0]}, Python {platform.python_version()}, CPU"
    write(FOLDER / "scores.json", json.dumps(found, indent=2) + "\n")


def _of(translator: Translator, pairs: Sequence[Pair], lowercase: bool | None = None) -> dict[str, Any]:  # JSON
    """The scores of greedy search and of a beam of 4; sentences of the model's own that belong into no class room."""
    found: dict[str, Any] = {}  # JSON
    for beam in (1, 4):
        translations = translator.translate_all([pair.source for pair in pairs], beam=beam, progress=False)
        every, one = (
            translator.evaluate(pairs, translations=translations, lowercase=lowercase, all_references=several)
            for several in (True, False)
        )
        unfit = [text for text in translations if UNFIT.search(text)]
        found[f"beam {beam}"] = {
            "all references": _numbers(every), "one reference": _numbers(one), "unfit": len(unfit),
        }  # fmt: skip
        print(f"{translator.name}, {len(pairs):,} pairs, beam {beam}", every, one, unfit, sep="\n", flush=True)
    return found


def _numbers(scores: Scores) -> dict[str, object]:
    return {
        "bleu": round(scores.bleu.score, 2), "bleu_signature": scores.bleu.signature,
        "chrf": round(scores.chrf.score, 2), "chrf_signature": scores.chrf.signature,
        "perplexity": round(scores.perplexity, 3), "exact": round(scores.exact, 4),
    }  # fmt: skip


def _excerpt(test: Sequence[Pair]) -> Iterator[Pair]:
    """Pairs of every second, third, ... source, each source with all of its translations."""
    by_source: dict[str, list[Pair]] = defaultdict(list)
    for pair in test:
        by_source[pair.source].append(pair)
    wanted = min(1.0, EXCERPT / len(test))
    for number, pairs in enumerate(by_source.values()):
        if math.floor((number + 1) * wanted) > math.floor(number * wanted):
            yield from pairs


def of_nearest(split: Split) -> dict[str, float]:
    """The scores of copying: each source gets the translation of the training source that shares the most, and the
    rarest, words with it (cosine of TF-IDF vectors; Salton and Buckley, 1988).
    """
    tokenizer = WordTokenizer("en")
    sources = [Counter(tokenizer.tokenize(pair.source)) for pair in split.train]
    documents = Counter(word for source in sources for word in source)
    rarity = {word: math.log(len(sources) / count) for word, count in documents.items()}

    def vector(counts: Counter[str]) -> dict[str, float]:
        weights = {word: count * rarity[word] for word, count in counts.items() if word in rarity}
        norm = math.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        return {word: weight / norm for word, weight in weights.items()}

    index: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, counts in enumerate(sources):
        for word, weight in vector(counts).items():
            index[word].append((number, weight))
    references: dict[str, list[str]] = defaultdict(list)
    for pair in split.test:
        references[pair.source].append(pair.target)
    hypotheses = []
    for source in references:
        products: dict[int, float] = defaultdict(float)
        for word, weight in vector(Counter(tokenizer.tokenize(source))).items():
            for number, other in index[word]:
                products[number] += weight * other
        best = max(products, key=lambda number: (products[number], -number), default=0)
        hypotheses.append(split.train[best].target)
    several = list(references.values())
    return {
        "bleu": round(bleu(hypotheses, several, lowercase=False).score, 2),
        "chrf": round(chrf(hypotheses, several, lowercase=False).score, 2),
    }


if __name__ == "__main__":
    command, *given = sys.argv[1:]
    folder = [Path(name) for name in given[:1]]
    {"train": train, "store": store, "score": score}[command](*folder, *given[1:])
