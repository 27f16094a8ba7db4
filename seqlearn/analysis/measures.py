"""Many maps made into one (mean, rollout), and what a head looks at, counted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ..data.pairs import Link, link_sets
from ..runtime.values import as_int
from .attention_map import AttentionMap
from .metrics import alignment_error_rate, argmax_links

T = TypeVar("T")


def mean_over_heads(attention: AttentionMap) -> AttentionMap:
    """The mean of all heads of all layers, as one map. Ablated heads, whose weights are all 0, are left out."""
    return replace(attention, weights=mean_of_heads(attention.weights.flatten(0, 1)))


def mean_of_heads(weights: Float[Tensor, "*layers heads queries keys"]) -> Float[Tensor, "*layers queries keys"]:
    """The mean of the heads that were not ablated; 0 where all were."""
    speaking = weights.flatten(-2).any(-1).sum(-1).clamp(min=1)  # heads of each layer
    return weights.sum(-3) / speaking[..., None, None]


def rollout(attention: AttentionMap) -> AttentionMap:
    """How much of each input token is in each output, as if the layers had only attention and residual connections.

    Each layer is assumed to pass on half of a token unchanged (the residual connection) and to mix the other half by
    the mean of its heads. The layers are multiplied: A_L ... A_1 with A = (mean + I) / 2. A token that attends to
    nothing is passed on whole. Abnar and Zuidema (2020), section 3.

    Raises:
        ValueError: rows and columns are different tokens, as in cross- or kernel attention, so the layers cannot be
            multiplied.
    """
    if attention.kind not in ("encoder", "causal"):
        raise ValueError(f"rollout needs self-attention, encoder or causal; this is {attention.kind} attention")
    queries, keys = attention.weights.shape[2:]
    if queries != keys:
        raise ValueError(f"rollout needs the same tokens as rows and columns; these are {queries} and {keys}")
    mixed = mean_of_heads(attention.weights.double())  # layers, tokens, tokens
    identity = torch.eye(mixed.shape[-1], dtype=torch.float64)
    mixed = (mixed + identity) / (mixed + identity).sum(-1, keepdim=True)
    total = identity
    for layer in mixed:
        total = layer @ total
    mask = None if attention.mask is None else attention.mask | identity.bool()
    return replace(attention, weights=total, mask=mask)


# ---- What a head looks at ----


def hit_rate(
    maps: Sequence[AttentionMap], wanted: Sequence[Iterable[tuple[int, Collection[int]]]]
) -> Float[Tensor, "layers heads"]:
    """For each head the share of rows in which the largest weight is in a wanted column.

    A tie with a column that is not wanted, or no weight at all, does not count.

    Args:
        maps: of several sentences by one model.
        wanted: for each map the rows that count, each with its wanted columns.

    Raises:
        TypeError: a row or a column is not a whole number.
        ValueError: `wanted` does not have one entry for each map, or has no row; or a map has no such row or column.
    """
    hits = []
    for attention, rows in zip(maps, one_for_each(maps, wanted), strict=True):
        for row, columns in rows:
            row, wanted_columns = _row_and_columns(attention, row, columns)
            others = attention.weights[:, :, row].clone()  # layers, heads, keys
            most = others.amax(-1)
            others[..., wanted_columns] = 0
            hits.append(most > others.amax(-1).clamp(min=0))
    return _share(hits)


def choice_accuracy(
    maps: Sequence[AttentionMap], questions: Sequence[tuple[int, Sequence[Collection[int]], int]]
) -> Float[Tensor, "layers heads"]:
    """For each head the share of sentences in which the right one of several candidates gets the most weight.

    A candidate's weight is the sum over its columns. A tie, or no weight at all, does not count as right.

    Args:
        maps: of several sentences by one model.
        questions: for each map the row, the columns of each candidate, and the index of the right candidate.

    Raises:
        TypeError: a row, a column or the right candidate is not a whole number.
        ValueError: the number of questions is not that of the maps, or 0; or there is no such row, column or candidate.
    """
    hits = []
    for attention, (row, candidates, right) in zip(maps, one_for_each(maps, questions), strict=True):
        right = as_int("the right candidate", right, 0, len(candidates) - 1)
        checked = [_row_and_columns(attention, row, columns) for columns in candidates]
        totals = torch.stack([attention.weights[:, :, row][..., columns].sum(-1) for row, columns in checked], -1)
        others = [index for index in range(len(candidates)) if index != right]
        hits.append((totals[..., [right]] > totals[..., others]).all(-1) & (totals[..., right] > 0))
    return _share(hits)


def source_part(attention: AttentionMap) -> Float[Tensor, "layers heads target source"]:
    """Where a model looks in the source while it writes each target token: rows and columns as in cross-attention.

    Of the causal map of a decoder-only model, this is the part whose rows are about to write the target, from <bos> on,
    and whose columns are the source. These rows also look at the target, so they do not sum to 1.

    Raises:
        ValueError: the map does not show target and source.
    """
    prompt = attention.prompt
    if attention.kind != "cross" and not prompt:
        raise ValueError(f"this map of {attention.kind} attention does not show how the target looks at the source")
    return attention.weights[:, :, prompt:, :prompt] if prompt else attention.weights


def link_errors(maps: Sequence[AttentionMap], gold: Sequence[Iterable[Link]]) -> Float[Tensor, "layers heads"]:
    """The alignment error rate of each single head, by its `source_part` without the last row and column (<eos>).

    Args:
        maps: of cross-attention, or causal maps of a decoder-only model.
        gold: for each map the right links, such as `Pair.alignment`.

    Raises:
        ValueError: `gold` does not have one entry for each map, or is empty.
    """
    gold = link_sets("gold", one_for_each(maps, gold))
    layers, heads = maps[0].weights.shape[:2]
    parts = [source_part(each)[..., :-1, :-1] for each in maps]
    rates = [
        alignment_error_rate([argmax_links(part[layer, head]) for part in parts], gold)
        for layer in range(layers)
        for head in range(heads)
    ]
    return torch.tensor(rates).view(layers, heads)


def _row_and_columns(attention: AttentionMap, row: int, columns: Collection[int]) -> tuple[int, list[int]]:
    """Both, after a check. A column that is named twice counts once."""
    queries, keys = attention.weights.shape[2:]
    return as_int("row", row, 0, queries - 1), sorted({as_int("column", each, 0, keys - 1) for each in columns})


def one_for_each(maps: Sequence[AttentionMap], answers: Sequence[T]) -> Sequence[T]:
    """The answers, if there is one for each map."""
    if len(answers) != len(maps) or not maps:
        raise ValueError(f"{len(maps)} maps cannot be compared with {len(answers)} answers: give one for each map")
    return answers


def _share(hits: list[Bool[Tensor, "layers heads"]]) -> Float[Tensor, "layers heads"]:
    if not hits:
        raise ValueError("no row to look at")
    return torch.stack(hits).float().mean(0)
