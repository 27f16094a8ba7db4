"""Weights in one safetensors file. Nothing is ever unpickled, and a crash leaves either the old file or the new one."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_model
from torch import Tensor, nn


def save_weights(model: nn.Module, path: str | Path) -> None:
    """Write the weights to a new file beside the old one, then replace the old one in a single step."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    try:
        save_model(model, str(beside))
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def load_weights(model: nn.Module, path: str | Path, device: torch.device | str = "cpu") -> None:
    """Fill the model with stored weights. If they do not fit, the model stays as it is.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, or its names and shapes are not those of the model.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        weights = load_file(path, device=str(device))
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file: {error}") from None
    _add_tied_names(weights, model.state_dict())
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    stored = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    wrong = [name for name in sorted(expected.keys() | stored.keys()) if expected.get(name) != stored.get(name)]
    if wrong:
        name = wrong[0]
        raise ValueError(
            f"{path} does not fit the model: {name} is {stored.get(name, 'missing')} there and "
            f"{expected.get(name, 'missing')} here ({len(wrong)} such weights)"
        )
    model.load_state_dict(weights)


def _add_tied_names(weights: dict[str, Tensor], state: dict[str, Tensor]) -> None:
    """Add the other names of tied weights: the file holds each tensor under one name only."""
    stored = {state[name].data_ptr(): name for name in weights if name in state}
    for name in state.keys() - weights.keys():
        if state[name].data_ptr() in stored:
            weights[name] = weights[stored[state[name].data_ptr()]]
