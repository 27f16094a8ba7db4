#!/usr/bin/env python3
"""Take the course, or test it, with one command.

    python3 course.py lab               open the lessons, as your own copies in my-lessons/
    python3 course.py lab --reset 04    start lesson 04 again; your copy is kept under another name
    python3 course.py lab --language zh the lessons in Chinese, in my-lessons-zh/; some are still in English
    python3 course.py test --quick      run the quick tests, in a few minutes: no lessons, no browser
    python3 course.py test              run every test and every lesson; later, long lessons only after a change
    python3 course.py test --all        run every test and every lesson, whatever was run before
    python3 course.py book              write the course as a web site, site/: no Python, no network needed to read it
    python3 course.py handout DIR       for teachers: lessons without solutions, in the folder DIR
    python3 course.py bench             measure this machine: our code beside other libraries
    python3 course.py refresh 04        for authors: run lesson 04 and store its outputs
    python3 course.py test --hunt 20    for authors: which tests in a browser fail once in 20 runs, under load?
    python3 course.py mutate masking    for authors: break a module, and see which breaks no test notices

The first call makes .venv from constraints.txt: it needs a network and a minute or two. Later calls need neither, but
for the first `test`, `mutate`, `book`, `handout` or `bench`, which adds the packages that only it uses.
"""
# Only the standard library and the syntax of Python 3.8: an old Python must be able to say that it is too old.

import argparse
import ast
import contextlib
import errno
import functools
import importlib.util
import io
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import time
import uuid
from pathlib import Path

TOO_OLD: str = "This is Python 2; the course needs Python 3.11 or newer: call python3"  # shown by Python 2, which stops
ROOT = Path(__file__).resolve().parent
NOTEBOOKS, MINE, VENV = ROOT / "notebooks", ROOT / "my-lessons", ROOT / ".venv"
CACHE = ROOT / ".venv.cache"  # what uv has downloaded, until the set-up is complete
JAVASCRIPT = ROOT / "tools" / "javascript"
WINDOWS = os.name == "nt"
PYTHON = VENV / ("Scripts/python.exe" if WINDOWS else "bin/python")
UV = VENV / ("Scripts/uv.exe" if WINDOWS else "bin/uv")
OLDEST, NEWEST = (3, 11), (3, 14)  # as requires-python in pyproject.toml
SIZE, LARGE = "1.5 GB", "7 GB"  # with PyTorch for the CPU; with the ordinary build for Linux, which brings CUDA
MORE = "1 GB"  # what `test` adds
CARDS = ["/dev/nvidiactl", "/proc/driver/nvidia", "/dev/kfd"]  # one of them is there if NVIDIA's or AMD's driver runs
CPU, PATIENCE = ["--torch-backend", "cpu"], 5  # how uv is told to ask PyTorch's own index for its CPU build; seconds
LONGEST = 190  # characters below .venv of its longest file: a licence inside torch
PIP = "-m pip install --no-input --no-user --progress-bar off --disable-pip-version-check -c constraints.txt".split()
BY_UV = "pip install --color never -c constraints.txt -b constraints.txt".split()  # -b: what builds our own package
TOLD = {  # a setting of pip: the variable that tells uv the same, and others that a person may have set for uv instead
    "index-url": ["UV_DEFAULT_INDEX", "UV_INDEX_URL"],
    "extra-index-url": ["UV_INDEX", "UV_EXTRA_INDEX_URL"],
    "find-links": ["UV_FIND_LINKS"],
    "trusted-host": ["UV_INSECURE_HOST"],
    "timeout": ["UV_HTTP_TIMEOUT", "UV_REQUEST_TIMEOUT"],
    "retries": ["UV_HTTP_RETRIES"],
    "client-cert": ["SSL_CLIENT_CERT"],
}
DOTS = r"\s*(?:Collecting|Resolved|Downloading|Downloaded|Building|Built|Prepared|Installed) "
HIDE = "-m jupyter labextension disable".split()
NEWS, GRADER = "@jupyterlab/apputils-extension:announcements", "@jupyter/nbgrader"  # the first goes online
LAST = "import torch, matplotlib.font_manager"
NBVAL = "--nbval --nbval-current-env".split()
LIMITS = "--nbval-cell-timeout 3600 --nbval-kernel-startup-timeout 600".split()  # seconds: they stop only what hangs
ONE_PROCESS = (
    r"-[qvl]*[xs][qvlxs]*|--exitfirst|--pdb|--trace|--capture=no|--co|--collect-only|-n.*|--numproc.*|--dist.*"
)
BELONGS = {  # the options of this file that only some commands have
    "reset": ["lab"], "originals": ["lab"], "language": ["lab", "handout"], "quick": ["test", "bench"],
    "second_cpu": ["test"],
}  # fmt: skip
SCRIPTS = {
    "book": ["-m", "tools.book.build"], "handout": ["-m", "tools.handout"], "mutate": ["-m", "tools.mutate"],
    "bench": ["benchmarks/bench.py"],
}  # fmt: skip
# In pyproject.toml.
EXTRAS = {"test": "test", "mutate": "test", "refresh": "test", "book": "book", "handout": "class", "bench": "bench"}
DISTRIBUTION = "--dist loadscope --no-loadscope-reorder".split()  # a lesson in one process; the order of tests/order.py
MOST_WORKERS, MEMORY = 8, 2.5e9  # bytes for each worker of the tests, with the kernel of the lesson that it runs

