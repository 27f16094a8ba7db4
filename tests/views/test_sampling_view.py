"""SamplingView: its distribution is that of `next_distribution`, which a slow loop checks; wrong input is refused."""

import itertools
import math

import matplotlib
import pytest
import torch
import traitlets

from seqlearn.search.sampling import next_distribution
from seqlearn.views import SamplingView
from seqlearn.views.shared.packing import unpack

matplotlib.use("agg")
WORDS = ["le", "la", "un", "<eos>"]
LOGITS = torch.tensor([2.0, 4.0, 1.0, 1.0]).log()
SEEDED = torch.Generator().manual_seed(13)
MANY = {  # names -> logits
    "any": 3 * torch.randn(30, generator=SEEDED),
    "float64": 3 * torch.randn(30, generator=SEEDED, dtype=torch.float64),
    "ties": torch.randint(3, (30,), generator=SEEDED).float(),
    "all equal": torch.zeros(7),
    "one": torch.ones(1),
    "far apart": torch.tensor([900.0, -900.0, 899.5, 0.0, 899.0]),
}
# No top_p here is a sum of equal probabilities: there, rounding decides.
SETTINGS = list(itertools.product((0.2, 0.5, 1.0, 1.7, 4.0), (None, 1, 3, 10, 99), (None, 0.07, 0.31, 0.87)))


def by_definition(logits, temperature, top_k, top_p):
    """The distribution, written from the papers: one token after the other, with nothing of the package."""
    top = max(logits)
    powers = [math.exp((logit - top) / temperature) for logit in logits]
    probs = [power / math.fsum(powers) for power in powers]
    order = sorted(range(len(probs)), key=lambda token: (-probs[token], token))
    kept = order if top_k is None else order[:top_k]
    if top_p is not None:
        of_kept, nucleus = math.fsum(probs[token] for token in kept), []
        for token in kept:
            nucleus.append(token)
            if math.fsum(probs[one] for one in nucleus) / of_kept >= top_p:
                break
        kept = nucleus
    of_kept = math.fsum(probs[token] for token in kept)
    return [probs[token] / of_kept if token in kept else 0.0 for token in range(len(probs))]


def view(**settings):
    return SamplingView(LOGITS, WORDS, **settings)


@pytest.mark.parametrize(
    ("settings", "hand"),
    [
        ({}, [2 / 8, 4 / 8, 1 / 8, 1 / 8]),
        ({"temperature": 0.5}, [4 / 22, 16 / 22, 1 / 22, 1 / 22]),
        ({"top_k": 2}, [2 / 6, 4 / 6, 0, 0]),
        ({"top_k": 3}, [2 / 7, 4 / 7, 1 / 7, 0]),  # of two equal ones, the smaller id
        ({"top_p": 0.6}, [2 / 6, 4 / 6, 0, 0]),
        ({"top_k": 3, "top_p": 0.8}, [2 / 6, 4 / 6, 0, 0]),  # top-p alone would leave three
        ({"temperature": 0.5, "top_p": 0.7}, [0, 1, 0, 0]),
    ],
)
def test_the_distribution_by_hand(settings, hand):
    assert view(**settings).probabilities().tolist() == pytest.approx(hand)
    assert by_definition(LOGITS.tolist(), *({"temperature": 1, "top_k": None, "top_p": None} | settings).values()) == (
        pytest.approx(hand)
    )


def test_a_sum_of_exactly_p_is_enough():
    """A quarter has no rounding error: two of four are the smallest set with a half."""
    shown = SamplingView(torch.zeros(4), WORDS, top_p=0.5)
    assert shown.probabilities().tolist() == by_definition([0.0] * 4, 1.0, None, 0.5) == [0.5, 0.5, 0, 0]


@pytest.mark.parametrize("logits", MANY.values(), ids=MANY)
def test_the_distribution_is_that_of_the_definition(logits):
    """Also after a slider was moved in the browser; the sum is 1, and no token overtakes another one."""
    shown = SamplingView(logits, range(len(logits)))
    for temperature, top_k, top_p in SETTINGS:
        shown.temperature, shown.top_k, shown.top_p = temperature, top_k, top_p
        probs = shown.probabilities()
        assert probs.tolist() == pytest.approx(by_definition(logits.tolist(), temperature, top_k, top_p), abs=1e-12)
        assert float(probs.sum()) == pytest.approx(1)
        ranked = probs[logits.argsort(descending=True, stable=True)]
        assert (ranked[1:] <= ranked[:-1]).all()


def test_any_precision_arrives_as_it_is():
    """So that browser and Python compute from the same numbers."""
    exact = torch.tensor([0.1, 0.1 + 1e-12, 0.0], dtype=torch.float64)
    assert unpack(SamplingView(exact, "abc").data["logits"]).tolist() == exact.tolist()
    assert SamplingView(exact, "abc", top_k=1).probabilities().tolist() == [0, 1, 0]
    half = torch.tensor([0.1, 3.0], dtype=torch.bfloat16, requires_grad=True)
    assert unpack(SamplingView(half, "ab").data["logits"]).tolist() == half.tolist()


def test_the_likeliest_tokens_are_shown_first():
    assert view(shown=3).data["shown"] == [1, 0, 2]
    assert view().data["shown"] == [1, 0, 2, 3], "of two equal ones, the smaller id"
    assert SamplingView(torch.arange(40.0), range(40)).data["shown"] == list(range(39, 24, -1))


