"""Any number of sentences in batches of similar length."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from torch import Tensor
from tqdm.auto import tqdm

from ..data.batches import pad
from ..runtime.values import as_int

Result = TypeVar("Result")


def in_batches(
    search: Callable[[Tensor, Tensor], Sequence[Result]],
    sentences: Sequence[Sequence[int]],
    pad_id: int,
    batch_size: int = 64,
    progress: bool | None = None,
) -> list[Result]:
    """The result of `search` for each sentence, in the order given. Sentences of similar length share a batch.

    Args:
        search: takes padded ids and valid lengths, and returns one result for each sentence.
        sentences: ids of the sources.
        progress: whether to show a bar; default: from 1,000 sentences on.

    Raises:
        TypeError: the batch size is not a whole number.
        ValueError: the batch size is not at least 1.
    """
    as_int("batch_size", batch_size)
    order = sorted(range(len(sentences)), key=lambda index: len(sentences[index]))
    results: dict[int, Result] = {}
    wanted = len(sentences) >= 1000 if progress is None else progress
    is_off = not wanted or bool(os.environ.get("TQDM_DISABLE"))  # tqdm's own switch, which its notebook bar ignores
    with tqdm(total=len(sentences), unit="sentence", leave=False, disable=is_off) as bar:
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            results.update(zip(rows, search(*pad([sentences[row] for row in rows], pad_id)), strict=True))
            bar.update(len(rows))
    return [results[index] for index in range(len(sentences))]
