"""Checks of lesson 06. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, check, examine_row


@check("6.1", section="2. The same look, with vectors")
def check_attention_step(attention_step: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """Try out `attention_step(query, keys, values, W_q, W_k, w_v, length)` -> (weights, context)."""
    generator = torch.Generator().manual_seed(6)
    for keys_count, length in ((4, 4), (5, 3)):
        query, keys, values, W_q, W_k, w_v = (
            torch.randn(shape, generator=generator)
            for shape in ((3,), (keys_count, 2), (keys_count, 6), (8, 3), (8, 2), (8,))
        )
        inputs = [query, keys, values, W_q, W_k, w_v]
        copies = [tensor.clone() for tensor in inputs]
        answer = attention_step(*inputs, length)
        if not (isinstance(answer, tuple | list) and len(answer) == 2):
            raise Wrong("return two things: the weights and the context.")
        if not all(torch.equal(tensor, copy) for tensor, copy in zip(inputs, copies, strict=True)):
            raise Wrong("one of the arguments has changed: work on a new tensor (no `x += ...`, no `x[...] = ...`).")
        _examine_step(*answer, *inputs, length)


def _examine_step(weights, context, query, keys, values, W_q, W_k, w_v, length) -> None:
    if not isinstance(weights, Tensor) or weights.shape != (len(keys),):
        shape = tuple(weights.shape) if isinstance(weights, Tensor) else type(weights).__name__
        raise Wrong(f"the weights should have shape ({len(keys)},), one for each key; yours: {shape}.")
    if not isinstance(context, Tensor) or context.shape != values.shape[1:]:
        shape = tuple(context.shape) if isinstance(context, Tensor) else type(context).__name__
        raise Wrong(f"the context should have the shape of one value, ({values.shape[1]},); yours: {shape}.")
    scores = _scores(query, keys, W_q, W_k, w_v)
    expected = _softmax(scores[:length]) + [0.0] * (len(keys) - length)
    if not _close(weights, expected):
        raise Wrong(_diagnose_weights(weights, expected, scores, query, keys, W_q, W_k, w_v, length))
    average = [
        sum(expected[row] * float(values[row, column]) for row in range(len(keys))) for column in range(values.shape[1])
    ]
    if not _close(context, average):
        raise Wrong("the weights are right, but the context is not: sum up weight times *value*, over the keys.")


def _diagnose_weights(weights, expected, scores, query, keys, W_q, W_k, w_v, length) -> str:
    total = float(weights.sum())
    if length < len(keys):
        on_padding = float(weights[length:].abs().sum())
        if abs(total - 1) < 1e-3 and on_padding > 1e-4:
            return f"the weights sum to 1, but {on_padding:.2f} of it lies on padding: mask before the softmax."
        if on_padding < 1e-4 and abs(total - 1) > 1e-3:
            return f"padding gets 0, but the weights sum to {total:.2f}: mask the scores, then take the softmax."
    if _close(weights, scores):
        return "these are the scores: a softmax turns them into weights."
    if abs(total - 1) > 1e-3:
        return f"the weights sum to {total:.2f}, not to 1: take the softmax of the scores over the keys."
    without_tanh = [float(w_v @ (W_q @ query + W_k @ key)) for key in keys[:length]]
    if _close(weights[:length], _softmax(without_tanh)):
        return "this is what comes out without the tanh."
    scaled = [score / math.sqrt(W_q.shape[0]) for score in scores[:length]]
    if _close(weights[:length], _softmax(scaled)):
        return "these scores are divided by a square root: that belongs to the dot-product score, not to this one."
    return (
        "the weights sum to 1, but are not those of the formula w_v . tanh(W_q q + W_k k); "
        f"the first should be {expected[0]:.3f}, yours is {float(weights[0]):.3f}."
    )


def _scores(query, keys, W_q, W_k, w_v) -> list[float]:
    scores = []
    for key in keys.tolist():
        score = 0.0
        for unit in range(len(w_v)):
            inside = sum(float(W_q[unit, i]) * float(query[i]) for i in range(len(query)))
            inside += sum(float(W_k[unit, i]) * key[i] for i in range(len(key)))
            score += float(w_v[unit]) * math.tanh(inside)
        scores.append(score)
    return scores


def _softmax(scores: list[float]) -> list[float]:
    exps = [math.exp(score) for score in scores]
    return [value / sum(exps) for value in exps]


def _close(tensor: Tensor, numbers: list[float]) -> bool:
    return torch.allclose(tensor.detach().double().cpu(), torch.tensor(numbers, dtype=torch.float64), atol=1e-4)


@check("6.2", section="8. Links, and how many of them are right")
def check_links(links: Callable[[Tensor, list[str], list[str]], list[tuple[str, str]]]) -> None:
    """Try out `links(weights, target_tokens, source_tokens)` -> [(target word, source word), ...]."""
    weights = torch.tensor([[0.1, 0.2, 0.1, 0.6], [0.3, 0.5, 0.1, 0.1], [0.05, 0.1, 0.8, 0.05], [0.0, 0.1, 0.2, 0.7]])
    target, source = ["la", "pomme", "rouge", "<eos>"], ["the", "red", "apple", "<eos>"]
    answer = links(weights.clone(), list(target), list(source))
    if not isinstance(answer, list) or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in answer):
        raise Wrong("return a list of pairs (target word, source word).")
    answer = [tuple(pair) for pair in answer]
    right = [("la", "red"), ("pomme", "red"), ("rouge", "apple")]
    if answer == right:
        return
    if any("<eos>" in pair[:1] for pair in answer):
        raise Wrong("<eos> is no word: leave its row out.")
    if ("la", "<eos>") in answer:
        raise Wrong(
            'you linked "la" to <eos>: that is no word, so leave its column out *before* you seek the largest weight.'
        )
    if [pair[::-1] for pair in answer] == right:
        raise Wrong("the pairs are the wrong way round: the target word comes first.")
    if len(answer) != 3:
        raise Wrong(f"there are 3 target words, so 3 links; yours: {len(answer)}.")
    columns = [(target[int(weights[:3, k].argmax())], source[k]) for k in range(3)]
    if sorted(answer) == sorted(columns):
        raise Wrong("you took the largest weight of each column; each *target* word (a row) chooses its source word.")
    raise Wrong(f"the links of the example should be {right}; yours: {answer}.")


@check("6.3", section="7. See where it looked")
def check_looked_at(looked_at: object, attention) -> None:
    """Compare the word read off the picture with the row "lave" of the learner's own map."""
    examine_row(looked_at, attention, "lave")
