"""The attention of one sentence, with its tokens: the input of plots and views, for weights of any model.

For a translator, `Translator.attend` makes the map. For any other model, collect the weights and make the map yourself:

    from seqlearn import AttentionMap, AttentionView, stack_layers, torch_attention

A Hugging Face model returns its weights on request. Load the model with `attn_implementation="eager"`, because the
fused kernels return no weights:

    inputs = tokenizer(text, return_tensors="pt")
    tokens = tokenizer.convert_ids_to_tokens(inputs.input_ids[0])
    output = model(**inputs, output_attentions=True)
    weights = stack_layers(output.attentions)                         # of the first sentence
    AttentionView(AttentionMap(weights, tokens, tokens, "encoder"))   # a decoder-only model: "causal"

A model built from `torch.nn.MultiheadAttention` discards its weights. `torch_attention` keeps them:

    with torch_attention(model) as record:
        model(embedded)
    weights = stack_layers(calls[0] for calls in record.values())     # of the first call
    AttentionView(AttentionMap(weights, tokens, tokens, "encoder"))

Where a model has several kinds of attention, the names of the layers tell them apart. The decoder of PyTorch looks at
the source through its layers "multihead_attn", and back at the target through "self_attn":

    with torch_attention(decoder) as record:  # a torch.nn.TransformerDecoder
        decoder(target, memory, tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1]))
    cross = stack_layers(calls[0] for name, calls in record.items() if "multihead_attn" in name)
    causal = stack_layers(calls[0] for name, calls in record.items() if "self_attn" in name)
    AttentionView(AttentionMap(cross, target_tokens, source_tokens, "cross"))
    AttentionView(AttentionMap(causal, target_tokens, target_tokens, "causal"))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ..nn.recording import Kind
from ..runtime.arguments import as_tensor
from ..runtime.values import as_int

KINDS: tuple[str, ...] = get_args(Kind)
NO_WEIGHTS = (
    'the model gave no attention weights: load a Hugging Face model with attn_implementation="eager", and call it '
    "with output_attentions=True"
)

NOT_GENERATED = "call the model once on the whole text, as `generate` gives a tuple of layers for each new token"


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """The attention of one sentence, with its tokens.

    Args:
        weights: `(layers, heads, queries, keys)`, padding cut off; or `(heads, queries, keys)` or `(queries, keys)`. An
            array of NumPy, or a list of lists, becomes a tensor; so does a mask.
        query_tokens, key_tokens: the rows and the columns, in reading order.
        kind: "cross", "encoder", "causal" or "kernel", see `seqlearn.nn.recording.Kind`.
        mask: `(queries, keys)`, True = may be attended; None where everything may be attended.
        prompt: how many of the key tokens are the source with its <eos>, before <bos>: in causal attention of a
            decoder-only model. 0: the model has an encoder.

    Raises:
        TypeError: the mask is not bool, or weights or mask are not numbers.
        ValueError: there are no weights, the shapes do not match the tokens, a weight is not finite, below 0 or above
            0 where the mask is False, or a row does not sum to 1 (to 0 if the row is masked as a whole, or if the head
            is ablated: all its weights are 0).
    """

    weights: Float[Tensor, "*axes queries keys"]
    query_tokens: Sequence[str]
    key_tokens: Sequence[str]
    kind: str = "cross"
    mask: Bool[Tensor, "queries keys"] | None = None
    prompt: int = 0

    def __post_init__(self) -> None:
        if self.weights is None or (isinstance(self.weights, tuple | list) and not self.weights):
            raise ValueError(NO_WEIGHTS)
        weights = as_tensor("weights", self.weights).detach()
        if not 2 <= weights.dim() <= 4:
            raise ValueError(f"weights are (layers, heads, queries, keys), got {tuple(weights.shape)}")
        weights = weights.reshape(*[1] * (4 - weights.dim()), *weights.shape).cpu()
        shape = (len(self.query_tokens), len(self.key_tokens))
        if self.kind not in KINDS:
            raise ValueError(f"kind is one of {', '.join(KINDS)}, not {self.kind!r}")
        if 0 in weights.shape or tuple(weights.shape[2:]) != shape:
            raise ValueError(f"weights {tuple(weights.shape)} do not fit {shape[0]} query and {shape[1]} key tokens")
        mask = torch.ones(shape, dtype=torch.bool) if self.mask is None else as_tensor("mask", self.mask).cpu()
        if mask.dtype != torch.bool:
            raise TypeError(f"the mask of a map is bool, True = may be attended, not {mask.dtype}")
        if tuple(mask.shape) != shape:
            raise ValueError(f"mask {tuple(mask.shape)} does not fit {shape[0]} query and {shape[1]} key tokens")
        if not 0 <= self.prompt <= (shape[1] if self.kind == "causal" else 0):
            raise ValueError(f"{self.kind} attention to {shape[1]} key tokens has no prompt of {self.prompt}")
        if not weights.isfinite().all():
            raise ValueError("weights hold NaN or infinity")
        is_half = weights.dtype in (torch.float16, torch.bfloat16)
        tolerance = 1e-2 if is_half else 1e-3
        self._check_sums(weights, mask, tolerance)
        if weights.min() < -tolerance:
            raise ValueError(f"attention weights are not negative; the smallest is {float(weights.min()):.3g}")
        if (hidden := weights.masked_fill(mask, 0).max()) > tolerance:
            raise ValueError(f"where the mask is False, weights are 0; the largest is {float(hidden):.3g}")
        weights = weights.to(torch.float32, copy=True)
        if is_half:  # its rows sum to 1 up to 1e-2; maps made of it are checked with 1e-3
            totals = weights.sum(-1, keepdim=True)
            weights = weights / totals.where(totals > 0.5, 1.0)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "query_tokens", tuple(self.query_tokens))
        object.__setattr__(self, "key_tokens", tuple(self.key_tokens))
        object.__setattr__(self, "mask", None if self.mask is None else mask.clone())

    def _check_sums(self, weights: Tensor, mask: Tensor, tolerance: float) -> None:
        """Each row sums to 1, or to 0 where everything is masked; an ablated head has no weight at all."""
        speaks = weights.any(-1).any(-1).unsqueeze(-1)  # layers, heads, 1
        off = (weights.double().sum(-1) - (mask.any(-1) & speaks).double()).abs()  # layers, heads, queries
        if off.max() > tolerance:
            layer, head, query = (int(i) for i in torch.unravel_index(off.argmax(), off.shape))
            total = float(weights[layer, head, query].double().sum())
            raise ValueError(
                f"a row of weights sums to 1, or to 0 where all is masked: layer {layer}, head {head}, "
                f"query {query} ({self.query_tokens[query]!r}) sums to {total:.3f}"
            )

    def __repr__(self) -> str:
        layers, heads, queries, keys = self.weights.shape
        return f"AttentionMap({self.kind}, {layers} layers, {heads} heads, {queries} queries, {keys} keys)"


def stack_layers(
    attentions: Iterable[Float[Tensor, "batch heads queries keys"]] | None, sentence: int = 0
) -> Float[Tensor, "layers heads queries keys"]:
    """The weights of one sentence, from the weights of a batch in each layer.

    Args:
        attentions: for each layer, the weights of the same tokens.
        sentence: its number in the batch, from 0. Its padding is not cut off.

    Raises:
        TypeError: something is not a tensor: `generate` gives a tuple of tensors for each new token.
        ValueError: there are no weights, the layers differ in their tokens, or there is no such sentence.
    """
    layers = [layer for layer in attentions or () if layer is not None]
    if not layers:
        raise ValueError(NO_WEIGHTS)
    if not all(isinstance(layer, Tensor) for layer in layers):
        raise TypeError(f"the weights of a layer are a tensor, not a {type(layers[0]).__name__}: {NOT_GENERATED}")
    shapes = {tuple(layer.shape): None for layer in layers}
    if len(shapes) > 1:
        raise ValueError(
            f"the layers have weights of the shapes {', '.join(map(str, shapes))}: take layers of one kind, such as "
            "those of cross-attention, by their names"
        )
    sentence = as_int("sentence", sentence, 0, len(layers[0]) - 1)
    return torch.stack([layer[sentence] for layer in layers])


@contextmanager
def torch_attention(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Collect the weights of every `torch.nn.MultiheadAttention` in a model while the block runs.

    Yields a dictionary: the name of the layer -> one tensor `(batch, heads, queries, keys)` for each call. Layers of
    this package are recorded by `seqlearn.nn.recording.record_attention`.
    """
    record: dict[str, list[Tensor]] = {}

    def ask(layer: nn.Module, inputs: tuple, options: dict) -> tuple[tuple, dict]:
        return inputs, options | {"need_weights": True, "average_attn_weights": False}

    def keep(name: str):
        return lambda layer, inputs, outputs: record[name].append(outputs[1].detach())

    with ExitStack() as hooks:
        for name, layer in model.named_modules():
            if isinstance(layer, nn.MultiheadAttention):
                record[name] = []
                hooks.enter_context(layer.register_forward_pre_hook(ask, with_kwargs=True))
                hooks.enter_context(layer.register_forward_hook(keep(name)))
        yield record
