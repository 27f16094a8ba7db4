"""The picture of `RiddleView`: a box for each head."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from ..shared.colours import VALID
from ..shared.constants import KINDS
from ..shared.fonts import any_script, short_label
from ..shared.types import Data


@any_script
def riddle_picture(riddle: Data, tried: Sequence[str]) -> Figure:
    """A row for each layer; the heads that were tried are filled by how far the probability falls without them."""
    base, heads = riddle["map"]["base"], riddle["map"]["heads"]
    layers = sorted({(kind, layer) for kind, layer, _, _ in heads}, key=lambda one: (KINDS.index(one[0]), one[1]))
    figure = Figure(figsize=(8, 1.3 + 0.42 * len(layers)), layout="constrained")
    ax = figure.subplots()
    for kind, layer, head, one in heads:
        row = layers.index((kind, layer))
        known = f"{kind} {layer} {head}" in tried
        fall = min(1.0, max(0.0, 1 - one["probability"] / base["probability"])) if known else 0.0
        ax.barh(row, 0.8, 0.8, left=head - 0.4, color=VALID, alpha=0.6 * fall, linewidth=0)
        ax.barh(row, 0.8, 0.8, left=head - 0.4, fill=False, edgecolor="black", linewidth=2 if known else 0.8)
        ax.text(head, row, str(head), ha="center", va="center")
    ax.set_yticks(range(len(layers)), [f"{kind} {layer}" for kind, layer in layers])
    ax.set_xticks([])
    ax.invert_yaxis()
    ax.grid(False)
    sentence, now = (short_label(text, 74) for text in (riddle["sentence"], _now(riddle, tried)))
    ax.set_title(f"{sentence}\n{now}", fontsize=10)
    ax.set(xlabel="head", xlim=(-0.6, max(head for _, _, head, _ in heads) + 0.6))
    return figure


def _now(riddle: Data, tried: Sequence[str]) -> str:
    """The translation, without the last head that was tried."""
    for kind, layer, head, one in riddle["map"]["heads"]:
        if tried[-1:] == [f"{kind} {layer} {head}"]:
            return f"without {kind} {layer}.{head}: {one['text']}"
    return riddle["map"]["base"]["text"]
