"""PiecesView in a browser: JavaScript joins as Python does; a learner goes on, goes back, and types a word."""

import pytest
from browser.test_family import CUT, FITS
from views.test_pieces_view import SEVEN, view
from views.test_view import ELEMENTS

from seqlearn.views import PiecesView
from seqlearn.views.gallery import gallery

ROWS = "rows => rows.map(row => [...row.querySelectorAll('bdi')].map(box => box.textContent))"
TYPED = ".yours bdi"


def cut_in(page):
    return page.locator(".words [role=option]").evaluate_all(ROWS)


SAID = {  # after so many joins
    0: "Most frequent neighbours: ▁ + w, 4 times. As often, but later in the words: w + a, a + s, s + h",
    1: "Most frequent neighbours: ▁w + a, 4 times. As often, but later in the words: a + s, s + h",
    4: "Most frequent neighbours: ▁ + e, 3 times. As often, but later in the words: e + a, a + t",
    9: "Most frequent neighbours: in + g, 2 times",
    10: "All joins are made.",
}


@pytest.mark.parametrize("joins", SAID)
def test_what_is_drawn_is_what_python_computes(show, joins):
    """Each piece, and the words above the pieces."""
    made = view(joins=joins, word="seating")
    page, pieces = show(made), sum(len(made.pieces(word)) for word in SEVEN)
    assert cut_in(page) == [made.pieces(word) for word in SEVEN]
    assert page.locator(TYPED).all_inner_texts() == made.pieces("seating")
    assert page.locator(".totals").inner_text() == (
        f"After {joins} join{'s' * (joins != 1)}: {pieces} pieces in 7 words, {11 + joins} in the vocabulary"
    )
    assert page.locator(".totals + p").inner_text() == SAID[joins]
    assert page.locator(".known bdi").all_inner_texts() == made.vocabulary()
    assert page.locator(".known .made").all_inner_texts() == made.vocabulary()[11:][-1:], "what was joined last"


def test_a_pair_that_is_not_the_most_frequent_is_not_called_so(show):
    most = "Most frequent neighbours: a + a, 2 times. As often: ▁ + a"
    for merge, said in (("a a", most), ("a b", "Next: a + b, 1 time")):
        assert show(PiecesView(["aab", "aac"], [merge])).locator(".totals + p").inner_text() == said


def test_a_press_makes_the_next_join_and_one_can_go_back(show):
    page = show(view())
    on, back = page.get_by_label("next step"), page.get_by_label("previous step")
    assert back.is_disabled() and page.locator(".joined").count() == 4
    for _ in range(4):
        on.click()
    assert page.evaluate("model.get('joins')") == 4
    assert page.locator(".row .made").all_inner_texts() == ["▁wash"] * 4
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


def test_which_of_equally_frequent_pairs_comes_first(show):
    page = show(view(joins=4))
    assert page.locator(".totals + p").inner_text() == (
        "Most frequent neighbours: ▁ + e, 3 times. As often, but later in the words: e + a, a + t"
    )
    page.evaluate("model.set('data', { words: ['ab', 'cd'], merges: [['c', 'd']] }); model.set('joins', 0)")
    assert (
        page.locator(".totals + p").inner_text().startswith("Most frequent neighbours: c + d, 1 time. As often: ▁ + a")
    )


def test_what_a_word_of_yours_is_made_of_is_said(show):
    """Under the mouse and while it is typed; a space begins a new word, whose sign is explained."""
    page = show(view(joins=10))
    says, field = page.locator(".says"), page.get_by_label("a word of yours")
    field.fill("eating was")
    assert page.locator(TYPED).all_inner_texts() == ["▁eat", "ing", "▁was"]
    assert page.locator(f"{TYPED}.unknown").count() == 0
    assert says.inner_text() == "eating was has 3 pieces: ▁eat ing ▁was."
    page.get_by_label("next step").focus()
    assert says.inner_text().startswith("Point at a word")
    page.locator(".yours .row").hover()
    assert says.inner_text().startswith("eating was has 3 pieces: ")
    assert page.locator(".legend").inner_text().startswith("▁\na word begins here")


def test_a_word_of_the_text_is_answered(show):
    """As a typed word is; another press, and what is pointed at, take the place."""
    story = {word: {"joins": 10, "word": word} for word in ("washing", "lunching")}
    page = show(view(joins=4, word="seating").tell("[washing] and [lunching]", story))
    says = page.locator(".says")
    assert says.inner_text().startswith("Point at a word")
    for word, pieces in (("washing", "2 pieces: ▁wash ing"), ("lunching", "7 pieces: ▁ l u n c h ing")):
        page.get_by_role("button", name=word).click()
        assert says.inner_text() == f"{word} has {pieces}."
        page.locator(".words [role=option]").last.hover()
        assert says.inner_text() == "eating has 2 pieces: ▁eat ing."
    page.mouse.move(2, 2)
    assert says.inner_text().startswith("lunching has 7 pieces")
    page.get_by_label("previous step").click()
    assert says.inner_text().startswith("Point at a word")


