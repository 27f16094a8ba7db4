"""Positions: the formula in a loop, rotations, d2l's table, and what rotary scores may depend on."""

import math

import pytest
import torch
from hypothesis import given, strategies as st

from seqlearn.nn.positions import (
    LearnedPositions,
    NoPositions,
    PositionalEncoding,
    RotaryPositions,
    frequencies,
    rotation,
    sinusoids,
)
from seqlearn.runtime.d2l_compat import d2l

SIZES = [1, 2, 5, 8]


@pytest.mark.parametrize("size", SIZES)
def test_sinusoids_equal_the_formula_in_a_loop(size):
    found = sinusoids(4, size, start=100_000, dtype=torch.float64)
    for i in range(4):
        for d in range(size):
            angle = (100_000 + i) / 10000 ** ((d - d % 2) / size)
            assert float(found[i, d]) == pytest.approx(math.cos(angle) if d % 2 else math.sin(angle), abs=1e-10)
    assert sinusoids(4, size).dtype == torch.float32 and frequencies(size).shape == ((size + 1) // 2,)
    torch.testing.assert_close(sinusoids(4, size, start=100_000), found.float(), atol=1e-7, rtol=0)


def test_sinusoids_by_hand():
    root = math.cos(0.01), math.sin(0.01)  # of four dimensions, the second pair is 100 times slower
    expected = [[0, 1, 0, 1], [math.sin(1), math.cos(1), root[1], root[0]]]
    torch.testing.assert_close(sinusoids(2, 4), torch.tensor(expected))


def test_the_table_is_d2ls():
    theirs = d2l.PositionalEncoding(6, dropout=0.0, max_len=700).eval()
    ours = PositionalEncoding(6).eval()
    x = torch.randn(2, 700, 6)
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-5, rtol=0)
    torch.testing.assert_close(ours.P, theirs.P, atol=1e-5, rtol=0)


@given(offset=st.integers(-50, 50), pairs=st.integers(1, 6), position=st.integers(0, 300))
def test_one_rotation_moves_every_position(offset, pairs, position):
    matrix = rotation(offset, 2 * pairs, dtype=torch.float64)
    rows = sinusoids(5, 2 * pairs, start=position, dtype=torch.float64)
    moved = sinusoids(5, 2 * pairs, start=position + offset, dtype=torch.float64)
    torch.testing.assert_close(rows @ matrix.T, moved, atol=1e-12, rtol=0)
    torch.testing.assert_close(matrix @ matrix.T, torch.eye(2 * pairs, dtype=torch.float64))


@pytest.mark.parametrize("build", [lambda: rotation(1, 5), lambda: RotaryPositions(5)])
def test_an_odd_size_has_no_rotation(build):
    with pytest.raises(ValueError, match="of 5 the last one has no partner"):
        build()


@pytest.mark.parametrize("size", SIZES)
def test_it_is_added_from_any_start_and_at_any_length(size):
    encoding = PositionalEncoding(size).eval()
    x = torch.randn(2, 3, size)
    copy = x.clone()
    for start in (0, 2, 255, 9000):
        torch.testing.assert_close(encoding(x, start) - x, sinusoids(3, size, start).expand(2, 3, size))
    assert torch.equal(x, copy) and encoding.state_dict() == {}
    room = encoding.P.shape[1]
    encoding(x, room - 3)
    assert encoding.P.shape[1] == room, "a table that is long enough is kept"
    encoding(x, room - 2)
    assert encoding.P.shape[1] == 2 * room, "one that is not is doubled: a search does not write it at each step"


@pytest.mark.parametrize("positions", [PositionalEncoding(4), LearnedPositions(5, 4)])
def test_positions_are_counted_from_0(positions):
    with pytest.raises(ValueError, match="no position -1"):
        positions(torch.zeros(1, 2, 4), start=-1)


