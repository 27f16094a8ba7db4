"""SoftmaxView in a browser: the attention weights that JavaScript computes are those of Python, whatever is chosen."""

from pathlib import Path
from urllib.parse import urlencode

import pytest
import torch
from browser.settling import settled

from seqlearn.views import SoftmaxView
from seqlearn.views.softmax.softmax_view import MASKINGS

SCORES, TOKENS = torch.tensor([2.0, 1.0, 3.0, -0.5]), ["the", "red", "apple", "<pad>"]
NUMBERS = "nodes => nodes.map(node => Number(node.textContent))"


def weights(page):
    return page.locator(".number").evaluate_all(NUMBERS)


@pytest.mark.parametrize("masking", MASKINGS)
@pytest.mark.parametrize("mask", [[1, 1, 1, 1], [1, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0]], ids=str)
def test_the_weights_are_those_of_python(show, masking, mask):
    view = SoftmaxView(SCORES, TOKENS, torch.tensor(mask).bool(), masking)
    page = show(view)
    assert weights(page) == pytest.approx(view.weights().tolist(), abs=6e-4)
    assert f"The weights sum to {view.weights().sum():.3f}." in page.locator(".total").inner_text()
    widths = page.locator(".track .weight").evaluate_all("nodes => nodes.map(node => parseFloat(node.style.width))")
    assert widths == pytest.approx((100 * view.weights()).tolist(), abs=1e-3)


def test_a_slider_and_a_switch(show):
    view = SoftmaxView(SCORES, TOKENS)
    page = show(view)
    page.get_by_label("score of red").fill("5")
    page.get_by_label("<pad> may be attended").uncheck()
    assert page.evaluate("[model.get('scores'), model.get('mask')]") == [[2, 5, 3, -0.5], [True, True, True, False]]
    view.scores, view.mask = [2, 5, 3, -0.5], [True, True, True, False]
    assert weights(page) == pytest.approx(view.weights().tolist(), abs=6e-4)
    page.get_by_role("radio", name=MASKINGS[1]).click()
    view.masking = MASKINGS[1]
    assert weights(page) == pytest.approx(view.weights().tolist(), abs=6e-4)


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1024, 768)])
def test_all_ways_to_mask_are_in_sight(show, page, width, height):
    """So is what they change; a press moves none of them. They are one stop of the Tab key, a link keeps the choice,
    and a picture shows it."""
    page.set_viewport_size({"width": width, "height": height})
    show(SoftmaxView(SCORES, TOKENS, torch.tensor([1, 1, 1, 0]).bool()))
    ways, address = page.get_by_role("radiogroup", name="how to mask").get_by_role("radio"), page.url
    places = [way.bounding_box() for way in ways.all()]
    page.keyboard.press("Tab")
    for key, at in (("ArrowRight", 1), ("ArrowDown", 2), ("Home", 0), ("End", 2), ("ArrowLeft", 1)):
        page.keyboard.press(key)
        assert page.evaluate("model.get('masking')") == MASKINGS[at], key
        assert [way.get_attribute("aria-checked") for way in ways.all()] == [str(i == at).lower() for i in range(3)]
        assert [way.get_attribute("tabindex") for way in ways.all()] == ["0" if i == at else "-1" for i in range(3)]
        assert [way.bounding_box() for way in ways.all()] == places
        total = page.locator(".total").bounding_box()
        assert total["y"] + total["height"] < height and page.evaluate("scrollY") == 0
    with page.expect_download() as download:
        page.get_by_role("button", name="save picture as SVG").click()
    assert Path(download.value.path()).read_text("utf-8").count('role="radio"') == 3
    page.goto(f"{address}#{urlencode({'view': 'SoftmaxView-1', 'masking': MASKINGS[2], 'link': 1})}")
    page.reload()
    assert ways.nth(2).get_attribute("aria-checked") == "true" and page.locator(".linked").is_hidden()


def test_a_masked_row_shows_the_score_that_counts(show):
    page = show(SoftmaxView(SCORES, TOKENS, torch.tensor([1, 1, 1, 0]).bool()))
    written, slider = page.locator("output"), page.get_by_label("score of <pad>")
    for masking, counts in zip(MASKINGS, ("−∞", "0", None), strict=True):
        page.get_by_role("radio", name=masking).click()
        assert written.nth(3).inner_text() == (f"−0.5 → {counts}" if counts else "−0.5"), masking
        assert written.locator("del").all_inner_texts() == (["−0.5"] if counts else [])
        assert slider.get_attribute("aria-valuetext") == (f"−0.5, counts as {counts}" if counts else "−0.5")
        assert slider.evaluate("node => getComputedStyle(node).opacity") == ("0.45" if counts else "1")


