"""Pages of their own: what a reader sees, hears and can do, with mouse and keys, in light and dark."""

import itertools
import time

import matplotlib
import pytest
import torch

from seqlearn.views.attention_steps import AttentionSteps
from seqlearn.views.kernel_view import KernelView
from seqlearn.views.plots import CMAP

MASK = torch.tensor([[True, True, False], [False, False, False]])
HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>"]


def steps(query_tokens=("the", "cat"), key_tokens=("le", "chat", "noir"), mask=MASK):
    queries, keys = torch.tensor([[1.0, 2.0], [0.5, -1.0]]), torch.tensor([[0.5, 1.0], [2.0, 0.0], [-1.0, 1.0]])
    return AttentionSteps(queries, keys, torch.tensor([[1.0, 0], [0, 1], [3, 1]]), mask, query_tokens, key_tokens)


def kernels():
    points = torch.tensor([0.0, 1.0, 2.0, 3.0])
    return KernelView(
        points, points**2, torch.tensor([0.0, 1.5, 9.0]), ("gaussian", "boxcar"), 1.0,
        truth=torch.tensor([0.0, 2.25, 81.0]), widths=[0.1, 0.6, 1.0, 5.0],
    )  # fmt: skip


def result(page):
    """The map whose cells can be pointed at."""
    return page.get_by_role("application")


def hover(page, row, column, cell=(38, 24)):
    result(page).hover(position={"x": (column + 0.5) * cell[0], "y": (row + 0.5) * cell[1]})


def said(page):
    return page.locator(".says").inner_text()


def frames(page):
    """The frames of each map, as [row, column, rows, columns] of cells with numbers."""
    script = """maps => maps.map(map => [...map.querySelectorAll('.frame')].map(({offsetTop, offsetLeft, offsetHeight,
        offsetWidth}) => [offsetTop / 24, offsetLeft / 38, offsetHeight / 24, offsetWidth / 38]))"""
    return page.locator(".map").evaluate_all(script)


def test_the_five_steps(show):
    page = show(steps())
    where, back, on = page.get_by_role("status"), page.get_by_label("previous step"), page.get_by_label("next step")
    names = ["products", "scale", "mask", "softmax", "weighted sum"]
    assert back.is_disabled()
    for number, name in enumerate(names, 1):
        assert where.inner_text() == f"step {number} of 5: {name}"
        if number < 5:
            on.click()
    assert on.is_disabled()
    back.click()
    assert where.inner_text() == "step 4 of 5: softmax" and page.evaluate("model.get('step')") == 3


def test_shapes_and_formula(show):
    page = show(steps())
    assert page.locator("figcaption").all_inner_texts() == ["Q (2 × 2)", "Kᵀ (2 × 3)", "products (2 × 3)"]
    assert page.locator(".formula").first.inner_text() == "products = Q Kᵀ: (2 × 2) · (2 × 3) = (2 × 3)"
    labels = page.locator(".map").last.locator(".label").all_text_contents()
    assert labels == ["le", "chat", "noir", "the", "cat"]


@pytest.mark.parametrize(
    ("step", "cell", "arithmetic", "marked"),
    [
        (0, (0, 0), "1·0.5 + 2·1 = 2.5", [[[0, 0, 1, 2]], [[0, 0, 2, 1]], [[0, 0, 1, 1]]]),
        (0, (1, 2), "0.5·(−1) + (−1)·1 = −1.5", [[[1, 0, 1, 2]], [[0, 2, 2, 1]], [[1, 2, 1, 1]]]),
        (1, (0, 0), "2.5·0.71 ≈ 1.77", [[[0, 0, 1, 1]], [[0, 0, 1, 1]]]),
        (2, (0, 1), "may be attended: 1.41 stays", [[[0, 1, 1, 1]]] * 3),
        (2, (0, 2), "masked: 0.71 becomes −∞, and e^−∞ = 0", [[[0, 2, 1, 1]]] * 3),
        (3, (0, 1), "e^1.41 / (e^1.77 + e^1.41 + e^−∞) ≈ 0.41", [[[0, 0, 1, 3]], [[0, 1, 1, 1]]]),
        (3, (1, 1), "every key is masked: nothing to attend to, so the weight is 0", [[[1, 0, 1, 3]], [[1, 1, 1, 1]]]),
        (4, (0, 0), "0.59·1 + 0.41·0 + 0·3 ≈ 0.59", [[[0, 0, 1, 3]], [[0, 0, 3, 1]], [[0, 0, 1, 1]]]),
    ],
)
def test_a_cell_tells_what_made_it(show, step, cell, arithmetic, marked):
    view = steps()
    view.step = step
    page = show(view)
    hover(page, *cell)
    assert said(page).splitlines()[-1] == arithmetic
    assert said(page).startswith(("the", "cat")[cell[0]])
    assert frames(page) == marked
    page.mouse.move(5, 5)
    assert said(page).startswith("Point at a cell") and frames(page) == [[]] * len(marked)