def test_a_piece_of_the_vocabulary_is_found_in_the_words(show):
    """With the mouse, a finger and the keys; in the word of the learner, too."""
    page = show(view(joins=10, word="swing"))
    piece, found = page.locator(".vocabulary [role=option]"), page.locator(".row .sought")
    says = page.locator(".says")
    piece.get_by_text("ing", exact=True).hover()
    assert found.all_inner_texts() == ["ing"] * 3 and page.locator(".vocabulary .sought").all_inner_texts() == ["ing"]
    assert says.inner_text() == "ing stands in 2 of 7 words."
    page.mouse.move(2, 2)
    assert page.locator(".sought").count() == 0
    piece.get_by_text("s", exact=True).dispatch_event("pointerenter", {"pointerType": "touch"})
    piece.get_by_text("s", exact=True).dispatch_event("pointerleave", {"pointerType": "touch"})
    assert found.all_inner_texts() == ["s"] * 3
    page.locator(".words [role=option]").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert found.all_inner_texts() == ["ing"] * 3, "the keys go from piece to piece"
    page.keyboard.press("ArrowLeft")
    assert says.inner_text() == "in stands alone in no word now." and found.count() == 0
    page.keyboard.press("PageUp")
    assert says.inner_text() == "in stands in 2 of 7 words." and found.all_inner_texts() == ["in"] * 3
    page.keyboard.press("PageUp")
    assert page.evaluate("document.activeElement.innerText") == "▁washe", "where it was the last is now"
    assert page.locator(".vocabulary [tabindex='0']").count() == 1


def test_a_finger_that_goes_back_chooses_no_other_piece(show, page):
    """The piece that was tapped is not there any more; nothing is explained in its place, and the page stays."""
    page.set_viewport_size({"width": 390, "height": 300})
    page.context.new_cdp_session(page).send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    show(view(joins=10))
    last = page.locator(".vocabulary [role=option]").last
    last.click()
    assert page.locator(".says").inner_text().startswith("ing ")
    page.evaluate("scrollTo(0, 0)")
    page.evaluate("model.set('joins', 3)")
    assert page.locator(".says").inner_text().startswith("Tap a word or a piece")
    assert page.locator(".sought").count() == 0 and page.evaluate("scrollY") == 0


def test_of_a_long_vocabulary_the_end_is_written(show):
    page = show(PiecesView([chr(0x4E00 + i) for i in range(99)], [], joins=0))
    assert page.locator(".known").inner_text().startswith("vocabulary: …")
    assert page.locator(".vocabulary bdi").all_inner_texts() == [chr(0x4E00 + i) for i in range(39, 99)]


def test_the_keys_go_from_word_to_word(show):
    """All words are one stop of the Tab key; a screen reader hears their pieces."""
    page = show(view(joins=4))
    first = page.locator("[role=option]").first
    assert first.get_attribute("aria-label") == "wash: ▁wash"
    page.get_by_label("a word of yours").focus()
    page.keyboard.press("Tab")
    says = page.locator(".says")
    for key, text in [
        ("Home", "wash has 1 piece: ▁wash. The next join changes nothing here."),
        ("ArrowDown", "washes has 3 pieces: ▁wash e s. The next join changes nothing here."),
        ("End", "eating has 7 pieces: ▁ e a t i n g. The next join leaves 6."),
    ]:
        page.keyboard.press(key)
        assert says.inner_text() == text and page.locator("[aria-selected=true]").count() == 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.parentNode.ariaLabel") == "vocabulary"


@pytest.mark.parametrize(("width", "scheme"), [(332, "light"), (390, "dark"), (818, "light"), (1440, "dark")])
def test_no_barrier_nothing_is_cut_off_and_the_words_stay(show, page, width, scheme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    show(view(word="kiwi"))
    first = page.locator("[role=option]").first.bounding_box()["y"]
    for joins in (0, 4, 10):
        page.evaluate("joins => model.set('joins', joins)", joins)
        assert page.evaluate(FITS) and page.evaluate(CUT) == []
        assert page.locator("[role=option]").first.bounding_box()["y"] == first


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1024, 768), (1440, 900)])
def test_what_a_press_changes_is_in_sight(page, tmp_path, width, height):
    """The sentences, the words and the vocabulary, below the texts that the gallery has; no word moves."""
    page.set_viewport_size({"width": width, "height": height})
    text, told = (
        "How do letters become words?\n" + "As in the gallery. " * 7,
        "After [all joins]. " + "And so on. " * 13,
    )
    shown = [view(word="seating").tell(told, {"all joins": {"joins": 10}}) for _ in range(2)]
    gallery([(text, one) for one in shown], tmp_path / "gallery.html")
    page.goto((tmp_path / "gallery.html").as_uri())
    part = page.locator("section").first
    part.evaluate("node => node.scrollIntoView()")
    there = page.evaluate("scrollY")
    parts, rows = part.locator(".totals, .next-pair, .says, .yours, .words, .known"), part.locator(".words .row")
    bottoms = "nodes => nodes.map(node => node.getBoundingClientRect().bottom)"
    tops = "nodes => nodes.map(node => node.getBoundingClientRect().top)"
    places = rows.evaluate_all(tops)
    for press in (part.get_by_label("next step").click, part.get_by_role("button", name="all joins").click):
        press()
        assert max(parts.evaluate_all(bottoms)) < height
    for piece in (part.locator(".vocabulary bdi").last, rows.first):
        piece.hover()
        assert rows.evaluate_all(tops) == places and part.locator(".echo").is_hidden()
    assert page.evaluate("scrollY") == there > 0


def test_a_sentence_about_a_long_word_has_only_the_first_pieces(show):
    page = show(PiecesView(["x" * 99], [("x", "y")]))
    page.locator("[role=option]").first.hover()
    assert page.locator(".says").inner_text() == (
        f"{'x' * 30}… has 100 pieces: ▁{' x' * 19} …. The next join changes nothing here."
    )


@pytest.mark.parametrize("width", [390, 818, 1440])
def test_the_vocabulary_stays_while_a_word_grows(show, page, width):
    page.set_viewport_size({"width": width, "height": 900})
    show(view(joins=4))
    places = set()
    for word in ("", "s", "seat", "seatings"):
        page.evaluate("word => model.set('word', word)", word)
        places.add(page.locator(".known").bounding_box()["y"])
    assert len(places) == 1


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
