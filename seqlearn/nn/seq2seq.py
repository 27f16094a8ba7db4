"""Recurrent encoders and decoders, under the contract of `seqlearn.nn.contract`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ..runtime.arguments import embed, source_lengths
from ..runtime.devices import send
from .attention import SCORES, make_attention
from .cache import sentences_of
from .config import MOST_LAYERS, Setting, choices
from .contract import EncoderDecoder
from .masking import sequence_mask

RNNS = {"gru": nn.GRU, "lstm": nn.LSTM}


@dataclass(frozen=True)
class RNNConfig:
    """The settings that all recurrent models share."""

    embed_size: Annotated[int, Setting("size of a token's vector", least=1)] = 128
    num_hiddens: Annotated[
        int, Setting("size of each direction of the encoder, and of the decoder", "hidden", least=1)
    ] = 128
    num_layers: Annotated[int, Setting("layers on each side", "layers", least=1, most=MOST_LAYERS)] = 1
    dropout: Annotated[float, Setting("share of activations dropped in training", least=0, most=0.99)] = 0.1

    @property
    def dropout_between(self) -> float:
        """The dropout between stacked layers: PyTorch warns where there is one layer."""
        return self.dropout if self.num_layers > 1 else 0.0


@dataclass(frozen=True)
class Seq2SeqConfig(RNNConfig):
    """The settings of `seq2seq`."""

    cell: Annotated[str, Setting("the kind of recurrent net", choices=choices(RNNS))] = "gru"
    bidirectional: Annotated[bool, Setting("whether the encoder reads in both directions")] = False


@dataclass(frozen=True)
class BahdanauConfig(RNNConfig):
    """The settings of `bahdanau`."""

    score: Annotated[str, Setting("how attention compares a query with a key", choices=choices(SCORES))] = "additive"


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
        vocab_size: of the source tokens.
        config: the sizes; `output_size` is the size of both directions together.
        bidirectional: whether there are both.
        cell: "gru" or "lstm".
    """

    def __init__(self, vocab_size: int, config: RNNConfig, bidirectional: bool = True, cell: str = "gru"):
        super().__init__()
        self.output_size = config.num_hiddens * (2 if bidirectional else 1)
        self.embedding = nn.Embedding(vocab_size, config.embed_size)
        self.dropout = nn.Dropout(config.dropout)
        self.rnn = rnn_class(cell)(
            config.embed_size,
            config.num_hiddens,
            config.num_layers,
            batch_first=True,
            dropout=config.dropout_between,
            bidirectional=bidirectional,
        )

    def forward(self, source: Int[Tensor, "batch source"], source_lens: Int[Tensor, "batch"]) -> RNNMemory:
        """Read each source up to its length.

        Raises:
            TypeError: ids or lengths are not whole numbers.
            ValueError: a length is below 1 or above the number of steps, or an id is not in the vocabulary.
        """
        source_lens = source_lengths(source, source_lens)
        lengths = source_lens.cpu()
        if not lengths.all():
            raise ValueError("a source is empty: it has one token at least, its <eos>")
        embedded = self.dropout(embed(self.embedding, source))
        if bool((lengths == source.shape[1]).all()):  # no padding: reading without packing is faster
            outputs, last = self.rnn(embedded)
        else:
            packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
            outputs, last = self.rnn(packed)
            outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])
        hidden, cell = _hidden_and_cell(last)
        real = sequence_mask(source_lens.to(source.device), source.shape[1]).unsqueeze(1)
        return RNNMemory(outputs, self._join(hidden), real, None if cell is None else self._join(cell))

    def _join(self, state: Float[Tensor, "directed batch hiddens"]) -> Float[Tensor, "layers batch size"]:
        """Both directions of a layer side by side."""
        return torch.cat([state[0::2], state[1::2]], dim=-1) if self.rnn.bidirectional else state


def _hidden_and_cell(last: Tensor | tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor | None]:
    """The two halves of a recurrent net's last state; a GRU has only the first."""
    return last if isinstance(last, tuple) else (last, None)


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

    def select(self, rows: Int[Tensor, "chosen"]) -> PlainState:
        """The state of these rows, repeated, reordered or dropped."""
        rows = send(rows, self.hidden.device)
        cell = None if self.cell is None else self.cell[:, rows]
        return replace(self, context=self.context[rows], hidden=self.hidden[:, rows], cell=cell)


class Seq2SeqDecoder(nn.Module):
    """A recurrent net that knows the source as one vector: the encoder's last state, given to it at every step.

    s_i = RNN(s_{i-1}, [E y_{i-1}; c]) with c the last state of the encoder's top layer: Cho et al. (2014), section 2.2.

    Args:
        vocab_size: of the target tokens.
        config: cell, layers and sizes, as of the encoder; `dropout` is applied before, between and after the layers.
        memory_size: the encoder's `output_size`.
    """

    def __init__(self, vocab_size: int, config: Seq2SeqConfig, memory_size: int):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, config.embed_size)
        self.bridge = nn.Linear(memory_size, config.num_hiddens)
        self.rnn = rnn_class(config.cell)(
            config.embed_size + memory_size,
            config.num_hiddens,
            config.num_layers,
            batch_first=True,
            dropout=config.dropout_between,
        )
        self.dense = nn.Linear(config.num_hiddens, vocab_size)
        self.dropout = nn.Dropout(config.dropout)

    def init_state(self, memory: RNNMemory) -> PlainState:
        """The state before the first token."""
        cell = None if memory.cell is None else self.bridge(memory.cell)
        return PlainState(memory.hidden[-1], torch.tanh(self.bridge(memory.hidden)), cell)

    def forward(
        self, tokens: Int[Tensor, "rows steps"], state: PlainState
    ) -> tuple[Float[Tensor, "rows steps vocab"], PlainState]:
        """See `Decoder` in `contract`."""
        features, state = self.features(tokens, state)
        return self.dense(features), state

    def features(
        self, tokens: Int[Tensor, "rows steps"], state: PlainState
    ) -> tuple[Float[Tensor, "rows steps hiddens"], PlainState]:
        """See `FeatureDecoder` in `contract`."""
        context = state.context.unsqueeze(1).expand(-1, tokens.shape[1], -1)
        inputs = torch.cat([self.dropout(embed(self.embedding, tokens)), context], dim=-1)
        outputs, last = self.rnn(inputs, state.hidden if state.cell is None else (state.hidden, state.cell))
        hidden, cell = _hidden_and_cell(last)
        return self.dropout(outputs), replace(state, hidden=hidden, cell=cell)


