"""A decoder-only Transformer: a language model whose prompt is the source.

The model keeps the contract of `seqlearn.nn.contract`. One stack of blocks, without cross-attention, reads
`source <eos> <bos> target` as one sequence. So a target token looks at the source in the same way as at the target
tokens before it. The "encoder" is only the embedding of the source: `init_state` runs the blocks over this prompt and
keeps its keys and values, and the decoder continues from there. The loss is on the target alone, as for all models of
this package.

Liu et al. (2018), section 4.2.3, dropped the encoder in this way ("T-D"); GPT (Radford et al., 2018) made the block
known. Each later change is a few lines here: `RMSNorm`, `SwiGLU`, `GroupedQueryAttention`. With the first two, the
model is LLaMA (Touvron, Lavril et al., 2023, section 2.2); with all three, a large Llama 2 (Touvron, Martin et al.,
2023). `seqlearn.nn.llama` copies the weights of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ..runtime.arguments import check_size, embed, source_lengths
from ..runtime.devices import send
from ..runtime.values import as_int
from .attention import MultiHeadAttention
from .cache import Past
from .config import MOST_LAYERS, Setting, choices
from .contract import EncoderDecoder
from .initial import initialize, share_embedding
from .masking import Mask
from .transformer import PositionWiseFFN


class RMSNorm(nn.Module):
    """Layer norm without the mean and without a bias: x / sqrt(mean(x^2) + eps) times a learned gain.

    Zhang and Sennrich (2019), section 4, equation 4. Half precision is computed in float32.
    """

    def __init__(self, num_hiddens: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(num_hiddens))

    def forward(self, x: Float[Tensor, "*batch hiddens"]) -> Float[Tensor, "*batch hiddens"]:
        """Every vector gets a root mean square of 1, and then the gain."""
        check_size("vectors", x, len(self.weight), axes=1)
        exact = x.to(torch.promote_types(x.dtype, torch.float32))
        size = (exact.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return self.weight * (exact / size).to(x.dtype)


class SwiGLU(nn.Module):
    """A feed-forward network whose hidden units are multiplied by gates: W_2 (silu(W x) * V x), silu(z) = z sigmoid(z).

    Shazeer (2020), equation 6; without biases, as in the paper. `gate`, `up` and `down` are the paper's W, V and W_2:
    three matrices, where `PositionWiseFFN` has two. For equally many weights, the paper makes the hidden size a third
    smaller.
    """

    def __init__(self, num_hiddens: int, ffn_num_hiddens: int):
        super().__init__()
        self.gate = nn.Linear(num_hiddens, ffn_num_hiddens, bias=False)
        self.up = nn.Linear(num_hiddens, ffn_num_hiddens, bias=False)
        self.down = nn.Linear(ffn_num_hiddens, num_hiddens, bias=False)

    def forward(self, x: Float[Tensor, "*batch hiddens"]) -> Float[Tensor, "*batch hiddens"]:
        """Every position goes through the same network, by itself."""
        return self.down(F.silu(self.gate(x)) * self.up(x))


class GroupedQueryAttention(MultiHeadAttention):
    """Multi-head attention in which neighbouring query heads share one head of keys and values: a smaller cache.

    Ainslie et al. (2023), section 2.2. With one head of keys and values, this is multi-query attention (Shazeer, 2019);
    with as many as query heads, `MultiHeadAttention`. Rotary positions, no biases.

    Args:
        num_hiddens: size of the output, and of all query heads together.
        num_heads: query heads.
        num_kv_heads: heads of keys and values; must divide `num_heads`.

    Raises:
        ValueError: the query heads cannot share the heads of keys and values evenly.
    """

    def __init__(self, num_hiddens: int, num_heads: int, num_kv_heads: int):
        super().__init__(num_hiddens, num_heads, rotary=True)
        if as_int("num_kv_heads", num_kv_heads, 0) < 1 or num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} query heads cannot share {num_kv_heads} heads of keys and values evenly")
        self.group = num_heads // num_kv_heads  # query heads that share a head of keys and values
        self.W_k = nn.Linear(num_hiddens, num_hiddens // self.group, bias=False)
        self.W_v = nn.Linear(num_hiddens, num_hiddens // self.group, bias=False)

    def attend(
        self,
        queries: Float[Tensor, "batch queries hiddens"],
        projected_keys: Float[Tensor, "batch kv_heads keys head_size"],
        projected_values: Float[Tensor, "batch kv_heads keys head_size"],
        mask: Mask | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "batch queries hiddens"]:
        """As in `MultiHeadAttention`, after each head of keys and values was repeated for its group of queries."""
        keys, values = (each.repeat_interleave(self.group, dim=1) for each in (projected_keys, projected_values))
        return super().attend(queries, keys, values, mask, causal)


NORMS: dict[str, Callable[[int], nn.Module]] = {"layer": nn.LayerNorm, "rms": RMSNorm}
"""The norms by name. Each entry makes the norm of vectors of a size."""

FFNS: dict[str, Callable[[int, int], nn.Module]] = {"relu": PositionWiseFFN, "swiglu": SwiGLU}
"""The feed-forward networks by name. Each entry makes the network of an outer and a hidden size."""


@dataclass(frozen=True)
class DecoderOnlyConfig:
    """The settings of a decoder-only Transformer.

    With `prefix`, the tokens of the prompt see each other in both directions (Liu et al. 2018 have a causal prompt;
    Raffel et al. 2020, section 3.2.1, describe both and call this one a prefix LM). The target is causal in both cases.
    """

    num_hiddens: Annotated[int, Setting("size of a token's vector, in all blocks", "width", least=1)] = 128
    ffn_num_hiddens: Annotated[int, Setting("size inside the feed-forward networks", "ffn", least=1)] = 256
    num_heads: Annotated[int, Setting("heads of each attention", "heads", least=1)] = 4
    num_kv_heads: Annotated[int, Setting("heads of keys and values; 0: as many as heads", "kv-heads", least=0)] = 0
    num_layers: Annotated[int, Setting("blocks", "layers", least=1, most=MOST_LAYERS)] = 4
    dropout: Annotated[float, Setting("share of activations dropped in training", least=0, most=0.99)] = 0.1
    norm: Annotated[str, Setting("the kind of norm before each sublayer", "norm-kind", choices(NORMS))] = "layer"
    ffn: Annotated[str, Setting("the kind of feed-forward network", "ffn-kind", choices(FFNS))] = "relu"
    prefix: Annotated[bool, Setting("whether the source is read in both directions")] = False
    tie: Annotated[bool, Setting("whether the output layer shares the embedding matrix")] = True
    tie_source: Annotated[bool, Setting("whether the source has this matrix, too (--tie, --shared-vocab)")] = False


class DecoderOnlyBlock(nn.Module):
    """Self-attention to the tokens so far, then the feed-forward network; each with a norm before it (pre-norm).

    Dropout is on the output of each of the two sublayers.
    """

    def __init__(self, config: DecoderOnlyConfig):
        super().__init__()
        size, kv_heads = config.num_hiddens, config.num_kv_heads or config.num_heads
        self.norm1 = NORMS[config.norm](size)
        self.self_attention = GroupedQueryAttention(size, config.num_heads, kv_heads)
        self.self_attention.kind = "causal"
        self.norm2 = NORMS[config.norm](size)
        self.ffn = FFNS[config.ffn](size, config.ffn_num_hiddens)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "rows steps hiddens"],
        mask: Mask | None = None,
        past: Past | None = None,
        length: int = 0,
        causal: bool = True,
    ) -> tuple[Float[Tensor, "rows steps hiddens"], Past]:
        """New tokens, x, look at the `length` tokens before them and at themselves.

        Args:
            mask: which tokens are real, old and new ones (see `seqlearn.nn.masking.as_mask`).
            past: the keys and values of the tokens before; None before the first token.
            causal: whether no token may look at a later one.

        Returns:
            The new tokens' vectors, and the past with the new tokens in it.
        """
        y, end = self.norm1(x), length + x.shape[1]
        new = self.self_attention.project(y, y, length)
        past = Past(*new, end) if past is None else past.append(*new, length)
        keys, values = past.keys[:, :, :end], past.values[:, :, :end]
        x = x + self.dropout(self.self_attention.attend(y, keys, values, mask, causal))
        return x + self.dropout(self.ffn(self.norm2(x))), past


class Prompt(NamedTuple):
    """The embedded sources, each at the right end of its row, and which positions are real (None: all of them)."""

    embedded: Float[Tensor, "batch source hiddens"]
    mask: Bool[Tensor, "batch 1 source"] | None


class PromptEmbedding(nn.Module):
    """What is left of the encoder: the embeddings of the source.

    The padding moves to the left, so that each target follows its source directly and all rows have the same next
    position. Padding changes no result: it is masked, and rotary positions depend only on the distance between two
    tokens, so it does not matter at which position a source starts.
    """

    def __init__(self, vocab_size: int, num_hiddens: int):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.apply(initialize)

    def forward(self, source: Int[Tensor, "batch source"], source_lens: Int[Tensor, "batch"]) -> Prompt:
        """Embed the sources. As in `TransformerEncoder`, the embeddings are multiplied by sqrt(num_hiddens)."""
        steps = source.shape[1]
        source_lens = source_lengths(source, source_lens)
        padding = (steps - source_lens.to(source.device)).unsqueeze(1)  # batch, 1
        came_from = torch.arange(steps, device=source.device) - padding  # batch, source; negative for padding
        embedded = embed(self.embedding, source.gather(1, came_from % steps)) * self.embedding.embedding_dim**0.5
        return Prompt(embedded, (came_from >= 0).unsqueeze(1) if padding.any() else None)


@dataclass(frozen=True)
class PromptedState:
    """What a decoder-only Transformer remembers between calls: keys and values of the prompt and of all tokens so far.

    The beams of a sentence do not share the prompt: each row has its own copy.

    Args:
        past: for each block; None before the prompt was read.
        mask: which positions of the prompt are real. None: all of them.
        length: the number of positions so far, the padding of the prompt included.
    """

    past: tuple[Past | None, ...]
    mask: Bool[Tensor, "rows 1 source"] | None
    length: int = 0

    def select(self, rows: Int[Tensor, "chosen"]) -> PromptedState:
        """The state of these rows, repeated, reordered or dropped. The old state may not be used again."""
        past = tuple(each and each.select(rows) for each in self.past)
        return replace(self, past=past, mask=None if self.mask is None else self.mask[send(rows, self.mask.device)])

    @property
    def cache_bytes(self) -> int:
        """The bytes of all keys and values so far, without the storage that waits for more tokens."""
        stored = [each for past in self.past if past is not None for each in (past.keys, past.values)]
        return sum(each[:, :, : self.length].numel() * each.element_size() for each in stored)


class DecoderOnly(nn.Module):
    """The one stack of blocks: it reads the prompt, then the target, and gives the logits of the target.

    A last norm ends the stack.

    Raises:
        ValueError: there is no such norm or feed-forward network, or the heads do not share the features evenly.
    """

    def __init__(self, vocab_size: int, config: DecoderOnlyConfig):
        super().__init__()
        for name, known, what in ((config.norm, NORMS, "norm"), (config.ffn, FFNS, "feed-forward network")):
            if name not in known:
                raise ValueError(f"there is no {what} {name!r}; choose from {', '.join(known)}")
        self.config = config
        self.embedding = nn.Embedding(vocab_size, config.num_hiddens)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList([DecoderOnlyBlock(config) for _ in range(config.num_layers)])
        self.norm = NORMS[config.norm](config.num_hiddens)
        self.dense = nn.Linear(config.num_hiddens, vocab_size)
        self.apply(initialize)
        if config.tie:
            self.dense.weight = self.embedding.weight

    def init_state(self, memory: Prompt) -> PromptedState:
        """The state after the prompt, before the first token. The blocks read the prompt here, once."""
        nothing = PromptedState((None,) * len(self.blocks), memory.mask)
        return self._read(memory.embedded, nothing, causal=not self.config.prefix)[1]

    def forward(
        self, tokens: Int[Tensor, "rows steps"], state: PromptedState
    ) -> tuple[Float[Tensor, "rows steps vocab"], PromptedState]:
        """See `Decoder` in `contract`."""
        features, state = self.features(tokens, state)
        return self.dense(features), state

    def features(
        self, tokens: Int[Tensor, "rows steps"], state: PromptedState
    ) -> tuple[Float[Tensor, "rows steps hiddens"], PromptedState]:
        """See `FeatureDecoder` in `contract`."""
        x, state = self._read(embed(self.embedding, tokens) * self.embedding.embedding_dim**0.5, state)
        return self.norm(x), state

    def _read(
        self, x: Float[Tensor, "rows steps hiddens"], state: PromptedState, causal: bool = True
    ) -> tuple[Float[Tensor, "rows steps hiddens"], PromptedState]:
        """Send new positions through all blocks."""
        end, mask = state.length + x.shape[1], state.mask
        if mask is not None:
            mask = F.pad(mask, (0, end - mask.shape[2]), value=True)  # all tokens after the prompt are real
        after: list[Past] = []
        x = self.dropout(x)
        for block, past in zip(self.blocks, state.past, strict=True):
            x, past = block(x, mask, past, state.length, causal)
            after.append(past)
        return x, replace(state, past=tuple(after), length=end)


def decoder_only(source_vocab_size: int, target_vocab_size: int, config: DecoderOnlyConfig) -> EncoderDecoder:
    """A decoder-only Transformer with rotary positions, whose prompt is the source.

    Raises:
        ValueError: `config.tie_source` with vocabularies of different sizes, or see `DecoderOnly`.
    """
    encoder = PromptEmbedding(source_vocab_size, config.num_hiddens)
    decoder = DecoderOnly(target_vocab_size, config)
    if config.tie_source:
        share_embedding(encoder.embedding, decoder.embedding)
    return EncoderDecoder(encoder, decoder)
