"""Heat maps as figures: one attention, every head of every layer, a mask, any table of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import torch
from jaxtyping import Float, Shaped
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from torch import Tensor

from ..analysis.attention_map import AttentionMap
from ..data.pairs import Link
from .shared.arguments import need_map
from .shared.axes import COLUMN, figure_of, label_axis, new_axes, set_title, signed, stripe_masked
from .shared.colours import BLUE_RED, CMAP, MASKED, ODD, OPEN
from .shared.constants import AXIS_NAMES
from .shared.fonts import any_script, literal
from .shared.types import Style

LINK_LABEL = "gold link"
MOST_PANELS = 144
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
        TypeError: it is not an attention map.
    """
    need_map("heatmap", attention)
    layers, heads, queries, keys = attention.weights.shape
    if not (0 <= layer < layers and 0 <= head < heads):
        raise IndexError(f"no layer {layer}, head {head}: the map has {layers} layers and {heads} heads")
    own, ax = (
        ax is None,
        new_axes(ax, 2.5 + 0.45 * keys, min(1.8 + 0.38 * queries + _slanted(attention.key_tokens), 12.0)),
    )
    masked = _masked(attention)
    stripe_masked(ax, masked)
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
        mask=masked,
        cbar_kws={"label": "attention weight"},
    )
    ax.set(xlabel=AXIS_NAMES[attention.kind][0], ylabel=AXIS_NAMES[attention.kind][1])
    marks = [(key + 0.5, query + 0.5) for key, query in gold]
    if marks:
        size = 560 if ax.texts else 90  # around the number of a cell
        ax.scatter(*zip(*marks, strict=True), s=size, facecolors="none", edgecolors="white", linewidths=3)
        ring = ax.scatter(*zip(*marks, strict=True), s=size, facecolors="none", edgecolors="crimson", linewidths=1.5)
        small = (90 / size) ** 0.5
        ax.legend([ring], [LINK_LABEL], loc="upper left", bbox_to_anchor=(0, -0.02), markerscale=small)
    if title:
        set_title(ax, title, own)
    return figure_of(ax)


@any_script
def all_heads(attention: AttentionMap, *, title: str = "", limits: tuple[float, float] = (0.0, 1.0)) -> Figure:
    """Every head of every layer, a row for each layer and a column for each head, all in the same colours.

    The panel "layer 1, head 2" shows what `heatmap(attention, 1, 2)` draws larger; both are counted from 0. A single
    layer has no number: "head 2". The tokens stand at the left and below. If there are many tokens, only every second,
    third ... token has a label.

    Args:
        limits: the weights at the ends of the colour bar. In long sentences the weights are small: try (0, 0.3).

    Raises:
        ValueError: there are more than 144 panels (12 layers of 12 heads), too many to be seen.
        TypeError: it is not an attention map.
    """
    need_map("all_heads", attention)
    layers, heads, queries, keys = attention.weights.shape
    if layers * heads > MOST_PANELS:
        raise ValueError(f"{layers} layers x {heads} heads are more than {MOST_PANELS} panels: give some of them")
    wide, high = (max(1.15, min(0.2 * count, 2.4, 13 / max(layers, heads))) for count in (keys, queries))  # inches
    long = 0.07 * min(LONGEST, max(map(len, (*attention.query_tokens, *attention.key_tokens))))
    left, below, above = 0.5 + long, 0.5 + long, 0.35 + 0.25 * (title.count("\n") + bool(title))
    wide = min(wide, (COLUMN - left - 0.9) / heads - 0.12)
    narrow = wide < 1.05  # a panel has no room for its whole name
    size = (left + (wide + 0.12) * heads + 0.9, below + (high + 0.32) * layers + above - 0.32)
    size = (min(max(size[0], 0.4 + 0.11 * max(map(len, title.split("\n")))), COLUMN), size[1])
    right = left + (wide + 0.12) * heads - 0.12
    margins = {"left": left / size[0], "right": right / size[0], "wspace": 0.12 / wide}
    margins |= {"bottom": below / size[1], "top": 1 - above / size[1], "hspace": 0.32 / high}
    # The margins are computed here, because a layout engine needs seconds for 144 panels. With `layout="none"`,
    # matplotlib would take the engine of the style when it saves the figure a second time.
    figure, panels = plt.subplots(layers, heads, figsize=size, squeeze=False, gridspec_kw=margins, layout="constrained")
    figure.set_layout_engine("none")
    for (layer, head), ax in np.ndenumerate(panels):
        _panel(ax, attention, layer, head, limits)
        several = layers > 1 and not narrow  # a single layer needs no number
        name = f"layer {layer}, head {head}" if several else f"head {head}" if layer == 0 else ""
        ax.set_title(name, fontsize=8 if wide < 1.5 else 9, pad=4)
        if narrow and layers > 1 and head == heads - 1:
            ax.text(1.05, 0.5, f"layer {layer}", transform=ax.transAxes, rotation=270, va="center", fontsize=8)
        ax.tick_params(labelsize=8, left=head == 0, bottom=layer == layers - 1)
        label_axis(ax.yaxis, attention.query_tokens if head == 0 else (), 0, int(high / 0.12), LONGEST)
        label_axis(ax.xaxis, attention.key_tokens if layer == layers - 1 else (), 90, int(wide / 0.12), LONGEST)
    tall = min(2.5, size[1] - below - above)
    middle = (below + size[1] - above) / 2
    bar = figure.add_axes(((right + 0.25) / size[0], (middle - tall / 2) / size[1], 0.12 / size[0], tall / size[1]))
    figure.colorbar(panels[-1, -1].images[0], bar, label="attention weight")
    x, y = (left + right) / 2 / size[0], middle / size[1]
    figure.supxlabel(AXIS_NAMES[attention.kind][0], x=x, y=0.08 / size[1], fontsize=10)
    figure.supylabel(AXIS_NAMES[attention.kind][1], x=0.08 / size[0], y=y, fontsize=10)
    figure.suptitle(literal(title), x=0.08 / size[0], y=1 - 0.08 / size[1], ha="left", va="top")
    return figure


