"""SoftmaxView: its weights are those of the package, or of the two wrong ways to mask; wrong input is refused."""

import math

import pytest
import torch
from views.refusals import keeps, refuses

from seqlearn.nn.masking import masked_softmax
from seqlearn.views import SoftmaxView
from seqlearn.views.softmax.softmax_view import MASKINGS


def view(masking=MASKINGS[0]):
    return SoftmaxView(
        torch.tensor([2.0, 1.0, 3.0]), ["the", "apple", "<pad>"], torch.tensor([1, 1, 0]).bool(), masking
    )


def test_the_weights_by_hand():
    """e^2, e^1 and e^3, over the sum of those that count."""
    e = math.e
    hand = {
        MASKINGS[0]: [e / (e + 1), 1 / (e + 1), 0],
        MASKINGS[1]: [e**2 / (e**2 + e + 1), e / (e**2 + e + 1), 1 / (e**2 + e + 1)],
        MASKINGS[2]: [e / (e + 1 + e**2), 1 / (e + 1 + e**2), 0],
    }
    for masking, weights in hand.items():
        assert view(masking).weights().tolist() == pytest.approx(weights)


def test_the_right_way_is_the_masked_softmax_of_the_package():
    scores, mask = torch.randn(6).double() * 3, torch.tensor([1, 0, 1, 1, 0, 1]).bool()
    torch.testing.assert_close(
        SoftmaxView(scores, mask=mask).weights(), masked_softmax(scores[None], mask[None])[0], atol=1e-5, rtol=1e-5
    )
    assert SoftmaxView(scores, mask=torch.zeros(6).bool()).weights().tolist() == [0] * 6


def test_a_change_in_the_browser_changes_the_weights():
    shown = view()
    shown.scores, shown.mask = [0.0, 0.0, 0.0], [True, True, True]
    assert shown.weights().tolist() == pytest.approx([1 / 3] * 3)
    shown.masking = MASKINGS[2]
    assert repr(shown) == "SoftmaxView(3 keys, 0 masked, softmax, then weight 0)"


def test_without_tokens_and_mask():
    shown = SoftmaxView(torch.tensor([7.25, -1.0]))
    assert (shown.scores, shown.mask, shown.data["tokens"]) == ([7.25, -1.0], [True, True], ["k0", "k1"])
    assert shown.data["end"] == 8, "the sliders reach every score"


test_one_sentence_for_what_is_wrong = refuses(
    SoftmaxView,
    [
        ((torch.ones(2, 2),), "scores have 1 axes"),
        ((torch.tensor([1.0, math.nan]),), "NaN"),
        ((torch.ones(2), ["a"]), "1 tokens do not fit 2"),
        ((torch.ones(2), None, torch.ones(3).bool()), r"the mask of 2 scores is bool \(2,\), not torch.bool \(3,\)"),
        ((torch.ones(2), None, torch.ones(2)), "not torch.float32"),
    ],
)


test_what_cannot_be_chosen = keeps(
    lambda: view(),
    [("masking", "none", "masking"), ("scores", [1.0], "scores"), ("mask", [True] * 4, "mask")],
)


def test_the_title_of_a_page_names_the_keys():
    assert view().title() == "Scores become attention weights: the apple <pad>"
