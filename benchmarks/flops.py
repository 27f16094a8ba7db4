"""How many floating point operations a Transformer takes, counted from the model.

A product of a (rows, k) and a (k, columns) matrix takes 2 rows k columns operations: k products and k sums for each
number of the result. Only the products of matrices are counted: softmax, layer norm, dropout, embeddings and Adam are
a few percent, and do not run on the units that the peak of a card is about. The backward pass takes two products for
each product of the forward pass. Kaplan et al. (2020), section 2.1 and table 1; Chowdhery et al. (2022), appendix B.
"""

from __future__ import annotations

from torch import nn

from seqlearn.nn.contract import EncoderDecoder


def forward_flops(model: EncoderDecoder, source: int, target: int) -> int:
    """The operations of one forward pass for one pair.

    Args:
        model: one of `seqlearn.nn.transformer.transformer`.
        source, target: positions that the encoder and the decoder read, padding included. Causal attention is counted
            as a whole, also where a kernel skips the masked half.
    """
    encoder, decoder = model.encoder, model.decoder
    looks = [block.cross_attention for block in decoder.blocks]
    across = sum(W.weight.numel() for look in looks for W in (look.W_k, look.W_v))
    width, attention = decoder.dense.in_features, len(encoder.blocks) * source**2 + len(decoder.blocks) * target**2
    attention += len(decoder.blocks) * target * source
    weights = (linear_weights(encoder) + across) * source + (linear_weights(decoder) - across) * target
    return 2 * weights + 4 * width * attention  # queries with keys, weights with values: 2 for each


def update_flops(model: EncoderDecoder, source: int, target: int) -> int:
    """The operations of one forward and backward pass for one pair; see `forward_flops`."""
    return 3 * forward_flops(model, source, target)


def linear_weights(part: nn.Module) -> int:
    """The number of weights in matrices that vectors are multiplied with: no embeddings, no biases."""
    return sum(module.weight.numel() for module in part.modules() if isinstance(module, nn.Linear))
