"""How long a translation may be, and how its length changes its beam score."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import accumulate

from jaxtyping import Int
from torch import Tensor

from ..nn.contract import Model
from ..runtime.arguments import check_model, need_tensor, source_lengths, whole_numbers
from ..runtime.devices import to_list
from ..runtime.values import as_int, token_ids
from .hypotheses import LengthPenalty

Ids = tuple[int, int, Iterable[int]]  # of <bos>, of <eos>, and the forbidden ones


def no_penalty(length: int) -> float:
    """The beam score is the log-probability of the sentence. Each token lowers it, so short sentences are favoured."""
    return 1.0


def length_average(length: int) -> float:
    """The beam score is the mean log-probability of a token."""
    return float(length)


def gnmt(alpha: float = 0.6) -> LengthPenalty:
    """The penalty ((5 + length) / 6)^alpha, whose length counts <eos>: Wu et al. (2016), section 7, equation 14."""
    return lambda length: ((5 + length) / 6) ** alpha


def default_max_length(source_lens: Int[Tensor, "batch"]) -> list[int]:
    """How many tokens each translation may have. The limit depends on its own source, not on the rest of the batch."""
    return [2 * length + 10 for length in to_list(whole_numbers("source_lens", source_lens))]


def largest_penalties(length_penalty: LengthPenalty, limit: int) -> list[float]:
    """For each length below `limit`, the largest penalty of a longer hypothesis.

    Raises:
        ValueError: a penalty is not a number above 0.
    """
    penalties = [length_penalty(length) for length in range(1, limit + 1)]
    for length, penalty in enumerate(penalties, 1):
        if not 0 < penalty < math.inf:
            raise ValueError(f"a length penalty is positive; that of length {length} is {penalty}")
    return list(accumulate(reversed(penalties), max))[::-1]


def limits_and_ids(
    model: Model, source: Tensor, source_lens: Tensor, ids: Ids, min_length: int, max_length: int | None
) -> tuple[list[int], list[int]]:
    """How many tokens each translation may have, and the forbidden ids, after a check of all arguments."""
    check_model(model)
    need_tensor("source", source)
    need_tensor("source_lens", source_lens)
    for sentence, length in enumerate(to_list(source_lengths(source, source_lens.cpu()))):
        if length < 1:
            raise ValueError(f"source {sentence} is empty: a source has one token at least, its <eos>")
    token_ids(ids[:2])
    forbidden = token_ids(ids[2])
    min_length = as_int("min_length", min_length, 0)
    max_length = None if max_length is None else as_int("max_length", max_length, 0)
    if max_length is None:
        return [max(limit, min_length) for limit in default_max_length(source_lens)], forbidden
    if max_length < max(1, min_length):
        raise ValueError(f"a translation cannot have at least {min_length} tokens and at most {max_length}")
    return [max_length] * len(source_lens), forbidden
