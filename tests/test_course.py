"""course.py: its sentences, its repairs, and what it does with a learner's work; nothing here installs a package."""

import ast
import contextlib
import errno
import hashlib
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import venv
import zipfile
from collections import namedtuple
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

import course
import order
from tools import predictions
from tools.refresh import normalise

ROOT = Path(__file__).parents[1]
PROJECT = """
[project]
name = "seqlearn"
[project.optional-dependencies]
book = ["sphinx"]
class = ["nbgrader>=0.9"]
test = ["seqlearn[book,class]", "pytest; sys_platform != 'nowhere'"]
bench = ["ctranslate2"]
"""
Usage = namedtuple("Usage", "total used free")
BUILD = "torch-2.13.0+cpu-py3-none-any.whl"
SET_UP = 6  # steps: venv, uv, is it for this computer, the packages, no announcements, the list of fonts


def lesson(text: str, run: bool = False) -> str:
    """The file of a small lesson; after a run its code cell has a number and an output."""
    printed = {"name": "stdout", "output_type": "stream", "text": ["answer\n"]}
    code = {
        "cell_type": "code",
        "execution_count": 1 if run else None,
        "id": "b",
        "metadata": {},
        "outputs": [printed] if run else [],
        "source": ["print('answer')"],
    }
    cells = [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": [text]}, code]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A course in a folder of its own, whose name has a space and an accent, with two lessons."""
    root = tmp_path / "un été à part"
    (root / "notebooks").mkdir(parents=True)
    for name in ("00-start-here", "04-scores"):
        (root / "notebooks" / f"{name}.ipynb").write_text(lesson(f"été {name}", run=True), "utf-8")
    (root / "pyproject.toml").write_text(PROJECT, "utf-8")
    (root / "constraints.txt").write_text("torch==2.13.0\n")
    for name, path in {"ROOT": "", "NOTEBOOKS": "notebooks", "MINE": "my-lessons", "VENV": ".venv"}.items():
        monkeypatch.setattr(course, name, root / path)
    for name, path in {"PYTHON": ".venv/bin/python", "UV": ".venv/bin/uv", "CACHE": ".venv.cache"}.items():
        monkeypatch.setattr(course, name, root / path)
    monkeypatch.setattr(course, "JAVASCRIPT", root / "tools" / "javascript")
    return root


@pytest.fixture
def steps(place, monkeypatch):
    """The steps of a set-up, recorded instead of run; the first one makes what `python -m venv` would."""
    taken = []

    def step(lock, *command, env=None):
        taken.append(" ".join(map(str, command)))
        course.PYTHON.parent.mkdir(exist_ok=True)
        course.PYTHON.touch()
        (course.VENV / "install.log").touch()

    monkeypatch.setattr(course, "step", step)
    monkeypatch.setattr(course, "pip_settings", dict)
    monkeypatch.setattr(course, "pytorch", lambda options, settings: ["torch+cpu"])
    return taken


@pytest.fixture(autouse=True)
def started(monkeypatch):
    """What would be run, instead of running it: on POSIX, running it would end the tests."""
    calls = []
    monkeypatch.setattr(
        course, "run", lambda *command, **settings: calls.append((list(map(str, command)), settings)) or 0
    )
    return calls


def sentence(capsys) -> str:
    """What was said on stderr: one line, and no traceback."""
    said = capsys.readouterr().err.strip()
    assert "\n" not in said and "Traceback" not in said
    return said


def test_it_needs_nothing_but_an_old_python_to_be_read():
    for path in (ROOT / "course.py", ROOT / "tools" / "blocks.py"):
        # an old Python must read it, to say that it is too old
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
        modules = {
            alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        modules |= {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert modules <= sys.stdlib_module_names | {"tools"}


def test_python_2_stops_at_a_line_that_says_why():
    """Python 2 shows the first line that it cannot read, and knows no annotations."""
    source = (ROOT / "course.py").read_bytes()
    _, *statements = ast.parse(source).body
    first = next(each for each in statements if not isinstance(each, ast.Import | ast.ImportFrom))
    assert isinstance(first, ast.AnnAssign) and "the course needs Python 3.11 or newer" in first.value.value
    read = b"\n".join(source.splitlines()[: first.lineno])
    assert read.isascii() and b'f"' not in read


@pytest.mark.parametrize("version", [(3, 8, 18), (3, 10, 13), (3, 15, 0), (4, 0, 0)])
def test_an_unsuitable_python(version, place, steps, monkeypatch, capsys):
    monkeypatch.setattr(course.check_python, "__defaults__", (version,))
    assert course.main(["test"]) == 1
    said = sentence(capsys)
    assert said.startswith("This is Python " + ".".join(map(str, version))) and "3.11, 3.12, 3.13 or 3.14" in said
    assert "python3.14 course.py lab" in said and steps == []


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 12, 9), (3, 13, 1), (3, 14, 0)])
def test_a_suitable_python(version):
    course.check_python(version)


@pytest.mark.parametrize("missing", ["venv", "ensurepip"])
def test_no_venv_module(missing, place, steps, monkeypatch, capsys):
    monkeypatch.setattr(course.importlib.util, "find_spec", lambda name: None if name == missing else "there")
    assert course.main(["lab"]) == 1
    assert "sudo apt install python3-venv" in sentence(capsys)
    assert not course.VENV.exists()


def test_a_full_disk(place, steps, monkeypatch, capsys):
    monkeypatch.setattr(course.shutil, "disk_usage", lambda path: Usage(10**12, 10**12, 1.9e9))
    assert course.main(["lab"]) == 1
    assert "disk is full" in sentence(capsys) and not course.VENV.exists()


@pytest.mark.filterwarnings("ignore:shell/Perl-style")
@pytest.mark.parametrize(
    "name", ["q$x (2)", "{x}", "${x}", "a{", "a}b", "{}", "q$", "a $ b", "see quence", "é%红'", "~x"]
)
def test_a_path_that_setuptools_misreads(name, place, steps, monkeypatch, capsys):
    """The judge is the function of setuptools that fails."""
    util = pytest.importorskip("setuptools._distutils.util")
    monkeypatch.setattr(course, "ROOT", place / name)
    monkeypatch.setattr(course.shutil, "disk_usage", lambda path: Usage(10**12, 10**12, 10**12))
    try:
        util.subst_vars(str(place / name), {})
        course.check_room()
    except ValueError:
        with pytest.raises(course.Stop, match=r"installer of Python packages cannot take: .*Give the folder"):
            course.check_room()


