"""The Transformer on a GPU: python benchmarks/gpu.py [FOLDER] [--size base] [--epochs 10] [--limit N]

Trains it on fra-eng (from FOLDER or SEQLEARN_DATA) in bf16, scores it once on the held-out test part, and prints a JSON
object: sacreBLEU, seconds, tokens a second, memory, and how much of the card's peak (measured here, too) the products
with weights reach. First it compares the device's logits with the CPU's. The script also runs on a CPU: try it with
`--size tiny --limit 3000 --epochs 1`, which takes a minute.
"""

from __future__ import annotations

import argparse
import json
import time

import torch
from torch import nn

from seqlearn.data import corpus
from seqlearn.data.batches import Batches
from seqlearn.devices import best_device
from seqlearn.nn.transformer import SIZES
from seqlearn.training import warmup
from seqlearn.translator import Translator


def peak(device: torch.device, size: int) -> float:
    """The most bf16 operations a second that products of two square matrices reach here (a product-sum counts as 2)."""
    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    best = float("inf")
    for _ in range(10):
        _wait(device)
        start = time.perf_counter()
        a @ b
        _wait(device)
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best


def operations(model: nn.Module, batches: Batches) -> float:
    """The operations of an epoch's matrix products with weights: 2 for each weight and token forward, 4 backward.

    Attention's own products (queries with keys, weights with values) are left out: a few percent for short sentences.
    """
    weights = {
        part: sum(module.weight.numel() for module in part.modules() if isinstance(module, nn.Linear))
        for part in (model.encoder, model.decoder)
    }
    total = 0
    for batch in batches.epoch(0):
        total += weights[model.encoder] * batch.source.numel()
        total += weights[model.decoder] * (batch.target.numel() - len(batch.target))
    return 6.0 * total


def same_as_on_the_cpu(translator: Translator, batches: Batches) -> float:
    """The largest difference between the device's logits and the CPU's, in float32."""
    batch, model = next(iter(batches)), translator.model.eval()
    with torch.inference_mode():
        there = batch.to(translator.device)
        theirs = model(there.source, there.source_lens, there.target[:, :-1]).cpu()
        expected = model.cpu()(batch.source, batch.source_lens, batch.target[:, :-1])
    return float((theirs - expected).abs().max())


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def main() -> None:
    """Train, score, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="holds fra-eng/fra.txt")
    parser.add_argument("--size", default="base", choices=SIZES)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--limit", type=int, help="at most so many pairs, drawn at random")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--lr", type=float, default=7e-4)
    options = parser.parse_args()
    device, pairs = best_device(), corpus.fra_eng(*[options.folder] if options.folder else [])
    split = (pairs.limited(options.limit) if options.limit else pairs).split()
    translator = Translator.untrained("transformer", split, pairs.languages, min_freq=2, **SIZES[options.size])
    batches = Batches(split.train, translator.source, translator.target, options.batch_size)
    difference = same_as_on_the_cpu(translator, batches)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    _wait(device)
    start = time.perf_counter()
    history = translator.fit(
        split, batch_size=options.batch_size, epochs=options.epochs, lr=options.lr, schedule=warmup(0.1),
        label_smoothing=0.1, precision="bf16",
    )  # fmt: skip
    _wait(device)
    seconds = time.perf_counter() - start
    translator.model.to(device)
    rate = operations(translator.model, batches) * history.epochs / sum(history.seconds)
    fastest = peak(device, 8192 if device.type == "cuda" else 1024)
    scores = translator.evaluate(split.test, batch_size=256)
    on_gpu = device.type == "cuda"
    result = {
        "device": torch.cuda.get_device_name(device) if on_gpu else device.type,
        "torch": torch.__version__,
        "size": options.size,
        "parameters": sum(weight.numel() for weight in translator.model.parameters()),
        "pairs": len(split.train),
        "epochs": history.epochs,
        "largest difference from the CPU's logits": difference,
        "test BLEU": round(scores.bleu.score, 1),
        "signature": scores.bleu.signature,
        "chrF": round(scores.chrf.score, 1),
        "test pairs": scores.pairs,
        "seconds of training": round(seconds, 1),
        "target tokens a second": round(sum(history.tokens) / sum(history.seconds)),
        "gigabytes of memory": round(torch.cuda.max_memory_allocated(device) / 1e9, 2) if on_gpu else None,
        "peak teraflops": round(fastest / 1e12, 2),
        "share of the peak": round(rate / fastest, 3),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
