"""Exercise 9.1, attention of many heads. The oracle is a plain formula: it imports nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_gradient, has_shape, matches
from .crashes import explain_crash
from .plain import is_close, table

Step = Callable[..., Tensor]
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


def _over(axis: int) -> Step:
    """The softmax of the scores that may be seen."""
    return lambda scores, may: torch.where(may, scores, -math.inf).softmax(axis)


_weights = _over(-1)  # over the keys


def _attend(q, k, v, mask, heads, weigh: Step = _weights, cut: Step = _cut, join: Step = _join) -> Tensor:
    """Attention of many heads: cut, compare, weigh the scores, average, join. A mistake replaces one of these steps."""
    queries, keys, contents = cut(q, heads), cut(k, heads), cut(v, heads)
    scores = torch.einsum("bhqi,bhki->bhqk", queries, keys) * queries.shape[-1] ** -0.5
    weights = weigh(scores, mask.expand_as(scores))
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
        shapes = {
            (batch, heads, queries, size): "the heads are still apart: exchange axes 1 and 2, then join the last two.",
            (batch, queries, heads, size): "heads and size are still two axes: join them, `.flatten(2)`.",
            (batch, heads, queries, keys): "these are the weights: the answer is the weighted average of the values.",
            (batch, queries, size): "the heads should stand side by side, and not be added or averaged.",
            (batch, heads, queries * size): "you joined steps and size: exchange the axes 1 and 2 before you join.",
            (batch, keys, d): "there should be one vector for each *query*, and yours has one for each key.",
        }
        has_shape(answer, (batch, queries, d), "answer (batch, queries, d)", shapes)
        right = _attend(q, k, v, mask, heads)
        if not is_close(answer, right) and is_close(called(attend, q, k, v, ~mask, heads), right):
            raise Wrong("the mask is upside down: `True` means *may be attended*, so `~mask` is hidden.")
        matches(answer, right, _attend_mistakes(q, k, v, mask, heads), axes=("sentence", "query"))
    q, k, v = (torch.randn(2, steps, 8, generator=generator).requires_grad_() for steps in (3, 5, 5))
    has_gradient(called(attend, q, k, v, real, 2), q, k, v)
    low_q, low_k = q.detach() / 4 - 5.5, k.detach() / 4 + 5.5  # all scores are near -60
    padding = 1e30 * (~real).reshape(2, 5, 1).expand(2, 5, 8)  # only hidden keys have values
    if not (called(attend, low_q, low_k, padding, real, 2).abs() < 1e-4).all():
        raise Wrong("hidden keys still get a little weight: their scores become minus infinity, no other number.")


def _attend_mistakes(q, k, v, mask, heads) -> dict[str, Tensor]:
    d = q.shape[-1]
    size = d // heads
    of_head_0 = mask[:, :1] if mask.dim() == 4 else mask

    def scaled(by: float) -> Tensor:
        return _attend(q * by * size**0.5, k, v, mask, heads)

    def wrong(**steps: Step) -> Tensor:
        return _attend(q, k, v, mask, heads, **steps)

    not_used = "the mask is not used: hidden keys get weights, too."
    if mask.dim() == 2:  # masks with four axes have been used
        not_used = (
            f"with a mask of the shape {tuple(mask.shape)} hidden keys get weights: it has the axes (queries, keys) "
            "alone, and your code seems to expect four."
        )
    by_reshape = (
        "by `reshape` alone, so a head has other words: cut the last axis first, then exchange the axes 1 and 2."
    )
    by_root_of_d, its_head_0 = scaled(d**-0.5), _attend(q, k, v, of_head_0, heads)
    hidden_late = wrong(weigh=lambda s, may: s.softmax(-1) * may)
    hidden_by_0 = wrong(weigh=lambda s, may: (s * may).softmax(-1))
    merged, mixed = wrong(join=_join_by_reshape), wrong(join=_join_number_by_number)
    return {
        f"you did not divide the scores by the root of the size of a head, here {size}.": scaled(1.0),
        f"you divided by the root of d = {d}; each head divides by the root of *its* size, "
        f"d / heads = {size}.": by_root_of_d,
        f"you divided by the size of a head, {size}: divide by its square root.": scaled(1 / size),
        f"you divided by d = {d}: divide by the square root of the size of a head, {size}.": scaled(1 / d),
        "you divided by the root of the number of heads: take the size of one head.": scaled(heads**-0.5),
        "you *multiplied* by the root of the size: divide by it.": scaled(size**0.5),
        "the mask comes after the softmax, so the weights do not sum to 1: hide the *scores*.": hidden_late,
        "a hidden score is 0 in your answer, and e to the power of 0 is 1: fill in minus infinity.": hidden_by_0,
        not_used: wrong(weigh=lambda s, may: s.softmax(-1)),
        "with an axis of heads in `mask`, each head has its own mask: yours take that of head 0.": its_head_0,
        "the softmax goes over the *queries*: it goes over the keys, the last axis.": wrong(weigh=_over(-2)),
        "the softmax goes over the *heads*: it goes over the keys, the last axis.": wrong(weigh=_over(1)),
        "the softmax goes over the *batch*: it goes over the keys, the last axis.": wrong(weigh=_over(0)),
        "the softmax is missing: scores are no weights yet.": wrong(weigh=lambda s, may: s * may),
        "all is one large head: split q, k and v into heads.": _attend(q, k, v, of_head_0, 1),
        f"the heads are split {by_reshape}": wrong(cut=_cut_by_reshape),
        "the heads are merged without a transpose: exchange the axes 1 and 2, then join the last two.": merged,
        f"the heads are split and merged {by_reshape}": wrong(cut=_cut_by_reshape, join=_join_by_reshape),
        f"a head has every {heads}{ENDINGS.get(heads, 'th')} number: "
        f"it has {size} numbers that stand side by side.": wrong(cut=_cut_by_steps_of),
        "the heads are merged number by number: first all numbers of head 0, then those of head 1.": mixed,
        "you averaged the *keys*: the answer is the weighted average of the values, v.": _attend(q, k, k, mask, heads),
    }
