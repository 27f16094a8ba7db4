"""Checks of lesson 07. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, check

JOBS = {"next": 0, "reverse": 1, "first": 2, "previous": 3}
WORDS = 10  # of the lesson's sentence


@check("7.1", section="3. One product, then a reshape")
def check_heads(to_heads: Callable[[Tensor, int], Tensor], from_heads: Callable[[Tensor], Tensor]) -> None:
    """Try out `to_heads(x, heads)` -> (batch, heads, steps, size) and `from_heads`, the way back."""
    for batch, steps, heads, size in ((2, 3, 4, 5), (1, 4, 4, 3), (3, 6, 3, 1)):
        x = torch.arange(batch * steps * heads * size, dtype=torch.float32).view(batch, steps, heads * size)
        copy = x.clone()
        found, parts = to_heads(x, heads), torch.tensor(_split(copy.tolist(), heads, size))
        if not torch.equal(x, copy):
            raise Wrong("x has changed: work on a new tensor (no `x *= ...`, no `x[...] = ...`).")
        _examine_split(found, x.tolist(), heads, size)
        parts_copy, back = parts.clone(), from_heads(parts)
        if back is None:
            raise Wrong("`to_heads` is right! Now `from_heads`: it still returns None.")
        _examine_merge(back, parts, x)
        if not torch.equal(parts, parts_copy):
            raise Wrong("`from_heads` has changed its argument: work on a new tensor.")


def _examine_split(found, x: list, heads: int, size: int) -> None:
    batch, steps = len(x), len(x[0])
    right = _split(x, heads, size)
    _examine_form(found, (batch, heads, steps, size), "`to_heads`", {
        (batch, steps, heads, size): "the heads still stand *behind* the steps: exchange the axes 1 and 2.",
        (heads, batch, steps, size): "the heads stand before the batch: (batch, heads, steps, size).",
        (batch * heads, steps, size): "batch and heads share one axis: keep them apart, (batch, heads, steps, size).",
        (batch, size, heads, steps): "you exchanged the axes 1 and 3, steps and size: exchange the axes 1 and 2.",
    })  # fmt: skip
    if _equal(found, right):
        return
    numbers = torch.tensor(x)
    if torch.equal(found.double().cpu(), numbers.reshape(batch, heads, steps, size).double()):
        raise Wrong(
            "the classic bug, `reshape` without `transpose`: head 0 has all numbers of the first words and nothing "
            "of the last ones. Cut the last axis first, (batch, steps, heads, size), then exchange the axes 1 and 2."
        )
    every = [[[[row[h + heads * i] for i in range(size)] for row in rows] for h in range(heads)] for rows in x]
    if _equal(found, every):
        raise Wrong(
            f"head 0 got the numbers 0, {heads}, {2 * heads}, ... of a step; it should get the first {size}: "
            "cut into (heads, size)."
        )
    if _equal(found, [rows[::-1] for rows in right]):
        raise Wrong("the heads are in the opposite order: head 0 has the *first* numbers.")
    b, h, s, _ = (found.double().cpu() != torch.tensor(right).double()).nonzero()[0].tolist()
    place, given = f"sentence {b}, head {h}, step {s}", found[b, h, s].tolist()
    raise Wrong(f"`to_heads`: {place} should be {right[b][h][s]}; yours: {given}.")


def _examine_merge(found, parts: Tensor, x: Tensor) -> None:
    batch, heads, steps, size = parts.shape
    _examine_form(found, tuple(x.shape), "`to_heads` is right! But `from_heads`", {
        (batch, steps, heads, size): "`from_heads`: heads and size are still two axes: join them.",
        (batch, heads, steps * size): "`from_heads` joined steps and size: exchange the axes 1 and 2 before you join.",
        (batch, heads * steps, size): "`from_heads` joined heads and steps: the *last* two axes are to be joined.",
    })  # fmt: skip
    if torch.equal(found.double().cpu(), x.double()):
        return
    if torch.equal(found.double().cpu(), parts.reshape(x.shape).double()):
        raise Wrong("`from_heads` has the classic bug: exchange the axes 1 and 2 *before* the `reshape`.")
    b, s, _ = (found.double().cpu() != x.double()).nonzero()[0].tolist()
    raise Wrong(f"`from_heads`: sentence {b}, step {s} should be {x[b, s].tolist()}; yours: {found[b, s].tolist()}.")


def _split(x: list, heads: int, size: int) -> list:
    return [[[row[h * size : (h + 1) * size] for row in rows] for h in range(heads)] for rows in x]


@check("7.2", section="3. One product, then a reshape")
def check_causal_self_attention(layer: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """Try out `causal_self_attention(x, W_q, W_k, W_v, W_o, heads)` -> (weights, outputs)."""
    generator = torch.Generator().manual_seed(7)
    for steps, heads, size in ((4, 2, 3), (5, 3, 2), (3, 1, 4)):
        d = heads * size
        inputs = [torch.randn(shape, generator=generator) for shape in ((steps, d), *[(d, d)] * 4)]
        copies = [tensor.clone() for tensor in inputs]
        answer = layer(*inputs, heads)
        if not (isinstance(answer, tuple | list) and len(answer) == 2):
            raise Wrong("return two things: the weights and the outputs.")
        for name, tensor, copy in zip(("x", "W_q", "W_k", "W_v", "W_o"), inputs, copies, strict=True):
            if not torch.equal(tensor, copy):
                raise Wrong(f"an argument has changed, `{name}`: work on new tensors (no `x *= ...`).")
        _examine_layer(*answer, *(tensor.tolist() for tensor in inputs), heads)


def _examine_layer(weights, outputs, x, W_q, W_k, W_v, W_o, heads) -> None:
    steps, d = len(x), len(x[0])
    if isinstance(weights, Tensor) and weights.shape == (steps, d) and (heads, steps, steps) != (steps, d):
        raise Wrong("that is the wrong way round: first the weights, then the outputs.")
    _examine_form(weights, (heads, steps, steps), "the weights", {
        (steps, steps): "these are the weights of one head: there should be one square for each head.",
        (steps, heads, heads): "each step compares its *heads* with each other: exchange the axes of steps and heads.",
        (1, heads, steps, steps): "there is one sentence and no batch: the weights are (heads, steps, steps).",
    })  # fmt: skip
    right = _weights(x, W_q, W_k, heads)
    if not _close(weights, right):
        raise Wrong(_diagnose_weights(weights, right, x, W_q, W_k, heads))
    _examine_form(outputs, (steps, d), "the outputs", {
        (heads, steps, d // heads): "the weights are right, but the heads are not joined yet: bring them side by side.",
    })  # fmt: skip
    if not _close(outputs, _outputs(right, x, W_v, W_o)):
        raise Wrong(_diagnose_outputs(outputs, right, x, W_v, W_o))


def _diagnose_weights(weights, right, x, W_q, W_k, heads) -> str:
    """Which of the usual mistakes gives these weights."""
    d = len(x[0])
    size = d // heads
    seen = {
        "everything": lambda i, j: True,
        "future": lambda i, j: j >= i,
        "strict": lambda i, j: j < i,
    }
    known = [
        ({"may": seen["everything"]}, "a word may look ahead: hide the keys that come *after* the query."),
        ({"may": seen["future"]}, "the mask is upside down: a word may look at itself and *back*, not ahead."),
        ({"scale": 1.0}, f"you did not divide the scores by the root of the size of a head, here {size}."),
        (
            {"scale": d**-0.5},
            f"you divided by the root of d = {d}; each head divides by the root of *its* size, {size}.",
        ),
        ({"scale": 1 / size}, f"you divided by the size of a head, {size}; divide by its square root."),
        ({"scale": heads**-0.5}, f"you divided by the root of the number of heads; take the size of one head, {size}."),
        ({"scrambled": True}, "the classic bug: `reshape` alone gives heads other words; it takes a transpose."),
        ({"turned": True}, "your matrices lie on their side: it is `x @ W.T`."),
        ({"interleaved": True}, f"head 0 got the rows 0, {heads}, {2 * heads}, ... of W; it has the first {size}."),
        ({"may": seen["everything"], "cut": True}, "you masked after the softmax, so rows do not sum to 1."),
        ({"may": seen["everything"], "scale": 1.0}, "neither scaled nor masked: divide, and hide the future."),
    ]
    for mistake, diagnosis in known:
        if _close(weights, _weights(x, W_q, W_k, heads, **mistake)):
            return diagnosis
    if _close(weights, _weights(x, W_k, W_q, heads)):
        return "you exchanged W_q and W_k: queries look, keys are looked at."
    given = weights.detach().double().cpu()
    if given.isnan().any():
        return _diagnose_nan(given.isnan().any(-1).any(0).tolist())
    if _close(given[:, 1:], [head[1:] for head in _weights(x, W_q, W_k, heads, may=seen["strict"])]):
        return "a word does not see itself: the diagonal of the mask is True, too."
    if not ((given.sum(-1) - 1).abs() < 1e-3).all():
        return f"a row of your weights sums to {float(given[0, -1].sum()):.2f}, not to 1: softmax over the last axis."
    ahead = float(given.triu(1).abs().sum())
    if ahead > 1e-3:
        return f"a weight of {float(given.triu(1).max()):.2f} lies on a word that comes later than its query."
    shown = ", ".join(f"{number:.3f}" for number in right[0][1])
    return f"head 0, word 1 should be [{shown}]; yours: [{', '.join(f'{n:.3f}' for n in given[0, 1].tolist())}]."


def _diagnose_nan(empty: list[bool]) -> str:
    """What the words whose rows have NaNs say about the mask and the softmax."""
    if not any(empty[:-1]):
        return "the last word sees nothing: the mask is inverted, True = may be attended."
    if not any(empty[1:]):
        return "the first word sees nothing: a word may look at itself, too."
    return "there are NaNs in several rows: softmax over the *last* axis, and let each word see itself."


def _diagnose_outputs(outputs, right, x, W_v, W_o) -> str:
    heads, steps, d = len(right), len(x), len(x[0])
    identity = [[float(i == j) for j in range(d)] for i in range(d)]
    if _close(outputs, _outputs(right, x, W_v, identity)):
        return "the weights are right, but W_o is missing: the joined heads go through it at the end."
    if _close(outputs, _outputs(right, x, W_v, _turn(W_o))):
        return "the weights are right, but W_o lies on its side: it is `@ W_o.T`."
    if _close(outputs, _outputs(right, x, identity, W_o)):
        return "the weights are right, but you averaged x itself: the values are `x @ W_v.T`."
    if _close(outputs, _outputs(right, x, _turn(W_v), W_o)):
        return "the weights are right, but W_v lies on its side: the values are `x @ W_v.T`."
    joined = torch.tensor(_outputs(right, x, W_v, identity), dtype=torch.float64)  # steps, d
    parts = joined.view(steps, heads, d // heads).transpose(0, 1)
    scrambled = parts.reshape(steps, d) @ torch.tensor(W_o, dtype=torch.float64).T
    if _close(outputs, scrambled.tolist()):
        return "the weights are right, but you joined the heads by `reshape` alone: first bring steps before heads."
    return "the weights are right, but the outputs are not: average the values of each head, join the heads, then W_o."


def _weights(x, W_q, W_k, heads, *, may=None, scale=None, scrambled=False, turned=False, interleaved=False, cut=False):
    """Weights by loops, with a switch for each typical mistake: a list for each head."""
    steps, d = len(x), len(x[0])
    size = d // heads
    may = may or (lambda i, j: j <= i)
    scale = size**-0.5 if scale is None else scale
    queries, keys = (_product(x, _turn(W) if turned else W) for W in (W_q, W_k))
    answer = []
    for head in range(heads):
        if scrambled:
            flat = [[number for row in rows for number in row] for rows in (queries, keys)]
            start = head * steps * size
            q, k = ([row[start + i * size : start + (i + 1) * size] for i in range(steps)] for row in flat)
        else:
            places = range(head, d, heads) if interleaved else range(head * size, (head + 1) * size)
            q, k = ([[row[place] for place in places] for row in rows] for rows in (queries, keys))
        answer.append([_row(q[i], k, i, may, scale, cut) for i in range(steps)])
    return answer


def _row(query, keys, i, may, scale, cut) -> list[float]:
    powers = [
        math.exp(scale * sum(a * b for a, b in zip(query, key, strict=True))) if may(i, j) else 0.0
        for j, key in enumerate(keys)
    ]
    total = sum(powers) or 1.0
    return [power / total * (j <= i or not cut) for j, power in enumerate(powers)]


def _outputs(weights, x, W_v, W_o) -> list[list[float]]:
    values, size = _product(x, W_v), len(x[0]) // len(weights)
    joined = [
        [
            sum(weights[h][i][j] * values[j][h * size + c] for j in range(len(x)))
            for h in range(len(weights))
            for c in range(size)
        ]
        for i in range(len(x))
    ]
    return _product(joined, W_o)


def _product(x, W) -> list[list[float]]:
    """x @ W.T"""
    return [[sum(a * b for a, b in zip(row, line, strict=True)) for line in W] for row in x]


def _turn(W) -> list[list[float]]:
    return [list(column) for column in zip(*W, strict=True)]


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


@check("7.3", section="9. One task, one right picture")
def check_jobs(jobs: object) -> None:
    """Compare what was read off the four maps with what they were made of."""
    if not isinstance(jobs, dict):
        raise Wrong(f'give a dictionary, as in {{"previous": 0, ...}}; yours is of type {type(jobs).__name__}.')
    if missing := [job for job in JOBS if job not in jobs]:
        raise Wrong(f'there is no head for "{missing[0]}".')
    if strange := [job for job in jobs if job not in JOBS]:
        raise Wrong(f'"{strange[0]}" is none of the jobs; they are {", ".join(JOBS)}.')
    for job, head in jobs.items():
        if isinstance(head, bool) or not isinstance(head, int):
            raise Wrong(f'the head for "{job}" should be a number, such as 0; yours is of type {type(head).__name__}.')
    if {job: head - 1 for job, head in jobs.items()} == JOBS:
        raise Wrong("you counted from 1: the title of the first picture says head 0.")
    if outside := [head for head in jobs.values() if not 0 <= head < len(JOBS)]:
        raise Wrong(f"there is no head {outside[0]}: they are 0, 1, 2 and 3.")
    if len(set(jobs.values())) < len(JOBS):
        raise Wrong("you gave two jobs to one head: each head has one.")
    if jobs["previous"] == JOBS["next"] and jobs["next"] == JOBS["previous"]:
        raise Wrong(
            '"previous" and "next" are exchanged: *rows* look. In the row "girl" of a head that looks back, '
            'the bright column is the first one, "the".'
        )
    for job in ("first", "reverse", "previous", "next"):
        if jobs[job] != JOBS[job]:
            looks = next(name for name, head in JOBS.items() if head == jobs[job])
            shape = {"first": "one bright column", "reverse": "a line from the upper right to the lower left"}
            what = shape.get(looks, "a line right beside the diagonal")
            raise Wrong(f'head {jobs[job]} has {what}: that is not "{job}".')


@check("7.4", section="11. Convolution, recurrence, self-attention")
def check_layers_needed(layers_needed: Callable[[int, int], int]) -> None:
    """Try out `layers_needed(n, k)` on short and long sentences, against a spread that is counted layer by layer."""
    cases = [(n, k) for n in (2, 3, 4, 8, 10, 11, 50, 81) for k in (3, 5, 7)]
    answers = {case: layers_needed(*case) for case in cases}
    for (n, k), answer in answers.items():
        if isinstance(answer, bool) or not isinstance(answer, int):
            raise Wrong(f"return an int; for n = {n} and k = {k} yours is of type {type(answer).__name__}.")
    if all(answers[case] == _layers(*case) for case in cases):
        return
    growth = "that is the order of growth, n / k, not the number: how many places does one layer add to each side?"
    extra = "one layer too many where n - 1 is a multiple of k // 2: of n - 1 places, only a remainder needs one more."
    known = [
        (lambda n, k: math.ceil((n - 1) / (k - 1)), "a window reaches *half* of k - 1 places to each side."),
        (lambda n, k: math.ceil(n / (k // 2)), extra),  # and (n - 1) // (k // 2) + 1, which is the same
        (lambda n, k: n // (k // 2), "from the first word to the last it is n - 1 places, not n, and round up."),
        (lambda n, k: (n - 1) // (k // 2), "you rounded down, so the last word is not always reached: round up."),
        (lambda n, k: round((n - 1) / (k // 2)), "you rounded to the nearest number: round up."),
        (lambda n, k: math.ceil(n / k), growth),
        (lambda n, k: n // k, growth),
        (lambda n, k: math.ceil((n - 1) / k), "a window of k words reaches less than k places to one side."),
        (lambda n, k: math.ceil((n - 1) / (k / 2)), "a window of 3 has one place on each side, not 1.5."),
        (lambda n, k: math.ceil((n - 1) / (k // 2)) + 1, "one too many: a single layer reaches its neighbours."),
        (lambda n, k: math.ceil(math.log(n, k)), "the logarithm is for *dilated* convolutions; these have no gaps."),
        (lambda n, k: n - 1, "that is a window of 3; a wider one goes further in each layer."),
    ]
    for formula, diagnosis in known:
        if all(answers[case] == formula(*case) for case in cases):
            raise Wrong(diagnosis)
    (n, k), answer = next((case, answers[case]) for case in cases if answers[case] != _layers(*case))
    raise Wrong(f"for n = {n} words and a window of {k} it takes {_layers(n, k)}; yours: {answer}.")


def _layers(n: int, k: int) -> int:
    reached, layers = 0, 0  # the last place that knows of the first word
    while reached < n - 1:
        reached, layers = reached + k // 2, layers + 1
    return layers


def _examine_form(found, shape: tuple[int, ...], name: str, known: dict[tuple[int, ...], str]) -> None:
    """Raise `Wrong` if this is no tensor of this shape; `known` has what to say about shapes that often come."""
    if not isinstance(found, Tensor):
        raise Wrong(f"{name} should give a tensor; yours is of type {type(found).__name__}.")
    given = tuple(found.shape)
    if given != shape:
        raise Wrong(known.get(given, f"{name} should have the shape {shape}; yours: {given}."))


def _equal(tensor: Tensor, numbers: list) -> bool:
    return torch.equal(tensor.detach().double().cpu(), torch.tensor(numbers, dtype=torch.float64))


def _close(tensor: Tensor, numbers: list) -> bool:
    expected = torch.tensor(numbers, dtype=torch.float64)
    given = tensor.detach().double().cpu()
    return given.shape == expected.shape and torch.allclose(given, expected, atol=1e-4)