def test_long_sums_are_cut(show):
    page = show(AttentionSteps(torch.ones(1, 9), torch.ones(2, 9), torch.ones(2, 1)))
    hover(page, 0, 0)
    assert said(page).endswith("1·1 + 1·1 + 1·1 + 1·1 + … + 1·1 [9 terms] = 9")


def test_who_has_nothing_to_attend_to(show):
    page = show(steps())
    told = page.locator("p.faint")
    assert "Nothing" not in told.inner_text()
    page.evaluate("model.set('step', 3)")
    assert told.inner_text().endswith("Nothing to attend to: cat. The weights are all 0.")
    page.evaluate("model.set('step', 4)")
    assert told.inner_text().endswith("Nothing to attend to: cat. The context is 0.")


def test_a_click_locks_and_frees(show):
    page = show(steps())
    hover(page, 1, 1)
    result(page).click(position={"x": 57, "y": 36})
    assert page.evaluate("model.get('locked')") == [1, 1]
    hover(page, 0, 0)
    assert said(page).startswith("cat looks at chat (locked") and frames(page)[-1] == [[1, 1, 1, 1]]
    result(page).click(position={"x": 57, "y": 36})
    assert page.evaluate("model.get('locked')") == [] and "locked" not in said(page)


def test_what_python_locked_is_shown(show):
    view = steps()
    view.step, view.locked = 4, [0, 1]
    assert said(show(view)).startswith("the, column 1 (locked")
    view.step, view.locked = 4, [0, 2]  # there is such a key, and no such number of the values
    assert said(show(view)).startswith("Point at a cell")


def test_keys(show):
    page = show(steps())
    page.keyboard.press("Tab")  # the button; the one before it is switched off
    page.keyboard.press("Tab")
    assert said(page).startswith("the looks at le\n")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert said(page).startswith("cat looks at chat\n")
    page.keyboard.press("Enter")
    assert page.evaluate("model.get('locked')") == [1, 1]
    page.keyboard.press("ArrowUp")
    assert page.evaluate("model.get('locked')") == [0, 1], "the lock follows"
    page.keyboard.press("PageDown")
    assert page.get_by_role("status").inner_text() == "step 2 of 5: scale"
    assert said(page).startswith("the looks at chat (locked"), "the keys stay in the map"
    page.keyboard.press("Escape")
    assert page.evaluate("model.get('locked')") == []
    page.keyboard.press("PageUp")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("model.get('step')") == 1, "the arrow keys step on the buttons"


@pytest.mark.parametrize("view", [steps, kernels])
def test_every_control_can_be_reached_and_has_a_name(show, view):
    page = show(view())
    names = page.locator(".seqlearn").evaluate(
        """root => [...root.querySelectorAll('button, input, select, [tabindex], [role=img], [role=group]')]
        .map(node => node.getAttribute('aria-label'))"""
    )
    assert len(names) >= 4 and all(names)
    assert page.locator(".seqlearn").get_attribute("role") == "region"
    assert page.locator(".seqlearn").get_attribute("aria-label")
    assert page.locator(".says").get_attribute("aria-live") == "polite"
    reached = set()
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.tagName + (document.activeElement.getAttribute('aria-label') ?? '')")
        )
    controls = page.locator("button:enabled, input, select, [tabindex]").evaluate_all(
        "nodes => nodes.map(node => node.tagName + node.getAttribute('aria-label'))"
    )
    assert set(controls) <= reached


