"""Exercises 12.5, 12.7 and 12.8, about models: an encoder, a decoder with a state, and a beam search."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .checking import check
from .judging import IN_FLOAT64, LAST_DIGITS, _passes, _run, harmless, judge
from .plain import Answer

# ---- 12.5 ----


@functools.cache
def _gru(two_ways: bool) -> nn.ModuleDict:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        embedding, gru = nn.Embedding(100, 8), nn.GRU(8, 8, batch_first=True, bidirectional=two_ways)
        return nn.ModuleDict({"embedding": embedding, "gru": gru}).requires_grad_(False)


def _outputs(tokens: Tensor, two_ways: bool = False) -> Tensor:
    modules = _gru(two_ways)
    return modules["gru"](modules["embedding"](tokens))[0]


def encode(tokens: Tensor, lens: Tensor) -> Tensor:
    """The state after the last token of each sentence."""
    lens, rows = torch.as_tensor(lens), torch.arange(len(tokens))
    return _outputs(tokens)[rows, lens - 1]


def _one_by_one(tokens: Tensor, lens: Tensor, function: Callable[[Tensor, Tensor], Tensor] = encode) -> Tensor:
    lens = torch.as_tensor(lens)
    return torch.cat([function(tokens[[b], :n], lens[[b]]) for b, n in enumerate(lens.tolist())])


def _backwards_too(tokens: Tensor, lens: Tensor) -> Tensor:
    lens, rows = torch.as_tensor(lens), torch.arange(len(tokens))
    outputs = _outputs(tokens, two_ways=True)
    return torch.cat([outputs[rows, lens - 1, :8], outputs[:, 0, 8:]], dim=1)


@check("12.5", section="5. The neighbours of a sentence", none_counts=True)
def check_neighbours(test: Answer) -> None:
    """Judge `test(encode)`: does it see that the neighbours in a batch change the context of a sentence?"""
    right = {
        "": encode,
        "it reads the sentences one by one": _one_by_one,
        "it reads in both directions, and never reads padding": (
            functools.partial(_one_by_one, function=_backwards_too)
        ),
        **harmless(encode),
    }
    broken = {
        "it takes the state after the last column, which may be padding.": lambda tokens, lens: _outputs(tokens)[:, -1],
        "it takes the step at which the *longest* sentence of the batch ends. Compare a short sentence "
        "alone with the same sentence beside a longer one.": (
            lambda tokens, lens: _outputs(tokens)[:, torch.as_tensor(lens).amax() - 1]
        ),
        "it takes the step at which the *first* sentence ends. Look at all sentences of the batch.": (
            lambda tokens, lens: _outputs(tokens)[:, torch.as_tensor(lens)[0] - 1]
        ),
        "it takes the mean over all columns, padding included.": lambda tokens, lens: _outputs(tokens).mean(1),
        "it sorts the sentences by length, and returns the contexts in this order. Put a short sentence "
        "before a long one.": (
            lambda tokens, lens: encode(tokens, lens)[torch.as_tensor(lens).argsort(descending=True, stable=True)]
        ),
        "it reads in both directions, and backwards it begins in the padding.": _backwards_too,
    }
    judge(
        test,
        right=right,
        broken=broken,
        missed="Does a short sentence stand beside a longer one in your test, so that it has padding? And is the "
        "sentence cut to its own length where it stands alone, `tokens[row : row + 1, :length]`?",
        asks="A sentence alone and the same sentence in a batch have equal contexts, up to rounding: compare row i "
        "with the sentence alone, by `torch.allclose`.",
    )


# ---- 12.7 ----

State: TypeAlias = tuple[Tensor, Tensor, int]  # the context, the hidden state, the position


def _is_a_state(state: Answer) -> None:
    if isinstance(state, Tensor):  # right for the decoder of the lesson, whose state is the memory at first
        raise ValueError(
            "state comes from `decoder.init_state(memory)` or from the call before; here you passed a tensor, "
            "such as `memory`."
        )


class Decoder:
    """A recurrent decoder with a fixed context and positions.

    A mistake: `begins(context, hidden, position)` gives what a call begins with in place of its state. Harmless:
    `gives(logits)` says in which form they are returned.
    """

    def __init__(
        self,
        begins: Callable[[Tensor, Tensor, int], State] = lambda *state: state,
        gives: Callable[[Tensor], Tensor] = lambda logits: logits,
    ):
        self.begins, self.gives = begins, gives
        draw = torch.Generator().manual_seed(7)
        self.embedding, self.positions = torch.randn(100, 8, generator=draw), torch.randn(100, 8, generator=draw)
        self.recurrent, self.output = torch.randn(16, 8, generator=draw) / 3, torch.randn(8, 20, generator=draw)

    def init_state(self, memory: Tensor) -> Answer:
        """The state before the first token."""
        return memory, memory, 0

    def __call__(self, tokens: Tensor, state: Answer) -> tuple[Tensor, Answer]:
        """The logits after each of these tokens, and the new state."""
        if tokens.dim() != 2:
            raise ValueError(
                f"tokens have the shape (batch, n), not {tuple(tokens.shape)}: `tokens[:, t : t + 1]` keeps the axis"
            )
        _is_a_state(state)
        context, hidden, start = state
        context, hidden, start = self.begins(context, hidden, start)
        logits = []
        for place, column in enumerate(tokens.T, start=start):
            joined = torch.cat([hidden, context], dim=-1)
            hidden = torch.tanh(self.embedding[column] + self.positions[place] + joined @ self.recurrent)
            logits.append(hidden @ self.output)
        return self.gives(torch.stack(logits, dim=1)), (context, hidden, start + tokens.shape[1])


class Rereads:
    """The same decoder, which remembers the tokens and reads all of them again."""

    def init_state(self, memory: Tensor) -> Answer:
        """The state before the first token."""
        return {"memory": memory, "tokens": None}

    def __call__(self, tokens: Tensor, state: Answer) -> tuple[Tensor, Answer]:
        """The logits after each of these tokens, and the new state."""
        _is_a_state(state)
        before = state["tokens"]
        all_tokens = tokens if before is None else torch.cat([before, tokens], dim=1)
        decoder = Decoder()
        logits, _ = decoder(all_tokens, decoder.init_state(state["memory"]))
        return logits[:, -tokens.shape[1] :], {"memory": state["memory"], "tokens": all_tokens}


def _of_the_first_sentence(context: Tensor, hidden: Tensor, start: int) -> State:
    return context, hidden[:1].expand_as(hidden) if start else hidden, start


@check("12.7", section="7. A context that changes while you write", none_counts=True)
def check_steps(test: Answer) -> None:
    """Judge `test(decoder)`: does it see that step by step and all at once give different logits?"""
    right = {
        "": Decoder(),
        "its state is the list of all tokens so far, which it reads again at each call": Rereads(),
        LAST_DIGITS: Decoder(gives=lambda logits: logits * (1 + 1e-7 * logits.shape[1])),
        IN_FLOAT64: Decoder(gives=lambda logits: logits.double()),
    }
    broken = {
        "the context changes at each call.": Decoder(lambda context, hidden, start: (hidden, hidden, start)),
        "the positions begin at 0 again at each call.": Decoder(lambda context, hidden, start: (context, hidden, 0)),
        "each call begins with the first state again: nothing is remembered.": (
            Decoder(lambda context, hidden, start: (context, context, start))
        ),
        "from the second call on, all sentences go on with the state of the first one. Use two sentences, with "
        "different memories.": Decoder(_of_the_first_sentence),
        "after four steps its positions begin at 0 again. Take six steps or more.": (
            Decoder(lambda context, hidden, start: (context, hidden, start % 4))
        ),
    }
    judge(
        test,
        right=right,
        broken=broken,
        missed="It is right in its first call: give the tokens in several calls, hand the state on, and compare with "
        "one call for all tokens.",
        asks="Logits of one call for all tokens, and of calls one by one, are equal up to rounding (`torch.allclose`). "
        "Each of the two ways begins with "
        "one fresh `decoder.init_state(memory)`; after that each call gets the state that the call before returned.",
    )


# ---- 12.8 ----

SEEDS_WITH_TIES = 43, 57, 104, 127, 198, 235, 321, 366  # there small tables from `torch` have two best sentences
ASKS_OF_A_SEARCH = (
    "Is `width = vocabulary ** steps`? Does each sentence begin after token 0? Compare log-probabilities, up to "
    "rounding: several sentences may be equally good, and a list never equals a tuple."
)


def search(
    tables: Tensor,
    steps: int,
    width: int,
    *,
    total: Callable[[Tensor, Tensor], Tensor] = operator.add,
    extended: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda found, rows, parents: found[rows, parents],
    rank: int = 0,
) -> Tensor:
    """The best sentence of each table by beam search; a mistake replaces `total(new, before)`, `extended` or `rank`."""
    batch, vocab = tables.shape[:2]
    rows = torch.arange(batch)[:, None]
    found, totals = torch.zeros(batch, 1, 1, dtype=torch.long), torch.zeros(batch, 1, dtype=tables.dtype)
    for _ in range(steps):
        extensions = total(tables[rows, found[..., -1]], totals[..., None])  # batch, hypotheses, vocab
        totals, best = extensions.flatten(1).topk(min(width, extensions[0].numel()))
        found = torch.cat([extended(found, rows, best // vocab), (best % vocab)[..., None]], dim=-1)
    return found[:, rank, 1:]


def _every_sentence(tables: Tensor, steps: int) -> Tensor:
    return torch.tensor(list(itertools.product(range(tables.shape[1]), repeat=steps)))


def _first_best(tables: Tensor, sentences: Tensor) -> Tensor:
    totals = tables.double()[:, F.pad(sentences[:, :-1], (1, 0)), sentences].sum(-1)
    return sentences[(totals > totals.amax(-1, keepdim=True) - 1e-9).int().argmax(-1)]


def try_all(tables: Tensor, steps: int, width: int) -> Tensor:
    """The best sentence of each table; of those that are equally good, the first one."""
    return _first_best(tables, _every_sentence(tables, steps))


def try_all_backwards(tables: Tensor, steps: int, width: int) -> Tensor:
    """The best sentence of each table; of those that are equally good, the last one."""
    return _first_best(tables, _every_sentence(tables, steps).flip(0))


@check("12.8", section="8. A sentence that nobody can beat", none_counts=True)
def check_search(test: Answer) -> None:
    """Judge `test(search)`: does it see that a beam search misses the best sentences? And does it accept each best?"""
    right = {
        "": search,
        "it tries all sentences": try_all,
        "it searches for each sentence by itself": (
            lambda tables, steps, width: torch.cat([search(table[None], steps, width) for table in tables])
        ),
        IN_FLOAT64: lambda tables, steps, width: search(tables.double(), steps, width),
    }
    broken = {
        "each sentence of a batch goes on with the hypotheses of the *first* one.": (
            functools.partial(search, extended=lambda found, rows, parents: found[0][parents])
        ),
        "it returns the *least* likely of its hypotheses.": functools.partial(search, rank=-1),
        "it looks up the table of the first sentence for all.": (
            lambda tables, steps, width: search(tables[:1].expand_as(tables), steps, width)
        ),
        "it looks at the score of the last step only, and forgets the steps before.": (
            functools.partial(search, total=lambda new, before: new)
        ),
    }
    judge(
        test,
        right=right,
        broken=broken,
        missed="It is right for the first sentence of a batch, and by accident for some others: search for eight "
        "tables in one call, and compare each result with the best sentence of its table. Is it *as good as* the best?",
        asks=ASKS_OF_A_SEARCH,
    )
    for which, best in (("first", try_all), ("last", try_all_backwards)):
        said = f"it tries all sentences, and of those that are equally good it returns the {which} one"
        _passes([_run(test, best, seed) for seed in SEEDS_WITH_TIES], said, ASKS_OF_A_SEARCH)
