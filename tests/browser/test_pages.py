"""Pages of their own: what a reader sees, hears and can do, with mouse and keys, in light and dark."""

import io
import itertools
import math
import os
import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from browser.settling import settled
from hostile import DOZEN, one_line
from PIL import Image
from views.samples import PLAIN, SAMPLES

from seqlearn.nn.positions import sinusoids
from seqlearn.search.hypotheses import Hypothesis, Node, Tree
from seqlearn.views import AttentionSteps, BeamView, KernelView, PositionView
from seqlearn.views.plots import CMAP
from seqlearn.views.shared.arguments import as_text
from seqlearn.views.shared.view import VIEWS, View

MASK = torch.tensor([[True, True, False], [False, False, False]])


def steps(query_tokens=("the", "cat"), key_tokens=("le", "chat", "noir"), mask=MASK):
    queries, keys = torch.tensor([[1.0, 2.0], [0.5, -1.0]]), torch.tensor([[0.5, 1.0], [2.0, 0.0], [-1.0, 1.0]])
    return AttentionSteps(queries, keys, torch.tensor([[1.0, 0], [0, 1], [3, 1]]), mask, query_tokens, key_tokens)


def kernels():
    points = torch.tensor([0.0, 1.0, 2.0, 3.0])
    return KernelView(
        points, points**2, torch.tensor([0.0, 1.5, 9.0]), ("gaussian", "boxcar"), 1.0,
        truth=torch.tensor([0.0, 2.25, 81.0]), widths=[0.1, 0.6, 1.0, 5.0],
    )  # fmt: skip


def positions(**chosen):
    return PositionView(sinusoids(9, 6), **chosen)  # cells of 38 x 24 pixels


WORDS = ["<eos>", "the", "a", "cat", "dog"]
SEARCHES = {  # for each width, what each step considered: tokens, the log-probability of the last one, and its fate
    1: [
        {(1,): (-0.5, "kept"), (2,): (-0.7, "pruned")},
        {(1, 3): (-1.0, "kept"), (1, 4): (-1.5, "pruned")},
        {(1, 3, 4): (-0.25, "kept"), (1, 3, 0): (-1.8, "pruned")},
        {(1, 3, 4, 0): (-0.1, "complete")},
    ],
    2: [
        {(1,): (-0.5, "kept"), (2,): (-0.7, "kept")},
        {(2, 4): (-0.1, "kept"), (1, 3): (-1.0, "kept"), (1, 4): (-1.5, "pruned"), (2, 3): (-2.5, "pruned")}
        | {(2, 1): (-4.0, "pruned")},
        {(2, 4, 0): (-0.1, "complete"), (1, 3, 4): (-0.25, "beaten"), (2, 4, 3): (-2.5, "pruned")},
    ],
}
BEST = {1: Hypothesis([1, 3, 4], [-0.5, -1.0, -0.25, -0.1], True), 2: Hypothesis([2, 4], [-0.7, -0.1, -0.1], True)}


def search(width, alpha):
    tree, totals = Tree([BEST[width]]), {(): 0.0}
    for length, step in enumerate(SEARCHES[width], 1):
        totals |= {tokens: totals[tokens[:-1]] + log_prob for tokens, (log_prob, _) in step.items()}
        penalty = ((5 + length) / 6) ** alpha
        tree.steps.append([Node(t, given[0], totals[t], totals[t] / penalty, given[1]) for t, given in step.items()])
    return tree


def beams(words=WORDS, **chosen):
    return BeamView(search, words, widths=(1, 2), alphas=(0, 1), **chosen)


def long_tree(steps=20, each=1):
    """Four ways that never end; 16 nodes are considered at each step."""
    ways, tree = {(): 0.0}, Tree([])
    for _ in range(steps):
        longer = {(*way, token): total - each - token / 100 for way, total in ways.items() for token in range(4)}
        best = sorted(longer, key=longer.get, reverse=True)
        ways = {path: longer[path] for path in best[:4]}
        fates = ["kept" if path in ways else "pruned" for path in best]
        step = [Node(p, -each - p[-1] / 100, longer[p], longer[p], fate) for p, fate in zip(best, fates, strict=True)]
        tree.steps.append(step)
    return tree


def result(page):
    """The map whose cells can be pointed at."""
    return page.get_by_role("application")


def cell_of(body):
    """The size of a cell of a map, in pixels."""
    box, label = body.bounding_box(), body.get_attribute("aria-label")
    rows, columns = map(int, re.search(r"(\d+) rows, (\d+) columns", label).groups())
    return box["width"] / columns, box["height"] / rows


def middle(body, row, column):
    """The middle of a cell of a map, as a position in it."""
    width, height = cell_of(body)
    return {"x": (column + 0.5) * width, "y": (row + 0.5) * height}


def hover(page, row, column):
    result(page).hover(position=middle(result(page), row, column))


def click(page, row, column):
    result(page).click(position=middle(result(page), row, column))


def said(page):
    return page.locator(".says").inner_text()


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


