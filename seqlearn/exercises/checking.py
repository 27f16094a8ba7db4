"""The kit of the checks. A check says "not tried yet", "right", or a diagnosis. It never raises: Run All must work.

Only when nbgrader runs the notebook, to grade it, does a check raise after a diagnosis: no error means all points.

A lesson's module holds its cases, its oracles and its mistakes:

    @check("2.2", section="5. A masked softmax for lengths")
    def check_masked_softmax(masked_softmax):
        weights = called(masked_softmax, scores, lengths)      # reports an argument that has changed
        has_shape(weights, (2, 3), "weights")
        matches(weights, expected, {"these are the scores: now take the softmax.": scores})
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import io
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from types import FrameType
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .crashes import explain_crash
from .plain import Answer, Numbers, as_numbers, is_close, numbers, product, shown, softmax, table, transposed

__all__ = ["NotTried", "Wrong", "avoids", "called", "check", "examine_row", "has_dtype"]
__all__ += ["has_gradient", "has_parts", "has_shape", "matches", "number", "passes"]
__all__ += ["is_close", "numbers", "product", "shown", "softmax", "table", "transposed"]  # from plain.py

TRIES_BEFORE_HINT = 3
GRADING = "NBGRADER_EXECUTION" in os.environ  # nbgrader grades or validates: asked once, before any answer runs
CRASHES = (Exception, SystemExit, GeneratorExit)  # of an answer; whoever interrupts a check interrupts it
COUNTS = {2: "two", 3: "three", 4: "four"}
_wrong_tries: dict[str, int] = {}

Mistakes: TypeAlias = Mapping[str, Any] | Iterable[tuple[str, Any]]  # diagnosis -> its numbers, or a function of them


class NotTried(Exception):
    """The stub still returns None."""


class Wrong(Exception):
    """The answer is wrong; the message says how, and what to try."""


# ---- the check cell ----


def check(exercise: str, section: str, *, none_counts: bool = False) -> Callable:
    """Turn a function that tries an answer out into a check cell's function.

    The decorated function gets the learner's answer: a value, or a function that is called through here, so that None
    counts as "not tried yet". It may get more from the lesson, such as the map that the answer is read from. It raises
    `Wrong` with a diagnosis, or returns.

    Args:
        exercise: its number, such as "6.1".
        section: the part of the lesson to read again after three wrong tries.
        none_counts: whether the learner's function may return None, as a test does.
    """

    def decorate(examine: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(examine)
        def run(answer: Answer, *context: object) -> None:
            try:
                with contextlib.redirect_stderr(sys.stdout):  # nbgrader takes a warning on stderr for an error
                    examine(_tried(answer) if callable(answer) and not none_counts else _given(answer), *context)
            except NotTried:
                print(f"Exercise {exercise}: not tried yet.")
            except Wrong as diagnosis:
                _say_wrong(exercise, section, str(diagnosis))
            except CRASHES as error:
                _say_wrong(exercise, section, explain_crash(error))
            else:
                print(f"Exercise {exercise}: right!")
                _wrong_tries.pop(exercise, None)
                return
            if GRADING:
                raise AssertionError(f"no points for exercise {exercise}")

        return run

    return decorate


def passes(checked: Callable[..., None], answer: Answer, *, none_counts: bool = False) -> bool:
    """Whether an answer passes a check; nothing is printed, and no wrong try is counted. `none_counts`: see `check`."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            inspect.unwrap(checked)(_tried(answer) if callable(answer) and not none_counts else _given(answer))
    except CRASHES:  # not tried, wrong, or a crash
        return False
    return True


def _given(answer: Answer) -> Answer:
    if answer is None:
        raise NotTried
    return answer


def _tried(function: Callable) -> Callable:
    @functools.wraps(function, updated=())
    def call(*args, **kwargs):
        return _given(function(*args, **kwargs))

    return call


def _say_wrong(exercise: str, section: str, diagnosis: str) -> None:
    tries = _wrong_tries[exercise] = _wrong_tries.get(exercise, 0) + 1
    print(f"Exercise {exercise}: not yet. {diagnosis[0].upper()}{diagnosis[1:]}")
    if tries >= TRIES_BEFORE_HINT:
        print(f'That was try {tries}. Read "{section}" again, or open the hint below the exercise.')


# ---- the call ----


def called(function: Callable, *arguments: object) -> Answer:
    """What the learner's function returns; `Wrong` if it changed an argument, `NotTried` if it returns None."""
    before = [_copied(argument) for argument in arguments]
    answer = _given(function(*arguments))
    for place, (argument, kept) in enumerate(zip(arguments, before, strict=True)):
        if not _unchanged(argument, kept):
            name = _parameter(function, place)
            x = name or "x"
            advice = f"work on a new tensor (`{x} = {x} + ...`, not `{x} += ...` or `{x}[...] = ...`)."
            if not isinstance(argument, Tensor):
                advice = "build a new one (no `.append`, `+=` or `.sort()` on an argument)."
            raise Wrong(f"{f'`{name}`' if name else f'argument {place + 1}'} has changed: {advice}")
    return answer


