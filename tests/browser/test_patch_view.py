"""PatchView in a browser: clicks and keys patch vectors, a decision is chosen, and the model in the page answers."""

import re

import pytest

from seqlearn.translator.translator import Translator
from seqlearn.views import PatchView
from seqlearn.views.patch.patch_data import patched

APPLE, LEMON = "The girl washes the apple and eats it.", "The girl washes the lemon and eats it."
ANSWERED = """() => JSON.stringify(model.get('result').asked) === JSON.stringify(
    ['sentence', 'other', 'patches', 'decision'].map(name => model.get(name)))"""


@pytest.fixture(scope="module")
def translator():
    return Translator.pretrained("transformer", "cpu")


@pytest.fixture
def live(show, translator):
    """The page, when its model has answered a first question."""
    return show(PatchView(translator, APPLE, LEMON))


def lines(page):
    return page.locator(".readings > bdi").evaluate_all("nodes => nodes.map(node => node.innerText)")


def cell(page, side, row, column):
    """Where the cell of a map is."""
    body = page.get_by_role("application").nth(("encoder", "decoder").index(side))
    canvas, columns = body.locator("canvas").first.bounding_box(), {"encoder": 10, "decoder": 7}[side]
    width, height = canvas["width"] / columns, 24
    return body, {"x": width * (column + 0.5), "y": height * (row + 0.5)}


def click(page, side, row, column):
    body, position = cell(page, side, row, column)
    body.click(position=position)
    page.wait_for_function(ANSWERED)


def test_a_click_patches_and_a_second_one_gives_it_back(live, translator):
    click(live, "encoder", 11, 6)
    assert live.evaluate("() => model.get('patches')") == [["encoder 1.3", 6]]
    assert lines(live)[2] == "la fille lave la pomme et la mange."
    click(live, "encoder", 11, 7)
    assert lines(live)[2] == "la fille lave la pomme et le mange."
    assert live.locator(".patched .piece.new").all_inner_texts() == ["le"]
    right = patched(translator, APPLE, LEMON, [("encoder 1.3", 7), ("encoder 1.3", 6)])["probs"][2]
    assert live.evaluate("() => model.get('result').probs[2]") == pytest.approx(right, abs=0.01)
    assert live.locator(".map .frame.strong").count() == 2
    click(live, "encoder", 11, 7)
    assert live.evaluate("() => model.get('patches')") == [["encoder 1.3", 6]]
    live.get_by_role("button", name="Remove all").click()
    live.wait_for_function(ANSWERED)
    assert lines(live)[2] == "la fille lave la pomme et la mange." and live.locator(".map .frame.strong").count() == 0


def test_by_keys(live):
    decoder = live.get_by_role("application").nth(1)
    decoder.focus()
    for key in ("End", "ArrowDown", "ArrowDown", "Enter"):
        live.keyboard.press(key)
    live.wait_for_function(ANSWERED)
    assert live.evaluate("() => model.get('patches')") == [["decoder.blocks.1", 6]]
    assert lines(live)[2] == "la fille lave la pomme et le mange."
    assert decoder.evaluate("node => node === document.activeElement"), "the focus stays"
    live.keyboard.press("ArrowLeft")
    live.keyboard.press("Enter")
    live.wait_for_function(ANSWERED)
    assert len(live.evaluate("() => model.get('patches')")) == 2


def test_a_cell_is_told_in_words(live):
    body, position = cell(live, "encoder", 11, 7)
    body.hover(position=position)
    said = live.locator(".says").inner_text()
    assert re.fullmatch(
        "Head 1.3 of the encoder, at “it”: this vector alone moves the logits [56]. % of the way toward “le”.", said
    )
    body.click(position=position)
    live.wait_for_function(ANSWERED)
    assert live.locator(".says").inner_text() == f"{said} It is patched.", "a press explains what was pressed"
    assert live.locator(".map .frame").count() == 2, "around what is patched, and what is pointed at"


def test_another_decision_has_other_maps(live):
    live.get_by_role("button", name="decision: pomme").focus()
    live.keyboard.press("Enter")
    live.wait_for_function(ANSWERED)
    assert live.evaluate("() => document.activeElement.ariaLabel") == "decision: pomme", "the focus stays"
    assert live.evaluate("() => [model.get('decision'), ...model.get('result').words]") == [4, "pomme", "citron"]
    assert live.locator(".asked").inner_text() == "How far does each vector of B, alone, move “pomme” to “citron”?"
    assert live.get_by_role("button", name="decision: pomme").get_attribute("aria-pressed") == "true"


