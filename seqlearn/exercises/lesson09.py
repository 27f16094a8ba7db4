"""Checks of lesson 09. The oracles are plain formulas: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, check

LOWEST = (8, 25)  # epochs between which the reading of exercise 9.4 is right


@check("9.1", section="3. Batch norm and layer norm")
def check_layer_norm(layer_norm: Callable[..., Tensor]) -> None:
    """Try out `layer_norm(x, gain, shift, eps)`: on a table, on a batch, on equal numbers, with a large eps."""
    generator = torch.Generator().manual_seed(9)
    for shape, eps, equal in (
        ((3, 3), 1e-5, False),
        ((2, 3, 4), 1e-5, False),
        ((3, 4), 0.5, False),
        ((3, 4), 1e-5, True),
    ):
        x = 2 * torch.randn(shape, generator=generator, dtype=torch.float64) + 1
        if equal:
            x[1] = 7.0
        gain, shift = 1 + torch.rand(2, shape[-1], generator=generator, dtype=torch.float64)
        inputs = (x, gain, shift)
        copies = [tensor.clone() for tensor in inputs]
        answer = layer_norm(*inputs, eps)
        for name, tensor, copy in zip(("x", "gain", "shift"), inputs, copies, strict=True):
            if not torch.equal(tensor, copy):
                raise Wrong(f"`{name}` has changed: work on new tensors (no `x -= ...`, no `x[...] = ...`).")
        if not isinstance(answer, Tensor):
            raise Wrong(f"return a tensor; yours is of type {type(answer).__name__}.")
        if answer.shape != x.shape:
            raise Wrong(f"x has the shape {tuple(x.shape)}, and so should the answer; yours: {tuple(answer.shape)}.")
        if not _close(answer, _normalised(x, -1, gain, shift, eps)):
            raise Wrong(_diagnose_norm(answer, x, gain, shift, eps, equal))


def _normalised(x: Tensor, axes, gain, shift, eps, *, correction=0, root=True, outside=False, centre=True) -> Tensor:
    """Layer norm over `axes`; with the options, that of a usual mistake."""
    away = x - x.mean(axes, keepdim=True)
    variance = x.var(axes, correction=correction, keepdim=True)
    if not centre:
        away, variance = x, (x**2).mean(axes, keepdim=True)
    if outside:
        size = variance.sqrt() + eps
    else:
        size = (variance + eps).sqrt() if root else variance + eps
    return gain * away / size + shift


def _diagnose_norm(answer: Tensor, x: Tensor, gain: Tensor, shift: Tensor, eps: float, equal: bool) -> str:
    """Which of the usual mistakes gives this answer."""
    everything = tuple(range(x.dim()))
    if answer.isnan().any() or answer.isinf().any():
        where = "a vector of equal numbers" if equal else "an ordinary vector"
        return f"{where} gives NaN: its variance is 0, and eps under the root keeps you from dividing by 0."
    known = [
        ((0,), {}, "you averaged over the *first* axis, so each number depends on other words: take the last one, -1."),
        (
            everything,
            {},
            "you averaged over *all* axes at once: each vector is normalised by itself, over the last one.",
        ),
        (
            (-1,),
            {"correction": 1},
            "you divided by n - 1 (the default of `var` and `std`): here it is n, `correction=0`.",
        ),
        ((-1,), {"root": False}, "you divided by the variance: its square root is what you want."),
        ((-1,), {"outside": True}, "you added eps to the root: it belongs to the variance, *under* the root."),
        ((-1,), {"centre": False}, "you did not subtract the mean."),
        (
            (0,),
            {"correction": 1},
            "you averaged over the *first* axis, and divided by n - 1: take the last axis, and n.",
        ),
        (
            everything,
            {"correction": 1},
            "you averaged over *all* axes, and divided by n - 1: take the last axis, and n.",
        ),
    ]
    if x.dim() == 3:
        known.append(((1, 2), {}, "you averaged over the last *two* axes: each word by itself, over the last one."))
        known.append(((1,), {}, "you averaged over axis 1, the words: the features are the last axis, -1."))
    for axes, options, diagnosis in known:
        if _close(answer, _normalised(x, axes, gain, shift, eps, **options)):
            return diagnosis
    if _close(answer, _normalised(x, -1, gain, shift, 0.0)):
        return f"eps is not used: here it is {eps}, and it is added to the variance."
    one, nothing = torch.ones_like(gain), torch.zeros_like(shift)
    scaled = _normalised(x, -1, one, nothing, eps)
    others = {
        "gain and shift are missing.": scaled,
        "the gain is missing.": scaled + shift,
        "the shift is missing.": scaled * gain,
        "first times the gain, then plus the shift: you did it the other way round.": (scaled + shift) * gain,
        "you exchanged gain and shift.": scaled * shift + gain,
        "you did not divide by the standard deviation.": gain * (x - x.mean(-1, keepdim=True)) + shift,
    }
    for diagnosis, numbers in others.items():
        if _close(answer, numbers):
            return diagnosis
    right = _normalised(x, -1, gain, shift, eps).flatten(0, -2)[0]
    return f"the first vector should become {_shown(right)}; yours: {_shown(answer.flatten(0, -2)[0])}."


@check("9.2", section="7. Who may look at whom")
def check_decoder_mask(decoder_mask: Callable[..., Tensor]) -> None:
    """Try out `decoder_mask(lengths, steps)` -> (batch, steps, steps), True = may be attended."""
    for lengths, steps in (([4, 2, 3], 4), ([1, 5], 5), ([3, 3, 3], 3)):
        given = torch.tensor(lengths)
        mask = decoder_mask(given, steps)
        if given.tolist() != lengths:
            raise Wrong("`lengths` has changed: work on new tensors.")
        if not isinstance(mask, Tensor):
            raise Wrong(f"return a tensor; yours is of type {type(mask).__name__}.")
        shape = (len(lengths), steps, steps)
        if tuple(mask.shape) == (shape[0], 1, steps, steps):
            raise Wrong("leave the axis of heads out: the layer adds it.")
        if tuple(mask.shape) != shape:
            raise Wrong(f"the shape should be (batch, steps, steps), here {shape}; yours: {tuple(mask.shape)}.")
        if mask.dtype != torch.bool:
            raise Wrong(f"a mask is bool; yours is {mask.dtype}: in other types nobody knows what 0 and 1 mean.")
        right = _rule(lengths, steps, lambda q, k, length: k < length and k <= q)
        if mask.tolist() != right:
            raise Wrong(_diagnose_mask(mask.tolist(), right, lengths, steps))


def _rule(lengths: list[int], steps: int, rule: Callable[[int, int, int], bool]) -> list:
    """The mask of a rule (query, key, length) -> bool, entry by entry."""
    return [[[bool(rule(q, k, length)) for k in range(steps)] for q in range(steps)] for length in lengths]


def _diagnose_mask(mask: list, right: list, lengths: list[int], steps: int) -> str:
    """Which of the usual mistakes gives this mask."""
    known = [
        (lambda q, k, n: q < n and q <= k, "rows and columns are exchanged: rows look, columns are looked at."),
        (
            lambda q, k, n: k < n and k >= q,
            "every word sees its *future* and not its past: keys not later than the query.",
        ),
        (lambda q, k, n: k < n and k < q, "no word may see itself: the diagonal belongs to it, `<=` and not `<`."),
        (lambda q, k, n: k < n, "this hides padding only; a word still sees what comes later."),
        (lambda q, k, n: k <= q, "this hides the future only; padding can still be seen."),
        (lambda q, k, n: not (k < n and k <= q), "the mask is upside down: True means *may be attended*."),
        (lambda q, k, n: k < n or k <= q, "you joined the two rules with *or*: both have to hold, `&`."),
        (lambda q, k, n: q < n and k <= q, "you emptied the *rows* of padding: it is the keys that have to be real."),
        (
            lambda q, k, n: k <= n and k <= q,
            "one place of padding can be seen: places count from 0, so `<` the length.",
        ),
    ]
    for rule, diagnosis in known:
        if mask == _rule(lengths, steps, rule):
            return diagnosis
    places = ((b, q, k) for b in range(len(lengths)) for q in range(steps) for k in range(steps))
    b, q, k = next((b, q, k) for b, q, k in places if mask[b][q][k] != right[b][q][k])
    return (
        f"sentence {b} has {lengths[b]} real words; word {q} {'may' if right[b][q][k] else 'may not'} look at "
        f"word {k}, and yours says {mask[b][q][k]}."
    )


@check("9.3", section="4. Norm before or after?")
def check_pre_norm_block(block: Callable[..., Tensor]) -> None:
    """Try out `pre_norm_block(x, attention, ffn, norm1, norm2)` with functions that tell each other apart."""
    generator = torch.Generator().manual_seed(9)
    x, matrix = torch.randn(2, 3, 4, generator=generator), torch.randn(4, 4, generator=generator)

    def attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        return (queries @ keys.transpose(-2, -1) / 2).softmax(-1) @ values @ matrix

    def ffn(y: Tensor) -> Tensor:
        return torch.tanh(y @ matrix.T + 0.5)

    def norm(gain: float, shift: float) -> Callable[[Tensor], Tensor]:
        return lambda y: (
            gain * (y - y.mean(-1, keepdim=True)) / (y.var(-1, correction=0, keepdim=True) + 1e-5).sqrt() + shift
        )

    copy, parts = x.clone(), (attention, ffn, norm(1.5, 0.2), norm(0.7, -0.4))
    answer = block(x, *parts)
    if not torch.equal(x, copy):
        raise Wrong("`x` has changed: write `x = x + ...`, not `x += ...`.")
    if not isinstance(answer, Tensor) or answer.shape != x.shape:
        raise Wrong(f"return a tensor of the shape of x, {tuple(x.shape)}.")
    if _close(answer, _pre_norm(x, *parts)):
        return
    for wrong, diagnosis in WRONG_BLOCKS:
        if _close(answer, wrong(x, *parts)):
            raise Wrong(diagnosis)
    raise Wrong(
        "it is neither pre-norm nor a mistake that this check knows: x + f(norm(x)), first attention, then FFN."
    )


def _pre_norm(x, attention, ffn, norm1, norm2):
    x = x + attention(norm1(x), norm1(x), norm1(x))
    return x + ffn(norm2(x))


def _post_norm(x, attention, ffn, norm1, norm2):
    x = norm1(x + attention(x, x, x))
    return norm2(x + ffn(x))


def _norm_on_the_way(x, attention, ffn, norm1, norm2):
    x = norm1(x)
    x = norm2(x + attention(x, x, x))
    return x + ffn(x)


def _no_way_around(x, attention, ffn, norm1, norm2):
    y = norm1(x)
    return ffn(norm2(attention(y, y, y)))


def _first_way_missing(x, attention, ffn, norm1, norm2):
    y = norm1(x)
    x = attention(y, y, y)
    return x + ffn(norm2(x))


def _second_way_missing(x, attention, ffn, norm1, norm2):
    y = norm1(x)
    return ffn(norm2(x + attention(y, y, y)))


def _queries_only(x, attention, ffn, norm1, norm2):
    x = x + attention(norm1(x), x, x)
    return x + ffn(norm2(x))


def _side_by_side(x, attention, ffn, norm1, norm2):
    y = norm1(x)
    return x + attention(y, y, y) + ffn(norm2(x))


WRONG_BLOCKS = [
    (_post_norm, "this is still post-norm: the norm comes after the sum. It belongs *into* the sublayer's input."),
    (
        _norm_on_the_way,
        "the stream itself goes through the norms (`x = norm(x)`): give the normalised copy its own name.",
    ),
    (_no_way_around, "the ways around are missing: add x to what each sublayer gives."),
    (_first_way_missing, "the way around the attention is missing."),
    (_second_way_missing, "the way around the FFN is missing."),
    (_queries_only, "only the queries are normalised: keys and values are the same normalised copy."),
    (_side_by_side, "the FFN reads the block's input: it should read what the attention has added to."),
    (lambda x, a, f, n1, n2: _pre_norm(x, a, f, n1, n1), "you used norm1 twice: the FFN has its own, norm2."),
    (lambda x, a, f, n1, n2: _pre_norm(x, a, f, n2, n1), "you exchanged the two norms."),
    (lambda x, a, f, n1, n2: n2(_pre_norm(x, a, f, n1, n2)), "there is one norm too many, at the end of the block."),
    (lambda x, a, f, n1, n2: _pre_norm(x, a, f, lambda y: y, lambda y: y), "there are no norms in it."),
    (lambda x, a, f, n1, n2: _pre_norm(x, a, f, n1, lambda y: y), "the FFN reads the stream without a norm."),
    (
        lambda x, a, f, n1, n2: (lambda y: y + a(n1(y), n1(y), n1(y)))(x + f(n2(x))),
        "first attention, then FFN: you did it the other way round.",
    ),
]


@check("9.4", section="18. Learned by heart (optional)")
def check_lowest_epoch(epoch: object) -> None:
    """Where the curve of the new pairs is lowest, read off the picture of the stored runs (Transformer)."""
    if isinstance(epoch, bool) or not isinstance(epoch, int | float):
        raise Wrong(f"give a number of epochs; yours is of type {type(epoch).__name__}.")
    low, high = LOWEST
    if epoch < 1 or epoch > 200:
        raise Wrong("the Transformer's axis goes from 1 to 200 epochs.")
    if epoch > 150:
        raise Wrong("there the *blue* line is lowest, the training pairs; you want the dashed one, the new pairs.")
    if epoch > high:
        raise Wrong(f"at epoch {epoch:g} the dashed line is on its way up already: its lowest point is further left.")
    if epoch < low:
        raise Wrong(f"at epoch {epoch:g} the dashed line is still falling: go a little to the right.")


@check("9.5", section="1. A small network at every position")
def check_block_parameters(count: Callable[[int, int], int]) -> None:
    """Try out `block_parameters(d, f)` with three sizes."""
    for d, f in ((6, 10), (8, 32), (512, 2048)):
        answer = count(d, f)
        if isinstance(answer, bool) or not isinstance(answer, int | float):
            raise Wrong(f"return a number; yours is of type {type(answer).__name__}.")
        right = 4 * d * d + 2 * d * f + f + d + 4 * d
        if math.isclose(answer, right):
            continue
        known = {
            right - 4 * d: "the layer norms are missing: each has a gain and a shift.",
            right - 2 * d: "half of the norms is missing: there are *two*, and each has a gain *and* a shift.",
            right - f - d: "the biases of the FFN are missing.",
            right - f - d - 4 * d: "these are the matrices alone: the FFN's biases and the norms are missing.",
            right - d * d: "one matrix of the attention is missing: W_q, W_k, W_v, and W_o, which mixes the heads.",
            right + 4 * d: "here the attention has no biases.",
            right - d * f: "the FFN has two matrices, one there and one back.",
            right - d: "one bias of the FFN is missing: the second matrix gives d numbers.",
            right - f: "one bias of the FFN is missing: the first matrix gives f numbers.",
            right + 4 * d * d: "an encoder block has *one* attention: the second one is the decoder's.",
            right + 4 * d * d + 2 * d: "this is a decoder block: that of the encoder has one attention and two norms.",
        }
        near = next((text for number, text in known.items() if math.isclose(answer, number)), None)
        raise Wrong(near or f"for d = {d} and f = {f} it should be {right:,}; yours: {answer:,}.")


def _close(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one.detach().double(), other.double(), atol=1e-4, rtol=1e-4)


def _shown(row: Tensor) -> str:
    return "[" + ", ".join(f"{number:.3f}" for number in row.tolist()) + "]"
