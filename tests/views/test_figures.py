"""The check of figures finds each fault that was made on purpose, and nothing in a good figure."""

import itertools

import pytest
import torch
from matplotlib import pyplot as plt
from views.samples import PLAIN
from views.test_drawn_texts import FIGURES, history, live

from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.nn.masking import causal_mask
from seqlearn.views import plots, tables
from tools.figures import faults


def good():
    """A figure without a fault: a title, labels, a legend, rotated ticks, a halo, a formula, text out of sight."""
    with plt.style.context("seqlearn.course"):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    left.plot([0.001, 1000], [0, -5e4], label=r"$\sqrt{d_k}$")
    left.set(title="The loss falls", xlabel="epoch", ylabel="loss")
    left.legend()
    for _ in range(2):
        left.text(500, -1e4, "twice")
    left.text(500, -2e4, r"a dollar: \$5")
    left.text(500, -1e4, "out of sight", visible=False)
    left.text(500, -1e4, "glass", alpha=0)
    left.text(2000, 0, "far away", clip_on=True)
    right.plot(range(8))
    right.set_xticks(range(8), [f"token {number}" for number in range(8)], rotation=45, ha="right")
    right.set_title("A second message")
    return figure


@pytest.mark.slow
def test_a_good_figure_has_none_and_stays_as_it_was():
    figure = good()
    for _ in range(3):  # until the layout has settled
        figure.canvas.draw()
    before = figure.canvas.buffer_rgba().tobytes()
    assert faults(figure) == []
    figure.canvas.draw()
    assert figure.canvas.buffer_rgba().tobytes() == before


def no_math(ax):
    ax.set_title("about $x$", parse_math=False)


def power_of_ten(ax):
    ax.plot([0, 1], [1e-9, 2e-9])
    ax.set_ylim(0, 2e-9)


def many_labels(ax):
    ax.set_xticks(range(8), ["a long label"] * 8, rotation=0)


def turned_labels(ax):
    ax.set_xticks([0, 0.05, 7], ["first token", "second token", "third"], rotation=45)


def logarithm(ax):
    ax.set_yscale("log")


def image(ax):
    ax.imshow([[1, 2], [3, 4]])


