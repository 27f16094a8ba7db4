"""PositionView: a table of positions, and the rotation between two of them."""
