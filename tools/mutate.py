"""Break a module on purpose, and see which breaks no test notices: `python3 course.py mutate masking`.

mutmut changes one thing in one function: a mutant. It imports the tests once, and forks this process for each mutant,
so that a mutant takes about a second; a new process takes eight. Each mutant meets the tests that run its function,
among those of its room (`tests_of`), until one fails. All this happens in a copy of the course, so that an interrupt
leaves no mutant behind.

A mutant that survives needs a test, or an entry in tests/equivalents.toml with the reason why no test can see it.
"""

import argparse
import ast
import contextlib
import fnmatch
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tools import mutate_javascript as javascript
from tools.mutate_javascript import Stop

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENTS = ROOT / "tests" / "equivalents.toml"
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "my-lessons*", "site", "node_modules")
TESTS = {  # besides tests/FOLDER/test_NAME.py: of a module, or else of its room
    "data/text": ["tests/translator/test_shared_vocab.py", "tests/translator/test_marian.py"],
    "data/batches": ["tests/data/large/test_cache.py", "tests/data/test_max_tokens.py"],
    "search": ["tests/search/test_search.py"],
    "nn/attention": ["tests/nn/test_multihead.py"],
    "nn/cache": ["tests/nn/test_transformer.py", "tests/nn/test_decoder_only.py"],
    "nn/masking": ["tests/nn/test_attention.py"],
    "analysis/edits": ["tests/translator/test_whatif.py", "tests/analysis/test_measures.py"],
    "views/answers": ["tests/views/test_translator_view.py", "tests/views/test_patch_view.py"],
    "views/steps": ["tests/views/test_attention_steps.py"],
    "training/losses": ["tests/training/test_loop.py"],
}
NOISE = [  # changes that are not drawn: what is taken out of a line before it is compared with its mutant
    (r"(\bzip\(.*),\s*strict=\w+", r"\1"),  # a guard against faults of our own, which equal lengths never show
    (r",?\s*(device=)?[\w.]*\b(device|None)\b", ""),  # seen with a GPU alone, which does not survive a fork
    (r"\b(False|None)\b", ""),  # both are false
    (r"\bcast\([^,()]*,", "cast("),  # for type checkers alone
    (r',?\s*\b(encoding|newline)="[\w\\-]*"', ""),  # seen on Windows alone, but for a name that is spelled UTF-8
    (r'(\b(whole|(need|check|as)_\w+)\()"[^"]*"', r"\1"),  # the name of an argument, in a message
]
SETTINGS = """
[tool.mutmut]
source_paths = ["seqlearn"]
process_isolation = "forkserver"  # torch has threads, which a fork after the first test would lose
pytest_add_cli_args = ["-p", "no:cacheprovider", "-p", "no:unraisableexception"]  # which collects garbage six times
pytest_add_cli_args_test_selection = {tests}
timeout_constant = 20.0  # seconds, besides the time of the tests without their fixtures; a timeout counts as caught
timeout_multiplier = 3.0
use_setproctitle = false
do_not_mutate_patterns = ['\\braise \\w', 'warnings\\.warn']  # tests quote the part of a message that matters
"""


@dataclass(frozen=True)
class Mutant:
    """One change: its name for mutmut, where it is, and the changed lines before and after."""

    name: str
    place: str
    old: str
    new: str
    text: str = ""  # of JavaScript: the whole file

    def __str__(self) -> str:
        signed = [f"-{line}" for line in self.old.splitlines()] + [f"+{line}" for line in self.new.splitlines()]
        return "\n".join([f"{self.place}  {self.name.rpartition('.')[2]}", *signed])

    def is_noise(self) -> bool:
        """Whether the change is one that is not drawn."""
        texts = (self.old, self.new)
        without = [[re.sub(r",\s*\)", ")", re.sub(*noise, text)) for text in texts] for noise in NOISE]
        return any(old == new for old, new in without)


def modules(place: str) -> list[Path]:
    """The modules that `place` names, from the folder of the course: a file, a folder, or how their paths end."""
    wanted = place.removesuffix(".py").removesuffix(".js").strip("/").removeprefix("seqlearn/")
    wildcards = javascript.FILES if place.endswith(".js") else ["*.py"]
    found = [path.relative_to(ROOT) for wild in wildcards for path in sorted((ROOT / "seqlearn").rglob(wild))]
    room = [] if place.endswith((".py", ".js")) else [path for path in found if path.parent == Path("seqlearn", wanted)]
    for named in (
        room,
        [path for path in found if f"/{path.with_suffix('').as_posix()}".endswith(f"/{wanted}")],
        [path for path in found if f"/{path.parent.as_posix()}".endswith(f"/{wanted}")],
    ):
        if named:
            return named
    raise Stop(f"There is no module or folder {place} in {ROOT / 'seqlearn'}.")


