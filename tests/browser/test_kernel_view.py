"""KernelView in a browser: readings are dragged, a query is pointed at, and the prediction follows."""

import itertools
import math
import re

import pytest
import torch
from browser.pointing import result, said
from browser.settling import settled

from seqlearn.views import KernelView


def kernels():
    points = torch.tensor([0.0, 1.0, 2.0, 3.0])
    return KernelView(
        points, points**2, torch.tensor([0.0, 1.5, 9.0]), ("gaussian", "boxcar"), 1.0,
        truth=torch.tensor([0.0, 2.25, 81.0]), widths=[0.1, 0.6, 1.0, 5.0],
    )  # fmt: skip


def test_the_slider_moves_the_curve(show):
    page = show(kernels())
    slider, curve = page.get_by_label("width"), page.locator("path.prediction").first
    assert slider.input_value() == "2" and slider.get_attribute("aria-valuetext") == "1"
    before = curve.get_attribute("d")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("model.get('width')") == 5 and slider.get_attribute("aria-valuetext") == "5"
    assert curve.get_attribute("d") != before
    page.evaluate("model.set('width', 0.2)")
    assert slider.input_value() == "0", "the nearest one"


def test_a_query_is_told_and_marked(show):
    page = show(kernels())
    result(page).hover(position={"x": 20, "y": 36})
    *told, hint = said(page).splitlines()
    assert told == [
        "Query x = 1.5: prediction 3.04, truth 2.25.",
        "4 of 4 keys carry 90 % of the weight; the largest, 0.37, is on the key at x = 1 (y = 1).",
    ]
    assert hint.startswith("Drag a reading"), "the hint stays until a reading is moved"
    frame = page.locator(".marks .frame")
    assert frame.count() == 1 and frame.get_attribute("class") == "frame", "thin: a row may have 3 pixels"
    sizes = [float(dot.get_attribute("r")) for dot in page.locator(".plot").first.locator(".datum").all()]
    assert sizes[1] == sizes[2] == 10.5 > sizes[0] == sizes[3] > 1.5
    page.locator(".plot").first.hover(position={"x": 60, "y": 100})
    assert said(page).startswith("Query x = 0: ")
    page.locator(".plot").first.click(position={"x": 60, "y": 100})
    assert page.evaluate("model.get('locked')") == [0]
    page.locator(".plot").first.click(position={"x": 60, "y": 100})
    assert page.evaluate("model.get('locked')") == []


def test_no_key_within_reach(show):
    page = show(kernels())
    page.get_by_label("kernel", exact=True).select_option("boxcar")
    assert page.evaluate("model.get('kernel')") == "boxcar"
    assert page.locator(".plot").first.locator("circle.lost").count() == 1
    result(page).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert said(page).startswith("Query x = 9: no prediction (the code gives 0), truth 81.")
    assert "No key is within reach: the sum is empty." in said(page)
    assert page.locator("circle.answer").get_attribute("r") == "0", "no dot, as the axis does not begin at 0"
    legend = "no prediction: no key within reach"
    assert legend in page.locator(".legend").inner_text()
    points = torch.arange(3.0)
    show(KernelView(points, points, points, ("gaussian", "constant")))
    assert legend not in page.locator(".legend").inner_text(), "their reach has no end"


def test_the_colours_reach_the_largest_weight(show):
    """At every width, also while a reading moves; the bar has its number."""
    points = torch.arange(4.0)
    view = KernelView(points, points, points, width=1.0, widths=[0.1, 1.0, 5.0])
    page = show(view)
    green = "canvas => canvas.getContext('2d').getImageData(2, 2, 1, 1).data[1]"  # viridis: the brighter, the greener
    found, foot = [], page.locator(".map .foot")
    for width in (0.1, 1, 5):
        page.evaluate("width => model.set('width', width)", width)
        found.append(page.locator(".map .body > canvas").evaluate(green))
        view.width = width
        assert [float(text) for text in foot.inner_text().split()] == [0, round(float(view.weights().max()), 2)]
    assert max(found) - min(found) < 3, "a broad kernel is not dim"
    page.evaluate("model.set('width', 1)")
    view.width = 1
    for _ in range(8):
        reading(page).press("Shift+ArrowRight")
    before, view.readings = view.weights().max(), page.evaluate("model.get('readings')")
    assert float(foot.inner_text().split()[1]) == round(float(view.weights().max()), 2) != round(float(before), 2)


