"""Figures and interactive views of what a layer computes.

A view is shown as the last line of a cell, and `view.to_html("page.html")` writes a page that works without Python. The
figures are ordinary matplotlib figures. `seqlearn.views.gallery` puts all views on one page.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

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
        quality_by_length,
        text_table,
    )
    from .position.view import PositionView
    from .shared.base import View
    from .steps.view import AttentionSteps
    from .translator.view import TranslatorView

__all__ = [
    "AttentionSteps", "AttentionView", "BeamView", "KernelView", "LivePlot", "PositionView", "TranslatorView", "View",
    "all_heads", "bars", "grid", "heatmap", "length_histogram", "loss_curves", "quality_by_length", "text_table",
]  # fmt: skip
_MODULES = {  # of each name; the modules need torch and matplotlib, and are imported when a name is first used
    "AttentionSteps": "steps.view",
    "AttentionView": "attention.view",
    "BeamView": "beam.view",
    "KernelView": "kernel.view",
    "LivePlot": "plots",
    "PositionView": "position.view",
    "TranslatorView": "translator.view",
    "View": "shared.base",
    "all_heads": "plots",
    "bars": "plots",
    "grid": "plots",
    "heatmap": "plots",
    "length_histogram": "plots",
    "loss_curves": "plots",
    "quality_by_length": "plots",
    "text_table": "plots",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
