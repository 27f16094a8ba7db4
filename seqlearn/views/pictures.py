"""The still pictures of the views: what a notebook shows where no kernel runs. Each is drawn from a view's record."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch
from torch import Tensor

from .base import unpack
from .fonts import any_script, short_label
from .maps import CMAP, label_axis, stripe_masked
from .plots import TRAIN, VALID

MOST_NUMBERS = 8  # rows or columns of a picture with numbers in its cells: they take most of the time of drawing it
BLUE_RED = "RdBu_r"  # white at 0; its blue and red are apart for colour-blind eyes
INK, FAINT, EDGE = "#1b1b1b", "#6b6b6b", "#8a8a8a"
LOOKS = {  # of a node: apart without colour, too
    "kept": {"linestyle": "-", "linewidth": 1.5, "edgecolor": INK},
    "complete": {"linestyle": "-", "linewidth": 1.5, "edgecolor": INK},
    "beaten": {"linestyle": ":", "linewidth": 2.0, "edgecolor": INK},
    "pruned": {"linestyle": "--", "linewidth": 0.8, "edgecolor": FAINT},
}
SIGNS = {"kept": "", "complete": "✓ ", "beaten": "≤ ", "pruned": "× "}
ACROSS, DOWN = 1.4, 0.52  # inches from node to node of a tree
STEPS_IN_LINE = 8  # of a tree; a longer one goes on below


@any_script
def steps_picture(record: dict[str, Any], step: int) -> Figure:
    """The results of all five steps of an attention, side by side; an arrow marks the present one."""
    steps = record["steps"]
    queries, keys, value_size = (len(record["axes"][name]) for name in ("query", "key", "value"))
    shares = [min(max(columns, 3), 12) for columns in (keys, keys, keys, keys, value_size)]
    size = (1.5 + min(0.42 * sum(shares), 14.0), 1.6 + 0.3 * min(queries, 12))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(steps), width_ratios=shares, sharey=True)
    for index, (one, ax) in enumerate(zip(steps, panels, strict=True)):
        _matrix(ax, record, one["result"])
        ax.set_title(f"{index + 1}. {one['name']}" + (" ◀" if index == step else ""), fontsize=10)
    panels[0].set_ylabel("query")
    return figure


def _matrix(ax: Axes, record: dict[str, Any], name: str) -> None:
    """One result as a heat map; striped where it is masked."""
    matrix, axes = record["matrices"][name], record["axes"]
    numbers, allowed = unpack(matrix["numbers"]).numpy(), unpack(record["allowed"]).bool().numpy()
    hidden = ~allowed if matrix["masked"] else np.zeros(numbers.shape, dtype=bool)
    rows, columns = numbers.shape
    shown = np.ma.masked_array(numbers, hidden)
    stripe_masked(ax, hidden)
    image = ax.imshow(shown, cmap=CMAP, aspect="auto", interpolation="nearest", extent=(0, columns, rows, 0))
    label_axis(ax.xaxis, axes[matrix["columns"]], rotation=90, most=16)
    label_axis(ax.yaxis, axes[matrix["rows"]], rotation=0, most=16)
    ax.tick_params(labelsize=8)
    if max(rows, columns) > MOST_NUMBERS:
        return
    for row, column in itertools.product(range(rows), range(columns)):
        masked = "−∞" if name == "masked" else "–"
        text = masked if hidden[row, column] else f"{numbers[row, column]:.2f}".replace("-", "−")
        dark = hidden[row, column] or image.norm(float(numbers[row, column])) > 0.6
        color = "black" if dark else "white"
        ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7, color=color)


@any_script
def kernel_picture(
    record: dict[str, Any],
    title: str,
    prediction: Float[Tensor, "queries"],
    shown: Float[Tensor, "queries keys"],
) -> Figure:
    """Data and prediction of a kernel regression, and the weights beside them."""
    keys, values, queries = (unpack(record[name]).numpy() for name in ("keys", "values", "queries"))
    x, y = (short_label(record[name]) for name in ("xlabel", "ylabel"))
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    curve, weights = figure.subplots(1, 2, width_ratios=(1.3, 1))
    curve.scatter(keys, values, s=22, color=VALID, alpha=0.6, label="data")
    curve.plot(queries, prediction.numpy(), color=TRAIN, linewidth=2.5, label="prediction")
    if record["truth"] is not None:
        curve.plot(queries, unpack(record["truth"]).numpy(), "--", color="#595959", label="truth")
    curve.set(xlabel=x, ylabel=y, title=title)
    curve.legend(frameon=False)
    image = weights.imshow(shown.numpy(), cmap=CMAP, vmin=0, aspect="auto", interpolation="nearest")
    for axis, points in ((weights.xaxis, keys), (weights.yaxis, queries)):
        places = np.unique(np.linspace(0, len(points) - 1, min(6, len(points))).round().astype(int))
        axis.set_ticks(places, [f"{points[place]:.3g}" for place in places])
    weights.set(xlabel=f"key: {x} of a data point", ylabel=f"query: {x}", title="weights")
    figure.colorbar(image, ax=weights)
    return figure


@any_script
def position_picture(
    record: dict[str, Any],
    position: int,
    offset: int,
    pair: int,
    rotation: Float[Tensor, "2 2"] | None,
    products: Float[Tensor, "positions"],
) -> Figure:
    """The table of positions as a map, the turn from one to another and the dot products, side by side."""
    note, shares = record["note"], (1.2, 1.1) if rotation is None else (1.2, 0.85, 1.1)
    figure = Figure(figsize=(4 * sum(shares), 4.4), layout="constrained")
    panels = figure.subplots(1, len(shares), width_ratios=shares)
    _table(panels[0], record, {position + offset: "j"} | {position: "i"} if offset else {position: "i = j"})
    if rotation is None:
        figure.supxlabel(note, fontsize=10)
    else:
        panels[0].axvspan(2 * pair - 0.5, 2 * pair + 1.5, fill=False, linewidth=1.5)
        _turn(panels[1], record, position, offset, pair, rotation)
    first, ax = record["start"] - position, panels[-1]
    ax.plot(range(first, first + len(products)), products, color=TRAIN)
    ax.plot([offset], [float(products[offset - first])], "o", color=VALID, label=f"k = {offset}")
    ax.set(xlabel="distance j − i", ylabel="P[i] · P[j]", title=f"dot products with P[{position}]")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    return figure


def _table(ax: Axes, record: dict[str, Any], named: dict[int, str]) -> None:
    """The map, with a line through each named position."""
    table, start, limit = unpack(record["table"]), record["start"], record["limit"]
    positions, size = table.shape
    edges = (-0.5, size - 0.5, start + positions - 0.5, start - 0.5)
    how = {"aspect": "auto", "interpolation": "nearest", "vmin": -limit, "vmax": limit, "extent": edges}
    image = ax.imshow(table.numpy(), cmap=BLUE_RED, **how)
    ax.figure.colorbar(image, ax=ax, pad=0.06)
    for place, name in sorted(named.items(), key=lambda item: item[1]):
        ax.axhline(place, color="black", linewidth=1)
        ax.annotate(name, (1.01, place), xycoords=("axes fraction", "data"), va="center", annotation_clip=False)
    ax.set(xlabel="dimension", ylabel="position", title=f"table ({positions} × {size})")


def _turn(
    ax: Axes, record: dict[str, Any], position: int, offset: int, pair: int, rotation: Float[Tensor, "2 2"]
) -> None:
    """The pair at both positions as hands of a clock, and the matrix that turns one into the other."""
    table, start, first = unpack(record["table"]), record["start"], 2 * pair
    ax.add_patch(Circle((0, 0), 1, fill=False, color=EDGE))
    for name, place, color, line in (("i", position, TRAIN, "-"), ("j", position + offset, VALID, "--")):
        sine, cosine = table[place - start, first : first + 2].tolist()
        ax.plot([0, sine], [0, cosine], line, color=color, linewidth=2.5, label=f"{name} = {place}")
        ax.plot([sine], [cosine], "o", color=color)
    angle = offset * record["frequencies"][pair]
    rows = "\n".join("   ".join(f"{number:.3f}".replace("-", "−") for number in row) for row in rotation)
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", title=f"pair {pair}", xticks=[], yticks=[])
    ax.set_xlabel(
        f"dimension {first}: sine\n\nk = {offset} turns by {angle:.3g} rad = {math.degrees(angle):.0f}°,\n"
        f"the same for every i. Its matrix:\n{rows}".replace("-", "−")
    )
    ax.set_ylabel(f"dimension {first + 1}: cosine")
    ax.legend(frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.0), fontsize=9)


@any_script
def beam_picture(shown: dict[str, Any], step: int) -> Figure:
    """The whole tree of a search, 8 steps in a line; an arrow marks the present step, if it is not the last."""
    steps, rows = len(shown["steps"]), shown["rows"]
    lines = -(-steps // STEPS_IN_LINE)
    across, down = min(steps, STEPS_IN_LINE) + 1, rows + 1.3
    height = lines * DOWN * down + 0.5
    figure = Figure(figsize=(ACROSS * across, height))
    for line in range(lines):
        first, share = line * STEPS_IN_LINE, DOWN * down / height
        limits = {"xlim": (first - 0.5, first + across - 0.5), "ylim": (rows, -1.3)}
        ax = figure.add_axes((0, 1 - (line + 1) * share, 1, share), frameon=False, xticks=[], yticks=[], **limits)
        for number, column in list(enumerate(shown["steps"], 1))[max(first - 1, 0) : first + across - 1]:
            here = " ◀" if number == step < steps else ""
            ax.text(number, -0.8, f"{number}{here}", ha="center", fontsize=10)
            more = f"{column['hidden']} more ×" if column["hidden"] else ""
            ax.text(number, rows - 0.4, more, ha="center", fontsize=8, color=FAINT)
        _nodes(ax, shown, range(first, first + across))
    words = (
        "box: score of the sentence so far; line: log-probability of the token; G: greedy's choice\n"
        "full: kept; round, ✓: complete; dotted, ≤: beaten; dashed, ×: pruned; thick, ★: found"
    )
    figure.text(0.5, 0.25 / height, words, ha="center", va="center", fontsize=9)
    return figure


def _nodes(ax: Axes, shown: dict[str, Any], columns: range) -> None:
    """The nodes in these columns, and the lines between them."""
    nodes, best, greedy = (shown[name] for name in ("nodes", "best", "greedy"))
    for i, (step, row, fate) in enumerate(zip(nodes["step"], nodes["row"], nodes["fate"], strict=True)):
        if step not in columns:
            continue
        look = LOOKS[fate] | ({"edgecolor": TRAIN, "linewidth": 2.5} if i in best else {})
        shape = f"round,pad=0,rounding_size={0.12 if fate == 'complete' else 0.03}"
        box = FancyBboxPatch((step - 0.28, row - 0.36), 0.56, 0.72, shape, mutation_aspect=ACROSS / DOWN, **look)
        ax.add_patch(box).set_facecolor("white")
        if step > columns[0]:
            above, turn = nodes["row"][nodes["parent"][i]], step - 0.72 + 0.14 * nodes["bend"][i]
            line = {"color": look["edgecolor"], "linewidth": look["linewidth"], "linestyle": look["linestyle"]}
            order = 0.6 if i in best else 0.3 if fate == "pruned" else 0.5  # what is found lies on top
            ax.plot([step - 0.72, turn, turn, step - 0.28], [above, above, row, row], zorder=order, **line)
            ax.text(step - 0.3, row - 0.06, plain(nodes["log_prob"][i]), ha="right", va="bottom", fontsize=7)
        text = short_label(nodes["text"][i], most=10)
        sign = ("★ " if i in best[-1:] else SIGNS[fate]) + ("G " if i in greedy else "")
        words = f"{text}\n{sign}{plain(nodes['score'][i])}" if i else "start"
        ax.text(step, row, words, ha="center", va="center", fontsize=8, color=FAINT if fate == "pruned" else INK)


def plain(number: float) -> str:
    """Two decimals, and a true minus sign, but none before 0."""
    return f"{number:z.2f}".replace("-", "−")
