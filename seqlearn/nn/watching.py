"""Watching attention: its weights recorded, or replaced, while a block runs, and the map of one sentence.

While nobody watches, the weights need not exist: the fused kernel runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from .masking import Mask, as_mask

Edit = Callable[[Tensor, Tensor], Tensor]  # (weights, may be attended) -> weights


class Watched(nn.Module):
    """An attention layer, whose weights can be recorded and edited."""

    record: list[Tensor] | deque | None = None  # set for the time of a block; None: the weights need not exist
    edit: Edit | None = None  # set by edit_attention, likewise; such a layer has a record, too

    def watch(self, weights: Float[Tensor, "*axes queries keys"], mask: Mask | None) -> Tensor:
        """The weights that the layer is to use, edited and recorded. What `mask` hides stays 0."""
        if self.edit is not None:
            may = torch.ones_like(weights, dtype=torch.bool)
            may = may if mask is None else may & as_mask(mask, weights)
            edited = self.edit(weights, may)
            if edited.shape != weights.shape:
                raise ValueError(f"weights {tuple(weights.shape)} were edited to {tuple(edited.shape)}: keep the shape")
            weights = edited.masked_fill(~may, 0.0)
        if self.record is not None:
            self.record.append(weights.detach())
        return weights


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Collect the attention weights (before dropout) of every attention layer while the block runs.

    Yields a dictionary: the name of the layer -> one tensor `(batch, [heads,] queries, keys)` for each call. A layer
    is whatever module has an attribute `record`. Nothing is kept on the modules afterwards.
    """
    layers = {name: module for name, module in model.named_modules() if hasattr(module, "record")}
    record: dict[str, list[Tensor]] = {name: [] for name in layers}
    with _set("record", {layers[name]: kept for name, kept in record.items()}):
        yield record


@contextmanager
def edit_attention(model: nn.Module, edits: Mapping[str, Edit]) -> Iterator[None]:
    """Let attention layers use other weights than their own while the block runs: to find out what a head is good for.

    What `record_attention` records are the edited weights. An edit of the same layer further out is set aside.

    Args:
        edits: the name of a layer, as in `model.named_modules()` -> a function that gets its weights after the softmax,
            `(batch, [heads,] queries, keys)`, and a bool tensor of that shape, True = may be attended, and returns new
            weights of that shape. They need not sum to 1. What may not be attended gets 0, whatever it returns.

    Raises:
        ValueError: the model has no such layer, or a function returns another shape.
    """
    layers = {name: module for name, module in model.named_modules() if isinstance(module, Watched)}
    if missing := [name for name in edits if name not in layers]:
        raise ValueError(f"there is no attention {missing[0]!r} in the model; it has {', '.join(layers) or 'none'}")
    edited = {layers[name]: edit for name, edit in edits.items()}
    # A layer with a record is what every fast path steps aside for. What nobody asked for is thrown away.
    records = {layer: deque(maxlen=0) if layer.record is None else layer.record for layer in edited}
    with _set("edit", edited), _set("record", records):
        yield


@contextmanager
def _set(attribute: str, values: Mapping[nn.Module, object]) -> Iterator[None]:
    """Give layers this attribute while the block runs, and then what they had before."""
    before = {layer: getattr(layer, attribute) for layer in values}
    write = object.__setattr__  # past nn.Module, which would take an edit that is a module for a part of the layer
    for layer, value in values.items():
        write(layer, attribute, value)
    try:
        yield
    finally:
        for layer, value in before.items():
            write(layer, attribute, value)


KINDS = ("cross", "encoder", "causal", "kernel")


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """The attention of one sentence, with its tokens: what plots and views take.

    Args:
        weights: `(layers, heads, queries, keys)`, padding cut off. Two axes fewer are filled in.
        query_tokens, key_tokens: the rows and the columns, in reading order.
        kind: "cross", "encoder", "causal" or "kernel".
        mask: `(queries, keys)`, True = may be attended; None where everything may be.

    Raises:
        TypeError: the mask is not bool.
        ValueError: shapes do not match the tokens, a weight is not finite, or a row sums neither to 1 nor is masked.
    """

    weights: Float[Tensor, "*axes queries keys"]
    query_tokens: Sequence[str]
    key_tokens: Sequence[str]
    kind: str = "cross"
    mask: Bool[Tensor, "queries keys"] | None = None

    def __post_init__(self) -> None:
        weights = self.weights.detach()
        if not 2 <= weights.dim() <= 4:
            raise ValueError(f"weights are (layers, heads, queries, keys), got {tuple(weights.shape)}")
        weights = weights.reshape(*[1] * (4 - weights.dim()), *weights.shape).cpu()
        shape = (len(self.query_tokens), len(self.key_tokens))
        if self.kind not in KINDS:
            raise ValueError(f"kind is one of {', '.join(KINDS)}, not {self.kind!r}")
        if 0 in weights.shape or tuple(weights.shape[2:]) != shape:
            raise ValueError(f"weights {tuple(weights.shape)} do not fit {shape[0]} query and {shape[1]} key tokens")
        mask = torch.ones(shape, dtype=torch.bool) if self.mask is None else self.mask.cpu()
        if mask.dtype != torch.bool:
            raise TypeError(f"the mask of a map is bool, True = may be attended, not {mask.dtype}")
        if tuple(mask.shape) != shape:
            raise ValueError(f"mask {tuple(mask.shape)} does not fit {shape[0]} query and {shape[1]} key tokens")
        if not weights.isfinite().all():
            raise ValueError("weights hold NaN or infinity")
        tolerance = 1e-2 if weights.dtype in (torch.float16, torch.bfloat16) else 1e-3
        off = (weights.double().sum(-1) - mask.any(-1).double()).abs()  # layers, heads, queries
        if off.max() > tolerance:
            layer, head, query = (int(i) for i in torch.unravel_index(off.argmax(), off.shape))
            total = float(weights[layer, head, query].double().sum())
            raise ValueError(
                f"a row of weights sums to 1, or to 0 where all is masked: layer {layer}, head {head}, "
                f"query {query} ({self.query_tokens[query]!r}) sums to {total:.3f}"
            )
        weights = weights.float()
        if tolerance > 1e-3:  # rounded; what is made of this map is held to 1e-3
            totals = weights.sum(-1, keepdim=True)
            weights = weights / totals.where(totals > 0.5, 1.0)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "query_tokens", tuple(self.query_tokens))
        object.__setattr__(self, "key_tokens", tuple(self.key_tokens))
        object.__setattr__(self, "mask", None if self.mask is None else mask)

    def __repr__(self) -> str:
        layers, heads, queries, keys = self.weights.shape
        return f"AttentionMap({self.kind}, {layers} layers, {heads} heads, {queries} queries, {keys} keys)"
