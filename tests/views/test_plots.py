"""Plots are tested on what they draw."""

import matplotlib
import pytest
import torch
from matplotlib import pyplot as plt

from seqlearn.nn.attention import AttentionMap
from seqlearn.training.loop import History
from seqlearn.views import plots

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def attention(queries=2, keys=3, layers=1, heads=1):
    torch.manual_seed(0)
    weights = torch.rand(layers, heads, queries, keys).softmax(-1)
    return AttentionMap(weights, [f"q{i}" for i in range(queries)], [f"k{i}" for i in range(keys)])


def texts(labels):
    return [label.get_text() for label in labels]


def test_heatmap_draws_the_weights_with_tokens_on_both_axes():
    shown = attention(layers=2, heads=2)
    ax = plots.heatmap(shown, layer=1, head=0, title="a title").axes[0]
    mesh = ax.collections[0]
    assert mesh.get_array().reshape(2, 3).tolist() == pytest.approx(shown.weights[1, 0].numpy())
    assert mesh.get_clim() == (0, 1) and mesh.get_cmap().name == "viridis"
    assert texts(ax.get_xticklabels()) == ["k0", "k1", "k2"] and texts(ax.get_yticklabels()) == ["q0", "q1"]
    assert ax.get_xlabel() == "source token (key)" and ax.get_ylabel() == "target token (query)"
    assert ax.get_title() == "a title"
    assert ax.yaxis_inverted(), "the first query stands at the top"
    numbers = [f"{weight:.2f}" for weight in shown.weights[1, 0].flatten()]
    assert texts(ax.texts) == numbers


def test_a_large_map_has_fewer_labels_and_no_numbers():
    ax = plots.heatmap(attention(40, 70)).axes[0]
    assert texts(ax.get_xticklabels())[:3] == ["k0", "k3", "k6"] and len(ax.get_xticklabels()) <= 32
    assert texts(ax.get_yticklabels())[:3] == ["q0", "q2", "q4"] and not ax.texts


def test_a_mask_is_drawn_as_a_mask():
    mask = torch.tensor([[True, False], [True, True]])
    shown = AttentionMap(torch.tensor([[1.0, 0.0], [0.4, 0.6]]), ["a", "b"], ["a", "b"], "causal", mask)
    drawn = plots.heatmap(shown).axes[0].collections[0].get_array()
    assert drawn.mask.reshape(2, 2).tolist() == (~mask).tolist()


def test_gold_links_are_marked_on_their_cells():
    ax = plots.heatmap(attention(), gold=[(2, 1), (0, 0)]).axes[0]
    assert ax.collections[-1].get_offsets().tolist() == [[2.5, 1.5], [0.5, 0.5]]
    assert texts(ax.get_legend().get_texts()) == ["gold link"]


@pytest.mark.parametrize(("layer", "head"), [(1, 0), (0, 1), (-1, 0)])
def test_no_such_layer_or_head(layer, head):
    with pytest.raises(IndexError, match="1 layers and 1 heads"):
        plots.heatmap(attention(), layer, head)


def history(epochs=2):
    return History(
        [4.0, 2.0, 1.0, 0.5][: 2 * epochs], [3.0, 0.75][:epochs], [2.5, 1.0][:epochs], [1.0] * epochs, [9] * epochs
    )


def test_loss_curves():
    ax = plots.loss_curves(history()).axes[0]
    train, valid = ax.lines
    assert train.get_xdata().tolist() == [0.5, 1.0, 1.5, 2.0] and len(train.get_ydata()) == 4
    assert train.get_ydata()[0] == 4.0
    assert list(valid.get_xdata()) == [1, 2] and list(valid.get_ydata()) == [2.5, 1.0]
    assert texts(ax.get_legend().get_texts()) == ["training", "validation"]
    assert "nats" in ax.get_ylabel() and ax.get_xlabel() == "epoch"


def test_live_plot_updates_one_figure(monkeypatch):
    shown = []

    class Handle:
        def update(self, figure):
            shown.append(("update", figure))

    def display(figure, display_id):
        shown.append(("display", figure))
        return Handle()

    monkeypatch.setattr(plots, "display", display)
    epochs = iter([[("a", "un")], [("a", "deux")]])
    live = plots.LivePlot(lambda model: next(epochs))
    live(None, history(1))
    live(None, history(2))
    assert [kind for kind, _ in shown] == ["display", "update", "update"] and len({id(f) for _, f in shown}) == 1
    curves, samples = live.figure.axes
    assert len(curves.lines) == 2 and len(curves.lines[1].get_xdata()) == 2
    assert samples.get_title("left") == "Translations after epoch 2" and "deux" in samples.texts[0].get_text()
    assert "un" not in samples.texts[0].get_text().replace("deux", "")


def test_text_table_shows_every_cell_and_wraps_long_ones():
    figure = plots.text_table([("a cat", "un chat"), ("word " * 60, "mot")], ["source", "translation"])
    cells = {place: cell.get_text().get_text() for place, cell in figure.axes[0].tables[0].get_celld().items()}
    assert cells[0, 0] == "source" and cells[1, 1] == "un chat"
    assert cells[2, 0].split() == ["word"] * 60 and "\n" in cells[2, 0]
