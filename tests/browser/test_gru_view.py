"""GruView in a browser: what JavaScript computes and draws is what Python computes, whatever gates are chosen."""

import pytest
from browser.test_family import CUT, FITS
from views.test_gru_view import SENTENCE, WORDS, inputs, network

from seqlearn.translator.translator import Translator
from seqlearn.views import GruView
from seqlearn.views.shared.packing import unpack

WORD = "[role=option]"
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
    step = shown.step()
    old, new, update, state = (written(number) for number in (step.old, step.new, step.update, step.state))
    assert first == "unit 2 at girl: it mixes both."
    assert second == f"h′ = (1 − z) · n + z · h = (1 − {update}) · ({new}) + {update} · ({old}) ≈ {state}"


def test_a_gate_is_moved(show):
    """The new state moves between the old state and the new value; a button puts the gates of the network back."""
    shown = view(unit=2, word=1)
    page, own = show(shown), expected(shown)
    back = page.get_by_role("button", name="Put the gates back")
    assert back.get_attribute("aria-disabled") == "true"
    before = below_bars(page)
    update, reset = page.get_by_label("update gate z"), page.get_by_label("reset gate r")
    hint = "Drag the bar of a gate; with the keys: Tab goes on to its slider below, and the arrow keys move it."
    assert not page.locator(".gru-moved").inner_text() and page.locator(".says").inner_text().endswith(hint)
    update.press("End")
    shown.z = 1.0
    assert page.evaluate(TRAITS) == [2, 1, 1, None] and machine(page) == expected(shown)
    assert machine(page)[4] == machine(page)[0], "the old state is kept"
    says = page.locator(".says").inner_text()
    assert "unit 2 at girl: it keeps its old state." in says and hint not in says
    assert (
        f"The network itself has z = {own[3]}, r = {own[1]}, and h′ = {own[4]}. Only this number is changed; " in says
    )
    update.press("Home")
    assert machine(page)[4] == machine(page)[2] and "takes the new value" in page.locator(".says").inner_text()
    reset.press("Home")
    shown.z = shown.r = 0.0
    assert machine(page) == expected(shown) and update.get_attribute("aria-valuetext") == "0.00"
    back.click()
    assert page.evaluate(TRAITS) == [2, 1, None, None] and machine(page) == own
    assert below_bars(page) == before and back.get_attribute("aria-disabled") == "true"


@pytest.mark.parametrize(("row", "gate"), [(0, "z"), (1, "r")])
def test_the_bar_of_a_gate_is_dragged(show, row, gate):
    """To where the pointer is; of another word, whose own gates are free then. A click moves no gate."""
    shown = view(unit=2, word=1)
    page = show(shown)
    page.evaluate("model.set('r', 0.25)")
    well = page.locator(WORD).nth(2).locator(".well.gate").nth(row)
    box = well.bounding_box()
    well.click()
    assert page.evaluate(TRAITS) == [2, 2, None, None]
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    for share, value in ((0.5, 0.5), (0.25, 0.75), (-3, 1), (0.75, 0.25)):
        page.mouse.move(box["x"] + 5, box["y"] + share * box["height"])
        assert page.evaluate("name => model.get(name)", gate) == pytest.approx(value, abs=0.02)
    page.mouse.up()
    shown.word = 2
    setattr(shown, gate, page.evaluate("name => model.get(name)", gate))
    assert machine(page) == expected(shown)


def test_a_drag_that_the_browser_takes_away_changes_nothing(show):
    page = show(view(unit=2, word=1))
    page.evaluate("model.set('z', 0.5)")
    well = page.locator(WORD).nth(1).locator(".well.gate").first
    box = well.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 5, box["y"] + box["height"])
    assert page.evaluate("model.get('z')") == 0
    well.dispatch_event("pointercancel")
    assert page.evaluate("model.get('z')") == 0.5
    page.mouse.up()


def test_a_word_of_the_text_brings_the_answer_onto_the_screen(show, page):
    """And so no echo covers what it is about."""
    page.set_viewport_size({"width": 390, "height": 700})
    show(view(unit=2).tell("[A word] of it.", {"A word": {"word": 1}}))
    says = page.locator(".seqlearn > .says")
    assert says.bounding_box()["y"] + says.bounding_box()["height"] > 700
    page.get_by_role("button", name="A word").click()
    assert says.bounding_box()["y"] + says.bounding_box()["height"] <= 701
    page.locator(WORD).last.click()
    assert page.evaluate("model.get('word')") == 3


