"""Plots are tested on what they draw."""

import itertools

import matplotlib
import pytest
import torch
from matplotlib import pyplot as plt

from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.training.loop import History
from seqlearn.views import plots


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
    assert ax.get_title("left") == "a title"
    assert ax.yaxis_inverted(), "the first query stands at the top"
    numbers = [f"{weight:.2f}" for weight in shown.weights[1, 0].flatten()]
    assert texts(ax.texts) == numbers


@pytest.mark.slow
def test_a_large_map_has_fewer_labels_and_no_numbers():
    ax = plots.heatmap(attention(40, 70)).axes[0]
    assert texts(ax.get_xticklabels())[:3] == ["k0", "k3", "k6"] and len(ax.get_xticklabels()) <= 32
    assert texts(ax.get_yticklabels())[:3] == ["q0", "q2", "q4"] and not ax.texts
    width, height = plots.heatmap(attention(300, 300)).get_size_inches()
    assert width <= 9.6 and height <= 12
    corner = plots.all_heads(attention(40, 70, 4, 8)).axes[24]
    assert 5 < len(corner.get_xticklabels()) < 20 and 5 < len(corner.get_yticklabels()) < 20


def test_a_mask_is_drawn_as_a_mask():
    mask = torch.tensor([[True, False], [True, True]])
    shown = AttentionMap(torch.tensor([[1.0, 0.0], [0.4, 0.6]]), ["a", "b"], ["a", "b"], "causal", mask)
    ax = plots.heatmap(shown).axes[0]
    assert ax.collections[0].get_array().mask.reshape(2, 2).tolist() == (~mask).tolist()
    assert ax.patch.get_hatch() and not plots.heatmap(attention()).axes[0].patch.get_hatch(), "stripes where masked"


def test_gold_links_are_marked_on_their_cells():
    ax = plots.heatmap(attention(), gold=[(2, 1), (0, 0)]).axes[0]
    assert ax.collections[-1].get_offsets().tolist() == [[2.5, 1.5], [0.5, 0.5]]
    assert texts(ax.get_legend().get_texts()) == ["gold link"]


@pytest.mark.parametrize(("layer", "head"), [(1, 0), (0, 1), (-1, 0)])
def test_no_such_layer_or_head(layer, head):
    with pytest.raises(IndexError, match="1 layers and 1 heads"):
        plots.heatmap(attention(), layer, head)


def test_all_heads_have_their_place_their_name_and_one_scale():
    shown = attention(layers=2, heads=3)
    figure = plots.all_heads(shown, title="a title", limits=(0.0, 0.5))
    *panels, bar = figure.axes
    assert figure.get_suptitle() == "a title" and bar.get_ylabel() == "attention weight"
    assert [ax.get_title("left") for ax in panels] == [f"layer {i}, head {j}" for i in range(2) for j in range(3)]
    for index, ax in enumerate(panels):
        layer, head = divmod(index, 3)
        assert ax.images[0].get_array().tolist() == shown.weights[layer, head].tolist()
        assert ax.images[0].get_clim() == (0, 0.5) and ax.images[0].get_cmap().name == "viridis"
        assert texts(ax.get_yticklabels()) == (["q0", "q1"] if head == 0 else [])
        assert texts(ax.get_xticklabels()) == (["k0", "k1", "k2"] if layer == 1 else [])
        assert ax.get_ylim() == (2, 0), "the first query stands at the top"
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("source token (key)", "target token (query)")


def test_each_share_stands_in_the_cell_of_its_head():
    table = torch.tensor([[0.1, 0.9, 0.5], [0.7, 0.2, 0.3]])
    figure = plots.head_shares({"one": table, "two": 1 - table}, title="a title", columns=3, form="{:.1%}")
    one, two, empty = figure.axes
    assert figure.get_suptitle() == "a title" and [ax.get_title("left") for ax in figure.axes] == ["one", "two", ""]
    assert {(t.get_position(), t.get_text()) for t in one.texts} >= {((1, 0), "90.0%"), ((0, 1), "70.0%")}
    assert two.images[0].get_array().tolist() == (1 - table).tolist() and two.images[0].get_clim() == (0, 1)
    assert texts(one.get_yticklabels()) == ["layer 0", "layer 1"] and not empty.axison
    with pytest.raises(ValueError, match="no tables"):
        plots.head_shares({})


