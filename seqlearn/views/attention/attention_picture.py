"""The picture of `AttentionView`: lines between tokens, the heat map of the same weights, small maps of all heads."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, FigureBase
from matplotlib.lines import Line2D

from ...analysis.attention_map import AttentionMap
from ..maps import heatmap
from ..shared.axes import COLUMN, frame, label_axis
from ..shared.colours import CMAP, CYCLE, TRAIN
from ..shared.constants import HIDDEN_BELOW, LARGEST
from ..shared.fonts import any_script, short_label
from ..shared.packing import unpack
from ..shared.types import Data, Lock
from .attention_data import SHOWS

LINES = 2.4  # inches: the width of the lines with their tokens
MOST_NUMBERS = 14  # the most tokens with numbers in the cells
MOST_LINES = 120  # of one head; with more of them the file becomes large, and no line can be followed
MOST_ROLES = 6  # that are named below the small maps


Reading = tuple[AttentionMap, Data, str]
"""What is shown, a map with one layer and one head; what `map_data` made of the whole map, and its `roles`; and the
tokens as a text, written below the title."""


@any_script
def attention_picture(
    *readings: Reading,
    show: str,
    layer: int,
    head: int,
    threshold: float,
    locked: Lock | None,
    overlay: Sequence[Sequence[int]],
) -> Figure:
    """Lines and heat map, and the small maps of all heads, if several; of each reading, one below the other.

    Args:
        show, layer, head, threshold, locked, overlay: the traits of the view. Of an overlay all lines are drawn, and
            the heat map of the chosen head. What is locked is marked in the last reading.
    """
    sizes = [sizes_of(shown, data) for shown, data, _ in readings]
    width, heights = max(sum(widths) for widths, _ in sizes), [height for _, height in sizes]
    figure = Figure(figsize=(width, sum(heights)), layout="constrained")
    several = len(readings) > 1
    parts = figure.subfigures(len(readings), squeeze=False, height_ratios=heights).flat if several else [figure]
    full = max(data["full"] for _, data, _ in readings)
    chosen = {"show": show, "layer": layer, "head": head, "threshold": threshold, "overlay": overlay}
    for part, reading, (widths, _) in zip(parts, readings, sizes, strict=True):
        draw_reading(part, *reading, widths, full=full, locked=locked if reading is readings[-1] else None, **chosen)
    return figure


def sizes_of(shown: AttentionMap, data: Data) -> tuple[list[float], float]:
    """The widths of lines, heat map and small maps (if several), and the height, in inches."""
    (layers, heads), (queries, keys) = data["thumbs"]["shape"][:2], shown.weights.shape[2:]
    long = longest(shown)
    beside = min(0.9 + 0.5 * heads, 2.6) if layers * heads > 1 else 0.0
    lines = LINES + long
    width = min(2.2 + long + 0.36 * keys, COLUMN - beside - lines)
    cell = max(0.17, min(0.36, (width - long - 1.6) / keys))  # inches, about
    height = min(1.4 + 0.7 * long + cell * max(queries, keys), 8.0)
    named = len(roles_of(data["roles"]))
    return [lines, width, beside] if beside else [lines, width], max(height, 1.7 + 0.6 * layers + 0.17 * named)


def longest(shown: AttentionMap) -> float:
    """The width of the longest token, about, in inches."""
    return 0.07 * min(20, max(map(len, (*shown.query_tokens, *shown.key_tokens))))


def draw_reading(
    figure: FigureBase,
    shown: AttentionMap,
    data: Data,
    sentence: str,
    widths: Sequence[float],
    *,
    full: float,
    show: str,
    layer: int,
    head: int,
    threshold: float,
    locked: Lock | None,
    overlay: Sequence[Sequence[int]],
) -> None:
    """Draw one reading into a figure or a part of one.

    Args:
        widths: of the panels, in inches.
        full: the weight of the thickest line and of the brightest cell.
    """
    thumbs = unpack(data["thumbs"]).numpy() * (data["full"] / full)
    queries, keys = shown.weights.shape[2:]
    panels = figure.subplots(1, len(widths), width_ratios=widths, squeeze=False)[0]
    all_weights = unpack(data["weights"]).double().numpy()
    scale = LARGEST if data["weights"]["dtype"] == "uint16" else 1
    drawn = [all_weights[at[0], at[1]] / scale for at in overlay] or [shown.weights[0, 0].numpy()]
    draw_lines(panels[0], shown, drawn, threshold, full, locked)
    if len(overlay) > 1:
        name_heads(panels[0], overlay)
    heatmap(shown, ax=panels[1])
    panels[1].set(ylabel="", xlabel=f"head {layer}.{head}" if len(overlay) > 1 else "")
    if keys > 20:
        most = int((widths[1] - longest(shown) - 1.2) / 0.18)
        label_axis(panels[1].xaxis, shown.key_tokens, 90, most=most, longest=20)
    panels[1].collections[0].set_clim(0, full)
    write_numbers(panels[1], shown.weights[0, 0].numpy() / full, full)
    mark_locked(panels[1], locked, queries, keys)
    if len(widths) > 2:
        draw_heads(panels[2], thumbs, show, layer, head)
        name_roles(panels[2], data["roles"])
    heads_shown = " and ".join(f"{at[0]}.{at[1]}" for at in overlay)
    name = f"heads {heads_shown}" if len(overlay) > 1 else SHOWS[show].format(layer=layer, head=head)
    role = data["roles"][layer][head] if data["roles"] and show == "head" and len(overlay) < 2 else ""
    words = (in_words(shown, locked) if len(overlay) < 2 else "") or role
    title = f"{shown.kind} attention, {name}" + (f": {words}" if words else "")
    most = int(11.5 * sum(widths))
    figure.suptitle(f"{short_label(title, most)}\n{short_label(sentence, most)}", x=0.01, ha="left", fontsize=10)


def in_words(shown: AttentionMap, locked: Lock | None) -> str:
    """The largest weight of what is locked; empty if nothing is."""
    if not locked:
        return ""
    weights, (what, *at) = shown.weights[0, 0], locked
    query = int(weights[:, at[0]].argmax()) if what == "key" else at[0]
    key = {"key": at[0], "pair": at[-1]}.get(what, int(weights[query].argmax()))
    return f"{shown.query_tokens[query]} looks at {shown.key_tokens[key]} ({float(weights[query, key]):.2f})"


def write_numbers(ax: Axes, shares: np.ndarray, full: float) -> None:
    """The weights from 0.05 on in their cells, if the sentence is short; in longer ones nobody could read them.

    Args:
        shares: the weights, divided by `full`, the weight of the brightest colour.
    """
    for text in [*ax.texts]:
        text.remove()
    for row, column in np.argwhere(shares * full >= HIDDEN_BELOW) if max(shares.shape) <= MOST_NUMBERS else ():
        ink = "black" if shares[row, column] > 0.5 else "white"
        number = f"{shares[row, column] * full:.2f}".lstrip("0")
        ax.text(column + 0.5, row + 0.5, number, ha="center", va="center", color=ink, fontsize=7)


def draw_lines(
    ax: Axes,
    shown: AttentionMap,
    drawn: Sequence[np.ndarray],
    threshold: float,
    full: float,
    locked: Lock | None,
) -> None:
    """The queries at the left, the keys at the right, and a line for each weight from the threshold on, 120 at most.

    Args:
        drawn: the weights `(queries, keys)`, of one head or of several, each in a colour of its own.
        full: the weight of the thickest line.
    """
    rows = max(shown.weights.shape[2:])
    what, *at = locked or [""]
    lines = []  # of all heads: how much ink, from where to where, how thick, its colour and style
    for number, weights in enumerate(drawn):
        places = np.argwhere((weights > 0) & (weights >= threshold - 1e-6))
        if not len(places):
            continue
        places = places[np.argsort(weights[tuple(places.T)])][-MOST_LINES:]  # the heaviest last, on top
        share = np.minimum(weights[tuple(places.T)] / full, 1)
        mine = places[:, 1 if what == "key" else 0] == at[0] if at else np.ones(len(places), dtype=bool)
        alpha = ((0.15 + 0.85 * share) * np.where(mine, 1, 0.2))[:, None]
        shift = 0.14 * (number - (len(drawn) - 1) / 2)
        segments = [((0, i + 0.5 + shift), (1, j + 0.5 + shift)) for i, j in places]
        color, style = look_of(number, len(drawn))
        colors = 1 - alpha + alpha * np.array(to_rgb(color))  # on white; opaque lines make a small file
        lines += zip(alpha[:, 0], segments, 0.5 + 4.5 * share, colors, [style] * len(places), strict=True)
    if lines:
        _, segments, thick, colors, styles = zip(*sorted(lines, key=itemgetter(0)), strict=True)  # the message on top
        ax.add_collection(LineCollection(segments, linewidths=thick, colors=colors, linestyles=styles))
    ax.set(xlim=(0, 1), ylim=(rows, 0), xticks=[], frame_on=False, label="lines")
    ax.grid(False)
    right = ax.twinx()
    right.set(ylim=(rows, 0), frame_on=False, label="keys")
    right.grid(False)
    label_axis(ax.yaxis, shown.query_tokens, 0, longest=20)
    label_axis(right.yaxis, shown.key_tokens, 0, longest=20)
    for axes in (ax, right):
        axes.tick_params(length=0)


def look_of(number: int, count: int) -> tuple[str, Literal["solid", "dashed"]]:
    """Colour and style of the lines of one of `count` heads."""
    return TRAIN if count == 1 else CYCLE[number % 4], "solid" if number < 4 else "dashed"


def name_heads(ax: Axes, overlay: Sequence[Sequence[int]]) -> None:
    """A legend below the lines: which colour is which head."""
    looks = [look_of(number, len(overlay)) for number in range(len(overlay))]
    handles = [Line2D([], [], color=color, linestyle=style, linewidth=3) for color, style in looks]
    names = [f"{layer}.{head}" for layer, head in overlay]
    ax.legend(handles, names, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=4, fontsize=8, handlelength=1.5)


def mark_locked(ax: Axes, locked: Lock | None, queries: int, keys: int) -> None:
    """Draw frames around the locked target: a row, a column, or a cell and its row."""
    what, *at = locked or [""]
    if what in ("query", "pair"):
        frame(ax, (0, at[0], keys, 1))
    if what == "key":
        frame(ax, (at[0], 0, 1, queries))
    if what == "pair":
        frame(ax, (at[1], at[0], 1, 1))


def draw_heads(ax: Axes, thumbs: np.ndarray, show: str, layer: int, head: int) -> None:
    """All small maps as one image (64 axes would take seconds), with a frame around what is shown.

    Args:
        thumbs: `(layers, heads, rows, columns)`, from 0 to 255.
    """
    layers, heads, rows, columns = thumbs.shape
    high, wide = rows + max(1, rows // 10), columns + max(1, columns // 10)  # of a map with the gap after it
    image = np.full((layers, high, heads, wide), np.nan)
    image[:, :rows, :, :columns] = thumbs.transpose(0, 2, 1, 3)
    ax.imshow(
        image.reshape(layers * high, heads * wide),
        cmap=CMAP,
        vmin=0,
        vmax=255,
        interpolation="nearest",
        extent=(0, heads, layers, 0),
    )
    ax.grid(False)
    boxes = {"head": (head, layer, 1, 1), "layer": (0, layer, heads, 1)}
    x, y, across, down = boxes.get(show, (0, 0, heads, layers))
    frame(ax, (x, y, across - 1 + columns / wide, down - 1 + rows / high))
    ax.set(xlabel="head", ylabel="layer", title="all heads", frame_on=False, label="heads")
    ax.set_xticks([i + columns / wide / 2 for i in range(heads)], [str(i) for i in range(heads)])
    ax.set_yticks([i + rows / high / 2 for i in range(layers)], [str(i) for i in range(layers)])
    ax.tick_params(length=0)


def name_roles(ax: Axes, roles: list[list[str]] | None) -> None:
    """The roles as a list below the small maps."""
    if texts := roles_of(roles):
        ax.set_xlabel("head\n\n" + "\n".join(texts), fontsize=8, linespacing=1.3)


def roles_of(roles: list[list[str]] | None) -> list[str]:
    """A line for each head with a role, and one for those beyond `MOST_ROLES`."""
    named = [f"{layer}.{head} {role}" for layer, row in enumerate(roles or []) for head, role in enumerate(row) if role]
    rest = [f"and {len(named) - MOST_ROLES} more"] if len(named) > MOST_ROLES else []
    return [short_label(name, 34) for name in named[:MOST_ROLES]] + rest
