"""The data of `AttentionView`, and the checks of its maps and of what is chosen in them."""

from __future__ import annotations

from collections.abc import Mapping

from ...attention_map import AttentionMap
from ..maps import MOST_PANELS
from ..shared.attention import has_rollout, map_data, wrong_lock
from ..shared.types import Data, Lock

SHOWS = {  # the values of the trait `show`, and the title of each
    "head": "layer {layer}, head {head}",
    "layer": "mean of layer {layer}",
    "all": "mean of all heads",
    "rollout": "rollout",
}
MOST_TOKENS = 256


def attention_data(maps: Mapping[str, AttentionMap]) -> Data:
    """All that the browser draws of these maps."""
    return {"maps": [map_data(attention) for attention in maps.values()]}


def checked(*maps: AttentionMap) -> dict[str, AttentionMap]:
    """The maps by their kinds.

    Raises:
        TypeError, ValueError: as `AttentionView` does.
    """
    by_kind: dict[str, AttentionMap] = {}
    for attention in maps:
        check_map(attention)
        if attention.kind in by_kind:
            raise ValueError(
                f"two maps have the kind {attention.kind!r}: a view shows one of each; use a view for each"
            )
        by_kind[attention.kind] = attention
    check_together(by_kind)
    return by_kind


def check_map(attention: AttentionMap) -> None:
    """Raise if this is no map, or one that a view cannot show."""
    if not isinstance(attention, AttentionMap):
        name = type(attention).__name__
        raise TypeError(f"AttentionView shows AttentionMap(weights, query_tokens, key_tokens), not a {name}")
    layers, heads, queries, keys = attention.weights.shape
    if max(queries, keys) > MOST_TOKENS:
        raise ValueError(
            f"a sentence of {max(queries, keys):,} tokens is too long for a view, {MOST_TOKENS} is the most: "
            "cut the sentence before it goes through the model"
        )
    if layers * heads > MOST_PANELS:
        raise ValueError(
            f"{layers} layers x {heads} heads are more than {MOST_PANELS}, too many for a view: give some of them, "
            "such as weights[:4]"
        )
    if attention.weights.min() < 0:
        raise ValueError(f"attention weights are not negative; the smallest is {float(attention.weights.min()):.3g}")


def check_together(by_kind: Mapping[str, AttentionMap]) -> None:
    """Raise if the maps are of different sentences."""
    cross, encoder, causal = (by_kind.get(kind) for kind in ("cross", "encoder", "causal"))
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


def wrong_choice(
    maps: Mapping[str, AttentionMap],
    kind: str,
    layer: int = 0,
    head: int = 0,
    show: str = "head",
    threshold: float = 0.0,
    locked: Lock | None = None,
) -> str:
    """What is wrong with a choice, in one sentence; empty if the maps have everything that was chosen."""
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
    return wrong_lock(locked, queries, keys)
