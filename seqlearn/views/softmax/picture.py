"""The picture of `SoftmaxView`: a bar for the attention weight of each key."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from ..shared.colours import GROUND, STRIPE, TRAIN
from ..shared.fonts import any_script, short_label


@any_script
def softmax_picture(
    tokens: Sequence[str], scores: Sequence[float], mask: Sequence[bool], weights: Sequence[float], masking: str
) -> Figure:
    """The attention weights of one query as bars.

    Args:
        mask: whether each key may be attended.
        masking: how the mask was applied.
    """
    figure = Figure(figsize=(7.5, 1.0 + 0.36 * len(tokens)), layout="constrained")
    ax = figure.subplots()
    rows = range(len(tokens))
    bars = ax.barh(rows, weights, color=[TRAIN if open_ else GROUND for open_ in mask])
    for bar, open_ in zip(bars, mask, strict=True):
        if not open_:
            bar.set(edgecolor=STRIPE, hatch="/////", linewidth=0)
    score = [f"score {number:.1f}".replace("-", "−") for number in scores]
    labels = [
        f"{short_label(token, 24)} ({text if open_ else text + ', masked'})"
        for token, text, open_ in zip(tokens, score, mask, strict=True)
    ]
    ax.set_yticks(rows, labels)
    ax.bar_label(bars, [f"{weight:.3f}" for weight in weights], padding=4)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.15), xlabel=f"attention weight (sum {sum(weights):.3f})", title=masking)
    ax.grid(False, axis="y")
    return figure
