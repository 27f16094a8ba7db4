"""`hunt.py`: what it takes, what it finds, and its load."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[1]
SMALL = """
import time
from pathlib import Path
from unittest.mock import MagicMock
import pytest
from browser.pointing import presses

TRIED, PRESSES = [], {"x": lambda page: page.press("x")}

@pytest.fixture
def page():
    return MagicMock()

@pytest.fixture
def opened(page):
    page.keyboard.type("x")

def opens(page):
    page.click("x")

@pytest.mark.parametrize("other", ["a-b", "c"])
def test_fails_the_second_time(page, other):
    opens(page)
    TRIED.append(other)
    assert TRIED.count("a-b") != 2 or other == "c", "too early"

def test_by_a_constant(page):
    PRESSES["x"](page)

def test_by_a_fixture(opened):
    pass

def test_by_an_import(page):
    presses(page)

def test_looks_alone(page):
    assert False

if Path("sleeps").exists():
    def test_sleeps(page):
        settled(time.sleep(60))

def settled(_):
    pass
"""


@pytest.fixture
def hunt(tmp_path):
    """The command of a hunt in a folder with a few tests."""
    (tmp_path / "browser").mkdir()
    (tmp_path / "browser/test_small.py").write_text(SMALL)
    (tmp_path / "browser/pointing.py").write_text("def presses(page):\n    page.press('x')\n")
    (tmp_path / "test_elsewhere.py").write_text(SMALL)
    return [sys.executable, "-m", "pytest", "-p", "tests.hunt", "-p", "no:cacheprovider", "--load=2", "--hunt", "3"]


def options(tmp_path):
    return {
        "cwd": tmp_path,
        "env": os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    }


@pytest.mark.slow
def test_a_test_that_fails_once_is_listed_and_one_that_never_acts_is_not_taken(hunt, tmp_path):
    for workers in ([], ["-p", "xdist.plugin", "-n", "1"]):
        said = subprocess.run([*hunt, *workers], capture_output=True, text=True, **options(tmp_path)).stdout
        assert "1 of 3: browser/test_small.py::test_fails_the_second_time[a-b]: AssertionError: too early" in said
        assert "5 tests x 3: 1 failed at least once" in said and "1 failed, 14 passed" in said


@pytest.mark.slow
def test_the_load_ends_with_the_run_that_is_killed(hunt, tmp_path):
    (tmp_path / "sleeps").touch()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*hunt, "-s"], **pipes, **options(tmp_path)) as run:
        assert any("test_small" in line for line in iter(run.stdout.readline, ""))
        load = psutil.Process(run.pid).children()
        run.kill()
        assert len(load) == 2 and not psutil.wait_procs(load, timeout=60)[1]
