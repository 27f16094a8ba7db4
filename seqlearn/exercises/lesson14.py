"""Checks of lesson 14. The models of 14.3 are made of numbers, so what each of their heads does is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_shape, matches, number, shown, table


@check("14.1", section="1. Two sentences, one noun apart")
def check_patch_rows(patch_rows: Callable[..., Tensor]) -> None:
    """Try out `patch_rows(own, theirs, rows)` on random vectors."""
    generator = torch.Generator().manual_seed(14)
    for shape, rows in (((2, 5, 3), [1, 3]), ((1, 4, 4), [0]), ((3, 3, 2), []), ((2, 4, 3), [3, 0])):
        own, theirs = (torch.randn(shape, generator=generator) for _ in range(2))
        answer = called(patch_rows, own, theirs, rows)
        has_shape(answer, shape, "vectors", {(shape[0], len(rows), shape[2]): "return all rows, not only the patched."})
        matches(answer, *_patched_rows(own, theirs, rows), axes=("sentence", "row"))


def _patched_rows(own: Tensor, theirs: Tensor, rows: list[int]) -> tuple[list, dict[str, Tensor | list]]:
    """The right vectors, and those of usual mistakes."""

    def patched(own: Tensor, theirs: Tensor, taken: Callable[[int, int, int], bool]) -> list:
        """The own vectors, number by number; `taken(sentence, row, number)` says which are those of the other one."""
        mine, other = own.tolist(), theirs.tolist()
        return table(own.shape, lambda b, row, n: (other if taken(b, row, n) else mine)[b][row][n])

    return patched(own, theirs, lambda b, row, n: row in rows), {
        "nothing is patched: these are the vectors of the sentence itself.": own,
        "all rows come from the other sentence: only those in `rows` should.": theirs,
        "it is the other way round: the rows in `rows` come from the other sentence, and all others stay.": (
            patched(theirs, own, lambda b, row, n: row in rows)
        ),
        "you patched *numbers* of each vector: rows are the middle axis, `[:, rows]`.": (
            patched(own, theirs, lambda b, row, n: n in rows)
        ),
        "you patched *sentences*: rows are the middle axis, `[:, rows]`.": (
            patched(own, theirs, lambda b, row, n: b in rows)
        ),
        "only the first sentence of the batch is patched.": (
            patched(own, theirs, lambda b, row, n: row in rows and b == 0)
        ),
        "only one of the rows is patched.": patched(own, theirs, lambda b, row, n: row in rows[:1]),
        "rows count from 0.": patched(own, theirs, lambda b, row, n: row + 1 in rows),
        "the two vectors are added: the other one should stand in the place of the own one.": (
            patched(own, own + theirs, lambda b, row, n: row in rows)
        ),
    }


@check("14.2", section="2. Many pairs")
def check_moved(moved: Callable[..., float]) -> None:
    """Try out `moved(before, patched, after)` on leans of a few pairs."""
    for before, patched, after in (
        ([9.0, -8.0], [3.0, -4.0], [-9.0, 8.0]),
        ([6.0, -2.0, 4.0], [6.0, 1.0, -5.0], [-8.0, 3.0, -7.0]),
        ([5.0, -7.0, -1.0], [5.0, -7.0, -1.0], [-4.0, 6.0, 9.0]),
        ([5.0, -7.0, -3.0], [8.0, -9.0, 1.0], [-4.0, 6.0, 5.0]),  # away from the others
        ([9.0, -2.0, 5.0], [6.0, -5.0, 5.0], [3.0, -8.0, 5.0]),  # leans of one sign, and one that cannot move
        ([9.0, 2.0, -4.0], [8.0, 9.0, 9.0], [3.0, 5.0, 6.0]),  # two go too far
    ):
        tensors = [torch.tensor(leans) for leans in (before, patched, after)]
        answer = number(called(moved, *tensors), "return one number")
        right, mistakes = _shares_moved(before, patched, after)
        otherwise = (
            f"for the leans {shown(before, '.0f')} before, {shown(patched, '.0f')} patched and {shown(after, '.0f')} "
            f"of the other sentences, {right:.3f} of the way is moved; yours: {answer:.3f}."
        )
        matches(answer, right, mistakes, otherwise=otherwise)


def _shares_moved(before: list[float], patched: list[float], after: list[float]) -> tuple[float, dict[str, float]]:
    """The right share, and those of usual mistakes."""
    ways = [new - old for old, new in zip(before, after, strict=True)]
    moves = [new - old for old, new in zip(before, patched, strict=True)]

    def toward(ends: list[float]) -> list[float]:
        """Each move, positive where it goes in the direction of its end."""
        return [move if end > 0 else -move for move, end in zip(moves, ends, strict=True)]

    moved, could = sum(toward(ways)), sum(map(abs, ways))
    of_each = list(zip(toward(ways), map(abs, ways), strict=True))
    flips = [old * new < 0 for old, new in zip(before, patched, strict=True)]
    return moved / could, {
        "this is what is *left*: 0 means that the lean stays, and 1 that it goes all the way.": 1 - moved / could,
        "the sign: a move toward the lean of the other sentence is positive, and a move away negative.": -moved / could,
        "the moves of the pairs cancel: some should go up, others down. Give each move the sign of its own way.": (
            sum(moves) / (sum(ways) or 1)
        ),
        "the moves of the pairs cancel: give each move the sign of its own way, `after - before`.": sum(moves) / could,
        "a move *away* from the other sentence counts as a move toward it: no `abs` on what moved.": (
            sum(map(abs, moves)) / could
        ),
        "a lean may go beyond that of the other sentence: all of its way counts.": sum(map(min, of_each)) / could,
        "the way of a pair goes to the lean of the other sentence, which may have the same sign: `after - before`.": (
            sum(toward(after)) / could
        ),
        "this is the mean of the shares of the pairs: sum up first, divide once.": (
            sum(move / (way or 1) for move, way in of_each) / len(ways)
        ),
        "you divided by the leans before: the whole way is from `before` to `after`.": moved / sum(map(abs, before)),
        "this is the sum: divide by how far the leans could move.": moved,
        "these are flips: how far does the lean move?": sum(flips) / len(flips),
    }


# ---- 14.3: an experiment ----

_SIZES = {"carrier": 6.0, "half": 3.0, "whisper": 0.2}
_FEMININE, _MASCULINE = [f"la {number}" for number in range(5)], [f"le {number}" for number in range(5)]
_ODD = [(1, 2), (2, 3), (3, 1), (2, 1)]  # neither a first nor a last sentence, nor two of one number
# The pairs that a kind flips: of 25 la from le, of 25 le from la, of 20 la from la, of 20 le from le.
_FLIPPED = {"steady": (24, 24, 1, 1), "one way": (25, 0, 0, 0), "other way": (21, 25, 0, 0), "often": (22, 22, 0, 0)}
_FLIPPED |= {"fragile": (25, 25, 20, 20), "fragile la": (25, 25, 3, 0), "fragile le": (25, 25, 0, 3)}


class _Planted:
    """A model of some heads, each of which adds a number to the lean. `heads`: what each of them does.

    carrier: adds 6 for la, -6 for le. steady: flips the pronoun in nearly all pairs; a carrier, too. whisper: adds 0.2
    or -0.2. half: adds 3 or -3; two of them share the work, and one alone flips nothing. fragile: also flips with
    vectors of a sentence with the same pronoun. one way: flips in one direction only. often: in 22 of 25 pairs. lucky:
    flips the first pair in both directions, and no other. idle: nothing.
    """

    def __init__(self, *heads: str):
        self.heads, self.asked = heads, 0

    def carriers(self) -> set[int]:
        """The right answer."""
        return {head for head, kind in enumerate(self.heads) if kind in ("carrier", "steady")}

    def __call__(self, own: str, other: str, head: int) -> float:
        self.asked += 1
        if own not in (every := [*_FEMININE, *_MASCULINE]) or other not in every:
            raise Wrong(f"`score` was asked about {own!r} and {other!r}: give two sentences of the lists.")
        if head not in range(len(self.heads)):
            raise Wrong(f"`score` was asked about head {head!r}: take the heads of the list.")
        total = 0.5 if own.startswith("la") else -0.5
        for place, kind in enumerate(self.heads):
            total += self._adds(kind, own, other if place == head else own)
        return total

    def _adds(self, kind: str, own: str, source: str) -> float:
        sign, mine = (1 if text.startswith("la") else -1 for text in (source, own))
        if kind in _SIZES:
            return sign * _SIZES[kind]
        pair = int(own[-1]), int(source[-1])
        flips = kind == "lucky" and sign != mine and pair == (0, 0)
        if kind in _FLIPPED and source != own:
            count = _FLIPPED[kind][(mine < 0) + 2 * (sign == mine)]
            flips = pair in _ODD[:count] if count < 5 else pair not in _ODD[: (25, 20)[sign == mine] - count]
        return -20.0 * mine * flips


_MODELS = [
    _Planted("idle", "carrier", "whisper", "steady"),
    _Planted("carrier", "fragile", "idle", "whisper"),
    _Planted("idle", "one way", "whisper", "carrier"),
    _Planted("lucky", "idle", "carrier", "often", "whisper"),
    _Planted("whisper", "half", "fragile la", "other way", "steady", "half", "fragile le"),
]
_SAID = {
    "idle": "which does nothing: compare the sign of `score(own, other, head)`, which reads `own`, with that of the "
    "same sentence without a patch, `score(own, own, head)`",
    "whisper": "which moves the lean and flips no pronoun",
    "half": "which shares its work with another head: it moves the lean far, and alone it flips no pronoun",
    "fragile": "which breaks with a vector of *any* sentence, also with the same pronoun: the control is missing",
    "fragile la": "which a vector of another *la* flips in 3 of 20 pairs: the control allows 1 of 10, for each",
    "fragile le": "which a vector of another *le* flips in 3 of 20 pairs: the control allows 1 of 10, for each",
    "one way": "which turns la into le, and never le into la: patch in both directions",
    "other way": "which turns le into la, and la into le in 21 of 25 pairs only: each direction needs nine of ten",
    "lucky": "which flips a single pair: try all pairs, and ask for nine of ten",
    "often": "which flips 22 of 25 pairs: try all pairs, and ask for nine of ten",
}


@check("14.3", section="4. Who carries the noun?")
def check_carriers(carriers: Callable[..., Sequence[int]]) -> None:
    """Try the experiment `carriers(score, feminine, masculine, heads)` on models whose heads are known."""
    for model in _MODELS:
        asked = model.asked
        given = list(_FEMININE), list(_MASCULINE), list(range(len(model.heads)))
        found = called(carriers, lambda own, other, head, model=model: model(own, other, head), *given)
        found = found.tolist() if hasattr(found, "tolist") else found
        if not isinstance(found, list | tuple | set):
            raise Wrong(f"return a list of heads; yours is of type {type(found).__name__}.")
        if model.asked == asked:
            raise Wrong("`score` was never called: without a measurement there is no experiment.")
        named = [int(number(head, "return a list of the numbers of heads", whole=True)) for head in found]
        for head in named:
            if head not in range(len(model.heads)):
                raise Wrong(f"there is no head {head} in this model: its heads are 0 to {len(model.heads) - 1}.")
            if head not in model.carriers():
                raise Wrong(f"in one of our models your experiment names a head {_SAID[model.heads[head]]}.")
        if model.carriers() - set(named):
            raise Wrong(
                "in one of our models your experiment misses a head that carries the gender: patched from a sentence "
                "with the other pronoun, 24 or 25 of 25 pronouns flip, in both directions; with the same pronoun, at "
                "most 1 of 20."
            )
