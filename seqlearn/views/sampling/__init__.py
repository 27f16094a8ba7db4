"""SamplingView: sliders for temperature, top-k and top-p, and the distribution from which the next token is drawn."""
