"""Where the tensors live."""

from __future__ import annotations

import os

import torch


def best_device() -> torch.device:
    """The device that `SEQLEARN_DEVICE` names, else CUDA, else MPS (Apple silicon), else the CPU.

    Raises:
        ValueError: `SEQLEARN_DEVICE` names a device that this machine does not have.
    """
    wish = os.environ.get("SEQLEARN_DEVICE", "").strip()
    if not wish:
        return torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.mps.is_available() else "cpu")
    try:
        device = torch.device(wish)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise ValueError(f"SEQLEARN_DEVICE={wish!r} names no device of this machine; try cpu, cuda or mps") from None
    return device