@pytest.mark.parametrize("share", [0.05, 0.45, 0.55, 0.95])
def test_the_query_under_the_mouse_is_the_nearest_one(show, page, share):
    show(KernelView(torch.tensor([0.0, 4.0]), torch.tensor([0.0, 1.0]), torch.arange(5.0), width=2.0))
    page.evaluate("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")  # drawn at its width
    plot = page.locator(".regression").bounding_box()
    spots = page.locator(".regression .datum").evaluate_all("dots => dots.map(dot => Number(dot.getAttribute('cx')))")
    gap = (spots[1] - spots[0]) / 4  # from query to query
    for left in range(4):
        page.mouse.move(plot["x"] + spots[0] + (left + share) * gap, plot["y"] + 100)
        assert said(page).startswith(f"Query x = {left + (share > 0.5)}:")


def test_a_weight_of_an_eighth_stays_an_eighth(show, page):
    """It is sent as a share of the largest weight, in two bytes; 0.125 is rounded up, and any smaller number down."""
    show(KernelView(torch.arange(8.0), torch.ones(8), torch.tensor([3.5]), ("boxcar",), 9.0, widths=[9.0]))
    page.get_by_role("application").hover()
    assert "8 of 8 keys share the weight, all equally: 0.13 each." in said(page)


def reading(page):
    return page.get_by_role("slider").filter(has=page.locator(".regression"))


def spot(page, index):
    """The middle of a reading on the screen."""
    box = page.locator(".regression .datum").nth(index).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_reading_is_dragged(show):
    """The curve follows; beyond its neighbour the reading changes places with it; a click on no reading still locks."""
    page = show(kernels())
    given = page.evaluate("model.get('readings')")
    curve = page.locator("path.prediction").first
    before = curve.get_attribute("d")
    back = page.get_by_label("put the readings back")
    assert back.is_disabled()
    start, end = spot(page, 1), spot(page, 3)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0], end[1], steps=3)
    held = page.locator(".regression.grabbing .held")
    assert held.evaluate("node => Number(node.getAttribute('r'))") >= 6
    assert held.evaluate("node => getComputedStyle(node.ownerSVGElement).cursor") == "grabbing"
    (_, (x, y), *_) = page.evaluate("model.get('readings')")
    assert x == pytest.approx(1, abs=0.02) and y == pytest.approx(9, abs=0.1), "up to the height of the last reading"
    assert curve.get_attribute("d") != before and spot(page, 1)[1] == pytest.approx(end[1], abs=1)
    assert said(page).startswith("Query x = 1.5:")
    page.mouse.move(end[0] + 20, end[1], steps=3)
    assert held.evaluate("node => Number(node.getAttribute('r'))") >= 6
    page.mouse.move(end[0] + 200, end[1], steps=3)
    assert said(page).startswith("Query x = 9:"), "the query follows the mouse"
    page.mouse.move(end[0] + 20, end[1], steps=3)
    page.mouse.up()
    moved = page.evaluate("model.get('readings')")
    assert [x for x, _ in moved[:3]] == [0, 2, 3] and moved[3][0] > 3 and moved[3][1] == pytest.approx(9, abs=0.1)
    assert "Reading 4 of 4" in said(page) and page.evaluate("model.get('locked')") == []
    page.mouse.move(start[0], end[1])
    assert page.evaluate("model.get('readings')") == moved, "it was let go"
    view = kernels()
    view.readings = moved
    page.locator(".regression").hover(position={"x": 45, "y": 200})
    assert f"prediction {round(float(view.prediction()[0]), 2):g}," in said(page)
    back.click()
    assert page.evaluate("document.activeElement.className") == "handles", (
        "the button is off, and cannot keep the focus"
    )
    assert page.evaluate("model.get('readings')") == given and curve.get_attribute("d") == before


