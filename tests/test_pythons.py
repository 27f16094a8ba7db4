"""Other Pythons on this machine: course.py runs with them or refuses them, and the package can be compiled by them.

Only course.py is run: nothing is installed for another Python. One that is not there is skipped.
"""

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import course

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
NEW = [f"3.{minor}" for minor in range(course.OLDEST[1], course.NEWEST[1] + 1)]
OTHERS = ["3.7", "3.8", "3.9", "3.10", f"3.{course.NEWEST[1] + 1}"]  # course.py has to refuse these in one sentence
COMPILE = """
import sys, warnings
warnings.simplefilter("error")
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        compile(file.read(), path, "exec")
"""
COPY = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import course
root = Path(sys.argv[2])
course.NOTEBOOKS, course.MINE = root / "notebooks", root / "my-lessons"
course.check_python()
course.my_lessons()
course.my_lessons(course.lessons("4")[0])
"""


@functools.cache
def interpreter(version: str) -> str | None:
    """A Python of this version that starts: on the path, or where pyenv keeps its own."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    for path in [*([on_path] if on_path else []), *pyenv.glob(f"{version}.*/bin/python{version}")]:
        asked = run(path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
        if (asked.returncode, asked.stdout.strip()) == (0, version):
            return str(path)
    return None


def run(*command: str | Path, **settings) -> subprocess.CompletedProcess:
    """Run a command to its end, away from this environment and its packages."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    clean["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run([*command], capture_output=True, text=True, env=clean | {"PYTHONUTF8": "1"}, **settings)


@pytest.fixture
def python(request) -> str:
    """The interpreter of the version that the test asks for."""
    return interpreter(request.param) or pytest.skip(f"there is no Python {request.param} on this machine")


def lesson(text: str, run: bool = False) -> str:
    """The file of a lesson with one code cell, before or after a run."""
    printed = {"name": "stdout", "output_type": "stream", "text": ["answer\n"]}
    code = {"cell_type": "code", "execution_count": None, "outputs": [], "source": [text]}
    if run:
        code |= {"execution_count": 1, "outputs": [printed]}
    return json.dumps({"cells": [code]}, indent=1) + "\n"


@pytest.fixture
def place(tmp_path) -> Path:
    """A copy of course.py with two lessons."""
    (tmp_path / "notebooks").mkdir()
    for name in ("00-start-here", "04-scores"):
        (tmp_path / "notebooks" / f"{name}.ipynb").write_text(lesson(name, run=True))
    for name in ("course.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.mark.parametrize("python", NEW + OTHERS, indirect=True)
def test_help(python, place):
    said = run(python, place / "course.py", "--help")
    assert said.returncode == 0 and "course.py lab --reset 04" in said.stdout and said.stderr == ""


@pytest.mark.parametrize("python", ["2.7"], indirect=True)
def test_python_2_shows_a_line_that_says_why(python):
    told = run(python, str(ROOT / "course.py"), "lab")
    assert told.returncode == 1 and "the course needs Python 3.11 or newer" in told.stderr


@pytest.mark.parametrize("python", OTHERS, indirect=True)
def test_another_python_is_refused(python, place):
    said = run(python, place / "course.py", "lab")
    assert said.returncode == 1 and said.stdout == "" and said.stderr.count("\n") == 1
    assert (
        said.stderr.startswith("This is Python 3.")
        and "the course needs Python 3.11, 3.12, 3.13 or 3.14" in said.stderr
    )
    assert not (place / ".venv").exists() and not (place / "my-lessons").exists()


@pytest.mark.parametrize("python", NEW, indirect=True)
def test_a_python_of_today_is_accepted(python, place):
    """It gets as far as the packages, which are not there: an environment of its own, without any."""
    made = run(python, "-m", "venv", "--without-pip", place / "empty")
    if made.returncode:
        pytest.skip("this Python has no venv module")
    empty = place / "empty" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    said = run(empty, place / "course.py", "lab", "--here")
    assert said.returncode == 1 and said.stderr.startswith("With --here, this Python needs the packages of the course")
    assert said.stderr.count("\n") == 1 and "No module named 'seqlearn'" in said.stderr


@pytest.mark.parametrize("python", NEW, indirect=True)
def test_lessons_are_copied_and_set_aside(python, place):
    (place / "my-lessons").mkdir()
    (place / "my-lessons" / "04-scores.ipynb").write_text("my work")
    done = run(python, "-W", "error", "-c", COPY, place, place)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    texts = {path.name: path.read_text() for path in (place / "my-lessons").glob("*.ipynb")}
    assert texts == {
        "00-start-here.ipynb": lesson("00-start-here"),
        "04-scores.ipynb": lesson("04-scores"),
        "04-scores.old1.ipynb": "my work",
    }


@pytest.mark.parametrize("python", NEW, indirect=True)
def test_every_module_compiles_without_a_warning(python):
    paths = [*(ROOT / "seqlearn").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), ROOT / "course.py"]
    paths += (ROOT / "tools").rglob("*.py")
    done = run(python, "-c", COMPILE, *paths)
    assert len(paths) > 50 and done.returncode == 0, done.stderr