def test_the_bars_follow_the_theme(show, page):
    """Also on paper, which is light."""
    show(view(unit=2, word=1))
    colours = """() => ['.tall .fill', '.gru-machine .gru-bar'].map((name) =>
        [...document.querySelectorAll(name)].map(({ style }) => style.background).join())"""
    light = page.evaluate(colours)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"light => ({colours})().every((text, i) => text !== light[i])", arg=light)
    page.emulate_media(media="print")
    page.wait_for_function(f"light => ({colours})().join() === light.join()", arg=light)
    page.emulate_media(media="screen")
    page.wait_for_function(f"light => ({colours})().join() !== light.join()", arg=light)


def test_the_later_words_carry_the_changed_state_on(show):
    """Of this unit alone, and whichever word is pointed at; their gates and new values are held as they were."""
    shown = view(unit=2, word=1)
    page = show(shown)
    words, line = page.locator(WORD), page.locator(".gru-before:visible")
    before = [below_bars(word) for word in words.all()]
    own = unpack(shown.data["states"])[1:, 2].tolist()
    assert line.count() == 0
    page.evaluate("model.set('z', 1)")
    shown.z = 1.0
    state, expect = shown.step().state, []
    for shown.word in (2, 3):
        shown.z = None
        step = shown.step()
        state = (1 - step.update) * step.new + step.update * state
        expect.append([written(state), written(step.update), written(step.reset)])
    shown.word, shown.z = 1, 1.0
    step = shown.step()
    changed = [written(number) for number in (step.state, step.update, step.reset)]
    for point_at in ("h1", f"{WORD} >> nth=3"):
        page.locator(point_at).hover()
        assert [below_bars(word) for word in words.all()] == [before[0], changed, *expect]
        assert expect[0][0] != before[2][0] and line.count() == 3, "where the states of the network were"
    assert f"and h′ = {written(own[3])}. Only this number is changed; " in page.locator(".says").inner_text()
    assert machine(page)[0] == expect[0][0] and machine(page)[4] == expect[1][0], "the step at the word pointed at"
    in_network = f": state {expect[0][0]} (in the network {written(own[2])}), update gate"
    assert in_network in words.nth(2).get_attribute("aria-label")
    page.get_by_role("application").hover(position={"x": 24 * 3 + 9, "y": 9})
    assert line.count() == 0, "another unit has its own gates"


def test_the_answer_stands_above_the_step_and_covers_none_of_it(show, page):
    """With a window of a laptop, and with the keys."""
    page.set_viewport_size({"width": 1024, "height": 768})
    show(view(unit=2, word=1))
    says, step = page.locator(".says"), page.locator(".gru-machine")
    for name in ("reset gate r", "update gate z"):
        page.get_by_label(name).press("ArrowRight")
        box, below = says.bounding_box(), step.bounding_box()
        assert box["y"] + box["height"] <= below["y"], name


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
    """No text is cut off and nothing moves, whatever is chosen; what has no room is scrolled inside."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    show(GruView.of(Translator.pretrained("bahdanau", "cpu"), SENTENCE))
    places = """[...document.querySelectorAll('.gru-word, .gru-machine, .legend, .says')].flatMap((node) => {
        const { top, bottom } = node.getBoundingClientRect(); return [top, bottom] })"""
    before = page.evaluate(places)
    for state in ({}, {"unit": 100, "word": 5}, {"z": 0.5, "r": 0.5}, {"unit": 17, "word": 10}):
        page.evaluate("values => Object.entries(values).forEach(([name, value]) => model.set(name, value))", state)
        assert page.evaluate(places) == before and page.evaluate(FITS) and page.evaluate(CUT) == []
    assert [" ".join(name.split()) for name in page.locator(".gru-names > span").all_inner_texts()[1:]] == (
        ["state h′", "update z", "reset r"] if width == 390 else ["state h′", "update gate z", "reset gate r"]
    )
    step, state = (page.locator(part).bounding_box() for part in (".gru-machine", ".gru-state"))
    assert width < 1440 or step["y"] + step["height"] - state["y"] < 680, "with its text, on a screen of 900 pixels"
    assert all(box["height"] <= 84 for name in page.locator(".gru-names > span").all() if (box := name.bounding_box()))


def test_the_button_stays_where_it_is(show, page):
    """Whether the number of the unit has two digits or three."""
    show(GruView(WORDS, network(hiddens=128), inputs(), unit=76))
    back = page.get_by_role("button", name="Put the gates back")
    before = back.bounding_box()["x"]
    page.evaluate("model.set('unit', 110)")
    assert back.bounding_box()["x"] == before


def test_the_letters_of_the_arithmetic_are_explained(show):
    legend = show(view()).locator(".legend").inner_text().split("\n")
    assert {"the vector of the word", "learned weights", "brings a sum between −1 and 1"} <= set(legend)