def test_other_logits_in_the_same_view():
    shown = view(temperature=2, top_k=2)
    shown.update(torch.tensor([0.0, 1.0, 2.0]), ["a", "b", 7], shown=2)
    assert shown.data["tokens"] == ["a", "b", "7"] and shown.data["shown"] == [2, 1]
    expected = next_distribution(torch.tensor([0.0, 1.0, 2.0]), 2.0, 2)
    assert shown.probabilities().tolist() == expected.tolist()
    with pytest.raises(ValueError, match="do not fit"):
        shown.update(torch.zeros(2), ["a"])
    assert shown.data["tokens"] == ["a", "b", "7"], "as it was"


def test_what_is_said_of_it_is_the_same_in_every_run():
    assert repr(view()) == "SamplingView(4 tokens, temperature 1)"
    assert repr(view(temperature=0.5, top_k=3, top_p=0.9)) == (
        "SamplingView(4 tokens, temperature 0.5, top-k 3, top-p 0.9)"
    )
    assert view().title() == "How the next token is drawn: 4 tokens, temperature 1"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((torch.ones(2, 2), "ab"), "logits have 1 axes"),
        ((torch.ones(0), ""), "logits have 1 axes, none of them empty"),
        ((torch.tensor([1.0, math.nan]), "ab"), "NaN"),
        ((torch.tensor([1.0, -math.inf]), "ab"), "infinity"),
        ((torch.ones(2), "abc"), "3 tokens do not fit 2 logits: each token has one"),
    ],
)
def test_one_sentence_for_what_is_wrong(arguments, sentence, as_a_user):
    with pytest.raises(ValueError, match=sentence):
        SamplingView(*arguments)


def test_at_least_one_token_is_shown():
    with pytest.raises(ValueError, match="at least 1 token is shown, not 0"):
        view(shown=0)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("temperature", 0.0, "a temperature is above 0, not 0.0; for the likeliest token, use greedy search"),
        ("temperature", -1.0, "above 0, not -1.0"),
        ("temperature", math.inf, "temperature is finite, not inf"),
        ("temperature", math.nan, "temperature is finite, not nan"),
        ("top_k", 0, "top_k is at least 1, not 0"),
        ("top_k", 1.5, "int"),
        ("top_p", 0.0, "top_p is above 0 and at most 1, not 0.0"),
        ("top_p", 1.1, "top_p is above 0 and at most 1, not 1.1"),
    ],
)
def test_what_cannot_be_chosen(name, value, sentence, as_a_user):
    shown = view(temperature=2, top_k=2, top_p=0.5)
    for choose in (lambda: setattr(shown, name, value), lambda: view(**{name: value})):
        with pytest.raises(traitlets.TraitError, match=sentence):
            choose()
    assert (shown.temperature, shown.top_k, shown.top_p) == (2, 2, 0.5)


def bars_of(ax):
    """The widths of the bars, of the outlines, and of the hatched bars with their rows."""
    probabilities, outlines, *hatched = ax.containers
    return (
        [bar.get_width() for bar in probabilities],
        [bar.get_width() for bar in outlines],
        {round(bar.get_y() + 0.4): bar.get_width() for bars in hatched for bar in bars if bar.get_hatch()},
    )


def test_the_picture():
    """A bar for each token that is shown and one for the rest; outlines of what was; what was removed is hatched."""
    figure = view(shown=2, top_k=1).figure()
    (ax,) = figure.axes
    bars, outlines, hatched = bars_of(ax)
    assert bars == pytest.approx([1, 0, 0]) and outlines == pytest.approx([4 / 8, 2 / 8, 2 / 8])
    assert hatched == pytest.approx({1: 2 / 8, 2: 2 / 8})
    assert [label.get_text() for label in ax.get_yticklabels()] == ["la", "le", "the other 2 together"]
    assert [text.get_text() for text in ax.texts] == ["1.000", "removed", "removed"]
    assert ax.get_title("left") == "1 of 4 tokens is left: “la”, with 1.000\ntemperature 1, top-k 1"
    assert ax.get_xticks()[-1] == 1, "the axis has room for the longest bar"
    (legend,) = figure.legends
    outline = "probability at temperature 1, nothing removed"
    assert [text.get_text() for text in legend.get_texts()] == ["probability", outline, "removed"]


def test_the_picture_with_nothing_removed():
    figure = view(shown=3).figure()
    (ax,), (legend,) = figure.axes, figure.legends
    assert len(legend.get_texts()) == 2
    bars, outlines, hatched = bars_of(ax)
    assert bars == outlines == pytest.approx([4 / 8, 2 / 8, 1 / 8, 1 / 8]) and hatched == {}
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == "the other token"
    assert ax.get_title("left") == "4 of 4 tokens are left; the likeliest, “la”, has 0.500\ntemperature 1"
    (ax,) = SamplingView(torch.zeros(4), WORDS).figure().axes
    assert ax.get_xticks()[-1] == 0.5 and len(ax.get_yticklabels()) == 4, "no bar for no token"


def test_a_small_probability_is_not_written_as_0():
    (ax,) = SamplingView(torch.tensor([9.0, 0.0]), "ab").figure().axes
    assert [text.get_text() for text in ax.texts] == ["1.000", "<0.001"]