def test_the_first_call_says_how_much_disk_it_takes():
    """The same as the README."""
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"internet, and {course.SIZE} of disk" in readme and f"NVIDIA or AMD card {course.LARGE}" in readme


def test_a_path_too_long_for_windows(place, steps, monkeypatch, capsys):
    monkeypatch.setattr(course, "WINDOWS", True)
    monkeypatch.setattr(course, "VENV", Path("C:/" + "x" * (259 - course.LONGEST - 3)))
    course.check_room()
    monkeypatch.setattr(course, "VENV", Path("C:/" + "x" * (260 - course.LONGEST - 3)))
    assert course.main(["lab"]) == 1
    assert "too long for Windows" in sentence(capsys)


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".venv" / "stamp").exists(), reason="no .venv of course.py's making")
def test_no_file_is_longer_than_that():
    site = next((ROOT / ".venv").glob("lib/python*/site-packages"), ROOT / ".venv" / "Lib" / "site-packages")
    longest = max(len(str(path.relative_to(site))) for path in site.rglob("*") if path.is_file())
    assert len("/Lib/site-packages/") + longest <= course.LONGEST


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="for root every folder can be written")
def test_a_folder_that_cannot_be_written_for_real(place, capsys):
    place.chmod(0o500)
    assert course.main(["lab"]) == 1
    assert "cannot be written" in sentence(capsys)


def test_a_folder_that_cannot_be_written(place, monkeypatch, capsys):
    monkeypatch.setattr(
        "builtins.open", lambda *path, **mode: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )
    assert course.main(["lab"]) == 1
    assert "cannot be written" in sentence(capsys)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("OSError: [WinError 112] There is not enough space on the disk", "disk is full"),
        (
            "urllib3.exceptions.NameResolutionError: [...]\nERROR: No matching distribution found for torch",
            "network cannot be reached",
        ),
        ("Max retries exceeded with url: /simple/torch/", "network cannot be reached"),
        ("TimeoutError: The read operation timed out", "network cannot be reached"),
        ("npm error code ENOTFOUND\nnpm error syscall getaddrinfo", "network cannot be reached"),
        ("ERROR: No matching distribution found for torch==2.13.0", "torch==2.13.0 is not available for this computer"),
        ("The virtual environment was not created successfully because ensurepip is not available.", "python3-venv"),
        ("[WinError 206] The filename or extension is too long", "too long for Windows"),
        ("[WinError 5] Access is denied: 'torch_cpu.dll'", "Close every JupyterLab"),
        ("[Errno 30] Read-only file system: '.venv.lock'", "cannot be written"),
        ("Successfully installed torch-2.13.0", None),
        ("failed to write to file `c/pandas/a.so`: No space left on device (os error 28)", "disk is full"),
        ("failed to create directory `c`: Read-only file system (os error 30)", "cannot be written"),
        ("failed to open file `torch_cpu.dll`: Zugriff verweigert (os error 5)", "Close every JupyterLab"),
        ("cause: invalid peer certificate: UnknownIssuer\ncause: error sending request for url", "network cannot"),
    ],
)
def test_what_pip_and_uv_say_in_one_sentence(text, word):
    found = course.reason(text)
    assert found is None if word is None else word in found


