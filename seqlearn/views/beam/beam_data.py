"""The data of `BeamView`: the layout of a search tree.

A step is a column. The child with the highest probability stands straight to the right of its parent, where possible.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from ...search.hypotheses import Node, Tree
from ..shared.arguments import as_text
from ..shared.types import Data

FATES = ("kept", "complete", "beaten", "pruned")
NUMBERS = ("log_prob", "total", "score")
MOST = 10_000  # nodes
Path = tuple[int, ...]  # the tokens of a node, which identify the node


def tree_data(tree: Tree, text: Callable[[int], str]) -> Data:
    """All that `BeamView` draws of one tree, as numbers, texts, and lists of them.

    A step may have many pruned nodes. The likeliest of them are drawn: as many as any step has nodes that are not
    pruned, at least 2. The nodes that greedy search chooses are always drawn.

    Args:
        tree: see `seqlearn.search.hypotheses`.
        text: the function that returns the text of a token.

    Returns:
        A dictionary with

        - `nodes`: for each property of a node, the list of its values. The first node is the start, which has no token.
          The `bend` says where the line from the parent turns, from 0 (at the parent) to 1 (before the number).
        - `steps`: for each step its length `penalty`, the number of nodes with each fate, and the number of pruned
          nodes that are `omitted`.
        - `rows`: the number of rows.
        - `best`, `greedy`: the indices of the nodes of the best hypothesis, and of those nodes that greedy search
          chooses.

    Raises:
        ValueError: the tree has no node, too many nodes, or a node that does not fit the others.
    """
    check(tree)
    best, greedy = best_path(tree), greedy_path(tree)
    most = max(2, *(sum(node.fate != "pruned" for node in step) for step in tree.steps))
    columns = [shown_nodes(step, most, greedy) for step in tree.steps]
    rows = rows_of(columns)
    start = {"token": -1, "text": "", "parent": -1, "step": 0, "row": 0, "bend": 0.0, "fate": "kept"}
    nodes: list[Data] = [start | dict.fromkeys(NUMBERS, 0.0)]
    numbers: dict[Path, int] = {(): 0}
    for step, column in enumerate(columns, 1):
        bends = bends_of(column)
        for node in column:
            parent, token = node.tokens[:-1], node.tokens[-1]
            layout = {"parent": numbers[parent], "step": step, "row": rows[node.tokens], "bend": bends[parent]}
            sums = {name: short(getattr(node, name)) for name in NUMBERS}
            numbers[node.tokens] = len(nodes)
            nodes.append({"token": token, "text": as_text(text(token)), "fate": node.fate} | layout | sums)
    fates = [Counter(node.fate for node in step) for step in tree.steps]
    return {
        "nodes": {name: [node[name] for node in nodes] for name in nodes[0]},
        "steps": [
            {"penalty": short(penalty(step)), "omitted": len(step) - len(column)}
            | {fate: counted[fate] for fate in FATES}
            for step, column, counted in zip(tree.steps, columns, fates, strict=True)
        ],
        "rows": max(map(len, columns)),
        "best": [numbers[best[:length]] for length in range(1, len(best) + 1)],
        "greedy": [numbers[greedy[:length]] for length in range(1, len(greedy) + 1)],
    }


def check(tree: Tree) -> None:
    """Raise a ValueError, in one sentence, if something is wrong with the tree."""
    count = sum(map(len, tree.steps))
    if not count:
        raise ValueError("a tree without a node cannot be drawn: search with `trace=[]`, and give its first tree")
    if count > MOST:
        raise ValueError(
            f"a tree of {count:,} nodes is too large for a view, {MOST:,} is the most: use a smaller width"
        )
    before: dict[Path, Node] = {(): Node((), 0.0, 0.0, 0.0, "kept")}
    for step, nodes in enumerate(tree.steps, 1):
        known: dict[Path, Node] = {}
        if not nodes:
            raise ValueError(f"step {step} of the tree has no node")
        for node in nodes:
            wrong = misfit(node, step, before.get(node.tokens[:-1]))
            if wrong or node.tokens in known:
                raise ValueError(f"the node {node.tokens} at step {step} {wrong or 'occurs twice'}")
            known[node.tokens] = node
        divisor = penalty(nodes)
        for node in nodes:
            if not math.isclose(node.score * divisor, node.total, rel_tol=1e-3, abs_tol=1e-6):
                sums = f"a score of {node.score:.6g}, which is not its total {node.total:.6g} / {divisor:.6g}"
                raise ValueError(f"the node {node.tokens} at step {step} has {sums}")
        before = known


def misfit(node: Node, step: int, parent: Node | None) -> str:
    """What is wrong with a node; empty if the node fits its step and its parent."""
    if len(node.tokens) != step:
        return f"has {len(node.tokens)} tokens, not {step}"
    if node.fate not in FATES:
        return f"has the fate {node.fate!r}, which is none of {', '.join(FATES)}"
    for name in NUMBERS:
        if not math.isfinite(getattr(node, name)):
            return f"has a {name} of {getattr(node, name)}"
    if parent is None or parent.fate != "kept":
        return "has no parent" if parent is None else f"has a parent that is {parent.fate}, not kept"
    if not math.isclose(node.total, parent.total + node.log_prob, rel_tol=1e-3, abs_tol=1e-3):
        return f"has a total of {node.total:.6g}, which is not {parent.total:.6g} + {node.log_prob:.6g}"
    return ""


def penalty(nodes: Sequence[Node]) -> float:
    """The length penalty of a step, total / score: the same for all its nodes, and 1 if all their scores are 0.

    The node with the largest total gives the most exact quotient.
    """
    node = max(nodes, key=lambda node: abs(node.total), default=None)
    return node.total / node.score if node and node.score else 1.0


def best_path(tree: Tree) -> Path:
    """The path of the best hypothesis, without knowing which token is <eos>; the start if there is no hypothesis."""
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
    """The path of greedy search, which always takes the likeliest token, as far as this tree contains the path."""
    path: Path = ()
    for nodes in tree.steps:
        children = [node for node in nodes if node.tokens[:-1] == path]
        if children:
            path = max(children, key=lambda node: node.log_prob).tokens
    return path


def shown_nodes(nodes: Sequence[Node], most: int, greedy: Path) -> list[Node]:
    """All nodes that were not pruned, the `most` likeliest pruned ones, and the node that greedy search chooses."""
    pruned = sorted((node for node in nodes if node.fate == "pruned"), key=lambda node: -node.total)
    omitted = {node.tokens for node in pruned[most:] if node.tokens != greedy[: len(node.tokens)]}
    return [node for node in nodes if node.tokens not in omitted]


def rows_of(columns: Sequence[list[Node]]) -> dict[Path, int]:
    """The row of each node; no two lines cross, and there are only as many rows as the longest column has nodes.

    Each column is sorted in place: the children of one parent side by side, the likeliest first. A node gets the row of
    its parent if no node above takes that row. A column that would end below the last row moves its end up.
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


def bends_of(column: Sequence[Node]) -> dict[Path, float]:
    """Where the lines from each parent turn: lines from a parent further down turn earlier, so that none overlap."""
    parents = list(dict.fromkeys(node.tokens[:-1] for node in reversed(column)))
    return {parent: short((number + 1) / (len(parents) + 1)) for number, parent in enumerate(parents)}


def short(number: float) -> float:
    """The number with 6 digits, so that a page stays small."""
    return float(f"{number:.6g}")
