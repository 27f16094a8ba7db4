"""From lines of text to batches of numbers.

| module | holds |
|---|---|
| `corpus` | corpora: from the built-in grammar, from Tatoeba (`fra_eng`), from your own files; the split in three |
| `text` | tokenizers, vocabularies, and `Language`, which turns text into ids and ids into text |
| `spelling` | `normalize`: one spelling for texts that look the same |
| `batches` | padding, and `Batches`: pairs of sentences as tensors |
| `files` | text files as sequences that are read line by line |
| `download` | fetches the Tatoeba corpus |

The names below can be imported from here, as in `from seqlearn.data import Batches, builtin`. A module is loaded when
one of its names is asked for, so that a corpus can be read without loading torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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

_MODULES = {
    "seqlearn.pairs": "Antecedent Link Pair",
    "seqlearn.data.batches": "Batch Batches pad",
    "seqlearn.data.corpus": "Corpus Split builtin distinct_sources fra_eng from_files from_tsv local_fra_eng",
    "seqlearn.data.spelling": "normalize",
    "seqlearn.data.text": "BOS EOS PAD SPECIALS UNK BPETokenizer Language Vocab WordTokenizer",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Load the module of an exported name when somebody asks for the name."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    """The exported names, for completion, whether loaded or not."""
    return sorted({*globals(), *__all__})
