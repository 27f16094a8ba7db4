"""The recurrent part of the attention decoder: its state, and the loop in which attention and GRU take turns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from .attention import ScoreAttention
from .cache import sentences_of


@dataclass(frozen=True)
class AttentionState:
    """What an attention decoder remembers between calls: `beams` rows for each sentence, side by side.

    Keys, values and mask (the memory) are held once for each sentence, however many beams share them.
    """

    keys: Float[Tensor, "sentences source hiddens"]
    values: Float[Tensor, "sentences source size"]
    mask: Bool[Tensor, "sentences 1 source"]
    hidden: Float[Tensor, "layers rows hiddens"]
    beams: int = 1
    length: int = 0

    def select(self, rows: Int[Tensor, "chosen"]) -> AttentionState:
        """The state of these rows, repeated, reordered or dropped. The memory is copied only if a sentence is gone."""
        sentences, beams = sentences_of(rows, self.beams)
        chosen = replace(self, hidden=self.hidden[:, rows], beams=beams)
        if torch.equal(sentences, torch.arange(len(self.keys), device=rows.device)):
            return chosen
        return replace(chosen, keys=self.keys[sentences], values=self.values[sentences], mask=self.mask[sentences])


def unroll(
    attention: ScoreAttention,
    rnn: nn.GRU,
    dropout: nn.Dropout,
    gates: Float[Tensor, "steps rows gates"],
    of_context: Float[Tensor, "gates size"],
    state: AttentionState,
) -> tuple[Float[Tensor, "steps rows hiddens"], Float[Tensor, "layers rows hiddens"]]:
    """Run attention and a stacked GRU over all tokens: at each token, attention gives a context, and the GRU reads it.

    Args:
        rnn: the stacked GRU, whose lowest layer reads a token and its context.
        gates: the token's part of the lowest layer's input gates, with their bias.
        of_context: the context's part of the lowest layer's input weights.

    Returns:
        The top layer's hidden state after each token, and the last hidden states of all layers.
    """
    hidden, outputs = list(state.hidden), []  # hidden: for each layer (rows, hiddens)
    for inputs in gates:
        queries = hidden[-1].unflatten(0, (-1, state.beams))  # sentences, beams, hiddens
        context = attention.attend(queries, state.keys, state.values, state.mask).flatten(0, 1)
        inputs = inputs + context @ of_context.T
        for layer, (W_ih, W_hh, b_ih, b_hh) in enumerate(rnn.all_weights):
            if layer > 0:
                inputs = F.linear(dropout(hidden[layer - 1]), W_ih, b_ih)
            hidden[layer] = gru_cell(inputs, F.linear(hidden[layer], W_hh, b_hh), hidden[layer])
        outputs.append(hidden[-1])
    return torch.stack(outputs), torch.stack(hidden)


def gru_cell(
    gates: Float[Tensor, "rows gates"], recurrent: Float[Tensor, "rows gates"], hidden: Float[Tensor, "rows hiddens"]
) -> Float[Tensor, "rows hiddens"]:
    """The new hidden state of a GRU from W x + b, U h + c (reset, update and new gate side by side) and h.

    Cho et al. (2014), section 2.3, with the reset gate applied after the product, as in `torch.nn.GRU`.
    """
    reset_x, update_x, new_x = gates.chunk(3, dim=-1)
    reset_h, update_h, new_h = recurrent.chunk(3, dim=-1)
    reset = torch.sigmoid(reset_x + reset_h)
    update = torch.sigmoid(update_x + update_h)
    new = torch.tanh(new_x + reset * new_h)
    return torch.lerp(new, hidden, update)  # (1 - update) * new + update * hidden
