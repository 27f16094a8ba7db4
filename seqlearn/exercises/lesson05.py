"""Check of exercise 5.1, with PyTorch's parts, and its folded solution, for whoever goes on without one."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from .checking import Wrong, called, check, has_dtype, has_parts, has_shape, matches, passes
from .lesson05_greedy import check_greedy
from .lesson05_gru import check_gru_step
from .lesson05_loss import check_masked_loss
from .plain import Answer

__all__ = [
    "check_decoder_step",
    "check_greedy",
    "check_gru_step",
    "check_masked_loss",
    "decoder_step",
    "yours_or_ours",
]


def decoder_step(decoder, token, state, context):  # noqa: D103 (the lesson explains it; a test compares the two)
    both = torch.cat([decoder.embedding(token), context], dim=-1)
    state = decoder.cell(both, state)
    return decoder.dense(state), state


def yours_or_ours(written: Callable) -> SimpleNamespace:
    """The learner's `decoder_step` where it passes its check, else the folded solution. It prints whose it is."""
    right = passes(check_decoder_step, written)
    print(f"decoder_step: {'yours' if right else 'ours'}")
    return SimpleNamespace(decoder_step=written if right else decoder_step)


LOGITS_FIRST = "the logits come first: `return logits, state`."
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
        shapes = {
            (rows, size): LOGITS_FIRST
            if swapped
            else "`decoder.dense` is missing: it makes the logits from the new state.",
            (rows,): "these are words: return the logits of *all* words. The search chooses a word, not the step.",
        }
        has_shape(logits, (rows, words), "logits, a number for each word,", shapes)
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
    rated, right = (one.detach() for one in decoder_step(decoder, *given))
    told = "the new state is wrong: `decoder.cell` takes [embedding; context] and the old state."
    matches(new, right, _wrong_states(decoder, *given), otherwise=told)
    _, state, context = given
    told = "the state is right, but the logits are not: they are `decoder.dense` of the new state."
    matches(logits, rated, _wrong_logits(decoder.dense, state, right), otherwise=told)
    if not logits.requires_grad or not new.requires_grad:
        raise Wrong("the numbers are right, but no gradient flows: no `item`, no `detach`, no `torch.no_grad()`.")
    ends = {"old state": state, "context": context, "embeddings": decoder.embedding.weight}
    for start, found in (("logits", logits), ("new state", new)):
        gradients = torch.autograd.grad(found.sum(), list(ends.values()), retain_graph=True, allow_unused=True)
        for end, gradient in zip(ends, gradients, strict=True):
            if gradient is None:
                told = "no `detach`, `item`, `.data` or `torch.no_grad()` between the two."
                raise Wrong(f"the numbers are right, but no gradient gets from the {start} to the {end}: {told}")


def _wrong_states(decoder: SimpleNamespace, token: Tensor, state: Tensor, context: Tensor) -> dict[str, Tensor]:
    """Diagnosis -> the state after a usual mistake. Some of them need context, state and embedding of one size."""
    embedded, start = decoder.embedding.weight[token], decoder.bridge(context)
    first_token, first_context = (each[:1].expand_as(each) for each in (embedded, context))

    def new(one: Tensor = embedded, other: Tensor = context, old: Tensor = state) -> Tensor:
        return decoder.cell(torch.cat([one, other], dim=-1), old).detach()

    found = {
        "this is the old state: return the one that `decoder.cell` gives back.": state,
        "embedding and context are in the wrong order: the embedding comes first, as in the formula.": (
            new(context, embedded)
        ),
        "the state needs no tanh: the GRU has its own inside.": new().tanh(),
        "the state starts again from s_0 at each step: give the cell `state`, not the bridge.": new(old=start.tanh()),
        "the state starts again from the bridge at each step: give the cell `state`.": new(old=start),
        "the old state is added to the new one: the GRU mixes the two itself.": state + new(),
        "the state starts from zeros at each step: give the cell `state`.": new(old=torch.zeros_like(state)),
        "the cell has read the token twice: one call for each step.": new(old=new()),
        "every sentence got the first token: `decoder.embedding(token)` looks up one for each sentence.": (
            new(first_token)
        ),
        "every sentence got the context of the first one.": new(other=first_context),
        "the context is missing: its numbers were zeros.": new(other=torch.zeros_like(context)),
    }
    if len({embedded.shape, context.shape, state.shape}) == 1:
        found |= {
            "you joined the token with the *state*: join it with the context; the cell gets the state by itself.": (
                new(other=state)
            ),
            "the cell got the context in place of the state.": new(old=context),
            "the cell got the context as its state, and the state in place of the context.": new(
                embedded, state, context
            ),
            "the token is missing: you joined the context with itself.": new(context),
            "the token is missing: you joined state and context.": new(state),
            "the context is missing: you joined the embedding with itself.": new(other=embedded),
        }
    return found


def _wrong_logits(dense: nn.Linear, old: Tensor, new: Tensor) -> dict[str, Tensor]:
    """Diagnosis -> the logits of a usual mistake, from the old or the new state."""
    logits = dense(new).detach()
    return {
        "these logits come from the *old* state: rate the words with the new one.": dense(old),
        "these are probabilities: return the logits, without the softmax.": logits.softmax(-1),
        "these are logarithms of probabilities: return the logits, without the softmax.": logits.log_softmax(-1),
        "the logits need no tanh: `decoder.dense` is the last layer.": logits.tanh(),
        "the logits need no sigmoid: `decoder.dense` is the last layer.": logits.sigmoid(),
        "the state needs no tanh before `decoder.dense`.": dense(new.tanh()),
        "the bias of `decoder.dense` is missing: call the layer itself.": logits - dense.bias,
        "the softmax runs over the sentences; and logits need none.": logits.softmax(0),
    }
