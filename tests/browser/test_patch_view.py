"""PatchView in a browser: clicks and keys patch vectors, a decision is chosen, and the model in the page answers."""

import re

import pytest
from browser.settling import settled, silence

from seqlearn.translator.translator import Translator
from seqlearn.views import PatchView
from seqlearn.views.answers.patches import patched

APPLE, LEMON = "The girl washes the apple and eats it.", "The girl washes the lemon and eats it."


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
    settled(page)


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
    settled(live)
    assert lines(live)[2] == "la fille lave la pomme et la mange." and live.locator(".map .frame.strong").count() == 0


def test_by_keys(live):
    decoder = live.get_by_role("application").nth(1)
    decoder.focus()
    for key in ("End", "ArrowDown", "ArrowDown", "Enter"):
        live.keyboard.press(key)
    settled(live)
    assert live.evaluate("() => model.get('patches')") == [["decoder.blocks.1", 6]]
    assert lines(live)[2] == "la fille lave la pomme et le mange."
    assert decoder.evaluate("node => node === document.activeElement"), "the focus stays"
    live.keyboard.press("ArrowLeft")
    live.keyboard.press("Enter")
    settled(live)
    assert len(live.evaluate("() => model.get('patches')")) == 2


def test_a_cell_is_told_in_words(live):
    body, position = cell(live, "encoder", 11, 7)
    body.hover(position=position)
    told = live.locator(".says > div").last
    said = told.inner_text()
    right = (
        "Encoder 1.3, at “it”: what this head has gathered from other words. "
        "This vector alone moves the scores (logits) .. % of the way toward “le”; ● the word changes."
    ).replace("(logits)", r"\(logits\)")
    assert re.fullmatch(right, said), "a head has the name that it has in an ablation map"
    body.click(position=position)
    settled(live)
    right = said.replace("”", "”, now comes from B", 1)
    assert told.inner_text() == right, "a press explains what was pressed"
    assert live.locator(".map .frame").count() == 2, "around what is patched, and what is pointed at"


def test_what_a_word_of_the_text_patches_is_told(show, page, translator):
    page.set_viewport_size({"width": 390, "height": 844})
    text = {"One": {"patches": [["encoder 1.3", 7]]}, "Two": {"patches": [["encoder 1.3", 7], ["encoder 1.3", 6]]}}
    show(PatchView(translator, APPLE, LEMON).tell("[One], [Two], [None].", text | {"None": {"patches": []}}))
    told = page.locator(".says > div").last
    page.evaluate("matchMedia = () => ({ matches: true, addEventListener() {} })")  # a finger: what it taps is told on
    click(page, "encoder", 0, 4)
    assert told.inner_text().startswith("Embedding of the encoder, at “apple”"), told.inner_text()
    for word, start in (
        ("One", "Encoder 1.3, at “it”, now comes from B: what"),
        ("Two", "Encoder 1.3, at “eats”, now"),
    ):
        page.get_by_role("button", name=word, exact=True).click()
        settled(page)
        assert told.inner_text().startswith(start), "the last of them"
    assert re.search(r"% of the way toward “le”. The 2 vectors together give “le” 0\.\d\d\.$", told.inner_text())
    size = "node => [node.scrollHeight, parseFloat(getComputedStyle(node).minHeight)]"
    needed, room = told.evaluate(size)
    assert needed <= room + 1, "no cell moves"
    page.get_by_role("button", name="None", exact=True).click()
    settled(page)
    assert told.inner_text() == "Tap a cell of a map to see what it moves."
    cut = "nodes => nodes.map(node => node.scrollWidth > node.clientWidth)"
    assert page.locator(".twins input").evaluate_all(cut) == [False, False], "a phone shows all of both sentences"