SPOILED = {
    "raw TeX in a title": (no_math, "'about $x$' shows TeX as it was typed"),
    "raw TeX without dollars": (lambda ax: ax.set_xlabel(r"\mathdefault{3}"), "shows TeX as it was typed"),
    "a lone dollar": (lambda ax: ax.set_xlabel("5 $"), "'5 $' shows TeX"),
    "raw TeX in a legend": (lambda ax: ax.legend(["5 $ a"]), "'5 $ a' shows TeX"),
    "a formula as a tick": (logarithm, "is a tick written as a formula"),
    "a power of ten": (power_of_ten, "'1e−9' beside an axis scales its ticks"),
    "cut off at the right": (lambda ax: ax.set_title("message " * 9, loc="left"), "is cut off at the right edge"),
    "cut off at the left": (lambda ax: ax.figure.text(-0.02, 0.5, "a text"), "'a text' is cut off at the left edge"),
    "cut off above": (lambda ax: ax.figure.text(0.5, 0.99, "a text"), "'a text' is cut off at the upper edge"),
    "cut off below": (lambda ax: ax.figure.text(0.5, -0.02, "a text"), "'a text' is cut off at the lower edge"),
    "cut off by the axes": (lambda ax: ax.text(6.9, 3, "a text", clip_on=True), "is cut off at the right edge"),
    "labels that overlap": (many_labels, "'a long label' overlaps 'a long label'"),
    "turned labels that overlap": (turned_labels, "'first token' overlaps 'second token'"),
    "a text on another": (lambda ax: [ax.text(3, 3, "one"), ax.text(3.1, 3, "other")], "'one' overlaps 'other'"),
    "small letters": (lambda ax: ax.text(1, 5, "small", fontsize=5), "'small' has letters of 6.9 pixels"),
    "too wide": (lambda ax: ax.figure.set_figwidth(12), "the figure is 12.0 in wide"),
    "small in the column": (lambda ax: [ax.figure.set_figwidth(19.2), ax.text(1, 5, "s", fontsize=8)], "of 5.6 pixels"),
    "a grid over an image": (image, "grid lines cross the image under 'A second message'"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPOILED)
def test_each_fault_is_found(name):
    spoil, sentence = SPOILED[name]
    figure = good()
    spoil(figure.axes[1])
    assert sentence in "\n".join(faults(figure))


WORDS = ["the", "little", "cat", "did", "not", "understand", "the", "mathematics", "of", "beautiful", "rivers", "."]
NUMBERS = [str(number) for number in range(12)]
LONG = "The decoder looks at the adjective before the noun, although the sentence has the noun before the adjective"


def attention(queries, keys, layers=1, heads=1, kind="cross"):
    """A map of words, as many as asked for."""
    mask = causal_mask(queries) if kind == "causal" else None
    scores = torch.rand(layers, heads, queries, keys).mul(4)
    weights = (scores if mask is None else scores.masked_fill(~mask, -float("inf"))).softmax(-1)
    tokens = [list(itertools.islice(itertools.cycle(WORDS), count)) for count in (queries, keys)]
    return AttentionMap(weights, *tokens, kind, mask)


def runs(names, groups=8):
    bins = [{"from": 5 * n + 1, "to": 5 * n + 5, "pairs": 100 - n, "bleu": 90.0 - 10 * n} for n in range(groups)]
    return {name: [{"bins": bins}] * 3 for name in names}


ORDINARY = {  # what lessons draw, small and large, with short and long texts
    "heatmap, small": lambda: plots.heatmap(attention(3, 3), title="A map"),
    "heatmap, one key": lambda: plots.heatmap(attention(2, 1), title=LONG),
    "heatmap, links": lambda: plots.heatmap(attention(8, 8), title=LONG, gold=[(1, 2), (3, 4)]),
    "heatmap, causal": lambda: plots.heatmap(attention(12, 12, kind="causal"), title=f"{LONG}\n{LONG}"),
    "heatmap, a paragraph": lambda: plots.heatmap(attention(60, 70)),
    "all_heads, one": lambda: plots.all_heads(attention(5, 5), title=LONG[:50]),
    "all_heads, a layer": lambda: plots.all_heads(attention(12, 10, 1, 4), title=LONG),
    "all_heads, 2 x 4": lambda: plots.all_heads(attention(12, 12, 2, 4), title="Eight heads"),
    "all_heads, 4 x 8": lambda: plots.all_heads(attention(12, 12, 4, 8), title="32 heads"),
    "all_heads, 12 x 12": lambda: plots.all_heads(attention(20, 20, 12, 12), title="144 heads"),
    "all_heads, long sentences": lambda: plots.all_heads(attention(40, 70, 4, 8)),
    "head_shares": lambda: plots.head_shares(dict.fromkeys(WORDS[:6], torch.rand(2, 4)), title="Shares"),
    "head_shares, 4 layers": lambda: plots.head_shares({"one": torch.rand(4, 4), "two": torch.rand(2, 4)}, columns=2),
    "grid, mask": lambda: plots.grid(causal_mask(12), WORDS, WORDS, title=LONG),
    "grid, small mask": lambda: plots.grid(causal_mask(2), ["a", "b"], ["a", "b"], title=LONG),
    "grid, numbers": lambda: plots.grid(torch.randn(12, 12) * 9, NUMBERS, NUMBERS, title="Numbers", label="score"),
    "grid, texts": lambda: plots.grid(torch.rand(4, 8), NUMBERS[:4], NUMBERS[:8], texts=[WORDS[:8]] * 4, title="Words"),
    "grid, texts of a mask": lambda: plots.grid(
        causal_mask(12), NUMBERS, NUMBERS, texts=[WORDS] * 12, words=("a", "b")
    ),
    "grid, NaN": lambda: plots.grid(torch.full((2, 3), float("nan")), NUMBERS[:2], WORDS[:3], title="Nothing"),
    "length_histogram": lambda: plots.length_histogram({"English": range(1, 60), "French": range(5, 40)}, title=LONG),
    "bars": lambda: plots.bars({LONG[:60]: 0.5, "fixed": 0.1, "none": 0.0}, title=LONG, xlabel="share of the cells"),
    "bars of counts": lambda: plots.bars(
        dict(zip(WORDS, range(10**5, 10**6, 10**4), strict=False)), form="{:,}", title="Counts"
    ),
    "diagram": lambda: plots.diagram({"queries": (0, 1), "W_q": (1, 1), "y": (2, 0)}, [("queries", "y")], title=LONG),
    "quality_by_length": lambda: plots.quality_by_length(runs(["attention", "no attention, plain"]), title=LONG),
    "share_by_length": lambda: plots.share_by_length(
        {name: [{"lengths": [2, 4, 8], "right": [1.0, 0.9, 0.2]}] for name in WORDS[:4]}, trained=4, title=LONG
    ),
    "loss_curves": lambda: plots.loss_curves(history()),
    "loss_curves, long": lambda: plots.loss_curves(history(1e-4, 9.0, 40), title=LONG),
    "loss_curves, one epoch": lambda: plots.loss_curves(history(0.31, 0.45, 1)),
    "LivePlot": lambda: live(WORDS),
    "LivePlot, long": lambda: live(WORDS * 9),
    "measured": lambda: tables.measured({name: {"a": 1.5, "b": 2} for name in WORDS}, title=LONG).figure(),
    "measured, a long name": lambda: tables.measured({LONG * 2: 1.5, "b": -2.25}, title="A title").figure(),
    "text_table": lambda: tables.text_table([[" ".join(WORDS)] * 3] * 5, ["source", "greedy", "beam"]).figure(),
}
PLAIN_FIGURES = {f"{name}, plain": lambda draw=draw: draw(PLAIN) for name, draw in FIGURES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ORDINARY | PLAIN_FIGURES)
def test_no_figure_of_the_package_has_a_fault(name):
    assert faults((ORDINARY | PLAIN_FIGURES)[name]()) == []


def test_every_figure_of_the_package_is_drawn():
    drawn = {name.partition(",")[0].partition(" ")[0] for name in ORDINARY}
    assert set(FIGURES) <= drawn
