"""The numbers of docs/SCALE.md: python benchmarks/scale.py [plan|speed|allreduce|disk|write|memory ...]

    plan       a run on 8 GPUs and 100 million pairs: arithmetic with the assumptions below; nothing is measured
    speed      updates of small and base on one core, to check the count of operations
    allreduce  the gradients of base, summed over two processes by gloo
    disk       fra-eng (from SEQLEARN_DATA) as text and as ids of two bytes; lines encoded and tokens batched a second
    write      a translator and a checkpoint of base, written and synced
    memory     a process that trains base

Without names, all of them, in some minutes, on Linux. One thread. "A CPU second" is a second of the processor: a busy
machine makes the wall clock slow, and changes CPU seconds little.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
import torch.distributed as dist
from flops import linear_weights, update_flops
from training import our_update

from seqlearn.data import corpus
from seqlearn.data.batches import Batch, Batches
from seqlearn.data.text import TOKENS, Language
from seqlearn.nn.contract import EncoderDecoder
from seqlearn.nn.transformer import SIZES, transformer
from seqlearn.training.storage import weights_of, write_file

VOCAB = 32_000  # pieces, for both languages
# Assumptions of the plan, see docs/SCALE.md. The peak and the bandwidth are NVIDIA's, for an H100 SXM.
GPUS, PAIRS, EPOCHS, STEPS = 8, 100e6, 10, 25  # tokens of a sentence, on both sides
PEAK, SHARE = 989e12, 0.35  # bf16 operations a second, and the share of them that training reaches
NETWORKS = {"NVLink": 300e9, "PCIe 4.0 x16": 20e9, "Ethernet, 25 Gbit/s": 2.5e9}  # bytes a second that a ring reaches
TOKENS_A_GPU, PRICE = 25_000, 3.0  # target tokens of an update; dollars an hour and GPU


def model_of(size: str, vocab: int = VOCAB) -> EncoderDecoder:
    """With random weights, and one matrix for the target's embeddings and the output layer."""
    torch.manual_seed(0)
    return transformer(vocab, vocab, replace(SIZES[size], tie=True))


def parameters(model: EncoderDecoder) -> int:
    """How many numbers are learned; tied matrices count once."""
    return sum(weight.numel() for weight in model.parameters())


def ring_bytes(count: int, processes: int) -> float:
    """What each process sends in a ring all-reduce of so many float32 numbers."""
    return 4 * count * 2 * (processes - 1) / processes


def plan() -> None:
    """The arithmetic of docs/SCALE.md."""
    for size in ("small", "base"):
        model = model_of(size)
        count = f"{parameters(model):,} parameters, {linear_weights(model):,} in products of matrices"
        print(f"{size}: {count}; {update_flops(model, STEPS, STEPS) / STEPS / 1e6:,.0f} MFLOP a target token")
    paper = 100_000 * 25_000 * update_flops(model_of("base", 37_000), STEPS, STEPS) / STEPS
    print(f"100,000 updates of 25,000 tokens, vocabulary 37,000: {paper:.1e}, {paper / 3.3e18:.0%} of Vaswani's 3.3e18")
    operations, rate = update_flops(model, STEPS, STEPS) / STEPS, PEAK * SHARE
    sent, compute = ring_bytes(parameters(model), GPUS), TOKENS_A_GPU * operations / rate
    print(f"base at {SHARE:.0%} of {PEAK / 1e12:.0f} TFLOP/s: {rate / operations:,.0f} target tokens a second and GPU")
    print(f"an update: {TOKENS_A_GPU:,} tokens a GPU, {1e3 * compute:.0f} ms; {sent / 1e6:.0f} MB sent by each")
    updates = PAIRS * EPOCHS * STEPS / GPUS / TOKENS_A_GPU
    for name, bandwidth in NETWORKS.items():
        wait = sent / bandwidth
        least, hours = wait / 0.1 * rate / operations, updates * (compute + wait) / 3600
        print(
            f"  {name:22}{1e3 * wait:7.1f} ms, {wait / compute:6.1%} of compute; 10 % at {least:11,.0f} tokens a GPU; "
            f"{hours:5.1f} h, {hours * GPUS * PRICE:4,.0f} dollars"
        )


def speed() -> None:
    """CPU seconds of an update, and the operations in it, beside the fastest product of matrices."""
    side = torch.randn(1024, 1024)
    fastest = 2 * 1024**3 / min(cpu_seconds(lambda: side @ side) for _ in range(10))
    print(f"products of 1024 x 1024 matrices: {fastest / 1e9:.0f} GFLOP a CPU second")
    for size, pairs in (("small", 64), ("base", 32)):
        model, ids = model_of(size).train(), torch.randint(4, VOCAB, (pairs, STEPS + 1))
        lengths = torch.full((pairs,), STEPS)
        batch, update = Batch(ids[:, 1:], lengths, ids, lengths + 1), our_update(model, pad=0)
        update(batch)
        each = statistics.median(cpu_seconds(lambda update=update, batch=batch: update(batch)) for _ in range(5))
        operations = pairs * update_flops(model, STEPS, STEPS)
        print(
            f"{size}: {batch.tokens / each:,.0f} target tokens a CPU second, {operations / each / 1e9:.0f} GFLOP, "
            f"{operations / each / fastest:.0%} of that"
        )


def cpu_seconds(work: Callable[[], object]) -> float:
    """Seconds of the processor."""
    start = time.process_time()
    work()
    return time.process_time() - start


