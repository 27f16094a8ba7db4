"""AttentionSteps in a browser: what a reader sees, hears and can do, with mouse and keys, in light and dark."""

import io
import itertools
import os
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from browser.pointing import cell_of, click, hover, labels, middle, pixel, result, said, steps
from browser.settling import settled
from hostile import DOZEN, one_line
from PIL import Image
from views.samples import SAMPLES

from seqlearn.views import AttentionSteps
from seqlearn.views.plots import CMAP
from seqlearn.views.shared.arguments import as_text
from seqlearn.views.view import VIEWS, View


def frames(page):
    """The frames of each map, as [row, column, rows, columns] of cells."""
    script = """(body, [width, height]) => [...body.querySelectorAll('.frame')].map((frame) => [
        frame.offsetTop / height, frame.offsetLeft / width, frame.offsetHeight / height, frame.offsetWidth / width])"""
    return [body.evaluate(script, cell_of(body)) for body in page.locator(".map .body").all()]


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
        (1, (0, 0), "2.5 / √2 ≈ 1.77", [[[0, 0, 1, 1]], [[0, 0, 1, 1]]]),
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
    assert page.locator(".says .token").first.inner_text() == ("the", "cat")[cell[0]]
    assert frames(page) == marked
    page.mouse.move(5, 5)
    assert "\nPoint at another cell of the result" in said(page) and frames(page)[-1] == [[0, 0, 1, 1]], "an example"


def test_long_sums_are_cut(show):
    page = show(AttentionSteps(torch.ones(1, 9), torch.ones(2, 9), torch.ones(2, 1)))
    hover(page, 0, 0)
    assert said(page).splitlines()[1] == (
        "Σ of 9 products = 9; the largest: 1·1 = 1 (at 0), 1·1 = 1 (at 1), 1·1 = 1 (at 2); the other 6 = 6"
    )


def test_a_long_sum_names_its_largest_terms_and_shows_all_as_colours(show):
    """Vectors of size 32, as in the Transformer of the course, summed by a plain loop."""
    torch.manual_seed(0)
    queries, keys = torch.randn(2, 32), torch.randn(3, 32)
    page = show(AttentionSteps(queries, keys, torch.ones(3, 2)))
    hover(page, 1, 2)
    terms = [float(queries[1, d]) * float(keys[2, d]) for d in range(32)]
    first = max(range(32), key=lambda d: abs(terms[d]))
    text = said(page).splitlines()[1].replace("−", "-")
    assert text.startswith(f"Σ of 32 products ≈ {sum(terms):.2f}; the largest: ".replace(".00", ""))
    assert text.split("; ")[1].split(", ")[0].endswith(f"≈ {round(terms[first], 2):g} (at {first})")
    assert page.locator(".terms .rows .label").all_text_contents() == ["q1", "k2", "product"]
    canvas = page.locator(".terms canvas").first
    wide = canvas.evaluate("canvas => canvas.width / 32")
    for d in (first, 5):
        script = "(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data]"
        red, _, blue, _ = canvas.evaluate(script, [int((d + 0.4) * wide), 2 * 14 + 5])
        assert (red > blue) == (terms[d] > 0), "red above 0, blue below"
    page.evaluate("model.set('step', 1)")
    assert page.locator(".terms").count() == 0


