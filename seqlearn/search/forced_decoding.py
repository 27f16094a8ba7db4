"""Forced decoding: a model reads a given target, and we keep its logits and attention weights for each token."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from ..nn.contract import Model, eval_mode
from ..nn.recording import attention_layers, record_attention


@dataclass(frozen=True)
class ForcedDecoding:
    """What a model computed while it read a given target.

    Args:
        logits: `logits[:, i]` are those of the token after the first `i + 1` tokens.
        weights: the attention weights `(batch, [heads,] queries, keys)` of each layer, by its name in the model, before
            dropout; padding is not cut off. The queries of a decoder's layer are the tokens that were read. In a
            decoder-only model the source comes before them, its padding on the left.
        kinds: the kind of each of these layers ("cross", "encoder" or "causal"; None for a layer without a kind), by
            name.
    """

    logits: Float[Tensor, "batch steps vocab"]
    weights: dict[str, Tensor]
    kinds: dict[str, str | None]

    @property
    def prompt(self) -> int:
        """How many positions come before the tokens in causal attention: in a decoder-only model, the padded source."""
        keys = (weights.shape[-1] for name, weights in self.weights.items() if self.kinds[name] == "causal")
        steps = self.logits.shape[1]
        return next(keys, steps) - steps

    def attention(self, kind: str) -> Float[Tensor, "batch layers heads queries keys"] | None:
        """The weights of all layers of this kind, from the lowest to the highest; None if there is no such layer."""
        layers = [weights for name, weights in self.weights.items() if self.kinds[name] == kind]
        if not layers:
            return None
        with_heads = [weights if weights.dim() == 4 else weights.unsqueeze(1) for weights in layers]
        return torch.stack(with_heads, dim=1)


def forced_decoding(
    model: Model,
    source: Int[Tensor, "batch source"],
    source_lens: Int[Tensor, "batch"],
    tokens: Int[Tensor, "batch steps"],
) -> ForcedDecoding:
    """Let a model, in eval mode and without gradients, read the target `tokens`, <bos> first, all at once.

    Args:
        source, source_lens: padded ids and valid lengths, on the device of the model.
    """
    with eval_mode(model), record_attention(model) as record:
        state = model.decoder.init_state(model.encoder(source, source_lens))
        logits, _ = model.decoder(tokens, state)
    # A layer that is called once for each token has recorded one row of weights in each call. The rows are joined
    # outside of inference mode, so that autograd may use the result.
    weights = {name: _join(calls).cpu() for name, calls in record.items() if calls}
    layers = attention_layers(model)
    return ForcedDecoding(logits, weights, {name: getattr(layers[name], "kind", None) for name in weights})


def _join(calls: list[Tensor]) -> Float[Tensor, "batch *heads queries keys"]:
    """The rows of all calls. A call that had fewer keys, because later tokens did not exist yet, has weight 0 there."""
    most = max(weights.shape[-1] for weights in calls)
    return torch.cat([F.pad(weights, (0, most - weights.shape[-1])) for weights in calls], dim=-2)
