"""Search and sampling: from logits of the next token to sentences, for any model under `seqlearn.nn.contract`.

A search extends hypotheses, prefixes of a translation, token by token. A hypothesis is complete when it ends with <eos>
or is as long as allowed. The best complete hypothesis has the largest

    score = sum of the log-probabilities / penalty(length).

The length counts the tokens, and <eos> if it was reached. Padding is never part of a hypothesis. `sample` does not look
for the best hypothesis: it draws each token from the model's distribution.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor
from tqdm.auto import tqdm

from .beams import Beams, Extensions, Hypothesis, LengthPenalty, Tree, best_token, best_tokens
from .data.batches import pad
from .fast_step import fast_step
from .forced_decoding import forced_decoding
from .nn.contract import Model, eval_mode

Result = TypeVar("Result")
Prefix = tuple[tuple[int, ...], tuple[float, ...]]  # tokens, and their log-probabilities
Choose = Callable[[Tensor, Sequence[int], list[int], int], tuple[Tensor, Tensor]]
"""Takes logits `(rows, vocab)`, ids that may not be chosen, the sentence of each row, and the step, counted from 1.

Returns the log-probability of the chosen token of each row, and its id.
"""


def no_penalty(length: int) -> float:
    """The score is the log-probability of the sentence. Each token lowers it, so short sentences are favoured."""
    return 1.0


def average(length: int) -> float:
    """The score is the mean log-probability of a token."""
    return float(length)


def gnmt(alpha: float = 0.6) -> LengthPenalty:
    """The penalty ((5 + length) / 6)^alpha: Wu et al. (2016), section 7, equation 14. With alpha = 0, no penalty."""
    return lambda length: ((5 + length) / 6) ** alpha


def default_max_length(source_lens: Int[Tensor, "batch"]) -> list[int]:
    """How many tokens each translation may have. The limit depends on its own source, not on the rest of the batch."""
    return [2 * int(length) + 10 for length in source_lens]


def _limits(source_lens: Tensor, min_length: int, max_length: int | None) -> list[int]:
    """How many tokens each translation may have, after a check of the arguments."""
    for sentence, length in enumerate(source_lens.tolist()):
        if length < 1:
            raise ValueError(f"source {sentence} is empty: a source has one token at least, its <eos>")
    if max_length is None:
        return [max(limit, min_length) for limit in default_max_length(source_lens)]
    if max_length < max(1, min_length):
        raise ValueError(f"a translation cannot have at least {min_length} tokens and at most {max_length}")
    return [max_length] * len(source_lens)


def _largest_penalties(length_penalty: LengthPenalty, limit: int) -> list[float]:
    """For each length below `limit`, the largest penalty of a longer hypothesis."""
    penalties = [length_penalty(length) for length in range(1, limit + 1)]
    for length, penalty in enumerate(penalties, 1):
        if not penalty > 0:
            raise ValueError(f"a length penalty is positive; that of length {length} is {penalty}")
    return list(accumulate(reversed(penalties), max))[::-1]


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
    """

    def choose(logits: Tensor, banned: Sequence[int], live: list[int], step: int) -> tuple[Tensor, Tensor]:
        return best_token(logits, banned)

    limits = _limits(source_lens, min_length, max_length)
    return _write(model, source, source_lens, choose, bos, eos, forbidden, min_length, limits)


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
    limits = _limits(source_lens, min_length, max_length)
    seeds = torch.randint(2**62, (len(limits),), generator=generator).tolist()
    own = [torch.Generator().manual_seed(seed) for seed in seeds]
    draws = [torch.rand(most, generator=each) for most, each in zip(limits, own, strict=True)]

    def choose(logits: Tensor, banned: Sequence[int], live: list[int], step: int) -> tuple[Tensor, Tensor]:
        probs = next_distribution(logits, temperature, top_k, top_p, banned).cumsum(-1)
        below = torch.stack([draws[sentence][step - 1] for sentence in live]).unsqueeze(1)
        tokens = torch.searchsorted(probs, below * probs[:, -1:], right=True).squeeze(1).to(logits.device)
        log_probs = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
        return log_probs.gather(1, tokens.unsqueeze(1)).squeeze(1), tokens

    return _write(model, source, source_lens, choose, bos, eos, forbidden, min_length, limits)


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
    divided by its sum. Of two tokens with equal logits, the one with the smaller id counts as likelier.

    Args:
        temperature: above 0. Below 1, likely tokens become likelier still; far above 1, all become equally likely.
        top_k: at least 1; None: all.
        top_p: above 0, at most 1; None: all.

    Raises:
        ValueError: one of these numbers is out of its bounds; or no distribution is left, because the logits hold NaN
            or infinity, or every token is forbidden.
    """
    if not temperature > 0:
        raise ValueError(f"a temperature is above 0, not {temperature}; for the likeliest token, use greedy search")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k is at least 1, not {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p is above 0 and at most 1, not {top_p}")
    logits = logits.cpu().double()
    if forbidden:
        logits = logits.index_fill(-1, torch.tensor(forbidden), -math.inf)
    sharpened = (logits - logits.amax(-1, keepdim=True)) / temperature
    probs, ids = sharpened.softmax(-1).sort(dim=-1, descending=True, stable=True)
    if probs.isnan().any():
        raise ValueError("there is no next token to draw: the logits hold NaN or infinity, or every token is forbidden")
    if top_k is not None:
        probs[..., top_k:] = 0
        probs = probs / probs.sum(-1, keepdim=True)
    if top_p is not None:
        likelier = probs.cumsum(-1) - probs  # the probability of all tokens before this one
        probs = probs.where(likelier < top_p, 0.0)
    return torch.zeros_like(probs).scatter(-1, ids, probs / probs.sum(-1, keepdim=True))


def _write(
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
            log_probs, chosen = choose(logits[:, -1], banned, live, step)
            kept = []
            for row, (log_prob, token) in enumerate(zip(log_probs.tolist(), chosen.tolist(), strict=True)):
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
                rows = torch.tensor(kept, device=source.device)
                live, chosen, state = [live[row] for row in kept], chosen[rows], state.select(rows)
            tokens = chosen.unsqueeze(1)
    return hypotheses


def beam_search(
    model: Model,
    source: Int[Tensor, "batch source"],
    source_lens: Int[Tensor, "batch"],
    *,
    bos: int,
    eos: int,
    width: int = 4,
    length_penalty: LengthPenalty = no_penalty,
    min_length: int = 0,
    max_length: int | None = None,
    n_best: int = 1,
    forbidden: Sequence[int] = (),
    refill: bool = False,
    attention: bool = False,
    trace: list[Tree] | None = None,
) -> list[list[Hypothesis]]:
    """Extend each of the `width` hypotheses by every token, keep the `width` best of *all* extensions, and so on.

    One hypothesis may have several children among the best, and another none. Complete hypotheses are set aside. The
    search of a sentence ends when every hypothesis is complete, or when no other hypothesis can win any more. No
    log-probability is above 0, so a hypothesis with the sum s cannot reach a score above s / (largest penalty of a
    longer length); this bound holds for every positive penalty. A sentence whose search has ended leaves the batch.
    Sutskever et al. (2014), section 3.2; on stopping, Huang et al. (2017).

    Args:
        model, source, source_lens, forbidden, min_length, max_length: see `greedy_search`.
        width: how many hypotheses are kept; with 1, this is greedy search.
        length_penalty: `no_penalty`, `average`, `gnmt(alpha)`, or any positive function of the length.
        n_best: how many hypotheses are returned, at most `width`.
        refill: whether the next best hypothesis replaces a complete one, so that `width` hypotheses are always
            extended. The search may then find more hypotheses, and may continue where greedy search ends.
        attention: whether the hypotheses come with attention weights.
        trace: a list, to which the search tree of each sentence is added.

    Returns:
        The best complete hypotheses of each sentence, best first; fewer than `n_best` if the search found fewer.

    Raises:
        ValueError: a source is empty, a penalty is not positive, or lengths, width and n_best contradict each other.
    """
    if not 1 <= n_best <= width:
        raise ValueError(f"a beam of width {width} cannot give the {n_best} best hypotheses")
    limits = _limits(source_lens, min_length, max_length)
    largest = {limit: _largest_penalties(length_penalty, limit) for limit in set(limits)}
    best: list[list[Hypothesis]] = [[] for _ in limits]  # the complete hypotheses of each sentence, best first
    trees = [Tree(hypotheses) for hypotheses in best]
    if not best:
        return []

    def can_win(sentence: int, total: float, step: int) -> bool:
        """Whether a hypothesis with this sum of log-probabilities can still be among the `n_best`."""
        to_beat = best[sentence][-1].score if len(best[sentence]) == n_best else -math.inf
        return total > -math.inf and total / largest[limits[sentence]][step] > to_beat

    with eval_mode(model):
        state = model.decoder.init_state(model.encoder(source, source_lens))
        decoder = fast_step(model.decoder, state) or model.decoder
        live = list(range(len(source)))  # the sentence that each line of `beams` belongs to
        beams = Beams.start(len(source), bos, source.device)
        for step in range(1, max(limits) + 1):
            logits, state = decoder(beams.tokens[:, :, -1].reshape(-1, 1), state)
            banned = [*forbidden, eos] if step <= min_length else forbidden
            candidates = best_tokens(logits[:, -1], width + refill, banned)
            at_limit = [limits[sentence] == step for sentence in live]
            extensions = Extensions.of(beams, candidates, width, eos, at_limit, refill)
            for line, ids, log_probs in extensions.completed():
                hypotheses = best[live[line]]
                hypotheses.append(Hypothesis.of(ids, log_probs, eos, length_penalty))
                hypotheses.sort(key=lambda hypothesis: -hypothesis.score)
                del hypotheses[n_best:]
            going = [line for line, total in enumerate(extensions.best_totals()) if can_win(live[line], total, step)]
            if trace is not None:
                for line, sentence in enumerate(live):
                    nodes = extensions.nodes(line, line in going, length_penalty(step))
                    trees[sentence].steps.append(nodes)
            if not going:
                break
            beams = extensions.pick(going)
            live = [live[line] for line in going]
            state = state.select(beams.rows.flatten())
    if attention:
        for line, hypotheses in enumerate(best):
            _add_attention(model, source[line : line + 1, : int(source_lens[line])], bos, hypotheses)
    if trace is not None:
        trace.extend(trees)
    return best


def _add_attention(model: Model, source: Tensor, bos: int, hypotheses: Sequence[Hypothesis]) -> None:
    """Give the hypotheses of one sentence their attention weights: the model reads each hypothesis once more."""
    for hypothesis in hypotheses:
        inputs = [bos, *hypothesis.tokens][: len(hypothesis.log_probs)]
        tokens = torch.tensor([inputs], device=source.device)
        forced = forced_decoding(model, source, torch.tensor([source.shape[1]]), tokens)
        hypothesis.attention = {name: weights[0] for name, weights in forced.weights.items()}


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
    """
    limits = _limits(source_lens, min_length, max_length)
    best: list[list[Hypothesis]] = []
    with eval_mode(model):
        for line, limit in enumerate(limits):
            length = source_lens[line : line + 1]
            state = model.decoder.init_state(model.encoder(source[line : line + 1, : int(length)], length))
            live: list[Prefix] = [((), ())]
            complete: list[Prefix] = []
            for step in range(1, limit + 1):
                last = torch.tensor([ids[-1:] or (bos,) for ids, _ in live], device=source.device)
                logits, state = model.decoder(last, state)
                words = sorted({*range(logits.shape[-1])} - {*forbidden})
                if len(words) ** limit > most:
                    power = limit * math.log10(len(words))
                    raise ValueError(f"{len(words):,} tokens make 10^{power:.0f} sentences of {limit}: too many to try")
                longer, rows = [], []
                for row, gains in enumerate(logits[:, -1].log_softmax(-1).tolist()):
                    for token in words:
                        prefix = (*live[row][0], token), (*live[row][1], gains[token])
                        if token != eos and step < limit:
                            longer.append(prefix)
                            rows.append(row)
                        elif token != eos or step > min_length:
                            complete.append(prefix)
                if not longer:
                    break
                live, state = longer, state.select(torch.tensor(rows, device=source.device))
            hypotheses = [Hypothesis.of(*prefix, eos, length_penalty) for prefix in complete]
            best.append(sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best])
    return best


def in_batches(
    search: Callable[[Tensor, Tensor], list[Result]],
    sentences: Sequence[Sequence[int]],
    pad_id: int,
    batch_size: int = 64,
    progress: bool | None = None,
) -> list[Result]:
    """The result of `search` for each sentence, in the order given. Sentences of similar length share a batch.

    Args:
        search: takes padded ids and valid lengths, and returns one result for each sentence.
        sentences: ids of the sources.
        progress: whether to show a bar; default: from 1,000 sentences on.

    Raises:
        ValueError: the batch size is not at least 1.
    """
    if batch_size < 1:
        raise ValueError(f"a batch has at least one sentence, not {batch_size}")
    order = sorted(range(len(sentences)), key=lambda index: len(sentences[index]))
    results: dict[int, Result] = {}
    wanted = len(sentences) >= 1000 if progress is None else progress
    is_off = not wanted or bool(os.environ.get("TQDM_DISABLE"))  # tqdm's own switch, which its notebook bar ignores
    with tqdm(total=len(sentences), unit="sentence", leave=False, disable=is_off) as bar:
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            results.update(zip(rows, search(*pad([sentences[row] for row in rows], pad_id)), strict=True))
            bar.update(len(rows))
    return [results[index] for index in range(len(sentences))]
