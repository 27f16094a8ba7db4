"""Search: from scores of the next token to whole sentences. Knows the encoder/decoder contract, no model class.

A search extends hypotheses, beginnings of a translation, token by token. One that ends with <eos>, or is as long as
allowed, is complete. Of the complete ones the best has the largest

    score = sum of the log-probabilities / penalty(length).

The length counts the tokens and, where it was reached, <eos>. Padding is never part of a hypothesis.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, count
from typing import TypeVar

import torch
from jaxtyping import Int
from torch import Tensor, nn
from tqdm.auto import tqdm

from .beams import Beams, Hypothesis, LengthPenalty, Tree, best_token, best_tokens
from .data.batches import pad
from .nn.attention import record_attention

Found = TypeVar("Found")


def no_penalty(length: int) -> float:
    """The score is the log-probability of the sentence. Each token lowers it, so it favours short sentences."""
    return 1.0


def average(length: int) -> float:
    """The score is the mean log-probability of a token."""
    return float(length)


def gnmt(alpha: float = 0.6) -> LengthPenalty:
    """Between the two, ((5 + length) / 6)^alpha: Wu et al. (2016), section 7, equation 14. With 0, no penalty."""
    return lambda length: ((5 + length) / 6) ** alpha


def default_max_length(source_lens: Int[Tensor, "batch"]) -> list[int]:
    """How long a translation may become: by its own source alone, so that batch mates change nothing."""
    return [2 * int(length) + 10 for length in source_lens]


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """In eval mode and without gradients; afterwards the parts of the model that were in training are so again."""
    training = [part for part in model.modules() if part.training]
    if training:
        model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for part in training:  # and no other: a frozen part of a model in training stays frozen
            part.training = True


def _limits(source_lens: Tensor, min_length: int, max_length: int | None) -> list[int]:
    """The most tokens of each sentence."""
    for sentence, length in enumerate(source_lens.tolist()):
        if length < 1:
            raise ValueError(f"source {sentence} is empty: a source has one token at least, its <eos>")
    if max_length is None:
        return [max(limit, min_length) for limit in default_max_length(source_lens)]
    if max_length < max(1, min_length):
        raise ValueError(f"a translation cannot have {min_length} tokens at least and {max_length} at most")
    return [max_length] * len(source_lens)


def _largest_to_come(length_penalty: LengthPenalty, limit: int) -> list[float]:
    """For each length below `limit`, the largest penalty of a longer one."""
    penalties = [length_penalty(length) for length in range(1, limit + 1)]
    for length, penalty in enumerate(penalties, 1):
        if not penalty > 0:
            raise ValueError(f"a length penalty is positive; that of length {length} is {penalty}")
    return list(accumulate(reversed(penalties), max))[::-1]


def greedy_search(
    model: nn.Module,
    source: Int[Tensor, "batch source"],
    source_lens: Int[Tensor, "batch"],
    *,
    bos: int,
    eos: int,
    forbidden: Sequence[int] = (),
    min_length: int = 0,
    max_length: int | None = None,
) -> list[Hypothesis]:
    """The likeliest next token, again and again, until <eos>. Finished sentences leave the batch.

    Args:
        model: has `encoder` and `decoder` (see `seqlearn.nn.seq2seq`).
        source, source_lens: padded ids and valid lengths.
        forbidden: ids that are never chosen (<pad>, <bos>).
        min_length: tokens at least, before <eos>.
        max_length: tokens at most, the same for all; default: see `default_max_length`.
    """
    limits = _limits(source_lens, min_length, max_length)
    hypotheses = [Hypothesis() for _ in limits]
    if not hypotheses:
        return []
    with eval_mode(model):
        state = model.decoder.init_state(model.encoder(source, source_lens))
        tokens = torch.full((len(source), 1), bos, device=source.device)
        live = list(range(len(source)))  # the sentence that each row of the state belongs to
        for step in count(1):
            logits, state = model.decoder(tokens, state)
            log_probs, chosen = best_token(logits[:, -1], [*forbidden, eos] if step <= min_length else forbidden)
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
                return hypotheses
            if len(kept) < len(live):
                rows = torch.tensor(kept, device=source.device)
                live, chosen, state = [live[row] for row in kept], chosen[rows], state.select(rows)
            tokens = chosen.unsqueeze(1)


def beam_search(
    model: nn.Module,
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

    One hypothesis may leave several children, and another none. What is complete is set aside. A sentence is done when
    nothing is left, or nothing that is left can win: as no log-probability is above 0, a sum s can at best become the
    score s / (largest penalty of a longer length). That is right for every penalty, as long as it is positive. Done
    sentences leave the batch. Sutskever et al. (2014), section 3.2; on stopping, Huang et al. (2017).

    Args:
        model, source, source_lens, forbidden, min_length, max_length: see `greedy_search`.
        width: how many hypotheses are kept; with 1, this is greedy search.
        length_penalty: `no_penalty`, `average`, `gnmt(alpha)`, or any positive function of the length.
        n_best: how many hypotheses are returned, at most `width`.
        refill: a complete hypothesis gives its place to the next best one, so that `width` go on. This may find more,
            and may go on where greedy search ends.
        attention: whether the hypotheses come with attention weights.
        trace: a list, to which the search tree of each sentence is added.

    Returns:
        The best complete hypotheses of each sentence, best first; fewer than `n_best` where no more were met.

    Raises:
        ValueError: a source is empty, a penalty is not positive, or lengths, width and n_best contradict each other.
    """
    if not 1 <= n_best <= width:
        raise ValueError(f"a beam of width {width} cannot give the {n_best} best hypotheses")
    limits = _limits(source_lens, min_length, max_length)
    largest = {limit: _largest_to_come(length_penalty, limit) for limit in set(limits)}
    found: list[list[Hypothesis]] = [[] for _ in limits]
    trees = [Tree(best) for best in found]
    if not found:
        return []
    with eval_mode(model):
        state = model.decoder.init_state(model.encoder(source, source_lens))
        live = list(range(len(source)))  # the sentence that each line of `beams` belongs to
        beams = Beams.start(len(source), bos, source.device)
        for step in range(1, max(limits) + 1):
            logits, state = model.decoder(beams.tokens[:, :, -1].reshape(-1, 1), state)
            banned = [*forbidden, eos] if step <= min_length else forbidden
            candidates = best_tokens(logits[:, -1], width + refill, banned)
            extensions = beams.extend(*candidates, width * (1 + refill))  # best first

            # What is complete is set aside.
            at_limit = torch.tensor([[limits[sentence] == step] for sentence in live], device=source.device)
            complete = ((extensions.tokens[:, :, -1] == eos) | at_limit) & (extensions.totals > -math.inf)
            for line, place in complete[:, :width].nonzero().tolist():
                best = found[live[line]]
                best.append(Hypothesis.of(*extensions.at(line, place), eos, length_penalty))
                best.sort(key=lambda hypothesis: -hypothesis.score)
                del best[n_best:]

            # What is left goes on in the sentences where it can still win.
            totals, places = extensions.left(complete, width)
            going = []
            for line, (sentence, total) in enumerate(zip(live, totals[:, 0].tolist(), strict=True)):
                to_beat = found[sentence][-1].score if len(found[sentence]) == n_best else -math.inf
                if total > -math.inf and total / largest[limits[sentence]][step] > to_beat:
                    going.append(line)
            if trace is not None:
                considered = beams.extend(*candidates, candidates[1].numel())
                for line, sentence in enumerate(live):
                    kept = places[line, totals[line] > -math.inf].tolist()
                    fates = dict.fromkeys(kept, "kept" if line in going else "beaten")
                    fates |= dict.fromkeys(complete[line, :width].nonzero()[:, 0].tolist(), "complete")
                    named = {tuple(extensions.at(line, place)[0]): fate for place, fate in fates.items()}
                    trees[sentence].steps.append(considered.nodes(line, named, length_penalty(step)))
            if not going:
                break

            beams = extensions.pick(going, totals, places, beams.totals.shape[1])
            live = [live[line] for line in going]
            state = state.select(beams.rows.flatten())
        for line, best in enumerate(found if attention else ()):
            _attend(model, source[line : line + 1, : int(source_lens[line])], bos, best)
    if trace is not None:
        trace.extend(trees)
    return found


