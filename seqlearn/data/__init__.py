"""From lines of text to batches of numbers.

| module | holds |
|---|---|
| `pairs` | a sentence, its translation, and what is known about them |
| `corpus` | corpora: from the built-in grammar, from Tatoeba (`fra_eng`), from your own files; the split in three |
| `text` | tokenizers, vocabularies, and `Language`, which turns text into ids and ids into text |
| `unigram` | the pieces of a `.spm` file of SentencePiece |
| `spelling` | `normalize`: one spelling for texts that look the same |
| `batches` | padding, and `Batches`: pairs of sentences as tensors |
| `grammar/` | the grammar that writes the built-in corpus, and finds the noun phrases in its sentences |
| `large/` | corpora beyond memory: lines and ids that stay in files |
| `download` | fetches the Tatoeba corpus |

The names below can be imported from here, as in `from seqlearn.data import Batches, builtin`. A module is loaded when
one of its names is asked for, so that a corpus can be read without loading torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
