"""Checks of lesson 11. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import torch
from torch import Tensor

from .checking import Wrong, called, check, has_dtype, has_shape, is_close, matches, number, product, shown, table


@check("11.1", section="2. Does a head follow positions?")
def check_head_scores(head_scores: Callable[..., Tensor]) -> None:
    """Try out `head_scores(weights, wanted)` -> a share for each head, on made-up weights of 2 to 4 heads."""
    generator = torch.Generator().manual_seed(11)
    for heads, queries, keys, wanted in (
        (3, 4, 5, [(0, [1]), (1, [4]), (2, [0]), (3, [2])]),
        (2, 6, 6, [(1, [0, 3]), (4, [2, 5]), (5, [1, 2])]),
        (4, 5, 7, [(0, [6]), (2, [0, 1, 2]), (2, [5, 6]), (4, [3])]),
    ):
        weights = (2 * torch.randn(heads, queries, keys, generator=generator)).softmax(-1)
        for i, (row, columns) in enumerate(wanted):  # so that no head has everything or nothing
            best = int(weights[i % heads, row].argmax())
            weights[i % heads, row, [best, columns[-1]]] = weights[i % heads, row, [columns[-1], best]]
        answer = called(head_scores, weights, wanted)
        has_shape(answer, (heads,), "answer, one number for each head,")
        right = _shares(weights, wanted)
        question = "Wanted: is the *largest* weight of the row in one of the columns?"
        mistakes = {f"{what}. {question}": shares for what, shares in _share_mistakes(weights, wanted, right).items()}
        otherwise = f"for the rows and columns {wanted} the shares should be {shown(right)}; yours: {shown(answer)}."
        matches(answer, right, mistakes, otherwise=otherwise)


def _best(row: list[float]) -> int:
    return row.index(max(row))


def _shares(weights, asked, rule=lambda row, wanted: _best(row) in wanted) -> list[float]:
    """For each head the mean of a rule (row of weights, wanted columns) -> number."""
    return [sum(rule(head[row].tolist(), columns) for row, columns in asked) / len(asked) for head in weights]


def _share_mistakes(weights: Tensor, asked: list, right: list[float]) -> dict[str, list[float]]:
    def shares(rule: Callable[[list[float], list[int]], float]) -> list[float]:
        return _shares(weights, asked, rule)

    in_order = [(row, columns) for row, (_, columns) in enumerate(asked)]
    return {
        "this is the mean *weight* on the columns": shares(lambda row, wanted: sum(row[k] for k in wanted)),
        "only the first of the wanted columns counts": shares(lambda row, wanted: _best(row) == wanted[0]),
        "only the last of the wanted columns counts": shares(lambda row, wanted: _best(row) == wanted[-1]),
        "you asked for more than half": shares(lambda row, wanted: sum(row[k] for k in wanted) > 0.5),
        "you took the *two* largest weights": (
            shares(lambda row, wanted: any(row[k] in sorted(row)[-2:] for k in wanted))
        ),
        "these are counts: divide by the number of pairs in `wanted`": [share * len(asked) for share in right],
        "divide by the listed rows, not by all rows": [share * len(asked) / weights.shape[1] for share in right],
        "these are the shares of misses": [1 - share for share in right],
        "these are all heads thrown together: a share for *each* head": [sum(right) / len(right)] * len(right),
        "you averaged the weights of the heads first: a share for *each* head": (
            _shares(weights.mean(0, keepdim=True), asked) * len(right)
        ),
        "you looked into the rows 0, 1, 2, ...: each pair names its row": _shares(weights, in_order),
        "a row that comes twice counts twice: in a dictionary, one of them is lost": (
            _shares(weights, [*dict(asked).items()])
        ),
        "you took the largest weight of each *column*: `argmax(-1)` goes over the keys": (
            [sum(int(head[:, row].argmax()) in wanted for row, wanted in asked) / len(asked) for head in weights]
        ),
    }


@check("11.2", section="2. Average or rollout")
def check_rollout(my_rollout: Callable[[Tensor], Tensor]) -> None:
    """Try out `my_rollout(weights)` with 3, 2 and 1 layers of different size."""
    generator = torch.Generator().manual_seed(12)
    for layers, heads, words in ((3, 3, 4), (2, 2, 5), (1, 4, 3)):
        weights = (2 * torch.randn(layers, heads, words, words, generator=generator)).softmax(-1)
        answer = called(my_rollout, weights)
        has_shape(answer, (words, words), "answer, (words, words),")
        right, total = _rolled(weights), float(answer[0].sum())
        otherwise = f"the first row should be {shown(right[0])}; yours: {shown(answer[0])}."
        if abs(total - 1) > 1e-3:
            otherwise = f"the rows should sum to 1; the first of yours sums to {total:.3f}."
        matches(answer, right, _rollout_mistakes(weights.double()), otherwise=otherwise)


def _halved(mean: Tensor, same: Tensor) -> Tensor:
    return (mean + same) / 2


def _rolled(
    weights: Tensor, mixed: Callable[[Tensor, Tensor], Tensor] = _halved, join: Callable = product
) -> list[list[float]]:
    """The formula, layer by layer: the heads' mean is `mixed` with the identity, and joined to the layers below it."""
    same = torch.eye(weights.shape[-1], dtype=torch.float64)
    total = same.tolist()
    for layer in weights.double():
        total = join(mixed(layer.mean(0), same).tolist(), total)
    return total


