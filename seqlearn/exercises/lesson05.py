"""Checks of lesson 05, and the folded solution of 5.1, for whoever goes on without one.

The oracles are loops over plain numbers: they import nothing that the lesson is about. The parts of 5.1 are PyTorch's.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from numbers import Integral
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from .checking import NotTried, Wrong, called, check, has_dtype, has_parts, has_shape, matches, passes
from .plain import Answer, numbers, product, shown, transposed

# ---- 5.1 one step of the decoder ----


def decoder_step(decoder, token, state, context):  # noqa: D103 (the lesson explains it; a test compares the two)
    both = torch.cat([decoder.embedding(token), context], dim=-1)
    state = decoder.cell(both, state)
    return decoder.dense(state), state


def yours_or_ours(written: Callable) -> SimpleNamespace:
    """The learner's `decoder_step` where it passes its check, else the folded solution. It prints whose it is."""
    right = passes(check_decoder_step, written)
    print(f"decoder_step: {'yours' if right else 'ours'}")
    return SimpleNamespace(decoder_step=written if right else decoder_step)


IDS = "the ids of the tokens went in without their embedding: look it up first, `decoder.embedding(token)`."


class _Cell(nn.GRUCell):
    """A GRU cell that says what is wrong with its input."""

    def __init__(self, embedded: int, context: int, size: int, rows: int):
        super().__init__(embedded + context, size)
        self.sizes, self.rows = (embedded, context), rows

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The new state; `Wrong` for an input of another shape, or without a state."""
        wanted, size = (self.rows, self.input_size), self.hidden_size
        if hx is None:
            raise Wrong("`decoder.cell` needs the state, too: without it the cell starts from zeros at each step.")
        if not isinstance(input, Tensor) or not isinstance(hx, Tensor):
            raise Wrong("`decoder.cell` takes two tensors: what you joined, then the state.")
        found = tuple(input.shape)
        if not input.is_floating_point():
            raise Wrong(IDS)
        if found[-1:] == wanted[-1:] and tuple(hx.shape) == (*found[:-1], size):  # one sentence at a time is fine, too
            return super().forward(input, hx)
        if tuple(hx.shape) == wanted and found == (self.rows, size):
            raise Wrong("the two arguments of `decoder.cell` are exchanged: first what you joined, then the state.")
        told = (
            f"`decoder.cell` reads a tensor of shape {wanted} here, embedding and context side by side; yours: {found}."
        )
        if found == (2 * self.rows, self.sizes[0]):
            told += " You joined along the first axis: `dim=-1` puts the numbers of a sentence side by side."
        elif found == (self.rows, self.sizes[0]) and self.sizes[0] == self.sizes[1]:
            told += " One of the two is missing, or you added them: `torch.cat` puts them side by side."
        elif found[-1:] == (1 + self.sizes[1],):
            told = IDS
        elif found == wanted:
            told = f"the state has the shape {(self.rows, size)} here; you gave the cell {tuple(hx.shape)}."
        raise Wrong(told)


class _Dense(nn.Linear):
    """A linear layer that says what is wrong with its input."""

    def forward(self, input: Tensor) -> Tensor:
        """The logits; `Wrong` for anything but vectors of the size of a state."""
        if input.shape[-1] != self.in_features:
            raise Wrong(
                f"`decoder.dense` rates the words from the new state, which has {self.in_features} numbers here; "
                f"you gave it {input.shape[-1]}."
            )
        return super().forward(input)


def _decoder(words: int, embedded: int, context: int, size: int, rows: int) -> SimpleNamespace:
    """The parts of a small decoder. The embeddings are large, so that no mistake hides behind rounding."""
    cell = _Cell(embedded, context, size, rows)
    parts = nn.Embedding(words, embedded), nn.Linear(context, size), cell, _Dense(size, words)
    for part in parts:
        for parameter in part.parameters():
            nn.init.normal_(parameter, std=0.7)
    return SimpleNamespace(embedding=parts[0], bridge=parts[1], cell=parts[2], dense=parts[3])


@check("5.1", section="4. The decoder: one word at a time")
def check_decoder_step(decoder_step: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """Try out `decoder_step(decoder, token, state, context)` -> (logits, new state), with small decoders."""
    for words, embedded, context_size, size, rows in ((7, 4, 4, 4, 2), (6, 3, 5, 2, 1)):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(size)
            decoder, token = _decoder(words, embedded, context_size, size, rows), torch.tensor([3, 1])[:rows]
            given = [torch.randn(rows, width, requires_grad=True) for width in (size, context_size)]
        state, context = (leaf * 1 for leaf in given)  # a leaf would crash on `state *= 2`, and not say what is wrong
        before = [parameter.detach().clone() for parameter in _parameters(decoder)]
        answer = _step_of(decoder_step, decoder, token, state, context)
        if any(not torch.equal(one, other) for one, other in zip(_parameters(decoder), before, strict=True)):
            raise Wrong("the parameters of the decoder have changed: a step only uses them; training changes them.")
        if isinstance(answer, Tensor):
            raise Wrong("return two things: the logits and the new state; yours is one tensor.")
        logits, new = has_parts(answer, "logits", "new state")
        swapped = isinstance(new, Tensor) and tuple(new.shape) == (rows, words)
        has_shape(logits, (rows, words), "logits, a number for each word,", {
            (rows, size): "the logits come first: `return logits, state`." if swapped else
                "`decoder.dense` is missing: it makes the logits from the new state.",
            (rows,): "these are words: return the logits of *all* words. The search chooses a word, not the step.",
        })  # fmt: skip
        has_shape(new, (rows, size), "new state")
        for one, name in ((logits, "logits"), (new, "state")):
            has_dtype(one, torch.float32, name, "the other parts of the model compute with 32 bits.")
        _examine_step(decoder, (token, state, context), logits, new)


def _step_of(decoder_step: Callable, decoder: SimpleNamespace, *given: Tensor) -> Answer:
    """What the learner's step returns; `Wrong` where two tensors could not be joined for a usual reason."""
    looked_up: list[bool] = []
    decoder.embedding.register_forward_hook(lambda *_: looked_up.append(True))
    try:
        return called(decoder_step, decoder, *given)
    except (RuntimeError, TypeError) as error:
        said = str(error)
        if re.search(r"must be tuple of Tensors, not Tensor|\bcat\(\) takes", said):
            raise Wrong("`torch.cat` takes one list of tensors: `torch.cat([one, other], dim=-1)`.") from error
        if not looked_up and re.search("same number of dimensions|Sizes of tensors must match", said):
            raise Wrong(IDS) from error
        raise


