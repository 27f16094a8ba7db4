"""The Transformer on a GPU: python benchmarks/gpu.py [peaks|agreement|training|loop|search|real ...] [--size base ...]

    peaks      the products of matrices that the card computes a second, in float32, tf32 and bf16
    agreement  how far the card's logits are from the CPU's, in each precision
    training   one update of seqlearn beside d2l and `torch.nn.Transformer`, with and without `torch.compile`
    loop       updates of `fit` with batches that are made and copied as it does, beside batches that are already there
    search     greedy and beam search beside d2l and transformers
    real       trains on the whole of fra-eng (from --data or SEQLEARN_DATA) and scores once on its test part

Without names, all of them. In "training", all models have the same sizes, weights at the start, batch (random tokens,
padded), loss, clipping and Adam; a last line has the loss of `fit`. Nothing is read from the card within a block of
updates, and each time is the median of several blocks, which take turns. Operations are counted from the model
(`flops.py`); their share is that of the peak that is measured in the same run and precision. Memory is the most that
PyTorch had allocated, from an empty model on, with Adam's averages and the activations. Read the ratios.

`--device cpu --quick` runs all of this, with tiny sizes, where there is no GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import gc
import importlib.util
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import NamedTuple

import decoding
import torch
from flops import update_flops
from table import LeftOut, Row, slug
from textbook import TextbookTransformer, TorchTransformer, our_transformer
from torch import nn
from training import EQUAL, PEERS, check_same, our_update, with_our_update

from seqlearn.data import corpus
from seqlearn.data.batches import Batch, Batches
from seqlearn.nn.contract import EncoderDecoder
from seqlearn.nn.transformer import SIZES
from seqlearn.runtime.devices import best_device
from seqlearn.training import constant, warmup
from seqlearn.training.loop import Recipe, Training
from seqlearn.translator.translator import Translator

PAD = 0
PRECISIONS = ("float32", "tf32", "bf16")


class Scale(NamedTuple):
    """How large the measurements are."""

    sizes: tuple[str, ...]
    vocab: int
    pairs: int  # in a batch
    steps: int  # the longest sentence
    blocks: int  # that are timed, of `updates` each
    updates: int
    matrix: int  # rows of the matrices whose product is timed
    batches: int  # of the loop
    cases: Mapping[str, tuple[int, int]]  # of the search: beam width, sentences in a batch


FULL = Scale(
    ("small", "base"), 32_000, 256, 48, 7, 5, 8192, 100,
    {"greedy, batch 128": (1, 128), "greedy, alone": (1, 1), "beam 4, batch 128": (4, 128), "beam 4, alone": (4, 1)},
)  # fmt: skip
QUICK = Scale(("tiny",), 50, 4, 8, 2, 1, 64, 3, {"greedy, batch 2": (1, 2), "beam 2, batch 2": (2, 2)})


def synchronize(device: torch.device) -> None:
    """Wait until the device has done everything. The CPU always has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """How long the device works on this."""
    synchronize(device)
    start = time.perf_counter()
    work()
    synchronize(device)
    return time.perf_counter() - start


