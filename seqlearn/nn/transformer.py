"""The Transformer: an encoder and a decoder made of attention, under the contract of `seqlearn.nn.contract`.

Vaswani et al. (2017), with a choice between the paper's post-norm and pre-norm (Xiong et al., 2020). As in the paper
(section 5.4), dropout is applied to the output of each sublayer and to the embeddings with their positions, and nowhere
else. Without dropout on the attention weights, the fused kernel can be used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple, cast

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from .attention import MultiHeadAttention
from .cache import KeysValues, Past, TransformerState
from .contract import EncoderDecoder
from .masking import Mask, sequence_mask
from .positions import LearnedPositions, NoPositions, PositionalEncoding

POSITIONS = ("sinusoidal", "learned", "rotary", "none")
SIZES = {
    "tiny": {"num_hiddens": 128, "ffn_num_hiddens": 256, "num_heads": 4, "num_layers": 2},
    "small": {"num_hiddens": 256, "ffn_num_hiddens": 1024, "num_heads": 4, "num_layers": 3},
    "base": {"num_hiddens": 512, "ffn_num_hiddens": 2048, "num_heads": 8, "num_layers": 6},  # Vaswani et al., table 3
}


class PositionWiseFFN(nn.Module):
    """The same small network at every position: W_2 relu(W_1 x + b_1) + b_2. Vaswani et al. (2017), section 3.3."""

    def __init__(self, num_hiddens: int, ffn_num_hiddens: int):
        super().__init__()
        self.dense1 = nn.Linear(num_hiddens, ffn_num_hiddens)
        self.dense2 = nn.Linear(ffn_num_hiddens, num_hiddens)

    def forward(self, x: Float[Tensor, "*batch hiddens"]) -> Float[Tensor, "*batch hiddens"]:
        """Every position goes through the same network, by itself."""
        return self.dense2(F.relu(self.dense1(x)))


class AddNorm(nn.Module):
    """A sublayer with a residual connection, dropout and layer norm.

    Post-norm, LN(x + f(x)), is the paper's: Vaswani et al. (2017), section 3.1. Pre-norm, x + f(LN(x)), has no norm on
    the residual stream from the first block to the last, so that training is stable without warm-up: Xiong et al.
    (2020).

    Args:
        norm_first: whether to use pre-norm.
    """

    def __init__(self, num_hiddens: int, dropout: float = 0.0, norm_first: bool = False):
        super().__init__()
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)
        self.ln = nn.LayerNorm(num_hiddens)

    def forward(
        self, x: Float[Tensor, "batch steps hiddens"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch steps hiddens"]:
        """Add the output of `sublayer`, a function, to x. Its input is x, or LN(x) with pre-norm."""
        if self.norm_first:
            return x + self.dropout(sublayer(self.ln(x)))
        return self.ln(x + self.dropout(sublayer(x)))


class TransformerEncoderBlock(nn.Module):
    """Self-attention, then the feed-forward network. Vaswani et al. (2017), section 3.1.

    Args:
        dropout: on the output of each of the two sublayers.
        norm_first: see `AddNorm`.
        bias: whether the projections of the attention have a bias.
        rotary: whether queries and keys are rotated by their positions.
    """

    def __init__(
        self,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float = 0.0,
        norm_first: bool = True,
        bias: bool = False,
        rotary: bool = False,
    ):
        super().__init__()
        self.attention = MultiHeadAttention(num_hiddens, num_heads, bias=bias, rotary=rotary)
        self.attention.kind = "encoder"
        self.addnorm1 = AddNorm(num_hiddens, dropout, norm_first)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens)
        self.addnorm2 = AddNorm(num_hiddens, dropout, norm_first)

    def forward(
        self, x: Float[Tensor, "batch steps hiddens"], mask: Mask | None = None
    ) -> Float[Tensor, "batch steps hiddens"]:
        """Every position looks at the positions that `mask` allows (see `seqlearn.nn.masking.as_mask`)."""
        x = self.addnorm1(x, lambda y: self.attention(y, y, y, mask))
        return self.addnorm2(x, self.ffn)


class Memory(NamedTuple):
    """What the encoder knows of its sources: a vector for each token, and which tokens are real (None: all of them)."""

    outputs: Float[Tensor, "batch source hiddens"]
    mask: Bool[Tensor, "batch 1 source"] | None


class TransformerEncoder(nn.Module):
    """Embeddings with positions, through a stack of blocks.

    The embeddings are multiplied by sqrt(num_hiddens) (section 3.4). `initialize` draws them so that their variance is
    then 1.

    Args:
        vocab_size: of the source.
        ffn_num_hiddens: size inside the feed-forward networks.
        num_layers: blocks.
        dropout, norm_first, bias: see `TransformerEncoderBlock`. With pre-norm, a last layer norm ends the stack.
        positions: "sinusoidal", "learned", "rotary" or "none".
        max_steps: how many positions are learned ("learned"); the others have no limit.
    """

    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_layers: int,
        dropout: float = 0.1,
        norm_first: bool = True,
        positions: str = "sinusoidal",
        bias: bool = False,
        max_steps: int = 1024,
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.pos_encoding = make_positions(positions, num_hiddens, dropout, max_steps)
        options = num_hiddens, ffn_num_hiddens, num_heads, dropout, norm_first, bias, positions == "rotary"
        self.blks = nn.ModuleDict({f"block{i}": TransformerEncoderBlock(*options) for i in range(num_layers)})
        self.ln = nn.LayerNorm(num_hiddens) if norm_first else nn.Identity()
        self.apply(initialize)

    def forward(self, source: Int[Tensor, "batch source"], source_lens: Int[Tensor, "batch"]) -> Memory:
        """Read the sources. No token looks at padding."""
        mask = None
        if (source_lens < source.shape[1]).any():  # without a mask the fused kernel is a third faster
            mask = sequence_mask(source_lens.to(source.device), source.shape[1]).unsqueeze(1)  # batch, 1, source
        x = self.pos_encoding(self.embedding(source) * self.embedding.embedding_dim**0.5)
        for block in self.blks.values():
            x = block(x, mask)
        return Memory(self.ln(x), mask)


class TransformerDecoderBlock(nn.Module):
    """Self-attention to the tokens so far, attention to the source, then the feed-forward network (section 3.1).

    Args: see `TransformerEncoderBlock`; `rotary` is for the self-attention.
    """

    def __init__(
        self,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float = 0.0,
        norm_first: bool = True,
        bias: bool = False,
        rotary: bool = False,
    ):
        super().__init__()
        self.attention1 = MultiHeadAttention(num_hiddens, num_heads, bias=bias, rotary=rotary)
        self.attention1.kind = "causal"
        self.addnorm1 = AddNorm(num_hiddens, dropout, norm_first)
        self.attention2 = MultiHeadAttention(num_hiddens, num_heads, bias=bias)
        self.attention2.kind = "cross"
        self.addnorm2 = AddNorm(num_hiddens, dropout, norm_first)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens)
        self.addnorm3 = AddNorm(num_hiddens, dropout, norm_first)

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
            memory: the source's keys and values from `attention2.project`, once for each sentence. In x, every sentence
                has the same number of rows (beams), side by side.
            mask: which source tokens may be attended (see `seqlearn.nn.masking.as_mask`).
            past: the keys and values of the tokens before, as the previous call returned them; None before the first
                token.

        Returns:
            The new tokens' vectors, and the past with the new tokens in it.
        """

        def look_back(y: Tensor) -> Tensor:
            nonlocal past
            new = self.attention1.project(y, y, length)
            past = Past(*new, length + y.shape[1]) if past is None else past.append(*new, length)
            keys, values = (stored[:, :, : length + y.shape[1]] for stored in (past.keys, past.values))
            return self.attention1.attend(y, keys, values, causal=True)

        def look_across(y: Tensor) -> Tensor:
            beams = len(y) // max(1, len(memory[0]))
            queries = y.reshape(len(memory[0]), beams * y.shape[1], y.shape[2])  # all queries of a sentence together
            return self.attention2.attend(queries, *memory, mask).view_as(y)

        x = self.addnorm1(x, look_back)
        x = self.addnorm2(x, look_across)
        assert past is not None  # `look_back` has put the new tokens there
        return self.addnorm3(x, self.ffn), past


