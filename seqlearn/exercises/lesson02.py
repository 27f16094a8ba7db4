"""Checks of lesson 02. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, avoids, called, check, has_dtype, has_shape, matches
from .plain import is_close, numbers, shown, softmax, table

TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1e-2, torch.float32: 1e-4}  # dtype -> how far a weight may be off
LOWEST = torch.finfo(torch.float32).min  # no constant is lower, and -inf is


@check("2.2", section="5. A masked softmax for lengths")
def check_masked_softmax(masked_softmax: Callable[..., Tensor]) -> None:
    """Try out `masked_softmax(scores, lengths)` -> weights, for lengths of at least 1, `(batch,)`."""
    generator = torch.Generator().manual_seed(2)
    for shape, lengths, shift, on_padding in (
        ((2, 2, 3), [1, 2], 0, None),
        ((3, 2, 4), [2, 4, 1], 0, None),
        ((2, 3, 4), [3, 2], 200, None),
        ((2, 3, 4), [3, 2], 0, 1000.0),
        ((2, 3, 4), [3, 2], 300, None),
    ):
        scores = torch.randn(shape, generator=generator)
        if shift == 300:  # in one row only
            scores[0, 0] += shift
        else:
            scores += shift
        if on_padding:
            scores[:, :, -1] = on_padding
        weights = called(masked_softmax, scores, torch.tensor(lengths))
        has_shape(weights, shape, "weights")
        expected = _weights(scores, lambda sentence, query, key, lengths=lengths: key < lengths[sentence])
        if not is_close(weights, expected):
            raise Wrong(_diagnose_weights(weights, expected, scores, lengths))
    lowest = torch.full((1, 1, 3), LOWEST), torch.tensor([2])
    weights = called(masked_softmax, *lowest)
    if not is_close(weights, [[[0.5, 0.5, 0.0]]]):
        why = 'a large negative number is not low enough; float("-inf") is.'
        if not weights[0, 0, 2] > 1e-4:  # or NaN
            real = shown(weights[0, 0, :2])
            why = f"and the real keys {real}: subtract the row's own largest score, then `exp`, then divide by the sum."
        raise Wrong(f"where all scores are {LOWEST:.1e}, padding gets {float(weights[0, 0, 2]):.2f}: {why}")
    told = "the weights are right, but the task is to do without `softmax`: use `exp`, `sum`, `amax`, minus and divide."
    softmaxes = ("softmax", "log_softmax", "special_softmax", "logsumexp", "scaled_dot_product_attention")
    avoids(masked_softmax, dict.fromkeys(softmaxes, told), *lowest)


def _weights(scores: Tensor, may: Callable[[int, int, int], bool]) -> list:
    """Masked weights row by row; `may(sentence, query, key)` says what is attended."""
    return [
        [softmax([score if may(b, q, k) else -math.inf for k, score in enumerate(row)]) for q, row in enumerate(rows)]
        for b, rows in enumerate(numbers(scores))
    ]


def _diagnose_weights(weights: Tensor, expected: list, scores: Tensor, lengths: list[int]) -> str:
    """What is wrong: first by what the whole answer equals, then by the first row that is not right."""
    batch, queries, keys = scores.shape
    sentence, query = next(
        (b, q) for b in range(batch) for q in range(queries) if not is_close(weights[b, q], expected[b][q])
    )
    length, row, given = lengths[sentence], numbers(weights[sentence, query]), numbers(scores[sentence, query])
    where, total, on_padding = f"sentence {sentence}, row {query}", sum(row), sum(row[length:])
    nan, on_1000 = any(map(math.isnan, row)), given[-1] == 1000.0
    if -math.inf in row:
        return f"{where} holds -inf: these are the masked scores; now take the softmax."
    if nan and float(scores.max()) - max(given[:length]) > 80 and not on_1000:
        return (
            f"{where} is NaN, as another row is far above it: subtract each row's *own* largest score, "
            "`amax(dim=-1, keepdim=True)`."
        )
    if batch == queries and is_close(weights, _weights(scores, lambda b, q, k: k < lengths[q])):
        other = next(q for q in range(batch) if lengths[q] != length) if query == sentence else query
        return (
            f"row {query} of sentence {sentence} uses the length of sentence {other}: give the mask an axis for the "
            "queries, `real[:, None, :]`."
        )
    if is_close(weights, _weights(scores, lambda b, q, k: k < lengths[0])):
        return f"sentence {sentence} uses the length of sentence 0: each sentence has its own, `lengths[:, None]`."
    by_queries = torch.tensor(_weights(scores, lambda b, q, k: q < lengths[b]))
    spread = by_queries.masked_fill(by_queries.sum(-1, keepdim=True) == 0, 1 / keys)
    if batch > 1 and any(is_close(weights.nan_to_num(0.0), numbers(rule)) for rule in (by_queries, spread)):
        return "you masked the *queries*: whole rows are hidden. It is the keys, the last axis, that have to be real."
    along = {0: weights[:, query, :1].sum(0), 1: weights[:, :, 0].sum(1)}  # key 0 is real in every sentence
    if axes := [axis for axis, sums in along.items() if float((sums - 1).abs().max()) < 1e-3]:
        return f"your sums of 1 run along axis {axes[0]}: the softmax goes over the keys, the last axis, -1."
    if nan and on_1000:
        return (
            f"{where} is NaN, where padding has the score 1000: beside it, e to each real score is 0, and 0 / 0 "
            "is NaN; mask first, then look for the largest score."
        )
    if nan and max(given[:length]) < 80:
        if weights.isnan().all():
            return "every weight is NaN: are all keys masked? Or do you multiply by -inf? 0 * -inf is NaN."
        return f"{where} is NaN: are all its keys masked? The first {length} are real."
    if nan:
        return (
            f"{where} is NaN, with scores up to {max(given[:length]):.0f}: e to a large score overflows; subtract the "
            "row's largest score before `exp`."
        )
    if on_padding > 1e-4 and not any(row[:length]):
        return f"the mask is upside down: {where} gives 0 to its {length} real keys, and {on_padding:.2f} to padding."
    if on_padding > 1e-4 and not any(row[length + 1 :]) and length + 1 < keys:
        return (
            f"sentence {sentence} has length {length}, but key {length} gets {row[length]:.2f}: keys count from "
            "0, so the real ones are those *below* the length (`<`, not `<=`)."
        )
    if on_padding > 1e-4 and is_close(row, softmax(given[:length] + [0.0] * (keys - length))):
        return f"{where} gives {on_padding:.2f} to padding: a score of 0 hides nothing, as e to the 0 is 1; use -inf."
    if on_padding > 1e-4 and abs(total - 1) < 1e-3:
        return (
            f"each row sums to 1, but {where} gives {max(row[length:]):.2f} to a padded key: mask before the softmax."
        )
    if on_padding < 1e-4 and is_close(row[:length], softmax(given)[:length]):
        return f"padding gets 0, but {where} sums to {total:.2f}: mask the scores, before the softmax."
    return f"{where} {_first_row_off(weights, expected, sentence, query)}"


def _first_row_off(weights: Tensor, expected: list, sentence: int, query: int) -> str:
    """What is wrong with weights that are not those of a usual mistake; or rows that are right but for their sums."""
    sums = weights.sum(-1, keepdim=True)
    if is_close(weights / sums, expected) and float(sums.max() - sums.min()) > 1e-6:
        told = "add nothing to the row's sum, by which you divide: after subtracting the largest, it is at least 1."
        if float(sums[sentence, query]) > 1:
            told = "divide each row by its sum."
        elif any(float((weights.sum(axes) - 1).abs().max()) < 1e-3 for axes in ((1, 2), (0, 2), (0, 1, 2))):
            told = "you divide by the sum of several rows: `sum(dim=-1, keepdim=True)` is that of each row."
        return f"sums to {float(sums[sentence, query]):.4f}: {told}"
    return f"should be {shown(expected[sentence][query])}; yours: {shown(weights[sentence, query])}."


@check("2.3", section="6. The future: causal masks")
def check_decoder_mask(decoder_mask: Callable[..., Tensor]) -> None:
    """Try out `decoder_mask(ids, pad)` -> bool `(batch, steps, steps)`: causal, and no look at padding."""
    for ids, pad in (
        ([[5, 7, 4, 2], [9, 2, 0, 0]], 0),
        ([[0, 5, 2, 1, 1], [3, 0, 4, 6, 2], [2, 1, 1, 1, 1]], 1),
        ([[0, 0, 5, 2], [6, 0, 4, 2]], 0),  # padding in front, or between
    ):
        batch, steps = len(ids), len(ids[0])
        try:
            answer = called(decoder_mask, torch.tensor(ids), pad)
        except RuntimeError as problem:
            if "bitwise" in str(problem) and "'Float'" in str(problem):
                raise Wrong("`&` joins bools: give `torch.ones` a `dtype=torch.bool`.") from None
            if "must match the size" not in str(problem):
                raise
            told = (
                "the two masks do not broadcast: give the padding an axis for the queries, `(ids != pad)[:, None, :]`."
            )
            if "dimension 2" in str(problem):  # the padding has its axis
                told = f"the causal mask has to be {(steps, steps)} here: the number of steps is `ids.shape[1]`."
            raise Wrong(told) from None
        if isinstance(answer, Tensor):
            has_dtype(answer, torch.bool, "mask", "True or False. A comparison such as `ids != pad` is bool.")
        padding = "this is the padding alone: & with the causal mask gives each query a row."
        of_all = f"shape {(steps, steps)} is one mask for all sentences; you want one for each: & with the padding."
        shapes = {(steps, steps): of_all, (batch, 1, steps): padding, (batch, steps): padding}
        has_shape(answer, (batch, steps, steps), "mask", shapes)
        right, mistakes = _masks(ids, pad)
        matches(answer, right, mistakes, otherwise=_first_wrong(answer.tolist(), right))


def _masks(ids: list[list[int]], pad: int) -> tuple[list, dict[str, Tensor]]:
    """The right mask, and those of the usual mistakes."""

    def mask(rule: Callable[[int, int, int], bool]) -> Tensor:
        return torch.tensor(table((len(ids), len(ids[0]), len(ids[0])), rule))

    past, before, ahead = mask(lambda b, q, k: k <= q), mask(lambda b, q, k: k < q), mask(lambda b, q, k: k >= q)
    keys, queries = mask(lambda b, q, k: ids[b][k] != pad), mask(lambda b, q, k: ids[b][q] != pad)
    not_0 = mask(lambda b, q, k: ids[b][k] != 0)
    return (past & keys).tolist(), {
        "this is the mask upside down: True means that q *may* look at k.": ~(past & keys),
        "`ids == pad` is True for padding: for the real keys write `!=`.": past & ~keys,
        "this is the causal mask alone: row 3 of a padded sentence still sees padding.": past,
        "this is the padding alone: row 0 sees words that are not yet written.": keys,
        "you joined with |, or: a key must be in the past *and* real, so &.": past | keys,
        "each row sees the future and not the past: `tril`, not `triu`.": ahead & keys,
        "no query sees itself, and row 0 sees nothing: the diagonal belongs to the mask.": before & keys,
        "the *rows* of padding are all False: mask its columns, the keys, and only them.": past & queries,
        "the *rows* of padding are all False, too: mask its columns, the keys, and only them.": past & queries & keys,
        f"here the id of <pad> is {pad}, and 0 is a word: use `pad`.": past & not_0,
    }


def _first_wrong(answer: list, right: list) -> str:
    for b, rows in enumerate(right):
        for q, row in enumerate(rows):
            for k, may in enumerate(row):
                if answer[b][q][k] != may:
                    why = "is real and not in the future" if may else "comes later" if k > q else "is padding"
                    return f"sentence {b}, row {q}, key {k} should be {may}: that key {why}."
    return ""


@check("2.4", section="7. Three traps")
def check_repaired(repaired: Callable[..., Tensor]) -> None:
    """Try out `repaired(scores, mask)` -> weights: float16, bfloat16 and float32, with an empty row."""
    real = [[[True, True, False]], [[False, False, False]], [[True, False, True]]]
    for dtype, error in TOLERANCE.items():
        scores = torch.tensor([[[2.0, 1.0, 3.0]], [[1.0, 2.0, 3.0]], [[0.5, 9.0, 0.5]]], dtype=dtype)
        try:
            weights = called(repaired, scores, torch.tensor(real))
        except RuntimeError as problem:
            if "overflow" in str(problem):
                raise Wrong(
                    f"the dtype {dtype} cannot hold your constant, and the code stopped: only -inf fits everywhere."
                ) from None
            raise
        has_shape(weights, (3, 1, 3), "weights")
        has_dtype(weights, dtype, "weights", "the scores have it, and the weights should keep it.")
        if not weights[0, 0, :2].any() and float(weights[0, 0, 2]) > 0.5:
            raise Wrong("the mask is upside down: real keys get 0. True means that a key may be attended.")
        _examine_empty_row(weights[1, 0].tolist(), dtype)
        by_batch = torch.tensor(_weights(scores.transpose(0, 2), lambda k, q, b: real[b][q][k])).transpose(0, 2)
        masked_late = torch.tensor(_weights(scores, lambda b, q, k: True)) * torch.tensor(real)
        mistakes = {
            "each real key gets 1: the softmax goes over the keys, the last axis, -1.": real,
            "your sums of 1 run along axis 0: the softmax goes over the keys, the last axis, -1.": by_batch,
            f"padding still takes its share of the sum ({dtype}): mask the scores, before the softmax.": masked_late,
        }
        right = _weights(scores, lambda b, q, k: real[b][q][k])
        otherwise = f"the weights of the rows with real keys are off ({dtype}); row 0 is {shown(weights[0, 0])}."
        matches(weights, right, mistakes, within=error, otherwise=otherwise)
    _examine_extremes(repaired)


def _examine_empty_row(row: list[float], dtype: torch.dtype) -> None:
    if any(map(math.isnan, row)):
        raise Wrong(
            f"the row with nothing to attend to is NaN ({dtype}): fill its weights with 0 after the softmax, "
            "with `masked_fill`: it returns a new tensor, and NaN times 0 is still NaN."
        )
    if any(row):
        raise Wrong(
            f"the row with nothing to attend to gives {row[0]:.2f} to a masked key ({dtype}): it should be all 0; "
            "fill what is masked with 0 after the softmax."
        )


def _examine_extremes(repaired: Callable[..., Tensor]) -> None:
    mask = torch.tensor([[[True, True, False]]])
    for dtype in TOLERANCE:
        lowest = torch.finfo(dtype).min
        low = called(repaired, torch.tensor([[[lowest, lowest, 0.0]]], dtype=dtype), mask)
        if not is_close(low, [[[0.5, 0.5, 0.0]]]):
            why = "use -inf, no large negative number, not even the lowest one."
            if low.isnan().any():
                why = "mask first, with -inf, then take the softmax. Here e to each real score is 0, and 0 / 0 is NaN."
            raise Wrong(f"two scores of {lowest:.1e} ({dtype}) should get 0.50 each, but get {shown(low[0, 0])}: {why}")
    if not called(repaired, torch.tensor([[[math.nan, 1.0, 2.0]]]), mask).isnan().any():
        raise Wrong("a NaN in a *real* score has become an innocent number: do not hide it (`nan_to_num` does).")
    scores = torch.randn(2, 1, 3, generator=torch.Generator().manual_seed(2), requires_grad=True)
    values = torch.ones(2, 3, 1, requires_grad=True)
    weights = called(repaired, scores, torch.tensor([[[False, False, False]], [[True, True, False]]]))
    if not weights.requires_grad:
        raise Wrong("no gradient flows through the weights: no `detach`, no `.data`, no `torch.no_grad()`.")
    try:
        (weights @ values)[1].sum().backward()
    except RuntimeError as problem:
        if "inplace" not in str(problem):
            raise
        raise Wrong(
            "the numbers are right, but no gradient comes back: you wrote into the weights that the softmax still "
            "needs. `masked_fill` makes new ones."
        ) from None
    if not all(tensor.grad is not None and tensor.grad.isfinite().all() for tensor in (scores, values)):
        raise Wrong(
            "forward is right, but the gradient holds NaN, from the empty row: first fill the scores, with "
            '`masked_fill(~mask, float("-inf"))`; then the masked ones get the gradient 0.'
        )
