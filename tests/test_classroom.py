"""What a class gets: student versions without solutions, nbgrader assignments that our checks grade, true plans."""

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import MetadataValidator

from seqlearn.exercises import checking
from tools import handout

ROOT = Path(__file__).parents[1]
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EACH_LESSON = pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.name[:2])
SOLUTION = re.compile(r"<summary>(?:Solution|The fix)</summary>(.*?)</details>", re.DOTALL)


def squeezed(text: str) -> str:
    """A text without spaces, line ends and comments."""
    return re.sub(r"#.*|\s+", "", text)


def code_blocks(notebook) -> list[str]:
    """The code of every solution and every fix of a lesson."""
    folded = "\n".join(SOLUTION.findall(text_of(notebook)))
    return [squeezed(block) for block in re.findall(r"```python\n(.*?)```", folded, re.DOTALL)]


def text_of(notebook) -> str:
    """What the cells of a notebook say, one after the other."""
    return "\n".join(cell.source for cell in notebook.cells)


# ---- student versions ----


@pytest.fixture(scope="module")
def students(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("class") / "été, pour tous"
    handout.main([str(folder)])
    return folder


@pytest.mark.slow
def test_no_solution_is_left_anywhere(students):
    files = [path for path in students.rglob("*") if path.is_file()]
    text = "".join(squeezed(text_of(nbformat.read(path, 4))) for path in files if path.suffix == ".ipynb")
    text += "".join(squeezed(path.read_text("utf-8")) for path in files if path.suffix != ".ipynb")
    assert not [path for path in files if path.suffix in (".safetensors", ".py")]
    blocks = [block for path in LESSONS for block in code_blocks(nbformat.read(path, 4))]
    assert len(blocks) > 60 and [block for block in blocks if block in text] == []


@EACH_LESSON
def test_the_rest_of_a_lesson_stays(lesson, students):
    original, copy = (nbformat.read(path, 4) for path in (lesson, students / "lessons" / lesson.name))
    nbformat.validate(copy)
    code, copied = ([cell for cell in book.cells if cell.cell_type == "code"] for book in (original, copy))
    assert [cell.source for cell in copied[:-2]] == [cell.source for cell in code]
    assert [cell.id for cell in copied[-2:]] == ["my-predictions-table", "my-lessons-table"]
    assert not any(cell.outputs or cell.execution_count for cell in copied)
    texts, kept = text_of(original), text_of(copy)
    folds, gone = texts.count("<details>"), len(SOLUTION.findall(texts))
    assert kept.count("<details>") == folds - gone and gone > 0
    assert kept.count("</details>") == folds - gone + kept.count('<details class="seen">')
    assert kept.count("<summary>Hint</summary>") == texts.count("<summary>Hint</summary>")
    for link in re.findall(r"\.\./[\w./-]*\w", kept):
        assert (students / "lessons" / link).exists(), link


def test_lessons_in_chinese_where_there_is_a_translation(tmp_path):
    handout.main([str(tmp_path / "class"), "--language", "zh", "02", "03"])
    chinese, english = (text_of(nbformat.read(path, 4)) for path in sorted((tmp_path / "class/lessons").iterdir()))
    assert "学生版" in chinese and "我的猜测" in chinese and "尚" not in chinese
    assert "Student version" in english and "My prediction" in english
    assert "解答" in (ROOT / "translations/zh/02.md").read_text("utf-8") and "解答</summary>" not in chinese
    assert chinese.count("<summary>提示</summary>") == 3
    links = re.findall(r"\.\./[\w./-]*\w", chinese)
    assert "../translations/zh/glossary.md" in links
    assert [link for link in links if not (tmp_path / "class/lessons" / link).exists()] == []


def test_an_assignment_in_chinese(tmp_path):
    lesson = ROOT / "notebooks/02-masked-softmax.ipynb"
    handout.main([str(tmp_path / "marks"), "--nbgrader", "--language", "zh", "02"])
    chinese, english = (nbformat.read(path, 4) for path in (tmp_path / f"marks/source/lesson02/{lesson.name}", lesson))
    plain = handout.assignment(lesson)
    assert [cell.source for cell in chinese.cells if cell.cell_type == "code"] == [
        cell.source for cell in plain.cells if cell.cell_type == "code"
    ]
    assert "请交回这个文件" in chinese.cells[0].source and chinese.cells[4].source != english.cells[4].source


# ---- the command ----


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["new", "--language", "fr", "02"], r"There is no translation into 'fr'\. The languages are: zh"),
        (["new", "02", "77"], r"There is no lesson 77\. The lessons are: 00, 01,"),
        ([".", "02"], "exists and is not an empty folder"),
        (["mine.txt"], "exists and is not an empty folder"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_written(tmp_path, arguments, said):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit, match=said):
        handout.main([str(tmp_path / arguments[0]), *arguments[1:]])
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_empty_folder_will_do_and_nothing_lies_beside_it(tmp_path):
    (tmp_path / "empty").mkdir()
    handout.main([str(tmp_path / "empty"), "--nbgrader", "2", "12"])
    assert sorted(path.name for path in (tmp_path / "empty" / "source").iterdir()) == ["lesson02", "lesson12"]
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_a_failure_leaves_nothing_half_written(tmp_path, monkeypatch):
    monkeypatch.setattr(handout, "ROOT", tmp_path)  # no assets there
    with pytest.raises(SystemExit, match=r"\.md: No such file"):
        handout.main([str(tmp_path / "new"), "02"])
    assert list(tmp_path.iterdir()) == []


