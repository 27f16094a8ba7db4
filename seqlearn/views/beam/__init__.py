"""BeamView: the tree of a beam search."""
