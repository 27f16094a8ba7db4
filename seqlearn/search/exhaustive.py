"""All translations up to a length, each scored: slow, and sure to find the best one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from ..nn.contract import Model, eval_mode
from ..runtime.devices import to_list
from .hypotheses import Hypothesis, LengthPenalty
from .lengths import length_limits, no_penalty

Prefix = tuple[tuple[int, ...], tuple[float, ...]]  # tokens, and their log-probabilities


def exhaustive_search(
    model: Model,
    source: Int[Tensor, "batch source"],
    source_lens: Int[Tensor, "batch"],
    *,
    bos: int,
    eos: int,
    length_penalty: LengthPenalty = no_penalty,
    min_length: int = 0,
    max_length: int | None = None,
    n_best: int = 1,
    forbidden: Sequence[int] = (),
    most: int = 100_000,
) -> list[list[Hypothesis]]:
    """Score every possible translation, and return the best. For tiny vocabularies: it shows what other searches miss.

    Args: see `beam_search`; and
        most: how many sentences may be tried.

    Raises:
        ValueError: there are more than `most` sentences.
        TypeError: something is of another type.
    """
    limits = length_limits(model, source, source_lens, min_length, max_length)
    best: list[list[Hypothesis]] = []
    with eval_mode(model):
        for sentence, limit in enumerate(limits):
            length = source_lens[sentence : sentence + 1]
            state = model.decoder.init_state(model.encoder(source[sentence : sentence + 1, : int(length)], length))
            live: list[Prefix] = [((), ())]
            complete: list[Prefix] = []
            for step in range(1, limit + 1):
                last = torch.tensor([ids[-1:] or (bos,) for ids, _ in live], device=source.device)
                logits, state = model.decoder(last, state)
                words = sorted({*range(logits.shape[-1])} - {*forbidden})
                if len(words) ** limit > most:
                    power = limit * math.log10(len(words))
                    raise ValueError(f"{len(words):,} tokens make 10^{power:.0f} sentences of {limit}: too many to try")
                longer: list[Prefix] = []
                rows: list[int] = []
                for row, gains in enumerate(to_list(logits[:, -1].log_softmax(-1))):
                    for token in words:
                        prefix = (*live[row][0], token), (*live[row][1], gains[token])
                        if token != eos and step < limit:
                            longer.append(prefix)
                            rows.append(row)
                        elif token != eos or step > min_length:
                            complete.append(prefix)
                if not longer:
                    break
                live, state = longer, state.select(torch.tensor(rows))
            hypotheses = [Hypothesis.of(*prefix, eos, length_penalty) for prefix in complete]
            best.append(sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best])
    return best