def relative(colour):
    """Relative luminance of rgb(...) (WCAG 2.2)."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def luminance(page, selector, name):
    """That of a colour of the first such element."""
    return relative(page.locator(selector).first.evaluate(f"node => getComputedStyle(node)['{name}']"))


def contrast(page, selector, name):
    """Of a text or a line with the ground of the view (WCAG 2.2, contrast ratio)."""
    dark, light = sorted((luminance(page, selector, name), luminance(page, ".seqlearn", "backgroundColor")))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", SAMPLES)
def test_light_and_dark(show, page, name):
    grounds = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        show(SAMPLES[name](PLAIN))
        grounds[scheme] = luminance(page, ".seqlearn", "backgroundColor")
        assert contrast(page, ".seqlearn", "color") >= 7, "WCAG AAA"
    assert grounds["light"] > 0.8 and grounds["dark"] < 0.05


def labels(place):
    """Text and title of each."""
    return place.evaluate_all("nodes => nodes.map(node => [node.textContent, node.title])")


def test_any_token_is_text(show):
    tokens = [as_text(token) for token in DOZEN]
    page = show(SAMPLES["AttentionSteps"](DOZEN))
    rows = page.locator(".map").last.locator(".rows")
    assert labels(rows.locator(".label")) == [[one_line(token), token] for token in tokens]
    assert rows.bounding_box()["width"] < 130, "long ones are cut"
    result(page).focus()
    result(page).press("ArrowUp")
    assert page.locator(".says .token").first.text_content() == tokens[0]


def pixel(page, index, x, y):
    """Red, green, blue and alpha of a pixel of the index-th map."""
    script = """(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data]"""
    return page.locator(".body > canvas").nth(index).evaluate(script, [x, y])


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


def traits(page):
    return page.evaluate("['position', 'offset', 'pair'].map(name => model.get(name))")


def pairing(page):
    """What is said of the chosen pair, and of the cell that is pointed at."""
    return page.locator(".says > div").all_text_contents()


def matrices(page):
    return [box.locator("span").all_text_contents() for box in page.locator(".matrix").all()]


def test_a_pair_of_positions_is_told(show):
    page = show(positions(position=1, offset=2))
    turn, where, to = matrices(page)
    assert turn == ["−0.416", "0.909", "−0.909", "−0.416"], "cos 2, sin 2"
    assert where == ["0.841", "0.540"] and to == ["0.141", "−0.990"], "sine and cosine of 1 and of 3"
    told, hint = pairing(page)
    assert told == (
        "Pair 0 turns by ω = 1 rad a position: a full turn takes 6.28 positions. From i = 1 to j = 3 it turns by "
        "k ω = 2 rad = 115°, the same for every i. P[1] · P[3] ≈ 1.58."
    )
    assert hint.startswith("Point at the map") and page.locator(".tag").all_text_contents() == ["i", "j"]
    assert page.locator(".clock .name").all_text_contents() == ["i = 1", "j = 3"]


@pytest.mark.parametrize(("size", "offset", "pair"), [(6, 3, 1), (7, -5, 0), (2, 4, 0), (6, 0, 2)])
def test_the_plot_is_the_sum_of_all_clocks(show, size, offset, pair):
    """Each pair adds the cosine of the angle between its hands; the last of an odd number of dimensions has no pair."""
    table = sinusoids(12, size)
    page = show(PositionView(table, position=6, offset=offset, pair=pair))
    words = page.locator(".curve p").inner_text().replace("−", "-")
    angle, added, rest, total = re.fullmatch(
        rf"Each pair is such a clock, and adds the cosine of the angle between its hands. Pair {pair} adds "
        rf"cos\((.*)°\)\xa0{'≈' if offset else '='} (.*?)\. (.*) together: (.*)\.", words
    ).groups()  # fmt: skip
    one, two = table[6], table[6 + offset]
    here = float((one * two)[2 * pair : 2 * pair + 2].sum())
    assert float(added) == pytest.approx(here, abs=0.006)
    assert math.cos(math.radians(float(angle))) == pytest.approx(here, abs=0.02)
    assert float(total) == pytest.approx(float(one @ two), abs=0.006)
    pairs = {2: "The one pair", 6: "All 3 pairs", 7: "All 3 pairs and the last dimension"}
    assert rest == pairs[size]
    page = show(PositionView(torch.randn(9, 6)))
    assert page.locator(".curve p").inner_text() == "", "a learned table has no clocks"


def test_the_curve_is_that_of_the_dot_products(show):
    """From the first position on the left to the last one on the right; the dot is on the curve, at position j."""
    page = show(positions(position=1, offset=2))
    line = page.locator(".curve .line").get_attribute("d")
    points = torch.tensor([[float(number) for number in point.split()] for point in line.strip("M").split("L")])
    dot = page.locator(".curve .spot").evaluate("dot => ['cx', 'cy'].map(name => Number(dot.getAttribute(name)))")
    assert points[3].tolist() == pytest.approx(dot, abs=0.1)
    across, down = points.unbind(-1)
    step = float(across[1] - across[0])
    assert step > 1 and across.diff().tolist() == pytest.approx([step] * 8, abs=0.3)
    products = sinusoids(9, 6).double() @ sinusoids(9, 6)[1].double()
    assert np.corrcoef(down, products)[0, 1] == pytest.approx(-1, abs=1e-4), "more is higher up"


@pytest.mark.parametrize(
    ("offset", "places"), [(1, [" above", " below"]), (-1, [" below", " above"]), (-30, [" ", " "])]
)
def test_names_move_apart_only_where_they_are_near(show, offset, places):
    page = show(PositionView(sinusoids(60, 8), position=40, offset=offset))
    tags = {tag.inner_text(): tag for tag in page.locator(".tag").all()}
    assert [tags[name].get_attribute("class") for name in "ij"] == [f"tag{place}" for place in places]


def test_the_rotation_stays_where_only_the_position_moves(show):
    page = show(positions(offset=3, pair=1))
    turn, where, _ = matrices(page)
    page.get_by_label("position i").focus()
    seen = {tuple(where)}
    for position in range(1, 6):
        page.keyboard.press("ArrowRight")
        assert traits(page) == [position, 3, 1] and matrices(page)[0] == turn
        seen.add(tuple(matrices(page)[1]))
    assert len(seen) == 6, "the hands move"
    page.keyboard.press("ArrowRight")
    assert traits(page) == [5, 3, 1] and page.get_by_label("position i").input_value() == "5"
    assert pairing(page)[0].startswith("i stays at 5: with k = 3, j = i + k would leave the table. Pair 1")
    page.get_by_label("offset k").focus()
    page.keyboard.press("ArrowLeft")
    assert traits(page) == [5, 2, 1] and matrices(page)[0] != turn and pairing(page)[0].startswith("Pair 1")
    page.keyboard.press("Home")
    assert traits(page) == [5, -5, 1] and pairing(page)[0].startswith("k stops at −5: with i = 5, j = i + k would")
    page.get_by_label("pair", exact=True).focus()
    page.keyboard.press("End")
    assert traits(page) == [5, -5, 2]


def test_a_cell_of_the_table_is_told_and_a_click_moves_there(show):
    page = show(positions())
    hover(page, 5, 3)
    assert pairing(page)[0].startswith("Position 5, dimension 3: cos(5 · 0.05) ≈ 0.97")
    click(page, 5, 3)
    assert traits(page) == [5, 2, 1]
    page.mouse.move(5, 5)
    page.locator(".says").click()
    page.keyboard.press("Tab")  # to the sliders again, or to the end of the page
    result(page).focus()
    page.keyboard.press("ArrowDown")
    assert pairing(page)[0].startswith("Position 6, dimension 3")
    page.keyboard.press("Escape")
    assert traits(page) == [5, 2, 1]
    page.keyboard.press("Enter")
    assert traits(page) == [6, 2, 1]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert traits(page) == [6, 2, 1] and "i stays at 6" in pairing(page)[0], "8 + 2 is not in the table"
    for _ in range(4):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert traits(page) == [6, 2, 2] and "i stops at 6: with k = 2, j = i + k would leave" in pairing(page)[0]


def test_the_arrow_keys_begin_at_i_and_the_pair(show):
    page = show(positions(position=3, pair=1))
    result(page).focus()
    assert pairing(page)[0].startswith("Position 3, dimension 2: ")
    page.get_by_label("position i").press("ArrowRight")
    result(page).focus()
    assert pairing(page)[0].startswith("Position 4, dimension 2: ")


def test_the_plot_answers_and_a_press_chooses_a_distance(show):
    page = show(positions(position=2, offset=1))
    plot, products = page.locator(".curve svg"), sinusoids(9, 6).double()
    line = plot.locator(".line").get_attribute("d")
    at = [[float(number) for number in point.split()] for point in line.strip("M").split("L")]  # of each j
    for j in (0, 8):
        plot.hover(position={"x": at[j][0] + 2, "y": 200})
        product = float(products[2] @ products[j])
        told = f"Distance {j - 2}: P[2] · P[{j}] ≈ {round(product, 2):g}.".replace("-", "−")
        assert pairing(page)[0].startswith(told)
        assert float(plot.locator(".ring").get_attribute("cy")) == pytest.approx(at[j][1], abs=0.1)
        assert traits(page) == [2, 1, 0]
    plot.click(position={"x": at[6][0], "y": 20})
    assert traits(page) == [2, 4, 0] and "From i = 2 to j = 6" in pairing(page)[0]
    plot.click(position={"x": 45, "y": 20})
    assert traits(page) == [2, -2, 0], "no j is outside of the table"
    page.mouse.move(5, 5)
    assert plot.locator(".ring").get_attribute("r") == "0" and pairing(page)[0].startswith("Pair 0")


def test_the_hand_j_is_dragged_and_reset_comes_back(show):
    """A hand goes around as often as one likes; i stays, and nothing is selected."""
    page = show(PositionView(sinusoids(50, 32), position=10, offset=2, pair=2))
    speed, (i, k, pair) = 10000 ** (-4 / 32), traits(page)
    box, back = page.locator(".clock .plot").bounding_box(), page.get_by_role("button", name="reset: i, k and pair")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    assert back.get_attribute("aria-disabled") == "true"

    def place(by):
        angle = (i + k) * speed + by
        return x + 50 * math.sin(angle), y - 50 * math.cos(angle)

    page.mouse.move(*place(0))
    page.mouse.down()
    for step in range(1, 31):
        page.mouse.move(*place(0.3 * step))
    assert traits(page) == [i, k + round(9 / speed), pair], "more than a turn"
    page.mouse.move(x, y + 400, steps=3)
    page.mouse.up()
    assert page.evaluate("String(getSelection())") == ""
    page.mouse.move(*place(0))
    assert traits(page)[0] == i
    back.click()
    assert traits(page) == [i, k, pair] and back.get_attribute("aria-disabled") == "true"
    play = page.get_by_role("button", name="play: move i")
    play.click()
    back.click()
    assert play.inner_text() == "▶ Play" and traits(page) == [i, k, pair], "and it stands still"


def test_a_finger_turns_the_hand_and_scrolls_nothing(show, page, context):
    page.set_viewport_size({"width": 390, "height": 700})
    show(PositionView(sinusoids(50, 32), position=10, offset=2, pair=2))
    finger, box = context.new_cdp_session(page), page.locator(".clock .plot").bounding_box()
    x, y, angle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 12 * 10000 ** (-4 / 32)
    for step in range(16):
        point = {"x": x + 50 * math.sin(angle + 0.1 * step), "y": y - 50 * math.cos(angle + 0.1 * step)}
        name = "touchMove" if step else "touchStart"
        finger.send("Input.dispatchTouchEvent", {"type": name, "touchPoints": [point]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert traits(page)[1] == 2 + round(1.5 / 10000 ** (-4 / 32)) and page.evaluate("scrollY") == 0


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_what_is_said_of_positions_moves_nothing(show, page, width):
    """Where the plot is pointed at, too, and where i has to stop."""
    page.set_viewport_size({"width": width, "height": 900})
    show(PositionView(sinusoids(24, 16), position=3, offset=5, pair=1, tokens="the girl washes the red apple".split()))
    says = page.locator(".says")
    height = says.bounding_box()["height"]
    page.get_by_label("offset k").press("Home")
    page.get_by_label("offset k").press("ArrowLeft")
    assert says.bounding_box()["height"] == height
    page.locator(".curve .plot").hover()
    assert said(page).startswith("Distance ") and says.bounding_box()["height"] == height


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_the_first_positions_have_words(show, page, width):
    page.set_viewport_size({"width": width, "height": 900})
    words = "the girl washes the red apple and eats it .".split()
    show(PositionView(sinusoids(24, 16), position=8, offset=-3, pair=1, tokens=words))
    labels = page.locator(".rows .label").all_inner_texts()
    assert labels == [*(f"{word} {i}" for i, word in enumerate(words)), *map(str, range(10, 24))]
    assert "From i = 8 (it) to j = 5 (apple)" in said(page)
    assert page.locator(".clock .name").all_text_contents() == ["i = 8it", "j = 5apple"]
    plot, table = (page.locator(part).bounding_box() for part in (".curve", ".table"))
    assert (plot["x"] > table["x"] + table["width"]) == (width > 960), "all in one line"
    left = page.locator(".clock .name").evaluate_all("nodes => nodes.map(node => node.getBoundingClientRect().left)")
    assert min(left) >= 0


def test_a_small_frequency_is_written_in_full(show):
    page = show(PositionView(sinusoids(50, 32), pair=12))
    assert "by ω = 0.001 rad a position" in pairing(page)[0] and "k ω = 0.002 rad" in pairing(page)[0]
    assert "e−" not in said(page)


@pytest.mark.parametrize("width", [390, 1300])
def test_the_slider_of_the_pair_keeps_its_length(show, page, width):
    page.set_viewport_size({"width": width, "height": 900})
    show(PositionView(sinusoids(50, 32)))
    pair = page.get_by_label("pair", exact=True)
    before = pair.bounding_box()
    pair.press("End")
    assert traits(page)[2] == 15 and pair.bounding_box() == before


def test_the_cell_that_is_read_has_a_frame(show):
    """While the map has the focus of the keyboard, or the mouse."""
    page = show(positions(position=1))
    strong = page.locator(".frame.strong")
    assert strong.count() == 0
    page.keyboard.press("Tab")
    result(page).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert strong.evaluate("({ style }) => [style.left, style.top, style.width]") == ["38px", "48px", "38px"]
    page.keyboard.press("Enter")
    assert strong.count() == 1, "the rows of i and j have moved, the cell is still read"
    page.get_by_label("position i").focus()
    assert strong.count() == 0
    hover(page, 5, 3)
    assert strong.evaluate("({ style }) => [style.left, style.top]") == ["114px", "120px"]


def test_a_tap_tells_the_number_beside_the_finger_on_a_phone(show, page):
    """A finger does not point before it taps; the sentences are far below the map, and the clock is on the screen."""
    page.add_init_script(
        """const asked = window.matchMedia.bind(window);
        window.matchMedia = query => query === '(pointer: coarse)' ? { matches: true } : asked(query)"""
    )
    page.set_viewport_size({"width": 390, "height": 844})
    show(PositionView(sinusoids(50, 32)))
    body = page.locator(".map .body")
    body.dispatch_event(
        "click", {"clientX": (box := body.bounding_box())["x"] + 8 * 6.5, "clientY": box["y"] + 4 * 20.5}
    )
    told = "Position 20, dimension 6: sin(20 · 0.18) ≈ −0.4"
    assert page.locator(".says").inner_text().startswith(told)
    echo = page.locator(".echo")
    echo.wait_for()
    assert echo.inner_text().strip() == told and "Pair 3 turns by" in page.locator(".says").inner_text()
    clock = page.locator(".clock svg").bounding_box()
    assert clock["y"] + clock["height"] <= 844, "with the sliders on one screen"


@pytest.mark.parametrize(("position", "offset"), [(8, -8), (0, 8)])
def test_where_i_cannot_move_the_view_says_so(show, position, offset):
    page = show(positions(position=position, offset=offset))
    play = page.get_by_role("button", name="play: move i")
    said = f"i stays at {position}: with k = {offset}, j = i + k would leave the table. ".replace("-", "−")
    assert play.get_attribute("aria-disabled") == "true" and pairing(page)[0].startswith(said)
    play.click(force=True)
    assert traits(page) == [position, offset, 0] and play.inner_text() == "▶ Play"
    page.get_by_label("offset k").press("ArrowRight" if offset < 0 else "ArrowLeft")
    assert play.get_attribute("aria-disabled") == "false" and pairing(page)[0].startswith("Pair 0")


def test_the_table_is_blue_below_0_and_red_above(show):
    page = show(positions())
    for row, column in itertools.product(range(9), range(6)):
        colour = matplotlib.colormaps["RdBu_r"]((float(sinusoids(9, 6)[row, column]) + 1) / 2)
        drawn = pixel(page, 0, column * 38 + 2, row * 24 + 2)
        assert drawn[:3] == pytest.approx([255 * part for part in colour[:3]], abs=4)
    assert page.locator(".foot").inner_text().split() == ["−1", "1"]


def test_a_table_without_rotation(show):
    page = show(PositionView(torch.linspace(-1, 1, 12).reshape(4, 3), start=7, position=8, offset=-1))
    assert page.locator(".remark").inner_text().startswith("No rotation is shown: this table differs")
    assert page.locator(".clock, .equation").count() == 0 and page.locator(".controls input").count() == 2
    hover(page, 1, 2)
    hovered, told = page.locator(".says > div > div > div").all_text_contents()
    assert hovered == "Position 8, dimension 2: −0.09"
    assert told.startswith("From i = 8 to j = 7: P[8] · P[7] ≈ 0.74.")


def test_many_turns_and_none_are_drawn(show):
    page = show(PositionView(sinusoids(40, 2), offset=39))
    assert "= 39 rad = 6 turns and 75°" in pairing(page)[0]
    page.evaluate("model.set('offset', 0)")
    assert "= 0 rad = 0°" in pairing(page)[0] and page.locator(".clock .name").first.text_content() == "i = j = 0"
    page.evaluate("model.set('position', 39); model.set('offset', -1)")
    assert "= −1 rad = −57°" in pairing(page)[0]


@pytest.mark.parametrize(("rows", "size"), [(9, 6), (60, 32), (512, 512)])
def test_positions_in_a_window_that_gets_narrow(show, page, rows, size):
    show(PositionView(sinusoids(rows, size), pair=size // 2 - 1))
    assert page.locator(".curve").bounding_box()["y"] == page.locator(".table").bounding_box()["y"], "all in one line"
    page.set_viewport_size({"width": 320, "height": 600})
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")  # drawn anew
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    beyond = page.locator(".table").evaluate("node => node.scrollWidth - node.clientWidth")
    assert beyond > 0 if size == 512 else beyond == 0, "only what has a pixel for each dimension is scrolled"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_clock_can_be_read(show, page, scheme):
    page.emulate_media(color_scheme=scheme)
    show(positions())
    texts = [(".clock .name", "fill"), (".plot text", "fill"), (".faint", "color"), (".tag", "color")]
    for selector, name in [*texts, (".hand.i", "stroke"), (".hand.j", "stroke"), (".curve .line", "stroke")]:
        assert contrast(page, selector, name) >= 4.5, selector


@pytest.mark.parametrize("view", [steps, positions])
def test_the_numbers_in_the_cells_can_be_read(show, view):
    page = show(view())
    grounds_and_inks = page.locator(".body > canvas").last.evaluate(
        """(canvas, [width, height]) => { const [context, found] = [canvas.getContext('2d'), []];
        for (let y = 0; y < canvas.height; y += height) for (let x = 0; x < canvas.width; x += width) {
            const { data } = context.getImageData(x, y, width - 1, height - 1);
            const sum = (i) => data[i] + data[i + 1] + data[i + 2];
            const ground = 4 * (width - 1) * 2 + 8; let ink = ground;
            for (let i = 0; i < data.length; i += 4) {
                if (Math.abs(sum(i) - sum(ground)) > Math.abs(sum(ink) - sum(ground))) ink = i; }
            found.push([`rgb(${data.slice(ground, ground + 3)})`, sum(ink) > sum(ground) ? 'white' : 'black']); }
        return found }""",
        cell_of(result(page)),
    )
    assert {ink for _, ink in grounds_and_inks} == {"white", "black"}
    for ground, ink in grounds_and_inks:
        level = relative(ground)
        assert (1.05 / (level + 0.05) if ink == "white" else (level + 0.05) / 0.05) >= 4.5, (ground, ink)


def nodes(page, selector=""):
    """The texts of the nodes that are seen, by column and row."""
    return [node.inner_text().split("\n")[0] for node in page.locator(f".node{selector}").all() if node.is_visible()]


def told(page):
    """The lines about the step, and about a node."""
    return [
        line
        for part in page.locator(".narration > [aria-live], .says > div").all()
        for line in part.inner_text().split("\n")
    ]


def test_the_tree_grows(show):
    page = show(beams(step=0))
    on, back = page.get_by_label("next step"), page.get_by_label("previous step")
    assert nodes(page) == ["start"] and back.is_disabled()
    assert page.get_by_label("step", exact=True).get_attribute("aria-valuetext") == "0 of 3"
    on.click()
    assert nodes(page) == ["start", "the", "a"]
    assert told(page)[0].startswith("Step 1: each kept sentence gets one more token. The likeliest extensions: 2 kept.")
    on.click()
    assert nodes(page) == ["start", "the", "a", "cat", "dog", "dog", "cat"]
    assert "The likeliest extensions: 2 kept, 3 pruned." in told(page)[0]
    assert page.locator(".foot").all_text_contents() == ["", "… 1 more ×", ""]
    assert page.locator(".done").count() == 0, "what is found is not given away before"
    on.click()
    assert on.is_disabled() and page.evaluate("model.get('step')") == 3 and page.locator(".done").count() == 1
    assert page.locator(".node.best").all_inner_texts() == ["a\n−0.70", "dog\n−0.80", "<eos>\n−0.90\n★"]
    assert page.locator(".node:has(.greedy) .text").all_inner_texts() == ["the", "cat", "dog"]
    assert told(page)[0].endswith(
        "1 complete, 1 beaten, 1 pruned. Best sentence ★: a dog <eos>, score −0.90. "
        "Greedy search (G) begins with the cat dog, which is beaten at step 3."
    )
    page.get_by_label("step", exact=True).press("Home")
    assert nodes(page) == ["start"] and page.evaluate("model.get('step')") == 0


def test_a_node_is_told(show):
    page = show(beams(alpha=1))
    assert told(page)[1].startswith("Point at a node")
    page.locator(".node.beaten").hover()
    assert told(page)[1:] == [
        "the cat dog – beaten: among the best, but no continuation could win any more.",
        "log p(dog) = −0.25, a probability of 77.88 %. Total: −1.5 + (−0.25) = −1.75. "
        "Score: total / penalty of length 3 = −1.75 / 1.33 ≈ −1.31.",
    ]
    assert nodes(page, ".on") == ["start", "the", "cat", "dog"] and page.locator(".edge.on").count() == 3
    page.locator(".node").first.hover()
    assert told(page)[1] == "The start: nothing is written yet, and the total is 0."
    page.mouse.move(5, 5)
    assert told(page)[1].startswith("Point at a node") and nodes(page, ".on") == []


def test_a_click_locks_a_node(show):
    page = show(beams())
    end = page.locator(".node.complete")
    end.click()
    assert page.evaluate("model.get('locked')") == [2, 4, 0]
    page.locator(".node").first.hover()
    assert told(page)[1].startswith("a dog <eos> – complete: the sentence ends here and is set aside. (kept")
    assert end.get_attribute("aria-selected") == "true"
    page.get_by_label("previous step").click()
    page.mouse.move(5, 5)
    assert told(page)[1].startswith("Point at a node"), "it is not there yet"
    page.get_by_label("next step").click()
    end.click()
    assert page.evaluate("model.get('locked')") is None and "locked" not in said(page)
    view = beams()
    view.locked = []
    assert told(show(view))[1].startswith("The start: nothing is written yet, and the total is 0. (kept")


def test_keys_in_the_tree(show):
    page = show(beams(step=2))
    tree = page.get_by_role("tree")
    tree.focus()
    press = page.keyboard.press
    press("ArrowRight")
    assert told(page)[1].startswith("the – among")
    press("ArrowDown")
    press("ArrowDown")  # there is none
    assert told(page)[1].startswith("a – among")
    press("ArrowRight")
    assert told(page)[1].startswith("a dog – among"), "the likeliest child"
    press("ArrowRight")
    assert told(page)[1].startswith("a dog – among"), "its children are still to come"
    press("Enter")
    assert page.evaluate("model.get('locked')") == [2, 4]
    press("ArrowUp")
    assert page.evaluate("model.get('locked')") == [1, 4], "the lock follows"
    assert tree.get_attribute("aria-activedescendant") == page.locator(".node.at").get_attribute("id")
    press("PageDown")
    assert page.evaluate("model.get('step')") == 3
    press("End")
    assert told(page)[1].startswith("a dog <eos> – complete")
    press("Escape")
    assert page.evaluate("model.get('locked')") is None
    press("PageUp")
    press("Home")
    assert told(page)[1].startswith("The start")
    press("ArrowLeft")
    assert told(page)[1].startswith("The start")
    press("Shift+Tab")
    assert told(page)[1].startswith("Point at a node")


def test_sliders_search_again(show):
    page = show(beams(alpha=1))
    page.locator(".node.complete").click()
    page.get_by_label("beam width").press("ArrowLeft")
    assert page.evaluate("['width', 'step'].map(name => model.get(name))") == [1, 4], "all steps are seen again"
    assert (
        nodes(page, ".best") == ["the", "cat", "dog", "<eos>"] and "Greedy search (G) finds the same." in told(page)[0]
    )
    assert told(page)[1].startswith("Point at a node"), "what was locked is not in this tree"
    score = page.locator(".node.complete .score")
    assert score.inner_text() == "−1.23" and page.locator(".node.complete .corner").inner_text() == "★"
    page.get_by_label("length penalty α").press("Home")
    assert score.inner_text() == "−1.85" and page.evaluate("document.activeElement.ariaLabel") == "length penalty α"
    page.get_by_label("step", exact=True).press("Home")
    page.get_by_label("beam width").press("End")
    assert nodes(page) == ["start"]
    page.evaluate("model.set('trees', [])")
    assert told(page)[0].startswith("Width 2 with α = 0 is not searched yet") and page.locator(".waiting").count() == 1


def test_a_smaller_tree_moves_nothing(show):
    page = show(beams())
    height = page.get_by_role("tree").bounding_box()["height"]
    page.get_by_label("beam width").press("Home")
    assert page.locator(".node").count() < 10 and page.get_by_role("tree").bounding_box()["height"] == height
    wide = page.get_by_label("length penalty α").bounding_box()["width"]
    assert wide <= 60, "two stops"


def test_a_model_that_is_sure(show):
    page = show(BeamView(Tree([], [[Node((1,), -0.00423, -0.00423, -0.00423, "kept")]]), WORDS))
    page.locator(".node").last.hover()
    assert page.locator(".node .score, .edge text").all_text_contents() == ["0.00", "0.00"], "not −0.00"
    assert told(page)[2].startswith("log p(the) ≈ −0.0042, a probability of 99.58 %. Total: 0 + (−0.0042) ≈ −0.0042. ")


def test_a_ready_tree_has_no_search(show):
    page = show(BeamView(search(2, 0.0), WORDS))
    assert page.get_by_role("slider").count() == 1 and nodes(page, ".best") == ["a", "dog", "<eos>"]


def test_any_token_of_a_tree_is_text(show):
    tokens = [as_text(token) for token in DOZEN]
    page = show(SAMPLES["BeamView"](DOZEN))
    assert [title for _, title in labels(page.locator(".node"))[1:]] == tokens
    assert page.locator(".node .text").all_text_contents()[1:] == [one_line(token) for token in tokens]
    named = page.locator(".node").evaluate_all("nodes => nodes.map(node => node.ariaLabel)")[1:]
    assert all(name.startswith(one_line(token)) for name, token in zip(named, tokens, strict=True))
    page.locator(".node").nth(1).hover()
    assert page.locator(".says > div").last.locator(".token").first.text_content() == tokens[0]
    beyond = page.locator(".node").evaluate_all("nodes => nodes.map(node => node.scrollWidth - node.clientWidth)")
    assert set(beyond) == {0}, "long tokens are cut"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fates_are_told_apart_without_colour(show, page, scheme):
    page.emulate_media(color_scheme=scheme)
    show(beams())
    looks, signs = set(), set()
    for fate in ("kept", "complete", "beaten", "pruned"):
        node = page.locator(f".node.{fate}:not(.best)").first if fate != "complete" else page.locator(".node.complete")
        looks.add(node.evaluate("node => getComputedStyle(node).borderStyle"))
        signs.add(page.locator(f".fate.{fate}").inner_text())
        assert contrast(page, f".node.{fate}", "color") >= 4.5 and contrast(page, f".edge.{fate} path", "stroke") >= 3
    assert looks == {"solid", "double", "dotted", "dashed"} and len(signs) == 4
    for selector, name in [(".edge text", "fill"), (".tree .number", "fill"), (".done .edge.best path", "stroke")]:
        assert contrast(page, selector, name) >= 4.5, selector
    width = "node => parseFloat(getComputedStyle(node).borderTopWidth)"
    assert page.locator(".done .node.best").first.evaluate(width) > page.locator(
        ".node.kept:not(.best)"
    ).first.evaluate(width)


def test_a_long_tree_in_a_narrow_window(show, page):
    page.set_viewport_size({"width": 320, "height": 700})
    show(BeamView(long_tree(), step=1))
    tree, left = page.get_by_role("tree"), "node => node.scrollLeft"
    assert page.evaluate("document.documentElement.scrollWidth") == 320 and tree.evaluate(left) == 0
    page.get_by_label("step", exact=True).press("End")
    assert page.locator(".node").last.bounding_box()["x"] < 320, "the last step is scrolled to"
    tree.focus()
    page.keyboard.press("Home")
    assert tree.evaluate(left) == 0
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    box = page.locator(".node.at").bounding_box()
    assert box["x"] > 0 and box["x"] + box["width"] < 320


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
    drawn = [text.get_text() for text in view.figure().axes[3].texts]
    assert drawn[:3] == ["0.98", "" if hides else "0.02", "–"], "in the picture, too"


def test_a_line_is_as_wide_as_its_token_is_probable(show):
    page = show(beams())
    lines = page.locator(".edge").evaluate_all(
        """edges => edges.map(edge => [edge.querySelector('text').textContent,
        parseFloat(getComputedStyle(edge.querySelector('path')).strokeWidth)])"""
    )
    for text, width in lines:
        assert width == pytest.approx(1 + 4 * math.exp(float(text.replace("−", "-"))), abs=0.01), text
    assert len(lines) == 9 and "width of a line: probability of the token" in page.locator(".legend").inner_text()


@pytest.mark.parametrize("each", [10, 0.02], ids=["thin", "wide"])
def test_no_line_crosses_a_number_and_no_badge_a_word(show, each):
    """A dashed line through a minus sign makes a plus of it."""
    page = show(BeamView(long_tree(6, each)))
    page.locator(".node").last.hover()  # its lines are wide, and another colour
    crossed = page.locator(".edge").evaluate_all(
        """edges => { const [hits, boxes] = [[], edges.map(edge => edge.querySelector('text').getBBox())];
        edges.map(edge => edge.querySelector('path')).forEach((path, i) => {
            const half = parseFloat(getComputedStyle(path).strokeWidth) / 2;
            for (let at = 0; at <= path.getTotalLength(); at++) {
                const { x, y } = path.getPointAtLength(at);
                boxes.forEach((box, j) => x + half > box.x && x - half < box.x + box.width
                    && y + half > box.y + 2 && y - half < box.y + box.height - 3 && hits.push([i, j])); } });
        return hits }"""
    )
    assert crossed == []
    show(beams())
    inside = page.locator(".node:has(.greedy)").evaluate_all(
        """nodes => nodes.map(node => { const place = (name) => node.querySelector(name).getBoundingClientRect();
        const [word, badge, score, box] = [...['.text', '.greedy', '.score'].map(place), node.getBoundingClientRect()];
        return badge.top >= word.bottom - 1 && badge.right <= score.left + 1
            && badge.left > box.left && badge.bottom < box.bottom })"""
    )
    assert inside == [True] * 3


def test_the_place_in_a_tree_is_kept(show, page):
    """A change of width or alpha, or of the window, does not scroll back to step 1."""
    page.set_viewport_size({"width": 900, "height": 700})
    show(BeamView(lambda width, alpha: long_tree(), widths=(1, 2), alphas=(0, 1), step=1))
    tree, left = page.get_by_role("tree"), "node => node.scrollLeft"
    assert tree.evaluate(left) == 0, "at first the start is seen"
    page.get_by_label("step", exact=True).press("End")
    end = tree.evaluate(left)
    assert end > 2000
    page.get_by_label("beam width").press("ArrowLeft")
    assert tree.evaluate(left) == end
    page.get_by_label("length penalty α").press("ArrowRight")
    assert tree.evaluate(left) == end
    tree.evaluate("node => { node.scrollLeft = 700; return new Promise(requestAnimationFrame) }")
    page.get_by_label("beam width").press("ArrowRight")
    assert tree.evaluate(left) == 700, "nor does the tree go to the end where the learner looks elsewhere"
    page.get_by_label("step", exact=True).press("ArrowLeft")
    seen = "node => { const box = node.getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth }"
    for width in (4000, 500, 900):
        page.set_viewport_size({"width": width, "height": 700})
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        assert page.locator(".node[aria-level='20']").last.evaluate(seen), width


def test_the_source_of_a_tree(show):
    page = show(beams(source="the <b>big</b> dog"))
    assert page.locator(".source").inner_text() == "Source: the <b>big</b> dog"
    assert show(beams()).locator(".source").is_hidden()


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


def test_positions_play(show, page):
    """The position moves by itself, until the button stops it, or the last one; the screen reader is spared."""
    from playwright.sync_api import expect  # as in conftest.py: only where a browser runs

    page.add_init_script(
        """window.beats = []; window.setInterval = (beat) => beats.push(beat);
        window.clearInterval = (number) => { if (number) beats[number - 1] = null }"""
    )
    show(positions(offset=2, position=3))

    def run(beats):
        page.evaluate(
            "count => { for (let i = 0; i < count; i++) window.beats.forEach(beat => beat && beat()) }", beats
        )

    button = page.locator(".controls button").first
    assert button.inner_text() == "▶ Play"
    button.click()
    assert traits(page) == [4, 2, 0] and page.locator(".says").get_attribute("aria-live") == "off"
    run(1)
    assert traits(page) == [5, 2, 0] and page.locator(".clock .name").all_text_contents() == ["i = 5", "j = 7"]
    button.click()
    run(6)
    assert traits(page) == [5, 2, 0] and page.locator(".says").get_attribute("aria-live") == "polite", "it stopped"
    button.click()
    run(6)
    assert traits(page) == [6, 2, 0] and button.inner_text() == "▶ Play", "j = 8 is the last row"
    button.click()
    assert traits(page) == [0, 2, 0] and button.inner_text() == "■ Stop", "then from the first row, and on"
    run(1)
    assert traits(page) == [1, 2, 0]
    page.emulate_media(reduced_motion="reduce")
    expect(button).to_have_attribute(
        "aria-label", "i + 1: next position"
    )  # nothing moves by itself where that was asked for
    run(6)
    assert traits(page) == [1, 2, 0]
    for position in (2, 3):
        button.press("Enter")
        assert traits(page) == [position, 2, 0]
    run(6)
    assert traits(page) == [3, 2, 0]


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
