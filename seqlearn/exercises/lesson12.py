"""Checks of lesson 12: the learner writes a test, which is tried on right code and on several forms of a bug.

Each function below has a switch, `form`: "" is right, other forms are right in another way, or broken.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .checking import check, passes
from .judging import _passes, _run, judge
from .plain import Answer

LAST_DIGITS = "it sums in another order, so its last digits depend on the shapes: compare with `torch.allclose`"
IN_FLOAT64 = "it computes in float64"


def _forms(function: Callable, **told: str) -> dict[str, Callable]:
    """For each form, what is said of it -> the function in this form."""
    return {said: functools.partial(function, form=form) for form, said in told.items()}


def _with_other_digits(function: Callable, *args: Answer) -> Tensor:
    """Right but for the seventh digit, which depends on the shape of the result, as in a sum of another order."""
    result = function(*args)
    return result * (1 + 1e-7 * result.numel() % 1e-6 + 1e-7 * result.shape[0])


def _in_float64(function: Callable, *args: Answer) -> Tensor:
    return function(*(arg.double() if isinstance(arg, Tensor) and arg.is_floating_point() else arg for arg in args))


def _harmless(function: Callable) -> dict[str, Callable]:
    """Two ways in which right code may differ: the last digits, and the dtype."""
    return {
        LAST_DIGITS: functools.partial(_with_other_digits, function),
        IN_FLOAT64: functools.partial(_in_float64, function),
    }


# ---- 12.1 ----


@check("12.1", section="1. A table of the wrong size", none_counts=True)
def check_shape(test: Answer) -> None:
    """Judge `test(positions)`: does it see a table of positions with a wrong shape?"""
    judge(
        test,
        right={"": _positions} | _forms(
            _positions,
            sines_first="the columns stand in another order, first all sines, then all cosines",
            float64=IN_FLOAT64,
            learned="it returns learned positions: numbers that mean nothing yet",
        ),
        broken=_forms(
            _positions,
            crash="it stops at an odd width above 1. Try one.",
            wide="for an odd width the table has a column too many. Does your test look at the shape of this table?",
            narrow="for an odd width the table has a column too few. Does your test look at the shape of this table?",
            thousand="the table never has more than 1,000 rows. Compare the number of rows, too, above 1,000 steps.",
        ),
        missed="It stops at the widths 3, 5, 7, ...: does your test try one?",
        asks="Ask for the shape alone, `(steps, width)`: which numbers the table holds is another test.",
    )  # fmt: skip


def _positions(steps: int, width: int, *, form: str = "") -> Tensor:
    size = width + width % 2 if form == "wide" else width - width % 2 if form == "narrow" else width
    frequencies = 10000 ** (-torch.arange(0, size, 2) / size) if size else torch.zeros(0)
    angles = torch.arange(min(steps, 1000) if form == "thousand" else steps)[:, None] * frequencies
    if form == "crash":
        table = torch.zeros(steps, width)
        table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
        return table
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    if form == "sines_first":
        table = torch.cat([angles.sin(), angles.cos()], dim=1)
    if form == "learned":
        table = torch.randn(steps, size, generator=torch.Generator().manual_seed(1))
    return table[:, :size].double() if form == "float64" else table[:, :size]


# ---- 12.2 ----


@check("12.2", section="2. Inputs and labels", none_counts=True)
def check_labels(test: Answer) -> None:
    """Judge `test(inputs_and_labels)`: does it see labels that are not the next tokens?"""
    judge(
        test,
        right={"": _inputs_and_labels} | _forms(
            _inputs_and_labels,
            loop="it makes each row in a loop over its tokens",
            copies="it returns copies, in a list",
        ),
        broken=_forms(
            _inputs_and_labels,
            same="the labels are the inputs.",
            both_late="the labels are right, and the *inputs* have moved with them. Look at the inputs, too.",
            backwards="the inputs are one token ahead of the labels: the model would learn to write the token before.",
            twice="the labels are *two* tokens ahead. Compare them with labels that you wrote by hand.",
            first_row="the first sentence is right, the others are not shifted. Use two sentences.",
            short="the last token is lost, in inputs and labels: no model would learn to write <eos>.",
        ),
        missed="There the labels equal the inputs: in your example, are the right labels different from the inputs? "
        "And does your test look at the numbers of the labels?",
        asks="Inputs are all tokens but the last; labels are all tokens but the first.",
    )  # fmt: skip


def _inputs_and_labels(target: Tensor, *, form: str = "") -> Answer:
    if form == "loop":
        rows = torch.as_tensor(target).tolist()
        return torch.tensor([row[:-1] for row in rows]), torch.tensor([row[1:] for row in rows])
    early, late = target[:, :-1], target[:, 1:]
    if form == "copies":
        return [early.clone(), late.clone()]
    if form == "same":
        return early, early
    if form == "both_late":
        return late, late
    if form == "backwards":
        return late, early
    if form == "twice":
        return early[:, :-1], late[:, 1:]
    if form == "short":
        return early[:, :-1], late[:, :-1]
    if form == "first_row":
        return early, torch.cat([late[:1], early[1:]])
    return early, late


# ---- 12.3 ----


@check("12.3", section="3. The same scores, twice", none_counts=True)
def check_scores_stay(test: Answer) -> None:
    """Judge `test(masked_softmax)`: does it see that the caller's scores were changed?"""
    judge(
        test,
        right={"": _masked_softmax} | _forms(
            _masked_softmax,
            own_copy="it copies the scores first, and works in place on the copy",
            rows="it works row by row",
        ) | {IN_FLOAT64: functools.partial(_in_float64, _masked_softmax)},
        broken=_forms(
            _masked_softmax,
            masks="it writes a large negative number into the masked scores.",
            powers="it writes `exp` of each score over the score.",
            shifts="it subtracts the largest score of each row in place. The weights stay right; the scores do not.",
            last_row="it writes into the last row only. Compare the whole tensor.",
        ),
        missed="Three usual reasons: `before = scores` makes no copy, only a second name (`scores.clone()` copies); "
        "the lengths in your test mask nothing; or you compare two results, and not the scores before and after.",
        asks="Compare the scores before with the scores after, and nothing else.",
    )  # fmt: skip


