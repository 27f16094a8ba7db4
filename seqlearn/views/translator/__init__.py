"""TranslatorView: a sentence, its translation, and how the model chose each token."""
