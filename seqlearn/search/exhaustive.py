"""All translations up to a length, each with its beam score: slow, and sure to find the best one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from ..nn.contract import Model, eval_mode
from ..runtime.devices import to_list
from ..runtime.values import token_ids
from .hypotheses import Hypothesis, LengthPenalty, NoToken
from .lengths import largest_penalties, limits_and_ids, no_penalty

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
    forbidden: Sequence[int] = (),
    most: int = 100_000,
) -> list[list[Hypothesis]]:
    """Try every possible translation, and return the best. For tiny vocabularies: it shows what other searches miss.

    Args: see `beam_search`; and
        most: how many sentences may be tried.

    Returns:
        For each sentence a list with its best translation, as `beam_search` gives it.

    Raises:
        ValueError: there are more than `most` sentences, or see `beam_search`.
        TypeError: something is of another type.
    """
    limits, forbidden = limits_and_ids(model, source, source_lens, (bos, eos, forbidden), min_length, max_length)
    for limit in set(limits):
        largest_penalties(length_penalty, limit)
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
                token_ids([eos, *forbidden], logits.shape[-1])
                words = sorted({*range(logits.shape[-1])} - {*forbidden})
                if len(words) ** limit > most:
                    power = limit * math.log10(len(words))
                    raise ValueError(f"{len(words):,} tokens make 10^{power:.0f} sentences of {limit}: too many to try")
                longer: list[Prefix] = []
                rows: list[int] = []
                log_probs = logits[:, -1].log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
                if log_probs.isnan().any():
                    raise NoToken
                for row, gains in enumerate(to_list(log_probs)):
                    for token in (token for token in words if gains[token] > -math.inf):
                        prefix = (*live[row][0], token), (*live[row][1], gains[token])
                        if token != eos and step < limit:
                            longer.append(prefix)
                            rows.append(row)
                        elif token != eos or step > min_length:
                            complete.append(prefix)
                if not longer:
                    break
                live, state = longer, state.select(torch.tensor(rows))
            if not complete:
                raise NoToken
            hypotheses = [Hypothesis.of(*prefix, eos, length_penalty) for prefix in complete]
            best.append([max(hypotheses, key=lambda hypothesis: hypothesis.score)])
    return best
