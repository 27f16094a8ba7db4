"""SoftmaxView in a browser: the attention weights that JavaScript computes are those of Python, whatever is chosen."""

import pytest
import torch

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
    page.get_by_label("how to mask").select_option(MASKINGS[1])
    view.masking = MASKINGS[1]
    assert weights(page) == pytest.approx(view.weights().tolist(), abs=6e-4)


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
            "then this weight was set to 0, and no other word got it",
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
    assert "0 / 0, which is no number. So the weights are set to 0." in page.locator(".says").inner_text()


def test_what_is_wrong_is_called_wrong(show):
    page = show(SoftmaxView(SCORES, TOKENS, torch.tensor([1, 1, 1, 0]).bool()))
    ways, wrong = page.get_by_label("how to mask"), page.locator(".total .wrong")
    assert ways.locator("option").all_inner_texts() == [MASKINGS[0], *(f"{way} (wrong)" for way in MASKINGS[1:])]
    assert wrong.count() == page.locator(".row.wrong").count() == 0
    ways.select_option(MASKINGS[1])
    assert wrong.inner_text() == "✗ Wrong: masked keys get 0.032."
    assert "<pad>" in page.locator(".row.wrong").inner_text()
    ways.select_option(MASKINGS[2])
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
        page.wait_for_timeout(50)

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
    page.set_viewport_size({"width": 1300, "height": 1400})
