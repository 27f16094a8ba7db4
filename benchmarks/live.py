"""The model in the page: how large it is, how soon it is ready, how fast it answers: python benchmarks/live.py

A page with nothing but one packed model, the small one or that of real sentences, is opened from a file in Chromium,
again and again. "Ready" is the time from the start of the navigation to the moment when the model can answer; the first
answer still waits for the browser's compiler. Each line has the median and the largest of several runs, in
milliseconds; the goals are for the medians on a quiet machine. The benchmark needs playwright, one of the test
requirements, and a browser.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chromium import chromium
from table import LeftOut, Row

from seqlearn.translator.translator import Translator
from seqlearn.views.answers.known import about
from seqlearn.views.gallery import FRENCH, SENTENCE
from seqlearn.views.live.weights import LIVE, live_engine, live_model
from seqlearn.views.shared.bundle import bundle
from seqlearn.views.shared.page import page_of, safe_json, script_part
from seqlearn.views.translator.translator_view import TranslatorView

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LOADS, ROUNDS = 10, 30
GOALS = {
    "ready": 500,
    "greedy, 11": 60,
    "beam 4, 11": 150,
    "greedy, 10": 100,
    "map of": 400,
    "a key": 50,
}  # ms, in a worker
REAL = "I have never seen such a beautiful city before."  # 10 tokens
SCRIPT = """import { liveModel } from "./engine.js";
%s
window.load = async (worker) => {
    const text = document.getElementById("model").textContent;
    window.live = liveModel(liveEngine, JSON.parse(text), { worker });
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
};
window.clockMap = async (sentence, heads, count) => {
    const times = [];
    const asked = { sentence, prefix: [], edits: [] };
    for (let i = 0; i < count; i++) {
        const start = performance.now();
        const base = await live.ask("ablated", { ...asked, head: null, written: null });
        for (const head of heads) await live.ask("ablated", { ...asked, head, written: base.tokens });
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


def clocked_map(page: Page, name: str) -> list[float]:
    """Milliseconds of the ablation map of a sentence: each head alone."""
    layers = about(Translator.pretrained(name, "cpu"))["layers"]
    heads = [[kind, layer, h] for kind, rows in layers.items() for layer, (_, n) in enumerate(rows) for h in range(n)]
    sentence = SENTENCE if name == "transformer" else REAL
    return page.evaluate("([sentence, heads, count]) => clockMap(sentence, heads, count)", [sentence, heads, 5])


# From a key in the text box to the picture that shows its letter, in milliseconds, by key.
KEYS = """() => { window.waits = []; document.addEventListener("keydown", ({ timeStamp }) =>
    requestAnimationFrame(() => setTimeout(() => waits.push(performance.now() - timeStamp))), true); }"""


def typed(browser: Browser, path: Path, name: str) -> list[float]:
    """Milliseconds from key to picture, of keys in the box of a TranslatorView while it makes its ablation map."""
    TranslatorView(Translator.pretrained(name, "cpu"), "the cat sleeps.").to_html(path)
    page = browser.new_page()
    page.goto(path.as_uri())
    page.evaluate(KEYS)
    asked = SENTENCE if name == "transformer" else REAL
    page.get_by_label("sentence to translate").fill(asked)
    page.keyboard.press("Enter")
    page.wait_for_function("(asked) => model.get('mapped')[0] === asked", arg=asked, polling=5)
    count = page.evaluate("waits.length = 0")
    while page.evaluate("model.get('ablations').asked?.sentence") != asked:
        page.keyboard.press("x")
        count += 1
    page.wait_for_function("(count) => waits.length === count", arg=count)
    return page.evaluate("waits")


def page_text(name: str) -> str:
    """The page with the packed model; prints the sizes of its parts."""
    model = live_model(Translator.pretrained(name, "cpu"))
    assert model is not None
    state = f'<script type="application/json" id="model">{safe_json(model)}</script>'
    script = bundle(SCRIPT % live_engine(), LIVE)
    text = page_of("live", "", f"{state}\n{script_part(script)}")
    languages = safe_json({side: model[side] for side in ("source", "target")})
    parts = {"weights": "".join(model["weights"].values()), "languages": languages, "script": script, "all": text}
    print("bytes:", ", ".join(f"{name} {len(part.encode()):,}" for name, part in parts.items()))
    return text


def questions(name: str = "transformer") -> dict[str, tuple[dict[str, Any], int, str]]:
    """name: what is asked of a model, how often, and of what kind."""
    if name == "tatoeba":
        return {
            f"{way}, 10 tokens, with all that is drawn": ({"sentence": REAL, "beam": beam}, ROUNDS // 3, "translated")
            for beam, way in {1: "greedy", 4: "beam 4"}.items()
        }
    asked = {"source": SENTENCE, "target": FRENCH.lower().split(), "kind": "cross", "layer": 1, "head": 0}
    beams = {1: "greedy", 4: "beam 4", 8: "beam 8"}
    found = {
        f"{name}, 11 tokens, with all that is drawn": ({"sentence": SENTENCE, "beam": beam}, ROUNDS, "translated")
        for beam, name in beams.items()
    }
    found["greedy, 100 tokens"] = {"sentence": "the girl " * 50}, 5, "translated"
    return found | {kind: (asked, ROUNDS, kind) for kind in ("maps", "steps")}


def loads(browser: Browser, path: Path, worker: bool, count: int = LOADS) -> tuple[Page, list[float], list[float]]:
    """The page as it was opened last; milliseconds until the model was ready, and of the first answer, each time."""
    ready, first = [], []
    for _ in range(count):
        for context in browser.contexts:
            context.close()
        page = browser.new_page()
        page.goto(path.as_uri())
        ready.append(page.evaluate("load", worker))
        first += clocked(page, {"sentence": SENTENCE}, 1)
    return page, ready, first


def rows(quick: bool) -> Iterator[Row]:
    """The rows of `bench.py`: milliseconds of the model in a worker."""
    for model, key, which in (
        ("transformer", "pages", "the model"),
        ("tatoeba", "pages-real", "the model of real sentences"),
    ):
        with chromium() as browser, tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "live.html")
            path.write_text(page_text(model), "utf-8")
            page, ready, _ = loads(browser, path, True, 1 if quick else LOADS)
            size, version = path.stat().st_size / 1e6, browser.version.partition(".")[0]
            where = f"a page of {size:.1f} MB, opened from a file in Chromium {version}"
            yield Row.alone(f"{key}-ready", f"{which} is ready", "ms", ready, where)
            for name, (question, count, kind) in list(questions(model).items())[:2]:
                way, _, conditions = name.partition(", ")
                times = clocked(page, question, 1 if quick else count, kind)
                yield Row.alone(f"{key}-{way.replace(' ', '-')}", f"{which}: {way}", "ms", times, conditions)


def main() -> None:
    """Sizes, then times in a worker, then times on the thread of the page."""
    for model in ("transformer", "tatoeba"):
        with chromium() as browser, tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "live.html")
            path.write_text(page_text(model), "utf-8")
            print(f"{model + ', milliseconds':52} {'median':>7} {'largest':>7}")
            for worker, where in ((True, "worker"), (False, "page")):
                page, ready, first = loads(browser, path, worker)
                report(f"{where}: ready, from the start of the navigation", ready)
                report(f"{where}: first answer, greedy", first)
                for name, (question, count, kind) in questions(model).items():
                    report(f"{where}: {name}", clocked(page, question, count, kind))
                report(f"{where}: map of what each head does", clocked_map(page, model))
            report("worker: a key while the map is made", typed(browser, path, model))


if __name__ == "__main__":
    try:
        main()
    except LeftOut as missing:
        sys.exit(str(missing))
