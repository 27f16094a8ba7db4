"""How much faster do two processes train than one? python benchmarks/processes.py [--rounds 2] [--count 2]

Each process has one thread. All go through the same updates of pairs of the built-in corpus. Of an update of one batch
each of two processes computes half of the rows; of an update of two batches, one each. One process, two processes, and
two processes under `DistributedDataParallel` take turns; the table shows the best round of each. (Under DDP, too, the
loss is divided by the tokens of all processes.) The bar: two processes are 1.7 times as fast as one. They need two
cores that nothing else uses.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from seqlearn.data.batches import Batch, Batches
from seqlearn.data.corpus import builtin
from seqlearn.data.text import Language
from seqlearn.training import batch_loss, constant
from seqlearn.training.loop import Recipe, Training
from seqlearn.training.processes import Processes, init_processes
from seqlearn.translator.models import spec_of

MODELS = {
    "bahdanau, the defaults": ("bahdanau", {}),
    "transformer, 4 layers of 256": (
        "transformer", {"num_hiddens": 256, "ffn_num_hiddens": 1024, "num_heads": 4, "num_layers": 4},
    ),
}  # fmt: skip
SHAPES = [(1, 128), (1, 256), (2, 64)]  # of an update: how many batches, and pairs in each
UPDATES, WARM_UP = 20, 4
RECIPE = Recipe(epochs=1, lr=1e-3, schedule=constant)


class Loss(nn.Module):
    """What DDP calls in place of the model: the loss of a batch."""

    def __init__(self, model: nn.Module, pad: int):
        super().__init__()
        self.model, self.pad = model, pad

    def forward(self, batch: Batch) -> Tensor:
        """The loss of a batch."""
        return batch_loss(self.model, batch, self.pad)


def work(name: str, engine: str, accumulate: int, batch_size: int) -> None:
    """What one process does: prints the number of tokens that all processes have trained on in a second."""
    torch.set_num_threads(1)
    processes = init_processes()
    corpus = builtin(UPDATES * accumulate * batch_size)
    source, target = (Language.learn("", [getattr(pair, side) for pair in corpus]) for side in ("source", "target"))
    batches = Batches(corpus, source, target, batch_size)
    torch.manual_seed(0)
    kind, settings = MODELS[name]
    spec = spec_of(kind)
    model = spec.build(len(source.vocab), len(target.vocab), **spec.complete(settings))
    training = Training(model, batches, batches, RECIPE)
    train = _ddp(model, training.optimizer, batches.pad, processes) if engine == "DDP" else training.update
    tokens, start = 0, 0.0
    order = batches.epoch(0)
    for number, group in enumerate(zip(*[order] * accumulate, strict=False)):
        if number == WARM_UP:
            processes.barrier()
            start = time.perf_counter()
        train(group)
        tokens += sum(batch.tokens for batch in group) * (number >= WARM_UP)
    processes.barrier()
    if processes.first:
        print(json.dumps(tokens / (time.perf_counter() - start)))


def _ddp(
    model: nn.Module, optimizer: torch.optim.Optimizer, pad: int, processes: Processes
) -> Callable[[Sequence[Batch]], object]:
    """An update as users of DDP write it."""
    loss = DistributedDataParallel(Loss(model, pad))

    def train(batches: Sequence[Batch]) -> None:
        optimizer.zero_grad()
        (share,) = processes.share(batches)
        tokens = sum(batch.tokens for batch in batches)
        (loss(share) * processes.world_size / tokens).backward()  # DDP divides by the number of processes
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return train


def speed(name: str, shape: tuple[int, int], count: int, engine: str) -> float:
    """Tokens a second of this many new processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    variables = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    group = [
        subprocess.Popen(
            [sys.executable, __file__, "--work", name, engine, *map(str, shape)],
            env={**os.environ, **variables, "RANK": str(rank), "SEQLEARN_DEVICE": "cpu"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    said = [process.communicate()[0] for process in group]
    if any(process.returncode for process in group):
        raise RuntimeError(f"{name}: a process of {count} has failed")
    return json.loads(said[0])


def main() -> None:
    """Measure, or do the work of one process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--work", nargs=4, help="used by the script itself")
    arguments = parser.parse_args()
    if arguments.work:
        name, engine, *shape = arguments.work
        return work(name, engine, *map(int, shape))
    several = f"{arguments.count} processes"
    ways = {"1 process": (1, ""), several: (arguments.count, ""), f"{several}, DDP": (arguments.count, "DDP")}
    for name, shape in itertools.product(MODELS, SHAPES):
        rounds = [{way: speed(name, shape, *options) for way, options in ways.items()} for _ in range(arguments.rounds)]
        print(f"{name}: an update of {shape[0]} x {shape[1]} pairs")
        for way in ways:
            best = max(each[way] for each in rounds)
            ratios = sorted(each[way] / each["1 process"] for each in rounds)
            print(f"  {way:18} {best:9,.0f} tokens/s   {best / max(each['1 process'] for each in rounds):.2f} times "
                  f"(rounds: {', '.join(f'{ratio:.2f}' for ratio in ratios)})")  # fmt: skip


if __name__ == "__main__":
    main()
