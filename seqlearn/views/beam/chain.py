"""Beam search in a table of words that may follow each other: what `BeamView` shows without a trained model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ...search.beam import beam_search
from ...search.hypotheses import Tree
from ...search.lengths import gnmt

BOS, EOS = "<bos>", "<eos>"


class _Decoder:
    """The table as a decoder: its logits are the logarithms of the row of the last word."""

    def __init__(self, logits: Tensor):
        self.logits = logits

    def init_state(self, memory: object) -> _Decoder:
        return self

    def select(self, rows: Tensor) -> _Decoder:
        return self

    def __call__(self, tokens: Tensor, state: object) -> tuple[Tensor, _Decoder]:
        return self.logits[tokens], self


def chain_search(table: Mapping[str, Mapping[str, float]]) -> tuple[Callable[[int, float], Tree], list[str]]:
    """What `BeamView` asks for: a search of a table, as a function of width and alpha, and the words.

    Args:
        table: for each word, and for "<bos>", the probabilities of the words that may follow, "<eos>" among them.
    """
    words = ["<pad>", BOS, EOS, *(word for word in table if word != BOS)]
    rows = [[table.get(last, {}).get(word, 0.0) for word in words] for last in words]
    model: Any = torch.nn.Module()  # with the two attributes that a search asks for
    model.encoder = lambda source, source_lens: None
    model.decoder = _Decoder(torch.tensor(rows, dtype=torch.float64).log())

    def search(width: int, alpha: float = 0.0) -> Tree:
        trees: list[Tree] = []
        beam_search(
            model,
            torch.tensor([[3]]),
            torch.tensor([1]),
            bos=1,
            eos=2,
            forbidden=(0, 1),
            width=width,
            length_penalty=gnmt(alpha),
            max_length=6,
            trace=trees,
        )
        return trees[0]

    return search, words
