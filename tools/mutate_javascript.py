"""The JavaScript side of `course.py mutate`: Stryker makes the mutants of a file of the model in the page.

Stryker's own runners know nothing of pytest, so its instrumenter only says what to change. The tests, in
tests/javascript/, are imported once, and the process is forked for each mutant: its Node.js reads the changed file.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

STRYKER = "@stryker-mutator/instrumenter@9.6.1"  # the last one for Node 20
SIDES = ("start", "end")
FILES = {  # what runs without a page, and who tests it
    "views/live/*.js": ["test_live_model.py"],
    "views/shared/address.js": ["test_address.py"],
    "views/shared/link_states.js": ["test_address.py"],
    "views/shared/kernels.js": ["test_functions.py"],
    "views/steps/steps_numbers.js": ["test_functions.py"],
}
TEXT = "test_text_is_read_as_in_python"
LONG = "every_translation"  # all sentences of the test part


def tests_of(module: Path) -> list[str]:
    """The test files of a module of JavaScript."""
    names = next(names for files, names in FILES.items() if module.match(files))
    return [f"tests/javascript/{name}" for name in names]


class Stop(Exception):
    """Ends the program with one sentence and exit status 2."""


def changes(module: Path) -> dict[str, str]:
    """Every mutant of a file of the copy in the current folder: its name, and the whole file with the change."""
    if not (shutil.which("npm") and shutil.which("node")):
        raise Stop("Stryker, which makes mutants of JavaScript, needs Node.js with npm.")
    shutil.copy(Path(__file__).with_name("stryker.mjs"), ".")
    Path("package.json").write_text("{}", "utf-8")
    for command in (["npm", "install", "--no-audit", "--no-fund", STRYKER], ["node", "stryker.mjs", str(module)]):
        program = shutil.which(command[0]) or ""
        done = subprocess.run([program, *command[1:]], capture_output=True, encoding="utf-8", check=False)
        if done.returncode:
            raise Stop(f"{done.stderr[-2000:]}\nStryker could not be installed or run.")
    source, starts, made = module.read_text("utf-8"), [0], {}
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for mutant in json.loads(done.stdout):
        start, end = (starts[mutant["location"][side]["line"]] + mutant["location"][side]["column"] for side in SIDES)
        made[f"{mutant['mutatorName']}_{mutant['id']}"] = source[:start] + mutant["replacement"] + source[end:]
    return made


def statuses(module: Path, texts: dict[str, str], settings: dict[str, str]) -> dict[str, str]:
    """What became of each mutant, given by its name and the file with the change."""
    questions, answers = Path("texts.json").resolve(), Path("statuses.json").resolve()
    questions.write_text(json.dumps(texts), "utf-8")
    command = [sys.executable, __file__, str(module), str(questions), str(answers)]  # with the copy on its path
    if subprocess.run(command, cwd="mutants", env=os.environ | settings, check=False).returncode:
        raise Stop(f"{module}: the tests of the model in the page must pass without a mutant.")
    return json.loads(answers.read_text("utf-8"))


def serve(module: Path, texts: dict[str, str]) -> dict[str, str]:
    """Import the tests once, and fork a process for each mutant."""
    import pytest

    chosen = f"not ({LONG})" if module.stem == "text" else f"not ({TEXT} or {LONG})"
    arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:unraisableexception", *tests_of(module), "-k", chosen]
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    pytest.main(["--collect-only", *arguments])
    start = time.monotonic()
    if outcome(pytest, arguments, 600) != "survived":
        sys.exit(1)
    limit, found = 30 + 3 * (time.monotonic() - start), {}
    for name, text in texts.items():
        module.write_text(text, "utf-8")
        found[name] = outcome(pytest, arguments, limit)
    return found


def outcome(pytest, arguments: list[str], limit: float) -> str:
    """Run the tests in a fork, with a Node.js of its own, for so many seconds at most."""
    child = os.fork()
    if not child:
        os.setsid()
        os._exit(int(pytest.main(arguments)))
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "killed" if status else "survived"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


if __name__ == "__main__":
    name, questions, answers = sys.argv[1:]
    given = json.loads(Path(questions).read_text("utf-8"))
    Path(answers).write_text(json.dumps(serve(Path(name), given)), "utf-8")
