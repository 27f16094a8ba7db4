"""Judges a test that a learner wrote: it has to pass on right code, and to fail on every form of a bug.

A test is a function of one argument, the code to be tested. It raises AssertionError if this code is wrong, and returns
nothing. `judge` runs it on many implementations, each with several seeds, and names what is wrong with the test.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import io
import linecache
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType

import torch
from torch import Tensor

from .checking import NotTried, Wrong
from .crashes import EXERCISES, explain_crash, learners_frame
from .plain import Answer

SEEDS = (0, 1, 2)  # a test that draws random numbers has to give the same verdict with each of them
LONGEST_LINE = 100  # characters of a learner's line, or message, that are repeated

Implementations = Mapping[str, Callable]  # what is said if the test judges this code wrongly -> the code


def judge(test: Answer, *, right: Implementations, broken: Implementations, missed: str, asks: str) -> None:
    """`Wrong` unless the test passes on all right code and fails on all broken code; `NotTried` for an empty one.

    Args:
        test: the learner's function.
        right: code that differs in harmless ways; the first is the plainest.
        broken: forms of one bug; the first is the one that the section shows.
        missed: what to look at, if the test passes the first form.
        asks: what the section promises of right code, if the test asks for more.
    """
    _is_a_test(test)
    (_, plainest), *others = [(said, _runs(test, code)) for said, code in right.items()]
    (_, bug), *more = [(said, _runs(test, code)) for said, code in broken.items()]
    _is_run_without_a_crash(plainest)
    everything = [run for runs in (plainest, bug, *(runs for _, runs in (*others, *more))) for run in runs]
    _says_nothing(everything)
    if not any(run.calls for run in everything):
        raise Wrong("your test never calls the code that it gets: call its argument, and look at what comes back.")
    if any(run.failed for run in plainest) and not any(run.failed for run in bug):
        raise Wrong("your test is the wrong way round: it fails on right code, and passes on the buggy code.")
    _passes(plainest, "a plain program", asks)
    asserts = _asserts(test)
    _fails(bug, f"your test passes the buggy code of this section. {missed}", asserts)
    for said, runs in others:
        _is_run_without_a_crash(runs, said)
        _passes(runs, said, asks)
    for said, runs in more:
        _fails(runs, f"your test catches the bug above, but lets another form of it pass: {said}", asserts)


# ---- right code that differs from other right code ----

LAST_DIGITS = "it sums in another order, so its last digits depend on the shapes: compare with `torch.allclose`"
IN_FLOAT64 = "it computes in float64"


def in_float64(function: Callable, *args: Answer, **named: Answer) -> Tensor:
    """What a function gives for floats in float64."""

    def doubled(arg: Answer) -> Answer:
        return arg.double() if isinstance(arg, Tensor) and arg.is_floating_point() else arg

    return function(*map(doubled, args), **{name: doubled(arg) for name, arg in named.items()})


def _with_other_digits(function: Callable, *args: Answer, **named: Answer) -> Tensor:
    """Right but for the seventh digit, which depends on the shape of the result, as in a sum of another order."""
    result = function(*args, **named)
    return result * (1 + 1e-7 * result.numel() % 1e-6 + 1e-7 * result.shape[0])


def harmless(function: Callable) -> dict[str, Callable]:
    """Two ways in which right code may differ: the last digits, and the dtype."""
    return {
        LAST_DIGITS: functools.partial(_with_other_digits, function),
        IN_FLOAT64: functools.partial(in_float64, function),
    }


# ---- one run ----


@dataclass(frozen=True)
class _Run:
    """What one run of a test did: how often it called the code, what it returned, what it raised."""

    calls: int
    answer: Answer
    error: BaseException | None

    @property
    def complains(self) -> bool:
        """Whether the test says that the code is wrong: by an assertion, or by `pytest.fail`."""
        return isinstance(self.error, AssertionError) or type(self.error).__name__ == "Failed"

    @property
    def failed(self) -> bool:
        """Whether the test found a fault. An error inside the code that is tested counts: that code is broken."""
        return self.complains or (self.error is not None and _stopped_in_the_code(self.error))


class _Watched:
    """The code that is tested, with a counter of its calls."""

    def __init__(self, code: Callable):
        self._code, self.calls = code, 0

    def __call__(self, *args: Answer, **options: Answer) -> Answer:
        self.calls += 1
        return self._code(*args, **options)

    def __getattr__(self, name: str) -> Answer:
        return getattr(self._code, name)


def _runs(test: Callable, code: Callable) -> list[_Run]:
    return [_run(test, code, seed) for seed in SEEDS]


def _run(test: Callable, code: Callable, seed: int) -> _Run:
    """Run the test with seeded generators, which are put back afterwards; what it prints is not shown."""
    watched, before = _Watched(code), random.getstate()
    answer = error = None
    with torch.random.fork_rng(devices=[]), contextlib.redirect_stdout(io.StringIO()):
        torch.manual_seed(seed)
        random.seed(seed)
        try:
            answer = test(watched)
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # `pytest.fail` raises no Exception, and a check never raises
            error = raised
    random.setstate(before)
    return _Run(watched.calls, answer, error)


def _stopped_in_the_code(error: BaseException) -> bool:
    """Whether the innermost frame that is no library's belongs to the code that is tested."""
    files, step = [], error.__traceback__
    while step is not None:
        files.append(step.tb_frame.f_code.co_filename)
        step = step.tb_next
    found = learners_frame(error)
    learners = found[0].f_code.co_filename if found else ""
    own = [name for name in files if name == learners or (name.startswith(EXERCISES) and name != __file__)]
    return bool(own) and own[-1] != learners