@contextlib.contextmanager
def arithmetic(precision: str) -> Iterator[None]:
    """Let products of float32 matrices use tf32, or not. bf16 is a matter of autocast, within an update."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class Memory:
    """The most gigabytes that PyTorch has allocated on a card since this was made, above what it had then."""

    def __init__(self, device: torch.device):
        self.device, self.before = device, 0
        if device.type == "cuda":
            gc.collect()
            self.before = torch.cuda.memory_allocated(device)
            torch.cuda.reset_peak_memory_stats(device)

    def gigabytes(self) -> float:
        """NaN on a CPU, where PyTorch does not count."""
        on_gpu = self.device.type == "cuda"
        return (torch.cuda.max_memory_allocated(self.device) - self.before) / 1e9 if on_gpu else float("nan")


def peak(device: torch.device, precision: str, size: int) -> float:
    """The most operations a second in products of two square matrices. The two matrices are read from memory once."""
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    with arithmetic(precision):
        a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
        a @ b
        return 2 * size**3 / min(seconds(lambda: a @ b, device) for _ in range(20))


def peaks(device: torch.device, scale: Scale) -> dict[str, float]:
    """The peak in each precision."""
    found = {precision: peak(device, precision, scale.matrix) for precision in PRECISIONS}
    print(f"\npeaks: products of {scale.matrix} x {scale.matrix} matrices")
    for precision, each in found.items():
        print(f"  {precision:10}{each / 1e12:10.2f} TFLOP/s   x{each / found['float32']:.2f} of float32", flush=True)
    return found


def random_batch(scale: Scale, seed: int = 0) -> Batch:
    """Random sentences of half to all of the steps, as both sides of a batch."""
    generator = torch.Generator().manual_seed(seed)

    def side() -> tuple[torch.Tensor, torch.Tensor]:
        lengths = torch.randint(scale.steps // 2, scale.steps + 1, (scale.pairs,), generator=generator)
        lengths[0] = scale.steps
        ids = torch.randint(4, scale.vocab, (scale.pairs, scale.steps), generator=generator)
        return ids.masked_fill(torch.arange(scale.steps) >= lengths.unsqueeze(1), PAD), lengths

    return Batch(*side(), *side())


def models(size: str, vocab: int, dropout: float = 0.1) -> dict[str, nn.Module]:
    """Three models of one size, on the CPU, with the same weights: they are shown to give the same logits."""
    sizes, vocabs = SIZES[size], (vocab, vocab)
    shape = vocabs, sizes.num_hiddens, sizes.ffn_num_hiddens, sizes.num_layers, dropout
    torch.manual_seed(0)
    ours = our_transformer(*shape, sizes.num_heads)
    found = {"seqlearn": ours}
    for name, kind in (("d2l", TextbookTransformer), ("torch.nn", TorchTransformer)):
        found[name] = kind(*shape, ours.state_dict(), sizes.num_heads)
        check_same(ours, found[name], vocabs)
    return found


def agreement(device: torch.device, scale: Scale) -> None:
    """The largest difference between the logits on the device and those of the CPU in float32."""
    for size in scale.sizes:
        torch.manual_seed(0)
        model, batch = models(size, scale.vocab)["seqlearn"].eval(), random_batch(scale)
        read = batch.source[:32], batch.source_lens[:32], batch.target[:32, :-1]
        with torch.inference_mode():
            expected = model(*read)
            model.to(device)
            print(f"\nagreement with the CPU's logits: {size}, logits up to {float(expected.abs().max()):.2f}")
            for precision in PRECISIONS:
                with arithmetic(precision), torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
                    found = model(read[0].to(device), read[1], read[2].to(device)).float().cpu()
                print(f"  {precision:10}{float((found - expected).abs().max()):12.2e}", flush=True)


class Way(NamedTuple):
    """A model in training: one update with the batch that it reads, and the memory of an update."""

    update: Callable[[], None]
    gigabytes: float


WAYS_TO_TRAIN = (  # model, compiled or not, update
    ("seqlearn", False, with_our_update), ("d2l", False, with_our_update), ("torch.nn", False, with_our_update),
    ("seqlearn", True, with_our_update), ("torch.nn", True, with_our_update), ("seqlearn", False, our_update),
)  # fmt: skip


def ways_to_train(
    built: Mapping[str, nn.Module], batch: Batch, precision: str, device: torch.device, with_compiled: bool = True
) -> dict[str, Way]:
    """Copies of the models on the device, each after some updates. One that cannot run is named, with the reason."""
    source, target = batch.source.to(device), batch.target.to(device)
    ours_reads = Batch(source, batch.source_lens, target, batch.target_lens)  # lengths: see `Batch.to`
    others_read = Batch(source, batch.source_lens.to(device), target, batch.target_lens)
    backend = "inductor" if device.type == "cuda" else "eager"  # on a CPU it would take minutes to compile
    found: dict[str, Way] = {}
    for name, compiled, make in WAYS_TO_TRAIN:
        if compiled and not with_compiled:
            continue
        label = name + (", compiled" if compiled else "") + (", loss of fit" if make is our_update else "")
        memory = Memory(device)
        try:
            model = copy.deepcopy(built[name]).to(device).train()
            step = make(torch.compile(model, backend=backend) if compiled else model, PAD, precision=precision)
            once = bind(step, ours_reads if name == "seqlearn" else others_read)
            for _ in range(3):
                once()
            synchronize(device)
            found[label] = Way(once, memory.gigabytes())
        except RuntimeError as error:  # out of memory, or nothing to compile with
            print(f"  {label}: left out, {str(error).splitlines()[0]}")
    return found


def bind(step: Callable[[Batch], None], batch: Batch) -> Callable[[], None]:
    """An update with this batch."""
    return lambda: step(batch)


def block_seconds(
    ways: Mapping[str, Callable[[], object]], device: torch.device, scale: Scale
) -> dict[str, list[float]]:
    """Seconds of one call of each way, in each of some blocks of calls; the ways take turns."""

    def block(work: Callable[[], object]) -> None:
        for _ in range(scale.updates):
            work()

    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(scale.blocks):
        for name, work in ways.items():
            times[name].append(seconds(lambda work=work: block(work), device) / scale.updates)
    return times


def median_seconds(ways: Mapping[str, Callable[[], object]], device: torch.device, scale: Scale) -> dict[str, float]:
    """Seconds of one call of each way: medians over the blocks."""
    return {name: statistics.median(each) for name, each in block_seconds(ways, device, scale).items()}


def training(device: torch.device, scale: Scale, fastest: Mapping[str, float]) -> None:
    """A table for each size and precision; and what the precisions save."""
    for size in scale.sizes:
        batch, built = random_batch(scale), models(size, scale.vocab)
        operations = scale.pairs * update_flops(built["seqlearn"], scale.steps, scale.steps - 1)
        first: dict[str, float] = {}
        for precision in PRECISIONS:
            print(f"\ntraining: {size}, {precision}, {scale.pairs} pairs of {scale.steps} tokens, {batch.tokens} real")
            print(f"{'':26}{'ms':>9}{'tokens/s':>11}{'of peak':>9}{'GB':>7}   seqlearn is   of its float32")
            with arithmetic(precision):
                ways = ways_to_train(built, batch, precision, device)
                times = median_seconds({name: way.update for name, way in ways.items()}, device, scale)
            first, ours = first or times, times.get("seqlearn", float("nan"))
            for name, each in times.items():
                print(
                    f"  {name:24}{1000 * each:9.1f}{batch.tokens / each:11,.0f}"
                    f"{operations / each / fastest[precision]:9.1%}{ways[name].gigabytes:7.2f}"
                    f"{each / ours:12.2f} x{first.get(name, float('nan')) / each:15.2f} x",
                    flush=True,
                )
            del ways
            torch.compiler.reset()


def loop(device: torch.device, scale: Scale) -> None:
    """What a GPU waits for: an update of `fit`, with batches that are made, copied and updated one after the other."""
    pairs = corpus.builtin(max(300, scale.batches * scale.pairs * 6 // 5))
    split = pairs.split()
    recipe = Recipe(epochs=1, lr=1e-4, schedule=constant, precision="bf16")
    for size in scale.sizes:
        translator = Translator.untrained("transformer", split, pairs.languages, **asdict(SIZES[size]))
        batches = Batches(split.train, translator.source, translator.target, scale.pairs)
        training = Training(translator.model.train(), batches, batches, recipe)
        there = [batch.to(device) for batch in itertools.islice(batches.epoch(0), scale.batches)]
        there = [Batch(*batch[:3], batch.target_lens.cpu()) for batch in there]  # `Batch.tokens` reads the lengths

        def run(stream: Iterator[Batch], training=training) -> None:
            for batch in stream:
                training.update([batch])

        ways = {
            "batches on the device": lambda there=there, run=run: run(iter(there)),
            "made and copied": lambda batches=batches, run=run: run(itertools.islice(batches.epoch(0), scale.batches)),
        }
        run(iter(there[:3]))
        times = median_seconds(ways, device, scale._replace(updates=1))
        first = times["batches on the device"]
        tokens = sum(batch.tokens for batch in there)
        print(f"\nloop: {size}, bf16, {len(there)} batches of {scale.pairs} built-in pairs, {tokens:,} real tokens")
        for name, each in times.items():
            print(f"  {name:24}{tokens / each:12,.0f} tokens/s   x{each / first:.2f}", flush=True)


Searches = tuple[str, dict[str, decoding.Search], list[tuple[torch.Tensor, torch.Tensor]]]  # title, ways, batches


def searches(device: torch.device, scale: Scale) -> Iterator[Searches]:
    """The cases of `decoding.py`, with model and sources on the device."""

    def on_device(way: decoding.Search) -> decoding.Search:
        return lambda source, lengths: way(source.to(device), lengths)

    model = decoding.random_model(ends=False).to(device)
    half = decoding.random_model(ends=False).to(device).bfloat16()
    marian = decoding.as_marian(decoding.random_model(ends=False)).to(device) if has("transformers") else None
    theirs, same_as_d2l = decoding.searched_by_d2l(decoding.STEPS, str(device))
    for title, (width, size) in scale.cases.items():
        chunks = decoding.batches(decoding.sources(size * min(5, scale.blocks)), size)
        steps = (decoding.STEPS, decoding.STEPS)
        ways = {"seqlearn": on_device(decoding.searched_by_us(model, width, *steps))}
        if marian:
            ways["transformers"] = on_device(decoding.searched_by_transformers(marian, width, *steps))
        ways["seqlearn, bfloat16"] = on_device(decoding.searched_by_us(half, width, *steps))
        yield title, ways, chunks
        if width == 1:
            ours = on_device(decoding.searched_by_us(same_as_d2l.to(device), 1, 0, decoding.STEPS))
            yield f"{title}, beside d2l", {"seqlearn": ours, "d2l, one by one": theirs}, chunks


def search(device: torch.device, scale: Scale) -> None:
    """Compare the searches."""
    missing = "" if has("transformers") else "; without transformers, which is not installed"
    print(f"\nsearch: 3 + 3 layers of 256, vocabulary 6,000{missing}")
    for case in searches(device, scale):
        decoding.compare(*case, rounds=1)


def rows(quick: bool, device: torch.device | None = None, scale: Scale | None = None) -> Iterator[Row | LeftOut]:
    """The rows of `bench.py`: training without `torch.compile`, and search.

    Args:
        quick: one round, and the smaller models.
        device, scale: default: the GPU, and all sizes.

    Raises:
        LeftOut: there is no GPU.
    """
    if device is None and not torch.cuda.is_available():
        raise LeftOut("This machine has no NVIDIA GPU that PyTorch can use; on one that has, the part runs by itself.")
    device, scale = device or torch.device("cuda"), scale or FULL
    if quick:
        scale = scale._replace(sizes=scale.sizes[:1], blocks=1)
    for size, precision in itertools.product(scale.sizes, PRECISIONS[1:]):
        yield from training_rows(device, scale, size, precision)
    for title, ways, chunks in searches(device, scale):
        ways.pop("seqlearn, bfloat16", None)
        title = title.removesuffix(", beside d2l")
        yield from decoding.rows_of(f"gpu-{slug(title)}", f"{name_of(device)}: {title}", ways, chunks, quick)


def training_rows(device: torch.device, scale: Scale, size: str, precision: str) -> Iterator[Row | LeftOut]:
    """Real target tokens a second of our update beside the others."""
    batch = random_batch(scale)
    with arithmetic(precision):
        ways = ways_to_train(models(size, scale.vocab), batch, precision, device, with_compiled=False)
        times = block_seconds({name: way.update for name, way in ways.items()}, device, scale)
    speeds = {name: [batch.tokens / each for each in found] for name, found in times.items()}
    what = f"{name_of(device)}: training, {size}, {precision}"
    for name in ("d2l", "torch.nn"):
        if {name, OURS} <= speeds.keys():
            mark = slug(f"gpu-training-{size}-{precision}-{name}")
            yield Row.beside(mark, what, "tokens/s", speeds[OURS], PEERS[name], speeds[name], EQUAL["same batches"])
        else:
            yield LeftOut(
                f"{what}, beside {PEERS[name]}: one of the two could not run, for example for want of memory."
            )


OURS = "seqlearn, loss of fit"


def has(package: str) -> bool:
    """Whether a package is installed."""
    return importlib.util.find_spec(package) is not None


def epoch_operations(model: EncoderDecoder, batches: Batches) -> int:
    """The operations of an epoch's updates, padding included."""
    shapes = ((len(batch.source), batch.source.shape[1], batch.target.shape[1] - 1) for batch in batches.epoch(0))
    return sum(pairs * update_flops(model, source, target) for pairs, source, target in shapes)


