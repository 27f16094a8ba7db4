"""GruView in a browser: what JavaScript computes and draws is what Python computes, whatever gates are chosen."""

import pytest
import torch
from browser.test_family import AXE, CUT, FIND_BARRIERS, FITS
from views.test_gru_view import SENTENCE, WORDS, inputs, network

from seqlearn.translator.translator import Translator
from seqlearn.views import GruView
from seqlearn.views.shared.bundle import bundle
from seqlearn.views.shared.packing import unpack
from seqlearn.views.shared.view import VIEWS

WORD = "[role=option]"
STEP = 'import { gruStep } from "./gru/gru_view.js";\nreturn gruStep;'
TRAITS = "['unit', 'word', 'z', 'r'].map((name) => model.get(name))"


def view(**more):
    return GruView(WORDS, network(), inputs(), **more)


def written(number):
    return f"{number:.2f}".replace("-", "−").replace("−0.00", "0.00")


def machine(page):
    """The numbers of the step that is shown in full: old state, reset gate, new value, update gate, new state."""
    return page.locator(".gru-machine output").all_inner_texts()


def below_bars(part):
    """The numbers below the bars, which come from the style sheet."""
    return part.locator(".gru-number").evaluate_all("nodes => nodes.map((n) => n.dataset.number)")


def expected(shown):
    return [written(number) for number in shown.step()]


@pytest.fixture(autouse=True)
def as_it_was(page):
    """The next test finds a large and light window."""
    yield
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1300, "height": 1400})


def test_every_number_is_that_of_python_and_of_torch(page):
    gru, vectors = network(hiddens=7), inputs(6)
    shown = GruView(None, gru, vectors)
    data = {name: unpack(shown.data[name]) for name in shown.data if name != "tokens"}
    cells = [
        {"before": float(data["states"][i, j]), "z": float(data["updates"][i, j]), "r": float(data["resets"][i, j]),
         "fromWord": float(data["from_word"][i, j]), "fromState": float(data["from_state"][i, j])}
        for i in range(6) for j in range(7)
    ]  # fmt: skip
    run = "([code, cells]) => { const step = new Function(code)(); return cells.map((cell) => step(cell).after) }"
    found = torch.tensor(page.evaluate(run, [bundle(STEP, VIEWS), cells])).view(6, 7)
    with torch.no_grad():
        torch.testing.assert_close(found, gru(vectors[None])[0][0], atol=1e-6, rtol=0)
    for shown.word in range(6):
        for shown.unit in range(7):
            assert shown.step().state == pytest.approx(float(found[shown.word, shown.unit]), abs=1e-6)


def test_what_is_drawn_is_what_python_computed(show):
    shown = view(unit=2, word=1)
    page = show(shown)
    assert machine(page) == expected(shown)
    states, updates, resets = (unpack(shown.data[name])[:, 2].tolist() for name in ("states", "updates", "resets"))
    for i, word in enumerate(page.locator(WORD).all()):
        numbers = [states[i + 1], updates[i], resets[i]]
        assert below_bars(word) == [written(number) for number in numbers]
        well, fill = (word.locator(f".tall {part}").bounding_box() for part in (".well", ".fill"))
        middle = well["y"] + well["height"] / 2
        tip = fill["y"] if numbers[0] > 0 else fill["y"] + fill["height"]
        assert middle - tip == pytest.approx(numbers[0] * well["height"] / 2, abs=2)
    first, second = page.locator(".says").inner_text().split("\n")[:2]
    assert [first.rstrip("."), second] == [
        line.replace("“", "").replace("”", "") for line in shown.figure().axes[0].get_title("left").split("\n")
    ]


def test_a_gate_is_moved(show):
    """The new state moves between the old state and the new value; a button puts the gates of the network back."""
    shown = view(unit=2, word=1)
    page, own = show(shown), expected(shown)
    back = page.get_by_role("button", name="Put the gates back")
    assert back.get_attribute("aria-disabled") == "true"
    before = below_bars(page)
    update, reset = page.get_by_label("update gate z"), page.get_by_label("reset gate r")
    assert not page.locator(".gru-moved").inner_text().strip()
    update.press("End")
    shown.z = 1.0
    assert page.evaluate(TRAITS) == [2, 1, 1, None] and machine(page) == expected(shown)
    assert machine(page)[4] == machine(page)[0], "the old state is kept"
    says = page.locator(".says").inner_text()
    assert "unit 2 at girl: it keeps its old state." in says
    assert f"The network itself has z = {own[3]}, r = {own[1]}, and h′ = {own[4]}; " in says
    update.press("Home")
    assert machine(page)[4] == machine(page)[2] and "takes the new value" in page.locator(".says").inner_text()
    reset.press("Home")
    shown.z = shown.r = 0.0
    assert machine(page) == expected(shown) and update.get_attribute("aria-valuetext") == "0.00"
    back.click()
    assert page.evaluate(TRAITS) == [2, 1, None, None] and machine(page) == own
    assert below_bars(page) == before and back.get_attribute("aria-disabled") == "true"


