"""The picture of `PatchView`: for encoder and decoder, how far each vector of the twin moves the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ..shared.axes import COLUMN, frame, label_axis, signed
from ..shared.colours import BLUE_RED
from ..shared.fonts import any_script, short_label
from ..shared.types import Data

MOST_WITH_NUMBERS = 22  # rows of both sides together: more leave no room for a number in a cell


@any_script
def patch_picture(result: Data, places: Mapping[str, Sequence[tuple[str, str]]]) -> Figure:
    """Two heat maps from blue to red, with 0 in white: 1 is all the way to what the other sentence gets.

    Args:
        result: what `patch_data.patched` returned.
        places: for both sides, the name of each place and its words, see `patch_data.side_places`.
    """
    sides = list(result["maps"].items())
    counts = [len(side["tokens"]) for _, side in sides]
    figure = Figure(figsize=(COLUMN, 2.1 + 0.24 * max(map(len, places.values()))), layout="constrained")
    axes = figure.subplots(1, 2, width_ratios=[max(count, max(counts) / 3) for count in counts])
    chosen = [tuple(one) for one in result["asked"]["patches"]]
    for ax, (name, side) in zip(axes, sides, strict=True):
        moved = np.array(side["moved"], dtype=float)
        cells = ax.pcolormesh(moved, cmap=BLUE_RED, vmin=-1, vmax=1, edgecolors="#DDDDDD", linewidth=0.3)
        ax.invert_yaxis()
        label_axis(ax.xaxis, side["tokens"], rotation=90, most=20, longest=12)
        label_axis(ax.yaxis, [words for _, words in places[name]], rotation=0)
        ax.grid(False)
        ax.set_title(name)
        for row, (place, _) in enumerate(places[name]):
            for column, share in enumerate(moved[row]):
                if sum(counts) <= MOST_WITH_NUMBERS and abs(share) >= 0.05:
                    ink = "white" if abs(share) > 0.65 else "black"
                    text = signed(f"{share:.2f}")
                    ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=ink, fontsize=7)
                if (place, column) in chosen:
                    frame(ax, (column, row, 1, 1))
        if ax is axes[-1]:
            figure.colorbar(cells, ax=axes, ticks=[-1, -0.5, 0, 0.5, 1])
    own, other = (short_label(word, 20) for word in result["words"])
    before = short_label("".join(result["pieces"][0][: result["decision"]]).strip() or "<bos>", 40)
    figure.suptitle(f"How far does each vector, alone, move “{own}” to “{other}”?\nafter “{before}”", fontsize=10)
    return figure