def test_conversions_do_not_round_the_table():
    x = torch.zeros(1, 300, 6)
    exact = sinusoids(300, 6, dtype=torch.float64)
    encoding = PositionalEncoding(6).eval().half().double()
    torch.testing.assert_close(encoding(x.double())[0], exact, atol=1e-12, rtol=0)
    for dtype, error in ((torch.float16, 1e-3), (torch.bfloat16, 8e-3)):
        low = encoding.to(dtype)(x.to(dtype))
        assert low.dtype == dtype and encoding.P.dtype.itemsize >= 4
        torch.testing.assert_close(low[0].double(), exact, atol=error, rtol=0)
    torch.testing.assert_close(encoding.float()(x)[0], exact.float(), atol=1e-7, rtol=0)
    empty = PositionalEncoding(6).to("meta").to_empty(device="cpu")
    torch.testing.assert_close(empty.P[0, :256], exact[:256].float())


def test_a_table_that_grew_in_search_serves_training():
    rotary = RotaryPositions(4)
    with torch.inference_mode():
        rotary(torch.zeros(1, 1, 600, 4))
    x = torch.randn(1, 1, 600, 4, requires_grad=True)
    rotary(x).sum().backward()
    assert x.grad.abs().sum() > 0


@pytest.mark.parametrize("positions", [PositionalEncoding(4, 0.5), LearnedPositions(5, 4, 0.5), NoPositions(0.5)])
def test_dropout_falls_on_the_sum_in_training_alone(positions):
    x = torch.ones(3, 5, 4)
    sums = positions.eval()(x)
    dropped = positions.train()(x)
    assert ((dropped == 0) | torch.isclose(dropped, 2 * sums)).all() and (dropped == 0).any() and (dropped != 0).any()


def test_learned_positions():
    positions = LearnedPositions(5, 4).eval()
    x = torch.randn(2, 2, 4)
    torch.testing.assert_close(positions(x, start=3), x + positions.P[:, 3:5])
    positions(x, start=3).sum().backward()
    assert positions.P.grad[0, :3].abs().sum() == 0 and (positions.P.grad[0, 3:] == 2).all()
    with pytest.raises(ValueError, match="no position 5: 5 were learned"):
        positions(x, start=4)
    assert torch.equal(NoPositions().eval()(x, start=10**6), x)


def test_rotary_equals_the_formula_in_a_loop():
    """The matrix of Su et al. (2021), equation 15, block by block: pairs are neighbours."""
    x = torch.randn(2, 3, 4, 6, dtype=torch.float64)
    found = RotaryPositions(6).double()(x, start=7)
    for place in torch.cartesian_prod(*map(torch.arange, (2, 3, 4, 3))).tolist():
        b, h, i, j = place
        angle = (7 + i) * 10000 ** (-2 * j / 6)
        first, second = x[b, h, i, 2 * j : 2 * j + 2].tolist()
        expected = (
            first * math.cos(angle) - second * math.sin(angle),
            second * math.cos(angle) + first * math.sin(angle),
        )
        assert found[b, h, i, 2 * j : 2 * j + 2].tolist() == pytest.approx(expected)


@given(query=st.integers(0, 200), key=st.integers(0, 200), shift=st.integers(0, 2000))
def test_a_rotary_score_depends_on_the_distance_alone(query, key, shift):
    rotary = RotaryPositions(8).double()
    q, k = torch.randn(2, 1, 1, 1, 8, dtype=torch.float64)

    def score(i, j):
        return (rotary(q, start=i) * rotary(k, start=j)).sum()

    torch.testing.assert_close(score(query, key), score(query + shift, key + shift), atol=1e-9, rtol=0)
    torch.testing.assert_close(rotary(q, start=query).norm(), q.norm())


@pytest.mark.parametrize(("dtype", "error"), [(torch.float16, 2e-3), (torch.bfloat16, 2e-2)])
def test_rotary_in_half_precision_turns_by_exact_angles(dtype, error):
    x = torch.randn(1, 1, 1, 8).to(dtype)
    exact = RotaryPositions(8).double()(x.double(), start=3001)
    found = RotaryPositions(8).to(dtype)(x, start=3001)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), exact, atol=error, rtol=error)
    assert torch.equal(found, RotaryPositions(8)(x.float(), start=3001).to(dtype)), "computed in float32"


def test_rotary_gradients_and_arguments():
    x = torch.randn(1, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    copy = x.detach().clone()
    assert torch.autograd.gradcheck(RotaryPositions(4).double(), [x]) and torch.equal(x, copy)