def _attend(model: nn.Module, source: Tensor, bos: int, hypotheses: Sequence[Hypothesis]) -> None:
    """Give the hypotheses of one sentence their attention weights, by reading them again, each by itself."""
    for hypothesis in hypotheses:
        inputs = [bos, *hypothesis.tokens][: len(hypothesis.log_probs)]
        with record_attention(model) as record:
            state = model.decoder.init_state(model.encoder(source, torch.tensor([source.shape[1]])))
            model.decoder(torch.tensor([inputs], device=source.device), state)
        # A layer that is called for each token recorded one row each time.
        with torch.inference_mode(False):  # tensors like any others, for whoever computes with them
            hypothesis.attention = {name: torch.cat(rows, dim=-2)[0].cpu() for name, rows in record.items() if rows}


def exhaustive_search(
    model: nn.Module,
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
    """The best of all sentences there are: for tiny vocabularies, to see what other searches miss.

    Args: see `beam_search`; and
        most: so many sentences may be tried.

    Raises:
        ValueError: there are more than `most`.
    """
    limits = _limits(source_lens, min_length, max_length)
    found: list[list[Hypothesis]] = []
    with eval_mode(model):
        for line, limit in enumerate(limits):
            length = source_lens[line : line + 1]
            state = model.decoder.init_state(model.encoder(source[line : line + 1, : int(length)], length))
            live, complete = [((), ())], []  # the tokens and the log-probabilities of each beginning
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
                        beginning = (*live[row][0], token), (*live[row][1], gains[token])
                        if token != eos and step < limit:
                            longer.append(beginning)
                            rows.append(row)
                        elif token != eos or step > min_length:
                            complete.append(beginning)
                if not longer:
                    break
                live, state = longer, state.select(torch.tensor(rows, device=source.device))
            hypotheses = [Hypothesis.of(*beginning, eos, length_penalty) for beginning in complete]
            found.append(sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best])
    return found


def in_batches(
    search: Callable[[Tensor, Tensor], list[Found]],
    sentences: Sequence[Sequence[int]],
    pad_id: int,
    batch_size: int = 64,
    progress: bool | None = None,
) -> list[Found]:
    """What `search` finds for each sentence, in the order given; sentences of like length are searched together.

    Args:
        search: takes padded ids and valid lengths, and returns something for each of them.
        sentences: ids of the sources.
        progress: whether to show a bar; default: from 1,000 sentences on.
    """
    order = sorted(range(len(sentences)), key=lambda index: len(sentences[index]))
    found: dict[int, Found] = {}
    shown = len(sentences) >= 1000 if progress is None else progress
    hidden = not shown or bool(os.environ.get("TQDM_DISABLE"))  # tqdm's own switch, which its notebook bar overlooks
    with tqdm(total=len(sentences), unit="sentence", leave=False, disable=hidden) as bar:
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            found.update(zip(rows, search(*pad([sentences[row] for row in rows], pad_id)), strict=True))
            bar.update(len(rows))
    return [found[index] for index in range(len(sentences))]