AGAIN = " Then run this command again."
OLD = (
    "This is Python {}, but the course needs Python 3.11, 3.12, 3.13 or 3.14. "
    "Install one of these, for example from python.org. Then run `{} course.py lab`."
)
NO_VENV = (
    "This Python has no venv module. On Debian and Ubuntu, run `sudo apt install python3-venv`; "
    "on other systems, install Python again." + AGAIN
)
FULL = (
    f"The disk is full: the course needs about {SIZE}, or {LARGE} on Linux with a graphics card, "
    f"and up to {MORE} more for its tests. Free some space." + AGAIN
)
ODD = (
    "The path of this folder has the character {0!r}, which the installer of Python packages cannot take: {1}. "
    "Give the folder another name, or move the course." + AGAIN
)
LONG = "The path of this folder is too long for Windows. Move the folder, for example to C:\\seqlearn." + AGAIN
NO_NET = (
    "The network cannot be reached, and the first call has to download the packages. "
    "Check the connection and the proxy settings of pip." + AGAIN
)
NO_BUILD = (
    "The package {} is not available for this computer with this Python. "
    "The course needs a 64-bit Python on Linux, on Windows, or on a Mac with Apple silicon."
)
NO_WRITE = (
    "The folder of the course cannot be written. Close every JupyterLab of the course, "
    "or move the course to a folder of your own." + AGAIN
)
NOT_OURS = (
    "{} was not made by course.py, which needs this place: give your environment another name, or use it with --here."
)
NOT_HERE = (
    "With --here, this Python needs the packages of the course, but it says: {}. "
    'Run `"{}" -m pip install -e "{}"` first, or leave out --here.'
)
DAMAGED = "{} is damaged ({}). Get this file again, for example with `git checkout -- .`"
NO_UV = "\nThe installer uv is not available for this computer: pip installs the packages, which takes a few minutes"
ORDINARY = f"\nPyTorch for the CPU cannot be reached: its ordinary build is installed, with {LARGE} of disk in all"
REASONS = {  # what pip, uv or the system writes: the sentence for it; the first that is found counts
    r"No space left on device|not enough space on the disk|Errno 28\b|(?:WinError|os error) 112\b": FULL,
    r"ensurepip is not available|No module named '?(?:ensurepip|venv|pip)\b": NO_VENV,
    r"NewConnectionError|NameResolution|timed? ?out|ProxyError|ConnectionReset|Max retries|SSLError": NO_NET,
    r"error sending request|body error|connection reset": NO_NET,  # uv
    r"npm (?:error|ERR!) code (?:ENOTFOUND|EAI_AGAIN|ECONN\w+)": NO_NET,
    r"No matching distribution found for (\S+)": NO_BUILD,
    r"(\S+) (?:has no wheels|was not found in the)": NO_BUILD,  # uv
    r"there is no version of (\S+)": NO_BUILD,
    r"(?:WinError|os error) 206\b|File name too long": LONG,
    r"Permission denied|Access is denied|Read-only file system|(?:WinError|os error) (?:5|32)\b": NO_WRITE,
}


