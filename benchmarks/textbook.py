"""The opponents of `training.py` and `gpu.py`: the models as textbooks and PyTorch have them, with our weights."""

from __future__ import annotations

import math
import re

import torch
from torch import Tensor, nn

from seqlearn.nn.contract import EncoderDecoder
from seqlearn.nn.positions import PositionalEncoding
from seqlearn.nn.seq2seq import BahdanauConfig, Seq2SeqAttentionDecoder, Seq2SeqEncoder
from seqlearn.nn.transformer import TransformerConfig, transformer
from seqlearn.runtime.d2l_compat import d2l

Weights = dict[str, Tensor]


def our_bahdanau(vocabs: tuple[int, int], width: int, dropout: float) -> EncoderDecoder:
    """Two layers, one direction, as d2l's."""
    config = BahdanauConfig(width, width, 2, dropout)
    encoder = Seq2SeqEncoder(vocabs[0], config, bidirectional=False)
    return EncoderDecoder(encoder, Seq2SeqAttentionDecoder(vocabs[1], config, width))


class TextbookBahdanau(nn.Module):
    """d2l's encoder and attention, in d2l's loop: attention, its keys and `nn.GRU` at each step."""

    def __init__(self, vocabs: tuple[int, int], width: int, dropout: float, ours: Weights):
        super().__init__()
        self.encoder = d2l.Seq2SeqEncoder(vocabs[0], width, width, 2, dropout=dropout)
        self.attention = d2l.AdditiveAttention(width, width, width, dropout=0.0)
        self.embedding = nn.Embedding(vocabs[1], width)
        self.rnn = nn.GRU(2 * width, width, 2, dropout=dropout)
        self.bridge = nn.Linear(width, width)
        self.dense = nn.Linear(width, vocabs[1])
        self.dropout = nn.Dropout(dropout)
        state = {name.removeprefix("decoder."): weight for name, weight in ours.items()}
        first = state["rnn.weight_ih_l0"]  # the book has the context first, then the token
        state["rnn.weight_ih_l0"] = torch.cat([first[:, width:], first[:, :width]], dim=1)
        self.load_state_dict(state)

    def forward(self, source: Tensor, source_lens: Tensor, tokens: Tensor) -> Tensor:
        """The logits after each token."""
        outputs, hidden = self.encoder(source)
        outputs, hidden = outputs.permute(1, 0, 2), torch.tanh(self.bridge(hidden))
        steps = []
        for embedded in self.dropout(self.embedding(tokens)).permute(1, 0, 2):
            query = hidden[-1].unsqueeze(1)
            context = self.attention(query, outputs, outputs, source_lens)
            step, hidden = self.rnn(torch.cat((context, embedded.unsqueeze(1)), dim=-1).permute(1, 0, 2), hidden)
            steps.append(step)
        return self.dense(self.dropout(torch.cat(steps))).permute(1, 0, 2)


def our_transformer(
    vocabs: tuple[int, int], width: int, ffn: int, layers: int, dropout: float, heads: int = 4
) -> EncoderDecoder:
    """Post-norm, as d2l's and as `torch.nn.Transformer` is by default."""
    return transformer(*vocabs, TransformerConfig(width, ffn, heads, layers, dropout, norm_first=False))


def in_the_book(name: str) -> str:
    """The name of one of our weights in d2l."""
    name = re.sub(r"blocks\.(\d+)\.norm(\d)", r"blocks.\1.addnorm\2.ln", name)
    own = "attention1" if name.startswith("decoder") else "attention"
    name = name.replace("self_attention", own).replace("cross_attention", "attention2")
    return name.replace("blocks.", "blks.block")


class TextbookTransformer(nn.Module):
    """d2l's encoder, and its decoder put together from d2l's layers as in the book (d2l 0.17 does not export it)."""

    def __init__(
        self, vocabs: tuple[int, int], width: int, ffn: int, layers: int, dropout: float, ours: Weights, heads: int = 4
    ):
        super().__init__()
        sizes = width, width, width, width, [width], width, ffn, heads
        self.encoder = d2l.TransformerEncoder(vocabs[0], *sizes, layers, dropout)
        self.decoder = nn.ModuleDict(
            {
                "embedding": nn.Embedding(vocabs[1], width),
                "pos_encoding": d2l.PositionalEncoding(width, dropout),
                "blks": nn.ModuleDict({f"block{i}": TextbookBlock(width, ffn, dropout, heads) for i in range(layers)}),
                "dense": nn.Linear(width, vocabs[1]),
            }
        )
        for module in self.modules():
            if isinstance(module, d2l.DotProductAttention):
                module.dropout.p = 0.0  # equal dropout for all: none on the weights
        self.load_state_dict({in_the_book(name): weight for name, weight in ours.items()})

    def forward(self, source: Tensor, source_lens: Tensor, tokens: Tensor) -> Tensor:
        """The logits after each token."""
        memory = self.encoder(source, source_lens)
        embedding = self.decoder["embedding"]
        x = self.decoder["pos_encoding"](embedding(tokens) * math.sqrt(embedding.embedding_dim))
        for block in self.decoder["blks"].values():
            x = block(x, memory, source_lens)
        return self.decoder["dense"](x)


