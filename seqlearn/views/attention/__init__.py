"""AttentionView: every head of every layer of one sentence pair."""