# ---- what is wrong with a test ----


def _is_a_test(test: Answer) -> None:
    if not callable(test):
        raise Wrong(f"give the function itself, without brackets; yours is of type {type(test).__name__}.")
    code = getattr(test, "__code__", None)
    if code and not code.co_names and all(const is None or isinstance(const, str) for const in code.co_consts):
        raise NotTried
    try:
        inspect.signature(test).bind(None)
    except TypeError:
        raise Wrong("a test has one parameter, the code that it tests: keep the one that the stub gives.") from None


def _is_run_without_a_crash(runs: Iterable[_Run], said: str = "") -> None:
    for run in runs:
        if run.error is not None and not run.complains:
            raise Wrong((f"on right code ({said}) " if said else "") + explain_crash(run.error))


def _says_nothing(runs: Iterable[_Run]) -> None:
    for run in runs:
        if run.answer is not None:
            what = f"{run.answer}" if isinstance(run.answer, bool) else f"a {type(run.answer).__name__}"
            raise Wrong(
                f"your test returns {what}, and nobody looks at what a test returns: write `assert ...` in place of "
                "`return ...`."
            )


def _passes(runs: list[_Run], said: str, asks: str) -> None:
    """`Wrong` if the test fails on right code."""
    failed = [run.error for run in runs if run.failed and run.error]
    if failed:
        luck = f" in {len(failed)} of {len(runs)} runs (it draws random numbers)" if len(failed) < len(runs) else ""
        raise Wrong(f"your test fails on right code ({said}){luck}{_assertion(failed[0])}. {asks}")


def _fails(runs: list[_Run], passed: str, asserts: bool) -> None:
    """`Wrong` unless the test fails on broken code; `passed` is what to say if it passes."""
    for run in runs:
        if run.error is not None and not run.failed:
            raise Wrong(
                f"on broken code your test stops with {type(run.error).__name__}: that says the *test* is broken. "
                "To say that the *code* is wrong, write `assert ...`, which raises AssertionError."
            )
    caught = sum(run.failed for run in runs)
    if caught < len(runs) and not asserts:
        raise Wrong("your test cannot fail: there is no `assert` in it. A comparison alone raises nothing.")
    if 0 < caught < len(runs):
        raise Wrong(
            f"your test depends on luck: it draws random numbers, and caught a bug in {caught} of {len(runs)} runs. "
            f"In the others {passed[0].lower()}{passed[1:]} More cases help, or `torch.manual_seed(0)` with inputs "
            "that show the bug."
        )
    if not caught:
        raise Wrong(passed)


def _assertion(error: BaseException) -> str:
    """The line of a learner's assertion, as the end of a sentence."""
    found = learners_frame(error)
    if found is None or not isinstance(error, AssertionError):
        return ""
    frame, number = found
    line = linecache.getline(frame.f_code.co_filename, number, frame.f_globals).strip()
    return f", at `{line[:LONGEST_LINE]}`" if line else ""


def _asserts(test: Callable) -> bool:
    """Whether a test, or a function of the learner that it calls, can raise AssertionError by itself."""
    first = getattr(inspect.unwrap(test), "__code__", None)
    codes = list(_codes(first)) if first else []
    known = getattr(test, "__globals__", {})
    for code in list(codes):
        helpers = [known.get(name) for name in code.co_names]
        codes += [inner for helper in helpers if isinstance(helper, FunctionType) for inner in _codes(helper.__code__)]
    said = [f"{step.opname} {step.argrepr}".lower() for code in codes for step in dis.get_instructions(code)]
    return not codes or any("assert" in text or "fail" in text for text in said)


def _codes(code: CodeType) -> Iterable[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
