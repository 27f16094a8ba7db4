"""seqlearn: attention, from a padded batch to a Transformer, in code that you can read, run and look inside.

A room for each idea; CONTRIBUTING.md has the map. Import what you need from its room:
`from seqlearn.nn.attention import AdditiveAttention`.
"""

__version__ = "0.1.0"
