"""`remembered.py` and `inputs.py`, in a small course with a .venv of its own."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path

import pytest

from tests.lessons import remembered
from tests.lessons.remembered import COMPARISON, ROOT, unchanged

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="forks and interrupts as Unix does")]
SKIPPED = "1 lesson was not run, since nothing that it read has changed since it last compared equal: 01 ("
START = "import json, os, subprocess, sys\nfrom pathlib import Path"
GOOD = [
    "import seqlearn",
    "from seqlearn import used",
    "print(json.loads(Path('../assets/data.json').read_text()), len(list(Path('../assets/runs').glob('*'))))",
]
LESSONS = {  # only the first can be skipped
    "01-good": GOOD,
    "02-fails": [*GOOD, "raise ValueError"],
    "03-writes": [*GOOD, "Path('../assets/own').touch(); Path('../assets/own').open().close()"],
    "04-starts": [*GOOD, "_ = subprocess.run([sys.executable, '-c', ''])"],
    "05-other-package": GOOD[2:],
}
READ = {
    "seqlearn/__init__.py": "", "seqlearn/used.py": "", "assets/data.json": "1", "tests/lessons/claims/01.toml": "",
}  # fmt: skip
FILES = READ | {
    "seqlearn/other.py": "", "assets/runs/1.txt": "", "tools/figures.py": "def install(ipython):\n    pass",
    "tests/hunt.py": "", "tests/order.py": "def pytest_collection_modifyitems():\n    pass",
    "pytest.ini": "[pytest]\npythonpath = . tests\naddopts = --import-mode=importlib\nmarkers = slow\n",
}  # fmt: skip
COUNT = """
import contextlib, io, json, os, pytest, sys
for arguments, settings in json.loads(sys.argv[1]):
    os.environ.pop("CI", None)
    os.environ.update(settings)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        pytest.main([*sys.argv[2:], *arguments])
    print("skipped" if "not run" in said.getvalue() else "all" if "good.ipynb::Cell 1" in said.getvalue() else "none")
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course whose lessons were run, in a worker of pytest-xdist; nothing is skipped under `CI`."""
    course = tmp_path_factory.mktemp("course").resolve()
    for name in COMPARISON:
        (course / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, course / name)
    for name, text in FILES.items():
        (course / name).parent.mkdir(parents=True, exist_ok=True)
        (course / name).write_text(text)
    module = course / "tests/lessons/remembered.py"
    module.write_text(module.read_text().replace("LONG = 20", "LONG = 0"))
    for name, sources in LESSONS.items():
        cells = [
            {"cell_type": "code", "id": str(i), "source": source, "metadata": {}, "execution_count": 1, "outputs": []}
            for i, source in enumerate([START, *sources])
        ]
        for cell in cells:
            if "print" in cell["source"]:
                cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "1 1\n"}]
        notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (course / f"notebooks/{name}.ipynb").write_text(json.dumps(notebook))
    venv.create(course / ".venv", symlinks=True)
    packages = sysconfig.get_path("purelib")
    site = Path(sysconfig.get_path("purelib", vars={"base": str(course / ".venv")}))
    (site / "all.pth").write_text(f"{course}\n{packages}\n")
    assert "1 failed, 20 passed" in run(course, CI="true")
    return course


def run(course, *arguments, code=("-m", "pytest"), workers="1", **settings):
    """What pytest writes in this course."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "PYTEST"))}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | settings
    options = ["-p", "nbval.plugin", "-p", "xdist.plugin", "-p", "no:cacheprovider", "-n", workers]
    command = [course / ".venv/bin/python", *code, *options, "--nbval", "--nbval-current-env", *arguments]
    time.sleep(0.2)  # what was changed before is older than the process
    done = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


def memory(course):
    """The files of what is remembered."""
    return sorted((course / ".venv/lessons").iterdir())


def test_only_a_lesson_in_which_all_went_well_is_remembered(course):
    assert [file.name[:7] for file in memory(course)] == ["01-good"]