def real(device: torch.device, scale: Scale, fastest: Mapping[str, float], options: argparse.Namespace) -> None:
    """Train on fra-eng with `fit`, score the test part once, greedy and with a beam, and print a JSON object."""
    pairs = corpus.builtin(300) if options.quick else corpus.fra_eng(options.data)
    split, size = pairs.split(), scale.sizes[-1]
    translator = Translator.untrained("transformer", split, pairs.languages, min_freq=2, **asdict(SIZES[size]))
    batches = Batches(split.train, translator.source, translator.target, options.batch_size)
    memory = Memory(device)
    history = translator.fit(
        split, batch_size=options.batch_size, epochs=1 if options.quick else options.epochs, lr=options.lr,
        schedule=warmup(0.1), label_smoothing=0.1, precision="bf16",
    )  # fmt: skip
    gigabytes = memory.gigabytes()
    rate = epoch_operations(translator.model, batches) * history.epochs / sum(history.seconds)
    scores = {}
    for name, beam in (("greedy", 1), ("beam 4", 4)):
        found = translator.translate_all([pair.source for pair in split.test], batch_size=256, beam=beam)
        scores[name] = translator.evaluate(split.test, 256, translations=found)
    result = {
        "device": name_of(device), "torch": torch.__version__, "corpus": pairs.name, "size": size,
        "parameters": sum(weight.numel() for weight in translator.model.parameters()),
        "pairs": len(split.train), "epochs": history.epochs, "seconds of training": round(sum(history.seconds), 1),
        "target tokens a second": round(sum(history.tokens) / sum(history.seconds)),
        "gigabytes of memory": round(gigabytes, 2) if device.type == "cuda" else None,
        "share of the bf16 peak": round(rate / fastest["bf16"], 3),
        "test pairs": len(split.test),
        **{f"test BLEU, {name}": round(each.bleu.score, 1) for name, each in scores.items()},
        **{f"test chrF, {name}": round(each.chrf.score, 1) for name, each in scores.items()},
        "signature": scores["greedy"].bleu.signature,
    }  # fmt: skip
    print("\nreal:", json.dumps(result, indent=2))