def _copied(argument: Answer) -> Answer:
    if isinstance(argument, Tensor):
        return argument.detach().clone()
    return copy.deepcopy(argument) if isinstance(argument, list | dict | set | tuple) else argument


def _unchanged(argument: Answer, kept: Answer) -> bool:
    if isinstance(argument, Tensor):
        same = argument.shape == kept.shape and argument.dtype == kept.dtype
        return same and torch.allclose(argument.detach(), kept, rtol=0, atol=0, equal_nan=True)
    return not isinstance(argument, list | dict | set) or argument == kept


def _parameter(function: Callable, place: int) -> str:
    """The learner's own name of a parameter; nothing, if it has none."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return named[place] if place < len(named) else ""


def avoids(function: Callable, names: Mapping[str, str], *arguments: object) -> None:
    """`Wrong` if this call uses what the task forbids, under whatever name.

    Args:
        names: what is forbidden -> what to say: the name of a function of C or PyTorch, or "module.name" of another.
    """
    calls, before = _Calls(), sys.getprofile()
    sys.setprofile(calls.note)
    try:
        with calls:
            inspect.unwrap(function)(*arguments)
    finally:
        sys.setprofile(before)
    for name in names.keys() & calls.names:
        raise Wrong(names[name])


class _Calls(TorchFunctionMode):
    """Notes the names of functions that are called: by Python (`note`), or by C, as in `partial(torch.softmax)`."""

    def __init__(self):
        super().__init__()
        self.names: set[str] = set()

    def __torch_function__(self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        self.names.add(func.__name__.split(".")[0].strip("_"))  # `aten._softmax.default`, too
        return func(*args, **(kwargs or {}))

    def note(self, frame: FrameType, event: str, function: object) -> None:
        if event in ("call", "c_call"):
            python = f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}"
            self.names.add(python if event == "call" else getattr(function, "__name__", ""))


# ---- the form of an answer ----


def number(answer: Answer, wanted: str = "give a number", whole: bool = False) -> int | float:
    """The answer as a Python number. NumPy's numbers count, and tensors of one entry; `4.0` is whole.

    Args:
        answer: what the learner gave.
        wanted: the beginning of the message, such as "give a number of epochs".
        whole: whether it has to be an integer.
    """
    if (shape := getattr(answer, "shape", None)) is not None and hasattr(answer, "item"):
        if math.prod(shape) != 1:
            raise Wrong(f"{wanted}; yours has the shape {tuple(shape)}.")
        answer = answer.item()
    if isinstance(answer, bool) or not isinstance(answer, Real):
        raise Wrong(f"{wanted}; yours is of type {type(answer).__name__}.")
    if math.isnan(answer) or (whole and not float(answer).is_integer()):
        raise Wrong(f"{wanted}; yours is {float(answer):g}.")
    return int(float(answer)) if whole else answer if isinstance(answer, int) else float(answer)


def has_parts(answer: Answer, *names: str) -> Sequence[Answer]:
    """The parts of a tuple or list of this length: `weights, contexts = has_parts(answer, "weights", "contexts")`."""
    if not isinstance(answer, tuple | list) or len(answer) != len(names):
        listed = ", ".join(f"the {name}" for name in names[:-1]) + f" and the {names[-1]}"
        raise Wrong(f"return {COUNTS[len(names)]} things: {listed}.")
    return answer


def has_shape(answer: Answer, shape: Sequence[int], name: str = "answer", mistakes: Mapping | None = None) -> None:
    """`Wrong` unless the answer is a tensor of this shape; `mistakes` gives other shapes their diagnosis."""
    shape = tuple(shape)
    if not isinstance(answer, Tensor):
        wanted = name.rstrip(",")
        raise Wrong(f"return a tensor; yours is of type {type(answer).__name__}: this should be the {wanted}.")
    found = tuple(answer.shape)
    if found == shape:
        return
    if mistakes and found in mistakes:
        raise Wrong(mistakes[found])
    hint = ""
    if [size for size in found if size != 1] == [size for size in shape if size != 1]:
        hint = " An axis of size 1 is too many." if len(found) > len(shape) else " An axis of size 1 is missing."
    elif sorted(found) == sorted(shape):
        hint = " The axes are in another order."
    raise Wrong(f"the {name} should have shape {shape}; yours: {found}.{hint}")


def has_dtype(answer: Tensor, dtype: torch.dtype, name: str = "answer", because: str = "") -> None:
    """`Wrong` unless the tensor has this dtype; `because` is the end of the message."""
    if answer.dtype != dtype:
        raise Wrong(f"the {name} should be {dtype}; yours: {answer.dtype}{f': {because}' if because else '.'}")


def has_gradient(answer: Tensor, *inputs: Tensor) -> None:
    """`Wrong` unless a gradient comes from the answer to each input."""
    told = "the numbers are right, but the gradient is cut off: no `item`, `detach` or `torch.no_grad()`."
    try:
        flows = answer.requires_grad and None not in torch.autograd.grad(answer.sum(), inputs, allow_unused=True)
    except RuntimeError as error:  # PyTorch: "... has been modified by an inplace operation"
        told = "the numbers are right, but the gradient stops: you wrote into a tensor that it needs. Make a new one."
        raise Wrong(told) from error
    if not flows:
        raise Wrong(told)


# ---- its numbers ----


def matches(
    answer: Answer,
    expected: Numbers,
    mistakes: Mistakes = (),
    *,
    otherwise: str | Callable[[], str] = "",
    axes: Sequence[str] = (),
    within: float = 1e-4,
) -> None:
    """`Wrong` unless the answer has the expected numbers; the first mistake that gives the same numbers is named.

    Args:
        answer: a tensor, a number or nested lists of them, of the learner.
        expected: the right one.
        mistakes: diagnosis -> the numbers of a usual mistake, or a function without arguments that gives them.
        otherwise: what to say of any other answer, or a function that writes it. Without it, the first row that is off
            is told with its right numbers.
        axes: what the axes of the answer count, such as ("sentence", "row"), for this message.
        within: how far a number may be off.
    """
    if is_close(answer, expected, within):
        return
    for diagnosis, wrong in mistakes.items() if isinstance(mistakes, Mapping) else mistakes:
        if is_close(answer, wrong() if callable(wrong) else wrong, within):
            raise Wrong(diagnosis)
    said = otherwise() if callable(otherwise) else otherwise or _first_row_off(answer, expected, axes, within)
    raise Wrong(f"{said}{_pattern(answer, expected, within)}")


def _first_row_off(answer: Answer, expected: Numbers, axes: Sequence[str], within: float) -> str:
    where = []
    given, right = numbers(answer), numbers(expected)
    while isinstance(right, list) and right and isinstance(right[0], list):
        place = next(i for i in range(len(right)) if not is_close(given[i], right[i], within))
        name = axes[len(where)] if len(where) < len(axes) else "row" if not axes else f"axis {len(where)},"
        where.append(f"{name} {place}")
        given, right = given[place], right[place]
    return f"{', '.join(where) or 'the answer'} should be {shown(right)}; yours: {shown(given)}."


def _pattern(answer: Answer, expected: Numbers, within: float) -> str:
    """What all numbers have in common that are off, if anything."""
    given, right = as_numbers(answer), as_numbers(expected)
    if given is None or right is None or given.shape != right.shape or right.numel() < 2:
        return ""
    if given.isnan().any() and not right.isnan().any():
        return " There is a NaN in your answer."
    if not (given.isfinite().all() and right.isfinite().all()):
        return ""
    for one in range(right.dim()):
        for other in range(one):
            if given.shape[one] == given.shape[other] and is_close(given.transpose(one, other), right, within):
                return f" Your axes {other} and {one} are exchanged."
    if is_close(-given, right, within):
        return " Your signs are the other way round."
    ones = torch.ones_like(right.sum(-1))
    if is_close(right.sum(-1), ones, 1e-3) and not is_close(given.sum(-1), ones, 1e-3):
        for axis in range(right.dim() - 1):
            if is_close(given.sum(axis), torch.ones_like(given.sum(axis)), 1e-3):
                return f" Your sums of 1 run along axis {axis}: the softmax goes over the last axis, -1."
    largest = int(right.abs().argmax())
    factor = float(given.flatten()[largest] / right.flatten()[largest]) if right.any() else 0.0
    if abs(factor) > 1e-3 and abs(right.std()) > within and is_close(given / factor, right, within):
        return f" All your numbers are {factor:.3g} times the right ones."
    if float(right.std()) > within and is_close(given - (given - right).mean(), right, within):
        return f" All your numbers are off by {float((given - right).mean()):.3g}."
    return ""


def examine_row(answer: object, attention: Answer, query: str) -> None:
    """Is `answer` the key that the row `query` of an attention map looks at most? Raises `Wrong` if not."""
    if not isinstance(answer, str):
        raise Wrong(f"give the word in quotes; yours is of type {type(answer).__name__}.")
    word, rows, columns = answer.strip().lower(), list(attention.query_tokens), list(attention.key_tokens)
    weights = attention.weights[0, 0]
    if query not in rows:
        raise Wrong(f'your map has no row "{query}": run the cells of the lesson with their own sentence again.')
    if word not in columns:
        raise Wrong(f'"{word}" is no column of the map; its columns are {", ".join(columns)}.')
    if word != columns[int(weights[rows.index(query)].argmax())]:
        row = rows[int(weights[:, columns.index(word)].argmax())]
        raise Wrong(f'column "{word}" is brightest in the row "{row}"; you want the brightest column of row "{query}".')
