"""The versions that lesson 00 shows, which nbval does not compare: they stand in a picture."""

import platform

import torch

from seqlearn.exercises import lesson00


def test_versions_are_those_of_what_runs(monkeypatch):
    monkeypatch.setattr(lesson00, "PACKAGES", ["torch", "no-such-package"])
    system, *others = lesson00.versions()
    assert system[0] == "system" and platform.machine() in system[1]
    assert others[0] == ("Python", platform.python_version())
    assert others[1][1].split("+")[0] == torch.__version__.split("+")[0] and others[2][1] == "not installed"
    monkeypatch.undo()
    assert {"seqlearn", "torch", "jupyterlab", "anywidget"} <= {name for name, _ in lesson00.versions()}
