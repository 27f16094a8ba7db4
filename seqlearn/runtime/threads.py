"""How many threads PyTorch computes with on the CPU.

The operations of a small model are so short that threads mostly wait for each other. While they wait, they spin, unless
OMP_WAIT_POLICY is "passive" when PyTorch is imported. (The command line sets it; a script of your own has to.)

Two threads on two cores, training, beside one thread (`benchmarks/threads.py`):

    model                 parameters  spin, cores free  sleep, free  spin, cores busy  sleep, busy
    Bahdanau                   0.7 M       1.4 x speed          1.0               0.5          0.6
    Transformer, "small"       6.0 M               1.7          1.5               0.6          1.1
    Bahdanau of 1,024           27 M               1.3           -                0.7          1.3
    Transformer, "base"         45 M               1.5           -                0.9          1.7
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

SMALL = 4_000_000  # parameters: a model with fewer trains and searches about as fast with one thread
MOST = 1024  # threads: PyTorch would try to start any number


def threads_for(model: nn.Module) -> int:
    """The number of threads for training or searching this model on the CPU.

    `SEQLEARN_THREADS` decides, or else `OMP_NUM_THREADS`. Without either a model with fewer than `SMALL` parameters
    gets one thread. A larger one, or one on a GPU, gets as many as PyTorch uses now, by default one for each core.

    Raises:
        ValueError: `SEQLEARN_THREADS` is not a number of threads.
    """
    wish = os.environ.get("SEQLEARN_THREADS", "").strip()
    if wish:
        if not wish.isdecimal() or not 1 <= int(wish) <= MOST:
            raise ValueError(f"SEQLEARN_THREADS={wish!r} is not a number of threads from 1 to {MOST:,}")
        return int(wish)
    weights = list(model.parameters())
    small = sum(weight.numel() for weight in weights) < SMALL and all(weight.device.type == "cpu" for weight in weights)
    return 1 if small and "OMP_NUM_THREADS" not in os.environ else torch.get_num_threads()


@contextmanager
def fitting_threads(model: nn.Module) -> Iterator[None]:
    """Compute with `threads_for(model)` threads in this block, and afterwards with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads_for(model))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def where_it_runs(model: nn.Module) -> str:
    """The device of a model; if this is the CPU, with the number of threads: "cpu, 1 thread"."""
    device, threads = next(model.parameters()).device, threads_for(model)
    return f"{device}, {threads} thread{'s' * (threads > 1)}" if device.type == "cpu" else str(device)