class Stop(Exception):
    """Ends the program with one sentence and exit status 1."""


def reason(text):
    """The sentence that explains what pip, uv or the system wrote, or None if there is none."""
    for pattern, sentence in REASONS.items():
        match = re.search(pattern, text, re.IGNORECASE)
        if match:
            return sentence.format(*match.groups())
    return None


def check_python(version=sys.version_info):
    """Stop unless the pinned packages are built for this Python."""
    if not OLDEST <= tuple(version[:2]) <= NEWEST:
        raise Stop(OLD.format(".".join(map(str, version[:3])), "py -3.14" if WINDOWS else "python3.14"))


def check_room():
    """Stop if the set-up cannot succeed."""
    if not all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
        raise Stop(NO_VENV)
    odd = re.search(r"\$(?=[A-Za-z_])|[{}]", str(ROOT))  # setuptools looks for a setting of the name x
    if odd:
        raise Stop(ODD.format(odd[0], ROOT))
    if shutil.disk_usage(ROOT).free < 2e9:
        raise Stop(FULL)
    if WINDOWS and len(str(VENV)) + LONGEST > 259:
        raise Stop(LONG)


def check_here(modules, extra=None):
    """Stop unless this Python can import `modules`, which `extra` brings (-P: this folder does not count)."""
    asked = subprocess.run([sys.executable, "-P", "-c", "import " + modules], capture_output=True, text=True)
    if asked.returncode:
        package = f"{ROOT}[{extra}]" if extra else ROOT
        raise Stop(NOT_HERE.format(asked.stderr.strip().splitlines()[-1], sys.executable, package))


@contextlib.contextmanager
def reading(path):
    """Stop with a sentence where a file of the course is not as it came."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise Stop(DAMAGED.format(path, f"{type(error).__name__}: {error}".splitlines()[0])) from error


def project():
    """What pyproject.toml says about the package."""
    import tomllib  # Python 3.11

    with reading(ROOT / "pyproject.toml"):
        return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def pins(extra=None):
    """What .venv depends on, as a text: the pins, this Python, and the path of the folder (a .venv cannot be moved)."""
    files = [ROOT / "constraints.txt", *([JAVASCRIPT / "package-lock.json"] if extra == "test" else [])]
    texts = [path.read_text("utf-8") for path in files if path.exists()]
    return "\n".join([str(project()), *texts, f"{sys.version_info[:2]} {ROOT}"])


def stamp(extra=None):
    """The file that says that .venv, or what an extra adds to it, is complete; it holds the pins."""
    return VENV / (f"stamp-{extra}" if extra else "stamp")


def is_whole(extra=None):
    """Whether .venv is complete, was made from the current pins, and has the packages of `extra`."""
    names = [None, extra] if extra else [None]
    return PYTHON.exists() and all(
        stamp(name).exists() and stamp(name).read_text("utf-8", "replace") == pins(name) for name in names
    )


def is_ours():
    """Whether course.py made .venv, or began to: the log of the set-up comes first and goes last."""
    return VENV.is_dir() and ((VENV / "install.log").exists() or not os.listdir(str(VENV)))


def remove():
    """Remove .venv. What is left of a deletion cut short neither looks whole nor looks like somebody else's."""
    stamp().unlink(missing_ok=True)
    for path in VENV.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != "install.log":
            path.unlink()
    shutil.rmtree(VENV)


