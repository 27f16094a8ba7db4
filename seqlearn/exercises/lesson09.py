"""Checks of lesson 09. The oracles are plain formulas: they import nothing that the lesson is about."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, avoids, called, check, has_dtype, has_shape, matches, number
from .plain import shown, table

LOWEST = (8, 20)  # epochs between which the reading of exercise 9.4 is right
LOWEST_OF_GRU = (21, 36)  # those of the panel beside it


@check("9.1", section="3. Batch norm and layer norm")
def check_layer_norm(layer_norm: Callable[..., Tensor]) -> None:
    """Try out `layer_norm(x, gain, shift, eps)`: on a table, on a batch, with a large eps, on equal numbers."""
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
        if eps > 0.1:
            x[0] /= 8  # a variance below eps
        gain, shift = 1 + torch.rand(2, shape[-1], generator=generator, dtype=torch.float64)
        answer = called(layer_norm, x, gain, shift, eps)
        has_shape(answer, shape, "answer, like that of x,")
        if not answer.isfinite().all():
            where = "a vector of equal numbers" if equal else "an ordinary vector"
            raise Wrong(f"{where} gives NaN: its variance is 0, and eps under the root avoids the division by 0.")
        right = _normalised(x, -1, gain, shift, eps)
        first, given = shown(right.flatten(0, -2)[0]), shown(answer.flatten(0, -2)[0])
        otherwise = f"the first vector should become {first}; yours: {given}."
        matches(answer, right, _norm_mistakes(x, gain, shift, eps), otherwise=otherwise, within=1e-3)
    told = "the numbers are right, but the task is to write the norm yourself, without torch's layer norm."
    avoids(layer_norm, {"LayerNorm": told, "layer_norm": told})


def _normalised(x: Tensor, axes, gain, shift, eps, *, correction=0, centre=True, size=None) -> Tensor:
    """Layer norm over `axes`; with the options, that of a usual mistake. `size` maps a variance to the divisor."""
    away = x - x.mean(axes, keepdim=True)
    variance = x.var(axes, correction=correction, keepdim=True)
    if not centre:
        away, variance = x, (x**2).mean(axes, keepdim=True)
    return gain * away / (size(variance) if size else (variance + eps).sqrt()) + shift


def _norm_mistakes(x: Tensor, gain: Tensor, shift: Tensor, eps: float) -> list[tuple[str, Callable[[], Tensor]]]:
    everything, n = tuple(range(x.dim())), x.shape[-1]
    away = x - x.mean(-1, keepdim=True)

    def norm(axes: int | tuple[int, ...] = -1, gain=gain, shift=shift, eps=eps, **options) -> Callable[[], Tensor]:
        return lambda: _normalised(x, axes, gain, shift, eps, **options)

    scaled = norm(gain=torch.ones_like(gain), shift=torch.zeros_like(shift))()
    mistakes = [
        ("you averaged over the *first* axis, so each number depends on other words: take the last one, -1.", norm(0)),
        ("you averaged over *all* axes at once: each vector is normalised by itself, over the last one.",
         norm(everything)),
        ("you divided by n - 1 (the default of `var` and `std`): here it is n, `correction=0`.", norm(correction=1)),
        ("you divided by the variance: its square root is what you want.", norm(size=lambda v: v + eps)),
        ("you added eps to the root: it belongs to the variance, *under* the root.", norm(size=lambda v: v**0.5 + eps)),
        ("you took the larger one of variance and eps: eps is *added* to the variance.",
         norm(size=lambda v: v.clamp(min=eps).sqrt())),
        ("you took the larger one of the root and eps: eps is *added* to the variance, under the root.",
         norm(size=lambda v: v.sqrt().clamp(min=eps))),
        ("you took the *sum* of the squared distances: the variance is their mean.",
         norm(size=lambda v: (n * v + eps).sqrt())),
        ("you took the mean of the distances without their sign: the variance is the mean of their *squares*.",
         norm(size=lambda v: away.abs().mean(-1, keepdim=True) + eps)),
        ("you did not subtract the mean.", norm(centre=False)),
        ("you averaged over the *first* axis, and divided by n - 1: take the last axis, and n.", norm(0, correction=1)),
        ("you averaged over *all* axes, and divided by n - 1: take the last axis, and n.",
         norm(everything, correction=1)),
        (f"eps is not used: here it is {eps}, and it is added to the variance.", norm(eps=0.0)),
        ("gain and shift are missing.", lambda: scaled),
        ("the gain is missing.", lambda: scaled + shift),
        ("the shift is missing.", lambda: scaled * gain),
        ("first times the gain, then plus the shift: you did it the other way round.", lambda: (scaled + shift) * gain),
        ("you exchanged gain and shift.", lambda: scaled * shift + gain),
        ("you did not divide by the standard deviation.", lambda: gain * away + shift),
    ]  # fmt: skip
    if x.dim() == 3:
        mistakes.append(
            ("you averaged over the last *two* axes: each word by itself, over the last one.", norm((1, 2)))
        )
        mistakes.append(("you averaged over axis 1, the words: the features are the last axis, -1.", norm(1)))
    elif len(x) == n:  # without the kept axis, the means lie along the wrong axis, and nothing stops
        told = "row i used the mean or the variance of other rows: `keepdim=True` keeps their axis, so that they fit."
        mean, variance = x.mean(-1), x.var(-1, correction=0)
        for centre, spread in ((mean, variance), (mean[:, None], variance), (mean, variance[:, None]),
                               (mean, ((x - mean) ** 2).mean(-1)),
                               (mean, ((x - mean) ** 2).mean(-1, keepdim=True))):  # fmt: skip
            wrong = gain * (x - centre) / (spread + eps).sqrt() + shift
            mistakes.append((told, lambda wrong=wrong: wrong))
    return mistakes


@check("9.2", section="7. Who may look at whom")
def check_decoder_mask(decoder_mask: Callable[..., Tensor]) -> None:
    """Try out `decoder_mask(lengths, steps)` -> (batch, steps, steps), True = may be attended."""
    for lengths, steps in (([4, 2, 3, 1], 4), ([1, 5], 5), ([4, 2, 3], 4), ([3, 3, 3], 3), ([2, 1], 4)):
        mask = called(decoder_mask, torch.tensor(lengths), steps)
        batch, longest = len(lengths), max(lengths)
        has_shape(mask, (batch, steps, steps), "mask, (batch, steps, steps),", {
            (steps, steps): "each sentence has a mask of its own: bring the lengths to the shape (batch, 1, 1), with "
                "`lengths[:, None, None]`.",
            (batch, 1, steps): "this hides padding only: a word still sees what comes later. Join both rules with `&`.",
            (batch, 1, steps, steps): "leave the axis of heads out: the layer adds it.",
            (batch, longest, longest): f"the mask is {steps} wide, `steps`, and not as wide as the longest sentence.",
        })  # fmt: skip
        has_dtype(mask, torch.bool, "mask", "in other types nobody knows what 0 and 1 mean.")
        right = _rule(lengths, steps, lambda q, k, n: k < n and k <= q)
        mistakes = {diagnosis: _rule(lengths, steps, rule) for diagnosis, rule in MASK_MISTAKES.items()}
        matches(mask, right, mistakes, otherwise=_first_wrong(mask.tolist(), right, lengths))


MASK_MISTAKES: dict[str, Callable[[int, int, int], bool]] = {
    "rows and columns are exchanged: rows look, columns are looked at.": lambda q, k, n: q < n and q <= k,
    "every word sees its *future* and not its past: keys not later than the query.": lambda q, k, n: k < n and k >= q,
    "no word may see itself: the diagonal belongs to it, `<=` and not `<`.": lambda q, k, n: k < n and k < q,
    "this hides padding only; a word still sees what comes later.": lambda q, k, n: k < n,
    "this hides the future only; padding can still be seen.": lambda q, k, n: k <= q,
    "the mask is upside down: True means *may be attended*.": lambda q, k, n: not (k < n and k <= q),
    "you joined the two rules with *or*: both have to hold, `&`.": lambda q, k, n: k < n or k <= q,
    "you emptied the *rows* of padding: it is the keys that have to be real.": lambda q, k, n: q < n and k <= q,
    "one position of padding can be seen: positions count from 0, so `<` the length.": lambda q, k, n: k <= min(n, q),
}


def _rule(lengths: list[int], steps: int, rule: Callable[[int, int, int], bool]) -> list:
    """The mask of a rule (query, key, length) -> bool, entry by entry."""
    return table((len(lengths), steps, steps), lambda sentence, q, k: bool(rule(q, k, lengths[sentence])))


def _first_wrong(mask: list, right: list, lengths: list[int]) -> str:
    for sentence, rows in enumerate(right):
        for q, row in enumerate(rows):
            for k, may in enumerate(row):
                if mask[sentence][q][k] != may:
                    told = f"word {q} {'may' if may else 'may not'} look at word {k}, and yours says {not may}."
                    return f"sentence {sentence} has {lengths[sentence]} real words; {told}"
    return ""


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
        return lambda y: _normalised(y, -1, gain, shift, 1e-5)

    parts = (attention, ffn, norm(1.5, 0.2), norm(0.7, -0.4))
    answer = called(block, x, *parts)
    has_shape(answer, x.shape, "answer, of the shape of x,")
    matches(
        answer,
        _pre_norm(x, *parts),
        [(diagnosis, lambda wrong=wrong: wrong(x, *parts)) for wrong, diagnosis in WRONG_BLOCKS],
        otherwise="it is neither pre-norm nor a mistake that this check knows: x + f(norm(x)), first attention, "
        "then FFN.",
    )


def _pre_norm(x, attention, ffn, norm1, norm2):
    x = x + attention(norm1(x), norm1(x), norm1(x))
    return x + ffn(norm2(x))


def _post_norm(x, attention, ffn, norm1, norm2):
    x = norm1(x + attention(x, x, x))
    return norm2(x + ffn(x))


def _by_parts(x, attention, ffn, norm1, norm2, *, first=1, second=1, stream=False, late=False, side=False):
    """Pre-norm; the options leave a residual connection out, or take it (or the FFN's input) from elsewhere."""
    y = norm1(x)
    middle = attention(y, y, y) + first * (y if stream else x)
    return ffn(norm2(x if side else middle)) + second * (x if late else middle)


def _stream_through_norms(x, attention, ffn, norm1, norm2):
    x = norm1(x)
    x = norm2(x + attention(x, x, x))
    return x + ffn(x)


def _norm_after_sublayer(x, attention, ffn, norm1, norm2):
    x = x + norm1(attention(x, x, x))
    return x + norm2(ffn(x))


def _ffn_first(x, attention, ffn, norm1, norm2):
    y = x + ffn(norm2(x))
    return y + attention(norm1(y), norm1(y), norm1(y))


def _some_normalised(which: str):
    def block(x, attention, ffn, norm1, norm2):
        x = x + attention(*(norm1(x) if part in which else x for part in "qkv"))
        return x + ffn(norm2(x))

    return block


def _with(**options):
    return lambda *given: _by_parts(*given, **options)


WRONG_BLOCKS = [
    (_post_norm, "this is still post-norm: the norm comes after the sum. It belongs *into* the sublayer's input."),
    (_stream_through_norms, "the stream itself goes through the norms (`x = norm(x)`): give the normalised copy its "
     "own name."),
    (_norm_after_sublayer, "you normalised what the sublayers *give*: the norm belongs before each sublayer."),
    (_with(first=0, second=0), "the residual connections are missing: add x to what each sublayer gives."),
    (_with(first=0), "the residual connection around the attention is missing."),
    (_with(second=0), "the residual connection around the FFN is missing."),
    (_with(stream=True), "you added the *normalised* copy to what the attention gives: add x itself."),
    (_with(late=True), "the second residual connection adds the block's input: add what the first sum gave."),
    (_some_normalised("q"), "only the queries are normalised: keys and values are the same normalised copy."),
    (_some_normalised("qk"), "the values are not normalised: they are the same normalised copy as queries and keys."),
    (_with(side=True), "the FFN reads the block's input: it should read what the attention has added to."),
    (lambda x, a, f, n1, n2: _pre_norm(x, a, f, n1, n1), "you used norm1 twice: the FFN has its own, norm2."),
    (lambda x, a, f, n1, n2: _pre_norm(x, a, f, n2, n1), "you exchanged the two norms."),
    (lambda x, a, f, n1, n2: n2(_pre_norm(x, a, f, n1, n2)), "there is one norm too many, at the end of the block."),
    (lambda x, a, f, n1, n2: _pre_norm(x, a, f, lambda y: y, lambda y: y), "there are no norms in it."),
    (lambda x, a, f, n1, n2: _pre_norm(x, a, f, n1, lambda y: y), "the FFN reads the stream without a norm."),
    (lambda x, a, f, n1, n2: _pre_norm(x, a, f, lambda y: y, n2), "the attention reads the stream without a norm."),
    (_ffn_first, "first attention, then FFN: you did it the other way round."),
]  # fmt: skip


@check("9.4", section="C. Learned by heart")
def check_lowest_epoch(epoch: object) -> None:
    """Where the curve of the new pairs is lowest, read off the picture of the stored runs (Transformer)."""
    epoch = number(epoch, "give a number of epochs")
    low, high = LOWEST
    if epoch < 1 or epoch > 200:
        raise Wrong("the Transformer's axis goes from 1 to 200 epochs.")
    if epoch > 150:
        raise Wrong("there the line of the *training* pairs is lowest; you want the other one, the new pairs.")
    if LOWEST_OF_GRU[0] <= epoch <= LOWEST_OF_GRU[1]:
        raise Wrong(f"around epoch {epoch:g} the GRU is lowest, the panel on the left; you want the one on the right.")
    if epoch > high:
        raise Wrong(f"at epoch {epoch:g} the line is on its way up already: its lowest point is further left.")
    if epoch < low:
        raise Wrong(f"at epoch {epoch:g} the line is still falling: go a little to the right.")


@check("9.5", section="1. A small network at every position")
def check_block_parameters(count: Callable[[int, int], int]) -> None:
    """Try out `block_parameters(d, f)` with three sizes."""
    for d, f in ((7, 10), (8, 33), (512, 2048)):
        answer = number(called(count, d, f), "return a number")
        right = 4 * d * d + 2 * d * f + f + d + 4 * d
        matches(answer, right, {
            "the layer norms are missing: each has a gain and a shift.": right - 4 * d,
            "half of the norms is missing: there are *two*, and each has a gain *and* a shift.": right - 2 * d,
            "the biases of the FFN are missing.": right - f - d,
            "these are the matrices alone: the FFN's biases and the norms are missing.": right - f - 5 * d,
            "one matrix of the attention is missing: W_q, W_k, W_v, and W_o, which mixes the heads.": right - d * d,
            "the attention has four matrices (yours three, without W_o), and the layer norms are missing, too.":
                right - d * d - 4 * d,
            "here the attention has no biases.": right + 4 * d,
            "the FFN has two matrices, one there and one back.": right - d * f,
            "one bias of the FFN is missing: the second matrix gives d numbers.": right - d,
            "one bias of the FFN is missing: the first matrix gives f numbers.": right - f,
            "the FFN's second bias has d numbers, not f.": right - d + f,
            "f need not be 4d: use the f that is given.": 12 * d * d + 9 * d,
            "an encoder block has *one* attention: the second one is the decoder's.": right + 4 * d * d,
            "this is a decoder block: that of the encoder has one attention and two norms.": right + 4 * d * d + 2 * d,
        }, within=0, otherwise=f"for d = {d} and f = {f} it should be {right:,}; yours: {answer:,}.")  # fmt: skip
