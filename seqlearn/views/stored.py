"""The views that lessons show, as documents for the frames of a book, where no kernel runs.

While a lesson is refreshed, `View.record` is stored for each view that a cell shows. A record has the data of the view,
and neither scripts nor weights: `shared_files` has these once for the whole book. `frame.js` says what a frame and the
page around it tell each other.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .. import views
from .live.weights import course_model, live_engine, name_of_model
from .shared.bundle import bundle
from .shared.page import head_of, safe_json, state_part
from .shared.types import Data
from .view import VIEWS, View

FRAME = """{head}<title>{title}</title>
<link rel="stylesheet" href="views.css">
<link rel="stylesheet" href="dark.css" media="screen and (prefers-color-scheme: dark)" id="dark">
<main id="view" data-view="{view}"{live}></main>
{state}<script src="views.js"></script>
</html>
"""
HERE = "'self' file:"  # where the document is opened from a file, browsers disagree about 'self'
HEIGHTS = {  # about, in a frame that is 800 pixels wide
    "AttentionSteps": 400,
    "AttentionView": 850,
    "BatchView": 570,
    "BeamView": 540,
    "GruView": 680,
    "KernelView": 840,
    "PiecesView": 460,
    "PositionView": 860,
    "RiddleView": 400,
    "SamplingView": 700,
    "SoftmaxView": 280,
    "TranslatorView": 1270,
}
DARK = re.compile(r"@media screen and \(prefers-color-scheme: dark\) \{\n(.*?)^\}\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Framed:
    """One view as a small HTML document. The files of `shared_files` have to lie in the same folder."""

    name: str
    """The name of its file."""
    title: str
    """What the view shows: the title of its document, any text."""
    html: str
    """The document."""
    height: int
    """Its height in pixels where it is 800 pixels wide, a guess: the document tells its parent the true height."""
    live: bool
    """Whether the model of the course answers questions in it."""


def pages(notebook: Path) -> dict[tuple[str, int], Framed]:
    """The views of a lesson, from its records: (id of the cell, index of the output in the cell) -> the document.

    Raises:
        ValueError: a record does not fit the lesson, the present classes of views or the present model.
    """
    file = records_file(notebook)
    if not file.exists():
        return {}
    shown = _outputs(notebook)
    found = {}
    for record in json.loads(file.read_text("utf-8")):
        key = record["cell"], record["output"]
        if wrong := _misfit(record, shown.get(key)):
            again = f"python3 course.py refresh {notebook.stem.split('-')[0]}"
            raise ValueError(f"{file.name}, output {key[1]} of cell {key[0]}: {wrong}; store it again with {again}")
        name = f"{notebook.stem}-{key[0]}-{key[1]}.html"
        live = record["model"] is not None
        found[key] = Framed(name, record["title"], document(record), HEIGHTS.get(record["class"], 600), live)
    return found


def _outputs(notebook: Path) -> dict[tuple[str, int], str]:
    """The text of each output of the lesson."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    outputs = {(cell["id"], i): output for cell in cells for i, output in enumerate(cell.get("outputs", []))}
    return {key: "".join(output.get("data", {}).get("text/plain", "")) for key, output in outputs.items()}


def _misfit(record: Data, shown: str | None) -> str:
    """What is wrong with a record, or nothing."""
    view = classes().get(record["class"])
    if view is None:
        return f"there is no view {record['class']}"
    if shown != record["repr"]:
        return f"the record is that of {record['repr']}, and the lesson shows {shown}"
    if record["model"] not in (None, name_of_model(course_model())):
        return "the record was made with another model than the pretrained transformer"
    traits = {name for name in view.class_trait_names(sync=True) if name != "layout" and not name.startswith("_")}
    if missing := traits - set(record["state"]):
        return f"the record lacks traits that {record['class']} has now ({', '.join(sorted(missing))})"
    return ""


def document(record: Data) -> str:
    """The HTML document for a frame: the data of one view, drawn by the scripts of `shared_files`."""
    return FRAME.format(
        head=head_of(HERE, HERE, workers=True),
        title=html.escape(record["title"]),
        view=record["class"],
        live=" data-live" if record["model"] else "",
        state=state_part("", record["state"]),
    )


def shared_files() -> dict[str, str | bytes]:
    """What all documents of a book use: the name of each file, and its content. `model.js` has the weights, 1.2 MB."""
    css = "\n".join(dict.fromkeys(style for view in classes().values() for style in view.scripts.styles))
    return {
        "views.css": DARK.sub("", css),
        "dark.css": "".join(DARK.findall(css)),
        "views.js": _script(css),
        "model.js": f"window.courseModel = {safe_json(course_model())};\n",
    }


def _script(css: str) -> str:
    """All views, in a block of their own: no name gets into the page. A saved picture takes the styles along."""
    lines = [
        'import { answers } from "./live/answers.js";\n',
        'import { laterModel } from "./live/engine.js";\n',
        'import { openFrame } from "./shared/frame.js";\n',
    ]
    lines += [view.scripts.imported(i) for i, view in enumerate(classes().values())]
    views = [f"  {name}: build{i}," for i, name in enumerate(classes())]
    end = f"}}, answers, () => laterModel(liveEngine), {json.dumps(css)});"
    main = "\n".join(["".join(lines), live_engine(), "openFrame({", *views, end])
    return f'"use strict";\n{{\n{bundle(main, VIEWS)}\n}}\n'


@cache
def classes() -> dict[str, type[View]]:
    """The class of each view."""
    offered = {name: getattr(views, name) for name in dir(views)}
    kinds = {name: one for name, one in offered.items() if isinstance(one, type) and issubclass(one, View)}
    return {name: one for name, one in kinds.items() if one is not View}


def records_file(notebook: Path) -> Path:
    """Where the records of a lesson are stored."""
    folder = next(one for one in notebook.resolve().parents if one.name != "more")  # notebooks/, or a folder like it
    return folder.parent / "assets" / "views" / f"{notebook.stem}.json"


def text_of_records(records: Sequence[Data]) -> str:
    """The file with these records, one in a line; empty if there is none."""
    lines = ",\n".join(json.dumps(record, allow_nan=False) for record in records)
    return f"[\n{lines}\n]\n" if records else ""
