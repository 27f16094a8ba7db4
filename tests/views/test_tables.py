"""Tables of measured values: people see every number, and the plain text, which is compared, has what is claimed."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from hostile import HOSTILE

from seqlearn.views import measured, text_table
from seqlearn.views.shared.sharp import sharp_png


class Cells(HTMLParser):
    """Reads an HTML table: the texts of its rows, and the names of all tags."""

    def __init__(self, html: str):
        super().__init__()
        self.rows, self.tags = [], set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("tr", "caption"):
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if not data.strip():
            return
        if self.rows[-1]:
            self.rows[-1][-1] += data
        else:
            self.rows[-1].append(data)


def test_numbers_without_bounds_are_compared_as_they_are_shown():
    table = measured({"boxcar": 1.5512, "pairs": 30000, "steps": torch.tensor(7), "share": np.float32(0.25)}, unit="°C")
    lines = [line.split() for line in repr(table).splitlines()]
    assert lines == [["°C"], ["boxcar", "1.551"], ["pairs", "30,000"], ["steps", "7"], ["share", "0.250"]]
    rows = Cells(table.to_html()).rows
    assert rows == [["", "°C"], ["boxcar", "1.551"], ["pairs", "30,000"], ["steps", "7"], ["share", "0.250"]]


def test_numbers_with_bounds_are_seen_and_not_compared():
    """Two processors measure slightly different numbers: the plain texts are the same, what is seen is not."""
    here, there = (
        measured({"Gaussian": value, "seconds": 3 * value}, bounds={"Gaussian": (0.9, 1.1), "seconds": None})
        for value in (0.991, 1.004)
    )
    assert repr(here) == repr(there) and "0.991" not in repr(here)
    assert "Gaussian  0.900 to 1.100" in repr(here) and repr(here).endswith("varies")
    assert Cells(here.to_html()).rows[1:] == [["Gaussian", "0.991", "0.900 to 1.100"], ["seconds", "2.973", "varies"]]
    assert "1.004" in there.to_html()
    only = measured({"milliseconds": 12.5}, bounds=None)
    assert Cells(only.to_html()).rows == [["", "measured"], ["milliseconds", "12.500"]], "nothing is claimed"


@pytest.mark.parametrize(
    ("bounds", "said"),
    [((0.9, 1), "which is not 0.900 to 1.000"), ((None, 1), "not at most 1.000"), ((2, None), "not at least 2.000")],
)
def test_a_number_outside_its_bounds_is_named(bounds, said):
    assert said in repr(measured({"Gaussian": 1.2}, bounds=bounds))
    assert "1.200, which" in repr(measured({"Gaussian": 1.2}, bounds={"Gaussian": bounds}))


@pytest.mark.parametrize(("value", "inside"), [(0.9, True), (1.1, True), (0.899, False), (float("nan"), False)])
def test_bounds_are_included_and_nan_is_outside(value, inside):
    assert ("which is not" not in repr(measured({"x": value}, bounds=(0.9, 1.1)))) is inside


def test_claims_are_seen_and_compared():
    table = measured({"a": 1, "b": 2}, claims={"b is larger": True, "a is larger": torch.tensor(False)})
    assert repr(table).splitlines()[-2:] == ["✓ holds: b is larger", "✗ does not hold: a is larger"]
    assert Cells(table.to_html()).rows[-2:] == [["✓ holds: b is larger"], ["✗ does not hold: a is larger"]]


def test_several_columns():
    values = {"GRU": {"BLEU": 79.4, "updates": 1758}, "Transformer": {"BLEU": 99.0, "updates": 1758}}
    table = measured(values, form="{:.1f}", bounds={"BLEU": (75, 100)}, title="The Transformer is better")
    assert repr(table).splitlines()[0] == "The Transformer is better"
    assert Cells(table.to_html()).rows[0] == ["The Transformer is better"]
    assert Cells(table.to_html()).rows[1:3] == [["", "BLEU", "updates"], ["GRU", "79.4", "1758.0"]]
    table = measured(values, form={"BLEU": "{:.1f}"}, bounds={"GRU": None})
    assert Cells(table.to_html()).rows[1] == ["GRU", "79.4", "1,758"]
    assert [line.split() for line in repr(table).splitlines()[1:]] == [
        ["GRU", "varies", "varies"], ["Transformer", "99.0", "1,758"],
    ]  # fmt: skip


def test_minus_signs_are_true_and_zero_has_none():
    rows = Cells(measured({"a": -3.5, "b": -0.0001, "c": -2, "d": True, "e": "one-way", "f": None}).to_html()).rows
    assert [row[1] for row in rows[1:]] == ["−3.500", "0.000", "−2", "yes", "one-way", ""]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (({},), "at least one value"),
        (({"a": {"x": 1}, "b": {"y": 1}},), "row 'b' has the columns"),
        (({"a": 1}, {"bounds": {"A": (0, 1)}}), "no row or column 'A'"),
        (({"a": 1}, {"form": {"A": "{:.1f}"}}), "no row or column 'A'"),
        (({"a": "un chat"}, {"bounds": (0, 1)}), "bounds are for numbers, and 'un chat' is none"),
    ],
)
def test_what_cannot_be_a_table_is_refused(arguments, said):
    values, options = (*arguments, {})[:2]
    with pytest.raises(ValueError, match=re.escape(said)):
        measured(values, **options)


def test_texts_of_a_model_are_seen_and_not_compared():
    here, there = (text_table([("a cat", words)], ["source", "translation"]) for words in ("un chat", "une chatte"))
    assert repr(here) == repr(there) == "Table of 1 rows: source, translation"
    assert Cells(here.to_html()).rows == [["source", "translation"], ["a cat", "un chat"]]
    with pytest.raises(ValueError, match="1 texts for 2 columns"):
        text_table([("a cat",)], ["source", "translation"])


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_shown_as_it_was_typed(text):
    table = measured({text: 1.0}, title=text, claims={text: True})
    cells = Cells(table.to_html())
    assert cells.tags <= {"table", "caption", "b", "thead", "tbody", "tfoot", "tr", "th", "td"}
    assert text.strip() == "" or cells.rows[2][0] == text
    for each in (table, text_table([[text]], [text])):
        assert sharp_png(each.figure())[0].startswith(b"\x89PNG")


def test_the_picture_holds_every_text_within_its_frame():
    table = measured(
        {"a very long name of a row " * 6: 1.5, "b": -2.25}, title="A title", claims={"It holds " * 20: True}
    )
    figure = table.figure()
    figure.canvas.draw()
    drawn = figure.axes[0].texts
    frame = figure.bbox
    assert {"−2.250", "A title"} <= {text.get_text() for text in drawn}
    for text in drawn:
        box = text.get_window_extent()
        assert box.x0 >= frame.x0 and box.x1 <= frame.x1 and box.y0 >= frame.y0 - 1 and box.y1 <= frame.y1, text


def test_the_picture_wraps_long_texts():
    figure = text_table([("a cat", "un chat"), ("word " * 60, "mot")], ["source", "translation"]).figure()
    drawn = [text.get_text() for text in figure.axes[0].texts]
    assert drawn[:4] == ["source", "translation", "a cat", "un chat"]
    assert drawn[4].split() == ["word"] * 60 and "\n" in drawn[4] and figure.get_figwidth() <= 9.6
