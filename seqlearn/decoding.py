"""Search: from scores of the next token to whole sentences. Knows the encoder/decoder contract, no model class."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from jaxtyping import Int
from torch import Tensor, nn


@dataclass
class Hypothesis:
    """One candidate translation.

    `tokens` has neither <bos> nor <eos>; `log_probs` has a number for each token and, where `finished`, one for <eos>.
    """

    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    finished: bool = False

    @property
    def score(self) -> float:
        """The log-probability of the whole sentence, in nats."""
        return sum(self.log_probs)


def default_max_length(source_lens: Int[Tensor, "batch"]) -> list[int]:
    """How long a translation may become: by its own source alone, so that batch mates change nothing."""
    return [2 * int(length) + 10 for length in source_lens]


@contextmanager
def _eval_mode(model: nn.Module):
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)


def greedy_search(
    model: nn.Module,
    source: Int[Tensor, "batch source"],
    source_lens: Int[Tensor, "batch"],
    *,
    bos: int,
    eos: int,
    forbidden: Sequence[int] = (),
    max_length: int | None = None,
) -> list[Hypothesis]:
    """The likeliest next token, again and again, until <eos>. Finished sentences leave the batch.

    Args:
        model: has `encoder` and `decoder` (see `seqlearn.nn.seq2seq`).
        source, source_lens: padded ids and valid lengths.
        forbidden: ids that are never chosen (<pad>, <bos>).
        max_length: tokens at most, the same for all; default: see `default_max_length`.
    """
    limits = default_max_length(source_lens) if max_length is None else [max_length] * len(source)
    hypotheses = [Hypothesis() for _ in limits]
    with _eval_mode(model):
        state = model.decoder.init_state(model.encoder(source, source_lens))
        tokens = torch.full((len(source), 1), bos, device=source.device)
        live = list(range(len(source)))  # the sentence that each row of the state belongs to
        while live:
            logits, state = model.decoder(tokens, state)
            log_probs = logits[:, -1].log_softmax(-1)
            log_probs[:, list(forbidden)] = float("-inf")
            best, chosen = log_probs.max(-1)
            kept = []
            for row, (sentence, log_prob, token) in enumerate(zip(live, best.tolist(), chosen.tolist(), strict=True)):
                hypothesis = hypotheses[sentence]
                hypothesis.log_probs.append(log_prob)
                hypothesis.finished = token == eos
                if not hypothesis.finished:
                    hypothesis.tokens.append(token)
                    if len(hypothesis.tokens) < limits[sentence]:
                        kept.append(row)
            if len(kept) < len(live):
                rows = torch.tensor(kept, dtype=torch.long, device=source.device)
                live, chosen, state = [live[row] for row in kept], chosen[rows], state.select(rows)
            tokens = chosen.unsqueeze(1)
    return hypotheses
