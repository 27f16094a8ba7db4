"""Attention, read and counted: maps, measures of what heads look at, edits, roles, and metrics of translations.

| module | holds |
|---|---|
| `attention_map` | the attention of one sentence, with its tokens; recipes for models of PyTorch and Hugging Face |
| `measures` | many maps made into one (mean, rollout); what a head looks at, counted |
| `edits` | edits of attention weights, for `seqlearn.nn.recording.edit_attention` |
| `circuits` | means for ablation, keep-only-these heads, weight times length of the value, the logit lens |
| `roles` | what each head does: the questions of lesson 11 asked of all heads, the strongest role in words |
| `pronouns` | who a pronoun means, guessed; does a model write its gender? the sentences of lesson 11 |
| `metrics` | BLEU, chrF, perplexity, alignment error rate |
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
