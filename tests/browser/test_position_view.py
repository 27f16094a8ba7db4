"""PositionView in a browser: a map, a clock and a curve, with mouse, finger and keys."""

import itertools
import math
import re

import matplotlib
import numpy as np
import pytest
import torch
from browser.pointing import cell_of, click, contrast, hover, pixel, positions, relative, result, said, steps
from browser.settling import settled
from playwright.sync_api import expect

from seqlearn.nn.positions import sinusoids
from seqlearn.views import PositionView


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


@pytest.mark.motion
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


@pytest.mark.motion
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
    settled(page)  # drawn anew
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


@pytest.mark.motion
def test_positions_play(show, page):
    """The position moves by itself, until the button stops it, or the last one; the screen reader is spared."""
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
