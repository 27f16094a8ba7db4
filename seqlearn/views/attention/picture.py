"""The picture of `AttentionView`: the heat map of what is shown and, beside it, the small maps of all heads."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...attention_map import AttentionMap
from ..maps import heatmap
from ..shared.axes import COLUMN, frame
from ..shared.colours import CMAP
from ..shared.fonts import any_script
from ..shared.packing import unpack
from ..shared.types import Data, Lock
from .data import SHOWS


@any_script
def attention_picture(
    shown: AttentionMap,
    data: Data,
    *,
    show: str,
    layer: int,
    head: int,
    locked: Lock | None,
) -> Figure:
    """The heat map of `shown`, a map with one layer and one head, and the small maps of all heads, if several.

    Args:
        data: what `map_data` made of the whole map.
        show, layer, head, locked: the traits of the view.
    """
    thumbs = unpack(data["thumbs"]).numpy()
    (layers, heads), (queries, keys) = thumbs.shape[:2], shown.weights.shape[2:]
    beside = min(0.9 + 0.5 * heads, 4.0) if layers * heads > 1 else 0.0
    width, height = min(2.5 + 0.45 * keys, COLUMN - beside), min(1.8 + 0.38 * queries, 8.0)
    figure = Figure(figsize=(width + beside, max(height, 0.9 + 0.5 * layers)), layout="constrained")
    ratios = [width, beside] if beside else [width]
    panels = figure.subplots(1, len(ratios), width_ratios=ratios, squeeze=False)[0]
    title = f"{shown.kind} attention: {SHOWS[show].format(layer=layer, head=head)}"
    heatmap(shown, ax=panels[0], title=title)
    panels[0].collections[0].set_clim(0, data["full"])
    mark_locked(panels[0], locked, queries, keys)
    if beside:
        draw_heads(panels[1], thumbs, show, layer, head)
    return figure


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
    ax.set(xlabel="head", ylabel="layer", title="every head", frame_on=False)
    ax.set_xticks([i + columns / wide / 2 for i in range(heads)], [str(i) for i in range(heads)])
    ax.set_yticks([i + rows / high / 2 for i in range(layers)], [str(i) for i in range(layers)])
    ax.tick_params(length=0)
