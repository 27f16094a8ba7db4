"""One hypothesis for each sentence, written token by token: the likeliest next token, or one that is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..nn.contract import Model, eval_mode
from ..runtime.devices import send, to_list
from ..runtime.values import as_int, token_ids
from .fast_step import fast_step
from .hypotheses import Candidates, Hypothesis, NoToken, best_tokens
from .lengths import limits_and_ids

Choose = Callable[[Tensor, Sequence[int], list[int], int], Candidates]
"""Takes logits `(rows, vocab)`, ids that may not be chosen, the sentence of each row, and the step, counted from 1.

Returns one candidate for each row.
"""


def greedy_search(
    model: Model,
    source: Int[Tensor, "batch source"],
    source_lens: Int[Tensor, "batch"],
    *,
    bos: int,
    eos: int,
    forbidden: Sequence[int] = (),
    min_length: int = 0,
    max_length: int | None = None,
) -> list[Hypothesis]:
    """Choose the likeliest next token, again and again, until <eos>. Finished sentences leave the batch.

    Args:
        model: has `encoder` and `decoder` (see `seqlearn.nn.contract`).
        source, source_lens: padded ids and valid lengths.
        forbidden: ids that are never chosen (<pad>, <bos>).
        min_length: the least number of tokens before <eos>.
        max_length: the largest number of tokens, the same for all sentences; default: see `default_max_length`.

    Raises:
        ValueError: a source is empty or longer than its row, the lengths contradict each other, or an id is not in the
            vocabulary; or there is no next token (`NoToken`).
        TypeError: something is of another type.
    """

    def choose(logits: Tensor, banned: Sequence[int], live: list[int], step: int) -> Candidates:
        return best_tokens(logits, 1, banned)

    limits, forbidden = limits_and_ids(model, source, source_lens, (bos, eos, forbidden), min_length, max_length)
    return generate(model, source, source_lens, choose, bos, eos, forbidden, min_length, limits)


def sample(
    model: Model,
    source: Int[Tensor, "batch source"],
    source_lens: Int[Tensor, "batch"],
    *,
    bos: int,
    eos: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
    forbidden: Sequence[int] = (),
    min_length: int = 0,
    max_length: int | None = None,
) -> list[Hypothesis]:
    """Draw each next token from the model's distribution, filtered by `next_distribution`, until <eos>.

    Each sentence has random numbers of its own. So its sample does not depend on the other sentences of the batch, and
    one call with many sentences gives the samples of many calls with one sentence each.

    Args:
        model, source, source_lens, forbidden, min_length, max_length: see `greedy_search`.
        temperature, top_k, top_p: see `next_distribution`. `top_k=1` is greedy search.
        generator: on the CPU; it gives one seed to each sentence. Default: torch's own.

    Returns:
        A hypothesis for each sentence. Its log-probabilities are the model's own: temperature 1, nothing filtered.
    """
    limits, forbidden = limits_and_ids(model, source, source_lens, (bos, eos, forbidden), min_length, max_length)
    seeds = to_list(torch.randint(2**62, (len(limits),), generator=generator))
    own = [torch.Generator().manual_seed(seed) for seed in seeds]
    draws = [torch.rand(most, generator=each) for most, each in zip(limits, own, strict=True)]

    def choose(logits: Tensor, banned: Sequence[int], live: list[int], step: int) -> Candidates:
        logits = logits.cpu()
        probs = next_distribution(logits, temperature, top_k, top_p, banned).cumsum(-1)
        below = torch.stack([draws[sentence][step - 1] for sentence in live]).unsqueeze(1)
        tokens = torch.searchsorted(probs, below * probs[:, -1:], right=True)
        log_probs = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
        return log_probs.gather(1, tokens), tokens

    return generate(model, source, source_lens, choose, bos, eos, forbidden, min_length, limits)


def next_distribution(
    logits: Float[Tensor, "*batch vocab"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    forbidden: Sequence[int] = (),
) -> Float[Tensor, "*batch vocab"]:
    """The distribution from which `sample` draws the next token: on the CPU, in float64, which not every GPU has.

    In this order: forbidden tokens are removed; the logits are divided by the temperature; all but the `top_k`
    likeliest tokens are removed (Fan et al., 2018, section 5.4); then all tokens outside the nucleus, the smallest set
    of likeliest tokens with a probability of `top_p` at least (Holtzman et al., 2020, section 3.1). What is left is
    divided by its sum. If two tokens have equal logits, the one with the smaller id counts as likelier.

    Args:
        temperature: above 0. Below 1, likely tokens become likelier still; far above 1, all become equally likely.
        top_k: at least 1; None: all.
        top_p: above 0, at most 1; None: all.

    Raises:
        ValueError: one of these numbers is out of its bounds; or no distribution is left, because the logits hold NaN
            or infinity, or every token is forbidden (`NoToken`).
    """
    if not 0 < temperature < math.inf:
        raise ValueError(f"a temperature is above 0, not {temperature}; for the likeliest token, use greedy search")
    top_k = None if top_k is None else as_int("top_k", top_k)
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p is above 0 and at most 1, not {top_p}")
    logits = logits.cpu().double()
    if not (logits < math.inf).all():
        raise NoToken
    if banned := token_ids(forbidden, logits.shape[-1]):
        logits = logits.index_fill(-1, torch.tensor(banned), -math.inf)
    sharpened = (logits - logits.amax(-1, keepdim=True)) / temperature
    probs, ids = sharpened.softmax(-1).sort(dim=-1, descending=True, stable=True)
    if probs.isnan().any():
        raise NoToken
    if top_k is not None:
        probs[..., top_k:] = 0
        probs = probs / probs.sum(-1, keepdim=True)
    if top_p is not None:
        likelier = probs.cumsum(-1) - probs  # the probability of all tokens before this one
        probs = probs.where(likelier < top_p, 0.0)
    return torch.zeros_like(probs).scatter(-1, ids, probs / probs.sum(-1, keepdim=True))


def generate(
    model: Model,
    source: Int[Tensor, "batch source"],
    source_lens: Int[Tensor, "batch"],
    choose: Choose,
    bos: int,
    eos: int,
    forbidden: Sequence[int],
    min_length: int,
    limits: list[int],
) -> list[Hypothesis]:
    """One hypothesis for each sentence, token by token. `limits`: how many tokens each may have."""
    hypotheses = [Hypothesis() for _ in limits]
    if not hypotheses:
        return []
    with eval_mode(model):
        state = model.decoder.init_state(model.encoder(source, source_lens))
        decoder = fast_step(model.decoder, state) or model.decoder
        tokens = torch.full((len(source), 1), bos, device=source.device)
        live = list(range(len(source)))  # the sentence that each row of the state belongs to
        for step in range(1, max(limits) + 1):
            logits, state = decoder(tokens, state)
            banned = [*forbidden, eos] if step <= min_length else forbidden
            if step == 1:
                token_ids([eos, *forbidden], logits.shape[-1])
            log_probs, chosen = choose(logits[:, -1], banned, live, step)
            kept: list[int] = []
            for row, ((log_prob,), (token,)) in enumerate(zip(to_list(log_probs), to_list(chosen), strict=True)):
                if not log_prob > -math.inf:
                    raise NoToken
                hypothesis = hypotheses[live[row]]
                hypothesis.log_probs.append(log_prob)
                hypothesis.finished = token == eos
                if not hypothesis.finished:
                    hypothesis.tokens.append(token)
                    if step < limits[live[row]]:
                        kept.append(row)
            if not kept:
                break
            if len(kept) < len(live):
                rows = torch.tensor(kept)
                live, chosen, state = [live[row] for row in kept], chosen[rows], state.select(rows)
            tokens = send(chosen, source.device)
    return hypotheses
