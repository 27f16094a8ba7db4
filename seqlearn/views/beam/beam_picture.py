"""The picture of `BeamView`: the whole tree."""

from __future__ import annotations

import math
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from ..shared.axes import signed
from ..shared.colours import TRAIN
from ..shared.constants import SIGNS
from ..shared.fonts import any_script, literal, short_label
from ..shared.types import Data, Style

INK, FAINT = "#1b1b1b", "#6b6b6b"
LOOKS: dict[str, dict[str, Any]] = {  # of a node; they differ without colour, too
    "kept": {"linestyle": "-", "linewidth": 1.5, "edgecolor": INK},
    "complete": {"linestyle": "-", "linewidth": 1.5, "edgecolor": INK},
    "beaten": {"linestyle": ":", "linewidth": 2.0, "edgecolor": INK},
    "pruned": {"linestyle": "--", "linewidth": 0.8, "edgecolor": FAINT},
}
WORDS = (
    "box: score of the sentence so far; G: greedy's choice",
    "line: log-probability of the token; the wider the line, the likelier the token",
    "full: kept; round, ✓: complete; dotted, ≤: beaten; dashed, ×: pruned; blue, thick box, ★: best",
)
SIZE = {"across": 1.37, "down": 0.52}  # inches from node to node
WIDE = 0.6, 4.4  # points: the width of a line of probability 0, and what probability 1 adds
STEPS_IN_LINE = 6  # a longer tree continues in the next line


@any_script
def beam_picture(tree: Data, step: int, source: str | None = None) -> Figure:
    """The whole tree of a search, 6 steps in a line; an arrow marks the current step, if it is not the last.

    Args:
        tree: what `tree_data` returns.
        source: the sentence that is translated; it stands above the tree.
    """
    steps, rows = len(tree["steps"]), tree["rows"]
    lines = -(-steps // STEPS_IN_LINE)
    across, down = min(steps, STEPS_IN_LINE) + 1, rows + 1.3
    width = SIZE["across"] * across
    below = [part for line in WORDS for part in wrap(line, int(width / 0.085))]
    above = [part for text in titles(tree, step, source) for part in wrap(text, int(width / 0.088))]
    top = 0.12 + 0.19 * len(above)
    height = top + lines * SIZE["down"] * down + 0.2 + 0.17 * len(below)
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("none")
    for line in range(lines):
        first, share = line * STEPS_IN_LINE, SIZE["down"] * down / height
        ax = figure.add_axes((0, 1 - top / height - (line + 1) * share, 1, share), frameon=False, xticks=[], yticks=[])
        ax.set(xlim=(first - 0.5, first + across - 0.5), ylim=(rows, -1.3))
        for number, column in list(enumerate(tree["steps"], 1))[max(first - 1, 0) : first + across - 1]:
            here = " ◀" if number == step < steps else ""
            ax.text(number, -0.8, f"{number}{here}", ha="center", fontsize=10)
            more = f"{column['omitted']} more ×" if column["omitted"] else ""
            ax.text(number, rows - 0.4, more, ha="center", fontsize=8, color=FAINT)
        columns = range(first, first + across)
        for node in (i for i, column in enumerate(tree["nodes"]["step"]) if column in columns):
            draw_node(ax, tree, node)
            if tree["nodes"]["step"][node] > first:
                draw_edge(ax, tree, node)
    figure.text(0.1 / width, 1 - 0.1 / height, "\n".join(map(literal, above)), va="top", fontsize=11)
    figure.text(0.1 / width, 0.08 / height, "\n".join(below), va="bottom", fontsize=9)
    return figure


def titles(tree: Data, step: int, source: str | None) -> list[str]:
    """The lines above the tree: the source, and what was found, once all steps are shown."""
    nodes, best, greedy = tree["nodes"], tree["best"], tree["greedy"]
    lines = [] if source is None else [f"Source: {source}"]
    if step < len(tree["steps"]) or not best:
        return [*lines, "A beam search: each step extends the kept sentences by one token"]
    same = "greedy search finds the same" if best[-1] == greedy[-1] else "greedy search does not find it"
    text = " ".join(nodes["text"][node] for node in best)
    return [*lines, f"Best: {text}, score {two_decimals(nodes['score'][best[-1]])}; {same}"]


def look_of(tree: Data, node: int) -> Style:
    """The line of a node and of its edge; the path to the best hypothesis is thick and blue."""
    best = {"edgecolor": TRAIN, "linewidth": 2.5} if node in tree["best"] else {}
    return LOOKS[tree["nodes"]["fate"][node]] | best


def draw_node(ax: Axes, tree: Data, node: int) -> None:
    """The box of a node, with its token and its score."""
    text, score, fate, step, row = (tree["nodes"][name][node] for name in ("text", "score", "fate", "step", "row"))
    shape = f"round,pad=0,rounding_size={0.12 if fate == 'complete' else 0.03}"
    aspect = SIZE["across"] / SIZE["down"]
    box = FancyBboxPatch((step - 0.28, row - 0.36), 0.56, 0.72, shape, mutation_aspect=aspect, **look_of(tree, node))
    ax.add_patch(box).set_facecolor("white")
    color = FAINT if fate == "pruned" else INK
    lines = [(0.13, two_decimals(score)), (-0.13, short_label(text, most=10))] if node else [(0.0, "start")]
    for down, words in lines:
        ax.text(step, row + down, words, ha="center", va="center", fontsize=8, color=color)
    sign = "★" if node in tree["best"][-1:] else SIGNS[fate]
    for x, side, corner in ((-0.25, "left", "G" if node in tree["greedy"] else ""), (0.25, "right", sign)):
        if corner:
            ax.text(step + x, row + 0.13, corner, ha=side, va="center", fontsize=8, color=color)


def draw_edge(ax: Axes, tree: Data, node: int) -> None:
    """The line from the parent to a node, with the log-probability of the token."""
    nodes, look = tree["nodes"], look_of(tree, node)
    step, row, above = nodes["step"][node], nodes["row"][node], nodes["row"][nodes["parent"][node]]
    turn = step - 0.71 + 0.08 * nodes["bend"][node]
    wide = WIDE[0] + WIDE[1] * math.exp(nodes["log_prob"][node])
    order = 0.6 if node in tree["best"] else 0.3 if nodes["fate"][node] == "pruned" else 0.5  # the best path on top
    line = {"color": look["edgecolor"], "linewidth": wide, "linestyle": look["linestyle"]}
    ax.plot([step - 0.72, turn, turn, step - 0.28], [above, above, row, row], zorder=order, **line)
    up = 0.05 + wide / 144 / SIZE["down"]  # half of the line
    ax.text(step - 0.3, row - up, two_decimals(nodes["log_prob"][node]), ha="right", va="bottom", fontsize=7)


def two_decimals(number: float) -> str:
    """A number with two decimals and a true minus sign; 0 has no sign."""
    return signed(f"{number:z.2f}")
