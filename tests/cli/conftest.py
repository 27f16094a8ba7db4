"""What tests of commands share: they run on the CPU, and some trainings end as soon as they know what is asked for."""

import pytest

from seqlearn.translator.translator import Translator


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("SEQLEARN_DEVICE", "cpu")  # and put back what --device sets
    monkeypatch.delenv("SEQLEARN_DEBUG", raising=False)


@pytest.fixture
def asked(monkeypatch):
    """What each training is asked for, with its translator and its split: it ends there."""
    seen = []

    def instead(self, split, **options):
        seen.append({"translator": self, "split": split, **options})
        raise ValueError("that is enough")

    monkeypatch.setattr(Translator, "fit", instead)
    return seen
