"""Checks of lesson 04. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from .checking import Wrong, called, check, has_parts, has_shape, matches
from .plain import Numbers, is_close, numbers, product, shown, softmax, table, transposed

TOKENS = ("the", "girl", "washes", "the", "red", "apple", "and", "eats", "it", ".")


@check("4.1", section="4. A whole sentence")
def check_eats_looks_at(words: object) -> None:
    """The two keys at which the row "eats" of the lesson's hand-made map looks most."""
    if isinstance(words, str) or not isinstance(words, list | tuple | set):
        raise Wrong(f'give two words, as in ["and", "red"]; yours is of type {type(words).__name__}.')
    if not all(isinstance(word, str) for word in words):
        raise Wrong("give the words in quotes.")
    given = {word.strip().lower() for word in words}
    if strange := sorted(given - set(TOKENS)):
        raise Wrong(f'"{strange[0]}" is no column of the map; its columns are {", ".join(TOKENS)}.')
    if len(given) != 2:
        raise Wrong(f"two different words share the most of this row; yours: {len(given)}.")
    if given == {"and", "girl"}:
        raise Wrong('those are the *rows* that look at "eats", its column; you want what "eats" looks at: its row.')
    if given == {"washes", "eats"}:
        raise Wrong('those are the brightest keys of the rows "girl" and "and": find the row "eats" on the left.')
    for word in words:
        if word.strip().lower() not in ("girl", "apple"):
            raise Wrong(f'"{word.strip()}" is not among the two brightest cells in the row "eats".')