def _masked_softmax(scores: Tensor, lens: Tensor, *, form: str = "") -> Tensor:
    lens = torch.as_tensor(lens).reshape(-1, *[1] * (scores.dim() - 1))
    hidden = torch.arange(scores.shape[-1]) >= lens
    if form == "rows":
        return torch.stack(
            [row.masked_fill(no, -torch.inf).softmax(-1) for row, no in zip(scores, hidden, strict=True)]
        )
    if form == "last_row":
        scores[-1].masked_fill_(hidden[-1], -1e6)
    if form in ("masks", "own_copy"):
        scores = scores if form == "masks" else scores.clone()
        scores.masked_fill_(hidden, -1e6)
    if form == "shifts":
        scores -= scores.amax(-1, keepdim=True)
    if form == "powers":
        scores.exp_()
        weights = scores.masked_fill(hidden, 0)
        return weights / weights.sum(-1, keepdim=True)
    return scores.masked_fill(hidden, -torch.inf).softmax(-1)


# ---- 12.4 ----


@check("12.4", section="4. Attention to nothing", none_counts=True)
def check_padding(test: Answer) -> None:
    """Judge `test(attend)`: does it see that padding changes a context?"""
    judge(
        test,
        right={"": _attend} | _forms(
            _attend,
            big_number="it masks with -1e9",
            loop="it cuts the padding off, sentence by sentence",
            torch="it calls PyTorch's own attention",
        ) | _harmless(_attend),
        broken=_forms(
            _attend,
            no_mask="it has no mask at all.",
            after="it sets the weights of the padding to 0 *after* the softmax: what stands in the padded keys still "
            "changes the other weights. Change the keys of the padding, not only its values.",
            zeros="it sets the scores of the padding to 0. A score of 0 still gets weight. "
            "Change the values of the padding, too.",
            one_more="it masks one column too late: the first `<pad>` is attended. Change all of the padding.",
            first="it uses the length of the first sentence for all. Put a long sentence first, change *all* "
            "the padding of the short one behind it, and compare both.",
            longest="it masks only what is padding in every sentence. Give your sentences different lengths.",
        ),
        missed="Does your test have padding (lengths below the number of keys), and does it change what stands there?",
        asks="Contexts stay the same, up to rounding (`torch.allclose`), when finite numbers in the padding change, or "
        "when padding is added. Each sentence has a real key. (0 times infinity is no number: do not fill the padding "
        "with infinity or NaN.)",
    )  # fmt: skip


