"""The model in the page: how large it is, how soon it is ready, how fast it answers: python benchmarks/live.py

A page with nothing but the packed model of the course is opened from a file in Chromium, again and again. "Ready" is
the time from the start of the navigation to the moment when the model can answer; the first answer still waits for the
browser's compiler. Each line has the median and the largest of several runs, in milliseconds; the goals are for the
medians on a quiet machine. The benchmark needs playwright, one of the test requirements, and a browser.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqlearn.translator import Translator
from seqlearn.views.gallery import FRENCH, SENTENCE
from seqlearn.views.live.weights import live_javascript, live_model
from seqlearn.views.shared.page import page_of, safe_json

if TYPE_CHECKING:
    from playwright.sync_api import Page

LOADS, ROUNDS = 10, 30
GOALS = {"ready": 500, "greedy, 11": 60, "beam 4": 150}  # milliseconds, in a worker
SCRIPT = """
window.load = async (worker) => {
    const text = document.getElementById("model").textContent;
    window.live = liveModel(JSON.parse(text), { worker });
    await live.ready;
    return performance.now();
};
window.clock = async (kind, question, count) => {
    const times = [];
    for (let i = 0; i < count; i++) {
        const start = performance.now();
        await live.ask(kind, question);
        times.push(performance.now() - start);
    }
    return times;
};"""


def report(name: str, times: list[float]) -> None:
    """One line of the table."""
    goal = next((f"goal {most}" for part, most in GOALS.items() if name.startswith(f"worker: {part}")), "")
    print(f"{name:52} {statistics.median(times):7.1f} {max(times):7.1f}  {goal}")


def clocked(page: Page, question: dict[str, Any], count: int = ROUNDS, kind: str = "translated") -> list[float]:
    """Milliseconds of some answers; more than one come after three that are not counted."""
    ask = "([kind, question, count]) => clock(kind, question, count)"
    if count > 1:
        page.evaluate(ask, [kind, question, 3])
    return page.evaluate(ask, [kind, question, count])


def page_text() -> str:
    """The page with the packed model; prints the sizes of its parts."""
    model = live_model(Translator.pretrained("transformer", "cpu"))
    assert model is not None
    state = f'<script type="application/json" id="model">{safe_json(model)}</script>'
    text = page_of("live", "", f'{state}\n<script type="module">{live_javascript()}{SCRIPT}</script>')
    languages = safe_json({side: model[side] for side in ("source", "target")})
    parts = {"weights": model["weights"], "languages": languages, "script": live_javascript(), "all": text}
    print("bytes:", ", ".join(f"{name} {len(part.encode()):,}" for name, part in parts.items()))
    return text


def measure(open_page: Callable[[], Page], worker: bool) -> None:
    """All times of the model in a worker, or on the thread of the page."""
    where, ready, first = "worker" if worker else "page", [], []
    for _ in range(LOADS):
        page = open_page()
        ready.append(page.evaluate("load", worker))
        first += clocked(page, {"sentence": SENTENCE}, 1)
    report(f"{where}: ready, from the start of the navigation", ready)
    report(f"{where}: first answer, greedy", first)
    for beam in (1, 4, 8):
        name = f"{where}: {'greedy' if beam == 1 else f'beam {beam}'}, 11 tokens, with all that is drawn"
        report(name, clocked(page, {"sentence": SENTENCE, "beam": beam}))
    report(f"{where}: greedy, 100 tokens", clocked(page, {"sentence": "the girl " * 50}, 5))
    asked = {"source": SENTENCE, "target": FRENCH.lower().split(), "kind": "cross", "layer": 1, "head": 0}
    for kind in ("maps", "steps"):
        report(f"{where}: {kind}", clocked(page, asked, ROUNDS, kind))


def main() -> None:
    """Sizes, then times in a worker, then times on the thread of the page."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        sys.exit("No browser was found: install chromium.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "live.html")
        path.write_text(page_text(), "utf-8")
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])

        def open_page() -> Page:
            for context in chromium.contexts:
                context.close()
            page = chromium.new_page()
            page.goto(path.as_uri())
            return page

        print(f"{'milliseconds':52} {'median':>7} {'largest':>7}")
        for worker in (True, False):
            measure(open_page, worker)
        chromium.close()


if __name__ == "__main__":
    main()
