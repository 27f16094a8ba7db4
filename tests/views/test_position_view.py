"""PositionView sends the table as it is and the turns between its rows, and says what is wrong with its input."""

import math
import re

import pytest
import torch
import traitlets
from views.refusals import refuses

from seqlearn.nn.positions import sinusoids
from seqlearn.runtime.d2l_compat import d2l
from seqlearn.views import PositionView
from seqlearn.views.shared.packing import unpack


def plain(positions, size, start=0, base=10000.0):
    """The sinusoids by a plain loop."""
    angle = [[(start + i) / base ** ((c - c % 2) / size) for c in range(size)] for i in range(positions)]
    return torch.tensor([[(math.sin, math.cos)[c % 2](a) for c, a in enumerate(row)] for row in angle])


def test_a_turn_by_hand():
    view = PositionView(plain(4, 2), offset=1)  # one pair, one radian a position
    s, c = math.sin(1), math.cos(1)
    assert view.rotation().flatten().tolist() == pytest.approx([c, s, -s, c])
    view.offset = 0
    assert view.rotation().tolist() == [[1, 0], [0, 1]]
    with view.hold_trait_notifications():
        view.position, view.offset = 3, -1
    assert view.rotation().flatten().tolist() == pytest.approx([c, -s, s, c])


@pytest.mark.parametrize(("size", "start", "base"), [(6, 0, 10000.0), (7, 5, 10000.0), (4, 300, 100.0)])
def test_the_turn_carries_every_pair_of_every_row(size, start, base):
    table = plain(9, size, start, base)
    view = PositionView(table, start=start, base=base)
    for pair in range(size // 2):
        for i in range(9):
            for j in range(9):
                with view.hold_trait_notifications():
                    view.position, view.offset, view.pair = start + i, j - i, pair
                turned = view.rotation() @ table[i, 2 * pair : 2 * pair + 2]
                torch.testing.assert_close(turned, table[j, 2 * pair : 2 * pair + 2], atol=1e-5, rtol=0)
    assert len(view.data["frequencies"]) == size // 2, "the last sine of an odd size has no partner"


def test_the_numbers_are_sent_as_they_are():
    table = torch.randn(5, 3)
    before = table.clone()
    view = PositionView(table, start=2, position=4)
    assert torch.equal(unpack(view.data["table"]), before) and torch.equal(table, before)
    assert view.data["limit"] == pytest.approx(float(table.abs().max()))
    products = [sum(float(a * b) for a, b in zip(table[2], row, strict=True)) for row in table]
    assert view.products().tolist() == pytest.approx(products, abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_sinusoids_are_known_in_any_precision(dtype):
    assert PositionView(plain(40, 6).to(dtype)).rotation() is not None


def test_the_table_of_d2l_is_known():
    assert PositionView(d2l.PositionalEncoding(32, 0.0).P[0, :60]).rotation() is not None


@pytest.mark.parametrize(
    ("table", "note"),
    [
        (plain(9, 4) * 1.02, r"No rotation is shown: this table differs from the sinusoids by up to 0.02."),
        (plain(9, 4, start=1), "No rotation is shown: this table differs"),
        (plain(9, 4)[:, [0, 2, 1, 3]], "No rotation is shown: this table differs"),
        (plain(9, 1), "No rotation is shown: a table with one dimension has no pair to turn."),
    ],
    ids=["scaled", "another start", "other columns", "one column"],
)
def test_no_rotation_of_another_table(table, note):
    view = PositionView(table)
    assert re.match(note, view.data["note"]) and view.rotation() is None
    assert view.data["frequencies"] == [] and view.data["turns"] is None
    assert repr(view).endswith("not sinusoidal)")
    with pytest.raises(traitlets.TraitError, match="no pair 1: the table has 1"):
        view.pair = 1


test_one_sentence_for_what_is_wrong = refuses(
    lambda start=0, **changed: PositionView(**{"table": plain(9, 4, max(start, 0)), "start": start} | changed),
    [
        ({"table": torch.ones(3)}, r"the rows of a table have 2 axes, none of them empty; got the shape \(3,\)"),
        ({"table": torch.ones(1, 9, 4)}, r"have 2 axes, none of them empty; got the shape \(1, 9, 4\)"),
        ({"table": torch.ones(0, 4)}, r"got the shape \(0, 4\)"),
        ({"table": torch.tensor([[1.0, math.nan]])}, r"the rows of a table \(1, 2\) hold NaN or infinity"),
        ({"table": torch.tensor([[1.0, math.inf]])}, "hold NaN or infinity"),
        ({"table": torch.ones(513, 2)}, "513 positions x 2 dimensions is too large for a view, 512 x 512 is the most"),
        ({"table": torch.ones(2, 600)}, "2 positions x 600 dimensions is too large"),
        ({"start": -1}, "start is the position of the first row, from 0, not -1"),
        ({"base": 1.0}, "the base of the frequencies is above 1 and finite, not 1.0"),
        ({"position": 9}, "there is no position 9: the table has 0 to 8"),
        ({"position": 0, "start": 4}, "there is no position 0: the table has 4 to 12"),
        ({"offset": 9}, "offset 9 leads from position 0 out of the table, which has 0 to 8"),
        ({"position": 3, "offset": -4}, "offset -4 leads from position 3 out of the table"),
        ({"pair": 2}, "there is no pair 2: the table has 2, counted from 0"),
        ({"pair": -1}, "there is no pair -1"),
    ],
)


def test_position_offset_and_pair():
    view = PositionView(plain(9, 4))
    assert (view.position, view.offset, view.pair) == (0, 2, 0)
    view.position, view.offset, view.pair = 6, -6, 1
    for name, value in {"position": 5, "offset": 3, "pair": 2}.items():
        with pytest.raises(traitlets.TraitError, match="offset -6 leads" if name == "position" else name):
            setattr(view, name, value)
    assert (view.position, view.offset, view.pair) == (6, -6, 1)
    with view.hold_trait_notifications():
        view.position, view.offset = 1, 7
    assert (view.position, view.offset) == (1, 7)
    assert PositionView(plain(1, 2)).offset == 0


def test_words_stand_at_the_first_positions():
    view = PositionView(sinusoids(4, 6), start=1, tokens=["the", "<b>"])
    assert view.data["tokens"] == ["the", "<b>"] and "tokens" not in PositionView(sinusoids(4, 6)).data
    with pytest.raises(ValueError, match="5 tokens do not fit into a table of 4 positions"):
        PositionView(sinusoids(4, 6), tokens="abcde")


def test_the_title_of_a_page_is_for_people():
    assert PositionView(sinusoids(60, 8), start=1).title() == "Positions as waves: positions 1 to 60, vectors of size 8"
    assert PositionView(sinusoids(60, 8)).title() == "Positions as waves: positions 0 to 59, sinusoids of size 8"
