"""Checks of lesson 08. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_shape, is_close, matches, number, shown
from .checking import table as by_entry
from .crashes import explain_crash

BASE, SIZE, OFFSET, PAIR = 10000.0, 32, 35, 3  # of the view of section 6: pair 3 turns once in 35.3 positions


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


@check("8.4", section="12. Odd widths, long inputs, and decoders (optional)")
def check_any_table(any_table: Callable[[int, int], Tensor]) -> None:
    """Try out `any_table(steps, size)`, with odd sizes, too."""
    for steps, size in ((5, 8), (9, 5), (4, 1), (30, 7)):
        _examine_table(any_table, steps, size)


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
        "your positions start from 1: the first row is position 0, with sines 0 and cosines 1.":
            _table(steps + 1, size)[1:],
        "your pairs start from 1: the first one is pair 0, with the frequency 1.":
            table(lambda c: _frequency(c // 2 + 1, size)),
        "your hands slow down too fast: the exponent is 2j/size with j the *pair*. Was the 2 taken twice?":
            table(lambda c: _frequency(c // 2 * 2, size)),
        "your hands slow down too slowly: the exponent is 2j/size, and yours is j/size.":
            table(lambda c: _frequency(c // 2 / 2, size)),
        "each column has its own frequency: the two columns of a pair share one, that of the sine.":
            table(lambda c: _frequency(c / 2, size)),
        "you took 2 times the column in the exponent: it is 2 times the *pair*, for both of its columns.":
            table(lambda c: _frequency(c, size)),
        "all hands have the same speed: the base is missing.": table(lambda c: 1.0),
        "the base is 1000: it should be 10000, with four zeros.": table(lambda c: 1000 ** (-(c // 2) * 2 / size)),
        "you multiply by the power of the base: divide by it, or take a minus in the exponent.":
            table(lambda c: 1 / _frequency(c // 2, size)),
        "that is 10000 *times* 2j/size: take the power, `**`.": table(lambda c: 1 / (BASE * (c // 2) * 2 / size or 1)),
        "you divide by the number of steps in the exponent: it is the size, d.":
            table(lambda c: _frequency(c // 2, steps)),
        "your angles were taken for degrees: sines take radians, as they are.":
            table(lambda c: math.radians(_frequency(c // 2, size))),
        f"you divide by size - 2 in the exponent, as some libraries do: for size {size}, divide by {size}.":
            table(lambda c: _frequency(c // 2, size - 2 or 1)),
        "first all sines, then all cosines, and you divide by size - 2, as some libraries do: here the columns take "
        "turns, and you divide by the size.": halves(table(lambda c: _frequency(c // 2, size - 2 or 1))),
    }  # fmt: skip


SINE_LAST = "for size {} the last column should be the sine of the last hand; yours is"


def _odd_mistakes(right: list[list[float]], steps: int, size: int) -> dict[str, list[list[float]]]:
    """The mistakes that only an odd size knows."""
    divided = "for size {} you divide by {} in the exponent: take the size that was asked for."

    def with_last(wave: Callable[[float], float], pair: int) -> list[list[float]]:
        return [[*row[:-1], wave(i * _frequency(pair, size))] for i, row in enumerate(right)]

    return {
        divided.format(size, size + 1): _table(steps, size, lambda c: _frequency(c // 2, size + 1)),
        divided.format(size, size - 1): _table(steps, size, lambda c: _frequency(c // 2, size - 1 or 1)),
        f"for size {size} you left the *first* cosine out: it is the last one that has no column.":
            _table(steps, size, lambda c: _frequency((c + 1) // 2, size)),
        f"{SINE_LAST.format(size)} the *cosine* of the last hand.": with_last(math.cos, size // 2),
        f"{SINE_LAST.format(size)} the sine of the hand before the last.": with_last(math.sin, size // 2 - 1),
        f"{SINE_LAST.format(size)} the cosine of the hand before the last.": with_last(math.cos, size // 2 - 1),
    }  # fmt: skip


@check("8.3", section="6. Near or far is a turn")
def check_pair_rotation(pair_rotation: Callable[[int, int, int], Tensor]) -> None:
    """Try out `pair_rotation(k, j, size)` -> 2 x 2, at offsets of both signs."""
    for k, j, size in ((2, 3, 24), (2, 1, 8), (-3, 2, 10), (5, 0, 4), (0, 1, 6)):
        answer = called(pair_rotation, k, j, size)
        whole_row = "that is the matrix of the whole row: return the 2 x 2 block of pair j."
        has_shape(answer, (2, 2), "matrix", {(size, size): whole_row})
        right, where = _turn(k * _frequency(j, size)), f"for k = {k}: " if k < 0 else ""
        mistakes = [(f"{where}{said}", numbers) for said, numbers in _turn_mistakes(k, j, size)]
        told = f"for k = {k}, j = {j}, size {size} the matrix should be {shown(right)}; yours: {shown(answer)}."
        matches(answer, right, mistakes, otherwise=told)


def _turn(angle: float) -> list[list[float]]:
    return [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]


def _turn_mistakes(k: int, j: int, size: int) -> list[tuple[str, list[list[float]]]]:
    speed = _frequency(j, size)
    (cosine, sine), _ = _turn(k * speed)
    exchanged = "sine and cosine are exchanged: a turn by 0 changes nothing, so cosines stand on the diagonal."
    return [
        ("it turns forwards although k is negative: did the sign of k get lost?" if k < 0 else
         "it turns the other way, by -k: the minus stands in the *second* row.", _turn(-k * speed)),
        (exchanged, [[sine, cosine], [cosine, -sine]]),
        (exchanged, [[sine, cosine], [-cosine, sine]]),
        ("a minus is missing: in the second row it is -sine.", [[cosine, sine], [sine, cosine]]),
        ("the minus is in the wrong entry: that is a mirror, not a turn.", [[cosine, sine], [sine, -cosine]]),
        ("there is one minus too many: the sine of the first row has none.", [[cosine, -sine], [-sine, cosine]]),
        ("k does not enter: the angle is k times the frequency.", _turn(speed)),
        ("the frequency does not enter: the angle is k times that of pair j.", _turn(k)),
        ("pairs count from 0: the exponent is 2j/size, and yours is 2(j - 1)/size.",
         _turn(k * _frequency(j - 1, size))),
        ("the exponent is 2j/size, and yours is 4j/size.", _turn(k * _frequency(2 * j, size))),
        ("the exponent is 2j/size, and yours is j/size.", _turn(k * _frequency(j / 2, size))),
        ("you multiply by the power of the base: divide k by it.", _turn(k / speed)),
        ("your angle was taken for degrees: sines take radians, as they are.", _turn(math.radians(k * speed))),
        *((f"your size is always {fixed}: take the size that was asked for, here {size}.",
           _turn(k * _frequency(j, fixed))) for fixed in (8, 16, 32, 64)),
    ]  # fmt: skip
