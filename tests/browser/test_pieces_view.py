"""PiecesView in a browser: JavaScript joins as Python does; a learner goes on, goes back, and types a word."""

import pytest
from browser.test_family import AXE, CUT, FIND_BARRIERS, FITS
from hostile import HOSTILE
from views.test_pieces_view import MERGES, SEVEN, view
from views.test_view import ELEMENTS

from seqlearn.views import PiecesView
from seqlearn.views.shared.arguments import as_text
from seqlearn.views.shared.bundle import bundle
from seqlearn.views.shared.view import VIEWS

AFTER = 'import { after } from "./pieces/pieces_view.js";\nreturn after;'
CUT_BY_BROWSER = "([code, words, merges]) => words.map((word) => new Function(code)()(word, merges))"
ROWS = "rows => rows.map(row => [...row.querySelectorAll('bdi')].map(box => box.textContent))"
TYPED = ".yours bdi"


def cut_in(page):
    return page.locator("[role=option]").evaluate_all(ROWS)


def test_the_pieces_are_those_of_python(page):
    words = [*map(as_text, HOSTILE), *SEVEN, "eaeae", "inging"]
    merges = [*MERGES, ("e", "i"), ("<", "s"), ("a", "a"), ("ing", "ing"), ("x", "x"), ("xx", "xx")]
    shown = PiecesView(words, merges, joins=len(merges))
    found = page.evaluate(CUT_BY_BROWSER, [bundle(AFTER, VIEWS), words, merges])
    assert found == [shown.pieces(word) for word in words]


@pytest.mark.parametrize("joins", [0, 1, 4, 9, 10])
def test_what_is_drawn_is_the_picture_of_python(show, joins):
    """Each piece, and the words of the title."""
    made = view(joins=joins, word="seating")
    page, (ax,) = show(made), made.figure().axes
    assert cut_in(page) == [made.pieces(word) for word in SEVEN]
    assert page.locator(TYPED).all_inner_texts() == made.pieces("seating")
    counts, following = ax.get_title("left").split("\n")
    assert page.locator(".totals").inner_text() == counts
    assert page.locator(".totals + p").inner_text() == following
    assert page.locator(".known bdi").inner_text().split() == made.vocabulary()


def test_a_press_makes_the_next_join_and_one_can_go_back(show):
    page = show(view())
    on, back = page.get_by_label("next step"), page.get_by_label("previous step")
    assert back.is_disabled() and page.locator(".joined").count() == 4
    for _ in range(4):
        on.click()
    assert page.evaluate("model.get('joins')") == 4
    assert page.locator(".joint.made").all_inner_texts() == ["▁wash"] * 4
    assert page.locator(".joined").all_text_contents() == ["▁e"] * 3
    on.press("ArrowLeft")
    back.press("PageUp")
    assert page.evaluate("model.get('joins')") == 2
    page.get_by_label("step", exact=True).press("End")
    assert on.is_disabled() and page.locator(".joined").count() == 0
    assert "10 of 10 joins" in page.locator(".controls").inner_text()


def test_a_typed_word_falls_into_pieces(show):
    page = show(view(joins=10))
    field = page.get_by_label("a word of yours")
    field.press_sequentially(" wasking ")
    assert page.evaluate("model.get('word')") == "wasking" and field.input_value() == " wasking "
    assert page.locator(TYPED).all_inner_texts() == ["▁was", "k", "ing"]
    assert page.locator(f"{TYPED}.unknown").all_inner_texts() == ["k"]
    field.press("PageUp")
    assert page.locator(TYPED).all_inner_texts() == ["▁was", "k", "in", "g"]
    page.evaluate("model.set('word', 'eats')")
    assert field.input_value() == "eats"
    field.fill("")
    assert page.locator(".yours .row").inner_text() == "type one"


def test_the_keys_go_from_word_to_word(show):
    """All words are one stop of the Tab key; a screen reader hears their pieces."""
    page = show(view(joins=4))
    first = page.locator("[role=option]").first
    assert first.get_attribute("aria-label") == "wash: ▁wash"
    first.focus()
    says = page.locator(".says")
    for key, text in [
        ("Home", "wash has 1 piece. The next join changes nothing here."),
        ("ArrowDown", "washes has 3 pieces. The next join changes nothing here."),
        ("End", "eating has 7 pieces. The next join leaves 6."),
    ]:
        page.keyboard.press(key)
        assert says.inner_text() == text and page.locator("[aria-selected=true]").count() == 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "a word of yours"


@pytest.mark.parametrize(("width", "scheme"), [(332, "light"), (390, "dark"), (818, "light"), (1440, "dark")])
def test_no_barrier_nothing_is_cut_off_and_the_words_stay(show, page, width, scheme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    show(view(word="kiwi"))
    page.evaluate(AXE)
    first = page.locator("[role=option]").first.bounding_box()["y"]
    for joins in (0, 4, 10):
        page.evaluate("joins => model.set('joins', joins)", joins)
        assert page.evaluate(FITS) and page.evaluate(CUT) == []
        assert page.evaluate(FIND_BARRIERS)[1] == []
        assert page.locator("[role=option]").first.bounding_box()["y"] == first
    page.set_viewport_size({"width": 1300, "height": 1400})
    page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("width", [390, 818, 1440])
def test_the_vocabulary_stays_while_a_word_grows(show, page, width):
    page.set_viewport_size({"width": width, "height": 900})
    show(view(joins=4))
    places = set()
    for word in ("", "s", "seat", "seatings"):
        page.evaluate("word => model.set('word', word)", word)
        places.add(page.locator(".known").bounding_box()["y"])
    assert len(places) == 1
    page.set_viewport_size({"width": 1300, "height": 1400})


def test_other_words_are_drawn_anew(show):
    page = show(view(joins=3))
    page.evaluate("model.set('joins', 0); model.set('data', { words: ['abab'], merges: [['a', 'b']] })")
    assert cut_in(page) == [["▁", "a", "b", "a", "b"]] and page.locator(".joined").count() == 2


def test_another_view_that_comes_later_moves_nothing(show):
    """In a notebook its styles come after ours, those that all views share once more."""
    page = show(view(joins=4, word="kiwi"))
    places = "[...document.querySelectorAll('.panels, .row, .known')].map(node => node.getBoundingClientRect().y)"
    before = page.evaluate(places)
    add = (
        "text => { const sheet = new CSSStyleSheet(); sheet.replaceSync(text); document.adoptedStyleSheets = [sheet] }"
    )
    page.evaluate(add, ELEMENTS.read_text("utf-8"))
    assert page.evaluate(places) == before
