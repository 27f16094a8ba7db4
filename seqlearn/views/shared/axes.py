"""What figures share: axes to draw in, labels of tokens, masked cells, frames, and numbers with true minus signs."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from .colours import GROUND, STRIPE
from .fonts import short_label


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes to draw in: the given ones, or those of a new figure of this size in inches."""
    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def figure_of(ax: Axes) -> Figure:
    """The figure that the axes belong to."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("these axes were removed from their figure: draw in axes of a figure")
    return figure


def label_axis(axis: Axis, tokens: Sequence[str], rotation: int, most: int = 32, longest: int = 40) -> None:
    """A label for each token; with more than `most` tokens, for every second, third ... one, to stay readable."""
    every = -(-len(tokens) // most) or 1
    positions = range(0, len(tokens), every)
    axis.set_ticks([position + 0.5 for position in positions])
    axis.set_ticklabels([short_label(tokens[position], longest) for position in positions], rotation=rotation)


def stripe_masked(ax: Axes, masked: np.ndarray) -> None:
    """Grey stripes, as in the views, behind a heat map that leaves its masked cells out."""
    if masked.any():
        ax.patch.set(facecolor=GROUND, edgecolor=STRIPE, hatch="/////", linewidth=0)


def frame(ax: Axes, box: tuple[float, float, float, float]) -> None:
    """A white and black frame, which can be seen on every colour, around x, y, width, height."""
    for color, width in (("white", 4.5), ("black", 2.0)):
        ax.add_patch(Rectangle(box[:2], *box[2:], fill=False, color=color, linewidth=width, clip_on=False))


def signed(text: str) -> str:
    """The text of numbers with true minus signs."""
    return text.replace("-", "−")