def test_a_finger_moves_a_reading_or_the_page(show, page, context):
    page.set_viewport_size({"width": 390, "height": 700})
    show(kernels())
    device = context.new_cdp_session(page)
    given = page.evaluate("model.get('readings')")

    def swipe(x, y, right, down):
        for step in range(11):
            point = {"x": x + right * step / 10, "y": y + down * step / 10}
            name = "touchMove" if step else "touchStart"
            device.send("Input.dispatchTouchEvent", {"type": name, "touchPoints": [point]})
        device.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        settled(page)

    x, y = spot(page, 3)
    swipe(x + 18, y, 0, -60)  # with a distance of 18 pixels, which stays
    readings = page.evaluate("model.get('readings')")
    assert readings[3][0] == pytest.approx(3, abs=0.02) and readings[3][1] > 15
    assert page.evaluate("scrollY") == 0, "the reading moved, and not the page"
    box = page.locator(".regression").bounding_box()
    swipe(box["x"] + 120, box["y"] + 100, 0, -60)
    assert page.evaluate("scrollY") > 20 and page.evaluate("model.get('readings')") == readings != given
    page.evaluate(  # the page glides on for a while
        "async () => { let y; do { y = scrollY; await new Promise((f) => setTimeout(f, 300)); } while (y !== scrollY) }"
    )
    page.evaluate("scrollTo(0, 0)")
    swipe(*spot(page, 0), 0, 0)
    assert page.evaluate("model.get('locked')") == [0], "a tap on a reading locks the query below"


def test_a_sentence_has_the_name_of_the_axis(show):
    points = torch.arange(3.0)
    page = show(KernelView(points, points, points, xlabel="time (hours)", ylabel="degrees", width=0.01))
    result(page).focus()
    assert said(page).startswith("Query time (hours) = 0: prediction 0.")
    assert "is on the key at time (hours) = 0 (degrees = 0)" in said(page)
    assert reading(page).get_attribute("aria-valuetext") == "reading 1 of 3: time (hours) = 0, degrees = 0"
    page = show(KernelView(points, points, points, xlabel="x" * 25, width=0.01))
    result(page).focus()
    assert said(page).startswith("Query x = 0:"), "a long name becomes a letter"


def test_a_reading_is_moved_by_keys(show):
    page = show(kernels())
    handle = reading(page)
    handle.focus()
    assert handle.get_attribute("aria-valuetext") == "reading 1 of 4: x = 0, y = 0"
    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    (_, _, (x, y), _) = page.evaluate("model.get('readings')")
    assert x == 2 and 4 < y < 7 and handle.get_attribute("aria-valuenow") == "3"
    for _ in range(8):
        page.keyboard.press("Shift+ArrowRight")
    readings = page.evaluate("model.get('readings')")
    assert readings[3][1] == y and readings[3][0] > 3 and handle.get_attribute("aria-valuenow") == "4"
    for _ in range(60):
        page.keyboard.press("ArrowDown")
    box = page.locator(".regression").bounding_box()
    assert page.locator(".regression .held").count() == 1 and spot(page, 3)[1] < box["y"] + box["height"]
    page.keyboard.press("Home")
    assert handle.get_attribute("aria-valuenow") == "1"
    page.evaluate("model.set('readings', [[0.5, 3], ...model.get('readings').slice(1)])")
    assert handle.get_attribute("aria-valuetext") == "reading 1 of 4: x = 0.5, y = 3", "as Python moved it"


