"""The pictures of views that lessons store, for readers without a kernel: what each view itself draws, in Chromium.

All are taken alike: light, without motion, in the width of a lesson, and when the view has settled. A view is drawn
from its record (`View.record`), by the same files as in the book (`seqlearn/views/stored.py`).
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from seqlearn.views.shared.types import Data
from seqlearn.views.stored import document, shared_files
from tools.browser import SETTLED, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTH, HEIGHT = 960, 1000  # of the window; a picture is as high as its view
SCALE = 2  # pixels of a picture for each pixel of the page
WHOLE: dict[str, Data] = {
    "BeamView": {"step": 10_000}
}  # a lesson may show the first step; a picture has the whole tree
ONLY_IN_PAGES = "document.querySelector('.linking').remove()"  # "copy link", which a picture cannot do


@contextlib.contextmanager
def studio() -> Iterator[Callable[[Data], Page]]:
    """A browser, and what opens a record in it, ready to be taken: one page, for one record after another.

    Raises:
        NoBrowserError: there is none.
        ValueError: of a record that no view can draw; it says which.
    """
    wrong: list[str] = []
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for name, content in shared_files().items():
            Path(folder, name).write_bytes(content if isinstance(content, bytes) else content.encode())
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT},
            device_scale_factor=SCALE,
            color_scheme="light",
            reduced_motion="reduce",
        )
        page.on("pageerror", lambda error: wrong.append(str(error)))

        def show(record: Data) -> Page:
            state = record["state"] | WHOLE.get(record["class"], {})
            path = Path(folder, f"{record['cell']}-{record['output']}.html")
            path.write_text(document(record | {"state": state}), encoding="utf-8")
            wrong.clear()
            page.goto(path.as_uri())
            if not page.evaluate(SETTLED) or wrong:
                raise ValueError(f"{record['repr']} cannot be drawn: {' '.join(wrong) or 'a question has no answer'}")
            page.evaluate(ONLY_IN_PAGES)
            return page

        yield show


def taken(records: Iterable[Data]) -> Iterator[bytes]:
    """The picture of each record, as the bytes of a PNG file."""
    with studio() as show:
        for record in records:
            yield show(record).locator("#view").screenshot()
