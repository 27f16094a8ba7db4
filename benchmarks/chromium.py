"""Chromium, for the benchmarks of pages."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from table import LeftOut

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window, closed at the end.

    Raises:
        LeftOut: playwright or the browser is missing.
    """
    if importlib.util.find_spec("playwright") is None:
        raise LeftOut("playwright is not installed: `.venv/bin/python -m pip install playwright`.")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise LeftOut(f"No browser was found: install Chromium, as one of {', '.join(NAMES)} on the path.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()
