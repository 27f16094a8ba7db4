"""The tree of a beam search, step by step: what was kept, what was pruned, and what was found."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import traitlets
from matplotlib.figure import Figure

from ..beams import Tree
from .base import View, offered
from .pictures import beam_picture
from .trees import drawing

Search = Callable[[int, float], Tree]


class BeamView(View, static="beam_view"):
    """The search tree of one sentence, with sliders for the width and the length penalty, which search again.

    Args:
        search: a function of width and alpha that searches and gives the `Tree`; it is called whenever a slider moves,
            in the kernel. Or a ready `Tree`: then there are no sliders.
        decode: the text of each token: a list, or a function of an id; default: the ids.
        widths, alphas: what the sliders offer; `width` and `alpha` are added to them. alpha is that of
            `seqlearn.decoding.gnmt`, 0 for no penalty.
        width, alpha: the ones to start with.
        step: how many steps to show first; default: all.

    `tree` is the one that is shown. Traits, synced with the browser: `width`, `alpha`; `step`, from 0 (only the start);
    `locked`, the node that stays marked, as the list of its tokens, or None.

    Raises:
        ValueError: a width is not a whole number from 1, an alpha is below 0 or not finite; or the tree is empty, has
            over 10,000 nodes, or one with NaN or without its parent.
        TypeError: what `search` gives is no `Tree`.
    """

    width = traitlets.Int().tag(sync=True)
    alpha = traitlets.Float().tag(sync=True)
    step = traitlets.Int(min=0).tag(sync=True)
    locked = traitlets.List(traitlets.Int(), allow_none=True, default_value=None).tag(sync=True)
    trees = traitlets.List(traitlets.Dict()).tag(sync=True)
    """What `drawing` gives, with `width` and `alpha`: of the present search; in a page, of all on the sliders."""

    def __init__(
        self,
        search: Search | Tree,
        decode: Callable[[int], str] | Sequence[str] = str,
        widths: Sequence[int] = (1, 2, 3, 4),
        alphas: Sequence[float] = (0.0, 0.3, 0.6, 0.9, 1.2, 1.5),
        width: int = 2,
        alpha: float = 0.0,
        step: int | None = None,
    ):
        self._search, self._decode = search, decode
        again = callable(search)
        widths = offered(int, lambda one: one == int(one) >= 1, "a width is a whole number from 1", width, widths)
        alphas = offered(float, lambda one: 0 <= one < math.inf, "an alpha is finite and not below 0", alpha, alphas)
        width = int(width)
        self.tree, shown = self._searched(width, alpha)
        super().__init__(
            record={"widths": widths * again, "alphas": alphas * again},
            width=width,
            alpha=float(alpha),
            trees=[shown],
            step=len(shown["steps"]) if step is None else step,
        )
        self.observe(self._search_again, ["width", "alpha"])

    def update(self, search: Search | Tree, decode: Callable[[int], str] | Sequence[str] | None = None) -> None:
        """Show the search of another sentence in the same place: with a function if the view has one, else a tree."""
        if callable(search) != callable(self._search):
            raise TypeError("a view with sliders needs a function that searches, and one without them a tree")
        before = self._search, self._decode
        self._search, self._decode = search, decode or self._decode
        try:
            self._search_again()
        except Exception:
            self._search, self._decode = before
            raise

    def _searched(self, width: int, alpha: float) -> tuple[Tree, dict[str, Any]]:
        tree = self._search(width, alpha) if callable(self._search) else self._search
        if not isinstance(tree, Tree):
            raise TypeError(f"a search gives a Tree, the first of `trace`, not {type(tree).__name__}")
        decode = self._decode
        return tree, drawing(tree, decode if callable(decode) else lambda token: listed(decode, token)) | {
            "width": width,
            "alpha": float(alpha),
        }

    def _search_again(self, change: object = None) -> None:
        """Whoever saw all steps sees all steps of the new tree; a locked node stays locked if it is there."""
        tree, shown = self._searched(self.width, self.alpha)
        steps, last = len(shown["steps"]), len(self.tree.steps)
        with self.hold_sync(), self.hold_trait_notifications():
            self.tree, self.trees = tree, [shown]
            self.step = steps if self.step >= last else min(self.step, steps)
            if self.locked is not None and not self._has(self.locked):
                self.locked = None

    def _has(self, path: Sequence[int]) -> bool:
        return not path or any(node.tokens == tuple(path) for step in self.tree.steps for node in step)

    @traitlets.validate("width", "alpha")
    def _offered(self, proposal: dict[str, Any]) -> float:
        name, value = proposal["trait"].name, proposal["value"]
        offered = self.record[f"{name}s"] or [value]
        for one in offered:
            if math.isclose(value, one, abs_tol=1e-9):
                return one
        raise traitlets.TraitError(f"{name} is one of {offered}, not {value}")

    @traitlets.validate("step")
    def _within(self, proposal: dict[str, Any]) -> int:
        if proposal["value"] > len(self.tree.steps):
            raise traitlets.TraitError(f"step is 0 to {len(self.tree.steps)}, not {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("locked")
    def _is_node(self, proposal: dict[str, Any]) -> list[int] | None:
        if proposal["value"] is not None and not self._has(proposal["value"]):
            raise traitlets.TraitError(f"the tree has no node {tuple(proposal['value'])}")
        return proposal["value"]

    def page_state(self) -> dict[str, Any]:
        """In a page, every width is searched with every alpha, for its sliders."""
        pairs = [(width, alpha) for width in self.record["widths"] for alpha in self.record["alphas"]]
        return super().page_state() | {"trees": [self._searched(*pair)[1] for pair in pairs] or self.trees}

    def summary(self) -> str:
        """Steps and nodes; width and alpha, where they can be changed."""
        size = f"{len(self.tree.steps)} steps, {sum(map(len, self.tree.steps))} nodes"
        return f"width {self.width}, alpha {self.alpha:g}, {size}" if self.record["widths"] else size

    def figure(self) -> Figure:
        """The whole tree, 8 steps in a line; an arrow marks the present step, if it is not the last."""
        return beam_picture(self.trees[0], self.step)


def listed(texts: Sequence[str], token: int) -> str:
    """The text of a token, out of a list."""
    if not 0 <= token < len(texts):
        raise ValueError(f"the tree has a token {token}, and the list of texts ends at {len(texts) - 1}")
    return texts[token]
