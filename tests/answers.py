"""How a check answers."""

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
