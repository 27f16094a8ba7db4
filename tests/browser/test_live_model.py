"""The model in the page, in Chromium: its worker, its questions, and the arithmetic of a browser.

All else about the model is tested in tests/javascript/, in Node.js.
"""

import json

import pytest
from browser.rounding import in_page

from seqlearn.data.text import EOS
from seqlearn.translator.translator import Translator
from seqlearn.views.gallery import SENTENCE
from seqlearn.views.live.weights import LIVE, live_engine, live_model
from seqlearn.views.shared import page as pages
from seqlearn.views.shared.bundle import bundle

pytestmark = pytest.mark.worker


@pytest.fixture(scope="module")
def pretrained():
    return Translator.pretrained("transformer", "cpu")


TALK = """() => {
    const data = JSON.parse(document.getElementById("model").textContent);
    window.start = (worker) => (window.live = liveModel(liveEngine, data, { worker })).ready;
    const listed = (name, part) => ArrayBuffer.isView(part) ? Array.from(part, String) : part;
    window.ask = async ([kind, question]) => JSON.stringify(await live.ask(kind, question), listed);
}"""


SCRIPT = """import { liveModel } from "./engine.js";
%s
Object.assign(window, { liveModel, liveEngine });"""


@pytest.fixture
def engine(page, tmp_path, pretrained):
    """A page with the packed model, under the policy of all pages; returns the page."""

    def open_page(change=lambda text: text):
        state = f'<script type="application/json" id="model">{pages.safe_json(live_model(pretrained))}</script>'
        script = pages.script_part(bundle(SCRIPT % live_engine(), LIVE))
        file = tmp_path / "live.html"
        file.write_text(change(pages.page_of("live", "", state + script)), encoding="utf-8")
        page.goto(file.as_uri())
        page.evaluate(TALK)
        return page

    return open_page


def test_a_worker_and_the_page_give_the_same(engine):
    page, answers = engine(), []
    target = ["la", "fille", EOS]
    for worker in (True, False):
        page.evaluate("(worker) => start(worker)", worker)
        assert page.evaluate("live.inWorker()") == worker
        questions = [
            ["translated", {"sentence": SENTENCE, "beam": 4, "prefix": ["une"], "edits": [["ablate", "cross", 0, 1]]}],
            ["translated", {"sentence": "</script>\ud83d", "beam": 1}],
            ["maps", {"source": SENTENCE, "target": target}],
            ["steps", {"source": SENTENCE, "target": target, "kind": "causal", "layer": 1, "head": 3}],
        ]
        answers.append([page.evaluate("(text) => ask(JSON.parse(text))", json.dumps(one)) for one in questions])
        with pytest.raises(Exception, match="translator\\[kind\\] is not a function"):
            page.evaluate("() => live.ask('unknown', {})")
        assert page.evaluate("async () => (await live.ask('translated', { sentence: 'the cat' })).best.length") == 1
    assert answers[0] == answers[1] and len(answers[0][0]) > 1000


def test_the_browser_computes_like_python(engine):
    """Node.js has the same engine as Chromium today, and not that of other browsers."""
    page, right = engine(), in_page(Translator.pretrained("transformer", "cpu"))
    page.evaluate("start(false)")
    for sentence in (SENTENCE, "The old bird ate the orange because it was sweet.", "cat unheard-of"):
        found = json.loads(page.evaluate("(sentence) => ask(['translated', { sentence, beam: 4 }])", sentence))
        best = found["best"][0]["text"]
        assert (best, found["problem"]) == (right.translate(sentence, beam=4), "")


def test_a_newer_question_replaces_one_that_waits(engine):
    page = engine()
    for worker in (True, False):
        told = page.evaluate(
            """async (worker) => { start(worker);
            const ask = (sentence, kind = "translated") => live.ask(kind, { sentence, source: sentence, target: [] });
            const all = [ask("the cat"), ask("the girl"), ask("it", "maps"), ask("the dog"), ask("she", "maps")];
            return (await Promise.all(all)).map((one) => one && (one.asked.sentence)); }""",
            worker,
        )
        assert told == ["the cat", None, None, "the dog", "she"]


def test_the_questions_of_two_views_wait_side_by_side(engine):
    page = engine()
    for worker in (True, False):
        told = page.evaluate(
            """async (worker) => { start(worker);
            const ask = (sentence, asker) => live.ask("translated", { sentence }, asker);
            const all = [ask("the cat", 1), ask("the girl", 1), ask("it", 2), ask("the dog", 1)];
            return (await Promise.all(all)).map((one) => one && one.sentence); }""",
            worker,
        )
        assert told == ["the cat", None, "it", "the dog"]


def test_without_a_worker_the_page_itself_answers(engine, page):
    """Where a policy or a browser forbids workers."""
    forbidden = engine(lambda text: text.replace("worker-src blob:", "worker-src 'none'"))
    early = "() => { start(true); return ask(['translated', { sentence: 'the apple' }]); }"  # before the worker failed
    assert "la pomme" in forbidden.evaluate(early)
    assert "le chat" in forbidden.evaluate("() => ask(['translated', { sentence: 'the cat' }])")
    assert not forbidden.evaluate("live.inWorker()")
    assert len(page.wrong) == 1 and "worker-src 'none'" in page.wrong.pop()  # the browser says so in its console


def test_damaged_data_is_an_error(engine):
    page = engine(lambda text: text.replace('"decoder.dense.weight"', '"decoder.dense.other"'))
    for worker in (True, False):
        with pytest.raises(Exception, match="undefined"):
            page.evaluate("(worker) => start(worker)", worker)
