"""Tables of measured values: the same texts as HTML, as plain text and in the picture."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from hostile import HOSTILE

from seqlearn.views import measured, text_table


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


def test_the_plain_text_has_what_is_shown():
    table = measured({"boxcar": 1.5512, "pairs": 30000, "steps": torch.tensor(7), "share": np.float32(0.25)}, unit="°C")
    lines = [line.split() for line in repr(table).splitlines()]
    assert lines == [["°C"], ["boxcar", "1.551"], ["pairs", "30,000"], ["steps", "7"], ["share", "0.250"]]
    rows = Cells(table.to_html()).rows
    assert rows == [["", "°C"], ["boxcar", "1.551"], ["pairs", "30,000"], ["steps", "7"], ["share", "0.250"]]


def test_several_columns():
    values = {"GRU": {"BLEU": 79.4, "updates": 1758}, "Transformer": {"BLEU": 99.0, "updates": 1758}}
    table = measured(values, form="{:.1f}", title="The Transformer is better")
    assert repr(table).splitlines()[0] == "The Transformer is better"
    assert Cells(table.to_html()).rows[0] == ["The Transformer is better"]
    assert Cells(table.to_html()).rows[1:3] == [["", "BLEU", "updates"], ["GRU", "79.4", "1758.0"]]
    table = measured(values, form={"BLEU": "{:.1f}"})
    assert Cells(table.to_html()).rows[1] == ["GRU", "79.4", "1,758"]
    assert [line.split() for line in repr(table).splitlines()[1:]] == [
        ["GRU", "79.4", "1,758"], ["Transformer", "99.0", "1,758"],
    ]  # fmt: skip


def test_powers_of_ten_as_a_person_writes_them():
    values = {"a": 2.9e-8, "b": -1.5e12, "c": 0.0, "d": 3e-5}
    forms = {"a": "{:.0e}", "b": "{:.1e} ms", "c": "{:.0e}", "d": "{:.2g}"}
    assert [texts[1] for texts in measured(values, form=forms).rows] == ["3 × 10⁻⁸", "−1.5 × 10¹² ms", "0", "3 × 10⁻⁵"]


def test_minus_signs_are_true_and_zero_has_none():
    rows = Cells(measured({"a": -3.5, "b": -0.0001, "c": -2, "d": True, "e": "one-way", "f": None}).to_html()).rows
    assert [row[1] for row in rows[1:]] == ["−3.500", "0.000", "−2", "yes", "one-way", ""]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (({},), "at least one value"),
        (({"a": {"x": 1}, "b": {"y": 1}},), "row 'b' has the columns"),
        (({"a": 1}, {"form": {"A": "{:.1f}"}}), "no row or column 'A'"),
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


def test_any_text_is_shown_as_it_was_typed():
    table = measured(dict.fromkeys(HOSTILE, 1.0), title=" ".join(HOSTILE))
    cells = Cells(table.to_html())
    assert cells.tags <= {"table", "caption", "b", "thead", "tbody", "tr", "th", "td"}
    assert [row[0] for row in cells.rows[2:] if row[0].strip()] == [text for text in HOSTILE if text.strip()]


def test_the_picture_has_the_texts_and_wraps_long_ones():
    shown = measured({"a": -2.25}, title="A title").figure().axes[0].texts
    assert {"−2.250", "A title"} <= {text.get_text() for text in shown}
    figure = text_table([("a cat", "un chat"), ("word " * 60, "mot")], ["source", "translation"]).figure()
    drawn = [text.get_text() for text in figure.axes[0].texts]
    assert drawn[:4] == ["source", "translation", "a cat", "un chat"]
    assert drawn[4].split() == ["word"] * 60 and "\n" in drawn[4] and figure.get_figwidth() <= 9.6
