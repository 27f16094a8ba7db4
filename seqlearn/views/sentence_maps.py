"""What `AttentionView` is made of: its checks, its record, and the small maps of all heads as one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch.nn.functional as F
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from ..attention_map import AttentionMap
from ..reading import average, rollout
from .base import as_text, pack
from .maps import AXIS_NAMES, CMAP, MOST_PANELS

SHOWS = {  # as titles
    "head": "layer {layer}, head {head}",
    "layer": "mean of layer {layer}",
    "all": "mean of all heads",
    "rollout": "rollout",
}
MOST_TOKENS = 256
FULL = (0.02, 0.05, 0.1, 0.2, 0.5)  # weights of the brightest colour, where no weight is larger; else 1
EXACT = 2**18  # so many weights are sent in full, 1 MB; more as 65,536 steps (error 0.000008)
THUMB = 32  # pixels of a small map; of longer sentences each pixel is the largest of its weights


def frame(ax: Axes, box: tuple[float, float, float, float]) -> None:
    """A white and black frame, to be seen on every colour, around x, y, width, height."""
    for color, width in (("white", 4.5), ("black", 2.0)):
        ax.add_patch(Rectangle(box[:2], *box[2:], fill=False, color=color, linewidth=width, clip_on=False))


def draw_heads(ax: Axes, thumbs: np.ndarray, show: str, layer: int, head: int) -> None:
    """All small maps as one picture (64 axes would take seconds), and a frame around what is shown."""
    layers, heads, rows, columns = thumbs.shape
    high, wide = rows + max(1, rows // 10), columns + max(1, columns // 10)  # with the gap after it
    picture = np.full((layers, high, heads, wide), np.nan)
    picture[:, :rows, :, :columns] = thumbs.transpose(0, 2, 1, 3)
    extent = (0, heads, layers, 0)
    flat = picture.reshape(layers * high, heads * wide)
    ax.imshow(flat, cmap=CMAP, vmin=0, vmax=255, interpolation="nearest", extent=extent)
    boxes = {"head": (head, layer, 1, 1), "layer": (0, layer, heads, 1)}
    x, y, across, down = boxes.get(show, (0, 0, heads, layers))
    frame(ax, (x, y, across - 1 + columns / wide, down - 1 + rows / high))
    ax.set(xlabel="head", ylabel="layer", title="every head", frame_on=False)
    ax.set_xticks([i + columns / wide / 2 for i in range(heads)], range(heads))
    ax.set_yticks([i + rows / high / 2 for i in range(layers)], range(layers))
    ax.tick_params(length=0)


def attention_record(maps: Mapping[str, AttentionMap]) -> dict[str, Any]:
    """All that the browser draws: weights, what `seqlearn.reading` makes of them, and a small map of every head."""
    return {"maps": [_drawn(attention) for attention in maps.values()]}


def _drawn(attention: AttentionMap) -> dict[str, Any]:
    weights = attention.weights.clamp(0, 1)
    flow = rollout(attention).weights if has_rollout(attention) else None
    peak = max(float(part.max()) for part in (weights, flow) if part is not None)
    full = next((limit for limit in FULL if peak <= limit), 1.0)
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
        "means": pack_weights(weights.mean(1)),
        "average": pack_weights(average(attention).weights[0, 0]),
        "rollout": None if flow is None else pack_weights(flow[0, 0]),
        "thumbs": pack((255 * (thumbs / full).clamp(max=1)).round(), "uint8"),
    }


def pack_weights(weights: Float[Tensor, "..."]) -> dict[str, Any]:
    """As they are; very many as whole numbers up to 65,535."""
    if weights.numel() <= EXACT:
        return pack(weights)
    return pack((65535 * weights).round(), "uint16")


def has_rollout(attention: AttentionMap) -> bool:
    """Whether rows and columns are the same tokens, so that layers can be multiplied."""
    queries, keys = attention.weights.shape[2:]
    return attention.kind in ("encoder", "causal") and queries == keys


def checked(*maps: AttentionMap) -> dict[str, AttentionMap]:
    """The maps by their kinds.

    Raises:
        TypeError, ValueError: as `AttentionView` does.
    """
    found: dict[str, AttentionMap] = {}
    for attention in maps:
        if not isinstance(attention, AttentionMap):
            name = type(attention).__name__
            raise TypeError(f"AttentionView shows AttentionMap(weights, query_tokens, key_tokens), not a {name}")
        layers, heads, queries, keys = attention.weights.shape
        if attention.kind in found:
            raise ValueError(
                f"two maps have the kind {attention.kind!r}: a view shows one of each; use a view for each"
            )
        if max(queries, keys) > MOST_TOKENS:
            raise ValueError(
                f"a sentence of {max(queries, keys):,} tokens is too long to be seen, {MOST_TOKENS} is the most: "
                "cut it before it goes through the model"
            )
        if layers * heads > MOST_PANELS:
            raise ValueError(
                f"{layers} layers x {heads} heads are more than {MOST_PANELS}, too many to be seen: give some of them, "
                "such as weights[:4]"
            )
        if attention.weights.min() < 0:
            raise ValueError(f"a weight is not negative; the smallest is {float(attention.weights.min()):.3g}")
        found[attention.kind] = attention
    cross, encoder, causal = (found.get(kind) for kind in ("cross", "encoder", "causal"))
    if cross and encoder and cross.key_tokens != encoder.key_tokens:
        raise ValueError(
            f"the maps are of different sentences: the encoder reads {' '.join(encoder.key_tokens)!r}, "
            f"and cross-attention looks at {' '.join(cross.key_tokens)!r}"
        )
    if cross and causal and len(cross.query_tokens) != len(causal.query_tokens):
        raise ValueError(
            f"the maps are of different sentences: causal attention has {len(causal.query_tokens)} queries, and "
            f"cross-attention {len(cross.query_tokens)}"
        )
    return found


def misplaced(
    maps: Mapping[str, AttentionMap],
    kind: str,
    layer: int = 0,
    head: int = 0,
    show: str = "head",
    threshold: float = 0.0,
    locked: Sequence[Any] | None = None,
) -> str:
    """What is wrong with these, in one sentence; nothing where the maps have them."""
    if kind not in maps:
        return f"there is no {kind!r} attention here, only {', '.join(maps)}"
    layers, heads, queries, keys = maps[kind].weights.shape
    shows = [name for name in SHOWS if name != "rollout" or has_rollout(maps[kind])]
    if not (0 <= layer < layers and 0 <= head < heads):
        return f"there is no layer {layer}, head {head}: {kind} attention has {layers} x {heads}, counted from 0"
    if show not in shows:
        return f"show is one of {', '.join(shows)} for {kind} attention, not {show!r}"
    if not 0 <= threshold <= 1:
        return f"a threshold is from 0 to 1, as weights are, not {threshold}"
    return misplaced_lock(locked, queries, keys)


def misplaced_lock(locked: Sequence[Any] | None, queries: int, keys: int) -> str:
    """What is wrong with a target of the lock, in one sentence; nothing where it is there, or None."""
    if locked is None:
        return ""
    what, *at = list(locked) or [None]
    counts = {"query": [queries], "key": [keys], "pair": [queries, keys]}.get(what if isinstance(what, str) else "")
    if counts is None or len(at) != len(counts) or not all(type(index) is int for index in at):
        return f"locked is ['query', i], ['key', j], ['pair', i, j] or None, not {locked}"
    if not all(0 <= index < count for index, count in zip(at, counts, strict=True)):
        return f"there is no {what} {', '.join(map(str, at))}: there are {queries} queries and {keys} keys"
    return ""
