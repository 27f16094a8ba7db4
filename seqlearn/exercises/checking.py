"""How a check answers: "not tried yet", "right", or a diagnosis. It never raises, so that Run All works unsolved."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

TRIES_BEFORE_HINT = 3
_wrong_tries: dict[str, int] = {}


class NotTried(Exception):
    """The stub still returns None."""


class Wrong(Exception):
    """The answer is wrong; the message says how, and what to try."""


def check(exercise: str, section: str) -> Callable:
    """Turn a function that tries an answer out into a check cell's function.

    The decorated function gets the learner's answer: a value, or a function that is called through here, so that None
    counts as "not tried yet". It may get more from the lesson, such as the map that the answer is read from. It raises
    `Wrong` with a diagnosis, or returns.

    Args:
        exercise: its number, such as "6.1".
        section: the part of the lesson to read again after three wrong tries.
    """

    def decorate(examine: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(examine)
        def run(answer: Any, *context: Any) -> None:
            try:
                examine(_tried(answer) if callable(answer) else _given(answer), *context)
            except NotTried:
                print(f"Exercise {exercise}: not tried yet.")
            except Wrong as diagnosis:
                _say_wrong(exercise, section, str(diagnosis))
            except Exception as error:
                _say_wrong(exercise, section, f"your code stopped with {type(error).__name__}: {_first_line(error)}")
            else:
                print(f"Exercise {exercise}: right!")
                _wrong_tries.pop(exercise, None)

        return run

    return decorate


def examine_row(answer: object, attention: Any, query: str) -> None:
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
        raise Wrong(f'"{word}" is brightest in the row "{row}"; you want the row "{query}".')


def _given(answer: Any) -> Any:
    if answer is None:
        raise NotTried
    return answer


def _tried(function: Callable) -> Callable:
    def call(*args, **kwargs):
        return _given(function(*args, **kwargs))

    return call


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["no message"])[0]


def _say_wrong(exercise: str, section: str, diagnosis: str) -> None:
    tries = _wrong_tries[exercise] = _wrong_tries.get(exercise, 0) + 1
    print(f"Exercise {exercise}: not yet. {diagnosis[0].upper()}{diagnosis[1:]}")
    if tries >= TRIES_BEFORE_HINT:
        print(f'That was try {tries}. Read "{section}" again, or open the hint below the exercise.')
