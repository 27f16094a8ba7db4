"""A Llama of Hugging Face as our decoder-only model, by copied weights. This module does not import `transformers`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor

from .contract import EncoderDecoder
from .decoder_only import DecoderOnly, DecoderOnlyConfig, GroupedQueryAttention, RMSNorm, decoder_only
from .positions import BASE, RotaryPositions


def from_llama(
    theirs: Any,  # a `transformers.LlamaForCausalLM`, which is no requirement
    base: float | None = None,
) -> EncoderDecoder:
    """Our decoder-only model with the weights of a Llama. Its logits equal theirs: this is all there is.

    The model has one vocabulary, so `source` and `tokens` are two parts of one text, cut anywhere. Three things differ,
    and none of them changes the logits:

    - Our rotary positions turn the dimensions 2j and 2j + 1 of a head together; theirs turn j and j + size / 2. So the
      rows of W_q and W_k are put in another order, the same for both, which changes no dot product.
    - Our embeddings are multiplied by sqrt(num_hiddens), so they are divided by it here.
    - Our output layer has a bias: 0.

    Args:
        theirs: the model, with RMSNorm, SwiGLU and plain rotary positions, as `LlamaConfig` makes it.
        base: of the rotary positions (see `frequencies`); default: what the configuration says, and else 10,000.

    Raises:
        ValueError: the model has something that ours has not.
    """
    config = theirs.config
    rotary: dict[str, Any] = getattr(config, "rope_parameters", None) or {}  # Any: as JSON has them
    wanted: dict[str, tuple[object, object]] = {
        "the activation": (config.hidden_act, "silu"),
        "the kind of rotary positions": (rotary.get("rope_type", "default"), "default"),
        "the size of a head": (config.head_dim, config.hidden_size // config.num_attention_heads),
    }
    for what, (has, needed) in wanted.items():
        if has != needed:
            raise ValueError(f"{what} of this model is {has}; our model has {needed}")
    ours = DecoderOnlyConfig(
        config.hidden_size, config.intermediate_size, config.num_attention_heads, config.num_key_value_heads,
        config.num_hidden_layers, dropout=0.0, norm="rms", ffn="swiglu", tie=False, tie_source=True,
    )  # fmt: skip
    model = decoder_only(config.vocab_size, config.vocab_size, ours)
    turning: float = rotary.get("rope_theta", BASE) if base is None else base
    for module in model.modules():
        if isinstance(module, RMSNorm):
            module.eps = config.rms_norm_eps
        elif isinstance(module, GroupedQueryAttention):
            module.rotary = RotaryPositions(config.hidden_size // config.num_attention_heads, turning)
    _copy(cast("DecoderOnly", model.decoder), theirs.state_dict(), config.hidden_size // config.num_attention_heads)
    return model.eval()


def _copy(ours: DecoderOnly, theirs: dict[str, Tensor], head_size: int) -> None:
    """Copy all weights.

    Raises:
        ValueError: a weight is left that has no counterpart.
    """
    width = ours.embedding.embedding_dim
    ours.load_state_dict(
        {
            "embedding.weight": theirs.pop("model.embed_tokens.weight") / width**0.5,
            "norm.weight": theirs.pop("model.norm.weight"),
            "dense.weight": theirs.pop("lm_head.weight"),
            "dense.bias": torch.zeros_like(ours.dense.bias),
            **{name: weight for layer in range(len(ours.blocks)) for name, weight in _block(theirs, layer, head_size)},
        }
    )
    if theirs:
        raise ValueError(f"our model has no place for {next(iter(theirs))}")


def _block(theirs: dict[str, Tensor], layer: int, head_size: int) -> Iterator[tuple[str, Tensor]]:
    names = {
        "norm1": "input_layernorm", "norm2": "post_attention_layernorm",
        "self_attention.W_q": "self_attn.q_proj", "self_attention.W_k": "self_attn.k_proj",
        "self_attention.W_v": "self_attn.v_proj", "self_attention.W_o": "self_attn.o_proj",
        "ffn.gate": "mlp.gate_proj", "ffn.up": "mlp.up_proj", "ffn.down": "mlp.down_proj",
    }  # fmt: skip
    for our_name, their_name in names.items():
        weight = theirs.pop(f"model.layers.{layer}.{their_name}.weight")
        if our_name in ("self_attention.W_q", "self_attention.W_k"):
            weight = neighbours(weight, head_size)
        yield f"blocks.{layer}.{our_name}.weight", weight


def neighbours(weight: Float[Tensor, "features hiddens"], head_size: int) -> Float[Tensor, "features hiddens"]:
    """The rows of each head in another order: row j and row j + head_size / 2 become rows 2j and 2j + 1."""
    heads = torch.unflatten(weight, 0, (-1, 2, head_size // 2))  # heads, halves, pairs, hiddens
    return heads.transpose(1, 2).reshape(weight.shape)