def test_the_note_says_the_reading_that_the_keys_move(show, page):
    show(kernels())
    page.evaluate("model.set('readings', model.get('readings').with(2, [2, -1]))")
    reading(page).focus()
    at = page.locator(".regression .name")
    assert "Reading 3 of 4: x = 2, y = −1." in said(page), "the keys begin at the reading that was moved"
    assert reading(page).get_attribute("aria-valuenow") == "3" and at.text_content() == "2, −1"
    for key, place in (("ArrowLeft", "2 of 4: x = 1, y = 1."), ("End", "4 of 4: x = 3, y = 9."), ("Home", "1 of 4")):
        page.keyboard.press(key)
        assert f"Reading {place}" in said(page)
    page.set_viewport_size({"width": 900, "height": 1400})  # the plot is drawn anew
    page.locator("[role=slider][aria-valuenow='3']").wait_for()
    page.get_by_label("width").focus()
    assert at.text_content() == ""


def test_what_a_moved_reading_does_to_the_prediction(show):
    """At the query that is nearest to it, whichever is kept or pointed at; only while any is moved."""
    page, view = show(kernels()), kernels()
    handle, moved = reading(page), page.locator(".moved-told")
    before = view.prediction()

    def expected(query, at):
        view.readings = page.evaluate("model.get('readings')")
        now, then = (f"{round(float(numbers[query]), 2):g}" for numbers in (view.prediction(), before))
        return now != then and moved.inner_text().endswith(f" Prediction at x = {at}: {now}, before {then}.")

    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
        handle.press(key)
    assert expected(1, "1.5") and moved.inner_text().startswith("Reading 3 of 4: x = 2, y = ")
    page.evaluate("model.set('locked', [0])")
    assert expected(1, "1.5"), "the curve leaps there, and not at the query that is kept"
    start = spot(page, 2)
    page.evaluate("model.set('locked', [])")
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0], start[1] - 60, steps=2)
    page.mouse.up()
    page.mouse.move(2, 2)
    assert expected(1, "1.5"), "though the pointer has left"
    page.get_by_label("kernel", exact=True).select_option("boxcar")
    page.evaluate("model.set('width', 0.1); model.set('locked', [1])")
    assert moved.inner_text().endswith("Prediction at x = 1.5: none, before none.")
    page.get_by_label("put the readings back").click()
    assert "Prediction" not in moved.inner_text()


def test_the_name_of_a_reading_covers_few_others(show):
    x = torch.linspace(0, 5, 51)
    page = show(KernelView(x, x.sin() + 0.3 * (9 * x).sin(), x[::2], width=0.3, widths=[0.3]))
    reading(page).focus()
    covered = 0
    for _ in range(50):
        page.keyboard.press("ArrowRight")
        covered += page.locator(".regression").evaluate(
            """plot => { const name = plot.querySelector(".name").getBoundingClientRect();
            return [...plot.querySelectorAll(".datum")].some(node => { const dot = node.getBoundingClientRect();
                return dot.left < name.right && dot.right > name.left && dot.top < name.bottom && dot.bottom > name.top
            }) }"""
        )
    assert covered <= 12, "of 50"


def test_the_curve_from_before_a_reading_was_moved(show):
    page = show(kernels())
    now, former = page.locator(".regression .prediction"), page.locator(".regression .as-given")
    assert former.get_attribute("d") == ""
    for width in (0.6, 1.0):
        page.get_by_label("put the readings back").click(force=True)
        page.evaluate("width => model.set('width', width)", width)
        before = now.get_attribute("d")
        reading(page).press("ArrowUp")
        reading(page).press("ArrowUp")
        assert former.get_attribute("d") == before != now.get_attribute("d")
    page.get_by_label("put the readings back").click()
    assert now.get_attribute("d") == before != former.get_attribute("d")
    assert page.locator(".legend .as-given").count() == 1


