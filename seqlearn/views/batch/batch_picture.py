"""The picture of `BatchView`: the batches of each order, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ..shared.colours import GROUND, OPEN, STRIPE
from ..shared.fonts import any_script
from .batch_data import padding_of, widths_of

GAP = 1.2  # rows between two batches
PADDING = {"facecolor": GROUND, "edgecolor": STRIPE, "hatch": "/////", "linewidth": 0}


@any_script
def batch_picture(lengths: Sequence[int], plans: Mapping[str, Sequence[Sequence[int]]], size: int) -> Figure:
    """Each sentence is a row, and a column is a position; each panel has another order.

    Args:
        plans: for each order the sentences of each batch.
        size: sentences in a batch.
    """
    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    panels = figure.subplots(1, len(plans), sharey=True)
    for ax, (order, plan) in zip(panels, plans.items(), strict=True):
        _draw(ax, lengths, plan)
        ax.set(title=f"{order}\n{padding_of(lengths, plan):.1%} padding", xlabel="position", yticks=[])
        ax.set(xlim=(0, max(lengths) + 0.5), ylim=(len(lengths) + GAP * (len(plan) - 1), 0))
        ax.grid(False)
    figure.suptitle(f"{len(lengths)} sentences in batches of {size}, in three orders")
    signs = [Patch(facecolor=OPEN, label="token"), Patch(**PADDING, label="padding")]
    figure.legend(handles=signs, loc="outside lower center", ncols=2)
    return figure


def _draw(ax: Axes, lengths: Sequence[int], plan: Sequence[Sequence[int]]) -> None:
    top = 0.0
    for width, batch in zip(widths_of(lengths, plan), plan, strict=True):
        ax.add_patch(Rectangle((0, top), width, len(batch), **PADDING))
        rows = [top + 0.5 + i for i in range(len(batch))]
        ax.barh(rows, [lengths[sentence] for sentence in batch], height=1, color=OPEN, edgecolor="white", linewidth=0.4)
        top += len(batch) + GAP
