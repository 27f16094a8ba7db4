"""Write the lessons for a class, without solutions and outputs: `python3 course.py handout DIR 02 04`.

With `--nbgrader`, DIR becomes the folder of an nbgrader course: every exercise is a cell for the answer and a locked
cell with points, which calls the check of the lesson. With `--language zh`, lessons are Chinese where translations/ has
them. docs/TEACHERS.md says how to use all three.
"""

import argparse
import os
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools import blocks, predictions
from tools.beside import beside, of_caller, sentence_for_errors
from tools.languages import LANGUAGES

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"

SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)
TITLES = "|".join(title for words in LANGUAGES.values() for title in words.solutions)
ANSWERS = re.compile(rf"\n*<details><summary>(?:{TITLES})</summary>.*?</details>", re.DOTALL)
ASSET = re.compile(r"\.\./((?:assets|docs|translations)(?:/[\w.-]*\w)+)")


OPEN_ME = """# Lessons for students

You need an installed course (`python3 course.py lab` has run once). In the folder of the course:

    .venv/bin/jupyter lab "PATH OF THIS FOLDER"         (Linux, macOS)
    .venv\\Scripts\\jupyter lab "PATH OF THIS FOLDER"     (Windows)

JupyterLab opens. On the left, open `lessons`, then the first lesson. Keep `assets` beside `lessons`: it holds the
pictures and the glossary.

From the course seqlearn, by the seqlearn authors. Code: Apache-2.0. Texts and figures: CC BY 4.0.
"""

GRADE_ME = """# An nbgrader course

`source/` holds the assignments with their solutions: students never get it. In a terminal, once:

    {activate}
    cd "THIS FOLDER"

Then, for lesson 02:

    nbgrader generate_assignment lesson02     makes release/lesson02, the folder that students get
    nbgrader autograde lesson02               runs and grades submitted/NAME/lesson02/02-....ipynb
    nbgrader generate_feedback lesson02       makes feedback/NAME/lesson02/02-....html
    nbgrader export                           makes grades.csv

Between the first two, put each student's file into its place in `submitted/`. Marks are kept in `gradebook.db`.
"""

CONFIG = '''from nbgrader.preprocessors import ClearOutput, CheckCellMetadata, OverwriteCells, OverwriteKernelspec


class OneOfEach(OverwriteCells):
    """Each exercise counts once: a copy of its check is dropped, and a copy or a half of an answer is an ordinary cell.

    nbgrader itself stops at a cell that is there twice, and leaves all students after this one without a mark.
    """

    def preprocess(self, nb, resources):
        found, kept = set(), []
        for cell in reversed(nb.cells):  # the last one counts
            marks = cell.metadata.get("nbgrader") or {}
            if (name := marks.get("grade_id")) in found:
                del cell.metadata["nbgrader"]
            found |= {name} - {None}
            if "nbgrader" in cell.metadata or not marks.get("grade"):
                kept.append(cell)
        nb.cells = kept[::-1]
        nb, resources = super().preprocess(nb, resources)
        for cell in nb.cells:  # under a name that no exercise has
            if "grade_id" not in cell.metadata.get("nbgrader", {"grade_id": ""}):
                del cell.metadata["nbgrader"]
        return nb, resources


c = get_config()
c.CourseDirectory.course_id = "seqlearn"
c.ClearSolutions.code_stub = {"python": ""}  # the stub of the lesson stands above the solution and is enough
c.Autograde.sanitize_preprocessors = [ClearOutput, OneOfEach, OverwriteKernelspec, CheckCellMetadata]
c.Execute.timeout = 1800  # seconds for one cell: some cells train a model for minutes
'''


@dataclass
class Language:
    """A language of the handouts, and its translations of lessons: {"04": blocks of lesson 04}."""

    name: str = "en"
    lessons: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)

    def of(self, lesson: Path) -> str:
        """The language that a lesson gets: English where there is no translation."""
        return self.name if lesson.name[:2] in self.lessons else "en"

    def read(self, lesson: Path) -> NotebookNode:
        """A lesson in this language."""
        notebook = nbformat.read(lesson, as_version=4)
        texts = self.lessons.get(lesson.name[:2])
        return NotebookNode(blocks.translated(notebook, texts, self.name)) if texts else notebook


ENGLISH = Language()


def language(name: str) -> Language:
    """The language of this name; stops, in one sentence, where translations/ has none."""
    try:
        there = blocks.languages(ROOT / "translations")
        if name not in there:
            sys.exit(f"There is no translation into {name!r}. The languages are: {', '.join(there) or 'none'}.")
        return Language(name, {number: blocks.read(path) for number, path in there[name].items()})
    except blocks.BadTranslation as error:
        sys.exit(str(error))


def student_version(lesson: Path, spoken: Language = ENGLISH, graded: bool = False) -> NotebookNode:
    """A lesson without outputs, solutions and fixes; its title cell says so. Hints and quizzes stay."""
    notebook = spoken.read(lesson)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(execution_count=None, outputs=[])
        else:
            cell.source = ANSWERS.sub("", cell.source)
    words = LANGUAGES[spoken.of(lesson)]
    notebook.cells[0].source += f"\n\n{words.students}{words.graded * graded}"
    return notebook


