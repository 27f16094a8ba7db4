"""The grammar that writes the built-in corpus: English sentences together with their French translations.

`write_pairs` gives the pairs, 30,000 of them unless its `count` says otherwise; `lexicon` has their words. Each pair
knows which words translate which (`alignment`), and which noun each of its pronouns stands for (`antecedents`).
`noun_phrases` finds the noun phrases in such a sentence by its words alone.

The modules, from words to corpus; each uses only those above it:

| module | holds |
|---|---|
| `lexicon` | the words: how they inflect in both languages, and which of them go together |
| `draft` | `Draft`, a sentence under construction in both languages, and `Phrase`, a part of it |
| `phrases` | the rules of both languages: noun phrases, pronouns, verb groups, questions, comparisons |
| `clauses` | dice choose who does what, where and when |
| `simple_sentences` | kinds of sentence with one clause |
| `compound_sentences` | kinds of sentence with two clauses |
| `pronoun_sentences` | kinds of sentence in which "it" may stand for either of two nouns |
| `writer` | the list of all kinds of sentence with their shares, and `write_pairs` |
| `noun_phrases` | finds noun phrases in finished sentences, with the lexicon |

How a sentence comes about: `writer` makes a `Draft` with seeded dice and draws a construction (a kind of sentence) from
`writer.CONSTRUCTIONS`. The function of the construction chooses words by the dice, builds phrases from them and appends
these to the English and the French side of the draft. It returns the punctuation mark. `Draft.finish` then links the
tokens, notes the antecedents, writes both texts and returns a `Pair`.
`write_pairs` leaves out a draft that contradicts or repeats itself (the sad hero is happy; Olga says that Olga sings).

A new construction is a function in one of the three modules of sentences and a line in `writer.CONSTRUCTIONS`. But the
corpus is frozen: trained models, scores and stored outputs depend on every pair, and a test checks the hash of all.
"""

from .noun_phrases import NounPhrase, noun_phrases
from .writer import PAIRS, write_pairs

__all__ = ["PAIRS", "NounPhrase", "noun_phrases", "write_pairs"]
