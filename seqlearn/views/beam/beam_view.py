"""The tree of a beam search, step by step: the nodes that were kept, the nodes that were pruned, and the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import traitlets
from matplotlib.figure import Figure

from ...search.hypotheses import Tree
from ..shared.arguments import as_text, offered
from ..shared.types import Data, Proposal
from ..shared.view import View
from .beam_data import tree_data
from .beam_picture import beam_picture

Search = Callable[[int, float], Tree]


class BeamView(View, folder=Path(__file__).parent):
    """The search tree of one sentence, with sliders for the beam width and the length penalty.

    Args:
        search: a function of width and alpha that searches and returns the `Tree`; whenever a slider moves, the kernel
            calls the function. Or a finished `Tree`: then there are no sliders.
        decode: the text of each token: a list, or a function of an id; default: the ids.
        widths, alphas: the values of the sliders, to which `width` and `alpha` are added. `alpha` is the length
            penalty of `seqlearn.search.lengths.gnmt`; 0 means no penalty.
        width, alpha: the first values of the sliders.
        step: the number of steps to show first; default: all.
        source: the sentence that is translated, to be shown above the tree; default: none is shown.

    The attribute `tree` is the `Tree` that is shown.

    Traits, synced with the browser:
        width, alpha: the current values of the sliders.
        step: from 0, only the start, to the number of steps.
        locked: the node that stays marked, as the list of its tokens, or None.

    Raises:
        ValueError: a width is not a whole number from 1; an alpha is below 0 or not finite; or the tree is empty, has
            over 10,000 nodes, or has a node with NaN or without its parent.
        TypeError: `search` returns no `Tree`.
    """

    caption = "The search for a translation, as a tree"

    width = traitlets.Int().tag(sync=True)
    alpha = traitlets.Float().tag(sync=True)
    step = traitlets.Int(min=0).tag(sync=True)
    locked = traitlets.List(traitlets.Int(), allow_none=True, default_value=None).tag(sync=True)
    trees = traitlets.List(traitlets.Dict()).tag(sync=True)
    """What `tree_data` returns, with `width` and `alpha`: of the current search; in a page, of every search."""

    def __init__(
        self,
        search: Search | Tree,
        decode: Callable[[int], str] | Sequence[str] = str,
        widths: Sequence[int] = (1, 2, 3, 4),
        alphas: Sequence[float] = (0.0, 0.3, 0.6, 0.9, 1.2, 1.5),
        width: int = 2,
        alpha: float = 0.0,
        step: int | None = None,
        source: str | None = None,
    ):
        self._search, self._decode = search, decode
        again = callable(search)
        widths = offered(int, lambda one: one == int(one) >= 1, "a width is a whole number from 1", width, widths)
        alphas = offered(float, lambda one: 0 <= one < math.inf, "an alpha is finite and not below 0", alpha, alphas)
        width = int(width)
        self.tree, shown = self._searched(width, alpha)
        super().__init__(
            data={"widths": widths * again, "alphas": alphas * again, "source": source_text(source)},
            width=width,
            alpha=float(alpha),
            trees=[shown],
            step=len(shown["steps"]) if step is None else step,
        )
        self.observe(self._search_again, ["width", "alpha"])

    def update(
        self,
        search: Search | Tree,
        decode: Callable[[int], str] | Sequence[str] | None = None,
        source: str | None = None,
    ) -> None:
        """Show the search of another sentence in the same view: a function if the view has one, otherwise a tree."""
        if callable(search) != callable(self._search):
            raise TypeError("a view with sliders needs a function that searches, and a view without sliders a tree")
        before = self._search, self._decode
        self._search, self._decode = search, decode or self._decode
        try:
            self._search_again()
        except Exception:
            self._search, self._decode = before
            raise
        self.data = self.data | {"source": source_text(source)}

    def _searched(self, width: int, alpha: float) -> tuple[Tree, Data]:
        tree = self._search(width, alpha) if callable(self._search) else self._search
        if not isinstance(tree, Tree):
            raise TypeError(f"a search returns a Tree, the first of `trace`, not {type(tree).__name__}")
        data = tree_data(tree, lambda token: token_text(self._decode, token))
        return tree, data | {"width": width, "alpha": float(alpha)}

    def _search_again(self, change: object = None) -> None:
        """Search, and show all steps if all steps were shown; a locked node stays locked if the new tree has it."""
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
    def _offered(self, proposal: Proposal) -> float:
        name, value = proposal["trait"].name, proposal["value"]
        values = self.data[f"{name}s"] or [value]
        for one in values:
            if math.isclose(value, one, abs_tol=1e-9):
                return one
        raise traitlets.TraitError(f"{name} is one of {values}, not {value}")

    @traitlets.validate("step")
    def _within(self, proposal: Proposal) -> int:
        if proposal["value"] > len(self.tree.steps):
            raise traitlets.TraitError(f"step is 0 to {len(self.tree.steps)}, not {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("locked")
    def _is_node(self, proposal: Proposal) -> list[int] | None:
        if proposal["value"] is not None and not self._has(proposal["value"]):
            raise traitlets.TraitError(f"the tree has no node {tuple(proposal['value'])}")
        return proposal["value"]

    def page_state(self, live: bool = False) -> Data:
        """A page cannot search, so it gets the tree of every width with every alpha."""
        pairs = [(width, alpha) for width in self.data["widths"] for alpha in self.data["alphas"]]
        return super().page_state(live) | {"trees": [self._searched(*pair)[1] for pair in pairs] or self.trees}

    def summary(self) -> str:
        """The numbers of steps and nodes; width and alpha if there are sliders."""
        size = f"{len(self.tree.steps)} steps, {sum(map(len, self.tree.steps))} nodes"
        return f"width {self.width}, alpha {self.alpha:g}, {size}" if self.data["widths"] else size

    def figure(self) -> Figure:
        """The whole tree, 6 steps in a line; an arrow marks the current step, if it is not the last."""
        return beam_picture(self.trees[0], self.step, self.data["source"])


def source_text(source: str | None) -> str | None:
    """The source sentence as the browser gets it."""
    return None if source is None else as_text(source)


def token_text(decode: Callable[[int], str] | Sequence[str], token: int) -> str:
    """The text of a token, from a function or from a list."""
    if callable(decode):
        return decode(token)
    if not 0 <= token < len(decode):
        raise ValueError(f"the tree has a token {token}, and the list of texts ends at {len(decode) - 1}")
    return decode[token]
