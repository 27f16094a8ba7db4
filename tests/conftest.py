"""What all tests share. It is loaded before seqlearn, so that every annotated shape is checked in every call."""

import os
from pathlib import Path

import jaxtyping
import pytest

jaxtyping.install_import_hook("seqlearn", "typechecker.check")


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Tiny models run faster on one thread, and sums come out the same on every machine."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seed(one_thread):
    """Each test starts from the same random numbers, whatever ran before it."""
    import torch

    torch.manual_seed(0)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the real corpora, `SEQLEARN_DATA`; a test that asks for it is skipped where there is none."""
    folder = os.environ.get("SEQLEARN_DATA")
    if not folder:
        pytest.skip("SEQLEARN_DATA names no folder")
    return Path(folder)


@pytest.fixture
def as_a_user(monkeypatch):
    """Without the checks of shapes, as learners run it: for tests of the package's own messages about wrong shapes."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