def test_the_five_results_are_seen_together(show):
    page = show(steps())
    small = page.locator(".five button")
    names = ["1 products", "2 scale", "3 mask", "4 softmax", "5 weighted sum"]
    assert small.evaluate_all("nodes => nodes.map(node => node.firstChild.textContent)") == names
    current = ".five [aria-current=step]"
    assert page.locator(current).inner_text().startswith("1 products")
    small.nth(3).click()
    assert page.evaluate("model.get('step')") == 3 and page.locator(current).inner_text().startswith("4 softmax")
    page.keyboard.press("PageDown")
    assert page.locator(current).inner_text().startswith("5 weighted sum"), "current, however it was chosen"
    page.keyboard.press("PageUp")
    hover(page, 0, 1)
    assert page.locator(".five .value").all_text_contents() == ["2", "1.41", "1.41", "0.41", ""], "of the same cell"
    traced = """nodes => nodes.map(({ hidden, style }) => [hidden, ...['left', 'top', 'width', 'height'].map(side =>
        Math.round(parseFloat(style[side])))])"""
    spots = page.locator(".five .traced")
    assert spots.evaluate_all(traced) == [[False, 33, 0, 33, 50]] * 4 + [[False, 0, 0, 100, 50]], "a row of the context"
    page.keyboard.press("PageDown")
    hover(page, 0, 1)
    assert page.locator(".five .value").all_text_contents() == ["", "", "", "", "0.41"]
    assert spots.evaluate_all(traced) == [[False, 0, 0, 100, 50]] * 4 + [[False, 50, 0, 50, 50]], "a row of the weights"
    page.mouse.move(0, 0)
    assert spots.evaluate_all(traced)[-1] == [False, 0, 0, 50, 50], "an example"


@pytest.mark.parametrize("width", [390, 640, 1300])
def test_the_numbers_of_the_small_results_do_not_touch(show, page, width):
    """They have two decimals where a cell is wide enough, and else one."""
    page.set_viewport_size({"width": width, "height": 1400})
    page.add_init_script("""{
        const { fillText } = CanvasRenderingContext2D.prototype;
        window.written = [];
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            window.written.push([this.canvas, text, this.measureText(text).width]);
            fillText.call(this, text, x, y);
        };
    }""")
    show(steps()).evaluate("model.set('changes', [['queries', 0, 0, -1.37], ['queries', 0, 1, -1.19]])")
    drawn = page.evaluate("""() => window.written.filter(([canvas]) => canvas.closest('.five')).map(
            ([canvas, text, wide]) => [text, wide, parseFloat(canvas.parentNode.style.width),
                [...document.querySelectorAll('.five canvas')].indexOf(canvas)])""")
    assert len(drawn) > 6
    for text, wide, all_cells, at in drawn:
        assert wide <= all_cells / (2 if at == 4 else 3) - (2 if at == 3 or width == 390 else 5), text


def test_a_mask_makes_nothing_brighter(show):
    """A number has one colour, as the result of a step and as the input of the next one."""
    page = show(steps())
    first = "canvas => Array.from(canvas.getContext('2d').getImageData(2, 2, 1, 1).data)"
    colours = []
    for step in (1, 2, 3):
        page.evaluate(f"model.set('step', {step})")
        maps = page.locator(".map .body > canvas")
        colours += [maps.first.evaluate(first), maps.last.evaluate(first)]
    products, scores, again, masked, once_more, _ = colours
    assert scores == again == masked == once_more != products


def test_cells_are_larger_where_there_is_room(show, page):
    for width, size in ((500, (38, 24)), (818, (55, 34)), (1240, (102, 52)), (1440, (112, 52))):
        page.set_viewport_size({"width": width, "height": 900})
        show(steps())
        for step in range(5):
            page.evaluate(f"model.set('step', {step})")
            assert cell_of(result(page)) == size, "in every step"
            boxes = [body.bounding_box() for body in page.locator(".map .body").all()]
            ends = [box["y"] + box["height"] for box in boxes]
            assert width < 800 or max(ends) - min(ends) < 1, "in a row"


def test_a_number_has_its_own_name(show):
    """A score looks at nothing: it is a number of a query for a key."""
    view = steps()
    view.locked = [0, 1]
    page = show(view)
    names = ["product of the and chat", "score of the for chat", "masked score of the for chat"]
    for step, name in enumerate([*names, "weight of the for chat", "context of the, column 1"]):
        page.evaluate(f"model.set('step', {step})")
        assert said(page).splitlines()[0].startswith(f"{name} (kept")


