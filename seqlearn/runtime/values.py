"""Checks of numbers and texts that a caller gives, without torch. Each error is one sentence, with the value that was
given and what was expected."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from numbers import Real
from reprlib import repr as shown
from typing import TypeVar

T = TypeVar("T")


def as_int(name: str, value: object, least: int = 1, most: int | None = None) -> int:
    """A whole number of Python, NumPy or torch as an int.

    Raises:
        TypeError: the value is not a whole number; True and False are not numbers.
        ValueError: the number is below `least` or above `most`.
    """
    try:
        if str(getattr(value, "dtype", type(value).__name__)) in ("bool", "torch.bool"):
            raise TypeError
        number = operator.index(value)  # pyright: ignore[reportArgumentType]  whatever a user gave
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {named(value)}") from None
    if number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} is {bounds}, not {number}")
    return number


def token_ids(ids: Iterable[int], vocab: int | None = None) -> list[int]:
    """Ids of tokens as a list of int.

    Raises:
        TypeError: they are not a list of whole numbers.
        ValueError: an id is below 0, or not in a vocabulary of `vocab` tokens.
    """
    try:
        given = list(ids)
    except TypeError:
        raise TypeError(f"forbidden is a list of ids, not {named(ids)}") from None
    return [as_int("the id of a token", each, 0, None if vocab is None else vocab - 1) for each in given]


def check_number(name: str, value: object) -> None:
    """Refuse everything but a number.

    Raises:
        TypeError: it is not a number.
    """
    if not isinstance(value, Real):
        raise TypeError(f"{name} is a number, not {named(value)}")


def check_items(name: str, given: Iterable[T], kind: str = "str", *, ordered: bool = True) -> Iterable[T]:
    """What is given, if it is many things in an order: one text would be taken for its letters.

    Args:
        ordered: False: a set is many things, too.

    Raises:
        TypeError: it is one text, a set, or not iterable.
    """
    wrong = (str, bytes, set, frozenset) if ordered else (str, bytes)
    if isinstance(given, wrong) or not isinstance(given, Iterable):
        raise TypeError(f"{name} are a list of {kind}, not {named(given)}")
    return given


def as_texts(sentences: Iterable[str], name: str = "sentences", count: int | None = None) -> list[str]:
    """Several sentences as a list.

    Args:
        name: of the sentences, for the error.
        count: how many there have to be; default: any number.

    Raises:
        TypeError: it is one text, a set, or not iterable; or one of its members is not a text.
        ValueError: there are more or fewer.
    """
    found = list(check_items(name, sentences))
    for number, sentence in enumerate(found):
        if not isinstance(sentence, str):
            raise TypeError(f"a sentence is a str, and sentence {number} is {named(sentence)}")
    if count is not None and len(found) != count:
        raise ValueError(f"expected {count} {name}, not {len(found)}")
    return found


def named(value: object) -> str:
    """The value, shortened, and its type: 'm' (str)."""
    return f"{shown(value)} ({type(value).__name__})"
