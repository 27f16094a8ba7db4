"""The training loop, learning-rate schedules, checkpoints."""