def _parameters(decoder: SimpleNamespace) -> list[nn.Parameter]:
    return [parameter for part in vars(decoder).values() for parameter in part.parameters()]


def _examine_step(decoder: SimpleNamespace, given: tuple[Tensor, Tensor, Tensor], logits: Tensor, new: Tensor) -> None:
    """The numbers of both answers, and whether a gradient flows."""
    token, state, context = given
    right = _stepped(decoder, token, state, context)
    told = "the new state is wrong: `decoder.cell` takes [embedding; context] and the old state."
    matches(new, right, _wrong_states(decoder, token, state, context), otherwise=told)
    rated = decoder.dense(right).detach()
    matches(logits, rated, {
        "these logits come from the *old* state: rate the words with the new one.":
            lambda: decoder.dense(state),
        "these are probabilities: return the logits, without the softmax.": rated.softmax(-1),
        "these are logarithms of probabilities: return the logits, without the softmax.": rated.log_softmax(-1),
        "the logits need no tanh: `decoder.dense` is the last layer.": rated.tanh(),
        "the logits need no sigmoid: `decoder.dense` is the last layer.": rated.sigmoid(),
        "the state needs no tanh before `decoder.dense`.": lambda: decoder.dense(right.tanh()),
        "the bias of `decoder.dense` is missing: call the layer itself.": rated - decoder.dense.bias.detach(),
        "the softmax runs over the sentences; and logits need none.": rated.softmax(0),
    }, otherwise="the state is right, but the logits are not: they are `decoder.dense` of the new state.")  # fmt: skip
    if not logits.requires_grad or not new.requires_grad:
        raise Wrong("the numbers are right, but no gradient flows: no `item`, no `detach`, no `torch.no_grad()`.")
    ends = {"old state": state, "context": context, "embeddings": decoder.embedding.weight}
    for start, found in (("logits", logits), ("new state", new)):
        gradients = torch.autograd.grad(found.sum(), list(ends.values()), retain_graph=True, allow_unused=True)
        for end, gradient in zip(ends, gradients, strict=True):
            if gradient is None:
                told = "no `detach`, `item`, `.data` or `torch.no_grad()` between the two."
                raise Wrong(f"the numbers are right, but no gradient gets from the {start} to the {end}: {told}")


