"""The data of `AttentionView`, and the checks of its maps and of what is chosen in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...analysis.attention_map import AttentionMap
from ..maps import MOST_PANELS
from ..shared.arguments import as_text, need_map
from ..shared.attention import has_rollout, map_data, wrong_lock
from ..shared.constants import MOST_TONES
from ..shared.types import Data, Lock

Head = tuple[str, int, int]  # kind, layer, head
Roles = Mapping[Head, str]

SHOWS = {  # the values of the trait `show`, and the title of each
    "head": "layer {layer}, head {head}",
    "layer": "mean of layer {layer}",
    "all": "mean of all heads",
    "rollout": "rollout",
}
ZOOMS = ("heads", "head", "cell")  # the values of the trait `zoom`
NOBODY = {"layers": {}, "vocab": []}  # in the data of a view where nobody reads again
MOST_TOKENS = 256


def attention_data(maps: Mapping[str, AttentionMap], roles: Roles, asks: bool, answers: Data | None = None) -> Data:
    """All that the browser draws of these maps.

    Args:
        roles: short texts about some of the heads.
        asks: whether somebody computes the vectors of the head that is shown at the zoom "cell".
        answers: `layers` and `vocab` (see `about`), if somebody reads another sentence, or with other attention.
    """
    parts = [map_data(attention) | {"roles": role_table(attention, roles)} for attention in maps.values()]
    return {"maps": parts, "asks": asks} | NOBODY | (answers or {})


def role_table(attention: AttentionMap, roles: Roles) -> list[list[str]] | None:
    """The role of each head of each layer of one map, empty where none is given; None if the map has no role at all."""
    layers, heads = attention.weights.shape[:2]
    texts = [as_text(roles.get((attention.kind, *divmod(at, heads)), "")) for at in range(layers * heads)]
    table = [texts[start : start + heads] for start in range(0, layers * heads, heads)]
    return table if any(map(any, table)) else None


def checked_roles(roles: Roles | None, maps: Mapping[str, AttentionMap]) -> dict[Head, str]:
    """The roles; those of kinds without a map here may stay among them.

    Raises:
        ValueError: a key is not (kind, layer, head), or the map of this kind has no such head.
    """
    for key in roles or {}:
        if not (isinstance(key, tuple) and len(key) == 3):
            raise ValueError(f"roles has texts by (kind, layer, head), such as ('encoder', 1, 3), not by {key!r}")
        if key[0] in maps and (wrong := wrong_choice(maps, *key)):
            raise ValueError(f"roles: {wrong}")
    return dict(roles or {})


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
    need_map("AttentionView", attention)
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
    zoom: str = "heads",
    overlay: Sequence[Sequence[int]] = (),
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
    if zoom not in ZOOMS:
        return f"zoom is one of {', '.join(ZOOMS)}, not {zoom!r}"
    return wrong_overlay(overlay, layers, heads) or wrong_lock(locked, queries, keys)


def wrong_overlay(overlay: Sequence[Sequence[int]], layers: int, heads: int) -> str:
    """What is wrong with the heads that are drawn over each other, in one sentence; empty if nothing is wrong."""
    for place in overlay:
        pair = isinstance(place, list | tuple) and len(place) == 2 and all(type(index) is int for index in place)
        if not pair or not (0 <= place[0] < layers and 0 <= place[1] < heads):
            return f"overlay is a list of [layer, head] below [{layers}, {heads}]; {place} is none"
    if len(overlay) > MOST_TONES or len({tuple(place) for place in overlay}) < len(overlay):
        return f"an overlay has at most {MOST_TONES} heads, each once, not {len(overlay)}: {list(overlay)}"
    return ""