def _panel(ax: Axes, attention: AttentionMap, layer: int, head: int, limits: tuple[float, float]) -> None:
    """One head of `all_heads`, without the tokens."""
    queries, keys = attention.weights.shape[2:]
    masked = _masked(attention)
    weights = np.ma.masked_array(attention.weights[layer, head].numpy(), masked)
    how: Style = {"aspect": "auto", "interpolation": "nearest", "extent": (0, keys, queries, 0)}
    ax.imshow(weights, cmap=CMAP, vmin=limits[0], vmax=limits[1], **how)
    ax.grid(False)
    stripe_masked(ax, masked)


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
    """A mask in two colours, or any numbers as a heat map; they need not be valid attention weights.

    If a number is below 0, the colours are red above 0, white at 0, and blue below it. A cell with NaN or infinity is
    grey, with the word in it.

    Args:
        values: bool, a mask; or numbers. In a map of up to 12 x 12 each number is written into its cell.
        rows, columns: the label beside each row and above each column.
        words: the meaning of True and of False, in the legend of a mask.
        label: the label of the colour bar, for numbers.
        limits: the numbers at the ends of the colour bar; default: the smallest and the largest one. If one is below 0,
            both ends lie equally far from 0.
        texts: a list of texts for each row, written into the cells in place of the numbers.
        legend: whether to draw a legend or a colour bar; False for all but one of several panels.
        ax: where to draw; default: a new figure.

    Raises:
        ValueError: values are not two-dimensional, or rows, columns or texts do not fit them.
    """
    shape = tuple(values.shape)
    if shape != (len(rows), len(columns)):
        raise ValueError(f"{len(rows)} rows and {len(columns)} columns do not fit values of shape {shape}")
    if texts is not None and [len(row) for row in texts] != [len(columns)] * len(rows):
        raise ValueError(f"texts have {[len(row) for row in texts]} cells a row; values have the shape {shape}")
    own, ax = (
        ax is None,
        new_axes(ax, 2.5 + (0.45 if texts is None else 0.7) * len(columns), 1.8 + 0.38 * len(rows) + _slanted(columns)),
    )
    lines = 0.5 if values.numel() <= 400 else 0.0  # lines between very many cells would hide them
    how: Style = {"square": texts is None and values.numel() <= 1024, "linewidths": lines}
    if texts is not None:
        how |= {"annot": np.array([list(map(literal, row)) for row in texts], dtype=object), "fmt": ""}
    array = values.detach().cpu().double().numpy()
    if values.dtype == torch.bool:
        _cells(ax, array, rows, columns, vmin=0, vmax=1, cmap=ListedColormap([MASKED, OPEN]), cbar=False, **how)
        if legend:
            colors = zip((OPEN, MASKED), map(literal, words), strict=True)
            patches = [Patch(color=color, label=word) for color, word in colors]
            ax.legend(handles=patches, loc="upper left", bbox_to_anchor=(0, -0.02), ncols=2)
    else:
        finite = np.isfinite(array)
        low, high = limits or ((array[finite].min(), array[finite].max()) if finite.any() else (0.0, 1.0))
        if low < 0:  # 0 in white
            low, high = -max(-low, high), max(-low, high)
        how = {"annot": _written(array, values.dtype), "fmt": "", "vmin": low, "vmax": high} | how
        bar = {"label": literal(label)} if legend else None
        _cells(ax, array, rows, columns, cmap=BLUE_RED if low < 0 else CMAP, cbar=legend, cbar_kws=bar, **how)
        ax.set_facecolor(ODD)
        for row, column in zip(*np.nonzero(~finite), strict=True):
            ax.text(column + 0.5, row + 0.5, signed(str(array[row, column])), ha="center", va="center")
    ax.set(xlabel=literal(xlabel), ylabel=literal(ylabel))
    set_title(ax, title, own)
    return figure_of(ax)


