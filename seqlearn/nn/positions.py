"""Positions: attention by itself does not know the order of the tokens; these modules give each token its position.

Sinusoids and learned positions are added to the embeddings; rotary positions rotate queries and keys. Sinusoids and
rotary positions have no end; learned ones refuse what is longer than their table. All count from 0 and take `start`,
the position of the first token given. So a search, which gives one token at a time, uses the same positions as
training.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..runtime.arguments import check_size

BASE = 10000.0
POSITIONS = ("sinusoidal", "learned", "rotary", "none")


def frequencies(size: int, base: float = BASE) -> Float[Tensor, "pairs"]:
    """How fast each pair of dimensions turns, in radians per position: base^(-2j / size), in float64.

    Vaswani et al. (2017), section 3.5. With an odd size the last pair lacks its cosine.

    Raises:
        ValueError: the base is not above 0.
    """
    if not 0 < base < float("inf"):
        raise ValueError(f"the base of the frequencies is a number above 0, not {base}")
    return base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)


def sinusoids(
    steps: int, size: int, start: int = 0, base: float = BASE, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "{steps} {size}"]:
    """The sinusoids of positions start, start + 1, ...: sine in the even dimensions, cosine in the odd ones.

    P[i, 2j] = sin(i w_j) and P[i, 2j + 1] = cos(i w_j), with w_j from `frequencies`: Vaswani et al. (2017), section
    3.5. The computation is in float64, so that far positions are as exact as near ones. The result has the `dtype`.
    """
    positions = torch.arange(start, start + steps, dtype=torch.float64)
    angles = positions.unsqueeze(1) * frequencies(size, base)  # steps, pairs
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :size].to(dtype)


def rotation(
    offset: float, size: int, base: float = BASE, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "{size} {size}"]:
    """The matrix that moves the sinusoids of every position by `offset`: rotation(k) @ P[i] = P[i + k].

    Each pair (sine, cosine) is turned by k w_j in its plane. The matrix depends on k and not on i: "for any fixed
    offset k, PE(pos + k) can be represented as a linear function of PE(pos)", Vaswani et al. (2017), section 3.5.

    Raises:
        ValueError: the size is odd. The last sine then has no cosine beside it, and no matrix can move it.
    """
    _check_pairs(size)
    angles = offset * frequencies(size, base)
    sine, cosine = angles.sin(), angles.cos()
    matrix, even = torch.zeros(size, size, dtype=torch.float64), torch.arange(0, size, 2)
    matrix[even, even], matrix[even, even + 1] = cosine, sine
    matrix[even + 1, even], matrix[even + 1, even + 1] = -sine, cosine
    return matrix.to(dtype)


def _check_pairs(size: int) -> None:
    if size % 2:
        raise ValueError(f"a rotation turns pairs of dimensions, and of {size} the last one has no partner")


class PositionalEncoding(nn.Module):
    """Adds the sinusoids to the embeddings, then dropout: Vaswani et al. (2017), sections 3.5 and 5.4.

    The table `P`, `(1, steps, size)`, is not stored with the weights. It grows when a longer sequence comes. It is
    float32 or float64, even in a model in half precision.

    Args:
        num_hiddens: size of the embeddings, which may be odd.
        base: see `frequencies`.
    """

    P: Float[Tensor, "1 steps size"]

    def __init__(self, num_hiddens: int, dropout: float = 0.0, base: float = BASE):
        super().__init__()
        self.num_hiddens, self.base = num_hiddens, base
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("P", sinusoids(256, num_hiddens, base=base).unsqueeze(0), persistent=False)

    def forward(self, x: Float[Tensor, "batch steps size"], start: int = 0) -> Float[Tensor, "batch steps size"]:
        """The embeddings x of the tokens at positions start, start + 1, ... with these positions added."""
        check_size("embeddings", x, self.num_hiddens)
        return self.dropout((x + self.rows(start, x.shape[1])).to(x.dtype))

    def rows(self, start: int, steps: int) -> Float[Tensor, "1 {steps} size"]:
        """The sinusoids of these positions."""
        if start < 0:
            raise ValueError(f"positions are counted from 0; there is no position {start}")
        if start + steps > self.P.shape[1]:
            self._write(max(start + steps, 2 * self.P.shape[1]))
        return self.P[:, start : start + steps]

    def _write(self, steps: int) -> None:
        """Compute the table again, on its device and in its dtype (at least float32)."""
        dtype = torch.promote_types(self.P.dtype, torch.float32)
        with torch.inference_mode(False):  # a table that grew in search may be needed in training
            table = sinusoids(steps, self.num_hiddens, base=self.base, dtype=dtype).unsqueeze(0).to(self.P.device)
            self.P = table  # pyright: ignore[reportConstantRedefinition]  a matrix has a capital letter

    def _apply(self, *arguments: Any, **options: Any) -> PositionalEncoding:  # Any: as of torch
        """`.to()`, `.half()` and the like call this method. They may round the table, so it is computed again."""
        super()._apply(*arguments, **options)  # pyright: ignore[reportUnknownMemberType]  PyTorch does not annotate it
        self._write(self.P.shape[1])
        return self


class LearnedPositions(nn.Module):
    """Adds a learned vector for each position to the embeddings, then dropout: Gehring et al. (2017), section 3.1.

    Args:
        max_steps: the number of positions; none can be added later.
        num_hiddens: size of the embeddings.
    """

    def __init__(self, max_steps: int, num_hiddens: int, dropout: float = 0.0):
        super().__init__()
        self.P = nn.Parameter(torch.empty(1, max_steps, num_hiddens).normal_(std=num_hiddens**-0.5))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch steps size"], start: int = 0) -> Float[Tensor, "batch steps size"]:
        """The embeddings x of the tokens at positions start, start + 1, ... with these positions added."""
        check_size("embeddings", x, self.P.shape[2])
        return self.dropout(x + self.rows(start, x.shape[1]))

    def rows(self, start: int, steps: int) -> Float[Tensor, "1 {steps} size"]:
        """The vectors of these positions.

        Raises:
            ValueError: a position is beyond the table.
        """
        last, known = start + steps - 1, self.P.shape[1]
        if start < 0 or last >= known:
            raise ValueError(f"there is no position {start if start < 0 else last}: {known} were learned, from 0")
        return self.P[:, start : start + steps]


class RotaryPositions(nn.Module):
    """Rotates queries and keys by their positions, so that a score depends only on the distance between the two.

    Dimensions 2j and 2j + 1 are a pair, which is turned by position times `frequencies(head_size)[j]`. Values are not
    rotated. Su et al. (2021), section 3.4.2, equation 34. (Other code pairs dimension j with j + size / 2.)

    Args:
        head_size: size of the queries and keys of one head; even.
        base: see `frequencies`.
    """

    def __init__(self, head_size: int, base: float = BASE):
        super().__init__()
        _check_pairs(head_size)
        self.angles = PositionalEncoding(head_size, base=base)

    def forward(
        self, x: Float[Tensor, "batch heads steps size"], start: int = 0
    ) -> Float[Tensor, "batch heads steps size"]:
        """Queries or keys x at positions start, start + 1, ..., rotated. Half precision is computed in float32."""
        check_size("vectors", x, self.angles.num_hiddens, axes=4)
        sine, cosine = torch.unflatten(self.angles.rows(start, x.shape[2]), -1, (-1, 2)).unbind(-1)  # 1, steps, pairs
        first, second = torch.unflatten(x, -1, (-1, 2)).unbind(-1)  # batch, heads, steps, pairs
        turned = torch.stack([first * cosine - second * sine, first * sine + second * cosine], dim=-1)
        return turned.flatten(-2).to(x.dtype)


class NoPositions(nn.Module):
    """Adds nothing, only dropout: for attention without positions, and for attention that rotates queries and keys."""

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch steps size"], start: int = 0) -> Float[Tensor, "batch steps size"]:
        """The embeddings x as they are, whatever their positions."""
        return self.dropout(x)

    def rows(self, start: int, steps: int) -> None:
        """There is nothing to add."""


def make_positions(kind: str, num_hiddens: int, dropout: float, max_steps: int) -> nn.Module:
    """The module between embeddings and blocks, for positions of this kind.

    Args:
        max_steps: how many positions are learned; the other kinds have no limit.

    Raises:
        ValueError: there are no positions of this kind.
    """
    match kind:
        case "sinusoidal":
            return PositionalEncoding(num_hiddens, dropout)
        case "learned":
            return LearnedPositions(max_steps, num_hiddens, dropout)
        case "rotary" | "none":  # rotary positions are added inside the attention
            return NoPositions(dropout)
        case _:
            raise ValueError(f"there are no positions {kind!r}; choose from {', '.join(POSITIONS)}")
