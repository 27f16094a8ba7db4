"""Check of exercise 5.4, with a toy for a decoder: nothing that the lesson is about is imported."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral

import torch
from torch import Tensor

from .checking import NotTried, Wrong, called, check, matches


@check("5.4", section="8. Greedy translation, step by step")
def check_greedy(greedy: Callable[..., list[int]]) -> None:
    """Try out `greedy(step, bos, eos, limit)` -> the tokens, over a toy `step(token, state)`."""
    for toy, limit in (
        (_Toy(bos=1, eos=2, sentence=[4, 3, 3, 5]), 20),
        (_Toy(bos=6, eos=0, sentence=[3] * 30), 7),
        (_Toy(bos=2, eos=7, sentence=[5, 1, 0, 3, 1]), 9),
        (_Toy(bos=2, eos=7, sentence=[5, 1]), 0),
    ):
        try:
            answer = called(greedy, toy.step, toy.bos, toy.eos, limit)
        except NotTried:
            if limit == 7:  # the first sentence was right
                raise Wrong("nothing is returned when the limit is reached: put `return` after the loop.") from None
            raise
        if not isinstance(answer, list):
            raise Wrong(f"return a list of tokens; yours is of type {type(answer).__name__}.")
        if any(isinstance(token, bool) or not isinstance(token, Integral) for token in answer):
            raise Wrong(f"tokens are whole numbers: use `int(scores.argmax())`; yours: {answer}.")
        right, eos = toy.sentence[:limit], f"eos ({toy.eos}) ends the sentence"
        if answer[:1] == [toy.bos]:
            raise Wrong(f"your list starts with bos ({toy.bos}): return only what was chosen, without it.")
        if toy.went_on:
            raise Wrong(f"{eos}: stop there; you called `step` again, with what came after it.")
        if answer == [*right, toy.eos]:
            raise Wrong(f"{eos}: it does not belong in the list.")
        if len(answer) > limit:
            raise Wrong(f"with limit {limit} there are {limit} tokens at most; yours are {len(answer)}.")
        if answer == right[: len(answer)] and len(answer) < len(right):
            raise Wrong(f"you stop too early: {len(right)} tokens were to come, yours are {len(answer)}.")
        large = [token for token in right if token > 2]
        mistakes = {
            "a token may come more than once in a sentence: keep every one.": list(dict.fromkeys(right)),
            "the first token is missing: bos is not in your list, so cut nothing off.": right[1:],
            f"you left out tokens by their number; here bos is {toy.bos}, eos is {toy.eos}, and the others are "
            "words.": large,
        }
        matches(answer, right, mistakes, otherwise=f"the best tokens are {right}; yours: {answer}.")


class _Toy:
    """A "decoder" that likes a fixed sentence best. Its state counts the steps; it is given the token it liked last."""

    def __init__(self, bos: int, eos: int, sentence: list[int]):
        self.bos, self.eos, self.sentence = bos, eos, sentence
        self.line = [bos, *sentence, eos]  # after eos it would start again
        self.worst = max(token for token in range(8) if token not in self.line)
        self.calls, self.went_on = 0, False

    def step(self, token: int | Tensor, state: int | None) -> tuple[Tensor, int]:
        """The scores of the next token, and the state after this one; None stands for the state at the start."""
        self.calls += 1
        if not isinstance(token, Integral | Tensor) or isinstance(token, _State) or isinstance(state, Tensor):
            given = f"{type(token).__name__.strip('_')} and {type(state).__name__.strip('_')}"
            raise Wrong(f"call step(token, state): one token, then the state; you gave it {given}.")
        index, given = int(state or 0), int(token)
        if self.calls > 100:
            raise Wrong("your loop never ends: stop at eos, and when there are `limit` tokens.")
        if self.calls == 1 and (given != self.bos or state is not None):
            raise Wrong(f"start with step(bos, None); you called step({token}, {state}).")
        if self.calls > 1 and state is None:
            raise Wrong("the second call has the state None again: call `step` once a round, and pass on its state.")
        if self.calls > 2 and index == 1:
            raise Wrong("you pass the same old state at each step: keep the newest one that `step` returned.")
        self.went_on |= index > len(self.sentence)
        if not self.went_on and given != self.line[index]:
            raise Wrong(self._diagnosis(index, given))
        scores = torch.arange(8.0) / 100
        scores[self.worst] = -9.0
        scores[self.line[(index + 1) % len(self.line)]] = 0.5
        return scores, _State(index + 1)

    def _diagnosis(self, index: int, given: int) -> str:
        """What is wrong with the token that was fed back."""
        best = self.line[index]
        if given == self.bos:
            return f"step number {index + 1} was given bos ({given}) again: feed back the token that you chose last."
        if given == self.worst:
            return f"you chose {given}, which has the smallest score: `argmax`, not `argmin`."
        told = f"step number {index + 1} was given {given}, but the largest score was that of {best}"
        if given == 0:
            return f"{told}: take `scores.argmax()`, which is the token; `scores.max()` is its score."
        return f"{told}: greedy search takes the best token (`argmax`; no sampling), and feeds it back."


class _State(int):
    """The state of the toy. Whoever takes it for the scores, and asks it for `argmax`, is told so."""

    def __getattr__(self, name: str) -> None:
        raise Wrong(
            f"you asked the state for `{name}`: `step` returns the scores first, then the state: "
            "`scores, state = step(token, state)`."
        )