def test_a_single_layer_has_no_number():
    for heads in (2, 20):  # 20: narrow panels
        *panels, _ = plots.all_heads(attention(3, 3, 1, heads)).axes
        assert [ax.get_title("left") for ax in panels] == [f"head {head}" for head in range(heads)]
        assert not any("layer" in text for ax in panels for text in texts(ax.texts))


@pytest.mark.slow
def test_the_parts_of_all_heads_do_not_overlap():
    """Panels, token labels, names of the axes, colour bar and title, which are placed by hand."""
    for shape, title in [((5, 5, 1, 1), "one\ntwo"), ((3, 40, 2, 4), "a title"), ((20, 20, 12, 12), "")]:
        shown = attention(*shape)
        tokens = ["x" * 60, *shown.query_tokens[1:]]
        figure = plots.all_heads(AttentionMap(shown.weights, tokens, shown.key_tokens), title=title)
        figure.canvas.draw()
        *panels, bar = figure.axes
        corner = panels[-shape[3]]
        boxes = [figure._supxlabel.get_window_extent(), figure._supylabel.get_window_extent(), bar.get_tightbbox()]
        boxes += [figure._suptitle.get_window_extent()] if title else []
        boxes += [corner.yaxis.get_tightbbox(), corner.xaxis.get_tightbbox()]
        boxes += [ax.get_window_extent() for ax in panels] + [ax.title.get_window_extent() for ax in panels]
        assert not any(one.overlaps(two) for one, two in itertools.combinations(boxes, 2))
        inside = figure.bbox
        assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 and box.y0 >= 0 and box.y1 <= inside.y1 for box in boxes)


@pytest.mark.slow
def test_all_heads_draw_a_mask_as_a_mask():
    mask = torch.tensor([[True, False], [True, True]])
    weights = torch.tensor([[1.0, 0.0], [0.4, 0.6]]).expand(1, 2, 2, 2)
    figure = plots.all_heads(AttentionMap(weights, ["a", "b"], ["a", "b"], "causal", mask))
    assert [ax.images[0].get_array().mask.tolist() for ax in figure.axes[:2]] == [(~mask).tolist()] * 2
    assert all(ax.patch.get_hatch() for ax in figure.axes[:2])
    assert figure.get_supxlabel() == "token looked at (key)"


def test_all_heads_of_too_many_are_refused():
    with pytest.raises(ValueError, match="13 layers x 12 heads are more than 144 panels"):
        plots.all_heads(attention(1, 1, 13, 12))


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
    named = [(text.get_text(), text.xy, text.get_color()) for text in ax.texts]
    ends = [("validation", (2, 1.0), plots.VALID), ("training", (2, train.get_ydata()[-1]), plots.TRAIN)]
    assert named == ends and ax.get_legend() is None, "the lower line first"
    assert ax.get_title("left") == "Validation loss 1 after 2 epochs"
    assert plots.loss_curves(history(1), title="It falls").axes[0].get_title("left") == "It falls"
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


def colors(ax):
    """The colour of each cell of a heat map, row by row."""
    ax.figure.canvas.draw()
    return [matplotlib.colors.to_hex(color).upper() for color in ax.collections[0].get_facecolors()]


def test_grid_draws_a_mask_in_two_colours_and_says_what_they_mean():
    mask = torch.tensor([[True, False], [True, True], [False, False]])
    ax = plots.grid(mask, ["a", "b", "c"], ["the", "apple"], title="who may look").axes[0]
    assert colors(ax) == [{True: plots.OPEN, False: plots.MASKED}[cell] for cell in mask.flatten().tolist()]
    assert texts(ax.get_xticklabels()) == ["the", "apple"] and texts(ax.get_yticklabels()) == ["a", "b", "c"]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title("left")) == ("key", "query", "who may look")
    legend = ax.get_legend()
    assert texts(legend.get_texts()) == ["may be attended", "masked"] and not ax.texts
    shown = [matplotlib.colors.to_hex(patch.get_facecolor()).upper() for patch in legend.get_patches()]
    assert shown == [plots.OPEN, plots.MASKED]
    assert ax.yaxis_inverted() and len(ax.figure.axes) == 1, "the first row stands at the top; a mask has no colour bar"


