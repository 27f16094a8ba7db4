"""The check of figures finds each fault that was made on purpose, and nothing in a good figure."""

import matplotlib
import pytest
from figures import faults
from matplotlib import pyplot as plt

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def good():
    """A figure without a fault: a title, labels, a legend, rotated ticks, a halo, a formula, text out of sight."""
    with plt.style.context("seqlearn.course"):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    left.plot([0.001, 1000], [0, -5e4], label=r"$\sqrt{d_k}$")
    left.set(title="The loss falls", xlabel="epoch", ylabel="loss")
    left.legend()
    for _ in range(2):
        left.text(500, -1e4, "twice")
    left.text(500, -1e4, "out of sight", visible=False)
    left.text(500, -1e4, "glass", alpha=0)
    left.text(2000, 0, "far away", clip_on=True)
    right.plot(range(8))
    right.set_xticks(range(8), [f"token {number}" for number in range(8)], rotation=45, ha="right")
    right.set_title("A second message")
    return figure


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


@pytest.mark.parametrize("name", SPOILED)
def test_each_fault_is_found(name):
    spoil, sentence = SPOILED[name]
    figure = good()
    spoil(figure.axes[1])
    assert sentence in "\n".join(faults(figure))