class TextbookBlock(nn.Module):
    """The book's decoder block in training."""

    def __init__(self, width: int, ffn: int, dropout: float, heads: int):
        super().__init__()
        self.attention1 = d2l.MultiHeadAttention(width, width, width, width, heads, dropout)
        self.addnorm1 = d2l.AddNorm([width], dropout)
        self.attention2 = d2l.MultiHeadAttention(width, width, width, width, heads, dropout)
        self.addnorm2 = d2l.AddNorm([width], dropout)
        self.ffn = d2l.PositionWiseFFN(width, ffn, width)
        self.addnorm3 = d2l.AddNorm([width], dropout)

    def forward(self, x: Tensor, memory: Tensor, source_lens: Tensor) -> Tensor:
        """One block."""
        steps = torch.arange(1, x.shape[1] + 1, device=x.device)
        valid_lens = steps.repeat(len(x), 1)  # each token sees itself and what is before
        y = self.addnorm1(x, self.attention1(x, x, x, valid_lens))
        z = self.addnorm2(y, self.attention2(y, memory, memory, source_lens))
        return self.addnorm3(z, self.ffn(z))


class TorchTransformer(nn.Module):
    """`torch.nn.Transformer` with embeddings, positions and an output layer."""

    def __init__(
        self, vocabs: tuple[int, int], width: int, ffn: int, layers: int, dropout: float, ours: Weights, heads: int = 4
    ):
        super().__init__()
        self.source, self.target = nn.Embedding(vocabs[0], width), nn.Embedding(vocabs[1], width)
        self.positions = PositionalEncoding(width, dropout)
        self.stacks = nn.Transformer(width, heads, layers, layers, ffn, dropout, batch_first=True, bias=True)
        self.stacks.encoder.norm = self.stacks.decoder.norm = None  # a last norm after post-norm is not the paper's
        for module in self.stacks.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0  # equal dropout for all: none on the weights
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0  # nor inside the feed-forward network
        self.dense = nn.Linear(width, vocabs[1])
        self.copy(ours)

    def copy(self, ours: Weights) -> None:
        """Our weights under PyTorch's names; our projections have no bias, PyTorch's then are 0."""
        self.source.weight.data.copy_(ours["encoder.embedding.weight"])
        self.target.weight.data.copy_(ours["decoder.embedding.weight"])
        self.dense.load_state_dict({name: ours[f"decoder.dense.{name}"] for name in ("weight", "bias")})
        names = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}
        for side, stack in (("encoder", self.stacks.encoder), ("decoder", self.stacks.decoder)):
            for i, layer in enumerate(stack.layers):
                mine = {name: ours[f"{side}.blocks.{i}.{name}"] for name in relative(ours, f"{side}.blocks.{i}.")}
                for name, theirs in names.items():
                    if f"{name}.W_q.weight" in mine:
                        attention, W = getattr(layer, theirs), [mine[f"{name}.W_{part}.weight"] for part in "qkvo"]
                        attention.in_proj_weight.data.copy_(torch.cat(W[:3]))
                        attention.out_proj.weight.data.copy_(W[3])
                        attention.in_proj_bias.data.zero_(), attention.out_proj.bias.data.zero_()
                for number in (1, 2):
                    linear = getattr(layer, f"linear{number}")
                    linear.load_state_dict({part: mine[f"ffn.dense{number}.{part}"] for part in ("weight", "bias")})

    def forward(self, source: Tensor, source_lens: Tensor, tokens: Tensor) -> Tensor:
        """The logits after each token."""
        padding = torch.arange(source.shape[1], device=source.device) >= source_lens.unsqueeze(1)
        causal = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=source.device)
        scale = math.sqrt(self.source.embedding_dim)
        x = self.stacks(
            self.positions(self.source(source) * scale),
            self.positions(self.target(tokens) * scale),
            tgt_mask=causal,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return self.dense(x)


def relative(weights: Weights, prefix: str) -> list[str]:
    """The names behind a prefix."""
    return [name.removeprefix(prefix) for name in weights if name.startswith(prefix)]
