"""Search and sampling: from logits of the next token to sentences, for any model under `seqlearn.nn.contract`.

A search extends hypotheses, prefixes of a translation, token by token. A hypothesis is complete when it ends with <eos>
or is as long as allowed. The best complete hypothesis has the largest

    beam score = sum of the log-probabilities / penalty(length).

The length counts the tokens, and <eos> if it was reached. Padding is never part of a hypothesis. `sample` does not look
for the best hypothesis: it draws each token from the model's distribution.

`Translator.translate` goes through `batching`, and then through `beam` or `sampling`. Both call the model's encoder and
`init_state` once, and the decoder for one token at a time: the same `forward` as in training. No search knows a
position; the decoder's state counts the tokens that were read (`length` in `nn/cache.py`).

| module | holds |
|---|---|
| `lengths` | length penalties, and how long a translation may be |
| `sampling` | `greedy_search`, and `sample`, which draws |
| `beam` | `beam_search` |
| `exhaustive` | `exhaustive_search`: every translation up to a length |
| `hypotheses` | the data of a beam search: hypotheses side by side, their extensions, the search tree |
| `batching` | any number of sentences, in batches of similar length |
| `forced_decoding` | a model reads a given target: logits, and the weights of each attention layer |
| `fast_step` | a Transformer decoder written out for one token, for search alone |
"""

from .batching import in_batches as in_batches
from .beam import beam_search as beam_search
from .exhaustive import exhaustive_search as exhaustive_search
from .hypotheses import Hypothesis as Hypothesis, LengthPenalty as LengthPenalty, Tree as Tree
from .lengths import (
    default_max_length as default_max_length,
    gnmt as gnmt,
    length_average as length_average,
    no_penalty as no_penalty,
)
from .sampling import greedy_search as greedy_search, next_distribution as next_distribution, sample as sample
