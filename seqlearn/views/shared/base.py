"""The base class of all interactive views.

A view is a folder with three parts. `view.py` holds the class: Python computes everything and puts all that is drawn
into one trait, `data`. `view.js` draws the data with the helpers of `shared/base.js`. `view.css` styles the drawing.
Choices that both Python and the browser may change (`step`, `locked`, ...) are further synced traits. Only the browser
knows what the mouse points at.
"""

from __future__ import annotations

import base64
import html
import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anywidget
import traitlets
from matplotlib.figure import Figure

from ..live.weights import course_model, live_javascript, name_of_model
from .arguments import as_text
from .colours import as_css, as_javascript
from .fonts import any_script
from .page import model_part, page_of, safe_json, script_part, state_part
from .sharp import sharp_png
from .types import Data

SHARED = Path(__file__).parent
RECORD = "application/vnd.seqlearn.view+json"  # in the output of a cell, while lessons are refreshed
AnyView = TypeVar("AnyView", bound="View")


class View(anywidget.AnyWidget):
    """The base of every view: `class MyView(View, folder=Path(__file__).parent)` draws with `view.js` of that folder.

    A view sets `data` and defines `figure`, `summary` and `update`. `shared=("attention", "heads")` names scripts of
    this folder that several views share; the browser reads them before the view's own `view.js`.
    """

    _shared: Sequence[str] = ()
    _own = ""
    _styles: Sequence[str] = ()
    _answers: Sequence[str] = ()

    caption = ""
    """What all views of the class show, in a few words: the title of a page begins with it."""

    data = traitlets.Dict().tag(sync=True)
    """All that is drawn: texts, numbers, lists of them, and tensors that went through `pack`."""

    told = traitlets.List().tag(sync=True)
    """The text above the view, in pieces: `[text, traits]`, where a click on the text sets these traits, or
    `[text, None]`. See `tell`."""

    def __init_subclass__(
        cls,
        folder: Path | None = None,
        shared: Sequence[str] = (),
        **kwargs: Any,  # of anywidget
    ) -> None:
        if folder is not None:
            common = [SHARED / name for name in ("base", "heatmap", *shared)]
            cls._shared = [as_javascript(), *_texts(common, ".js")]
            cls._own = "\n".join(_texts([folder / "view"], ".js"))
            cls._styles = [as_css(), *_texts([*common, folder / "view"], ".css")]
            cls._answers = _texts([folder / "answers"], ".js")
            cls._esm = "\n".join([*cls._shared, cls._own, "export default { render: life(build) };\n"])
            cls._css = "\n".join(cls._styles)
        super().__init_subclass__(**kwargs)

    def figure(self) -> Figure:
        """The current state of the view as a picture, shown where no kernel runs."""
        raise NotImplementedError

    def summary(self) -> str:
        """What the view shows, in a few words that are the same in every run: the `repr` contains them."""
        raise NotImplementedError

    def tell(self: AnyView, text: str, words: Mapping[str, Mapping[str, object]]) -> AnyView:
        """Write a text above the view whose words drive the view: a click on a word sets traits. Returns the view.

        Args:
            text: with each of these words in square brackets: "Look at [it]."
            words: a word -> the values of traits, such as `{"it": {"locked": ["query", 8]}}`.

        Raises:
            ValueError: a word is not in the text, a bracket is not in `words`, or the view has no such trait.
        """
        pieces = re.split(r"\[([^][]*)\]", text)  # every second piece stood in brackets
        if set(pieces[1::2]) != set(words):
            found = f"[{'], ['.join(pieces[1::2])}]" if len(pieces) > 1 else "no words in brackets"
            raise ValueError(f"the text has {found}, and there are states for {', '.join(words) or 'no word'}")
        if unknown := {name for state in words.values() for name in state} - set(self.keys):
            raise ValueError(f"{type(self).__name__} has no trait {', '.join(sorted(unknown))}")
        told = [[piece, dict(words[piece]) if i % 2 else None] for i, piece in enumerate(pieces) if piece]
        self.told = [[as_text(piece), state] for piece, state in told]
        return self

    def title(self) -> str:
        """The title of a page with this view alone."""
        return f"{self.caption}: {self.summary()}" if self.caption else self.summary()

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
        title = self.title()
        body = f'<header>\n<h1>{html.escape(self.caption or title)}</h1>\n</header>\n<main id="view"></main>\n'
        page = page_of(title, "\n".join(self._styles), body + parts_of({"": self}))
        if path is not None:
            Path(path).write_text(page, "utf-8")
        return page

    def page_model(self) -> Data | None:
        """A model that answers the questions of the view in a page, where no Python is; None: no one answers."""
        return None

    def page_state(self, live: bool = False) -> Data:
        """The traits as a page stores them. A view with controls that ask Python adds the answers here.

        Args:
            live: whether a model in the page answers questions.
        """
        names = [name for name in self.keys if name != "layout" and not name.startswith("_")]
        return {name: getattr(self, name) for name in names}

    def record(self) -> Data:
        """What is stored of a view that a lesson shows: all that its page needs, without scripts, styles and weights.

        Returns:
            `class`; `repr`, which the stored output holds, too; `caption` and `title`; `state`, the traits of the page;
            and `model`, the name of the course's Transformer if it answers the questions of the view, or None.
        """
        model = self.page_model()
        live = model is not None and model == course_model()
        return {
            "class": type(self).__name__,
            "repr": repr(self),
            "caption": self.caption,
            "title": self.title(),
            "model": name_of_model(course_model()) if live else None,
            "state": json.loads(safe_json(self.page_state(live))),
        }

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[Data, Data]:  # of anywidget
        """The live view where widgets run, a picture elsewhere, and a text that is the same in every run."""
        bundle, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        picture, size = sharp_png(any_script(self.figure)())
        bundle = bundle | {"image/png": base64.b64encode(picture).decode(), "text/plain": repr(self)}
        if os.environ.get("SEQLEARN_RECORD_VIEWS"):
            bundle[RECORD] = self.record()
        return bundle, metadata | {"image/png": size}


def parts_of(views: Mapping[str, View], together: bool = False) -> str:
    """What a page needs to draw its views: their data, the model that answers, and one script.

    Args:
        views: a number -> the view that is drawn into the element `view{number}`. The first view with a model for a
            page decides which model it is: a page has one at most.
        together: whether the views that this model answers show the same sentence, with the same edits.
    """
    models = {number: view.page_model() for number, view in views.items()}
    model = next((one for one in models.values() if one is not None), None)
    states: list[str] = []
    shared: list[str] = []
    own: dict[str, list[str]] = {}
    for number, view in views.items():
        live = model is not None and models[number] == model
        states.append(state_part(number, view.page_state(live)))
        shared += [*view._shared, *([live_javascript()] if live else [])]
        code = "\n".join([view._own, *(view._answers if live else [])])
        call = f'openPage(build, "{number}"{", answers" if live else ""});'
        own.setdefault(code, []).append(f"models.push({call[:-1]});" if live and together else call)
    first, last = ("const models = [];", "together(models);") if together else ("", "")
    return "".join([*states, model_part(model), script_part([*shared, first], own, last)])


def _texts(parts: Sequence[Path], suffix: str) -> list[str]:
    """The contents of the files with this ending; a part may have none."""
    files = [part.with_suffix(suffix) for part in parts]
    return [file.read_text("utf-8") for file in files if file.exists()]