def test_a_result_keeps_its_size_from_step_to_step(show, page):
    for room in (1300, 700):
        page.set_viewport_size({"width": room, "height": 1400})
        show(AttentionSteps(torch.randn(11, 32), torch.randn(11, 32), torch.randn(11, 32)))
        widths = set()
        for step in range(4):
            page.evaluate(f"model.set('step', {step})")
            widths.add(result(page).bounding_box()["width"])
        assert len(widths) == 1, room


def write_script(folder, text):
    """The script of a view in this folder; SHARED in it is the folder of what all views share."""
    shared = Path(os.path.relpath(VIEWS / "shared", folder)).as_posix()
    (folder / f"{folder.name}_view.js").write_text(text.replace("SHARED", shared), "utf-8")


INSIDE = """import { layOut } from "SHARED/elements.js";
import { steppingPanel } from "SHARED/stepping.js";

export function build(model, root, data) {
  const drawing = steppingPanel(data, { choose: (step) => drawing.show(step, [], 600),
    lock: ({ row, column }) => drawing.mark([row, column]) });
  layOut(root, "another view", { controls: { all: [drawing.strip] }, intro: drawing.intro, panels: drawing.panels,
    legend: drawing.legend, says: [drawing.says] });
  drawing.show(3, [0, 0], 600);
  return {};
}"""


def test_the_steps_can_be_drawn_in_another_view(show, tmp_path):
    """Such a view has neither `step` nor `locked`; it is told what is clicked, and says what to draw."""
    write_script(tmp_path, INSIDE)

    class Other(View, folder=tmp_path):
        def summary(self):
            return "steps inside"

    page = show(Other(data=steps().data))
    assert said(page).startswith("weight of the for le (kept")
    page.locator(".five button").first.click()
    click(page, 1, 1)
    assert said(page).splitlines() == [
        "product of cat and chat (kept: Escape or a click frees it)",
        "0.5·2 + (−1)·0 = 1",
    ]


def dragged(page, name, row, column, right=0, up=0):
    """Drags a number of an input, and lets it go."""
    body = page.get_by_role("slider", name=name)
    at = middle(body, row, column)
    body.hover(position=at)
    page.mouse.down()
    box = body.bounding_box()
    for share in (0.5, 1):
        page.mouse.move(box["x"] + at["x"] + share * right, box["y"] + at["y"] - share * up)
    page.mouse.up()


def changes(page):
    return page.evaluate("model.get('changes')")


def test_a_number_is_dragged_and_all_steps_follow(show):
    page = show(steps())
    assert "Drag a number of Q or Kᵀ up or down: all later steps follow." in page.locator("p.faint").inner_text()
    pictures = "nodes => nodes.map(node => node.toDataURL())"
    before = page.locator(".five canvas").evaluate_all(pictures)
    page.get_by_role("slider", name="Q (").hover(position=middle(page.get_by_role("slider", name="Q ("), 0, 1))
    assert said(page).startswith("Q of the, column 1: 2\nDrag it up or to the right for more")
    assert frames(page) == [[[0, 1, 1, 1]], [], [[0, 0, 1, 3]]], "the number, and what follows it"
    dragged(page, "Q (", 0, 1, up=20)
    assert changes(page) == [["queries", 0, 1, 2.5]] and said(page).startswith("Q of the, column 1: 2.5\n")
    assert page.locator(".five .value").first.text_content() == "2.5 → 3", "also while the number is in the hand"
    after = page.locator(".five canvas").evaluate_all(pictures)
    assert [one == other for one, other in zip(before, after, strict=True)] == [False] * 5
    hover(page, 0, 0)
    assert said(page).splitlines()[-1] == "1·0.5 + 2.5·1 = 3"
    assert page.locator(".five .value").all_text_contents()[:4] == [
        "2.5 → 3", "1.77 → 2.12", "1.77 → 2.12", "0.59 → 0.67",
    ]  # fmt: skip
    dragged(page, "Kᵀ (", 1, 2, right=-40)
    assert changes(page) == [["queries", 0, 1, 2.5], ["keys", 1, 2, 0]], "to the left is less"
    page.evaluate("model.set('step', 4)")
    hover(page, 0, 0)
    assert said(page).splitlines()[-1] == "0.67·1 + 0.33·0 + 0·3 ≈ 0.67"
    dragged(page, "V (", 2, 0, up=8)
    assert changes(page)[2] == ["values", 2, 0, 3.2]
    for left in (2, 1):
        page.get_by_role("button", name="Undo").click()
        assert len(changes(page)) == left
    page.get_by_role("button", name="Reset").click()
    assert changes(page) == [] and page.locator(".five canvas").evaluate_all(pictures) == before
    assert page.locator("[aria-disabled=true]").all_inner_texts() == ["Next ▶", "Undo", "Reset"]


