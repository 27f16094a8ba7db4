"""Lessons as pages of the book: predictions fold the outputs below them, views become frames, pictures become files."""

from __future__ import annotations

import base64
import copy
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from seqlearn.views.stored import Framed, pages
from tools import blocks, predictions
from tools.languages import LANGUAGES

ROOT = Path(__file__).resolve().parents[2]
Notebook = dict[str, Any]  # the JSON of a notebook
MINUTES = re.compile(r"\*\*How long\.\*\* (?:About )?(\d+) minutes(?:.*?(\d+) more for the exercises)?")

NOTE = '<p class="note">{text} {more}</p>'

PICTURE = '<img class="picture" src="{file}" alt="{alt}" width="{width}" height="{height}" loading="lazy">'
FRAME = """<figure class="view">
<iframe src="{folder}views/{frame.name}" title="{title}" style="height: {frame.height}px" loading="lazy"></iframe>
{still}
</figure>"""


@dataclass
class Lesson:
    """A notebook and its place in the book.

    Args:
        original: the English notebook.
        shown: the notebook as this page shows it: `original`, or a translation.
        target: the name of the page, without an ending: "notebooks/04-attention-scores".
        language: "en", "zh".
        others: the page of the same lesson in each other language.
    """

    original: Path
    shown: Notebook
    target: str
    language: str = "en"
    others: dict[str, str] = field(default_factory=dict)

    @cached_property
    def frames(self) -> dict[tuple[str, int], Framed]:
        """The views of the lesson: (id of the cell, index of the output) -> a document."""
        return pages(self.original)

    def heading(self) -> tuple[str, str]:
        """The title of the lesson with its number, and what comes after the colon."""
        first = "".join(self.shown["cells"][0]["source"]).splitlines()[0].removeprefix("# ")
        title, _, more = re.sub("：", ": ", first).partition(": ")
        return title, more

    @property
    def is_more(self) -> bool:
        """Whether it is what there is beyond a lesson, in nobody's minutes."""
        return self.original.parent.name == "more"

    def minutes(self) -> tuple[int, int]:
        """The minutes for the lesson and for its exercises, as the head of the English notebook says."""
        found = MINUTES.search("".join(read(self.original)["cells"][0]["source"]))
        if found is None:
            raise ValueError(f"{self.original.name} does not say how long it takes")
        return int(found[1]), int(found[2] or 0)

    def note(self, folder: str) -> str:
        """What a reader of the page has to know, and links to the lesson in other languages; `folder` has the book."""
        links = [
            f'<a href="{folder}{page}.html" lang="{language}">{LANGUAGES[language].name}</a>'
            for language, page in self.others.items()
        ]
        text = LANGUAGES[self.language].note.format(index=f"{folder}index.html")
        return NOTE.format(text=text, more=" ".join(links))

    def page(self) -> tuple[Notebook, dict[str, bytes]]:
        """The notebook that Sphinx reads, and the pictures that it shows: the name of a file -> its content."""
        folder = "../" * self.target.count("/")
        notebook, asked = copy.deepcopy(self.shown), predictions.questions(read(self.original))
        folded = {code for codes, _ in asked.values() for code in codes}
        predictions.to_read(notebook, asked, self.target.rsplit("/", 1)[-1], self.language)
        title, _, text = "".join(notebook["cells"][0]["source"]).partition("\n")
        notebook["cells"][0]["source"] = f"{title}\n\n{self.note(folder)}\n{text}"
        pictures, words = {}, LANGUAGES[self.language]
        codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        hidden = (cell for cell in codes if cell["metadata"].get("jupyter", {}).get("source_hidden"))
        imports = next(hidden, codes[0])
        imports["metadata"]["tags"] = [*imports["metadata"].get("tags", []), "hide-input"]
        imports["metadata"]["mystnb"] = {"code_prompt_show": words.imports, "code_prompt_hide": words.imports}
        for cell in notebook["cells"][1:]:
            if cell["cell_type"] == "markdown" and "".join(cell["source"]).startswith("# "):
                cell["source"] = "#" + "".join(cell["source"])  # a page has one title
            if cell["id"] in folded:
                cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), "hide-output"]
                cell["metadata"]["mystnb"] = {"code_prompt_show": words.show, "code_prompt_hide": words.hide}
            for index, output in enumerate(cell.get("outputs", [])):
                if "image/png" in output.get("data", {}) and "text/html" not in output["data"]:
                    name = f"pictures/{cell['id']}-{index}.png"
                    pictures[name] = base64.b64decode("".join(output["data"]["image/png"]))
                    shown = picture(output, folder + name)
                    if frame := self.frames.get((cell["id"], index)):
                        shown = framed(frame, folder, shown)
                    output["data"] = {"text/html": shown}
        return notebook, pictures


def lessons() -> list[Lesson]:
    """All lessons, in order; the translations after the originals."""
    originals = {path.name[:2]: path for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]-*.ipynb"))}
    more = sorted((ROOT / "notebooks" / "more").glob("[0-9][0-9]-*.ipynb"))
    found = [
        Lesson(path, read(path), path.relative_to(ROOT).with_suffix("").as_posix())
        for path in [*originals.values(), *more]
    ]
    for language, files in blocks.languages().items():
        for number, file in files.items():
            path = originals[number]
            shown = blocks.translated(read(path), blocks.read(file), language)
            found.append(Lesson(path, shown, f"{language}/{path.stem}", language))
    for one in found:
        same = [other for other in found if other.original == one.original and other is not one]
        one.others = {other.language: other.target for other in same}
    return found


def read(path: Path) -> Notebook:
    """The JSON of a notebook."""
    return json.loads(path.read_text("utf-8"))


def picture(output: Notebook, file: str) -> str:
    """The picture of an output as HTML, in the size that the notebook gives it."""
    alternative = "".join(output["data"]["text/plain"])
    shown = {"alt": alternative} | output["metadata"]["image/png"]
    return PICTURE.format(file=file, **shown | {"alt": escape(shown["alt"])})


def framed(frame: Framed, folder: str, still: str = "") -> str:
    """A view as HTML: a frame, and a still picture for paper and for browsers without scripts."""
    return FRAME.format(frame=frame, folder=folder, title=escape(frame.title), still=still)
