"""What a learner predicted in a lesson, beside what was seen."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from .shared.types import Data
from .tables import Table, text_table

LINE = re.compile(r"\*\*[^*]+[:：]\*\* *")  # "My prediction:", before the learner's words
SEEN = re.compile(r'<details class="seen"><summary>.*?</summary>\s*(.*?)\s*</details>', re.DOTALL)
SENTENCE = re.compile(r"(?:[.!?](?=\s)|[。！？])")  # its end
MOST = 200  # letters of what was seen


def my_predictions(path: str | Path) -> Table:
    """A table of the predictions that a learner wrote into a copy of a lesson, each beside what was seen.

    Args:
        path: the copy, as it was saved.

    Returns:
        A row for each prediction that was written down: the section, the prediction, and how the explanation begins.
        The title counts them, and those with ✓ and ✗.
    """
    columns = ["section", "my prediction", "what was seen"]
    if not Path(path).exists():  # no error: Run All shall come to its end
        return text_table([], columns, title=f"There is no {path} here. Write the name of your file into the cell.")
    rows, asked = predicted(json.loads(Path(path).read_text(encoding="utf-8"))["cells"])
    marks = {mark: sum(mark in row[1] for row in rows) for mark in "✓✗"}
    counted = ", ".join(f"{count} {mark}" for mark, count in marks.items() if count)
    title = f"You predicted {len(rows)} of {asked}" + f": {counted}" * bool(counted)
    return text_table(rows, columns, title=title)


def predicted(cells: Sequence[Data]) -> tuple[list[list[str]], int]:
    """The predictions that were written down, each with its section and what was seen; and how many were asked for."""
    rows, section, asked, written = [], "", 0, ""
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] != "markdown":
            continue
        if cell.get("id", "").endswith("-prediction"):
            asked, written = asked + 1, LINE.sub("", text, count=1).strip()
            continue
        if written and (found := SEEN.search(text)):
            if not re.fullmatch(r"\*[^*]*\*", written):  # the line as it was: nobody wrote into it
                rows.append([section, written, beginning(found[1])])
            written = ""
        if heads := re.findall(r"^#+ (.*)$", text, re.MULTILINE):
            section = heads[-1]
    return rows, asked


def my_lessons(folder: str | Path = ".") -> Table:
    """A table of what a learner has done in each lesson.

    Args:
        folder: the folder with the copies of the lessons, which count as they were saved.

    Returns:
        A row for each copy: how many of its code cells were run, of its predictions were written down, and of its
        exercises are right.
    """
    rows = []
    for path in sorted(Path(folder).iterdir()):
        if not re.fullmatch(r"\d\d-[a-z-]+\.ipynb", path.name):  # such as a copy of a copy
            continue
        try:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        except (ValueError, KeyError):
            rows.append([path.stem, "cannot be read", "", ""])
            continue
        code = [cell for cell in cells if cell["cell_type"] == "code" and "".join(cell["source"]).strip()]
        outputs = ["".join(output.get("text", "")) for cell in code for output in cell.get("outputs", [])]
        right = sum(len(re.findall(r"^Exercise \S+: right!", text, re.MULTILINE)) for text in outputs)
        exercises = sum(len(re.findall(r"^lesson\d\d\.check_", "".join(cell["source"]), re.MULTILINE)) for cell in code)
        written, asked = predicted(cells)
        run = sum(cell.get("execution_count") is not None for cell in code)
        counts = [(run, len(code)), (len(written), asked), (right, exercises)]
        rows.append([path.stem, *(f"{done} of {total}" if total else "" for done, total in counts)])
    return text_table(rows, ["lesson", "cells run", "predictions", "exercises right"])


def beginning(text: str) -> str:
    """The first sentence of a text, without the marks of Markdown."""
    plain = re.sub(r"[*`]|^[-#>] ", "", " ".join(text.split()))
    end = SENTENCE.search(plain)
    first = plain[: end.end()] if end else plain
    return first if len(first) <= MOST else f"{first[: MOST - 1]}…"
