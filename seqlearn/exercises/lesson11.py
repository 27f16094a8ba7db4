"""Checks of lesson 11. The oracles are loops over plain numbers: they import nothing that the lesson is about."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .checking import Wrong, check

MOST_AT_ARTICLE = (1, 3)  # cross-attention, while an article is written: the head that looks at the article most
LEFT = (82.9, 83.45)  # percent of right object pronouns without encoder 0.0, 0.3 and causal 1.2; read as 83 or 83.3
OTHER_READINGS = {  # percent that stand near this number in the picture -> what they are
    "this is what is *lost*: give what is left": (16.0, 17.5),
    "this is the row *all four*": (79.8, 80.3),
    "this is causal *1.3* in place of 1.2, from the picture with the points": (79.3, 79.7),
    "this is the column *uniform* of the right row": (91.6, 91.9),
    "this is the row *all four* in the column *uniform*": (91.95, 92.2),
    "this is the column *because, uniform* of the right row": (90.8, 91.2),
    "this is the row *all four* in the column *because, ablate*": (83.46, 83.7),
    "this is the construction *because*": (90.2, 90.5),
    "this is the row *encoder 0.0, 0.3*: causal 1.2 is still there": (95.0, 95.3),
    "this is the row *encoder 0.0, 0.3* in a column of *because*": (95.4, 95.6),
}


# ---- 11.1 ----


@check("11.1", section="2. Does a head follow positions?")
def check_head_scores(head_scores: Callable[..., Tensor]) -> None:
    """Try out `head_scores(weights, places)` -> a share for each head, on made-up weights of 3 heads."""
    generator = torch.Generator().manual_seed(11)
    for queries, keys, places in (
        (4, 5, [(0, [1]), (1, [4]), (2, [0]), (3, [2])]),
        (6, 6, [(1, [0, 3]), (4, [2, 5]), (5, [1, 2])]),
        (5, 7, [(0, [6]), (2, [0, 1, 2]), (2, [5, 6]), (4, [3])]),
    ):
        weights = (2 * torch.randn(3, queries, keys, generator=generator)).softmax(-1)
        for number, (row, columns) in enumerate(places):  # so that no head has everything or nothing
            head = number % 3
            best = int(weights[head, row].argmax())
            weights[head, row, [best, columns[-1]]] = weights[head, row, [columns[-1], best]]
        given, asked = weights.clone(), [(row, list(columns)) for row, columns in places]
        answer = head_scores(weights, places)
        if not torch.equal(weights, given) or places != asked:
            raise Wrong("one of the arguments has changed: only read them.")
        right = [_share(weights[head], places) for head in range(3)]
        if not isinstance(answer, Tensor):
            raise Wrong(f"return a tensor; yours is of type {type(answer).__name__}.")
        if answer.shape != (3,):
            raise Wrong(f"one number for each head, shape (3,); yours: {tuple(answer.shape)}.")
        if not _close(answer, right):
            raise Wrong(_diagnose_scores(answer, right, weights, places))


def _share(weights: Tensor, places: list, rule: Callable | None = None) -> float:
    """The mean of a rule (row of weights, wanted columns) -> number; default: is the largest one wanted?"""
    rule = rule or (lambda row, wanted: float(max(range(len(row)), key=row.__getitem__) in wanted))
    marks = [rule(weights[row].tolist(), columns) for row, columns in places]
    return sum(marks) / len(marks)


def _diagnose_scores(answer: Tensor, right: list[float], weights: Tensor, places: list) -> str:
    def by(rule: Callable) -> list[float]:
        return [_share(head, places, rule) for head in weights]

    def best(row: list[float]) -> int:
        return max(range(len(row)), key=row.__getitem__)

    columns = [sum(int(head[:, row].argmax()) in wanted for row, wanted in places) / len(places) for head in weights]
    known = [
        (by(lambda row, wanted: sum(row[column] for column in wanted)), "this is the mean *weight* on the columns"),
        (by(lambda row, wanted: float(best(row) == wanted[0])), "only the first of the wanted columns counts"),
        (by(lambda row, wanted: float(best(row) == wanted[-1])), "only the last of the wanted columns counts"),
        (by(lambda row, wanted: float(sum(row[column] for column in wanted) > 0.5)), "you asked for more than half"),
        ([share * len(places) for share in right], "these are counts: divide by the number of places"),
        ([share * len(places) / weights.shape[1] for share in right], "divide by the places, not by all rows"),
        ([1 - share for share in right], "these are the shares of misses"),
        ([sum(right) / 3] * 3, "these are all heads thrown together: a share for *each* head"),
        (columns, "you took the largest weight of each *column*: `argmax(-1)` goes over the keys"),
    ]
    for numbers, what in known:
        if _close(answer, numbers):
            return f"{what}. Wanted: is the *largest* weight of the row in one of the columns?"
    return f"for the places {places} the shares should be {_shown(right)}; yours: {_shown(answer.tolist())}."


# ---- 11.2 ----


@check("11.2", section="6. One map out of many: average or rollout")
def check_rollout(my_rollout: Callable[[Tensor], Tensor]) -> None:
    """Try out `my_rollout(weights)` with 3, 2 and 1 layers."""
    generator = torch.Generator().manual_seed(12)
    for layers in (3, 2, 1):
        weights = (2 * torch.randn(layers, 2, 4, 4, generator=generator)).softmax(-1)
        given = weights.clone()
        answer = my_rollout(weights)
        if not torch.equal(weights, given):
            raise Wrong("`weights` has changed: work on new tensors (no `+=`).")
        if not isinstance(answer, Tensor):
            raise Wrong(f"return a tensor; yours is of type {type(answer).__name__}.")
        if answer.shape != (4, 4):
            raise Wrong(f"the shape should be (words, words), here (4, 4); yours: {tuple(answer.shape)}.")
        if not _same(answer, _rolled(weights)):
            raise Wrong(_diagnose_rollout(answer, weights))


def _rolled(weights: Tensor, *, same=1.0, other=0.0, half=0.5, left=True, heads="mean", layers=None) -> Tensor:
    """The formula, product by product; with the options, that of a usual mistake."""
    words = weights.shape[-1]
    total = [[float(i == j) for j in range(words)] for i in range(words)]
    for layer in weights if layers is None else weights[layers]:
        mixed = {"max": layer.amax(0), "first": layer[0], "sum": layer.sum(0), "mean": layer.mean(0)}[heads]
        added = [[same if i == j else other for j in range(words)] for i in range(words)]
        mixed = [[half * (float(mixed[i, j]) + added[i][j]) for j in range(words)] for i in range(words)]
        one, two = (mixed, total) if left else (total, mixed)
        total = [[sum(one[i][k] * two[k][j] for k in range(words)) for j in range(words)] for i in range(words)]
    return torch.tensor(total, dtype=torch.float64)


def _diagnose_rollout(answer: Tensor, weights: Tensor) -> str:
    same = torch.eye(4)
    halved = [(layer.mean(0) + same) / 2 for layer in weights]
    known = [
        (
            _rolled(weights, same=0.0, half=1.0),
            "the identity is missing: half of each word passes by on the way around",
        ),
        (_rolled(weights, half=1.0), "you added the identity and did not halve: rows should sum to 1"),
        (_rolled(weights, same=0.0), "you halved, but did not add the identity"),
        (_rolled(weights, left=False), "the order is reversed: a later layer is multiplied from the *left*"),
        (_rolled(weights, heads="max"), "you took the largest of the heads: take their mean"),
        (_rolled(weights, heads="first"), "you took head 0 alone: take the mean of the heads"),
        (_rolled(weights, heads="sum"), "you added the heads up: take their mean"),
        (
            _rolled(weights, other=1.0),
            "you added 1 to every entry: the identity is `torch.eye(n)`, 1 on the diagonal only",
        ),
        (_rolled(weights, layers=slice(-1, None)), "this is the last layer alone: multiply all of them"),
        (_rolled(weights, layers=slice(0, 1)), "this is the first layer alone: multiply all of them"),
        (weights.mean((0, 1)), "this is the average of all maps"),
        (
            (weights.mean((0, 1)) + same) / 2,
            "you averaged over the layers: *multiply* the layers, average over the heads only",
        ),
        (_rolled(weights).T, "rows and columns are exchanged"),
        (torch.stack(halved).prod(0), "you multiplied entry by entry, `*`: you want the matrix product, `@`"),
        (torch.stack([same, *halved]).prod(0), "you multiplied entry by entry, `*`: you want the matrix product, `@`"),
        (sum(halved), "you added the layers up: *multiply* them"),
        (sum(halved, same), "you added the layers up: *multiply* them"),
    ]
    for numbers, what in known:
        if _same(answer, numbers):
            return f"{what}."
    total = float(answer[0].sum())
    if abs(total - 1) > 1e-3:
        return f"the rows should sum to 1; the first of yours sums to {total:.3f}."
    return f"the first row should be {_shown(_rolled(weights)[0].tolist())}; yours: {_shown(answer[0].tolist())}."


# ---- 11.3 ----


@check("11.3", section="7. Cut a head")
def check_look_at_last(look_at_last: Callable[..., Tensor]) -> None:
    """Try out `look_at_last(head, weights, may)`: padding, a causal mask, an empty row."""
    generator = torch.Generator().manual_seed(13)
    causal = torch.ones(4, 4, dtype=torch.bool).tril()
    keys = torch.tensor([[True, True, True, False], [True, True, True, True]])
    holes = torch.tensor([[True, False, True, False], [False] * 4, [False, True, False, False], [True] * 4])
    for head, may in ((1, causal.expand(2, 3, 4, 4)), (0, keys[:, None, None].expand(2, 3, 4, 4)),
                      (2, holes.expand(2, 3, 4, 4))):  # fmt: skip
        scores = torch.randn(2, 3, 4, 4, generator=generator).masked_fill(~may, float("-inf"))
        weights = scores.softmax(-1).nan_to_num(0.0)
        given = weights.clone()
        answer = look_at_last(head, weights, may.clone())
        if not torch.equal(weights, given):
            raise Wrong("`weights` has changed: edit a copy, `weights.clone()`.")
        if not isinstance(answer, Tensor):
            raise Wrong(f"return a tensor; yours is of type {type(answer).__name__}.")
        if answer.shape != weights.shape:
            raise Wrong(f"keep the shape {tuple(weights.shape)}; yours: {tuple(answer.shape)}.")
        _examine_edit(answer, weights, may, head)


def _examine_edit(answer: Tensor, weights: Tensor, may: Tensor, head: int) -> None:
    rest = [other for other in range(3) if other != head]
    if not _same(answer[:, rest], weights[:, rest]):
        if _same(answer, _last(weights, may, head, batch=True)):
            raise Wrong("you edited a *sentence*, not a head: the first axis is the batch, the second one the heads.")
        if float(answer[:, rest].abs().sum()) == 0:
            raise Wrong("the other heads have become 0: they keep their weights.")
        raise Wrong(f"only head {head} should change; other heads have changed, too.")
    right = _last(weights, may, head)
    if _same(answer, right):
        return
    edited, empty = answer[:, head], ~may[:, head].any(-1)
    if _same(edited, weights[:, head]):
        raise Wrong(f"head {head} still has its own weights.")
    if edited.isnan().any():
        raise Wrong("there is a NaN: a query that may attend to nothing keeps zeros.")
    if float(edited[empty].abs().sum()) > 0:
        raise Wrong("a query that may attend to nothing has got weight: its row stays 0.")
    if float(edited[~may[:, head]].abs().sum()) > 0:
        raise Wrong("weight lies where nothing may be attended: the last key is often padding or the future.")
    if _same(edited, _last(weights, may, head, first=True)[:, head]):
        raise Wrong("this is the *first* key that may be attended; you want the last one.")
    if _same(edited, may[:, head] / may[:, head].sum(-1, keepdim=True).clamp(min=1)):
        raise Wrong("this is `uniform`: here one key gets everything.")
    totals = edited.sum(-1)[~empty]
    if not _same(totals, torch.ones_like(totals)):
        raise Wrong(f"all the weight should be on one key; a row of yours sums to {float(totals.flatten()[0]):.2f}.")
    raise Wrong("the weight is not on the *last* key that may be attended: look at the row of a causal mask.")


def _last(weights: Tensor, may: Tensor, where: int, *, first: bool = False, batch: bool = False) -> Tensor:
    """The right answer, entry by entry; or with the first key, or for a sentence instead of a head."""
    edited = weights.clone()
    for sentence in range(weights.shape[0]):
        for head in range(weights.shape[1]):
            if where == (sentence if batch else head):
                for query in range(weights.shape[2]):
                    keys = [key for key in range(weights.shape[3]) if may[sentence, head, query, key]]
                    edited[sentence, head, query] = 0.0
                    if keys:
                        edited[sentence, head, query, keys[0 if first else -1]] = 1.0
    return edited


# ---- 11.4 ----


@check("11.4", section="3. Does a head follow phrases?")
def check_readings(layer_and_head: object, percent_left: object) -> None:
    """Two numbers read off the pictures: a head, and a share that is left."""
    if isinstance(layer_and_head, list):
        layer_and_head = tuple(layer_and_head)
    if not (isinstance(layer_and_head, tuple) and len(layer_and_head) == 2):
        raise Wrong("give two numbers in brackets for 1, the layer and the head, such as (0, 3).")
    if layer_and_head in ((0, 2), (1, 2)):
        raise Wrong("this head looks at the *noun*: that is the left panel; you want the right one.")
    if layer_and_head == MOST_AT_ARTICLE[::-1] or layer_and_head == (2, 4):
        raise Wrong("the layer comes first, then the head, and both are counted from 0.")
    if layer_and_head != MOST_AT_ARTICLE:
        raise Wrong("1: another cell of the right panel has a larger number.")
    if percent_left is None:
        raise Wrong("1 is right; 2 is still to come.")
    if isinstance(percent_left, bool) or not isinstance(percent_left, int | float):
        raise Wrong(f"give a number of percent for 2; yours is of type {type(percent_left).__name__}.")
    if 0 < percent_left <= 1:
        raise Wrong("2: give percent, such as 75, not a share.")
    if not LEFT[0] <= percent_left <= LEFT[1]:
        close = [what for what, (low, high) in OTHER_READINGS.items() if low <= percent_left <= high]
        told = close[0] if close else f"{percent_left:g} does not stand in this row and column"
        raise Wrong(f"2: {told}. The picture is in section 8.")


def _close(answer: Tensor, numbers: list[float]) -> bool:
    return _same(answer, torch.tensor(numbers))


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one.detach().double(), other.double(), atol=1e-4, rtol=0)


def _shown(numbers: list[float]) -> str:
    return "[" + ", ".join(f"{number:.3f}" for number in numbers) + "]"