def test_a_mask_of_one_value_keeps_its_colour():
    assert colors(plots.grid(torch.zeros(1, 2, dtype=torch.bool), ["a"], ["b", "c"]).axes[0]) == [plots.MASKED] * 2
    assert colors(plots.grid(torch.ones(1, 2, dtype=torch.bool), ["a"], ["b", "c"]).axes[0]) == [plots.OPEN] * 2


def test_grid_takes_other_words_and_writes_texts_into_the_cells():
    mask, said = torch.tensor([[True, False]]), [["the", "<pad>"]]
    names = {"xlabel": "place", "ylabel": "sentence", "words": ("real", "padding")}
    ax = plots.grid(mask, ["1"], ["a", "b"], texts=said, **names).axes[0]
    assert texts(ax.texts) == ["the", "<pad>"] and texts(ax.get_legend().get_texts()) == ["real", "padding"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("place", "sentence")
    assert ax.texts[0].get_color() != ax.texts[1].get_color(), "dark on light, light on dark"


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_grid_draws_numbers_with_a_colour_bar(dtype):
    values = torch.tensor([[-2.0, 0.0], [0.5, 3.0]], dtype=dtype).requires_grad_()
    figure = plots.grid(values, ["a", "b"], ["c", "d"], label="score")
    (ax,) = figure.axes
    (bar,) = ax.child_axes
    assert ax.collections[0].get_array().flatten().tolist() == [-2.0, 0.0, 0.5, 3.0]
    assert ax.collections[0].get_clim() == (-3, 3) and ax.collections[0].get_cmap().name == "RdBu_r"
    assert texts(ax.texts) == ["−2.00", "0.00", "0.50", "3.00"] and bar.get_ylabel() == "score"
    assert plots.grid(values, ["a", "b"], ["c", "d"], limits=(0, 9)).axes[0].collections[0].get_clim() == (0, 9)
    (positive,) = plots.grid(values + 2, ["a", "b"], ["c", "d"], legend=False).axes[0].collections
    assert positive.get_clim() == (0, 5) and positive.get_cmap().name == "viridis"


def test_grid_says_nan_and_infinity_on_grey():
    values = torch.tensor([[1.0, float("nan"), -float("inf")], [2.0, 1.5, 1.0]])
    ax = plots.grid(values, ["a", "b"], ["c", "d", "e"]).axes[0]
    drawn = ax.collections[0].get_array()
    assert drawn.mask.flatten().tolist() == [False, True, True, False, False, False]
    assert ax.collections[0].get_clim() == (1, 2)
    assert texts(ax.texts) == ["1.00", "2.00", "1.50", "1.00", "nan", "−inf"]
    assert [text.get_position() for text in ax.texts[-2:]] == [(1.5, 0.5), (2.5, 0.5)]
    assert matplotlib.colors.to_hex(ax.get_facecolor()).upper() == plots.ODD
    nothing = plots.grid(torch.full((1, 1), float("nan")), ["a"], ["b"]).axes[0]
    assert texts(nothing.texts) == ["nan"]


def test_a_large_grid_has_no_numbers_and_a_panel_no_legend():
    names = [str(number) for number in range(13)]
    assert not plots.grid(torch.rand(13, 2), names, names[:2]).axes[0].texts
    assert len(plots.grid(torch.rand(12, 2), names[:12], names[:2]).axes[0].texts) == 24
    figure, panels = plt.subplots(1, 2)
    assert plots.grid(torch.rand(2, 2), ["a", "b"], ["c", "d"], legend=False, ax=panels[0]) is figure
    plots.grid(torch.rand(2, 2) < 2, ["a", "b"], ["c", "d"], legend=False, ax=panels[1])
    assert len(figure.axes) == 2 and panels[1].get_legend() is None


@pytest.mark.parametrize(
    ("shape", "rows", "columns", "said", "message"),
    [
        ((2, 3), 2, 2, None, r"2 rows and 2 columns do not fit values of shape \(2, 3\)"),
        ((2, 3), 3, 3, None, r"3 rows and 3 columns do not fit values of shape \(2, 3\)"),
        ((1, 2, 3), 2, 3, None, r"do not fit values of shape \(1, 2, 3\)"),
        ((1, 2), 1, 2, [["a"]], r"texts have \[1\] cells a row; values have the shape \(1, 2\)"),
    ],
)
def test_grid_refuses_what_does_not_fit(shape, rows, columns, said, message, as_a_user):
    with pytest.raises(ValueError, match=message):
        plots.grid(torch.zeros(shape), ["a"] * rows, ["b"] * columns, texts=said)


def heights(container):
    return [bar.get_height() for bar in container]


def test_length_histogram_counts_the_sentences_of_each_length():
    ax = plots.length_histogram({"English": [2, 2, 4, 3, 2], "French": iter([3, 5])}, title="a title").axes[0]
    english, french = ax.containers
    assert heights(english) == [3, 1, 1, 0] and heights(french) == [0, 1, 0, 1], "lengths 2, 3, 4, 5"
    assert texts(ax.get_xticklabels()) == ["2", "3", "4", "5"] and ax.get_xticks().tolist() == [2, 3, 4, 5]
    middles = [[bar.get_x() + bar.get_width() / 2 for bar in bars] for bars in (english, french)]
    assert all(left < place < right for place, left, right in zip(range(2, 6), *middles, strict=True)), "side by side"
    assert texts(ax.get_legend().get_texts()) == ["English (median 2)", "French (median 4)"]
    assert english[0].get_facecolor() != french[0].get_facecolor()
    assert [bars[0].get_hatch() or "" for bars in (english, french)] == ["", "///"], "apart in grey, too"
    assert [patch.get_hatch() or "" for patch in ax.get_legend().get_patches()] == ["", "///"]
    assert french[0].get_edgecolor()[:3] == (1, 1, 1), "white stripes"
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title("left")) == ("length (tokens)", "sentences", "a title")


