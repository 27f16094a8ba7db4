"""Edits of attention weights, for `edit_attention`: functions of the weights and of what may be attended."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ..nn.contract import Model
from ..nn.recording import Edit, attention_layers, edit_attention
from ..runtime.values import as_int


def ablate(weights: Float[Tensor, "*axes"], may: Bool[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """Zero ablation: all weights become 0, so the head contributes nothing to the output."""
    return torch.zeros_like(weights)


def uniform(weights: Float[Tensor, "*axes"], may: Bool[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """The same weight for everything that may be attended: the head contributes the mean of the values."""
    return may / may.sum(-1, keepdim=True).clamp(min=1).to(weights.dtype)


def permuted(seed: int = 0) -> Edit:
    """An edit that puts the weights of each row in a random order, among the keys that may be attended."""
    generator = torch.Generator().manual_seed(seed)

    def edit(weights: Tensor, may: Tensor) -> Tensor:
        noise = torch.rand(weights.shape, generator=generator).to(weights.device)
        givers = torch.arange(may.shape[-1], device=may.device).masked_fill(~may, may.shape[-1]).argsort(-1)
        takers = noise.masked_fill(~may, 2.0).argsort(-1)  # in both, the keys that may be attended come first
        return torch.zeros_like(weights).scatter(-1, takers, weights.gather(-1, givers))

    return edit


def reweighted(row: int, column: int, weight: float) -> Edit:
    """An edit that sets one weight; the other weights of its row are scaled, so that the row still sums to 1.

    If the others were all 0, the other keys that may be attended get equal shares. A masked weight is left alone. An
    edit serves one reading: a layer that is called once for each token sees row 0 first, then row 1, and so on.

    Args:
        row, column: of the weight, counted from 0; without such a row or column, nothing is changed.
        weight: from 0 to 1.

    Raises:
        TypeError: row or column is not a whole number.
        ValueError: row or column is below 0, or the weight is not from 0 to 1.
    """
    row, column, seen = as_int("row", row, 0), as_int("column", column, 0), 0
    if not 0 <= weight <= 1:
        raise ValueError(f"a weight is from 0 to 1, not {weight}")

    def edit(weights: Tensor, may: Tensor) -> Tensor:
        nonlocal seen
        at, seen = row - seen, seen + weights.shape[-2]
        if not 0 <= at < weights.shape[-2] or column >= weights.shape[-1]:
            return weights
        before, open_keys = weights[..., at, :], may[..., at, :]
        others = open_keys.clone()
        others[..., column] = False
        rest = (before * others).sum(-1, keepdim=True)
        shares = torch.where(rest > 0, before / rest, others / others.sum(-1, keepdim=True).clamp(min=1))
        alone = ~others.any(-1, keepdim=True)  # the only key keeps all the weight
        after = torch.where(others, (1 - weight) * shares, torch.where(alone, 1.0, weight) * open_keys)
        edited = weights.clone()
        edited[..., at, :] = torch.where(open_keys[..., column : column + 1], after, before).to(weights.dtype)
        return edited

    return edit


def in_heads(edit: Edit, *heads: int) -> Edit:
    """An edit of these heads only, counted from 0. The other heads keep their weights.

    Raises:
        TypeError: the number of a head is not a whole number.
        ValueError: it is below 0. The edit itself raises this if a head is not there.
    """
    chosen = [as_int("head", head, 0) for head in heads]

    def only(weights: Tensor, may: Tensor) -> Tensor:
        if weights.dim() < 4:
            raise ValueError(f"this attention has no heads to choose from: its weights are {tuple(weights.shape)}")
        edited = weights.clone()
        as_int("head", max(chosen, default=0), 0, weights.shape[1] - 1)
        edited[:, chosen] = edit(weights, may)[:, chosen]
        return edited

    return only


def edit_heads(
    model: nn.Module | Model, heads: Iterable[tuple[str, int, int]], edit: Edit = ablate
) -> AbstractContextManager[None]:
    """A context in which these heads of a model are edited, such as ("encoder", 1, 3): kind, layer and head from 0.

    Raises:
        IndexError: the model has no such layer of this kind.
    """
    numbers: dict[str, list[int]] = {}
    for kind, layer, head in heads:
        numbers.setdefault([*attention_layers(model, kind)][layer], []).append(head)
    return edit_attention(model, {name: in_heads(edit, *chosen) for name, chosen in numbers.items()})
