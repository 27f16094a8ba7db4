"""The grammar that writes the built-in corpus: English sentences together with their French translations.

`write_pairs` gives the pairs; each knows which words translate which, and what its pronouns stand for.
"""

from .noun_phrases import NounPhrase, noun_phrases
from .writer import write_pairs

__all__ = ["NounPhrase", "noun_phrases", "write_pairs"]
