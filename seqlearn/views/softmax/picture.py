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
    figure = Figure(figsize=(7.5, 1.25 + 0.36 * len(tokens)), layout="constrained")
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
    ax.bar_label(bars, ["<0.001" if 0 < weight < 0.0005 else f"{weight:.3f}" for weight in weights], padding=4)
    ax.invert_yaxis()
    ax.set(
        xlim=(0, 1.15), xlabel=f"attention weight (sum {sum(weights):.3f})", title=message_of(mask, weights, masking)
    )
    ax.grid(False, axis="y")
    return figure


def message_of(mask: Sequence[bool], weights: Sequence[float], masking: str) -> str:
    """The way to mask, and what becomes of the weights of masked keys and of the sum."""
    hidden, total = sum(weight for weight, open_ in zip(weights, mask, strict=True) if not open_), sum(weights)
    if all(mask):
        return f"{masking}\nno key is masked, the weights sum to {total:.3f}"
    return f"{masking}\nmasked keys get {hidden:.3f}, all weights sum to {total:.3f}"
