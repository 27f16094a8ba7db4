"""The picture of `GruView`: the state and the gates of one unit at each word, and one step as a sentence of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..shared.axes import COLUMN, label_axis, signed
from ..shared.colours import BLUE_RED, TRAIN
from ..shared.fonts import any_script, short_label

if TYPE_CHECKING:
    from .gru_data import GruStep

EDGE = "#595959"
LEAST_WIDE = 7.6  # inches: the title has room
MOST_NUMBERS = 16  # words: the bars of more have no room for their numbers


@any_script
def gru_picture(
    tokens: Sequence[str],
    states: Sequence[float],
    updates: Sequence[float],
    resets: Sequence[float],
    unit: int,
    word: int,
    step: GruStep,
    before: Sequence[float] = (),
) -> Figure:
    """Bars for the state after each word and for the gates at each word; the title is the step at one word.

    Args:
        word: the index of the word whose step the title has.
        step: its numbers.
        before: if a gate of this step is set, the states of the network from this word on: dotted lines.
    """
    figure = Figure(figsize=(min(max(2.5 + 0.62 * len(tokens), LEAST_WIDE), COLUMN), 4.4), layout="constrained")
    top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=(2, 1, 1))
    _bars(top, states, [colormaps[BLUE_RED]((number + 1) / 2) for number in states])
    top.set(ylim=(-1.25, 1.25), yticks=(-1, 0, 1), ylabel="state h′")
    for ax, gates, name in ((middle, updates, "update z"), (bottom, resets, "reset r")):
        _bars(ax, gates, [TRAIN] * len(gates))
        ax.set(ylim=(0, 1.35), yticks=(0, 1), ylabel=name)
    for ax in (top, middle, bottom):
        ax.axvspan(word, word + 1, color="#eeeeee", zorder=0)
        ax.grid(False, axis="x")
    if before:
        top.hlines(before, *([word + edge + i for i in range(len(before))] for edge in (0.1, 0.9)), EDGE, "dotted")
        bottom.set_xlabel(
            "dotted: the state as the network has it; later words: its gates, and the changed state carried on"
        )
    top.axhline(0, color=EDGE, linewidth=0.8)
    top.set_title(f"{title_of(unit, tokens[word], step)}\n{arithmetic(step)}", loc="left")
    label_axis(bottom.xaxis, tokens, rotation=0 if max(map(len, tokens)) < 8 and len(tokens) < 14 else 40, longest=16)
    bottom.set_xlim(0, len(tokens))
    figure.align_ylabels()
    return figure


def _bars(ax: Axes, numbers: Sequence[float], colours: Sequence[object]) -> None:
    """A bar for each word, with its number."""
    middles = [i + 0.5 for i in range(len(numbers))]
    ax.bar(middles, numbers, width=0.62, color=colours, edgecolor=EDGE, linewidth=0.8)
    for x, number in zip(middles, numbers, strict=True) if len(numbers) <= MOST_NUMBERS else ():
        below = number < 0
        ax.annotate(
            written(number), (x, number), (0, -2 if below else 2), textcoords="offset points", ha="center",
            va="top" if below else "bottom", fontsize=8,
        )  # fmt: skip


def title_of(unit: int, token: str, step: GruStep) -> str:
    """The unit, the word, and what the update gate does, as in the live view."""
    return f"unit {unit} at “{short_label(token, 24)}”: {deed(step.update)}"


def deed(update: float) -> str:
    """What a unit does with this update gate."""
    return "it keeps its old state" if update >= 0.8 else "it takes the new value" if update <= 0.2 else "it mixes both"


def arithmetic(step: GruStep) -> str:
    """The last line of a GRU with numbers: how new value and old state make the new state."""
    gate, new, old = written(step.update), in_product(step.new), in_product(step.old)
    return f"h′ = (1 − z) · n + z · h = (1 − {gate}) · {new} + {gate} · {old} ≈ {written(step.state)}"


def written(number: float) -> str:
    """A number with 2 decimals and a true minus sign, never −0.00."""
    text = f"{number:.2f}"
    return "0.00" if text == "-0.00" else signed(text)


def in_product(number: float) -> str:
    """The same, in brackets if it is below 0."""
    text = written(number)
    return f"({text})" if text.startswith("−") else text