def tests_of(module: Path) -> list[str]:
    """The test files of a module; of a module without its own, all test files of its room."""
    if module.suffix == ".js":
        return javascript.tests_of(module)
    name = module.with_suffix("").relative_to("seqlearn")
    own = Path("tests", name.parent, f"test_{name.name}.py")
    if name.parts[0] == "exercises":
        own = Path("tests", "lessons", own.name)
    elif name.parts[0] == "views" and len(name.parts) == 3:  # a folder for each view, and one file of tests
        own = Path("tests", "views", f"test_{name.parts[1]}_view.py")
    more = TESTS.get(name.as_posix(), TESTS.get(name.parent.as_posix(), []))
    files = [own.as_posix()] * (ROOT / own).exists() + more
    files = files or [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / own.parent).glob("test_*.py"))]
    if not files:
        raise Stop(f"There is no {own.as_posix()}, and TESTS in tools/mutate.py has no line for {name.as_posix()}.")
    return files


@contextlib.contextmanager
def copy_for(module: Path):
    """A copy of the course as mutmut wants it, in the current folder: the module, and the whole course in mutants/."""
    with tempfile.TemporaryDirectory(prefix="seqlearn-mutants-") as name:
        folder = Path(name).resolve()
        shutil.copytree(ROOT, folder / "mutants", ignore=NOT_COPIED)
        (folder / module).parent.mkdir(parents=True)
        shutil.copy2(ROOT / module, folder / module)
        settings = SETTINGS.format(tests=json.dumps(tests_of(module)))
        text = (ROOT / "pyproject.toml").read_text("utf-8") + settings
        (folder / "pyproject.toml").write_text(text, "utf-8")
        with contextlib.chdir(folder):
            yield


def mutants_of(module: Path) -> list[Mutant]:
    """Every mutant of a module, without the noise."""
    if module.suffix == ".js":
        return javascript_mutants(module)
    from mutmut.mutation.file_mutation import mutate_file_contents

    source = module.read_text("utf-8")
    made, first = mutate_file_contents(str(module), source), first_lines(source)
    lines, spans, mutants = made.code.splitlines(), made.line_span_by_function_name, []

    def body(name: str, original: str) -> list[str]:
        span = spans[name]
        return [line.replace(name, original) for line in lines[span.start - 1 : span.end]]

    for name in made.mutant_names:
        mangled = name.partition("__mutmut_")[0]
        function = re.split("ǁ|^x_", mangled)[-1]
        old, new = body(f"{mangled}__mutmut_orig", function), body(name, function)
        head = next(i for i, line in enumerate(old) if re.match(rf"\s*(async )?def {function}\b", line))
        start, *changed = changed_lines(old, new)
        full = ".".join([*module.with_suffix("").parts, name])
        mutants.append(Mutant(full, f"{module.as_posix()}:{first[mangled] + start - head}", *changed))
    return [mutant for mutant in mutants if not mutant.is_noise()]


def javascript_mutants(module: Path) -> list[Mutant]:
    """Every mutant that Stryker makes of a file of the model in the page."""
    source, mutants = module.read_text("utf-8"), []
    for name, text in javascript.changes(module).items():
        start, old, new = changed_lines(source.splitlines(), text.splitlines())
        mutants.append(Mutant(name, f"{module.as_posix()}:{start + 1}", old, new, text))
    return mutants


def changed_lines(old: list[str], new: list[str]) -> tuple[int, str, str]:
    """The index of the first line in which two texts differ, and the lines that differ in each."""
    start = in_common(old, new)
    end = in_common(old[start:][::-1], new[start:][::-1])
    return start, "\n".join(old[start : len(old) - end]), "\n".join(new[start : len(new) - end])


def in_common(one: list[str], other: list[str]) -> int:
    """How many lines at the start of two texts are equal."""
    return sum(1 for _ in itertools.takewhile(lambda lines: lines[0] == lines[1], zip(one, other, strict=False)))


def first_lines(source: str) -> dict[str, int]:
    """The line of each function and method, by mutmut's name for it."""
    body = ast.parse(source).body
    found = {f"x_{node.name}": node.lineno for node in body if isinstance(node, ast.FunctionDef)}
    for owner in (node for node in body if isinstance(node, ast.ClassDef)):
        methods = [node for node in owner.body if isinstance(node, ast.FunctionDef)]
        found |= {f"xǁ{owner.name}ǁ{node.name}": node.lineno for node in methods}
    return found


