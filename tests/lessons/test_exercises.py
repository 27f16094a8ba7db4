"""Every exercise: a stub is "not tried yet", the stored solution right, and each mistake gets its own sentence.

The solution is read from the lesson, where a learner reads it. A mistake stands once, as a program beside the formula
in `seqlearn/exercises/`.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from seqlearn.exercises import checking, lesson00
from seqlearn.translator.translator import Translator

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)
NUMBER = re.compile(r"\d+(\.\d+)?")
SENTENCE = "The girl washes the red apple and eats it."


@pytest.fixture(scope="module")
def attention():
    """The map that lessons 00 and 06 read from, by the model that comes with the course."""
    return Translator.pretrained("bahdanau", "cpu").attend(SENTENCE)


def modules_of(lesson):
    """The module of a lesson's checks, and those that it is split into."""
    return sorted(Path(checking.__file__).parent.glob(f"{lesson}*.py"))


def exercises():
    """Lesson, imports, stub, check and solution of each exercise."""
    for path in sorted(NOTEBOOKS.rglob("[0-9]*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        imported = [n for n, source in enumerate(code[:4]) if re.search("from seqlearn.exercises|plt.style", source)]
        imports = "\n".join(code[: max(imported, default=-1) + 1])  # the first screen, and the cell that imports
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


class Mistakes:
    """`matches` that gives each mistake to the comparison, in the place of an answer, and notes what is said to it.

    A mistake is known by its sentence without the numbers and without what all sentences of the comparison begin with,
    which differ from case to case.
    """

    def __init__(self):
        self.said = {}

    def __call__(self, answer, expected, mistakes=(), **options):
        mistakes = list(mistakes.items() if isinstance(mistakes, dict) else mistakes)
        begins = os.path.commonprefix([diagnosis for diagnosis, _ in mistakes]).rpartition(". ")[0]  # noqa: RUF071 (texts, not paths)
        for diagnosis, wrong in mistakes:
            numbers = wrong() if callable(wrong) else wrong
            told = ""
            try:
                if numbers is not None:
                    checking.matches(numbers, expected, mistakes, **options)
            except checking.Wrong as error:
                told = str(error)
            name = NUMBER.sub("#", diagnosis.removeprefix(begins))
            self.said.setdefault(name, []).append(NUMBER.sub("#", told.removeprefix(begins)))
        checking.matches(answer, expected, mistakes, **options)


@pytest.mark.parametrize(("imports", "stub", "check", "solution"), list(exercises()))
def test_each_mistake_gets_its_own_sentence(imports, stub, check, solution, attention, monkeypatch, capsys):
    """In one of the check's cases it differs from the right answer, and from every other mistake."""
    mistakes = Mistakes()
    for module in modules_of(re.search("lesson[0-9]+", check)[0]):
        monkeypatch.setattr(f"seqlearn.exercises.{module.stem}.matches", mistakes, raising=False)
    namespace = {"attention": attention}
    for source in (imports, solution, check):
        exec(source, namespace)
    assert capsys.readouterr().out.endswith("right!\n")
    silent = [name for name, said in mistakes.said.items() if name not in said]
    assert not silent, "\n".join(f"{name}\n    {set(mistakes.said[name])}" for name in silent)


def test_there_are_exercises_in_every_lesson():
    assert {param.id[:2] for param in exercises()} == {path.name[:2] for path in NOTEBOOKS.glob("*.ipynb")}
    assert sum(param.id.startswith("06") for param in exercises()) >= 2


@pytest.mark.parametrize("check", [lesson00.check_looked_at])
@pytest.mark.parametrize(
    ("answer", "diagnosis"), [("and", "brightest in the row"), ("pomme", "no column"), (3, "in quotes")]
)
def test_wrong_readings(check, answer, diagnosis, attention, capsys):
    check(answer, attention)
    said = capsys.readouterr().out
    assert "not yet." in said and diagnosis in said


def test_a_map_of_another_sentence_is_said(attention, capsys):
    lesson00.check_looked_at("girl", replace(attention, query_tokens=["x"] * len(attention.query_tokens)))
    assert 'Your map has no row "fille"' in capsys.readouterr().out


def test_the_sections_that_checks_name_exist():
    for path in NOTEBOOKS.glob("*.ipynb"):
        more = list(NOTEBOOKS.glob(f"more/{path.name[:2]}-*.ipynb"))
        checks = "".join(file.read_text("utf-8") for file in modules_of(f"lesson{path.name[:2]}"))
        for section in re.findall(r'section="([^"]+)"', checks):
            assert any(f"## {section}" in file.read_text("utf-8") for file in [path, *more]), section
