"""BatchView: sentences as bars in batches, and how much of the batches is padding."""
