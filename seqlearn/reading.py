"""Reading attention: many maps of one sentence made into one, and measures of what a head looks at."""

from __future__ import annotations

import torch

from .nn.attention import AttentionMap


def average(attention: AttentionMap) -> AttentionMap:
    """The mean of all heads of all layers, as one map."""
    weights = attention.weights.mean((0, 1))
    return AttentionMap(weights, attention.query_tokens, attention.key_tokens, attention.kind, attention.mask)


def rollout(attention: AttentionMap) -> AttentionMap:
    """How much of each input token is in each output of the stack, if attention and residuals were all there is.

    A layer passes on half of a token as it is (the residual connection) and mixes the other half by the mean of its
    heads; the layers are multiplied, A_L ... A_1 with A = (mean + I) / 2. Abnar and Zuidema (2020), section 3. A token
    that attends to nothing is passed on whole.

    Raises:
        ValueError: cross- or kernel attention, whose rows and columns are different tokens: it cannot be multiplied.
    """
    if attention.kind not in ("encoder", "causal"):
        raise ValueError(f"rollout needs self-attention, encoder or causal; this is {attention.kind} attention")
    mixed = attention.weights.double().mean(1)  # layers, tokens, tokens
    same = torch.eye(mixed.shape[-1], dtype=torch.float64)
    mixed = (mixed + same) / (mixed + same).sum(-1, keepdim=True)
    total = same
    for layer in mixed:
        total = layer @ total
    mask = None if attention.mask is None else attention.mask | same.bool()
    return AttentionMap(total, attention.query_tokens, attention.key_tokens, attention.kind, mask)