@pytest.mark.parametrize("view", [steps, kernels])
def test_light_and_dark(show, page, view):
    def luminance(name):
        colour = page.locator(".seqlearn").evaluate(f"node => getComputedStyle(node)['{name}']")
        parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]  # WCAG 2.2, relative luminance

    grounds = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        show(view())
        text, grounds[scheme] = luminance("color"), luminance("backgroundColor")
        light, dark = max(text, grounds[scheme]), min(text, grounds[scheme])
        assert (light + 0.05) / (dark + 0.05) >= 7, "WCAG AAA"
    assert grounds["light"] > 0.8 and grounds["dark"] < 0.05
    page.emulate_media(color_scheme="light")


@pytest.mark.parametrize(
    "tokens", [HOSTILE, ["猫が", "مرحبا"], ["שלום", "नमस्ते"], ["🐈‍⬛", " the"], ["", "x" * 500]], ids=range(5)
)
def test_any_token_is_text(show, tokens):
    page = show(steps(query_tokens=tokens))
    assert page.locator(".map").last.locator(".rows .label").all_text_contents() == tokens
    hover(page, 0, 0)
    assert page.locator(".says .token").first.text_content() == tokens[0]
    assert page.locator("img, .seqlearn script").count() == 0
    assert page.locator(".map").last.locator(".rows").bounding_box()["width"] < 130


def pixel(page, index, x, y):
    """Red, green, blue and alpha of a pixel of the index-th map."""
    script = """(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data]"""
    return page.locator(".body > canvas").nth(index).evaluate(script, [x, y])


def test_the_colours_are_those_of_the_pictures(show):
    page = show(steps())
    scores = torch.tensor([[2.5, 2.0, 1.0], [-0.75, 1.0, -1.5]])
    for row, column in itertools.product(range(2), range(3)):
        drawn = pixel(page, 2, column * 38 + 2, row * 24 + 2)
        colour = matplotlib.colormaps[CMAP](float(scores[row, column] + 1.5) / 4)
        assert drawn[:3] == pytest.approx([255 * part for part in colour[:3]], abs=4)


def test_masked_cells_are_grey(show):
    view = steps()
    view.step = 3
    page = show(view)
    for index in (0, 1):
        red, green, blue, alpha = pixel(page, index, 2 * 38 + 2, 2)
        assert red == green == blue and alpha == 255
    assert len(set(pixel(page, 1, 2, 2)[:3])) > 1


@pytest.mark.parametrize("width", [700, 1200])
def test_it_fits_where_it_can(show, page, width):
    page.set_viewport_size({"width": width, "height": 900})
    show(AttentionSteps(torch.ones(10, 8), torch.ones(10, 8), torch.ones(10, 8)))
    tops = page.locator(".body").evaluate_all("nodes => nodes.map(node => node.getBoundingClientRect().bottom)")
    assert max(tops) - min(tops) < 2, "all stand side by side"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.set_viewport_size({"width": 1300, "height": 1400})


def test_a_large_attention_is_drawn_at_once(show):
    page = show(AttentionSteps(torch.randn(256, 64), torch.randn(256, 64), torch.randn(256, 64), torch.arange(256)))
    times = []
    for step in (1, 2, 3, 4):
        start = time.perf_counter()
        page.evaluate(f"() => {{ model.set('step', {step}); return new Promise(requestAnimationFrame) }}")
        times.append(time.perf_counter() - start)
    print("256 x 256, seconds for a step:", [round(seconds, 3) for seconds in times])
    assert sorted(times)[1] < 1, "on a slow machine"
    hover(page, 100, 0, cell=(5, 2))
    assert said(page).startswith("q100, column 0")


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
    assert said(page).splitlines() == [
        "Query x = 1.5: prediction 3.04, truth 2.25.",
        "4 of 4 keys carry 90 % of the weight; the largest, 0.37, is on the key at x = 1 (y = 1).",
    ]
    sizes = [float(dot.get_attribute("r")) for dot in page.locator(".plot").first.locator(".dot").all()]
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
    assert said(page).startswith("Query x = 9: prediction 0") and "No key is within reach" in said(page)
