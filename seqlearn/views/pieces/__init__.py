"""PiecesView: byte pair encoding, one join after the other, on a few words and on a word that is typed."""