def wall_seconds(work: Callable[[], object]) -> float:
    """Seconds by the wall clock."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def allreduce() -> None:
    """One flat tensor, as large as the gradients of base."""
    context, count = multiprocessing.get_context("spawn"), parameters(model_of("base"))
    with tempfile.TemporaryDirectory() as folder:
        children = [context.Process(target=take_part, args=(rank, 2, count, f"{folder}/meet")) for rank in range(2)]
        for child in children:
            child.start()
        for child in children:
            child.join()


def take_part(rank: int, processes: int, count: int, meet: str) -> None:
    """One process of the all-reduce. The first one prints."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{meet}", rank=rank, world_size=processes)
    gradients = torch.ones(count)
    dist.all_reduce(gradients)
    times = []
    for _ in range(7):
        dist.barrier()
        times.append(wall_seconds(lambda: dist.all_reduce(gradients)))
    if rank == 0:
        sent, each = ring_bytes(count, processes), statistics.median(times)
        print(
            f"gloo, {processes} processes: {sent / 1e6:.0f} MB sent by each in {each:.2f} s (best {min(times):.2f}): "
            f"{sent / each / 1e9:.2f} GB/s (best {sent / min(times) / 1e9:.2f})"
        )
    dist.destroy_process_group()


def disk() -> None:
    """Bytes a pair, how fast lines become ids and ids become batches, and what this means for the plan."""
    pairs = corpus.fra_eng()
    train = list(pairs.split().train)
    sides = [[pair.source for pair in train], [pair.target for pair in train]]
    text = sum(len(line.encode()) + 1 for side in sides for line in side) / len(train)
    print(f"fra-eng, {len(train):,} pairs: {text:.1f} bytes of text a pair, tab and line end included")
    for tokens in TOKENS:
        codecs = [Language.learn(code, side, 2, tokens) for code, side in zip(pairs.languages, sides, strict=True)]
        vocabs = " and ".join(f"{len(codec.vocab):,}" for codec in codecs)
        seconds = sum(cpu_seconds(lambda both=both: encode(*both)) for both in zip(codecs, sides, strict=True))
        batches = Batches(train, *codecs, 128)
        source, target = (len(side.ids) / len(train) for side in (batches.sources, batches.targets))
        reading = cpu_seconds(lambda batches=batches: list(batches.epoch(0)))
        words = source + target - 3  # without <bos> and <eos>
        print(
            f"  {tokens}, vocabularies {vocabs}: {source:.1f} + {target:.1f} ids a pair, {2 * (source + target):.1f} "
            f"bytes; a CPU second encodes {2 * len(train) / seconds:,.0f} lines, {len(train) * words / seconds:,.0f} "
            f"tokens, and batches {len(train) * (target - 1) / reading:,.0f} target tokens"
        )
        planned = PAIRS * 2 * STEPS
        print(
            f"  the plan, at as many bytes a token: {planned * text / words / 1e9:.0f} GB of text, "
            f"{planned * seconds / len(train) / words / 3600:.1f} CPU hours to encode"
        )


def encode(codec: Language, lines: list[str]) -> None:
    """All lines, one by one."""
    for line in lines:
        codec.encode(line)


def write() -> None:
    """`write_file` with the tensors of a translator and of a checkpoint: weights, best weights and two moments."""
    weights = weights_of(model_of("base"))
    checkpoint = {f"{kind} {name}": tensor.clone() for kind in range(4) for name, tensor in weights.items()}
    with tempfile.TemporaryDirectory() as folder:
        for name, tensors in (("translator", weights), ("checkpoint", checkpoint)):
            path = Path(folder, name)
            cpu = time.process_time()
            wall = [wall_seconds(lambda path=path, tensors=tensors: write_file(path, tensors)) for _ in range(3)]
            cpu = (time.process_time() - cpu) / 3
            print(
                f"{name} of base: {path.stat().st_size / 1e6:,.0f} MB in {statistics.median(wall):.1f} s, "
                f"{cpu:.1f} CPU seconds"
            )


def memory() -> None:
    """Measured in a process of its own, because the most memory of a process never falls."""
    child = multiprocessing.get_context("spawn").Process(target=train_base)
    child.start()
    child.join()


def train_base() -> None:
    """One update of base, then a copy of the weights, as `fit` keeps the best."""
    torch.set_num_threads(1)
    before, model = most_megabytes(), model_of("base")
    ids, lengths = torch.randint(4, VOCAB, (4, STEPS + 1)), torch.full((4,), STEPS)
    update = our_update(model, pad=0)  # holds the moments
    update(Batch(ids[:, 1:], lengths, ids, lengths + 1))
    best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    least = 20 * parameters(model) / 2**20
    print(
        f"base: {before:,.0f} MB after the imports, {most_megabytes() - before:,.0f} MB more for a tiny batch; "
        f"20 bytes a parameter are {least:,.0f} MB ({len(best)} tensors)"
    )


def most_megabytes() -> float:
    """The most memory that this process has had. (`ru_maxrss` would count its parent's, too.)"""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


PARTS = {"plan": plan, "speed": speed, "allreduce": allreduce, "disk": disk, "write": write, "memory": memory}

if __name__ == "__main__":
    torch.set_num_threads(1)
    if unknown := [part for part in sys.argv[1:] if part not in PARTS]:
        sys.exit(f"there is no part {unknown[0]!r}; choose from {', '.join(PARTS)}")
    for part in sys.argv[1:] or PARTS:
        print(f"\n{part}", flush=True)
        PARTS[part]()