def test_the_scores_are_put_back(show):
    page = show(SoftmaxView(SCORES, TOKENS))
    back = page.get_by_role("button", name="put all back: scores and ticks")
    assert back.get_attribute("aria-disabled") == "true"
    before = weights(page)
    page.get_by_label("score of red").fill("5")
    assert back.get_attribute("aria-disabled") == "false" and weights(page) != before
    back.click()
    assert weights(page) == before and page.evaluate("model.get('scores')") == SCORES.tolist()
    assert back.get_attribute("aria-disabled") == "true"
    page.get_by_label("red may be attended").uncheck()
    assert back.get_attribute("aria-disabled") == "false"
    back.click()
    assert weights(page) == before and page.get_by_label("red may be attended").is_checked()


def test_the_powers_stand_between_scores_and_weights(show, page):
    """Where there is room; their sum is the divisor, and a power that no number holds is not computed."""
    show(SoftmaxView(SCORES, TOKENS, torch.tensor([1, 1, 1, 0]).bool()))
    powers, total = page.locator(".row:not(.titles) .power"), page.locator(".total")
    assert powers.all_inner_texts() == ["7.39", "2.72", "20.09", "0"]
    assert total.inner_text() == "The column e^score sums to 30.19. The weights sum to 1.000."
    tops = [node.bounding_box() for node in (page.locator("output").first, powers.first, page.locator(".track").first)]
    assert sorted(tops, key=lambda box: box["x"]) == tops and max(box["y"] for box in tops) < tops[0]["y"] + 20
    page.get_by_role("radio", name=MASKINGS[1]).click()
    assert powers.last.inner_text() == "1"
    page.set_viewport_size({"width": 390, "height": 800})
    assert not powers.first.is_visible() and total.inner_text().startswith("The weights sum")
    height = total.bounding_box()["height"]
    for word in ("the", "red", "apple"):
        page.get_by_label(f"{word} may be attended").uncheck()
        assert total.bounding_box()["height"] == height
    page.set_viewport_size({"width": 1300, "height": 1400})
    show(SoftmaxView(torch.tensor([902.0, 1.0])))
    assert powers.all_inner_texts() == ["e^902.0", "2.72"] and total.inner_text() == "The weights sum to 1.000."


def test_the_hint_says_which_keys_do_what(show):
    page = show(SoftmaxView(SCORES, TOKENS))
    assert page.locator(".says").inner_text().endswith("the arrow keys change its score, and Tab goes on.")
    slider = page.get_by_label("score of the")
    slider.press("ArrowRight")
    assert page.evaluate("model.get('scores')[0]") == pytest.approx(2.1)


def test_large_scores_do_not_overflow(show):
    page = show(SoftmaxView(torch.tensor([902.0, 901.0, 900.0])))
    page.locator(".track").first.hover()
    assert "e^902.0 / (e^902.0 + e^901.0 + e^900.0) ≈ 0.665." in page.locator(".says").inner_text()
    assert weights(page) == pytest.approx([0.665, 0.245, 0.090], abs=6e-4)


ROW = ".softmax .row:not(.titles)"


@pytest.mark.parametrize(
    ("masking", "masked", "attended"),
    [
        (MASKINGS[0], "its score counts as −∞", "e^2.0 / (e^2.0 + e^1.0 + e^3.0 + e^−∞) ≈ 7.39 / 30.19 ≈ 0.245."),
        (MASKINGS[1], "hides nothing: e^0 is 1", "(e^2.0 + e^1.0 + e^3.0 + e^0.0) ≈ 7.39 / 31.19 ≈ 0.237."),
        (
            MASKINGS[2],
            "got e^(−0.5) / (e^2.0 + e^1.0 + e^3.0 + e^(−0.5)) ≈ 0.61 / 30.8 ≈ 0.020 from the softmax; "
            "then this was set to 0, and no other key got it",
            "≈ 7.39 / 30.8 ≈ 0.240.",
        ),
    ],
)  # fmt: skip
def test_what_is_said_of_a_key(show, masking, masked, attended):
    """With the numbers that are divided; one row is grey, the one that the text is about."""
    page = show(SoftmaxView(SCORES, TOKENS, torch.tensor([1, 1, 1, 0]).bool(), masking))
    said, grey = page.locator(".says"), page.locator(".row.on")
    page.locator(ROW).nth(3).hover()
    assert masked in said.inner_text() and grey.inner_text().startswith("<pad>")
    page.get_by_label("score of the").focus()
    assert attended in said.inner_text() and grey.count() == 1 and grey.inner_text().startswith("the")
    page.locator(ROW).nth(1).hover()
    assert "weight of red:" in said.inner_text() and grey.count() == 1
    page.mouse.move(0, 0)
    assert "weight of the:" in said.inner_text(), "the row with the focus of the keyboard"


