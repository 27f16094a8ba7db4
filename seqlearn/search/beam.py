"""Beam search: several hypotheses for each sentence, the best of all their extensions kept at each step.

`hypotheses` finds at each step which of them are complete; `can_win` asks whether a live one can still win.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxtyping import Int
from torch import Tensor

from ..nn.contract import Model, eval_mode
from ..runtime.devices import send
from ..runtime.values import as_int, token_ids
from .fast_step import fast_step
from .hypotheses import Beams, Extensions, Hypothesis, LengthPenalty, NoToken, Tree, best_tokens
from .lengths import largest_penalties, limits_and_ids, no_penalty


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
    trace: list[Tree] | None = None,
) -> list[list[Hypothesis]]:
    """Extend each of the `width` hypotheses by every token, keep the `width` best of *all* extensions, and so on.

    One hypothesis may have several children among the best, and another none. Complete hypotheses are set aside. The
    search of a sentence ends when every hypothesis is complete, or when no other hypothesis can win any more. No
    log-probability is above 0, so a hypothesis with the sum s cannot reach a beam score above s / (largest penalty of a
    longer length); this bound holds for every positive penalty. A sentence whose search has ended leaves the batch.
    Sutskever et al. (2014), section 3.2; on stopping, Huang et al. (2017).

    Args:
        model, source, source_lens, forbidden, min_length, max_length: see `greedy_search`.
        width: how many hypotheses are kept; with 1, this is greedy search. (A translator searches greedily, unless it
            is asked for a beam: `DEFAULT_BEAM` in `seqlearn.translator`.)
        length_penalty: `no_penalty`, `length_average`, `gnmt(alpha)`, or any positive function of the length.
        n_best: how many hypotheses are returned, at most `width`.
        refill: whether the next best hypothesis replaces a complete one, so that `width` hypotheses are always
            extended. The search may then find more hypotheses, and may continue where greedy search ends.
        trace: a list, to which the search tree of each sentence is added.

    Returns:
        The best complete hypotheses of each sentence, best first; fewer than `n_best` if the search found fewer.

    Raises:
        ValueError: a source is empty, a penalty is not positive, an id is not in the vocabulary, or lengths, width and
            n_best contradict each other; or there is no next token (`NoToken`).
        TypeError: something is of another type.
    """
    if as_int("n_best", n_best) > as_int("width", width):
        raise ValueError(f"a beam of width {width} cannot give the {n_best} best hypotheses")
    limits, forbidden = limits_and_ids(model, source, source_lens, (bos, eos, forbidden), min_length, max_length)
    largest = {limit: largest_penalties(length_penalty, limit) for limit in set(limits)}
    best: list[list[Hypothesis]] = [[] for _ in limits]  # the complete hypotheses of each sentence, best first
    trees = [Tree(hypotheses) for hypotheses in best]
    if not best:
        return []

    def can_win(place: int, total: float, step: int) -> bool:
        """Whether a hypothesis with this sum of log-probabilities can still be among the `n_best`."""
        to_beat = best[place][-1].score if len(best[place]) == n_best else -math.inf
        return total > -math.inf and total / largest[limits[place]][step] > to_beat

    with eval_mode(model):
        state = model.decoder.init_state(model.encoder(source, source_lens))
        decoder = fast_step(model.decoder, state) or model.decoder
        live = list(range(len(source)))  # where in the batch the sentences of `beams` are
        beams = Beams.start(len(source), bos)
        for step in range(1, max(limits) + 1):
            logits, state = decoder(send(beams.tokens[:, :, -1].reshape(-1, 1), source.device), state)
            banned = [*forbidden, eos] if step <= min_length else forbidden
            if step == 1:
                token_ids([eos, *forbidden], logits.shape[-1])
            shown = 1 if trace is None else 2
            candidates = beams.checked(best_tokens(logits[:, -1], width + refill, banned, shown))
            at_limit = [limits[place] == step for place in live]
            extensions = Extensions.of(beams, candidates, width, eos, at_limit, refill)
            for sentence, ids, log_probs in extensions.completed():
                hypotheses = best[live[sentence]]
                hypotheses.append(Hypothesis.of(ids, log_probs, eos, length_penalty))
                hypotheses.sort(key=lambda hypothesis: -hypothesis.score)
                del hypotheses[n_best:]
            totals = extensions.best_totals()
            if any(total == -math.inf and not best[place] for place, total in zip(live, totals, strict=True)):
                raise NoToken
            going = [sentence for sentence, place in enumerate(live) if can_win(place, totals[sentence], step)]
            if trace is not None:
                for sentence, place in enumerate(live):
                    nodes = extensions.nodes(sentence, sentence in going, length_penalty(step))
                    trees[place].steps.append(nodes)
            if not going:
                break
            beams = extensions.pick(going)
            live = [live[sentence] for sentence in going]
            state = state.select(beams.rows.flatten())
    if trace is not None:
        trace.extend(trees)
    return best
