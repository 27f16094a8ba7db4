"""GruView: one number of a GRU's state, its gates at each word, and sliders for the gates of one step."""