def name_of(device: torch.device) -> str:
    """The name of the card."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def chosen_device(name: str | None) -> torch.device:
    """The device of this name; without one, the GPU. `fit` will use it, too.

    Raises:
        SystemExit: there is no such device; a sentence says so.
    """
    if name is None and not torch.cuda.is_available():
        sys.exit("There is no GPU here, so nothing was measured; --device cpu --quick tries the script without one.")
    os.environ["SEQLEARN_DEVICE"] = name or "cuda"
    try:
        return best_device()
    except ValueError as error:
        sys.exit(str(error))


def main() -> None:
    """Measure the parts that were named; without names, all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)}; default: all")
    parser.add_argument("--device", help="default: cuda")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try the script")
    parser.add_argument("--size", nargs="+", choices=SIZES, help="default: small and base; real trains the last one")
    parser.add_argument("--data", help="the folder that holds fra-eng; default: SEQLEARN_DATA, else a download")
    parser.add_argument("--epochs", type=int, default=10, help="of the real training")
    parser.add_argument("--batch-size", type=int, default=256, help="of the real training")
    parser.add_argument("--lr", type=float, default=7e-4, help="of the real training")
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; choose from {', '.join(PARTS)}")
    device, scale = chosen_device(options.device), QUICK if options.quick else FULL
    scale = scale._replace(sizes=tuple(options.size or scale.sizes))
    print(f"device: {name_of(device)}, torch {torch.__version__}")
    fastest = peaks(device, scale)
    for part in options.parts or PARTS:
        PARTS[part](device, scale, fastest, options)


PARTS: dict[str, Callable[[torch.device, Scale, Mapping[str, float], argparse.Namespace], None]] = {
    "peaks": lambda *_: None,  # they are always measured, as other parts need them
    "agreement": lambda device, scale, *_: agreement(device, scale),
    "training": lambda device, scale, fastest, _: training(device, scale, fastest),
    "loop": lambda device, scale, *_: loop(device, scale),
    "search": lambda device, scale, *_: search(device, scale),
    "real": real,
}


if __name__ == "__main__":
    main()
