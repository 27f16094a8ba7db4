"""The option --device, which all commands have."""

from __future__ import annotations

import os
from typing import Annotated

import typer

Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1 or mps.", show_default="the best there is")]


def use(device: str) -> None:
    """Use this device from now on; an empty name leaves the choice to `seqlearn.devices.best_device`.

    Raises:
        ValueError: this machine has no such device.
    """
    from ..devices import best_device

    if device:
        os.environ["SEQLEARN_DEVICE"] = device
    best_device()  # an unknown name raises here, before any work
