"""The Transformer: an encoder and a decoder made of attention, under the contract of `seqlearn.nn.contract`.

Vaswani et al. (2017), with a choice between the paper's post-norm and pre-norm (Xiong et al., 2020). As in the paper
(section 5.4), dropout is applied to the output of each sublayer and to the embeddings with their positions, and nowhere
else. Without dropout on the attention weights, the fused kernel can be used.

A search gives the decoder one token at a time: `seqlearn.search.fast_step` then stands in for `TransformerDecoder`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple, cast

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ..runtime.arguments import embed, source_lengths
from .attention import MultiHeadAttention
from .cache import KeysValues, Past, TransformerState
from .config import MOST_LAYERS, Setting, choices
from .contract import EncoderDecoder
from .initial import initialize, share_embedding
from .masking import Mask, sequence_mask
from .positions import POSITIONS, make_positions

PRE_OR_POST = {"pre": True, "post": False}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "swish": F.silu, "gelu": F.gelu}


@dataclass(frozen=True)
class TransformerConfig:
    """The settings of a Transformer. `SIZES` has named ones.

    The paper's own choices are `norm_first=False`, `tie=True` and `tie_source=True`: one matrix in three places
    (section 3.4; Press and Wolf 2017). With pre-norm, a last layer norm ends each stack.
    """

    num_hiddens: Annotated[int, Setting("size of a token's vector, in all blocks", "width", least=1)] = 128
    ffn_num_hiddens: Annotated[int, Setting("size inside the feed-forward networks", "ffn", least=1)] = 256
    num_heads: Annotated[int, Setting("heads of each attention", "heads", least=1)] = 4
    num_layers: Annotated[int, Setting("blocks on each side", "layers", least=1, most=MOST_LAYERS)] = 2
    dropout: Annotated[float, Setting("share of activations dropped in training", least=0, most=0.99)] = 0.1
    norm_first: Annotated[bool, Setting("layer norm before or after each sublayer", "norm", PRE_OR_POST)] = True
    positions: Annotated[str, Setting("how the model knows the order of tokens", "", choices(POSITIONS))] = "sinusoidal"
    bias: Annotated[bool, Setting("whether the projections of the attention have a bias")] = False
    max_steps: Annotated[int, Setting("the number of positions, for learned positions", least=1)] = 1024
    tie: Annotated[bool, Setting("whether the output layer shares the embedding matrix")] = False
    tie_source: Annotated[bool, Setting("whether the encoder has this matrix, too (--tie, --shared-vocab)")] = False
    activation: Annotated[str, Setting("what the feed-forward networks apply", "", choices(ACTIVATIONS))] = "relu"


SIZES = {
    "tiny": TransformerConfig(num_hiddens=128, ffn_num_hiddens=256, num_heads=4, num_layers=2),
    "small": TransformerConfig(num_hiddens=256, ffn_num_hiddens=1024, num_heads=4, num_layers=3),
    "base": TransformerConfig(num_hiddens=512, ffn_num_hiddens=2048, num_heads=8, num_layers=6),  # the paper's table 3
}


class PositionWiseFFN(nn.Module):
    """The same small network at every position: W_2 relu(W_1 x + b_1) + b_2. Vaswani et al. (2017), section 3.3.

    Other `ACTIVATIONS` are "swish", x sigmoid(x), and "gelu", x Phi(x): Ramachandran, Zoph and Le (2017), Hendrycks and
    Gimpel (2016). Any other name is a ValueError.
    """

    def __init__(self, num_hiddens: int, ffn_num_hiddens: int, activation: str = "relu"):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"there is no activation {activation!r}; choose from {', '.join(ACTIVATIONS)}")
        self.activation = activation
        self.dense1 = nn.Linear(num_hiddens, ffn_num_hiddens)
        self.dense2 = nn.Linear(ffn_num_hiddens, num_hiddens)

    def forward(self, x: Float[Tensor, "*batch hiddens"]) -> Float[Tensor, "*batch hiddens"]:
        """Every position goes through the same network, by itself."""
        return self.dense2(ACTIVATIONS[self.activation](self.dense1(x)))


class TransformerEncoderBlock(nn.Module):
    """Self-attention, then the feed-forward network, each with a residual connection, dropout and layer norm.

    Post-norm, LN(x + f(x)), is the paper's (section 3.1). Pre-norm, x + f(LN(x)), has no norm on the residual stream
    from the first block to the last, so that training is stable without warm-up: Xiong et al. (2020).
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.norm_first, size = config.norm_first, config.num_hiddens
        rotary = config.positions == "rotary"
        self.self_attention = MultiHeadAttention(size, config.num_heads, bias=config.bias, rotary=rotary)
        self.self_attention.kind = "encoder"
        self.norm1 = nn.LayerNorm(size)
        self.ffn = PositionWiseFFN(size, config.ffn_num_hiddens, config.activation)
        self.norm2 = nn.LayerNorm(size)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "batch steps hiddens"], mask: Mask | None = None
    ) -> Float[Tensor, "batch steps hiddens"]:
        """Every position looks at the positions that `mask` allows (see `seqlearn.nn.masking.as_mask`)."""
        y = self.norm1(x) if self.norm_first else x
        x = x + self.dropout(self.self_attention(y, y, y, mask))
        x = x if self.norm_first else self.norm1(x)

        y = self.norm2(x) if self.norm_first else x
        x = x + self.dropout(self.ffn(y))
        return x if self.norm_first else self.norm2(x)


