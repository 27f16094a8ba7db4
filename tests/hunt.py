"""`course.py test --hunt 20`: which tests in a browser fail once in a while?

A test that presses, drags, types or waits for `settled` may look too early, and on a quiet machine nobody notices. So
each such test, and no other, runs N times beside processes that do nothing but work (`--load`, as many as there are
cores). What failed once is a defect of the test or of the view. Folders and files as for any run of pytest.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ACTS = re.compile(
    r"\.(?:press|press_sequentially|click|dblclick|tap|drag_to|drag_and_drop|hover|fill|type|check|uncheck|set_checked"
    r"|select_option|focus|dispatch_event|dispatchEvent)\(|\b(?:keyboard|mouse|touchscreen)\.|\bsettled\("
)
TRY = re.compile(r"-try\d+\b|\btry\d+-|\[try\d+\]")
BUSY = "import os, sys, threading\nthreading.Thread(target=lambda: (sys.stdin.read(), os._exit(0))).start()\nwhile 1: 0"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of a hunt."""
    group = parser.getgroup("hunt", "tests in a browser that fail once in a while")
    group.addoption("--hunt", metavar="N", type=int, default=0, help="run each test that acts in a browser N times")
    cores = os.cpu_count() or 1
    group.addoption("--load", metavar="L", type=int, default=cores, help="beside the hunt: L busy processes (cores)")


def pytest_configure(config: pytest.Config) -> None:
    """Begin a hunt, if one is asked for."""
    if config.option.hunt:
        config.pluginmanager.register(Hunt(config.option.hunt))
        if config.args_source == pytest.Config.ArgsSource.TESTPATHS:
            config.args = ["tests/browser"]
        if not hasattr(config, "workerinput"):
            for _ in range(config.option.load):
                busy = subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE)  # ends when the pipe does
                config.add_cleanup(busy.wait)
                config.add_cleanup(busy.kill)  # before: the last comes first


@pytest.fixture
def hunted() -> None:
    """Its parameter is the number of a try."""


@cache
def parts(file: Path) -> dict[str, str | Path]:
    """The text of each function and constant of a module, by name; for an import from a file beside it, that file."""
    lines, found = file.read_text("utf-8").splitlines(), {}
    for node in ast.parse("\n".join(lines)).body:
        start = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        text = "\n".join(lines[start - 1 : node.end_lineno])
        targets = getattr(node, "targets", [getattr(node, "target", node)])
        for target in targets:
            for one in [target, *getattr(target, "elts", [])]:
                found[getattr(one, "id", getattr(one, "name", ""))] = text
        beside = file.with_name(f"{(getattr(node, 'module', '') or '').rpartition('.')[2]}.py")
        if isinstance(node, ast.ImportFrom) and beside.exists():
            found.update({each.name: beside for each in node.names})
    return found


def acts(name: str, file: Path) -> bool:
    """Whether a test, or a function, a fixture or a constant that it uses, acts in a browser."""
    reached = [(name, file)]
    for name, file in reached:  # grows
        text = parts(file).get(name, "")
        if isinstance(text, Path):
            further = [(name, text)]
        elif ACTS.search(text):
            return True
        else:
            words = set(re.findall(r"\w+", text))
            further = [(other, file) for other in parts(file) if other in words]
        reached += [each for each in further if each not in reached]
    return False


class Hunt:
    """The hooks of a hunt."""

    def __init__(self, times: int):
        self.times, self.tried, self.failed = times, set[str](), defaultdict[str, list[str]](list)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Each test that acts runs several times, with fresh fixtures."""
        file = metafunc.definition.path
        if "browser" in file.parts and acts(metafunc.definition.originalname, file):
            metafunc.fixturenames.append("hunted")
            names = [f"try{number}" for number in range(self.times)]
            metafunc.parametrize("hunted", names, ids=names, indirect=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """All other tests stay out."""
        others = {item for item in items if "hunted" not in getattr(getattr(item, "callspec", None), "params", {})}
        config.hook.pytest_deselected(items=list(others))
        items[:] = [item for item in items if item not in others]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a try: in the process that reports."""
        name = TRY.sub("", report.nodeid)
        self.tried.add(name)
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash else report.longreprtext
            self.failed[name].append((text.strip().splitlines() or [""])[0])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List what failed once."""
        terminalreporter.section("hunt")
        for name, messages in sorted(self.failed.items(), key=lambda each: -len(each[1])):
            terminalreporter.write_line(f"{len(messages)} of {self.times}: {name}: {messages[0]}")
        terminalreporter.write_line(f"{len(self.tried)} tests x {self.times}: {len(self.failed)} failed at least once")
