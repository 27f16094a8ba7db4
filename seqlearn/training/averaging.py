"""The mean of the weights at the ends of the last epochs, which often is better than the weights of the last one.

The mean of the last checkpoints: Vaswani et al. (2017), section 6.1. Training itself goes on with its own weights.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from .storage import weights_of

Weights = dict[str, Tensor]  # by name; tied ones under one of their names


def copied(model: nn.Module) -> Weights:
    """A copy of the weights of a model."""
    return {name: tensor.detach().clone() for name, tensor in weights_of(model).items()}


def mean_of(ends: Sequence[Weights]) -> Weights:
    """The mean of each weight. Other tensors, such as counts, are those of the last.

    Half precision is summed in float32. The mean of a single one is that one, bit for bit.
    """
    return {name: _mean([end[name] for end in ends]) for name in ends[-1]}


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    last = tensors[-1]
    if not last.is_floating_point() or len(tensors) == 1:
        return last
    total = torch.zeros_like(last, dtype=torch.promote_types(last.dtype, torch.float32))
    for tensor in tensors:
        total += tensor
    return (total / len(tensors)).to(last.dtype)


@contextmanager
def using_weights(model: nn.Module, weights: Mapping[str, Tensor] | None) -> Generator[None]:
    """Inside, the model has these weights; afterwards it has its own again. None: its own all the time."""
    if weights is None:
        yield
        return
    own = copied(model)
    try:
        _put(model, weights)
        yield
    finally:
        _put(model, own)


def _put(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    model.load_state_dict(weights, strict=False)  # not strict: of tied weights the other names are missing
