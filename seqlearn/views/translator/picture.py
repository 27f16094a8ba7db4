"""The picture of `TranslatorView`: the attention of a translation, and the next tokens at one step."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...attention_map import AttentionMap
from ..maps import heatmap
from ..shared.axes import COLUMN, frame
from ..shared.colours import TRAIN
from ..shared.fonts import any_script, short_label
from ..shared.packing import unpack
from ..shared.types import Data

REST = "#8a8a8a"
BARS = 3.4  # inches: the width of the next tokens


@any_script
def translation_picture(result: Data, chosen: int, step: int) -> Figure:
    """The attention (mean of all heads) and the next tokens at one step, side by side; above, source and translation.

    Args:
        result: what `translated` returns.
    """
    best = result["best"][chosen]
    rows, columns = len(best["tokens"]), len(result["source"]) + 1
    long = 0.06 * min(40, max(map(len, (*result["source"], *best["tokens"]))))  # inches of the longest label, slanted
    left = min(2.5 + 0.42 * columns + long, COLUMN - BARS) if best["attention"] else 0
    size = (left + BARS, min(2.2 + 0.34 * rows, 8.0) + long if left else 3.2)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, 2 if left else 1, width_ratios=[left, BARS] if left else [1], squeeze=False)[0]
    if left:
        mean = unpack(best["attention"]["average"])
        heatmap(AttentionMap(mean, best["tokens"], best["attention"]["keys"]), ax=panels[0])
        panels[0].collections[0].set_clim(0, best["attention"]["full"])
        frame(panels[0], (0, step, columns, 1))
    draw_candidates(panels[-1], best["next"][step], f"step {step + 1}: next token", result["words"])
    most = int(11 * size[0])
    figure.suptitle(
        f"{short_label(result['sentence'], most)}\n→ {short_label(best['text'], most)}", x=0.1 / size[0], ha="left"
    )
    return figure


def draw_candidates(ax: Axes, after: Data, title: str, words: int) -> None:
    """A bar for each candidate; ▶ marks the token that was written."""
    signs = ["▶ " if index == after["written"] else "" for index in range(len(after["tokens"]))]
    names = [sign + short_label(text, 20) for sign, text in zip(signs, after["tokens"], strict=True)]
    values = [*after["probs"], after["others"]]
    rows = ax.barh(range(len(values)), values, color=[TRAIN if sign else REST for sign in [*signs, ""]])
    ax.bar_label(rows, ["<0.005" if 0 < value < 0.005 else f"{value:.2f}" for value in values], padding=4)
    ax.set_yticks(range(len(values)), [*names, f"all {words - len(names):,} others"])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.15), xticks=[0, 0.5, 1], xlabel="probability", title=title)
    ax.grid(False, axis="y")