# How somebody mixes the mean of a layer's heads with the identity.
MIXED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "the identity is missing: half of each word passes by in the residual connection.": lambda mean, same: mean,
    "you added the identity and did not halve: rows should sum to 1.": lambda mean, same: mean + same,
    "you halved the identity alone: `/` comes before `+`, so put the sum in brackets.": (
        lambda mean, same: mean + same / 2
    ),
    "you halved the mean alone: put the sum in brackets.": lambda mean, same: mean / 2 + same,
    "you halved, but did not add the identity.": lambda mean, same: mean / 2,
    "you added 1 to every entry: the identity is `torch.eye(n)`, 1 on the diagonal only.": (
        lambda mean, same: (mean + 1) / 2
    ),
}
REVERSED = "the order is reversed: a later layer is multiplied from the *left*."
EACH_ROLLED = "you rolled out each head by itself: take the mean of the heads in each layer, then multiply."
AXES = "you averaged over the layers and multiplied the heads: axis 0 counts layers, axis 1 heads."
BY_ENTRY = "you multiplied entry by entry, `*`: you want the matrix product, `@`."
ADDED = "you added the layers up: *multiply* them."


def _rollout_mistakes(weights: Tensor) -> list[tuple[str, Tensor | list[list[float]]]]:
    same = torch.eye(weights.shape[-1])
    halved = _halved(weights.mean(1), same)
    by_head = torch.tensor([_rolled(weights[:, [head]]) for head in range(weights.shape[1])])
    return [
        *((said, _rolled(weights, mixed)) for said, mixed in MIXED.items()),
        (REVERSED, _rolled(weights, join=lambda layer, total: product(total, layer))),
        ("you took the largest of the heads: take their mean.", _rolled(weights.amax(1, keepdim=True))),
        ("you took head 0 alone: take the mean of the heads.", _rolled(weights[:, :1])),
        ("you added the heads up: take their mean.", _rolled(weights.sum(1, keepdim=True))),
        (EACH_ROLLED, by_head.mean(0)),
        (AXES, _rolled(weights.transpose(0, 1))),
        ("this is the last layer alone: multiply all of them.", _rolled(weights[-1:])),
        ("this is the first layer alone: multiply all of them.", _rolled(weights[:1])),
        ("layer 0 is missing: start from the identity, and multiply all layers.", _rolled(weights[1:])),
        ("this is the average of all maps.", weights.mean((0, 1))),
        ("you averaged over the layers: *multiply* the layers, average over the heads only.", halved.mean(0)),
        ("rows and columns are exchanged.", torch.tensor(_rolled(weights)).T),
        (BY_ENTRY, halved.prod(0)),
        (BY_ENTRY, same * halved.prod(0)),
        (ADDED, halved.sum(0)),
        (ADDED, same + halved.sum(0)),
    ]