@contextlib.contextmanager
def alone(path):
    """Hold the lock file `path`; wait while another call holds it. The system frees the lock when its holders end."""
    with open(path, "a", encoding="utf-8") as lock:
        if not locked(lock):
            print("Waiting for another course.py to finish", flush=True)
            while not locked(lock):
                time.sleep(0.05)
        yield lock


def locked(lock):
    """Try to lock an open file, and return whether this worked."""
    try:
        if WINDOWS:
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            raise
        return False
    return True


def set_up(extra=None):
    """Make a new .venv, and add the packages of `extra` to it, unless another call has just done so."""
    check_room()
    with alone(ROOT / ".venv.lock") as lock:
        if not is_whole():
            make(lock)
        if not is_whole(extra):
            add(lock, extra)


def make(lock):
    """Make a new .venv with what a learner uses: the package and what it requires."""
    if VENV.is_symlink() or (VENV.exists() and not is_ours()):
        raise Stop(NOT_OURS.format(VENV))
    with told(f"Setting up {VENV}: once, a minute or two and {LARGE if has_card() else SIZE} of disk"):
        if VENV.exists():
            remove()
        VENV.mkdir()
        step(lock, getattr(sys, "_base_executable", sys.executable), "-m", "venv", VENV)
        begin(lock)
        install(lock, "-e", ".", first=True)
        step(lock, PYTHON, *HIDE, NEWS)
        step(lock, PYTHON, "-c", LAST)
        stamp().write_text(pins(), "utf-8")  # last


def add(lock, extra):
    """Add the packages of an extra, and of the extras that it contains, to .venv.

    What a learner uses is not touched, so that an interrupt, or a missing network, leaves the lessons as they are.
    """
    optional = project()["optional-dependencies"]
    contained = re.search(r"\bseqlearn\[(.*?)\]", " ".join(optional[extra]))
    names = [extra, *(contained[1].split(",") if contained else [])]
    with told(f"Adding packages to {VENV}: once, a minute and up to {MORE} of disk"):
        for half in {*VENV.glob("lib/python*/site-packages/*.dist-info"), *VENV.glob("Lib/site-packages/*.dist-info")}:
            # pip writes RECORD last, and uv INSTALLER: without both, an interrupt left this package incomplete
            if not all((half / name).exists() for name in ("RECORD", "INSTALLER")):
                shutil.rmtree(half)
        install(lock, *(need for name in names for need in optional[name] if not need.startswith("seqlearn[")))
        if "class" in names:
            step(lock, PYTHON, *HIDE, GRADER)  # its menus are for teachers
        if "test" in names and (JAVASCRIPT / "install.py").exists():
            step(lock, PYTHON, JAVASCRIPT / "install.py")
        for name in names:
            stamp(name).write_text(pins(name), "utf-8")  # last


def begin(lock):
    """Put uv into .venv, and write down there who installs its packages: uv, or pip where there is no uv.

    Neither continues what the other has begun.
    """
    installer = "uv"
    try:
        step(lock, PYTHON, *PIP, "--only-binary=:all:", "uv")
        step(lock, UV, "--version")
    except (Stop, OSError) as error:  # OSError: the system cannot run this uv
        if any(sentence in str(error) for sentence in (NO_NET, FULL, NO_WRITE)):
            raise
        installer = "pip"
        print(NO_UV, end=" ", flush=True)
    (VENV / "installer").write_text(installer, "utf-8")


def install(lock, *wanted, first=False):
    """Install packages into .venv with the installer that began it; with `first`, uv chooses the build of PyTorch."""
    if (VENV / "installer").read_text("utf-8") == "pip":
        return step(lock, PYTHON, *PIP, *wanted)
    options, settings = for_uv(pip_settings())
    if first:
        options += pytorch(options, settings)
    step(lock, UV, *BY_UV, "--python", PYTHON, *options, *wanted, env=settings)
    shutil.rmtree(CACHE, ignore_errors=True)


