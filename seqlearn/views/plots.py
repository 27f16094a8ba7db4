"""Figures for lessons: heat maps, loss curves, bars. They take tensors and tokens, and return figures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from ..training.history import History
from .maps import all_heads, grid, head_shares, heatmap
from .shared.axes import COLUMN, figure_of, label_ends, new_axes, set_title
from .shared.colours import CMAP, CYCLE, MASKED, ODD, OPEN, TRAIN, VALID
from .shared.fonts import any_script, fix_colours, literal
from .shared.types import Data, Style

__all__ = [
    "CMAP",
    "MASKED",
    "ODD",
    "OPEN",
    "TRAIN",
    "VALID",
    "LivePlot",
    "all_heads",
    "bars",
    "diagram",
    "grid",
    "head_shares",
    "heatmap",
    "length_histogram",
    "loss_curves",
    "number_ticks",
    "quality_by_length",
    "share_by_length",
]
LOOKS: list[dict[str, Any]] = [  # of lines: they differ in colour, in lightness and in their markers
    {"color": TRAIN, "marker": "o"},
    {"color": VALID, "marker": "s", "linestyle": "--"},
    {"color": CYCLE[2], "marker": "^", "linestyle": "-."},
    {"color": CYCLE[3], "marker": "D", "linestyle": ":"},
]


@any_script
def length_histogram(
    lengths: Mapping[str, Iterable[int]], *, title: str = "", most: int | None = None, ax: Axes | None = None
) -> Figure:
    """The number of sentences of each length: bars in one colour for each name, and the median in the legend.

    Args:
        lengths: the lengths in tokens, by name ("English", "French").
        most: the last bar also counts all longer sentences; default: the longest length.
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
    shown, width = np.arange(start, end + 1), 0.9 / len(listed)
    own, ax = ax is None, new_axes(ax, 8, 3.2)
    for number, ((name, counted), color) in enumerate(zip(listed.items(), itertools.cycle((TRAIN, VALID)))):
        counts = np.bincount(counted.clip(max=end), minlength=end + 1)[start:]
        shift = (number - (len(listed) - 1) / 2) * width
        how: Style = {
            "color": color,
            "edgecolor": "white",
            "hatch": ("", "///")[number % 2],
        }  # the hatch tells the bars apart in a grey print, too
        ax.bar(shown + shift, counts, width, label=f"{literal(name)} (median {np.median(counted):.0f})", **how)
    every = -(-len(shown) // 25)
    names = [f"{length}+" if length == end < longest else str(length) for length in shown]
    ax.set_xticks(shown[::-every][::-1], names[::-every][::-1])
    ax.set(xlabel="length (tokens)", ylabel="sentences")
    ax.grid(False, axis="x")
    ax.legend()
    set_title(ax, title, own)
    return figure_of(ax)


@any_script
def bars(
    values: Mapping[str, float],
    *,
    title: str = "",
    xlabel: str = "",
    form: str = "{:.0%}",
    limit: float | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A bar for each name, the first one at the top, with the number written at the end of the bar.

    Args:
        values: the lengths of the bars, none below 0; a share is a number from 0 to 1.
        form: the format of the numbers: `{:.0%}` for shares, `{:,}` for counts.
        limit: the end of the axis; default: a little beyond the longest bar.
        ax: where to draw; default: a new figure.
    """
    own, ax = ax is None, new_axes(ax, 7.5, 0.9 + 0.38 * len(values))
    rows = ax.barh(range(len(values)), list(values.values()), color=TRAIN)
    ax.set_yticks(range(len(values)), list(map(literal, values)))
    ax.bar_label(rows, [literal(form.format(value)) for value in values.values()], padding=4)
    ax.invert_yaxis()
    ax.set(xlabel=literal(xlabel), xlim=(0, limit or 1.18 * max(values.values()) or 1))
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda number, index: literal(form.format(int(number) if number == int(number) else number)))
    )
    ax.grid(False, axis="y")
    set_title(ax, title, own)
    return figure_of(ax)


@any_script
def diagram(
    places: Mapping[str, tuple[float, float]],
    arrows: Iterable[tuple[str, str]],
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Figure:
    """Boxes with words in them, and arrows from box to box: how the parts of a layer are wired.

    Args:
        places: the middle of each box, x to the right and y upwards, by its words.
        arrows: the words of the two boxes that each arrow joins.
        ax: where to draw; default: a new figure.

    Raises:
        ValueError: an arrow names a box that has no place.
    """
    arrows = list(arrows)
    if unknown := [name for arrow in arrows for name in arrow if name not in places]:
        raise ValueError(f"there is no box {unknown[0]!r}: the boxes are {', '.join(places)}")
    xs, ys = zip(*places.values(), strict=True)
    own, ax = ax is None, new_axes(ax, COLUMN, 0.8 + 0.7 * (max(ys) - min(ys)))
    look: Style = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": TRAIN}
    boxes = {
        name: ax.text(*place, literal(name), ha="center", va="center", bbox=look).get_bbox_patch()
        for name, place in places.items()
    }
    for start, end in arrows:
        arrow = {"arrowstyle": "->", "color": "grey", "patchA": boxes[start], "patchB": boxes[end]}
        ax.annotate("", places[end], places[start], arrowprops=arrow)
    ax.set(xlim=(min(xs) - 0.5, max(xs) + 0.5), ylim=(min(ys) - 0.5, max(ys) + 0.5))
    ax.set_axis_off()
    set_title(ax, title, own)
    return figure_of(ax)


@any_script
def quality_by_length(runs: Mapping[str, Sequence[Data]], *, title: str = "", ax: Axes | None = None) -> Figure:
    """BLEU by the length of the sentence: for each name a line through the mean of its runs, and the range around it.

    Args:
        runs: one result or more (seeds) by name, each with "bins": a list of groups of sentences with "from" and "to"
            (tokens, both included), "pairs" and "bleu", as `benchmarks/experiments.py bottleneck` stores them.
        ax: where to draw; default: a new figure.

    Raises:
        ValueError: there are no runs under a name, or not all have the same groups.
    """
    every = list(itertools.chain.from_iterable(runs.values()))
    grouped = [[(part["from"], part["to"], part["pairs"]) for part in run["bins"]] for run in every]
    if not grouped or not all(runs.values()) or any(parts != grouped[0] for parts in grouped):
        raise ValueError("each name needs at least one run, and all runs the same groups of sentences")
    own, ax, groups = ax is None, new_axes(ax, 7.5, 4), range(len(grouped[0]))
    ends = []
    for (name, listed), look in zip(runs.items(), itertools.cycle(LOOKS)):
        scores = np.array([[part["bleu"] for part in run["bins"]] for run in listed])
        label = literal(name) + (f" ({len(listed)} seeds)" if len(listed) > 1 else "")
        ax.plot(groups, scores.mean(0), label=label, **look)
        ends.append((label, groups[-1], scores.mean(0)[-1], look["color"]))
        ax.fill_between(groups, scores.min(0), scores.max(0), color=look["color"], alpha=0.2, linewidth=0)
    ax.set_xticks(groups, [f"{low}-{high}\n(n={count})" for low, high, count in grouped[0]])
    ax.set(xlabel="length of the source (tokens; n: sentences)", ylabel="BLEU", ylim=(0, 103))
    ax.grid(False, axis="x")
    label_ends(ax, ends)
    set_title(ax, title, own)
    return figure_of(ax)


@any_script
def share_by_length(
    runs: Mapping[str, Sequence[Data]], *, trained: int, title: str = "", ax: Axes | None = None
) -> Figure:
    """The share right by the length of the test sequences: for each name the mean of its runs, and the range around it.

    Args:
        runs: one result or more (seeds) by name, each with "lengths" and "right", as `benchmarks/experiments.py
            positions` stores them.
        trained: the longest sequence of the training; a dotted line marks it.
        ax: where to draw; default: a new figure.

    Raises:
        ValueError: there are no runs under a name, or not all have the same lengths.
    """
    every = list(itertools.chain.from_iterable(runs.values()))
    lengths = list(every[0]["lengths"]) if every else []
    if not lengths or not all(runs.values()) or any(run["lengths"] != lengths for run in every):
        raise ValueError("each name needs at least one run, and all runs the same lengths")
    own, ax, ends = ax is None, new_axes(ax, COLUMN, 4), []
    for number, (name, listed) in enumerate(runs.items()):
        shares = np.array([run["right"] for run in listed])
        color, style = CYCLE[number % len(CYCLE)], ("-", "--", "-.", ":")[number % 4]
        ax.plot(lengths, shares.mean(0), "os^DvP"[number % 6], color=color, linestyle=style, label=literal(name))
        ends.append((literal(name), lengths[-1], shares.mean(0)[-1], color))
        ax.fill_between(lengths, shares.min(0), shares.max(0), color=color, alpha=0.15, linewidth=0)
    ax.axvline(trained, color="grey", linestyle=":")
    ax.set(xlabel="length of the test sequences", ylabel="share right", xscale="log", ylim=(0, 1.04))
    ax.set_xticks(lengths, list(map(str, lengths)))
    ax.xaxis.set_minor_locator(NullLocator())
    label_ends(ax, ends)
    set_title(ax, title, own)
    return figure_of(ax)


@any_script
def loss_curves(history: History, ax: Axes | None = None, *, title: str = "") -> Figure:
    """The training loss of each update, smoothed, and the validation loss after each epoch, on a logarithmic axis.

    Args:
        title: what the curves show; default: the last validation loss.
    """
    own, ax = ax is None, new_axes(ax, 7, 3.6)
    epochs = max(history.epochs, 1)
    smooth = _running_mean(history.batch_losses)
    ax.plot([(index + 1) * epochs / len(smooth) for index in range(len(smooth))], smooth, color=TRAIN, label="training")
    ax.plot(range(1, history.epochs + 1), history.valid_losses, "o--", color=VALID, label="validation")
    ax.set(xlabel="epoch", ylabel="loss (nats per token)", yscale="log")
    ax.set_xlim(left=0)
    number_ticks(ax.yaxis)
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
    after = f"{history.epochs} epoch{'s' if history.epochs > 1 else ''}"
    last = f"Validation loss {history.valid_losses[-1]:.3g} after {after}" if history.valid_losses else "Loss"
    drawn = (("training", smooth, TRAIN), ("validation", history.valid_losses, VALID))
    label_ends(ax, [(name, epochs, losses[-1], color) for name, losses, color in drawn if losses])
    set_title(ax, title or last, own)
    return figure_of(ax)


def number_ticks(axis: Axis) -> None:
    """Give a logarithmic axis round numbers as ticks, written out: 0.001, 0.5, 20."""
    axis.set_major_locator(RoundNumbers())
    axis.set_major_formatter(FuncFormatter(lambda number, index: f"{number:.10f}".rstrip("0").rstrip(".")))
    axis.set_minor_locator(NullLocator())


class RoundNumbers(LogLocator):
    """Chooses the ticks of a logarithmic axis: 4 to 10 round numbers, such as 0.1, 0.2, 0.5, 1, 2."""

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """The numbers from `vmin` to `vmax` that get a tick."""
        low, high = sorted((vmin, vmax))
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for factors in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
            ticks = [factor * 10.0**power for power in powers for factor in factors]
            ticks = [tick for tick in ticks if low <= tick <= high]
            if len(ticks) >= 4:
                return ticks[:: -(-len(ticks) // 10)]
        ticks = MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(low, high)  # such a short axis is almost linear
        return [tick for tick in ticks if low <= tick <= high]


def _running_mean(values: Sequence[float], keep: float = 0.95) -> list[float]:
    return list(itertools.accumulate(values, lambda mean, value: keep * mean + (1 - keep) * value))


class LivePlot:
    """A figure that grows while `fit` trains: the loss curves and, beside them, translations that get better.

    Pass it to `fit(..., after_epoch=[LivePlot(...)])`. Every epoch updates the same output, so that the notebook keeps
    one picture.

    Args:
        samples: a function that takes the model and returns pairs (source sentence, translation); it is called after
            each epoch.
    """

    def __init__(self, samples: Callable[[Any], Sequence[tuple[str, str]]]):  # Any: the model, whatever it is
        self.samples = samples
        self.figure: Figure | None = None

    @any_script
    def __call__(self, model: object, history: History) -> None:
        """Draw the state of training after an epoch."""
        if self.figure is None:
            self.figure = plt.figure(figsize=(COLUMN, 3.8), layout="constrained")
            self.figure.subplots(1, 2)
            plt.close(self.figure)  # `display` shows it; pyplot would show it a second time
            self.handle = display(self.figure, display_id=True)
        curves, texts = self.figure.axes
        curves.clear()
        texts.clear()
        loss_curves(history, curves)
        fix_colours(self.figure)
        texts.axis("off")
        texts.set_title(f"Translations after epoch {history.epochs}", loc="left")
        pairs = [(wrap(source, 56), wrap(f"→ {translation}", 52)) for source, translation in self.samples(model)]
        lines = [line for source, translation in pairs for line in (*source, *(f"    {part}" for part in translation))]
        self.figure.set_figheight(max(3.8, 0.8 + 0.19 * len(lines)))
        texts.text(0, 1, literal("\n".join(lines)), va="top", fontsize=9, linespacing=1.4)
        if self.handle is not None:  # there is no handle outside a notebook
            self.handle.update(self.figure)
