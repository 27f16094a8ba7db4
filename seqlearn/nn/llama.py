"""A Llama of Hugging Face as our decoder-only model, by copied weights. This module does not import `transformers`."""

from __future__ import annotations

from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor

from .contract import EncoderDecoder
from .decoder_only import DecoderOnly, DecoderOnlyConfig, GroupedQueryAttention, RMSNorm, decoder_only
from .initial import take
from .positions import BASE, RotaryPositions

FAMILIES = ("llama", "mistral", "ministral", "seed_oss")  # whose settings `from_llama` computes, or refuses by name
BLOCK = {  # our names in a block, and theirs
    "norm1": "input_layernorm",
    "norm2": "post_attention_layernorm",
    "self_attention.W_q": "self_attn.q_proj",
    "self_attention.W_k": "self_attn.k_proj",
    "self_attention.W_v": "self_attn.v_proj",
    "self_attention.W_o": "self_attn.o_proj",
    "ffn.gate": "mlp.gate_proj",
    "ffn.up": "mlp.up_proj",
    "ffn.down": "mlp.down_proj",
}


def from_llama(
    theirs: Any,  # a `transformers.LlamaForCausalLM`, which the course does not install
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
        TypeError: this is not a model of transformers.
        ValueError: the model is of a family that is not in `FAMILIES`, or has something that ours has not: a setting,
            a weight, or numbers of another kind.
    """
    if not hasattr(theirs, "config"):
        raise TypeError(f"a LlamaForCausalLM of transformers is wanted, not {type(theirs).__name__}")
    config = theirs.config
    if config.model_type not in FAMILIES:
        raise ValueError(f"the family of this model is {config.model_type}; our model has {', '.join(FAMILIES)}")
    rotary: dict[str, Any] = (  # Any: as JSON has them; before version 5 of transformers they have the second name
        getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    )
    size = config.hidden_size // config.num_attention_heads
    wanted: dict[str, tuple[object, object]] = {  # with the weights, all settings of the families that change logits
        "the activation": (config.hidden_act, "silu"),
        "the kind of rotary positions": (rotary.get("rope_type", rotary.get("type", "default")), "default"),
        "the size of a head": (config.head_dim or size, size),
        "the setting is_causal": (getattr(config, "is_causal", True), True),
        "the sliding window": (getattr(config, "sliding_window", None) or "none", "none"),
    }
    for what, (has, needed) in wanted.items():
        if has != needed:
            raise ValueError(f"{what} of this model is {has}; our model has {needed}")
    ours = DecoderOnlyConfig(
        config.hidden_size,
        config.intermediate_size,
        config.num_attention_heads,
        config.num_key_value_heads,
        config.num_hidden_layers,
        dropout=0.0,
        norm="rms",
        ffn="swiglu",
        tie=False,
        tie_source=True,
    )
    model = decoder_only(config.vocab_size, config.vocab_size, ours)
    turning: float = rotary.get("rope_theta", getattr(config, "rope_theta", BASE)) if base is None else base
    for module in model.modules():
        if isinstance(module, RMSNorm):
            module.eps = config.rms_norm_eps
        elif isinstance(module, GroupedQueryAttention):
            module.rotary = RotaryPositions(size, turning)
    _copy(cast("DecoderOnly", model.decoder), theirs.state_dict(), size)
    return model.eval()


def _copy(ours: DecoderOnly, theirs: dict[str, Tensor], head_size: int) -> None:
    """Copy all weights.

    Raises:
        ValueError: a weight is missing, has another shape or kind of numbers, or is left without a counterpart.
    """
    names = {"embedding": "model.embed_tokens", "norm": "model.norm", "dense": "lm_head"}
    for layer in range(len(ours.blocks)):
        names |= {f"blocks.{layer}.{our}": f"model.layers.{layer}.{their}" for our, their in BLOCK.items()}
    shapes = {name: tuple(weight.shape) for name, weight in ours.state_dict().items()}
    weights = {our: take(theirs, f"{their}.weight", shapes[f"{our}.weight"]) for our, their in names.items()}
    weights["embedding"] = weights["embedding"] / ours.embedding.embedding_dim**0.5
    turned = {name: neighbours(weight, head_size) for name, weight in weights.items() if name.endswith(("W_q", "W_k"))}
    state = {f"{name}.weight": weight for name, weight in (weights | turned).items()}
    ours.load_state_dict(state | {"dense.bias": torch.zeros_like(ours.dense.bias)})
    if theirs:
        raise ValueError(f"our model has no place for {next(iter(theirs))}")


def neighbours(weight: Float[Tensor, "features hiddens"], head_size: int) -> Float[Tensor, "features hiddens"]:
    """The rows of each head in another order: row j and row j + head_size / 2 become rows 2j and 2j + 1."""
    heads = torch.unflatten(weight, 0, (-1, 2, head_size // 2))  # heads, halves, pairs, hiddens
    return heads.transpose(1, 2).reshape(weight.shape)
