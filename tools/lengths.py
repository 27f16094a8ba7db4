"""How long is each lesson? `python -m tools.lengths` prints words, lines, predictions, views and honest minutes.

The main path is what a learner reads and runs before the exercises. Its minutes are words / 110 + lines of code / 15 +
2 for each prediction + 2 for each view + the training (column *machine* of `docs/TEACHERS.md`). Stubs, checks, hints
and solutions inside a lesson are exercises. A fold counts like any other text.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqlearn.views.stored import records_file

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
MORE = sorted((ROOT / "notebooks" / "more").glob("[0-9]*.ipynb"))
EXERCISES = re.compile(r"## (?:\d+\. )?(?:Exercises|练习)")
SOLUTION = re.compile(r"<summary>(?:Hint|Solution|The fix)</summary>")
STARS = re.compile(r"#{2,4} .*[●○]")
HEADING = re.compile(r"#{1,6} ")
PREDICT = "**Predict.**"
LEFT = {  # cells that a later change takes: outside all counts
    *(f"l04-{place}" for place in "27 28 29 30 32 72 73 74".split()),
    *(f"l13-{place}" for place in "26f 27 28 30 75 76 77 78".split()),
    *(f"l14-{place}" for place in "80 80b 81 82 83 84 85 86 87 88 88b 88c 89 89b 89c 90 91 92 93 94 95".split()),
}
Cell = dict[str, Any]  # the JSON of a cell


@dataclass(frozen=True)
class Length:
    """What a main path holds."""

    words: int
    lines: int
    predictions: int
    views: int
    training: float
    exercise_words: int
    exercise_lines: int

    @property
    def minutes(self) -> float:
        """Honest minutes of the main path."""
        return self.words / 110 + self.lines / 15 + 2 * (self.predictions + self.views) + self.training


def cells_of(path: Path) -> list[Cell]:
    """The cells that count, each with its source as one text."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in cells if cell["id"] not in LEFT]


def is_text(cell: Cell) -> bool:
    """Whether the cell is Markdown."""
    return cell["cell_type"] == "markdown"


def parts(cells: list[Cell]) -> Iterator[tuple[Cell, bool]]:
    """The cells before the section of exercises, each with whether it belongs to an exercise inside the lesson."""
    ours: set[str] = set()
    for place, cell in enumerate(cells):
        if is_text(cell) and SOLUTION.search(cell["source"]):  # stub and check stand right before it
            ours |= {cell["id"], *(before["id"] for before in cells[max(place - 2, 0) : place] if not is_text(before))}
        if is_text(cell) and STARS.match(cell["source"]):
            ours.add(cell["id"])
    for cell in cells:
        if is_text(cell) and EXERCISES.match(cell["source"]):
            return
        yield cell, cell["id"] in ours


def words(cells: list[Cell]) -> int:
    """The words of all Markdown."""
    return sum(len(cell["source"].split()) for cell in cells if is_text(cell))


def lines(cells: list[Cell]) -> int:
    """The lines of code that are not blank."""
    return sum(1 for cell in cells if not is_text(cell) for line in cell["source"].splitlines() if line.strip())


def training(number: str) -> float:
    """The longest training in minutes that TEACHERS names for a lesson; "under a minute" is one."""
    table = (ROOT / "docs" / "TEACHERS.md").read_text("utf-8")
    row = re.search(rf"^\| {number} .*$", table, re.MULTILINE)
    if row is None:
        return 0
    machine = row[0].split("|")[5]
    if "under a minute" in machine:
        return 0
    named = {"one": 1, "two": 2, "three": 3, "four": 4}
    found = [int(word) if word.isdigit() else named[word] for word in re.findall(r"\d+|one|two|three|four", machine)]
    return max(found, default=0)


def length(path: Path) -> Length:
    """Measure the main path of a lesson."""
    split = list(parts(cells_of(path)))
    main, inside = [cell for cell, ours in split if not ours], [cell for cell, ours in split if ours]
    file = records_file(path)
    views = {record["cell"] for record in json.loads(file.read_text("utf-8"))} if file.exists() else set()
    asked = sum(PREDICT in cell["source"] for cell in main if is_text(cell))
    shown = len(views & {cell["id"] for cell in main})
    return Length(words(main), lines(main), asked, shown, training(path.name[:2]), words(inside), lines(inside))


def main() -> None:
    """Print a line for each lesson, and the sums."""
    everything = total = 0
    for path in LESSONS:
        one, all_words = length(path), words(cells_of(path))
        everything, total = everything + all_words, total + one.minutes
        print(
            f"{path.name[:2]}: {one.words:5,} words, {one.lines:3} lines, {one.predictions:2} predictions, "
            f"{one.views} views, {one.training:.0f} training: {one.minutes:3.0f} minutes "
            f"(inside: {one.exercise_words:,} words, {one.exercise_lines} lines of exercises); {all_words:6,} in all"
        )
    more = {path.stem: words(cells_of(path)) for path in MORE}
    print(f"more: {more}, {sum(more.values()):,} words")
    print(f"{everything + sum(more.values()):,} words, main paths {total / len(LESSONS):.0f} minutes in the mean")


if __name__ == "__main__":
    main()
