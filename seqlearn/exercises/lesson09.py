"""Checks of lesson 09. The oracles are plain formulas: they import nothing that the lesson is about."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import torch
from torch import Tensor

from . import own_transformer
from .checking import Wrong, called, check, has_shape, matches, number, passes
from .crashes import explain_crash
from .plain import Answer, is_close, table

Part = Callable[..., Tensor]  # a sublayer or a norm
Wrongs = list[tuple[Part, str]]  # a usual mistake, and what is said of it


def yours_or_ours(*written: Callable) -> SimpleNamespace:
    """The five functions of section 4: the learner's where its check passes, else the folded solution.

    It prints which is whose. The order is that of the exercises: `attend`, `encoder_block`, `decoder_block`,
    `shifted_loss`, `greedy`.
    """
    checks = (check_attend, check_encoder_block, check_decoder_block, check_shifted_loss, check_greedy)
    chosen, whose = {}, []
    for mine, examine, name in zip(written, checks, own_transformer.STEPS, strict=True):
        right = passes(examine, mine)
        chosen[name] = mine if right else getattr(own_transformer, name)
        whose.append(f"{name}: {'yours' if right else 'ours'}")
    print(", ".join(whose))
    return SimpleNamespace(**chosen)


def _flows(answer: Tensor, *inputs: Tensor) -> None:
    """`Wrong` unless a gradient comes from the answer to each input."""
    told = "the numbers are right, but the gradient is cut off: no `item`, `detach` or `torch.no_grad()`."
    try:
        flows = answer.requires_grad and None not in torch.autograd.grad(answer.sum(), inputs, allow_unused=True)
    except RuntimeError as error:  # PyTorch: "... has been modified by an inplace operation"
        told = "the numbers are right, but the gradient stops: you wrote into a tensor that it needs. Make a new one."
        raise Wrong(told) from error
    if not flows:
        raise Wrong(told)


# ---- 9.1 attention with many heads ----


ENDINGS = {2: "nd", 3: "rd"}  # of ordinal numbers


def _cut(x: Tensor, heads: int) -> Tensor:
    """(batch, steps, d) -> (batch, heads, steps, size): head by head, by slices."""
    size = x.shape[-1] // heads
    return torch.stack([x[..., size * head : size * (head + 1)] for head in range(heads)], 1)


def _cut_by_reshape(x: Tensor, heads: int) -> Tensor:
    return x.reshape(len(x), heads, x.shape[1], -1)


def _cut_by_steps_of(x: Tensor, heads: int) -> Tensor:
    return torch.stack([x[..., head::heads] for head in range(heads)], 1)


def _join(parts: Tensor) -> Tensor:
    """(batch, heads, steps, size) -> (batch, steps, d): one head beside the other."""
    return torch.cat(list(parts.unbind(1)), -1)


def _join_by_reshape(parts: Tensor) -> Tensor:
    batch, heads, steps, size = parts.shape
    return parts.reshape(batch, steps, heads * size)


def _join_number_by_number(parts: Tensor) -> Tensor:
    return parts.permute(0, 2, 3, 1).flatten(2)


def _attend(
    q,
    k,
    v,
    mask,
    heads,
    *,
    scale=None,
    axis: int | None = -1,
    hide="before",
    cut=_cut,
    join=_join,
    values=None,
) -> Tensor:
    """Attention of many heads; the options make usual mistakes.

    Args:
        axis: that of the softmax; None leaves the softmax out.
        hide: when the mask comes: "before" or "after" the softmax, "never", or "by 0" in place of minus infinity.
    """
    queries, keys, contents = cut(q, heads), cut(k, heads), cut(v if values is None else values, heads)
    scores = torch.einsum("bhqi,bhki->bhqk", queries, keys) * (queries.shape[-1] ** -0.5 if scale is None else scale)
    allowed = mask.expand_as(scores)
    if hide in ("before", "by 0"):
        scores = torch.where(allowed, scores, torch.tensor(0.0 if hide == "by 0" else -math.inf))
    weights = scores if axis is None else scores.softmax(axis)
    weights = weights * allowed if hide == "after" else weights
    return join(torch.einsum("bhqk,bhki->bhqi", weights, contents))


@check("9.1", section="4. Write your own Transformer")
def check_attend(attend: Callable[..., Tensor]) -> None:
    """Try out `attend(q, k, v, mask, heads)` -> (batch, queries, d): four masks, low scores, and the gradient."""
    generator = torch.Generator().manual_seed(9)
    real = torch.tensor([[True] * 3 + [False] * 2, [True] * 4 + [False]])[:, None, None]  # batch, 1, 1, keys
    causal = torch.tensor(table((4, 4), lambda query, key: key <= query))
    of_heads = torch.tensor(table((2, 2, 3, 5), lambda one, head, query, key: (one + query + key) % 3 != head))
    for (batch, queries, keys, heads, size), mask in (
        ((2, 3, 5, 2, 4), torch.ones_like(real)),
        ((2, 3, 5, 2, 4), real),
        ((1, 4, 4, 3, 2), causal),
        ((2, 3, 5, 4, 3), real),
        ((2, 3, 5, 2, 4), of_heads),
    ):
        d = heads * size
        q, k, v = (torch.randn(batch, steps, d, generator=generator) for steps in (queries, keys, keys))
        try:
            answer = called(attend, q, k, v, mask, heads)
        except RuntimeError as error:
            if "dimension 1" in str(error) and str((batch, queries, heads, size)) in explain_crash(error):
                raise Wrong("steps come before heads: exchange axes 1 and 2, `.transpose(1, 2)`.") from error
            raise
        has_shape(answer, (batch, queries, d), "answer (batch, queries, d)", {
            (batch, heads, queries, size): "the heads are still apart: exchange axes 1 and 2, then join the last two.",
            (batch, queries, heads, size): "heads and size are still two axes: join them, `.flatten(2)`.",
            (batch, heads, queries, keys): "these are the weights: the answer is the weighted average of the values.",
            (batch, queries, size): "the heads should stand side by side, and not be added or averaged.",
            (batch, heads, queries * size): "you joined steps and size: exchange the axes 1 and 2 before you join.",
            (batch, keys, d): "there should be one vector for each *query*, and yours has one for each key.",
        })  # fmt: skip
        right = _attend(q, k, v, mask, heads)
        if not is_close(answer, right) and is_close(called(attend, q, k, v, ~mask, heads), right):
            raise Wrong("the mask is upside down: `True` means *may be attended*, so `~mask` is hidden.")
        matches(answer, right, _attend_mistakes(q, k, v, mask, heads), axes=("sentence", "query"))
    q, k, v = (torch.randn(2, steps, 8, generator=generator).requires_grad_() for steps in (3, 5, 5))
    _flows(called(attend, q, k, v, real, 2), q, k, v)
    low_q, low_k = q.detach() / 4 - 5.5, k.detach() / 4 + 5.5  # all scores are near -60
    padding = 1e30 * (~real).reshape(2, 5, 1).expand(2, 5, 8)  # only hidden keys have values
    if not (called(attend, low_q, low_k, padding, real, 2).abs() < 1e-4).all():
        raise Wrong("hidden keys still get a little weight: their scores become minus infinity, no other number.")


def _attend_mistakes(q, k, v, mask, heads) -> list[tuple[str, Callable[[], Tensor]]]:
    d = q.shape[-1]
    size = d // heads

    def wrong(**options) -> Callable[[], Tensor]:
        return lambda: _attend(q, k, v, mask, heads, **options)

    def one_head() -> Tensor:
        return _attend(q, k, v, mask[:, :1] if mask.dim() == 4 else mask, 1)

    not_used = "the mask is not used: hidden keys get weights, too."
    if mask.dim() == 2:  # masks with four axes have been used
        not_used = (
            f"with a mask of the shape {tuple(mask.shape)} hidden keys get weights: it has the axes (queries, keys) "
            "alone, and your code seems to expect four."
        )
    by_reshape = (
        "by `reshape` alone, so a head has other words: cut the last axis first, then exchange the axes 1 and 2."
    )
    return [
        (f"you did not divide the scores by the root of the size of a head, here {size}.", wrong(scale=1.0)),
        (f"you divided by the root of d = {d}; each head divides by the root of *its* size, d / heads = {size}.",
         wrong(scale=d**-0.5)),
        (f"you divided by the size of a head, {size}: divide by its square root.", wrong(scale=1 / size)),
        (f"you divided by d = {d}: divide by the square root of the size of a head, {size}.", wrong(scale=1 / d)),
        ("you divided by the root of the number of heads: take the size of one head.", wrong(scale=heads**-0.5)),
        ("you *multiplied* by the root of the size: divide by it.", wrong(scale=size**0.5)),
        ("the mask comes after the softmax, so the weights do not sum to 1: hide the *scores*.", wrong(hide="after")),
        ("a hidden score is 0 in your answer, and e to the power of 0 is 1: fill in minus infinity.",
         wrong(hide="by 0")),
        (not_used, wrong(hide="never")),
        ("with an axis of heads in `mask`, each head has its own mask: yours take that of head 0.",
         lambda: _attend(q, k, v, mask[:, :1] if mask.dim() == 4 else mask, heads)),
        ("the softmax goes over the *queries*: it goes over the keys, the last axis.", wrong(axis=-2)),
        ("the softmax goes over the *heads*: it goes over the keys, the last axis.", wrong(axis=1)),
        ("the softmax goes over the *batch*: it goes over the keys, the last axis.", wrong(axis=0)),
        ("the softmax is missing: scores are no weights yet.", wrong(axis=None, hide="after")),
        ("all is one large head: split q, k and v into heads.", one_head),
        (f"the heads are split {by_reshape}", wrong(cut=_cut_by_reshape)),
        ("the heads are merged without a transpose: exchange the axes 1 and 2, then join the last two.",
         wrong(join=_join_by_reshape)),
        (f"the heads are split and merged {by_reshape}", wrong(cut=_cut_by_reshape, join=_join_by_reshape)),
        (f"a head has every {heads}{ENDINGS.get(heads, 'th')} number: it has {size} numbers that stand side by side.",
         wrong(cut=_cut_by_steps_of)),
        ("the heads are merged number by number: first all numbers of head 0, then those of head 1.",
         wrong(join=_join_number_by_number)),
        ("you averaged the *keys*: the answer is the weighted average of the values, v.", wrong(values=k)),
    ]  # fmt: skip


# ---- 9.2 and 9.3 the blocks ----


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
    return SimpleNamespace(
        attention=_looking(one), cross=_looking(two), ffn=lambda y: torch.tanh(y @ three + 0.5), **norms,
        matrices=matrices,
    )  # fmt: skip


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
        [(diagnosis, lambda wrong=wrong: wrong(block, x, real)) for wrong, diagnosis in WRONG_ENCODERS],
        otherwise="it is neither pre-norm nor a mistake that this check knows: x + f(norm(x)), first with attention, "
        "then with the FFN.",
    )
    _flows(answer, block.matrices[0], block.matrices[2])  # it has no cross-attention


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
    y = block.ln1(x)
    x = x + block.attention(y, y, mask)
    return x + block.ffn(block.ln3(x))


def _encoder_with(*, first=1, second=1, queries=True, keys=True, stream=False, late=False, side=False):
    """Pre-norm; the options leave a residual connection or a norm out, or take something from elsewhere."""

    def wrong(block, x, mask):
        y = block.ln1(x)
        middle = first * (y if stream else x) + block.attention(y if queries else x, y if keys else x, mask)
        return second * (x if late else middle) + block.ffn(block.ln3(x if side else middle))

    return wrong


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


def _ffn_first(block, x, mask):
    x = x + block.ffn(block.ln3(x))
    y = block.ln1(x)
    return x + block.attention(y, y, mask)


def _side_by_side(block, x, mask):
    y = block.ln1(x)
    return x + block.attention(y, y, mask) + block.ffn(y)


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


WRONG_ENCODERS: Wrongs = [
    (_post_norm, "this is post-norm: the norm comes after the sum. It belongs *before* the sublayer, inside of it."),
    (_stream_through_norms, "the stream itself goes through the norms (`x = norm(x)`): give the normalised copy its "
     "own name."),
    (_norm_after_sublayer, "you normalised what the sublayers *give*: the norm belongs before each sublayer."),
    (_encoder_with(first=0, second=0), "the residual connections are missing: add x to what each sublayer gives."),
    (_encoder_with(first=0), "the residual connection around the attention is missing."),
    (_encoder_with(second=0), "the residual connection around the FFN is missing."),
    (_encoder_with(stream=True), "the residual connection is taken *after* the norm: add x itself, and not its "
     "normalised copy."),
    (_encoder_with(late=True), "the second residual connection adds the block's input: add what the first sum gave."),
    (_encoder_with(keys=False), "only the queries are normalised: keys and values come from `block.ln1(x)`, too."),
    (_encoder_with(queries=False), "only keys and values are normalised: the queries come from `block.ln1(x)`, too."),
    (_encoder_with(side=True), "the FFN reads the block's input: it should read what the attention has added to."),
    (_other_norms(_encoder, ln3="ln1"), "you used ln1 for both: the FFN has a norm of its own, ln3."),
    (_other_norms(_encoder, ln1="ln3"), "you used ln3 for both: the attention has a norm of its own, ln1."),
    (_other_norms(_encoder, ln1="ln3", ln3="ln1"), "you exchanged the two norms: ln1 is that of the attention."),
    (lambda block, x, mask: block.ln3(_encoder(block, x, mask)), "there is one norm too many, at the block's end."),
    (_other_norms(_encoder, ln1="", ln3=""), "there are no norms in it."),
    (_other_norms(_encoder, ln3=""), "the FFN reads the stream without a norm."),
    (_other_norms(_encoder, ln1=""), "the attention reads the stream without a norm."),
    (_without(_encoder, "attention"), "the attention is missing."),
    (_without(_encoder, "ffn"), "the FFN is missing."),
    (_side_by_side, "the FFN reads what the attention reads: it comes *after* the attention, with ln3."),
    (_ffn_first, "first attention, then FFN: you did it the other way round."),
]  # fmt: skip


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
        [(diagnosis, lambda wrong=wrong: wrong(block, x, memory, real)) for wrong, diagnosis in WRONG_DECODERS],
        otherwise="this is not a mistake that this check knows: x + f(norm(x)), three times, with self-attention, "
        "cross-attention and FFN.",
    )
    _flows(answer, memory, *block.matrices)


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


CAUSAL_MISTAKES: dict[str, Callable[[int, int], bool]] = {
    "a word sees its *future*: hide the words that come after it, with a causal mask.": lambda q, k: True,
    "the mask is upside down: a word sees its future, and neither its past nor itself.": lambda q, k: k > q,
    "the mask is turned round: a word sees itself and its *future* (`triu`); it should see its past (`tril`).":
        lambda q, k: k >= q,
    "no word may see itself: the diagonal belongs to the mask.": lambda q, k: k < q,
    "a word sees one word of its *future*: the mask ends at the diagonal.": lambda q, k: k <= q + 1,
    "every word sees only itself: it should see its past, too.": lambda q, k: k == q,
}  # fmt: skip


def _examine_causal(mask: Tensor, steps: int, real: Tensor) -> None:
    """Is it True where a target word may look at another one, (steps, steps), or with axes before it?"""
    if mask.shape == real.shape:
        raise Wrong("self-attention of the decoder got the mask of the *source*: make a causal mask, (steps, steps).")
    right = torch.tensor(table((1, 1, steps, steps), lambda _, __, q, k: k <= q))
    if tuple(mask.shape[-2:]) != (steps, steps) or mask.shape[:-2].numel() != 1:
        raise Wrong(f"the causal mask should have shape (steps, steps), here ({steps}, {steps}); yours: "
                    f"{tuple(mask.shape)}.")  # fmt: skip
    matches(mask.reshape(right.shape), right, {
        diagnosis: table((1, 1, steps, steps), lambda _, __, q, k, rule=rule: rule(q, k))
        for diagnosis, rule in CAUSAL_MISTAKES.items()
    }, otherwise="this is no causal mask: word q may look at word k if k <= q.")  # fmt: skip


def _past(x: Tensor) -> Tensor:
    return torch.tensor(table((x.shape[1], x.shape[1]), lambda q, k: k <= q))


def _decoder(block, x, memory, real):
    y = block.ln1(x)
    x = x + block.attention(y, y, _past(x))
    x = x + block.cross(block.ln2(x), memory, real)
    return x + block.ffn(block.ln3(x))


def _decoder_with(*, one=1, two=1, three=1, memory_norm="", stream=False, late=False, side=False):
    """The decoder block; the options leave a residual connection out, or take something from elsewhere."""

    def wrong(block, x, memory, real):
        y = block.ln1(x)
        first = one * x + block.attention(y, y, _past(x))
        z = block.ln2(x if side else first)
        seen = getattr(block, memory_norm)(memory) if memory_norm else memory
        second = two * (z if stream else x if late else first) + block.cross(z, seen, real)
        return three * second + block.ffn(block.ln3(second))

    return wrong


def _decoder_post_norm(block, x, memory, real):
    x = block.ln1(x + block.attention(x, x, _past(x)))
    x = block.ln2(x + block.cross(x, memory, real))
    return block.ln3(x + block.ffn(x))


def _decoder_stream_through_norms(block, x, memory, real):
    x = block.ln1(x)
    x = block.ln2(x + block.attention(x, x, _past(x)))
    x = block.ln3(x + block.cross(x, memory, real))
    return x + block.ffn(x)


def _cross_first(block, x, memory, real):
    x = x + block.cross(block.ln2(x), memory, real)
    y = block.ln1(x)
    x = x + block.attention(y, y, _past(x))
    return x + block.ffn(block.ln3(x))


def _cross_from_the_old_copy(block, x, memory, real):
    y = block.ln1(x)
    x = x + block.attention(y, y, _past(x))
    x = x + block.cross(y, memory, real)
    return x + block.ffn(block.ln3(x))


def _ffn_before_cross(block, x, memory, real):
    y = block.ln1(x)
    x = x + block.attention(y, y, _past(x))
    x = x + block.ffn(block.ln3(x))
    return x + block.cross(block.ln2(x), memory, real)


WRONG_DECODERS: Wrongs = [
    (_decoder_post_norm, "this is post-norm: the norm comes after the sum. It belongs *before* the sublayer."),
    (_decoder_stream_through_norms, "the stream itself goes through the norms (`x = norm(x)`): give the normalised "
     "copy its own name."),
    (_decoder_with(one=0, two=0, three=0), "the residual connections are missing: add x to what each sublayer gives."),
    (_decoder_with(one=0), "the residual connection around the self-attention is missing."),
    (_decoder_with(two=0), "the residual connection around the cross-attention is missing."),
    (_decoder_with(three=0), "the residual connection around the FFN is missing."),
    (_decoder_with(stream=True), "the residual connection of the cross-attention is taken *after* the norm: add x, "
     "and not its normalised copy."),
    (_decoder_with(late=True), "the second residual connection adds the block's input: add what the first sum gave."),
    (_decoder_with(side=True), "cross-attention reads the block's input: it should read what self-attention has "
     "added to."),
    (_cross_from_the_old_copy, "the queries of the cross-attention are the old copy, made by ln1 before the "
     "self-attention: make a new one, `block.ln2(x)`."),
    (_decoder_with(memory_norm="ln2"), "the memory is normed again: the encoder's last norm has done it (section 2). "
     "Give `memory` as it is."),
    (_decoder_with(memory_norm="ln1"), "the memory is normed again, by ln1: the encoder's last norm has done it. "
     "Give `memory` as it is."),
    (_without(_decoder, "cross"), "the cross-attention is missing: the decoder hears nothing of the source."),
    (_without(_decoder, "attention"), "the self-attention is missing: no target word hears of the words before it."),
    (_without(_decoder, "ffn"), "the FFN is missing."),
    (_other_norms(_decoder, ln2="ln1", ln3="ln1"), "you used ln1 for all: each sublayer has a norm of its own."),
    (_other_norms(_decoder, ln2="ln1"), "you used ln1 for the cross-attention, too: its own norm is ln2."),
    (_other_norms(_decoder, ln3="ln2"), "you used ln2 for the FFN, too: its own norm is ln3."),
    (_other_norms(_decoder, ln3="ln1"), "you used ln1 for the FFN, too: its own norm is ln3."),
    (_other_norms(_decoder, ln2="ln3", ln3="ln2"), "you exchanged ln2 and ln3: ln2 is that of the cross-attention."),
    (_other_norms(_decoder, ln1="ln2", ln2="ln1"), "you exchanged ln1 and ln2: ln1 is that of the self-attention."),
    (lambda block, *given: block.ln3(_decoder(block, *given)), "there is one norm too many, at the block's end."),
    (_other_norms(_decoder, ln1="", ln2="", ln3=""), "there are no norms in it."),
    (_other_norms(_decoder, ln1=""), "the self-attention reads the stream without a norm."),
    (_other_norms(_decoder, ln2=""), "the queries of the cross-attention are not normed: it reads ln2 of x."),
    (_other_norms(_decoder, ln3=""), "the FFN reads the stream without a norm."),
    (_cross_first, "first self-attention, then cross-attention: you did it the other way round."),
    (_ffn_before_cross, "the FFN comes last: you have it before the cross-attention."),
]  # fmt: skip


# ---- 9.4 the loss, shifted by one word ----

PADDING = 5  # an id that is not 0, which is a word here
TARGET = ([1, 0, 4, 2, PADDING, PADDING], [1, 3, 3, 8, 6, 2])  # <bos> is 1, <eos> is 2

Weigh = Callable[[Tensor, Tensor], Tensor]  # losses and which labels are real, (sentences, words) -> one number


@check("9.4", section="4. Write your own Transformer")
def check_shifted_loss(shifted_loss: Callable[..., Tensor]) -> None:
    """Try out `shifted_loss(model, source, target, pad)` with a model whose logits can be looked up."""
    generator = torch.Generator().manual_seed(9)
    rows = torch.randn(9, 9, generator=generator).requires_grad_()
    source, target = torch.tensor([[3, 4, 2], [8, 2, PADDING]]), torch.tensor(TARGET)

    def logits_after(words: Tensor) -> Tensor:
        return 2 * rows[words] + 0.1 * torch.arange(words.shape[1])[:, None] * rows[0]

    def model(source_: Tensor, target_: Tensor) -> Tensor:
        if not is_close(source_, source):
            raise Wrong("the model reads the whole `source`, then the target: `model(source, ...)`.")
        if target_.shape == target[:-1].shape:
            raise Wrong("you cut off a *sentence*: the words are axis 1, `target[:, :-1]`.")
        return logits_after(target_)

    answer = called(shifted_loss, model, source, target, PADDING)
    if isinstance(answer, float):
        raise Wrong("this is a plain number: return the tensor, or the gradient is lost.")
    has_shape(answer, (), "loss", {
        (2, 5): "these are the losses of single words: return one number, the mean over the real words.",
        (10,): "these are the losses of single words: return one number, the mean over the real words.",
        (2,): "these are the losses of two sentences: return one number, the mean over the real words.",
    })  # fmt: skip
    losses = _loss_mistakes(logits_after, target)
    right = losses.pop("right")
    matches(answer, right(), losses)
    _flows(answer, rows)
    rows = 40 * rows  # `logits_after` reads them
    answer = called(shifted_loss, model, source, target, PADDING)
    told = f"with logits in the hundreds the loss should be {right():.1f}; yours is {answer:.1f}: "
    told += "use `F.cross_entropy` or `log_softmax`, and do not cut off large losses."
    matches(answer, right(), otherwise=told, within=1e-2)


def _loss_mistakes(logits_after: Callable[[Tensor], Tensor], target: Tensor) -> dict[str, Callable[[], Tensor]]:
    def loss(read=slice(None, -1), find=slice(1, None), weigh: Weigh | None = None, log=None, smooth=0.0):
        def number_of() -> Tensor:
            labels, logits = target[:, find], logits_after(target[:, read])
            logs = logits.log_softmax(-1) if log is None else log(logits)
            words = -logs.gather(-1, labels[..., None])[..., 0]
            words = (1 - smooth) * words - smooth * logs.mean(-1)
            real = labels != PADDING
            return weigh(words, real) if weigh else (words * real).sum() / real.sum()

        return number_of

    def all_of(losses: Tensor, real: Tensor) -> Tensor:
        return losses.mean()

    def by_sentence(losses: Tensor, real: Tensor) -> Tensor:
        return ((losses * real).sum(1) / real.sum(1)).mean()

    def without_zero(losses: Tensor, real: Tensor) -> Tensor:
        kept = target[:, 1:] != 0
        return (losses * kept).sum() / kept.sum()

    everything, front, back = slice(None), slice(None, -1), slice(1, None)
    found = {"right": loss()}
    for weigh, more in ((None, ""), (all_of, " (And padding is counted.)")):
        unshifted = "the loss is not shifted: each word is read and asked for at once, so the model learns to copy. "
        told = unshifted + "Read `target[:, :-1]`, and find `target[:, 1:]`."
        found[told + more] = loss(everything, everything, weigh)
        found[unshifted + "You cut the last word off both." + more] = loss(front, front, weigh)
        found[unshifted + "You cut the first word off both." + more] = loss(back, back, weigh)
        found[
            "it is shifted the wrong way: the model reads `target[:, 1:]` and has to find the word *before*." + more
        ] = loss(back, front, weigh)
    return found | {
        f"padding is counted: leave out the labels that are `pad`, here {PADDING}.": loss(weigh=all_of),
        "you left out the words with id 0: the id of padding is `pad`.": loss(weigh=without_zero),
        "padding counts as a loss of 0: divide by the number of *real* words.":
            loss(weigh=lambda losses, real: (losses * real).mean()),
        "this is a mean over *sentences*: a word of a short sentence then counts more. Take it over all real words.":
            loss(weigh=by_sentence),
        "this is a sum: divide by the number of real words.": loss(weigh=lambda losses, real: (losses * real).sum()),
        "you divided by the number of sentences: divide by the number of real words.":
            loss(weigh=lambda losses, real: (losses * real).sum() / len(losses)),
        "you divided by the number of steps: divide by the number of real words.":
            loss(weigh=lambda losses, real: (losses * real).sum() / losses.shape[1]),
        "you divided by the number of *padded* words, or counted them alone: `==` for `!=`?":
            loss(weigh=lambda losses, real: (losses * ~real).sum() / (~real).sum()),
        "`cross_entropy` takes logits, and does the softmax itself: yours has it twice.":
            loss(log=lambda logits: logits.softmax(-1).log_softmax(-1)),
        "the softmax is missing: `nll_loss` wants logarithms of probabilities, `cross_entropy` wants logits.":
            loss(log=lambda logits: logits),
        "the logarithm is missing: `nll_loss` wants logarithms of probabilities.":
            loss(log=lambda logits: logits.softmax(-1)),
        "the softmax goes over the words of the sentence: it goes over the vocabulary, the last axis.":
            loss(log=lambda logits: logits.log_softmax(1)),
        "the sign is missing: the loss is *minus* the logarithm.": lambda: -loss()(),
        "the loss is smoothed: leave `label_smoothing` out.": loss(smooth=0.1),
        "this is the perplexity: leave `exp` out.": lambda: loss()().exp(),
        "this is in bits: take the natural logarithm.": lambda: loss()() / math.log(2),
    }  # fmt: skip


# ---- 9.5 greedy: one word at a time ----

BOS, EOS = 7, 4  # not the ids of the lesson, so that nobody writes them down
VOCABULARY = 9
LOST = 6  # what the model wants to say once the prefix is wrong
SENTENCES = (  # what the model wants to write, and how many words it may
    ([3, 8, 5, 8, 2], 12),
    ([], 12),
    ([3, 0, 1, 2, 0, 1, 3, 8] * 20, 6),  # never ends
    ([2, 2, 5], 3),
)


class _Scripted:
    """A model that wants to write one sentence, as long as the prefix is right."""

    def __init__(self, sentence: Sequence[int], source: Tensor, most: int):
        self.sentence, self.source, self.most = list(sentence), source, most
        self.memory, self.real = torch.zeros(1, source.shape[1], 4), torch.ones(1, 1, 1, source.shape[1]).bool()
        self.calls, self.read = 0, 0

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        if not is_close(source, self.source):
            raise Wrong("`model.encode` reads the source: `model.encode(source)`.")
        return self.memory, self.real

    def decode(self, target: Answer, memory: Answer, real: Answer) -> Tensor:
        if memory is not self.memory or real is not self.real:
            raise Wrong("`model.decode` takes the words so far, then the two things that `model.encode` gave.")
        if isinstance(target, Tensor) and not target.numel():
            raise Wrong("the prefix is empty: begin with `[bos]`.")
        if not isinstance(target, Tensor) or target.dim() != 2 or target.dtype != torch.long:
            raise Wrong("the words so far are a tensor of ids, (1, words): `torch.tensor([words])`.")
        rows = target.tolist()
        if rows[0][:1] != [BOS] and not self.calls:
            raise Wrong(f"the words begin with `bos`, here {BOS}; yours begin with {rows[0][0]}.")
        if rows[0][:1] != [BOS]:
            raise Wrong(
                "the decoder has to read the *whole* prefix in each step, from `<bos>` on: it remembers nothing."
            )
        if int(target.max()) >= VOCABULARY:
            raise Wrong(
                "you ask for a word that is none: `argmax` ran over all positions and words. Take the last position "
                "first, `logits[0, -1]`."
            )
        self.calls, self.read = self.calls + 1, max(self.read, target.shape[1])
        if self.calls > self.most:
            raise Wrong("your loop does not stop: stop at `<eos>`, and after `longest` words.")
        return torch.stack([torch.stack([self._after(row[: n + 1]) for n in range(len(row))]) for row in rows])

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        return self.decode(target, *self.encode(source))

    def eval(self) -> _Scripted:
        return self

    def _after(self, prefix: list[int]) -> Tensor:
        """The logits after a prefix: the wanted word is the likeliest, and far from certain."""
        known = len(prefix) - 1
        on_the_way = prefix == [BOS, *self.sentence[:known]] and known <= len(self.sentence)
        wanted = (self.sentence[known] if known < len(self.sentence) else EOS) if on_the_way else LOST
        generator = torch.Generator().manual_seed(sum((n + 1) * word for n, word in enumerate(prefix)))
        logits = torch.rand(VOCABULARY, generator=generator)
        logits[BOS] = -0.5
        logits[wanted] = 1.5 + 0.1 * known  # the largest one of all positions is the last one
        return logits


def _write(
    model, source, bos, eos, longest, *, at=-1, pick=lambda logits: int(logits.argmax()), ends=True
) -> list[int]:
    """Greedy search; the options take another position, another word, or go on after `<eos>`."""
    words = [bos]
    while len(words) <= longest:
        words.append(pick(model(source, torch.tensor([words]))[0, at]))
        if ends and words[-1] == eos:
            break
    return words


@check("9.5", section="4. Write your own Transformer")
def check_greedy(greedy: Callable[..., list[int]]) -> None:
    """Try out `greedy(model, source, bos, eos, longest)` -> ids, with models that want to write certain sentences."""
    source = torch.tensor([[3, 8, 2]])
    for sentence, longest in SENTENCES:
        model = _Scripted(sentence, source, most=10 * longest)
        before = _dice()
        answer = called(greedy, model, source, BOS, EOS, longest)
        if _dice() != before:
            raise Wrong("you *draw* a word: greedy takes the word with the largest logit, `argmax`.")
        right = sentence[:longest]
        _examine_ids(answer)
        if len(right) > 1 and model.read == 1:
            raise Wrong("the decoder never reads the words that you wrote: put each new word behind the others.")
        matches(list(answer), right, _greedy_mistakes(sentence, source, longest),
                otherwise=f"it should write {right}; yours: {list(answer)}.")  # fmt: skip


def _dice() -> tuple:
    """The states of the random generators, which change when somebody draws."""
    return random.getstate(), torch.get_rng_state().tolist()


def _examine_ids(answer: Answer) -> None:
    if isinstance(answer, Tensor):
        raise Wrong("return a list of ids: of a tensor with one axis, `.tolist()` makes one.")
    if not isinstance(answer, list | tuple):
        raise Wrong(f"return a list of ids; yours is of type {type(answer).__name__}.")
    if any(isinstance(word, Tensor) for word in answer):
        raise Wrong("the ids in your list are tensors: `int(...)` or `.item()` makes whole numbers of them.")
    if not all(isinstance(word, int) for word in answer):
        raise Wrong("return a list of ids, which are whole numbers.")


def _greedy_mistakes(sentence: list[int], source: Tensor, longest: int) -> list[tuple[str, list[int]]]:
    def written(more: int = 0, **options) -> list[int]:
        model = _Scripted(sentence, source, most=10**6)
        return _write(model, source, BOS, EOS, longest + more, **options)

    whole, on_and_on = written(), written(ends=False)
    said = whole[1:-1] if whole[-1] == EOS else whole[1:]
    second = written(pick=lambda logits: int(logits.topk(2).indices[1]))
    lowest, first = (written(pick=lambda logits: int(logits.argmin())), written(at=0))
    mistakes = [
        ("it does not stop at `<eos>`: what comes after `<eos>` is no translation.", on_and_on),
        ("`<bos>` is in your answer: nobody wants to read it.", [BOS, *said]),
        ("`<eos>` is in your answer: leave it out.", [*said, EOS]),
        ("`<bos>` and `<eos>` are in your answer: leave both out.", [BOS, *said, EOS]),
        ("you take the logits of the *first* position: the newest word is the last one, `[:, -1]`.", first),
        ("you take the *least* likely word: `argmax`.", lowest),
        ("you take the second best word: `argmax`.", second),
        ("it writes one word less than it may: `longest` counts the words without `<bos>`.", written(more=-1)),
        ("it writes one word more than it may: `longest` counts the words without `<bos>`.", written(more=1)),
    ]
    trimmed = [(told, [word for word in words if word not in (BOS, EOS)]) for told, words in mistakes]
    cut = [(told, list(itertools.takewhile(lambda word: word != EOS, words[1:]))) for told, words in mistakes]
    tails = [(told, words[1:]) for told, words in mistakes if words[:1] == [BOS]]
    return [(told, words) for told, words in [*mistakes, *tails, *cut, *trimmed] if words != said]


# ---- 9.6 the parameters of a block ----


@check("9.6", section="1. The feed-forward network")
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
            "here `f` need not be 4d: use the `f` that is given.": 12 * d * d + 9 * d,
            "an encoder block has *one* attention: the second one is the decoder's.": right + 4 * d * d,
            "this is a decoder block: that of the encoder has one attention and two norms.": right + 4 * d * d + 2 * d,
        }, within=0, otherwise=f"for d = {d} and f = {f} it should be {right:,}; yours: {answer:,}.")  # fmt: skip
