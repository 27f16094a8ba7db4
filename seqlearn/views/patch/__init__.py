"""PatchView: two sentences that differ in a word, and what each vector of one changes in the other."""