def test_the_curve_from_before_the_width_was_changed(show):
    """While the slider is dragged, the curve is that before the drag; a key of the keyboard is a drag of its own."""
    page = show(kernels())
    now, former = page.locator(".regression .prediction"), page.locator(".regression .as-given")
    slide = """(slider, [index, name]) => {
        slider.value = index
        slider.dispatchEvent(new Event(name, { bubbles: true }))
    }"""
    first, least = now.get_attribute("d"), page.get_by_label("width")
    for index in (1, 0):
        least.evaluate(slide, [index, "input"])
    least.evaluate(slide, [0, "change"])
    last = now.get_attribute("d")
    assert former.get_attribute("d") == first != last
    least.press("ArrowRight")
    assert former.get_attribute("d") == last != now.get_attribute("d")


def test_no_curve_is_left_from_before_the_readings_were_moved(show):
    page = show(kernels())
    former = page.locator(".regression .as-given")
    page.evaluate("model.set('width', 1.0); model.set('readings', model.get('readings').with(2, [2, -1]))")
    assert former.get_attribute("d") != ""
    page.get_by_label("put the readings back").click()
    assert former.get_attribute("d") == "", "that of the width before would be the curve of two changes ago"


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_map_and_words_stand_beside_and_above_the_plot_and_stay_there(show, page, width):
    """Whatever is said, the plot stays where it is; in a wide room the map stands beside the plot."""
    page.set_viewport_size({"width": width, "height": 800})
    x = torch.linspace(0, 5, 51)
    show(KernelView(x, x.sin(), x[::2], ("gaussian", "boxcar"), width=0.3, widths=[0.1, 0.3, 2.0]))
    chart, told = page.locator(".regression"), page.locator(".says")
    before, cells = chart.bounding_box(), page.locator(".map").bounding_box()
    assert (cells["x"] > before["x"] + before["width"]) == (width > 960)
    assert cells["x"] + cells["width"] <= width
    for kernel, width, locked in (("gaussian", 0.1, [8]), ("boxcar", 2.0, [8]), ("gaussian", 2.0, [])):
        values = {"kernel": kernel, "width": width, "locked": locked}
        page.evaluate("values => Object.entries(values).forEach(pair => model.set(...pair))", values)
        page.evaluate("model.set('readings', model.get('readings').with(16, [1.6, -1.2]))")
        assert chart.bounding_box() == before
        assert told.bounding_box()["y"] < before["y"]
    page.get_by_label("put the readings back").click()
    assert chart.bounding_box() == before


def test_a_drag_selects_no_text(show, page):
    show(kernels())
    box = page.locator(".regression").bounding_box()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + box["height"] + 100, steps=4)
    page.mouse.up()
    assert page.evaluate("String(getSelection())") == ""


def test_equal_weights_have_no_largest_one(show):
    page = show(kernels())
    page.get_by_label("kernel", exact=True).select_option("boxcar")
    page.evaluate("model.set('width', 1.0); model.set('locked', [1])")
    assert "2 of 4 keys share the weight, all equally: 0.5 each." in said(page)


