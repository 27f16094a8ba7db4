"""The tree of a beam search, step by step: the nodes that were kept, the nodes that were pruned, and the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import traitlets

from ...search.hypotheses import Tree
from ...translator.translator import Translator
from ..answers.trees import Search, tree_search
from ..live.weights import live_model
from ..shared.arguments import as_text, offered
from ..shared.asking import Ask
from ..shared.traits import Finite, Whole
from ..shared.types import Data, Proposal
from ..view import View
from .beam_data import tree_data

WIDTHS, ALPHAS = (1, 2, 3, 4), (0.0, 0.3, 0.6, 0.9, 1.2, 1.5)


class BeamView(View, folder=Path(__file__).parent):
    """The search tree of one sentence, with sliders for the beam width and the length penalty.

    `BeamView.of(translator, sentence)` also has a box for another sentence, which the kernel searches; in a page the
    model does, if it is a Transformer of this package.

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
        sentence: the source sentence, or None. In a view made by `of`, another sentence starts a new search; if it has
            no token or more than 100, the former tree stays, and the view says why.
        width, alpha: the current values of the sliders.
        step: from 0, only the start, to the number of steps.
        locked: the node that stays marked, as the list of its tokens, or None.
        probabilities: whether probabilities are drawn, which are multiplied, in place of log-probabilities, which are
            added.

    Raises:
        ValueError: a width is not a whole number from 1; an alpha is below 0 or not finite; or the tree is empty, has
            over 10,000 nodes, or has a node with NaN or without its parent.
        TypeError: `search` returns no `Tree`.
    """

    caption = "The search for a translation, as a tree"
    questions: ClassVar = {"trees": Ask("tree", ("sentence", "width", "alpha"))}

    sentence = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    width = Whole().tag(sync=True)
    alpha = Finite().tag(sync=True)
    step = Whole(min=0).tag(sync=True)
    locked = traitlets.List(Whole(), allow_none=True, default_value=None).tag(sync=True)
    probabilities = traitlets.Bool(False).tag(sync=True)
    trees = traitlets.List(traitlets.Dict()).tag(sync=True)
    """What `tree_data` returns, with `sentence`, `width` and `alpha`: of the current search; in a page, of every one.
    A sentence that cannot be searched has a `problem` in place of a tree, after the tree that stays."""

    def __init__(
        self,
        search: Search | Tree,
        decode: Callable[[int], str] | Sequence[str] = str,
        widths: Sequence[int] = WIDTHS,
        alphas: Sequence[float] = ALPHAS,
        width: int = 2,
        alpha: float = 0.0,
        step: int | None = None,
        source: str | None = None,
    ):
        self._search, self._decode, self._translator = search, decode, None
        again = callable(search)
        widths = offered(int, lambda one: one == int(one) >= 1, "a width is a whole number from 1", width, widths)
        alphas = offered(float, lambda one: 0 <= one < math.inf, "an alpha is finite and not below 0", alpha, alphas)
        width = int(width)
        source = source_text(source)
        self.tree, shown = self._searched(source, width, alpha)
        self._found = self.tree  # by the last search
        super().__init__(
            data={"widths": widths * again, "alphas": alphas * again, "typed": False},
            sentence=source,
            width=width,
            alpha=float(alpha),
            trees=[shown],
            step=len(shown["steps"]) if step is None else step,
        )

    @classmethod
    def of(
        cls,
        translator: Translator,
        sentence: str,
        *,
        widths: Sequence[int] = WIDTHS,
        alphas: Sequence[float] = ALPHAS,
        width: int = 2,
        alpha: float = 0.0,
        step: int | None = None,
    ) -> BeamView:
        """The search of a sentence's translation, with a box for another sentence.

        Raises:
            ValueError: the sentence has no token or more than 100; or as in the constructor.
        """
        search, words = tree_search(translator, sentence), translator.target.vocab.tokens
        view = cls(search, words, widths, alphas, width, alpha, step, sentence)
        view._translator, view.data = translator, view.data | {"typed": True}
        view.trees = [view.trees[0] | view._unknown(sentence)]
        return view

    def _searched(self, sentence: str | None, width: int, alpha: float) -> tuple[Tree, Data]:
        tree = self._search(width, alpha) if callable(self._search) else self._search
        if not isinstance(tree, Tree):
            raise TypeError(f"a search returns a Tree, the first of `trace`, not {type(tree).__name__}")
        data = tree_data(tree, lambda token: token_text(self._decode, token))
        return tree, data | {"sentence": sentence, "width": width, "alpha": float(alpha)} | self._unknown(sentence)

    def _unknown(self, sentence: str | None) -> Data:
        """The words that the model never saw, if there are any."""
        words = self._translator.unknown(sentence or "") if self._translator is not None else []
        return {"unknown": [as_text(word) for word in words]} if words else {}

    def answer_to(self, trait: str, **question: Any) -> Data:  # the parts of the question
        """Search."""
        before = self._search
        try:
            if self._translator is not None:
                self._search = tree_search(self._translator, question["sentence"] or "")
            self._found, shown = self._searched(**question)
        except Exception:
            self._search = before
            raise
        return shown

    def refuse(self, trait: str, question: Data, error: Exception) -> None:
        """What is wrong with a sentence is said in the view; after an error of a search, the former tree stays."""
        if self._translator is None or not isinstance(error, ValueError):
            with self.hold_trait_notifications():
                for name in question:
                    setattr(self, name, self.trees[0][name])
            raise error
        super().refuse(trait, question, error)

    def take(self, trait: str, answer: Data) -> None:
        """Show all steps if all steps were shown; a locked node stays locked if the new tree has it."""
        steps, last = len(answer["steps"]), len(self.tree.steps)
        with self.hold_sync(), self.hold_trait_notifications():
            self.tree, self.trees, self.sentence = self._found, [answer], answer["sentence"]
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

    @traitlets.validate("sentence")
    def _text(self, proposal: Proposal) -> str | None:
        return source_text(proposal["value"])

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

    def page_model(self) -> Data | None:
        """The Transformer that searches what is typed in a page; None for other models, and where nothing is typed."""
        return None if self._translator is None else live_model(self._translator)

    def page_state(self, live: bool = False) -> Data:
        """The tree of every width with every alpha; without a model in the page, no other sentence can be typed."""
        sentence = self.trees[0]["sentence"]
        pairs = [(width, alpha) for width in self.data["widths"] for alpha in self.data["alphas"]]
        trees = [self._searched(sentence, *pair)[1] for pair in pairs] or self.trees
        data = self.data | {"typed": live and self.data["typed"]}
        return super().page_state(live) | {"data": data, "sentence": sentence, "trees": trees}

    def summary(self) -> str:
        """The numbers of steps and nodes; width and alpha, of what was searched last, if there are sliders."""
        shown = self.trees[0]
        size = f"{len(self.tree.steps)} steps, {sum(map(len, self.tree.steps))} nodes"
        return f"width {shown['width']}, alpha {shown['alpha']:g}, {size}" if self.data["widths"] else size


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