# ---- the page for teachers ----


PAGE = (ROOT / "docs" / "TEACHERS.md").read_text("utf-8")
ROWS = [[entry.strip() for entry in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]


def rows(pattern: str, columns: int) -> list[list[str]]:
    """The rows of the page's tables with so many columns whose first entry fits the pattern."""
    return [row for row in ROWS if len(row) == columns and re.fullmatch(pattern, row[0])]


def head(lesson: Path) -> tuple[str, set[str], int, int]:
    """The number of a lesson; and from its first cell: the lessons that it needs, minutes of text and of exercises."""
    text = nbformat.read(lesson, 4).cells[0].source
    needs, long = (re.search(rf"\*\*{title}\.\*\* (.*)", text)[1] for title in ("What you need", "How long"))
    minutes, more = re.search(r"(\d+) minutes", long), re.search(r"(\d+)(?: more)? for the exercises", long)
    needs = re.sub(r"[Ss]ections? [\d, and]+", "", needs)
    return lesson.name[:2], set(re.findall(r"\b\d\d\b", needs)), int(minutes[1]), int(more[1]) if more else 0


HEADS = [head(path) for path in LESSONS]
TEXT, ALL = {number: text for number, _, text, _ in HEADS}, {number: text + more for number, _, text, more in HEADS}
SECTIONS = {path.name[:2]: set(re.findall(r"^## (\d+)\. ", text_of(nbformat.read(path, 4)), re.M)) for path in LESSONS}


def test_needs_and_minutes_are_those_of_the_lessons():
    table = [
        (row[0][:2], set(re.findall(r"\d\d", row[1])), int(row[2]), int(row[3] or 0)) for row in rows(r"\d\d .*", 6)
    ]
    assert table == HEADS


def test_the_minutes_of_the_plans_add_up():
    afternoon = rows(r"\d+", 3)
    assert sum(int(minutes) for minutes, _, _ in afternoon) == 180 and "an afternoon, 180 minutes" in PAGE
    week = [(int(row[1]), re.findall(r"\d\d", row[2])) for row in rows(r"\d", 4)]
    assert len(week) == 5 and [minutes for minutes, _ in week] == [sum(ALL[each] for each in day) for _, day in week]
    term = [(re.findall(r"\d\d", row[1]), int(row[2])) for row in rows(r"\d+", 5)]
    assert [home for _, home in term] == [sum(ALL[number] for number in numbers) - 60 for numbers, _ in term]
    assert len(term) == 14 and {"12"} | {number for numbers, _ in term for number in numbers} == set(ALL)
    bugs = [section for row in rows(r"\d+", 5) for section in re.findall(r"\d+", row[4].removeprefix("lesson 12"))]
    assert sorted(bugs, key=int) == [str(section) for section in range(10)]


def test_no_lesson_comes_before_what_it_needs_in_the_term():
    needs, done = {number: wanted for number, wanted, _, _ in HEADS}, set()
    for row in rows(r"\d+", 5):
        for number in re.findall(r"\d\d", row[1]):
            assert needs[number] <= done, number
            done.add(number)


def test_every_section_on_the_page_exists():
    parts = re.split(r"^### (\d\d) .*$", PAGE.split("## Handing out")[0], flags=re.M)
    named = [(part, found) for part, text in zip(parts[1::2], parts[2::2], strict=True)
             for found in re.findall(r"sections? ([\d, and to]+)", text)]  # fmt: skip
    named += re.findall(r"lesson (\d\d), sections? ([\d, and to]+)", parts[0])
    named += [
        (row[0][:2], found) for row in rows(r"\d\d .*", 6) for found in re.findall(r"sections? ([\d, and to]+)", row[5])
    ]
    assert len(named) > 60 and parts[1::2] == list(ALL)
    for lesson, found in named:
        assert set(re.findall(r"\d+", found)) <= SECTIONS[lesson], (lesson, found)


@EACH_LESSON
def test_the_checks_say_what_the_page_quotes(lesson):
    number = lesson.name[:2]
    quoted = re.findall(rf'^- \*\*({int(number)}\.\d+)\*\* "([^"]+)"[.:] ', PAGE, re.M)
    folder = Path(checking.__file__).parent
    code = "".join(path.read_text("utf-8") for path in [*folder.glob(f"lesson{number}*.py"), folder / "checking.py"])
    assert quoted and [said for _, said in quoted if said not in code] == []
    assert [exercise for exercise, _ in quoted if f'"{exercise}"' not in code] == []


# ---- nbgrader ----


@pytest.mark.slow
@EACH_LESSON
def test_every_exercise_has_an_answer_cell_and_a_graded_cell(lesson):
    original, notebook = nbformat.read(lesson, 4), handout.assignment(lesson)
    nbformat.validate(notebook)
    MetadataValidator().validate_nb(notebook)
    marked = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    answers, checks = ([cell for cell in marked if cell.metadata.nbgrader[kind]] for kind in ("solution", "grade"))
    exercises = sum(cell.source.count("<summary>Solution</summary>") for cell in original.cells)
    assert len(answers) == len(checks) == exercises > 0
    names = [cell.metadata.nbgrader.grade_id for cell in marked]
    assert len(set(names)) == len(names) and all(re.fullmatch(r"[\w-]+", name) for name in names)
    sources = {cell.source for cell in original.cells}
    for answer, check in zip(answers, checks, strict=True):
        stub, solution = answer.source.split("\n### BEGIN SOLUTION\n")
        assert stub in sources and "None" in stub and solution.endswith("\n### END SOLUTION")
        assert check.source in sources and check.metadata.nbgrader.locked
        assert check.metadata.nbgrader.points in (1, 2, 3)


WRONG = {
    "masked_softmax": "def my_masked_softmax(scores, lengths):\n    return scores.softmax(0)",
    "decoder_mask": (  # right, with a warning
        "import warnings\n\n\ndef decoder_mask(ids, pad):\n    warnings.warn('a warning is no mistake')\n"
        "    steps = ids.shape[1]\n"
        "    return torch.ones(steps, steps, dtype=torch.bool).tril() & (ids != pad)[:, None, :]"
    ),
}
CRASHING = {
    "masked_softmax": "def my_masked_softmax(scores, lengths)\n    return scores",
    "decoder_mask": "def decoder_mask(ids, pad):\n    raise KeyError('what?')",
    "repaired": "import sys\n\n\ndef repaired(scores, mask):\n    sys.exit(1)",
}


ANSWER, CHECK = "answer_decoder_mask", "check_decoder_mask"  # 2 of the 6 points


def twice(name: str, line: int | None = None):
    """A cell pasted a second time; or split in two before a line: both halves then have its marks."""

    def change(cells):
        first = next(cell for cell in cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)
        second, lines = copy.deepcopy(first), first.source.split("\n")
        second.id = "pasted"
        if line is not None:
            first.source, second.source = "\n".join(lines[:line]), "\n".join(lines[line:])
        cells.insert(cells.index(first) + 1, second)

    return change


def named(name: str, other: str | None):
    """A cell whose marks have another name, or that is gone."""

    def change(cells):
        (cell,) = (cell for cell in cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)
        cells.remove(cell) if other is None else cell.metadata.nbgrader.update(grade_id=other)

    return change


ODD = {  # what a student did to a file with right answers -> the points
    "pasted": (twice(CHECK), 6),
    "pasted-answer": (twice(ANSWER), 6),
    "split": (twice(ANSWER, 1), 4),
    "split-check": (twice(CHECK, 0), 6),
    "deleted": (named(CHECK, None), 4),
    "renamed": (named(CHECK, "check_mine"), 4),
}


def hand_in(course: Path, student: str, answers: dict[str, str], whole: bool = False, odd=None) -> None:
    """Put a student's file into its place. Without `whole`, only what the checks need is in it: that is faster."""
    notebook = nbformat.read(course / "release" / "lesson02" / "02-masked-softmax.ipynb", 4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    by_name = {cell.metadata.nbgrader.grade_id: cell for cell in cells if "nbgrader" in cell.metadata}
    for name, answer in answers.items():
        by_name[f"answer_{name}"].source = answer
    if not whole:
        notebook.cells = [*cells[:2], *by_name.values()]  # the view and the imports
    if odd:
        odd(notebook.cells)
    place = course / "submitted" / student / "lesson02"
    place.mkdir(parents=True)
    nbformat.write(notebook, place / "02-masked-softmax.ipynb")


@pytest.mark.slow
def test_ten_students_get_the_right_marks_and_our_diagnosis(tmp_path, monkeypatch):
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / "jupyter"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    course = tmp_path / "course"
    handout.main([str(course), "--nbgrader", "02"])

    def nbgrader(command: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", command, "lesson02"], cwd=course, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    nbgrader("generate_assignment")
    source = nbformat.read(course / "source" / "lesson02" / "02-masked-softmax.ipynb", 4)
    marked = [cell for cell in source.cells if cell.metadata.get("nbgrader", {}).get("solution")]
    right = {cell.metadata.nbgrader.grade_id.removeprefix("answer_"): cell.source for cell in marked}
    assert "END SOLUTION" not in (course / "release" / "lesson02" / "02-masked-softmax.ipynb").read_text("utf-8")
    hand_in(course, "right", right)
    hand_in(course, "wrong", WRONG)
    hand_in(course, "empty", {}, whole=True)
    hand_in(course, "crashing", CRASHING)
    for student, (change, _) in ODD.items():
        hand_in(course, student, right, odd=change)
    nbgrader("autograde")
    nbgrader("generate_feedback")

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "seqlearn") as book:
        marks = {each.student.id: each.score for each in book.assignment_submissions("lesson02")}
        assert book.find_assignment("lesson02").max_score == 6
    odd = {student: points for student, (_, points) in ODD.items()}
    assert marks == {"right": 6, "wrong": 2, "empty": 0, "crashing": 0, **odd}

    feedback = {name: feedback_of(course, name) for name in marks}
    assert "Your sums of 1 run along axis 0: the softmax goes over the keys" in feedback["wrong"]
    assert "Your code stopped with KeyError" in feedback["crashing"]
    assert feedback["right"].count("right!") == 3 and feedback["empty"].count("not tried yet.") == 3
    lesson = next(path for path in LESSONS if path.name.startswith("02"))
    solutions = [block for block in code_blocks(nbformat.read(lesson, 4)) if "softmax" in block]
    for name in ("empty", "crashing"):
        assert not [block for block in solutions if block in squeezed(feedback[name])], name

    run = nbformat.read(course / "autograded" / "empty" / "lesson02" / "02-masked-softmax.ipynb", 4)
    failed = [cell.source for cell in run.cells if any(o.output_type == "error" for o in cell.get("outputs", []))]
    assert len(failed) == 3 and all(text.startswith("lesson02.check_") for text in failed)


def feedback_of(course: Path, student: str) -> str:
    """The text of the page that a student gets back."""
    page = (course / "feedback" / student / "lesson02" / "02-masked-softmax.html").read_text("utf-8")
    text = re.sub(r"<style.*?</style>|<script.*?</script>|<[^>]*>", "", page, flags=re.DOTALL)
    return text.replace("&#39;", "'").replace("&quot;", '"').replace("&gt;", ">").replace("&lt;", "<")
