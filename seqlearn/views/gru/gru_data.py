"""The data of `GruView`: the gates, the parts of the new values and the states of a GRU, word after word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from jaxtyping import Float, Real
from torch import Tensor, nn

from ..shared.arguments import finite, token_texts
from ..shared.packing import pack
from ..shared.types import Data


class GruStep(NamedTuple):
    """What one unit of a GRU computes at one word."""

    old: float
    """Its state before the word, h."""
    reset: float
    """The reset gate, r."""
    new: float
    """The new value, n."""
    update: float
    """The update gate, z."""
    state: float
    """Its state after the word: (1 - z) n + z h."""


def gru_data(tokens: Iterable[object] | None, gru: nn.GRU, inputs: Real[Tensor, "..."]) -> Data:
    """What `GruView` draws; the class explains the arguments."""
    if not isinstance(gru, nn.GRU):
        raise TypeError(f"GruView shows an nn.GRU, not a {type(gru).__name__}")
    vectors = finite("inputs", inputs, 2)
    if vectors.shape[1] != gru.input_size:
        raise ValueError(f"this GRU reads vectors of {gru.input_size} numbers, not of {vectors.shape[1]}")
    names = token_texts("tokens", tokens, len(vectors), "x")
    return {"tokens": names} | {name: pack(numbers) for name, numbers in gru_steps(gru, vectors).items()}


def gru_steps(gru: nn.GRU, inputs: Float[Tensor, "steps input"]) -> dict[str, Float[Tensor, "rows hiddens"]]:
    """The numbers of each step of a GRU that begins with zeros: of its first layer, read forwards.

    r = sigmoid(W_r x + U_r h), z = sigmoid(W_z x + U_z h), n = tanh(W_n x + r * (U_n h)), h' = (1 - z) n + z h, each
    bracket with its bias: as `nn.GRU` computes.

    Returns:
        `states`: the state before the first step and after each one. `updates` and `resets`: the gates z and r.
        `from_word` and `from_state`: W_n x and U_n h, each with its bias, so that n = tanh(from_word + r * from_state).
    """
    first = {name: weight.detach().cpu().double() for name, weight in gru.named_parameters() if name.endswith("_l0")}
    zero = torch.zeros(1, dtype=torch.double)
    of_words = inputs.double() @ first["weight_ih_l0"].T + first.get("bias_ih_l0", zero)
    state = torch.zeros(gru.hidden_size, dtype=torch.double)
    states, rows = [state], []
    for word in of_words.unflatten(1, (3, -1)):
        past = (first["weight_hh_l0"] @ state + first.get("bias_hh_l0", zero)).unflatten(0, (3, -1))
        reset, update = (word[:2] + past[:2]).sigmoid()
        new = torch.tanh(word[2] + reset * past[2])
        state = (1 - update) * new + update * state
        states.append(state)
        rows.append(torch.stack([update, reset, word[2], past[2]]))
    names = ("updates", "resets", "from_word", "from_state")
    return {"states": torch.stack(states)} | dict(zip(names, torch.stack(rows, dim=1), strict=True))
