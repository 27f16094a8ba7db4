"""AttentionView: what is drawn, told and marked, by mouse and by keys; long sentences; narrow windows; dark."""

import math

import pytest
import torch
from browser.settling import settled
from browser.test_family import AXE, CUT, FIND_BARRIERS, SOON_FITS
from hostile import HOSTILE

from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.analysis.roles import read_roles
from seqlearn.translator.translator import Translator
from seqlearn.views import AttentionView
from seqlearn.views.shared.arguments import as_text

CELL = 28  # pixels
CROSS = torch.tensor(
    [[0.91, 0.05, 0.04, 0.0], [0.2, 0.2, 0.2, 0.4], [0.001, 0.998, 0.0005, 0.0005]],
)


def cross():
    weights = torch.stack([CROSS, CROSS[[1, 0, 2]], CROSS[:, [1, 0, 2, 3]], torch.full((3, 4), 0.25)])
    return AttentionMap(weights.reshape(2, 2, 3, 4), ["elle", "mange", "la"], ["she", "eats", "it", "."])


def causal(tokens=("<bos>", "la", "la")):
    mask = torch.ones(len(tokens), len(tokens)).tril().bool()
    scores = torch.randn(2, 1, len(tokens), len(tokens))
    return AttentionMap(scores.masked_fill(~mask, -math.inf).softmax(-1), tokens, tokens, "causal", mask)


def random(layers, heads, queries, keys):
    names = [[f"{letter}{i}" for i in range(count)] for letter, count in (("q", queries), ("k", keys))]
    return AttentionMap((4 * torch.randn(layers, heads, queries, keys)).softmax(-1), *names)


def luminance(page, selector, name):
    """Relative luminance of a colour of the first such element (WCAG 2.2)."""
    colour = page.locator(selector).first.evaluate(f"node => getComputedStyle(node)['{name}']")
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(page, selector, name):
    """Of a text or a line with the ground of the view (WCAG 2.2, contrast ratio)."""
    dark, light = sorted((luminance(page, selector, name), luminance(page, ".seqlearn", "backgroundColor")))
    return (light + 0.05) / (dark + 0.05)


def pixel(page, x, y):
    """Red, green, blue and alpha of a pixel of the heat map."""
    script = """(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data]"""
    return page.locator(".stage .map canvas").first.evaluate(script, [x, y])


def columns(page):
    return page.get_by_role("application").nth(0)


def cells(page):
    return page.get_by_role("application").nth(1)


def heads(page):
    return page.get_by_role("slider", name="cross: layer and head")


def token(page, side, index):
    return page.locator(".looks .rows").nth(side).locator(".label").nth(index)


