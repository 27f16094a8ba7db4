"""RiddleView in a browser: a press shows what Python says, nothing is told before, and the riddle can be solved."""

import pytest

from seqlearn.views import RiddleView

HEADS = "nodes => nodes.map(node => [node.dataset.head, node.style.getPropertyValue('--fall'), node.textContent])"


@pytest.fixture(scope="module")
def view():
    return RiddleView()


def french(page):
    return page.locator(".french").inner_text().strip()


def press(page, head):
    page.locator(f'[data-head="{head}"]').click()


def test_nothing_is_told_before_a_press(show, view):
    page = show(view)
    heads = page.locator(".heads button").evaluate_all(HEADS)
    assert len(heads) == 24 and {fall for _, fall, _ in heads} == {"0%"}
    assert {text for *_, text in heads} == set("0123")
    assert french(page) == view.data["riddles"][0]["map"]["base"]["text"]
    assert page.get_by_role("button", name="The next riddle").get_attribute("aria-disabled") == "true"


def test_each_press_shows_what_python_says(show, view):
    page = show(view)
    for kind, layer, head, one in view.data["riddles"][0]["map"]["heads"]:
        press(page, f"{kind} {layer} {head}")
        assert french(page) == one["text"]
        told = page.locator(".says").inner_text()
        assert f"{kind} {layer}.{head}" in told and ("Found" in told) == ("elle" in one["tokens"])
    assert page.evaluate("model.get('tried').length") == 24


def test_a_riddle_is_solved_and_the_next_one_asked(show, view):
    page = show(view)
    press(page, "cross 0 1")
    page.get_by_role("button", name="The next riddle").evaluate("node => node.click()")
    assert page.evaluate("model.get('riddle')") == 0, "not before this one is solved"
    press(page, "encoder 0 1")
    assert "Now the apple is hungry" in page.locator(".says").inner_text()
    falls = [fall for _, fall, _ in page.locator(".heads button").evaluate_all(HEADS)]
    assert sum(fall != "0%" for fall in falls) > 3, "all heads have their colour now"
    press(page, "encoder 0 1")
    assert french(page).endswith("parce qu'il a faim."), "a second press gives the head back"
    press(page, "encoder 0 1")
    page.get_by_role("button", name="The next riddle").click()
    assert french(page) == view.data["riddles"][1]["map"]["base"]["text"]
    assert page.evaluate("[model.get('riddle'), model.get('tried')]") == [1, []]
    press(page, "encoder 1 3")
    assert "Now the bird was sweet" in page.locator(".says").inner_text()
    assert page.get_by_role("button", name="The next riddle").get_attribute("aria-disabled") == "true"
    page.get_by_role("button", name="Start again").click()
    assert page.evaluate("model.get('tried')") == []


def test_with_keys(show, view):
    """One Tab stop for the heads, arrows inside; the focus stays on the head that was pressed."""
    page = show(view)
    page.locator(".heads button").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("model.get('tried')") == ["encoder 0 1"]
    assert page.evaluate("document.activeElement.dataset.head") == "encoder 0 1"
    assert "Found" in page.locator(".says").inner_text()


@pytest.mark.parametrize("width", [390, 818, 1440])
def test_what_a_press_changes_is_on_the_screen(show, view, width):
    page = show(view)
    page.set_viewport_size({"width": width, "height": 800})
    press(page, "encoder 0 1")
    for part in (".french", ".says", '[data-head="encoder 0 1"]'):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 800 and box["x"] + box["width"] <= width
