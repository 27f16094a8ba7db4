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
    assert page.get_by_text("The next riddle").is_hidden()


def test_each_press_shows_what_python_says(show, view):
    page = show(view)
    for kind, layer, head, one in view.data["riddles"][0]["map"]["heads"]:
        press(page, f"{kind} {layer} {head}")
        assert french(page) == one["text"]
        told = page.locator(".found").inner_text()
        assert (f"In {kind} {layer}.{head}" in told or "Found" in told) and ("Found" in told) == (
            "elle" in one["tokens"]
        )
    assert page.evaluate("model.get('tried').length") == 24


def test_a_riddle_is_solved_and_the_next_one_asked(show, view):
    page = show(view)
    press(page, "cross 0 1")
    page.get_by_text("The next riddle").evaluate("node => node.click()")
    assert page.evaluate("model.get('riddle')") == 0, "not before this one is solved"
    press(page, "encoder 0 1")
    assert "Now the apple is hungry" in page.locator(".found").inner_text()
    falls = [fall for _, fall, _ in page.locator(".heads button").evaluate_all(HEADS)]
    assert sum(fall != "0%" for fall in falls) > 3, "all heads have their colour now"
    press(page, "encoder 0 1")
    assert french(page).endswith("parce qu'il a faim."), "a second press gives the head back"
    assert page.locator("[aria-pressed=true]").count() == 0 and page.get_by_text("The next riddle").is_visible()
    page.get_by_role("button", name="The next riddle").click()
    assert french(page) == view.data["riddles"][1]["map"]["base"]["text"]
    assert page.evaluate("[model.get('riddle'), model.get('tried')]") == [1, []]
    press(page, "encoder 1 3")
    assert "Now the bird was sweet" in page.locator(".found").inner_text()
    assert page.get_by_text("The next riddle").is_hidden()
    page.get_by_role("button", name="Start again").press("Enter")
    assert page.evaluate("[model.get('riddle'), model.get('tried')]") == [0, []]
    assert page.evaluate("document.activeElement.dataset.head") == "encoder 0 0", "the keys go on"
    assert page.get_by_text("Start again").is_hidden(), "nothing to begin anew"


def test_it_says_why(show, view, page):
    """What the head looks at, from its own data; the lesson is named, and is no link where there is no book."""
    show(view)
    press(page, "encoder 0 1")
    said, found = page.locator(".reason"), page.locator(".found")
    looks = "In encoder 0.1, “it” looks at “hungry” (attention weight 1.00). Now the apple is hungry"
    assert looks in found.inner_text()
    words = "Without this head, “it” in encoder 1.3 looks at “apple” (0.75), no longer at “cat” (0.99). Lesson 11 shows"
    assert said.inner_text().startswith(words)
    assert said.get_by_role("link").count() == 0
    page.get_by_role("button", name="The next riddle").click()
    press(page, "encoder 1 3")
    assert "In encoder 1.3, “it” looks at “orange” (attention weight 0.97). Now the bird" in found.inner_text()
    assert said.inner_text().startswith("Lesson 11 shows")


def test_a_guess_has_a_reason(show, view):
    """Who points at a head, or has pressed a wrong one, reads where it looks; the last riddle has no next one."""
    page = show(view)
    said = page.locator(".found")
    page.locator("[data-head='encoder 0 0']").hover()
    assert said.inner_text() == "In encoder 0.0, “it” looks at “apple” (attention weight 0.35)."
    page.locator("[data-head='causal 0 3']").focus()
    assert said.inner_text() == "In causal 0.3, “qu'” looks at “qu'” (attention weight 1.00)."
    press(page, "cross 1 3")
    assert said.inner_text().startswith("In cross 1.3, “il” looks at “it” (attention weight 1.00). Without this head")
    press(page, "encoder 0 1")
    page.locator("[data-head='encoder 0 0']").hover()
    assert said.inner_text().startswith("Found."), "which is still to be read"
    page.locator("[data-head='encoder 0 1']").click()
    page.locator("[data-head='encoder 0 0']").hover()
    assert said.inner_text().startswith("In encoder 0.0"), "all heads are on again"
    page.get_by_role("button", name="The next riddle").click()
    press(page, "encoder 1 3")
    page.get_by_text("The next riddle").evaluate("node => node.click()")
    assert page.evaluate("[model.get('riddle'), model.get('tried')]") == [1, ["encoder 1 3"]]