def pip_settings(python=PYTHON):
    """What a person has told pip, in its files and in variables."""
    said = subprocess.check_output([str(python), "-m", "pip", "config", "list"], encoding="utf-8", cwd=str(ROOT))
    bundle = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    told = {"cert": bundle} if bundle else {}
    for section in ("global.", "install.", ":env:."):  # the last one counts
        for name, _, value in (line.partition("=") for line in said.splitlines() if line.startswith(section)):
            told[name[len(section) :].replace("default-", "")] = ast.literal_eval(value)
    return told


def for_uv(pip):
    """The options and the variables that tell uv what a person has told pip. What was told to uv itself stays."""
    settings = dict(os.environ, UV_NO_WRAP="1")
    settings.pop("UV_NO_INSTALLER_METADATA", None)  # `add` looks for INSTALLER
    for name, variables in TOLD.items():
        if pip.get(name) and not any(variable in os.environ for variable in variables):
            settings[variables[0]] = ("," if name == "find-links" else " ").join(pip[name].split())
    for name in "HTTP_PROXY HTTPS_PROXY http_proxy https_proxy".split() if pip.get("proxy") else ():
        settings[name] = pip["proxy"]
    if pip.get("cert"):
        settings["SSL_CERT_DIR" if os.path.isdir(pip["cert"]) else "SSL_CERT_FILE"] = pip["cert"]
    if system_certificates():
        settings.setdefault("UV_SYSTEM_CERTS", "1")  # as pip
    if settings.get("UV_INDEX") != os.environ.get("UV_INDEX"):
        settings.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")  # pip takes the best version of all indexes
    if not {"UV_CACHE_DIR", "UV_NO_CACHE"} & set(os.environ):  # beside .venv: a home may be full, or on another disk
        settings.update(UV_CACHE_DIR=str(CACHE), UV_LINK_MODE="hardlink")
    files = f"{pip.get('constraint') or ''} {os.environ.get('UV_CONSTRAINT', '')}".split()
    options = [word for file in files for word in ("-c", file)]
    return options + ["--no-index"] * (str(pip.get("no-index")).lower() in ("1", "true", "yes", "on")), settings


def system_certificates():
    """Whether the system has certificates; without any, uv cannot start with them, and takes its own."""
    paths = ssl.get_default_verify_paths()
    return sys.platform != "linux" or paths.cafile or (paths.capath and os.listdir(paths.capath))


def has_card():
    """Whether this is Linux with an NVIDIA or AMD card whose driver runs: WSL has only the program of NVIDIA."""
    return sys.platform == "linux" and (any(map(os.path.exists, CARDS)) or bool(shutil.which("nvidia-smi")))


def pytorch(options, settings):
    """The options with which uv takes PyTorch for the CPU: on Linux without a card, if an index has the pinned version.

    Who has told pip or uv an index of their own, or to use none, wants all packages from there, and may have no other
    network: then PyTorch's own index is not asked. (UV_TORCH_BACKEND=cpu asks it nevertheless.)
    """
    if sys.platform != "linux" or has_card() or "UV_TORCH_BACKEND" in os.environ:
        return []
    pin = re.search(r"^torch==\S+", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    build = f"{pin[0] if pin else 'torch'}+cpu"
    own = "--no-index" in options or any(settings.get(name) for name in TOLD["index-url"])
    more = any(settings.get(name) for name in [*TOLD["extra-index-url"], *TOLD["find-links"]])
    if (own or more) and answers(settings, *options, build):
        return [build]
    once = dict(settings, UV_HTTP_TIMEOUT=str(PATIENCE), UV_HTTP_RETRIES="0")
    if not own and answers(once, *options, *CPU, build, seconds=PATIENCE):
        return [*CPU, build]
    print(ORDINARY, end=" ", flush=True)
    return []


def answers(settings, *wanted, seconds=None):
    """Whether uv finds what is wanted, within so many seconds; nothing is installed."""
    command = list(map(str, [UV, *BY_UV, "--python", PYTHON, "--dry-run", "--no-deps", *wanted]))
    with open(VENV / "install.log", "a", encoding="utf-8") as log:
        options = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "cwd": str(ROOT), "env": settings}
        try:
            return subprocess.call(command, timeout=seconds, **options) == 0
        except subprocess.TimeoutExpired:
            return False


