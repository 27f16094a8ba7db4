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
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous

from ..data.batches import Batch
from ..devices import best_device

JOIN = timedelta(minutes=2)  # how long a process waits at the start until all have come
ANSWER = timedelta(minutes=30)  # how long it waits for them later: the first may be busy with a hook of `fit`
MPI_COUNTS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")  # how MPI tells the number of processes


@dataclass(frozen=True)
class Processes:
    """The processes of a training, as one of them sees them. Every process calls the same methods in the same order.

    Args:
        rank: the number of this process, from 0.
        count: how many there are.
    """

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and shows what happens."""
        return self.rank == 0

    def share(self, batches: Sequence[Batch]) -> list[Batch]:
        """What this process computes of an update: whole batches if they can be shared evenly, else rows of each."""
        if len(batches) % self.count == 0:
            return list(batches[self.rank :: self.count])
        shares = [Batch(*(tensor[self.rank :: self.count] for tensor in batch)) for batch in batches]
        return [share for share in shares if len(share.source)]

    def add_up(self, model: nn.Module, loss: Float[Tensor, ""]) -> Float[Tensor, ""]:
        """Replace each gradient by its sum over all processes. Returns the sum of the losses."""
        if self.count == 1:
            return loss
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        gradients = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]
        together = torch.cat([each.flatten() for each in (*gradients, loss)])
        with _answers():
            dist.all_reduce(together)
        *parts, total = together.split([*(weight.numel() for weight in weights), 1])
        for weight, part in zip(weights, parts, strict=True):
            weight.grad = part.view_as(weight)
        return total.squeeze()

    def sum(self, *numbers: float) -> list[float]:
        """The sum of each number over all processes."""
        return self._reduced(numbers, torch.float64, dist.ReduceOp.SUM)

    def any(self, *flags: bool) -> list[bool]:
        """For each flag whether it is set in at least one process."""
        return [bool(flag) for flag in self._reduced(flags, torch.int64, dist.ReduceOp.MAX)]

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of all processes, on the CPU, by rank. All have the same shape."""
        if self.count == 1:
            return [tensor]
        tensors = [torch.empty_like(tensor) for _ in range(self.count)]
        with _answers():
            dist.all_gather(tensors, tensor)
        return tensors

    def wait(self) -> None:
        """Wait until all processes have come to this point."""
        self.any(False)

    def start_alike(self, model: nn.Module, data: str) -> None:
        """Give every process the weights of the first, and chance of its own: dropout differs between processes.

        Args:
            data: a text that must be the same in all processes, such as a fingerprint of the batches.

        Raises:
            ValueError: the text is another one in one of the processes.
        """
        if self.count == 1:
            return
        digest = hashlib.sha256(data.encode()).digest()
        if len({bytes(each.tolist()) for each in self.gather(torch.tensor(list(digest)))}) > 1:
            raise ValueError("the processes of this training have different data or options: give all of them the same")
        with _answers(), torch.no_grad():
            for weight in model.state_dict().values():
                dist.broadcast(weight, 0)
        self.own_chance()

    def own_chance(self) -> None:
        """Let the random numbers of this process differ from those of the first, whose state this process has."""
        if not self.first:
            torch.manual_seed(int(torch.randint(2**62, ())) + self.rank)

    def _reduced(self, numbers: Sequence[float], dtype: torch.dtype, how: dist.ReduceOp.RedOpType) -> list[float]:
        if self.count == 1:
            return list(numbers)
        tensor = torch.tensor(numbers, dtype=dtype)
        with _answers():
            dist.all_reduce(tensor, how)
        return tensor.tolist()


ALONE = Processes()


def join() -> Processes:
    """The processes that torchrun or `accelerate launch` has started; this one alone if no launcher did.

    Raises:
        ValueError: the launcher is of a kind that is not known, or this machine has too few GPUs.
        ConnectionError: the other processes do not come.
    """
    if not dist.is_available():
        return ALONE
    if not dist.is_initialized():
        count = int(os.environ.get("WORLD_SIZE") or 1)
        if count == 1 and max(int(os.environ.get(name) or 1) for name in MPI_COUNTS) > 1:
            raise ValueError("MPI has started several processes: start them with torchrun or accelerate launch")
        if count == 1:
            if "ACCELERATE_MIXED_PRECISION" in os.environ and best_device().type == "cpu":
                warnings.warn("accelerate launch starts one process on a CPU: torchrun starts several", stacklevel=1)
            return ALONE
        _meet(count)
    return Processes(dist.get_rank(), dist.get_world_size())


def _meet(count: int) -> None:
    """Wait for the other processes, and open the connections: gloo between processors, NCCL between GPUs."""
    device = best_device()
    if device.type == "mps":
        raise ValueError("several processes train on CPU or CUDA, not on mps: choose the device cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    try:
        store, rank, count = next(rendezvous("env://", timeout=JOIN))
    except ValueError as error:
        missing = str(error).partition("environment variable ")[2].partition(" ")[0]
        raise ValueError(f"WORLD_SIZE is {count}, but {missing} is not set: start with torchrun") from None
    except dist.DistError:
        raise ConnectionError(
            f"the {count} processes of this training did not meet within {JOIN.seconds} seconds: are all started, and "
            "is WORLD_SIZE right?"
        ) from None
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    with _answers():
        dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=ANSWER)
    atexit.register(dist.destroy_process_group)


@contextmanager
def _answers() -> Iterator[None]:
    """What fails while processes talk to each other becomes one sentence."""
    try:
        yield
    except RuntimeError as error:  # whatever gloo and NCCL say
        raise ConnectionError("another process of this training has ended, or does not answer") from error