@any_script
def head_shares(
    tables: Mapping[str, Float[Tensor, "layers heads"]],
    *,
    title: str = "",
    columns: int = 3,
    lowest: float = 0.0,
    form: str = "{:.2f}",
) -> Figure:
    """A panel for each table, with a cell for each head of each layer.

    Args:
        tables: shares from 0 to 1, by the title of their panel.
        columns: panels side by side.
        lowest: the share at which the colours begin; they end at 1.
        form: how a share is written.

    Raises:
        ValueError: there are no tables.
    """
    if not tables:
        raise ValueError("there are no tables to draw")
    lines = math.ceil(len(tables) / columns)
    figure, panels = plt.subplots(lines, columns, figsize=(COLUMN, 1.8 * lines + 0.5), squeeze=False)
    for ax, (name, table) in zip(panels.flat, tables.items(), strict=False):
        ax.imshow(table.numpy(), vmin=lowest, vmax=1, aspect="auto", cmap=CMAP)
        for (layer, head), share in np.ndenumerate(table.numpy()):
            color = "white" if share < 0.4 * lowest + 0.6 else "black"
            ax.text(head, layer, form.format(share), ha="center", va="center", color=color)
        ax.set_yticks(range(len(table)), [f"layer {layer}" for layer in range(len(table))])
        ax.set_xticks(range(table.shape[1]), [f"head {head}" for head in range(table.shape[1])])
        ax.set_title(literal(name), fontsize=10)
        ax.grid(False)
    for ax in panels.flat[len(tables) :]:
        ax.axis("off")
    figure.suptitle(literal(title), x=0.01, ha="left")
    return figure


def _slanted(columns: Sequence[str]) -> float:
    """The height in inches of the labels above the columns, beyond that of a short word."""
    return 0.05 * max(0, min(40, max(map(len, columns), default=0)) - 3)


def _written(numbers: np.ndarray, dtype: torch.dtype) -> np.ndarray | bool:
    """The numbers as texts for their cells, all with as many decimals; False if there are too many."""
    if max(numbers.shape) > 12:
        return False
    texts = np.array([])
    for decimals in (2, 1, 0) if dtype.is_floating_point else (0,):
        texts = np.array([[signed(f"{number:z.{decimals}f}") for number in row] for row in numbers], dtype=object)
        if max(map(len, texts.flat), default=0) <= 5:  # a cell has room for no more
            break
    return texts


def _cells(
    ax: Axes,
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    **how: Any,  # of seaborn
) -> None:
    """The cells of a heat map, with the labels of the columns above them and the labels of the rows beside them."""
    if how.get("cbar", True):  # beside the cells, however wide the figure is
        width = 0.37 * min(len(columns), 20)  # inches, about
        how["cbar_ax"] = ax.inset_axes((1 + 0.15 / width, 0, 0.13 / width, 1))
    sns.heatmap(values, ax=ax, **how)
    ax.grid(False)
    rotation = 45 if max(map(len, columns)) > 3 else 0
    label_axis(ax.xaxis, columns, rotation)
    label_axis(ax.yaxis, rows, rotation=0)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    if rotation:
        plt.setp(ax.get_xticklabels(), ha="left", rotation_mode="anchor")


def _masked(attention: AttentionMap) -> np.ndarray:
    """True where a cell is masked."""
    if attention.mask is None:
        return np.zeros(attention.weights.shape[2:], dtype=bool)
    return ~attention.mask.numpy()