@check("11.3", section="5. Ablate a head")
def check_look_at_last(look_at_last: Callable[..., Tensor]) -> None:
    """Try out `look_at_last(head, weights, may)`: padding, a causal mask, an empty row."""
    generator = torch.Generator().manual_seed(13)
    causal = torch.ones(4, 4, dtype=torch.bool).tril()
    keys = torch.tensor([[True, True, True, False], [True, True, True, True]])
    holes = torch.tensor([[True, False, True, False], [False] * 4, [False, True, False, False], [True] * 4])
    for head, mask in ((1, causal), (0, keys[:, None, None]), (2, holes)):
        may = mask.expand(2, 3, 4, 4)
        if mask is holes:  # other ones in each head
            may = torch.stack([may[:, 0].roll(h, -2) for h in range(3)], 1)
        scores = torch.randn(2, 3, 4, 4, generator=generator).masked_fill(~may, float("-inf"))
        if mask is causal:
            scores[:, head, -1, -1] = float("-inf")  # may be attended, and has the weight 0
        if mask is holes:
            scores = scores.double()
        weights = scores.softmax(-1).nan_to_num(0.0)
        answer = called(look_at_last, head, weights, may.clone())
        has_shape(answer, weights.shape)
        has_dtype(answer, weights.dtype, "answer", "an edit gives weights, numbers: `.to(weights.dtype)`.")
        right = _edited(weights, may, head)
        mistakes = _edit_mistakes(weights, may, head, torch.tensor(right))
        matches(answer, right, mistakes, otherwise=_other_edit(answer, weights, may, head))


def _edited(weights: Tensor, may: Tensor, head: int, choose=lambda keys, query: keys[-1:]) -> list:
    """The right answer, entry by entry; or with other keys than the last one that may be attended."""
    old, keys = weights.tolist(), may.tolist()

    def entry(b: int, h: int, query: int, key: int) -> float:
        if h != head:
            return old[b][h][query][key]
        allowed = [k for k, attended in enumerate(keys[b][h][query]) if attended]
        return float(key in allowed and key in choose(allowed, query))

    return table(weights.shape, entry)


def _edit_mistakes(weights: Tensor, may: Tensor, head: int, right: Tensor) -> dict[str, Tensor | list]:
    of_sentence = torch.tensor(_edited(weights.transpose(0, 1), may.transpose(0, 1), head)).transpose(0, 1)

    def in_head(values: Tensor) -> Tensor:
        edited = weights.clone()
        edited[:, head] = values[:, head]
        return edited

    return {
        "you edited a *sentence*, not a head: the first axis is the batch, the second one the heads.": of_sentence,
        f"head {head} still has its own weights.": weights,
        "this is the *first* key that may be attended; you want the last one.": (
            _edited(weights, may, head, lambda keys, query: keys[:1])
        ),
        "each query looks at itself: the last key that it may attend to is often another one.": (
            _edited(weights, may, head, lambda keys, query: [query])
        ),
        "this is `uniform`: here one key gets everything.": in_head(may / may.sum(-1, keepdim=True).clamp(min=1)),
        "you took `may` of sentence 0 for every sentence: each has its own, `may[:, head]`.": (
            _edited(weights, may[:1].expand_as(may), head)
        ),
        "you took `may` of head 0: each head has its own, `may[:, head]`.": (
            _edited(weights, may[:, :1].expand_as(may), head)
        ),
        "a key that may be attended can have the weight 0: ask `may`, not `weights > 0`.": (
            _edited(weights, weights > 0, head)
        ),
        "a key before the last True has got weight, though it may not be attended: `may &` is missing.": (
            in_head(may.flip(-1).cumsum(-1).flip(-1) == 1)
        ),
        "the last key has kept its own weight: it gets 1.": in_head(weights * right),
    }


