#!/usr/bin/env python3
"""One command to take the course, one to test it.

    python3 course.py lab               open the lessons, as copies of your own in my-lessons/
    python3 course.py lab --reset 04    put lesson 04 back to the original; yours is kept beside it
    python3 course.py test              run every test and every lesson
    python3 course.py refresh 04        for authors: run lesson 04 and store its outputs

The first call makes .venv from constraints.txt, with a network, in about two minutes; later calls need neither.
Standard library only, and no syntax newer than Python 3.8: an old Python has to get as far as its sentence.
"""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
NOTEBOOKS, MINE, VENV = ROOT / "notebooks", ROOT / "my-lessons", ROOT / ".venv"
WINDOWS = os.name == "nt"
PYTHON = VENV / ("Scripts/python.exe" if WINDOWS else "bin/python")
LONGEST = 190  # characters below .venv of its longest file: a licence inside torch
PIP = "-m pip install --no-input --no-user --progress-bar off --disable-pip-version-check -c constraints.txt -e .[test]"
LAST = "import torch, matplotlib.font_manager, seqlearn.d2l_compat as d2l; d2l.at_every_start()"  # make it ready
PYTEST = "-m pytest --nbval --nbval-current-env --nbval-sanitize-with tests/nbval.cfg --nbval-cell-timeout 900"

AGAIN = ", and call this again."
OLD = "This is Python {}: install 3.11, 3.12 or 3.13, for example from python.org, and call `{} course.py lab`."
NO_VENV = "Python's venv module is missing: run `sudo apt install python3-venv` (elsewhere reinstall Python)" + AGAIN
FULL = "The disk is full: the course needs about 2 GB, with CUDA 8 GB. Free some space" + AGAIN
LONG = "The path of this folder is too long for Windows: move the folder, for example to C:\\seqlearn" + AGAIN
NO_NET = "No network: the first set-up has to download the packages. Check the connection, or pip's proxy" + AGAIN
NO_BUILD = "There is no {} for this computer and Python: it takes 64 bits and Linux, Windows or Apple silicon."
NO_WRITE = ".venv cannot be written: close every JupyterLab of the course, or move it to a folder of your own" + AGAIN
BUSY = "Another course.py is setting up .venv: wait for its end" + AGAIN
NOT_HERE = 'No --here with this Python ({}): run `"{}" -m pip install -e "{}[test]"` first, or leave out --here.'
REASONS = {  # what pip or the system writes: the sentence for it; the first that is found counts
    r"No space left on device|not enough space on the disk|Errno 28\b|WinError 112\b": FULL,
    r"ensurepip is not available|No module named '?(?:ensurepip|venv|pip)\b": NO_VENV,
    r"NewConnectionError|NameResolution|timed? ?out|ProxyError|ConnectionReset|Max retries|SSLError": NO_NET,
    r"No matching distribution found for (\S+)": NO_BUILD,
    r"WinError 206\b|File name too long": LONG,
    r"Permission denied|Access is denied|Read-only file system|WinError (?:5|32)\b": NO_WRITE,
    r"deadlock": BUSY,  # from a lock on Windows
}


class Stop(Exception):
    """Ends the program with one sentence and exit status 1."""


def reason(text):
    """The sentence for what pip or the system wrote, or None."""
    for pattern, sentence in REASONS.items():
        match = re.search(pattern, text, re.IGNORECASE)
        if match:
            return sentence.format(*match.groups())
    return None


def check_python(version=sys.version_info):
    """Stop unless the pinned packages are built for this Python."""
    if not (3, 11) <= tuple(version[:2]) <= (3, 13):
        raise Stop(OLD.format(".".join(map(str, version[:3])), "py -3.13" if WINDOWS else "python3.13"))


def check_room():
    """Stop where the set-up is bound to fail."""
    if not all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
        raise Stop(NO_VENV)
    if shutil.disk_usage(ROOT).free < 2e9:
        raise Stop(FULL)
    if WINDOWS and len(str(VENV)) + LONGEST > 259:
        raise Stop(LONG)


def check_here(modules):
    """Stop unless this Python can import them (-P: from elsewhere than this folder)."""
    asked = subprocess.run([sys.executable, "-P", "-c", "import " + modules], capture_output=True, text=True)
    if asked.returncode:
        raise Stop(NOT_HERE.format(asked.stderr.strip().splitlines()[-1], sys.executable, ROOT))


def pins():
    """All that .venv is made from: the pins, this Python, and the folder, for a virtual environment cannot be moved."""
    import tomllib  # Python 3.11

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return f"{project}\n{(ROOT / 'constraints.txt').read_text('utf-8')}\n{sys.version_info[:2]} {ROOT}"


def is_whole():
    """Whether .venv is there, complete, and made from the present pins."""
    return PYTHON.exists() and (VENV / "stamp").exists() and (VENV / "stamp").read_text("utf-8") == pins()


def set_up():
    """Make .venv anew. A second call waits for the first; the system frees the lock when its last holder ends."""
    check_room()
    print(f"Setting up {VENV}: once, about 2 minutes and 2 GB ", end="", flush=True)
    start = time.monotonic()
    with open(ROOT / ".venv.lock", "a", encoding="utf-8") as lock:
        if WINDOWS:
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_whole():  # else the other call has made it
            if VENV.exists():
                (VENV / "stamp").unlink(missing_ok=True)  # first: a deletion cut short must not look whole
                shutil.rmtree(VENV)
            VENV.mkdir()
            step(lock, getattr(sys, "_base_executable", sys.executable), "-m", "venv", VENV)
            step(lock, PYTHON, *PIP.split())
            step(lock, PYTHON, *"-m jupyter labextension disable @jupyterlab/apputils-extension:announcements".split())
            step(lock, PYTHON, "-c", LAST)
            (VENV / "stamp").write_text(pins(), "utf-8")  # last
    print(f" {time.monotonic() - start:.0f} s", flush=True)


