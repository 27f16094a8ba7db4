"""From lines of text to batches of numbers.

| module | holds |
|---|---|
| `corpus` | corpora: from the built-in grammar, from Tatoeba (`fra_eng`), from your own files; the split in three |
| `text` | tokenizers, vocabularies, and `Language`, which turns text into ids and ids into text |
| `spelling` | `normalize`: one spelling for texts that look the same |
| `batches` | padding, and `Batches`: pairs of sentences as tensors |
| `sentences` | the ids of many sentences, end to end |
| `cache` | the ids of a large corpus in files, which processes share |
| `files` | text files as sequences that are read line by line |
| `download` | fetches the Tatoeba corpus |

The names below can be imported from here, as in `from seqlearn.data import Batches, builtin`. A module is loaded when
one of its names is asked for, so that a corpus can be read without loading torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..front_door import front_door

if TYPE_CHECKING:
    from ..pairs import Antecedent, Link, Pair
    from .batches import Batch, Batches, pad
    from .corpus import Corpus, Split, builtin, distinct_sources, fra_eng, from_files, from_tsv, local_fra_eng
    from .spelling import normalize
    from .text import BOS, EOS, PAD, SPECIALS, UNK, BPETokenizer, Language, Vocab, WordTokenizer

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "SPECIALS",
    "UNK",
    "Antecedent",
    "BPETokenizer",
    "Batch",
    "Batches",
    "Corpus",
    "Language",
    "Link",
    "Pair",
    "Split",
    "Vocab",
    "WordTokenizer",
    "builtin",
    "distinct_sources",
    "fra_eng",
    "from_files",
    "from_tsv",
    "local_fra_eng",
    "normalize",
    "pad",
]

__getattr__, __dir__ = front_door(
    __name__,
    {
        "..pairs": "Antecedent Link Pair",
        ".batches": "Batch Batches pad",
        ".corpus": "Corpus Split builtin distinct_sources fra_eng from_files from_tsv local_fra_eng",
        ".spelling": "normalize",
        ".text": "BOS EOS PAD SPECIALS UNK BPETokenizer Language Vocab WordTokenizer",
    },
)