def _attend(queries: Tensor, keys: Tensor, values: Tensor, lens: Tensor, *, form: str = "") -> Tensor:
    lens, places = torch.as_tensor(lens), torch.arange(keys.shape[1])
    if form == "loop":
        return torch.cat([
            _attend(queries[[b]], keys[[b], :n], values[[b], :n], lens[[b]]) for b, n in enumerate(lens.tolist())
        ])  # fmt: skip
    lens = {"one_more": lens + 1, "first": lens[:1].expand_as(lens), "longest": lens.amax().expand_as(lens)}.get(
        form, lens
    )
    hidden = (places >= lens[:, None])[:, None]  # batch, 1, keys
    if form == "torch":
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=~hidden)
    scores = queries @ keys.mT / keys.shape[-1] ** 0.5
    if form == "zeros":
        scores = scores.masked_fill(hidden, 0)
    elif form not in ("no_mask", "after"):
        scores = scores.masked_fill(hidden, -1e9 if form == "big_number" else -torch.inf)
    weights = scores.softmax(-1)
    return (weights.masked_fill(hidden, 0) if form == "after" else weights) @ values


# ---- 12.5 ----


@check("12.5", section="5. The neighbours of a sentence", none_counts=True)
def check_neighbours(test: Answer) -> None:
    """Judge `test(encode)`: does it see that the neighbours in a batch change the context of a sentence?"""
    judge(
        test,
        right={"": _encode} | _forms(
            _encode,
            loop="it reads the sentences one by one",
            both_ways="it reads in both directions, and never reads padding",
        ) | _harmless(_encode),
        broken=_forms(
            _encode,
            last="it takes the state after the last column, which may be padding.",
            longest="it takes the step at which the *longest* sentence of the batch ends. Compare a short sentence "
            "alone with the same sentence beside a longer one.",
            first="it takes the step at which the *first* sentence ends. Look at all sentences of the batch.",
            mean="it takes the mean over all columns, padding included.",
            sorted="it sorts the sentences by length, and returns the contexts in this order. Put a short sentence "
            "before a long one.",
            backwards="it reads in both directions, and backwards it begins in the padding.",
        ),
        missed="Does a short sentence stand beside a longer one in your test, so that it has padding? And is the "
        "sentence cut to its own length where it stands alone, `tokens[row : row + 1, :length]`?",
        asks="A sentence alone and the same sentence in a batch have equal contexts, up to rounding: compare row i "
        "with the sentence alone, by `torch.allclose`.",
    )  # fmt: skip


@functools.cache
def _gru(two_ways: bool) -> nn.ModuleDict:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        return nn.ModuleDict({
            "embedding": nn.Embedding(100, 8),
            "gru": nn.GRU(8, 8, batch_first=True, bidirectional=two_ways),
        }).requires_grad_(False)  # fmt: skip


def _encode(tokens: Tensor, lens: Tensor, *, form: str = "") -> Tensor:
    lens, rows = torch.as_tensor(lens), torch.arange(len(tokens))
    if form in ("loop", "both_ways"):
        alone = "backwards" if form == "both_ways" else ""
        return torch.cat([_encode(tokens[[b], :n], lens[[b]], form=alone) for b, n in enumerate(lens.tolist())])
    modules = _gru(form == "backwards")
    outputs, _ = modules["gru"](modules["embedding"](tokens))
    if form == "backwards":
        return torch.cat([outputs[rows, lens - 1, :8], outputs[:, 0, 8:]], dim=1)
    if form == "last":
        return outputs[:, -1]
    if form == "mean":
        return outputs.mean(1)
    if form in ("longest", "first"):
        return outputs[:, (lens.amax() if form == "longest" else lens[0]) - 1]
    contexts = outputs[rows, lens - 1]
    return contexts[lens.argsort(descending=True, stable=True)] if form == "sorted" else contexts


# ---- 12.6 ----