class TransformerDecoder(nn.Module):
    """Embeddings with positions, a stack of blocks that look back and at the source, and an output layer: logits.

    Args: see `TransformerEncoder`; and
        vocab_size: of the target.
        tie: the output layer uses the embedding matrix as its own (section 3.4).
    """

    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_layers: int,
        dropout: float = 0.1,
        norm_first: bool = True,
        positions: str = "sinusoidal",
        bias: bool = False,
        max_steps: int = 1024,
        tie: bool = False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.pos_encoding = make_positions(positions, num_hiddens, dropout, max_steps)
        options = num_hiddens, ffn_num_hiddens, num_heads, dropout, norm_first, bias, positions == "rotary"
        self.blks = nn.ModuleDict({f"block{i}": TransformerDecoderBlock(*options) for i in range(num_layers)})
        self.ln = nn.LayerNorm(num_hiddens) if norm_first else nn.Identity()
        self.dense = nn.Linear(num_hiddens, vocab_size)
        self.apply(initialize)
        if tie:
            self.dense.weight = self.embedding.weight

    def blocks(self) -> Iterator[TransformerDecoderBlock]:
        """The blocks, from the lowest to the highest."""
        return cast("Iterator[TransformerDecoderBlock]", iter(self.blks.values()))

    def init_state(self, memory: Memory) -> TransformerState:
        """The state before the first token. The source's keys and values are projected here, once for each sentence."""
        outputs = memory.outputs
        projected = tuple(block.attention2.project(outputs, outputs) for block in self.blocks())
        return TransformerState(projected, memory.mask, (None,) * len(projected))

    def forward(
        self, tokens: Int[Tensor, "rows steps"], state: TransformerState
    ) -> tuple[Float[Tensor, "rows steps vocab"], TransformerState]:
        """The logits after each of these tokens, and the state after the last one."""
        features, state = self.features(tokens, state)
        return self.dense(features), state

    def features(
        self, tokens: Int[Tensor, "rows steps"], state: TransformerState
    ) -> tuple[Float[Tensor, "rows steps hiddens"], TransformerState]:
        """The features, which `dense` turns into logits. From features the loss needs only a few logits at a time."""
        x = self.pos_encoding(self.embedding(tokens) * self.embedding.embedding_dim**0.5, state.length)
        after = []
        for block, memory, past in zip(self.blocks(), state.memory, state.past, strict=True):
            x, past = block(x, memory, state.mask, past, state.length)
            after.append(past)
        return self.ln(x), replace(state, past=tuple(after), length=state.length + tokens.shape[1])


