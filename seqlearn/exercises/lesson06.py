"""Checks of lesson 06, and the folded solution of 6.1, for whoever goes on without one.

The oracles are loops over plain numbers: they import nothing that the lesson is about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_dtype, has_parts, has_shape, matches, passes
from .plain import numbers, product, softmax, transposed

# keys, real keys; sizes of query, key, value, hidden: no case has the sizes of another one
STEPS = ((5, 3, 3, 2, 6, 8), (4, 4, 2, 5, 3, 7), (6, 1, 4, 3, 2, 5))


def attention_step(query, keys, values, W_q, W_k, w_v, length):  # noqa: D103 (the lesson explains it)
    scores = torch.tanh(W_q @ query + keys @ W_k.T) @ w_v
    real = torch.arange(len(keys)) < length
    weights = scores.masked_fill(~real, float("-inf")).softmax(0)
    return weights, weights @ values


def yours_or_ours(written: Callable) -> SimpleNamespace:
    """The learner's `attention_step` where it passes its check, else the folded solution. It prints whose it is."""
    right = passes(check_attention_step, written)
    print(f"attention_step: {'yours' if right else 'ours'}")
    return SimpleNamespace(attention_step=written if right else attention_step)


@check("6.1", section="2. The same look, with vectors")
def check_attention_step(attention_step: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """Try out `attention_step(query, keys, values, W_q, W_k, w_v, length)` -> (weights, context)."""
    generator = torch.Generator().manual_seed(6)
    for count, length, q_size, k_size, v_size, hidden in STEPS:
        shapes = (q_size,), (count, k_size), (count, v_size), (hidden, q_size), (hidden, k_size), (hidden,)
        inputs = [0.6 * torch.randn(shape, generator=generator) for shape in shapes]  # small: tanh far from 1
        weights, context = has_parts(called(attention_step, *inputs, length), "weights", "context")
        of_weights = {
            (count, hidden): "w_v is missing: `@ w_v` turns the vector of each key into one score.",
            (count, 1): "the weights should be a vector: `w_v` is one too, so `@ w_v` leaves one number for each key.",
        }
        has_shape(weights, (count,), "weights, one for each key,", of_weights)
        of_context = {
            (count, v_size): "add the weighted values up, over the keys: `weights @ values` multiplies and adds up.",
            (k_size,): "this context has the shape of a key: sum up weight times *value*.",
        }
        has_shape(context, (v_size,), "context, of the shape of one value,", of_context)
        for one, name in ((weights, "weights"), (context, "context")):
            has_dtype(one, torch.float32, name, "the decoder around your function computes with 32 bits.")
        query, keys, values, *parameters = map(numbers, inputs)
        right = _weights(_scores(query, keys, *parameters), length)
        mistakes = _mistakes(length, query, keys, *parameters)
        matches(weights, right, mistakes, otherwise=_what_sums_say(weights, right, length))
        matches(
            context,
            product([right], values)[0],
            _wrong_contexts(values, right, length),
            otherwise="the weights are right, but the context is not: sum up weight times *value*, over the keys.",
        )
    query, keys, W_q, W_k = (torch.rand(shape, generator=generator) for shape in ((3,), (5, 2), (8, 3), (8, 2)))
    values = torch.cat([torch.zeros(3, 6), torch.full((2, 6), 1e30)])  # only padding has values
    low = torch.full((8,), -9.0)  # all scores are far below 0
    weights, context = called(attention_step, query, keys, values, W_q, W_k, low, 3)
    if not torch.cat([weights[3:], context]).abs().max() < 1e-4:
        raise Wrong("padding still gets a little weight: hide its scores with -inf, and no other number.")


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
    scores, count = _scores(query, keys, W_q, W_k, w_v), len(keys)

    def joined(join: Callable[[float, float], float], w_v=w_v) -> list[float]:
        return _weights(_scores(query, keys, W_q, W_k, w_v, join), length)

    inside = [math.tanh(score) for score in _scores(query, keys, W_q, W_k, w_v, lambda q, k: q + k)]
    unweighed = joined(lambda q, k: math.tanh(q + k), w_v=[1.0] * len(w_v))
    one_more, by_0 = _weights(scores, length + 1), _weights(scores, length, hidden=0.0)
    negative = _weights([-score for score in scores], length)
    divided = _weights([score / math.sqrt(len(w_v)) for score in scores], length)
    return {
        "these are the scores: a softmax turns them into weights.": scores,
        "the mask is upside down: the keys from `length` on are padding.": _weights(scores, count, first=length),
        "padding gets weights: a score of 0 hides nothing, as e to the 0 is 1; use -inf.": by_0,
        f"the key with index {length} is padding: keys count from 0, so those *below* the length are real.": one_more,
        f"one key is missing: the {length} keys with an index below the length are real.": _weights(scores, length - 1),
        "your signs are the other way round: the *largest* score should get the largest weight.": negative,
        "the vector w_v is inside the tanh: first the tanh of the sum, then `@ w_v`.": _weights(inside, length),
        "the keys are missing in your scores: all real keys get the same weight.": joined(lambda q, k: math.tanh(q)),
        "your query changes nothing: it is missing, or you took the tanh of each vector. First add the two vectors, "
        "then take the tanh of the sum.": joined(lambda q, k: math.tanh(k)),
        "this is what comes out without the tanh: then the query changes nothing.": joined(lambda q, k: q + k),
        "you multiplied query and key: this score *adds* them, inside the tanh.": joined(lambda q, k: math.tanh(q * k)),
        "you subtracted: this score *adds* query and key, inside the tanh.": joined(lambda q, k: math.tanh(q - k)),
        "the vector w_v is missing: you summed up, without weighing.": unweighed,
        "these scores are divided by a square root: that belongs to the dot-product score, not to this one.": divided,
    }


def _what_sums_say(weights: Tensor, right: list[float], length: int) -> str:
    if weights.isnan().any():
        return "there is a NaN in your weights: 0 times -inf is NaN, so hide padding with `masked_fill`, not with `*`."
    total, on_padding = float(weights.sum()), float(weights[length:].abs().sum())
    if length < len(right) and abs(total - 1) < 1e-3 and on_padding > 1e-4:
        return f"the weights sum to 1, but {on_padding:.2g} of it lies on padding: mask before the softmax."
    if length < len(right) and abs(total - 1) > 1e-3 and on_padding < 1e-4:
        return f"padding gets 0, but the weights sum to {total:.2f}: mask the scores, then take the softmax."
    if not abs(total - 1) <= 1e-3:
        return f"the weights sum to {total:.2f}, not to 1: take the softmax of the scores over the keys."
    return (
        "the weights sum to 1, but are not those of the formula w_v . tanh(W_q q + W_k k); "
        f"the first should be {right[0]:.3f}, yours is {float(weights[0]):.3f}."
    )


def _wrong_contexts(values: list[list[float]], right: list[float], length: int) -> dict[str, list[float]]:
    count = len(values)

    def summed(weights: list[float]) -> list[float]:
        return product([weights], values)[0]

    of_real = summed([(key < length) / length for key in range(count)])
    best = values[right.index(max(right))]
    told = {
        "the plain *sum* of all values: multiply each value by its weight.": summed([1.0] * count),
        "the plain average of all values: use the weights, `weights @ values`.": summed([1 / count] * count),
        "the plain average of the real values: use the weights, `weights @ values`.": of_real,
        "divided by the number of keys: the weights sum to 1 already.": summed([weight / count for weight in right]),
        "divided by `length`: the weights sum to 1 already.": summed([weight / length for weight in right]),
        "one value alone: the context should be the average of all values, by weight.": best,
    }
    return {f"the weights are right, but the context is {text}": wrong for text, wrong in told.items()}


# target words, source words, weights in tenths; the two sentences differ in length, words come twice
EXAMPLES = (
    ("la pomme rouge", "the red apple", [[1, 2, 1, 6], [3, 5, 1, 1], [0.5, 1, 8, 0.5], [0, 1, 2, 7]]),
    (
        "le robot le voit",
        "the cat sees the robot",
        [[3, 4, 2, 1, 0, 0], [0, 1, 2, 3, 4, 0], [1, 0, 1, 1, 3, 4], [0, 0, 6, 1, 0, 3], [0, 0, 0, 0, 0, 10]],
    ),
    ("elle ne court pas", "she runs", [[2, 7, 1], [8, 1, 1], [4, 3, 3], [2, 6, 2], [1, 1, 8]]),
    ("très très bon", "very good", [[8, 1, 1], [7, 2, 1], [2, 7, 1], [1, 1, 8]]),
    ("oui merci", "yes yes", [[4, 4, 2], [1, 7, 2], [1, 1, 8]]),  # two are equal: one link, too
)


@check("6.2", section="8. Links, and how many of them are right")
def check_links(links: Callable[[Tensor, list[str], list[str]], list[tuple[str, str]]]) -> None:
    """Try out `links(weights, target_tokens, source_tokens)` -> [(target word, source word), ...]."""
    for target, source, tenths in EXAMPLES:
        target, source = [*target.split(), "<eos>"], [*source.split(), "<eos>"]
        weights = [[weight / 10 for weight in row] for row in tenths]
        answer = called(links, torch.tensor(weights), [*target], [*source])
        if isinstance(answer, dict):
            raise Wrong("a dictionary keeps one entry for each target word, and a word may come twice: return a list.")
        if not isinstance(answer, list | tuple) or any(not isinstance(x, tuple | list) or len(x) != 2 for x in answer):
            raise Wrong(f"return a list of pairs (target word, source word){_kind_of(answer)}.")
        answer, right = [tuple(pair) for pair in answer], _links(weights, target, source)
        words = len(target) - 1
        if any("<eos>" in pair[:1] for pair in answer):
            raise Wrong("<eos> is no word: leave its row out.")
        if linked := [word for word, chosen in answer if chosen == "<eos>"]:
            told = f'you linked "{linked[0]}" to <eos>: that is no word, so leave its column out'
            raise Wrong(f"{told} *before* you seek the largest weight.")
        if answer != right and sorted(map(str, answer)) == sorted(map(str, right)):
            raise Wrong("the pairs are right, but in another order: follow the target words, row by row.")
        otherwise = f"for {target} and {source}, the links should be {right}; yours: {answer}."
        if len(answer) != words:
            otherwise = f"there are {words} target words, so {words} links; yours: {len(answer)}."
        matches(answer, right, _wrong_links(weights, target, source, right), otherwise=otherwise)


def _kind_of(answer: object) -> str:
    if isinstance(answer, Tensor):
        return "; yours is a tensor: look up the words in the two lists"
    if not isinstance(answer, list | tuple):
        return f"; yours is of type {type(answer).__name__}"
    return ""


def _wrong_links(weights: list[list[float]], target: list[str], source: list[str], right: list) -> dict[str, list]:
    words, columns = len(target) - 1, len(source) - 1
    everywhere = [(target[q], source[row.index(max(row))]) for q, row in enumerate(weights[:-1])]
    smallest = _links([[-weight for weight in row] for row in weights], target, source)
    by_source = [pair[::-1] for pair in _links(transposed(weights), source, target)]
    by_index = list(zip(target[:-1], source[:-1], strict=False))
    narrow = [(target[q], source[row.index(max(row[:words]))]) for q, row in enumerate(weights[:-1])]
    source_index = _links(weights, target, range(columns))
    once = _each_source_once(weights, target, source)
    no_eos = [pair for pair in everywhere if pair[1] != "<eos>"]
    first_row = [right[target.index(word)] for word in target[:-1]]
    return {
        "two links with the same words are two links: keep both.": list(dict.fromkeys(right)),
        "the pairs are the wrong way round: the target word comes first.": [pair[::-1] for pair in right],
        "you took the largest weight of each column; each *target* word (a row) chooses its source word.": by_source,
        "you took the *smallest* weight of each row.": smallest,
        "you linked each word to the word with the same index: look for the largest weight of its row.": by_index,
        "these are indices: look up the words in the two lists.": _links(weights, range(words), range(columns)),
        "these are indices, the target word's first: look up the words in the two lists.": source_index,
        "a source word may have several links: each row takes its largest weight, whatever other rows took.": once,
        "a word that looks mostly at <eos> has a link, too: cut off the column of <eos> *before* the argmax.": no_eos,
        "a target word that comes twice has two links: a dictionary keeps only one.": list(dict(right).items()),
        "a target word that comes twice has two rows: `target_tokens.index` finds only the first one.": first_row,
        "you took as many columns as there are target words: the two sentences may differ in length.": narrow,
    }


def _each_source_once(weights: list[list[float]], target: list[str], source: list[str]) -> list[tuple[str, str]]:
    """Each row takes the largest weight that no row before it has taken."""
    free, found = list(range(len(source) - 1)), []
    for q, row in enumerate(weights[:-1]):
        if free:
            best = max(free, key=lambda key: row[key])
            free.remove(best)
            found.append((target[q], source[best]))
    return found


def _links(weights: list[list[float]], target: Sequence, source: Sequence) -> list[tuple]:
    """The largest weight of each row, without the row and the column of <eos>."""
    return [(target[q], source[row.index(max(row[:-1]))]) for q, row in enumerate(weights[:-1])]