def _other_edit(answer: Tensor, weights: Tensor, may: Tensor, head: int) -> str:
    """What is wrong with an edit that no usual mistake gives in full."""
    rest = [other for other in range(3) if other != head]
    if not answer[:, rest].any():
        return "the other heads have become 0: they keep their weights."
    if not is_close(answer[:, rest], weights[:, rest]):
        return f"only head {head} should change; other heads have changed, too."
    edited, allowed = answer[:, head], may[:, head]
    if edited.isnan().any():
        return "there is a NaN: a query that may attend to nothing keeps zeros."
    if edited[~allowed.any(-1)].any():
        return "a query that may attend to nothing has got weight: its row stays 0."
    if edited[~allowed].any():
        return "weight lies where nothing may be attended: the last key is often padding or the future."
    totals = edited.sum(-1)[allowed.any(-1)]
    if not is_close(totals, torch.ones_like(totals)):
        return f"all the weight should be on one key; a row of yours sums to {float(totals.flatten()[0]):.2f}."
    return "the weight is not on the *last* key that may be attended: look at the row of a causal mask."


# ---- 11.5: an experiment ----

_CHOOSE, _MEASURE, _CONTROL = ([f"{part} {number}" for number in range(6)] for part in ("choose", "measure", "control"))
# Percent that a kind costs in choose, measure and control. A twin and a relay cost something only together.
_POINTS = {"needed": (22, 40, 4), "weak": (17, 17, 0), "idle": (0, 0, 0), "lucky": (30, 0, 0), "late": (0, 30, 0)}
_POINTS |= {"breaker": (40, 40, 40), "harmful": (40, 40, 8), "helped": (40, 40, -10)}
_POINTS |= {"twin": (0, 0, 0), "relay": (0, 0, 0), "both": (40, 26, 0)}
_BASES = ((95, 70, 85), (70, 95, 85))  # percent that is right without an ablation
_SAID = {
    "idle": "that costs nothing",
    "absent": "that is not in `heads`",
    "twin": "of two that do the same work: ablated alone, each of them costs nothing",
    "relay": "of two that do the same work: ablated alone, each of them costs nothing",
    "weak": "that costs less than 0.2",
    "lucky": "that costs nothing in `measure`: what was chosen in `choose` has to hold in other sentences",
    "late": "that costs nothing in `choose`: it has to cost 0.2 there, and again in `measure`",
    "breaker": "without which everything breaks: ablated, it costs as much in `control`",
    "harmful": "that costs 0.08 in `control`: more than 0.05",
}
_MISSED = {
    "needed": "that costs 0.4 alone in `measure`, 0.22 in `choose` (0.2 is enough), and 0.04 in `control` (0.05 is "
    "allowed). A cost is `right([], ...)` minus `right([head], ...)`, both of the same sentences",
    "helped": "that costs 0.4 alone in `choose` and in `measure`, and less than nothing in `control`: there, more is "
    "right without it, and a cost below 0 is at most 0.05",
}


