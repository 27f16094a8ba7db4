"""Chromium, for the benchmarks of pages."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from table import LeftOut

sys.path.append(str(Path(__file__).parents[1]))  # for tools, which is not installed
from tools import browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window, closed at the end.

    Raises:
        LeftOut: playwright or the browser is missing.
    """
    try:
        browser.program()
    except browser.NoBrowserError as missing:
        raise LeftOut(str(missing)) from None
    with browser.chromium() as one:
        yield one
