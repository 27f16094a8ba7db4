"""A picture with sliders: each move draws again, and a stored notebook keeps the picture."""

import base64
import io

import pytest
from ipywidgets import FloatSlider, IntSlider
from matplotlib.figure import Figure
from PIL import Image

from seqlearn.views.sliders import Sliders


def drawn(calls):
    def draw(**values):
        calls.append(values)
        figure = Figure(figsize=(2, 1))
        figure.subplots().bar([0], [values["width"]])
        return figure

    return draw


def test_each_move_draws_again():
    calls = []
    view = Sliders(drawn(calls), "a bar", width=(0.5, 3.0, 0.5, 1.0), top_k=(1, 9, 1, 4))
    assert calls == [{"width": 1.0, "top_k": 4}]
    assert isinstance(view.sliders["width"], FloatSlider) and isinstance(view.sliders["top_k"], IntSlider)
    before = view.picture.value
    view.sliders["width"].value = 2.5
    assert calls[-1] == {"width": 2.5, "top_k": 4} and view.picture.value != before
    assert view.picture.value.startswith('<img alt="a bar" width="200" src="data:image/png;base64,')


def test_a_stored_notebook_keeps_the_picture():
    view = Sliders(drawn([]), 'a "bar"', width=(0.5, 3.0, 0.5, 1.0), top_k=(1, 9, 1, 4))
    bundle, metadata = view._repr_mimebundle_()
    assert bundle["text/plain"] == repr(view) == "Sliders(width = 1, top_k = 4)"
    assert Image.open(io.BytesIO(base64.b64decode(bundle["image/png"]))).size == (400, 200)
    assert metadata == {"image/png": {"width": 200, "height": 100}}
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert 'alt="a &quot;bar&quot;"' in view.picture.value


def test_wrong_sliders_are_named():
    with pytest.raises(ValueError, match="starts at 4, outside"):
        Sliders(drawn([]), "a bar", width=(0.5, 3.0, 0.5, 4.0))
    with pytest.raises(ValueError, match="at least one slider"):
        Sliders(drawn([]), "a bar")
