"""Figures and interactive views of what a layer computes.

A view is shown as the last line of a cell, and `view.to_html("page.html")` writes a page that works without Python. The
figures are ordinary matplotlib figures. `seqlearn.views.gallery` puts all views on one page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..front_door import front_door

if TYPE_CHECKING:
    from .attention.view import AttentionView
    from .beam.view import BeamView
    from .kernel.view import KernelView
    from .plots import (
        LivePlot,
        all_heads,
        bars,
        grid,
        heatmap,
        length_histogram,
        loss_curves,
        number_ticks,
        quality_by_length,
    )
    from .position.view import PositionView
    from .sampling.view import SamplingView
    from .shared.base import View
    from .softmax.view import SoftmaxView
    from .steps.view import AttentionSteps
    from .tables import measured, text_table
    from .translator.view import TranslatorView

__all__ = [
    "AttentionSteps", "AttentionView", "BeamView", "KernelView", "LivePlot", "PositionView", "SamplingView",
    "SoftmaxView", "TranslatorView", "View", "all_heads", "bars", "grid", "heatmap", "length_histogram", "loss_curves",
    "measured", "number_ticks", "quality_by_length", "text_table",
]  # fmt: skip
__getattr__, __dir__ = front_door(
    __name__,
    {
        ".attention.view": "AttentionView",
        ".beam.view": "BeamView",
        ".kernel.view": "KernelView",
        ".plots": "LivePlot all_heads bars grid heatmap length_histogram loss_curves number_ticks quality_by_length",
        ".position.view": "PositionView",
        ".sampling.view": "SamplingView",
        ".shared.base": "View",
        ".softmax.view": "SoftmaxView",
        ".steps.view": "AttentionSteps",
        ".tables": "measured text_table",
        ".translator.view": "TranslatorView",
    },
)
