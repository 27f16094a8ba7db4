"""The ablation map in a browser: each switch has the colour and the words of what its head does alone."""

import pytest
from browser.settling import settled

from seqlearn.translator.translator import Translator
from seqlearn.views import TranslatorView
from seqlearn.views.answers.ablations import ablation_map

SENTENCE = "The old bird ate the orange because it was sweet."


@pytest.fixture(scope="module")
def view():
    return TranslatorView(Translator.pretrained("transformer", "cpu"), SENTENCE)


def falls(page):
    """By the head of each switch."""
    pairs = "nodes => nodes.map(node => [node.title.split(':')[0], parseFloat(node.style.getPropertyValue('--fall'))])"
    return dict(page.locator(".board .head").evaluate_all(pairs))


def signed(page):
    """The heads whose switch has the sign that a word changes."""
    return page.locator(".board .head:has(.word:not(:empty))").evaluate_all(
        "all => all.map(one => one.title.split(':')[0])"
    )


def ask(page, sentence):
    page.get_by_label("sentence to translate").fill(sentence)
    page.keyboard.press("Enter")


def test_each_switch_has_the_colour_of_its_fall(show, view):
    page = show(view)
    settled(page)
    right = ablation_map(view.translator, SENTENCE)
    expected = {
        f"{kind}, layer {layer}, head {head}": 100 * max(0, 1 - one["probability"] / right["base"]["probability"])
        for kind, layer, head, one in right["heads"]
    }
    assert falls(page) == pytest.approx(expected, abs=1.5), "the page has 8 bits for each weight"
    assert signed(page) == ["encoder, layer 1, head 3"], "the only head that changes a word"
    assert "1 of 24 heads changes a word." in page.locator(".preview").inner_text()


def test_the_whole_sentence_on_hover_and_on_focus(show, view):
    page = show(view)
    settled(page)
    other = page.get_by_title("encoder, layer 1, head 3")
    other.hover()
    preview = page.locator(".preview")
    assert "Without encoder 1.3: le vieil oiseau a mangé l'orange parce qu'il était sucré. (p 0.99 → " in (
        preview.inner_text()
    )
    assert preview.locator("strong").all_inner_texts() == ["il", " sucré"]
    assert "Without it: le vieil oiseau" in other.get_attribute("aria-label")
    page.mouse.move(0, 0)
    assert "1 of 24" in preview.inner_text()
    page.get_by_title("encoder, layer 0, head 0").focus()
    assert "Without encoder 0.0: the same words (p 0.99 → 0.99)" in preview.inner_text()


def test_the_heads_stand_in_columns(show, view):
    page = show(view)
    settled(page)
    boxes = [head.bounding_box() for head in page.locator(".board .head").all()]
    assert len({box["x"] for box in boxes}) == 4 and len({box["width"] for box in boxes}) == 1
    cut = "nodes => nodes.filter(node => node.scrollWidth > node.clientWidth).length"
    assert page.locator(".board .head").evaluate_all(cut) == 0


def test_the_preview_moves_nothing(show, page, view):
    """Where the page is scrolled to its end, a shorter text would move the switches from under the pointer."""
    page.set_viewport_size({"width": 1300, "height": 700})
    show(view)
    settled(page)
    height = page.locator(".seqlearn").bounding_box()["height"]
    for head in (0, 3):
        page.get_by_title(f"encoder, layer 1, head {head}").hover()
        assert page.locator(".seqlearn").bounding_box()["height"] == height


def test_another_sentence_gets_its_own_colours(show, view):
    page = show(view)
    settled(page)
    before = falls(page)
    ask(page, "The cat eats the green apple because it is hungry.")
    settled(page)
    assert falls(page) != before
    page.locator(".board .head:has(.word:not(:empty))").first.hover()
    assert "elle" in page.locator(".preview strong").all_inner_texts()
    page.get_by_title("encoder, layer 0, head 1").click()
    settled(page)
    assert page.evaluate("model.get('ablations').asked.edits") == [["ablate", "encoder", 0, 1]]
    page.mouse.move(0, 0)
    page.get_by_label("sentence to translate").focus()
    said = page.locator(".preview").inner_text()
    assert "when this head is ablated, too." in said and "of 23 heads" in said
    pressed = page.get_by_title("encoder, layer 0, head 1")
    assert pressed.get_attribute("aria-pressed") == "true" and pressed.locator(".word").inner_text() == ""


def test_a_page_without_a_model_has_no_map(show, view, monkeypatch):
    monkeypatch.setattr(view, "page_model", lambda: None)
    page = show(view)
    assert page.locator(".board").count() == 0 and page.evaluate("model.get('ablations')") == {}
