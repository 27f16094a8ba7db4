"""Any script in a picture: the fonts that are installed are tried, and no text makes matplotlib fail or warn."""

import matplotlib
import torch
from matplotlib import pyplot as plt
from views.samples import PLAIN
from views.test_drawn_texts import FIGURES

from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.views import plots
from seqlearn.views.shared import colours, fonts

HERE = ["DejaVu Sans", "Noto Sans CJK SC"]


def test_the_families_that_are_installed_in_order():
    assert fonts.families(["Noto Sans Arabic", "Wingdings", *reversed(HERE)]) == [*HERE, "Noto Sans Arabic"]
    assert fonts.families([]) == ["sans-serif"]
    assert "DejaVu Sans" in fonts.families(), "matplotlib brings it"


def test_every_picture_tries_them(monkeypatch):
    monkeypatch.setattr(fonts, "families", lambda: HERE)
    monkeypatch.setattr(fonts, "_letters", lambda names: frozenset(map(ord, "".join(PLAIN))))
    for name in ("heatmap", "all_heads", "grid", "text_table"):
        figure = FIGURES[name](PLAIN)
        written = [text for text in figure.findobj(matplotlib.text.Text) if text.get_text() in PLAIN]
        assert written and all(text.get_fontfamily() == HERE for text in written)
    assert matplotlib.rcParams["font.family"] != HERE, "only there"


def test_a_box_for_a_letter_without_a_font():
    letters = frozenset(map(ord, "aé \n"))
    assert fonts.drawable("aé b\n猫\x01", letters) == "aé □\n□□"
    assert fonts.drawable("a\u200b\u202e\u2066a", letters) == "aa", "what is never seen is left out"
    assert fonts.drawable("half \ud83d").endswith("□")


def test_a_label_is_one_short_line():
    assert fonts.short_label("a\nb\tc") == "a⏎b⇥c"
    assert fonts.short_label("x" * 500) == "x" * 39 + "…" and fonts.short_label("x" * 40) == "x" * 40
    ax = plots.heatmap(AttentionMap(torch.ones(1, 1), ["x" * 99], ["a"])).axes[0]
    assert len(ax.get_yticklabels()[0].get_text()) == 40


def test_only_the_settings_of_fonts_are_put_back():
    """As the first figure of a notebook does it: what else it switches on has to stay on."""

    @fonts.any_script
    def draw():
        assert matplotlib.rcParams["font.family"] == fonts.families()
        plt.ion()

    plt.ioff()
    before = dict(matplotlib.rcParams)
    draw()
    assert plt.isinteractive()
    plt.ioff()
    assert dict(matplotlib.rcParams) == before


def test_the_style_of_the_course_is_a_style_of_matplotlib_and_of_every_figure():
    before = matplotlib.rcParams.copy()
    with plt.style.context("seqlearn.course"):
        assert matplotlib.rcParams["axes.prop_cycle"].by_key()["color"] == list(map(str, colours.CYCLE))
        assert all(matplotlib.rcParams[name] == value for name, value in fonts.course_style().items())
    assert matplotlib.rcParams["axes.titlelocation"] == before["axes.titlelocation"]
    ax = plots.bars({"a": 0.5}, title="At the left").axes[0]
    assert ax.get_title("left") == "At the left" and not ax.spines["right"].get_visible()
    assert ax.get_figure().dpi == 100 and matplotlib.rcParams == before, "only there"
