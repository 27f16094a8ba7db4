"""Checks of what a caller gives. Each error is one sentence, with the value that was given and what was expected."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from numbers import Real
from reprlib import repr as shown
from typing import TypeVar

import torch
from torch import Tensor, nn

T = TypeVar("T")


def whole(name: str, value: object, least: int = 1, most: int | None = None) -> int:
    """A whole number of Python, NumPy or torch as an int.

    Raises:
        TypeError: the value is not a whole number; True and False are not numbers.
        ValueError: the number is below `least` or above `most`.
    """
    try:
        if getattr(value, "dtype", type(value)) in (bool, torch.bool):
            raise TypeError
        number = operator.index(value)  # pyright: ignore[reportArgumentType]  whatever a user gave
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {_named(value)}") from None
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
        raise TypeError(f"forbidden is a list of ids, not {_named(ids)}") from None
    return [whole("the id of a token", each, 0, None if vocab is None else vocab - 1) for each in given]


def real(name: str, value: object) -> None:
    """Refuse what is no number.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, Real):
        raise TypeError(f"{name} is a number, not {_named(value)}")


def several(name: str, given: Iterable[T], kind: str = "str", *, ordered: bool = True) -> Iterable[T]:
    """What is given, if it is many things in an order: one text would be taken for its letters.

    Args:
        ordered: False: a set is many things, too.

    Raises:
        TypeError: it is one text, a set, or no iterable.
    """
    wrong = (str, bytes, set, frozenset) if ordered else (str, bytes)
    if isinstance(given, wrong) or not isinstance(given, Iterable):
        raise TypeError(f"{name} are a list of {kind}, not {_named(given)}")
    return given


def texts(sentences: Iterable[str], name: str = "sentences", count: int | None = None) -> list[str]:
    """Several sentences as a list.

    Args:
        name: of the sentences, for the error.
        count: how many there have to be; default: any number.

    Raises:
        TypeError: it is one text, a set, or no iterable; or one of its members is no text.
        ValueError: there are more or fewer.
    """
    found = list(several(name, sentences))
    for number, sentence in enumerate(found):
        if not isinstance(sentence, str):
            raise TypeError(f"a sentence is a str, and sentence {number} is {_named(sentence)}")
    if count is not None and len(found) != count:
        raise ValueError(f"{count} {name} are wanted, not {len(found)}")
    return found


def need_tensor(name: str, given: object) -> None:
    """Refuse what is no tensor.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(given, Tensor):
        raise TypeError(
            f"{name}: a torch.Tensor is wanted, not a value of type {type(given).__name__}; torch.as_tensor makes one"
        )


def as_tensor(name: str, given: object, device: torch.device | None = None) -> Tensor:
    """A tensor as it is; a NumPy array, or a list of numbers or of lists, as a tensor on this device.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(given, Tensor):
        return given
    try:
        return torch.as_tensor(given, device=device)
    except (TypeError, ValueError, RuntimeError):  # torch has one for each: no number, rows of unequal length, None
        raise TypeError(f"{name} is a tensor, an array or a list of numbers, not {_named(given)}") from None


def whole_numbers(name: str, numbers: object) -> Tensor:
    """Whole numbers of any integer type as a tensor of int64.

    Raises:
        TypeError: they are not whole numbers.
    """
    numbers = as_tensor(name, numbers)
    if numbers.dtype == torch.bool or numbers.is_floating_point() or numbers.is_complex():
        raise TypeError(f"{name} are whole numbers, not {numbers.dtype}")
    return numbers.long()


def check_lengths(name: str, lengths: object, most: int) -> Tensor:
    """Valid lengths as int64. Lengths on a GPU are not looked at, which would wait for the GPU.

    Raises:
        TypeError: they are not whole numbers.
        ValueError: a length is below 0 or above `most`.
    """
    lengths = whole_numbers(name, lengths)
    if lengths.device.type == "cpu" and lengths.numel():
        shortest, longest = (int(length) for length in lengths.aminmax())
        if shortest < 0 or longest > most:
            raise ValueError(f"{name} are from 0 to {most}, not {shortest if shortest < 0 else longest}")
    return lengths


def source_lengths(source: Tensor, lengths: object) -> Tensor:
    """The valid lengths of padded sources, as int64. On a GPU, only their shape is looked at.

    Raises:
        TypeError: they are not whole numbers.
        ValueError: there is not one for each source, or one is below 0 or above the number of steps.
    """
    lengths = whole_numbers("the lengths of these sources", lengths)
    shapes = tuple(source.shape), tuple(lengths.shape)
    if len(shapes[0]) != 2 or shapes[1] != shapes[0][:1]:
        raise ValueError(f"source is (batch, source) and source_lens (batch,), not {shapes[0]} and {shapes[1]}")
    return check_lengths("the lengths of these sources", lengths, shapes[0][1])


def check_size(name: str, vectors: Tensor, size: int | None = None, axes: int = 3) -> None:
    """Refuse vectors of another size than that for which a layer was made (None: any size).

    Raises:
        TypeError: they are not a tensor.
        ValueError: the last axis has another size, or there are fewer axes, such as that of the batch.
    """
    need_tensor(name, vectors)
    if vectors.dim() < axes:
        raise ValueError(f"{name} are (batch, {name}, size), not {tuple(vectors.shape)}; x[None] is a batch of one")
    if size is not None and vectors.shape[-1] != size:
        raise ValueError(f"this layer was made for {name} of size {size}, not {vectors.shape[-1]}")


def embed(embedding: nn.Embedding, ids: Tensor) -> Tensor:
    """The vectors of these ids. On a GPU, torch itself reports an id that is too large, and later.

    Raises:
        TypeError: the ids are no whole numbers.
        ValueError: an id is below 0 or beyond the vocabulary.
    """
    try:
        return embedding(ids)
    except (IndexError, RuntimeError):
        if ids.is_floating_point():
            raise TypeError(f"ids are whole numbers, not {ids.dtype}") from None
        if ids.device.type == "cpu" and ids.numel():
            name = f"the ids of a vocabulary of {embedding.num_embeddings} tokens"
            check_lengths(name, ids, embedding.num_embeddings - 1)
        raise


def check_model(model: object) -> None:
    """Refuse what has no encoder and no decoder.

    Raises:
        TypeError: it lacks one of them.
    """
    if not (hasattr(model, "encoder") and hasattr(model, "decoder")):
        raise TypeError(f"a model has an encoder and a decoder (see seqlearn.nn.contract); {_named(model)} has not")


def _named(value: object) -> str:
    """The value, shortened, and its type: 'm' (str)."""
    return f"{shown(value)} ({type(value).__name__})"
