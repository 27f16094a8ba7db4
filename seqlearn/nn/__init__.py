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
"""