@pytest.mark.slow
def test_no_network_for_real(place, monkeypatch, capsys):
    """A real virtual environment, and a real pip whose index is a port of this machine that nobody listens on."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setattr(course, "PYTHON", place / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    assert course.main(["lab"]) == 1
    said = sentence(capsys)
    log = course.VENV / "install.log"
    assert said.startswith("The network cannot be reached") and said.endswith(f"The log is {log}")
    assert "127.0.0.1" in log.read_text(encoding="utf-8") and not (course.VENV / "stamp").exists()


def test_set_up_once_and_again_only_for_new_pins(steps, started):
    assert course.main(["lab"]) == 0 and len(steps) == SET_UP
    assert "pip install" in steps[1] and steps[1].endswith("uv") and steps[2].endswith("uv --version")
    assert steps[3].endswith("torch+cpu -e .") and f"{course.UV} pip install" in steps[3]
    assert steps[4].endswith("disable @jupyterlab/apputils-extension:announcements"), "it would go online"
    assert course.main(["lab"]) == 0 and len(steps) == SET_UP
    (course.ROOT / "constraints.txt").write_text("torch==2.14.0\n")
    assert course.main(["lab"]) == 0 and len(steps) == 2 * SET_UP
    (course.ROOT / "pyproject.toml").write_text(f"{PROJECT}[tool.ruff]\nline-length = 99\n")
    assert course.main(["lab"]) == 0 and len(steps) == 2 * SET_UP, "how we lint does not change what is installed"
    (course.ROOT / "pyproject.toml").write_text('[project]\nname = "seqlearn"\ndependencies = ["torch"]\n')
    assert course.main(["lab"]) == 0 and len(steps) == 3 * SET_UP
    course.PYTHON.unlink()  # the Python that it was made from was removed
    assert course.main(["lab"]) == 0 and len(steps) == 4 * SET_UP


@pytest.mark.parametrize("command", ["test", "mutate", "refresh"])
def test_what_a_learner_does_not_use_is_added_when_it_is_used(command, steps, started, capsys):
    assert course.main(["lab"]) == 0 and len(steps) == SET_UP
    assert course.main([command]) == 0 == course.main([command]) and "Adding packages" in capsys.readouterr().out
    added = steps[SET_UP:]
    assert added[0].endswith("bin/python pytest; sys_platform != 'nowhere' sphinx nbgrader>=0.9")
    assert added[1].endswith("labextension disable @jupyter/nbgrader") and len(added) == 2
    for contained in ("book", "handout", "lab", "test", "mutate", "refresh"):
        assert course.main([contained]) == 0 and len(steps) == SET_UP + 2, contained
    assert course.main(["bench"]) == 0 and steps[SET_UP + 2 :][0].endswith("python ctranslate2")


def test_a_fresh_clone_can_begin_with_any_command(steps, started):
    assert course.main(["book"]) == 0 and len(steps) == SET_UP + 1 and steps[-1].endswith("python sphinx")
    assert course.main(["handout", "x"]) == 0 and len(steps) == SET_UP + 3 and course.GRADER in steps[-1]


@pytest.mark.parametrize(
    ("fails", "why"),
    [
        ("uv", course.Stop(course.NO_BUILD.format("uv==0.13.9"))),
        ("--version", OSError(errno.ENOEXEC, "Exec format error")),
        ("uv", course.Stop(course.NO_NET)),
    ],
)
def test_pip_installs_where_there_is_no_uv_and_neither_continues_what_the_other_began(
    fails, why, steps, started, monkeypatch, capsys
):
    step = course.step

    def failing(lock, *command, env=None):
        step(lock, *command)
        if command[-1] == fails:
            raise why

    with monkeypatch.context() as context:
        context.setattr(course, "step", failing)
        if course.NO_NET in str(why):
            assert course.main(["lab"]) == 1 and steps[-1].endswith("uv") and not started
            return
        assert course.main(["lab"]) == 0 and "uv is not available for this computer" in capsys.readouterr().out
    assert steps[-3].endswith("-m pip install " + " ".join(course.PIP[3:]) + " -e .")
    assert course.main(["test"]) == 0 and "-m pip install" in steps[-2], "although uv could be had now"
    course.stamp().unlink()
    assert course.main(["test"]) == 0 and f"{course.UV} pip install" in steps[-2]


def index(path: Path, *names: str) -> Path:
    """An index, as a folder that a server of files can show, with tiny packages: torch-2.13.0-py3-none-any.whl."""
    for name in names:
        package, version = name.split("-")[:2]
        (path / package).mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path / package / name, "w") as wheel:
            info = f"{package}-{version}.dist-info"
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    path.mkdir(exist_ok=True)
    return path


@pytest.fixture
def serve():
    """Show a folder at an address of this machine, and write down what is asked; None hangs, "" refuses."""
    with contextlib.ExitStack() as stack:

        def start(folder: Path | str | None) -> tuple[str, list[str]]:
            asked: list[str] = []

            class Files(http.server.SimpleHTTPRequestHandler):
                def translate_path(self, path):  # as a proxy it is given whole addresses
                    return super().translate_path(path.removeprefix("http://packages.invalid"))

                def log_message(self, format, *arguments):
                    asked.append(self.path)

            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder)))
            stack.callback(server.server_close)
            address = f"http://127.0.0.1:{server.server_port}/"
            if folder:
                threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
                stack.callback(server.shutdown)
            elif folder == "":
                server.server_close()
            return address, asked

        yield start


@pytest.fixture
def uv(place, monkeypatch):
    """The real uv in an empty environment, and the real pip, told nothing but what the test tells them."""
    program = Path(sys.executable).with_name("uv.exe" if os.name == "nt" else "uv")
    if not program.exists():
        pytest.skip("uv comes with the .venv of course.py's making")
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_")) or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    for name, value in {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "UV_HTTP_RETRIES": "0"}.items():
        monkeypatch.setenv(name, value)
    venv.create(course.VENV)
    (course.VENV / "installer").write_text("uv")
    python = course.VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    told = course.pip_settings
    monkeypatch.setattr(course, "pip_settings", lambda: told(sys.executable))
    for name, value in {"UV": program, "PYTHON": python, "has_card": lambda: False}.items():
        monkeypatch.setattr(course, name, value)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the ordinary build is for the CPU")
@pytest.mark.parametrize(
    ("wheels", "told", "theirs", "takes"),
    [
        ([BUILD], "", [], "ours"),
        (["torch-2.12.0+cpu-py3-none-any.whl"], "", [], "ordinary"),
        ("", "", [], "ordinary"),
        (None, "", [], "ordinary"),
        ([BUILD], "PIP_EXTRA_INDEX_URL", [], "ours"),
        ([BUILD], "PIP_EXTRA_INDEX_URL", [BUILD], "theirs"),
        ([BUILD], "PIP_INDEX_URL", [], "ordinary"),
        ([BUILD], "UV_DEFAULT_INDEX", [BUILD], "theirs"),
        ([BUILD], "UV_TORCH_BACKEND", [], "chosen"),
    ],
    ids="answers lacks refuses hangs further further-has own own-has chosen".split(),
)
def test_pytorch_for_the_cpu(wheels, told, theirs, takes, uv, serve, tmp_path, monkeypatch, capsys):
    """PyTorch's index is asked once, and briefly; `theirs` is what is in an index that a person has told."""
    address, asked = serve(index(tmp_path / "cpu", *wheels) if wheels else wheels)
    monkeypatch.setattr(course, "CPU", ["--default-index", address])
    monkeypatch.setattr(course, "PATIENCE", 4 if wheels else 1)
    if told:
        other = serve(index(tmp_path / "other", "torch-2.13.0-py3-none-any.whl", *theirs))[0]
        monkeypatch.setenv(told, "cpu" if takes == "chosen" else other)
    answers, limits = course.answers, []

    def briefly(settings, *wanted, seconds=None):
        limits.append((seconds, settings.get("UV_HTTP_TIMEOUT")))
        return answers(settings, *wanted, seconds=seconds)

    monkeypatch.setattr(course, "answers", briefly)
    found = course.pytorch(*course.for_uv(course.pip_settings()))
    build = ["torch==2.13.0+cpu"]
    assert found == {"ours": [*course.CPU, *build], "theirs": build}.get(takes, [])
    assert ("PyTorch for the CPU cannot be reached" in capsys.readouterr().out) == (takes == "ordinary")
    once = takes == "ours" or not told
    assert limits.count((course.PATIENCE, str(course.PATIENCE))) == once
    assert asked.count("/torch/") == (once and bool(wheels))
    monkeypatch.setattr(course, "has_card", lambda: True)
    assert course.pytorch([], {}) == [] and capsys.readouterr().out == ""


def test_an_nvidia_or_amd_card_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(course.sys, "platform", "linux")
    monkeypatch.setattr(course, "CARDS", [str(tmp_path / "kfd")])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not course.has_card()
    (tmp_path / "kfd").touch()
    assert course.has_card()
    monkeypatch.setattr(course.sys, "platform", "darwin")
    assert not course.has_card()