class _Ablated:
    """A model whose heads do what their kinds say. Two paths do the same work: a twin, and a chain of relays."""

    def __init__(self, *kinds: str):
        self.kinds, self.asked = kinds, 0
        self.heads = [head for head, kind in enumerate(kinds) if kind != "absent"]

    def __call__(self, ablated: Iterable[int], sentences: Iterable[str]) -> float:
        self.asked += 1
        ablated, sentences = set(ablated), list(sentences)
        part = next((n for n, each in enumerate((_CHOOSE, _MEASURE, _CONTROL)) if sentences == each), None)
        if part is None:
            raise Wrong("`right` was asked about other sentences than the three lists: give one of them whole.")
        if unknown := [head for head in ablated if head not in self.heads]:
            raise Wrong(f"`right` was asked about head {unknown[0]!r}: take the heads of the list.")
        kinds = [self.kinds[head] for head in ablated]
        kinds += ["both"] * ({"twin", "relay"} <= {*kinds})
        lost = sum(_POINTS[kind][part] for kind in kinds)
        return max(_BASES["late" in self.kinds][part] - lost, 10) / 100

    def groups(self) -> set[frozenset[int]]:
        """The right answer."""
        single = {frozenset([head]) for head in self.heads if self.kinds[head] in _MISSED}
        twins = (head for head in self.heads if self.kinds[head] == "twin")
        return single | {frozenset([a, b]) for a in twins for b in self.heads if self.kinds[b] == "relay"}


_ABLATED = [
    _Ablated("idle", "needed", "weak", "idle"),
    _Ablated("breaker", "idle", "needed", "weak"),
    _Ablated("twin", "idle", "weak", "relay", "harmful"),
    _Ablated("lucky", "needed", "twin", "idle", "relay"),
    _Ablated("weak", "breaker", "late", "idle"),
    _Ablated("absent", "relay", "needed", "twin", "relay", "helped"),
]


@check("11.5", section="6. Ablate two heads at once")
def check_needed(needed: Callable[..., Collection]) -> None:
    """Try the experiment `needed(right, heads, choose, measure, control)` on models whose heads are known."""
    for model in _ABLATED:
        asked = model.asked
        given = (list(model.heads), list(_CHOOSE), list(_MEASURE), list(_CONTROL))
        found = called(needed, lambda ablated, sentences, model=model: model(ablated, sentences), *given)
        if model.asked == asked:
            raise Wrong("`right` was never called: without a measurement there is no experiment.")
        groups = _groups(found, len(model.kinds))
        wanted = model.groups()
        missed = wanted - groups
        for group in sorted(groups - wanted, key=len):
            if not any(head < group for head in missed):  # else: the head is missed, therefore the pair
                _refuse(model, group, wanted)
        if missed:
            first = min(missed, key=lambda group: (len(group), *sorted(group)))
            raise Wrong(
                "in one of our models your experiment misses a pair: each of the two costs nothing alone, since the "
                "other does its work. Ablate every two together that are left; a head may stand in two pairs."
                if len(first) == 2
                else f"in one of our models your experiment misses a head {_MISSED[model.kinds[min(first)]]}."
            )


def _groups(found: object, count: int) -> set[frozenset[int]]:
    shape = "return a list of groups, such as [{3}, {0, 2}]"
    if not isinstance(found, list | tuple | set):
        raise Wrong(f"{shape}; yours is of type {type(found).__name__}.")
    groups: set[frozenset[int]] = set()
    for group in found:
        if not isinstance(group, set | frozenset | list | tuple):
            raise Wrong(f"{shape}: a single head is a group, too; {group!r} is none.")
        heads = frozenset(int(number(head, shape, whole=True)) for head in group)
        if not 1 <= len(heads) == len(group) <= 2 or any(head not in range(count) for head in heads):
            raise Wrong(f"a group has one or two of the heads 0 to {count - 1}; yours is {sorted(heads)}.")
        groups.add(heads)
    return groups


def _refuse(model: _Ablated, group: frozenset[int], wanted: set[frozenset[int]]) -> None:
    kinds = [model.kinds[head] for head in sorted(group)]
    if len(group) == 1:
        raise Wrong(f"in one of our models your experiment names a head {_SAID[kinds[0]]}.")
    if any(frozenset([head]) in wanted for head in group):
        raise Wrong("your experiment names a pair in which one head alone costs 0.2: then this head is the group.")
    worst = max(kinds, key=[*_SAID].index)
    raise Wrong(f"in one of our models your experiment names a pair with a head {_SAID[worst]}.")