@check("4.2", section="3. One attention by hand")
def check_scaled_dot_product(scaled_dot_product: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """Try out `scaled_dot_product(queries, keys, values, mask)` -> (weights, contexts), also with an empty row."""
    generator = torch.Generator().manual_seed(4)
    for value_size, empty in ((4, False), (6, False), (6, True), (5, False)):
        shapes = ((2, 3, 4), (2, 5, 4), (2, 5, value_size))
        inputs = [torch.randn(shape, generator=generator) for shape in shapes]
        inputs[0] *= 1e6 if value_size == 5 else 1  # scores that are lower than a large negative number
        mask = torch.rand(2, 3, 5, generator=generator) < 0.6
        mask[:, :, 1], mask[0, :, 3], mask[1, 0, 3] = True, False, False  # nobody sees key 3 of sentence 0
        if empty:
            mask[1, 2] = False
        weights, contexts = has_parts(called(scaled_dot_product, *inputs, mask), "weights", "contexts")
        turned = "that is the wrong way round: first the weights, then the contexts."
        has_shape(weights, (2, 3, 5), "weights", {(2, 3, value_size): turned})
        queries, keys, values, may = (numbers(tensor) for tensor in (*inputs, mask))
        scores = _scores(queries, keys)
        right, mistakes = _weights(scores, may, 0.5), _wrong_weights(queries, keys, values, may)
        matches(weights, right, mistakes, otherwise=_first_row_off(weights, right, scores, mask))
        of_keys = "your contexts have the size of a key: the average is that of the *values*."
        has_shape(contexts, (2, 3, value_size), "contexts", {(2, 3, 4): of_keys})
        told = "the weights are right, but"
        mistakes = {f"{told} you averaged the keys: the average is that of the *values*.": _products(right, keys)}
        otherwise = f"{told} the contexts are not: sum up weight times *value*, over the keys."
        matches(contexts, _products(right, values), mistakes, otherwise=otherwise)


def _products(rows: list, matrices: list) -> list:
    """The matrix products, sentence by sentence."""
    return [product(*pair) for pair in zip(rows, matrices, strict=True)]


def _scores(queries: list, keys: list) -> list:
    return _products(queries, [transposed(vectors) for vectors in keys])


def _weights(scores: list, may: list, scale: float, hidden: float = -math.inf) -> list:
    """The weights `(sentence, query, key)`; what is masked has the score `hidden`."""

    def row(b: int, q: int) -> list[float]:
        return softmax([scale * score if seen else hidden for score, seen in zip(scores[b][q], may[b][q], strict=True)])

    return table((len(scores), len(scores[0])), row)


NORMALISED = "you normalised {}: the root of d divides the products, not the lengths of the vectors."


def _wrong_weights(queries: list, keys: list, values: list, may: list) -> dict[str, Numbers]:
    """Diagnosis -> the weights of a usual mistake."""
    d, n, m, e, batch = len(keys[0][0]), len(queries[0]), len(keys[0]), len(values[0][0]), len(queries)
    scores, mask = _scores(queries, keys), torch.tensor(may, dtype=torch.bool)
    unit_queries, unit_keys = (F.normalize(torch.tensor(each), dim=-1).tolist() for each in (queries, keys))

    def weights(scores=scores, may=may, scale=d**-0.5, **options) -> list:
        return _weights(scores, may, scale, **options)

    everybody, d_is = torch.ones_like(mask).tolist(), "d is the size of one query, the *last* axis."
    return {
        f"you did not divide the products by the root of d, here {d}.": weights(scale=1.0),
        f"you divided by d = {d} itself: its square root is what you want.": weights(scale=1 / d),
        "you multiplied by the root of d: divide by it.": weights(scale=d**0.5),
        f"you divided by the root of {m}, the number of keys; {d_is}": weights(scale=m**-0.5),
        f"you divided by the root of {n}, the number of queries; {d_is}": weights(scale=n**-0.5),
        f"you divided by the root of {e}, the size of a value; d is the size of a query.": weights(scale=e**-0.5),
        f"you divided by the root of {batch}, the number of sentences: `len` counts the *first* axis, d the last.": (
            weights(scale=batch**-0.5)
        ),
        "these are the weights without a mask: hide what is False.": weights(may=everybody),
        "neither scaled nor masked: divide the products by the root of d, then hide what is False.": (
            weights(may=everybody, scale=1.0)
        ),
        "the mask is upside down: True means *may be attended*.": weights(may=(~mask).tolist()),
        "you masked after the softmax, so rows do not sum to 1: mask the scores, then take the softmax.": (
            torch.tensor(weights(may=everybody)) * mask
        ),
        "a score of 0 hides nothing, as e to the 0 is 1; use -inf.": weights(hidden=0.0),
        "you compared the queries with the *values*, not keys.": weights(_scores(queries, values)) if e == d else None,
        "`reshape` and `view` only regroup the numbers of the keys: to exchange two axes, `keys.transpose(-2, -1)`.": (
            weights(_products(queries, torch.tensor(keys).view(batch, d, m).tolist()))
        ),
        NORMALISED.format("the keys"): weights(_scores(queries, unit_keys), scale=1.0),
        NORMALISED.format("the keys, too"): weights(_scores(queries, unit_keys)),
        NORMALISED.format("the queries and the keys"): weights(_scores(unit_queries, unit_keys), scale=1.0),
        NORMALISED.format("the queries and the keys, too"): weights(_scores(unit_queries, unit_keys)),
    }


def _first_row_off(weights: Tensor, right: list, scores: list, mask: Tensor) -> str:
    """What is wrong with weights that are not those of a usual mistake."""
    given, plain = weights.detach().double().cpu(), torch.tensor(scores, dtype=torch.float64) / 2
    turned = _weights([transposed(rows) for rows in scores], mask.transpose(1, 2).tolist(), 0.5)
    if is_close(given.nan_to_num(0.0), [transposed(rows) for rows in turned]):  # NaN for a key that nobody looks at
        return "your columns sum to 1: the softmax runs over the keys, the last axis, -1."
    if is_close(given[mask], plain[mask]):
        return "these are the scores: a softmax turns them into weights."
    for b, q in (~mask.any(-1)).nonzero().tolist():
        rest = given.clone()
        rest[b, q] = 0
        if is_close(rest, right):
            what = "NaN" if given[b, q].isnan().any() else f"{float(given[b, q].max()):.2f} for a masked key"
            return f"query {q} of sentence {b} may attend to nothing and should get zeros, but gets {what}."
    sums = given.sum(-1)[mask.any(-1)]
    if not ((sums - 1).abs() < 1e-3).all():
        worst = float(sums[(sums - 1).abs().argmax()])
        return f"a row of your weights sums to {worst:.2f}, not to 1: scale and mask *before* the softmax."
    return f"sentence 0, query 0 should be {shown(right[0][0])}; yours: {shown(given[0, 0])}."


PAIRWISE = (
    "query 0 met key 0 only, query 1 key 1, and so on: with a new axis in each, `[:, :, None, :]` and "
    "`[:, None, :, :]`, each query meets each key."
)


@check("4.3", section="7. Queries and keys of different size: the additive score")
def check_additive_scores(additive_scores: Callable[..., Tensor]) -> None:
    """Try out `additive_scores(queries, keys, W_q, W_k, w_v)`: first with sizes alike, then all different."""
    generator = torch.Generator().manual_seed(4)
    for batch, n, m, query_size, key_size, h in ((2, 3, 3, 3, 3, 3), (2, 3, 4, 5, 6, 7)):
        shapes = ((batch, n, query_size), (batch, m, key_size), (h, query_size), (h, key_size), (h,))
        inputs = [torch.randn(shape, generator=generator) for shape in shapes]
        answer = called(additive_scores, *inputs)
        shapes = {
            (batch, n, m, h): "you still have h numbers for each pair: the dot product with w_v makes one of them.",
            (batch, n, m, 1): "there is one axis of size 1 too many at the end: `squeeze(-1)` takes it away.",
            (batch, n): PAIRWISE,
        }
        has_shape(answer, (batch, n, m), "scores", shapes)
        given = [numbers(tensor) for tensor in inputs]
        right = _additive(*given)
        told = f"sentence 0, query 0, keys 0 and 1 should have the scores {shown(right[0][0][:2])}; "
        told += f"yours: {shown(answer[0, 0, :2])}."
        matches(answer, right, _wrong_scores(*given), otherwise=told)


def _additive(queries, keys, W_q, W_k, w_v, join: Callable = lambda q, k: math.tanh(q + k)) -> list:
    """The scores `(sentence, query, key)`; `join` makes one number of two."""

    def score(query: list[float], key: list[float]) -> float:
        return sum(v * join(q, k) for v, q, k in zip(w_v, query, key, strict=True))

    return [
        [[score(query, key) for key in product(known, transposed(W_k))] for query in product(asked, transposed(W_q))]
        for asked, known in zip(queries, keys, strict=True)
    ]


JOINS: dict[str, Callable[[float, float], float]] = {
    "the tanh is missing.": lambda q, k: q + k,
    "add first, then take tanh of the *sum*: you took the tanh of queries and keys one by one.": (
        lambda q, k: math.tanh(q) + math.tanh(k)
    ),
    "you subtracted the keys from the queries: the two are *added*.": lambda q, k: math.tanh(q - k),
    "you multiplied query and key: this score is additive.": lambda q, k: math.tanh(q * k),
    "the sum goes through tanh, not through the sigmoid.": lambda q, k: 1 / (1 + math.exp(-q - k)),
    "the sum goes through tanh, not through the ReLU.": lambda q, k: max(q + k, 0.0),
}


def _wrong_scores(queries, keys, W_q, W_k, w_v) -> dict[str, Numbers]:
    """Diagnosis -> the scores of a usual mistake."""
    right, h = torch.tensor(_additive(queries, keys, W_q, W_k, w_v)), len(w_v)
    flat = torch.tensor(_additive(queries, keys, W_q, W_k, w_v, JOINS["the tanh is missing."]))
    mistakes: dict[str, Numbers] = {
        "a row for each key, a column for each query: it should be the other way round.": right.mT,
        "these are the weights: return the scores, before the softmax.": right.softmax(-1),
        **{slip: _additive(queries, keys, W_q, W_k, w_v, join) for slip, join in JOINS.items()},
        "first the tanh, then the product with w_v: you did it the other way round.": flat.tanh(),
        "w_v is missing: you summed up, without weighing.": _additive(queries, keys, W_q, W_k, [1.0] * h),
        "you took the *mean* over the hidden units: the dot product with w_v is a sum.": right / h,
        "divided by a root: that belongs to the dot product, not to this score.": right / math.sqrt(h),
    }
    if len(W_q) == len(W_q[0]) == len(W_k[0]) == len(queries[0]) == len(keys[0]):  # the first trial
        unchanged = torch.eye(h).tolist()
        mistakes |= {
            "your matrices are transposed: for rows of vectors it is `queries @ W_q.T`.": (
                _additive(queries, keys, transposed(W_q), transposed(W_k), w_v)
            ),
            "you exchanged W_q and W_k.": _additive(queries, keys, W_k, W_q, w_v),
            "you multiplied from the left: vectors are *rows* here, `queries @ W_q.T`.": (
                _additive(_products([W_q] * 2, queries), _products([W_k] * 2, keys), unchanged, unchanged, w_v)
            ),
        }
    return mistakes
