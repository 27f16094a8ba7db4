"""BeamView: probabilities, what is to come, and a typed sentence, whose tree in a page is that of Python."""

import math

import pytest
from browser.rounding import in_page
from browser.test_family import FITS
from browser.test_pages import beams, nodes, told

from seqlearn.translator.translator import Translator
from seqlearn.views import BeamView
from seqlearn.views.beam.beam_data import tree_data, tree_search

BOXES = "What big boxes!"
SENTENCES = [
    "The girl washes the red apple and eats it.",
    "The old bird ate the orange because it was sweet.",
    "does Paul see his cat?",
    "the the the",
    "cat unheard-of",
]


@pytest.fixture(scope="module")
def rounded():
    """The Transformer with the weights that a page has."""
    return in_page(Translator.pretrained("transformer", "cpu"))


def number(text):
    return float(text.replace("−", "-"))


# ---- Probabilities --------------------------------------------------------------------------------------------------


def test_probabilities_are_multiplied(show):
    """A line has the probability of its token, a box the product of the lines that lead to it."""
    page = show(beams())
    logs = [number(text) for text in page.locator(".edge text").all_text_contents()]
    totals = page.evaluate("model.get('trees').find(one => one.width === 2 && one.alpha === 0).nodes.total")[1:]
    page.get_by_label("show probabilities").check()
    lines = [number(text) for text in page.locator(".edge text").all_text_contents()]
    boxes = [number(text) for text in page.locator(".node .score").all_inner_texts()]
    assert lines == pytest.approx([math.exp(log_prob) for log_prob in logs], abs=0.006)
    assert boxes == pytest.approx([math.exp(total) for total in totals], rel=0.05, abs=0.005)
    assert page.locator(".node.best").all_inner_texts() == ["a\n0.50", "dog\n0.45", "<eos>\n0.41\n★"]
    named = page.locator(".node.best").first.get_attribute("aria-label")
    assert named == "a 0.50: kept, on the way to the best sentence"
    legend = page.locator(".legend").inner_text()
    assert "its number: the probability" in legend and "in a box: probability of the sentence so far" in legend
    assert "Best sentence ★: a dog <eos>, probability 0.41. Greedy" in told(page)[0]
    page.get_by_label("show probabilities").uncheck()
    assert [number(text) for text in page.locator(".edge text").all_text_contents()] == logs
    assert "its number: the log-probability" in page.locator(".legend").inner_text()


def test_the_arithmetic_of_probabilities(show):
    page = show(beams(alpha=1))
    page.get_by_label("show probabilities").check()
    page.locator(".node.beaten").hover()
    assert told(page)[2] == (
        "p(dog) ≈ 0.779. Probability of the sentence so far: 0.223 · 0.779 ≈ 0.174. Its logarithm, divided by the "
        "penalty of length 3, is the score: −1.75 / 1.33 ≈ −1.31."
    )
    assert "probability 0.41 (score −0.68). Greedy" in told(page)[0], "with a penalty the score decides"
    page.locator(".node").first.hover()
    assert told(page)[1] == "The start: nothing is written yet, and the probability is 1."
    page.get_by_label("length penalty α").press("Home")
    page.locator(".node.beaten").hover()
    assert told(page)[2].endswith("0.223 · 0.779 ≈ 0.174. Its logarithm, −1.75, is the score.")


def test_small_probabilities_are_not_written_as_0(show, rounded):
    page = show(BeamView.of(rounded, BOXES))
    page.get_by_label("show probabilities").check()
    texts = page.locator(".node .score, .edge text").all_text_contents()
    assert min(map(number, [text.replace("e−", "e-") for text in texts if text])) > 0
    wide = page.locator(".node .score").evaluate_all("nodes => nodes.map(node => node.scrollWidth - node.clientWidth)")
    assert max(wide) <= 0, "and no box is too narrow for them"


# ---- What is to come ------------------------------------------------------------------------------------------------


def test_faint_boxes_stand_for_what_is_to_come(show):
    """They have the places of the boxes and no words, and they go as the tree grows, whose size stays."""
    page = show(beams(step=1))
    coming, tree = page.locator(".coming:visible"), page.get_by_role("tree")
    size = tree.bounding_box()
    assert coming.count() == 7 and page.locator(".number:visible").count() == 3
    assert told(page)[0].endswith("2 kept. The faint boxes are steps 2 to 3, still to come.")
    page.get_by_label("next step").click()
    assert coming.count() == 3 and told(page)[0].endswith("The faint boxes are step 3, still to come.")
    page.get_by_label("next step").click()
    assert coming.count() == 0 and "faint boxes" not in told(page)[0] and tree.bounding_box() == size
    page.get_by_label("step", exact=True).press("Home")
    assert coming.count() == 9 and told(page)[0].endswith("The faint boxes are steps 1 to 3, still to come.")