def assignment(lesson: Path, spoken: Language = ENGLISH) -> NotebookNode:
    """The source of an nbgrader assignment: the student version, with solutions that nbgrader removes, and points."""
    original, notebook = nbformat.read(lesson, as_version=4), student_version(lesson, spoken, graded=True)
    for place, cell in enumerate(original.cells):
        if solution := SOLUTION.search(cell.source):
            stub, check = notebook.cells[place - 2 : place]
            stub.source += f"\n### BEGIN SOLUTION\n{solution[1]}### END SOLUTION"
            (name,), points = re.findall(r"check_(\w+)\(", check.source)[:1], points_after(original.cells[:place])
            stub.metadata.nbgrader = marked(f"answer_{name}", solution=True)
            check.metadata.nbgrader = marked(f"check_{name}", grade=True, locked=True, points=points)
    return notebook


def points_after(cells: list[NotebookNode]) -> int:
    """One point for each filled circle of the last exercise in these cells; one point if there are no circles."""
    circles = re.findall("(?:● ?)+", "\n".join(cell.source for cell in cells))
    return circles[-1].count("●") if circles else 1


def marked(grade_id: str, **settings: object) -> NotebookNode:
    """What nbgrader wants to know about a cell."""
    plain = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    return NotebookNode({**plain, "grade_id": grade_id, **settings})


def copy_assets(notebook: NotebookNode, folder: Path) -> None:
    """Copy to the folder what the cells show or read from ../assets/, ../docs/ and ../translations/."""
    for name in {name for cell in notebook.cells for name in ASSET.findall(cell.source)}:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / name, folder / name)


def write_lessons(folder: Path, lessons: list[Path], spoken: Language) -> None:
    """Fill `folder` with student versions, in lessons/, and with what they read, in assets/."""
    (folder / "lessons").mkdir()
    for lesson in lessons:
        notebook = student_version(lesson, spoken)
        predictions.to_fill_in(notebook, nbformat.read(lesson, as_version=4), lesson.name, spoken.of(lesson))
        notebook = nbformat.from_dict(notebook)
        copy_assets(notebook, folder)
        nbformat.write(notebook, folder / "lessons" / lesson.name)
    (folder / "README.md").write_text(OPEN_ME, "utf-8")


def write_assignments(folder: Path, lessons: list[Path], spoken: Language) -> None:
    """Fill `folder` with an nbgrader course; each assignment has its own assets/, as nbgrader hands out one folder."""
    for lesson in lessons:
        home = folder / "source" / f"lesson{lesson.name[:2]}"
        notebook = assignment(lesson, spoken)
        copy_assets(notebook, home)
        for cell in notebook.cells:
            cell.source = ASSET.sub(r"\1", cell.source)
        nbformat.write(notebook, home / lesson.name)
    (folder / "nbgrader_config.py").write_text(CONFIG, "utf-8")
    activate = ("" if os.name == "nt" else "source ") + f'"{Path(sys.executable).parent / "activate"}"'
    (folder / "README.md").write_text(GRADE_ME.format(activate=activate), "utf-8")


@sentence_for_errors
def main(arguments: list[str]) -> None:
    """Write the folder in one step, or say in one sentence why not."""
    parser = argparse.ArgumentParser(prog="course.py handout", description="Lessons for a class, without solutions.")
    parser.add_argument("folder", metavar="DIR", type=Path, help="a new or empty folder")
    parser.add_argument(
        "lessons", metavar="NN", nargs="*", default=[], help="numbers of lessons, such as 02; default: all"
    )
    parser.add_argument("--nbgrader", action="store_true", help="assignments for nbgrader, which grade themselves")
    parser.add_argument("--language", metavar="LL", help="such as zh; a lesson without translation stays English")
    options = parser.parse_intermixed_args(arguments)
    spoken = language(options.language) if options.language else ENGLISH
    originals = {path.name[:2]: path for path in sorted(NOTEBOOKS.glob("[0-9][0-9]-*.ipynb"))}
    chosen = list(dict.fromkeys(number.zfill(2) for number in options.lessons)) or list(originals)
    if missing := [number for number in chosen if number not in originals]:
        sys.exit(f"There is no lesson {missing[0]}. The lessons are: {', '.join(originals)}.")
    folder = of_caller(options.folder)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        sys.exit(f"{folder} exists and is not an empty folder: name a new one, nothing was written.")
    with beside(folder) as part:
        made = part / "made"
        made.mkdir()
        write = write_assignments if options.nbgrader else write_lessons
        write(made, [originals[number] for number in chosen], spoken)
        if folder.exists():
            folder.rmdir()
        os.replace(made, folder)
    print(f"Lessons {', '.join(chosen)}: {folder}. Its README.md says how to go on.")


if __name__ == "__main__":
    main(sys.argv[1:])