def test_the_last_bar_of_a_histogram_may_hold_all_longer_sentences():
    ax = plots.length_histogram({"English": [1, 2, 3, 7, 90]}, most=2).axes[0]
    assert heights(ax.containers[0]) == [1, 4] and texts(ax.get_xticklabels()) == ["1", "2+"]
    assert texts(ax.get_legend().get_texts()) == ["English (median 3)"], "of the true lengths"
    ax = plots.length_histogram({"English": [1, 2, 3]}, most=9).axes[0]
    assert texts(ax.get_xticklabels()) == ["1", "2", "3"]
    assert len(plots.length_histogram({"English": range(1, 60)}).axes[0].get_xticklabels()) <= 25


@pytest.mark.parametrize("lengths", [{}, {"English": []}, {"English": [1], "French": []}])
def test_a_histogram_of_nothing_is_refused(lengths):
    with pytest.raises(ValueError, match="at least one length under each name"):
        plots.length_histogram(lengths)


def run(*scores, pairs=7):
    """A result as the stored experiments have it, with groups of 1-2, 3-4, ... tokens."""
    groups = enumerate(scores)
    return {"bins": [{"from": 2 * n + 1, "to": 2 * n + 2, "pairs": pairs, "bleu": score} for n, score in groups]}


def test_quality_by_length_draws_means_and_ranges():
    runs = {"plain": [run(90, 40), run(80, 60), run(82, 50)], "attention": [run(95, 94)]}
    ax = plots.quality_by_length(runs, title="a title").axes[0]
    plain, attention = ax.lines
    assert plain.get_ydata().tolist() == [84, 50] and attention.get_ydata().tolist() == [95, 94]
    corners = {tuple(corner) for corner in ax.collections[0].get_paths()[0].vertices.tolist()}
    assert corners == {(0, 80), (0, 90), (1, 40), (1, 60)}, "from the worst seed to the best"
    assert texts(ax.get_xticklabels()) == ["1-2\n(n=7)", "3-4\n(n=7)"]
    assert texts(ax.texts) == ["plain (3 seeds)", "attention"] and ax.get_legend() is None
    assert [text.xy for text in ax.texts] == [(1, 50), (1, 94)], "at the ends of the lines"
    assert plain.get_color() != attention.get_color() and plain.get_marker() != attention.get_marker()
    assert ax.get_ylim()[0] == 0 and (ax.get_ylabel(), ax.get_title("left")) == ("BLEU", "a title")