def lines(page, group="all"):
    """The lines of the columns, as (query, key): their thickness."""
    script = """(lines, group) => [...document.querySelectorAll(`.looks .${group} line`)].map(line =>
        ['y1', 'y2', 'stroke-width'].map(name => Number(line.getAttribute(name))))"""
    found = page.locator(".looks").evaluate(script, group)
    return {(int(start // CELL), int(end // CELL)): thickness for start, end, thickness in found}


def said(page):
    return page.locator(".says > div").nth(1).inner_text()


def frames(page):
    """The frames of the heat map, as [row, column, rows, columns] of cells with numbers."""
    script = """(nodes, cell) => nodes.map(({ offsetTop, offsetLeft, offsetHeight, offsetWidth }) =>
        [offsetTop / cell, offsetLeft / cell, offsetHeight / cell, offsetWidth / cell])"""
    return page.locator(".stage .frame").evaluate_all(script, CELL)


def marked(page):
    """The underlined tokens of both columns."""
    return [page.locator(".looks .rows").nth(side).locator(".on").all_inner_texts() for side in (0, 1)]


@pytest.mark.parametrize("threshold", [0.0, 0.05, 0.2, 0.41])
def test_a_line_for_each_weight_from_the_threshold_on(show, threshold):
    page = show(AttentionView(cross(), threshold=threshold))
    expected = {(i, j) for i in range(3) for j in range(4) if CROSS[i, j] > 0 and CROSS[i, j] >= threshold - 1e-6}
    drawn = lines(page)
    assert set(drawn) == expected
    for (i, j), thickness in drawn.items():
        assert thickness == pytest.approx(0.6 + 6.4 * float(CROSS[i, j]), abs=0.01)
    none = "1 weight of 0" if threshold == 0 else f"{12 - len(expected)} weights below {threshold:g}"
    text = f"Cross attention, layer 0, head 0. {len(expected)} lines; not drawn: {none}."
    assert page.locator(".says > div").first.inner_text() == text


def test_equal_weights_are_not_told_apart_by_rounding(show):
    weights = torch.tensor([[0.7, 0.3]])
    assert float(weights[0, 0]) < 0.7, "in float32"
    page = show(AttentionView(AttentionMap(weights, ["a"], ["b", "c"]), threshold=0.7))
    assert set(lines(page)) == {(0, 0)}


def test_which_column_is_which(show):
    page = show(AttentionView(cross(), causal()))
    names = page.locator(".looks figcaption span").all_inner_texts()
    assert names == ["target token (query)", "looks at →", "source token (key)"]
    assert [page.locator(".looks .rows").nth(side).inner_text().split() for side in (0, 1)] == [
        ["elle", "mange", "la"], ["she", "eats", "it", "."]
    ]  # fmt: skip
    left, right = (page.locator(".looks .rows").nth(side).bounding_box() for side in (0, 1))
    assert left["x"] + left["width"] < right["x"]
    rows = page.locator(".stage .map .rows").first
    assert token(page, 0, 1).bounding_box()["y"] == rows.locator(".label").nth(1).bounding_box()["y"], "side by side"
    legend = page.locator(".legend").inner_text()
    assert legend.split("\n")[-3:] == ["0.1", "0.5", "1"] and "masked" not in legend


@pytest.mark.parametrize(
    ("side", "index", "sentence", "mine", "frame"),
    [
        (0, 0, "elle looks at she 0.91, eats 0.05, it 0.04, and 1 other 0.00.", {(0, 0), (0, 1)}, [[0, 0, 1, 4]]),
        (0, 2, "la looks at eats 1.00, and 3 others <0.005 together.", {(2, 1)}, [[2, 0, 1, 4]]),
        (1, 1, "eats is looked at by la 1.00, mange 0.20, elle 0.05.", {(0, 1), (1, 1), (2, 1)}, [[0, 1, 3, 1]]),
        (1, 3, ". is looked at by mange 0.40, and 2 others <0.005 together.", {(1, 3)}, [[0, 3, 3, 1]]),
    ],
)
def test_a_token_tells_its_weights(show, side, index, sentence, mine, frame):
    page = show(AttentionView(cross()))
    token(page, side, index).hover()
    assert said(page) == sentence
    assert set(lines(page, "lit")) == mine and frames(page) == frame
    rows, columns = (sorted({pair[axis] for pair in mine}) for axis in (0, 1))
    assert marked(page) == [
        [["elle", "mange", "la"][i] for i in rows],
        [["she", "eats", "it", "."][j] for j in columns],
    ]
    numbers = page.locator(".looks .lit text").all_text_contents()
    assert sorted(numbers) == sorted(f"{CROSS[i, j]:.2f}" for i, j in mine)
    opacity = page.locator(".looks .all").evaluate("group => getComputedStyle(group).opacity")
    assert float(opacity) < 0.2, "the others fade"
    page.mouse.move(640, 600)
    assert said(page).startswith("Point at a token") and lines(page, "lit") == {} and frames(page) == []


def test_a_line_and_a_cell_tell_their_weight(show):
    page = show(AttentionView(cross()))
    box = page.locator(".looks svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + (1.5 + 2 / 4) * CELL)  # from mange to .
    assert said(page) == "mange → .: 0.40. mange looks at . 0.40, she 0.20, eats 0.20, it 0.20."
    assert page.locator(".tip").inner_text() == "mange → . 0.40"
    assert marked(page) == [["mange"], ["."]] and page.locator(".looks line.strong").count() == 1
    assert frames(page) == [[1, 0, 1, 4], [1, 3, 1, 1]]
    cells(page).hover(position={"x": 2.5 * CELL, "y": 0.5 * CELL})
    assert said(page).startswith("elle → it: 0.04. elle looks at she 0.91, ")
    assert page.locator(".tip").inner_text() == "elle → it 0.04"
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] + 40)
    assert page.locator(".tip").is_hidden()


def test_every_number_told_is_that_of_the_map(show):
    one = random(2, 3, 6, 7)
    page = show(AttentionView(one, layer=1, head=0))
    for i in range(6):
        for j in range(7):
            cells(page).hover(position={"x": (j + 0.5) * CELL, "y": (i + 0.5) * CELL})
            weight = float(one.weights[1, 0, i, j])
            text = f"{weight:.2f}" if weight >= 0.005 else "<0.005"
            assert page.locator(".tip").inner_text() == f"q{i} → k{j} {text}"
            assert said(page).startswith(f"q{i} → k{j}: {text}. q{i} looks at k{int(one.weights[1, 0, i].argmax())} ")


def test_the_mask_is_a_mask(show):
    page = show(AttentionView(causal(), threshold=0.0))
    assert set(lines(page)) == {(i, j) for i in range(3) for j in range(i + 1)}
    assert page.locator(".says > div").first.inner_text().endswith(". 6 lines; not drawn: none."), (
        "of what may be attended"
    )
    for i, j in ((0, 1), (0, 2), (1, 2)):
        red, green, blue, alpha = pixel(page, j * CELL + 2, i * CELL + 2)
        assert red == green == blue and alpha == 255
    assert "masked: may not be attended, no line" in page.locator(".legend").inner_text()
    cells(page).hover(position={"x": 2.5 * CELL, "y": 0.5 * CELL})
    assert said(page) == "<bos> → la (2nd): masked: it may not be attended. <bos> looks at <bos> 1.00."
    assert page.locator(".tip").inner_text() == "<bos> → la (2nd) masked"


def test_nothing_to_look_at(show):
    mask = torch.tensor([[True, True], [False, False]])
    page = show(AttentionView(AttentionMap(torch.tensor([[0.5, 0.5], [0, 0]]), ["a", "b"], ["c", "d"], "cross", mask)))
    token(page, 0, 1).hover()
    assert said(page) == "b has nothing: all is masked."
    assert heads(page).count() == 0, "there is only one head"


def test_mean_and_rollout(show):
    one = causal(("<bos>", "elle", "mange"))
    page = show(AttentionView(cross(), one, threshold=0))
    options = page.get_by_label("show").locator("option")
    assert options.nth(3).is_disabled(), "cross-attention has none"
    token(page, 0, 0).click()
    page.get_by_label("causal attention").click()
    assert page.evaluate("['kind', 'layer', 'head', 'locked'].map(name => model.get(name))") == ["causal", 0, 0, None]
    for text, name, weights in (
        ("mean of the layer", "layer", one.weights[0].mean(0)),
        ("mean of all heads", "all", one.weights.mean((0, 1))),
        ("rollout", "rollout", AttentionView(one, show="rollout").shown.weights[0, 0]),
    ):
        page.get_by_label("show", exact=True).select_option(text)
        assert page.evaluate("model.get('show')") == name
        drawn = lines(page)
        assert set(drawn) == {(i, j) for i in range(3) for j in range(i + 1)}
        for (i, j), thickness in drawn.items():
            assert thickness == pytest.approx(0.6 + 6.4 * float(weights[i, j]), abs=0.01)
        assert page.locator(".stage .map figcaption").first.inner_text() == text.replace("the layer", "layer 0")
    token(page, 0, 0).hover()
    assert said(page) == "<bos> is made of <bos> 1.00."
    assert page.locator(".looks figcaption span").nth(1).inner_text() == "is made of →"
    page.get_by_label("cross attention").click()
    assert page.evaluate("model.get('show')") == "head"


def framed(page):
    """The small maps with a frame around them."""
    return page.locator(".heads .small.on").evaluate_all("nodes => nodes.map(node => node.title)")


def test_a_head_is_chosen_in_the_grid(show):
    page = show(AttentionView(cross()))
    page.get_by_title("layer 1, head 1").click()
    assert page.evaluate("[model.get('layer'), model.get('head')]") == [1, 1]
    assert page.locator(".stage .map figcaption").first.inner_text() == "layer 1, head 1"
    assert set(lines(page)) == {(i, j) for i in range(3) for j in range(4)}, "all are 0.25"
    assert page.locator(".small .caption").all_inner_texts() == ["0.0", "0.1", "1.0", "1.1"]
    for key, place in (("ArrowLeft", [1, 0]), ("ArrowUp", [0, 0]), ("ArrowUp", [0, 0]), ("End", [0, 1]),
                       ("PageDown", [1, 1]), ("Home", [1, 0])):  # fmt: skip
        page.keyboard.press(key)
        assert page.evaluate("[model.get('layer'), model.get('head')]") == place
    assert framed(page) == ["layer 1, head 0"]
    assert heads(page).get_attribute("aria-valuetext") == "layer 1, head 0"
    page.evaluate("model.set('show', 'layer')")
    assert framed(page) == ["layer 1, head 0", "layer 1, head 1"], "the whole layer"
    page.keyboard.press(" ")
    assert page.evaluate("model.get('show')") == "head"


def test_a_click_locks_and_frees(show):
    page = show(AttentionView(cross()))
    token(page, 1, 2).click()
    assert page.evaluate("model.get('locked')") == ["key", 2]
    token(page, 0, 0).hover()
    assert said(page).startswith("it is looked at by mange 0.20") and "(kept: Escape" in said(page)
    assert page.locator(".tip").is_hidden()
    page.evaluate("model.set('head', 1)")
    assert said(page).startswith("it is looked at by elle 0.20"), "another head, the same token"
    token(page, 1, 2).click()
    assert page.evaluate("model.get('locked')") is None
    cells(page).click(position={"x": 1.5 * CELL, "y": 2.5 * CELL})
    assert page.evaluate("model.get('locked')") == ["pair", 2, 1]
    page.keyboard.press("Escape")
    assert page.evaluate("model.get('locked')") is None


def test_what_python_locked_is_shown(show):
    page = show(AttentionView(cross(), locked=["pair", 1, 3]))
    assert said(page).startswith("mange → .: 0.40. ") and frames(page) == [[1, 0, 1, 4], [1, 3, 1, 1]]
    assert marked(page) == [["mange"], ["."]]


def test_keys(show):
    page = show(AttentionView(cross(), causal()))
    for _ in range(10):
        page.keyboard.press("Tab")  # show, threshold, compare, two levels, two kinds with their heads, columns
    assert said(page).startswith("elle looks at she 0.91")
    assert page.locator(".tip").is_hidden(), "there is no mouse"
    for key, start in (("ArrowDown", "mange looks"), ("ArrowRight", "eats is"), ("End", ". is"),
                       ("ArrowLeft", "la looks"), ("ArrowUp", "mange looks"), ("Home", "elle looks")):  # fmt: skip
        page.keyboard.press(key)
        assert said(page).startswith(start), key
    page.keyboard.press("Enter")
    assert page.evaluate("model.get('locked')") == ["query", 0]
    page.keyboard.press("ArrowDown")
    assert page.evaluate("model.get('locked')") == ["query", 1], "the lock follows"
    page.keyboard.press("PageDown")
    assert page.evaluate("model.get('layer')") == 1 and said(page).startswith("mange looks at ")
    page.keyboard.press("Space")
    assert page.evaluate("model.get('locked')") is None
    page.keyboard.press("Tab")
    assert said(page).startswith("mange → she"), "in the row that was kept"
    heads(page).press("ArrowRight")
    assert page.evaluate("model.get('head')") == 1
    page.evaluate("model.set('locked', ['query', 0])")
    page.keyboard.press("Escape")
    assert page.evaluate("model.get('locked')") is None
    page.get_by_label("lines from weight").press("ArrowRight")
    assert page.evaluate("model.get('threshold')") == 0.06


def test_the_arrow_keys_take_the_lock_of_another_panel(show):
    page = show(AttentionView(cross(), causal()))
    page.evaluate("model.set('locked', ['query', 0])")
    cells(page).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("model.get('locked')") == ["pair", 2, 0] and said(page).startswith("la → she")
    columns(page).focus()
    page.keyboard.press("ArrowUp")
    assert page.evaluate("model.get('locked')") == ["query", 1], "from the row of the cell"


def test_the_keys_stay_where_they_were(show):
    page = show(AttentionView(cross(), causal()))
    cells(page).focus()
    page.evaluate("model.set('kind', 'causal')")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(
        "layer 0, head 0"
    ) or page.evaluate("document.activeElement.closest('.map') !== null")
    assert said(page).startswith("la (1st) → <bos>")


def test_any_token_is_text(show):
    count = len(HOSTILE)
    page = show(AttentionView(AttentionMap(torch.eye(count), HOSTILE, HOSTILE, "encoder"), threshold=0.5))
    script = """count => { const [body, svg] = ['.body', 'svg'].map(name => document.querySelector(`.looks ${name}`));
        const box = svg.getBoundingClientRect();
        return Array.from({ length: count }, (_, i) => {
            const place = { clientX: box.left - 9, clientY: box.top + ((i + 0.5) * box.height) / count, bubbles: true };
            body.dispatchEvent(new PointerEvent('pointermove', place));
            return ['.says', '.tip'].map(name => document.querySelector(`${name} .token`).textContent) }) }"""
    assert page.evaluate(script, count) == [[text, text] for text in map(as_text, HOSTILE)]
    assert page.locator(".looks .rows").first.bounding_box()["width"] < 130


@pytest.mark.parametrize("tokens", [4, 64, 256])
def test_a_narrow_window(show, page, tokens):
    page.set_viewport_size({"width": 320, "height": 900})
    show(AttentionView(random(2, 8, tokens, tokens), causal([f"q{i}" for i in range(tokens)])))
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    tops = page.locator(".overview, .stage > :not(.tip)").evaluate_all(
        "nodes => nodes.map(node => node.getBoundingClientRect().top)"
    )
    assert tops == sorted(tops) and len(set(tops)) == 3, "one below the other"
    assert page.locator(".looks").bounding_box()["width"] <= 310


def test_light_and_dark(show, page):
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        show(AttentionView(cross(), causal(), locked=["query", 0]))
        assert (luminance(page, ".seqlearn", "backgroundColor") > 0.5) == (scheme == "light")
        for selector in (".looks figcaption .faint", ".looks .label.on", ".legend", ".says > div"):
            assert contrast(page, selector, "color") >= 4.5, selector
        assert contrast(page, ".looks text", "fill") >= 7
        for selector in (".looks .lit line", ".sample line"):
            assert contrast(page, selector, "stroke") >= 4.5, selector


def test_every_control_has_a_name(show):
    page = show(AttentionView(cross(), causal()))
    names = page.locator("select, input, [tabindex], [role=group], [role=region]").evaluate_all(
        "nodes => nodes.map(node => node.getAttribute('aria-label'))"
    )
    assert len(names) == 12 and all(names), names
    assert "Arrow keys move, Enter keeps" in columns(page).get_attribute("aria-label")
    assert page.locator(".says").get_attribute("aria-live") == "polite"


def test_too_many_lines_are_cut_with_a_note(show):
    weights = torch.randn(90, 90).mul(0.5).softmax(-1)
    page = show(
        AttentionView(AttentionMap(weights, [f"q{i}" for i in range(90)], [f"k{i}" for i in range(90)]), threshold=0)
    )
    script = "lines => lines.map(line => Number(line.getAttribute('stroke-width')))"
    drawn = page.locator(".looks .all line").evaluate_all(script)
    heaviest = weights.flatten().sort().values[-6000:]
    assert drawn == pytest.approx((0.6 + 6.4 * heaviest / 0.1).tolist(), abs=0.01), "the heaviest last, on top"
    note = "the 6,000 lines of the largest weights, out of 8,100 lines; not drawn: none."
    assert note in page.locator(".says").inner_text()


def test_256_tokens_can_be_used(show):
    one = random(1, 5, 256, 256)
    page = show(AttentionView(one))  # more weights than are sent in full
    labels = page.locator(".looks .rows").first.locator(".label")
    assert 20 < labels.count() <= 64, "thinned"
    box = page.locator(".looks svg").bounding_box()
    page.mouse.move(box["x"] - 9, box["y"] + 2 * 101 + 1)
    weights = one.weights[0, 0, 101]
    best = int(weights.argmax())
    assert said(page).startswith(f"q101 looks at k{best} {weights[best]:.2f}")
    assert page.locator(".tip").inner_text() == f"q101 → k{best} {weights[best]:.2f}"


@pytest.mark.parametrize("share", [0.06, 0.44, 0.56, 0.94])
def test_a_row_is_pointed_at_from_its_upper_edge_to_its_lower_one(show, page, share):
    show(AttentionView(cross()))
    columns_box, cells_box = (node.bounding_box() for node in (page.locator(".looks svg"), cells(page)))
    for row, name in enumerate(("elle", "mange", "la")):
        page.mouse.move(columns_box["x"] - 9, columns_box["y"] + (row + share) * CELL)
        assert said(page).startswith(f"{name} looks at ") and marked(page)[0] == [name]
        page.mouse.move(cells_box["x"] + (2 + share) * CELL, cells_box["y"] + (row + share) * CELL)
        assert said(page).startswith(f"{name} → it: ") and frames(page)[0] == [row, 0, 1, 4]


def test_each_small_map_is_that_of_its_layer_and_head(show, page):
    """Of head h in layer l, the only weight is in row l and column h; rows, columns, layers and heads all differ."""
    weights = torch.zeros(2, 3, 4, 5)
    for layer in range(2):
        for head in range(3):
            weights[layer, head, :, 4] = 1
            weights[layer, head, layer] = torch.eye(5)[head]
    show(AttentionView(AttentionMap(weights, list("abcd"), list("vwxyz"))))
    sampled = "(canvas, [row, column]) => canvas.getContext('2d').getImageData(column, row, 1, 1).data[0]"
    small = page.locator(".heads .small")
    assert small.evaluate_all("nodes => nodes.map(node => node.title)") == [
        f"layer {layer}, head {head}" for layer in range(2) for head in range(3)
    ]
    places = [node.bounding_box() for node in small.all()]
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = [(place["x"], place["y"]) for place in places[:4]]
    assert y0 == y1 == y2 < y3 and x0 == x3 < x1 < x2, "a row for each layer"
    for layer in range(2):
        for head in range(3):
            canvas = small.nth(3 * layer + head).locator("canvas")
            drawn = [[canvas.evaluate(sampled, [row, column]) > 200 for column in range(5)] for row in range(4)]
            assert drawn == weights[layer, head].bool().tolist(), f"yellow where layer {layer}, head {head} looks"


def test_weights_in_two_bytes_are_not_smaller_than_in_four(show):
    """1/5 is a whole number of 65,535ths: a line from 0.2 on is drawn however the weights are sent."""
    weights = torch.zeros(1, 5, 256, 256)
    weights[..., :5] = 0.2
    names = [str(number) for number in range(256)]
    page = show(AttentionView(AttentionMap(weights, names, names), threshold=0.2))
    assert page.evaluate("model.get('data').maps[0].weights.dtype") == "uint16"
    assert page.locator(".says > div").first.inner_text().startswith("Cross attention, layer 0, head 0. 1,280 lines;")


# ---- Numbers in cells ----

COUNT_INK = """(canvas, [row, column, size]) => {
    const scale = canvas.width / parseFloat(canvas.style.width);
    const box = [column * size, row * size, size, size].map(at => Math.round(at * scale));
    return canvas.getContext('2d').getImageData(...box).data.filter((part, at) => at % 4 === 3 && part > 99).length }"""
SHADE_OF_INK = """(canvas, [row, column, size]) => {
    const { data } = canvas.getContext('2d').getImageData(column * size, row * size, size, size);
    let best = 3;
    for (let at = 3; at < data.length; at += 4) if (data[at] > data[best]) best = at;
    return data[best] < 99 ? null : data[best - 1] > 128 ? 'white' : 'black' }"""


@pytest.mark.parametrize("count", [4, 11, 12, 13, 20, 24])
def test_weights_from_a_twentieth_on_have_their_number_in_the_cell(show, count):
    weights = torch.full((count, count), 0.02)
    weights[:, 0] = 0.05
    weights[:, 1] = 1 - 0.05 - 0.02 * (count - 2)
    names = [[f"{letter}{i}" for i in range(count)] for letter in "qk"]
    page = show(AttentionView(AttentionMap(weights.expand(1, 2, -1, -1), *names)))
    ink = page.locator(".stage .ink")
    size = ink.bounding_box()["width"] / count
    written = [ink.evaluate(COUNT_INK, [1, column, size]) > 4 for column in range(count)]
    assert written == [True, True] + [False] * (count - 2), f"cells of {size} pixels"
    assert size == 28 or count > 17


def test_cells_of_another_width_keep_their_numbers(show, page):
    """Cells become narrower with the window, and their numbers with them."""
    show(AttentionView(random(1, 2, 12, 12)))
    script = "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"
    for width in (1300, 900, 700, 500, 420, 380):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        count = page.locator(".stage .ink").evaluate(f"{script}.filter(part => part > 99).length")
        assert count > 100, width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_faded_numbers_stay_readable(show, page, scheme):
    """Cells outside of a locked row are faded by 55 % of the ground: white on dark violet becomes black on mauve."""
    page.emulate_media(color_scheme=scheme)
    weights = torch.tensor([[0.85, 0.05, 0.1], [0.85, 0.05, 0.1]])
    show(AttentionView(AttentionMap(weights, ["a", "b"], ["c", "d", "e"]), locked=["query", 0]))
    ink = page.locator(".stage .ink")
    shades = [[ink.evaluate(SHADE_OF_INK, [row, column, CELL]) for column in range(3)] for row in range(2)]
    assert shades[0] == ["black", "white", "white"], "yellow, and two dark cells"
    assert shades[1] == (["black", "black", "black"] if scheme == "light" else ["white", "white", "white"])
    page.evaluate("model.set('locked', null)")
    assert ink.evaluate(SHADE_OF_INK, [1, 1, CELL]) == "white", "when nothing is faded"


# ---- The zoom ----

SENTENCE, FRENCH = "The girl washes the red apple and eats it.", "La fille lave la pomme rouge et la mange."


@pytest.fixture(scope="module")
def translator():
    return Translator.pretrained("transformer", "cpu")


@pytest.fixture
def real(translator):
    """A view of the 24 heads of the Transformer, with their roles, and the real vectors of encoder 1.3."""
    maps = [translator.attend(SENTENCE, FRENCH, kind) for kind in ("encoder", "causal", "cross")]
    return AttentionView(*maps, layer=1, head=3, roles=read_roles(), translator=translator)


def crumbs(page):
    """The trail, with a star at the current level."""
    script = "nodes => nodes.map(node => (node.getAttribute('aria-current') === 'step' ? '*' : '') + node.textContent)"
    return page.locator(".trail button").evaluate_all(script)


def state(page, *names):
    return page.evaluate("names => names.map(name => model.get(name))", list(names))


def test_all_heads_stand_above_the_fold(show, page, real):
    """At 1440 x 900, an output of JupyterLab is about 1050 x 780 pixels."""
    page.set_viewport_size({"width": 1070, "height": 780})
    show(real)
    assert page.locator(".small").count() == 24
    for box in (
        *page.locator(".small").all(),
        page.locator(".looks"),
        page.locator(".stage .map"),
        page.locator(".says"),
    ):
        place = box.bounding_box()
        assert place["y"] + place["height"] <= 780 and place["x"] + place["width"] <= 1070
    assert page.locator(".looks").bounding_box()["y"] < 250, "beside the small maps"
    assert (
        page.get_by_title("layer 1, head 3").first.locator(".caption").inner_text()
        == "1.3 noun of it: 93\u00a0% (because)"
    )
    assert page.get_by_title("layer 0, head 2: article's noun: 97 %").count() == 1


def test_in_a_narrow_frame_a_long_word_below_a_small_map_is_seen(show, page, real):
    """A frame of a lesson: "(because)" is wider than its column, and the room beside it is free."""
    page.set_viewport_size({"width": 708, "height": 900})
    show(real)
    caption = page.get_by_title("layer 1, head 3").first.locator(".caption")
    word, box = "node => node.scrollWidth", caption.bounding_box()
    assert caption.evaluate("node => getComputedStyle(node).overflowX") == "visible"
    groups = [group.bounding_box() for group in page.locator(".overview .group").all()]
    edge = next(group["x"] + group["width"] for group in groups if group["x"] <= box["x"] < group["x"] + group["width"])
    assert box["width"] < caption.evaluate(word) and box["x"] + caption.evaluate(word) <= edge


def test_the_frame_of_the_chosen_small_map_is_even(show, real):
    page = show(real)
    small = page.get_by_title("layer 1, head 3").first
    frame = "node => getComputedStyle(node).boxShadow"
    assert small.evaluate(frame) == "none" and small.locator("canvas").evaluate(frame).endswith("0px 0px 0px 3px")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_book_all_heads_are_seen_in_groups_beside_each_other(show, page, real, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 818, "height": 900})
    show(real)
    groups = [group.bounding_box() for group in page.locator(".overview .group").all()]
    assert len({box["y"] for box in groups}) == 1 and len({box["x"] for box in groups}) == 3
    maps = [canvas.bounding_box() for canvas in page.locator(".small canvas").all()]
    assert len(maps) == 24 and all(box["width"] == box["height"] == 56 for box in maps)
    tops = [[box["y"] for box in maps[at : at + 4]] for at in range(0, 24, 4)]
    assert all(max(row) - min(row) < 1 for row in tops), "a row for each layer"
    assert max(box["y"] + box["height"] for box in groups) < page.locator(".looks").bounding_box()["y"]
    assert page.evaluate(CUT) == [], "no name of a head is cut off"
    assert page.locator("[aria-expanded]").count() == 0, "nothing is folded"
    page.get_by_role("slider", name="causal").locator(".small").nth(5).click()
    assert state(page, "kind", "layer", "head") == ["causal", 1, 1]


def test_on_a_phone_folded_groups_say_that_they_are_folded(show, page, real):
    page.set_viewport_size({"width": 390, "height": 900})
    show(real)
    kinds = page.locator(".overview .kind")
    signs = "nodes => nodes.map(node => getComputedStyle(node, '::before').content)"
    expanded = "nodes => nodes.map(node => node.getAttribute('aria-expanded'))"
    assert kinds.evaluate_all(signs) == ['"▾"', '"▸"', '"▸"']
    assert kinds.evaluate_all(expanded) == ["true", "false", "false"]
    page.get_by_label("cross attention").click()
    assert kinds.evaluate_all(expanded) == ["false", "false", "true"]
    assert [grid.is_visible() for grid in page.locator(".every").all()] == [False, False, True]
    show(AttentionView(cross()))
    assert page.locator("[aria-expanded]").count() == 0, "one kind is never folded"


def test_pointing_at_a_small_map_previews_its_head(show, real):
    page = show(real)
    title = page.locator(".stage .map figcaption")
    assert title.inner_text() == "layer 1, head 3 · noun of it: 93\u00a0% (because)"
    token(page, 0, 8).click()
    page.get_by_role("slider", name="encoder").locator(".small").nth(6).hover()
    assert title.inner_text() == "layer 1, head 2" and said(page).startswith("it looks at ")
    page.get_by_role("slider", name="cross").locator(".small").nth(2).hover()
    assert title.inner_text() == "layer 0, head 2 · article's noun: 97\u00a0%"
    assert token(page, 0, 1).inner_text() == "fille"
    assert state(page, "kind", "layer", "head", "locked") == ["encoder", 1, 3, ["query", 8]], "nothing was chosen"
    page.mouse.move(900, 1000)
    assert title.inner_text() == "layer 1, head 3 · noun of it: 93\u00a0% (because)" and said(page).startswith(
        "it looks at "
    )
    page.get_by_role("slider", name="cross").locator(".small").nth(2).click()
    assert state(page, "kind", "layer", "head", "locked") == ["cross", 0, 2, None]


def test_in_and_out_by_keys(show, page, real):
    """Enter keeps, and Enter again goes in; Escape frees, and then goes back."""
    page.emulate_media(reduced_motion="reduce")
    show(real)
    assert crumbs(page) == ["*all heads", "encoder 1.3", "one cell"]
    grid = page.get_by_role("slider", name="encoder")
    grid.press("Enter")
    assert state(page, "zoom") == ["head"] and crumbs(page)[1][0] == "*" and grid.count() == 0
    assert page.evaluate("document.activeElement.closest('.looks') !== null"), "the focus goes with the zoom"
    page.keyboard.press("Tab")
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert state(page, "zoom", "locked") == ["head", ["pair", 1, 1]] and crumbs(page)[2] == "girl → girl"
    page.keyboard.press("Enter")
    assert state(page, "zoom", "locked") == ["cell", ["pair", 1, 1]]
    assert crumbs(page) == ["all heads", "encoder 1.3", "*girl → girl"]
    for zoom, locked in (("head", ["pair", 1, 1]), ("head", None), ("heads", None), ("heads", None)):
        page.keyboard.press("Escape")
        assert state(page, "zoom", "locked") == [zoom, locked]
    assert page.evaluate("document.activeElement.closest('.overview') !== null")
    page.keyboard.press("Enter")
    page.keyboard.press("Backspace")
    assert state(page, "zoom") == ["heads"]


@pytest.mark.motion
def test_in_and_out_by_mouse(show, real):
    page = show(real)
    page.get_by_role("slider", name="encoder").locator(".small").nth(1).dblclick()
    assert state(page, "zoom", "head", "layer") == ["head", 1, 0]
    assert page.evaluate("document.getAnimations().map(one => one.effect.getTiming().duration)") == [300]
    page.get_by_label("zoom to all heads").click()
    page.get_by_role("slider", name="encoder").locator(".small").nth(7).click()
    token(page, 0, 8).click()
    page.get_by_label("zoom to it → apple").click()
    assert state(page, "zoom", "locked") == ["cell", ["pair", 8, 5]], "the largest weight of the locked row"
    page.get_by_label("zoom to encoder 1.3").click()
    assert state(page, "zoom") == ["head"]
    page.evaluate("Promise.all(document.getAnimations().map(one => one.finished))")
    cells(page).dblclick(position={"x": 1.5 * 36, "y": 0.5 * 36})
    assert state(page, "zoom", "locked") == ["cell", ["pair", 0, 1]]
    page.evaluate("model.set('zoom', 'heads')")
    assert page.locator(".overview").is_visible(), "as Python, or a link, may set it"


TITLES = """(body, [row, rows, columns]) => { const box = body.getBoundingClientRect();
    return Array.from({ length: columns }, (_, column) => {
        const [x, y] = [(column + 0.5) / columns, (row + 0.5) / rows];
        const place = { clientX: box.left + x * box.width, clientY: box.top + y * box.height };
        body.dispatchEvent(new PointerEvent('pointermove', place));
        return body.title }) }"""


def strip(page, name):
    """The numbers in the tooltips of a strip of the arithmetic."""
    row = page.locator(".stage-of-cell .map").filter(has=page.locator(".rows .label", has_text=name)).first
    labels, columns = row.locator(".rows .label").all_inner_texts(), {"score": 11}.get(name, 32)
    titles = row.locator(".body").evaluate(TITLES, [labels.index(name), len(labels), columns])
    return torch.tensor([float(title.rpartition(": ")[2].replace("−", "-")) for title in titles])


def test_the_arithmetic_of_a_cell_is_that_of_the_model(show, real):
    real.locked, real.zoom = ["pair", 8, 5], "cell"
    page = show(real)
    queries, keys, values = (part[1, 3] for part in real._vectors["encoder"])
    close = {"atol": 0.0051, "rtol": 0.06}  # tooltips have two decimals, small ones two digits
    torch.testing.assert_close(strip(page, "q of it"), queries[8], **close)
    torch.testing.assert_close(strip(page, "k of apple"), keys[5], **close)
    torch.testing.assert_close(strip(page, "products"), queries[8] * keys[5], **close)
    scores = keys @ queries[8] / 32**0.5
    torch.testing.assert_close(strip(page, "score"), scores, **close)
    weight = float(scores.softmax(0)[5])
    torch.testing.assert_close(strip(page, f"{weight:.2f} · v of apple"), weight * values[5], **close)
    torch.testing.assert_close(strip(page, "context of it"), scores.softmax(0) @ values, **close)
    text = page.locator(".cell-stages").inner_text()
    product, score = float(queries[8] @ keys[5]), float(scores[5])
    assert f"score = {product:.2f} / √32 = {score:.2f}" in text and f"over 11 keys) = {weight:.2f}" in text
    assert said(page).startswith(f"it gives apple the score {score:.2f} and the weight {weight:.2f}.")
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowLeft")
    assert state(page, "locked") == [["pair", 8, 4]] and crumbs(page)[2] == "*it → red"
    assert page.evaluate("document.activeElement.getAttribute('role')") == "application"


def test_a_page_has_the_arithmetic_of_the_stored_head_only(show, real):
    page = show(real)
    assert len(crumbs(page)) == 3
    page.get_by_role("slider", name="encoder").press("ArrowLeft")
    assert crumbs(page) == ["*all heads", "encoder 1.2"], "no vectors of this head"
    page.evaluate("model.set('head', 3)")
    assert len(crumbs(page)) == 3


def test_an_answer_that_comes_later(show, real):
    """As in JupyterLab: the view asks by its zoom, waits, and draws what arrives in `steps`."""
    real.zoom = "cell"
    page = show(real)
    page.evaluate("window.answer = model.get('steps'); model.set('data', {...model.get('data'), asks: true})")
    page.evaluate("model.set('steps', {})")
    assert page.locator(".stage").inner_text() == "The vectors of this head are being computed."
    page.evaluate("model.set('steps', {asked: {kind: 'encoder', layer: 1, head: 3}, problem: 'no such head'})")
    assert page.locator(".stage").inner_text() == "no such head"
    page.evaluate("model.set('steps', answer)")
    assert page.locator(".stage-of-cell").count() == 5
    page.evaluate("model.set('head', 0)")
    assert page.locator(".stage").inner_text() == "The vectors of this head are being computed."


# ---- Several heads ----


def tones(page, group="all"):
    """Of each colour, the lines as (query, key)."""
    script = """(lines, group) => [...document.querySelectorAll(`.looks .${group} line`)].map(line =>
        [line.getAttribute('class'), Number(line.getAttribute('y1')), Number(line.getAttribute('y2'))])"""
    found = {}
    for tone, start, end in page.locator(".looks").evaluate(script, group):
        found.setdefault(tone, set()).add((int(start // CELL), int(end // CELL)))
    return found


def test_heads_are_overlaid_in_colours(show):
    page = show(AttentionView(cross(), threshold=0.3))
    hint = page.get_by_text("Press more small maps; by keys, arrows go past and Enter adds a head.")
    assert not hint.is_visible()
    page.get_by_label("compare heads").click()
    assert state(page, "overlay") == [[[0, 0]]] and hint.is_visible()
    heads(page).press("ArrowRight")
    assert crumbs(page)[1] == "cross 0.0", "the one that is drawn"
    page.get_by_title("layer 0, head 1").click()
    assert state(page, "overlay") == [[[0, 0], [0, 1]]]
    assert tones(page) == {"tone0": {(0, 0), (1, 3), (2, 1)}, "tone1": {(0, 3), (1, 0), (2, 1)}}
    assert page.locator(".pictures .map figcaption").all_inner_texts() == [" head 0.0", " head 0.1"], "side by side"
    page.mouse.move(900, 1300)
    token(page, 0, 1).hover()
    assert page.locator(".says > div").nth(1).locator("div div").all_inner_texts() == [
        " 0.0: mange looks at . 0.40, she 0.20, eats 0.20, it 0.20.",
        " 0.1: mange looks at she 0.91, eats 0.05, it 0.04, and 1 other 0.00.",
    ]
    assert tones(page, "lit") == {"tone0": {(1, 3)}, "tone1": {(1, 0)}}
    heads(page).press("ArrowLeft")
    heads(page).press("ArrowDown")
    heads(page).press("ArrowRight")
    assert state(page, "overlay") == [[[0, 0], [0, 1]]], "the arrow keys go past"
    heads(page).press(" ")
    assert state(page, "overlay") == [[[0, 0], [0, 1], [1, 1]]] and len(tones(page)) == 2, "0.25 is below the threshold"
    heads(page).press(" ")
    assert state(page, "overlay") == [[[0, 0], [0, 1]]], "the same head again goes"
    page.get_by_label("compare heads").click()
    assert state(page, "overlay") == [[]] and page.locator(".pictures").count() == 0
    page.evaluate("model.set('overlay', [[0, 0], [1, 0], [1, 1]])")
    assert page.get_by_label("compare heads").get_attribute("aria-pressed") == "true"


def test_a_comparison_goes_on_in_another_kind(show):
    page = show(AttentionView(cross(), causal()))
    page.get_by_label("compare heads").click()
    page.locator(".kind", has_text="causal").click()
    assert state(page, "kind", "overlay") == ["causal", [[0, 0]]]
    assert page.get_by_label("compare heads").get_attribute("aria-pressed") == "true"


def test_the_names_of_roles_are_explained(show, real):
    page = show(real)
    legend = page.locator(".legend").all_inner_texts()
    assert any("AER, the alignment error rate" in text and "noun of it: how often" in text for text in legend)
    assert any("others before it, in sentences with “because”" in text for text in legend), "what (because) means"
    assert any("how often an article looks most at its noun" in text for text in legend)
    page = show(AttentionView(cross(), roles={("cross", 0, 0): "aligns: AER 0.19"}))
    legend = " ".join(page.locator(".legend").all_inner_texts())
    assert "AER, the" in legend and "noun of it" not in legend


def test_no_barriers_at_any_zoom(show, page, real):
    page.set_viewport_size({"width": 320, "height": 900})
    real.locked = ["pair", 8, 5]
    show(real)
    page.evaluate(AXE)
    several = "'overlay', [[1, 3], [0, 1], [0, 2], [1, 0], [0, 3]]"
    for change in ("'zoom', 'head'", "'zoom', 'cell'", "'zoom', 'heads'", several):
        page.evaluate(f"model.set({change})")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(FIND_BARRIERS)[1] == []
        assert page.evaluate(SOON_FITS), change