@check("12.6", section="6. The next throw of a die", none_counts=True)
def check_future(test: Answer) -> None:
    """Judge `test(look_back)`: does it see that a position looks into the future?"""
    judge(
        test,
        right={"": _look_back} | _forms(
            _look_back,
            loop="it computes each position from the steps up to this one",
            torch="it calls PyTorch's own attention",
        ) | _harmless(_look_back),
        broken=_forms(
            _look_back,
            late="the mask begins one step too late. Change a step, and look at the position right before it.",
            no_mask="it has no mask at all.",
            first_position="its mask also hides each position from itself. So position 0 may look at nothing, and with "
            "-1e9 in place of minus infinity it looks at *everything*. Compare all positions before the change.",
            first_sentence="the mask is right for the first sentence of the batch only. Look at all sentences.",
            centred="it subtracts the mean over all steps first, and this mean knows the future.",
        ),
        missed="It sees one step ahead: change a step, and compare the position right before this step. (Change it in "
        "a copy, `x.clone()`: `changed = x` is a second name.)",
        asks="When steps change, the positions *before* them stay the same, up to rounding (`torch.allclose`). The "
        "position of the change may change itself. (0 times infinity is no number: do not put infinity or NaN into "
        "the steps.)",
    )  # fmt: skip


def _look_back(x: Tensor, *, form: str = "") -> Tensor:
    steps = x.shape[1]
    if form == "loop":
        return torch.cat([_look_back(x[:, : t + 1], form="last")[:, -1:] for t in range(steps)], dim=1)
    if form == "torch":
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)
    if form == "centred":
        x = x - x.mean(1, keepdim=True)
    may = torch.ones(steps, steps, dtype=torch.bool).tril({"late": 1, "first_position": -1}.get(form, 0))
    if form in ("no_mask", "last"):
        may[:] = True
    scores = x @ x.mT / x.shape[-1] ** 0.5
    masked = scores.masked_fill(~may, -1e9)
    if form == "first_sentence":
        masked = torch.cat([masked[:1], scores[1:]])
    return masked.softmax(-1) @ x


# ---- 12.7 ----


@check("12.7", section="7. A context that changes while you write", none_counts=True)
def check_steps(test: Answer) -> None:
    """Judge `test(decoder)`: does it see that step by step and all at once give different logits?"""
    judge(
        test,
        right={
            "": _Decoder(),
            "its state is the list of all tokens so far, which it reads again at each call": _Rereads(),
            LAST_DIGITS: _Decoder("digits"),
            IN_FLOAT64: _Decoder("float64"),
        },
        broken={
            "the context changes at each call.": _Decoder("context"),
            "the positions begin at 0 again at each call.": _Decoder("positions"),
            "each call begins with the first state again: nothing is remembered.": _Decoder("forgets"),
            "from the second call on, all sentences go on with the state of the first one. Use two sentences, with "
            "different memories.": _Decoder("first_sentence"),
            "after four steps its positions begin at 0 again. Take six steps or more.": _Decoder("four_steps"),
        },
        missed="It is right in its first call: give the tokens in several calls, hand the state on, and compare with "
        "one call for all tokens.",
        asks="Logits of one call for all tokens, and of calls one by one, are equal up to rounding (`torch.allclose`). "
        "Each of the two ways begins with "
        "one fresh `decoder.init_state(memory)`; after that each call gets the state that the call before returned.",
    )


def _is_a_state(state: Answer) -> None:
    if isinstance(state, Tensor):  # right for the decoder of the lesson, whose state is the memory at first
        raise ValueError(
            "state comes from `decoder.init_state(memory)` or from the call before; here you passed a tensor, "
            "such as `memory`."
        )


class _Decoder:
    """A recurrent decoder with a fixed context and positions. Its state: context, hidden state, position."""

    def __init__(self, form: str = ""):
        self.form = form
        draw = torch.Generator().manual_seed(7)
        self.embedding, self.positions = torch.randn(100, 8, generator=draw), torch.randn(100, 8, generator=draw)
        self.recurrent, self.output = torch.randn(16, 8, generator=draw) / 3, torch.randn(8, 20, generator=draw)

    def init_state(self, memory: Tensor) -> Answer:
        """The state before the first token."""
        return memory, memory, 0

    def __call__(self, tokens: Tensor, state: Answer) -> tuple[Tensor, Answer]:
        if tokens.dim() != 2:
            raise ValueError(
                f"tokens have the shape (batch, n), not {tuple(tokens.shape)}: `tokens[:, t : t + 1]` keeps the axis"
            )
        _is_a_state(state)
        context, hidden, start = state
        if self.form == "context":
            context = hidden
        if self.form == "forgets":
            hidden = context
        if self.form == "first_sentence" and start:
            hidden = hidden[:1].expand_as(hidden)
        first = {"positions": 0, "four_steps": start % 4}.get(self.form, start)
        logits = []
        for place, column in enumerate(tokens.T, start=first):
            joined = torch.cat([hidden, context], dim=-1)
            hidden = torch.tanh(self.embedding[column] + self.positions[place] + joined @ self.recurrent)
            logits.append(hidden @ self.output)
        result = torch.stack(logits, dim=1)
        if self.form == "digits":
            result = result * (1 + 1e-7 * tokens.shape[1])
        return result.double() if self.form == "float64" else result, (context, hidden, start + tokens.shape[1])