def _stepped(
    decoder: SimpleNamespace, token: Tensor, state: Tensor, *parts: Tensor, first: Tensor | None = None
) -> Tensor:
    """The new state after [embedding; parts]; `first` takes the place of the embedding."""
    embedded = decoder.embedding.weight[token] if first is None else first
    return decoder.cell(torch.cat([embedded, *parts], dim=-1), state).detach()


def _wrong_states(decoder: SimpleNamespace, token: Tensor, state: Tensor, context: Tensor) -> dict[str, object]:
    """Diagnosis -> the state after a usual mistake. Some of them need context, state and embedding of one size."""
    embedded, right = decoder.embedding.weight[token], _stepped(decoder, token, state, context)

    def turned_round() -> Tensor:
        return decoder.cell(torch.cat([context, embedded], dim=-1), state).detach()

    found: dict[str, object] = {
        "this is the old state: return the one that `decoder.cell` gives back.": state,
        "embedding and context are in the wrong order: the embedding comes first, as in the formula.": turned_round,
        "the state needs no tanh: the GRU has its own inside.": right.tanh(),
        "the state starts again from s_0 at each step: give the cell `state`, not the bridge.":
            lambda: _stepped(decoder, token, decoder.bridge(context).tanh(), context),
        "the state starts again from the bridge at each step: give the cell `state`.":
            lambda: _stepped(decoder, token, decoder.bridge(context), context),
        "the old state is added to the new one: the GRU mixes the two itself.": state + right,
        "the state starts from zeros at each step: give the cell `state`.":
            lambda: _stepped(decoder, token, torch.zeros_like(state), context),
        "the cell has read the token twice: one call for each step.": lambda: _stepped(decoder, token, right, context),
        "every sentence got the first token: `decoder.embedding(token)` looks up one for each sentence.":
            lambda: _stepped(decoder, token[:1].expand(len(token)), state, context),
        "every sentence got the context of the first one.":
            lambda: _stepped(decoder, token, state, context[:1].expand(len(token), -1)),
        "the context is missing: its numbers were zeros.":
            lambda: _stepped(decoder, token, state, torch.zeros_like(context)),
    }  # fmt: skip
    if len({embedded.shape, context.shape, state.shape}) == 1:
        found |= {
            "you joined the token with the *state*: join it with the context; the cell gets the state by itself.":
                lambda: _stepped(decoder, token, state, state),
            "the cell got the context in place of the state.": lambda: _stepped(decoder, token, context, context),
            "the cell got the context as its state, and the state in place of the context.":
                lambda: _stepped(decoder, token, context, state),
            "the token is missing: you joined the context with itself.":
                lambda: _stepped(decoder, token, state, context, first=context),
            "the token is missing: you joined state and context.":
                lambda: _stepped(decoder, token, state, context, first=state),
            "the context is missing: you joined the embedding with itself.":
                lambda: _stepped(decoder, token, state, embedded),
        }  # fmt: skip
    return found


