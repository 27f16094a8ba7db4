"""The check of lesson 00, and the versions that it shows."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from .checking import check, examine_row

PACKAGES = ["seqlearn", "torch", "jupyterlab", "anywidget", "ipywidgets", "matplotlib"]


@check("0.1", section="2. Where did it look?")
def check_looked_at(looked_at: object, attention) -> None:
    """Compare the word read off the picture with the row "fille" of the map."""
    examine_row(looked_at, attention, "fille")


def versions() -> list[tuple[str, str]]:
    """What the course runs on: name and version of the system, of Python and of the packages that matter most."""
    rows = [("system", f"{platform.system()} {platform.machine()}"), ("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            rows.append((name, version(name)))
        except PackageNotFoundError:
            rows.append((name, "not installed"))
    return rows
