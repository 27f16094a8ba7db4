"""Checks of lesson 08. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, avoids, called, check, has_shape, is_close, matches, number, table as by_entry
from .crashes import explain_crash

BASE, SIZE, OFFSET, PAIR = 10000.0, 32, 35, 3  # of the view at the top: pair 3 turns once in 35.3 positions

_OWN = "that is the package's or the lesson's table: write the sines and cosines yourself."
OWN_TABLE: dict[str, str] = dict.fromkeys(("seqlearn.nn.positions.sinusoids", "__main__.plain_sinusoids"), _OWN)


@check("8.1", section="6. Near or far is a turn")
def check_full_turn(full_turn: object) -> None:
    """The pair of 32 dimensions that makes one full turn in 35 positions."""
    pair = number(full_turn, "give the number of the pair")
    if pair == PAIR:
        return
    if pair == OFFSET:
        raise Wrong(f"{pair:g} is the offset; you want the number of the pair, from 0 to {SIZE // 2 - 1}.")
    if 355 <= pair <= 365 or 6.1 <= pair <= 6.4:
        raise Wrong(f"{pair:g} is the angle of one full turn. Which *pair* has turned by it?")
    if pair not in range(SIZE // 2):
        raise Wrong(f"there is no pair {pair:g}: they are counted from 0 to {SIZE // 2 - 1}.")
    turns = OFFSET * _frequency(pair, SIZE) / (2 * math.pi)
    if pair in (2 * PAIR, 2 * PAIR + 1):  # its dimensions; to name them would give the pair away
        raise Wrong(
            f"{pair:g} is too slow as a pair (it makes {turns:.2f} turns). Or did you give a dimension? "
            "You want the number of the *pair*."
        )
    if turns < 0.01:
        raise Wrong(f"pair {pair:g} has hardly moved in {OFFSET} steps: that is why its hands lie on each other.")
    side = "too fast" if turns > 1 else "too slow"
    raise Wrong(f"pair {pair:g} is {side}: in {OFFSET} steps it makes {turns:.2f} turns, and you want 1.")


def _frequency(pair: float, size: float) -> float:
    return BASE ** (-2 * pair / size)


@check("8.2", section="3. Clocks")
def check_table(table: Callable[[int, int], Tensor]) -> None:
    """Try out `table(steps, size)` with even sizes."""
    for steps, size in ((5, 8), (40, 6), (1, 2)):
        _examine_table(table, steps, size)
    avoids(table, OWN_TABLE, 3, 4)


@check("8.4", section="6. Odd widths and long inputs")
def check_any_table(any_table: Callable[[int, int], Tensor]) -> None:
    """Try out `any_table(steps, size)`, with odd sizes, too."""
    for steps, size in ((5, 8), (9, 5), (4, 1), (30, 7)):
        _examine_table(any_table, steps, size)
    avoids(any_table, OWN_TABLE, 3, 5)


def _examine_table(table: Callable[[int, int], Tensor], steps: int, size: int) -> None:
    asked = f"for {steps} steps and size {size}"
    try:
        answer = called(table, steps, size)
    except (ArithmeticError, LookupError, RuntimeError) as error:
        raise Wrong(f"{asked}, {explain_crash(error)}") from None
    shapes = {(size, steps): "your table is transposed: a row for each position, a column for each dimension."}
    if size % 2:
        shapes[steps, size - 1] = f"for size {size} your table has {size - 1} columns: the last sine is missing."
        shapes[steps, size + 1] = f"for size {size} your table has {size + 1} columns: leave the last cosine out."
    has_shape(answer, (steps, size), f"table {asked}", shapes)
    if answer.dtype in (torch.float16, torch.bfloat16):
        raise Wrong(f"{answer.dtype} has three digits at most: give the table in torch.float32.")
    if size % 2 and not answer[:, -1].any():
        raise Wrong(f"for size {size} the last column is all zeros: it should be the sine of the last hand.")
    right, mistakes, otherwise = _table(steps, size), _table_mistakes(steps, size), ""
    if size % 2:
        mistakes |= _odd_mistakes(right, steps, size)
        if is_close(answer[:, :-1], [row[:-1] for row in right]):
            otherwise = f"{SINE_LAST.format(size)} something else."
    matches(answer, right, mistakes, otherwise=otherwise, axes=[f"{asked}, position"])


def _table(steps, size, speed=None, waves=(math.sin, math.cos)) -> list[list[float]]:
    """The sinusoids; those of a usual mistake with the `speed` of each column, or other `waves`."""
    speed = speed or (lambda column: _frequency(column // 2, size))
    return by_entry((steps, size), lambda position, column: waves[column % 2](position * speed(column)))


def _table_mistakes(steps: int, size: int) -> dict[str, list[list[float]]]:
    def table(speed: Callable[[int], float] | None = None, *waves: Callable[[float], float]) -> list[list[float]]:
        return _table(steps, size, speed, waves or (math.sin, math.cos))

    def halves(table: list[list[float]]) -> list[list[float]]:
        return [row[0::2] + row[1::2] for row in table]

    return {
        "the cosine comes first: even columns hold the sine.": table(None, math.cos, math.sin),
        "sines everywhere: the odd columns want the cosine.": table(None, math.sin, math.sin),
        "cosines everywhere: the even columns want the sine.": table(None, math.cos, math.cos),
        "these are the angles: take their sine and cosine.": table(None, float, float),
        "first all sines, then all cosines: they should take turns, `[:, 0::2]` and `[:, 1::2]`.": halves(table()),
        "your positions start from 1: the first row is position 0, with sines 0 and cosines 1.": (
            _table(steps + 1, size)[1:]
        ),
        "your pairs start from 1: the first one is pair 0, with the frequency 1.": (
            table(lambda c: _frequency(c // 2 + 1, size))
        ),
        "your hands slow down too fast: the exponent is 2m/size with m the *pair*. Was the 2 taken twice?": (
            table(lambda c: _frequency(c // 2 * 2, size))
        ),
        "your hands slow down too slowly: the exponent is 2m/size, and yours is m/size.": (
            table(lambda c: _frequency(c // 2 / 2, size))
        ),
        "each column has its own frequency: the two columns of a pair share one, that of the sine.": (
            table(lambda c: _frequency(c / 2, size))
        ),
        "you took 2 times the column in the exponent: it is 2 times the *pair*, for both of its columns.": (
            table(lambda c: _frequency(c, size))
        ),
        "all hands have the same speed: is the base missing, or did `//` round the exponent to 0?": (
            table(lambda c: 1.0)
        ),
        "the base is 1000: it should be 10000, with four zeros.": table(lambda c: 1000 ** (-(c // 2) * 2 / size)),
        "you multiply by the power of the base: divide by it, or take a minus in the exponent.": (
            table(lambda c: 1 / _frequency(c // 2, size))
        ),
        "that is 10000 *times* 2m/size: take the power, `**`.": table(lambda c: 1 / (BASE * (c // 2) * 2 / size or 1)),
        "you divide by the number of steps in the exponent: it is the size, d.": (
            table(lambda c: _frequency(c // 2, steps))
        ),
        "your angles were taken for degrees: sines take radians, as they are.": (
            table(lambda c: math.radians(_frequency(c // 2, size)))
        ),
        f"you divide by size - 2 in the exponent, as some libraries do: for size {size}, divide by {size}.": (
            table(lambda c: _frequency(c // 2, size - 2 or 1))
        ),
        "first all sines, then all cosines, and you divide by size - 2, as some libraries do: here the columns take "
        "turns, and you divide by the size.": halves(table(lambda c: _frequency(c // 2, size - 2 or 1))),
    }


SINE_LAST = "for size {} the last column should be the sine of the last hand; yours is"


def _odd_mistakes(right: list[list[float]], steps: int, size: int) -> dict[str, list[list[float]]]:
    """The mistakes that only an odd size knows."""
    divided = "for size {} you divide by {} in the exponent: take the size that was asked for."

    def with_last(wave: Callable[[float], float], pair: int) -> list[list[float]]:
        return [[*row[:-1], wave(i * _frequency(pair, size))] for i, row in enumerate(right)]

    return {
        divided.format(size, size + 1): _table(steps, size, lambda c: _frequency(c // 2, size + 1)),
        divided.format(size, size - 1): _table(steps, size, lambda c: _frequency(c // 2, size - 1 or 1)),
        f"for size {size} you left the *first* cosine out: it is the last one that has no column.": (
            _table(steps, size, lambda c: _frequency((c + 1) // 2, size))
        ),
        f"{SINE_LAST.format(size)} the *cosine* of the last hand.": with_last(math.cos, size // 2),
        f"{SINE_LAST.format(size)} the sine of the hand before the last.": with_last(math.sin, size // 2 - 1),
        f"{SINE_LAST.format(size)} the cosine of the hand before the last.": with_last(math.cos, size // 2 - 1),
    }


@check("8.5", section="9. Rotary positions")
def check_turn_all(turn_all: Callable[[Tensor], Tensor]) -> None:
    """Try out `turn_all(x)`: rows of other numbers, lengths and sizes than any in the lesson."""
    for steps, size in ((4, 6), (7, 4), (3, 10), (1, 2)):
        x = torch.tensor(by_entry((steps, size), lambda i, column: math.sin(1 + 3 * i + 2 * column) + column % 3))
        asked = f"for {steps} rows of size {size}"
        try:
            answer = called(turn_all, x)
        except (ArithmeticError, LookupError, RuntimeError) as error:
            raise Wrong(f"{asked}, {explain_crash(error)}") from None
        pairs = "that is the angle of each pair, or one number of each: give both numbers of all pairs, side by side."
        apart = "put the two numbers of all pairs into one row: `.flatten(1)`, or the columns 0::2 and 1::2."
        has_shape(answer, (steps, size), f"answer {asked}", {(steps, size // 2): pairs, (steps, size // 2, 2): apart})
        matches(answer, _turned(x.tolist()), _turned_mistakes(x.tolist()), axes=[f"{asked}, position"])
    own = "that is the package's or the lesson's answer: write the turn of a pair yourself, with sines and cosines."
    others = ("seqlearn.nn.positions.forward", "seqlearn.nn.positions.rotation", "__main__.plain_rotary")
    avoids(turn_all, dict.fromkeys(others, own), torch.ones(3, 4))


Rows = list[list[float]]


def _angle(i: int, m: float, size: int) -> float:
    return i * _frequency(m, size)


def _turned(
    rows: Rows,
    angle: Callable[[int, int, int], float] = _angle,
    turn: Callable = lambda x, y, c, s: (x * c - y * s, x * s + y * c),
    pairs: Callable = lambda m: (2 * m, 2 * m + 1),
) -> Rows:
    """The right answer of 8.5; that of a usual mistake with another angle, another turn or other pairs."""
    size = len(rows[0])
    answer = [[0.0] * size for _ in rows]
    for i, row in enumerate(rows):
        for m in range(size // 2):
            (one, other), theta = pairs(m), angle(i, m, size)
            answer[i][one], answer[i][other] = turn(row[one], row[other], math.cos(theta), math.sin(theta))
    return answer


TURNS: dict[str, Callable[[float, float, float, float], tuple[float, float]]] = {
    "you turn clockwise: the minus belongs to the *first* number, x cos - y sin.": (
        lambda x, y, c, s: (x * c + y * s, -x * s + y * c)
    ),
    "the second number of each pair is made from the *new* first one: keep the old one until both are done.": (
        lambda x, y, c, s: (x * c - y * s, (x * c - y * s) * s + y * c)
    ),
    "the first number of each pair is made from the *new* second one: keep the old one until both are done.": (
        lambda x, y, c, s: (x * c - (x * s + y * c) * s, x * s + y * c)
    ),
    "a minus is missing: the first number of a pair is x cos *minus* y sin.": (
        lambda x, y, c, s: (x * c + y * s, x * s + y * c)
    ),
    "there is one minus too many: the second number of a pair is x sin *plus* y cos.": (
        lambda x, y, c, s: (x * c - y * s, x * s - y * c)
    ),
    "sine and cosine are exchanged: a turn by 0 changes nothing, so row 0 should stay as it is.": (
        lambda x, y, c, s: (x * s - y * c, x * c + y * s)
    ),
    "each number is only multiplied by its own sine or cosine: a turn mixes both numbers of a pair.": (
        lambda x, y, c, s: (x * s, y * c)
    ),
    "each number is only multiplied by its own cosine or sine: a turn mixes both numbers of a pair.": (
        lambda x, y, c, s: (x * c, y * s)
    ),
}
ANGLES: dict[str, Callable[[int, int, int], float]] = {
    "your positions start from 1: row 0 is position 0, and does not turn.": lambda i, m, size: _angle(i + 1, m, size),
    "every row turns by the same angle: multiply the frequency by the position.": lambda i, m, size: _angle(1, m, size),
    "all pairs turn at the same speed: the angle is the position times the frequency of the *pair*.": (
        lambda i, m, size: i
    ),
    "your pairs start from 1: the first one is pair 0, with the frequency 1.": (
        lambda i, m, size: _angle(i, m + 1, size)
    ),
    "the exponent is 2m/size, and yours is 4m/size: was the 2 taken twice?": lambda i, m, size: _angle(i, 2 * m, size),
    "the exponent is 2m/size, and yours is m/size.": lambda i, m, size: _angle(i, m / 2, size),
    "you multiply by the power of the base: divide by it, or take a minus in the exponent.": (
        lambda i, m, size: i / _frequency(m, size)
    ),
    "your angles were taken for degrees: sines take radians, as they are.": (
        lambda i, m, size: math.radians(_angle(i, m, size))
    ),
    "your base is 1000: take 10000.": lambda i, m, size: i * 1000 ** (-2 * m / size),
    "your base is 100000: take 10000.": lambda i, m, size: i * 100000 ** (-2 * m / size),
}


def _turned_mistakes(rows: Rows) -> dict[str, Rows]:
    steps, size = len(rows), len(rows[0])
    added = [[x + y for x, y in zip(*both, strict=True)] for both in zip(rows, _table(steps, size), strict=True)]
    return {
        "nothing has turned: the answer is x itself.": rows,
        "you pair dimension m with m + size/2, as some other code does: here 2m and 2m + 1 are a pair.": (
            _turned(rows, pairs=lambda m: (m, m + size // 2))
        ),
        "you add the sinusoids: rotary positions *turn* the pairs of x, and add nothing.": added,
        **{said: _turned(rows, turn=turn) for said, turn in TURNS.items()},
        "the new numbers are right, but first all first ones, then all second ones: they should take turns, "
        "`[:, 0::2]` and `[:, 1::2]`.": [row[0::2] + row[1::2] for row in _turned(rows)],
        **{said: _turned(rows, angle) for said, angle in ANGLES.items()},
    }
