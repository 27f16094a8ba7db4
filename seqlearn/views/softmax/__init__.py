"""SoftmaxView: sliders for scores, a switch for each mask, and the attention weights."""
