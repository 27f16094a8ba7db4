"""Chromium, for all that looks at pages: the pictures of lessons and README, the benchmarks, and the tests."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")  # the first one starts quickest
# Whether all questions of the views in a page are answered, and the answers drawn and measured. While a question is
# open, the view is `aria-busy`; while its heads are not painted, the switches of the heads are.
SETTLED = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const isBusy = () => document.querySelector('.seqlearn[aria-busy=true], .seqlearn [aria-busy=true]') !== null;
    for (const end = Date.now() + 60_000; Date.now() < end; ) { // for what hangs, not for slow machines
        if (isBusy()) { await frame(); continue; }
        await frame(), await frame(); // what observes sizes, or what is in sight, looks
        await new Promise((go) => setTimeout(go));
        if (!isBusy()) return true;
    }
    return false;
}"""


class NoBrowserError(Exception):
    """No Chromium can be started."""


def program() -> str:
    """The path of Chromium.

    Raises:
        NoBrowserError: Chromium, or playwright, which drives it, is missing.
    """
    if importlib.util.find_spec("playwright") is None:
        raise NoBrowserError("playwright is not installed: python -m pip install playwright.")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise NoBrowserError(f"No browser was found: install Chromium, as one of {', '.join(NAMES)} on the path.")
    return found


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window, closed at the end.

    Raises:
        NoBrowserError: as `program`.
    """
    path = program()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()
