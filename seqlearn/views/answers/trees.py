"""The tree of a beam search for a sentence's translation."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ...search.beam import beam_search
from ...search.hypotheses import Tree
from ...search.lengths import gnmt
from ...translator.translator import Translator
from ..shared.types import Style
from .translations import tokens_of

Search = Callable[[int, float], Tree]


def tree_search(translator: Translator, sentence: str) -> Search:
    """The function that searches the translation of a sentence: it takes a width and an alpha, and returns the `Tree`.

    Raises:
        ValueError: the sentence has no token, or more than 100.
    """
    tokens_of(translator, sentence)
    vocab, ids = translator.target.vocab, torch.tensor([translator.source.encode(sentence)], device=translator.device)
    options: Style = {"bos": vocab.bos, "eos": vocab.eos, "forbidden": (vocab.pad, vocab.bos)}

    def search(width: int, alpha: float) -> Tree:
        trees: list[Tree] = []
        given = options | {"width": width, "length_penalty": gnmt(alpha), "trace": trees}
        beam_search(translator.model, ids, torch.tensor([ids.shape[1]]), **given)
        return trees[0]

    return search
