"""What a reader of a figure sees in it: plain numbers on the axes, never TeX, and each text as it was typed."""

import inspect
import io

import matplotlib
import pytest
import torch
from hostile import HOSTILE
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text
from views.samples import PLAIN

from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.training.loop import History
from seqlearn.views import maps, plots, tables

DOLLARS = [r"$x^2$", "$5 or $10", "5 $", r"\$5\$", r"$\frac", "$д$", r"\\$a$"]
PAPER = {"text.parse_math": False, "axes.formatter.use_mathtext": True}  # settings that somebody has for a paper


def history(low=0.08, high=5.0, epochs=3):
    """A loss that falls evenly from the high number to the low one."""
    losses = [high * (low / high) ** (update / (20 * epochs)) for update in range(20 * epochs)]
    valid = losses[19::20]
    return History(losses, valid, valid, [1.0] * epochs, [9] * epochs)


def attention(tokens):
    count = len(tokens)
    return AttentionMap(torch.rand(1, 2, count, count).softmax(-1), tokens, tokens)


def bins():
    return [{"bins": [{"from": 1, "to": 2, "pairs": 7, "bleu": 50.0}]}] * 2


def live(tokens, draw=lambda figure: None):
    """The figure of a `LivePlot` after two epochs; `draw` is what the notebook does with it, each time."""

    class Handle:
        update = staticmethod(draw)

    plot = plots.LivePlot(lambda model: [(" ".join(tokens), tokens[0])])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "display", lambda figure, display_id: (draw(figure), Handle)[1])
        for epochs in (1, 2):
            plot(None, history(epochs=epochs))
    return plot.figure


FIGURES = {  # everything that makes a figure, with these tokens as its texts
    "heatmap": lambda tokens: plots.heatmap(attention(tokens), title=tokens[0]),
    "all_heads": lambda tokens: plots.all_heads(attention(tokens), title=tokens[0]),
    "head_shares": lambda tokens: plots.head_shares({tokens[0]: torch.rand(2, 4)}, title=tokens[0]),
    "grid": lambda tokens: plots.grid(torch.rand(len(tokens), 1), tokens, tokens[:1], xlabel=tokens[0]),
    "length_histogram": lambda tokens: plots.length_histogram({tokens[0]: [1, 2]}, title=tokens[0]),
    "bars": lambda tokens: plots.bars(dict.fromkeys(tokens, 0.5), title=tokens[0], xlabel=tokens[0]),
    "diagram": lambda tokens: plots.diagram({token: (at, at) for at, token in enumerate(tokens)}, [], title=tokens[0]),
    "quality_by_length": lambda tokens: plots.quality_by_length({tokens[0]: bins()}, title=tokens[0]),
    "share_by_length": lambda tokens: plots.share_by_length(
        {tokens[0]: [{"lengths": [10, 20], "right": [1, 0.5]}]}, trained=20, title=tokens[0]
    ),
    "loss_curves": lambda tokens: plots.loss_curves(history()),
    "text_table": lambda tokens: tables.text_table([tokens], tokens, title=tokens[0]).figure(),
    "LivePlot": live,
}
WORDLESS = {"loss_curves"}  # no text of the learner


def test_every_function_that_makes_a_figure_is_here():
    for module in (plots, maps):
        makers = [
            name
            for name, one in inspect.getmembers(module, inspect.isfunction)
            if one.__module__ == module.__name__ and inspect.signature(one).return_annotation in (Figure, "Figure")
        ]
        assert makers and set(makers) <= set(FIGURES)


def ticks(figure):
    """The labels of all axes, as the last drawing left them, and the power of ten at the end of an axis."""
    axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    labels = [label for axis in axes for label in (*axis.get_ticklabels(which="both"), axis.get_offset_text())]
    return [label.get_text() for label in labels]


def assert_no_tex(figure):
    assert [text for text in ticks(figure) if "$" in text or "\\" in text] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_no_axis_shows_tex(name):
    """When `savefig` draws after the function has returned, as a notebook does."""
    with matplotlib.rc_context(PAPER):
        figure = FIGURES[name](PLAIN)
        figure.savefig(io.BytesIO())
        assert_no_tex(figure)


def test_a_live_plot_shows_no_tex_while_it_grows():
    drawn = []

    def draw(figure):
        figure.savefig(io.BytesIO())
        assert_no_tex(figure)
        drawn.append(ticks(figure))

    live(PLAIN, draw)
    assert len(drawn) == 3 and {"0.1", "1", "5"} <= set(drawn[-1])


@pytest.mark.parametrize(
    ("low", "high", "numbers"),
    [
        (0.08, 5.0, "0.1 0.2 0.5 1 2 5"),
        (0.9, 3.0, "1 1.5 2 3"),
        (0.31, 0.45, "0.35 0.4 0.45"),
        (1e-4, 9.0, "0.0001 0.001 0.01 0.1 1 10"),
    ],
)
def test_the_losses_on_the_axis_are_round_numbers(low, high, numbers):
    figure = plots.loss_curves(history(low, high))
    figure.canvas.draw()
    (ax,) = figure.axes
    low, high = ax.get_ylim()
    seen = [label.get_text() for label in ax.get_yticklabels() if low <= label.get_position()[1] <= high]
    assert seen == numbers.split()


def test_a_figure_without_a_loss_can_be_drawn():
    plots.loss_curves(History([], [], [], [], [])).canvas.draw()
    plots.loss_curves(history(2.0, 2.0)).canvas.draw()


def widths(figure):
    """How wide each text is drawn."""
    figure.canvas.draw()
    tables = [cell.get_text() for ax in figure.axes for table in ax.tables for cell in table.get_celld().values()]
    return [text.get_window_extent().width for text in figure.findobj(Text) + tables if text.get_text()]


def without_dollars(texts):
    """Other texts that are drawn as wide: in DejaVu Sans a digit has the width of a dollar, and starts no formula."""
    return [text.replace("$", "8") for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parsed"), [(name, True) for name in sorted(FIGURES.keys() - WORDLESS)] + [("heatmap", False)]
)
def test_a_dollar_is_a_dollar(name, parsed, monkeypatch):
    """Each text is as wide as it was typed; as a formula it would have another width, or fail."""
    monkeypatch.setattr("seqlearn.views.shared.fonts.families", lambda: ["DejaVu Sans"])
    with matplotlib.rc_context({"text.parse_math": parsed}):
        torch.manual_seed(0)
        typed = widths(FIGURES[name](DOLLARS))
        torch.manual_seed(0)
        assert typed == pytest.approx(widths(FIGURES[name](without_dollars(DOLLARS))), abs=0.51)


@pytest.mark.slow
@pytest.mark.filterwarnings("error", "ignore:constrained_layout not applied")  # a title as long as a book
@pytest.mark.parametrize("name", FIGURES)
def test_no_text_fails_or_warns(name):
    for start in range(0, len(HOSTILE), 15):
        FIGURES[name](HOSTILE[start : start + 15]).canvas.draw()


def test_a_dollar_is_a_dollar_in_axes_that_were_made_before():
    figure, ax = plt.subplots()
    plots.heatmap(AttentionMap(torch.eye(2), ["$a$", "b"], ["$x_1$", "d"]), title="$t$", ax=ax)
    plain, other = plt.subplots()
    plots.heatmap(AttentionMap(torch.eye(2), ["8a8", "b"], ["8x_18", "d"]), title="8t8", ax=other)
    assert widths(figure) == pytest.approx(widths(plain), abs=0.51)