@contextlib.contextmanager
def told(what):
    """Say what begins, and at its end how long it took; between them, each step writes its dots."""
    print(what, end=" ", flush=True)
    start = time.monotonic()
    yield
    print(f" {time.monotonic() - start:.0f} s", flush=True)


def step(lock, *command, env=None):
    """Run one step of the set-up, its output in .venv/install.log. It shares the lock: pip may outlive course.py."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "cwd": str(ROOT)}
    options.update(env=env, encoding="utf-8", errors="replace", pass_fds=() if WINDOWS else [lock.fileno()])
    said = []
    with open(VENV / "install.log", "a", encoding="utf-8") as log:
        with subprocess.Popen(list(map(str, command)), **options) as process:
            try:
                for line in process.stdout or ():
                    said.append(line)
                    log.write(line)
                    print("." if re.match(DOTS, line) else "", end="", flush=True)
                process.wait()
            finally:
                process.kill()
    if process.returncode:
        raise Stop(f"\n{reason(''.join(said)) or 'The set-up failed.'} The log is {VENV / 'install.log'}")


def run(python, *arguments, **settings):
    """Replace this process by `python arguments`, in the folder of the course; on Windows, run it and wait.

    The programs beside `python` come first on the path.
    """
    path = os.pathsep.join([os.path.dirname(python), os.environ.get("PATH", "")])
    settings = dict(os.environ, PATH=path, JUPYTER_PREFER_ENV_PATH="1", SEQLEARN_CALLER=os.getcwd(), **settings)
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
                pass  # the child process gets the interrupt, too, and decides what to do


def lessons(*numbers):
    """The original notebooks with these numbers, or all of them, in order."""
    originals = {path.name[:2]: path for path in sorted(NOTEBOOKS.glob("[0-9][0-9]-*.ipynb"))}
    wanted = {number.zfill(2): number for number in numbers or list(originals) or ["00"]}
    for number, typed in wanted.items():
        if number not in originals:
            raise Stop(f"There is no lesson {typed}. The lessons in {NOTEBOOKS} are: {', '.join(originals) or 'none'}.")
    return [originals[number] for number in wanted]


def more(*numbers):
    """What there is beyond these lessons, or beyond all: notebooks/more/."""
    return [
        path for path in sorted(NOTEBOOKS.glob("more/[0-9][0-9]-*.ipynb")) if path.name[:2] in numbers or not numbers
    ]


def translations(language):
    """For each translated lesson, as 04: a function from its English notebook to the notebook in this language."""
    if language is None:
        return {}
    from tools import blocks  # here: course.py alone must be able to say that a Python is too old

    try:
        there = blocks.languages(ROOT / "translations")
        if language not in there:
            raise Stop(f"There is no translation into {language!r}. The languages are: {', '.join(there) or 'none'}.")
        texts = {number: blocks.read(path) for number, path in there[language].items()}
    except blocks.BadTranslation as error:
        raise Stop(str(error)) from error
    return {
        number: functools.partial(blocks.translated, blocks=text, language=language) for number, text in texts.items()
    }


def folder(language=None):
    """Where the learner's copies are: my-lessons/, or my-lessons-zh/."""
    return MINE.with_name(f"{MINE.name}-{language}") if language else MINE


