"""Checks of lesson 10. The oracles are loops over all sentences: they import nothing that the lesson is about."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_parts, has_shape, is_close, matches, number, shown
from .lesson10_beam import check_beam, my_beam, yours_or_ours
from .plain import Answer, as_numbers

__all__ = ["check_beam", "check_beam_step", "check_misled", "my_beam", "yours_or_ours"]

END = "<eos>"
Table = Mapping[str, Mapping[str, float]]  # which word may follow which, and how probable that is

VIEWED: Table = {  # the search that exercise 10.4 looks at
    "<bos>": {"elle": 0.9, "il": 0.1},
    "elle": {"lave": 0.7, "mange": 0.3},
    "il": {"lave": 0.7, "mange": 0.3},
    "lave": {"la": 0.55, "sa": 0.45},
    "mange": {"la": 0.5, "sa": 0.5},
    "la": {"pomme": 0.34, "fille": 0.33, "main": 0.33},
    "sa": {"pomme": 0.9, "main": 0.1},
    "pomme": {END: 0.9, "lave": 0.1},
    "fille": {END: 0.8, "lave": 0.2},
    "main": {END: 0.8, "lave": 0.2},
}
MISLED_AT = 3  # the first step at which greedy leaves the best sentence of VIEWED

MISLEADING: Table = {  # greedy search is misled by it: the first view of the lesson
    "<bos>": {"le": 0.55, "un": 0.45},
    "le": {"chat": 0.9, "chien": 0.1},
    "un": {"chien": 1.0},
    "chat": {"dort": 0.5, "chien": 0.3, END: 0.2},
    "chien": {"dort": 0.9, END: 0.1},
    "dort": {END: 1.0},
}
LONGEST = 4  # words of a sentence, at most; then <eos>


def sentences(table: Table, start: str = "<bos>", longest: int = LONGEST) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every sentence that a table allows, and its probability, <eos> included."""
    for word, probability in table[start].items():
        if word == END:
            yield (), probability
        elif longest:
            for rest, other in sentences(table, word, longest - 1):
                yield (word, *rest), probability * other


def best_sentence(table: Table) -> tuple[tuple[str, ...], float]:
    """The sentence with the highest probability."""
    return max(sentences(table), key=lambda pair: pair[1])


def greedy_sentence(table: Table) -> tuple[tuple[str, ...], float]:
    """What the likeliest next word leads to, and its probability."""
    words, probability = ["<bos>"], 1.0
    while words[-1] != END:
        following = table[words[-1]]
        words.append(max(following, key=lambda word: following[word]))
        probability *= following[words[-1]]
    return tuple(words[1:-1]), probability


# ---- 10.2: one step ----

PARTS = ("totals", "parents", "tokens")


@check("10.2", section="5. The beam")
def check_beam_step(beam_step: Callable[..., Sequence[Tensor]]) -> None:
    """Try out `beam_step(totals, log_probs, finished, eos, width)`: one to three beams, some of them finished."""
    generator = torch.Generator().manual_seed(10)
    for probabilities, totals, finished, eos, width in (
        ([[0.1, 0.47, 0.43], [0.2, 0.5, 0.3]], [-3.0, -0.5], [False, False], 0, 2),  # both from the second
        ([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]], [-0.4, -0.5], [False, True], 0, 2),
        ([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]], [-3.0, -0.5], [False, True], 0, 2),  # the finished one is far better
        ([[0.5, 0.3, 0.2]], [-1.0], [False], 0, 2),  # from one beam
        ([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]], [-1.0, -1e6], [True, False], 0, 2),  # lower than a large negative number
        (torch.rand(3, 7, generator=generator).add(0.05), [-2.0, -1.0, -1.5], [False, False, True], 4, 3),
        ([[0.4, 0.35, 0.25], [0.2, 0.5, 0.3]], [-0.5, -9.0], [False, False], 0, 3),  # all from one of two
        ([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]], [-0.1, -2.0], [False, True], 0, 3),  # the finished one is last
    ):
        weights = torch.as_tensor(probabilities, dtype=torch.float64)
        log_probs = (weights / weights.sum(1, keepdim=True)).log()
        given = torch.tensor(totals, dtype=torch.float64), log_probs, torch.tensor(finished), eos, width
        parts = [_as_tensor(part) for part in has_parts(called(beam_step, *given), *PARTS)]
        for name, part in zip(PARTS, parts, strict=True):
            has_shape(
                part,
                (width,),
                name,
                {
                    (
                        len(totals),
                        width,
                    ): "`topk` on a table takes the best of each row, and you want the best of *all* "
                    "extensions: `flatten()` the table first.",
                    (
                        len(totals),
                    ): f"you kept {len(totals)} hypotheses, one for each beam: keep the `width` best of all, "
                    f"here {width}.",
                },
            )
        _examine_step(torch.stack([part.double() for part in parts]), given)


def _as_tensor(answer: Answer) -> Answer:
    """Lists of numbers, or of tensors with one number, and arrays of NumPy count as tensors."""
    found = None if isinstance(answer, Tensor | str) else as_numbers(answer)
    return answer if found is None else found


