"""Exercises 9.2 and 9.3, the blocks. The oracles are plain formulas: they import nothing that the lesson is about."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_gradient, has_shape, matches
from .plain import Answer, table

Part = Callable[..., Tensor]  # a sublayer, a norm or a whole block


def _norm(gain: float, shift: float) -> Part:
    def norm(x: Tensor) -> Tensor:
        away = x - x.mean(-1, keepdim=True)
        return gain * away / (away.square().mean(-1, keepdim=True) + 1e-5).sqrt() + shift

    return norm


def _looking(matrix: Tensor) -> Part:
    """A plain attention of one head; a row with nothing to look at gives zeros."""

    def look(x: Tensor, other: Tensor, mask: Tensor) -> Tensor:
        powers = (x @ other.mT / 2).exp() * mask.reshape(-1, *mask.shape[-2:])
        return powers / (powers.sum(-1, keepdim=True) + 1e-9) @ other @ matrix

    return look


def _a_block(d: int) -> SimpleNamespace:
    """A block whose parts tell each other apart: two attentions, a feed-forward network, three norms."""
    generator = torch.Generator().manual_seed(9)
    one, two, three = matrices = [m.requires_grad_() for m in torch.randn(3, d, d, generator=generator)]
    norms = {f"ln{n}": _norm(gain, shift) for n, gain, shift in ((1, 1.5, 0.2), (2, 0.8, 0.6), (3, 0.7, -0.4))}
    sublayers = {"attention": _looking(one), "cross": _looking(two), "ffn": lambda y: torch.tanh(y @ three + 0.5)}
    return SimpleNamespace(**sublayers, **norms, matrices=matrices)


def _is_bool(mask: Answer) -> None:
    if not isinstance(mask, Tensor):
        raise Wrong(f"an attention takes two tensors and a mask; your mask is of type {type(mask).__name__}.")
    if mask.dtype != torch.bool:
        raise Wrong(f"the mask should be torch.bool, and yours is {mask.dtype}: `dtype=torch.bool`.")


def _same_mask(mask: Tensor, right: Tensor) -> bool:
    try:
        return bool((mask == right).all()) and torch.broadcast_shapes(mask.shape, right.shape) == right.shape
    except RuntimeError:  # two shapes that do not broadcast
        return False


# ---- what the sublayers give, norm first ----


def _self(block, x, mask):
    y = block.ln1(x)
    return block.attention(y, y, mask)


def _past(block, x):
    return _self(block, x, _seen(x.shape[1]))


def _cross(block, x, memory, real):
    return block.cross(block.ln2(x), memory, real)


def _fed(block, x):
    return block.ffn(block.ln3(x))


def _add_ffn(block, x):
    return x + _fed(block, x)


def _other_norms(right: Part, **norms: str) -> Part:
    """The right block with other norms, by name: `ln3="ln1"`; "" stands for no norm."""

    def wrong(block, *given):
        others = {name: getattr(block, other) if other else (lambda y: y) for name, other in norms.items()}
        return right(SimpleNamespace(**{**vars(block), **others}), *given)

    return wrong


def _without(right: Part, part: str) -> Part:
    """The right block, in which one sublayer gives zeros, so that only its residual connection is left."""

    def wrong(block, *given):
        return right(SimpleNamespace(**{**vars(block), part: lambda x, *others: torch.zeros_like(x)}), *given)

    return wrong


# ---- 9.2 ----


@check("9.2", section="2. Residual connection and layer norm")
def check_encoder_block(encoder_block: Callable[..., Tensor]) -> None:
    """Try out `encoder_block(block, x, mask)` with a block whose parts are plain functions."""
    generator, block = torch.Generator().manual_seed(9), _a_block(4)
    x, real = torch.randn(2, 3, 4, generator=generator), torch.tensor([[True, True, False], [True] * 3])[:, None, None]
    answer = called(encoder_block, _watched_encoder(block, real), x, real)
    has_shape(answer, x.shape, "answer (of the shape of x)")
    matches(
        answer,
        _encoder(block, x, real),
        {diagnosis: wrong(block, x, real) for diagnosis, wrong in WRONG_ENCODERS.items()},
        otherwise="it is neither pre-norm nor a mistake that this check knows: x + f(norm(x)), first with attention, "
        "then with the FFN.",
    )
    has_gradient(answer, block.matrices[0], block.matrices[2])  # it has no cross-attention


def _watched_encoder(block: SimpleNamespace, real: Tensor) -> SimpleNamespace:
    """The block, with an attention that looks at its mask first."""

    def attention(x: Tensor, other: Tensor, mask: Tensor) -> Tensor:
        _is_bool(mask)
        if _same_mask(mask, ~real):
            raise Wrong("the mask is upside down: give the attention `mask` as it is.")
        if not _same_mask(mask, real):
            raise Wrong("the attention got another mask: give it `mask` as it is.")
        return block.attention(x, other, mask)

    return SimpleNamespace(**{**vars(block), "attention": attention})


def _encoder(block, x, mask):
    return _add_ffn(block, x + _self(block, x, mask))


def _post_norm(block, x, mask):
    x = block.ln1(x + block.attention(x, x, mask))
    return block.ln3(x + block.ffn(x))


def _stream_through_norms(block, x, mask):
    x = block.ln1(x)
    x = block.ln3(x + block.attention(x, x, mask))
    return x + block.ffn(x)


def _norm_after_sublayer(block, x, mask):
    x = x + block.ln1(block.attention(x, x, mask))
    return x + block.ln3(block.ffn(x))


def _no_residual(block, x, mask):
    return _fed(block, _self(block, x, mask))


def _no_residual_of_ffn(block, x, mask):
    return _fed(block, x + _self(block, x, mask))


def _no_residual_of_attention(block, x, mask):
    return _add_ffn(block, _self(block, x, mask))


def _residual_of_the_copy(block, x, mask):
    x = block.ln1(x)
    return _add_ffn(block, x + block.attention(x, x, mask))


def _residual_of_the_input(block, x, mask):
    return x + _fed(block, x + _self(block, x, mask))


def _ffn_of_the_input(block, x, mask):
    return x + _self(block, x, mask) + _fed(block, x)


def _queries_normed(block, x, mask):
    return _add_ffn(block, x + block.attention(block.ln1(x), x, mask))


def _keys_normed(block, x, mask):
    return _add_ffn(block, x + block.attention(x, block.ln1(x), mask))


def _side_by_side(block, x, mask):
    return x + _self(block, x, mask) + block.ffn(block.ln1(x))


def _ffn_first(block, x, mask):
    x = _add_ffn(block, x)
    return x + _self(block, x, mask)


WRONG_ENCODERS: dict[str, Part] = {
    "this is post-norm: the norm comes after the sum. It belongs *before* the sublayer, inside of it.": _post_norm,
    "the stream itself goes through the norms (`x = norm(x)`): "
    "give the normalised copy its own name.": _stream_through_norms,
    "you normalised what the sublayers *give*: the norm belongs before each sublayer.": _norm_after_sublayer,
    "the residual connections are missing: add x to what each sublayer gives.": _no_residual,
    "the residual connection around the attention is missing.": _no_residual_of_attention,
    "the residual connection around the FFN is missing.": _no_residual_of_ffn,
    "the residual connection is taken *after* the norm: "
    "add x itself, and not its normalised copy.": _residual_of_the_copy,
    "the second residual connection adds the block's input: add what the first sum gave.": _residual_of_the_input,
    "only the queries are normalised: keys and values come from `block.ln1(x)`, too.": _queries_normed,
    "only keys and values are normalised: the queries come from `block.ln1(x)`, too.": _keys_normed,
    "the FFN reads the block's input: it should read what the attention has added to.": _ffn_of_the_input,
    "you used ln1 for both: the FFN has a norm of its own, ln3.": _other_norms(_encoder, ln3="ln1"),
    "you used ln3 for both: the attention has a norm of its own, ln1.": _other_norms(_encoder, ln1="ln3"),
    "you exchanged the two norms: ln1 is that of the attention.": _other_norms(_encoder, ln1="ln3", ln3="ln1"),
    "there is one norm too many, at the block's end.": lambda block, *given: block.ln3(_encoder(block, *given)),
    "there are no norms in it.": _other_norms(_encoder, ln1="", ln3=""),
    "the FFN reads the stream without a norm.": _other_norms(_encoder, ln3=""),
    "the attention reads the stream without a norm.": _other_norms(_encoder, ln1=""),
    "the attention is missing.": _without(_encoder, "attention"),
    "the FFN is missing.": _without(_encoder, "ffn"),
    "the FFN reads what the attention reads: it comes *after* the attention, with ln3.": _side_by_side,
    "first attention, then FFN: you did it the other way round.": _ffn_first,
}


# ---- 9.3 ----


@check("9.3", section="3. Who may look at whom")
def check_decoder_block(decoder_block: Callable[..., Tensor]) -> None:
    """Try out `decoder_block(block, x, memory, real)`: 4 target words look at themselves, then at 5 source words."""
    generator, block = torch.Generator().manual_seed(9), _a_block(6)
    x, memory = (torch.randn(2, steps, 6, generator=generator) for steps in (4, 5))
    memory.requires_grad_()
    real = torch.tensor([[True] * 3 + [False] * 2, [True] * 5])[:, None, None]
    answer = called(decoder_block, _watched_decoder(block, memory, real), x, memory, real)
    has_shape(answer, x.shape, "answer (of the shape of x)")
    matches(
        answer,
        _decoder(block, x, memory, real),
        {diagnosis: wrong(block, x, memory, real) for diagnosis, wrong in WRONG_DECODERS.items()},
        otherwise="this is not a mistake that this check knows: x + f(norm(x)), three times, with self-attention, "
        "cross-attention and FFN.",
    )
    has_gradient(answer, memory, *block.matrices)


def _watched_decoder(block: SimpleNamespace, memory: Tensor, real: Tensor) -> SimpleNamespace:
    """The block, with attentions that look at their arguments first."""
    source = memory.shape[1]

    def attention(x: Tensor, other: Tensor, mask: Tensor) -> Tensor:
        if source in (x.shape[1], other.shape[1]):
            raise Wrong("`block.attention` looks from target to target: the memory belongs into `block.cross`.")
        _is_bool(mask)
        _examine_causal(mask, x.shape[1], real)
        return block.attention(x, other, mask)

    def cross(x: Tensor, other: Tensor, mask: Tensor) -> Tensor:
        if x.shape[1] == source:
            raise Wrong("in cross-attention the queries come from the *target*, and yours come from the memory.")
        if other.shape[1] != source:
            raise Wrong("cross-attention takes its keys and values from the target: give it `memory`.")
        _is_bool(mask)
        if _same_mask(mask, ~real):
            raise Wrong("the mask of cross-attention is upside down: give it `real` as it is.")
        if not _same_mask(mask, real):
            raise Wrong("cross-attention hides the padding of the *source*: its mask is `real`.")
        return block.cross(x, other, mask)

    return SimpleNamespace(**{**vars(block), "attention": attention, "cross": cross})


Rule = Callable[[int, int], bool]  # may the query look at the key?
CAUSAL_MISTAKES: list[tuple[Rule, str]] = [
    (lambda q, k: True, "a word sees its *future*: hide the words that come after it, with a causal mask."),
    (lambda q, k: k > q, "the mask is upside down: a word sees its future, and neither its past nor itself."),
    (
        lambda q, k: k >= q,
        "the mask is turned round: a word sees itself and its *future* (`triu`); it should see its past (`tril`).",
    ),
    (lambda q, k: k < q, "no word may see itself: the diagonal belongs to the mask."),
    (lambda q, k: k <= q + 1, "a word sees one word of its *future*: the mask ends at the diagonal."),
    (lambda q, k: k == q, "every word sees only itself: it should see its past, too."),
]


def _seen(steps: int, rule: Rule = lambda q, k: k <= q) -> Tensor:
    """A mask (1, 1, steps, steps), which is causal without another rule."""
    return torch.tensor(table((1, 1, steps, steps), lambda _, __, q, k: rule(q, k)))


def _examine_causal(mask: Tensor, steps: int, real: Tensor) -> None:
    """Is it True where a target word may look at another one, (steps, steps), or with axes before it?"""
    if mask.shape == real.shape:
        raise Wrong("self-attention of the decoder got the mask of the *source*: make a causal mask, (steps, steps).")
    if tuple(mask.shape[-2:]) != (steps, steps) or mask.shape[:-2].numel() != 1:
        told = f"the causal mask should have shape (steps, steps), here ({steps}, {steps})"
        raise Wrong(f"{told}; yours: {tuple(mask.shape)}.")
    matches(
        mask.reshape(1, 1, steps, steps),
        _seen(steps),
        [(diagnosis, _seen(steps, rule)) for rule, diagnosis in CAUSAL_MISTAKES],
        otherwise="this is no causal mask: word q may look at word k if k <= q.",
    )


def _decoder(block, x, memory, real):
    x = x + _past(block, x)
    return _add_ffn(block, x + _cross(block, x, memory, real))


def _decoder_post_norm(block, x, memory, real):
    x = block.ln1(x + block.attention(x, x, _seen(x.shape[1])))
    x = block.ln2(x + block.cross(x, memory, real))
    return block.ln3(x + block.ffn(x))


def _decoder_stream_through_norms(block, x, memory, real):
    x = block.ln1(x)
    x = block.ln2(x + block.attention(x, x, _seen(x.shape[1])))
    x = block.ln3(x + block.cross(x, memory, real))
    return x + block.ffn(x)


def _decoder_no_residual(block, x, memory, real):
    return _fed(block, _cross(block, _past(block, x), memory, real))


def _no_residual_of_self(block, x, memory, real):
    x = _past(block, x)
    return _add_ffn(block, x + _cross(block, x, memory, real))


def _no_residual_of_cross(block, x, memory, real):
    return _add_ffn(block, _cross(block, x + _past(block, x), memory, real))


def _decoder_no_residual_of_ffn(block, x, memory, real):
    x = x + _past(block, x)
    return _fed(block, x + _cross(block, x, memory, real))


def _cross_adds_the_copy(block, x, memory, real):
    x = block.ln2(x + _past(block, x))
    return _add_ffn(block, x + block.cross(x, memory, real))


def _cross_adds_the_input(block, x, memory, real):
    return _add_ffn(block, x + _cross(block, x + _past(block, x), memory, real))


def _cross_reads_the_input(block, x, memory, real):
    return _add_ffn(block, x + _past(block, x) + _cross(block, x, memory, real))


def _cross_reads_the_old_copy(block, x, memory, real):
    return _add_ffn(block, x + _past(block, x) + block.cross(block.ln1(x), memory, real))


def _memory_by_ln1(block, x, memory, real):
    return _decoder(block, x, block.ln1(memory), real)


def _memory_by_ln2(block, x, memory, real):
    return _decoder(block, x, block.ln2(memory), real)


def _cross_first(block, x, memory, real):
    x = x + _cross(block, x, memory, real)
    return _add_ffn(block, x + _past(block, x))


def _ffn_before_cross(block, x, memory, real):
    x = x + _past(block, x)
    x = _add_ffn(block, x)
    return x + _cross(block, x, memory, real)


WRONG_DECODERS: dict[str, Part] = {
    "this is post-norm: the norm comes after the sum. It belongs *before* the sublayer.": _decoder_post_norm,
    "the stream itself goes through the norms (`x = norm(x)`): "
    "give the normalised copy its own name.": _decoder_stream_through_norms,
    "the residual connections are missing: add x to what each sublayer gives.": _decoder_no_residual,
    "the residual connection around the self-attention is missing.": _no_residual_of_self,
    "the residual connection around the cross-attention is missing.": _no_residual_of_cross,
    "the residual connection around the FFN is missing.": _decoder_no_residual_of_ffn,
    "the residual connection of the cross-attention is taken *after* the norm: "
    "add x, and not its normalised copy.": _cross_adds_the_copy,
    "the second residual connection adds the block's input: add what the first sum gave.": _cross_adds_the_input,
    "cross-attention reads the block's input: it should read what self-attention has added to.": _cross_reads_the_input,
    "the queries of the cross-attention are the old copy, made by ln1 before the self-attention: "
    "make a new one, `block.ln2(x)`.": _cross_reads_the_old_copy,
    "the memory is normed again: the encoder's last norm has done it (section 2). "
    "Give `memory` as it is.": _memory_by_ln2,
    "the memory is normed again, by ln1: the encoder's last norm has done it. Give `memory` as it is.": _memory_by_ln1,
    "the cross-attention is missing: the decoder hears nothing of the source.": _without(_decoder, "cross"),
    "the self-attention is missing: no target word hears of the words before it.": _without(_decoder, "attention"),
    "the FFN is missing.": _without(_decoder, "ffn"),
    "you used ln1 for all: each sublayer has a norm of its own.": _other_norms(_decoder, ln2="ln1", ln3="ln1"),
    "you used ln1 for the cross-attention, too: its own norm is ln2.": _other_norms(_decoder, ln2="ln1"),
    "you used ln2 for the FFN, too: its own norm is ln3.": _other_norms(_decoder, ln3="ln2"),
    "you used ln1 for the FFN, too: its own norm is ln3.": _other_norms(_decoder, ln3="ln1"),
    "you exchanged ln2 and ln3: ln2 is that of the cross-attention.": _other_norms(_decoder, ln2="ln3", ln3="ln2"),
    "you exchanged ln1 and ln2: ln1 is that of the self-attention.": _other_norms(_decoder, ln1="ln2", ln2="ln1"),
    "there is one norm too many, at the block's end.": lambda block, *given: block.ln3(_decoder(block, *given)),
    "there are no norms in it.": _other_norms(_decoder, ln1="", ln2="", ln3=""),
    "the self-attention reads the stream without a norm.": _other_norms(_decoder, ln1=""),
    "the queries of the cross-attention are not normed: it reads ln2 of x.": _other_norms(_decoder, ln2=""),
    "the FFN reads the stream without a norm.": _other_norms(_decoder, ln3=""),
    "first self-attention, then cross-attention: you did it the other way round.": _cross_first,
    "the FFN comes last: you have it before the cross-attention.": _ffn_before_cross,
}
