"""The Transformer's decoder for one token at a time, as search needs it: a straight line of functions.

With one token, calling modules, looking up their parameters and reading these from memory take longer than the
arithmetic. So the parameters are looked up once for a search, and for a single short sentence W_q and W_o of the
cross-attention are multiplied into its keys and values. The result is, up to rounding, that of the modules of
`seqlearn.nn.transformer`, which are the ones to read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from .cache import KeysValues, Past, TransformerState
from .masking import Mask
from .watching import Watched

Affine = tuple[Tensor, Tensor | None]  # a matrix and a bias
Step = Callable[[nn.Module, Tensor, TransformerState], tuple[Tensor, TransformerState]]


def written_out(decoder: nn.Module, state: TransformerState) -> Step | None:
    """What `decoder` computes for one token of each row, from this state on, which has read no token yet.

    None where gradients are on, or a part was replaced, trains or has a hook: then the modules are called, as they are
    where attention weights are recorded or edited. What is changed in the decoder later on, a state may not notice.
    """
    parts = tuple(decoder.modules())[1:]
    as_built = type(decoder).__module__ == "seqlearn.nn.transformer" and parts == decoder.parts
    if torch.is_grad_enabled() or not as_built or any(map(_is_touched, parts)):
        return None
    embedding, scale, positions = decoder.embedding.weight, decoder.embedding.embedding_dim**0.5, decoder.pos_encoding
    alone = state.mask is None and all(len(keys) == 1 for keys, _ in state.memory)
    pairs = zip(decoder.blks.values(), state.memory, strict=True)
    blocks = [_block(block, memory if alone else None) for block, memory in pairs]
    norm = None if isinstance(decoder.ln, nn.Identity) else _norm(decoder.ln)
    dense = _affine(decoder.dense)
    watched = [layer for layer in parts if isinstance(layer, Watched)]

    def step(
        this: nn.Module, tokens: Int[Tensor, "rows 1"], state: TransformerState
    ) -> tuple[Float[Tensor, "rows 1 vocab"], TransformerState]:
        recorded = any(layer.record is not None for layer in watched)
        if recorded or torch.is_grad_enabled() or this is not decoder or this.training:
            return this.forward(tokens, replace(state, step=None))
        length, after = state.length, []
        x = F.embedding(tokens.squeeze(1), embedding) * scale  # two axes, not three: it is faster
        place = positions.rows(length, 1)
        x = x if place is None else (x + place[0]).to(x.dtype)
        for block, memory, past in zip(blocks, state.memory, state.past, strict=True):
            x, past = block(x, memory, state.mask, past, length)
            after.append(past)
        x = x if norm is None else torch.layer_norm(x, *norm)
        return F.linear(x, *dense).unsqueeze(1), replace(state, past=tuple(after), length=length + 1)

    return step


def _block(
    block: nn.Module, alone: KeysValues | None
) -> Callable[[Tensor, KeysValues, Mask | None, Past | None, int], tuple[Tensor, Past]]:
    """One block. `alone`: what it knows of the source, if that is a single sentence without padding."""
    back, across, norms = block.attention1, block.attention2, (block.addnorm1, block.addnorm2, block.addnorm3)
    first1, first2, first3 = (norm.norm_first for norm in norms)
    rotary, heads, hiddens = back.rotary, back.num_heads, back.W_q.out_features
    size = hiddens // heads
    q1, k1, v1, o1 = map(_affine, (back.W_q, back.W_k, back.W_v, back.W_o))
    q2, o2, f1, f2 = map(_affine, (across.W_q, across.W_o, block.ffn.dense1, block.ffn.dense2))
    n1, n2, n3 = (_norm(norm.ln) for norm in norms)
    linear, layer_norm, attend = F.linear, torch.layer_norm, F.scaled_dot_product_attention
    absorbed = alone is not None and heads * alone[0].shape[2] < hiddens  # else the two matrices are no larger
    if absorbed:
        q2, o2 = _absorb(q2, o2, *alone)
    inner = o2[0].shape[1]

    def step(
        x: Float[Tensor, "rows hiddens"], memory: KeysValues, mask: Mask | None, past: Past | None, length: int
    ) -> tuple[Float[Tensor, "rows hiddens"], Past]:
        rows, sentences = x.shape[0], memory[0].shape[0]

        y = layer_norm(x, *n1) if first1 else x
        queries, keys, values = (linear(y, *layer).view(rows, heads, 1, size) for layer in (q1, k1, v1))
        if rotary is not None:
            queries, keys = rotary(queries, length), rotary(keys, length)
        past = Past(keys, values, 1) if past is None else past.append(keys, values, length)
        keys, values = past.keys[:, :, : length + 1], past.values[:, :, : length + 1]
        x = x + linear(attend(queries, keys, values).view(rows, hiddens), *o1)
        x = x if first1 else layer_norm(x, *n1)

        y = layer_norm(x, *n2) if first2 else x
        if absorbed:
            context = linear(y, *q2).view(rows, heads, memory[0].shape[2]).softmax(-1)
        else:
            beams = rows // max(1, sentences)
            queries = linear(y, *q2).view(sentences, beams, heads, size).transpose(1, 2)  # a sentence's beams together
            context = attend(queries, *memory, mask if mask is None else mask.unsqueeze(1)).transpose(1, 2)
        x = x + linear(context.reshape(rows, inner), *o2)
        x = x if first2 else layer_norm(x, *n2)

        y = layer_norm(x, *n3) if first3 else x
        x = x + linear(linear(y, *f1).relu_(), *f2)
        return x if first3 else layer_norm(x, *n3), past

    return step


def _absorb(
    queries: Affine,
    outputs: Affine,
    keys: Float[Tensor, "1 heads source head_size"],
    values: Float[Tensor, "1 heads source head_size"],
) -> tuple[Affine, Affine]:
    """W_q and W_o, multiplied into the keys and values of a sentence: less to read for each token, while it is short.

    (W_q y + b) . k = y . (W_q^T k) + b . k, and with the weights p of a head, (p V) W_o^T = p (V W_o^T). So the first
    matrix gives the scores of all heads, 1 / sqrt(head_size) included, and the second turns their weights into the
    output. DeepSeek-V2 (DeepSeek-AI, 2024, section 2.1.2) saves work in a similar way, matrices into matrices.
    """
    heads, size = keys.shape[1], keys.shape[3]
    (in_weight, in_bias), (out_weight, out_bias) = queries, outputs
    scaled = keys[0] * size**-0.5  # heads, source, head_size
    scores = (scaled @ in_weight.view(heads, size, -1)).flatten(0, 1)  # heads * source, hiddens
    offset = None if in_bias is None else (scaled @ in_bias.view(heads, size, 1)).flatten()
    contexts = values[0] @ out_weight.view(-1, heads, size).permute(1, 2, 0)  # heads, source, hiddens
    return (scores, offset), (contexts.flatten(0, 1).t(), out_bias)


def _is_touched(part: nn.Module) -> bool:
    return bool(part.training or part._forward_hooks or part._forward_pre_hooks or "forward" in vars(part))


def _affine(layer: nn.Linear) -> Affine:
    return layer.weight, layer.bias


def _norm(layer: nn.LayerNorm) -> tuple:
    return layer.normalized_shape, layer.weight, layer.bias, layer.eps
