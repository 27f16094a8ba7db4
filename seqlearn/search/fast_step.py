"""A fast step for search: a Transformer decoder for one token at a time, as functions of tensors, without modules.

With one token, calling modules, looking up their parameters and reading these from memory take longer than the
arithmetic. So the parameters are looked up once for a search. For a single short sentence, W_q and W_o of the
cross-attention are also multiplied into its keys and values. Up to rounding, the logits are those of the modules in
`seqlearn.nn.transformer`. Read those modules first; they know nothing of this one. `docs/RESULTS.md` says how much
faster it is (`benchmarks/decoding.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..nn.attention import MultiHeadAttention
from ..nn.cache import KeysValues, Past, TransformerState
from ..nn.contract import Decoder
from ..nn.positions import LearnedPositions, NoPositions, PositionalEncoding
from ..nn.transformer import ACTIVATIONS, PositionWiseFFN, TransformerDecoder, TransformerDecoderBlock

Affine = tuple[Tensor, Tensor | None]  # a matrix and a bias
Norm = tuple[list[int], Tensor, Tensor, float]  # arguments of torch.layer_norm
Step = Callable[[Tensor, TransformerState], tuple[Tensor, TransformerState]]
BlockStep = Callable[[Tensor, KeysValues, Tensor | None, Past | None, int], tuple[Tensor, Past]]
Part = TypeVar("Part", bound=nn.Module)


class NotStandard(Exception):
    """A part of the decoder is not what `seqlearn.nn.transformer` builds: the decoder itself has to be called."""


def fast_step(decoder: Decoder, state: object) -> Step | None:
    """A function that computes the same as `decoder` for one token of each row, only faster.

    The function uses the decoder's parameters as they are now. It serves one search, in eval mode and without
    gradients.

    Args:
        state: the first state of the search, which has read no token yet.

    Returns:
        A function of `(tokens, state)` like the decoder itself. Or None, if the decoder itself has to be called: it has
        another class; a part was replaced, is in training mode or has a hook; or attention weights are recorded or
        edited.
    """
    if type(decoder) is not TransformerDecoder or not isinstance(state, TransformerState) or _hooks_of_all_modules():
        return None
    try:
        return _decoder_step(decoder, state)
    except NotStandard:
        return None


def _decoder_step(decoder: TransformerDecoder, state: TransformerState) -> Step:
    _check(decoder, TransformerDecoder)
    embedding = _check(decoder.embedding, nn.Embedding)
    if embedding.max_norm is not None:  # looking up a token then rescales its vector
        raise NotStandard
    table, scale = embedding.weight, embedding.embedding_dim**0.5
    positions = _check(decoder.pos_encoding, PositionalEncoding, LearnedPositions, NoPositions)
    _check(positions.dropout, nn.Dropout)
    is_alone = state.mask is None and all(len(keys) == 1 for keys, _ in state.memory)
    pairs = zip(decoder.blocks, state.memory, strict=True)
    blocks = [_block_step(block, memory if is_alone else None) for block, memory in pairs]
    last_norm = _check(decoder.norm, nn.LayerNorm, nn.Identity)
    norm = _norm(last_norm) if isinstance(last_norm, nn.LayerNorm) else None
    dense = _affine(decoder.dense)

    def step(
        tokens: Int[Tensor, "rows 1"], state: TransformerState
    ) -> tuple[Float[Tensor, "rows 1 vocab"], TransformerState]:
        length = state.length
        after: list[Past] = []
        x = F.embedding(tokens.squeeze(1), table) * scale  # two axes, not three: that is faster
        position = positions.rows(length, 1)
        x = x if position is None else (x + position[0]).to(x.dtype)
        for block, memory, past in zip(blocks, state.memory, state.past, strict=True):
            x, past = block(x, memory, state.mask, past, length)
            after.append(past)
        x = x if norm is None else torch.layer_norm(x, *norm)
        return F.linear(x, *dense).unsqueeze(1), replace(state, past=tuple(after), length=length + 1)

    return step


def _block_step(module: nn.Module, alone: KeysValues | None) -> BlockStep:
    """One block. `alone`: the source's keys and values, if the source is a single sentence without padding."""
    block = _check(module, TransformerDecoderBlock)
    back, across = _check(block.self_attention, MultiHeadAttention), _check(block.cross_attention, MultiHeadAttention)
    ffn, norm_first = _check(block.ffn, PositionWiseFFN), block.norm_first
    activate = torch.relu_ if ffn.activation == "relu" else ACTIVATIONS[ffn.activation]  # relu_ takes no new memory
    rotary, heads, hiddens = back.rotary, back.num_heads, back.W_q.out_features  # `rotary` is called as it is
    if across.rotary is not None or back.record is not None or across.record is not None:
        raise NotStandard
    size = hiddens // heads
    q1, k1, v1, o1 = map(_affine, (back.W_q, back.W_k, back.W_v, back.W_o))
    q2, o2, f1, f2 = map(_affine, (across.W_q, across.W_o, ffn.dense1, ffn.dense2))
    n1, n2, n3 = map(_norm, (block.norm1, block.norm2, block.norm3))
    for part in (block, back, across):
        _check(part.dropout, nn.Dropout)
    linear, layer_norm, attend = F.linear, torch.layer_norm, F.scaled_dot_product_attention
    is_absorbed = False
    if alone is not None and heads * alone[0].shape[2] < hiddens:  # else the two matrices would not become smaller
        (q2, o2), is_absorbed = absorb(q2, o2, *alone), True
    inner = o2[0].shape[1]

    def step(
        x: Float[Tensor, "rows hiddens"], memory: KeysValues, mask: Tensor | None, past: Past | None, length: int
    ) -> tuple[Float[Tensor, "rows hiddens"], Past]:
        rows, sentences = x.shape[0], memory[0].shape[0]

        y = layer_norm(x, *n1) if norm_first else x
        queries, keys, values = (linear(y, *layer).view(rows, heads, 1, size) for layer in (q1, k1, v1))
        if rotary is not None:
            queries, keys = rotary(queries, length), rotary(keys, length)
        past = Past(keys, values, 1) if past is None else past.append(keys, values, length)
        keys, values = past.keys[:, :, : length + 1], past.values[:, :, : length + 1]
        x = x + linear(attend(queries, keys, values).view(rows, hiddens), *o1)
        x = x if norm_first else layer_norm(x, *n1)

        y = layer_norm(x, *n2) if norm_first else x
        if is_absorbed:
            context = linear(y, *q2).view(rows, heads, memory[0].shape[2]).softmax(-1)
        else:
            beams = rows // max(1, sentences)
            queries = linear(y, *q2).view(sentences, beams, heads, size).transpose(1, 2)  # a sentence's beams together
            context = attend(queries, *memory, mask if mask is None else mask.unsqueeze(1)).transpose(1, 2)
        x = x + linear(context.reshape(rows, inner), *o2)
        x = x if norm_first else layer_norm(x, *n2)

        y = layer_norm(x, *n3) if norm_first else x
        x = x + linear(activate(linear(y, *f1)), *f2)
        return x if norm_first else layer_norm(x, *n3), past

    return step


