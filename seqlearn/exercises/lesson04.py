"""Checks of lesson 04. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, check

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
        raise Wrong('those are the *rows* that look at "eats", its column; you want at whom "eats" looks: its row.')
    if given == {"washes", "eats"}:
        raise Wrong('those are the brightest keys of the rows "girl" and "and": find the row "eats" on the left.')
    if given != {"girl", "apple"}:
        odd = next(word for word in words if word.strip().lower() not in {"girl", "apple"})
        raise Wrong(f'"{odd.strip()}" is not among the two brightest cells in the row "eats".')


@check("4.2", section="3. One attention by hand")
def check_scaled_dot_product(scaled_dot_product: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """Try out `scaled_dot_product(queries, keys, values, mask)` -> (weights, contexts), at last with an empty row."""
    generator = torch.Generator().manual_seed(4)
    for value_size, empty in ((4, False), (6, False), (6, True)):
        shapes = ((2, 3, 4), (2, 5, 4), (2, 5, value_size))
        tensors = [torch.randn(shape, generator=generator) for shape in shapes]
        mask = torch.rand(2, 3, 5, generator=generator) < 0.6
        mask[:, :, 1], mask[0, :, 3], mask[1, 0, 3] = True, False, False  # nobody sees key 3 of sentence 0
        if empty:
            mask[1, 2] = False
        inputs = [*tensors, mask]
        copies = [tensor.clone() for tensor in inputs]
        answer = scaled_dot_product(*inputs)
        if not (isinstance(answer, tuple | list) and len(answer) == 2):
            raise Wrong("return two things: the weights and the contexts.")
        for name, tensor, copy in zip(("queries", "keys", "values", "mask"), inputs, copies, strict=True):
            if not torch.equal(tensor, copy):
                raise Wrong(
                    f"an argument has changed, `{name}`: work on new tensors (no `x *= ...`, no `x[...] = ...`)."
                )
        _examine_attention(*answer, *(tensor.tolist() for tensor in inputs))


def _examine_attention(weights, contexts, queries, keys, values, mask) -> None:
    shape, context_shape = (2, 3, 5), (2, 3, len(values[0][0]))
    if isinstance(weights, Tensor) and tuple(weights.shape) == context_shape:
        raise Wrong("that is the wrong way round: first the weights, then the contexts.")
    _examine_form(weights, shape, "weights")
    right = _attention_weights(queries, keys, mask)
    if not _close(weights, right):
        raise Wrong(_diagnose_weights(weights, right, queries, keys, values, mask))
    if isinstance(contexts, Tensor) and tuple(contexts.shape) == (2, 3, len(keys[0][0])) != context_shape:
        raise Wrong("your contexts have the size of a key: the average is that of the *values*.")
    _examine_form(contexts, context_shape, "contexts")
    if _close(contexts, _averages(right, values)):
        return
    if len(keys[0][0]) == context_shape[2] and _close(contexts, _averages(right, keys)):
        raise Wrong("the weights are right, but you averaged the keys: the average is that of the *values*.")
    raise Wrong("the weights are right, but the contexts are not: sum up weight times *value*, over the keys.")


def _diagnose_weights(weights, right, queries, keys, values, mask) -> str:
    """Which of the usual mistakes gives these weights."""
    d, n, m, e, batch = len(keys[0][0]), len(queries[0]), len(keys[0]), len(values[0][0]), len(queries)
    everybody = [[[True] * m for _ in range(n)] for _ in mask]
    opposite = [[[not may for may in row] for row in rows] for rows in mask]
    empty = [(b, q) for b, rows in enumerate(mask) for q, row in enumerate(rows) if not any(row)]
    known = [
        (_attention_weights(queries, keys, mask, 1.0), f"you did not divide the products by the root of d, here {d}."),
        (
            _attention_weights(queries, keys, mask, 1 / d),
            f"you divided by d = {d} itself: its square root is what you want.",
        ),
        (_attention_weights(queries, keys, mask, d**0.5), "you multiplied by the root of d: divide by it."),
        (
            _attention_weights(queries, keys, mask, m**-0.5),
            f"you divided by the root of {m}, the number of keys; d is the size of one query, the *last* axis.",
        ),
        (
            _attention_weights(queries, keys, mask, n**-0.5),
            f"you divided by the root of {n}, the number of queries; d is the size of one query, the *last* axis.",
        ),
        (
            _attention_weights(queries, keys, mask, e**-0.5),
            f"you divided by the root of {e}, the size of a value; d is the size of a query.",
        ),
        (
            _attention_weights(queries, keys, mask, batch**-0.5),
            f"you divided by the root of {batch}, the number of sentences: `len` counts the *first* axis, d the last.",
        ),
        (_attention_weights(queries, keys, everybody), "these are the weights without a mask: hide what is False."),
        (
            _attention_weights(queries, keys, everybody, 1.0),
            "neither scaled nor masked: divide the products by the root of d, then hide what is False.",
        ),
        (_attention_weights(queries, keys, opposite), "the mask is upside down: True means *may be attended*."),
        (
            _hidden(_attention_weights(queries, keys, everybody), mask),
            "you masked after the softmax, so rows do not sum to 1: mask the scores, then take the softmax.",
        ),
        (
            _attention_weights(queries, keys, mask, hidden=0.0),
            "a score of 0 hides nothing, as e to the 0 is 1: use -inf.",
        ),
    ]
    if e == d:
        known.append(
            (_attention_weights(queries, values, mask), "you compared the queries with the *values*, not keys.")
        )
    for numbers, diagnosis in known:
        if _close(weights, numbers):
            return diagnosis
    over_queries = _attention_weights(queries, keys, mask, axis="queries")
    if _close(weights.nan_to_num(0.0), over_queries):  # the column of a key that nobody looks at may be NaN
        return "your columns sum to 1: the softmax runs over the keys, the last axis, -1."
    plain = torch.tensor(_scores(queries, keys, d**-0.5), dtype=torch.float64)
    given, may = weights.detach().double().cpu(), torch.tensor(mask)
    if _close(given[may], plain[may].tolist()):
        return "these are the scores: a softmax turns them into weights."
    for b, q in empty:
        rest = given.clone()
        rest[b, q] = 0
        if _close(rest, right):
            what = "NaN" if given[b, q].isnan().any() else f"{float(given[b, q].max()):.2f} for a masked key"
            return f"query {q} of sentence {b} may attend to nothing and should get zeros, but gets {what}."
    sums = given.sum(-1)[may.any(-1)]
    if not ((sums - 1).abs() < 1e-3).all():
        return f"a row of your weights sums to {float(sums[0]):.2f}, not to 1: scale and mask *before* the softmax."
    shown = ", ".join(f"{number:.3f}" for number in right[0][0])
    return f"sentence 0, query 0 should be [{shown}]; yours: {_shown(given[0, 0])}."


def _scores(queries, keys, scale: float) -> list:
    """Entry by entry, for nested lists `(batch, queries, keys)`."""
    return [
        [[scale * sum(q * k for q, k in zip(query, key, strict=True)) for key in some_keys] for query in some_queries]
        for some_queries, some_keys in zip(queries, keys, strict=True)
    ]


def _attention_weights(queries, keys, mask, scale=None, hidden=-math.inf, axis="keys") -> list:
    """The weights; with `scale`, `hidden` (the score of what is masked) and `axis`, those of a usual mistake."""
    scores = _scores(queries, keys, len(keys[0][0]) ** -0.5 if scale is None else scale)
    masked = [
        [[s if may else hidden for s, may in zip(*rows, strict=True)] for rows in zip(*sentence, strict=True)]
        for sentence in zip(scores, mask, strict=True)
    ]
    if axis == "keys":
        return [[_softmax(row) for row in rows] for rows in masked]
    return [_turned([_softmax(column) for column in _turned(rows)]) for rows in masked]


def _turned(rows: list[list[float]]) -> list[list[float]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _hidden(weights: list, mask: list) -> list:
    return (torch.tensor(weights, dtype=torch.float64) * torch.tensor(mask)).tolist()


def _averages(weights: list, values: list) -> list:
    return [
        [
            [sum(w * value[i] for w, value in zip(row, some_values, strict=True)) for i in range(len(some_values[0]))]
            for row in rows
        ]
        for rows, some_values in zip(weights, values, strict=True)
    ]


def _softmax(scores: list[float]) -> list[float]:
    """Zeros for a row in which everything is hidden."""
    top = max(scores)
    if top == -math.inf:
        return [0.0] * len(scores)
    powers = [math.exp(score - top) for score in scores]
    return [power / sum(powers) for power in powers]


@check("4.3", section="7. Queries and keys of different size: the additive score")
def check_additive_scores(additive_scores: Callable[..., Tensor]) -> None:
    """Try out `additive_scores(queries, keys, W_q, W_k, w_v)`: first with sizes alike, then all different."""
    generator = torch.Generator().manual_seed(4)
    for batch, n, m, query_size, key_size, h in ((2, 3, 3, 3, 3, 3), (2, 3, 4, 5, 6, 7)):
        shapes = ((batch, n, query_size), (batch, m, key_size), (h, query_size), (h, key_size), (h,))
        inputs = [torch.randn(shape, generator=generator) for shape in shapes]
        copies = [tensor.clone() for tensor in inputs]
        answer = additive_scores(*inputs)
        if not all(torch.equal(tensor, copy) for tensor, copy in zip(inputs, copies, strict=True)):
            raise Wrong("one of the arguments has changed: work on new tensors (no `x += ...`, no `x[...] = ...`).")
        if isinstance(answer, Tensor) and tuple(answer.shape) == (batch, n, m, h):
            raise Wrong("you still have h numbers for each pair: the dot product with w_v makes one of them.")
        if isinstance(answer, Tensor) and tuple(answer.shape) == (batch, n, m, 1):
            raise Wrong("there is one axis of size 1 too many at the end: `squeeze(-1)` takes it away.")
        if isinstance(answer, Tensor) and tuple(answer.shape) == (batch, n) == (batch, m):
            raise Wrong(
                "query 0 met key 0 only, query 1 key 1, and so on: with a new axis in each, "
                "`[:, :, None, :]` and `[:, None, :, :]`, each query meets each key."
            )
        _examine_form(answer, (batch, n, m), "scores")
        queries, keys, W_q, W_k, w_v = (tensor.tolist() for tensor in inputs)
        if not _close(answer, _additive(queries, keys, W_q, W_k, w_v)):
            raise Wrong(_diagnose_scores(answer, queries, keys, W_q, W_k, w_v))


def _diagnose_scores(answer, queries, keys, W_q, W_k, w_v) -> str:
    """Which of the usual mistakes gives these scores."""
    right = _additive(queries, keys, W_q, W_k, w_v)
    if len(queries[0]) == len(keys[0]) and _close(answer, [_turned(rows) for rows in right]):
        return "a row for each key, a column for each query: it should be the other way round."
    if _close(answer, [[_softmax(row) for row in rows] for rows in right]):
        return "these are the weights: return the scores, before the softmax."
    known = {
        "the tanh is missing.": _additive(queries, keys, W_q, W_k, w_v, squeeze=lambda q, k: q + k),
        "add first, then take tanh of the *sum*: you squeezed queries and keys apart from each other.": _additive(
            queries, keys, W_q, W_k, w_v, squeeze=lambda q, k: math.tanh(q) + math.tanh(k)
        ),
        "you took keys from queries: the two are *added*.": _additive(
            queries, keys, W_q, W_k, w_v, squeeze=lambda q, k: math.tanh(q - k)
        ),
        "you multiplied query and key: this score is additive.": _additive(
            queries, keys, W_q, W_k, w_v, squeeze=lambda q, k: math.tanh(q * k)
        ),
        "w_v is missing: you summed up, without weighing.": _additive(queries, keys, W_q, W_k, [1.0] * len(w_v)),
        "divided by a root: that belongs to the dot product, not to this score.": _additive(
            queries, keys, W_q, W_k, [number / math.sqrt(len(w_v)) for number in w_v]
        ),
    }
    if len({len(queries[0]), len(keys[0]), len(W_q), len(W_q[0]), len(W_k[0])}) == 1:  # the first trial
        identity = [[float(i == j) for j in range(len(W_q))] for i in range(len(W_q))]
        known |= {
            "your matrices lie on their side: for rows of vectors it is `queries @ W_q.T`.": _additive(
                queries, keys, _turned(W_q), _turned(W_k), w_v
            ),
            "you exchanged W_q and W_k.": _additive(queries, keys, W_k, W_q, w_v),
            "you multiplied from the left: vectors are *rows* here, `queries @ W_q.T`.": _additive(
                _from_left(W_q, queries), _from_left(W_k, keys), identity, identity, w_v
            ),
        }
    for diagnosis, numbers in known.items():
        if _close(answer, numbers):
            return diagnosis
    return (
        f"sentence 0, query 0, key 0 should have the score {right[0][0][0]:.3f}, and key 1 {right[0][0][1]:.3f}; "
        f"yours: {float(answer[0, 0, 0]):.3f} and {float(answer[0, 0, 1]):.3f}."
    )


def _additive(queries, keys, W_q, W_k, w_v, squeeze=lambda q, k: math.tanh(q + k)) -> list:
    def times(matrix, vector):
        return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]

    def score(query, key):
        pairs = zip(w_v, times(W_q, query), times(W_k, key), strict=True)
        return sum(v * squeeze(q, k) for v, q, k in pairs)

    return [
        [[score(query, key) for key in some_keys] for query in some_queries]
        for some_queries, some_keys in zip(queries, keys, strict=True)
    ]


def _from_left(matrix, batch) -> list:
    """The mistake `matrix @ vectors`, in which columns are taken for vectors."""
    return [
        [[sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*rows, strict=True)] for row in matrix]
        for rows in batch
    ]


@check("4.4", section="1. From a dictionary to shares")
def check_sharpen(sharpen: Callable[[Tensor, float], float]) -> None:
    """Try out `sharpen(scores, share)` -> s, so that the largest weight of softmax(s * scores) is the share."""
    for numbers, share in (
        ([2.0, 1.0, 0.0], 0.9),
        ([3.0, 4.0, -6.0, -6.0], 0.4),
        ([-1.0, -3.0], 0.75),
        ([0.01, 0.0, 0.02], 0.8),
        ([-300.0, 100.0, 0.0], 0.5),
    ):
        scores = torch.tensor(numbers, dtype=torch.float64)
        answer = sharpen(scores, share)
        if scores.tolist() != numbers:
            raise Wrong("the caller's scores have changed: work on a new tensor.")
        if isinstance(answer, Tensor) and answer.numel() == 1:
            answer = answer.item()
        if isinstance(answer, bool) or not isinstance(answer, int | float):
            what = (
                f"of shape {tuple(answer.shape)}" if isinstance(answer, Tensor) else f"of type {type(answer).__name__}"
            )
            raise Wrong(f"return one number, `s`; yours is {what}.")
        if not (math.isfinite(answer) and answer > 0):
            raise Wrong(f"`s` is a positive number, yours is {answer:g}. (Below 0 it would turn the order round.)")
        if diagnosis := _diagnose_sharpness(answer, numbers, share):
            raise Wrong(diagnosis)


def _diagnose_sharpness(s: float, numbers: list[float], share: float) -> str:
    """What is wrong with a sharpness; nothing, if it is right."""

    def weights(factor: float) -> list[float]:
        return _softmax([factor * number for number in numbers])

    largest = max(weights(s))
    if abs(largest - share) <= 1e-3:
        return ""
    if abs(max(weights(1 / s)) - share) <= 1e-3:
        return f"{s:.3g} is the temperature, by which one *divides*; `s` multiplies the scores: it is 1 over that."
    first = weights(s)[0]
    if abs(first - share) <= 1e-3:
        return f"in scores {numbers} the *first* key now has {first:.2f}; it is the largest weight that should."
    way = "more" if largest < share else "less"
    return f"with s = {s:.4g}, scores {numbers} give a largest weight of {largest:.3f}, not {share}: {way} sharpness."


def _examine_form(answer: object, shape: tuple[int, ...], name: str) -> None:
    if not isinstance(answer, Tensor):
        raise Wrong(f"the {name} should be a tensor; yours is of type {type(answer).__name__}.")
    if tuple(answer.shape) != shape:
        raise Wrong(f"the {name} should have shape {shape}; yours: {tuple(answer.shape)}.")


def _close(tensor: Tensor, numbers: list, error: float = 1e-4) -> bool:
    right = torch.tensor(numbers, dtype=torch.float64)
    return torch.allclose(tensor.detach().double().cpu(), right, rtol=0, atol=error)


def _shown(row: Tensor) -> str:
    return "[" + ", ".join(f"{number:.3f}" for number in row.tolist()) + "]"