@pytest.mark.slow
def test_what_pip_was_told_uv_is_told(uv, serve, tmp_path, monkeypatch):
    """An index behind a proxy, a second one with an older version, and folders: each has one of the packages."""
    main = serve(
        index(tmp_path / "main", "one-1-py3-none-any.whl", "two-2-py3-none-any.whl", "six-6-py3-none-any.whl")
    )[0]
    more = serve(index(tmp_path / "more", "two-1-py3-none-any.whl", "five-5-py3-none-any.whl"))[0]
    folder = index(tmp_path / "folder", "three-3-py3-none-any.whl", "four-4-py3-none-any.whl")
    (tmp_path / "pins").write_text("six<6")
    (tmp_path / "pip.conf").write_text(
        f"[global]\nindex-url = http://packages.invalid/\nproxy = {main}\ntimeout = 7\ncert = {tmp_path / 'pins'}\n"
        f"trusted-host =\n    a.invalid\n    b.invalid\n[install]\nextra-index-url = {more}\nfind-links = elsewhere\n"
    )
    told = {"CONFIG_FILE": tmp_path / "pip.conf", "FIND_LINKS": f"{folder / 'three'} {folder / 'four'}", "NO_INDEX": 0}
    for name, value in {**told, "CONSTRAINT": tmp_path / "pins"}.items():
        monkeypatch.setenv(f"PIP_{name}", str(value))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    options, settings = course.for_uv(course.pip_settings())
    assert settings["UV_HTTP_TIMEOUT"] == "7" and settings["UV_INSECURE_HOST"] == "a.invalid b.invalid"
    assert settings.pop("SSL_CERT_FILE") == str(tmp_path / "pins")
    assert course.answers(settings, *options, "one==1", "two==2", "three==3", "four==4", "five==5")
    assert not course.answers(settings, *options, "six") and settings["UV_CACHE_DIR"] == str(course.CACHE)
    monkeypatch.setattr(course, "for_uv", lambda pip: (options, settings))
    with open(tmp_path / "lock", "w") as lock:
        course.install(lock, "one")
    (info,) = course.VENV.glob("**/one-1.dist-info")
    assert (info / "INSTALLER").exists(), "add relies on this"
    assert not course.CACHE.exists()
    monkeypatch.undo()
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://mine.invalid")
    options, settings = course.for_uv({"index-url": "https://other.invalid", "no-index": "yes"})
    assert settings["UV_DEFAULT_INDEX"] == "https://mine.invalid" and options == ["--no-index"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wheels", "word"),
    [
        (["torch-2.13.0-cp27-none-win32.whl"], "The package torch==2.13.0 is not available for this computer"),
        (["torch-2.12.0-py3-none-any.whl"], "The package torch==2.13.0 is not available for this computer"),
        (["numpy-2.12.0-py3-none-any.whl"], "The package torch is not available for this computer"),
        ("", "The network cannot be reached"),
        (None, "The network cannot be reached"),
    ],
    ids="other-computers other-versions nothing refuses hangs".split(),
)
def test_what_uv_really_says_in_one_sentence(wheels, word, uv, serve, tmp_path, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", serve(index(tmp_path / "index", *wheels) if wheels else wheels)[0])
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "1")
    with open(tmp_path / "lock", "w") as lock, pytest.raises(course.Stop, match=re.escape(word)):
        course.install(lock, "torch", first=True)


def test_the_tools_for_javascript_come_with_the_tests(steps, started):
    """And again when their lock file has changed; a learner needs none of them."""
    course.JAVASCRIPT.mkdir(parents=True)
    (course.JAVASCRIPT / "install.py").touch()
    (course.JAVASCRIPT / "package-lock.json").write_text("1")
    assert course.main(["test"]) == 0 and steps[-1].endswith(str(Path("javascript", "install.py")))
    taken = len(steps)
    (course.JAVASCRIPT / "package-lock.json").write_text("2")
    assert course.main(["lab"]) == 0 and len(steps) == taken
    assert course.main(["test"]) == 0 and len(steps) == taken + 3 and steps[-1].endswith("install.py")


@pytest.mark.parametrize("at", [6, 7])
def test_an_extra_that_was_interrupted_costs_the_lessons_nothing_and_is_repaired(at, steps, started, monkeypatch):
    """What pip or uv left half installed, without the file that it writes last, is installed again."""
    assert course.main(["lab"]) == 0
    site = course.VENV / "lib" / "python3.11" / "site-packages"
    for name, names in {"pip": ["INSTALLER"], "uv": ["RECORD"], "whole": ["INSTALLER", "RECORD"]}.items():
        name = f"{name}-1.0.dist-info"
        (site / name).mkdir(parents=True)
        for each in names:
            (site / name / each).touch()
    step = course.step

    def interrupted(lock, *command, env=None):
        step(lock, *command)
        if len(steps) == at + 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(course, "step", interrupted)
    assert course.main(["test"]) == 130 and len(started) == 1
    monkeypatch.setattr(course, "step", step)
    assert course.main(["lab"]) == 0 and len(steps) == at + 1, "nothing is set up again"
    assert course.main(["test"]) == 0 and len(steps) == at + 3 and len(started) == 3
    assert [path.name for path in site.iterdir()] == ["whole-1.0.dist-info"]


@pytest.mark.parametrize("at", range(SET_UP))
def test_an_interrupt_is_said_and_repaired(at, steps, started, monkeypatch, capsys):
    step = course.step
    course.VENV.mkdir()
    (course.VENV / "install.log").touch()
    (course.VENV / "stamp").write_text("other pins")

    def interrupted(lock, *command, env=None):
        step(lock, *command)
        (course.VENV / "half.py").touch()
        if len(steps) == at + 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(course, "step", interrupted)
    assert course.main(["lab"]) == 130 and started == []
    assert "Interrupted" in sentence(capsys) and not course.is_whole()
    monkeypatch.setattr(course, "step", step)
    assert course.main(["lab"]) == 0 and len(started) == 1
    assert course.is_whole() and not (course.VENV / "half.py").exists()


def test_a_deletion_cut_short_does_not_look_whole(steps, started, monkeypatch):
    assert course.main(["lab"]) == 0
    (course.ROOT / "constraints.txt").write_text("torch==2.14.0\n")
    for _ in range(2):
        with monkeypatch.context() as context:
            context.setattr(course.shutil, "rmtree", lambda path: (_ for _ in ()).throw(KeyboardInterrupt))
            assert course.main(["lab"]) == 130
    (course.ROOT / "constraints.txt").write_text("torch==2.13.0\n")
    assert not course.is_whole() and course.main(["lab"]) == 0


