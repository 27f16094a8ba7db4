"""The data of `SamplingView`: the logits, the name of each token, and the tokens that get a bar of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from jaxtyping import Float, Real
from torch import Tensor

from ...search.forced_decoding import forced_decoding
from ...search.sampling import next_distribution, sample
from ...translator.translator import Translator
from ..shared.arguments import as_text, finite
from ..shared.packing import pack
from ..shared.types import Data

Drawn = Sequence[tuple[str, float]]
"""Sentences, each with its probability."""
Write = Callable[[int, float, "int | None", "float | None"], Drawn]
"""Draws sentences: a function of a seed, the temperature, top-k and top-p."""
SENTENCES = 5  # that are drawn together


def sampling_data(logits: Real[Tensor, "..."], tokens: Iterable[object], shown: int) -> Data:
    """What `SamplingView` draws; the class explains the arguments. `shown` becomes the ids, the likeliest first."""
    numbers, names = finite("logits", logits, 1), list(map(as_text, tokens))
    if len(names) != len(numbers):
        raise ValueError(f"{len(names)} tokens do not fit {len(numbers)} logits: each token has one")
    if shown < 1:
        raise ValueError(f"at least 1 token is shown, not {shown}")
    likeliest = numbers.sort(descending=True, stable=True).indices[:shown]
    exact = "float64" if numbers.dtype == torch.float64 else "float32"
    return {"logits": pack(numbers, exact), "tokens": names, "shown": likeliest.tolist()}


def check_setting(name: str, value: float | None) -> None:
    """Raise a ValueError if `next_distribution` does not take this temperature, top_k or top_p, or JSON does not."""
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{name} is finite, not {value}")
    setting: Data = {name: value}
    next_distribution(torch.zeros(1), **setting)


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
