"""Sentences of different lengths in batches: the order decides how much of the batches is padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import traitlets

from ..shared.traits import Whole
from ..shared.types import Proposal
from ..view import View
from .batch_data import ORDERS, batch_data, padding_of

Sentences = Iterable[int | Sequence[str]]


class BatchView(View, folder=Path(__file__).parent):
    """Sentences as bars, in batches: each batch is as wide as its longest sentence, and the rest is padding.

    The learner chooses the order of the sentences and the size of a batch. "random": as shuffled. "sorted": by length,
    the shortest first. "bucketed": the batches of "sorted", which are then shuffled.

    Args:
        sentences: the length of each sentence in tokens, or its tokens, which the view then shows; at most 256.
        order: one of `ORDERS`.
        batch_size: sentences in a batch: a power of 2, or the number of all sentences; default: 8, or all if fewer.
        seed: of the shuffles.

    Traits, synced with the browser:
        order: one of `ORDERS`.
        batch_size: one of `data["sizes"]`.

    Raises:
        TypeError: a length is no whole number, or only some of the sentences are lists of tokens.
        ValueError: a length is below 1, or there are no sentences, or too many.
        traitlets.TraitError: order or batch size is not offered.
    """

    caption = "How much of a batch is padding"

    order = traitlets.Unicode(ORDERS[0]).tag(sync=True)
    batch_size = Whole(1).tag(sync=True)

    def __init__(self, sentences: Sentences, order: str = ORDERS[0], batch_size: int | None = None, seed: int = 0):
        data = batch_data(sentences, seed)
        default = min(8, len(data["lengths"]))
        super().__init__(data=data, order=order, batch_size=default if batch_size is None else batch_size)

    @traitlets.validate("order", "batch_size")
    def _offered(self, proposal: Proposal) -> str | int:
        name = proposal["trait"].name
        values = ORDERS if name == "order" else tuple(self.data["sizes"])
        if proposal["value"] not in values:
            raise traitlets.TraitError(f"{name} is one of {values}, not {proposal['value']!r}")
        return proposal["value"]

    def batches(self, order: str | None = None) -> list[list[int]]:
        """The sentences of each batch, by their numbers; default: in the order that is shown."""
        return self.data["plans"][order or self.order][self.data["sizes"].index(self.batch_size)]

    def padding(self, order: str | None = None) -> float:
        """The share of all cells that is padding; default: in the order that is shown."""
        return padding_of(self.data["lengths"], self.batches(order))

    def summary(self) -> str:
        """The number of sentences, the batch size and the order."""
        return f"{len(self.data['lengths'])} sentences, batches of {self.batch_size}, {self.order}"
