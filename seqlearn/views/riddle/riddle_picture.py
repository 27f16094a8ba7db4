"""The picture of `RiddleView`: a box for each head."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from ..shared.colours import VALID
from ..shared.fonts import any_script, short_label
from ..shared.types import Data


@any_script
def riddle_picture(riddle: Data, tried: Sequence[str]) -> Figure:
    """A row for each layer; the heads that were tried are filled by how far the probability falls without them."""
    base, heads = riddle["map"]["base"], riddle["map"]["heads"]
    layers = list(dict.fromkeys((kind, layer) for kind, layer, _, _ in heads))
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
    sentence, now = (short_label(text, 64) for text in (riddle["sentence"], _now(riddle, tried)))
    ax.set(title=f"{sentence}\n{now}", xlabel="head")
    return figure


def _now(riddle: Data, tried: Sequence[str]) -> str:
    """The translation, without the last head that was tried."""
    found = {f"{kind} {layer} {head}": one for kind, layer, head, one in riddle["map"]["heads"]}
    return f"without {tried[-1]}: {found[tried[-1]]['text']}" if tried else riddle["map"]["base"]["text"]