@pytest.mark.parametrize(
    "runs",
    [{}, {"a": []}, {"a": [run(1, 2)], "b": []}, {"a": [run(1, 2)], "b": [run(1)]}, {"a": [run(1), run(1, pairs=8)]}],
)
def test_quality_by_length_needs_the_same_groups(runs):
    with pytest.raises(ValueError, match="the same groups of sentences"):
        plots.quality_by_length(runs)


def test_quality_by_length_in_a_panel():
    figure, panel = plt.subplots()
    assert plots.quality_by_length({"a": [run(1, 2)]}, ax=panel) is figure and panel.lines


def test_share_by_length_draws_means_and_ranges():
    def run(*shares):
        return {"lengths": [10, 20, 40], "right": shares}

    ax = plots.share_by_length({"none": [run(1, 0.5, 0), run(1, 1, 0.5)], "rotary": [run(1, 1, 1)]}, trained=20).axes[0]
    none, rotary, trained = ax.lines
    assert none.get_ydata().tolist() == [1, 0.75, 0.25] and rotary.get_ydata().tolist() == [1, 1, 1]
    assert {tuple(corner) for corner in ax.collections[0].get_paths()[0].vertices.tolist()} >= {(20, 0.5), (20, 1)}
    assert list(trained.get_xdata()) == [20, 20] and texts(ax.get_xticklabels()) == ["10", "20", "40"]
    assert texts(ax.texts) == ["none", "rotary"] and none.get_linestyle() != rotary.get_linestyle()
    with pytest.raises(ValueError, match="the same lengths"):
        plots.share_by_length({"a": [run(1, 1, 1)], "b": [{"lengths": [10], "right": [1]}]}, trained=20)


def test_bars_are_labelled_and_stand_in_the_order_given():
    ax = plots.bars({"fixed": 0.511, "bucketed": 0.055}, title="waste", xlabel="share").axes[0]
    assert [bar.get_width() for bar in ax.patches] == [0.511, 0.055] and texts(ax.texts) == ["51%", "6%"]
    assert texts(ax.get_yticklabels()) == ["fixed", "bucketed"] and ax.yaxis_inverted(), "the first at the top"
    assert (ax.get_xlabel(), ax.get_title("left")) == ("share", "waste")
    assert ax.get_xlim()[0] == 0 and 0.511 < ax.get_xlim()[1] < 0.7, "room for the number"


def test_bars_of_counts_of_nothing_and_up_to_a_limit():
    assert texts(plots.bars({"a": 6218, "b": 0}, form="{:,}").axes[0].texts) == ["6,218", "0"]
    assert plots.bars({"a": 0.0, "b": 0.0}).axes[0].get_xlim() == (0, 1)
    figure, panel = plt.subplots()
    assert plots.bars({"a": 0.5}, limit=1, ax=panel) is figure and panel.get_xlim() == (0, 1)


def test_a_diagram_has_its_boxes_and_arrows_between_them():
    ax = plots.diagram({"x": (0, 0), "W_q": (1, 0), "y": (2, 1)}, [("x", "W_q"), ("W_q", "y")], title="wires").axes[0]
    boxes = {text.get_text(): text for text in ax.texts if text.get_text()}
    assert list(boxes) == ["x", "W_q", "y"] and boxes["y"].get_position() == (2, 1)
    wires = [text.arrow_patch for text in ax.texts if not text.get_text()]
    ends = [(wire.patchA, wire.patchB) for wire in wires]
    frames = {name: box.get_bbox_patch() for name, box in boxes.items()}
    assert ends == [(frames["x"], frames["W_q"]), (frames["W_q"], frames["y"])]
    with pytest.raises(ValueError, match="no box 'z': the boxes are x"):
        plots.diagram({"x": (0, 0)}, [("x", "z")])
