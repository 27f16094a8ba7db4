"""Checks of lesson 13. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_dtype, has_shape, is_close, matches, number, shown, softmax, table

KiB, GiB = 2**10, 2**30
OURS = {"layers": 4, "kv_heads": 2, "head_size": 32, "tokens": 20, "bytes": 4}
LARGE = {"layers": 80, "kv_heads": 8, "head_size": 128, "tokens": 4096, "bytes": 2}
QUERY_HEADS = {"ours": 4, "large": 64}


@check("13.1", section="1. One model with one half removed")
def check_prefix_mask(prefix_mask: Callable[[int, int], Tensor]) -> None:
    """Try out `prefix_mask(prompt, steps)`: a prompt of 1, of several, and of all tokens."""
    for prompt, steps in ((3, 6), (1, 4), (4, 4), (2, 7)):
        answer = called(prefix_mask, prompt, steps)
        has_shape(answer, (steps, steps), "mask")
        has_dtype(answer, torch.bool, "mask", "`True` means: may be attended.")
        otherwise = f"with prompt = {prompt} and steps = {steps}, {_first_cell_off(answer, prompt)}"
        right, mistakes = _masks(prompt, steps)
        matches(answer, right, mistakes, otherwise=otherwise)


def _masks(p: int, steps: int) -> tuple[list, dict[str, list]]:
    """The right mask, and those of usual mistakes."""

    def mask(rule: Callable[[int, int], bool]) -> list:
        return table((steps, steps), rule)

    return mask(lambda i, j: j <= i or j < p), {
        "the mask is turned around: `True` means *may* be attended.": mask(lambda i, j: not (j <= i or j < p)),
        "rows and columns are exchanged: a row is the token that looks.": mask(lambda i, j: i <= j or i < p),
        "this is the other triangle: `tril` keeps the past, `triu` the future.": mask(lambda i, j: j >= i or j < p),
        "this is the triangle of the future: begin with `tril`, and open the prompt.": mask(lambda i, j: j >= i),
        "the tokens after the prompt see each other in both directions: among themselves they are causal.": (
            mask(lambda i, j: i >= p or j < p)
        ),
        "this is the causal mask: the tokens of the prompt should see each other in *both* directions.": (
            mask(lambda i, j: j <= i)
        ),
        "now every token sees every other: after the prompt, no token sees a later one.": mask(lambda i, j: True),
        "the target does not see the prompt: its rows need the columns of the prompt, too.": (
            mask(lambda i, j: (i < p and j < p) or (i >= p and p <= j <= i))
        ),
        "a token after the prompt does not see itself: the diagonal counts as past.": mask(lambda i, j: j < i or j < p),
        "in your mask the first token after the prompt counts as prompt: count from 0, so it has the index `prompt`.": (
            mask(lambda i, j: j <= i or j <= p)
        ),
        "in your mask the last token of the prompt does not count as prompt: it has the index `prompt - 1`.": (
            mask(lambda i, j: j <= i or j < p - 1)
        ),
        "the tokens of the prompt see the target: only the *columns* of the prompt are open to all rows.": (
            mask(lambda i, j: j <= i or i < p)
        ),
    }


def _first_cell_off(answer: Tensor, prompt: int) -> str:
    for i, row in enumerate(answer.tolist()):
        for j, found in enumerate(row):
            if found != (j <= i or j < prompt):
                return f"row {i}, column {j} should be {not found}."
    return ""


BOS_COUNTS = (
    "<bos> counts, too: nobody has to predict it. The first row that counts is row `prompt`, which reads <bos>."
)


@check("13.2", section="1. One model with one half removed")
def check_target_loss(target_loss: Callable[..., Tensor]) -> None:
    """Try out `target_loss(logits, ids, prompt)` on random logits."""
    generator = torch.Generator().manual_seed(13)
    for steps, prompt, words in ((8, 3, 5), (6, 4, 7), (9, 2, 4)):
        logits = (60 if words == 4 else 2) * torch.randn(steps, words, generator=generator).requires_grad_()
        ids = torch.randint(words, (steps,), generator=generator)
        answer, logits = called(target_loss, logits, ids, prompt), logits.detach()
        single = {(steps - prompt - 1,): "these are the losses of the single tokens: take their mean."}
        has_shape(answer, (), "loss (one number)", single)
        right, mistakes = _target_losses(logits, ids, prompt)
        otherwise = f"with prompt = {prompt} and {steps} tokens the loss should be {right:.3f}; yours: {shown(answer)}."
        matches(answer, right, mistakes, otherwise=otherwise)
        if not answer.requires_grad:
            raise Wrong("the number is right, but no gradient flows: no `item`, no `detach`, no `torch.no_grad()`.")


def _target_losses(logits: Tensor, ids: Tensor, prompt: int) -> tuple[float, dict[str, float]]:
    """The right loss, and those of usual mistakes."""
    steps = len(ids)
    shifted, unshifted = _losses(logits, ids, 1), _losses(logits, ids, 0)  # of the rows 0 to steps - 2, and of all
    losses = shifted[prompt:]
    probabilities = torch.tensor([softmax(row) for row in logits.double().tolist()])
    return mean(losses), {
        "this is the loss on *all* tokens: the source and <bos> should not count.": mean(shifted),
        "this is the loss on the *source*: you want the target.": mean(shifted[:prompt]),
        "nothing is shifted: row t of the logits scores token t + 1.": mean(unshifted[prompt + 1 :]),
        "nothing is shifted, and <bos> counts: row t of the logits scores token t + 1.": mean(unshifted[prompt:]),
        "this is the loss on all tokens, and nothing is shifted.": mean(unshifted),
        BOS_COUNTS: mean(shifted[prompt - 1 :]),
        "the first token of the target does not count: it is predicted by row `prompt`, which reads <bos>.": (
            mean(losses[1:])
        ),
        "the last token, <eos>, does not count: the model has to learn when to stop.": mean(losses[:-1]),
        "this is the sum: take the mean over the tokens of the target.": sum(losses),
        "you divided by the number of all tokens: divide by the number of those of the target.": sum(losses) / steps,
        "you divided by the number of all predictions: divide by those of the target.": sum(losses) / len(shifted),
        "you took the softmax before: `F.cross_entropy` wants logits, and takes the softmax itself.": (
            mean(_losses(probabilities, ids, 1)[prompt:])
        ),
        "shifted the wrong way: row t of the logits scores token t + 1, and not token t - 1.": (
            mean(_losses(logits[1:], ids, 0)[prompt:])
        ),
        "the sign: a loss is *minus* the log-probability.": -mean(losses),
        "these are the logits of the right tokens: take the log-softmax before.": (
            -mean([float(logits[t, ids[t + 1]]) for t in range(prompt, steps - 1)])
        ),
    }


def _losses(logits: Tensor, ids: Tensor, shift: int) -> list[float]:
    """Minus the log-probability that row t gives to token t + shift."""
    rows = [softmax(row) for row in logits.double().tolist()]
    return [-math.log(rows[t][int(ids[t + shift])]) for t in range(len(rows) - shift)]


def mean(values: list[float]) -> float:
    """The mean; infinity, if there are no values."""
    return sum(values) / len(values) if values else math.inf


MISPLACED = (
    "the kept probabilities stand in wrong places: `scatter` puts values back to their indices. (`gather`, or an "
    "index, takes them from there.)"
)


@check("13.4", section="4. Sampling: how a language model writes")
def check_top_p(top_p_filter: Callable[..., Tensor]) -> None:
    """Try out `top_p_filter(probs, top_p)` on probabilities in several orders."""
    for probs, top_p in (
        ([0.1, 0.4, 0.05, 0.25, 0.2], 0.55),
        ([0.05, 0.55, 0.15, 0.12, 0.08, 0.05], 0.5),
        ([0.2, 0.1, 0.6, 0.1], 0.5),
        ([0.25, 0.4, 0.2, 0.15], 0.9),
        ([0.3, 0.1, 0.4, 0.2], 1.0),
        ([0.25, 0.5, 0.125, 0.125], 0.5),
        ([0.25, 0.3, 0.2, 0.25], 0.5),  # any of two
        ([n / 55 for n in (9, 9, 9, 9, 3, 7, 8, 1)], 1.0),  # with 32 bits, the sum stays below 1
    ):
        answer = called(top_p_filter, torch.tensor(probs), top_p)
        has_shape(answer, (len(probs),), "probabilities, one for each token,")
        if answer.isnan().any():
            raise Wrong("there is a NaN: no token was kept, and 0 / 0 is NaN. The likeliest token always stays.")
        right, mistakes = _nuclei(probs, top_p, answer.tolist())
        asked = f"for {shown(probs, '.2f')} and top_p = {top_p} the answer should be {shown(right)}"
        matches(answer, right, mistakes, otherwise=f"{asked}; yours: {shown(answer)}.")


def _nuclei(probs: list[float], top_p: float, answer: list[float]) -> tuple[list[float], dict[str, list[float]]]:
    """The right probabilities, and those of usual mistakes. Of equal tokens, that counts first which the answer has."""
    order = sorted(range(len(probs)), key=lambda token: (-probs[token], -answer[token]))
    before = [sum(probs[other] for other in order[:rank]) for rank in range(len(order))]

    def kept(rule: Callable[[int], bool]) -> list[float]:
        """The probabilities of the tokens whose rank passes a rule, not divided."""
        chosen = {token for rank, token in enumerate(order) if rule(rank)}
        return [prob if token in chosen else 0.0 for token, prob in enumerate(probs)]

    nucleus = kept(lambda rank: before[rank] < top_p - 1e-9)
    cut = kept(lambda rank: before[rank] + probs[order[rank]] <= top_p + 1e-9)
    rest = [prob - inside for prob, inside in zip(probs, nucleus, strict=True)]
    return _divided(nucleus), {
        "nothing is removed: these are the given probabilities.": probs,
        "the probabilities that are left do not sum to 1: divide by their sum.": nucleus,
        "the token that crosses the line is missing: the kept ones have to reach `top_p`.": _divided(cut),
        "the token that crosses the line is missing, and the rest does not sum to 1.": cut,
        MISPLACED: _divided([nucleus[order[token]] for token in order]),
        "one token too many is kept: stop as soon as the sum reaches `top_p`.": (
            _divided(kept(lambda rank: rank == 0 or before[rank - 1] < top_p - 1e-9))
        ),
        "you kept a share of the *tokens*: count their probabilities, until the sum reaches `top_p`.": (
            _divided(kept(lambda rank: rank < max(1, int(top_p * len(probs)))))
        ),
        "these are sorted: give each token its own place in the vocabulary back.": (
            _divided(sorted(nucleus, reverse=True))
        ),
        "only tokens with a probability of `top_p` itself are kept: it is their *sum* that counts.": (
            [prob if prob >= top_p else 0.0 for prob in probs]
        ),
        "you began with the *least* likely token: sort with `descending=True`.": _from_below(probs, top_p),
        "these are the tokens that should be removed.": _divided(rest),
        "you took a softmax of what is left: removed tokens get a probability again. Divide by the sum.": (
            softmax(nucleus)
        ),
        "you took a softmax of the probabilities that are left: divide them by their sum.": (
            softmax([prob or -math.inf for prob in nucleus])
        ),
    }


def _divided(values: list[float]) -> list[float]:
    return [value / sum(values) for value in values] if sum(values) else values


def _from_below(probs: list[float], top_p: float) -> list[float]:
    """What is kept by somebody who begins with the least likely token."""
    total, kept = 0.0, [0.0] * len(probs)
    for token in sorted(range(len(probs)), key=lambda token: probs[token]):
        if total < top_p - 1e-9:
            kept[token], total = probs[token], total + probs[token]
    return _divided(kept)


@check("13.6", section="5. From 2017 to now, one change at a time")
def check_cache(ours_in_kib: object, large_in_gib: object) -> None:
    """Two numbers worked out by hand: the cache of a sentence here, and of a long text in a large model."""
    first = _cache_number(ours_in_kib, "1: give a number of KiB", OURS, KiB, QUERY_HEADS["ours"])
    if first:
        raise Wrong(f"1: {first}")
    if large_in_gib is None:
        raise Wrong("1 is right; 2 is still to come.")
    second = _cache_number(large_in_gib, "2: give a number of GiB", LARGE, GiB, QUERY_HEADS["large"])
    if second:
        raise Wrong(f"2: {second}")


def _cache_number(answer: object, wanted: str, sizes: dict[str, int], unit: int, query_heads: int) -> str:
    """What is wrong with a number of bytes; nothing, if it is right."""
    given = number(answer, wanted)
    right = 2 * math.prod(sizes.values()) / unit
    decimal = KiB / 1000 if unit == KiB else GiB / 1000**3
    mistakes = {
        "keys *and* values are kept: twice as much.": right / 2,
        "the query heads share the heads of keys and values: count those.": right * query_heads / sizes["kv_heads"],
        "you counted the query heads, and keys or values only.": right * query_heads / sizes["kv_heads"] / 2,
        "every layer has its own keys and values.": right / sizes["layers"],
        "this is one token: every token of the text is kept.": right / sizes["tokens"],
        "a head has several numbers for each token: its size is missing.": right / sizes["head_size"],
        "this is one head: all heads of keys and values are kept.": right / sizes["kv_heads"],
        "these are numbers, not bytes: each one takes several bytes.": right / sizes["bytes"],
        "these are bits: 8 of them are a byte.": right * 8,
        "these are bytes: divide by the unit.": right * unit,
        "1 KiB is 1,024 bytes, and 1 GiB is 1,024 · 1,024 · 1,024: you divided by a power of 1,000.": right * decimal,
        "a power of 1,024 is missing.": right * 1024,
        "a power of 1,024 too many.": right / 1024,
    }
    if is_close(given, right, 0.005 * right):
        return ""
    named = [what for what, wrong in mistakes.items() if is_close(given, wrong, 0.002 * wrong)]
    hint = f"{given:g} is not right: multiply 2, layers, heads of keys and values, size of a head, tokens and bytes."
    return " Or: ".join(named) or hint
