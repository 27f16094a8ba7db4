"""For exercise 10.1: a decoder that remembers every word, and a beam search by plain loops.

Nothing of what the lesson is about is imported.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .checking import Wrong
from .plain import Answer

FIRST_TOKENS = 0, 4  # seeds of decoders: the likeliest first token of one is 0, of the other 4
TOY_BOS, TOY_EOS, TOY_WORDS = 3, 1, 6  # not the ids of the lesson, so that nobody writes them down
PENALTIES: dict[str, Callable[[int], float]] = {
    "none": lambda length: 1.0,
    "average": float,
    "GNMT, 0.6": lambda length: ((5 + length) / 6) ** 0.6,
}
CASES = (  # seed of the decoder, width, longest, penalty: each mistake below shows in one of them
    (7, 3, 6, "average"),
    (40, 2, 5, "GNMT, 0.6"),
    (7, 2, 6, "average"),
    (3, 2, 5, "average"),
    (5, 1, 5, "none"),
    (503, 3, 6, "average"),
    (37, 2, 6, "average"),
    (6, 500, 4, "none"),
    (8, 6, 4, "average"),
    (29, 2, 6, "average"),
    (3, 2, 5, "none"),  # a long one wins; <eos> wins in the first step
)


def toy_logits(seed: int, read: tuple[int, ...]) -> list[float]:
    """What the decoder of the check says after these words: `bos` never, and nothing after an impossible word."""
    if TOY_BOS in read:
        return [-math.inf] * TOY_WORDS
    draws = random.Random(f"{seed} {read}")
    shift = draws.uniform(-3, 3)  # logits are no log-probabilities
    logits = [shift + 1.5 * draws.gauss(0, 1) for _ in range(TOY_WORDS)]
    logits[TOY_EOS] += 0.7 * len(read) - 1.5  # the longer the sentence, the likelier its end
    return [-math.inf if token == TOY_BOS else logit for token, logit in enumerate(logits)]


class ToyState:
    """The words that each row has read. `select` keeps rows, as the states of the package do."""

    def __init__(self, rows: Sequence[tuple[int, ...]] | None = None, likeliest: Sequence[int] = ()):
        self.rows: list[tuple[int, ...]] | None = None if rows is None else list(rows)  # None: not even <bos>
        self.likeliest = likeliest  # the tokens after <bos> alone, without <eos>

    def select(self, rows: Answer) -> ToyState:
        """The state with these rows."""
        if not isinstance(rows, Tensor) or rows.dtype not in (torch.int64, torch.int32) or rows.dim() != 1:
            if isinstance(rows, Tensor) and not rows.numel():
                raise Wrong("no hypothesis goes on any more: stop there, before `state.select`.")
            raise Wrong(
                "`state.select` wants whole numbers (`//`, not `/`) in a tensor with one axis: the row that "
                "each hypothesis extends."
            )
        have = 1 if self.rows is None else len(self.rows)
        if outside := [row for row in rows.tolist() if not 0 <= row < have]:
            if sorted(rows.tolist()) == sorted(self.likeliest[: len(rows)]):
                raise Wrong(
                    f"`state.select` got {rows.tolist()}, which are the *tokens* of the hypotheses that go on: "
                    "give it their *parents*, the rows that they extend, here all 0."
                )
            raise Wrong(
                f"`state.select` got row {outside[0]}, and the state has {have}: give it the *parent* of each "
                "hypothesis that goes on, the index in the flat table // the number of tokens."
            )
        return ToyState(None if self.rows is None else [self.rows[row] for row in rows.tolist()])


class ToyDecoder:
    """A decoder whose next word depends on *all* words before. It says at once what no decoder could work with."""

    def __init__(self, seed: int, longest: int, width: int = TOY_WORDS):
        self.seed, self.longest, self.width = seed, longest, width

    def __call__(self, tokens: Answer, state: Answer) -> tuple[Tensor, ToyState]:
        """The logits of the next word, (rows, 1, words), and the new state."""
        if not isinstance(tokens, Tensor) or not isinstance(state, ToyState):
            raise Wrong("call `decoder(tokens, state)` with a tensor of tokens, (rows, 1), and the state.")
        if not tokens.numel():
            raise Wrong("no hypothesis goes on any more, and you asked the decoder again: stop there.")
        if tokens.dim() != 2 or tokens.shape[1] != 1:
            raise Wrong(
                f"the decoder wants the newest token of each hypothesis alone, with shape (rows, 1): the state "
                f"remembers the earlier ones. Yours: {tuple(tokens.shape)}."
            )
        newest = [int(token) for token in tokens[:, 0].tolist()]
        before = [()] if state.rows is None else state.rows
        if state.rows is None and {*newest} != {TOY_BOS}:
            raise Wrong(
                f"this state has read nothing: the first token that it reads is `bos`, here {TOY_BOS}; yours: "
                f"{newest[0]}. After that, go on with the *new* state that the decoder returns."
            )
        if len(newest) != len(before):
            raise Wrong(_rows_differ(len(newest), len(before), state.rows is None))
        if state.rows is not None and TOY_BOS in newest and self.width < TOY_WORDS - 1:
            raise Wrong(
                "after the first step the decoder got `bos`: give it the newest tokens. If you do: `bos` has "
                "the probability 0, and better extensions are left. Take the largest sums, and of an index "
                "into the flat table the parent by `//` and the token by `%`, both with the number of "
                "*tokens*. Or `log_softmax` runs over the wrong axis: take `-1`."
            )
        if state.rows is not None and TOY_BOS in newest:
            raise Wrong(
                "you go on with a word of probability 0: an extension with the sum minus infinity is "
                "impossible, so leave it out."
            )
        if TOY_EOS in newest:
            raise Wrong(
                "the decoder got `eos` as the newest token: a complete hypothesis is set aside. It is extended "
                "no more, and takes no place in the beam."
            )
        if outside := [token for token in newest if not 0 <= token < TOY_WORDS]:
            raise Wrong(
                f"the decoder got token {outside[0]}, and there are {TOY_WORDS}: an index into the flat table "
                "gives the parent by `//`, and the token by `%`."
            )
        starts = state.rows is None
        read = [() if starts else (*row, token) for row, token in zip(before, newest, strict=True)]
        if len(read[0]) >= self.longest:
            raise Wrong(
                f"you go on after {self.longest} tokens, which is `longest`: it counts all tokens, `eos` "
                "included, and what is still live then counts as complete."
            )
        logits = torch.tensor([toy_logits(self.seed, row) for row in read], dtype=torch.float64)
        likeliest = [token for token in logits[0].argsort(descending=True).tolist() if token != TOY_EOS]
        return logits[:, None], ToyState(read, likeliest if starts else ())


def _rows_differ(tokens: int, rows: int, starts: bool) -> str:
    if starts:
        return (
            f"you began with {tokens} hypotheses, and there is one: `bos`. Copies of it would have the same children."
        )
    return (
        f"the decoder got {tokens} tokens, and its state has {rows} row{'s' * (rows > 1)}: after each step, "
        "`state = state.select(parents)` keeps one row for each hypothesis that goes on."
    )


def log_softmax(logits: Sequence[float]) -> list[float]:
    """Log-probabilities of logits; all impossible, if they are."""
    top = max(logits)
    if top == -math.inf:
        return list(logits)
    total = top + math.log(sum(math.exp(logit - top) for logit in logits))
    return [logit - total for logit in logits]


class Child(NamedTuple):
    """An extension: its sum, the row of the hypothesis that it extends, and the new token."""

    total: float
    parent: int
    token: int | None
    """None: the hypothesis stays as it is, which is a mistake."""


class Grown(NamedTuple):
    """A hypothesis."""

    words: tuple[int, ...]
    """Its tokens, without `bos` and `eos`."""
    total: float
    """The sum of its log-probabilities."""
    read: tuple[int, ...]
    """What its row of the state has read."""
    parent: int = 0
    """The row that it extends."""
    length: int = 0
    """How many tokens it has, `eos` included, if it is complete."""


class PlainBeam:
    """A beam search by plain loops. Each method is one step of the search, so a mistake replaces one method."""

    def __init__(self, seed: int, width: int, longest: int, penalty: Callable[[int], float]):
        self.seed, self.width, self.longest, self.penalty = seed, width, longest, penalty

    def search(self) -> tuple[list[int], float]:
        """The tokens and the score of the best hypothesis."""
        live, complete = [Grown((), 0.0, ())], []
        for step in range(1, self.last() + 1):
            children = [child for row, parent in enumerate(live) for child in self.children(row, parent)]
            old, live = live, []
            for rank, child in enumerate(self.kept(self.ranked(children, len(old)), step, len(complete))):
                if child.token != TOY_BOS:
                    self.place(self.grown(old, rank, child, step), child.token, step, live, complete)
            live = self.in_order(live, old)
            if complete and live and self.stops(complete, live[0].total, step):
                break
            if all(each.length for each in live):
                break
        if not complete:
            return [], -math.inf
        best = self.chosen(complete)
        return list(best.words), self.score(best)

    def last(self) -> int:
        """The last step."""
        return self.longest

    def gains(self, logits: list[float]) -> list[float]:
        """What each token adds to a sum."""
        return log_softmax(logits)

    def children(self, row: int, parent: Grown) -> list[Child]:
        """All extensions of one hypothesis."""
        gains = self.gains(toy_logits(self.seed, parent.read))
        return [Child(parent.total + gain, row, token) for token, gain in enumerate(gains)]

    def ranked(self, children: list[Child], parents: int) -> list[Child]:
        """The extensions of all hypotheses, the best first."""
        return sorted(children, key=lambda child: -child.total)

    def kept(self, children: list[Child], step: int, complete: int) -> list[Child]:
        """Those that stay in the race."""
        return children[: self.width]

    def grown(self, old: list[Grown], rank: int, child: Child, step: int) -> Grown:
        """The hypothesis with its new token."""
        parent, new = old[child.parent], new_words(child)
        return Grown((*parent.words, *new), child.total, (*parent.read, *new), child.parent)

    def place(self, grown: Grown, token: int | None, step: int, live: list[Grown], complete: list[Grown]) -> None:
        """Put a hypothesis among those that are complete, or those that go on."""
        if token == TOY_EOS:
            complete.append(grown._replace(words=grown.words[:-1], length=step))
        elif step == self.last():
            complete.append(grown._replace(length=step))
        else:
            live.append(grown)

    def in_order(self, live: list[Grown], old: list[Grown]) -> list[Grown]:
        """The hypotheses that go on, each with what its row of the state has read."""
        return live

    def stops(self, complete: list[Grown], best: float, step: int) -> bool:
        """Whether the search ends here; `best` is the largest sum that goes on."""
        return False

    def divisor(self, length: int, words: int) -> float:
        """What divides the sum of a complete hypothesis."""
        return self.penalty(length)

    def score(self, complete: Grown) -> float:
        """The score of a complete hypothesis."""
        return complete.total / self.divisor(complete.length, len(complete.words))

    def chosen(self, complete: list[Grown]) -> Grown:
        """The hypothesis that the search returns."""
        return max(complete, key=self.score)


def new_words(child: Child) -> tuple[int, ...]:
    """The new token, if there is one."""
    return () if child.token is None else (child.token,)


def best_by_beam(
    seed: int, width: int, longest: int, penalty: Callable[[int], float], **replaced: Callable
) -> tuple[list[int], float]:
    """The tokens and the score of the best hypothesis; methods of `PlainBeam` that are `replaced` make a mistake."""
    return type("Mistaken", (PlainBeam,), replaced)(seed, width, longest, penalty).search()
