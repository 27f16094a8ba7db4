"""The data of a search: hypotheses side by side, their extensions, and the search tree.

All of these tensors are small, and on the CPU: the model's device computes logits, and `best_tokens` fetches from it
what a step needs. The CPU waits for its device once in each step, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..runtime.devices import to_list

LengthPenalty = Callable[[int], float]
"""Takes the length of a hypothesis; returns the number, above 0, that divides the log-probability."""


class NoToken(ValueError):
    """No hypothesis can be extended: the distribution of the next token is not one, or no token is left."""

    def __init__(self):
        super().__init__("there is no next token: the logits hold NaN or infinity, or every token is forbidden")


Candidates = tuple[Float[Tensor, "rows candidates"], Int[Tensor, "rows candidates"]]
"""Log-probabilities and ids of the tokens that each hypothesis may be extended by, on the CPU."""


@dataclass
class Hypothesis:
    """One candidate translation.

    Args:
        tokens: ids, without <bos> and <eos>.
        log_probs: one for each token and, if the hypothesis is `finished`, one for <eos>; in nats.
        finished: whether <eos> was reached.
        penalty: the length penalty of this length.
    """

    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    finished: bool = False
    penalty: float = 1.0

    @classmethod
    def of(cls, ids: Sequence[int], log_probs: Sequence[float], eos: int, length_penalty: LengthPenalty) -> Hypothesis:
        """The hypothesis with these tokens, the last of which may be <eos>."""
        finished = ids[-1] == eos
        tokens = list(ids[:-1] if finished else ids)
        return cls(tokens, list(log_probs), finished, length_penalty(len(ids)))

    @property
    def score(self) -> float:
        """The log-probability of the whole sentence, in nats, divided by the length penalty."""
        return sum(self.log_probs) / self.penalty


@dataclass(frozen=True)
class Node:
    """One extension that a beam search considered. Its parent is the node with the same tokens, without the last one.

    Args:
        tokens: everything after <bos>, up to the new token; <eos> may be the last one.
        log_prob, total: the log-probability of the new token, and of all tokens together; in nats.
        score: `total` divided by the penalty of this length.
        fate: "kept" is extended at the next step; "complete" is set aside; "beaten" was among the best, but could not
            win any more; "pruned" was not among the best.
    """

    tokens: tuple[int, ...]
    log_prob: float
    total: float
    score: float
    fate: str


@dataclass
class Tree:
    """How one sentence was searched: the extensions that were considered at each step, the largest `total` first.

    Each hypothesis has only its likeliest extensions here: as many as could be kept, and at least 2. `best` is the
    result of the search.
    """

    best: list[Hypothesis]
    steps: list[list[Node]] = field(default_factory=list)


@dataclass
class Beams:
    """Hypotheses of several sentences, side by side. Unused entries have a total of -inf.

    In this module, a sentence is an index in these tensors, and a row is the index of a hypothesis in the state of the
    decoder: row = sentence * beams + index of the hypothesis.

    Args:
        tokens: the ids, <bos> first.
        log_probs: of each token; 0 for <bos>.
        totals: the sums of the log-probabilities.
        rows: the row of the hypothesis that was extended by the last token.
    """

    tokens: Int[Tensor, "sentences beams steps"]
    log_probs: Float[Tensor, "sentences beams steps"]
    totals: Float[Tensor, "sentences beams"]
    rows: Int[Tensor, "sentences beams"]

    @classmethod
    def start(cls, sentences: int, bos: int) -> Beams:
        """One hypothesis for each sentence: <bos>."""
        tokens = torch.full((sentences, 1, 1), bos)
        zeros = torch.zeros(tokens.shape)
        return cls(tokens, zeros, zeros[:, :, 0], tokens[:, :, 0])

    def checked(self, candidates: Candidates) -> Candidates:
        """The candidates; those of unused entries, which may be NaN, get a log-probability of -inf.

        Raises:
            NoToken: a candidate of a hypothesis is NaN.
        """
        log_probs, tokens = candidates
        if not (wrong := log_probs.isnan()).any():
            return candidates
        if wrong[self.totals.flatten() > -math.inf].any():
            raise NoToken
        return log_probs.masked_fill(wrong, -math.inf), tokens

    def extend(self, candidates: Candidates, number: int) -> Beams:
        """The best of all extensions of each sentence, best first. An extension with a total of -inf does not count.

        Args:
            candidates: log-probabilities and ids of the tokens that each hypothesis may be extended by.
            number: how many extensions of a sentence are wanted.
        """
        (log_probs, tokens), (sentences, beams) = candidates, self.totals.shape
        per_beam = tokens.shape[1]
        totals = (self.totals.reshape(-1, 1) + log_probs).view(sentences, -1)
        totals, chosen = _largest(totals, min(number, beams * per_beam))
        each_sentence, parents = torch.arange(sentences).unsqueeze(1), chosen // per_beam
        new = (each.view(sentences, -1).gather(1, chosen).unsqueeze(2) for each in (tokens, log_probs))
        old = (each[each_sentence, parents] for each in (self.tokens, self.log_probs))
        all_tokens, all_log_probs = (torch.cat(pair, dim=2) for pair in zip(old, new, strict=True))
        return Beams(all_tokens, all_log_probs, totals, each_sentence * beams + parents)

    def at(self, sentence: int, index: int) -> tuple[list[int], list[float]]:
        """The tokens of one hypothesis, and their log-probabilities, without <bos>."""
        return to_list(self.tokens[sentence, index, 1:]), to_list(self.log_probs[sentence, index, 1:])


@dataclass
class Extensions:
    """One step of a beam search: the best extensions of every sentence, sorted into complete ones and others.

    Args:
        before: the hypotheses that were extended.
        candidates: the tokens that could extend them.
        best: the best extensions of each sentence, best first.
        complete: which of the best extensions are complete.
        width: how many extensions of a sentence may be kept.
        totals, chosen: the sums, and the indices in `best`, of the `width` best extensions that are not complete.
    """

    before: Beams
    candidates: Candidates
    best: Beams
    complete: Bool[Tensor, "sentences best"]
    width: int
    totals: Float[Tensor, "sentences kept"]
    chosen: Int[Tensor, "sentences kept"]

    @classmethod
    def of(
        cls, beams: Beams, candidates: Candidates, width: int, eos: int, at_limit: Sequence[bool], refill: bool = False
    ) -> Extensions:
        """Extend every hypothesis.

        Args:
            at_limit: for each sentence, whether its extensions are as long as allowed, and so all complete.
            refill: whether the next best extension replaces a complete one.
        """
        best = beams.extend(candidates, width * (1 + refill))
        all_complete = torch.tensor(at_limit).unsqueeze(1)
        complete = ((best.tokens[:, :, -1] == eos) | all_complete) & (best.totals > -math.inf)
        totals, chosen = best.totals.masked_fill(complete, -math.inf).topk(min(width, complete.shape[1]))
        return cls(beams, candidates, best, complete, width, totals, chosen)

    def completed(self) -> Iterator[tuple[int, list[int], list[float]]]:
        """Yield the complete extensions among the `width` best: the sentence, tokens, and their log-probabilities."""
        for sentence, index in to_list(self.complete[:, : self.width].nonzero()):
            yield sentence, *self.best.at(sentence, index)

    def best_totals(self) -> list[float]:
        """For each sentence, the largest sum of an extension that is not complete; -inf if all are complete."""
        return to_list(self.totals[:, 0])

    def pick(self, going: Sequence[int]) -> Beams:
        """The kept extensions of the sentences whose search continues (`going`), best first."""
        sentences, best = torch.tensor(going).unsqueeze(1), self.best
        most = int((self.totals[going] > -math.inf).sum(1).max())
        totals, chosen = self.totals[going, :most], self.chosen[going, :most]
        tokens, log_probs, rows = (each[sentences, chosen] for each in (best.tokens, best.log_probs, best.rows))
        return Beams(tokens, log_probs, totals, rows)

    def nodes(self, sentence: int, goes_on: bool, penalty: float) -> list[Node]:
        """All extensions of one sentence that were considered, as nodes of its tree.

        Args:
            goes_on: whether the search of this sentence continues.
            penalty: the length penalty of the current length.
        """
        kept = to_list(self.chosen[sentence, self.totals[sentence] > -math.inf])
        fates = dict.fromkeys(kept, "kept" if goes_on else "beaten")
        fates |= dict.fromkeys(to_list(self.complete[sentence, : self.width].nonzero()[:, 0]), "complete")
        fate_of = {tuple(self.best.at(sentence, index)[0]): fate for index, fate in fates.items()}
        considered = self._considered
        rows = (to_list(each[sentence]) for each in (considered.tokens, considered.log_probs, considered.totals))
        return [
            Node(tuple(ids), log_prob, total, total / penalty, fate_of.get(tuple(ids), "pruned"))
            for (_, *ids), (*_, log_prob), total in zip(*rows, strict=True)
            if total > -math.inf
        ]

    @cached_property
    def _considered(self) -> Beams:
        """Every extension by a candidate, the pruned ones too."""
        return self.before.extend(self.candidates, self.candidates[1].numel())


def best_tokens(
    logits: Float[Tensor, "rows vocab"], number: int, forbidden: Sequence[int] = (), shown: int = 1
) -> Candidates:
    """The `number` likeliest tokens of each row that are not forbidden: the model's log-probabilities, and the ids.

    Args:
        shown: how many there are at least, for a tree, which also has who is pruned.
    """
    log_probs = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    for token in forbidden:
        log_probs[:, token] = -math.inf
    if number < shown:
        return fetch(*(each[:, :shown] for each in log_probs.sort(dim=-1, descending=True, stable=True)))
    return fetch(*_largest(log_probs, min(number, logits.shape[1])))


def _largest(numbers: Float[Tensor, "rows numbers"], number: int) -> tuple[Tensor, Tensor]:
    """The largest numbers of each row, and where they are; of equal ones the first, which topk does not promise."""
    return numbers.max(-1, keepdim=True) if number == 1 else numbers.topk(number)


def fetch(log_probs: Float[Tensor, "rows candidates"], ids: Int[Tensor, "rows candidates"]) -> Candidates:
    """Both on the CPU, fetched at once: the CPU waits for its device once. An id below 2^24 is exact in float32."""
    both = torch.stack([log_probs, ids.to(log_probs.dtype)]).cpu()
    return both[0], both[1].long()
