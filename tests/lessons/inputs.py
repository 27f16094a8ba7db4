"""In the kernel of a lesson: which files of the course does it read? `remembered.py` asks. No learner's kernel has it.

An audit hook of Python sees each file that is opened (`import` opens the source or its bytecode), each folder that is
listed, and each process that is started, also in a process that the kernel forks. A library that opens a file without
Python, such as `safetensors.safe_open`, is not seen: the package reads weights as bytes (`training/storage.py`).
"""

import importlib.util
import json
import os
import sys
from pathlib import Path

START = """
import importlib.util
spec = importlib.util.spec_from_file_location("inputs", {file!r})
inputs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(inputs)
inputs.watch({root!r}, {log!r})
del importlib, spec, inputs
"""
PROCESSES = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn"}
IMPORTERS = ("<frozen importlib._bootstrap_external>", os.path.join("importlib", "metadata", "__init__.py"))


def install(ipython: Path, root: Path, log: Path) -> None:
    """Let every kernel with this folder as its IPYTHONDIR write to `log` what it reads below `root`."""
    startup = ipython / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    text = START.format(file=str(Path(__file__).resolve()), root=str(root), log=str(log))
    (startup / "0-inputs.py").write_text(text, encoding="utf-8")  # sorted before all others


def watch(root: str, log: str) -> None:
    """Write to `log`, a line of JSON for each, what this process reads below `root`: a folder ends with a slash.

    A process that is started is written as "". Left out are names that begin with a dot, such as .venv.
    """
    top = os.path.join(os.path.realpath(root), "")
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    seen = set()

    def hook(event, arguments):
        if event == "open":
            path, _, flags = arguments
            if flags & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR) != os.O_WRONLY:
                note(path)
        elif event in ("os.listdir", "os.scandir"):
            if not sys._getframe(1).f_code.co_filename.endswith(IMPORTERS):  # they list wherever a module may be
                note("." if arguments[0] is None else arguments[0], "/")
        elif event in PROCESSES or (event == "import" and str(arguments[0]).startswith("multiprocessing.popen_")):
            write("")

    def note(path, end=""):
        if isinstance(path, int):
            return
        path = os.path.realpath(os.fsdecode(path))
        if path.startswith(top):
            if "__pycache__" in path:
                try:
                    path = importlib.util.source_from_cache(path)
                except ValueError:  # bytecode that is being written
                    return
            name = path[len(top) :].replace(os.sep, "/")
            if not any(part.startswith(".") for part in name.split("/")):
                write(name + end)

    def write(name):
        if name not in seen:
            seen.add(name)
            os.write(file, (json.dumps(name) + "\n").encode())

    sys.addaudithook(hook)
