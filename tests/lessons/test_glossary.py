"""The glossary: each lesson links to it, and the lesson that a term names does explain this term."""

import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LINK = "../assets/glossary.md"
HEAD = ["term", "symbol", "shape", "meaning", "lesson", "中文"]


def rows() -> list[list[str]]:
    """The rows of all tables of the glossary, without headings."""
    lines = (ROOT / "assets" / "glossary.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if row != HEAD and not set("".join(row)) <= {"-"}]


def words(path: Path) -> str:
    """All texts and all code of a lesson, in lower case, in one line, without the marks of bold and italic letters."""
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
    return re.sub(r"\s+", " ", text.lower().replace("*", "").replace("`", ""))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_each_lesson_links_to_the_glossary(path):
    first = nbformat.read(path, as_version=4).cells[0].source
    assert LINK in first and (path.parent / LINK).is_file()


def test_every_row_is_whole():
    listed = rows()
    assert len(listed) > 70 and all(len(row) == len(HEAD) for row in listed)
    for term, _, _, meaning, lesson, chinese in listed:
        assert term and meaning and re.fullmatch(r"\d\d", lesson) and re.search("[\u4e00-\u9fff]", chinese), term
    names = [row[0] for row in listed]
    assert len(set(names)) == len(names)


@pytest.mark.slow
@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_the_lesson_that_is_named_uses_the_term(row):
    """A term may have several names ("source, target"): each one stands in the lesson."""
    (lesson,) = (path for path in LESSONS if path.name.startswith(row[4]))
    text = words(lesson)
    for name in re.split(r", | and ", row[0].lower()):
        assert re.sub(r"[`*]", "", name) in text, f"lesson {row[4]} does not say {name!r}"