def step(lock, *command):
    """Run one step, its output in .venv/install.log. It holds the lock too: pip may outlive a course.py."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "cwd": str(ROOT)}
    options.update(encoding="utf-8", errors="replace", pass_fds=() if WINDOWS else [lock.fileno()])
    said = []
    with open(VENV / "install.log", "a", encoding="utf-8") as log:
        with subprocess.Popen(list(map(str, command)), **options) as process:
            try:
                for line in process.stdout:
                    said.append(line)
                    log.write(line)
                    print("." if line.startswith("Collecting") else "", end="", flush=True)
                process.wait()
            finally:
                process.kill()
    if process.returncode:
        raise Stop(f"\n{reason(''.join(said)) or 'The set-up failed.'} The log is {VENV / 'install.log'}")


def run(python, *arguments, **settings):
    """Become `python arguments`, in the folder of the course, its programs first on the path; Windows has to wait."""
    path = os.pathsep.join([os.path.dirname(python), os.environ.get("PATH", "")])
    settings = dict(os.environ, PATH=path, JUPYTER_PREFER_ENV_PATH="1", **settings)
    command = list(map(str, [python, *arguments]))
    os.chdir(ROOT)
    sys.stdout.flush()
    if not WINDOWS:
        os.execve(command[0], command, settings)
    with subprocess.Popen(command, env=settings) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                pass  # the child has heard it too, and decides


def lessons(*numbers):
    """The originals of these lessons, or of all, in order."""
    originals = {path.name[:2]: path for path in sorted(NOTEBOOKS.glob("[0-9][0-9]-*.ipynb"))}
    wanted = [number.zfill(2) for number in numbers] or list(originals) or ["00"]
    for number in wanted:
        if number not in originals:
            raise Stop(f"There is no lesson {number} in {NOTEBOOKS}, but: {', '.join(originals) or 'none'}.")
    return [originals[number] for number in wanted]


def my_lessons(reset=None):
    """Copy the lessons that my-lessons/ lacks. What is there stays, but for the lesson `reset`, which is set aside."""
    MINE.mkdir(exist_ok=True)
    if reset and (MINE / reset.name).exists():
        kept = next(p for n in range(1, 10**6) for p in [MINE / f"{reset.stem}.old{n}.ipynb"] if not p.exists())
        (MINE / reset.name).rename(kept)
        print(f"Your lesson is kept as my-lessons/{kept.name}")
    for original in lessons():
        if not (MINE / original.name).exists():  # by way of another name: an interrupt must not leave half a lesson
            shutil.copyfile(original, MINE / "copy.part")
            os.replace(MINE / "copy.part", MINE / original.name)


def lab(python, options, extra):
    """Open JupyterLab at a lesson. Its root is the course: from both folders, ../assets/ leads to the pictures."""
    first, folder = lessons(options.reset or lessons()[0].name[:2])[0], NOTEBOOKS if options.originals else MINE
    if not options.originals:
        my_lessons(first if options.reset else None)
    quiet = ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    place = [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url=/lab/tree/{folder.name}/{first.name}"]
    return run(python, "-m", "jupyterlab", *place, *quiet, *extra)


def carry_out(arguments):
    """Carry out one command; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.allow_abbrev = False  # --reset-x may be for JupyterLab
    parser.add_argument("command", choices=["lab", "test", "refresh"], help="other options go to JupyterLab or pytest")
    parser.add_argument("--reset", metavar="NN", help="lab: restore this lesson")
    parser.add_argument("--originals", action="store_true", help="lab: open notebooks/ itself, for authors")
    parser.add_argument("--second-cpu", action="store_true", help="test: only the lessons, with other CPU instructions")
    parser.add_argument("--here", action="store_true", help="use this Python's own environment, its torch included")
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, extra = parser.parse_known_args(arguments[:end])
    extra += arguments[end + 1 :]
    check_python()
    if options.here:
        check_here({"lab": "seqlearn, jupyterlab", "test": "seqlearn, nbval", "refresh": "nbclient"}[options.command])
    elif not is_whole():
        set_up()
    python = sys.executable if options.here else PYTHON
    if options.command == "lab":
        return lab(python, options, extra)
    if options.command == "refresh":
        return run(python, "tests/refresh.py", *lessons(*extra))
    if options.second_cpu:
        return run(python, *PYTEST.split(), *lessons(), *extra, ATEN_CPU_CAPABILITY="default", MKL_CBWR="COMPATIBLE")
    return run(python, *PYTEST.split(), *extra)


def main(arguments):
    """Carry out one command, or say in one sentence why not; the exit status."""
    try:
        return carry_out(arguments)
    except KeyboardInterrupt:
        print("\nInterrupted: call this again to go on.", file=sys.stderr)
        return 130
    except (Stop, OSError) as error:
        print(error if isinstance(error, Stop) else reason(str(error)) or f"The system says: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # a path with letters that the console's encoding lacks
    sys.exit(main(sys.argv[1:]))
