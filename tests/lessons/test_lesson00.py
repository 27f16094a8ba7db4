"""The versions that lesson 00 shows, which nbval does not compare; its map of the course; what its exercise says."""

import platform
import re
from pathlib import Path

import nbformat
import pytest
import torch

from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.exercises import lesson00


def test_versions_are_those_of_what_runs(monkeypatch):
    monkeypatch.setattr(lesson00, "PACKAGES", ["torch", "no-such-package"])
    system, *others = lesson00.versions()
    assert system[0] == "system" and platform.machine() in system[1]
    assert others[0] == ("Python", platform.python_version())
    assert others[1][1].split("+")[0] == torch.__version__.split("+")[0] and others[2][1] == "not installed"
    monkeypatch.undo()
    assert {"seqlearn", "torch", "jupyterlab", "anywidget"} <= {name for name, _ in lesson00.versions()}


NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
MINUTES = re.compile(r"\*\*How long\.\*\* (?:About )?(\d+) minutes.*?(?:(\d+) more for the exercises|$)", re.MULTILINE)


def first_cell(path):
    return nbformat.read(path, as_version=4).cells[0].source


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb"))[1:], ids=lambda path: path.name)
def test_the_map_of_the_course_has_the_minutes_that_each_lesson_says(path):
    minutes = " + ".join(MINUTES.search(first_cell(path)).groups())
    start = next(NOTEBOOKS.glob("00-*.ipynb")).read_text(encoding="utf-8")
    (listed,) = re.findall(rf"\| \*\*{path.name[:2]} .*\| ([\d +]+) \|", start)
    assert listed == minutes, f"lesson {path.name[:2]} says {minutes}, and the map in lesson 00 {listed}"
    readme = (NOTEBOOKS.parent / "README.md").read_text(encoding="utf-8")
    row = rf"^\| \[{path.name[:2]} .*\(notebooks/{path.name}\) .*\| (\d+, and \d+) for the exercises \|$"
    (listed,) = re.findall(row, readme, re.MULTILINE)
    assert listed.replace(", and", " +") == minutes, f"lesson {path.name[:2]} says {minutes}, and the README {listed}"


@pytest.fixture
def attention():
    """A map of five rows. Of each column some other row than "fille" is the brightest, except of "girl"."""
    rows, columns = ("la", "fille", "lave", "la", "pomme"), ("the", "girl", "washes", "the", "apple", "<eos>")
    weights = torch.tensor([
        [0.50, 0.30, 0.00, 0.20, 0.00, 0.00],
        [0.10, 0.60, 0.05, 0.05, 0.05, 0.15],
        [0.00, 0.10, 0.80, 0.00, 0.00, 0.10],
        [0.00, 0.00, 0.00, 0.70, 0.30, 0.00],
        [0.00, 0.00, 0.00, 0.05, 0.55, 0.40],
    ])  # fmt: skip
    return AttentionMap(weights[None, None], rows, columns, "cross")


def said_to(answer, attention, capsys):
    lesson00.check_looked_at(answer, attention)
    return capsys.readouterr().out


@pytest.mark.parametrize("answer", ["girl", " Girl ", "GIRL"])
def test_right_readings(answer, attention, capsys):
    assert said_to(answer, attention, capsys) == "Exercise 0.1: right!\n"


def test_the_check_reads_the_row_of_the_map_it_is_given(attention, capsys):
    attention.weights[0, 0, 1] = torch.tensor([0.05, 0.15, 0.6, 0.1, 0.05, 0.05])
    assert "not yet" in said_to("girl", attention, capsys)
    assert said_to("washes", attention, capsys).endswith("right!\n")


@pytest.mark.parametrize(
    ("answer", "diagnosis"),
    [
        ("the", '"the" is brightest in the row "la"; you want the brightest column of row "fille"'),
        ("washes", '"washes" is brightest in the row "lave"'),
        ("apple", '"apple" is brightest in the row "pomme"'),
        ("<eos>", '"<eos>" is brightest in the row "pomme"'),
        ("fille", '"fille" is no column of the map; its columns are the, girl, washes'),
        ("boy", '"boy" is no column of the map'),
        ("the girl", '"the girl" is no column of the map'),
        ("", "is no column of the map"),
        (1, "Give the word in quotes; yours is of type int"),
        (0.6, "Give the word in quotes; yours is of type float"),
        (["girl"], "Give the word in quotes; yours is of type list"),
    ],
)
def test_wrong_readings(answer, diagnosis, attention, capsys):
    said = said_to(answer, attention, capsys)
    assert said.startswith("Exercise 0.1: not yet.") and diagnosis in said


def test_nothing_is_not_tried_yet(attention, capsys):
    assert said_to(None, attention, capsys) == "Exercise 0.1: not tried yet.\n"