def test_the_word_has_the_gates_that_were_set_and_the_later_ones_are_grey(show):
    """Of this unit alone, and whichever word is pointed at; the words after it are those of the unchanged gates."""
    shown = view(unit=2, word=1)
    page = show(shown)
    words, later, grey = page.locator(WORD), page.locator(".gru-word.later .name"), page.locator(".gru-later")
    before = [below_bars(word) for word in words.all()]
    assert later.count() == 0 and not grey.inner_text()
    page.evaluate("model.set('z', 1)")
    shown.z = 1.0
    step = shown.step()
    changed = [written(number) for number in (step.state, step.update, step.reset)]
    for point_at in ("h1", f"{WORD} >> nth=3"):
        page.locator(point_at).hover()
        assert [below_bars(word) for word in words.all()] == [before[0], changed, *before[2:]] and changed != before[1]
        assert later.all_inner_texts() == WORDS[2:] and grey.inner_text().strip() == "(grey: gates unchanged)"
    assert changed[0] in words.nth(1).get_attribute("aria-label")
    labels = words.evaluate_all("nodes => nodes.map((node) => node.ariaLabel.endsWith(', gates unchanged'))")
    assert labels == [False, False, True, True]
    page.get_by_role("application").hover(position={"x": 24 * 3 + 9, "y": 9})
    assert later.count() == 0, "another unit has its own gates"
    page.evaluate("model.set('word', 3)")
    page.locator("h1").hover()
    assert later.count() == 0 and not grey.inner_text(), "no word is later than the last one"


def test_the_marks_of_old_state_and_new_value(show):
    shown = view(unit=2, word=1)
    page = show(shown)
    track = page.locator(".gru-machine .track").last.bounding_box()
    for name, number in (("old", shown.step().old), ("new", shown.step().new)):
        mark = page.locator(f".gru-machine .gru-tick.{name}").bounding_box()
        middle = mark["x"] + mark["width"] / 2
        assert middle - track["x"] - track["width"] / 2 == pytest.approx(number * track["width"] / 2, abs=3)


def test_another_word(show):
    """Pointing shows a word's step for a while; a click chooses it, and frees the gates."""
    shown = view(unit=1)
    page = show(shown)
    page.evaluate("model.set('z', 0.5)")
    page.locator(WORD).nth(2).hover()
    shown.word = 2
    assert machine(page) == expected(shown) and page.evaluate(TRAITS) == [1, 0, 0.5, None]
    assert page.locator(".gru-at").last.inner_text() == "The step at the word “eats”"
    page.locator("h1").hover()
    shown.word, shown.z = 0, 0.5
    assert machine(page) == expected(shown)
    page.locator(WORD).nth(3).click()
    shown.word, shown.z = 3, None
    page.locator("h1").hover()
    assert machine(page) == expected(shown) and page.evaluate(TRAITS) == [1, 3, None, None]
    assert page.locator("[aria-selected=true]").count() == page.locator(".gru-word.on").count() == 1


def test_the_keys(show):
    """The words are one stop of the Tab key, at the chosen word; the arrows choose others."""
    page = show(view(word=2))
    page.get_by_role("application").focus()
    page.keyboard.press("Tab")
    for key, word in (("", 2), ("ArrowRight", 3), ("ArrowRight", 3), ("ArrowLeft", 2), ("Home", 0), ("End", 3)):
        if key:
            page.keyboard.press(key)
        assert page.evaluate("model.get('word')") == word, key
        assert page.locator(":focus").get_attribute("aria-label").startswith(f"{WORDS[word]}: state ")
    page.keyboard.press("Tab")
    assert page.locator(":focus").get_attribute("aria-label") == "reset gate r"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("model.get('r')") is not None


def test_what_a_screen_reader_hears(show):
    shown = view(unit=2)
    page = show(shown)
    state, z, r = (
        float(unpack(shown.data[name])[at, 2]) for name, at in (("states", 1), ("updates", 0), ("resets", 0))
    )
    spoken = f"the: state {written(state)}, update gate {written(z)}, reset gate {written(r)}"
    assert page.locator(WORD).first.get_attribute("aria-label") == spoken
    assert page.get_by_role("listbox", name="words, from left to right").count() == 1
    assert page.get_by_label("update gate z").get_attribute("aria-valuetext") == written(z)


def test_another_unit(show):
    shown = view(word=1)
    page = show(shown)
    page.evaluate("model.set('r', 0.5)")
    page.get_by_label("unit", exact=True).press("End")
    shown.unit = 4
    assert page.evaluate(TRAITS) == [4, 1, None, None] and machine(page) == expected(shown)
    assert page.locator(".controls output").inner_text() == "4 of 5"


