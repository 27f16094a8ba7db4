"""The base class of all interactive views.

A view is a folder with three parts. `view.py` holds the class: Python computes everything and puts all that is drawn
into one trait, `data`. `view.js` draws the data with the helpers of `shared/base.js`. `view.css` styles the drawing.
Choices that both Python and the browser may change (`step`, `locked`, ...) are further synced traits. Only the browser
knows what the mouse points at.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets
from matplotlib.figure import Figure

from .colours import as_css, as_javascript
from .fonts import any_script
from .page import page_of, part_of
from .sharp import sharp_png
from .types import Data

SHARED = Path(__file__).parent


class View(anywidget.AnyWidget):
    """The base of every view: `class MyView(View, folder=Path(__file__).parent)` draws with `view.js` of that folder.

    A view sets `data` and defines `figure`, `summary` and `update`. `shared=("attention", "heads")` names scripts of
    this folder that several views share; the browser reads them before the view's own `view.js`.
    """

    _javascript = ""
    _css = ""

    data = traitlets.Dict().tag(sync=True)
    """All that is drawn: texts, numbers, lists of them, and tensors that went through `pack`."""

    def __init_subclass__(
        cls,
        folder: Path | None = None,
        shared: Sequence[str] = (),
        **kwargs: Any,  # of anywidget
    ) -> None:
        if folder is not None:
            parts = [*(SHARED / name for name in ("base", "heatmap", *shared)), folder / "view"]
            cls._javascript = "\n".join([as_javascript(), *_texts(parts, ".js")])
            cls._css = "\n".join([as_css(), *_texts(parts, ".css")])
            cls._esm = cls._javascript + "\nexport default { render: life(build) };\n"
        super().__init_subclass__(**kwargs)

    def figure(self) -> Figure:
        """The current state of the view as a picture, shown where no kernel runs."""
        raise NotImplementedError

    def summary(self) -> str:
        """What the view shows, in a few words that are the same in every run: the `repr` contains them."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.summary()})"

    def png(self, dpi: int = 100) -> bytes:
        """The picture as the bytes of a PNG file."""
        file = io.BytesIO()
        any_script(self.figure)().savefig(file, format="png", dpi=dpi)
        return file.getvalue()

    def to_html(self, path: str | Path | None = None) -> str:
        """The view as one HTML page that works alone: no kernel, no network, no other file.

        Args:
            path: the file to write; default: none.

        Returns:
            The page. Every text of the data is escaped in it, and drawn as text.
        """
        page = page_of(repr(self), self._css, '<main id="view"></main>\n' + self.page_part())
        if path is not None:
            Path(path).write_text(page, "utf-8")
        return page

    def page_state(self) -> Data:
        """The traits as a page stores them. A view with controls that ask Python adds the answers here."""
        names = [name for name in self.keys if name != "layout" and not name.startswith("_")]
        return {name: getattr(self, name) for name in names}

    def page_part(self, number: str = "") -> str:
        """The scripts that draw the view into the element `view{number}` of a page."""
        return part_of(number, self.page_state(), self._javascript)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[Data, Data]:  # of anywidget
        """The live view where widgets run, a picture elsewhere, and a text that is the same in every run."""
        bundle, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        picture, size = sharp_png(any_script(self.figure)())
        bundle = bundle | {"image/png": base64.b64encode(picture).decode(), "text/plain": repr(self)}
        return bundle, metadata | {"image/png": size}


def _texts(parts: Sequence[Path], suffix: str) -> list[str]:
    """The contents of the files with this ending; a part may have no CSS."""
    files = [part.with_suffix(suffix) for part in parts]
    return [file.read_text("utf-8") for file in files if suffix == ".js" or file.exists()]