class Memory(NamedTuple):
    """What the encoder knows of its sources: a vector for each token, and which tokens are real (None: all of them)."""

    outputs: Float[Tensor, "batch source hiddens"]
    mask: Bool[Tensor, "batch 1 source"] | None


class TransformerEncoder(nn.Module):
    """Embeddings, times sqrt(num_hiddens) (section 3.4), with positions, through a stack of blocks."""

    def __init__(self, vocab_size: int, config: TransformerConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(vocab_size, config.num_hiddens)
        self.pos_encoding = make_positions(config.positions, config.num_hiddens, config.dropout, config.max_steps)
        self.blocks = nn.ModuleList([TransformerEncoderBlock(config) for _ in range(config.num_layers)])
        self.norm = nn.LayerNorm(config.num_hiddens) if config.norm_first else nn.Identity()
        self.apply(initialize)

    def forward(self, source: Int[Tensor, "batch source"], source_lens: Int[Tensor, "batch"]) -> Memory:
        """Read the sources. No token looks at padding."""
        source_lens = source_lengths(source, source_lens)
        mask = None
        if (source_lens < source.shape[1]).any():  # without a mask the fused kernel is a third faster
            mask = sequence_mask(source_lens.to(source.device), source.shape[1]).unsqueeze(1)  # batch, 1, source
        x = self.pos_encoding(embed(self.embedding, source) * self.config.num_hiddens**0.5)
        for block in self.blocks:
            x = block(x, mask)
        return Memory(self.norm(x), mask)


class TransformerDecoderBlock(nn.Module):
    """Self-attention to the tokens so far, attention to the source, the feed-forward network; as in the encoder."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.norm_first, size = config.norm_first, config.num_hiddens
        rotary = config.positions == "rotary"
        self.self_attention = MultiHeadAttention(size, config.num_heads, bias=config.bias, rotary=rotary)
        self.self_attention.kind = "causal"
        self.norm1 = nn.LayerNorm(size)
        self.cross_attention = MultiHeadAttention(size, config.num_heads, bias=config.bias)
        self.cross_attention.kind = "cross"
        self.norm2 = nn.LayerNorm(size)
        self.ffn = PositionWiseFFN(size, config.ffn_num_hiddens, config.activation)
        self.norm3 = nn.LayerNorm(size)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "rows steps hiddens"],
        memory: KeysValues,
        mask: Mask | None = None,
        past: Past | None = None,
        length: int = 0,
    ) -> tuple[Float[Tensor, "rows steps hiddens"], Past]:
        """New tokens, x, look at the `length` tokens before them, at themselves and at the source.

        Args:
            memory: the source's keys and values from `cross_attention.project`, once for each sentence. In x, every
                sentence has the same number of rows (beams), side by side.
            mask: which source tokens may be attended (see `seqlearn.nn.masking.as_mask`).
            past: the keys and values of the tokens before, from the previous call; None before the first token.

        Returns:
            The new tokens' vectors, and the past with the new tokens in it.
        """
        y, end = self.norm1(x) if self.norm_first else x, length + x.shape[1]
        new = self.self_attention.project(y, y, length)
        past = Past(*new, end) if past is None else past.append(*new, length)
        keys, values = past.keys[:, :, :end], past.values[:, :, :end]
        x = x + self.dropout(self.self_attention.attend(y, keys, values, causal=True))
        x = x if self.norm_first else self.norm1(x)

        y, sentences = self.norm2(x) if self.norm_first else x, len(memory[0])
        beams = len(y) // max(1, sentences)
        queries = y.reshape(sentences, beams * y.shape[1], y.shape[2])  # all queries of a sentence together
        x = x + self.dropout(self.cross_attention.attend(queries, *memory, mask).view_as(y))
        x = x if self.norm_first else self.norm2(x)

        y = self.norm3(x) if self.norm_first else x
        x = x + self.dropout(self.ffn(y))
        return x if self.norm_first else self.norm3(x), past


class TransformerDecoder(nn.Module):
    """Embeddings with positions, a stack of blocks that look back and at the source, and an output layer: logits."""

    def __init__(self, vocab_size: int, config: TransformerConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(vocab_size, config.num_hiddens)
        self.pos_encoding = make_positions(config.positions, config.num_hiddens, config.dropout, config.max_steps)
        self.blocks = nn.ModuleList([TransformerDecoderBlock(config) for _ in range(config.num_layers)])
        self.norm = nn.LayerNorm(config.num_hiddens) if config.norm_first else nn.Identity()
        self.dense = nn.Linear(config.num_hiddens, vocab_size)
        self.apply(initialize)
        if config.tie:  # the output layer uses the embedding matrix as its own (section 3.4)
            self.dense.weight = self.embedding.weight

    def init_state(self, memory: Memory) -> TransformerState:
        """The state before the first token. The source's keys and values are projected here, once for each sentence."""
        blocks = cast("Iterable[TransformerDecoderBlock]", self.blocks)
        projected = tuple(block.cross_attention.project(memory.outputs, memory.outputs) for block in blocks)
        return TransformerState(projected, memory.mask, (None,) * len(projected))

    def forward(
        self, tokens: Int[Tensor, "rows steps"], state: TransformerState
    ) -> tuple[Float[Tensor, "rows steps vocab"], TransformerState]:
        """See `Decoder` in `contract`."""
        features, state = self.features(tokens, state)
        return self.dense(features), state

    def features(
        self, tokens: Int[Tensor, "rows steps"], state: TransformerState
    ) -> tuple[Float[Tensor, "rows steps hiddens"], TransformerState]:
        """See `FeatureDecoder` in `contract`."""
        x = self.pos_encoding(embed(self.embedding, tokens) * self.config.num_hiddens**0.5, state.length)
        after: list[Past] = []
        for block, memory, past in zip(self.blocks, state.memory, state.past, strict=True):
            x, past = block(x, memory, state.mask, past, state.length)
            after.append(past)
        return self.norm(x), replace(state, past=tuple(after), length=state.length + tokens.shape[1])


def transformer(source_vocab_size: int, target_vocab_size: int, config: TransformerConfig) -> EncoderDecoder:
    """The model of Vaswani et al. (2017), for a vocabulary of each language.

    Raises:
        ValueError: there are no such positions; or `config.tie_source` with vocabularies of different sizes.
    """
    encoder = TransformerEncoder(source_vocab_size, config)
    decoder = TransformerDecoder(target_vocab_size, config)
    if config.tie_source:
        share_embedding(encoder.embedding, decoder.embedding)
    return EncoderDecoder(encoder, decoder)
