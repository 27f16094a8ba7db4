"""The state of the attention decoder and its steps: as a loop, and for training with the gradient written out.

Autograd would find the same gradient from the loop, one small operation after the other. Written out (backpropagation
through time, by hand), the gradient of a weight is one product over all steps, and no tensor is cut up and put together
again. The numbers are the same (a test compares them); training takes less time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .attention import AdditiveAttention
from .cache import sentences_of

tanh_backward = torch.ops.aten.tanh_backward  # (gradient, y = tanh(x)) -> gradient * (1 - y^2)
sigmoid_backward = torch.ops.aten.sigmoid_backward  # (gradient, y = sigmoid(x)) -> gradient * y (1 - y)


@dataclass(frozen=True)
class AttentionState:
    """Where an attention decoder stands: `beams` rows for each sentence, side by side.

    Keys, values and mask are held once for each sentence, however many beams share them.
    """

    keys: Float[Tensor, "sentences source hiddens"]
    values: Float[Tensor, "sentences source size"]
    mask: Bool[Tensor, "sentences 1 source"]
    hidden: Float[Tensor, "layers rows hiddens"]
    beams: int = 1
    length: int = 0

    def select(self, rows: Int[Tensor, "chosen"]) -> AttentionState:
        """The state of these rows, repeated, reordered or dropped. The memory is copied only where sentences end."""
        sentences, beams = sentences_of(rows, self.beams)
        chosen = replace(self, hidden=self.hidden[:, rows], beams=beams)
        if torch.equal(sentences, torch.arange(len(self.keys), device=rows.device)):
            return chosen
        return replace(chosen, keys=self.keys[sentences], values=self.values[sentences], mask=self.mask[sentences])


def unroll(
    attention: nn.Module,
    rnn: nn.GRU,
    dropout: nn.Dropout,
    gates: Float[Tensor, "steps rows gates"],
    of_context: Float[Tensor, "gates size"],
    state: AttentionState,
) -> tuple[Float[Tensor, "steps rows hiddens"], Float[Tensor, "layers rows hiddens"]]:
    """At each step, look at the source, and then make a step of a stacked GRU.

    Args:
        gates: the token's part of the lowest layer's input gates, with their bias.
        of_context: the context's part of the lowest layer's input weights.

    Returns:
        The top layer's state after each step, and the last states of all layers.
    """
    inactive = attention.record is None and not (attention.training and attention.dropout.p)
    written_out = isinstance(attention, AdditiveAttention) and inactive and state.beams == 1
    if not (written_out and torch.is_grad_enabled()) or torch.is_autocast_enabled(gates.device.type):
        return _loop(attention, rnn, dropout, gates, of_context, state)
    kept = None
    if dropout.training and dropout.p and rnn.num_layers > 1:
        kept = dropout(gates.new_ones(rnn.num_layers - 1, *gates.shape[:2], rnn.hidden_size))
    (_, W_hh, _, b_hh), *higher = rnn.all_weights
    weights = [of_context, W_hh, None, b_hh] + [weight for layer in higher for weight in layer]
    memory = state.keys, state.values, state.mask.squeeze(1)
    return AdditiveDecoder.apply(
        gates, *memory, state.hidden, kept, attention.W_q.weight, attention.w_v.weight, *weights
    )


def _loop(
    attention: nn.Module, rnn: nn.GRU, dropout: nn.Dropout, gates: Tensor, of_context: Tensor, state: AttentionState
) -> tuple[Tensor, Tensor]:
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


class AdditiveDecoder(torch.autograd.Function):
    """`unroll` with additive attention: c = sum_j alpha_j h_j, alpha = softmax of w_v^T tanh(W_q s + k_j).

    Bahdanau et al. (2015), section 3.1 and appendix A. T steps, B rows, S places of the source, L layers of size H; the
    memory has the size D, the attention A.

    Args of `apply`:
        gates, keys, values, mask, hidden: as in `unroll` and its state.
        kept: what dropout does to the input of each higher layer, 0 or 1 / (1 - p); None keeps all as it is.
        W_q, w_v: of the attention.
        weights: W_ih, W_hh, b_ih, b_hh of each layer. The lowest has the context's part of W_ih, and None for b_ih.
    """

    @staticmethod
    def forward(
        ctx,
        gates: Float[Tensor, "T B gates"],
        keys: Float[Tensor, "B S A"],
        values: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "B S"],
        hidden: Float[Tensor, "L B H"],
        kept: Float[Tensor, "higher T B H"] | None,
        W_q: Float[Tensor, "A H"],
        w_v: Float[Tensor, "1 A"],
        *weights: Tensor | None,
    ) -> tuple[Float[Tensor, "T B H"], Float[Tensor, "L B H"]]:
        """All steps, and what the way back needs of them."""
        (T, B, _), (L, _, H), (_, S, A) = gates.shape, hidden.shape, keys.shape
        empty = gates.new_empty
        features, alphas, contexts = empty(T, B, S, A), empty(T, B, S), empty(T, B, values.shape[-1])
        states, inputs, recurrents = empty(L, T + 1, B, H), empty(L, T, B, 3 * H), empty(L, T, B, 3 * H)
        states[:, 0] = hidden
        somewhere = mask.any(-1, keepdim=True)  # a row with nothing to attend to keeps its scores, and is emptied below
        bias = torch.zeros_like(alphas[0]).masked_fill(~mask & somewhere, float("-inf")).flatten()
        state, cells = steps(states), Cells(inputs, recurrents)
        for t, (gate, feature, alpha, context) in enumerate(zip(gates, features, alphas, contexts, strict=True)):
            torch.add((state[-1][t] @ W_q.T).unsqueeze(1), keys, out=feature).tanh_()
            scores = torch.addmv(bias, feature.view(-1, A), w_v[0]).view(B, S)
            torch.mul(scores.softmax(-1), somewhere, out=alpha)
            torch.bmm(alpha.unsqueeze(1), values, out=context.unsqueeze(1))
            below, offset = context, gate
            for layer in range(L):
                W_ih, W_hh, b_ih, b_hh = weights[4 * layer : 4 * layer + 4]
                if layer > 0:
                    below, offset = state[layer - 1][t + 1], b_ih
                    below = below if kept is None else below * kept[layer - 1, t]
                before = state[layer][t]
                torch.addmm(offset, below, W_ih.T, out=cells.inputs[layer][t])
                torch.addmm(b_hh, before, W_hh.T, out=cells.recurrents[layer][t])
                cells.both[layer][t].add_(cells.recurrent_both[layer][t]).sigmoid_()
                new = cells.new[layer][t].addcmul_(cells.reset[layer][t], cells.recurrent_new[layer][t]).tanh_()
                torch.lerp(new, before, cells.update[layer][t], out=state[layer][t + 1])
        saved = features, alphas, contexts, states, inputs, recurrents
        ctx.save_for_backward(values, kept, W_q, w_v, *saved, *weights)
        return states[-1, 1:], states[:, -1]

    @staticmethod
    @once_differentiable
    def backward(ctx, d_outputs: Float[Tensor, "T B H"], d_last: Float[Tensor, "L B H"]) -> tuple[Tensor | None, ...]:
        """From the last step to the first: what each argument of `apply` did to the loss."""
        values, kept, W_q, w_v, features, alphas, contexts, states, inputs, recurrents, *weights = ctx.saved_tensors
        L, T, B, _ = inputs.shape
        state, cells = steps(states), Cells(inputs, recurrents)
        d_inputs, d_recurrents = torch.empty_like(inputs), torch.empty_like(inputs)
        d_cells, d_hidden = Cells(d_inputs, d_recurrents), list(d_last.clone())  # of the states after the step at hand
        d_scores, d_contexts = torch.empty_like(alphas), torch.empty_like(contexts)
        d_queries, d_keys = values.new_empty(T, B, len(W_q)), torch.zeros_like(features[0])
        for t in reversed(range(T)):
            d_hidden[-1] += d_outputs[t]
            for layer in reversed(range(L)):
                W_ih, W_hh, _, _ = weights[4 * layer : 4 * layer + 4]
                d, new, update = d_hidden[layer], cells.new[layer][t], cells.update[layer][t]
                d_new, d_both = d_cells.new[layer][t], d_cells.both[layer][t]
                tanh_backward(torch.addcmul(d, d, update, value=-1), new, grad_input=d_new)
                torch.mul(d_new, cells.recurrent_new[layer][t], out=d_cells.reset[layer][t])
                torch.mul(d, state[layer][t] - new, out=d_cells.update[layer][t])
                sigmoid_backward(d_both, cells.both[layer][t], grad_input=d_both)
                d_cells.recurrent_both[layer][t].copy_(d_both)
                torch.mul(d_new, cells.reset[layer][t], out=d_cells.recurrent_new[layer][t])
                d.mul_(update).addmm_(d_cells.recurrents[layer][t], W_hh)
                d_below = d_cells.inputs[layer][t] @ W_ih
                if layer > 0:
                    d_hidden[layer - 1] += d_below if kept is None else d_below.mul_(kept[layer - 1, t])
            d_contexts[t] = d_below
            d_alpha = torch.bmm(values, d_below.unsqueeze(2)).squeeze(2)
            mean = (alphas[t] * d_alpha).sum(-1, keepdim=True)
            torch.mul(alphas[t], d_alpha.sub_(mean), out=d_scores[t])
            d_features = tanh_backward(d_scores[t].unsqueeze(-1) * w_v, features[t])
            d_keys += d_features
            d_hidden[-1].addmm_(torch.sum(d_features, 1, out=d_queries[t]), W_q)
        d_weights = [
            outer(d_inputs[0], contexts),
            outer(d_recurrents[0], states[0, :-1]),
            None,
            over_all(d_recurrents[0]),
        ]
        for layer in range(1, L):
            below = states[layer - 1, 1:] if kept is None else states[layer - 1, 1:] * kept[layer - 1]
            d_weights += [outer(d_inputs[layer], below), outer(d_recurrents[layer], states[layer, :-1])]
            d_weights += [over_all(d_inputs[layer]), over_all(d_recurrents[layer])]
        d_values = torch.bmm(alphas.permute(1, 2, 0), d_contexts.transpose(0, 1))
        d_W_q, d_w_v = outer(d_queries, states[-1, :-1]), outer(d_scores.unsqueeze(-1), features)
        return d_inputs[0], d_keys, d_values, None, torch.stack(d_hidden), None, d_W_q, d_w_v, *d_weights


class Cells:
    """The gates of each layer and step, whole and in thirds, as views. Forward, what the gates let through takes the
    place of `inputs`.
    """

    def __init__(self, inputs: Float[Tensor, "L T B gates"], recurrents: Float[Tensor, "L T B gates"]):
        size = inputs.shape[-1] // 3
        self.inputs, self.recurrents = steps(inputs), steps(recurrents)
        self.reset, self.update, self.new = map(steps, inputs.split(size, -1))
        self.both, self.recurrent_both = steps(inputs[..., : 2 * size]), steps(recurrents[..., : 2 * size])
        self.recurrent_new = steps(recurrents[..., 2 * size :])


def steps(layers: Float[Tensor, "L T *rest"]) -> list[tuple[Tensor, ...]]:
    """Views of each step of each layer: `steps(x)[layer][t]` costs less in a loop than `x[layer, t]`."""
    return [layer.unbind() for layer in layers]


def outer(gradients: Float[Tensor, "*places out"], inputs: Float[Tensor, "*places in_"]) -> Float[Tensor, "out in_"]:
    """The gradient of W in y = W x, summed over all places."""
    return gradients.flatten(0, -2).T @ inputs.flatten(0, -2)


def over_all(gradients: Float[Tensor, "T B out"]) -> Float[Tensor, "out"]:
    """The gradient of a bias: summed over all places."""
    return gradients.sum((0, 1))
