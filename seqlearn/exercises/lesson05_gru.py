"""Check of exercise 5.5. Its oracle is a loop over plain numbers: it imports nothing that the lesson is about."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from .checking import called, check, has_shape, matches
from .plain import Numbers, numbers, product, shown, transposed

SHAPES = {
    (): "one number came out: `@` of two vectors sums them; the gates multiply entry by entry, `*`.",
    (2, 2): "a matrix came out: `*` multiplies entry by entry; the matrix product is `@`: `W[0] @ x`.",
}


@check("5.5", section="2. Gates: a GRU cell")
def check_gru_step(gru_step: Callable[..., Tensor]) -> None:
    """Try out `gru_step(x, h, W, U)` -> the new state, with reset, update and new in this order in W and U."""
    generator = torch.Generator().manual_seed(11)
    for inputs, hiddens in ((2, 2), (3, 4), (4, 3)):
        shapes = ((inputs,), (hiddens,), (3, hiddens, inputs), (3, hiddens, hiddens))
        given = [torch.randn(shape, generator=generator) for shape in shapes]
        new = called(gru_step, *given)
        three = "three vectors came out: take one matrix at a time, `W[0]`, `W[1]`, `W[2]`."
        has_shape(new, (hiddens,), "new state", {(3, hiddens): three, **SHAPES})
        right = _gru(_Given(*map(numbers, given)))
        told = f"the new state should be {shown(right)}; yours: {shown(new)}."
        matches(new, right, _wrong_states(*given), otherwise=told)


class _Given(NamedTuple):
    """What a step is made of, as plain numbers."""

    x: list[float]
    h: list[float]
    W: list[list[list[float]]]
    U: list[list[list[float]]]


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def _inside(word, r, z, memory, before) -> float:
    """What goes through tanh; `memory` is of U @ h, and `before` of U @ (r * h)."""
    return word + r * memory


def _mixed(r, z, new, old) -> float:
    return (1 - z) * new + z * old


def _gru(given: _Given, *, gate=_sigmoid, squash=math.tanh, inside=_inside, mix=_mixed) -> list[float]:
    """One step, number by number; a mistake has another function in one of four places."""
    x, h, W, U = given

    def times(matrix: list, vector: list) -> list[float]:
        return product([vector], transposed(matrix))[0]

    def gates(i: int) -> list[float]:
        return [gate(a + b) for a, b in zip(times(W[i], x), times(U[i], h), strict=True)]

    r, z = gates(0), gates(1)
    before = times(U[2], [share * old for share, old in zip(r, h, strict=True)])
    parts = zip(times(W[2], x), r, z, times(U[2], h), before, strict=True)
    return [mix(*part) for part in zip(r, z, [squash(inside(*part)) for part in parts], h, strict=True)]


def _wrong_states(x: Tensor, h: Tensor, W: Tensor, U: Tensor) -> dict[str, Numbers]:
    """Diagnosis -> the new state of a usual mistake. Some of them need square matrices."""
    given = _Given(*map(numbers, (x, h, W, U)))

    def of(W: Tensor = W, U: Tensor = U) -> list[float]:
        return _gru(given._replace(W=numbers(W), U=numbers(U)))

    found: dict[str, Numbers] = {
        "the matrices U are transposed: it is `U[0] @ h`, not `h @ U[0]`.": of(U=U.mT),
        "the matrix U[2] is transposed: it is `U[2] @ h`, not `h @ U[2]`.": of(U=torch.cat([U[:2], U[2:].mT])),
    }
    if len(x) == len(h):
        found |= {
            "W and U are exchanged: W belongs to the word x, U to the state h.": of(U, W),
            "the matrices W are transposed: it is `W[0] @ x`, not `x @ W[0]`.": of(W.mT),
            "all matrices are transposed: it is `W[0] @ x`, not `x @ W[0]`.": of(W.mT, U.mT),
        }
    return {
        **found,
        **_wrong_products(x, h, W, U),
        **{said: _gru(given, mix=mix) for said, mix in MIXES.items()},
        **{said: _gru(given, inside=inside) for said, inside in INSIDES.items()},
        **{said: _gru(given, squash=squash) for said, squash in SQUASHES.items()},
        **{said: _gru(given, gate=gate) for said, gate in GATES.items()},
        "the gates see the word only: add `U[0] @ h` and `U[1] @ h`.": of(U=torch.cat([0 * U[:2], U[2:]])),
        "the gates see the old state only: add `W[0] @ x` and `W[1] @ x`.": of(torch.cat([0 * W[:2], W[2:]])),
        **{MIXED_UP.format(*order): of(W[list(order)], U[list(order)]) for order in ORDERS},
    }


def _wrong_products(x: Tensor, h: Tensor, W: Tensor, U: Tensor) -> dict[str, Tensor]:
    """`@` for `*` between two vectors, and x for h."""
    r, z, word, memory = *((W[i] @ x + U[i] @ h).sigmoid() for i in range(2)), W[2] @ x, U[2] @ h
    new = (word + r * memory).tanh()
    found = {
        "`r @ ...` sums to one number: `*` multiplies entry by entry.": (1 - z) * (word + r @ memory).tanh() + z * h,
        "`(1 - z) @ n` sums to one number: write `*`.": (1 - z) @ new + z * h,
    }
    if len(x) == len(h):
        found["the old state belongs into the last line: z times h, and not z times x."] = (1 - z) * new + z * x
    return found


MIXES: dict[str, Callable[..., float]] = {
    "the update gate is upside down: z keeps the *old* state, 1 - z takes the new one.": (
        lambda r, z, new, old: z * new + (1 - z) * old
    ),
    "these are the new values alone: now mix them with the old state, as the update gate says.": (
        lambda r, z, new, old: new
    ),
    "the old state is missing: add z times h to (1 - z) times the new values.": lambda r, z, new, old: (1 - z) * new,
    "the new values come in with the share 1 - z; you added them whole.": lambda r, z, new, old: new + z * old,
    "the two parts are added: (1 - z) times the new values *plus* z times h.": (
        lambda r, z, new, old: (1 - z) * new - z * old
    ),
    "the update gate z mixes old and new, and you took the reset gate r.": (
        lambda r, z, new, old: (1 - r) * new + r * old
    ),
    "the last line has no tanh: it is a mixture of two vectors that have their size already.": (
        lambda r, z, new, old: math.tanh(_mixed(r, z, new, old))
    ),
}
INSIDES: dict[str, Callable[..., float]] = {
    "this is what comes out without the reset gate.": lambda word, r, z, memory, before: word + memory,
    "the reset gate r belongs to the new values, and you took the update gate z.": (
        lambda word, r, z, memory, before: word + z * memory
    ),
    "the reset gate lets r of the old state through, and not 1 - r.": (
        lambda word, r, z, memory, before: word + (1 - r) * memory
    ),
    "the new values lack the word: add `W[2] @ x`.": lambda word, r, z, memory, before: r * memory,
    "the new values lack the old state: add r times `U[2] @ h`.": lambda word, r, z, memory, before: word,
    "brackets are missing: `r * U[2] @ h` is `(r * U[2]) @ h`; write `r * (U[2] @ h)`. Or you multiplied the old state "
    "by r *before* the product with U; here r comes after it. (Cho and others did it your way; nn.GRU does this.)": (
        lambda word, r, z, memory, before: word + before
    ),
    "you multiplied the input by r, too: the reset gate is for what comes from the old state.": (
        lambda word, r, z, memory, before: r * (word + memory)
    ),
}
SQUASHES: dict[str, Callable[[float], float]] = {
    "this is what comes out without the tanh.": lambda value: value,
    "the new values go through tanh, not through the sigmoid.": _sigmoid,
    "the new values go through tanh, not through relu.": lambda value: max(value, 0.0),
}
GATES: dict[str, Callable[[float], float]] = {
    "the gates go through the sigmoid, so that they lie between 0 and 1, not through tanh.": math.tanh,
    "the gates lack the sigmoid: without it they do not lie between 0 and 1.": lambda value: value,
}
MIXED_UP = (
    "you have mixed up the gates: index 0 of W and U is for reset, 1 for update, 2 for the new values; you took index "
    "{}, {} and {}."
)
ORDERS = [order for order in itertools.product(range(3), repeat=3) if order != (0, 1, 2)]
