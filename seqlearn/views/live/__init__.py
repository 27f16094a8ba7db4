"""The model in a page: our Transformer, its search and its tokenizer in JavaScript, so that a page needs no Python."""
