"""Masks: which query may attend to which key. `True` means "may be attended".

Where padding is masked: an encoder makes the mask from the valid lengths (`sequence_mask`), the decoder's state carries
this mask, and every attention to the source gives it to `masked_softmax` or to the fused kernel. The loss ignores
padding by itself (`seqlearn.training.losses.token_loss`).

Whoever wants the other polarity, `True` means "masked", changes what is here, and these places, which
read the bool mask:

| place | reads |
|---|---|
| `attention.dot_product_attend` | joins the mask and `causal_mask` by `&`; PyTorch's kernel has this polarity, too |
| `recording.AttentionLayer.expose` | gives an edit what may be attended, and puts 0 elsewhere |
| `kernels.KernelRegression.weights` | puts 0 where a key may not be attended |
| `decoder_only.DecoderOnly` | adds True for the tokens after the prompt |
| `seqlearn.analysis`: `attention_map`, `measures`, `edits` | the mask of a map; `may`, the second argument of an edit |
| `seqlearn.search.fast_step` | hands the mask of the source to PyTorch's kernel |
| `seqlearn.translator.translator` | `_may_look` makes the masks of maps |
| `seqlearn.views`: `maps`, `translator`, `steps`, `softmax`, `kernel`, `attention` | which cells are drawn as masked |
| `seqlearn.views`: `live/translator.js` | the same in a page |

The lessons, and the checks in `seqlearn.exercises`, state the polarity themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..runtime.arguments import as_tensor, check_lengths, need_tensor, whole_numbers

Mask = Bool[Tensor, "..."] | Int[Tensor, "..."] | np.ndarray | Sequence[object]
"""A bool tensor that broadcasts to the scores, or an integer tensor of valid lengths over the keys.