def test_two_other_sentences(live):
    click(live, "encoder", 11, 7)
    for name, text in (("sentence A", LEMON), ("sentence B", APPLE)):
        live.get_by_label(name, exact=True).fill(text)
    live.get_by_role("button", name="Compare").click()
    live.wait_for_function(ANSWERED)
    assert (
        lines(live)[0] == "la fille lave le citron et le mange." and live.evaluate("() => model.get('patches')") == []
    )
    live.get_by_label("sentence B", exact=True).fill("The girl sleeps.")
    live.keyboard.press("Enter")
    live.wait_for_function(ANSWERED)
    note = live.locator(".note.wrong").inner_text()
    assert note == ("Both sentences need the same number of tokens: A has 9, and B has 4. Below is the former answer.")
    assert lines(live)[0] == "la fille lave le citron et le mange."


def test_after_a_wrong_question_the_former_answer_is_whole(live):
    click(live, "encoder", 0, 4)
    assert "citron" in lines(live)[2]
    live.get_by_label("sentence B", exact=True).fill("The girl sleeps.")
    live.keyboard.press("Enter")
    live.wait_for_function(ANSWERED)
    assert live.locator(".patched .faint").inner_text() == "A with 1 vector of B" and "citron" in lines(live)[2]
    assert live.locator(".map .frame.strong").count() == 1 and live.locator(".note.wrong").count() == 1


def test_the_numbers_of_a_and_b_stay_when_a_vector_is_patched(live):
    before = live.evaluate("() => model.get('result').probs.slice(0, 2)")
    click(live, "encoder", 11, 6)
    assert live.evaluate("() => model.get('result').probs.slice(0, 2)") == before
    live.get_by_role("button", name="Remove all").click()
    live.wait_for_function(ANSWERED)
    assert live.evaluate("() => model.get('result').probs") == [before[0], before[1], before[0]]


@pytest.mark.parametrize("width", [390, 818, 1024])
def test_what_a_press_changes_is_on_the_screen(show, page, translator, width):
    page.set_viewport_size({"width": width, "height": 844})
    show(PatchView(translator, APPLE, LEMON))
    click(page, "decoder", 19, 0)
    line = page.locator(".patched").bounding_box()
    assert line["y"] >= 0 and line["y"] + line["height"] <= 844
    page.set_viewport_size({"width": 1300, "height": 1400})


def test_a_page_without_a_model_only_shows(show, translator, monkeypatch):
    monkeypatch.setattr("seqlearn.views.patch.patch_view.MOST_WEIGHTS_IN_A_PAGE", 1000)
    view = PatchView(translator, APPLE, LEMON)
    view.patches = [["encoder 1.3", 7]]
    page = show(view)
    assert page.locator(":is(.controls, .readings, .patched) button:enabled").count() == 0
    body, position = cell(page, "encoder", 11, 6)
    body.click(position=position)
    assert page.evaluate("() => model.get('patches')") == [["encoder 1.3", 7]]
    assert "run the notebook" in page.locator(".note").inner_text()


@pytest.mark.parametrize("width", [390, 818, 1240])
def test_squares_have_one_size_in_both_maps(show, page, translator, width):
    page.set_viewport_size({"width": width, "height": 900})
    show(PatchView(translator, APPLE, LEMON))
    boxes = [page.get_by_role("application").nth(i).bounding_box() for i in range(2)]
    counts = zip(boxes, ((10, 12), (7, 20)), strict=True)  # columns and rows
    sizes = [(box["width"] / columns, box["height"] / rows) for box, (columns, rows) in counts]
    assert sizes[0] == sizes[1] and min(sizes[0]) >= 24, "a mouse finds them, too"
    assert (boxes[0]["y"] == pytest.approx(boxes[1]["y"], abs=2)) == (width > 800), "beside each other"
    page.set_viewport_size({"width": 1300, "height": 1400})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_line_tells_each_square_from_the_page(show, page, translator, scheme):
    """A white square on a white page, and a dark one on a dark page."""
    page.emulate_media(color_scheme=scheme)
    show(PatchView(translator, APPLE, LEMON))
    edge, ground = page.evaluate(
        """() => ['.moves .body canvas', '.seqlearn'].map(name =>
            getComputedStyle(document.querySelector(name)).backgroundColor.match(/[0-9]+/g).map(Number))"""
    )
    light = [sum(colour) / 3 for colour in (edge, ground)]
    assert edge != [0, 0, 0, 0] and abs(light[0] - light[1]) > 90
    gap = """canvas => { const context = canvas.getContext('2d'), wide = canvas.width / 10;
        return context.getImageData(Math.round(wide) - 1, 5, 1, 1).data[3] }"""
    assert page.locator(".moves .body canvas").first.evaluate(gap) == 0, "the line is seen between two squares"
    assert page.locator(".map .foot").all_inner_texts() == ["−1\n1"] * 2 and page.locator(".map .bar").count() == 2
    page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("width", [320, 390, 818, 1024, 1440])
def test_every_cell_of_a_map_can_be_reached(show, page, translator, width):
    page.set_viewport_size({"width": width, "height": 900})
    show(PatchView(translator, APPLE, LEMON))
    for i in range(2):
        box = page.get_by_role("application").nth(i).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
    page.set_viewport_size({"width": 1300, "height": 1400})
