"""The picture of `SoftmaxView`: a bar for the attention weight of each key."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from ..shared.colours import GROUND, STRIPE, TRAIN, VALID
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
    ax.barh(rows, weights, color=[TRAIN if open_ else VALID for open_ in mask])
    masked = [row for row in rows if not mask[row]]
    ax.barh(masked, 0.03, color=GROUND, edgecolor=STRIPE, hatch="/////", linewidth=0, zorder=0.8)  # behind the weights
    score = [f"score {number:.1f}".replace("-", "−") for number in scores]
    labels = [
        f"{short_label(token, 24)} ({text if open_ else text + ', masked'})"
        for token, text, open_ in zip(tokens, score, mask, strict=True)
    ]
    ax.set_yticks(rows, labels)
    for row, (weight, open_) in enumerate(zip(weights, mask, strict=True)):
        wrong = weight > 0 and not open_
        ax.text(1.02, row, written(weight), va="center", color=VALID if wrong else "black")
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.12), xlabel="attention weight", title=message_of(mask, weights, masking))
    ax.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    ax.grid(False, axis="y")
    return figure


def written(weight: float) -> str:
    """A weight with 3 decimals; a small one is not written as 0."""
    return "<0.001" if 0 < weight < 0.0005 else f"{weight:.3f}"


def message_of(mask: Sequence[bool], weights: Sequence[float], masking: str) -> str:
    """The way to mask, and what becomes of the sum and of the weights of masked keys, as in the live view."""
    hidden, total = sum(weight for weight, open_ in zip(weights, mask, strict=True) if not open_), sum(weights)
    if hidden > 0:
        fault = f"; wrong: masked keys get {written(hidden)}"
    elif 0 < total < 0.9995:
        fault = f"; wrong: {1 - total:.3f} of the attention is lost"
    else:
        fault = "" if any(mask) else ": nothing may be attended"
    return f"{masking}\nthe weights sum to {total:.3f}{fault}"