def absorb(
    queries: Affine,
    outputs: Affine,
    keys: Float[Tensor, "1 heads source head_size"],
    values: Float[Tensor, "1 heads source head_size"],
) -> tuple[Affine, Affine]:
    """Multiply W_q and W_o into the keys and values of a short sentence: each step then reads less from memory.

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


def _check(part: object, *classes: type[Part]) -> Part:
    """The part, if it has one of these classes (no subclass) and a call runs only the code of this class.

    Raises:
        NotStandard: the part has another class, or its call does something else.
    """
    if type(part) not in classes or not isinstance(part, classes) or part.training or is_touched(part):
        raise NotStandard
    return part


def is_touched(part: nn.Module) -> bool:
    """Whether a call of the part would run other code than that of its class: a function of its own, or a hook."""
    own_functions = any(map(callable, vars(part).values()))  # a method of this one module, or what `compile()` made
    return own_functions or any(vars(part)[hooks] for hooks in ("_forward_hooks", "_forward_pre_hooks"))


def _hooks_of_all_modules() -> bool:
    """Whether there is a hook that is called for every module there is, such as that of a profiler."""
    every = vars(nn.modules.module)
    return bool(every["_global_forward_hooks"] or every["_global_forward_pre_hooks"])


def _affine(layer: object) -> Affine:
    linear = _check(layer, nn.Linear)
    return linear.weight, linear.bias


def _norm(layer: object) -> Norm:
    norm = _check(layer, nn.LayerNorm)
    return list(norm.normalized_shape), norm.weight, norm.bias, norm.eps
