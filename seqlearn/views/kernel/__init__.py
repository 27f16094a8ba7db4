"""KernelView: kernel regression with a slider for the width."""
