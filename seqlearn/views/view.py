"""The base class of all interactive views.

A view is a folder, here `beam/`. `beam_view.py` holds the class: Python computes everything and puts all that is drawn
into one trait, `data`. `beam_view.js` draws the data with the modules of `shared/`; `beam_view.css` styles the drawing.
Choices that both Python and the browser may change (`step`, `locked`, ...) are further synced traits. Only the browser
knows what the mouse points at.

A page without a server (`to_html`) holds the traits as JSON, one script with all modules that the view needs
(`shared/bundle.py`), and perhaps a model; `page_of` in `shared/page.py` writes it, with a policy that allows this
script alone. In the browser, `openPage` in `shared/page.js` makes of the JSON what anywidget gives in JupyterLab: an
object with get, set and on.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import traitlets

from ..runtime.ownership import write
from .live.weights import course_model, live_engine, name_of_model
from .shared.arguments import as_text
from .shared.asking import Asking
from .shared.bundle import bundle, modules_of
from .shared.colours import as_css
from .shared.page import model_part, page_of, safe_json, script_part, state_part
from .shared.types import Data

VIEWS = Path(__file__).parent
RECORD = "application/vnd.seqlearn.view+json"  # in the output of a cell, while lessons are refreshed
LIFE = 'import { life } from "./shared/life.js";\n'
AnyView = TypeVar("AnyView", bound="View")


@dataclass(frozen=True)
class Scripts:
    """The files of one view for a browser; what the scripts import follows from them."""

    entry: Path
    """The module that exports `build`, which draws the view."""

    @property
    def styles(self) -> list[str]:
        """The colours, and the styles beside each module, in the order of the modules."""
        files = [module.with_suffix(".css") for module in modules_of([self.entry])]
        return [as_css(), *(file.read_text("utf-8") for file in files if file.exists())]

    def imported(self, number: int = 0) -> str:
        """The line that imports `build{number}` into a script in `VIEWS`."""
        path = Path(os.path.relpath(self.entry, VIEWS)).as_posix()
        return f'import {{ build as build{number} }} from "./{path}";\n'


class View(Asking):
    """The base of every view: `class BeamView(View, folder=Path(__file__).parent)` draws with `beam_view.js`.

    The name of the folder is that of the files in it. A view sets `data` and defines `summary`.
    """

    scripts: ClassVar[Scripts]
    """The scripts and the styles of the view."""

    caption = ""
    """What all views of the class show, in a few words: the title of a page begins with it."""

    told = traitlets.List().tag(sync=True)
    """The text above the view, in pieces: `[text, traits]`, where a click on the text sets these traits, or
    `[text, None]`. See `tell`."""

    def __init_subclass__(
        cls,
        folder: Path | None = None,
        **kwargs: Any,  # of anywidget
    ) -> None:
        if folder is not None:
            cls.scripts = Scripts(folder / f"{folder.name}_view.js")
            cls._esm = bundle(f"{LIFE}{cls.scripts.imported()}export default {{ render: life(build0) }};\n", VIEWS)
            cls._css = "\n".join(cls.scripts.styles)
        super().__init_subclass__(**kwargs)

    def summary(self) -> str:
        """What the view shows, in a few words that are the same in every run: the `repr` contains them."""
        raise NotImplementedError

    def tell(self: AnyView, text: str, words: Mapping[str, Mapping[str, object]]) -> AnyView:
        """Write a text above the view whose words drive the view: a click on a word sets traits. Returns the view.

        Args:
            text: with each of these words in square brackets: "Look at [it]."
            words: a word -> the values of traits, such as `{"it": {"locked": ["query", 8]}}`. A change of attention
                is sent as its list.

        Raises:
            ValueError: a word is not in the text, a bracket is not in `words`, or the view has no such trait.
        """
        pieces = re.split(r"\[([^][]*)\]", text)  # every second piece stood in brackets
        if set(pieces[1::2]) != set(words):
            found = f"[{'], ['.join(pieces[1::2])}]" if len(pieces) > 1 else "no words in brackets"
            raise ValueError(f"the text has {found}, and there are states for {', '.join(words) or 'no word'}")
        if unknown := {name for state in words.values() for name in state} - set(self.keys):
            raise ValueError(f"{type(self).__name__} has no trait {', '.join(sorted(unknown))}")
        states = {word: {name: _sent(value) for name, value in state.items()} for word, state in words.items()}
        told = [[piece, states[piece] if i % 2 else None] for i, piece in enumerate(pieces) if piece]
        self.told = [[as_text(piece), state] for piece, state in told]
        return self

    def title(self) -> str:
        """The title of a page with this view alone."""
        return f"{self.caption}: {self.summary()}" if self.caption else self.summary()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.summary()})"

    def to_html(self, path: str | Path | None = None) -> str:
        """The view as one HTML page that works alone: no kernel, no network, no other file.

        Args:
            path: the file to write; default: none.

        Returns:
            The page. Every text of the data is escaped in it, and drawn as text.
        """
        title = self.title()
        body = f'<header>\n<h1>{html.escape(self.caption or title)}</h1>\n</header>\n<main id="view"></main>\n'
        page = page_of(title, "\n".join(self.scripts.styles), body + parts_of({"": self}))
        if path is not None:
            write(path, page)
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
        """The live view where widgets run; elsewhere a text that is the same in every run. See `tools/stills.py`."""
        bundle, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        bundle = bundle | {"text/plain": repr(self)}
        if os.environ.get("SEQLEARN_RECORD_VIEWS"):
            bundle[RECORD] = self.record()
        return bundle, metadata


def parts_of(views: Mapping[str, View], together: bool = False) -> str:
    """What a page needs to draw its views: their data, the model that answers, and one script.

    Args:
        views: a number -> the view that is drawn into the element `view{number}`. The first view with a model for a
            page decides which model it is: a page has one at most.
        together: whether the views that this model answers show the same sentence, with the same edits.
    """
    models = {number: view.page_model() for number, view in views.items()}
    model = next((one for one in models.values() if one is not None), None)
    live = {number: model is not None and models[number] == model for number in views}
    states = [state_part(number, view.page_state(live[number])) for number, view in views.items()]
    return "".join([*states, model_part(model), script_part(_script(views, live, together))])


def _script(views: Mapping[str, View], live: Mapping[str, bool], together: bool) -> str:
    """The script of a page: it opens each view, and the one model of all views that are live.

    The name of a view in a link is that of its class, with its number among those of this class.
    """
    kinds = list(dict.fromkeys(view.scripts for view in views.values()))
    lines = ['import { followLinks, openPage, together } from "./shared/page.js";\n']
    lines += [scripts.imported(i) for i, scripts in enumerate(kinds)]
    calls: list[str] = []
    if any(live.values()):
        lines.append('import { answers } from "./live/answers.js";\nimport { pageModel } from "./live/engine.js";\n')
        calls += [live_engine(), "const live = pageModel(liveEngine);"]
    counts: Counter[str] = Counter()
    for number, view in views.items():
        i, name = kinds.index(view.scripts), type(view).__name__
        counts[name] += 1
        named = json.dumps({"view": name, "id": f"{name}-{counts[name]}"})
        answers = ", answers, live" if live[number] else ""
        calls.append(f'const view{number} = openPage(build{i}, "{number}", {named}{answers});')
    if together:
        calls.append(f"together([{', '.join(f'view{number}' for number in views if live[number])}]);")
    calls.append(f"followLinks([{', '.join(f'view{number}' for number in views)}]);")
    return bundle("\n".join(["".join(lines), *calls]), VIEWS)


def _sent(value: object) -> object:
    """The value of a trait as a browser gets it."""
    if not isinstance(value, list):
        return value
    return [each.as_list() if hasattr(each, "as_list") else each for each in value]