def test_what_follows_a_changed_number_is_explained_in_every_step(show):
    """The row of a changed query, or the column of a changed key; without a change, the largest weight."""
    page = show(steps(mask=None))
    first = "nodes => nodes.map(node => node.textContent).join()"
    explained = []
    for name, row, column, up in (("Kᵀ (", 0, 2, 4), ("Q (", 1, 0, 4)):
        dragged(page, name, row, column, up=up)
        page.mouse.move(5, 5)
        for _ in range(4):
            page.get_by_label("next step").click()
            explained.append(page.locator(".says .token").evaluate_all(first))
        page.evaluate("model.set('step', 0)")
    assert explained == [*["the,noir"] * 3, "the,0", *["cat,chat"] * 3, "cat,0"]


COLOURS = """node => { const pixels = node.getContext('2d').getImageData(0, 0, node.width, node.height).data;
    return [0, 1].map(row => [...pixels.slice(4 * node.width * (4 + row * node.height / 2) + 16).slice(0, 3)]) }"""


def test_a_drag_leaves_the_colours_of_what_did_not_change(show):
    page = show(steps())
    maps = page.locator(".panels .map .body > canvas")
    before = [maps.nth(at).evaluate(COLOURS)[1] for at in (0, 1, 2)]
    page.evaluate("model.set('changes', [['queries', 0, 0, 0]])")
    assert [maps.nth(at).evaluate(COLOURS)[1] for at in (0, 1, 2)] == before, "the second rows"
    ends = page.locator(".map .foot")
    assert ends.first.inner_text().split("\n")[0].startswith("−2"), "the scale is the same"


def test_the_scale_grows_with_a_number_beyond_it(show):
    page = show(steps())
    page.evaluate("model.set('changes', [['queries', 0, 0, 9]])")
    foot = page.locator(".panels .map .foot")
    ends = [text.split("\n") for text in foot.all_inner_texts()]
    assert ends[0] == ["−9", "9"] and ends[2][1] == "18", "9 · 2 + 2 · 0"
    for _ in range(2):
        page.get_by_label("next step").click()
        assert foot.last.inner_text().split("\n") == ends[2], "the steps 1 to 3 have one scale"
    page.evaluate("model.set('changes', [])")
    assert foot.last.inner_text().split("\n") != ends[2]


def test_page_down_on_copy_link_scrolls_the_page(show):
    page = show(steps())
    page.get_by_role("button", name="copy link").press("PageDown")
    assert page.evaluate("model.get('step')") == 0
    page.get_by_label("next step").press("PageDown")
    assert page.evaluate("model.get('step')") == 1


@pytest.mark.parametrize("width", [375, 390, 1300])
def test_no_step_moves_undo(show, page, width):
    page.set_viewport_size({"width": width, "height": 844})
    show(steps())
    undo, where = page.get_by_role("button", name="Undo: the numbers"), page.get_by_role("status")
    seen = []
    for step in range(5):
        page.evaluate("step => model.set('step', step)", step)
        seen.append((undo.bounding_box()["x"], undo.bounding_box()["y"], where.bounding_box()["y"]))
    assert len(set(seen)) == 1