def test_an_environment_that_somebody_else_made_is_left_alone(place, steps, capsys):
    """Editors and habits make one here, too."""
    (place / ".venv" / "bin").mkdir(parents=True)
    (place / ".venv" / "pyvenv.cfg").write_text("precious")
    assert course.main(["lab"]) == 1
    assert "was not made by course.py, which needs this place" in sentence(capsys) and steps == []
    assert (place / ".venv" / "pyvenv.cfg").read_text() == "precious"
    (place / ".venv").rename(place / "mine")
    (place / ".venv").symlink_to("mine")
    assert course.main(["lab"]) == 1 and "was not made by course.py" in sentence(capsys)
    assert len(list((place / "mine").iterdir())) == 2
    (place / ".venv").unlink()
    assert course.main(["lab"]) == 0


HOLDER = """
import sys
sys.path.insert(0, sys.argv[1])
import course
with course.alone(sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen:
    """A process that holds the lock file `path` until its standard input is closed, or until it is killed."""
    command = [sys.executable, "-c", HOLDER, str(ROOT), str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("end", ["it ends", "it is killed"])
def test_a_second_call_waits_for_the_first(end, steps, started, monkeypatch, capsys):
    """When the second call looks for the second time, the first one ends: no test waits for a time."""
    with holder(course.ROOT / ".venv.lock") as first:
        waited = []

        def sleep(seconds):
            waited.append(len(steps))
            if len(waited) == 2:
                first.kill() if end == "it is killed" else first.stdin.close()

        monkeypatch.setattr(course.time, "sleep", sleep)
        assert course.main(["lab"]) == 0
    assert len(waited) >= 2 and set(waited) == {0} and len(steps) == SET_UP
    assert capsys.readouterr().out.count("Waiting for another course.py") == 1


def test_a_set_up_that_another_call_has_just_made_is_used(place, steps, started, monkeypatch):
    whole = iter([False, True, True])
    monkeypatch.setattr(course, "is_whole", lambda extra=None: next(whole))
    assert course.main(["lab"]) == 0 and steps == []


def test_the_lock_on_windows(tmp_path, monkeypatch, capsys):
    """A stand-in for msvcrt: taken twice, then free. Any other error of the system is not waited for."""
    answers = [PermissionError(errno.EACCES, "Permission denied"), OSError(errno.EDEADLK, "deadlock avoided"), None]
    calls = []

    def locking(file, mode, size):
        calls.append((mode, size))
        if answer := answers.pop(0):
            raise answer

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    monkeypatch.setattr(course, "WINDOWS", True)
    with course.alone(tmp_path / "lock"):
        assert calls == [(2, 1)] * 3 and "Waiting" in capsys.readouterr().out
    answers.append(OSError(errno.ENOLCK, "No locks available"))
    with pytest.raises(OSError, match="No locks"), course.alone(tmp_path / "lock"):
        pass


def test_a_step_that_fails_leaves_its_output_in_the_log(place):
    course.VENV.mkdir()
    with open(place / "lock", "w") as lock:
        course.step(lock, sys.executable, "-c", "print('Collecting é')")
        with pytest.raises(course.Stop, match="disk is full"):
            course.step(lock, sys.executable, "-c", "raise SystemExit('No space left on device')")
        with pytest.raises(course.Stop, match=r"The set-up failed\. The log is .*install\.log"):
            course.step(lock, sys.executable, "-c", "raise SystemExit('something new')")
    assert "something new" in (course.VENV / "install.log").read_text(encoding="utf-8")


def learners() -> list[str]:
    """What lies in my-lessons/, but for the lock, which JupyterLab does not show."""
    return sorted(path.name for path in course.MINE.iterdir() if path.name != ".lock")


def test_my_lessons_are_never_overwritten(place):
    course.my_lessons()
    assert (course.MINE / "04-scores.ipynb").read_text("utf-8") == lesson("été 04-scores")
    (course.MINE / "04-scores.ipynb").write_text("my work")
    (place / "notebooks" / "04-scores.ipynb").write_text(lesson("a newer original"))
    (place / "notebooks" / "06-new.ipynb").write_text(lesson("a new lesson", run=True))
    course.my_lessons()
    assert (course.MINE / "04-scores.ipynb").read_text() == "my work"
    assert (course.MINE / "06-new.ipynb").read_text() == lesson("a new lesson")
    assert learners() == ["00-start-here.ipynb", "04-scores.ipynb", "06-new.ipynb"]


def test_what_is_beyond_the_lessons_is_copied_too(place, started, monkeypatch):
    (place / "notebooks" / "more").mkdir()
    (place / "notebooks" / "more" / "04-timed.ipynb").write_text(lesson("more", run=True))
    course.my_lessons(language=None)
    assert (course.MINE / "more" / "04-timed.ipynb").read_text() == lesson("more")
    (course.MINE / "more" / "04-timed.ipynb").write_text("my work")
    course.my_lessons()
    assert (course.MINE / "more" / "04-timed.ipynb").read_text() == "my work"
    assert learners() == ["00-start-here.ipynb", "04-scores.ipynb", "more"]
    monkeypatch.setattr(course, "is_whole", lambda extra=None: True)
    course.main(["refresh", "4"])
    assert [Path(name).name for name in started.pop()[0][3:]] == ["04-scores.ipynb", "04-timed.ipynb"]


def test_no_answer_stands_below_its_cell_in_a_copy(place):
    """The originals keep their outputs, for readers on the web and for the comparison."""
    course.my_lessons()
    assert "answer\\n" in (course.NOTEBOOKS / "04-scores.ipynb").read_text("utf-8")
    for real in (ROOT / "notebooks").glob("*.ipynb"):
        copy = course.MINE / real.name
        course.copy_without_outputs(real, copy)
        cells = nbformat.read(copy, as_version=4).cells
        assert all(cell.get("outputs", []) == [] and cell.get("execution_count") is None for cell in cells)
        same = nbformat.read(real, as_version=4)
        after = "".join(sorted(path.name for path in course.NOTEBOOKS.glob("*.ipynb") if path.name > real.name)[:1])
        predictions.to_fill_in(same, same, real.name, after=after)  # tests/lessons/test_predictions.py says how
        assert [(cell.id, cell.source, cell.metadata) for cell in cells] == [
            (cell["id"], cell["source"], cell["metadata"]) for cell in same["cells"]
        ]


def test_reset_restores_one_lesson_and_loses_nothing(place, started, monkeypatch, capsys):
    monkeypatch.setattr(course, "is_whole", lambda extra=None: True)
    for work in ("first try", "second try"):
        course.my_lessons()
        (course.MINE / "04-scores.ipynb").write_text(work)
        (course.MINE / "00-start-here.ipynb").write_text("mine")
        assert course.main(["lab", "--reset", "4", "--no-browser"]) == 0
        assert (course.MINE / "04-scores.ipynb").read_text("utf-8") == lesson("été 04-scores")
    assert (course.MINE / "04-scores.old1.ipynb").read_text() == "first try"
    assert (course.MINE / "04-scores.old2.ipynb").read_text() == "second try"
    assert (course.MINE / "00-start-here.ipynb").read_text() == "mine"
    assert "04-scores.old2.ipynb" in capsys.readouterr().out
    assert "/lab/tree/my-lessons/04-scores.ipynb" in " ".join(started[-1][0]) and started[-1][0][-1] == "--no-browser"


def test_reset_keeps_no_copy_of_what_was_not_changed(place, capsys):
    course.my_lessons()
    course.my_lessons(reset=course.NOTEBOOKS / "04-scores.ipynb")
    assert learners() == ["00-start-here.ipynb", "04-scores.ipynb"] and "kept" not in capsys.readouterr().out


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_a_lesson_that_appears_while_it_is_copied_is_not_overwritten(links, place, monkeypatch):
    """The learner saves a lesson in JupyterLab just before our copy gets its name."""
    if not links:
        monkeypatch.setattr(course.os, "link", lambda *paths: (_ for _ in ()).throw(OSError(errno.EPERM, "no links")))
    finish = course.copy_without_outputs

    def copy(original, part, translate):
        finish(original, part)
        if original.name == "04-scores.ipynb":
            (course.MINE / original.name).write_text("my work")

    monkeypatch.setattr(course, "copy_without_outputs", copy)
    course.my_lessons()
    assert (course.MINE / "04-scores.ipynb").read_text() == "my work"
    assert (course.MINE / "00-start-here.ipynb").read_text("utf-8") == lesson("été 00-start-here")
    assert learners() == ["00-start-here.ipynb", "04-scores.ipynb"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(errno.ENOSPC, "No space left on device")])
def test_an_interrupted_copy_leaves_nothing(error, place, monkeypatch):
    def half(original, part, translate=None):
        part.write_text("orig")
        raise error

    with monkeypatch.context() as context, pytest.raises((KeyboardInterrupt, OSError)):
        context.setattr(course, "copy_without_outputs", half)
        course.my_lessons()
    assert learners() == []
    course.my_lessons()
    assert (course.MINE / "04-scores.ipynb").read_text("utf-8") == lesson("été 04-scores")


LEARNER = """
import os, signal, sys
from pathlib import Path
from types import SimpleNamespace
sys.path.insert(0, sys.argv[1])
import course
course.ROOT = root = Path(sys.argv[2])
course.NOTEBOOKS, course.MINE = root / "notebooks", root / "my-lessons"
lesson = course.NOTEBOOKS / "04-scores.ipynb"