A NumPy array or a list of such values will do, too.
"""

OF_QUERIES = "_rows_are_queries"  # the attribute of a mask of `causal_mask`: its two axes are queries and keys


def sequence_mask(lengths: Int[Tensor, "*batch"], steps: int) -> Bool[Tensor, "*batch {steps}"]:
    """True on the first `lengths` of `steps` positions.

    >>> sequence_mask(torch.tensor([1, 3]), 3).tolist()
    [[True, False, False], [True, True, True]]

    Raises:
        TypeError: the lengths are not whole numbers.
    """
    lengths = whole_numbers("lengths", lengths)
    return torch.arange(steps, device=lengths.device) < lengths.unsqueeze(-1)


def padding_mask(ids: Int[Tensor, "batch keys"], pad: int) -> Bool[Tensor, "batch 1 keys"]:
    """True where the key is a real token; the middle axis broadcasts over the queries."""
    return (ids != pad).unsqueeze(1)


def causal_mask(steps: int, past: int = 0, device: torch.device | str | None = None) -> Bool[Tensor, "{steps} keys"]:
    """True where the key is not in the query's future. The `past` keys before the first query may all be attended.

    Every attention takes this mask as it is, for any number of sentences. A copy or a part of this mask is a mask like
    any other: for more than one sentence, write `mask[None]`.
    """
    mask = torch.ones(steps, past + steps, dtype=torch.bool, device=device).tril(past)
    setattr(mask, OF_QUERIES, True)
    return mask


def as_mask(mask: Mask, shape: Sequence[int], device: torch.device | None = None) -> Bool[Tensor, "..."]:
    """Turn a mask, or valid lengths, into a bool mask with as many axes as the scores, which broadcasts to them.

    Args:
        mask: bool, `(batch, queries, keys)`, `(batch, heads, queries, keys)`, or one of these with size 1 for all axes
            but the last; `(keys,)`, for all sentences and queries; `(queries, keys)` for one sentence or one head, or
            from `causal_mask`. Or integer valid lengths over the keys, `(batch,)` or `(batch, queries)`.
        shape: of the scores. There may be more axes (heads) between batch and queries; the mask gets them, too.
        device: where the scores are.

    Raises:
        TypeError: the mask is neither bool nor integer. Of 0.0 and 1.0, nobody could tell which one means "masked".
        ValueError: the mask does not fit the scores, or its meaning would have to be guessed: a bool mask with two axes
            for several sentences, or with one value for all keys; integers of 0 and 1, `(batch, keys)`, for as many
            queries as keys. Or a length is below 0 or above the number of keys. (On a GPU the integers are not looked
            at, which would wait for the GPU: 0 and 1 are lengths there, and lengths below 0 or above the number of keys
            count as 0 and as all keys.)
    """
    mask, keys, axes = as_tensor("mask", mask, device), shape[-1], len(shape)
    given = tuple(mask.shape)
    if mask.dtype.is_floating_point or mask.dtype.is_complex:
        raise TypeError(f"a mask is bool (True = may be attended) or integer (valid lengths), not {mask.dtype}")
    if mask.dtype == torch.bool:
        if mask.dim() == 2 and axes > 2 and shape[0] > 1 and not hasattr(mask, OF_QUERIES):
            raise ValueError(
                f"mask {given} for {shape[0]} sentences could mean two things: write mask[:, None] if a row is a "
                "sentence, and mask[None] if a row is a query"
            )
        if mask.dim() and mask.shape[-1] == 1 < keys:
            raise ValueError(f"mask {given} has one value for {keys} keys: the last axis is the keys, see padding_mask")
    elif mask.dim() not in (1, 2) or mask.shape[0] != shape[0]:
        raise ValueError(f"valid lengths are (batch,) or (batch, queries); got {given} for scores {tuple(shape)}")
    else:
        mask = check_lengths("valid lengths over the keys", mask, keys)
        if mask.dim() == 2 and mask.shape[1] == keys > 1 and (axes < 3 or keys != shape[-2] or _holds_0_and_1(mask)):
            raise ValueError(
                f"mask {given} of integers would be lengths, one for each query: write mask.bool()[:, None] if 1 "
                "means that a key may be attended, and sequence_mask(mask, keys) if these are lengths"
            )
        mask = sequence_mask(mask, keys)
        mask = mask.unsqueeze(1) if mask.dim() == 2 < axes else mask
    mask = mask if mask.dim() else mask.expand(keys)
    batch = int(mask.dim() > 2)  # the axes of the heads come after that of the batch
    fitted = mask.reshape(*mask.shape[:batch], *[1] * (axes - mask.dim()), *mask.shape[batch:])
    fits = fitted.dim() == axes and all(have in (1, want) for have, want in zip(fitted.shape, shape, strict=True))
    if not fits:
        raise ValueError(f"mask {given} does not fit scores {tuple(shape)} (batch, ..., queries, keys)")
    return fitted


def _holds_0_and_1(numbers: Int[Tensor, "batch queries"]) -> bool:
    return numbers.device.type == "cpu" and numbers.numel() > 0 and int(numbers.max()) <= 1


def masked_softmax(
    scores: Float[Tensor, "*batch queries keys"], mask: Mask | None = None
) -> Float[Tensor, "*batch queries keys"]:
    """Softmax over the keys that may be attended; the others get exactly 0.

    A row with nothing to attend to is all zeros, and so is its gradient. The scores are not written to.

    Args:
        scores: any float type, half precision too: no large negative constant takes part.
        mask: see `as_mask`; None lets every key be attended.

    Raises: see `as_mask`; and
        TypeError: the scores are not a tensor.
    """
    need_tensor("scores", scores)
    if mask is None:
        return scores.softmax(-1)
    mask = as_mask(mask, scores.shape, scores.device)
    # A row with nothing but -inf would give 0/0. So a row that is masked as a whole keeps its scores until after the
    # softmax; then all masked weights become 0.
    to_minus_inf = ~mask & mask.any(-1, keepdim=True)
    return scores.masked_fill(to_minus_inf, float("-inf")).softmax(-1).masked_fill(~mask, 0.0)
