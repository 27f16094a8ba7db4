"""What figures share: axes to draw in, labels of tokens, masked cells, and numbers with true minus signs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from .colours import GROUND, STRIPE
from .fonts import literal, short_label

COLUMN = 9.6  # inches: the width of a lesson


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes to draw in: the given ones, or those of a new figure of this size in inches, at most `COLUMN` wide."""
    return plt.subplots(figsize=(min(width, COLUMN), height), layout="constrained")[1] if ax is None else ax


def set_title(ax: Axes, title: str, own: bool) -> None:
    """Write a title at the left, above the axes; call it when all is drawn.

    Args:
        own: whether the axes are alone in a figure of the package. Such a figure grows with its title up to the width
            of a lesson, and a longer title gets more lines.
    """
    label, figure = ax.set_title(literal(title), loc="left"), figure_of(ax)
    wide = 0.1 + label.get_window_extent().width / figure.dpi
    square = ax.get_aspect() != "auto"
    if own and square and wide + 1.0 < figure.get_figwidth():
        figure.draw_without_rendering()  # the layout of square cells is right when it is made the second time
    if not own or wide + 1.0 < figure.get_figwidth():
        return
    if square:
        ax.set_anchor("W")
    figure.set_figwidth(min(wide + 1.0, COLUMN))
    figure.draw_without_rendering()
    start = label.get_window_extent().x0 / figure.dpi
    if start + wide > COLUMN:
        most = int((COLUMN - start) / wide * max(map(len, title.split("\n"))))
        label.set_text(literal("\n".join("\n".join(wrap(line, max(most, 20))) for line in title.split("\n"))))
    figure.set_figwidth(min(start + wide, COLUMN))


def label_ends(ax: Axes, ends: Sequence[tuple[str, float, float, str]]) -> None:
    """Write its name beside the end of each line, in its colour, in place of a legend; call it when all is drawn.

    Args:
        ends: for each line its name, the x and the y of its end, and its colour.
    """
    low, high = ax.get_ylim()
    low, high = ax.transScale.transform([(1, low), (1, high)])[:, 1]
    points = 72 * ax.get_position().height * figure_of(ax).get_figheight()  # of the axes, before their layout
    natural = [(ax.transScale.transform((1, y))[1] - low) / (high - low) * points for _, _, y, _ in ends]
    at = -math.inf
    for index in sorted(range(len(ends)), key=lambda index: natural[index]):
        name, x, y, color = ends[index]
        at = max(natural[index], at + 12)  # points from line to line
        shift = (6, at - natural[index])
        ax.annotate(name, (x, y), shift, textcoords="offset points", va="center", color=color, fontsize=9)


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


def signed(text: str) -> str:
    """The text of numbers with true minus signs."""
    return text.replace("-", "−")
