"""Weights in one safetensors file: nothing is ever unpickled, and a crash leaves the old file or the new one whole."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_model
from torch import Tensor, nn


def save_weights(model: nn.Module, path: str | Path) -> None:
    """Write the weights beside the old file, then put the new one in its place in a single step."""
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
    """Fill the model with stored weights.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, or holds the weights of another model.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        weights = load_file(path, device=str(device))
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file: {error}") from None
    _complete(weights, model.state_dict())
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    wrong = [name for name in sorted(expected.keys() | found.keys()) if expected.get(name) != found.get(name)]
    if wrong:
        name = wrong[0]
        raise ValueError(
            f"{path} does not fit the model: {name} is {found.get(name, 'missing')} there and "
            f"{expected.get(name, 'missing')} here ({len(wrong)} such weights)"
        )
    model.load_state_dict(weights)


def _complete(weights: dict[str, Tensor], state: dict[str, Tensor]) -> None:
    """Give tied weights, of which the file holds one, all their names."""
    stored = {state[name].data_ptr(): name for name in weights if name in state}
    for name in state.keys() - weights.keys():
        if state[name].data_ptr() in stored:
            weights[name] = weights[stored[state[name].data_ptr()]]
