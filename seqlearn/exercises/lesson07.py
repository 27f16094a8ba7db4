"""Checks of lesson 07. The oracles are plain formulas: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor

from .checking import NotTried, Wrong, called, check, has_parts, has_shape, is_close, matches, number, shown, table

JOBS = {"next": 0, "reverse": 1, "first": 2, "previous": 3}
WORDS = 10  # of the lesson's sentence
KINDS_OF = {"girl": (0,), "apple": (1, 2), "washes": (3,), "eats": (3,), "it": (4,), "red": (5,)}


@contextmanager
def _after(what_is_right: str) -> Iterator[None]:
    """A diagnosis within says first what is right already."""
    try:
        yield
    except Wrong as diagnosis:
        raise Wrong(f"{what_is_right} {diagnosis}") from None


@check("7.1", section="3. One product, then a reshape")
def check_heads(to_heads: Callable[[Tensor, int], Tensor], from_heads: Callable[[Tensor], Tensor]) -> None:
    """Try out `to_heads(x, heads)` -> (batch, heads, steps, size) and `from_heads`, the way back."""
    shapes = ((2, 3, 4, 5), (1, 4, 4, 3), (2, 5, 6, 2), (3, 6, 3, 1))  # batch, steps, heads, size
    cases = [(torch.arange(b * s * h * i).float().view(b, s, h * i), h) for b, s, h, i in shapes]
    for x, heads in cases:
        _examine_split(called(to_heads, x, heads), x, heads)
    with _after("`to_heads` is right! `from_heads`:"):
        for x, heads in cases:
            parts = torch.tensor(_split(x, heads))
            try:
                _examine_merge(called(from_heads, parts), parts, x)
            except NotTried:
                raise Wrong("it still returns None.") from None


def _split(x: Tensor, heads: int) -> list:
    (batch, steps, d), numbers = x.shape, x.tolist()
    size = d // heads
    return table((batch, heads, steps, size), lambda b, h, s, i: numbers[b][s][h * size + i])


def _examine_split(answer, x: Tensor, heads: int) -> None:
    batch, steps, d = x.shape
    size, right = d // heads, _split(x, heads)
    other_numbers = {
        (batch, parts, steps, d // parts): f"you cut each step into {parts} heads of {d // parts}: "
        f"`heads` says how many, here {heads} of {size}."
        for parts in range(1, d + 1)
    }
    shapes = {
        (batch, steps, heads, size): "the heads still stand *behind* the steps: exchange the axes 1 and 2.",
        (heads, batch, steps, size): "the heads stand before the batch: (batch, heads, steps, size).",
        (batch * heads, steps, size): "batch and heads share one axis: keep them apart, (batch, heads, steps, size).",
        (batch, size, heads, steps): "you exchanged the axes 1 and 3, steps and size: exchange the axes 1 and 2.",
    }
    has_shape(answer, (batch, heads, steps, size), "answer of `to_heads`", other_numbers | shapes)
    reshaped, by_steps = x.reshape(batch, heads, steps, size), [x[..., head::heads] for head in range(heads)]
    mistakes = {
        "the classic bug, `reshape` without `transpose`: head 0 has all numbers of the first words and nothing of the "
        "last ones. Cut the last axis first, (batch, steps, heads, size), then exchange the axes 1 and 2.": reshaped,
        f"head 0 got the numbers 0, {heads}, {2 * heads}, ... of a step; it should get the first {size}: "
        "cut into (heads, size).": torch.stack(by_steps, 1),
        "the heads are in the opposite order: head 0 has the *first* numbers.": [parts[::-1] for parts in right],
    }
    matches(answer, right, mistakes, axes=("`to_heads`: sentence", "head", "step"))


def _examine_merge(answer, parts: Tensor, x: Tensor) -> None:
    batch, heads, steps, size = parts.shape
    shapes = {
        (batch, steps, heads, size): "heads and size are still two axes: join them.",
        (batch, heads, steps * size): "you joined steps and size: exchange the axes 1 and 2 before you join.",
        (batch, heads * steps, size): "you joined heads and steps: the *last* two axes have to be joined.",
        (2, steps, batch * heads * size // 2): f"the batch is not always 2: read it from the shape, here {batch}.",
    }
    has_shape(answer, x.shape, "answer", shapes)
    mixed = parts.permute(0, 2, 3, 1).reshape(x.shape)
    mistakes = {
        "the classic bug: exchange the axes 1 and 2 *before* the `reshape`.": parts.reshape(x.shape),
        "the heads are mixed number by number: all numbers of head 0 come first, then those of head 1.": mixed,
    }
    matches(answer, x, mistakes, axes=("sentence", "step"))


@check("7.2", section="3. One product, then a reshape")
def check_causal_self_attention(layer: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """Try out `causal_self_attention(x, W_q, W_k, W_v, W_o, heads)` -> (weights, outputs)."""
    generator = torch.Generator().manual_seed(7)
    for steps, heads, size in ((4, 2, 3), (5, 3, 2), (3, 1, 4), (2, 2, 2)):
        d = heads * size
        inputs = [torch.randn(shape, generator=generator) for shape in ((steps, d), *[(d, d)] * 4)]
        inputs[0][0] *= steps > 2  # a real score of 0
        inputs[1] *= 1e6 if heads == 1 else 1  # scores that are lower than a large negative number
        weights, outputs = has_parts(called(layer, *inputs, heads), "weights", "outputs")
        if (heads, steps, steps) != (steps, d) == getattr(weights, "shape", None):
            raise Wrong("that is the wrong way round: first the weights, then the outputs.")
        x, W_q, W_k, W_v, W_o = (tensor.double() for tensor in inputs)
        _examine_weights(weights, x, W_q, W_k, heads)
        with _after("the weights are right, but"):
            _examine_outputs(outputs, _weights(_scores(x, W_q, W_k, heads)), x, W_v, W_o)


def _projected(x: Tensor, W: Tensor, heads: int) -> Tensor:
    """`x @ W.T`, head by head: (heads, steps, size)."""
    return torch.stack([x @ rows.T for rows in W.chunk(heads)])


def _reshaped(x: Tensor, W: Tensor, heads: int) -> Tensor:
    return (x @ W.T).reshape(heads, len(x), -1)


def _interleaved(x: Tensor, W: Tensor, heads: int) -> Tensor:
    return torch.stack([x @ W[head::heads].T for head in range(heads)])


def _scores(x: Tensor, W_q: Tensor, W_k: Tensor, heads: int, cut: Callable[..., Tensor] = _projected) -> Tensor:
    queries, keys = cut(x, W_q, heads), cut(x, W_k, heads)
    return torch.einsum("hqi,hki->hqk", queries, keys) * queries.shape[-1] ** -0.5


def _weights(scores: Tensor, may: Callable[[int, int], bool] = lambda q, k: k <= q) -> Tensor:
    """(heads, steps, steps); `may(query, key)` says what is attended."""
    return scores.masked_fill(~torch.tensor(table(scores.shape[1:], may)), -math.inf).softmax(-1)


def _examine_weights(answer, x: Tensor, W_q: Tensor, W_k: Tensor, heads: int) -> None:
    steps, d = x.shape
    size = d // heads
    shapes = {
        (steps, steps): "these are the weights of one head, or a mean over the heads: give a square for each head.",
        (steps, heads, heads): "each step compares its *heads* with each other: exchange the axes of steps and heads.",
        (1, heads, steps, steps): "there is one sentence and no batch: the weights are (heads, steps, steps).",
    }
    has_shape(answer, (heads, steps, steps), "weights", shapes)
    if heads == 1 and (answer.triu(1) > 1e-3).any():  # the mask was right for the smaller scores before
        raise Wrong("your large negative number is not low enough for scores of a million: hide with -inf.")

    scores = _scores(x, W_q, W_k, heads)
    right = _weights(scores)

    def scaled(by: float) -> Tensor:
        return _weights(scores * by * size**0.5)

    def cut_by(cut: Callable[..., Tensor]) -> Tensor:
        return _weights(_scores(x, W_q, W_k, heads, cut))

    ahead = _weights(scores, lambda q, k: k >= q)
    mistakes = {
        "a word may look ahead: hide the keys that come *after* the query.": scores.softmax(-1),
        "the mask is upside down: a word may look at itself and *back*, not ahead.": ahead,
        f"you did not divide the scores by the root of the size of a head, here {size}.": scaled(1.0),
        f"you divided by the root of d = {d}; each head divides by the root of *its* size, {size}.": scaled(d**-0.5),
        f"you divided by the size of a head, {size}; divide by its square root.": scaled(1 / size),
        f"you divided by the root of the number of heads; take the size of one head, {size}.": scaled(heads**-0.5),
        "the classic bug: `reshape` alone gives heads other words; it takes a transpose.": cut_by(_reshaped),
        f"head 0 got the rows 0, {heads}, {2 * heads}, ... of W; it has the first {size}.": cut_by(_interleaved),
        "you masked after the softmax, so rows do not sum to 1.": scores.softmax(-1).tril(),
        "a score of 0 is not hidden, it still gets weight: hide the future with -inf.": scores.tril().softmax(-1),
        "neither scaled nor masked: divide, and hide the future.": (scores * size**0.5).softmax(-1),
        "your matrices are transposed: it is `x @ W.T`.": _weights(_scores(x, W_q.T, W_k.T, heads)),
        "you exchanged W_q and W_k: W_q makes the queries, W_k the keys.": _weights(_scores(x, W_k, W_q, heads)),
    }
    strict = _weights(scores, lambda q, k: k < q)
    matches(answer, right, mistakes, otherwise=lambda: _other_weights(answer, right, strict))


def _other_weights(answer: Tensor, right: Tensor, not_itself: Tensor) -> str:
    """What is wrong with weights that no usual mistake gives in full."""
    empty = answer.isnan().any(-1).any(0)  # queries with a row of NaN
    if empty.any():
        if not empty[:-1].any():
            return "the last word sees nothing: the mask is inverted, True = may be attended."
        if not empty[1:].any():
            return "the first word sees nothing: a word may look at itself, too."
        return "several rows are NaN: softmax over the *last* axis, and let each word see itself."
    if is_close(answer[:, 1:], not_itself[:, 1:]):
        return "a word does not see itself: the diagonal of the mask is True, too."
    totals = answer.sum(-1).flatten()
    total = float(totals[(totals - 1).abs().argmax()])
    if abs(total - 1) > 1e-3:
        return f"a row of your weights sums to {total:.2f}, not to 1: softmax over the last axis."
    if (ahead := float(answer.triu(1).max())) > 1e-3:
        return f"a weight of {ahead:.2f} lies on a word that comes later than its query."
    return f"head 0, word 1 should be {shown(right[0, 1])}; yours: {shown(answer[0, 1])}."


def _examine_outputs(answer, weights: Tensor, x: Tensor, W_v: Tensor, W_o: Tensor) -> None:
    steps, d = x.shape
    joined = "the heads are not joined yet: bring them side by side."
    has_shape(answer, x.shape, "outputs", {(len(weights), steps, d // len(weights)): joined})

    def heads(W_v: Tensor) -> Tensor:
        return weights @ _projected(x, W_v, len(weights))

    def outputs(W_v: Tensor, W_o: Tensor) -> Tensor:
        return torch.cat([*heads(W_v)], 1) @ W_o.T

    itself, reshaped = torch.eye(d).double(), heads(W_v).reshape(steps, d) @ W_o.T
    mistakes = {
        "W_o is missing: the joined heads go through it at the end.": outputs(W_v, itself),
        "W_o is transposed: it is `@ W_o.T`.": outputs(W_v, W_o.T),
        "you averaged x itself: the values are `x @ W_v.T`.": outputs(itself, W_o),
        "W_v is transposed: the values are `x @ W_v.T`.": outputs(W_v.T, W_o),
        "you joined the heads by `reshape` alone: first bring steps before heads.": reshaped,
    }
    otherwise = "the outputs are not: average the values of each head, join the heads, then apply W_o."
    matches(answer, outputs(W_v, W_o), mistakes, otherwise=otherwise)


def mystery_heads() -> Tensor:
    """The weights of exercise 7.3, `(heads, words, words)`: made up, each head with one job, and not quite sharp."""
    rows = torch.arange(WORDS)
    targets = {
        "previous": (rows - 1).clamp(min=0),
        "next": (rows + 1).clamp(max=WORDS - 1),
        "first": torch.zeros_like(rows),
        "reverse": WORDS - 1 - rows,
    }
    weights = torch.full((len(JOBS), WORDS, WORDS), 0.2 / (WORDS - 1))
    for job, head in JOBS.items():
        weights[head, rows, targets[job]] = 0.8
    return weights


def two_heads(tokens: Sequence[str]) -> tuple[Float[Tensor, "1 words kinds"], dict[str, Tensor]]:
    """What each word of the lesson's sentence is, and the matrices of two heads made by hand, by parameter name.

    The numbers of a word say: person, thing, food, action, pronoun, adjective. In head 0 an action asks for a person.
    In head 1 pronouns and adjectives ask for a thing that is food. Both bring back the first three numbers.
    """
    facts = torch.tensor([[[float(kind in KINDS_OF.get(word, ())) for kind in range(6)] for word in tokens]])
    ask, offer, itself = torch.zeros(6, 6), torch.zeros(6, 6), torch.eye(6)  # rows 0 to 2 belong to head 0
    ask[0, 3], offer[0, 0] = 10.0, 1.0
    ask[3:5, 4:], offer[3, 1], offer[4, 2] = 5.0, 1.0, 1.0
    matrices = {"W_q": ask, "W_k": offer, "W_v": itself[[0, 1, 2, 0, 1, 2]], "W_o": itself}
    return facts, {f"{name}.weight": matrix for name, matrix in matrices.items()}


@check("7.3", section="8. One task, one right picture")
def check_jobs(jobs: object) -> None:
    """Compare what was read off the four maps with what they were made of."""
    if not isinstance(jobs, dict):
        raise Wrong(f'give a dictionary, as in {{"previous": 0, ...}}; yours is of type {type(jobs).__name__}.')
    if any(head in [*JOBS] for head in jobs.values()):
        raise Wrong('the job comes first, then its head: {"previous": 0, ...}; yours is the other way round.')
    if missing := [job for job in JOBS if job not in jobs]:
        raise Wrong(f'there is no head for "{missing[0]}".')
    if strange := [job for job in jobs if job not in JOBS]:
        raise Wrong(f'"{strange[0]}" is none of the jobs; they are {", ".join(JOBS)}.')
    heads = {job: number(jobs[job], f'the head for "{job}" should be a number, such as 0', whole=True) for job in JOBS}
    if {job: head - 1 for job, head in heads.items()} == JOBS:
        raise Wrong("you counted from 1: the title of the first picture says head 0.")
    if outside := [head for head in heads.values() if head not in JOBS.values()]:
        raise Wrong(f"there is no head {outside[0]}: they are 0, 1, 2 and 3.")
    if len(set(heads.values())) < len(JOBS):
        raise Wrong("you gave two jobs to one head: each head has one.")
    if (heads["previous"], heads["next"]) == (JOBS["next"], JOBS["previous"]):
        raise Wrong(
            '"previous" and "next" are exchanged: rows are queries, columns are keys. In the row "girl" of a head that '
            'looks back, the bright column is the first one, "the".'
        )
    for job in ("first", "reverse", "previous", "next"):
        if heads[job] != JOBS[job]:
            looks = next(name for name, head in JOBS.items() if head == heads[job])
            shape = {"first": "one bright column", "reverse": "a line from the upper right to the lower left"}
            what = shape.get(looks, "a line right beside the diagonal")
            raise Wrong(f'head {heads[job]} has {what}: that is not "{job}".')


N_MINUS_1 = "from the first word to the last it is n - 1 positions, not n, and round up."
GROWTH = "that is the order of growth, n / k, not the number: how many positions does one layer add to each side?"
NO_WINDOW = "the window k changes nothing in your answer: a wider one reaches further in each layer."
TOO_MANY = (
    "one layer too many where n - 1 is a multiple of k // 2: of n - 1 positions, only a remainder needs one more."
)
LAYER_MISTAKES: list[tuple[str, Callable[[int, int], float]]] = [
    ("a window reaches *half* of k - 1 positions to each side.", lambda n, k: math.ceil((n - 1) / (k - 1))),
    (TOO_MANY, lambda n, k: (n - 1) // (k // 2) + 1),  # and ceil(n / (k // 2)), which is the same
    (N_MINUS_1, lambda n, k: n // (k // 2)),
    (N_MINUS_1, lambda n, k: max(1, n // (k // 2))),
    ("you rounded down, so the last word is not always reached: round up.", lambda n, k: (n - 1) // (k // 2)),
    ("you rounded to the nearest number: round up.", lambda n, k: round((n - 1) / (k // 2))),
    (GROWTH, lambda n, k: math.ceil(n / k)),
    (GROWTH, lambda n, k: n // k),
    ("a window of k words reaches less than k positions to one side.", lambda n, k: math.ceil((n - 1) / k)),
    ("a window of 3 has one position on each side, not 1.5.", lambda n, k: math.ceil((n - 1) / (k / 2))),
    ("one too many: a single layer reaches its neighbours.", lambda n, k: math.ceil((n - 1) / (k // 2)) + 1),
    ("the logarithm is for *dilated* convolutions; these have no gaps.", lambda n, k: math.ceil(math.log(n, k))),
    ("that is a window of 3; a wider one goes further in each layer.", lambda n, k: n - 1),
    (NO_WINDOW, lambda n, k: n - 2),
    (NO_WINDOW, lambda n, k: n // 2),
]


@check("7.4", section="10. Convolution, recurrence, self-attention")
def check_layers_needed(layers_needed: Callable[[int, int], int]) -> None:
    """Try out `layers_needed(n, k)` on short and long sentences, against a spread that is counted layer by layer."""
    cases = [(n, k) for k in (3, 5, 7) for n in (2, 3, 4, 8, 10, 11, 50, 81)]
    right, answers = {(n, k): _layers(n, k) for n, k in cases}, {}
    for n, k in cases:
        wanted = f"return a whole number (for n = {n} and k = {k})"
        answers[n, k] = number(called(layers_needed, n, k), wanted, whole=True)
    if wrong := [case for case in cases if answers[case] != right[case]]:
        (n, k), only_3 = wrong[0], "you are right for a window of 3, and for no wider one: " * (wrong[0][1] > 3)
        matches(
            [*answers.values()],
            [*right.values()],
            [(diagnosis, [rule(n, k) for n, k in cases]) for diagnosis, rule in LAYER_MISTAKES],
            otherwise=f"{only_3}for n = {n} words and a window of {k} it takes {right[n, k]}; yours: {answers[n, k]}.",
            within=0,
        )


def _layers(n: int, k: int) -> int:
    reached, layers = 0, 0  # the last position that knows of the first word
    while reached < n - 1:
        reached, layers = reached + k // 2, layers + 1
    return layers