class _Rereads:
    """The same decoder, which remembers the tokens and reads all of them again."""

    def init_state(self, memory: Tensor) -> Answer:
        """The state before the first token."""
        return {"memory": memory, "tokens": None}

    def __call__(self, tokens: Tensor, state: Answer) -> tuple[Tensor, Answer]:
        _is_a_state(state)
        before = state["tokens"]
        all_tokens = tokens if before is None else torch.cat([before, tokens], dim=1)
        decoder = _Decoder()
        logits, _ = decoder(all_tokens, decoder.init_state(state["memory"]))
        return logits[:, -tokens.shape[1] :], {"memory": state["memory"], "tokens": all_tokens}


# ---- 12.8 ----


SEEDS_WITH_TIES = 43, 57, 104, 127, 198, 235, 321, 366  # there small tables from `torch` have two best sentences
ASKS_OF_A_SEARCH = (
    "Is `width = vocabulary ** steps`? Does each sentence begin after token 0? Compare log-probabilities, up to "
    "rounding: several sentences may be equally good, and a list never equals a tuple."
)


@check("12.8", section="8. A sentence that nobody can beat", none_counts=True)
def check_search(test: Answer) -> None:
    """Judge `test(search)`: does it see that a beam search misses the best sentences? And does it accept each best?"""
    judge(
        test,
        right={"": _search, "it tries all sentences": _try_all} | _forms(
            _search,
            loop="it searches for each sentence by itself",
            float64=IN_FLOAT64,
        ),
        broken=_forms(
            _search,
            mixed="each sentence of a batch goes on with the hypotheses of the *first* one.",
            least="it returns the *least* likely of its hypotheses.",
            first_table="it looks up the table of the first sentence for all.",
            forgets="it looks at the score of the last step only, and forgets the steps before.",
        ),
        missed="It is right for the first sentence of a batch, and by accident for some others: search for eight "
        "tables in one call, and compare each result with the best sentence of its table. Is it *as good as* the best?",
        asks=ASKS_OF_A_SEARCH,
    )  # fmt: skip
    for which in ("first", "last"):
        search = functools.partial(_try_all, among_equals=which)
        said = f"it tries all sentences, and of those that are equally good it returns the {which} one"
        _passes([_run(test, search, seed) for seed in SEEDS_WITH_TIES], said, ASKS_OF_A_SEARCH)


def _search(tables: Tensor, steps: int, width: int, *, form: str = "") -> Tensor:
    if form == "loop":
        return torch.cat([_search(table[None], steps, width) for table in tables])
    if form in ("float64", "first_table"):
        tables = tables.double() if form == "float64" else tables[:1].expand_as(tables)
    batch, vocab = tables.shape[:2]
    rows = torch.arange(batch)[:, None]
    found, totals = torch.zeros(batch, 1, 1, dtype=torch.long), torch.zeros(batch, 1, dtype=tables.dtype)
    for _ in range(steps):
        extended = tables[rows, found[..., -1]]  # batch, hypotheses, vocab
        if form != "forgets":
            extended = extended + totals[..., None]
        totals, best = extended.flatten(1).topk(min(width, extended[0].numel()))
        parents, tokens = best // vocab, best % vocab
        kept = found[0][parents] if form == "mixed" else found[rows, parents]
        found = torch.cat([kept, tokens[..., None]], dim=-1)
    return found[:, -1 if form == "least" else 0, 1:]


def _try_all(tables: Tensor, steps: int, width: int, *, among_equals: str = "first") -> Tensor:
    sentences = torch.tensor(list(itertools.product(range(tables.shape[1]), repeat=steps)))
    if among_equals == "last":
        sentences = sentences.flip(0)
    totals = tables.double()[:, F.pad(sentences[:, :-1], (1, 0)), sentences].sum(-1)
    return sentences[(totals > totals.amax(-1, keepdim=True) - 1e-9).int().argmax(-1)]


