"""Predictions as acts, in the learner's copy of a lesson and in the book.

Below each question stands a line for the learner's prediction, and the text that says what was seen is folded, until
somebody opens it. At the end of a copy, a cell shows all predictions beside what was seen. The lessons in `notebooks/`
have none of this. Only the standard library is imported: `course.py` uses this module before anything is installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tools.languages import LANGUAGES, Words

Notebook = dict[str, Any]  # the JSON of a notebook
Questions = dict[str, tuple[list[str], str]]  # see `questions`

ASKED = "|".join(re.escape(words.predict) for words in LANGUAGES.values())
QUESTION = re.compile(rf"(?<!\d\. )\*\*(?:Predict\*\*:|(?:{ASKED})\*\*)")  # and not "1. **Predict**: say what ..."
NEXT = re.compile(rf"^(?:#{{1,4}} |\*\*(?:{ASKED})\*\*)", re.MULTILINE)  # what follows an explanation
LINE = "-prediction"  # the end of the id of a cell with the learner's line; the metadata repeats it, as Colab moves ids
INPUT = (
    '<p class="prediction"><label>{label} <input type="text" data-prediction="{key}" data-lost="{lost}" '
    'autocomplete="off"></label></p>'
)


def questions(notebook: Notebook) -> Questions:
    """The cells that ask for a prediction: their id -> the code cells that answer, and the text cell after them.

    The id of the text cell is "" if the lesson ends with code.
    """
    found: Questions = {}
    asked, codes = "", []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            codes.append(cell.get("id", ""))
            continue
        if asked and codes:
            found[asked] = (codes, cell.get("id", ""))
        asked, codes = cell.get("id", "") if QUESTION.search("".join(cell["source"])) else "", []
    if asked and codes:
        found[asked] = (codes, "")
    return found


def folded(text: str, words: Words) -> str:
    """A text cell after a prediction: what it says about the result is folded, and what comes next stands open."""
    following = NEXT.search(text)
    end = following.start() if following else len(text)
    seen, rest = text[:end].removeprefix(f"**{words.result}**").strip(), text[end:]
    if not seen or "<details" in seen:
        return text
    fold = f'<details class="seen"><summary>{words.seen}</summary>\n\n{seen}\n\n</details>'
    return f"{fold}\n\n{rest}" if rest else fold


def to_fill_in(
    notebook: Notebook, original: Notebook, file: str, language: str = "en", after: str = "", folder: str = ""
) -> None:
    """Give a learner's copy its lines for predictions, its folds and its account, in place.

    Args:
        original: the English lesson, which says where the questions are.
        file: the name of the copy, which the account reads.
        after: the file of the next lesson beside this copy, to which the last line leads; default: no such line.
        folder: that of all lessons, as Python writes it, if it is not that of this copy.
    """
    words, asked = LANGUAGES[language], questions(original)
    _add(notebook, asked, words, lambda _: f"**{words.prediction}:** *{words.type_here}*")
    if not asked:
        return
    calls = {"my-predictions": f'my_predictions("{file}")', "my-lessons": f"my_lessons({folder})"}
    for (name, call), text in zip(calls.items(), (words.account, words.done), strict=True):
        code = f"from seqlearn.views import {name.replace('-', '_')}\n\n{call}"
        table = _text_cell(f"{name}-table", code) | {"cell_type": "code", "execution_count": None, "outputs": []}
        notebook["cells"] += [_text_cell(name, text), table]
    if after:
        notebook["cells"].append(_text_cell("next", f"**{words.next}** [{after.removesuffix('.ipynb')}]({after})"))


def to_read(notebook: Notebook, asked: Questions, page: str, language: str) -> None:
    """Give a page of the book its folds and its lines, in place: each is an input, which `book.js` keeps."""
    words = LANGUAGES[language]
    _add(notebook, asked, words, lambda id: INPUT.format(label=words.prediction, key=f"{page} {id}", lost=words.lost))


def _add(notebook: Notebook, asked: Questions, words: Words, line: Callable[[str], str]) -> None:
    explains = {cell for _, cell in asked.values()}
    cells = []
    for cell in notebook["cells"]:
        if cell.get("id") in explains:
            cell = cell | {"source": folded("".join(cell["source"]), words)}
        cells.append(cell)
        if cell.get("id") in asked:
            cells.append(
                _text_cell(cell["id"] + LINE, line(cell["id"])) | {"metadata": {"prediction": cell["id"] + LINE}}
            )
    notebook["cells"] = cells


def _text_cell(id: str, source: str) -> Notebook:
    """A Markdown cell."""
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": source}