def test_a_query_is_kept_and_freed_by_keys(show):
    """Enter in the plot keeps the query at the reading; Escape frees it wherever the focus is."""
    page = show(kernels())
    reading(page).focus()
    for key in ("ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert page.evaluate("model.get('locked')") == [1] and said(page).startswith("Query x = 1.5: ")
    page.keyboard.press("Enter")
    assert page.evaluate("model.get('locked')") == []
    for control in (reading(page), page.get_by_label("width"), page.get_by_label("kernel", exact=True), result(page)):
        page.evaluate("model.set('locked', [2])")
        control.press("Escape")
        assert page.evaluate("model.get('locked')") == []


def test_every_reading_can_be_seen(show):
    page = show(kernels())
    page.evaluate("model.set('width', 0.1); model.set('locked', [0])")
    radii = [float(dot.get_attribute("r")) for dot in page.locator(".regression .datum").all()]
    assert radii[0] == 10.5 and min(radii) >= 3, "also where its weight is 0"


def test_the_kernel_is_drawn_around_a_query(show):
    """As high as a reading counts there, and as wide as the slider says."""
    points = torch.linspace(0, 10, 11)
    page = show(KernelView(points, points, points, ("gaussian", "boxcar"), 1.0, widths=[1.0, 2.0]))
    bell = page.locator(".regression .bell")
    assert not bell.get_attribute("d") and page.locator(".legend .bell").count() == 1
    assert page.locator(".map figcaption").inner_text() == "weights: 11 queries down, 11 keys across"
    page.evaluate("model.set('locked', [5])")
    wide = {}
    for kernel in ("gaussian", "boxcar"):
        for width in (1.0, 2.0):
            page.evaluate(
                "([kernel, width]) => { model.set('kernel', kernel); model.set('width', width) }", [kernel, width]
            )
            places = [
                tuple(map(float, at.split())) for at in re.findall(r"[ML]([\d.]+ [\d.]+)", bell.get_attribute("d"))
            ]
            top, floor = min(y for _, y in places), places[0][1]
            inside = [x for x, y in places if y < (top + floor) / 2]
            wide[kernel, width] = max(inside) - min(inside)
            peak = [x for x, y in places if y == top]
            x = float(page.locator(".regression .answer").get_attribute("cx"))
            assert sum(peak) / len(peak) == pytest.approx(x, abs=2)
    unit = page.evaluate(
        "() => { const [a, b] = [...document.querySelectorAll('.datum')].map(dot => dot.getAttribute('cx'));"
        " return b - a }"
    )
    for (kernel, width), found in wide.items():
        half = math.sqrt(2 * math.log(2)) if kernel == "gaussian" else 1
        assert found == pytest.approx(2 * half * width * unit, abs=4), (kernel, width)


def test_labels_of_keys_do_not_collide_and_hours_are_clock_times(show):
    hours = torch.linspace(0, 24, 97)
    keys = torch.linspace(0.26, 23.9, 40)
    page = show(KernelView(keys, keys.sin(), hours, width=0.8, truth=hours.sin(), clock=True))
    boxes = [label.bounding_box() for label in page.locator(".map .columns .label").all()]
    assert all(one["x"] + one["width"] <= two["x"] + 1 for one, two in itertools.pairwise(boxes)) and len(boxes) > 5
    written = [
        *page.locator(".map .columns .label").all_inner_texts(),
        *page.locator(".map .rows .label").all_inner_texts(),
    ]
    assert written[0] == "0:16" and all(text.count(":") == 1 for text in written if text)
    hours = page.locator(".map .rows .label").all_inner_texts()
    assert hours[1] in ("1:00", "2:00") and all(text.endswith(":00") for text in hours if text), "full hours"
    assert page.locator(".regression text").all_text_contents()[:3] == ["0:00", "6:00", "12:00"]
    result(page).focus()
    assert said(page).startswith("Query 0:00: prediction ") and "is on the key at 0:16 (y = 0.26)" in said(page)


def test_a_moved_reading_waits_for_python(show):
    """As in JupyterLab while a cell runs: the reading moves at once, the curve later, and the view says so."""
    page = show(kernels())
    page.evaluate("model.set('alone', false)")
    curve = page.locator("path.prediction").first
    before, start = curve.get_attribute("d"), spot(page, 0)
    reading(page).press("ArrowUp")
    assert spot(page, 0)[1] < start[1] and curve.get_attribute("d") == before
    page.locator(".panels.waiting").wait_for()
    assert "Python is busy, or not running" in said(page)
    page.get_by_label("put the readings back").click()
    assert page.locator(".waiting").count() == 0 and "Python is busy" not in said(page)
