"""Several processes that train one model together: one for each GPU, or for each core of the processor.

    torchrun --nproc-per-node 2 -m seqlearn train --out my-model

Each process has the whole model. In each update a process computes the gradient for its share of the pairs; then all
processes add their gradients up and change their weights alike. The pairs of an update do not depend on the number of
processes, so the weights do not either, but for rounding.

`DistributedDataParallel` (Li et al., 2020) sends gradients while others are still computed, but wants to be called in
place of the model and a share for every process. One sum of all gradients for each update is less code, and
`benchmarks/processes.py` finds no difference in speed.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous  # pyright: ignore[reportUnknownVariableType]  PyTorch leaves the types out
from tqdm import tqdm

from ..data.batches import Batch
from ..runtime.devices import best_device

JOIN_TIMEOUT = timedelta(minutes=2)  # how long a process waits at the start until all have come
TIMEOUT = timedelta(minutes=30)  # how long it waits for them later: the first may be busy with a hook of `fit`
SILENCE = timedelta(minutes=1)  # after which a process says that it waits
POLL = timedelta(seconds=1)  # how often a process that waits hears signals: PyTorch itself would hear none


@dataclass(frozen=True)
class Processes:
    """The processes of a training, as one of them sees them. Every process calls the same methods in the same order.

    Args:
        rank: the number of this process, from 0.
        world_size: how many there are.
        stop: whether this process was asked to stop. Then it does not wait for the others any longer than `SILENCE`.
    """

    rank: int = 0
    world_size: int = 1
    stop: Callable[[], bool] = lambda: False

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and shows what happens."""
        return self.rank == 0

    def share(self, batches: Sequence[Batch]) -> list[Batch]:
        """What this process computes of an update: whole batches if they can be shared evenly, else rows of each."""
        if len(batches) % self.world_size == 0:
            return list(batches[self.rank :: self.world_size])
        shares = [Batch(*(tensor[self.rank :: self.world_size] for tensor in batch)) for batch in batches]
        return [share for share in shares if len(share.source)]

    def all_reduce(self, model: nn.Module, loss: Float[Tensor, ""]) -> Float[Tensor, ""]:
        """Replace each gradient by its sum over all processes. Returns the sum of the losses.

        All gradients are joined into one tensor (`cat`): for the time of the sum they take twice the memory.
        """
        if self.world_size == 1:
            return loss
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        gradients = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]
        together = torch.cat([each.flatten() for each in (*gradients, loss)])
        self._collective(together, COLLECTIVES.all_reduce)
        *parts, total = torch.split(together, [*(weight.numel() for weight in weights), 1])
        for weight, part in zip(weights, parts, strict=True):
            weight.grad = part.view_as(weight)
        return total.squeeze()

    def sum(self, *numbers: float) -> list[float]:
        """The sum of each number over all processes."""
        return self._all_reduce(numbers, torch.float64, dist.ReduceOp.SUM)

    def any(self, *flags: bool) -> list[bool]:
        """For each flag whether it is set in at least one process."""
        return [bool(flag) for flag in self._all_reduce(flags, torch.int64, dist.ReduceOp.MAX)]

    def all_gather(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of all processes, on the CPU, by rank. All have the same shape."""
        if self.world_size == 1:
            return [tensor]
        tensors = [torch.empty_like(tensor) for _ in range(self.world_size)]
        self._collective(tensor, partial(COLLECTIVES.all_gather, tensors))
        return tensors

    def barrier(self) -> None:
        """Wait until all processes have come to this point."""
        self.any(False)

    def synchronize(self, model: nn.Module, options: str) -> None:
        """Give every process the weights of the first, and random numbers of its own: dropout differs.

        Args:
            options: a text that must be the same in all processes: options, a fingerprint of the batches.

        Raises:
            ValueError: the text is another one in one of the processes.
        """
        if self.world_size == 1:
            return
        digest = torch.tensor(list(hashlib.sha256(options.encode()).digest()))
        if not all(digest.equal(each) for each in self.all_gather(digest)):
            raise ValueError("the processes of this training have different data or options: give all of them the same")
        with torch.no_grad():
            for weight in model.state_dict().values():
                self._collective(weight, COLLECTIVES.broadcast, 0)
        self.seed_by_rank()

    def seed_by_rank(self) -> None:
        """Seed the random generator anew: this process has that of the first, and shall draw other numbers."""
        if not self.first:
            seed = int(torch.randint(2**62, ())) + self.rank
            torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]  PyTorch leaves the types out

    def _all_reduce(self, numbers: Sequence[float], dtype: torch.dtype, how: dist.ReduceOp.RedOpType) -> list[float]:
        if self.world_size == 1:
            return list(numbers)
        tensor = torch.tensor(numbers, dtype=dtype)
        self._collective(tensor, COLLECTIVES.all_reduce, how)
        return [*map(float, tensor)]

    def _collective(self, tensor: Tensor, operation: Callable[..., dist.Work | None], *args: object) -> None:
        """Carry out an operation of all processes on a tensor, and wait until all have done their part.

        A process that was stopped or is busy answers late. Then a sentence says so, and signals are heard.

        Raises:
            ConnectionError: another process has ended; or it is silent, and this one was asked to stop.
        """
        with _one_sentence():
            work = operation(tensor, *args, async_op=True)
        assert work is not None, "this process is one of the group"
        start, said = time.monotonic(), False
        UNANSWERED.append(work)
        while not tensor.is_cuda and not work.is_completed():  # on a GPU, nobody waits here
            with suppress(RuntimeError):  # the time is over; or the operation has failed, and raises again below
                work.wait(POLL)
            waited = time.monotonic() - start
            if waited > SILENCE.total_seconds() and not work.is_completed():
                if self.stop():
                    raise ConnectionError("another process of this training does not answer, so this one just ends")
                if not said:
                    tqdm.write(WAITING.format(self.rank + 1, self.world_size, waited), file=sys.stderr)
                said = True
        UNANSWERED.remove(work)
        with _one_sentence():
            work.wait()


ALONE = Processes()
COLLECTIVES: Any = dist  # PyTorch leaves the types of these functions out
UNANSWERED: list[dist.Work] = []  # operations that this process waits for, or has given up
WAITING = (
    "seqlearn: process {} of {} has waited {:.0f} seconds for another process of this training, which is busy or was "
    "stopped. Ctrl-C ends this one."
)


def init_processes() -> Processes:
    """The processes that torchrun or `accelerate launch` has started; this one alone if no launcher did.

    Raises:
        ValueError: the launcher is of a kind that is not known, or this machine has too few GPUs.
        ConnectionError: the other processes do not come.
    """
    if not dist.is_available():
        return ALONE
    if not dist.is_initialized():
        world_size = int(os.environ.get("WORLD_SIZE") or 1)
        if world_size == 1:
            return ALONE
        _init_process_group(world_size)
    return Processes(dist.get_rank(), dist.get_world_size())


def _init_process_group(count: int) -> None:
    """Wait for the other processes, and open the connections: gloo between processors, NCCL between GPUs."""
    device = best_device()
    if device.type == "mps":
        raise ValueError("several processes train on CPU or CUDA, not on mps: choose the device cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    try:
        store, rank, count = next(rendezvous("env://", timeout=JOIN_TIMEOUT))
    except ValueError as error:
        missing = str(error).partition("environment variable ")[2].partition(" ")[0]
        raise ValueError(f"WORLD_SIZE is {count}, but {missing} is not set: start with torchrun") from None
    except dist.DistError:
        raise ConnectionError(
            f"the {count} processes of this training did not meet within {JOIN_TIMEOUT.seconds} seconds: are all "
            "started, and is WORLD_SIZE right?"
        ) from None
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    with _one_sentence():
        dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=TIMEOUT)
    atexit.register(_destroy_process_group)


def _destroy_process_group() -> None:
    """Close the connections. This waits for what is unanswered: so after it was given up, just end."""
    if not all(work.is_completed() for work in UNANSWERED):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    dist.destroy_process_group()


@contextmanager
def _one_sentence() -> Generator[None]:
    """What fails while processes talk to each other becomes one sentence."""
    try:
        yield
    except RuntimeError as error:  # whatever gloo and NCCL say
        raise ConnectionError("another process of this training has ended, or does not answer") from error
