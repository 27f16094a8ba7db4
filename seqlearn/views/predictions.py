"""What a learner predicted in a lesson, beside what was seen."""

from __future__ import annotations

import json
import re
from pathlib import Path

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
    rows, section, asked, written = [], "", 0, ""
    for cell in json.loads(Path(path).read_text(encoding="utf-8"))["cells"]:
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
    marks = {mark: sum(mark in row[1] for row in rows) for mark in "✓✗"}
    counted = ", ".join(f"{count} {mark}" for mark, count in marks.items() if count)
    title = f"You predicted {len(rows)} of {asked}" + f": {counted}" * bool(counted)
    return text_table(rows, columns, title=title)


def beginning(text: str) -> str:
    """The first sentence of a text, without the marks of Markdown."""
    plain = re.sub(r"[*`]|^[-#>] ", "", " ".join(text.split()))
    end = SENTENCE.search(plain)
    first = plain[: end.end()] if end else plain
    return first if len(first) <= MOST else f"{first[: MOST - 1]}…"
