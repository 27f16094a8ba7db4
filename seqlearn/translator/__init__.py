"""A translator: a model and two languages; sentences in, sentences, attention and scores out.

| module | holds |
|---|---|
| `translator` | `Translator` |
| `models` | the registry: one spec for each model, with its factory, settings, sizes and learning rate |
| `scores` | `Scores`, the quality on held-out pairs; the attention of many pairs |
| `saving` | the folder of a translator: weights, languages and configuration in one file |
| `marian` | the folder of an `opus-mt` model of Helsinki-NLP: `Translator.from_marian` |
| `whatif` | a translator whose attention is edited, or whose translations begin with given words |
"""

import lazy_loader

DEFAULT_BEAM = 1  # the width of a search, where nobody names one: greedy search

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
