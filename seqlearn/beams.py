"""What a search works with: hypotheses side by side; and what it gives: a hypothesis, and the tree of all it saw."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

LengthPenalty = Callable[[int], float]


@dataclass
class Hypothesis:
    """One candidate translation.

    `tokens` has neither <bos> nor <eos>; `log_probs` has a number for each token and, where `finished`, one for <eos>.
    `penalty` is that of its length. `attention`, if asked for, holds the weights `([heads,] queries, keys)` of every
    attention layer, by its name in the model; the queries of a decoder's layer are the steps of `log_probs`.
    """

    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    finished: bool = False
    penalty: float = 1.0
    attention: dict[str, Tensor] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, ids: Sequence[int], log_probs: Sequence[float], eos: int, length_penalty: LengthPenalty) -> Hypothesis:
        """The hypothesis with these tokens, the last of which may be <eos>."""
        finished = ids[-1] == eos
        tokens = list(ids[:-1] if finished else ids)
        return cls(tokens, list(log_probs), finished, length_penalty(len(ids)))

    @property
    def score(self) -> float:
        """The log-probability of the whole sentence, in nats, divided by the penalty of its length."""
        return sum(self.log_probs) / self.penalty


@dataclass(frozen=True)
class Node:
    """One extension that a beam search considered. Its parent is the node with the same tokens but the last.

    Args:
        tokens: from after <bos> to the new one, <eos> among them.
        log_prob, total: of the new token, and of all of them; in nats.
        score: `total` divided by the penalty of this length.
        fate: "kept" goes on; "complete" is set aside; "beaten" was among the best, but could not win any more; "pruned"
            was not among the best.
    """

    tokens: tuple[int, ...]
    log_prob: float
    total: float
    score: float
    fate: str


@dataclass
class Tree:
    """How one sentence was searched: the extensions that were considered at each step, the largest `total` first.

    Of each hypothesis these are only the likeliest, as many as could be kept. `best` is what was found.
    """

    best: list[Hypothesis]
    steps: list[list[Node]] = field(default_factory=list)


@dataclass
class Beams:
    """Hypotheses of several sentences. Where a sentence has fewer of them than another, `totals` is -inf.

    Args:
        tokens: <bos> first.
        log_probs: of each token; 0 for <bos>.
        totals: their sums.
        rows: the row of the decoder's state that each extends.
    """

    tokens: Int[Tensor, "sentences beams steps"]
    log_probs: Float[Tensor, "sentences beams steps"]
    totals: Float[Tensor, "sentences beams"]
    rows: Int[Tensor, "sentences beams"]

    @classmethod
    def start(cls, sentences: int, bos: int, device: torch.device) -> Beams:
        """One hypothesis for each sentence: <bos>."""
        tokens = torch.full((sentences, 1, 1), bos, device=device)
        zeros = torch.zeros(tokens.shape, device=device)
        return cls(tokens, zeros, zeros[:, :, 0], tokens[:, :, 0])

    def extend(
        self, log_probs: Float[Tensor, "rows candidates"], tokens: Int[Tensor, "rows candidates"], number: int
    ) -> Beams:
        """The best of all extensions of a sentence, best first; `tokens` are those that each hypothesis may go on with.

        A sum that is not above -inf is no extension.
        """
        (sentences, beams), candidates = self.totals.shape, tokens.shape[1]
        totals = (self.totals.reshape(-1, 1) + log_probs).view(sentences, -1)
        totals, places = totals.topk(min(number, beams * candidates))
        lines, parents = _column(range(sentences), tokens.device), places // candidates
        new = (each.view(sentences, -1).gather(1, places).unsqueeze(2) for each in (tokens, log_probs))
        old = (each[lines, parents] for each in (self.tokens, self.log_probs))
        joined = (torch.cat(pair, dim=2) for pair in zip(old, new, strict=True))
        return Beams(*joined, totals, lines * beams + parents)

    def left(
        self, complete: Bool[Tensor, "sentences beams"], width: int
    ) -> tuple[Float[Tensor, "sentences kept"], Int[Tensor, "sentences kept"]]:
        """The `width` best of those that are not complete, best first: their sums, and their places."""
        return self.totals.masked_fill(complete, -math.inf).topk(min(width, complete.shape[1]))

    def pick(self, going: Sequence[int], totals: Tensor, places: Tensor, before: int) -> Beams:
        """Of the sentences that are going on, the hypotheses that `left` found.

        They are no longer sorted: each comes to the place of the one that it extends, unless a sister is there, so that
        the decoder's state has little to move.

        Args:
            before: how many places there were.
        """
        lines = _column(going, places.device)
        if len(going) < len(totals):
            totals, places = totals[going], places[going]
        most = int((totals > -math.inf).sum(1).max())
        totals, places = totals[:, :most], places[:, :most]
        order = _stay(self.rows[lines, places] - lines * before)
        places = places.gather(1, order)
        tokens, log_probs, rows = (each[lines, places] for each in (self.tokens, self.log_probs, self.rows))
        return Beams(tokens, log_probs, totals.gather(1, order), rows)

    def at(self, line: int, place: int) -> tuple[list[int], list[float]]:
        """The tokens of one hypothesis, and their log-probabilities, without <bos>."""
        return self.tokens[line, place, 1:].tolist(), self.log_probs[line, place, 1:].tolist()

    def nodes(self, line: int, fates: dict[tuple[int, ...], str], penalty: float) -> list[Node]:
        """Those of one sentence, as nodes of its tree; the fate of those that are not named is "pruned"."""
        tokens, log_probs, totals = (each[line].tolist() for each in (self.tokens, self.log_probs, self.totals))
        return [
            Node(tuple(ids), log_prob, total, total / penalty, fates.get(tuple(ids), "pruned"))
            for (_, *ids), (*_, log_prob), total in zip(tokens, log_probs, totals, strict=True)
            if total > -math.inf
        ]


def _column(numbers: Sequence[int], device: torch.device) -> Int[Tensor, "sentences 1"]:
    return torch.tensor(numbers, dtype=torch.long, device=device).unsqueeze(1)


def _stay(parents: Int[Tensor, "sentences beams"]) -> Int[Tensor, "sentences beams"]:
    """An order in which the first child of a parent p comes to the place p, and the others where there is room."""
    beams = parents.shape[1]
    sister = (parents.unsqueeze(2) == parents.unsqueeze(1)).tril(-1).any(2)  # one before it has the same parent
    wish = parents.masked_fill(sister | (parents >= beams), beams)  # `beams`: any place
    taken = wish.new_zeros(len(wish), beams + 1).scatter_(1, wish, 1)[:, :beams]
    places = taken.argsort(dim=1, descending=True, stable=True)  # those wished for, then the free ones
    return torch.empty_like(wish).scatter_(1, places, wish.argsort(dim=1, stable=True))


def best_tokens(
    logits: Float[Tensor, "rows vocab"], number: int, forbidden: Sequence[int] = ()
) -> tuple[Float[Tensor, "rows best"], Int[Tensor, "rows best"]]:
    """The `number` likeliest tokens of each row, and as many more as are forbidden: log-probabilities, and ids.

    log p = z - m - log sum exp(z - m), with the logits z and the largest, m: the order is known without a softmax.
    A forbidden token has -inf; the others keep the probability that the model gives them.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    found, tokens = logits.topk(min(number + len(forbidden), logits.shape[1]))
    largest = found[:, :1]
    log_probs = found - largest - (logits - largest).exp_().sum(-1, keepdim=True).log_()
    for token in forbidden:
        log_probs = log_probs.masked_fill(tokens == token, -math.inf)
    return log_probs, tokens


def best_token(
    logits: Float[Tensor, "rows vocab"], forbidden: Sequence[int] = ()
) -> tuple[Float[Tensor, "rows"], Int[Tensor, "rows"]]:
    """The likeliest token of each row that is not forbidden: its log-probability, as the model gives it, and its id."""
    log_probs = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    for token in forbidden:
        log_probs[:, token] = -math.inf
    best, tokens = log_probs.max(-1)
    return best, tokens
