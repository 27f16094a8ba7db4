"""Batches to logits: masks, attention, encoders and decoders."""
