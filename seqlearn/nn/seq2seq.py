"""Recurrent encoders and decoders, under the contract of `seqlearn.nn.contract`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .attention import make_attention
from .contract import EncoderDecoder
from .masking import sequence_mask
from .recurrence import AttentionState, unroll

RNNS = {"gru": nn.GRU, "lstm": nn.LSTM}


class RNNMemory(NamedTuple):
    """What a recurrent encoder knows of its sources: an output for each step, the last state, and which steps are real.

    `cell` is the second half of an LSTM's last state.
    """

    outputs: Float[Tensor, "batch source size"]
    hidden: Float[Tensor, "layers batch size"]
    mask: Bool[Tensor, "batch 1 source"]
    cell: Float[Tensor, "layers batch size"] | None = None


class Seq2SeqEncoder(nn.Module):
    """A recurrent net that reads the source, in both directions unless told otherwise.

    Padding is never read: in each direction, the last state is the state after the last real token.
    Cho et al. (2014), section 2.2; both directions: Bahdanau et al. (2015), section 3.2.

    Args:
        vocab_size, embed_size: of the source tokens.
        num_hiddens: size of each direction; `output_size` is the size of both together.
        num_layers: stacked layers, with `dropout` between them.
        cell: "gru" or "lstm".
    """

    def __init__(
        self,
        vocab_size: int,
        embed_size: int,
        num_hiddens: int,
        num_layers: int = 1,
        dropout: float = 0.0,
        bidirectional: bool = True,
        cell: str = "gru",
    ):
        super().__init__()
        self.output_size = num_hiddens * (2 if bidirectional else 1)
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.dropout = nn.Dropout(dropout)
        between = dropout if num_layers > 1 else 0.0
        self.rnn = rnn_class(cell)(
            embed_size, num_hiddens, num_layers, batch_first=True, dropout=between, bidirectional=bidirectional
        )

    def forward(self, source: Int[Tensor, "batch source"], source_lens: Int[Tensor, "batch"]) -> RNNMemory:
        """Read each source up to its length (at least 1)."""
        embedded, lengths = self.dropout(self.embedding(source)), source_lens.cpu()
        if bool((lengths == source.shape[1]).all()):  # no padding: reading without packing is faster
            outputs, last = self.rnn(embedded)
        else:
            packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
            outputs, last = self.rnn(packed)
            outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])
        hidden, cell = last if isinstance(last, tuple) else (last, None)
        real = sequence_mask(source_lens.to(source.device), source.shape[1]).unsqueeze(1)
        return RNNMemory(outputs, self._join(hidden), real, None if cell is None else self._join(cell))

    def _join(self, state: Float[Tensor, "directed batch hiddens"]) -> Float[Tensor, "layers batch size"]:
        """Both directions of a layer side by side."""
        return torch.cat([state[0::2], state[1::2]], dim=-1) if self.rnn.bidirectional else state


def rnn_class(cell: str) -> type[nn.GRU] | type[nn.LSTM]:
    """The recurrent net of this name."""
    if cell not in RNNS:
        raise ValueError(f"there is no cell {cell!r}; choose from {', '.join(RNNS)}")
    return RNNS[cell]


@dataclass(frozen=True)
class PlainState:
    """What a decoder without attention remembers between calls: one row for each hypothesis."""

    context: Float[Tensor, "rows size"]
    hidden: Float[Tensor, "layers rows hiddens"]
    cell: Float[Tensor, "layers rows hiddens"] | None = None
    length: int = 0

    def select(self, rows: Int[Tensor, "chosen"]) -> PlainState:
        """The state of these rows, repeated, reordered or dropped."""
        cell = None if self.cell is None else self.cell[:, rows]
        return replace(self, context=self.context[rows], hidden=self.hidden[:, rows], cell=cell)


class Seq2SeqDecoder(nn.Module):
    """A recurrent net that knows the source as one vector: the encoder's last state, given to it at every step.

    s_i = RNN(s_{i-1}, [E y_{i-1}; c]) with c the last state of the encoder's top layer: Cho et al. (2014), section 2.2.

    Args:
        vocab_size, embed_size: of the target tokens.
        memory_size: the encoder's `output_size`.
        num_hiddens, num_layers: of the net, which has as many layers as the encoder; `dropout` is applied before,
            between and after the layers.
        cell: "gru" or "lstm", the same as in the encoder.
    """

    def __init__(
        self,
        vocab_size: int,
        embed_size: int,
        memory_size: int,
        num_hiddens: int,
        num_layers: int = 1,
        dropout: float = 0.0,
        cell: str = "gru",
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.bridge = nn.Linear(memory_size, num_hiddens)
        between = dropout if num_layers > 1 else 0.0
        self.rnn = rnn_class(cell)(embed_size + memory_size, num_hiddens, num_layers, batch_first=True, dropout=between)
        self.dense = nn.Linear(num_hiddens, vocab_size)
        self.dropout = nn.Dropout(dropout)

    def init_state(self, memory: RNNMemory) -> PlainState:
        """The state before the first token."""
        cell = None if memory.cell is None else self.bridge(memory.cell)
        return PlainState(memory.hidden[-1], torch.tanh(self.bridge(memory.hidden)), cell)

    def forward(
        self, tokens: Int[Tensor, "rows steps"], state: PlainState
    ) -> tuple[Float[Tensor, "rows steps vocab"], PlainState]:
        """The logits after each of these tokens, and the state after the last one."""
        features, state = self.features(tokens, state)
        return self.dense(features), state

    def features(
        self, tokens: Int[Tensor, "rows steps"], state: PlainState
    ) -> tuple[Float[Tensor, "rows steps hiddens"], PlainState]:
        """The features, which `dense` turns into logits. From features the loss needs only a few logits at a time."""
        context = state.context.unsqueeze(1).expand(-1, tokens.shape[1], -1)
        inputs = torch.cat([self.dropout(self.embedding(tokens)), context], dim=-1)
        outputs, last = self.rnn(inputs, state.hidden if state.cell is None else (state.hidden, state.cell))
        hidden, cell = last if isinstance(last, tuple) else (last, None)
        return self.dropout(outputs), replace(state, hidden=hidden, cell=cell, length=state.length + tokens.shape[1])


class Seq2SeqAttentionDecoder(nn.Module):
    """A GRU that looks at the source again, through attention, before each step.

    The state before the step is the query, the encoder's outputs are keys and values, and the context joins the token
    as input: s_i = GRU(s_{i-1}, [E y_{i-1}; c_i]), c_i = sum_j alpha_ij h_j. Bahdanau et al. (2015), section 3.1.

    Args:
        vocab_size, embed_size: of the target tokens.
        memory_size: the encoder's `output_size`.
        num_hiddens, num_layers: of the GRU; `dropout` is applied before, between and after its layers.
        score: how the state is compared with the encoder's outputs: "additive" (Bahdanau's), "bilinear" or "dot" (both
            Luong's); see `seqlearn.nn.attention.SCORES`.
    """

    def __init__(
        self,
        vocab_size: int,
        embed_size: int,
        memory_size: int,
        num_hiddens: int,
        num_layers: int = 1,
        dropout: float = 0.0,
        score: str = "additive",
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.bridge = nn.Linear(memory_size, num_hiddens)
        self.attention = make_attention(score, num_hiddens, memory_size)
        self.attention.kind = "cross"
        self.rnn = nn.GRU(embed_size + memory_size, num_hiddens, num_layers)
        self.dense = nn.Linear(num_hiddens, vocab_size)
        self.dropout = nn.Dropout(dropout)

    def init_state(self, memory: RNNMemory) -> AttentionState:
        """The state before the first token. The keys are projected here, once for each sentence."""
        keys = self.attention.project_keys(memory.outputs)
        hidden = torch.tanh(self.bridge(memory.hidden))
        return AttentionState(keys, memory.outputs, memory.mask, hidden)

    def forward(
        self, tokens: Int[Tensor, "rows steps"], state: AttentionState
    ) -> tuple[Float[Tensor, "rows steps vocab"], AttentionState]:
        """The logits after each of these tokens, and the state after the last one."""
        features, state = self.features(tokens, state)
        return self.dense(features), state

    def features(
        self, tokens: Int[Tensor, "rows steps"], state: AttentionState
    ) -> tuple[Float[Tensor, "rows steps hiddens"], AttentionState]:
        """The features, which `dense` turns into logits. From features the loss needs only a few logits at a time."""
        embed_size = self.embedding.embedding_dim
        weight, _, bias, _ = self.rnn.all_weights[0]  # of the lowest layer: W_ih, W_hh, b_ih, b_hh
        of_token, of_context = weight.split([embed_size, state.values.shape[-1]], dim=1)
        embedded = self.dropout(self.embedding(tokens.T))
        # The token's part of the input gates does not depend on the state: one product for all steps.
        token_gates = F.linear(embedded, of_token, bias)  # steps, rows, gates
        outputs, hidden = unroll(self.attention, self.rnn, self.dropout, token_gates, of_context, state)
        features = self.dropout(outputs.transpose(0, 1))
        return features, replace(state, hidden=hidden, length=state.length + tokens.shape[1])


def seq2seq(
    source_vocab_size: int,
    target_vocab_size: int,
    embed_size: int = 128,
    num_hiddens: int = 128,
    num_layers: int = 1,
    dropout: float = 0.1,
    cell: str = "gru",
    bidirectional: bool = False,
) -> EncoderDecoder:
    """An encoder and a decoder without attention: Cho et al. (2014) with "gru", Sutskever et al. (2014) with "lstm".

    `num_hiddens` is the size of each encoder direction and of the decoder.
    """
    encoder = Seq2SeqEncoder(source_vocab_size, embed_size, num_hiddens, num_layers, dropout, bidirectional, cell)
    decoder = Seq2SeqDecoder(target_vocab_size, embed_size, encoder.output_size, num_hiddens, num_layers, dropout, cell)
    return EncoderDecoder(encoder, decoder)


def bahdanau(
    source_vocab_size: int,
    target_vocab_size: int,
    embed_size: int = 128,
    num_hiddens: int = 128,
    num_layers: int = 1,
    dropout: float = 0.1,
    score: str = "additive",
) -> EncoderDecoder:
    """The model of Bahdanau et al. (2015): a bidirectional GRU encoder and a GRU decoder with attention.

    `num_hiddens` is the size of each encoder direction and of the decoder. The score "dot" needs queries and keys of
    one size: the decoder is then as wide as both directions together.
    """
    encoder = Seq2SeqEncoder(source_vocab_size, embed_size, num_hiddens, num_layers, dropout)
    decoder_hiddens = encoder.output_size if score == "dot" else num_hiddens
    decoder = Seq2SeqAttentionDecoder(
        target_vocab_size, embed_size, encoder.output_size, decoder_hiddens, num_layers, dropout, score
    )
    return EncoderDecoder(encoder, decoder)