def equivalents(module: Path, mutants: list[Mutant]) -> tuple[set[str], list[str]]:
    """The names of the mutants that no test can see, and the entries of the list that fit no mutant of the module."""
    entries = tomllib.loads(EQUIVALENTS.read_text("utf-8")).get(module.as_posix(), [])
    names, stale = set(), []
    for entry in entries:
        for new in entry["becomes"]:
            fit = {
                mutant.name
                for mutant in mutants
                if (squeeze(mutant.old), squeeze(mutant.new)) == (squeeze(entry["line"]), squeeze(new))
            }
            names |= fit
            stale += [] if fit else [f"{entry['line']} -> {new}"]
    return names, stale


def squeeze(text: str) -> str:
    """A text without indentation and line ends."""
    return " ".join(text.split())


def statuses(module: Path, mutants: list[Mutant], processes: int) -> dict[str, str]:
    """Run the tests on each mutant, in the current folder: what became of it, by its name."""
    path = os.pathsep.join([str(Path("mutants").resolve()), os.environ.get("PYTHONPATH", "")])
    settings = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    settings |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # a third of a second for each mutant
    if module.suffix == ".js":
        return javascript.statuses(module, {mutant.name: mutant.text for mutant in mutants}, settings)
    from mutmut.stats import status_by_exit_code

    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(processes), *(one.name for one in mutants)]
    with open("mutmut.log", "w+", encoding="utf-8") as log:
        done = subprocess.run(command, env=os.environ | settings, stdout=log, stderr=subprocess.STDOUT, check=False)
        log.seek(0)
        if done.returncode:
            raise Stop(f"{log.read()[-3000:]}\n{module}: mutmut stopped; the tests must pass without a mutant.")
    codes = json.loads(Path("mutants", f"{module}.meta").read_text("utf-8"))["exit_code_by_key"]
    return {mutant.name: status_by_exit_code[codes[mutant.name]] for mutant in mutants}


def try_module(module: Path, options: argparse.Namespace) -> bool:
    """Try the mutants of one module and print what was found. Return whether nothing is left to do."""
    with copy_for(module):
        made = mutants_of(module)
        harmless, stale = equivalents(module, made)
        drawn = [
            one
            for one in made
            if not options.only or any(fnmatch.fnmatch(one.name, f"*{only}") for only in options.only)
        ]
        if options.sample < len(drawn):
            drawn = sorted(random.Random(options.seed).sample(drawn, options.sample), key=made.index)
        wanted = [mutant for mutant in drawn if mutant.name not in harmless]
        print(f"{module}: {len(drawn)} of {len(made)} mutants, with {' '.join(tests_of(module))}", flush=True)
        start = time.monotonic()
        found = statuses(module, wanted, options.processes) if wanted else {}
    seconds = (time.monotonic() - start) / max(1, len(wanted))
    left = [mutant for mutant in wanted if found[mutant.name] in ("survived", "no tests", "not checked")]
    for mutant in wanted:
        if mutant in left or found[mutant.name] != "killed":
            print(f"\n{found[mutant.name]}: {mutant}")
    for entry in stale:
        print(f"\nno such mutant, in {EQUIVALENTS.name}: {entry}")
    counts = Counter(found.values())
    print(
        f"\n{module}: {len(drawn)} drawn, {len(wanted) - len(left)} caught ({counts['timeout']} by a timeout), "
        f"{len(left)} survived, {len(drawn) - len(wanted)} equivalent, {seconds:.1f} s each\n",
        flush=True,
    )
    return not left and not stale


def main(arguments: list[str]) -> int:
    """Carry out the command, and return the exit status: 1 if a mutant survived."""
    parser = argparse.ArgumentParser(
        prog="course.py mutate", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("place", nargs="+", help="a module or a folder of seqlearn/: nn/masking.py, masking, training")
    parser.add_argument("--sample", type=int, default=10**9, metavar="N", help="draw N mutants of each module")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn (default: 0)")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="only mutants with these names; * stands for anything"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many mutants at once")
    options = parser.parse_args(arguments)
    try:
        if not hasattr(os, "fork"):
            raise Stop("mutmut forks a process for each mutant, which Windows cannot: use Linux, macOS or WSL.")
        chosen = [module for place in options.place for module in modules(place)]
        for module in chosen:
            tests_of(module)
        done = [try_module(module, options) for module in chosen]
        return 0 if all(done) else 1
    except Stop as stop:
        print(stop, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