# ---- A sentence that is typed ---------------------------------------------------------------------------------------


def asked(page, **question):
    """The tree of the model in the page."""
    page.evaluate("values => Object.entries(values).forEach(([name, value]) => model.set(name, value))", question)
    found = """values => model.get('trees').find(one =>
        Object.entries(values).every(([name, value]) => one[name] === value))"""
    page.wait_for_function(f"values => Boolean(({found})(values))", arg=question)
    return page.evaluate(found, question)


@pytest.mark.parametrize(("width", "alpha"), [(1, 0.0), (2, 0.6), (4, 1.5)])
def test_trees_of_the_page_are_those_of_python(show, rounded, width, alpha):
    """Five sentences; every row, bend, fate and number."""
    page = show(BeamView.of(rounded, BOXES))
    for sentence in SENTENCES:
        found = asked(page, sentence=sentence, width=width, alpha=alpha)
        right = tree_data(
            tree_search(rounded, sentence)(width, alpha), lambda token: rounded.target.vocab.tokens[token]
        )
        for name, column in right["nodes"].items():
            close = pytest.approx(column, rel=2e-3, abs=2e-3) if isinstance(column[0], float) else column
            assert found["nodes"][name] == close, (sentence, name)
        assert [found[name] for name in ("rows", "best", "greedy")] == [
            right[name] for name in ("rows", "best", "greedy")
        ]
        for one, other in zip(found["steps"], right["steps"], strict=True):
            assert one == pytest.approx(other, rel=1e-4)


def test_another_sentence_is_typed(show, rounded):
    page = show(BeamView.of(rounded, BOXES))
    box = page.get_by_label("sentence to search")
    assert box.input_value() == BOXES and page.locator(".source").count() == 0
    page.locator(".node").nth(1).click()
    assert page.evaluate("model.get('locked')") is not None
    box.fill("The girl sleeps.")
    box.press("Enter")
    page.wait_for_function("() => document.querySelector('.node:nth-of-type(2) .text')?.innerText === 'la'")
    assert nodes(page, ".best") == ["la", "fille", "dort", ".", "<eos>"]
    assert page.evaluate("model.get('step')") == 5, "all steps are seen again"
    assert told(page)[1].startswith("Point at a node"), "what was locked is not in this tree"
    page.get_by_label("beam width").press("ArrowRight")
    page.wait_for_function("() => !document.querySelector('.waiting') && model.get('trees').at(-1).width === 3")
    box.fill(" ")
    page.get_by_role("button", name="Search").click()
    page.wait_for_function("() => document.querySelector('.note.wrong')")
    note = page.locator(".note").inner_text()
    assert note == "There is nothing to translate: type a sentence. Below is the tree of the former sentence."
    assert box.get_attribute("aria-invalid") == "true" and nodes(page, ".best")[0] == "la"
    assert told(page)[0] == "The tree is that of the former sentence."
    box.fill(BOXES)
    box.press("Enter")
    assert nodes(page, ".best")[0] == "quelles" and page.locator(".note.wrong").count() == 0, "known already"
    page.set_viewport_size({"width": 320, "height": 900})
    assert page.evaluate(FITS)
    page.set_viewport_size({"width": 1300, "height": 1400})


def test_unknown_words_are_named(show, rounded):
    page = show(BeamView.of(rounded, "zork!"))
    note, box = page.locator(".note.wrong"), page.get_by_label("sentence to search")
    assert note.inner_text() == "“zork” was never seen in training; it is read as <unk>."
    box.fill("The dinosaur eats the aple.")
    box.press("Enter")
    page.wait_for_function("() => document.querySelector('.note.wrong')?.innerText.includes('dinosaur')")
    assert note.inner_text() == "“dinosaur”, “aple” were never seen in training; they are read as <unk>."
    box.fill("The girl sleeps.")
    box.press("Enter")
    page.wait_for_function("() => !document.querySelector('.note.wrong')")


def test_why_there_is_no_tree_yet(show, rounded):
    """A page has no Python, and no log of Python."""
    page = show(BeamView.of(rounded, BOXES))
    page.evaluate("model.set('trees', [])")
    assert told(page)[0].startswith("Width 2 with α = 0 is not searched yet: the model in this page is at work.")


def test_without_a_model_in_the_page_nothing_can_be_typed(show):
    page = show(BeamView.of(Translator.pretrained("bahdanau", "cpu"), BOXES, widths=(2,), alphas=(0.0,)))
    assert page.get_by_role("textbox").count() == 0 and page.locator(".source").inner_text() == f"Source: {BOXES}"
