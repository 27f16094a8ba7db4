"""How long the views let a learner wait: python benchmarks/views.py

The first part is what Python does: a translation with all that `TranslatorView` shows of it. The second part is what a
browser does, in Chromium, on pages of their own: a script makes an event and waits until the answer is painted, at
least two frames, each 17 ms on a screen with 60 pictures a second. This part needs playwright, one of the test
requirements, and is left out where no browser is found.

Each line has the median and the largest of several runs, in milliseconds. Machines differ. A learner feels a wait where
the median of an event is above 100 ms.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from chromium import chromium
from table import LeftOut, Row

from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.nn.positions import sinusoids
from seqlearn.translator.translator import Translator
from seqlearn.views import (
    AttentionSteps,
    AttentionView,
    BeamView,
    GruView,
    KernelView,
    PatchView,
    PositionView,
    SamplingView,
    SoftmaxView,
    TranslatorView,
    View,
)
from seqlearn.views.answers.translations import translated
from seqlearn.views.gallery import LEMON, SENTENCE

ROUNDS = 10
LONG = "the girl " * 50
# Makes an event again and again; each time is that from the event to the frame after the one that paints the answer.
EVENTS = """async ([act, count]) => {
    const [run, times, frame] = [new Function("i", act), [], () => new Promise(requestAnimationFrame)];
    let changes = 0;
    new MutationObserver(() => changes++).observe(document.body, { subtree: true, childList: true, attributes: true });
    for (let i = 0; i < count; i++) {
        await frame();
        changes = 0;
        const start = performance.now();
        run(i);
        await frame();
        await frame();
        times.push(performance.now() - start);
        if (!changes) throw new Error("nothing changed: " + act);
    }
    return times }"""


def pointing(selector: str, x: str, y: str, index: str = "0") -> str:
    """JavaScript that moves the mouse over an element; `x`, `y` and `index` may contain `i`, the number of the run."""
    place = f"clientX: box.left + {x}, clientY: box.top + {y}"
    return f"""const node = document.querySelectorAll("{selector}")[{index}]; const box = node.getBoundingClientRect();
        node.dispatchEvent(new PointerEvent("pointermove", {{ bubbles: true, {place} }}))"""


def report(name: str, times: list[float]) -> None:
    """One line of the table."""
    print(f"{name:58} {statistics.median(times):7.0f} {max(times):7.0f}")


def clocked(work: Callable[[], Any], rounds: int = ROUNDS) -> list[float]:
    """Milliseconds of some runs, after one that is not counted."""
    work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - start))
    return times


def many_heads(tokens: int) -> AttentionView:
    """8 layers of 8 heads over so many tokens."""
    names = [f"word{i}" for i in range(tokens)]
    return AttentionView(AttentionMap((4 * torch.randn(8, 8, tokens, tokens)).softmax(-1), names, names))


def examples(translator: Translator) -> list[View]:
    """One of each view, larger than in a lesson."""
    x = torch.linspace(0, 5, 50)
    return [
        TranslatorView(translator, LONG, beam=8),
        many_heads(64),
        AttentionSteps(*torch.randn(3, 256, 64), torch.arange(256)),
        KernelView(x, x.sin(), x, ("gaussian", "triangular")),
        GruView(None, torch.nn.GRU(64, 256, batch_first=True), torch.randn(100, 64)),
        PositionView(sinusoids(128, 64)),
        SamplingView(5 * torch.randn(50_000), range(50_000)),
        SoftmaxView(torch.randn(16)),
        PatchView(translator, SENTENCE, LEMON),
        BeamView.of(translator, SENTENCE, width=4, alphas=(0.0, 0.6)),
    ]


EVENTS_OF = {
    "TranslatorView": {
        "hover over 100 tokens": pointing(".written .piece", "2", "2", index="(i + 1) % 20"),
        "another translation": "model.set('chosen', (i + 1) % 2)",
    },
    "AttentionView": {
        "64 heads of 64 x 64 drawn anew": "model.set('data', { ...model.get('data'), again: i })",
        "hover over 64 x 64 weights": pointing(".looks .body", "4", "6 * i + 9"),
        "another head": "model.set('head', (i + 1) % 8)",
        "another threshold": "model.set('threshold', (i + 2) / 20)",
    },
    "AttentionSteps": {
        "another step of 256 x 256": "model.set('step', (i + 1) % 5)",
        "hover over 256 x 256": pointing("[role=application]", "9 + 4 * i", "9"),
    },
    "KernelView": {"another width": "model.set('width', model.get('data').widths[(i + 1) % 30])"},
    "GruView": {"another unit, 100 words": "model.set('unit', i + 1)"},
    "PositionView": {
        "another position of 128": "model.set('position', i + 1)",
        "another offset": "model.set('offset', i + 3)",
    },
    "SamplingView": {"another temperature, 50,000 tokens": "model.set('temperature', (i + 2) / 10)"},
    "SoftmaxView": {"another score": "model.set('scores', model.get('scores').map((x, j) => (j ? x : x + 1)))"},
    "PatchView": {
        "hover over 12 x 11 vectors": pointing("[role=application]", "34 * (i % 10) + 9", "9"),
        "another patch": "model.set('patches', [['encoder 1.3', i % 10]])",
    },
    "BeamView": {"another step": "model.set('step', (i + 1) % 8)"},
}


def in_python(translator: Translator) -> None:
    """Translations."""
    for name in ("transformer", "bahdanau"):
        other = Translator.pretrained(name, "cpu")
        for beam in (1, 8):
            times = clocked(lambda other=other, beam=beam: translated(other, SENTENCE, beam))
            report(f"{name}: translation of 10 tokens, {beam} beam(s)", times)
    report("transformer: translation of 100 tokens, 8 beams", clocked(lambda: translated(translator, LONG, 8), 3))


def in_browser(views: list[View], wanted: str = "", count: int = ROUNDS) -> Iterator[tuple[str, list[float]]]:
    """The events of each view whose names contain `wanted`, on a page of its own: name, milliseconds.

    Raises:
        LeftOut: there is no browser.
    """
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        page = browser.new_page(viewport={"width": 1300, "height": 1400})
        for view in views:
            name = type(view).__name__
            events = {what: act for what, act in EVENTS_OF[name].items() if wanted in what}
            if not events:
                continue
            path = Path(folder, "view.html")
            view.to_html(path)
            page.goto(path.as_uri())
            for what, act in events.items():
                yield f"{name}: {what}", page.evaluate(EVENTS, [act, count])


def rows(quick: bool) -> Iterator[Row]:
    """The rows of `bench.py`: milliseconds from a move of the mouse to the picture that answers."""
    torch.manual_seed(0)
    views = examples(Translator.pretrained("transformer", "cpu"))
    for name, times in in_browser(views, "hover", 1 if quick else ROUNDS):
        key = name.partition(":")[0].lower()
        yield Row.alone(f"hover-{key}", name, "ms", times, "at least two frames of the screen, 17 ms each")


def main() -> None:
    """Both parts."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    translator = Translator.pretrained("transformer", "cpu")
    views = examples(translator)
    print(f"{'milliseconds':58} {'median':>7} {'largest':>7}")
    in_python(translator)
    try:
        for name, times in in_browser(views):
            report(name, times)
    except LeftOut as missing:
        print(missing)


if __name__ == "__main__":
    main()