# ---- 5.3 to 5.5 ----


@check("5.3", section="5. How wrong is it?")
def check_masked_loss(masked_loss: Callable[..., Tensor]) -> None:
    """Try out `masked_loss(logits, labels, pad)` -> the mean loss of the real tokens."""
    generator = torch.Generator().manual_seed(5)
    for rows, pad, scale in (
        ([[3, 1, 2, 0, 0], [2, 3, 1, 1, 2]], 0, 1.0),
        ([[0, 2, 1, 1], [3, 1, 1, 1], [2, 0, 3, 0]], 1, 1.0),
        ([[3, 1, 0], [0, 2, 3], [1, 0, 2]], 0, 1.0),  # padding in front, or between
        ([[3, 1, 0], [2, 2, 3], [1, 3, 2]], 0, 200.0),
    ):
        labels = torch.tensor(rows)
        logits = (torch.randn((*labels.shape, 4), generator=generator) * scale).requires_grad_()
        try:
            loss = called(masked_loss, logits, labels, pad)
        except ValueError as error:
            sizes = re.search(r"batch_size \((\d+)\) to match target batch_size \((\d+)\)", str(error))
            if sizes and sizes.groups().count(str(int((labels != pad).sum()))) == 1:
                raise Wrong("leave the padding out of both: `logits[real]` and `labels[real]`.") from error
            raise
        if not isinstance(loss, Tensor):
            raise Wrong(f"return a tensor: training asks it for its gradient; yours is of type {type(loss).__name__}.")
        has_shape(loss, (), "loss, one number for the whole batch,")
        found = float(loss.detach())
        if not math.isfinite(found):
            raise Wrong(
                f"with logits in the hundreds the loss is {found:.0f}: e to them overflows, or a probability is 0; "
                "`log_softmax` (or `F.cross_entropy`) takes care of that."
            )
        losses = torch.tensor([
            [_log_sum(scores) - scores[label] for scores, label in zip(*sentence, strict=True)]
            for sentence in zip(numbers(logits), rows, strict=True)
        ])  # fmt: skip
        right = float(losses[labels != pad].mean())
        told = f"for labels {rows} with <pad> {pad}, the loss should be {right:.3f}; yours is {found:.3f}."
        if scale > 1:
            told = (
                f"with logits in the hundreds the loss should be {right:.1f}; yours is {found:.1f}: use `log_softmax`, "
                "and do not cut off large losses."
            )
        mistakes = _wrong_losses(losses, logits.detach(), labels, pad)
        matches(loss, right, mistakes, within=1e-3 * scale, otherwise=told)
        if not loss.requires_grad or torch.autograd.grad(loss, logits, allow_unused=True)[0] is None:
            raise Wrong("the number is right, but no gradient flows: no `item`, no `detach`, no `torch.no_grad()`.")


def _log_sum(scores: list[float]) -> float:
    return max(scores) + math.log(sum(math.exp(score - max(scores)) for score in scores))


