"""Every exercise: a stub is "not tried yet", the stored solution right, typical wrong answers get their own diagnosis.

The solution is read from the lesson, where a learner reads it.
"""

import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from seqlearn.exercises import checking, lesson00, lesson06
from seqlearn.translator.translator import Translator

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)
SENTENCE = "The girl washes the red apple and eats it."


@pytest.fixture(scope="module")
def attention():
    """The map that lessons 00 and 06 read from, by the model that comes with the course."""
    return Translator.pretrained("bahdanau", "cpu").attend(SENTENCE)


def exercises():
    """Lesson, imports, stub, check and solution of each exercise."""
    for path in sorted(NOTEBOOKS.rglob("[0-9]*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        last = next((place for place, source in enumerate(code) if "from seqlearn.exercises import" in source), 0)
        imports = "\n".join(code[: last + 1])  # the first screen, and the cell that imports
        for place, cell in enumerate(cells):
            if solution := SOLUTION.search(cell.source):
                stub, check = cells[place - 2].source, cells[place - 1].source
                yield pytest.param(
                    imports, stub, check, solution[1], id=f"{path.name[:2]}{'+' * (path.parent != NOTEBOOKS)}-{place}"
                )


@pytest.mark.parametrize(("imports", "stub", "check", "solution"), list(exercises()))
def test_stub_and_solution(imports, stub, check, solution, attention, capsys):
    said = []
    for answer in (stub, solution):
        namespace = {"attention": attention}
        exec(imports, namespace)
        exec(answer, namespace)
        capsys.readouterr()
        exec(check, namespace)
        said.append(capsys.readouterr().out)
    assert said[0].endswith("not tried yet.\n") and said[0].count("\n") == 1
    assert said[1].endswith("right!\n") and said[1].count("\n") == 1


def test_there_are_exercises_in_every_lesson():
    assert {param.id[:2] for param in exercises()} == {path.name[:2] for path in NOTEBOOKS.glob("*.ipynb")}
    assert sum(param.id.startswith("06") for param in exercises()) >= 2


@pytest.mark.parametrize("check", [lesson00.check_looked_at, lesson06.check_looked_at])
@pytest.mark.parametrize(
    ("answer", "diagnosis"), [("and", "brightest in the row"), ("pomme", "no column"), (3, "in quotes")]
)
def test_wrong_readings(check, answer, diagnosis, attention, capsys):
    check(answer, attention)
    said = capsys.readouterr().out
    assert "not yet." in said and diagnosis in said


def test_a_map_of_another_sentence_is_said(attention, capsys):
    lesson06.check_looked_at("girl", replace(attention, query_tokens=["x"] * len(attention.query_tokens)))
    assert 'Your map has no row "lave"' in capsys.readouterr().out


def test_the_sections_that_checks_name_exist():
    for path in NOTEBOOKS.glob("*.ipynb"):
        more = list(NOTEBOOKS.glob(f"more/{path.name[:2]}-*.ipynb"))
        checks = Path(checking.__file__).with_name(f"lesson{path.name[:2]}.py").read_text("utf-8")
        for section in re.findall(r'section="([^"]+)"', checks):
            assert any(f"## {section}" in file.read_text("utf-8") for file in [path, *more]), section
