"""What a learner predicted in a lesson, beside what was seen."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .shared.types import Data
from .tables import Table, text_table

# Of tools/languages.py, for each language: what stands before the learner's words, in their place, and in a question.
LABELS = ("My prediction", "我的猜测")
PLACEHOLDERS = ("double-click here, type it, and press Shift+Enter", "双击这里，写下来，再按 Shift+Enter")
ASKED = ("Predict", "猜一猜")

LINE = re.compile(rf"\*\*(?:{'|'.join(LABELS)})[:：]\*\*")
EMPTY = re.compile("|".join(rf"\*?{re.escape(text)}\*?" for text in PLACEHOLDERS))
QUESTION = re.compile(rf"(?<!\d\. )\*\*(?:{'|'.join(ASKED)})(?:[.。]\*\*|\*\*[:：])")
SUFFIX = "-prediction"  # the end of the id of a cell with a line
SEEN = re.compile(r'<details class="seen"><summary>.*?</summary>\s*(.*?)\s*</details>', re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
SENTENCE = re.compile(r"(?:[.!?](?=\s)|[。！？])")  # its end
MOST = 200  # letters of what was seen
BROKEN = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)  # of a file of any content


def my_predictions(path: str | Path) -> Table:
    """A table of the predictions that a learner wrote into a copy of a lesson, each beside what was seen.

    Args:
        path: the copy, as it was saved.

    Returns:
        A row for each prediction that was written down: the section, the prediction, and how the explanation begins.
        The title counts them, and those with ✓ and ✗; or it says that the file is not there, or cannot be read.
    """
    columns = ["section", "my prediction", "what was seen"]
    if not Path(path).exists():  # no error: Run All must come to its end
        return text_table([], columns, title=f"There is no {path} here. Write the name of your file into the cell.")
    try:
        rows, asked = predicted(_cells(Path(path)))
    except BROKEN:
        return text_table(
            [], columns, title=f"{path} cannot be read as a notebook. Save the lesson, and run this again."
        )
    marks = {mark: sum(mark in row[1] for row in rows) for mark in "✓✗"}
    counted = ", ".join(f"{count} {mark}" for mark, count in marks.items() if count)
    title = f"You predicted {len(rows)} of {asked}" + f": {counted}" * bool(counted)
    return text_table(rows, columns, title=title)


def _cells(path: Path) -> list[Data]:
    """The cells of a notebook, each with its source as one text."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]


@dataclass
class _Question:
    """A question of a lesson: its section, the learner's words, and what was seen after its code was run."""

    section: str = ""
    asked: bool = False  # has a line
    written: list[str] = field(default_factory=list)
    answered: bool = False  # by code
    seen: str = ""


def predicted(cells: Sequence[Data]) -> tuple[list[list[str]], int]:
    """The predictions that were written down, each with its section and what was seen; and how many were asked for.

    A line is known by its cell, or by what stands before the learner's words. It belongs to the question that its cell
    names, or to the one above. So it is found in a notebook whose cells have lost their ids, or were merged, split,
    copied or moved. A cell of text between a line and the next code is the second half of the line.
    """
    asks = {place: _Question() for place, cell in enumerate(cells) if QUESTION.search("".join(cell["source"]))}
    named = {key: question for place, question in asks.items() for key in _keys(cells[place])}
    questions = [last := _Question(), *asks.values()]  # the first one is for lines above all questions
    section, half = "", False
    for place, cell in enumerate(cells):
        text, keys = "".join(cell["source"]), _keys(cell)
        line, is_line = LINE.search(text), any(key.endswith(SUFFIX) for key in keys)
        if cell["cell_type"] == "code" and not line:
            last.answered, half = True, False
            continue
        if last.answered and not last.seen and (found := SEEN.search(text)):
            last.seen = beginning(found[1])
        section = [section, *HEADING.findall(text)][-1]
        if place in asks:
            last, half = asks[place], False
            last.section = section
        if line or is_line or half:
            question = next((named[key] for key in keys if key in named), last)
            question.asked |= bool(line or is_line)
            words = text[line.start() :] if line and (place in asks or not is_line) else text
            question.written.append(EMPTY.sub("", LINE.sub("", words, count=1)).strip())
            half = question is last and not question.answered
    rows = [
        [one.section, re.sub(r"^\*([^*]+)\*$", r"\1", words), one.seen]
        for one in questions
        if (words := " ".join(filter(None, dict.fromkeys(one.written))))
    ]
    return rows, sum(one.asked for one in questions)


def _keys(cell: Data) -> list[str]:
    """The ids of a cell, wherever a program has put them; that of a line is also without its end."""
    marks = cell.get("metadata") or {}
    ids = [id for id in (marks.get("prediction"), cell.get("id"), marks.get("id")) if id and isinstance(id, str)]
    return ids + [id.removesuffix(SUFFIX) for id in ids]


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
            rows.append([path.stem, *_done(_cells(path))])
        except BROKEN:
            rows.append([path.stem, "cannot be read", "", ""])
    return text_table(rows, ["lesson", "cells run", "predictions", "exercises right"])


def _done(cells: Sequence[Data]) -> list[str]:
    """Of one lesson: the cells that were run, the predictions, the exercises that are right."""
    code = [cell for cell in cells if cell["cell_type"] == "code" and cell["source"].strip()]
    outputs = ["".join(output.get("text", "")) for cell in code for output in cell.get("outputs", [])]
    right = sum(len(re.findall(r"^Exercise \S+: right!", text, re.MULTILINE)) for text in outputs)
    exercises = sum(len(re.findall(r"^lesson\d\d\.check_", cell["source"], re.MULTILINE)) for cell in code)
    written, asked = predicted(cells)
    run = sum(cell.get("execution_count") is not None for cell in code)
    counts = [(run, len(code)), (len(written), asked), (right, exercises)]
    return [f"{done} of {total}" if total else "" for done, total in counts]


def beginning(text: str) -> str:
    """The first sentence of a text, without the marks of Markdown."""
    plain = re.sub(r"[*`]|^[-#>] ", "", " ".join(text.split()))
    end = SENTENCE.search(plain)
    first = plain[: end.end()] if end else plain
    return first if len(first) <= MOST else f"{first[: MOST - 1]}…"