def test_a_changed_result_keeps_its_number_before(show, page):
    show(steps(mask=None))
    former, tile = page.locator(".former-number del"), page.locator("button.result .value").first
    assert former.count() == 0 and "→" not in tile.inner_text()
    page.evaluate("model.set('changes', [['queries', 0, 1, 1]]); model.set('locked', [0, 0])")
    assert former.all_inner_texts() == ["2.5", "1"], "2 · 0 does not change"
    assert tile.inner_text() == "2.5 → 1.5" and "(before the change: 2.5)" in said(page)
    spot, cells = former.first.bounding_box(), result(page).bounding_box()
    assert cells["x"] < spot["x"] < cells["x"] + cells["width"] / 3 and spot["y"] < cells["y"] + cells["height"] / 2
    page.get_by_label("next step").click()
    assert former.count() == 2 and "→" in page.locator("button.result .value").nth(1).inner_text()
    page.get_by_role("button", name="Reset").click()
    assert former.count() == 0 and "before" not in said(page)


def test_the_focus_is_seen_on_the_current_result(show):
    page = show(steps())
    tile = page.locator("button.result[aria-current]")
    ring = "node => [getComputedStyle(node).outlineStyle, getComputedStyle(node).outlineColor]"
    assert tile.evaluate(ring)[0] == "none"
    page.get_by_label("next step").focus()
    for _ in range(2):
        page.keyboard.press("Tab")
    page.locator("button.result").first.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert tile.evaluate("node => node === document.activeElement")
    style, colour = tile.evaluate(ring)
    assert style == "solid" and colour != tile.evaluate("node => getComputedStyle(node).borderColor")


def test_a_number_is_changed_by_keys(show):
    page = show(steps())
    slider = page.get_by_role("slider", name="Kᵀ (2 × 3): 2 rows, 3 columns. Left and right choose a number")
    slider.focus()
    for key in ("End", "ArrowLeft", "ArrowUp", "ArrowUp", "Shift+ArrowDown"):
        page.keyboard.press(key)
    assert changes(page) == [["keys", 1, 1, -0.8]], "one change: Undo takes all of the keys back"
    assert slider.get_attribute("aria-valuetext") == "1, chat: −0.8" and slider.get_attribute("aria-valuenow") == "5"
    assert "Keys: left and right choose a number" in said(page) and frames(page)[2] == [[0, 1, 2, 1]]
    page.keyboard.press("PageDown")
    assert page.evaluate("model.get('step')") == 1 and page.get_by_role("slider").count() == 0
    page.keyboard.press("PageUp")
    undo = page.get_by_role("button", name="Undo")
    undo.focus()
    page.keyboard.press("Enter")
    assert changes(page) == [] and undo.evaluate("node => node === document.activeElement"), "the focus stays"


def test_the_keyboard_comes_back_to_the_number_it_left(show):
    page = show(steps())
    page.get_by_role("slider", name="Q (").focus()
    page.keyboard.press("ArrowRight")
    for key in ("PageDown", "PageDown", "PageUp", "PageUp"):
        page.keyboard.press(key)
    assert page.evaluate("model.get('step')") == 0
    page.keyboard.press("ArrowUp")
    assert changes(page) == [["queries", 0, 1, 2.1]], "Q, and not the products"


def test_escape_anywhere_frees_what_is_kept(show):
    view = steps()
    view.locked = [0, 1]
    page = show(view)
    assert "(kept: Escape or a click frees it)" in said(page)
    for place in (page.get_by_role("slider", name="Q ("), page.get_by_label("next step")):
        page.evaluate("model.set('locked', [0, 1])")
        place.press("Escape")
        assert page.evaluate("model.get('locked')") == []


