"""Heat maps that stay: one attention, every head of every layer, a mask, any table of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import torch
from jaxtyping import Shaped
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from torch import Tensor

from ..data.pairs import Link
from ..nn.attention import AttentionMap
from .fonts import any_script, literal, short_label

CMAP = "viridis"  # evenly graded in lightness: readable in grey, and by colour-blind eyes
AXIS_NAMES = {
    "cross": ("source token (key)", "target token (query)"),
    "encoder": ("token looked at (key)", "token that looks (query)"),
    "causal": ("token looked at (key)", "token that looks (query)"),
    "kernel": ("training point (key)", "test point (query)"),
}
LINK_LABEL = "gold link"
MOST_PANELS = 144
OPEN, MASKED, ODD = "#8ECDF2", "#4D4D4D", "#D9D9D9"  # light blue, dark grey, light grey: apart in lightness too
STRIPES = {"facecolor": "#A3A3A3", "edgecolor": "#878787", "hatch": "/////", "linewidth": 0}  # as in the views
LONGEST = 28  # letters of a token beside a panel of `all_heads`


@any_script
def heatmap(
    attention: AttentionMap,
    layer: int = 0,
    head: int = 0,
    *,
    title: str = "",
    gold: Iterable[Link] = (),
    ax: Axes | None = None,
) -> Figure:
    """One attention map: a row for each query, a column for each key, tokens on both axes.

    Args:
        gold: links `(key, query)` to mark with a circle, such as `Pair.alignment`.
        ax: where to draw; default: a new figure.

    Raises:
        IndexError: there is no such layer or head.
    """
    layers, heads, queries, keys = attention.weights.shape
    if not (0 <= layer < layers and 0 <= head < heads):
        raise IndexError(f"no layer {layer}, head {head}: the map has {layers} layers and {heads} heads")
    ax = new_axes(ax, min(2.5 + 0.45 * keys, 24.0), min(1.8 + 0.38 * queries, 24.0))
    hidden = _hidden(attention)
    stripe_masked(ax, hidden)
    _cells(
        ax,
        attention.weights[layer, head].numpy(),
        attention.query_tokens,
        attention.key_tokens,
        vmin=0.0,
        vmax=1.0,
        cmap=CMAP,
        square=queries * keys <= 1024,
        annot=max(queries, keys) <= 8,  # numbers in larger maps take a second to draw and cannot be read
        fmt=".2f",
        mask=hidden,
        cbar_kws={"label": "attention weight"},
    )
    ax.set(xlabel=AXIS_NAMES[attention.kind][0], ylabel=AXIS_NAMES[attention.kind][1])
    marks = [(key + 0.5, query + 0.5) for key, query in gold]
    if marks:
        ax.scatter(*zip(*marks, strict=True), s=90, facecolors="none", edgecolors="white", linewidths=3)
        ring = ax.scatter(*zip(*marks, strict=True), s=90, facecolors="none", edgecolors="crimson", linewidths=1.5)
        ax.legend([ring], [LINK_LABEL], loc="upper left", bbox_to_anchor=(0, -0.02), frameon=False)
    if title:
        ax.set_title(literal(title))
    return ax.figure


@any_script
def all_heads(attention: AttentionMap, *, title: str = "", limits: tuple[float, float] = (0.0, 1.0)) -> Figure:
    """Every head of every layer, a row for each layer and a column for each head, all in the same colours.

    A panel is named by what `heatmap` draws larger: "layer 1, head 2" is `heatmap(attention, 1, 2)`, both counted
    from 0. Tokens stand at the left and below; of many, every second, third ... one.

    Args:
        limits: the weights at the ends of the colour bar. Over long sentences weights are small: (0, 0.3), say.

    Raises:
        ValueError: there are more than 144 panels (12 layers of 12 heads), too many to be seen.
    """
    layers, heads, queries, keys = attention.weights.shape
    if layers * heads > MOST_PANELS:
        raise ValueError(f"{layers} layers x {heads} heads are more than {MOST_PANELS} panels: give some of them")
    wide, high = (max(1.15, min(0.2 * count, 2.4, 13 / max(layers, heads))) for count in (keys, queries))  # inches
    long = 0.07 * min(LONGEST, max(map(len, (*attention.query_tokens, *attention.key_tokens))))
    left, below, above = 0.5 + long, 0.5 + long, 0.35 + 0.25 * (title.count("\n") + bool(title))
    size = (left + (wide + 0.12) * heads + 0.9, below + (high + 0.32) * layers + above - 0.32)
    place = {"left": left / size[0], "right": 1 - 1.02 / size[0], "wspace": 0.12 / wide}
    place |= {"bottom": below / size[1], "top": 1 - above / size[1], "hspace": 0.32 / high}
    figure, panels = plt.subplots(layers, heads, figsize=size, squeeze=False, gridspec_kw=place)  # known, so quick
    hidden = _hidden(attention)
    for layer, row in enumerate(panels):
        for head, ax in enumerate(row):
            weights = np.ma.masked_array(attention.weights[layer, head].numpy(), hidden)
            how = {"aspect": "auto", "interpolation": "nearest", "extent": (0, keys, queries, 0)}
            image = ax.imshow(weights, cmap=CMAP, vmin=limits[0], vmax=limits[1], **how)
            stripe_masked(ax, hidden)
            ax.set_title(f"layer {layer}, head {head}", fontsize=8 if wide < 1.5 else 9)
            ax.tick_params(labelsize=8, left=head == 0, bottom=layer == layers - 1)
            beside, under = (
                attention.query_tokens if head == 0 else (),
                attention.key_tokens if ax in panels[-1] else (),
            )
            label_axis(ax.yaxis, beside, 0, int(high / 0.12), LONGEST)
            label_axis(ax.xaxis, under, 90, int(wide / 0.12), LONGEST)
    tall = min(2.5, size[1] - below - above)
    bar = figure.add_axes(
        (1 - 0.9 / size[0], (below + size[1] - above - tall) / 2 / size[1], 0.15 / size[0], tall / size[1])
    )
    figure.colorbar(image, bar, label="attention weight")
    figure.supxlabel(AXIS_NAMES[attention.kind][0], y=0.08 / size[1], fontsize=10)
    figure.supylabel(AXIS_NAMES[attention.kind][1], x=0.08 / size[0], fontsize=10)
    figure.suptitle(literal(title), y=1 - 0.08 / size[1], va="top")
    return figure


@any_script
def grid(
    values: Shaped[Tensor, "queries keys"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str = "",
    xlabel: str = "key",
    ylabel: str = "query",
    words: tuple[str, str] = ("may be attended", "masked"),
    label: str = "",
    limits: tuple[float, float] | None = None,
    texts: Sequence[Sequence[str]] | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Figure:
    """A mask in two colours, or any numbers as a heat map: for what is no valid attention, and so no `AttentionMap`.

    NaN and infinity stand on a grey cell, as words.

    Args:
        values: bool, a mask; or numbers, which are written into their cells in a map of up to 12 x 12.
        rows, columns: what stands beside each row and above each column.
        words: what True and what False mean, in the legend of a mask.
        label: of the colour bar of numbers.
        limits: the numbers at the ends of the colour bar; default: the smallest and the largest one.
        texts: a row of texts for each row, to stand in the cells in place of numbers.
        legend: whether there is a legend or a colour bar; False for all but one of several panels.
        ax: where to draw; default: a new figure.

    Raises:
        ValueError: values are not two-dimensional, or rows, columns or texts do not fit them.
    """
    shape = tuple(values.shape)
    if shape != (len(rows), len(columns)):
        raise ValueError(f"{len(rows)} rows and {len(columns)} columns do not fit values of shape {shape}")
    if texts is not None and [len(row) for row in texts] != [len(columns)] * len(rows):
        raise ValueError(f"texts have {[len(row) for row in texts]} cells a row; values have the shape {shape}")
    ax = new_axes(ax, 2.5 + (0.45 if texts is None else 0.7) * len(columns), 1.8 + 0.38 * len(rows))
    lines = 0.5 if values.numel() <= 400 else 0.0  # between very many cells they would be all that is seen
    how: dict[str, Any] = {"square": texts is None and values.numel() <= 1024, "linewidths": lines}
    if texts is not None:
        how |= {"annot": np.array([list(map(literal, row)) for row in texts], dtype=object), "fmt": ""}
    array = values.detach().cpu().double().numpy()
    if values.dtype == torch.bool:
        _cells(ax, array, rows, columns, vmin=0, vmax=1, cmap=ListedColormap([MASKED, OPEN]), cbar=False, **how)
        if legend:
            patches = [Patch(color=color, label=word) for color, word in zip((OPEN, MASKED), words, strict=True)]
            ax.legend(handles=patches, loc="upper left", bbox_to_anchor=(0, -0.02), ncols=2, frameon=False)
    else:
        finite = np.isfinite(array)
        low, high = limits or ((array[finite].min(), array[finite].max()) if finite.any() else (0.0, 1.0))
        how = {"annot": max(shape) <= 12, "fmt": ".2f", "vmin": low, "vmax": high} | how
        _cells(ax, array, rows, columns, cmap=CMAP, cbar=legend, cbar_kws={"label": label} if legend else None, **how)
        ax.set_facecolor(ODD)
        for row, column in zip(*np.nonzero(~finite), strict=True):
            ax.text(column + 0.5, row + 0.5, str(array[row, column]), ha="center", va="center")
    ax.set(xlabel=literal(xlabel), ylabel=literal(ylabel), title=literal(title))
    return ax.figure


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Where to draw: as given, or a new figure of this size in inches."""
    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def _cells(ax: Axes, values: np.ndarray, rows: Sequence[str], columns: Sequence[str], **how: Any) -> None:
    """What all heat maps share: coloured cells, the names of the columns above them, those of the rows beside them."""
    sns.heatmap(values, ax=ax, **how)
    rotation = 45 if max(map(len, columns)) > 3 else 0
    label_axis(ax.xaxis, columns, rotation)
    label_axis(ax.yaxis, rows, rotation=0)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    if rotation:
        plt.setp(ax.get_xticklabels(), ha="left", rotation_mode="anchor")


def _hidden(attention: AttentionMap) -> np.ndarray:
    """True where a cell is masked."""
    if attention.mask is None:
        return np.zeros(attention.weights.shape[2:], dtype=bool)
    return ~attention.mask.numpy()


def stripe_masked(ax: Axes, hidden: np.ndarray) -> None:
    """Masked cells are left out of a heat map; what is then seen is grey with stripes."""
    if hidden.any():
        ax.patch.set(**STRIPES)


def label_axis(axis, tokens: Sequence[str], rotation: int, most: int = 32, longest: int = 40) -> None:
    """A label for each token; for every second, third ... one where more than `most` would not be readable."""
    every = -(-len(tokens) // most) or 1
    positions = range(0, len(tokens), every)
    axis.set_ticks([position + 0.5 for position in positions])
    axis.set_ticklabels([short_label(tokens[position], longest) for position in positions], rotation=rotation)