def test_a_unit_is_chosen_in_the_state(show):
    """The row has all units after the word that is shown; pointing shows a unit for a while, and a click chooses it."""
    shown = view(word=1)
    page = show(shown)
    row = page.get_by_role("application")
    assert page.locator(".gru-state figcaption").inner_text() == "The state after the word “girl”: 5 units"
    row.hover(position={"x": 24 * 3 + 9, "y": 9})
    shown.unit = 3
    assert machine(page) == expected(shown) and page.evaluate(TRAITS) == [0, 1, None, None]
    assert page.locator(".gru > .gru-at").first.inner_text() == "Unit 3 at each word"
    page.locator("h1").hover()
    shown.unit = 0
    assert machine(page) == expected(shown)
    page.evaluate("model.set('z', 0.5)")
    row.hover(position={"x": 24 * 3 + 9, "y": 9})
    shown.unit = 3
    assert machine(page) == expected(shown), "with its own gates"
    row.click(position={"x": 24 * 4 + 9, "y": 9})
    assert page.evaluate(TRAITS) == [4, 1, None, None]
    row.click(position={"x": 24 * 4 + 9, "y": 9})
    assert page.evaluate(TRAITS) == [4, 1, None, None], "it stays chosen"
    for key in ("ArrowLeft", "ArrowLeft", "Enter"):
        row.press(key)
    assert page.evaluate("model.get('unit')") == 2


def test_the_state_has_the_colours_of_its_numbers(show):
    """Blue below 0, red above; of the unit whose gate was moved, the new state that follows."""
    shown = view(unit=2, word=1)
    page = show(shown)
    pixel = """unit => { const map = document.querySelector('.gru-state canvas'), scale = map.width / map.clientWidth;
        const [red, , blue] = map.getContext('2d').getImageData((24 * unit + 9) * scale, 9 * scale, 1, 1).data;
        return red - blue }"""
    for unit, number in enumerate(unpack(shown.data["states"])[2].tolist()):
        assert abs(number) < 0.05 or (page.evaluate(pixel, unit) > 0) == (number > 0), unit
    before = page.evaluate(pixel, 2)
    page.evaluate("model.set('z', 0.02)")
    shown.z = 0.02
    assert page.evaluate(pixel, 2) != before and (page.evaluate(pixel, 2) > 0) == (shown.step().state > 0)


def test_a_gru_of_one_unit_has_no_slider_for_it(show):
    page = show(GruView(WORDS, network(hiddens=1), inputs()))
    assert page.get_by_label("unit", exact=True).count() == 0 and page.locator(".gru-machine").count() == 1


def test_texts_of_the_learner_are_texts(show):
    hostile = ["</script><script>alert(1)</script>", "<b>x</b>", "مرحبا", "a" * 300]
    page = show(GruView(hostile, network(), inputs()))
    assert page.locator(".gru-word .name").evaluate_all("nodes => nodes.map((node) => node.title)") == hostile
    assert page.locator("b").count() == 0 and page.evaluate(FITS)


def test_other_data_are_drawn_anew(show, tmp_path):
    page = show(view(unit=1, word=3))
    page.evaluate("""() => { const tensor = (rows, start) => ({ dtype: "float32", shape: [rows, 2],
            data: new DataView(Float32Array.from({ length: 2 * rows }, (_, i) => start + i / 20).buffer) });
        model.set("word", 0);
        model.set("data", { tokens: ["a", "b"], states: tensor(3, 0), updates: tensor(2, 0.1), resets: tensor(2, 0.2),
            from_word: tensor(2, 0), from_state: tensor(2, 0) }) }""")
    assert page.locator(".gru-word .name").all_inner_texts() == ["a", "b"]
    assert machine(page)[0] == "0.05" and machine(page)[3] == "0.15"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("light", 818), ("light", 390), ("dark", 390)])
def test_the_sentence_of_the_lesson(show, page, scheme, width):
    """No barrier, no text cut off, nothing moves, whatever is chosen; what has no room is scrolled inside."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    show(GruView.of(Translator.pretrained("bahdanau", "cpu"), SENTENCE))
    page.evaluate(AXE)
    places = """[...document.querySelectorAll('.gru-word, .gru-machine, .legend, .says')].flatMap((node) => {
        const { top, bottom } = node.getBoundingClientRect(); return [top, bottom] })"""
    before = page.evaluate(places)
    for state in ({}, {"unit": 100, "word": 5}, {"z": 0.5, "r": 0.5}, {"unit": 17, "word": 10}):
        page.evaluate("values => Object.entries(values).forEach(([name, value]) => model.set(name, value))", state)
        assert page.evaluate(places) == before and page.evaluate(FITS) and page.evaluate(CUT) == []
    passed, found = page.evaluate(FIND_BARRIERS)
    assert found == [] and passed > 15
