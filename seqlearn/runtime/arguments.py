"""Checks of tensors and models that a caller gives. Each error is one sentence, with the value that was given and what
was expected."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .values import named


def need_tensor(name: str, given: object) -> None:
    """Refuse everything but a tensor.

    Raises:
        TypeError: it is not a tensor.
    """
    if not isinstance(given, Tensor):
        raise TypeError(
            f"{name}: expected a torch.Tensor, not a value of type {type(given).__name__}; torch.as_tensor makes one"
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
    except (TypeError, ValueError, RuntimeError):  # torch has one for each: not a number, rows of unequal length, None
        raise TypeError(f"{name} is a tensor, an array or a list of numbers, not {named(given)}") from None


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
        TypeError: the ids are not whole numbers.
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
    """Refuse a model without an encoder and a decoder.

    Raises:
        TypeError: it lacks one of them.
    """
    if not (hasattr(model, "encoder") and hasattr(model, "decoder")):
        raise TypeError(f"a model has an encoder and a decoder (see seqlearn.nn.contract); {named(model)} has not")
