"""The comparison of lessons by bounds and claims that stand beside the tests."""

import json
import tomllib
from pathlib import Path

import nbformat
import pytest
from lessons.judge import CLAIMS, Claims, claims_of, compared, judged

from seqlearn.views.tables import measured, text_table

LESSONS = sorted(Path(__file__).parents[2].joinpath("notebooks").rglob("[0-9]*.ipynb"))
VALUES = {"a < b & c": {"loss": 0.6931, "right": 0.91}, "long name": {"loss": -1.5, "right": 0.2}}


def table(values=VALUES, **options):
    return measured(values, title="Title", form={"loss": "{:.3f}", "right": "{:.0%}"}, **options).to_html()


def test_without_claims_all_texts_are_compared():
    assert judged(table(), Claims()) == "Title\n | loss | right\na < b & c | 0.693 | 91%\nlong name | −1.500 | 20%"


@pytest.mark.parametrize(
    ("bounds", "row"),
    [
        ({"loss": [0.6, 0.7]}, "0.6 to 0.7 | 91%"),
        ({"loss": [0.7, 0.8]}, "0.693, which is not 0.7 to 0.8 | 91%"),
        ({"right": [0.9, float("inf")]}, "0.693 | 0.9 to inf"),
        ({"a < b & c": []}, "varies | varies"),
        ({"a < b & c": [0, 1], "right": []}, "0 to 1 | 0 to 1"),  # the row comes first
        ({"*": [0, 1]}, "0 to 1 | 0 to 1"),
    ],
)
def test_a_number_with_bounds_is_compared_with_them(bounds, row):
    assert judged(table(), Claims(bounds)).splitlines()[2] == f"a < b & c | {row}"


def test_numbers_as_they_are_written():
    for value, form, bounds in (
        (1830, "{:.3f}", [1830, 1830]), (1234567.0, "{:,.0f}", [1234567, 1234567]), (-3.25, "{:.2f}", [-3.25, -3.25]),
        (3e-7, "{:.0e}", [3e-7, 3e-7]), (0.125, "{:.1%}", [0.125, 0.125]), (2.5, "{:.1f} ms", [2.5, 2.5]),
    ):  # fmt: skip
        html = measured({"x": value}, form=form).to_html()
        assert "which is not" not in judged(html, Claims({"x": bounds})), form
        assert "which is not" in judged(html, Claims({"x": [bounds[0] + abs(bounds[0]) / 10, float("inf")]})), form


def test_claims_fit_their_table():
    with pytest.raises(ValueError, match="no row or column 'los'"):
        judged(table(), Claims({"los": [0, 1]}))
    with pytest.raises(ValueError, match="'yes' is none"):
        judged(measured({"x": True}).to_html(), Claims({"x": [0, 1]}))


def test_numbers_are_judged_and_texts_are_not():
    kinds = [measured({"x": 0.5}), text_table([["a", "b"]], ["one", "two"])]
    outputs = [nbformat.v4.new_output("display_data", {"text/html": k.to_html(), "text/plain": repr(k)}) for k in kinds]
    outputs.append(nbformat.v4.new_output("stream", text="0.5"))
    numbers, texts, stream = compared(outputs, Claims({"x": [0, 1]}))
    assert numbers["data"] == {"text/plain": "\n | measured\nx | 0 to 1"} and stream == outputs[2]
    assert texts["data"] == {"text/plain": "Table of 1 rows: one, two"}


def test_what_differs_by_nature_is_not_compared():
    here, there = (
        [
            nbformat.v4.new_output("execute_result", {"text/plain": f"<object at {address}>"}),
            nbformat.v4.new_output("stream", text=f"<Figure size {size} with 1 Axes>, loss 0.5"),
        ]
        for address, size in (("0x7f21c4", "640x480"), ("0x55d0aaf1", "612.5x480"))
    )
    assert compared(here, Claims()) == compared(there, Claims()) and here != there
    there[1].text += "1"
    assert compared(here, Claims()) != compared(there, Claims()) and "0x7f21c4" in here[0].data["text/plain"]
    assert compared(here, Claims(varies="a game of dice")) == compared([], Claims()) == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name[:2])
def test_claims_are_about_cells_of_the_lesson_and_hold_in_what_is_stored(path):
    cells = {cell["id"]: cell for cell in json.loads(path.read_text("utf-8"))["cells"]}
    for name, claims in claims_of(path.name[:2]).items():
        if name not in cells:  # of the lesson, or of what is beyond it
            continue
        stored = [nbformat.from_dict(output) for output in cells[name]["outputs"]]
        for output in stored:
            output.data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
        texts = [output.data.get("text/plain", "") for output in compared(stored, claims)]
        assert "which is not" not in "".join(texts), (name, texts)
        assert claims.holds or claims.bounds or claims.varies, name


def test_every_claim_has_a_lesson():
    ids = {cell["id"] for path in LESSONS for cell in json.loads(path.read_text("utf-8"))["cells"]}
    assert {name for path in LESSONS for name in claims_of(path.name[:2])} <= ids
    assert {file.stem for file in CLAIMS.glob("*")} <= {path.name[:2] for path in LESSONS}
    for file in CLAIMS.glob("*.toml"):
        tomllib.loads(file.read_text("utf-8"))
