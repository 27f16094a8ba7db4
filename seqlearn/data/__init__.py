"""Lines to batches: pairs, tokens, vocabularies, corpora, batches."""
