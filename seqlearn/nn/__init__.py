"""Batches to logits: masks, attention, encoders and decoders.

| module | holds |
|---|---|
| `contract` | what training and search ask of a model, and how to search a model of your own |
| `masking` | masks for padding and for the future, and the masked softmax |
| `attention` | attention with each of the scores, and multi-head attention |
| `kernels` | kernel regression: attention over numbers |
| `positions` | sinusoidal, learned and rotary positions |
| `recording` | attention weights, recorded or edited while a model runs |
| `patching` | the vectors of the residual stream and of heads, recorded, or patched from another sentence |
| `seq2seq` | recurrent encoders and decoders, without and with attention |
| `config` | what the settings of a model mean, for the command line, the page and saved folders |
| `transformer`, `cache` | the Transformer, and the keys and values that its decoder remembers |
| `decoder_only` | a decoder-only Transformer, and the parts that language models changed since 2017 |
| `initial` | the weights before training |
| `llama` | the weights of a Llama of Hugging Face, copied into a decoder-only Transformer |
| `marian` | the weights of a Marian of Hugging Face, copied into a Transformer |

The names below can be imported from here. The functions that make whole models have the names of their modules, and
stand there: `from seqlearn.nn.transformer import transformer`.
"""

from .attention import (
    SCORES as SCORES,
    AdditiveAttention as AdditiveAttention,
    BilinearAttention as BilinearAttention,
    DotProductAttention as DotProductAttention,
    MultiHeadAttention as MultiHeadAttention,
)
from .config import Setting as Setting
from .contract import (
    Decoder as Decoder,
    Encoder as Encoder,
    EncoderDecoder as EncoderDecoder,
    FeatureDecoder as FeatureDecoder,
    Model as Model,
    State as State,
    eval_mode as eval_mode,
)
from .decoder_only import (
    DecoderOnly as DecoderOnly,
    DecoderOnlyConfig as DecoderOnlyConfig,
    GroupedQueryAttention as GroupedQueryAttention,
    RMSNorm as RMSNorm,
    SwiGLU as SwiGLU,
)
from .kernels import KERNELS as KERNELS, KernelRegression as KernelRegression, kernel as kernel
from .masking import (
    as_mask as as_mask,
    causal_mask as causal_mask,
    masked_softmax as masked_softmax,
    padding_mask as padding_mask,
    sequence_mask as sequence_mask,
)
from .patching import (
    heads as heads,
    patch as patch,
    patch_cells as patch_cells,
    places as places,
    record_cells as record_cells,
    record_stream as record_stream,
)
from .positions import (
    POSITIONS as POSITIONS,
    LearnedPositions as LearnedPositions,
    NoPositions as NoPositions,
    PositionalEncoding as PositionalEncoding,
    RotaryPositions as RotaryPositions,
    frequencies as frequencies,
    rotation as rotation,
    sinusoids as sinusoids,
)
from .recording import (
    AttentionLayer as AttentionLayer,
    attention_layers as attention_layers,
    edit_attention as edit_attention,
    record_attention as record_attention,
)
from .seq2seq import (
    BahdanauConfig as BahdanauConfig,
    Seq2SeqAttentionDecoder as Seq2SeqAttentionDecoder,
    Seq2SeqConfig as Seq2SeqConfig,
    Seq2SeqDecoder as Seq2SeqDecoder,
    Seq2SeqEncoder as Seq2SeqEncoder,
)
from .transformer import (
    SIZES as SIZES,
    PositionWiseFFN as PositionWiseFFN,
    TransformerConfig as TransformerConfig,
    TransformerDecoder as TransformerDecoder,
    TransformerEncoder as TransformerEncoder,
)
