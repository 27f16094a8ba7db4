"""Checks of lesson 12: the learner writes a test, which is tried on right code and on several forms of a bug.

Each form is a function of its own, beside the right one. Here stand positions, inputs and labels, and the split of the
pairs; what has masks is in `lesson12_attention.py`, encoder, decoder and search are in `lesson12_models.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TypeAlias

import torch
from torch import Tensor

from .checking import check, passes
from .judging import IN_FLOAT64, judge
from .lesson12_attention import attend, check_future, check_padding, check_scores_stay, look_back, masked_softmax
from .lesson12_models import Decoder, check_neighbours, check_search, check_steps, encode, search
from .plain import Answer

__all__ = ["check_future", "check_labels", "check_neighbours", "check_padding", "check_scores_stay", "check_search"]
__all__ += ["check_shape", "check_split", "check_steps", "right", "yours_or_ours"]

# ---- 12.1 ----


def _angles(steps: int, width: int) -> Tensor:
    frequencies = 10000 ** (-torch.arange(0, width, 2) / width) if width else torch.zeros(0)
    return torch.arange(steps)[:, None] * frequencies


def _positions(steps: int, width: int) -> Tensor:
    """A table of sines and cosines of any width."""
    angles = _angles(steps, width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]


def _sines_first(steps: int, width: int) -> Tensor:
    angles = _angles(steps, width)
    return torch.cat([angles.sin(), angles.cos()], dim=1)[:, :width]


def _even_widths(steps: int, width: int) -> Tensor:
    angles, table = _angles(steps, width), torch.zeros(steps, width)
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table


@check("12.1", section="1. A table of the wrong size", none_counts=True)
def check_shape(test: Answer) -> None:
    """Judge `test(positions)`: does it see a table of positions with a wrong shape?"""
    right = {
        "": _positions,
        "the columns stand in another order, first all sines, then all cosines": _sines_first,
        IN_FLOAT64: lambda steps, width: _positions(steps, width).double(),
        "it returns learned positions: numbers that mean nothing yet": (
            lambda steps, width: torch.randn(steps, width, generator=torch.Generator().manual_seed(1))
        ),
    }
    broken = {
        "it stops at an odd width above 1. Try one.": _even_widths,
        "for an odd width the table has a column too many. Does your test look at the shape of this table?": (
            lambda steps, width: _positions(steps, width + width % 2)
        ),
        "for an odd width the table has a column too few. Does your test look at the shape of this table?": (
            lambda steps, width: _positions(steps, width - width % 2)
        ),
        "the table never has more than 1,000 rows. Compare the number of rows, too, above 1,000 steps.": (
            lambda steps, width: _positions(min(steps, 1000), width)
        ),
    }
    judge(
        test,
        right=right,
        broken=broken,
        missed="It stops at the widths 3, 5, 7, ...: does your test try one?",
        asks="Ask for the shape alone, `(steps, width)`: which numbers the table holds is another test.",
    )


# ---- 12.2 ----


def _inputs_and_labels(target: Tensor) -> tuple[Tensor, Tensor]:
    """All tokens but the last, and all tokens but the first."""
    return target[:, :-1], target[:, 1:]


def _in_a_loop(target: Tensor) -> tuple[Tensor, Tensor]:
    rows = torch.as_tensor(target).tolist()
    return torch.tensor([row[:-1] for row in rows]), torch.tensor([row[1:] for row in rows])


def _only_the_first_row(target: Tensor) -> tuple[Tensor, Tensor]:
    early, late = _inputs_and_labels(target)
    return early, torch.cat([late[:1], early[1:]])


@check("12.2", section="2. Inputs and labels", none_counts=True)
def check_labels(test: Answer) -> None:
    """Judge `test(inputs_and_labels)`: does it see labels that are not the next tokens?"""
    right = {
        "": _inputs_and_labels,
        "it makes each row in a loop over its tokens": _in_a_loop,
        "it returns copies, in a list": lambda target: [part.clone() for part in _inputs_and_labels(target)],
    }
    broken = {
        "the labels are the inputs.": lambda target: (target[:, :-1], target[:, :-1]),
        "the labels are right, and the *inputs* have moved with them. Look at the inputs, too.": (
            lambda target: (target[:, 1:], target[:, 1:])
        ),
        "the inputs are one token ahead of the labels: the model would learn to write the token before.": (
            lambda target: (target[:, 1:], target[:, :-1])
        ),
        "the labels are *two* tokens ahead. Compare them with labels that you wrote by hand.": (
            lambda target: (target[:, :-2], target[:, 2:])
        ),
        "the first sentence is right, the others are not shifted. Use two sentences.": _only_the_first_row,
        "the last token is lost, in inputs and labels: no model would learn to write <eos>.": (
            lambda target: (target[:, :-2], target[:, 1:-1])
        ),
    }
    judge(
        test,
        right=right,
        broken=broken,
        missed="There the labels equal the inputs: in your example, are the right labels different from the inputs? "
        "And does your test look at the numbers of the labels?",
        asks="Inputs are all tokens but the last; labels are all tokens but the first.",
    )


# ---- 12.9 ----

Pairs: TypeAlias = Iterable[tuple[str, str]]  # English, French


def _last_fifth(sentences: list[str]) -> list[str]:
    return sentences[int(0.8 * len(sentences)) :]


def _split(pairs: Pairs, *, tested: Callable[[list[str]], list[str]] = _last_fifth) -> tuple[list, list]:
    """The pairs of all English sentences but the tested ones, and those of the tested ones."""
    pairs = list(pairs)
    chosen = tested(list(dict.fromkeys(english for english, _ in pairs)))
    return [pair for pair in pairs if pair[0] not in chosen], [pair for pair in pairs if pair[0] in chosen]


def _shuffled(sentences: list[str]) -> list[str]:
    return _last_fifth([sentences[i] for i in torch.randperm(len(sentences)).tolist()])


def _at_a_border(pairs: Pairs) -> tuple[list, list]:
    pairs = list(pairs)
    return pairs[: int(0.8 * len(pairs))], pairs[int(0.8 * len(pairs)) :]


def _by_pair(pairs: Pairs) -> tuple[list, list]:
    pairs = list(pairs)
    return _at_a_border(pairs[i] for i in torch.randperm(len(pairs)).tolist())


def _inside(pairs: Pairs) -> tuple[list, list]:
    rest, test = _at_a_border(pairs)
    return rest + test, test


def _one_translation(pairs: Pairs) -> tuple[list, list]:
    first: dict[str, str] = {}
    for english, french in pairs:
        first.setdefault(english, french)
    return _split(first.items())


@check("12.9", section="9. An exam with known questions", none_counts=True)
def check_split(test: Answer) -> None:
    """Judge `test(split)`: does it see sentences of the test part in the training part, and pairs that got lost?"""
    right = {
        "": _split,
        "it shuffles the sentences first": functools.partial(_split, tested=_shuffled),
        "every fifth sentence is for testing, and the parts are tuples": (
            lambda pairs: tuple(map(tuple, _split(pairs, tested=lambda sentences: sentences[4::5])))
        ),
        "half of the sentences are for testing": (
            functools.partial(_split, tested=lambda sentences: sentences[len(sentences) // 2 :])
        ),
    }
    broken = {
        "it shuffles the *pairs*: one translation of a sentence is trained on, another is tested.": _by_pair,
        "it trains on all pairs, and tests on some of them.": _inside,
        "it cuts the list at 80 % of the pairs, between two translations of one sentence. Does your test "
        "have sentences with three translations, and corpora of several sizes?": _at_a_border,
        "it keeps one translation of each sentence, and throws the other pairs away. Are all pairs still "
        "there, each of them once?": _one_translation,
    }
    judge(
        test,
        right=right,
        broken=broken,
        missed="In your corpus, does an English sentence stand in several pairs? And do you compare the *English "
        "sentences* of both parts, not the pairs?",
        asks="No English sentence is in both parts, and each pair is in exactly one part. How large the parts are, and "
        "how they are ordered, is not promised.",
    )


# ---- right code, and the code of a book ----


def right(number: str) -> Callable:
    """The right code of an exercise, such as "12.4": a test passes on it. So nobody has to open the fix first."""
    programs = _positions, _inputs_and_labels, masked_softmax, attend, encode, look_back, Decoder(), search, _split
    known = {f"12.{place}": program for place, program in enumerate(programs, start=1)}
    if number not in known:
        raise ValueError(f"there is no exercise {number!r}: the exercises are {', '.join(known)}")
    return known[number]


def yours_or_ours(*written: Callable) -> list[Callable]:
    """The tests of exercises 12.1, 12.3 and 12.5: the learner's where its check passes, else the folded solution."""
    chosen = []
    for mine, ours, examine in zip(written, SOLUTIONS, (check_shape, check_scores_stay, check_neighbours), strict=True):
        chosen.append(mine if passes(examine, mine, none_counts=True) else ours)
        print(f"{ours.__name__.removeprefix(chr(95))}: {'yours' if chosen[-1] is mine else 'ours'}")
    return chosen


def _test_shape(positions: Callable) -> None:
    for steps, width in [(1, 2), (10, 4), (10, 5), (2000, 7)]:
        assert positions(steps, width).shape == (steps, width)


def _test_scores_stay(masked_softmax: Callable) -> None:
    scores = torch.randn(3, 5)
    before = scores.clone()
    masked_softmax(scores, torch.tensor([2, 4, 1]))
    assert torch.equal(scores, before)


def _test_neighbours(encode: Callable) -> None:
    tokens = torch.tensor([[4, 5, 0, 0], [6, 7, 8, 9], [3, 2, 7, 0]])
    lens = torch.tensor([2, 4, 3])
    together = encode(tokens, lens)
    for row, length in enumerate(lens):
        alone = encode(tokens[row : row + 1, :length], lens[row : row + 1])
        assert torch.allclose(together[row], alone[0], atol=1e-5)


SOLUTIONS = (_test_shape, _test_scores_stay, _test_neighbours)