def test_nothing_may_be_attended(show):
    page = show(SoftmaxView(SCORES, TOKENS, torch.zeros(4).bool()))
    page.locator(ROW).nth(1).hover()
    assert "0 / 0. So the weights are set to 0." in page.locator(".says").inner_text()


@pytest.mark.parametrize(("width", "height"), [(390, 844), (700, 900)])
def test_nothing_moves_when_every_word_is_unticked(show, page, width, height):
    page.set_viewport_size({"width": width, "height": height})
    show(SoftmaxView(SCORES, TOKENS, torch.tensor([1, 1, 1, 0]).bool()))
    places = "[...document.querySelectorAll('.legend, .linking')].map(node => node.getBoundingClientRect().top)"
    before = page.evaluate(places)
    for word in TOKENS[:3]:
        page.get_by_label(f"{word} may be attended").uncheck()
        for way in page.get_by_role("radio").all():
            way.click()
            for row in page.locator(ROW).all():
                row.hover(position={"x": 60, "y": 3})
                assert page.evaluate(places) == before, word


def test_what_is_wrong_is_called_wrong(show):
    page = show(SoftmaxView(SCORES, TOKENS, torch.tensor([1, 1, 1, 0]).bool()))
    ways, wrong = page.get_by_role("radio"), page.locator(".total .wrong")
    assert ways.all_inner_texts() == [MASKINGS[0], *(f"{way} (wrong)" for way in MASKINGS[1:])]
    assert wrong.count() == page.locator(".row.wrong").count() == 0
    ways.nth(1).click()
    assert wrong.inner_text() == "✗ Wrong: masked keys get 0.032."
    assert "<pad>" in page.locator(".row.wrong").inner_text()
    ways.nth(2).click()
    assert wrong.inner_text() == "✗ Wrong: not 1, so 0.020 of the attention is lost."
    page.get_by_label("<pad> may be attended").check()
    assert wrong.count() == 0, "nothing is masked, and all three ways give the same"


@pytest.mark.parametrize("score", [-3.3, 0, 4])
def test_a_slider_is_filled_from_0(show, score):
    """The colour begins in the middle of the slider, and ends under the thumb."""
    page = show(SoftmaxView(torch.tensor([float(score), 7.25])))
    colour = page.get_by_label("score of k0").evaluate(
        "({ style }) => ['--from', '--to'].map(name => style.getPropertyValue(name))"
    )
    shares = [float(end.rsplit("*", 1)[1].strip(" )")) for end in colour]
    assert shares == pytest.approx(sorted([0.5, (score + 8) / 16]))
    assert page.locator(".ends").inner_text().split() == ["−8", "0", "8"]
    assert page.locator("output").all_inner_texts() == [f"{score:.1f}".replace("-", "−"), "7.25"]


def test_a_tap_tells(show, context):
    """A finger leaves the row at once; the text stays, also where another row had the focus."""
    page = show(SoftmaxView(SCORES, TOKENS))
    device = context.new_cdp_session(page)

    def tap(part):
        box = page.locator(part).first.bounding_box()
        point = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        device.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
        device.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        settled(page)

    page.get_by_label("score of apple").focus()
    tap(".track")
    assert "weight of the:" in page.locator(".says").inner_text()


def test_a_small_weight_is_not_written_as_0(show):
    page = show(SoftmaxView(torch.tensor([9.0, 0.0, 5.0]), mask=torch.tensor([1, 1, 0]).bool()))
    assert page.locator(".number").all_inner_texts() == ["1.000", "<0.001", "0.000"]
    page.locator(".softmax .row:not(.titles)").nth(1).hover()
    assert page.locator(".says").inner_text().endswith(" < 0.001.")


def test_a_narrow_page_has_wide_bars(show, page):
    """The weight stands below its score, with a bar nearly as wide as the page."""
    page.set_viewport_size({"width": 390, "height": 800})
    show(SoftmaxView(SCORES, TOKENS))
    track, slider = (
        page.locator(f".softmax .row:not(.titles) {part}").first for part in (".track", "input[type=range]")
    )
    assert track.bounding_box()["width"] > 260 and slider.bounding_box()["width"] > 120
    assert track.bounding_box()["y"] > slider.bounding_box()["y"]
