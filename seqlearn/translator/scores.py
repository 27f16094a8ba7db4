"""The quality of a translator on held-out pairs, which `Translator.evaluate` counts; the attention of many pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..analysis.metrics import TextScore, argmax_links
from ..data.batches import pad
from ..data.pairs import Link
from ..data.text import Vocab
from ..nn.contract import Model
from ..search.forced_decoding import forced_decoding

Ids = tuple[list[int], list[int]]  # source and target, both with <eos>
MOST_WEIGHTS = 1 << 22  # of one head in a batch: 16 MB


@dataclass(frozen=True)
class Scores:
    """Quality on held-out pairs.

    `seqlearn evaluate` prints `str(scores)`. `pairs` counts the translations that were compared. `bleu` and `chrf` are
    those of sacreBLEU, and `perplexity` is that of the mean loss (`analysis/metrics.py`). `Translator.evaluate` counts
    `exact`, the share of translations that equal a reference. `aer`, the alignment error rate (`analysis/metrics.py`),
    is None if there is no gold alignment.
    """

    pairs: int
    bleu: TextScore
    chrf: TextScore
    perplexity: float
    exact: float
    aer: float | None = None

    def __str__(self) -> str:
        lines = [
            f"BLEU = {self.bleu.score:.1f}  ({self.bleu.signature})",
            f"chrF = {self.chrf.score:.1f}  ({self.chrf.signature})",
            f"perplexity = {self.perplexity:.3f}",
            f"word for word right = {self.exact:.1%} of {self.pairs:,}",
        ]
        return "\n".join(lines if self.aer is None else [*lines, f"alignment error rate = {self.aer:.3f}"])


def attention_weights(
    model: Model, source: Vocab, target: Vocab, pairs: Sequence[Ids], kind: str, batch_size: int, device: torch.device
) -> Iterator[tuple[Float[Tensor, "layers heads queries keys"], int]]:
    """The attention of each pair, in order, padding cut off, <eos> kept; and how many of its first tokens are a prompt.

    Raises:
        ValueError: the model did not use its attention of this kind.
    """
    for chunk in _chunks(pairs, batch_size):
        sources, source_lens = pad([ids for ids, _ in chunk], source.pad)
        targets, target_lens = pad([[target.bos, *ids] for _, ids in chunk], target.pad)
        forced = forced_decoding(model, sources.to(device), source_lens, targets[:, :-1].to(device))
        weights, padded = forced.attention(kind), forced.prompt
        if weights is None:
            raise ValueError(f"the model has {kind} attention, but did not use it")
        for row, read, written in zip(weights, source_lens.tolist(), (target_lens - 1).tolist(), strict=True):
            if kind == "causal":
                prompt = read if padded else 0  # padded on the left
                real = slice(padded - prompt, padded + written)
                yield row[:, :, real, real], prompt
            else:
                yield row[:, :, : read if kind == "encoder" else written, :read], 0


def word_links(weights: Float[Tensor, "layers heads queries keys"]) -> set[Link]:
    """The link of each target token to the source token with the largest mean weight, without <eos>."""
    return argmax_links(weights.mean((0, 1))[:-1, :-1])


def _chunks(pairs: Sequence[Ids], batch_size: int) -> Iterator[Sequence[Ids]]:
    """Neighbouring pairs, `batch_size` at most, and fewer if they are so long that their attention fills the memory."""
    start, longest = 0, 0
    for stop, (source, target) in enumerate(pairs):
        wider = max(longest, len(source), len(target))
        count = stop - start
        if count and (count >= batch_size or (count + 1) * wider**2 > MOST_WEIGHTS):
            yield pairs[start:stop]
            start, wider = stop, max(len(source), len(target))
        longest = wider
    if start < len(pairs):
        yield pairs[start:]