def my_lessons(reset=None, language=None):
    """Copy the lessons that are missing in my-lessons/, without outputs: an answer appears when its cell is run.

    A lesson that is there stays; `reset` is set aside first. A copy is made under another name and
    then gets its own in one step, so that no interrupt leaves half a lesson. In another language, a lesson
    without a translation is copied in English.
    """
    copies, texts = folder(language), translations(language)
    translation = {original: texts.get(original.name[:2]) for original in lessons()}
    copies.mkdir(exist_ok=True)
    with alone(copies / ".lock"):
        for original in [*lessons(), *more()]:
            place = copies / original.parent.relative_to(NOTEBOOKS)
            for remains in place.glob(f".{original.name}.*.part"):  # of a copy that was killed: its beginning
                if without_outputs(original, translation.get(original)).startswith(remains.read_bytes()):
                    remains.unlink()
        if reset:
            set_aside(copies / reset.name, reset, translation[reset])
        for original in [*lessons(), *more()]:
            mine = copies / original.relative_to(NOTEBOOKS)
            part = mine.with_name(f".{original.name}.{uuid.uuid4().hex}.part")
            if not mine.exists():
                mine.parent.mkdir(exist_ok=True)
                try:
                    copy_without_outputs(original, part, translation.get(original))
                    put_in_place(part, mine)
                finally:
                    part.unlink(missing_ok=True)


def copy_without_outputs(original, copy, translate=None):
    """Write the notebook `original` to the file `copy` as if no cell had been run, and translated."""
    copy.write_bytes(without_outputs(original, translate))


def without_outputs(original, translate=None):
    """The bytes of a notebook as if no cell had been run, translated by `translate`, with lines for predictions."""
    from tools import predictions  # here: course.py alone must be able to say that a Python is too old

    language = translate.keywords["language"] if translate else "en"
    is_more = original.parent.name == "more"
    after = next((path.name for path in lessons() if path.name > original.name and not is_more), "")
    with reading(original):
        english = json.loads(original.read_text("utf-8"))
        notebook = translate(english) if translate else english
        predictions.to_fill_in(notebook, english, original.name, language, after, '".."' if is_more else "")
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell.update(execution_count=None, outputs=[])
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def set_aside(mine, original, translate=None):
    """Give the learner's copy of a lesson another name, unless nothing in it was changed."""
    if not mine.exists() or mine.read_bytes() == without_outputs(original, translate):
        return
    names = (mine.with_name(f"{mine.stem}.old{number}.ipynb") for number in range(1, 10**6))
    kept = next(name for name in names if not name.exists())
    mine.rename(kept)
    print(f"Your lesson is kept as {kept.parent.name}/{kept.name}")


def put_in_place(part, mine):
    """Give the finished copy its name in one step, but never in place of a file that has it already."""
    try:
        os.link(part, mine)
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        if not mine.exists():
            os.replace(part, mine)


