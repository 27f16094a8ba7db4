"""How a check answers, and answers that differ from another one in a few words."""

import inspect
import linecache
import textwrap

import pytest


def said_by(check, answer, capsys):
    """What the check prints about an answer: one line; of a crash, two or three."""
    check(answer)
    said = capsys.readouterr().out
    assert said.count("\n") == 1 or ("stopped with" in said and said.count("\n") <= 3)
    return said


def all_right(check, exercise, answers, ids=None):
    """A test: to this check of an exercise these answers are right."""

    @pytest.mark.parametrize("answer", answers, ids=ids)
    def test(answer, capsys):
        said = said_by(check, answer, capsys)
        assert said == f"Exercise {exercise}: right!\n", said

    return test


def judged(check, exercise, answers, ids=None):
    """A test: of each of these answers the check says "right!", or "not yet." and this diagnosis."""
    answers = list(answers)

    @pytest.mark.parametrize(("answer", "diagnosis"), answers, ids=ids or [told[:40] for _, told in answers])
    def test(answer, diagnosis, capsys):
        said = said_by(check, answer, capsys)
        if diagnosis == "right!":
            assert said == f"Exercise {exercise}: right!\n", said
        else:
            assert said.startswith(f"Exercise {exercise}: not yet."), said
            assert diagnosis.lower() in said.lower(), said

    return test


def variants(function):
    """`varied("old", "new", ...)`: this function with a piece of its source replaced, or several."""
    source = textwrap.dedent(inspect.getsource(function))

    def varied(*pieces):
        text, found = source, {}
        for old, new in zip(pieces[::2], pieces[1::2], strict=True):
            assert text.count(old) == 1, f"{old!r} has to stand in the function once"
            text = text.replace(old, new)
        name = f"<a variant of {function.__name__}: {pieces}>"
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name  # a check tells a line of it
        exec(compile(text, name, "exec"), function.__globals__, found)
        return found[function.__name__]

    return varied