Extension: TypeAlias = tuple[float, int, int]  # its total, the beam that it extends, its token
Worth: TypeAlias = Callable[[float, float], float]  # a total and a log-probability -> the new total


def _extended(beam: int, total: float, row: Sequence[float], worth: Worth = operator.add) -> list[Extension]:
    """All extensions of a beam."""
    return [(worth(total, log_prob), beam, token) for token, log_prob in enumerate(row)]


def _step(totals, log_probs, finished, eos, width, after_end=None, worth: Worth = operator.add) -> list[list]:
    """One beam step as a loop over all extensions: totals, parents, tokens.

    `after_end(beam, total, row)` gives the extensions of a finished beam, without which it has one, by `eos`; `worth`
    the new total of an extension.
    """
    after_end = after_end or (lambda beam, total, row: [(worth(total, 0.0), beam, eos)])
    found = []
    for beam, row in enumerate(log_probs.tolist()):
        extensions = after_end if finished[beam] else functools.partial(_extended, worth=worth)
        found += extensions(beam, float(totals[beam]), row)
    return _parts(sorted(found, key=lambda extension: -extension[0])[:width])


def _parts(extensions: list[Extension]) -> list[list]:
    return [list(part) for part in zip(*extensions, strict=True)]


def _best_of_each(totals, log_probs, finished, eos, width) -> list[list]:
    """The step that keeps the best extension of each beam."""
    every = len(totals) * log_probs.shape[1]
    found = list(zip(*_step(totals, log_probs, finished, eos, every), strict=True))
    best = (
        [next(each for each in found if each[1] == beam) for beam in range(len(totals))] if len(totals) > 1 else found
    )
    return _parts(sorted(best, key=lambda extension: -extension[0])[:width])


def _worst(totals, log_probs, finished, eos, width, after_end=None) -> list[list]:
    """The step that keeps the worst extensions."""
    every = len(totals) * log_probs.shape[1]
    found = list(zip(*_step(totals, log_probs, finished, eos, every, after_end), strict=True))
    return _parts(sorted(found, key=lambda extension: extension[0])[:width])


WORST = "you kept the *worst* ones: the largest totals are the best (they are below 0)."
ADDED = "you added probabilities: add the log-probabilities as they are, without exp."
WORTHS: list[tuple[str, Worth]] = [
    (
        "the totals are missing: an extension is worth its beam's total *plus* the new log-probability.",
        lambda total, log_prob: log_prob,
    ),
    ("you multiplied: probabilities are multiplied, their logarithms are *added*.", operator.mul),
    (ADDED, lambda total, log_prob: math.exp(total) + math.exp(log_prob)),
    (ADDED, lambda total, log_prob: total + math.exp(log_prob)),
    (
        "these are probabilities: leave the totals as log-probabilities.",
        lambda total, log_prob: math.exp(total + log_prob),
    ),
]


