"""Checks of lesson 05. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import NotTried, Wrong, check

GROUPS = ["3-6", "7-9", "10-12", "13-15", "16-18", "19-20"]  # tokens of the English sentence, as under the picture


@check("5.1", section="10. The bottleneck")
def check_group(group: object) -> None:
    """The first group of lengths in which the plain model, trained for 4 epochs, has a mean BLEU below 70."""
    if not isinstance(group, str):
        raise Wrong(f'give the group as text, such as "3-6"; yours is of type {type(group).__name__}.')
    name = group.replace("–", "-").replace(" ", "")
    if name not in GROUPS:
        raise Wrong(f'"{group}" is no group of the picture; they are {", ".join(GROUPS)}.')
    if name == "19-20":
        raise Wrong("there the line is below 70, too, but another group comes before it.")
    if name != "16-18":
        raise Wrong(f'at "{name}" the blue line is still above 70: go on to the right.')


@check("5.2", section="5. How wrong is it?")
def check_masked_loss(masked_loss: Callable[..., Tensor]) -> None:
    """Try out `masked_loss(logits, labels, pad)` -> the mean loss of the real tokens."""
    generator = torch.Generator().manual_seed(5)
    for labels, pad, scale in (
        ([[3, 1, 2, 0, 0], [2, 3, 1, 1, 2]], 0, 1.0),
        ([[0, 2, 1, 1], [3, 1, 1, 1], [2, 0, 3, 0]], 1, 1.0),
        ([[3, 1, 0], [2, 2, 3]], 0, 200.0),
    ):
        rows, steps = len(labels), len(labels[0])
        logits = (torch.randn((rows, steps, 4), generator=generator) * scale).requires_grad_()
        before = logits.detach().clone()
        loss = masked_loss(logits, torch.tensor(labels), pad)
        if not torch.equal(logits.detach(), before):
            raise Wrong("the caller's logits have changed: work on a new tensor.")
        if not isinstance(loss, Tensor):
            raise Wrong(f"return a tensor: training asks it for its gradient; yours is of type {type(loss).__name__}.")
        if loss.dim() != 0:
            raise Wrong(f"return one number for the whole batch; yours has the shape {tuple(loss.shape)}.")
        losses = _losses(before, labels)
        real = [[label != pad for label in row] for row in labels]
        if not abs(float(loss.detach()) - _real_mean(losses, real)) <= 1e-3 * max(1.0, scale):
            raise Wrong(_diagnose_loss(float(loss.detach()), losses, real, labels, pad, scale))
        if not loss.requires_grad:
            raise Wrong("the number is right, but no gradient flows: no `item`, no `detach`, no `torch.no_grad()`.")


def _losses(logits: Tensor, labels: list[list[int]]) -> list[list[float]]:
    """Minus the log-probability of each label, word by word."""
    return [
        [_log_sum(scores) - scores[label] for scores, label in zip(rows, row, strict=True)]
        for rows, row in zip(logits.double().tolist(), labels, strict=True)
    ]


def _log_sum(scores: list[float]) -> float:
    return max(scores) + math.log(sum(math.exp(score - max(scores)) for score in scores))


def _real_mean(losses: list[list[float]], real: list[list[bool]]) -> float:
    kept = [
        loss
        for row, flags in zip(losses, real, strict=True)
        for loss, is_real in zip(row, flags, strict=True)
        if is_real
    ]
    return sum(kept) / len(kept)


def _diagnose_loss(loss: float, losses: list, real: list, labels: list, pad: int, scale: float) -> str:
    right, everything = _real_mean(losses, real), [number for row in losses for number in row]
    count = sum(map(sum, real))
    nothing_but_zero = [[label != 0 for label in row] for row in labels]
    sentences = [_real_mean([row], [flags]) for row, flags in zip(losses, real, strict=True)]
    probabilities = [[math.exp(-number) for number in row] for row in losses]

    def near(number: float) -> bool:
        return abs(loss - number) <= 1e-3 * max(1.0, scale)

    known = [
        (not math.isfinite(loss), "with logits in the hundreds the loss is {loss:.0f}: e to them overflows, or a "
         "probability is 0; `log_softmax` (or `F.cross_entropy`) takes care of that."),
        (near(right * count), "this is the *sum* over the {count} real tokens: divide by their number."),
        (near(-right), "the sign is wrong: the loss is *minus* the logarithm of the probability."),
        (near(sum(everything) / len(everything)), "padding is counted like a word: leave its places out."),
        (near(right * count / len(everything)), "padding adds nothing to your sum, but you divide by all {places} "
         "places; only {count} of them are real. (The loss then looks better than it is.)"),
        (near(sum(sentences) / len(sentences)), "this is the mean of the sentences' means, in which a word of a short "
         "sentence counts more: add up all real tokens, then divide by their number."),
        (pad != 0 and near(_real_mean(losses, nothing_but_zero)), "you left out the label 0, but here <pad> is {pad}, "
         "and 0 is a word: use the argument `pad`."),
        (near(_real_mean(probabilities, real)), "this is the mean probability: take minus the logarithm of each."),
        (near(-math.log(_real_mean(probabilities, real))), "first the logarithm of each word's probability, then the "
         "mean; you took the logarithm of the mean."),
    ]  # fmt: skip
    for found, diagnosis in known:
        if found:
            return diagnosis.format(loss=loss, count=count, places=len(everything), pad=pad)
    return f"for labels {labels} with <pad> {pad}, the loss should be {right:.3f}; yours is {loss:.3f}."


@check("5.3", section="8. Greedy translation, step by step")
def check_greedy(greedy: Callable[..., list[int]]) -> None:
    """Try out `greedy(step, bos, eos, limit)` -> the tokens, over a toy `step(token, state)`."""
    for toy, limit in ((_Toy(bos=1, eos=2, sentence=[4, 4, 3, 5]), 20), (_Toy(bos=6, eos=0, sentence=[3] * 30), 7)):
        try:
            answer = greedy(toy.step, toy.bos, toy.eos, limit)
        except NotTried:
            if limit == 7:  # the first sentence was right
                raise Wrong("nothing is returned when the limit is reached: put `return` after the loop.") from None
            raise
        if isinstance(answer, Tensor) or not isinstance(answer, list):
            raise Wrong(f"return a list of tokens; yours is of type {type(answer).__name__}.")
        if any(isinstance(token, bool) or not isinstance(token, int) for token in answer):
            raise Wrong(f"tokens are whole numbers: use `int(scores.argmax())`; yours: {answer}.")
        expected = toy.sentence[:limit]
        if answer != expected:
            raise Wrong(_diagnose_greedy(answer, expected, toy, limit))


class _Toy:
    """A "decoder" that likes a fixed sentence best. Its state is the place; the word it is given has to be its last."""

    def __init__(self, bos: int, eos: int, sentence: list[int]):
        self.bos, self.eos, self.sentence = bos, eos, sentence
        self.calls = 0

    def step(self, token: int | Tensor, state: int | None) -> tuple[Tensor, int]:
        """The scores of the next token, and the state after this one; None stands for the state at the start."""
        self.calls += 1
        if self.calls > 100:
            raise Wrong("your loop never ends: stop at eos, and when there are `limit` tokens.")
        if self.calls == 1 and (token != self.bos or state is not None):
            raise Wrong(f"start with step(bos, None); you called step({token}, {state}).")
        place = 0 if state is None else state
        if self.calls > 1 and state is None:
            raise Wrong("the second call has the state None again: pass on the state that `step` returned.")
        line = [self.bos, *self.sentence, self.eos]
        if self.calls > 2 and place == 1 and len(self.sentence) > 1:
            raise Wrong("you pass the same old state at each step: keep the newest one that `step` returned.")
        if place < len(line) - 1 and int(token) != line[place]:
            raise Wrong(
                f"step number {place + 1} was given {int(token)}: feed back the token you chose last, {line[place]}."
            )
        scores = torch.arange(8.0) / 100
        scores[line[min(place + 1, len(line) - 1)]] = 3.0
        scores[self.bos] = -9.0
        return scores, place + 1


def _diagnose_greedy(answer: list[int], expected: list[int], toy: _Toy, limit: int) -> str:
    if answer == [toy.bos, *expected] or answer == [toy.bos, *expected, toy.eos]:
        return f"your list starts with bos ({toy.bos}): return only what was chosen, without it."
    if answer[: len(expected) + 1] == [*expected, toy.eos]:
        more = len(answer) > len(expected) + 1
        return f"eos ({toy.eos}) ends the sentence: {'stop there' if more else 'it does not belong into the list'}."
    if len(answer) > limit:
        return f"with limit {limit} there are {limit} tokens at most; yours are {len(answer)}."
    if answer == expected[: len(answer)]:
        return f"you stop too early: {len(expected)} tokens were to come, yours are {len(answer)}."
    return f"the best tokens are {expected}; yours: {answer}."


@check("5.4", section="2. Gates: a GRU cell")
def check_gru_step(gru_step: Callable[..., Tensor]) -> None:
    """Try out `gru_step(x, h, W, U)` -> the new state, with reset, update and new in this order in W and U."""
    generator = torch.Generator().manual_seed(4)
    for inputs, hiddens in ((3, 4), (2, 2)):
        x, h, W, U = (
            torch.randn(shape, generator=generator)
            for shape in ((inputs,), (hiddens,), (3, hiddens, inputs), (3, hiddens, hiddens))
        )
        given = [x, h, W, U]
        copies = [tensor.clone() for tensor in given]
        new = gru_step(*given)
        if not isinstance(new, Tensor):
            raise Wrong(f"return a tensor, the new state; yours is of type {type(new).__name__}.")
        if not all(torch.equal(tensor, copy) for tensor, copy in zip(given, copies, strict=True)):
            raise Wrong("one of the arguments has changed: work on a new tensor (no `h += ...`, no `h[...] = ...`).")
        if tuple(new.shape) != (hiddens,):
            raise Wrong(f"the new state should have the shape of the old one, ({hiddens},); yours: {tuple(new.shape)}.")
        if not _near(new, _gru(x, h, W, U)):
            raise Wrong(_diagnose_gru(new, x, h, W, U))


def _sigmoid(number: float) -> float:
    return 1 / (1 + math.exp(-number))


def _product(matrix: Tensor, vector: list[float]) -> list[float]:
    return [sum(entry * number for entry, number in zip(row, vector, strict=True)) for row in matrix.double().tolist()]


def _gru(x, h, W, U, *, order=(0, 1, 2), flip=False, reset="after", squash=math.tanh, gate=_sigmoid, mix=True) -> list:
    """One step, number by number; the switches make the mistakes that are worth a diagnosis of their own."""
    x, h = x.double().tolist(), h.double().tolist()
    r_at, z_at, n_at = order
    from_x, from_h = [_product(matrix, x) for matrix in W], [_product(matrix, h) for matrix in U]
    r = [gate(a + b) for a, b in zip(from_x[r_at], from_h[r_at], strict=True)]
    z = [gate(a + b) for a, b in zip(from_x[z_at], from_h[z_at], strict=True)]
    if reset == "before":
        memory = _product(U[n_at], [share * number for share, number in zip(r, h, strict=True)])
    else:
        shares = r if reset == "after" else [1.0] * len(h)
        memory = [share * number for share, number in zip(shares, from_h[n_at], strict=True)]
    new = [squash(a + b) for a, b in zip(from_x[n_at], memory, strict=True)]
    if not mix:
        return new
    keep = [1 - share for share in z] if flip else z
    return [(1 - share) * fresh + share * old for share, fresh, old in zip(keep, new, h, strict=True)]


def _near(answer: Tensor, numbers: list[float]) -> bool:
    return torch.allclose(answer.detach().double().cpu(), torch.tensor(numbers, dtype=torch.float64), rtol=0, atol=1e-4)


def _diagnose_gru(new: Tensor, x: Tensor, h: Tensor, W: Tensor, U: Tensor) -> str:
    mistakes = [
        ({"flip": True}, "the update gate is upside down: z keeps the *old* state, 1 - z takes the new one."),
        ({"reset": "none"}, "this is what comes out without the reset gate."),
        ({"reset": "before"}, "you multiplied the old state by r *before* the product with U; here r comes after it. "
         "(Cho and others did it your way; nn.GRU does it this way.) Or brackets are missing: `r * U[2] @ h` is "
         "`(r * U[2]) @ h`."),
        ({"order": (1, 0, 2)}, "you have mixed up the gates: W[0] and U[0] belong to reset, W[1] and U[1] to update."),
        ({"squash": lambda number: number}, "this is what comes out without the tanh."),
        ({"squash": _sigmoid}, "the new values go through tanh, not through the sigmoid."),
        ({"gate": math.tanh}, "the gates go through the sigmoid, so that they lie between 0 and 1, not through tanh."),
        ({"mix": False}, "these are the new values alone: now mix them with the old state, as the update gate says."),
    ]  # fmt: skip
    for switch, diagnosis in mistakes:
        if _near(new, _gru(x, h, W, U, **switch)):
            return diagnosis
    right = ", ".join(f"{number:.3f}" for number in _gru(x, h, W, U))
    return f"the new state should be [{right}]; yours: [{', '.join(f'{number:.3f}' for number in new.tolist())}]."