def make_positions(kind: str, num_hiddens: int, dropout: float, max_steps: int) -> nn.Module:
    """The module between embeddings and blocks, for positions of this kind.

    Raises:
        ValueError: there are no positions of this kind.
    """
    match kind:
        case "sinusoidal":
            return PositionalEncoding(num_hiddens, dropout)
        case "learned":
            return LearnedPositions(max_steps, num_hiddens, dropout)
        case "rotary" | "none":  # rotary positions are added inside the attention
            return NoPositions(dropout)
    raise ValueError(f"there are no positions {kind!r}; choose from {', '.join(POSITIONS)}")


def initialize(module: nn.Module) -> None:
    """Draw the initial weights of one module: for matrices Xavier's, which keep the variance from layer to layer.

    Glorot and Bengio (2010), equation 16. Embeddings get variance 1 / size, as they are multiplied by sqrt(size).
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)


def transformer(
    source_vocab_size: int,
    target_vocab_size: int,
    num_hiddens: int = 128,
    ffn_num_hiddens: int = 256,
    num_heads: int = 4,
    num_layers: int = 2,
    dropout: float = 0.1,
    norm_first: bool = True,
    positions: str = "sinusoidal",
    bias: bool = False,
    max_steps: int = 1024,
    tie: bool = False,
    tie_source: bool = False,
) -> EncoderDecoder:
    """The model of Vaswani et al. (2017): `num_layers` blocks on each side. `SIZES` has named sizes.

    The arguments are those of `TransformerEncoder` and `TransformerDecoder`; and `tie_source`: both sides use one
    embedding matrix, for one vocabulary of both languages. The paper's own choices are `norm_first=False`, `tie=True`
    and `tie_source=True`: one matrix in three places (section 3.4; Press and Wolf 2017).

    Raises:
        ValueError: `tie_source` with vocabularies of different sizes.
    """
    if tie_source and source_vocab_size != target_vocab_size:
        raise ValueError(f"tie_source needs one vocabulary, not two of {source_vocab_size} and {target_vocab_size}")
    shared = num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout, norm_first, positions, bias, max_steps
    encoder = TransformerEncoder(source_vocab_size, *shared)
    decoder = TransformerDecoder(target_vocab_size, *shared, tie)
    if tie_source:
        encoder.embedding.weight = decoder.embedding.weight
    return EncoderDecoder(encoder, decoder)
