"""Attention: each query takes a weighted average of the values, and the weights say where the query looked.

All layers share one contract: `attention(queries, keys, values, mask)`. A decoder has one query at a time. So it
projects the keys once, `project_keys(keys)`, and calls `attend(queries, projected_keys, values, mask)` for each query.
`MultiHeadAttention` projects the values as well: `project(keys, values)`.

A new score is added in this file alone. Write its layer with `project_keys` and `attend`, as `AdditiveAttention` does,
and give the score a name in `SCORES`. The models and the command line then offer the score.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ..runtime.arguments import check_size, need_tensor
from ..runtime.values import as_int
from .masking import Mask, as_mask, causal_mask, masked_softmax
from .positions import RotaryPositions
from .recording import AttentionLayer


class ScoreAttention(AttentionLayer):
    """The base class of attention with a score. A decoder can use such a layer for one query at a time."""

    def project_keys(self, keys: Float[Tensor, "batch *heads keys size"]) -> Float[Tensor, "batch *heads keys size2"]:
        """What the score needs of the keys. It does not depend on the query: it is computed once for each sentence."""
        return keys

    def attend(
        self,
        queries: Float[Tensor, "batch *heads queries query_size"],
        projected_keys: Float[Tensor, "batch *heads keys size"],
        values: Float[Tensor, "batch *heads keys value_size"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch *heads queries value_size"]:
        """Like `forward`, with keys that went through `project_keys` already."""
        raise NotImplementedError

    def forward(
        self,
        queries: Float[Tensor, "batch *heads queries query_size"],
        keys: Float[Tensor, "batch *heads keys key_size"],
        values: Float[Tensor, "batch *heads keys value_size"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch *heads queries value_size"]:
        """The context of each query. `mask`: see `seqlearn.nn.masking.as_mask`."""
        return self.attend(queries, self.project_keys(keys), values, mask)


class AdditiveAttention(ScoreAttention):
    """Scores by a small network: score(q, k) = w_v^T tanh(W_q q + W_k k).

    Bahdanau, Cho and Bengio (2015), section 3.1 and appendix A.1.2. Queries and keys may differ in size.

    Args:
        query_size, key_size: sizes of the last axis of queries and keys.
        num_hiddens: size of the space in which queries and keys are compared.
        dropout: probability with which a weight is dropped in training.
    """

    def __init__(self, query_size: int, key_size: int, num_hiddens: int, dropout: float = 0.0):
        super().__init__()
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def project_keys(self, keys: Float[Tensor, "batch keys key_size"]) -> Float[Tensor, "batch keys hiddens"]:
        """W_k k. The projection does not depend on the query: a decoder computes it once for each sentence."""
        check_size("keys", keys, self.W_k.in_features)
        return self.W_k(keys)

    def attend(
        self,
        queries: Float[Tensor, "batch queries query_size"],
        projected_keys: Float[Tensor, "batch keys hiddens"],
        values: Float[Tensor, "batch keys value_size"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch queries value_size"]:
        """Like `forward`, with keys that went through `project_keys` already."""
        check_size("queries", queries, self.W_q.in_features)
        _check_fit(queries, projected_keys, values)
        features = self.W_q(queries).unsqueeze(2) + projected_keys.unsqueeze(1)  # batch, queries, keys, hiddens
        scores = self.w_v(features.tanh_()).squeeze(-1)  # batch, queries, keys
        weights = self.expose(masked_softmax(scores, mask), mask)
        return self.dropout(weights) @ values


class DotProductAttention(ScoreAttention):
    """Scores by a scaled dot product: score(q, k) = q . k / sqrt(d).

    Vaswani et al. (2017), section 3.2.1. Queries and keys have the same size d. As long as nobody records the
    weights, they are never stored: PyTorch's fused kernel does everything in one pass.

    Args:
        dropout: probability with which a weight is dropped in training.
    """

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def attend(
        self,
        queries: Float[Tensor, "batch *heads queries size"],
        projected_keys: Float[Tensor, "batch *heads keys size"],
        values: Float[Tensor, "batch *heads keys value_size"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch *heads queries value_size"]:
        """As in `ScoreAttention`. This score has no parameters, and projects no keys."""
        need_tensor("queries", queries)
        return dot_product_attend(self, queries, projected_keys, values, mask, queries.shape[-1] ** -0.5)


class BilinearAttention(ScoreAttention):
    """Scores by a learned product: score(q, k) = q^T W k.

    Luong, Pham and Manning (2015), section 3.1, "general". Queries and keys may differ in size.

    Args:
        query_size, key_size: sizes of the last axis of queries and keys.
        dropout: probability with which a weight is dropped in training.
    """

    def __init__(self, query_size: int, key_size: int, dropout: float = 0.0):
        super().__init__()
        self.W = nn.Linear(key_size, query_size, bias=False)
        self.dropout = nn.Dropout(dropout)

    def project_keys(self, keys: Float[Tensor, "batch keys key_size"]) -> Float[Tensor, "batch keys query_size"]:
        """W k, computed once for each sentence. Each query then needs only a dot product."""
        check_size("keys", keys, self.W.in_features)
        return self.W(keys)

    def attend(
        self,
        queries: Float[Tensor, "batch queries query_size"],
        projected_keys: Float[Tensor, "batch keys query_size"],
        values: Float[Tensor, "batch keys value_size"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch queries value_size"]:
        """Like `forward`, with keys that went through `project_keys` already."""
        check_size("queries", queries, self.W.out_features)
        return dot_product_attend(self, queries, projected_keys, values, mask, 1.0)


class MultiHeadAttention(AttentionLayer):
    """Several scaled dot-product attentions side by side, each in a part of the features, and their contexts joined.

    head_i = attention(W_q^i q, W_k^i k, W_v^i v), output W_o [head_1; ...; head_h]: Vaswani et al. (2017), section
    3.2.2. Each head has num_hiddens / num_heads features, so all heads together cost as much as one large head.

    Args:
        num_hiddens: size of the output, and of all heads together.
        num_heads: must divide `num_hiddens`.
        dropout: probability with which a weight is dropped in training. With 0, a CPU can use the fused kernel.
        bias: whether the four projections have a bias. A query with nothing to attend to gives 0 without a bias, and
            W_o's bias with one.
        query_size, key_size, value_size: sizes of the inputs; default: `num_hiddens`.
        rotary: whether queries and keys are rotated by their positions (see `RotaryPositions`), for self-attention. The
            queries then have the last positions of the keys.

    Raises:
        TypeError: a size or the number of heads is not a whole number.
        ValueError: one of them is below 1, or the heads do not share the features evenly.
    """

    def __init__(
        self,
        num_hiddens: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = False,
        query_size: int | None = None,
        key_size: int | None = None,
        value_size: int | None = None,
        rotary: bool = False,
    ):
        super().__init__()
        num_hiddens, num_heads = as_int("num_hiddens", num_hiddens), as_int("num_heads", num_heads, 0)
        if num_heads < 1 or num_hiddens % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {num_hiddens} features evenly")
        self.num_heads = num_heads
        given = {"query_size": query_size, "key_size": key_size, "value_size": value_size}
        sizes = (num_hiddens if size is None else as_int(name, size) for name, size in given.items())
        self.W_q, self.W_k, self.W_v = (nn.Linear(size, num_hiddens, bias=bias) for size in sizes)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.rotary = RotaryPositions(num_hiddens // num_heads) if rotary else None

    def project(
        self, keys: Float[Tensor, "batch keys key_size"], values: Float[Tensor, "batch keys value_size"], start: int = 0
    ) -> tuple[Float[Tensor, "batch heads keys head_size"], Float[Tensor, "batch heads keys head_size"]]:
        """W_k k and W_v v, split into heads, once for a sentence. `start`: the position of the first key (rotary)."""
        check_size("keys", keys, self.W_k.in_features)
        check_size("values", values, self.W_v.in_features)
        projected = self._split(self.W_k(keys))
        return projected if self.rotary is None else self.rotary(projected, start), self._split(self.W_v(values))

    def forward(
        self,
        queries: Float[Tensor, "batch queries query_size"],
        keys: Float[Tensor, "batch keys key_size"],
        values: Float[Tensor, "batch keys value_size"],
        mask: Mask | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "batch queries hiddens"]:
        """The joined context of each query.

        Args:
            mask: see `seqlearn.nn.masking.as_mask`; the same for all heads, or `(batch, heads, queries, keys)`.
            causal: whether no query may attend to a later key. The queries then have the last positions of the keys.
        """
        return self.attend(queries, *self.project(keys, values), mask, causal)

    def attend(
        self,
        queries: Float[Tensor, "batch queries query_size"],
        projected_keys: Float[Tensor, "batch heads keys head_size"],
        projected_values: Float[Tensor, "batch heads keys head_size"],
        mask: Mask | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "batch queries hiddens"]:
        """Like `forward`, with keys and values that went through `project` already."""
        check_size("queries", queries, self.W_q.in_features)
        heads = self._split(self.W_q(queries))
        if self.rotary is not None:
            heads = self.rotary(heads, projected_keys.shape[2] - queries.shape[1])
        scale = heads.shape[-1] ** -0.5
        context = dot_product_attend(self, heads, projected_keys, projected_values, mask, scale, causal)
        return self.W_o(context.transpose(1, 2).flatten(2))  # batch, queries, heads * head_size

    def _split(self, projected: Float[Tensor, "batch steps hiddens"]) -> Float[Tensor, "batch heads steps head_size"]:
        """Give each head its part of the features. The result is a view: nothing is copied."""
        return torch.unflatten(projected, -1, (-1, self.W_q.out_features // self.num_heads)).transpose(1, 2)


def dot_product_attend(
    layer: DotProductAttention | BilinearAttention | MultiHeadAttention,
    queries: Float[Tensor, "batch *heads queries size"],
    keys: Float[Tensor, "batch *heads keys size"],
    values: Float[Tensor, "batch *heads keys value_size"],
    mask: Mask | None,
    scale: float,
    causal: bool = False,
) -> Float[Tensor, "batch *heads queries value_size"]:
    """softmax(scale q . k) v. The weights exist as a tensor only while `layer.record` is set.

    With `causal`, the queries have the last positions of the keys, and no query may attend to a later key. A query with
    nothing to attend to gets zeros: from `masked_softmax` where weights are recorded, else from PyTorch's kernel.

    The arithmetic includes the keys and values under the mask, so these have to be finite. (NaN or infinity there may
    make a context NaN, never another number. The layers of this package give padding finite features. To put zeros in
    its place would cost between 6 % and 130 % of the kernel's time.)

    Raises:
        ValueError: queries and keys differ in size, keys and values in number, or all three in batches or heads; or an
            axis is missing.
    """
    _check_fit(queries, keys, values)
    _check_one_size(queries.shape[-1], keys.shape[-1])
    if mask is not None:
        mask = as_mask(mask, (*queries.shape[:-1], keys.shape[-2]), queries.device)
    steps, past = queries.shape[-2], keys.shape[-2] - queries.shape[-2]
    kernel_is_causal = causal and mask is None and past == 0 and layer.record is None
    if causal and steps > 1 and not kernel_is_causal:
        order = causal_mask(steps, past, queries.device)[None]
        mask = order if mask is None else mask & order
    if layer.record is not None:
        if layer.vectors is not None:
            layer.vectors.append((queries.detach(), keys.detach(), values.detach()))
        weights = layer.expose(masked_softmax(queries @ keys.transpose(-2, -1) * scale, mask), mask)
        return layer.dropout(weights) @ values
    dropout = layer.dropout.p if layer.training else 0.0
    if queries.dim() > 3:
        return F.scaled_dot_product_attention(queries, keys, values, mask, dropout, kernel_is_causal, scale=scale)
    # The fused kernels want an axis of heads.
    mask = None if mask is None else mask.unsqueeze(1)
    queries, keys, values = (tensor.unsqueeze(1) for tensor in (queries, keys, values))
    context = F.scaled_dot_product_attention(queries, keys, values, mask, dropout, kernel_is_causal, scale=scale)
    return context.squeeze(1)


def _check_fit(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    for name, vectors in (("queries", queries), ("keys", keys), ("values", values)):
        check_size(name, vectors)
    batches = [tuple(vectors.shape[:-2]) for vectors in (queries, keys, values)]
    if not batches[0] == batches[1] == batches[2]:
        raise ValueError(f"queries, keys and values have the same sentences and heads, not {batches}")
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(f"each key has one value: there are {keys.shape[-2]} keys and {values.shape[-2]} values")


def _check_one_size(query_size: int, key_size: int) -> None:
    if query_size != key_size:
        raise ValueError(f"a dot product needs queries and keys of one size, not {query_size} and {key_size}")


def _dot_product(query_size: int, key_size: int) -> DotProductAttention:
    _check_one_size(query_size, key_size)
    return DotProductAttention()


SCORES: dict[str, Callable[[int, int], ScoreAttention]] = {
    "additive": lambda query_size, key_size: AdditiveAttention(query_size, key_size, query_size),
    "dot": _dot_product,
    "bilinear": BilinearAttention,
}
"""The scores by name. Each entry makes the layer for a size of the queries and a size of the keys."""


def make_attention(score: str, query_size: int, key_size: int) -> ScoreAttention:
    """The attention layer with this score, for queries and keys of these sizes.

    Raises:
        ValueError: there is no such score, or its layer does not take these sizes.
    """
    if score not in SCORES:
        raise ValueError(f"there is no score {score!r}; choose from {', '.join(SCORES)}")
    return SCORES[score](query_size, key_size)