# ---- 12.9 ----


@check("12.9", section="9. An exam with known questions", none_counts=True)
def check_split(test: Answer) -> None:
    """Judge `test(split)`: does it see sentences of the test part in the training part, and pairs that got lost?"""
    judge(
        test,
        right={"": _split} | _forms(
            _split,
            shuffled="it shuffles the sentences first",
            fifths="every fifth sentence is for testing, and the parts are tuples",
            half="half of the sentences are for testing",
        ),
        broken=_forms(
            _split,
            by_pair="it shuffles the *pairs*: one translation of a sentence is trained on, another is tested.",
            inside="it trains on all pairs, and tests on some of them.",
            border="it cuts the list at 80 % of the pairs, between two translations of one sentence. Does your test "
            "have sentences with three translations, and corpora of several sizes?",
            loses="it keeps one translation of each sentence, and throws the other pairs away. Are all pairs still "
            "there, each of them once?",
        ),
        missed="In your corpus, does an English sentence stand in several pairs? And do you compare the *English "
        "sentences* of both parts, not the pairs?",
        asks="No English sentence is in both parts, and each pair is in exactly one part. How large the parts are, and "
        "how they are ordered, is not promised.",
    )  # fmt: skip


def _split(pairs: Answer, *, form: str = "") -> Answer:
    pairs = list(pairs)
    if form in ("by_pair", "inside", "border"):
        order = torch.randperm(len(pairs)).tolist() if form == "by_pair" else range(len(pairs))
        listed, cut = [pairs[i] for i in order], int(0.8 * len(pairs))
        return (listed if form == "inside" else listed[:cut]), listed[cut:]
    sentences = list(dict.fromkeys(english for english, _ in pairs))
    if form == "loses":
        pairs = [(english, dict(reversed(pairs))[english]) for english in sentences]
    if form == "shuffled":
        sentences = [sentences[i] for i in torch.randperm(len(sentences)).tolist()]
    cut = int((0.5 if form == "half" else 0.8) * len(sentences))
    held_out = set(sentences[4::5] if form == "fifths" else sentences[cut:])
    train = [pair for pair in pairs if pair[0] not in held_out]
    test = [pair for pair in pairs if pair[0] in held_out]
    return (tuple(train), tuple(test)) if form == "fifths" else (train, test)


# ---- right code, and the code of a book ----


def right(number: str) -> Callable:
    """The right code of an exercise, such as "12.4": a test passes on it. So nobody has to open the fix first."""
    programs = (_positions, _inputs_and_labels, _masked_softmax, _attend, _encode, _look_back, _Decoder(), _search)
    known = {f"12.{place}": program for place, program in enumerate((*programs, _split), start=1)}
    if number not in known:
        raise ValueError(f"there is no exercise {number!r}: the exercises are {', '.join(known)}")
    return known[number]


def yours_or_ours(*written: Callable) -> list[Callable]:
    """The tests of exercises 12.1, 12.3 and 12.5: the learner's where its check passes, else the folded solution."""
    chosen = []
    for mine, ours, examine in zip(written, SOLUTIONS, (check_shape, check_scores_stay, check_neighbours), strict=True):
        chosen.append(mine if passes(examine, mine, none_counts=True) else ours)
        print(f"{ours.__name__.removeprefix(chr(95))}: {'yours' if chosen[-1] is mine else 'ours'}")
    return chosen


def _test_shape(positions: Callable) -> None:
    for steps, width in [(1, 2), (10, 4), (10, 5), (2000, 7)]:
        assert positions(steps, width).shape == (steps, width)


def _test_scores_stay(masked_softmax: Callable) -> None:
    scores = torch.randn(3, 5)
    before = scores.clone()
    masked_softmax(scores, torch.tensor([2, 4, 1]))
    assert torch.equal(scores, before)


def _test_neighbours(encode: Callable) -> None:
    tokens = torch.tensor([[4, 5, 0, 0], [6, 7, 8, 9], [3, 2, 7, 0]])
    lens = torch.tensor([2, 4, 3])
    together = encode(tokens, lens)
    for row, length in enumerate(lens):
        alone = encode(tokens[row : row + 1, :length], lens[row : row + 1])
        assert torch.allclose(together[row], alone[0], atol=1e-5)


SOLUTIONS = (_test_shape, _test_scores_stay, _test_neighbours)