def half(original, part, translate=None):
    part.write_bytes(course.without_outputs(original, translate)[:40])
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[3] == "killed":
    course.copy_without_outputs = half
    course.my_lessons()
for line in sys.stdin:  # one round for each line, so that two processes start each round together
    course.my_lessons(lesson if sys.argv[3] == "reset" else None)
    print("done", flush=True)
"""


def learner(place: Path, does: str) -> subprocess.Popen:
    """A process of its own that copies the lessons once for each line that it is given."""
    command = [sys.executable, "-c", LEARNER, str(ROOT), str(place), does]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_copy_that_was_killed_leaves_no_half_lesson_and_the_next_call_cleans_up(place):
    with learner(place, "killed") as process:
        pass
    assert process.returncode == -signal.SIGKILL
    assert [name[:4] + name[-5:] for name in learners()] == [".00-.part"], "a part, and no lesson"
    (mine := course.MINE / ".04-scores.ipynb.1.part").write_text("notes of mine")
    course.my_lessons()
    assert mine.read_text() == "notes of mine"
    mine.unlink()
    assert learners() == ["00-start-here.ipynb", "04-scores.ipynb"]
    assert (course.MINE / "00-start-here.ipynb").read_text("utf-8") == lesson("été 00-start-here")


@pytest.mark.slow
@pytest.mark.parametrize("does", ["copy", "reset"])
def test_two_calls_at_once_damage_no_lesson_and_lose_no_work(does, place):
    """200 rounds: two processes are told to start, a learner's work lies there or not."""
    originals = {path.name: lesson(f"été {path.stem}") for path in course.NOTEBOOKS.iterdir()}
    with learner(place, does) as first, learner(place, does) as second:
        for number in range(200):
            shutil.rmtree(course.MINE, ignore_errors=True)
            course.MINE.mkdir()
            if does == "reset":
                (course.MINE / "04-scores.ipynb").write_text(f"my work {number}")
            for process in (first, second):
                process.stdin.write("go\n")
                process.stdin.flush()
            for process in (first, second):
                assert "done\n" in iter(process.stdout.readline, "")
            kept = ["04-scores.old1.ipynb"] if does == "reset" else []
            assert learners() == sorted([*originals, *kept])
            assert {name: (course.MINE / name).read_text("utf-8") for name in originals} == originals
            assert all((course.MINE / name).read_text() == f"my work {number}" for name in kept)
        first.stdin.close()
        second.stdin.close()


@pytest.fixture
def chinese(place):
    """A translation of lesson 04 alone, and the name of the folder of its copies."""
    english = lesson("été 04-scores")
    digest = hashlib.sha256("été 04-scores".encode()).hexdigest()[:12]
    (place / "translations" / "zh").mkdir(parents=True)
    (place / "translations" / "zh" / "04.md").write_text(f"<!-- a sha256:{digest} -->\n注意力\n", "utf-8")
    return english.replace("été 04-scores", "注意力"), place / "my-lessons-zh"


