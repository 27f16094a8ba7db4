"""A view is drawn once for what changes together, and is busy while a question is open."""

import json

import pytest
from browser.rounding import in_page
from browser.settling import settled, silence

from seqlearn.translator.translator import Translator
from seqlearn.views import AttentionView, BeamView, PatchView, SamplingView, TranslatorView
from seqlearn.views.shared.bundle import bundle
from seqlearn.views.view import VIEWS

SCRIPT = """import { change, life } from "./shared/life.js";
const [traits, callbacks, drawn] = [{ data: {}, told: [], a: 0, b: 0, c: 0 }, {}, []];
const model = {
  get: (name) => traits[name],
  set(name, value) {
    traits[name] = value;
    for (const callback of callbacks[`change:${name}`] ?? []) callback();
  },
  on: (event, callback) => (callbacks[event] ??= []).push(callback),
  off: (event, callback) => (callbacks[event] = callbacks[event].filter((one) => one !== callback)),
  save_changes: () => drawn.push("saved"),
};
const both = () => drawn.push(`a${traits.a} b${traits.b}`);
const build = () => (drawn.push("built"), { a: both, b: both, c: () => drawn.push(`c${traits.c}`) });
const end = life(build)({ model, el: document.body });
window.after = async (act) => {
  drawn.length = 0;
  act({ model, change: (values) => change(model, values), end });
  const soon = drawn.join();
  await null;
  return [soon, drawn.join()];
};
"""


@pytest.fixture
def after(page):
    """What is drawn at once after an act, and a moment later."""
    page.set_content("<!doctype html><title>A page</title>")
    page.add_script_tag(content=bundle(SCRIPT, VIEWS), type="module")
    page.wait_for_function("() => window.after")
    return lambda act: page.evaluate(f"after(({{ model, change, end }}) => {{ {act} }})")


@pytest.mark.parametrize(
    ("act", "at_once", "then"),
    [
        ("change({ a: 1, b: 2 })", "a1 b2,saved", "a1 b2,saved"),
        ("change({ a: 1, c: 2 })", "a1 b0,c2,saved", "a1 b0,c2,saved"),
        ("model.set('a', 1); model.set('b', 2)", "", "a1 b2"),  # as a message of Python does
        ("change({ a: 1, data: {} })", "built,a1 b0,c0,saved", "built,a1 b0,c0,saved"),
        ("model.set('a', 1); end()", "", ""),
    ],
)
def test_what_changes_together_is_drawn_once(after, act, at_once, then):
    assert after(act) == [at_once, then]


APPLE, LEMON = "The girl washes the apple and eats it.", "The girl washes the lemon and eats it."
ASKING = {  # a view with a model in its page, and a question
    "TranslatorView": (lambda model: TranslatorView(model, APPLE), {"sentence": LEMON}),
    "AttentionView": (lambda model: AttentionView.of(model, APPLE), {"edits": [["ablate", "cross", 1, 3]]}),
    "AttentionView, a second reading": (lambda model: AttentionView.of(model, APPLE), {"against": [LEMON, []]}),
    "AttentionView, a cell": (
        lambda model: AttentionView.of(model, APPLE),
        {"zoom": "cell", "kind": "cross", "head": 2},
    ),
    "AttentionView, refused": (lambda model: AttentionView.of(model, APPLE), {"sentence": "the " * 200}),
    "PatchView": (lambda model: PatchView(model, APPLE, LEMON), {"patches": [["encoder 1.3", 6]]}),
    "BeamView": (lambda model: BeamView.of(model, APPLE), {"sentence": LEMON}),
    "SamplingView": (lambda model: SamplingView.of(model, APPLE), {"seed": 1}),
}


@pytest.fixture(scope="module")
def model():
    return in_page(Translator.pretrained("transformer", "cpu"))


@pytest.mark.parametrize("name", ASKING)
def test_a_view_is_busy_while_its_question_is_open(show, model, name):
    view, question = ASKING[name]
    page = show(view(model))
    busy = page.locator(".seqlearn[aria-busy=true]")
    settled(page)
    ask = f"Object.entries({json.dumps(question)}).forEach(([name, value]) => model.set(name, value))"
    page.evaluate(f"window.ask = live.ask; {ask}")
    settled(page)
    assert busy.count() == 0, "it is answered"
    page.reload()
    settled(page)
    silence(page)
    page.evaluate(ask)
    assert busy.count() == 1
