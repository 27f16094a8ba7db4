"""Checks of lesson 06. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .checking import Wrong, called, check, examine_row, has_parts, has_shape, matches
from .plain import numbers, product, softmax, transposed


@check("6.1", section="2. The same look, with vectors")
def check_attention_step(attention_step: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """Try out `attention_step(query, keys, values, W_q, W_k, w_v, length)` -> (weights, context)."""
    generator = torch.Generator().manual_seed(6)
    for count, length in ((5, 3), (4, 4)):
        shapes = ((3,), (count, 2), (count, 6), (8, 3), (8, 2), (8,))
        inputs = [torch.randn(shape, generator=generator) for shape in shapes]
        weights, context = has_parts(called(attention_step, *inputs, length), "weights", "context")
        has_shape(weights, (count,), "weights, one for each key,")
        has_shape(context, (6,), "context, of the shape of one value,")
        query, keys, values, *parameters = map(numbers, inputs)
        right = _weights(_scores(query, keys, *parameters), length)
        mistakes = _mistakes(length, query, keys, *parameters)
        matches(weights, right, mistakes, otherwise=_what_sums_say(weights, right, length))
        told = "the weights are right, but the context is not: sum up weight times *value*, over the keys."
        matches(context, product([right], values)[0], otherwise=told)


def _scores(query, keys, W_q, W_k, w_v, join: Callable[[float, float], float] = lambda q, k: math.tanh(q + k)) -> list:
    """The score of each key; `join` makes one number of two."""
    of_query = product([query], transposed(W_q))[0]
    return [
        sum(v * join(q, k) for v, q, k in zip(w_v, of_query, of_key, strict=True))
        for of_key in product(keys, transposed(W_k))
    ]


def _weights(scores: list[float], length: int, first: int = 0, hidden: float = -math.inf) -> list[float]:
    """The softmax over the keys from `first` to `length`; the others have the score `hidden`."""
    return softmax([score if first <= key < length else hidden for key, score in enumerate(scores)])


def _mistakes(length: int, query, keys, W_q, W_k, w_v) -> dict[str, list[float]]:
    def joined(join: Callable[[float, float], float], w_v=w_v) -> list[float]:
        return _weights(_scores(query, keys, W_q, W_k, w_v, join), length)

    scores, count = _scores(query, keys, W_q, W_k, w_v), len(keys)
    return {
        "these are the scores: a softmax turns them into weights.": scores,
        "the mask is upside down: the keys from `length` on are padding.": _weights(scores, count, first=length),
        "padding gets weights: a score of 0 hides nothing, as e to the 0 is 1; use -inf.":
            _weights(scores, length, hidden=0.0),
        f"the key with index {length} is padding: keys count from 0, so those *below* the length are real.":
            _weights(scores, length + 1),
        f"one key is missing: the {length} keys with an index below the length are real.": _weights(scores, length - 1),
        "this is what comes out without the tanh.": joined(lambda q, k: q + k),
        "you took the tanh of each vector: first add the two vectors, then take the tanh of the sum.":
            joined(lambda q, k: math.tanh(q) + math.tanh(k)),
        "w_v is missing: you summed up, without weighing.":
            joined(lambda q, k: math.tanh(q + k), w_v=[1.0] * len(w_v)),
        "these scores are divided by a square root: that belongs to the dot-product score, not to this one.":
            _weights([score / math.sqrt(len(w_v)) for score in scores], length),
    }  # fmt: skip


def _what_sums_say(weights: Tensor, right: list[float], length: int) -> str:
    total, on_padding = float(weights.sum()), float(weights[length:].abs().sum())
    if length < len(right) and abs(total - 1) < 1e-3 and on_padding > 1e-4:
        return f"the weights sum to 1, but {on_padding:.2f} of it lies on padding: mask before the softmax."
    if length < len(right) and abs(total - 1) > 1e-3 and on_padding < 1e-4:
        return f"padding gets 0, but the weights sum to {total:.2f}: mask the scores, then take the softmax."
    if not abs(total - 1) <= 1e-3:
        return f"the weights sum to {total:.2f}, not to 1: take the softmax of the scores over the keys."
    return (
        "the weights sum to 1, but are not those of the formula w_v . tanh(W_q q + W_k k); "
        f"the first should be {right[0]:.3f}, yours is {float(weights[0]):.3f}."
    )


@check("6.2", section="8. Links, and how many of them are right")
def check_links(links: Callable[[Tensor, list[str], list[str]], list[tuple[str, str]]]) -> None:
    """Try out `links(weights, target_tokens, source_tokens)` -> [(target word, source word), ...]."""
    for weights, target, source in (
        ([[0.1, 0.2, 0.1, 0.6], [0.3, 0.5, 0.1, 0.1], [0.05, 0.1, 0.8, 0.05], [0.0, 0.1, 0.2, 0.7]],
         ["la", "pomme", "rouge", "<eos>"], ["the", "red", "apple", "<eos>"]),
        ([[0.3, 0.4, 0.2, 0.1, 0.0, 0.0], [0.0, 0.1, 0.2, 0.3, 0.4, 0.0], [0.1, 0.0, 0.1, 0.2, 0.4, 0.2],
          [0.0, 0.0, 0.4, 0.1, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]],
         ["le", "chat", "le", "voit", "<eos>"], ["the", "cat", "sees", "the", "dog", "<eos>"]),
        ([[0.2, 0.7, 0.1], [0.8, 0.1, 0.1], [0.4, 0.3, 0.3], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]],
         ["elle", "ne", "court", "pas", "<eos>"], ["she", "runs", "<eos>"]),
    ):  # fmt: skip
        answer = called(links, torch.tensor(weights), target, source)
        if not isinstance(answer, list) or any(not isinstance(x, tuple | list) or len(x) != 2 for x in answer):
            raise Wrong("return a list of pairs (target word, source word).")
        answer, right = [tuple(pair) for pair in answer], _links(weights, target, source)
        if any("<eos>" in pair[:1] for pair in answer):
            raise Wrong("<eos> is no word: leave its row out.")
        if linked := [word for word, chosen in answer if chosen == "<eos>"]:
            told = f'you linked "{linked[0]}" to <eos>: that is no word, so leave its column out'
            raise Wrong(f"{told} *before* you seek the largest weight.")
        words, columns = len(target) - 1, len(source) - 1
        matches(answer, right, {
            "the pairs are the wrong way round: the target word comes first.": [pair[::-1] for pair in right],
            "you took the largest weight of each column; each *target* word (a row) chooses its source word.":
                [pair[::-1] for pair in _links(transposed(weights), source, target)],
            "these are indices: look up the words in the two lists.": _links(weights, range(words), range(columns)),
            "a source word may have several links: each row takes its largest weight, whatever other rows took.":
                [("la", "red"), ("pomme", "the"), ("rouge", "apple")],
            "a target word that comes twice has two links: a dictionary keeps only one.": list(dict(right).items()),
        }, otherwise=f"there are {words} target words, so {words} links; yours: {len(answer)}."
            if len(answer) != words else f"for {target} and {source}, the links should be {right}; yours: {answer}.",
        )  # fmt: skip


def _links(weights: list[list[float]], target: Sequence, source: Sequence) -> list[tuple]:
    """The largest weight of each row, without the row and the column of <eos>."""
    return [(target[q], source[row.index(max(row[:-1]))]) for q, row in enumerate(weights[:-1])]


@check("6.3", section="7. See where it looked")
def check_looked_at(looked_at: object, attention) -> None:
    """Compare the word read off the picture with the row "lave" of the learner's own map."""
    examine_row(looked_at, attention, "lave")
