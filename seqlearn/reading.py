"""Reading attention: many maps made into one, measures of what a head looks at, and edits that cut a head."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from .metrics import alignment_error_rate, argmax_links
from .nn.attention import AttentionMap, Edit
from .pairs import Link


def average(attention: AttentionMap) -> AttentionMap:
    """The mean of all heads of all layers, as one map."""
    weights = attention.weights.mean((0, 1))
    return AttentionMap(weights, attention.query_tokens, attention.key_tokens, attention.kind, attention.mask)


def rollout(attention: AttentionMap) -> AttentionMap:
    """How much of each input token is in each output of the stack, if attention and residuals were all there is.

    A layer passes on half of a token as it is (the residual connection) and mixes the other half by the mean of its
    heads; the layers are multiplied, A_L ... A_1 with A = (mean + I) / 2. Abnar and Zuidema (2020), section 3. A token
    that attends to nothing is passed on whole.

    Raises:
        ValueError: the rows and columns are different tokens, as in cross- or kernel attention: no product exists.
    """
    if attention.kind not in ("encoder", "causal"):
        raise ValueError(f"rollout needs self-attention, encoder or causal; this is {attention.kind} attention")
    queries, keys = attention.weights.shape[2:]
    if queries != keys:
        raise ValueError(f"rollout needs the same tokens as rows and columns; these are {queries} and {keys}")
    mixed = attention.weights.double().mean(1)  # layers, tokens, tokens
    same = torch.eye(mixed.shape[-1], dtype=torch.float64)
    mixed = (mixed + same) / (mixed + same).sum(-1, keepdim=True)
    total = same
    for layer in mixed:
        total = layer @ total
    mask = None if attention.mask is None else attention.mask | same.bool()
    return AttentionMap(total, attention.query_tokens, attention.key_tokens, attention.kind, mask)


# ---- What a head looks at ----


def found(
    maps: Sequence[AttentionMap], places: Sequence[Iterable[tuple[int, Collection[int]]]]
) -> Float[Tensor, "layers heads"]:
    """In which share of the rows each head has its largest weight where it was wanted.

    Args:
        maps: of several sentences by one model.
        places: for each map the rows that count, each with the columns that are wanted there.

    Raises:
        ValueError: there are not as many places as maps, or no row at all.
    """
    hits = []
    for attention, rows in zip(maps, _as_many(places, maps), strict=True):
        best = attention.weights.argmax(-1)  # layers, heads, queries
        for row, wanted in rows:
            looks = attention.weights[:, :, row].amax(-1) > 0  # a row of zeros has no largest weight
            hits.append(torch.isin(best[:, :, row], torch.tensor(sorted(wanted), dtype=torch.long)) & looks)
    return _share(hits)


def chosen(
    maps: Sequence[AttentionMap], questions: Sequence[tuple[int, Sequence[Collection[int]], int]]
) -> Float[Tensor, "layers heads"]:
    """In which share of the sentences each head gives the right one of several candidates the most weight.

    Args:
        maps: of several sentences by one model.
        questions: for each map the row, the columns of each candidate, whose weights are added up, and which candidate
            is the right one.

    Raises:
        ValueError: there are not as many questions as maps, or none.
    """
    hits = []
    for attention, (row, candidates, right) in zip(maps, _as_many(questions, maps), strict=True):
        looks = attention.weights[:, :, row]  # layers, heads, keys
        totals = torch.stack([looks[..., sorted(columns)].sum(-1) for columns in candidates], -1)
        others = [place for place in range(len(candidates)) if place != right]
        hits.append(
            (totals[..., [right]] > totals[..., others]).all(-1) & (totals[..., right] > 0)
        )  # a tie is no choice
    return _share(hits)


def link_errors(maps: Sequence[AttentionMap], gold: Sequence[Iterable[Link]]) -> Float[Tensor, "layers heads"]:
    """The alignment error rate of each head of cross-attention by itself; the last row and column, <eos>, left out.

    Args:
        gold: for each map its links, such as `Pair.alignment`.

    Raises:
        ValueError: there is not gold for each map, or none.
    """
    gold = [set(links) for links in _as_many(gold, maps)]
    layers, heads = maps[0].weights.shape[:2]
    rates = [
        alignment_error_rate([argmax_links(each.weights[layer, head, :-1, :-1]) for each in maps], gold)
        for layer in range(layers)
        for head in range(heads)
    ]
    return torch.tensor(rates).view(layers, heads)


def _as_many(items: Sequence, maps: Sequence[AttentionMap]) -> Sequence:
    if len(items) != len(maps) or not maps:
        raise ValueError(f"{len(maps)} maps cannot be compared with {len(items)} answers")
    return items


def _share(hits: Sequence[Bool[Tensor, "layers heads"]]) -> Float[Tensor, "layers heads"]:
    if not hits:
        raise ValueError("no row to look at")
    return torch.stack(hits).float().mean(0)


# ---- Edits, for `edit_attention` ----


def silence(weights: Float[Tensor, "*axes"], may: Bool[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """Look nowhere: the context is 0."""
    return torch.zeros_like(weights)


def uniform(weights: Float[Tensor, "*axes"], may: Bool[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """Look at everything that may be attended alike."""
    return may / may.sum(-1, keepdim=True).clamp(min=1).to(weights.dtype)


def permuted(seed: int = 0) -> Edit:
    """An edit that hands each row's weights out again in random order, among the places that may be attended."""
    generator = torch.Generator().manual_seed(seed)

    def edit(weights: Tensor, may: Tensor) -> Tensor:
        noise = torch.rand(weights.shape, generator=generator).to(weights.device)
        givers = torch.arange(may.shape[-1], device=may.device).masked_fill(~may, may.shape[-1]).argsort(-1)
        takers = noise.masked_fill(~may, 2.0).argsort(-1)  # what may be attended comes first in both
        return torch.zeros_like(weights).scatter(-1, takers, weights.gather(-1, givers))

    return edit


def in_heads(edit: Edit, *heads: int) -> Edit:
    """An edit of these heads alone, counted from 0; the others keep their weights."""

    def only(weights: Tensor, may: Tensor) -> Tensor:
        if weights.dim() < 4:
            raise ValueError(f"this attention has no heads to choose from: its weights are {tuple(weights.shape)}")
        edited = weights.clone()
        edited[:, list(heads)] = edit(weights, may)[:, list(heads)]
        return edited

    return only
