"""Batches to logits: masks, attention, encoders and decoders.

| module | holds |
|---|---|
| `contract` | what training and search ask of a model, and how to search a model of your own |
| `masking` | masks for padding and for the future, and the masked softmax |
| `attention` | attention with each of the scores, and multi-head attention |
| `kernels` | kernel regression: attention over numbers |
| `positions` | sinusoidal, learned and rotary positions |
| `recording` | attention weights, recorded or edited while a model runs |
| `seq2seq`, `recurrence` | recurrent encoders and decoders, without and with attention |
| `transformer`, `cache` | the Transformer, and the keys and values that its decoder remembers |
| `decoder_only` | a decoder-only Transformer, and the parts that language models changed since 2017 |
| `llama` | the weights of a Llama of Hugging Face, copied into a decoder-only Transformer |

The names below can be imported from here. The functions that make whole models have the names of their modules, and
stand there: `from seqlearn.nn.transformer import transformer`.
"""

from .attention import SCORES, AdditiveAttention, BilinearAttention, DotProductAttention, MultiHeadAttention
from .contract import Decoder, Encoder, EncoderDecoder, FeatureDecoder, Model, State, eval_mode
from .decoder_only import DecoderOnly, GroupedQueryAttention, RMSNorm, SwiGLU
from .kernels import KERNELS, KernelRegression, kernel
from .masking import as_mask, causal_mask, masked_softmax, padding_mask, sequence_mask
from .positions import LearnedPositions, NoPositions, PositionalEncoding, RotaryPositions, rotation, sinusoids
from .recording import AttentionLayer, attention_layers, edit_attention, record_attention
from .seq2seq import Seq2SeqAttentionDecoder, Seq2SeqDecoder, Seq2SeqEncoder
from .transformer import (
    POSITIONS,
    SIZES,
    AddNorm,
    PositionWiseFFN,
    TransformerDecoder,
    TransformerEncoder,
)

__all__ = [
    "KERNELS", "POSITIONS", "SCORES", "SIZES", "AddNorm", "AdditiveAttention", "AttentionLayer", "BilinearAttention",
    "Decoder", "DecoderOnly", "DotProductAttention", "Encoder", "EncoderDecoder", "FeatureDecoder",
    "GroupedQueryAttention", "KernelRegression", "LearnedPositions", "Model", "MultiHeadAttention", "NoPositions",
    "PositionWiseFFN", "PositionalEncoding", "RMSNorm", "RotaryPositions", "Seq2SeqAttentionDecoder", "Seq2SeqDecoder",
    "Seq2SeqEncoder", "State", "SwiGLU", "TransformerDecoder", "TransformerEncoder", "as_mask", "attention_layers",
    "causal_mask", "edit_attention", "eval_mode", "kernel", "masked_softmax", "padding_mask", "record_attention",
    "rotation", "sequence_mask", "sinusoids",
]  # fmt: skip
