"""Training speed against textbook models: python benchmarks/training.py [FOLDER] [bahdanau|transformer]

Ours is what `fit` does: batches of similar length, keys projected once, the loss without all logits in memory, Adam in
one kernel. The opponents (`textbook.py`) have our weights and the same dropout. Before anything is timed, they are
shown to give the same outputs on sentences without padding. d2l's layers get batches padded to one width, as in the
book; `torch.nn.Transformer` gets batches as wide as their longest sentence. Each opponent runs twice: with the update
of its authors (d2l: its masked loss, its clipping and Adam; PyTorch: cross-entropy, `clip_grad_norm_` and Adam), and
with the parts of our update that fit any model: token loss, `clip_grad_norm_`, Adam in one kernel.

Two settings: 20,000 shuffled pairs of fra-eng (from FOLDER or SEQLEARN_DATA), width 256, vocabularies 6,000, batch 128,
padded to 20; and d2l's small one: the first 600 pairs, width 32, batch 64, padded to 10. One thread, all in turn in one
run. "Real" tokens are the target tokens that the model has to predict; "places" count padding, too. So the table tells
what is saved by padding less and what by computing less. The bar: in the small setting the Bahdanau model trains on
twice as many real tokens a second as d2l's with its own update.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import torch
from table import LeftOut, Row, slug
from textbook import TextbookBahdanau, TextbookTransformer, TorchTransformer, our_bahdanau, our_transformer
from torch import nn

from seqlearn.data import corpus
from seqlearn.data.batches import Batch, Batches
from seqlearn.data.pairs import Pair
from seqlearn.data.text import Language, Vocab
from seqlearn.runtime.d2l_compat import d2l
from seqlearn.training import batch_loss, token_loss

Update = Callable[[Batch], None]


class Setting(NamedTuple):
    """How large models and batches are."""

    width: int
    ffn: int  # of the Transformer, as the layers
    layers: int
    vocab: int | None  # words of each language; None: all
    batch_size: int
    steps: int  # the width of d2l's batches


REAL = Setting(256, 1024, 3, 6000, 128, 20)
SMALL = Setting(32, 64, 2, None, 64, 10)
COURSE = Setting(128, 256, 2, None, 64, 24)  # the sizes of lessons 06 and 09


class Run(NamedTuple):
    """A model in training, and its batches."""

    update: Update
    batches: Batches


def our_update(model: nn.Module, pad: int, precision: str | None = None) -> Update:
    """One update as in `seqlearn.training.fit`. `precision`: "bf16" or None."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def update(batch: Batch) -> None:
        optimizer.zero_grad()
        with torch.autocast(batch.target.device.type, torch.bfloat16, enabled=precision == "bf16"):
            loss = batch_loss(model, batch, pad)
        (loss / batch.tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return update


def plain_update(model: nn.Module, pad: int, fused: bool | None = None, precision: str | None = None) -> Update:
    """One update of a model of which only the logits are known; `fused`: our Adam, else PyTorch's default."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=fused)

    def update(batch: Batch) -> None:
        optimizer.zero_grad()
        with torch.autocast(batch.target.device.type, torch.bfloat16, enabled=precision == "bf16"):
            logits = model(batch.source, batch.source_lens, batch.target[:, :-1])
            loss = token_loss(logits, batch.target[:, 1:], pad)
        (loss / batch.tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return update


def books_update(model: nn.Module, pad: int) -> Update:
    """One update as in `d2l.train_seq2seq`."""
    optimizer, loss = torch.optim.Adam(model.parameters(), lr=1e-3), d2l.MaskedSoftmaxCELoss()

    def update(batch: Batch) -> None:
        optimizer.zero_grad()
        logits = model(batch.source, batch.source_lens, batch.target[:, :-1])
        loss(logits, batch.target[:, 1:], batch.target_lens - 1).sum().backward()
        d2l.grad_clipping(model, 1)
        optimizer.step()

    return update


def with_our_update(model: nn.Module, pad: int, precision: str | None = None) -> Update:
    """The parts of our update that fit any model."""
    return plain_update(model, pad, fused=True, precision=precision)


WARM_UP, BLOCK = 3, 5  # updates that are not timed; updates whose times are one round of `rows`
PEERS = {"d2l": "d2l's layers", "torch.nn": "nn.Transformer"}
EQUAL = {  # way: what was equal
    "same batches": "weights, batches, dropout, loss, clipping, Adam",
    "own update": "weights, pairs, dropout; own batches ({} and {} padding) and own update",
}


def check_same(ours: nn.Module, theirs: nn.Module, vocabs: tuple[int, int]) -> None:
    """Both are the same function without padding. (d2l's recurrent encoder reads padding, too.)"""
    source, tokens = torch.randint(4, vocabs[0], (8, 7)), torch.randint(4, vocabs[1], (8, 9))
    lengths = torch.full((8,), 7)
    ours.eval(), theirs.eval()
    with torch.no_grad():
        torch.testing.assert_close(ours(source, lengths, tokens), theirs(source, lengths, tokens), atol=1e-4, rtol=1e-4)
    ours.train(), theirs.train()


def languages_of(pairs: list[Pair], vocab: int | None) -> list[Language]:
    """Both languages, with their `vocab` most frequent words."""
    languages = []
    for code, lines in (("en", [pair.source for pair in pairs]), ("fr", [pair.target for pair in pairs])):
        language = Language.learn(code, lines)
        languages.append(Language(language.tokenizer, Vocab.of(language.vocab.tokens[4:vocab])))
    return languages


def runs_of(name: str, pairs: list[Pair], setting: Setting, ways: tuple[str, ...]) -> tuple[dict[str, Run], str]:
    """Our model and its opponents, and the sizes in words.

    Args:
        name: bahdanau or transformer.
        ways: how an opponent is trained: with "own update" or "our update" on its own batches, or with our update on
            the "same batches" as our model.
    """
    languages = languages_of(pairs, setting.vocab)
    vocabs = tuple(len(language.vocab) for language in languages)
    bucketed = Batches(pairs, *languages, setting.batch_size)
    dynamic = Batches(pairs, *languages, setting.batch_size, batching="dynamic")
    fixed = Batches(pairs, *languages, setting.batch_size, batching="fixed", steps=setting.steps)
    torch.manual_seed(0)
    if name == "bahdanau":
        shape = vocabs, setting.width
        ours, opponents = our_bahdanau(*shape, 0.1), {"d2l": (TextbookBahdanau, fixed, books_update)}
    else:
        shape = vocabs, setting.width, setting.ffn, setting.layers
        ours, opponents = our_transformer(*shape, 0.1), {"d2l": (TextbookTransformer, fixed, books_update)}
        opponents["torch.nn"] = TorchTransformer, dynamic, plain_update
    runs = {"ours": Run(our_update(ours, bucketed.pad), bucketed)}
    for who, (kind, own_batches, own_update) in opponents.items():
        for way in ways:
            theirs = kind(*shape, 0.1, ours.state_dict())
            check_same(ours, theirs, vocabs)
            batches = bucketed if way == "same batches" else own_batches
            make_update = own_update if way == "own update" else with_our_update
            runs[f"{who}, {way}"] = Run(make_update(theirs, batches.pad), batches)
    words = f"vocabularies {vocabs[0]:,} and {vocabs[1]:,}"
    return runs, f"{len(pairs):,} pairs, width {setting.width}, {words}, batch {setting.batch_size}"


def compare(name: str, pairs: list[Pair], setting: Setting, rounds: int) -> None:
    """Time all models in turn, and print real tokens and places a second, by wall clock and CPU time."""
    runs, sizes = runs_of(name, pairs, setting, ("own update", "our update"))
    print(f"\n{name}: {sizes}")
    print(f"{'':24}{'padding':>9}{'real tokens/s':>15}{'a CPU second':>14}{'places a CPU second':>21}   ours is")
    show(measure(runs, rounds), runs)


def measure(runs: dict[str, Run], rounds: int) -> dict[str, list[tuple[float, ...]]]:
    """For each run and round: real tokens, places, wall and CPU seconds."""
    times: dict[str, list[tuple[float, ...]]] = {name: [] for name in runs}
    streams = {name: forever(run.batches) for name, run in runs.items()}
    for round_ in range(WARM_UP + rounds):
        for name, run in runs.items():
            batch = next(streams[name])
            wall, cpu = time.perf_counter(), time.process_time()
            run.update(batch)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            if round_ >= WARM_UP:
                times[name].append((batch.tokens, batch.target[:, 1:].numel(), wall, cpu))
    return times


def show(times: dict[str, list[tuple[float, ...]]], runs: dict[str, Run]) -> None:
    """A line for each run; speeds are medians over the rounds."""
    first = None
    for name, rounds in times.items():
        speeds = [
            statistics.median(row[count] / row[clock] for row in rounds) for count, clock in ((0, 2), (0, 3), (1, 3))
        ]
        first = first or speeds
        ratios = " / ".join(f"{ours / theirs:.2f}" for ours, theirs in zip(first, speeds, strict=True))
        padding = runs[name].batches.padding()
        print(f"{name:24}{padding:9.1%}{speeds[0]:15,.0f}{speeds[1]:14,.0f}{speeds[2]:21,.0f}   {ratios} x")


def forever(batches: Batches) -> Iterator[Batch]:
    """Epoch after epoch."""
    epoch = 0
    while True:
        yield from batches.epoch(epoch)
        epoch += 1


def rows(quick: bool) -> Iterator[Row | LeftOut]:
    """The rows of `bench.py`: real target tokens a second, in rounds of `BLOCK` updates. `quick`: the small models."""
    yield from rows_of("course", "built-in corpus", list(corpus.builtin(20_000)), COURSE, 1 if quick else 20)
    if quick:
        yield LeftOut("The larger models are not trained with --quick.")
    elif real := corpus.local_fra_eng():
        order = random.Random(0).sample(range(len(real)), 20_000)
        yield from rows_of("real", "fra-eng", [real.pairs[place] for place in order], REAL, 6)
    else:
        yield LeftOut("The larger models need real sentences: set SEQLEARN_DATA to a folder with fra-eng/fra.txt.")


def rows_of(key: str, where: str, pairs: list[Pair], setting: Setting, rounds: int) -> Iterator[Row]:
    """Both models in one setting, beside each opponent."""
    for name in ("bahdanau", "transformer"):
        runs, _ = runs_of(name, pairs, setting, tuple(EQUAL))
        times = measure(runs, BLOCK * rounds)
        blocks = {run: zip(*[iter(each)] * BLOCK, strict=True) for run, each in times.items()}
        speeds = {run: list(map(speed, each)) for run, each in blocks.items()}
        what = f"{name.capitalize()}, {where}, width {setting.width}, batch {setting.batch_size}"
        for run in list(runs)[1:]:
            peer, _, way = run.partition(", ")
            mark = slug(f"training-{key}-{name}-{peer}{'' if way == 'same batches' else '-own'}")
            padding = (f"{runs[each].batches.padding():.0%}" for each in ("ours", run))
            equal = EQUAL[way].format(*padding)
            yield Row.beside(mark, what, "tokens/s", speeds["ours"], PEERS[peer], speeds[run], equal)


def speed(block: tuple[tuple[float, ...], ...]) -> float:
    """Real tokens a second by the wall clock."""
    return sum(row[0] for row in block) / sum(row[2] for row in block)


if __name__ == "__main__":
    torch.set_num_threads(1)
    models = [argument for argument in sys.argv[1:] if argument in ("bahdanau", "transformer")]
    real = corpus.fra_eng(*[argument for argument in sys.argv[1:] if argument not in models][:1]).pairs
    order = random.Random(0).sample(range(len(real)), 20_000)
    for model in models or ["bahdanau", "transformer"]:
        compare(model, [real[place] for place in order], REAL, rounds=20)
        compare(model, list(islice(real, 600)), SMALL, rounds=200)
