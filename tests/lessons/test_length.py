"""The main path of a lesson stays short: what a learner reads before the exercises, without sections marked optional.

    python -m tests.lessons.test_length

prints the words, the lines of code and the predictions of each main path, and the minutes that they take."""

import re
from pathlib import Path

import nbformat
import pytest

LESSONS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
MOST = 5500  # words
HEADING = re.compile(r"(#{1,6}) (.*)")
FOLDED = re.compile(r"<details.*?</details>", re.DOTALL)


def main_path(cells):
    """The cells before the exercises that no optional section holds. A heading counts if its cell begins with it."""
    level = 0  # of the optional section that holds the cell, or 0
    for cell in cells:
        heading = cell.cell_type == "markdown" and HEADING.match(cell.source)
        if heading:
            marks, title = heading.groups()
            if title.endswith("Exercises"):
                return
            if not level or len(marks) <= level:
                level = len(marks) if "optional" in title.lower() else 0
        if not level:
            yield cell


def count(cells):
    """Words without folded hints and solutions, lines of code, and predictions."""
    cells = list(cells)
    text = [FOLDED.sub("", cell.source) for cell in cells if cell.cell_type == "markdown"]
    lines = [line for cell in cells if cell.cell_type == "code" for line in cell.source.splitlines() if line.strip()]
    return sum(len(one.split()) for one in text), len(lines), sum("**Predict" in one for one in text)


def test_an_optional_section_ends_at_the_next_heading_of_its_level():
    cells = [
        nbformat.v4.new_markdown_cell(source)
        for source in ("# a", "## b (optional)", "### c", "## d\n<details>no no</details>", "## 9. Exercises", "e")
    ]
    assert [cell.source[:4] for cell in main_path(cells)] == ["# a", "## d"]
    assert count(main_path(cells)) == (4, 0, 0)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_main_path_of_a_lesson_is_short(path):
    words, _, _ = count(main_path(nbformat.read(path, as_version=4).cells))
    assert words <= MOST, f"{words} words: mark a section as optional, or cut"


if __name__ == "__main__":
    for lesson in LESSONS:
        words, lines, predictions = count(main_path(nbformat.read(lesson, as_version=4).cells))
        minutes = words / 110 + lines / 10 + predictions * 2 / 3
        parts = f"{words:5,} words, {lines:3} lines, {predictions:2} predictions"
        print(f"{lesson.stem[:2]}: {parts}: {minutes:3.0f} minutes")