def test_with_keys(show, view):
    """One Tab stop for the heads, arrows inside; the focus stays on the head that was pressed, until one is found."""
    page = show(view)
    page.locator(".heads button").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.head") == "encoder 0 0"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("model.get('tried')") == ["encoder 0 0", "encoder 0 1"]
    assert "Found" in page.locator(".found").inner_text()
    assert page.evaluate("document.activeElement.innerText") == "The next riddle"
    page.keyboard.press("Enter")
    assert page.evaluate("[model.get('riddle'), document.activeElement.dataset.head]") == [1, "encoder 0 0"]


# Encoder, causal and cross heads stand side by side, or one below the other, and the layers then side by side.
WALKS = {
    1440: [("ArrowDown", "encoder 1 1"),
           ("ArrowDown", "encoder 1 1"), ("End", "cross 1 3"), ("ArrowUp", "cross 0 3"), ("ArrowLeft", "cross 0 2"),
           ("Home", "encoder 0 0"), *[("ArrowRight", f"{kind} 0 {i}") for kind in ("encoder", "causal")
                                      for i in range(4)][1:]],
    390: [("ArrowDown", "causal 0 1"), ("ArrowUp", "encoder 0 1"), ("End", "cross 1 3"), ("ArrowUp", "causal 1 3"),
          ("Home", "encoder 0 0"), *[("ArrowRight", f"encoder {i // 4} {i % 4}") for i in range(1, 5)]],
}  # fmt: skip


@pytest.mark.parametrize("width", WALKS)
def test_the_arrows_go_as_the_heads_are_drawn(show, view, page, width):
    page.set_viewport_size({"width": width, "height": 800})
    show(view)
    page.locator(".english").evaluate("(line) => { line.tabIndex = -1; line.focus() }")
    for key, head in [
        ("Tab", "encoder 0 0"), ("ArrowRight", "encoder 0 1"), *WALKS[width],
    ]:  # fmt: skip
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.head") == head, key
    assert page.locator(".heads [tabindex='0']").count() == 1


def test_the_legend_has_what_is_drawn(show, view):
    """The mark of a head that was tried, and the colours, come with the first of them; nothing moves."""
    page = show(view)
    entries = page.locator(".legend > span")
    place = page.locator(".says").bounding_box()
    seen = [one.is_visible() for one in entries.all()]
    assert seen == [False, False] and entries.first.text_content() == "tried"
    press(page, "cross 0 1")
    assert [one.is_visible() for one in entries.all()] == [True, False], "without it nothing changes"
    press(page, "encoder 0 1")
    assert [one.is_visible() for one in entries.all()] == [True, True]
    assert page.locator(".says").bounding_box() == place


@pytest.mark.parametrize("width", [390, 818, 1440])
def test_what_a_press_changes_is_on_the_screen(show, view, width):
    page = show(view)
    page.set_viewport_size({"width": width, "height": 800})
    press(page, "encoder 0 1")
    for part in (".french", ".says", '[data-head="encoder 0 1"]'):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 800 and box["x"] + box["width"] <= width


def test_no_answer_moves_a_head(show, view):
    """On a phone: where a finger has pressed, it presses the same head again."""
    page = show(view)
    page.set_viewport_size({"width": 390, "height": 844})
    places = [[one.bounding_box() for one in page.locator(".heads button").all()]]
    assert "read where this head looks" in page.locator(".found").inner_text()
    for head in ("cross 0 0", "cross 0 1", "encoder 0 1"):
        press(page, head)
        places.append([one.bounding_box() for one in page.locator(".heads button").all()])
    assert all(place == places[0] for place in places)


def test_a_hint_comes_after_some_misses_and_the_last_riddle_ends(show, view):
    page = show(view)
    assert "A hint" not in page.locator(".found").inner_text()
    looks, row = (
        "In the head that decides, English looks at English.",
        "The head that decides stands in the row encoder 0.",
    )
    for key, hint in {"cross 0 0": looks, "cross 0 1": row}.items():
        press(page, key)
        assert page.locator(".found").inner_text().endswith(f"A hint: {hint}")
    page.evaluate("model.set('tried', [])")
    press(page, "encoder 1 3")
    assert page.locator(".found").inner_text().endswith(f"A hint: {row}"), "the kind is known already"
    page.locator("[data-head='encoder 0 1']").click()
    said = page.locator(".found").inner_text()
    assert "Found" in said and "A hint" not in said and "the last riddle" not in said
    page.get_by_role("button", name="The next riddle").click()
    for kind, layer, head in view.data["riddles"][1]["solutions"][:1]:
        page.locator(f"[data-head='{kind} {layer} {head}']").click()
    assert "That was the last riddle." in page.locator(".found").inner_text()
