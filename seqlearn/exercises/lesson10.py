"""Checks of lesson 10. The oracles are loops over all sentences: they import nothing that the lesson is about."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real

import torch
from torch import Tensor

from .checking import Wrong, check

END = "<eos>"
Table = Mapping[str, Mapping[str, float]]  # which word may follow which, and how probable that is

VIEWED: Table = {  # the search that exercise 10.3 looks at
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

TABLES: dict[str, Table] = {  # of exercise 10.4: greedy search is misled by one of them
    "north": {
        "<bos>": {"le": 0.6, "un": 0.4},
        "le": {"chat": 0.7, "chien": 0.3},
        "un": {"chat": 0.2, "chien": 0.8},
        "chat": {END: 0.8, "dort": 0.2},
        "chien": {END: 0.5, "dort": 0.5},
        "dort": {END: 1.0},
    },
    "east": {
        "<bos>": {"le": 0.5, "un": 0.3, "chat": 0.2},
        "le": {"chat": 0.6, "chien": 0.4},
        "un": {"chien": 0.9, END: 0.1},
        "chat": {"dort": 0.7, END: 0.3},
        "chien": {END: 0.6, "dort": 0.4},
        "dort": {END: 1.0},
    },
    "south": {
        "<bos>": {"le": 0.55, "un": 0.45},
        "le": {"chat": 0.9, "chien": 0.1},
        "un": {"chien": 1.0},
        "chat": {"dort": 0.5, "chien": 0.3, END: 0.2},
        "chien": {"dort": 0.9, END: 0.1},
        "dort": {END: 1.0},
    },
    "west": {
        "<bos>": {"le": 0.65, "un": 0.35},
        "le": {"chat": 0.8, "chien": 0.2},
        "un": {"chien": 0.9, "chat": 0.1},
        "chat": {END: 0.7, "dort": 0.3},
        "chien": {END: 0.6, "dort": 0.4},
        "dort": {END: 0.9, "chat": 0.1},
    },
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
    words, probability, last = [], 1.0, "<bos>"
    while last != END:
        last = max(table[last], key=table[last].get)
        probability *= table[words[-1] if words else "<bos>"][last]
        words.append(last)
    return tuple(words[:-1]), probability


@check("10.1", section="4. The beam")
def check_beam_step(beam_step: Callable[..., Sequence[Tensor]]) -> None:
    """Try out `beam_step(totals, log_probs, finished, eos, width)`: two and three beams, some of them finished."""
    generator = torch.Generator().manual_seed(10)
    cases = [
        ([[0.1, 0.47, 0.43], [0.2, 0.5, 0.3]], [-3.0, -0.5], [False, False], 0, 2),  # both from the second
        ([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]], [-0.4, -0.5], [False, True], 0, 2),
        ([[0.5, 0.3, 0.2]], [-1.0], [False], 0, 2),  # from one beam
        (torch.rand(3, 7, generator=generator).add(0.05), [-2.0, -1.0, -1.5], [False, False, True], 4, 3),
    ]
    for probabilities, totals, finished, eos, width in cases:
        probabilities = torch.as_tensor(probabilities, dtype=torch.float64)
        log_probs = (probabilities / probabilities.sum(1, keepdim=True)).log()
        inputs = (torch.tensor(totals, dtype=torch.float64), log_probs, torch.tensor(finished))
        copies = [tensor.clone() for tensor in inputs]
        answer = beam_step(*inputs, eos, width)
        for name, tensor, copy in zip(("totals", "log_probs", "finished"), inputs, copies, strict=True):
            if not torch.equal(tensor, copy):
                raise Wrong(f"`{name}` has changed: work on new tensors (`log_probs.clone()` is one).")
        if not isinstance(answer, tuple | list) or len(answer) != 3:
            raise Wrong("return three things: the new totals, the parents, the tokens.")
        answer = [_as_tensor(part) for part in answer]
        for name, part in zip(("totals", "parents", "tokens"), answer, strict=True):
            if part.shape != (width,):
                raise Wrong(f"the {name} should have shape ({width},), one for each kept; yours: {tuple(part.shape)}.")
        if not _equal(answer, _step(*copies, eos, width)):
            raise Wrong(_diagnose_step(answer, *copies, eos, width))


def _as_tensor(part: object) -> Tensor:
    try:
        return torch.as_tensor(part, dtype=torch.float64).detach()
    except (TypeError, ValueError):
        raise Wrong(f"return tensors; one of yours is of type {type(part).__name__}.") from None


def _step(totals, log_probs, finished, eos, width, *, ended=True, largest=True, gains=None) -> list[Tensor]:
    """One beam step as a loop over all extensions; with the options, that of a usual mistake."""
    found = []
    for beam, row in enumerate(log_probs.tolist()):
        for token, log_prob in enumerate(row):
            if ended and finished[beam]:
                if token != eos:
                    continue
                log_prob = 0.0
            total = float(totals[beam])
            found.append((total + log_prob if gains is None else gains(total, log_prob), beam, token))
    found.sort(key=lambda extension: -extension[0] if largest else extension[0])
    return [torch.tensor(part, dtype=torch.float64) for part in zip(*found[:width], strict=True)]


def _one_each(totals, log_probs, finished, eos, width) -> list[Tensor]:
    """The best extension of each beam, and of no other."""
    rows = [
        _step(totals[[beam]], log_probs[[beam]], finished[[beam]], eos, 1 if len(totals) > 1 else width)
        for beam in range(len(totals))
    ]
    found = [
        (float(best), beam, int(token))
        for beam, row in enumerate(rows)
        for best, token in zip(row[0], row[2], strict=True)
    ]
    found.sort(key=lambda extension: -extension[0])
    return [torch.tensor(part, dtype=torch.float64) for part in zip(*found[:width], strict=True)]


def _equal(left: Sequence[Tensor], right: Sequence[Tensor]) -> bool:
    return all(a.shape == b.shape and torch.allclose(a, b, atol=1e-5) for a, b in zip(left, right, strict=True))


def _diagnose_step(answer, totals, log_probs, finished, eos, width) -> str:
    """Which of the usual mistakes gives this answer."""
    given = totals, log_probs, finished, eos, width
    right = _step(*given)
    gone = totals.masked_fill(finished, -math.inf), *given[1:]
    if finished.any() and _equal(answer, _step(*gone, ended=False)):
        return "a finished beam is gone: it stays in the race, extended by `eos`, and that changes no total."
    if _equal([part[answer[0].argsort(descending=True)] for part in answer], _one_each(*given)):
        return "you kept the best extension of *each* beam: keep the best of *all*; two of them may have one parent."
    total_missing = "the totals are missing: an extension is worth its beam's total *plus* the new log-probability."
    added = "you added probabilities: add the log-probabilities as they are, without exp."
    known = [
        ({}, "you extended a finished beam: after <eos> nothing follows but <eos>, and that changes no total."),
        ({"largest": False}, "you kept the *worst* ones: the largest totals are the best (they are below 0)."),
        ({"gains": lambda total, log_prob: log_prob}, total_missing),
        (
            {"gains": lambda total, log_prob: total * log_prob},
            "you multiplied: probabilities are multiplied, their logarithms are *added*.",
        ),
        ({"gains": lambda total, log_prob: math.exp(total) + math.exp(log_prob)}, added),
        ({"gains": lambda total, log_prob: total + math.exp(log_prob)}, added),
        (
            {"gains": lambda total, log_prob: math.exp(total + log_prob)},
            "these are probabilities: leave the totals as log-probabilities.",
        ),
    ]
    for (options, diagnosis), ended in itertools.product(known, (True, False)):
        mistake = _step(*given, ended=ended, **options)
        if len(mistake[0]) == width and _equal(answer, mistake):
            return diagnosis
    if _equal(answer, [right[0], right[2], right[1]]):
        return "parents and tokens are exchanged: the totals come first, then the parents, then the tokens."
    if not _equal(answer[:1], right[:1]) and _equal([answer[0].sort(descending=True).values], right[:1]):
        return "the best should come first; yours are in another order."
    places = right[1] * log_probs.shape[1] + right[2]
    if torch.allclose(answer[0], right[0], atol=1e-5):
        for name, part, wanted in zip(("parents", "tokens"), answer[1:], right[1:], strict=True):
            if torch.equal(part, places):
                return f"the {name} are places in the flat table: divide by the number of tokens, and take the rest."
            if not torch.equal(part, wanted):
                wanted, given = _shown(wanted, "g"), _shown(part, "g")
                return f"the totals are right. The {name} should be {wanted}; yours: {given}."
    return f"the totals should be {_shown(right[0])}; yours: {_shown(answer[0])}."


@check("10.2", section="7. Short sentences, and a penalty")
def check_scores(scores: Callable[..., Tensor]) -> None:
    """Try out `scores(log_probs, lengths, alpha)`: rows of different length, padding that is not 0, three alphas."""
    generator = torch.Generator().manual_seed(10)
    for alpha, lengths in ((0.6, [5, 2, 4]), (1.0, [1, 6]), (0.0, [3, 3, 2])):
        log_probs = -torch.rand(len(lengths), max(lengths) + 1, generator=generator, dtype=torch.float64) - 0.1
        given, kept = torch.tensor(lengths), log_probs.clone()
        answer = scores(log_probs, given, alpha)
        if not torch.equal(log_probs, kept) or given.tolist() != lengths:
            raise Wrong("an argument has changed: work on new tensors.")
        if not isinstance(answer, Tensor):
            raise Wrong(f"return a tensor; yours is of type {type(answer).__name__}.")
        if answer.shape != given.shape:
            raise Wrong(f"one score for each row: shape {tuple(given.shape)}; yours: {tuple(answer.shape)}.")
        if not _near(answer, _scores(kept, lengths, alpha)):
            raise Wrong(_diagnose_scores(answer, kept, lengths, alpha))


def _scores(log_probs: Tensor, lengths: list[int], alpha: float, *, penalty=None, stop=None, count=None) -> Tensor:
    """sum / ((5 + length) / 6)^alpha of each row; with the options, that of a usual mistake."""
    penalty = penalty or (lambda n: ((5 + n) / 6) ** alpha)
    rows = zip(log_probs.tolist(), lengths, strict=True)
    return torch.tensor(
        [sum(row[: (stop or int)(length)]) / penalty((count or int)(length)) for row, length in rows],
        dtype=torch.float64,
    )


def _diagnose_scores(answer: Tensor, log_probs: Tensor, lengths: list[int], alpha: float) -> str:
    """Which of the usual mistakes gives these scores."""
    wide = log_probs.shape[1]

    def everything(n: int) -> int:
        return wide

    def one_less(n: int) -> int:
        return n - 1

    known = [
        ({"stop": everything, "count": everything}, "padding still counts, in the sum and in the length."),
        ({"stop": everything}, "the length is right, but the *sum* still has the log-probabilities of padding."),
        ({"count": everything}, "the sum is right, but the *length* still counts padding: it is `lengths`."),
        ({"penalty": lambda n: 1.0}, "these are the sums alone: divide by the penalty of the length."),
        ({"penalty": lambda n: 1.0, "stop": everything}, "these are sums alone, and padding counts."),
        ({"penalty": lambda n: ((5 + n) / 6) ** -alpha}, "you multiplied by the penalty: divide."),
        ({"penalty": lambda n: n**alpha}, "the penalty is ((5 + length) / 6) to the power of alpha, not length^alpha."),
        ({"penalty": float}, "this is the average; the penalty here is ((5 + length) / 6) to the power of alpha."),
        ({"penalty": lambda n: (5 + n / 6) ** alpha}, "a bracket is missing: (5 + length) / 6, not 5 + length / 6."),
        ({"penalty": lambda n: (5 + n) / 6}, "alpha is not used: it is the power of the penalty."),
        ({"penalty": lambda n: alpha * (5 + n) / 6}, "alpha is a power, not a factor."),
        ({"penalty": lambda n: (5 + n) ** alpha / 6}, "the power is that of the whole fraction, (5 + length) / 6."),
        ({"count": one_less}, "the length is one too small: <eos> counts, and it is in `lengths` already."),
        ({"stop": one_less}, "the last log-probability is missing in the sum: that of <eos> counts, too."),
        ({"stop": one_less, "count": one_less}, "<eos> is missing: it counts, in the sum and in the length."),
        ({"stop": lambda n: n + 1}, "you took one number too many: row i ends before place `lengths[i]`."),
    ]
    for options, diagnosis in known:
        if _near(answer, _scores(log_probs, lengths, alpha, **options)):
            return diagnosis
    if _near(answer, -_scores(log_probs, lengths, alpha)):
        return "the sign is wrong: a score is a sum of log-probabilities, and below 0."
    right = _scores(log_probs, lengths, alpha)
    return f"with alpha {alpha} and lengths {lengths} the scores are {_shown(right)}; yours: {_shown(answer)}."


@check("10.3", section="4. The beam")
def check_misled(answer: object) -> None:
    """Is this the step at which greedy leaves the best sentence of VIEWED, and the score at which it ends?"""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Wrong("give two numbers in brackets: the step, and the score.")
    step, score = answer
    if not all(isinstance(each, Real) and not isinstance(each, bool) for each in (step, score)):
        raise Wrong("both are numbers, without quotes.")
    words, probability = greedy_sentence(VIEWED)
    ends = math.log(probability)
    if step != MISLED_AT:
        if not 1 <= step <= len(words) + 1:
            raise Wrong(f"the steps are 1 to {len(words) + 1}; yours is {step}.")
        if step == MISLED_AT + 1:
            raise Wrong(f"at step {step} greedy is off the way already: it left it at the word before.")
        side = "still on the thick way" if step < MISLED_AT else "off it for some time"
        raise Wrong(f"at step {step} greedy (G) is {side}. Where does it leave it *first*?")
    best = math.log(best_sentence(VIEWED)[1])
    before = math.log(probability / VIEWED[words[-1]][END])
    if abs(score + ends) < 0.02:
        raise Wrong("the step is right. The score has a minus: a log-probability is not above 0.")
    for value, diagnosis in (
        (best, "this is the score of the best sentence; you want greedy's."),
        (before, "this is greedy's score before <eos>: the sentence ends one step later."),
        (math.log(0.9 * 0.7 * 0.55), "this is the score where greedy leaves the way; you want the one at its end."),
        (probability, "this is a probability; the view shows its logarithm."),
        (math.log(VIEWED["lave"]["la"]), "this stands on a line: the log-probability of one token. Read the box."),
        (math.log(VIEWED[words[-1]][END]), "this stands on a line: the log-probability of one token. Read the box."),
    ):
        if abs(score - value) < 0.006:
            raise Wrong(f"the step is right. The score: {diagnosis}")
    if abs(score - ends) > 0.011:
        raise Wrong(f"the step is right. The score is not {score:g}: read the last box with a G, at the right.")


@check("10.4", section="1. Greedy search loses")
def check_trap(answer: object) -> None:
    """Is this the table that misleads greedy search, and its best sentence?"""
    if not isinstance(answer, tuple | list) or len(answer) != 2 or not all(isinstance(each, str) for each in answer):
        raise Wrong('give two texts: the name of the table, and the sentence, as in ("north", "le chat").')
    name, words = answer[0].strip().lower(), tuple(re.sub(f"{END}|<bos>|[.]", " ", answer[1]).lower().split())
    if name not in TABLES:
        raise Wrong(f'there is no table "{name}"; they are {", ".join(TABLES)}.')
    table = TABLES[name]
    best = best_sentence(table)[0]
    greedy, reached = greedy_sentence(table)
    if greedy == best:
        raise Wrong(f'in "{name}" greedy search finds "{" ".join(greedy)}", and there is no better sentence.')
    found = dict(sentences(table))
    if words == greedy:
        raise Wrong(f"the table is right. But this is what greedy finds, with {reached:.3f}: there is a better one.")
    if words not in found:
        missing = next(
            (
                f'"{a}" is never followed by "{b}"'
                for a, b in itertools.pairwise(("<bos>", *words, END))
                if b not in table.get(a, {})
            ),
            "it is too long",
        )
        raise Wrong(f"the table is right. But it does not allow this sentence: {missing}.")
    if words != best:
        raise Wrong(
            f'the table is right. But "{" ".join(words)}" has the probability {found[words]:.3f}, <eos> included, '
            "and another sentence has more."
        )


def _near(left: Tensor, right: Tensor) -> bool:
    return torch.allclose(left.detach().double(), right, atol=1e-5)


def _shown(numbers: Tensor, form: str = ".3f") -> str:
    return f"[{', '.join(format(number, form) for number in numbers.tolist())}]"
