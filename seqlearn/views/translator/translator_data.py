"""What may be chosen in a `TranslatorView`."""

from __future__ import annotations

from collections.abc import Sequence

from ...translator import DEFAULT_BEAM
from ..shared.attention import wrong_lock
from ..shared.types import Data, Lock


def wrong_choice(
    result: Data,
    beams: Sequence[int],
    chosen: int,
    beam: int = DEFAULT_BEAM,
    step: int = 0,
    locked: Lock | None = None,
) -> str:
    """What is wrong with a choice, in one sentence; empty if the result has everything that was chosen."""
    if beam not in beams:
        return f"beam is one of {', '.join(map(str, beams))}, not {beam}"
    if chosen >= len(result["best"]):
        return f"chosen is 0 to {len(result['best']) - 1}, not {chosen}: there are {len(result['best'])} translations"
    best = result["best"][chosen]
    queries, keys = (
        len(best["tokens"]),
        len(best["attention"]["keys"]) if best["attention"] else len(result["source"]) + 1,
    )
    if step >= queries:
        return f"step is 0 to {queries - 1}, not {step}: the translation has {queries} tokens"
    return wrong_lock(locked, queries, keys)
