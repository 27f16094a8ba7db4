"""What all tests share. pytest loads this file before seqlearn, so that annotated shapes are checked in every call.

The grammar is left out: it has no shapes, and its 30,000 pairs take 3 seconds without the checks, 40 with them.
"""

import os
import signal
import sys
from pathlib import Path

import hypothesis
import jaxtyping
import pytest

HOOK = jaxtyping.install_import_hook("seqlearn", "typechecker.check").hook
OURS = HOOK.should_instrument
HOOK.should_instrument = lambda module: OURS(module) and not module.startswith("seqlearn.data.grammar")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts a command in the background like this
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("untimed", deadline=None)  # a busy machine is no fault
hypothesis.settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Use one thread: tiny models run faster on it, and sums are the same on every machine."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seed(one_thread):
    """Start each test from the same random numbers, whatever ran before it."""
    import torch

    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def closed():
    """Close what a test has drawn: open figures of many tests in one process are a warning in one that drew none."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the real corpora, `SEQLEARN_DATA`. Without one, a test that asks for it is skipped."""
    folder = os.environ.get("SEQLEARN_DATA")
    if not folder:
        pytest.skip("SEQLEARN_DATA names no folder")
    return Path(folder)


@pytest.fixture(scope="session")
def parts():
    """The three parts of the whole built-in corpus."""
    from seqlearn.data import builtin

    return builtin().split()


@pytest.fixture
def as_a_user(monkeypatch):
    """Switch the checks of shapes off, as for learners: for tests of the package's own messages about wrong shapes."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def import_benchmark(monkeypatch):
    """Benchmarks import each other by short names, which no other test may see."""
    benchmarks = Path(__file__).parents[1] / "benchmarks"
    before = set(sys.modules)
    monkeypatch.syspath_prepend(benchmarks)
    yield __import__
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "").parent == benchmarks:
            del sys.modules[name]