def _examine_step(answer: Tensor, given: tuple[Tensor, Tensor, Tensor, int, int]) -> None:
    right = totals, parents, tokens = _step(*given)
    beams, words, eos, width = *given[1].shape, *given[3:]
    if is_close(answer, right):
        return
    best_first = answer[:, answer[0].argsort(descending=True)]
    if is_close(best_first, right):
        raise Wrong("the best should come first; yours are in another order.")
    if is_close(best_first, _best_of_each(*given)):
        raise Wrong("you kept the best extension of *each* beam: keep the best of *all*; two may have one parent.")
    if given[2].any() and is_close(
        answer[:2], _step(*given, lambda beam, total, row: [(total, beam, token) for token in range(words)])[:2]
    ):
        raise Wrong("a finished beam is extended by every token: only `eos` costs 0, the others are minus infinity.")
    flat = [parent * words + token for parent, token in zip(parents, tokens, strict=True)]
    columns = [token * beams + parent for parent, token in zip(parents, tokens, strict=True)]  # column after column
    indices = "the {} are indices into the flat table: divide by the number of tokens, and take the rest."

    def by_all(beam: int, total: float, row: Sequence[float]) -> list[Extension]:
        return [(total, beam, eos), *(each for each in _extended(beam, total, row) if each[2] != eos)]

    mistakes = [
        (
            "you extended a finished beam: after <eos> nothing follows but <eos>, and that changes no total.",
            _step(*given, _extended),
        ),
        (
            "a finished beam is still extended by other tokens: only `eos` costs 0, the others are minus infinity.",
            _step(*given, by_all),
        ),
        (
            "a finished beam is gone: it stays in the race, extended by `eos`, and that changes no total.",
            _step(*given, lambda beam, total, row: []),
        ),
        (
            "the total of a finished beam has become 0: it keeps its total, and only the extension by `eos` costs 0.",
            _step(*given, lambda beam, total, row: [(0.0, beam, eos)]),
        ),
        (
            "the mask is upside down: `finished` is True where a hypothesis has ended, and you extended only those.",
            _step(*given[:2], ~given[2], eos, width),
        ),
        *(
            (f"`eos` is not always token {other}: here it is {eos}.", _step(*given[:3], other, width))
            for other in range(min(3, words))
            if other != eos
        ),
        *((WORST, _worst(*given, after_end)) for after_end in (None, _extended)),
        *((said, _step(*given, None, worth)) for said, worth in WORTHS),
        *((said, _step(*given, functools.partial(_extended, worth=worth), worth)) for said, worth in WORTHS),
        (
            "parents and tokens are exchanged: the totals come first, then the parents, then the tokens.",
            [totals, tokens, parents],
        ),
        (
            "the right extensions are kept. Their totals are missing: a total is the beam's total *plus* the new "
            "log-probability.",
            [[total - float(given[0][parent]) for total, parent in zip(totals, parents, strict=True)], parents, tokens],
        ),
        (indices.format("parents"), [totals, flat, tokens]),
        (indices.format("tokens"), [totals, parents, flat]),
        ("the parents are fractions: take the whole quotient, `//`.", [totals, [i / words for i in flat], tokens]),
        (
            "the parents are rounded to the nearest number: take the whole quotient, `//`, which rounds down.",
            [totals, [round(i / words) for i in flat], tokens],
        ),
        (
            "the flat table goes row after row, a row for each beam: "
            "the quotient is the parent, the rest is the token, and you divide by the number of *tokens*.",
            [totals, [i % beams for i in flat], [i // beams for i in flat]],
        ),
        (
            "you exchanged the axes before `flatten`: a row for each beam, a column for each token, then `//` and `%`.",
            [totals, [i // words for i in columns], [i % words for i in columns]],
        ),
        *(
            (
                "you divided by the wrong number: a row of the flat table has one entry for each *token*, "
                "`log_probs.shape[1]`.",
                [totals, [i // by for i in flat], [i % by for i in flat]],
            )
            for by in (width, beams)
        ),
    ]
    off = next((i for i in range(3) if not is_close(answer[i], right[i])), 0)
    yours = answer[off].tolist()
    yours = [int(each) for each in yours] if off and all(each.is_integer() for each in yours) else yours
    matches(
        answer,
        right,
        mistakes,
        otherwise=f"{'the totals are right. The' if off else 'the'} {PARTS[off]} should "
        f"be {shown(right[off])}; yours: {shown(yours)}.",
    )


@check("10.4", section="5. The beam")
def check_misled(answer: object) -> None:
    """Is this the step at which greedy leaves the best sentence of VIEWED, and the score at which it ends?"""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Wrong("give two numbers in brackets: the step, and the score.")
    step, score = (number(each, "give two numbers, without quotes") for each in answer)
    words, probability = greedy_sentence(VIEWED)
    if step < 0 < score:
        raise Wrong("first the step, then the score: yours are the other way round.")
    if not float(step).is_integer():
        raise Wrong(f"a step is a whole number; yours is {step:g}.")
    if step != MISLED_AT:
        if not 1 <= step <= len(words) + 1:
            raise Wrong(f"the steps are 1 to {len(words) + 1}; yours is {step:g}.")
        if step == MISLED_AT + 1:
            raise Wrong(f"at step {step:g} greedy has left the best sentence already: it left it at the word before.")
        side = "still on the blue path" if step < MISLED_AT else "off it for some time"
        raise Wrong(f"at step {step:g} greedy (G) is {side}. Where does it leave it *first*?")
    one_token = "this stands on a line: the log-probability of one token. Read the box."
    last = VIEWED[words[-1]][END]
    path = [math.log(each) for each in itertools.accumulate(_factors(words), operator.mul)]
    thick = [math.log(each) for each in itertools.accumulate(_factors(best_sentence(VIEWED)[0]), operator.mul)]
    others = [math.log(each) for sentence, each in sentences(VIEWED) if sentence != words]
    matches(
        score,
        math.log(probability),
        [
            (f"the step is right. The score: {said}", value)
            for said, value in (
                ("it has a minus: a log-probability is not above 0.", -math.log(probability)),
                ("this is the score of the best sentence; you want greedy's.", math.log(best_sentence(VIEWED)[1])),
                (
                    "this is greedy's score before <eos>: the sentence ends one step later.",
                    math.log(probability / last),
                ),
                *(
                    ("this is greedy's score at an earlier step; you want the score at its end.", value)
                    for value in path[1:-2]
                ),
                ("this is a probability; the view shows its logarithm.", probability),
                *((one_token, math.log(each)) for each in _factors(words)),
                *(("this box is on the blue path, and has no G: follow the G to its end.", value) for value in thick),
                *(("this is the end of another sentence, without a G.", value) for value in others),
                ("give two decimals, as the box shows them.", round(math.log(probability), 1)),
            )
        ],
        within=0.011,
        otherwise=f"the step is right. The score is not {score:g}: read the last box with a G, at the right.",
    )


def _factors(words: Sequence[str]) -> list[float]:
    """The probability of each word of a sentence of VIEWED, <eos> included."""
    return [VIEWED[last][word] for last, word in itertools.pairwise(("<bos>", *words, END))]