def seen(page, canvas, column, row, counts):
    """The mean of red, green and blue in a corner of a cell, as it is seen."""
    box = canvas.bounding_box()
    x, y = (int(box[at] + box[size] * place / count) + 3 for at, size, place, count in
            (("x", "width", column, counts[0]), ("y", "height", row, counts[1])))  # fmt: skip
    clip = {"x": x, "y": y, "width": 2, "height": 2}
    return np.array(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")).mean()


ZERO = """() => document.querySelector('[role=slider] canvas').getContext('2d').getImageData(3, 3, 1, 1).data[0]"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_0_has_the_colour_of_the_ground_and_both_ends_differ_from_it(show, page, scheme):
    page.emulate_media(color_scheme=scheme)
    queries = torch.tensor([[0.0, 2.0], [-2.0, 0.0]])
    show(AttentionSteps(queries, queries, queries))
    canvas = page.get_by_role("slider", name="Q (").locator("canvas")
    zero, high, low = (seen(page, canvas, column, row, (2, 2)) for column, row in ((0, 0), (1, 0), (0, 1)))
    assert (zero < 40 and min(high, low) > 60) if scheme == "dark" else (zero > 240 and max(high, low) < 80)
    drawn = {}
    for theme in ("true", "false"):  # of JupyterLab, whatever the system has
        page.evaluate(f"document.body.dataset.jpThemeLight = {theme}")
        page.wait_for_function(f"(isLight) => ({ZERO})() > 200 === isLight", arg=theme == "true")
        canvases = (canvas, page.locator(".bar").first, page.locator(".five canvas").last)
        drawn[theme] = [one.evaluate("canvas => canvas.toDataURL()") for one in canvases]
    assert all(light != dark for light, dark in zip(*drawn.values(), strict=True)), "all are drawn anew"


def test_one_press_of_a_word_is_one_entry_of_undo(show):
    both = [["queries", 0, 0, 0.0], ["queries", 0, 1, 2.5]]
    page = show(steps().tell("[two numbers]", {"two numbers": {"changes": both}}))
    dragged(page, "Kᵀ (", 1, 2, right=-40)
    before = changes(page)
    page.get_by_role("button", name="two numbers").click()
    assert changes(page) == both
    dragged(page, "Q (", 0, 1, up=20)
    undo, seen = page.get_by_role("button", name="Undo"), []
    for _ in range(3):
        undo.click()
        seen.append(changes(page))
    assert seen == [both, before, []] and undo.get_attribute("aria-disabled") == "true"


@pytest.mark.parametrize(("size", "parts", "most"), [((390, 844), ".five .thumb", 0), ((1440, 900), ".legend", 0.1)])
def test_no_step_of_an_attention_moves_other_parts(show, page, size, parts, most):
    """On a phone the small results; on a wide screen what stands below, for V has a row more than Q."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    show(steps())
    tops = []
    for step in range(5):
        page.evaluate(f"model.set('step', {step})")
        tops.append([part.bounding_box()["y"] for part in page.locator(parts).all()])
    assert tops[0] and all(max(each) - min(each) <= most for each in zip(*tops, strict=True))


def test_a_finger_drags_a_number_up_and_scrolls_elsewhere(show, page):
    """On a phone: the page stays while a number is dragged, and else follows the finger."""
    page.set_viewport_size({"width": 390, "height": 500})
    show(steps())
    page.evaluate("document.body.style.paddingBottom = '900px'")
    finger = page.context.new_cdp_session(page)
    finger.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def pull(box, x, y, right, up):
        """Drags from this place of a box."""
        for part in range(11):
            spot = {"x": box["x"] + x + right * part / 10, "y": box["y"] + y - up * part / 10}
            event = {"type": "touchMove" if part else "touchStart", "touchPoints": [spot]}
            finger.send("Input.dispatchTouchEvent", event)
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        settled(page)
        return page.evaluate("scrollY")

    slider = page.get_by_role("slider", name="Q (")
    place = middle(slider, 0, 1)
    assert pull(slider.bounding_box(), **place, right=8, up=20) == 0
    assert changes(page) == [["queries", 0, 1, 2.5]] and "Drag it up or to the right for more" in said(page)
    assert pull(slider.bounding_box(), **place, right=0, up=-40) == 0
    assert changes(page) == [["queries", 0, 1, 1.5]]
    assert pull(slider.bounding_box(), **place, right=20, up=-18) == 0
    assert changes(page) == [["queries", 0, 1, 2]], "one way for a whole drag"
    assert pull(page.locator(".legend").bounding_box(), 5, 5, right=0, up=100) > 50
    assert changes(page) == [["queries", 0, 1, 2]]
    finger.send("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_what_takes_the_pointer_away_changes_no_number(show):
    page = show(steps())
    slider = page.get_by_role("slider", name="Q (")
    slider.hover(position=middle(slider, 1, 0))
    page.mouse.down()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 20)
    assert changes(page)[0][:3] == ["queries", 1, 0]
    slider.dispatch_event("pointercancel")
    page.mouse.move(box["x"] + 160, box["y"] + 20)
    page.mouse.up()
    assert changes(page) == [["queries", 1, 0, 0.5]], "as it was"


def test_numbers_that_python_changed_are_shown_and_large_matrices_stay(show):
    view = steps()
    view.changes, view.locked = [["queries", 0, 0, -3]], [0, 1]
    assert said(show(view)).splitlines()[-1] == "(−3)·2 + 2·0 = −6"
    page = show(AttentionSteps(torch.ones(3, 13), torch.ones(3, 13), torch.ones(3, 2)))
    assert page.get_by_role("slider").count() == 0, "numbers that are not seen"


def test_small_results_have_their_numbers(show):
    page = show(steps())
    colours = """canvas => new Set(new Uint32Array(
        canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""
    written = [canvas.evaluate(colours) > 12 for canvas in page.locator(".five canvas").all()]
    assert written == [True] * 5
    page = show(AttentionSteps(torch.ones(7, 2), torch.ones(24, 2), torch.ones(24, 2)))
    assert page.locator(".five canvas").first.evaluate(colours) < 12, "no room for numbers"


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
    click(page, 1, 1)
    assert page.evaluate("model.get('locked')") == [1, 1]
    hover(page, 0, 0)
    assert said(page).startswith("product of the and le\n") and frames(page)[-1] == [[0, 0, 1, 1]], "under the mouse"
    page.mouse.move(5, 5)
    assert said(page).startswith("product of cat and chat (kept") and frames(page)[-1] == [[1, 1, 1, 1]]
    click(page, 1, 1)
    assert page.evaluate("model.get('locked')") == [] and "locked" not in said(page)


def test_what_python_locked_is_shown(show):
    view = steps()
    view.step, view.locked = 4, [0, 1]
    assert said(show(view)).startswith("context of the, column 1 (kept")
    view.step, view.locked = 4, [0, 2]  # there is such a key, and no such number of the values
    assert said(show(view)).startswith("context of the, column 0\n"), "an example, as where nothing is kept"


def test_keys(show):
    page = show(steps())
    for _ in range(9):  # one button, as the others are switched off, the five small results, and the numbers of Q and K
        page.keyboard.press("Tab")
    assert said(page).startswith("product of the and le\n")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert said(page).startswith("product of cat and chat\n")
    page.keyboard.press("End")
    assert said(page).startswith("product of cat and noir\n")
    page.keyboard.press("Home")
    assert said(page).startswith("product of cat and le\n"), "the ends of a row"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("model.get('locked')") == [1, 1]
    page.keyboard.press("ArrowUp")
    assert page.evaluate("model.get('locked')") == [0, 1], "the lock follows"
    page.keyboard.press("PageDown")
    assert page.get_by_role("status").inner_text() == "step 2 of 5: scale"
    assert said(page).startswith("score of the for chat (kept"), "the keys stay in the map"
    page.keyboard.press("Escape")
    assert page.evaluate("model.get('locked')") == []
    page.keyboard.press("PageUp")
    page.get_by_label("next step").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("model.get('step')") == 1, "the arrow keys step on the buttons"


def test_the_colours_are_those_of_the_pictures(show):
    page = show(steps())
    width, height = cell_of(result(page))
    scores = torch.tensor([[2.5, 2.0, 1.0], [-0.75, 1.0, -1.5]])
    for row, column in itertools.product(range(2), range(3)):
        drawn = pixel(page, 2, int(column * width) + 2, int(row * height) + 2)
        colour = matplotlib.colormaps[CMAP](float(scores[row, column] + 1.5) / 4, bytes=True)
        assert drawn[:3] == [int(part) for part in colour[:3]]


def test_masked_cells_are_grey(show):
    view = steps()
    view.step = 3
    page = show(view)
    last = int(2 * cell_of(result(page))[0]) + 2
    for index in (0, 1):
        red, green, blue, alpha = pixel(page, index, last, 2)
        assert red == green == blue and alpha == 255
    assert len(set(pixel(page, 1, 2, 2)[:3])) > 1


@pytest.mark.parametrize("width", [700, 1200])
def test_it_fits_where_it_can(show, page, width):
    page.set_viewport_size({"width": width, "height": 900})
    show(AttentionSteps(torch.ones(10, 8), torch.ones(10, 8), torch.ones(10, 8)))
    result(page).wait_for()
    ends = page.locator(".body").evaluate_all("nodes => nodes.map(node => node.getBoundingClientRect().bottom)")
    assert abs(ends[0] - ends[1]) < 2, "the inputs stand side by side"
    assert (abs(ends[2] - ends[1]) < 2) == (width == 1200), "and the result, if its cells have room for numbers there"
    assert result(page).bounding_box()["width"] == 380
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_large_attention_is_drawn_at_every_step(show):
    page = show(AttentionSteps(torch.randn(256, 64), torch.randn(256, 64), torch.randn(256, 64), torch.arange(256)))
    for step in (1, 2, 3, 4):
        page.evaluate(f"() => {{ model.set('step', {step}); return new Promise(requestAnimationFrame) }}")
    hover(page, 100, 0)
    assert said(page).startswith("context of q100, column 0")


def test_a_small_number_is_not_written_as_0(show, page):
    one, small = torch.ones(1, 1), torch.tensor([[0.004]])
    show(AttentionSteps(small, one, one))
    hover(page, 0, 0)
    assert said(page).endswith("4.0e−3·1 = 4.0e−3") or said(page).endswith("4.0e−3·1 ≈ 4.0e−3")


@pytest.mark.parametrize(("count", "hides"), [(1, False), (8, True)])
def test_a_small_weight_has_no_number_in_its_cell(show, count, hides):
    """Its colour says enough; pointing at it tells the number. In a small example, every number counts."""
    keys = torch.tensor([[1.0], [0.0], [2.0], [2.0], [2.0]])
    view = AttentionSteps(torch.full((count, 1), 4.0), keys, torch.eye(5), torch.tensor([2]).expand(count))
    view.step = 3
    page = show(view)
    colours = """(canvas, x) => { const { data } = canvas.getContext('2d').getImageData(x + 1, 1, 35, 21);
        return new Set(new Uint32Array(data.buffer)).size }"""
    wide, _ = cell_of(result(page))
    inks = [page.locator(".body > canvas").last.evaluate(colours, wide * column) for column in range(2)]
    assert inks[0] > 1 and (inks[1] == 1) == hides
    hover(page, 0, 1)
    assert said(page).splitlines()[1] == "e^0 / (e^4 + e^0 + e^−∞ + e^−∞ + e^−∞) ≈ 0.02"


def test_any_token_is_text(show):
    tokens = [as_text(token) for token in DOZEN]
    page = show(SAMPLES["AttentionSteps"](DOZEN))
    rows = page.locator(".map").last.locator(".rows")
    assert labels(rows.locator(".label")) == [[one_line(token), token] for token in tokens]
    assert rows.bounding_box()["width"] < 130, "long ones are cut"
    result(page).focus()
    result(page).press("ArrowUp")
    assert page.locator(".says .token").first.text_content() == tokens[0]
