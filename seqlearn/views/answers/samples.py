"""Sentences that are drawn token by token, and the logits of the first token."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from ...search.forced_decoding import forced_decoding
from ...search.sampling import sample
from ...translator.translator import Translator

Drawn = Sequence[tuple[str, float]]
"""Sentences, each with its probability."""
Write = Callable[[int, float, "int | None", "float | None"], Drawn]
"""Draws sentences: a function of a seed, the temperature, top-k and top-p."""
SENTENCES = 5  # that are drawn together


def first_logits(translator: Translator, sentence: str) -> Float[Tensor, "vocab"]:
    """The logits of the first token of a sentence's translation."""
    ids = torch.tensor([translator.source.encode(sentence)], device=translator.device)
    bos = torch.tensor([[translator.target.vocab.bos]], device=translator.device)
    return forced_decoding(translator.model, ids, torch.tensor([ids.shape[1]]), bos).logits[0, -1]


def drawn_sentences(
    translator: Translator, sentence: str, seed: int, temperature: float, top_k: int | None, top_p: float | None
) -> Drawn:
    """Five translations of a sentence, drawn token by token; those that reached the largest length end with "…".

    The probability of each is the model's own: temperature 1, nothing removed.
    """
    vocab, ids = translator.target.vocab, torch.tensor([translator.source.encode(sentence)] * SENTENCES)
    drawn = sample(
        translator.model,
        ids.to(translator.device),
        torch.full((SENTENCES,), ids.shape[1]),
        bos=vocab.bos,
        eos=vocab.eos,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        generator=torch.Generator().manual_seed(seed),
        forbidden=(vocab.pad, vocab.bos),
    )
    ends = [(translator.target.decode(one.tokens), "" if one.finished else " …", sum(one.log_probs)) for one in drawn]
    return [(text + end, math.exp(log_prob)) for text, end, log_prob in ends]