@dataclass(frozen=True)
class AttentionState:
    """What an attention decoder remembers between calls: `beams` rows for each sentence, side by side.

    Keys, values and mask (the memory) are held once for each sentence, however many beams share them.
    """

    keys: Float[Tensor, "sentences source hiddens"]
    values: Float[Tensor, "sentences source size"]
    mask: Bool[Tensor, "sentences 1 source"]
    hidden: Float[Tensor, "layers rows hiddens"]
    beams: int = 1

    def select(self, rows: Int[Tensor, "chosen"]) -> AttentionState:
        """The state of these rows, repeated, reordered or dropped. The memory is copied only if a sentence is gone."""
        sentences, beams = sentences_of(rows, self.beams)
        chosen = replace(self, hidden=self.hidden[:, send(rows, self.hidden.device)], beams=beams)
        if torch.equal(sentences, torch.arange(len(self.keys))):
            return chosen
        sentences = send(sentences, self.keys.device)
        return replace(chosen, keys=self.keys[sentences], values=self.values[sentences], mask=self.mask[sentences])


class Seq2SeqAttentionDecoder(nn.Module):
    """A GRU that looks at the source again, through attention, before each step.

    The state before the step is the query, the encoder's outputs are keys and values, and the context joins the token
    as input: s_i = GRU(s_{i-1}, [E y_{i-1}; c_i]), c_i = sum_j alpha_ij h_j. Bahdanau et al. (2015), section 3.1.

    Args:
        vocab_size: of the target tokens.
        config: the sizes, and the score that compares the state with the encoder's outputs: "additive" (Bahdanau's),
            "bilinear" or "dot" (both Luong's). "dot" needs queries and keys of one size, so the decoder is then as wide
            as the memory. `dropout` is applied before, between and after the layers.
        memory_size: the encoder's `output_size`.
    """

    def __init__(self, vocab_size: int, config: BahdanauConfig, memory_size: int):
        super().__init__()
        size = memory_size if config.score == "dot" else config.num_hiddens
        self.embedding = nn.Embedding(vocab_size, config.embed_size)
        self.bridge = nn.Linear(memory_size, size)
        self.attention = make_attention(config.score, size, memory_size)
        self.attention.kind = "cross"
        self.rnn = nn.GRU(config.embed_size + memory_size, size, config.num_layers, dropout=config.dropout_between)
        self.dense = nn.Linear(size, vocab_size)
        self.dropout = nn.Dropout(config.dropout)

    def init_state(self, memory: RNNMemory) -> AttentionState:
        """The state before the first token. The keys are projected here, once for each sentence."""
        keys = self.attention.project_keys(memory.outputs)
        hidden = torch.tanh(self.bridge(memory.hidden))
        return AttentionState(keys, memory.outputs, memory.mask, hidden)

    def forward(
        self, tokens: Int[Tensor, "rows steps"], state: AttentionState
    ) -> tuple[Float[Tensor, "rows steps vocab"], AttentionState]:
        """See `Decoder` in `contract`."""
        features, state = self.features(tokens, state)
        return self.dense(features), state

    def features(
        self, tokens: Int[Tensor, "rows steps"], state: AttentionState
    ) -> tuple[Float[Tensor, "rows steps hiddens"], AttentionState]:
        """See `FeatureDecoder` in `contract`."""
        hidden = state.hidden  # layers, rows, hiddens
        outputs: list[Tensor] = []
        for embedded in self.dropout(embed(self.embedding, tokens.T)):
            queries = torch.unflatten(hidden[-1], 0, (-1, state.beams))  # sentences, beams, hiddens
            context = self.attention.attend(queries, state.keys, state.values, state.mask).flatten(0, 1)
            output, hidden = self.rnn(torch.cat([embedded, context], dim=-1).unsqueeze(0), hidden)
            outputs.append(output)
        features = self.dropout(torch.cat(outputs).transpose(0, 1))
        return features, replace(state, hidden=hidden)


def seq2seq(source_vocab_size: int, target_vocab_size: int, config: Seq2SeqConfig) -> EncoderDecoder:
    """An encoder and a decoder without attention: Cho et al. (2014) with "gru", Sutskever et al. (2014) with "lstm"."""
    encoder = Seq2SeqEncoder(source_vocab_size, config, config.bidirectional, config.cell)
    return EncoderDecoder(encoder, Seq2SeqDecoder(target_vocab_size, config, encoder.output_size))


def bahdanau(source_vocab_size: int, target_vocab_size: int, config: BahdanauConfig) -> EncoderDecoder:
    """The model of Bahdanau et al. (2015): a bidirectional GRU encoder and a GRU decoder with attention."""
    encoder = Seq2SeqEncoder(source_vocab_size, config)
    return EncoderDecoder(encoder, Seq2SeqAttentionDecoder(target_vocab_size, config, encoder.output_size))