def test_each_kind_of_row_is_explained(live):
    said = live.locator(".says > div").last
    for side, row, text in (
        ("encoder", 0, "Embedding of the encoder, at “apple”: the word and its position, before it has met another"),
        ("encoder", 2, "After block 1 of the encoder, at “apple”: all that is known here so far."),
        ("encoder", 3, "After the norm of the encoder, at “apple”: the last vector, brought to a common size; the dec"),
        ("decoder", 3, "After the norm of the decoder, at “pomme”: the last vector, brought to a common size; the sco"),
        ("decoder", 4, "Causal 0.0, at “pomme”: what this head has gathered from other words."),
    ):
        body, position = cell(live, side, row, 4 if side == "encoder" else 5)
        body.hover(position=position)
        assert said.inner_text().startswith(text), said.inner_text()


def test_only_the_answer_grows_old_while_the_model_computes(live):
    """Maps and sentences are about the same question, also where its decision is written as a number."""
    silence(live)
    body, position = cell(live, "encoder", 11, 6)
    body.click(position=position)
    live.locator(".says .former.late").wait_for()
    assert live.locator(".former").count() == 1
    live.evaluate("model.set('decision', model.get('result').decision)")
    assert live.locator(".former").count() == 1
    live.evaluate("scrollTo(0, 0)")
    live.set_viewport_size({"width": 1300, "height": 400})
    live.evaluate("model.set('decision', 4)")
    live.locator(".panels.former.late").wait_for()


def test_no_answer_is_repeated_before_it_is_there(live):
    """A mouse that leaves the map makes the view say its hint."""
    silence(live)
    live.set_viewport_size({"width": 1300, "height": 500})
    body, position = cell(live, "encoder", 11, 6)
    body.click(position=position)
    assert live.locator(".says").bounding_box()["y"] < 0
    live.mouse.move(1, 1)
    live.evaluate("() => new Promise(done => setTimeout(() => requestAnimationFrame(() => setTimeout(done))))")
    assert live.locator(".echo").is_hidden()


POSTED = """window.posted = []; const post = Worker.prototype.postMessage
    Worker.prototype.postMessage = function (message) { posted.push(message.kind); post.call(this, message) }"""


@pytest.mark.worker
def test_the_model_reads_the_sentences_when_the_maps_come_near(show, page, translator):
    """Before the first press, which then finds their maps; nothing that is shown waits for it, or changes."""
    page.add_init_script(POSTED)
    page.set_viewport_size({"width": 1300, "height": 100})
    show(PatchView(translator, APPLE, LEMON).tell("[x]" + " far" * 3000, {"x": {"patches": []}}))
    before = page.evaluate("JSON.stringify(model.get('result'))")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
    assert "patched" not in page.evaluate("posted")
    page.locator(".map .body").first.scroll_into_view_if_needed()
    page.wait_for_function("() => posted.includes('patched')")
    page.evaluate("scrollTo(0, 0)")
    page.locator(".map .body").first.scroll_into_view_if_needed()
    assert page.evaluate("posted").count("patched") == 1 and page.locator(".former").count() == 0
    assert page.evaluate("JSON.stringify(model.get('result'))") == before


@pytest.mark.parametrize(("width", "height"), [(1024, 640), (390, 844)])
def test_a_word_of_the_text_and_what_it_patches_are_on_one_screen(show, page, translator, width, height):
    """The word, the answer, and the vector where it fits with them: on a phone it does not."""
    page.set_viewport_size({"width": width, "height": height})
    text = {"One vector": {"patches": [["encoder 1.3", 7]]}, "None": {"patches": []}}
    more = "A phone has no room for all of it. " * (6 if width < 640 else 0)
    show(PatchView(translator, APPLE, LEMON).tell(f"[One vector]. [None]. {more}", text))
    row, word = page.locator(".moves .body").first, page.get_by_role("button", name="One vector")
    assert row.bounding_box()["y"] + 24 * 12 > height
    word.click()
    settled(page)
    parts = [word, page.locator(".says .patched"), *([page.locator(".map .frame.strong")] if width > 640 else [])]
    for box in (part.bounding_box() for part in parts):
        assert box["y"] >= 0 and box["y"] + box["height"] <= height
    page.evaluate("scrollTo(0, 0)")
    page.get_by_role("button", name="None").click()
    settled(page)
    assert page.evaluate("scrollY") == 0


