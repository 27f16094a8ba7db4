"""A picture with sliders: a function of numbers that draws a figure, called again whenever a slider moves."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable
from typing import Any

import ipywidgets
from matplotlib.figure import Figure

from .shared.fonts import any_script
from .shared.sharp import sharp_png
from .shared.types import Data

Slider = ipywidgets.IntSlider | ipywidgets.FloatSlider


class Sliders(ipywidgets.VBox):
    """Sliders above the figure that `draw` makes of their values; where no widgets run, the figure of their start.

    `ipywidgets.interact` leaves nothing in a stored notebook. This view leaves its picture, and a text that is the same
    in every run.

    Args:
        draw: takes the values by name, and returns a figure that was made without pyplot.
        alt: what the figure shows, in words, for somebody who does not see it.
        sliders: for each name (lowest, highest, step, start). A step that is an integer makes a slider of integers.

    Raises:
        ValueError: there is no slider, or a slider starts outside of its range.
    """

    def __init__(self, draw: Callable[..., Figure], alt: str, **sliders: tuple[float, float, float, float]):
        if not sliders:
            raise ValueError("a picture with sliders needs at least one slider: name=(lowest, highest, step, start)")
        self.draw, self.alt = draw, alt
        self.sliders = {name: _slider(name, *numbers) for name, numbers in sliders.items()}
        self.picture = ipywidgets.HTML()
        super().__init__([*self.sliders.values(), self.picture])
        for slider in self.sliders.values():
            slider.observe(self._redraw, "value")
        self._redraw()

    def figure(self) -> Figure:
        """The figure of the present values."""
        return any_script(self.draw)(**{name: slider.value for name, slider in self.sliders.items()})

    def _redraw(self, change: object = None) -> None:
        png, size = sharp_png(self.figure())
        source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
        self.picture.value = f'<img alt="{html.escape(self.alt)}" width="{size["width"]}" src="{source}">'

    def __repr__(self) -> str:
        return f"Sliders({', '.join(f'{name} = {slider.value:g}' for name, slider in self.sliders.items())})"

    def _repr_mimebundle_(  # pyright: ignore[reportIncompatibleMethodOverride]  the size of the picture goes with it
        self,
        **kwargs: Any,  # as ipywidgets has it
    ) -> tuple[Data, Data]:
        bundle = super()._repr_mimebundle_(**kwargs) or {}
        png, size = sharp_png(self.figure())
        shown = {"image/png": base64.b64encode(png).decode(), "text/plain": repr(self)}
        return {**bundle, **shown}, {"image/png": size}


def _slider(name: str, lowest: float, highest: float, step: float, start: float) -> Slider:
    if not lowest <= start <= highest:
        raise ValueError(f"the slider {name!r} starts at {start:g}, outside of {lowest:g} to {highest:g}")
    kind = ipywidgets.IntSlider if isinstance(step, int) else ipywidgets.FloatSlider
    return kind(start, min=lowest, max=highest, step=step, description=name.replace("_", "-"))