def _wrong_losses(losses: Tensor, logits: Tensor, labels: Tensor, pad: int) -> dict[str, Tensor]:
    """Diagnosis -> the loss of a usual mistake. `losses` are those of all labels, `(batch, steps)`."""
    real, (batch, steps, words) = labels != pad, logits.shape
    kept, count = losses[real], int(real.sum())
    chances = (-kept).exp()

    def loss_by(log_probabilities: Tensor) -> Tensor:
        return -log_probabilities.gather(-1, labels[..., None])[..., 0][real].mean()

    other_order = logits.transpose(0, 1).reshape(batch, steps, words)  # the sentences' steps, one step after the other

    return {
        f"this is the *sum* over the {count} real tokens: divide by their number.": kept.sum(),
        "the sign is wrong: the loss is *minus* the logarithm of the probability.": -kept.mean(),
        "padding is counted like a word: leave its positions out.": losses.mean(),
        f"padding adds nothing to your sum, but you divide by all {labels.numel()} positions; only {count} of them are "
        "real. (The loss then looks better than it is.)": kept.sum() / labels.numel(),
        "this is the mean of the sentences' means, in which a word of a short sentence counts more: add up all real "
        "tokens, then divide by their number.": ((losses * real).sum(1) / real.sum(1)).mean(),
        f"you left out the label 0, but here <pad> is {pad}, and 0 is a word: use the argument `pad`.":
            losses[labels != 0].mean(),
        "you left out <eos>: it is a token that the model has to learn; only <pad> does not count.":
            losses[real & (labels != 2)].mean(),
        "the first <pad> of each sentence is counted: no <pad> is real.":
            losses[real | ((~real).cumsum(1) == 1)].mean(),
        "this is the mean probability: take minus the logarithm of each.": chances.mean(),
        "first the logarithm of each word's probability, then the mean; you took the logarithm of the mean.":
            -chances.mean().log(),
        "this is the logarithm to base 2: the loss takes the natural one, `log`.": kept.mean() / math.log(2),
        "the softmax runs over the vocabulary, the last axis, -1, and not over the steps.":
            loss_by(logits.log_softmax(1)),
        "the softmax runs over the vocabulary, the last axis, -1, and not over the sentences of the batch.":
            loss_by(logits.log_softmax(0)),
        "these are the logits of the true words themselves: `log_softmax` is missing. (`F.nll_loss` wants it, too.)":
            loss_by(logits),
        "this is the mean probability with a minus sign; the logarithm is missing. (`F.nll_loss` wants `log_softmax`.)":
            -chances.mean(),
        "you took the probability of the *best* word at each position: take that of the true word, the label.":
            -logits.log_softmax(-1).amax(-1)[real].mean(),
        "your mask is upside down: this is the mean over the padding.": losses[~real].mean(),
        f"this is the sum divided by the {batch} sentences: divide by the {count} real tokens.": kept.sum() / batch,
        f"this is the sum divided by the {steps} steps: divide by the {count} real tokens.": kept.sum() / steps,
        "this is the logarithm to base 10: the loss takes the natural one, `log`.": kept.mean() / math.log(10),
        "this is e to the loss, the perplexity: return the loss itself.": kept.mean().exp(),
        "logits and labels are shifted against each other here: position t of the one belongs to position t of the "
        "other (the labels are shifted already).": _shifted(logits, labels, real),
        "logits and labels are flattened in different orders: leave both with the sentences on the first axis.":
            loss_by(other_order.log_softmax(-1)),
        "you took the softmax twice: `F.cross_entropy` and `log_softmax` want the logits.":
            loss_by(logits.softmax(-1).log_softmax(-1)),
        "the classes belong on axis 1, but `reshape` and `view` mix up the numbers: `logits.transpose(1, 2)`.":
            loss_by(logits.reshape(batch, words, steps).transpose(1, 2).log_softmax(-1)),
        **{f"probabilities are kept above {eps:g} or so, which hides large losses: `log_softmax` needs no such help.":
           -(chances + eps).log().mean() for eps in (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)},
    }  # fmt: skip


def _shifted(logits: Tensor, labels: Tensor, real: Tensor) -> Tensor:
    """The loss of somebody who shifts once more."""
    logs = logits[:, :-1].log_softmax(-1).gather(-1, labels[:, 1:, None])[..., 0]
    return -logs[real[:, 1:]].mean()


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
        matches(answer, right, {
            "a token may come more than once in a sentence: keep every one.": list(dict.fromkeys(right)),
            "the first token is missing: bos is not in your list, so cut nothing off.": right[1:],
            f"you left out tokens by their number; here bos is {toy.bos}, eos is {toy.eos}, and the others are words.":
                [token for token in right if token > 2],
        }, otherwise=f"the best tokens are {right}; yours: {answer}.")  # fmt: skip


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


