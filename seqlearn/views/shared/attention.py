"""The data of one attention map, as `attention.js` and `head_maps.js` draw it; checks of what may be locked in it.

`AttentionView` and `TranslatorView` share these parts.
"""

from __future__ import annotations

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from ...analysis.attention_map import AttentionMap
from ...analysis.measures import mean_of_heads, rollout
from .arguments import as_text
from .constants import AXIS_NAMES, EXACT, FULL, LARGEST, THUMB
from .packing import pack
from .types import Data, Lock


def map_data(attention: AttentionMap) -> Data:
    """All that the browser draws of one map: weights, means, rollout, and a small map of every head."""
    weights = attention.weights.clamp(0, 1)
    flow = rollout(attention).weights if has_rollout(attention) else None
    peak = max(float(part.max()) for part in (weights, flow) if part is not None)
    full = next((limit for limit in FULL if 0 < peak <= limit), 1.0)
    key_name, query_name = AXIS_NAMES[attention.kind]
    thumbs = F.adaptive_max_pool2d(weights, [min(THUMB, count) for count in weights.shape[2:]])
    return {
        "kind": attention.kind,
        "queries": list(map(as_text, attention.query_tokens)),
        "keys": list(map(as_text, attention.key_tokens)),
        "names": {"query": query_name, "key": key_name},
        "mask": None if attention.mask is None else pack(attention.mask, "uint8"),
        "full": full,
        "weights": pack_weights(weights),
        "means": pack_weights(mean_of_heads(weights)),
        "average": pack_weights(mean_of_heads(weights.flatten(0, 1))),
        "rollout": None if flow is None else pack_weights(flow[0, 0]),
        "thumbs": pack((255 * (thumbs / full).clamp(max=1)).round(), "uint8"),
    }


def pack_weights(weights: Float[Tensor, "..."]) -> Data:
    """The weights as they are or, if there are very many, as whole numbers up to 65,535."""
    if weights.numel() <= EXACT:
        return pack(weights)
    return pack((LARGEST * weights).round(), "uint16")


def has_rollout(attention: AttentionMap) -> bool:
    """Whether queries and keys are the same tokens, so that the layers can be multiplied."""
    queries, keys = attention.weights.shape[2:]
    return attention.kind in ("encoder", "causal") and queries == keys


def wrong_lock(locked: Lock | None, queries: int, keys: int) -> str:
    """What is wrong with a locked target, in one sentence; empty if nothing is wrong."""
    if locked is None:
        return ""
    what, *at = list(locked) or [None]
    counts = {"query": [queries], "key": [keys], "pair": [queries, keys]}.get(what if isinstance(what, str) else "")
    if counts is None or len(at) != len(counts) or not all(type(index) is int for index in at):
        return f"locked is ['query', i], ['key', j], ['pair', i, j] or None, not {locked}"
    if not all(0 <= index < count for index, count in zip(at, counts, strict=True)):
        return f"there is no {what} {', '.join(map(str, at))}: there are {queries} queries and {keys} keys"
    return ""
