"""Pictures of what a layer computes."""
