"""Recording and editing attention weights while a model runs.

Inside `with record_attention(model) as record:`, each attention layer appends its weights to `record[name]`, the list
under the name of the layer. Inside `with edit_attention(model, {name: edit}):`, the layer uses edited weights instead.
Outside these blocks the weights need not exist as a tensor: the fused kernel runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from .contract import Model
from .masking import Mask, as_mask

Edit = Callable[[Tensor, Tensor], Tensor]
"""Takes weights after the softmax, and a bool tensor (True = may be attended); returns the weights to use instead."""

Vectors = tuple[Tensor, Tensor, Tensor]
"""The queries, keys and values of one call, `(batch, [heads,] tokens, size)`, as the dot product gets them."""

Layer = TypeVar("Layer", bound=nn.Module)

Kind = Literal["cross", "encoder", "causal", "kernel"]
"""What an attention layer is for.

"cross": the decoder looks at the source. "encoder": source tokens look at each other. "causal": target tokens look at
those before them. "kernel": test points look at training points (kernel regression).
"""


class AttentionLayer(nn.Module):
    """The base class of attention layers: their weights can be recorded and edited."""

    kind: Kind | None = None  # set by the model that the layer is a part of
    record: list[Tensor] | deque[Tensor] | None = None  # set inside a `record_attention` or `edit_attention` block
    edit: Edit | None = None  # set inside an `edit_attention` block; the layer then has a record, too
    vectors: list[Vectors] | deque[Vectors] | None = None  # set inside a `record_vectors` block, with a record

    def expose(
        self, weights: Float[Tensor, "*axes queries keys"], mask: Mask | None
    ) -> Float[Tensor, "*axes queries keys"]:
        """Edit and record the weights if a block asks for it, and return the weights to use. Masked weights stay 0.

        Args:
            weights: after the softmax.
            mask: what may be attended, see `seqlearn.nn.masking.as_mask`.
        """
        if self.edit is not None:
            may = torch.ones_like(weights, dtype=torch.bool)
            may = may if mask is None else may & as_mask(mask, weights.shape, weights.device)
            edited = self.edit(weights, may)
            if edited.shape != weights.shape:
                raise ValueError(f"weights {tuple(weights.shape)} were edited to {tuple(edited.shape)}: keep the shape")
            weights = edited.masked_fill(~may, 0.0)
        if self.record is not None:
            self.record.append(weights.detach())
        return weights


def attention_layers(model: nn.Module | Model, kind: str | None = None) -> dict[str, nn.Module]:
    """The layers whose weights can be recorded, by their names in the model, from the lowest to the highest.

    An attention layer is an `AttentionLayer`, or any module with an attribute `record`.

    Args:
        kind: only the layers of this kind; default: all.
    """
    layers = {name: module for name, module in _named_modules(model) if hasattr(module, "record")}
    return {name: layer for name, layer in layers.items() if kind in (None, getattr(layer, "kind", None))}


def _named_modules(model: nn.Module | Model) -> Iterable[tuple[str, nn.Module]]:
    return model.named_modules()  # pyright: ignore[reportUnknownVariableType]  PyTorch does not say it


@contextmanager
def record_attention(model: nn.Module | Model) -> Generator[dict[str, list[Tensor]]]:
    """Collect the attention weights (before dropout) of every attention layer while the block runs.

    Yields a dictionary: the name of the layer -> one tensor `(batch, [heads,] queries, keys)` for each call. (Where the
    decoder of a Transformer reads the source in a beam search, the queries of a sentence are its hypotheses.) See
    `attention_layers` for the modules that are attention layers. Nothing is kept on the modules afterwards.
    """
    layers = attention_layers(model)
    record: dict[str, list[Tensor]] = {name: [] for name in layers}
    with _set("record", {layers[name]: weights for name, weights in record.items()}):
        yield record


@contextmanager
def record_vectors(model: nn.Module | Model) -> Generator[dict[str, list[Vectors]]]:
    """Collect queries, keys and values of every layer with dot products while the block runs, rotary positions applied.

    Yields a dictionary: the name of the layer -> one tuple `(queries, keys, values)` for each call. A layer whose
    scores are not dot products has no such weights. Nothing is kept on the modules afterwards.
    """
    layers = {name: module for name, module in _named_modules(model) if isinstance(module, AttentionLayer)}
    record: dict[str, list[Vectors]] = {name: [] for name in layers}
    with _keep_weights(layers.values()), _set("vectors", {layers[name]: calls for name, calls in record.items()}):
        yield record


@contextmanager
def edit_attention(model: nn.Module | Model, edits: Mapping[str, Edit]) -> Generator[None]:
    """Make attention layers use other weights than their own while the block runs, to find out what a head is good for.

    `record_attention` records the edited weights. Inside a second block for the same layer, only its own edit counts.

    Args:
        edits: the name of a layer, as in `model.named_modules()` -> a function that gets the weights after the softmax,
            `(batch, [heads,] queries, keys)`, and a bool tensor of that shape, True = may be attended, and returns new
            weights of that shape. They need not sum to 1. Masked weights become 0, whatever the function returns.

    Raises:
        ValueError: the model has no such layer, or a function returns another shape.
    """
    layers = {name: module for name, module in _named_modules(model) if isinstance(module, AttentionLayer)}
    if missing := [name for name in edits if name not in layers]:
        raise ValueError(f"there is no attention {missing[0]!r} in the model; it has {', '.join(layers) or 'none'}")
    edited = {layers[name]: edit for name, edit in edits.items()}
    with _set("edit", edited), _keep_weights(edited):
        yield


def _keep_weights(layers: Iterable[AttentionLayer]) -> AbstractContextManager[None]:
    """Make each layer compute its weights as a tensor: it does so only while it has a record.

    A deque of length 0 discards the weights of a layer that nobody records.
    """
    nowhere = deque[Tensor](maxlen=0)
    return _set("record", {layer: nowhere if layer.record is None else layer.record for layer in layers})


@contextmanager
def remember_last(layers: Iterable[AttentionLayer]) -> Generator[None]:
    """Make each layer keep at least the weights and vectors of its last call, for a hook that needs them."""
    layers = list(layers)
    weights = {each: each.record if isinstance(each.record, list) else deque[Tensor](maxlen=1) for each in layers}
    vectors = {each: each.vectors if isinstance(each.vectors, list) else deque[Vectors](maxlen=1) for each in layers}
    with _set("record", weights), _set("vectors", vectors):
        yield


@contextmanager
def _set(attribute: str, values: Mapping[Layer, object]) -> Generator[None]:
    """Give each layer this attribute while the block runs; afterwards, the layers have their old values again."""
    before = {layer: getattr(layer, attribute) for layer in values}
    write = object.__setattr__  # nn.Module's own would register an edit that is a module as a part of the layer
    for layer, value in values.items():
        write(layer, attribute, value)
    try:
        yield
    finally:
        for layer, value in before.items():
            write(layer, attribute, value)