def test_the_rows_of_heads_stand_apart(live):
    top, *rest = live.locator(".moves .body").evaluate_all(
        "nodes => nodes.flatMap(node => [...node.querySelectorAll('.parting')].map(({ offsetTop }) => offsetTop))"
    )
    assert [round((each + 4) / 24) for each in (top, *rest)] == [4, 4, 12], "after the stream, after the causal heads"


def test_the_focus_stays_in_a_map_that_is_drawn_anew(live):
    """The answer to another decision comes while the arrow keys are in the map."""
    maps = live.get_by_role("application")
    live.get_by_role("button", name="decision: pomme").focus()
    live.keyboard.press("Enter")
    maps.nth(0).focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        live.keyboard.press(key)
    settled(live)
    assert maps.nth(0).evaluate("node => node === document.activeElement")
    said = live.locator(".says > div").last
    assert said.inner_text().startswith("After block 0 of the encoder, at “washes”: ")
    live.keyboard.press("ArrowRight")
    assert said.inner_text().startswith("After block 0 of the encoder, at “the”: ")


def test_another_decision_has_other_maps(live):
    live.get_by_role("button", name="decision: pomme").focus()
    live.keyboard.press("Enter")
    assert live.evaluate("() => document.activeElement.ariaLabel") == "decision: pomme", "before the answer, too"
    settled(live)
    assert live.evaluate("() => document.activeElement.ariaLabel") == "decision: pomme", "the focus stays"
    assert live.evaluate("() => [model.get('decision'), ...model.get('result').words]") == [4, "pomme", "citron"]
    asked = live.locator(".asked").inner_text()
    assert asked.startswith("How far does each vector of B, alone, move “pomme” to “citron”? ● ")
    assert live.get_by_role("button", name="decision: pomme").get_attribute("aria-pressed") == "true"


def test_two_other_sentences(live):
    click(live, "encoder", 11, 7)
    for name, text in (("sentence A", LEMON), ("sentence B", APPLE)):
        live.get_by_label(name, exact=True).fill(text)
    live.get_by_role("button", name="Compare").click()
    settled(live)
    assert (
        lines(live)[0] == "la fille lave le citron et le mange." and live.evaluate("() => model.get('patches')") == []
    )
    live.get_by_label("sentence B", exact=True).fill("The girl sleeps.")
    live.keyboard.press("Enter")
    settled(live)
    note = live.locator(".note.wrong").inner_text()
    assert note == ("Both sentences need the same number of tokens: A has 9, and B has 4. Below is the former answer.")
    assert lines(live)[0] == "la fille lave le citron et le mange."


def test_after_a_wrong_question_the_former_answer_is_whole(live):
    click(live, "encoder", 0, 4)
    assert "citron" in lines(live)[2]
    live.get_by_label("sentence B", exact=True).fill("The girl sleeps.")
    live.keyboard.press("Enter")
    settled(live)
    assert live.locator(".patched .whose").inner_text() == "A with 1 vector of B" and "citron" in lines(live)[2]
    assert live.locator(".map .frame.strong").count() == 1 and live.locator(".note.wrong").count() == 1


def test_the_numbers_of_a_and_b_stay_when_a_vector_is_patched(live):
    before = live.evaluate("() => model.get('result').probs.slice(0, 2)")
    click(live, "encoder", 11, 6)
    assert live.evaluate("() => model.get('result').probs.slice(0, 2)") == before
    live.get_by_role("button", name="Remove all").click()
    settled(live)
    assert live.evaluate("() => model.get('result').probs") == [before[0], before[1], before[0]]


