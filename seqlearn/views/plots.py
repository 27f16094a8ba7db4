"""Pictures that stay: heat maps of attention, loss curves, tables. They take tensors and tokens, and return figures."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import torch
from IPython.display import display
from jaxtyping import Shaped
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from torch import Tensor

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
OPEN, MASKED, ODD = "#8ECDF2", "#4D4D4D", "#D9D9D9"  # light blue, dark grey, light grey: apart in lightness too
TRAIN, VALID = "#0072B2", "#D55E00"  # Okabe and Ito's blue and vermillion
LOOKS = [  # of lines: apart in colour, in lightness and in their marks
    {"color": TRAIN, "marker": "o"}, {"color": VALID, "marker": "s", "linestyle": "--"},
    {"color": "#009E73", "marker": "^", "linestyle": "-."}, {"color": "#000000", "marker": "D", "linestyle": ":"},
]  # fmt: skip


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
    ax = _axes(ax, 2.5 + 0.45 * keys, 1.8 + 0.38 * queries)
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
        mask=None if attention.mask is None else ~attention.mask.numpy(),
        cbar_kws={"label": "attention weight"},
    )
    ax.set(xlabel=AXIS_NAMES[attention.kind][0], ylabel=AXIS_NAMES[attention.kind][1])
    marks = [(key + 0.5, query + 0.5) for key, query in gold]
    if marks:
        ax.scatter(*zip(*marks, strict=True), s=90, facecolors="none", edgecolors="white", linewidths=3)
        ring = ax.scatter(*zip(*marks, strict=True), s=90, facecolors="none", edgecolors="crimson", linewidths=1.5)
        ax.legend([ring], [LINK_LABEL], loc="upper left", bbox_to_anchor=(0, -0.02), frameon=False)
    if title:
        ax.set_title(title)
    return ax.figure


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
    ax = _axes(ax, 2.5 + (0.45 if texts is None else 0.7) * len(columns), 1.8 + 0.38 * len(rows))
    lines = 0.5 if values.numel() <= 400 else 0.0  # between very many cells they would be all that is seen
    how: dict[str, Any] = {"square": texts is None and values.numel() <= 1024, "linewidths": lines}
    if texts is not None:
        how |= {"annot": np.array(texts, dtype=object), "fmt": ""}
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
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_title(title)
    return ax.figure


def _axes(ax: Axes | None, width: float, height: float) -> Axes:
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


def label_axis(axis, tokens: Sequence[str], rotation: int, most: int = 32) -> None:
    """A label for each token; for every second, third ... one where more than `most` would not be readable."""
    every = -(-len(tokens) // most)
    positions = range(0, len(tokens), every)
    axis.set_ticks([position + 0.5 for position in positions])
    axis.set_ticklabels([tokens[position] for position in positions], rotation=rotation)


def length_histogram(
    lengths: Mapping[str, Iterable[int]], *, title: str = "", most: int | None = None, ax: Axes | None = None
) -> Figure:
    """How many sentences have which length: a set of bars for each name, and its median in the legend.

    Args:
        lengths: the lengths in tokens, by name ("English", "French").
        most: longer sentences are counted in the last bar; default: the longest of all.
        ax: where to draw; default: a new figure.

    Raises:
        ValueError: there are no lengths.
    """
    listed = {name: np.fromiter(counted, int) for name, counted in lengths.items()}
    if not listed or not all(map(len, listed.values())):
        raise ValueError("a histogram needs at least one length under each name")
    longest = max(int(counted.max()) for counted in listed.values())
    end = longest if most is None else min(most, longest)
    start = min(int(counted.min()) for counted in listed.values())
    places, width = np.arange(start, end + 1), 0.9 / len(listed)
    ax = _axes(ax, 8, 3.2)
    for number, ((name, counted), color) in enumerate(zip(listed.items(), itertools.cycle((TRAIN, VALID)))):
        counts = np.bincount(counted.clip(max=end), minlength=end + 1)[start:]
        shift = (number - (len(listed) - 1) / 2) * width
        how = {"color": color, "edgecolor": "white", "hatch": ("", "///")[number % 2]}  # apart in grey, too
        ax.bar(places + shift, counts, width, label=f"{name} (median {np.median(counted):.0f})", **how)
    every = -(-len(places) // 25)
    names = [f"{place}+" if place == end < longest else str(place) for place in places]
    ax.set_xticks(places[::-every][::-1], names[::-every][::-1])
    ax.set(xlabel="length (tokens)", ylabel="sentences", title=title)
    ax.legend(frameon=False)
    return ax.figure


def bars(
    values: Mapping[str, float],
    *,
    title: str = "",
    xlabel: str = "",
    form: str = "{:.0%}",
    limit: float | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A bar for each name, the first one at the top, with its number written at its end.

    Args:
        values: the lengths of the bars, none below 0; a share is a number from 0 to 1.
        form: how a number is written: `{:.0%}` for shares, `{:,}` for counts.
        limit: where the axis ends; default: a little beyond the longest bar.
        ax: where to draw; default: a new figure.
    """
    ax = _axes(ax, 7.5, 0.9 + 0.38 * len(values))
    drawn = ax.barh(list(values), list(values.values()), color=TRAIN)
    ax.bar_label(drawn, [form.format(value) for value in values.values()], padding=4)
    ax.invert_yaxis()
    ax.set(xlabel=xlabel, title=title, xlim=(0, limit or 1.18 * max(values.values()) or 1))
    ax.spines[["top", "right"]].set_visible(False)
    return ax.figure


def quality_by_length(
    runs: Mapping[str, Sequence[Mapping[str, Any]]], *, title: str = "", ax: Axes | None = None
) -> Figure:
    """BLEU against the length of the sentence: under each name a line through the mean of its runs, and their range.

    Args:
        runs: one result or more (seeds) by name, each with "bins": a list of groups of sentences with "from" and "to"
            (tokens, both included), "pairs" and "bleu", as `benchmarks/experiments.py bottleneck` stores them.
        ax: where to draw; default: a new figure.

    Raises:
        ValueError: there are no runs under a name, or not all have the same groups.
    """
    every = list(itertools.chain.from_iterable(runs.values()))
    grouped = [[(part["from"], part["to"], part["pairs"]) for part in run["bins"]] for run in every]
    if not grouped or not all(runs.values()) or any(groups != grouped[0] for groups in grouped):
        raise ValueError("each name needs at least one run, and all runs the same groups of sentences")
    ax, places = _axes(ax, 7.5, 4), range(len(grouped[0]))
    for (name, listed), look in zip(runs.items(), itertools.cycle(LOOKS)):
        scores = np.array([[part["bleu"] for part in run["bins"]] for run in listed])
        label = name if len(listed) == 1 else f"{name} ({len(listed)} seeds)"
        ax.plot(places, scores.mean(0), label=label, **look)
        ax.fill_between(places, scores.min(0), scores.max(0), color=look["color"], alpha=0.2, linewidth=0)
    ax.set_xticks(places, [f"{low}-{high}\n(n={count})" for low, high, count in grouped[0]])
    ax.set(xlabel="length of the source (tokens; n: sentences)", ylabel="BLEU", ylim=(0, 103), title=title)
    ax.grid(axis="y", alpha=0.3)
    ax.legend(frameon=False, loc="lower left")
    return ax.figure


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
