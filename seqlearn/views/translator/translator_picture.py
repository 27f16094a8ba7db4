"""The picture of `TranslatorView`: the attention of a translation, and the next tokens at one step."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...analysis.attention_map import AttentionMap
from ..attention.attention_picture import LINES, draw_lines, write_numbers
from ..maps import heatmap
from ..shared.axes import COLUMN, frame, label_axis
from ..shared.colours import TRAIN
from ..shared.constants import MOST_SEEN, THRESHOLD
from ..shared.fonts import any_script, short_label
from ..shared.packing import unpack
from ..shared.types import Data

REST = "#8a8a8a"
BARS = 2.9  # inches: the width of the next tokens


@any_script
def translation_picture(result: Data, chosen: int, step: int) -> Figure:
    """Lines and heat map of the attention (mean of all heads), and the next tokens at one step, side by side.

    The title has the source and the translation, and says what the model does at this step.

    Args:
        result: what `translated` returns.
    """
    best = result["best"][chosen]
    shown = best["attention"] and AttentionMap(
        unpack(best["attention"]["average"]), best["tokens"], best["attention"]["keys"]
    )
    width, height, ratios = _sizes(shown)
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(1, len(ratios), width_ratios=ratios, squeeze=False)[0]
    if shown:
        full, locked = best["attention"]["full"], ["query", step]
        draw_lines(panels[0], shown, [shown.weights[0, 0].numpy()], THRESHOLD, full, locked)
        draw_map(panels[1], shown, full, step)
    draw_candidates(panels[-1], best["next"][step], f"step {step + 1}: next token", result["words"])
    most = int(11 * width)
    texts = short_label(result["sentence"], most), f"→ {short_label(best['text'], most)}"
    figure.suptitle("\n".join([*texts, in_words(best, step, shown, most)]), x=0.1 / width, ha="left", fontsize=11)
    return figure


def _sizes(shown: AttentionMap | None) -> tuple[float, float, list[float]]:
    """Width and height of the picture, and the widths of its panels, in inches."""
    if shown is None:
        return 1.4 * BARS, 3.4, [1]
    long = 0.07 * min(20, max(map(len, (*shown.query_tokens, *shown.key_tokens))))  # of the longest token
    queries, keys = shown.weights.shape[2:]
    lines = LINES - 0.6 + long
    width = min(1.2 + long + 0.36 * keys, COLUMN - lines - BARS)
    return lines + width + BARS, min(2.1 + long + 0.25 * max(queries, keys), 8.0), [lines, width, BARS]


def draw_map(ax: Axes, shown: AttentionMap, full: float, step: int) -> None:
    """The heat map, with the row of the step in a frame. The tokens of the rows stand beside the lines already."""
    heatmap(shown, ax=ax)
    cells = ax.collections[0]
    cells.set_clim(0, full)
    if cells.colorbar is not None:
        cells.colorbar.remove()
    ax.set(xlabel="", ylabel="", aspect="auto")
    keys = shown.weights.shape[3]
    if keys > 14:
        label_axis(ax.xaxis, shown.key_tokens, 90, most=30, longest=20)
    write_numbers(ax, shown.weights[0, 0].numpy() / full, full)
    frame(ax, (0, step, keys, 1))


def in_words(best: Data, step: int, shown: AttentionMap | None, most: int) -> str:
    """What the model writes at this step, and where it looks."""
    after = best["next"][step]
    words = f"At step {step + 1} the model writes “{best['tokens'][step]}” ({chance(after['probs'][after['written']])})"
    if shown is None:
        return short_label(words + ".", most)
    weights, places = shown.weights[0, 0, step].topk(min(MOST_SEEN, shown.weights.shape[3]))
    seen = [
        f"“{shown.key_tokens[at]}” ({weight:.2f})"
        for rank, (weight, at) in enumerate(zip(weights.tolist(), places.tolist(), strict=True))
        if rank == 0 or weight >= THRESHOLD
    ]
    return short_label(f"{words} and looks at {', '.join(seen)}.", most)


def draw_candidates(ax: Axes, after: Data, title: str, words: int) -> None:
    """A bar for each candidate, as long as its probability; ▶ marks the token that was written."""
    signs = ["▶ " if index == after["written"] else "" for index in range(len(after["tokens"]))]
    names = [sign + short_label(text, 20) for sign, text in zip(signs, after["tokens"], strict=True)]
    values = [*after["probs"], after["others"]]
    rows = ax.barh(range(len(values)), values)
    for row, sign in zip(rows, [*signs, ""], strict=True):
        row.set_color(TRAIN if sign else REST)
    ax.bar_label(rows, list(map(chance, values)), padding=4, fontsize=9)
    ax.set_yticks(range(len(values)), [*names, f"{words - len(names):,} others"])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.5), xticks=[], xlabel="probability", title=title)
    ax.grid(False)


def chance(probability: float) -> str:
    """A probability as a text: 0.87, or "1 in 20,000" where two decimals would be none."""
    if probability >= 0.005:
        return f"{probability:.2f}"
    if probability <= 1e-9:
        return "about 0"
    unit = 10 ** (math.floor(math.log10(1 / probability)) - 1)
    rounded = math.floor(1 / probability / unit + 0.5) * unit
    return f"1 in {rounded:,}" if rounded < 1e6 else f"1 in {rounded / 1e6:,g} million"
