"""Chooses the device that models and batches live on.

`Training` and `Translator` ask `best_device`. The option --device (`cli/devices.py`) only sets `SEQLEARN_DEVICE`.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor


def best_device(asked_by: str = "SEQLEARN_DEVICE=") -> torch.device:
    """The device that `SEQLEARN_DEVICE` names; without it CUDA, else MPS (Apple silicon), else the CPU.

    A name with an index is returned with its index: `cuda:1` is the second card. Where a launcher has started several
    processes on this machine, each gets a card of its own, by its `LOCAL_RANK`.

    Args:
        asked_by: what a message says before the name of a device that is not there.

    Raises:
        ValueError: `SEQLEARN_DEVICE` names a device that this machine does not have, or there are more processes than
            cards.
    """
    wish = os.environ.get("SEQLEARN_DEVICE", "").strip()
    if not wish and not torch.cuda.is_available():
        return torch.device("mps" if torch.mps.is_available() else "cpu")
    own = os.environ.get("LOCAL_RANK", "") if wish in ("", "cuda") else ""
    if own and not int(own) < torch.cuda.device_count():
        cards = torch.cuda.device_count()
        raise ValueError(f"process {int(own) + 1} of this machine needs a card of its own, and there are {cards}")
    if own or not wish:
        return torch.device(f"cuda:{own}" if own else "cuda")
    try:
        device = torch.device(wish)
        torch.zeros(1, device=device).item()  # fails on a card that is not there, and on "meta", which has no numbers
    except (RuntimeError, AssertionError):
        known = ", ".join(available_devices())
        raise ValueError(f"{asked_by}{wish!r} names no device of this machine, which has {known}") from None
    return device


def send(numbers: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor of the CPU to a device. The CPU does not wait until a GPU has done what it was told before."""
    return numbers.to(device, non_blocking=device.type == "cuda")


def to_list(tensor: Tensor) -> list[Any]:
    """The numbers of a tensor, in lists as deep as its axes: `tolist`, whose type PyTorch does not tell."""
    return tensor.tolist()


def available_devices() -> list[str]:
    """The names of this machine's devices, as `SEQLEARN_DEVICE` takes them: cpu, then cuda:0, cuda:1, ... or mps."""
    cards = [f"cuda:{index}" for index in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    return ["cpu", *cards, *(["mps"] if torch.mps.is_available() else [])]


def memory_of_machine() -> int | None:
    """The bytes of memory that this machine has; None if its system does not say (Windows)."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
