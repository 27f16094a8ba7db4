"""The data of `PositionView`, and the checks of what is chosen in a table."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from jaxtyping import Real
from torch import Tensor

from ...nn.positions import frequencies, sinusoids
from ..shared.arguments import as_text, finite
from ..shared.packing import pack
from ..shared.types import Data

MOST = 512  # positions, or dimensions
SAME = 0.01  # the largest difference from the formula that counts as none; half precision needs it


def position_data(table: Real[Tensor, "..."], start: int, base: float, tokens: Iterable[object] | None = None) -> Data:
    """All that `PositionView` draws, for every position, offset and pair; the class explains the arguments."""
    table = finite("the rows of a table", table, 2).double()
    positions, size = table.shape
    if max(positions, size) > MOST:
        raise ValueError(
            f"a table of {positions} positions x {size} dimensions is too large for a view, {MOST} x {MOST} is the "
            f"most: give a part of it, such as table[:{MOST}, :{MOST}]"
        )
    if start < 0:
        raise ValueError(f"start is the position of the first row, from 0, not {start}")
    if not 1 < base < math.inf:
        raise ValueError(f"the base of the frequencies is above 1 and finite, not {base}")
    words = [] if tokens is None else [as_text(token) for token in tokens]
    if len(words) > positions:
        raise ValueError(f"{len(words)} tokens do not fit into a table of {positions} positions")
    gap = float((table - sinusoids(positions, size, start, base, torch.float64)).abs().max())
    note = "" if gap <= SAME else f"No rotation is shown: this table differs from the sinusoids by up to {gap:.2g}."
    if size == 1:
        note = "No rotation is shown: a table with one dimension has no pair to turn."
    speeds = torch.empty(0) if note else frequencies(size, base)[: size // 2]  # the last of an odd number has no pair
    angles = torch.arange(1 - positions, positions).unsqueeze(1) * speeds  # offsets, pairs
    return {
        "table": pack(table),
        "limit": float(table.abs().max()) or 1.0,
        "start": start,
        "note": note,
        "frequencies": speeds.tolist(),
        "turns": None if note else pack(torch.stack([angles.cos(), angles.sin()], dim=-1)),
        "products": pack(table @ table.T),
    } | ({"tokens": words} if words else {})


def defaults(data: Data) -> dict[str, int]:
    """The first values of the traits."""
    return {"position": data["start"], "offset": min(2, data["table"]["shape"][0] - 1), "pair": 0}


def wrong_choice(data: Data, position: int, offset: int, pair: int) -> str:
    """What is wrong with a choice, in one sentence; empty if the table has everything that was chosen."""
    start, pairs = data["start"], max(1, len(data["frequencies"]))
    last = start + data["table"]["shape"][0] - 1
    if not start <= position <= last:
        return f"there is no position {position}: the table has {start} to {last}"
    if not start <= position + offset <= last:
        return f"offset {offset} leads from position {position} out of the table, which has {start} to {last}"
    return "" if 0 <= pair < pairs else f"there is no pair {pair}: the table has {pairs}, counted from 0"
