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

from ..runtime.arguments import as_tensor, check_lengths, need_tensor

Mask = Bool[Tensor, "..."] | Int[Tensor, "..."] | np.ndarray | Sequence[object]
"""A bool tensor that broadcasts to the scores, or an integer tensor of valid lengths over the keys.

A NumPy array or a list of such values will do, too.
"""


def sequence_mask(lengths: Int[Tensor, "*batch"], steps: int) -> Bool[Tensor, "*batch {steps}"]:
    """True on the first `lengths` of `steps` positions.

    >>> sequence_mask(torch.tensor([1, 3]), 3).tolist()
    [[True, False, False], [True, True, True]]
    """
    return torch.arange(steps, device=lengths.device) < lengths.unsqueeze(-1)


def padding_mask(ids: Int[Tensor, "batch keys"], pad: int) -> Bool[Tensor, "batch 1 keys"]:
    """True where the key is a real token; the middle axis broadcasts over the queries."""
    return (ids != pad).unsqueeze(1)


def causal_mask(steps: int, past: int = 0, device: torch.device | str | None = None) -> Bool[Tensor, "{steps} keys"]:
    """True where the key is not in the query's future. The `past` keys before the first query may all be attended."""
    return torch.ones(steps, past + steps, dtype=torch.bool, device=device).tril(past)


def as_mask(mask: Mask, shape: Sequence[int], device: torch.device | None = None) -> Bool[Tensor, "..."]:
    """Turn a mask, or valid lengths, into a bool mask that broadcasts to the scores.

    Args:
        mask: bool, `(batch, queries, keys)` or whatever broadcasts to it; or integer valid lengths over the keys,
            `(batch,)` or `(batch, queries)`.
        shape: of the scores. There may be more axes (heads) between batch and queries; the mask gets them, too.
        device: where the scores are.

    Raises:
        TypeError: the mask is neither bool nor integer. Of 0.0 and 1.0, nobody could tell which one means "masked".
        ValueError: the mask does not fit the scores; or a length is below 0 or above the number of keys. (On a GPU such
            lengths count as 0 and as all keys: looking at them would wait for the GPU.)
    """
    mask = as_tensor("mask", mask, device)
    if mask.dtype == torch.bool:
        heads = [1] * (len(shape) - mask.dim())
        fitted = mask.reshape(mask.shape[0], *heads, *mask.shape[1:]) if mask.dim() > 2 else mask
    elif mask.dtype.is_floating_point or mask.dtype.is_complex:
        raise TypeError(f"a mask is bool (True = may be attended) or integer (valid lengths), not {mask.dtype}")
    elif mask.dim() not in (1, 2) or mask.shape[0] != shape[0]:
        raise ValueError(
            f"valid lengths are (batch,) or (batch, queries); got {tuple(mask.shape)} for scores {tuple(shape)}"
        )
    else:
        check_lengths("valid lengths over the keys", mask, shape[-1])
        over_keys = sequence_mask(mask, shape[-1])
        heads = [1] * (len(shape) - (3 if mask.dim() == 2 else 2))
        fitted = over_keys.reshape(mask.shape[0], *heads, *over_keys.shape[1:])
    fits = fitted.dim() <= len(shape) and all(
        have in (1, want) for have, want in zip(fitted.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise ValueError(f"mask {tuple(mask.shape)} does not fit scores {tuple(shape)} (batch, ..., queries, keys)")
    return fitted


def masked_softmax(
    scores: Float[Tensor, "*batch queries keys"], mask: Mask | None = None
) -> Float[Tensor, "*batch queries keys"]:
    """Softmax over the keys that may be attended; the others get exactly 0.

    A row with nothing to attend to is all zeros, and so is its gradient. The scores are not written to.

    Args:
        scores: any float type, half precision too: no large negative constant takes part.
        mask: see `as_mask`; None lets every key be attended.

    Raises: see `as_mask`; and
        TypeError: the scores are no tensor.
    """
    need_tensor("scores", scores)
    if mask is None:
        return scores.softmax(-1)
    mask = as_mask(mask, scores.shape, scores.device)
    # A row with nothing but -inf would give 0/0. So a row that is masked as a whole keeps its scores until after the
    # softmax; then all masked weights become 0.
    to_minus_inf = ~mask & mask.any(-1, keepdim=True)
    return scores.masked_fill(to_minus_inf, float("-inf")).softmax(-1).masked_fill(~mask, 0.0)
