"""A block of the Transformer's decoder for one token at a time, as search needs it: a straight line of functions.

With one token, calling modules and looking up their parameters takes as long as the arithmetic. Here the parameters are
looked up once for a search. The result is that of `TransformerDecoderBlock`, which is the one to read.
"""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from .cache import KeysValues, Past
from .masking import Mask

Block = Callable[[Tensor, KeysValues, Mask | None, Past | None, int], tuple[Tensor, Past]]


def written_out(block: nn.Module) -> Block:
    """What this block does in eval mode for one token of each row, as a function with the block's own arguments.

    What is not one of the usual parts, trains, has a hook, or is recorded while it runs, is left to the block itself.
    """
    if not all(_is_usual(part) for part in block.modules()):
        return block
    back, across, norms = block.attention1, block.attention2, (block.addnorm1, block.addnorm2, block.addnorm3)
    norm_first, rotary, heads, hiddens = norms[0].norm_first, back.rotary, back.num_heads, back.W_q.out_features
    size = hiddens // heads
    q1, k1, v1, o1 = (_parameters(layer) for layer in (back.W_q, back.W_k, back.W_v, back.W_o))
    q2, o2, f1, f2 = (_parameters(layer) for layer in (across.W_q, across.W_o, block.ffn.dense1, block.ffn.dense2))
    n1, n2, n3 = ((norm.ln.normalized_shape, *_parameters(norm.ln), norm.ln.eps) for norm in norms)

    def step(
        x: Float[Tensor, "rows 1 hiddens"], memory: KeysValues, mask: Mask | None, past: Past | None, length: int
    ) -> tuple[Float[Tensor, "rows 1 hiddens"], Past]:
        if back.record is not None or across.record is not None:
            return block(x, memory, mask, past, length)
        x = x.squeeze(1)  # a matrix needs fewer steps within PyTorch
        rows, sentences = len(x), len(memory[0])
        beams = rows // max(1, sentences)

        y = F.layer_norm(x, *n1) if norm_first else x
        queries, keys, values = (F.linear(y, *layer).view(rows, heads, 1, size) for layer in (q1, k1, v1))
        if rotary is not None:
            queries, keys = rotary(queries, length), rotary(keys, length)
        past = Past(keys, values, 1) if past is None else past.append(keys, values, length)
        keys, values = past.keys[:, :, : length + 1], past.values[:, :, : length + 1]
        x = x + F.linear(F.scaled_dot_product_attention(queries, keys, values).view(rows, hiddens), *o1)

        x, y = (x, F.layer_norm(x, *n2)) if norm_first else [F.layer_norm(x, *n1)] * 2
        queries = F.linear(y, *q2).view(sentences, beams, heads, size).transpose(1, 2)
        context = F.scaled_dot_product_attention(queries, *memory, mask if mask is None else mask.unsqueeze(1))
        x = x + F.linear(context.transpose(1, 2).reshape(rows, hiddens), *o2)

        x, y = (x, F.layer_norm(x, *n3)) if norm_first else [F.layer_norm(x, *n2)] * 2
        x = x + F.linear(F.linear(y, *f1).relu_(), *f2)
        return (x if norm_first else F.layer_norm(x, *n3)).unsqueeze(1), past

    return step


def _is_usual(part: nn.Module) -> bool:
    known = type(part) in (nn.Linear, nn.LayerNorm, nn.Dropout) or type(part).__module__ in USUAL
    return known and not (part.training or part._forward_hooks or part._forward_pre_hooks)


USUAL = {f"seqlearn.nn.{room}" for room in ("transformer", "attention", "positions")}


def _parameters(layer: nn.Module) -> tuple[Tensor, Tensor | None]:
    return layer.weight, layer.bias
