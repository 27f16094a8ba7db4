"""A lesson that takes long is not run a second time while everything that it read is as it was.

Only a developer's own `course.py test` skips a lesson: not where `CI` is set, not with `--all`, `-k` or `-m`, and not a
notebook that the command names. In `.venv/lessons` stands, for each lesson that took more than `LONG` seconds and
compared equal in every cell, what it read (`inputs.py`) with hashes, under a name that stands for the circumstances:
processor, threads, Python, options of nbval. A lesson that begins to run is forgotten first, so an interrupt, a failure
or a part of a lesson leaves nothing. `.venv` goes, and this memory with it, when the lock changes; another Python
(`--here`) has no memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from nbval.plugin import IPyNbCell, IPyNbFile

ROOT = Path(__file__).resolve().parents[2]
VENV, NOTEBOOKS, PACKAGE = ROOT / ".venv", ROOT / "notebooks", "seqlearn/__init__.py"
LONG = 20  # seconds
STARTED = (
    time.time() - 0.1
)  # a file that was changed later may not be what this process read; clocks of files are coarse
COMPARISON = [
    "conftest.py", "notebooks/conftest.py", "tests/lessons/judge.py", "tests/lessons/inputs.py",
    "tests/lessons/remembered.py", "tools/figures.py", "constraints.txt",
]  # fmt: skip
SETTINGS = re.compile(r"(?:ATEN|KMP|MKL|MPL|OMP|OPENBLAS|PYTHON|SEQLEARN|TORCH)[A-Z_]*")


@dataclass
class Memory:
    """What a run of pytest knows of earlier ones.

    Attributes:
        folder: where it is stored; "": nothing is remembered.
        key: the circumstances.
        skipped: the lessons that are not run, with the seconds that each took.
    """

    folder: str
    key: str
    skipped: dict[str, float] = field(default_factory=dict)


MEMORY = pytest.StashKey[Memory]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--all`."""
    parser.addoption("--all", action="store_true", help="run every lesson, also where nothing that it reads changed")


def pytest_configure(config: pytest.Config) -> None:
    """Decide which lessons are skipped: once, for all workers of pytest-xdist."""
    decided = getattr(config, "workerinput", {}).get("remembered")
    config.stash[MEMORY] = Memory(**decided) if decided else decide(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    """Tell a worker of pytest-xdist."""
    node.workerinput["remembered"] = asdict(node.config.stash[MEMORY])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A skipped lesson is not even read."""
    return (
        True if NOTEBOOKS in collection_path.parents and collection_path.stem in config.stash[MEMORY].skipped else None
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the lessons that were skipped."""
    skipped = config.stash[MEMORY].skipped
    if skipped:
        names = ", ".join(f"{lesson[:2]} ({seconds:.0f} s)" for lesson, seconds in skipped.items())
        lessons = "1 lesson was" if len(skipped) == 1 else f"{len(skipped)} lessons were"
        terminalreporter.write_line(
            f"{lessons} not run, since nothing that it read has changed since it last compared equal: {names}; "
            "--all runs every lesson"
        )


def decide(config: pytest.Config) -> Memory:
    """The memory of .venv, if this is its Python, and the lessons that this run may skip."""
    if Path(sys.prefix) != VENV or VENV.is_symlink():
        return Memory("", "")
    options = {name: value for name, value in vars(config.option).items() if name.startswith("nbval")}
    settings = {name: value for name, value in os.environ.items() if SETTINGS.fullmatch(name)}
    workers = getattr(config.option, "numprocesses", None)  # they share the cores
    there = [sys.version, platform.platform(), processor(), os.cpu_count(), workers, options, sorted(settings.items())]
    memory = Memory(str(VENV / "lessons"), hashlib.sha256(repr(there).encode()).hexdigest()[:12])
    everything = config.getoption("--all") or os.environ.get("CI") or config.option.keyword or config.option.markexpr
    asked = {Path(config.invocation_params.dir, argument.split("::")[0]).resolve() for argument in config.args}
    for notebook in [] if everything else sorted(NOTEBOOKS.rglob("[0-9]*.ipynb")):
        if notebook not in asked and asked & set(notebook.parents):
            seconds = unchanged(file_of(memory, notebook.stem))
            if seconds:
                memory.skipped[notebook.stem] = seconds
    return memory


def processor() -> str:
    """The name of the processor."""
    try:
        return next(line for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines() if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor()


def file_of(memory: Memory, lesson: str) -> Path:
    """The file with what is remembered of a lesson."""
    return Path(memory.folder, f"{lesson}.{memory.key}.json")


def unchanged(file: Path) -> float:
    """The seconds that a lesson took if all that it read is as it was; else, or if nothing is remembered, 0."""
    try:
        known = json.loads(file.read_text("utf-8"))
        return known["seconds"] if all(state(name) == was for name, was in known["read"].items()) else 0
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return 0


@cache
def state(name: str) -> str:
    """A hash of a file's content, or of the names in a folder; "" if the file or the folder is missing."""
    try:
        if name.endswith("/"):
            content = "\n".join(sorted(one for one in os.listdir(ROOT / name) if not one.startswith((".", "__py"))))
        else:
            content = (ROOT / name).read_bytes()
    except OSError:
        return ""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def touched(name: str) -> bool:
    """Whether a file that is there was changed since this process began."""
    try:
        status = (ROOT / name).stat()
    except OSError:
        return False
    return max(status.st_mtime, status.st_ctime) > STARTED


class Run:
    """One run of a lesson; `notebooks/conftest.py` says what happens."""

    def __init__(self, file: IPyNbFile, log: Path):
        """The kernel is about to start."""
        self.file, self.log, self.equal, self.start = file, log, set[int](), time.monotonic()
        log.unlink(missing_ok=True)
        self.memory = file.config.stash.get(MEMORY, Memory("", ""))  # a conftest.py may be used elsewhere
        if self.memory.folder:
            file_of(self.memory, file.path.stem).unlink(missing_ok=True)

    def mark(self) -> str:
        """The mark of the run that gave the outputs with which this one was compared."""
        code = (cell.metadata for cell in self.file.nb.cells if cell.cell_type == "code")
        return " ".join(sorted({data.get("run", "") for data in code}))

    def cell_is_equal(self, cell: IPyNbCell) -> None:
        """A cell was run, and its outputs compare equal."""
        self.equal.add(cell.cell_num)

    def end(self) -> None:
        """The kernel has stopped: remember what it read, if all is well."""
        seconds = time.monotonic() - self.start
        cells = sum(cell.cell_type == "code" for cell in self.file.nb.cells)
        if not self.memory.folder or len(self.equal) < cells or seconds <= LONG or not self.log.exists():
            return
        read = {json.loads(line) for line in self.log.read_text("utf-8").splitlines()}
        if "" in read or PACKAGE not in read:  # a process may have read anything; and whose package was it?
            return
        lesson = self.file.path.relative_to(ROOT)
        names = sorted({*read, *COMPARISON, lesson.as_posix(), f"tests/lessons/claims/{lesson.name[:2]}.toml"})
        state.cache_clear()
        known = {name: state(name) for name in names}  # before the next line: what was read here is what was there
        if not any(map(touched, names)):
            write(file_of(self.memory, lesson.stem), {"run": self.mark(), "seconds": round(seconds), "read": known})


def write(file: Path, known: dict) -> None:
    """Write a file of the memory in one step."""
    file.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as part:
        json.dump(known, part, indent=1)
    os.replace(part.name, file)
