"""The options --device and --threads, which all commands have that compute."""

from __future__ import annotations

import os
from typing import Annotated

import typer

Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1 or mps.", show_default="the best there is")]

Threads = Annotated[
    int | None,
    typer.Option(min=1, max=1024, help="Threads on the CPU.", show_default="1 for a small model, else all cores"),
]


def use(device: str, threads: int | None = None) -> None:
    """Use this device and this many threads from now on.

    An empty name leaves the choice to `runtime.devices.best_device`, None leaves it to `runtime.threads.threads_for`.

    Raises:
        ValueError: this machine has no such device.
    """
    from ..runtime.devices import best_device

    if threads is not None:
        os.environ["SEQLEARN_THREADS"] = str(threads)
    if device:
        os.environ["SEQLEARN_DEVICE"] = device
    best_device("--device " if device else "SEQLEARN_DEVICE=")  # an unknown name raises here, before any work
