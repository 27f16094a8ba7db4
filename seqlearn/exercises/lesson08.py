"""Checks of lesson 08. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, check

BASE, SIZE, OFFSET, PAIR = 10000.0, 32, 35, 3  # of the view of section 6: pair 3 turns once in 35.3 positions


@check("8.1", section="6. Near or far is a turn")
def check_full_turn(full_turn: object) -> None:
    """The pair of 32 dimensions that makes one full turn in 35 positions."""
    if isinstance(full_turn, bool) or not isinstance(full_turn, int | float):
        raise Wrong(f"give the number of the pair; yours is of type {type(full_turn).__name__}.")
    if full_turn == PAIR:
        return
    if full_turn == OFFSET:
        raise Wrong(f"{full_turn:g} is the offset; you want the number of the pair, from 0 to {SIZE // 2 - 1}.")
    if 355 <= full_turn <= 365 or 6.1 <= full_turn <= 6.4:
        raise Wrong(f"{full_turn:g} is the angle of one full turn. Which *pair* has turned by it?")
    if full_turn not in range(SIZE // 2):
        raise Wrong(f"there is no pair {full_turn:g}: they are counted from 0 to {SIZE // 2 - 1}.")
    turns = OFFSET * _frequency(int(full_turn), SIZE) / (2 * math.pi)
    if full_turn in (2 * PAIR, 2 * PAIR + 1):  # its dimensions; to name them would give the pair away
        raise Wrong(
            f"{full_turn:g} is too slow as a pair (it makes {turns:.2f} turns). Or did you give a dimension? "
            "You want the number of the *pair*."
        )
    if turns < 0.01:
        raise Wrong(
            f"pair {full_turn:g} has hardly moved in {OFFSET} steps: its hands lie on each other for that reason."
        )
    side = "too fast" if turns > 1 else "too slow"
    raise Wrong(f"pair {full_turn:g} is {side}: in {OFFSET} steps it makes {turns:.2f} turns, and you want 1.")


@check("8.2", section="3. Clocks")
def check_table(table: Callable[[int, int], Tensor]) -> None:
    """Try out `table(steps, size)` with even sizes."""
    for steps, size in ((5, 8), (40, 6), (1, 2)):
        _examine_table(table(steps, size), steps, size)


@check("8.4", section="12. Odd widths, long inputs, and decoders (optional)")
def check_any_table(any_table: Callable[[int, int], Tensor]) -> None:
    """Try out `any_table(steps, size)`, with odd sizes, too."""
    for steps, size in ((5, 8), (6, 5), (4, 1), (30, 7)):
        answer = any_table(steps, size)
        if size % 2 and isinstance(answer, Tensor) and answer.dim() == 2:
            _examine_odd(answer, steps, size)
        _examine_table(answer, steps, size)


def _examine_odd(answer: Tensor, steps: int, size: int) -> None:
    """The mistakes that only an odd size knows."""
    if tuple(answer.shape) == (steps, size - 1):
        raise Wrong(f"for size {size} your table has {size - 1} columns: the last sine is missing.")
    if tuple(answer.shape) == (steps, size + 1):
        raise Wrong(f"for size {size} your table has {size + 1} columns: leave the last cosine out.")
    if tuple(answer.shape) != (steps, size):
        return
    if not answer[:, -1].any():
        raise Wrong(f"for size {size} the last column is all zeros: it should be the sine of the last hand.")
    if size > 1 and _close(answer, [row[:size] for row in _table(steps, size + 1)]):
        raise Wrong(f"for size {size} you divide by {size + 1} in the exponent: take the size that was asked for.")
    right = _table(steps, size)
    if _close(answer, right) or not _close(answer[:, :-1], [row[:-1] for row in right]):
        return
    last, before = ([i * _frequency(pair, size) for i in range(steps)] for pair in (size // 2, size // 2 - 1))
    columns = {
        "the *cosine* of the last hand": [math.cos(angle) for angle in last],
        "the sine of the hand before the last": [math.sin(angle) for angle in before],
        "the cosine of the hand before the last": [math.cos(angle) for angle in before],
    }
    found = next((name for name, column in columns.items() if _close(answer[:, -1], column)), "something else")
    raise Wrong(f"for size {size} the last column should be the sine of the last hand; yours is {found}.")


def _examine_table(answer: object, steps: int, size: int) -> None:
    asked = f"{steps} steps and size {size}"
    if not isinstance(answer, Tensor):
        raise Wrong(f"the table should be a tensor; yours is of type {type(answer).__name__}.")
    if tuple(answer.shape) == (size, steps) != (steps, size):
        raise Wrong("your table lies on its side: a row for each position, a column for each dimension.")
    if tuple(answer.shape) != (steps, size):
        raise Wrong(f"for {asked} the table should have shape ({steps}, {size}); yours: {tuple(answer.shape)}.")
    right = _table(steps, size)
    if not _close(answer, right):
        raise Wrong(_diagnose_table(answer, right, steps, size))


def _diagnose_table(answer: Tensor, right: list, steps: int, size: int) -> str:
    """Which of the usual mistakes gives this table."""
    sine, cosine = math.sin, math.cos

    def by_column(factor: int) -> list[list[float]]:
        columns = [(c, cosine if c % 2 else sine) for c in range(size)]
        return [[wave(i / BASE ** (factor * c / size)) for c, wave in columns] for i in range(steps)]

    known = {
        "the cosine comes first: even columns hold the sine.": _table(steps, size, first=cosine, second=sine),
        "sines everywhere: the odd columns want the cosine.": _table(steps, size, second=sine),
        "cosines everywhere: the even columns want the sine.": _table(steps, size, first=cosine),
        "these are the angles: take their sine and cosine.": _table(steps, size, first=float, second=float),
        "first all sines, then all cosines: they should take turns, `[:, 0::2]` and `[:, 1::2]`.": [
            row[0::2] + row[1::2] for row in right
        ],
        "your positions start from 1: the first row is position 0, with sines 0 and cosines 1.": _table(
            steps, size, lambda i, j: (i + 1) * _frequency(j, size)
        ),
        "your hands slow down too fast: the exponent is 2j/size with j the *pair*. Was the 2 taken twice?": _table(
            steps, size, lambda i, j: i * _frequency(2 * j, size)
        ),
        "your hands slow down too slowly: the exponent is 2j/size, and yours is j/size.": _table(
            steps, size, lambda i, j: i * _frequency(j / 2, size)
        ),
        "each column has its own frequency: the two columns of a pair share one, that of the sine.": by_column(1),
        "you took 2 times the column in the exponent: it is 2 times the *pair*, for both of its columns.": by_column(2),
        "all hands have the same speed: the base is missing.": _table(steps, size, lambda i, j: float(i)),
        "the base is 1000: it should be 10000, with four zeros.": _table(
            steps, size, lambda i, j: i / 1000 ** (2 * j / size)
        ),
        "you multiply by the power of the base: divide by it, or take a minus in the exponent.": _table(
            steps, size, lambda i, j: i / _frequency(j, size)
        ),
        "that is 10000 *times* 2j/size: take the power, `**`.": _table(
            steps, size, lambda i, j: i / (BASE * 2 * j / size or 1)
        ),
        "you divide by the number of steps in the exponent: it is the size, d.": _table(
            steps, size, lambda i, j: i * _frequency(j, steps)
        ),
        "your angles were taken for degrees: sines take radians, as they are.": _table(
            steps, size, lambda i, j: math.radians(i * _frequency(j, size))
        ),
    }
    for diagnosis, numbers in known.items():
        if _close(answer, numbers):
            return diagnosis
    wrong = ~torch.isclose(answer.detach().double().cpu(), torch.tensor(right, dtype=torch.float64), rtol=0, atol=1e-4)
    i, column = wrong.nonzero()[0].tolist()
    return (
        f"for {steps} steps and size {size}, position {i}, dimension {column} should be {right[i][column]:.4f}; "
        f"yours: {float(answer[i, column]):.4f}."
    )


def _table(
    steps: int,
    size: int,
    angle: Callable[[int, int], float] | None = None,
    first: Callable[[float], float] = math.sin,
    second: Callable[[float], float] = math.cos,
) -> list[list[float]]:
    """The sinusoids; with `angle(position, pair)`, `first` and `second`, those of a usual mistake."""
    angle = angle or (lambda i, j: i * _frequency(j, size))
    return [[(second if c % 2 else first)(angle(i, c // 2)) for c in range(size)] for i in range(steps)]


def _frequency(pair: float, size: int) -> float:
    return BASE ** (-2 * pair / size)


@check("8.3", section="6. Near or far is a turn")
def check_pair_rotation(pair_rotation: Callable[[int, int, int], Tensor]) -> None:
    """Try out `pair_rotation(k, j, size)` -> 2 x 2, at offsets of both signs."""
    for k, j, size in ((2, 1, 8), (-3, 2, 10), (5, 0, 4), (0, 1, 6)):
        answer = pair_rotation(k, j, size)
        if not isinstance(answer, Tensor):
            raise Wrong(f"the matrix should be a tensor; yours is of type {type(answer).__name__}.")
        if tuple(answer.shape) == (size, size):
            raise Wrong("that is the matrix of the whole row: return the 2 x 2 block of pair j.")
        if tuple(answer.shape) != (2, 2):
            raise Wrong(f"the matrix should have shape (2, 2); yours: {tuple(answer.shape)}.")
        if not _close(answer, _turn(k * _frequency(j, size))):
            raise Wrong(_diagnose_turn(answer, k, j, size))


def _turn(angle: float) -> list[list[float]]:
    return [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]


def _diagnose_turn(answer: Tensor, k: int, j: int, size: int) -> str:
    """Which of the usual mistakes gives this matrix."""
    speed = _frequency(j, size)
    (cosine, sine), _ = right = _turn(k * speed)
    exchanged = "sine and cosine have changed places: a turn by 0 changes nothing, so cosines stand on the diagonal."
    backwards = [(_turn(-k * speed), "it turns forwards although k is negative: did the sign of k get lost?")]
    known = [
        *(backwards if k < 0 else []),
        (_turn(-k * speed), "it turns the other way, by -k: the minus stands in the *second* row."),
        ([[sine, cosine], [cosine, -sine]], exchanged),
        ([[sine, cosine], [-cosine, sine]], exchanged),
        ([[cosine, sine], [sine, cosine]], "a minus is missing: in the second row it is -sine."),
        ([[cosine, sine], [sine, -cosine]], "the minus is at the wrong place: that is a mirror, not a turn."),
        ([[cosine, -sine], [-sine, cosine]], "there is one minus too many: the sine of the first row has none."),
        (_turn(speed), "k does not enter: the angle is k times the frequency."),
        (_turn(float(k)), "the frequency does not enter: the angle is k times that of pair j."),
        (_turn(k * _frequency(2 * j, size)), "the exponent is 2j/size, and yours is 4j/size."),
        (_turn(k * _frequency(j / 2, size)), "the exponent is 2j/size, and yours is j/size."),
        (_turn(k / speed), "you multiply by the power of the base: divide k by it."),
        (_turn(math.radians(k * speed)), "your angle was taken for degrees: sines take radians, as they are."),
    ]
    for numbers, diagnosis in known:
        if _close(answer, numbers):
            return f"for k = {k}: {diagnosis}" if k < 0 else diagnosis
    rows, mine = (
        "; ".join(" ".join(f"{number:.3f}" for number in row) for row in matrix) for matrix in (right, answer.tolist())
    )
    return f"for k = {k}, j = {j}, size {size} the matrix should be [{rows}]; yours: [{mine}]."


def _close(tensor: Tensor, numbers: list, error: float = 1e-4) -> bool:
    right = torch.tensor(numbers, dtype=torch.float64)
    return torch.allclose(tensor.detach().double().cpu(), right, rtol=0, atol=error)