@check("5.5", section="2. Gates: a GRU cell")
def check_gru_step(gru_step: Callable[..., Tensor]) -> None:
    """Try out `gru_step(x, h, W, U)` -> the new state, with reset, update and new in this order in W and U."""
    generator = torch.Generator().manual_seed(11)
    for inputs, hiddens in ((2, 2), (3, 4), (4, 3)):
        shapes = ((inputs,), (hiddens,), (3, hiddens, inputs), (3, hiddens, hiddens))
        given = [torch.randn(shape, generator=generator) for shape in shapes]
        new = called(gru_step, *given)
        has_shape(new, (hiddens,), "new state", {
            (3, hiddens): "three vectors came out: take one matrix at a time, `W[0]`, `W[1]`, `W[2]`.",
            (): "one number came out: `@` of two vectors sums them; the gates multiply entry by entry, `*`.",
            (2, 2): "a matrix came out: `*` multiplies entry by entry; the matrix product is `@`: `W[0] @ x`.",
        })  # fmt: skip
        x, h, W, U = map(numbers, given)
        right = _gru(x, h, W, U)
        matches(new, right, {
            "the matrices U are transposed: it is `U[0] @ h`, not `h @ U[0]`.":
                _gru(x, h, W, [transposed(matrix) for matrix in U]),
            "the matrix U[2] is transposed: it is `U[2] @ h`, not `h @ U[2]`.":
                _gru(x, h, W, [*U[:2], transposed(U[2])]),
            **(_if_square(x, h, W, U) if inputs == hiddens else {}),
            **_summed(*given),
            **{diagnosis: _gru(x, h, W, U, **options) for diagnosis, options in GRU_MISTAKES.items()},
        }, otherwise=f"the new state should be {shown(right)}; yours: {shown(new)}.")  # fmt: skip


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def _gru(
    x, h, W, U, *, order=(0, 1, 2), squash=math.tanh, gate=_sigmoid, of_word=1, of_state=1,
    inside=lambda new, r, z, memory, before: new + r * memory,
    mix=lambda r, z, new, old: (1 - z) * new + z * old,
) -> list[float]:  # fmt: skip
    """One step, number by number; the options make the mistakes that have a diagnosis of their own."""

    def times(matrix: list, vector: list) -> list[float]:
        return product([vector], transposed(matrix))[0]

    def gates(i: int) -> list[float]:
        return [gate(of_word * a + of_state * b) for a, b in zip(times(W[i], x), times(U[i], h), strict=True)]

    r, z, i = gates(order[0]), gates(order[1]), order[2]
    before = times(U[i], [share * old for share, old in zip(r, h, strict=True)])
    parts = zip(times(W[i], x), r, z, times(U[i], h), before, strict=True)
    return [mix(*part) for part in zip(r, z, [squash(inside(*part)) for part in parts], h, strict=True)]


def _summed(x: Tensor, h: Tensor, W: Tensor, U: Tensor) -> dict[str, Tensor]:
    """`@` for `*` between two vectors."""
    r, z, word, memory = *((W[i] @ x + U[i] @ h).sigmoid() for i in range(2)), W[2] @ x, U[2] @ h
    return {
        "`r @ ...` sums to one number: `*` multiplies entry by entry.": (1 - z) * (word + r @ memory).tanh() + z * h,
        "`(1 - z) @ n` sums to one number: write `*`.": (1 - z) @ (word + r * memory).tanh() + z * h,
    }


