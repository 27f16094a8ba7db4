"""AttentionSteps: one attention in five steps."""