def lab(python, options, extra):
    """Open JupyterLab at a lesson. Its root is the folder of the course, so that lessons find ../assets/."""
    first = lessons(options.reset or lessons()[0].name[:2])[0]
    place = NOTEBOOKS if options.originals else folder(options.language)
    if not options.originals:
        my_lessons(first if options.reset else None, options.language)
    quiet = ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    quiet.append(f"--LabApp.app_settings_dir={ROOT / 'assets' / 'lab'}")  # Markdown opens as a page: the glossary
    quiet.append(f"--LabApp.extra_labextensions_path={ROOT / 'assets' / 'lab' / 'extensions'}")  # what is done
    where = [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url=/lab/tree/{place.name}/{first.name}"]
    return run(python, "-m", "jupyterlab", *where, *quiet, *extra)


def workers():
    """How many processes run the tests: one for each core, if they have the memory."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        memory = 8e9
    return max(1, min(cores, int(memory / MEMORY), MOST_WORKERS))


def pytest(options, extra):
    """The arguments that run the tests: in several processes, unless an option of the user needs one process."""
    one = workers() == 1 or "no:xdist" in " ".join(extra) or any(re.fullmatch(ONE_PROCESS, word) for word in extra)
    arguments = ["-m", "pytest", *NBVAL, *LIMITS]
    if not one:
        arguments += ["-n", workers(), *DISTRIBUTION]
    if options.quick:
        arguments += ["-m", "not slow", "--ignore=notebooks", "--ignore=tests/browser"]  # slow as a whole
    if options.second_cpu:
        arguments += [*lessons(), *more()]
    return arguments + extra


def carry_out(arguments):
    """Carry out one command, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.allow_abbrev = False  # --reset-x may be for JupyterLab
    parser.add_argument("command", choices=["lab", *SCRIPTS, "test", "refresh"], help="other options go to its program")
    parser.add_argument("--reset", metavar="NN", help="lab: start this lesson again from the original")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--originals", action="store_true", help="lab: open notebooks/ itself, for authors")
    which.add_argument("--language", metavar="LL", help="lab, handout: the lessons in another language, such as zh")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--quick", action="store_true", help="test: only what is quick, in a few minutes")
    part.add_argument("--second-cpu", action="store_true", help="test: only the lessons, with other CPU instructions")
    parser.add_argument("--here", action="store_true", help="use this Python and its packages instead of .venv")
    first = "".join(arguments[:1])
    handed_on = {"--", "-h", "--help"} if first in SCRIPTS and is_whole(EXTRAS[first]) else {"--"}
    end = next((i for i, word in enumerate(arguments) if word in handed_on), len(arguments))
    options, extra = parser.parse_known_args(arguments[:end])
    extra += arguments[end + 1 :] if arguments[end : end + 1] == ["--"] else arguments[end:]
    for name, commands in BELONGS.items():
        if getattr(options, name) not in (None, False) and options.command not in commands:
            raise Stop(f"--{name.replace('_', '-')} is for {' and '.join(commands)}, not for {options.command}.")
    if options.originals and options.reset:
        raise Stop("--reset is for your own copies, and --originals opens none: leave one of them out.")
    check_python()
    translations(options.language)  # stops if there are none, before any work starts
    if options.here:
        needed = {"lab": "seqlearn, jupyterlab", "test": "seqlearn, nbval, xdist", "refresh": "nbclient, playwright"}
        needed |= {"book": "seqlearn, myst_nb, furo", "handout": "nbformat", "bench": "seqlearn"}
        needed |= {"mutate": "seqlearn, mutmut"}
        check_here(needed[options.command], EXTRAS.get(options.command))
    elif not is_whole(EXTRAS.get(options.command)):
        set_up(EXTRAS.get(options.command))
    python = sys.executable if options.here else PYTHON
    if options.command == "lab":
        return lab(python, options, extra)
    if options.command in SCRIPTS:
        spoken = ["--language", options.language] if options.language else []
        return run(python, *SCRIPTS[options.command], *["--quick"] * options.quick, *spoken, *extra)
    if options.command == "refresh":
        return run(python, "-m", "tools.refresh", *lessons(*extra), *more(*(number.zfill(2) for number in extra)))
    settings = {"PYTHONDONTWRITEBYTECODE": ""}  # what is compiled once spares each process 25 seconds
    if options.second_cpu:
        settings |= {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
    return run(python, *pytest(options, extra), **settings)


def main(arguments):
    """Carry out one command, or say in one sentence why not. Return the exit status."""
    try:
        return carry_out(arguments)
    except KeyboardInterrupt:
        print("\nInterrupted. To continue, run this command again.", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "tools":
            raise
        print(f"The folder {ROOT / 'tools'} is missing or not whole: get the whole course again.", file=sys.stderr)
        return 1
    except (Stop, OSError) as error:
        print(error if isinstance(error, Stop) else reason(str(error)) or f"The system says: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    if sys.version_info >= (3, 7) and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a path may have letters that the console's encoding lacks
    sys.exit(main(sys.argv[1:]))