def test_each_change_of_what_was_read_is_seen(course, monkeypatch):
    read = json.loads(memory(course)[0].read_text())["read"]
    assert set(read) == {*READ, *COMPARISON, "assets/runs/", "notebooks/01-good.ipynb"} and all(read.values())
    monkeypatch.setattr(remembered, "ROOT", course)

    def same():
        remembered.state.cache_clear()
        return bool(unchanged(memory(course)[0]))

    for name in read:
        file = course / name / "1.txt" if name.endswith("/") else course / name
        before = file.read_bytes()
        seen = [same()]
        file.write_bytes(before + b"\n")
        seen.append(same() and not name.endswith("/"))
        file.unlink()
        seen.append(same())
        file.write_bytes(before)
        assert seen == [True, False, False], name


def test_a_lesson_is_skipped_only_where_nobody_asked_for_it(course):
    (course / "seqlearn/other.py").write_text("changed = 1")
    skipped = run(course, "--deselect=notebooks/02-fails.ipynb", "--ignore-glob=*/0[345]*")
    assert SKIPPED in skipped and "--all runs every lesson" in skipped and "passed" not in skipped
    asked = {
        "skipped": [([], {}), (["notebooks"], {})],
        "all": [(["--all"], {}), (["notebooks/01-good.ipynb"], {}), (["-k", "Cell"], {}), (["-m", "slow"], {})],
        "none": [(["tests"], {})],
    }
    asked["all"] += [(["--nbval-lax"], {}), (["-n", "2"], {}), ([], {"CI": "true"}), ([], {"OMP_NUM_THREADS": "7"})]
    cases = [case for several in asked.values() for case in several]
    said = run(course, "--co", "-q", code=("-c", COUNT, json.dumps(cases)))
    assert said.split() == [name for name, several in asked.items() for _ in several], said


def test_a_part_and_an_interrupt_leave_nothing(course):
    kept, kill = memory(course)[0], course / "tests/lessons/claims/01.toml"
    stored, key = kept.read_text(), kept.name
    assert "3 passed" in run(course, "notebooks/01-good.ipynb", "-k", "not 3") and not memory(course)
    kept.write_text(stored)
    kill.write_text('[3]\nholds = ["os.kill(os.getppid(), 2) or 1"]')
    said = run(course, "notebooks/01-good.ipynb", workers="0")
    kill.write_text("")
    assert "KeyboardInterrupt" in said and [file.name for file in memory(course)] == [key]  # that of one worker


def test_another_python_remembers_nothing(course):
    (course / ".venv").rename(course / "other")
    (course / ".venv").symlink_to("other")
    assert "01-good.ipynb::Cell 1" in run(course, "--co", "-q")


def test_what_a_process_reads(tmp_path):
    for name in ("seen.py", "read.txt", "forked.txt", "folder/in.txt", ".hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    reads = f"""
    import os, sys
    sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]
    from tests.lessons import inputs
    inputs.watch({str(tmp_path)!r}, {str(tmp_path / ".log")!r})
    import seen
    os.chdir({str(tmp_path)!r})
    open(b"read.txt").close(), open("written.txt", "w").close(), open(".hidden").close(), os.listdir("folder")
    if not (child := os.fork()):
        open("forked.txt")
        os._exit(0)
    os.waitpid(child, 0)
    try: open("absent.txt")
    except OSError: pass
"""
    spawns = "    import multiprocessing as m\n    m.get_context('spawn').Process(target=print).start()"
    both = {"seen.py", "read.txt", "folder/", "absent.txt", "forked.txt"}
    for more, also in [("", set()), ("    os.system('true')", {""}), (spawns, {""})]:
        (tmp_path / ".log").unlink(missing_ok=True)
        (tmp_path / "main.py").write_text(f"if __name__ == '__main__':{reads}{more}")
        subprocess.run([sys.executable, tmp_path / "main.py"], check=True)
        found = {json.loads(line) for line in (tmp_path / ".log").read_text().splitlines()}
        assert found - {"main.py"} == both | also  # after the first time, `seen` comes from its bytecode
