"""Tensors, and the texts that belong to them, in one safetensors file.

Nothing is ever unpickled. A file is written beside the old one, synced to the disk and put in place by one rename, so a
crash at any moment leaves the whole old file or the whole new one. A checksum over names, types, shapes, bytes and
texts tells a damaged file from a whole one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from ..runtime.ownership import replacing

CHECKSUM = "sha256"  # the name of the checksum among the texts of a file


@dataclass(frozen=True)
class Stored:
    """The content of a file that `write_file` wrote. `checked` is False if the file has no checksum."""

    tensors: dict[str, Tensor]
    texts: dict[str, str]
    checked: bool


def write_file(path: str | Path, tensors: Mapping[str, Tensor], texts: Mapping[str, str] | None = None) -> None:
    """Write tensors and texts to one file, in one step.

    Raises:
        ValueError: a tensor holds NaN, infinity or numbers of 8 bits. The old file, if there is one, stays.
        OSError: the file cannot be written. The old file, if there is one, stays.
    """
    path, texts = Path(path), dict(texts or {})
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    if fault := _fault(tensors):
        raise ValueError(f"{fault}, so {path} was not written")
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as new:
        new.write_bytes(save(tensors, {**texts, CHECKSUM: checksum(tensors, texts)}))


def _bytes_of(tensor: Tensor) -> memoryview:
    return tensor.cpu().contiguous().flatten().view(torch.uint8).numpy().data


def read_file(path: str | Path) -> Stored:
    """Read a file. Tensors and texts come from the same version of the file, even if it is replaced meanwhile.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, or a tensor holds NaN, infinity or numbers of 8 bits.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    content = path.read_bytes()  # at once: `safe_open` opens the path again for the tensors, and may find a newer file
    try:
        tensors = load(content)
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file: {error}") from None
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    texts: dict[str, str] = header.get("__metadata__") or {}
    stored = texts.pop(CHECKSUM, None)
    if stored is not None and stored != checksum(tensors, texts):
        raise ValueError(f"{path} is damaged: its content does not have the checksum that was stored with it")
    if fault := _fault(tensors):
        raise ValueError(f"{path} cannot be used: {fault}")
    return Stored(tensors, texts, checked=stored is not None)


def checksum(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> str:
    """SHA-256 over all tensors (names, types, shapes and bytes) and texts, in the order of their names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(_bytes_of(tensor))
    for name, text in sorted(texts.items()):
        digest.update(f"{name} {len(text)}\n{text}\n".encode())
    return digest.hexdigest()


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a model by name. Tied weights, which are one tensor under several names, are there once."""
    unique: dict[tuple[int, torch.Size], str] = {}
    state = model.state_dict()
    for name, tensor in state.items():
        unique.setdefault((tensor.data_ptr(), tensor.shape) if tensor.numel() else (id(tensor), tensor.shape), name)
    return {name: state[name] for name in unique.values()}


def fill(model: nn.Module, weights: Mapping[str, Tensor], path: str | Path) -> None:
    """Fill a model with the weights of a file. If they do not fit, the model stays as it is.

    Args:
        weights: by name, tied ones under one of their names.
        path: the file, for the error.

    Raises:
        ValueError: names, shapes or kinds of numbers are not those of the model.
    """
    model.load_state_dict(fitting(model, weights, path))


def fitting(model: nn.Module, weights: Mapping[str, Tensor], path: str | Path) -> dict[str, Tensor]:
    """These weights under all names of the model. Args and Raises: see `fill`."""
    state, weights = model.state_dict(), dict(weights)
    _add_tied_names(weights, state)
    expected = {name: tuple(tensor.shape) for name, tensor in state.items()}
    stored = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    wrong = [name for name in sorted(expected.keys() | stored.keys()) if expected.get(name) != stored.get(name)]
    if wrong:
        name = wrong[0]
        raise ValueError(
            f"{path} does not fit the model: {name} is {stored.get(name, 'missing')} there and "
            f"{expected.get(name, 'missing')} here ({len(wrong)} such weights)"
        )
    tied: dict[tuple[int, torch.Size], Tensor] = {}
    for name, tensor in sorted(weights.items()):  # a file has them in any order
        if tensor.is_floating_point() != state[name].is_floating_point() or tensor.is_complex():
            raise ValueError(f"{path} does not fit the model: {name} is {tensor.dtype} there, {state[name].dtype} here")
        if not torch.equal(tied.setdefault((state[name].data_ptr(), tensor.shape), tensor), tensor):
            raise ValueError(f"{path} does not fit the model: {name} is a weight of its own there, and shared here")
    return weights


def save_weights(model: nn.Module, path: str | Path) -> None:
    """Write the weights of a model to one file, in one step. Raises: see `write_file`."""
    write_file(path, weights_of(model))


def load_weights(model: nn.Module, path: str | Path) -> None:
    """Fill a model with the weights of a file. If they do not fit, the model stays as it is.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, or its weights are not those of the model.
    """
    fill(model, read_file(path).tensors, path)


def _fault(tensors: Mapping[str, Tensor]) -> str:
    """What is wrong with the numbers of the first such tensor; an empty string if nothing is."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() or tensor.is_complex():
            if tensor.dtype.itemsize == 1:
                return f"{name} holds {tensor.dtype}, and a number with a fraction has 16 bits at least"
            if not tensor.isfinite().all():
                return f"{name} holds NaN or infinity"
    return ""


def _add_tied_names(weights: dict[str, Tensor], state: dict[str, Tensor]) -> None:
    """Add the other names of tied weights: the file holds each tensor under one name only."""
    stored = {state[name].data_ptr(): name for name in weights if name in state}
    for name in state.keys() - weights.keys():
        if state[name].data_ptr() in stored:
            weights[name] = weights[stored[state[name].data_ptr()]]
