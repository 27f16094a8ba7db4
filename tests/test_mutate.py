"""`course.py mutate` on a course of two modules: what survives, what is equivalent, what is never changed."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools import mutate

pytest.importorskip("mutmut", reason="mutmut needs fork, which Windows does not have")

TINY = '''
class Counter:
    """Counts."""

    def add(self, number, *others):
        if self.total < 0:
            raise ValueError("a negative number")
        return self.total + number

    total = 3


def larger(one, other):
    return one if one > other else other


def unseen(one, other):
    return [a - b for a, b in zip(one, other, strict=True)]
'''
TESTS = """
from seqlearn.tiny import Counter, larger, unseen

def test_counter():
    assert Counter().add(2) == 5
    counter = Counter()
    counter.total = 0
    assert counter.add(1) == 1

def test_larger():
    assert larger(1, 2) == larger(2, 1) == 2

def test_that_asserts_nothing():
    unseen([1], [2])
"""
EQUIVALENTS = """
[["seqlearn/tiny.py"]]
line = "return one if one > other else other"
becomes = ["return one if one >= other else other", "return one if one < other else other"]
why = "of two equal numbers each is the larger"
"""


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course with the module `tiny`, its tests, and a module without tests."""
    for folder in ("seqlearn/part", "tests", "tools"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("__init__.py", "mutate.py", "mutate_javascript.py", "stryker.mjs"):
        shutil.copy(Path(mutate.__file__).with_name(name), tmp_path / "tools")
    texts = {"seqlearn/tiny.py": TINY, "tests/test_tiny.py": TESTS, "tests/equivalents.toml": EQUIVALENTS}
    texts |= {"seqlearn/__init__.py": "", "seqlearn/part/untested.py": "", "pyproject.toml": ""}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    monkeypatch.setattr(mutate, "EQUIVALENTS", tmp_path / "tests" / "equivalents.toml")
    return tmp_path


def call(course, *arguments):
    settings = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COV"))}
    command = [sys.executable, "-m", "tools.mutate", *arguments]
    return subprocess.run(command, cwd=course, env=settings, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.slow
def test_a_survivor_is_told_with_its_line(course):
    before = {path: path.read_bytes() for path in course.rglob("*") if path.is_file()}
    told = call(course, "tiny")
    assert told.returncode == 1, told.stderr
    line = "    return [a - b for a, b in zip(one, other, strict=True)]"
    place = f"seqlearn/tiny.py:{TINY.splitlines().index(line) + 1}"
    assert f"survived: {place}  x_unseen__mutmut_1\n-{line}\n+{line.replace('a - b', 'a + b')}\n" in told.stdout
    assert "no such mutant, in equivalents.toml: return one if one > other else other -> return one if" in told.stdout
    assert told.stdout.count("survived: ") == told.stdout.count("no such mutant") == 1
    counts = re.search(r": (\d+) drawn, (\d+) caught \(0 by a timeout\), 1 survived, 1 equivalent", told.stdout)
    assert counts and int(counts[1]) == int(counts[2]) + 2 > 6
    assert before == {path: path.read_bytes() for path in before}


def test_every_mutant_has_its_line_and_no_noise_is_drawn(course):
    with mutate.copy_for(Path("seqlearn/tiny.py")):
        mutants = mutate.mutants_of(Path("seqlearn/tiny.py"))
    assert len(mutants) == len({mutant.name for mutant in mutants}) > 6
    lines = ["", *TINY.splitlines()]
    for mutant in mutants:
        assert lines[int(mutant.place.partition(":")[2])] == mutant.old != mutant.new
    assert not [mutant for mutant in mutants if "raise" in mutant.old]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("model.load(weights, strict=True)", "model.load(weights, strict=False)"),
        ("causal_mask(3, x.device)", "causal_mask(x.device)"),
        ('write_text(x, encoding="utf-8", newline="\\n")', 'write_text(encoding="utf-8", newline="\\n")'),
        ('f(cast("nn.Module", x), 3)', 'f(cast("nn.Module", None), 3)'),
        ('need_tensor("scores", scores)', 'need_tensor("scores", None)'),
        ("Linear(3, bias=False)", "Linear(3, bias=True)"),
        ("Linear(3, bias=False)", "Linear(3, )"),
    ],
)
def test_a_change_of_what_is_computed_is_no_noise(old, new):
    assert not mutate.Mutant("name", "place", old, new).is_noise()


def test_every_equivalent_is_a_line_of_its_module_and_has_a_reason():
    for name, entries in tomllib.loads(mutate.EQUIVALENTS.read_text(encoding="utf-8")).items():
        source = mutate.squeeze((mutate.ROOT / name).read_text(encoding="utf-8"))
        for entry in entries:
            assert mutate.squeeze(entry["line"]) in source, f"{name} has no line {entry['line']}"
            assert entry["why"].endswith(".") and entry["line"] not in entry["becomes"] != []


def test_a_module_is_named_by_the_end_of_its_path(course):
    for name in ("seqlearn/tiny.py", "tiny.py", "tiny"):
        assert mutate.modules(name) == [Path("seqlearn/tiny.py")]
    assert mutate.modules("seqlearn/part/") == mutate.modules("part") == [Path("seqlearn/part/untested.py")]
    with pytest.raises(mutate.Stop, match="There is no module or folder iny in"):
        mutate.modules("iny")
    assert mutate.tests_of(Path("seqlearn/tiny.py")) == ["tests/test_tiny.py"]
    assert mutate.tests_of(Path("seqlearn/nn/cache.py")) == mutate.TESTS["nn/cache"]
    assert mutate.tests_of(Path("seqlearn/search/beam.py")) == mutate.TESTS["search"]
    with pytest.raises(mutate.Stop, match="There is no tests/part/test_untested"):
        mutate.tests_of(Path("seqlearn/part/untested.py"))
    (course / "tests" / "part").mkdir()
    (course / "tests" / "part" / "test_all.py").touch()
    assert mutate.tests_of(Path("seqlearn/part/untested.py")) == ["tests/part/test_all.py"]