def test_lessons_in_another_language(place, chinese, started, monkeypatch, capsys):
    monkeypatch.setattr(course, "is_whole", lambda extra=None: True)
    translation, copies = chinese
    assert course.main(["lab", "--language", "zh"]) == 0
    assert "/lab/tree/my-lessons-zh/00-start-here.ipynb" in " ".join(started.pop()[0]) and not course.MINE.exists()
    assert (copies / "04-scores.ipynb").read_text("utf-8") == translation, "no output, and the Chinese text"
    assert (copies / "00-start-here.ipynb").read_text("utf-8") == lesson("été 00-start-here"), "not translated: English"
    assert course.main(["lab", "--language", "zh", "--reset", "04"]) == 0 and capsys.readouterr().out == ""
    (copies / "04-scores.ipynb").write_text("my work")
    assert course.main(["lab", "--reset", "04", "--language", "zh"]) == 0
    assert "kept as my-lessons-zh/04-scores.old1.ipynb" in capsys.readouterr().out
    assert (copies / "04-scores.ipynb").read_text("utf-8") == translation


@pytest.mark.parametrize(
    ("text", "language", "said"),
    [
        (None, "fr", "There is no translation into 'fr'. The languages are: zh."),
        ("<!-- a sha256:12 -->\n", "zh", "04.md, line 1: "),
    ],
)
def test_a_translation_that_is_not_there_or_broken(text, language, said, place, chinese, steps, started, capsys):
    if text:
        (place / "translations" / "zh" / "04.md").write_text(text)
    assert course.main(["lab", "--language", language]) == 1
    assert said in sentence(capsys) and steps == started == [] and not chinese[1].exists()


def test_a_lesson_that_is_not_there(place, monkeypatch, capsys):
    monkeypatch.setattr(course, "is_whole", lambda extra=None: True)
    assert course.main(["lab", "--reset", "07"]) == 1
    assert "no lesson 07" in (said := sentence(capsys)) and "00, 04" in said
    for path in course.NOTEBOOKS.iterdir():
        path.unlink()
    for command in (["lab"], ["refresh"], ["test", "--second-cpu"]):
        assert course.main(command) == 1
        assert "no lesson 00" in sentence(capsys)