@pytest.mark.parametrize("decision", [4, 6])
def test_a_sign_says_where_a_vector_changes_the_word(show, translator, decision):
    """As on the heads of an ablation map; against the words that the model writes with each patch."""
    page = show(PatchView(translator, APPLE, LEMON, decision=decision))
    marked = page.locator(".map .body").evaluate_all(
        """bodies => bodies.map(body => { const { left, top } = body.getBoundingClientRect();
            return [...body.querySelectorAll('.turns')].map(sign => { const box = sign.getBoundingClientRect();
                return [Math.floor((box.top - top + 1) / 24), box.left - left] }) })"""
    )
    widths = [
        page.locator(".map .body canvas").nth(i).bounding_box()["width"] / n for i, n in enumerate((10, decision + 1))
    ]
    found = {
        (i, row, int(x // width))
        for i, (signs, width) in enumerate(zip(marked, widths, strict=True))
        for row, x in signs
    }
    result = page.evaluate("model.get('result')")
    places = page.evaluate("model.get('data').places")
    for i, side in enumerate(("encoder", "decoder")):
        for row, (place, _) in enumerate(places[side]):
            for column, share in enumerate(result["maps"][side]["moved"][row]):
                if abs(share) < 0.2:
                    assert (i, row, column) not in found
                    continue
                own, other = patched(translator, APPLE, LEMON, [(place, column)], decision)["probs"][2]
                assert ((i, row, column) in found) == (other > own), (place, column)
    count = sum(len(signs) for signs in marked)
    assert count > 2 and f"● {count} of " in page.locator(".asked").inner_text()
    assert page.locator(".legend .turns").count() == 1


FINGER = """const asked = window.matchMedia.bind(window);
    window.matchMedia = query => query === '(pointer: coarse)' ? { matches: true } : asked(query)"""
PHONE = """<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>A page</title>
<style>body { margin: 0; } iframe { display: block; width: 100%; height: 1900px; border: 0; }</style>
<iframe src="view.html" title="view"></iframe></html>"""


@pytest.mark.parametrize("framed", [False, True])
def test_a_tap_is_answered_on_the_screen_of_a_phone(show, page, translator, tmp_path, framed):
    """In a page, and in a frame that does not scroll; and what is tapped stays where it was."""
    page.add_init_script(FINGER)
    page.set_viewport_size({"width": 390, "height": 844})
    show(PatchView(translator, APPLE, LEMON))
    if framed:
        (tmp_path / "phone.html").write_text(PHONE)
        page.goto((tmp_path / "phone.html").as_uri())
    view = page.frames[-1]
    view.wait_for_selector(".map .body canvas")
    body = view.get_by_role("application").nth(1)
    page.evaluate("y => scrollBy(0, y)", body.bounding_box()["y"] - 200)
    assert view.locator(".echo").is_hidden()
    for row in (19, 2, 12):
        before, width = body.bounding_box(), body.bounding_box()["width"] / 7
        page.mouse.click(before["x"] + 6.5 * width, before["y"] + 24 * (row + 0.5))
        settled(view)
        echo = view.locator(".echo")
        echo.wait_for()
        box = echo.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 844 and box["x"] + box["width"] <= 390
        assert body.bounding_box() == before, "no cell moves"
        line, told = view.locator(".says .patched"), view.locator(".says > div").last.inner_text().split(":")[0]
        assert echo.inner_text().split() == [*line.inner_text().split(), *told.split()], "little of the map is hidden"
    assert "A with 3 vectors of B" in echo.inner_text() and "et le mange" in echo.inner_text()
    page.evaluate("scrollTo(0, 0)")
    echo.wait_for(state="hidden")


@pytest.mark.parametrize("width", [320, 390, 818, 1024, 1440])
def test_no_press_moves_a_map(show, page, translator, width):
    if width < 640:
        page.add_init_script(FINGER)
    page.set_viewport_size({"width": width, "height": 1900})
    show(PatchView(translator, APPLE, LEMON))
    before = page.locator(".map .body").first.bounding_box()["y"]
    for side, row, column in (("encoder", 11, 7), ("encoder", 0, 4), ("decoder", 19, 0), ("encoder", 11, 7)):
        click(page, side, row, column)
        assert page.locator(".map .body").first.bounding_box()["y"] == before


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_sign_of_a_patch_is_seen_on_both_grounds(show, page, translator, scheme):
    """Black is seen on a white square, and what is outside of it is seen on the page."""
    page.emulate_media(color_scheme=scheme)
    view = PatchView(translator, APPLE, LEMON)
    view.patches = [["encoder 1.3", 7]]
    show(view)
    shadow = "node => getComputedStyle(node).boxShadow.match(/rgb[^)]*.|[0-9.]+px(?=,|$)/g)"
    frame, sign = (page.locator(name).evaluate(shadow) for name in (".map .frame.strong", ".legend .framed"))
    assert frame == sign == ["rgb(0, 0, 0)", "2px", "rgb(255, 255, 255)", "4px"]
    corner = "node => getComputedStyle(node).backgroundImage"
    frame, sign = (page.locator(name).evaluate(corner) for name in (".map .frame.strong", ".legend .framed"))
    assert frame == sign and "rgb(0, 0, 0) 6px" in frame, "which no cell has that is only pointed at"


def test_no_line_breaks_between_a_word_and_its_number(show, page, translator):
    page.set_viewport_size({"width": 390, "height": 900})
    show(PatchView(translator, APPLE, LEMON))
    page.locator(".certainty").evaluate_all("all => all.forEach(({ style }) => (style.width = '120px'))")  # long words
    heights = page.locator(".certainty > span").evaluate_all("all => all.map(({ offsetHeight }) => offsetHeight)")
    assert len(heights) == 6 and max(heights) < 24


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


@pytest.mark.parametrize("width", [320, 390, 818, 1024, 1440])
def test_every_cell_of_a_map_can_be_reached(show, page, translator, width):
    page.set_viewport_size({"width": width, "height": 900})
    show(PatchView(translator, APPLE, LEMON))
    for i in range(2):
        box = page.get_by_role("application").nth(i).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width


# Of each cell of the first map: its colour, and the contrast of the ink on it (WCAG 2.2).
INKS = """([rows, columns]) => {
    const canvas = document.querySelector('.map .body canvas')
    const [width, height] = [canvas.width / columns, canvas.height / rows]
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    const linear = part => part <= 10 ? part / 3295 : ((part / 255 + 0.055) / 1.055) ** 2.4
    const light = ([r, g, b]) => 0.05 + 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    const at = (x, y) => [...data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 3)]
    return Array.from({ length: rows * columns }, (_, i) => {
        const [left, top] = [Math.round(i % columns * width), Math.round(Math.floor(i / columns) * height)]
        const ground = at(left + 1, top + 1)
        const all = []
        for (let x = left + 1; x < left + width - 2; x++)
            for (let y = top + 1; y < top + height - 2; y++) all.push(light(at(x, y)))
        const [least, most] = [Math.min(...all), Math.max(...all)]
        return [ground, Math.max(most / light(ground), light(ground) / least)]
    })
}"""


def test_numbers_are_readable_in_both_themes(show, translator):
    """On all colours from -1 to 1; red is red and blue is blue, 0 is nearly the page, and another theme is followed."""
    page = show(PatchView(translator, APPLE, LEMON))
    rows, columns = page.evaluate("[data => [data.length, data[0].length]][0](model.get('result').maps.encoder.moved)")
    count = rows * columns
    page.evaluate(
        """count => {
            const result = structuredClone(model.get('result'))
            let at = 0
            for (const row of result.maps.encoder.moved) for (const j of row.keys()) row[j] = 2 * at++ / (count - 1) - 1
            result.words = ['A', 'B']
            model.set('result', result)
        }""",
        count,
    )
    for theme, zero in {"light": "> 230", "dark": "< 50", "light again": "> 230"}.items():
        page.emulate_media(color_scheme=theme.split()[0])
        page.wait_for_function(f"size => ({INKS})(size)[{count // 2}][0][1] {zero}", arg=[rows, columns])
        inks = page.evaluate(INKS, [rows, columns])
        written = [ink for i, ink in enumerate(inks) if abs(2 * i / (count - 1) - 1) >= 0.05]
        assert [ink for ink in written if ink[1] < 4.5] == [], theme
        (blue, _), (red, _) = inks[0], inks[-1]
        assert max(blue) == blue[2] and max(red) == red[0] and min(red[0] / max(red[1:]), blue[2] / blue[0]) > 1.9
