"""A Marian of Hugging Face (the `opus-mt` models of Helsinki-NLP) as our Transformer, by copied weights.

Marian (Junczys-Dowmunt et al., 2018) is the post-norm Transformer of 2017 with another activation. One thing looks hard
and is not: its sinusoids have all sines first and then all cosines, while ours take turns. But the axis of the residual
stream has no order of its own: the dimensions may be counted in any order, if every weight that reads or writes the
stream counts them so. `_weights` puts them in our order once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import torch
from jaxtyping import Int
from torch import Tensor

from .config import settings_of
from .contract import EncoderDecoder
from .initial import share_embedding, take
from .positions import sinusoids
from .transformer import ACTIVATIONS, TransformerConfig, TransformerDecoder, TransformerEncoder, transformer

Given = Mapping[str, Any]  # Any: what a config.json holds
WANTED = {  # what config.json has to say, and what it means where it says nothing
    "model_type": ("marian", None),
    "normalize_before": (False, False),
    "scale_embedding": (True, False),
    "normalize_embedding": (False, False),
    "add_final_layer_norm": (False, False),
    "tie_word_embeddings": (True, True),
    "static_position_embeddings": (True, True),
    "share_encoder_decoder_embeddings": (True, True),
}
NUMBERS = {  # our settings, and theirs
    "num_hiddens": "d_model",
    "ffn_num_hiddens": "encoder_ffn_dim",
    "num_heads": "encoder_attention_heads",
    "num_layers": "encoder_layers",
    "dropout": "dropout",
}
EMBEDDINGS = ("shared", "encoder.embed_tokens", "decoder.embed_tokens")  # names of the one matrix; a fourth is lm_head
READ = {"W_q": "q_proj", "W_k": "k_proj", "W_v": "v_proj"}  # of an attention; W_o, out_proj, writes the stream
NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}
NEVER = -1e4  # the bias of a token that is never written: its probability is 0


def marian_config(given: Given) -> TransformerConfig:
    """Our configuration of a Marian, from what its `config.json` says.

    Raises:
        ValueError: our Transformer cannot be like this model, or a number is missing or makes no sense.
    """
    sizes = ("layers", "attention_heads", "ffn_dim")
    same = {f"decoder_{name}": given.get(f"encoder_{name}") for name in sizes}
    wanted = WANTED | {name: (value, None) for name, value in same.items()}
    if given.get("decoder_vocab_size") is not None:
        wanted["decoder_vocab_size"] = given.get("vocab_size"), None
    for name, (needed, default) in wanted.items():
        if (has := given.get(name, default)) != needed:
            raise ValueError(f"{name} of this model is {has!r}; our model needs {needed!r}")
    name = given.get("activation_function")
    if (activation := {"silu": "swish"}.get(str(name), str(name))) not in ACTIVATIONS:
        raise ValueError(f"the activation of this model is {name!r}; our model has {', '.join(ACTIVATIONS)}")
    settings: dict[str, Any] = {ours: given.get(theirs) for ours, theirs in NUMBERS.items()}  # Any: see `Given`
    for setting in settings_of(TransformerConfig):
        if setting.argument in settings:
            setting.check(settings[setting.argument])
    return TransformerConfig(**settings, norm_first=False, bias=True, tie=True, tie_source=True, activation=activation)


def token_order(given: Given, unknown: int) -> Int[Tensor, "vocab"]:
    """Marian's id of each of our tokens: <pad>, <bos>, <eos>, <unk>, and then the others in their order.

    Marian has no <bos>: its decoder starts with another token, mostly the padding. So our <bos> is a copy of it.

    Args:
        unknown: their id of <unk>.

    Raises:
        ValueError: an id is missing, or two are the same.
    """
    names = ("vocab_size", "pad_token_id", "decoder_start_token_id", "eos_token_id")
    size, pad, start, eos = (given.get(name) for name in names)
    known = range(size) if isinstance(size, int) else range(0)
    if not all(isinstance(each, int) and each in known for each in (pad, start, eos, unknown)):
        raise ValueError(
            f"the ids of padding, start, end and <unk> in this model are {pad}, {start}, {eos} and {unknown}, and not "
            f"all below its vocabulary, {size}"
        )
    if len({pad, eos, unknown}) < 3:
        raise ValueError(f"two of <pad>, </s> and <unk> have the same id in this model: {pad}, {eos}, {unknown}")
    return torch.tensor([pad, start, eos, unknown, *(each for each in known if each not in (pad, eos, unknown))])


def from_marian(config: TransformerConfig, theirs: Mapping[str, Tensor], order: Int[Tensor, "vocab"]) -> EncoderDecoder:
    """Our Transformer with the weights of a Marian. Its logits equal theirs, token by token; that of <bos> is -10,000.

    Args:
        config: from `marian_config`.
        theirs: the weights by their names in `transformers.MarianMTModel`.
        order: from `token_order`.

    Raises:
        ValueError: a weight is missing, has another shape or kind of numbers, or has no place in our model.
    """
    widest = max((max(weight.shape, default=0) for weight in theirs.values()), default=0)
    for name in ("num_hiddens", "ffn_num_hiddens"):
        if (size := getattr(config, name)) > widest:  # torch itself stops at such a size, or takes all memory
            raise ValueError(f"{NUMBERS[name]} of this model is {size}, and its weights are smaller")
    with torch.device("meta"):  # shapes alone: no memory, no random numbers
        model = transformer(len(order), len(order), config)
    weights = _Weights(theirs, config.num_hiddens)
    shapes = {name: tuple(weight.shape) for name, weight in model.named_parameters(remove_duplicate=False)}
    ours = dict(_weights(weights, config, order, shapes))
    weights.check_all_used()
    model.load_state_dict(ours, assign=True)
    encoder, decoder = cast("TransformerEncoder", model.encoder), cast("TransformerDecoder", model.decoder)
    decoder.dense.weight = decoder.embedding.weight  # one matrix in three places, as in `transformer`
    share_embedding(encoder.embedding, decoder.embedding)
    for positions in (encoder.pos_encoding, decoder.pos_encoding):
        positions.to_empty(device="cpu")  # the tables are computed again
    return model.eval()


class _Weights:
    """Their weights, each of which is to be taken once."""

    def __init__(self, theirs: Mapping[str, Tensor], width: int):
        self.left, half = dict(theirs), (width + 1) // 2
        i = torch.arange(width)
        self.stream = torch.where(i % 2 == 0, i // 2, half + i // 2)  # where our dimension i stands in their order

    def take(self, name: str, shape: tuple[int, ...], reads: bool = False, writes: bool = False) -> Tensor:
        """A weight in float32; of the stream that it `reads` or `writes`, the dimensions in our order."""
        weight = take(self.left, name, shape)
        weight = weight[self.stream] if writes else weight
        return weight[:, self.stream] if reads else weight

    def check_all_used(self) -> None:
        if self.left:
            raise ValueError(f"our model has no place for {next(iter(self.left))}")


def _weights(
    theirs: _Weights, config: TransformerConfig, order: Tensor, shapes: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[str, Tensor]]:
    """Our weights by name."""
    width, size = config.num_hiddens, len(order) - 1  # ours has <bos>, too
    embedding = _embedding(theirs, (size, width))[order]
    for name in ("encoder.embedding.weight", "decoder.embedding.weight", "decoder.dense.weight"):
        yield name, embedding
    bias = theirs.take("final_logits_bias", (1, size))[0, order]
    yield "decoder.dense.bias", bias.index_fill(0, torch.tensor([1]), NEVER)  # <bos>
    for side, norms in NORMS.items():
        _check_positions(theirs, f"model.{side}.embed_positions.weight", width)
        linear = {"ffn.dense1": ("fc1", True), "ffn.dense2": ("fc2", False)}  # their name; whether it reads the stream
        for mine, name in (("self_attention", "self_attn"), ("cross_attention", "encoder_attn"))[: len(norms) - 1]:
            linear |= {f"{mine}.{our}": (f"{name}.{their}", True) for our, their in READ.items()}
            linear[f"{mine}.W_o"] = f"{name}.out_proj", False
        for layer in range(config.num_layers):
            ours, their = f"{side}.blocks.{layer}.", f"model.{side}.layers.{layer}."
            for mine, (name, reads) in linear.items():
                for kind in ("weight", "bias"):
                    at, shape = f"{ours}{mine}.{kind}", shapes[f"{ours}{mine}.{kind}"]
                    is_read = reads and kind == "weight"
                    yield at, theirs.take(f"{their}{name}.{kind}", shape, reads=is_read, writes=not reads)
            for number, name in enumerate(norms, 1):
                for kind in ("weight", "bias"):
                    yield f"{ours}norm{number}.{kind}", theirs.take(f"{their}{name}.{kind}", (width,), writes=True)


def _embedding(theirs: _Weights, shape: tuple[int, int]) -> Tensor:
    """The matrix that is source embedding, target embedding and output layer; files name it once, or several times."""
    names = [name for name in (*(f"model.{one}.weight" for one in EMBEDDINGS), "lm_head.weight") if name in theirs.left]
    first, *others = [theirs.take(name, shape, reads=True) for name in names or ["model.shared.weight"]]
    for name, other in zip(names[1:], others, strict=True):
        if not torch.equal(first, other):
            raise ValueError(f"{names[0]} and {name} of this model differ; our model has one matrix in three places")
    return first


def _check_positions(theirs: _Weights, name: str, width: int) -> None:
    """Take the table of positions, which some files hold."""
    if name in theirs.left:
        table = theirs.take(name, (*theirs.left[name].shape[:1], width), reads=True)
        if not torch.allclose(table, sinusoids(len(table), width), atol=2e-3):  # as in half precision
            raise ValueError(f"{name} of this model is not a table of sinusoids")