def test_what_each_command_runs(place, started, monkeypatch):
    monkeypatch.setattr(course, "is_whole", lambda extra=None: True)
    assert course.main(["lab", "--originals", "--port", "9999"]) == 0
    command, _ = started.pop()
    assert command[:3] == [str(course.PYTHON), "-m", "jupyterlab"] and command[-2:] == ["--port", "9999"]
    assert f"--ServerApp.root_dir={place}" in command and not course.MINE.exists()
    assert "--LabApp.default_url=/lab/tree/notebooks/00-start-here.ipynb" in command
    assert course.main(["test", "-x", "-k", "heads", "--", "--lf", "tests/nn"]) == 0
    command, settings = started.pop()
    assert "-n" not in command, "-x: stop at the first failure, in one process"
    assert command[1:4] == ["-m", "pytest", "--nbval"] and "--nbval-current-env" in command
    assert settings == (written := {"PYTHONDONTWRITEBYTECODE": ""})
    assert command[-5:] == ["-x", "-k", "heads", "--lf", "tests/nn"]
    assert course.main(["test", "--second-cpu"]) == 0
    command, settings = started.pop()
    assert [Path(name).name for name in command[-2:]] == ["00-start-here.ipynb", "04-scores.ipynb"]
    assert settings == written | {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
    assert course.main(["refresh", "4"]) == 0
    assert started.pop()[0][1:] == ["-m", "tools.refresh", str(place / "notebooks" / "04-scores.ipynb")]


def pytest_command(started, *arguments) -> list[str]:
    """The command that `course.py test` with these arguments would run."""
    assert course.main(["test", *arguments]) == 0
    return started.pop()[0]


@pytest.mark.parametrize(
    ("options", "several"),
    [
        ("", True),
        ("-k heads -rs tests/nn", True),
        ("--no-header --maxfail=2 --durations=9", True),
        ("--second-cpu", True),
        ("-x", False),
        ("-vx", False),
        ("-s", False),
        ("--exitfirst", False),
        ("--pdb", False),
        ("--capture=no", False),
        ("--co", False),
        ("-n 3", False),
        ("-n0", False),
        ("--numprocesses=3", False),
        ("--dist=load -n 2", False),
        ("-p no:xdist", False),
    ],
)
def test_tests_run_in_several_processes_unless_an_option_needs_one(options, several, place, started, monkeypatch):
    monkeypatch.setattr(course, "is_whole", lambda extra=None: True)
    monkeypatch.setattr(course, "workers", lambda: 5)
    command = pytest_command(started, *options.split())
    ours = " -n 5 --dist loadscope --no-loadscope-reorder"  # loadscope: all cells of a lesson in one process
    assert (ours in " ".join(command)) == several
    assert all(option in command for option in options.split() if option != "--second-cpu")
    monkeypatch.setattr(course, "workers", lambda: 1)
    assert ours.partition(" --")[2] not in " ".join(pytest_command(started, *options.split()))


@pytest.mark.parametrize(
    ("cores", "gigabytes", "workers"), [(1, 64, 1), (2, 24, 2), (16, 8, 3), (16, 2, 1), (64, 512, 8), (4, None, 3)]
)
def test_as_many_workers_as_there_are_cores_and_memory(cores, gigabytes, workers, monkeypatch):
    def sysconf(name):
        if gigabytes is None:
            raise ValueError(name)  # Windows has no such function, others lack a name
        return {"SC_PAGE_SIZE": 1000, "SC_PHYS_PAGES": gigabytes * 10**6}[name]

    monkeypatch.setattr(course.os, "sched_getaffinity", lambda process: set(range(cores)), raising=False)
    monkeypatch.setattr(course.os, "sysconf", sysconf, raising=False)
    assert course.workers() == workers


def test_a_program_of_its_own_gets_all_options(place, started, monkeypatch):
    """`--quick` too, which course.py knows itself."""
    monkeypatch.setattr(course, "is_whole", lambda extra=None: True)
    assert course.main(["bench", "--quick", "--only", "views"]) == 0
    ((command, _),) = started
    assert command == [str(course.PYTHON), "benchmarks/bench.py", "--quick", "--only", "views"]


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_a_program_of_its_own_has_its_own_help(word, place, started, monkeypatch, capsys):
    """But nobody waits for an environment to be set up in order to read it."""
    monkeypatch.setattr(course, "is_whole", lambda extra=None: True)
    assert course.main(["handout", word]) == 0 and course.main(["handout", "--", "--quick", word]) == 0
    assert [command[3:] for command, _ in started] == [[word], ["--quick", word]]
    for arguments, whole in ((["handout", word], False), (["lab", word], True), ([word], True)):
        monkeypatch.setattr(course, "is_whole", lambda extra=None, whole=whole: whole)
        with pytest.raises(SystemExit):
            course.main(arguments)
        assert "course.py lab --reset 04" in capsys.readouterr().out
    assert len(started) == 2


def test_quick_leaves_out_what_is_slow(place, started, monkeypatch, capsys):
    monkeypatch.setattr(course, "is_whole", lambda extra=None: True)
    command = pytest_command(started, "--quick", "tests/nn")
    slow = {name.removeprefix("--ignore=") for name in command if name.startswith("--ignore=")}
    assert " -m not slow " in " ".join(command) and command[-1] == "tests/nn"
    assert slow == {"notebooks", "tests/browser"} and all((ROOT / name).is_dir() for name in slow)
    assert not {"not slow", "--ignore=notebooks"} & set(pytest_command(started))
    with pytest.raises(SystemExit):
        course.main(["test", "--quick", "--second-cpu"])
    assert "not allowed with" in capsys.readouterr().err


def test_the_longest_starts_first_in_a_worker():
    names = ["tests/nn/test_x.py::test_a", "tests/browser/test_x.py::test_b", "notebooks/05-a.ipynb::Cell 0"]
    names += ["notebooks/05-a.ipynb::Cell 1", "notebooks/09-b.ipynb::Cell 0"]
    items = [SimpleNamespace(nodeid=name) for name in names]
    order.pytest_collection_modifyitems(SimpleNamespace(), items)
    assert [item.nodeid for item in items] == names
    order.pytest_collection_modifyitems(SimpleNamespace(workerinput={}), items)
    assert [item.nodeid for item in items] == [names[4], names[2], names[3], names[1], names[0]]


@pytest.mark.slow
def test_all_cells_of_a_lesson_run_in_one_process_and_the_kernels_share_the_cores(tmp_path):
    """Two lessons in two processes: a cell needs what the cell before it has made."""
    shutil.copy(ROOT / "notebooks" / "conftest.py", tmp_path)
    share = max(1, (os.cpu_count() or 1) // 2)
    for name in ("01-one", "02-two"):
        cells = [new_code_cell("import os"), new_code_cell("x = 1"), new_code_cell("x += 1")]
        cells.append(new_code_cell(f"assert x == 2 and os.environ['OMP_NUM_THREADS'] == '{share}'"))
        nbformat.write(normalise(new_notebook(cells=cells)), tmp_path / f"{name}.ipynb")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env"]
    command += ["-n", "2", *course.DISTRIBUTION]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    ran = re.findall(r"\[gw(\d)\].* PASSED (\S+)::ipynb::Cell (\d)", done.stdout)
    assert sorted((lesson, cell) for _, lesson, cell in ran) == [
        (lesson, str(cell)) for lesson in ("01-one", "02-two") for cell in range(4)
    ], done.stdout
    assert len({(worker, lesson) for worker, lesson, _ in ran}) == 2 == len({worker for worker, _, _ in ran})


@pytest.mark.slow
def test_run_starts_it_in_the_folder_of_the_course_from_anywhere(tmp_path):
    """The whole way, in a process of its own: --here, another working folder, options, the exit status."""
    command = [sys.executable, str(ROOT / "course.py"), "test", "--here", "--co", "-q", "--", "tests/test_packaging.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "test_no_pin_is_left_over" in done.stdout, done.stdout + done.stderr
    command[-1] = "no/such/test.py"
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 4


@pytest.mark.slow
def test_here_says_what_is_missing(place, started, monkeypatch, capsys):
    assert course.main(["lab", "--here"]) == 0 and started.pop()[0][0] == sys.executable
    with pytest.raises(course.Stop, match=r"No module named 'no_such_module'.* -m pip install -e .*\[test\]"):
        course.check_here("os, no_such_module", "test")
    with pytest.raises(course.Stop, match=rf'-m pip install -e "{re.escape(str(place))}"`'):
        course.check_here("no_such_module")
    assert not course.VENV.exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("lab --originals --reset 04", "--reset is for your own copies, and --originals opens none"),
        ("lab --quick", "--quick is for test and bench, not for lab"),
        ("lab --second-cpu", "--second-cpu is for test, not for lab"),
        ("test --reset 04", "--reset is for lab, not for test"),
        ("book --language zh", "--language is for lab and handout, not for book"),
        ("refresh --originals", "--originals is for lab, not for refresh"),
        ("lab --reset *", "There is no lesson *."),
    ],
)
def test_an_option_of_another_command_is_refused(command, said, place, started, monkeypatch, capsys):
    monkeypatch.setattr(course, "is_whole", lambda extra=None: True)
    assert course.main(command.split()) == 1 and said in sentence(capsys) and not started
    assert course.main(["lab", "--language", ""]) == 1 and "no translation into ''" in sentence(capsys)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"cells": [{}]}', "<<<<<<< HEAD\n{", "\xff"])
def test_a_damaged_original_is_named(content, place, started, monkeypatch, capsys):
    monkeypatch.setattr(course, "is_whole", lambda extra=None: True)
    (course.NOTEBOOKS / "04-scores.ipynb").write_bytes(content.encode("latin-1"))
    assert course.main(["lab"]) == 1 and not started
    assert "04-scores.ipynb is damaged (" in (said := sentence(capsys)) and "`git checkout -- .`" in said


def test_damaged_files_around_an_environment(place, steps, started, monkeypatch, capsys):
    """A stamp that cannot be read is none; a course without its tools is not whole."""
    course.VENV.mkdir()
    course.PYTHON.parent.mkdir()
    course.PYTHON.touch()
    course.stamp().write_bytes(b"\xff\xfe")
    assert not course.is_whole()
    (place / "pyproject.toml").write_text("[project", "utf-8")
    assert course.main(["lab"]) == 1 and "pyproject.toml is damaged (TOMLDecodeError" in sentence(capsys)
    monkeypatch.setattr(course, "is_whole", lambda extra=None: True)
    monkeypatch.setattr(course, "lessons", mock.Mock(side_effect=ModuleNotFoundError("x", name="tools.predictions")))
    assert course.main(["lab"]) == 1 and "tools is missing or not whole" in sentence(capsys)
