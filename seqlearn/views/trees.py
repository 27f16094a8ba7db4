"""Where the nodes of a search tree stand: a column for each step, and the likeliest token straight to the right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..beams import Node, Tree
from .base import as_text

FATES = ("kept", "complete", "beaten", "pruned")
NUMBERS = ("log_prob", "total", "score")
MOST = 10_000  # nodes
Path = tuple[int, ...]  # the tokens of a node: they are its name


def drawing(tree: Tree, text: Callable[[int], str]) -> dict[str, Any]:
    """All that `BeamView` draws of one tree, as numbers, texts, and lists of them.

    Of the pruned nodes of a step the likeliest are drawn, 2 or as many as a step has others; greedy's are, too.

    Args:
        tree: see `seqlearn.beams`.
        text: what to write for a token.

    Returns:
        `nodes`: a list for each of their properties; the first node is the start, which has no token. A `bend` is where
        the line from the parent turns, from 0 (at the parent) to 1 (before the number). `steps`: the `penalty` of each,
        how many nodes have which fate, and how many pruned ones are `hidden`. `rows`: their number.
        `best` and `greedy`: the nodes on the way to what was found, and those that greedy search chooses, by number.

    Raises:
        ValueError: the tree has no node, too many, or one that does not fit the others.
    """
    check(tree)
    best, greedy = best_path(tree), greedy_path(tree)
    most = max(2, *(sum(node.fate != "pruned" for node in step) for step in tree.steps))
    columns = [drawn(step, most, greedy) for step in tree.steps]
    rows = places(columns)
    start = {"token": -1, "text": "", "parent": -1, "step": 0, "row": 0, "bend": 0.0, "fate": "kept"}
    nodes = [start | dict.fromkeys(NUMBERS, 0.0)]
    numbers: dict[Path, int] = {(): 0}
    for step, column in enumerate(columns, 1):
        bends = turns(column)
        for node in column:
            parent, token = node.tokens[:-1], node.tokens[-1]
            place = {"parent": numbers[parent], "step": step, "row": rows[node.tokens], "bend": bends[parent]}
            sums = {name: short(getattr(node, name)) for name in NUMBERS}
            numbers[node.tokens] = len(nodes)
            nodes.append({"token": token, "text": as_text(text(token)), "fate": node.fate} | place | sums)
    fates = [Counter(node.fate for node in step) for step in tree.steps]
    return {
        "nodes": {name: [node[name] for node in nodes] for name in nodes[0]},
        "steps": [
            {"penalty": short(penalty(step)), "hidden": len(step) - len(column)}
            | {fate: counted[fate] for fate in FATES}
            for step, column, counted in zip(tree.steps, columns, fates, strict=True)
        ],
        "rows": max(map(len, columns)),
        "best": [numbers[best[:length]] for length in range(1, len(best) + 1)],
        "greedy": [numbers[greedy[:length]] for length in range(1, len(greedy) + 1)],
    }


def check(tree: Tree) -> None:
    """Raise what is wrong with a tree, in one sentence."""
    count = sum(map(len, tree.steps))
    if not count:
        raise ValueError("a tree without a node cannot be drawn: search with `trace=[]`, and give its first tree")
    if count > MOST:
        raise ValueError(
            f"a tree of {count:,} nodes is too large to be seen, {MOST:,} is the most: use a smaller width"
        )
    before = {(): Node((), 0.0, 0.0, 0.0, "kept")}
    for step, nodes in enumerate(tree.steps, 1):
        known: dict[Path, Node] = {}
        if not nodes:
            raise ValueError(f"step {step} of the tree has no node")
        for node in nodes:
            wrong = misfit(node, step, before.get(node.tokens[:-1]))
            if wrong or node.tokens in known:
                raise ValueError(f"the node {node.tokens} at step {step} {wrong or 'stands there twice'}")
            known[node.tokens] = node
        divisor = penalty(nodes)
        for node in nodes:
            if not math.isclose(node.score * divisor, node.total, rel_tol=1e-3, abs_tol=1e-6):
                sums = f"a score of {node.score:.6g}, which is not its total {node.total:.6g} / {divisor:.6g}"
                raise ValueError(f"the node {node.tokens} at step {step} has {sums}")
        before = known


def misfit(node: Node, step: int, parent: Node | None) -> str:
    """What is wrong with a node; nothing if it fits its step and its parent."""
    if len(node.tokens) != step:
        return f"has {len(node.tokens)} tokens, not {step}"
    if node.fate not in FATES:
        return f"has the fate {node.fate!r}, which is none of {', '.join(FATES)}"
    for name in NUMBERS:
        if not math.isfinite(getattr(node, name)):
            return f"has a {name} of {getattr(node, name)}"
    if parent is None or parent.fate != "kept":
        return "has no parent: " + ("none is there" if parent is None else f"that one is {parent.fate}, not kept")
    if not math.isclose(node.total, parent.total + node.log_prob, rel_tol=1e-3, abs_tol=1e-3):
        return f"has a total of {node.total:.6g}, which is not {parent.total:.6g} + {node.log_prob:.6g}"
    return ""


def penalty(nodes: Sequence[Node]) -> float:
    """Total / score, the same for all nodes of a step; of the largest, where it is most exact. 1 where all are 0."""
    node = max(nodes, key=lambda node: abs(node.total), default=None)
    return node.total / node.score if node and node.score else 1.0


def best_path(tree: Tree) -> Path:
    """The node of the best hypothesis, whose <eos> is not known here; the start if there is none."""
    if not tree.best:
        return ()
    best, length = tree.best[0], len(tree.best[0].log_probs)
    ends = [
        node
        for node in (tree.steps[length - 1] if 0 < length <= len(tree.steps) else [])
        if node.fate == "complete" and list(node.tokens[: len(best.tokens)]) == list(best.tokens)
    ]
    if not ends:
        raise ValueError(f"the best hypothesis, {best.tokens}, is no complete node of the tree")
    return min(ends, key=lambda node: abs(node.log_prob - best.log_probs[-1])).tokens


def greedy_path(tree: Tree) -> Path:
    """The likeliest token again and again, as far as the search went that way: all that greedy search sees."""
    path: Path = ()
    for nodes in tree.steps:
        children = [node for node in nodes if node.tokens[:-1] == path]
        if children:
            path = max(children, key=lambda node: node.log_prob).tokens
    return path


def drawn(nodes: Sequence[Node], most: int, greedy: Path) -> list[Node]:
    """All that were not pruned, the `most` likeliest pruned ones, and greedy's."""
    pruned = sorted((node for node in nodes if node.fate == "pruned"), key=lambda node: -node.total)
    hidden = {node.tokens for node in pruned[most:] if node.tokens != greedy[: len(node.tokens)]}
    return [node for node in nodes if node.tokens not in hidden]


def places(columns: Sequence[list[Node]]) -> dict[Path, int]:
    """The row of each node; no two lines cross, and there are no more rows than nodes in the longest column.

    Each column is sorted: children of one parent side by side, the likeliest first. It gets the row of its parent if no
    node above is in the way; where the column would go on below the last row, its end moves up.
    """
    height = max(map(len, columns))
    rows: dict[Path, int] = {(): 0}
    for column in columns:
        column.sort(key=lambda node: (rows[node.tokens[:-1]], -node.total))
        free = 0
        for index, node in enumerate(column):
            row = max(rows[node.tokens[:-1]], free)
            free = row + 1
            rows[node.tokens] = min(row, height - len(column) + index)
    return rows


def turns(column: Sequence[Node]) -> dict[Path, float]:
    """Where the lines from each parent turn down: those of a lower parent first, so that no two lie on each other."""
    parents = list(dict.fromkeys(node.tokens[:-1] for node in reversed(column)))
    return {parent: short((place + 1) / (len(parents) + 1)) for place, parent in enumerate(parents)}


def short(number: float) -> float:
    """With 6 digits, so that a page stays small."""
    return float(f"{number:.6g}")
