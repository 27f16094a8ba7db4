"""Checks of lesson 02. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, check

TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1e-2, torch.float32: 1e-4}  # dtype -> how far a weight may be off


@check("2.1", section="6. The future: causal masks")
def check_may_look(may_look: object) -> None:
    """How many of the 11 places the row "lave", number 3 from 0, of the causal mask may look at."""
    if isinstance(may_look, bool) or not isinstance(may_look, int):
        raise Wrong(f"give a whole number; yours is of type {type(may_look).__name__}.")
    known = {
        3: 'you left out "lave" itself: the diagonal is blue, too.',
        7: "7 is the number of dark cells in that row: those are masked.",
        8: '8 is the *column* "lave": the words that may look at it. What it may look at is its row.',
        11: "11 is the whole row; count its blue cells only.",
    }
    if may_look != 4:
        raise Wrong(
            known.get(may_look, f'count the blue cells in the row "lave" again; {may_look} is not their number.')
        )


@check("2.2", section="5. A masked softmax for lengths")
def check_masked_softmax(masked_softmax: Callable[..., Tensor]) -> None:
    """Try out `masked_softmax(scores, lengths)` -> weights, for lengths of at least 1, `(batch,)`."""
    generator = torch.Generator().manual_seed(2)
    for shape, lengths, shift, on_padding in (
        ((2, 2, 3), [1, 2], 0, None),
        ((3, 2, 4), [2, 4, 1], 0, None),
        ((2, 3, 4), [3, 2], 200, None),
        ((2, 3, 4), [3, 2], 0, 1000.0),
        ((2, 3, 4), [3, 2], "one row", None),
    ):
        scores = torch.randn(shape, generator=generator)
        if shift == "one row":
            scores[0, 0] += 300
        else:
            scores += shift
        if on_padding:
            scores[:, :, -1] = on_padding
        before = scores.clone()
        weights = masked_softmax(scores, torch.tensor(lengths))
        _examine_form(weights, shape, "weights")
        if not torch.equal(scores, before):
            raise Wrong("the caller's scores have changed: work on a new tensor (`masked_fill` makes one).")
        real = [[[key < length for key in range(shape[2])]] * shape[1] for length in lengths]
        expected = _weights(before, real)
        if not _close(weights, expected):
            raise Wrong(_diagnose_weights(weights, expected, before, lengths))
    low = torch.full((1, 1, 3), -3e9)
    weights = masked_softmax(low, torch.tensor([2]))
    if not _close(weights, [[[0.5, 0.5, 0.0]]]):
        raise Wrong(
            f"where all scores are -3e9, padding gets {float(weights[0, 0, 2]):.2f}: a large negative number is not "
            'low enough; float("-inf") is.'
        )


def _examine_form(answer: object, shape: tuple[int, ...], name: str) -> None:
    if not isinstance(answer, Tensor):
        raise Wrong(f"return a tensor; yours is of type {type(answer).__name__}.")
    if tuple(answer.shape) != tuple(shape):
        raise Wrong(f"the {name} should have shape {tuple(shape)}; yours: {tuple(answer.shape)}.")


def _diagnose_weights(weights: Tensor, expected: list, scores: Tensor, lengths: list[int]) -> str:
    """What is wrong with the first row that is not right."""
    right = torch.tensor(expected, dtype=torch.float64)
    off = (weights.detach().double().cpu() - right).abs()
    sentence, query = next(
        (b, q) for b, row in enumerate(off) for q, cells in enumerate(row) if not float(cells.max()) <= 1e-4
    )
    length, row = lengths[sentence], weights[sentence, query].detach().double().cpu()
    where, total, on_padding = f"sentence {sentence}, row {query}", float(row.sum()), float(row[length:].sum())
    given = scores[sentence, query].tolist()
    if (row == -math.inf).any():
        return f"{where} holds -inf: these are the masked scores; now take the softmax."
    along = {0: weights[:, query, 0], 1: weights[sentence, :, 0]}  # key 0 is real in every sentence
    if row.isnan().any() and float(scores.max()) - max(given[:length]) > 80 and given[-1] != 1000.0:
        return (
            f"{where} is NaN, as another row is far above it: subtract each row's *own* largest score, "
            "`amax(dim=-1, keepdim=True)`."
        )
    if len(lengths) == weights.shape[1] and _close(weights, _weights(scores, _by_query(scores, lengths))):
        other = next(q for q in range(len(lengths)) if lengths[q] != length) if query == sentence else query
        return (
            f"row {query} of sentence {sentence} uses the length of sentence {other}: give the mask an axis for the "
            "queries, `real[:, None, :]`."
        )
    if axes := [axis for axis, column in along.items() if abs(float(column.sum()) - 1) < 1e-3]:
        return f"your sums of 1 run along axis {axes[0]}: the softmax goes over the keys, the last axis, -1."
    if row.isnan().any() and given[-1] == 1000.0:
        return (
            f"{where} is NaN, where padding has the score 1000: beside it, e to each real score is 0, and 0 / 0 "
            "is NaN; mask first, then look for the largest score."
        )
    if row.isnan().any() and max(given[:length]) < 80:
        return f"{where} is NaN: are all its keys masked? The first {length} are real."
    if row.isnan().any():
        return (
            f"{where} is NaN, with scores up to {max(given[:length]):.0f}: e to a large score overflows; subtract the "
            "row's largest score before `exp`."
        )
    if on_padding > 1e-4 and not row[:length].any():
        return f"the mask is upside down: {where} gives 0 to its {length} real keys, and {on_padding:.2f} to padding."
    if on_padding > 1e-4 and not row[length + 1 :].any() and length + 1 < len(given):
        return (
            f"sentence {sentence} has length {length}, but key {length} gets {float(row[length]):.2f}: keys count from "
            "0, so the real ones are those *below* the length (`<`, not `<=`)."
        )
    if on_padding > 1e-4 and _close(row, _softmax(given[:length] + [0.0] * (len(given) - length))):
        return f"{where} gives {on_padding:.2f} to padding: a score of 0 hides nothing, as e to the 0 is 1; use -inf."
    if on_padding > 1e-4 and abs(total - 1) < 1e-3:
        most = float(row[length:].max())
        return f"each row sums to 1, but {where} gives {most:.2f} to a padded key: mask before the softmax."
    if on_padding < 1e-4 and _close(row[:length], _softmax(given)[:length]):
        return f"padding gets 0, but {where} sums to {total:.2f}: mask the scores, before the softmax."
    shown = ", ".join(f"{number:.3f}" for number in expected[sentence][query])
    return f"{where} should be [{shown}]; yours: [{', '.join(f'{number:.3f}' for number in row)}]."


def _by_query(scores: Tensor, lengths: list[int]) -> list:
    """What a mask without an axis for the queries allows: row q gets the length of sentence q."""
    _, queries, keys = scores.shape
    return [[[key < lengths[query] for key in range(keys)] for query in range(queries)] for _ in lengths]


def _weights(scores: Tensor, real: list) -> list:
    """Entry by entry, for nested lists `(batch, queries, keys)` of True and False."""
    return [
        [_masked_row(row, may) for row, may in zip(rows, mays, strict=True)]
        for rows, mays in zip(scores.double().tolist(), real, strict=True)
    ]


def _masked_row(scores: list[float], may: list[bool]) -> list[float]:
    shares = iter(_softmax([score for score, allowed in zip(scores, may, strict=True) if allowed]))
    return [next(shares) if allowed else 0.0 for allowed in may]


def _softmax(scores: list[float]) -> list[float]:
    exps = [math.exp(score - max(scores)) for score in scores]
    return [value / sum(exps) for value in exps]


def _close(tensor: Tensor, numbers: list, error: float = 1e-4) -> bool:
    right = torch.tensor(numbers, dtype=torch.float64)
    return torch.allclose(tensor.detach().double().cpu(), right, rtol=0, atol=error)


@check("2.3", section="6. The future: causal masks")
def check_decoder_mask(decoder_mask: Callable[..., Tensor]) -> None:
    """Try out `decoder_mask(ids, pad)` -> bool `(batch, steps, steps)`: causal, and no look at padding."""
    for ids, pad in (([[5, 7, 4, 2], [9, 2, 0, 0]], 0), ([[0, 5, 2, 1, 1], [3, 0, 4, 6, 2], [2, 1, 1, 1, 1]], 1)):
        given = torch.tensor(ids)
        answer = decoder_mask(given, pad)
        if given.tolist() != ids:
            raise Wrong("the caller's ids have changed: work on a new tensor.")
        steps = len(ids[0])
        if isinstance(answer, Tensor) and answer.dtype != torch.bool:
            raise Wrong(
                f"a mask is bool: True or False; yours is {answer.dtype}. A comparison such as `ids != pad` is bool."
            )
        if isinstance(answer, Tensor) and tuple(answer.shape) == (steps, steps):
            raise Wrong(
                f"shape {(steps, steps)} is one mask for all sentences; you want one for each: & with the padding."
            )
        if isinstance(answer, Tensor) and tuple(answer.shape) in ((len(ids), 1, steps), (len(ids), steps)):
            raise Wrong(
                f"shape {tuple(answer.shape)} is the padding alone: & with the causal mask gives each query a row."
            )
        _examine_form(answer, (len(ids), steps, steps), "mask")
        if diagnosis := _diagnose_mask(answer.tolist(), ids, pad):
            raise Wrong(diagnosis)


def _diagnose_mask(answer: list, ids: list[list[int]], pad: int) -> str:
    """What is wrong with a mask; nothing, if it is right."""
    steps, sentences = range(len(ids[0])), range(len(ids))

    def is_mask(rule: Callable[[int, int, int], bool]) -> bool:
        return answer == [[[bool(rule(b, q, k)) for k in steps] for q in steps] for b in sentences]

    def real(b: int, k: int) -> bool:
        return ids[b][k] != pad

    known = [
        (lambda b, q, k: k <= q and real(b, k), ""),
        (
            lambda b, q, k: not (k <= q and real(b, k)),
            "this is the mask upside down: True means that q *may* look at k.",
        ),
        (lambda b, q, k: k <= q, "this is the causal mask alone: row 3 of a padded sentence still sees padding."),
        (lambda b, q, k: real(b, k), "this is the padding alone: row 0 sees words that are not yet written."),
        (lambda b, q, k: k <= q or real(b, k), "you joined with |, or: a key must be in the past *and* real, so &."),
        (lambda b, q, k: k >= q and real(b, k), "each row sees the future and not the past: `tril`, not `triu`."),
        (
            lambda b, q, k: k < q and real(b, k),
            "no query sees itself, and row 0 sees nothing: the diagonal belongs to the mask.",
        ),
        (
            lambda b, q, k: k <= q and real(b, q),
            "the *rows* of padding are all False: mask its columns, the keys, and only them.",
        ),
        (lambda b, q, k: k <= q and ids[b][k] != 0, f"here the id of <pad> is {pad}, and 0 is a word: use `pad`."),
    ]
    for rule, diagnosis in known:
        if is_mask(rule):
            return diagnosis
    b, q, k = next(
        (b, q, k) for b in sentences for q in steps for k in steps if answer[b][q][k] != (k <= q and real(b, k))
    )
    why = "comes later" if k > q else "is real and not in the future" if real(b, k) else "is padding"
    return f"sentence {b}, row {q}, key {k} should be {not answer[b][q][k]}: that key {why}."


@check("2.4", section="7. Three traps")
def check_repaired(repaired: Callable[..., Tensor]) -> None:
    """Try out `repaired(scores, mask)` -> weights: float16, bfloat16 and float32, with an empty row."""
    real = [[[True, True, False]], [[False, False, False]], [[True, False, True]]]
    mask = torch.tensor(real)
    for dtype, error in TOLERANCE.items():
        scores = torch.tensor([[[2.0, 1.0, 3.0]], [[1.0, 2.0, 3.0]], [[0.5, 9.0, 0.5]]], dtype=dtype)
        before, mask_before = scores.clone(), mask.clone()
        try:
            weights = repaired(scores, mask)
        except RuntimeError as problem:
            if "overflow" in str(problem):
                raise Wrong(
                    f"the kind {dtype} cannot hold your constant, and the code stopped: only -inf fits everywhere."
                ) from None
            raise
        _examine_form(weights, (3, 1, 3), "weights")
        if not (torch.equal(scores, before) and torch.equal(mask, mask_before)):
            raise Wrong("an argument has changed: the function still writes into the caller's scores or mask.")
        if weights.dtype != dtype:
            raise Wrong(f"the scores are {dtype}, so the weights should be, too; yours: {weights.dtype}.")
        if not weights[0, 0, :2].any() and float(weights[0, 0, 2]) > 0.5:
            raise Wrong("the mask is upside down: real keys get 0. True means that a key may be attended.")
        _examine_empty_row(weights[1, 0].tolist(), dtype)
        if not _close(weights, _weights(before, real), error):
            raise Wrong(f"the weights of the rows with real keys are off ({dtype}); row 0 is {_shown(weights[0, 0])}.")
    _examine_extremes(repaired)


def _examine_empty_row(row: list[float], dtype: torch.dtype) -> None:
    if any(math.isnan(number) for number in row):
        raise Wrong(f"the row with nothing to attend to is NaN ({dtype}): fill its weights with 0 after the softmax.")
    if any(row):
        raise Wrong(
            f"the row with nothing to attend to gives {row[0]:.2f} to a masked key ({dtype}): it should be all 0; "
            "fill what is masked with 0 after the softmax."
        )


def _examine_extremes(repaired: Callable[..., Tensor]) -> None:
    mask = torch.tensor([[[True, True, False]]])
    low = repaired(torch.tensor([[[-3e9, -3e9, 0.0]]]), mask)
    if not _close(low, [[[0.5, 0.5, 0.0]]]):
        raise Wrong(
            f"the scores -3e9, -3e9 should get 0.50 each, but get {_shown(low[0, 0])}: use -inf, no big number."
        )
    if not repaired(torch.tensor([[[math.nan, 1.0, 2.0]]]), mask).isnan().any():
        raise Wrong("a NaN in a *real* score has become an innocent number: do not hide it (`nan_to_num` does).")
    scores = torch.randn(2, 1, 3, generator=torch.Generator().manual_seed(2), requires_grad=True)
    values = torch.ones(2, 3, 1, requires_grad=True)
    weights = repaired(scores, torch.tensor([[[False, False, False]], [[True, True, False]]]))
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
        raise Wrong("forward is right, but the gradient holds NaN: do not let the empty row divide 0 by 0.")


def _shown(row: Tensor) -> str:
    return "[" + ", ".join(f"{number:.3f}" for number in row.tolist()) + "]"
