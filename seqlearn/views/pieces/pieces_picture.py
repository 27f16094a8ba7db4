"""The picture of `PiecesView`: a row for each word, a box for each of its pieces."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..shared.colours import GROUND, ODD, OPEN, STRIPE, VALID
from ..shared.fonts import any_script, short_label
from ..shared.types import Style
from .pieces_data import Merge, neighbours

MOST_ROWS, MOST_BOXES = 14, 24  # words, and pieces of a word, that are drawn
MOST_TIES = 3  # pairs as frequent as the next one that are named
UNKNOWN: Style = {"facecolor": GROUND, "edgecolor": STRIPE, "hatch": "/////", "linewidth": 0}
FRAME: Style = {"facecolor": "none", "edgecolor": VALID, "linewidth": 2}
WHITE: Style = {"facecolor": "white", "edgecolor": "none", "pad": 1}
Row = tuple[str, Sequence[str]]  # a word, and its pieces


@any_script
def pieces_picture(
    rows: Sequence[Row], own: Row | None, merges: Sequence[Merge], joins: int, known: Sequence[str]
) -> Figure:
    """Words in pieces; the pair that is joined next has a frame.

    Args:
        own: the word of the learner.
        known: the vocabulary after these joins.
    """
    shown = list(rows[:MOST_ROWS])
    lines = len(shown) + (1.4 if own else 0)
    figure = Figure(figsize=(6.4, 1.05 + 0.36 * lines), layout="constrained")
    ax = figure.subplots()
    pair = list(merges[joins]) if joins < len(merges) else None
    newest = "".join(merges[joins - 1]) if joins else None
    places = [*((y, row) for y, row in enumerate(shown)), *([(len(shown) + 0.4, own)] if own else [])]
    ends = [_boxes(ax, y, pieces, pair, newest, set(known)) for y, (_, pieces) in places]
    names = [short_label(word, 24) for word, _ in shown] + ([f"typed: {short_label(own[0], 24)}"] if own else [])
    ax.set_yticks([y for y, _ in places], names)
    ax.set(xlim=(-0.1, max(14.5, *ends)), ylim=(lines - 0.4, -0.6), xticks=[])
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    more = f" (drawn: {MOST_ROWS})" if len(rows) > MOST_ROWS else ""
    ax.set_title(f"{counts_of([pieces for _, pieces in rows], joins, len(known))}{more}\n{next_of(rows, pair)}")
    entries: dict[str, Style] = {"joined next": FRAME} if pair else {}
    entries |= {"joined last": {"facecolor": OPEN, "edgecolor": "black"}} if newest else {}
    entries |= {"unknown": UNKNOWN} if own and set(own[1]) - set(known) else {}
    if entries:
        patches = [Rectangle((0, 0), 1, 1, label=name, **how) for name, how in entries.items()]
        figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))
    return figure


def _boxes(
    ax: Axes, y: float, pieces: Sequence[str], pair: list[str] | None, newest: str | None, known: set[str]
) -> float:
    """Draw the pieces of a word; return where they end."""
    x, pairs, lefts = 0.0, starts_of(pieces, pair), list[float]()
    labels = [short_label(piece, 24) for piece in pieces[:MOST_BOXES]] + ["…"] * (len(pieces) > MOST_BOXES)
    for i, (label, piece) in enumerate(zip(labels, pieces, strict=False)):
        wide = 0.45 + 0.55 * sum(1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.62 for letter in label)
        unknown = i < MOST_BOXES and piece not in known
        fill: Style = UNKNOWN if unknown else {"facecolor": OPEN if piece == newest else "white", "edgecolor": ODD}
        ax.add_patch(Rectangle((x, y - 0.36), wide, 0.72, **fill))
        ax.text(x + wide / 2, y, label, ha="center", va="center", bbox=WHITE if unknown else None)
        if i - 1 in pairs and i < MOST_BOXES:
            ax.add_patch(Rectangle((lefts[-1], y - 0.36), x + wide - lefts[-1], 0.72, zorder=3, **FRAME))
        lefts.append(x)
        x += wide + 0.12
    return x


def starts_of(pieces: Sequence[str], pair: Sequence[str] | None) -> list[int]:
    """Where this pair begins in a word; the places do not overlap."""
    starts: list[int] = []
    for i in range(len(pieces) - 1):
        if pair and [pieces[i], pieces[i + 1]] == list(pair) and i - 1 not in starts:
            starts.append(i)
    return starts


def counts_of(cut: Sequence[Sequence[str]], joins: int, known: int) -> str:
    """How many pieces the words have, and how large the vocabulary is, as in the live view."""
    pieces, after = sum(map(len, cut)), "1 join" if joins == 1 else f"{joins} joins"
    return f"After {after}: {pieces} pieces in {len(cut)} words, {known} in the vocabulary"


def next_of(rows: Sequence[Row], pair: Sequence[str] | None) -> str:
    """The pair that is joined next, and how often it stands in the words, as in the live view."""
    if pair is None:
        return "All joins are made."
    counts = neighbours(pieces for _, pieces in rows)
    count = counts[pair[0], pair[1]]
    name = "Most frequent neighbours" if count == max(counts.values(), default=0) else "Next"
    text = f"{name}: {_joined(pair)}, {count} {'time' if count == 1 else 'times'}"
    ties = [list(both) for both in counts if counts[both] == count]
    others = [_joined(both) for both in ties if both != list(pair)]
    if name == "Next" or not others:
        return text
    later = ", but later in the words" if ties[0] == list(pair) else ""
    return f"{text}.\nAs often{later}: {', '.join(others[:MOST_TIES])}{', …' if len(others) > MOST_TIES else ''}"


def _joined(pair: Sequence[str]) -> str:
    return " + ".join(short_label(piece, 24) for piece in pair)
