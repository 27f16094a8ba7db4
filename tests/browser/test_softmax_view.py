"""SoftmaxView in a browser: the attention weights that JavaScript computes are those of Python, whatever is chosen."""

import pytest
import torch

from seqlearn.views import SoftmaxView
from seqlearn.views.softmax.view import MASKINGS

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
    assert weights(page) == pytest.approx([0.665, 0.245, 0.090], abs=6e-4)


@pytest.mark.parametrize(
    ("masking", "said"),
    [
        (MASKINGS[0], "its score counts as −∞"),
        (MASKINGS[1], "e to the 0 is 1"),
        (MASKINGS[2], "then this weight was set to 0, and no other word got it"),
    ],
)
def test_what_is_said_of_a_masked_key(show, masking, said):
    page = show(SoftmaxView(SCORES, TOKENS, torch.tensor([1, 1, 1, 0]).bool(), masking))
    page.locator(".softmax .row:not(.titles)").nth(3).hover()
    assert said in page.locator(".says").inner_text()
    page.get_by_label("score of the").focus()
    page.mouse.move(0, 0)
    page.locator(".softmax .row:not(.titles)").nth(0).hover()
    assert "weight of the: e to the 2.0" in page.locator(".says").inner_text()


def test_a_small_weight_is_not_written_as_0(show):
    page = show(SoftmaxView(torch.tensor([9.0, 0.0, 5.0]), mask=torch.tensor([1, 1, 0]).bool()))
    assert page.locator(".number").all_inner_texts() == ["1.000", "<0.001", "0.000"]
    page.locator(".softmax .row:not(.titles)").nth(1).hover()
    assert page.locator(".says").inner_text().endswith("is <0.001.")


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