def _if_square(x, h, W, U) -> dict[str, list[float]]:
    """Mistakes that only square matrices let through without a crash."""
    return {
        "W and U are exchanged: W belongs to the word x, U to the state h.": _gru(x, h, U, W),
        "the matrices W are transposed: it is `W[0] @ x`, not `x @ W[0]`.":
            _gru(x, h, [transposed(matrix) for matrix in W], U),
        "all matrices are transposed: it is `W[0] @ x`, not `x @ W[0]`.":
            _gru(x, h, [transposed(matrix) for matrix in W], [transposed(matrix) for matrix in U]),
        "the old state belongs into the last line: z times h, and not z times x.":
            _gru(x, h, W, U, mix=lambda r, z, new, old: (1 - z) * new + z * x[h.index(old)]),
    }  # fmt: skip


GRU_MISTAKES: dict[str, dict[str, Any]] = {  # Any: options of `_gru` that make a mistake
    "the update gate is upside down: z keeps the *old* state, 1 - z takes the new one.":
        {"mix": lambda r, z, new, old: z * new + (1 - z) * old},
    "these are the new values alone: now mix them with the old state, as the update gate says.":
        {"mix": lambda r, z, new, old: new},
    "the old state is missing: add z times h to (1 - z) times the new values.":
        {"mix": lambda r, z, new, old: (1 - z) * new},
    "the new values come in with the share 1 - z; you added them whole.":
        {"mix": lambda r, z, new, old: new + z * old},
    "the two parts are added: (1 - z) times the new values *plus* z times h.":
        {"mix": lambda r, z, new, old: (1 - z) * new - z * old},
    "the update gate z mixes old and new, and you took the reset gate r.":
        {"mix": lambda r, z, new, old: (1 - r) * new + r * old},
    "the last line has no tanh: it is a mixture of two vectors that have their size already.":
        {"mix": lambda r, z, new, old: math.tanh((1 - z) * new + z * old)},
    "this is what comes out without the reset gate.": {"inside": lambda new, r, z, memory, before: new + memory},
    "the reset gate r belongs to the new values, and you took the update gate z.":
        {"inside": lambda new, r, z, memory, before: new + z * memory},
    "the reset gate lets r of the old state through, and not 1 - r.":
        {"inside": lambda new, r, z, memory, before: new + (1 - r) * memory},
    "the new values lack the word: add `W[2] @ x`.": {"inside": lambda new, r, z, memory, before: r * memory},
    "the new values lack the old state: add r times `U[2] @ h`.": {"inside": lambda new, r, z, memory, before: new},
    "brackets are missing: `r * U[2] @ h` is `(r * U[2]) @ h`; write `r * (U[2] @ h)`. Or you multiplied the old state "
    "by r *before* the product with U; here r comes after it. (Cho and others did it your way; nn.GRU does this.)":
        {"inside": lambda new, r, z, memory, before: new + before},
    "you multiplied the input by r, too: the reset gate is for what comes from the old state.":
        {"inside": lambda new, r, z, memory, before: r * (new + memory)},
    "this is what comes out without the tanh.": {"squash": lambda value: value},
    "the new values go through tanh, not through the sigmoid.": {"squash": _sigmoid},
    "the new values go through tanh, not through relu.": {"squash": lambda value: max(value, 0.0)},
    "the gates go through the sigmoid, so that they lie between 0 and 1, not through tanh.": {"gate": math.tanh},
    "the gates lack the sigmoid: without it they do not lie between 0 and 1.": {"gate": lambda value: value},
    "the gates see the word only: add `U[0] @ h` and `U[1] @ h`.": {"of_state": 0},
    "the gates see the old state only: add `W[0] @ x` and `W[1] @ x`.": {"of_word": 0},
    **{"you have mixed up the gates: index 0 of W and U is for reset, 1 for update, 2 for the new values; you took "
       f"index {', '.join(map(str, order[:2]))} and {order[2]}.": {"order": order}
       for order in itertools.product(range(3), repeat=3) if order != (0, 1, 2)},
}  # fmt: skip
