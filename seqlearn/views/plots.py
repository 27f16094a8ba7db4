"""Pictures that stay: heat maps of attention, loss curves, tables. They take tensors and tokens, and return figures."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import seaborn as sns
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..data.pairs import Link
from ..nn.attention import AttentionMap
from ..training.loop import History

CMAP = "viridis"  # evenly graded in lightness: readable in grey, and by colour-blind eyes
AXIS_NAMES = {
    "cross": ("source token (key)", "target token (query)"),
    "encoder": ("token looked at (key)", "token that looks (query)"),
    "causal": ("token looked at (key)", "token that looks (query)"),
    "kernel": ("training point (key)", "test point (query)"),
}
LINK_LABEL = "gold link"
TRAIN, VALID = "#0072B2", "#D55E00"  # Okabe and Ito's blue and vermillion


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
    if ax is None:
        _, ax = plt.subplots(figsize=(2.5 + 0.45 * keys, 1.8 + 0.38 * queries), layout="constrained")
    sns.heatmap(
        attention.weights[layer, head].numpy(),
        vmin=0.0,
        vmax=1.0,
        cmap=CMAP,
        square=queries * keys <= 1024,
        annot=max(queries, keys) <= 8,  # numbers in larger maps take a second to draw and cannot be read
        fmt=".2f",
        mask=None if attention.mask is None else ~attention.mask.numpy(),
        cbar_kws={"label": "attention weight"},
        ax=ax,
    )
    label_axis(ax.xaxis, attention.key_tokens, rotation=45)
    label_axis(ax.yaxis, attention.query_tokens, rotation=0)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    plt.setp(ax.get_xticklabels(), ha="left", rotation_mode="anchor")
    ax.set(xlabel=AXIS_NAMES[attention.kind][0], ylabel=AXIS_NAMES[attention.kind][1])
    marks = [(key + 0.5, query + 0.5) for key, query in gold]
    if marks:
        ax.scatter(*zip(*marks, strict=True), s=90, facecolors="none", edgecolors="white", linewidths=3)
        ring = ax.scatter(*zip(*marks, strict=True), s=90, facecolors="none", edgecolors="crimson", linewidths=1.5)
        ax.legend([ring], [LINK_LABEL], loc="upper left", bbox_to_anchor=(0, -0.02), frameon=False)
    if title:
        ax.set_title(title)
    return ax.figure


def label_axis(axis, tokens: Sequence[str], rotation: int, most: int = 32) -> None:
    """A label for each token; for every second, third ... one where more than `most` would not be readable."""
    every = -(-len(tokens) // most)
    positions = range(0, len(tokens), every)
    axis.set_ticks([position + 0.5 for position in positions])
    axis.set_ticklabels([tokens[position] for position in positions], rotation=rotation)


def loss_curves(history: History, ax: Axes | None = None) -> Figure:
    """The loss after each update (smoothed) and on the validation data after each epoch."""
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    epochs = max(history.epochs, 1)
    smooth = _running_mean(history.batch_losses)
    ax.plot([(index + 1) * epochs / len(smooth) for index in range(len(smooth))], smooth, color=TRAIN, label="training")
    ax.plot(range(1, history.epochs + 1), history.valid_losses, "o--", color=VALID, label="validation")
    ax.set(xlabel="epoch", ylabel="loss (nats per token)", yscale="log", title="Loss")
    ax.grid(alpha=0.3, which="both")
    ax.legend()
    return ax.figure


def _running_mean(values: Sequence[float], keep: float = 0.95) -> list[float]:
    means, mean = [], None
    for value in values:
        mean = value if mean is None else keep * mean + (1 - keep) * value
        means.append(mean)
    return means


def text_table(rows: Sequence[Sequence[str]], columns: Sequence[str], width: int = 130) -> Figure:
    """Text in columns, as a picture: for what a trained model says, which may differ on another machine."""
    shares = [max(len(row[column]) for row in [columns, *rows]) for column in range(len(columns))]
    wrapped = [
        [textwrap.fill(cell, max(8, width * share // sum(shares))) for cell, share in zip(row, shares, strict=True)]
        for row in rows
    ]
    heights = [1.3] + [1.3 * max(cell.count("\n") + 1 for cell in row) for row in wrapped]
    figure, ax = plt.subplots(figsize=(width / 11, 0.24 * sum(heights)), layout="constrained")
    ax.axis("off")
    table = ax.table(wrapped, colLabels=columns, colWidths=shares, cellLoc="left", loc="center")
    table.auto_set_font_size(False)
    table.set_fontsize(11)
    for (row, column), cell in table.get_celld().items():
        cell.PAD = 0.03
        cell.set(height=heights[row] / sum(heights), width=shares[column] / sum(shares), edgecolor="#cccccc")
        if row == 0:
            cell.set(facecolor="#eeeeee")
    return figure


class LivePlot:
    """A figure that grows while `fit` trains: the loss curves and, beside them, translations that get better.

    Pass it to `fit(..., after_epoch=[LivePlot(...)])`. It updates one output, so one picture stays in the notebook.

    Args:
        samples: takes the model and returns pairs (source sentence, translation); called after each epoch.
    """

    def __init__(self, samples: Callable[[Any], Sequence[tuple[str, str]]]):
        self.samples = samples
        self.figure: Figure | None = None

    def __call__(self, model: Any, history: History) -> None:
        """Draw the state of training after an epoch."""
        first = self.figure is None
        if first:
            self.figure, self.axes = plt.subplots(1, 2, figsize=(12, 3.8), layout="constrained", width_ratios=(1, 1))
            plt.close(self.figure)  # shown here, by hand; otherwise the notebook would show it a second time
            self.handle = display(self.figure, display_id=True)
        for ax in self.axes:
            ax.clear()
        loss_curves(history, self.axes[0])
        self.axes[1].axis("off")
        self.axes[1].set_title(f"Translations after epoch {history.epochs}", loc="left")
        lines = "\n".join(f"{source}\n    → {translation}" for source, translation in self.samples(model))
        self.axes[1].text(0, 0.97, lines, va="top", fontsize=10, linespacing=1.5, wrap=True)
        if self.handle is not None:  # None outside a notebook
            self.handle.update(self.figure)
