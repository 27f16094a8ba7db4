"""Trains and scores the small models that come with the course.

    python -m tools.pretrain [bahdanau|transformer|roles|examples]

Each model is a folder in `seqlearn/pretrained/`. Its `scores.json` holds the scores on the test part of the built-in
corpus. A test loads the model and scores it again. `roles` measures what each head of the Transformer does on the valid
part, and writes its `roles.json`. `examples` notes the true links of the sentences that a view offers.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path

os.environ["SEQLEARN_DEVICE"] = "cpu"  # so that everybody makes the same model

import torch

from seqlearn.analysis.roles import head_roles, role_shares, write_roles
from seqlearn.data import corpus
from seqlearn.data.text import WordTokenizer
from seqlearn.runtime.ownership import write
from seqlearn.training import make_schedule
from seqlearn.translator.translator import Translator
from seqlearn.views.answers.known import EXAMPLES, STORED, golds

PRETRAINED = Path(__file__).parents[1] / "seqlearn" / "pretrained"
RECIPES = {
    "bahdanau": {"epochs": 4, "lr": 3e-3, "batch_size": 64, "seed": 0},
    "transformer": {"epochs": 4, "lr": 2e-3, "batch_size": 64, "seed": 0, "warmup": 0.1},  # its size: "tiny"
}


def make(name: str) -> None:
    """Train a model by its recipe, write it, and score it once on the test part."""
    recipe = RECIPES[name]
    torch.set_num_threads(1)  # as fast for a model of this size, and sums come out in the same order everywhere
    pairs = corpus.builtin()
    split = pairs.split()
    translator = Translator.untrained(name, split, pairs.languages, seed=recipe["seed"])
    options = {name: value for name, value in recipe.items() if name != "warmup"}
    history = translator.fit(split, schedule=make_schedule("linear", recipe.get("warmup", 0.0)), **options)
    translator.config |= {"corpus": "builtin", "training": recipe}
    translator.save(PRETRAINED / name)
    scores = translator.evaluate(split.test)
    stored = {
        "pairs": scores.pairs,
        "bleu": round(scores.bleu.score, 1),
        "bleu_signature": scores.bleu.signature,
        "chrf": round(scores.chrf.score, 1),
        "chrf_signature": scores.chrf.signature,
        "perplexity": round(scores.perplexity, 3),
        "exact": round(scores.exact, 3),
        "aer": round(scores.aer or 0.0, 3),  # the corpus has gold links
        "training_seconds": round(sum(history.seconds)),
        "parameters": sum(weight.numel() for weight in translator.model.parameters()),
        "made_with": f"torch {torch.__version__.partition('+')[0]}, Python {platform.python_version()}, CPU",
    }
    write(PRETRAINED / name / "scores.json", json.dumps(stored, indent=2) + "\n")
    print(scores)


def measure_roles(name: str = "transformer") -> None:
    """Measure the roles of all heads on the valid part, and write them."""
    torch.set_num_threads(1)
    translator, pairs = Translator.pretrained(name, "cpu"), corpus.builtin().split().valid
    maps = {kind: translator.attend_all(pairs, kind) for kind in ("encoder", "causal", "cross")}
    write_roles(PRETRAINED / name / "roles.json", head_roles(role_shares(maps, pairs)), len(pairs))


def write_examples() -> None:
    """Write the true links of the examples that a view offers."""
    known = {" ".join(WordTokenizer("en").tokenize(sentence)) for sentence in EXAMPLES}
    translator = Translator.pretrained("transformer", "cpu")
    found = {source: gold for source, gold in golds(translator, everything=True).items() if source in known}
    lines = (f"{json.dumps(source)}: {json.dumps(gold, ensure_ascii=False)}" for source, gold in found.items())
    write(STORED, "{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or [*RECIPES, "roles", "examples"]:
        if wanted == "roles":
            measure_roles()
        elif wanted == "examples":
            write_examples()
        else:
            make(wanted)
