"""The numbers of fra-eng that lesson 01 draws: python benchmarks/fra_eng.py

They are counted here, and stored in assets/experiments/fra-eng/numbers.json with the
checksum of the corpus, the versions, and the names of those who wrote the sentences. It needs SEQLEARN_DATA.
"""

from __future__ import annotations

import hashlib
import random
import time
import unicodedata
from collections import Counter
from collections.abc import Sequence

import torch
from experiments import FOLDER, made_with, store

from seqlearn.data import corpus
from seqlearn.data.batches import Batches
from seqlearn.data.download import SHA256, local_fra_eng_file
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language, WordTokenizer

PATH = FOLDER / "fra-eng" / "numbers.json"
EVERY = 16  # the sample: every 16th pair
EXCERPT = ("I love you.", "He speaks English well.")  # with all their translations
ATTRIBUTION = (
    "Counted from, and with an excerpt of, sentence pairs of the Tatoeba project (https://tatoeba.org), collected at "
    "https://www.manythings.org/anki, under CC BY 2.0 FR (https://creativecommons.org/licenses/by/2.0/fr/)"
)
ODD = {
    "narrow no-break space (U+202F)": ["NARROW NO-BREAK SPACE"],
    "no-break space (U+00A0)": ["NO-BREAK SPACE"],
    "curly apostrophe (U+2019)": ["RIGHT SINGLE QUOTATION MARK"],
    "guillemets (« »)": [
        "LEFT-POINTING DOUBLE ANGLE QUOTATION MARK", "RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK",
    ],
    "thin space (U+2009)": ["THIN SPACE"],
}  # fmt: skip


def odd_lines(lines: Sequence[str]) -> dict:
    """In how many lines each kind of odd character occurs, and in how many at least one."""
    kinds = {unicodedata.lookup(name): kind for kind, names in ODD.items() for name in names}
    found = [{kinds[mark] for mark in set(line) & kinds.keys()} for line in lines]
    counts = Counter(kind for each in found for kind in each)
    each_kind = {kind: counts[kind] for kind in ODD}
    return {"lines": len(lines), "odd": each_kind | {"at least one of these": sum(map(bool, found))}}


def token_counts(texts: Sequence[str]) -> dict:
    """How many tokens have each count, the largest count first, and the tokens of rank 1, 10 and 100."""
    words = WordTokenizer("en")
    counts = Counter(token for text in texts for token in words.tokenize(text))
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    return {
        "counts": [[count, many] for count, many in sorted(Counter(counts.values()).items(), reverse=True)],
        "ranks": [[rank, *ranked[rank - 1]] for rank in (1, 10, 100)],
    }


def lengths(pairs: Sequence[Pair]) -> dict:
    """How many sentences have each length in tokens, `<eos>` included, for each side."""
    sides = {"English": ("en", [pair.source for pair in pairs]), "French": ("fr", [pair.target for pair in pairs])}
    found = {}
    for name, (language, texts) in sides.items():
        tokenizer = WordTokenizer(language)
        found[name] = sorted(map(list, Counter(len(tokenizer.tokenize(text)) + 1 for text in texts).items()))
    return found


def padding(pairs: Sequence[Pair]) -> dict:
    """The share of cells that is padding, for each way to make batches."""
    sides = [
        Language.learn("en", [pair.source for pair in pairs]),
        Language.learn("fr", [pair.target for pair in pairs]),
    ]
    ways = {
        way: Batches(pairs, *sides, batch_size=64, seed=1, batching=batching, steps=steps)
        for way, batching, steps in (
            ("fixed, full width", "fixed", None), ("fixed, 10 steps", "fixed", 10),
            ("dynamic", "dynamic", None), ("bucketed", "bucketed", None),
        )
    }  # fmt: skip
    return {
        "padding": {way: round(batches.padding(epoch=0), 3) for way, batches in ways.items()},
        "cut": round(ways["fixed, 10 steps"].cut / len(pairs), 3),
    }


def leaks(pairs: Sequence[Pair]) -> dict:
    """The share of the held-out English sentences that are in train, too: split by line, and by source."""
    order = [pair.source for pair in pairs]
    random.Random(0).shuffle(order)
    tenth = round(len(order) / 10)
    split = corpus.Corpus("fra-eng", ("en", "fr"), list(pairs)).split(valid=0, test=0.1)
    parts = {
        "split by line": (set(order[tenth:]), set(order[:tenth])),
        "split by source": tuple({pair.source for pair in part} for part in (split.train, split.test)),
    }
    found = {way: round(len(train & held_out) / len(held_out), 3) for way, (train, held_out) in parts.items()}
    return {"leaks": found, "different": len(set(order)), "lines": len(order)}


def numbers(pairs: Sequence[Pair]) -> dict:
    """All numbers that the lesson draws, by the names that it uses."""
    sample = pairs[::EVERY]
    return {
        "excerpt": [[pair.source, pair.target] for pair in pairs if pair.source in EXCERPT],
        "odd characters": odd_lines([pair.target for pair in pairs]),
        "token counts": token_counts([pair.source for pair in sample]),
        "lengths": lengths(sample),
        "padding": padding(sample),
        "leaks": leaks(pairs),
    }


def main() -> None:
    """Count, and store."""
    path, start = local_fra_eng_file(), time.perf_counter()
    if path is None or hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise SystemExit("SEQLEARN_DATA names no folder with fra-eng, or one with another edition of it")
    torch.set_num_threads(1)
    found = numbers(list(corpus.fra_eng()))
    made = {"attribution": ATTRIBUTION, "sha256": SHA256, "sample": f"every {EVERY}th pair"}
    store(PATH, made | found | made_with(time.perf_counter() - start))
    print(f"{PATH.name}: {PATH.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
